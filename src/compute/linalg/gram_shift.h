/*
 * gram_shift.h: Gram matrices about a shift, of (1, x - c_x, y - c_y): a float8 c a column, the features' and then the
 * response's.
 *
 * A column of values near 1e10 that differ by 1 has 10 digits in common with the ones. Their squares lose 20 of
 * double-double's 32 digits to the difference that regression is about; so a column whose values lie close together,
 * for their size, is summed about one of them. What is summed are still the data: only differences x - c that are
 * float8 as they are, are taken. Where a row comes whose difference isn't, the column's spread is of the size of its
 * values (for x between c / 2 and 2 c every difference is exact, as Sterbenz showed in 1974), nothing was to be lost,
 * and the sums are translated back to c = 0.
 *
 * The shift is chosen from the rows that are summed first, whichever those are. Sums about different shifts, of
 * workers or of stored states, are translated to one before they are added:
 *
 *	 sum (u_i + d_i)(u_j + d_j) = G_ij + d_i (S_j + n d_j) + S_i d_j, u = x - c, d = c - c', S = sum of u
 *
 * in double-double, whose rounding is 2^-100 or so of n d^2 there. As both shifts are among the data, n d^2 is of the
 * size of what the sums about either must be, or the column has the spread that makes a shift needless.
 */
#ifndef GPUREG_GRAM_SHIFT_H
#define GPUREG_GRAM_SHIFT_H

#include "compute/base/compute.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Chooses a shift for rows that begin with these, of which there is one at least. Column j gets a nonzero c_j where
 * all |values| are 16 times their range or more: their midpoint, or the one value that they all have, rounded to a
 * multiple of the range or some finer power of two, so that as many other values as possible have exact differences.
 * False: all are 0.
 */
extern bool gr_shift_choose(double *shift, const double *rows, int64_t nrows, GrRowShape shape);

/*
 * A shift for another pass over rows whose sums, without one, are known: that of a feature which is further from 0 than
 * far times its spread is near its mean, so rounded that most differences are exact. The response has none. False: all
 * are 0
 */
extern bool gr_shift_by_sums(double *shift, const double *hi, const double *lo, int nfeatures, double far);

/* Is a column's not 0? */
extern bool gr_shift_any(const double *shift, int nfeatures);

/* Are all the rows' differences from the shift float8 as they are? Those of NaN and infinity aren't. */
extern bool gr_shift_exact(const double *shift, const double *rows, int64_t nrows, GrRowShape shape);

/* The same on vectors of at most max_lanes doubles (1, 4 or 8), for the tests. */
extern bool gr_shift_exact_lanes(const double *shift, const double *rows, int64_t nrows, GrRowShape shape,
								 int max_lanes);

/* The shift without the columns that have a difference which isn't exact. */
extern void gr_shift_narrow(double *narrowed, const double *shift, const double *rows, int64_t nrows, GrRowShape shape);

/*
 * Sums about from become sums about to; NULL stands for 0. Sums that overflow aren't finite. False if the host asked to
 * stop.
 */
extern bool gr_gram_translate(double *hi, double *lo, int nfeatures, const double *from, const double *to,
							  GrPoll *poll);

/*
 * hi + lo += hi2 + lo2, each about its own shift. shift becomes that of the sum: of a column that is 0 on either side,
 * 0, else shift's own. Sums over no rows have any shift. False if the host asked to stop, and then the sums are of no
 * use.
 */
extern bool gr_gram_merge_shifted(double *hi, double *lo, double *shift, const double *hi2, const double *lo2,
								  const double *shift2, int nfeatures, GrPoll *poll);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_GRAM_SHIFT_H */
