/*
 * ols_fit.h: linear regression over a query or kept rows, whatever SQL function it is for.
 */
#ifndef GPUREG_OLS_FIT_H
#define GPUREG_OLS_FIT_H

#include "postgres.h"

#include "fmgr.h"

#include "rows/columns.h"
#include "rows/kept_source.h"
#include "rows/source.h"

/*
 * The packed triangle of (1, x, y) of rows that are kept, and its shift, as gr_job_finish() gives them: a pass tells
 * that and, where a column wants a shift, another.
 */
extern void gr_ols_sum_kept(GrRowSource *source, double *hi, double *lo, double *shift);

/* The model as a datum of what the function, called name, returns; the roles have the formula and the intercept. */
extern Datum gr_ols_fit_rows(FunctionCallInfo fcinfo, const char *name, const GrFitRows *rows, const GrRoles *roles);

#endif							/* GPUREG_OLS_FIT_H */
