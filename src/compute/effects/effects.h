/*
 * effects.h: absorbs factors of any number of levels: projects columns onto the orthogonal complement of the factors'
 * dummies, exactly and without making a dummy. sql/effects calls gr_effect_rows_prune() and gr_effects_open() first.
 *
 * The factor with the most levels is eliminated exactly, because its block of the normal equations is diagonal. What is
 * left is the Schur complement S over the levels of the other factors (schur.h). All columns of a row are projected
 * together, at least twice: the second projection removes the rounding errors of the first. Errors in the space of the
 * dummies affect products of projected columns only by their squares.
 */
#ifndef GPUREG_EFFECTS_H
#define GPUREG_EFFECTS_H

#include "compute/base/compute.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GR_EFFECTS_MAX 8		/* factors that one fit absorbs */
#define GR_EFFECT_CLUSTERS_MAX 2	/* cluster columns */
#define GR_EFFECT_LANES 4		/* a row's values are padded to a multiple of this */

/* Rows in memory, with the codes of their factors. The caller owns all arrays. */
typedef struct GrEffectRows
{
	int64_t		nrows;
	int			ncols;			/* columns to project: the features, then the response */
	int			stride;			/* values of a row in memory: ncols and padding of zeros */
	double	   *values;			/* nrows x stride */
	double	   *weights;		/* nrows, positive; NULL: all 1 */
	double	   *offsets;		/* nrows; NULL: all 0 */
	bool		counts;			/* weights are frequencies: a row with more than 1 is no singleton */
	int			nfactors;
	int32_t    *code[GR_EFFECTS_MAX];	/* nrows each, from 0 */
	int32_t		nlevels[GR_EFFECTS_MAX];
	int			nclusters;
	int32_t    *cluster[GR_EFFECT_CLUSTERS_MAX];	/* nrows each, from 0 */
	int32_t		cluster_nlevels[GR_EFFECT_CLUSTERS_MAX];
} GrEffectRows;

/* Returns the values of a row in memory for ncols columns. */
static inline int
gr_effect_stride(int ncols)
{
	return (ncols + GR_EFFECT_LANES - 1) / GR_EFFECT_LANES * GR_EFFECT_LANES;
}

/*
 * Removes singletons, rows with a level that no other row has, until there are none. Sets *ndropped to their number.
 * Fails with GR_NO_MEMORY or GR_CANCELED.
 */
extern bool gr_effect_rows_prune(GrEffectRows *rows, int64_t *ndropped, const GrHost *host, GrError *err);

/*
 * Removes the rows of levels in which every response (the last column) is 0 or, if ones, every response is 1: an
 * infinite effect fits them. Adds their number to *ndropped. Fails with GR_NO_MEMORY.
 */
extern bool gr_effect_rows_drop_constant(GrEffectRows *rows, bool ones, int64_t *ndropped, GrError *err);

/*
 * Numbers the levels of a factor that rows have from 0 on, in their order. Returns the old codes of the new ones, in
 * memory for the caller to free(), or NULL with err set. nlevels: the number of codes, which becomes that of levels
 */
extern int32_t *gr_effect_compact(int32_t *code, int64_t nrows, int32_t *nlevels, GrError *err);

/*
 * True if all rows of a level of factor f are in one cluster of way c, for each level. Returns false and sets err if
 * there is no memory.
 */
extern bool gr_effect_is_nested(const GrEffectRows *rows, int f, int c, GrError *err);

/* Way in which S is solved */
typedef enum GrEffectSolver
{
	GR_EFFECTS_DIAGONAL,		/* one factor: there is no S */
	GR_EFFECTS_FACTORED,		/* S is factored, and its rank known */
	GR_EFFECTS_ITERATED			/* conjugate gradients */
} GrEffectSolver;

/* Factors prepared for projections. It points to the rows' codes and weights. */
typedef struct GrEffects
{
	const GrEffectRows *rows;
	int			main;			/* factor that is eliminated first */
	int			nothers;
	int			other[GR_EFFECTS_MAX];	/* the other factors */
	int32_t		base[GR_EFFECTS_MAX];	/* by factor: number of its first level among those of S */
	int32_t		q;				/* levels of S */
	double	   *main_weight;	/* sums of weights of the main factor's levels */
	int64_t		ncomponents;	/* connected components of the graph of levels */
	int32_t    *component;		/* by level of S, then of the main factor; from 0 */
	int64_t		df;				/* degrees of freedom that the effects use: the rank of their dummies */
	bool		df_is_bound;	/* df is an upper bound of the rank */
	GrEffectSolver solver;
	int64_t		niterations;	/* iterations of conjugate gradients in all projections */
	int			nprojections;	/* most projections that a column took */
	struct GrSchur *schur;		/* NULL with one factor */
	bool		keeps;			/* set by the caller after opening: projections add up what they subtract, in kept */
	double	   *kept;			/* by level of the main factor, then of S: stride numbers */
} GrEffects;

/*
 * Prepares projections of rows whose levels are compact. Clears effects first; gr_effects_close() frees its memory,
 * also after a failure. Fails with GR_NO_MEMORY or GR_CANCELED.
 */
extern bool gr_effects_open(GrEffects *effects, const GrEffectRows *rows, const GrHost *host, GrError *err);

extern void gr_effects_close(GrEffects *effects);

/* Measures of a column, before and after its projection */
typedef struct GrEffectColumn
{
	double		mean;			/* weighted mean before */
	double		square;			/* weighted sum of squares about 0 before */
	double		centered;		/* weighted sum of squares about the mean before */
	double		projected;		/* weighted sum of squares after; 0: the effects span the column */
} GrEffectColumn;

/*
 * Projects rows->values in place. A column whose projection is no more than rounding errors becomes 0. column:
 * rows->ncols results. Fails with GR_NO_MEMORY, GR_CANCELED, or GR_OUT_OF_RANGE (where: the column).
 */
extern bool gr_effects_project(GrEffects *effects, double *values, GrEffectColumn *column, const GrHost *host,
							   GrError *err);

/*
 * Sets estimate, by factor and level, to the effects in a fit of the last column to the others: those of its values
 * less coef times the other columns. coef: ncols - 1 coefficients, NaN for an aliased term. Needs effects->kept. Each
 * factor but the first has an effect of 0 for its first level in each connected component, as in R's fixest. Fails with
 * GR_NO_MEMORY.
 */
extern bool gr_effects_estimate(const GrEffects *effects, const double *coef, double *const *estimate, GrError *err);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_EFFECTS_H */
