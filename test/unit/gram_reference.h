/*
 * gram_reference.h: an independent Gram matrix in quadruple precision, for the tests. Apart, as nvcc doesn't take
 * __float128.
 */
#ifndef GPUREG_GRAM_REFERENCE_H
#define GPUREG_GRAM_REFERENCE_H

#include <float.h>
#include <stdint.h>

/* 113 bits: long double where it has them (64-bit Arm), else gcc's own type */
#if LDBL_MANT_DIG == 113
typedef long double Quad;
#elif !defined(__CUDACC__)
typedef __float128 Quad;
#endif

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The largest |hi + lo - g| / (sum over rows of |z_i z_j|) over the entries of the packed triangle, q = nfeatures + 2;
 * g is the sum in quadruple precision; 0 where both are 0, infinite where an entry isn't finite.
 */
extern double gram_reference_error(const double *rows, int64_t nrows, int nfeatures, const double *hi,
								   const double *lo);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_GRAM_REFERENCE_H */
