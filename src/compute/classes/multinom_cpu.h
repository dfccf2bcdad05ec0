/*
 * multinom_cpu.h: the vector kernels of multinom_sums.c, a template of simd.h. Lanes are rows, or NSUMS sums, so that
 * all targets give the same bits.
 */
#include "compute/base/sums_cpu.h"
#include "compute/dist/exp_cpu.h"

/* Sets eta to the products of nterms columns and beta. n: a multiple of NSUMS */
TARGET static void
NAME(predict) (const double *beta, int nterms, const double *columns, int n, double *eta)
{
	for (int r = 0; r < n; r += V_LANES)
	{
		V			sum = V_ZERO();
		V			rest = V_ZERO();

		for (int k = 0; k < nterms; k++)
			ADD_PRODUCT(sum, rest, V_LOAD(columns + (size_t) k * GR_MULTINOM_ROWS + r), V_SET1(beta[k]));
		V_STORE(eta + r, V_ADD(sum, rest));
	}
}

/* Sets product to the products of two columns. */
TARGET static void
NAME(multiply) (const double *a, const double *b, int n, double *product)
{
	for (int r = 0; r < n; r += V_LANES)
		V_STORE(product + r, V_MUL(V_LOAD(a + r), V_LOAD(b + r)));
}

/* Adds the sums of the products of a and 4 columns, GR_MULTINOM_ROWS apart, to 4 sums. */
static inline __attribute__((always_inline)) TARGET void
NAME(add_four) (const double *a, const double *columns, int n, GrDD *sums)
{
	V			s[4][NSUMS / V_LANES];
	double		lanes[NSUMS];

	for (int k = 0; k < 4; k++)
		for (int i = 0; i < NSUMS / V_LANES; i++)
			s[k][i] = V_ZERO();
	for (int r = 0; r < n; r += NSUMS)
		for (int i = 0; i < NSUMS / V_LANES; i++)
		{
			V			x = V_LOAD(a + r + i * V_LANES);

			for (int k = 0; k < 4; k++)
				s[k][i] = V_FMA(x, V_LOAD(columns + (size_t) k * GR_MULTINOM_ROWS + r + i * V_LANES), s[k][i]);
		}
	for (int k = 0; k < 4; k++)
	{
		for (int i = 0; i < NSUMS / V_LANES; i++)
			V_STORE(lanes + i * V_LANES, s[k][i]);
		sums[k] = gr_dd_add(sums[k], gr_two_sum((lanes[0] + lanes[1]) + (lanes[2] + lanes[3]),
												(lanes[4] + lanes[5]) + (lanes[6] + lanes[7])));
	}
}

/* Adds the float8 sum of the products of a and b to a sum. */
static inline __attribute__((always_inline)) TARGET void
NAME(add_one) (const double *a, const double *b, int n, GrDD *sum)
{
	V			s[NSUMS / V_LANES];
	double		lanes[NSUMS];

	for (int i = 0; i < NSUMS / V_LANES; i++)
		s[i] = V_ZERO();
	for (int r = 0; r < n; r += NSUMS)
		for (int i = 0; i < NSUMS / V_LANES; i++)
			s[i] = V_FMA(V_LOAD(a + r + i * V_LANES), V_LOAD(b + r + i * V_LANES), s[i]);
	for (int i = 0; i < NSUMS / V_LANES; i++)
		V_STORE(lanes + i * V_LANES, s[i]);
	*sum = gr_dd_add(*sum, gr_two_sum((lanes[0] + lanes[1]) + (lanes[2] + lanes[3]),
									  (lanes[4] + lanes[5]) + (lanes[6] + lanes[7])));
}

/* Adds the triangle X' diag(weight) X of n rows. work: a column */
TARGET static void
NAME(triangle) (const double *columns, int nterms, const double *weight, int n, bool exact, double *work, GrDD *sums)
{
	for (int a = 0; a < nterms; a++)
	{
		int			b = 0;

		NAME(multiply) (columns + (size_t) a * GR_MULTINOM_ROWS, weight, n, work);
		if (exact)
			for (; b <= a; b++)
				NAME(add) (columns + (size_t) b * GR_MULTINOM_ROWS, work, n, sums++);
		for (; b + 4 <= a + 1; b += 4, sums += 4)
			NAME(add_four) (work, columns + (size_t) b * GR_MULTINOM_ROWS, n, sums);
		for (; b <= a; b++)
			NAME(add_one) (work, columns + (size_t) b * GR_MULTINOM_ROWS, n, sums++);
	}
}

/*
 * Replaces the k - 1 columns of linear predictors by probabilities. Sets the columns of residuals, (y == j) - p_j times
 * the prior weight, and ratio, by which the sum of all exp(eta) exceeds that of the row's class. kept: k columns, 1
 * where a class takes part and 0 elsewhere; NULL: all do. work: k columns
 */
TARGET static void
NAME(softmax) (int k, const double *code, const double *prior, const double *kept, int n, double *eta,
			   double *residual, double *ratio, double *work)
{
	const V		one = V_SET1(1.0);
	const V		half = V_SET1(0.5);

	for (int r = 0; r < n; r += V_LANES)
	{
		V			most = V_ZERO();
		V			sum = V_ZERO();
		V			own = V_ZERO();
		V			others = V_ZERO();
		V			weight = V_LOAD(prior + r);
		V			class = V_LOAD(code + r);

		for (int j = 0; j < k - 1; j++)
			most = V_MAX(most, V_LOAD(eta + (size_t) j * GR_MULTINOM_ROWS + r));
		for (int j = 0; j < k; j++)
		{
			V			e = j == 0 ? V_ZERO() : V_LOAD(eta + (size_t) (j - 1) * GR_MULTINOM_ROWS + r);
			V			is_own = V_SUB(V_ABS(V_SUB(class, V_SET1((double) j))), half);

			e = NAME(exp_minus_by) (V_MIN(V_SET1(460.0), V_SUB(most, e)), true);
			if (kept != NULL)
				e = V_MUL(e, V_LOAD(kept + (size_t) j * GR_MULTINOM_ROWS + r));
			sum = V_ADD(sum, e);
			own = V_IF_NEGATIVE(is_own, e, own);
			others = V_IF_NEGATIVE(is_own, others, V_ADD(others, e));
			V_STORE(work + (size_t) j * GR_MULTINOM_ROWS + r, e);
		}
		for (int j = 1; j < k; j++)
		{
			V			p = V_DIV(V_LOAD(work + (size_t) j * GR_MULTINOM_ROWS + r), sum);
			V			is_own = V_SUB(V_ABS(V_SUB(class, V_SET1((double) j))), half);
			size_t		at = (size_t) (j - 1) * GR_MULTINOM_ROWS + r;

			V_STORE(eta + at, p);
			V_STORE(residual + at, V_MUL(weight, V_IF_NEGATIVE(is_own, V_DIV(others, sum), V_SUB(V_ZERO(), p))));
		}
		V_STORE(ratio + r, V_MUL(one, V_DIV(others, own)));
	}
}

static const GrClassesKernels NAME(multinom_version) = {
	.predict = NAME(predict),.add = NAME(add),.triangle = NAME(triangle),.softmax = NAME(softmax)
};

#undef ADD_PRODUCT
#undef EXP_MLA
