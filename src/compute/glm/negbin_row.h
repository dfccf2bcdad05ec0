/*
 * negbin_row.h: derivatives of a row's log-likelihood by theta, the parameter of the negative binomial distribution.
 * Shared by host and device; passes of GR_MEASURE_THETA call gr_theta_row().
 *
 * With a large theta the distribution is nearly Poisson's, and the terms of the derivatives nearly cancel. The
 * derivatives are therefore written with differences that have a factor of y or (y - mu)^2, each right to its last
 * digits.
 */
#ifndef GPUREG_NEGBIN_ROW_H
#define GPUREG_NEGBIN_ROW_H

#include "compute/dist/stirling.h"
#include "compute/glm/glm_row.h"

/* A theta so large that the distribution equals Poisson's in all digits. */
#define GR_THETA_POISSON 1e30

/* psi(theta + y) - psi(theta) - log(1 + y / theta), and its derivative by theta. */
typedef struct GrDigammaPart
{
	double		value;
	double		slope;
} GrDigammaPart;

/*
 * Returns the part for theta >= GR_STIRLING_MIN by the asymptotic series. All terms have the factor p - q, where p = 1
 * / theta and q = 1 / (theta + y).
 */
GR_HD GrDigammaPart
gr_digamma_series(double y, double theta)
{
	const double b[] = {1.0 / 6, -1.0 / 30, 1.0 / 42, -1.0 / 30, 5.0 / 66, -691.0 / 2730};
	double		p = 1.0 / theta;
	double		q = 1.0 / (theta + y);
	double		h = 1.0;		/* (p^2k - q^2k) / (p^2 - q^2) */
	double		pk = p * p;		/* p^2k */
	double		qk = q * q;
	double		value = 0.0;
	double		slope = 0.0;
	GrDigammaPart part;

	for (int k = 0; k < 6; k++)
	{
		value += b[k] / (2 * k + 2) * h;
		slope += b[k] * (pk + q * (p + q) * h);
		h = p * p * h + qk;
		pk *= p * p;
		qk *= q * q;
	}
	part.value = y * p * q * (0.5 + (p + q) * value);
	part.slope = -(y * p * q) * (0.5 * (p + q) + slope);
	return part;
}

/* Returns the part for any theta: psi's recurrence raises theta to where the series is exact. */
GR_HD GrDigammaPart
gr_digamma_part(double y, double theta)
{
	double		n = theta < GR_STIRLING_MIN ? ceil(GR_STIRLING_MIN - theta) : 0.0;
	GrDigammaPart part = gr_digamma_series(y, theta + n);
	double		first = y / (theta * (theta + y));

	if (n == 0.0)
		return part;
	part.value += log1p(-n * y / ((theta + n) * (theta + y)));
	part.slope += first - y / ((theta + n) * (theta + n + y));
	for (double k = 0.0; k < n; k += 1.0)
	{
		double		p = 1.0 / (theta + k);
		double		q = 1.0 / (theta + k + y);

		part.value += y * p * q;
		part.slope -= y * p * q * (p + q);
	}
	return part;
}

/* Terms of a row for GR_MEASURE_THETA that depend on its count and theta alone */
typedef struct GrThetaCount
{
	GrDigammaPart part;
	double		saturated;		/* gr_waiting_saturated() */
} GrThetaCount;

GR_HD GrThetaCount
gr_theta_count(double y, double theta)
{
	GrThetaCount count;

	count.part = gr_digamma_part(y, theta);
	count.saturated = y > 0.0 ? gr_waiting_saturated(y, theta, gr_stirling_error(theta)) : 0.0;
	return count;
}

/*
 * Returns a row for GR_MEASURE_THETA: u and v are theta and theta^2 times the first and second derivative of the
 * log-likelihood by theta, half_deviance is minus the log-likelihood. count: gr_theta_count() of y
 */
GR_HD GrGlmRow
gr_theta_row_of(GrDistribution distribution, double eta, double y, double weight, GrThetaCount count)
{
	double		theta = distribution.theta;
	double		mu = distribution.link == GR_LOG ? exp(eta) : distribution.link == GR_SQRT ? eta * eta : eta;
	double		x = y + theta;
	double		m = mu + theta;
	double		d = y - mu;
	GrGlmRow	row = {0.0, 0.0, INFINITY};

	if (!gr_is_mean(distribution, eta, mu))
		return row;
	/* log(x / m) - d / m and its derivative */
	row.u = weight * theta * (count.part.value - gr_deviance_part(m, x, -d) / m);
	row.v = weight * (theta * theta * count.part.slope + theta / x * d * d * (theta / m) / m);
	row.half_deviance = weight * (gr_half_deviance(distribution, y, mu) - count.saturated);
	return row;
}

GR_HD GrGlmRow
gr_theta_row(GrDistribution distribution, double eta, double y, double weight)
{
	return gr_theta_row_of(distribution, eta, y, weight, gr_theta_count(y, distribution.theta));
}

#endif							/* GPUREG_NEGBIN_ROW_H */
