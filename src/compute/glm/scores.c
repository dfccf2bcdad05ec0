/*
 * scores.c: sums over the rows of a cluster, on the CPU; see scores.h.
 */
#include "compute/glm/scores.h"

#include "compute/base/dd.h"
#include "compute/glm/glm_row.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define HAS_FMA_VERSION
#endif

/*
 * The row's terms, and its linear predictor, more `more`, as in Dot2 of Ogita, Rump and Oishi (2005): rounded once
 */
static inline __attribute__((always_inline)) double
predict(const GrScores *scores, const double *row, double more)
{
	const double *beta = scores->beta;
	const double *beta_lo = scores->beta_lo;
	double	   *z = scores->terms;
	GrDD		start = gr_two_sum(beta[0], gr_row_offset(row, scores->shape));
	GrDD		sum = gr_two_sum(start.hi, more);
	double		rest = start.lo + sum.lo + beta_lo[0];

	z[0] = 1;
	for (int j = 1; j <= scores->shape.nfeatures; j++)
	{
		GrDD		product;

		z[j] = row[j - 1] - scores->shift[j - 1];
		product = gr_two_prod(beta[j], z[j]);
		sum = gr_two_sum(sum.hi, product.hi);
		rest += sum.lo + product.lo + beta_lo[j] * z[j];
	}
	return sum.hi + rest;
}

static inline __attribute__((always_inline)) void
add_to(double *hi, double *lo, double term)
{
	GrDD		sum = gr_two_sum(*hi, term);

	*hi = sum.hi;
	*lo += sum.lo;
}

/* Of a row: its score's factor of z, its weight in the Hessian, and its squared Pearson residual */
typedef struct Parts
{
	double		factor;
	double		weight;
	double		square;
} Parts;

static inline __attribute__((always_inline)) Parts
parts_of(const GrScores *scores, const double *row)
{
	double		y = gr_row_response(row, scores->shape);
	double		w = gr_row_weight(row, scores->shape);
	GrGlmRow	made;

	/* of a linear regression the residual, small against the response perhaps, is rounded once */
	if (scores->distribution.family == GR_GAUSSIAN && scores->distribution.link == GR_IDENTITY)
	{
		double		residual = -predict(scores, row, -gr_response_in_unit(scores->distribution, y));

		return (Parts) {w * residual, w, w * residual * residual};
	}
	made = gr_glm_row(scores->distribution, predict(scores, row, 0), y, w);
	return (Parts) {made.u * made.v, made.u * made.u, made.v * made.v};
}

static inline __attribute__((always_inline)) void
add_row(const GrScores *scores, const double *row, double *sums)
{
	int			t = gr_nterms(scores->shape.nfeatures);
	const double *z = scores->terms;
	double	   *hi = sums + GR_SCORES_HEAD;
	double	   *lo = hi + t;
	double	   *hessian = lo + t;
	Parts		parts = parts_of(scores, row);

	add_to(&sums[GR_SCORES_PEARSON_HI], &sums[GR_SCORES_PEARSON_LO], parts.square);
	for (int j = 0; j < t; j++)
		add_to(&hi[j], &lo[j], parts.factor * z[j]);
	for (int i = 0; i < t && scores->hessian; i++)
	{
		double		part = parts.weight * z[i];

		for (int j = 0; j <= i; j++)
			*hessian++ += part * z[j];
	}
}

/* Where the processor has fused operations, they needn't be calls of libm's; the bits are the same. */
#ifdef HAS_FMA_VERSION
__attribute__((target("fma"))) static void
add_row_fma(const GrScores *scores, const double *row, double *sums)
{
	add_row(scores, row, sums);
}
#endif

void
gr_scores_add(const GrScores *scores, const double *row, double *sums)
{
#ifdef HAS_FMA_VERSION
	if (__builtin_cpu_supports("fma"))
	{
		add_row_fma(scores, row, sums);
		return;
	}
#endif
	add_row(scores, row, sums);
}

/* The same in double-double */
static void
merge(double *hi, double *lo, double other_hi, double other_lo)
{
	GrDD		sum = gr_dd_add((GrDD) {*hi, *lo}, (GrDD) {other_hi, other_lo});

	*hi = sum.hi;
	*lo = sum.lo;
}

void
gr_scores_merge(int nfeatures, bool hessian, double *sums, const double *other)
{
	size_t		t = (size_t) gr_nterms(nfeatures);

	merge(&sums[GR_SCORES_PEARSON_HI], &sums[GR_SCORES_PEARSON_LO], other[GR_SCORES_PEARSON_HI],
		  other[GR_SCORES_PEARSON_LO]);
	for (size_t j = GR_SCORES_HEAD; j < GR_SCORES_HEAD + t; j++)
		merge(&sums[j], &sums[t + j], other[j], other[t + j]);
	for (size_t k = GR_SCORES_HEAD + 2 * t; k < gr_scores_nsums(nfeatures, hessian); k++)
		sums[k] += other[k];
}
