/*
 * wald.h: joint tests of a model's coefficients by their covariance matrix. gpu_wald, gpu_vif (fn_compare.c) and
 * gpu_glance's robust F (model_summary.c) use it.
 */
#ifndef GPUREG_WALD_H
#define GPUREG_WALD_H

#include "postgres.h"

#include "sql/model/model.h"

/* The covariances and coefficients of n terms, scaled by powers of two so that variances are 1 to 4. */
typedef struct GrVcovBlock
{
	int			n;				/* number of terms */
	double	   *hi;				/* packed triangle of n + 1 rows; the last row holds the coefficients */
	double	   *lo;				/* low halves of the covariances if has_low, else 0 */
	bool		has_low;		/* the model has low halves */
	bool	   *aliased;		/* n flags: terms that the solution leaves out */
	double	   *inverse;		/* n x n, V^-1; NULL: not wanted */
	double	   *coef;			/* n numbers, V^-1 b */
	double		quadratic;		/* b' V^-1 b */
	bool		singular;		/* V is singular to within rounding */
	bool		precise;		/* quadratic has six digits */
} GrVcovBlock;

/*
 * Fills block with n terms of model, each of which must have a positive finite variance. Returns false if a covariance
 * or coefficient is not finite.
 */
extern bool gr_vcov_block_fill(GrVcovBlock *block, const GrModel *model, const int *terms, int n);

/* Solves the block. A matrix that is singular to within its entries' rounding is marked as singular. */
extern void gr_vcov_block_solve(GrVcovBlock *block, bool want_inverse);

/* True if entry (i, i) of the inverse of a block that isn't singular has six digits. */
extern bool gr_vcov_block_is_precise(const GrVcovBlock *block, int i);

typedef enum GrWaldOutcome
{
	GR_WALD_FOUND,
	GR_WALD_NONE,				/* no terms, or no covariances for want of degrees of freedom */
	GR_WALD_NO_VARIANCE,		/* a robust variance is not known, because it is zero */
	GR_WALD_NEGATIVE,			/* a variance by two ways of clustering is negative */
	GR_WALD_MALFORMED,			/* a variance that no fit gives */
	GR_WALD_SINGULAR,			/* the rank of the matrix is less than the number of terms */
	GR_WALD_IMPRECISE			/* rounding of the covariances leaves fewer than six digits */
} GrWaldOutcome;

/*
 * Sets *statistic to b' V^-1 b of n terms of model, or to NaN if the outcome is not FOUND. *place: the term that
 * prevents the test, for NO_VARIANCE, NEGATIVE and MALFORMED.
 */
extern GrWaldOutcome gr_wald_statistic(const GrModel *model, const int *terms, int n, double *statistic, int *place);

#endif							/* GPUREG_WALD_H */
