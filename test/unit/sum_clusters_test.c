/*
 * sum_clusters_test.c: tests cluster-robust covariances from the clusters' sums against regressions of the rows in
 * quadruple precision.
 */
#include <stdlib.h>
#include <string.h>

#include "compute/linalg/gram_shift.h"
#include "compute/linear/ols.h"
#include "compute/linear/sum_clusters.h"
#include "gram_reference.h"
#include "unit.h"

#define MAX_P 40
#define MAX_TERMS (MAX_P + 1)
#define MAX_CLUSTERS 40
#define ROWS 15					/* rows per cluster */

typedef struct Problem
{
	const char *name;
	int			p;
	int			nclusters;
	bool		intercept;
	double		offset;			/* added to the first feature */
	double		collinear;		/* distance of the last feature from the one before it; 0: unrelated */
	bool		own;			/* the last feature is 0 except in the first cluster, where it varies */
	double		tolerance;
	double		rows[MAX_CLUSTERS][ROWS][MAX_P + 1];
} Problem;

/* Returns a number between -1 and 1. */
static double
uniform(void)
{
	return 2.0 * ((double) random() + (double) random() / 2147483648.0) / 2147483648.0 - 1.0;
}

static void
make_rows(Problem *problem)
{
	int			p = problem->p;

	for (int g = 0; g < problem->nclusters; g++)
	{
		double		effect = uniform();

		for (int r = 0; r < ROWS; r++)
		{
			double	   *row = problem->rows[g][r];

			row[p] = effect * uniform() + 0.3 * effect;
			for (int j = 0; j < p; j++)
			{
				row[j] = uniform() + (j == 0 ? problem->offset : 0) + (j % 3 == 1 ? effect : 0);
				if (j == p - 1 && problem->collinear > 0)
					row[j] = row[j - 1] + problem->collinear * uniform();
				if (j == p - 1 && problem->own)
					row[j] = g == 0 ? uniform() : 0;
				row[p] += row[j];
			}
		}
	}
}

/*
 * Reference in quadruple precision
 */

/* Computes a row's terms. */
static Quad
term(const Problem *problem, const double *row, int k)
{
	return problem->intercept ? (k == 0 ? 1 : row[k - 1]) : row[k];
}

static int
terms_of(const Problem *problem)
{
	return problem->p + (problem->intercept ? 1 : 0);
}

/*
 * Computes b and the inverse of the products of all rows except a cluster's (-1: of all rows), by Gauss's elimination
 * with pivots.
 */
static void
solve_rows(const Problem *problem, int without, Quad inverse[MAX_TERMS][MAX_TERMS], Quad *b)
{
	int			n = terms_of(problem);
	Quad		a[MAX_TERMS][2 * MAX_TERMS + 1] = {{0}};

	for (int g = 0; g < problem->nclusters; g++)
		for (int r = 0; r < ROWS && g != without; r++)
			for (int i = 0; i < n; i++)
			{
				for (int j = 0; j < n; j++)
					a[i][j] += term(problem, problem->rows[g][r], i) * term(problem, problem->rows[g][r], j);
				a[i][2 * n] += term(problem, problem->rows[g][r], i) * (Quad) problem->rows[g][r][problem->p];
			}
	for (int i = 0; i < n; i++)
		a[i][n + i] = 1;
	for (int k = 0; k < n; k++)
	{
		int			best = k;

		for (int i = k + 1; i < n; i++)
			if ((a[i][k] < 0 ? -a[i][k] : a[i][k]) > (a[best][k] < 0 ? -a[best][k] : a[best][k]))
				best = i;
		for (int j = 0; j <= 2 * n; j++)
		{
			Quad		swap = a[k][j];

			a[k][j] = a[best][j];
			a[best][j] = swap;
		}
		for (int i = 0; i < n; i++)
		{
			Quad		factor = i == k ? 0 : a[i][k] / a[k][k];

			for (int j = 0; j <= 2 * n && i != k; j++)
				a[i][j] -= factor * a[k][j];
		}
	}
	for (int i = 0; i < n; i++)
	{
		for (int j = 0; j < n; j++)
			inverse[i][j] = a[i][n + j] / a[i][i];
		b[i] = a[i][2 * n] / a[i][i];
	}
}

/* Computes factor x B M B, where M is the sum of the products of clusters' scores. */
static void
fill_sandwich(const Problem *problem, double factor, double *vcov)
{
	int			n = terms_of(problem);
	Quad		inverse[MAX_TERMS][MAX_TERMS];
	Quad		b[MAX_TERMS];
	Quad		sum[MAX_TERMS][MAX_TERMS] = {{0}};

	solve_rows(problem, -1, inverse, b);
	for (int g = 0; g < problem->nclusters; g++)
	{
		Quad		score[MAX_TERMS] = {0};
		Quad		part[MAX_TERMS] = {0};

		for (int r = 0; r < ROWS; r++)
		{
			Quad		left = problem->rows[g][r][problem->p];

			for (int i = 0; i < n; i++)
				left -= term(problem, problem->rows[g][r], i) * b[i];
			for (int i = 0; i < n; i++)
				score[i] += term(problem, problem->rows[g][r], i) * left;
		}
		for (int i = 0; i < n; i++)
			for (int j = 0; j < n; j++)
				part[i] += inverse[i][j] * score[j];
		for (int i = 0; i < n; i++)
			for (int j = 0; j < n; j++)
				sum[i][j] += part[i] * part[j];
	}
	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++)
			vcov[i * n + j] = (double) (sum[i][j] * factor);
}

/* Computes the covariance of the estimates without each cluster, about the estimate of all rows or about their mean. */
static void
fill_jackknife(const Problem *problem, bool about_mean, double *vcov)
{
	int			n = terms_of(problem);
	int			G = problem->nclusters;
	static Quad without[MAX_CLUSTERS][MAX_TERMS];
	Quad		inverse[MAX_TERMS][MAX_TERMS];
	Quad		center[MAX_TERMS];

	solve_rows(problem, -1, inverse, center);
	for (int g = 0; g < G; g++)
		solve_rows(problem, g, inverse, without[g]);
	for (int i = 0; i < n && about_mean; i++)
	{
		center[i] = 0;
		for (int g = 0; g < G; g++)
			center[i] += without[g][i] / G;
	}
	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++)
		{
			Quad		sum = 0;

			for (int g = 0; g < G; g++)
				sum += (without[g][i] - center[i]) * (without[g][j] - center[j]);
			vcov[i * n + j] = (double) (sum * (G - 1) / G);
		}
}

static void
fill_expected(const Problem *problem, GrClusterKind kind, double *vcov)
{
	double		n = problem->nclusters * ROWS;
	double		G = problem->nclusters;

	if (kind == GR_CLUSTER_CR0)
		fill_sandwich(problem, 1, vcov);
	else if (kind == GR_CLUSTER_CR1)
		fill_sandwich(problem, G / (G - 1) * ((n - 1) / (n - terms_of(problem))), vcov);
	else
		fill_jackknife(problem, kind == GR_CLUSTER_CR3J, vcov);
}

/*
 * Covariances from sums
 */

typedef struct Sums
{
	double	   *records;
	double	   *total;			/* a record like a cluster's */
	int64_t		size;
	int64_t		triangle;
} Sums;

/* Sums a problem's clusters. order: the order of the clusters; NULL: as they are. */
static void
sum_clusters(const Problem *problem, const int *order, bool shifted, Sums *sums)
{
	GrRowShape	shape = gr_plain_shape(problem->p);
	double	   *scratch = malloc(gr_gram_scratch_nbytes(shape));
	GrPoll		poll = {0};
	GrGram		total;

	sums->size = gr_cluster_record_size(problem->p);
	sums->triangle = gr_triangle(gr_norder(problem->p));
	sums->records = calloc((size_t) (problem->nclusters * sums->size), sizeof(double));
	sums->total = calloc((size_t) sums->size, sizeof(double));
	total = gr_gram_at(sums->total, problem->p);
	for (int k = 0; k < problem->nclusters; k++)
	{
		double		rows[ROWS * (MAX_P + 1)];
		double	   *record = sums->records + k * sums->size;
		GrGram		gram = gr_gram_at(record, problem->p);

		for (int r = 0; r < ROWS; r++)
			memcpy(rows + r * (problem->p + 1), problem->rows[order == NULL ? k : order[k]][r],
				   (size_t) (problem->p + 1) * sizeof(double));
		if (shifted)
			gr_shift_choose(gram.shift, rows, ROWS, shape);
		gr_gram_add(&gram, rows, ROWS, shape, scratch);
		(void) gr_gram_merge(&total, &gram, &poll);
	}
	free(scratch);
}

static void
free_sums(Sums *sums)
{
	free(sums->records);
	free(sums->total);
}

/* Computes the covariances; false if that fails. vcov_host: polled in the last part. */
static bool
fill_vcov_between(const Problem *problem, const Sums *sums, GrClusterKind kind, int max_lanes, const GrHost *host,
				  const GrHost *vcov_host, double *vcov, GrError *err)
{
	int			n = terms_of(problem);
	int			entries[MAX_TERMS];
	void	   *workspace = malloc(gr_cluster_fit_nbytes(problem->p, n));
	GrGram		total = gr_gram_at(sums->total, problem->p);
	GrClusterFit fit = {
		.nterms = n,.entries = entries,.origin = !problem->intercept,.jackknife = kind >= GR_CLUSTER_CR3
	};
	bool		ok;

	*err = (GrError) {0};
	for (int k = 0; k < n; k++)
		entries[k] = problem->intercept ? k : k + 1;
	ok = gr_cluster_fit_begin(&fit, &total, workspace, host, err) &&
		gr_cluster_fit_add(&fit, sums->records, problem->nclusters, max_lanes, host, err) &&
		gr_cluster_fit_vcov(&fit, kind, problem->nclusters * ROWS, vcov, vcov_host, err);
	free(workspace);
	return ok;
}

static bool
fill_vcov(const Problem *problem, const Sums *sums, GrClusterKind kind, int max_lanes, const GrHost *host,
		  double *vcov, GrError *err)
{
	return fill_vcov_between(problem, sums, kind, max_lanes, host, host, vcov, err);
}

static double
worst_error(const double *vcov, const double *expected, int n)
{
	double		worst = 0;

	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++)
		{
			double		size = sqrt(expected[i * n + i] * expected[j * n + j]);

			/* fmax() would ignore NaN */
			if (!(fabs(vcov[i * n + j] - expected[i * n + j]) / size <= worst))
				worst = fabs(vcov[i * n + j] - expected[i * n + j]) / size;
		}
	return worst;
}

static void
check_problem(Problem *problem)
{
	int			n = terms_of(problem);
	int			order[MAX_CLUSTERS];
	Sums		sums;
	Sums		mixed;
	GrError		err;

	make_rows(problem);
	for (int k = 0; k < problem->nclusters; k++)
		order[k] = (k * 7 + 3) % problem->nclusters;
	sum_clusters(problem, NULL, true, &sums);
	sum_clusters(problem, order, true, &mixed);
	for (int kind = 0; kind < GR_NCLUSTER_KINDS; kind++)
	{
		const char *name = gr_cluster_kind_name((GrClusterKind) kind);
		double		expected[MAX_TERMS * MAX_TERMS];
		double		vcov[MAX_TERMS * MAX_TERMS];
		double		other[MAX_TERMS * MAX_TERMS];
		size_t		nbytes = (size_t) (n * n) * sizeof(double);
		double		error;

		if (!check(fill_vcov(problem, &sums, (GrClusterKind) kind, 8, NULL, vcov, &err), "%s, %s", problem->name,
				   name))
			continue;
		/* without the first cluster the last coefficient is undetermined, so there is no reference */
		if (!problem->own || kind < GR_CLUSTER_CR3)
		{
			fill_expected(problem, (GrClusterKind) kind, expected);
			error = worst_error(vcov, expected, n);
			check(error < problem->tolerance, "%s, %s: error %.1e", problem->name, name, error);
		}
		for (int lanes = 1; lanes <= 4; lanes += 3)
			check(fill_vcov(problem, &sums, (GrClusterKind) kind, lanes, NULL, other, &err) &&
				  memcmp(vcov, other, nbytes) == 0, "%s, %s: the same bits with %d lanes", problem->name, name, lanes);
		check(fill_vcov(problem, &mixed, (GrClusterKind) kind, 8, NULL, other, &err) &&
			  memcmp(vcov, other, nbytes) == 0, "%s, %s: the same bits in another order", problem->name, name);
	}
	free_sums(&sums);
	free_sums(&mixed);
}

/*
 * Checks a coefficient that rows outside a cluster don't determine: the other covariances are those of a fit without
 * its feature.
 */
static void
check_own(void)
{
	static Problem problem = {.name = "a feature of one cluster's own",.p = 3,.nclusters = 12,.intercept = true,
	.own = true,.tolerance = 1e-13};
	static Problem without;
	double		vcov[16];
	Quad		b[MAX_TERMS];
	Quad		left[MAX_TERMS];
	Quad		inverse[MAX_TERMS][MAX_TERMS];
	Quad		sum[3] = {0};
	Sums		sums;
	GrError		err;

	make_rows(&problem);
	solve_rows(&problem, -1, inverse, b);
	for (int g = 0; g < 12; g++)
	{
		/* outside the first cluster the last feature is 0 */
		without = problem;
		without.p = g == 0 ? 2 : 3;
		for (int k = 0; k < 12 && g == 0; k++)
			for (int r = 0; r < ROWS; r++)
				without.rows[k][r][2] = problem.rows[k][r][3];
		solve_rows(&without, g, inverse, left);
		for (int i = 0; i < 3; i++)
			sum[i] += (left[i] - b[i]) * (left[i] - b[i]) * 11 / 12;
	}
	sum_clusters(&problem, NULL, true, &sums);
	check(fill_vcov(&problem, &sums, GR_CLUSTER_CR3, 8, NULL, vcov, &err), "%s", problem.name);
	for (int i = 0; i < 3; i++)
		check(relative_error(vcov[5 * i], (double) sum[i]) < 1e-12, "%s: variance of coefficient %d", problem.name, i);
	check(vcov[15] > 0 && isfinite(vcov[15]), "%s: its variance", problem.name);
	free_sums(&sums);
}

/* Checks sums that no rows can give, as a caller may make them up: a result or an error. */
static void
check_nonsense(void)
{
	static Problem problem = {.p = 3,.nclusters = 9,.intercept = true};
	double		vcov[16];
	int			nfailed = 0;
	GrError		err;
	Sums		sums;

	make_rows(&problem);
	for (int turn = 0; turn < 300; turn++)
	{
		int64_t		at;

		sum_clusters(&problem, NULL, true, &sums);
		at = random() % (problem.nclusters * sums.size);
		sums.records[at] = ldexp(uniform(), (int) (random() % 2000) - 1000);
		if (turn % 3 == 0)
			sums.total[random() % sums.size] = ldexp(uniform(), (int) (random() % 2000) - 1000);
		if (!fill_vcov(&problem, &sums, (GrClusterKind) (turn % GR_NCLUSTER_KINDS), 8, NULL, vcov, &err))
			nfailed += err.status == GR_OUT_OF_RANGE || err.status == GR_RESULT_OUT_OF_RANGE ? 1 : 1000;
		free_sums(&sums);
	}
	check(nfailed > 0 && nfailed < 300, "sums that are none of rows: %d of 300 fail", nfailed);
}

/*
 * Checks that each of p features' polls can cancel, and that the last product polls, too, if there are many features.
 */
static void
check_cancel(int p, int step)
{
	static Problem problem = {.nclusters = 40,.intercept = true,.collinear = 1e-6};
	double		vcov[MAX_TERMS * MAX_TERMS];
	Stopper		stopper = {.stop_at = 1000000};
	GrHost		host = {.canceled = stop,.arg = &stopper};
	GrError		err;
	Sums		sums;
	int			asked;
	int			nwrong = 0;

	problem.p = p;
	make_rows(&problem);
	sum_clusters(&problem, NULL, true, &sums);
	(void) fill_vcov(&problem, &sums, GR_CLUSTER_CR3, 8, &host, vcov, &err);
	asked = stopper.asked;
	for (int at = 1; at <= asked; at += step)
	{
		stopper = (Stopper) {.stop_at = at};
		nwrong += fill_vcov(&problem, &sums, GR_CLUSTER_CR3, 8, &host, vcov, &err) || err.status != GR_CANCELED;
	}
	check(asked > 3 && nwrong == 0, "%d features: canceled at each of %d polls", p, asked);
	stopper = (Stopper) {.stop_at = 1};
	check(p < 40 || (!fill_vcov_between(&problem, &sums, GR_CLUSTER_CR0, 8, NULL, &host, vcov, &err) &&
					 err.status == GR_CANCELED), "%d features: canceled at the last", p);
	free_sums(&sums);
}

/* Checks that with hundreds of terms the solution of the system polls, too, and each of its polls can cancel. */
static void
check_cancel_of_many(void)
{
	enum
	{
		P = 250, N = P + 1
	};
	GrGram		gram = gr_gram_at(calloc(gr_gram_ndoubles(P), sizeof(double)), P);
	void	   *workspace = malloc(gr_cluster_fit_nbytes(P, N));
	int			entries[N];
	Stopper		stopper = {.stop_at = 1000000};
	GrHost		host = {.canceled = stop,.arg = &stopper};
	GrClusterFit fit = {.nterms = N,.entries = entries};
	GrError		err = {0};
	int			nwrong = 0;
	int			asked;

	for (int64_t i = 0; i <= N; i++)
		gram.hi[gr_triangle(i) + i] = 2000;
	for (int k = 0; k < N; k++)
		entries[k] = k;
	check(gr_cluster_fit_begin(&fit, &gram, workspace, &host, &err), "%d terms", N);
	asked = stopper.asked;
	/* the last polls, and some before */
	for (int at = asked; at > 0; at -= asked - at < 12 ? 1 : 37)
	{
		memset(&err, 0, sizeof(err));
		stopper = (Stopper) {.stop_at = at};
		nwrong += gr_cluster_fit_begin(&fit, &gram, workspace, &host, &err) || err.status != GR_CANCELED ||
			stopper.asked != at;
	}
	check(asked >= N + 12 && nwrong == 0, "%d terms: canceled at each of %d polls", N, asked);
	free(gram.hi);
	free(workspace);
}

int
main(void)
{
	static Problem problems[] = {
		{.name = "one feature",.p = 1,.nclusters = 8,.intercept = true,.tolerance = 1e-14},
		{.name = "no intercept",.p = 3,.nclusters = 13,.tolerance = 1e-14},
		{.name = "eight features",.p = 8,.nclusters = 40,.intercept = true,.tolerance = 1e-13},
		{.name = "two clusters",.p = 2,.nclusters = 2,.intercept = true,.tolerance = 1e-12},
		{.name = "far from 0",.p = 3,.nclusters = 17,.intercept = true,.offset = 1e7,.tolerance = 1e-12},
		{.name = "far from 0, no intercept",.p = 3,.nclusters = 17,.offset = 1e7,.tolerance = 1e-12},
		{.name = "collinear",.p = 12,.nclusters = 24,.intercept = true,.collinear = 1e-4,.tolerance = 1e-11},
		{.name = "own",.p = 4,.nclusters = 20,.intercept = true,.own = true,.tolerance = 1e-13},
		{.name = "few rows for the terms",.p = 12,.nclusters = 3,.intercept = true,.tolerance = 1e-11}
	};
	GrClusterKind kind;

	srandom(17);
	for (int k = 0; k < COUNT(problems); k++)
		check_problem(&problems[k]);
	check_own();
	check_nonsense();
	check_cancel(12, 1);
	check_cancel(MAX_P, 1);
	check_cancel_of_many();
	check(gr_cluster_kind_named("cr3j", &kind) && kind == GR_CLUSTER_CR3J, "names in any case");
	check(!gr_cluster_kind_named("CR2", &kind) && !gr_cluster_kind_named("", &kind) &&
		  !gr_cluster_kind_named("CR", &kind), "other names");
	return unit_done();
}
