/*
 * ring.c: makes, starts and ends rings, and has the producers' functions; see ring.h.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/pmsignal.h"
#include "storage/proc.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/wait_event.h"

#include "compute/base/thread.h"
#include "rows/columns/columns.h"
#include "rows/ring/ring.h"
#include "run/progress.h"
#include "run/raise.h"
#include "run/wait.h"

#define RING_MAGIC UINT64CONST(0x6770755f72696e67)
#define PAGE ((Size) 4096)
#define LOOK_NS INT64CONST(10000000)	/* interval at which a waiting producer looks for signals and the postmaster */

/* Counts starts and stops of this process's rings. A change tells a producer to attach again. */
uint32		gr_ring_epoch = 0;

/* Number of this process's rings that take rows. Several are possible: a query that is read may itself call gpureg. */
static int	nstarted = 0;

/*
 * Makes a segment that the caller, not a transaction, detaches. Returns NULL if there is no room for it: PostgreSQL
 * reports this as an error, which a subtransaction catches.
 */
static dsm_segment *
create_segment(Size nbytes)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	dsm_segment *volatile segment = NULL;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		/* if a file can be written only in part, as on a full disk, PostgreSQL reports errno as it was before */
		errno = ENOSPC;
		segment = dsm_create(nbytes, DSM_CREATE_NULL_IF_MAXSEGMENTS);
		if (segment != NULL)
			dsm_pin_mapping(segment);
		ReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(context);
		CurrentResourceOwner = owner;
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(context);
		CurrentResourceOwner = owner;
		segment = NULL;
		/* a full /dev/shm is a lack of room; other errors, such as a cancel or missing privileges, are raised */
		if (ERRCODE_TO_CATEGORY(error->sqlerrcode) != ERRCODE_INSUFFICIENT_RESOURCES)
			ReThrowError(error);
		FreeErrorData(error);
	}
	PG_END_TRY();
	return segment;
}

static int
blocks_for(int nproducers)
{
	return Max(GR_RING_BLOCKS_MIN, 2 * nproducers);
}

static Size
block_nbytes_for(Size nbytes, int nblocks)
{
	return TYPEALIGN_DOWN(PAGE, Min(Max(nbytes / nblocks, GR_RING_BLOCK_NBYTES_MIN), GR_RING_BLOCK_NBYTES_MAX));
}

static Size
data_offset_for(int nblocks, int nproducers)
{
	return TYPEALIGN(PAGE, offsetof(GrRing, blocks) + nblocks * (sizeof(GrRingBlock) + sizeof(pg_atomic_uint32)) +
					 nproducers * sizeof(pg_atomic_uint32));
}

Size
gr_ring_nbytes(Size nbytes, int nproducers)
{
	int			nblocks = blocks_for(nproducers);

	return data_offset_for(nblocks, nproducers) + nblocks * block_nbytes_for(nbytes, nblocks);
}

GrRing *
gr_ring_create_in(void *memory, Size nbytes, int nproducers)
{
	GrRing	   *ring = memory;
	int			nblocks = blocks_for(nproducers);
	Size		data_offset = data_offset_for(nblocks, nproducers);

	memset(ring, 0, data_offset);
	if (sem_init(&ring->wake, 1, 0) != 0)
		return NULL;
	if (sem_init(&ring->freed, 1, 0) != 0)
	{
		(void) sem_destroy(&ring->wake);
		return NULL;
	}
	ConditionVariableInit(&ring->shape_known);
	pg_atomic_init_u32(&ring->nwaiting, 0);
	ring->nblocks = nblocks;
	ring->block_nbytes = block_nbytes_for(nbytes, nblocks);
	ring->data_offset = data_offset;
	ring->nproducers_max = nproducers;
	ring->nhome = nblocks / nproducers;
	return ring;
}

void
gr_ring_end(GrRing *ring)
{
	(void) sem_destroy(&ring->wake);
	(void) sem_destroy(&ring->freed);
}

GrRing *
gr_ring_create(Size nbytes, int nproducers, dsm_segment **segment)
{
	GrRing	   *ring;

	*segment = create_segment(gr_ring_nbytes(nbytes, nproducers));
	if (*segment == NULL)
		return NULL;
	ring = gr_ring_create_in(dsm_segment_address(*segment), nbytes, nproducers);
	if (ring == NULL)
	{
		dsm_detach(*segment);
		*segment = NULL;
	}
	return ring;
}

bool
gr_ring_serves(const GrRing *ring, Size nbytes, int nproducers)
{
	return ring->nblocks == blocks_for(nproducers) && ring->block_nbytes == block_nbytes_for(nbytes, ring->nblocks) &&
		ring->nproducers_max == nproducers;
}

/* Process id of a parallel worker's leader, or of this process if it is no parallel worker. */
static int
leader_pid(void)
{
	const PGPROC *leader = MyProc->lockGroupLeader != NULL ? MyProc->lockGroupLeader : MyProc;

	return leader->pid;
}

/* Copies a query's columns into the ring. columns is NULL for rows that are kept, whose shape is known already. */
static void
take_columns(GrRing *ring, const GrColumns *columns)
{
	ring->ncolumns = columns == NULL ? gr_row_ncols(ring->shape) : columns->n;
	Assert(ring->ncolumns <= GR_RING_COLUMNS_MAX);
	pg_atomic_init_u32(&ring->shape_state, columns == NULL ? GR_SHAPE_KNOWN : GR_SHAPE_UNKNOWN);
	if (columns == NULL)
		return;
	memcpy(ring->columns, columns->column, columns->n * sizeof(GrColumn));
	for (int k = 0; k < columns->n; k++)
	{
		ring->columns[k].name = NULL;
		ring->columns[k].elements = NULL;
	}
	ring->shape.nfeatures = 0;
}

bool
gr_ring_start(GrRing *ring, dsm_segment *segment, const GrColumns *columns, GrRowShape shape, GrRowRules rules,
			  GrRingTicket *ticket)
{
	ring->shape = shape;
	ring->rules = rules;
	ring->keeps = columns == NULL;
	ring->leader_pid = leader_pid();
	take_columns(ring, columns);
	memset(&ring->error, 0, sizeof(ring->error));
	pg_atomic_init_u32(&ring->verdict, GR_RING_TAKES);
	pg_atomic_init_u32(&ring->nworkers, 0);
	pg_atomic_init_u32(&ring->nproducers, 0);
	pg_atomic_init_u64(&ring->nfull, 0);
	for (int b = 0; b < ring->nblocks; b++)
	{
		ring->blocks[b].nrows = 0;
		pg_atomic_init_u32(&ring->blocks[b].state, GR_BLOCK_FREE);
		pg_atomic_init_u32(&gr_ring_queue(ring)[b], 0);
	}
	for (int k = 0; k < ring->nproducers_max; k++)
		pg_atomic_init_u32(&gr_ring_producers(ring)[k], 0);
	/* an earlier query's producers and consumer may have left the semaphores above 0 */
	while (sem_trywait(&ring->wake) == 0)
		;
	while (sem_trywait(&ring->freed) == 0)
		;
	/* each query has its own key, so that producers of an earlier query can't attach */
	if (!pg_strong_random(ring->key, sizeof(ring->key)))
		return false;
	ticket->handle = dsm_segment_handle(segment);
	memcpy(ticket->key, ring->key, sizeof(ring->key));
	ring->magic = RING_MAGIC;
	gr_ring_epoch++;
	nstarted++;
	return true;
}

void
gr_ring_stop(GrRing *ring)
{
	if (ring->magic != RING_MAGIC)
		return;
	ring->magic = 0;
	memset(ring->key, 0, sizeof(ring->key));
	gr_ring_epoch++;
	nstarted--;
}

void
gr_ring_destroy(dsm_segment *segment)
{
	if (segment == NULL)
		return;
	gr_ring_end(dsm_segment_address(segment));
	dsm_detach(segment);
}

static void
detach_segment(void *arg)
{
	dsm_detach(arg);
}

/* Attaches a segment for as long as owner lives; NULL if there is none. */
static dsm_segment *
attach_segment(dsm_handle handle, MemoryContext owner)
{
	MemoryContextCallback *callback = MemoryContextAlloc(owner, sizeof(MemoryContextCallback));
	dsm_segment *segment = dsm_attach(handle);

	if (segment == NULL)
		return NULL;
	dsm_pin_mapping(segment);
	callback->func = detach_segment;
	callback->arg = segment;
	MemoryContextRegisterResetCallback(owner, callback);
	return segment;
}

/*
 * Only the process that started a ring and its parallel workers attach to it. That process has the ring mapped while
 * it takes rows. Processes without a ring map no segment at all, as its handle may have been guessed.
 */
GrRing *
gr_ring_attach(const GrRingTicket *ticket, MemoryContext owner)
{
	dsm_segment *segment = NULL;
	GrRing	   *ring = NULL;

	if (nstarted > 0 || IsParallelWorker())
		segment = dsm_find_mapping(ticket->handle);
	if (segment == NULL && IsParallelWorker())
		segment = attach_segment(ticket->handle, owner);
	if (segment != NULL && dsm_segment_map_length(segment) >= sizeof(GrRing))
		ring = dsm_segment_address(segment);
	if (ring == NULL || ring->magic != RING_MAGIC || memcmp(ring->key, ticket->key, sizeof(ring->key)) != 0 ||
		ring->leader_pid != leader_pid())
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("there is no such ring"),
				 errhint("Do not call this function: gpureg uses it in its own queries.")));
	return ring;
}

int
gr_ring_join(GrRing *ring)
{
	uint32		n = Min(pg_atomic_read_u32(&ring->nproducers), (uint32) ring->nproducers_max);
	bool		joined = false;

	/* entries that other producers write meanwhile never equal this process's id */
	for (uint32 k = 0; k < n; k++)
		joined |= pg_atomic_read_u32(&gr_ring_producers(ring)[k]) == (uint32) MyProcPid;
	if (!joined)
		n = pg_atomic_fetch_add_u32(&ring->nproducers, 1);
	if (joined || n >= (uint32) ring->nproducers_max)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("the ring has all the producers that it was made for"),
				 errhint("Do not call this function: gpureg uses it in its own queries.")));
	pg_atomic_write_u32(&gr_ring_producers(ring)[n], (uint32) MyProcPid);
	return (int) (n * ring->nhome % ring->nblocks);
}

void
gr_ring_agree(GrRing *ring, const int32 *widths, int nfeatures)
{
	uint32		expected = GR_SHAPE_UNKNOWN;

	if (pg_atomic_compare_exchange_u32(&ring->shape_state, &expected, GR_SHAPE_ASKED))
	{
		/* nothing between here and the broadcast can fail: other producers wait for it */
		memcpy(ring->widths, widths, ring->ncolumns * sizeof(int32));
		ring->shape.nfeatures = nfeatures;
		pg_write_barrier();
		pg_atomic_write_u32(&ring->shape_state, GR_SHAPE_KNOWN);
		ConditionVariableBroadcast(&ring->shape_known);
		return;
	}
	if (gr_ring_shape_known(ring))
		return;
	ConditionVariablePrepareToSleep(&ring->shape_known);
	while (!gr_ring_shape_known(ring))
		ConditionVariableSleep(&ring->shape_known, gr_wait_event(GR_WAIT_RING));
	ConditionVariableCancelSleep();
}

/* Takes a free block, trying block home first; -1 if no block is free. */
static int
find_free(GrRing *ring, int home)
{
	for (int k = 0; k < ring->nblocks; k++)
	{
		int			b = (home + k) % ring->nblocks;
		uint32		expected = GR_BLOCK_FREE;

		if (pg_atomic_read_u32(&ring->blocks[b].state) == GR_BLOCK_FREE &&
			pg_atomic_compare_exchange_u32(&ring->blocks[b].state, &expected, GR_BLOCK_FILLING))
			return b;
	}
	return -1;
}

static bool
has_free(GrRing *ring)
{
	for (int b = 0; b < ring->nblocks; b++)
		if (pg_atomic_read_u32(&ring->blocks[b].state) == GR_BLOCK_FREE)
			return true;
	return false;
}

/*
 * Waits until a block may be free, the verdict may have changed, or LOOK_NS are over. The wait is for a semaphore, as
 * the thread that frees blocks must not touch condition variables. This process raises nwaiting before it looks for
 * free blocks again, and the thread reads nwaiting after it has freed a block: no wakeup is lost.
 */
static void
await_free(GrRing *ring)
{
	uint32		event = gr_wait_event(GR_WAIT_RING);
	struct timespec until = gr_deadline(LOOK_NS);

	(void) pg_atomic_fetch_add_u32(&ring->nwaiting, 1);
	if (!has_free(ring) && pg_atomic_read_u32(&ring->verdict) == GR_RING_TAKES)
	{
		pgstat_report_wait_start(event);
		(void) sem_clockwait(&ring->freed, GR_CLOCK, &until);
		pgstat_report_wait_end();
	}
	(void) pg_atomic_fetch_sub_u32(&ring->nwaiting, 1);
	if (!PostmasterIsAlive())
		proc_exit(1);
}

int
gr_ring_claim(GrRing *ring, int home)
{
	for (;;)
	{
		int			block;

		CHECK_FOR_INTERRUPTS();
		switch (pg_atomic_read_u32(&ring->verdict))
		{
			case GR_RING_DISCARDS:
				return -1;
			case GR_RING_FAILED:
				pg_read_barrier();
				if (ring->keeps && gr_is_kept_shortage(&ring->error))
					gr_raise_kept_shortage(&ring->error);
				gr_raise(&ring->error);
		}
		block = find_free(ring, home);
		if (block >= 0)
			return block;
		await_free(ring);
	}
}

void
gr_ring_publish(GrRing *ring, int block)
{
	uint64		sequence;

	gr_progress_rows(ring->blocks[block].nrows);
	pg_atomic_write_u32(&ring->blocks[block].state, GR_BLOCK_FULL);
	sequence = pg_atomic_fetch_add_u64(&ring->nfull, 1);
	pg_write_barrier();
	pg_atomic_write_u32(&gr_ring_queue(ring)[sequence % ring->nblocks], block + 1);
	(void) sem_post(&ring->wake);
}
