/*
 * scores.h: sums over the rows of a cluster: of scores, the rows' parts of a fit's gradient, and of their parts of its
 * Hessian. A covariance matrix that is robust to clusters is made of these; see vcov.h.
 *
 * A row's score is w (1, x - shift) r, its part of the Hessian w z z', as glm.h has them for FAST. The residual
 * of a linear regression may be small against the response: it is as good as one in double-double that is rounded once,
 * as other models' linear predictors are. Scores are added in double-double; the Hessian is in float8.
 *
 * There may be as many clusters as rows, so their sums are nothing but numbers: the head, then hi[t], lo[t] of t terms
 * and, where it is wanted, the Hessian's packed triangle of t rows. All are 0 to begin with.
 */
#ifndef GPUREG_SCORES_H
#define GPUREG_SCORES_H

#include "compute/glm/glm.h"

#ifdef __cplusplus
extern "C" {
#endif

enum
{
	GR_SCORES_PEARSON_HI,		/* the sum of squared Pearson residuals */
	GR_SCORES_PEARSON_LO,
	GR_SCORES_HEAD				/* length of the head */
};

typedef struct GrScores
{
	GrRowShape	shape;			/* of the rows, which are not single */
	GrDistribution distribution;
	const double *beta;			/* t: of (1, x - shift) */
	const double *beta_lo;		/* t: what it has beyond its digits */
	const double *shift;		/* nfeatures */
	bool		hessian;		/* is it wanted? */
	double	   *terms;			/* t: memory to work in */
} GrScores;

static inline size_t
gr_scores_nsums(int nfeatures, bool hessian)
{
	size_t		t = (size_t) gr_nterms(nfeatures);

	return GR_SCORES_HEAD + 2 * t + (hessian ? (size_t) gr_triangle((int64_t) t) : 0);
}

/*
 * Adds a row, whose weight isn't 0, to its cluster's sums: the same bits on every processor, but for libm's functions.
 */
extern void gr_scores_add(const GrScores *scores, const double *row, double *sums);

/* sums += other, of the same request */
extern void gr_scores_merge(int nfeatures, bool hessian, double *sums, const double *other);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_SCORES_H */
