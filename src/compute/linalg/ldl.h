/*
 * ldl.h: L D L' of a matrix in double-double, as far as its first rows go: of normal equations (ols.h), and of
 * what else is computed from Gram matrices, with the same scales and the same tolerances.
 */
#ifndef GPUREG_LDL_H
#define GPUREG_LDL_H

#include <math.h>
#include <string.h>

#include "compute/base/arena.h"
#include "compute/base/dd_dot.h"
#include "compute/linalg/gram.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A pivot that isn't above this share of the row's sum of squares counts as 0; see ols.h. */
#define GR_ALIAS_TOLERANCE 1e-24
/* ... and one that isn't above this share of the values' own squares, for a column that is summed about a shift */
#define GR_ROUNDING_TOLERANCE 1e-29

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
	GrDDVector	u;				/* n: room */
	double	   *scale;			/* n: the powers of two */
	double	   *sumsq;			/* n: the scaled diagonal entries */
	double	   *least_pivot;	/* n: a pivot that isn't above counts as 0 */
	bool	   *aliased;		/* n; in: rows to leave out as pivots; out: and those whose pivot counts as 0 */
	int64_t		max_rank;		/* there are no more pivots, as of sums over so many rows; all others are 0 */
} GrLdl;

/* Carves the vectors of n rows. All rows are pivots but the last, at any rank. */
static inline void
gr_ldl_carve(GrLdl *ldl, int n, GrArena *arena)
{
	ldl->n = n;
	ldl->npivots = n - 1;
	ldl->max_rank = n;
	ldl->l = gr_carve_dd(arena, gr_triangle(n));
	ldl->d = gr_carve_dd(arena, n);
	ldl->u = gr_carve_dd(arena, n);
	ldl->scale = gr_carve_doubles(arena, n);
	ldl->sumsq = gr_carve_doubles(arena, n);
	ldl->least_pivot = gr_carve_doubles(arena, n);
	ldl->aliased = gr_carve_bools(arena, n);
}

/* Leaves no row out. */
static inline void
gr_ldl_clear(GrLdl *ldl)
{
	memset(ldl->aliased, 0, (size_t) ldl->n * sizeof(bool));
}

/* 2^-k with d 2^-2k in [1, 4), for d > 0 */
extern double gr_ldl_scale_for(double d);

/*
 * Loads the rows of gram's triangle less its first skip ones, scaled; no row is left out. Fails as gr_ols_solve() does:
 * with GR_OUT_OF_RANGE (where: the column).
 */
extern bool gr_ldl_load(GrLdl *ldl, const GrGram *gram, int skip, GrError *err);

/*
 * Factorises, row by row. Rows that are left out get a zero column in L. What rounding leaves of a row beyond the rank
 * may be above any tolerance that keeps those within: so there are no more than max_rank pivots. Returns false if the
 * host asked to stop.
 */
extern bool gr_ldl_factorise(GrLdl *ldl, const GrHost *host, GrError *err);

/*
 * Where the last row alone is no pivot: solves A b = c, the last row being c' or, with a diagonal, a response. This is
 * back substitution in L' b = D^-1 L^-1 c, which is the last row of L. b, scaled, becomes ldl->u. Returns false if the
 * host asked to stop.
 */
extern bool gr_ldl_back_substitute(GrLdl *ldl, const GrHost *host, GrError *err);

/* Unscales ldl->u into coef, NaN for aliased rows. Returns the number of those that aren't. */
extern int	gr_ldl_solution(const GrLdl *ldl, double *coef);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_LDL_H */
