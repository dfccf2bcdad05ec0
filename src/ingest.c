/*
 * ingest.c: a query's rows -> blocks of float8.
 *
 * The query runs into a DestReceiver of our own, which converts each row where it stands; no row is stored.
 * A column that is an array counts as many features as its arrays have elements, which the first complete row tells.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/tuptable.h"
#include "optimizer/cost.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/memutils.h"

#include "args.h"
#include "ingest.h"
#include "ring_reader.h"
#include "wrapper.h"

/* PostgreSQL's limit on arguments, 100, less some; beyond, numbers are packed into arrays of this many. */
#define ARGUMENTS_MAX 90
#define ARGUMENTS_LIMIT (FUNC_MAX_ARGS - 1)	/* the state is one more */
#define PACKED 500

/* Products in the time that reading a row once more for each of a fit's passes takes */
#define REREAD_WORK 2000.0

/* Numbers that an array is taken to have where nothing else is known */
#define GUESSED_WIDTH 100

typedef struct IngestReceiver
{
	GrReceiver	base;
	GrIngest   *result;
	GrJobOptions job;
	int64		nrows_max;		/* no more are read */
	MemoryContext result_context;	/* owns the job and the names */
	MemoryContext row_context;	/* reset after each row */
} IngestReceiver;

static void
describe_columns(GrIngest *ingest, TupleDesc tupdesc)
{
	ingest->ncolumns = tupdesc->natts;
	ingest->columns = palloc0(tupdesc->natts * sizeof(GrColumn));
	if (tupdesc->natts < 2)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("query must return at least two columns"),
				 errdetail("It returns %d.", tupdesc->natts),
				 errhint("The first column is the response, the others are the features.")));
	for (int k = 0; k < tupdesc->natts; k++)
	{
		Form_pg_attribute attribute = TupleDescAttr(tupdesc, k);
		GrColumn   *column = &ingest->columns[k];

		column->name = pstrdup(NameStr(attribute->attname));
		if (!gr_describe_column(column, attribute->atttypid, k > 0))
			ereport(ERROR,
					(errcode(ERRCODE_DATATYPE_MISMATCH),
					 errmsg("column \"%s\" of the query has type %s", NameStr(attribute->attname),
							format_type_be(attribute->atttypid)),
					 errdetail(k == 0 ? "The response must be a number or a boolean."
							   : "Features must be numbers, booleans or arrays of them."),
					 errhint("Cast it, or turn a category into 0/1 columns such as (cut = 'Ideal')::int.")));
	}
}

void
gr_name_ingested(GrIngest *ingest)
{
	const char **given = palloc(ingest->ncolumns * sizeof(char *));

	for (int k = 0; k < ingest->ncolumns; k++)
		given[k] = ingest->columns[k].name;
	ingest->names = palloc((ingest->nfeatures + 1) * sizeof(char *));
	gr_name_terms(ingest->columns, ingest->ncolumns, given, ingest->names);
	pfree(given);
}

/* At the first complete row: now the arrays' lengths are known. */
static void
begin_job(IngestReceiver *receiver, TupleTableSlot *slot)
{
	GrIngest   *result = receiver->result;
	MemoryContext old = MemoryContextSwitchTo(receiver->row_context);
	int64		nfeatures = 0;

	for (int k = 1; k < result->ncolumns; k++)
	{
		GrColumn   *column = &result->columns[k];

		if (OidIsValid(column->element))
			column->width = gr_array_width(slot->tts_values[k]);
		nfeatures += column->width;
	}
	MemoryContextSwitchTo(receiver->result_context);
	gr_check_nfeatures(nfeatures);
	result->nfeatures = (int) nfeatures;
	gr_name_ingested(result);
	receiver->job.nfeatures = result->nfeatures;
	receiver->job.names = result->names;
	result->job = gr_job_begin(&receiver->job);
	MemoryContextSwitchTo(old);
}

/* Converts a row into *into, features first; false if there is a NULL in an array. */
static bool
convert_row(const GrIngest *ingest, TupleTableSlot *slot, double *into)
{
	double	   *at = into;

	for (int k = 1; k < ingest->ncolumns; k++)
	{
		const GrColumn *column = &ingest->columns[k];

		if (!gr_convert_value(column, slot->tts_values[k], at))
			return false;
		at += column->width;
	}
	return gr_convert_value(&ingest->columns[0], slot->tts_values[0], at);
}

static bool
receive_row(TupleTableSlot *slot, DestReceiver *self)
{
	IngestReceiver *receiver = (IngestReceiver *) self;
	GrIngest   *result = receiver->result;
	bool		go_on = --receiver->nrows_max > 0;
	MemoryContext old;

	slot_getallattrs(slot);
	for (int k = 0; k < result->ncolumns; k++)
	{
		if (slot->tts_isnull[k])
		{
			result->nskipped++;
			return go_on;
		}
	}
	if (result->job == NULL)
		begin_job(receiver, slot);
	if (result->job->overflowed)
		return false;
	old = MemoryContextSwitchTo(receiver->row_context);
	if (convert_row(result, slot, gr_job_row(result->job)))
		gr_job_take_row(result->job);
	else
		result->nskipped++;
	MemoryContextSwitchTo(old);
	MemoryContextReset(receiver->row_context);
	return go_on && !result->job->overflowed;
}

static bool
all_real(const GrIngest *ingest)
{
	for (int k = 1; k < ingest->ncolumns; k++)
		if (ingest->columns[k].type != FLOAT4OID && ingest->columns[k].element != FLOAT4OID)
			return false;
	return true;
}

static bool
all_single(const GrIngest *ingest)
{
	for (int k = 1; k < ingest->ncolumns; k++)
		if (!gr_column_is_single(&ingest->columns[k]))
			return false;
	return true;
}

/* Notes the widths of arrays in a row, where they aren't NULL. */
static bool
receive_widths(TupleTableSlot *slot, DestReceiver *self)
{
	GrIngest   *ingest = ((IngestReceiver *) self)->result;

	slot_getallattrs(slot);
	for (int k = 1; k < ingest->ncolumns; k++)
		if (OidIsValid(ingest->columns[k].element) && !slot->tts_isnull[k])
			ingest->columns[k].width = gr_array_width(slot->tts_values[k]);
	return false;
}

/* The widths of arrays in the query's first row, if that comes at little cost */
static void
peek_at_widths(GrIngest *ingest)
{
	IngestReceiver receiver = {.base.pub.receiveSlot = receive_widths,.result = ingest};

	if (gr_starts_at_once(ingest->plan))
		gr_run_plan(ingest->plan, NULL, &receiver.base, 1);
}

static void
estimate_features(GrIngest *ingest)
{
	double		estimate = 0;

	for (int k = 1; k < ingest->ncolumns; k++)
		ingest->has_arrays |= OidIsValid(ingest->columns[k].element);
	if (ingest->has_arrays && ingest->repeatable)
		peek_at_widths(ingest);
	ingest->widths_known = true;
	for (int k = 1; k < ingest->ncolumns; k++)
	{
		ingest->widths_known &= ingest->columns[k].width >= 0;
		estimate += ingest->columns[k].width >= 0 ? ingest->columns[k].width : GUESSED_WIDTH;
	}
	ingest->nfeatures_estimate = (int) Min(estimate, GR_MAX_FEATURES);
}

bool
gr_plan_ring(GrIngest *ingest)
{
	Oid			types[2] = {BYTEAOID, TEXTARRAYOID};

	if (max_parallel_workers_per_gather == 0)
		return false;
	if (ingest->ring_plan == NULL)
		ingest->ring_plan = gr_plan_aggregate(ingest, "gpu_ingest_pass", 2, types, INT8OID, &ingest->nworkers);
	return ingest->nworkers > 0;
}

double
gr_ingest_work(GrIngest *ingest, GrJobKind kind)
{
	double		work = gr_job_work(kind, ingest->nrows_estimate, ingest->nfeatures_estimate);
	double		nbytes = ingest->nrows_estimate * gr_row_nbytes(ingest->nfeatures_estimate, false);
	bool		kept = kind == GR_JOB_ROWS && nbytes <= (double) gr_ring_size * 1024;

	if (kind == GR_JOB_ROWS && !kept)
		work += ingest->nrows_estimate * REREAD_WORK;
	/* rows that are kept are one process's */
	if (!kept && !gr_takes_cpu(work) && gr_device != GR_DEVICE_GPU && gr_plan_ring(ingest))
		work /= 1 + ingest->nworkers;
	return work;
}

/*
 * The arguments of an aggregate over the columns: these as they are or, where there are too many, the numbers among
 * them as arrays. Returns how many there are.
 */
static int
arrange_arguments(GrIngest *ingest)
{
	bool		pack = ingest->ncolumns > ARGUMENTS_MAX;
	int			n = 0;

	for (int k = 0; k < ingest->ncolumns; k++)
	{
		bool		packs = pack && k > 0 && !OidIsValid(ingest->columns[k].element);
		GrArgument *last = n == 0 ? NULL : &ingest->arguments[n - 1];

		if (packs && last->npacked > 0 && last->npacked < PACKED)
			last->npacked++;
		else
			ingest->arguments[n++] = (GrArgument) {.column = k,.npacked = packs ? 1 : 0};
	}
	return n;
}

/* A number among others in an array */
static Expr *
packed_number(const GrIngest *ingest, const GrWrapper *wrapper, int k)
{
	Expr	   *value = gr_wrapped_column(wrapper, k);

	/* there is no cast from boolean to float8 */
	if (ingest->columns[k].type == BOOLOID)
		value = gr_wrapper_cast(wrapper, value, INT4OID);
	return gr_wrapper_cast(wrapper, value, ingest->single ? FLOAT4OID : FLOAT8OID);
}

static Expr *
write_argument(const GrIngest *ingest, const GrWrapper *wrapper, const GrArgument *argument)
{
	List	   *numbers = NIL;

	if (argument->npacked == 0)
		return gr_wrapped_column(wrapper, argument->column);
	for (int k = 0; k < argument->npacked; k++)
		numbers = lappend(numbers, packed_number(ingest, wrapper, argument->column + k));
	return gr_wrapper_array(numbers, ingest->single ? FLOAT4OID : FLOAT8OID);
}

void
gr_ingest_prepare(const char *query, Oid function, GrIngest *ingest)
{
	memset(ingest, 0, sizeof(*ingest));
	ingest->function = function;
	ingest->query = gr_analyse_query(query);
	describe_columns(ingest, ingest->query->columns);
	ingest->plan = gr_plan_query(ingest->query, CURSOR_OPT_PARALLEL_OK);
	ingest->nrows_estimate = gr_estimate_rows(ingest->plan);
	ingest->repeatable = gr_is_repeatable(ingest->query);
	ingest->real_features = all_real(ingest);
	ingest->single = all_single(ingest);
	ingest->arguments = palloc(ingest->ncolumns * sizeof(GrArgument));
	ingest->narguments = arrange_arguments(ingest);
	estimate_features(ingest);
}

Datum
gr_column_names(const GrIngest *ingest)
{
	Datum	   *names = palloc(ingest->ncolumns * sizeof(Datum));

	for (int k = 0; k < ingest->ncolumns; k++)
		names[k] = CStringGetTextDatum(ingest->columns[k].name);
	return PointerGetDatum(construct_array(names, ingest->ncolumns, TEXTOID, -1, false, TYPALIGN_INT));
}

/* Reads through this process alone, at most nrows_max rows. */
static void
read_here(GrIngest *ingest, const GrJobOptions *options, int64 nrows_max)
{
	IngestReceiver receiver = {
		.base.pub.receiveSlot = receive_row,
		.result = ingest,
		.result_context = CurrentMemoryContext,
		.job = *options,
		.nrows_max = nrows_max
	};

	receiver.job.nrows_estimate = ingest->nrows_estimate;
	receiver.row_context = AllocSetContextCreate(CurrentMemoryContext, "gpureg row", ALLOCSET_DEFAULT_SIZES);
	ingest->job = NULL;
	ingest->nskipped = 0;
	gr_run_plan(ingest->plan, NULL, &receiver.base, 0);
	ingest->nrows = ingest->job == NULL ? 0 : ingest->job->nrows;
	MemoryContextDelete(receiver.row_context);
}

void
gr_ingest_read(GrIngest *ingest, const GrJobOptions *options)
{
	GrJobOptions again = *options;
	char		reason[300];
	GrRingOutcome outcome = gr_ring_read(ingest, options, reason);

	again.work = gr_ingest_work(ingest, options->kind);
	if (outcome == GR_RING_RETREATED)
		again.cpu_reason = reason;
	if (outcome != GR_RING_READ)
		read_here(ingest, &again, PG_INT64_MAX);
	ingest->overflowed = ingest->job != NULL && options->kind == GR_JOB_ROWS && !gr_job_keep(ingest->job);
}

GrJob *
gr_ingest_sample(const GrIngest *ingest, int64 nrows)
{
	GrJobOptions options = {.kind = GR_JOB_ROWS,.cpu_reason = "sample"};
	GrIngest	sample = *ingest;

	/* workers take longer to start than so few rows to read */
	sample.plan = gr_plan_query(ingest->query, 0);
	if (gr_starts_at_once(sample.plan))
	{
		Size		nbytes = ingest->ncolumns * sizeof(GrColumn);

		sample.columns = memcpy(palloc(nbytes), ingest->columns, nbytes);
		read_here(&sample, &options, nrows);
		if (sample.job != NULL)
			(void) gr_job_keep(sample.job);
	}
	else
		sample.job = NULL;
	return sample.job;
}

/*
 * Settings under which an aggregate of ours is planned; returns the nesting level that ends them. Partitions must not
 * be aggregated one by one: each would leave a block of the ring half full, which holds up the others when there are
 * more partitions than blocks.
 */
static int
aggregate_settings(void)
{
	int			nest_level = gr_turn_jit_off();

	(void) set_config_option("enable_partitionwise_aggregate", "off", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0,
							 false);
	return nest_level;
}

GrPlan *
gr_plan_aggregate(const GrIngest *ingest, const char *aggregate, int nparams, const Oid *types, Oid result,
				  int *nworkers)
{
	Oid			declared[FUNC_MAX_ARGS];
	List	   *args = NIL;
	GrWrapper	wrapper;
	GrPlan	   *plan;
	Oid			function;
	int			nest_level;

	*nworkers = 0;
	if (nparams + ingest->narguments > ARGUMENTS_LIMIT)
		return NULL;
	memcpy(declared, types, nparams * sizeof(Oid));
	declared[nparams] = ANYOID;
	gr_wrap_query(&wrapper, ingest->query);
	for (int k = 0; k < nparams; k++)
		args = lappend(args, gr_wrapper_parameter(k + 1, types[k]));
	for (int k = 0; k < ingest->narguments; k++)
		args = lappend(args, write_argument(ingest, &wrapper, &ingest->arguments[k]));
	function = gr_own_function(ingest->function, aggregate, nparams + 1, declared, result);
	gr_wrapper_select(&wrapper, gr_wrapper_aggregate(&wrapper, function, args));
	nest_level = aggregate_settings();
	plan = gr_plan_wrapper(&wrapper);
	AtEOXact_GUC(true, nest_level);
	*nworkers = gr_planned_workers(plan);
	return plan;
}

void
gr_raise_no_rows(int64 nskipped)
{
	ereport(ERROR,
			(errcode(ERRCODE_NO_DATA_FOUND),
			 errmsg("query returned no complete row"),
			 nskipped > 0 ? errdetail(INT64_FORMAT " rows were left out for a NULL.", nskipped) : 0,
			 errhint("A row takes part when none of its columns is NULL.")));
}
