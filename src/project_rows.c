/*
 * project_rows.c: gpu_project_rows(): a query's vectors, projected batch by batch as they are read.
 *
 * Rows come through a DestReceiver. Vectors go into the backend's batches, ids wait in a memory context for theirs to come back; then both
 * go to the tuplestore, in the order of the query. What is in memory is GR_PROJECT_NSLOTS batches and their ids, however many rows there are.
 */
#include "postgres.h"

#include "access/tupdesc.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "executor/spi.h"
#include "executor/tuptable.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "parser/parse_coerce.h"
#include "tcop/dest.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "args.h"
#include "ingest.h"
#include "project.h"

PG_FUNCTION_INFO_V1(gr_project_rows);
PG_FUNCTION_INFO_V1(gr_project_rows_int);
PG_FUNCTION_INFO_V1(gr_project_rows_id);

#define LEAST_ROWS 1024			/* of a batch, where vectors are few because most are NULL */

#define MAX_IDS_NBYTES ((Size) 4 << 20)	/* memory for a batch's ids, from which on it is sent off as it is */

/* Rows that wait for their projections; those without a vector among them. */
typedef struct Batch
{
	MemoryContext context;		/* owns ids that aren't passed by value */
	Datum	   *ids;
	bool	   *id_is_null;
	bool	   *has_vector;
	int64		nrows;
	int64		nvectors;
} Batch;

typedef struct ProjectReceiver
{
	DestReceiver pub;
	ReturnSetInfo *rsinfo;
	MemoryContext context;		/* of the call: owns the projector */
	MemoryContext row_context;	/* reset after each row */
	int16		id_length;
	bool		id_by_value;

	int32		k;
	int64		seed;
	bool		density_is_null;
	double		density;
	double		nrows_estimate;

	GrProjector *projector;		/* from the first vector on */
	float	   *block;			/* being filled */
	int64		capacity;		/* vectors of a block */
	int64		max_rows;		/* of a batch */
	ArrayType  *result;			/* filled anew for each row */
	float	   *result_values;
	Batch		batches[GR_PROJECT_NSLOTS];
	int			filling;		/* the batch that takes rows; those before it, going around, wait */
} ProjectReceiver;

static void
put_row(ProjectReceiver *receiver, Datum id, bool id_is_null, const float *projected)
{
	Datum		values[2] = {id, PointerGetDatum(receiver->result)};
	bool		nulls[2] = {id_is_null, projected == NULL};

	if (projected != NULL)
		memcpy(receiver->result_values, projected, receiver->k * sizeof(float));
	tuplestore_putvalues(receiver->rsinfo->setResult, receiver->rsinfo->setDesc, values, nulls);
}

/* A batch is back: its rows go out. projected: those of its vectors */
static void
put_batch(ProjectReceiver *receiver, Batch *batch, const float *projected)
{
	for (int64 r = 0; r < batch->nrows; r++)
	{
		put_row(receiver, batch->ids[r], batch->id_is_null[r], batch->has_vector[r] ? projected : NULL);
		if (batch->has_vector[r])
			projected += receiver->k;
	}
	batch->nrows = 0;
	batch->nvectors = 0;
	MemoryContextReset(batch->context);
}

/* Waits for the oldest batch under way. */
static void
take_batch(ProjectReceiver *receiver)
{
	int			oldest = (receiver->filling + GR_PROJECT_NSLOTS - receiver->projector->nwaiting) % GR_PROJECT_NSLOTS;
	int64		n;
	const float *projected = gr_projector_take(receiver->projector, &n);

	Assert(n == receiver->batches[oldest].nvectors);
	put_batch(receiver, &receiver->batches[oldest], projected);
}

/* Sends the batch off, and makes the next one ready to be filled. */
static void
submit_batch(ProjectReceiver *receiver)
{
	Batch	   *batch = &receiver->batches[receiver->filling];

	if (batch->nvectors == 0)
	{
		while (receiver->projector->nwaiting > 0)
			take_batch(receiver);
		put_batch(receiver, batch, NULL);
		return;
	}
	gr_projector_submit(receiver->projector, batch->nvectors);
	receiver->filling = (receiver->filling + 1) % GR_PROJECT_NSLOTS;
	if (receiver->projector->nwaiting == GR_PROJECT_NSLOTS)
		take_batch(receiver);
	receiver->block = gr_projector_block(receiver->projector, &receiver->capacity);
}

/* At the first vector: now the dimension is known. */
static void
begin_projecting(ProjectReceiver *receiver, int64 dim)
{
	GrError		err = {0};
	GrDraw		draw;
	double		density = receiver->density_is_null ? gr_dense_density(dim) : receiver->density;
	MemoryContext old = MemoryContextSwitchTo(receiver->context);

	if (!gr_draw_init(&draw, receiver->k, (uint64) receiver->seed, density, &err))
		gr_raise(&err);
	receiver->projector = gr_projector_begin(&draw, dim, 0, receiver->nrows_estimate * dim * (receiver->k * density));
	receiver->block = gr_projector_block(receiver->projector, &receiver->capacity);
	receiver->max_rows = Max(receiver->capacity, LEAST_ROWS);
	receiver->result = gr_new_projection_array(1, 1, receiver->k, &receiver->result_values);
	for (int b = 0; b < GR_PROJECT_NSLOTS; b++)
	{
		Batch	   *batch = &receiver->batches[b];

		batch->context = AllocSetContextCreate(receiver->context, "gpureg ids", ALLOCSET_DEFAULT_SIZES);
		batch->ids = palloc_extended(receiver->max_rows * sizeof(Datum), MCXT_ALLOC_HUGE);
		batch->id_is_null = palloc_extended(receiver->max_rows * sizeof(bool), MCXT_ALLOC_HUGE);
		batch->has_vector = palloc_extended(receiver->max_rows * sizeof(bool), MCXT_ALLOC_HUGE);
	}
	MemoryContextSwitchTo(old);
}

/* The vector into the block */
static void
take_vector(ProjectReceiver *receiver, Datum value)
{
	GrVectors	x;

	gr_open_vectors(DatumGetArrayTypeP(value), &x);
	if (x.ndim > 1)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("a row's vector must be a one-dimensional array"),
				 errdetail("It has %d dimensions.", x.ndim)));
	if (receiver->projector == NULL)
		begin_projecting(receiver, x.dim);
	if (x.dim != receiver->projector->dim)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("all vectors must have the same length"),
				 errdetail("A row has " INT64_FORMAT " elements, earlier ones have " INT64_FORMAT ".", x.dim, receiver->projector->dim)));
	memcpy(receiver->block + receiver->batches[receiver->filling].nvectors * x.dim, x.values, x.dim * sizeof(float));
}

/* The row's id joins the batch. */
static void
add_row(ProjectReceiver *receiver, TupleTableSlot *slot)
{
	Batch	   *batch = &receiver->batches[receiver->filling];
	MemoryContext old = MemoryContextSwitchTo(batch->context);

	batch->id_is_null[batch->nrows] = slot->tts_isnull[0];
	batch->ids[batch->nrows] = slot->tts_isnull[0] ? (Datum) 0 :
		datumCopy(slot->tts_values[0], receiver->id_by_value, receiver->id_length);
	batch->has_vector[batch->nrows] = !slot->tts_isnull[1];
	batch->nvectors += !slot->tts_isnull[1];
	batch->nrows++;
	MemoryContextSwitchTo(old);
	if (batch->nvectors == receiver->capacity || batch->nrows == receiver->max_rows ||
		MemoryContextMemAllocated(batch->context, false) > MAX_IDS_NBYTES)
		submit_batch(receiver);
}

static bool
receive_row(TupleTableSlot *slot, DestReceiver *self)
{
	ProjectReceiver *receiver = (ProjectReceiver *) self;
	MemoryContext old = MemoryContextSwitchTo(receiver->row_context);

	slot_getallattrs(slot);
	if (!slot->tts_isnull[1])
		take_vector(receiver, slot->tts_values[1]);
	if (receiver->projector == NULL)
		put_row(receiver, slot->tts_values[0], slot->tts_isnull[0], NULL);
	else
		add_row(receiver, slot);
	MemoryContextSwitchTo(old);
	MemoryContextReset(receiver->row_context);
	return true;
}

/* Everything that is still under way */
static void
drain(ProjectReceiver *receiver)
{
	if (receiver->projector == NULL)
		return;
	if (receiver->batches[receiver->filling].nrows > 0)
		submit_batch(receiver);
	while (receiver->projector->nwaiting > 0)
		take_batch(receiver);
	gr_projector_end(receiver->projector);
}

/* Can values of the one type be cast to the other, and not just through their text? */
static bool
has_cast(Oid to, Oid from, CoercionContext context)
{
	Oid			function;

	switch (find_coercion_pathway(to, from, context, &function))
	{
		case COERCION_PATH_RELABELTYPE:
		case COERCION_PATH_FUNC:
		case COERCION_PATH_ARRAYCOERCE:
			return true;
		default:
			return false;
	}
}

/* ERROR unless the query has two columns, an id of the type that the function's result has and a vector, or of types that become that. */
static void
check_columns(TupleDesc tupdesc, Oid id_type)
{
	Form_pg_attribute id;
	Form_pg_attribute vector;

	if (tupdesc->natts != 2)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("query must return two columns"),
				 errdetail("It returns %d.", tupdesc->natts),
				 errhint("The first column is the id, the second the vector.")));
	id = TupleDescAttr(tupdesc, 0);
	if (id->atttypid != id_type && !has_cast(id_type, id->atttypid, COERCION_IMPLICIT))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("column \"%s\" of the query has type %s, not %s", NameStr(id->attname), format_type_be(id->atttypid),
						format_type_be(id_type)),
				 errhint("Say which type ids have: id => NULL::%s.", format_type_be(id->atttypid))));
	vector = TupleDescAttr(tupdesc, 1);
	if (!has_cast(FLOAT4ARRAYOID, vector->atttypid, COERCION_EXPLICIT))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("column \"%s\" of the query has type %s", NameStr(vector->attname), format_type_be(vector->atttypid)),
				 errdetail("A vector must be a real[] or have a cast to it.")));
}

/* The plan, or that of the same query with its columns cast to what is wanted, where they are something else */
static SPIPlanPtr
plan_with_casts(const char *query, SPIPlanPtr plan, TupleDesc tupdesc, Oid id_type)
{
	if (TupleDescAttr(tupdesc, 0)->atttypid == id_type && TupleDescAttr(tupdesc, 1)->atttypid == FLOAT4ARRAYOID)
		return plan;
	return gr_prepare_query(psprintf("SELECT q.id::%s, q.vector::pg_catalog.float4[] FROM (%s\n) q(id, vector)",
									 format_type_extended(id_type, -1, FORMAT_TYPE_FORCE_QUALIFY), gr_bare_statement(query)));
}

static Datum
project_rows(FunctionCallInfo fcinfo, bool seed_is_null, int64 seed, int density_argno)
{
	double		started = gr_now();
	MemoryContext context = CurrentMemoryContext;
	ProjectReceiver receiver = {
		.pub = {
			.receiveSlot = receive_row,
			.rStartup = gr_receiver_startup,
			.rShutdown = gr_receiver_nothing,
			.rDestroy = gr_receiver_nothing,
			.mydest = DestNone
		},
		.rsinfo = (ReturnSetInfo *) fcinfo->resultinfo,
		.context = context,
		.seed = seed
	};
	SPIExecuteOptions execute = {.read_only = true,.dest = &receiver.pub};
	Oid			id_type;
	TupleDesc	tupdesc;
	SPIPlanPtr	plan;
	char	   *query;
	int			rc;

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || seed_is_null)
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s must not be null", PG_ARGISNULL(0) ? "query" : PG_ARGISNULL(1) ? "k" : "seed")));
	id_type = TupleDescAttr(receiver.rsinfo->setDesc, 0)->atttypid;
	query = text_to_cstring(PG_GETARG_TEXT_PP(0));
	receiver.k = PG_GETARG_INT32(1);
	gr_check_k(receiver.k);
	receiver.density_is_null = PG_ARGISNULL(density_argno);
	receiver.density = gr_density_arg(fcinfo, density_argno, 1.0);
	receiver.row_context = AllocSetContextCreate(context, "gpureg row", ALLOCSET_DEFAULT_SIZES);
	get_typlenbyval(id_type, &receiver.id_length, &receiver.id_by_value);

	SPI_connect();
	MemoryContextSwitchTo(context);
	plan = gr_prepare_query(query);
	tupdesc = gr_check_query(plan);
	check_columns(tupdesc, id_type);
	plan = plan_with_casts(query, plan, tupdesc, id_type);
	receiver.nrows_estimate = gr_estimate_rows(plan);
	rc = SPI_execute_plan_extended(plan, &execute);
	if (rc < 0)
		elog(ERROR, "SPI_execute_plan_extended failed: %s", SPI_result_code_string(rc));
	MemoryContextSwitchTo(context);
	drain(&receiver);
	SPI_finish();
	if (receiver.projector != NULL)
		gr_record_projection("gpu_project_rows", receiver.projector, started);
	return (Datum) 0;
}

/* gpu_project_rows(query text, k int, seed bigint, density float8 [, id anyelement]) */
Datum
gr_project_rows(PG_FUNCTION_ARGS)
{
	return project_rows(fcinfo, PG_ARGISNULL(2), PG_ARGISNULL(2) ? 0 : PG_GETARG_INT64(2), 3);
}

/* gpu_project_rows(query text, k int, seed int, density float8 [, id anyelement]) */
Datum
gr_project_rows_int(PG_FUNCTION_ARGS)
{
	return project_rows(fcinfo, PG_ARGISNULL(2), PG_ARGISNULL(2) ? 0 : PG_GETARG_INT32(2), 3);
}

/* gpu_project_rows(query text, k int, id anyelement, seed bigint, density float8) */
Datum
gr_project_rows_id(PG_FUNCTION_ARGS)
{
	return project_rows(fcinfo, PG_ARGISNULL(3), PG_ARGISNULL(3) ? 0 : PG_GETARG_INT64(3), 4);
}
