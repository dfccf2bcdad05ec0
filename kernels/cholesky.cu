/*
 * cholesky.cu: kernels of the solve in double-double; see cholesky.cuh.
 *
 * The factorization is right-looking and blocked. With U = L D, column k of tiles goes through the matrix in two
 * launches:
 *
 *    solve_kernel    U_Ik = A_Ik inv(L_kk)', L_Ik = U_Ik inv(D_k), for I > k
 *    update_kernel   A_IJ -= U_Ik L_Jk', for I >= J > k; the thread block of tile (k + 1, k + 1) then factors it
 *
 *         k
 *    k    L_kk                              solve_kernel: the tiles below L_kk
 *         L_Ik   A_(k+1)(k+1)               update_kernel: all tiles A, the first of which becomes L_(k+1)(k+1)
 *         L_Ik   A_IJ          A_IJ
 *
 * The one part that cannot be spread, 32 pivots one after another, thus runs beside the update. The inverse is made by
 * rows of tiles in the same way: X_IJ -= L_Ik X_kJ, and the thread blocks of row k + 1 finish with X_(k+1)J =
 * inv(L_(k+1)(k+1)) X_(k+1)J.
 *
 * A product a b is added as (hi, lo) += a b, with an exact sum of the high halves and all errors added to lo: 13
 * operations with the magnitude (Dot2 of Ogita, Rump and Oishi 2005, "Accurate sum and dot product", with double-double
 * factors). (hi, lo) is normalised every 32 products.
 */
#include "cholesky.cuh"

#include "compute/base/dd.h"

#include <limits.h>
#include <math.h>

#define TILE CHOLESKY_TILE
#define TILE_ENTRIES (TILE * TILE)
#define NTHREADS 256
#define MICRO 2					/* a thread of a product owns MICRO x MICRO entries, SPREAD apart */
#define SPREAD 16
/* Threads that share a row of a tile in a substitution; each has every LANES-th entry. */
#define LANES 8
#define OWNED (TILE / LANES)

/* A tile in shared memory, padded so that columns use different banks */
typedef double2 Stage[TILE][TILE + 1];

/* hi + lo, not normalised, and the sum of the terms' magnitudes */
typedef struct Sum
{
	double		hi;
	double		lo;
	double		magnitude;
} Sum;

static __device__ __forceinline__ GrDD
to_dd(double2 v)
{
	GrDD		r = {v.x, v.y};

	return r;
}

static __device__ __forceinline__ double2
from_dd(GrDD v)
{
	return make_double2(v.hi, v.lo);
}

/* sum -= a b, with the magnitude of the product. */
static __device__ __forceinline__ void
subtract_product(Sum &sum, double2 a, double2 b)
{
	double		p = -a.x * b.x;
	double		t = sum.hi + p;
	double		back = t - sum.hi;
	double		error = (sum.hi - (t - back)) + (p - back);

	/* the product's low half */
	double		e = __fma_rn(-a.x, b.x, -p);

	e = __fma_rn(-a.x, b.y, e);
	e = __fma_rn(-a.y, b.x, e);
	sum.lo += error + e;
	sum.hi = t;
	sum.magnitude += fabs(p);
}

/* Returns the sum's value, or exactly 0 if only rounding error is left. */
static __device__ __forceinline__ GrDD
settle(const Sum &sum, double noise)
{
	GrDD		v = gr_two_sum(sum.hi, sum.lo);

	return fabs(v.hi) <= noise * sum.magnitude ? gr_dd(0.0) : v;
}

/*
 * Returns a / b with gr_dd_div()'s bits, given inverse = 1 / b.hi: the quotient's high half is equal, as it is rounded
 * correctly (Markstein 1990). Only one division, of the pivot, remains in what a pivot waits for.
 */
static __device__ __forceinline__ GrDD
divide(GrDD a, GrDD b, double inverse)
{
	double		q = a.hi * inverse;
	GrDD		r;

	q = __fma_rn(__fma_rn(-q, b.hi, a.hi), inverse, q);
	r = gr_dd_mul_d(b, q);
	return gr_fast_two_sum(q, ((a.hi - r.hi) + (a.lo - r.lo)) * inverse);
}

static __host__ __device__ __forceinline__ int64_t
triangle(int64_t n)
{
	return n * (n + 1) / 2;
}

/* Returns where tile (i, j) begins. */
static __device__ __forceinline__ int64_t
tile_at(int i, int j)
{
	return (triangle(i) + j) * TILE_ENTRIES;
}

/* Sets *row and *col to those of tile number index of a triangle. */
static __device__ __forceinline__ void
tile_of(int64_t index, int *row, int *col)
{
	int			r = (int) ((sqrt(8.0 * (double) index + 1.0) - 1.0) * 0.5);

	while (triangle(r) > index)
		r--;
	while (triangle(r + 1) <= index)
		r++;
	*row = r;
	*col = (int) (index - triangle(r));
}

/* to[r][c] = tile[r][c] */
static __device__ __forceinline__ void
stage_rows(Stage to, const double2 *tile)
{
	for (int e = threadIdx.x; e < TILE_ENTRIES; e += NTHREADS)
		to[e / TILE][e % TILE] = tile[e];
}

/* to[c][r] = tile[r][c] */
static __device__ __forceinline__ void
stage_columns(Stage to, const double2 *tile)
{
	for (int e = threadIdx.x; e < TILE_ENTRIES; e += NTHREADS)
		to[e % TILE][e / TILE] = tile[e];
}

static __device__ __forceinline__ void
clear(Sum sums[MICRO][MICRO])
{
	for (int y = 0; y < MICRO; y++)
		for (int x = 0; x < MICRO; x++)
			sums[y][x] = Sum{0.0, 0.0, 0.0};
}

/* sums[y][x] -= sum over k of a[k][i] b[k][j], where i is the thread's row y and j its column x. */
static __device__ __forceinline__ void
subtract_tiles(Sum sums[MICRO][MICRO], const Stage a, const Stage b)
{
	const int	i = threadIdx.x / SPREAD;
	const int	j = threadIdx.x % SPREAD;

#pragma unroll 4
	for (int k = 0; k < TILE; k++)
	{
		double2		left[MICRO];
		double2		right[MICRO];

#pragma unroll
		for (int y = 0; y < MICRO; y++)
		{
			left[y] = a[k][i + y * SPREAD];
			right[y] = b[k][j + y * SPREAD];
		}
#pragma unroll
		for (int y = 0; y < MICRO; y++)
#pragma unroll
			for (int x = 0; x < MICRO; x++)
				subtract_product(sums[y][x], left[y], right[x]);
	}
}

/* Adds the sums of subtract_tiles() to a tile in memory; fresh: the tile counts as zeros. */
static __device__ __forceinline__ void
add_to_tile(double2 *tile, double *magnitudes, const Sum sums[MICRO][MICRO], bool fresh)
{
	const int	i = threadIdx.x / SPREAD;
	const int	j = threadIdx.x % SPREAD;

#pragma unroll
	for (int y = 0; y < MICRO; y++)
#pragma unroll
		for (int x = 0; x < MICRO; x++)
		{
			int			e = (i + y * SPREAD) * TILE + j + x * SPREAD;
			GrDD		v = gr_two_sum(sums[y][x].hi, sums[y][x].lo);

			tile[e] = from_dd(fresh ? v : gr_dd_add(to_dd(tile[e]), v));
			magnitudes[e] = sums[y][x].magnitude + (fresh ? 0.0 : magnitudes[e]);
		}
}

/*
 * Substitution with LANES threads per row and all rows side by side: x_k = r_k - sum over i < k of x_i L[k][i], or 0 if
 * aliased. A thread has the entries k of its row with k % LANES = its lane. columns[i][k] = L[k][i].
 */
static __device__ __forceinline__ void
substitute(Sum r[OWNED], const Stage columns, const bool *aliased, double noise)
{
	const int	lane = threadIdx.x % LANES;

#pragma unroll
	for (int t = 0; t < OWNED; t++)
#pragma unroll 1
		for (int owner = 0; owner < LANES; owner++)
		{
			const int	k = t * LANES + owner;
			GrDD		v = settle(r[t], noise);
			double2		x;

			x.x = __shfl_sync(0xffffffffu, aliased[k] ? 0.0 : v.hi, owner, LANES);
			x.y = __shfl_sync(0xffffffffu, aliased[k] ? 0.0 : v.lo, owner, LANES);
			if (lane == owner)
			{
				r[t].hi = x.x;
				r[t].lo = x.y;
			}
#pragma unroll
			for (int s = t; s < OWNED; s++)
				if (s * LANES + lane > k)
					subtract_product(r[s], x, columns[k][s * LANES + lane]);
		}
}

/* Data that the threads of factor_tile() exchange in shared memory. Index k & 1 of pivot k: two pivots are in use. */
typedef struct Panel
{
	double2		pivot[2];
	double		inverse[2];		/* 1 / pivot, rounded */
	bool		left_out[2];
	double2		u[2][TILE];
	double2		l[2][TILE];
	double		least_pivot[TILE];
	bool		aliased[TILE];
} Panel;

/* Sets the pivot and whether its term is aliased, by the thread that owns the pivot. */
static __device__ __forceinline__ void
set_pivot(const Cholesky &c, Panel &panel, int64_t term, int k, GrDD d, double inverse)
{
	/* padding, and the last row, which is no term, are left out of later steps */
	bool		out = panel.aliased[k] || !(d.hi > panel.least_pivot[k]);

	panel.pivot[k & 1] = from_dd(d);
	panel.inverse[k & 1] = inverse;
	panel.left_out[k & 1] = out;
	c.d[term] = from_dd(d);
	c.aliased[term] = out;
}

/*
 * Factors the diagonal tile (at, at) in place into L, and writes D and the aliased terms, by one thread block. Thread
 * (i, lane) keeps the entries t LANES + lane of row i in registers. For each pivot k, the owners of column k publish
 * column k of U = L D and of L in panel, and all threads subtract the product from the columns after k. Panel has two
 * sides, for even and odd pivots, so that one is read while the next is written.
 */
static __device__ void
factor_tile(const Cholesky &c, int at, Panel &panel)
{
	const int	i = threadIdx.x / LANES;
	const int	lane = threadIdx.x % LANES;
	double2    *tile = c.l + tile_at(at, at);
	const double *magnitudes = c.l_magnitudes + tile_at(at, at);
	const int64_t first = (int64_t) at * TILE;
	Sum			r[OWNED];

#pragma unroll
	for (int t = 0; t < OWNED; t++)
	{
		int			e = i * TILE + t * LANES + lane;

		r[t] = Sum{tile[e].x, tile[e].y, magnitudes[e]};
	}
	if (threadIdx.x < TILE)
	{
		panel.least_pivot[threadIdx.x] = c.least_pivot[first + threadIdx.x];
		panel.aliased[threadIdx.x] = c.aliased[first + threadIdx.x];
	}
	__syncthreads();
#pragma unroll
	for (int t = 0; t < OWNED; t++)
#pragma unroll 1
		for (int owner = 0; owner < LANES; owner++)
		{
			const int	k = t * LANES + owner;
			const int	side = k & 1;
			GrDD		v = gr_dd(0.0);

			if (lane == owner && i >= k)
			{
				/* the division need not wait for the rest */
				double		inverse = i == k ? 1.0 / (r[t].hi + r[t].lo) : 0.0;

				v = settle(r[t], c.noise);
				if (i == k)
					set_pivot(c, panel, first + k, k, v, inverse);
			}
			__syncthreads();
			if (lane == owner && i > k)
			{
				v = panel.left_out[side] ? gr_dd(0.0) : v;
				panel.u[side][i] = from_dd(v);
				v = panel.left_out[side] ? v : divide(v, to_dd(panel.pivot[side]), panel.inverse[side]);
				panel.l[side][i] = from_dd(v);
				tile[i * TILE + k] = from_dd(v);
			}
			__syncthreads();
#pragma unroll
			for (int s = t; s < OWNED; s++)
			{
				int			j = s * LANES + lane;

				if (j > k && j <= i)
					subtract_product(r[s], panel.u[side][i], panel.l[side][j]);
			}
		}
}

/*
 * Kernels
 */

/* Scales packed entries into tiles, with their magnitudes; a thread block has one tile. */
static __global__ void
load_kernel(Cholesky c, int skip, bool right_hand_side)
{
	const int64_t first_entry = triangle(skip);
	int			row;
	int			col;

	tile_of(blockIdx.x, &row, &col);
	for (int e = threadIdx.x; e < TILE_ENTRIES; e += NTHREADS)
	{
		int64_t		i = (int64_t) row * TILE + e / TILE;
		int64_t		j = (int64_t) col * TILE + e % TILE;
		int64_t		place = (int64_t) blockIdx.x * TILE_ENTRIES + e;
		GrDD		a = gr_dd(0.0);

		if (i <= c.nterms && j <= i && !(right_hand_side && j == c.nterms))
		{
			int64_t		k = triangle(i + skip) + skip + j - first_entry;

			a.hi = c.hi[k];
			a.lo = c.lo[k];
			if (!isfinite(a.hi) || !isfinite(a.lo))
				atomicMin(c.first_bad, (unsigned long long) (k + first_entry));
			a = gr_dd_scale(gr_dd_scale(a, c.scale[i]), c.scale[j]);
		}
		c.l[place] = from_dd(a);
		c.l_magnitudes[place] = fabs(a.hi);
	}
}

/* Factors the first tile on the diagonal. */
static __global__ void __launch_bounds__(NTHREADS)
panel_kernel(Cholesky c)
{
	__shared__ Panel panel;

	factor_tile(c, 0, panel);
}

/* Solves column k below the diagonal, a tile per thread block: U = A inv(L_kk)', and L = U inv(D_k) in A. */
static __global__ void __launch_bounds__(NTHREADS)
solve_kernel(Cholesky c, int k)
{
	__shared__ Stage columns;
	__shared__ bool aliased[TILE];
	const int	row = k + 1 + blockIdx.x;
	const int	lane = threadIdx.x % LANES;
	const int	first = threadIdx.x / LANES * TILE + lane;
	double2    *tile = c.l + tile_at(row, k);
	const double *magnitudes = c.l_magnitudes + tile_at(row, k);
	double2    *u = c.u + (int64_t) row * TILE_ENTRIES;
	Sum			r[OWNED];

#pragma unroll
	for (int t = 0; t < OWNED; t++)
	{
		double2		a = tile[first + t * LANES];

		r[t] = Sum{a.x, a.y, magnitudes[first + t * LANES]};
	}
	stage_columns(columns, c.l + tile_at(k, k));
	if (threadIdx.x < TILE)
		aliased[threadIdx.x] = c.aliased[(int64_t) k * TILE + threadIdx.x];
	__syncthreads();
	substitute(r, columns, aliased, c.noise);
#pragma unroll
	for (int t = 0; t < OWNED; t++)
	{
		int			j = t * LANES + lane;
		GrDD		v = {r[t].hi, r[t].lo};

		u[first + t * LANES] = from_dd(v);
		if (!aliased[j])
			v = gr_dd_div(v, to_dd(c.d[(int64_t) k * TILE + j]));
		tile[first + t * LANES] = from_dd(v);
	}
}

/* Subtracts U_Ik L_Jk' from A_IJ, a tile per thread block. The first thread block then factors its tile. */
static __global__ void __launch_bounds__(NTHREADS)
update_kernel(Cholesky c, int k)
{
	__shared__ Stage left;
	__shared__ Stage right;
	__shared__ Panel panel;
	Sum			sums[MICRO][MICRO];
	int			row;
	int			col;

	tile_of(blockIdx.x, &row, &col);
	row += k + 1;
	col += k + 1;
	stage_columns(left, c.u + (int64_t) row * TILE_ENTRIES);
	stage_columns(right, c.l + tile_at(col, k));
	__syncthreads();
	clear(sums);
	subtract_tiles(sums, left, right);
	add_to_tile(c.l + tile_at(row, col), c.l_magnitudes + tile_at(row, col), sums, false);
	if (blockIdx.x == 0)
	{
		__syncthreads();
		factor_tile(c, k + 1, panel);
	}
}

/* Copies the last row of L, from which the back substitution starts. */
static __global__ void
back_prepare_kernel(Cholesky c)
{
	const int	j = blockIdx.x * blockDim.x + threadIdx.x;
	const int	last = c.ntiles - 1;

	if (j < c.ntiles * TILE)
	{
		double2		z = make_double2(0.0, 0.0);

		if (j < c.nterms)
			z = c.l[tile_at(last, j / TILE) + c.nterms % TILE * TILE + j % TILE];
		c.row[j] = z;
		c.coef[j] = z;
		c.coef_magnitudes[j] = fabs(z.x);
	}
}

/* Computes the 32 coefficients of a diagonal tile, one per lane, the last one first. rows[k][j] = L[k][j]. */
static __device__ void
back_tile(const Cholesky &c, const Stage rows, Sum r, int64_t first)
{
	const int	j = threadIdx.x;
	const bool	aliased = c.aliased[first + j];
	GrDD		mine = gr_dd(0.0);

	for (int k = TILE - 1; k >= 0; k--)
	{
		GrDD		v = aliased ? gr_dd(0.0) : settle(r, c.noise);
		double2		x;

		x.x = __shfl_sync(0xffffffffu, v.hi, k);
		x.y = __shfl_sync(0xffffffffu, v.lo, k);
		if (j == k)
			mine = v;
		if (j < k)
			subtract_product(r, rows[k][j], x);
	}
	c.coef[first + j] = from_dd(mine);
}

/*
 * Step k: subtracts the terms of tile k's coefficients from those of the tiles before, a tile per thread block, and
 * then computes the coefficients of tile k - 1. The first step has no tile k, and one thread block for the last tile.
 */
static __global__ void __launch_bounds__(NTHREADS)
back_kernel(Cholesky c, int k)
{
	__shared__ Stage rows;
	__shared__ Sum parts[NTHREADS / TILE][TILE];
	const int	j = threadIdx.x % TILE;
	const int	part = threadIdx.x / TILE;
	const int	col = k == c.ntiles ? k - 1 : blockIdx.x;
	const int64_t mine = (int64_t) col * TILE + j;
	Sum			sum = {0.0, 0.0, 0.0};

	if (k < c.ntiles)
		for (int i = part * (TILE * TILE / NTHREADS); i < (part + 1) * (TILE * TILE / NTHREADS); i++)
			subtract_product(sum, c.l[tile_at(k, col) + i * TILE + j], c.coef[(int64_t) k * TILE + i]);
	parts[part][j] = sum;
	if (col == k - 1)
		stage_rows(rows, c.l + tile_at(col, col));
	__syncthreads();
	if (part > 0)
		return;

	GrDD		total = to_dd(c.coef[mine]);

	sum.magnitude = c.coef_magnitudes[mine];
	for (int p = 0; p < NTHREADS / TILE; p++)
	{
		total = gr_dd_add(total, gr_two_sum(parts[p][j].hi, parts[p][j].lo));
		sum.magnitude += parts[p][j].magnitude;
	}
	c.coef[mine] = from_dd(total);
	c.coef_magnitudes[mine] = sum.magnitude;
	sum.hi = total.hi;
	sum.lo = total.lo;
	if (col == k - 1)
		back_tile(c, rows, sum, (int64_t) col * TILE);
}

/*
 * Computes X_(row,col) = inv(L_(row,row)) X_(row,col). A row of the substitution is a column of X; on the diagonal, X
 * begins as the identity.
 */
static __device__ void
inverse_tile(const Cholesky &c, int row, int col, Stage columns, bool *aliased)
{
	const int	lane = threadIdx.x % LANES;
	const int	j = threadIdx.x / LANES;
	double2    *tile = c.x + tile_at(row, col);
	const double *magnitudes = c.x_magnitudes + tile_at(row, col);
	Sum			r[OWNED];

	stage_columns(columns, c.l + tile_at(row, row));
	if (threadIdx.x < TILE)
		aliased[threadIdx.x] = c.aliased[(int64_t) row * TILE + threadIdx.x] || row * TILE + threadIdx.x >= c.nterms;
#pragma unroll
	for (int t = 0; t < OWNED; t++)
	{
		int			k = t * LANES + lane;

		if (row == col)
			r[t] = Sum{k == j ? 1.0 : 0.0, 0.0, 0.0};
		else
			r[t] = Sum{tile[k * TILE + j].x, tile[k * TILE + j].y, magnitudes[k * TILE + j]};
	}
	__syncthreads();
	substitute(r, columns, aliased, c.noise);
#pragma unroll
	for (int t = 0; t < OWNED; t++)
		tile[(t * LANES + lane) * TILE + j] = make_double2(r[t].hi, r[t].lo);
}

/*
 * Step k of inv(L): X_IJ -= L_Ik X_kJ for I > k >= J, a tile per thread block. The first thread blocks have row k + 1,
 * and finish it.
 */
static __global__ void __launch_bounds__(NTHREADS)
inverse_kernel(Cholesky c, int k)
{
	__shared__ Stage left;
	__shared__ Stage right;
	__shared__ bool aliased[TILE];
	const int	rest = blockIdx.x - (k + 2);
	const int	row = rest < 0 ? k + 1 : k + 2 + rest / (k + 1);
	const int	col = rest < 0 ? blockIdx.x : rest % (k + 1);
	Sum			sums[MICRO][MICRO];

	if (col <= k)
	{
		stage_columns(left, c.l + tile_at(row, k));
		stage_rows(right, c.x + tile_at(k, col));
		__syncthreads();
		clear(sums);
		subtract_tiles(sums, left, right);
		add_to_tile(c.x + tile_at(row, col), c.x_magnitudes + tile_at(row, col), sums, col == k);
		__syncthreads();
	}
	if (row == k + 1)
		inverse_tile(c, row, col, left, aliased);
}

/* Writes entries (a, b) and (b, a) of the result. */
static __device__ __forceinline__ void
put_inverse(const Cholesky &c, int64_t a, int64_t b, const Sum &sum, double divisor)
{
	if (a >= c.nterms || b > a)
		return;

	/* sum is what was subtracted. One factor at a time keeps products in range. + 0.0 turns -0 into 0. */
	double		v = -gr_dd_to_double(settle(sum, c.noise)) * c.scale[a] / divisor * c.scale[b] / divisor + 0.0;

	if (c.aliased[a] || c.aliased[b])
		v = nan("");
	c.inverse[a * c.nterms + b] = v;
	c.inverse[b * c.nterms + a] = v;
}

/*
 * Computes tiles of inv(L)' W inv(L), one per thread block: the sum over K >= I of X_KI' W_K X_KJ, longest sums first.
 */
static __global__ void __launch_bounds__(NTHREADS)
covariance_kernel(Cholesky c, int first, double divisor)
{
	__shared__ Stage left;
	__shared__ Stage right;
	Sum			sums[MICRO][MICRO];
	int			row;
	int			col;

	tile_of(triangle(first) + blockIdx.x, &row, &col);
	clear(sums);
	for (int k = row; k < c.nterm_tiles; k++)
	{
		const double2 *tile = c.x + tile_at(k, row);

		__syncthreads();
		for (int e = threadIdx.x; e < TILE_ENTRIES; e += NTHREADS)
			left[e / TILE][e % TILE] = from_dd(gr_dd_mul(to_dd(tile[e]), to_dd(c.weights[k * TILE + e / TILE])));
		stage_rows(right, c.x + tile_at(k, col));
		__syncthreads();
		subtract_tiles(sums, left, right);
#pragma unroll
		for (int y = 0; y < MICRO; y++)
#pragma unroll
			for (int x = 0; x < MICRO; x++)
			{
				GrDD		v = gr_two_sum(sums[y][x].hi, sums[y][x].lo);

				sums[y][x].hi = v.hi;
				sums[y][x].lo = v.lo;
			}
	}
#pragma unroll
	for (int y = 0; y < MICRO; y++)
#pragma unroll
		for (int x = 0; x < MICRO; x++)
			put_inverse(c, (int64_t) row * TILE + threadIdx.x / SPREAD + y * SPREAD,
						(int64_t) col * TILE + threadIdx.x % SPREAD + x * SPREAD, sums[y][x], divisor);
}

/*
 * Launchers
 */

/* Carves parts of one allocation, aligned as by cudaMalloc(); with base NULL it only counts. */
typedef struct Arena
{
	char	   *base;
	size_t		used;
} Arena;

template <typename T>
static void
take(Arena *arena, T **array, size_t n)
{
	*array = arena->base == NULL ? NULL : (T *) (arena->base + arena->used);
	arena->used += (n * sizeof(T) + 255) & ~(size_t) 255;
}

size_t
gr_cholesky_place(Cholesky *c, int nterms, int64_t nentries, bool want_inverse, void *memory)
{
	Arena		arena = {(char *) memory, 0};
	size_t		padded;
	size_t		square;
	size_t		before;

	c->nterms = nterms;
	c->ntiles = (nterms + TILE) / TILE;
	c->nterm_tiles = (nterms + TILE - 1) / TILE;
	padded = (size_t) c->ntiles * TILE;
	square = (size_t) triangle(c->ntiles) * TILE_ENTRIES;
	take(&arena, &c->d, padded);
	take(&arena, &c->row, padded);
	take(&arena, &c->coef, padded);
	take(&arena, &c->first_bad, 1);
	take(&arena, &c->aliased, padded);
	c->results_nbytes = arena.used;
	take(&arena, &c->scale, padded);
	take(&arena, &c->least_pivot, padded);
	take(&arena, &c->weights, padded);
	take(&arena, &c->coef_magnitudes, padded);
	take(&arena, &c->u, (size_t) c->ntiles * TILE_ENTRIES);

	/* L is no longer needed when the result is written: 24 bytes x half the entries hold 8 bytes x all entries */
	before = arena.used;
	take(&arena, &c->inverse, (size_t) nterms * (size_t) nterms);
	arena.used = before;
	take(&arena, &c->l, square);
	take(&arena, &c->l_magnitudes, square);

	/* the packed entries are no longer needed when inv(L) is written */
	before = arena.used;
	take(&arena, &c->hi, (size_t) nentries);
	take(&arena, &c->lo, (size_t) nentries);
	if (want_inverse)
	{
		size_t		packed_end = arena.used;

		arena.used = before;
		take(&arena, &c->x, square);
		take(&arena, &c->x_magnitudes, square);
		arena.used = arena.used > packed_end ? arena.used : packed_end;
	}
	return arena.used;
}

cudaError_t
gr_cholesky_load_launch(const Cholesky *c, int skip, bool right_hand_side, cudaStream_t stream)
{
	load_kernel<<<(unsigned) triangle(c->ntiles), NTHREADS, 0, stream>>>(*c, skip, right_hand_side);
	return cudaGetLastError();
}

cudaError_t
gr_cholesky_factor_launch(const Cholesky *c, int k, cudaStream_t stream)
{
	int			left = c->ntiles - 1 - k;

	if (k < 0)
		panel_kernel<<<1, NTHREADS, 0, stream>>>(*c);
	else
	{
		solve_kernel<<<left, NTHREADS, 0, stream>>>(*c, k);
		update_kernel<<<(unsigned) triangle(left), NTHREADS, 0, stream>>>(*c, k);
	}
	return cudaGetLastError();
}

cudaError_t
gr_cholesky_back_prepare_launch(const Cholesky *c, cudaStream_t stream)
{
	back_prepare_kernel<<<(c->ntiles * TILE + NTHREADS - 1) / NTHREADS, NTHREADS, 0, stream>>>(*c);
	return cudaGetLastError();
}

cudaError_t
gr_cholesky_back_launch(const Cholesky *c, int k, cudaStream_t stream)
{
	back_kernel<<<k == c->ntiles ? 1 : k, NTHREADS, 0, stream>>>(*c, k);
	return cudaGetLastError();
}

cudaError_t
gr_cholesky_inverse_launch(const Cholesky *c, int k, cudaStream_t stream)
{
	int			nrest = c->nterm_tiles - 2 - k;

	inverse_kernel<<<k + 2 + nrest * (k + 1), NTHREADS, 0, stream>>>(*c, k);
	return cudaGetLastError();
}

cudaError_t
gr_cholesky_covariance_launch(const Cholesky *c, int first, int end, double divisor, cudaStream_t stream)
{
	covariance_kernel<<<(unsigned) (triangle(end) - triangle(first)), NTHREADS, 0, stream>>>(*c, first, divisor);
	return cudaGetLastError();
}
