/*
 * vcov_low.h: low halves of a covariance matrix, which rounding it to float8 leaves. A model keeps them where its terms
 * are so nearly collinear that sums of products with covariances cancel.
 */
#ifndef GPUREG_VCOV_LOW_H
#define GPUREG_VCOV_LOW_H

#include "compute/design/design.h"
#include "compute/linear/ols.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * True if low halves are worth keeping for a covariance matrix of nterms <= GR_LOW_TERMS_MAX terms: if what a term's
 * estimate varies by given the others' is less than GR_LOW_SHARE of its variance. Terms with NaN or 0 have no part.
 * work: room for nterms x nterms numbers
 */
extern bool gr_vcov_loses_digits(const double *vcov, int nterms, double *work);

#define GR_LOW_SHARE 1e-3

/* Writes low halves, a packed triangle: of each entry the 16 hexadecimal digits of a float8. */
extern void gr_vcov_low_write(GrWriter *writer, const double *low, int nterms);

/*
 * Reads them. False if string isn't what is written of nterms terms, or has a number that isn't what rounding leaves of
 * its covariance. Entries of NaN covariances become 0.
 */
extern bool gr_vcov_low_read(const GrString *string, const double *vcov, int nterms, double *low);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_VCOV_LOW_H */
