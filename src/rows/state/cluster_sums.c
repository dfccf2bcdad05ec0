/*
 * cluster_sums.c: the aggregate gpu_scores_pass; see cluster_sums.h.
 *
 * There may be as many groups as rows, so a state is the sums alone, and has no pending rows: a row is added where it
 * is met. What is the same for all groups is made of the request at the first row, and kept with the function's call.
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/datum.h"
#include "utils/memutils.h"

#include "compute/glm/scores.h"
#include "compute/linalg/basis.h"
#include "rows/columns/columns.h"
#include "rows/state/cluster_sums.h"
#include "rows/state/state.h"
#include "run/args.h"
#include "run/raise.h"

PG_FUNCTION_INFO_V1(gr_scores_accum);
PG_FUNCTION_INFO_V1(gr_scores_combine);
PG_FUNCTION_INFO_V1(gr_scores_serial);
PG_FUNCTION_INFO_V1(gr_scores_deserial);
PG_FUNCTION_INFO_V1(gr_scores_final);

/* Arguments: the state, the request, names, widths, and the columns, of which those that have roles are first */
#define ARG_REQUEST 1
#define ARG_NAMES 2
#define ARG_WIDTHS 3
#define FIRST_COLUMN 4

/* Of a group */
typedef struct State
{
	int32		nfeatures;
	bool		hessian;
	GrClusterSums sums;			/* the last member: as long as it is */
} State;

/* What is the same for all groups */
typedef struct Call
{
	GrColumns  *columns;
	GrScores	scores;
	GrBasis		basis;			/* nchanged 0: there is none */
	double	   *row;
} Call;

/*
 * Requests
 */

static void
raise_request(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("gpu_scores_pass needs a request for as many features as there are, and their widths"),
			 errhint("It is for the use of fits with clusters.")));
}

/* The request, in the current context */
static GrState *
read_request(FunctionCallInfo fcinfo)
{
	GrState    *request;

	if (PG_ARGISNULL(ARG_REQUEST))
		raise_request();
	request = gr_state_settled(PG_GETARG_DATUM(ARG_REQUEST), GR_STEP, NULL);
	if (!request->internal || (request->kind != GR_PASS_FAST && request->kind != GR_PASS_GRADIENT) ||
		request->linear != 0 || request->measure != GR_MEASURE_STEP)
		raise_request();
	return (GrState *) DatumGetPointer(datumCopy(PointerGetDatum(request), false, -1));
}

static void
describe_scores(GrScores *scores, GrState *request)
{
	scores->shape = gr_state_shape(request);
	scores->distribution = gr_state_distribution(request);
	scores->beta = gr_state_beta(request);
	scores->beta_lo = gr_state_fixed(request);
	scores->shift = gr_state_shift(request);
	scores->hessian = request->kind == GR_PASS_FAST;
	scores->terms = palloc(gr_state_nterms(request) * sizeof(double));
}

/* At the first row */
static pg_noinline Call *
describe_call(FunctionCallInfo fcinfo)
{
	MemoryContext old = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);
	Call	   *call = palloc0(sizeof(Call));
	GrState    *request = read_request(fcinfo);

	call->columns = gr_argument_columns(fcinfo, FIRST_COLUMN, gr_state_shape(request));
	if (!gr_read_widths(fcinfo, call->columns, ARG_WIDTHS) || call->columns->nfeatures != request->nfeatures)
		raise_request();
	gr_name_arrays(fcinfo, call->columns, ARG_NAMES);
	describe_scores(&call->scores, request);
	call->basis = gr_state_requested_basis(request);
	call->row = palloc(gr_row_ncols(call->scores.shape) * sizeof(double));
	MemoryContextSwitchTo(old);
	fcinfo->flinfo->fn_extra = call;
	return call;
}

/*
 * States
 */

static Size
state_nbytes(int nfeatures, bool hessian)
{
	return offsetof(State, sums) + gr_cluster_nbytes(nfeatures, hessian);
}

static pg_noinline State *
create_state(FunctionCallInfo fcinfo, int nfeatures, bool hessian)
{
	State	   *state = MemoryContextAllocExtended(gr_aggregate_context(fcinfo), state_nbytes(nfeatures, hessian),
												  MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);

	state->nfeatures = nfeatures;
	state->hessian = hessian;
	return state;
}

static State *
state_argument(FunctionCallInfo fcinfo, int argno)
{
	return PG_ARGISNULL(argno) ? NULL : (State *) PG_GETARG_POINTER(argno);
}

static Datum
state_result(FunctionCallInfo fcinfo, State *state)
{
	if (state == NULL)
		PG_RETURN_NULL();
	PG_RETURN_POINTER(state);
}

/*
 * gpu_scores_accum(state internal, request gpu_logreg_step, names text[], widths int[], VARIADIC "any"): NULL as long
 * as no row takes part
 */
Datum
gr_scores_accum(PG_FUNCTION_ARGS)
{
	State	   *state = state_argument(fcinfo, 0);
	Call	   *call = fcinfo->flinfo->fn_extra;

	if (unlikely(call == NULL))
		call = describe_call(fcinfo);
	if (!gr_arguments_complete(fcinfo, call->columns, FIRST_COLUMN) ||
		gr_convert_row(call->columns, GR_ARGUMENT_VALUES(fcinfo, FIRST_COLUMN), call->row) != GR_ROW_TAKES_PART)
		return state_result(fcinfo, state);
	if (state == NULL)
		state = create_state(fcinfo, call->scores.shape.nfeatures, call->scores.hessian);
	if (call->basis.nchanged > 0)
	{
		GrPoll		poll = {.host = &gr_host};

		if (!gr_basis_change_rows(&call->basis, call->scores.shape, call->row, 1, &poll))
			gr_raise(&(GrError) {.status = GR_CANCELED});
	}
	gr_scores_add(&call->scores, call->row, state->sums.data);
	state->sums.nrows++;
	PG_RETURN_POINTER(state);
}

/* gpu_scores_combine(internal, internal) */
Datum
gr_scores_combine(PG_FUNCTION_ARGS)
{
	State	   *state = state_argument(fcinfo, 0);
	State	   *other = state_argument(fcinfo, 1);

	if (other == NULL)
		return state_result(fcinfo, state);
	/* the other one's memory may be that of a tuple */
	if (state == NULL)
		state = create_state(fcinfo, other->nfeatures, other->hessian);
	/* workers may have met other requests, if the user's own query makes them up */
	if (state->nfeatures != other->nfeatures || state->hessian != other->hessian)
		raise_request();
	gr_scores_merge(state->nfeatures, state->hessian, state->sums.data, other->sums.data);
	gr_add_count(&state->sums.nrows, other->sums.nrows);
	PG_RETURN_POINTER(state);
}

/* n bytes as a bytea */
static Datum
bytes_datum(const void *bytes, Size n)
{
	bytea	   *result = palloc(VARHDRSZ + n);

	SET_VARSIZE(result, VARHDRSZ + n);
	memcpy(VARDATA(result), bytes, n);
	return PointerGetDatum(result);
}

/* gpu_scores_serial(internal) returns bytea: between parallel workers */
Datum
gr_scores_serial(PG_FUNCTION_ARGS)
{
	State	   *state = (State *) PG_GETARG_POINTER(0);

	(void) gr_aggregate_context(fcinfo);
	return bytes_datum(state, state_nbytes(state->nfeatures, state->hessian));
}

/* Are so many bytes a state? Of a boolean they may be any. */
static bool
is_state(const State *state, Size nbytes)
{
	uint8		hessian;

	if (nbytes < offsetof(State, sums))
		return false;
	memcpy(&hessian, &state->hessian, sizeof(hessian));
	return hessian <= 1 && state->nfeatures >= 0 && state->nfeatures <= GR_MAX_FEATURES &&
		nbytes == state_nbytes(state->nfeatures, hessian == 1);
}

/* gpu_scores_deserial(bytea, internal) returns internal */
Datum
gr_scores_deserial(PG_FUNCTION_ARGS)
{
	bytea	   *bytes = PG_GETARG_BYTEA_PP(0);
	Size		nbytes = VARSIZE_ANY_EXHDR(bytes);
	State	   *state = palloc(Max(nbytes, sizeof(State)));

	(void) gr_aggregate_context(fcinfo);
	memcpy(state, VARDATA_ANY(bytes), nbytes);
	if (!is_state(state, nbytes))
		elog(ERROR, "malformed state of gpu_scores_pass");
	PG_RETURN_POINTER(state);
}

/* gpu_scores_final(internal) returns bytea */
Datum
gr_scores_final(PG_FUNCTION_ARGS)
{
	State	   *state = state_argument(fcinfo, 0);

	(void) gr_aggregate_context(fcinfo);
	if (state == NULL)
		PG_RETURN_NULL();
	return bytes_datum(&state->sums, gr_cluster_nbytes(state->nfeatures, state->hessian));
}
