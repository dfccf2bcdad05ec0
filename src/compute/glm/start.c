/*
 * start.c: where Newton's method begins when a pass over the rows is dear: at the estimate from a sample of the rows.
 *
 * A sample of m of n independent rows gives an estimate that is off by some sqrt(rank n / m) standard errors of the
 * whole's, where Newton's steps from 0 would take three or four passes to come. A sample that isn't like the whole
 * costs one pass: the start is dropped where it turns out to be worse than Newton's first step is sure to be.
 *
 * The pass at 0 tells which terms are collinear, or nearly so, and where features are, besides a step that is worth
 * less than the start. A sample whose terms are far from collinear has told it before: a column that depended on the
 * others in all rows would do so in the sample's. The pass at 0 is left out then, and the fit looks at the steps that
 * it solves from there on: at the first one that a fit from 0 might not have made, it begins anew, at 0.
 *
 * A start hides no separation. A direction that separates the whole has no row of the sample on its wrong side, so it
 * separates the sample too, or is 0 on all of it; then the sample has more aliased terms than the whole. Neither gives
 * a start that is used.
 */
#include <math.h>
#include <string.h>

#include "compute/glm/glm_row.h"
#include "compute/glm/phases.h"
#include "compute/glm/terms.h"

/* With fewer steps allowed the caller wants to see them. */
#define MAX_ITER_MIN 8

/*
 * A sample takes this many steps at most, and the last one must be this short, in its own standard errors. Along a
 * direction of separation the margins grow by about 1 a step: the steps' squared lengths are still some exp(-14) and
 * more after twelve.
 */
#define SAMPLE_MAX_ITER 12
#define SAMPLE_TOL 1e-4

/*
 * Without a pass at 0: the smallest pivot that a step may have, no smaller than what is left of a feature that the rows
 * are changed for (terms.c); and the longest first step, squared, a row. A linear predictor then changes by 0.3 or so,
 * in units in which its weight does by as much: Newton's method converges from there.
 */
#define PIVOT_MIN 1e-4
#define FIRST_STEP_MAX 0.1

bool
gr_glm_uses_start(const GrGlmOptions *options)
{
	return options->solver == GR_SOLVER_NEWTON && options->max_iter >= MAX_ITER_MIN && !options->shape.offset &&
		!options->firth &&
		gr_is_logistic(options->distribution);
}

GrGlmOptions
gr_glm_sample(const GrGlmOptions *options, double share)
{
	GrGlmOptions sample = *options;

	sample.l2 = options->l2 * share;
	sample.max_iter = SAMPLE_MAX_ITER;
	sample.tol = SAMPLE_TOL;
	sample.start = NULL;
	sample.start_shift = NULL;
	sample.is_sample = true;
	sample.linear_solver = NULL;
	sample.skip_null = true;
	sample.vcov = GR_VCOV_IID;
	sample.moves = NULL;
	return sample;
}

bool
gr_glm_is_separated(const GrGlmFit *fit)
{
	return fit->state->nfaces > 0;
}

/* Writes the sample's estimate; false if there is none. */
static bool
take_estimate(const GrGlmFit *sample, double *start)
{
	const GrGlmState *state = sample->state;

	if (state->phase != GR_PHASE_DONE || !sample->converged || sample->nseparated > 0)
		return false;
	start[0] = 0;
	memcpy(start + state->first, sample->coef, (size_t) sample->nterms * sizeof(double));
	return true;
}

/*
 * The estimate is off by some sqrt(rank) of the sample's standard errors as it is. Where the first step from 0 left no
 * more than twice that, the first step over all rows comes as near as the start would.
 */
bool
gr_glm_take_start(const GrGlmFit *sample, double *start)
{
	return take_estimate(sample, start) && sample->state->left_by_first > 4.0 * sample->rank;
}

/* Is each term's pivot far from that of a collinear one? Those of terms that are left out aren't. */
static bool
has_pivots(const GrGlmFit *fit)
{
	for (int k = 0; k < fit->nterms; k++)
		if (fit->state->frozen[k] || !(fit->state->pivot[k] > PIVOT_MIN))
			return false;
	return true;
}

/* The deviance at 0 of weighted rows without an intercept is the pass's there alone. */
bool
gr_glm_take_shift(const GrGlmFit *sample, double *start, double *shift)
{
	const GrGlmState *state = sample->state;
	const GrGlmOptions *options = &state->options;

	if (!take_estimate(sample, start) || sample->rank < sample->nterms || sample->basis != NULL ||
		!has_pivots(sample) || (options->shape.weight && !options->intercept))
		return false;
	memcpy(shift, state->shift, (size_t) options->shape.nfeatures * sizeof(double));
	return true;
}

/* Is there a start for these terms? */
static bool
has_start(const GrGlmFit *fit)
{
	const GrGlmState *state = fit->state;
	const double *start = state->options.start;

	if (start == NULL || !gr_glm_uses_start(&state->options))
		return false;
	for (int k = 0; k < fit->nterms; k++)
	{
		double		b = start[k + state->first];

		if (state->aliased[k] ? !isnan(b) : !isfinite(b))
			return false;
	}
	return true;
}

/* Asks for the pass at the start. */
static bool
ask(GrGlmFit *fit)
{
	GrGlmState *state = fit->state;
	const double *start = state->options.start;

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

bool
gr_start_enter(GrGlmFit *fit, const GrHost *host, GrError *err)
{
	return has_start(fit) ? ask(fit) : gr_fit_enter(fit, GR_PHASE_ITERATE, host, err);
}

bool
gr_start_begin(GrGlmFit *fit)
{
	GrGlmState *state = fit->state;
	const GrGlmOptions *options = &state->options;

	if (options->start_shift == NULL || options->leave_out > 0 || !has_start(fit))
		return false;
	state->unproven = true;
	fit->rank = fit->nterms;
	memcpy(state->shift, options->start_shift, (size_t) options->shape.nfeatures * sizeof(double));
	return ask(fit);
}

/* The sum of the rows' weights */
static double
total_weight(const GrGlmFit *fit)
{
	const GrGlmOptions *options = &fit->state->options;

	return options->shape.weight && options->totals != NULL ? options->totals->weights : fit->sums[GR_SUM_NROWS];
}

bool
gr_start_holds(const GrGlmFit *fit)
{
	return has_pivots(fit) &&
		(fit->iterations > 1 || fit->state->decrement <= FIRST_STEP_MAX * total_weight(fit));
}

bool
gr_start_drop(GrGlmFit *fit)
{
	GrGlmState *state = fit->state;
	size_t		full_nbytes = (size_t) state->nfull * sizeof(double);

	state->unproven = false;
	state->options.start = state->options.start_shift = NULL;
	memset(state->theta, 0, full_nbytes);
	memset(state->theta_old, 0, full_nbytes);
	memset(state->delta, 0, full_nbytes);
	memset(state->shift, 0, full_nbytes - sizeof(double));
	state->decrement = state->decrement_before = state->decrement_exact = 0;
	state->next_certificate = 0;
	state->final_attempt = state->check = false;
	fit->iterations = 0;
	return gr_fit_ask(fit, GR_PHASE_ZERO, GR_PASS_EXACT);
}

/*
 * The weights are nowhere larger than at 0, so there the penalised deviance is at most its quadratic model at 0
 * (Boehning and Lindsay 1988), whose minimum is deviance_old - decrement: Newton's first step is sure to come that low.
 * If the start is not lower, that step is taken: delta and decrement are still those at 0. Where there was no pass at
 * 0, the start need only be lower than 0 itself.
 */
bool
gr_start_take(GrGlmFit *fit, const GrHost *host, GrError *err)
{
	GrGlmState *state = fit->state;

	if (state->unproven && !(gr_fit_deviance(fit) < 2 * log(2.0) * total_weight(fit)))
		return gr_start_drop(fit);
	if (!state->unproven && !(gr_fit_deviance(fit) < state->deviance_old - state->decrement))
	{
		memset(state->theta, 0, (size_t) state->nfull * sizeof(double));
		fit->iterations = 0;
		return gr_fit_enter(fit, GR_PHASE_ITERATE, host, err);
	}
	/* the step from 0 wasn't taken: its length says nothing about the next one's */
	state->decrement = INFINITY;
	return gr_fit_hand_on(fit, GR_PHASE_ITERATE, host, err);
}
