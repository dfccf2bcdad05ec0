/*
 * start.c: starts Newton's method at the estimate from a sample of the rows, if a pass over all rows is expensive.
 *
 * A sample of m of n independent rows gives an estimate that is off by about sqrt(rank n / m) standard errors of the
 * whole, which Newton's method from 0 reaches only after three or four passes. A sample that is not like the whole
 * costs one pass: the start is dropped if it is worse than Newton's first step is sure to be.
 *
 * The pass at 0 also shows which terms are collinear or nearly so, and where features are. A sample whose terms are far
 * from collinear shows the same: a column that depends on others in all rows does so in the sample. The pass at 0 is
 * then left out. The fit checks the steps that it solves from the start on; at the first step that a fit from 0 might
 * not have made, it begins anew at 0.
 *
 * Other families than the binomial start only so, without a pass at 0. Their steps from the start are Newton's: the
 * gamma family's FAST passes have observed weights. A negative binomial fit that estimates theta also takes the
 * sample's theta, and moves it with the coefficients (negbin.h).
 *
 * A start hides no separation. A direction that separates the whole has no row of the sample on its wrong side. So it
 * separates the sample too, or is 0 on all of it, and the sample has more aliased terms than the whole. Neither gives a
 * start that is used.
 */
#include <math.h>
#include <string.h>

#include "compute/glm/glm_row.h"
#include "compute/glm/negbin.h"
#include "compute/glm/negbin_row.h"
#include "compute/glm/null.h"
#include "compute/glm/phases.h"
#include "compute/glm/terms.h"

/* With a smaller max_iter the caller wants to see the steps. */
#define MAX_ITER_MIN 8

/*
 * Limit of a sample's steps, and of the length of its last step in its own standard errors. Along a direction of
 * separation the margins grow by about 1 per step: the squared lengths of steps are still exp(-14) or more after
 * twelve.
 */
#define SAMPLE_MAX_ITER 12
#define SAMPLE_TOL 1e-4

/*
 * Bounds for a fit without a pass at 0: the smallest pivot of a step, at least what is left of a feature for which the
 * rows are changed (terms.c), and the largest squared first step per row. A linear predictor then changes by about 0.3,
 * and its weight relatively by as much: Newton's method converges from there.
 */
#define PIVOT_MIN 1e-4
#define FIRST_STEP_MAX 0.1

/* Largest |log2| of the mean response with which a fit begins in the response's own unit, see response_unit.h. */
#define OWN_UNIT_MAX 16.0

/* True if fits of the distribution may start without a pass at 0. Their likelihoods are concave. */
static bool
has_start_family(const GrGlmOptions *options)
{
	GrFamily	family = options->distribution.family;

	return gr_is_logistic(options->distribution) ||
		(options->distribution.link == GR_LOG && options->totals != NULL &&
		 (family == GR_POISSON || (options->can_be_coarse && gr_has_observed(options->distribution))));
}

bool
gr_glm_uses_start(const GrGlmOptions *options)
{
	return options->solver == GR_SOLVER_NEWTON && options->max_iter >= MAX_ITER_MIN && !options->shape.offset &&
		!options->firth && has_start_family(options);
}

/* True if the mean response is in a unit in which sums stay in range. */
static bool
is_in_own_unit(const GrGlmOptions *options)
{
	const GrRowTotals *totals = options->totals;

	return gr_is_logistic(options->distribution) || fabs(log2(totals->ones / totals->weights)) <= OWN_UNIT_MAX;
}

GrGlmOptions
gr_glm_sample(const GrGlmOptions *options, double share)
{
	GrGlmOptions sample = *options;

	sample.l2 = options->l2 * share;
	sample.max_iter = SAMPLE_MAX_ITER;
	sample.tol = SAMPLE_TOL;
	sample.start = NULL;
	sample.start_theta = 0;
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

/* True unless theta was to be estimated and has no estimate, or not the only maximum of the likelihood. */
static bool
has_theta(const GrGlmFit *sample)
{
	return !sample->state->options.estimate_theta ||
		(sample->theta < GR_THETA_POISSON && sample->state->negbin.trial == 0);
}

/* Writes the sample's estimate to start. Returns false if there is none. */
static bool
take_estimate(const GrGlmFit *sample, double *start)
{
	const GrGlmState *state = sample->state;

	if (state->phase != GR_PHASE_DONE || !sample->converged || sample->nseparated > 0 || !has_theta(sample))
		return false;
	start[0] = 0;
	memcpy(start + state->first, sample->coef, (size_t) sample->nterms * sizeof(double));
	return true;
}

/*
 * Returns false if the start is not worth a pass. The estimate is off by about sqrt(rank) of the sample's standard
 * errors. If the first step from 0 left no more than twice that, the first step over all rows comes as near as the
 * start.
 */
bool
gr_glm_take_start(const GrGlmFit *sample, double *start)
{
	return gr_is_logistic(sample->state->options.distribution) && take_estimate(sample, start) &&
		sample->state->left_by_first > 4.0 * sample->rank;
}

/* True if no term is left out and each pivot is far from that of a collinear term. */
static bool
has_pivots(const GrGlmFit *fit)
{
	for (int k = 0; k < fit->nterms; k++)
		if (fit->state->frozen[k] || !(fit->state->pivot[k] > PIVOT_MIN))
			return false;
	return true;
}

/* Returns false also for weighted rows without an intercept, whose deviance at 0 only the pass there gives. */
bool
gr_glm_take_shift(const GrGlmFit *sample, double *start, double *shift)
{
	const GrGlmState *state = sample->state;
	const GrGlmOptions *options = &state->options;

	if (!take_estimate(sample, start) || sample->rank < sample->nterms || sample->basis != NULL ||
		!has_pivots(sample) || !is_in_own_unit(options) || (options->shape.weight && !options->intercept))
		return false;
	memcpy(shift, state->shift, (size_t) options->shape.nfeatures * sizeof(double));
	return true;
}

/* True if there is a start for these terms. */
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

/* Requests the pass at the start. */
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
	state->observed = gr_has_observed(options->distribution);
	gr_negbin_join(fit);
	fit->rank = fit->nterms;
	memcpy(state->shift, options->start_shift, (size_t) options->shape.nfeatures * sizeof(double));
	return ask(fit);
}

/* Returns the sum of the rows' weights. */
static double
total_weight(const GrGlmFit *fit)
{
	const GrGlmOptions *options = &fit->state->options;

	return options->shape.weight && options->totals != NULL ? options->totals->weights : fit->sums[GR_SUM_NROWS];
}

bool
gr_start_holds(const GrGlmFit *fit)
{
	const GrGlmState *state = fit->state;
	bool		logistic = gr_is_logistic(state->options.distribution);
	double		longest = logistic ? total_weight(fit) : state->weight_sum / state->dispersion;

	return has_pivots(fit) && (fit->iterations > 1 || state->decrement <= FIRST_STEP_MAX * longest);
}

bool
gr_start_drop(GrGlmFit *fit)
{
	GrGlmState *state = fit->state;
	size_t		full_nbytes = (size_t) state->nfull * sizeof(double);

	state->unproven = state->observed = false;
	gr_negbin_begin(fit);
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
 * Takes what else the first pass over the rows tells, as no pass at 0 was made. Returns false if the start is to be
 * dropped: its deviance is not below that at 0, or the response needs another unit.
 */
static bool
take_rows(GrGlmFit *fit)
{
	GrGlmState *state = fit->state;
	const double *hessian = fit->sums + GR_SUM_HEAD + 2 * state->nfull;

	if (gr_is_logistic(state->options.distribution))
		return gr_fit_deviance(fit) < 2 * log(2.0) * total_weight(fit);
	for (int j = 0; j < state->nfull; j++)
		state->scale[j] = sqrt(hessian[gr_at(j, j)]);
	gr_null_choose(fit);
	return is_in_own_unit(&state->options);
}

/*
 * Takes the pass at the start and decides whether to use it. No weight is larger than at 0, so the penalised deviance
 * at the end of Newton's first step from 0 is at most the minimum of its quadratic model at 0, deviance_old - decrement
 * (Boehning and Lindsay 1988). If the start is not lower, that step is taken: delta and decrement are still those at 0.
 * Without a pass at 0, the start need only be lower than 0 itself.
 */
bool
gr_start_take(GrGlmFit *fit, const GrHost *host, GrError *err)
{
	GrGlmState *state = fit->state;

	if (state->unproven && !take_rows(fit))
		return gr_start_drop(fit);
	if (!state->unproven && !(gr_fit_deviance(fit) < state->deviance_old - state->decrement))
	{
		memset(state->theta, 0, (size_t) state->nfull * sizeof(double));
		fit->iterations = 0;
		return gr_fit_enter(fit, GR_PHASE_ITERATE, host, err);
	}
	/* the step from 0 was not taken, so its length does not predict the next one */
	state->decrement = INFINITY;
	return gr_fit_hand_on(fit, GR_PHASE_ITERATE, host, err);
}
