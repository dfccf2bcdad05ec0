/*
 * firth.h: logistic regression with Firth's penalty (1993): what is maximised is the log-likelihood and half the log
 * of the information's determinant, Jeffreys's prior. The estimates' bias is of a lower order, and they are finite,
 * however classes are separated (Heinze and Schemper 2002).
 *
 * The gradient is the sum of (w (y - mu) + h (1/2 - mu)) z, h being a row's leverage. So each iteration makes two
 * passes at its theta: the first gives the information, by which the second measures leverages.
 */
#ifndef GPUREG_FIRTH_H
#define GPUREG_FIRTH_H

#include "compute/glm/fit.h"

/*
 * After a plain pass at theta: asks for that of the penalised gradient there, in the phase that the fit is in; and the
 * penalty of the deviance goes to the state.
 */
extern bool gr_firth_ask(GrGlmFit *fit, const GrHost *host, GrError *err);

#endif							/* GPUREG_FIRTH_H */
