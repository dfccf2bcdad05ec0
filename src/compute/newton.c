/*
 * newton.c: logistic regression by Newton's method; see logreg.h.
 */
#include "compute/logreg.h"

#include <math.h>
#include <string.h>

#include "compute/dd.h"
#include "compute/fit.h"

/* A last step this short, in standard errors, is as good as none: estimates are right to their last digits. */
#define EXACT_TOL 1e-13

/* Below this squared decrement full steps are safe, and deviances too close to compare. */
#define CHECKED_DECREMENT 1e-3

/* With a pivot this small the Hessian is summed in double-double: in float8 hardly a digit of the step would be right. */
#define STIFF_PIVOT 1e-9

/* Newton steps at the end of another solver */
#define POLISHES_MAX 6

/* Where rounding alone makes a step longer than this, eight digits of an estimate are not sure. */
#define ROUNDING_MAX 1e-9

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
	state->theta_lo = take_doubles(arena, p + 1);
	state->theta_old = take_doubles(arena, p + 1);
	state->delta = take_doubles(arena, p + 1);
	state->shift = take_doubles(arena, p);
	state->no_shift = take_doubles(arena, p);
	state->scale = take_doubles(arena, p + 1);
	state->length = take_doubles(arena, p + 1);
	state->removed = take_doubles(arena, p + 1);
	state->faces = take_doubles(arena, GR_FACES_MAX * (p + 1));
	state->aliased = take(arena, nterms * sizeof(bool));
	state->frozen = take(arena, nterms * sizeof(bool));
	state->collinear = take(arena, nterms * sizeof(bool));
	state->solution = take_doubles(arena, nterms);
	state->pivot = take_doubles(arena, nterms);
	state->least = take_doubles(arena, nterms);
	if (dense)
	{
		size_t		n = (size_t) gr_logreg_nchanged_max(options);

		state->basis_coef = take_doubles(arena, n * (p + 1));
		state->changed = take(arena, n * sizeof(int));
	}
	state->triangle = dense ? take_doubles(arena, 2 * (size_t) gr_triangle((int64_t) nterms + 1)) : NULL;
	state->workspace = dense ? take(arena, gr_ols_workspace_nbytes((int) nterms)) : NULL;
	state->memory = options->solver != GR_SOLVER_NEWTON ? take(arena, gr_descent_nbytes(options)) : NULL;
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
	memset(state->theta_lo, 0, full_nbytes);
	memset(state->theta_old, 0, full_nbytes);
	memset(state->delta, 0, full_nbytes);
	memset(state->shift, 0, full_nbytes - sizeof(double));
	memset(state->no_shift, 0, full_nbytes - sizeof(double));
	memset(state->removed, 0, full_nbytes);
	memset(state->aliased, 0, (size_t) fit->nterms * sizeof(bool));
	memset(state->collinear, 0, (size_t) fit->nterms * sizeof(bool));
	if (options->leave_out > 0)
		state->aliased[options->leave_out - 1] = true;
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
		case GR_PHASE_CHANGE:
			return GR_LOGREG_CHANGE;
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

bool
gr_logreg_solve_step(GrLogregFit *fit, double tolerance, bool *aliased, double *decrement, const GrHost *host, GrError *err)
{
	GrLogregState *state = fit->state;
	bool		fast = fit->pass.kind == GR_PASS_FAST;
	double	   *hi = fast ? state->triangle : gr_logreg_hi(fit);
	double	   *lo = fast ? hi + gr_triangle(fit->nterms + 1) : gr_logreg_lo(fit);
	GrNormalFit solved = {.nterms = fit->nterms,.aliased = aliased,.coef = state->solution,.pivot = state->pivot};

	if (fast && !load_fast(fit, hi, lo, host))
		return gr_fail(err, GR_CANCELED, 0, "newton");
	add_penalty(hi, lo, fast ? -state->first : 1, fast ? fit->nterms : state->nfull + 1, state->options.l2, state->theta,
				state->nfull);
	if (!gr_normal_solve(hi, lo, fast ? 0 : 1 + state->first, tolerance, state->workspace, state->options.linear_solver,
						 &solved, host, err))
		return false;
	memset(state->delta, 0, (size_t) state->nfull * sizeof(double));
	state->stiff = false;
	for (int k = 0; k < fit->nterms; k++)
	{
		if (aliased[k])
			continue;
		state->delta[k + state->first] = state->solution[k];
		state->stiff |= state->pivot[k] < STIFF_PIVOT;
	}
	*decrement = solved.decrement;
	return true;
}

double
gr_logreg_rounding(GrLogregFit *fit)
{
	const GrLogregState *state = fit->state;
	double		length = 0;
	double		inflation = 0;

	for (int j = state->first; j < state->nfull; j++)
	{
		double		pivot = state->pivot[j - state->first];

		if (state->frozen[j - state->first])
			continue;
		length += fabs(state->theta[j]) * sqrt(gr_logreg_hi(fit)[gr_at(j + 1, j + 1)]);
		inflation += 1 / pivot;
	}
	return 0x1p-53 * (length + sqrt(inflation));
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

	if (state->nfaces > 0 || state->stiff || length <= 1e-6 || length <= state->options.tol)
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

/* After an EXACT pass: is this the end? rounding: gr_logreg_rounding() */
static bool
has_converged(const GrLogregFit *fit, double decrement_exact_before, double rounding)
{
	const GrLogregState *state = fit->state;
	double		length = sqrt(state->decrement);

	if (length <= fmax(EXACT_TOL, 2 * rounding))
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

/* The last step counts in full, beyond theta's own digits. */
static void
take_last_step(GrLogregFit *fit)
{
	GrLogregState *state = fit->state;

	for (int j = 0; j < state->nfull; j++)
	{
		GrDD		sum = gr_two_sum(state->theta[j], state->delta[j]);

		state->theta[j] = sum.hi;
		state->theta_lo[j] = sum.lo;
	}
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
	if (!gr_logreg_solve_step(fit, GR_FROZEN_TOLERANCE, state->frozen, &state->decrement, host, err))
	{
		if (err->status != GR_OUT_OF_RANGE)
			return false;
		/* the weights left float8's range: no step can be had from here */
		memset(err, 0, sizeof(*err));
		fit->imprecise = true;
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
	if (state->kind == GR_PASS_EXACT)
	{
		double		rounding = gr_logreg_rounding(fit);

		if (has_converged(fit, decrement_exact, rounding))
		{
			if (state->options.tol <= 1e-10 || sqrt(state->decrement) <= fmax(EXACT_TOL, 2 * rounding))
				take_last_step(fit);
			fit->imprecise = rounding > ROUNDING_MAX;
			return gr_logreg_finish(fit, !fit->imprecise, true, host, err);
		}
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
	fit->nlimit = fit->nrows;
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
	if (fit->basis != NULL)
		gr_logreg_mark_collinear(fit);
	if (!gr_logreg_solve_step(fit, GR_ALIAS_TOLERANCE, state->aliased, &state->decrement, host, err))
	{
		if (err->status == GR_OUT_OF_RANGE)
			err->where--;		/* as in check_rows() */
		return false;
	}
	if (fit->basis == NULL)
	{
		bool		found;

		memcpy(state->length, state->scale, (size_t) state->nfull * sizeof(double));
		if (!gr_logreg_choose_basis(fit, &found, host, err))
			return false;
		if (found)
		{
			state->phase = GR_PHASE_CHANGE;
			return true;
		}
	}
	memcpy(state->collinear, state->aliased, (size_t) fit->nterms * sizeof(bool));
	for (int k = 0; k < fit->nterms; k++)
		fit->rank -= state->aliased[k] ? 1 : 0;
	if (state->options.solver != GR_SOLVER_NEWTON)
		return gr_descent_begin(fit, err);
	gr_logreg_choose_shift(fit, 4);
	for (int j = 1; j < state->nfull; j++)
		state->delta[0] = gr_fma(state->delta[j], state->shift[j - 1], state->delta[0]);
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
 * A solver without a Hessian has come near: Newton steps from there, most often one, give the last digits, and tell whether it has
 * converged. Where so many digits aren't wanted, or max_iter came before, that is left.
 */
static bool
polished(GrLogregFit *fit, const GrHost *host, GrError *err)
{
	GrLogregState *state = fit->state;
	double		rounding;
	double		length;

	memcpy(state->frozen, state->aliased, (size_t) fit->nterms * sizeof(bool));
	if (!gr_logreg_solve_step(fit, GR_FROZEN_TOLERANCE, state->frozen, &state->decrement, host, err))
	{
		if (err->status != GR_OUT_OF_RANGE)
			return false;
		memset(err, 0, sizeof(*err));
		return gr_logreg_finish(fit, false, false, host, err);
	}
	if ((!fit->converged && !state->stalled) || state->options.tol > 1e-10)
		return gr_logreg_finish(fit, fit->converged, true, host, err);
	rounding = gr_logreg_rounding(fit);
	length = sqrt(state->decrement);
	if (length <= fmax(EXACT_TOL, 2 * rounding) || (length <= 1e-8 && state->npolished == POLISHES_MAX))
	{
		take_last_step(fit);
		fit->imprecise = rounding > ROUNDING_MAX;
		return gr_logreg_finish(fit, !fit->imprecise, true, host, err);
	}
	if (length > 0.1 || state->npolished == POLISHES_MAX)
	{
		fit->imprecise = true;
		return gr_logreg_finish(fit, false, true, host, err);
	}
	for (int j = 0; j < state->nfull; j++)
		state->theta[j] += state->delta[j];
	state->npolished++;
	fit->iterations++;
	gr_logreg_ask(fit, GR_PHASE_LAST, GR_PASS_EXACT);
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
		if (!gr_logreg_solve_step(fit, GR_FROZEN_TOLERANCE, state->frozen, &state->decrement, host, err))
			return false;
		if (all_right || state->decrement > 1e-14)
		{
			state->final_attempt = true;
			gr_logreg_unshift(fit, all_right ? state->theta : state->delta, fit->beta);
			gr_logreg_suspect(fit, fit->beta, all_right);
			return true;
		}
	}
	return polished(fit, host, err);
}

bool
gr_logreg_advance(GrLogregFit *fit, const GrHost *host, GrError *err)
{
	switch (fit->state->phase)
	{
		case GR_PHASE_START:
			return started(fit, host, err);
		case GR_PHASE_CHANGE:
			gr_logreg_ask(fit, GR_PHASE_START, GR_PASS_EXACT);
			return true;
		case GR_PHASE_SHIFTED:
			return gr_descent_shifted(fit, err);
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
			return gr_logreg_placed(fit);
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
	double		length = 0;
	double		inflation = 0;
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
	if (!gr_normal_solve(hi, lo, 1 + first, at_zero ? GR_ALIAS_TOLERANCE : GR_FROZEN_TOLERANCE, workspace, NULL, &solved, host, err))
	{
		if (err->status == GR_OUT_OF_RANGE)
			err->where--;
		return false;
	}
	for (int k = 0; k < solved.nterms; k++)
	{
		double		h = hi[gr_at(k + first + 1, k + first + 1)];

		if (aliased[k])
			continue;
		length += fabs(beta[k + first]) * sqrt(h);
		inflation += h * step->vcov[(size_t) k * solved.nterms + k];
		step->coef[k] += beta[k + first];
	}
	step->rounding = 0x1p-53 * (length + sqrt(inflation));
	step->nterms = solved.nterms;
	step->rank = solved.rank;
	step->nrows = gr_count_of(nrows);
	step->decrement = sqrt(solved.decrement);
	step->deviance = sums[GR_SUM_DEVIANCE_HI] + sums[GR_SUM_DEVIANCE_LO];
	step->null_deviance = null_deviance(nrows, nones, intercept);
	return true;
}

bool
gr_logreg_step_is_last(const GrLogregStep *step, double tol)
{
	double		longest = tol > 1e-10 ? tol : fmin(tol, 10 * EXACT_TOL);

	return step->decrement <= fmax(longest, 2 * step->rounding) && step->rounding <= ROUNDING_MAX;
}
