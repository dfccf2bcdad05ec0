/*
 * start.c: where Newton's method begins when a pass over the rows is dear: at the estimate from a sample of the rows.
 *
 * A sample of m of n independent rows gives an estimate that is off by some sqrt(rank n / m) standard errors of the
 * whole's, where Newton's steps from 0 would take three or four passes to come. A sample that isn't like the whole
 * costs one pass: the start is dropped where it turns out to be worse than Newton's first step is sure to be.
 *
 * A start hides no separation. A direction that separates the whole has no row of the sample on its wrong side, so it
 * separates the sample too, or is 0 on all of it; then the sample has more aliased terms than the whole. Neither gives
 * a start that is used.
 */
#include <math.h>
#include <string.h>

#include "compute/glm_row.h"
#include "compute/phases.h"
#include "compute/terms.h"

/* With fewer steps allowed the caller wants to see them. */
#define MAX_ITER_MIN 8

/*
 * A sample takes this many steps at most, and the last one must be this short, in its own standard errors. Along a
 * direction of separation the margins grow by about 1 a step: the steps' squared lengths are still some exp(-14) and
 * more after twelve.
 */
#define SAMPLE_MAX_ITER 12
#define SAMPLE_TOL 1e-4

bool
gr_logreg_uses_start(const GrLogregOptions *options)
{
	return options->solver == GR_SOLVER_NEWTON && options->max_iter >= MAX_ITER_MIN && !options->shape.offset &&
		!options->firth &&
		gr_is_logistic(options->distribution);
}

GrLogregOptions
gr_logreg_sample(const GrLogregOptions *options, double share)
{
	GrLogregOptions sample = *options;

	sample.l2 = options->l2 * share;
	sample.max_iter = SAMPLE_MAX_ITER;
	sample.tol = SAMPLE_TOL;
	sample.start = NULL;
	sample.linear_solver = NULL;
	sample.skip_null = true;
	sample.vcov = GR_VCOV_IID;
	sample.moves = NULL;
	return sample;
}

bool
gr_logreg_is_separated(const GrLogregFit *fit)
{
	return fit->state->nfaces > 0;
}

/*
 * The estimate is off by some sqrt(rank) of the sample's standard errors as it is. Where the first step from 0 left no
 * more than twice that, the first step over all rows comes as near as the start would.
 */
bool
gr_logreg_take_start(const GrLogregFit *sample, double *start)
{
	const GrLogregState *state = sample->state;

	if (state->phase != GR_PHASE_DONE || !sample->converged || sample->nseparated > 0 ||
		state->left_by_first <= 4.0 * sample->rank)
		return false;
	start[0] = 0;
	memcpy(start + state->first, sample->coef, (size_t) sample->nterms * sizeof(double));
	return true;
}

/* Is there a start for these terms? */
static bool
has_start(const GrLogregFit *fit)
{
	const GrLogregState *state = fit->state;
	const double *start = state->options.start;

	if (start == NULL || !gr_logreg_uses_start(&state->options))
		return false;
	for (int k = 0; k < fit->nterms; k++)
	{
		double		b = start[k + state->first];

		if (state->aliased[k] ? !isnan(b) : !isfinite(b))
			return false;
	}
	return true;
}

bool
gr_start_enter(GrLogregFit *fit, const GrHost *host, GrError *err)
{
	GrLogregState *state = fit->state;
	const double *start = state->options.start;

	if (!has_start(fit))
		return gr_fit_enter(fit, GR_PHASE_ITERATE, host, err);
	for (int j = 0; j < state->nfull; j++)
		state->theta[j] = j < state->first || isnan(start[j]) ? 0 : start[j];
	if (fit->basis != NULL)
	{
		gr_basis_from_features(fit->basis, state->theta, state->theta_lo);
		memset(state->theta_lo, 0, (size_t) state->nfull * sizeof(double));
	}
	gr_terms_shift(fit, state->theta, state->theta);
	fit->iterations = 1;
	return gr_fit_ask(fit, GR_PHASE_START, GR_PASS_FAST);
}

/*
 * The weights are nowhere larger than at 0, so there the penalised deviance is at most its quadratic model at 0
 * (Boehning and Lindsay 1988), whose minimum is deviance_old - decrement: Newton's first step is sure to come that low.
 * If the start is not lower, that step is taken: delta and decrement are still those at 0.
 */
bool
gr_start_take(GrLogregFit *fit, const GrHost *host, GrError *err)
{
	GrLogregState *state = fit->state;

	if (!(gr_fit_deviance(fit) < state->deviance_old - state->decrement))
	{
		memset(state->theta, 0, (size_t) state->nfull * sizeof(double));
		fit->iterations = 0;
		return gr_fit_enter(fit, GR_PHASE_ITERATE, host, err);
	}
	/* the step from 0 wasn't taken: its length says nothing about the next one's */
	state->decrement = INFINITY;
	return gr_fit_hand_on(fit, GR_PHASE_ITERATE, host, err);
}
