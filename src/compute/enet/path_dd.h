/*
 * path_dd.h: loops over long vectors in double-double for elastic nets, compiled for several processors with the same
 * bits on each. path.c and path_factor.c call them.
 */
#ifndef GPUREG_PATH_DD_H
#define GPUREG_PATH_DD_H

#include "compute/base/dd_dot.h"

/* y[k] -= sum over r < n of rows[r][k] x[r], for k < length. The error is about n 2^-104 of the terms' sizes. */
extern void gr_path_subtract(GrDDVector y, const GrDDConstVector *rows, const GrDD *x, int n, int64_t length);

/* row[k] = (row[k] - sums[k] mean) scale[k] own_scale, for k < length; the scales are powers of two. */
extern void gr_path_centre(GrDDVector row, GrDDConstVector sums, GrDD mean, const double *scale, double own_scale,
						   int64_t length);

/* y[k] = a[k] x, for k < length. */
extern void gr_path_multiply(GrDDVector y, GrDDConstVector a, GrDD x, int64_t length);

/*
 * Updates a row of a factor L after a row above it was removed (gr_factor_drop()): for k < length in turn, w -=
 * before[k] row[k] and row[k] += share[k] w. Returns the last w.
 */
extern GrDD gr_path_downdate(GrDDVector row, GrDDConstVector before, GrDDConstVector share, GrDD w, int64_t length);

#endif							/* GPUREG_PATH_DD_H */
