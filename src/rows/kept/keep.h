/*
 * keep.h: turns a query's rows into rows that a device service keeps: describes the columns, converts values to
 * numbers, and collects what a process has learnt of the columns' values.
 *
 * The number that stands for a factor's level is the key of its text (boot_draw.h), so that processes which read parts
 * of the rows need not agree on numbers. Rows with two levels of the same key can't be kept.
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
 * Runs a query with the caller's rights and keeps its rows under a name. Returns the number of rows. fcinfo: the call
 * of gpu_keep().
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
	GrColumn	column;			/* description of numbers and booleans */
	bool		nulls;			/* there were NULLs */
	int			digits;			/* bigint and numeric: precision of the numbers; see GrFilterColumn */
	bool		keys;			/* all numbers were integers that can be keys of a bootstrap */
	double		low;			/* least number; above high if there was no number */
	double		high;
	GrLevels	levels;			/* levels of a factor, in the order in which they were found */
	double	   *codes;			/* numbers that stand for the levels */
} GrKeepColumn;

typedef struct GrKeepColumns
{
	MemoryContext context;		/* owns the levels */
	const char *const *names;
	Size		levels_nbytes;	/* bytes of the levels of all columns in a description */
	int			n;
	GrKeepColumn column[FLEXIBLE_ARRAY_MEMBER];
} GrKeepColumns;

/* Describes columns of these types, without values yet. ERROR if a type can't be kept. names must stay allocated. */
extern GrKeepColumns *gr_keep_columns(MemoryContext context, int n, const Oid *types, const char *const *names);

/* Returns the number that stands for a value's level. ERROR if their number, length or memory exceeds a limit. */
extern double gr_keep_level(GrKeepColumns *columns, int k, Datum value);

/* Converts a numeric to float8, and notes the precision in column->digits. */
extern double gr_keep_numeric(GrKeepColumn *column, Datum value);

/*
 * gr_keep_send() appends a message with all that a process has learnt of the columns' values. gr_keep_merge() adds all
 * messages in from to columns; ERROR if a message has other columns.
 */
extern void gr_keep_send(const GrKeepColumns *columns, StringInfo to);
extern void gr_keep_merge(GrKeepColumns *columns, StringInfo from);

/* Converts a value as rows are kept: a number, a level's number, or NaN for NULL. ERROR if not finite. May allocate. */
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
