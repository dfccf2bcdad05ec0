/*
 * gram_fold.h: Gram matrices of columns that come in two parts.
 *
 * A power of a float8 has more digits than a float8. Its rows have it as a column that is rounded and one of what
 * rounding left, and as products of float8 are summed exactly, or nearly so, what is summed is as good as the power in
 * double-double: with columns u + v, the sum of (u + v)(s + t) is that of four sums.
 */
#ifndef GPUREG_GRAM_FOLD_H
#define GPUREG_GRAM_FOLD_H

#include "compute/base/compute.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Folds a packed triangle of (1, x, v, y), of nfeatures features x and then nlow rests v, into that of (1, x + v, y):
 * rest_of[k] says which of v is to be added to x_k, from 0 on; -1: none. All of it is changed in place: the first
 * gr_triangle(gr_norder(nfeatures)) entries of hi and lo are the result, and of shift, of (x, v, y), the first
 * nfeatures + 1. False if the host asked to stop or there is no memory, and then the sums are of no use.
 */
extern bool gr_gram_fold(double *hi, double *lo, double *shift, int nfeatures, const int *rest_of, int nlow,
						 GrPoll *poll);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_GRAM_FOLD_H */
