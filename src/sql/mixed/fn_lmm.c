/*
 * fn_lmm.c: linear mixed models from one gpu_ols_stats per group: gpu_lmm_agg; and gpu_variances, which lists a model's
 * variance components.
 */
#include "postgres.h"

#include <math.h>

#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"

#include "compute/mixed/lmm_record.h"
#include "rows/state/aggregate.h"
#include "rows/state/state.h"
#include "run/args.h"
#include "run/clock.h"
#include "run/result.h"
#include "sql/mixed/mixed_states.h"
#include "sql/model/mixed_summary.h"
#include "sql/model/model.h"
#include "sql/states/stats.h"

PG_FUNCTION_INFO_V1(gr_lmm_accum);
PG_FUNCTION_INFO_V1(gr_lmm_final);
PG_FUNCTION_INFO_V1(gr_variances);

/* Arguments of the transition function, the state included; missing ones have their defaults. */
enum
{
	ARG_STATE, ARG_STATS, ARG_RANDOM, ARG_METHOD, ARG_LEVELS, ARG_INTERCEPT, ARG_FEATURES, ARG_RESPONSE
};

/* State of the aggregate */
typedef struct Mixed
{
	MemoryContext context;		/* the aggregate's */
	bool		chosen;			/* the fixed columns are set */
	GrMixedStates fit;
	int64		nskipped;		/* rows of states that have no level */
} Mixed;

static bool
has_argument(FunctionCallInfo fcinfo, int k)
{
	return PG_NARGS() > k;
}

static void
check_not_null(FunctionCallInfo fcinfo, int k, const char *name)
{
	if (has_argument(fcinfo, k) && PG_ARGISNULL(k))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s must not be null", name)));
}

/* Raises an ERROR unless levels are passed if, and only if, random terms name their groups. Levels may be null. */
static void
check_levels(FunctionCallInfo fcinfo, const GrLmmFormula *formula)
{
	bool		named = formula->terms[0].nfactors > 0;

	if (named && !has_argument(fcinfo, ARG_LEVELS))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("random terms name groups, but there are no levels"),
				 errhint("Pass levels, as in jsonb_build_object('%s', %s), or name the columns alone: '1'.",
						 formula->terms[0].factors[0].bytes, formula->terms[0].factors[0].bytes)));
	if (!named && has_argument(fcinfo, ARG_LEVELS) && !PG_ARGISNULL(ARG_LEVELS))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("there are levels, but the random terms name no groups"),
				 errhint("Write random terms as in '(1 | school)'.")));
}

/* Creates the aggregate's state with the options of the first row. */
static Mixed *
create_mixed(FunctionCallInfo fcinfo)
{
	MemoryContext context = gr_aggregate_context(fcinfo);
	MemoryContext old = MemoryContextSwitchTo(context);
	Mixed	   *mixed = palloc0(sizeof(Mixed));
	GrMixedStates *fit = &mixed->fit;

	check_not_null(fcinfo, ARG_RANDOM, "random");
	check_not_null(fcinfo, ARG_METHOD, "method");
	check_not_null(fcinfo, ARG_INTERCEPT, "intercept");
	mixed->context = context;
	fit->formula = gr_mixed_formula(has_argument(fcinfo, ARG_RANDOM) ?
									text_to_cstring(PG_GETARG_TEXT_PP(ARG_RANDOM)) : "1", false);
	check_levels(fcinfo, fit->formula);
	fit->reml = !has_argument(fcinfo, ARG_METHOD) ||
		gr_mixed_is_reml(text_to_cstring(PG_GETARG_TEXT_PP(ARG_METHOD)));
	fit->intercept = !has_argument(fcinfo, ARG_INTERCEPT) || PG_GETARG_BOOL(ARG_INTERCEPT);
	if (fit->formula->terms[0].nfactors > 0)
		fit->levels = gr_cell_levels_make(fit->formula);
	fit->states = gr_cluster_states_create(fcinfo);
	MemoryContextSwitchTo(old);
	return mixed;
}

/* Chooses the fixed columns by the first state that has rows. */
static void
choose_columns(FunctionCallInfo fcinfo, Mixed *mixed)
{
	bool		given = has_argument(fcinfo, ARG_RESPONSE);
	GrStats		stats;
	int			p;

	if (!gr_stats_arguments(fcinfo, ARG_STATS, given ? ARG_FEATURES : -1, given ? ARG_RESPONSE : -1, &stats))
		return;
	p = stats.state->nfeatures;
	mixed->fit.fixed = MemoryContextAlloc(mixed->context, (stats.nfeatures + 1) * sizeof(int));
	for (int k = 0; k < stats.nfeatures; k++)
		mixed->fit.fixed[k] = stats.features[k] == 0 ? p : stats.features[k] - 1;
	mixed->fit.nfixed = stats.nfeatures;
	mixed->fit.response = stats.response == 0 ? p : stats.response - 1;
	mixed->chosen = true;
}

/* Adds a settled state. A state whose level is not known counts among the rows that are skipped. */
static void
add_state(FunctionCallInfo fcinfo, Mixed *mixed, GrState *state)
{
	GrCellLevels *levels = mixed->fit.levels;
	int64		nlevels = levels == NULL ? 0 : levels->ncells;

	if (levels != NULL && (PG_ARGISNULL(ARG_LEVELS) || !gr_cell_levels_add(levels, PG_GETARG_JSONB_P(ARG_LEVELS))))
	{
		gr_add_count(&mixed->nskipped, state->nrows);
		gr_add_count(&mixed->nskipped, state->nskipped);
	}
	else if (!gr_cluster_states_add_whole(mixed->fit.states, state) && levels != NULL)
		levels->ncells = nlevels;
}

/*
 * gpu_lmm_accum(state internal, stats gpu_ols_stats [, random text [, method text [, levels jsonb [, intercept boolean,
 * features "any", response "any"]]]])
 */
Datum
gr_lmm_accum(PG_FUNCTION_ARGS)
{
	Mixed	   *mixed = PG_ARGISNULL(ARG_STATE) ? NULL : (Mixed *) PG_GETARG_POINTER(ARG_STATE);
	GrState    *state;

	(void) gr_aggregate_context(fcinfo);
	if (PG_ARGISNULL(ARG_STATS))
	{
		if (mixed == NULL)
			PG_RETURN_NULL();
		PG_RETURN_POINTER(mixed);
	}
	if (mixed == NULL)
		mixed = create_mixed(fcinfo);
	state = gr_state_settled(PG_GETARG_DATUM(ARG_STATS), GR_STATS, NULL);
	if (!mixed->chosen)
		choose_columns(fcinfo, mixed);
	add_state(fcinfo, mixed, state);
	if ((Pointer) state != DatumGetPointer(PG_GETARG_DATUM(ARG_STATS)))
		pfree(state);
	PG_RETURN_POINTER(mixed);
}

/* gpu_lmm_final(state internal): NULL if there is no complete row, or if the states determine no model */
Datum
gr_lmm_final(PG_FUNCTION_ARGS)
{
	double		began = gr_now();
	Mixed	   *mixed = PG_ARGISNULL(0) ? NULL : (Mixed *) PG_GETARG_POINTER(0);
	GrModel		model = {0};
	const char *problem;
	const char *hint;

	(void) gr_aggregate_context(fcinfo);
	if (mixed == NULL || mixed->fit.states->n == 0)
		PG_RETURN_NULL();
	problem = gr_mixed_states_fit(&mixed->fit, NULL, &model, &hint);
	gr_record_group(fcinfo, "gpu_lmm_agg", mixed->fit.states->total->nrows, mixed->fit.states->nfeatures, began);
	if (problem != NULL)
	{
		/* a WARNING, because an ERROR would end the query for its other groups */
		ereport(WARNING, (errmsg("a mixed model cannot be fitted"), errdetail("%s", problem), errhint("%s", hint)));
		PG_RETURN_NULL();
	}
	gr_add_count(&model.nskipped, mixed->nskipped);
	model.device = "cpu";
	return gr_model_datum(fcinfo, &model);
}

/*
 * gpu_variances
 */

/* Adds a row: a variance, or a covariance with its correlation. */
static void
put_component(ReturnSetInfo *rsinfo, const GrLmmRecordTerm *term, int i, int j)
{
	const double *covariance = term->covariance;
	double		a = covariance[gr_packed(i, i)];
	double		b = covariance[gr_packed(j, j)];
	double		value = covariance[gr_packed(i, j)];
	Datum		values[7];
	bool		nulls[7] = {false};

	values[0] = PointerGetDatum(cstring_to_text_with_len(term->group.bytes, term->group.nbytes));
	values[1] = PointerGetDatum(cstring_to_text_with_len(term->columns[j].bytes, term->columns[j].nbytes));
	nulls[2] = i == j;
	if (i != j)
		values[2] = PointerGetDatum(cstring_to_text_with_len(term->columns[i].bytes, term->columns[i].nbytes));
	gr_set_float(&values[3], &nulls[3], value);
	gr_set_float(&values[4], &nulls[4], i == j ? sqrt(value) : NAN);
	gr_set_float(&values[5], &nulls[5], i == j || !(a * b > 0) ? NAN : value / sqrt(a * b));
	values[6] = Int64GetDatum(term->ngroups);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/* gpu_variances(model gpu_model): one row per variance and covariance, the residual variance last */
Datum
gr_variances(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Datum		values[7];
	bool		nulls[7] = {false, true, true, false, false, true, true};
	GrModel		model;
	GrLmmRecord record;

	gr_read_model(fcinfo, 0, &model, GR_MODEL_SUMS);
	gr_read_mixed(&model, &record);
	InitMaterializedSRF(fcinfo, 0);
	for (int k = 0; k < record.nterms; k++)
	{
		const GrLmmRecordTerm *term = &record.terms[k];

		for (int i = 0; i < term->ncolumns; i++)
			put_component(rsinfo, term, i, i);
		for (int i = 1; i < term->ncolumns; i++)
			for (int j = 0; j < i; j++)
				put_component(rsinfo, term, i, j);
	}
	values[0] = CStringGetTextDatum("residual");
	gr_set_float(&values[3], &nulls[3], record.variance);
	gr_set_float(&values[4], &nulls[4], sqrt(record.variance));
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	return (Datum) 0;
}
