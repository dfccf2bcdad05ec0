/*
 * term_moves.h: a linear map from the terms that are solved for to the reported terms, such as from powers of x - c to
 * powers of x. A design makes the moves; ols.c and finish.c apply them.
 */
#ifndef GPUREG_TERM_MOVES_H
#define GPUREG_TERM_MOVES_H

#include <stdint.h>

/* b_to += weight b_from, where b are coefficients of terms and to < from. Moves are in ascending order of from. */
typedef struct GrTermMove
{
	int			to;
	int			from;
	double		hi;				/* the weight, hi + lo in double-double */
	double		lo;
} GrTermMove;

/*
 * The moves of a model, applied in order in double-double. The system that is solved is as well conditioned as the
 * terms that are solved for.
 */
typedef struct GrTermMoves
{
	int64_t		n;
	const GrTermMove *move;
} GrTermMoves;

#endif							/* GPUREG_TERM_MOVES_H */
