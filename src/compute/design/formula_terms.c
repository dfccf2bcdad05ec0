/*
 * formula_terms.c: tells how a formula uses columns; see formula_terms.h.
 */
#include <string.h>

#include "compute/design/formula_terms.h"

bool
gr_formula_is_response(const GrFormula *formula, int k, GrVariableKind kind)
{
	const GrString *name = &formula->response_expression.name;

	if (kind != GR_VARIABLE_EXPRESSION)
		return k == formula->response;
	return formula->response_expression.nsteps > 0 && formula->expressions[k].name.nbytes == name->nbytes &&
		memcmp(formula->expressions[k].name.bytes, name->bytes, (size_t) name->nbytes) == 0;
}

int
gr_formula_uses(const GrFormula *formula, int k)
{
	int			uses = gr_expression_has(&formula->offset, k) ? 1 << GR_VARIABLE_EXPRESSION : 0;

	for (int v = 0; v < formula->nvariables; v++)
	{
		const GrVariable *variable = &formula->variables[v];

		if (variable->used && (variable->kind == GR_VARIABLE_EXPRESSION ?
							   gr_expression_has(&formula->expressions[variable->column], k) : variable->column == k))
			uses |= 1 << variable->kind;
	}
	return uses;
}

bool
gr_formula_makes_response(const GrFormula *formula, int k)
{
	return k == formula->response || gr_expression_has(&formula->response_expression, k);
}

bool
gr_formula_has_expressions(const GrFormula *formula)
{
	bool		has = formula->response_expression.nsteps > 0 || formula->offset.nsteps > 0;

	for (int v = 0; v < formula->nvariables && !has; v++)
		has = formula->variables[v].used && formula->variables[v].kind == GR_VARIABLE_EXPRESSION;
	return has;
}
