/* sum_clusters_vcov.c: covariances from sums over clusters; see sum_clusters.h. */
#include <math.h>
#include <string.h>

#include "compute/base/dd.h"
#include "compute/linear/sum_clusters.h"
#include "compute/linear/sum_clusters_work.h"

/*
 * Names
 */

static const char *const kind_names[GR_NCLUSTER_KINDS] = {"CR0", "CR1", "CR3", "CR3J"};

const char *
gr_cluster_kind_name(GrClusterKind kind)
{
	return kind_names[kind];
}

/* True if the names differ only in case; b is in upper case. */
static bool
same_name(const char *a, const char *b)
{
	while (*a != '\0' && (*a == *b || (*a >= 'a' && *a <= 'z' && *a - 'a' + 'A' == *b)))
		a++, b++;
	return *a == *b;
}

bool
gr_cluster_kind_named(const char *name, GrClusterKind *kind)
{
	for (int k = 0; k < GR_NCLUSTER_KINDS; k++)
	{
		*kind = (GrClusterKind) k;
		if (same_name(name, kind_names[k]))
			return true;
	}
	return false;
}

/*
 * Covariances
 */

/* Returns the sum over lanes, in their order. */
static GrDD
fold_lanes(const double *hi, const double *lo)
{
	GrDD		sum = {0, 0};

	for (int l = 0; l < GR_CLUSTER_LANES; l++)
		sum = gr_dd_add(sum, gr_dd_add(gr_dd(hi[l]), gr_dd(lo[l])));
	return sum;
}

/* Returns the factor of a kind's sum of squares. */
static double
factor_of(const GrClusterFit *fit, GrClusterKind kind, int64_t nobs)
{
	double		g = (double) fit->nclusters;
	double		left = (double) nobs - fit->nterms;

	switch (kind)
	{
		case GR_CLUSTER_CR0:
			return 1;
		case GR_CLUSTER_CR1:
			return left > 0 ? g / (g - 1) * (((double) nobs - 1) / left) : NAN;
		default:
			return (g - 1) / g;
	}
}

/* Fills the middle, n x n, symmetric. */
static void
fill_middle(const GrClusterFit *fit, GrClusterKind kind, GrDDVector middle)
{
	int64_t		n = fit->nterms;
	int64_t		triangle = gr_triangle(n) * GR_CLUSTER_LANES;
	const double *sums = fit->middle + 2 * triangle;

	for (int64_t i = 0; i < n; i++)
		for (int64_t j = 0; j <= i; j++)
		{
			int64_t		at = triangle_at(i, j) * GR_CLUSTER_LANES;
			GrDD		sum = fold_lanes(fit->middle + at, fit->middle + triangle + at);

			if (kind == GR_CLUSTER_CR3J)
			{
				GrDD		a = fold_lanes(sums + i * GR_CLUSTER_LANES, sums + (n + i) * GR_CLUSTER_LANES);
				GrDD		b = fold_lanes(sums + j * GR_CLUSTER_LANES, sums + (n + j) * GR_CLUSTER_LANES);

				sum = gr_dd_sub(sum, gr_dd_div(gr_dd_mul(a, b), gr_dd((double) fit->nclusters)));
			}
			gr_dd_set(middle, i * n + j, sum);
			gr_dd_set(middle, j * n + i, sum);
		}
}

/* Fills factor with C for terms about a shift of 0, where the intercept is reduced by the slopes times their shifts. */
static void
fill_origin_factor(const GrClusterFit *fit, double *factor)
{
	int64_t		n = fit->nterms;

	memcpy(factor, fit->factor, (size_t) (n * n) * sizeof(double));
	for (int64_t i = 0; i < n; i++)
		for (int64_t k = 0; k < n; k++)
		{
			GrDD		sum = {factor[i * n + k], 0};

			if (fit->entries[k] != 0)
				continue;
			for (int64_t j = 0; j <= i; j++)
				if (fit->entries[j] != 0)
					sum = gr_dd_sub(sum, gr_two_prod(fit->shift[fit->entries[j] - 1], fit->factor[i * n + j]));
			factor[i * n + k] = gr_dd_to_double(sum);
		}
}

bool
gr_cluster_fit_vcov(const GrClusterFit *fit, GrClusterKind kind, int64_t nobs, double *vcov, const GrHost *host,
					GrError *err)
{
	const GrClusterWork *work = fit->work;
	int64_t		n = fit->nterms;
	double	   *hi = work->exact_hi;
	double	   *lo = work->exact_lo;
	double	   *factor = work->vectors;
	double	   *row_hi = work->q;
	double	   *row_lo = work->s_hi;
	double		scale = factor_of(fit, kind, nobs);
	GrPoll		poll = {.host = host};

	fill_middle(fit, kind, (GrDDVector) {hi, lo});
	fill_origin_factor(fit, factor);
	for (int64_t i = 0; i < n; i++)
	{
		if (gr_poll(&poll, 40 * n * n))
			return fail_canceled(err);
		for (int64_t j = 0; j < n; j++)
		{
			GrDD		sum = {0, 0};

			for (int64_t m = 0; m < n; m++)
				sum = gr_dd_add(sum, gr_dd_mul_d((GrDD) {hi[m * n + j], lo[m * n + j]}, factor[m * n + i]));
			row_hi[j] = sum.hi;
			row_lo[j] = sum.lo;
		}
		for (int64_t j = 0; j <= i; j++)
		{
			GrDD		sum = {0, 0};

			for (int64_t m = 0; m < n; m++)
				sum = gr_dd_add(sum, gr_dd_mul_d((GrDD) {row_hi[m], row_lo[m]}, factor[m * n + j]));
			vcov[i * n + j] = vcov[j * n + i] = gr_dd_to_double(gr_dd_mul_d(sum, scale));
		}
		if (!isnan(scale) && !isfinite(vcov[i * n + i]))
			return gr_fail(err, GR_RESULT_OUT_OF_RANGE, gr_column_of_row(GR_ROWS_ENTRIES, fit->entries[i]),
						   "variance of the coefficient");
	}
	return true;
}

void
gr_cluster_fit_inverse(const GrClusterFit *fit, double *inverse)
{
	const GrClusterWork *work = fit->work;
	int64_t		n = fit->nterms;

	fill_origin_factor(fit, work->vectors);
	for (int64_t k = 0; k < n; k++)
	{
		inverse[k] = 0;
		for (int64_t i = 0; i < n; i++)
			inverse[k] += work->vectors[i * n + k] * work->vectors[i * n + k];
	}
}
