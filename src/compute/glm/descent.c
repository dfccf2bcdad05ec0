/*
 * descent.c: gradient descent and L-BFGS, the solvers of logistic regression that need no Hessian.
 *
 * With a learning rate, gradient descent is the classic batch update in the features' own units,
 * beta += rate X'(y - mu). Without a learning rate, the length of a step comes from the effect of the last step on the
 * gradient (Barzilai and Borwein 1988). This variant and L-BFGS (Nocedal 1980; two-loop recursion of Liu and Nocedal
 * 1989) work on centred terms, scaled to unit curvature at beta = 0, with a backtracking line search. Every variant has
 * converged when each component of the gradient is below tol times its standard deviation at beta = 0.
 */
#include <math.h>
#include <string.h>

#include "compute/base/arena.h"
#include "compute/glm/phases.h"
#include "compute/glm/terms.h"

#define CHECK_EVERY 10			/* iterations of gradient ascent between checks for convergence */
#define NPAIRS 60				/* pairs that L-BFGS remembers; a pass over the rows costs far more than two loops
								 * over the pairs */

/*
 * Working memory of L-BFGS, which minimises. Vectors are full and in the scaled terms. Gradient descent keeps one pair
 * and uses only the step length of the pair.
 */
typedef struct Lbfgs
{
	bool		steepest;		/* the solver is gradient descent */
	int			npairs_max;
	int			npairs;			/* pairs in s, y and sy, oldest first */
	bool		started;
	double		f;				/* penalised deviance / 2 at the last accepted point */
	double		slope;			/* derivative of f along direction at the last accepted point */
	double	   *gradient;		/* gradient at the last accepted point */
	double	   *direction;
	double	   *trial;			/* gradient at the trial point */
	double	   *s[NPAIRS];
	double	   *y[NPAIRS];
	double		sy[NPAIRS];
} Lbfgs;

static int
npairs_max(const GrGlmOptions *options)
{
	return options->solver == GR_SOLVER_GD ? 1 : NPAIRS;
}

/* Carves an Lbfgs and its vectors from arena. Returns NULL if arena only counts bytes. */
static Lbfgs *
carve_lbfgs(const GrGlmOptions *options, GrArena *arena)
{
	int			nfull = gr_nterms(options->shape.nfeatures);
	Lbfgs	   *carved = gr_carve(arena, sizeof(Lbfgs));
	Lbfgs		counted;
	Lbfgs	   *l = carved == NULL ? &counted : carved;

	memset(l, 0, sizeof(*l));
	l->gradient = gr_carve_doubles(arena, nfull);
	l->direction = gr_carve_doubles(arena, nfull);
	l->trial = gr_carve_doubles(arena, nfull);
	for (int k = 0; k < npairs_max(options); k++)
	{
		l->s[k] = gr_carve_doubles(arena, nfull);
		l->y[k] = gr_carve_doubles(arena, nfull);
	}
	return carved;
}

size_t
gr_descent_nbytes(const GrGlmOptions *options)
{
	GrArena		arena = {.base = NULL};

	(void) carve_lbfgs(options, &arena);
	return arena.used;
}

static Lbfgs *
lbfgs_of(const GrGlmState *state)
{
	return (Lbfgs *) state->memory;
}

static void
lbfgs_begin(GrGlmState *state)
{
	GrArena		arena = {.base = (char *) state->memory};
	Lbfgs	   *l = carve_lbfgs(&state->options, &arena);

	l->steepest = state->options.solver == GR_SOLVER_GD;
	l->npairs_max = npairs_max(&state->options);
}

/* Reads the sums of w, w x_j and w x_j^2 at beta = 0 from the first pass, EXACT or GRADIENT. j = 0 is the intercept. */
static void
moments(GrGlmFit *fit, int j, double *first, double *diagonal)
{
	const GrGlmState *state = fit->state;

	if (state->dense)
	{
		*first = gr_fit_hi(fit)[gr_at(j + 1, 1)];
		*diagonal = state->scale[j] * state->scale[j];
	}
	else
	{
		*first = fit->sums[GR_SUM_HEAD + 2 * state->nfull + j];
		*diagonal = fit->sums[GR_SUM_HEAD + 3 * state->nfull + j];
	}
}

/* Sets the scales of uncentred features. */
static void
scale_plainly(GrGlmFit *fit)
{
	GrGlmState *state = fit->state;
	double		weight;
	double		first;
	double		diagonal;

	moments(fit, 0, &weight, &diagonal);
	state->scale[0] = sqrt(weight);
	for (int j = 1; j < state->nfull; j++)
	{
		moments(fit, j, &first, &diagonal);
		state->scale[j] = sqrt(diagonal);
	}
}

/*
 * Sets shifts and scales from float8 sums. *again is set to true if some spread is too small against its mean; the
 * scales then have to come from a pass about the shifts.
 */
static void
shift_roughly(GrGlmFit *fit, bool *again)
{
	GrGlmState *state = fit->state;
	double		weight;
	double		first;
	double		diagonal;

	scale_plainly(fit);
	*again = false;
	moments(fit, 0, &weight, &diagonal);
	for (int j = 1; j < state->nfull && state->options.intercept; j++)
	{
		double		mean;
		double		variance;

		moments(fit, j, &first, &diagonal);
		mean = first / weight;
		variance = diagonal / weight - mean * mean;
		state->shift[j - 1] = mean;
		*again |= !(variance > 1e-6 * mean * mean) && mean != 0;
		state->scale[j] = variance > 0 ? sqrt(variance * weight) : 0;
	}
}

/*
 * Takes the pass at 0 about the shifts and sets the scales. A constant feature gets scale 0, as the intercept covers
 * it.
 */
bool
gr_shifted_take(GrGlmFit *fit, const GrHost *host, GrError *err)
{
	GrGlmState *state = fit->state;
	double		weight;
	double		first;
	double		diagonal;

	(void) host;
	(void) err;
	moments(fit, 0, &weight, &diagonal);
	for (int j = 1; j < state->nfull; j++)
	{
		double		shift = state->shift[j - 1];

		moments(fit, j, &first, &diagonal);
		/* a constant's sum of squares about its rounded mean is only rounding error */
		state->scale[j] = diagonal > 1e-31 * shift * shift * weight ? sqrt(diagonal) : 0;
	}
	return gr_fit_ask(fit, GR_PHASE_DESCENT, GR_PASS_GRADIENT);
}

/* Sets shifts and scales. *again is set to true if the phase SHIFTED has to find the scales. */
static void
choose_scales(GrGlmFit *fit, bool *again)
{
	*again = false;
	if (gr_fit_is_classic(&fit->state->options))
		scale_plainly(fit);
	else if (fit->state->dense)
	{
		/* shift every mean, however small: columns with a common mean are nearly collinear, as the intercept changes */
		gr_terms_choose_shift(fit, 0);
		gr_terms_choose_scale(fit);
		/* a collinear term stays at 0, as in Newton's method */
		for (int k = 0; k < fit->nterms; k++)
			if (fit->state->aliased[k])
				fit->state->scale[k + fit->state->first] = 0;
	}
	else
		shift_roughly(fit, again);
}

/* Starts classic gradient ascent, on the caller's side if the caller can do so. */
static bool
begin_classic(GrGlmFit *fit, const GrHost *host, GrError *err)
{
	GrGlmState *state = fit->state;
	const GrGlmOptions *options = &state->options;

	fit->ascent.intercept = options->intercept;
	fit->ascent.rate = options->learning_rate;
	fit->ascent.l2 = options->l2;
	fit->ascent.check_every = CHECK_EVERY;
	fit->ascent.max_iter = options->max_iter;
	fit->ascent.scale = state->delta;
	for (int j = 0; j < state->nfull; j++)
		state->delta[j] = j < state->first ? INFINITY : options->tol * state->scale[j];
	memset(fit->beta, 0, (size_t) state->nfull * sizeof(double));
	if (options->can_ascend)
		return gr_fit_enter(fit, GR_PHASE_ASCEND, host, err);
	return gr_fit_ask(fit, GR_PHASE_DESCENT, GR_PASS_GRADIENT);
}

bool
gr_descent_enter(GrGlmFit *fit, const GrHost *host, GrError *err)
{
	GrGlmState *state = fit->state;
	const GrGlmOptions *options = &state->options;
	bool		again;

	for (int j = 1; j < state->nfull && !state->dense; j++)
	{
		double		first;
		double		diagonal;

		moments(fit, j, &first, &diagonal);
		if (!isfinite(diagonal))
			return gr_fail(err, GR_OUT_OF_RANGE, gr_column_of_row(GR_ROWS_TERMS, j), "sum of squares is %g", diagonal);
	}
	choose_scales(fit, &again);
	if (gr_fit_is_classic(options))
		return begin_classic(fit, host, err);
	lbfgs_begin(state);
	/* with offsets, beta = 0 may be far from the estimate, so begin at the least-squares fit of the first pass */
	if (options->shape.offset && state->dense)
		gr_terms_shift(fit, state->delta, state->theta);
	return gr_fit_ask(fit, again ? GR_PHASE_SHIFTED : GR_PHASE_DESCENT, GR_PASS_GRADIENT);
}

static bool
last_pass(GrGlmFit *fit)
{
	return gr_fit_ask(fit, GR_PHASE_LAST, fit->state->dense ? GR_PASS_EXACT : GR_PASS_GRADIENT);
}

bool
gr_ascend_take(GrGlmFit *fit, const GrHost *host, GrError *err)
{
	(void) host;
	(void) err;
	memcpy(fit->state->theta, fit->beta, (size_t) fit->state->nfull * sizeof(double));
	fit->iterations = (int) fit->ascended;
	fit->converged = fit->ascent_converged;
	return last_pass(fit);
}

/* Returns component j of the gradient of the penalised log-likelihood. */
static double
gradient_at(const GrGlmFit *fit, int j)
{
	const GrGlmState *state = fit->state;

	if (j < state->first)
		return 0;
	return fit->sums[GR_SUM_HEAD + j] + fit->sums[GR_SUM_HEAD + state->nfull + j] -
		(j > 0 ? state->options.l2 * state->theta[j] : 0);
}

static bool
ascend(GrGlmFit *fit)
{
	GrGlmState *state = fit->state;
	bool		small = true;

	for (int j = state->first; j < state->nfull; j++)
	{
		double		gradient = gradient_at(fit, j);

		small &= fabs(gradient) <= state->delta[j];
		state->theta[j] += fit->ascent.rate * gradient;
	}
	fit->iterations++;
	fit->converged = small && fit->iterations % CHECK_EVERY == 0;
	if (fit->converged || fit->iterations >= state->options.max_iter)
		return last_pass(fit);
	return gr_fit_ask(fit, GR_PHASE_DESCENT, GR_PASS_GRADIENT);
}

/*
 * L-BFGS
 */

static double
dot(const double *a, const double *b, int n)
{
	double		sum = 0;

	for (int k = 0; k < n; k++)
		sum += a[k] * b[k];
	return sum;
}

/* Sets direction to -(approximate inverse Hessian) gradient. */
static void
two_loops(Lbfgs *l, int n)
{
	double		alpha[NPAIRS];
	double	   *d = l->direction;

	for (int j = 0; j < n; j++)
		d[j] = -l->gradient[j];
	for (int k = l->npairs - 1; k >= 0 && !l->steepest; k--)
	{
		alpha[k] = dot(l->s[k], d, n) / l->sy[k];
		for (int j = 0; j < n; j++)
			d[j] -= alpha[k] * l->y[k][j];
	}
	if (l->npairs > 0)
	{
		int			k = l->npairs - 1;
		double		gamma = l->sy[k] / dot(l->y[k], l->y[k], n);

		for (int j = 0; j < n; j++)
			d[j] *= gamma;
	}
	for (int k = 0; k < l->npairs && !l->steepest; k++)
	{
		double		b = dot(l->y[k], d, n) / l->sy[k];

		for (int j = 0; j < n; j++)
			d[j] += (alpha[k] - b) * l->s[k][j];
	}
	l->slope = dot(d, l->gradient, n);
	if (!(l->slope < 0))
	{
		l->npairs = 0;
		for (int j = 0; j < n; j++)
			d[j] = -l->gradient[j];
		l->slope = -dot(l->gradient, l->gradient, n);
	}
}

/* Adds the last step and the change of the gradient to the pairs, in place of the oldest pair if all are in use. */
static void
remember_pair(Lbfgs *l, const GrGlmState *state)
{
	int			n = state->nfull;
	int			k = l->npairs < l->npairs_max ? l->npairs : 0;
	double	   *s = l->s[k];
	double	   *y = l->y[k];
	double		sy;

	if (l->npairs == l->npairs_max)
	{
		for (int i = 1; i < l->npairs_max; i++)
		{
			l->s[i - 1] = l->s[i];
			l->y[i - 1] = l->y[i];
			l->sy[i - 1] = l->sy[i];
		}
		l->s[l->npairs_max - 1] = s;
		l->y[l->npairs_max - 1] = y;
		l->npairs--;
	}
	for (int j = 0; j < n; j++)
	{
		s[j] = state->step * l->direction[j];
		y[j] = l->trial[j] - l->gradient[j];
	}
	sy = dot(s, y, n);
	if (sy > 1e-14 * dot(y, y, n))
		l->sy[l->npairs++] = sy;
}

static bool
lbfgs_try(GrGlmFit *fit, Lbfgs *l)
{
	GrGlmState *state = fit->state;

	for (int j = state->first; j < state->nfull; j++)
		if (state->scale[j] > 0)
			state->theta[j] = state->theta_old[j] + state->step * l->direction[j] / state->scale[j];
	return gr_fit_ask(fit, GR_PHASE_DESCENT, GR_PASS_GRADIENT);
}

/*
 * True if f at the trial point satisfies the Armijo condition or, where f no longer resolves the change, if the slope
 * has become flatter.
 */
static bool
acceptable(const Lbfgs *l, const GrGlmState *state, double f)
{
	if (f <= l->f + 1e-4 * state->step * l->slope)
		return true;
	return f <= l->f + 1e-13 * fabs(l->f) && fabs(dot(l->direction, l->trial, state->nfull)) <= 0.9 * fabs(l->slope);
}

static bool
lbfgs_advance(GrGlmFit *fit)
{
	GrGlmState *state = fit->state;
	Lbfgs	   *l = lbfgs_of(state);
	double		penalty = 0;
	double		largest = 0;
	double		f;

	for (int j = 0; j < state->nfull; j++)
	{
		double		gradient = state->scale[j] > 0 ? -gradient_at(fit, j) / state->scale[j] : 0;

		l->trial[j] = gradient;
		largest = fmax(largest, fabs(gradient));
		penalty += j > 0 ? state->theta[j] * state->theta[j] : 0;
	}
	f = 0.5 * (fit->sums[GR_SUM_DEVIANCE_HI] + state->options.l2 * penalty);
	if (l->started && !acceptable(l, state, f))
	{
		double		shorter = -0.5 * l->slope * state->step * state->step / (f - l->f - l->slope * state->step);

		state->step = shorter > 0.1 * state->step && shorter < 0.5 * state->step ? shorter : 0.3 * state->step;
		if (state->step > 1e-12)
			return lbfgs_try(fit, l);
		/* nothing lower is found: the rest is rounding error */
		memcpy(state->theta, state->theta_old, (size_t) state->nfull * sizeof(double));
		state->stalled = true;
		return last_pass(fit);
	}
	if (l->started)
	{
		remember_pair(l, state);
		fit->iterations++;
	}
	l->started = true;
	l->f = f;
	memcpy(l->gradient, l->trial, (size_t) state->nfull * sizeof(double));
	memcpy(state->theta_old, state->theta, (size_t) state->nfull * sizeof(double));
	fit->converged = largest <= state->options.tol;
	if (fit->converged || fit->iterations >= state->options.max_iter)
		return last_pass(fit);
	two_loops(l, state->nfull);
	state->step = 1;
	return lbfgs_try(fit, l);
}

bool
gr_descent_take(GrGlmFit *fit, const GrHost *host, GrError *err)
{
	(void) host;
	(void) err;
	return gr_fit_is_classic(&fit->state->options) ? ascend(fit) : lbfgs_advance(fit);
}
