/*
 * path_quick.h: LDL' in float8 of a matrix that grows and shrinks by one row at a time. path_active.c factors the
 * active set with it and refines the solutions.
 */
#ifndef GPUREG_PATH_QUICK_H
#define GPUREG_PATH_QUICK_H

#include <stdbool.h>

#include "compute/enet/path_kernels.h"

/* Most right-hand sides solved together. */
#define GR_QUICK_MOST 8

typedef struct GrQuick
{
	int			n;
	double	   *l;				/* rows of L in the layout of gr_path_row_at(), without the unit diagonal */
	double	   *d;
} GrQuick;

/* Solves L x = x in place for entries first .. end - 1 of m <= GR_QUICK_MOST vectors; earlier ones are solved. */
extern void gr_quick_forward(const GrQuick *quick, double *const *x, int m, int first, int end);

/*
 * Appends a row for a new entry. solved: L^-1 times its products with the existing entries; square: its own. Returns
 * false and changes nothing if the pivot is at most share * square.
 */
extern bool gr_quick_append(GrQuick *quick, const double *solved, double square, double share);

/* Removes entry k. work: 2n numbers. */
extern void gr_quick_drop(GrQuick *quick, int k, double *work);

/* Solves LDL' x = x in place; n numbers. */
extern void gr_quick_solve(const GrQuick *quick, double *x);

#endif							/* GPUREG_PATH_QUICK_H */
