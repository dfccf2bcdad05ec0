/*
 * keep.c: sends a query's rows to a device service that keeps them; see keep.h.
 *
 * If the planner runs an aggregate over the query in parallel workers, the workers write the rows into a ring in memory
 * shared with the service (gpu_keep_pass). The order of the kept rows is then arbitrary; nothing relies on it: keys of
 * a bootstrap, weights and clusters are columns, and sums in another order differ in their last digits at most.
 * Otherwise, as for a query with ORDER BY or LIMIT, this process reads the rows in the plan's order. The query is read
 * once; the description has the levels of factors in their sort order.
 */
#include "postgres.h"

#include <math.h>

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "executor/tuptable.h"
#include "libpq/pqformat.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "optimizer/cost.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "compute/design/filter_constant.h"
#include "rows/columns/levels.h"
#include "rows/kept/keep.h"
#include "rows/kept/kept_set.h"
#include "rows/query/query.h"
#include "rows/query/wrapper.h"
#include "rows/ring/ring_consumer.h"
#include "rows/state/boot_key.h"
#include "run/clock.h"
#include "run/compat.h"
#include "run/job.h"
#include "run/raise.h"
#include "run/report.h"

#define LEVEL_NBYTES 12			/* bytes of a level in a description besides its text: a length and a number */

typedef struct KeepReceiver
{
	GrReceiver	base;
	GrJob	   *job;
	GrKeepColumns *columns;
	MemoryContext row_context;	/* reset after each row */
} KeepReceiver;

/*
 * Columns
 */

static void
describe_column(GrKeepColumn *column, const char *name, Oid type)
{
	column->type = getBaseType(type);
	column->keys = true;
	column->digits = GR_FILTER_ALL_DIGITS;
	column->low = INFINITY;
	column->high = -INFINITY;
	if (gr_is_category_type(column->type))
		column->kind = GR_KEPT_FACTOR;
	else if (gr_is_number_type(column->type) && gr_describe_value(&column->column, type))
		column->kind = column->type == BOOLOID ? GR_KEPT_BOOLEAN : GR_KEPT_NUMBER;
	else
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("column \"%s\" of the query has unsupported type %s", name, format_type_be(type)),
				 errdetail("Columns of kept rows must be numbers, booleans, texts or enums."),
				 OidIsValid(get_element_type(column->type)) ?
				 errhint("Select its elements as separate columns, as in %s[1] AS x1.", quote_identifier(name)) :
				 errhint("Cast the column in the query: to a number, or to text if it is a category.")));
	column->column.name = name;
}

GrKeepColumns *
gr_keep_columns(MemoryContext context, int n, const Oid *types, const char *const *names)
{
	GrKeepColumns *columns = MemoryContextAllocZero(context,
													offsetof(GrKeepColumns, column) + n * sizeof(GrKeepColumn));

	columns->context = context;
	columns->names = names;
	columns->n = n;
	for (int k = 0; k < n; k++)
		describe_column(&columns->column[k], names[k], types[k]);
	return columns;
}

static void
check_names(const GrQuery *query)
{
	for (int k = 0; k < query->columns->natts; k++)
		for (int j = 0; j < k; j++)
			if (strcmp(query->names[j], query->names[k]) == 0)
				ereport(ERROR,
						(errcode(ERRCODE_DUPLICATE_COLUMN),
						 errmsg("query has several columns \"%s\"", query->names[k]),
						 errhint("Rename all of them but one with AS: fits to kept rows find columns by name.")));
}

static GrKeepColumns *
describe_columns(const GrQuery *query)
{
	int			n = query->columns->natts;
	Oid		   *types = palloc(Max(n, 1) * sizeof(Oid));

	if (n < 2)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("query must return at least two columns"),
				 errhint("Select at least a response and a feature.")));
	check_names(query);
	for (int k = 0; k < n; k++)
		types[k] = TupleDescAttr(query->columns, k)->atttypid;
	return gr_keep_columns(CurrentMemoryContext, n, types, query->names);
}

/*
 * Levels
 */

static void
check_level(const GrKeepColumns *columns, int k, GrString level)
{
	if (level.nbytes > GR_LEVEL_NBYTES_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("column \"%s\" of the query has a level of more than %d bytes", columns->names[k],
						GR_LEVEL_NBYTES_MAX),
				 errdetail("The level begins with \"%s\".", gr_show_level(level)),
				 errhint("A text column is a factor, and its levels are terms. Turn it into numbers or shorter texts "
						 "in the query.")));
	if (columns->levels_nbytes > (Size) GR_KEEP_LEVELS_MB << 20)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("column \"%s\" of the query has levels that take too much memory", columns->names[k]),
				 errdetail("The levels of all columns of kept rows may take at most %d MB together.",
						   GR_KEEP_LEVELS_MB),
				 errhint("Leave out columns with long texts, or turn them into numbers or shorter texts in the "
						 "query.")));
	if (columns->column[k].levels.n > GR_MAX_FEATURES)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("column \"%s\" of the query has too many levels", columns->names[k]),
				 errdetail("Each level of a factor except the first is a term, and a model can have at most %d terms.",
						   GR_MAX_FEATURES),
				 errhint("Leave the column out, or merge its levels in the query.")));
}

/* Makes room for another level's number in column->codes, whose size doubles at powers of two. */
static void
make_room(const GrKeepColumns *columns, GrKeepColumn *column)
{
	int			n = column->levels.n;

	if (column->codes == NULL)
		column->codes = MemoryContextAlloc(columns->context, sizeof(double));
	else if ((n & (n - 1)) == 0)
		column->codes = repalloc(column->codes, 2 * (Size) n * sizeof(double));
}

/* Adds a new level to column k, and returns the number that stands for it. */
static double
add_level(GrKeepColumns *columns, int k, GrString level)
{
	GrKeepColumn *column = &columns->column[k];
	char	   *copy;

	columns->levels_nbytes += LEVEL_NBYTES + level.nbytes;
	check_level(columns, k, level);
	make_room(columns, column);
	column->codes[column->levels.n] = (double) gr_boot_text_key(level.bytes, level.nbytes);
	copy = MemoryContextAlloc(columns->context, level.nbytes + 1);
	memcpy(copy, level.bytes, level.nbytes);
	level.bytes = copy;
	if (!gr_level_add(&column->levels, level, gr_context_memory(columns->context)))
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory")));
	return column->codes[column->levels.n - 1];
}

double
gr_keep_level(GrKeepColumns *columns, int k, Datum value)
{
	GrKeepColumn *column = &columns->column[k];
	GrString	level = gr_level_of(column->type, value);
	int			found = gr_level_find(&column->levels, level.bytes, level.nbytes);

	return likely(found >= 0) ? column->codes[found] : add_level(columns, k, level);
}

/*
 * Numerics
 */

/* Returns the number of digits in a numeric's text, without leading and trailing zeros. */
static int
significant_digits(const char *text)
{
	int			n = 0;
	int			nzeros = 0;

	for (; *text != '\0'; text++)
	{
		if (*text < '0' || *text > '9' || (*text == '0' && n == 0))
			continue;
		nzeros = *text == '0' ? nzeros + 1 : 0;
		n++;
	}
	return n - nzeros;
}

double
gr_keep_numeric(GrKeepColumn *column, Datum value)
{
	char	   *text = DatumGetCString(DirectFunctionCall1(numeric_out, value));
	double		number = DatumGetFloat8(DirectFunctionCall1(float8in, CStringGetDatum(text)));

	if (isfinite(number))
		column->digits = gr_filter_digits(column->digits, significant_digits(text), number);
	pfree(text);
	return number;
}

/*
 * Messages between processes of one server
 */

void
gr_keep_send(const GrKeepColumns *columns, StringInfo to)
{
	pq_sendint32(to, columns->n);
	for (int k = 0; k < columns->n; k++)
	{
		const GrKeepColumn *column = &columns->column[k];

		pq_sendbyte(to, column->kind);
		pq_sendbyte(to, column->nulls);
		pq_sendbyte(to, column->keys);
		pq_sendbyte(to, column->digits);
		pq_sendfloat8(to, column->low);
		pq_sendfloat8(to, column->high);
		pq_sendint32(to, column->levels.n);
		CHECK_FOR_INTERRUPTS();
		for (int i = 0; i < column->levels.n; i++)
		{
			pq_sendint32(to, column->levels.level[i].nbytes);
			pq_sendbytes(to, column->levels.level[i].bytes, column->levels.level[i].nbytes);
		}
	}
}

static void
merge_column(GrKeepColumns *columns, int k, StringInfo from)
{
	GrKeepColumn *column = &columns->column[k];
	double		low;
	double		high;
	int			digits;
	int			nlevels;

	if (pq_getmsgbyte(from) != (int) column->kind)
		elog(ERROR, "column %d of kept rows is of another kind", k);
	column->nulls |= pq_getmsgbyte(from) != 0;
	column->keys &= pq_getmsgbyte(from) != 0;
	digits = pq_getmsgbyte(from);
	column->digits = Min(column->digits, digits);
	low = pq_getmsgfloat8(from);
	high = pq_getmsgfloat8(from);
	column->low = Min(column->low, low);
	column->high = Max(column->high, high);
	nlevels = pq_getmsgint(from, 4);
	for (int i = 0; i < nlevels; i++)
	{
		int			nbytes = pq_getmsgint(from, 4);
		GrString	level = {pq_getmsgbytes(from, nbytes), nbytes};

		if (gr_level_find(&column->levels, level.bytes, level.nbytes) < 0)
			(void) add_level(columns, k, level);
	}
}

void
gr_keep_merge(GrKeepColumns *columns, StringInfo from)
{
	while (from->cursor < from->len)
	{
		int			n = pq_getmsgint(from, 4);

		if (n != columns->n)
			elog(ERROR, "kept rows have %d columns instead of %d", n, columns->n);
		for (int k = 0; k < n; k++)
		{
			CHECK_FOR_INTERRUPTS();
			merge_column(columns, k, from);
		}
	}
}

/*
 * Rows that this process reads
 */

static bool
receive_row(TupleTableSlot *slot, DestReceiver *self)
{
	KeepReceiver *receiver = (KeepReceiver *) self;
	double	   *row = gr_job_row(receiver->job);
	MemoryContext old = MemoryContextSwitchTo(receiver->row_context);

	slot_getallattrs(slot);
	for (int k = 0; k < receiver->columns->n; k++)
		row[k] = gr_keep_value(receiver->columns, k, slot->tts_values[k], slot->tts_isnull[k]);
	MemoryContextSwitchTo(old);
	MemoryContextReset(receiver->row_context);
	gr_job_take_row(receiver->job);
	return true;
}

static GrJob *
read_here(const GrPlan *plan, const GrJobOptions *options, GrKeepColumns *columns)
{
	KeepReceiver receiver = {.base.pub.receiveSlot = receive_row,.job = gr_job_begin(options),.columns = columns};

	receiver.row_context = AllocSetContextCreate(CurrentMemoryContext, "gpureg row", ALLOCSET_DEFAULT_SIZES);
	gr_run_plan(plan, NULL, &receiver.base, 0);
	return receiver.job;
}

/*
 * Rows that parallel workers read
 */

/* Plans SELECT gpu_keep_pass(ring, names, columns ..) FROM (query). NULL if the plan has no parallel workers. */
static GrPlan *
plan_pass(const GrQuery *query, Oid function, int *nworkers)
{
	Oid			types[GR_KEEP_NPARAMS + 1] = {BYTEAOID, TEXTARRAYOID, ANYOID};
	List	   *args = NIL;
	GrWrapper	wrapper;
	GrPlan	   *plan;

	/* parallel mode allows no subtransaction, which makes a ring; the 1 argument more is the state */
	if (max_parallel_workers_per_gather == 0 || IsInParallelMode() ||
		query->columns->natts + GR_KEEP_NPARAMS + 1 > FUNC_MAX_ARGS)
		return NULL;
	for (int k = 0; k < GR_KEEP_NPARAMS; k++)
		args = lappend(args, gr_wrapper_parameter(k + 1, types[k]));
	gr_wrap_query(&wrapper, query);
	for (int k = 0; k < query->columns->natts; k++)
		args = lappend(args, gr_wrapped_column(&wrapper, k));
	gr_wrapper_select(&wrapper, gr_wrapper_aggregate(&wrapper, gr_own_function(function, "gpu_keep_pass",
																			  GR_KEEP_NPARAMS + 1, types, BYTEAOID),
													 args));
	plan = gr_plan_wrapped_aggregate(&wrapper, nworkers);
	return *nworkers > 0 ? plan : NULL;
}

static Datum
names_datum(const GrKeepColumns *columns)
{
	Datum	   *names = palloc(columns->n * sizeof(Datum));

	for (int k = 0; k < columns->n; k++)
		names[k] = CStringGetTextDatum(columns->names[k]);
	return PointerGetDatum(construct_array(names, columns->n, TEXTOID, -1, false, TYPALIGN_INT));
}

/* Reads the rows by a plan of gpu_keep_pass, and merges its result into columns. NULL without room for a ring. */
static GrJob *
read_by_workers(const GrPlan *plan, int nworkers, const GrJobOptions *options, GrKeepColumns *columns)
{
	NullableDatum told = {0};
	GrJob	   *job = gr_ring_keep(plan, nworkers, options, names_datum(columns), &told);
	StringInfoData from;
	bytea	   *bytes;

	if (job == NULL || told.isnull)
		return job;
	bytes = DatumGetByteaPP(told.value);
	initStringInfo(&from);
	appendBinaryStringInfo(&from, VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes));
	gr_keep_merge(columns, &from);
	return job;
}

/*
 * The whole of gpu_keep()
 */

typedef struct CodedLevel
{
	double		code;
	GrString	level;
} CodedLevel;

static int
compare_codes(const void *a, const void *b)
{
	double		u = ((const CodedLevel *) a)->code;
	double		v = ((const CodedLevel *) b)->code;

	return u < v ? -1 : u > v;
}

/* ERROR if two levels have the same number, a hash. This happens only with a billion levels or on purpose. */
static void
check_codes(const GrKeepColumn *column, const char *name)
{
	int			n = column->levels.n;
	CodedLevel *coded = palloc(Max(n, 1) * sizeof(CodedLevel));

	for (int k = 0; k < n; k++)
		coded[k] = (CodedLevel) {column->codes[k], column->levels.level[k]};
	qsort(coded, n, sizeof(CodedLevel), compare_codes);
	for (int k = 1; k < n; k++)
		if (coded[k - 1].code == coded[k].code)
			ereport(ERROR,
					(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					 errmsg("two levels of column \"%s\" of the query have the same hash", name),
					 errdetail("The levels are \"%s\" and \"%s\".", gr_show_level(coded[k - 1].level),
							   gr_show_level(coded[k].level)),
					 errhint("Rename one of the two levels in the query, as with CASE.")));
}

/* Copies a factor's levels to kept in their sort order, with the numbers that stand for them. */
static void
order_levels(GrKeptColumn *kept, const GrKeepColumn *column, Form_pg_attribute attribute)
{
	const GrLevels *came = &column->levels;
	Datum	   *items = palloc(Max(came->n, 1) * sizeof(Datum));

	for (int k = 0; k < came->n; k++)
		items[k] = PointerGetDatum(cstring_to_text_with_len(came->level[k].bytes, came->level[k].nbytes));
	gr_sort_levels(&kept->levels, items, came->n, attribute);
	kept->codes = palloc(Max(came->n, 1) * sizeof(double));
	for (int k = 0; k < came->n; k++)
		kept->codes[k] = column->codes[gr_level_find(came, kept->levels.level[k].bytes, kept->levels.level[k].nbytes)];
}

/* True if texts of this column can be equal though their bytes differ. */
static bool
has_loose_collation(const FormData_pg_attribute *attribute)
{
	return OidIsValid(attribute->attcollation) && !get_collation_isdeterministic(attribute->attcollation);
}

/* Writes the columns' description. Returns the length of its part with the names, as gr_describe_kept() does. */
static Size
describe(const GrKeepColumns *columns, const GrQuery *query, StringInfo description)
{
	GrKeptColumn *kept = palloc0(columns->n * sizeof(GrKeptColumn));

	for (int k = 0; k < columns->n; k++)
	{
		const GrKeepColumn *column = &columns->column[k];

		CHECK_FOR_INTERRUPTS();
		kept[k].name = columns->names[k];
		kept[k].kind = column->kind;
		kept[k].type = column->type;
		kept[k].digits = column->digits;
		kept[k].collated = has_loose_collation(TupleDescAttr(query->columns, k));
		kept[k].nulls = column->nulls;
		kept[k].keys = column->keys;
		/* low > high if the column has no value */
		kept[k].center = column->low <= column->high ? column->low / 2 + column->high / 2 : 0;
		if (column->kind != GR_KEPT_FACTOR)
			continue;
		check_codes(column, columns->names[k]);
		order_levels(&kept[k], column, TupleDescAttr(query->columns, k));
	}
	return gr_describe_kept(description, columns->n, kept);
}

/* Runs the query and sends its rows to a job at the service. */
static GrJob *
read_rows(const GrPlan *plan, const GrPlan *pass, int nworkers, const GrJobOptions *options, GrKeepColumns *columns)
{
	GrJob	   *job = pass == NULL ? NULL : read_by_workers(pass, nworkers, options, columns);

	if (job == NULL)
		job = read_here(plan, options, columns);
	if (job->nrows == 0)
		ereport(ERROR,
				(errcode(ERRCODE_NO_DATA_FOUND),
				 errmsg("query returned no row"),
				 errhint("Run the query by itself to see what it returns.")));
	return job;
}

int64
gr_keep_query(FunctionCallInfo fcinfo, const char *name, const char *text, bool replace)
{
	double		started = gr_now();
	const char *reason = NULL;
	int			nworkers = 0;
	StringInfoData description;
	GrKeptContents	rows = {.query = text,.description = &description};
	ErrorContextCallback context;
	GrKeepColumns *columns;
	GrRemoteClient *client;
	GrKeptClaim *claim;
	GrQuery    *query;
	GrPlan	   *plan;
	GrPlan	   *pass;
	GrJobOptions options;
	GrJob	   *job;
	double		read_done;

	gr_enter_query(&context, text);
	query = gr_analyse_query(text);
	columns = describe_columns(query);
	plan = gr_plan_query(query, CURSOR_OPT_PARALLEL_OK);
	pass = plan->remote ? NULL : plan_pass(query, fcinfo->flinfo->fn_oid, &nworkers);
	/* planning may run user code that changes settings: connect after it; from then on the job keeps the connection */
	gr_check_not_lent();
	client = gr_keeping_service(&reason);
	if (client == NULL)
		gr_raise_no_service(reason);
	claim = gr_kept_claim(name, replace, client);
	options = (GrJobOptions) {
		.kind = GR_SINK_KEEP,.shape = gr_plain_shape(columns->n - 1),.names = columns->names,.keeper = client,
		.stay = claim->stay
	};
	job = read_rows(plan, pass, nworkers, &options, columns);
	gr_leave_query(&context);
	initStringInfo(&description);
	rows.names_nbytes = describe(columns, query, &description);
	gr_job_store(job, claim->id, description.len);
	read_done = gr_now();
	rows.nrows = job->nrows;
	rows.nbytes = job->nrows * gr_row_nbytes(job->shape) + description.len;
	gr_kept_publish(claim, &rows);
	gr_record_run("gpu_keep", job, started, read_done, gr_now());
	gr_job_release(job);
	return job->nrows;
}
