/*
 * logit_path.h: elastic nets of a logistic regression: the coefficients at each of a decreasing sequence of penalties.
 * gpu_enet_fit calls it first (enet_logit.h).
 *
 * The objective is glmnet's for family "binomial" (Friedman, Hastie and Tibshirani 2010, "Regularization paths for
 * generalized linear models via coordinate descent"), over rows whose weights sum to N:
 *
 *   deviance / (2 N) + lambda sum over j of pf_j (alpha s_j |b_j| + (1 - alpha)/2 s_j^2 b_j^2)
 *
 * s_j and pf_j are those of path.h; the response is not standardised.
 *
 * As in glm_fit.h, the path asks for passes over the rows (glm.h) and the caller makes them, wherever the rows are. A
 * pass at beta yields the deviance, its gradient and its Hessian. path.h finds the exact minimum of the quadratic that
 * these and the penalty form, and the next pass is made there (a proximal Newton method: Lee, Sun and Saunders 2014,
 * "Proximal Newton-type methods for minimizing composite functions"), or half the way to it if the objective is higher
 * there. No pass is made after the last step of a lambda: its error is about the square of its length, and the last
 * step is short enough for that. Each lambda starts from the quadratic of the lambda before, so that its first pass is
 * near its minimum.
 *
 * With many terms, a pass for the gradient alone costs much less than one for the Hessian, too. Then steps use the
 * Hessian of an earlier pass, corrected by what the gradients tell, as long as that costs less than another Hessian
 * until the lambda's error is as small. Such steps become shorter by a rate that is measured, and the last one is as
 * long as the error divided by that rate.
 *
 * Steps are solved from FAST passes. The last step of a lambda uses an EXACT pass if its features are so nearly
 * collinear that float8 would leave too few digits.
 */
#ifndef GPUREG_LOGIT_PATH_H
#define GPUREG_LOGIT_PATH_H

#include "compute/enet/path.h"
#include "compute/glm/glm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Most passes of one lambda */
#define GR_LOGIT_PATH_PASSES_MAX 60

typedef struct GrLogitPathOptions
{
	/* alpha, intercept, standardize, penalty and positive; the arrays must outlive the path */
	GrPathOptions net;
	GrRowShape	shape;			/* shape of the rows: float8 features, no offset */
	bool		counts;			/* weights are frequencies */
} GrLogitPathOptions;

typedef struct GrLogitPath
{
	GrLogitPathOptions options;
	int			p;

	/* The request: if wants_pass, make pass and add its result to sums, which are already cleared. */
	bool		wants_pass;
	GrPass		pass;
	double	   *sums;

	/* The results at the last lambda */
	GrPathPoint point;			/* rss and tss are the deviance and the null deviance */
	double	   *coef;			/* the intercept, if the model has one, then p coefficients */
	/* false: this lambda's fit did not converge, as with separated rows; later lambdas are not fitted */
	bool		converged;
	int			npasses;		/* passes of all lambdas */

	/* Results that do not depend on lambda, once the path has begun */
	int			nusable;		/* features that vary and have a finite penalty factor */
	bool		any_positive;
	double		largest;		/* least lambda at which every penalised coefficient is 0 */

	/*
	 * Internal state. Coefficients are of (1, x - shift), with an entry for the intercept even if the model has none.
	 */
	bool		begun;			/* deviations and the null model are known */
	bool		far;			/* a shift was chosen, and the first pass repeated */
	double	   *shift;			/* p + 1 numbers; the last is 0 */
	/* p numbers: s_j, also if features are not standardised; 0: the feature does not vary */
	double	   *deviation;
	double	   *penalty1;		/* p numbers: pf_j s_j; penalty2: pf_j s_j^2 */
	double	   *penalty2;
	double		weights;		/* N, the sum of the rows' weights */
	double		null_deviance;
	double		lambda;			/* the present lambda; infinite at first */
	double	   *beta;			/* coefficients of the requested pass */
	double	   *anchor;			/* coefficients of the last accepted pass */
	double	   *solved;			/* minimum of the quadratic at the anchor */
	double		deviance;		/* at the anchor */
	double	   *gradient;		/* p + 1 numbers: X'r at the anchor */
	GrGram		gram;			/* X'WX at the anchor, with the working response as y; shifted by shift */
	bool		rounded;		/* gram comes from a FAST pass */
	bool		stale;			/* X'WX is not that at the anchor, but of an earlier pass */
	bool		was_stale;		/* stale at the previous step */
	double		rate;			/* if stale: ratio of a step's length to the previous step's */
	double		square;			/* sum of squares of the working residuals in the last EXACT pass */
	double		length;			/* length of the last step at this lambda; 0: no step yet */
	double		curvature;		/* ratio of a step's length to the square of the previous step's; at least 1 */
	double		pivot;			/* least pivot of the solved features; see gr_path_least_pivot() */
	int			nsteps;			/* passes at this lambda */
	int			nhalvings;		/* halvings of the present step */
	double	   *change;			/* p + 1 numbers of scratch, and as many at product */
	double	   *product;
	void	   *workspace;		/* workspace of gr_path_open() */
} GrLogitPath;

/* Returns the bytes of memory that gr_logit_path_begin() needs. */
extern size_t gr_logit_path_nbytes(const GrLogitPathOptions *options);

/*
 * Begins a path in memory of gr_logit_path_nbytes(options) bytes, aligned as by malloc(), which stays the caller's. The
 * first passes that the path asks for fit the model without penalised features, as at an infinite lambda.
 */
extern void gr_logit_path_begin(GrLogitPath *path, const GrLogitPathOptions *options, void *memory);

/*
 * Takes the sums of the requested pass, and asks for the next pass or finishes the present lambda. Fails with
 * GR_ONE_CLASS (value: the class), GR_OUT_OF_RANGE (where: the column), GR_RESULT_OUT_OF_RANGE, GR_INVALID (no rows)
 * and GR_CANCELED.
 */
extern bool gr_logit_path_advance(GrLogitPath *path, const GrHost *host, GrError *err);

/*
 * Moves to a lambda >= 0, preferably below the previous one. If the path wants no pass afterwards, the results are
 * those of this lambda. Fails like gr_logit_path_advance().
 */
extern bool gr_logit_path_go_to(GrLogitPath *path, double lambda, const GrHost *host, GrError *err);

/*
 * Fills lambda with glmnet's grid of *n values, down to min_ratio of the largest. The path must have begun. If the
 * largest lambda is 0, sets *n to 1.
 */
extern void gr_logit_path_grid(const GrLogitPath *path, double min_ratio, int *n, double *lambda);

/*
 * True if glmnet ends a path over its own grid at the present lambda, number k (from 0) of n. before: the result of the
 * previous lambda. Unlike gr_path_ends(), it compares the gain itself, not its share of the explained deviance.
 */
extern bool gr_logit_path_ends(const GrLogitPath *path, const GrPathPoint *before, int k, int n);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_LOGIT_PATH_H */
