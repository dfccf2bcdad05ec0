/*
 * boot_gpu_test.cu: tests a bootstrap's passes on the device against the CPU's.
 *
 * boot_gpu_test [--quick] [--bench] [--seed=N]: see gpu_harness.h.
 */
#include "../../kernels/backend_cuda.cuh"
#include "boot_rows.h"
#include "gpu_harness.h"
#include "sums.h"

#include <stdlib.h>
#include <string.h>

static bool
send_rows(GrSession *session, const BootRows *made, GrSink **rows, GrError *err)
{
	GrSinkOptions options = {};
	int64_t		ncalls = 0;

	options.shape = made->pass.shape;
	options.kind = GR_SINK_KEEP;
	return gpu->sink->begin(session, &options, rows, err) &&
		gpu->sink->send(*rows, made->rows, made->nrows, err) && gpu->sink->sent(*rows, true, &ncalls, err);
}

/* Checks a pass against the CPU's, and that a second one over the same rows gives the same bits. */
static void
check_made(GrSession *session, BootRows made, const char *what)
{
	int64_t		nrows = made.nrows;
	size_t		n = gr_boot_nsums(&made.pass);
	double	   *want = (double *) calloc(n, sizeof(double));
	double	   *got = (double *) calloc(n, sizeof(double));
	double	   *again = (double *) calloc(n, sizeof(double));
	void	   *scratch = malloc(gr_boot_scratch_nbytes(&made.pass));
	GrSink	   *rows = NULL;
	GrError		err = {};
	bool		ok = send_rows(session, &made, &rows, &err) &&
		sum_boot(gpu->sink, rows, &made.pass, got, NULL, &err) &&
		sum_boot(gpu->sink, rows, &made.pass, again, NULL, &err);
	double		worst;

	(void) gr_boot_add(&made.pass, want, made.rows, nrows, scratch, NULL);
	worst = ok ? boot_worst(got, want, n) : INFINITY;
	check(worst < 1e-12, "%lld rows of %d features, %d replicates from %lld%s: %.2g %s", (long long) nrows,
		  made.pass.shape.nfeatures, made.pass.nreps, (long long) made.pass.first, what, worst, err.detail);
	check(ok && memcmp(got, again, sizeof(double) * n) == 0, "the same bits again");
	gpu->sink->end(rows);
	free(scratch);
	free(want);
	free(got);
	free(again);
	boot_rows_free(&made);
}

static void
check_shape(GrSession *session, int64_t nrows, int nfeatures, int nreps, int64_t first, GrFamily family, bool weights)
{
	check_made(session, boot_rows_make(nrows, nfeatures, nreps, first, family, weights), weights ? ", weights" : "");
}

/* Checks a pass whose draws are signs instead of counts. */
static void
check_flips(GrSession *session, int64_t nrows, int nfeatures, int nreps, int64_t first, bool weights)
{
	BootRows	made = boot_rows_make(nrows, nfeatures, nreps, first, GR_GAUSSIAN, weights);

	made.pass.flips = true;
	check_made(session, made, ", of signs");
}

static void
check_contract(GrSession *session)
{
	BootRows	made = boot_rows_make(1000, 3, 32, 0, GR_GAUSSIAN, false);
	double	   *sums = (double *) calloc(gr_boot_nsums(&made.pass), sizeof(double));
	Stopper		stopper = {0, 1};
	GrHost		host = {stop, &stopper, NULL};
	GrSink	   *rows = NULL;
	GrError		err = {};
	bool		ok = send_rows(session, &made, &rows, &err);

	check(ok && !sum_boot(gpu->sink, rows, &made.pass, sums, &host, &err) && err.status == GR_CANCELED,
		  "a bootstrap is canceled");
	memset(&err, 0, sizeof(err));
	made.pass.first = 3;
	check(!sum_boot(gpu->sink, rows, &made.pass, sums, NULL, &err) && err.status == GR_INVALID,
		  "a first replicate that begins no group");
	memset(&err, 0, sizeof(err));
	made.pass.first = 0;
	made.pass.nactive = 0;
	check(!sum_boot(gpu->sink, rows, &made.pass, sums, NULL, &err) && err.status == GR_INVALID,
		  "a bootstrap of no terms");
	gpu->sink->end(rows);
	free(sums);
	boot_rows_free(&made);
}

/* Times a pass. Operations are a product and a sum per entry, and the draws. */
static void
bench_shape(GrSession *session, int64_t nrows, int nfeatures, int nreps, bool flips)
{
	BootRows	made = boot_rows_make(nrows, nfeatures, nreps, 0, GR_GAUSSIAN, false);
	double		draws = (double) nrows * nreps;
	double		flops = 2.0 * draws * (double) gr_boot_nproducts(made.pass.nactive);
	double	   *sums = (double *) calloc(gr_boot_nsums(&made.pass), sizeof(double));
	GrSink	   *rows = NULL;
	GrError		err = {};
	double		least_ms = INFINITY;

	made.pass.flips = flips;
	if (send_rows(session, &made, &rows, &err))
	{
		for (int turn = 0; turn < 5; turn++)
		{
			double		begin_ms = now_ms();

			if (!sum_boot(gpu->sink, rows, &made.pass, sums, NULL, &err))
				break;
			least_ms = fmin(least_ms, now_ms() - begin_ms);
		}
	}
	printf("# %9lld x %4d, %d %s: %.3f ms, %.1f TFLOP/s, %.0f draws a ns %s\n", (long long) nrows, nfeatures,
		   nreps, flips ? "permutations" : "replicates", least_ms, flops / least_ms * 1e-9, draws / least_ms * 1e-6,
		   err.detail);
	gpu->sink->end(rows);
	free(sums);
	boot_rows_free(&made);
}

static bool
run_bench(const GpuRun *run)
{
	bench_shape(run->session, 10000000, 8, 1000, false);
	bench_shape(run->session, 10000000, 2, 1000, false);
	bench_shape(run->session, 1000000, 32, 1000, false);
	bench_shape(run->session, 100000, 8, 1000, false);
	bench_shape(run->session, 10000000, 8, 32, false);
	bench_shape(run->session, 10000000, 8, 999, true);
	return true;
}

/* Runs a shape for each plan: tiles, slices of replicates, parts of products, few warps, and influence. */
static void
run_tests(const GpuRun *run)
{
	check_shape(run->session, 1, 1, 1, 0, GR_GAUSSIAN, false);
	check_shape(run->session, 77, 2, 33, 4, GR_GAUSSIAN, true);
	check_shape(run->session, 1000, 4, 300, 999700, GR_GAUSSIAN, false);
	check_shape(run->session, 500, 8, 64, 32, GR_BINOMIAL, true);
	check_shape(run->session, 700, 5, 0, 0, GR_GAUSSIAN, true);
	check_flips(run->session, 1, 1, 1, 0, false);
	check_flips(run->session, 77, 2, 33, 32, true);
	check_flips(run->session, 1000, 12, 300, 999648, false);
	check_flips(run->session, 700, 40, 200, 96, true);
	if (!run->quick)
	{
		check_shape(run->session, 100003, 8, 1000, 0, GR_GAUSSIAN, false);
		check_shape(run->session, 30000, 20, 96, 0, GR_BINOMIAL, false);
		check_shape(run->session, 3000, 100, 40, 8, GR_GAUSSIAN, true);
		check_shape(run->session, 1000003, 3, 128, 0, GR_GAUSSIAN, false);
		check_shape(run->session, 300000, 30, 0, 0, GR_BINOMIAL, false);
		check_flips(run->session, 100003, 8, 999, 0, false);
		check_flips(run->session, 30000, 100, 200, 0, true);
	}
	check_contract(run->session);
}

int
main(int argc, char **argv)
{
	return backend_main(argc, argv, run_tests, run_bench);
}
