/*
 * combination.h: the standard error of a linear combination of a model's coefficients, and how exact it is.
 */
#ifndef GPUREG_COMBINATION_H
#define GPUREG_COMBINATION_H

#include "postgres.h"

#include "fmgr.h"

#include "compute/base/dd.h"
#include "compute/design/extras.h"

/* Largest share of the square of a standard error that rounding may move, where six digits are right */
#define GR_PRECISE_SHARE 1e-6

typedef struct GrCombination
{
	const double *vcov;			/* in: nterms x nterms, any numbers, NaN for those that aren't known */
	int			nterms;
	GrString	vcov_low;		/* in: low halves as text; bytes NULL: there are none */
	GrDD	   *x;				/* in: weights of the terms, finite; left scaled */

	double		error;			/* out: sqrt(x' V x); infinite where it is out of range */
	double		noise;			/* out: square root of what rounding may have left in x' V x; 0 if V is exact */
} GrCombination;

/*
 * Computes error and noise. A term whose x is 0 has no part, whatever its covariances. False if the error isn't known:
 * covariances are NaN, or are those of no covariance matrix. Where rounding alone may have made x' V x negative, error
 * is 0, and noise isn't.
 */
extern bool gr_combination_error(GrCombination *c);

/* True if the square of the error, with more added to it that is exact, has six digits. */
extern bool gr_combination_is_precise(const GrCombination *c, double more);

/*
 * Warns that results of the function that is called are NULL as they have too few digits, once for each place of a
 * statement that calls it. what: "standard errors", say. *warned: kept from call to call; NULL: in fn_extra, which the
 * function has no other use for
 */
extern void gr_warn_imprecise(FunctionCallInfo fcinfo, bool *warned, const char *what);

#endif							/* GPUREG_COMBINATION_H */
