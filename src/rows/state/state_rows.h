/*
 * state_rows.h: parts of the aggregates' transition functions, for taker.c, which adds rows a block at a time.
 *
 * A taker does not call transition functions. It has a FunctionCallInfo like theirs with the arguments that are the
 * same for every row, and calls the functions below for the same checks, messages and states.
 */
#ifndef GPUREG_STATE_ROWS_H
#define GPUREG_STATE_ROWS_H

#include "postgres.h"

#include "fmgr.h"

#include "rows/columns/columns.h"
#include "rows/state/state.h"

extern Datum gr_ols_stats_accum(PG_FUNCTION_ARGS);
extern Datum gr_wls_stats_accum(PG_FUNCTION_ARGS);
extern Datum gr_logreg_step_accum(PG_FUNCTION_ARGS);
extern Datum gr_glm_step_accum(PG_FUNCTION_ARGS);
extern Datum gr_ols_pass_accum(PG_FUNCTION_ARGS);

/* Constant arguments before those of a row, in a function that takes x as an array */
typedef enum GrArraysForm
{
	GR_ARRAYS_PLAIN,			/* nothing */
	GR_ARRAYS_AT_BETA,			/* beta */
	GR_ARRAYS_OF_FAMILY			/* family, link and beta */
} GrArraysForm;

/* Raises the errors about constants that such functions raise for any row, even one with a NULL. */
extern void gr_check_array_constants(FunctionCallInfo fcinfo, GrArraysForm form);

/* Creates such a function's state at the first complete row, of p features, without room for pending rows. */
extern GrState *gr_arrays_state(FunctionCallInfo fcinfo, GrStateType type, GrArraysForm form, bool weight, int p);

/*
 * Describes the columns of a pass over a query, and keeps them in fn_extra. The FmgrInfo's expression has the types of
 * the arguments. ERROR unless the request, names and widths fit the columns
 */
extern GrColumns *gr_pass_columns(FunctionCallInfo fcinfo, GrStateType type);

/*
 * Creates the state of a pass over rows with p features. p is -1 while the columns' widths aren't known; a
 * gpu_logreg_step then has the request's features. ERROR unless the request is for p features. before: a state that has
 * only left rows out, or NULL
 */
extern GrState *gr_pass_state(FunctionCallInfo fcinfo, GrStateType type, int p, const GrState *before);

/* Index of the argument with the names of a pass's columns */
#define GR_PASS_NAMES 2

#endif							/* GPUREG_STATE_ROWS_H */
