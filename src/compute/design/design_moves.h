/*
 * design_moves.h: converts coefficients of powers about a center to those of plain powers. frame.c makes the conversion
 * when it centers powers; the linear solver applies it.
 *
 * Powers of x - c fit the same models as powers of x, and keep many more digits if c is among the values. By the
 * binomial theorem, (x - c)^j = sum over i of (j over i) (-c)^(j - i) x^i. The coefficients can be converted if, for
 * each product with such a power, the design also has the product with each lower power, and without it.
 */
#ifndef GPUREG_DESIGN_MOVES_H
#define GPUREG_DESIGN_MOVES_H

#include "compute/design/design.h"
#include "compute/linalg/gram.h"
#include "compute/linalg/term_moves.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Makes the moves (see the glossary) of a design with an intercept; terms are numbered from 0, the intercept. Memory
 * comes from `memory`. Returns false if a needed term is missing, there are too many moves, a weight is not finite, or
 * there is no memory.
 */
extern bool gr_design_moves(const GrDesign *design, GrMemory memory, GrTermMoves *moves);

/*
 * Converts gram, over a design's centered features, to the terms of plain powers, about 0. The sums lose their good
 * conditioning. Returns false if canceled.
 */
extern bool gr_gram_move(GrGram *gram, const GrTermMoves *moves, GrPoll *poll);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_DESIGN_MOVES_H */
