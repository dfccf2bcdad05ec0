/*
 * basis.h: other features in place of collinear ones, with which a fit loses no digits.
 *
 * A feature that is nearly a linear combination of 1 and the features before it is taken as what is left of it: x' =
 * sum of coef_j (1, x)_j, rounded once from double-double. The coefficients are float8 and by definition exact, so
 * models over x' are models over x, with beta = B theta, and rounding changes each x' by 2^-53 of itself, not of the
 * feature that it came from.
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
	int			nchanged;		/* features that are changed */
	const int  *changed;		/* nchanged: which, 0-based, ascending */
	const double *coef;			/* nchanged times those of (1, x): 0 behind the feature itself, whose own isn't 0 */
} GrBasis;

/* sum of coef_j (1, x)_j over the features up to number last, as in Dot2 of Ogita, Rump and Oishi (2005) */
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
 * Changes rows in place, once; shape: theirs, not single. False if the host asked to stop: the rows are then of no use.
 */
extern bool gr_basis_change_rows(const GrBasis *basis, GrRowShape shape, double *rows, int64_t nrows, GrPoll *poll);

/*
 * The coefficients of (1, x) that are those of (1, x'), as hi + lo, in place; and back, which rounds more where
 * features are collinear.
 */
extern void gr_basis_to_features(const GrBasis *basis, double *hi, double *lo);
extern void gr_basis_from_features(const GrBasis *basis, double *hi, double *lo);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_BASIS_H */
