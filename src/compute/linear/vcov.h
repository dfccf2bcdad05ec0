/*
 * vcov.h: the kinds of covariance matrices of estimates, an option of every fit.
 *
 * All kinds but the first are sandwich estimates B M B: B is the inverse of the (expected) information, and M is made
 * of scores, the rows' parts of the gradient. They are valid even if the model's variance is wrong.
 *
 * HC0 is White's (1980): M sums s s' over rows. HC1 multiplies M by n / (n - k). HC2 and HC3 divide a row's score by
 * sqrt(1 - h) and by 1 - h, where h is its leverage (MacKinnon and White 1985).
 *
 * CR0, CR1 and CR2 first sum the scores of each cluster (Liang and Zeger 1986). CR1 multiplies M by G / (G - 1) (n - 1)
 * / (n - k) for G clusters, as Stata's regress and fixest do. CR2 multiplies a cluster's scores by the inverse root of
 * 1 minus its part of the hat matrix (Bell and McCaffrey 2002). With two ways of clustering the result is the sum of
 * both matrices minus that of both together (Cameron, Gelbach and Miller 2011).
 */
#ifndef GPUREG_VCOV_H
#define GPUREG_VCOV_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum GrVcov
{
	GR_VCOV_IID,				/* B times the dispersion */
	GR_VCOV_HC0,
	GR_VCOV_HC1,
	GR_VCOV_HC2,
	GR_VCOV_HC3,
	GR_VCOV_CR0,
	GR_VCOV_CR1,
	GR_VCOV_CR2
} GrVcov;

#define GR_NVCOVS 8

#define GR_CLUSTERS_MAX 2		/* columns that define clusters */

static inline bool
gr_vcov_is_clustered(GrVcov vcov)
{
	return vcov >= GR_VCOV_CR0;
}

/* True if a kind needs leverages of rows or a cluster's part of the hat matrix, from gr_sandwich_factor(). */
static inline bool
gr_vcov_has_leverages(GrVcov vcov)
{
	return vcov == GR_VCOV_HC2 || vcov == GR_VCOV_HC3 || vcov == GR_VCOV_CR2;
}

/* Names of kinds: "iid", "HC0", ... gr_vcov_named() ignores case and returns false for an unknown name. */
extern const char *gr_vcov_name(GrVcov vcov);
extern bool gr_vcov_named(const char *name, GrVcov *vcov);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_VCOV_H */
