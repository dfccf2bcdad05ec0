/*
 * glm_reference.h: sums of logistic regression's passes from their definition, for the tests: each row in quadruple
 * precision (with its own exp, log and square root), summed in long double.
 */
#ifndef GPUREG_GLM_REFERENCE_H
#define GPUREG_GLM_REFERENCE_H

#include "compute/glm/glm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Results of rows for one beta and shift; opaque, as nvcc doesn't accept __float128. */
typedef struct GlmReference GlmReference;

extern GlmReference *glm_reference_new(const GrPass *pass, const double *rows, int64_t nrows);
extern void glm_reference_free(GlmReference *reference);

/*
 * Errors of an EXACT, FAST or GRADIENT pass, each relative to the sum of the magnitudes of its terms; infinite if a sum
 * isn't finite. A row's magnitude counts 1 + s / 4 times, as a rounding of eta by half a unit in the last place is a
 * relative error of s 2^-53 in the result of exp. s is |eta| for EXACT passes; others round over the sum of |beta_j
 * z_j|, which is their s.
 */
typedef struct GlmErrors
{
	double		head;			/* counts, and the least margin relative to 1 + s / 4 */
	double		deviance;
	double		gradient;
	double		hessian;		/* EXACT: the Gram matrix without the gradient; GRADIENT: first and diagonal */
} GlmErrors;

/* Returns the errors of sums over the first nrows rows of the reference. */
extern GlmErrors glm_reference_errors(const GlmReference *reference, int64_t nrows, GrPassKind kind,
									  const double *sums);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_GLM_REFERENCE_H */
