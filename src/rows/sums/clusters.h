/*
 * clusters.h: the sums of clusters, for covariances that are robust to them.
 *
 * PostgreSQL does the grouping: the user's query is run again under SELECT gpu_request_pass(request, names, widths,
 * columns ...) FROM (query) GROUP BY the cluster columns, in parallel workers where the planner likes. So a cluster
 * column may be of any type that has an equality, clusters are what GROUP BY makes of them, and what doesn't fit
 * work_mem spills as it does there. Each group's sums go into the fit as they come, and are not kept.
 */
#ifndef GPUREG_CLUSTERS_H
#define GPUREG_CLUSTERS_H

#include "postgres.h"

#include "compute/glm/glm_fit.h"
#include "rows/sums/ingest.h"

/* ERROR unless the prepared query can be run again, and grouped, for the sums of its clusters. */
extern void gr_clusters_check(const GrIngest *ingest);

/*
 * Answers GR_GLM_CLUSTERS: runs the query, grouped as fit->way says. nrows: the rows that take part, as reading them
 * for the fit has found. ERROR if it has others now, or a column has one value in all of them.
 */
extern void gr_clusters_sum(const GrIngest *ingest, GrGlmFit *fit, int64 nrows);

/* ERROR unless the fit has met two clusters, with the name of the column that made them. */
extern void gr_clusters_check_met(const GrGlmFit *fit, const char *name);

#endif							/* GPUREG_CLUSTERS_H */
