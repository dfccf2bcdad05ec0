/*
 * normal.h: normal equations in double-double: the factorisation L D L' of a matrix, as far as its first rows go, with
 * scales and tolerances that whatever is computed from Gram matrices shares; solutions and inverses, here or, of many
 * terms, on a device (normal_device.c). ols.h says what is aliased and how many digits there are.
 */
#ifndef GPUREG_NORMAL_H
#define GPUREG_NORMAL_H

#include <math.h>
#include <string.h>

#include "compute/base/arena.h"
#include "compute/base/dd_dot.h"
#include "compute/linalg/gram.h"
#include "compute/linalg/solver.h"
#include "compute/linalg/term_moves.h"

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

/*
 * Normal equations
 */

/*
 * From so many terms on an open device is quicker, even the first time, with or without covariances; see
 * bench/notes.md.
 */
#define GR_SOLVER_MIN_TERMS 96

/* What is given: the packed triangle, of which the first skip rows and columns take no part. */
typedef struct GrNormalMatrix
{
	const double *hi;
	const double *lo;
	int			skip;
	GrMatrixRows rows;			/* what the triangle's rows are, the skipped ones included */
	bool		right_hand_side;	/* the last row is one, and has no diagonal entry */
	const double *shift;		/* of the columns after the ones, the last row's included; NULL: 0 */
	const GrTermMoves *moves;	/* NULL: none */
	int64_t		max_rank;		/* of the terms; 0: not known */
} GrNormalMatrix;

/*
 * What the factorisation works on: m terms and, as row m, the response, each scaled by a power of two so that its
 * sum of squares is in [1, 4). Factorised on a device, L but for its last row, and the inverse, stay there.
 */
typedef struct GrNormalFactor
{
	int			m;
	const GrSolver *solver;
	GrFactor   *device;			/* NULL: factorised here */
	GrLdl		ldl;			/* m + 1 rows, m of them pivots; then its u is the solution, scaled */
	GrDDVector	inverse;		/* packed: row a of inv(L)', from its diagonal on, at a m - a (a - 1) / 2 */
	GrDDVector	origin;			/* m: on a device, the scaled A's inverse times what the intercept is in scaled terms */
} GrNormalFactor;

/* Entry (i, j) as it is factorised. */
static inline GrDD
gr_normal_entry(const GrNormalFactor *f, const GrNormalMatrix *a, int64_t i, int64_t j)
{
	int64_t		k = gr_packed(i + a->skip, j + a->skip);
	GrDD		entry = {a->hi[k], a->lo[k]};

	if (a->right_hand_side && j == f->m)
		return gr_dd(0.0);
	return gr_dd_scale(gr_dd_scale(entry, f->ldl.scale[i]), f->ldl.scale[j]);
}

/* Row i's shift */
static inline double
gr_normal_shift_of(const GrNormalMatrix *a, int64_t i)
{
	return a->shift == NULL || i + a->skip == 0 ? 0.0 : a->shift[i + a->skip - 1];
}

/* What term j's coefficient, scaled, adds to the intercept, scaled, for a shift: b_0 = t_0 - sum of c_j t_j */
static inline double
gr_normal_origin_weight(const GrNormalFactor *f, const GrNormalMatrix *a, int64_t j)
{
	return -gr_normal_shift_of(a, j) * f->ldl.scale[j] / f->ldl.scale[0];
}

/* The inverse of A, or the covariance matrix that it is with a variance sigma^2 */
typedef struct GrNormalInverse
{
	double	   *entries;		/* m x m: sigma^2 inv(L)' D^-1 inv(L), unscaled; NaN for aliased terms */
	double	   *low;			/* packed triangle: what rounding left of the entries; NULL: not wanted */
	GrDD		sigma2;
	double		y_scale;		/* the response's scale, by whose square entries are divided */
} GrNormalInverse;

/* A move's weight between scaled terms; they are scaled by powers of two */
static inline GrDD
gr_normal_weight(const GrNormalFactor *f, const GrTermMove *move)
{
	GrDD		weight = {move->hi, move->lo};

	return gr_dd_scale(weight, f->ldl.scale[move->from] / f->ldl.scale[move->to]);
}

/* Carves the vectors of f->m terms. skip: the matrix's; f->inverse must hold a copy of the whole matrix. */
static inline void
gr_normal_carve_factor(GrNormalFactor *f, int skip, GrArena *arena)
{
	int64_t		m1 = (int64_t) f->m + 1;

	gr_ldl_carve(&f->ldl, f->m + 1, arena);
	f->inverse = gr_carve_dd(arena, gr_triangle(m1 + skip));
	f->origin = gr_carve_dd(arena, m1);
}

/* Bytes of workspace for gr_ols_solve() of so many features, and for gr_normal_solve() of as many terms */
static inline size_t
gr_normal_workspace_nbytes(int nfeatures)
{
	/* with an intercept; without one there is as much to skip */
	GrNormalFactor f;
	GrArena		arena = {NULL, 0};

	f.m = gr_nterms(nfeatures);
	gr_normal_carve_factor(&f, 0, &arena);
	return arena.used;
}

/* gr_normal_carve_factor() in a workspace of gr_normal_workspace_nbytes() */
static inline void
gr_normal_carve(GrNormalFactor *f, int skip, void *workspace)
{
	GrArena		arena = {(char *) workspace, 0};

	gr_normal_carve_factor(f, skip, &arena);
}

/*
 * The scales of the m terms and of the response, and what goes by them. The last row's diagonal is the response's sum
 * of squares for a Gram matrix; where the last row is a right-hand side alone, its scale brings the largest entry to
 * the order of 1.
 */
extern bool gr_normal_choose_scales(GrNormalFactor *f, const GrNormalMatrix *a, double tolerance, GrError *err);

/* A = L D L' and the solution, wherever that is quicker */
extern bool gr_normal_factorise(GrNormalFactor *f, const GrNormalMatrix *a, double tolerance, bool want_inverse,
								const GrHost *host, GrError *err);

/* Fills inverse; f->ldl.u is overwritten. A device leaves inverse->low as it is. */
extern bool gr_normal_fill_inverse(GrNormalFactor *f, const GrNormalMatrix *a, const GrNormalInverse *inverse,
								   const GrHost *host, GrError *err);

/*
 * Factorises and solves on f->solver's device, f->ldl being scaled. Where its memory does not suffice, that is no
 * failure, and f->device stays NULL.
 */
extern bool gr_normal_device_solve(GrNormalFactor *f, const GrNormalMatrix *a, bool want_inverse, const GrHost *host,
								   GrError *err);

/* Fills inverse->entries where L is on the device; f->ldl.u is overwritten. */
extern bool gr_normal_device_inverse(GrNormalFactor *f, const GrNormalMatrix *a, const GrNormalInverse *inverse,
									 const GrHost *host, GrError *err);

/* Ends what a device has of it. */
static inline void
gr_normal_release(GrNormalFactor *f)
{
	if (f->device != NULL)
		f->solver->ops->end(f->device);
}

typedef struct GrNormalFit
{
	int			nterms;
	int			rank;			/* terms that are not aliased */
	bool	   *aliased;		/* nterms; in: those to leave out; out: and those found to be collinear */
	double	   *coef;			/* nterms: b; NaN for an aliased term */
	double	   *inverse;		/* nterms x nterms: of A, symmetric, NaN for aliased terms; NULL when it isn't wanted */
	double	   *inverse_low;	/* packed triangle: what rounding left of inverse, unless on_device; or NULL */
	double	   *pivot;			/* nterms: the share of its diagonal entry that a term's pivot is; NULL: not wanted */
	double		decrement;		/* c' A^-1 c */
	bool		on_device;		/* solved there */
	int			skip;			/* in: rows of the triangle that are passed over, before those of A */
	double		tolerance;		/* in: a term is aliased if its pivot is not above this share of its diagonal entry */
	const GrSolver *solver;		/* in: as in GrOlsFit */
	int64_t		max_rank;		/* in: A's is known to be no larger, as of sums over so many rows; 0: not known */
	GrMatrixRows rows;			/* in: what the triangle's rows are, those passed over included, for errors */
} GrNormalFit;

/* max_rank of sums over so many rows, and of sums with a penalty, which raises it */
static inline int64_t
gr_max_rank(double nrows, double l2)
{
	return l2 == 0 && nrows >= 1 && nrows <= GR_MAX_FEATURES ? (int64_t) nrows : 0;
}

/*
 * Solves A b = c for a positive semidefinite A. triangle: packed, of skip + nterms + 1 rows: those passed over, those
 * of A, and c' as the last one, whose diagonal entry is not looked at. workspace: gr_normal_workspace_nbytes(nterms)
 * bytes. Fails as gr_ols_solve() does.
 */
extern bool gr_normal_solve(GrDDConstVector triangle, void *workspace, GrNormalFit *fit, const GrHost *host,
							GrError *err);

/*
 * After a gr_normal_solve() of nterms terms with that workspace, neither on a device nor with an inverse: term k less
 * its regression on the terms before it that are not aliased, as coefficients of the terms 0 .. k, times a power of two
 * that brings the residual's square into [1, 4). False if the host asked to stop.
 */
extern bool gr_normal_residual(void *workspace, int nterms, int k, double *coef, GrPoll *poll);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_NORMAL_H */
