/*
 * margin_sums.c: the sums of average marginal effects of columns of numbers; see margin_sums.h.
 */
#include "compute/glm/margin_sums.h"

#include <string.h>

/* Rows are added in this many independent sums, which are merged once per call. */
#define NSUMS 8

/* Kernels for one processor; see margin_sums_cpu.h */
typedef struct MarginVersion
{
	void		(*predict) (const double *beta, int p, const double *columns, const double *offset, int n, double *eta);
	void		(*add) (const double *column, const double *weight, int n, GrDD *sum);
} MarginVersion;

#define SIMD_TEMPLATE "compute/glm/margin_sums_cpu.h"
#include "compute/base/simd.h"

/* Rows by column. Columns are GR_MARGIN_ROWS numbers, of which those of n rows are set. */
typedef struct Columns
{
	int			n;				/* number of rows, rounded up to a multiple of NSUMS by rows of zeros */
	double	   *features;		/* p columns */
	double	   *offset;
	double	   *ones;
	double	   *eta;
	double	   *slope;			/* first and second derivative of the mean by eta; 0 in rows that fill up */
	double	   *curvature;
} Columns;

static void
take_columns(Columns *c, GrRowShape shape, const double *rows, int nrows)
{
	size_t		ncols = (size_t) gr_row_ncols(shape);

	for (int r = 0; r < c->n; r++)
	{
		const double *row = rows + (size_t) r * ncols;

		c->ones[r] = 1;
		c->offset[r] = r < nrows ? gr_row_offset(row, shape) : 0;
		for (int k = 0; k < shape.nfeatures; k++)
			c->features[(size_t) k * GR_MARGIN_ROWS + r] = r < nrows ? row[k] : 0;
	}
}

void
gr_margin_sums_add(const GrMarginModel *model, const double *rows, int nrows, double *scratch, GrDD *sums)
{
	const MarginVersion *version = SIMD_CHOOSE(margin_version, NSUMS);
	int			p = model->shape.nfeatures;
	double	   *more = scratch + (size_t) p * GR_MARGIN_ROWS;
	Columns		c = {
		.n = (nrows + NSUMS - 1) / NSUMS * NSUMS,.features = scratch,.offset = more,.ones = more + GR_MARGIN_ROWS,
		.eta = more + 2 * GR_MARGIN_ROWS,.slope = more + 3 * GR_MARGIN_ROWS,.curvature = more + 4 * GR_MARGIN_ROWS
	};

	take_columns(&c, model->shape, rows, nrows);
	version->predict(model->beta, p, c.features, c.offset, c.n, c.eta);
	for (int r = 0; r < c.n; r++)
	{
		c.slope[r] = r < nrows ? gr_mean_slope(model->link, c.eta[r]) : 0;
		c.curvature[r] = r < nrows ? gr_mean_curvature(model->link, c.eta[r]) : 0;
	}
	version->add(c.ones, c.slope, c.n, &sums[0]);
	version->add(c.ones, c.curvature, c.n, &sums[1]);
	for (int k = 0; k < p; k++)
		version->add(c.features + (size_t) k * GR_MARGIN_ROWS, c.curvature, c.n, &sums[2 + k]);
}

void
gr_margin_sums_take(GrMargins *margins, const GrDD *sums, double nrows)
{
	margins->weight = gr_dd(nrows);
	margins->slope = sums[0];
	if (margins->curvature != NULL)
		memcpy(margins->curvature, sums + (margins->intercept ? 1 : 2), (size_t) margins->nterms * sizeof(GrDD));
}
