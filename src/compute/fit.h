/*
 * fit.h: what the parts of logistic regression share: newton.c, terms.c, finish.c, start.c, separation.c,
 * descent.c.
 *
 * Terms come in two numberings. "Full" arrays have nfeatures + 1 entries, the intercept first, whether the model has one or not; arrays
 * of terms begin at full index first, which is 0 or 1. theta and what is named after it are of z = (1, x - shift), where x are the features
 * as the rows have them, by fit->basis if there is one.
 */
#ifndef GPUREG_FIT_H
#define GPUREG_FIT_H

#include <math.h>

#include "compute/basis.h"
#include "compute/logreg.h"
#include "compute/ols.h"

/* A pivot this small in a step's Hessian is rounding error; the term stays where it is. */
#define GR_FROZEN_TOLERANCE 1e-28

#define GR_FACES_MAX 8			/* nested separations followed; each takes a term away */

typedef enum GrLogregPhase
{
	GR_PHASE_START,				/* the pass at beta = 0 */
	GR_PHASE_CHANGE,			/* of the rows, by the basis; then START again */
	GR_PHASE_SHIFTED,			/* the pass at beta = 0 about the features' means, where Hessians aren't formed */
	GR_PHASE_ITERATE,
	GR_PHASE_CLASSIFY,			/* which rows are nearly on the candidate face? */
	GR_PHASE_VERIFY,			/* is the rounded candidate a direction of separation? */
	GR_PHASE_DESCENT,			/* a pass of GD or L-BFGS */
	GR_PHASE_ASCEND,
	GR_PHASE_LAST,				/* of GD or L-BFGS: deviance and covariances at the final beta */
	GR_PHASE_PLACE,				/* how far out is beta to be set along a direction of separation? */
	GR_PHASE_DONE
} GrLogregPhase;

struct GrLogregState
{
	GrLogregOptions options;
	GrLogregPhase phase;
	int			nfull;			/* nfeatures + 1 */
	int			first;			/* 0 with an intercept, else 1 */
	bool		dense;			/* Hessians are formed */

	/* full arrays */
	double	   *theta;			/* where the pass is made */
	double	   *theta_lo;		/* what the last step has added to it beyond its digits, at the end */
	double	   *theta_old;		/* the last accepted */
	double	   *delta;			/* the Newton step at theta */
	double	   *shift;			/* nfeatures */
	double	   *no_shift;		/* nfeatures zeros, for passes along faces */
	double	   *scale;			/* square roots of the Hessian's diagonal at 0 */
	double	   *length;			/* ... of the features as they came */
	double	   *removed;		/* the part of beta along directions of separation, of (1, x) */
	double	   *faces;			/* GR_FACES_MAX x nfull, of (1, x) */
	double	   *basis_coef;		/* gr_logreg_nchanged_max() x nfull */

	/* arrays of terms */
	bool	   *aliased;		/* left out: collinear, or on the face */
	bool	   *frozen;			/* likewise, in one step */
	bool	   *collinear;		/* left out from the beginning */
	double	   *solution;
	double	   *pivot;			/* of the last step; see gr_normal_solve() */
	double	   *least;			/* a changed feature's sum of squares at 0, below which it is collinear */
	int		   *changed;		/* gr_logreg_nchanged_max() */

	double	   *triangle;		/* hi and lo of terms and a right-hand side */
	void	   *workspace;		/* of gr_normal_solve() */
	double	   *memory;			/* L-BFGS: see descent.c */

	GrBasis		basis;
	double		deviance_old;	/* penalised, at theta_old */
	double		decrement;		/* squared, of the step from the last accepted theta */
	double		decrement_before;	/* ... and from the one before */
	double		left_by_first;	/* the squared decrement after the first step */
	double		bend;			/* the length of that step over the square of the one before's: half of how much the Hessian changes, relatively, by
								 * a step of length 1; INFINITY: not known */
	double		bend_before;	/* ... of that one's */
	double		decrement_exact;	/* the last one that an EXACT pass gave; 0: none did */
	GrPassKind	kind;			/* of the pass at the last accepted theta */
	double		step;			/* share of the step taken: 1, 1/2, ... */
	bool		check;			/* the step must not raise the deviance */
	bool		stiff;			/* the last step's Hessian wants more digits than FAST gives */
	bool		stalled;		/* L-BFGS or gradient descent found nothing lower */
	int			npolished;		/* Newton steps after a solver that takes none */
	bool		starting;		/* the pass is at options.start, not a step from theta_old */
	int64_t		max_iter;		/* beyond which there is no further step; <= INT_MAX */
	int64_t		next_attempt;	/* no look for a direction of separation before this iteration; may be > INT_MAX */
	int64_t		next_certificate;	/* nor for complete separation; likewise */
	int			attempt;		/* of the tolerances of CLASSIFY */
	bool		final_attempt;	/* made when there is no iteration left */
	int			nfaces;
	int			placing;		/* the face that PLACE is at */
	double		face_absolute[GR_FACES_MAX];
	double		min_right[GR_FACES_MAX];
};

/* The classic batch update, in the features' own units at the caller's rate: all terms move, collinear ones too. */
static inline bool
gr_logreg_is_classic(const GrLogregOptions *options)
{
	return options->solver == GR_SOLVER_GD && !isnan(options->learning_rate);
}

/* Asks for a pass at theta. */
extern void gr_logreg_ask(GrLogregFit *fit, GrLogregPhase phase, GrPassKind kind);

/* Asks for a pass one Newton step beyond theta; ends the fit where there is no iteration left. */
extern bool gr_logreg_go_on(GrLogregFit *fit, const GrHost *host, GrError *err);

/* Ends the fit at theta. The sums are of an EXACT pass at theta, or, where have_sums is false, there are none. */
extern bool gr_logreg_finish(GrLogregFit *fit, bool converged, bool have_sums, const GrHost *host, GrError *err);

/* A Newton step that the sums give, into delta, and its squared decrement; the penalty is added to the sums. */
extern bool gr_logreg_solve_step(GrLogregFit *fit, double tolerance, bool *aliased, double *decrement, const GrHost *host, GrError *err);

/*
 * After an EXACT pass and its step: how long rounding alone makes steps, in standard errors. A share of it is theta's, rounded to float8,
 * for which a step from there has no fewer right digits; the other that of the rows' terms, which variances inflated by collinearity enlarge.
 */
extern double gr_logreg_rounding(GrLogregFit *fit);

/*
 * terms.c. Most features that a fit may change; memory for them. Where features are far spreads or more from 0: sets their shifts.
 * Sets the scales of the terms about them. After the pass at 0, whose pivots are known: chooses a basis, if one is wanted. After the same
 * pass over changed rows: marks as aliased what the change has shown to be collinear.
 */
extern int	gr_logreg_nchanged_max(const GrLogregOptions *options);
extern void gr_logreg_choose_shift(GrLogregFit *fit, double far);
extern void gr_logreg_choose_scale(GrLogregFit *fit);
extern bool gr_logreg_choose_basis(GrLogregFit *fit, bool *found, const GrHost *host, GrError *err);
extern void gr_logreg_mark_collinear(GrLogregFit *fit);

/* The sum of theta_j (x_j - shift_j) as coefficients of (1, x), and back. beta and theta may be the same array. */
extern void gr_logreg_unshift(const GrLogregFit *fit, const double *theta, double *beta);
extern void gr_logreg_shift(const GrLogregFit *fit, const double *beta, double *theta);

/* beta + lo of (1, x), x as the rows have them, to the features as they came, in place; lo is given up. */
extern void gr_logreg_to_features(const GrLogregFit *fit, double *beta, double *lo);

/* theta + theta_lo as coefficients of the features as they came, rounded once; theta_lo is given up. */
extern void gr_logreg_estimate(const GrLogregFit *fit, double *beta);

/* finish.c: takes a pass of PLACE. */
extern bool gr_logreg_placed(GrLogregFit *fit);

/*
 * start.c. At the first step from 0: asks for a pass at options.start instead, if there is a start for these terms. After that pass: whether
 * the fit goes on from there; else delta and decrement are still those at 0.
 */
extern bool gr_logreg_try_start(GrLogregFit *fit);
extern bool gr_logreg_keeps_start(GrLogregFit *fit, double deviance);

/* separation.c: asks for a pass along a candidate, of (1, x), to be looked at by gr_logreg_classified(). */
extern void gr_logreg_suspect(GrLogregFit *fit, const double *candidate, bool all_right);
extern bool gr_logreg_classified(GrLogregFit *fit, const GrHost *host, GrError *err);
extern bool gr_logreg_verified(GrLogregFit *fit, const GrHost *host, GrError *err);

/* descent.c: the solvers that need no Hessian. */
extern size_t gr_descent_nbytes(const GrLogregOptions *options);
extern bool gr_descent_begin(GrLogregFit *fit, GrError *err);
extern bool gr_descent_shifted(GrLogregFit *fit, GrError *err);
extern bool gr_descent_advance(GrLogregFit *fit, GrError *err);
extern bool gr_descent_ascended(GrLogregFit *fit);

static inline double *
gr_logreg_hi(GrLogregFit *fit)
{
	return fit->sums + GR_SUM_HEAD;
}

static inline double *
gr_logreg_lo(GrLogregFit *fit)
{
	return fit->sums + GR_SUM_HEAD + gr_triangle(fit->state->nfull + 2);
}

/* A sum of ones as a number of rows; made-up sums may be beyond what can be counted. */
static inline int64_t
gr_count_of(double nrows)
{
	return nrows < 0x1p63 ? (int64_t) nrows : INT64_MAX;
}

/* where entry (i, j) of a packed triangle is */
static inline int64_t
gr_at(int64_t i, int64_t j)
{
	return i * (i + 1) / 2 + j;
}

#endif							/* GPUREG_FIT_H */
