/*
 * ordinal_sums.h: sums over rows of an ordinal regression, a measure of multinom_sums.h. ordinal_fit.c asks for them.
 *
 * P(class <= j) = F(threshold j - x'b), as in MASS::polr, for K ordered classes, K - 1 ascending thresholds and the
 * inverse F of a link. Parameters are the slopes of x - shift, then the thresholds. Information is the observed one.
 */
#ifndef GPUREG_ORDINAL_SUMS_H
#define GPUREG_ORDINAL_SUMS_H

#include "compute/classes/classes_pass.h"

#ifdef __cplusplus
extern "C" {
#endif

static inline int
gr_ordinal_nparameters(const GrMultinomPass *pass)
{
	return pass->shape.nfeatures + pass->nclasses - 1;
}

/* The head and the classes' weights; the gradient; the packed triangle of the information */
static inline size_t
gr_ordinal_nsums(const GrMultinomPass *pass)
{
	size_t		m = (size_t) gr_ordinal_nparameters(pass);

	return gr_multinom_gradient_at(pass->nclasses) + m + m * (m + 1) / 2;
}

/* Adds the rows of a block, whose terms, code and prior are set. */
extern void gr_ordinal_add(const GrClassesBlock *block, GrDD *sums);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_ORDINAL_SUMS_H */
