/*
 * formula_numbers.c: writes calls that compute expressions, and counts the rows that they are not defined for.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"

#include "compute/design/design.h"
#include "compute/design/design_text.h"
#include "rows/columns/formula_error.h"
#include "rows/query/formula_numbers.h"

/* Numbers in an array, if columns are packed */
#define PACKED_MAX 500

List *
gr_write_design_values(const GrWrapper *wrapper, List *numbers, List *factors)
{
	bool		packs = list_length(numbers) + list_length(factors) > GR_COLUMN_ARGUMENTS_MAX;
	List	   *args = NIL;
	ListCell   *cell;

	while (numbers != NIL)
	{
		List	   *elements = NIL;

		for (int n = 0; packs && numbers != NIL && n < PACKED_MAX; n++, numbers = list_delete_first(numbers))
			elements = lappend(elements, gr_wrapped_number(wrapper, linitial_int(numbers)));
		args = lappend(args, packs ? gr_wrapper_array(elements, FLOAT8OID) :
					   gr_wrapped_column(wrapper, linitial_int(numbers)));
		if (!packs)
			numbers = list_delete_first(numbers);
	}
	foreach(cell, factors)
		args = lappend(args, gr_wrapped_column(wrapper, lfirst_int(cell)));
	return args;
}

Expr *
gr_write_number(const GrWrapper *wrapper, Oid function, const GrExpression *expression, const GrFormulaColumn *columns)
{
	Oid			types[2] = {TEXTOID, ANYOID};
	int			natts = wrapper->query->columns->natts;
	GrWriter	writer = {0};
	List	   *numbers = NIL;
	Expr	   *design;

	gr_design_write_number(&writer, expression, columns, natts);
	writer.text = palloc0(writer.nbytes + 1);
	writer.size = writer.nbytes;
	writer.nbytes = 0;
	gr_design_write_number(&writer, expression, columns, natts);
	for (int k = 0; k < natts; k++)
		if (gr_expression_has(expression, k))
			numbers = lappend_int(numbers, k);
	design = gr_wrapper_constant(CStringGetTextDatum(writer.text), TEXTOID);
	return gr_wrapper_call(gr_own_function(function, "gpu_design_number", 2, types, FLOAT8OID),
						   lcons(design, gr_write_design_values(wrapper, numbers, NIL)));
}

/*
 * Rows outside the domain
 */

/* A part of an expression that ends with a function or an operator */
typedef struct Part
{
	const GrExpression *whole;
	GrExpression part;
} Part;

/* Returns the number of steps of the operand or expression that ends with step k. */
static int
steps_before(const GrExpression *expression, int k)
{
	int			wanted = 1;
	int			n = 0;

	for (; wanted > 0; k--, n++)
		wanted += gr_step_operands(expression->step[k].op) - 1;
	return n;
}

static int
add_parts(const GrExpression *expression, Part *parts, int n, int max)
{
	for (int k = 0; k < expression->nsteps && n < max; k++)
	{
		int			nsteps = steps_before(expression, k);

		Part		part = {expression, {expression->name, nsteps, expression->step + k + 1 - nsteps}};

		if (gr_step_operands(expression->step[k].op) > 0 && expression->step[k].op != GR_STEP_NEGATE &&
			expression->step[k].op != GR_STEP_ABS && gr_expression_column(&part.part) >= 0)
			parts[n++] = part;
	}
	return n;
}

/* Lists the parts of the formula's expressions, the first ones first. */
static int
list_parts(const GrFormula *formula, Part *parts, int max)
{
	int			n = add_parts(&formula->response_expression, parts, 0, max);

	for (int v = 0; v < formula->nvariables; v++)
		if (formula->variables[v].used && formula->variables[v].kind == GR_VARIABLE_EXPRESSION)
			n = add_parts(&formula->expressions[formula->variables[v].column], parts, n, max);
	return add_parts(&formula->offset, parts, n, max);
}

/* SELECT ARRAY[count(*), count(part), ...] of the rows without a NULL */
static GrPlan *
plan_counts(const GrDomain *domain, const Part *parts, int n)
{
	List	   *counts = NIL;
	List	   *tests = NIL;
	GrWrapper	wrapper;
	GrPlan	   *plan;
	int			nest_level;

	gr_wrap_query(&wrapper, domain->query);
	counts = lappend(counts, gr_wrapper_aggregate(&wrapper, F_COUNT_ANY, list_make1(makeBoolConst(true, false))));
	for (int k = 0; k < n; k++)
		counts = lappend(counts, gr_wrapper_aggregate(&wrapper, F_COUNT_ANY,
													  list_make1(gr_write_number(&wrapper, domain->function,
																				 &parts[k].part, domain->columns))));
	for (int k = 0; k < domain->query->columns->natts; k++)
		if (domain->needed[k])
			tests = lappend(tests, gr_wrapper_is_not_null(&wrapper, k));
	wrapper.tree->jointree->quals = tests == NIL ? NULL : list_length(tests) == 1 ? linitial(tests) :
		(Node *) makeBoolExpr(AND_EXPR, tests, -1);
	gr_wrapper_select(&wrapper, gr_wrapper_array(counts, INT8OID));
	nest_level = gr_turn_jit_off();
	plan = gr_plan_wrapper(&wrapper);
	AtEOXact_GUC(true, nest_level);
	return plan;
}

void
gr_check_domain(const GrDomain *domain)
{
	Part		parts[GR_COLUMN_ARGUMENTS_MAX];
	int			n = list_parts(&domain->formula, parts, GR_COLUMN_ARGUMENTS_MAX);
	bool		isnull;
	Datum		value;
	Datum	   *counts;
	int			ncounts;

	if (n == 0)
		return;
	value = gr_run_for_value(plan_counts(domain, parts, n), NULL, &isnull);
	deconstruct_array(DatumGetArrayTypeP(value), INT8OID, sizeof(int64), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE, &counts,
					  NULL, &ncounts);
	for (int k = 0; k < n; k++)
	{
		const GrExpression *part = &parts[k].part;
		int64		nrows = DatumGetInt64(counts[0]) - DatumGetInt64(counts[k + 1]);

		if (nrows != 0)
			gr_raise_domain(part->step[part->nsteps - 1].op, domain->columns[gr_expression_column(part)].name,
							gr_expression_name(parts[k].whole), nrows);
	}
}
