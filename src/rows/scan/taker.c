/*
 * taker.c: takes the rows of a scan in place of an aggregate's transition function.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/parallel.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parse_agg.h"
#include "port/pg_bitutils.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "compute/base/compute.h"
#include "rows/columns/numeric.h"
#include "rows/query/wrapper.h"
#include "rows/ring/ring_producer.h"
#include "rows/scan/taker.h"
#include "rows/state/request_pass.h"
#include "rows/state/state.h"
#include "rows/state/state_rows.h"
#include "run/args.h"
#include "run/raise.h"

/* Size of a block, which stays in the cache; it has at least BLOCK_ROWS_MIN and at most GR_TAKER_ROWS_MAX rows */
#define BLOCK_NBYTES 20480
#define BLOCK_ROWS_MIN 32

/* Form in which an aggregate receives its rows, and where they go */
typedef enum RowsForm
{
	ARRAYS,						/* a response and an array of features, maybe after a weight, for a state */
	COLUMNS,					/* a query's columns, for a state */
	REQUEST,					/* a query's columns, for the sums of a request */
	RING						/* a query's columns, for a ring */
} RowsForm;

struct GrTakerKind
{
	const char *symbol;			/* symbol of the transition function in C */
	PGFunction	function;
	const char *combine;		/* the combine function's symbol; NULL: int8pl */
	int			nconstants;		/* arguments before those of a row */
	RowsForm	form;
	GrStateType type;			/* state type of ARRAYS and COLUMNS */
	GrArraysForm arrays;		/* constants of ARRAYS */
	bool		weight;			/* ARRAYS: the first of a row's arguments is a weight */
};

#define KIND(function) #function, function

static const GrTakerKind kinds[] = {
	{KIND(gr_ols_stats_accum), "gr_ols_stats_combine", 0, ARRAYS, GR_STATS},
	{KIND(gr_wls_stats_accum), "gr_ols_stats_combine", 0, ARRAYS, GR_STATS, GR_ARRAYS_PLAIN, true},
	{KIND(gr_logreg_step_accum), "gr_logreg_step_combine", 1, ARRAYS, GR_STEP, GR_ARRAYS_AT_BETA},
	{KIND(gr_glm_step_accum), "gr_logreg_step_combine", 3, ARRAYS, GR_STEP, GR_ARRAYS_OF_FAMILY},
	{KIND(gr_ols_pass_accum), "gr_ols_stats_combine", 3, COLUMNS, GR_STATS},
	{KIND(gr_request_accum), "gr_request_combine", GR_REQUEST_NPARAMS, REQUEST},
	{KIND(gr_ingest_pass_accum), NULL, 2, RING}
};

/*
 * Recognising aggregates
 */

/* True if oid is function of this library, and calls reach it directly (it is not SECURITY DEFINER, for example). */
static bool
is_function(Oid oid, PGFunction function)
{
	FmgrInfo	info;

	fmgr_info(oid, &info);
	return info.fn_addr == function;
}

static const GrTakerKind *
kind_of_transition(Oid function)
{
	char	   *symbol;

	if (function < FirstNormalObjectId)
		return NULL;
	symbol = gr_symbol_of(function);
	for (int k = 0; symbol != NULL && k < lengthof(kinds); k++)
		if (strcmp(kinds[k].symbol, symbol) == 0)
			return is_function(function, kinds[k].function) ? &kinds[k] : NULL;
	return NULL;
}

static bool
has_combine(const GrTakerKind *kind, Oid function)
{
	const char *symbol;

	if (kind->combine == NULL)
		return function == F_INT8PL;
	symbol = OidIsValid(function) ? gr_symbol_of(function) : NULL;
	return symbol != NULL && strcmp(symbol, kind->combine) == 0;
}

/* True if function serializes states as the taker does: gr_request_serial for requests, none for other kinds. */
static bool
has_serial(const GrTakerKind *kind, Oid function)
{
	const char *symbol;

	if (kind->form != REQUEST || !OidIsValid(function))
		return kind->form != REQUEST && !OidIsValid(function);
	symbol = gr_symbol_of(function);
	return symbol != NULL && strcmp(symbol, "gr_request_serial") == 0;
}

/* Returns the kind of an aggregate, or NULL if no taker makes its partial states. Sets the functions in *call. */
static const GrTakerKind *
kind_of_aggregate(Oid aggregate, GrTakerCall *call)
{
	HeapTuple	tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(aggregate));
	const GrTakerKind *kind;
	Form_pg_aggregate form;
	bool		no_initial;

	if (!HeapTupleIsValid(tuple))
		return NULL;
	form = (Form_pg_aggregate) GETSTRUCT(tuple);
	kind = form->aggkind == AGGKIND_NORMAL ? kind_of_transition(form->aggtransfn) : NULL;
	call->transition = form->aggtransfn;
	call->combine = form->aggcombinefn;
	(void) SysCacheGetAttr(AGGFNOID, tuple, Anum_pg_aggregate_agginitval, &no_initial);
	if (kind != NULL &&
		(!has_combine(kind, form->aggcombinefn) || !has_serial(kind, form->aggserialfn) ||
		 form->aggtranstype != get_func_rettype(form->aggtransfn) || no_initial != (kind->form != RING)))
		kind = NULL;
	ReleaseSysCache(tuple);
	return kind;
}

static Expr *
argument(const Aggref *aggregate, int k)
{
	return ((TargetEntry *) list_nth(aggregate->args, k))->expr;
}

/*
 * Collects the sources of an aggregate over arrays: response, weight, and features, one by one if they are written as
 * an array constructor. False if the arguments have other types.
 */
static bool
find_array_sources(const GrTakerKind *kind, const Aggref *aggregate, GrTakerCall *call)
{
	int			first = kind->nconstants;
	int			nroles = kind->weight ? 2 : 1;
	const ArrayExpr *written;
	Expr	   *x;
	Oid			y_type;

	if (list_length(aggregate->args) != first + nroles + 1)
		return false;
	y_type = exprType((Node *) argument(aggregate, first + nroles - 1));
	x = argument(aggregate, first + nroles);
	if ((y_type != FLOAT8OID && y_type != BOOLOID) || exprType((Node *) x) != FLOAT8ARRAYOID ||
		(kind->weight && exprType((Node *) argument(aggregate, first)) != FLOAT8OID))
		return false;
	/* the response comes first here */
	for (int k = nroles - 1; k >= 0; k--)
		call->sources = lappend(call->sources, argument(aggregate, first + k));
	written = IsA(x, ArrayExpr) ? (const ArrayExpr *) x : NULL;
	call->vector = written == NULL || written->multidims || written->element_typeid != FLOAT8OID;
	if (call->vector)
		call->sources = lappend(call->sources, x);
	else
		call->sources = list_concat(call->sources, written->elements);
	return true;
}

bool
gr_taker_call(const Aggref *aggregate, GrTakerCall *call)
{
	const GrTakerKind *kind;

	memset(call, 0, sizeof(*call));
	if (aggregate->aggkind != AGGKIND_NORMAL || aggregate->aggorder != NIL || aggregate->aggdistinct != NIL ||
		aggregate->agglevelsup != 0)
		return false;
	kind = call->kind = kind_of_aggregate(aggregate->aggfnoid, call);
	if (kind == NULL || list_length(aggregate->args) <= kind->nconstants)
		return false;
	for (int k = 0; k < kind->nconstants; k++)
		call->constants = lappend(call->constants, argument(aggregate, k));
	if (contain_var_clause((Node *) call->constants))
		return false;
	if (kind->form == ARRAYS)
		return find_array_sources(kind, aggregate, call);
	for (int k = kind->nconstants; k < list_length(aggregate->args); k++)
		call->sources = lappend(call->sources, argument(aggregate, k));
	return true;
}

bool
gr_taker_groups(const GrTakerCall *call)
{
	ListCell   *cell;

	if (call->kind->form != ARRAYS && call->kind->form != COLUMNS)
		return false;
	foreach(cell, call->sources)
		if (OidIsValid(get_base_element_type(exprType(lfirst(cell)))))
			return false;
	return true;
}

/*
 * Taking rows
 */

/* Prepares a call of the transition function as the executor does, without the state and the arguments. */
static FunctionCallInfo
make_call(const Aggref *aggregate, MemoryContext context)
{
	Oid			types[FUNC_MAX_ARGS];
	int			n = get_aggregate_argtypes(unconstify(Aggref *, aggregate), types);
	HeapTuple	tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(aggregate->aggfnoid));
	FunctionCallInfo fcinfo = palloc0(SizeForFunctionCallInfo(n + 1));
	FmgrInfo   *flinfo = palloc0(sizeof(FmgrInfo));
	Form_pg_aggregate form;
	Expr	   *expression;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for aggregate %u", aggregate->aggfnoid);
	form = (Form_pg_aggregate) GETSTRUCT(tuple);
	fmgr_info_cxt(form->aggtransfn, flinfo, context);
	build_aggregate_transfn_expr(types, n, 0, aggregate->aggvariadic, form->aggtranstype, aggregate->inputcollid,
								 form->aggtransfn, InvalidOid, &expression, NULL);
	fmgr_info_set_expr((Node *) expression, flinfo);
	InitFunctionCallInfoData(*fcinfo, flinfo, n + 1, aggregate->inputcollid, NULL, NULL);
	ReleaseSysCache(tuple);
	return fcinfo;
}

GrTaker *
gr_taker_create(const GrTakerCall *call, const Aggref *aggregate, const Oid *types, MemoryContext statement)
{
	GrTaker    *taker = palloc0(sizeof(GrTaker));

	taker->kind = call->kind;
	taker->vector = call->vector;
	taker->context = CurrentMemoryContext;
	taker->statement = statement;
	taker->fcinfo = make_call(aggregate, CurrentMemoryContext);
	taker->shape.nfeatures = -1;
	taker->types = types;
	taker->numeric_casts = call->numeric_casts;
	taker->nsources = list_length(call->sources);
	return taker;
}

/* Creates the columns of an aggregate over arrays: all are float8, but the last is float8[] if there is a vector. */
static GrColumns *
array_columns(const GrTaker *taker)
{
	int			nroles = taker->kind->weight ? 2 : 1;
	GrColumns  *columns = palloc0(offsetof(GrColumns, column) + taker->nsources * sizeof(GrColumn));

	columns->n = taker->nsources;
	columns->weight = taker->kind->weight;
	for (int k = 0; k < columns->n; k++)
		columns->column[k] = (GrColumn) {.type = FLOAT8OID,.width = 1,.at = k};
	if (taker->vector)
		columns->column[nroles] = (GrColumn) {.type = FLOAT8ARRAYOID,.element = FLOAT8OID,.width = -1,.at = nroles};
	columns->nfeatures = taker->vector ? -1 : columns->n - nroles;
	return columns;
}

/* Replaces the types of the columns by those of the sources, from which casts to float8 were removed. */
static void
set_types(GrTaker *taker)
{
	GrColumns  *columns = taker->columns;

	columns->plain = true;
	for (int k = 0; k < columns->n; k++)
	{
		GrColumn   *column = &columns->column[k];
		GrColumn	found;

		if (!gr_describe_value(&found, taker->types[k]))
			elog(ERROR, "unexpected type %u", taker->types[k]);
		column->rounds |= column->type == FLOAT8OID && found.type == INT8OID;
		column->type = found.type;
		column->element = found.element;
		columns->plain &= k < gr_nroles(columns) || column->type == FLOAT8OID;
	}
}

void
gr_taker_start(GrTaker *taker)
{
	const GrTakerKind *kind = taker->kind;
	MemoryContext old = MemoryContextSwitchTo(taker->context);

	switch (kind->form)
	{
		case ARRAYS:
			gr_check_array_constants(taker->fcinfo, kind->arrays);
			taker->columns = array_columns(taker);
			break;
		case COLUMNS:
			taker->columns = gr_copy_columns(gr_pass_columns(taker->fcinfo, kind->type));
			break;
		case REQUEST:
			taker->columns = gr_copy_columns(gr_request_columns(gr_request_call(taker->fcinfo)));
			break;
		case RING:
			taker->producer = gr_producer_of_scan(taker->fcinfo, taker->statement);
			taker->columns = gr_copy_columns(gr_producer_columns(taker->producer));
			taker->shape.single = gr_producer_shape(taker->producer).single;
			break;
	}
	Assert(taker->columns->n == taker->nsources);
	set_types(taker);
	MemoryContextSwitchTo(old);
}

/* Creates the state or the sums, and the block of rows, at the first complete row. */
static void
begin_state(GrTaker *taker, int nfeatures)
{
	const GrTakerKind *kind = taker->kind;
	MemoryContext old = MemoryContextSwitchTo(taker->context);

	if (kind->form != ARRAYS)
		taker->names = gr_read_names(taker->fcinfo, taker->columns, GR_PASS_NAMES);
	if (kind->form == ARRAYS)
		taker->state = gr_arrays_state(taker->fcinfo, kind->type, kind->arrays, kind->weight, nfeatures);
	else if (kind->form == REQUEST)
		taker->sums = gr_request_begin(gr_request_call(taker->fcinfo), taker->context);
	else
		taker->state = gr_pass_state(taker->fcinfo, kind->type, nfeatures, NULL);
	taker->shape = taker->sums != NULL ? gr_request_shape(gr_request_call(taker->fcinfo)) :
		gr_state_shape(taker->state);
	taker->row_nbytes = gr_row_nbytes(taker->shape);
	taker->capacity = Min(Max(BLOCK_NBYTES / taker->row_nbytes, BLOCK_ROWS_MIN), GR_TAKER_ROWS_MAX);
	if (taker->sums != NULL && gr_request_block(gr_request_call(taker->fcinfo)) > 0)
		taker->capacity = gr_request_block(gr_request_call(taker->fcinfo));
	taker->rows = taker->at = palloc_extended(taker->capacity * taker->row_nbytes, MCXT_ALLOC_HUGE);
	MemoryContextSwitchTo(old);
}

/* Raises an error for a row with a value that is not allowed. The sums would not show such values. */
static void
check_rows(const GrTaker *taker)
{
	const GrState *state = taker->state;
	GrError		err = {0};

	if ((state->type == GR_STEP || state->weight) &&
		!gr_rows_valid(taker->rows, taker->nrows, taker->shape, gr_state_rules(state), &err))
		gr_raise_row(&err, taker->shape, taker->names);
}

/* Hands the rows of the block on to the ring, the sums of the request or the state, and empties the block. */
static void
hand_on(GrTaker *taker)
{
	int64		nrows = taker->nrows;

	if (nrows == 0)
		return;
	if (taker->producer != NULL)
	{
		taker->nrows = taker->capacity = 0;
		gr_producer_take(taker->producer, taker->fcinfo, nrows);
		return;
	}
	if (taker->sums != NULL)
	{
		taker->nrows = 0;
		taker->at = taker->rows;
		gr_request_take(taker->sums, (double *) taker->rows, nrows, taker->names);
		return;
	}
	check_rows(taker);
	taker->nrows = 0;
	taker->at = taker->rows;
	gr_add_count(&taker->state->nrows, nrows);
	gr_state_add(taker->state, (double *) taker->rows, (int) nrows, taker->names);
}

/* Sets the widths of arrays from values, the first complete row. */
static void
measure(GrTaker *taker, GrValues values)
{
	MemoryContext old;

	gr_measure_row(taker->columns, values);
	old = MemoryContextSwitchTo(taker->context);
	gr_name_arrays(taker->fcinfo, taker->columns, GR_PASS_NAMES);
	MemoryContextSwitchTo(old);
}

/*
 * Hands on the full block and makes room for a row. Returns false if no more rows are accepted. values: the next row;
 * only used while the widths of arrays aren't known
 */
static bool
make_room(GrTaker *taker, GrValues values)
{
	hand_on(taker);
	if (taker->discards)
		return false;
	if (taker->kind->form != RING)
	{
		bool		begun = taker->state != NULL || taker->sums != NULL;

		if (!begun && taker->columns->nfeatures < 0)
			measure(taker, values);
		if (!begun)
			begin_state(taker, taker->columns->nfeatures);
		return true;
	}
	taker->at = gr_producer_room(taker->producer, taker->fcinfo, values, &taker->capacity);
	taker->discards = taker->at == NULL;
	if (taker->shape.nfeatures < 0 && !taker->discards)
	{
		const GrColumns *told = gr_producer_columns(taker->producer);

		taker->shape = gr_producer_shape(taker->producer);
		taker->row_nbytes = gr_row_nbytes(taker->shape);
		for (int k = 0; k < told->n; k++)
		{
			taker->columns->column[k].width = told->column[k].width;
			taker->columns->column[k].name = told->column[k].name;
		}
		taker->columns->nfeatures = told->nfeatures;
	}
	return !taker->discards;
}

bool
gr_taker_make_room_like(GrTaker *taker, const Datum *values)
{
	return gr_taker_has_room(taker) || make_room(taker, (GrValues) {(const char *) values, sizeof(Datum)});
}

bool
gr_taker_make_room(GrTaker *taker)
{
	return gr_taker_has_room(taker) || make_room(taker, (GrValues) {0});
}

/*
 * Skips a row that has a NULL. Raises an error if a numeric whose cast was removed is beyond float8's range, as the
 * cast would.
 */
static void
skip_row(GrTaker *taker, const Datum *values, const bool *isnull)
{
	for (int k = 0; k < taker->nsources; k++)
		if (!isnull[k] && bms_is_member(k, taker->numeric_casts))
			(void) gr_numeric_number(values[k]);
	taker->nskipped++;
}

/* Appends a row whose features are one array, with the checks of the transition function. */
static void
take_vector(GrTaker *taker, const Datum *values, const bool *isnull)
{
	int			last = taker->nsources - 1;
	ArrayType  *x = isnull[last] ? NULL : DatumGetArrayTypeP(values[last]);
	bool		complete = x != NULL;
	double		roles[GR_ROLES_MAX];
	double	   *row;
	int			p;

	if (x != NULL)
		gr_check_vector(x, "x");
	for (int k = 0; k < last; k++)
		complete &= !isnull[k];
	if (!complete || array_contains_nulls(x))
	{
		skip_row(taker, values, isnull);
		return;
	}
	for (int k = 0; k < last; k++)
		if (!gr_convert_value(&taker->columns->column[k], values[k], &roles[k]))
			elog(ERROR, "unexpected NULL");
	if (taker->kind->weight && roles[1] == 0.0)
		return;
	p = ArrayGetNItems(ARR_NDIM(x), ARR_DIMS(x));
	if (taker->state == NULL)
	{
		begin_state(taker, p);
		taker->columns->column[last].width = p;
	}
	gr_check_same_width(taker->shape.nfeatures, p);
	if (!gr_taker_has_room(taker))
		hand_on(taker);
	row = (double *) taker->at;
	if (!gr_convert_value(&taker->columns->column[last], PointerGetDatum(x), row))
		elog(ERROR, "unexpected NULL in an array");
	memcpy(row + p, roles, last * sizeof(double));
	gr_taker_count_row(taker);
}

void
gr_taker_take(GrTaker *taker, const Datum *values, const bool *isnull)
{
	GrValues	row = {(const char *) values, sizeof(Datum)};
	GrRowFate	fate;

	if (taker->vector)
	{
		take_vector(taker, values, isnull);
		return;
	}
	for (int k = 0; k < taker->nsources; k++)
	{
		if (isnull[k])
		{
			skip_row(taker, values, isnull);
			return;
		}
	}
	if (!gr_taker_has_room(taker) && !make_room(taker, row))
		return;
	fate = taker->shape.single ? gr_convert_row_single(taker->columns, row, (float *) taker->at) :
		gr_convert_row(taker->columns, row, (double *) taker->at);
	if (fate == GR_ROW_TAKES_PART)
		gr_taker_count_row(taker);
	else if (fate == GR_ROW_SKIPPED)
		taker->nskipped++;
}

/*
 * Groups
 */

/* Least initial number of rows that can wait in a group's state */
#define FIRST_WAITING 4

/* Largest size that a memory context rounds up to a power of two */
#define ROUNDED_MAX ((Size) 8192)

Size
gr_taker_group_nbytes(const GrTaker *taker)
{
	Size		nbytes = VARSIZE(taker->state) + FIRST_WAITING * taker->row_nbytes;

	return nbytes > ROUNDED_MAX ? nbytes : pg_nextpower2_size_t(nbytes);
}

/* Returns the initial number of rows that can wait in a group's state: as many as fit into the memory it takes. */
static int
first_waiting(const GrTaker *taker)
{
	return (int) Min((gr_taker_group_nbytes(taker) - VARSIZE(taker->state)) / taker->row_nbytes, GR_TAKER_WAITING_MAX);
}

/* Returns a group's state with room for another row. state: NULL creates one; others: see gr_taker_scatter() */
static pg_noinline GrState *
make_waiting_room(GrTaker *taker, GrState *state, MemoryContext context, Size limit)
{
	MemoryContext old;
	GrState    *larger;
	bool		full = MemoryContextMemAllocated(context, true) >= limit;

	if (state != NULL && (state->capacity >= GR_TAKER_WAITING_MAX || (full && state->capacity > 0)))
	{
		gr_state_flush(state, taker->names);
		return state;
	}
	old = MemoryContextSwitchTo(context);
	larger = gr_state_resize(state == NULL ? taker->state : state,
							 state == NULL || full ? first_waiting(taker) : GR_TAKER_WAITING_MAX);
	if (state != NULL)
		pfree(state);
	MemoryContextSwitchTo(old);
	return larger;
}

void
gr_taker_scatter(GrTaker *taker, GrState **const *states, MemoryContext context, Size limit)
{
	const char *row = taker->rows;

	if (taker->nrows == 0)
		return;
	check_rows(taker);
	for (int64 k = 0; k < taker->nrows; k++, row += taker->row_nbytes)
	{
		GrState    *state = *states[k];

		if (k + 8 < taker->nrows && *states[k + 8] != NULL)
			__builtin_prefetch(*states[k + 8]);
		if (state == NULL || state->npending == state->capacity)
			state = *states[k] = make_waiting_room(taker, state, context, limit);
		memcpy((char *) gr_state_pending(state) + state->npending * taker->row_nbytes, row, taker->row_nbytes);
		state->npending++;
		gr_add_count(&state->nrows, 1);
	}
	taker->nrows = 0;
	taker->at = taker->rows;
}

GrState *
gr_taker_empty_state(const GrTaker *taker, MemoryContext context)
{
	MemoryContext old = MemoryContextSwitchTo(context);
	GrState    *state = gr_state_create(taker->kind->type, -1, 0);

	MemoryContextSwitchTo(old);
	return state;
}

/* True if this parallel worker has already reported that it had rows. (A worker may scan several partitions.) */
static bool worker_counted = false;

/* Returns the partial state of a request. Sets *isnull if the scan had no row. */
static Datum
finish_request(GrTaker *taker, bool *isnull)
{
	bool		counts_worker = IsParallelWorker() && !worker_counted;

	*isnull = taker->columns == NULL;
	if (*isnull)
		return (Datum) 0;
	if (taker->sums == NULL)
		taker->sums = gr_request_begin(gr_request_call(taker->fcinfo), taker->context);
	worker_counted |= counts_worker;
	return gr_request_partial(taker->sums, taker->nskipped, counts_worker);
}

Datum
gr_taker_finish(GrTaker *taker, bool *isnull)
{
	const GrTakerKind *kind = taker->kind;
	GrState    *state;
	MemoryContext old = MemoryContextSwitchTo(taker->context);

	hand_on(taker);
	*isnull = false;
	if (kind->form == RING)
	{
		MemoryContextSwitchTo(old);
		return Int64GetDatum(taker->nskipped);
	}
	if (kind->form == REQUEST)
	{
		Datum		partial = finish_request(taker, isnull);

		MemoryContextSwitchTo(old);
		return partial;
	}
	if (taker->state == NULL && kind->form == COLUMNS && taker->columns != NULL)
		taker->state = gr_pass_state(taker->fcinfo, kind->type, taker->columns->nfeatures, NULL);
	if (taker->state == NULL && taker->nskipped > 0)
		taker->state = gr_state_create(kind->type, -1, 0);
	*isnull = taker->state == NULL;
	if (taker->state != NULL)
	{
		state = taker->state = gr_state_settled(PointerGetDatum(taker->state), kind->type, NULL);
		state->nskipped = taker->nskipped;
		if (state->nworkers > 0 && worker_counted)
			state->nworkers = 0;
		worker_counted |= state->nworkers > 0;
	}
	MemoryContextSwitchTo(old);
	return PointerGetDatum(taker->state);
}
