/*
 * fit_arguments.h: what the arguments of a fit's SQL function say.
 */
#ifndef GPUREG_FIT_ARGUMENTS_H
#define GPUREG_FIT_ARGUMENTS_H

#include "postgres.h"

#include <math.h>

#include "fmgr.h"

#include "compute/glm/glm_fit.h"
#include "rows/columns/columns.h"
#include "rows/sums/kept_source.h"

/*
 * Reads what the fit is to: argument number query, kept and rows (the filter). False if there is neither a query nor
 * kept rows. ERROR if there are both.
 */
extern bool gr_fit_arguments(FunctionCallInfo fcinfo, int query, int kept, int rows, GrFitRows *fit);

/*
 * Returns the roles that arguments number weights, frequencies and offsets name; -1: the function has no such argument.
 * ERROR where both weights and frequencies are named.
 */
extern GrRoles gr_role_arguments(FunctionCallInfo fcinfo, int weights, int frequencies, int offsets);

/* Takes the formula that argument number formula is, if it is there, and the intercept that goes with it. */
extern void gr_formula_argument(FunctionCallInfo fcinfo, int formula, bool intercept, GrRoles *roles);

/*
 * Reads the covariances that argument number vcov names, iid if it is NULL, and the cluster columns that argument
 * number clusters names, if it is there. ERROR unless they go together, and the columns are one or two different ones.
 */
extern void gr_vcov_arguments(FunctionCallInfo fcinfo, int vcov, int clusters, GrGlmOptions *options,
							  GrRoles *roles);

/* ERROR unless a fit of these options can have Firth's penalty. */
extern void gr_check_firth(const GrGlmOptions *options, bool quasi);

/* Takes Firth's penalty, if an argument wants it. ERROR if the other options don't go with it. */
static inline void
gr_firth_argument(FunctionCallInfo fcinfo, int argument, GrGlmOptions *options, bool quasi)
{
	options->firth = !PG_ARGISNULL(argument) && PG_GETARG_BOOL(argument);
	if (options->firth)
		gr_check_firth(options, quasi);
}

/* ERROR unless the option is one that a fit can have. */
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

/* What a logistic regression is fitted by when nothing else is said */
extern GrGlmOptions gr_glm_defaults(int nfeatures);

#endif							/* GPUREG_FIT_ARGUMENTS_H */
