/*
 * rewrite.c: the planner support function of gpu_ols and gpu_logreg. It turns a call over the results of array_agg into
 * an aggregate over the rows.
 *
 *	gpu_ols(array_agg(x), array_agg(y), i)	-> gpu_ols_coef(gpu_ols_array_pass(y, ARRAY[x]), i)
 *	gpu_ols(array_agg(ARRAY[x1, ..]), ...)	-> gpu_ols_coef(gpu_ols_array_pass(y, ARRAY[x1, ..]), i)
 *	gpu_ols(array_agg(v), array_agg(y), i)	-> gpu_ols_coef(gpu_ols_vector_pass(y, v), i)
 *	gpu_logreg(array_agg(v), array_agg(y), i, l2) -> gpu_logreg_rows_agg(y, v, i, l2), and likewise for x
 *
 * Then no arrays are built: the aggregate runs in parallel workers, in bounded memory, over any number of rows. The
 * call stays if the aggregate might give another result, or if the user may not call it. The replacing functions are
 * found by OID, as members of the extension that the called function belongs to.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "nodes/supportnodes.h"
#include "optimizer/optimizer.h"
#include "optimizer/planmain.h"
#include "optimizer/tlist.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "compute/base/compute.h"
#include "rows/query/wrapper.h"
#include "run/args.h"
#include "run/device.h"
#include "sql/server/rewrite.h"

PG_FUNCTION_INFO_V1(gr_array_support);

bool		gr_enable_rewrite = true;

/* An argument of the call: its array_agg, and the element that a row adds to the array */
typedef struct ArrayArgument
{
	Aggref	   *aggregate;
	Expr	   *value;
} ArrayArgument;

/*
 * Coercions
 */

typedef struct ElementContext
{
	Expr	   *value;
	int			nplaced;
	bool		failed;
} ElementContext;

/* Replaces the CaseTestExpr in the coercion of an element by the value. */
static Node *
place_value(Node *node, void *arg)
{
	ElementContext *context = arg;

	if (node == NULL)
		return NULL;
	if (IsA(node, CaseTestExpr))
	{
		context->nplaced++;
		context->failed |= ((CaseTestExpr *) node)->typeId != exprType((Node *) context->value);
		return (Node *) context->value;
	}
	/* CASE and array coercions use CaseTestExpr themselves */
	if (IsA(node, CaseExpr) || IsA(node, ArrayCoerceExpr))
	{
		context->failed = true;
		return node;
	}
	return expression_tree_mutator(node, place_value, arg);
}

/*
 * Returns the value, coerced as an element of an array. NULL if the coercion does not use the value exactly once: a
 * user's function, once inlined, may use it several times or never.
 */
static Expr *
coerce_element(const ArrayCoerceExpr *coercion, Expr *value)
{
	ElementContext context = {.value = value};
	Node	   *coerced = place_value((Node *) coercion->elemexpr, &context);

	return context.failed || context.nplaced != 1 ? NULL : (Expr *) coerced;
}

/* Returns the elements of ARRAY[..] if they are not arrays; NIL for any other expression. */
static List *
array_elements(const Expr *value)
{
	const ArrayExpr *array = (const ArrayExpr *) value;

	return IsA(value, ArrayExpr) && !array->multidims ? array->elements : NIL;
}

/* Returns the array of one row, coerced as the array of all rows is; NULL as coerce_element() does. */
static Expr *
coerce_vector(ArrayCoerceExpr *coercion, Expr *value)
{
	List	   *elements = array_elements(value);
	List	   *coerced = NIL;
	ListCell   *cell;
	ArrayCoerceExpr *array;

	if (elements == NIL)
	{
		array = copyObject(coercion);
		array->arg = value;
		return (Expr *) array;
	}
	foreach(cell, elements)
	{
		Expr	   *element = coerce_element(coercion, lfirst(cell));

		if (element == NULL)
			return NULL;
		coerced = lappend(coerced, element);
	}
	return gr_wrapper_array(coerced, get_element_type(coercion->resulttype));
}

/*
 * Opens an argument of the call. Returns false unless it is an array_agg over this query's rows, perhaps coerced. An
 * aggregate with a number (aggno) has already been planned.
 */
static bool
open_argument(Node *node, ArrayArgument *argument)
{
	if (IsA(node, ArrayCoerceExpr))
	{
		ArrayCoerceExpr *coercion = (ArrayCoerceExpr *) node;

		if (!open_argument((Node *) coercion->arg, argument))
			return false;
		argument->value = argument->aggregate->aggfnoid == F_ARRAY_AGG_ANYARRAY ?
			coerce_vector(coercion, argument->value) : coerce_element(coercion, argument->value);
		return argument->value != NULL;
	}
	if (IsA(node, RelabelType))
	{
		const RelabelType *relabel = (const RelabelType *) node;

		return exprType((Node *) relabel->arg) == relabel->resulttype &&
			open_argument((Node *) relabel->arg, argument);
	}
	if (!IsA(node, Aggref))
		return false;
	argument->aggregate = (Aggref *) node;
	if ((argument->aggregate->aggfnoid != F_ARRAY_AGG_ANYNONARRAY &&
		 argument->aggregate->aggfnoid != F_ARRAY_AGG_ANYARRAY) ||
		argument->aggregate->agglevelsup != 0 || argument->aggregate->aggdistinct != NIL ||
		argument->aggregate->aggno >= 0)
		return false;
	argument->value = copyObject(linitial_node(TargetEntry, argument->aggregate->args)->expr);
	return true;
}

/*
 * Conditions of the rewrite
 */

/* True if both aggregates order their rows alike. The order is then dropped, unless a sort key is volatile. */
static bool
same_order(const Aggref *a, const Aggref *b)
{
	ListCell   *cell_a;
	ListCell   *cell_b;

	if (list_length(a->aggorder) != list_length(b->aggorder))
		return false;
	forboth(cell_a, a->aggorder, cell_b, b->aggorder)
	{
		SortGroupClause *sort_a = lfirst(cell_a);
		SortGroupClause *sort_b = lfirst(cell_b);
		Node	   *key = get_sortgroupclause_expr(sort_a, a->args);

		if (sort_a->sortop != sort_b->sortop || sort_a->nulls_first != sort_b->nulls_first ||
			!equal(key, get_sortgroupclause_expr(sort_b, b->args)) || contain_volatile_functions(key))
			return false;
	}
	return true;
}

static bool
same_rows(const Aggref *a, const Aggref *b)
{
	return equal(a->aggfilter, b->aggfilter) && !contain_volatile_functions((Node *) a->aggfilter) && same_order(a, b);
}

/* True if the expression uses anything but constants, parameters of the statement, and functions of these. */
static bool
is_of_rows(Node *node, void *context)
{
	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_Var:
		case T_PlaceHolderVar:
		case T_Aggref:
		case T_GroupingFunc:
		case T_WindowFunc:
		case T_SubLink:
		case T_SubPlan:
		case T_AlternativeSubPlan:
			return true;
		case T_Param:
			return ((Param *) node)->paramkind != PARAM_EXTERN;
		default:
			return expression_tree_walker(node, is_of_rows, context);
	}
}

/* True if the arguments after x and y are options that are the same for all rows. */
static bool
has_plain_options(const FuncExpr *call)
{
	for (int k = 2; k < list_length(call->args); k++)
	{
		Node	   *option = list_nth(call->args, k);

		/* the aggregate would call a stable function for each row */
		if (is_of_rows(option, NULL) || contain_mutable_functions(option))
			return false;
	}
	return true;
}

/* True if the current user may call the function. */
static bool
may_execute(Oid function)
{
	return gr_may_execute(function, GetUserId());
}

/*
 * Rewritten calls
 */

/* Returns another aggregate over the rows of like. args must have the types that function declares. */
static Expr *
make_aggregate(const Aggref *like, Oid function, List *args)
{
	Aggref	   *aggregate = gr_make_aggregate(function, args);

	aggregate->aggfilter = copyObject(like->aggfilter);
	aggregate->location = like->location;
	return (Expr *) aggregate;
}

/* Rewrites gpu_ols(x, y, intercept). vector: x is an array whose length is not known. */
static Node *
rewrite_ols(const FuncExpr *call, const Aggref *like, Expr *y, Expr *x, bool vector)
{
	Oid			types[2] = {FLOAT8OID, FLOAT8ARRAYOID};
	Oid			pass = gr_find_own_function(call->funcid, vector ? "gpu_ols_vector_pass" : "gpu_ols_array_pass", 2,
											types, InvalidOid);
	Oid			coef_types[2] = {InvalidOid, BOOLOID};
	Oid			coef;

	if (!OidIsValid(pass))
		return NULL;
	coef_types[0] = get_func_rettype(pass);
	coef = gr_find_own_function(call->funcid, "gpu_ols_coef", 2, coef_types, FLOAT8ARRAYOID);
	if (!OidIsValid(coef) || !may_execute(pass) || !may_execute(coef))
		return NULL;
	return (Node *) gr_wrapper_call(coef, list_make2(make_aggregate(like, pass, list_make2(y, x)),
													 copyObject(lthird(call->args))));
}

/* Rewrites gpu_logreg(x, y, intercept, l2). */
static Node *
rewrite_logreg(const FuncExpr *call, const Aggref *like, Expr *y, Expr *x)
{
	Oid			types[4] = {exprType((Node *) y), FLOAT8ARRAYOID, BOOLOID, FLOAT8OID};
	Oid			aggregate = gr_find_own_function(call->funcid, "gpu_logreg_rows_agg", 4, types, FLOAT8ARRAYOID);

	if (!OidIsValid(aggregate) || !may_execute(aggregate))
		return NULL;
	return (Node *) make_aggregate(like, aggregate, list_make4(y, x, copyObject(lthird(call->args)),
															   copyObject(lfourth(call->args))));
}

/* Returns the call as an aggregate, or NULL if it must stay. */
static Node *
rewrite(const FuncExpr *call)
{
	ArrayArgument x;
	ArrayArgument y;
	bool		vector = false;
	Oid			response;

	if (list_length(call->args) < 3 || !open_argument(linitial(call->args), &x) ||
		!open_argument(lsecond(call->args), &y) || y.aggregate->aggfnoid != F_ARRAY_AGG_ANYNONARRAY ||
		!same_rows(x.aggregate, y.aggregate) || !has_plain_options(call))
		return NULL;
	if (x.aggregate->aggfnoid == F_ARRAY_AGG_ANYNONARRAY)
		x.value = gr_wrapper_array(list_make1(x.value), exprType((Node *) x.value));
	else
		vector = list_length(array_elements(x.value)) < 1 || list_length(array_elements(x.value)) > GR_MAX_FEATURES;
	if (exprType((Node *) x.value) != FLOAT8ARRAYOID || !may_execute(call->funcid) ||
		!may_execute(x.aggregate->aggfnoid) || !may_execute(y.aggregate->aggfnoid))
		return NULL;
	response = exprType((Node *) y.value);
	if (list_length(call->args) == 3 && response == FLOAT8OID)
		return rewrite_ols(call, x.aggregate, y.value, x.value, vector);
	if (list_length(call->args) == 4 && (response == FLOAT8OID || response == BOOLOID))
		return rewrite_logreg(call, x.aggregate, y.value, x.value);
	return NULL;
}

/* gpu_array_support(internal): returns NULL to leave the call unchanged */
Datum
gr_array_support(PG_FUNCTION_ARGS)
{
	Node	   *request = (Node *) PG_GETARG_POINTER(0);
	SupportRequestSimplify *simplify = (SupportRequestSimplify *) request;
	Node	   *result;

	if (!IsA(request, SupportRequestSimplify) || !gr_enable_rewrite || gr_device == GR_DEVICE_GPU)
		PG_RETURN_POINTER(NULL);
	result = rewrite(simplify->fcall);
	/* a cached plan is rebuilt for another role, and when privileges on the function change */
	if (result != NULL && simplify->root != NULL)
	{
		simplify->root->glob->dependsOnRole = true;
		record_plan_function_dependency(simplify->root, simplify->fcall->funcid);
	}
	PG_RETURN_POINTER(result);
}
