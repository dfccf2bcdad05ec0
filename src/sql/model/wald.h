/*
 * wald.h: joint tests of a model's coefficients by their covariance matrix.
 */
#ifndef GPUREG_WALD_H
#define GPUREG_WALD_H

#include "postgres.h"

#include "sql/model/model.h"

/* The covariances of some terms, and their coefficients, each times a power of two that makes variances 1 to 4 */
typedef struct GrVcovBlock
{
	int			n;
	double	   *hi;				/* packed triangle of n + 1 rows, the coefficients being the last */
	double	   *lo;				/* low halves of the covariances, if has_low; else 0 */
	bool		has_low;
	bool	   *aliased;		/* n: terms that the solution leaves out */
	double	   *inverse;
	double	   *coef;
	double		quadratic;		/* b' V^-1 b */
	bool		singular;
	bool		precise;		/* quadratic has six digits */
} GrVcovBlock;

/* Fills block with n terms, each with a variance that is positive and finite. Returns false if it isn't all finite. */
extern bool gr_vcov_block_fill(GrVcovBlock *block, const GrModel *model, const int *terms, int n);

/* Solves; a matrix that is singular to within its entries' rounding is no covariance matrix to divide by. */
extern void gr_vcov_block_solve(GrVcovBlock *block, bool want_inverse);

/* True if entry (i, i) of the inverse of a block that isn't singular has six digits. */
extern bool gr_vcov_block_is_precise(const GrVcovBlock *block, int i);

typedef enum GrWaldOutcome
{
	GR_WALD_FOUND,
	GR_WALD_NONE,				/* there is no term, or there are no covariances for want of degrees of freedom */
	GR_WALD_NO_VARIANCE,		/* a robust variance is not known, as it is zero */
	GR_WALD_NEGATIVE,			/* a variance is negative, of two ways of clustering */
	GR_WALD_MALFORMED,			/* a variance that no fit gives */
	GR_WALD_SINGULAR,			/* the matrix has not the rank of as many terms */
	GR_WALD_IMPRECISE			/* rounding of the covariances leaves the statistic fewer than six digits */
} GrWaldOutcome;

/*
 * Sets *statistic to b' V^-1 b of n terms of model, or to NaN if the outcome isn't FOUND. *place: for NO_VARIANCE,
 * NEGATIVE and MALFORMED, the term that prevents the test.
 */
extern GrWaldOutcome gr_wald_statistic(const GrModel *model, const int *terms, int n, double *statistic, int *place);

#endif							/* GPUREG_WALD_H */
