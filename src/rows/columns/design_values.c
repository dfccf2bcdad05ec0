/*
 * design_values.c: reads values of a design's columns; and gpu_design_row(design, columns ...), which a query whose
 * features are made by a design calls for each row.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "nodes/primnodes.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "rows/columns/design_values.h"
#include "rows/columns/levels.h"
#include "run/args.h"

PG_FUNCTION_INFO_V1(gr_design_row);
PG_FUNCTION_INFO_V1(gr_design_number);

const char *
gr_design_feature_name(const GrDesign *design, int k)
{
	GrWriter	writer = {0};

	gr_design_name(&writer, design, k);
	writer.text = palloc0(writer.nbytes + 1);
	writer.size = writer.nbytes;
	writer.nbytes = 0;
	gr_design_name(&writer, design, k);
	return writer.text;
}

bool
gr_describe_design_value(const GrDesign *design, int k, Oid type, GrColumn *column)
{
	bool		is_number = gr_describe_value(column, type) && !OidIsValid(column->element);

	column->name = NULL;
	/* a literal without a type is a level, even if it looks like a number */
	if (design->columns[k].is_number)
		return is_number;
	return column->type == UNKNOWNOID || gr_is_level_type(column->type);
}

static void
raise_level(const GrDesign *design, int k, GrString level, bool fitting)
{
	const char *name = gr_design_column_name(design, k);

	if (fitting)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("query returned other rows when it was run again"),
				 errdetail("Column \"%s\" has the level \"%s\", which no row had in the first run.", name,
						   gr_show_level(level)),
				 errhint("Store the result of the query in a table, and use that.")));
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("column \"%s\" has no level \"%s\" in the model", name, gr_show_level(level)),
			 errdetail("None of the rows that the model was fitted to had this level."),
			 errhint("Fit the model to rows that include this level, or exclude the rows that have it.")));
}

void
gr_take_design_value(const GrDesign *design, int k, const GrColumn *column, Datum value, bool fitting, double *values)
{
	const GrDesignColumn *of = &design->columns[k];

	if (of->is_number && column->type == INT8OID)
		values[k] = gr_bigint_number(DatumGetInt64(value), gr_design_column_name(design, k));
	else if (of->is_number)
		(void) gr_convert_value(column, value, &values[k]);
	if (of->is_factor)
	{
		GrString	level = gr_level_of(column->type, value);
		int			number = gr_level_find(&of->levels, level.bytes, level.nbytes);

		if (unlikely(number < 0))
			raise_level(design, k, level, fitting);
		values[design->ncolumns + k] = number;
	}
}

/*
 * gpu_design_row
 */

#define ARG_DESIGN 0
#define ARG_PAIRS 1				/* gpu_design_row */

/* An argument: the value of one column of the design, or an array of values of several columns of numbers. */
typedef struct RowArgument
{
	GrColumn	column;
	int			first;			/* index in order[] of the argument's column; unused for an array */
} RowArgument;

typedef struct RowCall
{
	MemoryContext context;		/* owns the call's description */
	GrDesign   *design;
	double	   *values;
	int		   *order;			/* indices of the design's columns: those that are no factors, then the factors */
	int			nnumbers;
	int			narrays;
	int			first;			/* first argument that is a column */
	int			nargs;
	RowArgument arg[FLEXIBLE_ARRAY_MEMBER];
} RowCall;

static void raise_call(void) __attribute__((noreturn));

static void
raise_call(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("gpu_design_row needs a design and a value for each of its columns"),
			 errhint("Do not call this function: gpureg uses it in its own queries.")));
}

static void
order_columns(RowCall *call)
{
	const GrDesign *design = call->design;
	int			n = 0;

	call->order = MemoryContextAlloc(call->context, (design->ncolumns + 1) * sizeof(int));
	for (int k = 0; k < design->ncolumns; k++)
		if (!design->columns[k].is_factor)
			call->order[n++] = k;
	call->nnumbers = n;
	for (int k = 0; k < design->ncolumns; k++)
		if (design->columns[k].is_factor)
			call->order[n++] = k;
}

/* Describes the arguments by their types. Arrays are checked in each row. */
static void
describe_arguments(FunctionCallInfo fcinfo, RowCall *call)
{
	int			narrays = 0;

	for (int k = 0; k < call->nargs; k++)
	{
		Oid			type = get_fn_expr_argtype(fcinfo->flinfo, call->first + k);
		RowArgument *arg = &call->arg[k];

		if (!OidIsValid(type))
			raise_call();
		(void) gr_describe_value(&arg->column, type);
		if (arg->column.element == FLOAT8OID)
			narrays++;
		/* arrays come before other arguments; if there are arrays, they have all numbers */
		else if (narrays > 0)
			arg->first = call->nnumbers + k - narrays;
		else
			arg->first = k;
	}
	call->narrays = narrays;
	if (narrays > 0 ? call->nargs - narrays != call->design->ncolumns - call->nnumbers :
		call->nargs != call->design->ncolumns)
		raise_call();
	for (int k = 0; k < call->nargs; k++)
		if (call->arg[k].column.element == FLOAT8OID ? k >= narrays :
			!gr_describe_design_value(call->design, call->order[call->arg[k].first],
									  get_fn_expr_argtype(fcinfo->flinfo, call->first + k), &call->arg[k].column))
			raise_call();
}

/* True if the design is a constant. A parameter may have another value in the next call. */
static bool
design_is_constant(FunctionCallInfo fcinfo)
{
	const Node *call = fcinfo->flinfo->fn_expr;

	return call != NULL && IsA(call, FuncExpr) &&
		IsA(list_nth(((const FuncExpr *) call)->args, ARG_DESIGN), Const);
}

/* Describes a call. The description is kept for the next calls if the design is a constant. */
static RowCall *
describe_call(FunctionCallInfo fcinfo, int first)
{
	int			n = PG_NARGS() - first;
	const text *design = PG_GETARG_TEXT_PP(ARG_DESIGN);
	bool		stays = design_is_constant(fcinfo);
	MemoryContext context = AllocSetContextCreate(stays ? fcinfo->flinfo->fn_mcxt : CurrentMemoryContext,
												  "gpureg design", ALLOCSET_SMALL_SIZES);
	RowCall    *call = MemoryContextAllocZero(context, offsetof(RowCall, arg) + n * sizeof(RowArgument));

	call->context = context;
	call->first = first;
	call->nargs = n;
	call->design = gr_open_design(context, VARDATA_ANY(design), VARSIZE_ANY_EXHDR(design));
	if (call->design == NULL)
		raise_call();
	call->values = MemoryContextAllocZero(context, (GR_DESIGN_NVALUES(call->design) + 1) * sizeof(double));
	order_columns(call);
	describe_arguments(fcinfo, call);
	if (stays)
		fcinfo->flinfo->fn_extra = call;
	return call;
}

/* Stores an array's elements as numbers from, from + 1, ... Returns the next number, or -1 if an element is NULL. */
static int
take_array(const RowCall *call, Datum value, int from)
{
	ArrayType  *array = DatumGetArrayTypeP(value);
	int			n = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	const double *numbers = (const double *) ARR_DATA_PTR(array);

	if (ARR_ELEMTYPE(array) != FLOAT8OID || n > call->nnumbers - from)
		raise_call();
	if (array_contains_nulls(array))
		return -1;
	for (int k = 0; k < n; k++)
		call->values[call->order[from + k]] = numbers[k];
	return from + n;
}

/*
 * Takes a row's values from the arguments from first on, none of which is NULL. Returns NULL if an array has a NULL, or
 * an expression is not defined for the values.
 */
static pg_attribute_always_inline RowCall *
take_row(FunctionCallInfo fcinfo, int first)
{
	RowCall    *call = fcinfo->flinfo->fn_extra;
	int			nnumbers = 0;
	int			step;

	if (unlikely(call == NULL))
		call = describe_call(fcinfo, first);
	for (int k = 0; k < call->nargs; k++)
	{
		const RowArgument *arg = &call->arg[k];

		if (OidIsValid(arg->column.element))
			nnumbers = take_array(call, PG_GETARG_DATUM(first + k), nnumbers);
		else
			gr_take_design_value(call->design, call->order[arg->first], &arg->column, PG_GETARG_DATUM(first + k), true,
								 call->values);
		if (nnumbers < 0)
			return NULL;
	}
	if (call->narrays > 0 && nnumbers != call->nnumbers)
		raise_call();
	if (likely(!gr_design_can_fault(call->design)))
		return call;
	return gr_design_fault(call->design, call->values, &step) == NULL ? call : NULL;
}

/* gpu_design_number(design text, VARIADIC "any"): returns the offset of a design without terms; NULL: not defined */
Datum
gr_design_number(PG_FUNCTION_ARGS)
{
	RowCall    *call = take_row(fcinfo, ARG_DESIGN + 1);

	if (call == NULL)
		PG_RETURN_NULL();
	if (call->design->offset.nsteps == 0)
		raise_call();
	PG_RETURN_FLOAT8(gr_expression_number(call->design->offset.step, call->design->offset.nsteps, call->values));
}

/* gpu_design_row(design text, pairs boolean, VARIADIC "any"): returns a row's features. No argument is NULL. */
Datum
gr_design_row(PG_FUNCTION_ARGS)
{
	RowCall    *call = take_row(fcinfo, ARG_PAIRS + 1);
	bool		pairs = PG_GETARG_BOOL(ARG_PAIRS);
	ArrayType  *array;
	int			n;

	if (call == NULL)
		PG_RETURN_NULL();
	n = call->design->nfeatures + (pairs ? call->design->npaired : 0);
	if (n == 0)
		PG_RETURN_ARRAYTYPE_P(construct_empty_array(FLOAT8OID));
	array = palloc(ARR_OVERHEAD_NONULLS(1) + n * sizeof(double));
	SET_VARSIZE(array, ARR_OVERHEAD_NONULLS(1) + n * sizeof(double));
	array->ndim = 1;
	array->dataoffset = 0;
	array->elemtype = FLOAT8OID;
	ARR_DIMS(array)[0] = n;
	ARR_LBOUND(array)[0] = 1;
	if (pairs)
		gr_design_expand_pairs(call->design, call->values, (double *) ARR_DATA_PTR(array),
							   (double *) ARR_DATA_PTR(array) + call->design->nfeatures);
	else
		gr_design_expand(call->design, call->values, (double *) ARR_DATA_PTR(array));
	PG_RETURN_ARRAYTYPE_P(array);
}
