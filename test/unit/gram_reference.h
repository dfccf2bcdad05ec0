/*
 * gram_reference.h: an independent Gram matrix in quadruple precision, for the tests. Apart, as nvcc doesn't take
 * __float128.
 */
#ifndef GPUREG_GRAM_REFERENCE_H
#define GPUREG_GRAM_REFERENCE_H

#include <stdint.h>

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
