/*
 * finish.h: the end of a fit, for the phases before it.
 */
#ifndef GPUREG_FINISH_H
#define GPUREG_FINISH_H

#include "compute/glm/fit.h"

/*
 * Brings fit->vcov, with NaN for terms that are left out, from the terms of the fit to those of the estimates. with_lo:
 * state->triangle has what fit->vcov has beyond its digits, n x n. Returns false if canceled.
 */
extern bool gr_vcov_to_model(GrGlmFit *fit, bool with_lo, const GrHost *host);

/*
 * Brings rows, a matrix of nterms x nterms with a row per term, from the terms of the fit to those of the estimates, on
 * the left alone. Returns false if canceled.
 */
extern bool gr_rows_to_model(GrGlmFit *fit, double *rows, const GrHost *host);

/* The covariances in fit->vcov, if there are any, are final but for the terms that they are of: goes on from there. */
extern bool gr_finish(GrGlmFit *fit, const GrHost *host, GrError *err);

#endif							/* GPUREG_FINISH_H */
