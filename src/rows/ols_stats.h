/*
 * ols_stats.h: the SQL type gpu_ols_stats, the mergeable state of a linear regression.
 */
#ifndef GPUREG_OLS_STATS_H
#define GPUREG_OLS_STATS_H

#include "postgres.h"

#include "fmgr.h"

#include "compute/compute.h"

/*
 * Version 1, which was without a shift, is read wherever a value comes from: from a table, too, where it lies as it was written.
 */
#define GR_OLS_STATS_VERSION 2

/*
 * The Gram matrix of (1, x, y) about a shift in double-double (see gram_shift.h), and the rows that are not in it yet. A value on disk, on the wire or
 * given to a user has none of those: capacity and npending are 0. Inside an aggregate the same varlena has room for a
 * batch of rows, since the kernel wants many at a time, and is updated in place.
 */
typedef struct GrOlsStats
{
	int32		vl_len_;		/* varlena header */
	int16		version;		/* GR_OLS_STATS_VERSION */
	int16		nworkers;		/* of gpu_ols_pass: parallel workers that had rows; else 0 */
	int32		nfeatures;		/* -1 until a complete row was seen */
	int16		npending;		/* rows in pending, <= capacity */
	int16		capacity;
	int64		nrows;			/* complete rows, the pending ones included */
	int64		nskipped;		/* rows left out for a NULL */
	/* hi[triangle], lo[triangle], shift[nfeatures + 1], pending[capacity][nfeatures + 1]; in version 1 no shift */
	double		data[FLEXIBLE_ARRAY_MEMBER];
} GrOlsStats;

static inline int64
gr_stats_triangle(const GrOlsStats *stats)
{
	return stats->nfeatures < 0 ? 0 : gr_triangle(stats->nfeatures + 2);
}

static inline double *
gr_stats_hi(GrOlsStats *stats)
{
	return stats->data;
}

static inline double *
gr_stats_lo(GrOlsStats *stats)
{
	return stats->data + gr_stats_triangle(stats);
}

/* Values of the shift, which are also those of a row */
static inline int
gr_stats_ncols(const GrOlsStats *stats)
{
	return stats->nfeatures < 0 ? 0 : stats->nfeatures + 1;
}

static inline double *
gr_stats_shift(GrOlsStats *stats)
{
	return stats->data + 2 * gr_stats_triangle(stats);
}

/* They are the value's end: wanted for each row, they are found from there. */
static inline double *
gr_stats_pending(GrOlsStats *stats)
{
	return (double *) ((char *) stats + VARSIZE(stats)) - (Size) stats->capacity * (stats->nfeatures + 1);
}

/*
 * The argument as a value without pending rows: itself where it has none, else a copy in the current context. names: of
 * the columns, for messages, as in gr_raise_columns().
 */
extern GrOlsStats *gr_stats_settled_named(Datum datum, const char *const *names);

static inline GrOlsStats *
gr_stats_settled(Datum datum)
{
	return gr_stats_settled_named(datum, NULL);
}

#endif							/* GPUREG_OLS_STATS_H */
