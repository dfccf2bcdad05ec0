/*
 * normal.h: normal equations in double-double: the factorisation L D L' of the first rows of a matrix, with the scales
 * and tolerances of everything computed from Gram matrices; solutions and inverses, here or on a device for many terms
 * (normal_device.c). ols.c and newton_step.c call this first. See ols.h for aliasing and for the number of right
 * digits.
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

/* A pivot that is at most this share of the row's sum of squares counts as 0; see ols.h. */
#define GR_ALIAS_TOLERANCE 1e-24
/*
 * For a column summed about a shift, a pivot also counts as 0 if it is at most this share of the values' own squares.
 */
#define GR_ROUNDING_TOLERANCE 1e-29

/*
 * A matrix, packed by rows, whose first npivots rows are factorised. gr_ldl_load() scales each row by a power of two
 * that brings its diagonal entry into [1, 4).
 */
typedef struct GrLdl
{
	int			n;				/* number of rows */
	int			npivots;
	GrDDVector	l;				/* input: A; output: L left of the diagonal, in the columns of the pivots */
	GrDDVector	d;				/* n: D; for rows behind the pivots, the rest of the diagonal entry */
	GrDDVector	u;				/* n: scratch */
	double	   *scale;			/* n: the powers of two */
	double	   *sumsq;			/* n: the scaled diagonal entries */
	double	   *least_pivot;	/* n: pivots up to this count as 0 */
	bool	   *aliased;		/* n; input: rows that are not used as pivots; output: also rows whose pivot counts
								 * as 0 */
	int64_t		max_rank;		/* limit of pivots, such as the number of rows summed; all further pivots are 0 */
} GrLdl;

/* Carves the vectors of n rows. All rows but the last are pivots, without a limit of the rank. */
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

/* Clears aliased: no row is left out. */
static inline void
gr_ldl_clear(GrLdl *ldl)
{
	memset(ldl->aliased, 0, (size_t) ldl->n * sizeof(bool));
}

/* Returns 2^-k with d 2^-2k in [1, 4), for d > 0. */
extern double gr_ldl_scale_for(double d);

/*
 * Loads and scales the rows of gram's triangle behind the first skip rows. Fails as gr_ols_solve() does, with
 * GR_OUT_OF_RANGE (where: the column).
 */
extern bool gr_ldl_load(GrLdl *ldl, const GrGram *gram, int skip, GrError *err);

/*
 * Factorises row by row. Rows that are left out get a column of zeros in L. There are at most max_rank pivots, as the
 * rounding error of a row beyond the rank may exceed any useful tolerance. Fails with GR_CANCELED.
 */
extern bool gr_ldl_factorise(GrLdl *ldl, const GrHost *host, GrError *err);

/*
 * Solves A b = c if only the last row is no pivot; that row is c' or, with a diagonal entry, a response. Back
 * substitution in L' b = D^-1 L^-1 c, which is the last row of L. ldl->u becomes the scaled b. Fails with GR_CANCELED.
 */
extern bool gr_ldl_back_substitute(GrLdl *ldl, const GrHost *host, GrError *err);

/* Unscales ldl->u into coef, with NaN for aliased rows. Returns the number of rows that are not aliased. */
extern int	gr_ldl_solution(const GrLdl *ldl, double *coef);

/*
 * Normal equations
 */

/*
 * Number of terms from which an open device is faster, even the first time, with or without covariances; see
 * bench/notes.md.
 */
#define GR_SOLVER_MIN_TERMS 96

/* The input: a packed triangle whose first skip rows and columns are ignored. */
typedef struct GrNormalMatrix
{
	const double *hi;
	const double *lo;
	int			skip;
	GrMatrixRows rows;			/* kind of the triangle's rows, including the skipped ones, for errors */
	bool		right_hand_side;	/* the last row is a right-hand side without a diagonal entry */
	const double *shift;		/* shift of the columns behind the ones, including the last row's; NULL: 0 */
	const GrTermMoves *moves;	/* map to the reported terms; NULL: none */
	int64_t		max_rank;		/* limit of the rank of the terms; 0: not known */
} GrNormalMatrix;

/*
 * Terms of which no two have a product other than 0, such as the levels of a factor: their block of A is diagonal. They
 * are eliminated first (normal_block.c), which leaves the Schur complement of the other terms and the response. Work
 * and memory are then those of the other terms, except for the entries of an inverse.
 */
typedef struct GrNormalBlock
{
	int			first;			/* the first of the block's terms, which are adjacent */
	int			n;				/* number of terms in the block; 0: no block was eliminated */
	GrLdl		rest;			/* the Schur complement, factorised; its rows are the other terms and the response */
	GrDDVector	inverse;		/* packed: row a of inv(L)' of rest, from its diagonal on, as in GrNormalFactor */
	GrDDVector	weights;		/* [n][rest.npivots]: inv(L) of rest times the block's products, over its pivots */
	GrDDVector	pivots;			/* [n] the block's diagonal entries */
} GrNormalBlock;

/*
 * Data of a factorisation: m terms and, as row m, the response, each scaled by a power of two that brings its sum of
 * squares into [1, 4). After a factorisation on a device, all of L but its last row, and the inverse, stay there.
 */
typedef struct GrNormalFactor
{
	int			m;
	const GrSolver *solver;
	GrFactor   *device;			/* the device's factorisation; NULL: factorised here */
	GrLdl		ldl;			/* m + 1 rows, m of them pivots; at the end u is the scaled solution */
	GrDDVector	inverse;		/* packed: row a of inv(L)', from its diagonal on, begins at a m - a (a - 1) / 2 */
	GrDDVector	origin;			/* m: with a device, the inverse of the scaled A times the intercept expressed in
								 * scaled terms */
	GrNormalBlock block;		/* block.rest has arrays of m + 1 rows, except l */
} GrNormalFactor;

/* Returns entry (i, j) scaled for the factorisation. */
static inline GrDD
gr_normal_entry(const GrNormalFactor *f, const GrNormalMatrix *a, int64_t i, int64_t j)
{
	int64_t		k = gr_packed(i + a->skip, j + a->skip);
	GrDD		entry = {a->hi[k], a->lo[k]};

	if (a->right_hand_side && j == f->m)
		return gr_dd(0.0);
	return gr_dd_scale(gr_dd_scale(entry, f->ldl.scale[i]), f->ldl.scale[j]);
}

/* Returns the shift of row i. */
static inline double
gr_normal_shift_of(const GrNormalMatrix *a, int64_t i)
{
	return a->shift == NULL || i + a->skip == 0 ? 0.0 : a->shift[i + a->skip - 1];
}

/* Returns the weight of term j's scaled coefficient in the scaled intercept about 0: b_0 = t_0 - sum of c_j t_j. */
static inline double
gr_normal_origin_weight(const GrNormalFactor *f, const GrNormalMatrix *a, int64_t j)
{
	return -gr_normal_shift_of(a, j) * f->ldl.scale[j] / f->ldl.scale[0];
}

/* The inverse of A, or with a variance sigma^2 the covariance matrix. */
typedef struct GrNormalInverse
{
	double	   *entries;		/* m x m: sigma^2 inv(L)' D^-1 inv(L), unscaled; NaN for aliased terms */
	double	   *low;			/* packed triangle: low halves of the entries; NULL: not wanted */
	GrDD		sigma2;
	double		y_scale;		/* scale of the response; entries are divided by its square */
} GrNormalInverse;

/* Returns the weight of a move between scaled terms. */
static inline GrDD
gr_normal_weight(const GrNormalFactor *f, const GrTermMove *move)
{
	GrDD		weight = {move->hi, move->lo};

	return gr_dd_scale(weight, f->ldl.scale[move->from] / f->ldl.scale[move->to]);
}

/*
 * Carves the vectors of f->m terms. skip: that of the matrix; f->inverse must have room for a copy of the whole matrix.
 */
static inline void
gr_normal_carve_factor(GrNormalFactor *f, int skip, GrArena *arena)
{
	int64_t		m1 = (int64_t) f->m + 1;

	gr_ldl_carve(&f->ldl, f->m + 1, arena);
	f->inverse = gr_carve_dd(arena, gr_triangle(m1 + skip));
	f->origin = gr_carve_dd(arena, m1);
	f->block.n = 0;
	f->block.pivots = gr_carve_dd(arena, m1);
	f->block.rest.d = gr_carve_dd(arena, m1);
	f->block.rest.u = gr_carve_dd(arena, m1);
	f->block.rest.least_pivot = gr_carve_doubles(arena, m1);
	f->block.rest.aliased = gr_carve_bools(arena, m1);
}

/*
 * Returns the bytes of workspace for gr_ols_solve() with nfeatures features, or gr_normal_solve() with nfeatures terms.
 */
static inline size_t
gr_normal_workspace_nbytes(int nfeatures)
{
	/* enough for a fit without an intercept too, which skips a row instead */
	GrNormalFactor f;
	GrArena		arena = {NULL, 0};

	f.m = gr_nterms(nfeatures);
	gr_normal_carve_factor(&f, 0, &arena);
	return arena.used;
}

/* Calls gr_normal_carve_factor() on a workspace of gr_normal_workspace_nbytes(). */
static inline void
gr_normal_carve(GrNormalFactor *f, int skip, void *workspace)
{
	GrArena		arena = {(char *) workspace, 0};

	gr_normal_carve_factor(f, skip, &arena);
}

/*
 * Chooses the scales of the m terms and of the response, and the least pivots. The last row's diagonal is the
 * response's sum of squares. A right-hand side has none; its scale brings the largest entry to the order of 1. Returns
 * false on an error.
 */
extern bool gr_normal_choose_scales(GrNormalFactor *f, const GrNormalMatrix *a, double tolerance, GrError *err);

/* Factorises A = L D L' and solves, on the device if that is faster. Returns false on an error. */
extern bool gr_normal_factorise(GrNormalFactor *f, const GrNormalMatrix *a, double tolerance, bool want_inverse,
								const GrHost *host, GrError *err);

/* Fills inverse. Overwrites f->ldl.u. On a device inverse->low is not set. Returns false on an error. */
extern bool gr_normal_fill_inverse(GrNormalFactor *f, const GrNormalMatrix *a, const GrNormalInverse *inverse,
								   const GrHost *host, GrError *err);

/*
 * Looks for a large diagonal block, eliminates it, and solves; f->ldl must be scaled. Leaves f->block.n 0 without such
 * a block, or if a term might be aliased in another order: gr_ldl_factorise() decides then. Sets of f->ldl what
 * gr_ols_solve() reads: u, d of the response, and the response's entry of the first step. Returns false on an error.
 */
extern bool gr_normal_block_solve(GrNormalFactor *f, const GrNormalMatrix *a, const GrHost *host, GrError *err);

/* Fills inverse->entries if a block was eliminated; low halves are not made. Returns false on an error. */
extern bool gr_normal_block_inverse(GrNormalFactor *f, const GrNormalMatrix *a, const GrNormalInverse *inverse,
									const GrHost *host, GrError *err);

/*
 * Factorises and solves on f->solver's device; f->ldl must be scaled. If the device's memory does not suffice, returns
 * true and leaves f->device NULL.
 */
extern bool gr_normal_device_solve(GrNormalFactor *f, const GrNormalMatrix *a, bool want_inverse, const GrHost *host,
								   GrError *err);

/* Fills inverse->entries if L is on the device. Overwrites f->ldl.u. Returns false on an error. */
extern bool gr_normal_device_inverse(GrNormalFactor *f, const GrNormalMatrix *a, const GrNormalInverse *inverse,
									 const GrHost *host, GrError *err);

/* Frees the factorisation on the device, if any. */
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
	bool	   *aliased;		/* nterms; input: terms to leave out; output: also terms found to be collinear */
	double	   *coef;			/* nterms: b; NaN for an aliased term */
	double	   *inverse;		/* nterms x nterms: inverse of A, symmetric, NaN for aliased terms; NULL: not wanted */
	double	   *inverse_low;	/* packed triangle: low halves of inverse, unless on_device; NULL: not wanted */
	double	   *pivot;			/* nterms: pivot of each term as a share of its diagonal entry; NULL: not wanted */
	double		decrement;		/* c' A^-1 c */
	bool		on_device;		/* the device solved the system */
	int			skip;			/* input: number of the triangle's rows before those of A */
	double		tolerance;		/* input: a term is aliased if its pivot is at most this share of its diagonal entry */
	const GrSolver *solver;		/* input: solver for many terms, as in GrOlsFit */
	int64_t		max_rank;		/* input: limit of A's rank, such as the number of rows summed; 0: not known */
	GrMatrixRows rows;			/* input: kind of the triangle's rows, including the skipped ones, for errors */
} GrNormalFit;

/* Returns max_rank of sums over nrows rows. Returns 0 (not known) with a penalty, which raises the rank. */
static inline int64_t
gr_max_rank(double nrows, double l2)
{
	return l2 == 0 && nrows >= 1 && nrows <= GR_MAX_FEATURES ? (int64_t) nrows : 0;
}

/*
 * Solves A b = c for a positive semidefinite A. triangle: packed, skip + nterms + 1 rows: skipped rows, the rows of A,
 * and c' as the last row, whose diagonal entry is ignored. workspace: gr_normal_workspace_nbytes(nterms) bytes. Fails
 * as gr_ols_solve() does.
 */
extern bool gr_normal_solve(GrDDConstVector triangle, void *workspace, GrNormalFit *fit, const GrHost *host,
							GrError *err);

/*
 * Computes term k minus its regression on the terms before it that are not aliased, as coefficients of the terms 0 ..
 * k, times a power of two that brings the residual's square into [1, 4). Must follow a gr_normal_solve() of nterms
 * terms with the same workspace, neither on a device nor with an inverse. Returns false if the host asked to stop.
 */
extern bool gr_normal_residual(void *workspace, int nterms, int k, double *coef, GrPoll *poll);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_NORMAL_H */
