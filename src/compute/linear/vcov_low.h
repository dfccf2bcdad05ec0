/*
 * vcov_low.h: low halves of a covariance matrix, the part that rounding to float8 loses. A model stores them if its
 * terms are so nearly collinear that sums of products with covariances cancel. Call gr_vcov_loses_digits() first.
 */
#ifndef GPUREG_VCOV_LOW_H
#define GPUREG_VCOV_LOW_H

#include "compute/design/design.h"
#include "compute/linear/ols.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * True if low halves are worth keeping for a covariance matrix of nterms <= GR_LOW_TERMS_MAX terms: if the variance of
 * some term's estimate given the terms before it is below GR_LOW_SHARE of its variance. Terms whose variance is NaN or
 * 0 are ignored. work: nterms x nterms numbers.
 */
extern bool gr_vcov_loses_digits(const double *vcov, int nterms, double *work);

#define GR_LOW_SHARE 1e-3

/* Writes low halves, a packed triangle: 16 hexadecimal digits of a float8 per entry. */
extern void gr_vcov_low_write(GrWriter *writer, const double *low, int nterms);

/*
 * Reads low halves. Returns false if string was not written for nterms terms, or has a number that is too large to be
 * left by rounding its covariance. Entries of NaN covariances become 0.
 */
extern bool gr_vcov_low_read(const GrString *string, const double *vcov, int nterms, double *low);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_VCOV_LOW_H */
