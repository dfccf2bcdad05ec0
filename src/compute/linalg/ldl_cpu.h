/*
 * ldl_cpu.h: the dot product of ldl.c, a template of simd.h.
 */

/*
 * Dot product in double-double: the sum over k < n of a[k] b[k], n a multiple of DOT_LANES. Writes DOT_LANES sums s.hi
 * + s.lo, each of every DOT_LANES-th term, not normalised, and their sums of |product| to magnitudes. The number of
 * sums, and so every bit, does not depend on V_LANES.
 *
 * s.hi sums the products' high halves by TwoSum; s.lo sums its errors and the products' low halves. The part left out
 * of a product is below 2 u^2 of it, u = 2^-53, and the rounding error of s.lo is of the order of n^(1/2) u^2 of the
 * magnitudes.
 */
#define DOT_STEP(x, y, m, k) do { \
	V ah_ = V_LOAD(a.hi + (k)); \
	V bh_ = V_LOAD(b.hi + (k)); \
	V p_ = V_MUL(ah_, bh_); \
	V l_ = V_FMA(ah_, V_LOAD(b.lo + (k)), V_FMA(V_LOAD(a.lo + (k)), bh_, V_FMS(ah_, bh_, p_))); \
	V s_ = V_ADD(x, p_); \
	V t_ = V_SUB(s_, x); \
	V u_ = V_SUB(x, V_SUB(s_, t_)); \
	y = V_ADD(y, V_ADD(V_ADD(u_, V_SUB(p_, t_)), l_)); \
	x = s_; \
	m = V_ADD(m, V_ABS(p_)); \
} while (0)

static TARGET void
NAME(dot) (GrDDConstVector a, GrDDConstVector b, int64_t n, GrDDVector s, double *magnitudes)
{
	for (int l = 0; l < DOT_LANES; l += V_LANES)
	{
		V			x = V_ZERO();
		V			y = V_ZERO();
		V			m = V_ZERO();

		for (int64_t k = l; k < n; k += DOT_LANES)
			DOT_STEP(x, y, m, k);
		V_STORE(s.hi + l, x);
		V_STORE(s.lo + l, y);
		V_STORE(magnitudes + l, m);
	}
}

/* Subtracts the products first .. n - 1 from sum one by one and adds their magnitudes. Same bits on every processor. */
static TARGET GrDD
NAME(minus_products)(GrDD sum, GrDDConstVector a, GrDDConstVector b, int64_t first, int64_t n, double *magnitude)
{
	for (int64_t k = first; k < n; k++)
	{
		GrDD		ak = {a.hi[k], a.lo[k]};
		GrDD		bk = {b.hi[k], b.lo[k]};
		GrDD		p = gr_dd_mul(ak, bk);

		*magnitude += fabs(p.hi);
		sum = gr_dd_sub(sum, p);
	}
	return sum;
}

static const DotVersion NAME(dot_version) = {
	.dot = NAME(dot),
	.minus_products = NAME(minus_products)
};

#undef DOT_STEP
