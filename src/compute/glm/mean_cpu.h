/*
 * mean_cpu.h: vectorised rows of the Poisson, gamma and negative binomial families with the log link; see glm_row.h.
 * step_cpu.h includes it, plainly for the types and as part of the template of simd.h for the kernels.
 *
 * Callers check with in_range() that exp() and log() stay in range; other rows are computed one by one by glm_row.h.
 * The half deviances keep all digits where a response is near its mean, as gr_half_deviance() does.
 */
#ifndef GPUREG_MEAN_CPU_H
#define GPUREG_MEAN_CPU_H

#include <stdbool.h>

#include "compute/dist/family.h"

/* Bounds of responses above 0, and of theta. */
#define GR_MEAN_LEAST 1e-100
#define GR_MEAN_MOST 1e100

/* Rows of a distribution, as mean_rows() and mean_rows_exact() take them. */
typedef struct GrMeanRule
{
	GrFamily	family;
	double		theta;
	double		unit;			/* power of two that multiplies responses */
	bool		observed;		/* weights of Newton's method, see gr_observed_row() */
	bool		joint;			/* negative binomial: sums for theta, too, see GR_PASS_JOINT */
} GrMeanRule;

/* Columns of rows; whole vectors are read and written. */
typedef struct GrMeanRows
{
	const double *eta;
	const double *response;
	const double *prior;		/* prior weights, > 0; NULL: all 1 */
	double	   *u;				/* u and v of GrGlmRow */
	double	   *v;
	double	   *half;			/* half deviances */
	int			nrows;
} GrMeanRows;

/* True if the kernels of this file have rows of the distribution. */
static inline bool
gr_has_mean_rows(GrDistribution distribution)
{
	return distribution.link == GR_LOG &&
		(distribution.family == GR_POISSON || distribution.family == GR_GAMMA ||
		 (distribution.family == GR_NEGATIVE_BINOMIAL && distribution.theta >= GR_MEAN_LEAST &&
		  distribution.theta <= GR_MEAN_MOST));
}

static inline GrMeanRule
gr_mean_rule(GrDistribution distribution, bool observed)
{
	return (GrMeanRule) {
		.family = distribution.family,.theta = distribution.theta,.unit = gr_power_of_two(distribution.exponent),
		.observed = observed
	};
}

#endif							/* GPUREG_MEAN_CPU_H */

#ifdef V_LANES

/* True if all predictors are at most GR_ETA_MAX in size, and all responses times unit are 0 or within the bounds. */
static TARGET bool
NAME(in_range) (const double *eta, const double *response, double unit, int nrows)
{
	V			widest = V_ZERO();
	V			most = V_ZERO();
	V			least = V_SET1(GR_MEAN_MOST);
	V			rest = V_ZERO();	/* 0 unless a predictor is not finite */
	int			r = 0;

	for (; r + V_LANES <= nrows; r += V_LANES)
	{
		V			y = V_MUL(V_LOAD(response + r), V_SET1(unit));
		V			e = V_ABS(V_LOAD(eta + r));

		rest = V_MLA(e, V_ZERO(), rest);
		widest = V_MAX(e, widest);
		most = V_MAX(y, most);
		least = V_MIN(least, V_IF_NEGATIVE(V_SUB(V_ZERO(), y), y, least));
	}
	for (; r < nrows; r++)
	{
		double		y = response[r] * unit;

		if (!(fabs(eta[r]) <= GR_ETA_MAX) || !(y == 0.0 || (y >= GR_MEAN_LEAST && y <= GR_MEAN_MOST)))
			return false;
	}
	return V_SUM(rest) == 0.0 && V_COUNT_ABOVE(widest, V_SET1(GR_ETA_MAX)) == 0 &&
		V_COUNT_ABOVE(most, V_SET1(GR_MEAN_MOST)) == 0 && V_COUNT_ABOVE(V_SET1(GR_MEAN_LEAST), least) == 0;
}

/*
 * Returns log(x) for a normal x > 0, within one unit in the last place; finite for x = 0. x = 2^k (1 + f) with 1 + f
 * near 1, and log(1 + f) = f - f^2 / 2 + s (f^2 / 2 + R(s^2)) with s = f / (2 + f) and the polynomial R of fdlibm's
 * e_log.c.
 */
static inline __attribute__((always_inline)) TARGET V
NAME(log_by) (V x, bool fused)
{
	V			k = V_EXPONENT(V_MUL(x, V_SET1(0x1.6a09e667f3bcdp0)));
	V			m = V_MUL(x, V_SHIFT_TO_EXPONENT(V_SUB(V_SET1(0x1.8p52 + 1023), k)));
	V			f = V_SUB(m, V_SET1(1.0));
	V			s = V_DIV(f, V_ADD(V_SET1(2.0), f));
	V			z = V_MUL(s, s);
	V			half = V_MUL(V_SET1(0.5), V_MUL(f, f));
	V			q = V_SET1(1.479819860511658591e-01);

	q = EXP_MLA(q, z, V_SET1(1.531383769920937332e-01));
	q = EXP_MLA(q, z, V_SET1(1.818357216161805012e-01));
	q = EXP_MLA(q, z, V_SET1(2.222219843214978396e-01));
	q = EXP_MLA(q, z, V_SET1(2.857142874366239149e-01));
	q = EXP_MLA(q, z, V_SET1(3.999999999940941908e-01));
	q = EXP_MLA(q, z, V_SET1(6.666666666666735130e-01));
	q = V_MUL(s, EXP_MLA(q, z, half));
	q = EXP_MLA(k, V_SET1(1.90821492927058770002e-10), q);
	q = V_SUB(V_SUB(half, q), f);
	return V_SUB(V_MUL(k, V_SET1(6.93147180369123816490e-01)), q);
}

/*
 * Returns log((1 + q) / (1 - q)) - 2 q for |q| < 0.12 by its series, 2 q^3 / 3 + 2 q^5 / 5 + ... + 2 q^19 / 19.
 * fused: with fused multiply-adds.
 */
static inline __attribute__((always_inline)) TARGET V
NAME(series_by) (V q, bool fused)
{
	V			z = V_MUL(q, q);
	V			sum = V_SET1(2.0 / 19);

	sum = EXP_MLA(sum, z, V_SET1(2.0 / 17));
	sum = EXP_MLA(sum, z, V_SET1(2.0 / 15));
	sum = EXP_MLA(sum, z, V_SET1(2.0 / 13));
	sum = EXP_MLA(sum, z, V_SET1(2.0 / 11));
	sum = EXP_MLA(sum, z, V_SET1(2.0 / 9));
	sum = EXP_MLA(sum, z, V_SET1(2.0 / 7));
	sum = EXP_MLA(sum, z, V_SET1(2.0 / 5));
	sum = EXP_MLA(sum, z, V_SET1(2.0 / 3));
	return V_MUL(sum, V_MUL(z, q));
}

/* Returns gr_deviance_part(x, m, d); x may be 0. */
static inline __attribute__((always_inline)) TARGET V
NAME(deviance_part_by) (V x, V m, V d, bool fused)
{
	V			q = V_DIV(d, V_ADD(x, m));
	V			near = EXP_MLA(d, q, V_MUL(x, NAME(series_by) (q, fused)));
	V			far = V_SUB(V_MUL(x, NAME(log_by) (V_DIV(x, m), fused)), d);

	return V_IF_NEGATIVE(V_SUB(V_ABS(q), V_SET1(0.1)), near, far);
}

/*
 * Returns half the deviance of a negative binomial row; see gr_waiting_deviance(). d: y - mu; of_m: set to
 * gr_deviance_part(m, x, -d) over m for x = y + theta and m = mu + theta
 */
static inline __attribute__((always_inline)) TARGET V
NAME(waiting_deviance_by) (V y, V mu, V theta, V d, V *of_m, bool fused)
{
	const V		one = V_SET1(1.0);
	V			x = V_ADD(y, theta);
	V			m = V_ADD(mu, theta);
	V			odds = V_DIV(theta, mu);
	V			moved = V_MUL(odds, d);
	V			a = V_DIV(moved, x);
	V			b = V_DIV(d, m);
	V			apart = V_SUB(V_SET1(0.5), V_ABS(b));	/* below 0: x and m are far apart */
	V			s = V_IF_NEGATIVE(apart, V_DIV(x, m), V_ADD(one, b));
	V			left = V_IF_NEGATIVE(apart, V_ZERO(), V_SUB(b, V_SUB(s, one)));
	V			log_x_m = V_ADD(NAME(log_by) (s, fused), V_DIV(left, s));
	V			q = V_DIV(d, V_ADD(m, x));
	/* deviance parts of x and x (1 + a), over x, and of m and x, over m */
	V			qa = V_DIV(V_SUB(V_ZERO(), a), V_ADD(V_SET1(2.0), a));
	V			of_x = EXP_MLA(V_SUB(V_ZERO(), a), qa, NAME(series_by) (qa, fused));
	V			near;
	V			far;

	*of_m = V_IF_NEGATIVE(V_SUB(V_ABS(q), V_SET1(0.1)), V_SUB(V_MUL(b, q), NAME(series_by) (q, fused)),
						  V_SUB(b, log_x_m));
	near = V_ADD(V_SUB(V_MUL(V_MUL(theta, a), b), V_MUL(y, of_x)), V_MUL(theta, *of_m));
	far = V_SUB(V_MUL(y, NAME(log_by) (V_DIV(y, mu), fused)), V_MUL(x, log_x_m));
	return V_IF_NEGATIVE(V_SUB(V_ABS(a), V_SET1(0.2)), near, far);
}

/* Derivatives of a negative binomial row by theta, without the parts that depend on its count alone. */
typedef struct NAME(ThetaPart)
{
	V			score;
	V			curvature;
	V			cross;			/* derivative of the residual by log(theta) */
} NAME(ThetaPart);

/*
 * Computes a row of prior weight 1: its weight w, its residual r = u v, and its half deviance. rule->family and fused
 * are constants where this function is inlined. part: NULL unless wanted
 */
static inline __attribute__((always_inline)) TARGET void
NAME(mean_row) (const GrMeanRule *rule, GrFamily family, V eta, V y, V *w, V *r, V *half, NAME(ThetaPart) *part,
				bool fused)
{
	V			theta = V_SET1(rule->theta);
	V			mu = NAME(exp_minus_by) (V_SUB(V_ZERO(), eta), fused);
	V			d = V_SUB(y, mu);

	if (family == GR_POISSON)
	{
		*w = mu;
		*r = d;
		*half = NAME(deviance_part_by) (y, mu, d, fused);
	}
	else if (family == GR_GAMMA)
	{
		*w = rule->observed ? V_DIV(y, mu) : V_SET1(1.0);
		*r = V_DIV(d, mu);
		*half = V_DIV(NAME(deviance_part_by) (mu, y, V_SUB(V_ZERO(), d), fused), mu);
	}
	else
	{
		V			ratio = V_DIV(mu, theta);
		V			inflation = V_ADD(V_SET1(1.0), ratio);
		V			of_m;

		*w = V_DIV(mu, inflation);
		if (rule->observed)
			*w = V_MUL(*w, V_DIV(V_ADD(y, theta), V_ADD(mu, theta)));
		*r = V_DIV(d, inflation);
		*half = NAME(waiting_deviance_by) (y, mu, theta, d, &of_m, fused);
		if (part != NULL)
		{
			V			share = V_DIV(theta, V_ADD(mu, theta));
			V			scaled = V_MUL(share, d);

			part->score = V_MUL(theta, V_SUB(V_ZERO(), of_m));
			part->curvature = V_DIV(V_MUL(scaled, scaled), V_ADD(y, theta));
			part->cross = V_MUL(*r, V_MUL(share, ratio));
		}
	}
}

/* Computes u, v and half deviances of rows of a family, to the same bits on all instruction sets. */
static inline __attribute__((always_inline)) TARGET void
NAME(mean_rows_exact_of) (const GrMeanRule *rule, GrFamily family, const GrMeanRows *rows)
{
	for (int k = 0; k < rows->nrows; k += V_LANES)
	{
		V			y = V_MUL(V_LOAD(rows->response + k), V_SET1(rule->unit));
		V			w;
		V			r;
		V			half;
		V			root;

		NAME(mean_row) (rule, family, V_LOAD(rows->eta + k), y, &w, &r, &half, NULL, true);
		root = V_SQRT(w);
		r = V_DIV(r, root);
		if (rows->prior != NULL)
		{
			V			prior = V_LOAD(rows->prior + k);
			V			root_prior = V_SQRT(prior);

			root = V_MUL(root_prior, root);
			r = V_MUL(root_prior, r);
			half = V_MUL(prior, half);
		}
		V_STORE(rows->u + k, root);
		V_STORE(rows->v + k, r);
		V_STORE(rows->half + k, half);
	}
}

static TARGET void
NAME(mean_rows_exact) (const GrMeanRule *rule, const GrMeanRows *rows)
{
	if (rule->family == GR_POISSON)
		NAME(mean_rows_exact_of) (rule, GR_POISSON, rows);
	else if (rule->family == GR_GAMMA)
		NAME(mean_rows_exact_of) (rule, GR_GAMMA, rows);
	else
		NAME(mean_rows_exact_of) (rule, GR_NEGATIVE_BINOMIAL, rows);
}

/*
 * Replaces eta by w and r, and sets totals, as logistic() does. joint: a constant; the first column of chunk->weighted
 * then becomes the derivatives of the residuals by log(theta)
 */
static inline __attribute__((always_inline)) TARGET void
NAME(mean_rows_of) (const GrMeanRule *rule, GrFamily family, bool joint, const GrChunk *chunk, GrChunkTotals *totals)
{
	const double *response = chunk->columns + chunk->nterms * chunk->pitch;
	const V		one = V_SET1(1.0);
	V			loss = V_ZERO();
	V			least = V_SET1(INFINITY);
	V			nones = V_ZERO();
	V			score = V_ZERO();
	V			curvature = V_ZERO();

	for (int r = 0; r < chunk->nrows; r += V_LANES)
	{
		V			eta = V_LOAD(chunk->weight + r);
		V			own = V_LOAD(response + r);
		V			prior = chunk->prior == NULL ? one : V_LOAD(chunk->prior + r);
		V			margin;
		V			w;
		V			residual;
		V			half;
		NAME(ThetaPart) part;

		if (chunk->nrows - r < V_LANES)
		{
			eta = V_FILL_N(eta, chunk->nrows - r, V_ZERO());
			prior = V_FILL_N(prior, chunk->nrows - r, V_ZERO());
		}
		margin = V_SUB(V_ZERO(), V_IF_NEGATIVE(V_SUB(V_ZERO(), own), V_ABS(eta), eta));
		NAME(mean_row) (rule, family, eta, V_MUL(own, V_SET1(rule->unit)), &w, &residual, &half,
						joint ? &part : NULL, false);
		if (chunk->nrows - r < V_LANES)
		{
			half = V_FILL_N(half, chunk->nrows - r, V_ZERO());
			margin = V_FILL_N(margin, chunk->nrows - r, V_SET1(INFINITY));
		}
		V_STORE(chunk->weight + r, V_MUL(prior, w));
		V_STORE(chunk->residual + r, V_MUL(prior, residual));
		if (joint)
		{
			V_STORE(chunk->weighted + r, V_MUL(prior, part.cross));
			score = V_MLA(prior, part.score, score);
			curvature = V_MLA(prior, part.curvature, curvature);
		}
		loss = V_ADD(loss, V_MUL(prior, half));
		least = V_MIN(least, margin);
		nones = V_ADD(nones, own);
	}
	*totals = NAME(chunk_totals) (loss, least, nones);
	totals->score = V_SUM(score);
	totals->curvature = V_SUM(curvature);
}

static TARGET void
NAME(mean_rows) (const GrMeanRule *rule, const GrChunk *chunk, GrChunkTotals *totals)
{
	if (rule->family == GR_POISSON)
		NAME(mean_rows_of) (rule, GR_POISSON, false, chunk, totals);
	else if (rule->family == GR_GAMMA)
		NAME(mean_rows_of) (rule, GR_GAMMA, false, chunk, totals);
	else if (rule->joint)
		NAME(mean_rows_of) (rule, GR_NEGATIVE_BINOMIAL, true, chunk, totals);
	else
		NAME(mean_rows_of) (rule, GR_NEGATIVE_BINOMIAL, false, chunk, totals);
}

#endif							/* V_LANES */
