/*
 * studentized_range.c: the distribution of the studentized range; see studentized_range.h.
 *
 * Both integrals, over the greatest of the variables and over the logarithm of s, have smooth integrands that vanish at
 * both ends, for which the trapezoidal rule converges exponentially (Trefethen and Weideman 2014, "The exponentially
 * convergent trapezoidal rule"). Integrands of the upper tail are positive, so that no digits cancel.
 */
#include <math.h>

#include "compute/dist/studentized_range.h"

/* Step of the inner integral, and the distance from 0 beyond which the normal density adds nothing */
#define INNER_STEP 0.125
#define INNER_END 9.0

/* Step of the outer integral, in standard deviations of log(s) for many degrees of freedom */
#define OUTER_STEP 0.125

/* Part of the integrand's maximum below which the outer integral ends */
#define OUTER_SHARE 1e-18

static double
normal_probability(double z)
{
	return 0.5 * erfc(-z * M_SQRT1_2);
}

/*
 * Returns P(range > w) of k standard normal variables: the integral of the density of the greatest, k phi Phi^(k - 1),
 * times the probability that not all others are within w below it, 1 - (1 - Phi(z - w) / Phi(z))^(k - 1).
 */
static double
range_upper(double w, double k)
{
	const double root_2pi = 2.50662827463100050242;
	/* the greatest of k is near sqrt(2 log k) or, in the tail, at w / 2; densities beyond 40 are 0 */
	const double last = INNER_END + fmin(fmax(sqrt(2 * log(k)), 0.5 * w), 31);
	double		sum = 0;

	for (double z = -INNER_END; z <= last; z += INNER_STEP)
	{
		double		below = normal_probability(z);
		double		share = normal_probability(z - w) / below;
		double		outside = share < 1 ? -expm1((k - 1) * log1p(-share)) : 1;

		sum += exp(-0.5 * z * z + (k - 1) * log(below)) * outside;
	}
	return k * sum * INNER_STEP / root_2pi;
}

/* Returns the logarithm of the density of u = log(s), up to a constant that makes it 0 at u = 0. */
static double
log_density(double u, double df)
{
	/* df (u - (e^2u - 1) / 2) */
	return df * (u - 0.5 * expm1(2 * u));
}

/* Adds the integrand from u = 0 in steps of step, to *sum times the tail and to *weight, until it vanishes. */
static void
add_side(double q, double k, double df, double step, double *sum, double *weight)
{
	for (int i = step < 0 ? 1 : 0;; i++)
	{
		double		u = i * step;
		double		density = exp(log_density(u, df));
		double		part = density * range_upper(q * exp(u), k);

		*sum += part;
		*weight += density;
		/* above 0 the tail falls, below 0 it rises to 1 at most */
		if (density == 0 || (density < OUTER_SHARE * *weight && (step > 0 || density < OUTER_SHARE * *sum)))
			break;
	}
}

double
gr_range_upper(double q, double k, double df)
{
	double		sum = 0;
	double		weight = 0;
	double		step;

	if (!(k >= 2 && df > 0) || isinf(k) || isnan(q))
		return NAN;
	if (q <= 0)
		return 1;
	if (isinf(q))
		return 0;
	if (isinf(df))
		return fmin(range_upper(q, k), 1);
	/* u has a standard deviation of about 1 / sqrt(2 df); the factor of the density cancels in the quotient */
	step = OUTER_STEP / sqrt(2 * fmax(df, 1));
	add_side(q, k, df, step, &sum, &weight);
	add_side(q, k, df, -step, &sum, &weight);
	return fmin(sum / weight, 1);
}

/* Returns the logarithm of the upper tail at q over upper. */
static double
excess(double q, double k, double df, double upper)
{
	return log(gr_range_upper(q, k, df) / upper);
}

double
gr_range_upper_quantile(double upper, double k, double df)
{
	double		low = 0;
	double		high = 1;
	double		at_low = -log(upper);
	double		at_high = excess(high, k, df, upper);

	if (!(upper > 0 && upper < 1) || isnan(at_high))
		return NAN;
	while (at_high > 0)
	{
		low = high;
		at_low = at_high;
		high *= 2;
		at_high = excess(high, k, df, upper);
		if (isinf(high))
			return high;
	}
	/* false position in the logarithm of the tail, with bisection every third time */
	for (int i = 0; i < 200 && high - low > 1e-14 * high; i++)
	{
		double		middle = low + (high - low) * at_low / (at_low - at_high);
		double		at;

		if (i % 3 == 2 || !(middle > low && middle < high))
			middle = 0.5 * (low + high);
		at = excess(middle, k, df, upper);
		if (at == 0)
			return middle;
		if (at > 0)
		{
			low = middle;
			at_low = at;
		}
		else
		{
			high = middle;
			at_high = at;
		}
	}
	return 0.5 * (low + high);
}
