/*
 * firth.c: logistic regression with Firth's penalty; see firth.h.
 */
#include "compute/glm/firth.h"

#include <math.h>
#include <string.h>

#include "compute/glm/sandwich.h"

bool
gr_firth_ask(GrGlmFit *fit, const GrHost *host, GrError *err)
{
	GrGlmState *state = fit->state;
	double		log_determinant = 0;

	if (!gr_sandwich_factor(fit, host, err))
	{
		if (err->status != GR_OUT_OF_RANGE)
			return false;
		/* weights left float8's range: no estimate is that far out */
		memset(err, 0, sizeof(*err));
		log_determinant = -INFINITY;
		memset(state->factor, 0, (size_t) gr_triangle(state->nfull) * sizeof(double));
	}
	for (int k = 0; k < fit->nterms; k++)
	{
		int64_t		diagonal = gr_at(k + state->first + 1, k + state->first + 1);

		if (!state->aliased[k])
			log_determinant += state->frozen[k] ? -INFINITY : log(state->pivot[k]) + log(gr_fit_hi(fit)[diagonal]);
	}
	state->penalty = -log_determinant;
	gr_fit_ask(fit, state->phase, GR_PASS_EXACT);
	fit->pass.measure = GR_MEASURE_FIRTH;
	fit->pass.factor = state->factor;
	return true;
}
