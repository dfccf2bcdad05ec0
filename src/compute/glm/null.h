/*
 * null.h: the null deviance, that of the model with the intercept alone.
 */
#ifndef GPUREG_NULL_H
#define GPUREG_NULL_H

#include "compute/glm/fit.h"

/*
 * After the pass at 0: sets the null deviance, or NaN where that takes passes, and the intercept that those begin with.
 * Notes how large predictors and the terms of a deviance are.
 */
extern void gr_null_choose(GrGlmFit *fit);

#endif							/* GPUREG_NULL_H */
