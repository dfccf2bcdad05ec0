/*
 * scan_values.h: from a table's tuple to a row of numbers, and whether it is wanted at all, as far as that can be told
 * without the executor's expressions.
 */
#ifndef GPUREG_SCAN_VALUES_H
#define GPUREG_SCAN_VALUES_H

#include "postgres.h"

#include "nodes/pg_list.h"
#include "nodes/primnodes.h"

/*
 * An expression without the casts to float8 that reading its value as a number does all the same. *type: of what is
 * left, domains looked through
 */
extern Expr *gr_without_cast(Expr *expr, Oid *type);

/* A number as it stands in a tuple */
typedef enum GrNumberKind
{
	GR_FLOAT8,
	GR_FLOAT4,
	GR_INT8,
	GR_INT8_EXACT,				/* one that float8 must not round; who reads it checks that */
	GR_INT4,
	GR_INT2,
	GR_BOOL
} GrNumberKind;

/* Is it a column of fixed width that is read as a number? table: its columns; *kind: how */
extern bool gr_is_number_column(const Expr *expr, TupleDesc table, GrNumberKind *kind);

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
		default:
			return *(const bool *) at ? 1 : 0;
	}
}

/* column OP constant, both numbers or both dates */
typedef struct GrComparison
{
	AttrNumber	attribute;
	int			wanted;			/* the attribute's number among those wanted; whoever makes the list sets it */
	GrNumberKind kind;
	bool		integers;		/* on both sides */
	bool		below;			/* what it takes: less, equal, greater */
	bool		equal;
	bool		above;
	bool		nothing;		/* the constant is NULL */
	Expr	   *constant;		/* a Const, or a parameter of the statement's */
	Oid			constant_type;
	int64		integer;		/* its value */
	double		number;
} GrComparison;

/* The clause as a comparison; false if it is none that can be decided here. */
extern bool gr_is_comparison(const Expr *clause, TupleDesc table, GrComparison *comparison);

/* Sets the constant's value, of its type. */
extern void gr_set_constant(GrComparison *comparison, Datum value, bool isnull);

/* A comparison where one side is NaN: as PostgreSQL has it, above all other numbers, and equal to a NaN */
extern bool gr_passes_nan(const GrComparison *comparison, double value);

/* Does a value pass? Without a branch but for NaN: which rows pass nobody can foretell. */
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

static inline bool
gr_passes(const GrComparison *comparison, const char *at)
{
	int64		value;

	if (!comparison->integers)
		return gr_passes_float(comparison, gr_read_number(comparison->kind, at));
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
