/*
 * request_pass.c: the aggregate gpu_request_pass; see request_pass.h.
 *
 * If a request's kind is efficient with many rows at a time, a state holds rows back. Otherwise a state is little more
 * than its sums, since there may be as many groups as rows. Between processes a state is sent with the request's head,
 * which is all that merging needs.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "nodes/supportnodes.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "compute/resample/boot_draw.h"
#include "rows/state/request_pass.h"
#include "run/args.h"
#include "run/compat.h"
#include "run/progress.h"
#include "run/raise.h"
#include "run/request.h"

PG_FUNCTION_INFO_V1(gr_request_accum);
PG_FUNCTION_INFO_V1(gr_request_combine);
PG_FUNCTION_INFO_V1(gr_request_serial);
PG_FUNCTION_INFO_V1(gr_request_deserial);
PG_FUNCTION_INFO_V1(gr_request_final);
PG_FUNCTION_INFO_V1(gr_request_support);

/* Arguments: the state, the request, names, widths, and the columns, of which those that have roles are first */
enum
{
	ARG_STATE, ARG_REQUEST, ARG_NAMES, ARG_WIDTHS, FIRST_COLUMN
};

StaticAssertDecl(ARG_NAMES == GR_REQUEST_NAMES && FIRST_COLUMN == GR_REQUEST_NPARAMS + 1, "arguments");

/* Largest number of float8 in an aggregate's sums */
#define SUMS_MAX ((Size) 64 << 20)

/* Rows are counted in a float8 among sums, which is exact up to here. */
#define ROWS_MAX INT64CONST(9007199254740992)

/* First argument of the aggregate: this head, changed[nchanged], coef[nchanged][t], and the request's block */
typedef struct Asked
{
	int32		vl_len_;
	int16		version;
	int8		weighting;		/* GrWeighting */
	int8		zero;
	int32		nchanged;
	int32		nfeatures;		/* the request's */
	double		data[FLEXIBLE_ARRAY_MEMBER];
} Asked;

#define ASKED_VERSION 1

struct GrRequestCall
{
	GrColumns  *columns;
	GrRowRules	rules;
	GrBasis		basis;			/* nchanged 0: there is none */
	GrRequest  *request;
	GrRequest	head;			/* the request without arrays */
	void	   *scratch;
	double	   *row;			/* buffer for a row if states hold no rows back */
	int			batch;			/* number of rows at which a state adds its pending rows; 1: no rows are held back */
	int			ntotals;
	bool		may_be_plain;	/* see is_plain() */
	const char *const *names;	/* names of the columns for messages; NULL: not read yet */
};

struct GrRequestSums
{
	const GrRequest *head;
	GrRequestCall *call;		/* NULL for a merged state, which takes no rows */
	GrRequestCounts counts;
	int			npending;
	double		data[FLEXIBLE_ARRAY_MEMBER];	/* sums, totals, and the call's batch of rows if it is not 1 */
};

double		gr_request_planned_cost = 0;

/*
 * Requests
 */

static void raise_request(void) __attribute__((noreturn));

static void
raise_request(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("gpu_request_pass needs a request for as many features as there are, and their widths"),
			 errhint("Do not call this function: gpureg uses it in its own queries.")));
}

Datum
gr_request_datum(const GrRequest *request, GrWeighting weighting, const GrBasis *basis)
{
	int			nchanged = basis == NULL ? 0 : basis->nchanged;
	Size		t = gr_nterms(request->shape.nfeatures);
	Size		nbytes = offsetof(Asked, data) + nchanged * (t + 1) * sizeof(double) + gr_request_nbytes(request);
	Asked	   *asked = MemoryContextAllocExtended(CurrentMemoryContext, nbytes, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	double	   *at = asked->data;
	GrRequest  *copy;

	if (nbytes > MaxAllocSize)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("the sums over %d features are too large for one value", request->shape.nfeatures),
				 errhint("Raise gpureg.ring_size, so that the rows stay in memory.")));
	SET_VARSIZE(asked, nbytes);
	asked->version = ASKED_VERSION;
	asked->weighting = (int8) weighting;
	asked->nchanged = nchanged;
	asked->nfeatures = request->shape.nfeatures;
	for (int k = 0; k < nchanged; k++)
		*at++ = basis->changed[k];
	if (nchanged > 0)
		memcpy(at, basis->coef, nchanged * t * sizeof(double));
	copy = memcpy(at + nchanged * t, request, gr_request_nbytes(request));
	if (!gr_request_takes_keys(request))
		copy->shape.key = copy->shape.second_key = false;
	return PointerGetDatum(asked);
}

GrState *
gr_request_state(const GrRequest *request, GrRowRules rules, const GrBasis *basis)
{
	GrMeasure	measure = (GrMeasure) request->measure;
	const GrState head = {
		.type = GR_STEP,.kind = (int8) request->kind,.nfeatures = request->shape.nfeatures,
		.face_relative = gr_measure_is_of_edge(measure) ? request->edge : request->face_relative,
		.nfaces = (int16) request->nfaces,.nchanged = basis == NULL ? 0 : (int16) basis->nchanged,.intercept = 1,
		.internal = 1,.weight = request->shape.weight,.offset = request->shape.offset,
		.weighting = (int8) rules.weighting,.linear = (request->flags & GR_REQUEST_LINEAR) != 0,
		.family = request->distribution.family,.link = request->distribution.link,.measure = measure,
		.theta = gr_parameter_of(request->distribution)
	};
	GrRequestLayout layout = gr_request_layout(request);
	GrState    *state = gr_state_clear(gr_state_create_like(&head, 0));

	for (int k = 0; k < GR_REQUEST_NARRAYS; k++)
		if (gr_request_array(request, k) != NULL && gr_state_array(state, k) != NULL)
			memcpy(gr_state_array(state, k), gr_request_array(request, k), layout.n[k] * sizeof(double));
	for (int k = 0; k < head.nchanged; k++)
		gr_state_changed(state)[k] = basis->changed[k];
	if (head.nchanged > 0)
		memcpy(gr_state_basis(state), basis->coef, head.nchanged * gr_state_nterms(state) * sizeof(double));
	return state;
}

void
gr_request_params(Datum request, const GrColumns *columns, const GrColumns *arguments, NullableDatum *values,
				  Oid *types)
{
	types[0] = BYTEAOID;
	types[1] = TEXTARRAYOID;
	types[2] = INT4ARRAYOID;
	if (values == NULL)
		return;
	values[0] = (NullableDatum) {.value = request};
	values[1] = (NullableDatum) {.value = gr_names_datum(columns)};
	values[2] = (NullableDatum) {.value = gr_widths_datum(arguments).value};
}

/* Reads a basis from its numbers; ERROR unless it changes features that there are, in ascending order. */
static GrBasis
read_basis(const Asked *asked)
{
	int		   *changed = palloc(Max(asked->nchanged, 1) * sizeof(int));
	double		last = -1;

	for (int k = 0; k < asked->nchanged; k++)
	{
		double		feature = asked->data[k];

		if (!(feature > last && feature < asked->nfeatures && feature == (int) feature))
			raise_request();
		last = feature;
		changed[k] = (int) feature;
	}
	return (GrBasis) {asked->nfeatures, asked->nchanged, changed, asked->data + asked->nchanged};
}

/* Reads the first argument, whoever made it up, into the call. */
static void
read_request(FunctionCallInfo fcinfo, GrRequestCall *call)
{
	GrError		err = {0};
	Size		nbytes;
	Size		before;
	Asked	   *asked;

	if (PG_ARGISNULL(ARG_REQUEST))
		raise_request();
	asked = (Asked *) PG_DETOAST_DATUM_COPY(PG_GETARG_DATUM(ARG_REQUEST));
	nbytes = VARSIZE(asked);
	if (nbytes < offsetof(Asked, data) || asked->version != ASKED_VERSION || asked->zero != 0 ||
		(asked->weighting != GR_PRIOR_WEIGHTS && asked->weighting != GR_FREQUENCIES) ||
		asked->nfeatures < 0 || asked->nfeatures > GR_MAX_FEATURES || asked->nchanged < 0 ||
		asked->nchanged > asked->nfeatures)
		raise_request();
	before = offsetof(Asked, data) + asked->nchanged * ((Size) gr_nterms(asked->nfeatures) + 1) * sizeof(double);
	if (nbytes < before + sizeof(GrRequest))
		raise_request();
	call->request = (GrRequest *) ((char *) asked + before);
	if (!gr_request_valid(call->request, nbytes - before, call->request->shape, &err) ||
		gr_request_is_whole(call->request) || call->request->shape.nfeatures != asked->nfeatures ||
		gr_request_nsums(call->request) > SUMS_MAX)
		raise_request();
	call->basis = read_basis(asked);
	call->rules = (GrRowRules) {
		call->request->distribution.family, (GrWeighting) asked->weighting,
		gr_parameter_of(call->request->distribution)
	};
}

/* Creates the call's description at the first row. */
static pg_noinline GrRequestCall *
describe_call(FunctionCallInfo fcinfo)
{
	MemoryContext old = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);
	GrRequestCall *call = palloc0(sizeof(GrRequestCall));
	GrRowShape	shape;

	read_request(fcinfo, call);
	shape = call->request->shape;
	memcpy(&call->head, call->request, sizeof(GrRequest));
	memset(call->head.offsets, 0, sizeof(call->head.offsets));
	call->columns = gr_argument_columns(fcinfo, FIRST_COLUMN, shape);
	if (!gr_read_widths(fcinfo, call->columns, ARG_WIDTHS) || call->columns->nfeatures != shape.nfeatures)
		raise_request();
	gr_name_arrays(fcinfo, call->columns, ARG_NAMES);
	call->scratch = gr_request_scratch(call->request);
	call->batch = gr_request_batch(call->request);
	call->row = palloc(gr_row_nbytes(shape));
	call->may_be_plain = call->rules.family == GR_BINOMIAL && gr_nroles(call->columns) == 1;
	call->ntotals = gr_request_has_totals(call->request) && gr_has_totals(shape, call->rules) ?
		(int) (sizeof(GrRowTotals) / sizeof(double)) : 0;
	MemoryContextSwitchTo(old);
	fcinfo->flinfo->fn_extra = call;
	return call;
}

GrRequestCall *
gr_request_call(FunctionCallInfo fcinfo)
{
	GrRequestCall *call = fcinfo->flinfo->fn_extra;

	return likely(call != NULL) ? call : describe_call(fcinfo);
}

const GrColumns *
gr_request_columns(const GrRequestCall *call)
{
	return call->columns;
}

GrRowShape
gr_request_shape(const GrRequestCall *call)
{
	return call->request->shape;
}

int
gr_request_block(const GrRequestCall *call)
{
	return gr_request_takes_keys(call->request) ? call->batch : 0;
}

/*
 * States
 */

static GrRequestSums *
state_argument(FunctionCallInfo fcinfo, int argno)
{
	return PG_ARGISNULL(argno) ? NULL : (GrRequestSums *) PG_GETARG_POINTER(argno);
}

/* Creates a state without rows, with room for nmore float8 behind the sums and totals. */
static GrRequestSums *
create_state(MemoryContext context, const GrRequest *head, int ntotals, Size nmore)
{
	Size		nsums = gr_request_nsums(head);
	GrRequestSums *state = MemoryContextAllocExtended(context, offsetof(GrRequestSums, data) +
													  (nsums + ntotals + nmore) * sizeof(double), MCXT_ALLOC_HUGE);

	memset(state, 0, offsetof(GrRequestSums, data));
	state->head = head;
	state->counts.ntotals = ntotals;
	gr_request_clear(head, state->data);
	memset(state->data + nsums, 0, ntotals * sizeof(double));
	return state;
}

static GrRowTotals *
totals_of(GrRequestSums *state)
{
	return (GrRowTotals *) (state->data + gr_request_nsums(state->head));
}

static double *
pending_of(GrRequestSums *state)
{
	return (double *) totals_of(state) + state->counts.ntotals;
}

GrRequestSums *
gr_request_begin(GrRequestCall *call, MemoryContext context)
{
	Size		npending = call->batch == 1 ? 0 : (Size) call->batch * gr_row_ncols(call->request->shape);
	GrRequestSums *state = create_state(context, &call->head, call->ntotals, npending);

	state->call = call;
	state->counts.nworkers = IsParallelWorker();
	return state;
}

/* Adds checked rows to the sums and totals. */
static void
add_rows(GrRequestSums *state, double *rows, int64 nrows)
{
	GrRequestCall *call = state->call;

	if (call->basis.nchanged > 0)
		gr_change_rows(&call->basis, call->request->shape, rows, nrows);
	gr_add_request(call->request, state->data, rows, nrows, call->scratch);
	gr_progress_rows(nrows);
	if (state->counts.ntotals > 0)
		gr_totals_add(totals_of(state), rows, nrows, call->request->shape, call->rules);
	if (state->counts.nrows > ROWS_MAX)
		gr_raise_count();
}

/* Adds the rows that are held back. */
static void
flush(GrRequestSums *state)
{
	int			n = state->npending;

	state->npending = 0;
	if (n > 0)
		add_rows(state, pending_of(state), n);
}

/* Raises an error for a row with a value that is not allowed. Only a made-up query has an invalid key. */
static void
check_rows(const GrRequestCall *call, const double *rows, int64 nrows, const char *const *names)
{
	GrRowShape	shape = call->request->shape;
	int			ncols = gr_row_ncols(shape);
	GrError		err = {0};

	if (!gr_rows_valid(rows, nrows, shape, call->rules, &err))
		gr_raise_row(&err, shape, names);
	for (int64 k = 0; shape.key && k < nrows; k++)
	{
		double		key = rows[k * ncols + gr_key_at(shape)];

		if (!(key >= -(double) GR_BOOT_KEY_MAX && key <= (double) GR_BOOT_KEY_MAX))
			raise_request();
	}
}

void
gr_request_take(GrRequestSums *state, double *rows, int64 nrows, const char *const *names)
{
	check_rows(state->call, rows, nrows, names);
	gr_add_count(&state->counts.nrows, nrows);
	add_rows(state, rows, nrows);
}

/* Returns the names of the columns. They are read only for messages and odd rows, but all rows may be odd. */
static pg_noinline const char *const *
read_names(FunctionCallInfo fcinfo, GrRequestCall *call)
{
	MemoryContext old = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);

	if (call->names == NULL)
		call->names = gr_read_names(fcinfo, call->columns, ARG_NAMES);
	MemoryContextSwitchTo(old);
	return call->names;
}

/* True if a row of a binomial family is finite, and its response 0 or 1. Other rows need a closer look. */
static inline bool
is_plain(const GrRequestCall *call, const double *row)
{
	int			p = call->request->shape.nfeatures;
	double		sum = 0;

	if (!call->may_be_plain)
		return false;
	/* v * 0 is 0 for finite v and NaN otherwise */
	for (int k = 0; k <= p; k++)
		sum += row[k] * 0.0;
	return sum == 0 && (row[p] == 0 || row[p] == 1);
}

/* Checks a row that is not plain, with the columns' names for messages. */
static pg_noinline void
check_row(FunctionCallInfo fcinfo, GrRequestCall *call, const double *row)
{
	GrError		err = {0};

	if (call->request->shape.key || !gr_rows_valid(row, 1, call->request->shape, call->rules, &err))
		check_rows(call, row, 1, read_names(fcinfo, call));
}

/* Takes a row, which is in place: the next pending row, or the call's buffer. */
static inline void
take_row(FunctionCallInfo fcinfo, GrRequestSums *state, double *row)
{
	GrRequestCall *call = state->call;

	if (unlikely(!is_plain(call, row)))
		check_row(fcinfo, call, row);
	gr_add_count(&state->counts.nrows, 1);
	if (call->batch == 1)
		add_rows(state, row, 1);
	else if (++state->npending == call->batch)
		flush(state);
}

/*
 * gpu_request_accum(state internal, request bytea, names text[], widths int[], VARIADIC "any")
 */
Datum
gr_request_accum(PG_FUNCTION_ARGS)
{
	MemoryContext context = gr_aggregate_context(fcinfo);
	GrRequestSums *state = state_argument(fcinfo, ARG_STATE);
	GrRequestCall *call = gr_request_call(fcinfo);
	GrRowFate	fate;
	double	   *row;

	if (unlikely(state == NULL))
		state = gr_request_begin(call, context);
	row = call->batch == 1 ? call->row :
		pending_of(state) + (Size) state->npending * gr_row_ncols(call->request->shape);
	fate = gr_arguments_complete(fcinfo, call->columns, FIRST_COLUMN) ?
		gr_convert_row(call->columns, GR_ARGUMENT_VALUES(fcinfo, FIRST_COLUMN), row) : GR_ROW_SKIPPED;
	if (fate == GR_ROW_TAKES_PART)
		take_row(fcinfo, state, row);
	else if (fate == GR_ROW_SKIPPED)
		gr_add_count(&state->counts.nskipped, 1);
	PG_RETURN_POINTER(state);
}

/*
 * Returns the head that all of a process's merged states share: that of the first state. ERROR if another state has
 * another head: workers may have met other requests if the user's own query makes them up.
 */
static const GrRequest *
merged_head(FunctionCallInfo fcinfo, const GrRequest *other)
{
	GrRequest  *head = fcinfo->flinfo->fn_extra;

	if (head == NULL)
	{
		head = MemoryContextAlloc(fcinfo->flinfo->fn_mcxt, sizeof(GrRequest));
		memcpy(head, other, sizeof(GrRequest));
		fcinfo->flinfo->fn_extra = head;
	}
	if (memcmp(head, other, sizeof(GrRequest)) != 0)
		raise_request();
	return head;
}

/* gpu_request_combine(internal, internal) */
Datum
gr_request_combine(PG_FUNCTION_ARGS)
{
	MemoryContext context = gr_aggregate_context(fcinfo);
	GrRequestSums *state = state_argument(fcinfo, 0);
	GrRequestSums *other = state_argument(fcinfo, 1);

	if (other == NULL && state == NULL)
		PG_RETURN_NULL();
	if (other == NULL)
		PG_RETURN_POINTER(state);
	flush(other);
	/* Copy other, whose memory may be a tuple's. */
	if (state == NULL)
	{
		state = create_state(context, merged_head(fcinfo, other->head), other->counts.ntotals, 0);
		memcpy(&state->counts, &other->counts, sizeof(GrRequestCounts));
		memcpy(state->data, other->data, (gr_request_nsums(state->head) + state->counts.ntotals) * sizeof(double));
		PG_RETURN_POINTER(state);
	}
	flush(state);
	if (memcmp(state->head, other->head, sizeof(GrRequest)) != 0 || state->counts.ntotals != other->counts.ntotals)
		raise_request();
	gr_request_merge(state->head, state->data, other->data);
	if (state->counts.ntotals > 0)
		gr_totals_merge(totals_of(state), totals_of(other));
	gr_add_count(&state->counts.nrows, other->counts.nrows);
	gr_add_count(&state->counts.nskipped, other->counts.nskipped);
	state->counts.nworkers += other->counts.nworkers;
	PG_RETURN_POINTER(state);
}

/*
 * Values
 */

/* Returns a bytea of head_nbytes bytes of the head, then counts, sums and totals. */
static Datum
state_datum(GrRequestSums *state, Size head_nbytes)
{
	Size		n = (gr_request_nsums(state->head) + state->counts.ntotals) * sizeof(double);
	Size		nbytes = VARHDRSZ + head_nbytes + sizeof(GrRequestCounts) + n;
	bytea	   *result;
	char	   *at;

	flush(state);
	result = palloc(nbytes);
	SET_VARSIZE(result, nbytes);
	at = VARDATA(result);
	memcpy(at, state->head, head_nbytes);
	memcpy(at + head_nbytes, &state->counts, sizeof(GrRequestCounts));
	memcpy(at + head_nbytes + sizeof(GrRequestCounts), state->data, n);
	return PointerGetDatum(result);
}

/* gpu_request_serial(internal) returns bytea: between parallel workers */
Datum
gr_request_serial(PG_FUNCTION_ARGS)
{
	(void) gr_aggregate_context(fcinfo);
	return state_datum((GrRequestSums *) PG_GETARG_POINTER(0), sizeof(GrRequest));
}

Datum
gr_request_partial(GrRequestSums *state, int64 nskipped, bool counts_worker)
{
	state->counts.nskipped = nskipped;
	if (!counts_worker)
		state->counts.nworkers = 0;
	return state_datum(state, sizeof(GrRequest));
}

static void raise_malformed(void) __attribute__((noreturn));

static void
raise_malformed(void)
{
	elog(ERROR, "malformed state of gpu_request_pass");
}

/* gpu_request_deserial(bytea, internal) returns internal */
Datum
gr_request_deserial(PG_FUNCTION_ARGS)
{
	bytea	   *bytes = PG_GETARG_BYTEA_PP(0);
	const char *at = VARDATA_ANY(bytes);
	Size		nbytes = VARSIZE_ANY_EXHDR(bytes);
	GrRequest  *head = palloc(sizeof(GrRequest));
	GrRequestCounts counts;
	GrRequestSums *state;
	Size		n;

	(void) gr_aggregate_context(fcinfo);
	if (nbytes < sizeof(GrRequest) + sizeof(GrRequestCounts))
		raise_malformed();
	memcpy(head, at, sizeof(GrRequest));
	memcpy(&counts, at + sizeof(GrRequest), sizeof(counts));
	if (!gr_request_is_mergeable(head) || gr_request_nsums(head) > SUMS_MAX ||
		(counts.ntotals != 0 && counts.ntotals != sizeof(GrRowTotals) / sizeof(double)))
		raise_malformed();
	n = (gr_request_nsums(head) + counts.ntotals) * sizeof(double);
	if (nbytes != sizeof(GrRequest) + sizeof(GrRequestCounts) + n)
		raise_malformed();
	state = create_state(CurrentMemoryContext, head, counts.ntotals, 0);
	state->counts = counts;
	memcpy(state->data, at + sizeof(GrRequest) + sizeof(GrRequestCounts), n);
	PG_RETURN_POINTER(state);
}

/* gpu_request_final(internal) returns bytea */
Datum
gr_request_final(PG_FUNCTION_ARGS)
{
	GrRequestSums *state = state_argument(fcinfo, 0);

	(void) gr_aggregate_context(fcinfo);
	if (state == NULL)
		PG_RETURN_NULL();
	return state_datum(state, 0);
}

GrRequestResult
gr_request_result(Datum value, Size nsums)
{
	bytea	   *bytes = DatumGetByteaPP(value);
	Size		nbytes = VARSIZE_ANY_EXHDR(bytes);
	char	   *copy = MemoryContextAllocHuge(CurrentMemoryContext, Max(nbytes, sizeof(GrRequestCounts)));
	GrRequestResult result;

	memcpy(copy, VARDATA_ANY(bytes), nbytes);
	if (nbytes >= sizeof(GrRequestCounts))
		memcpy(&result.counts, copy, sizeof(GrRequestCounts));
	if (nbytes < sizeof(GrRequestCounts) ||
		nbytes != sizeof(GrRequestCounts) + (nsums + result.counts.ntotals) * sizeof(double))
		elog(ERROR, "gpu_request_pass returned %zu bytes", nbytes);
	result.memory = copy;
	result.sums = (const double *) (copy + sizeof(GrRequestCounts));
	result.totals = result.counts.ntotals == 0 ? NULL : (const GrRowTotals *) (result.sums + nsums);
	return result;
}

void
gr_request_free(GrRequestResult *result)
{
	pfree(result->memory);
}

/*
 * gpu_request_support(internal) returns internal: tells the planner the cost of a row of the request that is being
 * planned. The planner's call also loads the library into a session that has not loaded it, for the hook that offers
 * scans.
 */
Datum
gr_request_support(PG_FUNCTION_ARGS)
{
	Node	   *node = (Node *) PG_GETARG_POINTER(0);
	SupportRequestCost *asked;

	if (!IsA(node, SupportRequestCost) || gr_request_planned_cost == 0)
		PG_RETURN_POINTER(NULL);
	asked = (SupportRequestCost *) node;
	asked->startup = 0;
	asked->per_tuple = gr_request_planned_cost * cpu_operator_cost;
	PG_RETURN_POINTER(asked);
}
