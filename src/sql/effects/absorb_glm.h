/*
 * absorb_glm.h: fits generalised linear models with absorbed effects. gpu_glm_fit and gpu_logreg_fit call it.
 */
#ifndef GPUREG_ABSORB_GLM_H
#define GPUREG_ABSORB_GLM_H

#include "postgres.h"

#include "fmgr.h"

#include "compute/glm/glm_fit.h"
#include "rows/columns/columns.h"
#include "rows/sums/kept_source.h"

/*
 * Fits a model with roles->nabsorbed > 0 and returns it as a datum. name: the SQL function's; quasi: the dispersion is
 * estimated
 */
extern Datum gr_absorb_glm_fit(FunctionCallInfo fcinfo, const char *name, const GrFitRows *rows, const GrRoles *roles,
							   const GrGlmOptions *options, bool quasi);

#endif							/* GPUREG_ABSORB_GLM_H */
