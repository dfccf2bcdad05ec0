/*
 * sandwich.h: the factor from which leverages are computed, for sandwich estimates (vcov.h) and Firth's penalty.
 * firth.c and sandwich.c call it after a pass.
 */
#ifndef GPUREG_SANDWICH_H
#define GPUREG_SANDWICH_H

#include "compute/glm/fit.h"

/*
 * Computes the lower triangle C of state->factor from the sums of an EXACT pass, with C' C the inverse of their
 * Hessian; see GrPass.factor in glm.h. Terms that are left out have rows of zeros and are set in state->frozen. Sets
 * state->pivot. Returns false on an error.
 */
extern bool gr_sandwich_factor(GrGlmFit *fit, const GrHost *host, GrError *err);

#endif							/* GPUREG_SANDWICH_H */
