/*
 * arena.h: carves one block of memory into arrays, for workspaces whose sizes depend on a model's terms.
 *
 * A module carves all its arrays in one function. The function runs twice: over a base of NULL it only counts bytes,
 * over the allocated block it sets the pointers. Size and addresses therefore cannot disagree:
 *
 *	 GrArena arena = {.base = NULL};
 *
 *	 carve_arrays(&arena, ...);
 *	 nbytes = arena.used;
 *
 * Arrays carved while counting are NULL; a carving function must not write to them. The block stays the caller's. First
 * callers: the linear models' workspaces (gram.h, normal.h) and those of a GLM fit (glm.c).
 */
#ifndef GPUREG_ARENA_H
#define GPUREG_ARENA_H

#include <stddef.h>
#include <stdint.h>

#include "compute/base/dd_dot.h"

/* Every array begins at a multiple of this (a cache line) from the base. */
#define GR_ARENA_ALIGNMENT 64

typedef struct GrArena
{
	char	   *base;			/* start of the block, aligned as float8; NULL: count only */
	size_t		used;			/* bytes carved so far, including padding */
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
 * Returns an arena that begins at the first cache line in memory. Allocate gr_arena_lines_nbytes(arena) bytes, where
 * arena is the one that counted.
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
