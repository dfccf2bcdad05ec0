/*
 * scan_values.h: reads numbers from a table's tuple and compares columns with constants, both without the executor's
 * expressions.
 */
#ifndef GPUREG_SCAN_VALUES_H
#define GPUREG_SCAN_VALUES_H

#include "postgres.h"

#include "access/tupdesc.h"
#include "nodes/pg_list.h"
#include "nodes/primnodes.h"

#include "rows/columns/numeric.h"

/*
 * Returns expr without the casts to float8, which gr_convert_value() does itself. *type: base type of the returned
 * expression
 */
extern Expr *gr_without_cast(Expr *expr, Oid *type);

/* Type of a number in a tuple */
typedef enum GrNumberKind
{
	GR_FLOAT8,
	GR_FLOAT4,
	GR_INT8,
	GR_INT8_EXACT,				/* a bigint that float8 must not round; the reader of the number checks that */
	GR_INT4,
	GR_INT2,
	GR_BOOL,
	GR_NUMERIC					/* a varlena; see gr_heap_varlena() */
} GrNumberKind;

/* How values of a column are compared with a constant */
typedef enum GrComparedBy
{
	GR_BY_FLOAT,				/* as float8 */
	GR_BY_INTEGER,				/* as integers, dates or timestamps */
	GR_BY_WINDOW,				/* as dates and timestamps that a time zone or a unit sets apart */
	GR_BY_NUMERIC				/* as numerics */
} GrComparedBy;

/* True if expr is a column of table with one of GrNumberKind's types, in *kind (GR_INT8 for any bigint). */
extern bool gr_is_number_column(const Expr *expr, TupleDesc table, GrNumberKind *kind);

/*
 * If expr is CASE WHEN column IS NOT NULL [AND ...] THEN value END, returns value, and sets guards to the attributes of
 * the *n columns, at most most; their values have a fixed width or are aligned to int. Else returns expr, and *n is 0.
 */
extern const Expr *gr_without_guards(const Expr *expr, TupleDesc table, int most, AttrNumber *guards, int *n);

/* Returns the numeric at address at, or behind the padding there, as gr_numeric_number() does. */
extern double gr_read_numeric(const char *at);

/* Returns the number at address at as a float8. */
static inline double
gr_read_number(GrNumberKind kind, const char *at)
{
	switch (kind)
	{
		case GR_FLOAT8:
			return *(const float8 *) at;
		case GR_FLOAT4:
			return *(const float4 *) at;
		case GR_INT8:
		case GR_INT8_EXACT:
			return (double) *(const int64 *) at;
		case GR_INT4:
			return *(const int32 *) at;
		case GR_INT2:
			return *(const int16 *) at;
		case GR_NUMERIC:
			return gr_read_numeric(at);
		default:
			return *(const bool *) at ? 1 : 0;
	}
}

/* Returns the value of nbytes bytes, of a type passed by value, at address at. */
static inline Datum
gr_read_by_value(int16 nbytes, const char *at)
{
	switch (nbytes)
	{
		case 8:
			return Int64GetDatum(*(const int64 *) at);
		case 4:
			return Int32GetDatum(*(const int32 *) at);
		case 2:
			return Int16GetDatum(*(const int16 *) at);
		default:
			return CharGetDatum(*at);
	}
}

/* A comparison of a column with a constant: both numbers, or both dates or timestamps */
typedef struct GrComparison
{
	AttrNumber	attribute;
	int			wanted;			/* the attribute's index in GrHeapColumns.wanted; set by want_columns() */
	GrNumberKind kind;
	GrComparedBy by;
	bool		below;			/* passes values less than the constant */
	bool		equal;			/* passes values equal to the constant */
	bool		above;			/* passes values greater than the constant */
	bool		nothing;		/* the constant is NULL: no value passes */
	Expr	   *constant;		/* an expression without columns, the same for all rows */
	Oid			constant_type;	/* base type of the constant */
	Oid			column_type;	/* base type of the column */
	int64		integer;		/* GR_BY_INTEGER: value of the constant */
	double		number;			/* GR_BY_FLOAT: value of the constant */
	/* with GR_BY_WINDOW or GR_BY_NUMERIC: the operator's function decides what the members below cannot */
	FmgrInfo   *function;
	bool		commuted;		/* the constant is the function's first argument */
	Datum		value;			/* value of the constant */
	int64		low;			/* GR_BY_WINDOW: values below are less than the constant */
	int64		high;			/* GR_BY_WINDOW: values above are greater than the constant */
	bool		has_parts;		/* GR_BY_NUMERIC: parts is set */
	GrNumericParts parts;
} GrComparison;

/*
 * Fills *comparison from clause. Returns false if clause is not a comparison that this code can decide. leakproof: only
 * leakproof functions may see values, as policies apply later
 */
extern bool gr_is_comparison(const Expr *clause, TupleDesc table, bool leakproof, GrComparison *comparison);

/* Sets the constant's value, a Datum of type constant_type, which is copied into the current memory context. */
extern void gr_set_constant(GrComparison *comparison, Datum value, bool isnull);

/* True if the value at address at passes, with GR_BY_WINDOW or GR_BY_NUMERIC. May allocate in the current context. */
extern bool gr_passes_function(const GrComparison *comparison, const char *at);

/* True if value passes a comparison in which either side is NaN. PostgreSQL orders NaN above all other numbers. */
extern bool gr_passes_nan(const GrComparison *comparison, double value);

/* True if value passes. Branches only for NaN, because which rows pass cannot be predicted. */
static inline bool
gr_passes_float(const GrComparison *comparison, double value)
{
	bool		below = value < comparison->number;
	bool		above = value > comparison->number;
	bool		equal = value == comparison->number;

	if (unlikely(!(below | above | equal)))
		return gr_passes_nan(comparison, value);
	return (below & comparison->below) | (above & comparison->above) | (equal & comparison->equal);
}

/* True if the number at address at passes. */
static inline bool
gr_passes(const GrComparison *comparison, const char *at)
{
	int64		value;

	if (comparison->by == GR_BY_FLOAT)
		return gr_passes_float(comparison, gr_read_number(comparison->kind, at));
	if (unlikely(comparison->by != GR_BY_INTEGER))
		return gr_passes_function(comparison, at);
	switch (comparison->kind)
	{
		case GR_INT8:
			value = *(const int64 *) at;
			break;
		case GR_INT4:
			value = *(const int32 *) at;
			break;
		default:
			value = *(const int16 *) at;
			break;
	}
	return ((value < comparison->integer) & comparison->below) | ((value > comparison->integer) & comparison->above) |
		((value == comparison->integer) & comparison->equal);
}

#endif							/* GPUREG_SCAN_VALUES_H */
