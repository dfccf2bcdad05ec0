/*
 * arrays.h: arrays of float8 -> rows.
 */
#ifndef GPUREG_ARRAYS_H
#define GPUREG_ARRAYS_H

#include "postgres.h"

#include "utils/array.h"

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

/* ERROR unless y has one dimension and as many elements as x has rows. */
extern void gr_check_shapes(const GrFloatArray *x, const GrFloatArray *y);

#endif							/* GPUREG_ARRAYS_H */
