/*
 * sum_clusters_work.h: what a GrClusterFit computes in, for sum_clusters.c and sum_clusters_vcov.c.
 */
#ifndef GPUREG_SUM_CLUSTERS_WORK_H
#define GPUREG_SUM_CLUSTERS_WORK_H

#include "compute/base/compute.h"

/* What a block of clusters is computed in; arrays are [entry][lane], but for the last ones, of one cluster */
typedef struct GrClusterWork
{
	double	   *hi;				/* triangles of (1, x, y) */
	double	   *lo;
	double	   *d_hi;			/* by how much columns grow: of (1, x, y) */
	double	   *d_lo;
	double	   *s_hi;			/* n: the scores */
	double	   *s_lo;
	double	   *q;				/* n */
	double	   *left;			/* triangle of n: 1 - K */
	double	   *product;		/* n x n */
	double	   *pivot;			/* n */
	double	   *exact_hi;		/* n x n, in double-double: A C', and then 1 - K alone */
	double	   *exact_lo;
	double	   *vectors;		/* n x n */
	int64_t    *at;				/* triangle of (terms, y): where the triangle of (1, x, y) has it, in a block */
} GrClusterWork;

/* Where entry (i, j) of a packed triangle is */
static inline int64_t
triangle_at(int64_t i, int64_t j)
{
	return i * (i + 1) / 2 + j;
}

static inline bool
fail_canceled(GrError *err)
{
	return gr_fail(err, GR_CANCELED, 0, "covariance matrix");
}

#endif							/* GPUREG_SUM_CLUSTERS_WORK_H */
