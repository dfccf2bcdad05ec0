/*
 * fn_debug_sums.c: gpu_debug_sums, which returns the sums of any kind of request over a query's or kept rows. It lets
 * tests try a kind with every way of reading rows, before a statement uses it. The extension's SQL does not declare the
 * function; a superuser does:
 *
 *	 CREATE FUNCTION gpu_debug_sums(kind text, query text, kept text, groups text, ngroups int, numbers float8[])
 *		RETURNS float8[] LANGUAGE c AS '$libdir/gpureg', 'gr_debug_sums';
 *	 ALTER EXTENSION gpureg ADD FUNCTION gpu_debug_sums;
 *
 * kind: a name in request_kinds.h. groups: name of an integer column with values 0 .. ngroups - 1; NULL: no groups.
 * ngroups: number of groups to sum by; 0: one sum. numbers: the request's arrays, concatenated; missing numbers are 0.
 * The distribution is gaussian with the identity link.
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

static GrRequestKind
kind_named(const char *name)
{
	for (int kind = 0; name != NULL && kind < GR_NREQUESTS; kind++)
		if (strcmp(kind_names[kind], name) == 0)
			return (GrRequestKind) kind;
	elog(ERROR, "there is no kind of requests \"%s\"", name == NULL ? "" : name);
}

Datum
gr_debug_sums(PG_FUNCTION_ARGS)
{
	double		started = gr_now();
	GrRequestKind kind = kind_named(text_argument(fcinfo, ARG_KIND));
	GrRoles		roles = {.intercept = true};
	const GrRowsWanted wanted = {
		.from = {.query = text_argument(fcinfo, ARG_QUERY),.kept = text_argument(fcinfo, ARG_KEPT)},
		.function = fcinfo->flinfo->fn_oid,.roles = &roles,.family = GR_GAUSSIAN,.use = GR_ROWS_PASSES
	};
	ArrayType  *numbers;
	GrDataSet  *data;
	double	   *sums;
	Size		n;
	Datum	   *values;

	if (PG_ARGISNULL(ARG_NGROUPS) || PG_ARGISNULL(ARG_NUMBERS))
		elog(ERROR, "ngroups and numbers must not be null");
	numbers = PG_GETARG_ARRAYTYPE_P(ARG_NUMBERS);
	if (ARR_HASNULL(numbers) || ARR_ELEMTYPE(numbers) != FLOAT8OID)
		elog(ERROR, "numbers must be float8");
	roles.clusters[0] = text_argument(fcinfo, ARG_GROUPS);
	roles.nclusters = roles.clusters[0] == NULL ? 0 : 1;
	roles.cluster_keys = true;
	data = gr_open_rows(&wanted);
	sums = gr_source_new_sums(data->source, gr_kind_request(kind, data->source->shape, PG_GETARG_INT32(ARG_NGROUPS),
															(const double *) ARR_DATA_PTR(numbers),
															ArrayGetNItems(ARR_NDIM(numbers), ARR_DIMS(numbers))), &n);
	(void) gr_close_rows(data, "gpu_debug_sums", started);
	values = palloc_extended(Max(n, 1) * sizeof(Datum), MCXT_ALLOC_HUGE);
	for (Size k = 0; k < n; k++)
		values[k] = Float8GetDatum(sums[k]);
	PG_RETURN_ARRAYTYPE_P(construct_array(values, (int) n, FLOAT8OID, sizeof(float8), FLOAT8PASSBYVAL,
										  TYPALIGN_DOUBLE));
}
