/*
 * negbin.c: the phases of a fit that estimate the negative binomial distribution's theta; see negbin.h.
 */
#include "compute/glm/negbin.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "compute/glm/mixing.h"
#include "compute/glm/negbin_row.h"
#include "compute/glm/newton_step.h"
#include "compute/glm/phases.h"

/* A move of theta this short, in standard errors, is the last one. */
#define LAST_LENGTH 1e-12

/* A move shorter than this that does not shrink is rounding error. */
#define STALLED_LENGTH 1e-9

/* Theta moves only when beta's step is shorter than this share of theta's last move. */
#define BETA_SHARE 0.02

/* Squared length of a Newton step after which beta is as near its estimate as possible. */
#define LAST_DECREMENT 1e-14

/* The first move of theta waits until beta's step is shorter than this. */
#define FIRST_LENGTH 1e-5

/* A sample's first move waits for a step this short, and for an exact pass after a step of this squared length. */
#define FIRST_OF_SAMPLE 0.02
#define NEAR_DECREMENT 1.0

/* A longer move stays between thetas at which the likelihood rises towards each other. */
#define LOCAL_LENGTH 0.1

/* The pass after joint steps is the last one for theta if it moves theta less than this, in standard errors. */
#define JOINT_LENGTH 1e-6

/* A step this short per square root of the number of rows changes no digit of theta's standard error. */
#define KNOWN_LENGTH 3e-14

/* Limit of a secant's move, in Newton's moves. */
#define SECANT_MAX 20.0

/* Limit of a move of log(theta). */
#define REACH 2.0

/* Least first theta, as a share of the mean count. */
#define LEAST_BEGIN 1e-4

/* Steps before a direction of separation is looked for. */
#define ATTEMPT_AFTER 5

/*
 * Thetas that are tried if the likelihood rises up to an infinite theta: the mean count times FARTHEST, then times
 * NEARER each, NTRIALS of them. In 495 of 1,500 random samples of 8 to 59 rows the likelihood rises there; 7 of these
 * have a maximum at a finite theta, from 0.005 to 4 times the mean count.
 */
#define NTRIALS 8
#define FARTHEST 16.0
#define NEARER 0.25

/* Beyond this theta the variance equals Poisson's to all digits, for counts that float8 can tell apart. */
#define LARGEST 1e18

void
gr_negbin_begin(GrGlmFit *fit)
{
	GrGlmState *state = fit->state;

	if (state->options.estimate_theta)
		state->options.distribution.theta = GR_THETA_POISSON;
	fit->theta = state->options.distribution.theta;
	fit->theta_error = fit->log_likelihood = NAN;
	state->negbin.length = (state->options.is_sample ? FIRST_OF_SAMPLE : FIRST_LENGTH) / BETA_SHARE;
	state->negbin.log_theta = state->negbin.score = NAN;
	state->negbin.low = -INFINITY;
	state->negbin.high = INFINITY;
	state->negbin.trial = state->negbin.nmoves = 0;
	state->negbin.settled = state->negbin.failed = false;
	state->negbin.tried = state->observed = state->negbin.joint = state->negbin.known = false;
	state->negbin.follow = state->negbin.moved = 0;
}

/* True if beta is near enough to its estimate for theta to move. converged: beta has no further step. */
static bool
beta_is_near(GrGlmState *state, bool converged)
{
	double		longest = BETA_SHARE * fmin(state->negbin.length, 1);

	/* the step is taken before theta moves, and leaves an error of the square of its length */
	if (state->observed)
		return converged || state->decrement <= longest;
	return converged || sqrt(state->decrement) <= longest;
}

bool
gr_negbin_is_near(const GrGlmState *state)
{
	return gr_negbin_is_open(state) && !state->negbin.joint &&
		(state->options.distribution.theta != GR_THETA_POISSON || state->decrement < NEAR_DECREMENT);
}

bool
gr_negbin_is_next(GrGlmFit *fit, bool converged)
{
	GrGlmState *state = fit->state;
	GrThetaState *negbin = &state->negbin;

	if (negbin->joint)
		return false;
	negbin->beta_ended = converged || (state->observed && state->decrement <= LAST_DECREMENT);
	/* the length of the first step after a move of theta tells how far beta follows */
	if (state->observed && negbin->moved != 0)
		negbin->follow = state->decrement / (negbin->moved * negbin->moved);
	negbin->moved = 0;
	return state->options.estimate_theta && !negbin->settled &&
		(state->options.distribution.theta != GR_THETA_POISSON || state->kind == GR_PASS_EXACT) &&
		beta_is_near(state, converged);
}

static bool
ask(GrGlmFit *fit, GrGlmPhase phase)
{
	gr_fit_ask(fit, phase, GR_PASS_EXACT);
	fit->pass.measure = GR_MEASURE_THETA;
	return true;
}

bool
gr_theta_enter(GrGlmFit *fit, const GrHost *host, GrError *err)
{
	GrGlmState *state = fit->state;

	(void) host;
	(void) err;
	gr_negbin_step(state, 1);
	for (int j = 0; j < state->nfull && state->observed; j++)
	{
		state->theta[j] += state->delta[j];
		state->delta[j] = 0;
	}
	if (fit->pass.kind == GR_PASS_EXACT)
		state->negbin.pearson = gr_fit_hi(fit)[gr_at(state->nfull + 1, state->nfull + 1)];
	return ask(fit, GR_PHASE_THETA);
}

/* Returns the sum of u (row 1) or of v (the last row). */
static double
sum_of(GrGlmFit *fit, int row)
{
	return gr_fit_hi(fit)[gr_at(row, 0)] + gr_fit_lo(fit)[gr_at(row, 0)];
}

/*
 * Returns the first theta, after a Poisson regression, by moments: squared Pearson residuals are 1 + mu / theta on
 * average. Returns 0 if the likelihood rises up to an infinite theta.
 */
static double
first_theta(GrGlmFit *fit, double score)
{
	const GrGlmState *state = fit->state;
	const GrRowTotals *totals = state->options.totals;
	double		mean = totals->ones / totals->weights;
	double		rounding = 1e-14 * sqrt(fit->sums[GR_SUM_NROWS] * gr_fit_hi(fit)[gr_at(1, 1)]);
	double		excess = state->negbin.pearson - (totals->weights - fit->rank);

	if (!(score < -rounding))
		return 0;
	/* without excess: by the score, as if all means were equal */
	if (!(excess > 0))
		return totals->ones * mean / (-2 * score * GR_THETA_POISSON);
	/* bounded, as a count where hardly any is expected has a huge residual */
	return fmax(totals->ones / excess, LEAST_BEGIN * mean);
}

/*
 * Returns the move of log(theta) by Newton's method: in 1 / theta if the likelihood is concave in it, else in
 * log(theta). score: theta times the first derivative; curvature: theta^2 times the second.
 */
static double
newton_move(double score, double curvature)
{
	double		growth = score / (curvature + 2 * score);	/* relative growth of 1 / theta */
	double		move;

	if (curvature + 2 * score < 0 && growth > -0.8)
		move = -log1p(growth);
	else if (curvature + score < 0)
		move = -score / (curvature + score);
	else
		move = score > 0 ? REACH : -REACH;
	return fmin(fmax(move, -REACH), REACH);
}

/*
 * Returns a short move by the secant, which accounts for how beta follows theta. Returns move if the secant differs too
 * much.
 */
static double
secant_move(const GrThetaState *negbin, double log_theta, double score, double move)
{
	double		secant = (negbin->score - score) * (log_theta - negbin->log_theta);
	double		by_secant = score * (log_theta - negbin->log_theta) / (negbin->score - score);

	return secant > 0 && by_secant / move > 0.5 && by_secant / move < SECANT_MAX ? by_secant : move;
}

/* Returns a move that stays between the bounds, which it updates if moves are long; a short move is by the secant. */
static double
bounded_move(GrThetaState *negbin, double log_theta, double score, double move)
{
	if (!(negbin->length > LOCAL_LENGTH))
		return secant_move(negbin, log_theta, score, move);
	*(score > 0 ? &negbin->low : &negbin->high) = log_theta;
	if (isfinite(negbin->low) && isfinite(negbin->high) &&
		!(log_theta + move > negbin->low && log_theta + move < negbin->high))
		return 0.5 * (negbin->low + negbin->high) - log_theta;
	return move;
}

/* Returns theta after a move from a finite one. Settles theta if the move was the last one. */
static double
next_theta(GrThetaState *negbin, const GrGlmOptions *options, double score, double curvature)
{
	double		theta = options->distribution.theta;
	double		last = options->tol > 1e-10 ? options->tol : LAST_LENGTH;
	double		length = curvature < 0 ? fabs(score) / sqrt(-curvature) : INFINITY;
	double		before = negbin->length;
	double		move;

	negbin->length = length;
	/* the part of the curvature that is lost as beta follows theta */
	if (curvature + negbin->follow < 0.02 * curvature)
		curvature += negbin->follow;
	move = bounded_move(negbin, log(theta), score, newton_move(score, curvature));
	negbin->log_theta = log(theta);
	negbin->score = score;
	negbin->moved = move;
	if (negbin->beta_ended && (length <= last || (length <= STALLED_LENGTH && length > 0.5 * before)))
		negbin->settled = true;
	else if (negbin->nmoves >= options->max_iter)
		negbin->settled = negbin->failed = true;
	return theta * exp(move);
}

/*
 * Goes on with beta, with as many steps as at the beginning. Forgets the lengths of earlier steps, which were at
 * another theta. expects: steps were Newton's and have expected weights from now on.
 */
static bool
resume(GrGlmFit *fit, bool expects, const GrHost *host, GrError *err)
{
	GrGlmState *state = fit->state;
	bool		done;

	state->max_iter = (int64_t) fit->iterations + state->options.max_iter;
	if (state->max_iter > INT_MAX)
		state->max_iter = INT_MAX;
	state->next_attempt = (int64_t) fit->iterations + ATTEMPT_AFTER;
	if (expects)
		gr_mixing_forget(state);
	else
		gr_mixing_improve(state);
	gr_mixing_break(state);
	done = gr_fit_enter(fit, GR_PHASE_ITERATE, host, err);
	state->deviance_old = INFINITY;
	state->decrement = INFINITY;
	state->decrement_exact = 0;
	return done;
}

/* Returns theta to infinity and beta to its estimate there. */
static void
return_to_limit(GrGlmState *state)
{
	size_t		nbytes = (size_t) state->nfull * sizeof(double);

	memcpy(state->theta, state->theta_limit, nbytes);
	memset(state->delta, 0, nbytes);
	state->negbin.settled = true;
	state->negbin.failed = false;
	state->options.distribution.theta = GR_THETA_POISSON;
}

/* Sets theta to the next trial, or to infinity if no trial is left. */
static void
try_next(GrGlmState *state)
{
	GrThetaState *negbin = &state->negbin;
	const GrRowTotals *totals = state->options.totals;

	negbin->length = INFINITY;
	negbin->moved = 0;
	state->options.distribution.theta = totals->ones / totals->weights * FARTHEST * pow(NEARER, negbin->trial);
	if (negbin->trial++ == NTRIALS)
		return_to_limit(state);
}

/* Begins joint steps from a theta. */
static void
begin_joint(GrGlmState *state, double theta)
{
	state->options.distribution.theta = state->negbin.before = theta;
	state->negbin.moved = 0;
	state->negbin.joint = true;
}

/*
 * Sets theta after the Poisson regression: the first theta, or the first trial if the likelihood rises up to infinity.
 */
static void
begin(GrGlmFit *fit, double score)
{
	GrGlmState *state = fit->state;
	double		theta = first_theta(fit, score);

	state->negbin.length = INFINITY;
	state->options.distribution.theta = theta;
	if (theta == 0)
	{
		state->negbin.limit = gr_fit_deviance(fit);
		memcpy(state->theta_limit, state->theta, (size_t) state->nfull * sizeof(double));
		try_next(state);
	}
	state->observed = gr_has_observed(state->options.distribution);
	if (state->options.is_sample && state->observed && state->options.can_be_coarse && state->negbin.trial == 0)
		begin_joint(state, theta);
}

/*
 * True if there is a maximum at a finite theta: the likelihood falls beyond a trial's theta, or exceeds that at
 * infinity.
 */
static bool
trial_leads(GrGlmFit *fit, double score)
{
	GrGlmState *state = fit->state;
	GrThetaState *negbin = &state->negbin;
	bool		greater = gr_fit_deviance(fit) < negbin->limit;

	if (!(score < 0) && !greater)
		return false;
	negbin->tried = true;
	negbin->nmoves = 0;
	/* the trial before had no greater likelihood */
	if (greater && negbin->trial > 1)
		negbin->high = log(state->options.distribution.theta / NEARER);
	return true;
}

/*
 * Joint steps
 */

void
gr_negbin_join(GrGlmFit *fit)
{
	GrGlmState *state = fit->state;

	if (state->options.estimate_theta)
		begin_joint(state, state->options.start_theta);
}

void
gr_negbin_step(GrGlmState *state, double step)
{
	if (state->negbin.joint)
		state->options.distribution.theta = state->negbin.before * exp(step * state->negbin.moved);
}

/*
 * Notes the log-likelihood, theta's standard error and the losses of a JOINT pass, if the step from there is so short
 * that they are those of the estimate. curvature: theta^2 times the second derivative by theta
 */
static void
note_likelihood(GrGlmFit *fit, double curvature, double losses)
{
	GrGlmState *state = fit->state;

	state->negbin.known = sqrt(state->decrement) <= KNOWN_LENGTH * sqrt(fit->sums[GR_SUM_NROWS]);
	state->negbin.losses = losses;
	fit->theta_error = state->options.distribution.theta / sqrt(-curvature);
	fit->log_likelihood = -0.5 * (fit->sums[GR_SUM_DEVIANCE_HI] + fit->sums[GR_SUM_DEVIANCE_LO]);
}

/* Ends joint steps: the passes that follow have expected weights, for beta's last step and the covariances. */
static void
settle_jointly(GrGlmState *state, bool failed)
{
	state->negbin.joint = state->observed = false;
	state->negbin.settled = true;
	state->negbin.failed = failed;
	state->check = false;
	state->deviance_old = INFINITY;
}

bool
gr_negbin_ends_joint(GrGlmState *state)
{
	if (!state->negbin.known)
		return false;
	gr_negbin_step(state, 1);
	settle_jointly(state, false);
	return true;
}

bool
gr_negbin_solve(GrGlmFit *fit, const GrHost *host, GrError *err)
{
	GrGlmState *state = fit->state;
	GrThetaState *negbin = &state->negbin;
	double	   *follow = state->theta_limit;
	const double *cross = fit->sums + gr_pass_cross_at(state->options.shape.nfeatures);
	double		score = cross[state->nfull];
	double		slope = cross[state->nfull + 1] + score;	/* second derivative by log(theta) */

	if (!gr_newton_follow(fit, follow, host, err))
		return false;
	negbin->follow = 0;
	for (int j = state->first; j < state->nfull; j++)
	{
		score += cross[j] * state->delta[j];
		negbin->follow += cross[j] * follow[j];
	}
	slope += negbin->follow;
	if (!(slope < 0) || !isfinite(score))
		return false;
	state->decrement += score * score / -slope;
	note_likelihood(fit, cross[state->nfull + 1], cross[state->nfull + 2]);
	negbin->before = state->options.distribution.theta;
	negbin->moved = newton_move(score, slope - score);
	for (int j = 0; j < state->nfull; j++)
		state->delta[j] += negbin->moved * follow[j];
	return true;
}

/*
 * Takes the pass for theta after joint steps, at the beta of the last one. Requests a pass with expected weights, which
 * gives beta's last step and the covariances, or another joint one if theta's step is not one of the last digits.
 */
static bool
take_last_of_joint(GrGlmFit *fit, double score, double curvature)
{
	GrGlmState *state = fit->state;
	GrThetaState *negbin = &state->negbin;
	double		slope = curvature + negbin->follow;
	double		move = newton_move(score, slope);
	bool		finite = isfinite(score) && isfinite(curvature);
	bool		last = slope < 0 && fabs(score) <= JOINT_LENGTH * sqrt(-slope);

	if (finite)
	{
		for (int j = 0; j < state->nfull; j++)
			state->theta[j] += move * state->theta_limit[j];
		begin_joint(state, state->options.distribution.theta * exp(move));
	}
	memcpy(state->theta_old, state->theta, (size_t) state->nfull * sizeof(double));
	memset(state->delta, 0, (size_t) state->nfull * sizeof(double));
	state->step = state->stretch = 1;
	state->check = false;
	state->decrement = INFINITY;
	if (!last && finite && ++negbin->nmoves < state->options.max_iter)
		return gr_fit_ask(fit, GR_PHASE_ITERATE, GR_PASS_FAST);
	settle_jointly(state, !last);
	return gr_fit_ask(fit, GR_PHASE_ITERATE, GR_PASS_EXACT);
}

bool
gr_theta_take(GrGlmFit *fit, const GrHost *host, GrError *err)
{
	GrGlmState *state = fit->state;
	GrThetaState *negbin = &state->negbin;
	double	   *theta = &state->options.distribution.theta;
	double		score = sum_of(fit, 1);
	double		curvature = sum_of(fit, state->nfull + 1);
	bool		was_observed = state->observed;

	if (negbin->joint)
		return take_last_of_joint(fit, score, curvature);
	if (!isfinite(score) || !isfinite(curvature))
		negbin->settled = negbin->failed = true;
	else if (*theta == GR_THETA_POISSON)
		begin(fit, score);
	else if (negbin->trial > 0 && !negbin->tried && !trial_leads(fit, score))
		try_next(state);
	else
		*theta = next_theta(negbin, &state->options, score, curvature);
	if (*theta > LARGEST)
	{
		negbin->settled = true;
		*theta = GR_THETA_POISSON;
	}
	negbin->nmoves++;
	/* keep the greater of two maxima */
	if (negbin->settled && negbin->trial > 0 && (negbin->failed || !(gr_fit_deviance(fit) < negbin->limit)))
		return_to_limit(state);
	/* covariances need expected weights */
	state->observed &= !negbin->settled;
	return resume(fit, was_observed && negbin->settled, host, err);
}

bool
gr_likelihood_enter(GrGlmFit *fit, const GrHost *host, GrError *err)
{
	GrGlmState *state = fit->state;

	if (!state->options.estimate_theta)
		return gr_fit_enter(fit, GR_PHASE_NULL, host, err);
	if (state->negbin.known || (state->options.is_sample && state->negbin.joint))
	{
		gr_negbin_step(state, 1);
		fit->theta = state->options.distribution.theta;
		return gr_fit_enter(fit, GR_PHASE_NULL, host, err);
	}
	return ask(fit, GR_PHASE_LIKELIHOOD);
}

bool
gr_likelihood_take(GrGlmFit *fit, const GrHost *host, GrError *err)
{
	GrGlmState *state = fit->state;
	double		curvature = sum_of(fit, state->nfull + 1);

	fit->theta = state->options.distribution.theta;
	fit->theta_runs_off = fit->theta == GR_THETA_POISSON && state->negbin.settled && !state->negbin.failed;
	fit->theta_error = fit->theta < GR_THETA_POISSON && curvature < 0 ? fit->theta / sqrt(-curvature) : NAN;
	fit->log_likelihood = -0.5 * (fit->sums[GR_SUM_DEVIANCE_HI] + fit->sums[GR_SUM_DEVIANCE_LO]);
	fit->converged &= state->negbin.settled && !state->negbin.failed;
	return gr_fit_enter(fit, GR_PHASE_NULL, host, err);
}
