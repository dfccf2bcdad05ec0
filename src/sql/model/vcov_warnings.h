/*
 * vcov_warnings.h: warnings about standard errors that a fit cannot give. Fits with robust or clustered covariances
 * call it (glm_fit.c, fn_logreg.c, fn_clusters.c, fn_wild.c).
 */
#ifndef GPUREG_VCOV_WARNINGS_H
#define GPUREG_VCOV_WARNINGS_H

#include "postgres.h"

#include "compute/linear/variance.h"
#include "sql/model/model.h"

/* Origin of the covariances, which decides the hint on how to get others. */
typedef enum GrVcovRemedy
{
	GR_VCOV_OF_ROWS,			/* HC0 to HC3 */
	GR_VCOV_OF_CLUSTERS,		/* CR0 to CR2, from the arguments vcov and clusters of a fit */
	GR_VCOV_OF_TWO_WAYS,		/* clusters of two columns */
	GR_VCOV_OF_STATES,			/* one state per cluster */
	GR_VCOV_OF_MODELS			/* three models of gpu_ols_two_way */
} GrVcovRemedy;

/*
 * Warns about terms with zero variances, and about terms with negative ones. kinds: nterms of model. perfect: the fit
 * leaves no residuals; a warning of that replaces the one of zero variances. A statement gives each message once.
 */
extern void gr_warn_of_variances(const GrModel *model, const GrVarianceKind *kinds, bool perfect,
								 GrVcovRemedy remedy);

/* Warns that a fit leaves no residuals and has no standard errors. A statement gives the message once. */
extern void gr_warn_of_perfect_fit(void);

#endif							/* GPUREG_VCOV_WARNINGS_H */
