/*
 * kernels_cpu.h: source of the kernels of kernels_cpu.c, which simd.h includes once per instruction set.
 *
 * Gram matrix
 *
 * hi, lo += sum over r < nrows of z z', or of w z z', where (w z) is taken in two halves and the lower one's product
 * joins the corrections. z comes packed in panels of V_LANES columns: column c of row r at panel[c / V_LANES][r][c %
 * V_LANES], so that every inner loop reads its operands in order, from the first-level cache, whatever q is.
 *
 * Each strip (one i, V_LANES values of j) keeps its sum in registers for the whole chunk of rows. A product p = RN(a b)
 * goes to the rounded sum h by Knuth's TwoSum, s = h + p, t = s - h, and what s lost goes to c, as in Dot2 of Ogita,
 * Rump and Oishi (2005): (h - (s - t)) + (p - t) + (a b - p). TwoSum's differences are exact, so that the last two are
 * one a b - t, rounded once: 8 operations a product in place of 10. c's own rounding is of the order of nrows^(1/2)
 * 2^-106 of the sum, which is why a chunk is short. The chunk's sum is then added to the state in full double-double.
 *
 * Two of the subtractions are V_DIFF(). On x86, V_DIFF() is a fused multiply-add with `one`, a 1 that the compiler
 * cannot see. A processor with separate pipes for additions (Zen) then uses both kinds of pipe; others lose nothing.
 */
#define STEP(h, c, a, b) do { \
	V s_ = V_ADD(h, V_MUL(a, b)); \
	V t_ = V_DIFF(s_, h, one); \
	V u_ = V_SUB(h, V_DIFF(s_, t_, one)); \
	c = V_ADD(c, V_ADD(u_, V_FMS(a, b, t_))); \
	h = s_; \
} while (0)

/* (x, y) += (h, c) in double-double: gr_dd_add() lane by lane, after h and c are renormalised */
#define MERGE(x, y, h, c) do { \
	V a_ = V_ADD(h, c); \
	V b_ = V_SUB(c, V_SUB(a_, h)); \
	V s_ = V_ADD(x, a_); \
	V q_ = V_SUB(s_, x); \
	V e_ = V_ADD(V_SUB(x, V_SUB(s_, q_)), V_SUB(a_, q_)); \
	V t_ = V_ADD(y, b_); \
	V r_ = V_SUB(t_, y); \
	V f_ = V_ADD(V_SUB(y, V_SUB(t_, r_)), V_SUB(b_, r_)); \
	e_ = V_ADD(e_, t_); \
	a_ = V_ADD(s_, e_); \
	e_ = V_ADD(V_SUB(e_, V_SUB(a_, s_)), f_); \
	x = V_ADD(a_, e_); \
	y = V_SUB(e_, V_SUB(x, a_)); \
} while (0)

/* Number of columns of a row in the first panel, which begins with the column of ones */
#define HEAD(ncols) ((ncols) < V_LANES - 1 ? (ncols) : V_LANES - 1)

/*
 * Copies rows, less shift if it is not NULL, into panels: first a column of ones, zeros after the last column. Inlined
 * twice, so that rows without a shift pay nothing for it.
 */
static inline __attribute__((always_inline)) TARGET void
NAME(pack_rows) (double *restrict panels, const double *restrict rows, int nrows, int ncols, int stride,
				 const double *restrict shift)
{
	for (int r = 0; r < nrows; r++)
	{
		const double *from = rows + (size_t) r * stride;
		double	   *to = panels + (size_t) r * V_LANES;
		int			k = V_LANES - 1;

		V_STORE(to, V_ZERO());
		to[0] = 1.0;
		if (V_LANES > 1)
			V_STORE_N(to + 1, shift == NULL ? V_LOAD_N(from, HEAD(ncols)) :
					  V_SUB(V_LOAD_N(from, HEAD(ncols)), V_LOAD_N(shift, HEAD(ncols))), HEAD(ncols));
		for (; k + V_LANES <= ncols; k += V_LANES)
		{
			to += (size_t) nrows * V_LANES;
			V_STORE(to, shift == NULL ? V_LOAD(from + k) : V_SUB(V_LOAD(from + k), V_LOAD(shift + k)));
		}
		if (k < ncols)
			V_STORE(to + (size_t) nrows * V_LANES, shift == NULL ? V_LOAD_N(from + k, ncols - k) :
					V_SUB(V_LOAD_N(from + k, ncols - k), V_LOAD_N(shift + k, ncols - k)));
	}
}

static TARGET void
NAME(pack) (double *restrict panels, const double *restrict rows, int nrows, int ncols, int stride,
			const double *restrict shift)
{
	if (shift == NULL)
		NAME(pack_rows) (panels, rows, nrows, ncols, stride, NULL);
	else
		NAME(pack_rows) (panels, rows, nrows, ncols, stride, shift);
}

/* Adds |x - c - RN(x - c)|, the error of a difference (Knuth's TwoSum), to e */
#define ADD_ERROR(e, x, c) do { \
	V x_ = (x); \
	V c_ = (c); \
	V d_ = V_SUB(x_, c_); \
	V t_ = V_SUB(d_, x_); \
	e = V_ADD(e, V_ABS(V_SUB(V_SUB(x_, V_SUB(d_, t_)), V_ADD(c_, t_)))); \
} while (0)

/* True if each value less its column's shift is exact as float8. False if a value is NaN or infinite. */
static TARGET bool
NAME(exact) (const double *rows, int64_t nrows, int ncols, int stride, const double *shift)
{
	V			error = V_ZERO();
	double		lanes[V_LANES];
	double		sum = 0.0;

	for (int64_t r = 0; r < nrows; r++, rows += stride)
	{
		int			k = 0;

		for (; k + V_LANES <= ncols; k += V_LANES)
			ADD_ERROR(error, V_LOAD(rows + k), V_LOAD(shift + k));
		if (k < ncols)
			ADD_ERROR(error, V_LOAD_N(rows + k, ncols - k), V_LOAD_N(shift + k, ncols - k));
	}
	V_STORE(lanes, error);
	for (int l = 0; l < V_LANES; l++)
		sum += lanes[l];
	return sum == 0.0;
}

/*
 * Multiplies panels by each row's weight, exactly: whi + wlo, both laid out like panels. weights points to the first
 * row's weight; the next row's is stride further on.
 */
static TARGET void
NAME(weigh_panels) (double *restrict whi, double *restrict wlo, const double *restrict panels, int nrows, int npanels,
					const double *restrict weights, int stride)
{
	for (int r = 0; r < nrows; r++)
	{
		const V		weight = V_SET1(weights[(size_t) r * stride]);
		size_t		at = (size_t) r * V_LANES;

		for (int k = 0; k < npanels; k++, at += (size_t) nrows * V_LANES)
		{
			V			z = V_LOAD(panels + at);
			V			p = V_MUL(weight, z);

			V_STORE(whi + at, p);
			V_STORE(wlo + at, V_FMS(weight, z, p));
		}
	}
}

/*
 * Adds to rows first .. end - 1 of the triangle. whi and wlo are the weighted panels of weigh_panels(), used in place
 * of one factor; NULL: the rows have no weights. Inlined twice.
 */
static inline __attribute__((always_inline)) TARGET void
NAME(gram_rows) (double *restrict hi, double *restrict lo, const double *restrict panels, const double *restrict whi,
				 const double *restrict wlo, int nrows, int first, int end, double opaque_one)
{
	const V		one = V_SET1(opaque_one);
	const size_t panel_size = (size_t) nrows * V_LANES;

	for (int64_t i = first; i < end; i++)
	{
		const size_t at_i = (size_t) (i / V_LANES) * panel_size + i % V_LANES;
		const double *zi = (whi == NULL ? panels : whi) + at_i;
		double	   *row_hi = hi + i * (i + 1) / 2;
		double	   *row_lo = lo + i * (i + 1) / 2;

		for (int64_t j = 0; j <= i; j += V_LANES)
		{
			const double *zj = panels + (size_t) (j / V_LANES) * panel_size;
			int			nlanes = i - j + 1 < V_LANES ? (int) (i - j + 1) : V_LANES;
			V			h = V_ZERO();
			V			c = V_ZERO();
			V			x;
			V			y;

			for (int r = 0; r < nrows; r++)
			{
				V			a = V_SET1(zi[(size_t) r * V_LANES]);
				V			b = V_LOAD(zj + (size_t) r * V_LANES);

				STEP(h, c, a, b);
				if (whi != NULL)
					c = V_FMA(V_SET1(wlo[at_i + (size_t) r * V_LANES]), b, c);
			}
			if (nlanes == V_LANES)
			{
				x = V_LOAD(row_hi + j);
				y = V_LOAD(row_lo + j);
				MERGE(x, y, h, c);
				V_STORE(row_hi + j, x);
				V_STORE(row_lo + j, y);
			}
			else
			{
				x = V_LOAD_N(row_hi + j, nlanes);
				y = V_LOAD_N(row_lo + j, nlanes);
				MERGE(x, y, h, c);
				V_STORE_N(row_hi + j, x, nlanes);
				V_STORE_N(row_lo + j, y, nlanes);
			}
		}
	}
}

static TARGET void
NAME(gram) (double *restrict hi, double *restrict lo, const double *restrict panels, int nrows, int first, int end,
			double opaque_one)
{
	NAME(gram_rows) (hi, lo, panels, NULL, NULL, nrows, first, end, opaque_one);
}

static TARGET void
NAME(gram_weighted) (double *restrict hi, double *restrict lo, const double *restrict panels,
					 const double *restrict whi, const double *restrict wlo, int nrows, int first, int end,
					 double opaque_one)
{
	NAME(gram_rows) (hi, lo, panels, whi, wlo, nrows, first, end, opaque_one);
}

/*
 * Adds X Y to a tile of double-double entries, where X or Y has low halves: with lows of X, NULL y_lo, and vice versa.
 * Sums are those of gram_rows(). Inlined twice.
 */
static inline __attribute__((always_inline)) TARGET void
NAME(product_of) (const GrTile *tile, const double *restrict x_lo, const double *restrict y_lo, double opaque_one)
{
	const V		one = V_SET1(opaque_one);

	for (int j = 0; j < GR_TILE_COLUMNS; j += V_LANES)
		for (int i = 0; i < tile->nrows; i++)
		{
			const double *x = tile->x_hi + (size_t) i * tile->x_pitch;
			const double *y = tile->y_hi + j;
			double	   *hi = tile->hi + (size_t) i * tile->pitch + j;
			double	   *lo = tile->lo + (size_t) i * tile->pitch + j;
			V			h = V_ZERO();
			V			c = V_ZERO();
			V			sum = V_LOAD(hi);
			V			low = V_LOAD(lo);

			for (int k = 0; k < tile->depth; k++)
			{
				V			a = V_SET1(x[k]);
				V			b = V_LOAD(y + (size_t) k * GR_TILE_COLUMNS);

				STEP(h, c, a, b);
				if (x_lo != NULL)
					c = V_FMA(V_SET1(x_lo[(size_t) i * tile->x_pitch + k]), b, c);
				else
					c = V_FMA(a, V_LOAD(y_lo + (size_t) k * GR_TILE_COLUMNS + j), c);
			}
			MERGE(sum, low, h, c);
			V_STORE(hi, sum);
			V_STORE(lo, low);
		}
}

static TARGET void
NAME(product) (const GrTile *tile, double opaque_one)
{
	if (tile->x_lo != NULL)
		NAME(product_of) (tile, tile->x_lo, NULL, opaque_one);
	else
		NAME(product_of) (tile, NULL, tile->y_lo, opaque_one);
}

/* Adds n double-double entries hi2 + lo2 to hi + lo, with the same bits as gr_dd_add() */
static TARGET void
NAME(merge)(double *restrict hi, double *restrict lo, const double *restrict hi2, const double *restrict lo2, int64_t n)
{
	int64_t		k = 0;

	for (; k + V_LANES <= n; k += V_LANES)
	{
		V			a = V_LOAD(hi + k);
		V			b = V_LOAD(hi2 + k);
		V			s = V_ADD(a, b);
		V			part = V_SUB(s, a);
		V			rest = V_ADD(V_SUB(a, V_SUB(s, part)), V_SUB(b, part));
		V			c = V_LOAD(lo + k);
		V			d = V_LOAD(lo2 + k);
		V			t = V_ADD(c, d);
		V			u;

		part = V_SUB(t, c);
		d = V_ADD(V_SUB(c, V_SUB(t, part)), V_SUB(d, part));
		t = V_ADD(rest, t);
		u = V_ADD(s, t);
		d = V_ADD(V_SUB(t, V_SUB(u, s)), d);
		s = V_ADD(u, d);
		V_STORE(hi + k, s);
		V_STORE(lo + k, V_SUB(d, V_SUB(s, u)));
	}
	for (; k < n; k++)
	{
		GrDD		a = {hi[k], lo[k]};
		GrDD		b = {hi2[k], lo2[k]};

		a = gr_dd_add(a, b);
		hi[k] = a.hi;
		lo[k] = a.lo;
	}
}

#include "compute/glm/step_cpu.h"
#include "compute/project/project_cpu.h"

static const Version NAME(version) = {
	.pack = NAME(pack),
	.weigh = NAME(weigh_panels),
	.exact = NAME(exact),
	.kernel = NAME(gram),
	.kernel_weighted = NAME(gram_weighted),
	.merge = NAME(merge),
	.product = NAME(product),
	.step = &NAME(gr_step),
	.gather = NAME(gather),
};

#undef STEP
#undef MERGE
#undef ADD_ERROR
#undef HEAD
