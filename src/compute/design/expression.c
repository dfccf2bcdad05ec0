/*
 * expression.c: checks, names and differentiates expressions; see expression.h.
 */
#include "compute/design/expression.h"

bool
gr_expression_valid(const GrExpressionStep *step, int nsteps, int ncolumns)
{
	int			depth = 0;

	if (nsteps < 1 || nsteps > GR_EXPRESSION_STEPS_MAX)
		return false;
	for (int k = 0; k < nsteps; k++)
	{
		int			noperands;

		if (step[k].op < 0 || step[k].op >= GR_NSTEP_OPS || !isfinite(step[k].value))
			return false;
		if (step[k].op != GR_STEP_CONSTANT && step[k].value != 0)
			return false;
		if (step[k].column < 0 || step[k].column >= (step[k].op == GR_STEP_COLUMN ? ncolumns : 1))
			return false;
		noperands = gr_step_operands(step[k].op);
		if (depth < noperands)
			return false;
		depth += 1 - noperands;
		if (depth > GR_EXPRESSION_DEPTH_MAX)
			return false;
	}
	return depth == 1;
}

bool
gr_expression_has(const GrExpression *expression, int k)
{
	for (int s = 0; s < expression->nsteps; s++)
		if (expression->step[s].op == GR_STEP_COLUMN && expression->step[s].column == k)
			return true;
	return false;
}

int
gr_expression_column(const GrExpression *expression)
{
	for (int s = 0; s < expression->nsteps; s++)
		if (expression->step[s].op == GR_STEP_COLUMN)
			return expression->step[s].column;
	return -1;
}

const char *
gr_step_name(int32_t op)
{
	static const char *const names[GR_NSTEP_OPS] = {
		"", "", "+", "-", "*", "/", "^", "-", "log", "log2", "log10", "log1p", "exp", "expm1", "sqrt", "abs"
	};

	return op >= 0 && op < GR_NSTEP_OPS ? names[op] : "";
}

int
gr_expression_fault(const GrExpression *expression, const double *row)
{
	double		stack[GR_EXPRESSION_DEPTH_MAX];
	int			n = 0;

	for (int k = 0; k < expression->nsteps; k++)
	{
		const GrExpressionStep *step = &expression->step[k];
		int			noperands = gr_step_operands(step->op);

		n += 1 - noperands;
		if (noperands == 0)
			stack[n - 1] = step->op == GR_STEP_COLUMN ? row[step->column] : step->value;
		else
			stack[n - 1] = gr_step_apply(step->op, stack[n - 1], stack[n + noperands - 2]);
		if (!isfinite(stack[n - 1]))
			return noperands == 0 ? -1 : k;
	}
	return -1;
}

/* Returns the derivative of a function of one number at x, where the function is value. */
static double
slope_of(int32_t op, double x, double value)
{
	switch (op)
	{
		case GR_STEP_NEGATE:
			return -1;
		case GR_STEP_LOG:
			return 1 / x;
		case GR_STEP_LOG2:
			return 1.4426950408889634074 / x;
		case GR_STEP_LOG10:
			return 0.43429448190325182765 / x;
		case GR_STEP_LOG1P:
			return 1 / (1 + x);
		case GR_STEP_EXP:
			return value;
		case GR_STEP_EXPM1:
			return value + 1;
		case GR_STEP_SQRT:
			return 0.5 / value;
		default:
			return x > 0 ? 1 : x < 0 ? -1 : 0;
	}
}

/* Returns a product whose second factor may be infinite or NaN if the first is 0: the product then is 0. */
static double
times(double a, double b)
{
	return a == 0 ? 0 : a * b;
}

static double
operator_slope(int32_t op, GrSlope a, GrSlope b, double value)
{
	switch (op)
	{
		case GR_STEP_ADD:
			return a.slope + b.slope;
		case GR_STEP_SUBTRACT:
			return a.slope - b.slope;
		case GR_STEP_MULTIPLY:
			return a.slope * b.value + a.value * b.slope;
		case GR_STEP_DIVIDE:
			return (a.slope - value * b.slope) / b.value;
		default:
			return times(a.slope, b.value * gr_power(a.value, b.value - 1)) +
				times(b.slope, value * gr_log(a.value));
	}
}

GrSlope
gr_expression_slope(const GrExpression *expression, int column, const double *row)
{
	GrSlope		stack[GR_EXPRESSION_DEPTH_MAX];
	int			n = 0;

	for (int k = 0; k < expression->nsteps; k++)
	{
		const GrExpressionStep *step = &expression->step[k];
		int			noperands = gr_step_operands(step->op);
		GrSlope		result;

		if (noperands == 0)
		{
			bool		is_column = step->op == GR_STEP_COLUMN;

			stack[n++] = (GrSlope) {
				is_column ? row[step->column] : step->value, is_column && step->column == column ? 1 : 0
			};
			continue;
		}
		n -= noperands;
		result.value = gr_step_apply(step->op, stack[n].value, stack[n + noperands - 1].value);
		result.slope = noperands == 2 ? operator_slope(step->op, stack[n], stack[n + 1], result.value) :
			times(stack[n].slope, slope_of(step->op, stack[n].value, result.value));
		stack[n++] = result;
	}
	return stack[0];
}
