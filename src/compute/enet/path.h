/*
 * path.h: elastic nets from a Gram matrix: the coefficients at each of a decreasing sequence of penalties lambda.
 * gpu_enet_fit (enet.h) and cross-validations (cv_linear.c) call it first.
 *
 * The objective is glmnet's for a linear model (Friedman, Hastie and Tibshirani 2010, "Regularization paths for
 * generalized linear models via coordinate descent"), over rows whose weights sum to N:
 *
 *   1/(2N) RSS + lambda sum over j of pf_j (alpha s_j |b_j| + (1 - alpha)/2 s_j^2 / s_y b_j^2)
 *
 * s_j is the standard deviation (divisor N, not N - 1) of feature j if features are standardised, else 1. s_y is that
 * of the response or, without an intercept, sqrt(mean(y^2)): glmnet first divides the response by s_y, so that the
 * penalty on squares contains it too. (s_j is about the mean in either case.) The penalty factors pf are scaled to a
 * sum of p, as in glmnet. The intercept is not penalised. A feature that is constant, or has an infinite factor, has
 * the coefficient 0.
 *
 * The minimum is found exactly, not to a tolerance. For a given set of nonzero coefficients with given signs it solves
 * a linear system. The system is factored as LDL' in float8, and refined by double-double residuals until only rounding
 * is left; it is factored in double-double if a feature is nearly collinear or the refinement does not end. From the
 * minimum at one lambda the path moves towards that at the next in a straight line. A coefficient that reaches zero
 * leaves the set. At the end of the line, features enter whose correlation with the residuals exceeds their penalty
 * (Osborne, Presnell and Turlach 2000, "A new approach to variable selection in least squares problems"; Lee, Battle,
 * Raina and Ng 2007, "Efficient sparse coding algorithms"). Each line lowers the objective, so no set comes twice.
 * Gradients are computed in double-double for active features, and for other features if float8 cannot decide whether
 * they enter. The conditions of a minimum are met to about 2^-84 of a feature's and the response's lengths.
 *
 * Coefficients are right to float8's last digit or two up to a condition number of about 1e16 of the Gram matrix, 1e8
 * of the scaled features.
 */
#ifndef GPUREG_PATH_H
#define GPUREG_PATH_H

#include "compute/base/compute.h"
#include "compute/base/dd_dot.h"
#include "compute/enet/path_quick.h"
#include "compute/linalg/gram.h"

#ifdef __cplusplus
extern "C" {
#endif

/* glmnet's rule: a path ends once a step's gain is less than this share of what is explained. */
#define GR_PATH_LEAST_GAIN 1e-5
/*
 * A path also ends once more than this share of the total is explained, but not before GR_PATH_LEAST_LAMBDAS lambdas.
 */
#define GR_PATH_MOST_EXPLAINED 0.999
#define GR_PATH_LEAST_LAMBDAS 5
/* Least alpha used to compute the largest lambda, as in glmnet. */
#define GR_PATH_LEAST_ALPHA 1e-3

typedef struct GrPathOptions
{
	double		alpha;			/* 0 .. 1 */
	bool		intercept;
	bool		standardize;
	const double *penalty;		/* p factors >= 0, not all 0 or infinite; NULL: 1 each */
	const bool *positive;		/* p: coefficients that must not be negative; NULL: none */
	/*
	 * For sums that are weighted by a Newton step of another model: p values s_j (0: the feature does not vary), with
	 * total as N and 1 as s_y. NULL: s_j, N and s_y are computed from the sums.
	 */
	const double *deviation;
	double		total;
	/* sums have float8's precision only: collinearity and minima are decided to about 1e-11 */
	bool		rounded;
} GrPathOptions;

/* The fit at one lambda. */
typedef struct GrPathPoint
{
	double		lambda;
	int			df;				/* nonzero coefficients, without the intercept */
	double		rss;
	double		tss;			/* about the mean if there is an intercept, else about 0 */
	double		dev_ratio;		/* share explained: 1 - RSS / TSS */
} GrPathPoint;

/*
 * LDL' of a matrix that grows and shrinks. l holds the rows of L one after another, with 0, 1, 2, ... entries; the unit
 * diagonal is not stored.
 */
typedef struct GrPathFactor
{
	int			n;
	GrDDVector	l;
	GrDDVector	d;
} GrPathFactor;

/*
 * State of a path. All vectors lie in the workspace and have p entries unless noted. C is the matrix of the features'
 * products, centred if there is an intercept. Features and response are scaled by powers of two.
 */
typedef struct GrPath
{
	int			p;
	double		alpha;
	bool		intercept;
	bool		any_positive;
	bool		response_varies;	/* false: there is no path */
	int			nusable;		/* features that vary and have a finite factor; 0: there is no path */
	GrGram		gram;			/* the caller's or, without an intercept, a copy about 0 */
	GrDD		total;			/* N, or the sum of the weights */
	double	   *scale;			/* p + 1 powers of two, the response's last */
	double		alias_tolerance;
	double		gradient_rounding;
	GrDDVector	sums;			/* p + 1; 0 without an intercept */
	GrDDVector	diagonal;		/* p + 1: centred sums of squares */
	GrDDVector	unit1;			/* penalties at lambda 1: unit1 at alpha 1, unit2 at alpha 0 */
	GrDDVector	unit2;
	GrDDVector	penalty1;		/* penalties at the present lambda and alpha */
	GrDDVector	penalty2;
	double	   *norm;			/* p + 1: square roots of diagonal */
	bool	   *usable;
	bool	   *positive;
	double		lambda;			/* present lambda, scaled; infinite at first */
	GrDDVector	response;		/* products with the response */
	GrDDVector	gradient;		/* response - C b; of active features; of other features approximate, in hi */
	GrDDVector	b;
	/* sign of b in the active set: -1, 0 or 1 */
	signed char *sign;
	int			nslots;			/* features that were ever active; each has a slot */
	int		   *slot;			/* p: slot of a feature, or -1 */
	int		   *slot_feature;
	GrDDVector	products;		/* C of the features with slots, by slots, without the diagonal; see path_kernels.h */
	double	   *columns;		/* C of all features with those that have slots; see path_rows.c */
	int			nactive;
	int		   *active;
	int		   *place;			/* p: position in active, or -1 */
	bool	   *skipped;		/* p: collinear with the active features at this lambda */
	bool		exact;			/* the active set is factored in double-double; never reset */
	GrQuick		quick;
	GrPathFactor factor;
	GrDDVector	residual;		/* by position in active: how far each feature's condition is from being met */
	bool		rounded;		/* GrPathOptions.rounded */
	double		gain;			/* largest ratio, at this lambda, of a step's size to the residuals that it removes */
	double		slack;			/* bound on the error of residual, for a feature of length 1 */
	double		drift;			/* bound on the change of inactive features' gradients since they were computed */
	int			nevaluated;		/* times that residual was recomputed at this lambda */
	GrDDVector	step;
	GrDDVector	work;
	GrDDVector	row;			/* products of one feature with all features */
	GrDDVector	placed;			/* b, by slots */
	GrDDVector	placed_gradient;
	double	   *batch;			/* room for GR_QUICK_MOST rows */
	int		   *list;
	int		   *entering;
	const struct GrPathKernels *kernels;	/* kernels for the processor */
	GrPoll		poll;
} GrPath;

/* Returns the bytes of the workspace of gr_path_open(). */
extern size_t gr_path_workspace_nbytes(int nfeatures, bool intercept);

/*
 * Opens a path over gram. gram's numbers and workspace (gr_path_workspace_nbytes() bytes) stay the caller's and must
 * outlive the path. Most of workspace is never touched if few features are ever active. Fails with GR_OUT_OF_RANGE
 * (where: the column) if sums of squares are not finite or gram is not a matrix of cross products, and with
 * GR_CANCELED.
 */
extern bool gr_path_open(GrPath *path, const GrPathOptions *options, const GrGram *gram, void *workspace,
						 const GrHost *host, GrError *err);

/*
 * Starts a new path at lambda, which may be infinite, from coef (p coefficients, without the intercept). The nonzero
 * coefficients form the first active set; the closer they are to the minimum, the fewer steps follow. Fails like
 * gr_path_open().
 */
extern bool gr_path_resume(GrPath *path, double lambda, const double *coef, GrError *err);

/* Returns the sum of squares of column k of (x, y) about its mean, or 0 if that is only rounding error. */
extern GrDD gr_path_spread(const GrGram *gram, int k);

/*
 * Fills lambda with glmnet's grid of *n values: from the least lambda at which every penalised coefficient is 0, evenly
 * in the logarithm, down to min_ratio (in (0, 1)) times that. Sets *n to 1 if the largest lambda is 0. The path must be
 * new. Fails like gr_path_open().
 */
extern bool gr_path_grid(GrPath *path, double min_ratio, int *n, double *lambda, GrError *err);

/*
 * Finds the minimum at a lambda >= 0, preferably below the previous one. coef becomes the intercept, if there is one,
 * and p coefficients, on the columns' own scale. Fails like gr_path_open(), and with GR_RESULT_OUT_OF_RANGE.
 */
extern bool gr_path_step(GrPath *path, double lambda, GrPathPoint *point, double *coef, GrError *err);

/*
 * True if glmnet ends a path over its own grid at point, number k (from 0) of n. before: the point before. A small gain
 * does not end a path with coefficients that must be positive.
 */
extern bool gr_path_ends(const GrPath *path, const GrPathPoint *before, const GrPathPoint *point, int k, int n);

/*
 * Returns the residual sum of squares of coef (the intercept first, if there is one) over the rows summed in gram: z'Gz
 * in double-double. work: 2 (nfeatures + 2) numbers.
 */
extern double gr_path_rss(const GrGram *gram, bool intercept, const double *coef, double *work);

/*
 * Returns the least pivot of the active features: the share of a feature's square (with its penalty) that the other
 * active features do not explain.
 */
extern double gr_path_least_pivot(const GrPath *path);

/*
 * Loops over long vectors in double-double, with the same bits on every processor (path_rows.c)
 */

/* y[k] -= sum over r < n of rows[r][k] x[r], for k < length. The error is about n 2^-104 of the terms' sizes. */
extern void gr_path_subtract(GrDDVector y, const GrDDConstVector *rows, const GrDD *x, int n, int64_t length);

/* row[k] = (row[k] - sums[k] mean) scale[k] own_scale, for k < length; the scales are powers of two. */
extern void gr_path_centre(GrDDVector row, GrDDConstVector sums, GrDD mean, const double *scale, double own_scale,
						   int64_t length);

/* y[k] = a[k] x, for k < length. */
extern void gr_path_multiply(GrDDVector y, GrDDConstVector a, GrDD x, int64_t length);

/*
 * Updates a row of a factor L after a row above it was removed (gr_factor_drop()): for k < length in turn, w -=
 * before[k] row[k] and row[k] += share[k] w. Returns the last w.
 */
extern GrDD gr_path_downdate(GrDDVector row, GrDDConstVector before, GrDDConstVector share, GrDD w, int64_t length);

/* Shared by path.c, path_rows.c and path_active.c */

/* Slots per panel of GrPath.columns; a multiple of 8. */
#define GR_PATH_PANEL 128

/* Assigns slots to those of n features (at most GR_QUICK_MOST) that have none, and computes their products. */
extern void gr_path_make_rows(GrPath *path, const int *features, int n);

/* Returns the product, an entry of C, of two features with slots. */
extern GrDD gr_path_product(const GrPath *path, int i, int j);

/* Computes the gradients of active features at the present coefficients. Returns false if canceled. */
extern bool gr_path_evaluate(GrPath *path);

/* Computes inactive features' gradients in float8 (error: about nslots roundings). Returns false if canceled. */
extern bool gr_path_approximate(GrPath *path);

/* Computes the gradient of inactive feature j in double-double. */
extern void gr_path_make_exact(GrPath *path, int j);

/* Computes the gradients of all features in double-double. Returns false if canceled. */
extern bool gr_path_make_all_exact(GrPath *path);

/* The factor in double-double (path_rows.c) */

/*
 * Appends a row for a new entry, from its products with the existing entries and its own square. Returns false if the
 * pivot is at most tolerance * square; work is then L^-1 products / d, the row that was not appended.
 */
extern bool gr_factor_append(GrPathFactor *factor, GrDDVector products, GrDD square, double tolerance, GrDDVector work);

/* Removes entry k. before, share: room for n entries each. */
extern void gr_factor_drop(GrPathFactor *factor, int k, GrDDVector before, GrDDVector share);

/* Solves LDL' x = r. */
extern void gr_factor_solve(const GrPathFactor *factor, GrDDConstVector r, GrDDVector x);

/* Solves L' x = x, in place. */
extern void gr_factor_solve_back(const GrPathFactor *factor, GrDDVector x);

/*
 * Factors the active set again (path_active.c), after its penalties on squares have changed. Returns false if canceled.
 */
extern bool gr_path_factor_again(GrPath *path);

/* Finds the minimum at the present penalties (path_active.c). Fails like gr_path_step(). */
extern bool gr_path_minimise(GrPath *path, GrError *err);

/* Makes b (scaled) a new path's coefficients; collinear features keep 0. Fails with GR_CANCELED. */
extern bool gr_path_begin_at(GrPath *path, const double *b, GrError *err);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_PATH_H */
