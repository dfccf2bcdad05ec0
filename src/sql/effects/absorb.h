/*
 * absorb.h: fits with absorbed effects: reads which columns are absorbed, and fits. gpu_ols_fit calls it first.
 *
 * The columns are the argument absorb's, or follow a | in the formula: y ~ x1 + x2 | firm + year. Rows are read once
 * into memory, and all columns are projected onto the complement of the effects (compute/effects). The Gram matrix of
 * the projected columns is then solved as any other.
 */
#ifndef GPUREG_ABSORB_H
#define GPUREG_ABSORB_H

#include "postgres.h"

#include "fmgr.h"

#include "compute/glm/glm_fit.h"
#include "rows/columns/columns.h"
#include "rows/sums/kept_source.h"

/*
 * Sets the absorbed columns of roles from the argument absorb, a text[], and from roles->formula, whose part from | on
 * it cuts off. Raises an ERROR if a column is named twice or both places name columns.
 */
extern void gr_absorb_arguments(FunctionCallInfo fcinfo, int absorb, GrRoles *roles);

/* Fits a linear regression with roles->nabsorbed > 0 and returns the model. name: the SQL function's */
extern Datum gr_absorb_fit(FunctionCallInfo fcinfo, const char *name, const GrFitRows *rows, const GrRoles *roles,
						   const GrGlmOptions *options);

#endif							/* GPUREG_ABSORB_H */
