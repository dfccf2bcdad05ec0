/*
 * firth.h: logistic regression with Firth's (1993) penalty. newton.c calls gr_firth_ask() after each plain pass.
 *
 * The fit maximises the log-likelihood plus half the log of the information's determinant (Jeffreys's prior). The
 * estimates' bias is of a lower order, and they are finite however classes are separated (Heinze and Schemper 2002).
 *
 * The gradient is the sum of (w (y - mu) + h (1/2 - mu)) z, where h is the leverage of a row. Each iteration makes two
 * passes at its theta: the first gives the information, from which the second computes leverages.
 */
#ifndef GPUREG_FIRTH_H
#define GPUREG_FIRTH_H

#include "compute/glm/fit.h"

/*
 * Requests the pass of the penalised gradient at theta, in the present phase, after a plain pass there. Sets
 * state->penalty. Returns false on an error.
 */
extern bool gr_firth_ask(GrGlmFit *fit, const GrHost *host, GrError *err);

#endif							/* GPUREG_FIRTH_H */
