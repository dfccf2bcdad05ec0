/*
 * weighted_gram_tile.cuh: the kernel of weighted_gram.cu for more than 64 columns.
 *
 * A thread block of eight warps owns a tile of the triangle and every n-th part of the rows, which are copied ahead
 * into a ring.
 *
 *    off the diagonal:                       on the diagonal (NB = 5; numbers are warps):
 *
 *             columns                        0
 *            | w 0 | w 1 | w 2 | w 3 |       0 0                 gram_deal() assigns blocks of 16 x 16 to
 *      rows  | w 4 | w 5 | w 6 | w 7 |       0 1 1               warps 0 .. 3; warps 4 .. 7 are a second
 *                                            2 2 1 1             team, which takes the other half of the
 *                                            2 2 3 3 3           rows
 *
 * Off the diagonal, a lane's columns of B are those numbered g + 8 j. On the diagonal there are two teams, as one
 * would leave the tensor cores waiting. A warp reads the 4 rows that it multiplies next while it multiplies: all warps
 * read at once after a barrier, and would otherwise all wait.
 */
#ifndef GPUREG_WEIGHTED_GRAM_TILE_CUH
#define GPUREG_WEIGHTED_GRAM_TILE_CUH

#include "weighted_gram_device.cuh"

#define TILE_NTHREADS 256
#define TILE_NLINES 32			/* on the diagonal, 32 rows of a tile; else 16 rows of each side */
#define TILE_NSTAGES_MAX 6
#define TILE_TEAM_NROWS 16

/*
 * Returns which of four warps owns each block of a triangle of nb x nb blocks, row by row. The blocks are dealt out
 * evenly, and such that each warp needs few groups of columns.
 */
static __host__ __device__ constexpr const char *
gram_deal(int nb)
{
	return nb == 8 ? "0" "00" "000" "0030" "22331" "223321" "2233111" "22331111"
		: nb == 7 ? "0" "00" "000" "2301" "23331" "223131" "2231121"
		: nb == 6 ? "0" "00" "030" "2231" "22311" "233111"
		: "0" "00" "011" "2211" "22333";
}

/* Returns a bit mask of the blocks that warp `role` owns. */
static __host__ __device__ constexpr uint64_t
gram_mask(int nb, int role)
{
	uint64_t	mask = 0;

	for (int k = 0; k < nb * (nb + 1) / 2; k++)
		if (gram_deal(nb)[k] - '0' == role)
			mask |= (uint64_t) 1 << k;
	return mask;
}

/* Returns the number of bits in mask. */
static __host__ __device__ constexpr int
gram_count(uint64_t mask)
{
	int			n = 0;

	for (; mask != 0; mask &= mask - 1)
		n++;
	return n;
}

/* Returns the most blocks that a warp owns. */
static __host__ __device__ constexpr int
gram_most(int nb)
{
	int			most = 0;

	for (int role = 0; role < 4; role++)
		if (gram_count(gram_mask(nb, role)) > most)
			most = gram_count(gram_mask(nb, role));
	return most;
}

/* Stage of a tile: lines and their weights */
template <int NB>
struct TileStage
{
	double		lines[TILE_NLINES * staged_ld(NB)];
	double		weights[TILE_NLINES];
};

/* A warp's part of a tile off the diagonal: rows of its half in groups of 16, columns of its quarter in groups of 8. */
template <int NB, bool PLAIN, bool WIDE>
struct TilePart
{
	double		sums[NB / 2][NB / 2][4];
	double		shift_a[NB / 2][2];
	double		shift_b[NB / 2];
	int			a;				/* a, b: where the lane's columns begin in a stage */
	int			b;
};

/* Four rows of a tile off the diagonal */
template <int NB>
struct TileRows
{
	double2		a[NB / 2];
	double		b[NB / 2];
	double		weight;
};

template <int NB, bool PLAIN, bool WIDE>
static __device__ inline void
tile_begin(TilePart<NB, PLAIN, WIDE> &part, const WeightedGramRows &from, const double *shift)
{
	const int	lane = threadIdx.x % 32;
	const int	left = threadIdx.x / 128 * (8 * NB) + lane / 4 * 2;
	const int	right = threadIdx.x / 32 % 4 * (4 * NB) + lane / 4;
	const int	parity = WIDE ? 0 : row_parity(from, lane % 4);

	part = {};
	part.a = lane % 4 * staged_ld(NB) + parity + left;
	part.b = (lane % 4 + TILE_TEAM_NROWS) * staged_ld(NB) + parity + right;
#pragma unroll
	for (int k = 0; k < (PLAIN ? 0 : NB / 2); k++)
	{
		part.shift_a[k][0] = shift[left + 16 * k];
		part.shift_a[k][1] = shift[left + 16 * k + 1];
		part.shift_b[k] = shift[16 * NB + right + 8 * k];
	}
}

template <int NB, bool PLAIN, bool WIDE>
static __device__ inline void
tile_read(TileRows<NB> &rows, const TilePart<NB, PLAIN, WIDE> &part, const TileStage<NB> *stage, int row)
{
	const double *lines = stage->lines + row * staged_ld(NB);

#pragma unroll
	for (int k = 0; k < NB / 2; k++)
	{
		rows.a[k] = read_pair<WIDE>(lines + part.a + 16 * k);
		rows.b[k] = lines[part.b + 8 * k];
	}
	if (!PLAIN)
		rows.weight = stage->weights[row + threadIdx.x % 4];
}

template <int NB, bool PLAIN, bool WIDE>
static __device__ inline void
tile_multiply(TilePart<NB, PLAIN, WIDE> &part, const TileRows<NB> &rows)
{
	double		b[NB / 2][1];

#pragma unroll
	for (int j = 0; j < NB / 2; j++)
		b[j][0] = PLAIN ? rows.b[j] : rows.weight * (rows.b[j] - part.shift_b[j]);
#pragma unroll
	for (int i = 0; i < NB / 2; i++)
	{
		const double a[2] = {PLAIN ? rows.a[i].x : rows.a[i].x - part.shift_a[i][0],
			PLAIN ? rows.a[i].y : rows.a[i].y - part.shift_a[i][1]};

#pragma unroll
		for (int j = 0; j < NB / 2; j++)
			multiply_tile<1>(part.sums[i][j], a, b[j]);
	}
}

/* A warp's part of a tile on the diagonal: its blocks, over its team's rows. */
template <int NB, int ROLE, bool PLAIN, bool WIDE>
struct DiagonalPart
{
	double		sums[gram_most(NB)][2][4];
	const double *shift;		/* for the lane's columns; in shared memory, as registers are full */
	int			x;				/* first of the lane's columns in a stage */
};

template <int NB>
struct DiagonalRows
{
	double2		x[NB];
	double		weight;
};

template <int NB, int ROLE, bool PLAIN, bool WIDE>
static __device__ inline void
tile_begin(DiagonalPart<NB, ROLE, PLAIN, WIDE> &part, const WeightedGramRows &from, const double *shift)
{
	const int	lane = threadIdx.x % 32;

	part = {};
	part.x = (threadIdx.x / 128 * TILE_TEAM_NROWS + lane % 4) * staged_ld(NB) + lane / 4 * 2 +
		(WIDE ? 0 : row_parity(from, lane % 4));
	part.shift = shift + lane / 4 * 2;
}

template <int NB, int ROLE, bool PLAIN, bool WIDE>
static __device__ inline void
tile_read(DiagonalRows<NB> &rows, const DiagonalPart<NB, ROLE, PLAIN, WIDE> &part, const TileStage<NB> *stage, int row)
{
#pragma unroll
	for (int c = 0; c < NB; c++)
		rows.x[c] = read_pair<WIDE>(stage->lines + row * staged_ld(NB) + part.x + 16 * c);
	if (!PLAIN)
		rows.weight = stage->weights[threadIdx.x / 128 * TILE_TEAM_NROWS + row + threadIdx.x % 4];
}

template <int NB, int ROLE, bool PLAIN, bool WIDE>
static __device__ inline void
tile_multiply(DiagonalPart<NB, ROLE, PLAIN, WIDE> &part, const DiagonalRows<NB> &rows)
{
	constexpr uint64_t MASK = gram_mask(NB, ROLE);
	double		z[NB][2];

#pragma unroll
	for (int c = 0; c < NB; c++)
	{
		const double2 shift = PLAIN ? make_double2(0.0, 0.0) : *(const double2 *) (part.shift + 16 * c);

		z[c][0] = PLAIN ? rows.x[c].x : rows.x[c].x - shift.x;
		z[c][1] = PLAIN ? rows.x[c].y : rows.x[c].y - shift.y;
	}
#pragma unroll
	for (int i = 0; i < NB; i++)
	{
		const double a[2] = {PLAIN ? z[i][0] : rows.weight * z[i][0], PLAIN ? z[i][1] : rows.weight * z[i][1]};

#pragma unroll
		for (int j = 0; j <= i; j++)
			if (MASK >> (i * (i + 1) / 2 + j) & 1)
			{
				const int	at = __popcll(MASK & (((uint64_t) 1 << (i * (i + 1) / 2 + j)) - 1));

#pragma unroll
				for (int odd = 0; odd < 2; odd++)
				{
					const double b[1] = {z[j][odd]};

					multiply_tile<1>(part.sums[at][odd], a, b);
				}
			}
	}
}

/* Tile and split of a thread block. Tiles off the diagonal come first, those of one split side by side. */
typedef struct TileAt
{
	bool		diagonal;
	int			i;
	int			j;
	int			split;
	double	   *record;
} TileAt;

/* Returns the thread block's tile and split. */
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

/* A barrier for all threads of the block, whose warps may run different code. */
static __device__ inline void
block_barrier(void)
{
	asm volatile("barrier.sync 1, %0;" ::"n"(TILE_NTHREADS) : "memory");
}

/* Starts a quarter of a thread's copies into a stage. */
template <int NB, bool PLAIN, int QUARTER>
static __device__ inline void
tile_copy(const WeightedGramRows &from, const LineCopy &copy, int64_t row, TileStage<NB> *stage)
{
	constexpr bool LAST = QUARTER == 3;
	const int	line = threadIdx.x / 8;

	line_start<QUARTER * NB / 4, LAST ? NB + 1 : (QUARTER + 1) * NB / 4, LAST>
		(copy, stage->lines + line * staged_ld(NB) + threadIdx.x % 8 * 2, row < from.nrows);
	if (!PLAIN && QUARTER == 0 && threadIdx.x % 8 == 0)
		copy_weight(stage->weights + line, from, row);
}

/* Multiplies four rows of a stage, reads the next four from next_stage, and starts a quarter of the copies. */
template <int NB, bool PLAIN, int QUARTER, typename Part, typename Rows>
static __device__ inline void
tile_step(const GramJob &job, const LineCopy &copy, int64_t row, TileStage<NB> *free_stage,
		  const TileStage<NB> *next_stage,
		  Part &part, Rows (&rows)[2])
{
	tile_copy<NB, PLAIN, QUARTER>(job.from, copy, row, free_stage);
	if (QUARTER == 3)
	{
		copy_commit();
		copy_wait_for(job.nstages - 2);
		block_barrier();		/* the next stage has arrived for all threads, and all have read this one */
	}
	tile_read(rows[(QUARTER + 1) % 2], part, next_stage, (QUARTER + 1) % 4 * 4);
	tile_multiply(part, rows[QUARTER % 2]);
}

/*
 * Goes over a thread block's parts of the rows, every nsplits-th, with a warp's part of the tile. Eight threads copy a
 * line of each stage. Off the diagonal, lines 16 .. 31 are other columns of the rows of lines 0 .. 15.
 */
template <int NB, bool PLAIN, typename Part, typename Rows>
static __device__ inline void
tile_pieces(const GramJob &job, const TileAt &at, TileStage<NB> *stages, Part &part, Rows (&rows)[2])
{
	const int	nrows = at.diagonal ? TILE_NLINES : TILE_TEAM_NROWS;
	const int	line = threadIdx.x / 8;
	const int	column = (at.diagonal || line < TILE_TEAM_NROWS ? at.i : at.j) * (16 * NB);
	const int64_t stride = (int64_t) nrows * job.nsplits[at.diagonal];
	int64_t		row = (int64_t) nrows * at.split + line % nrows;
	LineCopy	copy = line_copy(job.from.rows + row * job.from.ld + column, min(job.p - column, 16 * NB),
								 row_parity(job.from, line), threadIdx.x % 8);
	int			stage = 0;

	for (int s = 0; s < job.nstages - 1; s++, row += stride, copy.source += stride * job.from.ld)
	{
		tile_copy<NB, PLAIN, 0>(job.from, copy, row, stages + s);
		tile_copy<NB, PLAIN, 1>(job.from, copy, row, stages + s);
		tile_copy<NB, PLAIN, 2>(job.from, copy, row, stages + s);
		tile_copy<NB, PLAIN, 3>(job.from, copy, row, stages + s);
		copy_commit();
	}
	copy_wait_for(job.nstages - 2);
	block_barrier();
	tile_read(rows[0], part, stages, 0);
	for (int64_t first = (int64_t) nrows * at.split; first < job.from.nrows; first += stride)
	{
		TileStage<NB> *here = stages + stage;
		TileStage<NB> *free_stage = stages + (stage == 0 ? job.nstages - 1 : stage - 1);

		stage = stage == job.nstages - 1 ? 0 : stage + 1;
		tile_step<NB, PLAIN, 0>(job, copy, row, free_stage, here, part, rows);
		tile_step<NB, PLAIN, 1>(job, copy, row, free_stage, here, part, rows);
		tile_step<NB, PLAIN, 2>(job, copy, row, free_stage, here, part, rows);
		tile_step<NB, PLAIN, 3>(job, copy, row, free_stage, stages + stage, part, rows);
		row += stride;
		copy.source += stride * job.from.ld;
	}
	copy_wait<0>();
	block_barrier();
}

/* Sums a warp's blocks of a tile on the diagonal, and adds the second team's sums to the first's. */
template <int NB, int ROLE, bool PLAIN, bool WIDE>
static __device__ inline void
tile_diagonal(const GramJob &job, const TileAt &at, TileStage<NB> *stages, const double *shift)
{
	constexpr int N = 8 * gram_most(NB);
	DiagonalPart<NB, ROLE, PLAIN, WIDE> part;
	DiagonalRows<NB> rows[2];
	double	   *other = (double *) stages + threadIdx.x % 128;

	tile_begin(part, job.from, shift);
	tile_pieces<NB, PLAIN>(job, at, stages, part, rows);
	if (threadIdx.x >= 128)
#pragma unroll
		for (int k = 0; k < N; k++)
			other[k * 128] = part.sums[k / 8][k / 4 % 2][k % 4];
	block_barrier();
	if (threadIdx.x < 128)
#pragma unroll
		for (int k = 0; k < N; k++)
			at.record[k * 128 + threadIdx.x] += part.sums[k / 8][k / 4 % 2][k % 4] + other[k * 128];
}

/* Adds rows to the tiles of a triangle. A thread block has one tile of one split. */
template <int NB, bool PLAIN, bool WIDE>
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
	__syncthreads();
	if (at.diagonal)
		switch (threadIdx.x / 32 % 4)
		{
			case 0:
				return tile_diagonal<NB, 0, PLAIN, WIDE>(job, at, stages, shift);
			case 1:
				return tile_diagonal<NB, 1, PLAIN, WIDE>(job, at, stages, shift);
			case 2:
				return tile_diagonal<NB, 2, PLAIN, WIDE>(job, at, stages, shift);
			default:
				return tile_diagonal<NB, 3, PLAIN, WIDE>(job, at, stages, shift);
		}
	if constexpr (NB % 2 == 0)
	{
		TilePart<NB, PLAIN, WIDE> part;
		TileRows<NB> rows[2];

		tile_begin(part, job.from, shift);
		tile_pieces<NB, PLAIN>(job, at, stages, part, rows);
#pragma unroll
		for (int k = 0; k < NB * NB; k++)
			at.record[k * TILE_NTHREADS + threadIdx.x] += part.sums[k / 4 / (NB / 2)][k / 4 % (NB / 2)][k % 4];
	}
}

#endif							/* GPUREG_WEIGHTED_GRAM_TILE_CUH */
