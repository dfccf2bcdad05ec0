/* lmm_newton.c: minimises the criterion of a mixed model; degrees of freedom of its fixed terms. See lmm.h. */
#include <math.h>
#include <string.h>

#include "compute/linalg/eigen.h"
#include "compute/mixed/lmm.h"

#define ITERATIONS_MAX 200

/* Newton's decrement below which steps are taken without a look at the criterion, whose rounding hides them */
#define NEAR_DECREMENT 1e-9
/* Newton's decrement that is reached only by rounding: a step of 1e-12 standard errors */
#define LEAST_DECREMENT 1e-24
/* A last decrement up to this has converged: a step of 1e-5 standard errors. */
#define CONVERGED_DECREMENT 1e-10
/* Least eigenvalue of the Hessian in a step, relative to the largest one */
#define FLAT 1e-10

/* Scratch of a fit of n parameters */
typedef struct Work
{
	int			n;
	double	   *trial;			/* n: the next lambda */
	double	   *step;			/* n */
	double	   *jacobian;		/* n x n: derivatives of Psi's entries (rows) by Lambda's */
	double	   *product;		/* n x n */
	double	   *vectors;		/* n x n: eigenvectors */
	double	   *values;			/* n: eigenvalues */
} Work;

static void
carve_work(Work *work, int64_t n, GrArena *arena)
{
	work->n = (int) n;
	work->trial = gr_carve_doubles(arena, n);
	work->step = gr_carve_doubles(arena, n);
	work->jacobian = gr_carve_doubles(arena, n * n);
	work->product = gr_carve_doubles(arena, n * n);
	work->vectors = gr_carve_doubles(arena, n * n);
	work->values = gr_carve_doubles(arena, n);
}

void
gr_lmm_fit_carve(GrLmmFit *fit, GrArena *arena)
{
	int64_t		n = gr_lmm_nparameters(fit->sums.model);
	Work		counted;

	gr_lmm_sums_carve(&fit->sums, arena);
	fit->lambda = gr_carve_doubles(arena, n);
	fit->slope = gr_carve_doubles(arena, n);
	fit->hessian = gr_carve_doubles(arena, n * n);
	fit->work = gr_carve(arena, sizeof(Work));
	carve_work(fit->work == NULL ? &counted : fit->work, n, arena);
}

/* Returns entry (i, j) of the matrix of derivatives by a term's Psi, whose packed slopes begin at slope. */
static double
slope_entry(const double *slope, int i, int j)
{
	return i == j ? slope[gr_packed(i, i)] : slope[i > j ? gr_packed(i, j) : gr_packed(j, i)] / 2;
}

/* Sets the Jacobian of Psi = Lambda Lambda' by Lambda, term by term. */
static void
fill_jacobian(const GrLmmModel *model, const double *lambda, int n, double *jacobian)
{
	int64_t		first = 0;

	memset(jacobian, 0, (size_t) n * n * sizeof(double));
	for (int k = 0; k < model->nterms; k++)
	{
		int			q = model->terms[k].ncolumns;
		const double *own = lambda + first;

		for (int a = 0; a < q; a++)
			for (int b = 0; b <= a; b++)
			{
				double	   *row = jacobian + (first + gr_packed(a, b)) * n + first;

				for (int j = 0; j <= b; j++)
				{
					row[gr_packed(a, j)] += own[gr_packed(b, j)];
					row[gr_packed(b, j)] += own[gr_packed(a, j)];
				}
			}
		first += gr_triangle(q);
	}
}

/* Adds the part of the Hessian by Lambda that comes from the second derivatives of Psi. */
static void
add_curvature(const GrLmmModel *model, const double *slope, int n, double *hessian)
{
	int64_t		first = 0;

	for (int k = 0; k < model->nterms; k++)
	{
		int			q = model->terms[k].ncolumns;

		for (int i = 0; i < q; i++)
			for (int other = 0; other < q; other++)
				for (int j = 0; j <= (i < other ? i : other); j++)
					hessian[(first + gr_packed(i, j)) * n + first + gr_packed(other, j)] +=
						2 * slope_entry(slope + first, i, other);
		first += gr_triangle(q);
	}
}

/* Computes result = a' b a of n x n matrices, b symmetric. work: n x n */
static void
congruence(const double *a, const double *b, double *work, double *result, int n)
{
	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++)
		{
			double		sum = 0;

			for (int k = 0; k < n; k++)
				sum += b[i * n + k] * a[k * n + j];
			work[i * n + j] = sum;
		}
	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++)
		{
			double		sum = 0;

			for (int k = 0; k < n; k++)
				sum += a[k * n + i] * work[k * n + j];
			result[i * n + j] = sum;
		}
}

/* Sets the derivatives by lambda at the last point that was evaluated, fit->lambda. Returns false if canceled. */
static bool
derive(GrLmmFit *fit, GrPoll *poll)
{
	Work	   *work = fit->work;
	int			n = work->n;

	if (!gr_lmm_derive(&fit->sums, poll))
		return false;
	fill_jacobian(fit->sums.model, fit->lambda, n, work->jacobian);
	congruence(work->jacobian, fit->sums.hessian, work->product, fit->hessian, n);
	add_curvature(fit->sums.model, fit->sums.slope, n, fit->hessian);
	for (int k = 0; k < n; k++)
	{
		fit->slope[k] = 0;
		for (int j = 0; j < n; j++)
			fit->slope[k] += fit->sums.slope[j] * work->jacobian[j * n + k];
	}
	memcpy(work->product, fit->hessian, (size_t) n * n * sizeof(double));
	if (!gr_eigen(work->product, work->vectors, n, poll))
		return false;
	for (int k = 0; k < n; k++)
		work->values[k] = work->product[k * n + k];
	return true;
}

/*
 * Sets the step of Newton's method, with eigenvalues by their sizes, so that it leads downwards. Returns the decrement,
 * twice what the step would gain.
 */
static double
choose_step(const GrLmmFit *fit, Work *work)
{
	int			n = work->n;
	double		largest = 0;
	double		decrement = 0;

	for (int k = 0; k < n; k++)
		largest = fmax(largest, fabs(work->values[k]));
	memset(work->step, 0, (size_t) n * sizeof(double));
	for (int k = 0; k < n && largest > 0; k++)
	{
		double		size = fmax(fabs(work->values[k]), FLAT * largest);
		double		part = 0;

		for (int i = 0; i < n; i++)
			part += work->vectors[k * n + i] * fit->slope[i];
		decrement += part * part / size;
		for (int i = 0; i < n; i++)
			work->step[i] -= part / size * work->vectors[k * n + i];
	}
	return decrement;
}

static double
norm_of(const double *x, int n)
{
	double		sum = 0;

	for (int i = 0; i < n; i++)
		sum += x[i] * x[i];
	return sqrt(sum);
}

/*
 * Takes a step that lowers the criterion, of at most *radius, which it adapts. Returns false if canceled, and sets
 * *moved to false if no step lowers the criterion.
 */
static bool
descend(GrLmmFit *fit, double *radius, bool *moved, GrPoll *poll)
{
	Work	   *work = fit->work;
	int			n = work->n;
	double		value = fit->sums.value;
	double		length = norm_of(work->step, n);
	double		share = length > *radius ? *radius / length : 1;
	double		slope = 0;

	for (int i = 0; i < n; i++)
		slope += fit->slope[i] * work->step[i];
	*moved = false;
	for (int k = 0; k < 60 && !*moved; k++)
	{
		for (int i = 0; i < n; i++)
			work->trial[i] = fit->lambda[i] + share * work->step[i];
		if (!gr_lmm_evaluate(&fit->sums, work->trial, poll))
			return false;
		*moved = fit->sums.value <= value + 1e-4 * share * slope;
		if (!*moved)
			share /= 4;
	}
	*radius = fmax(2 * share * length, *moved && share < 1 ? *radius : 0);
	if (*moved)
	{
		memcpy(fit->lambda, work->trial, (size_t) n * sizeof(double));
		return true;
	}
	fit->sums.value = value;
	return gr_lmm_evaluate(&fit->sums, fit->lambda, poll);
}

bool
gr_lmm_settle(GrLmmFit *fit, GrPoll *poll)
{
	return gr_lmm_evaluate(&fit->sums, fit->lambda, poll) && derive(fit, poll);
}

/* Takes Newton's step as it is. Returns false if canceled. */
static bool
step_freely(GrLmmFit *fit, GrPoll *poll)
{
	Work	   *work = fit->work;

	for (int i = 0; i < work->n; i++)
		work->trial[i] = fit->lambda[i];
	for (int i = 0; i < work->n; i++)
		fit->lambda[i] += work->step[i];
	return gr_lmm_settle(fit, poll);
}

/*
 * Repeats Newton's step, whose decrement is given, as long as the decrement falls; the last step that did not lower it
 * is taken back. Returns false if canceled.
 */
static bool
polish(GrLmmFit *fit, double decrement, GrPoll *poll)
{
	Work	   *work = fit->work;

	while (decrement > LEAST_DECREMENT && fit->iterations++ < ITERATIONS_MAX)
	{
		double		next;

		if (!step_freely(fit, poll))
			return false;
		next = choose_step(fit, work);
		if (next < 0.25 * decrement)
		{
			decrement = next;
			continue;
		}
		memcpy(fit->lambda, work->trial, (size_t) work->n * sizeof(double));
		return gr_lmm_settle(fit, poll);
	}
	return true;
}

/* Multiplies the start by the power of 10 whose criterion is least. Returns false if canceled. */
static bool
choose_start(GrLmmFit *fit, GrPoll *poll)
{
	static const double factors[] = {0.1, 1, 10, 100};
	Work	   *work = fit->work;
	double		best = INFINITY;
	double		factor = 1;

	for (int k = 0; k < 4; k++)
	{
		for (int i = 0; i < work->n; i++)
			work->trial[i] = factors[k] * fit->lambda[i];
		if (!gr_lmm_evaluate(&fit->sums, work->trial, poll))
			return false;
		if (fit->sums.value < best)
		{
			best = fit->sums.value;
			factor = factors[k];
		}
	}
	for (int i = 0; i < work->n; i++)
		fit->lambda[i] *= factor;
	return gr_lmm_evaluate(&fit->sums, fit->lambda, poll);
}

bool
gr_lmm_minimise(GrLmmFit *fit, GrPoll *poll)
{
	Work	   *work = fit->work;
	double		radius;

	fit->iterations = 0;
	fit->converged = false;
	if (!choose_start(fit, poll))
		return false;
	radius = fmax(1, norm_of(fit->lambda, work->n));
	while (isfinite(fit->sums.value) && fit->iterations < ITERATIONS_MAX)
	{
		double		decrement;
		bool		moved;

		if (!derive(fit, poll))
			return false;
		decrement = choose_step(fit, work);
		fit->converged = decrement <= CONVERGED_DECREMENT;
		if (decrement <= NEAR_DECREMENT)
		{
			fit->converged = true;
			return polish(fit, decrement, poll);
		}
		fit->iterations++;
		if (!descend(fit, &radius, &moved, poll))
			return false;
		if (!moved)
			return true;
	}
	return true;
}

/*
 * Degrees of freedom
 */

/*
 * Returns the variance of the estimate of variance v = s^2 (S_xx^-1)_jj, where the Hessian of the criterion by lambda
 * and tau = log s^2 is known: entries nu by tau, mixed by both. change: derivatives of v by lambda.
 */
static double
variance_of(const GrLmmFit *fit, const double *change, const double *mixed, double v, double nu)
{
	const Work *work = fit->work;
	int			n = work->n;
	double		sum = v * v / nu;

	for (int k = 0; k < n; k++)
	{
		double		part = 0;

		/* directions in which the criterion does not curve say nothing, as at the boundary of a singular fit */
		if (!(work->values[k] > 1e-8))
			continue;
		for (int i = 0; i < n; i++)
			part += work->vectors[k * n + i] * (change[i] - mixed[i] * v / nu);
		sum += part * part / work->values[k];
	}
	return 2 * sum;
}

/* Returns the derivative of (S_xx^-1)_jj by entry k of Psi. */
static double
inverse_slope(const GrLmmSums *sums, int j, int k)
{
	int64_t		p = sums->model->nfixed;
	const double *change = sums->change + k * gr_triangle(p + 1);
	const double *row = sums->inverse + j * p;
	double		sum = 0;

	for (int64_t a = 0; a < p; a++)
		for (int64_t b = 0; b <= a; b++)
			sum += (a == b ? 1 : 2) * row[a] * row[b] * change[gr_packed(a, b)];
	return sum;
}

void
gr_lmm_degrees(const GrLmmFit *fit, double *df)
{
	Work	   *work = fit->work;
	const GrLmmSums *sums = &fit->sums;
	int64_t		p = sums->model->nfixed;
	int			n = work->n;
	double		nu = sums->model->nobs - (sums->model->reml ? (double) p : 0);
	double		sigma2 = sums->squares / nu;
	double	   *mixed = work->trial;
	double	   *change = work->step;

	for (int k = 0; k < n; k++)
	{
		mixed[k] = 0;
		for (int i = 0; i < n; i++)
			mixed[k] -= work->jacobian[i * n + k] * sums->slope_squares[i] / sigma2;
	}
	for (int j = 0; j < p; j++)
	{
		double		v = sigma2 * sums->inverse[j * p + j];

		memset(change, 0, (size_t) n * sizeof(double));
		for (int i = 0; i < n; i++)
		{
			double		slope = sigma2 * inverse_slope(sums, j, i);

			for (int k = 0; k < n; k++)
				change[k] += work->jacobian[i * n + k] * slope;
		}
		df[j] = 2 * v * v / variance_of(fit, change, mixed, v, nu);
	}
}
