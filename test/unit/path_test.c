/*
 * path_test.c: elastic nets from sums: the conditions of a minimum, sets that shrink, residuals, and sums that no rows
 * have. Coefficients against 60 digits: test/sql/enet.sql.
 */
#include <stdlib.h>
#include <string.h>

#include "compute/path.h"
#include "unit.h"

#define MAX_P 40
#define MAX_TRIANGLE ((MAX_P + 2) * (MAX_P + 3) / 2)
#define NROWS 60

typedef struct Problem
{
	int			p;
	double		rows[NROWS * (MAX_P + 1)];
	double		hi[MAX_TRIANGLE];
	double		lo[MAX_TRIANGLE];
	double		shift[MAX_P + 1];
} Problem;

static Problem problem;

static double
uniform(void)
{
	return 2.0 * (double) random() / 2147483648.0 - 1.0;
}

/* Columns that each have much of the one before; the response is a sum of every third */
static void
make_problem(int p, double share)
{
	GrRowShape	shape = shape_of(p, false);
	double	   *scratch = malloc(gr_gram_scratch_nbytes(shape));

	memset(&problem, 0, sizeof(problem));
	problem.p = p;
	for (int r = 0; r < NROWS; r++)
	{
		double	   *row = problem.rows + r * (p + 1);

		row[p] = uniform();
		for (int j = 0; j < p; j++)
		{
			row[j] = uniform() + (j > 0 ? share * row[j - 1] : 3);
			row[p] += j % 3 == 0 ? row[j] : 0;
		}
	}
	gr_gram_add(problem.hi, problem.lo, problem.rows, NROWS, shape, problem.shift, scratch);
	free(scratch);
}

static double
standard_deviation(int column)
{
	double		mean = 0;
	double		square = 0;

	for (int r = 0; r < NROWS; r++)
		mean += problem.rows[r * (problem.p + 1) + column] / NROWS;
	for (int r = 0; r < NROWS; r++)
		square += pow(problem.rows[r * (problem.p + 1) + column] - mean, 2) / NROWS;
	return sqrt(square);
}

/* How far the coefficients are from a minimum, in units of the penalty, and the residuals' sum of squares */
static double
distance_from_minimum(const double *coef, double alpha, double lambda, bool positive, double *rss)
{
	int			p = problem.p;
	double		residual[NROWS];
	double		worst = 0;

	*rss = 0;
	for (int r = 0; r < NROWS; r++)
	{
		const double *row = problem.rows + r * (p + 1);

		residual[r] = row[p] - coef[0];
		for (int j = 0; j < p; j++)
			residual[r] -= row[j] * coef[j + 1];
		*rss += residual[r] * residual[r];
	}
	for (int j = 0; j < p; j++)
	{
		double		sd = standard_deviation(j);
		double		b = coef[j + 1];
		double		g = -lambda * (1 - alpha) * sd * sd / standard_deviation(p) * b;
		double		penalty = lambda * alpha * sd;

		for (int r = 0; r < NROWS; r++)
			g += residual[r] * problem.rows[r * (p + 1) + j] / NROWS;
		worst = fmax(worst, b != 0 ? fabs(g - copysign(penalty, b)) : (positive ? g : fabs(g)) - penalty);
		if (positive && b < 0)
			worst = INFINITY;
	}
	return worst / lambda;
}

static void
check_path(int p, double share, double alpha, bool is_positive)
{
	bool		positive[MAX_P];
	GrPathOptions options = {.alpha = alpha,.intercept = true,.standardize = true,.positive = positive};
	void	   *workspace = malloc(gr_path_workspace_nbytes(p, true));
	double		lambda[30];
	double		coef[MAX_P + 1];
	double		work[2 * (MAX_P + 2)];
	int			n = COUNT(lambda);
	GrPath		path;
	GrPathPoint point;
	GrError		err = {0};
	double		worst = 0;
	double		worst_rss = 0;
	bool		ok;

	memset(positive, is_positive, sizeof(positive));
	make_problem(p, share);
	ok = gr_path_open(&path, &options, problem.hi, problem.lo, problem.shift, p, workspace, NULL, &err) &&
		gr_path_grid(&path, 1e-4, &n, lambda, &err);
	for (int k = 0; ok && k < n; k++)
	{
		double		rss;
		double		from_sums;

		ok = gr_path_step(&path, lambda[k], &point, coef, &err);
		worst = fmax(worst, distance_from_minimum(coef, alpha, lambda[k], is_positive, &rss));
		from_sums = gr_path_rss(problem.hi, problem.lo, problem.shift, p, true, coef, work);
		worst_rss = fmax(worst_rss, fmax(fabs(from_sums - rss), fabs(point.rss - rss)) / (rss + 1e-3));
		if (k == 0 && alpha >= GR_PATH_LEAST_ALPHA)
			ok &= point.df == 0;
	}
	check(ok && n == COUNT(lambda) && worst < 1e-9 && worst_rss < 1e-9, "%d features, share %g, alpha %g%s: %g %g", p,
		  share, alpha, is_positive ? ", positive" : "", worst, worst_rss);
	free(workspace);
}

/* A factor that lost rows is the factor of what is left. */
static void
check_drop(void)
{
	enum { N = 9 };
	double		store[14][N * N];
	GrPathFactor factor = {0, {store[0], store[1]}, {store[2], store[3]}};
	GrDDVector	products = {store[4], store[5]};
	GrDDVector	work = {store[6], store[7]};
	GrDDVector	r = {store[8], store[9]};
	GrDDVector	x = {store[10], store[11]};
	int			left[N] = {1, 3, 4, 6, 8};
	double		worst = 0;
	double		a[N][N];

	memset(store, 0, sizeof(store));
	for (int i = 0; i < N; i++)
		for (int j = 0; j <= i; j++)
			a[i][j] = a[j][i] = i == j ? 3 : uniform();
	for (int i = 0; i < N; i++)
	{
		memcpy(products.hi, a[i], sizeof(a[i]));
		check(gr_factor_append(&factor, products, gr_dd(a[i][i]), 1e-24, work), "row %d", i);
	}
	gr_factor_drop(&factor, 7, work, x);
	gr_factor_drop(&factor, 0, work, x);
	gr_factor_drop(&factor, 1, work, x);
	gr_factor_drop(&factor, 3, work, x);
	for (int i = 0; i < factor.n; i++)
		r.hi[i] = i + 1;
	gr_factor_solve(&factor, (GrDDConstVector) {r.hi, r.lo}, x);
	for (int i = 0; i < factor.n; i++)
	{
		GrDD		sum = gr_dd(-r.hi[i]);

		for (int j = 0; j < factor.n; j++)
			sum = gr_dd_add(sum, gr_dd_mul_d((GrDD) {x.hi[j], x.lo[j]}, a[left[i]][left[j]]));
		worst = fmax(worst, fabs(sum.hi));
	}
	check(factor.n == 5 && worst < 1e-28, "rows that were dropped: %g", worst);
}

/* Numbers that no rows have: an end, whichever it is */
static void
check_made_up(void)
{
	int			ended = 0;
	int			failed = 0;

	for (int t = 0; t < 300; t++)
	{
		GrPathOptions options = {.alpha = t % 3 / 2.0,.intercept = t % 2,.standardize = t % 5 > 0};
		int			p = 1 + t % 12;
		void	   *workspace = malloc(gr_path_workspace_nbytes(p, options.intercept));
		double		coef[MAX_P + 1];
		double		lambda[20];
		int			n = COUNT(lambda);
		GrPath		path;
		GrPathPoint point;
		GrError		err = {0};
		bool		ok;

		make_problem(p, 0.5);
		for (int k = 1; k < gr_triangle(p + 2); k++)
			problem.hi[k] = uniform() * pow(10, t % 7);
		for (int k = 0; k < p + 2; k++)
			problem.hi[gr_triangle(k) + k] = fabs(problem.hi[gr_triangle(k) + k]);
		ok = gr_path_open(&path, &options, problem.hi, problem.lo, problem.shift, p, workspace, NULL, &err) &&
			gr_path_grid(&path, 1e-2, &n, lambda, &err);
		for (int k = 0; ok && k < n; k++)
			ok = gr_path_step(&path, lambda[k], &point, coef, &err);
		ended += ok;
		failed += !ok && (err.status == GR_OUT_OF_RANGE || err.status == GR_RESULT_OUT_OF_RANGE);
		free(workspace);
	}
	check(ended + failed == 300, "sums of no rows: %d paths, %d failures", ended, failed);
}

static void
check_cancel(void)
{
	GrPathOptions options = {.alpha = 0.5,.intercept = true,.standardize = true};
	void	   *workspace = malloc(gr_path_workspace_nbytes(MAX_P, true));
	Stopper		stopper = {.stop_at = 1};
	GrHost		host = {stop, &stopper};
	double		coef[MAX_P + 1];
	GrPath		path;
	GrPathPoint point;
	GrError		err = {0};
	bool		ok = true;

	make_problem(MAX_P, 0.5);
	for (int t = 0; ok && t < 1000; t++)
		ok = gr_path_open(&path, &options, problem.hi, problem.lo, problem.shift, MAX_P, workspace, &host, &err) &&
			(path.poll.work = GR_POLL_WORK, gr_path_step(&path, 1e-6, &point, coef, &err));
	check(!ok && err.status == GR_CANCELED, "stopped");
	free(workspace);
}

int
main(void)
{
	srandom(17);
	for (int p = 1; p <= MAX_P; p += 13)
		for (int k = 0; k < 3; k++)
			for (int positive = 0; positive < 2; positive++)
			{
				check_path(p, 0.5, k / 2.0, positive);
				check_path(p, 1, k / 2.0, positive);
			}
	check_drop();
	check_made_up();
	check_cancel();
	return unit_done();
}
