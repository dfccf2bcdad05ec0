/*
 * basis.h: a change of basis that replaces nearly collinear features, so that a fit loses no digits. terms.c chooses a
 * basis, and whoever has the rows changes them.
 *
 * A feature x that is nearly a linear combination of 1 and the features before it is replaced by the part that they do
 * not explain: x' = sum of coef_j (1, x)_j, rounded once from double-double. The coefficients are float8 and exact by
 * definition, so that models over x' are models over x, with beta = B theta. Rounding changes x' by 2^-53 of itself,
 * not of the feature that it came from.
 */
#ifndef GPUREG_BASIS_H
#define GPUREG_BASIS_H

#include "compute/base/compute.h"
#include "compute/base/dd.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct GrBasis
{
	int			nfeatures;
	int			nchanged;		/* number of changed features */
	const int  *changed;		/* nchanged: indexes of changed features, 0-based, ascending */
	const double *coef;			/* nchanged x (nfeatures + 1): coefficients of (1, x); not 0 for the feature itself,
								 * 0 behind it */
} GrBasis;

/* Returns the sum of coef_j (1, x)_j over the features 0 .. last, as in Dot2 of Ogita, Rump and Oishi (2005). */
GR_HD double
gr_basis_feature(const double *coef, const double *x, int last)
{
	double		sum = coef[0];
	double		rest = 0.0;

	for (int j = 0; j <= last; j++)
	{
		GrDD		p = gr_two_prod(coef[j + 1], x[j]);
		GrDD		s = gr_two_sum(sum, p.hi);

		sum = s.hi;
		rest += s.lo + p.lo;
	}
	return sum + rest;
}

/*
 * Changes rows in place, once. shape: shape of the rows, not single. Returns false if the host asked to stop; the rows
 * are then unusable.
 */
extern bool gr_basis_change_rows(const GrBasis *basis, GrRowShape shape, double *rows, int64_t nrows, GrPoll *poll);

/*
 * Converts coefficients hi + lo of (1, x') to those of (1, x) in place, or back. The way back rounds more if features
 * are collinear.
 */
extern void gr_basis_to_features(const GrBasis *basis, double *hi, double *lo);
extern void gr_basis_from_features(const GrBasis *basis, double *hi, double *lo);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_BASIS_H */
