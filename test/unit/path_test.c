/*
 * path_test.c: tests elastic nets from sums: the conditions of a minimum, features that leave, residuals, and sums that
 * no rows have; also the factor in float8 and its kernels. test/sql/enet.sql compares coefficients with 60 digits.
 */
#include <stdlib.h>
#include <string.h>

#include "compute/enet/path.h"
#include "unit.h"

#define MAX_P 280
#define MAX_TRIANGLE ((MAX_P + 2) * (MAX_P + 3) / 2)
#define MAX_ROWS 300
#define NROWS 60

typedef struct Problem
{
	int			p;
	double		rows[MAX_ROWS * (MAX_P + 1)];
	double		hi[MAX_TRIANGLE];
	double		lo[MAX_TRIANGLE];
	double		shift[MAX_P + 1];
} Problem;

static Problem problem;

/* Returns the problem's sums restricted to its first p features. */
static GrGram *
sums_of(int p)
{
	static GrGram gram;

	gram = (GrGram) {.hi = problem.hi,.lo = problem.lo,.shift = problem.shift,.nfeatures = p};
	return &gram;
}

/* Returns memory filled with NaNs. */
static void *
make_workspace(int p, bool intercept)
{
	size_t		nbytes = gr_path_workspace_nbytes(p, intercept);

	return memset(malloc(nbytes), 0xff, nbytes);
}

static double
uniform(void)
{
	return 2.0 * (double) random() / 2147483648.0 - 1.0;
}

/* Makes columns that each share much with the one before; the response is a sum of every third. */
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
	gr_gram_add(sums_of(p), problem.rows, NROWS, shape, scratch);
	free(scratch);
}

/* Makes columns that differ from the one before by a given share; the response is an alternating sum. */
static void
make_near_problem(int p, int nrows, double own)
{
	GrRowShape	shape = shape_of(p, false);
	double	   *scratch = malloc(gr_gram_scratch_nbytes(shape));

	memset(&problem, 0, sizeof(problem));
	problem.p = p;
	for (int r = 0; r < nrows; r++)
	{
		double	   *row = problem.rows + r * (p + 1);

		row[p] = uniform();
		for (int j = 0; j < p; j++)
		{
			row[j] = j == 0 ? uniform() : row[j - 1] + own * uniform();
			row[p] += (j % 2 == 0 ? 1 : -1) * row[j] / own;
		}
	}
	gr_gram_add(sums_of(p), problem.rows, nrows, shape, scratch);
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

/* Returns how far the coefficients are from a minimum, in units of the penalty. *rss: the residuals' sum of squares. */
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
	void	   *workspace = make_workspace(p, true);
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
	ok = gr_path_open(&path, &options, sums_of(p), workspace, NULL, &err) &&
		gr_path_grid(&path, 1e-4, &n, lambda, &err);
	for (int k = 0; ok && k < n; k++)
	{
		double		rss;
		double		from_sums;

		ok = gr_path_step(&path, lambda[k], &point, coef, &err);
		worst = fmax(worst, distance_from_minimum(coef, alpha, lambda[k], is_positive, &rss));
		from_sums = gr_path_rss(sums_of(p), true, coef, work);
		worst_rss = fmax(worst_rss, fmax(fabs(from_sums - rss), fabs(point.rss - rss)) / (rss + 1e-3));
		if (k == 0 && alpha >= GR_PATH_LEAST_ALPHA)
			ok &= point.df == 0;
	}
	check(ok && n == COUNT(lambda) && worst < 1e-9 && worst_rss < 1e-9, "%d features, share %g, alpha %g%s: %g %g", p,
		  share, alpha, is_positive ? ", positive" : "", worst, worst_rss);
	free(workspace);
}

/*
 * Checks the work of a path, as it is reported to the poll: more would mean a needless solve for a set of features,
 * less a missing one.
 */
static void
check_work(void)
{
	static const struct
	{
		int			p;
		double		share;		/* 0: each column differs from the one before by a hundredth */
		double		alpha;
		int			asked;		/* number of polls */
		int64_t		work;		/* work since the last poll */
	}			cases[] = {
		{20, 0.3, 0.5, 0, 32802}, {20, 0.3, 1, 0, 25808}, {120, 0.3, 0.5, 0, 831010}, {120, 0.3, 1, 0, 502927},
		{280, 0.3, 0.5, 0, 1112597}, {280, 0.3, 1, 0, 631119}, {20, 0.9, 0.5, 0, 33437}, {20, 0.9, 1, 0, 26521},
		{120, 0.9, 0.5, 0, 945480}, {120, 0.9, 1, 0, 400627}, {280, 0.9, 0.5, 0, 1778129},
		{280, 0.9, 1, 0, 837742}, {20, 0, 0.5, 0, 36320}, {20, 0, 1, 0, 23247}, {120, 0, 0.5, 0, 1948717},
		{120, 0, 1, 0, 793560}, {280, 0, 0.5, 4, 1021718}, {280, 0, 1, 0, 1457865}
	};

	for (int c = 0; c < COUNT(cases); c++)
	{
		GrPathOptions options = {.alpha = cases[c].alpha,.intercept = true,.standardize = true};
		void	   *workspace = make_workspace(cases[c].p, true);
		Stopper		stopper = {.stop_at = 1000000};
		GrHost		host = {.canceled = stop,.arg = &stopper};
		double		lambda[30];
		double		coef[MAX_P + 1];
		int			n = COUNT(lambda);
		GrPath		path;
		GrPathPoint point;
		GrError		err = {0};
		bool		ok;

		srandom(cases[c].share == 0.3 ? 11 : cases[c].share == 0.9 ? 12 : 13);
		if (cases[c].share > 0)
			make_problem(cases[c].p, cases[c].share);
		else
			make_near_problem(cases[c].p, NROWS, 0.01);
		ok = gr_path_open(&path, &options, sums_of(cases[c].p), workspace, &host, &err) &&
			gr_path_grid(&path, 1e-4, &n, lambda, &err);
		for (int k = 0; ok && k < n; k++)
			ok = gr_path_step(&path, lambda[k], &point, coef, &err);
		check(ok && stopper.asked == cases[c].asked && path.poll.work == cases[c].work,
			  "%d features, share %g, alpha %g: asked %d times, and %ld", cases[c].p, cases[c].share, cases[c].alpha,
			  stopper.asked, (long) path.poll.work);
		free(workspace);
	}
}

/* Checks that a factor from which rows were removed is the factor of the remaining ones. */
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

#define QUICK_MOST 40

/* Builds a factor in float8 of n rows, as many at a time as possible; false if a row was refused. */
static bool
append_quickly(GrQuick *quick, double a[QUICK_MOST][QUICK_MOST], int n)
{
	double		columns[GR_QUICK_MOST][QUICK_MOST];
	double	   *solved[GR_QUICK_MOST];
	bool		ok = true;

	for (int first = 0; first < n; first += GR_QUICK_MOST)
	{
		int			m = n - first < GR_QUICK_MOST ? n - first : GR_QUICK_MOST;

		for (int q = 0; q < m; q++)
			solved[q] = memcpy(columns[q], a[first + q], sizeof(a[0]));
		gr_quick_forward(quick, solved, m, 0, first);
		for (int q = 0; q < m; q++)
		{
			gr_quick_forward(quick, solved + q, 1, first, first + q);
			ok &= gr_quick_append(quick, columns[q], a[first + q][first + q], 1e-7);
		}
	}
	return ok;
}

/* True if a row that is the sum of the first two is refused, and the factor stays as it was. */
static bool
refuses_sum(GrQuick *quick, double a[QUICK_MOST][QUICK_MOST])
{
	int			n = quick->n;
	double		column[QUICK_MOST];
	double	   *solved = column;

	for (int j = 0; j < n; j++)
		column[j] = a[0][j] + a[1][j];
	gr_quick_forward(quick, &solved, 1, 0, n);
	return !gr_quick_append(quick, column, a[0][0] + 2 * a[0][1] + a[1][1], 1e-7) && quick->n == n;
}

/* Checks the factor in float8, also after rows were dropped, by the residual of a solve. */
static void
check_quick(int n)
{
	static double l[QUICK_MOST * (QUICK_MOST + 16)];
	double		d[QUICK_MOST];
	double		a[QUICK_MOST][QUICK_MOST];
	double		work[2 * QUICK_MOST];
	double		x[QUICK_MOST];
	int			left[QUICK_MOST];
	GrQuick		quick = {0, l, d};
	double		worst = 0;
	bool		ok;

	for (int i = 0; i < n; i++)
		for (int j = 0; j <= i; j++)
			a[i][j] = a[j][i] = i == j ? n : uniform();
	ok = append_quickly(&quick, a, n) && (n < 2 || n == QUICK_MOST || refuses_sum(&quick, a));
	for (int i = 0; i < n; i++)
		left[i] = i;
	for (int k = n - 1; k >= 0; k -= 4)
	{
		gr_quick_drop(&quick, k, work);
		memmove(left + k, left + k + 1, (size_t) (quick.n - k) * sizeof(int));
	}
	for (int i = 0; i < quick.n; i++)
		x[i] = i + 1;
	gr_quick_solve(&quick, x);
	for (int i = 0; i < quick.n; i++)
	{
		double		sum = -(i + 1);

		for (int j = 0; j < quick.n; j++)
			sum += x[j] * a[left[i]][left[j]];
		worst = fmax(worst, fabs(sum));
	}
	check(ok && quick.n == n - (n + 3) / 4 && worst < 1e-13 * n, "%d rows in float8, a quarter dropped: %g", n, worst);
}

/* A triangle's rows as the kernels expect them, and a vector with its low parts */
typedef struct Products
{
	double		hi[QUICK_MOST * (QUICK_MOST + 16)];
	double		lo[QUICK_MOST * (QUICK_MOST + 16)];
	double		b_hi[QUICK_MOST];
	double		b_lo[QUICK_MOST];
} Products;

static Products products;

static void
make_products(int n)
{
	memset(&products, 0, sizeof(products));
	for (int i = 0; i < n; i++)
	{
		int64_t		at = gr_path_row_at(i);

		products.b_hi[i] = uniform();
		products.b_lo[i] = products.b_hi[i] * 0x1p-54 * uniform();
		for (int j = 0; j < i; j++)
		{
			products.hi[at + j] = uniform();
			products.lo[at + j] = products.hi[at + j] * 0x1p-54 * uniform();
		}
	}
}

/* Checks products with a symmetric matrix against double-double, and that all vectors give the same bits. */
static void
check_symmetric(int n)
{
	double		y[3][2][QUICK_MOST] = {{{0}}};
	double		worst = 0;

	make_products(n);
	for (int v = 0; v < 3; v++)
		gr_path_kernels(v == 0 ? 1 : 4 * v)->subtract_symmetric(y[v][0], y[v][1], products.hi, products.lo,
																products.b_hi, products.b_lo, n);
	for (int i = 0; i < n; i++)
	{
		GrDD		sum = gr_two_sum(y[0][0][i], y[0][1][i]);

		for (int j = 0; j < n; j++)
		{
			int64_t		at = i > j ? gr_path_row_at(i) + j : gr_path_row_at(j) + i;

			if (i != j)
				sum = gr_dd_add(sum, gr_dd_mul((GrDD) {products.hi[at], products.lo[at]},
											   (GrDD) {products.b_hi[j], products.b_lo[j]}));
		}
		worst = fmax(worst, fabs(sum.hi));
	}
	check(worst < 1e-30 && memcmp(y[1], y[0], sizeof(y[0])) == 0 && memcmp(y[2], y[0], sizeof(y[0])) == 0,
		  "products of %d: %g", n, worst);
}

/* Checks products with eight rows, from either side. */
static void
check_rows(int n)
{
	double		x[3][QUICK_MOST];
	double		sums[3][8];
	const double *rows[8];
	double		worst = 0;

	make_products(QUICK_MOST);
	for (int r = 0; r < 8; r++)
		rows[r] = products.hi + gr_path_row_at(QUICK_MOST - 8 + r);
	for (int v = 0; v < 3; v++)
	{
		const GrPathKernels *kernels = gr_path_kernels(v == 0 ? 1 : 4 * v);

		memcpy(x[v], products.b_hi, sizeof(x[v]));
		kernels->dots(sums[v], rows, x[v], n);
		kernels->subtract(x[v], rows, sums[v], n);
	}
	for (int r = 0; r < 8; r++)
	{
		GrDD		sum = gr_dd(-sums[0][r]);

		for (int k = 0; k < n; k++)
			sum = gr_dd_add(sum, gr_two_prod(rows[r][k], products.b_hi[k]));
		worst = fmax(worst, fabs(sum.hi));
	}
	for (int k = 0; k < QUICK_MOST; k++)
	{
		GrDD		sum = gr_two_sum(products.b_hi[k], -x[0][k]);

		for (int r = 0; r < 8 && k < n; r++)
			sum = gr_dd_sub(sum, gr_two_prod(rows[r][k], sums[0][r]));
		worst = fmax(worst, fabs(sum.hi));
	}
	check(worst < 1e-14 && memcmp(x[1], x[0], sizeof(x[0])) == 0 && memcmp(x[2], x[0], sizeof(x[0])) == 0 &&
		  memcmp(sums[1], sums[0], sizeof(sums[0])) == 0 && memcmp(sums[2], sums[0], sizeof(sums[0])) == 0,
		  "eight rows of %d: %g", n, worst);
}

/*
 * Returns how far the path's coefficients are from a minimum, by the given sums and for columns of length 1: the worst
 * condition of an active feature, and the largest excess of another feature over its penalty.
 */
static double
distance_in_sums(const GrPath *path)
{
	int			p = path->p;
	double		size = path->norm[p];
	double		worst = 0;

	for (int j = 0; j < p; j++)
		size += fabs(path->b.hi[j]) * path->norm[j];
	for (int j = 0; j < p; j++)
	{
		GrDD		sum_j = {problem.hi[gr_packed(j + 1, 0)], problem.lo[gr_packed(j + 1, 0)]};
		GrDD		g = gr_dd(0);
		GrDD		penalty = gr_dd_get(path->penalty1, j);
		double		over;

		if (!path->usable[j])
			continue;
		for (int i = 0; i <= p; i++)
		{
			int64_t		at = i > j ? gr_packed(i + 1, j + 1) : gr_packed(j + 1, i + 1);
			GrDD		sum_i = {problem.hi[gr_packed(i + 1, 0)], problem.lo[gr_packed(i + 1, 0)]};
			GrDD		c = gr_dd_sub((GrDD) {problem.hi[at], problem.lo[at]},
									  gr_dd_div(gr_dd_mul(sum_i, sum_j), path->total));

			c = gr_dd_scale(gr_dd_scale(c, path->scale[i]), path->scale[j]);
			g = i == p ? gr_dd_add(g, c) : gr_dd_sub(g, gr_dd_mul(c, gr_dd_get(path->b, i)));
		}
		g = gr_dd_sub(g, gr_dd_mul(gr_dd_get(path->penalty2, j), gr_dd_get(path->b, j)));
		if (g.hi < 0)
			g = gr_dd_neg(g);
		over = gr_dd_sub(g, penalty).hi / path->norm[j] / size;
		worst = fmax(worst, path->b.hi[j] != 0 ? fabs(over) : over);
	}
	return worst;
}

/* Returns the largest error of the float8 gradients of inactive features, for columns of length 1. */
static double
distance_of_approximations(GrPath *path)
{
	double		size = path->norm[path->p];
	double		worst = 0;

	for (int j = 0; j < path->p; j++)
		size += fabs(path->b.hi[j]) * path->norm[j];
	if (!gr_path_approximate(path))
		return INFINITY;
	for (int j = 0; j < path->p; j++)
	{
		double		about = path->gradient.hi[j];

		if (path->place[j] >= 0)
			continue;
		gr_path_make_exact(path, j);
		worst = fmax(worst, fabs(about - path->gradient.hi[j]) / path->norm[j] / size);
	}
	return worst;
}

/*
 * Checks that conditions are met to double-double's rounding with a factor in float8, and after it is replaced by one
 * in double-double, and that both give the same coefficients.
 */
static void
check_conditions(int p, int nrows, double own, double alpha, bool exact)
{
	GrPathOptions options = {.alpha = alpha,.intercept = true,.standardize = true};
	void	   *workspaces[2];
	double		coef[2][MAX_P + 1];
	double		lambda[40];
	int			n = COUNT(lambda);
	GrPath		path[2];
	GrPathPoint point;
	GrError		err = {0};
	double		worst = 0;
	double		worst_about = 0;
	double		worst_coef = 0;
	bool		ok = true;

	make_near_problem(p, nrows, own);
	for (int k = 0; k < 2; k++)
	{
		workspaces[k] = make_workspace(p, true);
		ok &= gr_path_open(path + k, &options, sums_of(p), workspaces[k], NULL, &err);
	}
	path[1].exact = true;
	ok &= gr_path_grid(path, 1e-6, &n, lambda, &err);
	for (int k = 0; ok && k < n; k++)
	{
		ok = gr_path_step(path, lambda[k], &point, coef[0], &err) && gr_path_step(path + 1, lambda[k], &point, coef[1],
																				  &err);
		worst = fmax(worst, distance_in_sums(path));
		worst_about = fmax(worst_about, distance_of_approximations(path));
		for (int j = 0; j <= p; j++)
			worst_coef = fmax(worst_coef, relative_error(coef[0][j], coef[1][j]));
	}
	check(ok && point.df > p / 2 && path->exact == exact && worst < 0x1p-82 && worst_about < 1e-14 &&
		  worst_coef < 5e-16,
		  "%d features, %g of their own, alpha %g: %g, %g, %g, %s", p, own, alpha, worst, worst_about, worst_coef,
		  path->exact ? "double-double" : "float8");
	free(workspaces[0]);
	free(workspaces[1]);
}

/* Checks that a feature enters as soon as its correlation exceeds the penalty by a rounding. */
static void
check_entry(int p)
{
	GrPathOptions options = {.alpha = 1,.intercept = true,.standardize = true};
	void	   *workspace = make_workspace(p, true);
	double		coef[MAX_P + 1];
	double		lambda;
	int			n = 1;
	GrPath		path;
	GrPathPoint before;
	GrPathPoint point;
	GrError		err = {0};

	make_near_problem(p, NROWS, 1);
	check(gr_path_open(&path, &options, sums_of(p), workspace, NULL, &err) &&
		  gr_path_grid(&path, 0.5, &n, &lambda, &err) && gr_path_step(&path, lambda, &before, coef, &err) &&
		  gr_path_step(&path, lambda * (1 - 0x1p-50), &point, coef, &err) && before.df == 0 && point.df == 1,
		  "%d features, the first enters", p);
	free(workspace);
}

/* Checks that a path over sums that no rows have ends, in whichever way. */
static void
check_made_up(void)
{
	int			ended = 0;
	int			failed = 0;

	for (int t = 0; t < 300; t++)
	{
		GrPathOptions options = {.alpha = t % 3 / 2.0,.intercept = t % 2,.standardize = t % 5 > 0};
		int			p = 1 + t % 12;
		void	   *workspace = make_workspace(p, options.intercept);
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
		ok = gr_path_open(&path, &options, sums_of(p), workspace, NULL, &err) &&
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
	void	   *workspace = make_workspace(40, true);
	Stopper		stopper = {.stop_at = 1};
	GrHost		host = {.canceled = stop,.arg = &stopper};
	double		coef[MAX_P + 1];
	GrPath		path;
	GrPathPoint point;
	GrError		err = {0};
	bool		ok = true;

	make_problem(40, 0.5);
	for (int t = 0; ok && t < 1000; t++)
		ok = gr_path_open(&path, &options, sums_of(40), workspace, &host, &err) &&
			(path.poll.work = GR_POLL_WORK, gr_path_step(&path, 1e-6, &point, coef, &err));
	check(!ok && err.status == GR_CANCELED, "stopped");
	free(workspace);
}

int
main(void)
{
	srandom(17);
	for (int p = 1; p <= 40; p += 13)
		for (int k = 0; k < 3; k++)
			for (int positive = 0; positive < 2; positive++)
			{
				check_path(p, 0.5, k / 2.0, positive);
				check_path(p, 1, k / 2.0, positive);
			}
	check_drop();
	for (int n = 1; n <= QUICK_MOST; n += 3)
		check_quick(n);
	for (int n = 0; n <= QUICK_MOST; n += 5)
		check_symmetric(n);
	for (int n = 0; n <= QUICK_MOST; n += 8)
		check_rows(n);
	check_entry(10);
	check_entry(36);
	check_conditions(36, 60, 1, 1, false);
	check_conditions(36, 60, 0.01, 1, false);
	check_conditions(36, 60, 0.01, 0.5, false);
	check_conditions(36, 60, 0.01, 0, false);
	check_conditions(36, 60, 0.002, 1, false);
	check_conditions(200, MAX_ROWS, 0.001, 1, false);
	check_conditions(MAX_P, MAX_ROWS, 0.1, 1, false);
	check_conditions(MAX_P, MAX_ROWS, 0.1, 0.5, false);
	check_conditions(36, 60, 1e-5, 1, true);
	check_conditions(36, 60, 1e-5, 0.999999999999, true);
	check_made_up();
	check_cancel();
	check_work();
	return unit_done();
}
