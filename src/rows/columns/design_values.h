/*
 * design_values.h: a design, and the values that it makes features of.
 */
#ifndef GPUREG_DESIGN_VALUES_H
#define GPUREG_DESIGN_VALUES_H

#include "postgres.h"

#include "compute/design/design.h"
#include "rows/columns/columns.h"
#include "rows/columns/levels.h"

/* Returns the design that a text is, in the context's memory, with a copy of the text; NULL if it is none. */
static inline GrDesign *
gr_open_design(MemoryContext context, const char *text, Size nbytes)
{
	char	   *copy = MemoryContextAllocExtended(context, nbytes + 1, MCXT_ALLOC_HUGE);

	memcpy(copy, text, nbytes);
	return gr_design_read(copy, nbytes, gr_context_memory(context));
}

/* Return the name of a design's column, and of a feature, in the current memory context. */
static inline const char *
gr_design_column_name(const GrDesign *design, int k)
{
	return pnstrdup(design->columns[k].name.bytes, design->columns[k].name.nbytes);
}

extern const char *gr_design_feature_name(const GrDesign *design, int k);

/* Room for the values of a design's columns, as gr_design_expand() wants them */
#define GR_DESIGN_NVALUES(design) (2 * (design)->ncolumns)

/* What type values of column k of the design have; false if they can't be its. No arrays */
extern bool gr_describe_design_value(const GrDesign *design, int k, Oid type, GrColumn *column);

/*
 * Takes a value, not NULL, of column k. fitting: it is of the query that the design was made for, which then has other
 * rows than before if it has another level. ERROR if the level isn't one of the column's.
 */
extern void gr_take_design_value(const GrDesign *design, int k, const GrColumn *column, Datum value, bool fitting,
								 double *values);

#endif							/* GPUREG_DESIGN_VALUES_H */
