/*
 * state_final.c: the final functions of the aggregates that return states.
 */
#include "postgres.h"

#include "fmgr.h"

#include "rows/state/aggregate.h"
#include "rows/state/state.h"
#include "run/clock.h"

/*
 * Returns the state as a value, without pending rows. NULL if it has no complete row, unless it is of gpu_logreg_fit(),
 * which needs the number of rows left out.
 */
static Datum
final(FunctionCallInfo fcinfo, GrStateType type)
{
	double		began = gr_now();
	GrState    *state;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	state = gr_state_settled(PG_GETARG_DATUM(0), type, NULL);
	if (state->nrows == 0 && !state->internal)
		PG_RETURN_NULL();
	/* copy: in a growing window frame, the aggregate goes on changing its state after this result was returned */
	if ((Pointer) state == PG_GETARG_POINTER(0))
		state = gr_state_resize(state, 0);
	if (!state->internal && state->nrows > 0)
		gr_record_group(fcinfo, type == GR_STATS ? "gpu_ols_stats_agg" : "gpu_logreg_step_agg", state->nrows,
						state->nfeatures, began);
	PG_RETURN_POINTER(state);
}

GR_STATE_FUNCTION(gr_ols_stats_final, final, GR_STATS)
GR_STATE_FUNCTION(gr_logreg_step_final, final, GR_STEP)
