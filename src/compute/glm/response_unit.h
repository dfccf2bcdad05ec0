/*
 * response_unit.h: the unit of the response in which a fit computes.
 *
 * Sums over rows hold squares and fourth powers of the response, which leave float8's range long before the response
 * does. Where responses are far from 1, a fit multiplies them by a power of two, 2^exponent, which changes no digit of
 * them. It computes in that unit from the pass at 0 to the last one, and converts what it reports at the end: with the
 * identity, sqrt and inverse links coefficients are scaled by a power of two, and with the log link the intercept moves
 * by a multiple of log(2).
 *
 * The gaussian, poisson and gamma families have a unit: what maximises their likelihoods is the same whatever the unit
 * is. A penalty is converted to the unit, too. There is no other unit than 1 where offsets are in the response's unit
 * (with links other than log), and with the log link without an intercept.
 */
#ifndef GPUREG_RESPONSE_UNIT_H
#define GPUREG_RESPONSE_UNIT_H

#include "compute/glm/fit.h"

/*
 * After the pass at 0: sets *again if that pass is to be made again in another unit, which is then set in the options.
 * Fails with GR_OUT_OF_RANGE (where: the response's column) if responses are too large or too small for float8 and the
 * fit has no other unit.
 */
extern bool gr_unit_choose(GrGlmFit *fit, bool *again, GrError *err);

/* A response, or a mean of responses, in the fit's unit */
extern double gr_unit_of_response(const GrGlmFit *fit, double y);

/* A deviance in the response's own unit, from one in the fit's */
static inline double
gr_unit_deviance(const GrGlmFit *fit, double deviance)
{
	GrDistribution distribution = fit->state->options.distribution;

	return ldexp(deviance, -gr_family(distribution.family)->deviance_power * distribution.exponent);
}

/*
 * Fails with GR_OUT_OF_RANGE if a column's sum of squares in the Gram matrix of an EXACT pass, row j + 1 of which is of
 * full term j, is 0 because the squares are too small for float8: other entries of its row aren't 0 then. where: the
 * column; of the intercept, which has none of its own, that of the weights or the response.
 */
extern bool gr_unit_check_squares(const double *hi, GrRowShape shape, GrError *err);

#endif							/* GPUREG_RESPONSE_UNIT_H */
