/*
 * boot_cpu.h: the vector kernels of boot.c, a template of simd.h. Every sum has the same order on all targets, so that
 * targets with fused operations give the same bits.
 */

/* Vectors of a tile, whose sums stay in registers: AVX2 has 16 registers, AVX-512 and NEON have 32. */
#define NV (V_LANES == 4 ? 2 : 4)

/*
 * Draws how often each of n rows occurs in GR_BOOT_LANES replicates from 4 group on. A group of Philox gives four
 * replicates; groups are lanes, so replicates are stored transposed:
 *
 *    counts[row][8 i + l] is replicate 4 (group + l) + i
 *
 *    index:      0   1   2  ..  7 |  8   9  10 ..
 *    replicate:  0   4   8  .. 28 |  1   5   9 ..     (+ 4 group)
 */
TARGET static void
NAME(draw) (double *counts, const int64_t *keys, int n, uint32_t group, const BootRound *rounds)
{
	const uint64_t lanes[8] = {group, group + 1, group + 2, group + 3, group + 4, group + 5, group + 6, group + 7};

	for (int r = 0; r < n; r++, counts += GR_BOOT_LANES)
	{
		for (int l = 0; l < 8; l += V_LANES)
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

/* into[k][lane] += sum over n rows of counts[row][lane] products[row][k]; k < GR_BOOT_NTILE, pitch apart. */
TARGET static void
NAME(sum) (double *into, size_t pitch, const double *counts, const double *products, size_t products_pitch, int n)
{
	for (int first = 0; first < GR_BOOT_LANES; first += NV * V_LANES)
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
				count[v] = V_LOAD(counts + (size_t) r * GR_BOOT_LANES + first + v * V_LANES);
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
				double	   *at = into + (size_t) k * pitch + first + v * V_LANES;

				V_STORE(at, V_ADD(V_LOAD(at), sum[k][v]));
			}
	}
}

/* Computes q and v of n rows: nactive + 1 numbers each. */
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

static const BootVersion NAME(version) = {
	.draw = NAME(draw),
	.sum = NAME(sum),
	.make = NAME(make),
};

#undef NV
