/*
 * step_cpu.h: vectorised kernels of the GLM passes on the CPU, across rows; called by glm.c and glm_exact.c. Included
 * plainly, it declares the table of functions per instruction set; kernels_cpu.h includes it as part of the template of
 * simd.h.
 *
 * A chunk of rows is transposed, so that lane l of a vector at row r holds row r + l, and all rows of a vector go
 * through the same operations. Lanes beyond the last row hold zeros, weigh nothing and leave no residual.
 */
#ifndef GPUREG_STEP_CPU_H
#define GPUREG_STEP_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "compute/base/row.h"
#include "compute/base/simd.h"
#include "compute/glm/mean_cpu.h"

/* Columns of a turn, a multiple of three. With the rows of a wide chunk they fit the second-level cache. */
#define GR_HESSIAN_PANEL 384

/* Rows of at least this many numbers are fetched ahead, this many blocks of V_BLOCK rows. */
#define GR_FAR_NCOLS 64
#define GR_BLOCKS_AHEAD 2
#define GR_LINE_NBYTES 64

typedef struct GrChunk
{
	int			nterms;			/* number of terms (1, x) */
	int			nrows;
	/* distance of columns in float8: a multiple of 8, at least nrows rounded up to a multiple of 8 */
	size_t		pitch;
	double	   *columns;		/* nterms + 1 or more columns: ones, then those of the rows */
	double	   *weight;			/* linear predictor on input, then w */
	double	   *residual;		/* w times the working residual */
	double	   *prior;			/* prior weights, 0 beyond the last row; NULL: all 1 */
	const double *offset;		/* the column of offsets; NULL: none */
	double	   *weighted;		/* three columns of scratch, for the Hessian */
	double	   *lanes;			/* per term, four vectors: gradient, its correction, sum w z, sum w z^2 */
} GrChunk;

/* Sums of logistic() besides the columns. */
typedef struct GrChunkTotals
{
	double		loss;			/* sum of max(-margin, 0) */
	double		growth;			/* product of (1 + exp(-|eta|)), minus 1 */
	double		min_margin;
	double		nones;
	double		score;			/* JOINT: sums for theta, see gr_theta_row(), without the counts' own parts */
	double		curvature;
} GrChunkTotals;

typedef struct GrStepVersion
{
	int			lanes;
	/* transposes rows of ncols values, minus shift, into columns */
	void		(*transpose) (double *columns, size_t pitch, const double *rows, int nrows, int ncols,
							  const double *shift);
	/* true if all values are finite */
	bool		(*finite) (const double *values, int64_t n);
	/* computes eta in float8 */
	void		(*predict) (const GrChunk *chunk, const double *beta);
	void		(*logistic) (const GrChunk *chunk, GrChunkTotals *totals);
	void		(*logistic_weighted) (const GrChunk *chunk, GrChunkTotals *totals);
	/* Poisson family with the log link; loss lacks the part of the responses alone, y log(y) - y */
	void		(*poisson) (const GrChunk *chunk, GrChunkTotals *totals);
	/* families of mean_cpu.h, for rows that are in_range() */
	bool		(*in_range) (const double *eta, const double *response, double unit, int nrows);
	void		(*mean_rows) (const GrMeanRule *rule, const GrChunk *chunk, GrChunkTotals *totals);
	void		(*mean_rows_exact) (const GrMeanRule *rule, const GrMeanRows *rows);
	void		(*gradient) (const GrChunk *chunk, double opaque_one);
	/* adds the products of z with the first column of weighted to cross */
	void		(*cross) (const GrChunk *chunk, double *cross);
	void		(*curvature) (const GrChunk *chunk, double opaque_one);
	/* columns first .. first + GR_HESSIAN_PANEL - 1 of the triangle */
	void		(*hessian) (const GrChunk *chunk, double *packed, int first);
	/*
	 * eta in double-double, with the same bits on all instruction sets. columns begins with the first feature; offset
	 * is one of the columns or NULL.
	 */
	void		(*predict_exact) (double *eta, const double *columns, size_t pitch, int nrows, int nfeatures,
								  const double *beta,
								  const double *shift, const double *offset);
	/*
	 * u and v of gr_plain_row() and t = exp(-|eta|), for whole vectors of rows without weights. Same bits on all
	 * instruction sets.
	 */
	void		(*logistic_exact) (double *u, double *v, double *t, const double *eta, const double *response,
								   int nrows);
	void		(*magnitude) (double *size, const double *columns, size_t pitch, int nrows, int nfeatures,
							  const double *beta, const double *shift);
	void		(*weigh) (double *out, const double *rows, int stride, const int *which, int nrows, int nfeatures,
						  const double *shift, const double *u, const double *v);
} GrStepVersion;

/* Functions for each target of simd.h. */
extern const GrStepVersion gr_step_plain;
#if defined(__x86_64__) && defined(__GNUC__)
extern const GrStepVersion gr_step_avx512;
extern const GrStepVersion gr_step_avx2;
#elif defined(__aarch64__) && defined(__GNUC__)
extern const GrStepVersion gr_step_neon;
#endif

/* Returns the functions for this processor with at most max_lanes lanes (1, 2, 4 or 8). */
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
		{
			/* the processor does not foresee lines of rows this far apart */
			if (ncols >= GR_FAR_NCOLS && k % (GR_LINE_NBYTES / (int) sizeof(double)) < V_BLOCK)
				for (int l = 0; l < V_BLOCK; l++)
					__builtin_prefetch(from + (size_t) (GR_BLOCKS_AHEAD * V_BLOCK + l) * ncols + k);
			V_TRANSPOSE(to + k * pitch, pitch, from + k, ncols, shift + k);
		}
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

/* Uses that v * 0 is 0 for finite v and NaN otherwise. */
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

/* Sets weight to eta. Handles four vectors of rows at a time, as each sum waits for the one before. */
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

#include "compute/dist/exp_cpu.h"

static inline TARGET V
NAME(exp_minus) (V a)
{
	return NAME(exp_minus_by) (a, false);
}

/*
 * Replaces eta by w and r as gr_logistic_row() does. The logarithms of the deviance are combined in one: log1p(growth),
 * where growth is the product of all 1 + t, minus 1, so that small t count in full. With t <= 1 and a few hundred rows
 * the product stays below 2^300. If eta is NaN so is the loss, as V_MAX returns its second operand then.
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
	*totals = (GrChunkTotals) {.loss = V_SUM(loss),.min_margin = INFINITY};
	for (int l = 0; l < V_LANES; l++)
	{
		totals->growth = totals->growth * (1.0 + lanes[0][l]) + lanes[0][l];
		totals->min_margin = lanes[1][l] < totals->min_margin ? lanes[1][l] : totals->min_margin;
		totals->nones += lanes[2][l];
	}
}

/* Sets totals from weighted rows, one by one. etas, t: eta and exp(-|eta|) of each row. */
static void
NAME(total_weighted) (const GrChunk *chunk, const double *etas, const double *t, GrChunkTotals *totals)
{
	const double *response = chunk->columns + chunk->nterms * chunk->pitch;

	*totals = (GrChunkTotals) {.min_margin = INFINITY};
	for (int r = 0; r < chunk->nrows; r++)
	{
		double		y = response[r];
		double		margin = gr_margin(etas[r], y);

		/* one class: the log of its probability */
		if (y == 0.0 || y == 1.0)
			totals->loss += chunk->prior[r] * (log1p(t[r]) + (margin >= 0.0 ? 0.0 : -margin));
		else
			totals->loss += gr_logistic_row(etas[r], y, chunk->prior[r]).half_deviance;
		totals->min_margin = margin < totals->min_margin ? margin : totals->min_margin;
		totals->nones += y;
	}
}

/* Like logistic(), for weighted rows, whose deviances are summed one by one. */
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

/* Returns a chunk's totals from the lanes of its loss, least margin and sum of responses. */
static inline TARGET GrChunkTotals
NAME(chunk_totals) (V loss, V least, V nones)
{
	GrChunkTotals totals = {.loss = V_SUM(loss),.min_margin = INFINITY};
	double		lanes[2][V_LANES];

	V_STORE(lanes[0], least);
	V_STORE(lanes[1], nones);
	for (int l = 0; l < V_LANES; l++)
	{
		totals.min_margin = lanes[0][l] < totals.min_margin ? lanes[0][l] : totals.min_margin;
		totals.nones += lanes[1][l];
	}
	return totals;
}

/* Like logistic(), for counts with mean exp(eta). If eta is above GR_ETA_MAX the loss is infinite. */
static TARGET void
NAME(poisson) (const GrChunk *chunk, GrChunkTotals *totals)
{
	const double *response = chunk->columns + chunk->nterms * chunk->pitch;
	const V		one = V_SET1(1.0);
	V			loss = V_ZERO();
	V			least = V_SET1(INFINITY);
	V			nones = V_ZERO();

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
	*totals = NAME(chunk_totals) (loss, least, nones);
}

#include "compute/glm/mean_cpu.h"

/* Adds r z to the lanes, each with its own sum and correction. */
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

static TARGET void
NAME(cross) (const GrChunk *chunk, double *cross)
{
	for (int j = 0; j < chunk->nterms; j++)
	{
		const double *z = chunk->columns + j * chunk->pitch;
		V			sum = V_ZERO();

		for (int r = 0; r < chunk->nrows; r += V_LANES)
			sum = V_MLA(V_LOAD(chunk->weighted + r), V_LOAD(z + r), sum);
		cross[j] += V_SUM(sum);
	}
}

/* Adds r z, w z and w z^2 to the lanes. */
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
 * Adds the entries (i, j) .. (i + 2, j + 2) of the Hessian that are in the triangle. Nine sums stay in registers: 6
 * loads feed 9 products, and AVX2's 16 registers suffice. Columns beyond the last repeat the last, and are not written.
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
 * Computes eta = beta_0 + sum of beta_j (x_j - shift_j), rounded once from double-double. As in Dot2 of Ogita, Rump and
 * Oishi (2005), s sums the products by TwoSum, and c the errors of s, of the products, and of x - shift. The error
 * besides the last rounding is of the order of nfeatures 2^-106 of the sum of magnitudes.
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

/*
 * Computes u, v and t of plain rows. t is at least exp(-460). A NaN in eta stays, as V_MIN returns its second operand
 * then.
 */
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

/* Computes size = |beta_0| + sum of |beta_j (x_j - shift_j)|. */
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
 * Writes u[k] (1, x - shift), v[k] for row which[k] to row k of out. out has room for V_LANES more values, as whole
 * vectors are stored; the excess is overwritten.
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
	.in_range = NAME(in_range),
	.mean_rows = NAME(mean_rows),
	.mean_rows_exact = NAME(mean_rows_exact),
	.gradient = NAME(gradient),
	.cross = NAME(cross),
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
