/*
 * projection_state.h: what the cache of projection.h holds: projection.c keeps it, chunks.c and sparse.c fill it.
 */
#ifndef GPUREG_PROJECTION_STATE_H
#define GPUREG_PROJECTION_STATE_H

#include <string.h>

#include "compute/base/compute.h"
#include "compute/project/draw.h"

/* Drawing and adding this many entries takes some milliseconds: time to poll. A power of two */
#define GR_POLL_ENTRIES (1 << 20)

/*
 * The columns of S in a chunk, or the first of them, by rows: entries are 2 column + (the sign is -), ascending in a
 * row.
 */
typedef struct GrMatrixChunk
{
	int32_t		ncols;			/* 0: not kept */
	uint32_t   *starts;			/* k + 1 */
	uint32_t   *entries;
	size_t		nbytes;
} GrMatrixChunk;

/*
 * Single columns, in a hash table of slots of one size: the column's number (-1: none), how many entries, and these, 2
 * row + (the sign is -), in 16 bits where k allows. A column with more entries than a slot has room for isn't kept.
 */
typedef struct GrColumnTable
{
	char	   *slots;
	int64_t		nslots;
	int			capacity;		/* entries of a slot */
	bool		wide;			/* entries of 32 bits */
	size_t		slot_nbytes;
	int64_t		nused;
} GrColumnTable;

typedef struct GrProjection
{
	GrDraw		draw;
	struct GrProjectionCache *cache;
	struct GrProjection *newer; /* the one used after this one */
	struct GrProjection *older; /* the one used before this one */
	struct GrProjection *chained;	/* the next one in the same bucket */
	GrMatrixChunk *chunks;		/* those at the beginning, up to the last one that was wanted and not too large */
	int64_t		nchunks;
	GrColumnTable columns;
	size_t		nbytes;			/* of all this, and, unless it is the cache's first, GR_PROJECTION_NBYTES */
} GrProjection;

/*
 * The projections, in the order of their use, and in a hash table by (k, seed, density). It has at least as many
 * buckets as there are projections, and at most GR_BUCKETS_MAX times as many, or GR_NBUCKETS_MIN.
 */
typedef struct GrProjectionCache
{
	GrProjection *first;		/* the one used last */
	GrProjection *last;			/* the one used longest ago */
	GrProjection **buckets;
	size_t		nbuckets;		/* a power of two, or 0 before there is a table */
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

/* What a projection with nothing kept takes, its share of the hash table included. */
#define GR_PROJECTION_NBYTES (sizeof(GrProjection) + GR_BUCKETS_MAX * sizeof(GrProjection *))

/* Takes away nbytes that were counted, or counts them. */
static inline void
gr_projection_count(GrProjection *projection, size_t more, size_t less)
{
	projection->nbytes += more - less;
	projection->cache->nbytes += more - less;
}

/* Makes n float8 0; false if canceled. */
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

/* How many entries a column has, on average. */
static inline double
gr_draw_mean(const GrDraw *draw)
{
	return draw->k * draw->density;
}

#endif							/* GPUREG_PROJECTION_STATE_H */
