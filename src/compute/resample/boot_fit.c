/*
 * boot_fit.c: connects a finished GLM fit with a bootstrap; see boot_fit.h.
 */
#include "compute/resample/boot_fit.h"

#include <string.h>

#include "compute/base/dd.h"
#include "compute/glm/fit.h"
#include "compute/glm/terms.h"

bool
gr_boot_begin(GrBootPass *pass, GrGlmFit *fit, double *factor)
{
	GrGlmState *state = fit->state;

	if (!state->have_factor || fit->nseparated > 0)
		return false;
	*pass = (GrBootPass) {
		.shape = state->options.shape,.distribution = state->options.distribution,.beta = state->theta,
		.beta_lo = state->delta,.shift = state->shift,.factor = factor,.triangle = state->factor
	};
	pass->nactive = gr_boot_factor(state->factor, state->nfull, factor);
	return true;
}

void
gr_boot_to_model(const GrGlmFit *fit, double *delta, double *lo)
{
	const GrGlmState *state = fit->state;
	GrDD		intercept = gr_dd(delta[0]);

	for (int j = 1; j < state->nfull; j++)
	{
		intercept = gr_dd_sub(intercept, gr_two_prod(delta[j], state->shift[j - 1]));
		lo[j] = 0;
	}
	delta[0] = intercept.hi;
	lo[0] = intercept.lo;
	gr_terms_to_model(fit, delta, lo);
	memmove(delta, delta + state->first, (size_t) fit->nterms * sizeof(double));
}

void
gr_boot_influence(const GrGlmFit *fit, const GrBootPass *pass, double *influence, double *work)
{
	int			t = fit->state->nfull;

	for (int j = 0; j < pass->nactive; j++)
	{
		memcpy(work, pass->factor + (size_t) j * t, (size_t) t * sizeof(double));
		gr_boot_to_model(fit, work, work + t);
		for (int k = 0; k < fit->nterms; k++)
			influence[(size_t) k * pass->nactive + j] = work[k];
	}
}
