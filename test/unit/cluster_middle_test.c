/*
 * cluster_middle_test.c: tests the middle matrix of clustered covariances on the CPU against sums of 113 bits, made
 * cluster by cluster, and keys that cannot be grouped.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cluster_rows.h"
#include "compute/backend/backend.h"
#include "compute/request/request.h"
#include "gram_reference.h"
#include "unit.h"

/* Returns a row's factor of its score by the definition, w (y - mu) (dmu / deta) / V(mu). */
static Quad
cluster_factor(const ClusterRows *made, const double *row)
{
	const GrScores *scores = &made->pass.scores;
	int			p = scores->shape.nfeatures;
	Quad	eta = (Quad) scores->beta[0] + scores->beta_lo[0] + row[gr_offset_at(scores->shape)];
	long double mu;

	for (int j = 0; j < p; j++)
		eta += ((Quad) scores->beta[j + 1] + scores->beta_lo[j + 1]) * (row[j] - scores->shift[j]);
	if (scores->distribution.family == GR_GAUSSIAN)
		return gr_row_weight(row, scores->shape) * (row[p] - eta);
	/* both families with their canonical links */
	mu = expl((long double) eta);
	if (scores->distribution.family == GR_BINOMIAL)
		mu = mu / (1 + mu);
	return gr_row_weight(row, scores->shape) * ((Quad) row[p] - mu);
}

/*
 * Returns the largest difference of the middle matrix from the exact one, relative to the roots of the diagonal's
 * entries.
 */
static double
cluster_rows_worst(const ClusterRows *made, const double *sums)
{
	const GrScores *scores = &made->pass.scores;
	int			t = scores->shape.nfeatures + 1;
	KeyedRow   *sorted = cluster_rows_sorted(made);
	Quad *score = (Quad *) calloc((size_t) t, sizeof(Quad));
	Quad *middle = (Quad *) calloc((size_t) (t * t), sizeof(Quad));
	const double *hi = sums + GR_CLUSTERS_HEAD;
	const double *lo = hi + t * (t + 1) / 2;
	double		worst = 0;

	for (int64_t r = 0; r < made->nrows; r++)
	{
		Quad	factor = cluster_factor(made, sorted[r].row);

		for (int j = 0; j < t; j++)
			score[j] += factor * (j == 0 ? 1 : sorted[r].row[j - 1] - scores->shift[j - 1]);
		if (r < made->nrows - 1 && same_cluster(&sorted[r], &sorted[r + 1]))
			continue;
		for (int i = 0; i < t; i++)
			for (int j = 0; j < t; j++)
				middle[i * t + j] += score[i] * score[j];
		memset(score, 0, sizeof(Quad) * (size_t) t);
	}
	for (int i = 0, k = 0; i < t; i++)
		for (int j = 0; j <= i; j++, k++)
		{
			double		unit = sqrt((double) middle[i * t + i]) * sqrt((double) middle[j * t + j]);
			double		off = fabs((double) (middle[i * t + j] - hi[k] - lo[k]));

			if (off > 0 && !(off / unit <= worst))
				worst = off / unit;
		}
	free(sorted);
	free(score);
	free(middle);
	return worst;
}

/* Sends the rows to a sink of the CPU's, and sums a request over them. */
static bool
sum_in_sink(const ClusterRows *made, double *sums, const GrHost *host, GrError *err)
{
	const GrSinkOptions options = {.shape = made->pass.scores.shape,.kind = GR_SINK_KEEP};
	GrRequest  *request = gr_request_of_clusters(&made->pass, gr_request_malloc, err);
	GrSink	   *sink = NULL;
	bool		ok = request != NULL && gr_backend_cpu.sink->begin(NULL, &options, &sink, err) &&
		gr_backend_cpu.sink->send(sink, made->rows, made->nrows, err);

	if (ok)
	{
		gr_request_clear(request, sums);
		ok = gr_backend_cpu.sink->sums(sink, request, sums, host, err);
	}
	gr_backend_cpu.sink->end(sink);
	free(request);
	return ok;
}

static void
test_rows(int64_t nrows, int nfeatures, int64_t nclusters, GrFamily family, bool weight)
{
	ClusterRows made = cluster_rows_make(nrows, nfeatures, nclusters, family, weight);
	double	   *sums = malloc(gr_clusters_nsums(nfeatures) * sizeof(double));

	for (int way = 0; way < GR_NWAYS; way++)
	{
		GrError		err = {0};
		int64_t		n;
		double		worst = INFINITY;

		made.pass.way = (GrClusterWay) way;
		n = cluster_rows_count(&made);
		if (sum_in_sink(&made, sums, NULL, &err))
			worst = cluster_rows_worst(&made, sums);
		check(worst < 1e-13 && sums[GR_CLUSTERS_N] == (double) n && sums[GR_CLUSTERS_NROWS] == (double) nrows &&
			  sums[GR_CLUSTERS_NLEFT] == 0, "%lld rows of %d features in %lld clusters, family %d, way %d: %.2g %s",
			  (long long) nrows, nfeatures, (long long) n, (int) family, way, worst, err.detail);
	}
	free(sums);
	cluster_rows_free(&made);
}

/* Checks keys at the ends of the range, which take 64 bits or more, and keys that aren't integers. */
static void
test_keys(void)
{
	static const double wrong[] = {0.5, 9007199254740992.0, -9007199254740992.0, 1e300, INFINITY, NAN};
	ClusterRows made = cluster_rows_make(40, 2, 5, GR_GAUSSIAN, false);
	int			stride = gr_row_ncols(made.pass.scores.shape);
	double	   *sums = malloc(gr_clusters_nsums(2) * sizeof(double));
	double	   *key = made.rows + gr_key_at(made.pass.scores.shape);
	GrError		err = {0};

	key[0] = -9007199254740991.0;
	key[stride] = 9007199254740991.0;
	made.pass.way = GR_WAY_FIRST;
	check(sum_in_sink(&made, sums, NULL, &err) && cluster_rows_worst(&made, sums) < 1e-13 &&
		  sums[GR_CLUSTERS_NLEFT] == 0, "keys next to 2^53 and -2^53");
	made.pass.way = GR_WAY_BOTH;
	check(sum_in_sink(&made, sums, NULL, &err) && sums[GR_CLUSTERS_NLEFT] == 0, "and a small second one");
	key[1] = -9007199254740991.0;
	check(sum_in_sink(&made, sums, NULL, &err) && sums[GR_CLUSTERS_NLEFT] == 40, "two keys of more than 64 bits");
	for (size_t k = 0; k < sizeof(wrong) / sizeof(wrong[0]); k++)
	{
		key[3 * stride] = wrong[k];
		made.pass.way = GR_WAY_FIRST;
		check(sum_in_sink(&made, sums, NULL, &err) && sums[GR_CLUSTERS_NLEFT] == 1, "%g is no key", wrong[k]);
	}
	free(sums);
	cluster_rows_free(&made);
}

/* Checks that sums over only a part of the rows report that. */
static void
test_parts(void)
{
	ClusterRows made = cluster_rows_make(40, 2, 5, GR_GAUSSIAN, false);
	GrError		err = {0};
	GrRequest  *request = gr_request_of_clusters(&made.pass, gr_request_malloc, &err);
	double		sums[GR_CLUSTERS_HEAD + 12];
	double		other[GR_CLUSTERS_HEAD + 12];
	double		scratch;
	Stopper		stopper = {0, 2};
	GrHost		host = {.canceled = stop,.arg = &stopper};
	GrRowShape	shape = made.pass.scores.shape;

	check(gr_request_is_whole(request) && gr_request_nsums(request) == GR_CLUSTERS_HEAD + 12 &&
		  gr_request_valid(request, gr_request_nbytes(request), shape, &err), "a request: %s", err.detail);
	gr_request_clear(request, sums);
	check(gr_request_add(request, sums, made.rows, 40, &scratch, NULL) && sums[GR_CLUSTERS_NLEFT] == 40,
		  "rows that are added are left");
	check(sum_in_sink(&made, sums, NULL, &err) && sum_in_sink(&made, other, NULL, &err), "sums: %s", err.detail);
	gr_request_merge(request, sums, other);
	check(sums[GR_CLUSTERS_NLEFT] == 80, "rows of sums that are merged are left");
	check(!sum_in_sink(&made, sums, &host, &err) && err.status == GR_CANCELED, "canceled");
	err = (GrError) {0};
	request->way = GR_NWAYS;
	check(!gr_request_valid(request, gr_request_nbytes(request), shape, &err), "there is no fourth way");
	request->way = GR_WAY_BOTH;
	request->shape.second_key = shape.second_key = false;
	err = (GrError) {0};
	check(!gr_request_valid(request, gr_request_nbytes(request), shape, &err), "no second key: %s", err.detail);
	free(request);
	cluster_rows_free(&made);
}

int
main(void)
{
	test_rows(0, 2, 3, GR_GAUSSIAN, false);
	test_rows(1, 1, 1, GR_GAUSSIAN, false);
	test_rows(1000, 0, 7, GR_GAUSSIAN, false);
	test_rows(5000, 3, 5000, GR_GAUSSIAN, false);
	test_rows(30000, 8, 100, GR_GAUSSIAN, true);
	test_rows(20000, 8, 1, GR_GAUSSIAN, false);
	test_rows(5000, 40, 60, GR_GAUSSIAN, true);
	test_rows(3000, 4, 50, GR_BINOMIAL, true);
	test_rows(3000, 4, 50, GR_POISSON, false);
	test_keys();
	test_parts();
	return unit_done();
}
