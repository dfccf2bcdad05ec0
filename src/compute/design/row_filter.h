/*
 * row_filter.h: reads the filter of kept rows: `x1 > 3 AND (g = 'b' OR NOT x2 <= 1e3) AND x3 IS NOT NULL`.
 * kept_set.c calls it first.
 *
 * The text is a subset of SQL: comparisons of a column with a constant, combined by three-valued logic. It becomes the
 * steps of a filter (derivation.h), which compare float8.
 *
 *	 filter   := both { OR both }
 *	 both     := test { AND test }
 *	 test     := { NOT } atom
 *	 atom     := ( filter ) | TRUE | FALSE | NULL | column | column op constant | constant op column
 *	           | column IS [NOT] NULL | column [NOT] BETWEEN constant AND constant
 *	           | column [NOT] IN ( constant { , constant } )
 *	 op       := = | <> | != | < | <= | > | >=
 *	 constant := [+ | -] number | 'string' | TRUE | FALSE | NULL
 *
 * Names are as in SQL, folded to lower case unless "quoted"; strings are 'quoted', without escapes. Numbers are
 * compared with numbers, booleans with TRUE and FALSE, and factors with strings, for equality only. A boolean column is
 * also a filter by itself.
 *
 * A filter selects the rows that SQL's WHERE selects from the original values; filter_constant.h says how. A comparison
 * that the kept values cannot decide is a fault.
 */
#ifndef GPUREG_ROW_FILTER_H
#define GPUREG_ROW_FILTER_H

#include "compute/design/derive.h"
#include "compute/design/filter_constant.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GR_ROW_FILTER_NBYTES_MAX 65536
#define GR_ROW_FILTER_DEPTH_MAX 24 /* levels of brackets */

typedef struct GrFilterColumns
{
	int			n;
	const GrFilterColumn *column;
	/* Finds the code of a factor's level. Returns false if there is no such level; no row then equals it. */
	bool		(*find_level) (void *arg, int column, const char *bytes, int nbytes, double *code);
	void	   *arg;
} GrFilterColumns;

/* Reasons why a text is not a filter. The caller chooses the SQLSTATE by them. */
typedef enum GrFilterFault
{
	GR_FILTER_OK,
	GR_FILTER_SYNTAX,
	GR_FILTER_UNKNOWN,			/* no column has that name */
	GR_FILTER_AMBIGUOUS,		/* several columns have that name */
	GR_FILTER_MISMATCH,			/* the column cannot be compared with the constant, or in this way */
	GR_FILTER_RANGE,			/* a number outside float8's range */
	GR_FILTER_ROUNDED,			/* the column's values were rounded, and do not determine the comparison */
	GR_FILTER_LIMIT				/* too long, too deep or too many steps */
} GrFilterFault;

/*
 * Compiles the text of a filter (nbytes, not terminated) to *nsteps steps; steps has room for GR_FILTER_STEPS_MAX. On
 * failure returns false and sets *fault and err: GR_INVALID, in where the number of bytes before the text at fault, in
 * detail the message in the server's style.
 */
extern bool gr_row_filter_read(const char *text, size_t nbytes, const GrFilterColumns *columns, GrFilterStep *steps,
							   int *nsteps, GrFilterFault *fault, GrError *err);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_ROW_FILTER_H */
