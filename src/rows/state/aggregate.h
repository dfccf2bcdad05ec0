/*
 * aggregate.h: what an aggregate's final function notes of what was done, for gpu_last_run() and EXPLAIN.
 *
 * A final function sees one group, and users ask for a statement: what it notes is added up over the groups of the
 * call in the statement that is running.
 */
#ifndef GPUREG_AGGREGATE_H
#define GPUREG_AGGREGATE_H

#include "postgres.h"

#include "fmgr.h"
#include "nodes/execnodes.h"

/* Of one aggregate in one statement; in the final function's fn_extra, which is this code's */
typedef struct GrAggregateRun
{
	uint64		number;			/* no two have the same */
	char		function[NAMEDATALEN];
	bool		by_scan;		/* the rows came from a custom scan of ours */
	int			nworkers;		/* parallel workers below it */
	double		started;		/* when the statement did */
	int64		ngroups;		/* that had complete rows */
	int64		nrows;			/* complete ones, of all groups */
	int			nfeatures;		/* of the last group */
	double		solve_s;		/* in the final function */
	/* of fits in the final function: of all groups */
	int64		bytes_to_device;
	double		copy_s;
	double		kernel_s;
	char		device[32];		/* of the last group, cut to size; "cpu" but of such fits */
} GrAggregateRun;

/* Notes when statements start; when the library is loaded. */
extern void gr_aggregate_init(void);

/*
 * A group is done with. function: the name to show where the caller doesn't tell which aggregate it is, as window
 * functions don't; began: when the final function did. Does nothing in a parallel worker, where nobody could see it, or
 * where no aggregate calls.
 */
extern void gr_record_group(FunctionCallInfo fcinfo, const char *function, int64 nrows, int nfeatures, double began);

/* The same of a group whose fit has made a record of its own, which becomes that of all groups. */
extern void gr_add_group(FunctionCallInfo fcinfo, const char *function);

/* What was computed from a state that was given, by a function that is no aggregate's. */
extern void gr_record_state(FunctionCallInfo fcinfo, int64 nrows, int nfeatures, double began);

/* What a final function of ours has noted; NULL: it is another's, or has met no group yet */
extern const GrAggregateRun *gr_aggregate_run(const FmgrInfo *final);

#endif							/* GPUREG_AGGREGATE_H */
