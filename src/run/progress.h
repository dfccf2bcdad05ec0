/*
 * progress.h: the progress of a function over a query or kept rows, for gpu_progress() in other sessions, and for
 * notices in this session.
 *
 * What is shown is in the server's own entry of the process (backend_status.h), as the progress of VACUUM or CREATE
 * INDEX is, under a command of our own: so it needs no shared memory of the library's, is there in every session of the
 * server, and goes with an error. A parallel worker's rows are in its own entry; who asks adds them up.
 */
#ifndef GPUREG_PROGRESS_H
#define GPUREG_PROGRESS_H

#include "postgres.h"

#include "access/parallel.h"
#include "fmgr.h"

/* Setting gpureg.progress_notices: send notices, at most one per second. */
extern bool gr_progress_notices;

/*
 * Begins to report the function that was called, until the reset of the current memory context. A function within
 * another one, or within a command of the server that reports its own progress, is not reported separately.
 */
extern void gr_progress_begin(FunctionCallInfo fcinfo);

/* True while this process reports the progress of a function. */
extern bool gr_progress_active;

/* Reports that this process, which reports progress or works for one that may, has read nrows more rows. */
extern void gr_progress_add_rows(int64 nrows);

/* Reports that this process has read nrows more rows. */
static inline void
gr_progress_rows(int64 nrows)
{
	if (gr_progress_active || IsParallelWorker())
		gr_progress_add_rows(nrows);
}

/* Reports that another pass over the rows is done. */
extern void gr_progress_pass(void);

/* Reports that an iteration is done, with this deviance. */
extern void gr_progress_iteration(int iteration, double deviance);

#endif							/* GPUREG_PROGRESS_H */
