/*
 * projection.h: random projection on the CPU, y = S x / sqrt(k p), with a cache of S. project.c opens projections
 * first; chunks.h projects dense vectors, sparse.h sparse ones.
 *
 * S is that of draw.h. Sums are float8. Columns are summed in ascending order, in chunks of GR_CHUNK_NCOLS columns (0
 * .. 65,535, and so on), each from 0; the chunks' sums are added in ascending order, from 0. The total is multiplied by
 * GrDraw.scale and rounded to float4. y therefore has the same bits however it is computed: one vector or a batch,
 * dense or sparse (columns where x is 0 do not count), on the CPU or on a device.
 */
#ifndef GPUREG_PROJECTION_H
#define GPUREG_PROJECTION_H

#include "compute/base/compute.h"
#include "compute/project/draw.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GR_CHUNK_NCOLS 65536

/* The kept part of S for one (k, seed, density): chunks for dense vectors, single columns for sparse ones. */
typedef struct GrProjection GrProjection;

/* Cache of recently used projections; the least recently used ones are freed first. */
typedef struct GrProjectionCache GrProjectionCache;

/* Returns an empty cache, or NULL if there is no memory. gr_projection_cache_free() accepts NULL. */
extern GrProjectionCache *gr_projection_cache_create(void);
extern void gr_projection_cache_free(GrProjectionCache *cache);

/* Bytes that the cache holds, and columns of S drawn since it was created; for the tests. */
extern size_t gr_projection_cache_nbytes(const GrProjectionCache *cache);
extern int64_t gr_projection_cache_ndrawn(const GrProjectionCache *cache);

/*
 * Projections visited, moved and freed by all calls of gr_projection_open(): a few per call on average, for any number
 * of kept projections; for the tests.
 */
extern int64_t gr_projection_cache_nsteps(const GrProjectionCache *cache);

/*
 * Returns the projection for (k, seed, density), which belongs to the cache and stays valid until the next call. From
 * then on the cache holds at most limit_nbytes, besides an empty projection's own size (some k float8). Returns NULL
 * with GR_INVALID or GR_NO_MEMORY, and then frees nothing.
 */
extern GrProjection *gr_projection_open(GrProjectionCache *cache, int64_t k, uint64_t seed, double density,
										size_t limit_nbytes, GrError *err);

extern const GrDraw *gr_projection_draw(const GrProjection *projection);

/*
 * For chunks.c and sparse.c
 */

/* Frees other projections until nbytes more fit the limit. Returns false if the limit does not allow it. */
extern bool gr_projection_make_room(GrProjection *projection, size_t nbytes);

/* Returns scratch memory for n float8, owned by the cache and valid until the next call; NULL with GR_NO_MEMORY. */
extern double *gr_projection_scratch(GrProjection *projection, size_t n, GrError *err);
/* Ends the use of scratch memory; a large block is freed. */
extern void gr_projection_scratch_done(GrProjection *projection);
/* Fails with GR_NO_MEMORY. Always returns false. */
extern bool gr_projection_no_memory(size_t nbytes, GrError *err);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_PROJECTION_H */
