/*
 * scores.h: sums over the rows of a cluster: scores, the rows' parts of a fit's gradient, and parts of its Hessian. The
 * answers to GR_GLM_CLUSTERS (glm_fit.h) are made with gr_scores_add(). Cluster-robust covariances are made from these
 * sums; see vcov.h.
 *
 * The score of a row is w (1, x - shift) r, its part of the Hessian w z z', as for FAST in glm.h. The residual of a
 * linear regression may be small compared with the response: it is computed in double-double and rounded once, as are
 * the linear predictors of other models. Scores are added in double-double, the Hessian in float8.
 *
 * There may be as many clusters as rows, so the sums of a cluster are only numbers: the head, hi[t], lo[t] of t terms
 * and, if requested, the packed triangle of the Hessian. All are 0 at the beginning.
 */
#ifndef GPUREG_SCORES_H
#define GPUREG_SCORES_H

#include "compute/glm/glm.h"

#ifdef __cplusplus
extern "C" {
#endif

enum
{
	GR_SCORES_PEARSON_HI,		/* sum of squared Pearson residuals */
	GR_SCORES_PEARSON_LO,
	GR_SCORES_HEAD				/* length of the head */
};

typedef struct GrScores
{
	GrRowShape	shape;			/* shape of the rows, which are not single */
	GrDistribution distribution;
	const double *beta;			/* t coefficients of (1, x - shift) */
	const double *beta_lo;		/* t low halves of beta */
	const double *shift;		/* nfeatures */
	bool		hessian;		/* the Hessian is summed too */
	double	   *terms;			/* t: scratch */
} GrScores;

static inline size_t
gr_scores_nsums(int nfeatures, bool hessian)
{
	size_t		t = (size_t) gr_nterms(nfeatures);

	return GR_SCORES_HEAD + 2 * t + (hessian ? (size_t) gr_triangle((int64_t) t) : 0);
}

/*
 * Adds a row whose weight is not 0 to its cluster's sums. The bits are the same on every processor, except by libm's
 * functions.
 */
extern void gr_scores_add(const GrScores *scores, const double *row, double *sums);

/* Adds other to sums, both of the same request. */
extern void gr_scores_merge(int nfeatures, bool hessian, double *sums, const double *other);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_SCORES_H */
