/*
 * dd_dot.h: dot products of vectors in double-double, on the CPU.
 */
#ifndef GPUREG_DD_DOT_H
#define GPUREG_DD_DOT_H

#include "compute/base/compute.h"
#include "compute/base/dd.h"

#ifdef __cplusplus
extern "C" {
#endif

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

/* to += from, n entries, each gr_dd_add()'s bits */
extern void gr_dd_add_vector(GrDDVector to, GrDDConstVector from, int64_t n);

/* gr_dd_add_vector() on vectors of at most max_lanes doubles (1, 4 or 8), for the tests. */
extern void gr_dd_add_vector_lanes(GrDDVector to, GrDDConstVector from, int64_t n, int max_lanes);

/*
 * A sum below this fraction of its terms' magnitudes is rounding error: 2^-98, some hundred roundings in double-double.
 */
#define GR_DD_NOISE 3.2e-30

/* The same; exactly 0 where no more than rounding error is left */
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
