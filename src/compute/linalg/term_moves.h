/*
 * term_moves.h: moves of estimates from the terms that are solved for to those that are wanted.
 */
#ifndef GPUREG_TERM_MOVES_H
#define GPUREG_TERM_MOVES_H

#include <stdint.h>

/* b_to += weight b_from, of terms; to < from, and those of later terms come later */
typedef struct GrTermMove
{
	int			to;
	int			from;
	double		hi;				/* the weight, in double-double */
	double		lo;
} GrTermMove;

/*
 * What brings the terms that are solved for to those that are wanted, such as powers of x - c to powers of x. The
 * system is as well conditioned as the former, and the moves are made in double-double.
 */
typedef struct GrTermMoves
{
	int64_t		n;
	const GrTermMove *move;
} GrTermMoves;

#endif							/* GPUREG_TERM_MOVES_H */
