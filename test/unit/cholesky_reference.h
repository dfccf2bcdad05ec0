/*
 * cholesky_reference.h: the solve of ols.h by plain loops in quadruple precision, for the tests. A header of its own,
 * as nvcc doesn't accept __float128.
 */
#ifndef GPUREG_CHOLESKY_REFERENCE_H
#define GPUREG_CHOLESKY_REFERENCE_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The results of a solve of m terms; see GrFactorJob. The matrix has all terms. */
typedef struct CholeskyAnswer
{
	int			m;
	const double *hi;			/* the matrix */
	const double *lo;
	const double *scale;
	const double *least_pivot;
	const bool *left_out;		/* m; true: aliased from the start */
	const bool *aliased;
	const double *d_hi;
	const double *d_lo;
	const double *row_hi;
	const double *row_lo;
	const double *coef_hi;
	const double *coef_lo;
	const double *inverse;		/* inv(L)' W inv(L), W = inv(D), m x m; rows of aliased terms are ignored */
} CholeskyAnswer;

typedef struct CholeskyErrors
{
	bool		same_aliased;
	double		d;				/* the largest |d - D| / D */
	double		row;			/* the largest difference over the largest entry */
	double		coef;			/* the largest difference over the largest entry */
	/* the largest difference over the square root of the product of the diagonal's entries */
	double		inverse;
} CholeskyErrors;

/* Compares an answer with the reference. Errors are infinite where a value isn't finite. */
extern CholeskyErrors cholesky_reference(const CholeskyAnswer *answer);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_CHOLESKY_REFERENCE_H */
