/*
 * sparse.h: random projection of sparse vectors on the CPU; see projection.h.
 */
#ifndef GPUREG_SPARSE_H
#define GPUREG_SPARSE_H

#include "compute/project/projection.h"

#ifdef __cplusplus
extern "C" {
#endif

/* y (k) from the n columns idx, in strictly ascending order, with the finite values val. */
extern bool gr_projection_apply_sparse(GrProjection *projection, const int64_t *idx, const double *val, int64_t n,
									   float *y, const GrHost *host, GrError *err);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_SPARSE_H */
