/*
 * ols_fit.h: linear regression over a query or kept rows, whatever SQL function it is for.
 */
#ifndef GPUREG_OLS_FIT_H
#define GPUREG_OLS_FIT_H

#include "postgres.h"

#include "fmgr.h"

#include "rows/columns/columns.h"
#include "rows/sums/kept_source.h"

/* The model as a datum of what the function, called name, returns; the roles have the formula and the intercept. */
extern Datum gr_ols_fit_rows(FunctionCallInfo fcinfo, const char *name, const GrFitRows *rows, const GrRoles *roles);

#endif							/* GPUREG_OLS_FIT_H */
