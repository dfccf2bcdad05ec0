/*
 * args.c: SQL arrays -> rows of float8.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "common/int.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

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
gr_add_count(int64 *count, int64 more)
{
	if (pg_add_s64_overflow(*count, more, count))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("bigint out of range")));
}

void
gr_raise_other_width(int expected, int p)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("all rows must have the same number of features"),
			 errdetail("A row has %d, earlier ones have %d.", p, expected)));
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

bool
gr_is_number_type(Oid type)
{
	return type == FLOAT8OID || type == FLOAT4OID || type == INT2OID || type == INT4OID || type == INT8OID ||
		type == NUMERICOID || type == BOOLOID;
}

static double
number_from_datum(Datum value, Oid type)
{
	switch (type)
	{
		case FLOAT8OID:
			return DatumGetFloat8(value);
		case FLOAT4OID:
			return DatumGetFloat4(value);
		case INT2OID:
			return DatumGetInt16(value);
		case INT4OID:
			return DatumGetInt32(value);
		case INT8OID:
			return (double) DatumGetInt64(value);
		case BOOLOID:
			return DatumGetBool(value) ? 1.0 : 0.0;
		case NUMERICOID:
			return DatumGetFloat8(DirectFunctionCall1(numeric_float8, value));
		default:
			elog(ERROR, "unexpected type %u", type);
	}
	return 0;
}

bool
gr_describe_column(GrColumn *column, Oid type, bool allow_array)
{
	column->type = getBaseType(type);
	column->element = get_element_type(column->type);
	column->width = 1;
	if (OidIsValid(column->element))
	{
		column->element = getBaseType(column->element);
		column->width = -1;
		return allow_array && gr_is_number_type(column->element);
	}
	return gr_is_number_type(column->type);
}

void
gr_name_terms(const GrColumn *columns, int ncolumns, const char *const *given, const char **names)
{
	int			n = 0;

	for (int k = 1; k < ncolumns; k++)
	{
		if (!OidIsValid(columns[k].element))
			names[n++] = given[k];
		else
			for (int i = 0; i < columns[k].width; i++)
				names[n++] = psprintf("%s[%d]", given[k], i + 1);
	}
	names[n] = given[0];
}

int
gr_array_width(Datum value)
{
	ArrayType  *array = DatumGetArrayTypeP(value);

	return ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
}

/* An array of the column's width; NULL if one of its elements is. */
static ArrayType *
open_array(const GrColumn *column, Datum value)
{
	ArrayType  *array = DatumGetArrayTypeP(value);
	int			n = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));

	gr_check_vector(array, column->name);
	if (n != column->width)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("all arrays in column \"%s\" must have the same length", column->name),
				 errdetail("A row has %d elements, earlier ones have %d.", n, column->width)));
	return array_contains_nulls(array) ? NULL : array;
}

/* An array's elements into *into; false if one is NULL. */
static bool
take_array(const GrColumn *column, Datum value, double *into)
{
	ArrayType  *array = open_array(column, value);
	int16		typlen;
	bool		typbyval;
	char		typalign;
	Datum	   *items;
	int			n;

	if (array == NULL)
		return false;
	if (column->element == FLOAT8OID)
	{
		memcpy(into, ARR_DATA_PTR(array), column->width * sizeof(double));
		return true;
	}
	if (column->element == FLOAT4OID)
	{
		const float *values = (const float *) ARR_DATA_PTR(array);

		for (int i = 0; i < column->width; i++)
			into[i] = values[i];
		return true;
	}
	get_typlenbyvalalign(column->element, &typlen, &typbyval, &typalign);
	/* the array may be one of a domain over the element's type */
	deconstruct_array(array, ARR_ELEMTYPE(array), typlen, typbyval, typalign, &items, NULL, &n);
	for (int i = 0; i < n; i++)
		into[i] = number_from_datum(items[i], column->element);
	return true;
}

bool
gr_convert_other(const GrColumn *column, Datum value, double *into)
{
	if (OidIsValid(column->element))
		return take_array(column, value, into);
	*into = number_from_datum(value, column->type);
	return true;
}

bool
gr_column_is_single(const GrColumn *column)
{
	return column->element == FLOAT4OID || column->type == FLOAT4OID || column->type == INT2OID || column->type == BOOLOID;
}

bool
gr_convert_single(const GrColumn *column, Datum value, float *into)
{
	ArrayType  *array;

	Assert(gr_column_is_single(column));
	if (column->type == FLOAT4OID)
		*into = DatumGetFloat4(value);
	else if (!OidIsValid(column->element))
		*into = (float) number_from_datum(value, column->type);
	else
	{
		array = open_array(column, value);
		if (array == NULL)
			return false;
		memcpy(into, ARR_DATA_PTR(array), column->width * sizeof(float));
	}
	return true;
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
				 errdetail("It has %d dimensions.", y->ndim)));
	if (x->nrows != y->nrows)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("x and y must have the same number of rows"),
				 errdetail("x has %d, y has %d.", x->nrows, y->nrows)));
}
