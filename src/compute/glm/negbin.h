/*
 * negbin.h: maximum-likelihood estimate of the negative binomial theta together with the coefficients, as MASS's
 * glm.nb. newton.c calls gr_negbin_is_next() after each solved step.
 *
 * The expected information between beta and theta is 0, so that each nearly converges alone. The fit begins as a
 * Poisson regression, with an infinite theta. When beta is near its estimate, a pass of GR_MEASURE_THETA gives the
 * derivatives of the log-likelihood by theta. Theta moves by Newton's method, beta goes on, and so in turns, until
 * neither moves by more than rounding error.
 *
 * With the log link, beta moves by Newton's method once theta is finite (GR_MEASURE_OBSERVED): the steps of Fisher's
 * scoring hardly shrink if most counts are 0 and few are large. The likelihood of (beta | theta) is concave then. The
 * length of the first such step after a move of theta tells how far beta follows theta, and so the curvature of the
 * profile likelihood. The last pass has expected weights, for the covariances.
 *
 * A fit that starts from a sample has a theta near its estimate. Its FAST passes are JOINT: they also sum the
 * derivatives by theta, and Newton's steps move both at once. If rounding keeps the steps from shrinking to their last
 * digits, a pass of GR_MEASURE_THETA precedes the last one.
 *
 * If the squared residuals of the Poisson regression do not exceed its counts, the likelihood rises towards an infinite
 * theta. Only without covariates is that always the greatest maximum (Levin and Reeds 1977). So some finite thetas are
 * tried, and the greater of two maxima is the fit.
 */
#ifndef GPUREG_NEGBIN_H
#define GPUREG_NEGBIN_H

#include "compute/glm/fit.h"

/* True if theta comes next, before beta goes on, after a solved step. converged: beta has no further step. */
extern bool gr_negbin_is_next(GrGlmFit *fit, bool converged);

/* True if theta is estimated, and may still move. */
static inline bool
gr_negbin_is_open(const GrGlmState *state)
{
	return state->options.estimate_theta && !state->negbin.settled;
}

/* True if the next pass is to be EXACT, in a sample's fit, so that theta may move after it. */
extern bool gr_negbin_is_near(const GrGlmState *state);

/* Sets the theta of a fit that begins with options.start. Its FAST passes are JOINT if it estimates theta. */
extern void gr_negbin_join(GrGlmFit *fit);

/* Sets theta after a share of the last joint step; does nothing for other steps. */
extern void gr_negbin_step(GrGlmState *state, double step);

/*
 * Ends joint steps before an EXACT pass. Returns false if a pass for theta has to come first, as the last step moved
 * theta too far.
 */
extern bool gr_negbin_ends_joint(GrGlmState *state);

/*
 * Adds theta's part to the solved step of a JOINT pass: delta and decrement become those of Newton's method for beta
 * and theta. Returns false without err if the step is none, as where the likelihood is not concave.
 */
extern bool gr_negbin_solve(GrGlmFit *fit, const GrHost *host, GrError *err);

#endif							/* GPUREG_NEGBIN_H */
