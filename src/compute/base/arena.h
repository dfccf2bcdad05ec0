/*
 * arena.h: one block of memory, carved into arrays.
 *
 * A module carves all its arrays in one function. Over a base of NULL that function only counts, so the size of the
 * block and the places of the arrays cannot disagree:
 *
 *	 GrArena arena = {.base = NULL};
 *
 *	 carve_arrays(&arena, ...);
 *	 nbytes = arena.used;
 *
 * Arrays that are carved while counting are NULL. A carving function must not write to them.
 */
#ifndef GPUREG_ARENA_H
#define GPUREG_ARENA_H

#include <stddef.h>
#include <stdint.h>

#include "compute/base/dd_dot.h"

/* Every array begins at a multiple of a cache line from the base. */
#define GR_ARENA_ALIGNMENT 64

typedef struct GrArena
{
	char	   *base;			/* aligned as float8; NULL: the arena counts */
	size_t		used;			/* bytes */
} GrArena;

static inline void *
gr_carve(GrArena *arena, size_t nbytes)
{
	void	   *array = arena->base == NULL ? NULL : arena->base + arena->used;

	arena->used += (nbytes + GR_ARENA_ALIGNMENT - 1) / GR_ARENA_ALIGNMENT * GR_ARENA_ALIGNMENT;
	return array;
}

static inline double *
gr_carve_doubles(GrArena *arena, int64_t n)
{
	return (double *) gr_carve(arena, (size_t) n * sizeof(double));
}

static inline int *
gr_carve_ints(GrArena *arena, int64_t n)
{
	return (int *) gr_carve(arena, (size_t) n * sizeof(int));
}

static inline bool *
gr_carve_bools(GrArena *arena, int64_t n)
{
	return (bool *) gr_carve(arena, (size_t) n * sizeof(bool));
}

static inline GrDDVector
gr_carve_dd(GrArena *arena, int64_t n)
{
	GrDDVector	vector;

	vector.hi = gr_carve_doubles(arena, n);
	vector.lo = gr_carve_doubles(arena, n);
	return vector;
}

/*
 * An arena whose arrays begin on cache lines: over memory of gr_arena_lines_nbytes(arena) bytes, where arena has
 * counted them.
 */
static inline GrArena
gr_arena_on_lines(void *memory)
{
	uintptr_t	past = (uintptr_t) memory % GR_ARENA_ALIGNMENT;
	GrArena		arena = {(char *) memory + (past == 0 ? 0 : GR_ARENA_ALIGNMENT - past), 0};

	return arena;
}

static inline size_t
gr_arena_lines_nbytes(const GrArena *arena)
{
	return arena->used + GR_ARENA_ALIGNMENT;
}

#endif							/* GPUREG_ARENA_H */
