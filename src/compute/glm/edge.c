/* edge.c: fits whose maximum is at the edge of what the link allows; see edge.h. */
#include "compute/glm/edge.h"

#include <math.h>
#include <string.h>

#include "compute/base/dd.h"
#include "compute/glm/newton_step.h"
#include "compute/glm/phases.h"
#include "compute/glm/terms.h"

/* Counts that stand for 0 in BARRIER, as shares of the mean count: the first, the factor to the next, and the last. */
#define BARRIER_FIRST 0.1
#define BARRIER_FACTOR 0.1
#define BARRIER_LAST 1e-10

/* A barrier is solved if the squared length of its step is at most this share of its count. */
#define BARRIER_NEAR 0.1

/* Limit of passes, after which the fit ends at its present theta. */
#define PASSES_MAX 1000

/* Rows are at the edge if the average weight exceeds the weight of a row of the mean count by this factor. */
#define EDGE_WEIGHT 1e9

/* A deviance below this, per row or count, is rounding error. */
#define PERFECT_DEVIANCE 1e-20

/* A row is at the edge if its predictor is at most this, in units of the mean count's predictor. Tried in turn. */
static const double tolerances[] = {1e-7, 1e-5, 1e-3};

#define NTOLERANCES ((int) (sizeof(tolerances) / sizeof(tolerances[0])))

/* Limit of the predictors of rows at the edge after the projection, which leaves only rounding error. */
#define ROUNDED 1e-11

/*
 * Lengths of steps within the edge, in standard errors. LAST_LENGTH is multiplied by sqrt(1 + deviance) and ends the
 * fit. A step shorter than STALLED_LENGTH is rounding error if it is longer than half of the step before.
 */
#define LAST_LENGTH 1e-15
#define STALLED_LENGTH 1e-9

#define STEP_MIN 1e-12

/*
 * If a step of BARRIER is hardly shorter than the one before, the next step is stretched by LENGTHEN, up to
 * STRETCH_MAX.
 */
#define LENGTHEN 8
#define STRETCH_MAX 0x1p100

/* Relative rounding error of a deviance. */
#define SAME_DEVIANCE 1e-13

/* A null vector's entry is rounding error if it contributes less than this, in units of the columns' lengths. */
#define NEGLIGIBLE 1e-9

size_t
gr_edge_ndoubles(const GrGlmOptions *options)
{
	GrDistribution distribution = options->distribution;
	size_t		n = (size_t) gr_nterms(options->shape.nfeatures);
	bool		counts = gr_family(distribution.family)->is_count;

	if (!counts || distribution.link == GR_LOG || options->estimate_theta || options->l2 > 0 ||
		options->solver != GR_SOLVER_NEWTON)
		return 0;
	/* the null vectors, product_hi and product_lo of project_sums(), and BARRIER's estimate */
	return n * n + 3 * n;
}

/* Returns the mean count in the distribution's unit. */
static double
mean_count(const GrGlmFit *fit)
{
	const GrRowTotals *totals = fit->state->options.totals;

	return gr_response_in_unit(fit->state->options.distribution, totals->ones / totals->weights);
}

static double
unit_of(const GrGlmFit *fit)
{
	return fit->state->options.distribution.link == GR_SQRT ? sqrt(mean_count(fit)) : mean_count(fit);
}

/* Returns the rounding error of a deviance, however small the deviance is. */
static double
deviance_rounding(const GrGlmFit *fit)
{
	const GrRowTotals *totals = fit->state->options.totals;

	return PERFECT_DEVIANCE * (totals->weights + totals->ones);
}

/* Returns the largest deviance that differs from the given one only by rounding error. */
static double
no_worse_than(const GrGlmFit *fit, double deviance)
{
	return isfinite(deviance) ? deviance + SAME_DEVIANCE * fabs(deviance) + deviance_rounding(fit) : INFINITY;
}

/* True if the deviance of the last pass is rounding error. */
static bool
is_perfect(const GrGlmFit *fit)
{
	return fit->state->deviance_old <= deviance_rounding(fit);
}

bool
gr_edge_is_near(const GrGlmFit *fit)
{
	const GrGlmState *state = fit->state;

	if (is_perfect(fit))
		return true;
	/*
	 * With the identity link, a row of the mean count weighs at most 1 / mean, and a row near the edge 1 / mu. With the
	 * square-root link every weight is 4.
	 */
	return state->options.distribution.link == GR_IDENTITY &&
		state->weight_sum * mean_count(fit) > EDGE_WEIGHT * state->options.totals->weights;
}

static double *
null_vector_of(const GrGlmFit *fit, int k)
{
	return fit->state->edge_null + (size_t) k * (size_t) fit->nterms;
}

/* Returns the estimate at which BARRIER has ended. */
static double *
barrier_theta(const GrGlmFit *fit)
{
	size_t		n = (size_t) fit->state->nfull;

	return fit->state->edge_null + n * n + 2 * n;
}

/* Requests the pass at theta for one of the measures of edge.h. */
static bool
ask(GrGlmFit *fit, GrMeasure measure, double edge)
{
	gr_fit_ask(fit, GR_PHASE_EDGE, GR_PASS_EXACT);
	fit->pass.measure = measure;
	fit->pass.edge = edge;
	return true;
}

/* Requests the pass at theta_old + step delta, with the measure of the last pass. */
static bool
try_step(GrGlmFit *fit)
{
	GrGlmState *state = fit->state;

	for (int j = 0; j < state->nfull; j++)
		state->theta[j] = state->theta_old[j] + state->step * state->delta[j];
	return ask(fit, fit->pass.measure, fit->pass.edge);
}

/* Requests the pass at theta + step delta and counts an iteration. */
static bool
begin_step(GrGlmFit *fit, double step)
{
	GrGlmState *state = fit->state;

	memcpy(state->theta_old, state->theta, (size_t) state->nfull * sizeof(double));
	state->step = step;
	fit->iterations++;
	return try_step(fit);
}

/* Requests the rows at the edge by the next tolerance, from the estimate of BARRIER. */
static bool
find_rows(GrGlmFit *fit)
{
	GrGlmState *state = fit->state;

	memcpy(state->theta, barrier_theta(fit), (size_t) state->nfull * sizeof(double));
	return ask(fit, GR_MEASURE_ON_EDGE, tolerances[state->attempt] * unit_of(fit));
}

/* Keeps theta as the estimate of BARRIER and goes on to find the rows at the edge. */
static bool
end_barrier(GrGlmFit *fit)
{
	GrGlmState *state = fit->state;

	memcpy(barrier_theta(fit), state->theta, (size_t) state->nfull * sizeof(double));
	state->attempt = 0;
	return find_rows(fit);
}

/* Requests the last pass, at theta. edge: the largest predictor that counts as 0, or 0 if no row is at the edge. */
static bool
end_at(GrGlmFit *fit, double edge)
{
	return ask(fit, GR_MEASURE_EDGE, edge);
}

/*
 * Rejects the chosen rows: tries the next tolerance, or ends at BARRIER's estimate. If BARRIER could not begin, there
 * is no such estimate and the fit ends unsolved.
 */
static bool
try_others(GrGlmFit *fit)
{
	GrGlmState *state = fit->state;

	memcpy(state->theta, barrier_theta(fit), (size_t) state->nfull * sizeof(double));
	memset(state->held, 0, (size_t) fit->nterms * sizeof(bool));
	fit->nedge = 0;
	if (++state->attempt < NTOLERANCES)
		return find_rows(fit);
	return state->turned_back ? gr_fit_ask(fit, GR_PHASE_ITERATE, GR_PASS_EXACT) : end_at(fit, 0);
}

bool
gr_edge_enter(GrGlmFit *fit, const GrHost *host, GrError *err)
{
	GrGlmState *state = fit->state;

	(void) host;
	(void) err;
	state->edge_npasses = 0;
	memset(state->held, 0, (size_t) fit->nterms * sizeof(bool));
	/* with nothing left to gain, BARRIER would end where it begins */
	if (state->edge_peeks || is_perfect(fit))
		return end_barrier(fit);
	memcpy(state->theta, state->theta_old, (size_t) state->nfull * sizeof(double));
	if (state->options.intercept && !state->options.shape.offset)
	{
		memset(state->theta, 0, (size_t) state->nfull * sizeof(double));
		state->theta[0] = state->null_intercept;
	}
	state->deviance_old = state->decrement_before = INFINITY;
	state->stretch = 1;
	return ask(fit, GR_MEASURE_BARRIER, BARRIER_FIRST * mean_count(fit));
}

/* Returns entry (i, j) of the Hessian. */
static GrDD
hessian_at(GrGlmFit *fit, int i, int j)
{
	int			skip = 1 + fit->state->first;
	int64_t		at = i >= j ? gr_at(i + skip, j + skip) : gr_at(j + skip, i + skip);

	return (GrDD) {gr_fit_hi(fit)[at], gr_fit_lo(fit)[at]};
}

/*
 * Projects the sums to the null space: entries of terms that are not held become those of the null vectors'
 * coordinates. Overwrites the triangle. Returns false if canceled.
 */
static bool
project_sums(GrGlmFit *fit, const GrHost *host)
{
	GrGlmState *state = fit->state;
	int			n = fit->nterms;
	int			last = state->nfull + 1;
	double	   *product_hi = state->edge_null + (size_t) state->nfull * (size_t) state->nfull;
	double	   *product_lo = product_hi + state->nfull;
	double	   *hi = state->triangle;
	double	   *lo = hi + gr_triangle((int64_t) n + 1);
	GrPoll		poll = {.host = host};

	for (int k = 0; k < n; k++)
	{
		const double *vector = null_vector_of(fit, k);
		GrDD		gradient = {0, 0};

		if (state->held[k] || state->aliased[k])
			continue;
		if (gr_poll(&poll, 20 * (int64_t) n * n))
			return false;
		for (int i = 0; i < n; i++)
		{
			int64_t		at = gr_at(last, i + 1 + state->first);
			GrDD		sum = {0, 0};

			for (int j = 0; j < n; j++)
				if (vector[j] != 0)
					sum = gr_dd_add(sum, gr_dd_mul_d(hessian_at(fit, i, j), vector[j]));
			product_hi[i] = sum.hi;
			product_lo[i] = sum.lo;
			gradient = gr_dd_add(gradient, gr_dd_mul_d((GrDD) {gr_fit_hi(fit)[at], gr_fit_lo(fit)[at]}, vector[i]));
		}
		for (int l = 0; l <= k; l++)
		{
			GrDD		sum = {0, 0};

			for (int i = 0; i < n; i++)
				sum = gr_dd_add(sum, gr_dd_mul_d((GrDD) {product_hi[i], product_lo[i]}, null_vector_of(fit, l)[i]));
			hi[gr_at(k, l)] = sum.hi;
			lo[gr_at(k, l)] = sum.lo;
		}
		hi[gr_at(n, k)] = gradient.hi;
		lo[gr_at(n, k)] = gradient.lo;
	}
	for (int k = 0; k <= n; k++)
		for (int l = 0; l <= k && l < n; l++)
		{
			int64_t		at = gr_at(k == n ? last : k + 1 + state->first, l + 1 + state->first);

			if ((k < n && (state->held[k] || state->aliased[k])) || state->held[l] || state->aliased[l])
				continue;
			gr_fit_hi(fit)[at] = hi[gr_at(k, l)];
			gr_fit_lo(fit)[at] = lo[gr_at(k, l)];
		}
	return true;
}

/* Computes the step within the null space in delta. *solved is false if there is none. Returns false on an error. */
static bool
solve(GrGlmFit *fit, bool *solved, const GrHost *host, GrError *err)
{
	GrGlmState *state = fit->state;
	GrError		failure = {0};

	*solved = false;
	if (fit->nedge > 0 && !project_sums(fit, host))
		return gr_fail(err, GR_CANCELED, 0, "edge");
	for (int k = 0; k < fit->nterms; k++)
		state->frozen[k] = state->aliased[k] || state->held[k];
	*solved = gr_newton_solve(fit, GR_FROZEN_TOLERANCE, state->frozen, host, &failure);
	if (!*solved)
	{
		if (failure.status == GR_OUT_OF_RANGE)
			return true;
		*err = failure;
		return false;
	}
	if (fit->nedge == 0)
		return true;
	memcpy(state->solution, state->delta + state->first, (size_t) fit->nterms * sizeof(double));
	memset(state->delta, 0, (size_t) state->nfull * sizeof(double));
	for (int k = 0; k < fit->nterms; k++)
		for (int i = 0; i < fit->nterms && !state->frozen[k]; i++)
			state->delta[i + state->first] += state->solution[k] * null_vector_of(fit, k)[i];
	return true;
}

/*
 * True if the pass after a step is worse than the one before. Then the step is halved, and *ends is true if it must not
 * be tried again.
 */
static bool
is_cut(GrGlmFit *fit, double deviance, bool *ends)
{
	GrGlmState *state = fit->state;

	*ends = false;
	if (isfinite(deviance) && deviance <= no_worse_than(fit, state->deviance_old))
		return false;
	state->step *= 0.5;
	*ends = isinf(state->deviance_old) || state->step < STEP_MIN;
	return true;
}

/* Takes a pass of BARRIER at theta. */
static bool
take_barrier(GrGlmFit *fit, double deviance, const GrHost *host, GrError *err)
{
	GrGlmState *state = fit->state;
	double		edge = fit->pass.edge;
	bool		ends;
	bool		solved;

	if (is_cut(fit, deviance, &ends))
	{
		if (!ends)
			return try_step(fit);
		/* either no theta is known at which all rows have a mean, or none is better than the last one */
		memcpy(state->theta, state->theta_old, (size_t) state->nfull * sizeof(double));
		state->turned_back = isinf(state->deviance_old);
		return end_barrier(fit);
	}
	state->deviance_old = deviance;
	if (!solve(fit, &solved, host, err))
		return false;
	if (!solved || state->edge_npasses > PASSES_MAX)
		return end_barrier(fit);
	/* near the edge a step only doubles a predictor, so the steps are stretched */
	state->stretch = state->decrement > 0.5 * state->decrement_before ?
		fmin(LENGTHEN * state->stretch, STRETCH_MAX) : 1;
	state->decrement_before = state->decrement;
	if (state->decrement > BARRIER_NEAR * edge)
		return begin_step(fit, state->stretch);
	if (edge <= BARRIER_LAST * mean_count(fit))
		return end_barrier(fit);
	memcpy(state->theta_old, state->theta, (size_t) state->nfull * sizeof(double));
	state->deviance_old = state->decrement_before = INFINITY;
	return ask(fit, GR_MEASURE_BARRIER, BARRIER_FACTOR * edge);
}

/* Returns the length of term k over the rows at the edge. */
static double
length_on_edge(GrGlmFit *fit, int k)
{
	return sqrt(hessian_at(fit, k, k).hi);
}

/* Computes null vector k, in which term k is 1 and only terms that are held are nonzero besides. */
static bool
find_null_vector(GrGlmFit *fit, int k, const GrHost *host, GrError *err)
{
	GrGlmState *state = fit->state;
	GrNormalFit solved = {
		.nterms = fit->nterms,.aliased = state->frozen,.coef = state->solution,.skip = 1 + state->first,
		.solver = state->options.linear_solver
	};
	double	   *vector = null_vector_of(fit, k);
	int			last = state->nfull + 1;
	double		length = length_on_edge(fit, k);

	for (int j = 0; j < fit->nterms; j++)
	{
		GrDD		entry = hessian_at(fit, k, j);

		gr_fit_hi(fit)[gr_at(last, j + 1 + state->first)] = entry.hi;
		gr_fit_lo(fit)[gr_at(last, j + 1 + state->first)] = entry.lo;
	}
	if (!gr_normal_solve(gr_dd_from(gr_fit_triangle(fit), 0), state->workspace, &solved, host, err))
		return false;
	for (int i = 0; i < fit->nterms; i++)
	{
		double		a = state->held[i] ? state->solution[i] : 0;

		vector[i] = isnan(a) || fabs(a) * length_on_edge(fit, i) <= NEGLIGIBLE * length ? 0 : -a;
	}
	vector[k] = 1;
	return true;
}

/*
 * Takes the pass of ON_EDGE: finds the terms that the rows at the edge hold and their null space, and projects theta.
 */
static bool
take_rows(GrGlmFit *fit, double deviance, const GrHost *host, GrError *err)
{
	GrGlmState *state = fit->state;
	int64_t		ones = gr_at(1, 1);
	double		nrows = gr_fit_hi(fit)[ones];
	GrNormalFit solved = {
		.nterms = fit->nterms,.aliased = state->frozen,.coef = state->solution,.skip = 1 + state->first,
		.tolerance = GR_ALIAS_TOLERANCE,.solver = state->options.linear_solver,.max_rank = gr_max_rank(nrows, 0)
	};

	state->edge_deviance = deviance;
	state->edge_length = INFINITY;
	state->deviance_old = INFINITY;
	fit->nedge = gr_count_of(nrows);
	/*
	 * If rows hardly change the likelihood at the edge, BARRIER may end too far from the edge for a peek to find them.
	 */
	if (fit->nedge == 0 && state->edge_peeks)
	{
		state->edge_looked = true;
		state->edge_peeks = false;
		memcpy(state->theta, barrier_theta(fit), (size_t) state->nfull * sizeof(double));
		return gr_fit_ask(fit, GR_PHASE_ITERATE, GR_PASS_EXACT);
	}
	if (fit->nedge == 0 && state->attempt + 1 < NTOLERANCES)
	{
		state->attempt++;
		return find_rows(fit);
	}
	if (fit->nedge == 0)
		return state->turned_back ? try_others(fit) : ask(fit, GR_MEASURE_EDGE_STEP, 0);
	memcpy(state->frozen, state->aliased, (size_t) fit->nterms * sizeof(bool));
	if (!gr_normal_solve(gr_dd_from(gr_fit_triangle(fit), 0), state->workspace, &solved, host, err))
		return false;
	for (int k = 0; k < fit->nterms; k++)
	{
		state->held[k] = !state->frozen[k];
		fit->edge_terms[k] = !state->aliased[k] && length_on_edge(fit, k) > 0;
		if (state->held[k])
			state->theta[k + state->first] -= state->solution[k];
	}
	for (int k = 0; k < fit->nterms; k++)
	{
		memset(null_vector_of(fit, k), 0, (size_t) fit->nterms * sizeof(double));
		if (!state->held[k] && !state->aliased[k] && !find_null_vector(fit, k, host, err))
			return false;
	}
	return ask(fit, GR_MEASURE_EDGE_STEP, ROUNDED * unit_of(fit));
}

/* Takes the pass of a step within the null space. */
static bool
take_step(GrGlmFit *fit, double deviance, const GrHost *host, GrError *err)
{
	GrGlmState *state = fit->state;
	double		length;
	bool		ends;
	bool		solved;

	if (is_cut(fit, deviance, &ends))
		return ends ? try_others(fit) : try_step(fit);
	state->deviance_old = deviance;
	if (!solve(fit, &solved, host, err))
		return false;
	if (!solved)
		return try_others(fit);
	length = sqrt(state->decrement);
	ends = length <= LAST_LENGTH * sqrt(1 + deviance) || state->edge_npasses > PASSES_MAX ||
		(length <= STALLED_LENGTH && length > 0.5 * state->edge_length);
	state->edge_length = length;
	if (!ends)
		return begin_step(fit, 1);
	if (!(deviance <= no_worse_than(fit, state->edge_deviance)))
		return try_others(fit);
	return end_at(fit, fit->pass.edge);
}

bool
gr_edge_take(GrGlmFit *fit, const GrHost *host, GrError *err)
{
	GrGlmState *state = fit->state;
	double		deviance = gr_fit_deviance(fit);

	state->edge_npasses++;
	switch (fit->pass.measure)
	{
		case GR_MEASURE_BARRIER:
			return take_barrier(fit, deviance, host, err);
		case GR_MEASURE_ON_EDGE:
			return take_rows(fit, deviance, host, err);
		case GR_MEASURE_EDGE_STEP:
			return take_step(fit, deviance, host, err);
		default:
			break;
	}
	if (fit->nedge > 0 && !project_sums(fit, host))
		return gr_fail(err, GR_CANCELED, 0, "edge");
	for (int k = 0; k < fit->nterms; k++)
		state->aliased[k] |= state->held[k];
	return gr_fit_end(fit, state->edge_npasses <= PASSES_MAX, true, host, err);
}

bool
gr_edge_expand(GrGlmFit *fit, const GrHost *host)
{
	GrGlmState *state = fit->state;
	size_t		n = (size_t) fit->nterms;
	double	   *product = state->triangle;
	GrPoll		poll = {.host = host};

	if (fit->nedge == 0)
		return true;
	/* transform the rows of the inverse from free terms to all terms, then the columns */
	for (int turn = 0; turn < 2; turn++)
		for (size_t row = 0; row < n; row++)
		{
			memset(product, 0, n * sizeof(double));
			if (gr_poll(&poll, (int64_t) (n * n)))
				return false;
			for (size_t k = 0; k < n; k++)
			{
				double		entry = turn == 0 ? fit->vcov[row * n + k] : fit->vcov[k * n + row];

				for (size_t i = 0; i < n && !state->frozen[k]; i++)
					product[i] += entry * null_vector_of(fit, (int) k)[i];
			}
			for (size_t i = 0; i < n; i++)
				*(turn == 0 ? &fit->vcov[row * n + i] : &fit->vcov[i * n + row]) = product[i];
		}
	for (size_t k = 0; k < n; k++)
		state->frozen[k] = !(fit->vcov[k * n + k] > 0);
	for (size_t i = 0; i < n * n; i++)
		if (state->frozen[i / n] || state->frozen[i % n])
			fit->vcov[i] = NAN;
	return true;
}
