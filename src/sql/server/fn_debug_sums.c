/*
 * fn_debug_sums.c: the sums of a request of any kind over the rows of a query or over kept rows, for tests: a kind can
 * be tried in every way in which rows travel before a statement asks for it. The extension's SQL does not declare the
 * function; a superuser does:
 *
 *	 CREATE FUNCTION gpu_debug_sums(kind text, query text, kept text, groups text, ngroups int, numbers float8[])
 *		RETURNS float8[] LANGUAGE c AS '$libdir/gpureg', 'gr_debug_sums';
 *	 ALTER EXTENSION gpureg ADD FUNCTION gpu_debug_sums;
 *
 * kind: a name of request_kinds.h. groups: a column of integers, NULL: none. ngroups: 0, or the sums are by group, of
 * rows in which groups is 0 .. ngroups - 1. numbers: the request's arrays, one behind the other; zeros where there are
 * too few. The distribution is gaussian with the link identity.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "rows/sums/data_set.h"
#include "run/args.h"
#include "run/clock.h"
#include "run/request.h"

PG_FUNCTION_INFO_V1(gr_debug_sums);

enum
{
	ARG_KIND, ARG_QUERY, ARG_KEPT, ARG_GROUPS, ARG_NGROUPS, ARG_NUMBERS
};

#define NAME(kind, operations, device) #kind,

static const char *const kind_names[GR_NREQUESTS] = {GR_REQUEST_KINDS(NAME)};

static char *
text_argument(FunctionCallInfo fcinfo, int argno)
{
	return PG_ARGISNULL(argno) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(argno));
}

static int
kind_named(const char *name)
{
	for (int kind = 0; name != NULL && kind < GR_NREQUESTS; kind++)
		if (strcmp(kind_names[kind], name) == 0)
			return kind;
	elog(ERROR, "there is no kind of requests \"%s\"", name == NULL ? "" : name);
}

static const GrRequest *
make_request(FunctionCallInfo fcinfo, GrRowShape shape)
{
	ArrayType  *numbers = PG_GETARG_ARRAYTYPE_P(ARG_NUMBERS);
	Size		ngiven = ArrayGetNItems(ARR_NDIM(numbers), ARR_DIMS(numbers));
	const double *from[GR_REQUEST_NARRAYS] = {NULL};
	GrRequestLayout layout;
	GrRequest	head;
	double	   *at;
	Size		n = 0;

	memset(&head, 0, sizeof(head));
	head.kind = kind_named(text_argument(fcinfo, ARG_KIND));
	head.shape = shape;
	head.distribution = gr_distribution_of(GR_GAUSSIAN, GR_IDENTITY, 0);
	layout = gr_request_layout(&head);
	for (int k = 0; k < GR_REQUEST_NARRAYS; k++)
		n += layout.n[k];
	if (ARR_HASNULL(numbers) || ARR_ELEMTYPE(numbers) != FLOAT8OID || ngiven > n)
		elog(ERROR, "numbers must be at most %zu float8", n);
	at = palloc0(Max(n, 1) * sizeof(double));
	memcpy(at, ARR_DATA_PTR(numbers), ngiven * sizeof(double));
	for (int k = 0; k < GR_REQUEST_NARRAYS; at += layout.n[k++])
		from[k] = layout.n[k] > 0 ? at : NULL;
	return gr_make_request(&head, from, PG_GETARG_INT32(ARG_NGROUPS));
}

Datum
gr_debug_sums(PG_FUNCTION_ARGS)
{
	double		started = gr_now();
	GrRoles		roles = {.intercept = true};
	GrRowsWanted wanted = {
		.from = {.query = text_argument(fcinfo, ARG_QUERY),.kept = text_argument(fcinfo, ARG_KEPT)},
		.function = fcinfo->flinfo->fn_oid,.roles = &roles,.family = GR_GAUSSIAN,.use = GR_ROWS_PASSES
	};
	const GrRequest *request;
	GrDataSet  *data;
	Size		nsums;
	double	   *sums;
	Datum	   *values;

	if (PG_ARGISNULL(ARG_NGROUPS) || PG_ARGISNULL(ARG_NUMBERS))
		elog(ERROR, "ngroups and numbers must not be null");
	roles.clusters[0] = text_argument(fcinfo, ARG_GROUPS);
	roles.nclusters = roles.clusters[0] == NULL ? 0 : 1;
	roles.cluster_keys = true;
	data = gr_open_rows(&wanted);
	request = make_request(fcinfo, data->source->shape);
	nsums = gr_request_nsums(request);
	sums = palloc_extended(nsums * sizeof(double), MCXT_ALLOC_HUGE);
	gr_request_clear(request, sums);
	gr_source_sums(data->source, request, sums);
	gr_record_rows(data, "gpu_debug_sums", started);
	gr_release_rows(data);
	values = palloc_extended(Max(nsums, 1) * sizeof(Datum), MCXT_ALLOC_HUGE);
	for (Size k = 0; k < nsums; k++)
		values[k] = Float8GetDatum(sums[k]);
	PG_RETURN_ARRAYTYPE_P(construct_array(values, (int) nsums, FLOAT8OID, sizeof(float8), FLOAT8PASSBYVAL,
										  TYPALIGN_DOUBLE));
}
