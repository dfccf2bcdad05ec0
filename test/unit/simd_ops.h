/*
 * simd_ops.h: applies every operation of simd_target.h to NVALUES values; a template like simd.h.
 */

/* Sets out[k] to the expression of a[k], b[k], c[k]. */
#define EACH(expression) do { \
	for (int k = 0; k < NVALUES; k += V_LANES) \
	{ \
		V			a = V_LOAD(values->a + k); \
		V			b = V_LOAD(values->b + k); \
		V			c = V_LOAD(values->c + k); \
		V			result = expression; \
\
		(void) a; \
		(void) b; \
		(void) c; \
		V_STORE(out + k, result); \
	} \
	out += NVALUES; \
} while (0)

/* Sets out[k] to an expression of unsigned integers. */
#define EACH_U(expression) do { \
	for (int k = 0; k < NVALUES; k += V_LANES) \
	{ \
		U			a = U_LOAD(values->ua + k); \
		U			b = U_LOAD(values->ub + k); \
		U			result = expression; \
\
		(void) a; \
		(void) b; \
		U_STORE(uout + k, result); \
	} \
	uout += NVALUES; \
} while (0)

TARGET static void
NAME(float_ops) (const Values *values, double *out)
{
	V			one = V_SET1(1.0);

	EACH(V_ZERO());
	EACH(V_SET1(-2.5));
	EACH(V_ADD(a, b));
	EACH(V_SUB(a, b));
	EACH(V_MUL(a, b));
	EACH(V_DIV(a, b));
	EACH(V_SQRT(a));
	EACH(V_ABS(a));
	EACH(V_FMA(a, b, c));
	EACH(V_FMS(a, b, c));
	EACH(V_DIFF(a, b, one));
	EACH(V_MIN(a, b));
	EACH(V_MAX(a, b));
	EACH(V_IF_NEGATIVE(V_LOAD(values->sign + k), a, b));
	EACH(V_LOAD_FLOAT4(values->single + k));
	EACH(V_SHIFT_TO_EXPONENT(V_ADD(V_LOAD(values->exponent + k), V_SET1(0x1.8p52 + 1023))));
	EACH(V_FLIP(a, (unsigned) (values->ua[k / 32] >> (k % 32))));
	for (int k = 0; k < NVALUES; k += V_LANES)
	{
		V			held = V_LOAD(values->a + k);

		V_HOLD(held);
		V_STORE(out + k, held);
	}
}

TARGET static void
NAME(integer_ops) (const Values *values, uint64_t *uout, double *out)
{
	EACH_U(U_SET1(UINT64_C(0x123456789)));
	EACH_U(U_XOR(a, b));
	EACH_U(U_HIGH(a));
	EACH_U(U_LOW(a));
	EACH_U(U_MUL(a, b));
	EACH_U(U_COUNT(b, U_LOW(a), UINT64_C(0x80000000)));
	EACH_U(U_COUNT(b, U_LOW(a), UINT64_C(0xFFFFFFFF)));
	EACH_U(U_COUNT(b, U_LOW(a), UINT64_C(1)));
	for (int k = 0; k < NVALUES; k += V_LANES)
		V_STORE(out + k, U_FLOAT(U_LOW(U_LOAD(values->ua + k))));
}

/* Counts wrong results of counts, sums and predicates over whole arrays. */
TARGET static int
NAME(wrong_totals) (const Values *values)
{
	int64_t		above = 0;
	int64_t		want = 0;
	int			nwrong = 0;

	for (int k = 0; k < NVALUES; k += V_LANES)
	{
		double		sum = 0;
		unsigned	bits = 0;
		bool		any = false;

		for (int l = k; l < k + V_LANES; l++)
		{
			want += values->a[l] > values->b[l];
			bits |= (values->a[l] > values->b[l] ? 1U : 0U) << (l - k);
			sum += values->exponent[l];
			any |= (values->ua[l] & 0xFFFFFFFF) >= UINT64_C(0xE0000000);
		}
		above += V_COUNT_ABOVE(V_LOAD(values->a + k), V_LOAD(values->b + k));
		nwrong += V_BITS_ABOVE(V_LOAD(values->a + k), V_LOAD(values->b + k)) != bits;
		nwrong += V_SUM(V_LOAD(values->exponent + k)) != sum;
		nwrong += V_SUM(V_MLA(V_LOAD(values->exponent + k), V_SET1(2.0), V_SET1(1.0))) != 2 * sum + V_LANES;
		nwrong += U_ANY(U_LOW(U_LOAD(values->ua + k)), UINT64_C(0xE0000000)) != any;
	}
	return nwrong + (above != want);
}

/* Counts wrong lanes in loads, stores and fills of the first n lanes. */
TARGET static int
NAME(wrong_parts) (const Values *values)
{
	int			nwrong = 0;

	for (int n = 1; n <= V_LANES; n++)
	{
		double		loaded[V_LANES];
		double		stored[V_LANES];
		double		filled[V_LANES];

		for (int l = 0; l < V_LANES; l++)
			stored[l] = -7.0;
		V_STORE(loaded, V_LOAD_N(values->exponent, n));
		V_STORE_N(stored, V_LOAD(values->exponent), n);
		V_STORE(filled, V_FILL_N(V_LOAD(values->exponent), n, V_SET1(9.0)));
		for (int l = 0; l < V_LANES; l++)
		{
			nwrong += l < n && loaded[l] != values->exponent[l];
			nwrong += stored[l] != (l < n ? values->exponent[l] : -7.0);
			nwrong += filled[l] != (l < n ? values->exponent[l] : 9.0);
		}
	}
	return nwrong;
}

/* Counts wrong lanes after lanes were exchanged. */
TARGET static int
NAME(wrong_swaps) (const Values *values)
{
	double		swapped[3][V_LANES];
	int			nwrong = 0;

	V_STORE(swapped[0], V_SWAP1(V_LOAD(values->exponent)));
	V_STORE(swapped[1], V_SWAP2(V_LOAD(values->exponent)));
	V_STORE(swapped[2], V_SWAP4(V_LOAD(values->exponent)));
	for (int k = 0; k < 3; k++)
		for (int l = 0; l < V_LANES; l++)
			nwrong += swapped[k][l] != values->exponent[V_LANES > 1 << k ? l ^ 1 << k : l];
	return nwrong;
}

/* Counts wrong values of a transposed block. */
TARGET static int
NAME(wrong_block) (const Values *values)
{
	double		columns[V_BLOCK * (V_BLOCK + 1)];
	int			ncols = V_BLOCK + 3;
	int			nwrong = 0;

	V_TRANSPOSE(columns, V_BLOCK + 1, values->exponent, ncols, values->sign);
	for (int r = 0; r < V_BLOCK; r++)
		for (int c = 0; c < V_BLOCK; c++)
			nwrong += columns[c * (V_BLOCK + 1) + r] != values->exponent[r * ncols + c] - values->sign[c];
	return nwrong;
}

static const Ops NAME(ops) = {
	.lanes = V_LANES,
	.float_ops = NAME(float_ops),
	.integer_ops = NAME(integer_ops),
	.wrong_totals = NAME(wrong_totals),
	.wrong_parts = NAME(wrong_parts),
	.wrong_swaps = NAME(wrong_swaps),
	.wrong_block = NAME(wrong_block),
};

#undef EACH
#undef EACH_U
