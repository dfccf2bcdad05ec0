/* scores.c: adds the rows of a cluster to its sums, on the CPU; see scores.h. */
#include "compute/glm/scores.h"

#include "compute/base/dd.h"
#include "compute/glm/scores_row.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define HAS_FMA_VERSION
#endif

static inline __attribute__((always_inline)) void
add_to(double *hi, double *lo, double term)
{
	GrDD		sum = gr_two_sum(*hi, term);

	*hi = sum.hi;
	*lo += sum.lo;
}

static inline __attribute__((always_inline)) void
add_row(const GrScores *scores, const double *row, double *sums)
{
	int			t = gr_nterms(scores->shape.nfeatures);
	double	   *z = scores->terms;
	double	   *hi = sums + GR_SCORES_HEAD;
	double	   *lo = hi + t;
	double	   *hessian = lo + t;
	GrScoreParts parts = gr_score_parts(scores->distribution, scores->shape, row, scores->beta, scores->beta_lo,
										scores->shift);

	z[0] = 1;
	for (int j = 1; j < t; j++)
		z[j] = row[j - 1] - scores->shift[j - 1];
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

/* With fused operations gr_two_prod() need not call libm's fma(); the bits are the same. */
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

/* Adds other to hi + lo in double-double. */
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
