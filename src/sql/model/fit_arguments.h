/*
 * fit_arguments.h: reads and checks the arguments that the SQL functions of fits have in common: query or kept rows,
 * roles of columns, covariances, penalties. gpu_ols_fit, gpu_logreg_fit and gpu_glm_fit call it first. Arguments are
 * passed by number. Errors have code 22023 or 0A000.
 */
#ifndef GPUREG_FIT_ARGUMENTS_H
#define GPUREG_FIT_ARGUMENTS_H

#include "postgres.h"

#include <math.h>

#include "fmgr.h"

#include "compute/glm/glm_fit.h"
#include "rows/columns/columns.h"
#include "rows/sums/kept_source.h"

/* Copies n arguments of a call into `to`: argument order[k] becomes argument k. to: has room for n arguments */
extern void gr_order_arguments(FunctionCallInfo fcinfo, const int *order, int n, FunctionCallInfo to);

/*
 * Reads which rows to fit: the arguments query, kept and rows (the filter of kept rows). Returns false if neither a
 * query nor kept rows are named. Raises an ERROR if both are, or if rows is given with a query.
 */
extern bool gr_fit_arguments(FunctionCallInfo fcinfo, int query, int kept, int rows, GrFitRows *fit);

/*
 * Returns the roles that the arguments weights, frequencies and offsets name. -1 stands for an argument that the
 * function does not have. Raises an ERROR if both weights and frequencies are named.
 */
extern GrRoles gr_role_arguments(FunctionCallInfo fcinfo, int weights, int frequencies, int offsets);

/* Sets roles->formula from the argument formula, NULL if it is NULL or missing, and roles->intercept. */
extern void gr_formula_argument(FunctionCallInfo fcinfo, int formula, bool intercept, GrRoles *roles);

/* True if a formula may have offset(). False for NULL. */
extern bool gr_formula_may_offset(const char *formula);

/*
 * Reads the covariances that the argument vcov names, iid if it is NULL, and the cluster columns that the argument
 * clusters names, if there is one. Raises an ERROR if clustered covariances have no clusters, or others have some, or
 * unless one or two different columns are named.
 */
extern void gr_vcov_arguments(FunctionCallInfo fcinfo, int vcov, int clusters, GrGlmOptions *options,
							  GrRoles *roles);

/* Raises an ERROR if a fit with these options cannot have Firth's penalty. */
extern void gr_check_firth(const GrGlmOptions *options, bool quasi);

/* Sets options->firth from a boolean argument, false if it is NULL. Raises an ERROR if other options forbid it. */
static inline void
gr_firth_argument(FunctionCallInfo fcinfo, int argument, GrGlmOptions *options, bool quasi)
{
	options->firth = !PG_ARGISNULL(argument) && PG_GETARG_BOOL(argument);
	if (options->firth)
		gr_check_firth(options, quasi);
}

/* Raises an ERROR unless l2 is finite and not negative. */
static inline void
gr_check_l2(double l2)
{
	if (!(l2 >= 0 && isfinite(l2)))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("l2 must be a finite number that is not negative, got %g", l2)));
}

static inline void
gr_check_tol(double tol)
{
	if (!(tol > 0 && tol < 1))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("tol must be between 0 and 1, got %g", tol)));
}

/* Default options of a GLM fit: logistic, with an intercept, by Newton's method. */
extern GrGlmOptions gr_glm_defaults(int nfeatures);

/* Reads cluster columns from a text[]. Raises an ERROR unless it names one or two different columns. */
extern void gr_read_clusters(Datum value, GrRoles *roles);

#endif							/* GPUREG_FIT_ARGUMENTS_H */
