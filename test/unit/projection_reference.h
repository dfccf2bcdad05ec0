/*
 * projection_reference.h: y = S x / sqrt(k p) directly from projection.h's definition, one column after the other.
 */
#ifndef GPUREG_PROJECTION_REFERENCE_H
#define GPUREG_PROJECTION_REFERENCE_H

#include "compute/project/draw.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Writes the nonzeros of column j of S to entries (room for k), unordered; returns how many. */
extern int	projection_reference_column(const GrDraw *draw, int64_t j, uint32_t *entries);

/* Computes y (length k) from the vector x of length dim. */
extern void projection_reference(const GrDraw *draw, const float *x, int64_t dim, float *y);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_PROJECTION_REFERENCE_H */
