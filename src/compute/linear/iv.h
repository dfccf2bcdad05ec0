/*
 * iv.h: two-stage least squares from a Gram matrix in double-double, and the tests that go with it.
 *
 * Regressors X = (1, exogenous W, endogenous E), instruments Z = (1, W, excluded instruments Q): b = (X'PX)^-1 X'Py
 * with P = Z (Z'Z)^-1 Z', and the covariances are sigma^2 (X'PX)^-1, sigma^2 being RSS over the rows less the terms.
 * One factorisation of (Z, E, y) gives it all: what the columns of Q add to that of (1, W) is the projection of E and y
 * (A), what all of Z leaves is the rest (R); both are sums of products, so that a weak instrument doesn't cancel. See
 * Davidson and MacKinnon (2004), Econometric Theory and Methods, 8.3 and 8.6.
 *
 * Aliased is what is aliased in a linear regression on the columns before it, in the order (1, W, Q, E): exogenous
 * regressors and endogenous ones have no coefficient then, and instruments count for nothing.
 */
#ifndef GPUREG_IV_H
#define GPUREG_IV_H

#include "compute/linalg/gram.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * How many columns of each kind a Gram matrix has, in this order: (1, exogenous, instruments, endogenous, response).
 * The ones may take no part.
 */
typedef struct GrIvColumns
{
	int			nexogenous;
	int			ninstruments;	/* excluded ones */
	int			nendogenous;	/* 1 or more */
	bool		intercept;
} GrIvColumns;

/* A test's statistic, of F with df1 and df2 degrees of freedom or of chi squared with df1; NaN: there is none */
typedef struct GrIvTest
{
	int64_t		df1;
	int64_t		df2;
	double		statistic;
} GrIvTest;

typedef struct GrIvFit
{
	int			nterms;			/* (1,) exogenous, endogenous: in this order */
	int			rank;			/* terms that are not aliased */
	int			instruments;	/* excluded ones that aren't aliased */
	int			endogenous;		/* likewise */
	bool		identified;		/* do instruments tell the endogenous' effects? If not, all below is of no use */
	int64_t		df_residual;	/* rows - rank */
	double	   *coef;			/* nterms; NaN for an aliased term */
	double	   *vcov;			/* nterms x nterms; NaN for aliased terms, or all of it if df_residual is 0 */
	double		rss;			/* of y - X b */
	double		tss;			/* about the mean if there is an intercept, else about 0 */
	GrIvTest   *first_stage;	/* nendogenous: of the instruments in the regression of an endogenous one, F */
	GrIvTest	hausman;		/* of endogeneity (Wu and Hausman): what E less its projection adds to OLS, F */
	GrIvTest	sargan;			/* of overidentification, chi squared */
} GrIvFit;

/* Bytes of workspace for gr_iv_solve() */
extern size_t gr_iv_workspace_nbytes(const GrIvColumns *columns);

/*
 * Solves gram, of 1 row or more. The fit's arrays are the caller's. Fails as gr_ols_solve() does; where: the column as
 * in gram, -1 the ones.
 */
extern bool gr_iv_solve(const GrGram *gram, const GrIvColumns *columns, void *workspace, GrIvFit *fit,
						const GrHost *host, GrError *err);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_IV_H */
