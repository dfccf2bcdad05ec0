/*
 * fit.h: the state machine of a GLM fit: which pass over the rows comes next, and which function takes its sums. The
 * files of phases include this header; callers of a fit use glm_fit.h.
 *
 * A fit is always in one phase. A phase requests one thing, usually a pass. A function of the phase takes the answer,
 * and enters another phase or requests again. All phases are in one table (phases.c). Each file of phases includes this
 * header and the services of terms.h and newton_step.h, but no other phase's file: phases name each other only by
 * GrGlmPhase.
 *
 * Terms have two numberings. "Full" arrays have an entry for each of (1, x), the intercept first, whether the model has
 * one or not. Arrays of terms begin at full index state->first, 0 or 1. theta and the arrays named after it are
 * coefficients of z = (1, x - shift), where x are the features of the rows, changed by fit->basis if there is one.
 */
#ifndef GPUREG_FIT_H
#define GPUREG_FIT_H

#include <math.h>

#include "compute/dist/satterthwaite.h"
#include "compute/glm/glm_fit.h"
#include "compute/linalg/basis.h"
#include "compute/linalg/gram.h"
#include "compute/linear/ols.h"

/* A coarse pass with a pivot this small leaves less than 12 digits of the standard errors. */
#define GR_COARSE_PIVOT_MIN 1e-3

/* A pivot this small in a step's Hessian is rounding error; the term then keeps its coefficient. */
#define GR_FROZEN_TOLERANCE 1e-28

typedef enum GrGlmPhase
{
	GR_PHASE_ZERO,				/* the pass at beta = 0 */
	GR_PHASE_CHANGE,			/* a change of the rows by the basis; then ZERO again */
	/* the pass at options.start; entered after ZERO or at the beginning; goes to ITERATE if there is no start */
	GR_PHASE_START,
	/* the pass after a Newton step (two of them with firth.h); entered once a step from theta is solved */
	GR_PHASE_ITERATE,
	GR_PHASE_THETA,				/* a pass for a negative binomial theta; entered near an estimate */
	GR_PHASE_EDGE,				/* a pass of edge.h; entered when steps are refused again and again */
	GR_PHASE_CLASSIFY,			/* finds the rows that are nearly on the face of a candidate; entered when estimates
								 * diverge */
	GR_PHASE_VERIFY,			/* checks whether a candidate separates; entered at a theta with all rows on their
								 * right side */
	GR_PHASE_DESCENT,			/* a pass of gradient descent or L-BFGS; entered after ZERO */
	GR_PHASE_SHIFTED,			/* the pass at 0 about the features' means, if Hessians are not formed */
	GR_PHASE_ASCEND,			/* gradient ascent on the caller's side */
	GR_PHASE_LAST,				/* the pass after gradient descent or L-BFGS, for deviance and covariances at the
								 * final beta */
	GR_PHASE_PLACE,				/* finds how far beta moves along a face; entered by gr_fit_end() */
	/* a pass of a sandwich estimate; entered by PLACE, goes on with gr_finish() */
	GR_PHASE_SCORES,
	GR_PHASE_CLUSTERS,			/* the sums of clusters for a sandwich estimate; entered from SCORES */
	GR_PHASE_LIKELIHOOD,		/* the pass for the log-likelihood; entered after PLACE */
	/* a pass of the model with only an intercept, for the null deviance; entered after LIKELIHOOD */
	GR_PHASE_NULL,
	GR_PHASE_DONE				/* the end, where results are brought to the response's own unit */
} GrGlmPhase;

/* A row of the table of phases. */
typedef struct GrPhase
{
	GrGlmWant want;			/* request of the phase */
	GrPhaseFunction *enter;		/* enters the phase from another one; NULL: only the request is needed */
	GrPhaseFunction *take;		/* takes the answer to the request; NULL at the end */
} GrPhase;

/* Progress of the estimate of the negative binomial theta; see negbin.h. */
typedef struct GrThetaState
{
	bool		settled;		/* theta moves no more */
	bool		failed;			/* theta has moved too often, and is settled for that reason */
	int			nmoves;
	double		length;			/* length of the last move in standard errors; beta's step is shorter at the next
								 * move */
	double		log_theta;		/* log theta where the last move began */
	double		score;			/* score by log theta at log_theta; NaN: none */
	double		low;			/* lower bound of log theta */
	double		high;			/* upper bound of log theta */
	bool		beta_ended;		/* beta's steps had ended at the last pass */
	double		pearson;		/* sum of squared Pearson residuals at the last pass */
	double		follow;			/* amount by which the curvature shrinks because beta follows theta; 0: not known */
	double		moved;			/* last move of log theta; 0: none, or beta was not near its estimate */
	int			trial;			/* number of the theta that negbin.c tries, from 1; 0: none */
	bool		tried;			/* the trials led to a maximum at a finite theta */
	double		limit;			/* penalised deviance at an infinite theta, where trials began */
	bool		joint;			/* FAST passes are JOINT: beta and theta move at once */
	bool		known;			/* the fit's log-likelihood, standard error of theta, and losses are known */
	double		losses;			/* sum of gr_waiting_loss() at the last JOINT pass */
	double		before;			/* theta at that pass */
} GrThetaState;

struct GrGlmState
{
	GrGlmOptions options;
	const GrPhase *phases;		/* table of phases, indexed by GrGlmPhase */
	GrGlmPhase phase;
	int			nfull;			/* number of full terms (1, x) */
	int			first;			/* 0 with an intercept, else 1 */
	bool		dense;			/* Hessians are formed */
	bool		coarse;			/* EXACT passes are coarse, as no column is nearly collinear */
	bool		unproven;		/* no pass at 0 was made, as the start came with shifts; see gr_start_drop() */

	/* full arrays */
	double	   *theta;			/* coefficients at which the pass is made */
	double	   *theta_lo;		/* low halves of theta after the last step */
	double	   *theta_old;		/* the last accepted theta */
	double	   *theta_limit;	/* theta at an infinite theta of the negative binomial distribution */
	double	   *delta;			/* the Newton step at theta */
	double	   *shift;			/* nfeatures */
	double	   *no_shift;		/* nfeatures zeros */
	double	   *scale;			/* square roots of the Hessian's diagonal at 0 */
	double	   *length;			/* like scale, for the original features */
	double	   *spread;			/* like length, about the features' means if there is an intercept */
	double	   *removed;		/* the part of beta along directions of separation, of (1, x) */
	double	   *faces;			/* GR_FACES_MAX directions of z: nfull high and nfull low halves */
	double	   *basis_coef;		/* gr_terms_nchanged_max() x nfull */

	/* arrays of nterms */
	bool	   *aliased;		/* terms left out: collinear, or determined by the face */
	bool	   *frozen;			/* terms left out in one step */
	bool	   *held;			/* coefficients that the refinement of a candidate does not change */
	bool	   *collinear;		/* terms left out from the beginning */
	double	   *solution;
	double	   *pivot;			/* pivots of the last step; see gr_normal_solve() */
	const bool *left_out;		/* terms without a part in the last step: aliased or frozen */
	double	   *least;			/* sum of squares at 0 below which a changed feature is collinear */
	int		   *changed;		/* changed features; gr_terms_nchanged_max() entries */

	double	   *triangle;		/* hi and lo of a triangle of terms and a right-hand side */
	void	   *workspace;		/* workspace of gr_normal_solve() */
	double	   *factor;			/* GrPass.factor, for leverages or a bootstrap */
	GrGram		middle;			/* middle of a sandwich for one way of clustering, about 0: the Gram matrix of scores */
	double	   *total;			/* the middle summed over all ways of clustering: hi and lo of a triangle of terms */
	/* scores of npending clusters that are not in middle yet, with room for GR_GRAM_CHUNK_NROWS */
	double	   *scores;
	int			npending;
	double	   *panels;			/* scratch of gr_gram_add() for the scores */
	double		pearson_hi;		/* sum of squared Pearson residuals over the clusters of the first way */
	double		pearson_lo;
	double	   *inverse;		/* diagonal of (X'WX)^-1 in the reported terms; see variance.h */
	double		size;			/* size of the response, as a sum of squared residuals for means of 0; see
								 * gr_is_perfect() */
	double	   *product;		/* scratch of gr_congruence() */
	double	   *hat;			/* CR2: two nterms x nterms matrices of a cluster */
	double	   *roots;			/* CR2: square roots of the eigenvalues of a cluster */
	GrSatterthwaite df;			/* CR2: Satterthwaite's degrees of freedom, if fit->df is wanted */
	int			df_first;		/* CR2: coefficients whose degrees of freedom are known for this way of clustering */
	double	   *memory;			/* L-BFGS: working memory of descent.c */
	double	   *history;		/* last steps, see mixing.c; NULL: the link is canonical */
	int			nmixed;			/* steps in history */
	bool		mixed_apart;	/* the next step is not to be compared with the last one */

	GrBasis		basis;
	GrThetaState negbin;
	int			nunits;			/* number of times that the response's unit was chosen */
	double		dispersion;		/* dispersion by which steps are measured, from the last pass; NaN: a linear pass,
								 * dispersion unknown */
	double		weight_sum;		/* sum of the rows' weights w (glm.h) at the last pass */
	double		reach;			/* sum of |theta_j| sqrt(H_jj) at the last pass, a bound of the predictors' length */
	double		typical_eta;	/* magnitude of a predictor if there are offsets; else 0 */
	double		deviance_terms;	/* magnitude of the terms that a deviance is summed from, beyond the deviance */
	bool		finishing;		/* the last pass is requested and no iteration is left */
	bool		counts_digits;	/* the fit has converged if rounding leaves enough digits of the estimates */
	double		deviance_old;	/* penalised deviance at theta_old */
	double		penalty;		/* Firth's penalty of the deviance at theta */
	/*
	 * Squared length of the step from the last accepted theta, in standard errors (over the dispersion). INFINITY: not
	 * known.
	 */
	double		decrement;
	double		decrement_before;	/* the decrement of the step before */
	double		left_by_first;	/* the squared decrement after the first step */
	double		bend;			/* Length of the last step over the squared length of the step before: half of the
								 * relative change of the Hessian by a step of length 1. INFINITY: not known. */
	double		bend_before;	/* the bend of the step before */
	double		decrement_exact;	/* the last decrement from an EXACT pass; 0: none */
	GrPassKind	kind;			/* kind of the pass at the last accepted theta */
	double		step;			/* share of the step taken: 1, 1/2, ...; see stretch() */
	double		stretch;		/* share of the step at its first trial */
	bool		check;			/* the step must not raise the deviance */
	bool		observed;		/* EXACT passes of ITERATE are OBSERVED, whose steps are Newton's */
	bool		stiff;			/* the last step's Hessian needs more digits than FAST gives */
	bool		turned_back;	/* no step from theta_old has a finite deviance: the pass there is the last */
	bool		stalled;		/* L-BFGS or gradient descent found nothing lower */
	int			npolished;		/* Newton steps after gradient descent or L-BFGS */
	int64_t		max_iter;		/* limit of iterations, at most INT_MAX */
	int64_t		next_attempt;	/* first iteration at which a direction of separation is looked for; may be > INT_MAX */
	int64_t		next_certificate;	/* first iteration at which complete separation is looked for; may be > INT_MAX */
	int			attempt;		/* index of the tolerance of CLASSIFY or EDGE */
	int			nrefused;		/* passes after steps that had no finite deviance */
	double	   *edge_null;		/* EDGE: memory of gr_edge_ndoubles() float8; NULL: the fit has no edge */
	double		edge_deviance;	/* EDGE: deviance where BARRIER ended */
	double		edge_length;	/* EDGE: length of the last step within the null space */
	bool		edge_peeks;		/* EDGE begins at an estimate, to look for rows at the edge */
	bool		edge_looked;	/* EDGE has looked, and found no rows */
	int			edge_npasses;
	int			nrefined;		/* refinements of the present candidate */
	bool		is_refined;		/* the present candidate is refined */
	double		missed;			/* sum of squared distances of rows from the face at the last refinement */
	bool		final_attempt;	/* the search for separation was made with no iteration left */
	int			nfaces;
	bool		have_sums;		/* PLACE is entered with the sums of an EXACT pass at theta */
	bool		have_inverse;	/* the inverse of the Hessian is in vcov */
	bool		have_factor;	/* options.want_factor is met; delta then has what theta_lo had */
	bool		lacks_deviance; /* the sums are of an EXACT pass at 0 that gives theta; SCORES gives the deviance */
	int			placing;		/* index of the face of PLACE */
	double		face_absolute[GR_FACES_MAX];
	double		min_right[GR_FACES_MAX];
	double		null_intercept;	/* NULL: the intercept of the model with only an intercept */
	double		null_low;		/* NULL: lower bound of null_intercept */
	double		null_high;
	double		null_reach;		/* NULL: limit of a step's length */
	int			null_npasses;
};

/*
 * True for the classic batch update in the features' own units at the caller's rate. All terms move, collinear ones
 * too.
 */
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

/* True if the caller gives totals, and rows of this shape and weighting have totals. */
static inline bool
gr_fit_has_totals(const GrGlmOptions *options)
{
	const GrRowRules rules = {options->distribution.family, options->weighting, 0};

	return options->totals != NULL && gr_has_totals(options->shape, rules);
}

/* Sets the fit's phase, its request and the function that takes the answer. Returns the phase's row of the table. */
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
 * Requests a pass of that kind in that phase: at theta or, for FACE, along the candidate, the face after state->nfaces.
 * Returns true, so that callers can return its result.
 */
extern bool gr_fit_ask(GrGlmFit *fit, GrGlmPhase phase, GrPassKind kind);

/* Enters another phase. Returns false on an error. */
static inline bool
gr_fit_enter(GrGlmFit *fit, GrGlmPhase phase, const GrHost *host, GrError *err)
{
	const GrPhase *row = gr_fit_set_phase(fit, phase);

	return row->enter == NULL || row->enter(fit, host, err);
}

/* Lets another phase take the answer to this phase's request. Returns false on an error. */
static inline bool
gr_fit_hand_on(GrGlmFit *fit, GrGlmPhase phase, const GrHost *host, GrError *err)
{
	const GrPhase *row = gr_fit_set_phase(fit, phase);

	return row->take == NULL || row->take(fit, host, err);
}

/* Ends the fit at theta. have_sums: the sums are of an EXACT pass at theta. Returns false on an error. */
static inline bool
gr_fit_end(GrGlmFit *fit, bool converged, bool have_sums, const GrHost *host, GrError *err)
{
	fit->converged = converged;
	fit->state->have_sums = have_sums;
	return gr_fit_enter(fit, GR_PHASE_PLACE, host, err);
}

/* Returns the penalised deviance of a pass at theta. */
static inline double
gr_fit_deviance(const GrGlmFit *fit)
{
	const GrGlmState *state = fit->state;
	double		sum = 0;

	for (int j = 1; j < state->nfull; j++)
		sum += state->theta[j] * state->theta[j];
	return fit->sums[GR_SUM_DEVIANCE_HI] + state->penalty + (state->options.l2 == 0 ? 0 : state->options.l2 * sum);
}

/* Returns direction f of separation, of z: nfull high halves, then nfull low ones. */
static inline double *
gr_fit_face(const GrGlmState *state, int f)
{
	return state->faces + (size_t) f * gr_face_size(state->options.shape.nfeatures);
}

/* Returns the max_rank of gr_normal_solve() for the sums of the pass. */
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

/* Returns the triangle in the sums of an EXACT or FACE pass. */
static inline GrDDVector
gr_fit_triangle(GrGlmFit *fit)
{
	GrDDVector	triangle = {gr_fit_hi(fit), gr_fit_lo(fit)};

	return triangle;
}

/*
 * Converts a sum of ones to a number of rows. Sums from outside may be NaN or beyond int64; these give 0 or INT64_MAX.
 */
static inline int64_t
gr_count_of(double nrows)
{
	return nrows < 0x1p63 ? (nrows > 0 ? (int64_t) nrows : 0) : INT64_MAX;
}

/* Returns the index of entry (i, j), j <= i, of a packed triangle. */
static inline int64_t
gr_at(int64_t i, int64_t j)
{
	return i * (i + 1) / 2 + j;
}

#endif							/* GPUREG_FIT_H */
