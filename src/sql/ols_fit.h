/*
 * ols_fit.h: linear regression over a query, whatever SQL function it is for.
 */
#ifndef GPUREG_OLS_FIT_H
#define GPUREG_OLS_FIT_H

#include "postgres.h"

#include "fmgr.h"

#include "rows/columns.h"

/* The model as a datum of what the function, called name, returns; the roles have the formula and the intercept. */
extern Datum gr_ols_fit_query(FunctionCallInfo fcinfo, const char *name, const char *query, const GrRoles *roles);

#endif							/* GPUREG_OLS_FIT_H */
