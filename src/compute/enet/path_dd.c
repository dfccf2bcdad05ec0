/*
 * path_dd.c: loops over vectors in double-double; see path_dd.h.
 */
#include "compute/enet/path_dd.h"

/* Compiled for several processors, with equal bits: nothing is contracted, and errors come from exact fma. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define VERSIONS __attribute__((target_clones("avx512f", "arch=haswell", "default")))
#else
#define VERSIONS
#endif

/* (hi, lo) -= a x, without normalising lo. */
GR_HD void
subtract_term(double *hi, double *lo, double a_hi, double a_lo, GrDD x)
{
	GrDD		p = gr_two_prod(a_hi, -x.hi);
	double		rest = gr_fma(a_hi, -x.lo, gr_fma(a_lo, -x.hi, p.lo));
	GrDD		s = gr_two_sum(*hi, p.hi);

	*hi = s.hi;
	*lo += s.lo + rest;
}

/* (hi, lo) -= four rows times their factors, for k < length. */
VERSIONS static void
subtract_four(double *restrict hi, double *restrict lo, const GrDDConstVector *rows, const GrDD *x, int64_t length)
{
	const double *a = rows[0].hi;
	const double *b = rows[1].hi;
	const double *c = rows[2].hi;
	const double *d = rows[3].hi;
	const double *a_lo = rows[0].lo;
	const double *b_lo = rows[1].lo;
	const double *c_lo = rows[2].lo;
	const double *d_lo = rows[3].lo;
	const GrDD	x0 = x[0];
	const GrDD	x1 = x[1];
	const GrDD	x2 = x[2];
	const GrDD	x3 = x[3];

	for (int64_t k = 0; k < length; k++)
	{
		double		h = hi[k];
		double		l = lo[k];
		GrDD		sum;

		subtract_term(&h, &l, a[k], a_lo[k], x0);
		subtract_term(&h, &l, b[k], b_lo[k], x1);
		subtract_term(&h, &l, c[k], c_lo[k], x2);
		subtract_term(&h, &l, d[k], d_lo[k], x3);
		sum = gr_fast_two_sum(h, l);
		hi[k] = sum.hi;
		lo[k] = sum.lo;
	}
}

VERSIONS static void
subtract_one(double *restrict hi, double *restrict lo, const double *a, const double *a_lo, GrDD x, int64_t length)
{
	for (int64_t k = 0; k < length; k++)
	{
		double		h = hi[k];
		double		l = lo[k];
		GrDD		sum;

		subtract_term(&h, &l, a[k], a_lo[k], x);
		sum = gr_fast_two_sum(h, l);
		hi[k] = sum.hi;
		lo[k] = sum.lo;
	}
}

void
gr_path_subtract(GrDDVector y, const GrDDConstVector *rows, const GrDD *x, int n, int64_t length)
{
	int			r = 0;

	for (; r + 4 <= n; r += 4)
		subtract_four(y.hi, y.lo, rows + r, x + r, length);
	for (; r < n; r++)
		subtract_one(y.hi, y.lo, rows[r].hi, rows[r].lo, x[r], length);
}

VERSIONS void
gr_path_centre(GrDDVector row, GrDDConstVector sums, GrDD mean, const double *scale, double own_scale, int64_t length)
{
	double	   *restrict hi = row.hi;
	double	   *restrict lo = row.lo;

	for (int64_t k = 0; k < length; k++)
	{
		double		h = hi[k];
		double		l = lo[k];
		double		factor = scale[k] * own_scale;
		GrDD		sum;

		subtract_term(&h, &l, sums.hi[k], sums.lo[k], mean);
		sum = gr_fast_two_sum(h, l);
		hi[k] = sum.hi * factor;
		lo[k] = sum.lo * factor;
	}
}

VERSIONS void
gr_path_multiply(GrDDVector y, GrDDConstVector a, GrDD x, int64_t length)
{
	double	   *restrict hi = y.hi;
	double	   *restrict lo = y.lo;

	for (int64_t k = 0; k < length; k++)
	{
		GrDD		product = gr_dd_mul((GrDD) {a.hi[k], a.lo[k]}, x);

		hi[k] = product.hi;
		lo[k] = product.lo;
	}
}

VERSIONS GrDD
gr_path_downdate(GrDDVector row, GrDDConstVector before, GrDDConstVector share, GrDD w, int64_t length)
{
	for (int64_t k = 0; k < length; k++)
	{
		GrDD		old = {row.hi[k], row.lo[k]};
		GrDD		fresh;

		w = gr_dd_sub(w, gr_dd_mul((GrDD) {before.hi[k], before.lo[k]}, old));
		fresh = gr_dd_add(old, gr_dd_mul((GrDD) {share.hi[k], share.lo[k]}, w));
		row.hi[k] = fresh.hi;
		row.lo[k] = fresh.lo;
	}
	return w;
}
