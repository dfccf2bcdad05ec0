/*
 * cholesky_reference.h: the solve of ols.h in quadruple precision, plainly, for the tests. Apart, as nvcc doesn't take
 * __float128.
 */
#ifndef GPUREG_CHOLESKY_REFERENCE_H
#define GPUREG_CHOLESKY_REFERENCE_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a solve of m terms gave; see GrFactorJob, of whose matrix nothing was passed over. */
typedef struct CholeskyAnswer
{
	int			m;
	const double *hi;			/* the matrix */
	const double *lo;
	const double *scale;
	const double *least_pivot;
	const bool *left_out;		/* m: aliased from the start */
	const bool *aliased;
	const double *d_hi;
	const double *d_lo;
	const double *row_hi;
	const double *row_lo;
	const double *coef_hi;
	const double *coef_lo;
	const double *inverse;		/* inv(L)' W inv(L), W = inv(D), m x m; not looked at in rows of aliased terms */
} CholeskyAnswer;

typedef struct CholeskyErrors
{
	bool		same_aliased;
	double		d;				/* the largest |d - D| / D */
	double		row;			/* the largest difference over the largest entry */
	double		coef;			/* likewise */
	/* the largest difference over the square root of the product of the diagonal's entries */
	double		inverse;
} CholeskyErrors;

/* Errors are infinite where something isn't finite. */
extern CholeskyErrors cholesky_reference(const CholeskyAnswer *answer);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_CHOLESKY_REFERENCE_H */
