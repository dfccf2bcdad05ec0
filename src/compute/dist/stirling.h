/*
 * stirling.h: the error of Stirling's formula, for log-probabilities without large terms that cancel. Shared by host
 * and device; family.h and negbin_row.h use it.
 */
#ifndef GPUREG_STIRLING_H
#define GPUREG_STIRLING_H

#include <math.h>

#include "compute/base/portable.h"

#define GR_HALF_LOG_2PI 0.91893853320467274178

/* Least argument for which the series of the digamma function and of log gamma have all digits. */
#define GR_STIRLING_MIN 15.0

/* Returns log(x!) minus the log of Stirling's formula sqrt(2 pi x) (x / e)^x, for real x > 0. */
GR_HD double
gr_stirling_error(double x)
{
	double		r = 1.0 / (x * x);

	if (x <= GR_STIRLING_MIN)
		return lgamma(x + 1.0) - (x + 0.5) * log(x) + x - GR_HALF_LOG_2PI;
	return (1.0 / 12 - (1.0 / 360 - (1.0 / 1260 - (1.0 / 1680 -
												   (1.0 / 1188 - 691.0 / 360360 * r) * r) * r) * r) * r) / x;
}

/*
 * Returns the log of the negative binomial probability of a count y > 0 if the mean is y: the probability of theta in y
 * + theta trials by Loader (2000), times theta / (y + theta). error_of_theta: gr_stirling_error(theta).
 */
GR_HD double
gr_waiting_saturated(double y, double theta, double error_of_theta)
{
	double		n = y + theta;

	return gr_stirling_error(n) - gr_stirling_error(y) - error_of_theta - GR_HALF_LOG_2PI - 0.5 * log(y * theta / n) +
		log(theta / n);
}

#endif							/* GPUREG_STIRLING_H */
