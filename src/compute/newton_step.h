/*
 * newton_step.h: the Newton step that the sums of a pass give.
 */
#ifndef GPUREG_NEWTON_STEP_H
#define GPUREG_NEWTON_STEP_H

#include "compute/fit.h"

/*
 * The step into delta, and its squared decrement into the state, from an EXACT or a FAST pass; the penalty is added to
 * the sums. Marks in aliased the terms whose pivots are at most the tolerance; those that are marked before take no
 * part.
 */
extern bool gr_newton_solve(GrLogregFit *fit, double tolerance, bool *aliased, const GrHost *host, GrError *err);

/*
 * After an EXACT pass and its step: how long rounding alone makes steps, in standard errors. A share of it is theta's,
 * rounded to float8, for which a step from there has no fewer right digits; the other that of the rows' terms, which
 * variances inflated by collinearity enlarge.
 */
extern double gr_newton_rounding(GrLogregFit *fit);

/*
 * The penalty's part of a triangle whose row first_row is of full term 0: l2 on the diagonal, -l2 b in the last row.
 * theta: nfull; NaN for a term that has no coefficient
 */
extern void gr_newton_add_penalty(double *hi, double *lo, int first_row, int last_row, double l2, const double *theta,
								  int nfull);

#endif							/* GPUREG_NEWTON_STEP_H */
