/*
 * wild.h: the restricted wild cluster bootstrap (WCR) of a coefficient of a linear regression, from clusters' scores.
 * gpu_wild_boot_agg (fn_wild.c) calls it first.
 *
 * Cameron, Gelbach and Miller (2008): impose the null b = c, multiply the residuals of the restricted fit by a weight
 * v_g per cluster, of mean 0 and variance 1, and run the regression again. Compare its t statistic, with CR1 standard
 * errors, with that of the data. No regression has to be run (Roodman, MacKinnon, Nielsen and Webb 2019, "Fast and
 * wild", section 5).
 *
 * In the units of sum_clusters.h, with the coefficient's term last, let q_g be the clusters' scores and u_g the last
 * column of K_g. The null is theta = (c - b) / C_kk: scores at the restricted fit are q_g - theta u_g. With d = sum of
 * v_g (q_g - theta u_g) a replicate's t is
 *
 *   d_k / sqrt(f S), S = sum of (v_g (q_gk - theta u_gk) - u_g' d)^2
 *
 * and the data's is -theta / sqrt(f W), W = sum of q_gk^2. f is CR1's factor, which cancels in comparisons. d_k and S
 * are of degree 1 and 2 in theta, so five numbers per replicate give its t for every null. Confidence limits, which
 * bound the nulls that are not rejected, thus cost little more than one p-value.
 *
 * P-values are two-sided and symmetric. Let b replicates have |t| at least the data's, ties included. The p-value is b
 * / reps if all vectors of signs are enumerated, as the identity is among them, and (1 + b) / (1 + reps) if weights are
 * drawn. No p-value is 0.
 */
#ifndef GPUREG_WILD_H
#define GPUREG_WILD_H

#include "compute/base/compute.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum GrWildWeights
{
	GR_WILD_RADEMACHER,			/* 1 and -1 */
	GR_WILD_WEBB				/* Webb's six points */
} GrWildWeights;

/* Sets *weights to the kind named "rademacher" or "webb", in any letter case. Returns false for any other name. */
extern bool gr_wild_weights_named(const char *name, GrWildWeights *weights);

#define GR_WILD_REPS_MAX 1000000

typedef struct GrWild
{
	int			nterms;			/* k, the number of terms */
	int64_t		nclusters;
	const double *q;			/* nclusters x nterms */
	const double *u;			/* nclusters x nterms */
	const int64_t *keys;		/* nclusters keys; see wild_draw.h */
	GrWildWeights weights;
	uint64_t	seed;
	int64_t		reps;			/* in: replicates requested; out: replicates available */
	bool		enumerated;		/* out: the replicates are all 2^G vectors of signs, each once */
	double		squares;		/* out: W */
	/* arrays d0, d1, s0, s1, s2, gr_wild_pitch(reps) each: d_k = d0 - theta d1, S = s0 - 2 theta s1 + theta^2 s2 */
	double	   *replicates;
} GrWild;

/* Returns the number of replicates: reps, or the number of vectors of signs if that is at most reps. */
extern int64_t gr_wild_reps(const GrWild *wild);

/* Returns reps rounded up to whole vectors. */
static inline int64_t
gr_wild_pitch(int64_t reps)
{
	return (reps + 7) / 8 * 8;
}

/* Returns the bytes of the workspace of gr_wild_run(). */
extern size_t gr_wild_workspace_nbytes(int nterms);

/*
 * Makes the replicates. The caller sets all members of wild except squares and enumerated, and provides replicates for
 * gr_wild_reps() of them. Sets reps, squares and enumerated. max_lanes: for the tests, as in gr_gram_add_lanes(). Fails
 * with GR_CANCELED.
 */
extern bool gr_wild_run(GrWild *wild, void *workspace, int max_lanes, const GrHost *host, GrError *err);

/* Returns the p-value of the null theta; NaN if the data's t is unknown, as all residuals are 0. */
extern double gr_wild_p_value(const GrWild *wild, double theta);

/*
 * Finds the limit, as a theta, of the nulls that are not rejected at alpha, above 0 (sign 1) or below 0 (sign -1). From
 * 0 on, growing steps that begin at half of scale (> 0, the standard error as a theta) search for the first p that is
 * not above alpha; bisection then finds the limit to 2^-40 of the step. *limit is infinite if there is none within a
 * million times scale. Returns false if canceled.
 */
extern bool gr_wild_limit(const GrWild *wild, double alpha, int sign, double scale, double *limit, const GrHost *host);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_WILD_H */
