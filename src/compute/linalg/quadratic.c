/*
 * quadratic.c: x' V x of many vectors x and one matrix V; see quadratic.h.
 */
#include "compute/linalg/quadratic.h"

#include "compute/base/dd.h"

/* Function for one processor; see quadratic_cpu.h */
typedef struct QuadraticVersion
{
	double		(*form) (const double *packed, const double *low, size_t n, const double *x);
} QuadraticVersion;

#define SIMD_TEMPLATE "compute/linalg/quadratic_cpu.h"
#include "compute/base/simd.h"

double
gr_quadratic_form(const double *packed, const double *low, size_t n, const double *x)
{
	return SIMD_CHOOSE(quadratic_version, GR_QUADRATIC_ROWS)->form(packed, low, n, x);
}
