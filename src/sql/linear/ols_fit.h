/*
 * ols_fit.h: linear regression over a query or kept rows, for any SQL function. gpu_ols_fit calls it first, and
 * gpu_glm_fit does for the gaussian family.
 */
#ifndef GPUREG_OLS_FIT_H
#define GPUREG_OLS_FIT_H

#include "postgres.h"

#include "fmgr.h"

#include "rows/columns/columns.h"
#include "rows/sums/kept_source.h"

/*
 * Fits rows and returns the model as a datum of the calling function's type. name: the SQL function's, for
 * gpu_last_run(). roles holds the formula and the intercept.
 */
extern Datum gr_ols_fit_rows(FunctionCallInfo fcinfo, const char *name, const GrFitRows *rows, const GrRoles *roles);

#endif							/* GPUREG_OLS_FIT_H */
