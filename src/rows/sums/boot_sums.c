/*
 * boot_sums.c: the aggregate gpu_boot_pass; see boot_sums.h.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/memutils.h"

#include "compute/linalg/basis.h"
#include "compute/resample/boot.h"
#include "compute/resample/boot_draw.h"
#include "rows/columns/columns.h"
#include "rows/query/wrapper.h"
#include "rows/state/state.h"
#include "rows/sums/boot_sums.h"
#include "run/args.h"
#include "run/compat.h"
#include "run/raise.h"
#include "run/request.h"

PG_FUNCTION_INFO_V1(gr_boot_accum);
PG_FUNCTION_INFO_V1(gr_boot_combine);
PG_FUNCTION_INFO_V1(gr_boot_serial);
PG_FUNCTION_INFO_V1(gr_boot_deserial);
PG_FUNCTION_INFO_V1(gr_boot_final);

/* Arguments: the state, these, and the columns, of which those that have roles are first */
enum
{
	ARG_STATE, ARG_REQUEST, ARG_DRAWS, ARG_INFLUENCE, ARG_NAMES, ARG_WIDTHS, FIRST_COLUMN
};

#define NPARAMS GR_BOOT_NPARAMS

/* Rows that a state holds back */
#define PENDING_NROWS 256

/* The most float8 that sums have */
#define SUMS_MAX ((Size) 16 << 20)

/* What is the same for all groups */
typedef struct Call
{
	GrColumns  *columns;
	GrBasis		basis;			/* nchanged 0: there is none */
	GrRequest  *request;
	void	   *scratch;
} Call;

/* Of a group */
typedef struct State
{
	Size		nsums;
	Call	   *call;			/* NULL in one that has no rows of its own */
	int			npending;
	double	   *pending;		/* PENDING_NROWS rows */
	double		sums[FLEXIBLE_ARRAY_MEMBER];
} State;

/*
 * Requests
 */

static void raise_request(void) __attribute__((noreturn));

static void
raise_request(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("gpu_boot_pass needs a request for as many features as there are, their widths and draws"),
			 errhint("It is for the use of bootstraps over queries.")));
}

/* The request, in the current context */
static GrState *
read_request(FunctionCallInfo fcinfo)
{
	GrState    *request;

	if (PG_ARGISNULL(ARG_REQUEST))
		raise_request();
	request = gr_state_settled(PG_GETARG_DATUM(ARG_REQUEST), GR_STEP, NULL);
	if (!request->internal || request->kind != GR_PASS_EXACT || request->linear != 0 || request->nfaces != 0 ||
		request->measure != GR_MEASURE_SCORES_HC2 || request->nfeatures + 1 > GR_BOOT_TERMS_MAX)
		raise_request();
	return (GrState *) DatumGetPointer(datumCopy(PointerGetDatum(request), false, -1));
}

/* Argument number argno, which must be a vector of such elements, of 8 bytes, without NULL; *n: how many */
static const void *
read_vector(FunctionCallInfo fcinfo, int argno, Oid element, int *n)
{
	ArrayType  *array = PG_ARGISNULL(argno) ? NULL : PG_GETARG_ARRAYTYPE_P_COPY(argno);

	if (array == NULL || ARR_NDIM(array) > 1 || array_contains_nulls(array) || ARR_ELEMTYPE(array) != element)
		raise_request();
	*n = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	return ARR_DATA_PTR(array);
}

static void
read_draws(FunctionCallInfo fcinfo, GrBootPass *pass)
{
	int			ndraws;
	int			n;
	const int64 *draws = read_vector(fcinfo, ARG_DRAWS, INT8OID, &ndraws);

	pass->influence = read_vector(fcinfo, ARG_INFLUENCE, FLOAT8OID, &n);
	if ((ndraws != 3 && ndraws != 4) || draws[1] < 0 || draws[1] % 4 != 0 || draws[1] > GR_BOOT_REPS_MAX ||
		draws[2] < 0 || draws[2] > GR_BOOT_REPS_MAX || pass->nactive == 0 || n % pass->nactive != 0 ||
		n / pass->nactive > Max(GR_BOOT_TERMS_MAX, draws[2]))
		raise_request();
	pass->seed = (uint64) draws[0];
	pass->first = draws[1];
	pass->nreps = (int) draws[2];
	pass->ninfluence = n / pass->nactive;
	if (ndraws == 4)
	{
		/* signs have neither steps nor influence, and begin with a word */
		if (draws[3] != 1 || draws[1] % GR_BOOT_LANES != 0 || draws[2] == 0 || n != 0)
			raise_request();
		pass->flips = true;
	}
	if (gr_boot_nsums(pass) > SUMS_MAX)
		raise_request();
	if (pass->nreps == 0 || n == 0)
		return;
	/* of replicates the vector is their steps */
	if (pass->ninfluence != pass->nreps)
		raise_request();
	pass->steps = pass->influence;
	pass->ninfluence = 0;
}

static void
describe_pass(FunctionCallInfo fcinfo, GrBootPass *pass, GrState *request)
{
	int			t = gr_state_nterms(request);
	double	   *factor = palloc_extended((Size) t * t * sizeof(double), MCXT_ALLOC_HUGE);

	pass->shape = gr_state_shape(request);
	pass->shape.key = true;
	pass->distribution = gr_state_distribution(request);
	pass->beta = gr_state_beta(request);
	pass->beta_lo = gr_state_fixed(request);
	pass->shift = gr_state_shift(request);
	pass->factor = factor;
	pass->triangle = gr_state_factor(request);
	pass->nactive = gr_boot_factor(pass->triangle, t, factor);
	read_draws(fcinfo, pass);
}

/* At the first row */
static pg_noinline Call *
describe_call(FunctionCallInfo fcinfo)
{
	MemoryContext old = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);
	Call	   *call = palloc0(sizeof(Call));
	GrState    *request = read_request(fcinfo);
	GrBootPass	pass = {0};

	describe_pass(fcinfo, &pass, request);
	call->request = gr_boot_request(&pass);
	call->columns = gr_argument_columns(fcinfo, FIRST_COLUMN, pass.shape);
	if (!gr_read_widths(fcinfo, call->columns, ARG_WIDTHS) || call->columns->nfeatures != request->nfeatures)
		raise_request();
	gr_name_arrays(fcinfo, call->columns, ARG_NAMES);
	call->basis = gr_state_requested_basis(request);
	call->scratch = gr_request_scratch(call->request);
	MemoryContextSwitchTo(old);
	fcinfo->flinfo->fn_extra = call;
	return call;
}

/*
 * States
 */

static State *
create_state(MemoryContext context, Size nsums)
{
	State	   *state = MemoryContextAllocExtended(context, offsetof(State, sums) + nsums * sizeof(double),
												  MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);

	state->nsums = nsums;
	return state;
}

static State *
state_argument(FunctionCallInfo fcinfo, int argno)
{
	return PG_ARGISNULL(argno) ? NULL : (State *) PG_GETARG_POINTER(argno);
}

/* Adds the rows that are held back. */
static void
flush(State *state)
{
	int			n = state->npending;

	if (n == 0)
		return;
	state->npending = 0;
	if (state->call->basis.nchanged > 0)
		gr_change_rows(&state->call->basis, state->call->request->shape, state->pending, n);
	gr_add_request(state->call->request, state->sums, state->pending, n, state->call->scratch);
}

/* A row whose key is none can only be made up. */
static void
check_key(const Call *call, const double *row)
{
	double		key = row[gr_key_at(call->request->shape)];

	if (!(key >= -(double) GR_BOOT_KEY_MAX && key <= (double) GR_BOOT_KEY_MAX))
		raise_request();
}

/*
 * gpu_boot_accum(state internal, request gpu_logreg_step, draws bigint[], influence float8[], names text[], widths
 * int[], VARIADIC "any"): NULL as long as no row takes part
 */
Datum
gr_boot_accum(PG_FUNCTION_ARGS)
{
	MemoryContext context = gr_aggregate_context(fcinfo);
	State	   *state = state_argument(fcinfo, ARG_STATE);
	Call	   *call = fcinfo->flinfo->fn_extra;
	int			ncols;
	double	   *row;

	if (unlikely(call == NULL))
		call = describe_call(fcinfo);
	ncols = gr_row_ncols(call->request->shape);
	if (state == NULL)
	{
		state = create_state(context, gr_request_nsums(call->request));
		state->call = call;
		state->pending = MemoryContextAlloc(context, PENDING_NROWS * ncols * sizeof(double));
	}
	row = state->pending + (Size) state->npending * ncols;
	if (!gr_arguments_complete(fcinfo, call->columns, FIRST_COLUMN) ||
		gr_convert_row(call->columns, GR_ARGUMENT_VALUES(fcinfo, FIRST_COLUMN), row) != GR_ROW_TAKES_PART)
		PG_RETURN_POINTER(state);
	check_key(call, row);
	if (++state->npending == PENDING_NROWS)
		flush(state);
	PG_RETURN_POINTER(state);
}

/* gpu_boot_combine(internal, internal) */
Datum
gr_boot_combine(PG_FUNCTION_ARGS)
{
	MemoryContext context = gr_aggregate_context(fcinfo);
	State	   *state = state_argument(fcinfo, 0);
	State	   *other = state_argument(fcinfo, 1);

	if (other == NULL && state == NULL)
		PG_RETURN_NULL();
	if (other == NULL)
		PG_RETURN_POINTER(state);
	flush(other);
	/* the other one's memory may be that of a tuple */
	if (state == NULL)
		state = create_state(context, other->nsums);
	flush(state);
	/* workers may have met other requests, if the user's own query makes them up */
	if (state->nsums != other->nsums)
		raise_request();
	for (Size k = 0; k < state->nsums; k++)
		state->sums[k] += other->sums[k];
	PG_RETURN_POINTER(state);
}

static Datum
sums_datum(State *state)
{
	Size		nbytes = state->nsums * sizeof(double);
	bytea	   *result = palloc(VARHDRSZ + nbytes);

	flush(state);
	SET_VARSIZE(result, VARHDRSZ + nbytes);
	memcpy(VARDATA(result), state->sums, nbytes);
	return PointerGetDatum(result);
}

/* gpu_boot_serial(internal) returns bytea: between parallel workers */
Datum
gr_boot_serial(PG_FUNCTION_ARGS)
{
	(void) gr_aggregate_context(fcinfo);
	return sums_datum((State *) PG_GETARG_POINTER(0));
}

/* gpu_boot_deserial(bytea, internal) returns internal */
Datum
gr_boot_deserial(PG_FUNCTION_ARGS)
{
	bytea	   *bytes = PG_GETARG_BYTEA_PP(0);
	Size		nbytes = VARSIZE_ANY_EXHDR(bytes);
	State	   *state;

	(void) gr_aggregate_context(fcinfo);
	if (nbytes % sizeof(double) != 0)
		elog(ERROR, "malformed state of gpu_boot_pass");
	state = create_state(CurrentMemoryContext, nbytes / sizeof(double));
	memcpy(state->sums, VARDATA_ANY(bytes), nbytes);
	PG_RETURN_POINTER(state);
}

/* gpu_boot_final(internal) returns bytea */
Datum
gr_boot_final(PG_FUNCTION_ARGS)
{
	State	   *state = state_argument(fcinfo, 0);

	(void) gr_aggregate_context(fcinfo);
	if (state == NULL)
		PG_RETURN_NULL();
	return sums_datum(state);
}

/*
 * Passes
 */

/* The types of what the columns come behind; InvalidOid stands for that of the request */
static void
parameter_types(const GrIngest *ingest, Oid *types)
{
	types[0] = gr_own_type(ingest->function, "gpu_logreg_step");
	types[1] = INT8ARRAYOID;
	types[2] = FLOAT8ARRAYOID;
	types[3] = TEXTARRAYOID;
	types[4] = INT4ARRAYOID;
}

GrPlan *
gr_boot_plan(const GrIngest *ingest)
{
	Oid			types[NPARAMS];
	GrPlan	   *plan;
	int			nworkers;

	parameter_types(ingest, types);
	plan = gr_plan_aggregate(ingest, "gpu_boot_pass", NPARAMS, types, BYTEAOID, &nworkers);
	if (plan == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_TOO_MANY_ARGUMENTS),
				 errmsg("the query of a bootstrap has too many columns"),
				 errdetail("It has %d columns that cannot be put together into arrays.", ingest->arguments->n),
				 errhint("Concatenate its arrays.")));
	return plan;
}

/* What an EXACT pass asks with leverages: coefficients, shift, basis and triangle are all that is taken of it. */
static Datum
make_request(const GrIngest *ingest, const GrBasis *basis, const GrBootPass *pass)
{
	GrPass		request = {
		.kind = GR_PASS_EXACT,.shape = pass->shape,.distribution = pass->distribution,.beta = pass->beta,
		.shift = pass->shift,.measure = GR_MEASURE_SCORES_HC2,.factor = pass->triangle
	};
	GrState    *state = gr_state_request(&request, ingest->rules, basis);

	memcpy(gr_state_fixed(state), pass->beta_lo, gr_state_nterms(state) * sizeof(double));
	return PointerGetDatum(state);
}

static Datum
vector_datum(const void *values, int n, Oid element)
{
	Size		nbytes = ARR_OVERHEAD_NONULLS(1) + n * sizeof(double);
	ArrayType  *array = palloc0(nbytes);

	if (n == 0)
		return PointerGetDatum(construct_empty_array(element));
	SET_VARSIZE(array, nbytes);
	array->ndim = 1;
	array->elemtype = element;
	ARR_DIMS(array)[0] = n;
	ARR_LBOUND(array)[0] = 1;
	memcpy(ARR_DATA_PTR(array), values, n * sizeof(double));
	return PointerGetDatum(array);
}

void
gr_boot_run(const GrIngest *ingest, const GrPlan *plan, const GrBasis *basis, const GrBootPass *pass, double *sums)
{
	int64		draws[4] = {(int64) pass->seed, pass->first, pass->nreps, 1};
	int			nvector = pass->nreps == 0 ? pass->ninfluence * pass->nactive :
		pass->steps == NULL ? 0 : pass->nreps * pass->nactive;
	Oid			types[NPARAMS];
	NullableDatum values[NPARAMS] = {
		{.value = make_request(ingest, basis, pass)}, {.value = vector_datum(draws, pass->flips ? 4 : 3, INT8OID)},
		{.value = vector_datum(pass->nreps > 0 ? pass->steps : pass->influence, nvector, FLOAT8OID)},
		{.value = gr_names_datum(ingest->columns)}, {.value = gr_widths_datum(ingest->arguments).value}
	};
	bool		isnull;
	Datum		result;
	bytea	   *bytes;
	Size		nsums = gr_boot_nsums(pass);
	const char *at;

	parameter_types(ingest, types);
	result = gr_run_for_value(plan, gr_make_params(NPARAMS, values, types), &isnull);
	if (isnull)
		gr_raise_no_rows(0);
	bytes = DatumGetByteaPP(result);
	if (VARSIZE_ANY_EXHDR(bytes) != nsums * sizeof(double))
		elog(ERROR, "gpu_boot_pass returned %zu bytes", (Size) VARSIZE_ANY_EXHDR(bytes));
	at = VARDATA_ANY(bytes);
	for (Size k = 0; k < nsums; k++)
	{
		double		sum;

		memcpy(&sum, at + k * sizeof(double), sizeof(double));
		sums[k] += sum;
	}
}
