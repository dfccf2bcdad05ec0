/*
 * margin_sums_cpu.h: the vector kernels of margin_sums.c, a template of simd.h. Lanes are rows, or NSUMS sums, so that
 * all targets give the same bits.
 */
#include "compute/base/sums_cpu.h"

/* Sets eta to offset + beta[0] + the products of p columns and beta[1 ..]. n: a multiple of NSUMS */
TARGET static void
NAME(predict) (const double *beta, int p, const double *columns, const double *offset, int n, double *eta)
{
	for (int r = 0; r < n; r += V_LANES)
	{
		V			sum = V_LOAD(offset + r);
		V			rest = V_ZERO();

		ADD_PRODUCT(sum, rest, V_SET1(beta[0]), V_SET1(1.0));
		for (int k = 0; k < p; k++)
			ADD_PRODUCT(sum, rest, V_LOAD(columns + (size_t) k * GR_MARGIN_ROWS + r), V_SET1(beta[1 + k]));
		V_STORE(eta + r, V_ADD(sum, rest));
	}
}

static const MarginVersion NAME(margin_version) = {.predict = NAME(predict),.add = NAME(add)};

#undef ADD_PRODUCT
