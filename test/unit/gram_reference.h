/*
 * gram_reference.h: an independent Gram matrix in quadruple precision, for the tests. A header of its own, as nvcc
 * doesn't accept __float128.
 */
#ifndef GPUREG_GRAM_REFERENCE_H
#define GPUREG_GRAM_REFERENCE_H

#include <float.h>
#include <stdint.h>

/* 113 bits: long double where it is that long (64-bit Arm), else gcc's type */
#if LDBL_MANT_DIG == 113
typedef long double Quad;
#elif !defined(__CUDACC__)
typedef __float128 Quad;
#endif

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Returns the largest |hi + lo - g| / (sum over rows of |z_i z_j|) over the packed triangle's entries, q = nfeatures +
 * 2. g is the sum in quadruple precision. An entry counts 0 if both sums are 0, and infinite if it isn't finite.
 */
extern double gram_reference_error(const double *rows, int64_t nrows, int nfeatures, const double *hi,
								   const double *lo);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_GRAM_REFERENCE_H */
