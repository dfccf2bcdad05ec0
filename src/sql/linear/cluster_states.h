/*
 * cluster_states.h: what aggregates over one gpu_ols_stats a cluster keep: the sums of all, and each cluster's.
 *
 * A cluster's sums are looked at when those of all are known, so they are kept: as records of sum_clusters.h, in memory
 * up to work_mem, and then in a temporary file of PostgreSQL's. A state without a complete row is no cluster.
 */
#ifndef GPUREG_CLUSTER_STATES_H
#define GPUREG_CLUSTER_STATES_H

#include "postgres.h"

#include "fmgr.h"

#include "compute/base/row_list.h"
#include "rows/state/state.h"
#include "run/spool.h"
#include "sql/states/stats.h"

typedef struct GrClusterStates
{
	MemoryContext context;		/* where this lives */
	GrState    *total;			/* what gpu_ols_rollup makes of them */
	int			nfeatures;		/* chosen; -1: no cluster came yet */
	int		   *columns;		/* nfeatures + 1: those of the states' (x, y) that records have, from 0 */
	bool		whole;			/* all of them, in their order */
	int64		n;				/* clusters */
	int64		nheld;			/* the last ones, which are in chunks */
	GrRowList	records;		/* ... of capacities that are multiples of 8 */
	bool		spills;			/* to the file, beyond work_mem */
	GrSpool		spool;			/* those before them */
} GrClusterStates;

/* Returns an empty set of states in the context of the calling aggregate. ERROR if no aggregate calls. */
extern GrClusterStates *gr_cluster_states_create(FunctionCallInfo fcinfo);

/*
 * Adds argument 1, which isn't NULL; the first one with a width chooses the columns, by the arguments features and
 * response, -1: there are none. False: it is no cluster.
 */
extern bool gr_cluster_states_add(GrClusterStates *states, FunctionCallInfo fcinfo, int features_arg,
								  int response_arg);

/* ERROR if there are too many terms. False, and a WARNING, if there is but one cluster */
extern bool gr_cluster_states_check(const GrClusterStates *states, bool intercept);

/* The chosen columns of all states together, as gr_stats_arguments() has them, but for their numbers; n isn't 0 */
extern void gr_cluster_states_total(GrClusterStates *states, GrStats *stats);

/* Numbers of a record */
extern Size gr_cluster_states_record(const GrClusterStates *states);

/*
 * Reading, from the first cluster on; the states stay as they are. next: some, of which there are a multiple of 8 but
 * for the last ones; NULL at the end
 */
typedef struct GrClusterReader
{
	GrClusterStates *states;
	int64		nfiled;			/* that are still to be read from the file */
	double	   *block;			/* of what is read from there */
	const GrRowChunk *chunk;		/* the next one */
} GrClusterReader;

extern void gr_cluster_reader_begin(GrClusterReader *reader, GrClusterStates *states);
extern const double *gr_cluster_reader_next(GrClusterReader *reader, int64 *n);

#endif							/* GPUREG_CLUSTER_STATES_H */
