/*
 * scan_values.c: recognizes columns of numbers, and comparisons of columns with constants.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "common/int.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "utils/date.h"
#include "utils/datum.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "rows/columns/columns.h"
#include "rows/scan/heap_rows.h"
#include "rows/scan/scan_values.h"

/*
 * Casts
 */

/* True if function casts a number to float8. The cast of a numeric may fail; see skip_row() in taker.c. */
static bool
is_number_cast(Oid function)
{
	return function == F_FLOAT8_FLOAT4 || function == F_FLOAT8_INT2 || function == F_FLOAT8_INT4 ||
		function == F_FLOAT8_INT8 || function == F_FLOAT8_NUMERIC;
}

/* Removes relabellings within one base type, such as from a domain to its type, which leave values unchanged. */
static Expr *
without_label(Expr *expr)
{
	while (IsA(expr, RelabelType) &&
		   getBaseType(exprType((Node *) ((RelabelType *) expr)->arg)) == getBaseType(exprType((Node *) expr)))
		expr = ((RelabelType *) expr)->arg;
	return expr;
}

/* Returns the argument of a cast from float4[] to float8[], or NULL if expr is not such a cast. */
static Expr *
array_cast_argument(const Expr *expr)
{
	const ArrayCoerceExpr *cast = IsA(expr, ArrayCoerceExpr) ? (const ArrayCoerceExpr *) expr : NULL;
	const FuncExpr *element = cast != NULL && IsA(cast->elemexpr, FuncExpr) ? (const FuncExpr *) cast->elemexpr : NULL;

	if (element == NULL || element->funcid != F_FLOAT8_FLOAT4 || !IsA(linitial(element->args), CaseTestExpr))
		return NULL;
	return cast->arg;
}

Expr *
gr_without_cast(Expr *expr, Oid *type)
{
	Expr	   *inner;

	expr = without_label(expr);
	if (IsA(expr, FuncExpr) && is_number_cast(((FuncExpr *) expr)->funcid))
	{
		expr = without_label(linitial(((FuncExpr *) expr)->args));
		if (IsA(expr, FuncExpr) && ((FuncExpr *) expr)->funcid == F_INT4_BOOL)
			expr = without_label(linitial(((FuncExpr *) expr)->args));
	}
	else if ((inner = array_cast_argument(expr)) != NULL)
		expr = without_label(inner);
	*type = getBaseType(exprType((Node *) expr));
	return expr;
}

/*
 * Columns
 */

/* Sets *kind to the kind of the numbers of a base type. Returns false if the type has none. */
static bool
number_kind(Oid type, GrNumberKind *kind)
{
	switch (type)
	{
		case FLOAT8OID:
			*kind = GR_FLOAT8;
			return true;
		case FLOAT4OID:
			*kind = GR_FLOAT4;
			return true;
		case INT8OID:
			*kind = GR_INT8;
			return true;
		case INT4OID:
			*kind = GR_INT4;
			return true;
		case INT2OID:
			*kind = GR_INT2;
			return true;
		case BOOLOID:
			*kind = GR_BOOL;
			return true;
		case NUMERICOID:
			*kind = GR_NUMERIC;
			return true;
		default:
			return false;
	}
}

/* Returns the column of table that expr is, or NULL if expr is no column or has another type than the column. */
static Form_pg_attribute
column_of(const Expr *expr, TupleDesc table)
{
	const Var  *var = (const Var *) expr;
	Form_pg_attribute attribute;

	if (!IsA(expr, Var) || var->varattno < 1 || var->varattno > table->natts)
		return NULL;
	attribute = TupleDescAttr(table, var->varattno - 1);
	return attribute->atttypid == var->vartype && !attribute->attisdropped ? attribute : NULL;
}

double
gr_read_numeric(const char *at)
{
	return gr_numeric_number(PointerGetDatum(gr_heap_varlena(at)));
}

bool
gr_is_number_column(const Expr *expr, TupleDesc table, GrNumberKind *kind)
{
	Form_pg_attribute attribute = column_of(expr, table);

	return attribute != NULL && number_kind(getBaseType(attribute->atttypid), kind);
}

/* Returns the attribute of a test that a column is not NULL, of a type that tuples are searched for; 0: no such test */
static AttrNumber
guarded_column(const Expr *expr, TupleDesc table)
{
	const NullTest *test = (const NullTest *) expr;
	Form_pg_attribute attribute = IsA(expr, NullTest) ? column_of(test->arg, table) : NULL;

	return attribute != NULL && test->nulltesttype == IS_NOT_NULL && !test->argisrow &&
		(attribute->attlen > 0 || (attribute->attlen == -1 && attribute->attalign == TYPALIGN_INT)) ?
		attribute->attnum : 0;
}

const Expr *
gr_without_guards(const Expr *expr, TupleDesc table, int most, AttrNumber *guards, int *n)
{
	const CaseExpr *guarded = (const CaseExpr *) expr;
	const CaseWhen *when;
	const BoolExpr *all;
	List	   *tests;
	ListCell   *cell;

	*n = 0;
	if (!IsA(expr, CaseExpr) || guarded->arg != NULL || list_length(guarded->args) != 1 ||
		!IsA(guarded->defresult, Const) || !((const Const *) guarded->defresult)->constisnull)
		return expr;
	when = linitial_node(CaseWhen, guarded->args);
	all = (const BoolExpr *) when->expr;
	tests = IsA(all, BoolExpr) && all->boolop == AND_EXPR ? all->args : list_make1(when->expr);
	if (list_length(tests) > most)
		return expr;
	foreach(cell, tests)
	{
		AttrNumber	attribute = guarded_column(lfirst(cell), table);

		if (attribute == 0)
		{
			*n = 0;
			return expr;
		}
		guards[(*n)++] = attribute;
	}
	return when->result;
}

/*
 * Comparisons
 */

/* Comparison operators of a pair of types: less, less or equal, equal, not equal, greater or equal, greater */
typedef struct Operators
{
	Oid			function[6];
	GrComparedBy by;
} Operators;

#define OPERATORS(types) {F_##types##LT, F_##types##LE, F_##types##EQ, F_##types##NE, F_##types##GE, F_##types##GT}
#define MIXED(left, right) {F_##left##_LT_##right, F_##left##_LE_##right, F_##left##_EQ_##right, \
	F_##left##_NE_##right, F_##left##_GE_##right, F_##left##_GT_##right}

/* The functions of GR_BY_FLOAT and GR_BY_INTEGER are leakproof. */
static const Operators operators[] = {
	{OPERATORS(FLOAT8), GR_BY_FLOAT},
	{OPERATORS(FLOAT4), GR_BY_FLOAT},
	{OPERATORS(FLOAT48), GR_BY_FLOAT},
	{OPERATORS(FLOAT84), GR_BY_FLOAT},
	{OPERATORS(INT4), GR_BY_INTEGER},
	{OPERATORS(INT2), GR_BY_INTEGER},
	{OPERATORS(INT8), GR_BY_INTEGER},
	{OPERATORS(INT24), GR_BY_INTEGER},
	{OPERATORS(INT42), GR_BY_INTEGER},
	{OPERATORS(INT28), GR_BY_INTEGER},
	{OPERATORS(INT82), GR_BY_INTEGER},
	{OPERATORS(INT48), GR_BY_INTEGER},
	{OPERATORS(INT84), GR_BY_INTEGER},
	{OPERATORS(DATE_), GR_BY_INTEGER},
	{OPERATORS(TIMESTAMP_), GR_BY_INTEGER},
	{OPERATORS(TIMESTAMPTZ_), GR_BY_INTEGER},
	{MIXED(DATE, TIMESTAMP), GR_BY_WINDOW},
	{MIXED(DATE, TIMESTAMPTZ), GR_BY_WINDOW},
	{MIXED(TIMESTAMP, DATE), GR_BY_WINDOW},
	{MIXED(TIMESTAMPTZ, DATE), GR_BY_WINDOW},
	{MIXED(TIMESTAMP, TIMESTAMPTZ), GR_BY_WINDOW},
	{MIXED(TIMESTAMPTZ, TIMESTAMP), GR_BY_WINDOW},
	{OPERATORS(NUMERIC_), GR_BY_NUMERIC}
};

/* Results of a comparison for which each operator is true, in the order of Operators.function */
static const struct
{
	bool		below;
	bool		equal;
	bool		above;
}			outcomes[6] = {{true, false, false}, {true, true, false}, {false, true, false}, {true, false, true},
{false, true, true}, {false, false, true}};

/* Sets the results that pass in *comparison. commuted: the constant is on the left. False if function is unknown. */
static bool
find_operator(Oid function, bool commuted, GrComparison *comparison)
{
	for (int k = 0; k < lengthof(operators); k++)
	{
		for (int o = 0; o < 6; o++)
		{
			if (operators[k].function[o] != function)
				continue;
			comparison->by = operators[k].by;
			comparison->commuted = commuted;
			comparison->below = commuted ? outcomes[o].above : outcomes[o].below;
			comparison->equal = outcomes[o].equal;
			comparison->above = commuted ? outcomes[o].below : outcomes[o].above;
			return true;
		}
	}
	return false;
}

/* True if expr has the same value for all rows of a scan. */
static bool
is_constant(Expr *expr)
{
	return IsA(expr, Const) || (!contain_var_clause((Node *) expr) && !contain_volatile_functions((Node *) expr) &&
								!contain_subplans((Node *) expr));
}

/* Sets *kind to the type as which values of type are compared. False if they are compared in another way. */
static bool
compared_kind(Oid type, GrNumberKind *kind)
{
	if (type == DATEOID)
		*kind = GR_INT4;
	else if (type == TIMESTAMPOID || type == TIMESTAMPTZOID)
		*kind = GR_INT8;
	else
		return type != BOOLOID && number_kind(type, kind);
	return true;
}

/* True if values of kind are compared in this way. */
static bool
is_compared_by(GrComparedBy by, GrNumberKind kind)
{
	if (kind == GR_NUMERIC)
		return by == GR_BY_NUMERIC;
	if (kind == GR_FLOAT8 || kind == GR_FLOAT4)
		return by == GR_BY_FLOAT;
	return by == GR_BY_INTEGER || by == GR_BY_WINDOW;
}

static bool
set_sides(Expr *left, Expr *right, Oid function, bool commuted, TupleDesc table, GrComparison *comparison)
{
	Form_pg_attribute attribute = column_of(left, table);
	GrNumberKind kind;

	if (attribute == NULL || !find_operator(function, commuted, comparison) || !is_constant(right))
		return false;
	comparison->attribute = attribute->attnum;
	comparison->constant = right;
	comparison->constant_type = getBaseType(exprType((Node *) right));
	comparison->column_type = getBaseType(attribute->atttypid);
	return compared_kind(comparison->column_type, &comparison->kind) &&
		compared_kind(comparison->constant_type, &kind) && is_compared_by(comparison->by, comparison->kind) &&
		is_compared_by(comparison->by, kind);
}

bool
gr_is_comparison(const Expr *clause, TupleDesc table, bool leakproof, GrComparison *comparison)
{
	const OpExpr *op = (const OpExpr *) clause;
	Expr	   *left;
	Expr	   *right;

	memset(comparison, 0, sizeof(*comparison));
	if (!IsA(clause, OpExpr) || list_length(op->args) != 2)
		return false;
	left = without_label(linitial(op->args));
	right = without_label(lsecond(op->args));
	if (!set_sides(left, right, op->opfuncid, false, table, comparison) &&
		!set_sides(right, left, op->opfuncid, true, table, comparison))
		return false;
	if (comparison->by == GR_BY_FLOAT || comparison->by == GR_BY_INTEGER)
		return true;
	if (leakproof)
		return false;
	comparison->function = palloc(sizeof(FmgrInfo));
	fmgr_info(op->opfuncid, comparison->function);
	return true;
}

/*
 * Constants
 */

/* Returns a + b, or the largest or smallest integer if that is out of range. */
static int64
add_within_range(int64 a, int64 b)
{
	int64		sum;

	return !pg_add_s64_overflow(a, b, &sum) ? sum : b > 0 ? PG_INT64_MAX : PG_INT64_MIN;
}

/*
 * Returns the bound of a window in the column's unit. bound: in microseconds; more: 1 or -1, the window's direction.
 * The window only has to be wide enough.
 */
static int64
window_bound(const GrComparison *comparison, int64 bound, int more)
{
	/* Dates go beyond timestamps, and beyond the bounds that stand for them here. */
	if (comparison->column_type == DATEOID && bound != (more > 0 ? PG_INT64_MAX : PG_INT64_MIN))
		bound /= USECS_PER_DAY;
	return add_within_range(bound, 2 * more);
}

/*
 * Sets the values of a column that the operator's function must compare, as time zones do not keep the order of
 * timestamps: those within two days of the constant. Zones are less than 16 hours off.
 */
static void
set_window(GrComparison *comparison, Datum value)
{
	bool		has_zone = comparison->constant_type == TIMESTAMPTZOID;
	int64		slack = has_zone == (comparison->column_type == TIMESTAMPTZOID) ? 0 : 2 * USECS_PER_DAY;
	int64		at;

	if (comparison->constant_type != DATEOID)
		at = DatumGetInt64(value);
	else if (pg_mul_s64_overflow(DatumGetDateADT(value), USECS_PER_DAY, &at))
		at = DatumGetDateADT(value) > 0 ? PG_INT64_MAX : PG_INT64_MIN;
	comparison->low = window_bound(comparison, add_within_range(at, -slack), -1);
	comparison->high = window_bound(comparison, add_within_range(at, slack), 1);
}

void
gr_set_constant(GrComparison *comparison, Datum value, bool isnull)
{
	comparison->nothing = isnull;
	if (isnull)
		return;
	comparison->value = datumCopy(value, comparison->constant_type != NUMERICOID, -1);
	if (comparison->by == GR_BY_WINDOW)
	{
		set_window(comparison, value);
		return;
	}
	switch (comparison->constant_type)
	{
		case FLOAT8OID:
			comparison->number = DatumGetFloat8(value);
			break;
		case FLOAT4OID:
			comparison->number = DatumGetFloat4(value);
			break;
		case INT2OID:
			comparison->integer = DatumGetInt16(value);
			break;
		case INT4OID:
		case DATEOID:
			comparison->integer = DatumGetInt32(value);
			break;
		case NUMERICOID:
			comparison->has_parts = gr_numeric_parts(comparison->value, &comparison->parts);
			break;
		default:
			comparison->integer = DatumGetInt64(value);
			break;
	}
}

bool
gr_passes_nan(const GrComparison *comparison, double value)
{
	return isnan(value) && isnan(comparison->number) ? comparison->equal :
		isnan(value) ? comparison->above : comparison->below;
}

/* True if the operator's function is true for a value of the column. */
static bool
is_true(const GrComparison *comparison, Datum value)
{
	Datum		left = comparison->commuted ? comparison->value : value;
	Datum		right = comparison->commuted ? value : comparison->value;

	return DatumGetBool(FunctionCall2(comparison->function, left, right));
}

bool
gr_passes_function(const GrComparison *comparison, const char *at)
{
	int64		value;
	int			order;

	if (comparison->nothing)
		return false;
	if (comparison->by == GR_BY_NUMERIC)
	{
		Datum		numeric = PointerGetDatum(gr_heap_varlena(at));

		if (unlikely(!comparison->has_parts || !gr_numeric_compare(numeric, &comparison->parts, &order)))
			return is_true(comparison, numeric);
		return order < 0 ? comparison->below : order > 0 ? comparison->above : comparison->equal;
	}
	value = comparison->kind == GR_INT4 ? *(const int32 *) at : *(const int64 *) at;
	if (value < comparison->low)
		return comparison->below;
	if (value > comparison->high)
		return comparison->above;
	return is_true(comparison, comparison->kind == GR_INT4 ? Int32GetDatum((int32) value) : Int64GetDatum(value));
}
