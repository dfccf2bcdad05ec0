/*
 * terms.h: the terms in which a GLM is fitted, and the way back to the original features. newton.c calls these
 * functions after the pass at 0, finish.c at the end.
 */
#ifndef GPUREG_TERMS_H
#define GPUREG_TERMS_H

#include "compute/glm/fit.h"

/* Returns the limit of features that a fit may change, for which it has memory. */
extern int	gr_terms_nchanged_max(const GrGlmOptions *options);

/* Sets the shifts of features whose means are more than far spreads from 0, after the pass at 0. */
extern void gr_terms_choose_shift(GrGlmFit *fit, double far);

/* Sets the scales of the terms about their shifts, after the pass at 0. */
extern void gr_terms_choose_scale(GrGlmFit *fit);

/* Sets the lengths and spreads of the original features, after the pass at 0 over unchanged rows. */
extern void gr_terms_measure(GrGlmFit *fit);

/*
 * Chooses a basis if one is needed, after the pass at 0 and its step. *found is true if rows have to be changed.
 * Returns false on an error.
 */
extern bool gr_terms_choose_basis(GrGlmFit *fit, bool *found, const GrHost *host, GrError *err);

/* Marks changed features as aliased that turn out to be collinear, after the pass at 0 over changed rows. */
extern void gr_terms_mark_collinear(GrGlmFit *fit);

/*
 * Converts between theta, coefficients of (1, x - shift), and beta, coefficients of (1, x). theta and beta may be the
 * same array.
 */
extern void gr_terms_unshift(const GrGlmFit *fit, const double *theta, double *beta);
extern void gr_terms_shift(const GrGlmFit *fit, const double *beta, double *theta);

/* Converts a face, a direction in z, to (1, x). The intercept is 0 if only rounding error is left of it. */
extern void gr_terms_direction(const GrGlmFit *fit, const double *face, double *direction);

/* Converts beta + lo from the features of the rows to the original features, in place. Overwrites lo. */
extern void gr_terms_to_features(const GrGlmFit *fit, double *beta, double *lo);

/* Like gr_terms_to_features(), and on to the reported terms by options.moves, if any. */
extern void gr_terms_to_model(const GrGlmFit *fit, double *beta, double *lo);

/* Sets beta to theta + theta_lo as coefficients of the reported terms, rounded once. Overwrites theta_lo. */
extern void gr_terms_estimate(const GrGlmFit *fit, double *beta);

#endif							/* GPUREG_TERMS_H */
