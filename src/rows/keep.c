/*
 * keep.c: a query's rows -> rows that a device service keeps; see keep.h.
 *
 * This process reads them, as the query's plan gives them, perhaps from parallel workers of its own. A level of a
 * factor gets its number where it is first met, so that the query is read once; the description has the levels in
 * their order.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "executor/tuptable.h"
#include "nodes/parsenodes.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "rows/columns.h"
#include "rows/keep.h"
#include "rows/kept_set.h"
#include "rows/levels.h"
#include "rows/query.h"
#include "run/clock.h"
#include "run/job.h"
#include "run/raise.h"
#include "run/report.h"

/* A column on its way */
typedef struct KeepColumn
{
	GrKeptColumn kept;			/* its levels stand in the order in which they came */
	GrColumn	column;			/* of numbers and booleans */
	Oid			type;			/* no domain */
	double		low;
	double		high;
} KeepColumn;

typedef struct KeepReceiver
{
	GrReceiver	base;
	GrJob	   *job;
	int			n;
	KeepColumn *columns;
	const char *const *names;
	MemoryContext context;		/* owns the levels */
	MemoryContext row_context;	/* reset after each row */
} KeepReceiver;

/*
 * Columns
 */

static void
check_names(const GrQuery *query)
{
	for (int k = 0; k < query->columns->natts; k++)
		for (int j = 0; j < k; j++)
			if (strcmp(query->names[j], query->names[k]) == 0)
				ereport(ERROR,
						(errcode(ERRCODE_DUPLICATE_COLUMN),
						 errmsg("query has several columns \"%s\"", query->names[k]),
						 errhint("Columns of kept rows are told by their names: give them different ones.")));
}

static void
describe_column(const GrQuery *query, int k, KeepColumn *column)
{
	Oid			type = TupleDescAttr(query->columns, k)->atttypid;

	column->kept.name = query->names[k];
	column->type = getBaseType(type);
	column->low = INFINITY;
	column->high = -INFINITY;
	if (gr_is_category_type(column->type))
		column->kept.kind = GR_KEPT_FACTOR;
	else if (gr_is_number_type(column->type) && gr_describe_value(&column->column, type))
		column->kept.kind = column->type == BOOLOID ? GR_KEPT_BOOLEAN : GR_KEPT_NUMBER;
	else
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("column \"%s\" of the query has type %s", query->names[k], format_type_be(type)),
				 errdetail("Kept rows are of numbers, booleans, texts or enums."),
				 OidIsValid(get_element_type(column->type)) ?
				 errhint("Select its elements one by one, as %s[1] AS x1.", quote_identifier(query->names[k])) :
				 errhint("Cast it: to a number, or to text if it is a category.")));
	column->column.name = query->names[k];
}

static KeepColumn *
describe_columns(const GrQuery *query)
{
	int			n = query->columns->natts;
	KeepColumn *columns = palloc0(Max(n, 1) * sizeof(KeepColumn));

	if (n < 2)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("query must return at least two columns"),
				 errhint("A fit to kept rows has a response and a feature among them.")));
	check_names(query);
	for (int k = 0; k < n; k++)
		describe_column(query, k, &columns[k]);
	return columns;
}

/*
 * Rows
 */

static void
check_level(const KeepColumn *column, GrString level)
{
	if (level.nbytes > GR_LEVEL_NBYTES_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("column \"%s\" of the query has a level of more than %d bytes", column->kept.name,
						GR_LEVEL_NBYTES_MAX),
				 errdetail("It begins with \"%s\".", gr_show_level(level)),
				 errhint("Texts are factors, whose levels are terms. Turn it into numbers or shorter levels in the "
						 "query.")));
	if (column->kept.levels.n > GR_MAX_FEATURES)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("column \"%s\" of the query has too many levels", column->kept.name),
				 errdetail("Each level but the first of a factor is a term, of which a model can have at most %d.",
						   GR_MAX_FEATURES),
				 errhint("Leave the column out, or group its levels in the query.")));
}

/* The number that stands for a value's level */
static double
code_of(KeepReceiver *receiver, KeepColumn *column, Datum value)
{
	GrString	level = gr_level_of(column->type, value);
	int			found = gr_level_find(&column->kept.levels, level.bytes, level.nbytes);
	char	   *copy;

	if (likely(found >= 0))
		return found;
	check_level(column, level);
	copy = MemoryContextAlloc(receiver->context, level.nbytes + 1);
	memcpy(copy, level.bytes, level.nbytes);
	level.bytes = copy;
	if (!gr_level_add(&column->kept.levels, level, gr_context_memory(receiver->context)))
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory")));
	return column->kept.levels.n - 1;
}

static double
number_of(KeepReceiver *receiver, int k, Datum value)
{
	KeepColumn *column = &receiver->columns[k];
	double		number;

	(void) gr_convert_value(&column->column, value, &number);
	if (unlikely(!isfinite(number)))
		gr_raise_columns(&(GrError) {.status = GR_NOT_FINITE,.where = k}, receiver->n, receiver->names);
	column->low = Min(column->low, number);
	column->high = Max(column->high, number);
	return number;
}

static bool
receive_row(TupleTableSlot *slot, DestReceiver *self)
{
	KeepReceiver *receiver = (KeepReceiver *) self;
	double	   *row = gr_job_row(receiver->job);
	MemoryContext old = MemoryContextSwitchTo(receiver->row_context);

	slot_getallattrs(slot);
	for (int k = 0; k < receiver->n; k++)
	{
		KeepColumn *column = &receiver->columns[k];

		if (slot->tts_isnull[k])
		{
			column->kept.nulls = true;
			row[k] = NAN;
		}
		else if (column->kept.kind == GR_KEPT_FACTOR)
			row[k] = code_of(receiver, column, slot->tts_values[k]);
		else
			row[k] = number_of(receiver, k, slot->tts_values[k]);
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(receiver->row_context);
	gr_job_take_row(receiver->job);
	return true;
}

/*
 * All of it
 */

/* A factor's levels in their order, and the numbers that they have got */
static void
order_levels(GrKeptColumn *column, Form_pg_attribute attribute)
{
	GrLevels	came = column->levels;
	Datum	   *items = palloc(Max(came.n, 1) * sizeof(Datum));

	for (int k = 0; k < came.n; k++)
		items[k] = PointerGetDatum(cstring_to_text_with_len(came.level[k].bytes, came.level[k].nbytes));
	memset(&column->levels, 0, sizeof(column->levels));
	gr_sort_levels(&column->levels, items, came.n, attribute);
	column->codes = palloc(Max(came.n, 1) * sizeof(double));
	for (int k = 0; k < came.n; k++)
		column->codes[k] = gr_level_find(&came, column->levels.level[k].bytes, column->levels.level[k].nbytes);
}

static void
describe(const KeepReceiver *receiver, const GrQuery *query, StringInfo description)
{
	GrKeptColumn *columns = palloc(receiver->n * sizeof(GrKeptColumn));

	for (int k = 0; k < receiver->n; k++)
	{
		const KeepColumn *column = &receiver->columns[k];

		columns[k] = column->kept;
		/* without a value there is none */
		columns[k].center = column->low <= column->high ? column->low / 2 + column->high / 2 : 0;
		if (columns[k].kind == GR_KEPT_FACTOR)
			order_levels(&columns[k], TupleDescAttr(query->columns, k));
	}
	gr_describe_kept(description, receiver->n, columns);
}

/* Runs the plan into a job at the service. */
static void
read_rows(KeepReceiver *receiver, const GrPlan *plan, GrRemoteClient *client)
{
	GrJobOptions options = {
		.kind = GR_SINK_KEEP,.shape = gr_plain_shape(receiver->n - 1),.names = receiver->names,.keeper = client
	};

	receiver->job = gr_job_begin(&options);
	receiver->context = CurrentMemoryContext;
	receiver->row_context = AllocSetContextCreate(CurrentMemoryContext, "gpureg row", ALLOCSET_DEFAULT_SIZES);
	gr_run_plan(plan, NULL, &receiver->base, 0);
	if (receiver->job->nrows == 0)
		ereport(ERROR,
				(errcode(ERRCODE_NO_DATA_FOUND),
				 errmsg("query returned no row")));
}

int64
gr_keep_query(const char *function, const char *name, const char *text, bool replace)
{
	KeepReceiver receiver = {.base.pub.receiveSlot = receive_row};
	double		started = gr_now();
	const char *reason = NULL;
	StringInfoData description;
	ErrorContextCallback context;
	GrRemoteClient *client;
	GrKeptClaim *claim;
	GrQuery    *query;
	GrPlan	   *plan;
	double		read_done;

	gr_enter_query(&context, text);
	query = gr_analyse_query(text);
	receiver.n = query->columns->natts;
	receiver.columns = describe_columns(query);
	receiver.names = query->names;
	plan = gr_plan_query(query, CURSOR_OPT_PARALLEL_OK);
	/* planning may run anything, the rest up to the job nothing: a job keeps the connection, whatever is set */
	gr_check_not_lent();
	client = gr_keeping_service(&reason);
	if (client == NULL)
		gr_raise_no_service(reason);
	claim = gr_kept_claim(name, replace, client);
	read_rows(&receiver, plan, client);
	gr_leave_query(&context);
	initStringInfo(&description);
	describe(&receiver, query, &description);
	gr_job_store(receiver.job, claim->id);
	read_done = gr_now();
	gr_kept_publish(claim, text, receiver.job->nrows, receiver.job->nrows * gr_row_nbytes(receiver.job->shape),
					&description);
	gr_record_run(function, receiver.job, started, read_done, gr_now());
	gr_job_release(receiver.job);
	return receiver.job->nrows;
}
