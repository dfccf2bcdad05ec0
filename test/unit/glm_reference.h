/*
 * glm_reference.h: the sums of logistic regression's passes from their definition, for the tests: each row in quadruple
 * precision (with its own exp, log and square root), their sums in long double.
 */
#ifndef GPUREG_GLM_REFERENCE_H
#define GPUREG_GLM_REFERENCE_H

#include "compute/glm/glm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Rows worked out for one beta and shift; opaque, as nvcc doesn't take __float128. */
typedef struct GlmReference GlmReference;

extern GlmReference *glm_reference_new(const GrPass *pass, const double *rows, int64_t nrows);
extern void glm_reference_free(GlmReference *reference);

/*
 * Errors of a pass of EXACT, FAST or GRADIENT, each relative to the sum of the magnitudes of what is summed; infinite
 * where anything isn't finite. A row's magnitude counts 1 + s / 4 times, as a rounding of eta by half a unit in the
 * last place is a relative error of s 2^-53 in what exp makes of it: s = |eta| for EXACT, and the sum of |beta_j z_j|,
 * over which float8 rounds, for the others.
 */
typedef struct GlmErrors
{
	double		head;			/* of counts and the least margin; the latter relative to 1 + s / 4 */
	double		deviance;
	double		gradient;
	double		hessian;		/* EXACT: of the whole Gram matrix but the gradient; GRADIENT: of first and diagonal */
} GlmErrors;

/* of sums over the first nrows rows of those given */
extern GlmErrors glm_reference_errors(const GlmReference *reference, int64_t nrows, GrPassKind kind,
									  const double *sums);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_GLM_REFERENCE_H */
