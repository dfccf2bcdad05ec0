/*
 * multinom_sums.h: sums over rows of a multinomial logistic regression, many rows at a time. multinom_fit.c asks for
 * them; the request GR_REQUEST_MULTINOM (compute/request) adds them up.
 *
 * A model of K classes has K - 1 linear predictors of t = nfeatures + 1 terms (1, x - shift) each, one for every class
 * but the first, the base, whose predictor is 0. Class k has the probability exp(eta_k) / (1 + sum of exp(eta)).
 *
 * Likelihood, gradient and the sums of GR_MULTINOM_START are as accurate as in double-double. Products of the Hessian
 * and of the middle are summed in float8 over GR_MULTINOM_ROWS rows, then in double-double; if the pass is exact, all
 * in double-double.
 */
#ifndef GPUREG_MULTINOM_SUMS_H
#define GPUREG_MULTINOM_SUMS_H

#include "compute/classes/classes_pass.h"

#ifdef __cplusplus
extern "C" {
#endif

extern size_t gr_multinom_products_at(const GrMultinomPass *pass);

/* Returns the number of GrDD of the sums. */
extern size_t gr_multinom_nsums(const GrMultinomPass *pass);

/* Returns the number of float8 that gr_multinom_sums_add() needs as scratch. */
extern size_t gr_multinom_scratch(const GrMultinomPass *pass);

/* Adds nrows rows, at most GR_MULTINOM_ROWS, whose values are all finite. */
extern void gr_multinom_sums_add(const GrMultinomPass *pass, const double *rows, int nrows, double *scratch,
								 GrDD *sums);

/* Adds other, sums of the same pass, to sums. */
extern void gr_multinom_sums_merge(const GrMultinomPass *pass, GrDD *sums, const GrDD *other);

/* Returns the class of a response, or -1. */
static inline int
gr_multinom_class(const GrMultinomPass *pass, double response)
{
	for (int k = 0; k < pass->nclasses; k++)
		if (pass->values[k] == response)
			return k;
	return -1;
}

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_MULTINOM_SUMS_H */
