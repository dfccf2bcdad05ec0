/*
 * cluster_sums.h: the number of rows of a cluster, and the sums over them that scores.h defines.
 */
#ifndef GPUREG_CLUSTER_SUMS_H
#define GPUREG_CLUSTER_SUMS_H

#include "postgres.h"

#include "compute/glm/scores.h"

typedef struct GrClusterSums
{
	int64		nrows;			/* rows that take part */
	double		data[FLEXIBLE_ARRAY_MEMBER];	/* see scores.h */
} GrClusterSums;

static inline Size
gr_cluster_nbytes(int nfeatures, bool hessian)
{
	return offsetof(GrClusterSums, data) + gr_scores_nsums(nfeatures, hessian) * sizeof(double);
}

#endif							/* GPUREG_CLUSTER_SUMS_H */
