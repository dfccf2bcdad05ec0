/*
 * logit_path.h: elastic nets of a logistic regression: the coefficients at each of a falling sequence of penalties.
 *
 * What is minimised is glmnet's objective for family "binomial" (Friedman, Hastie and Tibshirani 2010, "Regularization
 * paths for generalized linear models via coordinate descent"), over rows whose weights come to N:
 *
 *	 deviance / (2 N) + lambda sum over j of pf_j (alpha s_j |b_j| + (1 - alpha)/2 s_j^2 b_j^2)
 *
 * with s_j and pf_j as path.h has them; the response isn't standardised.
 *
 * As with glm_fit.h the path asks for passes over the rows (glm.h), and the caller makes them, wherever the rows are. A
 * pass at beta tells the deviance there, its gradient and its Hessian: of the quadratic that these make, the penalised
 * minimum is found exactly by path.h, and is where the next pass is made (a proximal Newton method: Lee, Sun and
 * Saunders 2014, "Proximal Newton-type methods for minimizing composite functions"), or half the way to it, where the
 * objective is higher there. The last step isn't looked at: that leaves an error which is the square of its length, and
 * the step is that short. A lambda begins with the last one's quadratic, so that its first pass is near its minimum.
 *
 * Steps are solved from FAST passes, and the last one of a lambda from an EXACT one where its features are so nearly
 * collinear that float8 would leave too few digits.
 */
#ifndef GPUREG_LOGIT_PATH_H
#define GPUREG_LOGIT_PATH_H

#include "compute/enet/path.h"
#include "compute/glm/glm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Passes that a lambda may take */
#define GR_LOGIT_PATH_PASSES_MAX 60

typedef struct GrLogitPathOptions
{
	GrPathOptions net;			/* alpha, intercept, standardize, penalty and positive, which must stay */
	GrRowShape	shape;			/* of the rows, which have no offset and aren't single */
	bool		counts;			/* rows with weights stand so many times each */
} GrLogitPathOptions;

typedef struct GrLogitPath
{
	GrLogitPathOptions options;
	int			p;

	/* what is wanted: make pass, adding to sums, which are cleared */
	bool		wants_pass;
	GrPass		pass;
	double	   *sums;

	/* what there is at the lambda that was gone to */
	GrPathPoint point;			/* rss and tss are the deviance and the null deviance */
	double	   *coef;			/* the intercept, if there is one, and p */
	bool		converged;		/* false: what isn't penalised ran off, and no lambda can be gone to any more */
	int			npasses;		/* of all lambdas */

	/* what there is once the path has begun */
	int			nusable;		/* features that vary and aren't left out */
	bool		any_positive;
	double		largest;		/* the least lambda without a nonzero coefficient that is penalised */

	/* the path's own: coefficients are of (1, x - shift), the intercept first, whether there is one or not */
	bool		begun;			/* deviations and the model without features are known */
	bool		far;			/* a shift was chosen, and the first pass made again */
	double	   *shift;			/* p + 1, the last one 0 */
	double	   *deviation;		/* p: s_j, also where features aren't standardised; 0: it doesn't vary */
	double	   *penalty1;		/* p: pf_j s_j, pf_j s_j^2 */
	double	   *penalty2;
	double		weights;		/* N */
	double		null_deviance;
	double		lambda;			/* gone to; infinite at first */
	double	   *beta;			/* where the pass is made */
	double	   *anchor;			/* where the last one was made that counts */
	double	   *solved;			/* the minimum of that one's quadratic */
	double		deviance;		/* at the anchor */
	double	   *gradient;		/* p + 1: X'r at the anchor */
	GrGram		gram;			/* X'WX at the anchor, y the working response; its shift is the path's */
	bool		rounded;		/* that is of a FAST pass */
	double		square;			/* of an EXACT pass, the last one: the sum of the working residuals' squares */
	double		length;			/* of the last step at this lambda; 0: there was none */
	double		curvature;		/* a step's length over the square of the one before */
	double		pivot;			/* the least one of the features that were solved for; see least_pivot() */
	int			nsteps;			/* passes at this lambda */
	int			nhalvings;		/* of the step that is being looked at */
	void	   *workspace;		/* gr_path_open()'s */
} GrLogitPath;

extern size_t gr_logit_path_nbytes(const GrLogitPathOptions *options);

/*
 * Sets a path up in memory of so many bytes, which stays the caller's, aligned as malloc() does. It asks for passes
 * first that tell the model without penalised features, as if it had gone to an infinite lambda.
 */
extern void gr_logit_path_begin(GrLogitPath *path, const GrLogitPathOptions *options, void *memory);

/*
 * Takes the pass that was wanted. Fails with GR_ONE_CLASS (value: which), GR_OUT_OF_RANGE (where: the column of a row),
 * GR_RESULT_OUT_OF_RANGE, GR_INVALID (no rows) and GR_CANCELED.
 */
extern bool gr_logit_path_advance(GrLogitPath *path, const GrHost *host, GrError *err);

/* Goes to a lambda >= 0, best below the last one's. Where no pass is wanted afterwards, it is there. */
extern bool gr_logit_path_go_to(GrLogitPath *path, double lambda, const GrHost *host, GrError *err);

/* glmnet's grid, once the path has begun: n lambdas; *n becomes 1 where the largest one is 0. */
extern void gr_logit_path_grid(const GrLogitPath *path, double min_ratio, int *n, double *lambda);

/*
 * Does glmnet end a path of its own grid with this lambda, the k'th (from 0) of n? before: the point before it. As with
 * gr_path_ends(), but that a gain is small in itself, not as a share of what is explained
 */
extern bool gr_logit_path_ends(const GrLogitPath *path, const GrPathPoint *before, int k, int n);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_LOGIT_PATH_H */
