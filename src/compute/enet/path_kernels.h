/*
 * path_kernels.h: vector operations on matrix rows for elastic nets, with the same bits on every processor. path_rows.c
 * and path_quick.c call them.
 *
 * A triangle is stored by rows, without the diagonal. Row i has i entries, padded with zeros to GR_PATH_PITCH(i), so
 * that eight rows form a group of one length and vectors end with a row:
 *
 *    row 0       0  0  0  0  0  0  0  0
 *    row 1       x  0  0  0  0  0  0  0
 *    ...
 *    row 7       x  x  x  x  x  x  x  0
 *    row 8       x  x  x  x  x  x  x  x  0  0  0  0  0  0  0  0
 *    ...
 */
#ifndef GPUREG_PATH_KERNELS_H
#define GPUREG_PATH_KERNELS_H

#include <stdint.h>

/* Numbers that row i of a triangle occupies. */
#define GR_PATH_PITCH(i) (8 * ((i) / 8 + 1))

/* Returns n rounded up to whole groups of eight. */
static inline int64_t
gr_path_padded(int64_t n)
{
	return (n + 7) / 8 * 8;
}

/* Returns where row i begins. gr_path_row_at(gr_path_padded(n)) is the size of n rows. */
static inline int64_t
gr_path_row_at(int64_t i)
{
	int64_t		group = i / 8;

	return 32 * group * (group + 1) + i % 8 * GR_PATH_PITCH(i);
}

typedef struct GrPathKernels
{
	/* out[r] = sum over k < n of rows[r][k] x[k], for eight rows; n is a multiple of 8. */
	void		(*dots) (double *out, const double *const *rows, const double *x, int64_t n);
	/* x[k] -= sum over r < 8 of rows[r][k] c[r], for k < n; n is a multiple of 8. */
	void		(*subtract) (double *x, const double *const *rows, const double *c, int64_t n);
	/*
	 * y -= C b in double-double, for n entries. C is symmetric: its triangle below the diagonal is given, its diagonal
	 * counts as 0. Vectors are padded with zeros to a multiple of 8. The halves of y are not normalised. The error is
	 * about n 2^-104 of the terms' sizes.
	 */
	void		(*subtract_symmetric) (double *y_hi, double *y_lo, const double *hi, const double *lo,
									   const double *b_hi, const double *b_lo, int64_t n);
} GrPathKernels;

/* Returns the kernels for this processor, on vectors of at most max_lanes doubles (1, 4 or 8). */
extern const GrPathKernels *gr_path_kernels(int max_lanes);

#define GR_PATH_LANES 8

#endif							/* GPUREG_PATH_KERNELS_H */
