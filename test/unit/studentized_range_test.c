/*
 * studentized_range_test.c: tests probabilities and quantiles of the studentized range against scipy 1.17's
 * studentized_range.sf() and .isf(), and those of two means against Student's t.
 */
#include <math.h>

#include "compute/dist/inference.h"
#include "compute/dist/studentized_range.h"
#include "unit.h"

typedef struct Value
{
	double		q;
	double		k;
	double		df;
	double		upper;
	double		quantile;		/* of 0.05 */
} Value;

static const Value values[] = {
	{3.5, 3, 10, 0.07710331083841038, 3.876776750013158},
	{3.5, 3, INFINITY, 0.03555704186316044, 3.314493155398122},
	{5, 10, 5, 0.16665150236142667, 6.994697767888188},
	{2, 4, 2, 0.5954471733719189, 9.798045034631867},
	{8, 4, 60, 2.691998348680613e-06, 3.7370892256353088},
	{1, 50, 40, 0.9999999999999999, 6.112306361847675},
	{6, 20, 1000, 0.00389545257868662, 5.025347011084763},
	{4.5, 6, 25, 0.040120840301351546, 4.358302701144883},
};

static bool
near(double got, double want, double tolerance)
{
	return fabs(got - want) <= tolerance * fabs(want);
}

int
main(void)
{
	static const double t[] = {0.1, 1, 2.5, 10, 40};

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
	{
		const Value *v = &values[i];

		check(near(gr_range_upper(v->q, v->k, v->df), v->upper, 1e-8), "P(Q > %g), %g means, %g degrees",
			  v->q, v->k, v->df);
		check(near(gr_range_upper_quantile(0.05, v->k, v->df), v->quantile, 1e-9), "quantile of %g means, %g degrees",
		   v->k, v->df);
	}
	for (int i = 0; i < 5; i++)
		for (double df = 1; df < 2000; df *= 7)
			check(near(gr_range_upper(M_SQRT2 * t[i], 2, df), gr_t_two_sided(t[i], df), 1e-11),
				  "two means: t of %g, %g", t[i], df);
	check(near(gr_range_upper(M_SQRT2 * 3, 2, INFINITY), gr_normal_two_sided(3), 1e-13), "two means: the normal");
	check(gr_range_upper(0, 3, 5) == 1 && gr_range_upper(-1, 3, 5) == 1 && gr_range_upper(INFINITY, 3, 5) == 0,
	   "ends");
	check(gr_range_upper(1e9, 5, 1e6) == 0, "no probability");
	check(isnan(gr_range_upper(1, 1, 5)) && isnan(gr_range_upper(1, 3, 0)) && isnan(gr_range_upper(NAN, 3, 5)) &&
	   isnan(gr_range_upper(1, 3, NAN)) && isnan(gr_range_upper_quantile(0, 3, 5)) &&
	   isnan(gr_range_upper_quantile(1, 3, 5)) && isnan(gr_range_upper_quantile(0.5, INFINITY, 5)), "domain");
	return unit_done();
}
