/*
 * wild_cpu.h: the kernels of wild.c, for one instruction set each time that it is included, by the macros that
 * sum_clusters_cpu.h has, and V_COUNT_ABOVE(a, b): of how many lanes a > b. Numbers of a row come in vectors of 8.
 */

/*
 * table[entry] = sum over i < n of weight[digit i of entry, in base nweights] rows[i], of ncols numbers; rows of both are
 * pitch apart
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
		for (int c = 0; c < ncols; c += W)
		{
			V			sum = V_SET1(0.0);

			for (int i = 0; i < n; i++)
				sum = V_FMA(V_SET1(weight[i]), V_LOAD(rows + (int64_t) i * pitch + c), sum);
			V_STORE(table + c, sum);
		}
	}
}

/* sums[draw] += tables[i][index[i][draw]] of GR_WILD_NTABLES tables, of ncols numbers */
TARGET static void
NAME(add_tables) (double *sums, const double *tables, int64_t table_size, const uint8_t *index, int ndraws, int ncols)
{
	for (int draw = 0; draw < ndraws; draw++, sums += ncols)
	{
		const double *row[GR_WILD_NTABLES];

#pragma GCC unroll 6
		for (int i = 0; i < GR_WILD_NTABLES; i++)
			row[i] = tables + i * table_size + (int64_t) index[i * GR_WILD_DRAWS + draw] * ncols;
		for (int c = 0; c < ncols; c += W)
		{
			V			sum = V_LOAD(sums + c);

#pragma GCC unroll 6
			for (int i = 0; i < GR_WILD_NTABLES; i++)
				sum = V_ADD(sum, V_LOAD(row[i] + c));
			V_STORE(sums + c, sum);
		}
	}
}

/* Of how many replicates is d^2 W above bound S + least? n: a multiple of 8 */
TARGET static int64_t
NAME(count_above) (const double *const *replicates, int64_t n, double theta, double squares, double bound, double least)
{
	int64_t		count = 0;

	for (int64_t r = 0; r < n; r += W)
	{
		V			d = V_FMA(V_SET1(-theta), V_LOAD(replicates[1] + r), V_LOAD(replicates[0] + r));
		V			s = V_FMA(V_SET1(theta), V_LOAD(replicates[4] + r),
							  V_MUL(V_SET1(-2.0), V_LOAD(replicates[3] + r)));

		s = V_FMA(V_SET1(theta), s, V_LOAD(replicates[2] + r));
		count += V_COUNT_ABOVE(V_MUL(V_MUL(d, d), V_SET1(squares)), V_FMA(s, V_SET1(bound), V_SET1(least)));
	}
	return count;
}

#undef NAME
#undef TARGET
#undef W
#undef V
#undef V_SET1
#undef V_LOAD
#undef V_STORE
#undef V_ADD
#undef V_MUL
#undef V_FMA
#undef V_COUNT_ABOVE
