/*
 * projection.h: random projection on the CPU, y = S x / sqrt(k p), and the cache of S.
 *
 * S is that of draw.h. Sums are float8, in ascending order of columns within chunks of GR_CHUNK_NCOLS columns (0 ..
 * 65,535, and so on), which start from 0; the chunks' sums are added in ascending order to a sum that starts from 0.
 * That is multiplied by GrDraw.scale and rounded to float4. So y has the same bits wherever and however it is computed:
 * one vector or a batch, dense or sparse (columns where x is 0 don't count), on the CPU or on a device.
 */
#ifndef GPUREG_PROJECTION_H
#define GPUREG_PROJECTION_H

#include "compute/compute.h"
#include "compute/draw.h"

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
 * y (nvectors x k) from x (nvectors x dim), both row-major, x finite. What is beyond float4's range comes out infinite.
 * S is kept as far as the cache's limit allows; what isn't kept is drawn again. Polls host.
 */
extern bool gr_projection_apply(GrProjection *projection, const float *x, int64_t nvectors, int64_t dim, float *y,
								const GrHost *host, GrError *err);

/* The same on vectors of at most max_lanes doubles (1, 4 or 8), for the tests. */
extern bool gr_projection_apply_lanes(GrProjection *projection, const float *x, int64_t nvectors, int64_t dim, float *y,
									  int max_lanes, const GrHost *host, GrError *err);

/* y (k) from the n columns idx, in strictly ascending order, with the finite values val. */
extern bool gr_projection_apply_sparse(GrProjection *projection, const int64_t *idx, const double *val, int64_t n,
									   float *y,
									   const GrHost *host, GrError *err);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_PROJECTION_H */
