/* response_unit.c: chooses the unit of the response in which a fit computes; see response_unit.h. */
#include "compute/glm/response_unit.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "compute/base/dd.h"
#include "compute/glm/phases.h"
#include "compute/linear/variance.h"

/* Limit of choices of a unit: sums that over- or underflow tell little. */
#define CHOICES_MAX 3

/* Exponent that is tried if sums only tell that responses are far off. */
#define FAR_EXPONENT 600

/* log2 that stands for an infinite sum of finite responses. */
#define LARGEST_EXPONENT 1010

/* A smaller sum of squares has lost digits in double-double; see ols.c. */
#define LEAST_SQUARES 2.9e-275

/* Units that differ by at most this many powers of two are equally good. */
#define NEAR_EXPONENT 8

/* log(2) */
static const GrDD log_2 = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};

/* True if the fit may compute in another unit than the response's own. */
static bool
has_unit(const GrGlmState *state)
{
	const GrGlmOptions *options = &state->options;

	return gr_family(options->distribution.family)->has_exponent && !options->want_factor && !options->is_sample &&
		(options->distribution.link == GR_LOG ? options->intercept : !options->shape.offset);
}

/*
 * True if the response's own unit is good enough. exponent: log2 of responses. Sums hold squares of gaussian and gamma
 * responses or of their inverses, and fourth powers with gaussian/inverse. The first least-squares fit of the gaussian
 * family replaces a response that is no mean by a mean of 1 (has_strangers), and that of counts adds 0.1.
 */
static bool
is_own_unit(GrDistribution distribution, int exponent, bool has_strangers)
{
	if (gr_is_linear(distribution))
		return abs(exponent) <= 400;
	if (gr_family(distribution.family)->least_squares)
		return abs(exponent) <= (has_strangers ? 3 : 30);
	return exponent <= 64 && exponent >= (distribution.family == GR_POISSON ? -20 : -64);
}

/* Returns the |log2| of responses beyond which sums leave float8's range in a fit without another unit. */
static int
widest_exponent(GrDistribution distribution)
{
	if (gr_family(distribution.family)->least_squares)
		return distribution.link == GR_INVERSE ? 220 : 440;
	return distribution.family == GR_GAMMA && distribution.link != GR_LOG ? 440 : 900;
}

/*
 * Computes the log2 of typical responses in their own unit. Returns false if the sums do not tell. For a linear
 * regression the sum of squares tells, whatever the signs; with other links means have one sign.
 */
static bool
response_exponent(GrGlmFit *fit, int *exponent)
{
	const GrGlmState *state = fit->state;
	GrDistribution distribution = state->options.distribution;
	double		sum = isnan(fit->sums[GR_SUM_NONES]) ? INFINITY : fit->sums[GR_SUM_NONES];
	double		mean = fabs(sum) / fit->sums[GR_SUM_NROWS];
	double		square = gr_fit_hi(fit)[gr_at(state->nfull + 1, state->nfull + 1)] / gr_fit_hi(fit)[gr_at(1, 1)];

	if (gr_is_linear(distribution))
	{
		if (isfinite(square) && square > LEAST_SQUARES)
		{
			*exponent = ilogb(sqrt(square)) - distribution.exponent;
			return true;
		}
		/* responses of both signs; if all are 0, the sum of squares is 0 in the next unit too, which ends the search */
		if (mean == 0 && has_unit(state) && (state->nunits == 0 || !isfinite(square)))
		{
			*exponent = isfinite(square) ? -FAR_EXPONENT : FAR_EXPONENT;
			return true;
		}
	}
	*exponent = isfinite(mean) ? ilogb(mean) : LARGEST_EXPONENT;
	return mean != 0;
}

/*
 * True if the first least-squares fit may have replaced responses that are no means. Without weights, the sum of the
 * first means shows that.
 */
static bool
has_strangers(GrGlmFit *fit)
{
	const GrGlmState *state = fit->state;
	double		first = gr_fit_hi(fit)[gr_at(1, 0)];
	double		own = gr_unit_of_response(fit, fit->sums[GR_SUM_NONES]);

	if (!gr_family(state->options.distribution.family)->least_squares || state->options.distribution.link != GR_LOG)
		return false;
	return state->options.shape.weight || !(fabs(first - own) <= 1e-9 * fabs(first));
}

/* Exponents of the powers of two from computed to reported coefficients and deviances. */
typedef struct Powers
{
	int			coef;
	int			deviance;
} Powers;

static Powers
powers_of(GrDistribution distribution)
{
	int			k = distribution.exponent;
	Powers		powers;

	powers.coef = distribution.link == GR_IDENTITY ? -k : distribution.link == GR_INVERSE ? k :
		distribution.link == GR_SQRT ? -k / 2 : 0;
	powers.deviance = -gr_family(distribution.family)->deviance_power * k;
	return powers;
}

/*
 * Sets the unit to 2^exponent and converts the penalty, which is in units of half a deviance per squared coefficient.
 */
static bool
set_unit(GrGlmState *state, int exponent, GrError *err)
{
	GrGlmOptions *options = &state->options;
	Powers		before = powers_of(options->distribution);
	Powers		powers;

	options->distribution.exponent = exponent;
	powers = powers_of(options->distribution);
	if (options->l2 > 0)
	{
		options->l2 = ldexp(options->l2, 2 * (powers.coef - before.coef) - (powers.deviance - before.deviance));
		/* a penalty too small for float8 is negligible, but must stay positive to keep all terms estimable */
		options->l2 = fmax(options->l2, DBL_MIN);
	}
	state->nunits++;
	return isfinite(options->l2) || gr_fail(err, GR_OUT_OF_RANGE, gr_response_at(options->shape), "%s", "");
}

bool
gr_unit_choose(GrGlmFit *fit, bool *again, GrError *err)
{
	GrGlmState *state = fit->state;
	GrDistribution distribution = state->options.distribution;
	int			exponent;

	*again = false;
	if (!gr_family(distribution.family)->has_exponent || fit->sums[GR_SUM_NROWS] == 0 || state->nunits == CHOICES_MAX ||
		!response_exponent(fit, &exponent))
		return true;
	if (!has_unit(state))
		return abs(exponent) <= widest_exponent(distribution) ||
			gr_fail(err, GR_OUT_OF_RANGE, gr_response_at(state->options.shape), "%s", "");
	if (is_own_unit(distribution, exponent, has_strangers(fit)) && distribution.exponent == 0)
		return true;
	exponent = -exponent;
	if (abs(exponent) > GR_EXPONENT_MAX)
		exponent = exponent > 0 ? GR_EXPONENT_MAX : -GR_EXPONENT_MAX;
	/* even, as coefficients scale with the square root of the unit if the link is sqrt */
	exponent -= exponent % 2;
	if (abs(exponent - distribution.exponent) <= NEAR_EXPONENT)
		return true;
	*again = true;
	return set_unit(state, exponent, err);
}

double
gr_unit_of_response(const GrGlmFit *fit, double y)
{
	return gr_response_in_unit(fit->state->options.distribution, y);
}

/* True if row and column `row` of a packed triangle have a nonzero entry besides the diagonal. */
static bool
has_entries(const double *hi, int norder, int row)
{
	for (int k = 0; k < norder; k++)
		if (k != row && hi[k < row ? gr_packed(row, k) : gr_packed(k, row)] != 0)
			return true;
	return false;
}

bool
gr_unit_check_squares(const double *hi, GrRowShape shape, GrError *err)
{
	int			norder = gr_norder(shape.nfeatures) + 1;

	for (int row = 1; row < norder; row++)
	{
		int64_t		column = gr_column_of_row(GR_ROWS_PASS, row);

		/* the diagonal of the intercept is the sum of the rows' weights */
		if (row == 1)
			column = shape.weight ? gr_weight_at(shape) : gr_response_at(shape);
		if (hi[gr_packed(row, row)] >= (row == 1 ? LEAST_SQUARES : DBL_TRUE_MIN) || !has_entries(hi, norder, row))
			continue;
		return gr_fail(err, GR_OUT_OF_RANGE, column, "%s", "");
	}
	return true;
}

/*
 * The end
 */

/*
 * Multiplies a result by 2^exponent. Returns false if the fit has converged and the product leaves float8's range;
 * *value is then 0, subnormal or infinite.
 */
static bool
convert(const GrGlmFit *fit, double *value, int exponent)
{
	double		before = *value;

	*value = ldexp(before, exponent);
	return !fit->converged || isnan(before) || before == 0 || (isfinite(*value) && fabs(*value) >= DBL_MIN);
}

/* Converts a deviance or another sum of squares. If it is rounding error, as in a perfect fit, it may underflow. */
static bool
convert_squares(const GrGlmFit *fit, double *value, int exponent, GrError *err)
{
	bool		is_rounding = gr_is_perfect(*value, fit->state->size, false);

	return convert(fit, value, exponent) || (is_rounding && isfinite(*value)) ||
		gr_fail(err, GR_OUT_OF_RANGE, gr_response_at(fit->state->options.shape), "%s", "");
}

static bool
convert_coefficients(GrGlmFit *fit, Powers powers, GrError *err)
{
	const GrGlmState *state = fit->state;
	GrDistribution distribution = state->options.distribution;

	for (int k = 0; k < fit->nterms; k++)
	{
		if (convert(fit, &fit->coef[k], powers.coef))
			continue;
		if (err->status == GR_OK)
			err->value = fit->coef[k];
		return gr_fail(err, GR_RESULT_OUT_OF_RANGE, gr_column_of_row(GR_ROWS_TERMS, k + state->first), "coefficient");
	}
	if (distribution.link == GR_LOG && distribution.exponent != 0)
		fit->coef[0] = gr_dd_to_double(gr_dd_sub(gr_dd(fit->coef[0]), gr_dd_mul_d(log_2, distribution.exponent)));
	return true;
}

bool
gr_done_enter(GrGlmFit *fit, const GrHost *host, GrError *err)
{
	const GrGlmState *state = fit->state;
	Powers		powers = powers_of(state->options.distribution);

	(void) host;
	/* an unmovable fit or a sample's fit reports nothing */
	if (fit->unmovable || state->options.is_sample)
		return true;
	if (!convert_squares(fit, &fit->deviance, powers.deviance, err) ||
		!convert_squares(fit, &fit->null_deviance, powers.deviance, err) ||
		!convert_squares(fit, &fit->pearson, powers.deviance, err) || !convert_coefficients(fit, powers, err))
		return false;
	for (int64_t k = 0; fit->have_bread && k < gr_triangle(fit->nterms); k++)
		fit->bread[k] = ldexp(fit->bread[k], 2 * powers.coef - powers.deviance);
	fit->vcov_exponent = 2 * powers.coef - (state->options.vcov == GR_VCOV_IID ? powers.deviance : 0);
	return true;
}
