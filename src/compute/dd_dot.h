/*
 * dd_dot.h: dot products of vectors in double-double, on the CPU.
 */
#ifndef GPUREG_DD_DOT_H
#define GPUREG_DD_DOT_H

#include "compute/compute.h"
#include "compute/dd.h"

/* Entries hi[k] + lo[k], with |lo[k]| <= ulp(hi[k]) / 2. */
typedef struct GrDDVector
{
	double	   *hi;
	double	   *lo;
} GrDDVector;

typedef struct GrDDConstVector
{
	const double *hi;
	const double *lo;
} GrDDConstVector;

/*
 * start - sum over k < n of a[k] b[k]; *magnitude becomes |start| + sum of |a[k] b[k]|. Its error is at most some n
 * 2^-104 of *magnitude, and a few 2^-104 as a rule. The same bits on every processor.
 */
extern GrDD gr_dd_minus_dot(GrDD start, GrDDConstVector a, GrDDConstVector b, int64_t n, double *magnitude);

/* The same on vectors of at most max_lanes doubles (1, 4 or 8), for the tests. */
extern GrDD gr_dd_minus_dot_lanes(GrDD start, GrDDConstVector a, GrDDConstVector b, int64_t n, double *magnitude,
								  int max_lanes);

#endif							/* GPUREG_DD_DOT_H */
