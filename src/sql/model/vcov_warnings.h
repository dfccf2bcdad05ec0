/*
 * vcov_warnings.h: WARNINGs about standard errors that a fit does not give.
 */
#ifndef GPUREG_VCOV_WARNINGS_H
#define GPUREG_VCOV_WARNINGS_H

#include "postgres.h"

#include "compute/linear/variance.h"
#include "sql/model/model.h"

/* How the user can get other covariances, for the hint */
typedef enum GrVcovRemedy
{
	GR_VCOV_OF_ROWS,			/* HC0 to HC3 */
	GR_VCOV_OF_CLUSTERS,		/* the arguments vcov and clusters of a fit */
	GR_VCOV_OF_TWO_WAYS,		/* clusters of two columns */
	GR_VCOV_OF_STATES,			/* one state per cluster */
	GR_VCOV_OF_MODELS			/* three models of gpu_ols_two_way */
} GrVcovRemedy;

/*
 * Names the terms whose variances are zero or negative, by kinds (nterms of model); each kind is one WARNING. perfect:
 * the fit leaves no residuals, which is said in place of zero variances. A statement says the same but once.
 */
extern void gr_warn_of_variances(const GrModel *model, const GrVarianceKind *kinds, bool perfect,
								 GrVcovRemedy remedy);

/* Says that a fit leaves no residuals, and has no standard errors; once per statement. */
extern void gr_warn_of_perfect_fit(void);

#endif							/* GPUREG_VCOV_WARNINGS_H */
