/*
 * combination.h: the standard error of a linear combination of a model's coefficients, and its precision.
 * gpu_predict_interval, gpu_leverage and gpu_margins compute their standard errors with it.
 */
#ifndef GPUREG_COMBINATION_H
#define GPUREG_COMBINATION_H

#include "postgres.h"

#include "fmgr.h"

#include "compute/base/dd.h"
#include "compute/design/extras.h"

/* Largest relative error of a squared standard error that is reported: six digits are right. */
#define GR_PRECISE_SHARE 1e-6

typedef struct GrCombination
{
	const double *vcov;			/* in: nterms x nterms, may hold any numbers; NaN: not known */
	int			nterms;
	GrString	vcov_low;		/* in: low halves of vcov as text; bytes NULL: the model has none */
	GrDD	   *x;				/* in: finite weights of the nterms terms; out: overwritten by scaling */

	double		error;			/* out: sqrt(x' V x); infinite if it is out of range */
	double		noise;			/* out: square root of what rounding may have left in x' V x; 0 if V is exact */
} GrCombination;

/*
 * Computes error and noise. Terms whose x is 0 are ignored, whatever their covariances. Returns false if the error is
 * not known, because covariances are NaN or vcov is not a covariance matrix. If rounding alone may have made x' V x
 * negative, error is 0 and noise is not.
 */
extern bool gr_combination_error(GrCombination *c);

/* True if the square of the error plus more, which is exact, has six digits. */
extern bool gr_combination_is_precise(const GrCombination *c, double more);

/*
 * Covariances that are scaled and packed once, for the standard errors of many combinations. Its memory is that of the
 * context in which gr_ready_vcov() was called.
 */
typedef struct GrReadyVcov GrReadyVcov;

/*
 * Prepares c->vcov, c->nterms and c->vcov_low, which must live as long as the result. used: terms that combinations
 * may have. Returns NULL if covariances of these terms are not finite or out of range.
 */
extern GrReadyVcov *gr_ready_vcov(const GrCombination *c, const bool *used);

/*
 * Sets c->error and c->noise as gr_combination_error() does. x: weights of the terms, without the first term's, which
 * is 1, if intercept is true. Weights of terms that are not used are ignored. Returns false, and leaves the error to
 * gr_combination_error(), if weights are not finite, out of range or nearly all 0, or if the error is not known.
 */
extern bool gr_ready_error(GrReadyVcov *ready, bool intercept, const double *x, GrCombination *c);

/*
 * Warns that results of the calling function are NULL because they have too few digits. Warns once per call site in a
 * statement. what: the results in plural, such as "standard errors". warned: flag that the caller keeps between calls;
 * NULL: kept in fn_extra, which the function must not use otherwise.
 */
extern void gr_warn_imprecise(FunctionCallInfo fcinfo, bool *warned, const char *what);

#endif							/* GPUREG_COMBINATION_H */
