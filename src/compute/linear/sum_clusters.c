/* sum_clusters.c: covariances robust to clusters from the clusters' sums; see sum_clusters.h. */
#include "compute/linear/sum_clusters.h"

#include <math.h>
#include <string.h>

#include "compute/base/arena.h"
#include "compute/base/dd.h"
#include "compute/linalg/eigen.h"
#include "compute/linear/ols.h"
#include "compute/linear/sum_clusters_work.h"

/* A column whose mean is more than this many spreads from 0 is shifted to about its mean. */
#define FAR_SPREADS 4.0

/* Limit of entries of A^-1, in the terms' own units, up to which K in float8 keeps some 13 digits. */
#define COLLINEAR 1000.0

/* Least pivot of 1 - K for which K in float8 suffices, and least pivot that needs no eigenvalues. */
#define LEAST_PIVOT 0.1
#define LEAST_EXACT_PIVOT 1e-6

/* An eigenvalue of 1 - K below this counts as 0: the rows without the cluster do not determine that direction. */
#define LEFT_ROUNDING 1e-11

/*
 * Kernels
 */

typedef struct Kernels
{
	void		(*translate) (double *hi, double *lo, const double *d_hi, const double *d_lo, int norder);
	void		(*score) (double *q, GrDDVector s, GrDDConstVector sums, const int64_t *at, GrDDConstVector coef,
						  const double *factor, int n);
	void		(*add_square) (double *hi, double *lo, const double *x, int n);
	void		(*leave_out) (double *left, double *work, const double *hi, const int64_t *at, const double *factor,
							  int n);
	void		(*solve_left) (double *left, double *x, double *pivot, int n);
} Kernels;

#define SIMD_TEMPLATE "compute/linear/sum_clusters_cpu.h"
#include "compute/base/simd.h"

/*
 * Memory
 */

/* Returns the size of GrClusterFit.middle: a triangle of n and a vector of n, each hi and lo, in all lanes. */
static int64_t
middle_size(int n)
{
	return 2 * (gr_triangle(n) + n) * GR_CLUSTER_LANES;
}

/* Scratch of gr_cluster_fit_begin(). */
typedef struct Beginning
{
	GrGram		all;			/* Gram matrix of all rows about the fit's shift */
	GrDDVector	sums;			/* packed triangle of (terms, y) */
	double	   *pivot;			/* n */
	double	   *left;			/* 2 n */
	void	   *solver;			/* workspace of gr_normal_solve() */
} Beginning;

static void
carve_work(GrClusterWork *work, int nfeatures, int64_t n, GrArena *arena)
{
	int64_t		norder = gr_norder(nfeatures);

	work->hi = gr_carve_doubles(arena, gr_triangle(norder) * GR_CLUSTER_LANES);
	work->lo = gr_carve_doubles(arena, gr_triangle(norder) * GR_CLUSTER_LANES);
	work->d_hi = gr_carve_doubles(arena, norder * GR_CLUSTER_LANES);
	work->d_lo = gr_carve_doubles(arena, norder * GR_CLUSTER_LANES);
	work->s_hi = gr_carve_doubles(arena, n * GR_CLUSTER_LANES);
	work->s_lo = gr_carve_doubles(arena, n * GR_CLUSTER_LANES);
	work->q = gr_carve_doubles(arena, n * GR_CLUSTER_LANES);
	work->left = gr_carve_doubles(arena, gr_triangle(n) * GR_CLUSTER_LANES);
	work->product = gr_carve_doubles(arena, n * n * GR_CLUSTER_LANES);
	work->pivot = gr_carve_doubles(arena, n * GR_CLUSTER_LANES);
	work->exact_hi = gr_carve_doubles(arena, n * n);
	work->exact_lo = gr_carve_doubles(arena, n * n);
	work->vectors = gr_carve_doubles(arena, n * n);
	work->at = gr_carve(arena, (size_t) gr_triangle(n + 1) * sizeof(int64_t));
}

/* Carves the workspace of a fit from its nfeatures and nterms. */
static void
carve_fit(GrClusterFit *fit, Beginning *beginning, GrArena *arena)
{
	int64_t		n = fit->nterms;
	GrClusterWork counted;

	fit->work = gr_carve(arena, sizeof(GrClusterWork));
	fit->shift = gr_carve_doubles(arena, fit->nfeatures + 1);
	fit->coef_hi = gr_carve_doubles(arena, n);
	fit->coef_lo = gr_carve_doubles(arena, n);
	fit->factor = gr_carve_doubles(arena, n * n);
	fit->middle = gr_carve_doubles(arena, middle_size(fit->nterms));
	carve_work(fit->work == NULL ? &counted : fit->work, fit->nfeatures, n, arena);
	beginning->all = gr_gram_carve(arena, fit->nfeatures);
	beginning->sums = gr_carve_dd(arena, gr_triangle(n + 1));
	beginning->pivot = gr_carve_doubles(arena, n);
	beginning->left = gr_carve_doubles(arena, 2 * n);
	beginning->solver = gr_carve(arena, gr_normal_workspace_nbytes(fit->nterms));
}

size_t
gr_cluster_fit_nbytes(int nfeatures, int nterms)
{
	GrClusterFit fit = {.nfeatures = nfeatures,.nterms = nterms};
	Beginning	beginning;
	GrArena		arena = {.base = NULL};

	carve_fit(&fit, &beginning, &arena);
	return arena.used;
}

/* Fit to all rows */

/* Sums of (terms, y) over all rows. */
typedef struct System
{
	int			n;
	GrDDVector	sums;			/* packed triangle */
	GrPoll		poll;
} System;

static inline GrDD
system_entry(const System *system, int64_t i, int64_t j)
{
	int64_t		at = i >= j ? triangle_at(i, j) : triangle_at(j, i);

	return gr_dd_get(system->sums, at);
}

/* Computes C. Row k is the part of term k that the terms before it do not explain, in units of its deviation. */
static bool
fill_factor(GrClusterFit *fit, System *system, void *workspace, double *row, double *pivot)
{
	for (int k = 0; k < fit->nterms; k++)
	{
		double		deviation = sqrt(pivot[k] * system->sums.hi[triangle_at(k, k)]);
		double	   *into = fit->factor + (int64_t) k * fit->nterms;

		if (!gr_normal_residual(workspace, fit->nterms, k, row, &system->poll))
			return false;
		for (int j = 0; j <= k; j++)
			into[j] = row[j] / row[k] / deviation;
	}
	return true;
}

/* Refines b by C' C (c - A b). The remainder is small, so C' C in float8 suffices. Returns false if canceled. */
static bool
refine(GrClusterFit *fit, System *system, double *left)
{
	int			n = fit->nterms;
	double	   *scaled = left + n;

	for (int i = 0; i < n; i++)
	{
		GrDD		sum = system_entry(system, n, i);

		for (int j = 0; j < n; j++)
			sum = gr_dd_sub(sum, gr_dd_mul(system_entry(system, i, j), (GrDD) {fit->coef_hi[j], fit->coef_lo[j]}));
		left[i] = gr_dd_to_double(sum);
		if (gr_poll(&system->poll, 20 * n))
			return false;
	}
	for (int i = 0; i < n; i++)
	{
		scaled[i] = 0;
		for (int j = 0; j <= i; j++)
			scaled[i] += fit->factor[(int64_t) i * n + j] * left[j];
	}
	for (int j = 0; j < n; j++)
	{
		GrDD		b = {fit->coef_hi[j], fit->coef_lo[j]};
		double		change = 0;

		for (int i = j; i < n; i++)
			change += fit->factor[(int64_t) i * n + j] * scaled[i];
		b = gr_dd_add(b, gr_dd(change));
		fit->coef_hi[j] = b.hi;
		fit->coef_lo[j] = b.lo;
	}
	return true;
}

/*
 * True if a term is so nearly collinear that K needs more digits than float8. Judged by the diagonal of A^-1 in units
 * of A's.
 */
static bool
is_collinear(const GrClusterFit *fit, const System *system)
{
	for (int j = 0; j < fit->nterms; j++)
	{
		double		inverse = 0;

		for (int i = j; i < fit->nterms; i++)
			inverse += fit->factor[(int64_t) i * fit->nterms + j] * fit->factor[(int64_t) i * fit->nterms + j];
		if (!(inverse * system->sums.hi[triangle_at(j, j)] < COLLINEAR))
			return true;
	}
	return false;
}

/* Solves the system for b and C. Returns false on an error. */
static bool
solve_system(GrClusterFit *fit, System *system, const Beginning *beginning, const GrHost *host, GrError *err)
{
	int			n = fit->nterms;
	bool	   *aliased = (bool *) ((GrClusterWork *) fit->work)->pivot;
	double	   *pivot = beginning->pivot;
	double	   *left = beginning->left;
	void	   *solver = beginning->solver;
	GrNormalFit solved = {.nterms = n,.aliased = aliased,.coef = fit->coef_hi,.pivot = pivot};

	memset(aliased, 0, (size_t) n * sizeof(bool));
	if (!gr_normal_solve(gr_dd_from(system->sums, 0), solver, &solved, host, err))
		return false;
	for (int k = 0; k < n; k++)
		if (aliased[k])
			return gr_fail(err, GR_OUT_OF_RANGE, gr_column_of_row(GR_ROWS_ENTRIES, fit->entries[k]), "pivot");
	memset(fit->coef_lo, 0, (size_t) n * sizeof(double));
	memset(fit->factor, 0, (size_t) n * n * sizeof(double));
	if (!fill_factor(fit, system, solver, left, pivot) || !refine(fit, system, left) || !refine(fit, system, left))
		return fail_canceled(err);
	fit->collinear = is_collinear(fit, system);
	return true;
}

/*
 * Chooses the shift of all sums and copies gram about it. A column far from 0 is shifted near its mean. The shift must
 * not depend on gram's own, which is that of the state that came first. Returns false if canceled.
 */
static bool
choose_shift(GrClusterFit *fit, const GrGram *gram, GrGram *to, GrPoll *poll)
{
	for (int j = 0; j <= gram->nfeatures; j++)
		fit->shift[j] = fit->origin ? 0 : gr_gram_better_shift(gram, j + 1, FAR_SPREADS);
	return gr_gram_copy_about(to, gram, fit->shift, poll);
}

bool
gr_cluster_fit_begin(GrClusterFit *fit, const GrGram *gram, void *workspace, const GrHost *host, GrError *err)
{
	int			n = fit->nterms;
	System		system = {.n = n,.poll = {.host = host}};
	GrArena		arena = {.base = workspace};
	Beginning	beginning;
	GrClusterWork *work;
	int			columns[GR_CLUSTER_TERMS_MAX + 1];

	fit->nfeatures = gram->nfeatures;
	fit->nclusters = 0;
	carve_fit(fit, &beginning, &arena);
	work = fit->work;
	if (!choose_shift(fit, gram, &beginning.all, &system.poll))
		return fail_canceled(err);
	memcpy(columns, fit->entries, (size_t) n * sizeof(int));
	columns[n] = gram->nfeatures + 1;
	system.sums = beginning.sums;
	if (!gr_packed_subset(gr_gram_triangle(&beginning.all), gr_norder(gram->nfeatures), columns, n + 1, system.sums))
		return gr_fail(err, GR_INVALID, 0, "entries");
	for (int i = 0; i <= n; i++)
		for (int j = 0; j <= i; j++)
			work->at[triangle_at(i, j)] = GR_CLUSTER_LANES *
				(columns[i] >= columns[j] ? triangle_at(columns[i], columns[j]) : triangle_at(columns[j], columns[i]));
	memset(fit->middle, 0, (size_t) middle_size(n) * sizeof(double));
	return solve_system(fit, &system, &beginning, host, err);
}

/*
 * Clusters
 */

/* Loads up to GR_CLUSTER_LANES records into lanes, about the fit's shift. Unused lanes are 0. */
static void
load_block(const GrClusterFit *fit, const Kernels *kernels, const double *records, int n)
{
	const GrClusterWork *work = fit->work;
	int64_t		record_size = gr_cluster_record_size(fit->nfeatures);
	int64_t		size = gr_triangle(gr_norder(fit->nfeatures));
	bool		moves = false;

	if (n < GR_CLUSTER_LANES)
	{
		memset(work->hi, 0, (size_t) size * GR_CLUSTER_LANES * sizeof(double));
		memset(work->lo, 0, (size_t) size * GR_CLUSTER_LANES * sizeof(double));
	}
	memset(work->d_hi, 0, (size_t) gr_norder(fit->nfeatures) * GR_CLUSTER_LANES * sizeof(double));
	memset(work->d_lo, 0, (size_t) gr_norder(fit->nfeatures) * GR_CLUSTER_LANES * sizeof(double));
	for (int l = 0; l < n; l++)
	{
		const double *record = records + l * record_size;
		const double *shift = record + 2 * size;

		for (int64_t k = 0; k < size; k++)
		{
			work->hi[k * GR_CLUSTER_LANES + l] = record[k];
			work->lo[k * GR_CLUSTER_LANES + l] = record[size + k];
		}
		for (int j = 0; j <= fit->nfeatures; j++)
		{
			GrDD		d = gr_two_sum(shift[j], -fit->shift[j]);

			work->d_hi[(j + 1) * GR_CLUSTER_LANES + l] = d.hi;
			work->d_lo[(j + 1) * GR_CLUSTER_LANES + l] = d.lo;
			moves |= d.hi != 0;
		}
	}
	if (moves)
		kernels->translate(work->hi, work->lo, work->d_hi, work->d_lo, gr_norder(fit->nfeatures));
}

/* Computes q and s of the loaded block. */
static void
score_block(const GrClusterFit *fit, const Kernels *kernels)
{
	const GrClusterWork *work = fit->work;

	kernels->score(work->q, (GrDDVector) {work->s_hi, work->s_lo}, (GrDDConstVector) {work->hi, work->lo}, work->at,
				   (GrDDConstVector) {fit->coef_hi, fit->coef_lo}, fit->factor, fit->nterms);
}

static inline GrDD
lane_entry(const GrClusterFit *fit, int64_t i, int64_t j, int lane)
{
	const GrClusterWork *work = fit->work;
	int64_t		at = work->at[i >= j ? triangle_at(i, j) : triangle_at(j, i)] + lane;

	return (GrDD) {work->hi[at], work->lo[at]};
}

/*
 * Computes columns first .. n - 1 of K of a lane's cluster in exact_hi, exact_lo (n x n, row-major). Returns false if
 * canceled.
 */
static bool
exact_hat(GrClusterFit *fit, int lane, int first, GrPoll *poll)
{
	GrClusterWork	   *work = fit->work;
	int64_t		n = fit->nterms;

	for (int64_t j = first; j < n; j++)
	{
		if (gr_poll(poll, 20 * n * n))
			return false;
		for (int64_t i = 0; i < n; i++)
		{
			GrDD		sum = {0, 0};

			for (int64_t m = 0; m <= j; m++)
				sum = gr_dd_add(sum, gr_dd_mul_d(lane_entry(fit, i, m, lane), fit->factor[j * n + m]));
			work->exact_hi[i * n + j] = sum.hi;
			work->exact_lo[i * n + j] = sum.lo;
		}
		/* last row first, as each row needs those before it */
		for (int64_t i = n - 1; i >= 0; i--)
		{
			GrDD		sum = {0, 0};

			for (int64_t m = 0; m <= i; m++)
				sum = gr_dd_add(sum, gr_dd_mul_d((GrDD) {work->exact_hi[m * n + j], work->exact_lo[m * n + j]},
												 fit->factor[i * n + m]));
			work->exact_hi[i * n + j] = sum.hi;
			work->exact_lo[i * n + j] = sum.lo;
		}
	}
	return true;
}

/*
 * Solves left x = b by Cholesky's factorisation, n x n; x: b on entry. Returns false and keeps x if a pivot is small.
 */
static bool
solve_positive(double *left, double *x, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		for (int64_t j = 0; j <= i; j++)
		{
			double		sum = left[i * n + j];

			for (int64_t m = 0; m < j; m++)
				sum -= left[i * n + m] * left[j * n + m];
			if (i == j && !(sum > LEAST_EXACT_PIVOT))
				return false;
			left[i * n + j] = i == j ? sqrt(sum) : sum / left[j * n + j];
		}
	for (int64_t i = 0; i < n; i++)
	{
		for (int64_t j = 0; j < i; j++)
			x[i] -= left[i * n + j] * x[j];
		x[i] /= left[i * n + i];
	}
	for (int64_t i = n - 1; i >= 0; i--)
	{
		for (int64_t j = i + 1; j < n; j++)
			x[i] -= left[j * n + i] * x[j];
		x[i] /= left[i * n + i];
	}
	return true;
}

/* Multiplies x by the generalised inverse of left. Returns false if canceled. */
static bool
solve_singular(double *left, double *vectors, double *x, double *solution, int64_t n, GrPoll *poll)
{
	if (!gr_eigen(left, vectors, (int) n, poll))
		return false;
	memset(solution, 0, (size_t) n * sizeof(double));
	for (int64_t k = 0; k < n; k++)
	{
		double		value = left[k * n + k];
		double		part = 0;

		if (!(value > LEFT_ROUNDING))
			continue;
		for (int64_t i = 0; i < n; i++)
			part += vectors[k * n + i] * x[i];
		for (int64_t i = 0; i < n; i++)
			solution[i] += part / value * vectors[k * n + i];
	}
	memcpy(x, solution, (size_t) n * sizeof(double));
	return true;
}

/*
 * Replaces the score q of a lane's cluster in x (nterms numbers) by w = (1 - K)^-1 q, with K in double-double and a
 * generalised inverse if 1 - K is nearly singular. scratch: nterms numbers. Overwrites work's exact_hi, exact_lo and
 * vectors. Returns false if canceled.
 */
static bool
solve_lane(GrClusterFit *fit, int lane, double *x, double *scratch, GrPoll *poll)
{
	GrClusterWork	   *work = fit->work;
	int64_t		n = fit->nterms;

	if (!exact_hat(fit, lane, 0, poll))
		return false;
	for (int64_t i = 0; i < n; i++)
		for (int64_t j = 0; j <= i; j++)
		{
			GrDD		left = gr_dd_sub(gr_dd(i == j ? 1.0 : 0.0),
										 (GrDD) {work->exact_hi[i * n + j], work->exact_lo[i * n + j]});

			work->exact_hi[i * n + j] = work->exact_hi[j * n + i] = gr_dd_to_double(left);
		}
	memcpy(work->exact_lo, work->exact_hi, (size_t) (n * n) * sizeof(double));
	return solve_positive(work->exact_lo, x, n) ||
		solve_singular(work->exact_hi, work->vectors, x, scratch, n, poll);
}

/* Solves for w in place of q, lane by lane. Returns false if canceled. */
static bool
leave_clusters_out(GrClusterFit *fit, const Kernels *kernels, int nlanes, GrPoll *poll)
{
	GrClusterWork	   *work = fit->work;
	int64_t		n = fit->nterms;
	double	   *x = work->product;

	if (!fit->collinear)
	{
		kernels->leave_out(work->left, work->product, work->hi, work->at, fit->factor, (int) n);
		/* keep q for lanes for which this is not exact enough */
		memcpy(work->s_hi, work->q, (size_t) n * GR_CLUSTER_LANES * sizeof(double));
		kernels->solve_left(work->left, work->q, work->pivot, (int) n);
	}
	for (int l = 0; l < nlanes; l++)
	{
		bool		fine = !fit->collinear;

		for (int64_t i = 0; i < n && fine; i++)
			fine = work->pivot[i * GR_CLUSTER_LANES + l] > LEAST_PIVOT;
		if (fine)
			continue;
		for (int64_t i = 0; i < n; i++)
			x[i] = (fit->collinear ? work->q : work->s_hi)[i * GR_CLUSTER_LANES + l];
		if (!solve_lane(fit, l, x, x + n, poll))
			return false;
		for (int64_t i = 0; i < n; i++)
			work->q[i * GR_CLUSTER_LANES + l] = x[i];
	}
	return true;
}

/* Returns the work of a block in nanoseconds; see GrPoll. */
static int64_t
block_work(const GrClusterFit *fit)
{
	int64_t		n = fit->nterms;

	return 20 * (int64_t) fit->nfeatures * fit->nfeatures + 20 * n * n + (fit->jackknife ? 2 * n * n * n : 0);
}

bool
gr_cluster_fit_add(GrClusterFit *fit, const double *records, int64_t n, int max_lanes, const GrHost *host,
				   GrError *err)
{
	const Kernels *kernels = SIMD_CHOOSE(kernels, max_lanes);
	GrClusterWork	   *work = fit->work;
	int64_t		triangle = gr_triangle(fit->nterms) * GR_CLUSTER_LANES;
	double	   *sum_hi = fit->middle + 2 * triangle;
	double	   *sum_lo = sum_hi + fit->nterms * GR_CLUSTER_LANES;
	GrPoll		poll = {.host = host};

	for (int64_t done = 0; done < n; done += GR_CLUSTER_LANES)
	{
		int			nlanes = n - done < GR_CLUSTER_LANES ? (int) (n - done) : GR_CLUSTER_LANES;

		if (gr_poll(&poll, block_work(fit)))
			return fail_canceled(err);
		load_block(fit, kernels, records + done * gr_cluster_record_size(fit->nfeatures), nlanes);
		score_block(fit, kernels);
		if (fit->jackknife && !leave_clusters_out(fit, kernels, nlanes, &poll))
			return fail_canceled(err);
		kernels->add_square(fit->middle, fit->middle + triangle, work->q, fit->nterms);
		for (int64_t i = 0; fit->jackknife && i < fit->nterms * GR_CLUSTER_LANES; i++)
		{
			GrDD		sum = gr_dd_add((GrDD) {sum_hi[i], sum_lo[i]}, gr_dd(work->q[i]));

			sum_hi[i] = sum.hi;
			sum_lo[i] = sum.lo;
		}
	}
	fit->nclusters += n;
	return true;
}

bool
gr_cluster_fit_scores(GrClusterFit *fit, const double *records, int n, double *q, double *hat, GrPoll *poll)
{
	const Kernels *kernels = SIMD_CHOOSE(kernels, GR_CLUSTER_LANES);
	GrClusterWork	   *work = fit->work;
	int64_t		nterms = fit->nterms;

	load_block(fit, kernels, records, n);
	score_block(fit, kernels);
	for (int l = 0; l < n; l++)
	{
		if (!exact_hat(fit, l, fit->nterms - 1, poll))
			return false;
		for (int64_t i = 0; i < nterms; i++)
		{
			q[l * nterms + i] = work->q[i * GR_CLUSTER_LANES + l];
			hat[l * nterms + i] = work->exact_hi[i * nterms + nterms - 1];
		}
	}
	return true;
}
