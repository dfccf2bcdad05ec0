/*
 * kept_rows.h: stores the rows of a logistic regression that runs as an aggregate (gpu_logreg_agg,
 * gpu_logreg_rows_agg), because a fit passes over them several times. fn_logreg.c is the only caller.
 *
 * A group's rows are in memory up to work_mem; beyond that all of them go to a temporary file. A window frame's rows
 * are in memory and limited. Partial states, which parallel workers return, hold all their rows.
 */
#ifndef GPUREG_KEPT_ROWS_H
#define GPUREG_KEPT_ROWS_H

#include "postgres.h"

#include "fmgr.h"

#include "rows/sums/source.h"
#include "run/spool.h"

/*
 * Options that gpu_logreg_rows_agg gets with each row, and that must be the same for all rows: those of gpu_logreg. All
 * zero for other aggregates.
 */
typedef struct GrKeptOptions
{
	double		l2;
	bool		intercept;
	bool		isnull;			/* an option is NULL, so the result is NULL */
	bool		accumulates;	/* true for gpu_logreg_rows_agg: arrays of rows are checked as array_agg does */
	int			lower_bound;	/* lower bound of the arrays, if accumulates */
} GrKeptOptions;

typedef struct GrKeptRows
{
	int			nfeatures;		/* -1 before the first gr_kept_check() */
	GrKeptOptions options;
	int64		nrows;			/* number of complete rows */
	int64		nskipped;
	Size		nbytes;			/* size of the chunks in bytes */
	GrRowList	list;			/* rows that are not in the file */
	GrSpool    *spool;			/* file of rows; NULL: no row has been spilled */
	const char *serialized;		/* rows of a deserialized state, not aligned; else NULL */
	MemoryContext context;
} GrKeptRows;

/* Returns the state in argument 0, or a new one if that is NULL. Raises an ERROR outside an aggregate. */
extern GrKeptRows *gr_kept_state(FunctionCallInfo fcinfo);

/* Records nfeatures and options of the first row. Raises an ERROR if those of a later row differ. */
extern void gr_kept_check(GrKeptRows *rows, int nfeatures, const GrKeptOptions *options);

/* Returns memory for a row, which gr_kept_count() then counts. Call gr_kept_check() before. */
extern double *gr_kept_row(FunctionCallInfo fcinfo, GrKeptRows *rows);

static inline void
gr_kept_count(GrKeptRows *rows)
{
	rows->list.last->nrows++;
	rows->nrows++;
}

/*
 * Makes a source of the rows, of which there must be some: on a device if the settings choose one, else where the rows
 * are. More rows may be added once the source is no longer used.
 */
extern void gr_kept_source(GrKeptRows *rows, GrRowSource *source);

#endif							/* GPUREG_KEPT_ROWS_H */
