/*
 * projection.h: random projection on the CPU, y = S x / sqrt(k p), and the cache of S. Dense vectors are projected by
 * chunks.h, sparse ones by sparse.h.
 *
 * S is that of draw.h. Sums are float8, in ascending order of columns within chunks of GR_CHUNK_NCOLS columns (0 ..
 * 65,535, and so on), which start from 0; the chunks' sums are added in ascending order to a sum that starts from 0.
 * That is multiplied by GrDraw.scale and rounded to float4. So y has the same bits wherever and however it is computed:
 * one vector or a batch, dense or sparse (columns where x is 0 don't count), on the CPU or on a device.
 */
#ifndef GPUREG_PROJECTION_H
#define GPUREG_PROJECTION_H

#include "compute/base/compute.h"
#include "compute/project/draw.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GR_CHUNK_NCOLS 65536

/* What is kept of S for one (k, seed, density): whole chunks for dense vectors, single columns for sparse ones. */
typedef struct GrProjection GrProjection;

/* Those of late, the least recently used ones given up for others. */
typedef struct GrProjectionCache GrProjectionCache;

/* An empty cache; NULL if there is no memory. It may live as long as the process. */
extern GrProjectionCache *gr_projection_cache_create(void);
extern void gr_projection_cache_free(GrProjectionCache *cache);

/* Bytes that the cache holds, and columns of S drawn since it was created (for the tests). */
extern size_t gr_projection_cache_nbytes(const GrProjectionCache *cache);
extern int64_t gr_projection_cache_ndrawn(const GrProjectionCache *cache);

/*
 * Projections looked at, moved and freed by all calls of gr_projection_open(): a few a call on average, however many
 * are kept (for the tests).
 */
extern int64_t gr_projection_cache_nsteps(const GrProjectionCache *cache);

/*
 * The projection for (k, seed, density), which stays valid until the next call. The cache holds at most limit_nbytes
 * from now on, besides what a projection takes with nothing kept (some k float8). NULL with GR_INVALID or GR_NO_MEMORY;
 * then nothing was given up.
 */
extern GrProjection *gr_projection_open(GrProjectionCache *cache, int64_t k, uint64_t seed, double density,
										size_t limit_nbytes, GrError *err);

extern const GrDraw *gr_projection_draw(const GrProjection *projection);

/*
 * For chunks.c and sparse.c
 */

/* Makes room for nbytes more of a projection, at the cost of the others; false if the limit doesn't allow it. */
extern bool gr_projection_make_room(GrProjection *projection, size_t nbytes);

/* Scratch memory of n float8, the cache's own until the next call; NULL with GR_NO_MEMORY. */
extern double *gr_projection_scratch(GrProjection *projection, size_t n, GrError *err);
/* Gives back what is large. */
extern void gr_projection_scratch_done(GrProjection *projection);
/* Fails with GR_NO_MEMORY; always false. */
extern bool gr_projection_no_memory(size_t nbytes, GrError *err);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_PROJECTION_H */
