/*
 * step_cpu.h: the passes of logistic regression on the CPU, on vectors across rows. Read plainly it declares the table
 * of one instruction set's functions; kernels_cpu.h includes it as a part of its template of simd.h.
 *
 * A chunk of rows is transposed, so that lane l of every vector is row r + l and all rows of a vector go through the
 * same operations. Vectors that stick out beyond the last row hold zeros, weigh nothing and leave no residual.
 */
#ifndef GPUREG_STEP_CPU_H
#define GPUREG_STEP_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "compute/base/row.h"
#include "compute/base/simd.h"

/* Columns of one turn, a multiple of three: with the rows of a wide chunk they stay in the second-level cache. */
#define GR_HESSIAN_PANEL 384

typedef struct GrChunk
{
	int			nterms;			/* of (1, x) */
	int			nrows;
	/* from one column to the next; a multiple of 8, and at least nrows rounded up to that */
	size_t		pitch;
	double	   *columns;		/* the ones, then those of the rows */
	double	   *weight;			/* a column: the linear predictor, then w */
	double	   *residual;		/* a column */
	double	   *prior;			/* a column, or NULL: the rows' own weights; 0 beyond the last row */
	const double *offset;		/* a column of those, or NULL */
	double	   *weighted;		/* three columns, for the Hessian */
	double	   *lanes;			/* nterms times the lanes of: gradient, its correction, sum w z, sum w z^2 */
} GrChunk;

/* What logistic() sums beside the columns. */
typedef struct GrChunkTotals
{
	double		loss;			/* sum of max(-margin, 0) */
	double		growth;			/* product of 1 + exp(-|eta|), less 1 */
	double		min_margin;
	double		nones;
} GrChunkTotals;

typedef struct GrStepVersion
{
	int			lanes;
	/* rows of ncols values, less their shift, into columns */
	void		(*transpose) (double *columns, size_t pitch, const double *rows, int nrows, int ncols,
							  const double *shift);
	/* are all of them finite? */
	bool		(*finite) (const double *values, int64_t n);
	/* in float8 */
	void		(*predict) (const GrChunk *chunk, const double *beta);
	void		(*logistic) (const GrChunk *chunk, GrChunkTotals *totals);
	void		(*logistic_weighted) (const GrChunk *chunk, GrChunkTotals *totals);
	/* of the Poisson family with the log link; the loss is less by what depends on the responses alone, y log(y) - y */
	void		(*poisson) (const GrChunk *chunk, GrChunkTotals *totals);
	void		(*gradient) (const GrChunk *chunk, double opaque_one);
	void		(*curvature) (const GrChunk *chunk, double opaque_one);
	/* of the columns first .. first + GR_HESSIAN_PANEL - 1 of the triangle */
	void		(*hessian) (const GrChunk *chunk, double *packed, int first);
	/*
	 * in double-double, the same bits whatever the instruction set; columns begin with the first feature, and offset is
	 * one of them or NULL
	 */
	void		(*predict_exact) (double *eta, const double *columns, size_t pitch, int nrows, int nfeatures,
								  const double *beta,
								  const double *shift, const double *offset);
	/*
	 * of rows without weights, whole vectors of them: u and v, as gr_plain_row() has them, and t = exp(-|eta|);
	 * likewise the same bits
	 */
	void		(*logistic_exact) (double *u, double *v, double *t, const double *eta, const double *response,
								   int nrows);
	void		(*magnitude) (double *size, const double *columns, size_t pitch, int nrows, int nfeatures,
							  const double *beta, const double *shift);
	void		(*weigh) (double *out, const double *rows, int stride, const int *which, int nrows, int nfeatures,
						  const double *shift, const double *u, const double *v);
} GrStepVersion;

/* The functions for each target of simd.h */
extern const GrStepVersion gr_step_plain;
#if defined(__x86_64__) && defined(__GNUC__)
extern const GrStepVersion gr_step_avx512;
extern const GrStepVersion gr_step_avx2;
#elif defined(__aarch64__) && defined(__GNUC__)
extern const GrStepVersion gr_step_neon;
#endif

/* The functions for this processor with at most max_lanes (1, 2, 4 or 8). */
static inline const GrStepVersion *
gr_step_version(int max_lanes)
{
	return SIMD_CHOOSE(gr_step, max_lanes);
}

#endif							/* GPUREG_STEP_CPU_H */

#ifdef V_LANES

static TARGET void
NAME(transpose) (double *restrict columns, size_t pitch, const double *restrict rows, int nrows, int ncols,
				 const double *restrict shift)
{
	int			r = 0;

	for (; r + V_BLOCK <= nrows; r += V_BLOCK)
	{
		const double *from = rows + (size_t) r * ncols;
		double	   *to = columns + r;
		int			k = 0;

		for (; k + V_BLOCK <= ncols; k += V_BLOCK)
			V_TRANSPOSE(to + k * pitch, pitch, from + k, ncols, shift + k);
		for (; k < ncols; k++)
			for (int l = 0; l < V_BLOCK; l++)
				to[k * pitch + l] = from[(size_t) l * ncols + k] - shift[k];
	}
	for (; r < nrows; r++)
		for (int k = 0; k < ncols; k++)
			columns[k * pitch + r] = rows[(size_t) r * ncols + k] - shift[k];
	for (; r % V_LANES != 0; r++)
		for (int k = 0; k < ncols; k++)
			columns[k * pitch + r] = 0.0;
}

/* v * 0 is 0 for finite v and NaN otherwise. */
static TARGET bool
NAME(finite) (const double *values, int64_t n)
{
	V			a0 = V_ZERO();
	V			a1 = a0;
	V			a2 = a0;
	V			a3 = a0;
	int64_t		k = 0;
	double		lanes[V_LANES];
	double		sum = 0.0;

	for (; k + 4 * V_LANES <= n; k += 4 * V_LANES)
	{
		a0 = V_MLA(V_LOAD(values + k), V_ZERO(), a0);
		a1 = V_MLA(V_LOAD(values + k + V_LANES), V_ZERO(), a1);
		a2 = V_MLA(V_LOAD(values + k + 2 * V_LANES), V_ZERO(), a2);
		a3 = V_MLA(V_LOAD(values + k + 3 * V_LANES), V_ZERO(), a3);
	}
	for (; k + V_LANES <= n; k += V_LANES)
		a0 = V_MLA(V_LOAD(values + k), V_ZERO(), a0);
	V_STORE(lanes, V_ADD(V_ADD(a0, a1), V_ADD(a2, a3)));
	for (int l = 0; l < V_LANES; l++)
		sum += lanes[l];
	for (; k < n; k++)
		sum += values[k] * 0.0;
	return sum == 0.0;
}

/* weight = eta, four vectors of rows at a time, as each waits for its last sum */
static TARGET void
NAME(predict) (const GrChunk *chunk, const double *beta)
{
	int			r = 0;

	for (; r + 4 * V_LANES <= chunk->nrows; r += 4 * V_LANES)
	{
		V			e0 = V_SET1(beta[0]);
		V			e1 = e0;
		V			e2 = e0;
		V			e3 = e0;
		const double *z = chunk->columns + r;

		for (int j = 1; j < chunk->nterms; j++)
		{
			V			b = V_SET1(beta[j]);

			z += chunk->pitch;
			e0 = V_MLA(b, V_LOAD(z), e0);
			e1 = V_MLA(b, V_LOAD(z + V_LANES), e1);
			e2 = V_MLA(b, V_LOAD(z + 2 * V_LANES), e2);
			e3 = V_MLA(b, V_LOAD(z + 3 * V_LANES), e3);
		}
		V_STORE(chunk->weight + r, e0);
		V_STORE(chunk->weight + r + V_LANES, e1);
		V_STORE(chunk->weight + r + 2 * V_LANES, e2);
		V_STORE(chunk->weight + r + 3 * V_LANES, e3);
	}
	for (; r < chunk->nrows; r += V_LANES)
	{
		V			e = V_SET1(beta[0]);
		const double *z = chunk->columns + r;

		for (int j = 1; j < chunk->nterms; j++)
		{
			z += chunk->pitch;
			e = V_MLA(V_SET1(beta[j]), V_LOAD(z), e);
		}
		V_STORE(chunk->weight + r, e);
	}
}

#define EXP_MLA(a, b, c) (fused ? V_FMA(a, b, c) : V_MLA(a, b, c))

/*
 * exp(-a), 0 <= a <= 460, within one unit in the last place. -a = k log 2 + f, |f| <= log(2) / 2; adding 1.5 2^52
 * rounds to an integer, and 1023 more leaves k's biased exponent in the lowest bits. k times the high part of log 2 (33
 * bits, as in fdlibm's e_exp.c) is exact. The polynomial is the minimax one for (exp(f) - 1 - f) / f^2, relative error
 * of exp below 1e-17. fused: a constant; whether each product is rounded with its sum, whatever that takes
 */
static inline __attribute__((always_inline)) TARGET V
NAME(exp_minus_by) (V a, bool fused)
{
	const V		magic = V_SET1(0x1.8p52 + 1023);
	V			shifted = EXP_MLA(a, V_SET1(-0x1.71547652b82fep0), magic);
	V			k = V_SUB(shifted, magic);
	V			f = EXP_MLA(k, V_SET1(-0x1.62e42fee00000p-1), V_SUB(V_ZERO(), a));
	V			q = V_SET1(0x1.ad7f02a6aa9a0p-26);

	f = EXP_MLA(k, V_SET1(-0x1.a39ef35793c76p-33), f);
	q = EXP_MLA(q, f, V_SET1(0x1.28adce726e390p-22));
	q = EXP_MLA(q, f, V_SET1(0x1.71df262c47695p-19));
	q = EXP_MLA(q, f, V_SET1(0x1.a01999adcc22fp-16));
	q = EXP_MLA(q, f, V_SET1(0x1.a01a0129b4608p-13));
	q = EXP_MLA(q, f, V_SET1(0x1.6c16c1844b015p-10));
	q = EXP_MLA(q, f, V_SET1(0x1.1111111127e83p-7));
	q = EXP_MLA(q, f, V_SET1(0x1.55555555507f1p-5));
	q = EXP_MLA(q, f, V_SET1(0x1.55555555554f9p-3));
	q = EXP_MLA(q, f, V_SET1(0x1.000000000000ap-1));
	q = V_ADD(V_SET1(1.0), EXP_MLA(V_MUL(f, f), q, f));
	return V_MUL(q, V_SHIFT_TO_EXPONENT(shifted));
}

static inline TARGET V
NAME(exp_minus) (V a)
{
	return NAME(exp_minus_by) (a, false);
}

/*
 * eta to w and r, as gr_logistic_row() does it. The deviance's logarithms are one: log1p of the product of all 1 + t,
 * less 1, which is kept as such so that small t count in full; with t <= 1 and a few hundred rows it stays below 2^300.
 * Where eta is not a number the loss becomes that: V_MAX returns its second operand then.
 */
static TARGET void
NAME(logistic) (const GrChunk *chunk, GrChunkTotals *totals)
{
	const double *response = chunk->columns + chunk->nterms * chunk->pitch;
	const V		one = V_SET1(1.0);
	V			loss = V_ZERO();
	V			growth = V_ZERO();
	V			nones = V_ZERO();
	V			least = V_SET1(INFINITY);
	double		lanes[3][V_LANES];

	for (int r = 0; r < chunk->nrows; r += V_LANES)
	{
		V			eta = V_LOAD(chunk->weight + r);
		V			y = V_LOAD(response + r);
		V			sign = V_SUB(V_ADD(y, y), one);
		V			margin = V_MUL(sign, eta);
		V			t = NAME(exp_minus) (V_MIN(V_ABS(eta), V_SET1(GR_ETA_MAX)));
		V			sum;
		V			d;
		V			tail;

		if (chunk->nrows - r < V_LANES)
		{
			t = V_FILL_N(t, chunk->nrows - r, V_ZERO());
			margin = V_FILL_N(margin, chunk->nrows - r, V_SET1(INFINITY));
		}
		sum = V_ADD(one, t);
		d = V_DIV(one, sum);
		tail = V_MUL(t, d);
		V_STORE(chunk->weight + r, V_MUL(tail, d));
		V_STORE(chunk->residual + r, V_MUL(sign, V_IF_NEGATIVE(margin, d, tail)));
		loss = V_ADD(loss, V_MAX(V_ZERO(), V_SUB(V_ZERO(), margin)));
		growth = V_MLA(growth, sum, t);
		least = V_MIN(least, margin);
		nones = V_ADD(nones, y);
	}
	V_STORE(lanes[0], growth);
	V_STORE(lanes[1], least);
	V_STORE(lanes[2], nones);
	*totals = (GrChunkTotals) {V_SUM(loss), 0.0, INFINITY, 0.0};
	for (int l = 0; l < V_LANES; l++)
	{
		totals->growth = totals->growth * (1.0 + lanes[0][l]) + lanes[0][l];
		totals->min_margin = lanes[1][l] < totals->min_margin ? lanes[1][l] : totals->min_margin;
		totals->nones += lanes[2][l];
	}
}

/* What weighted rows add to the totals, one by one, of eta and t = exp(-|eta|) */
static void
NAME(total_weighted) (const GrChunk *chunk, const double *etas, const double *t, GrChunkTotals *totals)
{
	const double *response = chunk->columns + chunk->nterms * chunk->pitch;

	*totals = (GrChunkTotals) {0.0, 0.0, INFINITY, 0.0};
	for (int r = 0; r < chunk->nrows; r++)
	{
		double		y = response[r];
		double		margin = gr_margin(etas[r], y);

		/* of one class: the log of its probability */
		if (y == 0.0 || y == 1.0)
			totals->loss += chunk->prior[r] * (log1p(t[r]) + (margin >= 0.0 ? 0.0 : -margin));
		else
			totals->loss += gr_logistic_row(etas[r], y, chunk->prior[r]).half_deviance;
		totals->min_margin = margin < totals->min_margin ? margin : totals->min_margin;
		totals->nones += y;
	}
}

/* The same as logistic() of weighted rows, whose deviances are summed one by one */
static TARGET void
NAME(logistic_weighted) (const GrChunk *chunk, GrChunkTotals *totals)
{
	const double *response = chunk->columns + chunk->nterms * chunk->pitch;
	const V		one = V_SET1(1.0);
	double	   *etas = chunk->weighted;
	double	   *ts = etas + chunk->pitch;

	for (int r = 0; r < chunk->nrows; r += V_LANES)
	{
		V			eta = V_LOAD(chunk->weight + r);
		V			y = V_LOAD(response + r);
		V			prior = V_LOAD(chunk->prior + r);
		V			t = NAME(exp_minus) (V_MIN(V_ABS(eta), V_SET1(GR_ETA_MAX)));
		V			d = V_DIV(one, V_ADD(one, t));
		V			tail = V_MUL(t, d);
		V			below = V_SUB(y, V_IF_NEGATIVE(eta, tail, d));
		V			above = V_SUB(V_IF_NEGATIVE(eta, d, tail), V_SUB(one, y));

		V_STORE(etas + r, eta);
		V_STORE(ts + r, t);
		V_STORE(chunk->weight + r, V_MUL(prior, V_MUL(tail, d)));
		V_STORE(chunk->residual + r, V_MUL(prior, V_IF_NEGATIVE(V_SUB(y, V_SET1(0.5)), below, above)));
	}
	NAME(total_weighted) (chunk, etas, ts, totals);
}

/* The same of counts with a mean of exp(eta); where that is beyond all use, the loss is infinite. */
static TARGET void
NAME(poisson) (const GrChunk *chunk, GrChunkTotals *totals)
{
	const double *response = chunk->columns + chunk->nterms * chunk->pitch;
	const V		one = V_SET1(1.0);
	V			loss = V_ZERO();
	V			least = V_SET1(INFINITY);
	V			nones = V_ZERO();
	double		lanes[2][V_LANES];

	for (int r = 0; r < chunk->nrows; r += V_LANES)
	{
		V			eta = V_LOAD(chunk->weight + r);
		V			y = V_LOAD(response + r);
		V			size = V_ABS(eta);
		V			t = NAME(exp_minus) (V_MIN(size, V_SET1(GR_ETA_MAX)));
		V			mu = V_IF_NEGATIVE(eta, t, V_DIV(one, t));
		V			prior = chunk->prior == NULL ? one : V_LOAD(chunk->prior + r);
		V			margin = V_SUB(V_ZERO(), V_IF_NEGATIVE(V_SUB(V_ZERO(), y), size, eta));
		V			term = V_IF_NEGATIVE(V_SUB(V_SET1(GR_ETA_MAX), eta), V_SET1(INFINITY), V_SUB(mu, V_MUL(y, eta)));

		if (chunk->nrows - r < V_LANES)
		{
			prior = V_FILL_N(prior, chunk->nrows - r, V_ZERO());
			term = V_FILL_N(term, chunk->nrows - r, V_ZERO());
			margin = V_FILL_N(margin, chunk->nrows - r, V_SET1(INFINITY));
		}
		V_STORE(chunk->weight + r, V_MUL(prior, mu));
		V_STORE(chunk->residual + r, V_MUL(prior, V_SUB(y, mu)));
		loss = V_ADD(loss, V_MUL(prior, term));
		least = V_MIN(least, margin);
		nones = V_ADD(nones, y);
	}
	V_STORE(lanes[0], least);
	V_STORE(lanes[1], nones);
	*totals = (GrChunkTotals) {V_SUM(loss), 0.0, INFINITY, 0.0};
	for (int l = 0; l < V_LANES; l++)
	{
		totals->min_margin = lanes[0][l] < totals->min_margin ? lanes[0][l] : totals->min_margin;
		totals->nones += lanes[1][l];
	}
}

/* lanes += r z, in as many sums as there are lanes, each with its correction */
static TARGET void
NAME(gradient) (const GrChunk *chunk, double opaque_one)
{
	const V		one = V_SET1(opaque_one);

	for (int j = 0; j < chunk->nterms; j++)
	{
		const double *z = chunk->columns + j * chunk->pitch;
		double	   *lanes = chunk->lanes + (size_t) j * 4 * V_LANES;
		V			h = V_LOAD(lanes);
		V			c = V_LOAD(lanes + V_LANES);

		for (int r = 0; r < chunk->nrows; r += V_LANES)
		{
			V			a = V_LOAD(chunk->residual + r);
			V			b = V_LOAD(z + r);

			STEP(h, c, a, b);
		}
		V_STORE(lanes, h);
		V_STORE(lanes + V_LANES, c);
	}
}

/* The same, and lanes += w z, w z^2. */
static TARGET void
NAME(curvature) (const GrChunk *chunk, double opaque_one)
{
	const V		one = V_SET1(opaque_one);

	for (int j = 0; j < chunk->nterms; j++)
	{
		const double *z = chunk->columns + j * chunk->pitch;
		double	   *lanes = chunk->lanes + (size_t) j * 4 * V_LANES;
		V			h = V_LOAD(lanes);
		V			c = V_LOAD(lanes + V_LANES);
		V			first = V_LOAD(lanes + 2 * V_LANES);
		V			diagonal = V_LOAD(lanes + 3 * V_LANES);

		for (int r = 0; r < chunk->nrows; r += V_LANES)
		{
			V			a = V_LOAD(chunk->residual + r);
			V			b = V_LOAD(z + r);
			V			wz = V_MUL(V_LOAD(chunk->weight + r), b);

			STEP(h, c, a, b);
			first = V_ADD(first, wz);
			diagonal = V_MLA(wz, b, diagonal);
		}
		V_STORE(lanes, h);
		V_STORE(lanes + V_LANES, c);
		V_STORE(lanes + 2 * V_LANES, first);
		V_STORE(lanes + 3 * V_LANES, diagonal);
	}
}

#define TILE_ROW(k) do { \
	V a_ = V_LOAD(a##k + r); \
	V_HOLD(a_); \
	s##k##0 = V_MLA(a_, b_0, s##k##0); \
	s##k##1 = V_MLA(a_, b_1, s##k##1); \
	s##k##2 = V_MLA(a_, b_2, s##k##2); \
} while (0)

#define TILE_SUM(k) do { \
	sums[k][0] = V_SUM(s##k##0); \
	sums[k][1] = V_SUM(s##k##1); \
	sums[k][2] = V_SUM(s##k##2); \
} while (0)

/*
 * Entries (i, j) .. (i + 2, j + 2) of the Hessian, as far as they are of the triangle. Nine sums in registers: 6 loads
 * feed 9 products, and AVX2's 16 registers are enough. Columns beyond the last are the last once more, and not written.
 */
static TARGET void
NAME(tile) (const GrChunk *chunk, double *packed, int i, int j)
{
	int			last = chunk->nterms - 1;
	const double *a0 = chunk->weighted;
	const double *a1 = a0 + chunk->pitch;
	const double *a2 = a1 + chunk->pitch;
	const double *b0 = chunk->columns + j * chunk->pitch;
	const double *b1 = chunk->columns + (j + 1 < last ? j + 1 : last) * chunk->pitch;
	const double *b2 = chunk->columns + (j + 2 < last ? j + 2 : last) * chunk->pitch;
	V			s00 = V_ZERO(), s01 = s00, s02 = s00;
	V			s10 = s00, s11 = s00, s12 = s00;
	V			s20 = s00, s21 = s00, s22 = s00;
	double		sums[3][3];

	for (int r = 0; r < chunk->nrows; r += V_LANES)
	{
		V			b_0 = V_LOAD(b0 + r);
		V			b_1 = V_LOAD(b1 + r);
		V			b_2 = V_LOAD(b2 + r);

		V_HOLD(b_0);
		V_HOLD(b_1);
		V_HOLD(b_2);
		TILE_ROW(0);
		TILE_ROW(1);
		TILE_ROW(2);
	}
	TILE_SUM(0);
	TILE_SUM(1);
	TILE_SUM(2);
	for (int k = 0; k < 3 && i + k <= last; k++)
	{
		double	   *row = packed + (int64_t) (i + k) * (i + k + 1) / 2;

		for (int l = 0; l < 3 && j + l <= i + k; l++)
			row[j + l] += sums[k][l];
	}
}

static TARGET void
NAME(hessian) (const GrChunk *chunk, double *packed, int first)
{
	int			t = chunk->nterms;

	for (int i = first; i < t; i += 3)
	{
		int			end = i + 1 < first + GR_HESSIAN_PANEL ? i + 1 : first + GR_HESSIAN_PANEL;

		for (int k = 0; k < 3; k++)
		{
			const double *z = chunk->columns + (i + k < t ? i + k : t - 1) * chunk->pitch;
			double	   *to = chunk->weighted + k * chunk->pitch;

			for (int r = 0; r < chunk->nrows; r += V_LANES)
				V_STORE(to + r, V_MUL(V_LOAD(chunk->weight + r), V_LOAD(z + r)));
		}
		for (int j = first; j < end; j += 3)
			NAME(tile) (chunk, packed, i, j);
	}
}

/*
 * eta = beta_0 + sum of beta_j (x_j - shift_j), rounded once from double-double. As in Dot2 of Ogita, Rump and Oishi
 * (2005), s takes the products by TwoSum and c what s loses, the products' errors, and what x - shift loses. Its error,
 * besides that last rounding, is of the order of nfeatures 2^-106 of the sum of magnitudes.
 */
static TARGET void
NAME(predict_exact) (double *eta, const double *columns, size_t pitch, int nrows, int nfeatures, const double *beta,
					 const double *shift, const double *offset)
{
	for (int r = 0; r < nrows; r += V_LANES)
	{
		V			s = V_SET1(beta[0]);
		V			c = V_ZERO();

		for (int j = 0; j < nfeatures; j++)
		{
			V			b = V_SET1(beta[j + 1]);
			V			z = V_LOAD(columns + j * pitch + r);
			V			p;
			V			e;
			V			h;
			V			q;

			if (shift[j] == 0.0)
			{
				p = V_MUL(z, b);
				e = V_FMS(z, b, p);
			}
			else
			{
				V			m = V_SET1(-shift[j]);
				V			x = z;

				z = V_ADD(x, m);
				q = V_SUB(z, x);
				e = V_ADD(V_SUB(x, V_SUB(z, q)), V_SUB(m, q));
				p = V_MUL(z, b);
				e = V_FMA(e, b, V_FMS(z, b, p));
			}
			h = V_ADD(s, p);
			q = V_SUB(h, s);
			c = V_ADD(c, V_ADD(e, V_ADD(V_SUB(s, V_SUB(h, q)), V_SUB(p, q))));
			s = h;
		}
		if (offset != NULL)
		{
			V			p = V_LOAD(offset + r);
			V			h = V_ADD(s, p);
			V			q = V_SUB(h, s);

			c = V_ADD(c, V_ADD(V_SUB(s, V_SUB(h, q)), V_SUB(p, q)));
			s = h;
		}
		V_STORE(eta + r, V_ADD(s, c));
	}
}

/* t is at least exp(-460): a predictor that is not a number goes through, as V_MIN gives its second operand then. */
static TARGET void
NAME(logistic_exact) (double *u, double *v, double *ts, const double *etas, const double *response, int nrows)
{
	const V		one = V_SET1(1.0);

	for (int r = 0; r < nrows; r += V_LANES)
	{
		V			eta = V_LOAD(etas + r);
		V			y = V_LOAD(response + r);
		V			sign = V_SUB(V_ADD(y, y), one);
		V			t = NAME(exp_minus_by) (V_MIN(V_SET1(GR_ETA_MAX), V_ABS(eta)), true);
		V			root = V_SQRT(t);
		V			likely = V_MUL(sign, root);
		V			unlikely = V_DIV(sign, root);

		V_STORE(ts + r, t);
		V_STORE(u + r, V_MUL(root, V_DIV(one, V_ADD(one, t))));
		V_STORE(v + r, V_IF_NEGATIVE(V_MUL(sign, eta), unlikely, likely));
	}
}

/* size = |beta_0| + sum of |beta_j (x_j - shift_j)| */
static TARGET void
NAME(magnitude) (double *size, const double *columns, size_t pitch, int nrows, int nfeatures, const double *beta,
				 const double *shift)
{
	for (int r = 0; r < nrows; r += V_LANES)
	{
		V			m = V_SET1(fabs(beta[0]));

		for (int j = 0; j < nfeatures; j++)
			m = V_ADD(m, V_ABS(V_MUL(V_SUB(V_LOAD(columns + j * pitch + r), V_SET1(shift[j])), V_SET1(beta[j + 1]))));
		V_STORE(size + r, m);
	}
}

/*
 * Row k of out is u[k] (1, x - shift), v[k] for row which[k]; out has room for V_LANES values more, as whole vectors
 * are stored and what sticks out is written over.
 */
static TARGET void
NAME(weigh) (double *restrict out, const double *restrict rows, int stride, const int *which, int nrows, int nfeatures,
			 const double *restrict shift, const double *u, const double *v)
{
	for (int k = 0; k < nrows; k++)
	{
		const double *x = rows + (size_t) which[k] * (size_t) stride;
		double	   *to = out + (size_t) k * (size_t) gr_norder(nfeatures);
		V			scale = V_SET1(u[k]);
		int			j = 0;

		to[0] = u[k];
		for (; j + V_LANES <= nfeatures; j += V_LANES)
			V_STORE(to + 1 + j, V_MUL(scale, V_SUB(V_LOAD(x + j), V_LOAD(shift + j))));
		if (j < nfeatures)
			V_STORE(to + 1 + j, V_MUL(scale,
									  V_SUB(V_LOAD_N(x + j, nfeatures - j), V_LOAD_N(shift + j, nfeatures - j))));
		to[1 + nfeatures] = v[k];
	}
}

const GrStepVersion NAME(gr_step) = {
	.lanes = V_LANES,
	.transpose = NAME(transpose),
	.finite = NAME(finite),
	.predict = NAME(predict),
	.logistic = NAME(logistic),
	.logistic_weighted = NAME(logistic_weighted),
	.poisson = NAME(poisson),
	.gradient = NAME(gradient),
	.curvature = NAME(curvature),
	.hessian = NAME(hessian),
	.predict_exact = NAME(predict_exact),
	.logistic_exact = NAME(logistic_exact),
	.magnitude = NAME(magnitude),
	.weigh = NAME(weigh),
};

#undef EXP_MLA
#undef TILE_ROW
#undef TILE_SUM

#endif							/* V_LANES */
