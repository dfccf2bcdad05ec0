/*
 * fit.c: the machine of a logistic fit, over whatever table of phases it was begun with; see fit.h.
 */
#include "compute/glm/fit.h"

#include "compute/glm/glm_row.h"

GrGlmWant
gr_glm_next(GrGlmFit *fit)
{
	return fit->state->phases[fit->state->phase].want;
}

bool
gr_glm_advance(GrGlmFit *fit, const GrHost *host, GrError *err)
{
	return gr_fit_hand_on(fit, fit->state->phase, host, err);
}

bool
gr_fit_ask(GrGlmFit *fit, GrGlmPhase phase, GrPassKind kind)
{
	GrGlmState *state = fit->state;

	state->phase = phase;
	fit->pass.kind = kind;
	fit->pass.shape = state->options.shape;
	fit->pass.distribution = state->options.distribution;
	fit->pass.beta = kind == GR_PASS_FACE ? NULL : state->theta;
	fit->pass.shift = state->shift;
	fit->pass.measure = kind == GR_PASS_EXACT && state->coarse && state->nfaces == 0 ? GR_MEASURE_COARSE_STEP :
		GR_MEASURE_STEP;
	fit->pass.counts = state->options.weighting == GR_FREQUENCIES;
	if (phase == GR_PHASE_ITERATE && kind == GR_PASS_EXACT && state->observed)
		fit->pass.measure = GR_MEASURE_OBSERVED;
	fit->pass.nfaces = state->nfaces + (kind == GR_PASS_FACE ? 1 : 0);
	fit->pass.faces = state->faces;
	fit->pass.face_absolute = state->face_absolute;
	fit->pass.face_relative = gr_face_rounding(state->options.shape.nfeatures);
	fit->pass.linear = phase == GR_PHASE_ZERO && kind == GR_PASS_EXACT &&
		(state->options.shape.offset || !gr_is_logistic(state->options.distribution));
	gr_pass_clear(kind, state->options.shape.nfeatures, fit->sums);
	return true;
}

bool
gr_fit_enter(GrGlmFit *fit, GrGlmPhase phase, const GrHost *host, GrError *err)
{
	GrPhaseFunction *enter = fit->state->phases[phase].enter;

	fit->state->phase = phase;
	return enter == NULL || enter(fit, host, err);
}

bool
gr_fit_hand_on(GrGlmFit *fit, GrGlmPhase phase, const GrHost *host, GrError *err)
{
	GrPhaseFunction *take = fit->state->phases[phase].take;

	fit->state->phase = phase;
	return take == NULL || take(fit, host, err);
}

bool
gr_fit_end(GrGlmFit *fit, bool converged, bool have_sums, const GrHost *host, GrError *err)
{
	fit->converged = converged;
	fit->state->have_sums = have_sums;
	return gr_fit_enter(fit, GR_PHASE_PLACE, host, err);
}

double
gr_fit_deviance(const GrGlmFit *fit)
{
	const GrGlmState *state = fit->state;
	double		sum = 0;

	for (int j = 1; j < state->nfull; j++)
		sum += state->theta[j] * state->theta[j];
	return fit->sums[GR_SUM_DEVIANCE_HI] + state->penalty + (state->options.l2 == 0 ? 0 : state->options.l2 * sum);
}
