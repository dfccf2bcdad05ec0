/*
 * gram_shift.h: the choice of the float8 c that is subtracted from each column of (x, y), so that their Gram matrix
 * keeps its digits; see gram.h. state.c and shifted_gram.c call gr_shift_choose() with their first rows.
 *
 * A column of values near 1e10 that differ by 1 has 10 digits in common with the ones. Squares of its values spend 20
 * of double-double's 32 digits on those, and regression is about the difference. A column whose values lie close
 * together, for their size, is therefore summed about one of them. The sums are still those of the data: only
 * differences x - c that are exact in float8 are used. If a row has a difference that is not exact, the column's spread
 * is of the size of its values (for x between c / 2 and 2 c every difference is exact, as Sterbenz showed in 1974).
 * Then no digits were at risk, and the sums are translated back to c = 0.
 *
 * The shift is chosen from whichever rows are summed first. gram.h says how sums about different shifts are added.
 */
#ifndef GPUREG_GRAM_SHIFT_H
#define GPUREG_GRAM_SHIFT_H

#include "compute/base/compute.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Least magnitude of a shift. Nearer to 0, squares of differences of one ulp could leave float8's range while squares
 * of values do not.
 */
#define GR_LEAST_SHIFT 1e-110
/*
 * Largest magnitude of a shift chosen from sums. The squares that show the spread are then near the end of float8's
 * range.
 */
#define GR_MOST_SHIFT 1e140

/*
 * Chooses a shift for rows that begin with these nrows >= 1 rows. Column j gets a nonzero c_j if all |values| are at
 * least 16 times their range: the midpoint, or the value of a constant column, rounded to a multiple of the range or a
 * finer power of two, so that as many other values as possible have exact differences. Returns false if all shifts are
 * 0.
 */
extern bool gr_shift_choose(double *shift, const double *rows, int64_t nrows, GrRowShape shape);

/* True if one of the nfeatures + 1 shifts is not 0. */
static inline bool
gr_shift_any(const double *shift, int nfeatures)
{
	for (int j = 0; j <= nfeatures; j++)
		if (shift[j] != 0.0)
			return true;
	return false;
}

/* True if all differences of the rows from the shift are exact in float8. NaN and infinity are not. */
extern bool gr_shift_exact(const double *shift, const double *rows, int64_t nrows, GrRowShape shape);

/* Like gr_shift_exact(), with vectors of at most max_lanes doubles (1, 4 or 8); for tests. */
extern bool gr_shift_exact_lanes(const double *shift, const double *rows, int64_t nrows, GrRowShape shape,
								 int max_lanes);

/* Copies shift to narrowed, with 0 for columns that have a difference that is not exact. */
extern void gr_shift_narrow(double *narrowed, const double *shift, const double *rows, int64_t nrows, GrRowShape shape);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_GRAM_SHIFT_H */
