/*
 * path.h: elastic nets from a Gram matrix: the coefficients at each of a falling sequence of penalties lambda.
 *
 * What is minimised is glmnet's objective for a linear model (Friedman, Hastie and Tibshirani 2010, "Regularization
 * paths for generalized linear models via coordinate descent"), over N rows, or weights that come to N:
 *
 *	 1/(2N) RSS + lambda sum over j of pf_j (alpha s_j |b_j| + (1 - alpha)/2 s_j^2 / s_y b_j^2)
 *
 * s_j is the standard deviation (of N, not N - 1) of feature j where features are standardised, else 1. s_y is that of
 * the response or, without an intercept, sqrt(mean(y^2)): glmnet divides the response by it before all else, so that
 * the square's penalty has it too. (s_j is about the mean either way.) The penalty factors pf are scaled to a sum of p,
 * as glmnet's are. The intercept isn't penalised. A feature that is constant, or whose factor is infinite, has the
 * coefficient 0.
 *
 * The minimum is found exactly, not to a tolerance: for a given set of nonzero coefficients with given signs it is a
 * linear system, which is factored in float8, LDL', and refined by residuals in double-double until these are rounding;
 * where a feature has little of its own, or that doesn't end, it is factored in double-double. From the minimum at one
 * lambda, the next one is gone to in a straight line until a coefficient reaches zero, which then leaves the set; at
 * the end of the line, those features enter it whose correlation with the residuals is above their penalty (Osborne,
 * Presnell and Turlach 2000, "A new approach to variable selection in least squares problems"; Lee, Battle, Raina and
 * Ng 2007, "Efficient sparse coding algorithms"). Each line lowers the objective, so no set comes twice. Gradients of
 * active features are computed in double-double, and those of others where float8 leaves it open whether they enter, so
 * that the conditions of a minimum are met to some 2^-84 of a feature's and the response's lengths.
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

/* glmnet's: the path ends once a step explains less than this share of what is explained ... */
#define GR_PATH_LEAST_GAIN 1e-5
/* ... or when more than this is; but not before so many lambdas */
#define GR_PATH_MOST_EXPLAINED 0.999
#define GR_PATH_LEAST_LAMBDAS 5
/* where lambda's maximum is computed, alpha counts as at least this */
#define GR_PATH_LEAST_ALPHA 1e-3

typedef struct GrPathOptions
{
	double		alpha;			/* 0 .. 1 */
	bool		intercept;
	bool		standardize;
	const double *penalty;		/* p factors >= 0, not all 0 or infinite; NULL: 1 each */
	const bool *positive;		/* p: which coefficients must not be negative; NULL: none */
	/*
	 * Of sums that are weighted by a step of another model's fit: the features' s_j, 0 of one that doesn't vary, and N.
	 * s_y is 1 then. NULL: as the sums have them
	 */
	const double *deviation;
	double		total;
	bool		rounded;		/* they are of float8 alone: what is collinear, or a minimum, is told to some 1e-11 */
} GrPathOptions;

/* What there is at a lambda */
typedef struct GrPathPoint
{
	double		lambda;
	int			df;				/* coefficients that aren't 0, the intercept left out */
	double		rss;
	double		tss;			/* about the mean if there is an intercept, else about 0 */
	double		dev_ratio;		/* 1 - RSS / TSS */
} GrPathPoint;

/* LDL' of a matrix that grows and shrinks: rows of L one after another, of 0, 1, 2, ... entries; L has ones besides */
typedef struct GrPathFactor
{
	int			n;
	GrDDVector	l;
	GrDDVector	d;
} GrPathFactor;

/*
 * The state of a path: all vectors are the workspace's, and of p where not said. Features are scaled by powers of two.
 */
typedef struct GrPath
{
	int			p;
	double		alpha;
	bool		intercept;
	bool		any_positive;
	bool		response_varies;	/* else there is no path */
	int			nusable;		/* features that vary and aren't left out; without one there is none either */
	GrGram		gram;			/* the caller's or, without an intercept, one about 0 */
	GrDD		total;			/* N */
	double	   *scale;			/* p + 1, the response's last */
	double		alias_tolerance;
	double		gradient_rounding;
	GrDDVector	sums;			/* p + 1; 0 where there is no intercept */
	GrDDVector	diagonal;		/* sums of squares, p + 1 */
	GrDDVector	unit1;			/* the penalties at a lambda of 1 and an alpha of 1 and 0 */
	GrDDVector	unit2;
	GrDDVector	penalty1;		/* at the present ones */
	GrDDVector	penalty2;
	double	   *norm;			/* p + 1: square root of the diagonal */
	bool	   *usable;
	bool	   *positive;
	double		lambda;			/* present, scaled; infinite at first */
	GrDDVector	response;		/* products with the response */
	GrDDVector	gradient;		/* response - C b: of active features; of others about, in hi */
	GrDDVector	b;
	signed char *sign;
	int			nslots;			/* of features that ever were active */
	int		   *slot;			/* each one's, or -1 */
	int		   *slot_feature;
	GrDDVector	products;		/* C of those, by slots, without the diagonal; see path_kernels.h */
	double	   *columns;		/* C of all features and those; see path_rows.c */
	int			nactive;
	int		   *active;
	int		   *place;			/* in active, or -1 */
	bool	   *skipped;		/* collinear with the active ones, at this lambda */
	bool		exact;			/* is the active set's factor in double-double? Then it stays so */
	GrQuick		quick;
	GrPathFactor factor;
	GrDDVector	residual;		/* of the active ones, in their order: how far their conditions are from being met */
	bool		rounded;		/* as in the options */
	double		gain;			/* the most that a step had of its residuals, at this lambda */
	double		slack;			/* what it may be wrong by, for a feature of length 1 */
	double		drift;			/* likewise, what other features' gradients have changed by since they were computed */
	int			nevaluated;		/* how often it was computed anew at this lambda */
	GrDDVector	step;
	GrDDVector	work;
	GrDDVector	row;			/* a feature's products with all */
	GrDDVector	placed;			/* b by slots */
	GrDDVector	placed_gradient;
	double	   *batch;			/* GR_QUICK_MOST rows */
	int		   *list;
	int		   *entering;
	GrPoll		poll;
} GrPath;

extern size_t gr_path_workspace_nbytes(int nfeatures, bool intercept);

/*
 * Opens a path over gram, whose numbers must stay as they are, as must workspace, of gr_path_workspace_nbytes() bytes,
 * of which most is never touched where few features are ever active. Fails with GR_OUT_OF_RANGE (where: the column) if
 * sums of squares aren't finite or the matrix isn't one of cross products, and with GR_CANCELED.
 */
extern bool gr_path_open(GrPath *path, const GrPathOptions *options, const GrGram *gram, void *workspace,
						 const GrHost *host, GrError *err);

/*
 * Goes on at a lambda, which may be infinite, from coefficients (p, without the intercept) that are about those of its
 * minimum, so that the way to it is short: those that aren't 0 are the active ones. The path must be new. Fails like
 * gr_path_open()
 */
extern bool gr_path_resume(GrPath *path, double lambda, const double *coef, GrError *err);

/* The sum of squares of column k of (x, y) about its mean; 0 if that is rounding */
extern GrDD gr_path_spread(const GrGram *gram, int k);

/*
 * glmnet's grid: from the least lambda at which no penalised coefficient is nonzero, n of them, evenly in the logarithm
 * down to min_ratio, in (0, 1), times that. *n becomes 1 where that lambda is 0. The path must be new.
 */
extern bool gr_path_grid(GrPath *path, double min_ratio, int *n, double *lambda, GrError *err);

/*
 * The minimum at a lambda >= 0, which is best below the last one's. coef: the intercept, if there is one, and p. Fails
 * like gr_path_open(), and with GR_RESULT_OUT_OF_RANGE.
 */
extern bool gr_path_step(GrPath *path, double lambda, GrPathPoint *point, double *coef, GrError *err);

/*
 * Does glmnet end a path of its own grid with this one, the k'th (from 0) of n? before: the point before it. Where
 * coefficients must be positive, a small gain doesn't end it.
 */
extern bool gr_path_ends(const GrPath *path, const GrPathPoint *before, const GrPathPoint *point, int k, int n);

/*
 * The residual sum of squares of coefficients over rows whose sums are these (the intercept first, if there is one), as
 * z'Gz in double-double. work: 2 (nfeatures + 2) numbers
 */
extern double gr_path_rss(const GrGram *gram, bool intercept, const double *coef, double *work);

/* Of the active features: what is left of one, as a share of its square, that the others and the penalty don't have */
extern double gr_path_least_pivot(const GrPath *path);

/*
 * What path.c uses, of path_rows.c
 */

/* Slots of a panel of GrPath's columns; a multiple of 8 */
#define GR_PATH_PANEL 128

/* Gives features, at most GR_QUICK_MOST, slots, those that have none. */
extern void gr_path_make_rows(GrPath *path, const int *features, int n);

/* The product of two features that have slots, centred and scaled */
extern GrDD gr_path_product(const GrPath *path, int i, int j);

/* The gradients of the active features, at the present coefficients; false if the host asked to stop */
extern bool gr_path_evaluate(GrPath *path);

/* Of the other features, to some rounding of float8 and n of the sizes of what they are made of; likewise */
extern bool gr_path_approximate(GrPath *path);

/* Of one other feature, in double-double */
extern void gr_path_make_exact(GrPath *path, int j);

/* Of all features; false if the host asked to stop */
extern bool gr_path_make_all_exact(GrPath *path);

/*
 * Of path_factor.c
 */

/* Appends the row of a new entry whose products with those there are given, and with itself. False: it is collinear,
 * and work then has what the row would have been: L^-1 times products, over d. */
extern bool gr_factor_append(GrPathFactor *factor, GrDDVector products, GrDD square, double tolerance, GrDDVector work);

/* Takes entry k out. work1, work2, n each */
extern void gr_factor_drop(GrPathFactor *factor, int k, GrDDVector before, GrDDVector share);

/* x = (LDL')^-1 r */
extern void gr_factor_solve(const GrPathFactor *factor, GrDDConstVector r, GrDDVector x);

/* x = L'^-1 x */
extern void gr_factor_solve_back(const GrPathFactor *factor, GrDDVector x);

/*
 * Of path_active.c: factors the active set anew, whose penalties on squares have changed. False if the host asked to
 * stop
 */
extern bool gr_path_factor_again(GrPath *path);

/* Of path_active.c: the minimum at the present penalties; false and an error, as gr_path_step() */
extern bool gr_path_minimise(GrPath *path, GrError *err);

/* Of path_active.c: makes b, scaled, of a new path the present coefficients, but of collinear features. */
extern bool gr_path_begin_at(GrPath *path, const double *b, GrError *err);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_PATH_H */
