/*
 * null.c: the null deviance, where no formula has it: with offsets, or shares of trials, the model with the intercept
 * alone is fitted by Newton's method, in passes that form no Hessian; without an intercept one pass tells it.
 */
#include <math.h>
#include <string.h>

#include "compute/glm/phases.h"

/* A step from here on lowers the deviance by less than this share of it: by half the square of its length. */
#define LOWERS 1e-17

/* The longest step where the minimum isn't between two intercepts yet; each further one may be twice as long. */
#define FIRST_REACH 8.0

#define PASSES_MAX 200

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

bool
gr_null_enter(GrGlmFit *fit, const GrHost *host, GrError *err)
{
	GrGlmState *state = fit->state;

	if (!isnan(fit->null_deviance) || state->options.skip_null)
		return gr_fit_enter(fit, GR_PHASE_DONE, host, err);
	state->null_low = -INFINITY;
	state->null_high = INFINITY;
	state->null_reach = FIRST_REACH;
	return ask(fit);
}

/*
 * The next intercept, by Newton's method as long as that stays between those on either side of the minimum: where
 * offsets lie far apart, a step may be longer by any factor than the way.
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
		/* nor where the two sides have met */
		if (state->null_intercept != before)
			return ask(fit);
		there = true;
	}
	fit->null_deviance = there && isfinite(deviance) ? deviance : NAN;
	return gr_fit_enter(fit, GR_PHASE_DONE, host, err);
}
