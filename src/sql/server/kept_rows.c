/*
 * kept_rows.c: stores the rows of a logistic regression that runs as an aggregate; see kept_rows.h.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "utils/memutils.h"

#include "compute/base/compute.h"
#include "compute/dist/family.h"
#include "run/args.h"
#include "run/job.h"
#include "run/raise.h"
#include "sql/server/kept_rows.h"

/* Sizes in bytes of the first and the largest chunk. Each chunk doubles the memory. */
#define FIRST_CHUNK_NBYTES 512
#define LAST_CHUNK_NBYTES ((Size) 1 << 20)

/* Limit in bytes of a window frame's rows, which never spill to a file. Documented in docs/reference/glm.md. */
#define WINDOW_NBYTES_MAX ((Size) 256 << 20)

/* Limit in bytes of a serialized state, which is one value in a tuple with others. */
#define SERIAL_NBYTES_MAX (MaxAllocSize - ((Size) 1 << 20))

PG_FUNCTION_INFO_V1(gr_kept_combine);
PG_FUNCTION_INFO_V1(gr_kept_serialize);
PG_FUNCTION_INFO_V1(gr_kept_deserialize);

GrKeptRows *
gr_kept_state(FunctionCallInfo fcinfo)
{
	MemoryContext context = gr_aggregate_context(fcinfo);
	GrKeptRows *rows;

	if (!PG_ARGISNULL(0))
		return (GrKeptRows *) PG_GETARG_POINTER(0);
	rows = MemoryContextAllocZero(context, sizeof(GrKeptRows));
	rows->nfeatures = -1;
	rows->context = context;
	return rows;
}

void
gr_kept_check(GrKeptRows *rows, int nfeatures, const GrKeptOptions *options)
{
	if (rows->nfeatures < 0)
	{
		gr_check_nfeatures(nfeatures);
		rows->nfeatures = nfeatures;
		rows->options = *options;
		return;
	}
	if (!rows->options.accumulates)
	{
		gr_check_same_width(rows->nfeatures, nfeatures);
		return;
	}
	if (nfeatures != rows->nfeatures || options->lower_bound != rows->options.lower_bound)
		gr_raise_other_dimensions();
	if (options->isnull != rows->options.isnull || options->intercept != rows->options.intercept ||
		memcmp(&options->l2, &rows->options.l2, sizeof(double)) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("intercept and l2 must be the same for all rows"),
				 errhint("Pass constants for these arguments.")));
}

/*
 * Rows in memory, and in a file
 */

/* Adds a chunk of memory. Returns false if limit bytes are in use; one row always fits. */
static bool
add_chunk(GrKeptRows *rows, Size limit)
{
	Size		row_nbytes = gr_row_nbytes(gr_plain_shape(rows->nfeatures));
	Size		nbytes = Max(row_nbytes, Min(LAST_CHUNK_NBYTES, Max(FIRST_CHUNK_NBYTES, rows->nbytes)));
	int64		capacity;

	limit = Max(limit, row_nbytes);
	nbytes = Min(nbytes, limit - Min(limit, rows->nbytes));
	if (nbytes < row_nbytes)
		return false;
	capacity = nbytes / row_nbytes;
	gr_row_list_append(&rows->list, MemoryContextAlloc(rows->context, gr_row_chunk_nbytes(capacity, row_nbytes)),
					   capacity);
	rows->nbytes += capacity * row_nbytes;
	return true;
}

/* Frees all chunks except the largest, which buffers rows on their way to the file. */
static void
free_chunks(GrKeptRows *rows)
{
	GrRowChunk *largest = rows->list.first;
	GrRowChunk *next;

	for (GrRowChunk *chunk = rows->list.first; chunk != NULL; chunk = chunk->next)
		if (chunk->capacity > largest->capacity)
			largest = chunk;
	for (GrRowChunk *chunk = rows->list.first; chunk != NULL; chunk = next)
	{
		next = chunk->next;
		if (chunk != largest)
			pfree(chunk);
	}
	largest->next = NULL;
	rows->list.first = rows->list.last = largest;
}

/* Closes the file when the group is finished. After an error the server closes it. */
static void
end_spool(Datum spool)
{
	gr_spool_end((GrSpool *) DatumGetPointer(spool));
}

/* Moves all rows in memory to the file. */
static void
spill(FunctionCallInfo fcinfo, GrKeptRows *rows)
{
	if (rows->spool == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(rows->context);
		GrSpool    *spool = palloc0(sizeof(GrSpool));

		gr_spool_begin(spool, gr_plain_shape(rows->nfeatures));
		rows->spool = spool;
		MemoryContextSwitchTo(old);
		AggRegisterCallback(fcinfo, end_spool, PointerGetDatum(spool));
	}
	gr_spool_write_list(rows->spool, &rows->list);
	free_chunks(rows);
}

double *
gr_kept_row(FunctionCallInfo fcinfo, GrKeptRows *rows)
{
	bool		full = gr_row_list_is_full(&rows->list);

	/* a window aggregate is not told when it ends, so it could not close a file */
	if (full && IsA(fcinfo->context, WindowAggState))
	{
		if (!add_chunk(rows, WINDOW_NBYTES_MAX))
			ereport(ERROR,
					(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					 errmsg("gpu_logreg_agg keeps at most %zu MB of a window frame's rows", WINDOW_NBYTES_MAX >> 20),
					 errdetail("The frame has more than " INT64_FORMAT " rows.", rows->nrows),
					 errhint("Use gpu_logreg_fit, which reads its query in bounded memory.")));
	}
	else if (full && (rows->spool != NULL || !add_chunk(rows, (Size) work_mem * 1024)))
		spill(fcinfo, rows);
	return gr_row_list_next(&rows->list, gr_row_ncols(gr_plain_shape(rows->nfeatures)));
}

/*
 * The fit
 */

/* Copies rows to a device, if the job has one, as far as they fit. */
static void
send_rows(GrKeptRows *rows, GrJob *job)
{
	Size		ncols = gr_row_ncols(gr_plain_shape(rows->nfeatures));

	if (rows->spool != NULL)
	{
		gr_spool_rewind(rows->spool);
		for (int64 row = 0; row < rows->nrows && !job->overflowed; row++)
		{
			gr_spool_read(rows->spool, gr_job_row(job), 1);
			gr_job_take_row(job);
			gr_poll_loop(row);
		}
		return;
	}
	for (const GrRowChunk *chunk = rows->list.first; chunk != NULL && !job->overflowed; chunk = chunk->next)
	{
		for (int64 row = 0; row < chunk->nrows && !job->overflowed; row++)
		{
			memcpy(gr_job_row(job), chunk->rows + row * ncols, ncols * sizeof(double));
			gr_job_take_row(job);
			gr_poll_loop(row);
		}
	}
}

void
gr_kept_source(GrKeptRows *rows, GrRowSource *source)
{
	GrJobOptions options = {
		.kind = GR_SINK_KEEP,.shape = gr_plain_shape(rows->nfeatures),.rules = {GR_BINOMIAL},
		.nrows_estimate = rows->nrows,.may_overflow = true,.device_only = true
	};

	if (rows->spool != NULL)
		gr_spool_write_list(rows->spool, &rows->list);
	memset(source, 0, sizeof(*source));
	source->kind = &gr_source_held;
	source->shape = options.shape;
	source->rules = options.rules;
	source->job = gr_job_begin(&options);
	send_rows(rows, source->job);
	if (gr_job_keep(source->job))
		return;
	source->job->nrows = rows->nrows;
	if (rows->spool != NULL)
	{
		gr_job_adopt(source->job, rows->spool);
		return;
	}
	source->kind = &gr_source_chunks;
	source->chunks = rows->list.first;
}

/*
 * Parallel workers
 */

/* Head of a serialized state; its rows follow. */
typedef struct SerialHead
{
	int64		nrows;
	int64		nskipped;
	GrKeptOptions options;
	int			nfeatures;
} SerialHead;

/* gpu_logreg_agg_serialize(internal) */
Datum
gr_kept_serialize(PG_FUNCTION_ARGS)
{
	GrKeptRows *rows;
	SerialHead	head;
	Size		row_nbytes;
	bytea	   *result;
	char	   *at;

	(void) gr_aggregate_context(fcinfo);
	rows = (GrKeptRows *) PG_GETARG_POINTER(0);
	row_nbytes = rows->nfeatures < 0 ? 0 : gr_row_nbytes(gr_plain_shape(rows->nfeatures));
	if (rows->nrows > 0 && rows->nrows > (SERIAL_NBYTES_MAX - sizeof(head)) / row_nbytes)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("a parallel worker has more rows than it can hand over"),
				 errdetail("The worker has " INT64_FORMAT " rows of %zu bytes in one group, and can hand over %zu MB "
						   "per group.",
						   rows->nrows, row_nbytes, SERIAL_NBYTES_MAX >> 20),
				 errhint("Set max_parallel_workers_per_gather to 0, or use gpu_logreg_fit, which reads its query in "
						 "bounded memory.")));
	result = palloc(VARHDRSZ + sizeof(head) + rows->nrows * row_nbytes);
	SET_VARSIZE(result, VARHDRSZ + sizeof(head) + rows->nrows * row_nbytes);
	memset(&head, 0, sizeof(head));
	head.nrows = rows->nrows;
	head.nskipped = rows->nskipped;
	head.options = rows->options;
	head.nfeatures = rows->nfeatures;
	at = VARDATA(result);
	memcpy(at, &head, sizeof(head));
	at += sizeof(head);
	if (rows->spool != NULL)
	{
		gr_spool_write_list(rows->spool, &rows->list);
		gr_spool_rewind(rows->spool);
		gr_spool_read(rows->spool, at, rows->nrows);
	}
	for (const GrRowChunk *chunk = rows->list.first; chunk != NULL; chunk = chunk->next)
	{
		memcpy(at, chunk->rows, chunk->nrows * row_nbytes);
		at += chunk->nrows * row_nbytes;
	}
	PG_RETURN_BYTEA_P(result);
}

/* gpu_logreg_agg_deserialize(bytea, internal): a read-only state; its rows stay in the bytea. */
Datum
gr_kept_deserialize(PG_FUNCTION_ARGS)
{
	bytea	   *bytes;
	SerialHead	head;
	Size		nbytes;
	Size		row_nbytes;
	GrKeptRows *rows;

	(void) gr_aggregate_context(fcinfo);
	bytes = PG_GETARG_BYTEA_PP(0);
	nbytes = VARSIZE_ANY_EXHDR(bytes);
	memset(&head, 0, sizeof(head));
	memcpy(&head, VARDATA_ANY(bytes), Min(nbytes, sizeof(head)));
	row_nbytes = head.nfeatures < 1 ? 0 : gr_row_nbytes(gr_plain_shape(Min(head.nfeatures, GR_MAX_FEATURES)));
	if (nbytes < sizeof(head) || head.nfeatures < -1 || head.nfeatures == 0 || head.nfeatures > GR_MAX_FEATURES ||
		head.nskipped < 0 || head.nrows < 0 || head.nrows > MaxAllocSize ||
		nbytes - sizeof(head) != head.nrows * row_nbytes || (head.nrows > 0 && head.nfeatures < 0))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
				 errmsg("malformed state of gpu_logreg_agg")));
	rows = palloc0(sizeof(GrKeptRows));
	rows->nfeatures = head.nfeatures;
	rows->options = head.options;
	rows->nrows = head.nrows;
	rows->nskipped = head.nskipped;
	rows->serialized = VARDATA_ANY(bytes) + sizeof(head);
	rows->context = CurrentMemoryContext;
	PG_RETURN_POINTER(rows);
}

/* Appends the rows of a deserialized state to rows. They are checked like all input from outside. */
static void
append_rows(FunctionCallInfo fcinfo, GrKeptRows *rows, const GrKeptRows *other)
{
	GrRowShape	shape = gr_plain_shape(other->nfeatures);
	const char *at = other->serialized;
	int64		n;

	for (int64 left = other->nrows; left > 0; left -= n)
	{
		double	   *into = gr_kept_row(fcinfo, rows);

		CHECK_FOR_INTERRUPTS();
		n = Min(left, rows->list.last->capacity - rows->list.last->nrows);
		memcpy(into, at, n * gr_row_nbytes(shape));
		gr_check_rows(into, n, shape, (GrRowRules) {GR_BINOMIAL}, NULL);
		at += n * gr_row_nbytes(shape);
		rows->list.last->nrows += n;
		rows->nrows += n;
	}
}

/* gpu_logreg_agg_combine(internal, internal): the second state comes from gpu_logreg_agg_deserialize. */
Datum
gr_kept_combine(PG_FUNCTION_ARGS)
{
	const GrKeptRows *other;
	GrKeptRows *rows;

	(void) gr_aggregate_context(fcinfo);
	if (PG_ARGISNULL(0) && PG_ARGISNULL(1))
		PG_RETURN_NULL();
	rows = gr_kept_state(fcinfo);
	if (PG_ARGISNULL(1))
		PG_RETURN_POINTER(rows);
	other = (const GrKeptRows *) PG_GETARG_POINTER(1);
	if (other->serialized == NULL)
		elog(ERROR, "rows of gpu_logreg_agg were not handed over");
	gr_add_count(&rows->nskipped, other->nskipped);
	if (other->nfeatures < 0)
		PG_RETURN_POINTER(rows);
	gr_kept_check(rows, other->nfeatures, &other->options);
	append_rows(fcinfo, rows, other);
	PG_RETURN_POINTER(rows);
}
