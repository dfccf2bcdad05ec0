/*
 * fn_augment.c: gpu_augment, a query's rows with fitted values, residuals and measures of influence; and
 * gpu_overdispersion, which sums up the squares of Pearson's residuals.
 *
 * All that a row's measures need besides the row is in the model: the coefficients, (X'WX)^-1, deviance and dispersion.
 * So the query is read once, and rows go to the result as they come.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"

#include "compute/dist/inference.h"
#include "compute/glm/influence.h"
#include "rows/columns/columns.h"
#include "rows/columns/design_values.h"
#include "rows/query/query.h"
#include "rows/query/wrapper.h"
#include "run/args.h"
#include "run/clock.h"
#include "run/device.h"
#include "run/raise.h"
#include "run/report.h"
#include "run/result.h"
#include "sql/glm/margin_rows.h"
#include "sql/model/combination.h"
#include "sql/model/fit_arguments.h"
#include "sql/model/predict.h"

PG_FUNCTION_INFO_V1(gr_augment);
PG_FUNCTION_INFO_V1(gr_overdispersion);

/* Arguments; in the form with ids of any type, id comes before the response */
enum
{
	ARG_MODEL, ARG_QUERY, ARG_KEY, ARG_RESPONSE, ARG_WEIGHTS, ARG_OFFSETS
};

/* Arguments of gpu_overdispersion, after the model and the query */
enum
{
	ARG_SUM_RESPONSE = 2, ARG_SUM_WEIGHTS, ARG_SUM_OFFSETS
};

/* Columns of the result: id, then these */
#define NMEASURES 10

typedef struct Augment
{
	GrReceiver	base;
	ReturnSetInfo *rsinfo;
	FunctionCallInfo fcinfo;
	MemoryContext row_context;	/* reset after each row */
	const GrQuery *query;
	GrMarginRows rows;
	GrPredictor predictor;
	GrPredictorError errors;
	GrReadyVcov *ready;			/* prepared covariances; NULL: there are none, or they cannot be prepared */
	GrInfluenceModel model;
	GrRowRules	rules;
	int			key;			/* number of the query's column of ids; -1: rows are numbered */
	int			response;		/* number of the response's column */
	GrColumn	response_column;
	int			nresponse;		/* columns that the formula makes the response of; 0: the response is a column */
	int		   *response_at;	/* numbers of these columns */
	GrColumn   *response_columns;
	double	   *response_values;
	int64		nrows;			/* rows of the query so far */
	bool		sums;			/* gpu_overdispersion: rows are summed up, and not put into the result */
	GrDD		pearson;		/* sum of squares of Pearson's residuals */
	double	   *values;
	double	   *features;		/* features, then their low halves */
	double	   *checked;
	bool		warned;
} Augment;

/*
 * Columns
 */

/* Returns the name that a text argument gives, or NULL. */
static const char *
name_argument(FunctionCallInfo fcinfo, int argument)
{
	return PG_ARGISNULL(argument) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(argument));
}

/* Returns the query with its column `key` cast to type, if it has another one. */
static GrQuery *
query_with_key(GrQuery *query, int key, Oid type)
{
	GrWrapper	wrapper;

	if (TupleDescAttr(query->columns, key)->atttypid == type)
		return query;
	gr_wrap_query(&wrapper, query);
	for (int k = 0; k < query->columns->natts; k++)
	{
		Expr	   *column = gr_wrapped_column(&wrapper, k);

		gr_wrapper_select(&wrapper, k == key ? gr_wrapper_cast(&wrapper, column, type) : column);
	}
	return gr_wrapper_query(&wrapper, query->names);
}

/* True if the column is the model's, a role's or the key. */
static bool
is_taken(const Augment *a, int column)
{
	for (int s = 0; s < a->rows.nsources; s++)
		if (a->rows.sources[s].at == column)
			return true;
	return column == a->key;
}

/* Raises an ERROR unless the query's column is a number, which the response needs. Describes it. */
static void
describe_response(const GrQuery *query, int at, GrColumn *column)
{
	Oid			type = TupleDescAttr(query->columns, at)->atttypid;

	if (!gr_describe_value(column, type) || OidIsValid(column->element))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("column \"%s\" of the query has unsupported type %s", query->names[at], format_type_be(type)),
				 errdetail("The response must be a number or a boolean."),
				 errhint("Name the response's column, as in response => 'y'.")));
	column->name = query->names[at];
}

/* Finds the columns that the formula makes the response of. */
static void
find_response_columns(Augment *a)
{
	const GrDesign *design = a->rows.design;
	const GrQuery *query = a->query;

	a->nresponse = design->nresponse_columns;
	a->response_at = palloc(a->nresponse * sizeof(int));
	a->response_columns = palloc0(a->nresponse * sizeof(GrColumn));
	a->response_values = palloc(a->nresponse * sizeof(double));
	for (int k = 0; k < a->nresponse; k++)
	{
		GrString	name = design->response_columns[k];

		a->response_at[k] = gr_find_column(query->columns->natts, query->names, NULL,
										   pnstrdup(name.bytes, name.nbytes));
		describe_response(query, a->response_at[k], &a->response_columns[k]);
	}
	a->rows.names[a->rows.shape.nfeatures] = pnstrdup(design->response.name.bytes, design->response.name.nbytes);
}

/* Finds the response: the column that the argument names, else the first one that is used for nothing else. */
static void
find_response(Augment *a, const char *name)
{
	const GrQuery *query = a->query;

	if (name == NULL && a->rows.design->nresponse_columns > 0)
	{
		find_response_columns(a);
		return;
	}
	a->response = 0;
	if (name != NULL)
		a->response = gr_find_column(query->columns->natts, query->names, "response", name);
	else
		while (a->response < query->columns->natts && is_taken(a, a->response))
			a->response++;
	if (a->response == query->columns->natts)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("query has no column for the response"),
				 errdetail("All of its columns are the model's features, weights, offsets or the key."),
				 errhint("Add the response to the query as its first column, or name it, as in response => 'y'.")));
	describe_response(query, a->response, &a->response_column);
	a->rows.names[a->rows.shape.nfeatures] = query->names[a->response];
}

/* Finds the query's columns. response: number of the argument that names it; roles: as the arguments name them */
static void
find_roles(Augment *a, GrQuery *query, const GrModel *model, GrRoles roles, int response)
{
	/* gpu_overdispersion sums up as many equal rows as the frequency says */
	if (roles.weights == NULL)
		roles.weights = a->sums && model->extras.frequencies != NULL ? model->extras.frequencies :
			model->extras.weights;
	a->query = query;
	gr_margin_rows_prepare(query, &a->predictor, &roles, &a->rows);
	find_response(a, name_argument(a->fcinfo, response));
}

/* Analyses the query and finds its columns. id_type: type of the result's ids */
static void
find_columns(Augment *a, const char *text, const GrModel *model, Oid id_type)
{
	FunctionCallInfo fcinfo = a->fcinfo;
	int			shift = PG_NARGS() > ARG_OFFSETS + 1 ? 1 : 0;
	GrQuery    *query = gr_analyse_query(text);
	const char *key = name_argument(fcinfo, ARG_KEY);

	a->key = key == NULL ? -1 : gr_find_column(query->columns->natts, query->names, "key", key);
	if (key == NULL && id_type != INT8OID)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("ids of type %s need a key", format_type_be(id_type)),
				 errhint("Name the query's column of ids, as in key => 'id'.")));
	if (a->key >= 0)
		query = query_with_key(query, a->key, id_type);
	find_roles(a, query, model, gr_role_arguments(fcinfo, ARG_WEIGHTS + shift, -1, ARG_OFFSETS + shift),
			   ARG_RESPONSE + shift);
}

/*
 * Rows
 */

/* Returns x' (X'WX)^-1 x, or NaN if the model does not tell it or leaves it fewer than six digits. */
static double
quadratic(Augment *a, const GrFeatures *features)
{
	const GrPredictor *model = &a->predictor;
	GrCombination c = {
		.vcov = a->errors.vcov,.nterms = model->nfeatures + (model->intercept ? 1 : 0),.vcov_low = model->vcov_low
	};

	if (a->errors.vcov == NULL)
		return NAN;
	if (a->ready == NULL || (features->design != NULL && features->design->npaired > 0) ||
		!gr_ready_error(a->ready, model->intercept, features->values, &c))
	{
		const double *at = model->coef;

		c.x = palloc_extended(c.nterms * sizeof(GrDD), MCXT_ALLOC_HUGE);
		c.x[0] = gr_dd(1);
		gr_predict_pairs(model, features, c.x + (model->intercept ? 1 : 0));
		for (int k = 0; k < c.nterms; k++)
			if (isnan(gr_next_coef(model, k, &at)))
				c.x[k] = gr_dd(0);
		if (!gr_combination_error(&c))
			return NAN;
	}
	if (!gr_combination_is_precise(&c, 0))
	{
		gr_warn_imprecise(a->fcinfo, &a->warned, "measures of influence");
		return NAN;
	}
	return c.error * c.error / a->errors.dispersion;
}

/* Sets the features of the row whose values were taken last, without the offset. */
static void
set_features(Augment *a, GrFeatures *features)
{
	GrDesign   *design = a->rows.design;

	features->values = a->values;
	features->low = NULL;
	features->design = NULL;
	/* in a model without a design, each feature is a column */
	if (a->predictor.design.nbytes == 0)
		return;
	features->values = a->features;
	features->low = a->features + design->nfeatures;
	features->design = design;
	gr_design_expand_pairs(design, a->values, a->features, a->features + design->nfeatures);
}

/* Sets *y to the response. Returns false if it is NULL. */
static bool
take_response(Augment *a, const TupleTableSlot *slot, double *y)
{
	const GrExpression *expression = &a->rows.design->response;

	if (a->nresponse == 0)
	{
		if (slot->tts_isnull[a->response])
			return false;
		return gr_convert_value(&a->response_column, slot->tts_values[a->response], y);
	}
	for (int k = 0; k < a->nresponse; k++)
	{
		int			at = a->response_at[k];

		if (slot->tts_isnull[at] ||
			!gr_convert_value(&a->response_columns[k], slot->tts_values[at], &a->response_values[k]))
			return false;
	}
	*y = gr_expression_number(expression->step, expression->nsteps, a->response_values);
	return true;
}

/* Sets the measures of a row. Returns false if a value that they need is NULL. */
static bool
measure_row(Augment *a, const TupleTableSlot *slot, double *measures)
{
	GrRowShape	shape = a->rows.shape;
	GrFeatures	features;
	GrInfluenceRow row;
	GrInfluence r;
	bool		finite;

	if (!take_response(a, slot, &row.y) || !gr_margin_rows_take(&a->rows, slot, a->values, a->checked))
		return false;
	a->checked[gr_response_at(shape)] = row.y;
	gr_check_rows(a->checked, 1, shape, a->rules, a->rows.names);
	set_features(a, &features);
	features.offset = gr_row_offset(a->checked, shape);
	if (a->rows.design->offset.nsteps > 0)
		features.offset += gr_expression_number(a->rows.design->offset.step, a->rows.design->offset.nsteps, a->values);
	row.weight = gr_row_weight(a->checked, shape);
	row.eta = gr_predict_eta(&a->predictor, &features, &finite);
	if (!gr_has_offsets(&a->predictor))
		row.eta += features.offset;
	row.quadratic = quadratic(a, &features);
	r = gr_influence(&a->model, &row);
	memcpy(measures, (double[NMEASURES]) {
		r.fitted, r.residual, r.pearson, r.deviance, r.working, r.std_residual, r.student, r.hat,
		r.cooks_distance, r.dffits
	}, NMEASURES * sizeof(double));
	return true;
}

/* Adds the square of Pearson's residual of a row with a weight. */
static void
add_square(Augment *a, double pearson)
{
	if (!isnan(pearson))
		a->pearson = gr_dd_add(a->pearson, gr_two_prod(pearson, pearson));
}

static bool
receive_row(TupleTableSlot *slot, DestReceiver *self)
{
	Augment    *a = (Augment *) self;
	MemoryContext old = MemoryContextSwitchTo(a->row_context);
	double		measures[NMEASURES];
	Datum		values[1 + NMEASURES];
	bool		nulls[1 + NMEASURES];

	slot_getallattrs(slot);
	a->nrows++;
	if (a->sums)
	{
		if (measure_row(a, slot, measures))
			add_square(a, measures[2]);
		MemoryContextSwitchTo(old);
		MemoryContextReset(a->row_context);
		return true;
	}
	values[0] = a->key < 0 ? Int64GetDatum(a->nrows) : slot->tts_values[a->key];
	nulls[0] = a->key >= 0 && slot->tts_isnull[a->key];
	if (measure_row(a, slot, measures))
		for (int k = 0; k < NMEASURES; k++)
			gr_set_float(&values[k + 1], &nulls[k + 1], measures[k]);
	else
		memset(nulls + 1, true, NMEASURES);
	tuplestore_putvalues(a->rsinfo->setResult, a->rsinfo->setDesc, values, nulls);
	MemoryContextSwitchTo(old);
	MemoryContextReset(a->row_context);
	return true;
}

/* Reads the query's rows into the result. */
static void
read_rows(Augment *a)
{
	const GrDesign *design = a->rows.design;

	a->base.pub.receiveSlot = receive_row;
	a->row_context = AllocSetContextCreate(CurrentMemoryContext, "gpureg row", ALLOCSET_DEFAULT_SIZES);
	a->values = palloc0((GR_DESIGN_NVALUES(design) + 1) * sizeof(double));
	a->features = palloc_extended((design->nfeatures + design->npaired + 1) * sizeof(double), MCXT_ALLOC_HUGE);
	a->checked = palloc0(gr_row_ncols(a->rows.shape) * sizeof(double));
	gr_run_plan(a->rows.plan, NULL, &a->base, 0);
	MemoryContextDelete(a->row_context);
}

/*
 * The model
 */

/* Takes what measures need from the model. Raises an ERROR if it was fitted by two-stage least squares. */
static void
take_model(Augment *a, const GrModel *model)
{
	int			nterms = model->nterms;
	bool	   *used = palloc_extended(nterms * sizeof(bool), MCXT_ALLOC_HUGE);

	if (model->iv)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("measures of influence are not available for this model"),
				 errdetail("The model was fitted by two-stage least squares.")));
	gr_errors_of_leverages(&a->predictor, &a->errors);
	a->model = (GrInfluenceModel) {
		.distribution = model->distribution,.quasi = model->quasi,.dispersion = gr_model_dispersion(model),
		.deviance = model->deviance,.rank = model->rank,.df_residual = (double) model->df_residual
	};
	a->rules = (GrRowRules) {
		.family = model->distribution.family,.weighting = GR_PRIOR_WEIGHTS,.theta = model->distribution.theta
	};
	/* a penalty, and covariances that are not those of (X'WX)^-1, leave leverages undefined */
	if (model->l2 > 0 || a->errors.robust || !(a->errors.dispersion > 0 && isfinite(a->errors.dispersion)))
		a->errors.vcov = NULL;
	for (int k = 0; k < nterms; k++)
		used[k] = !isnan(model->coef[k]);
	if (a->errors.vcov != NULL)
		a->ready = gr_ready_vcov(&(GrCombination) {
			.vcov = a->errors.vcov,.nterms = nterms,.vcov_low = a->predictor.vcov_low
		}, used);
}

/*
 * gpu_augment(model gpu_model, query text, key text, [id anyelement,] response text, weights text, offsets text): one
 * row per row of the query; no rows if the model is NULL
 */
Datum
gr_augment(PG_FUNCTION_ARGS)
{
	double		began = gr_now();
	Augment		a = {.fcinfo = fcinfo};
	GrPlace		place = {0};
	GrModel		model;
	ErrorContextCallback context;
	char	   *query;

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(ARG_MODEL))
		return (Datum) 0;
	if (PG_ARGISNULL(ARG_QUERY))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("query must not be null")));
	a.rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	gr_open_predictor(PG_GETARG_HEAPTUPLEHEADER(ARG_MODEL), &a.predictor, &a.errors);
	gr_read_model(fcinfo, ARG_MODEL, &model, GR_MODEL_ALL);
	take_model(&a, &model);
	query = text_to_cstring(PG_GETARG_TEXT_PP(ARG_QUERY));
	gr_enter_query(&context, query);
	find_columns(&a, query, &model, TupleDescAttr(a.rsinfo->setDesc, 0)->atttypid);
	read_rows(&a);
	gr_leave_query(&context);
	gr_place_on_cpu(&place, "measures of rows are computed where the query's rows are read");
	gr_record_pass(&place, &(GrPassRecord) {
		.function = "gpu_augment",.nrows = a.nrows,.nfeatures = a.predictor.nfeatures,.started = began,
		.read_done = gr_now(),.solved = gr_now()
	});
	return (Datum) 0;
}

/*
 * gpu_overdispersion(model gpu_model, query text, response text, weights text, offsets text): one row, or none if the
 * model is NULL
 */
Datum
gr_overdispersion(PG_FUNCTION_ARGS)
{
	double		began = gr_now();
	Augment		a = {.fcinfo = fcinfo,.key = -1,.sums = true};
	GrPlace		place = {0};
	GrModel		model;
	ErrorContextCallback context;
	char	   *query;
	double		statistic;
	double		df;
	Datum		values[4];
	bool		nulls[4] = {false};

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(ARG_MODEL))
		return (Datum) 0;
	if (PG_ARGISNULL(ARG_QUERY))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("query must not be null")));
	a.rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	gr_open_predictor(PG_GETARG_HEAPTUPLEHEADER(ARG_MODEL), &a.predictor, &a.errors);
	gr_read_model(fcinfo, ARG_MODEL, &model, GR_MODEL_ALL);
	if (gr_family_has_dispersion(model.distribution.family, model.quasi))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the family has a dispersion of its own"),
				 errhint("Its estimate is (m).dispersion.")));
	take_model(&a, &model);
	a.errors.vcov = NULL;
	query = text_to_cstring(PG_GETARG_TEXT_PP(ARG_QUERY));
	gr_enter_query(&context, query);
	find_roles(&a, gr_analyse_query(query), &model,
			   gr_role_arguments(fcinfo, ARG_SUM_WEIGHTS, -1, ARG_SUM_OFFSETS), ARG_SUM_RESPONSE);
	read_rows(&a);
	gr_leave_query(&context);
	statistic = gr_dd_to_double(a.pearson);
	df = model.df_residual > 0 ? (double) model.df_residual : NAN;
	gr_set_float(&values[0], &nulls[0], statistic);
	values[1] = Int64GetDatum(model.df_residual);
	gr_set_float(&values[2], &nulls[2], statistic / df);
	gr_set_float(&values[3], &nulls[3], gr_chisq_probability(statistic, df, false));
	tuplestore_putvalues(a.rsinfo->setResult, a.rsinfo->setDesc, values, nulls);
	gr_place_on_cpu(&place, "measures of rows are computed where the query's rows are read");
	gr_record_pass(&place, &(GrPassRecord) {
		.function = "gpu_overdispersion",.nrows = a.nrows,.nfeatures = a.predictor.nfeatures,.started = began,
		.read_done = gr_now(),.solved = gr_now()
	});
	return (Datum) 0;
}
