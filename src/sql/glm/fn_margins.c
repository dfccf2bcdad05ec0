/*
 * fn_margins.c: gpu_margins: average marginal effects. Standard errors are by the delta method, sqrt(J V J'), where J
 * is the derivative of the average by the coefficients and V their covariances.
 */
#include "postgres.h"

#include <math.h>

#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include "compute/dist/inference.h"
#include "compute/glm/margins.h"
#include "rows/columns/columns.h"
#include "rows/columns/design_values.h"
#include "rows/columns/levels.h"
#include "rows/query/query.h"
#include "run/args.h"
#include "run/clock.h"
#include "run/device.h"
#include "run/report.h"
#include "run/result.h"
#include "sql/glm/margin_pass.h"
#include "sql/glm/margin_rows.h"
#include "sql/model/combination.h"
#include "sql/model/fit_arguments.h"
#include "sql/model/model.h"

PG_FUNCTION_INFO_V1(gr_margins);

/* Arguments of gpu_margins */
enum
{
	ARG_MODEL, ARG_QUERY, ARG_CONF_LEVEL, ARG_WEIGHTS, ARG_OFFSETS
};

/* Degrees of freedom and quantile of Student's t, for tests and limits. */
typedef struct Inference
{
	double		df;
	double		quantile;
} Inference;

/*
 * Effects
 */

static void
note_columns(const GrExpression *expression, bool *used)
{
	for (int k = 0; k < expression->nsteps; k++)
		if (expression->step[k].op == GR_STEP_COLUMN)
			used[expression->step[k].column] = true;
}

/* Returns a flag for each column: true if terms or the offset use it. Only these columns have effects. */
static bool *
used_columns(const GrDesign *design)
{
	bool	   *used = palloc0((design->ncolumns + 1) * sizeof(bool));

	for (int t = 0; t < design->nterms; t++)
		for (int i = 0; i < design->terms[t].nparts; i++)
		{
			const GrDesignPart *part = &design->terms[t].part[i];

			if (part->expression != NULL)
				note_columns(part->expression, used);
			else
				used[part->column] = true;
		}
	note_columns(&design->offset, used);
	return used;
}

/* Returns the value that gives column k a level. A column that is also a number gets the level's number. */
static GrMarginValue
value_of_level(const GrDesign *design, int k, int level)
{
	const GrString *name = &design->columns[k].levels.level[level];
	GrMarginValue value = {0, level};
	char	   *text;
	char	   *end;

	if (!design->columns[k].is_number)
		return value;
	text = pnstrdup(name->bytes, name->nbytes);
	if (strcmp(text, "true") == 0)
		value.number = 1;
	else if (strcmp(text, "false") != 0)
	{
		value.number = strtod(text, &end);
		if (end == text || *end != '\0' || !isfinite(value.number))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("malformed gpu_model"),
					 errdetail("A level of a numeric factor in its design is not a number: \"%s\".",
							   gr_show_level(*name)),
					 errhint("Use a value that a gpureg function returned.")));
	}
	pfree(text);
	return value;
}

/* Lists the effects of column k in effects, unless that is NULL. Returns their number. */
static int
list_effects(const GrMarginRows *rows, int k, GrMarginEffect *effects)
{
	const GrDesignColumn *column = &rows->design->columns[k];

	if (effects == NULL)
		return column->is_factor ? column->levels.n - 1 : 1;
	if (!column->is_factor)
	{
		*effects = (GrMarginEffect) {.column = k,.is_step = rows->is_boolean[k],.to = {1, 0}};
		return 1;
	}
	for (int level = 1; level < column->levels.n; level++)
	{
		effects[level - 1] = (GrMarginEffect) {
			.column = k,.is_step = true,.from = value_of_level(rows->design, k, 0),
			.to = value_of_level(rows->design, k, level)
		};
		gr_poll_loop(level);
	}
	return column->levels.n - 1;
}

static void
make_effects(const GrMarginRows *rows, GrMargins *margins)
{
	bool	   *used = used_columns(rows->design);
	int64		n = 0;

	for (int k = 0; k < rows->design->ncolumns; k++)
		if (used[k])
			n += list_effects(rows, k, NULL);
	margins->effects = palloc_extended((n + 1) * sizeof(GrMarginEffect), MCXT_ALLOC_HUGE);
	for (int k = 0; k < rows->design->ncolumns; k++)
		if (used[k])
			margins->neffects += list_effects(rows, k, margins->effects + margins->neffects);
	pfree(used);
}

/* Returns an effect's name in the style of the model's terms: carat, or cut[Good]. */
static const char *
effect_name(const GrDesign *design, const GrMarginEffect *effect)
{
	const GrDesignColumn *column = &design->columns[effect->column];
	const GrString *level = column->is_factor ? &column->levels.level[effect->to.level] : NULL;

	if (level == NULL)
		return gr_design_column_name(design, effect->column);
	return psprintf("%.*s[%.*s]", column->name.nbytes, column->name.bytes, level->nbytes, level->bytes);
}

/*
 * Results
 */

static void
raise_range(const char *name, bool is_error)
{
	ereport(ERROR,
			(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			 errmsg("an average marginal effect is out of range for float8"),
			 is_error ? errdetail("The standard error of the effect of \"%s\" is too large.", name) :
			 errdetail("The effect of \"%s\" or the linear predictor is too large.", name),
			 errhint("Rescale the columns that the model is fitted to.")));
}

/*
 * Returns the standard error of an effect: INFINITY if it is out of range; NaN if it is not known, or has too few
 * digits (*precise then becomes false). gradient: of the effect; overwritten.
 */
static double
standard_error(const GrModel *model, const GrMarginEffect *effect, GrDD *gradient, bool *precise)
{
	GrCombination c = {
		.vcov = model->vcov,.nterms = model->nterms,.vcov_low = model->extras.vcov_low,.x = gradient
	};

	if (model->vcov == NULL || effect->separated)
		return NAN;
	for (int k = 0; k < model->nterms; k++)
	{
		/* in rows that depend on a separated term, the mean has reached its limit */
		if (isnan(model->coef[k]) || (model->separated != NULL && model->separated[k] != 0))
			gradient[k] = gr_dd(0);
		if (!isfinite(gradient[k].hi) || !isfinite(gradient[k].lo))
			return INFINITY;
		gr_poll_loop(k);
	}
	if (!gr_combination_error(&c))
		return NAN;
	*precise &= gr_combination_is_precise(&c, 0);
	return gr_combination_is_precise(&c, 0) ? c.error : NAN;
}

static bool
has_finite_coefficients(const GrModel *model)
{
	for (int k = 0; k < model->nterms; k++)
	{
		if (isinf(model->coef[k]))
			return false;
		gr_poll_loop(k);
	}
	return true;
}

/*
 * True if the effect has an estimate. An effect of aliased terms alone has none. Along a term whose coefficient
 * diverges, steps have an estimate because means have limits, but derivatives have none.
 */
static bool
is_known(const GrMarginEffect *effect)
{
	return (effect->estimable || !effect->aliased) && (effect->is_step || !effect->separated);
}

/* Returns the least degrees of freedom of the terms that an effect depends on. */
static double
least_df(const GrModel *model, const GrDD *gradient)
{
	bool	   *used = palloc_extended(model->nterms * sizeof(bool), MCXT_ALLOC_HUGE);
	double		df;

	for (int k = 0; k < model->nterms; k++)
		used[k] = gradient[k].hi != 0;
	df = gr_least_df(model->extras.df, model->df_inference, used, model->nterms);
	pfree(used);
	return df;
}

static Inference
infer(double conf_level, double df)
{
	return (Inference) {df, df > 0 ? gr_t_upper_quantile((1 - conf_level) / 2, df) : NAN};
}

/* Adds a row per effect to the result. Returns false if a standard error is NULL because it has too few digits. */
static bool
put_effects(ReturnSetInfo *rsinfo, const GrModel *model, const GrMargins *margins, Inference inference,
			double conf_level)
{
	bool		finite = has_finite_coefficients(model);
	bool		precise = true;
	GrDD	   *gradient = palloc_extended(model->nterms * sizeof(GrDD), MCXT_ALLOC_HUGE);

	for (int e = 0; e < margins->neffects; e++)
	{
		const GrMarginEffect *effect = &margins->effects[e];
		const char *name = effect_name(margins->design, effect);
		double		estimate = gr_margins_average(margins, e, margins->want_gradients ? gradient : NULL);
		bool		known = is_known(effect);
		double		error = NAN;
		Datum		values[7];
		bool		nulls[7] = {false};

		if (finite && known && !isfinite(estimate))
			raise_range(name, false);
		if (!known)
			estimate = NAN;
		if (isfinite(estimate) && model->extras.df != NULL && margins->want_gradients)
			inference = infer(conf_level, least_df(model, gradient));
		if (isfinite(estimate))
			error = standard_error(model, effect, gradient, &precise);
		if (isinf(error) && finite)
			raise_range(name, true);
		error = isinf(error) ? NAN : error;
		values[0] = CStringGetTextDatum(name);
		gr_set_float(&values[1], &nulls[1], estimate);
		gr_set_float(&values[2], &nulls[2], error);
		gr_set_float(&values[3], &nulls[3], estimate / error);
		gr_set_float(&values[4], &nulls[4], gr_t_two_sided(estimate / error, inference.df));
		gr_set_float(&values[5], &nulls[5], estimate - inference.quantile * error);
		gr_set_float(&values[6], &nulls[6], estimate + inference.quantile * error);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
		CHECK_FOR_INTERRUPTS();
	}
	return precise;
}

/* Returns conf_level. Raises an ERROR if it is out of range, or if it or query is NULL. */
static double
read_conf_level(FunctionCallInfo fcinfo)
{
	double		conf_level;

	if (PG_ARGISNULL(ARG_QUERY) || PG_ARGISNULL(ARG_CONF_LEVEL))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s must not be null", PG_ARGISNULL(ARG_QUERY) ? "query" : "conf_level")));
	conf_level = PG_GETARG_FLOAT8(ARG_CONF_LEVEL);
	if (!(conf_level > 0 && conf_level < 1))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("conf_level must be between 0 and 1, got %g", conf_level),
				 errhint("0.95 gives 95%% confidence limits.")));
	return conf_level;
}

static const bool *
separated_terms(const GrModel *model)
{
	bool	   *separated = palloc_extended(model->nterms * sizeof(bool), MCXT_ALLOC_HUGE);
	bool		any = false;

	for (int k = 0; k < model->nterms; k++)
		any |= separated[k] = model->separated != NULL && model->separated[k] != 0;
	return any ? separated : NULL;
}

/* Reads the query's rows into margins. */
static void
read_rows(GrMarginRows *rows, const GrModel *model, GrMargins *margins, Oid function)
{
	*margins = (GrMargins) {
		.design = rows->design,
		.link = model->distribution.link,
		.intercept = model->intercept,
		.nterms = model->nterms,
		.coef = model->coef,
		.separated = separated_terms(model),
		.want_gradients = model->vcov != NULL
	};
	make_effects(rows, margins);
	if (!gr_margins_begin(margins, gr_context_memory(CurrentMemoryContext)))
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory"),
				 errdetail("There are %d marginal effects of %d terms.", margins->neffects, margins->nterms)));
	if (!gr_margin_pass(rows, margins, function))
		gr_margin_rows_read(rows, margins);
}

/*
 * gpu_margins(model gpu_model, query text, conf_level float8, weights text, offsets text): one row per effect; no rows
 * if the model is NULL
 */
Datum
gr_margins(PG_FUNCTION_ARGS)
{
	double		began = gr_now();
	double		read_done;
	GrPlace		place = {0};
	Inference	inference;
	GrModel		model;
	GrPredictor predictor;
	GrRoles		roles;
	GrMarginRows rows;
	GrMargins	margins;
	ErrorContextCallback context;
	double		conf_level;
	char	   *query;

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(ARG_MODEL))
		return (Datum) 0;
	conf_level = read_conf_level(fcinfo);
	gr_open_predictor(PG_GETARG_HEAPTUPLEHEADER(ARG_MODEL), &predictor, NULL);
	gr_read_model(fcinfo, ARG_MODEL, &model, GR_MODEL_ALL);
	roles = gr_role_arguments(fcinfo, ARG_WEIGHTS, -1, ARG_OFFSETS);
	query = text_to_cstring(PG_GETARG_TEXT_PP(ARG_QUERY));

	gr_enter_query(&context, query);
	gr_margin_rows_prepare(gr_analyse_query(query), &predictor, &roles, &rows);
	read_rows(&rows, &model, &margins, fcinfo->flinfo->fn_oid);
	gr_leave_query(&context);
	read_done = gr_now();

	inference = infer(conf_level, model.df_inference);
	if (!put_effects((ReturnSetInfo *) fcinfo->resultinfo, &model, &margins, inference, conf_level))
		gr_warn_imprecise(fcinfo, NULL, "standard errors of effects");
	gr_place_on_cpu(&place, "marginal effects are computed where the query's rows are read");
	gr_record_pass(&place, &(GrPassRecord) {
		.function = "gpu_margins",.nrows = rows.nrows,.nfeatures = predictor.nfeatures,
		.nworkers = rows.nworkers,.started = began,.read_done = read_done,.solved = gr_now()
	});
	return (Datum) 0;
}
