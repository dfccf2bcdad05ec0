/*
 * project_rows.c: gpu_project_rows(): projects a query's vectors in batches as they are read, or has workers project
 * them.
 *
 * Rows come through a DestReceiver. Vectors go into the backend's batches, while their ids wait in a memory context;
 * then both go to the tuplestore, in the order of the query. At most GR_PROJECT_NSLOTS batches and their ids are in
 * memory, for any number of rows. If parallel workers project, rows go to the tuplestore as they come.
 */
#include "postgres.h"

#include "executor/tuptable.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/bitmapset.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"

#include "compute/base/compute.h"
#include "projection/project.h"
#include "projection/project_rows.h"
#include "rows/query/query.h"
#include "run/clock.h"
#include "run/device.h"
#include "run/raise.h"
#include "run/report.h"

PG_FUNCTION_INFO_V1(gr_project_rows);
PG_FUNCTION_INFO_V1(gr_project_rows_int);
PG_FUNCTION_INFO_V1(gr_project_rows_id);

#define LEAST_ROWS 1024			/* least rows of a batch; few have vectors if most are NULL */

#define MAX_IDS_NBYTES ((Size) 4 << 20)	/* memory of a batch's ids at which it is submitted early */

/* Rows that wait for their projections, including rows without a vector */
typedef struct Batch
{
	MemoryContext context;		/* owns ids that are not passed by value */
	Datum	   *ids;
	bool	   *id_is_null;
	bool	   *has_vector;
	int64		nrows;
	int64		nvectors;
} Batch;

typedef struct ProjectReceiver
{
	GrReceiver	base;
	ReturnSetInfo *rsinfo;
	MemoryContext context;		/* the call's; owns the projector */
	MemoryContext row_context;	/* reset after each row */
	int16		id_length;
	bool		id_by_value;

	const GrRowsRequest *request;
	GrRowsPlan	rows;
	int64		dim;			/* 0 until the first vector */
	int64		nprojected;		/* vectors that workers projected */
	Bitmapset  *workers;		/* workers that returned rows */

	GrProjector *projector;		/* set from the first vector on */
	float	   *block;			/* block being filled */
	int64		capacity;		/* vectors of a block */
	int64		max_rows;		/* rows of a batch */
	ArrayType  *result;			/* reused for each row; set from the first vector on */
	float	   *result_values;
	Batch		batches[GR_PROJECT_NSLOTS];
	int			filling;		/* batch that takes rows; batches before it, cyclically, wait */
} ProjectReceiver;

/* Puts one row into the tuplestore; projected NULL: without a projection. */
static void
put_row(ProjectReceiver *receiver, Datum id, bool id_is_null, const float *projected)
{
	Datum		values[2] = {id, PointerGetDatum(receiver->result)};
	bool		nulls[2] = {id_is_null, projected == NULL};

	if (projected != NULL)
		memcpy(receiver->result_values, projected, receiver->request->k * sizeof(float));
	tuplestore_putvalues(receiver->rsinfo->setResult, receiver->rsinfo->setDesc, values, nulls);
}

/* Puts the rows of a finished batch into the tuplestore. projected: the projections of its vectors. */
static void
put_batch(ProjectReceiver *receiver, Batch *batch, const float *projected)
{
	for (int64 r = 0; r < batch->nrows; r++)
	{
		put_row(receiver, batch->ids[r], batch->id_is_null[r], batch->has_vector[r] ? projected : NULL);
		if (batch->has_vector[r])
			projected += receiver->request->k;
	}
	batch->nrows = 0;
	batch->nvectors = 0;
	MemoryContextReset(batch->context);
}

/* Takes the oldest batch under way. */
static void
take_batch(ProjectReceiver *receiver)
{
	int			oldest = (receiver->filling + GR_PROJECT_NSLOTS - receiver->projector->nwaiting) % GR_PROJECT_NSLOTS;
	int64		n;
	const float *projected = gr_projector_take(receiver->projector, &n);

	Assert(n == receiver->batches[oldest].nvectors);
	put_batch(receiver, &receiver->batches[oldest], projected);
}

/* Submits the present batch, and prepares the next one. */
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

/* Begins a projection of vectors of dim elements, and makes its batches. */
static void
begin_batches(ProjectReceiver *receiver, int64 dim)
{
	const GrRowsRequest *request = receiver->request;
	GrError		err = {0};
	GrDraw		draw;

	if (!gr_draw_init(&draw, request->k, (uint64) request->seed, gr_rows_density(request, dim), &err))
		gr_raise(&err);
	receiver->projector = gr_projector_begin(&draw, dim, 0, gr_rows_work(request, receiver->rows.nrows_estimate, dim));
	receiver->block = gr_projector_block(receiver->projector, &receiver->capacity);
	receiver->max_rows = Max(receiver->capacity, LEAST_ROWS);
	for (int b = 0; b < GR_PROJECT_NSLOTS; b++)
	{
		Batch	   *batch = &receiver->batches[b];

		batch->context = AllocSetContextCreate(receiver->context, "gpureg ids", ALLOCSET_DEFAULT_SIZES);
		batch->ids = palloc_extended(receiver->max_rows * sizeof(Datum), MCXT_ALLOC_HUGE);
		batch->id_is_null = palloc_extended(receiver->max_rows * sizeof(bool), MCXT_ALLOC_HUGE);
		batch->has_vector = palloc_extended(receiver->max_rows * sizeof(bool), MCXT_ALLOC_HUGE);
	}
}

/* Checks a vector's dimension. The first vector sets the dimension, and makes what depends on it. */
static void
check_dim(ProjectReceiver *receiver, int64 dim)
{
	MemoryContext old;

	if (likely(dim == receiver->dim))
		return;
	if (receiver->dim > 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("all vectors must have the same length"),
				 errdetail("A row has " INT64_FORMAT " elements, earlier rows have " INT64_FORMAT ".", dim,
						   receiver->dim),
				 errhint("Call gpu_project_rows() once for each length, with a query that selects the vectors of that "
						 "length.")));
	receiver->dim = dim;
	old = MemoryContextSwitchTo(receiver->context);
	receiver->result = gr_new_projection_array(1, 1, receiver->request->k, &receiver->result_values);
	if (receiver->rows.form != GR_ROWS_PROJECTED)
		begin_batches(receiver, dim);
	MemoryContextSwitchTo(old);
}

/* Returns the vector or projection that a worker or this process computed for a row, and sets *dim. */
static const float *
open_pass_row(ProjectReceiver *receiver, Datum value, int64 *dim)
{
	const GrWorkerRow *row = (const GrWorkerRow *) PG_DETOAST_DATUM(value);
	bool		projected = receiver->rows.form == GR_ROWS_PROJECTED;
	Size		nvalues;

	if (VARSIZE(row) < offsetof(GrWorkerRow, values) || row->dim < 1)
		elog(ERROR, "a row came back with %zu bytes", (size_t) VARSIZE(row));
	nvalues = projected ? receiver->request->k : row->dim;
	if (VARSIZE(row) != offsetof(GrWorkerRow, values) + nvalues * sizeof(float))
		elog(ERROR, "a row came back with %zu bytes", (size_t) VARSIZE(row));

	if (row->worker >= 0 && !bms_is_member(row->worker, receiver->workers))
	{
		MemoryContext old = MemoryContextSwitchTo(receiver->context);

		receiver->workers = bms_add_member(receiver->workers, row->worker);
		MemoryContextSwitchTo(old);
	}
	*dim = row->dim;
	return row->values;
}

/* Copies a row's vector into the block. */
static void
take_vector(ProjectReceiver *receiver, Datum value)
{
	int64		dim;
	const float *x = receiver->rows.form == GR_ROWS_FLAT ? open_pass_row(receiver, value, &dim) :
		gr_open_row_vector(value, &dim);

	check_dim(receiver, dim);
	memcpy(receiver->block + receiver->batches[receiver->filling].nvectors * dim, x, dim * sizeof(float));
}

/* Adds a row to the batch, with its id. */
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

/* Receives a row whose vector is already projected. */
static bool
receive_projected(TupleTableSlot *slot, DestReceiver *self)
{
	ProjectReceiver *receiver = (ProjectReceiver *) self;
	MemoryContext old = MemoryContextSwitchTo(receiver->row_context);
	const float *projected = NULL;
	int64		dim;

	slot_getallattrs(slot);
	if (!slot->tts_isnull[1])
	{
		projected = open_pass_row(receiver, slot->tts_values[1], &dim);
		check_dim(receiver, dim);
		receiver->nprojected++;
	}
	put_row(receiver, slot->tts_values[0], slot->tts_isnull[0], projected);
	MemoryContextSwitchTo(old);
	MemoryContextReset(receiver->row_context);
	return true;
}

/* Submits and takes all that is left, and ends the projector. */
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

/* Runs the plan until every row is in the tuplestore. */
static void
run_plan(ProjectReceiver *receiver)
{
	receiver->base.pub.receiveSlot = receiver->rows.form == GR_ROWS_PROJECTED ? receive_projected : receive_row;
	gr_run_plan(receiver->rows.plan, NULL, &receiver->base, 0);
	drain(receiver);
}

/* Records the run for gpu_last_run(), unless no row had a vector. */
static void
record_run(const ProjectReceiver *receiver, double started)
{
	int			nworkers = bms_num_members(receiver->workers);
	double		now = gr_now();
	GrPlace		place = {0};
	GrError		err = {0};

	if (receiver->projector != NULL)
	{
		gr_record_projection("gpu_project_rows", receiver->projector, started);
		gr_last_run.nworkers = nworkers;
	}
	else if (receiver->nprojected > 0)
	{
		/* the plan was made for the CPU; the place says why */
		if (!gr_choose_place(&place, gr_rows_work(receiver->request, receiver->rows.nrows_estimate, receiver->dim),
							 &gr_host, &err))
			gr_raise(&err);
		/* The vectors' length is known now, so a device could be chosen; it was not used, and is not held. */
		if (!gr_on_cpu(&place))
			gr_place_on_cpu(&place, "planned for the CPU, before the vectors' length was known");
		gr_record_pass(&place, &(GrPassRecord) {
			.function = "gpu_project_rows",.nrows = receiver->nprojected,.nfeatures = (int) receiver->dim,
			.nworkers = nworkers,.started = started,.read_done = now,.solved = now
		});
	}
}

static Datum
project_rows(FunctionCallInfo fcinfo, bool seed_is_null, int64 seed, int density_argno)
{
	double		started = gr_now();
	GrRowsRequest request = {.seed = seed};
	ProjectReceiver receiver = {
		.rsinfo = (ReturnSetInfo *) fcinfo->resultinfo,
		.context = CurrentMemoryContext,
		.request = &request
	};
	ErrorContextCallback context;

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || seed_is_null)
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s must not be null", PG_ARGISNULL(0) ? "query" : PG_ARGISNULL(1) ? "k" : "seed")));
	request.id_type = TupleDescAttr(receiver.rsinfo->setDesc, 0)->atttypid;
	request.function = fcinfo->flinfo->fn_oid;
	request.query = text_to_cstring(PG_GETARG_TEXT_PP(0));
	request.k = PG_GETARG_INT32(1);
	gr_check_k(request.k);
	request.density_is_null = PG_ARGISNULL(density_argno);
	request.density = gr_density_arg(fcinfo, density_argno, 1.0);
	receiver.row_context = AllocSetContextCreate(receiver.context, "gpureg row", ALLOCSET_DEFAULT_SIZES);
	get_typlenbyval(request.id_type, &receiver.id_length, &receiver.id_by_value);

	gr_enter_query(&context, request.query);
	gr_plan_rows(&request, &receiver.rows);
	run_plan(&receiver);
	record_run(&receiver, started);
	gr_leave_query(&context);
	return (Datum) 0;
}

/* gpu_project_rows(query text, k int, seed bigint, density float8 [, id anyelement]): projects the rows of a query. */
Datum
gr_project_rows(PG_FUNCTION_ARGS)
{
	return project_rows(fcinfo, PG_ARGISNULL(2), PG_ARGISNULL(2) ? 0 : PG_GETARG_INT64(2), 3);
}

/* gpu_project_rows(query text, k int, seed int, density float8 [, id anyelement]): projects the rows of a query. */
Datum
gr_project_rows_int(PG_FUNCTION_ARGS)
{
	return project_rows(fcinfo, PG_ARGISNULL(2), PG_ARGISNULL(2) ? 0 : PG_GETARG_INT32(2), 3);
}

/* gpu_project_rows(query text, k int, id anyelement, seed bigint, density float8): projects the rows of a query. */
Datum
gr_project_rows_id(PG_FUNCTION_ARGS)
{
	return project_rows(fcinfo, PG_ARGISNULL(3), PG_ARGISNULL(3) ? 0 : PG_GETARG_INT64(3), 4);
}
