/*
 * boot_cpu.h: the kernels of boot.c, for one instruction set each time that it is included, by these macros:
 *	 NAME(f), TARGET, W (lanes: 1, 4, 8), NV (vectors of a tile), V and U (vectors of float8, of 64-bit integers)
 *	 V_ZERO() V_SET1(x) V_LOAD(p) V_STORE(p, v) V_ADD(a, b) V_MLA(a, b, c): a b + c
 *	 U_SET1(x) U_LOAD(p) U_XOR(a, b) U_HIGH(a): the upper 32 bits; U_MUL(a, b): the product of the lower 32 bits
 *	 U_LOW(a): the lower 32 bits; U_COUNT(c, a, m): c + 1 where a >= m; U_ANY(a, m): is any a >= m?
 *	 U_FLOAT(c): small integers as float8
 *
 * The order of every sum is the same on all, so that those with fused operations give the same bits.
 */

/*
 * How often each of n rows stands in each of GR_BOOT_LANES replicates from 4 group on: count[row][8 i + l] is that of
 * replicate 4 (group + l) + i.
 */
TARGET static void
NAME(draw) (double *counts, const int64_t *keys, int n, uint32_t group, const BootRound *rounds)
{
	const uint64_t lanes[8] = {group, group + 1, group + 2, group + 3, group + 4, group + 5, group + 6, group + 7};

	for (int r = 0; r < n; r++, counts += GR_BOOT_LANES)
	{
		for (int l = 0; l < 8; l += W)
		{
			U			c[4] = {
				U_SET1((uint32_t) (uint64_t) keys[r]), U_SET1((uint32_t) ((uint64_t) keys[r] >> 32)),
				U_LOAD(lanes + l), U_SET1(GR_BOOT_TAG)
			};

			for (int round = 0; round < GR_PHILOX_ROUNDS; round++)
			{
				U			a = U_MUL(c[0], U_SET1(GR_PHILOX_M0));
				U			b = U_MUL(c[2], U_SET1(GR_PHILOX_M1));

				c[0] = U_XOR(U_XOR(U_HIGH(b), c[1]), U_SET1(rounds[round].key0));
				c[2] = U_XOR(U_XOR(U_HIGH(a), c[3]), U_SET1(rounds[round].key1));
				c[1] = b;
				c[3] = a;
			}
			for (int i = 0; i < 4; i++)
			{
				U			word = U_LOW(c[i]);
				U			count = U_SET1(0);

#define COUNT(threshold) count = U_COUNT(count, word, UINT64_C(threshold));
				GR_BOOT_FIRST_THRESHOLDS(COUNT)
				if (__builtin_expect(U_ANY(word, GR_BOOT_RARE), 0))
				{
					GR_BOOT_RARE_THRESHOLDS(COUNT)
				}
#undef COUNT
				V_STORE(counts + 8 * i + l, U_FLOAT(count));
			}
		}
	}
}

/* into[k][lane], pitch apart, += counts[row][lane] products[row][k], of n rows, GR_BOOT_NTILE products */
TARGET static void
NAME(sum) (double *into, size_t pitch, const double *counts, const double *products, size_t products_pitch, int n)
{
	for (int first = 0; first < GR_BOOT_LANES; first += NV * W)
	{
		V			sum[GR_BOOT_NTILE][NV];

#pragma GCC unroll 6
		for (int k = 0; k < GR_BOOT_NTILE; k++)
#pragma GCC unroll 4
			for (int v = 0; v < NV; v++)
				sum[k][v] = V_ZERO();
		for (int r = 0; r < n; r++)
		{
			const double *product = products + (size_t) r * products_pitch;
			V			count[NV];

#pragma GCC unroll 4
			for (int v = 0; v < NV; v++)
				count[v] = V_LOAD(counts + (size_t) r * GR_BOOT_LANES + first + v * W);
#pragma GCC unroll 6
			for (int k = 0; k < GR_BOOT_NTILE; k++)
			{
				V			p = V_SET1(product[k]);

#pragma GCC unroll 4
				for (int v = 0; v < NV; v++)
					sum[k][v] = V_MLA(count[v], p, sum[k][v]);
			}
		}
#pragma GCC unroll 6
		for (int k = 0; k < GR_BOOT_NTILE; k++)
#pragma GCC unroll 4
			for (int v = 0; v < NV; v++)
			{
				double	   *at = into + (size_t) k * pitch + first + v * W;

				V_STORE(at, V_ADD(V_LOAD(at), sum[k][v]));
			}
	}
}

/* q and v of n rows, nactive + 1 numbers each */
TARGET static void
NAME(make) (double *q, const GrBootPass *pass, const double *rows, int n)
{
	int			t = gr_nterms(pass->shape.nfeatures);

	for (int r = 0; r < n; r++, rows += gr_row_ncols(pass->shape))
	{
		GrGlmRow	made = gr_boot_row(pass->distribution, pass->shape, rows, pass->beta, pass->beta_lo, pass->shift);

		for (int i = 0; i < pass->nactive; i++)
			*q++ = gr_boot_entry(pass->factor + (size_t) i * t, made.u, pass->shape, rows, pass->shift);
		*q++ = made.v;
	}
}

#undef NAME
#undef TARGET
#undef W
#undef NV
#undef V
#undef U
#undef V_ZERO
#undef V_SET1
#undef V_LOAD
#undef V_STORE
#undef V_ADD
#undef V_MLA
#undef U_SET1
#undef U_LOAD
#undef U_XOR
#undef U_HIGH
#undef U_LOW
#undef U_MUL
#undef U_COUNT
#undef U_ANY
#undef U_FLOAT
