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
#include "nodes/nodeFuncs.h"
#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"
#include "tcop/dest.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/plancache.h"
#include "utils/resowner.h"

#include "args.h"
#include "ingest.h"

/* One column of the query. */
typedef struct IngestColumn
{
	Oid			type;			/* of the values: domains are looked through */
	Oid			element;		/* of an array's elements, or InvalidOid */
	int			width;			/* features it gives; -1 until the first array was seen */
} IngestColumn;

typedef struct IngestReceiver
{
	DestReceiver pub;
	GrIngest   *result;
	TupleDesc	tupdesc;
	int			ncolumns;
	IngestColumn *columns;
	double		nrows_estimate;
	MemoryContext result_context;	/* owns the job and the names */
	MemoryContext row_context;	/* reset after each row */
} IngestReceiver;

static bool
is_number_type(Oid type)
{
	return type == FLOAT8OID || type == FLOAT4OID || type == INT2OID || type == INT4OID || type == INT8OID ||
		type == NUMERICOID || type == BOOLOID;
}

static double
number_from_datum(Datum value, Oid type)
{
	switch (type)
	{
		case FLOAT8OID:
			return DatumGetFloat8(value);
		case FLOAT4OID:
			return DatumGetFloat4(value);
		case INT2OID:
			return DatumGetInt16(value);
		case INT4OID:
			return DatumGetInt32(value);
		case INT8OID:
			return (double) DatumGetInt64(value);
		case BOOLOID:
			return DatumGetBool(value) ? 1.0 : 0.0;
		case NUMERICOID:
			return DatumGetFloat8(DirectFunctionCall1(numeric_float8, value));
		default:
			elog(ERROR, "unexpected type %u", type);
	}
	return 0;
}

static void
describe_columns(IngestReceiver *receiver, TupleDesc tupdesc)
{
	receiver->tupdesc = tupdesc;
	receiver->ncolumns = tupdesc->natts;
	receiver->columns = palloc0(tupdesc->natts * sizeof(IngestColumn));
	if (tupdesc->natts < 2)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("query must return at least two columns"),
				 errdetail("It returns %d.", tupdesc->natts),
				 errhint("The first column is the response, the others are the features.")));
	for (int k = 0; k < tupdesc->natts; k++)
	{
		Form_pg_attribute attribute = TupleDescAttr(tupdesc, k);
		IngestColumn *column = &receiver->columns[k];

		column->type = getBaseType(attribute->atttypid);
		column->element = get_element_type(column->type);
		column->width = 1;
		if (OidIsValid(column->element))
		{
			column->element = getBaseType(column->element);
			column->width = -1;
		}
		if (!is_number_type(OidIsValid(column->element) ? column->element : column->type) ||
			(k == 0 && OidIsValid(column->element)))
			ereport(ERROR,
					(errcode(ERRCODE_DATATYPE_MISMATCH),
					 errmsg("column \"%s\" of the query has type %s", NameStr(attribute->attname),
							format_type_be(attribute->atttypid)),
					 errdetail(k == 0 ? "The response must be a number or a boolean."
							   : "Features must be numbers, booleans or arrays of them."),
					 errhint("Cast it, or turn a category into 0/1 columns such as (cut = 'Ideal')::int.")));
	}
}

/* The terms' names: a column's own, and name[i] for the elements of an array. */
static void
name_terms(IngestReceiver *receiver)
{
	GrIngest   *result = receiver->result;
	int			n = 0;

	result->names = palloc((result->nfeatures + 1) * sizeof(char *));
	for (int k = 1; k < receiver->ncolumns; k++)
	{
		const char *name = NameStr(TupleDescAttr(receiver->tupdesc, k)->attname);

		if (!OidIsValid(receiver->columns[k].element))
			result->names[n++] = pstrdup(name);
		else
			for (int i = 0; i < receiver->columns[k].width; i++)
				result->names[n++] = psprintf("%s[%d]", name, i + 1);
	}
	result->names[n] = pstrdup(NameStr(TupleDescAttr(receiver->tupdesc, 0)->attname));
	Assert(n == result->nfeatures);
}

/* At the first complete row: now the arrays' lengths are known. */
static void
begin_job(IngestReceiver *receiver, TupleTableSlot *slot)
{
	GrIngest   *result = receiver->result;
	MemoryContext old = MemoryContextSwitchTo(receiver->row_context);
	int64		nfeatures = 0;

	for (int k = 1; k < receiver->ncolumns; k++)
	{
		IngestColumn *column = &receiver->columns[k];

		if (OidIsValid(column->element))
		{
			ArrayType  *array = DatumGetArrayTypeP(slot->tts_values[k]);

			column->width = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
		}
		nfeatures += column->width;
	}
	MemoryContextSwitchTo(receiver->result_context);
	gr_check_nfeatures(nfeatures);
	result->nfeatures = (int) nfeatures;
	name_terms(receiver);
	result->job = gr_job_begin(result->nfeatures, receiver->nrows_estimate, result->names);
	MemoryContextSwitchTo(old);
}

/* An array's elements into *into; false if one is NULL. */
static bool
take_array(IngestReceiver *receiver, int k, Datum value, double *into)
{
	IngestColumn *column = &receiver->columns[k];
	ArrayType  *array = DatumGetArrayTypeP(value);
	int			n = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	const char *name = NameStr(TupleDescAttr(receiver->tupdesc, k)->attname);
	int16		typlen;
	bool		typbyval;
	char		typalign;
	Datum	   *items;

	gr_check_vector(array, name);
	if (n != column->width)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("all arrays in column \"%s\" must have the same length", name),
				 errdetail("A row has %d elements, earlier ones have %d.", n, column->width)));
	if (array_contains_nulls(array))
		return false;
	if (column->element == FLOAT8OID)
	{
		memcpy(into, ARR_DATA_PTR(array), n * sizeof(double));
		return true;
	}
	get_typlenbyvalalign(column->element, &typlen, &typbyval, &typalign);
	/* the array may be one of a domain over the element's type */
	deconstruct_array(array, ARR_ELEMTYPE(array), typlen, typbyval, typalign, &items, NULL, &n);
	for (int i = 0; i < n; i++)
		into[i] = number_from_datum(items[i], column->element);
	return true;
}

/* Converts a row into *into, features first; false if there is a NULL in an array. */
static bool
convert_row(IngestReceiver *receiver, TupleTableSlot *slot, double *into)
{
	double	   *at = into;

	for (int k = 1; k < receiver->ncolumns; k++)
	{
		const IngestColumn *column = &receiver->columns[k];

		if (column->type == FLOAT8OID)
			*at = DatumGetFloat8(slot->tts_values[k]);
		else if (!OidIsValid(column->element))
			*at = number_from_datum(slot->tts_values[k], column->type);
		else if (!take_array(receiver, k, slot->tts_values[k], at))
			return false;
		at += column->width;
	}
	*at = number_from_datum(slot->tts_values[0], receiver->columns[0].type);
	return true;
}

static bool
receive_row(TupleTableSlot *slot, DestReceiver *self)
{
	IngestReceiver *receiver = (IngestReceiver *) self;
	GrIngest   *result = receiver->result;
	MemoryContext old;

	slot_getallattrs(slot);
	for (int k = 0; k < receiver->ncolumns; k++)
	{
		if (slot->tts_isnull[k])
		{
			result->nskipped++;
			return true;
		}
	}
	if (result->job == NULL)
		begin_job(receiver, slot);
	old = MemoryContextSwitchTo(receiver->row_context);
	if (convert_row(receiver, slot, gr_job_row(result->job)))
		gr_job_take_row(result->job);
	else
		result->nskipped++;
	MemoryContextSwitchTo(old);
	MemoryContextReset(receiver->row_context);
	return true;
}

static void
receiver_startup(DestReceiver *self, int operation, TupleDesc typeinfo)
{
	(void) self;
	(void) operation;
	(void) typeinfo;
}

static void
receiver_nothing(DestReceiver *self)
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

/* ERROR unless the plan is one SELECT that doesn't write; else its row type. */
static TupleDesc
check_plan(SPIPlanPtr plan)
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
				 errdetail("Only statements that return rows and change nothing can be fitted.")));
	if (query->hasModifyingCTE || locks_rows((Node *) query, NULL))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("query must not write or lock rows"),
				 errdetail("It has a data-modifying WITH or a FOR UPDATE or SHARE clause.")));
	return source->resultDesc;
}

/* The planner's word on how many rows will come. */
static double
estimate_rows(SPIPlanPtr plan)
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

void
gr_ingest_query(const char *query, GrIngest *result)
{
	IngestReceiver receiver = {
		.pub = {
			.receiveSlot = receive_row,
			.rStartup = receiver_startup,
			.rShutdown = receiver_nothing,
			.rDestroy = receiver_nothing,
			.mydest = DestNone
		},
		.result = result,
		.result_context = CurrentMemoryContext
	};
	SPIExecuteOptions options = {.read_only = true,.dest = &receiver.pub};
	SPIPlanPtr	plan = SPI_prepare_cursor(query, 0, NULL, CURSOR_OPT_PARALLEL_OK);
	int			rc;

	memset(result, 0, sizeof(*result));
	if (plan == NULL)
		elog(ERROR, "SPI_prepare_cursor failed: %s", SPI_result_code_string(SPI_result));
	describe_columns(&receiver, check_plan(plan));
	if (gr_device == GR_DEVICE_AUTO)
		receiver.nrows_estimate = estimate_rows(plan);
	receiver.row_context = AllocSetContextCreate(CurrentMemoryContext, "gpureg row", ALLOCSET_DEFAULT_SIZES);

	rc = SPI_execute_plan_extended(plan, &options);
	if (rc < 0)
		elog(ERROR, "SPI_execute_plan_extended failed: %s", SPI_result_code_string(rc));
	/* SPI leaves its own context current, which ends with SPI_finish() */
	MemoryContextSwitchTo(receiver.result_context);
	result->nrows = result->job == NULL ? 0 : result->job->nrows;
	MemoryContextDelete(receiver.row_context);
}
