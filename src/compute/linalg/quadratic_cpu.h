/*
 * quadratic_cpu.h: the vector kernel of quadratic.c, a template of simd.h. The lanes are rows of V, whose sums are
 * independent, so that all targets give the same bits.
 */

/*
 * Adds the products of V_LANES rows of a block with x. rows: the first of these rows in the block's first column.
 * sums, rests: V_LANES results, whose sums are the products. low: as in gr_quadratic_form(), at the same place.
 */
TARGET static inline void
NAME(add_rows) (const double *rows, const double *low, size_t ncols, const double *x, double *sums, double *rests)
{
	V			sum = V_ZERO();
	V			rest = V_ZERO();

	for (size_t j = 0; j < ncols; j++)
	{
		V			value = V_SET1(x[j]);
		V			v = V_LOAD(rows + j * GR_QUADRATIC_ROWS);
		V			product = V_MUL(v, value);
		V			error = V_FMS(v, value, product);
		V			total = V_ADD(sum, product);
		V			part = V_SUB(total, sum);

		/* add what the sum rounds off: Knuth's TwoSum */
		error = V_ADD(error, V_ADD(V_SUB(sum, V_SUB(total, part)), V_SUB(product, part)));
		if (low != NULL)
			error = V_FMA(V_LOAD(low + j * GR_QUADRATIC_ROWS), value, error);
		rest = V_ADD(rest, error);
		sum = total;
	}
	V_STORE(sums, sum);
	V_STORE(rests, rest);
}

TARGET static double
NAME(form) (const double *packed, const double *low, size_t n, const double *x)
{
	GrDD		sum = gr_dd(0);
	double		sums[GR_QUADRATIC_ROWS];
	double		rests[GR_QUADRATIC_ROWS];

	for (size_t first = 0; first < n; first += GR_QUADRATIC_ROWS)
	{
		size_t		at = gr_quadratic_at(first, 0);
		size_t		ncols = n - first < GR_QUADRATIC_ROWS ? n : first + GR_QUADRATIC_ROWS;
		size_t		nrows = ncols - first;

		for (size_t i = 0; i < nrows; i += V_LANES)
			NAME(add_rows) (packed + at + i, low == NULL ? NULL : low + at + i, ncols, x, sums + i, rests + i);
		for (size_t i = 0; i < nrows; i++)
		{
			GrDD		product = gr_two_prod(x[first + i], sums[i]);
			GrDD		total = gr_two_sum(sum.hi, product.hi);

			sum.hi = total.hi;
			sum.lo += total.lo + gr_fma(x[first + i], rests[i], product.lo);
		}
	}
	return gr_dd_to_double(sum);
}

static const QuadraticVersion NAME(quadratic_version) = {NAME(form)};
