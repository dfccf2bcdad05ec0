/*
 * sandwich.h: sandwich estimates of covariances, for the phases that want leverages too; see vcov.h.
 */
#ifndef GPUREG_SANDWICH_H
#define GPUREG_SANDWICH_H

#include "compute/glm/fit.h"

/*
 * From the sums of an EXACT pass: the lower triangle C of state->factor with C' C their inverse, by which leverages are
 * measured; see glm.h. Terms that are left out have rows of zeros, and are in state->frozen; state->pivot is set.
 */
extern bool gr_sandwich_factor(GrGlmFit *fit, const GrHost *host, GrError *err);

#endif							/* GPUREG_SANDWICH_H */
