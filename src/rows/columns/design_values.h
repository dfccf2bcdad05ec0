/*
 * design_values.h: opens a design from its text and reads the values that it makes features of.
 */
#ifndef GPUREG_DESIGN_VALUES_H
#define GPUREG_DESIGN_VALUES_H

#include "postgres.h"

#include "fmgr.h"

#include "compute/design/design.h"
#include "compute/design/design_text.h"
#include "rows/columns/columns.h"
#include "rows/columns/levels.h"

/* Parses a design's text. The design and a copy of the text are in context's memory. NULL if it is no design. */
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

/* gpu_design_row() and gpu_design_number(), which the custom scan recognises by their addresses */
extern PGDLLEXPORT Datum gr_design_row(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum gr_design_number(PG_FUNCTION_ARGS);

/* Room for the values of a design's columns, as gr_design_expand() wants them */
#define GR_DESIGN_NVALUES(design) (2 * (design)->ncolumns)

/* Describes type in *column. False if values of this type, such as arrays, can't be values of the design's column k. */
extern bool gr_describe_design_value(const GrDesign *design, int k, Oid type, GrColumn *column);

/*
 * Stores a value, not NULL, of column k in values. fitting: the value is from the query that the design was made for;
 * an unknown level then means that its rows have changed. ERROR if the column doesn't have the value's level.
 */
extern void gr_take_design_value(const GrDesign *design, int k, const GrColumn *column, Datum value, bool fitting,
								 double *values);

#endif							/* GPUREG_DESIGN_VALUES_H */
