/* gram_shift.c: chooses the shift about which rows are summed, and checks rows against it; see gram_shift.h. */
#include "compute/linalg/gram_shift.h"

#include <math.h>
#include <string.h>

#include "compute/base/dd.h"

/*
 * A column is shifted if its values are at least this many times their range. Otherwise double-double loses at most the
 * square of this, 2.4 of 32 digits, and slightly more if the spread is below the range.
 */
#define LEAST_RATIO 16.0

/* A constant below this is its own shift. Squares of larger constants do not underflow. */
#define MOST_CONSTANT 1e-130

/* Returns the midpoint of the range with as few bits as possible. 0 < hi - lo, which is small compared with both. */
static double
round_midpoint(double lo, double hi)
{
	double		range = hi - lo;
	int			k = ilogb(range);

	return ldexp(nearbyint(ldexp(lo + 0.5 * range, -k)), k);
}

/*
 * Returns the shift c_j of a column of nrows > 0 values: the rounded midpoint of their range if all are in magnitude
 * at least LEAST_RATIO times the range, or a constant's value; else 0, also for values that are not finite and
 * shifts below GR_LEAST_SHIFT, except constants below MOST_CONSTANT. column: the first value; further values are
 * stride apart.
 */
static double
choose_column(const double *column, int64_t nrows, int stride)
{
	double		lo = column[0];
	double		hi = column[0];
	double		c;

	/* for most columns that are not shifted, the second row ends the loop */
	for (int64_t r = 1; r < nrows; r++)
	{
		double		v = column[r * stride];

		lo = v < lo ? v : lo;
		hi = v > hi ? v : hi;
		if (!(fmin(fabs(lo), fabs(hi)) >= LEAST_RATIO * (hi - lo)))
			return 0.0;
	}
	/* NaN and infinity have no range; they fail later */
	if (!isfinite(lo) || !isfinite(hi))
		return 0.0;
	/* differences of a constant are 0, so that only sums of other columns can underflow */
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
