/*
 * wild.h: the wild cluster bootstrap of a coefficient of a linear regression, restricted (WCR), from clusters' scores.
 *
 * Cameron, Gelbach and Miller (2008): the null b = c is imposed, residuals of the restricted fit are multiplied by a
 * weight v_g of mean 0 and variance 1 a cluster, and the regression of what that gives is run again. Its t statistic,
 * by CR1, is compared with that of the data. Roodman, MacKinnon, Nielsen and Webb (2019), "Fast and wild", section 5,
 * is where it comes from that no regression is run.
 *
 * In the units of sum_clusters.h, with the coefficient's term as the last one, q_g the clusters' scores and u_g the
 * last column of K_g, theta = (c - b) / C_kk says which null: scores at the restricted fit are q_g - theta u_g. With
 * d = sum of v_g (q_g - theta u_g) a replicate's t is
 *
 *	 d_k / sqrt(f S), S = sum of (v_g (q_gk - theta u_gk) - u_g' d)^2
 *
 * and the data's -theta / sqrt(f W), W = sum of q_gk^2, where f is CR1's factor, which cancels from comparisons. d_k
 * and S are of degree 1 and 2 in theta: five numbers a replicate are its t for each null. So limits of confidence, the
 * nulls that aren't rejected, cost little more than one p-value.
 *
 * P-values are those of two tails, symmetric. With b replicates whose |t| is at least the data's, ties included, the
 * p-value is b / reps where all vectors of signs are taken, as the identity is one of them, and (1 + b) / (1 + reps)
 * where weights are drawn. So no p-value is 0.
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
	GR_WILD_WEBB				/* six points */
} GrWildWeights;

/* "rademacher", "webb"; the other way case doesn't matter; false if there are none of that name */
extern bool gr_wild_weights_named(const char *name, GrWildWeights *weights);

#define GR_WILD_REPS_MAX 1000000

typedef struct GrWild
{
	int			nterms;			/* k */
	int64_t		nclusters;
	const double *q;			/* nclusters x nterms */
	const double *u;			/* likewise */
	const int64_t *keys;		/* of the clusters; see wild_draw.h */
	GrWildWeights weights;
	uint64_t	seed;
	int64_t		reps;			/* in: that are asked for; out: that there are */
	bool		enumerated;		/* all 2^G vectors of signs, each once: no more than were asked for */
	double		squares;		/* W */
	/* 5 arrays of gr_wild_pitch() numbers: d_k = d0 - theta d1, S = s0 - 2 theta s1 + theta^2 s2 */
	double	   *replicates;
} GrWild;

/* How many replicates there will be: reps, or as many as vectors of signs, if these are no more */
extern int64_t gr_wild_reps(const GrWild *wild);

/* Of so many replicates: rounded up, for vectors */
static inline int64_t
gr_wild_pitch(int64_t reps)
{
	return (reps + 7) / 8 * 8;
}

/* Bytes of workspace that gr_wild_run() takes */
extern size_t gr_wild_workspace_nbytes(int nterms);

/*
 * Makes the replicates. wild has all but reps (as gr_wild_reps() has it), squares and enumerated, which are set;
 * replicates are the caller's. max_lanes: for the tests, as in gr_gram_add_lanes(). Fails with
 * GR_CANCELED.
 */
extern bool gr_wild_run(GrWild *wild, void *workspace, int max_lanes, const GrHost *host, GrError *err);

/* The p-value of the null that theta is; NaN where the data's t isn't known, as residuals are all 0 */
extern double gr_wild_p_value(const GrWild *wild, double theta);

/*
 * The limit of the nulls that aren't rejected at alpha, above 0 (sign 1) or below (-1), as a theta: where p, followed
 * from 0 on in steps of half of scale and growing, first isn't above alpha, to 2^-40 of scale or of the last step.
 * Infinite: nowhere within a million of scale. scale > 0: the standard error as a theta. False if the host asked to
 * stop.
 */
extern bool gr_wild_limit(const GrWild *wild, double alpha, int sign, double scale, double *limit, const GrHost *host);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_WILD_H */
