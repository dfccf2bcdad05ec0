/*
 * arrays.h: reads rows from arrays of features and responses. The array forms of gpu_ols_fit (sql/linear/fn_ols.c) and
 * gpu_logreg_fit (sql/glm/fn_logreg.c) are the callers.
 */
#ifndef GPUREG_ARRAYS_H
#define GPUREG_ARRAYS_H

#include "postgres.h"

#include "utils/array.h"

/* A float8[] of one or two dimensions that is opened for reading. Points into the array. */
typedef struct GrFloatArray
{
	const double *values;		/* elements that are not NULL, in order */
	const uint8 *nulls;			/* null bitmap; NULL if no element is NULL */
	int			nitems;			/* number of elements, NULLs included */
	int			ndim;
	int			nrows;			/* first dimension; 0 if empty */
	int			ncols;			/* second dimension, or 1 */
} GrFloatArray;

/* Opens a one- or two-dimensional float8[]; ERROR if it has more dimensions. */
extern void gr_open_float_array(ArrayType *array, const char *name, GrFloatArray *result);

/*
 * Copies row number `row` of x (ncols features) and of y (the response) into `into`. Returns false if the row has a
 * NULL. Rows must be read in order: *x_at and *y_at point to the next element that is not NULL, and are advanced.
 */
extern bool gr_next_array_row(const GrFloatArray *x, const GrFloatArray *y, int64 row, const double **x_at,
							  const double **y_at, double *into);

/* Raises an ERROR unless y has one dimension and as many elements as x has rows. */
extern void gr_check_shapes(const GrFloatArray *x, const GrFloatArray *y);

#endif							/* GPUREG_ARRAYS_H */
