/*
 * ingest.c: a query's rows -> blocks of float8.
 *
 * The query runs through SPI into a DestReceiver of our own, which converts each row where it stands; no row is stored.
 * A column that is an array counts as many features as its arrays have elements, which the first complete row tells.
 */
#include "postgres.h"

#include "access/tupdesc.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "executor/spi.h"
#include "executor/tuptable.h"
#include "lib/stringinfo.h"
#include "nodes/nodeFuncs.h"
#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "parser/parser.h"
#include "tcop/dest.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/plancache.h"
#include "utils/resowner.h"

#include "args.h"
#include "ingest.h"
#include "ring_reader.h"

/* PostgreSQL's limit on arguments, 100, less some; beyond, numbers are packed into arrays of this many. */
#define ARGUMENTS_MAX 90
#define RING_ARGUMENTS_MAX 96	/* of gpu_ingest_pass, besides its own three and the state */
#define PACKED 500

/* Products in the time that reading a row once more for each of a fit's passes takes */
#define REREAD_WORK 2000.0

/* Numbers that an array is taken to have where nothing else is known */
#define GUESSED_WIDTH 100

typedef struct IngestReceiver
{
	DestReceiver pub;
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

void
gr_receiver_startup(DestReceiver *self, int operation, TupleDesc typeinfo)
{
	(void) self;
	(void) operation;
	(void) typeinfo;
}

void
gr_receiver_nothing(DestReceiver *self)
{
	(void) self;
}

/* Is there a FOR UPDATE or SHARE, at any depth? */
static bool
locks_rows(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (!IsA(node, Query))
		return expression_tree_walker(node, locks_rows, context);
	return ((Query *) node)->rowMarks != NIL || query_tree_walker((Query *) node, locks_rows, context, 0);
}

TupleDesc
gr_check_query(SPIPlanPtr plan)
{
	List	   *sources = SPI_plan_get_plan_sources(plan);
	CachedPlanSource *source;
	Query	   *query;

	if (list_length(sources) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_SYNTAX_ERROR),
				 errmsg("query must be one statement"),
				 errdetail("It has %d.", list_length(sources))));
	source = linitial(sources);
	query = list_length(source->query_list) == 1 ? linitial_node(Query, source->query_list) : NULL;
	if (query == NULL || query->commandType != CMD_SELECT || source->resultDesc == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("query must be a SELECT"),
				 errdetail("Only statements that return rows and change nothing can be used.")));
	if (query->hasModifyingCTE || locks_rows((Node *) query, NULL))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("query must not write or lock rows"),
				 errdetail("It has a data-modifying WITH or a FOR UPDATE or SHARE clause.")));
	return source->resultDesc;
}

double
gr_estimate_rows(SPIPlanPtr plan)
{
	CachedPlan *cached = SPI_plan_get_cached_plan(plan);
	double		nrows = 0;

	if (cached == NULL)
		return 0;
	if (cached->stmt_list != NIL && linitial_node(PlannedStmt, cached->stmt_list)->planTree != NULL)
		nrows = linitial_node(PlannedStmt, cached->stmt_list)->planTree->plan_rows;
	ReleaseCachedPlan(cached, NULL);
	return nrows;
}

/* An aggregate whose result may depend on the order of its input: anything but numbers, the orders of whose sums don't matter here */
static bool
heeds_order(const Aggref *aggregate)
{
	return !gr_is_number_type(aggregate->aggtype);
}

/*
 * Could the query give other rows when it is run again under the same snapshot, in other order perhaps? Scans of a large table begin
 * where another one is, and workers come in any order: so does it at any depth sample, call volatile functions, or choose rows or
 * number them by their order? (An ORDER BY may leave ties.)
 */
static bool
depends_on_chance(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, RangeTblEntry))
		return ((RangeTblEntry *) node)->tablesample != NULL;
	if (IsA(node, Aggref) && heeds_order((Aggref *) node))
		return true;
	if (IsA(node, Query))
	{
		Query	   *query = (Query *) node;

		if (query->limitCount != NULL || query->limitOffset != NULL || query->hasDistinctOn || query->hasWindowFuncs)
			return true;
		return query_tree_walker(query, depends_on_chance, context, QTW_EXAMINE_RTES_BEFORE);
	}
	return expression_tree_walker(node, depends_on_chance, context);
}

bool
gr_is_repeatable(SPIPlanPtr plan)
{
	CachedPlanSource *source = linitial(SPI_plan_get_plan_sources(plan));
	Node	   *query = linitial(source->query_list);

	return !contain_volatile_functions(query) && !depends_on_chance(query, NULL);
}

static bool
all_real(const GrIngest *ingest)
{
	for (int k = 1; k < ingest->ncolumns; k++)
		if (ingest->columns[k].type != FLOAT4OID && ingest->columns[k].element != FLOAT4OID)
			return false;
	return true;
}

static SPIPlanPtr
prepare(const char *query, int cursor_options)
{
	MemoryContext context = CurrentMemoryContext;
	SPIPlanPtr	plan = SPI_prepare_cursor(query, 0, NULL, cursor_options);

	/* SPI leaves its own context current, which ends with SPI_finish() */
	MemoryContextSwitchTo(context);
	if (plan == NULL)
		elog(ERROR, "SPI_prepare_cursor failed: %s", SPI_result_code_string(SPI_result));
	return plan;
}

SPIPlanPtr
gr_prepare_query(const char *query)
{
	return prepare(query, CURSOR_OPT_PARALLEL_OK);
}

static bool
all_single(const GrIngest *ingest)
{
	for (int k = 1; k < ingest->ncolumns; k++)
		if (!gr_column_is_single(&ingest->columns[k]))
			return false;
	return true;
}

/* Does the query's first row come at little cost? */
static bool
starts_at_once(SPIPlanPtr plan)
{
	CachedPlan *cached = SPI_plan_get_cached_plan(plan);
	bool		cheap = false;

	if (cached == NULL)
		return false;
	if (cached->stmt_list != NIL && linitial_node(PlannedStmt, cached->stmt_list)->planTree != NULL)
	{
		const Plan *top = linitial_node(PlannedStmt, cached->stmt_list)->planTree;

		/* workers take their time to start, but for one row there will be none */
		cheap = top->startup_cost <= parallel_setup_cost + top->total_cost / 50;
	}
	ReleaseCachedPlan(cached, NULL);
	return cheap;
}

bool
gr_peek_at_row(SPIPlanPtr plan)
{
	MemoryContext context = CurrentMemoryContext;

	if (!starts_at_once(plan))
		return false;
	if (SPI_execute_plan(plan, NULL, NULL, true, 1) != SPI_OK_SELECT)
		elog(ERROR, "SPI_execute_plan failed: %s", SPI_result_code_string(SPI_result));
	MemoryContextSwitchTo(context);
	if (SPI_processed > 0)
		return true;
	SPI_freetuptable(SPI_tuptable);
	return false;
}

/* The widths of arrays in the query's first row, where they aren't NULL */
static void
peek_at_widths(GrIngest *ingest)
{
	if (!gr_peek_at_row(ingest->plan))
		return;
	for (int k = 1; k < ingest->ncolumns; k++)
	{
		GrColumn   *column = &ingest->columns[k];
		bool		isnull;
		Datum		value = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, k + 1, &isnull);

		if (OidIsValid(column->element) && !isnull)
			column->width = gr_array_width(value);
	}
	SPI_freetuptable(SPI_tuptable);
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
	Oid			types[3] = {BYTEAOID, TEXTARRAYOID, INT4ARRAYOID};
	StringInfoData arguments;

	if (max_parallel_workers_per_gather == 0)
		return false;
	if (ingest->ring_plan != NULL)
		return ingest->nworkers > 0;
	initStringInfo(&arguments);
	appendStringInfoString(&arguments, "$1, $2, $3");
	ingest->packed = palloc(ingest->ncolumns * sizeof(int32));
	ingest->narguments = gr_write_arguments(ingest, &arguments, ingest->packed);
	if (ingest->narguments > RING_ARGUMENTS_MAX)
		return false;
	ingest->ring_plan = gr_plan_aggregate(ingest->query, ingest->ncolumns, ingest->namespace, "gpu_ingest_pass", arguments.data, 3, types,
										  &ingest->nworkers);
	return ingest->nworkers > 0;
}

double
gr_ingest_work(GrIngest *ingest, GrJobKind kind)
{
	double		work = gr_job_work(kind, ingest->nrows_estimate, ingest->nfeatures_estimate);
	bool		kept = kind == GR_JOB_ROWS && ingest->nrows_estimate * gr_row_nbytes(ingest->nfeatures_estimate, false) <= (double) gr_ring_size * 1024;

	if (kind == GR_JOB_ROWS && !kept)
		work += ingest->nrows_estimate * REREAD_WORK;
	/* rows that are kept are one process's */
	if (!kept && !gr_takes_cpu(work) && gr_device != GR_DEVICE_GPU && gr_plan_ring(ingest))
		work /= 1 + ingest->nworkers;
	return work;
}

void
gr_ingest_prepare(const char *query, Oid function, GrIngest *ingest)
{
	memset(ingest, 0, sizeof(*ingest));
	ingest->query = query;
	ingest->namespace = get_func_namespace(function);
	ingest->plan = gr_prepare_query(query);
	describe_columns(ingest, gr_check_query(ingest->plan));
	ingest->nrows_estimate = gr_estimate_rows(ingest->plan);
	ingest->repeatable = gr_is_repeatable(ingest->plan);
	ingest->real_features = all_real(ingest);
	ingest->single = all_single(ingest);
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

int
gr_write_arguments(const GrIngest *ingest, StringInfo sql, int32 *packed)
{
	bool		pack = ingest->ncolumns > ARGUMENTS_MAX;
	const char *type = ingest->single ? "pg_catalog.float4" : "pg_catalog.float8";
	int			npacked = 0;
	int			n = 0;

	for (int k = 0; k < ingest->ncolumns; k++)
	{
		const GrColumn *column = &ingest->columns[k];
		bool		packs = pack && k > 0 && !OidIsValid(column->element);

		if (npacked > 0 && (!packs || npacked == PACKED))
		{
			appendStringInfoChar(sql, ']');
			packed[n++] = npacked;
			npacked = 0;
		}
		if (!packs)
		{
			appendStringInfo(sql, ", c%d", k);
			packed[n++] = 0;
			continue;
		}
		appendStringInfoString(sql, npacked++ == 0 ? ", ARRAY[" : ", ");
		appendStringInfo(sql, column->type == BOOLOID ? "c%d::pg_catalog.bool::pg_catalog.int4::%s" : "c%d::%s", k, type);
	}
	if (npacked > 0)
	{
		appendStringInfoChar(sql, ']');
		packed[n++] = npacked;
	}
	return n;
}

/* Reads through this process alone, at most nrows_max rows. */
static void
read_here(GrIngest *ingest, const GrJobOptions *options, int64 nrows_max)
{
	IngestReceiver receiver = {
		.pub = {
			.receiveSlot = receive_row,
			.rStartup = gr_receiver_startup,
			.rShutdown = gr_receiver_nothing,
			.rDestroy = gr_receiver_nothing,
			.mydest = DestNone
		},
		.result = ingest,
		.result_context = CurrentMemoryContext,
		.job = *options,
		.nrows_max = nrows_max
	};
	SPIExecuteOptions execute = {.read_only = true,.dest = &receiver.pub};
	int			rc;

	receiver.job.nrows_estimate = ingest->nrows_estimate;
	receiver.row_context = AllocSetContextCreate(CurrentMemoryContext, "gpureg row", ALLOCSET_DEFAULT_SIZES);
	ingest->job = NULL;
	ingest->nskipped = 0;
	rc = SPI_execute_plan_extended(ingest->plan, &execute);
	if (rc < 0)
		elog(ERROR, "SPI_execute_plan_extended failed: %s", SPI_result_code_string(rc));
	MemoryContextSwitchTo(receiver.result_context);
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
	sample.plan = prepare(ingest->query, 0);
	if (starts_at_once(sample.plan))
	{
		Size		nbytes = ingest->ncolumns * sizeof(GrColumn);

		sample.columns = memcpy(palloc(nbytes), ingest->columns, nbytes);
		read_here(&sample, &options, nrows);
		if (sample.job != NULL)
			(void) gr_job_keep(sample.job);
	}
	else
		sample.job = NULL;
	SPI_freeplan(sample.plan);
	return sample.job;
}

char *
gr_bare_statement(const char *query)
{
	RawStmt    *statement = linitial_node(RawStmt, raw_parser(query, RAW_PARSE_DEFAULT));
	int			from = Max(statement->stmt_location, 0);

	/* a length of 0: to the end */
	return pnstrdup(query + from, statement->stmt_len > 0 ? statement->stmt_len : strlen(query + from));
}

/* Of the topmost Gather; one at least, where a plan has it elsewhere than straight below its top */
static int
planned_workers(const Plan *plan)
{
	for (; plan != NULL; plan = plan->lefttree)
	{
		if (IsA(plan, Gather))
			return ((const Gather *) plan)->num_workers;
		if (IsA(plan, GatherMerge))
			return ((const GatherMerge *) plan)->num_workers;
	}
	return 1;
}

int
gr_turn_jit_off(void)
{
	int			nest_level = NewGUCNestLevel();

	(void) set_config_option("jit", "off", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	return nest_level;
}

/*
 * Settings for an aggregate of ours, which is planned once more when it runs; returns the nesting level that ends them. Partitions must not be
 * aggregated one by one: each would leave a block of the ring half full, which holds up the others when there are more partitions than blocks.
 */
static int
aggregate_settings(void)
{
	int			nest_level = gr_turn_jit_off();

	(void) set_config_option("enable_partitionwise_aggregate", "off", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	return nest_level;
}

SPIPlanPtr
gr_plan_aggregate(const char *query, int ncolumns, Oid namespace, const char *aggregate, const char *arguments, int nparams,
				  Oid *types, int *nworkers)
{
	MemoryContext context = CurrentMemoryContext;
	int			nest_level = aggregate_settings();
	StringInfoData sql;
	SPIPlanPtr	plan;
	CachedPlan *cached;

	initStringInfo(&sql);
	/* a line of its own: the statement may end with a comment */
	appendStringInfo(&sql, "SELECT %s.%s(%s) FROM (%s\n) AS q(", quote_identifier(get_namespace_name(namespace)), aggregate,
					 arguments, gr_bare_statement(query));
	for (int k = 0; k < ncolumns; k++)
		appendStringInfo(&sql, "%sc%d", k > 0 ? ", " : "", k);
	appendStringInfoChar(&sql, ')');
	plan = SPI_prepare_cursor(sql.data, nparams, types, CURSOR_OPT_PARALLEL_OK);
	MemoryContextSwitchTo(context);
	if (plan == NULL)
		elog(ERROR, "SPI_prepare_cursor failed: %s", SPI_result_code_string(SPI_result));
	pfree(sql.data);

	*nworkers = 0;
	cached = SPI_plan_get_cached_plan(plan);
	if (cached != NULL)
	{
		if (cached->stmt_list != NIL && linitial_node(PlannedStmt, cached->stmt_list)->parallelModeNeeded)
			*nworkers = planned_workers(linitial_node(PlannedStmt, cached->stmt_list)->planTree);
		ReleaseCachedPlan(cached, NULL);
	}
	AtEOXact_GUC(true, nest_level);
	return plan;
}

Datum
gr_execute_aggregate(SPIPlanPtr plan, Datum *values, bool *isnull)
{
	int			nest_level = aggregate_settings();
	int			rc;

	rc = SPI_execute_plan(plan, values, NULL, true, 0);
	AtEOXact_GUC(true, nest_level);
	if (rc != SPI_OK_SELECT || SPI_processed != 1)
		elog(ERROR, "SPI_execute_plan failed: %s", SPI_result_code_string(rc));
	return SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, isnull);
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
