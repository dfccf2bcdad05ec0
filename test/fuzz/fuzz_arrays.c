/*
 * fuzz_arrays.c: arrays of any dimensions, bounds, elements and NULLs as arguments of functions that take rows, names,
 * widths, penalties and sparse vectors. Aggregates' functions are called row after row, as in an aggregate and by hand.
 * States that rows give must be well formed, and their text must be read as the same state. The first call describes
 * columns of any type.
 */
#include <math.h>

#include "backend.h"

#include "catalog/pg_type.h"
#include "utils/lsyscache.h"

#include "rows/columns/columns.h"
#include "rows/state/state.h"
#include "run/args.h"
#include "sql/enet/enet.h"
#include "sql/model/arrays.h"
#include "sql/model/fit_arguments.h"

#define FUNCTION(name) PGDLLEXPORT Datum name(PG_FUNCTION_ARGS)

FUNCTION(gr_ols_stats_accum);
FUNCTION(gr_ols_vector_accum);
FUNCTION(gr_wls_stats_accum);
FUNCTION(gr_logreg_step_accum);
FUNCTION(gr_glm_step_accum);
FUNCTION(gr_ols_pass_accum);
FUNCTION(gr_wls_array_pass_accum);
FUNCTION(gr_logreg_array_pass_accum);
FUNCTION(gr_features_pass);
FUNCTION(gr_design_row);
FUNCTION(gr_brier_accum);
FUNCTION(gr_brier_combine);
FUNCTION(gr_brier_final);
FUNCTION(gr_ols_stats_in);
FUNCTION(gr_ols_stats_out);
FUNCTION(gr_logreg_step_in);
FUNCTION(gr_logreg_step_out);

static const char *const names[] = {"y", "x", "w", "x[1]", "x[2]", "", "a b"};
static const char *const families[] = {
	"gaussian", "binomial", "poisson", "gamma", "negative binomial(2)", "quasipoisson", "negative binomial"
};
static const char *const links[] = {"identity", "logit", "log", "sqrt", "inverse"};
static const char *const designs[] = {"", "1", "y ~ x"};
static const char step_request[] = "{\"version\":1,\"features\":1,\"skipped\":0,\"pass\":1,\"faces\":0,\"changed\":1,"
	"\"rows\":0,\"workers\":0,\"relative\":[0],\"request\":[0.5,0.25,0,0,0.25,0,0,1,2],"
	"\"sums\":[0,0,0,\"Infinity\",0,0,\"Infinity\",0,0,0,0,0,0,0,0]}";
static const char stats_request[] = "{\"version\":2,\"features\":-1,\"rows\":0,\"skipped\":0,\"shift\":[],\"gram\":[]}";

/* Opens x and y, and reads all their rows. */
static Datum
read_rows(PG_FUNCTION_ARGS)
{
	GrFloatArray x;
	GrFloatArray y;
	const double *x_at;
	const double *y_at;
	double		sum = 0;

	gr_open_float_array(PG_GETARG_ARRAYTYPE_P(0), "x", &x);
	gr_open_float_array(PG_GETARG_ARRAYTYPE_P(1), "y", &y);
	gr_check_shapes(&x, &y);
	x_at = x.values;
	y_at = y.values;
	for (int64 row = 0; row < x.nrows; row++)
	{
		double	   *into = palloc(((Size) x.ncols + 1) * sizeof(double));

		if (gr_next_array_row(&x, &y, row, &x_at, &y_at, into))
			for (int c = 0; c <= x.ncols; c++)
				sum += into[c];
	}
	must(x.nulls != NULL || x_at == x.values + x.nitems);
	PG_RETURN_FLOAT8(sum);
}

static Datum
read_clusters(PG_FUNCTION_ARGS)
{
	GrRoles		roles = {0};

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	gr_read_clusters(PG_GETARG_DATUM(0), &roles);
	must(roles.nclusters >= 0 && roles.nclusters <= GR_CLUSTERS_MAX);
	for (int k = 0; k < roles.nclusters; k++)
		must(strlen(roles.clusters[k]) < 100000);
	PG_RETURN_NULL();
}

static Datum
read_net(PG_FUNCTION_ARGS)
{
	static const GrEnetPlaces places = {0, 1, 2, 3, 4, 5, 6, 7};
	GrEnet		net;

	if (!gr_enet_arguments(fcinfo, &places, &net))
		PG_RETURN_NULL();
	for (int k = 1; net.lambda != NULL && k < net.nlambda; k++)
		must(net.lambda[k] <= net.lambda[k - 1]);
	must(net.alpha >= 0 && net.alpha <= 1 && net.nlambda > 0);
	(void) gr_enet_options(&net, PG_GETARG_INT32(1) % 4);
	PG_RETURN_NULL();
}

/*
 * Types of arguments: d float8, b boolean, i int, t text, F a family, L a link, D a design, x float8[], B boolean[] or
 * another type, T text[], I int[], S and P the state of the call before, R and Q requests, * columns
 */
typedef struct Function
{
	PGFunction	function;
	const char *arguments;
	GrStateType type;			/* type of the result if the first argument is S or P */
} Function;

static const Function functions[] = {
	{read_rows, "xx"}, {read_clusters, "T"}, {read_net, "dixdxBbb"},
	{gr_ols_stats_accum, "Sdx", GR_STATS}, {gr_ols_stats_accum, "Sbx", GR_STATS},
	{gr_ols_vector_accum, "Sdx", GR_STATS}, {gr_wls_stats_accum, "Sddx", GR_STATS},
	{gr_wls_stats_accum, "Sdbx", GR_STATS}, {gr_wls_array_pass_accum, "Sdx", GR_STATS},
	{gr_ols_pass_accum, "SRTI*", GR_STATS}, {gr_logreg_step_accum, "Pxdx", GR_STEP},
	{gr_logreg_step_accum, "Pxbx", GR_STEP}, {gr_glm_step_accum, "PFLxdx", GR_STEP},
	{gr_glm_step_accum, "PFLxbx", GR_STEP}, {gr_logreg_array_pass_accum, "PQdx", GR_STEP},
	{gr_features_pass, "Tbi*"}, {gr_design_row, "Db*"},
	{gr_brier_accum, "xdd"}, {gr_brier_accum, "xdb"}, {gr_brier_combine, "xx"}, {gr_brier_final, "x"}
};

/*
 * Values
 */

static Datum
take_text(FuzzInput *in, const char *const *known, int nknown)
{
	uint8_t		which = take_byte(in);
	char		bytes[32] = {0};
	size_t		n = which % sizeof(bytes);

	if (which < 224)
		return PointerGetDatum(backend_text(known[which % nknown], strlen(known[which % nknown]), which >= 112));
	take_bytes(in, bytes, n);
	return PointerGetDatum(backend_text(bytes, strnlen(bytes, n), false));
}

static Datum
take_value(FuzzInput *in, Oid type)
{
	double		value;

	switch (type)
	{
		case FLOAT8OID:
			return Float8GetDatum(take_double(in));
		case FLOAT4OID:
			value = take_double(in);
			return Float4GetDatum(fabs(value) < 3e38 ? (float) value : INFINITY);
		case INT2OID:
			return Int16GetDatum((int16) ((int) take_byte(in) - 3));
		case INT4OID:
			return Int32GetDatum((int) take_byte(in) - 3);
		case INT8OID:
			return Int64GetDatum((int64) take_byte(in) << take_byte(in) % 56);
		case BOOLOID:
			return BoolGetDatum(take_byte(in) % 2);
		case NUMERICOID:
			return backend_numeric(take_double(in));
		default:
			return take_text(in, names, COUNT(names));
	}
}

/* Makes an array, most often a vector of a few elements. */
static Datum
take_array(FuzzInput *in, Oid element)
{
	uint8_t		how = take_byte(in);
	int			ndim = how < 160 ? 1 : how < 208 ? 2 : how < 224 ? 0 : how % 7;
	int			dims[MAXDIM] = {0};
	int			bounds[MAXDIM];
	int			n = ndim > 0 ? 1 : 0;
	bool		some = how % 4 == 3;
	Datum	   *items;
	bool	   *nulls;

	for (int k = 0; k < ndim; k++)
	{
		/* the server has no dimension without elements; arrays of more dimensions are kept small */
		dims[k] = 1 + (ndim > 2 ? take_byte(in) % 2 : how < 16 ? take_byte(in) % 40 : take_byte(in) % 4);
		bounds[k] = how % 16 == 5 ? (int8_t) take_byte(in) : 1;
		n *= dims[k];
	}
	items = palloc((Size) n * sizeof(Datum) + 1);
	nulls = palloc0((Size) n + 1);
	for (int k = 0; k < n; k++)
	{
		items[k] = take_value(in, element);
		nulls[k] = some && (in->left == 0 ? k % 5 == 4 : take_byte(in) % 8 == 7);
	}
	return PointerGetDatum(backend_array(element, ndim, dims, bounds, items, some ? nulls : NULL));
}

static void
add_columns(BackendCall *call, FuzzInput *in, bool first)
{
	static const Oid of[] = {
		FLOAT8OID, FLOAT8OID, FLOAT4OID, INT2OID, INT4OID, INT8OID, BOOLOID, NUMERICOID, TEXTOID
	};
	int			n = first ? take_byte(in) % 5 : -1;

	/* types stay the same from call to call */
	for (int k = 0; n >= 0 && k < n; k++)
	{
		uint8_t		which = take_byte(in);
		Oid			type = of[which % COUNT(of)];

		call->types[call->nargs + k] = which / 16 % 3 == 2 ? get_array_type(type) : type;
		must(call->types[call->nargs + k] != InvalidOid);
	}
	if (!first)
		for (n = 0; call->types[call->nargs + n] != InvalidOid; n++)
			;
	for (int k = 0; k < n; k++)
	{
		Oid			type = call->types[call->nargs];
		Oid			element = get_element_type(type);
		bool		null = take_byte(in) % 16 == 15;

		backend_argument(call, type, null ? 0 : element == InvalidOid ? take_value(in, type) : take_array(in, element),
						 null);
	}
}

static void
add_request(BackendCall *call, PGFunction reads, const char *text)
{
	backend_argument(call, InvalidOid, call_function(reads, CStringGetDatum(text)), false);
}

static void
add_argument(BackendCall *call, FuzzInput *in, char kind, bool nullable)
{
	static const Oid positive[] = {BOOLARRAYOID, BOOLOID, FLOAT8OID, TEXTOID};
	bool		null = nullable && take_byte(in) % 16 == 15;
	Oid			type;

	switch (kind)
	{
		case 'd':
			backend_argument(call, FLOAT8OID, take_value(in, FLOAT8OID), null);
			break;
		case 'b':
			backend_argument(call, BOOLOID, take_value(in, BOOLOID), null);
			break;
		case 'i':
			backend_argument(call, INT4OID, take_value(in, INT4OID), null);
			break;
		case 'x':
			backend_argument(call, FLOAT8ARRAYOID, null ? 0 : take_array(in, FLOAT8OID), null);
			break;
		case 'T':
			backend_argument(call, TEXTARRAYOID, null ? 0 : take_array(in, TEXTOID), null);
			break;
		case 'I':
			backend_argument(call, INT4ARRAYOID, null ? 0 : take_array(in, INT4OID), null);
			break;
		case 'B':
			type = positive[take_byte(in) % COUNT(positive)];
			backend_argument(call, type, type == BOOLARRAYOID ? take_array(in, BOOLOID) : take_value(in, type), null);
			break;
		case 'F':
			backend_argument(call, TEXTOID, take_text(in, families, COUNT(families)), null);
			break;
		case 'L':
			backend_argument(call, TEXTOID, take_text(in, links, COUNT(links)), null);
			break;
		case 'D':
			backend_argument(call, TEXTOID, take_text(in, designs, COUNT(designs)), false);
			break;
		case 'R':
			add_request(call, gr_ols_stats_in, stats_request);
			break;
		case 'Q':
			add_request(call, gr_logreg_step_in, step_request);
			break;
	}
}

/*
 * Calls
 */

/* Checks that the text of a state made of rows is read as that state. */
static void
check_state(GrState *state, GrStateType type)
{
	PGFunction	in = type == GR_STATS ? gr_ols_stats_in : gr_logreg_step_in;
	PGFunction	out = type == GR_STATS ? gr_ols_stats_out : gr_logreg_step_out;
	const char *volatile text = NULL;
	Datum		again;

	must(gr_state_is_well_formed(state, type));
	/* sums that are still pending may overflow */
	if (catch_error())
	{
		must(text == NULL);
		return;
	}
	/* texts, twice, in buffers that double, and their readers */
	fuzz_allow(32 * VARSIZE(state));
	text = DatumGetCString(call_function(out, PointerGetDatum(state)));
	if (getenv("FUZZ_SHOW") != NULL)
		puts(text);
	again = call_function(in, CStringGetDatum(text));
	must(strcmp(DatumGetCString(call_function(out, again)), text) == 0);
}

static void
call_for_rows(FuzzInput *in, const Function *f, bool aggregate, int nrows)
{
	bool		has_state = *f->arguments == 'S' || *f->arguments == 'P';
	bool		is_strict = !has_state && f->function != read_net && f->function != gr_features_pass &&
		f->function != read_clusters;
	BackendCall *call = backend_call(aggregate && has_state);
	Datum		state = 0;

	for (volatile int row = 0; row < nrows; row++)
	{
		Datum		result;

		call->nargs = 0;
		if (has_state)
			backend_argument(call, InvalidOid, state, state == 0);
		for (const char *kind = f->arguments + has_state; *kind != '\0'; kind++)
			if (*kind == '*')
				add_columns(call, in, row == 0);
			else
				add_argument(call, in, *kind, !is_strict);
		/* an ERROR ends the query, and the memory that the function has kept */
		if (catch_error())
			return;
		result = backend_run(call, f->function);
		if (!has_state || call->null)
			continue;
		/*
		 * The executor copies the state. Its copies are not the function's memory. Outside an aggregate the next row's
		 * call frees them.
		 */
		if (result != state)
		{
			fuzz_allow(4 * VARSIZE(DatumGetPointer(result)));
			state = PointerGetDatum(memcpy(palloc(VARSIZE(DatumGetPointer(result))), DatumGetPointer(result),
										   VARSIZE(DatumGetPointer(result))));
		}
		must(gr_state_is_well_formed((GrState *) DatumGetPointer(state), f->type));
	}
	if (state != 0)
		check_state((GrState *) DatumGetPointer(state), f->type);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FuzzInput	in = {data, size};
	const Function *f = &functions[take_byte(&in) % COUNT(functions)];
	uint8_t		how = take_byte(&in);

	backend_begin(size);
	backend_allowed = 0;
	call_for_rows(&in, f, how % 2 == 1, 1 + how / 2 % 8);
	backend_end();
	return 0;
}
