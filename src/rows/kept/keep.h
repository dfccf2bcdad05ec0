/*
 * keep.h: a query's rows -> rows that a device service keeps: what the columns are, how a value becomes a number, and
 * what the values were that one process has met.
 *
 * A level of a factor gets the key of its text (boot_draw.h) as the number that stands for it, so that processes which
 * read parts of the rows need not agree on anything. Two levels of one key can't be kept.
 */
#ifndef GPUREG_KEEP_H
#define GPUREG_KEEP_H

#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "lib/stringinfo.h"

#include "compute/design/design.h"
#include "compute/resample/boot_draw.h"
#include "rows/columns/columns.h"
#include "rows/kept/kept_set.h"
#include "run/raise.h"

/*
 * Reads a query, whose text is given, with the caller's rights, and keeps its rows by that name; how many they are.
 * fcinfo: of gpu_keep()
 */
extern int64 gr_keep_query(FunctionCallInfo fcinfo, const char *name, const char *query, bool replace);

/* The arguments of gpu_keep_pass before the columns */
#define GR_KEEP_NPARAMS 2

/* Limit of the levels of all columns of a set in its description, which each fit reads */
#define GR_KEEP_LEVELS_MB 32

typedef struct GrKeepColumn
{
	GrKeptKind	kind;
	Oid			type;			/* no domain */
	GrColumn	column;			/* of numbers and booleans */
	bool		nulls;			/* there were some */
	int			digits;			/* of bigint and numeric: how exactly the numbers tell the values; see GrFilterColumn */
	bool		keys;			/* all numbers were integers that can be keys of a bootstrap */
	double		low;			/* of the numbers; without any, above high */
	double		high;
	GrLevels	levels;			/* a factor's, in the order in which they came */
	double	   *codes;			/* what stands for them */
} GrKeepColumn;

typedef struct GrKeepColumns
{
	MemoryContext context;		/* owns the levels */
	const char *const *names;
	Size		levels_nbytes;	/* bytes of the levels of all columns in a description */
	int			n;
	GrKeepColumn column[FLEXIBLE_ARRAY_MEMBER];
} GrKeepColumns;

/* Columns of these types, nothing of whose values is known yet. ERROR unless they can be kept. names: must stay */
extern GrKeepColumns *gr_keep_columns(MemoryContext context, int n, const Oid *types, const char *const *names);

/* The number that stands for a text's level; ERROR if there are too many, it is too long, or all take too much. */
extern double gr_keep_level(GrKeepColumns *columns, int k, Datum value);

/* The float8 of a numeric; notes in column->digits what rounding loses. */
extern double gr_keep_numeric(GrKeepColumn *column, Datum value);

/*
 * What processes have met goes, one message behind the other, to another, which adds it to what it has met; ERROR if it
 * is of other columns
 */
extern void gr_keep_send(const GrKeepColumns *columns, StringInfo to);
extern void gr_keep_merge(GrKeepColumns *columns, StringInfo from);

/* As rows have it that are kept: a level's number, or NaN for NULL; ERROR if it is not finite. May allocate */
static inline double
gr_keep_value(GrKeepColumns *columns, int k, Datum value, bool isnull)
{
	GrKeepColumn *column = &columns->column[k];
	double		number;

	if (isnull)
	{
		column->nulls = true;
		return NAN;
	}
	if (column->kind == GR_KEPT_FACTOR)
		return gr_keep_level(columns, k, value);
	if (column->type == NUMERICOID)
		number = gr_keep_numeric(column, value);
	else if (column->type == INT8OID)
		number = (double) DatumGetInt64(value);
	else
		(void) gr_convert_value(&column->column, value, &number);
	if (column->type == INT8OID && (DatumGetInt64(value) > GR_BOOT_KEY_MAX || DatumGetInt64(value) < -GR_BOOT_KEY_MAX))
		column->digits = 0;
	if (unlikely(!isfinite(number)))
		gr_raise_columns(&(GrError) {.status = GR_NOT_FINITE,.where = k}, columns->n - 1, columns->names);
	column->low = Min(column->low, number);
	column->high = Max(column->high, number);
	column->keys = column->keys && number == rint(number) && fabs(number) <= (double) GR_BOOT_KEY_MAX;
	return number;
}

#endif							/* GPUREG_KEEP_H */
