/*
 * sparse.h: random projection of sparse vectors on the CPU; see projection.h. gpu_project_sparse calls it first.
 */
#ifndef GPUREG_SPARSE_H
#define GPUREG_SPARSE_H

#include "compute/project/projection.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Projects a sparse vector to y (k numbers, the caller's): n columns idx, strictly ascending, with finite values val.
 * Fails with GR_NO_MEMORY and GR_CANCELED.
 */
extern bool gr_projection_apply_sparse(GrProjection *projection, const int64_t *idx, const double *val, int64_t n,
									   float *y, const GrHost *host, GrError *err);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_SPARSE_H */
