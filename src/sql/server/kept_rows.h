/*
 * kept_rows.h: the rows that an aggregate of logistic regression keeps, since a fit makes several passes over them.
 *
 * A group's rows are in memory up to work_mem, and beyond that all of them in a temporary file; a window frame's are in
 * memory, and bounded. Partial states, which parallel workers hand over, are all rows of theirs.
 */
#ifndef GPUREG_KEPT_ROWS_H
#define GPUREG_KEPT_ROWS_H

#include "postgres.h"

#include "fmgr.h"

#include "rows/sums/source.h"
#include "run/spool.h"

/* What gpu_logreg_rows_agg is told with each row, and must be told the same: gpu_logreg's options; else zeros */
typedef struct GrKeptOptions
{
	double		l2;
	bool		intercept;
	bool		isnull;			/* one of them is NULL, and so is the result */
	bool		accumulates;	/* gpu_logreg_rows_agg: of the rows' arrays what array_agg wants is wanted */
	int			lower_bound;	/* ... which is the same lower bound, too */
} GrKeptOptions;

typedef struct GrKeptRows
{
	int			nfeatures;		/* -1 until gr_kept_check() was told */
	GrKeptOptions options;
	int64		nrows;			/* complete ones */
	int64		nskipped;
	Size		nbytes;			/* of the chunks */
	GrRowList	list;			/* the rows that aren't in the file */
	GrSpool    *spool;			/* or NULL: no row is in a file yet */
	const char *serialized;		/* a state that was handed over: its rows, anywhere in memory */
	MemoryContext context;
} GrKeptRows;

/* The transition function's state, argument 0, or a new one; ERROR outside an aggregate */
extern GrKeptRows *gr_kept_state(FunctionCallInfo fcinfo);

/* Notes what rows are like when it is told first; ERROR when they are like something else later. */
extern void gr_kept_check(GrKeptRows *rows, int nfeatures, const GrKeptOptions *options);

/*
 * Where the next row goes; gr_kept_count() makes it count. In a transition or combine function, after
 * gr_kept_check().
 */
extern double *gr_kept_row(FunctionCallInfo fcinfo, GrKeptRows *rows);

static inline void
gr_kept_count(GrKeptRows *rows)
{
	rows->list.last->nrows++;
	rows->nrows++;
}

/*
 * Where the rows, of which there are some, are to be fitted: on a device, as the settings say, or where they are. More
 * rows may be added when the source is no longer in use.
 */
extern void gr_kept_source(GrKeptRows *rows, GrRowSource *source);

#endif							/* GPUREG_KEPT_ROWS_H */
