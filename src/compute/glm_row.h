/*
 * glm_row.h: what a logistic regression makes of one row, the same on the host and on the device.
 *
 * A row's response y is 0 or 1 or, of weighted rows, the share of ones in as many trials as the weight says. Both tails
 * are computed as what they are, never as 1 - p: with t = exp(-|eta|) the unlikely side has probability t / (1 + t).
 * Each value is within a few units in the last place, and a weight of 1 changes no bit.
 */
#ifndef GPUREG_GLM_ROW_H
#define GPUREG_GLM_ROW_H

#include "compute/dd.h"

/* Beyond this |eta| weights stop shrinking: exp(-460) is about 1e-200, whose squares still have all their digits. */
#define GR_ETA_MAX 460.0

typedef struct GrLogisticRow
{
	double		u;				/* square root of the weight w mu (1 - mu) */
	double		v;				/* w (y - mu) / u, so that u v is the residual */
	double		half_deviance;	/* w times -log of the probability of y; of a share, less what that is where mu = y */
} GrLogisticRow;

/*
 * y - mu, where the sides have probabilities one = mu and zero = 1 - mu; the same bits for y = 0 and 1 as -one and
 * zero.
 */
GR_HD double
gr_residual(double y, double one, double zero)
{
	return y >= 0.5 ? zero - (1.0 - y) : y - one;
}

/*
 * How far y is on its side, by eta: above 0 where the model expects what it is. A share has trials on both sides.
 */
GR_HD double
gr_margin(double eta, double y)
{
	return y == 1.0 ? eta : y == 0.0 ? -eta : -fabs(eta);
}

/*
 * x log(x / m) - (x - m), x, m > 0, d = x - m: Loader's deviance part (2000), whose series in d / (x + m) doesn't
 * cancel
 */
GR_HD double
gr_deviance_part(double x, double m, double d)
{
	double		q = d / (x + m);
	double		sum = d * q;
	double		term = 2.0 * x * q;
	double		before = 0.0;

	if (!(fabs(q) < 0.1))
		return x * log(x / m) - d;
	for (int k = 3; k < 40 && sum != before; k += 2)
	{
		term *= q * q;
		before = sum;
		sum += term / k;
	}
	return sum;
}

/* Half the deviance of a trial's share y, where the sides have probabilities one and zero */
GR_HD double
gr_share_deviance(double y, double one, double zero)
{
	double		d = gr_residual(y, one, zero);

	return gr_deviance_part(y, one, d) + gr_deviance_part(1.0 - y, zero, -d);
}

/* Of a row without a weight, whose response is 0 or 1 */
GR_HD GrLogisticRow
gr_plain_row(double eta, double y)
{
	double		a = fabs(eta);
	double		t = exp(a > GR_ETA_MAX ? -GR_ETA_MAX : -a);	/* NaN goes through */
	double		d = 1.0 / (1.0 + t);
	int			expected = (eta >= 0.0) == (y == 1.0);	/* y is on the likely side */
	double		residual = expected ? t * d : d;	/* its magnitude */
	GrLogisticRow row;

	row.u = sqrt(t) * d;
	row.v = (y == 1.0 ? residual : -residual) / row.u;
	row.half_deviance = log1p(t) + (expected ? 0.0 : a);
	return row;
}

/* The same of any row, to the bit where its weight is 1 */
GR_HD GrLogisticRow
gr_logistic_row(double eta, double y, double weight)
{
	double		a = fabs(eta);
	double		t = exp(a > GR_ETA_MAX ? -GR_ETA_MAX : -a);	/* NaN goes through */
	double		d = 1.0 / (1.0 + t);
	double		one = eta >= 0.0 ? d : t * d;
	double		zero = eta >= 0.0 ? t * d : d;
	GrLogisticRow row;

	row.u = sqrt(weight) * (sqrt(t) * d);
	row.v = weight * gr_residual(y, one, zero) / row.u;
	if (y == 0.0 || y == 1.0)
		row.half_deviance = weight * (log1p(t) + ((eta >= 0.0) == (y == 1.0) ? 0.0 : a));
	else if (a <= GR_ETA_MAX)
		row.half_deviance = weight * gr_share_deviance(y, one, zero);
	else
		row.half_deviance = weight * (y * log(y) + (1.0 - y) * log1p(-y) + a * (eta > 0.0 ? 1.0 - y : y));
	return row;
}

/* The same of a pass that is linear, at beta = 0; see GrPass. */
GR_HD GrLogisticRow
gr_linear_row(double offset, double y, double weight)
{
	double		root = sqrt(weight);
	GrLogisticRow row;

	row.u = 0.5 * root;
	row.v = root * (2.0 * y - 1.0 - 0.5 * offset);
	row.half_deviance = 0.0;
	return row;
}

#endif							/* GPUREG_GLM_ROW_H */
