/*
 * null.c: the null deviance. If no formula gives it (offsets, or shares of trials), the model with only an intercept is
 * fitted by Newton's method, in passes that form no Hessian. Without an intercept one pass suffices.
 */
#include <math.h>
#include <string.h>

#include "compute/base/dd.h"
#include "compute/glm/glm_row.h"
#include "compute/glm/null.h"
#include "compute/glm/phases.h"
#include "compute/glm/response_unit.h"

/* A step ends the search if half the square of its length lowers the deviance by less than this share. */
#define LOWERS 1e-17

/* Longest step before the minimum is between two intercepts. The limit doubles with each such step. */
#define FIRST_REACH 8.0

#define PASSES_MAX 200

/* A null deviance is not taken from terms that are together this many times as large. */
#define CANCELED_MAX 64

/* Returns the sum of squares left by a linear regression without features, from the pass at 0. */
static double
total_squares(GrGlmFit *fit)
{
	const double *hi = gr_fit_hi(fit);
	const double *lo = gr_fit_lo(fit);
	int64_t		last = gr_at(fit->state->nfull + 1, 0);
	int64_t		diagonal = gr_at(fit->state->nfull + 1, fit->state->nfull + 1);
	int64_t		ones = gr_at(1, 1);
	GrDD		squares = {hi[diagonal], lo[diagonal]};
	GrDD		sum = {hi[last + 1], lo[last + 1]};
	GrDD		weight = {hi[ones], lo[ones]};

	if (fit->state->options.intercept)
		squares = gr_dd_sub(squares, gr_dd_div(gr_dd_mul(sum, sum), weight));
	return fmax(gr_dd_to_double(squares), 0);
}

/* Sets the state's magnitudes of predictors with offsets, and of the terms of a deviance. */
static void
note_magnitudes(GrGlmFit *fit, double sum, double mean)
{
	GrGlmState *state = fit->state;
	GrDistribution distribution = state->options.distribution;
	double		eta = fabs(gr_first_eta(distribution.link, mean));

	eta = isfinite(eta) ? eta : 0;
	state->typical_eta = state->options.shape.offset ? eta : 0;
	/* FAST sums a Poisson loss as mu - y eta, and the part of the responses separately */
	state->deviance_terms = distribution.family == GR_POISSON && isfinite(sum) ? 2 * sum * (1 + eta) : 0;
}

void
gr_null_choose(GrGlmFit *fit)
{
	GrGlmState *state = fit->state;
	const GrGlmOptions *options = &state->options;
	bool		weighted = options->shape.weight;
	double		weights = gr_fit_has_totals(options) ? options->totals->weights : fit->sums[GR_SUM_NROWS];
	double		ones = gr_unit_of_response(fit, gr_fit_has_totals(options) ? options->totals->ones :
										   fit->sums[GR_SUM_NONES]);
	bool		binary = gr_family(options->distribution.family)->is_binary;

	if (!options->intercept)
		state->null_intercept = 0;
	else if (fit->pass.linear && options->shape.offset)
		state->null_intercept = gr_fit_hi(fit)[gr_at(state->nfull + 1, 1)] / gr_fit_hi(fit)[gr_at(1, 1)];
	else if (gr_is_logistic(options->distribution))
		state->null_intercept = log(ones / (weights - ones));
	else
		state->null_intercept = gr_first_eta(options->distribution.link, ones / weights);
	/* the sum of large responses may be infinite; any other intercept will do to begin with */
	if (!binary && !isfinite(state->null_intercept))
		state->null_intercept = gr_first_eta(options->distribution.link, 1);
	note_magnitudes(fit, ones, ones / weights);
	/* with Firth's penalty responses may be of one class; the null deviance is then 0 for any offsets */
	if (options->firth && options->intercept && (ones == 0 || ones == weights))
		fit->null_deviance = 0;
	else if (!binary || options->shape.offset || (options->intercept && weighted && options->totals->nshares > 0) ||
		(!options->intercept && !gr_is_logistic(options->distribution)))
		fit->null_deviance = fit->pass.linear && gr_fit_is_solved_at_zero(options) ? total_squares(fit) : NAN;
	else if (weighted)
		fit->null_deviance = options->intercept ? gr_binomial_null_deviance(weights, ones) :
			fit->sums[GR_SUM_DEVIANCE_HI] + fit->sums[GR_SUM_DEVIANCE_LO];
	else
		fit->null_deviance = options->intercept ? gr_binomial_null_deviance(weights, ones) : 2 * weights * log(2.0);
}

static bool
ask(GrGlmFit *fit)
{
	GrGlmState *state = fit->state;

	memset(state->delta, 0, (size_t) state->nfull * sizeof(double));
	state->delta[0] = state->null_intercept;
	state->null_npasses++;
	gr_fit_ask(fit, GR_PHASE_NULL, GR_PASS_GRADIENT);
	fit->pass.beta = state->delta;
	fit->pass.shift = state->no_shift;
	fit->pass.nfaces = 0;
	return true;
}

/*
 * Sets the null deviance of a fit that started from a sample, from sums that other passes have made. Leaves it unset if
 * there is no formula, or if the formula's terms cancel.
 */
static void
find_by_totals(GrGlmFit *fit)
{
	const GrGlmState *state = fit->state;
	const GrRowTotals *totals = state->options.totals;
	GrFamily	family = state->options.distribution.family;
	double		responses = 0;	/* part of half the deviance that depends on no mean, and the rest */
	double		means = 0;
	double		sum;

	if (!state->unproven || !state->options.intercept || state->options.distribution.exponent != 0)
		return;
	if (family == GR_POISSON)
	{
		responses = totals->losses;
		means = totals->ones * (1 - log(totals->ones / totals->weights));
	}
	else if (family == GR_NEGATIVE_BINOMIAL && (state->negbin.known || !state->options.estimate_theta))
	{
		double		theta = state->options.distribution.theta;
		double		mean = totals->ones / totals->weights;

		responses = state->options.estimate_theta ? state->negbin.losses : totals->losses;
		means = totals->ones * log1p(theta / mean) + theta * totals->weights * log1p(mean / theta);
	}
	else if (family == GR_GAMMA)
	{
		responses = totals->log_constant;
		means = totals->weights * log(totals->ones / totals->weights);
	}
	sum = responses + means;
	if (CANCELED_MAX * sum > fabs(responses) + fabs(means))
		fit->null_deviance = 2 * sum;
}

bool
gr_null_enter(GrGlmFit *fit, const GrHost *host, GrError *err)
{
	GrGlmState *state = fit->state;

	if (isnan(fit->null_deviance))
		find_by_totals(fit);
	if (!isnan(fit->null_deviance) || state->options.skip_null)
		return gr_fit_enter(fit, GR_PHASE_DONE, host, err);
	state->null_low = -INFINITY;
	state->null_high = INFINITY;
	state->null_reach = FIRST_REACH;
	return ask(fit);
}

/*
 * Moves the intercept by a Newton step, or by bisection if the step leaves the bracket. With offsets far apart, a step
 * may be too long by any factor.
 */
static void
move(GrGlmState *state, double gradient, double step)
{
	double		next = state->null_intercept + step;

	*(gradient > 0 ? &state->null_low : &state->null_high) = state->null_intercept;
	if (isfinite(state->null_low) && isfinite(state->null_high))
	{
		if (!(next > state->null_low && next < state->null_high))
			next = 0.5 * (state->null_low + state->null_high);
	}
	else if (!(fabs(step) <= state->null_reach))
	{
		next = state->null_intercept + (gradient > 0 ? state->null_reach : -state->null_reach);
		state->null_reach *= 2;
	}
	state->null_intercept = next;
}

bool
gr_null_take(GrGlmFit *fit, const GrHost *host, GrError *err)
{
	GrGlmState *state = fit->state;
	double		deviance = fit->sums[GR_SUM_DEVIANCE_HI] + fit->sums[GR_SUM_DEVIANCE_LO];
	const double *sums = fit->sums + GR_SUM_HEAD;
	double		gradient = sums[0] + sums[state->nfull];
	double		hessian = sums[2 * state->nfull];
	double		step = gradient / hessian;
	bool		there = !state->options.intercept || gradient == 0 || 0.5 * step * step * hessian <= LOWERS * deviance;
	double		before = state->null_intercept;

	if (!there && state->null_npasses < PASSES_MAX)
	{
		move(state, gradient, step);
		/* the search also ends when the bracket has closed */
		if (state->null_intercept != before)
			return ask(fit);
		there = true;
	}
	fit->null_deviance = there && isfinite(deviance) ? deviance : NAN;
	return gr_fit_enter(fit, GR_PHASE_DONE, host, err);
}
