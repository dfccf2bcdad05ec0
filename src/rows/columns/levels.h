/*
 * levels.h: the levels of factors: the level of a value, and the levels of a query's columns.
 *
 * A level is a string. The level of a text is the text; of a char(n), the text without the blanks at its end; of an
 * enum, its label; of a number of any type, its shortest decimal form, so that 2, 2.0 and 2.00 are one level.
 */
#ifndef GPUREG_LEVELS_H
#define GPUREG_LEVELS_H

#include "postgres.h"

#include "access/tupdesc.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "utils/lsyscache.h"

#include "compute/design/design.h"
#include "rows/columns/columns.h"
#include "run/compat.h"

/* True if a column of this type, which is no domain, is a factor by itself, or may be made one. */
static inline bool
gr_is_category_type(Oid type)
{
	return type == TEXTOID || type == VARCHAROID || type == BPCHAROID || type == NAMEOID || type_is_enum(type);
}

static inline bool
gr_is_level_type(Oid type)
{
	return gr_is_number_type(type) || gr_is_category_type(type);
}

/* Returns the level of a value of a type that is no text. */
extern GrString gr_level_of_value(Oid type, Datum value);

/* Returns the level of a value: a part of the value, or allocated in the current memory context. */
static inline GrString
gr_level_of(Oid type, Datum value)
{
	GrString	level;
	text	   *bytes;

	if (type != TEXTOID && type != VARCHAROID && type != BPCHAROID)
		return gr_level_of_value(type, value);
	bytes = DatumGetTextPP(value);
	level = (GrString) {VARDATA_ANY(bytes), (int) VARSIZE_ANY_EXHDR(bytes)};
	while (type == BPCHAROID && level.nbytes > 0 && level.bytes[level.nbytes - 1] == ' ')
		level.nbytes--;
	return level;
}

/* Adds levels, which are texts, in the order of a column's type and its collation. */
extern void gr_sort_levels(GrLevels *levels, const Datum *items, int n, Form_pg_attribute attribute);

/* Allocates nbytes in arg, a memory context; NULL if there is no memory. */
static inline void *
gr_context_take(void *arg, size_t nbytes)
{
	return MemoryContextAllocExtended((MemoryContext) arg, nbytes, MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM);
}

/* Returns the memory of a context, for the compute layer. */
static inline GrMemory
gr_context_memory(MemoryContext context)
{
	return (GrMemory) {gr_context_take, context};
}

/* Levels of a column in the order in which they were found */
typedef struct GrFoundColumn
{
	const char *name;			/* for messages */
	GrLevels	levels;
} GrFoundColumn;

/* Levels of several columns */
typedef struct GrFoundLevels
{
	MemoryContext context;		/* owns the levels */
	int			n;
	int			nlevels;		/* total of all columns */
	GrFoundColumn column[FLEXIBLE_ARRAY_MEMBER];
} GrFoundLevels;

/* Returns n columns without levels, in the current memory context, which must outlive them. */
extern GrFoundLevels *gr_levels_begin(int n, const char *const *names);

/*
 * Adds the level of a value, which isn't NULL, to column k unless it is there already. type: the value's base type.
 * ERROR if the columns have more levels than a model can have terms, or the level is too long.
 */
extern void gr_levels_take(GrFoundLevels *found, int k, Oid type, Datum value);

/* Returns a level for messages, cut off if it is long. */
extern const char *gr_show_level(GrString level);

#endif							/* GPUREG_LEVELS_H */
