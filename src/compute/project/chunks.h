/*
 * chunks.h: random projection of dense vectors on the CPU; see projection.h.
 */
#ifndef GPUREG_CHUNKS_H
#define GPUREG_CHUNKS_H

#include "compute/project/projection.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Vectors to project: nvectors x dim, row-major, finite */
typedef struct GrProjectVectors
{
	const float *x;
	int64_t		nvectors;
	int64_t		dim;
} GrProjectVectors;

/*
 * Writes y, nvectors x k, row-major. What is beyond float4's range comes out infinite.
 * S is kept as far as the cache's limit allows; what isn't kept is drawn again. Polls host.
 */
extern bool gr_projection_apply(GrProjection *projection, const GrProjectVectors *vectors, float *y, const GrHost *host,
								GrError *err);

/* The same on vectors of at most max_lanes doubles (1, 4 or 8), for the tests. */
extern bool gr_projection_apply_lanes(GrProjection *projection, const GrProjectVectors *vectors, float *y,
									  int max_lanes, const GrHost *host, GrError *err);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_CHUNKS_H */
