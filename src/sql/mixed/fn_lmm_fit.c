/*
 * fn_lmm_fit.c: gpu_lmm_fit, a linear mixed model of a query's rows, and gpu_ranef, the predicted effects of groups.
 * PostgreSQL groups the rows by the grouping factors' columns and makes a state per group, as gpu_lmm_agg gets them.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/tuptable.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"

#include "rows/columns/columns.h"
#include "rows/query/query.h"
#include "rows/query/wrapper.h"
#include "rows/state/state.h"
#include "rows/sums/ingest.h"
#include "run/args.h"
#include "run/clock.h"
#include "run/report.h"
#include "run/result.h"
#include "sql/mixed/mixed_states.h"
#include "sql/model/fit_arguments.h"
#include "sql/model/model.h"

PG_FUNCTION_INFO_V1(gr_lmm_fit);
PG_FUNCTION_INFO_V1(gr_ranef);

/* Arguments */
enum
{
	ARG_QUERY, ARG_FORMULA, ARG_METHOD, ARG_WEIGHTS, ARG_FREQUENCIES
};

typedef struct CellReceiver
{
	GrReceiver	base;
	MemoryContext row_context;	/* reset after each cell */
	GrMixedStates *mixed;
	int			ncolumns;		/* number of them */
	FmgrInfo	output[GR_CLUSTER_COLUMNS_MAX]; /* output functions of their types */
	int			places[GR_LMM_TERMS_MAX * GR_LMM_FACTORS_MAX];	/* grouping column of each factor of each term */
	int64		nskipped;		/* rows of cells without a level */
	int			nworkers;
} CellReceiver;

/* Adds the grouping columns of all random terms to the roles, each once. */
static void
add_grouping(const GrLmmFormula *formula, GrRoles *roles)
{
	roles->cluster_role = "formula";
	for (int k = 0; k < formula->nterms; k++)
		for (int j = 0; j < formula->terms[k].nfactors; j++)
		{
			const char *name = formula->terms[k].factors[j].bytes;
			int			at = 0;

			while (at < roles->nclusters && strcmp(roles->clusters[at], name) != 0)
				at++;
			if (at == GR_CLUSTER_COLUMNS_MAX)
				ereport(ERROR,
						(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
						 errmsg("random terms can group by at most %d columns", GR_CLUSTER_COLUMNS_MAX)));
			if (at == roles->nclusters)
				roles->clusters[roles->nclusters++] = name;
		}
}

/* Sets which grouping column each factor of the random terms is. */
static void
find_places(const GrLmmFormula *formula, const GrRoles *roles, int *places)
{
	for (int k = 0; k < formula->nterms; k++)
		for (int j = 0; j < formula->terms[k].nfactors; j++, places++)
			for (*places = 0; strcmp(roles->clusters[*places], formula->terms[k].factors[j].bytes) != 0;)
				(*places)++;
}

/* Opens the output functions of the grouping columns. */
static void
open_outputs(CellReceiver *receiver, const GrPlan *plan)
{
	for (int k = 0; k < receiver->ncolumns; k++)
	{
		Oid			function;
		bool		is_varlena;

		getTypeOutputInfo(TupleDescAttr(plan->columns, k + 1)->atttypid, &function, &is_varlena);
		fmgr_info(function, &receiver->output[k]);
	}
}

/* Adds the levels of a cell. Returns false if one is NULL. */
static bool
add_levels(CellReceiver *receiver, TupleTableSlot *slot)
{
	GrString	texts[GR_CLUSTER_COLUMNS_MAX];
	GrString	values[GR_LMM_TERMS_MAX * GR_LMM_FACTORS_MAX];
	int			n = 0;

	for (int k = 0; k < receiver->ncolumns; k++)
	{
		bool		isnull;
		Datum		value = slot_getattr(slot, k + 2, &isnull);

		texts[k].bytes = isnull ? NULL : OutputFunctionCall(&receiver->output[k], value);
		texts[k].nbytes = isnull ? 0 : (int) strlen(texts[k].bytes);
	}
	for (int k = 0; k < receiver->mixed->formula->nterms; k++)
		for (int j = 0; j < receiver->mixed->formula->terms[k].nfactors; j++, n++)
			values[n] = texts[receiver->places[n]];
	return gr_cell_levels_add_texts(receiver->mixed->levels, values);
}

/* Adds a cell: its state, and the values of the grouping columns. */
static bool
receive_cell(TupleTableSlot *slot, DestReceiver *self)
{
	CellReceiver *receiver = (CellReceiver *) self;
	MemoryContext old = MemoryContextSwitchTo(receiver->row_context);
	GrCellLevels *levels = receiver->mixed->levels;
	int64		nlevels = levels->ncells;
	bool		isnull;
	Datum		value = slot_getattr(slot, 1, &isnull);
	GrState    *state;

	CHECK_FOR_INTERRUPTS();
	if (!isnull)
	{
		state = gr_state_settled(value, GR_STATS, NULL);
		receiver->nworkers = Max(receiver->nworkers, state->nworkers);
		if (!add_levels(receiver, slot))
		{
			gr_add_count(&receiver->nskipped, state->nrows);
			gr_add_count(&receiver->nskipped, state->nskipped);
		}
		else if (!gr_cluster_states_add_whole(receiver->mixed->states, state))
			levels->ncells = nlevels;
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(receiver->row_context);
	return true;
}

/* Raises an ERROR unless the query's rows can be grouped. */
static void
check_groupable(GrIngest *ingest)
{
	(void) gr_ingest_plan(ingest);
	if (ingest->remote)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a mixed model cannot be fitted to a query that reads a custom scan"),
				 errhint("Aggregate one state per group with gpu_ols_stats_agg and GROUP BY, and pass the states to "
						 "gpu_lmm_agg.")));
	if (!gr_ingest_tells_widths(ingest) || !gr_fits_aggregate(ingest, 3))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a mixed model cannot be fitted to several array columns of unknown length"),
				 errhint("Concatenate the array columns of the query with ||.")));
	for (int k = 0; k < ingest->nclusters; k++)
		gr_check_groupable(gr_cluster_type(ingest, k), gr_cluster_name(ingest, k));
}

/* Runs the query grouped by the grouping columns, and stores a state per group. */
static void
read_cells(GrIngest *ingest, CellReceiver *receiver)
{
	Oid			types[3] = {gr_own_type(ingest->function, "gpu_ols_stats"), TEXTARRAYOID, INT4ARRAYOID};
	NullableDatum values[3] = {
		{.value = PointerGetDatum(gr_state_request_sums(ingest->shape, ingest->rules))},
		{.value = gr_names_datum(ingest->columns)}, gr_widths_datum(ingest->arguments)
	};
	const GrPlan *plan;

	check_groupable(ingest);
	plan = gr_plan_folds(ingest, GR_FOLDS_ARE_CELLS, "gpu_ols_pass", 3, types, types[0]);
	open_outputs(receiver, plan);
	gr_run_plan(plan, gr_make_params(3, values, types), &receiver->base, 0);
	ingest->nskipped = receiver->nskipped;
	if (receiver->mixed->states->total != NULL)
		gr_add_count(&ingest->nskipped, receiver->mixed->states->total->nskipped);
	if (receiver->mixed->states->n == 0)
		gr_raise_no_rows(ingest->nskipped);
	gr_name_summed(ingest, receiver->mixed->states->nfeatures);
}

/* Fixed terms are all features of the design. */
static void
choose_features(const GrIngest *ingest, GrMixedStates *mixed)
{
	mixed->intercept = ingest->intercept;
	mixed->nfixed = mixed->response = ingest->nfeatures;
	mixed->fixed = palloc((ingest->nfeatures + 1) * sizeof(int));
	for (int k = 0; k < ingest->nfeatures; k++)
		mixed->fixed[k] = k;
}

/* Records the run for gpu_last_run(). */
static void
record(const char *name, const GrIngest *ingest, const CellReceiver *receiver, double started, double read_done)
{
	GrPlace		place = {0};

	gr_place_on_cpu(&place, "the rows were grouped by the random terms' factors");
	gr_record_pass(&place, &(GrPassRecord) {
		.function = name,.nrows = receiver->mixed->states->total->nrows,.nfeatures = ingest->nfeatures,
		.nworkers = receiver->nworkers,.started = started,.read_done = read_done,.solved = gr_now()
	});
}

/* Fits the model that the arguments of gpu_lmm_fit ask for. name: the function; returns false if one is NULL */
static bool
fit_query(FunctionCallInfo fcinfo, const char *name, GrMixedStates *mixed, GrModel *model)
{
	double		started = gr_now();
	double		read_done;
	GrIngest	ingest;
	GrRoles		roles;
	CellReceiver receiver = {.base.pub.receiveSlot = receive_cell,.mixed = mixed};
	ErrorContextCallback context;
	const char *query;
	const char *problem;
	const char *hint;

	if (PG_ARGISNULL(ARG_QUERY) || PG_ARGISNULL(ARG_FORMULA) || PG_ARGISNULL(ARG_METHOD))
		return false;
	query = text_to_cstring(PG_GETARG_TEXT_PP(ARG_QUERY));
	mixed->reml = gr_mixed_is_reml(text_to_cstring(PG_GETARG_TEXT_PP(ARG_METHOD)));
	mixed->formula = gr_mixed_formula(text_to_cstring(PG_GETARG_TEXT_PP(ARG_FORMULA)), true);
	mixed->levels = gr_cell_levels_make(mixed->formula);
	mixed->states = gr_cluster_states_make(CurrentMemoryContext);
	mixed->states->spills = true;
	roles = gr_role_arguments(fcinfo, ARG_WEIGHTS, ARG_FREQUENCIES, -1);
	roles.formula = mixed->formula->fixed.bytes;
	add_grouping(mixed->formula, &roles);
	find_places(mixed->formula, &roles, receiver.places);
	receiver.ncolumns = roles.nclusters;
	receiver.row_context = AllocSetContextCreate(CurrentMemoryContext, "gpureg cell", ALLOCSET_DEFAULT_SIZES);
	gr_enter_query(&context, query);
	gr_ingest_prepare(query, fcinfo->flinfo->fn_oid, GR_GAUSSIAN, &roles, false, &ingest);
	read_cells(&ingest, &receiver);
	read_done = gr_now();
	gr_leave_query(&context);
	choose_features(&ingest, mixed);
	problem = gr_mixed_states_fit(mixed, ingest.names, model, &hint);
	if (problem != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a mixed model cannot be fitted"), errdetail("%s", problem), errhint("%s", hint)));
	gr_cluster_states_close(mixed->states);
	record(name, &ingest, &receiver, started, read_done);
	model->nskipped = ingest.nskipped;
	model->design = ingest.design;
	model->device = "cpu";
	gr_extras_take_roles(&model->extras, &roles);
	return true;
}

/*
 * gpu_lmm_fit(query text, formula text, method text, weights text, frequencies text): NULL if query, formula or method
 * is NULL
 */
Datum
gr_lmm_fit(PG_FUNCTION_ARGS)
{
	GrMixedStates mixed = {0};
	GrModel		model = {0};

	if (!fit_query(fcinfo, "gpu_lmm_fit", &mixed, &model))
		PG_RETURN_NULL();
	return gr_model_datum(fcinfo, &model);
}

/*
 * gpu_ranef
 */

/* Where the effects of levels go */
typedef struct EffectRows
{
	ReturnSetInfo *rsinfo;
	const GrMixedStates *mixed;
} EffectRows;

/* Adds a row per column of the random term. */
static void
put_effects(void *arg, int number, int level, const double *effects, const double *errors)
{
	const EffectRows *rows = arg;
	const GrLmmFormulaTerm *term = &rows->mixed->formula->terms[number];
	int			first = term->intercept ? 1 : 0;
	Datum		values[5];
	bool		nulls[5] = {false};

	values[0] = CStringGetTextDatum(gr_mixed_group_name(term));
	values[1] = CStringGetTextDatum(gr_cell_level_text(rows->mixed->levels, number, level));
	for (int k = 0; k < term->ncolumns + first; k++)
	{
		values[2] = CStringGetTextDatum(k < first ? GR_INTERCEPT : term->columns[k - first].bytes);
		gr_set_float(&values[3], &nulls[3], effects[k]);
		gr_set_float(&values[4], &nulls[4], errors[k]);
		tuplestore_putvalues(rows->rsinfo->setResult, rows->rsinfo->setDesc, values, nulls);
	}
}

/* gpu_ranef(query text, formula text, method text, weights text, frequencies text): one row per level and column */
Datum
gr_ranef(PG_FUNCTION_ARGS)
{
	GrMixedStates mixed = {0};
	EffectRows	rows = {(ReturnSetInfo *) fcinfo->resultinfo, &mixed};
	GrModel		model = {0};

	InitMaterializedSRF(fcinfo, 0);
	mixed.take_effects = put_effects;
	mixed.effects_arg = &rows;
	(void) fit_query(fcinfo, "gpu_ranef", &mixed, &model);
	return (Datum) 0;
}
