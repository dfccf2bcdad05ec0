/*
 * far_agg.c: runs aggregates like an engine such as Citus does on its nodes, and merges the states like it does where
 * the query came from.
 *
 * 	far_partial(transition function, arguments ...) returns the state as text,
 * 	far_combined(combine function, text) merges such texts, and returns one
 *
 * fmgr makes each call of a function with a new FmgrInfo: without an expression tree, and without what an earlier call
 * has stored. The function recognises the aggregate only by its context.
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"

PG_FUNCTION_INFO_V1(far_partial_step);
PG_FUNCTION_INFO_V1(far_combine_step);
PG_FUNCTION_INFO_V1(far_text);

/* A state of a type of variable length */
typedef struct Box
{
	Oid			type;
	NullableDatum state;
} Box;

static Box *
box_argument(FunctionCallInfo fcinfo)
{
	MemoryContext context;
	Box		   *box;

	if (!AggCheckCallContext(fcinfo, &context))
		elog(ERROR, "called in non-aggregate context");
	if (!PG_ARGISNULL(0))
		return (Box *) PG_GETARG_POINTER(0);
	box = MemoryContextAllocZero(context, sizeof(Box));
	box->type = get_func_rettype(PG_GETARG_OID(1));
	box->state.isnull = true;
	return box;
}

/* Sets box.state to the result of argument 1 (box.state, args ...). */
static Datum
advance(FunctionCallInfo fcinfo, Box *box, int nargs, const NullableDatum *args)
{
	LOCAL_FCINFO(inner, FUNC_MAX_ARGS);
	MemoryContext context;
	MemoryContext old;
	FmgrInfo	info;
	Datum		result;

	fmgr_info(PG_GETARG_OID(1), &info);
	InitFunctionCallInfoData(*inner, &info, nargs + 1, PG_GET_COLLATION(), fcinfo->context, fcinfo->resultinfo);
	inner->args[0] = box->state;
	memcpy(inner->args + 1, args, nargs * sizeof(NullableDatum));
	result = FunctionCallInvoke(inner);
	if (inner->isnull || result != box->state.value)
	{
		(void) AggCheckCallContext(fcinfo, &context);
		old = MemoryContextSwitchTo(context);
		result = inner->isnull ? 0 : datumCopy(result, false, -1);
		MemoryContextSwitchTo(old);
		if (!box->state.isnull)
			pfree(DatumGetPointer(box->state.value));
	}
	box->state.value = result;
	box->state.isnull = inner->isnull;
	PG_RETURN_POINTER(box);
}

/* far_partial_step(internal, transition function, its arguments after the state ...) advances a state. */
Datum
far_partial_step(PG_FUNCTION_ARGS)
{
	return advance(fcinfo, box_argument(fcinfo), PG_NARGS() - 2, fcinfo->args + 2);
}

/* far_combine_step(internal, combine function, text) merges a state's text. */
Datum
far_combine_step(PG_FUNCTION_ARGS)
{
	Box		   *box = box_argument(fcinfo);
	NullableDatum other = {.isnull = PG_ARGISNULL(2)};
	Oid			function;
	Oid			parameter;

	getTypeInputInfo(box->type, &function, &parameter);
	if (!other.isnull)
		other.value = OidInputFunctionCall(function, text_to_cstring(PG_GETARG_TEXT_PP(2)), parameter, -1);
	return advance(fcinfo, box, 1, &other);
}

/* far_text(internal) returns the state as text. */
Datum
far_text(PG_FUNCTION_ARGS)
{
	const Box  *box = PG_ARGISNULL(0) ? NULL : (const Box *) PG_GETARG_POINTER(0);
	Oid			function;
	bool		is_varlena;

	if (box == NULL || box->state.isnull)
		PG_RETURN_NULL();
	getTypeOutputInfo(box->type, &function, &is_varlena);
	PG_RETURN_TEXT_P(cstring_to_text(OidOutputFunctionCall(function, box->state.value)));
}
