/*
 * scan_folds.h: computes the fold of a row, as gpu_enet_fold and gpu_cv_fold do, from the numbers of a tuple.
 */
#ifndef GPUREG_SCAN_FOLDS_H
#define GPUREG_SCAN_FOLDS_H

#include "postgres.h"

#include "access/tupdesc.h"
#include "nodes/primnodes.h"

#include "rows/scan/scan_values.h"

/* A call of one of the functions whose arguments are columns of numbers */
typedef struct GrScanFold
{
	int			nfolds;
	bool		by_key;			/* gpu_cv_fold, whose only column is the key */
	uint64		seed;			/* if by_key */
	bool		all_float8;
	int			n;				/* number of columns */
	GrNumberKind *kinds;		/* [n] */
	AttrNumber *attributes;		/* [n] */
	int		   *wanted;			/* [n] indexes in columns.wanted of the scan; set by the scan */
} GrScanFold;

/* Returns the call that expr is, in the current memory context, or NULL if expr is another expression. */
extern GrScanFold *gr_scan_fold(const Expr *expr, TupleDesc table);

/*
 * Returns the fold of a row. Sets *isnull if there is none, because the key is NULL. data: a tuple's data; at: offsets
 * in data of the scan's wanted attributes, -1 for a NULL
 */
extern int32 gr_scan_fold_of(const GrScanFold *fold, const char *data, const int32 *at, bool *isnull);

/* Returns the key of gpu_cv_fold at address at. */
static inline int64
gr_scan_fold_key(const GrScanFold *fold, const char *at)
{
	switch (fold->kinds[0])
	{
		case GR_INT8:
			return *(const int64 *) at;
		case GR_INT4:
			return *(const int32 *) at;
		default:
			return *(const int16 *) at;
	}
}

/* Sets folds[nrows] to the folds of keys[nrows]. */
extern void gr_scan_draw_key_folds(const GrScanFold *fold, const int64 *keys, int64 nrows, int32 *folds);

/*
 * Sets folds[nrows] to the folds of rows of ncols float8, at most FUNC_MAX_ARGS, if fold is not by key and all_float8
 * is true. column[k]: position of value k in a row
 */
extern void gr_scan_draw_folds(const GrScanFold *fold, const double *rows, int64 nrows, int ncols, const int *column,
							   int32 *folds);

#endif							/* GPUREG_SCAN_FOLDS_H */
