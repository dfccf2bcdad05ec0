/*
 * congruence.h: the product A M A' in double-double, of a matrix A of float8 and a symmetric matrix M of double-double.
 * Called first by sandwich.c, where A is the bread and M the middle of a sandwich estimate.
 */
#ifndef GPUREG_CONGRUENCE_H
#define GPUREG_CONGRUENCE_H

#include "compute/base/compute.h"
#include "compute/base/dd_dot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Rows of A M that are computed at once, and the columns and depth of a tile of the products. */
#define GR_CONGRUENCE_ROWS 64
#define GR_TILE_COLUMNS 32
#define GR_TILE_DEPTH 128

typedef struct GrCongruence
{
	int			n;
	const double *a;			/* n x n, row by row */
	GrDDConstVector middle;		/* packed triangle with M from row and column `from` on */
	int			from;
	double		factor;			/* number by which the result is multiplied */
	GrDDVector	result;			/* packed lower triangle of n rows */
	double	   *scratch;		/* gr_congruence_ndoubles() float8 */
	int			max_lanes;		/* longest vectors, in float8; they do not change the bits */
} GrCongruence;

static inline int64_t
gr_congruence_ndoubles(int64_t n)
{
	int64_t		pitch = (n + GR_TILE_COLUMNS - 1) / GR_TILE_COLUMNS * GR_TILE_COLUMNS;

	return 2 * GR_CONGRUENCE_ROWS * (pitch + GR_TILE_COLUMNS) + 2 * GR_TILE_DEPTH * GR_TILE_COLUMNS;
}

/* Computes the result. Returns false if the host of poll asked to stop. */
extern bool gr_congruence(const GrCongruence *c, GrPoll *poll);

/* A tile of a product of two matrices: hi + lo += X Y. Either X or Y has low halves, the other has none (NULL). */
typedef struct GrTile
{
	double	   *hi;				/* nrows x GR_TILE_COLUMNS, rows pitch apart */
	double	   *lo;
	size_t		pitch;
	const double *x_hi;			/* nrows x depth, rows x_pitch apart */
	const double *x_lo;
	size_t		x_pitch;
	const double *y_hi;			/* depth x GR_TILE_COLUMNS, without gaps */
	const double *y_lo;
	int			nrows;
	int			depth;
} GrTile;

extern void gr_tile_multiply(const GrTile *tile, int max_lanes);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_CONGRUENCE_H */
