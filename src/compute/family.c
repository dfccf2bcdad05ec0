/*
 * family.c: what is required of rows, and what a log-likelihood takes of them; see family.h.
 */
#include "compute/family.h"

#include <math.h>
#include <string.h>

#include "compute/dd.h"

/* Of rows with finite numbers: response and weight, one after the other */
static bool
one_valid(const double *response, GrRowShape shape, GrRowRules rules, GrError *err)
{
	double		y = response[0];
	double		weight = shape.weight ? response[1] : 1.0;
	bool		trials = shape.weight && rules.weighting == GR_PRIOR_WEIGHTS;

	if (rules.family == GR_BINOMIAL && y != 0.0 && y != 1.0 && !(trials && y > 0.0 && y < 1.0))
	{
		err->value = y;
		return gr_fail(err, trials ? GR_NOT_A_SHARE : GR_NOT_BINARY, gr_response_at(shape), "%s", "");
	}
	if (weight < 0.0 || (rules.weighting == GR_FREQUENCIES && weight != floor(weight)))
	{
		err->value = weight;
		return gr_fail(err, rules.weighting == GR_FREQUENCIES ? GR_NOT_A_COUNT : GR_NEGATIVE_WEIGHT,
					   gr_weight_at(shape), "%s", "");
	}
	return true;
}

/* Of single rows, which are looked at as float8 where one of their features may be bad */
static bool
single_rows_valid(const char *rows, int64_t nrows, GrRowShape shape, GrRowRules rules, GrError *err)
{
	size_t		row_nbytes = gr_row_nbytes(shape);
	int			nrest = gr_row_ncols(shape) - shape.nfeatures;

	for (int64_t r = 0; r < nrows; r++, rows += row_nbytes)
	{
		const float *features = (const float *) rows;
		float		acc = 0;
		double		rest[3];

		memcpy(rest, features + shape.nfeatures, (size_t) nrest * sizeof(double));
		/* v * 0 is 0 for finite v and NaN otherwise */
		for (int j = 0; j < shape.nfeatures; j++)
			acc += features[j] * 0.0f;
		if (acc != 0.0f)
			for (int j = 0; j < shape.nfeatures; j++)
				if (!isfinite(features[j]))
					return gr_fail(err, GR_NOT_FINITE, j, "%s", "");
		for (int k = 0; k < nrest; k++)
			if (!isfinite(rest[k]))
				return gr_fail(err, GR_NOT_FINITE, shape.nfeatures + k, "%s", "");
		if (!one_valid(rest, shape, rules, err))
			return false;
	}
	return true;
}

bool
gr_rows_valid(const void *rows, int64_t nrows, GrRowShape shape, GrRowRules rules, GrError *err)
{
	const double *response = (const double *) rows + gr_response_at(shape);
	int			stride = gr_row_ncols(shape);
	bool		any = rules.family == GR_GAUSSIAN && !shape.weight;	/* any response will do */
	int			column;

	if (shape.single)
		return single_rows_valid(rows, nrows, shape, rules, err);
	if (!gr_all_finite(rows, nrows, stride, &column))
		return gr_fail(err, GR_NOT_FINITE, column, "%s", "");
	for (int64_t r = 0; !any && r < nrows; r++, response += stride)
	{
		bool		classed = *response == 0.0 || *response == 1.0;

		if (!(classed && !shape.weight) && !one_valid(response, shape, rules, err))
			return false;
	}
	return true;
}

/*
 * Totals
 */

#define HALF_LOG_2PI 0.91893853320467274178

/* log of x! less Stirling's formula for it, sqrt(2 pi x) (x / e)^x; x > 0, whole or not */
static double
stirling_error(double x)
{
	double		r = 1.0 / (x * x);

	if (x <= 15.0)
		return lgamma(x + 1.0) - (x + 0.5) * log(x) + x - HALF_LOG_2PI;
	return (1.0 / 12 - (1.0 / 360 - (1.0 / 1260 - (1.0 / 1680 -
												   (1.0 / 1188 - 691.0 / 360360 * r) * r) * r) * r) * r) / x;
}

/*
 * log of the probability of a share y of n trials where the mean is y: Loader's (2000), without large terms that cancel
 */
static double
log_saturated(double y, double n)
{
	if (y == 0.0 || y == 1.0)
		return 0.0;
	return stirling_error(n) - stirling_error(n * y) - stirling_error(n * (1.0 - y)) -
		HALF_LOG_2PI - 0.5 * log(n * y * (1.0 - y));
}

static void
add_constant(GrRowTotals *totals, GrDD term)
{
	GrDD		sum = {totals->log_constant, totals->log_constant_lo};

	sum = gr_dd_add(sum, term);
	totals->log_constant = sum.hi;
	totals->log_constant_lo = sum.lo;
}

void
gr_totals_add(GrRowTotals *totals, const void *rows, int64_t nrows, GrRowShape shape, GrRowRules rules)
{
	size_t		row_nbytes = gr_row_nbytes(shape);
	const char *at = (const char *) rows + (shape.single ? sizeof(float) : sizeof(double)) * (size_t) shape.nfeatures;

	for (int64_t r = 0; r < nrows; r++, at += row_nbytes)
	{
		double		rest[2];	/* response, weight */

		memcpy(rest, at, sizeof(rest));
		totals->weights += rest[1];
		totals->ones += rest[1] * rest[0];
		totals->nshares += rest[0] != 0.0 && rest[0] != 1.0 ? 1.0 : 0.0;
		if (rules.weighting == GR_PRIOR_WEIGHTS)
			add_constant(totals, gr_dd(rules.family == GR_GAUSSIAN ? 0.5 * log(rest[1]) :
									   log_saturated(rest[0], rest[1])));
	}
}

void
gr_totals_merge(GrRowTotals *totals, const GrRowTotals *other)
{
	GrDD		constant = {other->log_constant, other->log_constant_lo};

	totals->weights += other->weights;
	totals->ones += other->ones;
	totals->nshares += other->nshares;
	add_constant(totals, constant);
}

bool
gr_has_both_classes(double nrows, double nones, GrError *err)
{
	if (nrows == 0)
		return gr_fail(err, GR_INVALID, 0, "there are no rows");
	if (nones == 0 || nones == nrows)
	{
		err->value = nones == 0 ? 0 : 1;
		return gr_fail(err, GR_ONE_CLASS, 0, "%s", "");
	}
	return true;
}

const char *
gr_family_method(GrFamily family)
{
	static const char *const methods[] = {[GR_GAUSSIAN] = "ols",[GR_BINOMIAL] = "logistic"};

	return methods[family];
}

double
gr_family_mean(GrFamily family, double eta)
{
	double		t;

	if (family == GR_GAUSSIAN)
		return eta;
	t = exp(-fabs(eta));
	return eta >= 0 ? 1.0 / (1.0 + t) : t / (1.0 + t);
}

double
gr_binomial_null_deviance(double weights, double ones)
{
	double		zeros = weights - ones;

	/* log(weights / ones) and log(weights / zeros), good where either is near 0 */
	return 2 * (ones * log1p(zeros / ones) + zeros * log1p(ones / zeros));
}

double
gr_log_likelihood(GrFamily family, double deviance, double nobs, double log_constant)
{
	/* a mean square must not lose digits below float8's range, where the sum of squares is within it */
	double		unit = deviance > 0 && deviance < 1e-280 ? 0x1p200 : 1.0;

	if (family == GR_GAUSSIAN)
		return log_constant - 0.5 * nobs * (log(2 * M_PI) + (log(deviance * unit / nobs) - log(unit)) + 1);
	return log_constant - 0.5 * deviance;
}
