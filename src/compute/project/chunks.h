/*
 * chunks.h: random projection of dense vectors on the CPU; see projection.h. gpu_project (fn_project.c) and passes over
 * a query's vectors (project_pass.c) call it first.
 */
#ifndef GPUREG_CHUNKS_H
#define GPUREG_CHUNKS_H

#include "compute/project/projection.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Vectors to project: nvectors x dim, row-major, finite. The array is the caller's. */
typedef struct GrProjectVectors
{
	const float *x;
	int64_t		nvectors;
	int64_t		dim;
} GrProjectVectors;

/*
 * Projects vectors to y (nvectors x k, row-major, the caller's). Results beyond float4's range are infinite. Keeps S as
 * far as the cache's limit allows; the rest is drawn again at each call. Fails with GR_NO_MEMORY and GR_CANCELED.
 */
extern bool gr_projection_apply(GrProjection *projection, const GrProjectVectors *vectors, float *y, const GrHost *host,
								GrError *err);

/* gr_projection_apply() on vectors of at most max_lanes doubles (1, 4 or 8), for the tests. */
extern bool gr_projection_apply_lanes(GrProjection *projection, const GrProjectVectors *vectors, float *y,
									  int max_lanes, const GrHost *host, GrError *err);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_CHUNKS_H */
