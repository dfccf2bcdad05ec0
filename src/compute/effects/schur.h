/*
 * schur.h: the Schur complement S over the levels of all absorbed factors but the main one: its matrix, its
 * factorisation, and its solution by conjugate gradients. project.c calls it first.
 *
 * S = D' W D - D' W M (M' W M)^-1 M' W D, where M has the main factor's dummies and D those of the others. S is
 * positive semidefinite. Sparse elimination takes the level with the fewest neighbours first (leaves and chains cost
 * next to nothing), until the rest is small or full, and is factored densely with diagonal pivoting. A pivot that is no
 * more than rounding errors belongs to a level that the others span: its effect is set to 0. Where elimination would
 * take too long, gr_schur_solve() iterates.
 */
#ifndef GPUREG_SCHUR_H
#define GPUREG_SCHUR_H

#include "compute/effects/effects.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A pivot below this share of its size is 0: the level is one that others span. */
#define GR_SCHUR_TOLERANCE 1e-9

/* Most levels of the dense remainder. */
#define GR_SCHUR_DENSE_MAX 2500

/* Products above which elimination is given up, or not begun */
#define GR_SCHUR_WORK_MAX 4e9

/*
 * True if elimination of n levels with so many neighbours each would take too long: neighbours seldom become fewer
 * before few levels are left.
 */
static inline bool
gr_schur_is_heavy(double n, double neighbours)
{
	return n > GR_SCHUR_DENSE_MAX && n * neighbours * neighbours > GR_SCHUR_WORK_MAX;
}

/* A sparse matrix by rows */
typedef struct GrSparse
{
	int64_t    *begin;			/* rows + 1 */
	int32_t    *column;
	double	   *value;
} GrSparse;

/* A dense positive semidefinite matrix P A P' = L D L', with L below the diagonal and D on it */
typedef struct GrDense
{
	int			m;
	int			rank;
	double	   *a;				/* m x m by rows */
	int		   *order;			/* row of A that is row k of P A P' */
} GrDense;

typedef struct GrSchur
{
	int32_t		q;
	GrSparse	cells;			/* by level of the main factor: levels of S among its rows, with sums of weights */
	double	   *diagonal;		/* of S */
	double	   *size;			/* by level: what its pivots are compared to */
	bool		factored;
	/* sparse stage: nsparse levels in the order of their elimination */
	int32_t		nsparse;
	int32_t    *pivot;			/* levels */
	double	   *d;				/* pivots; 0: the level is spanned */
	GrSparse	l;				/* by step: multipliers of the levels that are left */
	int64_t		l_size;			/* room of l */
	/* dense stage: the levels in rest */
	int32_t    *rest;
	GrDense		dense;
	int64_t		rank;			/* rank of S, if it is factored */
} GrSchur;

/* Makes S of effects, whose member schur it becomes, and factors it if that is cheap enough. */
extern bool gr_schur_open(GrEffects *effects, const GrHost *host, GrError *err);

extern void gr_schur_close(GrSchur *schur);

/* Right-hand sides of S x = b */
typedef struct GrSchurSides
{
	double	   *b;				/* q x stride; becomes x */
	int			stride;
	const double *noise;		/* stride: squared norm of b that is only rounding errors; 0: not known */
	double	   *work;			/* gr_schur_work_size() float8 */
} GrSchurSides;

/* Solves S x = b. Fails with GR_CANCELED or GR_NO_MEMORY. */
extern bool gr_schur_solve(GrEffects *effects, const GrSchurSides *sides, const GrHost *host, GrError *err);

extern size_t gr_schur_work_size(const GrEffects *effects, int stride);

/* Eliminates S, given as a sparse matrix with both triangles, which it frees. Sets schur->factored if it succeeds. */
extern bool gr_schur_eliminate(GrSchur *schur, GrSparse *s, const GrHost *host, GrError *err);

/* Factors dense->a. size: by row, what its pivots are compared to, positive. Returns false if canceled. */
extern bool gr_dense_factor(GrDense *dense, const double *size, const GrHost *host);

/* Solves for stride right-hand sides, m x stride, in place. work: as many numbers */
extern void gr_dense_solve(const GrDense *dense, double *b, int stride, double *work);

/* Conjugate gradients with the diagonal as preconditioner, each column by itself. */
extern bool gr_schur_iterate(GrEffects *effects, const GrSchurSides *sides, const GrHost *host, GrError *err);

extern size_t gr_schur_iterate_size(const GrEffects *effects, int stride);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_SCHUR_H */
