/*
 * ring.h: a ring of blocks of rows in shared memory, through which the processes that scan a query's tables hand rows
 * to the session's own process, which sends them to a device.
 *
 * The session's process makes the ring, in a dynamic shared memory segment, and owns it. The processes that scan, the
 * session's own among them, attach to the ring by its ticket and are its producers. A producer takes a free block,
 * fills it, and marks it as full; full blocks are queued in the order in which they became full. A producer doesn't
 * know when its scan is over: its last, partly filled block tells how many rows it has, and is read when the query has
 * ended. There are at least twice as many blocks as producers, so that partly filled blocks hold nobody up.
 *
 * The consumer's functions, gr_ring_next_full() and below, call nothing of PostgreSQL, so that a thread may use them.
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

#define GR_RING_COLUMNS_MAX 100 /* PostgreSQL's limit of a function's arguments */
#define GR_RING_BLOCKS_MIN 64
#define GR_RING_BLOCK_NBYTES_MIN (128 * 1024)	/* fits a row of GR_MAX_FEATURES features */
#define GR_RING_BLOCK_NBYTES_MAX (512 * 1024)	/* larger blocks are no faster, and reach the device later */

/*
 * Names a ring to its producers. The random key keeps tickets from being made up, and a stolen ticket works only in
 * the ring's own session process and its parallel workers.
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
	GR_BLOCK_FULL,				/* full, or being copied to the device */
} GrRingBlockState;

typedef struct GrRingBlock
{
	pg_atomic_uint32 state;
	int64		nrows;			/* rows in the block; its producer raises it as it fills the block */
	GrRowTotals totals;			/* totals of a full block, if gr_has_totals() */
	char		padding[PG_CACHE_LINE_SIZE - 16 - sizeof(GrRowTotals)];
} GrRingBlock;

/* Tells producers whether to go on writing rows. */
typedef enum GrRingVerdict
{
	GR_RING_TAKES,
	GR_RING_DISCARDS,			/* rows are no longer wanted: drop them */
	GR_RING_FAILED				/* raise the ring's error */
} GrRingVerdict;

typedef struct GrRing
{
	uint64		magic;
	uint8		key[16];
	int			nblocks;
	Size		block_nbytes;
	Size		data_offset;	/* bytes from the ring's beginning to block 0's rows; whole pages */
	GrRowShape	shape;			/* shape of the ring's rows; nfeatures is set by the first complete row */
	GrRowRules	rules;			/* rules for valid rows */
	bool		keeps;			/* a service keeps the rows: NaN stands for NULL, and producers check rows */
	int			leader_pid;		/* the session's process; only this process and its parallel workers may attach */
	int			ncolumns;		/* the response is the first */
	GrColumn	columns[GR_RING_COLUMNS_MAX];	/* without names */

	/* the row shape: the first complete row sets it, and all later rows must have it */
	pg_atomic_uint32 shape_state;
	ConditionVariable shape_known;	/* producers wait here while another one sets the shape */
	int32		widths[GR_RING_COLUMNS_MAX];

	pg_atomic_uint32 verdict;
	GrError		error;			/* reason for GR_RING_FAILED */
	pg_atomic_uint32 nworkers;	/* parallel workers that had a complete row */
	pg_atomic_uint32 nproducers;
	int			nproducers_max;
	int			nhome;			/* blocks that a producer looks for first */
	pg_atomic_uint64 nfull;		/* blocks that became full so far */
	sem_t		wake;			/* posted for each full block, and when the consumer must look at its orders */
	pg_atomic_uint32 nwaiting;	/* producers that wait for a free block, or are about to */
	sem_t		freed;			/* posted for blocks that become free while producers wait, and with a verdict */
	/*
	 * behind the blocks: the queue of nblocks full blocks (block number + 1; 0: no block yet), then the process ids of
	 * nproducers_max producers (0: no producer yet)
	 */
	GrRingBlock blocks[FLEXIBLE_ARRAY_MEMBER];
} GrRing;

/*
 * Makes a ring of at most nbytes, or of the smallest size if that is larger, for nproducers producers. *segment is for
 * gr_ring_destroy(). Returns NULL if there is no shared memory for the ring.
 */
extern GrRing *gr_ring_create(Size nbytes, int nproducers, dsm_segment **segment);

/*
 * gr_ring_create_in() makes a ring in the caller's shared memory of gr_ring_nbytes() bytes or more; NULL if it can't.
 * The caller calls gr_ring_end() before that memory goes.
 */
extern Size gr_ring_nbytes(Size nbytes, int nproducers);
extern GrRing *gr_ring_create_in(void *memory, Size nbytes, int nproducers);
extern void gr_ring_end(GrRing *ring);

/* True if ring is like one that gr_ring_create() would make with these arguments. */
extern bool gr_ring_serves(const GrRing *ring, Size nbytes, int nproducers);

/*
 * Makes the ring ready for a query with these columns and fills *ticket, by which its producers find the ring; false
 * if there are no random numbers for a key. columns is NULL for rows that a service is to keep; then each number of a
 * row is a column. After gr_ring_stop(), which may be called repeatedly, no producer finds the ring.
 */
extern bool gr_ring_start(GrRing *ring, dsm_segment *segment, const GrColumns *columns, GrRowShape shape,
						  GrRowRules rules, GrRingTicket *ticket);
extern void gr_ring_stop(GrRing *ring);

/* Frees a ring of gr_ring_create() that no thread and no producer uses any more. segment may be NULL. */
extern void gr_ring_destroy(dsm_segment *segment);

/*
 * Returns the ring of a ticket. In a parallel worker the ring stays mapped as long as owner lives; in the session's own
 * process it must be attached again whenever gr_ring_epoch has changed. ERROR if this process has no such ring.
 */
extern GrRing *gr_ring_attach(const GrRingTicket *ticket, MemoryContext owner);
extern uint32 gr_ring_epoch;

/*
 * Registers this process as a producer. Returns the first of its home blocks, which it prefers because they are in its
 * caches and page tables. ERROR if the process is a producer already, or the ring has nproducers_max of them.
 */
extern int	gr_ring_join(GrRing *ring);

/*
 * Sets ring->widths and ring->shape.nfeatures by a producer's first complete row, unless another producer was earlier:
 * then waits until that one has set them. widths: numbers of each column.
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

/*
 * Takes a free block to fill, if possible from home on; -1 if the ring no longer takes rows. Waits, interruptibly.
 * Raises the ring's error if its verdict is GR_RING_FAILED.
 */
extern int	gr_ring_claim(GrRing *ring, int home);

/* Marks a block as full and appends it to the queue. */
extern void gr_ring_publish(GrRing *ring, int block);

static inline char *
gr_ring_rows(GrRing *ring, int block)
{
	return (char *) ring + ring->data_offset + block * ring->block_nbytes;
}

/* Number of rows that fit a block. The shape must be known. */
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

/* Takes full block number sequence (from 0 on) off the queue; -1 if that block isn't full yet. */
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

/* Sums the totals of a block's rows, all of which must be valid, if the rows have totals. */
static inline void
gr_ring_total(GrRing *ring, int block)
{
	GrRingBlock *b = &ring->blocks[block];

	if (!gr_has_totals(ring->shape, ring->rules))
		return;
	b->totals = (GrRowTotals) {0};
	gr_totals_add(&b->totals, gr_ring_rows(ring, block), b->nrows, ring->shape, ring->rules);
}

/* Wakes a producer that waits for a free block, if any does. The caller has freed a block or set the verdict before. */
static inline void
gr_ring_wake_producer(GrRing *ring)
{
	pg_memory_barrier();
	if (pg_atomic_read_u32(&ring->nwaiting) > 0)
		(void) sem_post(&ring->freed);
}

/* Marks a block as free, once its rows have been read, and wakes a producer. */
static inline void
gr_ring_free(GrRing *ring, int block)
{
	ring->blocks[block].nrows = 0;
	pg_write_barrier();
	pg_atomic_write_u32(&ring->blocks[block].state, GR_BLOCK_FREE);
	gr_ring_wake_producer(ring);
}

/* Sets the verdict and wakes all producers that wait for a free block. */
static inline void
gr_ring_decide(GrRing *ring, GrRingVerdict verdict)
{
	pg_write_barrier();
	pg_atomic_write_u32(&ring->verdict, verdict);
	for (int k = 0; k < ring->nproducers_max; k++)
		gr_ring_wake_producer(ring);
}

#endif							/* GPUREG_RING_H */
