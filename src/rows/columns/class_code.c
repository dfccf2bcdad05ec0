/*
 * class_code.c: gpu_class_code(labels text[], "any"), the number of a response's class, in queries of classes.c.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "rows/columns/levels.h"

PG_FUNCTION_INFO_V1(gr_class_code);

/* The labels of a call site, which are constant in the extension's own queries */
typedef struct ClassCall
{
	MemoryContext context;		/* owns this struct */
	Oid			type;
	struct varlena *labels;		/* copy of the argument */
	GrLevels	levels;
} ClassCall;

static ClassCall *
describe_call(FunctionCallInfo fcinfo, const struct varlena *labels)
{
	MemoryContext context = AllocSetContextCreate(fcinfo->flinfo->fn_mcxt, "gpureg classes", ALLOCSET_SMALL_SIZES);
	Oid			type = get_fn_expr_argtype(fcinfo->flinfo, 1);
	ArrayType  *array = PG_GETARG_ARRAYTYPE_P(0);
	MemoryContext old = MemoryContextSwitchTo(context);
	ClassCall  *call = palloc0(sizeof(ClassCall));
	Datum	   *items;
	int			n;

	call->context = context;
	call->labels = memcpy(palloc(VARSIZE_ANY(labels)), labels, VARSIZE_ANY(labels));
	call->type = OidIsValid(type) ? getBaseType(type) : InvalidOid;
	if (!OidIsValid(call->type) || !gr_is_level_type(call->type) || array_contains_nulls(array))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("classes must be texts, enums, numbers or booleans"),
				 errhint("Do not call this function: gpureg uses it in its own queries.")));
	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &items, NULL, &n);
	for (int k = 0; k < n; k++)
	{
		char	   *label = TextDatumGetCString(items[k]);

		if (!gr_level_add(&call->levels, (GrString) {label, (int) strlen(label)}, gr_context_memory(context)))
			ereport(ERROR,
					(errcode(ERRCODE_OUT_OF_MEMORY),
					 errmsg("out of memory")));
	}
	MemoryContextSwitchTo(old);
	return call;
}

/* True if the labels are those of the last call. */
static bool
has_labels(const ClassCall *call, const struct varlena *labels)
{
	return VARSIZE_ANY(call->labels) == VARSIZE_ANY(labels) &&
		memcmp(call->labels, labels, VARSIZE_ANY(labels)) == 0;
}

/* gpu_class_code(labels text[], value "any"): the position of the value among the labels, from 0; -1 if it is none */
Datum
gr_class_code(PG_FUNCTION_ARGS)
{
	ClassCall  *call = fcinfo->flinfo->fn_extra;
	struct varlena *labels = (struct varlena *) PG_GETARG_POINTER(0);
	GrString	level;

	if (unlikely(call == NULL || !has_labels(call, labels)))
	{
		fcinfo->flinfo->fn_extra = NULL;
		if (call != NULL)
			MemoryContextDelete(call->context);
		fcinfo->flinfo->fn_extra = call = describe_call(fcinfo, labels);
	}
	level = gr_level_of(call->type, PG_GETARG_DATUM(1));
	PG_RETURN_FLOAT8(gr_level_find(&call->levels, level.bytes, level.nbytes));
}
