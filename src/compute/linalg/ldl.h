/*
 * ldl.h: L D L' of a matrix in double-double, as far as its first rows go; for what is computed from Gram matrices
 * beside a linear regression (ols.h), with the same scales and the same tolerances.
 */
#ifndef GPUREG_LDL_H
#define GPUREG_LDL_H

#include "compute/base/dd_dot.h"
#include "compute/linalg/ols_factor.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A matrix, packed by rows, of which the first npivots rows are factorised. Each row is scaled by a power of two that
 * brings its diagonal entry into [1, 4), where gr_ldl_load() has loaded it.
 */
typedef struct GrLdl
{
	int			n;				/* rows */
	int			npivots;
	GrDDVector	l;				/* in: A; out: L left of the diagonal, in the columns of the pivots */
	GrDDVector	d;				/* n: D; of the rows behind the pivots, what these leave of the diagonal entry */
	GrDDVector	u;				/* n: room; after gr_ldl_row(), the row of L times D */
	double	   *scale;			/* n: the powers of two */
	double	   *sumsq;			/* n: the scaled diagonal entries */
	double	   *least_pivot;	/* n: a pivot that isn't above counts as 0 */
	bool	   *aliased;		/* n; in: rows to leave out as pivots; out: and those whose pivot counts as 0 */
	int64_t		max_rank;		/* there are no more pivots, as of sums over so many rows; all others are 0 */
} GrLdl;

/* Doubles of room for the vectors of n rows, and for n rows' flags in as many as these take */
extern size_t gr_ldl_ndoubles(int n);

/* The vectors in such room, which *next points to and is moved behind; all rows are pivots but the last, at any rank */
extern void gr_ldl_carve(GrLdl *ldl, int n, double **next);

/*
 * Loads the packed triangle of (1, x, y) about shift (of (x, y); NULL: 0), less its first skip rows, scaled; no row is
 * left out. Fails as gr_ols_solve() does: with GR_OUT_OF_RANGE (where: the column).
 */
extern bool gr_ldl_load(GrLdl *ldl, const double *hi, const double *lo, const double *shift, int skip, GrError *err);

/* Factorises. False if the host asked to stop */
extern bool gr_ldl_factorise(GrLdl *ldl, const GrHost *host, GrError *err);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_LDL_H */
