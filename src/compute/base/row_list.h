/*
 * row_list.h: rows in memory as a list of chunks, for callers that do not know the number of rows in advance (the CPU
 * backend, spools, sources of rows). The caller allocates and frees the chunks and chooses their capacity.
 */
#ifndef GPUREG_ROW_LIST_H
#define GPUREG_ROW_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct GrRowChunk
{
	struct GrRowChunk *next;
	int64_t		nrows;
	int64_t		capacity;		/* rows that fit */
	double		rows[];
} GrRowChunk;

typedef struct GrRowList
{
	GrRowChunk *first;
	GrRowChunk *last;			/* receives the next row; chunks after it are empty */
} GrRowList;

/* Returns the bytes of a chunk for capacity rows. */
static inline size_t
gr_row_chunk_nbytes(size_t capacity, size_t row_nbytes)
{
	return offsetof(GrRowChunk, rows) + capacity * row_nbytes;
}

/* True if the list's last chunk has no room for another row. */
static inline bool
gr_row_list_is_full(const GrRowList *list)
{
	return list->last == NULL || list->last->nrows == list->last->capacity;
}

/* Appends memory, of gr_row_chunk_nbytes() bytes, to the list as an empty chunk that receives the next row. */
static inline void
gr_row_list_append(GrRowList *list, void *memory, int64_t capacity)
{
	GrRowChunk *chunk = (GrRowChunk *) memory;

	chunk->next = NULL;
	chunk->nrows = 0;
	chunk->capacity = capacity;
	if (list->last == NULL)
		list->first = chunk;
	else
		list->last->next = chunk;
	list->last = chunk;
}

/* Returns the address of the next row, which has ncols numbers. The list must not be full. */
static inline double *
gr_row_list_next(const GrRowList *list, size_t ncols)
{
	return list->last->rows + (size_t) list->last->nrows * ncols;
}

#endif							/* GPUREG_ROW_LIST_H */
