/*
 * dd_dot.h: dot products and sums of double-double vectors, on the CPU. The factorizations of normal.h call them first.
 */
#ifndef GPUREG_DD_DOT_H
#define GPUREG_DD_DOT_H

#include "compute/base/compute.h"
#include "compute/base/dd.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Vector whose entry k is hi[k] + lo[k], with |lo[k]| <= ulp(hi[k]) / 2. The arrays are the caller's. */
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
 * Returns start - sum over k < n of a[k] b[k], and sets *magnitude to |start| + sum of |a[k] b[k]|. The error is at
 * most about n 2^-104 of *magnitude, as a rule a few 2^-104. The bits are the same on every processor.
 */
extern GrDD gr_dd_minus_dot(GrDD start, GrDDConstVector a, GrDDConstVector b, int64_t n, double *magnitude);

/* gr_dd_minus_dot() on vectors of at most max_lanes doubles (1, 4 or 8), for the tests. */
extern GrDD gr_dd_minus_dot_lanes(GrDD start, GrDDConstVector a, GrDDConstVector b, int64_t n, double *magnitude,
								  int max_lanes);

/* Adds n entries of from to to, each with the bits of gr_dd_add(). */
extern void gr_dd_add_vector(GrDDVector to, GrDDConstVector from, int64_t n);

/* gr_dd_add_vector() on vectors of at most max_lanes doubles (1, 4 or 8), for the tests. */
extern void gr_dd_add_vector_lanes(GrDDVector to, GrDDConstVector from, int64_t n, int max_lanes);

/*
 * A sum below this fraction of its terms' magnitudes is rounding error: 2^-98, about a hundred double-double roundings.
 */
#define GR_DD_NOISE 3.2e-30

/* gr_dd_minus_dot(), but exactly 0 if only rounding error is left. */
static inline GrDD
gr_dd_residual(GrDD start, GrDDConstVector a, GrDDConstVector b, int64_t n)
{
	double		magnitude;
	GrDD		sum = gr_dd_minus_dot(start, a, b, n, &magnitude);

	return fabs(sum.hi) <= GR_DD_NOISE * magnitude ? gr_dd(0.0) : sum;
}

static inline GrDD
gr_dd_get(GrDDVector v, int64_t k)
{
	GrDD		r = {v.hi[k], v.lo[k]};

	return r;
}

static inline void
gr_dd_set(GrDDVector v, int64_t k, GrDD value)
{
	v.hi[k] = value.hi;
	v.lo[k] = value.lo;
}

static inline GrDDConstVector
gr_dd_from(GrDDVector v, int64_t k)
{
	GrDDConstVector r = {v.hi + k, v.lo + k};

	return r;
}

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_DD_DOT_H */
