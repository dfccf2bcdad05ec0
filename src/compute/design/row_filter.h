/*
 * row_filter.h: which kept rows take part, as a text: `x1 > 3 AND (g = 'b' OR NOT x2 <= 1e3) AND x3 IS NOT NULL`.
 *
 * The text is SQL's, as far as it goes: comparisons of a column with a constant, put together by three-valued logic. It
 * is read into the steps of a filter (derive.h), whose comparisons are those of float8.
 *
 *	 filter := both { OR both }		both := test { AND test }		test := { NOT } atom
 *	 atom := ( filter ) | TRUE | FALSE | NULL | column | column op constant | constant op column | column IS [NOT] NULL
 *			 | column [NOT] BETWEEN constant AND constant | column [NOT] IN ( constant { , constant } )
 *	 op := = | <> | != | < | <= | > | >=			constant := [+ | -] number | 'string' | TRUE | FALSE | NULL
 *
 * Names are as in SQL, folded to lower case unless they are "quoted"; strings are 'quoted', without escapes. Numbers
 * are compared with numbers, factors with strings, of which levels alone are ever equal and none is less than another,
 * and booleans with TRUE and FALSE; a boolean column by itself is a filter, too.
 *
 * A filter that is read takes the rows that SQL's WHERE takes of the values that were kept; filter_constant.h says how.
 * What cannot be decided is a fault.
 */
#ifndef GPUREG_ROW_FILTER_H
#define GPUREG_ROW_FILTER_H

#include "compute/design/derive.h"
#include "compute/design/filter_constant.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GR_ROW_FILTER_NBYTES_MAX 65536
#define GR_ROW_FILTER_DEPTH_MAX 24 /* of brackets */

typedef struct GrFilterColumns
{
	int			n;
	const GrFilterColumn *column;
	/* The number that stands for a level of a column, a factor; false if it has no such level, and then no row does. */
	bool		(*find_level) (void *arg, int column, const char *bytes, int nbytes, double *code);
	void	   *arg;
} GrFilterColumns;

/* Why a text isn't a filter: what an error's class follows from */
typedef enum GrFilterFault
{
	GR_FILTER_OK,
	GR_FILTER_SYNTAX,
	GR_FILTER_UNKNOWN,			/* no column has that name */
	GR_FILTER_AMBIGUOUS,		/* several have */
	GR_FILTER_MISMATCH,			/* the column can't be compared with that, or so */
	GR_FILTER_RANGE,			/* a number that float8 hasn't */
	GR_FILTER_ROUNDED,			/* the column has rounded values, which don't tell how they compare with the constant */
	GR_FILTER_LIMIT				/* too long, too deep or too many steps */
} GrFilterFault;

/*
 * Reads a filter; text: of nbytes, without a 0; steps: room for GR_FILTER_STEPS_MAX. False with *fault and GR_INVALID;
 * where: how many bytes are before what it is about; detail: what is wrong, as the server words its messages.
 */
extern bool gr_row_filter_read(const char *text, size_t nbytes, const GrFilterColumns *columns, GrFilterStep *steps,
							   int *nsteps, GrFilterFault *fault, GrError *err);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_ROW_FILTER_H */
