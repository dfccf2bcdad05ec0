/*
 * args.h: SQL values -> rows of float8, and the policy on NULLs, in one place.
 *
 * A row with a NULL anywhere is left out and counted. NaN and infinity are errors that name the column; they are looked for
 * in whole blocks, just before a block goes to the backend.
 */
#ifndef GPUREG_ARGS_H
#define GPUREG_ARGS_H

#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/array.h"
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

/* In the loops over what a caller gave, however little each turn takes: k counts them. */
static inline void
gr_poll_loop(int64 k)
{
	if ((k & 0xffff) == 0xffff)
		CHECK_FOR_INTERRUPTS();
}

/* ERROR unless 1 <= p <= GR_MAX_FEATURES. */
extern void gr_check_nfeatures(int64 p);

/* *count += more; ERROR on overflow, which only made-up states can bring about. */
extern void gr_add_count(int64 *count, int64 more);

/* ERROR unless a row's number of features is that of the rows before it. */
extern void gr_raise_other_width(int expected, int p) __attribute__((noreturn));

static inline void
gr_check_same_width(int expected, int p)
{
	if (unlikely(p != expected))
		gr_raise_other_width(expected, p);
}

/*
 * Argument argno as a state that may be changed in place: the aggregate's own, with *own set, or else a copy; NULL for NULL. A
 * copy comes from outside the aggregate, so its version is the caller's to check.
 */
static inline void *
gr_aggregate_state(FunctionCallInfo fcinfo, int argno, bool *own)
{
	Pointer		p;

	*own = false;
	if (PG_ARGISNULL(argno))
		return NULL;
	p = PG_GETARG_POINTER(argno);
	*own = AggCheckCallContext(fcinfo, NULL) && VARATT_IS_4B_U(p) && (uintptr_t) p % MAXIMUM_ALIGNOF == 0;
	return *own ? p : (void *) PG_DETOAST_DATUM_COPY(PG_GETARG_DATUM(argno));
}

/* ERROR unless the array has one dimension (or none, when it is empty). */
extern void gr_check_vector(ArrayType *array, const char *name);

/* A value of a row that comes by its SQL type: a number, a boolean, or an array of them; domains are looked through. */
typedef struct GrColumn
{
	const char *name;			/* for messages; NULL: x and its number */
	Oid			type;
	Oid			element;		/* of an array's elements, or InvalidOid */
	int			width;			/* numbers it gives; -1: an array none of which was seen yet */
} GrColumn;

/* Is it one of the types of numbers, or boolean? */
extern bool gr_is_number_type(Oid type);

/* False if the type can't be used: no number, no boolean and no array of them; or an array where that isn't allowed. */
extern bool gr_describe_column(GrColumn *column, Oid type, bool allow_array);

/*
 * The names of the numbers that columns give, features first and the response, which is the first column, last: a column's own, and
 * name[i] for the elements of an array. given: the columns' names; names: room for as many as there are.
 */
extern void gr_name_terms(const GrColumn *columns, int ncolumns, const char *const *given, const char **names);

/* How many numbers an array value of the column has. */
extern int	gr_array_width(Datum value);

/*
 * A value that isn't NULL as column->width numbers at *into; false if it is an array with a NULL among its elements. ERROR
 * if an array's length isn't column->width. May allocate in the current context.
 */
extern bool gr_convert_other(const GrColumn *column, Datum value, double *into);

static inline bool
gr_convert_value(const GrColumn *column, Datum value, double *into)
{
	if (column->type != FLOAT8OID)
		return gr_convert_other(column, value, into);
	*into = DatumGetFloat8(value);
	return true;
}

/* Do all its values fit float4 as they are? */
extern bool gr_column_is_single(const GrColumn *column);

/* The same of such a column, as float4; it must be one of the features. */
extern bool gr_convert_single(const GrColumn *column, Datum value, float *into);

/* A float8[] whose NULLs are read as they come. */
typedef struct GrFloatArray
{
	const double *values;		/* those that are not NULL, in order */
	const bits8 *nulls;			/* NULL if there is none */
	int			nitems;			/* NULLs included */
	int			ndim;
	int			nrows;			/* first dimension; 0 if empty */
	int			ncols;			/* second dimension, or 1 */
} GrFloatArray;

/* Opens a one- or two-dimensional float8[]; ERROR if it has more dimensions. */
extern void gr_open_float_array(ArrayType *array, const char *name, GrFloatArray *result);

/*
 * The next row of x and of y, as ncols features and the response; false if a NULL is among them. *x_at and *y_at
 * point to the next value that isn't NULL and are moved on.
 */
extern bool gr_next_array_row(const GrFloatArray *x, const GrFloatArray *y, int64 row, const double **x_at,
							  const double **y_at, double *into);

/* ERROR unless y has one dimension and as many elements as x has rows. */
extern void gr_check_shapes(const GrFloatArray *x, const GrFloatArray *y);

#endif							/* GPUREG_ARGS_H */
