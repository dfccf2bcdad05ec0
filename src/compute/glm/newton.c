/*
 * newton.c: the phases of a fit that solve Newton steps: the pass at beta = 0, with which every solver begins, the
 * iterations of Newton's method, and the last passes of the other solvers. See glm_fit.h.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "compute/base/dd.h"
#include "compute/glm/edge.h"
#include "compute/glm/firth.h"
#include "compute/glm/glm_row.h"
#include "compute/glm/mixing.h"
#include "compute/glm/negbin.h"
#include "compute/glm/newton_step.h"
#include "compute/glm/null.h"
#include "compute/glm/phases.h"
#include "compute/glm/response_unit.h"
#include "compute/glm/terms.h"

/* A last step below GR_EXACT_TOL changes the Hessian relatively by less than half of this. */
#define HESSIAN_TOL 1e-11

/*
 * Longest last step in a fit of a cross-validation, per square root of the number of rows: 13 digits of a row's unit.
 */
#define FOLD_TOL 2e-14

/* Below this squared decrement full steps are safe, and deviances are too close to compare. */
#define CHECKED_DECREMENT 1e-3

/* Limit of Newton steps after another solver. */
#define POLISHES_MAX 6

/* Limit of a step that rounding error keeps from shrinking, as a multiple of rounding_of(). */
#define STALLED_ROUNDINGS 64

/* FAST passes compute predictors in float8: steps below this multiple of rounding_of() hardly shrink. */
#define FAST_ROUNDINGS 1024

/* Bound of the rounding error of a deviance, as a share of the magnitude of its terms. */
#define DEVIANCE_NOISE 0x1p-48

#define HALVINGS_MIN_STEP 1e-9

/*
 * With offsets far apart, or in a tail of a link, most rows may weigh nothing, and a step may be too long by any
 * factor. A step with offsets, or without a finite deviance, is cut by CUT from CUT_STEP on, down to CUTS_MIN_STEP.
 */
#define CUT_STEP 0x1p-7
#define CUT 0x1p-8
#define CUTS_MIN_STEP 1e-60

#define STRETCH_MAX 1024

/* Average weight of rows above which weights, not features, are to blame for sums out of range. */
#define WEIGHT_MAX 1e100

/*
 * After EDGE_REFUSALS passes without a finite deviance the maximum may be at the edge of the link's domain, which steps
 * approach by halves. After EDGE_REFUSALS_CONVERGED of them a converged fit may be there. With EDGE_ITER_MIN iterations
 * or more allowed, a fit that has not converged may be on its way there.
 */
#define EDGE_REFUSALS 10
#define EDGE_REFUSALS_CONVERGED 3
#define EDGE_ITER_MIN 25

/*
 * The rows
 */

/*
 * Names the cause in err if weights u^2 at beta = 0 made the sums of a feature leave float8's range. At 0 the weights
 * depend only on the response and the row's own weight. Returns false.
 */
static bool
blame_weights(GrGlmFit *fit, GrError *err)
{
	const GrGlmOptions *options = &fit->state->options;
	double		nrows = fit->sums[GR_SUM_NROWS];
	bool		weighted = gr_fit_has_totals(options) && options->totals->weights > WEIGHT_MAX * nrows;

	if (err->status == GR_OUT_OF_RANGE && fit->pass.kind == GR_PASS_EXACT &&
		!(gr_fit_hi(fit)[gr_at(1, 1)] <= WEIGHT_MAX * nrows))
		err->where = weighted ? gr_weight_at(options->shape) : gr_response_at(options->shape);
	return false;
}

/* Checks the head of the sums and whether the rows can be fitted. Sets the number of rows and the null model. */
static bool
check_rows(GrGlmFit *fit, GrError *err)
{
	const GrGlmOptions *options = &fit->state->options;
	double		nrows = fit->sums[GR_SUM_NROWS];
	double		nones = fit->sums[GR_SUM_NONES];
	int			column;

	if (!gr_can_fit(options->distribution.family, nrows, nones, err) &&
		!(options->firth && err->status == GR_ONE_CLASS))
		return false;
	memset(err, 0, sizeof(*err));
	/* column counts the matrix's rows after that of the ones: u, u x_1, ... */
	if (fit->pass.kind == GR_PASS_EXACT && !gr_gram_finite(gr_fit_hi(fit), fit->state->nfull, &column))
	{
		(void) gr_fail(err, GR_OUT_OF_RANGE, gr_column_of_row(GR_ROWS_PASS, column + 1), "%s", "");
		return blame_weights(fit, err);
	}
	if (fit->pass.kind == GR_PASS_EXACT && !gr_unit_check_squares(gr_fit_hi(fit), fit->pass.shape, err))
		return false;
	fit->nrows = gr_count_of(options->shape.weight && options->weighting == GR_FREQUENCIES ? options->totals->weights :
							 nrows);
	fit->nlimit = fit->nrows;
	gr_null_choose(fit);
	return true;
}

/*
 * Newton steps
 */

/*
 * Returns the length, in standard errors, that rounding alone gives a step. One part comes from theta, rounded to
 * float8; a step from there has no fewer right digits. The other comes from the rows' terms, enlarged by the inflation
 * of variances by collinearity.
 */
static double
rounding_of(const GrGlmFit *fit)
{
	const GrGlmState *state = fit->state;
	double		inflation = 0;

	for (int k = 0; k < fit->nterms; k++)
		if (!state->left_out[k])
			inflation += 1 / state->pivot[k];
	return 0x1p-53 * (state->reach / sqrt(state->dispersion) + sqrt(inflation));
}

/* Requests the pass at theta_old + step delta. */
static bool
try_step(GrGlmFit *fit, GrPassKind kind)
{
	GrGlmState *state = fit->state;

	for (int j = 0; j < state->nfull; j++)
		state->theta[j] = state->theta_old[j] + state->step * state->delta[j];
	gr_negbin_step(state, state->step);
	return gr_fit_ask(fit, GR_PHASE_ITERATE, kind);
}

/*
 * True if no pass need follow a step of this length. The step is added to the estimates, and the covariances stay those
 * before it. A step changes the weight of a row by at most its (1, x)' delta, relatively: length / sqrt(nrows) for a
 * typical row. With many rows the step may therefore be longer: up to a thirtieth of what would show in such rows, if
 * the change of the Hessian along the step, 2 length bend, is rounding error too.
 */
static bool
is_last(const GrGlmFit *fit, double length, double bend)
{
	double		longest = length * bend <= 3e-15 ? GR_EXACT_TOL * sqrt(fit->sums[GR_SUM_NROWS]) / 30 : 0;

	return length <= fmax(longest, GR_EXACT_TOL);
}

/*
 * Returns the kind of the next pass: EXACT if it may be the last one. Each Newton step squares the error, so two
 * decrements predict the next one. On a face every pass is exact.
 */
static GrPassKind
next_kind(const GrGlmFit *fit)
{
	const GrGlmState *state = fit->state;
	double		length = sqrt(state->decrement);

	if (state->options.is_sample && state->nfaces == 0 && !state->stiff && !gr_negbin_is_near(state))
		return GR_PASS_FAST;
	if (gr_fit_is_solved_at_zero(&state->options) || state->options.firth || state->nfaces > 0 || state->stiff ||
		(state->observed && !state->unproven) ||
		length <= fmax(1e-6, state->options.tol) || length <= FAST_ROUNDINGS * rounding_of(fit))
		return GR_PASS_EXACT;
	if (state->kind == GR_PASS_EXACT ? state->decrement < CHECKED_DECREMENT :
		length <= 1e-2 && is_last(fit, state->decrement * state->bend, state->bend))
		return GR_PASS_EXACT;
	return GR_PASS_FAST;
}

/*
 * Returns the number of steps to take at once. Steps with expected weights may be too short by any factor, far from the
 * estimate. If they hardly shrink, more of them are tried as long as the deviance falls.
 */
static double
stretch(const GrGlmFit *fit)
{
	const GrGlmState *state = fit->state;
	bool		newton = state->history == NULL || state->observed;
	bool		hardly = fit->iterations > 1 && state->decrement > 0.5 * state->decrement_before &&
		state->step >= state->stretch;

	return newton || !state->check || !hardly ? 1 : fmin(2 * state->stretch, STRETCH_MAX);
}

/* Requests the pass after a Newton step from theta, or ends the fit if no iteration is left. */
bool
gr_iterate_enter(GrGlmFit *fit, const GrHost *host, GrError *err)
{
	GrGlmState *state = fit->state;
	GrPassKind	kind;

	if (fit->iterations >= state->max_iter)
	{
		if (fit->pass.kind == GR_PASS_EXACT && fit->pass.measure != GR_MEASURE_OBSERVED)
			return gr_fit_end(fit, false, true, host, err);
		/*
		 * covariances need an exact pass here; its step repeats the last one, and does not show that steps fail to
		 * shrink
		 */
		state->check = state->observed = false;
		state->decrement = INFINITY;
		state->decrement_exact = 0;
		return gr_fit_ask(fit, GR_PHASE_ITERATE, GR_PASS_EXACT);
	}
	memcpy(state->theta_old, state->theta, (size_t) state->nfull * sizeof(double));
	fit->iterations++;
	state->check = state->decrement > CHECKED_DECREMENT;
	state->step = state->stretch = stretch(fit);
	kind = next_kind(fit);
	if (kind == GR_PASS_EXACT && state->negbin.joint && !gr_negbin_ends_joint(state))
	{
		/* one more joint step moves theta by its last digits, unless rounding keeps steps from shrinking */
		if (!(state->decrement < 0.25 * state->decrement_before))
			return gr_fit_enter(fit, GR_PHASE_THETA, host, err);
		kind = GR_PASS_FAST;
	}
	/* with a start, FAST passes are observed; the last pass has expected weights, for the covariances */
	state->observed &= !state->unproven || kind == GR_PASS_FAST;
	return try_step(fit, kind);
}

/* True if the last pass was coarse and a column is too nearly collinear for that; later passes are not coarse then. */
static bool
was_too_coarse(GrGlmFit *fit)
{
	GrGlmState *state = fit->state;
	bool		near = false;

	if (fit->pass.measure != GR_MEASURE_COARSE_STEP)
		return false;
	for (int k = 0; k < fit->nterms; k++)
		near |= !(state->pivot[k] > GR_COARSE_PIVOT_MIN);
	state->coarse = !near;
	return near;
}

/* True if the fit has converged, after an EXACT pass. rounding: rounding_of(). */
static bool
has_converged(const GrGlmFit *fit, double decrement_exact_before, double rounding)
{
	const GrGlmState *state = fit->state;
	double		length = sqrt(state->decrement);
	double		bend = fmin(state->bend, state->bend_before);

	/* without weights all means are at their limit, and no step follows */
	if (!(state->weight_sum > 0))
		return false;
	/* a step that does not change the estimates may still change variances that rows with tiny weights determine */
	if (length <= 2 * rounding || (length <= GR_EXACT_TOL && !(length * bend > HESSIAN_TOL)))
		return true;
	if (length <= STALLED_ROUNDINGS * rounding && state->decrement > 0.25 * decrement_exact_before)
		return true;
	if (length > state->options.tol)
		return false;
	/* if rounding error keeps the last step long, the bend of the step before tells more */
	if (is_last(fit, length, bend))
		return true;
	/* one more step would give the last digits: only if requested, and if the last step gained anything */
	return state->options.tol > 1e-10 || state->finishing ||
		state->decrement > (state->history == NULL ? 0.0625 : 0.25) * decrement_exact_before;
}

/*
 * True if the fit is within tol by an EXACT pass and no iteration is left. One more pass then gives the last digits of
 * the estimate, and the covariances there: those of this pass belong to the point before the step.
 */
static bool
can_finish(const GrGlmFit *fit)
{
	const GrGlmState *state = fit->state;

	return state->kind == GR_PASS_EXACT && !state->finishing && fit->iterations >= state->max_iter &&
		sqrt(state->decrement) <= state->options.tol;
}

/* Requests the pass after the last step, which is not counted, like that of take_last_step(). */
static bool
finish(GrGlmFit *fit)
{
	GrGlmState *state = fit->state;

	memcpy(state->theta_old, state->theta, (size_t) state->nfull * sizeof(double));
	state->check = false;
	state->step = state->stretch = 1;
	state->finishing = true;
	return try_step(fit, GR_PASS_EXACT);
}

/* True if the search for a direction of separation is due: steps hardly shrink, or iterations have run out. */
static bool
runs_off(GrGlmFit *fit)
{
	GrGlmState *state = fit->state;

	if (state->options.l2 > 0 || state->options.firth || state->nfaces == GR_FACES_MAX ||
		!gr_can_separate(state->options.distribution))
		return false;
	if (fit->iterations >= state->max_iter && !state->final_attempt)
	{
		state->final_attempt = true;
		return true;
	}
	return fit->iterations >= state->next_attempt && fit->iterations < state->max_iter &&
		state->decrement > 0.1 * state->decrement_before;
}

/* Adds the last step in full, with the low halves in theta_lo. */
static void
take_last_step(GrGlmFit *fit)
{
	GrGlmState *state = fit->state;

	for (int j = 0; j < state->nfull; j++)
	{
		GrDD		sum = gr_two_sum(state->theta[j], state->delta[j]);

		state->theta[j] = sum.hi;
		state->theta_lo[j] = sum.lo;
	}
}

/* Ends a fit for which has_converged() is true. */
static bool
end_converged(GrGlmFit *fit, double rounding, const GrHost *host, GrError *err)
{
	if (fit->state->options.tol <= 1e-10 || sqrt(fit->state->decrement) <= fmax(GR_EXACT_TOL, 2 * rounding))
		take_last_step(fit);
	fit->state->counts_digits = true;
	return gr_fit_end(fit, true, fit->pass.kind == GR_PASS_EXACT, host, err);
}

/* True if the pass at theta gave a deviance and sums that are finite: each row has a mean and a weight. */
static bool
is_finite_pass(const GrGlmFit *fit, double deviance)
{
	size_t		nsums = gr_pass_nsums(fit->pass.kind, fit->state->options.shape.nfeatures);
	double		rest = 0;

	for (size_t k = GR_SUM_HEAD; k < nsums; k++)
		rest += fit->sums[k] * 0.0;
	return isfinite(deviance) && rest == 0;
}

/* True if deviances are checked and this one is worse than before by more than rounding error. */
static bool
is_worse(const GrGlmState *state, double deviance)
{
	double		noise = DEVIANCE_NOISE * (fabs(state->deviance_old) + state->deviance_terms);

	return state->check && !(deviance - (isfinite(noise) ? noise : 0) <= state->deviance_old);
}

/* Requests the sums at theta_old, to end the fit there, as no step leads to a finite deviance. */
static bool
turn_back(GrGlmFit *fit)
{
	GrGlmState *state = fit->state;

	memcpy(state->theta, state->theta_old, (size_t) state->nfull * sizeof(double));
	state->turned_back = true;
	return gr_fit_ask(fit, GR_PHASE_ITERATE, GR_PASS_EXACT);
}

/*
 * True if the next step would be rounding error, for a fit of a cross-validation. A standard error of the estimates is
 * that of a single row over the square root of the number of rows.
 */
static bool
is_near_enough(const GrGlmFit *fit)
{
	return fit->state->nfaces == 0 &&
		fit->state->decrement * fit->state->bend <= FOLD_TOL * sqrt(fit->sums[GR_SUM_NROWS]);
}

/*
 * True if the fit goes on at the edge of the link's domain: steps were refused, rows near the edge outweigh all others,
 * or expected weights lead there by too many steps. A converged fit looks there once in any case. A row whose mean is 0
 * and that does not pull may be on either side of the edge by rounding.
 */
static bool
is_near_edge(const GrGlmFit *fit, bool converged)
{
	GrGlmState *state = fit->state;

	if (!gr_edge_applies(fit))
		return false;
	if (!converged)
		return fit->iterations >= state->max_iter && (state->nrefused > 0 || state->options.max_iter >= EDGE_ITER_MIN);
	state->edge_peeks = state->nrefused < EDGE_REFUSALS_CONVERGED && !gr_edge_is_near(fit);
	return !state->edge_looked;
}

/* Decides what follows a solved step: the end, another phase, or the next step. */
static bool
go_on(GrGlmFit *fit, double decrement_exact_before, const GrHost *host, GrError *err)
{
	GrGlmState *state = fit->state;
	bool		converged = state->options.is_sample && (state->negbin.joint || !gr_negbin_is_open(state)) &&
		(sqrt(state->decrement) <= state->options.tol ||
		 (state->options.is_fold && is_near_enough(fit)));
	double		rounding = 0;

	if (state->kind == GR_PASS_EXACT)
	{
		rounding = rounding_of(fit);
		converged = has_converged(fit, decrement_exact_before, rounding);
	}
	if (is_near_edge(fit, converged))
		return gr_fit_enter(fit, GR_PHASE_EDGE, host, err);
	if (state->options.estimate_theta && gr_negbin_is_next(fit, converged))
		return gr_fit_enter(fit, GR_PHASE_THETA, host, err);
	if (converged)
		return end_converged(fit, rounding, host, err);
	if (can_finish(fit))
		return finish(fit);
	if (runs_off(fit))
		return state->unproven ? gr_start_drop(fit) : gr_fit_enter(fit, GR_PHASE_CLASSIFY, host, err);
	if (state->history != NULL)
		gr_mixing_improve(state);
	return gr_fit_enter(fit, GR_PHASE_ITERATE, host, err);
}

/*
 * Called when the fit can take no further step. True if it is to search a last time for a direction of separation,
 * along the last step; then returns theta to theta_old, from where that step began, and sets final_attempt. An earlier
 * search may have put off a direction to wait for wider margins.
 */
static bool
looks_once_more(GrGlmFit *fit)
{
	GrGlmState *state = fit->state;

	if (state->final_attempt || state->options.l2 > 0 || state->options.firth || state->nfaces == GR_FACES_MAX ||
		!gr_can_separate(state->options.distribution))
		return false;
	state->final_attempt = true;
	memcpy(state->theta, state->theta_old, (size_t) state->nfull * sizeof(double));
	return true;
}

/* Ends a fit whose next step cannot be solved because its weights left float8's range. */
static bool
end_unsolved(GrGlmFit *fit, const GrHost *host, GrError *err)
{
	if (err->status != GR_OUT_OF_RANGE)
		return false;
	memset(err, 0, sizeof(*err));
	if (fit->state->unproven)
		return gr_start_drop(fit);
	if (looks_once_more(fit))
		return gr_fit_enter(fit, GR_PHASE_CLASSIFY, host, err);
	fit->unsolved = true;
	return gr_fit_end(fit, false, false, host, err);
}

bool
gr_iterate_take(GrGlmFit *fit, const GrHost *host, GrError *err)
{
	GrGlmState *state = fit->state;
	double		deviance;
	double		decrement_exact = state->decrement_exact > 0 ? state->decrement_exact : INFINITY;
	bool		all_right = fit->sums[GR_SUM_MIN_MARGIN] > 0 && gr_can_separate(state->options.distribution);
	bool		finite;
	bool		far;

	if (state->options.firth && fit->pass.measure == GR_MEASURE_STEP)
		return gr_firth_ask(fit, host, err);
	deviance = gr_fit_deviance(fit);
	finite = is_finite_pass(fit, deviance);
	if (state->turned_back)
	{
		fit->unsolved = true;
		return gr_fit_end(fit, false, true, host, err);
	}
	if (state->unproven && (!finite || is_worse(state, deviance) || all_right))
		return gr_start_drop(fit);
	far = state->options.shape.offset || !finite;
	if ((!finite || is_worse(state, deviance)) && state->step > (far ? CUTS_MIN_STEP : HALVINGS_MIN_STEP))
	{
		state->nrefused += finite ? 0 : 1;
		if (state->nrefused >= EDGE_REFUSALS && gr_edge_applies(fit))
			return gr_fit_enter(fit, GR_PHASE_EDGE, host, err);
		state->step *= far && state->step < CUT_STEP ? CUT : 0.5;
		return try_step(fit, fit->pass.kind);
	}
	if (!finite && gr_edge_applies(fit))
		return gr_fit_enter(fit, GR_PHASE_EDGE, host, err);
	if (!finite && looks_once_more(fit))
		return gr_fit_enter(fit, GR_PHASE_CLASSIFY, host, err);
	if (!finite)
		return turn_back(fit);
	state->deviance_old = deviance;
	state->kind = fit->pass.kind;
	state->decrement_before = state->decrement;
	memcpy(state->frozen, state->aliased, (size_t) fit->nterms * sizeof(bool));
	if (state->unproven && state->kind == GR_PASS_EXACT && !check_rows(fit, err))
		return false;
	if (!gr_newton_solve(fit, GR_FROZEN_TOLERANCE, state->frozen, host, err))
		return end_unsolved(fit, host, err);
	if (state->unproven && !gr_start_holds(fit))
		return gr_start_drop(fit);
	if (fit->pass.kind == GR_PASS_JOINT && !gr_negbin_solve(fit, host, err))
		return err->status != GR_OK ? end_unsolved(fit, host, err) : state->unproven ? gr_start_drop(fit) :
			gr_fit_end(fit, false, false, host, err);
	/* the last pass has to be finer */
	if (was_too_coarse(fit))
		state->kind = GR_PASS_FAST;
	if (fit->iterations == 1 && gr_fit_is_solved_at_zero(&state->options))
	{
		take_last_step(fit);
		return gr_fit_end(fit, true, true, host, err);
	}
	if (fit->iterations == 1)
		state->left_by_first = state->decrement;
	state->bend_before = state->bend;
	state->bend = isfinite(state->decrement_before) ? sqrt(state->decrement) / state->decrement_before : INFINITY;
	if (state->kind == GR_PASS_EXACT)
		state->decrement_exact = state->decrement;
	if (all_right && state->options.l2 == 0 && !state->options.firth && fit->iterations >= state->next_certificate &&
		state->nfaces < GR_FACES_MAX)
		return gr_fit_enter(fit, GR_PHASE_VERIFY, host, err);
	return go_on(fit, decrement_exact, host, err);
}

/*
 * The beginning
 */

/*
 * Sets the first step of fits other than logistic ones. The step leads from the model with only an intercept to the
 * least-squares fit. Predictors of the latter may lack a mean, but those between the two have one from somewhere on. A
 * least-squares fit whose deviance exceeds twice the null deviance, if known, is cut short too.
 */
static void
begin_at_null(GrGlmFit *fit)
{
	GrGlmState *state = fit->state;

	if (gr_is_logistic(state->options.distribution))
		return;
	state->deviance_old = fit->null_deviance > 0 ? 2 * fit->null_deviance : DBL_MAX;
	if (state->options.shape.offset || !state->options.intercept)
		return;
	state->theta[0] = state->null_intercept;
	state->delta[0] -= state->null_intercept;
}

/*
 * True if the step from 0 is the estimate and its pass suffices for covariances. The pass of scores, or the clusters'
 * sums, then give the deviance. Three cases need another pass: weighted rows, whose products were rounded; columns far
 * from 0, whose scores are taken about their shifts; and moved terms, whose estimates have more digits than theta.
 */
static bool
wants_no_pass(const GrGlmFit *fit)
{
	const GrGlmOptions *options = &fit->state->options;
	bool		shifted = fit->basis != NULL || options->moves != NULL;

	for (int j = 1; j < fit->state->nfull; j++)
		shifted |= fit->state->shift[j - 1] != 0;
	return gr_fit_is_solved_at_zero(options) && options->vcov != GR_VCOV_IID && options->l2 == 0 &&
		!options->shape.weight && !shifted;
}

bool
gr_zero_take(GrGlmFit *fit, const GrHost *host, GrError *err)
{
	GrGlmState *state = fit->state;
	bool		again = false;

	if (state->dense && !gr_unit_choose(fit, &again, err))
		return false;
	if (again)
		return gr_fit_ask(fit, GR_PHASE_ZERO, GR_PASS_EXACT);
	if (!check_rows(fit, err))
		return false;
	fit->rank = fit->nterms;
	state->deviance_old = fit->pass.linear || state->options.firth ? INFINITY : fit->sums[GR_SUM_DEVIANCE_HI];
	if (!state->dense)
		return gr_fit_enter(fit, GR_PHASE_DESCENT, host, err);
	for (int j = 0; j < state->nfull; j++)
		state->scale[j] = sqrt(gr_fit_hi(fit)[gr_at(j + 1, j + 1)]);
	if (fit->basis != NULL)
		gr_terms_mark_collinear(fit);
	if (!gr_newton_solve(fit, GR_ALIAS_TOLERANCE, state->aliased, host, err))
		return blame_weights(fit, err);
	if (was_too_coarse(fit))
	{
		memset(state->aliased, 0, (size_t) fit->nterms * sizeof(bool));
		if (state->options.leave_out > 0)
			state->aliased[state->options.leave_out - 1] = true;
		return gr_fit_ask(fit, GR_PHASE_ZERO, GR_PASS_EXACT);
	}
	if (fit->basis == NULL)
	{
		bool		found;

		gr_terms_measure(fit);
		if (!gr_terms_choose_basis(fit, &found, host, err))
			return false;
		if (found)
			return gr_fit_enter(fit, GR_PHASE_CHANGE, host, err);
	}
	memcpy(state->collinear, state->aliased, (size_t) fit->nterms * sizeof(bool));
	for (int k = 0; k < fit->nterms; k++)
		fit->rank -= state->aliased[k] ? 1 : 0;
	if (state->options.solver != GR_SOLVER_NEWTON)
		return gr_fit_enter(fit, GR_PHASE_DESCENT, host, err);
	gr_terms_choose_shift(fit, 4);
	if (wants_no_pass(fit))
	{
		memcpy(state->theta, state->delta, (size_t) state->nfull * sizeof(double));
		state->lacks_deviance = true;
		fit->iterations = 1;
		return gr_fit_end(fit, true, true, host, err);
	}
	for (int j = 1; j < state->nfull; j++)
		state->delta[0] = gr_fma(state->delta[j], state->shift[j - 1], state->delta[0]);
	begin_at_null(fit);
	state->kind = GR_PASS_EXACT;
	state->bend = INFINITY;
	return gr_fit_enter(fit, GR_PHASE_START, host, err);
}

bool
gr_change_take(GrGlmFit *fit, const GrHost *host, GrError *err)
{
	(void) host;
	(void) err;
	return gr_fit_ask(fit, GR_PHASE_ZERO, GR_PASS_EXACT);
}

/*
 * Adds Newton steps after a solver without a Hessian, usually one. They give the last digits and tell whether the fit
 * has converged. Keeps the solver's result if fewer digits are requested or max_iter was reached.
 */
static bool
polished(GrGlmFit *fit, const GrHost *host, GrError *err)
{
	GrGlmState *state = fit->state;
	double		rounding;
	double		length;

	memcpy(state->frozen, state->aliased, (size_t) fit->nterms * sizeof(bool));
	if (!gr_newton_solve(fit, GR_FROZEN_TOLERANCE, state->frozen, host, err))
	{
		if (err->status != GR_OUT_OF_RANGE)
			return false;
		memset(err, 0, sizeof(*err));
		return gr_fit_end(fit, false, false, host, err);
	}
	if ((!fit->converged && !state->stalled) || state->options.tol > 1e-10)
		return gr_fit_end(fit, fit->converged, true, host, err);
	rounding = rounding_of(fit);
	length = sqrt(state->decrement);
	if (length <= fmax(GR_EXACT_TOL, 2 * rounding) || (length <= 1e-8 && state->npolished == POLISHES_MAX))
	{
		take_last_step(fit);
		state->counts_digits = true;
		return gr_fit_end(fit, true, true, host, err);
	}
	if (length > 0.1 || state->npolished == POLISHES_MAX)
	{
		fit->stalled = true;
		return gr_fit_end(fit, false, true, host, err);
	}
	for (int j = 0; j < state->nfull; j++)
		state->theta[j] += state->delta[j];
	state->npolished++;
	fit->iterations++;
	return gr_fit_ask(fit, GR_PHASE_LAST, GR_PASS_EXACT);
}

/*
 * Returns a bound of the error of linear predictors that a GRADIENT pass computes in float8, without Hessians. A term
 * of a row is at most the root of its sum of squares, the scale. Returns infinity with prior weights, as scales are
 * those of weighted rows.
 */
static double
predictor_rounding(const GrGlmFit *fit)
{
	const GrGlmState *state = fit->state;
	double		size = fabs(state->theta[0]);

	for (int j = 1; j < state->nfull; j++)
		size += 2 * fabs(state->theta[j]) * state->scale[j];
	if (state->options.shape.weight && state->options.weighting == GR_PRIOR_WEIGHTS)
		return INFINITY;
	return ((double) state->nfull + 2) * 0x1p-52 * size;
}

/*
 * Takes the last pass of a solver that forms no Hessian. Without a Hessian there is no null space, and only complete
 * separation is reported. As eta is in float8, the margins must exceed its rounding error.
 */
bool
gr_last_take(GrGlmFit *fit, const GrHost *host, GrError *err)
{
	GrGlmState *state = fit->state;

	if (!state->dense)
	{
		/* an offset may put all rows on their right side for any beta */
		bool		separated = fit->sums[GR_SUM_MIN_MARGIN] > fmax(1e-6, predictor_rounding(fit)) &&
			state->options.l2 == 0 && !state->options.shape.offset;

		for (int k = 0; k < fit->nterms && separated; k++)
			fit->separated[k] = state->theta[k + state->first] < 0 ? -1 : 1;
		return gr_fit_end(fit, fit->converged, false, host, err);
	}
	if (state->options.l2 == 0 && !state->final_attempt)
	{
		/* search if all rows are on their right side, or if a Newton step is longer than a converged fit allows */
		bool		all_right = fit->sums[GR_SUM_MIN_MARGIN] > 0;

		memcpy(state->frozen, state->aliased, (size_t) fit->nterms * sizeof(bool));
		if (!gr_newton_solve(fit, GR_FROZEN_TOLERANCE, state->frozen, host, err))
			return false;
		if (all_right || state->decrement > 1e-14)
		{
			state->final_attempt = true;
			return gr_fit_enter(fit, all_right ? GR_PHASE_VERIFY : GR_PHASE_CLASSIFY, host, err);
		}
	}
	return polished(fit, host, err);
}
