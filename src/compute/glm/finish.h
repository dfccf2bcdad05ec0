/*
 * finish.h: covariances in the reported terms, and the end of a fit. Called by the phases before the end; sandwich.c
 * calls gr_finish() first.
 */
#ifndef GPUREG_FINISH_H
#define GPUREG_FINISH_H

#include "compute/glm/fit.h"

/*
 * Transforms fit->vcov, with NaN for terms that are left out, from the terms of the fit to the reported terms. with_lo:
 * state->triangle has the low halves of fit->vcov, n x n. Returns false if canceled.
 */
extern bool gr_vcov_to_model(GrGlmFit *fit, bool with_lo, const GrHost *host);

/*
 * Transforms rows, nterms x nterms with a row per term, from the terms of the fit to the reported terms, from the left
 * only. Returns false if canceled.
 */
extern bool gr_rows_to_model(GrGlmFit *fit, double *rows, const GrHost *host);

/* Finishes a fit whose fit->vcov, if any, is final but still in the terms of the fit. Returns false on an error. */
extern bool gr_finish(GrGlmFit *fit, const GrHost *host, GrError *err);

#endif							/* GPUREG_FINISH_H */
