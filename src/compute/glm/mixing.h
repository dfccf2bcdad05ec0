/*
 * mixing.h: faster steps where the weights of a fit are expected ones: Fisher's scoring.
 *
 * With a link that isn't the family's canonical one such steps shrink by some factor each, where Newton's would square
 * their length. Anderson's mixing (1965) of the last steps tells from how they changed what the Hessian would have
 * said.
 */
#ifndef GPUREG_MIXING_H
#define GPUREG_MIXING_H

#include "compute/glm/fit.h"

/* Bytes of state->history; 0 where steps are Newton's: for canonical links, without Firth's penalty */
extern size_t gr_mixing_nbytes(const GrGlmOptions *options);

/* What follows is of another theta of the distribution: the pairs so far are still as good, those across are none. */
extern void gr_mixing_break(GrGlmState *state);

/* After a step was solved at the accepted theta: improves state->delta. */
extern void gr_mixing_improve(GrGlmState *state);

/* The steps before are of no use: the rows or the terms have changed. */
extern void gr_mixing_forget(GrGlmState *state);

#endif							/* GPUREG_MIXING_H */
