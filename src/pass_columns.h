/*
 * pass_columns.h: a query's columns as arguments of an aggregate's transition function: a response, then features, each by its own
 * SQL type, after VARIADIC "any". For the aggregates that the query forms run over a user's query, in parallel workers.
 */
#ifndef GPUREG_PASS_COLUMNS_H
#define GPUREG_PASS_COLUMNS_H

#include "postgres.h"

#include "fmgr.h"

#include "args.h"

typedef struct GrPassColumns
{
	int			first_argno;	/* the response */
	int			ncolumns;
	int			nfeatures;		/* -1 while the width of an array isn't known */
	GrColumn	columns[FLEXIBLE_ARRAY_MEMBER];
} GrPassColumns;

/*
 * What the arguments from first_argno on are, in the memory of the call's FmgrInfo; arrays have no width yet, columns no name. ERROR if one is
 * neither a number nor a boolean nor an array of them.
 */
extern GrPassColumns *gr_describe_arguments(FunctionCallInfo fcinfo, int first_argno);

/* The texts of the array argument argno if there are n of them and none is NULL, else NULL */
extern const char **gr_text_argument(FunctionCallInfo fcinfo, int argno, int n);

/* Is none of the columns NULL? */
static inline bool
gr_arguments_complete(FunctionCallInfo fcinfo, const GrPassColumns *columns)
{
	for (int k = 0; k < columns->ncolumns; k++)
		if (PG_ARGISNULL(columns->first_argno + k))
			return false;
	return true;
}

/* Converts the columns, none of them NULL, into nfeatures + 1 numbers, features first; false if there is a NULL in an array. */
static inline bool
gr_convert_arguments(FunctionCallInfo fcinfo, const GrPassColumns *columns, double *row)
{
	double	   *at = row;

	for (int k = 1; k < columns->ncolumns; k++)
	{
		if (!gr_convert_value(&columns->columns[k], PG_GETARG_DATUM(columns->first_argno + k), at))
			return false;
		at += columns->columns[k].width;
	}
	return gr_convert_value(&columns->columns[0], PG_GETARG_DATUM(columns->first_argno), at);
}

/* The same as a single row; see compute.h. */
static inline bool
gr_convert_arguments_single(FunctionCallInfo fcinfo, const GrPassColumns *columns, float *row)
{
	float	   *at = row;
	double		response;

	for (int k = 1; k < columns->ncolumns; k++)
	{
		if (!gr_convert_single(&columns->columns[k], PG_GETARG_DATUM(columns->first_argno + k), at))
			return false;
		at += columns->columns[k].width;
	}
	if (!gr_convert_value(&columns->columns[0], PG_GETARG_DATUM(columns->first_argno), &response))
		return false;
	memcpy(at, &response, sizeof(response));
	return true;
}

#endif							/* GPUREG_PASS_COLUMNS_H */
