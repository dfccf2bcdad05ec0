/*
 * cluster_sums.h: the sums of a cluster's rows: how many there are, and what scores.h has of them.
 */
#ifndef GPUREG_CLUSTER_SUMS_H
#define GPUREG_CLUSTER_SUMS_H

#include "postgres.h"

#include "compute/glm/scores.h"

typedef struct GrClusterSums
{
	int64		nrows;			/* that take part; 0 of none */
	double		data[FLEXIBLE_ARRAY_MEMBER];	/* see scores.h */
} GrClusterSums;

static inline Size
gr_cluster_nbytes(int nfeatures, bool hessian)
{
	return offsetof(GrClusterSums, data) + gr_scores_nsums(nfeatures, hessian) * sizeof(double);
}

#endif							/* GPUREG_CLUSTER_SUMS_H */
