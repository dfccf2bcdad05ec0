/*
 * enet.c: reads arguments and writes results of elastic nets; see enet.h.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/tuplestore.h"

#include "compute/dist/family.h"
#include "run/args.h"
#include "run/raise.h"
#include "sql/enet/enet.h"

/* Ratio of the least lambda to the largest, as in glmnet, with at least as many rows as features, and with fewer */
#define MIN_RATIO 1e-4
#define MIN_RATIO_FEW_ROWS 1e-2

/* Returns the *n numbers of an array. Raises an ERROR if one is NULL. */
static double *
read_numbers(ArrayType *array, const char *name, int *n)
{
	double	   *values;

	gr_check_vector(array, name);
	if (array_contains_nulls(array))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s must not contain nulls", name)));
	*n = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	values = palloc((*n + 1) * sizeof(double));
	if (*n > 0)
		memcpy(values, ARR_DATA_PTR(array), *n * sizeof(double));
	return values;
}

static int
compare_falling(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return x > y ? -1 : x < y;
}

static void
check_lambda(double lambda)
{
	if (!(lambda >= 0 && isfinite(lambda)))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("lambda must be at least 0, got %g", lambda)));
}

static void
raise_nlambda(int n)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("the number of lambdas must be between 1 and %d, got %d", GR_ENET_MAX_LAMBDAS, n)));
}

static void
read_lambdas(ArrayType *array, GrEnet *net)
{
	net->lambda = read_numbers(array, "lambda", &net->nlambda);
	if (net->nlambda < 1 || net->nlambda > GR_ENET_MAX_LAMBDAS)
		raise_nlambda(net->nlambda);
	for (int k = 0; k < net->nlambda; k++)
		check_lambda(net->lambda[k]);
	qsort(net->lambda, net->nlambda, sizeof(double), compare_falling);
}

static void
read_penalty(ArrayType *array, GrEnet *net)
{
	double		most = 0;

	net->penalty = read_numbers(array, "penalty_factor", &net->npenalty);
	for (int k = 0; k < net->npenalty; k++)
	{
		if (!(net->penalty[k] >= 0))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("penalty factors must be 0 or more, got %g", net->penalty[k]),
					 errhint("Use 0 for a feature without a penalty, and infinity to leave a feature out.")));
		if (isfinite(net->penalty[k]))
			most = Max(most, net->penalty[k]);
		gr_poll_loop(k);
	}
	if (most == 0 || most > 1e100)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 most == 0 ? errmsg("at least one penalty factor must be greater than 0 and finite") :
				 errmsg("penalty factors must be at most 1e100, got %g", most)));
}

static void
raise_positive_type(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg("positive must be a boolean, or an array of booleans")));
}

static void
read_positive_array(ArrayType *array, GrEnet *net)
{
	gr_check_vector(array, "positive");
	if (array_contains_nulls(array))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s must not contain nulls", "positive")));
	net->npositive = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	net->positive = palloc(net->npositive + 1);
	memcpy(net->positive, ARR_DATA_PTR(array), net->npositive * sizeof(bool));
}

/* Reads a boolean, an array of booleans, or an untyped literal of either. */
static void
read_positive(FunctionCallInfo fcinfo, int argument, GrEnet *net)
{
	Oid			type = get_fn_expr_argtype(fcinfo->flinfo, argument);
	Datum		value = PG_GETARG_DATUM(argument);

	if (!OidIsValid(type))
		raise_positive_type();
	type = getBaseType(type);
	if (type == BOOLOID)
		net->all_positive = DatumGetBool(value);
	else if (type == UNKNOWNOID && DatumGetCString(value)[0] != '{')
		net->all_positive = DatumGetBool(OidFunctionCall1(F_BOOLIN, value));
	else if (type == UNKNOWNOID)
		read_positive_array(DatumGetArrayTypeP(OidFunctionCall3(F_ARRAY_IN, value, ObjectIdGetDatum(BOOLOID),
																Int32GetDatum(-1))), net);
	else if (get_element_type(type) == BOOLOID)
		read_positive_array(DatumGetArrayTypeP(value), net);
	else
		raise_positive_type();
}

/* True if the argument is given; false if the default applies. Sets *ok to false if it is NULL and not nullable. */
static bool
given(FunctionCallInfo fcinfo, int argument, bool nullable, bool *ok)
{
	if (argument < 0)
		return false;
	if (!PG_ARGISNULL(argument))
		return true;
	*ok &= nullable;
	return false;
}

bool
gr_enet_arguments(FunctionCallInfo fcinfo, const GrEnetPlaces *places, GrEnet *net)
{
	bool		ok = true;

	*net = (GrEnet) {.alpha = 1,.intercept = true,.standardize = true,.nlambda = 100};
	if (given(fcinfo, places->alpha, false, &ok))
		net->alpha = PG_GETARG_FLOAT8(places->alpha);
	if (given(fcinfo, places->nlambda, false, &ok))
		net->nlambda = PG_GETARG_INT32(places->nlambda);
	if (given(fcinfo, places->intercept, false, &ok))
		net->intercept = PG_GETARG_BOOL(places->intercept);
	if (given(fcinfo, places->standardize, false, &ok))
		net->standardize = PG_GETARG_BOOL(places->standardize);
	if (!(net->alpha >= 0 && net->alpha <= 1))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("alpha must be between 0 and 1, got %g", net->alpha),
				 errhint("Use 1 for the lasso, 0 for ridge regression, or a value between them.")));
	if (net->nlambda < 1 || net->nlambda > GR_ENET_MAX_LAMBDAS)
		raise_nlambda(net->nlambda);
	if (given(fcinfo, places->lambda, true, &ok))
		read_lambdas(PG_GETARG_ARRAYTYPE_P(places->lambda), net);
	if (given(fcinfo, places->min_ratio, true, &ok))
	{
		net->min_ratio = PG_GETARG_FLOAT8(places->min_ratio);
		if (!(net->min_ratio > 0 && net->min_ratio < 1))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("lambda_min_ratio must be between 0 and 1, got %g", net->min_ratio)));
	}
	if (given(fcinfo, places->penalty, true, &ok))
		read_penalty(PG_GETARG_ARRAYTYPE_P(places->penalty), net);
	if (given(fcinfo, places->positive, true, &ok))
		read_positive(fcinfo, places->positive, net);
	return ok;
}

void
gr_enet_set_lambda(GrEnet *net, double lambda)
{
	check_lambda(lambda);
	net->nlambda = 1;
	net->lambda = palloc(sizeof(double));
	net->lambda[0] = lambda;
}

GrEnetSums
gr_enet_sums(const GrStats *stats)
{
	return (GrEnetSums) {
		.gram = stats->gram,.names = gr_stats_names(stats)
	};
}

static void
check_length(const char *name, int n, int nfeatures)
{
	if (n != nfeatures)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must have an element for each feature", name),
				 errdetail("%s has length %d, and there are %d features.", name, n, nfeatures)));
}

void *
gr_enet_workspace(const GrEnet *net, int nfeatures)
{
	return palloc_extended(gr_path_workspace_nbytes(nfeatures, net->intercept), MCXT_ALLOC_HUGE);
}

GrPathOptions
gr_enet_options(const GrEnet *net, int nfeatures)
{
	GrPathOptions options = {
		.alpha = net->alpha,.intercept = net->intercept,.standardize = net->standardize,.penalty = net->penalty,
		.positive = net->positive
	};

	if (net->penalty != NULL)
		check_length("penalty_factor", net->npenalty, nfeatures);
	if (net->positive != NULL)
		check_length("positive", net->npositive, nfeatures);
	if (net->all_positive)
	{
		bool	   *positive = palloc(nfeatures + 1);

		memset(positive, true, nfeatures);
		options.positive = positive;
	}
	return options;
}

void
gr_enet_check_usable(int nusable, int nfeatures)
{
	if (nusable == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("an elastic net needs a feature that varies"),
				 nfeatures == 0 ? 0 :
				 errdetail("All features are constant, or left out by an infinite penalty factor.")));
}

void
gr_enet_open(const GrEnet *net, const GrEnetSums *sums, void *workspace, bool some, GrPath *path)
{
	int			p = sums->gram.nfeatures;
	GrPathOptions options = gr_enet_options(net, p);
	GrError		err = {0};

	if (!gr_path_open(path, &options, &sums->gram, workspace, &gr_host, &err))
		gr_raise_columns(&err, p, sums->names);
	if (some)
		return;
	if (!path->response_varies)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("an elastic net needs a response that varies"),
				 errdetail("Column \"%s\" is constant.", gr_column_name(p, gr_plain_shape(p), sums->names)),
				 errhint("Name another response, or fit the model to more rows.")));
	gr_enet_check_usable(path->nusable, p);
}

double
gr_enet_min_ratio(const GrEnet *net, int64 nobs, int nfeatures)
{
	return net->min_ratio > 0 ? net->min_ratio : nobs < nfeatures ? MIN_RATIO_FEW_ROWS : MIN_RATIO;
}

double *
gr_enet_lambdas(const GrEnet *net, const GrEnetSums *sums, GrPath *path, int *n)
{
	double		min_ratio = gr_enet_min_ratio(net, sums->gram.nobs, sums->gram.nfeatures);
	double	   *lambda = net->lambda;
	GrError		err = {0};

	*n = net->nlambda;
	if (lambda != NULL)
		return lambda;
	lambda = palloc(*n * sizeof(double));
	if (!gr_path_grid(path, min_ratio, n, lambda, &err))
		gr_raise_columns(&err, sums->gram.nfeatures, sums->names);
	return lambda;
}

void
gr_enet_step(GrPath *path, const GrEnetSums *sums, double lambda, GrPathPoint *point, double *coef)
{
	GrError		err = {0};

	if (!gr_path_step(path, lambda, point, coef, &err))
		gr_raise_columns(&err, sums->gram.nfeatures, sums->names);
}

void
gr_enet_model(GrModel *model, const GrEnet *net, const GrEnetSums *sums, const GrPathPoint *point, double *coef)
{
	*model = (GrModel) {
		.distribution = {GR_GAUSSIAN, GR_IDENTITY},.net = true,.net_alpha = net->alpha,.net_lambda = point->lambda,
		.nterms = sums->gram.nfeatures + (net->intercept ? 1 : 0),.intercept = net->intercept,.coef = coef,
		.nrows = sums->gram.nobs,.deviance = point->rss,.null_deviance = point->tss,.iterations = 1,.converged = true,
		.device = "cpu"
	};
	gr_model_name_terms(model, sums->names);
	model->rank = point->df + (net->intercept ? 1 : 0);
	model->df_residual = Max(sums->gram.nobs - model->rank, 0);
	model->log_lik = gr_log_likelihood(GR_GAUSSIAN, point->rss, (double) sums->gram.nobs,
									   sums->gram.log_constant);
	model->dispersion = gr_model_mean_square(point->rss, (double) model->df_residual);
	model->df_inference = (double) model->df_residual;
}

void
gr_enet_put_point(ReturnSetInfo *rsinfo, const GrPathPoint *point, const double *coef, int nterms)
{
	Datum		values[4];
	bool		nulls[4] = {false};

	values[0] = Float8GetDatum(point->lambda);
	values[1] = Int32GetDatum(point->df);
	values[2] = Float8GetDatum(point->dev_ratio);
	values[3] = gr_enet_array(coef, nterms);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	pfree(DatumGetPointer(values[3]));
}

void
gr_enet_put_path(ReturnSetInfo *rsinfo, const GrEnet *net, const GrEnetSums *sums)
{
	GrPath		path;
	GrPathPoint point;
	GrPathPoint before;
	double	   *lambda;
	double	   *coef = palloc((sums->gram.nfeatures + 1) * sizeof(double));
	int			n;

	gr_enet_open(net, sums, gr_enet_workspace(net, sums->gram.nfeatures), false, &path);
	lambda = gr_enet_lambdas(net, sums, &path, &n);
	for (int k = 0; k < n; k++)
	{
		CHECK_FOR_INTERRUPTS();
		gr_enet_step(&path, sums, lambda[k], &point, coef);
		gr_enet_put_point(rsinfo, &point, coef, sums->gram.nfeatures + (net->intercept ? 1 : 0));
		if (net->lambda == NULL && gr_path_ends(&path, &before, &point, k, n))
			break;
		before = point;
	}
}

Datum
gr_enet_array(const double *values, int n)
{
	Size		nbytes = ARR_OVERHEAD_NONULLS(1) + n * sizeof(double);
	ArrayType  *array = palloc(nbytes);

	*array = (ArrayType) {.ndim = 1,.elemtype = FLOAT8OID};
	SET_VARSIZE(array, nbytes);
	ARR_DIMS(array)[0] = n;
	ARR_LBOUND(array)[0] = 1;
	memcpy(ARR_DATA_PTR(array), values, n * sizeof(double));
	return PointerGetDatum(array);
}
