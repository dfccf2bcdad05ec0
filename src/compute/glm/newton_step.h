/*
 * newton_step.h: the Newton step that the sums of a pass give.
 */
#ifndef GPUREG_NEWTON_STEP_H
#define GPUREG_NEWTON_STEP_H

#include "compute/glm/fit.h"

/* A last step this short, in standard errors, is as good as none: estimates are right to their last digits. */
#define GR_EXACT_TOL 1e-13

/*
 * The step into delta, and its squared decrement into the state, from an EXACT or a FAST pass; the penalty is added to
 * the sums. Marks in aliased the terms whose pivots are at most the tolerance; those that are marked before take no
 * part.
 */
extern bool gr_newton_solve(GrGlmFit *fit, double tolerance, bool *aliased, const GrHost *host, GrError *err);

/* An estimate and the Hessian there, of which digits are counted. Arrays are of terms. */
typedef struct GrEstimate
{
	int			nterms;
	const double *hessian;		/* a packed triangle, row and column first_row of which are of the first term */
	int			first_row;
	const double *inverse;		/* nterms x nterms: the inverse of the Hessian */
	const double *coef;
	const bool *left_out;		/* terms without a coefficient */
	double		dispersion;		/* by which the inverse is multiplied for variances */
	double		weight_sum;		/* of the rows' weights */
	bool		intercept;		/* the first term is the intercept */
	double		offset_eta;		/* a predictor's magnitude where offsets are part of it; else 0 */
	GrLink		link;
} GrEstimate;

typedef enum GrDigits
{
	GR_DIGITS_ENOUGH,
	GR_DIGITS_COLLINEAR,		/* fewer than eight of a term whose variance others inflate */
	GR_DIGITS_FEW				/* fewer than eight of another: predictors are huge against what changes them */
} GrDigits;

/*
 * Counts the digits that rounding leaves of an estimate. A row's predictor and its residual are rounded to float8. The
 * gradient is then off by as much as if predictors were changed by 2^-53 of themselves, and the estimates are off by
 * the least-squares fit to that change. The error is compared with the estimate or its standard error, whichever is
 * larger, and not with the standard error alone: an estimate of a billion standard errors lacks no digits. False if the
 * host asked to stop.
 */
extern bool gr_count_digits(const GrEstimate *estimate, GrDigits *digits, const GrHost *host);

/*
 * The penalty's part of a triangle whose row first_row is of full term 0: l2 on the diagonal, -l2 b in the last row.
 * theta: nfull; NaN for a term that has no coefficient
 */
extern void gr_newton_add_penalty(GrDDVector triangle, int first_row, int last_row, double l2, const double *theta,
								  int nfull);

#endif							/* GPUREG_NEWTON_STEP_H */
