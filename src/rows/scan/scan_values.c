/*
 * scan_values.c: recognizes columns of numbers, and comparisons of columns with constants.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "rows/columns/columns.h"
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

bool
gr_is_number_column(const Expr *expr, TupleDesc table, GrNumberKind *kind)
{
	Form_pg_attribute attribute = column_of(expr, table);

	return attribute != NULL && number_kind(getBaseType(attribute->atttypid), kind);
}

/*
 * Comparisons
 */

/* Comparison operators of a pair of types: less, less or equal, equal, not equal, greater or equal, greater */
typedef struct Operators
{
	Oid			function[6];
	bool		integers;
} Operators;

static const Operators operators[] = {
	{{F_FLOAT8LT, F_FLOAT8LE, F_FLOAT8EQ, F_FLOAT8NE, F_FLOAT8GE, F_FLOAT8GT}, false},
	{{F_FLOAT4LT, F_FLOAT4LE, F_FLOAT4EQ, F_FLOAT4NE, F_FLOAT4GE, F_FLOAT4GT}, false},
	{{F_FLOAT48LT, F_FLOAT48LE, F_FLOAT48EQ, F_FLOAT48NE, F_FLOAT48GE, F_FLOAT48GT}, false},
	{{F_FLOAT84LT, F_FLOAT84LE, F_FLOAT84EQ, F_FLOAT84NE, F_FLOAT84GE, F_FLOAT84GT}, false},
	{{F_INT4LT, F_INT4LE, F_INT4EQ, F_INT4NE, F_INT4GE, F_INT4GT}, true},
	{{F_INT2LT, F_INT2LE, F_INT2EQ, F_INT2NE, F_INT2GE, F_INT2GT}, true},
	{{F_INT8LT, F_INT8LE, F_INT8EQ, F_INT8NE, F_INT8GE, F_INT8GT}, true},
	{{F_INT24LT, F_INT24LE, F_INT24EQ, F_INT24NE, F_INT24GE, F_INT24GT}, true},
	{{F_INT42LT, F_INT42LE, F_INT42EQ, F_INT42NE, F_INT42GE, F_INT42GT}, true},
	{{F_INT28LT, F_INT28LE, F_INT28EQ, F_INT28NE, F_INT28GE, F_INT28GT}, true},
	{{F_INT82LT, F_INT82LE, F_INT82EQ, F_INT82NE, F_INT82GE, F_INT82GT}, true},
	{{F_INT48LT, F_INT48LE, F_INT48EQ, F_INT48NE, F_INT48GE, F_INT48GT}, true},
	{{F_INT84LT, F_INT84LE, F_INT84EQ, F_INT84NE, F_INT84GE, F_INT84GT}, true},
	{{F_DATE_LT, F_DATE_LE, F_DATE_EQ, F_DATE_NE, F_DATE_GE, F_DATE_GT}, true},
	{{F_TIMESTAMP_LT, F_TIMESTAMP_LE, F_TIMESTAMP_EQ, F_TIMESTAMP_NE, F_TIMESTAMP_GE, F_TIMESTAMP_GT}, true},
	{{F_TIMESTAMPTZ_LT, F_TIMESTAMPTZ_LE, F_TIMESTAMPTZ_EQ, F_TIMESTAMPTZ_NE, F_TIMESTAMPTZ_GE, F_TIMESTAMPTZ_GT},
	true}
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
			comparison->integers = operators[k].integers;
			comparison->below = commuted ? outcomes[o].above : outcomes[o].below;
			comparison->equal = outcomes[o].equal;
			comparison->above = commuted ? outcomes[o].below : outcomes[o].above;
			return true;
		}
	}
	return false;
}

static bool
is_constant(const Expr *expr)
{
	return IsA(expr, Const) || (IsA(expr, Param) && ((const Param *) expr)->paramkind == PARAM_EXTERN);
}

/* Sets *kind to the number type as which values of type are compared. False if they aren't compared as numbers. */
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

static bool
set_sides(Expr *left, Expr *right, Oid function, bool commuted, TupleDesc table, GrComparison *comparison)
{
	Form_pg_attribute attribute = column_of(left, table);
	GrNumberKind kind;

	if (attribute == NULL || !is_constant(right) || !find_operator(function, commuted, comparison))
		return false;
	comparison->attribute = attribute->attnum;
	comparison->constant = right;
	comparison->constant_type = getBaseType(exprType((Node *) right));
	return compared_kind(getBaseType(attribute->atttypid), &comparison->kind) &&
		compared_kind(comparison->constant_type, &kind) &&
		comparison->integers == (comparison->kind != GR_FLOAT8 && comparison->kind != GR_FLOAT4) &&
		comparison->integers == (kind != GR_FLOAT8 && kind != GR_FLOAT4);
}

bool
gr_is_comparison(const Expr *clause, TupleDesc table, GrComparison *comparison)
{
	const OpExpr *op = (const OpExpr *) clause;
	Expr	   *left;
	Expr	   *right;

	memset(comparison, 0, sizeof(*comparison));
	if (!IsA(clause, OpExpr) || list_length(op->args) != 2)
		return false;
	left = without_label(linitial(op->args));
	right = without_label(lsecond(op->args));
	return set_sides(left, right, op->opfuncid, false, table, comparison) ||
		set_sides(right, left, op->opfuncid, true, table, comparison);
}

void
gr_set_constant(GrComparison *comparison, Datum value, bool isnull)
{
	comparison->nothing = isnull;
	if (isnull)
		return;
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
