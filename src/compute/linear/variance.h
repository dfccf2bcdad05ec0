/*
 * variance.h: judges which variances of estimates are zero up to rounding. Every covariance matrix made from residuals
 * calls gr_judge_variances(): those of rows, of clusters and of clusters' states.
 *
 * A robust variance of a coefficient is a sum of squares of a's over rows or clusters, where s are sums of scores (or
 * their adjusted values, vcov.h) and a leads to the coefficient. Scores are known to about 2^-53 of the sum S of |a's|
 * over all rows, and by Cauchy and Schwarz
 *
 * S^2 <= inverse x squares
 *
 * where inverse is the coefficient's entry on the diagonal of (X'WX)^-1, and squares the sum of squared Pearson
 * residuals. A variance below GR_ZERO_VARIANCE of this bound, a standard error below 1e-12 of it, is rounding error. A
 * true variance of n independent rows is about 1 / n of the bound, and with the most unequal rows about 1 / n^2.
 */
#ifndef GPUREG_VARIANCE_H
#define GPUREG_VARIANCE_H

#include "compute/dist/family.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GR_ZERO_VARIANCE 1e-24

/* Tolerance for differences of variances, with two ways of clustering: rounding then counts once, not squared. */
#define GR_ZERO_DIFFERENCE 1e-15

typedef enum GrVarianceKind
{
	GR_VARIANCE_KNOWN,			/* positive, or NaN */
	GR_VARIANCE_ZERO,			/* zero up to rounding */
	GR_VARIANCE_NEGATIVE		/* less than zero, as with two ways of clustering */
} GrVarianceKind;

/*
 * Judges one variance. subtracted: the variance is a difference of variances. A NaN is KNOWN. If squares is 0, all
 * others are ZERO.
 */
extern GrVarianceKind gr_judge_variance(double variance, double inverse, double squares, bool subtracted);

/*
 * Judges the variances of vcov, n x n, into kinds. inverse: n entries. perfect: residuals are only rounding error, and
 * every variance is zero. The row and column of a zero variance become NaN. Returns the number of variances that are
 * not KNOWN.
 */
extern int	gr_judge_variances(double *vcov, int n, const double *inverse, double squares, bool subtracted,
							   bool perfect, GrVarianceKind *kinds);

/*
 * Returns the sum over rows of W eta^2 for the links identity, inverse and sqrt, and of W (1 + eta^2) for others, where
 * W is a row's weight in the Hessian and offsets are ignored. This is at least the sum of squared Pearson residuals if
 * the means were 0. hi: packed triangle of an EXACT pass at theta (glm.h); theta: nfull coefficients of (1, x - shift),
 * NaN for terms that are left out; first: index of the first term.
 */
extern double gr_response_size(GrLink link, const double *hi, const double *theta, int nfull, int first);

/*
 * True if the residuals of a fit are only rounding error. squares: sum of squared Pearson residuals; size:
 * gr_response_size(); linear: gaussian family with identity link without offsets, where size is the sum of w y^2.
 */
extern bool gr_is_perfect(double squares, double size, bool linear);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_VARIANCE_H */
