/*
 * weighted_gram_device.cuh: the kernels of weighted_gram.cu for up to 64 columns, and device functions of all of them.
 *
 * All kernels multiply 8 rows at a time by mma.sync. For A'B of two groups of columns, lane 4 g + t holds rows t and t
 * + 4 of A and of B, and columns that depend on g. If A and B are equal, one register serves as both. PLAIN: no weights
 * and no shift. Otherwise A is w (x - shift) and B is x - shift, with w = 1 or shift = 0 if one of them is missing.
 *
 *    register_kernel   a warp owns the triangle of up to 32 columns, in squares of 16 x 8; lane 4 g + t holds column
 *                      g + 8 j of group j, and reads rows when they are needed
 *    ring_kernel       a warp owns the triangle of up to 64 columns, in blocks of 16 x 16, and copies rows ahead into
 *                      its own ring; lane 4 g + t holds columns 2 g and 2 g + 1 of each group of 16, to read pairs
 *    tile_kernel       see weighted_gram_tile.cuh
 *
 *    squares of register_kernel       blocks of ring_kernel
 *    (8 columns each)                 (16 columns each)
 *    0 1                              0
 *    2 3 4 5                          1 2
 *                                     3 4 5
 *
 * Copies are of 16 bytes. A row that begins in the middle of 16 bytes lies one float8 further on in shared memory;
 * which rows do depends on t alone. WIDE: no row does, so pairs can be read at once.
 *
 * Entries beyond the columns are never used, and may be anything. Rows beyond the last are zeros with a weight of 0.
 */
#ifndef GPUREG_WEIGHTED_GRAM_DEVICE_CUH
#define GPUREG_WEIGHTED_GRAM_DEVICE_CUH

#include "weighted_gram.cuh"

#include "glm_device.cuh"

#define RING_NROWS 8
#define RING_NSTAGES 6

static __device__ const double gram_one = 1.0;

/* Arguments of a launch */
typedef struct GramJob
{
	WeightedGramRows from;
	int			p;
	int			ntiles;
	int			nstages;
	int			nsplits[2];		/* splits of this launch */
	int			nslots[2];		/* splits of the plan */
	int64_t		record_ndoubles[2];
} GramJob;

/* Returns 1 if rows of this t begin in the middle of 16 bytes, else 0. */
static __device__ inline int
row_parity(const WeightedGramRows &from, int64_t t)
{
	return (int) ((uintptr_t) from.rows / sizeof(double) + t * from.ld) & 1;
}

template <bool WIDE>
static __device__ inline double2
read_pair(const double *from)
{
	return WIDE ? *(const double2 *) from : make_double2(from[0], from[1]);
}

/*
 * Adds 8 rows, staged ld apart, to a warp's blocks of a triangle. from: the lane's first pair; weights: of these rows;
 * shift: of these columns. All are in shared memory; weights and shift are not read if PLAIN.
 */
template <int NB, bool PLAIN, bool WIDE>
static __device__ inline void
multiply_blocks(double (&sums)[NB * (NB + 1) / 2][2][4], const double *from, int ld, const double *weights,
				const double *shift, int lane)
{
	double2		x[NB][2];
	double		w[2] = {1.0, 1.0};

#pragma unroll
	for (int c = 0; c < NB; c++)
#pragma unroll
		for (int q = 0; q < 2; q++)
			x[c][q] = read_pair<WIDE>(from + 4 * q * ld + 16 * c);
	if (!PLAIN)
	{
		w[0] = weights[lane % 4];
		w[1] = weights[lane % 4 + 4];
#pragma unroll
		for (int c = 0; c < NB; c++)
		{
			double2		center = *(const double2 *) (shift + lane / 4 * 2 + 16 * c);

#pragma unroll
			for (int q = 0; q < 2; q++)
				x[c][q] = make_double2(x[c][q].x - center.x, x[c][q].y - center.y);
		}
	}
#pragma unroll
	for (int i = 0; i < NB; i++)
	{
		double		a[4] = {x[i][0].x, x[i][0].y, x[i][1].x, x[i][1].y};

		if (!PLAIN)
#pragma unroll
			for (int e = 0; e < 4; e++)
				a[e] *= w[e / 2];
#pragma unroll
		for (int j = 0; j <= i; j++)
		{
			const double even[2] = {x[j][0].x, x[j][1].x};
			const double odd[2] = {x[j][0].y, x[j][1].y};

			multiply_tile<2>(sums[i * (i + 1) / 2 + j][0], a, even);
			multiply_tile<2>(sums[i * (i + 1) / 2 + j][1], a, odd);
		}
	}
}

/*
 * Adds the sums of all warps of the thread block, N per thread, in the warps' order to a record. shared: 32 N float8.
 */
template <int N>
static __device__ inline void
add_warps(const double *sums, double *shared, double *record)
{
	const int	lane = threadIdx.x % 32;
	const int	nwarps = blockDim.x / 32;

	for (int warp = 0; warp < nwarps; warp++)
	{
		__syncthreads();
		if (threadIdx.x / 32 == warp)
#pragma unroll
			for (int k = 0; k < N; k++)
				shared[k * 32 + lane] = warp == 0 ? sums[k] : shared[k * 32 + lane] + sums[k];
	}
	__syncthreads();
	for (int k = threadIdx.x; k < 32 * N; k += blockDim.x)
		record[k] += shared[k];
}

/* Returns the squares of 16 x 8 on and below the diagonal, for ng groups of 8 columns. */
static __host__ __device__ constexpr int
count_squares(int ng)
{
	int			n = 0;

	for (int i = 0; i < (ng + 1) / 2; i++)
		n += 2 * i + 2 < ng ? 2 * i + 2 : ng;
	return n;
}

/* Steps of 8 rows that a warp reads before it multiplies: a multiprocessor then has 64 KB under way. */
static __host__ __device__ constexpr int
register_nsteps(int ng)
{
	return ng <= 2 ? 4 : 2;
}

/* Adds 8 rows to a warp's squares of a triangle. x: rows of B, ax: rows of A. */
template <int NG>
static __device__ inline void
multiply_squares(double (&sums)[count_squares(NG)][4], const double (&x)[2][NG], const double (&ax)[2][NG])
{
	int			at = 0;

#pragma unroll
	for (int i = 0; i < (NG + 1) / 2; i++)
	{
		/* with an odd number of groups, the last rows' second half may be anything */
		const int	next = 2 * i + 1 < NG ? 2 * i + 1 : 2 * i;
		const double a[4] = {ax[0][2 * i], ax[0][next], ax[1][2 * i], ax[1][next]};

#pragma unroll
		for (int j = 0; j < NG; j++)
			if (j <= 2 * i + 1)
			{
				const double b[2] = {x[0][j], x[1][j]};

				multiply_tile<2>(sums[at++], a, b);
			}
	}
}

/*
 * Reads a warp's rows, of which nleft exist: x[s] is row 4 s + lane % 4, or zeros with a weight of 0. last: offset of
 * the lane's last column.
 */
template <int NG, int N, bool PLAIN>
static __device__ inline void
register_read(double (&x)[N][NG], double (&w)[N], const WeightedGramRows &from, int64_t first, int nleft, int last,
			  int lane)
{
	const double *row = from.rows + (first + lane % 4) * from.ld + lane / 4;
	const double *weight = PLAIN || from.weights == NULL ? &gram_one : from.weights +
		(first + lane % 4) * from.weight_step;
	const int64_t step = PLAIN || from.weights == NULL ? 0 : 4 * from.weight_step;

#pragma unroll
	for (int s = 0; s < N; s++, row += 4 * from.ld, weight += step)
	{
		const bool	exists = nleft >= 4 * N || 4 * s + lane % 4 < nleft;

		if (!PLAIN)
			w[s] = exists ? *weight : 0.0;
#pragma unroll
		for (int j = 0; j < NG; j++)
			x[s][j] = exists ? row[j < NG - 1 ? 8 * j : last] : 0.0;
	}
}

/* Threads of a thread block; two thread blocks per multiprocessor if registers suffice. */
#define REGISTER_NTHREADS 512

/* Adds rows to the triangle of up to 32 columns. A warp takes 4 N rows at a time. */
template <int NG, bool PLAIN>
static __global__ void
__launch_bounds__(REGISTER_NTHREADS, NG == 1 ? 2 : 1)
register_kernel(const __grid_constant__ GramJob job, double *partials)
{
	constexpr int N = 2 * register_nsteps(NG);
	__shared__ double shared[32 * 4 * count_squares(NG)];
	const WeightedGramRows &from = job.from;
	const int	lane = threadIdx.x % 32;
	const int	warp = threadIdx.x / 32 * gridDim.x + blockIdx.x;
	const int64_t stride = (int64_t) gridDim.x * (blockDim.x / 32) * (4 * N);
	const int	last = min(8 * (NG - 1) + lane / 4, job.p - 1) - lane / 4;
	double		sums[count_squares(NG)][4] = {};
	double		shift[NG];

#pragma unroll
	for (int j = 0; j < NG; j++)
		shift[j] = PLAIN || from.shift == NULL ? 0.0 : from.shift[lane / 4 + (j < NG - 1 ? 8 * j : last)];
	for (int64_t first = (int64_t) warp * (4 * N); first < from.nrows; first += stride)
	{
		const int	nleft = (int) min(from.nrows - first, (int64_t) (4 * N));
		double		x[N][NG];
		double		w[N];

		if (nleft == 4 * N)
			register_read<NG, N, PLAIN>(x, w, from, first, 4 * N, last, lane);
		else
			register_read<NG, N, PLAIN>(x, w, from, first, nleft, last, lane);
#pragma unroll
		for (int s = 0; s < N; s += 2)
		{
			double		z[2][NG];
			double		wz[2][NG];

#pragma unroll
			for (int q = 0; q < 2; q++)
#pragma unroll
				for (int j = 0; j < NG; j++)
				{
					z[q][j] = PLAIN ? x[s + q][j] : x[s + q][j] - shift[j];
					wz[q][j] = PLAIN ? z[q][j] : w[s + q] * z[q][j];
				}
			multiply_squares<NG>(sums, z, wz);
		}
	}
	add_warps<4 * count_squares(NG)>(&sums[0][0], shared, partials + blockIdx.x * job.record_ndoubles[1]);
}

/* Returns the numbers between staged rows, chosen so that the lanes of a fragment use different banks. */
static __host__ __device__ constexpr int
staged_ld(int nb)
{
	return 16 * nb + 4;
}

typedef struct RingWarp
{
	double		rows[RING_NSTAGES][RING_NROWS * staged_ld(4)];
	double		weights[RING_NSTAGES][RING_NROWS];
} RingWarp;

/*
 * A thread's part of a line that eight threads copy: 16 bytes at source, and every 128 bytes from there on. With an odd
 * number of columns, the last copy may be of 8 bytes.
 */
typedef struct LineCopy
{
	const double *source;
	int			nwhole;
	bool		half;
} LineCopy;

/*
 * Returns the part of the thread `lane` (0 .. 7) of a line of n columns at row; parity: numbers between the 16-byte
 * boundary before row and row.
 */
static __device__ inline LineCopy
line_copy(const double *row, int n, int parity, int lane)
{
	LineCopy	copy;

	copy.source = row - parity + 2 * lane;
	copy.nwhole = (n - 1 + parity - 2 * lane + 15) / 16;
	copy.half = 2 * lane + 16 * copy.nwhole - parity < n;
	return copy;
}

/* Starts copies FROM .. TO - 1 of a thread's part; LAST: and the rest. A row that does not exist becomes zeros. */
template <int FROM, int TO, bool LAST>
static __device__ inline void
line_start(const LineCopy &copy, double *to, bool exists)
{
	const unsigned address = shared_address(to);

	if (exists)
	{
#pragma unroll
		for (int m = FROM; m < TO; m++)
			copy_async<16>(address + 128 * m, copy.source + 16 * m, m < copy.nwhole);
		if (LAST && copy.half)
			copy_async<8>(address + 128 * copy.nwhole, copy.source + 16 * copy.nwhole, true);
	}
	else
#pragma unroll
		for (int m = FROM; m < TO; m++)
			if (m < copy.nwhole || (m == copy.nwhole && copy.half))
				*(double2 *) (to + 16 * m) = make_double2(0.0, 0.0);
}

/* Starts the copy of a row's weight; it is 0 beyond the last row. */
static __device__ inline void
copy_weight(double *weight, const WeightedGramRows &from, int64_t row)
{
	if (row < from.nrows)
		copy_async<8>(shared_address(weight), from.weights == NULL ? &gram_one : from.weights + row * from.weight_step,
					  true);
	else
		*weight = 0.0;
}

/* Starts the copy of 8 rows from first on: a lane copies parts of rows lane / 8 and lane / 8 + 4. */
template <int NB, bool PLAIN>
static __device__ inline void
ring_copy(const GramJob &job, double *staged, double *weights, int64_t first, int lane)
{
	const WeightedGramRows &from = job.from;
	const double *row = from.rows + (first + lane / 8) * from.ld;
	double	   *to = staged + lane / 8 * staged_ld(NB) + lane % 8 * 2;
	LineCopy	copy = line_copy(row, job.p, row_parity(from, lane / 8), lane % 8);

	line_start<0, NB + 1, true>(copy, to, first + lane / 8 < from.nrows);
	copy.source += 4 * from.ld;
	line_start<0, NB + 1, true>(copy, to + 4 * staged_ld(NB), first + lane / 8 + 4 < from.nrows);
	if (!PLAIN && lane < RING_NROWS)
		copy_weight(weights + lane, from, first + lane);
	copy_commit();
}

/* Adds rows to the triangle of up to 64 columns. A warp takes RING_NROWS rows at a time. */
template <int NB, bool PLAIN, bool WIDE>
static __global__ void
__launch_bounds__(256, 1)
ring_kernel(const __grid_constant__ GramJob job, double *partials)
{
	extern __shared__ double2 shared_pairs[];
	double	   *shift = (double *) shared_pairs;
	RingWarp   *ring = (RingWarp *) (shift + 16 * NB) + threadIdx.x / 32;
	const int	lane = threadIdx.x % 32;
	const int	warp = threadIdx.x / 32 * gridDim.x + blockIdx.x;
	const int64_t stride = (int64_t) gridDim.x * (blockDim.x / 32) * RING_NROWS;
	const int	at = lane % 4 * staged_ld(NB) + lane / 4 * 2 + (WIDE ? 0 : row_parity(job.from, lane % 4));
	double		sums[NB * (NB + 1) / 2][2][4] = {};
	int64_t		next = (int64_t) warp * RING_NROWS;
	int			stage = 0;

	if (!PLAIN)
	{
		for (int c = threadIdx.x; c < 16 * NB; c += blockDim.x)
			shift[c] = job.from.shift == NULL || c >= job.p ? 0.0 : job.from.shift[c];
		__syncthreads();
	}
#pragma unroll
	for (int s = 0; s < RING_NSTAGES - 1; s++, next += stride)
		ring_copy<NB, PLAIN>(job, ring->rows[s], ring->weights[s], next, lane);
	for (int64_t first = (int64_t) warp * RING_NROWS; first < job.from.nrows; first += stride, next += stride)
	{
		const int	free_stage = stage == 0 ? RING_NSTAGES - 1 : stage - 1;

		copy_wait<RING_NSTAGES - 2>();
		__syncwarp();			/* the stage has arrived for all lanes, and all have read the one before */
		if (next < job.from.nrows)
			ring_copy<NB, PLAIN>(job, ring->rows[free_stage], ring->weights[free_stage], next, lane);
		else
			copy_commit();
		multiply_blocks<NB, PLAIN, WIDE>(sums, ring->rows[stage] + at, staged_ld(NB), ring->weights[stage], shift,
										 lane);
		stage = stage == RING_NSTAGES - 1 ? 0 : stage + 1;
	}
	copy_wait<0>();
	add_warps<NB * (NB + 1) * 4>(&sums[0][0][0], (double *) shared_pairs,
								 partials + blockIdx.x * job.record_ndoubles[1]);
}

#endif							/* GPUREG_WEIGHTED_GRAM_DEVICE_CUH */
