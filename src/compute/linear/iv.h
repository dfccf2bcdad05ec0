/*
 * iv.h: two-stage least squares from a Gram matrix in double-double, and its tests. fn_iv.c calls
 * gr_iv_workspace_nbytes() first, then gr_iv_solve().
 *
 * Regressors X = (1, exogenous W, endogenous E), instruments Z = (1, W, excluded instruments Q): b = (X'PX)^-1 X'Py
 * with P = Z (Z'Z)^-1 Z'. The covariances are sigma^2 (X'PX)^-1, where sigma^2 is RSS / (rows - rank). One
 * factorisation of (Z, E, y) suffices: what the columns of Q add to that of (1, W) is the projection of E and y (A),
 * what Z leaves is the rest (R). Both are sums of products, so that a weak instrument does not cancel. See Davidson and
 * MacKinnon (2004), Econometric Theory and Methods, 8.3 and 8.6.
 *
 * A column is aliased if it is aliased in a linear regression on the columns before it, in the order (1, W, Q, E).
 * Aliased regressors have no coefficient, and aliased instruments are ignored.
 */
#ifndef GPUREG_IV_H
#define GPUREG_IV_H

#include "compute/linalg/gram.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Numbers of columns of a Gram matrix, in this order: (1, exogenous, instruments, endogenous, response). Without an
 * intercept the ones are ignored.
 */
typedef struct GrIvColumns
{
	int			nexogenous;
	int			ninstruments;	/* excluded instruments */
	int			nendogenous;	/* at least 1 */
	bool		intercept;
} GrIvColumns;

/* A test: F with df1 and df2 degrees of freedom, or chi squared with df1. NaN: no statistic. */
typedef struct GrIvTest
{
	int64_t		df1;
	int64_t		df2;
	double		statistic;
} GrIvTest;

typedef struct GrIvFit
{
	int			nterms;			/* number of terms: intercept if any, exogenous, endogenous */
	int			rank;			/* terms that are not aliased */
	int			instruments;	/* excluded instruments that are not aliased */
	int			endogenous;		/* endogenous regressors that are not aliased */
	bool		identified;		/* the instruments determine the coefficients of E; if false, no later member is
								 * valid */
	int64_t		df_residual;	/* rows - rank */
	double	   *coef;			/* nterms; NaN for an aliased term */
	double	   *vcov;			/* nterms x nterms; NaN for aliased terms, or all of it if df_residual is 0 */
	double		rss;			/* residual sum of squares of y - X b */
	double		tss;			/* total sum of squares, about the mean with an intercept, else about 0 */
	GrIvTest   *first_stage;	/* nendogenous F tests of the instruments in the regression of each endogenous
								 * regressor */
	GrIvTest	hausman;		/* F test of endogeneity (Wu and Hausman): what the residuals of E add to OLS */
	GrIvTest	sargan;			/* chi squared test of overidentification */
} GrIvFit;

/* Returns the bytes of workspace for gr_iv_solve(). */
extern size_t gr_iv_workspace_nbytes(const GrIvColumns *columns);

/*
 * Solves gram, which has at least 1 row. The caller owns the arrays of fit. Fails as gr_ols_solve() does. where: column
 * of gram, -1 for the ones.
 */
extern bool gr_iv_solve(const GrGram *gram, const GrIvColumns *columns, void *workspace, GrIvFit *fit,
						const GrHost *host, GrError *err);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_IV_H */
