/*
 * design_block.c: computes features a column at a time; see design_block.h. The file is compiled with -O3, so that
 * loops over rows are vectorised.
 */
#include <math.h>
#include <string.h>

#include "compute/design/design_block.h"

#define VERSIONS __attribute__((target_clones("avx512f", "arch=haswell", "default")))
#define BLOCK GR_DESIGN_BLOCK

struct GrDesignBlock
{
	const GrDesign *design;
	bool		pairs;
	double	   *expressions;	/* numbers of the design's expressions, by columns */
	double	   *features;		/* result: features, then low halves */
	double	   *powers;			/* powers of a part and, behind them, their low halves */
	double	   *stack;			/* stack of expressions, by columns */
	double	   *row;			/* numbers of one row */
};

GrDesignBlock *
gr_design_block(const GrDesign *design, bool pairs, GrMemory memory)
{
	GrDesignBlock *block = memory.take(memory.arg, sizeof(GrDesignBlock));
	size_t		column = BLOCK * sizeof(double);

	for (int k = 0; k < design->ncolumns; k++)
		if (design->columns[k].is_factor)
			return NULL;
	if (block == NULL || design->nfeatures + (pairs ? design->npaired : 0) > GR_DESIGN_BLOCK_FEATURES_MAX)
		return NULL;
	*block = (GrDesignBlock) {.design = design,.pairs = pairs};
	block->expressions = memory.take(memory.arg, (size_t) (design->nexpressions + 1) * column);
	/* the low halves of terms that are not paired are written there, too */
	block->features = memory.take(memory.arg, (size_t) (2 * design->nfeatures + 1) * column);
	block->powers = memory.take(memory.arg, 2 * GR_POLY_DEGREE_MAX * column);
	/* a function, which has no second operand, may stand at the top */
	block->stack = memory.take(memory.arg, (GR_EXPRESSION_DEPTH_MAX + 1) * column);
	block->row = memory.take(memory.arg, (size_t) (design->ncolumns + 1) * sizeof(double));
	if (block->expressions == NULL || block->features == NULL || block->powers == NULL || block->stack == NULL ||
		block->row == NULL)
		return NULL;
	memset(block->stack, 0, (GR_EXPRESSION_DEPTH_MAX + 1) * column);
	return block;
}

/*
 * Expressions
 */

#define EACH_ROW(expression) \
	_Pragma("GCC ivdep") \
	for (int r = 0; r < BLOCK; r++) \
		a[r] = (expression)

/* Replaces the operands a, and b of an operator, by the result, in all rows of a block. */
VERSIONS static void
apply(int32_t op, double *a, const double *b)
{
	switch (op)
	{
		case GR_STEP_ADD:
			EACH_ROW(a[r] + b[r]);
			break;
		case GR_STEP_SUBTRACT:
			EACH_ROW(a[r] - b[r]);
			break;
		case GR_STEP_MULTIPLY:
			EACH_ROW(a[r] * b[r]);
			break;
		case GR_STEP_DIVIDE:
			EACH_ROW(a[r] / b[r]);
			break;
		case GR_STEP_LOG:
			EACH_ROW(gr_log(a[r]));
			break;
		case GR_STEP_LOG1P:
			EACH_ROW(gr_log1p(a[r]));
			break;
		case GR_STEP_EXP:
			EACH_ROW(gr_exp(a[r]));
			break;
		case GR_STEP_SQRT:
			EACH_ROW(sqrt(a[r]));
			break;
		case GR_STEP_ABS:
			EACH_ROW(fabs(a[r]));
			break;
		case GR_STEP_NEGATE:
			EACH_ROW(-a[r]);
			break;
		default:
			EACH_ROW(gr_step_apply(op, a[r], b[r]));
	}
}

/* Replaces a by its square: gr_power(a, 2) rounds once, as the product does. */
VERSIONS static void
square(double *a)
{
	EACH_ROW(a[r] * a[r]);
}

/* True if step k is the exponent 2 of a power. */
static bool
is_square(const GrExpression *expression, int k)
{
	return k + 1 < expression->nsteps && expression->step[k].op == GR_STEP_CONSTANT &&
		expression->step[k].value == 2 && expression->step[k + 1].op == GR_STEP_POWER;
}

static void
compute(GrDesignBlock *block, const GrExpression *expression, const double *const *columns, double *numbers)
{
	double	   *top = block->stack - BLOCK;

	for (int k = 0; k < expression->nsteps; k++)
	{
		const GrExpressionStep *step = &expression->step[k];

		if (is_square(expression, k))
		{
			square(top);
			k++;
		}
		else if (step->op == GR_STEP_COLUMN)
		{
			top += BLOCK;
			memcpy(top, columns[step->column], BLOCK * sizeof(double));
		}
		else if (step->op == GR_STEP_CONSTANT)
		{
			top += BLOCK;
			for (int r = 0; r < BLOCK; r++)
				top[r] = step->value;
		}
		else
		{
			int			noperands = gr_step_operands(step->op);

			top -= (noperands - 1) * BLOCK;
			apply(step->op, top, top + BLOCK);
		}
	}
	memcpy(numbers, block->stack, BLOCK * sizeof(double));
}

/* Clears the bits of rows in which an expression is not defined. */
static void
check_defined(GrDesignBlock *block, const GrExpression *expression, const double *const *columns, int nrows,
			  const double *numbers, uint64_t *defined)
{
	double		sum = 0;

	for (int r = 0; r < nrows; r++)
		sum += numbers[r] * 0;
	if (sum == 0)
		return;
	for (int r = 0; r < nrows; r++)
	{
		if (isfinite(numbers[r]))
			continue;
		for (int k = 0; k < block->design->ncolumns; k++)
			block->row[k] = columns[k][r];
		if (gr_expression_fault(expression, block->row) >= 0)
			*defined &= ~(UINT64_C(1) << r);
	}
}

/*
 * Terms
 */

/* Returns the numbers of a part, by columns. *low: those of powers' low halves; NULL: the numbers are exact */
static const double *
part_numbers(GrDesignBlock *block, const GrDesignPart *part, const double *const *columns, int nrows, double **low)
{
	const double *x;

	*low = NULL;
	if (part->kind == GR_PART_EXPRESSION)
		return block->expressions + (part->expression - block->design->expressions) * BLOCK;
	x = columns[part->column];
	if (part->kind == GR_PART_NUMBER)
		return x;
	*low = block->powers + GR_POLY_DEGREE_MAX * BLOCK;
	for (int r = 0; r < nrows; r++)
	{
		GrDD		first = gr_two_sum(x[r], -part->center);

		block->powers[r] = first.hi;
		(*low)[r] = first.lo;
	}
	return block->powers;
}

/* Raises the first powers to those up to the part's width. */
VERSIONS static void
raise_powers(double *hi, double *lo, int width, int nrows)
{
	for (int k = 1; k < width; k++)
		for (int r = 0; r < nrows; r++)
		{
			GrDD		power = gr_dd_mul((GrDD) {hi[(k - 1) * BLOCK + r], lo[(k - 1) * BLOCK + r]},
										  (GrDD) {hi[r], lo[r]});

			hi[k * BLOCK + r] = power.hi;
			lo[k * BLOCK + r] = power.lo;
		}
}

VERSIONS static void
multiply(double *into, const double *factor, const double *number, const double *low, int nrows)
{
	/* into may be factor, in the same places */
	if (low == NULL)
	{
#pragma GCC ivdep
		for (int r = 0; r < nrows; r++)
			into[r] = factor[r] * number[r];
		return;
	}
#pragma GCC ivdep
	for (int r = 0; r < nrows; r++)
		into[r] = factor[r] * (number[r] + low[r]);
}

VERSIONS static void
multiply_pairs(double *hi, double *lo, const double *factor, const double *factor_low, const double *number,
			   const double *low, int nrows)
{
	for (int r = 0; r < nrows; r++)
	{
		GrDD		by = {number[r], low == NULL ? 0 : low[r]};
		GrDD		product = gr_dd_mul((GrDD) {factor[r], factor_low[r]}, by);

		hi[r] = product.hi;
		lo[r] = product.lo;
	}
}

/* Computes the products of a term in place, as expand_term() and expand_pairs() of design.c do. lo: NULL: no pairs */
static void
compute_term(GrDesignBlock *block, const GrDesignTerm *term, const double *const *columns, int nrows, double *hi,
			 double *lo)
{
	int			n = 1;

	for (int r = 0; r < nrows; r++)
		hi[r] = 1;
	for (int r = 0; r < nrows && lo != NULL; r++)
		lo[r] = 0;
	for (int i = 0; i < term->nparts; i++)
	{
		const GrDesignPart *part = &term->part[i];
		double	   *low;
		const double *numbers = part_numbers(block, part, columns, nrows, &low);

		if (low != NULL)
			raise_powers(block->powers, low, part->width, nrows);
		for (int j = part->width - 1; j >= 0; j--)
			for (int k = 0; k < n; k++)
			{
				const double *low_j = low == NULL ? NULL : low + j * BLOCK;

				if (lo == NULL)
					multiply(hi + (j * n + k) * BLOCK, hi + k * BLOCK, numbers + j * BLOCK, low_j, nrows);
				else
					multiply_pairs(hi + (j * n + k) * BLOCK, lo + (j * n + k) * BLOCK, hi + k * BLOCK, lo + k * BLOCK,
								   numbers + j * BLOCK, low_j, nrows);
			}
		n *= part->width;
	}
}

/* True if a term is one number that needs no multiplication, which would turn -0 into 0. */
static bool
is_number(const GrDesignTerm *term)
{
	return term->nparts == 1 && !gr_part_is_poly(term->part);
}

const double *
gr_design_block_features(GrDesignBlock *block, const double *const *columns, int nrows, uint64_t *defined)
{
	const GrDesign *design = block->design;
	double	   *features = block->features;
	double	   *low = features + (size_t) design->nfeatures * BLOCK;
	double	   *unused;

	for (int k = 0; k < design->nexpressions; k++)
	{
		double	   *numbers = block->expressions + k * BLOCK;

		compute(block, &design->expressions[k], columns, numbers);
		check_defined(block, &design->expressions[k], columns, nrows, numbers, defined);
	}
	for (const GrDesignTerm *term = design->terms; term < design->terms + design->nterms; term++)
	{
		bool		paired = block->pairs && term->paired;

		if (is_number(term))
			memcpy(features, part_numbers(block, term->part, columns, nrows, &unused), (size_t) nrows * sizeof(double));
		else
			compute_term(block, term, columns, nrows, features, paired ? low : NULL);
		features += term->width * BLOCK;
		low += paired ? term->width * BLOCK : 0;
	}
	return block->features;
}

void
gr_design_block_offset(GrDesignBlock *block, const double *const *columns, int nrows, double *numbers,
					   uint64_t *defined)
{
	compute(block, &block->design->offset, columns, numbers);
	check_defined(block, &block->design->offset, columns, nrows, numbers, defined);
}
