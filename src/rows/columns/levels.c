/*
 * levels.c: the levels of factors, and the aggregate that finds them: gpu_levels_pass(names, columns ...).
 *
 * The aggregate runs over the user's query before the fit, in parallel workers if the planner uses them. Its state is
 * in the process's own memory, where SQL can't forge it: a table of levels per column, limited by GR_MAX_FEATURES.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "common/shortest_dec.h"
#include "fmgr.h"
#include "libpq/pqformat.h"
#include "mb/pg_wchar.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/numeric.h"
#include "utils/typcache.h"

#include "rows/columns/columns.h"
#include "rows/columns/levels.h"
#include "run/args.h"

PG_FUNCTION_INFO_V1(gr_levels_accum);
PG_FUNCTION_INFO_V1(gr_levels_combine);
PG_FUNCTION_INFO_V1(gr_levels_serial);
PG_FUNCTION_INFO_V1(gr_levels_deserial);
PG_FUNCTION_INFO_V1(gr_levels_final);

#define ARG_NAMES 1
#define FIRST_COLUMN 2

#define SHOWN_NBYTES 60

/*
 * Values
 */

static GrString
string_of(const char *text)
{
	return (GrString) {text, (int) strlen(text)};
}

static GrString
level_of_number(Oid type, Datum value)
{
	char	   *text = palloc(DOUBLE_SHORTEST_DECIMAL_LEN);

	switch (type)
	{
		case BOOLOID:
			return string_of(DatumGetBool(value) ? "true" : "false");
		case INT2OID:
			pg_itoa(DatumGetInt16(value), text);
			break;
		case INT4OID:
			pg_ltoa(DatumGetInt32(value), text);
			break;
		case INT8OID:
			pg_lltoa(DatumGetInt64(value), text);
			break;
			/* adding 0 turns -0 into 0 */
		case FLOAT4OID:
			float_to_shortest_decimal_buf(DatumGetFloat4(value) + 0.0f, text);
			break;
		case FLOAT8OID:
			double_to_shortest_decimal_buf(DatumGetFloat8(value) + 0.0, text);
			break;
		case NUMERICOID:
			value = DirectFunctionCall1(numeric_trim_scale, value);
			return string_of(DatumGetCString(DirectFunctionCall1(numeric_out, value)));
		default:
			elog(ERROR, "unexpected type %u", type);
	}
	return string_of(text);
}

GrString
gr_level_of_value(Oid type, Datum value)
{
	if (gr_is_number_type(type))
		return level_of_number(type, value);
	if (type == NAMEOID)
		return string_of(NameStr(*DatumGetName(value)));
	if (type == UNKNOWNOID)
		return string_of(DatumGetCString(value));
	return string_of(DatumGetCString(DirectFunctionCall1(enum_out, value)));
}

const char *
gr_show_level(GrString level)
{
	int			n = level.nbytes <= SHOWN_NBYTES ? level.nbytes :
		pg_mbcliplen(level.bytes, level.nbytes, SHOWN_NBYTES);

	return psprintf("%.*s%s", n, level.bytes, n < level.nbytes ? "..." : "");
}

/*
 * Their order
 */

typedef struct LevelOrder
{
	FmgrInfo   *compare;
	Oid			collation;
} LevelOrder;

typedef struct SortedLevel
{
	Datum		value;
	GrString	level;
} SortedLevel;

static int
compare_levels(const void *a, const void *b, void *arg)
{
	const SortedLevel *u = a;
	const SortedLevel *v = b;
	const LevelOrder *order = arg;
	int32		result = DatumGetInt32(FunctionCall2Coll(order->compare, order->collation, u->value, v->value));

	if (result != 0)
		return result;
	result = memcmp(u->level.bytes, v->level.bytes, Min(u->level.nbytes, v->level.nbytes));
	return result != 0 ? result : u->level.nbytes - v->level.nbytes;
}

void
gr_sort_levels(GrLevels *levels, const Datum *items, int n, Form_pg_attribute attribute)
{
	Oid			type = getBaseType(attribute->atttypid);
	LevelOrder	order = {&lookup_type_cache(type, TYPECACHE_CMP_PROC_FINFO)->cmp_proc_finfo, attribute->attcollation};
	SortedLevel *sorted = palloc(Max(n, 1) * sizeof(SortedLevel));
	Oid			input;
	Oid			param;

	if (!OidIsValid(order.collation))
		order.collation = get_typcollation(type);
	getTypeInputInfo(type, &input, &param);
	for (int k = 0; k < n; k++)
	{
		char	   *level = TextDatumGetCString(items[k]);

		sorted[k].level = (GrString) {level, (int) strlen(level)};
		sorted[k].value = OidInputFunctionCall(input, level, param, -1);
	}
	qsort_interruptible(sorted, n, sizeof(SortedLevel), compare_levels, &order);
	for (int k = 0; k < n; k++)
		if (!gr_level_add(levels, sorted[k].level, gr_context_memory(CurrentMemoryContext)))
			ereport(ERROR,
					(errcode(ERRCODE_OUT_OF_MEMORY),
					 errmsg("out of memory")));
}

/*
 * The aggregate
 */

static GrFoundLevels *
new_state(MemoryContext context, int n)
{
	GrFoundLevels *state = MemoryContextAllocZero(context, offsetof(GrFoundLevels, column) +
												  n * sizeof(GrFoundColumn));

	state->context = context;
	state->n = n;
	return state;
}

GrFoundLevels *
gr_levels_begin(int n, const char *const *names)
{
	GrFoundLevels *found = new_state(CurrentMemoryContext, n);

	for (int k = 0; k < n; k++)
		found->column[k].name = names[k];
	return found;
}

/* Names the columns by the argument of names, as far as it has names. */
static void
name_columns(FunctionCallInfo fcinfo, GrFoundLevels *state)
{
	ArrayType  *array = PG_ARGISNULL(ARG_NAMES) ? NULL : PG_GETARG_ARRAYTYPE_P(ARG_NAMES);
	Datum	   *names;
	bool	   *nulls;
	int			n = 0;

	if (array != NULL)
		deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &names, &nulls, &n);
	for (int k = 0; k < state->n; k++)
		state->column[k].name = MemoryContextStrdup(state->context,
													k < n && !nulls[k] ? TextDatumGetCString(names[k]) : "x");
}

/* Returns the types of the columns, which are kept for the next calls. */
static const Oid *
describe_columns(FunctionCallInfo fcinfo)
{
	int			n = PG_NARGS() - FIRST_COLUMN;
	Oid		   *types = MemoryContextAlloc(fcinfo->flinfo->fn_mcxt, n * sizeof(Oid));

	for (int k = 0; k < n; k++)
	{
		Oid			type = get_fn_expr_argtype(fcinfo->flinfo, FIRST_COLUMN + k);

		types[k] = OidIsValid(type) ? getBaseType(type) : InvalidOid;
		if (!OidIsValid(type) || !gr_is_level_type(types[k]))
			ereport(ERROR,
					(errcode(ERRCODE_DATATYPE_MISMATCH),
					 errmsg("columns must be texts, enums, numbers or booleans"),
					 errhint("Do not call this function: gpureg uses it in its own queries.")));
	}
	fcinfo->flinfo->fn_extra = types;
	return types;
}

static void
raise_many(const GrFoundLevels *state)
{
	int			largest = 0;

	for (int k = 1; k < state->n; k++)
		if (state->column[k].levels.n > state->column[largest].levels.n)
			largest = k;
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("column \"%s\" of the query has too many levels", state->column[largest].name),
			 errdetail("Each level of a factor except the first is a term, and a model can have at most %d terms.",
					   GR_MAX_FEATURES),
			 errhint("Merge levels in the query, or hash them with gpu_feature_hash().")));
}

/* Adds a new level to column k. ERROR if there are too many levels. */
static void
add_level(GrFoundLevels *state, int k, GrString level)
{
	char	   *copy = MemoryContextAlloc(state->context, level.nbytes + 1);

	memcpy(copy, level.bytes, level.nbytes);
	level.bytes = copy;
	if (!gr_level_add(&state->column[k].levels, level, gr_context_memory(state->context)))
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory")));
	if (++state->nlevels > GR_MAX_FEATURES + state->n)
		raise_many(state);
}

void
gr_levels_take(GrFoundLevels *state, int k, Oid type, Datum value)
{
	GrString	level = gr_level_of(type, value);

	if (likely(gr_level_find(&state->column[k].levels, level.bytes, level.nbytes) >= 0))
		return;
	if (level.nbytes > GR_LEVEL_NBYTES_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("column \"%s\" of the query has a level of more than %d bytes", state->column[k].name,
						GR_LEVEL_NBYTES_MAX),
				 errdetail("The level begins with \"%s\".", gr_show_level(level)),
				 errhint("A text column is a factor, and its levels are terms. Turn it into numbers or shorter texts "
						 "in the query.")));
	add_level(state, k, level);
}

/* Makes a process's first state. */
static GrFoundLevels *
begin_state(FunctionCallInfo fcinfo, MemoryContext context)
{
	GrFoundLevels *state = new_state(context, PG_NARGS() - FIRST_COLUMN);

	name_columns(fcinfo, state);
	return state;
}

/* gr_levels_accum(state internal, names text[], VARIADIC "any"): adds a row's levels; leaves out a row with a NULL */
Datum
gr_levels_accum(PG_FUNCTION_ARGS)
{
	int			n = PG_NARGS() - FIRST_COLUMN;
	MemoryContext context = gr_aggregate_context(fcinfo);
	GrFoundLevels *state = PG_ARGISNULL(0) ? begin_state(fcinfo, context) : (GrFoundLevels *) PG_GETARG_POINTER(0);
	const Oid  *types = fcinfo->flinfo->fn_extra;

	if (unlikely(types == NULL))
		types = describe_columns(fcinfo);
	if (state->n != n)
		elog(ERROR, "state of gpu_levels_pass is for %d columns instead of %d", state->n, n);
	for (int k = 0; k < n; k++)
		if (PG_ARGISNULL(FIRST_COLUMN + k))
			PG_RETURN_POINTER(state);
	for (int k = 0; k < n; k++)
		gr_levels_take(state, k, types[k], PG_GETARG_DATUM(FIRST_COLUMN + k));
	PG_RETURN_POINTER(state);
}

/* gr_levels_combine(internal, internal) */
Datum
gr_levels_combine(PG_FUNCTION_ARGS)
{
	MemoryContext context = gr_aggregate_context(fcinfo);
	GrFoundLevels *state = PG_ARGISNULL(0) ? NULL : (GrFoundLevels *) PG_GETARG_POINTER(0);
	const GrFoundLevels *other = PG_ARGISNULL(1) ? NULL : (GrFoundLevels *) PG_GETARG_POINTER(1);

	if (other == NULL && state == NULL)
		PG_RETURN_NULL();
	if (other == NULL)
		PG_RETURN_POINTER(state);
	if (state == NULL)
	{
		state = new_state(context, other->n);
		for (int k = 0; k < state->n; k++)
			state->column[k].name = MemoryContextStrdup(context, other->column[k].name);
	}
	if (state->n != other->n)
		elog(ERROR, "state of gpu_levels_pass is for %d columns instead of %d", other->n, state->n);
	for (int k = 0; k < state->n; k++)
		for (int i = 0; i < other->column[k].levels.n; i++)
		{
			GrString	level = other->column[k].levels.level[i];

			if (gr_level_find(&state->column[k].levels, level.bytes, level.nbytes) < 0)
				add_level(state, k, level);
		}
	PG_RETURN_POINTER(state);
}

static void
send_bytes(StringInfo to, const char *bytes, int nbytes)
{
	pq_sendint32(to, nbytes);
	pq_sendbytes(to, bytes, nbytes);
}

/* gr_levels_serial(internal) */
Datum
gr_levels_serial(PG_FUNCTION_ARGS)
{
	const GrFoundLevels *state = (GrFoundLevels *) PG_GETARG_POINTER(0);
	StringInfoData bytes;

	(void) gr_aggregate_context(fcinfo);
	pq_begintypsend(&bytes);
	pq_sendint32(&bytes, state->n);
	for (int k = 0; k < state->n; k++)
	{
		const GrLevels *levels = &state->column[k].levels;

		send_bytes(&bytes, state->column[k].name, (int) strlen(state->column[k].name));
		pq_sendint32(&bytes, levels->n);
		for (int i = 0; i < levels->n; i++)
			send_bytes(&bytes, levels->level[i].bytes, levels->level[i].nbytes);
	}
	PG_RETURN_BYTEA_P(pq_endtypsend(&bytes));
}

static GrString
receive_bytes(StringInfo from)
{
	int			nbytes = pq_getmsgint(from, 4);

	return (GrString) {pq_getmsgbytes(from, nbytes), nbytes};
}

/* gr_levels_deserial(bytea, internal) */
Datum
gr_levels_deserial(PG_FUNCTION_ARGS)
{
	bytea	   *value = PG_GETARG_BYTEA_PP(0);
	StringInfoData bytes;
	GrFoundLevels *state;
	int			n;

	(void) gr_aggregate_context(fcinfo);
	initStringInfo(&bytes);
	appendBinaryStringInfo(&bytes, VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value));
	n = pq_getmsgint(&bytes, 4);
	if (n < 0 || n > FUNC_MAX_ARGS)
		elog(ERROR, "malformed state of gpu_levels_pass");
	state = new_state(CurrentMemoryContext, n);
	for (int k = 0; k < n; k++)
	{
		GrString	name = receive_bytes(&bytes);
		int			nlevels = pq_getmsgint(&bytes, 4);

		state->column[k].name = pnstrdup(name.bytes, name.nbytes);
		for (int i = 0; i < nlevels; i++)
			add_level(state, k, receive_bytes(&bytes));
	}
	pq_getmsgend(&bytes);
	pfree(bytes.data);
	PG_RETURN_POINTER(state);
}

/* gr_levels_final(internal): returns a text[]: for each column the number of its levels, then the levels, unordered */
Datum
gr_levels_final(PG_FUNCTION_ARGS)
{
	const GrFoundLevels *state = PG_ARGISNULL(0) ? NULL : (GrFoundLevels *) PG_GETARG_POINTER(0);
	Datum	   *items;
	int			n = 0;

	(void) gr_aggregate_context(fcinfo);
	if (state == NULL)
		PG_RETURN_NULL();
	for (int k = 0; k < state->n; k++)
		n += 1 + state->column[k].levels.n;
	items = palloc(n * sizeof(Datum));
	n = 0;
	for (int k = 0; k < state->n; k++)
	{
		const GrLevels *levels = &state->column[k].levels;

		items[n++] = CStringGetTextDatum(psprintf("%d", levels->n));
		for (int i = 0; i < levels->n; i++)
			items[n++] = PointerGetDatum(cstring_to_text_with_len(levels->level[i].bytes, levels->level[i].nbytes));
	}
	PG_RETURN_ARRAYTYPE_P(construct_array(items, n, TEXTOID, -1, false, TYPALIGN_INT));
}
