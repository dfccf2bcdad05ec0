/*
 * arrays.c: reads rows from float8[] arrays of features and responses; see arrays.h.
 */
#include "postgres.h"

#include "catalog/pg_type.h"

#include "run/args.h"
#include "sql/model/arrays.h"

void
gr_open_float_array(ArrayType *array, const char *name, GrFloatArray *result)
{
	int			ndim = ARR_NDIM(array);

	Assert(ARR_ELEMTYPE(array) == FLOAT8OID);
	gr_check_ndim(ndim, name);
	result->values = (const double *) ARR_DATA_PTR(array);
	result->nulls = ARR_NULLBITMAP(array);
	result->nitems = ArrayGetNItems(ndim, ARR_DIMS(array));
	result->ndim = ndim;
	result->nrows = ndim == 0 ? 0 : ARR_DIMS(array)[0];
	result->ncols = ndim == 2 ? ARR_DIMS(array)[1] : 1;
}

static inline bool
item_is_null(const GrFloatArray *array, int64 item)
{
	return array->nulls != NULL && (array->nulls[item / 8] & (1 << (item % 8))) == 0;
}

bool
gr_next_array_row(const GrFloatArray *x, const GrFloatArray *y, int64 row, const double **x_at,
				  const double **y_at, double *into)
{
	bool		complete = true;

	for (int c = 0; c < x->ncols; c++)
	{
		if (item_is_null(x, row * x->ncols + c))
			complete = false;
		else
			into[c] = *(*x_at)++;
	}
	if (item_is_null(y, row))
		complete = false;
	else
		into[x->ncols] = *(*y_at)++;
	return complete;
}

void
gr_check_shapes(const GrFloatArray *x, const GrFloatArray *y)
{
	if (y->ndim > 1)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("y must be a one-dimensional array"),
				 errdetail("y has %d dimensions.", y->ndim),
				 errhint("Pass array_agg(y).")));
	if (x->nrows != y->nrows)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("x and y must have the same number of rows"),
				 errdetail("x has %d, y has %d.", x->nrows, y->nrows),
				 errhint("Aggregate both over the same rows in the same order, as in array_agg(ARRAY[a, b] ORDER BY "
						 "id) and array_agg(y ORDER BY id).")));
}
