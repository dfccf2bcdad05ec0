/*
 * features.c: gpu_features_pass(names, is_binary, roles, columns ...), which returns a row's features as an array, with
 * the weight and the offset behind them. Typed passes over a remote query are called with it; see gr_plan_typed_pass().
 *
 * The function knows the columns' types and names, so it reports invalid values, in the words of a local fit. The
 * aggregates that take the array know neither types nor names.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "utils/array.h"

#include "compute/base/compute.h"
#include "rows/columns/columns.h"
#include "run/args.h"
#include "run/raise.h"

PG_FUNCTION_INFO_V1(gr_features_pass);

#define ARG_NAMES 0
#define ARG_BINARY 1
#define ARG_ROLES 2
#define FIRST_COLUMN 3			/* the response's argument; the other roles and the features follow */

/* Describes the columns at the first complete row, which sets the widths of arrays for all rows. */
static GrColumns *
describe_columns(FunctionCallInfo fcinfo)
{
	int			roles = PG_ARGISNULL(ARG_ROLES) ? 0 : PG_GETARG_INT32(ARG_ROLES);
	GrRowShape	shape = {.weight = (roles & 1) != 0,.offset = (roles & 2) != 0};
	GrColumns  *columns = gr_argument_columns(fcinfo, FIRST_COLUMN, shape);

	if (!gr_arguments_complete(fcinfo, columns, FIRST_COLUMN))
	{
		pfree(columns);
		return NULL;
	}
	gr_measure_row(columns, GR_ARGUMENT_VALUES(fcinfo, FIRST_COLUMN));
	gr_name_arrays(fcinfo, columns, ARG_NAMES);
	fcinfo->flinfo->fn_extra = columns;
	return columns;
}

/*
 * gpu_features_pass(names text[], is_binary boolean, roles int, VARIADIC "any"): returns NULL if a column or an array's
 * element is NULL.
 */
Datum
gr_features_pass(PG_FUNCTION_ARGS)
{
	GrColumns  *columns = fcinfo->flinfo->fn_extra;
	bool		counts = !PG_ARGISNULL(ARG_ROLES) && (PG_GETARG_INT32(ARG_ROLES) & 4) != 0;
	GrRowRules	rules = {
		!PG_ARGISNULL(ARG_BINARY) && PG_GETARG_BOOL(ARG_BINARY) ? GR_BINOMIAL : GR_GAUSSIAN,
		counts ? GR_FREQUENCIES : GR_PRIOR_WEIGHTS, 0
	};
	GrRowFate	fate;
	GrError		err = {0};
	ArrayType  *array;
	double	   *row;
	int			p;
	int			n;

	if (columns == NULL)
		columns = describe_columns(fcinfo);
	if (columns == NULL || !gr_arguments_complete(fcinfo, columns, FIRST_COLUMN))
		PG_RETURN_NULL();
	p = columns->nfeatures;
	n = p + gr_nroles(columns) - 1;
	/* there is room for the response, too, which is checked and not returned */
	array = palloc(ARR_OVERHEAD_NONULLS(1) + (n + 1) * sizeof(double));
	SET_VARSIZE(array, ARR_OVERHEAD_NONULLS(1) + n * sizeof(double));
	array->ndim = 1;
	array->dataoffset = 0;
	array->elemtype = FLOAT8OID;
	ARR_DIMS(array)[0] = n;
	ARR_LBOUND(array)[0] = 1;
	row = (double *) ARR_DATA_PTR(array);
	fate = gr_convert_row(columns, GR_ARGUMENT_VALUES(fcinfo, FIRST_COLUMN), row);
	if (fate == GR_ROW_SKIPPED)
		PG_RETURN_NULL();
	if (fate == GR_ROW_TAKES_PART && unlikely(!gr_rows_valid(row, 1, gr_columns_shape(columns), rules, &err)))
		gr_raise_row(&err, gr_columns_shape(columns), gr_read_names(fcinfo, columns, ARG_NAMES));
	if (n == 0)
		PG_RETURN_ARRAYTYPE_P(construct_empty_array(FLOAT8OID));
	memmove(row + p, row + p + 1, (n - p) * sizeof(double));
	PG_RETURN_ARRAYTYPE_P(array);
}
