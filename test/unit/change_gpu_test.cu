/*
 * change_gpu_test.cu: tests rows changed by a basis on the device against the CPU's.
 *
 * change_gpu_test [--quick] [--bench] [--seed=N]: see gpu_harness.h.
 */
#include "../../kernels/backend_cuda.cuh"
#include "compute/linalg/basis.h"
#include "gpu_harness.h"

#include <stdlib.h>
#include <string.h>

typedef struct Problem
{
	int64_t		nrows;
	int			nfeatures;
	double	   *rows;
	int		   *changed;
	double	   *coef;
	GrBasis		basis;
} Problem;

/* Makes a basis that changes every feature from first on. collinear: its coefficients leave next to nothing of them. */
static Problem
problem_make(int64_t nrows, int nfeatures, int first, bool collinear)
{
	size_t		ncols = (size_t) nfeatures + 1;
	Problem		problem = {};
	int			n = nfeatures - first;

	problem.nrows = nrows;
	problem.nfeatures = nfeatures;
	problem.rows = (double *) malloc(sizeof(double) * ncols * (size_t) nrows);
	problem.changed = (int *) malloc(sizeof(int) * (size_t) n);
	problem.coef = (double *) calloc((size_t) n * ncols, sizeof(double));
	for (int k = 0; k < n; k++)
	{
		double	   *coef = problem.coef + (size_t) k * ncols;

		problem.changed[k] = first + k;
		for (int j = 0; j <= first + k; j++)
			coef[j] = collinear && k > 0 ? 0 : random_double();
		if (collinear)
			coef[first + k] = -1e6;
		coef[first + k + 1] = collinear ? 1e6 : 4;
	}
	for (int64_t r = 0; r < nrows; r++)
	{
		double	   *row = problem.rows + (size_t) r * ncols;

		for (size_t j = 0; j < ncols; j++)
			row[j] = collinear && j > 0 ? row[j - 1] + 1e-9 * random_double() : random_double();
		row[nfeatures] = r % 2;
	}
	problem.basis.nfeatures = nfeatures;
	problem.basis.nchanged = n;
	problem.basis.changed = problem.changed;
	problem.basis.coef = problem.coef;
	return problem;
}

static void
problem_free(Problem *problem)
{
	free(problem->rows);
	free(problem->changed);
	free(problem->coef);
}

static bool
send_rows(GrSession *session, const Problem *problem, GrSink **rows, GrError *err)
{
	GrSinkOptions options = {};
	int64_t		ncalls = 0;

	options.shape.nfeatures = problem->nfeatures;
	options.kind = GR_SINK_KEEP;
	return gpu->sink->begin(session, &options, rows, err) &&
		gpu->sink->send(*rows, problem->rows, problem->nrows, err) && gpu->sink->sent(*rows, true, &ncalls, err);
}

/* Returns the largest difference of the rows' values in units of the value, or INFINITY if the rows can't be read. */
static double
worst_difference(const GrSink *sink, const Problem *want)
{
	const RowsSink *rows = static_cast<const RowsSink *>(sink);
	size_t		ncols = (size_t) want->nfeatures + 1;
	double	   *got = (double *) malloc(sizeof(double) * ncols * (size_t) want->nrows);
	double		worst = 0;
	int64_t		done = 0;

	for (int c = 0; c < rows->nchunks; c++)
	{
		if (cudaMemcpy(got + (size_t) done * ncols, rows->chunks[c].rows,
					   sizeof(double) * ncols * (size_t) rows->chunks[c].nrows,
					   cudaMemcpyDeviceToHost) != cudaSuccess)
			worst = INFINITY;
		done += rows->chunks[c].nrows;
	}
	for (size_t k = 0; k < ncols * (size_t) want->nrows && done == want->nrows; k++)
		worst = fmax(worst, relative_error(got[k], want->rows[k]));
	free(got);
	return done == want->nrows ? worst : INFINITY;
}

static void
check_shape(GrSession *session, int64_t nrows, int nfeatures, int first, bool collinear)
{
	Problem		problem = problem_make(nrows, nfeatures, first, collinear);
	GrPoll		poll = {};
	GrSink	   *rows = NULL;
	GrError		err = {};
	bool		ok = send_rows(session, &problem, &rows, &err) && gpu->sink->change(rows, &problem.basis, NULL, &err);
	double		worst = INFINITY;

	(void) gr_basis_change_rows(&problem.basis, gr_plain_shape(problem.basis.nfeatures), problem.rows, nrows, &poll);
	if (ok)
		worst = worst_difference(rows, &problem);
	check(ok && worst < 3e-16, "%lld rows of %d features, %d changed%s: %.2g %s", (long long) nrows, nfeatures,
		  nfeatures - first,
		  collinear ? ", collinear" : "", worst, err.detail);
	gpu->sink->end(rows);
	problem_free(&problem);
}

static void
check_contract(GrSession *session)
{
	Problem		problem = problem_make(1000, 3, 1, false);
	Stopper		stopper = {0, 1};
	GrHost		host = {stop, &stopper, NULL};
	GrSink	   *rows = NULL;
	GrError		err = {};
	bool		ok = send_rows(session, &problem, &rows, &err);

	check(ok && !gpu->sink->change(rows, &problem.basis, &host, &err) && err.status == GR_CANCELED,
		  "a change is canceled");
	memset(&err, 0, sizeof(err));
	problem.basis.nfeatures = 4;
	check(!gpu->sink->change(rows, &problem.basis, NULL, &err) && err.status == GR_INVALID,
		  "a basis of other features");
	gpu->sink->end(rows);
	rows = NULL;
	memset(&err, 0, sizeof(err));
	problem.basis.nfeatures = 3;
	problem.nrows = 0;
	check(send_rows(session, &problem, &rows, &err) && gpu->sink->change(rows, &problem.basis, NULL, &err), "no rows");
	gpu->sink->end(rows);
	problem_free(&problem);
}

/* Times a change. Bytes are those of each row, read once and written once. */
static void
bench_shape(GrSession *session, int64_t nrows, int nfeatures, int first)
{
	Problem		problem = problem_make(nrows, nfeatures, first, false);
	double		nbytes = 2.0 * (double) nrows * (nfeatures + 1) * sizeof(double);
	GrSink	   *rows = NULL;
	GrError		err = {};
	double		least_ms = INFINITY;

	if (send_rows(session, &problem, &rows, &err))
	{
		for (int turn = 0; turn < 5; turn++)
		{
			double		begin_ms = now_ms();

			if (!gpu->sink->change(rows, &problem.basis, NULL, &err))
				break;
			least_ms = fmin(least_ms, now_ms() - begin_ms);
		}
	}
	printf("# %9lld x %4d, %d changed: %.3f ms, %.0f GB/s %s\n", (long long) nrows, nfeatures, nfeatures - first,
		   least_ms,
		   nbytes / least_ms * 1e-6, err.detail);
	gpu->sink->end(rows);
	problem_free(&problem);
}

static bool
run_bench(const GpuRun *run)
{
	bench_shape(run->session, 20000000, 3, 1);
	bench_shape(run->session, 10000000, 8, 7);
	bench_shape(run->session, 1000000, 100, 50);
	bench_shape(run->session, 100000, 1000, 0);
	return true;
}

static void
run_tests(const GpuRun *run)
{
	check_shape(run->session, 1, 1, 0, false);
	check_shape(run->session, 77, 3, 1, true);
	check_shape(run->session, 1000, 33, 0, false);
	check_shape(run->session, 500, 65, 3, true);
	if (!run->quick)
	{
		check_shape(run->session, 300000, 40, 20, false);
		check_shape(run->session, 100003, 5, 1, true);
		check_shape(run->session, 3000, 500, 0, false);
		check_shape(run->session, 100, 2000, 1990, false);
	}
	check_contract(run->session);
}

int
main(int argc, char **argv)
{
	return backend_main(argc, argv, run_tests, run_bench);
}
