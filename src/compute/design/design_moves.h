/*
 * design_moves.h: from powers about a center to powers.
 *
 * Powers of x - c are as good as those of x to regress on, and better conditioned by many digits where c is among the
 * values. With (x - c)^j = sum of (j over i) (-c)^(j - i) x^i the coefficients are brought back, if for each product
 * that has such a power there is the same one with each lower power, and without it.
 */
#ifndef GPUREG_DESIGN_MOVES_H
#define GPUREG_DESIGN_MOVES_H

#include "compute/design/design.h"
#include "compute/linalg/gram.h"
#include "compute/linalg/ols_factor.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The moves of a design with an intercept, whose terms are numbered from the intercept, 0, on. False if there are none
 * because a term that they would need is missing, they would be too many, a weight is out of range, or there is no
 * memory.
 */
extern bool gr_design_moves(const GrDesign *design, GrMemory memory, GrTermMoves *moves);

/*
 * Makes gram, of a design's features, the matrix of the terms that moves lead to, about 0. What conditioned the sums
 * well is lost. Returns false if the host asked to stop.
 */
extern bool gr_gram_move(GrGram *gram, const GrTermMoves *moves, GrPoll *poll);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_DESIGN_MOVES_H */
