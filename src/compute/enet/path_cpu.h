/*
 * path_cpu.h: the vector kernels of path_kernels.h, a template of simd.h.
 *
 * A sum has eight partial sums, each of every eighth entry, for any V_LANES: the bits are the same on every processor.
 *
 *    k:     0  1  2  3  4  5  6  7 | 8  9 ...
 *    part:  0  1  2  3  4  5  6  7 | 0  1 ...
 */

/* out[r] = sum over k < n of rows[r][k] x[k], for eight rows; n is a multiple of 8. */
TARGET static void
NAME(dots) (double *out, const double *const *rows, const double *x, int64_t n)
{
	double		lanes[8][8];

	for (int l = 0; l < 8; l += V_LANES)
	{
		V			sum[8];

#pragma GCC unroll 8
		for (int r = 0; r < 8; r++)
			sum[r] = V_ZERO();
		for (int64_t k = l; k < n; k += 8)
		{
			V			v = V_LOAD(x + k);

#pragma GCC unroll 8
			for (int r = 0; r < 8; r++)
				sum[r] = V_FMA(V_LOAD(rows[r] + k), v, sum[r]);
		}
#pragma GCC unroll 8
		for (int r = 0; r < 8; r++)
			V_STORE(lanes[r] + l, sum[r]);
	}
	for (int r = 0; r < 8; r++)
		out[r] = ((lanes[r][0] + lanes[r][4]) + (lanes[r][2] + lanes[r][6])) +
			((lanes[r][1] + lanes[r][5]) + (lanes[r][3] + lanes[r][7]));
}

/* x[k] -= sum over r < 8 of rows[r][k] c[r], for k < n; n is a multiple of 8. */
TARGET static void
NAME(subtract) (double *x, const double *const *rows, const double *c, int64_t n)
{
	V			factor[8];

#pragma GCC unroll 8
	for (int r = 0; r < 8; r++)
		factor[r] = V_SET1(-c[r]);
	for (int64_t k = 0; k < n; k += V_LANES)
	{
		V			sum = V_LOAD(x + k);

#pragma GCC unroll 8
		for (int r = 0; r < 8; r++)
			sum = V_FMA(V_LOAD(rows[r] + k), factor[r], sum);
		V_STORE(x + k, sum);
	}
}

/*
 * (hi, lo) += (a + a_lo)(b + b_lo), without normalising lo. TwoSum's differences are exact, so the errors of the sum
 * and the product are one difference and one a b - t, rounded once, as in kernels_cpu.h.
 */
#define ADD_PRODUCT(hi, lo, a, a_lo, b, b_lo) do { \
	V s_ = V_ADD(hi, V_MUL(a, b)); \
	V t_ = V_SUB(s_, hi); \
	V u_ = V_SUB(hi, V_SUB(s_, t_)); \
	lo = V_ADD(lo, V_FMA(a, b_lo, V_FMA(a_lo, b, V_ADD(u_, V_FMS(a, b, t_))))); \
	hi = s_; \
} while (0)

/*
 * For rows t .. t + 3 of the triangle: subtracts their products with b from y[t ..], and what they contribute, as
 * columns, to the entries above them.
 */
TARGET static void
NAME(subtract_rows) (double *y_hi, double *y_lo, const double *hi, const double *lo, const double *b_hi,
					 const double *b_lo, int64_t t)
{
	int64_t		pitch = GR_PATH_PITCH(t);
	double		sum_hi[4][8];
	double		sum_lo[4][8];

	for (int l = 0; l < 8; l += V_LANES)
	{
		V			s[4];
		V			e[4];
		V			minus[4];
		V			minus_lo[4];

#pragma GCC unroll 4
		for (int r = 0; r < 4; r++)
		{
			s[r] = e[r] = V_ZERO();
			minus[r] = V_SET1(-b_hi[t + r]);
			minus_lo[r] = V_SET1(-b_lo[t + r]);
		}
		for (int64_t k = l; k < pitch; k += 8)
		{
			V			y = V_LOAD(y_hi + k);
			V			rest = V_LOAD(y_lo + k);
			V			b = V_LOAD(b_hi + k);
			V			b_rest = V_LOAD(b_lo + k);

#pragma GCC unroll 4
			for (int r = 0; r < 4; r++)
			{
				V			a = V_LOAD(hi + r * pitch + k);
				V			a_lo = V_LOAD(lo + r * pitch + k);

				ADD_PRODUCT(y, rest, a, a_lo, minus[r], minus_lo[r]);
				ADD_PRODUCT(s[r], e[r], a, a_lo, b, b_rest);
			}
			V_STORE(y_hi + k, y);
			V_STORE(y_lo + k, rest);
		}
#pragma GCC unroll 4
		for (int r = 0; r < 4; r++)
		{
			V_STORE(sum_hi[r] + l, s[r]);
			V_STORE(sum_lo[r] + l, e[r]);
		}
	}
	for (int r = 0; r < 4; r++)
		for (int l = 0; l < 8; l++)
		{
			GrDD		y = gr_two_sum(y_hi[t + r], -sum_hi[r][l]);

			y_hi[t + r] = y.hi;
			y_lo[t + r] += y.lo - sum_lo[r][l];
		}
}

/* y -= C b for a symmetric C, given as the triangle's rows below the diagonal, laid out by gr_path_row_at(). */
TARGET static void
NAME(subtract_symmetric) (double *y_hi, double *y_lo, const double *hi, const double *lo, const double *b_hi,
						  const double *b_lo, int64_t n)
{
	for (int64_t t = 0; t < n; t += 4)
		NAME(subtract_rows) (y_hi, y_lo, hi + gr_path_row_at(t), lo + gr_path_row_at(t), b_hi, b_lo, t);
}

static const GrPathKernels NAME(kernels) = {
	.dots = NAME(dots),
	.subtract = NAME(subtract),
	.subtract_symmetric = NAME(subtract_symmetric),
};

#undef ADD_PRODUCT
