/*
 * path_kernels.h: what elastic nets do to rows of matrices, on vectors; the same bits on every processor.
 *
 * A triangle's rows, without the diagonal, are laid out one after another, eight of one length: row i has its i entries
 * and zeros up to a multiple of 8, so that vectors end with them.
 */
#ifndef GPUREG_PATH_KERNELS_H
#define GPUREG_PATH_KERNELS_H

#include <stdint.h>

/* numbers that row i of a triangle takes */
#define GR_PATH_PITCH(i) (8 * ((i) / 8 + 1))

/* n rounded up to whole groups */
static inline int64_t
gr_path_padded(int64_t n)
{
	return (n + 7) / 8 * 8;
}

/* Where row i begins; of gr_path_padded(n): what n rows take */
static inline int64_t
gr_path_row_at(int64_t i)
{
	int64_t		group = i / 8;

	return 32 * group * (group + 1) + i % 8 * GR_PATH_PITCH(i);
}

typedef struct GrPathKernels
{
	/* out[r] = sum over k < n of rows[r][k] x[k], of eight rows; n is a multiple of 8 */
	void		(*dots) (double *out, const double *const *rows, const double *x, int64_t n);
	/* x[k] -= sum over eight rows of rows[r][k] c[r], for k < n, a multiple of 8 */
	void		(*subtract) (double *x, const double *const *rows, const double *c, int64_t n);
	/*
	 * y -= C b in double-double, of n entries, for a symmetric C of which the triangle below the diagonal is given, and
	 * whose diagonal counts as 0; all are padded with zeros to a multiple of 4. y's halves are not normalised. Of the
	 * terms' sizes some n 2^-104 are lost.
	 */
	void		(*subtract_symmetric) (double *y_hi, double *y_lo, const double *hi, const double *lo,
									   const double *b_hi, const double *b_lo, int64_t n);
} GrPathKernels;

/* For this processor, on vectors of at most max_lanes doubles (1, 4 or 8) */
extern const GrPathKernels *gr_path_kernels(int max_lanes);

#define GR_PATH_LANES 8

#endif							/* GPUREG_PATH_KERNELS_H */
