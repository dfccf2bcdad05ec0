/*
 * pass_columns.c: a query's columns as arguments of an aggregate's transition function.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "pass_columns.h"

GrPassColumns *
gr_describe_arguments(FunctionCallInfo fcinfo, int first_argno)
{
	int			n = PG_NARGS() - first_argno;
	GrPassColumns *columns = MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt, offsetof(GrPassColumns, columns) + n * sizeof(GrColumn));

	columns->first_argno = first_argno;
	columns->ncolumns = n;
	for (int k = 0; k < n; k++)
	{
		GrColumn   *column = &columns->columns[k];

		if (!gr_describe_column(column, get_fn_expr_argtype(fcinfo->flinfo, first_argno + k), k > 0))
			ereport(ERROR,
					(errcode(ERRCODE_DATATYPE_MISMATCH),
					 errmsg("columns must be numbers, booleans or arrays of them")));
		if (column->width < 0)
			columns->nfeatures = -1;
		else if (k > 0 && columns->nfeatures >= 0)
			columns->nfeatures += column->width;
	}
	return columns;
}

const char **
gr_text_argument(FunctionCallInfo fcinfo, int argno, int n)
{
	ArrayType  *array = PG_ARGISNULL(argno) ? NULL : PG_GETARG_ARRAYTYPE_P(argno);
	const char **texts;
	Datum	   *items;
	int			nitems;

	if (array == NULL || ARR_NDIM(array) != 1 || array_contains_nulls(array) || ARR_DIMS(array)[0] != n)
		return NULL;
	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &items, NULL, &nitems);
	texts = palloc(n * sizeof(char *));
	for (int k = 0; k < n; k++)
		texts[k] = TextDatumGetCString(items[k]);
	return texts;
}
