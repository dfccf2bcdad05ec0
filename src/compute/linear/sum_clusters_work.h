/* sum_clusters_work.h: scratch of a GrClusterFit, shared by sum_clusters.c and sum_clusters_vcov.c. */
#ifndef GPUREG_SUM_CLUSTERS_WORK_H
#define GPUREG_SUM_CLUSTERS_WORK_H

#include "compute/base/compute.h"

/*
 * Scratch of a block of clusters. Arrays are [entry][lane], except exact_hi and later ones, which are of one cluster.
 */
typedef struct GrClusterWork
{
	double	   *hi;				/* triangles of (1, x, y) */
	double	   *lo;
	double	   *d_hi;			/* changes of the shifts of (1, x, y) */
	double	   *d_lo;
	double	   *s_hi;			/* n: scores */
	double	   *s_lo;
	double	   *q;				/* n: scores times C; later w */
	double	   *left;			/* triangle of n: 1 - K */
	double	   *product;		/* n x n */
	double	   *pivot;			/* n */
	double	   *exact_hi;		/* n x n in double-double: A C', then K; later only 1 - K */
	double	   *exact_lo;
	double	   *vectors;		/* n x n */
	int64_t    *at;				/* index of each entry of (terms, y) in the lanes of the triangle of (1, x, y) */
} GrClusterWork;

/* Returns the index of entry (i, j), j <= i, of a packed triangle. */
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
