/*
 * logreg.c: logistic regression by Newton's method; see logreg.h.
 */
#include "compute/logreg.h"

#include <math.h>
#include <string.h>

#include "compute/dd.h"
#include "compute/logreg_state.h"

/* A last step this short, in standard errors, is as good as none: estimates are right to their last digits. */
#define EXACT_TOL 1e-13

/* Below this squared decrement full steps are safe, and deviances too close to compare. */
#define CHECKED_DECREMENT 1e-3

/* A pivot this small in a step's Hessian is rounding error; the term stays where it is. */
#define FROZEN_TOLERANCE 1e-28

#define HALVINGS_MIN_STEP 1e-9

double
gr_logistic(double eta)
{
	double		t = exp(-fabs(eta));

	return eta >= 0 ? 1.0 / (1.0 + t) : t / (1.0 + t);
}

/*
 * Memory
 */

/* Hands out parts of one allocation; with base NULL it only counts. */
typedef struct Arena
{
	char	   *base;
	size_t		used;
} Arena;

static void *
take(Arena *arena, size_t nbytes)
{
	void	   *p = arena->base == NULL ? NULL : arena->base + arena->used;

	arena->used += (nbytes + 15) & ~(size_t) 15;
	return p;
}

static double *
take_doubles(Arena *arena, size_t n)
{
	return take(arena, n * sizeof(double));
}

static bool
is_dense(const GrLogregOptions *options)
{
	return options->solver == GR_SOLVER_NEWTON || options->nfeatures + 1 <= GR_LOGREG_DENSE_TERMS;
}

static void
lay_out(Arena *arena, const GrLogregOptions *options, GrLogregFit *fit, GrLogregState *state)
{
	size_t		p = (size_t) options->nfeatures;
	size_t		nterms = p + (options->intercept ? 1 : 0);
	bool		dense = is_dense(options);

	fit->sums = take_doubles(arena, gr_pass_nsums(dense ? GR_PASS_EXACT : GR_PASS_GRADIENT, options->nfeatures));
	fit->beta = take_doubles(arena, p + 1);
	fit->coef = take_doubles(arena, nterms);
	fit->vcov = dense ? take_doubles(arena, nterms * nterms) : NULL;
	fit->separated = take(arena, nterms * sizeof(int));
	state->theta = take_doubles(arena, p + 1);
	state->theta_old = take_doubles(arena, p + 1);
	state->delta = take_doubles(arena, p + 1);
	state->shift = take_doubles(arena, p);
	state->no_shift = take_doubles(arena, p);
	state->scale = take_doubles(arena, p + 1);
	state->removed = take_doubles(arena, p + 1);
	state->faces = take_doubles(arena, GR_FACES_MAX * (p + 1));
	state->aliased = take(arena, nterms * sizeof(bool));
	state->frozen = take(arena, nterms * sizeof(bool));
	state->solution = take_doubles(arena, nterms);
	state->triangle = dense ? take_doubles(arena, 2 * (size_t) gr_triangle((int64_t) nterms + 1)) : NULL;
	state->workspace = dense ? take(arena, gr_ols_workspace_nbytes((int) nterms)) : NULL;
	state->memory = options->solver == GR_SOLVER_LBFGS ? take(arena, gr_descent_nbytes(options)) : NULL;
}

size_t
gr_logreg_nbytes(const GrLogregOptions *options)
{
	Arena		arena = {NULL, 0};
	GrLogregFit fit;
	GrLogregState state;

	take(&arena, sizeof(GrLogregFit));
	take(&arena, sizeof(GrLogregState));
	lay_out(&arena, options, &fit, &state);
	return arena.used;
}

GrLogregFit *
gr_logreg_begin(void *memory, const GrLogregOptions *options)
{
	Arena		arena = {memory, 0};
	GrLogregFit *fit = take(&arena, sizeof(GrLogregFit));
	GrLogregState *state = take(&arena, sizeof(GrLogregState));
	size_t		full_nbytes = ((size_t) options->nfeatures + 1) * sizeof(double);

	memset(fit, 0, sizeof(*fit));
	memset(state, 0, sizeof(*state));
	lay_out(&arena, options, fit, state);
	fit->state = state;
	fit->nterms = options->nfeatures + (options->intercept ? 1 : 0);
	state->options = *options;
	state->nfull = options->nfeatures + 1;
	state->first = options->intercept ? 0 : 1;
	state->dense = is_dense(options);
	state->max_iter = options->max_iter;
	state->next_attempt = 5;
	memset(state->theta, 0, full_nbytes);
	memset(state->theta_old, 0, full_nbytes);
	memset(state->delta, 0, full_nbytes);
	memset(state->shift, 0, full_nbytes - sizeof(double));
	memset(state->no_shift, 0, full_nbytes - sizeof(double));
	memset(state->removed, 0, full_nbytes);
	memset(state->aliased, 0, (size_t) fit->nterms * sizeof(bool));
	memset(fit->separated, 0, (size_t) fit->nterms * sizeof(int));
	gr_logreg_ask(fit, GR_PHASE_START, state->dense ? GR_PASS_EXACT : GR_PASS_GRADIENT);
	return fit;
}

void
gr_logreg_ask(GrLogregFit *fit, GrLogregPhase phase, GrPassKind kind)
{
	GrLogregState *state = fit->state;

	state->phase = phase;
	fit->pass.kind = kind;
	fit->pass.nfeatures = state->options.nfeatures;
	fit->pass.beta = kind == GR_PASS_FACE ? NULL : state->theta;
	fit->pass.shift = kind == GR_PASS_FACE ? state->no_shift : state->shift;
	fit->pass.nfaces = state->nfaces + (kind == GR_PASS_FACE ? 1 : 0);
	fit->pass.faces = state->faces;
	fit->pass.face_absolute = state->face_absolute;
	fit->pass.face_relative = 1e-11;
	gr_pass_clear(kind, state->options.nfeatures, fit->sums);
}

GrLogregWant
gr_logreg_next(GrLogregFit *fit)
{
	switch (fit->state->phase)
	{
		case GR_PHASE_DONE:
			return GR_LOGREG_DONE;
		case GR_PHASE_ASCEND:
			return GR_LOGREG_ASCEND;
		default:
			return GR_LOGREG_PASS;
	}
}

/*
 * Newton steps
 */

static void
add_to(double *hi, double *lo, int64_t k, GrDD value)
{
	GrDD		sum = {hi[k], lo[k]};

	sum = gr_dd_add(sum, value);
	hi[k] = sum.hi;
	lo[k] = sum.lo;
}

/* The penalty's part of a triangle whose row first_row is of full term 0: l2 on the diagonal, -l2 b in the last row */
static void
add_penalty(double *hi, double *lo, int first_row, int last_row, double l2, const double *theta, int nfull)
{
	if (l2 == 0)
		return;
	for (int j = 1; j < nfull; j++)
	{
		int			row = first_row + j;

		add_to(hi, lo, gr_at(row, row), gr_dd(l2));
		add_to(hi, lo, gr_at(last_row, row), gr_dd_neg(gr_two_prod(l2, theta[j])));
	}
}

/* FAST's sums as a triangle of the terms, the gradient as its last row; false if canceled */
static bool
load_fast(GrLogregFit *fit, double *hi, double *lo, const GrHost *host)
{
	GrLogregState *state = fit->state;
	GrPoll		poll = {.host = host};
	int			first = state->first;
	const double *gradient_hi = fit->sums + GR_SUM_HEAD;
	const double *gradient_lo = gradient_hi + state->nfull;
	const double *hessian = gradient_lo + state->nfull;

	memset(lo + gr_at(fit->nterms, 0), 0, ((size_t) fit->nterms + 1) * sizeof(double));
	for (int i = 0; i < fit->nterms; i++)
	{
		if (gr_poll(&poll, 4 * (i + 1)))
			return false;
		memcpy(hi + gr_at(i, 0), hessian + gr_at(i + first, first), ((size_t) i + 1) * sizeof(double));
		memset(lo + gr_at(i, 0), 0, ((size_t) i + 1) * sizeof(double));
		hi[gr_at(fit->nterms, i)] = gradient_hi[i + first];
		lo[gr_at(fit->nterms, i)] = gradient_lo[i + first];
	}
	hi[gr_at(fit->nterms, fit->nterms)] = 0;
	return true;
}

/* The Newton step that the sums give, into delta, and its squared decrement; the penalty is added to the sums. */
static bool
solve_step(GrLogregFit *fit, double tolerance, bool *aliased, double *decrement, const GrHost *host, GrError *err)
{
	GrLogregState *state = fit->state;
	bool		fast = fit->pass.kind == GR_PASS_FAST;
	double	   *hi = fast ? state->triangle : gr_logreg_hi(fit);
	double	   *lo = fast ? hi + gr_triangle(fit->nterms + 1) : gr_logreg_lo(fit);
	GrNormalFit solved = {.nterms = fit->nterms,.aliased = aliased,.coef = state->solution};

	if (fast && !load_fast(fit, hi, lo, host))
		return gr_fail(err, GR_CANCELED, 0, "newton");
	add_penalty(hi, lo, fast ? -state->first : 1, fast ? fit->nterms : state->nfull + 1, state->options.l2, state->theta,
				state->nfull);
	if (!gr_normal_solve(hi, lo, fast ? 0 : 1 + state->first, tolerance, state->workspace, state->options.linear_solver,
						 &solved, host, err))
		return false;
	memset(state->delta, 0, (size_t) state->nfull * sizeof(double));
	for (int k = 0; k < fit->nterms; k++)
		if (!aliased[k])
			state->delta[k + state->first] = state->solution[k];
	*decrement = solved.decrement;
	return true;
}

static double
penalised_deviance(const GrLogregFit *fit)
{
	const GrLogregState *state = fit->state;
	double		sum = 0;

	for (int j = 1; j < state->nfull; j++)
		sum += state->theta[j] * state->theta[j];
	return fit->sums[GR_SUM_DEVIANCE_HI] + (state->options.l2 == 0 ? 0 : state->options.l2 * sum);
}

void
gr_logreg_unshift(const GrLogregFit *fit, const double *theta, double *beta)
{
	const GrLogregState *state = fit->state;
	GrDD		intercept = gr_dd(theta[0]);

	for (int j = 1; j < state->nfull; j++)
	{
		beta[j] = theta[j];
		intercept = gr_dd_sub(intercept, gr_two_prod(theta[j], state->shift[j - 1]));
	}
	beta[0] = gr_dd_to_double(intercept);
}

void
gr_logreg_shift(const GrLogregFit *fit, const double *beta, double *theta)
{
	const GrLogregState *state = fit->state;
	GrDD		intercept = gr_dd(beta[0]);

	for (int j = 1; j < state->nfull; j++)
	{
		theta[j] = beta[j];
		intercept = gr_dd_add(intercept, gr_two_prod(beta[j], state->shift[j - 1]));
	}
	theta[0] = gr_dd_to_double(intercept);
}

/* Asks for the pass at theta_old + step delta. */
static void
try_step(GrLogregFit *fit, GrPassKind kind)
{
	GrLogregState *state = fit->state;

	for (int j = 0; j < state->nfull; j++)
		state->theta[j] = state->theta_old[j] + state->step * state->delta[j];
	gr_logreg_ask(fit, GR_PHASE_ITERATE, kind);
}

/*
 * Need no pass follow a step of this length? It is added to the estimates, but the covariances are those before it. A step changes a
 * row's weight by its (1, x)' delta at most, relatively: length / sqrt(nrows) in a row like the others. So with many rows the step may
 * be longer, up to a thirtieth of what would show in such rows, and as long as the Hessian's change along the step, 2 length bend,
 * is rounding error too, some times as much in other directions included.
 */
static bool
is_last(const GrLogregFit *fit, double length, double bend)
{
	double		longest = length * bend <= 3e-15 ? EXACT_TOL * sqrt(fit->sums[GR_SUM_NROWS]) / 30 : 0;

	return length <= fmax(longest, EXACT_TOL);
}

/*
 * Whether the next pass may be the last. Newton's error is squared by each step, so two decrements in a row tell the next one. On a
 * face every pass is exact.
 */
static GrPassKind
next_kind(const GrLogregFit *fit)
{
	const GrLogregState *state = fit->state;
	double		length = sqrt(state->decrement);

	if (state->nfaces > 0 || length <= 1e-6 || length <= state->options.tol)
		return GR_PASS_EXACT;
	if (state->kind == GR_PASS_EXACT ? state->decrement < CHECKED_DECREMENT :
		length <= 1e-2 && is_last(fit, state->decrement * state->bend, state->bend))
		return GR_PASS_EXACT;
	return GR_PASS_FAST;
}

bool
gr_logreg_go_on(GrLogregFit *fit, const GrHost *host, GrError *err)
{
	GrLogregState *state = fit->state;

	if (fit->iterations >= state->max_iter)
	{
		if (fit->pass.kind == GR_PASS_EXACT)
			return gr_logreg_finish(fit, false, true, host, err);
		/* the covariances want an exact pass, here */
		state->check = false;
		gr_logreg_ask(fit, GR_PHASE_ITERATE, GR_PASS_EXACT);
		return true;
	}
	memcpy(state->theta_old, state->theta, (size_t) state->nfull * sizeof(double));
	fit->iterations++;
	state->step = 1;
	state->check = state->decrement > CHECKED_DECREMENT;
	try_step(fit, next_kind(fit));
	return true;
}

/* After an EXACT pass: is this the end? */
static bool
has_converged(const GrLogregFit *fit, double decrement_exact_before)
{
	const GrLogregState *state = fit->state;
	double		length = sqrt(state->decrement);

	if (length <= EXACT_TOL)
		return true;
	if (length > state->options.tol)
		return false;
	/* where rounding error keeps the last step from being shorter, the one before tells more */
	if (is_last(fit, length, fmin(state->bend, state->bend_before)))
		return true;
	/* one more step gives the last digits, unless that isn't wanted, there is none left, or the last one gained nothing */
	return state->options.tol > 1e-10 || fit->iterations >= state->max_iter ||
		state->decrement > 0.0625 * decrement_exact_before;
}

/* Is there reason to look for a direction of separation? Steps that hardly shrink, late, or that didn't end. */
static bool
runs_off(GrLogregFit *fit)
{
	GrLogregState *state = fit->state;

	if (state->options.l2 > 0 || state->nfaces == GR_FACES_MAX)
		return false;
	if (fit->iterations >= state->max_iter && !state->final_attempt)
	{
		state->final_attempt = true;
		return true;
	}
	return fit->iterations >= state->next_attempt && fit->iterations < state->max_iter &&
		state->decrement > 0.1 * state->decrement_before;
}

/* Takes a pass at theta. */
static bool
iterated(GrLogregFit *fit, const GrHost *host, GrError *err)
{
	GrLogregState *state = fit->state;
	double		deviance = penalised_deviance(fit);
	double		decrement_exact = state->decrement_exact > 0 ? state->decrement_exact : INFINITY;
	bool		all_right = fit->sums[GR_SUM_MIN_MARGIN] > 0;

	if (state->starting && !gr_logreg_keeps_start(fit, deviance))
	{
		try_step(fit, next_kind(fit));
		return true;
	}
	if (state->check && !(deviance <= state->deviance_old) && state->step > HALVINGS_MIN_STEP)
	{
		state->step /= 2;
		try_step(fit, fit->pass.kind);
		return true;
	}
	state->deviance_old = deviance;
	state->kind = fit->pass.kind;
	state->decrement_before = state->decrement;
	memcpy(state->frozen, state->aliased, (size_t) fit->nterms * sizeof(bool));
	if (!solve_step(fit, FROZEN_TOLERANCE, state->frozen, &state->decrement, host, err))
	{
		if (err->status != GR_OUT_OF_RANGE)
			return false;
		/* the weights left float8's range: no step can be had from here */
		memset(err, 0, sizeof(*err));
		return gr_logreg_finish(fit, false, false, host, err);
	}
	if (fit->iterations == 1)
		state->left_by_first = state->decrement;
	state->bend_before = state->bend;
	state->bend = isfinite(state->decrement_before) ? sqrt(state->decrement) / state->decrement_before : INFINITY;
	if (state->kind == GR_PASS_EXACT)
		state->decrement_exact = state->decrement;
	if (all_right && state->options.l2 == 0 && fit->iterations >= state->next_certificate && state->nfaces < GR_FACES_MAX)
	{
		gr_logreg_unshift(fit, state->theta, fit->beta);
		gr_logreg_suspect(fit, fit->beta, true);
		return true;
	}
	if (state->kind == GR_PASS_EXACT && has_converged(fit, decrement_exact))
	{
		if (state->options.tol <= 1e-10 || sqrt(state->decrement) <= EXACT_TOL)
			for (int j = 0; j < state->nfull; j++)
				state->theta[j] += state->delta[j];
		return gr_logreg_finish(fit, true, true, host, err);
	}
	if (runs_off(fit))
	{
		gr_logreg_unshift(fit, state->delta, fit->beta);
		gr_logreg_suspect(fit, fit->beta, false);
		return true;
	}
	return gr_logreg_go_on(fit, host, err);
}

/*
 * The beginning
 */

/* The deviance of the model with nothing but an intercept, or with nothing at all */
static double
null_deviance(double nrows, double nones, bool intercept)
{
	double		nzeros = nrows - nones;

	if (!intercept)
		return 2 * nrows * log(2.0);
	/* log(nrows / nones) and log(nrows / nzeros), good where either is near 0 */
	return 2 * (nones * log1p(nzeros / nones) + nzeros * log1p(nones / nzeros));
}

/*
 * Features whose mean is far from 0 against their spread are taken from about their mean, so that float8 sums keep their
 * digits. A shift has 24 bits, so that differences are mostly exact.
 */
static void
choose_shift(GrLogregFit *fit)
{
	GrLogregState *state = fit->state;
	const double *hi = gr_logreg_hi(fit);
	const double *lo = gr_logreg_lo(fit);
	GrDD		n = {hi[gr_at(1, 1)], lo[gr_at(1, 1)]};

	if (!state->options.intercept)
		return;
	for (int j = 1; j < state->nfull; j++)
	{
		GrDD		sum = {hi[gr_at(j + 1, 1)], lo[gr_at(j + 1, 1)]};
		GrDD		square = {hi[gr_at(j + 1, j + 1)], lo[gr_at(j + 1, j + 1)]};
		GrDD		mean = gr_dd_div(sum, n);
		double		variance = gr_dd_to_double(gr_dd_sub(gr_dd_div(square, n), gr_dd_mul(mean, mean)));

		if (mean.hi * mean.hi > 16 * variance && fabs(mean.hi) < 1e30 && fabs(mean.hi) > 1e-30)
			state->shift[j - 1] = (float) mean.hi;
	}
	for (int j = 1; j < state->nfull; j++)
		state->delta[0] = gr_fma(state->delta[j], state->shift[j - 1], state->delta[0]);
}

/* There are rows, and of both classes. */
static bool
check_classes(double nrows, double nones, GrError *err)
{
	if (nrows == 0)
		return gr_fail(err, GR_INVALID, 0, "there are no rows");
	if (nones == 0 || nones == nrows)
	{
		err->value = nones == 0 ? 0 : 1;
		return gr_fail(err, GR_ONE_CLASS, 0, "%s", "");
	}
	return true;
}

/* The sums' head, and whether there is anything to fit. */
static bool
check_rows(GrLogregFit *fit, GrError *err)
{
	double		nrows = fit->sums[GR_SUM_NROWS];
	double		nones = fit->sums[GR_SUM_NONES];
	int			column;

	if (!check_classes(nrows, nones, err))
		return false;
	/* columns of the matrix behind the ones: u, u x_1, ... */
	if (fit->pass.kind == GR_PASS_EXACT && !gr_gram_finite(gr_logreg_hi(fit), fit->state->nfull, &column))
		return gr_fail(err, GR_OUT_OF_RANGE, column - 1, "%s", "");
	fit->nrows = gr_count_of(nrows);
	fit->null_deviance = null_deviance(nrows, nones, fit->state->options.intercept);
	return true;
}

static bool
started(GrLogregFit *fit, const GrHost *host, GrError *err)
{
	GrLogregState *state = fit->state;

	if (!check_rows(fit, err))
		return false;
	fit->rank = fit->nterms;
	state->deviance_old = fit->sums[GR_SUM_DEVIANCE_HI];
	if (!state->dense)
		return gr_descent_begin(fit, err);
	for (int j = 0; j < state->nfull; j++)
		state->scale[j] = sqrt(gr_logreg_hi(fit)[gr_at(j + 1, j + 1)]);
	if (!solve_step(fit, GR_ALIAS_TOLERANCE, state->aliased, &state->decrement, host, err))
	{
		if (err->status == GR_OUT_OF_RANGE)
			err->where--;		/* as in check_rows() */
		return false;
	}
	for (int k = 0; k < fit->nterms; k++)
		fit->rank -= state->aliased[k] ? 1 : 0;
	if (state->options.solver != GR_SOLVER_NEWTON)
		return gr_descent_begin(fit, err);
	choose_shift(fit);
	state->kind = GR_PASS_EXACT;
	state->bend = INFINITY;
	fit->iterations = 1;
	state->step = 1;
	state->check = state->decrement > CHECKED_DECREMENT;
	if (!gr_logreg_try_start(fit))
		try_step(fit, next_kind(fit));
	return true;
}

/*
 * The end
 */

/* A triangle of sums over (1, u, u (x - shift), v) as one over (1, u, u x, v); false if canceled */
static bool
unshift_triangle(double *hi, double *lo, const double *shift, int nfull, const GrHost *host)
{
	GrDD		weights = {hi[gr_at(1, 1)], lo[gr_at(1, 1)]};
	GrPoll		poll = {.host = host};

	for (int i = nfull - 1; i >= 1; i--)
	{
		double		ci = shift[i - 1];
		GrDD		zi = {hi[gr_at(i + 1, 1)], lo[gr_at(i + 1, 1)]};

		if (gr_poll(&poll, 40 * i))
			return false;
		for (int j = i; j >= 1; j--)
		{
			double		cj = shift[j - 1];
			GrDD		zj = {hi[gr_at(j + 1, 1)], lo[gr_at(j + 1, 1)]};

			if (ci == 0 && cj == 0)
				continue;
			add_to(hi, lo, gr_at(i + 1, j + 1), gr_dd_mul_d(zj, ci));
			add_to(hi, lo, gr_at(i + 1, j + 1), gr_dd_mul_d(zi, cj));
			add_to(hi, lo, gr_at(i + 1, j + 1), gr_dd_mul(weights, gr_two_prod(ci, cj)));
		}
	}
	for (int i = 1; i < nfull; i++)
		add_to(hi, lo, gr_at(i + 1, 1), gr_dd_mul_d(weights, shift[i - 1]));
	return true;
}

/* The inverse of the Hessian of the last EXACT pass; NaN for what isn't estimated. */
static bool
fill_vcov(GrLogregFit *fit, bool have_sums, const GrHost *host, GrError *err)
{
	GrLogregState *state = fit->state;
	size_t		n = (size_t) fit->nterms;
	GrPoll		poll = {.host = host};
	GrNormalFit solved = {.nterms = fit->nterms,.aliased = state->frozen,.coef = state->solution,.inverse = fit->vcov};
	GrError		failure = {0};

	memcpy(state->frozen, state->aliased, n * sizeof(bool));
	if (have_sums)
	{
		if (!unshift_triangle(gr_logreg_hi(fit), gr_logreg_lo(fit), state->shift, state->nfull, host))
			return gr_fail(err, GR_CANCELED, 0, "covariance matrix");
		have_sums = gr_normal_solve(gr_logreg_hi(fit), gr_logreg_lo(fit), 1 + state->first, FROZEN_TOLERANCE, state->workspace,
									state->options.linear_solver, &solved, host, &failure);
		if (!have_sums && failure.status != GR_OUT_OF_RANGE)
		{
			*err = failure;
			return false;
		}
	}
	for (size_t i = 0; i < n; i++)
	{
		if (gr_poll(&poll, 2 * (int64_t) n))
			return gr_fail(err, GR_CANCELED, 0, "covariance matrix");
		for (size_t j = 0; j < n; j++)
			if (!have_sums || fit->separated[i] != 0 || fit->separated[j] != 0)
				fit->vcov[i * n + j] = NAN;
	}
	return true;
}

/* Asks how the rows lie at beta, before it moves along face number state->placing; or ends. */
static void
place_next(GrLogregFit *fit)
{
	GrLogregState *state = fit->state;

	if (state->placing >= 0)
	{
		gr_logreg_ask(fit, GR_PHASE_PLACE, GR_PASS_GRADIENT);
		fit->pass.beta = fit->beta;
		fit->pass.shift = state->no_shift;
		fit->pass.nfaces = 0;
		return;
	}
	for (int k = 0; k < fit->nterms; k++)
		fit->coef[k] = state->aliased[k] && fit->separated[k] == 0 && state->options.solver == GR_SOLVER_NEWTON ? NAN :
			fit->beta[k + state->first];
	state->phase = GR_PHASE_DONE;
}

/*
 * Moves beta along a face, so far that the rows which it separates are given their class with probability 1 but for exp(-40), whatever
 * the rest of beta does to them. From the innermost face outwards: an outer one must outweigh those within.
 */
static bool
placed(GrLogregFit *fit)
{
	GrLogregState *state = fit->state;
	double		worst = fmin(fit->sums[GR_SUM_MIN_MARGIN], 0);
	double		step = (40 - worst) / state->min_right[state->placing];
	const double *direction = state->faces + (size_t) state->placing * state->nfull;

	for (int j = 0; j < state->nfull; j++)
		fit->beta[j] += step * direction[j];
	state->placing--;
	place_next(fit);
	return true;
}

bool
gr_logreg_finish(GrLogregFit *fit, bool converged, bool have_sums, const GrHost *host, GrError *err)
{
	GrLogregState *state = fit->state;

	/* completely separated: the deviance goes to 0 */
	fit->deviance = fit->pass.kind == GR_PASS_FACE ? 0 : fit->sums[GR_SUM_DEVIANCE_HI] + fit->sums[GR_SUM_DEVIANCE_LO];
	fit->nseparated = 0;
	for (int k = 0; k < fit->nterms; k++)
		fit->nseparated += fit->separated[k] != 0 ? 1 : 0;
	fit->converged = converged && fit->nseparated == 0;
	fit->df_residual = fit->nrows - fit->rank;
	if (fit->vcov != NULL && !fill_vcov(fit, have_sums, host, err))
		return false;
	gr_logreg_unshift(fit, state->theta, fit->beta);
	for (int j = 0; j < state->nfull; j++)
		fit->beta[j] += state->removed[j];
	state->placing = state->nfaces - 1;
	place_next(fit);
	return true;
}

/*
 * The last pass of the solvers that form no Hessian on their way. Without one there is no null space to be had, and only complete
 * separation is told; eta is in float8 then, so the margins must be clear.
 */
static bool
ended(GrLogregFit *fit, const GrHost *host, GrError *err)
{
	GrLogregState *state = fit->state;

	if (!state->dense)
	{
		for (int k = 0; k < fit->nterms && fit->sums[GR_SUM_MIN_MARGIN] > 1e-6 && state->options.l2 == 0; k++)
			fit->separated[k] = state->theta[k + state->first] < 0 ? -1 : 1;
		return gr_logreg_finish(fit, fit->converged, false, host, err);
	}
	if (state->options.l2 == 0 && !state->final_attempt)
	{
		/* all rows on their right side; or, by a Newton step, a way on that is longer than a converged fit has */
		bool		all_right = fit->sums[GR_SUM_MIN_MARGIN] > 0;

		memcpy(state->frozen, state->aliased, (size_t) fit->nterms * sizeof(bool));
		if (!solve_step(fit, FROZEN_TOLERANCE, state->frozen, &state->decrement, host, err))
			return false;
		if (all_right || state->decrement > 1e-14)
		{
			state->final_attempt = true;
			gr_logreg_unshift(fit, all_right ? state->theta : state->delta, fit->beta);
			gr_logreg_suspect(fit, fit->beta, all_right);
			return true;
		}
	}
	add_penalty(gr_logreg_hi(fit), gr_logreg_lo(fit), 1, state->nfull + 1, state->options.l2, state->theta, state->nfull);
	return gr_logreg_finish(fit, fit->converged, true, host, err);
}

bool
gr_logreg_advance(GrLogregFit *fit, const GrHost *host, GrError *err)
{
	switch (fit->state->phase)
	{
		case GR_PHASE_START:
			return started(fit, host, err);
		case GR_PHASE_ITERATE:
			return iterated(fit, host, err);
		case GR_PHASE_CLASSIFY:
			return gr_logreg_classified(fit, host, err);
		case GR_PHASE_VERIFY:
			return gr_logreg_verified(fit, host, err);
		case GR_PHASE_DESCENT:
			return gr_descent_advance(fit, err);
		case GR_PHASE_ASCEND:
			return gr_descent_ascended(fit);
		case GR_PHASE_LAST:
			return ended(fit, host, err);
		case GR_PHASE_PLACE:
			return placed(fit);
		case GR_PHASE_DONE:
			break;
	}
	return true;
}

/*
 * A step by itself
 */
size_t
gr_logreg_step_nbytes(int nfeatures)
{
	return gr_ols_workspace_nbytes(nfeatures + 1) + ((size_t) nfeatures + 1) * sizeof(bool);
}

bool
gr_logreg_step(const double *beta, double *sums, int nfeatures, bool intercept, double l2, void *workspace,
			   GrLogregStep *step, const GrHost *host, GrError *err)
{
	int			first = intercept ? 0 : 1;
	bool		at_zero = true;
	double	   *hi = sums + GR_SUM_HEAD;
	double	   *lo = hi + gr_triangle(nfeatures + 3);
	bool	   *aliased = (bool *) ((char *) workspace + gr_ols_workspace_nbytes(nfeatures + 1));
	GrNormalFit solved = {.aliased = aliased,.coef = step->coef,.inverse = step->vcov};
	double		nrows = sums[GR_SUM_NROWS];
	double		nones = sums[GR_SUM_NONES];

	if (!check_classes(nrows, nones, err))
		return false;
	solved.nterms = nfeatures + 1 - first;
	for (int k = 0; k < solved.nterms; k++)
	{
		aliased[k] = isnan(beta[k + first]);
		at_zero &= beta[k + first] == 0;
	}
	for (int j = 1; l2 > 0 && j <= nfeatures; j++)
	{
		add_to(hi, lo, gr_at(j + 1, j + 1), gr_dd(l2));
		if (!isnan(beta[j]))
			add_to(hi, lo, gr_at(nfeatures + 2, j + 1), gr_dd_neg(gr_two_prod(l2, beta[j])));
	}
	if (!gr_normal_solve(hi, lo, 1 + first, at_zero ? GR_ALIAS_TOLERANCE : FROZEN_TOLERANCE, workspace, NULL, &solved, host, err))
	{
		if (err->status == GR_OUT_OF_RANGE)
			err->where--;
		return false;
	}
	for (int k = 0; k < solved.nterms; k++)
		if (!aliased[k])
			step->coef[k] += beta[k + first];
	step->nterms = solved.nterms;
	step->rank = solved.rank;
	step->nrows = gr_count_of(nrows);
	step->decrement = sqrt(solved.decrement);
	step->deviance = sums[GR_SUM_DEVIANCE_HI] + sums[GR_SUM_DEVIANCE_LO];
	step->null_deviance = null_deviance(nrows, nones, intercept);
	return true;
}
