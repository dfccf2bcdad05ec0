/*
 * null.h: the null deviance, that of the model with only an intercept. newton.c calls gr_null_choose() after the pass
 * at 0.
 */
#ifndef GPUREG_NULL_H
#define GPUREG_NULL_H

#include "compute/glm/fit.h"

/*
 * Sets fit->null_deviance, or NaN if it needs passes, and the intercept with which those begin. Sets the magnitudes of
 * predictors and of the terms of a deviance.
 */
extern void gr_null_choose(GrGlmFit *fit);

#endif							/* GPUREG_NULL_H */
