/*
 * combination.h: the standard error of a linear combination of a model's coefficients.
 */
#ifndef GPUREG_COMBINATION_H
#define GPUREG_COMBINATION_H

#include "postgres.h"

#include "compute/dd.h"

/*
 * sqrt(x' V x) of covariances of nterms terms, any numbers, NaN for those that aren't known; x is finite, and is left
 * scaled. A term whose x is 0 has no part, whatever its covariances. False where the error isn't known; it may be
 * infinite, where it is out of range.
 */
extern bool gr_combination_error(const double *vcov, int nterms, GrDD *x, double *error);

#endif							/* GPUREG_COMBINATION_H */
