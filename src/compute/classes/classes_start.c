/*
 * classes_start.c: shift, spread and collinear terms from the first pass of a model of classes; see classes_start.h.
 */
#include "compute/classes/classes_start.h"

#include <math.h>

/* Share below which a pivot makes all passes exact. */
#define NEAR_COLLINEAR 1e-8

/* Moves the sums of the first pass to terms about the means, and measures the spread of each term. */
static bool
shift_sums(GrClassesStart *s, GrDD *gram, GrDD *of_class, GrError *err)
{
	GrDD		weight = *gr_classes_entry(gram, 0, 0);

	for (int a = 0; a < s->t; a++)
		if (!isfinite(gr_classes_entry(gram, a, a)->hi))
			return gr_fail(err, GR_OUT_OF_RANGE, a - 1, "sums of squares");
	for (int a = 1; a < s->t && s->intercept; a++)
		s->shift[a - 1] = gr_classes_entry(gram, a, 0)->hi / weight.hi;
	for (int a = s->t - 1; a >= 1; a--)
	{
		GrDD		own = *gr_classes_entry(gram, a, a);
		double		c = s->shift[a - 1];

		/* entries of the first column are moved last, as the others need them */
		for (int b = a; b >= 1; b--)
		{
			double		d = s->shift[b - 1];
			GrDD	   *e = gr_classes_entry(gram, a, b);

			*e = gr_dd_sub(*e, gr_dd_mul_d(*gr_classes_entry(gram, b, 0), c));
			*e = gr_dd_sub(*e, gr_dd_mul_d(*gr_classes_entry(gram, a, 0), d));
			*e = gr_dd_add(*e, gr_dd_mul_d(gr_dd_mul_d(weight, c), d));
		}
		s->aliased[a] = gr_classes_entry(gram, a, a)->hi <= GR_ROUNDING_TOLERANCE * own.hi;
	}
	for (int a = 1; a < s->t; a++)
	{
		*gr_classes_entry(gram, a, 0) = gr_dd_sub(*gr_classes_entry(gram, a, 0), gr_dd_mul_d(weight, s->shift[a - 1]));
		for (int k = 0; k < s->nclasses; k++)
			of_class[k * s->t + a] = gr_dd_sub(of_class[k * s->t + a],
											   gr_dd_mul_d(of_class[k * s->t], s->shift[a - 1]));
		s->spread[a] = sqrt(fmax(gr_classes_entry(gram, a, a)->hi, 0) / weight.hi);
	}
	s->spread[0] = 1;
	s->aliased[0] = !s->intercept;
	return true;
}

/* Finds the collinear terms of a predictor. */
static bool
find_aliased(GrClassesStart *s, GrDD *gram, const GrHost *host, GrError *err)
{
	GrNormalFit normal = {
		.nterms = s->t,.aliased = s->aliased,.coef = s->coef,.pivot = s->pivot,.tolerance = GR_ALIAS_TOLERANCE,
		.rows = GR_ROWS_TERMS
	};
	GrDDVector	v = s->triangle;

	for (int a = 0; a <= s->t; a++)
		for (int b = 0; b <= a; b++)
			gr_dd_set(v, gr_packed(a, b), a == s->t ? gr_dd(0) : *gr_classes_entry(gram, a, b));
	if (!gr_normal_solve((GrDDConstVector) {v.hi, v.lo}, s->workspace, &normal, host, err))
		return false;
	s->rank = normal.rank;
	for (int a = 0; a < s->t; a++)
		s->near_collinear |= !s->aliased[a] && s->pivot[a] < NEAR_COLLINEAR;
	return true;
}

bool
gr_classes_start(GrClassesStart *start, GrDD *gram, GrDD *of_class, const GrHost *host, GrError *err)
{
	start->near_collinear = false;
	return shift_sums(start, gram, of_class, err) && find_aliased(start, gram, host, err);
}
