/*
 * rows_change.cu: replaces features of a sink's rows on the device by a basis; see basis.h.
 *
 * x'_j = sum of coef_i (1, x)_i, i <= j + 1, in double-double, for the features j that change, from the last one down,
 * in place:
 *
 *    up to NARROW features     a thread owns a row
 *    more features             a warp owns a row; lane l adds features l, l + 32, .., and the lanes' sums are joined
 *                              in a fixed order
 */
#include "sends.cuh"

#include "compute/linalg/basis.h"

#define WARPS 8					/* warps of a thread block */
#define NARROW 64				/* most features whose rows stay in the first-level cache of a thread */
#define LAUNCH_TERMS 4e10		/* terms of sums per launch: about 50 ms on slower devices */

/* Returns the sum of the lanes' double-doubles. */
static __device__ inline GrDD
warp_sum(GrDD sum)
{
	for (int offset = 16; offset > 0; offset /= 2)
	{
		GrDD		other = {__shfl_xor_sync(0xffffffffu, sum.hi, offset),
							 __shfl_xor_sync(0xffffffffu, sum.lo, offset)};

		sum = gr_dd_add(sum, other);
	}
	return sum;
}

/* Changes narrow rows, with the bits of the CPU. */
static __global__ void
change_narrow_kernel(double *rows, int64_t nrows, GrRowShape shape, int nchanged, const int *changed,
					 const double *coef)
{
	int64_t		row = (int64_t) blockIdx.x * blockDim.x + threadIdx.x;
	double	   *x = rows + row * gr_row_ncols(shape);

	if (row >= nrows)
		return;
	for (int k = nchanged - 1; k >= 0; k--)
		x[changed[k]] = gr_basis_feature(coef + (int64_t) k * gr_nterms(shape.nfeatures), x, changed[k]);
}

/* Changes wide rows, a warp per row. */
static __global__ void
change_wide_kernel(double *rows, int64_t nrows, GrRowShape shape, int nchanged, const int *changed, const double *coef)
{
	int			lane = threadIdx.x % 32;
	int64_t		row = (int64_t) blockIdx.x * WARPS + threadIdx.x / 32;
	double	   *x = rows + row * gr_row_ncols(shape);

	if (row >= nrows)
		return;
	for (int k = nchanged - 1; k >= 0; k--)
	{
		const double *c = coef + (int64_t) k * gr_nterms(shape.nfeatures);
		int			last = changed[k];
		double		sum = lane == 0 ? c[0] : 0.0;
		double		rest = 0.0;
		GrDD		total;

		for (int j = lane; j <= last; j += 32)
		{
			GrDD		p = gr_two_prod(c[j + 1], x[j]);
			GrDD		s = gr_two_sum(sum, p.hi);

			sum = s.hi;
			rest += s.lo + p.lo;
		}
		total = warp_sum(gr_two_sum(sum, rest));
		/* all lanes read x before it changes, and see the change */
		__syncwarp();
		if (lane == 0)
			x[last] = total.hi;
		__syncwarp();
	}
}

/* Changes all chunks, in launches of LAUNCH_TERMS terms. Signals stay unblocked, for polling. */
static bool
run_launches(RowsSink *rows, const GrBasis *basis, const char *device, const GrHost *host, GrError *err)
{
	const double *coef = (const double *) device;
	const int  *changed = (const int *) (coef + (size_t) basis->nchanged * (size_t) gr_nterms(rows->shape.nfeatures));
	double		row_terms = (double) basis->nchanged * (rows->shape.nfeatures + 32);
	int64_t		most = (int64_t) (LAUNCH_TERMS / row_terms) + WARPS;

	for (int c = 0; c < rows->nchunks; c++)
	{
		for (int64_t done = 0; done < rows->chunks[c].nrows; done += most)
		{
			int64_t		n = rows->chunks[c].nrows - done < most ? rows->chunks[c].nrows - done : most;
			double	   *first = rows->chunks[c].rows + done * gr_row_ncols(rows->shape);
			bool		narrow = rows->shape.nfeatures <= NARROW;
			int64_t		nrows_per_block = narrow ? 32 * WARPS : WARPS;
			unsigned	nblocks = (unsigned) ((n + nrows_per_block - 1) / nrows_per_block);

			if (narrow)
				change_narrow_kernel<<<nblocks, 32 * WARPS, 0, rows->kernel_stream>>>
					(first, n, rows->shape, basis->nchanged, changed, coef);
			else
				change_wide_kernel<<<nblocks, 32 * WARPS, 0, rows->kernel_stream>>>
					(first, n, rows->shape, basis->nchanged, changed, coef);
			SESSION_CUDA(rows->session, err, cudaGetLastError(), "launching a change of basis");
			SESSION_CUDA(rows->session, err, cudaStreamSynchronize(rows->kernel_stream), "changing rows on the device");
			if (gr_canceled(host))
				return gr_fail(err, GR_CANCELED, 0, "a change of basis");
		}
	}
	return true;
}

/* Copies the basis to the device. The caller gives *device back. */
static bool
send_basis(RowsSink *rows, const GrBasis *basis, char **device, GrError *err)
{
	SignalsBlocked blocked;
	size_t		coef_nbytes = sizeof(double) * (size_t) basis->nchanged * (size_t) gr_nterms(rows->shape.nfeatures);
	size_t		changed_nbytes = sizeof(int) * (size_t) basis->nchanged;
	cudaError_t code = gr_memory_get(rows->session->info.id, (void **) device, coef_nbytes + changed_nbytes);

	if (code != cudaSuccess)
		return session_fail(rows->session, err, code, rows->nbytes + coef_nbytes + changed_nbytes,
							"allocating a basis");
	SESSION_CUDA(rows->session, err,
				 cudaMemcpyAsync(*device, basis->coef, coef_nbytes, cudaMemcpyHostToDevice, rows->kernel_stream),
				 "copying a basis to the device");
	SESSION_CUDA(rows->session, err,
				 cudaMemcpyAsync(*device + coef_nbytes, basis->changed, changed_nbytes, cudaMemcpyHostToDevice,
								 rows->kernel_stream),
				 "copying a basis to the device");
	return true;
}

bool
gr_cuda_rows_change(GrSink *sink, const GrBasis *basis, const GrHost *host, GrError *err)
{
	RowsSink   *rows = static_cast<RowsSink *>(sink);
	char	   *device = NULL;
	bool		ok;

	if (basis->nfeatures != rows->shape.nfeatures)
		return gr_fail(err, GR_INVALID, 0, "a basis of %d features for rows of %d", basis->nfeatures,
					   rows->shape.nfeatures);
	if (rows->nrows == 0 || basis->nchanged == 0)
		return true;
	SESSION_CUDA(rows->session, err, cudaSetDevice(rows->session->info.id), "selecting the device");
	if (!gr_sends_wait(&rows->sends, err))
		return false;
	ok = send_basis(rows, basis, &device, err) && run_launches(rows, basis, device, host, err);
	/* after a failure, work may still be under way */
	(void) cudaStreamSynchronize(rows->kernel_stream);
	gr_memory_give(rows->session->info.id, device);
	return ok;
}
