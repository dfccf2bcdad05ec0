/*
 * ols_fit.h: linear regression over a query or kept rows, whatever SQL function it is for.
 */
#ifndef GPUREG_OLS_FIT_H
#define GPUREG_OLS_FIT_H

#include "postgres.h"

#include "fmgr.h"

#include "rows/columns/columns.h"
#include "rows/sums/kept_source.h"
#include "rows/sums/source.h"

/*
 * The packed triangle of (1, x, y) of rows that are kept, and its shift, as gr_job_finish() gives them: a pass tells
 * that and, where a column wants a shift, another.
 */
extern void gr_ols_sum_kept(GrRowSource *source, double *hi, double *lo, double *shift);

/* The model as a datum of what the function, called name, returns; the roles have the formula and the intercept. */
extern Datum gr_ols_fit_rows(FunctionCallInfo fcinfo, const char *name, const GrFitRows *rows, const GrRoles *roles);

/* Kept columns that are further from 0 than so many of their spreads are summed about their means. */
#define GR_FAR_SPREADS 4.0

/* The pass that sums rows which are kept, about shift; zeros: as many as terms */
extern GrPass gr_ols_pass_of(GrRowShape shape, GrRowRules rules, const double *zeros, const double *shift);

/* Of its sums: those of (1, x, y), which are behind a row of ones */
extern void gr_ols_take_sums(const double *sums, int nfeatures, double *hi, double *lo);

#endif							/* GPUREG_OLS_FIT_H */
