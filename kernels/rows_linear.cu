/*
 * rows_linear.cu: the pass that a linear regression begins with, and mostly ends with, over rows on the device.
 *
 * EXACT's sums are the Gram matrix of (1, u, u z, v). Where a linear model has neither weights nor offsets, u is 1 and
 * v is y, so they are those of (1, z, y) with the row of ones twice: the rows needn't be brought into that form, but are
 * summed as they lie.
 */
#include "sends.cuh"

#include "compute/gram_shift.h"

#include <stdlib.h>
#include <string.h>

#define POLL_S 0.04				/* work between two looks at the host, at the device's peak */
#define GRAM_LAUNCH_S 0.03		/* what gram.cu reckons its longest launch to take */
#define SEGMENT 32768			/* entries brought back at a time: hi and lo are all of RowsSink's result */

bool
gr_cuda_rows_are_linear(const RowsSink *rows, const GrPass *pass)
{
	return pass->kind == GR_PASS_EXACT && pass->linear && pass->distribution.family == GR_GAUSSIAN &&
		pass->distribution.link == GR_IDENTITY && pass->measure == GR_MEASURE_STEP && pass->nfaces == 0 &&
		!rows->shape.weight && !rows->shape.offset && !rows->shape.key;
}

/* (1, x, y)'s entry, or its place, of one of (1, 1, x, y)'s */
static int64_t
single_row(int64_t i)
{
	return i > 0 ? i - 1 : 0;
}

/* sums: the triangle of (1, 1, x, y), of that of (1, x, y); both packed */
static void
repeat_ones(const double *from, int nfeatures, double *sums)
{
	for (int64_t i = 0, at = 0; i <= gr_norder(nfeatures); i++)
		for (int64_t j = 0; j <= i; j++, at++)
			sums[at] = from[gr_triangle(single_row(i)) + single_row(j)];
}

/* n float8 from the device, which are waited for */
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

/* The triangle of (1, x, y): hi, then lo */
static bool
fetch_triangle(RowsSink *rows, const GramPlan *plan, double *triangle, GrError *err)
{
	const int64_t nentries = gr_triangle(gr_norder(rows->shape.nfeatures));

	for (int64_t first = 0; first < nentries; first += SEGMENT)
	{
		int64_t		n = nentries - first < SEGMENT ? nentries - first : SEGMENT;

		SESSION_CUDA(rows->session, err,
					 gr_gram_reduce_launch(plan, (const double2 *) rows->work, first, n, rows->result,
										   rows->result + SEGMENT, rows->kernel_stream),
					 "launching the final sums");
		if (!fetch(rows, rows->result, triangle + first, n, err) ||
			!fetch(rows, rows->result + SEGMENT, triangle + nentries + first, n, err))
			return false;
	}
	return true;
}

bool
gr_cuda_rows_linear(RowsSink *rows, const double *shift, double *sums, const GrHost *host, GrError *err)
{
	const int	nfeatures = rows->shape.nfeatures;
	const bool	shifted = gr_shift_any(rows->transfer + gr_nterms(nfeatures), nfeatures);
	const int64_t nentries = gr_triangle(gr_norder(nfeatures));
	const int64_t nsums = gr_triangle((int64_t) gr_norder(nfeatures) + 1);
	double	   *triangle = (double *) malloc(sizeof(double) * 2 * (size_t) nentries);
	GramPlan	plan;
	bool		ok = false;

	if (triangle == NULL)
		return gr_fail(err, GR_NO_MEMORY, 0, "the sums of a pass");
	/* a row and a column less than rows->gram has, in no more memory */
	if (gr_gram_plan(&plan, gr_plain_shape(nfeatures), rows->gram.partials_nbytes) != cudaSuccess)
		session_fail(rows->session, err, cudaGetLastError(), 0, "planning the sums");
	else
		ok = sum_chunks(rows, &plan, shifted ? shift : NULL, host, err) && fetch_triangle(rows, &plan, triangle, err);
	if (ok)
	{
		gr_pass_clear(GR_PASS_EXACT, nfeatures, sums);
		repeat_ones(triangle, nfeatures, sums + GR_SUM_HEAD);
		repeat_ones(triangle + nentries, nfeatures, sums + GR_SUM_HEAD + nsums);
		sums[GR_SUM_NROWS] = (double) rows->nrows;
		sums[GR_SUM_NONES] = triangle[gr_triangle(gr_nterms(nfeatures))];
		sums[GR_SUM_MIN_MARGIN] = 0.0;
	}
	free(triangle);
	return ok;
}
