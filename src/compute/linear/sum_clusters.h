/*
 * sum_clusters.h: covariances robust to clusters, of a linear regression whose clusters' sums are known.
 *
 * A cluster is a record: the packed triangle of (1, x, y) over its rows, hi and lo, about a shift of its own, as
 * compute.h and gram_shift.h have them. With A_g and c_g its products of terms and of these with y, A and c those of
 * all rows, and b = A^-1 c, the cluster's score is s_g = c_g - A_g b. It is what the cluster's residuals leave, and
 * cancels: so b is known in double-double here, and so is the sum that s_g is.
 *
 * Everything after it is in units of a triangle C with C A C' = 1: q_g = C s_g, and K_g = C A_g C', whose eigenvalues
 * are from 0 to 1, as the cluster's part of the hat matrix has them. What is put between C' and C is
 *
 *	 CR0, CR1	sum of q q' (Liang and Zeger 1986); CR1 has the factor of vcov.h
 *	 CR3		(G - 1) / G sum of w w', w = (1 - K_g)^-1 q_g
 *	 CR3J		(G - 1) / G sum of (w - m)(w - m)', m the mean of w
 *
 * C' w is by how much the estimate without the cluster differs: CR3 and CR3J are the cluster jackknife about the
 * estimate and about the mean of those without a cluster, CV3 and CV3J of MacKinnon, Nielsen and Webb (2023),
 * "Leverage, influence, and the jackknife in clustered regression models". Where the rows without a cluster don't
 * determine all coefficients, 1 - K_g is singular, and its generalised inverse stands for the inverse: of all estimates
 * without the cluster, that nearest to b by A is taken.
 *
 * Clusters are taken GR_CLUSTER_LANES at a time, each in a lane of its own; the bits depend on their order, to the last
 * of double-double, and not on the processor.
 */
#ifndef GPUREG_SUM_CLUSTERS_H
#define GPUREG_SUM_CLUSTERS_H

#include "compute/linalg/gram.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GR_CLUSTER_LANES 8

/* The work of a block of clusters, 8 n^2 numbers of some kinds, stays within some 100 MB. */
#define GR_CLUSTER_TERMS_MAX 1000

typedef enum GrClusterKind
{
	GR_CLUSTER_CR0,
	GR_CLUSTER_CR1,
	GR_CLUSTER_CR3,
	GR_CLUSTER_CR3J
} GrClusterKind;

#define GR_NCLUSTER_KINDS 4

/* "CR0", ...; the other way case doesn't matter; false if there is none of that name */
extern const char *gr_cluster_kind_name(GrClusterKind kind);
extern bool gr_cluster_kind_named(const char *name, GrClusterKind *kind);

/* What clusters are measured by: the fit to all of their rows */
typedef struct GrClusterFit
{
	/* given */
	int			nterms;			/* n, none of them collinear with the others */
	const int  *entries;		/* n: which of (1, x) a term is: 0 or a feature's number; the caller's */
	bool		origin;			/* all sums are brought to a shift of 0, as a model without intercept needs */
	bool		jackknife;		/* w is wanted, for CR3 */

	int			nfeatures;		/* of a record */
	double	   *shift;			/* nfeatures + 1: that all sums are brought to */
	double	   *coef_hi;		/* n: b about the shift, in double-double */
	double	   *coef_lo;
	double	   *factor;			/* n x n: C, lower triangular */
	bool		collinear;		/* float8 doesn't suffice for K */
	int64_t		nclusters;		/* added so far */
	double	   *middle;			/* sums of q q', or w w', and of w: see sum_clusters.c */
	void	   *work;
} GrClusterFit;

/* Numbers in a record, which gr_gram_at() lays out */
static inline int64_t
gr_cluster_record_size(int nfeatures)
{
	return (int64_t) gr_gram_ndoubles(nfeatures);
}

/* Bytes of workspace that a fit keeps for as long as it is used */
extern size_t gr_cluster_fit_nbytes(int nfeatures, int nterms);

/*
 * Begins with gram, the sums of all rows, where what is given in fit is set and all else is 0. Fails with
 * GR_OUT_OF_RANGE (where: the term's column) if the matrix isn't one of cross products, and as gr_normal_solve() does.
 */
extern bool gr_cluster_fit_begin(GrClusterFit *fit, const GrGram *gram, void *workspace, const GrHost *host,
								 GrError *err);

/*
 * Adds n records, which follow one another; n is a multiple of GR_CLUSTER_LANES but for the last ones. max_lanes: for
 * the tests, as in gr_gram_add_lanes(). Fails with GR_CANCELED.
 */
extern bool gr_cluster_fit_add(GrClusterFit *fit, const double *records, int64_t n, int max_lanes, const GrHost *host,
							   GrError *err);

/*
 * The covariances of the terms about a shift of 0 into vcov, n x n; NaN of CR1 without degrees of freedom. nobs:
 * observations. Variances that are zero come out as what rounding leaves: gr_judge_variances() tells. Fails with
 * GR_RESULT_OUT_OF_RANGE (where: the term's entry less 1) if a variance isn't finite.
 */
extern bool gr_cluster_fit_vcov(const GrClusterFit *fit, GrClusterKind kind, int64_t nobs, double *vcov,
								const GrHost *host, GrError *err);

/* The diagonal of (X'X)^-1 of the terms about a shift of 0, n entries, for gr_judge_variances() */
extern void gr_cluster_fit_inverse(const GrClusterFit *fit, double *inverse);

/*
 * q and the last column of K of up to GR_CLUSTER_LANES records, n numbers a record, for the wild bootstrap. False if
 * the host asked to stop.
 */
extern bool gr_cluster_fit_scores(GrClusterFit *fit, const double *records, int nrecords, double *q, double *hat,
								  GrPoll *poll);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_SUM_CLUSTERS_H */
