/*
 * ring.h: a ring of blocks of rows in shared memory, through which the processes that scan a query's tables hand rows
 * to the session's own process, which sends them to a device.
 *
 * The session's process makes the ring, in a dynamic shared memory segment, and owns it. Those that scan, itself among
 * them, attach to it by its ticket; they are its producers. Each takes a free block, fills it, and marks it as full;
 * full blocks are numbered in the order in which they became that. A producer doesn't know when its scan is over: the
 * rows in the block that it was filling are counted there, and are read when the query has ended. There are at least
 * twice as many blocks as producers, so that a block left like that holds nobody up.
 *
 * The consumer's side, gr_ring_next_full() and below, touches nothing of PostgreSQL's, so that a thread may call it.
 */
#ifndef GPUREG_RING_H
#define GPUREG_RING_H

#include "postgres.h"

#include <semaphore.h>

#include "port/atomics.h"
#include "storage/condition_variable.h"
#include "storage/dsm.h"

#include "compute/base/compute.h"
#include "compute/dist/family.h"
#include "rows/columns/columns.h"

#define GR_RING_COLUMNS_MAX 100 /* arguments of a function */
#define GR_RING_BLOCKS_MIN 64
#define GR_RING_BLOCK_NBYTES_MIN (128 * 1024)	/* a row of GR_MAX_FEATURES features and more */
#define GR_RING_BLOCK_NBYTES_MAX (512 * 1024)	/* no faster beyond, and later on the device */

/*
 * What a producer needs to find the ring: nobody can make one up, and with a stolen one only the ring's own processes
 * can do anything.
 */
typedef struct GrRingTicket
{
	dsm_handle	handle;
	uint8		key[16];
} GrRingTicket;

typedef enum GrRingBlockState
{
	GR_BLOCK_FREE,
	GR_BLOCK_FILLING,
	GR_BLOCK_FULL,				/* and those on their way to the device */
} GrRingBlockState;

typedef struct GrRingBlock
{
	pg_atomic_uint32 state;
	int64		nrows;			/* of a block being filled too: no less than are there */
	GrRowTotals totals;			/* of a full one, where rows have weights */
	char		padding[PG_CACHE_LINE_SIZE - 16 - sizeof(GrRowTotals)];
} GrRingBlock;

/* What producers are to do with rows. */
typedef enum GrRingVerdict
{
	GR_RING_TAKES,
	GR_RING_DISCARDS,			/* nobody wants them any more */
	GR_RING_FAILED				/* raise the ring's error */
} GrRingVerdict;

typedef struct GrRing
{
	uint64		magic;
	uint8		key[16];
	int			nblocks;
	Size		block_nbytes;
	Size		data_offset;	/* of the blocks' rows from the ring's beginning, whole pages */
	GrRowShape	shape;			/* of its rows; how many features, the first complete row tells */
	GrRowRules	rules;			/* that they must obey */
	bool		keeps;			/* its rows are for a service to keep: NaN is NULL, and producers check them */
	int			leader_pid;		/* of the session's process: it and its parallel workers may attach, and nobody else */
	int			ncolumns;		/* the response is the first */
	GrColumn	columns[GR_RING_COLUMNS_MAX];	/* without names */

	/* what the first complete row tells, and every other must agree with */
	pg_atomic_uint32 shape_state;
	ConditionVariable shape_known;	/* producers wait here for the one that tells it */
	int32		widths[GR_RING_COLUMNS_MAX];

	pg_atomic_uint32 verdict;
	GrError		error;			/* of GR_RING_FAILED */
	pg_atomic_uint32 nworkers;	/* parallel workers that had rows */
	pg_atomic_uint32 nproducers;
	int			nproducers_max;
	int			nhome;			/* blocks that a producer looks for first */
	pg_atomic_uint64 nfull;		/* blocks that became full so far */
	sem_t		wake;			/* posted for each, and when the consumer is to look around */
	pg_atomic_uint32 nwaiting;	/* producers that wait for a free block, or are about to */
	sem_t		freed;			/* posted for blocks that become free while producers wait, and with a verdict */
	/*
	 * then the queue: nblocks numbers of full blocks, from 1 on, 0: none yet; then the process ids of nproducers_max
	 * producers, 0: none yet
	 */
	GrRingBlock blocks[FLEXIBLE_ARRAY_MEMBER];
} GrRing;

/*
 * Makes a ring of at most nbytes, or the least size there is, for so many producers; NULL if there is no shared memory
 * for it. *segment: for gr_ring_destroy()
 */
extern GrRing *gr_ring_create(Size nbytes, int nproducers, dsm_segment **segment);

/* The same in a segment of the caller's, of gr_ring_nbytes() bytes at least; gr_ring_end() before it goes */
extern Size gr_ring_nbytes(Size nbytes, int nproducers);
extern GrRing *gr_ring_create_in(void *memory, Size nbytes, int nproducers);
extern void gr_ring_end(GrRing *ring);

/* Is it what gr_ring_create() would make? */
extern bool gr_ring_serves(const GrRing *ring, Size nbytes, int nproducers);

/*
 * Makes it ready for a query with these columns, whose producers find it by the ticket; false if that can't be done.
 * columns NULL: rows that a service is to keep, all numbers of which are columns. gr_ring_stop() ends that: from then
 * on nobody finds it. (It may be called again.)
 */
extern bool gr_ring_start(GrRing *ring, dsm_segment *segment, const GrColumns *columns, GrRowShape shape,
						  GrRowRules rules, GrRingTicket *ticket);
extern void gr_ring_stop(GrRing *ring);

/* No thread may use it any more, and its producers have come to their end; NULL is accepted. */
extern void gr_ring_destroy(dsm_segment *segment);

/*
 * The ring of a ticket, for as long as owner lives; in the session's own process for as long as gr_ring_epoch stays
 * what it is: then it must be looked for again. ERROR if there is none for this process.
 */
extern GrRing *gr_ring_attach(const GrRingTicket *ticket, MemoryContext owner);
extern uint32 gr_ring_epoch;

/*
 * One more producer, the only one of this process: where its own blocks begin, which it takes when they are free, as
 * they are in its caches and its page tables. ERROR if the ring has as many as it was made for.
 */
extern int	gr_ring_join(GrRing *ring);

/*
 * Tells the ring how many numbers each column of a complete row has, and nfeatures, their sum without the first; or is
 * told, where another producer's row was earlier. From then on they are in ring->widths and ring->shape.
 */
extern void gr_ring_agree(GrRing *ring, const int32 *widths, int nfeatures);

#define GR_SHAPE_UNKNOWN 0
#define GR_SHAPE_ASKED 1
#define GR_SHAPE_KNOWN 2

static inline bool
gr_ring_shape_known(GrRing *ring)
{
	bool		known = pg_atomic_read_u32(&ring->shape_state) == GR_SHAPE_KNOWN;

	pg_read_barrier();
	return known;
}

/* A block to fill, or -1 if the ring no longer takes rows. Waits, interruptibly; ERROR if the ring has failed. */
extern int	gr_ring_claim(GrRing *ring, int home);

/* The block is full. */
extern void gr_ring_publish(GrRing *ring, int block);

static inline char *
gr_ring_rows(GrRing *ring, int block)
{
	return (char *) ring + ring->data_offset + block * ring->block_nbytes;
}

/* Rows that fit a block, once the shape is known. */
static inline int64
gr_ring_capacity(const GrRing *ring)
{
	return ring->block_nbytes / gr_row_nbytes(ring->shape);
}

static inline pg_atomic_uint32 *
gr_ring_queue(GrRing *ring)
{
	return (pg_atomic_uint32 *) &ring->blocks[ring->nblocks];
}

static inline pg_atomic_uint32 *
gr_ring_producers(GrRing *ring)
{
	return gr_ring_queue(ring) + ring->nblocks;
}

/* The block that became full as number sequence (from 0 on), or -1 if there is none yet */
static inline int
gr_ring_next_full(GrRing *ring, int64 sequence)
{
	pg_atomic_uint32 *entry = &gr_ring_queue(ring)[sequence % ring->nblocks];
	uint32		block = pg_atomic_read_u32(entry);

	if (block == 0)
		return -1;
	pg_read_barrier();
	pg_atomic_write_u32(entry, 0);
	return (int) block - 1;
}

/* Notes the totals of a block's rows, all of them valid. */
static inline void
gr_ring_total(GrRing *ring, int block)
{
	GrRingBlock *b = &ring->blocks[block];

	if (!gr_has_totals(ring->shape, ring->rules))
		return;
	b->totals = (GrRowTotals) {0};
	gr_totals_add(&b->totals, gr_ring_rows(ring, block), b->nrows, ring->shape, ring->rules);
}

/* Wakes a producer that waits for a free block, if any does. Whatever it waits for was written before. */
static inline void
gr_ring_wake_producer(GrRing *ring)
{
	pg_memory_barrier();
	if (pg_atomic_read_u32(&ring->nwaiting) > 0)
		(void) sem_post(&ring->freed);
}

/* The block's rows have been read. */
static inline void
gr_ring_free(GrRing *ring, int block)
{
	ring->blocks[block].nrows = 0;
	pg_write_barrier();
	pg_atomic_write_u32(&ring->blocks[block].state, GR_BLOCK_FREE);
	gr_ring_wake_producer(ring);
}

/* Tells producers what to do with rows from now on, also those that wait. */
static inline void
gr_ring_decide(GrRing *ring, GrRingVerdict verdict)
{
	pg_write_barrier();
	pg_atomic_write_u32(&ring->verdict, verdict);
	for (int k = 0; k < ring->nproducers_max; k++)
		gr_ring_wake_producer(ring);
}

#endif							/* GPUREG_RING_H */
