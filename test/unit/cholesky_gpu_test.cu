/*
 * cholesky_gpu_test.cu: tests the solve on the device: matrices whose factors are known, random ones against quadruple
 * precision, and gr_ols_solve() and gr_normal_solve() against themselves on the CPU.
 *
 * cholesky_gpu_test [--quick] [--bench[=LIBRARIES]] [--terms=M] [--seed=N]: see gpu_harness.h. --bench times the solve,
 * with --terms for M terms alone. LIBRARIES, or else GPUREG_CUBLAS_DIR, is a list of folders with cuSOLVER and cuBLAS,
 * separated by ':', which are then timed as well.
 */
#include "../../kernels/cholesky.cuh"
#include "../../kernels/memory.cuh"
#include "cholesky_reference.h"
#include "compute/base/dd.h"
#include "compute/glm/glm_fit.h"
#include "compute/linear/ols.h"
#include "gpu_harness.h"
#include "sums.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NOISE 3.2e-30			/* the value in ols.c */
#define CLOSE 1e-28				/* relative, in double-double */

static int64_t
at(int64_t i, int64_t j)
{
	return i * (i + 1) / 2 + j;
}

static double *
doubles(int64_t n)
{
	return (double *) calloc((size_t) n, sizeof(double));
}

/*
 * Solves through the backend's table
 */

/* A matrix of m terms and a last row, and the backend's results for it. */
typedef struct Problem
{
	int			m;
	double	   *hi;
	double	   *lo;
	double	   *scale;
	double	   *least_pivot;
	bool	   *left_out;
	bool	   *aliased;
	double	   *d_hi;
	double	   *d_lo;
	double	   *row_hi;
	double	   *row_lo;
	double	   *coef_hi;
	double	   *coef_lo;
	double	   *inverse;
	GrError		err;
} Problem;

static Problem
problem_new(int m)
{
	Problem		p = {};

	p.m = m;
	p.hi = doubles(at(m + 1, 0));
	p.lo = doubles(at(m + 1, 0));
	p.scale = doubles(m + 1);
	p.least_pivot = doubles(m + 1);
	p.left_out = (bool *) calloc((size_t) m, sizeof(bool));
	p.aliased = (bool *) calloc((size_t) m, sizeof(bool));
	p.d_hi = doubles(m + 1);
	p.d_lo = doubles(m + 1);
	p.row_hi = doubles(m);
	p.row_lo = doubles(m);
	p.coef_hi = doubles(m);
	p.coef_lo = doubles(m);
	p.inverse = doubles((int64_t) m * m);
	for (int i = 0; i <= m; i++)
	{
		p.scale[i] = 1.0;
		p.least_pivot[i] = GR_ALIAS_TOLERANCE;
	}
	return p;
}

static void
problem_free(Problem *p)
{
	double	   *arrays[] = {p->hi, p->lo, p->scale, p->least_pivot, p->d_hi, p->d_lo, p->row_hi, p->row_lo, p->coef_hi,
		p->coef_lo, p->inverse};

	for (double *array : arrays)
		free(array);
	free(p->left_out);
	free(p->aliased);
}

static GrFactorJob
problem_job(Problem *p)
{
	GrFactorJob job = {};

	job.hi = p->hi;
	job.lo = p->lo;
	job.nterms = p->m;
	job.scale = p->scale;
	job.least_pivot = p->least_pivot;
	job.noise = NOISE;
	job.want_inverse = true;
	job.aliased = p->aliased;
	job.d_hi = p->d_hi;
	job.d_lo = p->d_lo;
	job.row_hi = p->row_hi;
	job.row_lo = p->row_lo;
	job.coef_hi = p->coef_hi;
	job.coef_lo = p->coef_lo;
	memcpy(p->aliased, p->left_out, (size_t) p->m * sizeof(bool));
	p->err = GrError();
	return job;
}

/* Factorises, and inverts with W = inv(D). Results start as NaN. */
static bool
problem_solve(GrSession *session, Problem *p)
{
	GrFactorJob job = problem_job(p);
	GrFactor   *factor = NULL;
	double	   *w_hi = doubles(p->m);
	double	   *w_lo = doubles(p->m);
	bool		ok;

	memset(p->coef_hi, 0xff, sizeof(double) * (size_t) p->m);
	memset(p->d_hi, 0xff, sizeof(double) * (size_t) (p->m + 1));
	memset(p->inverse, 0xff, sizeof(double) * (size_t) p->m * (size_t) p->m);
	ok = gpu->solver->begin(session, &job, &factor, NULL, &p->err);
	for (int k = 0; ok && k < p->m; k++)
	{
		GrDD		d = {p->d_hi[k], p->d_lo[k]};
		GrDD		w = p->aliased[k] ? gr_dd(0.0) : gr_dd_div(gr_dd(1.0), d);

		w_hi[k] = w.hi;
		w_lo[k] = w.lo;
	}
	ok = ok && gpu->solver->inverse(factor, GrDDConstVector {w_hi, w_lo}, 1.0, p->inverse, NULL, &p->err);
	gpu->solver->end(factor);
	free(w_hi);
	free(w_lo);
	if (!ok)
		printf("# %s\n", p->err.detail);
	return ok;
}

static void
set_entry(Problem *p, int i, int j, GrDD value)
{
	p->hi[at(i, j)] = value.hi;
	p->lo[at(i, j)] = value.lo;
}

/*
 * Checks min(i, j), with rows and columns multiplied by powers of two: L is all ones, D = 1, and the inverse has 2 on
 * the diagonal (1 at its end), -1 beside it. Sums are of integers, so the answers are exact.
 */
static void
check_min_matrix(GrSession *session, int m, int spread)
{
	Problem		p = problem_new(m);
	bool		exact;

	for (int i = 0; i <= m; i++)
		p.scale[i] = ldexp(1.0, spread * (i * 7 % 11 - 5));
	for (int i = 0; i <= m; i++)
		for (int j = 0; j <= i; j++)
			set_entry(&p, i, j, gr_dd((j + 1) / p.scale[i] / p.scale[j]));
	exact = problem_solve(session, &p);
	for (int i = 0; exact && i < m; i++)
	{
		exact = exact && p.d_hi[i] == 1 && p.d_lo[i] == 0 && p.row_hi[i] == 1 && p.row_lo[i] == 0 && !p.aliased[i] &&
			p.coef_hi[i] == (i == m - 1 ? 1 : 0) && p.coef_lo[i] == 0;
		for (int j = 0; exact && j < m; j++)
		{
			double		want = i == j ? (i == m - 1 ? 1 : 2) : abs(i - j) == 1 ? -1 : 0;

			exact = p.inverse[(int64_t) i * m + j] == want * p.scale[i] * p.scale[j] &&
				!(want == 0 && signbit(p.inverse[(int64_t) i * m + j]));
		}
	}
	check(exact && p.d_hi[m] == 1, "%d terms, min(i, j), scales 2^%d: exact", m, 5 * spread);
	problem_free(&p);
}

/*
 * Checks Lehmer's matrix, j / i for j <= i (from 1). Its L is j / i, too, D is (2 j - 1) / j^2, and the inverse has
 * three diagonals (Kilic and Stanica 2010). The entries are no float8, so all digits of double-double are used.
 */
static void
check_lehmer(GrSession *session, int m)
{
	Problem		p = problem_new(m);
	double		worst = 0;
	double		worst_inverse = 0;
	double		worst_zero = 0;
	bool		ok;

	for (int i = 0; i <= m; i++)
		for (int j = 0; j <= i; j++)
			set_entry(&p, i, j, gr_dd_div(gr_dd(j + 1), gr_dd(i + 1)));
	ok = problem_solve(session, &p);
	for (int i = 0; ok && i < m; i++)
	{
		double		n = i + 1;
		GrDD		d = gr_dd_div(gr_dd(2 * n - 1), gr_dd(n * n));
		GrDD		z = gr_dd_div(gr_dd(n), gr_dd(m + 1));
		GrDD		got_d = {p.d_hi[i], p.d_lo[i]};
		GrDD		got_z = {p.row_hi[i], p.row_lo[i]};
		GrDD		got_b = {p.coef_hi[i], p.coef_lo[i]};

		worst = fmax(worst, fabs(gr_dd_sub(got_d, d).hi) / d.hi);
		worst = fmax(worst, fabs(gr_dd_sub(got_z, z).hi) / z.hi);
		ok = ok && !p.aliased[i];
		/*
		 * The coefficients are m / (m + 1) for the last term and 0 for the others, up to the rounding of the matrix.
		 */
		worst = fmax(worst, fabs(i == m - 1 ? gr_dd_sub(got_b, z).hi : got_b.hi));
		for (int j = 0; ok && j < m; j++)
		{
			double		lower = fmin(i, j) + 1;
			double		want = i == j ? (i == m - 1 ? n * n / (2 * n - 1) : 4 * n * n * n / (4 * n * n - 1)) :
				abs(i - j) == 1 ? -lower * (lower + 1) / (2 * lower + 1) : 0;

			/* beside the three diagonals, entries of about 1 cancel to their rounding; the diagonal has i / 1 */
			if (want == 0)
				worst_zero = fmax(worst_zero, fabs(p.inverse[(int64_t) i * m + j]) / sqrt(n * (j + 1)));
			else
				worst_inverse = fmax(worst_inverse, relative_error(p.inverse[(int64_t) i * m + j], want));
		}
	}
	if (!check(ok && worst < CLOSE && worst_zero < CLOSE && worst_inverse < 1e-15, "%d terms, Lehmer's matrix", m))
		printf("# error %.2g, of the inverse %.2g and %.2g\n", worst, worst_inverse, worst_zero);
	problem_free(&p);
}

/*
 * Checks Pascal's matrix: L is Pascal's triangle, D = 1. While its entries are exact in double-double, the answers must
 * be exact.
 */
static void
check_pascal(GrSession *session, int m)
{
	Problem		p = problem_new(m);
	GrDD	   *row = (GrDD *) calloc((size_t) m + 1, sizeof(GrDD));
	bool		exact;

	/* row i: C(i + j, j) = C(i + j - 1, j - 1) + C(i + j - 1, j) */
	for (int i = 0; i <= m; i++)
		for (int j = 0; j <= m; j++)
		{
			row[j] = i == 0 || j == 0 ? gr_dd(1.0) : gr_dd_add(row[j], row[j - 1]);
			if (j <= i)
				set_entry(&p, i, j, row[j]);
		}
	/* keeps pivots of 1 below a diagonal of 10^18 and more from being aliased */
	for (int i = 0; i < m; i++)
		p.least_pivot[i] = 0;
	exact = problem_solve(session, &p);
	for (int j = 0; j <= m; j++)
		row[j] = gr_dd(j == 0 ? 1.0 : 0.0);
	for (int i = 1; i <= m; i++)
		for (int j = i; j > 0; j--)
			row[j] = gr_dd_add(row[j], row[j - 1]);
	for (int j = 0; exact && j < m; j++)
		exact = p.d_hi[j] == 1 && p.d_lo[j] == 0 && p.row_hi[j] == row[j].hi && p.row_lo[j] == row[j].lo &&
			!p.aliased[j];
	check(exact && p.d_hi[m] == 1, "%d terms, Pascal's matrix: exact", m);
	free(row);
	problem_free(&p);
}

/* Checks Gram matrices of random rows against quadruple precision. leave_out: some terms are marked as left out. */
static void
check_random(GrSession *session, int m, bool leave_out)
{
	Problem		p = problem_new(m);
	double	   *row = doubles(m + 1);
	double	   *scratch = (double *) malloc(gr_gram_scratch_nbytes(gr_plain_shape(m + 1)));
	double	   *whole = doubles(2 * at(m + 2, 0));
	GrGram		gram = {};
	CholeskyAnswer answer;
	CholeskyErrors errors;
	bool		ok;

	gram.hi = whole;
	gram.lo = whole + at(m + 2, 0);
	gram.nfeatures = m;
	for (int r = 0; r < 2 * m + 10; r++)
	{
		for (int j = 0; j <= m; j++)
			row[j] = random_double();
		gr_gram_add(&gram, row, 1, gr_plain_shape(m), scratch);
	}
	for (int i = 0; i <= m; i++)
		for (int j = 0; j <= i; j++)
		{
			GrDD		v = {whole[at(i + 1, j + 1)], whole[at(m + 2, 0) + at(i + 1, j + 1)]};

			set_entry(&p, i, j, v);
		}
	for (int i = 0; i <= m; i++)
		p.scale[i] = ldexp(1.0, -(ilogb(p.hi[at(i, i)]) >> 1));
	for (int i = 0; leave_out && i < m; i++)
		p.left_out[i] = i % 5 == 3 || i / 32 == 2;
	ok = problem_solve(session, &p);
	answer = CholeskyAnswer{m, p.hi, p.lo, p.scale, p.least_pivot, p.left_out, p.aliased, p.d_hi, p.d_lo, p.row_hi,
		p.row_lo, p.coef_hi,
		p.coef_lo, p.inverse};
	errors = cholesky_reference(&answer);
	if (!check(ok && errors.same_aliased && errors.d < CLOSE && errors.row < CLOSE && errors.coef < CLOSE &&
			   errors.inverse < 2e-16,
			   "%d random terms%s", m, leave_out ? ", some left out" : ""))
		printf("# same terms %d; errors of d %.2g, row %.2g, coefficients %.2g, inverse %.2g\n", errors.same_aliased,
			   errors.d, errors.row,
			   errors.coef, errors.inverse);
	free(row);
	free(scratch);
	free(whole);
	problem_free(&p);
}

/* Solves one matrix twice, and another of another size between, and expects the same bits. */
static void
check_repeatable(GrSession *session, int m)
{
	Problem		a = problem_new(m);
	Problem		b = problem_new(m);
	bool		same;

	for (int i = 0; i <= m; i++)
		for (int j = 0; j <= i; j++)
		{
			GrDD		v = gr_two_sum(i == j ? 2.0 : random_double() / (2 * sqrt(m)), 0x1p-60 * random_double());

			set_entry(&a, i, j, v);
			set_entry(&b, i, j, v);
		}
	same = problem_solve(session, &a);
	check_min_matrix(session, m / 2 + 1, 0);
	same = same && problem_solve(session, &b);
	same = same && memcmp(a.d_lo, b.d_lo, sizeof(double) * (size_t) (m + 1)) == 0 &&
		memcmp(a.row_lo, b.row_lo, sizeof(double) * (size_t) m) == 0 &&
		memcmp(a.coef_lo, b.coef_lo, sizeof(double) * (size_t) m) == 0 &&
		memcmp(a.inverse, b.inverse, sizeof(double) * (size_t) m * (size_t) m) == 0;
	check(same, "%d terms: the same bits again", m);
	problem_free(&a);
	problem_free(&b);
}

#include "cholesky_gpu_fits.h"
#include "cholesky_gpu_bench.h"

static void
check_sizes(GrSession *session, bool quick)
{
	const int	all[] = {1, 2, 31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 200, 257, 500, 1001};
	const int	few[] = {1, 33, 64, 100};
	const int  *sizes = quick ? few : all;

	for (int s = 0; s < (quick ? COUNT(few) : COUNT(all)); s++)
	{
		check_min_matrix(session, sizes[s], 0);
		check_min_matrix(session, sizes[s], s % 2 == 0 ? 3 : 25);
		check_lehmer(session, sizes[s]);
		if (sizes[s] <= 257 && !quick)
		{
			check_random(session, sizes[s], false);
			check_random(session, sizes[s], true);
		}
		if (!quick || sizes[s] <= 64)
			check_fits(session, sizes[s]);
		if (sizes[s] >= 33 && sizes[s] <= 500)
			check_shifted(session, sizes[s]);
	}
	for (int m = 5; m <= 50; m += 15)
		check_pascal(session, m);
	check_repeatable(session, quick ? 70 : 700);
	if (!quick)
		check_min_matrix(session, 2500, 0);
}

static void
run_tests(const GpuRun *run)
{
	check_sizes(run->session, run->quick);
	check_collinear(run->session, run->quick);
	check_normal(run->session, run->quick);
	check_logistic(run->session);
	check_failures(run->session, run->quick);
}

int
main(int argc, char **argv)
{
	return backend_main(argc, argv, run_tests, run_bench);
}
