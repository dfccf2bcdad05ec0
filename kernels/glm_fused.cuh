/*
 * glm_fused.cuh: the kernel of FAST and GRADIENT for few features, which reads each row once. glm_step.cu launches it.
 *
 * A warp takes tiles of 32 rows, copied into its own ring of shared memory while it works on earlier tiles. Lane 4 g +
 * t holds columns g + 8 j of eight rows, whose numbers depend on t. This is the layout of A and of B in mma.sync for
 * float8:
 *
 *                         column   0      1    ..   7   |   8      9   ..
 *    8 rows of t = 0      lane     0      4    ..  28   |   0      4   ..
 *    8 rows of t = 1      lane     1      5    ..  29   |   1      5   ..
 *    8 rows of t = 2      lane     2      6    ..  30   |   2      6   ..
 *    8 rows of t = 3      lane     3      7    ..  31   |   3      7   ..
 *
 * Partial etas of the lanes of one t are transposed while they are summed, so that each lane gets the eta of one of the
 * 32 rows and computes its exponential; weights and residuals return through shared memory. The Hessian of the features
 * is kept as tiles of 16 x 8, on and below the diagonal; the intercept's row and the gradient are kept by columns. The
 * eight products of a gradient in a tile are summed plainly, as their rounding is that of r, and join hi + lo by
 * TwoSum. The deviance is the logarithm of a product of (1 + exp(-|eta|)). The product minus one is stored, so that
 * small values keep all digits. HESSIAN: sums as FAST needs them; else as GRADIENT does.
 *
 * Requires -fmad=false, like dd.h.
 */
#ifndef GPUREG_GLM_FUSED_CUH
#define GPUREG_GLM_FUSED_CUH

#include "glm_device.cuh"

#define FUSED_NSTAGES 3			/* tiles of a warp in shared memory */
#define FLUSH_NTILES 8			/* tiles after which the product of (1 + t) is still below 2^8 */

template <int NG>
struct FusedSums
{
	double		hessian[(NG + 1) / 2][NG][4];
	double		diagonal[NG];	/* GRADIENT only */
	double		first[NG];
	double		gradient_hi[NG];
	double		gradient_lo[NG];
	double		residual_hi;	/* the intercept's gradient */
	double		residual_lo;
	double		weight;
	double		product;		/* product of (1 + t) since the last flush, minus one */
	double		miss;
	double		deviance_hi;	/* half of the deviance */
	double		deviance_lo;
	double		min_margin;
	double		nones;			/* GRADIENT only */
};

/* Positions that a lane reads in a tile */
typedef struct FusedLane
{
	int			first;
	int			last;
	int			response;		/* response of the row whose exponential the lane computes */
	int			row;			/* number of that row */
	double		exists;			/* 1; or 0 if the column of the last group is beyond the features */
} FusedLane;

/* Returns where a lane reads in a tile. */
template <bool ROLES>
static __device__ inline FusedLane
fused_lane(const GlmFusedShape &shape, int lane, int ngroups)
{
	const int	ncols = columns_of<ROLES>(shape.rows);
	const int	nfeatures = shape.rows.nfeatures;
	const int	g = lane / 4;
	const int	column = g + 8 * (ngroups - 1);
	FusedLane	at;

	at.first = lane % 4 * shape.row_step[3] * ncols + g;
	at.last = at.first - g + min(column, nfeatures - 1);
	at.row = lane % 4 * shape.row_step[3] + (g & 1) * shape.row_step[0] + (g >> 1 & 1) * shape.row_step[1] +
		(g >> 2) * shape.row_step[2];
	at.response = at.row * ncols + gr_response_at(shape.rows);
	at.exists = column < nfeatures ? 1.0 : 0.0;
	return at;
}

/* Starts the copy of a lane's share of a tile: 16 bytes at stage, and every 512 bytes from there on. */
template <int NG, bool ROLES>
static __device__ inline void
fused_copy(unsigned stage, const double *tile, int npairs, int lane)
{
	const int	nwhole = 4 * NG - 3;	/* rounds in which all lanes copy, as there are more than 8 (NG - 1) features */

#pragma unroll
	for (int u = 0; u <= 4 * NG; u++)
		copy_async<16>(stage + 512 * u, tile + 64 * u, u < nwhole || lane + 32 * u < npairs);
	/* weights and offsets may need one more round */
	if (ROLES && npairs > 32 * (4 * NG + 1))
		copy_async<16>(stage + 512 * (4 * NG + 1), tile + 64 * (4 * NG + 1), lane + 32 * (4 * NG + 1) < npairs);
}

/*
 * Reads z of the lane's eight rows, and computes its part of each eta. A column beyond the features reads another
 * column, and becomes 0.
 */
template <int NG, bool ROLES>
static __device__ inline void
fused_read(double (&z)[8][NG], double (&eta)[8], const double *stage, const GlmFusedShape &shape, const FusedLane &at,
		   const double (&beta)[NG], const double (&shift)[NG])
{
	const int	ncols = columns_of<ROLES>(shape.rows);

#pragma unroll
	for (int k = 0; k < 8; k++)
	{
		int			row = (k & 1) * shape.row_step[0] + (k >> 1 & 1) * shape.row_step[1] + (k >> 2) * shape.row_step[2];
		int			skip = row * ncols;

#pragma unroll
		for (int j = 0; j < NG - 1; j++)
			z[k][j] = stage[skip + at.first + 8 * j] - shift[j];
		z[k][NG - 1] = fma(stage[skip + at.last], at.exists, -shift[NG - 1]);
		eta[k] = z[k][0] * beta[0];
#pragma unroll
		for (int j = 1; j < NG; j++)
			eta[k] = fma(z[k][j], beta[j], eta[k]);
	}
}

/* Adds the lane's own row to the sums over rows. */
template <int NG>
static __device__ inline void
fused_row_sums(FusedSums<NG> &sums, const Weight &row)
{
	sums.weight += row.w;
	add_compensated(sums.residual_hi, sums.residual_lo, row.r);
	sums.product = fma(sums.product, row.t, sums.product + row.t);
	sums.miss += row.miss;
	if (row.margin < sums.min_margin)
		sums.min_margin = row.margin;
}

/* Adds the logarithm of the product so far to the deviance. */
template <int NG>
static __device__ inline void
fused_flush(FusedSums<NG> &sums)
{
	add_compensated(sums.deviance_hi, sums.deviance_lo, log1p(sums.product) + sums.miss);
	sums.product = 0.0;
	sums.miss = 0.0;
}

/* Adds the lane's eight rows to the sums over columns. weights[4 k]: weight and residual of row k of this t. */
template <int NG, bool HESSIAN>
static __device__ inline void
fused_column_sums(FusedSums<NG> &sums, const double (&z)[8][NG], const double2 *weights)
{
	double		gradient[NG] = {};

#pragma unroll
	for (int half = 0; half < 8; half += 4)
	{
		double		weighted[2 * ((NG + 1) / 2)][4] = {};

#pragma unroll
		for (int q = 0; q < 4; q++)
		{
			double2		row = weights[4 * (half + q)];

#pragma unroll
			for (int j = 0; j < NG; j++)
			{
				weighted[j][q] = row.x * z[half + q][j];
				sums.first[j] += weighted[j][q];
				gradient[j] = fma(row.y, z[half + q][j], gradient[j]);
				if (!HESSIAN)
					sums.diagonal[j] = fma(weighted[j][q], z[half + q][j], sums.diagonal[j]);
			}
		}
#pragma unroll
		for (int i = 0; i < (HESSIAN ? (NG + 1) / 2 : 0); i++)
#pragma unroll
			for (int j = 0; j < NG; j++)
				if (j <= 2 * i + 1)
				{
					double		a[8];
					double		b[4];

#pragma unroll
					for (int q = 0; q < 4; q++)
					{
						a[2 * q] = weighted[2 * i][q];
						a[2 * q + 1] = weighted[2 * i + 1][q];
						b[q] = z[half + q][j];
					}
					multiply_tile(sums.hessian[i][j], a, b);
				}
	}
#pragma unroll
	for (int j = 0; j < NG; j++)
		add_compensated(sums.gradient_hi[j], sums.gradient_lo[j], gradient[j]);
}

/*
 * Adds a warp's sums over nrows rows to a record: the head, the intercept's gradient, and the intercept's entry of the
 * Hessian or, without it, of the first row and of the diagonal.
 */
template <int NG, bool HESSIAN>
static __device__ inline void
fused_row_record(double *record, const FusedSums<NG> &sums, int nterms, double nrows, int lane)
{
	double	   *gradient = record + GR_SUM_HEAD;
	GrDD		deviance = warp_sum(gr_two_sum(sums.deviance_hi, sums.deviance_lo));
	GrDD		residual = warp_sum(gr_two_sum(sums.residual_hi, sums.residual_lo));
	double		weight = warp_sum(sums.weight);
	double		nones = HESSIAN ? 0.0 : warp_sum(sums.nones);
	double		min_margin = warp_min(sums.min_margin);

	if (lane > 0 || nrows == 0.0)
		return;
	if (record[GR_SUM_NROWS] == 0.0 || min_margin < record[GR_SUM_MIN_MARGIN])
		record[GR_SUM_MIN_MARGIN] = min_margin;
	record[GR_SUM_NROWS] += nrows;
	record[GR_SUM_NONES] += nones;
	record_add(record, GR_SUM_DEVIANCE_HI, GR_SUM_DEVIANCE_LO, gr_dd_scale(deviance, 2.0));
	record_add(gradient, 0, nterms, residual);
	gradient[2 * nterms] += weight;
	if (!HESSIAN)
		gradient[3 * nterms] += weight;
}

/* Returns the float8 of a record, whose layout is that of the pass's sums. */
static __host__ __device__ inline int64_t
fused_record_ndoubles(int nterms, bool hessian)
{
	return GR_SUM_HEAD + (hessian ? 2 * nterms + packed(nterms, 0) : 4 * nterms);
}

/* Adds a warp's sums over nrows rows to its record. */
template <int NG, bool HESSIAN>
static __device__ inline void
fused_record(double *records, const FusedSums<NG> &sums, int nfeatures, int warp, double nrows, int lane)
{
	const int	g = lane / 4;
	const int	t = lane % 4;
	const int	nterms = gr_nterms(nfeatures);
	double	   *record = records + warp * fused_record_ndoubles(nterms, HESSIAN);
	double	   *gradient = record + GR_SUM_HEAD;
	double	   *hessian = gradient + 2 * nterms;

	fused_row_record<NG, HESSIAN>(record, sums, nterms, nrows, lane);
#pragma unroll
	for (int j = 0; j < NG; j++)
	{
		GrDD		column = gr_two_sum(sums.gradient_hi[j], sums.gradient_lo[j]);
		double		first = sums.first[j];
		double		diagonal = HESSIAN ? 0.0 : sums.diagonal[j];

		for (int mask = 2; mask > 0; mask /= 2)
		{
			column = join(column, from_lane_xor(column, mask));
			first += from_lane_xor(first, mask);
			if (!HESSIAN)
				diagonal += from_lane_xor(diagonal, mask);
		}
		if (t == 0 && g + 8 * j < nfeatures)
		{
			record_add(gradient, g + 8 * j + 1, nterms + g + 8 * j + 1, column);
			hessian[HESSIAN ? packed(g + 8 * j + 1, 0) : g + 8 * j + 1] += first;
			if (!HESSIAN)
				hessian[nterms + g + 8 * j + 1] += diagonal;
		}
#pragma unroll
		for (int i = 0; i < (HESSIAN ? (NG + 1) / 2 : 0); i++)
#pragma unroll
			for (int e = 0; e < 4; e++)
			{
				int			row = 16 * i + 8 * (e / 2) + g;
				int			col = 8 * j + 2 * t + e % 2;

				if (j <= 2 * i + 1 && col <= row && row < nfeatures)
					hessian[packed(row + 1, col + 1)] += sums.hessian[i][j][e];
			}
	}
}

/* The tile that a warp copies next, and its chunk */
typedef struct FusedNext
{
	int64_t		tile;
	int			chunk;
} FusedNext;

/* Starts the copy of the next tile, if there is one, and advances next. stage: where the lane's share begins. */
template <int NG, bool ROLES>
static __device__ inline void
fused_copy_next(FusedNext &next, const GlmChunks &chunks, int64_t ntiles, int nwarps, int tile_ndoubles, double *stage,
				int lane)
{
	if (next.tile < ntiles)
	{
		while (next.tile >= chunks.end[next.chunk])
			next.chunk++;

		const int64_t before = next.chunk > 0 ? chunks.end[next.chunk - 1] : 0;
		const double *tile = chunks.rows[next.chunk] + (next.tile - before) * tile_ndoubles;

		fused_copy<NG, ROLES>(shared_address(stage), tile + 2 * lane, tile_ndoubles / 2, lane);
		next.tile += nwarps;
	}
	copy_commit();
}

/* Returns the weight of the lane's own row of a tile, or zeros if the row does not exist. */
template <bool ROLES>
static __device__ inline Weight
fused_weigh(double eta, const double *response, GrRowShape shape, GrDistribution distribution, bool exists)
{
	Weight		row = weigh_row<ROLES>(eta, response, shape, distribution);

	if (!exists)
	{
		row.w = row.r = row.t = row.miss = 0.0;
		row.margin = INFINITY;
	}
	return row;
}

/* Threads of a thread block for which registers suffice */
#define FUSED_NTHREADS(NG) ((NG) >= 3 ? 256 : 512)

/* FAST or GRADIENT over all chunks. A warp takes every nwarps-th tile. */
template <int NG, bool HESSIAN, bool ROLES>
static __global__ void
__launch_bounds__(FUSED_NTHREADS(NG), 1)
fused_kernel(const __grid_constant__ GlmChunks chunks, GlmFusedShape shape, const double *__restrict__ betas,
			 const double *__restrict__ shifts, GrDistribution distribution, double *records)
{
	extern __shared__ double2 shared_pairs[];
	const int	lane = threadIdx.x % 32;
	const int	nwarps = gridDim.x * (blockDim.x / 32);
	const int	warp = threadIdx.x / 32 * gridDim.x + blockIdx.x;
	double	   *stages = (double *) shared_pairs + threadIdx.x / 32 * shape.warp_ndoubles;
	double2    *weights = (double2 *) (stages + FUSED_NSTAGES * shape.tile_ndoubles);
	const FusedLane at = fused_lane<ROLES>(shape, lane, NG);
	const int64_t ntiles = chunks.end[chunks.n - 1];
	const double intercept = betas[0];
	FusedSums<NG> sums = {};
	FusedNext	next = {warp, 0};
	double		beta[NG];
	double		shift[NG];
	int			stage = 0;
	int			count = 0;		/* tiles done */

#pragma unroll
	for (int j = 0; j < NG; j++)
	{
		beta[j] = lane / 4 + 8 * j < shape.rows.nfeatures ? betas[lane / 4 + 8 * j + 1] : 0.0;
		shift[j] = lane / 4 + 8 * j < shape.rows.nfeatures ? shifts[lane / 4 + 8 * j] : 0.0;
	}
	sums.min_margin = INFINITY;
#pragma unroll
	for (int s = 0; s < FUSED_NSTAGES - 1; s++)
		fused_copy_next<NG, ROLES>(next, chunks, ntiles, nwarps, shape.tile_ndoubles, stages + s * shape.tile_ndoubles +
							2 * lane,
							lane);
	for (int64_t tile = warp; tile < ntiles; tile += nwarps)
	{
		double		z[8][NG];
		double		eta[8];
		const double *staged = stages + stage * shape.tile_ndoubles;
		const int	free_stage = stage == 0 ? FUSED_NSTAGES - 1 : stage - 1;

		copy_wait<FUSED_NSTAGES - 2>();
		__syncwarp();			/* the tile has arrived for all lanes, and all have read the one before */
		fused_copy_next<NG, ROLES>(next, chunks, ntiles, nwarps, shape.tile_ndoubles,
							stages + free_stage * shape.tile_ndoubles + 2 * lane, lane);
		fused_read<NG, ROLES>(z, eta, staged, shape, at, beta, shift);

		const Weight row = fused_weigh<ROLES>(fold_eight(eta, lane) + intercept, staged + at.response, shape.rows,
									   distribution, tile * GLM_TILE + at.row < chunks.nrows);

		weights[lane] = make_double2(row.w, row.r);
		__syncwarp();
		fused_row_sums(sums, row);
		if (!HESSIAN)
			sums.nones += tile * GLM_TILE + at.row < chunks.nrows ? staged[at.response] : 0.0;
		fused_column_sums<NG, HESSIAN>(sums, z, weights + lane % 4);
		if (++count % FLUSH_NTILES == 0)
			fused_flush(sums);
		stage = stage == FUSED_NSTAGES - 1 ? 0 : stage + 1;
	}
	fused_flush(sums);
	fused_record<NG, HESSIAN>(records, sums, shape.rows.nfeatures, warp,
							  (double) (count * (int64_t) GLM_TILE -
										((ntiles - 1) % nwarps == warp ? ntiles * GLM_TILE - chunks.nrows : 0)), lane);
}

#endif							/* GPUREG_GLM_FUSED_CUH */
