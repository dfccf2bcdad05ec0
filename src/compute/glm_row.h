/*
 * glm_row.h: what logistic regression makes of one row, the same on the host and on the device.
 */
#ifndef GPUREG_GLM_ROW_H
#define GPUREG_GLM_ROW_H

#include "compute/dd.h"

/* Beyond this |eta| weights stop shrinking: exp(-460) is about 1e-200, whose squares still have all their digits. */
#define GR_ETA_MAX 460.0

typedef struct GrLogisticRow
{
	double		u;				/* square root of the weight mu (1 - mu) */
	double		v;				/* (y - mu) / u, so that u v is the residual */
	double		half_deviance;	/* -log of the probability of y */
} GrLogisticRow;

/*
 * Both tails are computed as what they are, never as 1 - p: with t = exp(-|eta|) the unlikely side has probability t / (1 + t).
 * Each value is within a few units in the last place.
 */
GR_HD GrLogisticRow
gr_logistic_row(double eta, double y)
{
	double		a = fabs(eta);
	double		t = exp(a > GR_ETA_MAX ? -GR_ETA_MAX : -a);	/* NaN goes through */
	double		d = 1.0 / (1.0 + t);
	int			expected = (eta >= 0.0) == (y > 0.5);	/* y is on the likely side */
	double		residual = expected ? t * d : d;	/* its magnitude */
	GrLogisticRow row;

	row.u = sqrt(t) * d;
	row.v = (y > 0.5 ? residual : -residual) / row.u;
	row.half_deviance = log1p(t) + (expected ? 0.0 : a);
	return row;
}

#endif							/* GPUREG_GLM_ROW_H */
