/*
 * scan_transitions.c: runs transition functions of aggregates that stand beside this extension's in a custom scan.
 *
 * Transition functions may ask for the node that calls them (AggCheckCallContext() and its like). They are given an
 * AggState that only has what these questions read: the memory of transition values and the aggregate.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "executor/nodeAgg.h"
#include "parser/parse_agg.h"
#include "parser/parse_coerce.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/expandeddatum.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "rows/scan/scan_transitions.h"
#include "rows/scan/scan_values.h"
#include "run/args.h"
#include "run/compat.h"
#include "run/spool.h"

/* A transition, combine, serialization or deserialization function, and a call of it */
typedef struct Call
{
	FmgrInfo	function;
	FunctionCallInfo fcinfo;	/* NULL: the aggregate has no such function */
} Call;

struct GrTransition
{
	AggState	node;			/* given to the functions as the calling node */
	AggStatePerTransData of_aggregate;	/* node.curpertrans */
	ExprContext *memory;
	Call		transition;
	Call		combine;
	Call		serialize;
	Call		deserialize;
	bool		counts;			/* the function adds 1 for each row whose arguments aren't NULL */
	int			nargs;
	ExprState **args;			/* [nargs] */
	int16	   *arg_nbytes;		/* [nargs] widths of direct arguments; -1: a varlena */
	int16		nbytes;			/* the transition type's typlen */
	bool		by_value;
	bool		initial_isnull;
	Datum		initial;		/* initial transition value */
};

/*
 * Recognising aggregates
 */

/* Returns the row of pg_aggregate. The caller releases it. */
static HeapTuple
aggregate_tuple(Oid aggregate)
{
	HeapTuple	tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(aggregate));

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for aggregate %u", aggregate);
	return tuple;
}

/* True if the first input may become the value of a strict transition function without an initial value. */
static bool
may_begin_with_input(const Aggref *aggregate, HeapTuple tuple)
{
	Oid			types[FUNC_MAX_ARGS];
	bool		no_initial;

	(void) SysCacheGetAttr(AGGFNOID, tuple, Anum_pg_aggregate_agginitval, &no_initial);
	if (!no_initial || !func_strict(((Form_pg_aggregate) GETSTRUCT(tuple))->aggtransfn))
		return true;
	return get_aggregate_argtypes(unconstify(Aggref *, aggregate), types) > 0 &&
		IsBinaryCoercible(types[0], aggregate->aggtranstype);
}

bool
gr_transition_possible(const Aggref *aggregate)
{
	HeapTuple	tuple;
	Form_pg_aggregate form;
	bool		possible;

	if (aggregate->aggkind != AGGKIND_NORMAL || aggregate->aggorder != NIL || aggregate->aggdistinct != NIL ||
		aggregate->agglevelsup != 0 || !OidIsValid(aggregate->aggtranstype))
		return false;
	tuple = aggregate_tuple(aggregate->aggfnoid);
	form = (Form_pg_aggregate) GETSTRUCT(tuple);
	possible = form->aggkind == AGGKIND_NORMAL && OidIsValid(form->aggcombinefn) &&
		OidIsValid(form->aggserialfn) == (aggregate->aggtranstype == INTERNALOID) &&
		OidIsValid(form->aggdeserialfn) == (aggregate->aggtranstype == INTERNALOID) &&
		may_begin_with_input(aggregate, tuple);
	ReleaseSysCache(tuple);
	return possible;
}

/*
 * Preparing calls
 */

/* Prepares a call of function with nargs arguments. expression: tells the function its arguments' types */
static void
prepare_call(Call *call, Oid function, Oid owner, int nargs, Expr *expression, GrTransition *transition, bool explains)
{
	if (!explains && !gr_may_execute(function, owner))
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_FUNCTION, get_func_name(function));
	fmgr_info(function, &call->function);
	fmgr_info_set_expr((Node *) expression, &call->function);
	call->fcinfo = palloc0(SizeForFunctionCallInfo(nargs));
	InitFunctionCallInfoData(*call->fcinfo, &call->function, nargs, transition->of_aggregate.aggref->inputcollid,
							 (Node *) &transition->node, NULL);
}

/* Sets the initial value from its text in pg_aggregate. */
static void
set_initial(GrTransition *transition, HeapTuple tuple, Oid type)
{
	Datum		initial = SysCacheGetAttr(AGGFNOID, tuple, Anum_pg_aggregate_agginitval, &transition->initial_isnull);
	Oid			input;
	Oid			parameter;

	if (transition->initial_isnull)
		return;
	getTypeInputInfo(type, &input, &parameter);
	transition->initial = OidInputFunctionCall(input, TextDatumGetCString(initial), parameter, -1);
}

static void
prepare_calls(GrTransition *transition, const Aggref *aggregate, Form_pg_aggregate form, bool explains)
{
	Oid			types[FUNC_MAX_ARGS];
	int			n = get_aggregate_argtypes(unconstify(Aggref *, aggregate), types);
	Oid			type = aggregate->aggtranstype;
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(aggregate->aggfnoid));
	Oid			owner;
	Expr	   *expression;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u", aggregate->aggfnoid);
	owner = ((Form_pg_proc) GETSTRUCT(tuple))->proowner;
	ReleaseSysCache(tuple);
	build_aggregate_transfn_expr(types, n, 0, aggregate->aggvariadic, type, aggregate->inputcollid, form->aggtransfn,
								 InvalidOid, &expression, NULL);
	prepare_call(&transition->transition, form->aggtransfn, owner, n + 1, expression, transition, explains);
	build_aggregate_transfn_expr(&type, 1, 0, false, type, aggregate->inputcollid, form->aggcombinefn, InvalidOid,
								 &expression, NULL);
	prepare_call(&transition->combine, form->aggcombinefn, owner, 2, expression, transition, explains);
	if (!OidIsValid(form->aggserialfn))
		return;
	build_aggregate_serialfn_expr(form->aggserialfn, &expression);
	prepare_call(&transition->serialize, form->aggserialfn, owner, 1, expression, transition, explains);
	build_aggregate_deserialfn_expr(form->aggdeserialfn, &expression);
	prepare_call(&transition->deserialize, form->aggdeserialfn, owner, 2, expression, transition, explains);
}

GrTransition *
gr_transition_create(const Aggref *aggregate, PlanState *parent, ExprContext *memory, bool explains)
{
	GrTransition *transition = palloc0(sizeof(GrTransition));
	HeapTuple	tuple;
	ListCell   *cell;

	if (!gr_transition_possible(aggregate))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("aggregate %s was changed since the statement was planned", get_func_name(aggregate->aggfnoid)),
				 errhint("Run the statement again.")));
	NodeSetTag(&transition->node, T_AggState);
	gr_transition_use(transition, memory);
	transition->node.tmpcontext = parent->ps_ExprContext;
	transition->node.curpertrans = &transition->of_aggregate;
	transition->of_aggregate.aggref = unconstify(Aggref *, aggregate);
	tuple = aggregate_tuple(aggregate->aggfnoid);
	prepare_calls(transition, aggregate, (Form_pg_aggregate) GETSTRUCT(tuple), explains);
	set_initial(transition, tuple, aggregate->aggtranstype);
	ReleaseSysCache(tuple);
	get_typlenbyval(aggregate->aggtranstype, &transition->nbytes, &transition->by_value);
	transition->counts = transition->transition.function.fn_oid == F_INT8INC ||
		transition->transition.function.fn_oid == F_INT8INC_ANY;
	transition->args = palloc0(Max(list_length(aggregate->args), 1) * sizeof(ExprState *));
	transition->arg_nbytes = palloc0(Max(list_length(aggregate->args), 1) * sizeof(int16));
	foreach(cell, aggregate->args)
		transition->args[transition->nargs++] = ExecInitExpr(((TargetEntry *) lfirst(cell))->expr, parent);
	return transition;
}

void
gr_transition_use(GrTransition *transition, ExprContext *memory)
{
	transition->node.curaggcontext = transition->memory = memory;
}

int
gr_transition_nargs(const GrTransition *transition)
{
	return transition->nargs;
}

bool
gr_transition_direct(GrTransition *transition, TupleDesc table, AttrNumber *attributes)
{
	List	   *args = transition->of_aggregate.aggref->args;

	for (int k = 0; k < transition->nargs; k++)
	{
		const Var  *var = (const Var *) ((TargetEntry *) list_nth(args, k))->expr;
		Form_pg_attribute attribute;

		if (!IsA(var, Var) || var->varattno < 1 || var->varattno > table->natts)
			return false;
		attribute = TupleDescAttr(table, var->varattno - 1);
		if (attribute->atttypid != var->vartype || attribute->attisdropped ||
			(!attribute->attbyval && (attribute->attlen != -1 || attribute->attalign != TYPALIGN_INT)))
			return false;
		attributes[k] = var->varattno;
		transition->arg_nbytes[k] = attribute->attlen;
	}
	return true;
}

/*
 * Transition values
 */

/* Copies a value into the memory of transition values, unless it is there. */
static Datum
keep(const GrTransition *transition, Datum value)
{
	MemoryContext context = transition->memory->ecxt_per_tuple_memory;
	MemoryContext old;

	if (DatumIsReadWriteExpandedObject(value, false, transition->nbytes) &&
		MemoryContextGetParent(DatumGetEOHP(value)->eoh_context) == context)
		return value;
	old = MemoryContextSwitchTo(context);
	value = datumCopy(value, transition->by_value, transition->nbytes);
	MemoryContextSwitchTo(old);
	return value;
}

/* Replaces value, of a type passed by reference, with a function's result. */
static pg_noinline void
replace(const GrTransition *transition, GrTransitionValue *value, Datum result, bool isnull)
{
	Datum		before = value->value;

	value->value = isnull ? (Datum) 0 : keep(transition, result);
	if (value->isnull)
		return;
	if (DatumIsReadWriteExpandedObject(before, false, transition->nbytes))
		DeleteExpandedObject(before);
	else
		pfree(DatumGetPointer(before));
}

/* Sets value to the initial value. */
static pg_noinline void
begin(const GrTransition *transition, GrTransitionValue *value)
{
	value->begun = true;
	value->isnull = value->awaits_input = transition->initial_isnull;
	value->value = value->isnull ? (Datum) 0 : keep(transition, transition->initial);
}

/* Makes a function's result the value. */
static inline void
set_value(const GrTransition *transition, GrTransitionValue *value, Datum result, bool isnull)
{
	if (!transition->by_value && DatumGetPointer(result) != DatumGetPointer(value->value))
		replace(transition, value, result, isnull);
	else
		value->value = result;
	value->isnull = isnull;
	value->awaits_input = false;
}

/* Applies the transition or combine function to value and the arguments in the call. */
static inline void
apply(GrTransition *transition, Call *call, GrTransitionValue *value)
{
	FunctionCallInfo fcinfo = call->fcinfo;
	Datum		result;

	if (unlikely(!value->begun))
		begin(transition, value);
	if (call->function.fn_strict)
	{
		for (int k = 1; k < fcinfo->nargs; k++)
			if (fcinfo->args[k].isnull)
				return;
		if (value->awaits_input)
		{
			value->value = keep(transition, fcinfo->args[1].value);
			value->isnull = value->awaits_input = false;
			return;
		}
		if (value->isnull)
			return;
	}
	fcinfo->args[0].value = value->value;
	fcinfo->args[0].isnull = value->isnull;
	fcinfo->isnull = false;
	result = FunctionCallInvoke(fcinfo);
	set_value(transition, value, result, fcinfo->isnull);
}

void
gr_transition_take(GrTransition *transition, GrTransitionValue *value, ExprContext *econtext)
{
	NullableDatum *args = transition->transition.fcinfo->args + 1;

	for (int k = 0; k < transition->nargs; k++)
		args[k].value = ExecEvalExpr(transition->args[k], econtext, &args[k].isnull);
	apply(transition, &transition->transition, value);
}

/* Returns the value of nbytes bytes, or the varlena if nbytes is -1, at address at. */
static inline Datum
read_argument(int16 nbytes, const char *at)
{
	return nbytes < 0 ? PointerGetDatum(gr_heap_varlena(at)) : gr_read_by_value(nbytes, at);
}

void
gr_transition_take_direct(GrTransition *transition, GrTransitionValue *value, const char *data, const int32 *at)
{
	NullableDatum *args = transition->transition.fcinfo->args + 1;

	for (int k = 0; k < transition->nargs; k++)
	{
		args[k].isnull = at[k] < 0;
		args[k].value = args[k].isnull ? (Datum) 0 : read_argument(transition->arg_nbytes[k], data + at[k]);
	}
	apply(transition, &transition->transition, value);
}

/*
 * Does what gr_transition_take_rows() does, for one argument, until value is NULL or is replaced by another one in
 * memory. Returns the number of rows taken.
 */
static int
take_quickly(GrTransition *transition, GrTransitionValue *value, const char *const *rows, int n, int32 at)
{
	FunctionCallInfo fcinfo = transition->transition.fcinfo;
	const PGFunction function = transition->transition.function.fn_addr;
	const int16 nbytes = transition->arg_nbytes[0];
	const bool	by_value = transition->by_value;
	Datum		state = value->value;
	int			k = 0;

	fcinfo->args[0].isnull = fcinfo->args[1].isnull = fcinfo->isnull = false;
	while (k < n)
	{
		Datum		result;

		fcinfo->args[0].value = state;
		fcinfo->args[1].value = read_argument(nbytes, rows[k++] + at);
		result = function(fcinfo);
		if (unlikely(fcinfo->isnull || (!by_value && result != state)))
		{
			value->value = state;
			set_value(transition, value, result, fcinfo->isnull);
			return k;
		}
		state = result;
	}
	value->value = state;
	return k;
}

/* Counts n rows for count(). Returns false if value is NULL, as it cannot be with the functions of the catalogs. */
static bool
count_rows(const GrTransition *transition, GrTransitionValue *value, int n)
{
	int64		count;

	if (!value->begun)
		begin(transition, value);
	if (value->isnull)
		return false;
	count = DatumGetInt64(value->value);
	gr_add_count(&count, n);
	value->value = Int64GetDatum(count);
	return true;
}

void
gr_transition_take_rows(GrTransition *transition, GrTransitionValue *value, const char *const *rows, int n,
						const int32 *at)
{
	int			k = 0;

	if (n == 0 || (transition->counts && count_rows(transition, value, n)))
		return;
	while (k < n)
	{
		if (transition->nargs == 1 && value->begun && !value->isnull)
			k += take_quickly(transition, value, rows + k, n - k, at[0]);
		else
			gr_transition_take_direct(transition, value, rows[k++], at);
	}
}

/*
 * Partial states
 */

Datum
gr_transition_partial(GrTransition *transition, GrTransitionValue *value, bool *isnull)
{
	FunctionCallInfo fcinfo = transition->serialize.fcinfo;
	Datum		state;

	if (!value->begun)
		begin(transition, value);
	*isnull = value->isnull;
	state = value->isnull ? (Datum) 0 : transition->by_value ? value->value :
		MakeExpandedObjectReadOnly(value->value, false, transition->nbytes);
	if (fcinfo == NULL || (value->isnull && transition->serialize.function.fn_strict))
		return state;
	fcinfo->args[0].value = state;
	fcinfo->args[0].isnull = value->isnull;
	fcinfo->isnull = false;
	state = FunctionCallInvoke(fcinfo);
	*isnull = fcinfo->isnull;
	return state;
}

/* A partial state in a file */
typedef struct Written
{
	bool		isnull;
	Size		nbytes;			/* size of the state, which follows */
} Written;

void
gr_transition_write(GrTransition *transition, GrTransitionValue *value, BufFile *file)
{
	Written		head = {0};
	bool		serialized = transition->serialize.fcinfo != NULL;
	Datum		state = gr_transition_partial(transition, value, &head.isnull);
	const void *bytes = NULL;

	if (!head.isnull && !serialized && transition->by_value)
	{
		head.nbytes = sizeof(Datum);
		bytes = &state;
	}
	else if (!head.isnull)
	{
		/* flatten expanded objects */
		state = datumCopy(state, false, serialized ? -1 : transition->nbytes);
		head.nbytes = datumGetSize(state, false, serialized ? -1 : transition->nbytes);
		bytes = DatumGetPointer(state);
	}
	BufFileWrite(file, &head, sizeof(head));
	if (head.nbytes > 0)
		BufFileWrite(file, unconstify(void *, bytes), head.nbytes);
}

/* Reads the bytes of a partial state into the current memory context. */
static void *
read_bytes(BufFile *file, Written *head)
{
	void	   *bytes;

	gr_file_read(file, head, sizeof(*head));
	bytes = palloc_extended(Max(head->nbytes, 1), MCXT_ALLOC_HUGE);
	gr_file_read(file, bytes, head->nbytes);
	return bytes;
}

void
gr_transition_merge(GrTransition *transition, GrTransitionValue *value, BufFile *file)
{
	Written		head;
	void	   *bytes = read_bytes(file, &head);
	FunctionCallInfo deserialize = transition->deserialize.fcinfo;
	NullableDatum *other = &transition->combine.fcinfo->args[1];

	other->isnull = head.isnull;
	other->value = head.isnull ? (Datum) 0 : deserialize == NULL && transition->by_value ? *(Datum *) bytes :
		PointerGetDatum(bytes);
	if (deserialize != NULL && !(head.isnull && transition->deserialize.function.fn_strict))
	{
		deserialize->args[0] = *other;
		deserialize->args[1].value = (Datum) 0;
		deserialize->args[1].isnull = false;
		deserialize->isnull = false;
		other->value = FunctionCallInvoke(deserialize);
		other->isnull = deserialize->isnull;
	}
	apply(transition, &transition->combine, value);
}

void
gr_transition_copy(BufFile *from, BufFile *to)
{
	Written		head;
	void	   *bytes = read_bytes(from, &head);

	BufFileWrite(to, &head, sizeof(head));
	BufFileWrite(to, bytes, head.nbytes);
}
