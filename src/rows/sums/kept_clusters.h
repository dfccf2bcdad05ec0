/*
 * kept_clusters.h: the sums of clusters, for covariances that are robust to them, of kept rows.
 *
 * The kept rows are read back into this process, in pieces, and each that takes part is derived here as the service
 * has derived it for the fit, to the bit, and goes to the sums of its cluster. These have as much memory as
 * gpureg.ring_size says: where there are more clusters, the rows are read again, for those whose hashes are in the next
 * range. So the number of clusters is bounded by time alone; a cluster's sums take (2 t + 2) float8 for t terms, and
 * with CR2's t (t + 1) / 2 besides.
 */
#ifndef GPUREG_KEPT_CLUSTERS_H
#define GPUREG_KEPT_CLUSTERS_H

#include "postgres.h"

#include "compute/design/derive.h"
#include "compute/glm/glm_fit.h"
#include "compute/glm/scores.h"
#include "compute/linalg/basis.h"
#include "compute/linear/vcov.h"
#include "compute/remote/remote.h"
#include "rows/kept/kept_set.h"
#include "rows/state/cluster_sums.h"

/* Kept rows in clusters: those that have the same number in a column, or in both */
typedef struct GrKeptClusters
{
	const char *kept;
	GrKeptSet	set;
	GrRemoteClient *client;
	const GrDerivation *derivation; /* which leaves out the rows without a cluster */
	int			n;				/* columns, */
	int			columns[GR_CLUSTERS_MAX];	/* kept ones */
} GrKeptClusters;

/* Is given a cluster's sums, of at least one row, for a moment. */
typedef void (*GrTakeCluster) (void *arg, const GrClusterSums *cluster);

/*
 * Makes the sums of each cluster; way: by the first column, the second, or both, where it is 0, 1 or 2. basis: by which
 * rows are changed first; or NULL. Returns how many times the rows were read. The shape of scores may lack a key that
 * derived rows have. ERROR where the rows have gone meanwhile
 */
extern int	gr_kept_clusters_read(const GrKeptClusters *clusters, const GrScores *scores, const GrBasis *basis,
								  int way, GrTakeCluster take, void *arg);

/*
 * gr_clusters_sum() of clusters.h: answers GR_GLM_CLUSTERS. nrows: the rows of the fit. Returns how many times the
 * kept rows were read. ERROR if a column has one value in all of them
 */
extern int	gr_kept_clusters_sum(const GrKeptClusters *clusters, GrGlmFit *fit, int64 nrows);

#endif							/* GPUREG_KEPT_CLUSTERS_H */
