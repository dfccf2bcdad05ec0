/*
 * fit.h: the machine of a logistic fit: which pass over the rows is asked for next, and who takes it.
 *
 * A fit is always in one phase. A phase asks for one thing, most often a pass, and a function of its own takes that
 * when it is there, and goes to another phase, or asks again. All phases stand in one table (phases.c), and each file
 * of them knows this header, the services of terms.h and newton_step.h, and no other phase's file: phases name each
 * other by GrGlmPhase alone.
 *
 * Terms come in two numberings. "Full" arrays have an entry for each of (1, x), the intercept first, whether the model
 * has one or not; arrays of terms begin at full index first, which is 0 or 1. theta and what is named after it are of z
 * = (1, x - shift), where x are the features as the rows have them, by fit->basis if there is one.
 */
#ifndef GPUREG_FIT_H
#define GPUREG_FIT_H

#include <math.h>

#include "compute/dist/satterthwaite.h"
#include "compute/glm/glm_fit.h"
#include "compute/linalg/basis.h"
#include "compute/linear/ols.h"

/* A pivot this small in a step's Hessian is rounding error; the term stays where it is. */
#define GR_FROZEN_TOLERANCE 1e-28

typedef enum GrGlmPhase
{
	GR_PHASE_ZERO,				/* the pass at beta = 0 */
	GR_PHASE_CHANGE,			/* of the rows, by the basis; then ZERO again */
	/* the pass at options.start; entered after ZERO, or the first of all; ITERATE, if there is no start */
	GR_PHASE_START,
	/* the pass after a Newton step, or two of them, see firth.h; entered where that was solved at theta */
	GR_PHASE_ITERATE,
	GR_PHASE_THETA,				/* what the likelihood says of a negative binomial theta; entered near an estimate */
	GR_PHASE_EDGE,				/* a pass of edge.h's; entered where steps are refused again and again */
	GR_PHASE_CLASSIFY,			/* which rows are nearly on the face of a candidate? entered where the fit runs off */
	GR_PHASE_VERIFY,			/* does a candidate separate? entered at a theta with all rows on their right side */
	GR_PHASE_DESCENT,			/* a pass of gradient descent or L-BFGS; entered after ZERO */
	GR_PHASE_SHIFTED,			/* the pass at 0 about the features' means, where Hessians aren't formed */
	GR_PHASE_ASCEND,			/* gradient ascent on the caller's side */
	GR_PHASE_LAST,				/* of gradient descent or L-BFGS: deviance and covariances at the final beta */
	GR_PHASE_PLACE,				/* how far out is beta to be set along a face? entered by gr_fit_end() */
	/* the pass of a sandwich estimate; entered by PLACE, to which it returns by gr_finish() */
	GR_PHASE_SCORES,
	GR_PHASE_CLUSTERS,			/* the clusters' sums of one; entered from SCORES */
	GR_PHASE_LIKELIHOOD,		/* the same at the end, for the log-likelihood; entered after PLACE */
	/* a pass of the model with the intercept alone, for its deviance; entered after LIKELIHOOD */
	GR_PHASE_NULL,
	GR_PHASE_DONE				/* entered at the end: what is reported is brought to the response's own unit */
} GrGlmPhase;

/* A row of the table of phases */
typedef struct GrPhase
{
	GrGlmWant want;			/* what the phase asks for */
	GrPhaseFunction *enter;		/* brings the fit here from another phase; NULL: there is nothing to do but to ask */
	GrPhaseFunction *take;		/* takes what was asked for; NULL: it is the end */
} GrPhase;

/* How far the estimate of the negative binomial theta is; see negbin.h */
typedef struct GrThetaState
{
	bool		settled;		/* it moves no more */
	bool		failed;			/* ... as it has moved too often */
	int			nmoves;
	double		length;			/* of the last move, in standard errors; beta's step is shorter at the next one */
	double		log_theta;		/* where the last move began, ... */
	double		score;			/* ... and the score by the logarithm there; NaN: there was none */
	double		low;			/* the logarithm is above that, ... */
	double		high;			/* ... and below */
	bool		beta_ended;		/* beta's steps had ended at the last pass */
	double		pearson;		/* the sum of squared Pearson residuals there */
	double		follow;			/* by how much beta's following theta lessens the curvature; 0: not known */
	double		moved;			/* the last move of the logarithm; 0: none, or beta wasn't near its estimate */
	int			trial;			/* which of negbin.c's thetas is tried, from 1 on; 0: none */
	bool		tried;			/* the trials led to a maximum at a finite theta */
	double		limit;			/* the penalised deviance at an infinite theta, where trials began */
} GrThetaState;

struct GrGlmState
{
	GrGlmOptions options;
	const GrPhase *phases;		/* by GrGlmPhase */
	GrGlmPhase phase;
	int			nfull;			/* of (1, x) */
	int			first;			/* 0 with an intercept, else 1 */
	bool		dense;			/* Hessians are formed */
	bool		coarse;			/* EXACT passes are coarse, as no column is nearly collinear */
	bool		unproven;		/* no pass at 0 was made, as the start came with shifts; see gr_start_drop() */

	/* full arrays */
	double	   *theta;			/* where the pass is made */
	double	   *theta_lo;		/* what the last step has added to it beyond its digits, at the end */
	double	   *theta_old;		/* the last accepted */
	double	   *theta_limit;	/* at an infinite theta of the negative binomial distribution */
	double	   *delta;			/* the Newton step at theta */
	double	   *shift;			/* nfeatures */
	double	   *no_shift;		/* nfeatures zeros */
	double	   *scale;			/* square roots of the Hessian's diagonal at 0 */
	double	   *length;			/* ... of the features as they came */
	double	   *spread;			/* ... about their means, where there is an intercept */
	double	   *removed;		/* the part of beta along directions of separation, of (1, x) */
	double	   *faces;			/* GR_FACES_MAX directions of z: nfull high and nfull low halves */
	double	   *basis_coef;		/* gr_terms_nchanged_max() x nfull */

	/* arrays of terms */
	bool	   *aliased;		/* left out: collinear, or on the face */
	bool	   *frozen;			/* likewise, in one step */
	bool	   *held;			/* a candidate's coefficients that its refinement leaves as they are */
	bool	   *collinear;		/* left out from the beginning */
	double	   *solution;
	double	   *pivot;			/* of the last step; see gr_normal_solve() */
	const bool *left_out;		/* nterms: terms without a part in the last step: aliased, or frozen */
	double	   *least;			/* a changed feature's sum of squares at 0, below which it is collinear */
	int		   *changed;		/* gr_terms_nchanged_max() */

	double	   *triangle;		/* hi and lo of terms and a right-hand side */
	void	   *workspace;		/* of gr_normal_solve() */
	double	   *factor;			/* C of a pass, where leverages are wanted, or for a bootstrap */
	double	   *middle;			/* of a sandwich, of one way of clustering: hi and lo of a triangle of terms */
	double	   *total;			/* the same of all ways */
	double	   *scores;			/* a cluster's */
	double		pearson_hi;		/* of all clusters of the first way: squared Pearson residuals */
	double		pearson_lo;
	double	   *inverse;		/* diagonal of (X'WX)^-1, in the terms of the estimates; see variance.h */
	double		size;			/* what residuals would be if the means were 0, squared; see gr_is_perfect() */
	double	   *product_row;	/* of the bread and the middle, hi and lo */
	double	   *hat;			/* CR2: two matrices of a cluster */
	double	   *roots;			/* CR2: the roots of a cluster's eigenvalues */
	GrSatterthwaite df;			/* CR2, where fit->df is wanted */
	int			df_first;		/* ... coefficients whose degrees of freedom are known, in this way of clustering */
	double	   *memory;			/* L-BFGS: see descent.c */
	double	   *history;		/* of steps: see mixing.c; NULL: the link is canonical */
	int			nmixed;			/* steps in it */
	bool		mixed_apart;	/* the next step isn't to be compared with the last one */

	GrBasis		basis;
	GrThetaState negbin;
	int			nunits;			/* units of the response that have been chosen */
	double		dispersion;		/* measures steps, at the last pass; NAN: that was linear, of an estimated one */
	double		weight_sum;		/* of the rows' weights w, as glm.h has them, at the last pass */
	double		reach;			/* sum of |theta_j| sqrt(H_jj) at the last pass: predictors' length at the most */
	double		typical_eta;	/* a predictor's magnitude where offsets are part of it; else 0 */
	double		deviance_terms;	/* magnitude of the terms that a deviance is summed from, beyond its own */
	bool		finishing;		/* the last pass was asked for, with no iteration left */
	bool		counts_digits;	/* the fit has converged if rounding leaves enough digits of the estimates */
	double		deviance_old;	/* penalised, at theta_old */
	double		penalty;		/* Firth's, of the deviance at theta */
	/*
	 * The squared length of the step from the last accepted theta, in standard errors: over the dispersion. INFINITY:
	 * not known
	 */
	double		decrement;
	double		decrement_before;	/* ... and from the one before */
	double		left_by_first;	/* the squared decrement after the first step */
	double		bend;			/* the length of that step over the square of the one before's: half of how much the
								 * Hessian changes, relatively, by a step of length 1; INFINITY: not known */
	double		bend_before;	/* ... of that one's */
	double		decrement_exact;	/* the last one that an EXACT pass gave; 0: none did */
	GrPassKind	kind;			/* of the pass at the last accepted theta */
	double		step;			/* share of the step taken: 1, 1/2, ...; see stretch() */
	double		stretch;		/* that it began with */
	bool		check;			/* the step must not raise the deviance */
	bool		observed;		/* EXACT passes of ITERATE are OBSERVED, whose steps are Newton's */
	bool		stiff;			/* the last step's Hessian wants more digits than FAST gives */
	bool		turned_back;	/* no step from theta_old has a finite deviance: the pass there is the last */
	bool		stalled;		/* L-BFGS or gradient descent found nothing lower */
	int			npolished;		/* Newton steps after a solver that takes none */
	int64_t		max_iter;		/* beyond which there is no further step; <= INT_MAX */
	int64_t		next_attempt;	/* no look for a direction of separation before this iteration; may be > INT_MAX */
	int64_t		next_certificate;	/* nor for complete separation; likewise */
	int			attempt;		/* of the tolerances of CLASSIFY, or of EDGE */
	int			nrefused;		/* steps that had no finite deviance */
	double	   *edge_null;		/* EDGE: see gr_edge_ndoubles(); NULL: the fit comes to no edge */
	double		edge_deviance;	/* where BARRIER ended */
	double		edge_length;	/* of the last step within the edge */
	bool		edge_peeks;		/* EDGE begins at an estimate: are any rows at the edge there? */
	bool		edge_looked;	/* none were */
	int			edge_npasses;
	int			nrefined;		/* refinements of the present candidate */
	bool		is_refined;		/* it is one to be refined */
	double		missed;			/* the sum of squares that the last one found rows to be off the face by */
	bool		final_attempt;	/* made when there is no iteration left */
	int			nfaces;
	bool		have_sums;		/* PLACE is entered with the sums of an EXACT pass at theta */
	bool		have_inverse;	/* their inverse is in vcov */
	bool		have_factor;	/* options.want_factor, and it is there; delta is then what theta_lo was */
	bool		lacks_deviance; /* ... of an EXACT pass at 0, which tells theta: SCORES gives the deviance */
	int			placing;		/* the face that PLACE is at */
	double		face_absolute[GR_FACES_MAX];
	double		min_right[GR_FACES_MAX];
	double		null_intercept;	/* of the model with the intercept alone: where NULL is, ... */
	double		null_low;		/* ... and what it is above and below of */
	double		null_high;
	double		null_reach;		/* the longest step */
	int			null_npasses;
};

/* The classic batch update, in the features' own units at the caller's rate: all terms move, collinear ones too. */
static inline bool
gr_fit_is_classic(const GrGlmOptions *options)
{
	return options->solver == GR_SOLVER_GD && !isnan(options->learning_rate);
}

/* True for a linear regression without offsets, whose pass at 0 gives the estimate exactly. */
static inline bool
gr_fit_is_solved_at_zero(const GrGlmOptions *options)
{
	return gr_is_linear(options->distribution) && !options->shape.offset;
}

/* True if the totals of rows with weights are known, where rows of this shape have any. */
static inline bool
gr_fit_has_totals(const GrGlmOptions *options)
{
	const GrRowRules rules = {options->distribution.family, options->weighting, 0};

	return options->totals != NULL && gr_has_totals(options->shape, rules);
}

/* Makes phase the fit's, and what it asks for. Returns it. */
static inline const GrPhase *
gr_fit_set_phase(GrGlmFit *fit, GrGlmPhase phase)
{
	const GrPhase *row = &fit->state->phases[phase];

	fit->state->phase = phase;
	fit->want = row->want;
	fit->take = row->take;
	return row;
}

/*
 * Asks for a pass, in that phase: at theta, or, for FACE, along the candidate behind the faces that there are. True, as
 * the function that asks is to return then.
 */
extern bool gr_fit_ask(GrGlmFit *fit, GrGlmPhase phase, GrPassKind kind);

/* Goes to another phase. */
static inline bool
gr_fit_enter(GrGlmFit *fit, GrGlmPhase phase, const GrHost *host, GrError *err)
{
	const GrPhase *row = gr_fit_set_phase(fit, phase);

	return row->enter == NULL || row->enter(fit, host, err);
}

/* Lets another phase take what this one has been given. */
static inline bool
gr_fit_hand_on(GrGlmFit *fit, GrGlmPhase phase, const GrHost *host, GrError *err)
{
	const GrPhase *row = gr_fit_set_phase(fit, phase);

	return row->take == NULL || row->take(fit, host, err);
}

/* Ends the fit at theta. The sums are of an EXACT pass at theta, or, where have_sums is false, there are none. */
static inline bool
gr_fit_end(GrGlmFit *fit, bool converged, bool have_sums, const GrHost *host, GrError *err)
{
	fit->converged = converged;
	fit->state->have_sums = have_sums;
	return gr_fit_enter(fit, GR_PHASE_PLACE, host, err);
}

/* The penalised deviance that a pass at theta has given */
static inline double
gr_fit_deviance(const GrGlmFit *fit)
{
	const GrGlmState *state = fit->state;
	double		sum = 0;

	for (int j = 1; j < state->nfull; j++)
		sum += state->theta[j] * state->theta[j];
	return fit->sums[GR_SUM_DEVIANCE_HI] + state->penalty + (state->options.l2 == 0 ? 0 : state->options.l2 * sum);
}

/* Direction number f of separation, of z: nfull high halves, then as many low ones */
static inline double *
gr_fit_face(const GrGlmState *state, int f)
{
	return state->faces + (size_t) f * gr_face_size(state->options.shape.nfeatures);
}

/* Of the pass's sums, for gr_normal_solve() */
static inline int64_t
gr_fit_max_rank(const GrGlmFit *fit)
{
	return gr_max_rank(fit->sums[GR_SUM_NROWS], fit->state->options.l2);
}

static inline double *
gr_fit_hi(GrGlmFit *fit)
{
	return fit->sums + GR_SUM_HEAD;
}

static inline double *
gr_fit_lo(GrGlmFit *fit)
{
	return fit->sums + GR_SUM_HEAD + gr_triangle(fit->state->nfull + 2);
}

/* The triangle of an EXACT or FACE pass's sums */
static inline GrDDVector
gr_fit_triangle(GrGlmFit *fit)
{
	GrDDVector	triangle = {gr_fit_hi(fit), gr_fit_lo(fit)};

	return triangle;
}

/* A sum of ones as a number of rows; made-up sums may be beyond what can be counted, or no number. */
static inline int64_t
gr_count_of(double nrows)
{
	return nrows < 0x1p63 ? (nrows > 0 ? (int64_t) nrows : 0) : INT64_MAX;
}

/* where entry (i, j) of a packed triangle is */
static inline int64_t
gr_at(int64_t i, int64_t j)
{
	return i * (i + 1) / 2 + j;
}

#endif							/* GPUREG_FIT_H */
