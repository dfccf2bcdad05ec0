/*
 * variance.h: which variances of estimates are zero but for rounding. All covariances that are made of residuals are
 * judged here: those of rows, of clusters and of clusters' states.
 *
 * A robust variance of a coefficient is a sum of squares of a's over rows or clusters, where s are sums of scores (or
 * their adjusted values, vcov.h) and a leads to the coefficient. Scores are known to some 2^-53 of the sum S of |a's|
 * over all rows, and by Cauchy and Schwarz
 *
 *	 S^2 <= inverse x squares
 *
 * with inverse the coefficient's entry on the diagonal of (X'WX)^-1, and squares the sum of squared Pearson residuals.
 * A variance that is below GR_ZERO_VARIANCE of this bound, a standard error below 1e-12 of it, is rounding. A true one
 * of n independent rows is about 1 / n of the bound, and with the most unequal rows about 1 / n^2.
 */
#ifndef GPUREG_VARIANCE_H
#define GPUREG_VARIANCE_H

#include "compute/dist/family.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GR_ZERO_VARIANCE 1e-24

/* Tolerance where variances were subtracted, for two ways of clustering: rounding counts once and not squared. */
#define GR_ZERO_DIFFERENCE 1e-15

typedef enum GrVarianceKind
{
	GR_VARIANCE_KNOWN,			/* positive, or not there */
	GR_VARIANCE_ZERO,			/* zero but for rounding */
	GR_VARIANCE_NEGATIVE		/* less than zero, as of two ways of clustering */
} GrVarianceKind;

/*
 * Judges one variance; subtracted: true if variances were subtracted to make it. NaN is KNOWN. Without squares, all
 * others are ZERO.
 */
extern GrVarianceKind gr_judge_variance(double variance, double inverse, double squares, bool subtracted);

/*
 * Judges the variances of a covariance matrix, n x n, into kinds. inverse: n entries. perfect: there are no residuals
 * but rounding, and every variance is zero. The row and column of a variance that is zero become NaN. Returns how many
 * variances are not KNOWN.
 */
extern int	gr_judge_variances(double *vcov, int n, const double *inverse, double squares, bool subtracted,
							   bool perfect, GrVarianceKind *kinds);

/*
 * The sum over rows of W eta^2 of the links identity, inverse and sqrt, and of W (1 + eta^2) of others, W being a row's
 * weight in the Hessian and offsets left aside: that is at least what squared Pearson residuals would sum up to if the
 * means were 0, in the same unit. hi: the packed triangle that an EXACT pass at theta gives (glm.h); theta: nfull
 * coefficients of (1, x - shift), NaN for terms that are left out, from number first on.
 */
extern double gr_response_size(GrLink link, const double *hi, const double *theta, int nfull, int first);

/*
 * True if a fit leaves no residuals but rounding. squares: sum of squared Pearson residuals; size: gr_response_size();
 * linear: true for the identity link and gaussian family without offsets, where size is the sum of w y^2.
 */
extern bool gr_is_perfect(double squares, double size, bool linear);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_VARIANCE_H */
