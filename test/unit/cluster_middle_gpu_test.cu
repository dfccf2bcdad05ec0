/*
 * cluster_middle_gpu_test.cu: tests the middle matrix of clustered covariances on the device against the CPU's.
 *
 * cluster_middle_gpu_test [--quick] [--bench] [--seed=N]: see gpu_harness.h.
 */
#include "../../kernels/backend_cuda.cuh"
#include "cluster_rows.h"
#include "gpu_harness.h"

#include <stdlib.h>
#include <string.h>

/* Sends the rows to the device in two calls. */
static bool
send_rows(GrSession *session, const ClusterRows *made, size_t limit, GrSink **sink, GrError *err)
{
	const int	ncols = gr_row_ncols(made->pass.scores.shape);
	const int64_t half = made->nrows / 2;
	GrSinkOptions options = {};
	int64_t		ncalls = 0;

	options.shape = made->pass.scores.shape;
	options.kind = GR_SINK_KEEP;
	options.memory_limit = limit;
	return gpu->sink->begin(session, &options, sink, err) && gpu->sink->send(*sink, made->rows, half, err) &&
		gpu->sink->send(*sink, made->rows + half * ncols, made->nrows - half, err) &&
		gpu->sink->sent(*sink, true, &ncalls, err);
}

static bool
sum_sink(GrSink *sink, const GrClusterPass *pass, double *sums, const GrHost *host, GrError *err)
{
	GrRequest  *request = gr_request_of_clusters(pass, gr_request_malloc, err);
	bool		ok;

	gr_request_clear(request, sums);
	ok = gpu->sink->sums(sink, request, sums, host, err);
	free(request);
	return ok;
}

/* Returns the largest difference of two middle matrices, relative to the roots of the diagonal's entries. */
static double
worst_entry(const double *got, const double *want, int t)
{
	const int64_t triangle = gr_triangle(t);
	const double *middle = want + GR_CLUSTERS_HEAD;
	double		worst = 0.0;

	for (int i = 0, k = GR_CLUSTERS_HEAD; i < t; i++)
		for (int j = 0; j <= i; j++, k++)
		{
			const double unit = sqrt(middle[gr_triangle(i + 1) - 1]) * sqrt(middle[gr_triangle(j + 1) - 1]);
			const double off = fabs((got[k] - want[k]) + (got[k + triangle] - want[k + triangle]));

			if (off > 0.0 && !(off / unit <= worst))
				worst = off / unit;
		}
	return worst;
}

static void
check_rows(GrSession *session, int64_t nrows, int nfeatures, int64_t nclusters, GrFamily family, bool weight)
{
	ClusterRows made = cluster_rows_make(nrows, nfeatures, nclusters, family, weight);
	const size_t n = gr_clusters_nsums(nfeatures);
	const double *rows = made.rows;
	GrRowPieces pieces = {1, &rows, &made.nrows};
	double	   *want = (double *) calloc(n, sizeof(double));
	double	   *got = (double *) calloc(n, sizeof(double));
	double	   *again = (double *) calloc(n, sizeof(double));
	GrSink	   *sink = NULL;
	GrError		err = {};
	bool		sent = send_rows(session, &made, 0, &sink, &err);

	for (int way = 0; way < GR_NWAYS; way++)
	{
		bool		ok;
		double		worst;

		made.pass.way = (GrClusterWay) way;
		ok = sent && gr_cluster_middle_sum(&made.pass, &pieces, want, NULL, &err) &&
			sum_sink(sink, &made.pass, got, NULL, &err) && sum_sink(sink, &made.pass, again, NULL, &err);
		worst = ok ? worst_entry(got, want, nfeatures + 1) : INFINITY;
		/* families other than the Gaussian compute means, which the device rounds differently */
		check(worst < (family == GR_GAUSSIAN ? 1e-25 : 1e-13) && got[GR_CLUSTERS_N] == want[GR_CLUSTERS_N] &&
			  got[GR_CLUSTERS_NROWS] == (double) nrows && got[GR_CLUSTERS_NLEFT] == 0.0 &&
			  relative_error(got[GR_CLUSTERS_PEARSON_HI], want[GR_CLUSTERS_PEARSON_HI]) < 1e-13,
			  "%lld rows of %d features in %.0f clusters, family %d, way %d: %.2g %s", (long long) nrows, nfeatures,
			  want[GR_CLUSTERS_N], (int) family, way, worst, err.detail);
		check(ok && memcmp(got, again, sizeof(double) * n) == 0, "the same bits again");
	}
	gpu->sink->end(sink);
	free(want);
	free(got);
	free(again);
	cluster_rows_free(&made);
}

static void
check_contract(GrSession *session)
{
	ClusterRows made = cluster_rows_make(100000, 3, 50, GR_GAUSSIAN, false);
	double	   *sums = (double *) calloc(gr_clusters_nsums(3), sizeof(double));
	Stopper		stopper = {0, 1};
	GrHost		host = {stop, &stopper, NULL};
	GrSink	   *sink = NULL;
	GrError		err = {};
	bool		ok = send_rows(session, &made, 0, &sink, &err);

	check(ok && !sum_sink(sink, &made.pass, sums, &host, &err) && err.status == GR_CANCELED, "canceled");
	err = {};
	check(ok && sum_sink(sink, &made.pass, sums, NULL, &err) && sums[GR_CLUSTERS_NLEFT] == 0.0,
		  "and then not: %s", err.detail);
	made.pass.scores.shape.second_key = false;
	check(ok && !sum_sink(sink, &made.pass, sums, NULL, &err) && err.status == GR_INVALID, "rows of another shape");
	gpu->sink->end(sink);
	made.pass.scores.shape.second_key = true;
	made.rows[gr_key_at(made.pass.scores.shape)] = 0.5;
	err = {};
	sink = NULL;
	ok = send_rows(session, &made, 0, &sink, &err);
	check(ok && sum_sink(sink, &made.pass, sums, NULL, &err) && sums[GR_CLUSTERS_NLEFT] == 100000.0,
		  "a number that is no key: %s", err.detail);
	made.pass.way = GR_WAY_SECOND;
	check(ok && sum_sink(sink, &made.pass, sums, NULL, &err) && sums[GR_CLUSTERS_NLEFT] == 0.0,
		  "which is not looked at: %s", err.detail);
	gpu->sink->end(sink);
	free(sums);
	cluster_rows_free(&made);
}

/* Times a pass over 10 million rows of 8 features; prints ms. */
static bool
run_bench(const GpuRun *run)
{
	static const int64_t clusters[] = {1, 100, 10000, 1000000, 10000000};

	for (size_t k = 0; k < sizeof(clusters) / sizeof(clusters[0]); k++)
	{
		ClusterRows made = cluster_rows_make(10000000, 8, clusters[k], GR_GAUSSIAN, false);
		double	   *sums = (double *) calloc(gr_clusters_nsums(8), sizeof(double));
		GrSink	   *sink = NULL;
		GrError		err = {};
		bool		ok = send_rows(run->session, &made, 0, &sink, &err);

		for (int way = 0; ok && way < GR_NWAYS; way++)
		{
			double		best = INFINITY;

			made.pass.way = (GrClusterWay) way;
			for (int turn = 0; ok && turn < 5; turn++)
			{
				double		begin_ms = now_ms();

				ok = sum_sink(sink, &made.pass, sums, NULL, &err);
				best = fmin(best, now_ms() - begin_ms);
			}
			printf("# 10M x 8, %.0f clusters, way %d: %.2f ms %s\n", sums[GR_CLUSTERS_N], way, best, err.detail);
		}
		gpu->sink->end(sink);
		free(sums);
		cluster_rows_free(&made);
	}
	return true;
}

/* Runs few columns and many, few clusters and as many as rows, and clusters spread over many ranges. */
static void
run_tests(const GpuRun *run)
{
	GrSession  *session = run->session;

	check_rows(session, 1, 1, 1, GR_GAUSSIAN, false);
	check_rows(session, 2, 1, 1, GR_GAUSSIAN, true);
	check_rows(session, 1000, 7, 7, GR_GAUSSIAN, false);
	check_rows(session, 5000, 6, 5000, GR_GAUSSIAN, false);
	check_rows(session, 5000, 3, 1, GR_GAUSSIAN, true);
	check_rows(session, 3000, 40, 60, GR_GAUSSIAN, true);
	check_rows(session, 3000, 4, 50, GR_BINOMIAL, true);
	check_rows(session, 3000, 4, 50, GR_POISSON, false);
	if (!run->quick)
	{
		check_rows(session, 1000003, 8, 10000, GR_GAUSSIAN, true);
		check_rows(session, 1000003, 8, 1000003, GR_GAUSSIAN, false);
		check_rows(session, 5000001, 2, 3, GR_GAUSSIAN, false);
		check_rows(session, 300000, 30, 1000, GR_BINOMIAL, false);
		check_rows(session, 20000, 300, 15000, GR_GAUSSIAN, false);
	}
	check_contract(session);
}

int
main(int argc, char **argv)
{
	return backend_main(argc, argv, run_tests, run_bench);
}
