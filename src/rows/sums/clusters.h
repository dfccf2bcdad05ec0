/*
 * clusters.h: sums the clusters of a query's rows, for cluster-robust covariances.
 *
 * PostgreSQL groups the rows: SELECT gpu_request_pass(request, names, widths, columns ...) FROM (query) GROUP BY the
 * cluster columns, in parallel workers if the planner chooses them. So a cluster column may have any type with an
 * equality, and groups that exceed work_mem spill. Each group's sums go into the fit when they arrive, and are not
 * kept.
 */
#ifndef GPUREG_CLUSTERS_H
#define GPUREG_CLUSTERS_H

#include "postgres.h"

#include "compute/glm/glm_fit.h"
#include "compute/request/request.h"
#include "rows/sums/ingest.h"

/* Raises an ERROR unless the prepared query can be run again and grouped by its clusters. */
extern void gr_clusters_check(const GrIngest *ingest);

/*
 * Answers GR_GLM_CLUSTERS: runs the query, grouped as fit->way says. nrows: rows that take part, as counted when they
 * were read for the fit. ERROR if the number is another now, or if a column has one value in all rows
 */
extern void gr_clusters_sum(const GrIngest *ingest, GrGlmFit *fit, int64 nrows);

/* Callback for the sums of a cluster, which are valid during the call */
typedef void (*GrTakeClusterSums) (void *arg, const double *sums);

/*
 * Makes the sums of a request for each cluster of the first cluster column, and calls take for them. nrows: as above.
 * Frees the request. ERROR as for gr_clusters_sum()
 */
extern void gr_sum_clusters(const GrIngest *ingest, GrRequest *request, int64 nrows, GrTakeClusterSums take,
								void *arg);

/* Raises an ERROR unless the fit has met two clusters. name: the cluster column, for the message */
extern void gr_clusters_check_met(const GrGlmFit *fit, const char *name);

#endif							/* GPUREG_CLUSTERS_H */
