/*
 * cluster_sums.h: what the aggregate gpu_scores_pass makes of a group's rows.
 *
 * gpu_scores_pass(request gpu_logreg_step, names text[], widths int[], columns ...) is told of columns as
 * gpu_logreg_pass is. The request is of a kind that no user's value has: of FAST, where the Hessian is wanted, else of
 * GRADIENT. What its terms have beyond the digits of beta is where others have which terms stay out. The state is the
 * process's own memory, and nothing that SQL could make up; the result, a bytea, is a GrClusterSums.
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
