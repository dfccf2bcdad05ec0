/*
 * negbin.h: the negative binomial distribution's theta by maximum likelihood, together with the coefficients, as
 * MASS's glm.nb has it.
 *
 * The expected information has nothing between beta and theta: each nearly converges for itself. The fit begins as a
 * Poisson regression, theta being as good as infinite. Where beta is near its estimate, a pass of GR_MEASURE_THETA
 * tells the derivatives of the log-likelihood by theta; theta moves by Newton's method, beta goes on, and so in turns,
 * until neither moves by more than rounding error.
 *
 * With the link log, beta moves by Newton's method once theta is finite (GR_MEASURE_OBSERVED): Fisher's scoring shrinks
 * a step by a factor that is near 1, or above, where most counts are 0 and few are large. The likelihood of
 * (beta | theta) is concave then. The length of the first such step after a move of theta tells how far beta follows
 * theta, and so the curvature of the profile likelihood. The last pass has expected weights, for the covariances.
 *
 * Where the Poisson regression's squared residuals are no more than its counts, the likelihood rises towards an
 * infinite theta. Only without covariates is that the greatest one (Levin and Reeds 1977). So some finite thetas are
 * tried, and the greater of two maxima is the fit.
 */
#ifndef GPUREG_NEGBIN_H
#define GPUREG_NEGBIN_H

#include "compute/glm/fit.h"

/* After a step was solved: is theta to be looked at before beta goes on? converged: there is no further step of beta */
extern bool gr_negbin_is_next(GrGlmFit *fit, bool converged);

#endif							/* GPUREG_NEGBIN_H */
