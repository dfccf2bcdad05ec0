/*
 * ols.h: ordinary least squares from a Gram matrix in double-double.
 *
 * Scaled LDL' factorisation of the cross products of [terms y], in the terms' own order. A term whose squared residual
 * on the terms before it is not above GR_ALIAS_TOLERANCE of its own sum of squares is aliased: it has no coefficient,
 * as in R's lm(), where later terms lose to earlier ones too. The tolerance is on squares: a term counts as collinear
 * when its distance from the span of the others is below 1e-12 of its length, some thousand roundings of float8. (R's
 * default of 1e-7 drops a term of NIST's filip, which lies at 5.2e-8 and has eight digits to give.) Once there are as
 * many terms as rows, all others are aliased, whatever rounding has left of them. For a column that
 * is summed about a shift (gram_shift.h), the sum of squares is that about the shift; what is aliased too is a squared
 * residual below GR_ROUNDING_TOLERANCE of the values' own squares, as what float8 leaves of a column computed from
 * others is: 28 roundings.
 *
 * Errors of the result are of the order of 2^-104 times the square of the scaled condition number of the terms, so
 * all 16 digits of a float8 are right up to a condition number of about 1e8. Sums that cancel to less than their own
 * rounding error (a perfect fit's residual sum of squares, an exactly zero effect) are reported as 0.
 *
 * With an intercept, sums about a shift are solved as they are: slopes are the same about any, and intercept and
 * covariances are brought back in double-double. Without one, the sums are brought back before.
 */
#ifndef GPUREG_OLS_H
#define GPUREG_OLS_H

#include "compute/linalg/gram.h"
#include "compute/linalg/normal.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct GrOlsFit
{
	int			nterms;			/* nfeatures, and one if there is an intercept, which is the first */
	int			rank;			/* terms that are not aliased */
	int64_t		df_residual;	/* rows - rank; with an l2, the rank is that of penalised sums, and may be more */
	double	   *coef;			/* nterms; NaN for an aliased term */
	double	   *vcov;			/* nterms x nterms; NaN for aliased terms, or all of it if df_residual is 0; or NULL */
	double		rss;			/* residual sum of squares */
	double		tss;			/* total sum of squares: about the mean if there is an intercept, else about 0 */
	double	   *vcov_low;		/* packed triangle: what rounding left of vcov, unless on_device; NULL: not wanted */
	bool		on_device;		/* solved there */
	bool		intercept;		/* in */
	/*
	 * in: where many terms are solved instead, to within rounding in double-double the same; NULL: here. If the
	 * device's memory doesn't suffice, the solve is done here; its other failures are the solve's.
	 */
	const GrSolver *solver;
	const GrTermMoves *moves;	/* in: NULL: none; else there is an intercept, and the solve is done here */
	/* in: >= 0: l2 / 2 times the slopes' sum of squares is added to half of rss; where it isn't 0, solved here, too */
	double		l2;
	bool		unmovable;		/* a term that is aliased would be moved to: all else is of no use */
} GrOlsFit;

/* Terms whose covariances' low halves are kept at most: fewer than are solved on a device, which gives none */
#define GR_LOW_TERMS_MAX 95

/*
 * Solves gram, of 1 row or more, which is left as it is. fit->coef and fit->vcov point to the caller's arrays, vcov may
 * be NULL when coefficients alone are wanted. Fails with GR_OUT_OF_RANGE (where: the column) if sums of squares over-
 * or underflowed or the matrix isn't one of cross products; with GR_RESULT_OUT_OF_RANGE if a coefficient or, where vcov
 * is wanted, a variance or a sum of squares is beyond float8's range, or not 0 and below it; and with GR_CANCELED.
 */
extern bool gr_ols_solve(const GrGram *gram, void *workspace, GrOlsFit *fit, const GrHost *host, GrError *err);

/*
 * A factorisation L D L' of terms and the response, which is the last row, in double-double: of the terms' projections,
 * say. Each row is scaled by the power of two that brings its sum of squares, in the triangle that goes with it, into
 * [1, 4).
 */
typedef struct GrOlsFactor
{
	GrDDConstVector l;			/* packed; the diagonal isn't looked at */
	GrDDConstVector d;			/* D, and the residual sum of squares */
	const bool *aliased;		/* of the terms: those that are left out */
} GrOlsFactor;

/*
 * Makes of another factorisation the fit that gr_ols_solve() makes of its own, and fails as that does. Of gram, the
 * diagonal, the sums and the response's row are looked at.
 */
extern bool gr_ols_finish(const GrGram *gram, const GrOlsFactor *factor, void *workspace, GrOlsFit *fit,
						  const GrHost *host, GrError *err);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_OLS_H */
