/*
 * gram_shift.h: which float8 c rows of (x, y) are summed less, column by column, so that their Gram matrix keeps its
 * digits; see gram.h.
 *
 * A column of values near 1e10 that differ by 1 has 10 digits in common with the ones. Their squares lose 20 of
 * double-double's 32 digits to the difference that regression is about; so a column whose values lie close together,
 * for their size, is summed about one of them. What is summed are still the data: only differences x - c that are
 * float8 as they are, are taken. Where a row comes whose difference isn't, the column's spread is of the size of its
 * values (for x between c / 2 and 2 c every difference is exact, as Sterbenz showed in 1974), nothing was to be lost,
 * and the sums are translated back to c = 0.
 *
 * The shift is chosen from the rows that are summed first, whichever those are. gram.h says how sums about different
 * shifts are added.
 */
#ifndef GPUREG_GRAM_SHIFT_H
#define GPUREG_GRAM_SHIFT_H

#include "compute/base/compute.h"

#ifdef __cplusplus
extern "C" {
#endif

/* No shift is nearer to 0: the squares of differences of one ulp could leave float8's range where values' don't. */
#define GR_LEAST_SHIFT 1e-110
/* No shift that is chosen from sums is larger: the squares that tell the spread are near the end of the range. */
#define GR_MOST_SHIFT 1e140

/*
 * Chooses a shift for rows that begin with these, of which there is one at least. Column j gets a nonzero c_j where
 * all |values| are 16 times their range or more: their midpoint, or the one value that they all have, rounded to a
 * multiple of the range or some finer power of two, so that as many other values as possible have exact differences.
 * False: all are 0.
 */
extern bool gr_shift_choose(double *shift, const double *rows, int64_t nrows, GrRowShape shape);

/* True if one of the nfeatures + 1 shifts isn't 0. */
static inline bool
gr_shift_any(const double *shift, int nfeatures)
{
	for (int j = 0; j <= nfeatures; j++)
		if (shift[j] != 0.0)
			return true;
	return false;
}

/* Are all the rows' differences from the shift float8 as they are? Those of NaN and infinity aren't. */
extern bool gr_shift_exact(const double *shift, const double *rows, int64_t nrows, GrRowShape shape);

/* The same on vectors of at most max_lanes doubles (1, 4 or 8), for the tests. */
extern bool gr_shift_exact_lanes(const double *shift, const double *rows, int64_t nrows, GrRowShape shape,
								 int max_lanes);

/* The shift without the columns that have a difference which isn't exact. */
extern void gr_shift_narrow(double *narrowed, const double *shift, const double *rows, int64_t nrows, GrRowShape shape);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_GRAM_SHIFT_H */
