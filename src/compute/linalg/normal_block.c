/*
 * normal_block.c: normal equations whose largest diagonal block is eliminated first; see normal.h.
 *
 * With D the block's pivots, B the products of the other terms (and, as the last row, of the response) with the block's
 * terms, C the products of the other terms and L E L' = C - B D^-1 B':
 *
 *	 inverse of A   others                     block
 *	 others         R E^-1 R'                  -R E^-1 W
 *	 block                                     D^-1 + W' E^-1 W
 *
 * where R = inv(L)' and W = inv(L) B D^-1. All sums are in double-double.
 */
#include "compute/linalg/normal.h"

#include <math.h>
#include <string.h>

/* Least number of terms in a block */
#define BLOCK_MIN 64

/*
 * A pivot that is this many times the least pivot, in the order that makes it smallest, is no matter of rounding
 * errors: the term is not aliased in any order.
 */
#define CLEAR_PIVOT 1e4

/* Work of a product in nanoseconds; see GrPoll. */
#define PRODUCT_WORK 2

/* Returns the index among all terms of the other term i; the response is the last one. */
static inline int64_t
other(const GrNormalBlock *block, int64_t i)
{
	return i < block->first ? i : i + block->n;
}

/*
 * Finds the longest run of adjacent terms whose products with one another are 0. Shifted columns, and the ones that
 * their shifts move, stay outside.
 */
static void
find_block(const GrNormalFactor *f, const GrNormalMatrix *a, GrNormalBlock *block)
{
	int64_t		start = a->skip == 0 ? 1 : 0;

	block->n = 0;
	for (int64_t i = start; i < f->m; i++)
	{
		int64_t		j = i - 1;

		if (gr_normal_shift_of(a, i) != 0)
		{
			start = i + 1;
			continue;
		}
		while (j >= start && a->hi[gr_packed(i + a->skip, j + a->skip)] == 0)
			j--;
		start = j + 1;
		if (i + 1 - start > block->n)
		{
			block->first = (int) start;
			block->n = (int) (i + 1 - start);
		}
	}
}

/* True if it pays to eliminate the block, and the matrices fit into the memory of a factorisation. */
static bool
is_useful(const GrNormalFactor *f, const GrNormalMatrix *a, const GrNormalBlock *block)
{
	return block->n >= BLOCK_MIN && f->m - block->n + 1 <= block->n && a->moves == NULL && !a->right_hand_side &&
		a->hi != f->inverse.hi && (a->max_rank == 0 || f->m <= a->max_rank);
}

/* Entry (i, j) of the scaled matrix, in any order of i and j */
static inline GrDD
entry_of(const GrNormalFactor *f, const GrNormalMatrix *a, int64_t i, int64_t j)
{
	return gr_normal_entry(f, a, i > j ? i : j, i > j ? j : i);
}

/* Loads B, by rows, and B D^-1. Returns false if a pivot of the block is too small or an entry is not finite. */
static bool
load_block(GrNormalFactor *f, const GrNormalMatrix *a, GrDDVector products, GrDDVector shares)
{
	GrNormalBlock *block = &f->block;

	for (int64_t l = 0; l < block->n; l++)
	{
		int64_t		term = block->first + l;
		GrDD		pivot = entry_of(f, a, term, term);

		if (!(pivot.hi > CLEAR_PIVOT * f->ldl.least_pivot[term]))
			return false;
		gr_dd_set(block->pivots, l, pivot);
		for (int64_t i = 0; i < block->rest.n; i++)
		{
			GrDD		product = entry_of(f, a, other(block, i), term);

			if (!isfinite(product.hi) || !isfinite(product.lo))
				return false;
			gr_dd_set(products, i * block->n + l, product);
			gr_dd_set(shares, i * block->n + l, gr_dd_div(product, pivot));
		}
	}
	return true;
}

/* Sets block->rest to the Schur complement. Returns false if an entry is not finite; polls. */
static bool
eliminate(GrNormalFactor *f, const GrNormalMatrix *a, GrDDVector products, GrDDVector shares, GrPoll *poll)
{
	GrNormalBlock *block = &f->block;
	GrLdl	   *rest = &block->rest;

	for (int64_t i = 0; i < rest->n; i++)
	{
		rest->aliased[i] = false;
		rest->least_pivot[i] = CLEAR_PIVOT * f->ldl.least_pivot[other(block, i)];
		for (int64_t j = 0; j <= i; j++)
		{
			GrDD		sum = entry_of(f, a, other(block, i), other(block, j));

			if (!isfinite(sum.hi) || !isfinite(sum.lo) || gr_poll(poll, PRODUCT_WORK * block->n))
				return false;
			gr_dd_set(rest->l, gr_packed(i, j), gr_dd_residual(sum, gr_dd_from(products, i * block->n),
															   gr_dd_from(shares, j * block->n), block->n));
		}
	}
	return true;
}

/* Sets f->ldl.u to the scaled solution. block->weights still has (B D^-1)', and shares has B D^-1. */
static void
fill_solution(GrNormalFactor *f, GrDDVector shares)
{
	const GrNormalBlock *block = &f->block;
	int64_t		s = block->rest.npivots;

	for (int64_t i = 0; i < s; i++)
		gr_dd_set(f->ldl.u, other(block, i), gr_dd_get(block->rest.u, i));
	for (int64_t l = 0; l < block->n; l++)
		gr_dd_set(f->ldl.u, block->first + l,
				  gr_dd_residual(gr_dd_get(shares, s * block->n + l), gr_dd_from(block->weights, l * s),
								 gr_dd_from(block->rest.u, 0), s));
}

/* Index that entry 0 of row a of R would have; the row begins at its diagonal. */
static inline int64_t
inverse_row(const GrNormalBlock *block, int64_t a)
{
	return a * block->rest.npivots - a * (a - 1) / 2 - a;
}

/* Computes R and W'. Returns false if canceled. */
static bool
invert_rest(GrNormalBlock *block, GrPoll *poll)
{
	const GrLdl *rest = &block->rest;
	int64_t		s = rest->npivots;

	for (int64_t l = 0; l < block->n; l++)
	{
		if (gr_poll(poll, PRODUCT_WORK * s * s))
			return false;
		for (int64_t k = 1; k < s; k++)
			gr_dd_set(block->weights, l * s + k,
					  gr_dd_residual(gr_dd_get(block->weights, l * s + k), gr_dd_from(rest->l, gr_packed(k, 0)),
									 gr_dd_from(block->weights, l * s), k));
	}
	for (int64_t i = 0; i < s; i++)
	{
		int64_t		mine = inverse_row(block, i);

		gr_dd_set(block->inverse, mine + i, gr_dd(1.0));
		for (int64_t k = i + 1; k < s; k++)
		{
			if (gr_poll(poll, PRODUCT_WORK * (k - i)))
				return false;
			gr_dd_set(block->inverse, mine + k, gr_dd_residual(gr_dd(0.0), gr_dd_from(rest->l, gr_packed(k, i)),
															   gr_dd_from(block->inverse, mine + i), k - i));
		}
	}
	return true;
}

/* True if no term can be aliased in any order: an entry of the inverse's diagonal is 1 / the term's last pivot. */
static bool
is_clear(const GrNormalFactor *f)
{
	const GrNormalBlock *block = &f->block;
	const GrLdl *rest = &block->rest;
	int64_t		s = rest->npivots;
	bool		clear = true;

	for (int64_t i = 0; i < s; i++)
	{
		double		sum = 0;

		for (int64_t k = i; k < s; k++)
			sum += pow(block->inverse.hi[inverse_row(block, i) + k], 2) / rest->d.hi[k];
		clear &= CLEAR_PIVOT * f->ldl.least_pivot[other(block, i)] * sum < 1;
	}
	for (int64_t l = 0; l < block->n; l++)
	{
		double		sum = 1 / block->pivots.hi[l];

		for (int64_t k = 0; k < s; k++)
			sum += pow(block->weights.hi[l * s + k], 2) / rest->d.hi[k];
		clear &= CLEAR_PIVOT * f->ldl.least_pivot[block->first + l] * sum < 1;
	}
	return clear;
}

/* Returns a vector within another. */
static inline GrDDVector
part_of(GrDDVector v, int64_t from)
{
	return (GrDDVector) {v.hi + from, v.lo + from};
}

/* Eliminates the block and solves. Returns false if that is not possible, or if canceled, with an error in *err. */
static bool
solve_block(GrNormalFactor *f, const GrNormalMatrix *a, const GrHost *host, GrError *err)
{
	GrNormalBlock *block = &f->block;
	GrLdl	   *rest = &block->rest;
	GrPoll		poll = {.host = host};
	GrDDVector	products = part_of(f->ldl.l, gr_triangle(rest->n));
	GrDDVector	shares = f->inverse;
	GrDD		first;

	if (!load_block(f, a, products, shares) || !eliminate(f, a, products, shares, &poll) ||
		!gr_ldl_factorise(rest, host, err))
		return false;
	for (int k = 0; k < rest->npivots; k++)
		if (rest->aliased[k])
			return false;
	if (!gr_ldl_back_substitute(rest, host, err))
		return false;
	block->weights = products;
	for (int64_t i = 0; i < rest->npivots; i++)
		for (int64_t l = 0; l < block->n; l++)
			gr_dd_set(block->weights, l * rest->npivots + i, gr_dd_get(shares, i * block->n + l));
	fill_solution(f, shares);
	block->inverse = f->inverse;
	if (!invert_rest(block, &poll) || !is_clear(f))
		return false;
	gr_dd_set(f->ldl.d, f->m, gr_dd_get(rest->d, rest->npivots));
	first = entry_of(f, a, 0, 0);
	gr_dd_set(f->ldl.d, 0, first);
	gr_dd_set(f->ldl.l, gr_packed(f->m, 0), gr_dd_div(entry_of(f, a, f->m, 0), first));
	return true;
}

bool
gr_normal_block_solve(GrNormalFactor *f, const GrNormalMatrix *a, const GrHost *host, GrError *err)
{
	GrNormalBlock *block = &f->block;

	find_block(f, a, block);
	if (!is_useful(f, a, block))
	{
		block->n = 0;
		return true;
	}
	block->rest.n = f->m - block->n + 1;
	block->rest.npivots = block->rest.n - 1;
	block->rest.max_rank = block->rest.n;
	block->rest.l = f->ldl.l;
	if (!solve_block(f, a, host, err))
		block->n = 0;
	if (block->n == 0 && err->status == GR_OK && gr_canceled(host))
		return gr_fail(err, GR_CANCELED, 0, "factorisation");
	return err->status == GR_OK;
}

/*
 * The inverse
 */

/* Changes row 0 of R to that of the intercept about 0: subtracts c_j times row j. */
static void
move_origin(GrNormalFactor *f, const GrNormalMatrix *a)
{
	GrNormalBlock *block = &f->block;

	for (int64_t j = 1; j < block->rest.npivots; j++)
	{
		double		weight = gr_normal_origin_weight(f, a, other(block, j));
		int64_t		mine = inverse_row(block, j);

		for (int64_t k = j; weight != 0.0 && k < block->rest.npivots; k++)
			gr_dd_set(block->inverse, k, gr_dd_add(gr_dd_get(block->inverse, k),
												   gr_dd_mul_d(gr_dd_get(block->inverse, mine + k), weight)));
	}
}

/* Sets entries (i, j) and (j, i), terms in any order, to a scaled sum. */
static void
set_entries(const GrNormalFactor *f, const GrNormalInverse *inverse, int64_t i, int64_t j, GrDD sum)
{
	const double *scale = f->ldl.scale;
	int64_t		high = i > j ? i : j;
	int64_t		low = i > j ? j : i;

	/* scaled one factor at a time, as in normal.c */
	double		v = gr_dd_to_double(sum) * scale[high] / inverse->y_scale * scale[low] / inverse->y_scale + 0.0;

	inverse->entries[i * f->m + j] = v;
	inverse->entries[j * f->m + i] = v;
}

/* Sets f->ldl.u to the vector's entries from first on, over the pivots of rest and times sigma^2. */
static void
weigh(GrNormalFactor *f, GrDDConstVector v, int64_t first, const GrNormalInverse *inverse)
{
	const GrLdl *rest = &f->block.rest;

	for (int64_t k = first; k < rest->npivots; k++)
	{
		GrDD		entry = {v.hi[k], v.lo[k]};

		gr_dd_set(f->ldl.u, k, gr_dd_mul(gr_dd_div(entry, gr_dd_get(rest->d, k)), inverse->sigma2));
	}
}

/* Fills the rows of the other terms. Returns false if canceled. */
static bool
fill_others(GrNormalFactor *f, const GrNormalInverse *inverse, GrPoll *poll)
{
	const GrNormalBlock *block = &f->block;
	int64_t		s = block->rest.npivots;

	for (int64_t i = 0; i < s; i++)
	{
		if (gr_poll(poll, PRODUCT_WORK * (s - i) * (i + block->n + 1)))
			return false;
		weigh(f, (GrDDConstVector) {block->inverse.hi + inverse_row(block, i),
									block->inverse.lo + inverse_row(block, i)}, i, inverse);
		for (int64_t j = 0; j <= i; j++)
			set_entries(f, inverse, other(block, i), other(block, j),
						gr_dd_neg(gr_dd_residual(gr_dd(0.0), gr_dd_from(f->ldl.u, i),
												 gr_dd_from(block->inverse, inverse_row(block, j) + i), s - i)));
		for (int64_t l = 0; l < block->n; l++)
			set_entries(f, inverse, other(block, i), block->first + l,
						gr_dd_residual(gr_dd(0.0), gr_dd_from(f->ldl.u, i), gr_dd_from(block->weights, l * s + i),
									   s - i));
	}
	return true;
}

/* Fills the block's own entries. Returns false if canceled. */
static bool
fill_block(GrNormalFactor *f, const GrNormalInverse *inverse, GrPoll *poll)
{
	const GrNormalBlock *block = &f->block;
	int64_t		s = block->rest.npivots;

	for (int64_t l = 0; l < block->n; l++)
	{
		GrDD		own = gr_dd_div(inverse->sigma2, gr_dd_get(block->pivots, l));

		if (gr_poll(poll, PRODUCT_WORK * (s + 10) * (l + 1)))
			return false;
		weigh(f, gr_dd_from(block->weights, l * s), 0, inverse);
		for (int64_t k = 0; k <= l; k++)
			set_entries(f, inverse, block->first + l, block->first + k,
						gr_dd_neg(gr_dd_residual(k == l ? gr_dd_neg(own) : gr_dd(0.0), gr_dd_from(f->ldl.u, 0),
												 gr_dd_from(block->weights, k * s), s)));
	}
	return true;
}

bool
gr_normal_block_inverse(GrNormalFactor *f, const GrNormalMatrix *a, const GrNormalInverse *inverse,
						const GrHost *host, GrError *err)
{
	GrPoll		poll = {.host = host};

	if (a->skip == 0)
		move_origin(f, a);
	if (!fill_others(f, inverse, &poll) || !fill_block(f, inverse, &poll))
		return gr_fail(err, GR_CANCELED, 0, "covariance matrix");
	return true;
}
