/*
 * projection_state.h: contents of the cache of projection.h, shared by projection.c, which manages it, and chunks.c and
 * sparse.c, which fill it.
 */
#ifndef GPUREG_PROJECTION_STATE_H
#define GPUREG_PROJECTION_STATE_H

#include <string.h>

#include "compute/base/compute.h"
#include "compute/project/draw.h"

/* Entries between two polls: drawing and adding them takes some milliseconds. A power of two. */
#define GR_POLL_ENTRIES (1 << 20)

/* The first ncols columns of a chunk of S, by rows. Entries are 2 column + (1 if the sign is -), ascending in a row. */
typedef struct GrMatrixChunk
{
	int32_t		ncols;			/* 0: the chunk is not kept */
	uint32_t   *starts;			/* k + 1: row i's entries are starts[i] .. starts[i + 1] - 1 */
	uint32_t   *entries;
	size_t		nbytes;
} GrMatrixChunk;

/*
 * Single columns of S, in a hash table of slots of equal size. A slot has the column's number (-1: empty), the number
 * of entries, and the entries: 2 row + (1 if the sign is -), of 16 bits if k allows. A column with more entries than
 * fit a slot is not kept.
 */
typedef struct GrColumnTable
{
	char	   *slots;
	int64_t		nslots;
	int			capacity;		/* entries of a slot */
	bool		wide;			/* entries have 32 bits */
	size_t		slot_nbytes;
	int64_t		nused;
} GrColumnTable;

typedef struct GrProjection
{
	GrDraw		draw;
	struct GrProjectionCache *cache;
	struct GrProjection *newer; /* used next after this one */
	struct GrProjection *older; /* used last before this one */
	struct GrProjection *chained;	/* next in the same bucket */
	GrMatrixChunk *chunks;		/* nchunks chunks, up to the last one that was used and could be kept */
	int64_t		nchunks;
	GrColumnTable columns;
	size_t		nbytes;			/* bytes kept; unless the projection is the cache's first, with GR_PROJECTION_NBYTES */
} GrProjection;

/*
 * Projections, in the order of their use and in a hash table by (k, seed, density). The number of buckets is at least
 * that of projections, and at most GR_BUCKETS_MAX times that or GR_NBUCKETS_MIN.
 */
typedef struct GrProjectionCache
{
	GrProjection *first;		/* most recently used */
	GrProjection *last;			/* least recently used */
	GrProjection **buckets;
	size_t		nbuckets;		/* a power of two, or 0 before the table exists */
	size_t		nprojections;
	int64_t		nsteps;			/* see gr_projection_cache_nsteps() */
	size_t		nbytes;
	size_t		limit_nbytes;
	int64_t		ndrawn;
	double	   *scratch;
	size_t		scratch_nbytes;
} GrProjectionCache;

#define GR_NBUCKETS_MIN 16
#define GR_BUCKETS_MAX 4

/* Bytes of a projection with nothing kept, with its share of the hash table. */
#define GR_PROJECTION_NBYTES (sizeof(GrProjection) + GR_BUCKETS_MAX * sizeof(GrProjection *))

/* Adds more to the counts of bytes kept, and subtracts less. */
static inline void
gr_projection_count(GrProjection *projection, size_t more, size_t less)
{
	projection->nbytes += more - less;
	projection->cache->nbytes += more - less;
}

/* Sets n float8 to 0. Returns false if canceled. */
static inline bool
gr_projection_clear(double *to, size_t n, GrPoll *poll)
{
	for (size_t from = 0; from < n; from += GR_POLL_ENTRIES)
	{
		size_t		m = n - from < GR_POLL_ENTRIES ? n - from : GR_POLL_ENTRIES;

		memset(to + from, 0, m * sizeof(double));
		if (gr_poll(poll, (int64_t) m))
			return false;
	}
	return true;
}

/* Returns the average number of entries of a column. */
static inline double
gr_draw_mean(const GrDraw *draw)
{
	return draw->k * draw->density;
}

#endif							/* GPUREG_PROJECTION_STATE_H */
