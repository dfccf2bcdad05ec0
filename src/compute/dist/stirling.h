/*
 * stirling.h: the gamma function's logarithm, less what of it cancels in the logarithms of probabilities; the same on
 * the host and on the device.
 */
#ifndef GPUREG_STIRLING_H
#define GPUREG_STIRLING_H

#include <math.h>

#include "compute/base/portable.h"

#define GR_HALF_LOG_2PI 0.91893853320467274178

/* From here on the series of the digamma function and of the gamma function's logarithm have all digits. */
#define GR_STIRLING_MIN 15.0

/* log of x! less Stirling's formula for it, sqrt(2 pi x) (x / e)^x; x > 0, whole or not */
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
 * log of the negative binomial probability of a count y > 0 where the mean is y: that of theta in y + theta trials by
 * Loader (2000), times theta / (y + theta). error_of_theta: Stirling's
 */
GR_HD double
gr_waiting_saturated(double y, double theta, double error_of_theta)
{
	double		n = y + theta;

	return gr_stirling_error(n) - gr_stirling_error(y) - error_of_theta - GR_HALF_LOG_2PI - 0.5 * log(y * theta / n) +
		log(theta / n);
}

#endif							/* GPUREG_STIRLING_H */
