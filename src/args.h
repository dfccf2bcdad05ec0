/*
 * args.h: SQL values -> rows of float8, and the policy on NULLs, in one place.
 *
 * A row with a NULL anywhere is left out and counted. NaN and infinity are errors that name the column; they are looked for
 * in whole blocks, just before a block goes to the backend.
 */
#ifndef GPUREG_ARGS_H
#define GPUREG_ARGS_H

#include "postgres.h"

#include "utils/array.h"

/* ERROR unless 1 <= p <= GR_MAX_FEATURES. */
extern void gr_check_nfeatures(int64 p);

/* ERROR unless the array has one dimension (or none, when it is empty). */
extern void gr_check_vector(ArrayType *array, const char *name);

/* A float8[] whose NULLs are read as they come. */
typedef struct GrFloatArray
{
	const double *values;		/* those that are not NULL, in order */
	const bits8 *nulls;			/* NULL if there is none */
	int			nitems;			/* NULLs included */
	int			ndim;
	int			nrows;			/* first dimension; 0 if empty */
	int			ncols;			/* second dimension, or 1 */
} GrFloatArray;

/* Opens a one- or two-dimensional float8[]; ERROR if it has more dimensions. */
extern void gr_open_float_array(ArrayType *array, const char *name, GrFloatArray *result);

/*
 * The next row of x and of y, as ncols features and the response; false if a NULL is among them. *x_at and *y_at
 * point to the next value that isn't NULL and are moved on.
 */
extern bool gr_next_array_row(const GrFloatArray *x, const GrFloatArray *y, int64 row, const double **x_at,
							  const double **y_at, double *into);

#endif							/* GPUREG_ARGS_H */
