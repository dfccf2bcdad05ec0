/*
 * boot_clusters.h: the influence of clusters on a bootstrap's estimates, from the query, which PostgreSQL groups, see
 * clusters.h, or from kept rows that are read back, see kept_clusters.h.
 */
#ifndef GPUREG_BOOT_CLUSTERS_H
#define GPUREG_BOOT_CLUSTERS_H

#include "postgres.h"

#include "compute/resample/boot.h"
#include "rows/sums/ingest.h"
#include "rows/sums/source.h"

/*
 * The sums of squares and of cubes as a pass with influence has them, of a cluster's rows together: adds to sums. ERROR
 * unless the query can be run again and be grouped. source: as gr_source_read() or gr_kept_read() left it with ingest
 */
extern void gr_boot_clusters(const GrRowSource *source, const GrIngest *ingest, const GrBootPass *pass, double *sums);

#endif							/* GPUREG_BOOT_CLUSTERS_H */
