/*
 * products.h: sums of products of coefficients and values, for predictions by many features (sql/model/predict.c).
 *
 * Both functions add the products, rounded to float8, to four sums in turn, and then those sums. So a float4 gives the
 * bits of the same float8, on every processor. n need not be a multiple of four: the last products go to the first sum.
 */
#ifndef GPUREG_PRODUCTS_H
#define GPUREG_PRODUCTS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

extern double gr_sum_products(const double *b, const double *x, size_t n);
extern double gr_sum_products_single(const double *b, const float *x, size_t n);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_PRODUCTS_H */
