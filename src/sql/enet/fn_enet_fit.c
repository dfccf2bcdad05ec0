/*
 * fn_enet_fit.c: gpu_enet_fit, gpu_enet_cv and gpu_enet_path over a query or kept rows.
 *
 * A linear regression needs only sums: those of all rows for given lambdas, those of each fold for a cross-validation.
 * A logistic regression makes passes over rows that are kept; see enet_logit.h.
 *
 * Without a fold column, a hash of a row's values chooses its fold. So folds do not depend on the order in which
 * workers read the rows, and equal rows are in one fold.
 */
#include "postgres.h"

#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "rows/query/query.h"
#include "rows/sums/data_set.h"
#include "run/args.h"
#include "run/clock.h"
#include "run/report.h"
#include "sql/enet/enet_cv.h"
#include "sql/enet/enet_logit.h"
#include "sql/glm/glm_fit.h"
#include "sql/model/fit_arguments.h"

PG_FUNCTION_INFO_V1(gr_enet_fit);
PG_FUNCTION_INFO_V1(gr_enet_query_cv);
PG_FUNCTION_INFO_V1(gr_enet_query_path);

/* Arguments of gpu_enet_fit */
enum
{
	FIT_QUERY, FIT_LAMBDA, FIT_ALPHA, FIT_FOLDS, FIT_FOLD, FIT_CHOOSE, FIT_PENALTY, FIT_POSITIVE, FIT_INTERCEPT,
	FIT_STANDARDIZE, FIT_FORMULA, FIT_WEIGHTS, FIT_FREQUENCIES, FIT_FAMILY, FIT_KEPT, FIT_ROWS, FIT_NLAMBDA,
	FIT_MIN_RATIO, FIT_LAMBDAS
};

/* Arguments of gpu_enet_path */
enum
{
	PATH_QUERY, PATH_ALPHA, PATH_NLAMBDA, PATH_LAMBDA, PATH_MIN_RATIO, PATH_PENALTY, PATH_POSITIVE, PATH_INTERCEPT,
	PATH_STANDARDIZE, PATH_FAMILY, PATH_FORMULA, PATH_WEIGHTS, PATH_FREQUENCIES, PATH_KEPT, PATH_ROWS
};

/* Arguments of gpu_enet_cv */
enum
{
	CV_QUERY, CV_ALPHA, CV_FOLDS, CV_FOLD, CV_NLAMBDA, CV_LAMBDA, CV_MIN_RATIO, CV_PENALTY, CV_POSITIVE,
	CV_INTERCEPT, CV_STANDARDIZE, CV_FAMILY, CV_FORMULA, CV_WEIGHTS, CV_FREQUENCIES, CV_KEPT, CV_ROWS
};

/* A fit that an SQL function's arguments describe. */
typedef struct Request
{
	const char *function;		/* name of the SQL function, static */
	GrFitRows	rows;
	GrRoles		roles;
	bool		binomial;		/* true for a logistic regression, false for a linear one */
	int			nfolds;			/* number of folds to draw if there is no fold column; 0: no folds */
	double		started;
} Request;

/* A cross-validation: scores of the lambdas, and the chosen models. */
typedef struct Validation
{
	GrFoldScores scores;
	int			nfolds;
	GrModel		least;			/* model of the least error */
	GrModel		within;			/* model of the largest lambda within one standard error of the least */
} Validation;

/*
 * Arguments
 */

/* True for binomial, false for gaussian. Raises an ERROR for other families. */
static bool
is_binomial(const char *family)
{
	if (strcmp(family, "binomial") == 0)
		return true;
	if (strcmp(family, "gaussian") != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unknown family \"%s\" for an elastic net", family),
				 errhint("Use 'gaussian' or 'binomial'.")));
	return false;
}

/* True if name chooses the least error ("min"), false for the largest lambda within one standard error ("1se"). */
static bool
chooses_least(const char *name)
{
	bool		least = strcmp(name, "min") == 0;

	if (!least && strcmp(name, "1se") != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unknown value \"%s\" for choose", name),
				 errhint("Use '1se' or 'min'.")));
	return least;
}

/* Reads the fold column's name into roles, unless it is NULL. */
static void
read_fold(FunctionCallInfo fcinfo, int argument, GrRoles *roles)
{
	if (PG_ARGISNULL(argument))
		return;
	roles->nclusters = 1;
	roles->clusters[0] = text_to_cstring(PG_GETARG_TEXT_PP(argument));
	roles->cluster_role = "fold";
}

/*
 * Models
 */

/* Opens the rows of all folds, or of each fold, for passes or as sums. Sets net->intercept. */
static GrDataSet *
open_rows(FunctionCallInfo fcinfo, const Request *request, GrEnet *net)
{
	const GrRowsWanted wanted = {
		.from = request->rows,.function = fcinfo->flinfo->fn_oid,.roles = &request->roles,
		.family = request->binomial ? GR_BINOMIAL : GR_GAUSSIAN,.nfolds = request->nfolds,
		.use = request->nfolds > 0 ? (request->binomial ? GR_ROWS_FOLD_PASSES : GR_ROWS_FOLD_SUMS) :
		request->binomial ? GR_ROWS_PASSES : GR_ROWS_SUM
	};
	GrDataSet  *data = gr_open_rows(&wanted);

	net->intercept = data->ingest.intercept;
	return data;
}

static GrEnetSums
named_sums(const GrDataSet *data)
{
	return (GrEnetSums) {.gram = data->sums[0],.names = (const char *const *) data->ingest.names};
}

/* Fits the model at one lambda from sums. */
static void
fit_sums(FunctionCallInfo fcinfo, const Request *request, GrEnet *net, GrModel *model)
{
	GrDataSet  *data = open_rows(fcinfo, request, net);
	const char *device = gr_close_rows(data, request->function, request->started);
	GrEnetSums	sums = named_sums(data);
	GrPath		path;
	GrPathPoint point;
	double	   *coef = palloc((sums.gram.nfeatures + 1) * sizeof(double));

	gr_enet_open(net, &sums, gr_enet_workspace(net, sums.gram.nfeatures), false, &path);
	gr_enet_step(&path, &sums, net->lambda[0], &point, coef);
	gr_enet_model(model, net, &sums, &point, coef);
	model->nskipped = data->ingest.nskipped;
	model->design = data->ingest.design;
	model->device = device;
}

static void
fit_logit(FunctionCallInfo fcinfo, const Request *request, GrEnet *net, GrModel *model)
{
	GrDataSet  *data = open_rows(fcinfo, request, net);
	GrEnetLogit logit;

	gr_enet_logit_begin(&logit, net, data, -1);
	(void) gr_enet_logit_step(&logit, net->lambda[0]);
	gr_enet_logit_model(model, net, data, &logit.path.point, logit.path.coef);
	model->converged = logit.path.converged;
	model->device = gr_close_rows(data, request->function, request->started);
}

static void
validate_sums(FunctionCallInfo fcinfo, const Request *request, GrEnet *net, Validation *v)
{
	GrDataSet  *data = open_rows(fcinfo, request, net);
	const char *device = gr_close_rows(data, request->function, request->started);
	GrFolds    *folds = gr_folds_create(data->ingest.nfeatures, (const char *const *) data->ingest.names);
	GrModel    *models[2] = {&v->least, &v->within};

	for (int k = 0; k < data->n; k++)
		gr_folds_add(folds, &data->sums[k], 0);
	folds->net = *net;
	gr_folds_validate(folds, &v->scores);
	v->nfolds = folds->n;
	for (int i = 0; i < 2; i++)
	{
		gr_folds_model(folds, &v->scores, i == 0 ? v->scores.least : v->scores.within, models[i]);
		models[i]->nskipped = data->ingest.nskipped;
		models[i]->design = data->ingest.design;
		models[i]->device = device;
	}
}

static void
validate_logit(FunctionCallInfo fcinfo, const Request *request, GrEnet *net, Validation *v)
{
	GrDataSet  *data = open_rows(fcinfo, request, net);
	GrModel    *models[2] = {&v->least, &v->within};

	gr_enet_logit_validate(net, data, &v->scores);
	v->nfolds = data->n;
	for (int i = 0; i < 2; i++)
	{
		int			k = i == 0 ? v->scores.least : v->scores.within;
		int			nterms = data->source->shape.nfeatures + (net->intercept ? 1 : 0);

		gr_enet_logit_model(models[i], net, data, &v->scores.point[k], v->scores.coef + (Size) k * nterms);
	}
	v->least.device = v->within.device = gr_close_rows(data, request->function, request->started);
}

static void
validate(FunctionCallInfo fcinfo, const Request *request, GrEnet *net, Validation *v)
{
	ErrorContextCallback context;

	gr_enter_query(&context, request->rows.query);
	if (request->binomial)
		validate_logit(fcinfo, request, net, v);
	else
		validate_sums(fcinfo, request, net, v);
	gr_extras_take_roles(&v->least.extras, &request->roles);
	gr_extras_take_roles(&v->within.extras, &request->roles);
	gr_record_solved(request->started);
	gr_leave_query(&context);
}

static void
fit_at(FunctionCallInfo fcinfo, const Request *request, GrEnet *net, GrModel *model)
{
	ErrorContextCallback context;

	gr_enter_query(&context, request->rows.query);
	if (request->binomial)
		fit_logit(fcinfo, request, net, model);
	else
		fit_sums(fcinfo, request, net, model);
	gr_record_solved(request->started);
	gr_leave_query(&context);
}

/*
 * gpu_enet_fit
 */

/* Sets the only lambda, unless the argument is NULL. */
static void
read_lambda(FunctionCallInfo fcinfo, GrEnet *net)
{
	if (PG_ARGISNULL(FIT_LAMBDA))
		return;
	if (net->lambda != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("lambda and lambdas cannot be used together"),
				 errhint("Leave lambda out to have one of lambdas chosen, or leave lambdas out.")));
	gr_enet_set_lambda(net, PG_GETARG_FLOAT8(FIT_LAMBDA));
}

/*
 * gpu_enet_fit(query text, lambda float8, alpha float8, folds int, fold text, choose text, penalty_factor float8[],
 * positive "any", intercept boolean, standardize boolean, formula text, weights text, frequencies text, family text,
 * kept text, rows text, nlambda int, lambda_min_ratio float8, lambdas float8[]): NULL if an argument is NULL whose
 * default is not, or both query and kept are
 */
Datum
gr_enet_fit(PG_FUNCTION_ARGS)
{
	static const GrEnetPlaces places = {
		.alpha = FIT_ALPHA,.nlambda = FIT_NLAMBDA,.lambda = FIT_LAMBDAS,.min_ratio = FIT_MIN_RATIO,
		.penalty = FIT_PENALTY,.positive = FIT_POSITIVE,.intercept = FIT_INTERCEPT,.standardize = FIT_STANDARDIZE
	};
	Request request = {.function = "gpu_enet_fit",.started = gr_now()};
	GrEnet		net;
	Validation	v;
	GrModel		model;
	bool		least;

	if (!gr_fit_arguments(fcinfo, FIT_QUERY, FIT_KEPT, FIT_ROWS, &request.rows) || PG_ARGISNULL(FIT_FAMILY) ||
		PG_ARGISNULL(FIT_FOLDS) || PG_ARGISNULL(FIT_CHOOSE) || !gr_enet_arguments(fcinfo, &places, &net))
		PG_RETURN_NULL();
	gr_check_nfolds(PG_GETARG_INT32(FIT_FOLDS));
	least = chooses_least(text_to_cstring(PG_GETARG_TEXT_PP(FIT_CHOOSE)));
	request.binomial = is_binomial(text_to_cstring(PG_GETARG_TEXT_PP(FIT_FAMILY)));
	read_lambda(fcinfo, &net);
	request.roles = gr_role_arguments(fcinfo, FIT_WEIGHTS, FIT_FREQUENCIES, -1);
	gr_formula_argument(fcinfo, FIT_FORMULA, net.intercept, &request.roles);
	read_fold(fcinfo, FIT_FOLD, &request.roles);
	if (!PG_ARGISNULL(FIT_LAMBDA))
	{
		fit_at(fcinfo, &request, &net, &model);
		gr_extras_take_roles(&model.extras, &request.roles);
		return gr_model_datum(fcinfo, &model);
	}
	request.nfolds = PG_GETARG_INT32(FIT_FOLDS);
	validate(fcinfo, &request, &net, &v);
	return gr_model_datum(fcinfo, least ? &v.least : &v.within);
}

/*
 * gpu_enet_cv(query text, alpha float8, folds int, fold text, nlambda int, lambda float8[], lambda_min_ratio float8,
 * penalty_factor float8[], positive "any", intercept boolean, standardize boolean, family text, formula text, weights
 * text, frequencies text, kept text, rows text): NULL if an argument is NULL whose default is not, or both query and
 * kept are
 */
Datum
gr_enet_query_cv(PG_FUNCTION_ARGS)
{
	static const GrEnetPlaces places = {
		.alpha = CV_ALPHA,.nlambda = CV_NLAMBDA,.lambda = CV_LAMBDA,.min_ratio = CV_MIN_RATIO,
		.penalty = CV_PENALTY,.positive = CV_POSITIVE,.intercept = CV_INTERCEPT,.standardize = CV_STANDARDIZE
	};
	Request request = {.function = "gpu_enet_cv",.started = gr_now()};
	GrEnet		net;
	Validation	v;

	if (!gr_fit_arguments(fcinfo, CV_QUERY, CV_KEPT, CV_ROWS, &request.rows) || PG_ARGISNULL(CV_FAMILY) ||
		PG_ARGISNULL(CV_FOLDS) || !gr_enet_arguments(fcinfo, &places, &net))
		PG_RETURN_NULL();
	request.nfolds = PG_GETARG_INT32(CV_FOLDS);
	gr_check_nfolds(request.nfolds);
	request.binomial = is_binomial(text_to_cstring(PG_GETARG_TEXT_PP(CV_FAMILY)));
	request.roles = gr_role_arguments(fcinfo, CV_WEIGHTS, CV_FREQUENCIES, -1);
	gr_formula_argument(fcinfo, CV_FORMULA, net.intercept, &request.roles);
	read_fold(fcinfo, CV_FOLD, &request.roles);
	validate(fcinfo, &request, &net, &v);
	return gr_folds_datum(fcinfo, &v.scores, v.nfolds, &v.least, &v.within);
}

/*
 * gpu_enet_path
 */

static void
put_path(FunctionCallInfo fcinfo, const Request *request, GrEnet *net)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	GrDataSet  *data = open_rows(fcinfo, request, net);

	if (request->binomial)
	{
		gr_enet_logit_put_path(rsinfo, net, data);
		(void) gr_close_rows(data, request->function, request->started);
	}
	else
	{
		GrEnetSums	sums = named_sums(data);

		(void) gr_close_rows(data, request->function, request->started);
		gr_enet_put_path(rsinfo, net, &sums);
	}
}

/*
 * gpu_enet_path(query text, alpha float8, nlambda int, lambda float8[], lambda_min_ratio float8, penalty_factor
 * float8[], positive "any", intercept boolean, standardize boolean, family text, formula text, weights text,
 * frequencies text, kept text, rows text): one row per lambda; no rows if an argument is NULL whose default is not, or
 * both query and kept are
 */
Datum
gr_enet_query_path(PG_FUNCTION_ARGS)
{
	static const GrEnetPlaces places = {
		.alpha = PATH_ALPHA,.nlambda = PATH_NLAMBDA,.lambda = PATH_LAMBDA,.min_ratio = PATH_MIN_RATIO,
		.penalty = PATH_PENALTY,.positive = PATH_POSITIVE,.intercept = PATH_INTERCEPT,
		.standardize = PATH_STANDARDIZE
	};
	Request request = {.function = "gpu_enet_path",.started = gr_now()};
	ErrorContextCallback context;
	GrEnet		net;

	InitMaterializedSRF(fcinfo, 0);
	if (!gr_fit_arguments(fcinfo, PATH_QUERY, PATH_KEPT, PATH_ROWS, &request.rows) || PG_ARGISNULL(PATH_FAMILY) ||
		!gr_enet_arguments(fcinfo, &places, &net))
		return (Datum) 0;
	request.binomial = is_binomial(text_to_cstring(PG_GETARG_TEXT_PP(PATH_FAMILY)));
	request.roles = gr_role_arguments(fcinfo, PATH_WEIGHTS, PATH_FREQUENCIES, -1);
	gr_formula_argument(fcinfo, PATH_FORMULA, net.intercept, &request.roles);
	gr_enter_query(&context, request.rows.query);
	put_path(fcinfo, &request, &net);
	gr_record_solved(request.started);
	gr_leave_query(&context);
	return (Datum) 0;
}
