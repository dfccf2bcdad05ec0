/*
 * draw.c: computes the parameters by which S is drawn; see draw.h.
 */
#include "compute/project/draw.h"

#include <math.h>
#include <string.h>

/* Computes the thresholds for n rows. Every operation is rounded once, in the order that draw.h gives. */
static void
make_table(GrDrawTable *table, int32_t n, double p)
{
	double		sums[GR_DRAW_MAX];
	double		q = 1.0 - p;
	double		w = 1.0;
	double		sum = 1.0;
	int			nsums = 1;

	table->nrows = n;
	sums[0] = sum;
	for (int m = 0; m < n && nsums < GR_DRAW_MAX; m++)
	{
		double		a = (double) (n - m) * p;
		double		b = (double) (m + 1) * q;

		w *= a / b;
		if (sum + w == sum && m >= n * p)
			break;
		sum += w;
		sums[nsums++] = sum;
	}
	table->nthresholds = 0;
	for (int m = 0; m < nsums; m++)
	{
		double		c = sums[m] / sum;

		if (c >= 1.0)
			break;
		table->thresholds[table->nthresholds++] = (uint64_t) (c * 0x1p64);
	}
}

bool
gr_draw_init(GrDraw *draw, int64_t k, uint64_t seed, double density, GrError *err)
{
	double		rows_wanted;

	memset(draw, 0, sizeof(*draw));
	if (k < 1)
		return gr_fail(err, GR_INVALID, 0, "k must be at least 1, got %lld", (long long) k);
	if (k > INT32_MAX / 4)
		return gr_fail(err, GR_INVALID, 0, "k must be at most %d, got %lld", INT32_MAX / 4, (long long) k);
	if (!(density > 0.0 && density <= 1.0))
		return gr_fail(err, GR_INVALID, 0, "density must be greater than 0 and at most 1, got %.15g", density);
	draw->k = (int32_t) k;
	draw->seed = seed;
	draw->density = density;
	draw->scale = 1.0 / sqrt((double) k * density);
	draw->stratum_nrows = draw->k;
	draw->nstrata = 1;
	if (density == 1.0)
		return true;
	rows_wanted = floor(GR_DRAW_MEAN / density);
	if (rows_wanted < draw->k)
		draw->stratum_nrows = (int32_t) rows_wanted;
	draw->nstrata = (draw->k + draw->stratum_nrows - 1) / draw->stratum_nrows;
	make_table(&draw->full, draw->stratum_nrows, density);
	make_table(&draw->last, draw->k - (draw->nstrata - 1) * draw->stratum_nrows, density);
	return true;
}

int
gr_draw_stratum(const GrDraw *draw, int64_t j, int32_t stratum, uint32_t *entries)
{
	GrPhilox	first = gr_draw_words(draw->seed, j, (uint32_t) stratum, 0);
	int			count = gr_draw_count(gr_draw_table(draw, stratum), first);

	gr_draw_entries(draw, j, stratum, first, count, entries, 1);
	return count;
}

double
gr_dense_density(int64_t dim)
{
	return 1.0 / sqrt((double) dim);
}

double
gr_sparse_density(int64_t k)
{
	return k <= 32 ? 1.0 : 32.0 / (double) k;
}
