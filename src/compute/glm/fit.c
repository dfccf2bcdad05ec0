/* fit.c: requests a pass for a phase of a fit; see fit.h. */
#include "compute/glm/fit.h"

#include "compute/glm/glm_row.h"

bool
gr_fit_ask(GrGlmFit *fit, GrGlmPhase phase, GrPassKind kind)
{
	GrGlmState *state = fit->state;

	(void) gr_fit_set_phase(fit, phase);
	fit->pass.kind = kind;
	fit->pass.shape = state->options.shape;
	fit->pass.distribution = state->options.distribution;
	fit->pass.beta = kind == GR_PASS_FACE ? NULL : state->theta;
	fit->pass.shift = state->shift;
	if (kind == GR_PASS_FAST && state->negbin.joint)
		fit->pass.kind = kind = GR_PASS_JOINT;
	fit->pass.measure = kind == GR_PASS_EXACT && state->coarse && state->nfaces == 0 ? GR_MEASURE_COARSE_STEP :
		GR_MEASURE_STEP;
	fit->pass.coarse = false;
	fit->pass.counts = state->options.weighting == GR_FREQUENCIES;
	if (state->observed &&
		(kind == GR_PASS_EXACT ? phase == GR_PHASE_ITERATE : kind == GR_PASS_FAST && state->unproven))
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
