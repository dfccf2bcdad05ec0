/*
 * wild_cpu.h: the vector kernels of wild.c, a template of simd.h. Rows are padded to multiples of 8 numbers.
 */

/*
 * Runs Philox for GR_WILD_LANES counters in place. counter[i][l] is word i of lane l; the lower half of the result is
 * the random word.
 */
TARGET static void
NAME(philox) (uint64_t counter[4][GR_WILD_LANES], uint64_t seed)
{
	for (int l = 0; l < GR_WILD_LANES; l += V_LANES)
	{
		uint32_t	key0 = (uint32_t) seed;
		uint32_t	key1 = (uint32_t) (seed >> 32);
		U			c[4] = {
			U_LOAD(counter[0] + l), U_LOAD(counter[1] + l), U_LOAD(counter[2] + l), U_LOAD(counter[3] + l)
		};

		for (int round = 0; round < GR_PHILOX_ROUNDS; round++)
		{
			U			a = U_MUL(c[0], U_SET1(GR_PHILOX_M0));
			U			b = U_MUL(c[2], U_SET1(GR_PHILOX_M1));

			/* upper halves may hold anything, as U_MUL() ignores them */
			c[0] = U_XOR(U_XOR(U_HIGH(b), c[1]), U_SET1(key0));
			c[2] = U_XOR(U_XOR(U_HIGH(a), c[3]), U_SET1(key1));
			c[1] = b;
			c[3] = a;
			key0 += GR_PHILOX_W0;
			key1 += GR_PHILOX_W1;
		}
		for (int i = 0; i < 4; i++)
			U_STORE(counter[i] + l, c[i]);
	}
}

/*
 * table[entry] = sum over i < n of weight[digit i of entry, in base nweights] rows[i], for ncols numbers; rows of both
 * are pitch apart.
 */
TARGET static void
NAME(make_table) (double *table, int nentries, const double *rows, int n, int ncols, int pitch, const double *weights,
				  int nweights)
{
	for (int entry = 0; entry < nentries; entry++, table += pitch)
	{
		double		weight[GR_WILD_GROUP_MAX];

		for (int i = 0, left = entry; i < n; i++, left /= nweights)
			weight[i] = weights[left % nweights];
		for (int c = 0; c < ncols; c += V_LANES)
		{
			V			sum = V_SET1(0.0);

			for (int i = 0; i < n; i++)
				sum = V_FMA(V_SET1(weight[i]), V_LOAD(rows + (int64_t) i * pitch + c), sum);
			V_STORE(table + c, sum);
		}
	}
}

/* sums[draw] += sum over GR_WILD_NTABLES tables i of tables[i][index[i][draw]], for ncols numbers. */
TARGET static void
NAME(add_tables) (double *sums, const double *tables, int64_t table_size, const uint8_t *index, int ndraws, int ncols)
{
	for (int draw = 0; draw < ndraws; draw++, sums += ncols)
	{
		const double *row[GR_WILD_NTABLES];

#pragma GCC unroll 6
		for (int i = 0; i < GR_WILD_NTABLES; i++)
			row[i] = tables + i * table_size + (int64_t) index[i * GR_WILD_DRAWS + draw] * ncols;
		for (int c = 0; c < ncols; c += V_LANES)
		{
			V			sum = V_LOAD(sums + c);

#pragma GCC unroll 6
			for (int i = 0; i < GR_WILD_NTABLES; i++)
				sum = V_ADD(sum, V_LOAD(row[i] + c));
			V_STORE(sums + c, sum);
		}
	}
}

/* Returns the number of replicates with d^2 W + least above bound S; n is a multiple of 8. */
TARGET static int64_t
NAME(count_extreme) (const double *const *replicates, int64_t n, double theta, double squares, double bound,
					 double least)
{
	int64_t		count = 0;

	for (int64_t r = 0; r < n; r += V_LANES)
	{
		V			d = V_FMA(V_SET1(-theta), V_LOAD(replicates[1] + r), V_LOAD(replicates[0] + r));
		V			s = V_FMA(V_SET1(theta), V_LOAD(replicates[4] + r),
							  V_MUL(V_SET1(-2.0), V_LOAD(replicates[3] + r)));

		s = V_FMA(V_SET1(theta), s, V_LOAD(replicates[2] + r));
		count += V_COUNT_ABOVE(V_FMA(V_MUL(d, d), V_SET1(squares), V_SET1(least)), V_MUL(s, V_SET1(bound)));
	}
	return count;
}

static const Kernels NAME(kernels) = {
	.philox = NAME(philox),
	.make_table = NAME(make_table),
	.add_tables = NAME(add_tables),
	.count_extreme = NAME(count_extreme),
};
