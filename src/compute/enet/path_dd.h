/*
 * path_dd.h: what path.c does to long vectors in double-double, compiled for several processors; the same bits on each.
 */
#ifndef GPUREG_PATH_DD_H
#define GPUREG_PATH_DD_H

#include "compute/base/dd_dot.h"

/* y[k] -= sum over r < n of rows[r][k] x[r], for k < length; relative to the terms' sizes some n 2^-104 are lost */
extern void gr_path_subtract(GrDDVector y, const GrDDConstVector *rows, const GrDD *x, int n, int64_t length);

/* row[k] = (row[k] - sums[k] mean) scale[k] own_scale, the scales being powers of two */
extern void gr_path_centre(GrDDVector row, GrDDConstVector sums, GrDD mean, const double *scale, double own_scale,
						   int64_t length);

/* y[k] = a[k] x */
extern void gr_path_multiply(GrDDVector y, GrDDConstVector a, GrDD x, int64_t length);

/*
 * A row of a factor L, after a row above it has gone; see gr_factor_drop(): for k < length in turn, w -= before[k]
 * row[k] and row[k] += share[k] w. What w ends as
 */
extern GrDD gr_path_downdate(GrDDVector row, GrDDConstVector before, GrDDConstVector share, GrDD w, int64_t length);

#endif							/* GPUREG_PATH_DD_H */
