/*
 * design_slopes.c: features with their derivatives: as dual numbers, whose arithmetic has the rules of differentiation
 * in it, in double-double.
 *
 * Of a factor's indicators one is 1 at most, so that a row of a term with factors has as many features other than 0 as
 * its powers make, however many levels there are.
 */
#include "compute/design/design_slopes.h"

/* (a + a' e) (b + b' e), with e^2 = 0 */
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

static bool
is_number(const GrDesignPart *part)
{
	return part->kind == GR_PART_NUMBER || gr_part_is_poly(part);
}

/* The numbers of a part, x, x^2, ... of which one has so many features between it and the next; or its 1 */
static int
list_numbers(const GrDesignPart *part, int stride, int column, const double *values, GrDual *numbers)
{
	int			level;

	if (!is_number(part))
	{
		level = gr_part_indicator(part, values);
		numbers[0] = (GrDual) {level * stride, {1, 0}, {0, 0}};
		return level < 0 ? 0 : 1;
	}
	numbers[0] = (GrDual) {0, gr_two_sum(values[part->at], -part->center), {part->column == column ? 1 : 0, 0}};
	for (int k = 1; k < part->width; k++)
	{
		numbers[k] = multiply(numbers[k - 1], numbers[0]);
		numbers[k].feature = k * stride;
	}
	return part->width;
}

/*
 * The products of a term's parts, in place: those of the parts before become those of one more, from the last of its
 * numbers down to the first, which takes their own place
 */
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
