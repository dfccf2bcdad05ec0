/*
 * negbin.c: the phases of a fit that estimate the negative binomial distribution's theta; see negbin.h.
 */
#include "compute/negbin.h"

#include <limits.h>
#include <math.h>

#include "compute/mixing.h"
#include "compute/negbin_row.h"
#include "compute/phases.h"

/* A move of theta this short, in standard errors, is the last one. */
#define LAST_LENGTH 1e-12

/* Shorter moves that don't shrink are rounding error's. */
#define STALLED_LENGTH 1e-6

/* beta's step is to be shorter than this share of theta's last one before theta moves again. */
#define BETA_SHARE 0.02

/* Before theta moves from where it begins beta's step is to be shorter than this. */
#define FIRST_LENGTH 1e-5

/* Longer moves stay between thetas from which the likelihood rises towards each other. */
#define LOCAL_LENGTH 0.1

/* A secant's move is no longer than this many of Newton's. */
#define SECANT_MAX 20.0

/* The longest move of log(theta) */
#define REACH 2.0

/* Steps before a direction of separation is looked for */
#define ATTEMPT_AFTER 5

/* Beyond this theta the distribution's variance is Poisson's to all digits, for counts that a float8 can tell apart. */
#define LARGEST 1e18

void
gr_negbin_begin(GrLogregFit *fit)
{
	GrLogregState *state = fit->state;

	if (state->options.estimate_theta)
		state->options.distribution.theta = GR_THETA_POISSON;
	fit->theta = state->options.distribution.theta;
	fit->theta_error = fit->log_likelihood = NAN;
	state->negbin.length = FIRST_LENGTH / BETA_SHARE;
	state->negbin.log_theta = state->negbin.score = NAN;
	state->negbin.low = -INFINITY;
	state->negbin.high = INFINITY;
}

bool
gr_negbin_is_next(GrLogregFit *fit, bool converged)
{
	GrLogregState *state = fit->state;

	state->negbin.beta_ended = converged;
	return state->options.estimate_theta && !state->negbin.settled &&
		(state->options.distribution.theta != GR_THETA_POISSON || state->kind == GR_PASS_EXACT) &&
		(converged || sqrt(state->decrement) <= BETA_SHARE * fmin(state->negbin.length, 1));
}

static bool
ask(GrLogregFit *fit, GrLogregPhase phase)
{
	gr_fit_ask(fit, phase, GR_PASS_EXACT);
	fit->pass.measure = GR_MEASURE_THETA;
	return true;
}

bool
gr_theta_enter(GrLogregFit *fit, const GrHost *host, GrError *err)
{
	GrLogregState *state = fit->state;

	(void) host;
	(void) err;
	state->negbin.pearson = gr_fit_hi(fit)[gr_at(state->nfull + 1, state->nfull + 1)];
	return ask(fit, GR_PHASE_THETA);
}

/* The sum with the ones of u, row 1, or of v, the last */
static double
sum_of(GrLogregFit *fit, int row)
{
	return gr_fit_hi(fit)[gr_at(row, 0)] + gr_fit_lo(fit)[gr_at(row, 0)];
}

/*
 * After a Poisson regression: where theta is to begin, by the moments: squared Pearson residuals are 1 + mu / theta on
 * the average. Or 0, where the likelihood rises up to here.
 */
static double
first_theta(GrLogregFit *fit, double score)
{
	const GrLogregState *state = fit->state;
	const GrRowTotals *totals = state->options.totals;
	double		rounding = 1e-14 * sqrt(fit->sums[GR_SUM_NROWS] * gr_fit_hi(fit)[gr_at(1, 1)]);
	double		excess = state->negbin.pearson - (totals->weights - fit->rank);

	if (!(score < -rounding))
		return 0;
	/* or by the score, as if all means were the same */
	if (!(excess > 0))
		return totals->ones / totals->weights * totals->ones / (-2 * score * GR_THETA_POISSON);
	return totals->ones / excess;
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
next_theta(GrThetaState *negbin, const GrLogregOptions *options, double score, double curvature)
{
	double		theta = options->distribution.theta;
	double		last = options->tol > 1e-10 ? options->tol : LAST_LENGTH;
	double		length = curvature < 0 ? fabs(score) / sqrt(-curvature) : INFINITY;
	double		before = negbin->length;
	double		move;

	negbin->length = length;
	move = bounded_move(negbin, log(theta), score, newton_move(score, curvature));
	negbin->log_theta = log(theta);
	negbin->score = score;
	if (negbin->beta_ended && (length <= last || (length <= STALLED_LENGTH && length > 0.5 * before)))
		negbin->settled = true;
	else if (negbin->nmoves >= options->max_iter)
		negbin->settled = negbin->failed = true;
	return theta * exp(move);
}

/* Beta goes on from where it was, with as many steps as at the beginning; what is known of its steps is of before. */
static bool
resume(GrLogregFit *fit, const GrHost *host, GrError *err)
{
	GrLogregState *state = fit->state;
	bool		done;

	state->max_iter = (int64_t) fit->iterations + state->options.max_iter;
	if (state->max_iter > INT_MAX)
		state->max_iter = INT_MAX;
	state->next_attempt = (int64_t) fit->iterations + ATTEMPT_AFTER;
	gr_mixing_improve(state);
	gr_mixing_break(state);
	done = gr_fit_enter(fit, GR_PHASE_ITERATE, host, err);
	state->deviance_old = INFINITY;
	state->decrement = INFINITY;
	state->decrement_exact = 0;
	return done;
}

bool
gr_theta_take(GrLogregFit *fit, const GrHost *host, GrError *err)
{
	GrLogregState *state = fit->state;
	GrThetaState *negbin = &state->negbin;
	double	   *theta = &state->options.distribution.theta;
	double		score = sum_of(fit, 1);
	double		curvature = sum_of(fit, state->nfull + 1);
	bool		first = *theta == GR_THETA_POISSON;

	if (!isfinite(score) || !isfinite(curvature))
		negbin->settled = negbin->failed = true;
	else if (first)
	{
		double		begin = first_theta(fit, score);

		negbin->settled = begin == 0;
		negbin->length = INFINITY;
		*theta = begin == 0 ? GR_THETA_POISSON : begin;
	}
	else
		*theta = next_theta(negbin, &state->options, score, curvature);
	if (*theta > LARGEST)
	{
		negbin->settled = true;
		*theta = GR_THETA_POISSON;
	}
	negbin->nmoves++;
	return resume(fit, host, err);
}

bool
gr_likelihood_enter(GrLogregFit *fit, const GrHost *host, GrError *err)
{
	if (!fit->state->options.estimate_theta)
		return gr_fit_enter(fit, GR_PHASE_NULL, host, err);
	return ask(fit, GR_PHASE_LIKELIHOOD);
}

bool
gr_likelihood_take(GrLogregFit *fit, const GrHost *host, GrError *err)
{
	GrLogregState *state = fit->state;
	double		curvature = sum_of(fit, state->nfull + 1);

	fit->theta = state->options.distribution.theta;
	fit->theta_runs_off = fit->theta == GR_THETA_POISSON && state->negbin.settled && !state->negbin.failed;
	fit->theta_error = fit->theta < GR_THETA_POISSON && curvature < 0 ? fit->theta / sqrt(-curvature) : NAN;
	fit->log_likelihood = -0.5 * (fit->sums[GR_SUM_DEVIANCE_HI] + fit->sums[GR_SUM_DEVIANCE_LO]);
	fit->converged &= state->negbin.settled && !state->negbin.failed;
	return gr_fit_enter(fit, GR_PHASE_NULL, host, err);
}
