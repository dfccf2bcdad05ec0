/*
 * products.c: sums of products of coefficients and values; see products.h.
 */
#include "compute/linalg/products.h"

/* Number of sums, and so the largest number of lanes */
#define NSUMS 4

/* Functions for one processor; see products_cpu.h */
typedef struct ProductsVersion
{
	void		(*add) (double *sums, const double *b, const double *x, size_t n);
	void		(*add_single) (double *sums, const double *b, const float *x, size_t n);
} ProductsVersion;

#define SIMD_TEMPLATE "compute/linalg/products_cpu.h"
#include "compute/base/simd.h"

static inline double
total(const double *sums)
{
	return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

double
gr_sum_products(const double *b, const double *x, size_t n)
{
	double		sums[NSUMS];
	size_t		whole = n - n % NSUMS;

	SIMD_CHOOSE(products_version, NSUMS)->add(sums, b, x, whole);
	for (size_t k = whole; k < n; k++)
		sums[0] += b[k] * x[k];
	return total(sums);
}

double
gr_sum_products_single(const double *b, const float *x, size_t n)
{
	double		sums[NSUMS];
	size_t		whole = n - n % NSUMS;

	SIMD_CHOOSE(products_version, NSUMS)->add_single(sums, b, x, whole);
	for (size_t k = whole; k < n; k++)
		sums[0] += b[k] * x[k];
	return total(sums);
}
