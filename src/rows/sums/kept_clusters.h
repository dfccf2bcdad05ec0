/*
 * kept_clusters.h: sums the clusters of kept rows, for cluster-robust covariances.
 *
 * This process reads the kept rows back in pieces. It derives each row that takes part, bit by bit as the service did
 * for the fit, and adds it to the sums of its cluster. The sums of all clusters in memory take at most
 * gpureg.ring_size. If there are more clusters, the rows are read again for the clusters whose hashes are in the next
 * range. So only time limits the number of clusters. A cluster's sums take (2 t + 2) float8 for t terms, and t (t + 1)
 * / 2 more for CR2.
 */
#ifndef GPUREG_KEPT_CLUSTERS_H
#define GPUREG_KEPT_CLUSTERS_H

#include "postgres.h"

#include "compute/design/derive.h"
#include "compute/effects/effects.h"
#include "compute/glm/glm_fit.h"
#include "compute/glm/scores.h"
#include "compute/linalg/basis.h"
#include "compute/linear/vcov.h"
#include "compute/remote/remote.h"
#include "rows/kept/kept_set.h"
#include "rows/state/cluster_sums.h"

/* Kept rows in clusters: a cluster's rows have the same number in a column, or in both columns */
typedef struct GrKeptClusters
{
	const char *kept;
	GrKeptSet	set;
	GrRemoteClient *client;
	const GrDerivation *derivation; /* derivation of the fit; leaves out rows in no cluster */
	int			n;				/* number of columns */
	int			columns[GR_CLUSTERS_MAX];	/* kept columns */
	int			nabsorbed;		/* absorbed columns; the derivation leaves out rows with a NULL */
	int			absorbed[GR_EFFECTS_MAX];	/* kept columns */
} GrKeptClusters;

/* Callback for each cluster, which has at least one row. cluster is valid during the call. */
typedef void (*GrTakeCluster) (void *arg, const GrClusterSums *cluster);

/*
 * Sums each cluster and calls take for it. way: clusters by the first column (0), the second (1), or both (2). basis:
 * changes the rows first; or NULL. Returns how often the rows were read. scores->shape may lack a key that derived rows
 * have. ERROR if the kept rows no longer exist
 */
extern int	gr_kept_clusters_read(const GrKeptClusters *clusters, const GrScores *scores, const GrBasis *basis,
								  int way, GrTakeCluster take, void *arg);

/*
 * Answers GR_GLM_CLUSTERS, like gr_clusters_sum() of clusters.h. nrows: rows of the fit. Returns how often the kept
 * rows were read. ERROR if a column has one value in all rows
 */
extern int	gr_kept_clusters_sum(const GrKeptClusters *clusters, GrGlmFit *fit, int64 nrows);

#endif							/* GPUREG_KEPT_CLUSTERS_H */
