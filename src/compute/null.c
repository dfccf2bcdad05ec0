/*
 * null.c: the null deviance, where no formula has it: with offsets, or shares of trials, the model with the intercept
 * alone is fitted by Newton's method, in passes that form no Hessian; without an intercept one pass tells it.
 */
#include <math.h>
#include <string.h>

#include "compute/phases.h"

/* A step from here on lowers the deviance by less than this share of it: by half the square of its length. */
#define LOWERS 1e-17

#define PASSES_MAX 50

static bool
ask(GrLogregFit *fit)
{
	GrLogregState *state = fit->state;

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
gr_null_enter(GrLogregFit *fit, const GrHost *host, GrError *err)
{
	if (!isnan(fit->null_deviance) || fit->state->options.skip_null)
		return gr_fit_enter(fit, GR_PHASE_DONE, host, err);
	fit->state->null_deviance = INFINITY;
	return ask(fit);
}

bool
gr_null_take(GrLogregFit *fit, const GrHost *host, GrError *err)
{
	GrLogregState *state = fit->state;
	double		deviance = fit->sums[GR_SUM_DEVIANCE_HI] + fit->sums[GR_SUM_DEVIANCE_LO];
	const double *gradient = fit->sums + GR_SUM_HEAD;
	double		step = (gradient[0] + gradient[state->nfull]) / gradient[2 * state->nfull];

	/* a step too long is halved, but what rounding makes of the deviance is no reason */
	if (!(deviance <= state->null_deviance * (1 + 1e-13)) && state->null_npasses < PASSES_MAX)
	{
		state->null_intercept = 0.5 * (state->null_intercept + state->null_before);
		return ask(fit);
	}
	fit->null_deviance = deviance;
	if (!state->options.intercept || !isfinite(step) ||
		0.5 * step * step * gradient[2 * state->nfull] <= LOWERS * deviance ||
		state->null_npasses >= PASSES_MAX)
		return gr_fit_enter(fit, GR_PHASE_DONE, host, err);
	state->null_before = state->null_intercept;
	state->null_deviance = deviance;
	state->null_intercept += step;
	return ask(fit);
}
