/*
 * aggregate.h: records what aggregates' final functions have done, for gpu_last_run() and EXPLAIN.
 *
 * A final function sees one group, but users ask about a statement. So records are added up over the groups of one
 * aggregate call in the running statement.
 */
#ifndef GPUREG_AGGREGATE_H
#define GPUREG_AGGREGATE_H

#include "postgres.h"

#include "fmgr.h"
#include "nodes/execnodes.h"

/* Record of one aggregate call in one statement, kept in the final function's fn_extra, which aggregate.c owns */
typedef struct GrAggregateRun
{
	uint64		number;			/* unique number of this record */
	char		function[NAMEDATALEN];	/* name of the aggregate */
	bool		by_scan;		/* the rows came from gpureg's custom scan */
	int			nworkers;		/* parallel workers that were launched below the aggregate */
	double		started;		/* time at which the statement started */
	int64		ngroups;		/* groups with complete rows */
	int64		nrows;			/* complete rows of all groups */
	int			nfeatures;		/* number of features of the last group */
	double		solve_s;		/* seconds in the final function, over all groups */
	/* for final functions that fit: totals over all groups */
	int64		bytes_to_device;
	double		copy_s;
	double		kernel_s;
	char		device[32];		/* device of the last group's fit, truncated; "cpu" if there was no fit */
} GrAggregateRun;

/* Installs the hook that records when statements start. Called when the library is loaded. */
extern void gr_aggregate_init(void);

/*
 * Records a finished group. function: name to show if the executor doesn't tell the aggregate, as for window functions;
 * began: time at which the final function started. Does nothing in a parallel worker, where nobody could see the
 * record, or outside an aggregate.
 */
extern void gr_record_group(FunctionCallInfo fcinfo, const char *function, int64 nrows, int nfeatures, double began);

/* Records a group whose fit has made its own record in gr_last_run. That record becomes the record of all groups. */
extern void gr_add_group(FunctionCallInfo fcinfo, const char *function);

/* Records a computation from a state by a function outside an aggregate. began: time at which the function started */
extern void gr_record_state(FunctionCallInfo fcinfo, int64 nrows, int nfeatures, double began);

/* Returns the record of a final function, or NULL if it is not gpureg's or has had no group yet. */
extern const GrAggregateRun *gr_aggregate_run(const FmgrInfo *final);

#endif							/* GPUREG_AGGREGATE_H */
