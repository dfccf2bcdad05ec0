/*
 * ring_consumer.c: runs a query whose producers fill a ring, and sends the ring's blocks to a device.
 *
 * The session's own process runs the query, and takes part in its scan as a producer. Meanwhile its thread opens the
 * device, pins the ring's memory, and sends full blocks to the job as they come. The thread calls nothing of
 * PostgreSQL and has all signals blocked. It is joined before the function returns or, after an error, by the callback
 * of the memory context that owns the reader.
 *
 * Between start and join of the thread, the session's process touches none of the thread's data except atomic fields.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "optimizer/cost.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "compute/backend/backend.h"
#include "compute/base/thread.h"
#include "compute/glm/glm.h"
#include "rows/columns/columns.h"
#include "rows/query/query.h"
#include "rows/ring/ring.h"
#include "rows/ring/ring_consumer.h"
#include "rows/sums/ingest.h"
#include "run/device.h"
#include "run/job.h"
#include "run/progress.h"
#include "run/raise.h"
#define DOZE_NS 100000
#define JOIN_NAP_NS 20000000	/* interval at which a join looks for a cancel */

typedef struct RingReader
{
	GrRing	   *ring;			/* NULL: not made yet, kept for the session, or freed */
	dsm_segment *segment;
	GrRemoteClient *service;	/* the service that owns the device; NULL: this session owns it */
	GrLease		lease;			/* the service's memory that the ring is in, if there is a service */
	GrJob	   *job;
	bool		opens_device;	/* the thread opens the device; else the job has a place already */

	pthread_t	thread;
	bool		started;		/* the thread was started and not joined yet */
	pg_atomic_uint32 ends;		/* see ReaderEnd */

	GrSession  *pinned_for;		/* NULL: the ring's memory isn't pinned */
	const GrDeviceOps *pinned_by;	/* the device of pinned_for */
	bool		begun;			/* the job's sink has begun */
	int64		nsent;			/* number of full blocks sent, in the queue's order */
	int64		nread;			/* number of blocks sent that are free again */
	int		   *sent;			/* block sent as number k at [k % ring->nblocks], for k from nread up to nsent */
	int64		nrows;
	GrError		error;
	MemoryContextCallback callback;
} RingReader;

typedef enum ReaderEnd
{
	READER_RUNS,
	READER_DRAINS,				/* no more blocks will become full */
	READER_STOPS				/* the thread ends at once */
} ReaderEnd;

/*
 * The ring that is kept for the session's next statement on its device: to make, pin and unpin a ring takes as long as
 * to read a million rows. No ring is kept after an error.
 */
static struct
{
	GrRing	   *ring;
	dsm_segment *segment;
	GrSession  *session;		/* the session that has pinned the ring's memory */
	const GrDeviceOps *device;	/* the session's device */
}			kept;

/*
 * The thread
 */

/* Frees blocks whose rows the device has read. wait: waits until it has read at least one block */
static bool
free_blocks(RingReader *r, bool wait)
{
	int64_t		nread = 0;

	if (!gr_job_sent(r->job, wait, &nread, &r->error))
		return false;
	for (; r->nread < nread; r->nread++)
		gr_ring_free(r->ring, r->sent[r->nread % r->ring->nblocks]);
	return true;
}

static bool
begin_job(RingReader *r)
{
	r->job->shape = r->ring->shape;
	r->begun = true;
	return gr_job_begin_sink(r->job, &r->error);
}

static bool
send_block(RingReader *r, int block)
{
	int64		nrows = r->ring->blocks[block].nrows;

	if (!r->begun && !begin_job(r))
		return false;
	r->sent[r->nsent % r->ring->nblocks] = block;
	r->nsent++;
	r->nrows += nrows;
	if (gr_has_totals(r->ring->shape, r->ring->rules))
		gr_totals_merge(&r->job->totals, &r->ring->blocks[block].totals);
	return gr_job_send(r->job, gr_ring_rows(r->ring, block), nrows, &r->error) && free_blocks(r, false);
}

static bool
open_device(RingReader *r)
{
	GrPlace    *place = &r->job->place;
	GrError		ignored = {0};

	if (r->opens_device && !gr_open_place(place, NULL, &r->error))
		return false;
	/* a service has pinned its own memory */
	if (r->pinned_for != NULL || gr_on_cpu(place) || place->service != NULL)
		return true;
	/* a failure to pin is ignored: copies from the memory are only slower */
	if (place->backend->device->pin(place->session, r->ring,
									r->ring->data_offset + r->ring->nblocks * r->ring->block_nbytes, &ignored))
	{
		r->pinned_for = place->session;
		r->pinned_by = place->backend->device;
	}
	if (ignored.status == GR_DEVICE_LOST)
		r->error = ignored;
	return r->error.status == GR_OK;
}

/* Sleeps until a block becomes full, or for DOZE_NS, in which copies may end. */
static void
doze(RingReader *r)
{
	struct timespec until;

	until = gr_deadline(DOZE_NS);
	(void) sem_clockwait(&r->ring->wake, GR_CLOCK, &until);
}

/* Sends blocks as they become full, until there will be no more. */
static bool
send_blocks(RingReader *r)
{
	/* if the shape is known, the job begins while the workers start */
	if (gr_ring_shape_known(r->ring) && !begin_job(r))
		return false;
	for (;;)
	{
		uint32		ends = pg_atomic_read_u32(&r->ends);
		int			block;

		if (ends == READER_STOPS)
			return true;
		pg_read_barrier();
		block = gr_ring_next_full(r->ring, r->nsent);
		if (block >= 0)
		{
			if (!send_block(r, block))
				return false;
		}
		else if (ends == READER_DRAINS)
			return true;
		else if (r->nread == r->nsent)
			while (sem_wait(&r->ring->wake) != 0 && errno == EINTR)
				;
		else
		{
			/* waits for the next full block, not for copies to end: a full block would be sent later */
			doze(r);
			if (!free_blocks(r, false))
				return false;
		}
	}
}

/* True if r->error ends in GR_RING_RETREATED, not in an error of the statement. */
static bool
retreats(const RingReader *r)
{
	if (r->job->stays)
		return false;
	if (gr_on_cpu(&r->job->place) && !r->opens_device)
		return r->job->may_overflow && r->error.status == GR_NO_MEMORY;
	return gr_may_retreat(&r->error);
}

static void *
reader_main(void *arg)
{
	RingReader *r = arg;

	if (!open_device(r) || !send_blocks(r))
	{
		r->ring->error = r->error;
		gr_ring_decide(r->ring, retreats(r) ? GR_RING_DISCARDS : GR_RING_FAILED);
	}
	return NULL;
}

/*
 * The session's own process
 */

/*
 * Joins the thread. A thread that waits for a device service may wait for long, for example until other sessions free
 * memory: it is told to stop if stops is true or the statement is canceled, and then fails as canceled.
 */
static void
await_thread(RingReader *r, bool stops)
{
	struct timespec until;

	if (r->service == NULL)
	{
		(void) pthread_join(r->thread, NULL);
		return;
	}
	for (;;)
	{
		if (stops)
			__atomic_store_n(&r->service->stopping, 1, __ATOMIC_SEQ_CST);
		until = gr_deadline(JOIN_NAP_NS);
		if (pthread_clockjoin_np(r->thread, NULL, GR_CLOCK, &until) == 0)
			break;
		stops = stops || gr_canceled(&gr_host);
	}
	__atomic_store_n(&r->service->stopping, 0, __ATOMIC_SEQ_CST);
}

static void
join_thread(RingReader *r, ReaderEnd end)
{
	if (!r->started)
		return;
	pg_atomic_write_u32(&r->ends, end);
	(void) sem_post(&r->ring->wake);
	await_thread(r, end == READER_STOPS);
	r->started = false;
	gr_lend_session(false);
	gr_note_device_error(&r->error);
}

/* Unpins and frees the ring's memory. No copy from it may be under way. */
static void
drop_ring(RingReader *r)
{
	if (r->pinned_for != NULL)
		r->pinned_by->unpin(r->pinned_for, r->ring);
	r->pinned_for = NULL;
	if (r->lease.client != NULL && r->ring != NULL)
		gr_ring_end(r->ring);
	else
		gr_ring_destroy(r->segment);
	gr_lease_end(&r->lease);
	r->segment = NULL;
	r->ring = NULL;
}

/* Frees the ring that is kept for the session, if there is one. */
static void
forget_ring(void)
{
	if (kept.ring == NULL)
		return;
	kept.device->unpin(kept.session, kept.ring);
	gr_ring_destroy(kept.segment);
	memset(&kept, 0, sizeof(kept));
}

/*
 * Keeps the ring for the session's next statement if its memory is pinned, the thread opened the device, and no ring
 * is kept yet; else frees it.
 */
static void
keep_ring(RingReader *r)
{
	/* a call within the query may have left a ring, which serves as well */
	if (r->pinned_for == NULL || !r->opens_device || kept.ring != NULL)
	{
		drop_ring(r);
		return;
	}
	kept.ring = r->ring;
	kept.segment = r->segment;
	kept.session = r->pinned_for;
	kept.device = r->pinned_by;
	r->ring = NULL;
	r->segment = NULL;
	r->pinned_for = NULL;
	gr_before_session_close(forget_ring);
}

/* Ends the thread and frees the ring and the job's rows on the device, at any stage of the reader. */
static void
end_reader(void *arg)
{
	RingReader *r = arg;

	if (r->ring != NULL)
		gr_ring_stop(r->ring);
	join_thread(r, READER_STOPS);
	if (r->ring == NULL && r->segment == NULL)
		return;
	/* the sink reads the ring's memory and ends first; the job, which holds the session that unpins, ends last */
	gr_job_end_sink(r->job);
	drop_ring(r);
	gr_job_release(r->job);
}

/*
 * Ends the thread and frees the rows on the device after the query has failed. The ring stays until the statement's
 * memory goes: workers that don't know of the failure may still write to it, and its memory must not be leased to
 * another session meanwhile. The transaction's abort waits for the workers before it frees the statement's memory.
 */
static void
stop_reading(RingReader *r)
{
	gr_ring_stop(r->ring);
	join_thread(r, READER_STOPS);
	gr_job_end_sink(r->job);
}

static bool
start_thread(RingReader *r)
{
	gr_lend_session(true);
	r->started = gr_thread_create(&r->thread, reader_main, r) == 0;
	if (!r->started)
		gr_lend_session(false);
	return r->started;
}

/* Sends the blocks that their producers didn't fill up. All producers and the thread have ended. */
static bool
send_rest(RingReader *r)
{
	GrRing	   *ring = r->ring;

	for (int b = 0; b < ring->nblocks; b++)
	{
		GrRingBlock *block = &ring->blocks[b];
		GrError		err = {0};

		if (pg_atomic_read_u32(&block->state) != GR_BLOCK_FILLING || block->nrows == 0)
			continue;
		if (!ring->keeps && !gr_rows_valid(gr_ring_rows(ring, b), block->nrows, ring->shape, ring->rules, &err))
			gr_raise_row(&err, ring->shape, r->job->names);
		gr_ring_total(ring, b);
		gr_progress_rows(block->nrows);
		if (!send_block(r, b))
			return false;
	}
	while (r->nread < r->nsent)
		if (!free_blocks(r, true))
			return false;
	return true;
}

/* Sets the arrays' widths and the names of all numbers by the rows read. False if there was no complete row. */
static bool
describe_rows(RingReader *r, GrIngest *ingest)
{
	if (!gr_ring_shape_known(r->ring))
		return false;
	gr_set_widths(ingest->arguments, r->ring->widths + gr_nroles(ingest->arguments));
	gr_take_widths(ingest->columns, ingest->arguments);
	gr_name_ingested(ingest);
	r->job->shape.nfeatures = ingest->nfeatures;
	r->job->names = ingest->names;
	return true;
}

/* Runs the aggregate, ends the thread, and returns the aggregate's result. */
static NullableDatum
run_query(RingReader *r, const GrPlan *plan, ParamListInfo params)
{
	NullableDatum *result = palloc0(sizeof(NullableDatum));

	PG_TRY();
	{
		result->value = gr_run_for_value(plan, params, &result->isnull);
	}
	PG_CATCH();
	{
		stop_reading(r);
		PG_RE_THROW();
	}
	PG_END_TRY();
	gr_ring_stop(r->ring);
	join_thread(r, READER_DRAINS);
	return *result;
}

/* Makes a reader without a ring. The current memory context owns the reader. */
static RingReader *
new_reader(const GrJobOptions *options, const GrPlace *place, bool opens_device, double nrows_expected)
{
	RingReader *r = palloc0(sizeof(RingReader));

	r->job = gr_job_new(options);
	r->job->place = *place;
	r->job->stays = options->keeper != NULL;
	r->service = place->service;
	r->job->nrows_expected = nrows_expected;
	r->opens_device = opens_device;
	pg_atomic_init_u32(&r->ends, READER_RUNS);
	r->callback.func = end_reader;
	r->callback.arg = r;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &r->callback);
	return r;
}

/* Makes the ring in memory that is leased from the device service. */
static bool
lease_ring(RingReader *r, Size nbytes, int nproducers)
{
	if (!gr_lease_begin(&r->lease, r->service, gr_ring_nbytes(nbytes, nproducers)))
		return false;
	r->ring = gr_ring_create_in(r->lease.memory, nbytes, nproducers);
	/* the lease owns the segment */
	if (r->ring == NULL)
		gr_lease_end(&r->lease);
	else
		r->segment = r->lease.segment;
	return r->ring != NULL;
}

/* Takes the ring that was kept, or makes one; false if there is no shared memory for it. */
static bool
take_ring(RingReader *r, int nplanned)
{
	/* a query may ask for more workers than the server gives */
	int			nworkers = Min(Max(max_parallel_workers_per_gather, nplanned), max_parallel_workers);
	Size		nbytes = (Size) gr_ring_size * 1024 / 2;

	if (r->service != NULL)
		return lease_ring(r, nbytes, nworkers + 1);
	if (kept.ring != NULL && (!r->opens_device || !gr_ring_serves(kept.ring, nbytes, nworkers + 1)))
		forget_ring();
	if (kept.ring != NULL)
	{
		r->ring = kept.ring;
		r->segment = kept.segment;
		r->pinned_for = kept.session;
		r->pinned_by = kept.device;
		memset(&kept, 0, sizeof(kept));
	}
	else
		r->ring = gr_ring_create(nbytes, nworkers + 1, &r->segment);
	return r->ring != NULL;
}

/* Makes the ring ready for the query; false if that can't be done. */
static bool
make_ring(RingReader *r, const GrIngest *ingest, GrRingTicket *ticket)
{
	const GrColumns *arguments = ingest->arguments;
	int32		widths[GR_RING_COLUMNS_MAX];

	r->job->rules = ingest->rules;
	if (!take_ring(r, ingest->nworkers) ||
		!gr_ring_start(r->ring, r->segment, arguments, ingest->shape, ingest->rules, ticket))
		return false;
	for (int k = 0; k < arguments->n; k++)
		widths[k] = arguments->column[k].width;
	if (arguments->nfeatures >= 0)
		gr_ring_agree(r->ring, widths, arguments->nfeatures);
	r->sent = palloc(r->ring->nblocks * sizeof(int));
	return true;
}

/* Returns the ticket as a bytea, the aggregate's argument. */
static Datum
ticket_datum(const GrRingTicket *ticket)
{
	bytea	   *b = palloc0(VARHDRSZ + sizeof(*ticket));

	SET_VARSIZE(b, VARHDRSZ + sizeof(*ticket));
	memcpy(VARDATA(b), ticket, sizeof(*ticket));
	return PointerGetDatum(b);
}

/* True if a device is wanted and a ring helps. Sets *place as far as possible without opening the device. */
static bool
wants_ring(GrIngest *ingest, const GrJobOptions *options, GrPlace *place, bool *opens_device)
{
	*opens_device = false;
	if (max_parallel_workers_per_gather == 0 || options->device_only || ingest->columns->n < 2)
		return false;
	/* within a parallel query no subtransaction, which makes a ring, is allowed, and the workers are busy */
	if (IsInParallelMode())
		return false;
	if (gr_debug_ring && options->cpu_reason == NULL)
	{
		gr_place_on_cpu(place, "gpureg.debug_ring is on");
		return !options->spool;
	}
	if (options->cpu_reason != NULL || !gr_prepare_place(place, gr_ingest_work(ingest, options->kind)) ||
		gr_device_is_missing())
		return false;
	*opens_device = true;
	return true;
}

/* Sends the rows that are left in the ring and completes the job, after the query has ended. */
static GrRingOutcome
finish_reading(RingReader *r, GrIngest *ingest, char *reason)
{
	if (r->error.status == GR_OK && describe_rows(r, ingest))
		(void) send_rest(r);
	if (r->error.status != GR_OK)
	{
		bool		retreating = retreats(r);

		end_reader(r);
		if (!retreating)
			gr_job_fail(r->job, &r->error);
		/* a job that was on the CPU keeps its reason */
		(void) gr_retreat_to_cpu(&r->job->place, &r->error);
		strlcpy(reason, r->job->place.reason, sizeof(r->job->place.reason));
		return GR_RING_RETREATED;
	}
	r->job->nrows = r->nrows;
	r->job->nworkers = (int) pg_atomic_read_u32(&r->ring->nworkers);
	ingest->nrows = r->nrows;
	if (r->nrows > 0)
	{
		ingest->job = r->job;
		keep_ring(r);
	}
	else
		end_reader(r);
	return GR_RING_READ;
}

GrRingOutcome
gr_ring_read(GrIngest *ingest, const GrJobOptions *options, char *reason)
{
	GrPlace		place = {0};
	GrRingTicket ticket = {0};
	Oid			types[2] = {BYTEAOID, TEXTARRAYOID};
	NullableDatum values[2] = {0};
	bool		opens_device;
	NullableDatum nskipped;
	RingReader *r;

	if (!wants_ring(ingest, options, &place, &opens_device) || !gr_plan_ring(ingest))
		return GR_RING_UNUSED;
	r = new_reader(options, &place, opens_device, ingest->nrows_estimate);
	if (!make_ring(r, ingest, &ticket))
	{
		end_reader(r);
		return GR_RING_UNUSED;
	}
	values[0].value = ticket_datum(&ticket);
	values[1].value = gr_names_datum(ingest->columns);
	if (!start_thread(r))
	{
		end_reader(r);
		return GR_RING_UNUSED;
	}
	nskipped = run_query(r, ingest->ring_plan, gr_make_params(2, values, types));
	ingest->nskipped = nskipped.isnull ? 0 : DatumGetInt64(nskipped.value);
	return finish_reading(r, ingest, reason);
}

/*
 * Reading rows that a service keeps
 */

/* Makes a ring in the keeping service's memory and starts a thread that sends its blocks; NULL if it can't. */
static RingReader *
start_keeping(const GrJobOptions *options, int nplanned, GrRingTicket *ticket)
{
	GrPlace		place = {0};
	GrError		err = {0};
	RingReader *r;

	if (!gr_place_at_service(&place, options->keeper, &gr_host, &err))
		gr_raise(&err);
	r = new_reader(options, &place, false, 0);
	if (take_ring(r, nplanned) && gr_ring_start(r->ring, r->segment, NULL, options->shape, options->rules, ticket))
	{
		r->sent = palloc(r->ring->nblocks * sizeof(int));
		if (start_thread(r))
			return r;
	}
	end_reader(r);
	return NULL;
}

GrJob *
gr_ring_keep(const GrPlan *plan, int nplanned, const GrJobOptions *options, Datum names, NullableDatum *told)
{
	Oid			types[2] = {BYTEAOID, TEXTARRAYOID};
	NullableDatum values[2] = {{.value = 0}, {.value = names}};
	GrRingTicket ticket = {0};
	RingReader *r = start_keeping(options, nplanned, &ticket);

	if (r == NULL)
		return NULL;
	values[0].value = ticket_datum(&ticket);
	*told = run_query(r, plan, gr_make_params(2, values, types));
	if (r->error.status == GR_OK)
		(void) send_rest(r);
	if (r->error.status != GR_OK)
	{
		end_reader(r);
		gr_job_fail(r->job, &r->error);
	}
	r->job->nrows = r->nrows;
	r->job->nworkers = (int) pg_atomic_read_u32(&r->ring->nworkers);
	drop_ring(r);
	return r->job;
}
