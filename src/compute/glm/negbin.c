/*
 * negbin.c: the phases of a fit that estimate the negative binomial distribution's theta; see negbin.h.
 */
#include "compute/glm/negbin.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "compute/glm/mixing.h"
#include "compute/glm/negbin_row.h"
#include "compute/glm/phases.h"

/* A move of theta this short, in standard errors, is the last one. */
#define LAST_LENGTH 1e-12

/* Shorter moves that don't shrink are rounding error's. */
#define STALLED_LENGTH 1e-9

/* beta's step is to be shorter than this share of theta's last one before theta moves again. */
#define BETA_SHARE 0.02

/* After a Newton step whose squared length is this beta is as near its estimate as it gets. */
#define LAST_DECREMENT 1e-14

/* Before theta moves from where it begins beta's step is to be shorter than this. */
#define FIRST_LENGTH 1e-5

/* Longer moves stay between thetas from which the likelihood rises towards each other. */
#define LOCAL_LENGTH 0.1

/* A secant's move is no longer than this many of Newton's. */
#define SECANT_MAX 20.0

/* The longest move of log(theta) */
#define REACH 2.0

/* Theta begins no lower than at this share of the mean count. */
#define LEAST_BEGIN 1e-4

/* Steps before a direction of separation is looked for */
#define ATTEMPT_AFTER 5

/*
 * Thetas that are tried where the likelihood rises up to an infinite theta: the mean count times FARTHEST, that times
 * NEARER, and so on, NTRIALS of them. Of 1,500 random samples of 8 to 59 rows, the likelihoods of 495 rise there; 7 of
 * these have a maximum at a finite theta, from 0.005 to 4 times the mean count.
 */
#define NTRIALS 8
#define FARTHEST 16.0
#define NEARER 0.25

/* Beyond this theta the distribution's variance is Poisson's to all digits, for counts that a float8 can tell apart. */
#define LARGEST 1e18

void
gr_negbin_begin(GrGlmFit *fit)
{
	GrGlmState *state = fit->state;

	if (state->options.estimate_theta)
		state->options.distribution.theta = GR_THETA_POISSON;
	fit->theta = state->options.distribution.theta;
	fit->theta_error = fit->log_likelihood = NAN;
	state->negbin.length = FIRST_LENGTH / BETA_SHARE;
	state->negbin.log_theta = state->negbin.score = NAN;
	state->negbin.low = -INFINITY;
	state->negbin.high = INFINITY;
	state->negbin.trial = 0;
	state->negbin.tried = state->observed = false;
	state->negbin.follow = state->negbin.moved = 0;
}

/* True if beta is so near its estimate that theta may move. converged: there is no further step of beta */
static bool
beta_is_near(GrGlmState *state, bool converged)
{
	double		longest = BETA_SHARE * fmin(state->negbin.length, 1);

	/* the step is taken before theta is looked at; what it leaves is as its square */
	if (state->observed)
		return converged || state->decrement <= longest;
	return converged || sqrt(state->decrement) <= longest;
}

bool
gr_negbin_is_next(GrGlmFit *fit, bool converged)
{
	GrGlmState *state = fit->state;
	GrThetaState *negbin = &state->negbin;

	negbin->beta_ended = converged || (state->observed && state->decrement <= LAST_DECREMENT);
	/* the first step after a move of theta: its length tells how far beta follows */
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
	for (int j = 0; j < state->nfull && state->observed; j++)
	{
		state->theta[j] += state->delta[j];
		state->delta[j] = 0;
	}
	state->negbin.pearson = gr_fit_hi(fit)[gr_at(state->nfull + 1, state->nfull + 1)];
	return ask(fit, GR_PHASE_THETA);
}

/* The sum with the ones of u, row 1, or of v, the last */
static double
sum_of(GrGlmFit *fit, int row)
{
	return gr_fit_hi(fit)[gr_at(row, 0)] + gr_fit_lo(fit)[gr_at(row, 0)];
}

/*
 * After a Poisson regression: where theta is to begin, by the moments: squared Pearson residuals are 1 + mu / theta on
 * the average. Or 0, where the likelihood rises up to here.
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
	/* or by the score, as if all means were the same */
	if (!(excess > 0))
		return totals->ones * mean / (-2 * score * GR_THETA_POISSON);
	/* a count where hardly any is expected has a residual of any size */
	return fmax(totals->ones / excess, LEAST_BEGIN * mean);
}

/*
 * By how much log(theta) is to move: by Newton's method, of 1 / theta where the likelihood is concave in that, or else
 * of the logarithm. score, curvature: theta times its first, theta^2 times its second derivative
 */
static double
newton_move(double score, double curvature)
{
	double		growth = score / (curvature + 2 * score);	/* of 1 / theta, relatively */
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
 * The same where moves are short: by the secant, which has in it how beta follows theta. By how much less the score
 * changes then is bounded.
 */
static double
secant_move(const GrThetaState *negbin, double log_theta, double score, double move)
{
	double		secant = (negbin->score - score) * (log_theta - negbin->log_theta);
	double		by_secant = score * (log_theta - negbin->log_theta) / (negbin->score - score);

	return secant > 0 && by_secant / move > 0.5 && by_secant / move < SECANT_MAX ? by_secant : move;
}

/* A move between the bounds, which are noted where it is long, or by the secant */
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

/* Theta after a move from a finite one; settles it where that was the last. */
static double
next_theta(GrThetaState *negbin, const GrGlmOptions *options, double score, double curvature)
{
	double		theta = options->distribution.theta;
	double		last = options->tol > 1e-10 ? options->tol : LAST_LENGTH;
	double		length = curvature < 0 ? fabs(score) / sqrt(-curvature) : INFINITY;
	double		before = negbin->length;
	double		move;

	negbin->length = length;
	/* beta that follows takes so much of the curvature */
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
 * Beta goes on from where it was, with as many steps as at the beginning; what is known of its steps is of before.
 * expects: steps were Newton's, and are of expected weights from now on
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

/* Makes theta infinite again, and beta what it was there: that is the estimate. */
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

/* Sets theta to the next trial's, or to the infinite one if no trial is left. */
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

/* Sets theta after the Poisson regression: where it begins, or to the first trial if the likelihood rises so far. */
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
}

/*
 * True if there is a maximum at a finite theta: if the likelihood falls from a trial's theta on, or is greater than at
 * the infinite one
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

bool
gr_theta_take(GrGlmFit *fit, const GrHost *host, GrError *err)
{
	GrGlmState *state = fit->state;
	GrThetaState *negbin = &state->negbin;
	double	   *theta = &state->options.distribution.theta;
	double		score = sum_of(fit, 1);
	double		curvature = sum_of(fit, state->nfull + 1);
	bool		was_observed = state->observed;

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
	/* of two maxima the greater one */
	if (negbin->settled && negbin->trial > 0 && (negbin->failed || !(gr_fit_deviance(fit) < negbin->limit)))
		return_to_limit(state);
	/* the covariances are of expected weights */
	state->observed &= !negbin->settled;
	return resume(fit, was_observed && negbin->settled, host, err);
}

bool
gr_likelihood_enter(GrGlmFit *fit, const GrHost *host, GrError *err)
{
	if (!fit->state->options.estimate_theta)
		return gr_fit_enter(fit, GR_PHASE_NULL, host, err);
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
