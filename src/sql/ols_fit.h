/*
 * ols_fit.h: linear regression over a query, whatever SQL function it is for.
 */
#ifndef GPUREG_OLS_FIT_H
#define GPUREG_OLS_FIT_H

#include "postgres.h"

#include "fmgr.h"

#include "rows/columns.h"

/* The model as a datum, of what function, called name, returns. */
extern Datum gr_ols_fit_query(FunctionCallInfo fcinfo, const char *name, const char *query, bool intercept,
							  const GrRoles *roles);

#endif							/* GPUREG_OLS_FIT_H */
