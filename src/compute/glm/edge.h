/*
 * edge.h: the maximum of a likelihood of counts whose means must not be negative, where some of them are 0.
 *
 * With the identity and the square-root link a linear predictor of less than 0 has no mean. A row whose count is 0 may
 * have one of 0: the likelihood is finite there, and its maximum may lie on that edge. Newton's steps come to it by
 * halves. So a fit whose steps are refused again and again goes on here:
 *
 * BARRIER: the counts of 0 are taken for ever smaller ones above 0, which keep the predictors above 0 (an interior
 * point method; the log-likelihood is then below its maximum by no more than that count for each such row). ON_EDGE:
 * which rows are at the edge? Those whose predictors are nearly 0. Coefficients that give 0 to all of them are a null
 * space, as that of a face is, and the estimate is projected to it. FACE: Newton's method within that null space. If a
 * predictor becomes negative there, or the deviance is more than BARRIER's, other rows are tried. LIMIT: the sums at
 * the estimate, with expected weights, as everywhere. Standard errors are those of the null space: of the model in
 * which the rows at the edge have means of 0.
 */
#ifndef GPUREG_EDGE_H
#define GPUREG_EDGE_H

#include "compute/glm/fit.h"

/* True if the fit may go on at the edge: it is of such a family and link, has no penalty, and its theta is known. */
static inline bool
gr_edge_applies(const GrGlmFit *fit)
{
	return fit->state->options.totals != NULL && fit->state->edge_null != NULL;
}

/*
 * True if by the last pass, which has expected weights, rows are at the edge or may be: their weights are out of
 * proportion, or the fit is perfect, so that each count of 0 has a mean of 0 but for rounding.
 */
extern bool gr_edge_is_near(const GrGlmFit *fit);

/*
 * After the inverse of LIMIT's Hessian is in vcov: makes the covariances of all terms of it. Marks in state->frozen the
 * terms that the rows at the edge determine by themselves, which have no variance. False if canceled.
 */
extern bool gr_edge_expand(GrGlmFit *fit, const GrHost *host);

#endif							/* GPUREG_EDGE_H */
