/*
 * ols_test.c: the solver on matrices whose answer is known, and its errors.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "compute/ols.h"
#include "unit.h"

#define MAX_P 40

typedef struct Problem
{
	int			p;
	int64_t		nrows;
	double		hi[(MAX_P + 2) * (MAX_P + 3) / 2];
	double		lo[(MAX_P + 2) * (MAX_P + 3) / 2];
	double		coef[MAX_P + 1];
	double		vcov[(MAX_P + 1) * (MAX_P + 1)];
	GrOlsFit	fit;
	GrError		err;
} Problem;

static void
start(Problem *problem, int p)
{
	memset(problem, 0, sizeof(*problem));
	problem->p = p;
}

static void
add_row(Problem *problem, const double *row)
{
	double		scratch[4000];

	gr_gram_add(problem->hi, problem->lo, row, 1, problem->p, NULL, scratch);
	problem->nrows++;
}

static bool
solve(Problem *problem, bool intercept, const GrHost *host)
{
	void	   *workspace = malloc(gr_ols_workspace_nbytes(problem->p));
	bool		ok;

	problem->fit.coef = problem->coef;
	problem->fit.vcov = problem->vcov;
	memset(&problem->err, 0, sizeof(problem->err));
	ok = gr_ols_solve(problem->hi, problem->lo, NULL, problem->p, problem->nrows, intercept, workspace, NULL, &problem->fit, host,
					  &problem->err);
	free(workspace);
	return ok;
}

/* y = 1, 2, 2 on x = 1, 2, 3: by hand, slope 1/2, intercept 2/3, rss 1/6, tss 2/3 */
static void
test_by_hand(void)
{
	static const double rows[3][2] = {{1, 1}, {2, 2}, {3, 2}};
	Problem		problem;

	start(&problem, 1);
	for (int r = 0; r < 3; r++)
		add_row(&problem, rows[r]);
	check(solve(&problem, true, NULL) && problem.fit.rank == 2 && problem.fit.df_residual == 1, "three points");
	check(relative_error(problem.coef[0], 2.0 / 3) < 2e-16 && relative_error(problem.coef[1], 0.5) < 2e-16, "coefficients");
	check(relative_error(problem.fit.rss, 1.0 / 6) < 2e-16 && relative_error(problem.fit.tss, 2.0 / 3) < 2e-16, "sums of squares");
	/* sigma^2 (X'X)^-1 = 1/6 * {{7/3, -1}, {-1, 1/2}} */
	check(relative_error(problem.vcov[0], 7.0 / 18) < 2e-16 && relative_error(problem.vcov[1], -1.0 / 6) < 2e-16 &&
		  problem.vcov[1] == problem.vcov[2] && relative_error(problem.vcov[3], 1.0 / 12) < 2e-16, "covariance matrix");
	/* no intercept: slope 11/14, rss 9 - 121/14, tss 9 */
	check(solve(&problem, false, NULL) && relative_error(problem.coef[0], 11.0 / 14) < 2e-16 &&
		  relative_error(problem.fit.rss, 5.0 / 14) < 4e-16 && problem.fit.tss == 9 && problem.fit.df_residual == 2, "without an intercept");
}

/* y is a known combination of random columns: coefficients come back, the residual is 0 and not rounding error */
static void
test_exact_combination(void)
{
	for (int p = 1; p <= MAX_P; p += 13)
	{
		Problem		problem;
		double		worst = 0;

		start(&problem, p);
		for (int r = 0; r < 3 * p + 5; r++)
		{
			double		row[MAX_P + 1];

			/* small whole numbers: y is exact */
			row[p] = 7;
			for (int j = 0; j < p; j++)
			{
				row[j] = (double) (random() % 1000);
				row[p] += (j - 3) * row[j];
			}
			add_row(&problem, row);
		}
		if (!solve(&problem, true, NULL))
			worst = INFINITY;
		for (int j = 0; j <= p; j++)
		{
			double		e = relative_error(problem.coef[j], j == 0 ? 7 : j - 4);

			worst = e > worst ? e : worst;
		}
		check(worst < 2e-16, "%d features of small numbers: worst %.2g", p, worst);
		check(problem.fit.rss == 0 && problem.vcov[0] == 0 && !signbit(problem.vcov[0]), "%d features: a perfect fit leaves exactly 0", p);
	}
}

/* later columns lose to earlier ones; what is left is as if they were not there */
static void
test_aliasing(void)
{
	Problem		problem;
	Problem		without;

	start(&problem, 4);
	start(&without, 2);
	for (int r = 0; r < 50; r++)
	{
		double		a = sin(r);
		double		b = cos(3 * r);
		double		y = exp(-r / 20.0);
		double		row[5] = {a, 0.3 * a - 7, b, a + b / 3, y};
		double		kept[3] = {a, b, y};

		add_row(&problem, row);
		add_row(&without, kept);
	}
	check(solve(&problem, true, NULL) && solve(&without, true, NULL) && problem.fit.rank == 3 && problem.fit.df_residual == 47, "rank 3 of 5");
	check(isnan(problem.coef[2]) && isnan(problem.coef[4]) && !isnan(problem.coef[1]) && !isnan(problem.coef[3]), "the later columns are aliased");
	check(problem.coef[0] == without.coef[0] && problem.coef[1] == without.coef[1] && problem.coef[3] == without.coef[2] &&
		  problem.fit.rss == without.fit.rss, "the others are those of the fit without them");
	check(isnan(problem.vcov[2 * 5 + 1]) && isnan(problem.vcov[1 * 5 + 2]) && problem.vcov[3 * 5 + 1] == without.vcov[2 * 3 + 1], "and so is their covariance");
}

/* a column at 1e-9 of its length from the others is not collinear, one at 1e-14 is */
static void
test_tolerance(void)
{
	static const double distances[] = {1e-5, 1e-9, 1e-11, 1e-14};

	for (int k = 0; k < 4; k++)
	{
		Problem		problem;

		start(&problem, 2);
		for (int r = 0; r < 40; r++)
		{
			double		a = ldexp(1 + r % 7, 3);
			double		row[3] = {a, a + 32 * distances[k] * ((r * 5) % 11 - 5), r};

			add_row(&problem, row);
		}
		solve(&problem, true, NULL);
		check(problem.fit.rank == (distances[k] > 1e-12 ? 3 : 2), "distance %g: rank %d", distances[k], problem.fit.rank);
	}
}

static void
test_few_rows(void)
{
	static const double row[3] = {2, 5, 7};
	Problem		problem;

	start(&problem, 2);
	add_row(&problem, row);
	check(solve(&problem, true, NULL) && problem.fit.rank == 1 && problem.fit.df_residual == 0 && problem.coef[0] == 7 &&
		  isnan(problem.coef[1]) && problem.fit.rss == 0 && isnan(problem.vcov[0]), "one row: the mean, no error");
	check(solve(&problem, false, NULL) && problem.coef[0] == 3.5, "one row, no intercept: the first column");
}

static void
test_ranges(void)
{
	static const double sizes[] = {1e-130, 1e-60, 1, 1e60, 1e150};
	Problem		problem;
	double		huge[2] = {1e200, 1};
	double		tiny[2] = {1, 1e-145};

	for (int k = 0; k < 5; k++)
	{
		start(&problem, 1);
		for (int r = 1; r <= 10; r++)
		{
			double		row[2] = {r * sizes[k], 3 + 2 * r};

			add_row(&problem, row);
		}
		check(solve(&problem, true, NULL) && relative_error(problem.coef[1], 2 / sizes[k]) < 1e-15 && relative_error(problem.coef[0], 3) < 1e-15,
			  "features of size %g", sizes[k]);
	}
	start(&problem, 1);
	add_row(&problem, huge);
	check(!solve(&problem, true, NULL) && problem.err.status == GR_OUT_OF_RANGE && problem.err.where == 0, "squares overflow: x is named");
	start(&problem, 1);
	add_row(&problem, tiny);
	check(!solve(&problem, true, NULL) && problem.err.status == GR_OUT_OF_RANGE && problem.err.where == 1, "squares underflow: y is named");
}

static bool
always(void *arg)
{
	(void) arg;
	return true;
}

static void
test_cancel(void)
{
	static const GrHost host = {.canceled = always};
	static const double row[2] = {1, 2};
	Problem		problem;

	start(&problem, 1);
	add_row(&problem, row);
	check(!solve(&problem, true, &host) && problem.err.status == GR_CANCELED, "cancel is heard");
}

/* Every part of a solve for many terms asks, more often than once a term; and not again after it was told to stop. */
static void
test_polls(void)
{
	int			m = 700;
	size_t		n = (size_t) gr_triangle(m + 1);
	double	   *hi = calloc(n, sizeof(double));
	double	   *lo = calloc(n, sizeof(double));
	bool	   *aliased = calloc((size_t) m, sizeof(bool));
	double	   *coef = malloc((size_t) m * sizeof(double));
	double	   *inverse = malloc((size_t) m * m * sizeof(double));
	void	   *workspace = malloc(gr_ols_workspace_nbytes(m));
	GrNormalFit fit = {.nterms = m,.aliased = aliased,.coef = coef,.inverse = inverse};
	Stopper		stopper = {.stop_at = INT_MAX};
	GrHost		host = {stop, &stopper};
	GrError		err = {0};
	int			nasked;
	int			nwrong = 0;

	for (int64_t i = 0; i < m; i++)
		for (int64_t j = 0; j <= i; j++)
			hi[i * (i + 1) / 2 + j] = i == j ? 2 : 1.0 / (i + j + 2);
	nwrong += !gr_normal_solve(hi, lo, 0, GR_ALIAS_TOLERANCE, workspace, NULL, &fit, &host, &err);
	nasked = stopper.asked;
	for (int at = 1; at <= nasked; at += at < nasked - 3 ? 97 : 1)
	{
		GrError		canceled = {0};

		stopper.asked = 0;
		stopper.stop_at = at;
		nwrong += gr_normal_solve(hi, lo, 0, GR_ALIAS_TOLERANCE, workspace, NULL, &fit, &host, &canceled) ||
			canceled.status != GR_CANCELED || stopper.asked != at;
	}
	if (!check(nwrong == 0 && nasked >= 3 * m + 1 + 150, "%d terms: polls", m))
		printf("# %d wrong, asked %d times\n", nwrong, nasked);
	free(hi);
	free(lo);
	free(aliased);
	free(coef);
	free(inverse);
	free(workspace);
}

int
main(void)
{
	srandom(7);
	test_by_hand();
	test_exact_combination();
	test_aliasing();
	test_tolerance();
	test_few_rows();
	test_ranges();
	test_cancel();
	test_polls();
	return unit_done();
}
