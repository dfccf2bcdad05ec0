/*
 * sum_clusters.h: cluster-robust covariances of a linear regression from the sums of its clusters. Call
 * gr_cluster_fit_begin() with the sums of all rows, gr_cluster_fit_add() for the clusters, then gr_cluster_fit_vcov().
 *
 * A cluster is a record: the packed triangle of (1, x, y) over its rows, hi and lo, about a shift of its own, as in
 * compute.h and gram_shift.h. A_g and c_g are its products of terms and of terms with y, A and c those of all rows, and
 * b = A^-1 c. The score of the cluster, s_g = c_g - A_g b, cancels; b and the sum are therefore in double-double.
 *
 * All else is in units of a triangle C with C A C' = 1: q_g = C s_g, and K_g = C A_g C', whose eigenvalues are from 0
 * to 1 (the cluster's part of the hat matrix). The matrix between C' and C is
 *
 * CR0, CR1: sum of q q' (Liang and Zeger 1986); CR1 has the factor of vcov.h
 * CR3: (G - 1) / G sum of w w', where w = (1 - K_g)^-1 q_g
 * CR3J: (G - 1) / G sum of (w - m)(w - m)', where m is the mean of w
 *
 * C' w is the change of the estimate without the cluster. CR3 and CR3J are the cluster jackknife about the estimate and
 * about the mean of the estimates without a cluster: CV3 and CV3J of MacKinnon, Nielsen and Webb (2023), "Leverage,
 * influence, and the jackknife in clustered regression models". If the rows without a cluster do not determine all
 * coefficients, 1 - K_g is singular, and its generalised inverse is used: of all estimates without the cluster, the one
 * nearest to b by A is taken.
 *
 * GR_CLUSTER_LANES clusters are processed at a time, each in its own lane. The bits depend on the order of clusters, to
 * the last bit of double-double, but not on the processor.
 */
#ifndef GPUREG_SUM_CLUSTERS_H
#define GPUREG_SUM_CLUSTERS_H

#include "compute/linalg/gram.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GR_CLUSTER_LANES 8

/* Limit of terms: the scratch of a block, some arrays of 8 n^2 numbers, stays within about 100 MB. */
#define GR_CLUSTER_TERMS_MAX 1000

typedef enum GrClusterKind
{
	GR_CLUSTER_CR0,
	GR_CLUSTER_CR1,
	GR_CLUSTER_CR3,
	GR_CLUSTER_CR3J
} GrClusterKind;

#define GR_NCLUSTER_KINDS 4

/* Names of kinds: "CR0", ... gr_cluster_kind_named() ignores case and returns false for an unknown name. */
extern const char *gr_cluster_kind_name(GrClusterKind kind);
extern bool gr_cluster_kind_named(const char *name, GrClusterKind *kind);

/* The fit to the rows of all clusters. */
typedef struct GrClusterFit
{
	/* input */
	int			nterms;			/* n terms, none of them collinear with the others */
	const int  *entries;		/* n: entry of (1, x) of each term: 0 or a feature's number; owned by the caller */
	bool		origin;			/* all sums are about 0, as a model without intercept needs */
	bool		jackknife;		/* w is computed, for CR3 */

	int			nfeatures;		/* features of a record */
	double	   *shift;			/* nfeatures + 1: shift of all sums */
	double	   *coef_hi;		/* n: b about the shift, in double-double */
	double	   *coef_lo;
	double	   *factor;			/* n x n: C, lower triangular */
	bool		collinear;		/* K needs double-double */
	int64_t		nclusters;		/* number of clusters added */
	double	   *middle;			/* sums of q q' or w w', and of w; see sum_clusters.c */
	void	   *work;
} GrClusterFit;

/* Returns the numbers in a record, laid out as by gr_gram_at(). */
static inline int64_t
gr_cluster_record_size(int nfeatures)
{
	return (int64_t) gr_gram_ndoubles(nfeatures);
}

/* Returns the bytes of workspace, which must live as long as the fit. */
extern size_t gr_cluster_fit_nbytes(int nfeatures, int nterms);

/*
 * Begins with gram, the sums of all rows. The caller sets the input members of fit and clears the others. Fails with
 * GR_OUT_OF_RANGE (where: the term's column) if the matrix is not one of cross products, and as gr_normal_solve() does.
 */
extern bool gr_cluster_fit_begin(GrClusterFit *fit, const GrGram *gram, void *workspace, const GrHost *host,
								 GrError *err);

/*
 * Adds n consecutive records. n must be a multiple of GR_CLUSTER_LANES except in the last call. max_lanes: for tests,
 * as in gr_gram_add_lanes(). Fails with GR_CANCELED.
 */
extern bool gr_cluster_fit_add(GrClusterFit *fit, const double *records, int64_t n, int max_lanes, const GrHost *host,
							   GrError *err);

/*
 * Computes the covariances of the terms about a shift of 0 in vcov, n x n; NaN for CR1 without degrees of freedom.
 * nobs: observations. Zero variances come out as rounding error; see gr_judge_variances(). Fails with GR_CANCELED, and
 * with GR_RESULT_OUT_OF_RANGE (where: the term's entry minus 1) if a variance is not finite.
 */
extern bool gr_cluster_fit_vcov(const GrClusterFit *fit, GrClusterKind kind, int64_t nobs, double *vcov,
								const GrHost *host, GrError *err);

/* Computes the diagonal of (X'X)^-1 of the terms about a shift of 0, n entries, for gr_judge_variances(). */
extern void gr_cluster_fit_inverse(const GrClusterFit *fit, double *inverse);

/*
 * Computes q and the last column of K of up to GR_CLUSTER_LANES records, n numbers per record, for the wild bootstrap.
 * Returns false if the host asked to stop.
 */
extern bool gr_cluster_fit_scores(GrClusterFit *fit, const double *records, int nrecords, double *q, double *hat,
								  GrPoll *poll);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_SUM_CLUSTERS_H */
