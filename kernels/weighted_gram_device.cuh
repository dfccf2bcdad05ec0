/*
 * weighted_gram_device.cuh: the kernels of weighted_gram.cu.
 *
 * All multiply 8 rows at a time by mma.sync: for A'B of two groups of columns, lane (g = lane / 4, t = lane % 4) holds of
 * A and of B rows t and t + 4 and columns that depend on g, so that one register serves as A and as B where the two are the same
 * and have no weights. PLAIN: no weights and no shift. Else A is w (x - shift), B is x - shift, without either w is 1 or
 * the shift 0.
 *
 * Who owns what. register_kernel: a warp has the whole triangle of up to 32 columns in squares of 16 x 8, column g + 8 j in
 * group j, and reads rows as it needs them. ring_kernel: a warp has the triangle of up to 64 columns in blocks of 16 x 16, and
 * copies rows ahead into a ring of its own; a lane has columns 2 g and 2 g + 1 of a group of 16, so that it reads pairs.
 * tile_kernel: a thread block of eight warps has a tile of the triangle and every n-th piece of the rows, copied ahead into a
 * ring. Off the diagonal a warp has a half of the tile's rows by a quarter of its columns; the columns that make the tile's
 * columns are numbered g + 8 j there. On the diagonal four warps share the blocks of 16 x 16 by the table below and two such
 * teams take a half of the rows each, since one alone would leave the tensor cores waiting.
 *
 * What lies beyond the columns is never wanted, so it may be anything; rows beyond the last are zeros of weight 0.
 */
#ifndef GPUREG_WEIGHTED_GRAM_DEVICE_CUH
#define GPUREG_WEIGHTED_GRAM_DEVICE_CUH

#include "weighted_gram.cuh"

#include "glm_device.cuh"

#define RING_NROWS 8
#define RING_NSTAGES 6
#define TILE_NTHREADS 256
#define TILE_NLINES 32			/* 32 rows of a tile on the diagonal; 16 of each side of another */
#define TILE_NSTAGES_MAX 6
#define TILE_TEAM_NROWS 16

static __device__ const double gram_one = 1.0;

/* What a launch passes on */
typedef struct GramJob
{
	WeightedGramRows from;
	int			p;
	int			ntiles;
	int			nstages;
	int			nsplits[2];		/* of this launch */
	int			nslots[2];		/* of the plan */
	int64_t		record_ndoubles[2];
	bool		wide;			/* pairs of columns lie on 16-byte boundaries */
} GramJob;

/*
 * Which of four warps has a block of the triangle of NB x NB blocks, row by row: dealt evenly, and such that each needs few
 * groups of columns.
 */
static __host__ __device__ constexpr const char *
gram_deal(int nb)
{
	return nb == 8 ? "0" "00" "000" "0030" "22331" "223321" "2233111" "22331111"
		: nb == 7 ? "0" "00" "000" "2301" "23331" "223131" "2231121"
		: nb == 6 ? "0" "00" "030" "2231" "22311" "233111"
		: nb == 5 ? "0" "00" "011" "2211" "22333"
		: "0000000000";
}

/* Bit k: the warp has block k. */
static __host__ __device__ constexpr uint64_t
gram_mask(int nb, int role)
{
	uint64_t	mask = 0;

	for (int k = 0; k < nb * (nb + 1) / 2; k++)
		if (gram_deal(nb)[k] - '0' == role)
			mask |= (uint64_t) 1 << k;
	return mask;
}

static __host__ __device__ constexpr int
gram_count(uint64_t mask)
{
	int			n = 0;

	for (; mask != 0; mask &= mask - 1)
		n++;
	return n;
}

/* Blocks that a warp has at most */
static __host__ __device__ constexpr int
gram_most(int nb)
{
	int			most = 0;

	for (int role = 0; role < 4; role++)
		if (gram_count(gram_mask(nb, role)) > most)
			most = gram_count(gram_mask(nb, role));
	return most;
}

/*
 * Adds 8 rows, staged ld apart, to a warp's blocks of a triangle. weights: of these rows; shift: of these columns, both in
 * shared memory, neither read where PLAIN.
 */
template <int NB, uint64_t MASK, bool PLAIN, int NBLOCKS>
static __device__ inline void
multiply_blocks(double (&sums)[NBLOCKS][2][4], const double *staged, int ld, const double *weights, const double *shift,
				int lane)
{
	const double *from = staged + lane % 4 * ld + lane / 4 * 2;
	double2		x[NB][2];
	double		w[2] = {1.0, 1.0};

#pragma unroll
	for (int c = 0; c < NB; c++)
#pragma unroll
		for (int q = 0; q < 2; q++)
			x[c][q] = *(const double2 *) (from + 4 * q * ld + 16 * c);
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
			if (MASK >> (i * (i + 1) / 2 + j) & 1)
			{
				const int	at = __popcll(MASK & (((uint64_t) 1 << (i * (i + 1) / 2 + j)) - 1));
				const double even[2] = {x[j][0].x, x[j][1].x};
				const double odd[2] = {x[j][0].y, x[j][1].y};

				multiply_tile<2>(sums[at][0], a, even);
				multiply_tile<2>(sums[at][1], a, odd);
			}
	}
}

/*
 * The sums of a warp's threads, n each, joined over the thread block's warps in their order and added to a record. Shared
 * memory of 32 n float8.
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

/* Squares of 16 x 8 on and below the diagonal, of ng groups of 8 columns */
static __host__ __device__ constexpr int
count_squares(int ng)
{
	int			n = 0;

	for (int i = 0; i < (ng + 1) / 2; i++)
		n += 2 * i + 2 < ng ? 2 * i + 2 : ng;
	return n;
}

/* Rows that a warp reads before it multiplies them: so many that 64 KB are under way in all of a multiprocessor */
static __host__ __device__ constexpr int
register_nsteps(int ng)
{
	return ng <= 2 ? 4 : 2;
}

template <int NG>
static __device__ inline void
multiply_squares(double (&sums)[count_squares(NG)][4], const double (&x)[2][NG], const double (&ax)[2][NG])
{
	int			at = 0;

#pragma unroll
	for (int i = 0; i < (NG + 1) / 2; i++)
	{
		const int	next = 2 * i + 1 < NG ? 2 * i + 1 : 2 * i;	/* of an odd number's last rows, any */
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

/* Rows of a warp that there are nleft of: x[s] is row 4 s + lane % 4, or zeros of weight 0. last: the lane's way to its last column. */
template <int NG, int N, bool PLAIN>
static __device__ inline void
register_read(double (&x)[N][NG], double (&w)[N], const WeightedGramRows &from, int64_t first, int nleft, int last, int lane)
{
	const double *row = from.rows + (first + lane % 4) * from.ld + lane / 4;
	const double *weight = PLAIN || from.weights == NULL ? &gram_one : from.weights + (first + lane % 4) * from.weight_step;
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

/* Threads of a block; two blocks a multiprocessor where registers suffice */
#define REGISTER_NTHREADS 512

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

/* Columns of a row in shared memory, such that the lanes of a fragment meet different banks */
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

/* Starts the copy of 8 rows from first on: a lane has rows lane / 8 and lane / 8 + 4. */
template <int NB, bool PLAIN>
static __device__ inline void
ring_copy(const GramJob &job, double *staged, double *weights, int64_t first, int lane)
{
	const WeightedGramRows &from = job.from;

#pragma unroll
	for (int half = 0; half < 2; half++)
	{
		const int	row = lane / 8 + 4 * half;
		const bool	exists = first + row < from.nrows;
		const double *source = from.rows + (exists ? (first + row) * from.ld : 0);
		const unsigned to = shared_address(staged + row * staged_ld(NB));

		if (job.wide)
#pragma unroll
			for (int m = 0; m < NB; m++)
			{
				const int	column = lane % 8 * 2 + 16 * m;

				if (column < job.p)
					copy_async_or_zero<16>(to + 8 * column, source + column, exists);
			}
		else
#pragma unroll
			for (int m = 0; m < 2 * NB; m++)
			{
				const int	column = lane % 8 + 8 * m;

				if (column < job.p)
					copy_async_or_zero<8>(to + 8 * column, source + column, exists);
			}
	}
	if (!PLAIN && lane < RING_NROWS)
	{
		const bool	exists = first + lane < from.nrows;

		copy_async_or_zero<8>(shared_address(weights + lane),
							  from.weights == NULL || !exists ? &gram_one
							  : from.weights + (first + lane) * from.weight_step, exists);
	}
	copy_commit();
}

template <int NB, bool PLAIN>
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
		__syncwarp();			/* the stage is there for all lanes, and all have read the one before */
		if (next < job.from.nrows)
			ring_copy<NB, PLAIN>(job, ring->rows[free_stage], ring->weights[free_stage], next, lane);
		else
			copy_commit();
		multiply_blocks<NB, gram_mask(NB, 0), PLAIN>(sums, ring->rows[stage], staged_ld(NB), ring->weights[stage], shift,
													 lane);
		stage = stage == RING_NSTAGES - 1 ? 0 : stage + 1;
	}
	copy_wait<0>();
	add_warps<NB * (NB + 1) * 4>(&sums[0][0][0], (double *) shared_pairs,
								 partials + blockIdx.x * job.record_ndoubles[1]);
}

/* Of a tile's stage: its lines, and what they weigh */
template <int NB>
struct TileStage
{
	double		lines[TILE_NLINES * staged_ld(NB)];
	double		weights[TILE_NLINES];
};

/*
 * Starts the copy of a stage whose first row is given: eight threads have a line. Off the diagonal, lines 16 on are the same rows
 * of other columns. column: where the thread's line begins; ncolumns: what there is of it.
 */
template <int NB, bool PLAIN>
static __device__ inline void
tile_copy(const GramJob &job, TileStage<NB> *stage, int64_t first, bool diagonal, int column, int ncolumns)
{
	const WeightedGramRows &from = job.from;
	const int	line = threadIdx.x / 8;
	const int	lane = threadIdx.x % 8;
	const int64_t row = first + (diagonal ? line : line % TILE_TEAM_NROWS);
	const bool	exists = row < from.nrows;
	const double *source = from.rows + (exists ? row * from.ld : 0) + column;
	const unsigned to = shared_address(stage->lines + line * staged_ld(NB));

	if (job.wide)
#pragma unroll
		for (int m = 0; m < NB; m++)
		{
			if (lane * 2 + 16 * m < ncolumns)
				copy_async_or_zero<16>(to + 16 * lane + 128 * m, source + 2 * lane + 16 * m, exists);
		}
	else
#pragma unroll
		for (int m = 0; m < 2 * NB; m++)
			if (lane + 8 * m < ncolumns)
				copy_async_or_zero<8>(to + 8 * lane + 64 * m, source + lane + 8 * m, exists);
	if (!PLAIN && lane == 0)
		copy_async_or_zero<8>(shared_address(stage->weights + line),
							  from.weights == NULL || !exists ? &gram_one : from.weights + row * from.weight_step, exists);
}

/* At most n of the groups committed are left under way; n is the same for all threads. */
static __device__ inline void
copy_wait_for(int n)
{
	switch (n)
	{
		case 0:
			return copy_wait<0>();
		case 1:
			return copy_wait<1>();
		case 2:
			return copy_wait<2>();
		case 3:
			return copy_wait<3>();
		default:
			return copy_wait<4>();
	}
}

/* A warp's blocks of a tile on the diagonal, the rows of its team. */
template <int NB, bool PLAIN, int NBLOCKS>
static __device__ inline void
tile_multiply_diagonal(double (&sums)[NBLOCKS][2][4], const TileStage<NB> *stage, const double *shift)
{
	const int	lane = threadIdx.x % 32;
	const int	team = threadIdx.x / 128;

#pragma unroll 1
	for (int row = team * TILE_TEAM_NROWS; row < (team + 1) * TILE_TEAM_NROWS; row += 8)
	{
		const double *lines = stage->lines + row * staged_ld(NB);
		const double *weights = stage->weights + row;

		switch (threadIdx.x / 32 % 4)
		{
			case 0:
				multiply_blocks<NB, gram_mask(NB, 0), PLAIN>(sums, lines, staged_ld(NB), weights, shift, lane);
				break;
			case 1:
				multiply_blocks<NB, gram_mask(NB, 1), PLAIN>(sums, lines, staged_ld(NB), weights, shift, lane);
				break;
			case 2:
				multiply_blocks<NB, gram_mask(NB, 2), PLAIN>(sums, lines, staged_ld(NB), weights, shift, lane);
				break;
			default:
				multiply_blocks<NB, gram_mask(NB, 3), PLAIN>(sums, lines, staged_ld(NB), weights, shift, lane);
				break;
		}
	}
}

/* A warp's part of a tile off the diagonal: rows of its half in groups of 16, columns of its quarter in groups of 8. */
template <int NB, bool PLAIN>
static __device__ inline void
tile_multiply(double (&sums)[NB / 2][NB / 2][4], const TileStage<NB> *stage, const double *shift)
{
	constexpr int LD = staged_ld(NB);
	const int	lane = threadIdx.x % 32;
	const int	left = threadIdx.x / 128 * (8 * NB) + lane / 4 * 2;
	const int	right = threadIdx.x / 32 % 4 * (4 * NB) + lane / 4;

#pragma unroll
	for (int row = 0; row < TILE_TEAM_NROWS; row += 8)
	{
		const double *lines = stage->lines + (row + lane % 4) * LD;
		double		a[NB / 2][4];
		double		b[NB / 2][2];

#pragma unroll
		for (int q = 0; q < 2; q++)
		{
			const double w = PLAIN ? 1.0 : stage->weights[row + 4 * q + lane % 4];

#pragma unroll
			for (int k = 0; k < NB / 2; k++)
			{
				double2		x = *(const double2 *) (lines + 4 * q * LD + left + 16 * k);
				double		y = lines[(4 * q + TILE_TEAM_NROWS) * LD + right + 8 * k];

				if (!PLAIN)
				{
					double2		center = *(const double2 *) (shift + left + 16 * k);

					x = make_double2(w * (x.x - center.x), w * (x.y - center.y));
					y -= shift[16 * NB + right + 8 * k];
				}
				a[k][2 * q] = x.x;
				a[k][2 * q + 1] = x.y;
				b[k][q] = y;
			}
		}
#pragma unroll
		for (int i = 0; i < NB / 2; i++)
#pragma unroll
			for (int j = 0; j < NB / 2; j++)
				multiply_tile<2>(sums[i][j], a[i], b[j]);
	}
}

/* Which tile and which split a thread block has; off the diagonal first, those of one split side by side. */
typedef struct TileAt
{
	bool		diagonal;
	int			i;
	int			j;
	int			split;
	double	   *record;
} TileAt;

static __device__ inline TileAt
tile_at(const GramJob &job, double *partials)
{
	const int	noff = job.ntiles * (job.ntiles - 1) / 2;
	const int	noff_blocks = noff * job.nsplits[0];
	const int	block = blockIdx.x;
	TileAt		at;

	at.diagonal = block >= noff_blocks;
	if (at.diagonal)
	{
		at.i = at.j = (block - noff_blocks) % job.ntiles;
		at.split = (block - noff_blocks) / job.ntiles;
		at.record = partials + (int64_t) noff * job.nslots[0] * job.record_ndoubles[0] +
			((int64_t) at.i * job.nslots[1] + at.split) * job.record_ndoubles[1];
		return at;
	}

	const int	k = block % noff;

	at.i = (int) ((sqrtf(8.0f * (float) k + 1.0f) + 1.0f) * 0.5f);
	while (at.i * (at.i + 1) / 2 <= k)
		at.i++;
	while (at.i * (at.i - 1) / 2 > k)
		at.i--;
	at.j = k - at.i * (at.i - 1) / 2;
	at.split = block / noff;
	at.record = partials + ((int64_t) k * job.nslots[0] + at.split) * job.record_ndoubles[0];
	return at;
}

/* Goes over a thread block's pieces of the rows: every nsplits-th of nrows rows. multiply: what to do with a stage. */
template <int NB, bool PLAIN, typename Multiply>
static __device__ inline void
tile_pieces(const GramJob &job, const TileAt &at, TileStage<NB> *stages, Multiply multiply)
{
	const int	nrows = at.diagonal ? TILE_NLINES : TILE_TEAM_NROWS;
	const int64_t stride = (int64_t) nrows * job.nsplits[at.diagonal];
	const int	column = (at.diagonal || threadIdx.x < TILE_NTHREADS / 2 ? at.i : at.j) * (16 * NB);
	const int	ncolumns = min(job.p - column, 16 * NB);
	int64_t		next = (int64_t) nrows * at.split;
	int			stage = 0;

	for (int s = 0; s < job.nstages - 1; s++, next += stride)
	{
		if (next < job.from.nrows)
			tile_copy<NB, PLAIN>(job, stages + s, next, at.diagonal, column, ncolumns);
		copy_commit();
	}
	for (int64_t first = (int64_t) nrows * at.split; first < job.from.nrows; first += stride, next += stride)
	{
		copy_wait_for(job.nstages - 2);
		__syncthreads();		/* the stage is there for all threads, and all have read the one before */
		if (next < job.from.nrows)
			tile_copy<NB, PLAIN>(job, stages + (stage == 0 ? job.nstages - 1 : stage - 1), next, at.diagonal, column, ncolumns);
		copy_commit();
		multiply(stages + stage);
		stage = stage == job.nstages - 1 ? 0 : stage + 1;
	}
	copy_wait<0>();
	__syncthreads();
}

template <int NB, bool PLAIN>
static __global__ void
__launch_bounds__(TILE_NTHREADS, 1)
tile_kernel(const __grid_constant__ GramJob job, double *partials)
{
	extern __shared__ double2 shared_pairs[];
	double	   *shift = (double *) shared_pairs;
	TileStage<NB> *stages = (TileStage<NB> *) (shift + 32 * NB);
	const TileAt at = tile_at(job, partials);

	for (int c = threadIdx.x; !PLAIN && c < 32 * NB; c += TILE_NTHREADS)
	{
		const int	column = (c < 16 * NB ? at.i : at.j - 1) * (16 * NB) + c;

		shift[c] = job.from.shift == NULL || column >= job.p ? 0.0 : job.from.shift[column];
	}
	if (at.diagonal)
	{
		constexpr int N = 8 * gram_most(NB);
		double		sums[gram_most(NB)][2][4] = {};
		double	   *other = (double *) stages + threadIdx.x % 128;

		tile_pieces<NB, PLAIN>(job, at, stages,
							   [&](const TileStage<NB> *stage) {tile_multiply_diagonal<NB, PLAIN>(sums, stage, shift);});
		if (threadIdx.x >= 128)
#pragma unroll
			for (int k = 0; k < N; k++)
				other[k * 128] = sums[k / 8][k / 4 % 2][k % 4];
		__syncthreads();
		if (threadIdx.x < 128)
#pragma unroll
			for (int k = 0; k < N; k++)
				at.record[k * 128 + threadIdx.x] += sums[k / 8][k / 4 % 2][k % 4] + other[k * 128];
	}
	else if constexpr (NB % 2 == 0)
	{
		double		sums[NB / 2][NB / 2][4] = {};

		tile_pieces<NB, PLAIN>(job, at, stages,
							   [&](const TileStage<NB> *stage) {tile_multiply<NB, PLAIN>(sums, stage, shift);});
#pragma unroll
		for (int k = 0; k < NB * NB; k++)
			at.record[k * TILE_NTHREADS + threadIdx.x] += sums[k / 4 / (NB / 2)][k / 4 % (NB / 2)][k % 4];
	}
}

#endif							/* GPUREG_WEIGHTED_GRAM_DEVICE_CUH */
