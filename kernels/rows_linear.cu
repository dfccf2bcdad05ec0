/*
 * rows_linear.cu: passes over a sink's rows on the device whose sums follow from the rows' own Gram matrix: the pass
 * that a linear regression begins with, and mostly ends with, and the one that a logistic regression begins with.
 *
 * EXACT's sums are the Gram matrix of (1, u, u z, v). Without weights and offsets, u is the same for all rows, and v is
 * linear in y: u = 1, v = y for a linear regression; u = 1/2, v = 2 y - 1 for a logistic regression at beta = 0, whose
 * y is 0 or 1. The sums therefore follow from the Gram matrix of (1, x, y), which is summed over the rows as they lie,
 * without transforming them. The same holds for the linear pass over weighted rows, whose sums are products with the
 * weight; see gr_pass_is_weighted_gram().
 */
#include "sends.cuh"

#include "compute/base/dd.h"
#include "compute/glm/glm_row.h"
#include "compute/linalg/gram_shift.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define POLL_S 0.04				/* work between two polls of the host, at the device's peak */
#define GRAM_LAUNCH_S 0.03		/* time of gram.cu's longest launch, as it estimates it */
#define SEGMENT 32768			/* entries copied back at a time: hi and lo fill RowsSink's result */

static bool
is_zero(const double *beta, int n)
{
	for (int k = 0; k < n; k++)
		if (beta[k] != 0.0)
			return false;
	return true;
}

bool
gr_cuda_rows_are_linear(const RowsSink *rows, const GrPass *pass)
{
	const bool	linear = pass->linear && pass->distribution.family == GR_GAUSSIAN &&
		pass->distribution.link == GR_IDENTITY && pass->distribution.exponent == 0;

	if (gr_pass_is_weighted_gram(pass))
		return true;
	return pass->kind == GR_PASS_EXACT && pass->measure == GR_MEASURE_STEP && pass->nfaces == 0 &&
		!rows->shape.weight && !rows->shape.offset &&
		(linear || (gr_is_logistic(pass->distribution) && is_zero(pass->beta, gr_nterms(rows->shape.nfeatures))));
}

/* Origin of a column of EXACT's rows: scale times a column of (1, x, y), plus a constant */
typedef struct Made
{
	int64_t		column;
	double		scale;
	double		constant;
} Made;

/* Returns how column i of EXACT's rows follows from (1, x, y). */
static Made
made_of(bool logistic, int nfeatures, int64_t i)
{
	Made		made = {i > 0 ? i - 1 : 0, 1.0, 0.0};

	if (logistic && i > nfeatures + 1)
		made = {i - 1, 2.0, -1.0};
	else if (logistic && i > 0)
		made.scale = 0.5;
	return made;
}

/* Returns entry (i, j) of hi and of lo, which follows nentries numbers later. */
static GrDD
entry(const double *triangle, int64_t nentries, int64_t i, int64_t j)
{
	int64_t		at = gr_triangle(i > j ? i : j) + (i > j ? j : i);
	GrDD		value = {triangle[at], triangle[nentries + at]};

	return value;
}

/* Returns the sum of a b, where a and b follow from the columns of (1, x, y). */
static GrDD
product_of(const double *triangle, int64_t nentries, Made a, Made b)
{
	GrDD		sum = gr_dd_scale(entry(triangle, nentries, a.column, b.column), a.scale * b.scale);

	/* scales and constants are powers of two, or 0 */
	if (b.constant != 0.0)
		sum = gr_dd_add(sum, gr_dd_scale(entry(triangle, nentries, a.column, 0), a.scale * b.constant));
	if (a.constant != 0.0)
		sum = gr_dd_add(sum, gr_dd_scale(entry(triangle, nentries, b.column, 0), b.scale * a.constant));
	if (a.constant != 0.0 && b.constant != 0.0)
		sum = gr_dd_add(sum, gr_dd_scale(entry(triangle, nentries, 0, 0), a.constant * b.constant));
	return sum;
}

/* Computes EXACT's sums from the triangle of (1, x, y). */
static void
make_sums(const double *triangle, int nfeatures, bool logistic, double *sums)
{
	const int64_t nentries = gr_triangle(gr_norder(nfeatures));
	const int64_t nsums = gr_triangle((int64_t) gr_norder(nfeatures) + 1);
	double	   *hi = sums + GR_SUM_HEAD;

	gr_pass_clear(GR_PASS_EXACT, nfeatures, sums);
	for (int64_t i = 0, at = 0; i <= gr_norder(nfeatures); i++)
		for (int64_t j = 0; j <= i; j++, at++)
		{
			GrDD		sum = product_of(triangle, nentries, made_of(logistic, nfeatures, i),
										 made_of(logistic, nfeatures, j));

			hi[at] = sum.hi;
			hi[nsums + at] = sum.lo;
		}
	sums[GR_SUM_NROWS] = triangle[0];
	sums[GR_SUM_NONES] = triangle[gr_triangle(gr_nterms(nfeatures))];
	if (logistic)
	{
		GrDD		deviance = gr_two_prod(triangle[0], 2.0 * log(2.0));

		sums[GR_SUM_DEVIANCE_HI] = deviance.hi;
		sums[GR_SUM_DEVIANCE_LO] = deviance.lo;
		sums[GR_SUM_MIN_MARGIN] = 0.0;
	}
}

/* Computes EXACT's sums of weighted rows; row 0 then holds only the number of rows. */
static void
make_weighted_sums(const double *triangle, int nfeatures, int64_t nrows, double *sums)
{
	const int64_t nentries = gr_triangle(gr_norder(nfeatures));
	const int64_t nsums = gr_triangle((int64_t) gr_norder(nfeatures) + 1);
	double	   *hi = sums + GR_SUM_HEAD;

	gr_pass_clear(GR_PASS_EXACT, nfeatures, sums);
	for (int64_t i = 0, at = 0; i < gr_norder(nfeatures); i++)
		for (int64_t j = 0; j <= i; j++, at++)
		{
			hi[gr_packed(i + 1, j + 1)] = triangle[at];
			hi[nsums + gr_packed(i + 1, j + 1)] = triangle[nentries + at];
		}
	sums[GR_SUM_NROWS] = hi[0] = (double) nrows;
}

/* Copies n float8, at most SEGMENT, from the device to `to` by way of rows->transfer, and waits. */
static bool
fetch(RowsSink *rows, const double *from, double *to, int64_t n, GrError *err)
{
	SESSION_CUDA(rows->session, err,
				 cudaMemcpyAsync(rows->transfer, from, sizeof(double) * (size_t) n, cudaMemcpyDeviceToHost,
								 rows->kernel_stream),
				 "copying the sums from the device");
	SESSION_CUDA(rows->session, err, cudaStreamSynchronize(rows->kernel_stream), "summing rows on the device");
	memcpy(to, rows->transfer, sizeof(double) * (size_t) n);
	return true;
}

/* Sums all chunks into the partials, and polls the host. */
static bool
sum_chunks(RowsSink *rows, const GramPlan *plan, const double *shift, const GrHost *host, GrError *err)
{
	const double row_s = GRAM_LAUNCH_S / (double) plan->max_rows_per_launch;
	double		pending_s = 0.0;

	SESSION_CUDA(rows->session, err, cudaMemsetAsync(rows->work, 0, plan->partials_nbytes, rows->kernel_stream),
				 "clearing the sums");
	for (int c = 0; c < rows->nchunks; c++)
	{
		const RowsChunk *chunk = &rows->chunks[c];

		for (int64_t done = 0; done < chunk->nrows; done += plan->max_rows_per_launch)
		{
			int64_t		n = chunk->nrows - done;

			n = n < plan->max_rows_per_launch ? n : plan->max_rows_per_launch;
			SESSION_CUDA(rows->session, err,
						 gr_gram_launch(plan, (double2 *) rows->work, chunk->rows + done * gr_row_ncols(rows->shape), n,
										rows->kernel_stream, shift),
						 "launching a pass");
			pending_s += (double) n * row_s;
			if (pending_s < POLL_S)
				continue;
			pending_s = 0.0;
			SESSION_CUDA(rows->session, err, cudaStreamSynchronize(rows->kernel_stream), "summing rows on the device");
			if (gr_canceled(host))
				return gr_fail(err, GR_CANCELED, 0, "summing rows on the device");
		}
	}
	return true;
}

/* Fetches the triangle of (1, x, y): hi, then lo. */
static bool
fetch_triangle(RowsSink *rows, const GramPlan *plan, double *triangle, GrError *err)
{
	const int64_t nentries = gr_triangle(gr_norder(rows->shape.nfeatures));

	for (int64_t first = 0; first < nentries; first += SEGMENT)
	{
		int64_t		n = nentries - first < SEGMENT ? nentries - first : SEGMENT;

		SESSION_CUDA(rows->session, err,
					 gr_gram_reduce_launch(plan, (const double2 *) rows->work, first, n,
										   GrDDVector {rows->result, rows->result + SEGMENT}, rows->kernel_stream),
					 "launching the final sums");
		if (!fetch(rows, rows->result, triangle + first, n, err) ||
			!fetch(rows, rows->result + SEGMENT, triangle + nentries + first, n, err))
			return false;
	}
	return true;
}

static int64_t
count_rows(const RowsSink *rows)
{
	int64_t		n = 0;

	for (int c = 0; c < rows->nchunks; c++)
		n += rows->chunks[c].nrows;
	return n;
}

bool
gr_cuda_rows_linear(RowsSink *rows, const GrPass *pass, const double *shift, double *sums, const GrHost *host,
					GrError *err)
{
	const int	nfeatures = rows->shape.nfeatures;
	const int64_t nentries = gr_triangle(gr_norder(nfeatures));
	const bool	shifted = gr_shift_any(rows->transfer + gr_nterms(nfeatures), nfeatures);
	double	   *triangle = (double *) malloc(sizeof(double) * 2 * (size_t) nentries);
	GramPlan	plan;
	bool		ok = false;

	if (triangle == NULL)
		return gr_fail(err, GR_NO_MEMORY, 0, "the sums of a pass");
	/* one row and column less than rows->gram, in no more memory */
	if (gr_gram_plan(&plan, pass->shape, rows->gram.partials_nbytes) != cudaSuccess)
		session_fail(rows->session, err, cudaGetLastError(), 0, "planning the sums");
	else
		ok = sum_chunks(rows, &plan, shifted ? shift : NULL, host, err) && fetch_triangle(rows, &plan, triangle, err);
	if (ok && pass->shape.weight)
		make_weighted_sums(triangle, nfeatures, count_rows(rows), sums);
	else if (ok)
		make_sums(triangle, nfeatures, gr_is_logistic(pass->distribution), sums);
	free(triangle);
	return ok;
}
