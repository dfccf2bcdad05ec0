/*
 * fn_glm.c: gpu_logreg_fit and gpu_glm_fit, which fit a generalised linear model to a query or to kept rows.
 */
#include "postgres.h"

#include <math.h>

#include "fmgr.h"
#include "utils/builtins.h"

#include "compute/glm/glm_fit.h"
#include "compute/glm/glm_row.h"
#include "rows/query/query.h"
#include "rows/state/families.h"
#include "rows/sums/ingest.h"
#include "rows/sums/source.h"
#include "run/args.h"
#include "run/clock.h"
#include "run/job.h"
#include "run/raise.h"
#include "run/report.h"
#include "sql/effects/absorb.h"
#include "sql/effects/absorb_glm.h"
#include "sql/glm/glm_fit.h"
#include "sql/linear/ols_fit.h"
#include "sql/model/fit_arguments.h"
#include "sql/model/model.h"

PG_FUNCTION_INFO_V1(gr_logreg_fit);
PG_FUNCTION_INFO_V1(gr_logreg_fit_formula);
PG_FUNCTION_INFO_V1(gr_glm_fit);

static GrGlmSolver
solver_named(const char *name)
{
	if (strcmp(name, "newton") == 0)
		return GR_SOLVER_NEWTON;
	if (strcmp(name, "gd") == 0)
		return GR_SOLVER_GD;
	if (strcmp(name, "lbfgs") == 0)
		return GR_SOLVER_LBFGS;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unknown solver \"%s\"", name),
			 errhint("Use 'newton', 'gd' or 'lbfgs'.")));
}

static void
check_max_iter(int max_iter)
{
	if (max_iter < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("max_iter must be at least 1, got %d", max_iter)));
}

/* Reads arguments 1 .. 6 of gpu_logreg_fit. */
static GrGlmOptions
fit_options(FunctionCallInfo fcinfo)
{
	GrGlmOptions options = gr_glm_defaults(0);

	options.intercept = PG_GETARG_BOOL(1);
	options.l2 = PG_GETARG_FLOAT8(2);
	options.max_iter = PG_GETARG_INT32(3);
	options.tol = PG_GETARG_FLOAT8(4);
	options.solver = solver_named(text_to_cstring(PG_GETARG_TEXT_PP(5)));
	gr_check_l2(options.l2);
	gr_check_tol(options.tol);
	check_max_iter(options.max_iter);
	if (PG_ARGISNULL(6))
		return options;
	options.learning_rate = PG_GETARG_FLOAT8(6);
	if (!(options.learning_rate > 0 && isfinite(options.learning_rate)))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("learning_rate must be a finite positive number, got %g", options.learning_rate)));
	if (options.solver != GR_SOLVER_GD)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("learning_rate can only be used with solver gd"),
				 errhint("Set solver => 'gd', or leave learning_rate out.")));
	return options;
}

/*
 * gpu_logreg_fit(query text, intercept boolean, l2 float8, max_iter int, tol float8, solver text, learning_rate float8,
 * weights text, frequencies text, offsets text, formula text, vcov text, clusters text[], firth boolean, kept text,
 * rows text): NULL if one of intercept .. solver is NULL, or both query and kept are
 */
Datum
gr_logreg_fit(PG_FUNCTION_ARGS)
{
	GrGlmOptions options;
	GrFitRows	rows;
	GrRoles		roles;

	for (int k = 1; k < 6; k++)
		if (PG_ARGISNULL(k))
			PG_RETURN_NULL();
	if (!gr_fit_arguments(fcinfo, 0, 14, 15, &rows))
		PG_RETURN_NULL();
	options = fit_options(fcinfo);
	roles = gr_role_arguments(fcinfo, 7, 8, 9);
	gr_formula_argument(fcinfo, 10, options.intercept, &roles);
	gr_vcov_arguments(fcinfo, 11, 12, &options, &roles);
	gr_firth_argument(fcinfo, 13, &options, false);
	/* the formula may name effects to absorb */
	gr_absorb_arguments(fcinfo, PG_NARGS(), &roles);
	if (roles.nabsorbed > 0)
		return gr_absorb_glm_fit(fcinfo, "gpu_logreg_fit", &rows, &roles, &options, false);
	return gr_glm_fit_rows(fcinfo, "gpu_logreg_fit", &rows, &roles, &options, false);
}

/* gpu_logreg_fit(query text, formula text, intercept boolean, ...): the other arguments are those of gr_logreg_fit() */
Datum
gr_logreg_fit_formula(PG_FUNCTION_ARGS)
{
	static const int order[] = {0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 1, 11, 12, 13, 14, 15};
	LOCAL_FCINFO(ordered, lengthof(order));
	Datum		model;

	gr_order_arguments(fcinfo, order, lengthof(order), ordered);
	model = gr_logreg_fit(ordered);
	fcinfo->isnull = ordered->isnull;
	return model;
}

/*
 * Any family and link
 */

/* Arguments of gpu_glm_fit */
enum
{
	GLM_QUERY, GLM_FAMILY, GLM_LINK, GLM_INTERCEPT, GLM_FORMULA, GLM_WEIGHTS, GLM_FREQUENCIES, GLM_OFFSETS, GLM_L2,
	GLM_MAX_ITER, GLM_TOL, GLM_THETA, GLM_VCOV, GLM_CLUSTERS, GLM_FIRTH, GLM_KEPT, GLM_ROWS,
	GLM_ABSORB
};

/*
 * Reads theta of the negative binomial family; NULL: it is to be estimated. Raises an ERROR if another family gets one.
 */
static void
read_theta(FunctionCallInfo fcinfo, GrGlmOptions *options)
{
	GrDistribution *distribution = &options->distribution;

	if (!gr_family(distribution->family)->has_theta && !PG_ARGISNULL(GLM_THETA))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("theta can only be used with the negative binomial family"),
				 errhint("Leave theta out, or pass family => 'negative binomial'.")));
	if (!gr_family(distribution->family)->has_theta)
		return;
	options->estimate_theta = PG_ARGISNULL(GLM_THETA);
	if (!options->estimate_theta)
		distribution->theta = gr_checked_theta(PG_GETARG_FLOAT8(GLM_THETA));
}

/*
 * gpu_glm_fit(query text, family text, link text, intercept boolean, formula text, weights text, frequencies text,
 * offsets text, l2 float8, max_iter int, tol float8, theta float8, vcov text, clusters text[], firth boolean, kept
 * text, rows text, absorb text[]): NULL if one of family, intercept, l2, max_iter and tol is NULL, or both query and
 * kept are
 */
Datum
gr_glm_fit(PG_FUNCTION_ARGS)
{
	static const int wanted[] = {GLM_FAMILY, GLM_INTERCEPT, GLM_L2, GLM_MAX_ITER, GLM_TOL};
	GrGlmOptions options = gr_glm_defaults(0);
	GrNamedFamily named;
	GrFitRows	rows;
	GrRoles		roles;

	for (int k = 0; k < (int) lengthof(wanted); k++)
		if (PG_ARGISNULL(wanted[k]))
			PG_RETURN_NULL();
	if (!gr_fit_arguments(fcinfo, GLM_QUERY, GLM_KEPT, GLM_ROWS, &rows))
		PG_RETURN_NULL();
	named = gr_read_family(text_to_cstring(PG_GETARG_TEXT_PP(GLM_FAMILY)));
	options.distribution = named.distribution;
	if (!PG_ARGISNULL(GLM_LINK))
		gr_read_link(text_to_cstring(PG_GETARG_TEXT_PP(GLM_LINK)), &options.distribution);
	read_theta(fcinfo, &options);
	options.intercept = PG_GETARG_BOOL(GLM_INTERCEPT);
	options.l2 = PG_GETARG_FLOAT8(GLM_L2);
	options.max_iter = PG_GETARG_INT32(GLM_MAX_ITER);
	options.tol = PG_GETARG_FLOAT8(GLM_TOL);
	gr_check_l2(options.l2);
	gr_check_tol(options.tol);
	check_max_iter(options.max_iter);
	roles = gr_role_arguments(fcinfo, GLM_WEIGHTS, GLM_FREQUENCIES, GLM_OFFSETS);
	gr_formula_argument(fcinfo, GLM_FORMULA, options.intercept, &roles);
	gr_vcov_arguments(fcinfo, GLM_VCOV, GLM_CLUSTERS, &options, &roles);
	/* a quasibinomial response may be a share of one trial */
	roles.unit_weights = named.quasi && gr_family(options.distribution.family)->is_binary && roles.weights == NULL;
	gr_firth_argument(fcinfo, GLM_FIRTH, &options, named.quasi);
	gr_absorb_arguments(fcinfo, GLM_ABSORB, &roles);
	if (roles.nabsorbed > 0 && gr_is_linear(options.distribution) && roles.offsets == NULL && options.l2 == 0)
		return gr_absorb_fit(fcinfo, "gpu_glm_fit", &rows, &roles, &options);
	if (roles.nabsorbed > 0)
		return gr_absorb_glm_fit(fcinfo, "gpu_glm_fit", &rows, &roles, &options, named.quasi);
	/* linear regression needs only one pass */
	if (gr_is_linear(options.distribution) && roles.offsets == NULL && !gr_formula_may_offset(roles.formula) &&
		options.l2 == 0 &&
		options.vcov == GR_VCOV_IID)
	{
		roles.centered = roles.pairs = true;
		return gr_ols_fit_rows(fcinfo, "gpu_glm_fit", &rows, &roles);
	}
	return gr_glm_fit_rows(fcinfo, "gpu_glm_fit", &rows, &roles, &options, named.quasi);
}
