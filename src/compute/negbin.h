/*
 * negbin.h: the negative binomial distribution's theta by maximum likelihood, together with the coefficients, as
 * MASS's glm.nb has it.
 *
 * The expected information has nothing between beta and theta: each nearly converges for itself. The fit begins as a
 * Poisson regression, theta being as good as infinite. Where beta is near its estimate, a pass of GR_MEASURE_THETA
 * tells the derivatives of the log-likelihood by theta; theta moves by Newton's method, beta goes on, and so in turns,
 * until neither moves by more than rounding error.
 *
 * Where the Poisson regression's squared residuals are no more than its counts, the likelihood grows with theta without
 * end (Levin and Reeds 1977): then that regression is the fit.
 */
#ifndef GPUREG_NEGBIN_H
#define GPUREG_NEGBIN_H

#include "compute/fit.h"

/* After a step was solved: is theta to be looked at before beta goes on? converged: there is no further step of beta */
extern bool gr_negbin_is_next(GrLogregFit *fit, bool converged);

#endif							/* GPUREG_NEGBIN_H */
