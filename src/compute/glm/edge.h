/*
 * edge.h: Poisson and negative binomial fits whose maximum has means of 0. newton.c calls this first, when steps are
 * refused again and again.
 *
 * With the identity and the square-root link a negative linear predictor has no mean. A row whose count is 0 may have a
 * predictor of 0: the likelihood is finite there, and its maximum may lie on that edge. Newton's steps approach the
 * edge only by halves. Such a fit goes through four measures (GrMeasure):
 *
 * BARRIER replaces counts of 0 by ever smaller positive counts, which keep the predictors above 0 (an interior point
 * method; the log-likelihood is then below its maximum by at most that count per such row). ON_EDGE finds the rows at
 * the edge, whose predictors are nearly 0. The coefficients that give 0 to all of them form a null space, to which the
 * estimate is projected. EDGE_STEP is Newton's method within the null space. If a predictor becomes negative there, or
 * the deviance exceeds BARRIER's, other rows are tried. EDGE sums at the estimate with expected weights. Standard
 * errors are those of the null space: of the model in which the rows at the edge have means of 0.
 */
#ifndef GPUREG_EDGE_H
#define GPUREG_EDGE_H

#include "compute/glm/fit.h"

/* True if the fit may go on at the edge. Family and link allow an edge, there is no penalty, and theta is known. */
static inline bool
gr_edge_applies(const GrGlmFit *fit)
{
	return fit->state->options.totals != NULL && fit->state->edge_null != NULL;
}

/*
 * True if the last pass, which has expected weights, shows that rows may be at the edge: the weights are out of
 * proportion, or the fit is perfect, so that counts of 0 have means of 0 but for rounding.
 */
extern bool gr_edge_is_near(const GrGlmFit *fit);

/*
 * Turns the inverse of EDGE's Hessian in fit->vcov into the covariances of all terms. Marks terms in state->frozen that
 * the rows at the edge determine; they have no variance. Returns false if canceled.
 */
extern bool gr_edge_expand(GrGlmFit *fit, const GrHost *host);

#endif							/* GPUREG_EDGE_H */
