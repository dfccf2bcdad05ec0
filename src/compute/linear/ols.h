/*
 * ols.h: ordinary least squares from a Gram matrix in double-double. Callers of gr_ols_solve() allocate
 * gr_normal_workspace_nbytes() bytes (normal.h) first.
 *
 * The solver is a scaled LDL' factorisation of the cross products of [terms y], in the order of the terms. A term is
 * aliased if its squared residual on the terms before it is at most GR_ALIAS_TOLERANCE of its sum of squares. An
 * aliased term has no coefficient, as in R's lm(), where later terms lose to earlier ones too. The tolerance is on
 * squares: a term is collinear if its distance from the span of the others is below 1e-12 of its length, some thousand
 * roundings of float8. (R's default of 1e-7 drops a term of NIST's filip, which lies at 5.2e-8 and has eight digits to
 * give.) Once there are as many terms as rows, all further terms are aliased. For a column summed about a shift
 * (gram_shift.h), the sum of squares is that about the shift. Such a column is also aliased if its squared residual is
 * below GR_ROUNDING_TOLERANCE of the squares of its own values: 28 roundings, what float8 leaves of a column computed
 * from others.
 *
 * Errors of the result are of the order of 2^-104 times the square of the scaled condition number of the terms, so that
 * all 16 digits of a float8 are right up to a condition number of about 1e8. Sums that cancel to less than their
 * rounding error (a perfect fit's residual sum of squares, an effect of exactly zero) are reported as 0.
 *
 * With an intercept, sums about a shift are solved directly: slopes do not depend on the shift, and intercept and
 * covariances are shifted back in double-double. Without an intercept the sums are shifted back first.
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
	int			nterms;			/* nfeatures, plus 1 with an intercept, which is the first term */
	int			rank;			/* terms that are not aliased */
	int64_t		df_residual;	/* rows - rank; with l2 the rank is that of the penalised sums, which may be larger */
	double	   *coef;			/* nterms; NaN for an aliased term */
	double	   *vcov;			/* nterms x nterms; NaN for aliased terms, or entirely if df_residual is 0; NULL: not
								 * wanted */
	double		rss;			/* residual sum of squares */
	double		tss;			/* total sum of squares, about the mean with an intercept, else about 0 */
	double	   *vcov_low;		/* packed triangle: low halves of vcov, unless on_device; NULL: not wanted */
	bool		on_device;		/* the device solved the system */
	bool		intercept;		/* input: the model has an intercept */
	/*
	 * Input: solves systems with many terms, with the same result up to rounding in double-double; NULL: solved here.
	 * If the device's memory does not suffice, the system is solved here; other failures of the device are those of the
	 * solve.
	 */
	const GrSolver *solver;
	const GrTermMoves *moves;	/* input: map to the reported terms, needs an intercept and solves here; NULL: none */
	/* input: ridge penalty >= 0: l2 / 2 times the slopes' sum of squares is added to rss / 2; if > 0, solves here */
	double		l2;
	bool		unmovable;		/* a move's target is aliased: no other member is valid */
} GrOlsFit;

/*
 * Limit of terms for which low halves of covariances are kept. A device, which gives none, solves only larger systems.
 */
#define GR_LOW_TERMS_MAX 95

/*
 * Solves gram, which has at least 1 row and is not changed. The caller owns fit->coef and fit->vcov; vcov is NULL if
 * only coefficients are wanted. Fails with GR_OUT_OF_RANGE (where: the column) if sums of squares over- or underflowed
 * or the matrix is not one of cross products. Fails with GR_RESULT_OUT_OF_RANGE if a coefficient or, with vcov, a
 * variance or sum of squares leaves float8's range. Fails with GR_CANCELED.
 */
extern bool gr_ols_solve(const GrGram *gram, void *workspace, GrOlsFit *fit, const GrHost *host, GrError *err);

/*
 * A factorisation L D L' of terms and the response (the last row) in double-double, for example of projected terms.
 * Rows are scaled by powers of two that bring their sums of squares in the matching triangle into [1, 4).
 */
typedef struct GrOlsFactor
{
	GrDDConstVector l;			/* packed; the diagonal is ignored */
	GrDDConstVector d;			/* terms + 1: D, and last the residual sum of squares */
	const bool *aliased;		/* nterms: terms that are left out */
} GrOlsFactor;

/*
 * Makes the fit of gr_ols_solve() from another factorisation, with the same errors. Reads only the diagonal, the sums
 * and the response's row of gram.
 */
extern bool gr_ols_finish(const GrGram *gram, const GrOlsFactor *factor, void *workspace, GrOlsFit *fit,
						  const GrHost *host, GrError *err);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_OLS_H */
