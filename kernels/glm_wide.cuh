/*
 * glm_wide.cuh: the kernel of GRADIENT for more features than glm_fused.cuh takes, which reads each row once. On
 * request it also writes each row's weight and residual. glm_step.cu launches it.
 *
 * A thread block takes R rows at a time: 8, or 4 above WIDE_FEATURES_8 features. With T = blockDim.x threads:
 *
 *    feature     0   1   2  ..  T - 1  |  T   T + 1  ..   2 T - 1  | ..
 *    thread      0   1   2  ..  T - 1  |  0     1    ..    T - 1   | ..     for all R rows
 *
 *    lane        0 .. 32 / R - 1  |  32 / R .. 2 * 32 / R - 1  | ..
 *    eta         of row 0         |  of row 1                  | ..
 *
 * A thread copies its features into shared memory some steps ahead, holds those of the R rows in registers for both
 * products, and keeps its features' sums. Parts of each eta are transposed while they are summed, so that 32 / R
 * neighbouring lanes have one row's eta in their warp. The warps' parts go through shared memory, and all warps weigh
 * the rows, which is cheaper than waiting for one warp. From its arrival to its sums a row passes many short steps, so
 * many rows must be under way: several thread blocks per multiprocessor. Sums are kept as in glm_fused.cuh.
 *
 * Requires -fmad=false, like dd.h.
 */
#ifndef GPUREG_GLM_WIDE_CUH
#define GPUREG_GLM_WIDE_CUH

#include "glm_fused.cuh"

#define WIDE_NSTAGES 3
#define WIDE_NTHREADS 256		/* most threads of a thread block */
#define WIDE_COLUMNS 8			/* most features of a thread */
#define WIDE_FEATURES_8 512		/* above this, fewer rows at a time leave room for two thread blocks */


/* Shared memory of a warp, besides rows */
typedef struct WideWarp
{
	double2		weights[8];
	double		tails[WIDE_NSTAGES][8][3];	/* a row's response, weight and offset */
	double		etas[2][8];
} WideWarp;

/* The next R rows, and their chunk */
typedef struct WideNext
{
	int64_t		step;
	int			chunk;
} WideNext;

/*
 * A thread's features. The first is threadIdx.x; the last may belong to another thread, with a coefficient of 0 here.
 */
template <int K>
struct WideColumns
{
	double		beta[K];
	double		shift[K];
	int			last;			/* from threadIdx.x to the last feature */
};

/* Starts the copy of the thread's part of the next rows, if there are any, and advances next. */
template <int K, int R, bool ROLES>
static __device__ inline void
wide_copy_next(WideNext &next, const GlmChunks &chunks, int64_t nsteps, GrRowShape shape, int last, double *stage,
			   double (*tails)[3])
{
	const int	lane = threadIdx.x % 32;
	const int	ncols = columns_of<ROLES>(shape);

	if (next.step < nsteps)
	{
		while (next.step >= chunks.end[next.chunk] * (GLM_TILE / R))
			next.chunk++;

		const int64_t before = next.chunk > 0 ? chunks.end[next.chunk - 1] * (GLM_TILE / R) : 0;
		const double *rows = chunks.rows[next.chunk] + (next.step - before) * R * ncols;

#pragma unroll
		for (int k = 0; k < K; k++)
		{
			const double *from = rows + threadIdx.x + (k < K - 1 ? k * (int) blockDim.x : last);

#pragma unroll
			for (int r = 0; r < R; r++)
				copy_async<8>(shared_address(stage + (k * R + r) * blockDim.x), from + r * ncols, true);
		}
		if (lane < R)
		{
			const double *from = rows + (int64_t) lane * ncols + shape.nfeatures;

			copy_async<8>(shared_address(tails[lane]), from, true);
			for (int k = 1; ROLES && k < ncols - shape.nfeatures; k++)
				copy_async<8>(shared_address(&tails[lane][k]), from + k, true);
		}
		next.step += gridDim.x;
	}
	copy_commit();
}

/* Sums v[k] over the lanes of a warp. Eight neighbouring lanes get the sum of one k. */
static __device__ inline double
fold_rows(const double (&v)[4], int lane)
{
	double		two[2];
	double		sum;

#pragma unroll
	for (int k = 0; k < 2; k++)
		two[k] = ((lane & 16) ? v[k + 2] : v[k]) + from_lane_xor((lane & 16) ? v[k] : v[k + 2], 16);
	sum = ((lane & 8) ? two[1] : two[0]) + from_lane_xor((lane & 8) ? two[0] : two[1], 8);
	sum += from_lane_xor(sum, 4);
	sum += from_lane_xor(sum, 2);
	return sum + from_lane_xor(sum, 1);
}

/* Sums v[k] over the lanes of a warp. Four neighbouring lanes get the sum of one k. */
static __device__ inline double
fold_rows(const double (&v)[8], int lane)
{
	double		sum = fold_eight(v, lane);

	sum += from_lane_xor(sum, 2);
	return sum + from_lane_xor(sum, 1);
}

/* Returns the eta of the lane's row, from all threads' parts. buffer alternates, so one barrier suffices. */
template <int R>
static __device__ inline double
wide_join(const double (&parts)[R], WideWarp *warps, int buffer)
{
	const int	lane = threadIdx.x % 32;
	const int	row = lane / (32 / R);
	const int	nwarps = blockDim.x / 32;
	double		eta = fold_rows(parts, lane);

	if (nwarps == 1)
		return eta;
	if (lane % (32 / R) == 0)
		warps[threadIdx.x / 32].etas[buffer][row] = eta;
	__syncthreads();
	eta = warps[0].etas[buffer][row];
	for (int warp = 1; warp < nwarps; warp++)
		eta += warps[warp].etas[buffer][row];
	return eta;
}

/* Adds R rows to the sums over the thread's features. */
template <int K, int R>
static __device__ inline void
wide_column_sums(FusedSums<K> &sums, const double (&z)[R][K], const double2 *weights)
{
	double		gradient[K] = {};

#pragma unroll
	for (int r = 0; r < R; r++)
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

/* Adds a thread block's sums to its record, in GRADIENT's layout. Lanes of one row hold equal sums over rows. */
template <int K, int R>
static __device__ inline void
wide_record(double *record, FusedSums<K> &sums, int nfeatures, double nrows)
{
	const int	nterms = gr_nterms(nfeatures);
	const int	lane = threadIdx.x % 32;
	double	   *gradient = record + GR_SUM_HEAD;

#pragma unroll
	for (int k = 0; k < K; k++)
	{
		const int	term = threadIdx.x + k * blockDim.x + 1;

		if (term <= nfeatures)
		{
			record_add(gradient, term, nterms + term, gr_two_sum(sums.gradient_hi[k], sums.gradient_lo[k]));
			gradient[2 * nterms + term] += sums.first[k];
			gradient[3 * nterms + term] += sums.diagonal[k];
		}
	}
	if (threadIdx.x >= 32)
		return;
	if (lane % (32 / R) > 0)
	{
		nrows = sums.deviance_hi = sums.deviance_lo = sums.residual_hi = sums.residual_lo = sums.weight = sums.nones =
			0.0;
		sums.min_margin = INFINITY;
	}
	fused_row_record<K, false>(record, sums, nterms, warp_sum(nrows), lane);
}

/* Returns the thread's features. */
template <int K>
static __device__ inline WideColumns<K>
wide_columns(const double *__restrict__ betas, const double *__restrict__ shifts, int nfeatures)
{
	WideColumns<K> columns;

	columns.last = min((int) (threadIdx.x + (K - 1) * blockDim.x), nfeatures - 1) - (int) threadIdx.x;
#pragma unroll
	for (int k = 0; k < K; k++)
	{
		const int	column = threadIdx.x + (k < K - 1 ? k * (int) blockDim.x : columns.last);

		columns.beta[k] = threadIdx.x + k * blockDim.x < nfeatures ? betas[column + 1] : 0.0;
		columns.shift[k] = shifts[column];
	}
	return columns;
}

/* Reads z of the thread's features, and computes its part of each eta. */
template <int K, int R>
static __device__ inline void
wide_read(double (&z)[R][K], double (&parts)[R], const double *staged, const WideColumns<K> &columns)
{
#pragma unroll
	for (int r = 0; r < R; r++)
#pragma unroll
		for (int k = 0; k < K; k++)
		{
			z[r][k] = staged[(k * R + r) * blockDim.x] - columns.shift[k];
			parts[r] = k == 0 ? z[r][k] * columns.beta[k] : fma(z[r][k], columns.beta[k], parts[r]);
		}
}

/* Adds the lane's row to the first warp's sums over rows. count: steps before this one. */
template <int K>
static __device__ inline void
wide_row_sums(FusedSums<K> &sums, double &nrows, const Weight &weight, double y, bool exists, int count)
{
	if (threadIdx.x >= 32)
		return;
	fused_row_sums(sums, weight);
	sums.nones += exists ? y : 0.0;
	nrows += exists ? 1.0 : 0.0;
	if (count % FLUSH_NTILES == FLUSH_NTILES - 1)
		fused_flush(sums);
}

/* A GRADIENT pass over all chunks, R rows at a time per thread block. out: weight and residual per row, or NULL. */
template <int K, int R, bool ROLES>
static __global__ void
__launch_bounds__(K == 2 ? 32 : WIDE_NTHREADS, K == 2 ? 15 : R == 4 && K == 4 ? 2 : 1)
wide_kernel(const __grid_constant__ GlmChunks chunks, GrRowShape shape, const double *__restrict__ betas,
			const double *__restrict__ shifts, GrDistribution distribution, double2 *__restrict__ out, double *records)
{
	extern __shared__ double2 shared_pairs[];
	const int	lane = threadIdx.x % 32;
	const int	own_row = lane / (32 / R);
	const int	stage_ndoubles = K * R * blockDim.x;
	const int64_t nsteps = (chunks.nrows + R - 1) / R;
	WideWarp   *warps = (WideWarp *) shared_pairs;
	WideWarp   *own = warps + threadIdx.x / 32;
	double	   *stages = (double *) (warps + blockDim.x / 32) + threadIdx.x;
	const WideColumns<K> columns = wide_columns<K>(betas, shifts, shape.nfeatures);
	FusedSums<K> sums = {};
	WideNext	next = {blockIdx.x, 0};
	double		nrows = 0.0;
	int			stage = 0;
	int			count = 0;

	sums.min_margin = INFINITY;
#pragma unroll 1
	for (int s = 0; s < WIDE_NSTAGES - 1; s++)
		wide_copy_next<K, R, ROLES>(next, chunks, nsteps, shape, columns.last, stages + s * stage_ndoubles,
							 own->tails[s]);
	for (int64_t step = blockIdx.x; step < nsteps; step += gridDim.x, count++)
	{
		const int	free_stage = stage == 0 ? WIDE_NSTAGES - 1 : stage - 1;
		const int64_t row = step * R + own_row;
		const bool	exists = row < chunks.nrows;
		double		z[R][K];
		double		parts[R];

		copy_wait<WIDE_NSTAGES - 2>();
		__syncwarp();			/* responses and weights are read by the whole warp, rows by their own thread */

		const double *response = own->tails[stage][own_row];

		wide_read(z, parts, stages + stage * stage_ndoubles, columns);
		if (R == 8)
			wide_copy_next<K, R, ROLES>(next, chunks, nsteps, shape, columns.last, stages + free_stage * stage_ndoubles,
								 own->tails[free_stage]);

		const double eta = wide_join(parts, warps, count % 2) + betas[0];

		if (R == 4)
			wide_copy_next<K, R, ROLES>(next, chunks, nsteps, shape, columns.last, stages + free_stage * stage_ndoubles,
								 own->tails[free_stage]);

		const Weight weight = fused_weigh<ROLES>(eta, response, shape, distribution, exists);

		if (lane % (32 / R) == 0)
			own->weights[own_row] = make_double2(weight.w, weight.r);
		if (lane % (32 / R) == 0 && out != NULL && threadIdx.x < 32 && exists)
			out[row] = make_double2(weight.w, weight.r);
		__syncwarp();
		wide_row_sums(sums, nrows, weight, response[0], exists, count);
		wide_column_sums(sums, z, own->weights);
		stage = stage == WIDE_NSTAGES - 1 ? 0 : stage + 1;
	}
	fused_flush(sums);
	wide_record<K, R>(records + blockIdx.x * fused_record_ndoubles(gr_nterms(shape.nfeatures), false), sums,
					  shape.nfeatures, nrows);
}

#endif							/* GPUREG_GLM_WIDE_CUH */
