/*
 * margin_sums_cpu.h: the vector kernels of margin_sums.c, a template of simd.h. Lanes are rows, or NSUMS sums, so that
 * all targets give the same bits.
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

static const MarginVersion NAME(margin_version) = {.predict = NAME(predict),.add = NAME(add)};

#undef ADD_PRODUCT
