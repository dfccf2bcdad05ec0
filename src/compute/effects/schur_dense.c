/*
 * schur_dense.c: factors a dense positive semidefinite matrix with diagonal pivoting; see schur.h.
 *
 * Blocked as LAPACK's dpstrf: within a block of columns, each pivot's column is completed from the block's earlier ones
 * alone; the trailing matrix is updated once per block. The pivot with the largest share of its own size is next, so
 * that the first share below the tolerance tells the rank.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compute/effects/four.h"
#include "compute/effects/schur.h"

#define BLOCK 48

/* Exchanges rows and columns i < j of the lower triangle, and of the finished columns. */
static void
exchange(GrDense *dense, double *size, int i, int j)
{
	int			m = dense->m;
	double	   *a = dense->a;
	double		t;
	int			o;

	if (i == j)
		return;
#define SWAP(x, y) (t = (x), (x) = (y), (y) = t)
	for (int k = 0; k < i; k++)
		SWAP(a[(int64_t) i * m + k], a[(int64_t) j * m + k]);
	SWAP(a[(int64_t) i * m + i], a[(int64_t) j * m + j]);
	for (int k = i + 1; k < j; k++)
		SWAP(a[(int64_t) k * m + i], a[(int64_t) j * m + k]);
	for (int k = j + 1; k < m; k++)
		SWAP(a[(int64_t) k * m + i], a[(int64_t) k * m + j]);
	SWAP(size[i], size[j]);
#undef SWAP
	o = dense->order[i];
	dense->order[i] = dense->order[j];
	dense->order[j] = o;
}

/* Returns the sum of n products. */
GR_FOUR_VERSIONS
static double
dot(const double *a, const double *b, int n)
{
	GrFour		sum = {0, 0, 0, 0};
	double		rest = 0;
	int			k = 0;

	for (; k + 4 <= n; k += 4)
		sum += GR_FOUR_FROM(a + k) * GR_FOUR_FROM(b + k);
	for (; k < n; k++)
		rest += a[k] * b[k];
	return (sum[0] + sum[1]) + (sum[2] + sum[3]) + rest;
}

/* Subtracts from the lower triangle, from row and column `from` on, the products of the block's columns. */
GR_FOUR_VERSIONS
static void
update_trailing(double *a, int m, int from, const double *left, const double *scaled, int width)
{
	for (int i = from; i < m; i++)
	{
		double	   *row = a + (int64_t) i * m;
		const double *l = left + (int64_t) i * BLOCK;
		int			j = from;

		for (; j + 4 <= i + 1; j += 4)
		{
			const double *s = scaled + (int64_t) j;
			GrFour		sum = GR_FOUR_FROM(row + j);

			for (int k = 0; k < width; k++)
				sum -= l[k] * GR_FOUR_FROM(s + (int64_t) k * m);
			GR_FOUR_AT(row + j) = sum;
		}
		for (; j <= i; j++)
			for (int k = 0; k < width; k++)
				row[j] -= l[k] * scaled[(int64_t) k * m + j];
	}
}

/* Work of a block */
typedef struct Block
{
	double	   *size;			/* by row: what its pivot is compared to */
	double	   *rest;			/* by row: its diagonal element, less the block's products */
	double	   *left;			/* m x BLOCK: multipliers of the block's columns */
	double	   *scaled;			/* BLOCK x m: these times their pivots, by column */
	double	   *times;			/* BLOCK: a row's multipliers times the pivots */
} Block;

/* Finds the pivot with the largest share of its size. */
static int
find_pivot(const GrDense *dense, const Block *block, int from)
{
	int			best = from;

	for (int i = from + 1; i < dense->m; i++)
		if (block->rest[i] * block->size[best] > block->rest[best] * block->size[i])
			best = i;
	return best;
}

/* Takes pivot k, in the block that begins at from. Returns false if no pivot is left. */
static bool
take_pivot(GrDense *dense, Block *block, int from, int k)
{
	int			m = dense->m;
	double	   *a = dense->a;
	int			p = find_pivot(dense, block, k);
	int			width = k - from;
	double		d = block->rest[p];

	if (!(d > GR_SCHUR_TOLERANCE * block->size[p]))
		return false;
	exchange(dense, block->size, k, p);
	block->rest[p] = block->rest[k];
	for (int c = 0; c < width; c++)
		block->times[c] = a[(int64_t) k * m + from + c] * a[(int64_t) (from + c) * m + from + c];
	a[(int64_t) k * m + k] = d;
	for (int i = k + 1; i < m; i++)
	{
		double	   *row = a + (int64_t) i * m;
		double		value = (row[k] - dot(row + from, block->times, width)) / d;

		row[k] = value;
		block->rest[i] -= value * value * d;
	}
	return true;
}

/* Subtracts the products of the block's columns [from, to) from the rows behind it. */
static void
finish_block(GrDense *dense, Block *block, int from, int to)
{
	int			m = dense->m;

	for (int i = to; i < m; i++)
		for (int k = from; k < to; k++)
		{
			double		l = dense->a[(int64_t) i * m + k];

			block->left[(int64_t) i * BLOCK + k - from] = l;
			block->scaled[(int64_t) (k - from) * m + i] = l * dense->a[(int64_t) k * m + k];
		}
	update_trailing(dense->a, m, to, block->left, block->scaled, to - from);
}

static bool
factor_blocks(GrDense *dense, Block *block, const GrHost *host)
{
	int			m = dense->m;

	for (int from = 0; from < m; from += BLOCK)
	{
		int			to = from + BLOCK < m ? from + BLOCK : m;

		if (gr_canceled(host))
			return false;
		for (int i = from; i < m; i++)
			block->rest[i] = dense->a[(int64_t) i * m + i];
		for (int k = from; k < to; k++, dense->rank++)
			if (!take_pivot(dense, block, from, k))
				return true;
		finish_block(dense, block, from, to);
	}
	return true;
}

bool
gr_dense_factor(GrDense *dense, const double *size, const GrHost *host)
{
	size_t		m = (size_t) dense->m;
	double	   *memory = malloc((m * (2 + 2 * BLOCK) + BLOCK + 1) * sizeof(double));
	Block		block = {
		.size = memory,.rest = memory + m,.left = memory + 2 * m,.scaled = memory + (2 + BLOCK) * m,
		.times = memory + (2 + 2 * BLOCK) * m
	};
	bool		ok;

	dense->rank = 0;
	if (memory == NULL)
		return false;
	memcpy(block.size, size, m * sizeof(double));
	for (int k = 0; k < dense->m; k++)
		dense->order[k] = k;
	ok = factor_blocks(dense, &block, host);
	free(memory);
	return ok;
}

GR_FOUR_VERSIONS
static void
solve_lower(const GrDense *dense, double *x, int stride)
{
	for (int i = 0; i < dense->rank; i++)
	{
		const double *row = dense->a + (int64_t) i * dense->m;
		double	   *to = x + (int64_t) i * stride;

		for (int k = 0; k < i; k++)
			for (int c = 0; c < stride; c += GR_EFFECT_LANES)
				GR_FOUR_AT(to + c) -= row[k] * GR_FOUR_FROM(x + (int64_t) k * stride + c);
	}
}

GR_FOUR_VERSIONS
static void
solve_upper(const GrDense *dense, double *x, int stride)
{
	for (int i = dense->rank - 1; i >= 0; i--)
	{
		const double *row = dense->a + (int64_t) i * dense->m;
		const double *from = x + (int64_t) i * stride;

		for (int k = 0; k < i; k++)
			for (int c = 0; c < stride; c += GR_EFFECT_LANES)
				GR_FOUR_AT(x + (int64_t) k * stride + c) -= row[k] * GR_FOUR_FROM(from + c);
	}
}

void
gr_dense_solve(const GrDense *dense, double *b, int stride, double *work)
{
	size_t		nbytes = (size_t) stride * sizeof(double);

	for (int k = 0; k < dense->m; k++)
		memcpy(work + (int64_t) k * stride, b + (int64_t) dense->order[k] * stride, nbytes);
	solve_lower(dense, work, stride);
	for (int k = 0; k < dense->rank; k++)
		for (int c = 0; c < stride; c++)
			work[(int64_t) k * stride + c] /= dense->a[(int64_t) k * dense->m + k];
	for (int k = dense->rank; k < dense->m; k++)
		memset(work + (int64_t) k * stride, 0, nbytes);
	solve_upper(dense, work, stride);
	for (int k = 0; k < dense->m; k++)
		memcpy(b + (int64_t) dense->order[k] * stride, work + (int64_t) k * stride, nbytes);
}
