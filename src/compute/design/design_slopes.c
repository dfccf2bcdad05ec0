/*
 * design_slopes.c: features with their derivatives, as dual numbers in double-double: multiplying them differentiates.
 *
 * At most one indicator of a factor is 1, so a term with factors has as many nonzero features in a row as its powers
 * make, for any number of levels.
 */
#include "compute/design/design_slopes.h"

/* Returns (a + a' e) (b + b' e), with e^2 = 0. */
static GrDual
multiply(GrDual a, GrDual b)
{
	GrDual		product = {a.feature + b.feature, gr_dd_mul(a.value, b.value), {0, 0}};

	if (a.slope.hi != 0)
		product.slope = gr_dd_mul(a.slope, b.value);
	if (b.slope.hi != 0)
		product.slope = gr_dd_add(product.slope, gr_dd_mul(a.value, b.slope));
	return product;
}

/*
 * Lists a part's nonzero numbers: x, x^2, ..., or the indicator that is 1. stride: features between one number of the
 * part and the next. Returns their number.
 */
static int
list_numbers(const GrDesignPart *part, int stride, int column, const double *values, GrDual *numbers)
{
	int			level;

	if (!gr_part_is_number(part))
	{
		level = gr_part_indicator(part, values);
		numbers[0] = (GrDual) {level * stride, {1, 0}, {0, 0}};
		return level < 0 ? 0 : 1;
	}
	if (part->kind == GR_PART_EXPRESSION)
	{
		GrSlope		of = gr_expression_slope(part->expression, column, values);

		numbers[0] = (GrDual) {0, {of.value, 0}, {of.slope, 0}};
		return 1;
	}
	numbers[0] = (GrDual) {0, gr_two_sum(values[part->at], -part->center), {part->column == column ? 1 : 0, 0}};
	for (int k = 1; k < part->width; k++)
	{
		numbers[k] = multiply(numbers[k - 1], numbers[0]);
		numbers[k].feature = k * stride;
	}
	return part->width;
}

/* Computes the products of a term's parts in place, as expand_term() of design.c does. Returns their number. */
static int
expand_term(const GrDesignTerm *term, int first, int column, const double *values, GrDual *into)
{
	int			stride = 1;
	int			n = 1;

	into[0] = (GrDual) {first, {1, 0}, {0, 0}};
	for (int i = 0; i < term->nparts; i++)
	{
		GrDual		numbers[GR_POLY_DEGREE_MAX];
		int			nnumbers = list_numbers(&term->part[i], stride, column, values, numbers);

		for (int j = nnumbers - 1; j >= 0; j--)
			for (int k = 0; k < n; k++)
				into[j * n + k] = multiply(into[k], numbers[j]);
		n *= nnumbers;
		stride *= term->part[i].width;
	}
	return n;
}

int
gr_design_duals(const GrDesign *design, int column, const double *values, GrDual *duals)
{
	int			first = 0;
	int			n = 0;

	for (const GrDesignTerm *term = design->terms; term < design->terms + design->nterms; term++)
	{
		n += expand_term(term, first, column, values, duals + n);
		first += term->width;
	}
	return n;
}
