/*
 * combination.c: the standard error of a linear combination of a model's coefficients, summed up in double-double: all
 * that is lost where covariances cancel is what rounding them to float8 took.
 */
#include "postgres.h"

#include <limits.h>
#include <math.h>

#include "run/args.h"
#include "sql/combination.h"

/*
 * Makes variances 1 to 4, by powers of two that go into x, and then x less than 2 in magnitude. unit: what a covariance
 * is to be multiplied by, for its row and for its column; *exponent: of the power of two that x was divided by. False
 * if a value has a variance that is none.
 */
static bool
scale_values(const double *vcov, int nterms, GrDD *x, double *unit, int *exponent)
{
	int			largest = INT_MIN;

	for (int k = 0; k < nterms; k++)
	{
		double		variance = vcov[(Size) k * nterms + k];
		int			half;

		unit[k] = 1;
		if (x[k].hi == 0)
			continue;
		if (!(variance >= 0 && isfinite(variance)))
			return false;
		half = variance > 0 ? (int) floor(0.5 * ilogb(variance)) : 0;
		unit[k] = ldexp(1.0, -half);
		largest = Max(largest, ilogb(x[k].hi) + half);
		gr_poll_loop(k);
	}
	*exponent = largest == INT_MIN ? 0 : largest;
	for (int k = 0; k < nterms; k++)
	{
		int			shift = -ilogb(unit[k]) - *exponent;

		x[k] = (GrDD) {ldexp(x[k].hi, shift), ldexp(x[k].lo, shift)};
		gr_poll_loop(k);
	}
	return true;
}

/* x' V x of the lower triangle */
static double
quadratic_form(const double *vcov, int nterms, const GrDD *x, const double *unit)
{
	GrDD		sum = gr_dd(0);
	int64		n = 0;

	for (int i = 0; i < nterms; i++)
	{
		const double *row = vcov + (Size) i * nterms;
		GrDD		part = gr_dd(0);

		gr_poll_loop(n++);
		if (x[i].hi == 0)
			continue;
		for (int j = 0; j < i; j++)
		{
			if (x[j].hi != 0)
				part = gr_dd_add(part, gr_dd_mul_d(x[j], row[j] * unit[i] * unit[j]));
			gr_poll_loop(n++);
		}
		part = gr_dd_add(gr_dd_scale(part, 2), gr_dd_mul_d(x[i], row[i] * unit[i] * unit[i]));
		sum = gr_dd_add(sum, gr_dd_mul(part, x[i]));
	}
	return gr_dd_to_double(sum);
}

bool
gr_combination_error(const double *vcov, int nterms, GrDD *x, double *error)
{
	double	   *unit = palloc_extended(nterms * sizeof(double), MCXT_ALLOC_HUGE);
	double		square = NAN;
	int			exponent = 0;

	if (scale_values(vcov, nterms, x, unit, &exponent))
		square = quadratic_form(vcov, nterms, x, unit);
	pfree(unit);
	/* negative where rounding left the covariances no digit, or where they are none; NaN where some aren't known */
	if (!(square >= 0 && isfinite(square)))
		return false;
	*error = ldexp(sqrt(square), exponent);
	return true;
}
