/*
 * fit_arguments.c: reads and checks the arguments that fits have in common; see fit_arguments.h.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "run/progress.h"
#include "sql/model/fit_arguments.h"

void
gr_order_arguments(FunctionCallInfo fcinfo, const int *order, int n, FunctionCallInfo to)
{
	InitFunctionCallInfoData(*to, fcinfo->flinfo, n, fcinfo->fncollation, fcinfo->context, fcinfo->resultinfo);
	for (int k = 0; k < n; k++)
		to->args[k] = fcinfo->args[order[k]];
}

bool
gr_fit_arguments(FunctionCallInfo fcinfo, int query, int kept, int rows, GrFitRows *fit)
{
	memset(fit, 0, sizeof(*fit));
	gr_progress_begin(fcinfo);
	if (!PG_ARGISNULL(query))
		fit->query = text_to_cstring(PG_GETARG_TEXT_PP(query));
	if (!PG_ARGISNULL(kept))
		fit->kept = text_to_cstring(PG_GETARG_TEXT_PP(kept));
	if (!PG_ARGISNULL(rows))
		fit->filter = text_to_cstring(PG_GETARG_TEXT_PP(rows));
	if (fit->query != NULL && fit->kept != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("query and kept cannot be used together"),
				 errhint("Leave one of them out.")));
	if (fit->filter != NULL && fit->kept == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("rows can only be used with kept"),
				 errhint("Put the condition into the WHERE clause of the query.")));
	return fit->query != NULL || fit->kept != NULL;
}

/* Returns a text argument, or NULL if it is NULL or the function has no such argument. */
static const char *
name_argument(FunctionCallInfo fcinfo, int argno)
{
	return argno < 0 || argno >= PG_NARGS() || PG_ARGISNULL(argno) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(argno));
}

GrRoles
gr_role_arguments(FunctionCallInfo fcinfo, int weights, int frequencies, int offsets)
{
	const char *counts = name_argument(fcinfo, frequencies);
	GrRoles		roles = {
		.weights = name_argument(fcinfo, weights),.offsets = name_argument(fcinfo, offsets),.intercept = true,
		.takes_offset = offsets >= 0
	};

	if (counts == NULL)
		return roles;
	if (roles.weights != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("weights and frequencies cannot be used together"),
				 errhint("Use frequencies if a row stands for several identical rows, and weights if a row counts more "
						 "or less than others.")));
	roles.weights = counts;
	roles.weighting = GR_FREQUENCIES;
	return roles;
}

void
gr_formula_argument(FunctionCallInfo fcinfo, int formula, bool intercept, GrRoles *roles)
{
	roles->formula = name_argument(fcinfo, formula);
	roles->intercept = intercept;
}

bool
gr_formula_may_offset(const char *formula)
{
	return formula != NULL && strcasestr(formula, "offset") != NULL;
}

void
gr_read_clusters(Datum value, GrRoles *roles)
{
	ArrayType  *array = DatumGetArrayTypeP(value);
	Datum	   *items;
	int			n;

	if (ARR_NDIM(array) > 1 || array_contains_nulls(array))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("clusters must be a one-dimensional array of names without NULL"),
				 errhint("Name the columns as in clusters => '{firm,year}'.")));
	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &items, NULL, &n);
	if (n < 1 || n > GR_CLUSTERS_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("clusters must name one or two columns, got %d", n),
				 errhint("Name the columns as in clusters => '{firm}' or clusters => '{firm,year}'.")));
	for (int k = 0; k < n; k++)
		roles->clusters[k] = TextDatumGetCString(items[k]);
	if (n == 2 && strcmp(roles->clusters[0], roles->clusters[1]) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("clusters names column \"%s\" twice", roles->clusters[0]),
				 errhint("Name two different columns, or only one.")));
	roles->nclusters = n;
}

static GrVcov
vcov_named(const char *name)
{
	GrVcov		vcov;

	if (!gr_vcov_named(name, &vcov))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unknown vcov \"%s\"", name),
				 pg_strcasecmp(name, "CR3") == 0 || pg_strcasecmp(name, "CR3J") == 0 ?
				 errhint("For CR3, aggregate one state per cluster and pass the states to gpu_ols_cluster_agg.") :
				 errhint("Use 'iid', 'HC0', 'HC1', 'HC2' or 'HC3', or with clusters 'CR0', 'CR1' or 'CR2'.")));
	return vcov;
}

void
gr_check_firth(const GrGlmOptions *options, bool quasi)
{
	if (!gr_is_logistic(options->distribution) || quasi)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("firth can only be used with the binomial family and the logit link"),
				 errhint("Leave firth out, or use gpu_logreg_fit.")));
	if (options->l2 > 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("firth and l2 cannot be used together"),
				 errhint("Leave one of them out.")));
	if (options->solver != GR_SOLVER_NEWTON)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("firth can only be used with solver newton"),
				 errhint("Leave solver out, or set solver => 'newton'.")));
	if (options->vcov != GR_VCOV_IID)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a fit with firth can only have vcov iid"),
				 errhint("Leave vcov out, or set vcov => 'iid'.")));
}

void
gr_vcov_arguments(FunctionCallInfo fcinfo, int vcov, int clusters, GrGlmOptions *options, GrRoles *roles)
{
	options->vcov = PG_ARGISNULL(vcov) ? GR_VCOV_IID : vcov_named(text_to_cstring(PG_GETARG_TEXT_PP(vcov)));
	roles->nclusters = 0;
	if (clusters < PG_NARGS() && !PG_ARGISNULL(clusters))
		gr_read_clusters(PG_GETARG_DATUM(clusters), roles);
	options->ncluster_columns = roles->nclusters;
	roles->cluster_keys = options->vcov != GR_VCOV_CR2;
	if (gr_vcov_is_clustered(options->vcov) && roles->nclusters == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("vcov %s needs clusters", gr_vcov_name(options->vcov)),
				 errhint("Name one or two columns of the query, as in clusters => '{region}'.")));
	if (!gr_vcov_is_clustered(options->vcov) && roles->nclusters > 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("vcov %s cannot be used with clusters", gr_vcov_name(options->vcov)),
				 errhint("Set vcov to CR0, CR1 or CR2, or leave clusters out.")));
}

GrGlmOptions
gr_glm_defaults(int nfeatures)
{
	GrGlmOptions options = {
		.shape = gr_plain_shape(nfeatures),
		.distribution = GR_LOGISTIC,
		.intercept = true,
		.max_iter = 25,
		.tol = 1e-10,
		.solver = GR_SOLVER_NEWTON,
		.learning_rate = NAN,
		.can_change = true
	};

	return options;
}
