/*
 * gram_subset.h: the Gram matrix of some columns, from that of all.
 *
 * Products of two columns don't depend on which others there are. So where the Gram matrix of (1, x_1 .. x_n) is known,
 * as of rows that are kept, that of any subset, in any order and with any column as the response, is there without the
 * rows, as long as these are the same: none is left out for a NULL, by a filter, or weighted by something else.
 *
 * The sums of an EXACT pass of the gaussian family at 0, linear, are that matrix too: behind the head, of (1, 1, x, y).
 */
#ifndef GPUREG_GRAM_SUBSET_H
#define GPUREG_GRAM_SUBSET_H

#include "compute/base/compute.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Packed triangles as in compute.h: hi and lo of order q; subset_hi and subset_lo, room for gr_triangle(n), become
 * those of the entries 0 .. q - 1 that are named, which may be in any order and more than once; to the bit. Entry 0 is
 * mostly the ones, and the last one named the response. Sums about a shift stay about that of each column. False, and
 * nothing is written, if an entry isn't one.
 */
extern bool gr_gram_subset(const double *hi, const double *lo, int q, const int *entries, int n, double *subset_hi,
						   double *subset_lo);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_GRAM_SUBSET_H */
