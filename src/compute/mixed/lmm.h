/*
 * lmm.h: linear mixed models from sums of groups, by maximum likelihood (ML) or restricted maximum likelihood (REML).
 *
 * The model is y = X b + Z u + e with e ~ N(0, s^2 I) and u ~ N(0, s^2 Psi), where Psi is block diagonal: each level of
 * a random term has its own independent effects, with the term's covariance s^2 Lambda Lambda'. Rows whose levels are
 * linked make a component; a random term alone has one component per level, and crossed terms may have a single one.
 *
 * With Z = U G' of a component, where U has orthonormal columns and G is a factor of Z'Z, and F = U'(X, y):
 *
 *	 S = (X, y)' V^-1 (X, y) = W + sum of F' K^-1 F,	K = 1 + G' Psi G,	log det V = sum of log det K
 *
 * where W are the sums of squares and products that Z does not explain. All are sums of positive semidefinite matrices,
 * so nothing cancels; W, G and F come from the groups' Gram matrices in double-double. With r^2 = S_yy - S_yx S_xx^-1
 * S_xy, n rows and p fixed terms, the criterion (Bates, Maechler, Bolker and Walker 2015, "Fitting linear mixed-effects
 * models using lme4") is, up to a constant,
 *
 *	 ML:   log det V + n log r^2
 *	 REML: log det V + log det S_xx + (n - p) log r^2
 *
 * Newton's method minimises it over the entries of all Lambda, with its exact gradient and Hessian. The criterion is
 * even in each column of Lambda, so an estimate on the boundary, where a column is 0, is an ordinary minimum.
 */
#ifndef GPUREG_LMM_H
#define GPUREG_LMM_H

#include "compute/base/arena.h"
#include "compute/linalg/gram.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GR_LMM_TERMS_MAX 8		/* random terms */
#define GR_LMM_COLUMNS_MAX 8	/* columns of a random term */
#define GR_LMM_PARAMETERS_MAX 72	/* entries of all Lambda */
#define GR_LMM_FIXED_MAX 1000	/* fixed terms */
#define GR_LMM_EFFECTS_MAX 2000	/* random effects of a component */

/* A random term: the columns of Z whose effects vary by one grouping factor. */
typedef struct GrLmmTerm
{
	int			ncolumns;
	int			entries[GR_LMM_COLUMNS_MAX];	/* rows of the triangle of (1, x, y): 0 for the ones */
	double		origin[GR_LMM_COLUMNS_MAX];	/* multiple of the ones that is added to the column */
	double		scale[GR_LMM_COLUMNS_MAX];	/* power of two that multiplies the column */
} GrLmmTerm;

/* A model. All sums are about one shift. Fixed terms must not be collinear. */
typedef struct GrLmmModel
{
	int			nfixed;			/* p */
	const int  *entries;		/* nfixed + 1: rows of the triangle of (1, x, y), the response's last */
	const double *scale;		/* nfixed + 1: powers of two that multiply the columns */
	int			nterms;			/* random terms */
	GrLmmTerm	terms[GR_LMM_TERMS_MAX];
	bool		reml;
	double		nobs;			/* n */
} GrLmmModel;

/* A component, whose blocks are the levels of random terms. G and F are stored by columns of G' and F'. */
typedef struct GrLmmComponent
{
	int			nblocks;
	int			neffects;		/* rows of G: the sum of the blocks' columns */
	int			rank;			/* columns of G */
	const int  *term;			/* nblocks: number of each block's random term */
	const double *g;			/* neffects x rank */
	const double *f;			/* (nfixed + 1) x rank */
} GrLmmComponent;

/* Returns the number of the entries of all Lambda. */
static inline int
gr_lmm_nparameters(const GrLmmModel *model)
{
	int			n = 0;

	for (int k = 0; k < model->nterms; k++)
		n += (int) gr_triangle(model->terms[k].ncolumns);
	return n;
}

/*
 * Sums a component's cells: rows that share the levels of all terms. gr_lmm_cells_begin() is called per component.
 */
typedef struct GrLmmCells
{
	const GrLmmModel *model;
	int			nblocks;
	int		   *term;			/* nblocks: random term of each block */
	int		   *first;			/* nblocks: first effect of each block */
	int			neffects;
	GrDDVector	zz;				/* packed triangle of neffects: Z'Z */
	GrDDVector	zb;				/* neffects x (nfixed + 1): Z'(X, y) */
	GrDDVector	within;			/* packed triangle of nfixed + 1: sum of F'F of all components so far */
	GrDDVector	row;			/* scratch */
	double	   *squares;		/* neffects: diagonal of Z'Z */
	bool	   *used;			/* neffects: effects that have been pivots */
} GrLmmCells;

/* Carves the cells of a component with at most nblocks blocks and neffects effects. Clears within. */
extern void gr_lmm_cells_carve(GrLmmCells *cells, const GrLmmModel *model, int nblocks, int neffects, GrArena *arena);

/* Begins a component of nblocks blocks. term: random term of each block */
extern void gr_lmm_cells_begin(GrLmmCells *cells, const int *term, int nblocks);

/* Adds the rows of one cell. gram: about the model's shift; blocks: the cell's block of each random term */
extern void gr_lmm_cells_add(GrLmmCells *cells, const GrGram *gram, const int *blocks);

/* Returns how many numbers a component of the present cells may need. */
static inline int64_t
gr_lmm_component_size(const GrLmmCells *cells)
{
	return (int64_t) cells->neffects * (cells->neffects + cells->model->nfixed + 1);
}

/*
 * Factorises Z'Z. Writes G and F into numbers, gr_lmm_component_size() of them, and adds F'F to cells->within. term:
 * becomes the component's. Returns false if the host asked to stop.
 */
extern bool gr_lmm_cells_end(GrLmmCells *cells, const int *term, double *numbers, GrLmmComponent *component,
							 GrPoll *poll);

/*
 * Computes W, a packed triangle of nfixed + 1 in float8, from the Gram matrix of all rows about the model's shift.
 * Overwrites cells->within. Returns false if the residuals of y, given X and Z, are only rounding error.
 */
extern bool gr_lmm_within(GrLmmCells *cells, const GrGram *all, double *within);

/* Values of the criterion and its derivatives by the entries of all Psi (with a symmetric change of Psi per entry). */
typedef struct GrLmmSums
{
	/* input: */
	const GrLmmModel *model;
	const GrLmmComponent *components;
	int64_t		ncomponents;
	const double *within;		/* W */
	/* output: */
	double		value;			/* criterion without its constant */
	double	   *coef;			/* nfixed: b */
	double	   *inverse;		/* nfixed x nfixed: S_xx^-1 */
	double		squares;		/* r^2 */
	double	   *slope;			/* derivatives of log det V by Psi; after gr_lmm_derive(), of the criterion */
	double	   *hessian;		/* nparameters x nparameters, by Psi; set by gr_lmm_derive() */
	double	   *change;			/* nparameters packed triangles of nfixed + 1: minus the derivatives of S */
	double	   *slope_squares;	/* nparameters: derivatives of r^2; set by gr_lmm_derive() */
	double		log_det;		/* log det V */
	double		log_det_fixed;	/* log det S_xx */
	void	   *work;
} GrLmmSums;

/* Carves the output of sums and its scratch; sums->model and sums->components must be set. */
extern void gr_lmm_sums_carve(GrLmmSums *sums, GrArena *arena);

/*
 * Evaluates the criterion at lambda, the packed rows of all Lambda. Returns false if the host asked to stop. The value
 * is infinite or NaN where the criterion is not defined.
 */
extern bool gr_lmm_evaluate(GrLmmSums *sums, const double *lambda, GrPoll *poll);

/* Sets the derivatives at the point of the last gr_lmm_evaluate(). Returns false if the host asked to stop. */
extern bool gr_lmm_derive(GrLmmSums *sums, GrPoll *poll);

/* The result of a fit, in units of the scaled columns about the shift. */
typedef struct GrLmmFit
{
	GrLmmSums	sums;			/* at lambda */
	double	   *lambda;			/* nparameters */
	double	   *slope;			/* nparameters: derivatives of the criterion by lambda */
	double	   *hessian;		/* nparameters x nparameters, by lambda */
	int			iterations;
	bool		converged;
	void	   *work;
} GrLmmFit;

/* Carves the output of fit; fit->sums.model and components must be set. */
extern void gr_lmm_fit_carve(GrLmmFit *fit, GrArena *arena);

/* Minimises the criterion. fit->lambda: start. Returns false if the host asked to stop. */
extern bool gr_lmm_minimise(GrLmmFit *fit, GrPoll *poll);

/* Evaluates the criterion and its derivatives at fit->lambda. Returns false if the host asked to stop. */
extern bool gr_lmm_settle(GrLmmFit *fit, GrPoll *poll);

/*
 * Computes Satterthwaite's degrees of freedom of the nfixed fixed terms into df (Satterthwaite 1946; Fai and Cornelius
 * 1996). Must follow gr_lmm_minimise() without an evaluation since.
 */
extern void gr_lmm_degrees(const GrLmmFit *fit, double *df);

/*
 * Predicts the effects of a component, their best linear unbiased predictions (BLUP), at the point of the last
 * gr_lmm_evaluate(), in units of the rows, about a shift of 0. all: as for gr_lmm_result(). effects: neffects numbers;
 * errors: neffects, the standard errors given the estimates of the fixed terms and the variances.
 */
extern void gr_lmm_effects(GrLmmSums *sums, const GrLmmComponent *component, const GrGram *all, double *effects,
						   double *errors);

/* The result of a fit in units of the rows: about a shift of 0, without scales */
typedef struct GrLmmResult
{
	double	   *coef;			/* nfixed */
	double	   *vcov;			/* nfixed x nfixed */
	double	   *covariance;		/* nparameters: packed rows of each random term's covariance matrix */
	double		variance;		/* s^2, of the residuals */
	double		criterion;		/* REML criterion, or with ML -2 times the log-likelihood */
	double		fixed_variance;	/* variance of X b over the rows */
	double		random_variance;	/* mean over the rows of the variance of Z u */
} GrLmmResult;

/* Carves the members of result that are arrays. */
extern void gr_lmm_result_carve(GrLmmResult *result, const GrLmmModel *model, GrArena *arena);

/*
 * Computes the result of a fit. all: Gram matrix of all rows about the model's shift. If the fixed terms have the ones,
 * these come first.
 */
extern void gr_lmm_result(const GrLmmFit *fit, const GrGram *all, GrLmmResult *result);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_LMM_H */
