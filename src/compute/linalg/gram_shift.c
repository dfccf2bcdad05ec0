/*
 * gram_shift.c: which shift rows are summed about, and whether rows bear it; see gram_shift.h.
 */
#include "compute/linalg/gram_shift.h"

#include <math.h>
#include <string.h>

#include "compute/base/dd.h"

/*
 * A column is shifted if its values are this many times their range. Below, double-double loses at most the square of
 * it, 2.4 of 32 digits, and some more for a column whose spread is less than its range.
 */
#define LEAST_RATIO 16.0

/* A constant below this is its own shift; the squares of larger ones don't underflow. */
#define MOST_CONSTANT 1e-130

/* The range's midpoint, of as few bits as it takes to lie in it. 0 < hi - lo, which is small against both. */
static double
round_midpoint(double lo, double hi)
{
	double		range = hi - lo;
	int			k = ilogb(range);

	return ldexp(nearbyint(ldexp(lo + 0.5 * range, -k)), k);
}

/* c_j; column: its first value, the next ones stride further on */
static double
choose_column(const double *column, int64_t nrows, int stride)
{
	double		lo = column[0];
	double		hi = column[0];
	double		c;

	/* most columns that aren't shifted show it in the second row */
	for (int64_t r = 1; r < nrows; r++)
	{
		double		v = column[r * stride];

		lo = v < lo ? v : lo;
		hi = v > hi ? v : hi;
		if (!(fmin(fabs(lo), fabs(hi)) >= LEAST_RATIO * (hi - lo)))
			return 0.0;
	}
	/* NaN and infinity, which fail later, have no range */
	if (!isfinite(lo) || !isfinite(hi))
		return 0.0;
	/* differences of a constant are 0, so that only sums of columns that aren't constant can underflow */
	if (lo == hi && fabs(lo) < MOST_CONSTANT)
		return lo;
	c = lo == hi ? lo : round_midpoint(lo, hi);
	return fabs(c) >= GR_LEAST_SHIFT && isfinite(c) ? c : 0.0;
}

bool
gr_shift_choose(double *shift, const double *rows, int64_t nrows, GrRowShape shape)
{
	for (int j = 0; j < gr_nterms(shape.nfeatures); j++)
		shift[j] = choose_column(rows + j, nrows, gr_row_ncols(shape));
	return gr_shift_any(shift, shape.nfeatures);
}

void
gr_shift_narrow(double *narrowed, const double *shift, const double *rows, int64_t nrows, GrRowShape shape)
{
	int			n = gr_nterms(shape.nfeatures);
	int			stride = gr_row_ncols(shape);

	memcpy(narrowed, shift, (size_t) n * sizeof(double));
	for (int64_t r = 0; r < nrows; r++)
		for (int j = 0; j < n; j++)
			if (!(gr_two_sum(rows[r * stride + j], -shift[j]).lo == 0.0))
				narrowed[j] = 0.0;
}
