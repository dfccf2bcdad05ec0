/*
 * state_rows.h: the transition functions of the aggregates, for a scan that does their work a block of rows at a time.
 *
 * It calls none of them, but has the arguments that are the same for every row in a FunctionCallInfo as theirs is, and
 * asks here for what a function makes of those: the same checks, messages and states.
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

/* What precedes the rows' own arguments in a function that takes x as an array */
typedef enum GrArraysForm
{
	GR_ARRAYS_PLAIN,			/* nothing */
	GR_ARRAYS_AT_BETA,			/* beta */
	GR_ARRAYS_OF_FAMILY			/* family, link and beta */
} GrArraysForm;

/* ERROR for what such functions raise for any row, even one with a NULL */
extern void gr_check_array_constants(FunctionCallInfo fcinfo, GrArraysForm form);

/* Their state at the first complete row, of p features, without room for pending rows */
extern GrState *gr_arrays_state(FunctionCallInfo fcinfo, GrStateType type, GrArraysForm form, bool weight, int p);

/*
 * The columns of a pass over a query: described at the first call, and kept in fn_extra for the others. The arguments
 * are typed by the FmgrInfo's expression. ERROR unless the request, names and widths are for such.
 */
extern GrColumns *gr_pass_columns(FunctionCallInfo fcinfo, GrStateType type);

/*
 * The state of a pass to begin with: empty while the columns' widths aren't known. ERROR unless what is requested is
 * for so many features; of a binomial pass, p may be -1, and as many are meant as the request is for. before: a state
 * that has only left rows out, or NULL
 */
extern GrState *gr_pass_state(FunctionCallInfo fcinfo, GrStateType type, int p, const GrState *before);

/* Where the names of a pass's columns stand among its arguments */
#define GR_PASS_NAMES 2

#endif							/* GPUREG_STATE_ROWS_H */
