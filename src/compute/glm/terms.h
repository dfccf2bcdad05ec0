/*
 * terms.h: in which terms a logistic regression is fitted, and the way back to the features' own.
 */
#ifndef GPUREG_TERMS_H
#define GPUREG_TERMS_H

#include "compute/glm/fit.h"

/* Most features that a fit may change: memory for them */
extern int	gr_terms_nchanged_max(const GrGlmOptions *options);

/* After the pass at 0: sets the shifts of the features that are far spreads or more from 0. */
extern void gr_terms_choose_shift(GrGlmFit *fit, double far);

/* Sets the scales of the terms about their shifts, likewise. */
extern void gr_terms_choose_scale(GrGlmFit *fit);

/* After the pass at 0 over the features as they came: their lengths and spreads. */
extern void gr_terms_measure(GrGlmFit *fit);

/* After the pass at 0, whose pivots are known: chooses a basis, if one is wanted. */
extern bool gr_terms_choose_basis(GrGlmFit *fit, bool *found, const GrHost *host, GrError *err);

/* After the same pass over changed rows: marks as aliased what the change has shown to be collinear. */
extern void gr_terms_mark_collinear(GrGlmFit *fit);

/* The sum of theta_j (x_j - shift_j) as coefficients of (1, x), and back. beta and theta may be the same array. */
extern void gr_terms_unshift(const GrGlmFit *fit, const double *theta, double *beta);
extern void gr_terms_shift(const GrGlmFit *fit, const double *beta, double *theta);

/* The direction in (1, x) of a face, which is in z; its intercept is 0 where no more than rounding is left of it. */
extern void gr_terms_direction(const GrGlmFit *fit, const double *face, double *direction);

/* beta + lo of (1, x), x as the rows have them, to the features as they came, in place; lo is given up. */
extern void gr_terms_to_features(const GrGlmFit *fit, double *beta, double *lo);

/* The same, and on to the terms that the estimates are of, by the moves if there are any */
extern void gr_terms_to_model(const GrGlmFit *fit, double *beta, double *lo);

/* theta + theta_lo as coefficients of the terms that the estimates are of, rounded once; theta_lo is given up. */
extern void gr_terms_estimate(const GrGlmFit *fit, double *beta);

#endif							/* GPUREG_TERMS_H */
