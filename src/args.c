/*
 * args.c: SQL arrays -> rows of float8.
 */
#include "postgres.h"

#include "catalog/pg_type.h"

#include "args.h"
#include "compute/compute.h"

void
gr_check_nfeatures(int64 p)
{
	if (p < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("x must have at least one feature")));
	if (p > GR_MAX_FEATURES)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("too many features: " INT64_FORMAT, p),
				 errdetail("A model can have at most %d.", GR_MAX_FEATURES)));
}

void
gr_check_vector(ArrayType *array, const char *name)
{
	if (ARR_NDIM(array) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("%s must be a one-dimensional array", name),
				 errdetail("It has %d dimensions.", ARR_NDIM(array))));
}

void
gr_open_float_array(ArrayType *array, const char *name, GrFloatArray *result)
{
	int			ndim = ARR_NDIM(array);

	Assert(ARR_ELEMTYPE(array) == FLOAT8OID);
	if (ndim > 2)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("%s must have one or two dimensions", name),
				 errdetail("It has %d.", ndim),
				 errhint("Give one number a row, or rows x features as array_agg(ARRAY[x1, x2]) does.")));
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
