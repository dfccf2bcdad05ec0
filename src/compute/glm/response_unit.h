/*
 * response_unit.h: the unit of the response in which a fit computes. newton.c calls gr_unit_choose() after the pass at
 * 0.
 *
 * Sums over rows hold squares and fourth powers of the response, which leave float8's range long before the response
 * does. If responses are far from 1, a fit multiplies them by a power of two, 2^exponent, which changes no digit. The
 * fit computes in that unit from the pass at 0 to the last one, and converts the results at the end: with the identity,
 * sqrt and inverse links coefficients are scaled by a power of two, and with the log link the intercept moves by a
 * multiple of log(2).
 *
 * The gaussian, poisson and gamma families have a unit, as the maximum of their likelihoods does not depend on it. A
 * penalty is converted too. The unit is always 1 if offsets are in the response's unit (links other than log), and with
 * the log link without an intercept.
 */
#ifndef GPUREG_RESPONSE_UNIT_H
#define GPUREG_RESPONSE_UNIT_H

#include "compute/glm/fit.h"

/*
 * Chooses the unit after the pass at 0. *again is true if the pass has to be repeated in another unit, which is then
 * set in the options. Fails with GR_OUT_OF_RANGE (where: the response's column) if responses are too large or too small
 * for float8 and the fit has no other unit.
 */
extern bool gr_unit_choose(GrGlmFit *fit, bool *again, GrError *err);

/* Returns a response, or a mean of responses, in the fit's unit. */
extern double gr_unit_of_response(const GrGlmFit *fit, double y);

/* Converts a deviance from the fit's unit to the response's own. */
static inline double
gr_unit_deviance(const GrGlmFit *fit, double deviance)
{
	GrDistribution distribution = fit->state->options.distribution;

	return ldexp(deviance, -gr_family(distribution.family)->deviance_power * distribution.exponent);
}

/*
 * Checks that no column's sum of squares has underflowed to 0. hi: the Gram matrix of an EXACT pass, whose row j + 1 is
 * that of full term j. A sum has underflowed if it is 0 but other entries of its row are not. Fails with
 * GR_OUT_OF_RANGE; where: the column, or for the intercept that of the weights or the response.
 */
extern bool gr_unit_check_squares(const double *hi, GrRowShape shape, GrError *err);

#endif							/* GPUREG_RESPONSE_UNIT_H */
