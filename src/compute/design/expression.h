/*
 * expression.h: expressions of columns, such as log(x + 1), as programs for a stack of numbers. formula_expression.c
 * makes them, designs store them as text, and derivations of kept rows contain them.
 *
 * A step that names a column or a constant pushes a number; a function replaces the number at the top; an operator
 * replaces the two numbers at the top by one. A program leaves one number. The same functions compute it on every
 * processor and device (elementary.h), so a result does not depend on where it is computed.
 */
#ifndef GPUREG_EXPRESSION_H
#define GPUREG_EXPRESSION_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "compute/base/elementary.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GR_EXPRESSION_STEPS_MAX 1000
#define GR_EXPRESSION_DEPTH_MAX 32	/* numbers on the stack */

typedef enum GrExpressionOp
{
	GR_STEP_COLUMN,				/* pushes the number of a column */
	GR_STEP_CONSTANT,			/* pushes value */
	GR_STEP_ADD,				/* operators, with two operands */
	GR_STEP_SUBTRACT,
	GR_STEP_MULTIPLY,
	GR_STEP_DIVIDE,
	GR_STEP_POWER,
	GR_STEP_NEGATE,				/* functions, with one operand */
	GR_STEP_LOG,
	GR_STEP_LOG2,
	GR_STEP_LOG10,
	GR_STEP_LOG1P,
	GR_STEP_EXP,
	GR_STEP_EXPM1,
	GR_STEP_SQRT,
	GR_STEP_ABS
} GrExpressionOp;

#define GR_NSTEP_OPS 16

typedef struct GrExpressionStep
{
	int32_t		op;				/* GrExpressionOp */
	int32_t		column;			/* GR_STEP_COLUMN; else 0 */
	double		value;			/* GR_STEP_CONSTANT: finite; else 0 */
} GrExpressionStep;

/* A string without a terminating 0. The bytes belong to somebody else. */
typedef struct GrString
{
	const char *bytes;
	int			nbytes;
} GrString;

typedef struct GrExpression
{
	GrString	name;			/* as R's deparse() writes it */
	int			nsteps;
	const GrExpressionStep *step;
} GrExpression;

/* Returns the number of operands of an op. */
GR_HD int
gr_step_operands(int32_t op)
{
	return op <= GR_STEP_CONSTANT ? 0 : op <= GR_STEP_POWER ? 2 : 1;
}

/* Returns the result of a function or an operator. A function ignores b. */
GR_HD double
gr_step_apply(int32_t op, double a, double b)
{
	switch (op)
	{
		case GR_STEP_ADD:
			return a + b;
		case GR_STEP_SUBTRACT:
			return a - b;
		case GR_STEP_MULTIPLY:
			return a * b;
		case GR_STEP_DIVIDE:
			return a / b;
		case GR_STEP_POWER:
			return gr_power(a, b);
		case GR_STEP_NEGATE:
			return -a;
		case GR_STEP_LOG:
			return gr_log(a);
		case GR_STEP_LOG2:
			return gr_log2(a);
		case GR_STEP_LOG10:
			return gr_log10(a);
		case GR_STEP_LOG1P:
			return gr_log1p(a);
		case GR_STEP_EXP:
			return gr_exp(a);
		case GR_STEP_EXPM1:
			return gr_expm1(a);
		case GR_STEP_SQRT:
			return sqrt(a);
		default:
			return fabs(a);
	}
}

/* Returns the number of an expression in a row. The steps must be valid; see gr_expression_valid(). */
GR_HD double
gr_expression_number(const GrExpressionStep *step, int nsteps, const double *row)
{
	double		stack[GR_EXPRESSION_DEPTH_MAX];
	int			n = 0;

	for (int k = 0; k < nsteps; k++)
	{
		int			noperands = gr_step_operands(step[k].op);

		if (noperands == 0)
			stack[n++] = step[k].op == GR_STEP_COLUMN ? row[step[k].column] : step[k].value;
		else
		{
			n -= noperands - 1;
			stack[n - 1] = gr_step_apply(step[k].op, stack[n - 1], stack[n + noperands - 2]);
		}
	}
	return stack[0];
}

/* True if steps are a program for rows of ncolumns columns. */
extern bool gr_expression_valid(const GrExpressionStep *step, int nsteps, int ncolumns);

/* True if an expression has column k. */
extern bool gr_expression_has(const GrExpression *expression, int k);

/* Returns the first column of an expression, or -1 if it has none. */
extern int	gr_expression_column(const GrExpression *expression);

/* Returns the name of a function or an operator, as formulas have it; "" for a column or a constant. */
extern const char *gr_step_name(int32_t op);

/*
 * Returns the step that first makes a number that is not finite of finite numbers in row, such as the log of 0. Returns
 * -1 if there is none: all numbers are finite, or a column's number is not.
 */
extern int	gr_expression_fault(const GrExpression *expression, const double *row);

/* A number and its derivative by a column */
typedef struct GrSlope
{
	double		value;
	double		slope;
} GrSlope;

/* Returns the number of an expression in a row and its derivative by the number in column (-1: 0). */
extern GrSlope gr_expression_slope(const GrExpression *expression, int column, const double *row);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_EXPRESSION_H */
