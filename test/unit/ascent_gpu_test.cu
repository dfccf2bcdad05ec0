/*
 * ascent_gpu_test.cu: tests gradient ascent in one kernel against plain loops on the CPU.
 *
 * ascent_gpu_test [--quick] [--bench] [--seed=N]: see gpu_harness.h.
 */
#include "../../kernels/ascent.cuh"
#include "gpu_harness.h"

#include <stdlib.h>
#include <string.h>

#define TOLERANCE_DOUBLE 1e-11
#define TOLERANCE_SINGLE 1e-4
#define MAX_TERMS (GR_ASCENT_MAX_FEATURES + 1)

typedef struct Problem
{
	int64_t		nrows;
	int			nfeatures;
	double	   *rows;
	double	   *device_rows;
	double	   *device_scale;	/* MAX_TERMS values */
	GrAscentState *device_state;
	double		start[MAX_TERMS];
} Problem;

/*
 * Draws features in (-1, 1) and responses from a logistic model, so that no plane separates the classes but by chance.
 */
static Problem
problem_make(int64_t nrows, int nfeatures)
{
	const int	ncols = nfeatures + 1;
	const size_t ndoubles = (size_t) (nrows * ncols);
	Problem		problem = {};

	problem.nrows = nrows;
	problem.nfeatures = nfeatures;
	problem.rows = (double *) malloc(sizeof(double) * ndoubles);
	for (int64_t r = 0; r < nrows; r++)
	{
		double		eta = 0.3;

		for (int j = 0; j < nfeatures; j++)
		{
			problem.rows[r * ncols + j] = random_double();
			eta += (j % 2 == 0 ? 1.0 : -0.5) * problem.rows[r * ncols + j];
		}
		problem.rows[r * ncols + nfeatures] = 0.5 * (1.0 + random_double()) < 1.0 / (1.0 + exp(-eta)) ? 1.0 : 0.0;
	}
	problem.device_rows = to_device(problem.rows, ndoubles);
	problem.device_scale = device_alloc<double>(MAX_TERMS);
	/* only the part of GrAscentState for nfeatures: the kernel must not touch the rest */
	problem.device_state = (GrAscentState *) device_alloc<char>(gr_ascent_state_nbytes(nfeatures));
	return problem;
}

/* Returns the data of an ascent over the problem. test: with a test of convergence. */
static AscentData
data_of(const Problem *problem, bool test)
{
	AscentData	data = {
		test ? problem->device_scale : NULL, problem->device_rows, problem->nrows, problem->nfeatures,
		problem->device_state
	};

	return data;
}

static void
problem_free(Problem *problem)
{
	free(problem->rows);
	device_free(problem->device_rows, problem->device_scale, problem->device_state);
}

typedef struct Result
{
	double		beta[MAX_TERMS];
	int64_t		iterations;
	bool		converged;
} Result;

/* Computes the iterations by the formula, row by row, in type T. */
template <typename T>
static Result
run_cpu(const Problem *problem, const GrAscent *ascent)
{
	const int	p = problem->nfeatures;
	T			beta[MAX_TERMS];
	Result		result = {};

	for (int j = 0; j <= p; j++)
		beta[j] = (T) problem->start[j];
	while (result.iterations < ascent->max_iter && !result.converged)
	{
		T			gradient[MAX_TERMS] = {};
		bool		small = true;

		for (int64_t r = 0; r < problem->nrows; r++)
		{
			const double *x = problem->rows + r * (p + 1);
			T			eta = ascent->intercept ? beta[0] : (T) 0;
			T			residual;

			for (int j = 0; j < p; j++)
				eta += (T) x[j] * beta[j + 1];
			residual = (T) x[p] - (T) 1 / ((T) 1 + (T) exp(-eta));
			if (ascent->intercept)
				gradient[0] += residual;
			for (int j = 0; j < p; j++)
				gradient[j + 1] += (T) x[j] * residual;
		}
		for (int j = 0; j <= p; j++)
		{
			if (j > 0)
				gradient[j] -= (T) ascent->l2 * beta[j];
			small = small && ascent->scale != NULL && fabs((double) gradient[j]) <= ascent->scale[j];
			beta[j] += (T) ascent->rate * gradient[j];
		}
		result.iterations++;
		result.converged = small && ascent->check_every > 0 && result.iterations % ascent->check_every == 0;
	}
	for (int j = 0; j <= p; j++)
		result.beta[j] = beta[j];
	return result;
}

/* Runs max_iter iterations in several launches: the first has per_launch, each later one twice that plus one. */
static Result
run_gpu(const Problem *problem, const GrAscent *ascent, int shape, int64_t per_launch)
{
	const int	p = problem->nfeatures;
	const size_t nbytes = gr_ascent_state_nbytes(p);
	const AscentData data = data_of(problem, ascent->scale != NULL);
	GrAscentState state;
	Result		result = {};

	gr_ascent_state_set(&state, problem->start, p, ascent->single);
	cuda_ok(cudaMemcpy(problem->device_state, &state, nbytes, cudaMemcpyHostToDevice));
	if (ascent->scale != NULL)
		cuda_ok(cudaMemcpy(problem->device_scale, ascent->scale, sizeof(double) * (size_t) (p + 1),
						   cudaMemcpyHostToDevice));
	for (int64_t done = 0; done < ascent->max_iter && first_code == cudaSuccess;)
	{
		int64_t		n = per_launch < ascent->max_iter - done ? per_launch : ascent->max_iter - done;

		cuda_ok(gr_ascent_launch_shape(shape, ascent, &data, n, 0));
		done += n;
		per_launch = 2 * per_launch + 1;
	}
	memset((void *) &state, 0xff, sizeof(state));
	cuda_ok(cudaMemcpy(&state, problem->device_state, nbytes, cudaMemcpyDeviceToHost));
	result.beta[0] = problem->start[0];
	gr_ascent_state_get(&state, result.beta, p, ascent->intercept);
	result.iterations = state.iterations;
	result.converged = state.converged == 1;
	if (first_code != cudaSuccess)
		result.beta[0] = NAN;
	return result;
}

/* Returns the largest difference relative to max(1, |want|), or infinity for NaN. */
static double
result_error(const Result *got, const Result *want, int nfeatures)
{
	double		worst = 0.0;

	for (int j = 0; j <= nfeatures; j++)
	{
		double		d = fabs(got->beta[j] - want->beta[j]) / fmax(1.0, fabs(want->beta[j]));

		worst = d <= worst ? worst : d == d ? d : INFINITY;
	}
	return worst;
}

static bool
same_result(const Result *a, const Result *b)
{
	return memcmp(a->beta, b->beta, sizeof(a->beta)) == 0 && a->iterations == b->iterations &&
		a->converged == b->converged;
}

/* Chooses a rate at which ascent can't overshoot: 1 / the Hessian's largest eigenvalue is above 4 / (n (p + 1)). */
static GrAscent
ascent_make(const Problem *problem, bool intercept, bool single, double l2, int64_t max_iter)
{
	GrAscent	ascent = {};

	ascent.intercept = intercept;
	ascent.single = single;
	ascent.rate = 4.0 / ((double) problem->nrows * (problem->nfeatures + 1) + 4.0 * l2);
	ascent.l2 = l2;
	ascent.max_iter = max_iter;
	return ascent;
}

/* Checks every layout that holds the problem against the CPU: two equal runs, and one that is cut into launches. */
static void
check_problem(const Problem *problem, bool intercept, bool single, double l2, int64_t max_iter)
{
	GrAscent	ascent = ascent_make(problem, intercept, single, l2, max_iter);
	const Result want = run_cpu<double>(problem, &ascent);
	const Result want_single = single ? run_cpu<float>(problem, &ascent) : want;
	const AscentData data = data_of(problem, false);
	const double tolerance = single ? TOLERANCE_SINGLE : TOLERANCE_DOUBLE;
	double		worst = 0.0;
	double		worst_single = 0.0;
	bool		repeatable = true;
	bool		counted = true;
	int			nthreads;
	int			nexamples;

	for (int shape = -1; shape < 0 || gr_ascent_shape(shape, &nthreads, &nexamples); shape++)
	{
		Result		got;
		Result		again;
		Result		cut;

		if (shape >= 0 && gr_ascent_launch_shape(shape, &ascent, &data, 0, 0) != cudaSuccess)
			continue;			/* this layout doesn't hold the problem */
		got = run_gpu(problem, &ascent, shape, max_iter);
		again = run_gpu(problem, &ascent, shape, max_iter);
		cut = run_gpu(problem, &ascent, shape, 1);
		repeatable = repeatable && same_result(&got, &again) && same_result(&got, &cut);
		counted = counted && got.iterations == max_iter && !got.converged;
		worst = fmax(worst, result_error(&got, &want, problem->nfeatures));
		worst_single = fmax(worst_single, single ? result_error(&got, &want_single, problem->nfeatures) : 0.0);
	}
	if (!check(worst <= tolerance && worst_single <= tolerance && repeatable && counted,
			   "%lld x %d, %s, %s, l2 %g", (long long) problem->nrows, problem->nfeatures, single ? "float4" : "float8",
			   intercept ? "intercept" : "no intercept", l2))
		printf("# error %.3g, against float4 %.3g, repeatable %d, counted %d\n", worst, worst_single, repeatable,
			   counted);
}

static void
check_problems(bool quick)
{
	const int64_t rows[] = {1, 7, 255, 2047, 2048};
	const int64_t quick_rows[] = {7, 700};
	const int	nrows = quick ? COUNT(quick_rows) : COUNT(rows);

	for (int p = 1; p <= GR_ASCENT_MAX_FEATURES; p += quick ? 5 : 1)
		for (int r = 0; r < nrows; r++)
		{
			const int64_t n = quick ? quick_rows[r] : rows[r];
			const bool	intercept = (p + r) % 3 != 0;
			const double l2 = (p + r) % 2 == 0 ? 0.0 : 0.7;
			Problem		problem = problem_make(n, p);

			for (int j = intercept ? 0 : 1; j <= p && r % 2 == 1; j++)
				problem.start[j] = random_double();
			for (int single = 0; single < 2; single++)
				if (gr_ascent_fits(p, n, single != 0))
					check_problem(&problem, intercept, single != 0, l2, quick ? 20 : n > 300 ? 200 : 1000);
			problem_free(&problem);
		}
}

/* Checks the most rows that fit for each number of features, and the size that docs promise 1,000 iterations for. */
static void
check_large(void)
{
	for (int p = 1; p <= GR_ASCENT_MAX_FEATURES; p *= 2)
		for (int single = 0; single < 2; single++)
		{
			int64_t		n = 1;
			Problem		problem;

			while (gr_ascent_fits(p, n + 1, single != 0))
				n++;
			printf("# %d features, %s: up to %lld rows\n", p, single ? "float4" : "float8", (long long) n);
			problem = problem_make(n, p);
			check_problem(&problem, true, single != 0, 0.0, 50);
			problem_free(&problem);
		}

	Problem		problem = problem_make(2000, 8);

	check_problem(&problem, true, false, 0.5, 1000);
	check_problem(&problem, true, true, 0.5, 1000);
	problem_free(&problem);
}

/* Checks that the kernel stops in the CPU loop's iteration, however launches cut the run, and then changes nothing. */
static void
check_convergence(bool single, bool intercept)
{
	const int	p = 5;
	Problem		problem = problem_make(500, p);
	GrAscent	ascent = ascent_make(&problem, intercept, single, 1.0, 20000);
	double		scale[MAX_TERMS];
	bool		same = true;
	bool		where = true;

	for (int j = 0; j <= p; j++)
		scale[j] = single ? 1e-2 : 1e-6 * (1 + j);
	if (!intercept)
		scale[0] = 0.0;
	ascent.scale = scale;
	for (ascent.check_every = 1; ascent.check_every < 100; ascent.check_every += 18)
	{
		Result		got = run_gpu(&problem, &ascent, -1, ascent.max_iter);
		Result		cut = run_gpu(&problem, &ascent, -1, 5);
		Result		want = run_cpu<double>(&problem, &ascent);

		same = same && same_result(&got, &cut);
		where = where && got.converged && got.iterations % ascent.check_every == 0 && want.converged &&
			(single ? llabs((long long) (got.iterations - want.iterations)) <= want.iterations / 20 +
			 ascent.check_every :
			 got.iterations == want.iterations);
		if (!where)
			printf("# every %lld: %lld iterations, on the CPU %lld\n", (long long) ascent.check_every,
				   (long long) got.iterations, (long long) want.iterations);
	}
	check(same && where, "convergence, %s, %s", single ? "float4" : "float8", intercept ? "intercept" : "no intercept");

	/* iteration 36 is the last one tested, and has not converged */
	ascent.check_every = 37;
	ascent.max_iter = 36;
	scale[0] = scale[1] = scale[2] = scale[3] = scale[4] = scale[5] = INFINITY;
	check(!run_gpu(&problem, &ascent, -1, 36).converged, "no test before check_every iterations");
	ascent.max_iter = 100;

	Result		got = run_gpu(&problem, &ascent, -1, 5);

	check(got.converged && got.iterations == 37, "the first test");
	problem_free(&problem);
}

/* Checks linear predictors beyond the range of exp, with both signs and responses, and a rate that leaves the range. */
static void
check_extremes(bool single)
{
	const double rows[] = {1, 1, 1, 0, -1, 1, -1, 0};
	const double big = single ? 1e4 : 1e5;
	Problem		problem = problem_make(4, 1);
	GrAscent	ascent = ascent_make(&problem, true, single, 0.0, 3);
	double		scale[MAX_TERMS] = {1.0, 1.0};
	Result		got;
	Result		want;

	memcpy(problem.rows, rows, sizeof(rows));
	cuda_ok(cudaMemcpy(problem.device_rows, rows, sizeof(rows), cudaMemcpyHostToDevice));
	problem.start[1] = big;
	got = run_gpu(&problem, &ascent, -1, 3);
	want = run_cpu<double>(&problem, &ascent);
	check(result_error(&got, &want, 1) <= (single ? 1e-6 : 1e-14), "exp overflows, %s", single ? "float4" : "float8");

	ascent.rate = single ? 3e38 : 1.5e308;
	ascent.scale = scale;
	ascent.check_every = 1;
	ascent.max_iter = 10;
	got = run_gpu(&problem, &ascent, -1, 10);
	check(!got.converged && got.iterations == 10 && !isfinite(got.beta[1]), "a rate far too high, %s",
		  single ? "float4" : "float8");
	problem_free(&problem);
}

static void
check_limits(void)
{
	Problem		problem = problem_make(10, 2);
	GrAscent	ascent = ascent_make(&problem, false, false, 0.0, 7);
	AscentData	many = data_of(&problem, false);
	Result		got;

	many.nrows = (int64_t) 1 << 33;
	many.nfeatures = 2;
	check(!gr_ascent_fits(1, (int64_t) 1 << 33, true) && !gr_ascent_fits(17, 10, true) && !gr_ascent_fits(0, 10, false),
		  "what doesn't fit");
	check(gr_ascent_fits(8, 2048, true) && gr_ascent_fits(8, 2048, false) && gr_ascent_fits(16, 2048, true) &&
		  gr_ascent_fits(16, 512, false),
		  "what fits");
	check(gr_ascent_launch(&ascent, &many, 1, 0) == cudaErrorInvalidValue, "too many rows");
	problem.start[0] = 1.0 / 3.0;
	got = run_gpu(&problem, &ascent, -1, 7);
	check(got.beta[0] == 1.0 / 3.0 && got.iterations == 7, "without an intercept beta[0] stays");
	ascent.max_iter = 0;
	problem.start[0] = 0.0;
	got = run_gpu(&problem, &ascent, -1, 1);
	check(got.beta[1] == 0.0 && got.iterations == 0, "no iterations");
	problem_free(&problem);
}

/* Timing */

#define NREPEATS 5

/* Returns the median rate of a launch of niterations, after one untimed launch. */
static double
iterations_per_s(const Problem *problem, const GrAscent *ascent, int shape, int64_t niterations)
{
	const size_t nbytes = gr_ascent_state_nbytes(problem->nfeatures);
	GrAscentState state;
	auto		start = [&]()
	{
		gr_ascent_state_set(&state, problem->start, problem->nfeatures, ascent->single);
		cuda_ok(cudaMemcpy(problem->device_state, &state, nbytes, cudaMemcpyHostToDevice));
	};

	return (double) niterations * 1e3 / median_ms(1, NREPEATS, start, [&]()
	{
		const AscentData data = data_of(problem, true);

		cuda_ok(gr_ascent_launch_shape(shape, ascent, &data, niterations, 0));
	});
}

static void
bench_problem(int64_t nrows, int nfeatures, bool single)
{
	Problem		problem = problem_make(nrows, nfeatures);
	GrAscent	ascent = ascent_make(&problem, true, single, 0.1, 0);
	const AscentData data = data_of(&problem, false);
	int			nthreads;
	int			nexamples;

	ascent.check_every = 1000;
	cuda_ok(cudaMemset(problem.device_scale, 0, sizeof(double) * MAX_TERMS));
	for (int shape = 0; gr_ascent_shape(shape, &nthreads, &nexamples); shape++)
		if (gr_ascent_launch_shape(shape, &ascent, &data, 0, 0) == cudaSuccess)
			printf("# %5lld x %2d %s %4d x %2d %10.0f\n", (long long) nrows, nfeatures, single ? "float4" : "float8",
				   nthreads, nexamples, iterations_per_s(&problem, &ascent, shape, single ? 50000 : 20000));
	if (gr_ascent_fits(nfeatures, nrows, single))
		printf("# %5lld x %2d %s  as chosen %10.0f\n", (long long) nrows, nfeatures, single ? "float4" : "float8",
			   iterations_per_s(&problem, &ascent, -1, single ? 50000 : 20000));
	problem_free(&problem);
}

static bool
run_bench(const GpuRun *)
{
	printf("# examples and features, type, threads x examples each, iterations/s\n");
	for (int single = 1; single >= 0; single--)
	{
		bench_problem(2048, 8, single != 0);
		bench_problem(512, 8, single != 0);
		bench_problem(2048, 4, single != 0);
		bench_problem(1024, 16, single != 0);
	}
	return first_code == cudaSuccess;
}

static void
run_tests(const GpuRun *run)
{
	check_problems(run->quick);
	if (!run->quick)
		check_large();
	for (int k = 0; k < (run->quick ? 1 : 4); k++)
		check_convergence(k % 2 == 1, k / 2 == 0);
	check_extremes(false);
	check_extremes(true);
	check_limits();
	check(first_code == cudaSuccess, "no call failed");
}

int
main(int argc, char **argv)
{
	return kernels_main(argc, argv, run_tests, run_bench);
}
