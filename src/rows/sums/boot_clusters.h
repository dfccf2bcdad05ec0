/*
 * boot_clusters.h: sums the influence of clusters on a bootstrap's estimates, from a query that PostgreSQL groups (see
 * clusters.h) or from kept rows that are read back (see kept_clusters.h).
 */
#ifndef GPUREG_BOOT_CLUSTERS_H
#define GPUREG_BOOT_CLUSTERS_H

#include "postgres.h"

#include "compute/resample/boot.h"
#include "rows/sums/ingest.h"
#include "rows/sums/source.h"

/*
 * Adds to sums the squares and cubes of each cluster's influence, in the layout of a pass with influence; a cluster
 * counts as one row would. ERROR unless the query can be run again and grouped. source: as gr_source_read() or
 * gr_kept_read() left it with ingest
 */
extern void gr_boot_clusters(const GrRowSource *source, const GrIngest *ingest, const GrBootPass *pass, double *sums);

#endif							/* GPUREG_BOOT_CLUSTERS_H */
