/*
 * mixing.h: Anderson's mixing (1965), which accelerates Fisher's scoring. newton.c calls gr_mixing_improve() after each
 * solved step.
 *
 * With a link that is not canonical, each step of Fisher's scoring shrinks only by a factor, while Newton's would
 * square its length. Mixing estimates the missing part of the Hessian from the changes of the last steps.
 */
#ifndef GPUREG_MIXING_H
#define GPUREG_MIXING_H

#include "compute/glm/fit.h"

/* Returns the bytes of state->history; 0 if steps are Newton's: for canonical links without Firth's penalty. */
extern size_t gr_mixing_nbytes(const GrGlmOptions *options);

/* Notes a change of the distribution's theta: the pairs stay valid, but no pair spans the change. */
extern void gr_mixing_break(GrGlmState *state);

/* Improves state->delta, after a step was solved at the accepted theta. */
extern void gr_mixing_improve(GrGlmState *state);

/* Forgets all pairs, after the rows or the terms have changed. */
extern void gr_mixing_forget(GrGlmState *state);

#endif							/* GPUREG_MIXING_H */
