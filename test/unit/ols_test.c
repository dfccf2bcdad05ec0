/*
 * ols_test.c: tests the solver on matrices whose answer is known, and its errors.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "compute/base/dd.h"
#include "compute/linalg/gram_shift.h"
#include "compute/linear/ols.h"
#include "unit.h"

#define MAX_P 40

typedef struct Problem
{
	int			p;
	int64_t		nrows;
	double		hi[(MAX_P + 2) * (MAX_P + 3) / 2];
	double		lo[(MAX_P + 2) * (MAX_P + 3) / 2];
	double		shift[MAX_P + 1];
	int64_t		nsummed;
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

static GrGram
gram_of(Problem *problem)
{
	return (GrGram) {
		.hi = problem->hi,.lo = problem->lo,.shift = problem->shift,.nfeatures = problem->p,.nobs = problem->nrows,
		.nsummed = problem->nsummed
	};
}

static void
add_row(Problem *problem, const double *row)
{
	GrGram		gram = gram_of(problem);
	double		scratch[4000];

	gr_gram_add(&gram, row, 1, gr_plain_shape(problem->p), scratch);
	problem->nrows++;
}

/* Sums a problem's rows. shifted: about a shift chosen from the rows, like an aggregate. */
static void
add_rows(Problem *problem, const double *rows, int nrows, bool shifted)
{
	GrGram		gram = gram_of(problem);
	double		scratch[4000];

	if (shifted)
		gr_shift_choose(problem->shift, rows, nrows, gr_plain_shape(problem->p));
	gr_gram_add(&gram, rows, nrows, gr_plain_shape(problem->p), scratch);
	problem->nrows += nrows;
}

static bool
solve_at(Problem *problem, bool intercept, const GrSolver *solver, const GrHost *host)
{
	void	   *workspace = malloc(gr_normal_workspace_nbytes(problem->p));
	GrGram		gram = gram_of(problem);
	bool		ok;

	problem->fit.coef = problem->coef;
	problem->fit.vcov = problem->vcov;
	memset(&problem->err, 0, sizeof(problem->err));
	problem->fit.intercept = intercept;
	problem->fit.solver = solver;
	ok = gr_ols_solve(&gram, workspace, &problem->fit, host, &problem->err);
	free(workspace);
	return ok;
}

static bool
solve(Problem *problem, bool intercept, const GrHost *host)
{
	return solve_at(problem, intercept, NULL, host);
}

/* Checks y = 1, 2, 2 on x = 1, 2, 3 by hand: slope 1/2, intercept 2/3, rss 1/6, tss 2/3. */
static void
test_by_hand(void)
{
	static const double rows[3][2] = {{1, 1}, {2, 2}, {3, 2}};
	Problem		problem;

	start(&problem, 1);
	for (int r = 0; r < 3; r++)
		add_row(&problem, rows[r]);
	check(solve(&problem, true, NULL) && problem.fit.rank == 2 && problem.fit.df_residual == 1, "three points");
	check(relative_error(problem.coef[0], 2.0 / 3) < 2e-16 && relative_error(problem.coef[1], 0.5) < 2e-16,
		  "coefficients");
	check(relative_error(problem.fit.rss, 1.0 / 6) < 2e-16 && relative_error(problem.fit.tss, 2.0 / 3) < 2e-16,
		  "sums of squares");
	/* sigma^2 (X'X)^-1 = 1/6 * {{7/3, -1}, {-1, 1/2}} */
	check(relative_error(problem.vcov[0], 7.0 / 18) < 2e-16 && relative_error(problem.vcov[1], -1.0 / 6) < 2e-16 &&
		  problem.vcov[1] == problem.vcov[2] && relative_error(problem.vcov[3], 1.0 / 12) < 2e-16, "covariance matrix");
	/* no intercept: slope 11/14, rss 9 - 121/14, tss 9 */
	check(solve(&problem, false, NULL) && relative_error(problem.coef[0], 11.0 / 14) < 2e-16 &&
		  relative_error(problem.fit.rss, 5.0 / 14) < 4e-16 && problem.fit.tss == 9 && problem.fit.df_residual == 2,
		  "without an intercept");
}

/* Checks a y that is a known combination of random columns: the coefficients come back, and the residual is 0. */
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

			/* small integers, so y is exact */
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
		check(problem.fit.rss == 0 && problem.vcov[0] == 0 && !signbit(problem.vcov[0]),
			  "%d features: a perfect fit leaves exactly 0", p);
	}
}

/* Checks that a collinear column loses to earlier ones, and that the others' results are those without it. */
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
	check(solve(&problem, true, NULL) && solve(&without, true, NULL) && problem.fit.rank == 3 &&
		  problem.fit.df_residual == 47, "rank 3 of 5");
	check(isnan(problem.coef[2]) && isnan(problem.coef[4]) && !isnan(problem.coef[1]) && !isnan(problem.coef[3]),
		  "the later columns are aliased");
	check(problem.coef[0] == without.coef[0] && problem.coef[1] == without.coef[1] &&
		  problem.coef[3] == without.coef[2] &&
		  problem.fit.rss == without.fit.rss, "the others are those of the fit without them");
	check(isnan(problem.vcov[2 * 5 + 1]) && isnan(problem.vcov[1 * 5 + 2]) &&
		  problem.vcov[3 * 5 + 1] == without.vcov[2 * 3 + 1], "and so is their covariance");
}

/* Checks that a column at 1e-9 of its length from the others is not collinear, and one at 1e-14 is. */
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
		check(problem.fit.rank == (distances[k] > 1e-12 ? 3 : 2), "distance %g: rank %d", distances[k],
			  problem.fit.rank);
	}
}

static void
test_few_rows(void)
{
	static const double row[3] = {2, 5, 7};
	Problem		problem;

	start(&problem, 2);
	add_row(&problem, row);
	check(solve(&problem, true, NULL) && problem.fit.rank == 1 && problem.fit.df_residual == 0 &&
		  problem.coef[0] == 7 &&
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
		check(solve(&problem, true, NULL) && relative_error(problem.coef[1], 2 / sizes[k]) < 1e-15 &&
			  relative_error(problem.coef[0], 3) < 1e-15,
			  "features of size %g", sizes[k]);
	}
	start(&problem, 1);
	add_row(&problem, huge);
	check(!solve(&problem, true, NULL) && problem.err.status == GR_OUT_OF_RANGE && problem.err.where == 0,
		  "squares overflow: x is named");
	start(&problem, 1);
	add_row(&problem, tiny);
	check(!solve(&problem, true, NULL) && problem.err.status == GR_OUT_OF_RANGE && problem.err.where == 1,
		  "squares underflow: y is named");
}

/* Checks y = 1, 2, 2 on x = 1, 2, 3 moved far off: slope 1/2 with variance 1/12; the intercept's by hand. */
static void
test_offsets(void)
{
	for (int k = 0; k <= 14; k++)
	{
		double		c = pow(10, k);
		double		rows[6] = {c + 1, -3 * c + 1, c + 2, -3 * c + 2, c + 3, -3 * c + 2};
		double		sd0 = (c + 2) / sqrt(12) * sqrt(1 + 2.0 / 3 / (c + 2) / (c + 2));
		Problem		problem;
		Problem		plain;

		start(&problem, 1);
		start(&plain, 1);
		add_rows(&problem, rows, 3, true);
		add_rows(&plain, rows, 3, false);
		check(solve(&problem, true, NULL) && problem.fit.rank == 2 && (problem.shift[0] != 0) == (k >= 2) &&
			  relative_error(problem.coef[1], 0.5) < 3e-16 &&
			  relative_error(problem.coef[0], 2.0 / 3 - 3.5 * c) < 3e-16 &&
			  relative_error(problem.vcov[3], 1.0 / 12) < 3e-16 && relative_error(sqrt(problem.vcov[0]), sd0) < 4e-16 &&
			  relative_error(problem.vcov[1], -(c + 2) / 12) < 4e-16 && problem.vcov[1] == problem.vcov[2] &&
			  relative_error(problem.fit.rss, 1.0 / 6) < 3e-16 && relative_error(problem.fit.tss, 2.0 / 3) < 3e-16,
			  "offset 1e%d", k);
		check(solve(&problem, false, NULL) && solve(&plain, false, NULL) &&
			  relative_error(problem.coef[0], plain.coef[0]) < 3e-16 &&
			  (k > 6 || relative_error(problem.fit.rss, plain.fit.rss) < 1e-13) && problem.fit.rank == 1 &&
			  problem.fit.tss == plain.fit.tss, "... without an intercept");
	}
}

/*
 * Checks that about a shift only columns are aliased that float8 cannot tell from collinear: a constant, or a column
 * computed from others; but not one that is merely far from 0 for its spread.
 */
static void
test_shifted_aliasing(void)
{
	for (int k = 3; k <= 15; k++)
	{
		double		rows[60 * 5];
		Problem		problem;

		for (int r = 0; r < 60; r++)
		{
			double	   *row = rows + 5 * r;

			row[0] = pow(10, k) + ldexp((r * 37) % 101, -4);
			row[1] = 0.1;
			row[2] = row[0] * 0.3 - 7e3;
			row[3] = 5 + ldexp((r * 11) % 97, -4);
			row[4] = (r * 53) % 89;
		}
		start(&problem, 4);
		add_rows(&problem, rows, 60, true);
		check(solve(&problem, true, NULL) && problem.fit.rank == (k <= 14 ? 3 : 2) && isnan(problem.coef[2]) &&
			  isnan(problem.coef[3]) &&
			  isnan(problem.coef[1]) == (k > 14) && !isnan(problem.coef[4]), "rank at 1e%d", k);
	}
}

/* A stand-in for a device's solver, in plain double-double */
struct GrFactor
{
	int			m;
	GrDD	   *a;				/* m rows of n = 2 m + 1: the scaled matrix, its last row, the inverse */
	const double *scale;
	const bool *aliased;
};

static int	fake_factors;
static int	fake_fails_at;		/* number of the call that fails; 0: never */

/* Returns entry (i, j) of the job's matrix, scaled. */
static GrDD
fake_entry(const GrFactorJob *job, int64_t i, int64_t j)
{
	int64_t		x = (i > j ? i : j) + job->skip;
	int64_t		k = x * (x + 1) / 2 + (i > j ? j : i) + job->skip;
	GrDD		v = {job->hi[k], job->lo[k]};

	return gr_dd_scale(gr_dd_scale(v, job->scale[i]), job->scale[j]);
}

/* Factorises by Gauss and Jordan. */
static void
fake_eliminate(GrDD *a, int64_t m, const GrFactorJob *job)
{
	int64_t		n = 2 * m + 1;

	for (int64_t k = 0; k < m; k++)
	{
		GrDD		pivot = a[k * n + k];

		job->aliased[k] |= !(pivot.hi > job->least_pivot[k]);
		for (int64_t j = 0; j < n; j++)
			a[k * n + j] = job->aliased[k] ? gr_dd(0) : gr_dd_div(a[k * n + j], pivot);
		for (int64_t i = 0; i < m; i++)
		{
			GrDD		factor = a[i * n + k];

			for (int64_t j = 0; i != k && j < n; j++)
				a[i * n + j] = gr_dd_sub(a[i * n + j], gr_dd_mul(factor, a[k * n + j]));
		}
	}
}

static bool
fake_begin(GrSession *session, const GrFactorJob *job, GrFactor **factor, const GrHost *host, GrError *err)
{
	int64_t		m = job->nterms;
	int64_t		n = 2 * m + 1;
	GrDD	   *a = calloc((size_t) (m * n), sizeof(GrDD));
	GrFactor   *f = calloc(1, sizeof(GrFactor));
	GrDD		rss = job->right_hand_side ? gr_dd(0) : fake_entry(job, m, m);

	(void) session;
	(void) host;
	*factor = f;
	*f = (GrFactor) {.m = (int) m,.a = a,.scale = job->scale,.aliased = job->aliased};
	if (++fake_factors == fake_fails_at)
		return gr_fail(err, GR_DEVICE_MEMORY, 0, "as told");
	for (int64_t i = 0; i < m; i++)
	{
		for (int64_t j = 0; j <= m; j++)
			a[i * n + j] = fake_entry(job, i, j);
		a[i * n + m + 1 + i] = gr_dd(1);
	}
	fake_eliminate(a, m, job);
	for (int64_t i = 0; i < m; i++)
	{
		GrDD		coef = job->aliased[i] ? gr_dd(0) : a[i * n + m];

		rss = gr_dd_sub(rss, gr_dd_mul(fake_entry(job, m, i), coef));
		job->coef_hi[i] = coef.hi;
		job->coef_lo[i] = coef.lo;
		job->d_hi[i] = 1;
		job->d_lo[i] = job->row_hi[i] = job->row_lo[i] = 0;
	}
	job->d_hi[m] = rss.hi;
	job->d_lo[m] = rss.lo;
	return true;
}

/* Inverts with W = sigma^2, as every d is 1. */
static bool
fake_inverse(GrFactor *f, GrDDConstVector w, double divisor, double *inverse, const GrHost *host, GrError *err)
{
	int			n = 2 * f->m + 1;

	(void) host;
	(void) err;
	for (int64_t i = 0; i < f->m; i++)
		for (int64_t j = 0; j < f->m; j++)
		{
			GrDD		v = gr_dd_mul(f->a[i * n + f->m + 1 + j], (GrDD) {w.hi[0], w.lo[0]});

			inverse[i * f->m + j] = f->aliased[i] || f->aliased[j] ? NAN :
				gr_dd_to_double(v) * f->scale[i] / divisor * f->scale[j] / divisor;
		}
	return true;
}

static void
fake_end(GrFactor *f)
{
	if (f != NULL)
		free(f->a);
	free(f);
}

/*
 * Checks the intercept's covariances from a device, which come from a solve of its own; here they cancel by six digits.
 */
static void
test_shifted_on_device(void)
{
	static const GrSolverOps ops = {.begin = fake_begin,.inverse = fake_inverse,.end = fake_end};
	const GrSolver solver = {.ops = &ops,.min_terms = 1};
	double		rows[80 * 5];
	Problem		problem;
	Problem		device;

	for (int r = 0; r < 80; r++)
	{
		double	   *row = rows + 5 * r;

		row[0] = 1e9 + ldexp((r * 37) % 101, -4);
		row[1] = 1e9 - row[0] + 1e9 + ldexp((r * 11) % 97, -20);
		row[2] = 3;
		row[3] = ldexp((r * 41) % 103, -4);
		row[4] = 1e5 + (r * 53) % 89;
	}
	start(&problem, 4);
	add_rows(&problem, rows, 80, true);
	device = problem;
	for (int fails_at = 0; fails_at < 3; fails_at++)
	{
		double		worst = 0;
		bool		ok;

		fake_factors = 0;
		fake_fails_at = fails_at;
		ok = solve(&problem, true, NULL) && solve_at(&device, true, &solver, NULL) && device.fit.rank == 4 &&
			problem.fit.rank == 4 &&
			isnan(device.coef[3]) && device.fit.on_device == (fails_at == 0);
		for (int k = 0; k < 25; k++)
			if (k / 5 != 3 && k % 5 != 3)
				worst = fmax(worst, fmax(relative_error(device.vcov[k], problem.vcov[k]),
										 relative_error(device.coef[k / 5], problem.coef[k / 5])));
			else
				ok = ok && isnan(device.vcov[k]);
		if (!check(ok && worst < 4e-16 && fake_factors == (fails_at == 1 ? 1 : 2),
				   "about a shift on a device that fails at %d", fails_at))
			printf("# worst %.2g, %d factorisations, rank %d\n", worst, fake_factors, device.fit.rank);
	}
	fake_fails_at = 0;
	fake_factors = 0;
	device.fit.vcov = NULL;
	check(solve_at(&device, false, &solver, NULL) && solve(&problem, false, NULL) && fake_factors == 1 &&
		  relative_error(device.coef[0], problem.coef[0]) < 1e-12, "... without an intercept");
}

/*
 * Checks that results beyond float8's range name the term, and that variances out of range don't matter if only
 * coefficients are wanted.
 */
static void
test_result_ranges(void)
{
	static const struct
	{
		double		x;
		double		y;
		const char *what;
	}			cases[] = {
		{1e-132, 1e118, "variance of the coefficient"}, {1e130, 1e-120, "variance of the coefficient"},
			{1e-136, 1e-20, NULL},
		{1e-20, 1e148, "variance of the coefficient"}, {1e140, 1e100, NULL},
		{1e-136, 1e149, "variance of the coefficient"}, {1, 1, NULL}
	};

	for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++)
	{
		Problem		problem;
		bool		ok;

		start(&problem, 1);
		for (int r = 1; r <= 9; r++)
		{
			double		row[2] = {r * cases[k].x, (r * 5 % 7) * cases[k].y};

			add_row(&problem, row);
		}
		ok = solve(&problem, true, NULL);
		if (!check(ok == (cases[k].what == NULL) && (ok || (problem.err.status == GR_RESULT_OUT_OF_RANGE &&
															strcmp(problem.err.detail, cases[k].what) == 0)),
															"x %g, y %g", cases[k].x, cases[k].y))
			printf("# %d %s %g, variance %g\n", (int) problem.err.status, problem.err.detail, problem.err.value,
				   problem.vcov[3]);
	}
}

static bool
always(void *arg)
{
	(void) arg;
	return true;
}

/*
 * Checks four rows whose first four columns, nearly equal, use up all degrees of freedom: over such small pivots,
 * rounding leaves more of the other columns than the tolerance. Also with frequencies of three.
 */
static void
test_rank_is_at_most_rows(void)
{
	int			nwrong = 0;

	for (int k = 0; k < 2000; k++)
	{
		Problem		problem;
		double		spread = pow(10, -1 - k % 10);

		start(&problem, 7);
		for (int r = 0; r < 4; r++)
		{
			double		row[8];

			row[0] = (double) (random() % 1000) / 7;
			for (int j = 1; j < 8; j++)
				row[j] = (j < 4 ? row[0] : 0) + (j < 4 ? spread : 1) * ((double) (random() % 1000) / 500 - 1);
			add_row(&problem, row);
		}
		problem.nsummed = k % 4 < 2 ? 0 : problem.nrows;
		problem.nrows *= k % 4 < 2 ? 1 : 3;
		nwrong += !solve(&problem, k % 2 == 0, NULL) || problem.fit.rank > 4 ||
			problem.fit.df_residual < problem.nrows - 4;
	}
	if (!check(nwrong == 0, "a rank beyond the rows"))
		printf("# %d of 2000\n", nwrong);
}

/*
 * Checks y = 1, 2, 2 on x = 1, 2, 3 with l2 = 1, about any shift, by hand: slope 1 / (2 + 1), intercept 5/3 - 2/3, rss
 * 2/9; without an intercept slope 11/15.
 */
static void
test_ridge(void)
{
	static const double rows[3][2] = {{1, 1}, {2, 2}, {3, 2}};

	for (int shifted = 0; shifted < 2; shifted++)
	{
		Problem		problem;

		start(&problem, 1);
		problem.shift[0] = shifted * 2;
		problem.shift[1] = shifted * 1;
		for (int r = 0; r < 3; r++)
			add_row(&problem, rows[r]);
		problem.fit.l2 = 1;
		check(solve(&problem, true, NULL) && relative_error(problem.coef[1], 1.0 / 3) < 2e-16 &&
			  relative_error(problem.coef[0], 1) < 2e-16, "coefficients with an l2, shift %g", problem.shift[0]);
		check(relative_error(problem.fit.rss, 2.0 / 9) < 2e-16 && relative_error(problem.fit.tss, 2.0 / 3) < 2e-16 &&
			  relative_error(problem.vcov[3], 2.0 / 27) < 2e-16, "sums of squares with an l2");
		check(solve(&problem, false, NULL) && relative_error(problem.coef[0], 11.0 / 15) < 2e-16,
			  "without an intercept");
		/* two equal columns share the coefficient, and fewer rows than terms suffice */
		start(&problem, 2);
		add_row(&problem, (const double[]) {1, 1, 3});
		problem.fit.l2 = 1;
		check(solve(&problem, false, NULL) && problem.fit.rank == 2 && relative_error(problem.coef[0], 1) < 2e-16 &&
			  problem.coef[1] == problem.coef[0] && relative_error(problem.fit.rss, 1) < 2e-16 &&
			  problem.fit.df_residual == -1 && isnan(problem.vcov[0]), "more terms than rows with an l2");
	}
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

/*
 * Checks that every part of a solve for many terms polls more than once per term, and never after it was told to stop.
 */
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
	void	   *workspace = malloc(gr_normal_workspace_nbytes(m));
	GrNormalFit fit = {
		.nterms = m,.aliased = aliased,.coef = coef,.inverse = inverse,.tolerance = GR_ALIAS_TOLERANCE
	};
	Stopper		stopper = {.stop_at = INT_MAX};
	GrHost		host = {.canceled = stop,.arg = &stopper};
	GrError		err = {0};
	int			nasked;
	int			nwrong = 0;
	int			first = 1;
	int			after;
	bool		between = false;

	for (int64_t i = 0; i < m; i++)
		for (int64_t j = 0; j <= i; j++)
			hi[i * (i + 1) / 2 + j] = i == j ? 2 : 1.0 / (i + j + 2);
	nwrong += !gr_normal_solve((GrDDConstVector) {hi, lo}, workspace, &fit, &host, &err);
	nasked = after = stopper.asked;
	for (int at = 1; at <= nasked; at += at < nasked - 3 ? 97 : 1)
	{
		GrError		canceled = {0};

		stopper.asked = 0;
		stopper.stop_at = at;
		nwrong += gr_normal_solve((GrDDConstVector) {hi, lo}, workspace, &fit, &host, &canceled) ||
			canceled.status != GR_CANCELED || stopper.asked != at;
	}
	if (!check(nwrong == 0 && nasked >= 3 * m + 1 + 150, "%d terms: polls", m))
		printf("# %d wrong, asked %d times\n", nwrong, nasked);
	/* the first poll that stops more than the factorisation lies in [first, after) */
	while (after - first > 1)
	{
		GrError		canceled = {0};
		int			middle = first + (after - first) / 2;

		stopper.asked = 0;
		stopper.stop_at = middle;
		gr_normal_solve((GrDDConstVector) {hi, lo}, workspace, &fit, &host, &canceled);
		if (strcmp(canceled.detail, "factorisation") == 0)
			first = middle;
		else
			after = middle;
		if (strcmp(canceled.detail, "back substitution") == 0)
			between = true;
	}
	check(between, "the back substitution asks, too");
	free(hi);
	free(lo);
	free(aliased);
	free(coef);
	free(inverse);
	free(workspace);
}

/*
 * Counts the polls of a solve of p features with an intercept, about a shift. moved: each term is moved to the one
 * before.
 */
static int
times_asked(int p, double shift, bool moved)
{
	int			m = p + 1;
	size_t		n = (size_t) gr_triangle(m + 1);
	double	   *hi = calloc(2 * n, sizeof(double));
	double	   *shifts = calloc((size_t) m, sizeof(double));
	double	   *coef = malloc((size_t) m * sizeof(double));
	double	   *vcov = malloc((size_t) m * m * sizeof(double));
	void	   *workspace = malloc(gr_normal_workspace_nbytes(p));
	GrTermMove *move = calloc((size_t) p, sizeof(GrTermMove));
	GrTermMoves moves = {p - 1, move};
	GrOlsFit	fit = {.coef = coef,.vcov = vcov,.intercept = true,.moves = moved ? &moves : NULL};
	GrGram		gram = {.hi = hi,.lo = hi + n,.shift = shifts,.nfeatures = p,.nobs = 2000};
	Stopper		stopper = {.stop_at = INT_MAX};
	GrHost		host = {.canceled = stop,.arg = &stopper};
	GrError		err = {0};

	for (int64_t i = 0; i <= m; i++)
		hi[gr_triangle(i) + i] = 2000;
	for (int j = 0; j < p; j++)
		shifts[j] = shift;
	for (int j = 0; j < p - 1; j++)
		move[j] = (GrTermMove) {.to = j + 1,.from = j + 2,.hi = 0.5};
	if (!gr_ols_solve(&gram, workspace, &fit, &host, &err))
		stopper.asked = -1;
	free(hi);
	free(shifts);
	free(coef);
	free(vcov);
	free(workspace);
	free(move);
	return stopper.asked;
}

/* Checks that the work for a shift or moves polls, too, and so does a residual after enough work. */
static void
test_polls_beside(void)
{
	int			plain = times_asked(700, 0, false);
	int			shifted = times_asked(700, 3, false);
	int			moved = times_asked(700, 0, true);
	double		hi[10] = {2, 1, 2, 1, 1, 2, 0, 0, 0, 0};
	double		lo[10] = {0};
	double		coef[3];
	bool		aliased[3] = {0};
	void	   *workspace = malloc(gr_normal_workspace_nbytes(3));
	GrNormalFit fit = {.nterms = 3,.aliased = aliased,.coef = coef,.tolerance = GR_ALIAS_TOLERANCE};
	Stopper		stopper = {.stop_at = 1};
	GrHost		host = {.canceled = stop,.arg = &stopper};
	GrPoll		poll = {.host = &host,.work = GR_POLL_WORK - 1};
	GrError		err = {0};

	check(plain > 0 && shifted >= plain + 2, "700 features about a shift: asked %d times, without %d", shifted, plain);
	check(moved >= plain + 2, "700 features that are moved: asked %d times, otherwise %d", moved, plain);
	check(gr_normal_solve((GrDDConstVector) {hi, lo}, workspace, &fit, NULL, &err) &&
		  !gr_normal_residual(workspace, 3, 2, coef, &poll) && stopper.asked == 1, "a residual asks");
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
	test_offsets();
	test_shifted_aliasing();
	test_shifted_on_device();
	test_result_ranges();
	test_rank_is_at_most_rows();
	test_ridge();
	test_cancel();
	test_polls();
	test_polls_beside();
	return unit_done();
}
