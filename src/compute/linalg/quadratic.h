/*
 * quadratic.h: x' V x of many vectors x and one symmetric matrix V, which is packed once. The standard errors of
 * predictions (sql/model/combination.c) use it.
 *
 * Sums are as accurate as in double-double: products are exact, and what each addition rounds off is summed as well
 * (Ogita, Rump and Oishi 2005, "Accurate sum and dot product", algorithm Dot2).
 */
#ifndef GPUREG_QUADRATIC_H
#define GPUREG_QUADRATIC_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Rows of a block of a packed matrix */
#define GR_QUADRATIC_ROWS 8

/* Returns the number of elements of a packed n x n matrix. */
static inline size_t
gr_quadratic_size(size_t n)
{
	size_t		padded = (n + GR_QUADRATIC_ROWS - 1) / GR_QUADRATIC_ROWS * GR_QUADRATIC_ROWS;

	return padded * (padded + GR_QUADRATIC_ROWS) / 2;
}

/* Returns the position of element i, j of the lower triangle, i >= j, in a packed matrix. */
static inline size_t
gr_quadratic_at(size_t i, size_t j)
{
	size_t		first = i - i % GR_QUADRATIC_ROWS;

	/* blocks above hold rows 0 .. first - 1; column j of this block has GR_QUADRATIC_ROWS elements */
	return first * (first + GR_QUADRATIC_ROWS) / 2 + j * GR_QUADRATIC_ROWS + i % GR_QUADRATIC_ROWS;
}

/*
 * Returns x' V x. packed: gr_quadratic_size(n) finite elements, of which the caller sets those of the lower triangle:
 * V[i][i], and 2 V[i][j] for i > j; the others are 0. low: low halves of packed, in the same layout; NULL: all 0. x: n
 * finite values. The result has the same bits on every processor.
 */
extern double gr_quadratic_form(const double *packed, const double *low, size_t n, const double *x);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_QUADRATIC_H */
