/*
 * glm_wide.cuh: the sums of GRADIENT for more features than glm_fused.cuh takes, and on request each row's weight and residual; it
 * reads each row once.
 *
 * A thread block takes eight rows at a time. A thread has every blockDim.x-th feature: it copies its own into shared memory
 * some steps ahead, holds those of the eight rows in registers for both products, and keeps its features' sums. The parts of
 * each eta are summed while they are transposed, so that lane (g = lane / 4, t = lane % 4) ends up with row g's of its warp; the
 * warps' parts go through shared memory, and all warps weigh the rows, which costs less than to wait for one that does. Sums
 * as in glm_fused.cuh.
 *
 * Needs -fmad=false, as dd.h does.
 */
#ifndef GPUREG_GLM_WIDE_CUH
#define GPUREG_GLM_WIDE_CUH

#include "glm_fused.cuh"

#define WIDE_NROWS 8
#define WIDE_NSTAGES_MAX 4
#define WIDE_NTHREADS 256		/* of a thread block, at most */
#define WIDE_COLUMNS 6			/* features of a thread, at most */

/* What a warp has in shared memory besides rows */
typedef struct WideWarp
{
	double2		weights[WIDE_NROWS];
	double		responses[WIDE_NSTAGES_MAX][WIDE_NROWS];
	double		etas[2][WIDE_NROWS];
} WideWarp;

/* Eight rows, and the chunk they lie in */
typedef struct WideNext
{
	int64_t		step;
	int			chunk;
} WideNext;

/* A thread's features: the first is threadIdx.x, the last may be another's, whose coefficient is then 0 here. */
template <int K>
struct WideColumns
{
	double		beta[K];
	double		shift[K];
	int			last;			/* from threadIdx.x to the last one */
};

/* Starts the copy of the thread's part of the next eight rows, if there are any, and goes on. */
template <int K>
static __device__ inline void
wide_copy_next(WideNext &next, const GlmChunks &chunks, int64_t nsteps, int nfeatures, int last, double *stage,
			   double *responses)
{
	const int	lane = threadIdx.x % 32;

	if (next.step < nsteps)
	{
		while (next.step >= chunks.end[next.chunk] * (GLM_TILE / WIDE_NROWS))
			next.chunk++;

		const int64_t before = next.chunk > 0 ? chunks.end[next.chunk - 1] * (GLM_TILE / WIDE_NROWS) : 0;
		const double *rows = chunks.rows[next.chunk] + (next.step - before) * WIDE_NROWS * (nfeatures + 1);

#pragma unroll
		for (int k = 0; k < K; k++)
		{
			const double *from = rows + threadIdx.x + (k < K - 1 ? k * (int) blockDim.x : last);

#pragma unroll
			for (int r = 0; r < WIDE_NROWS; r++)
				copy_async<8>(shared_address(stage + (k * WIDE_NROWS + r) * blockDim.x), from + r * (nfeatures + 1), true);
		}
		if (lane < WIDE_NROWS)
			copy_async<8>(shared_address(responses + lane), rows + (int64_t) lane * (nfeatures + 1) + nfeatures, true);
		next.step += gridDim.x;
	}
	copy_commit();
}

/* Row g's eta, of the parts that all threads of the block have. buffer: alternates, so that one barrier suffices. */
static __device__ inline double
wide_join(const double (&parts)[WIDE_NROWS], WideWarp *warps, int buffer)
{
	const int	lane = threadIdx.x % 32;
	const int	nwarps = blockDim.x / 32;
	double		eta = fold_eight(parts, lane);

	eta += from_lane_xor(eta, 2);
	eta += from_lane_xor(eta, 1);
	if (nwarps == 1)
		return eta;
	if (lane % 4 == 0)
		warps[threadIdx.x / 32].etas[buffer][lane / 4] = eta;
	__syncthreads();
	eta = warps[0].etas[buffer][lane / 4];
	for (int warp = 1; warp < nwarps; warp++)
		eta += warps[warp].etas[buffer][lane / 4];
	return eta;
}

template <int K>
static __device__ inline void
wide_column_sums(FusedSums<K> &sums, const double (&z)[WIDE_NROWS][K], const double2 *weights)
{
	double		gradient[K] = {};

#pragma unroll
	for (int r = 0; r < WIDE_NROWS; r++)
	{
		const double2 row = weights[r];

#pragma unroll
		for (int k = 0; k < K; k++)
		{
			const double weighted = row.x * z[r][k];

			sums.first[k] += weighted;
			sums.diagonal[k] = fma(weighted, z[r][k], sums.diagonal[k]);
			gradient[k] = fma(row.y, z[r][k], gradient[k]);
		}
	}
#pragma unroll
	for (int k = 0; k < K; k++)
		add_compensated(sums.gradient_hi[k], sums.gradient_lo[k], gradient[k]);
}

/* Adds a thread block's sums to its record, whose layout is GRADIENT's. nrows: of the lane, which lanes of one row share. */
template <int K>
static __device__ inline void
wide_record(double *record, FusedSums<K> &sums, int nfeatures, double nrows)
{
	const int	lane = threadIdx.x % 32;
	double	   *gradient = record + GR_SUM_HEAD;

#pragma unroll
	for (int k = 0; k < K; k++)
	{
		const int	term = threadIdx.x + k * blockDim.x + 1;

		if (term <= nfeatures)
		{
			record_add(gradient, term, nfeatures + 1 + term, gr_two_sum(sums.gradient_hi[k], sums.gradient_lo[k]));
			gradient[2 * (nfeatures + 1) + term] += sums.first[k];
			gradient[3 * (nfeatures + 1) + term] += sums.diagonal[k];
		}
	}
	if (threadIdx.x >= 32)
		return;
	if (lane % 4 > 0)
	{
		nrows = sums.deviance_hi = sums.deviance_lo = sums.residual_hi = sums.residual_lo = sums.weight = sums.nones = 0.0;
		sums.min_margin = INFINITY;
	}
	fused_row_record<K, false>(record, sums, nfeatures + 1, warp_sum(nrows), lane);
}

template <int K>
static __global__ void
__launch_bounds__(WIDE_NTHREADS, 1)
wide_kernel(const __grid_constant__ GlmChunks chunks, GlmWideShape shape, const double *__restrict__ betas,
			const double *__restrict__ shifts, double2 *__restrict__ out, double *records)
{
	extern __shared__ double2 shared_pairs[];
	const int	lane = threadIdx.x % 32;
	const int	nfeatures = shape.nfeatures;
	const int	stage_ndoubles = K * WIDE_NROWS * blockDim.x;
	const int64_t nsteps = (chunks.nrows + WIDE_NROWS - 1) / WIDE_NROWS;
	WideWarp   *warps = (WideWarp *) shared_pairs;
	WideWarp   *own = warps + threadIdx.x / 32;
	double	   *stages = (double *) (warps + blockDim.x / 32) + threadIdx.x;
	FusedSums<K> sums = {};
	WideColumns<K> columns;
	WideNext	next = {blockIdx.x, 0};
	double		nrows = 0.0;
	int			stage = 0;
	int			count = 0;

	columns.last = min((int) (threadIdx.x + (K - 1) * blockDim.x), nfeatures - 1) - (int) threadIdx.x;
#pragma unroll
	for (int k = 0; k < K; k++)
	{
		const int	column = threadIdx.x + (k < K - 1 ? k * (int) blockDim.x : columns.last);

		columns.beta[k] = threadIdx.x + k * blockDim.x < nfeatures ? betas[column + 1] : 0.0;
		columns.shift[k] = shifts[column];
	}
	sums.min_margin = INFINITY;
	for (int s = 0; s < shape.nstages - 1; s++)
		wide_copy_next<K>(next, chunks, nsteps, nfeatures, columns.last, stages + s * stage_ndoubles, own->responses[s]);
	for (int64_t step = blockIdx.x; step < nsteps; step += gridDim.x)
	{
		const double *staged = stages + stage * stage_ndoubles;
		const int	free_stage = stage == 0 ? shape.nstages - 1 : stage - 1;
		const int64_t row = step * WIDE_NROWS + lane / 4;
		const bool	exists = row < chunks.nrows;
		double		z[WIDE_NROWS][K];
		double		parts[WIDE_NROWS];

		copy_wait_for(shape.nstages - 2);
		__syncwarp();			/* responses and weights are the warp's, rows the thread's own */

		const double y = own->responses[stage][lane / 4];

#pragma unroll
		for (int r = 0; r < WIDE_NROWS; r++)
#pragma unroll
			for (int k = 0; k < K; k++)
			{
				z[r][k] = staged[(k * WIDE_NROWS + r) * blockDim.x] - columns.shift[k];
				parts[r] = k == 0 ? z[r][k] * columns.beta[k] : fma(z[r][k], columns.beta[k], parts[r]);
			}
		wide_copy_next<K>(next, chunks, nsteps, nfeatures, columns.last, stages + free_stage * stage_ndoubles,
						  own->responses[free_stage]);

		const Weight weight = fused_weigh(wide_join(parts, warps, count % 2) + betas[0], y, exists);

		if (lane % 4 == 0)
		{
			own->weights[lane / 4] = make_double2(weight.w, weight.r);
			if (out != NULL && threadIdx.x < 32 && exists)
				out[row] = make_double2(weight.w, weight.r);
		}
		__syncwarp();
		if (threadIdx.x < 32)
		{
			fused_row_sums(sums, weight);
			sums.nones += exists ? y : 0.0;
			nrows += exists ? 1.0 : 0.0;
			if (count % FLUSH_NTILES == FLUSH_NTILES - 1)
				fused_flush(sums);
		}
		wide_column_sums<K>(sums, z, own->weights);
		count++;
		stage = stage == shape.nstages - 1 ? 0 : stage + 1;
	}
	fused_flush(sums);
	wide_record<K>(records + blockIdx.x * fused_record_ndoubles(nfeatures + 1, false), sums, nfeatures, nrows);
}

#endif							/* GPUREG_GLM_WIDE_CUH */
