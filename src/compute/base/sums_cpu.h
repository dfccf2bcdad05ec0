/*
 * sums_cpu.h: compensated sums of products, a part of templates of simd.h: margin_sums_cpu.h and multinom_cpu.h include
 * it. The includer defines NSUMS, the number of sums that a column is added into on every processor, and undefines
 * ADD_PRODUCT.
 */

/* Adds a product to sum, and to rest what its rounding and the sum's lose: TwoProduct and Knuth's TwoSum. */
#define ADD_PRODUCT(sum, rest, a, b) do { \
	V			product_ = V_MUL(a, b); \
	V			error_ = V_FMS(a, b, product_); \
	V			total_ = V_ADD(sum, product_); \
	V			part_ = V_SUB(total_, sum); \
\
	error_ = V_ADD(error_, V_ADD(V_SUB(sum, V_SUB(total_, part_)), V_SUB(product_, part_))); \
	rest = V_ADD(rest, error_); \
	sum = total_; \
} while (0)

/* Adds the products of n elements to a sum. n: a multiple of NSUMS */
TARGET static void
NAME(add) (const double *column, const double *weight, int n, GrDD *sum)
{
	V			sums[NSUMS / V_LANES];
	V			rests[NSUMS / V_LANES];
	double		hi[NSUMS];
	double		lo[NSUMS];

	for (int i = 0; i < NSUMS / V_LANES; i++)
		sums[i] = rests[i] = V_ZERO();
	for (int r = 0; r < n; r += NSUMS)
		for (int i = 0; i < NSUMS / V_LANES; i++)
			ADD_PRODUCT(sums[i], rests[i], V_LOAD(column + r + i * V_LANES), V_LOAD(weight + r + i * V_LANES));
	for (int i = 0; i < NSUMS / V_LANES; i++)
	{
		V_STORE(hi + i * V_LANES, sums[i]);
		V_STORE(lo + i * V_LANES, rests[i]);
	}
	for (int l = 0; l < NSUMS; l++)
		*sum = gr_dd_add(*sum, gr_two_sum(hi[l], lo[l]));
}
