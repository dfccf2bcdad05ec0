/*
 * meat.h: the middle of sandwich covariances of a linear fit to projected columns: sums of products of scores, by row
 * or by cluster. sql/effects calls it first.
 */
#ifndef GPUREG_MEAT_H
#define GPUREG_MEAT_H

#include "compute/effects/effects.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Way in which scores are summed before their products are */
typedef enum GrMeatWay
{
	GR_MEAT_ROWS,				/* scores of rows; with frequencies, a row is as many rows */
	GR_MEAT_FIRST,				/* sums by the first cluster column */
	GR_MEAT_SECOND,				/* sums by the second cluster column */
	GR_MEAT_BOTH				/* sums by pairs of both */
} GrMeatWay;

/*
 * Sets e, one number per row, to the residuals of projected rows. coef: ncols - 1 coefficients, NaN for an aliased
 * term
 */
extern void gr_effect_residuals(const GrEffectRows *rows, const double *coef, double *e);

/*
 * Sets meat, k x k with k = ncols - 1, to the sum of s s' over rows or clusters, where s is the sum of w e x. Sets
 * *nclusters, for clusters, to their number. Fails with GR_NO_MEMORY or GR_CANCELED.
 */
extern bool gr_effect_meat(const GrEffectRows *rows, const double *e, GrMeatWay way, double *meat, int64_t *nclusters,
						   const GrHost *host, GrError *err);

/*
 * Sets vcov to factor times bread meat bread, all k x k. bread: the inverse of X'WX, NaN for aliased terms, as vcov is
 * then. add: adds to vcov instead.
 */
extern void gr_effect_sandwich(const double *bread, const double *meat, int k, double factor, bool add, double *vcov,
							   double *work);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_MEAT_H */
