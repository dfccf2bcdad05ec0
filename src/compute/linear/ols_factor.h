/*
 * ols_factor.h: normal equations that are factorised in double-double, by ols.c or, of many terms, by ols_device.c. See
 * ols.h for what is aliased and for digits.
 */
#ifndef GPUREG_OLS_FACTOR_H
#define GPUREG_OLS_FACTOR_H

#include "compute/base/dd_dot.h"
#include "compute/linalg/ldl.h"
#include "compute/linalg/solver.h"
#include "compute/linalg/term_moves.h"

#ifdef __cplusplus
extern "C" {
#endif

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
gr_ols_scaled(const GrNormalFactor *f, const GrNormalMatrix *a, int64_t i, int64_t j)
{
	int64_t		k = gr_packed(i + a->skip, j + a->skip);
	GrDD		entry = {a->hi[k], a->lo[k]};

	if (a->right_hand_side && j == f->m)
		return gr_dd(0.0);
	return gr_dd_scale(gr_dd_scale(entry, f->ldl.scale[i]), f->ldl.scale[j]);
}

/* Row i's shift */
static inline double
gr_ols_shift_of(const GrNormalMatrix *a, int64_t i)
{
	return a->shift == NULL || i + a->skip == 0 ? 0.0 : a->shift[i + a->skip - 1];
}

/* What term j's coefficient, scaled, adds to the intercept, scaled, for a shift: b_0 = t_0 - sum of c_j t_j */
static inline double
gr_ols_origin_weight(const GrNormalFactor *f, const GrNormalMatrix *a, int64_t j)
{
	return -gr_ols_shift_of(a, j) * f->ldl.scale[j] / f->ldl.scale[0];
}

/* The inverse of A, or the covariance matrix that it is with a variance sigma^2 */
typedef struct GrNormalInverse
{
	double	   *entries;		/* m x m: sigma^2 inv(L)' D^-1 inv(L), unscaled; NaN for aliased terms */
	double	   *low;			/* packed triangle: what rounding left of the entries; NULL: not wanted */
	GrDD		sigma2;
	double		y_scale;		/* the response's scale, by whose square entries are divided */
} GrNormalInverse;

/*
 * Factorises and solves on f->solver's device, f->ldl being scaled. Where its memory does not suffice, that is no
 * failure, and f->device stays NULL.
 */
extern bool gr_ols_device_solve(GrNormalFactor *f, const GrNormalMatrix *a, bool want_inverse, const GrHost *host,
								GrError *err);

/* Fills inverse->entries where L is on the device; f->ldl.u is overwritten. */
extern bool gr_ols_device_inverse(GrNormalFactor *f, const GrNormalMatrix *a, const GrNormalInverse *inverse,
								  const GrHost *host, GrError *err);

/* Ends what a device has of it. */
static inline void
gr_ols_release(GrNormalFactor *f)
{
	if (f->device != NULL)
		f->solver->ops->end(f->device);
}

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_OLS_FACTOR_H */
