/*
 * cluster_states.h: stores one gpu_ols_stats per cluster in an aggregate: each cluster's sums, and the total.
 * gpu_ols_cluster_agg (fn_clusters.c) and the wild bootstrap (fn_wild.c) use it.
 *
 * The sums of clusters are needed once the total is known. They are records of sum_clusters.h, in memory up to
 * work_mem, and beyond that in a temporary file. A state without a complete row is not a cluster.
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
	MemoryContext context;		/* owns this struct and what it points to */
	GrState    *total;			/* sum of all states, as gpu_ols_rollup makes it */
	int			nfeatures;		/* number of chosen features; -1: no cluster yet */
	int		   *columns;		/* nfeatures + 1 entries of the states' (x, y), from 0, that records hold */
	bool		whole;			/* true if the choice is all columns in their order */
	int64		n;				/* number of clusters */
	int64		nheld;			/* number of clusters in memory: the last ones */
	GrRowList	records;		/* records in memory; chunks have capacities that are multiples of 8 */
	bool		spills;			/* spills to the file beyond work_mem */
	GrSpool		spool;			/* records of the earlier clusters */
} GrClusterStates;

/* Returns an empty set of states in the context of the calling aggregate. ERROR if no aggregate calls. */
extern GrClusterStates *gr_cluster_states_create(FunctionCallInfo fcinfo);

/*
 * Returns an empty set of states in a context, for callers that are no aggregate. Nothing spills unless the caller sets
 * spills; then gr_cluster_states_close() ends the file.
 */
extern GrClusterStates *gr_cluster_states_make(MemoryContext context);
extern void gr_cluster_states_close(GrClusterStates *states);

/* Adds all columns of a settled state. Returns false if the state is not a cluster. */
extern bool gr_cluster_states_add_whole(GrClusterStates *states, GrState *state);

/*
 * Adds the state in argument 1, which is not NULL. The first cluster chooses the columns by the arguments features_arg
 * and response_arg (-1: no such argument). Returns false if the state is not a cluster.
 */
extern bool gr_cluster_states_add(GrClusterStates *states, FunctionCallInfo fcinfo, int features_arg,
								  int response_arg);

/* Raises an ERROR if there are too many terms. Returns false, with a WARNING, if there is only one cluster. */
extern bool gr_cluster_states_check(const GrClusterStates *states, bool intercept);

/* Sets stats to the chosen columns of the total, without their numbers. n must not be 0. */
extern void gr_cluster_states_total(GrClusterStates *states, GrStats *stats);

/* Returns how many numbers a record has. */
extern Size gr_cluster_states_record(const GrClusterStates *states);

/*
 * Reads the records from the first cluster on, without changing the states. gr_cluster_reader_next() returns the next
 * *n records, or NULL at the end; *n is a multiple of 8 except in the last block.
 */
typedef struct GrClusterReader
{
	GrClusterStates *states;
	int64		nfiled;			/* number of records still to be read from the file */
	double	   *block;			/* buffer for records from the file */
	const GrRowChunk *chunk;		/* next chunk in memory */
} GrClusterReader;

extern void gr_cluster_reader_begin(GrClusterReader *reader, GrClusterStates *states);
extern const double *gr_cluster_reader_next(GrClusterReader *reader, int64 *n);

#endif							/* GPUREG_CLUSTER_STATES_H */
