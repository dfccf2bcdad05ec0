/*
 * newton_step.h: solves Newton steps from the sums of a pass, and counts the digits of an estimate. Called first by
 * newton.c after the pass at 0.
 */
#ifndef GPUREG_NEWTON_STEP_H
#define GPUREG_NEWTON_STEP_H

#include "compute/glm/fit.h"

/* Length of a negligible last step, in standard errors: estimates are right to their last digits. */
#define GR_EXACT_TOL 1e-13

/*
 * Solves the step from an EXACT or FAST pass into state->delta. Sets state->decrement to the squared length of the step
 * in standard errors, or INFINITY while the dispersion is unknown. Adds the penalty to the sums.
 * aliased: terms set on entry are left out; terms whose pivots are at most tolerance are added. Returns false on an
 * error.
 */
extern bool gr_newton_solve(GrGlmFit *fit, double tolerance, bool *aliased, const GrHost *host, GrError *err);

/*
 * Solves for the derivative of beta's estimate by log(theta) from the sums of a JOINT pass, whose step
 * gr_newton_solve() has solved without leaving out a term. follow: nfull. Fails as gr_newton_solve() does.
 */
extern bool gr_newton_follow(GrGlmFit *fit, double *follow, const GrHost *host, GrError *err);

/* An estimate whose digits are counted, and the Hessian there. Arrays have nterms entries. */
typedef struct GrEstimate
{
	int			nterms;
	const double *hessian;		/* packed triangle, whose row and column first_row are those of the first term */
	int			first_row;
	const double *inverse;		/* nterms x nterms: the inverse of the Hessian */
	const double *coef;
	const bool *left_out;		/* terms without a coefficient */
	double		dispersion;		/* factor from the inverse to variances */
	double		weight_sum;		/* sum of the rows' weights */
	bool		intercept;		/* the first term is the intercept */
	double		offset_eta;		/* magnitude of a predictor if there are offsets; else 0 */
	GrLink		link;
} GrEstimate;

typedef enum GrDigits
{
	GR_DIGITS_ENOUGH,
	GR_DIGITS_COLLINEAR,		/* fewer than eight digits of a term whose variance others inflate */
	GR_DIGITS_FEW				/* fewer than eight digits of another term, as predictors are huge */
} GrDigits;

/*
 * Counts the digits that rounding leaves of an estimate. Predictors and residuals of rows are rounded to float8. The
 * gradient is then off as if predictors changed by 2^-53 of themselves, and the estimates by the least-squares fit to
 * that change. The error is compared with the larger of the estimate and its standard error: an estimate of a billion
 * standard errors lacks no digits. Returns false if the host asked to stop.
 */
extern bool gr_count_digits(const GrEstimate *estimate, GrDigits *digits, const GrHost *host);

/*
 * Adds the penalty to a triangle whose row first_row is that of full term 0: l2 to the diagonal, -l2 b to the last row.
 * theta: nfull entries; NaN for a term without a coefficient.
 */
extern void gr_newton_add_penalty(GrDDVector triangle, int first_row, int last_row, double l2, const double *theta,
								  int nfull);

#endif							/* GPUREG_NEWTON_STEP_H */
