/*
 * path_quick.h: LDL' in float8 of a matrix that grows and shrinks by one row at a time; what it solves is refined by
 * its caller.
 */
#ifndef GPUREG_PATH_QUICK_H
#define GPUREG_PATH_QUICK_H

#include <stdbool.h>

#include "compute/enet/path_kernels.h"

/* Right-hand sides that are solved together */
#define GR_QUICK_MOST 8

typedef struct GrQuick
{
	int			n;
	double	   *l;				/* rows without the diagonal, which is 1, as gr_path_row_at() has them */
	double	   *d;
} GrQuick;

/*
 * x = L^-1 x of rows first .. end - 1, of those before them x being so already; of each of m vectors, at most
 * GR_QUICK_MOST
 */
extern void gr_quick_forward(const GrQuick *quick, double *const *x, int m, int first, int end);

/*
 * Appends the row of a new entry, given L^-1 times its products with those there, and its own square. False, and
 * nothing is done, where no more than share of that is left.
 */
extern bool gr_quick_append(GrQuick *quick, const double *solved, double square, double share);

/* Takes entry k out. work: 2n numbers */
extern void gr_quick_drop(GrQuick *quick, int k, double *work);

/* x = (LDL')^-1 x, of n numbers */
extern void gr_quick_solve(const GrQuick *quick, double *x);

#endif							/* GPUREG_PATH_QUICK_H */
