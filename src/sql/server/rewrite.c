/*
 * rewrite.c: the planner support function of gpu_ols and gpu_logreg, which turns a call over arrays that array_agg
 * makes into an aggregate over the rows.
 *
 *	gpu_ols(array_agg(x), array_agg(y), i)	-> gpu_ols_coef(gpu_ols_array_pass(y, ARRAY[x]), i)
 *	gpu_ols(array_agg(ARRAY[x1, ..]), ...)	-> gpu_ols_coef(gpu_ols_array_pass(y, ARRAY[x1, ..]), i)
 *	gpu_ols(array_agg(v), array_agg(y), i)	-> gpu_ols_coef(gpu_ols_vector_pass(y, v), i)
 *	gpu_logreg(array_agg(v), array_agg(y), i, l2) -> gpu_logreg_rows_agg(y, v, i, l2), and likewise for x
 *
 * No arrays are built then: it runs in parallel workers, in bounded memory, over any number of rows. The call is left
 * as it is wherever the aggregate might give something else, or may not be called. What is put in its place is found by
 * OID, as a member of the extension that the function called belongs to.
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

/* An argument of the call: what array_agg aggregates, and of each row the value that the array would have */
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

/* Puts the value where the coercion of an element has the element. */
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
	/* those have a CaseTestExpr of their own */
	if (IsA(node, CaseExpr) || IsA(node, ArrayCoerceExpr))
	{
		context->failed = true;
		return node;
	}
	return expression_tree_mutator(node, place_value, arg);
}

/*
 * The value coerced as an element of an array is; NULL if that isn't so simple. A function of the user's may have been
 * inlined there, and want the value several times, or not at all.
 */
static Expr *
coerce_element(const ArrayCoerceExpr *coercion, Expr *value)
{
	ElementContext context = {.value = value};
	Node	   *coerced = place_value((Node *) coercion->elemexpr, &context);

	return context.failed || context.nplaced != 1 ? NULL : (Expr *) coerced;
}

/* The elements of ARRAY[..], which aren't arrays themselves; NIL of any other expression */
static List *
array_elements(const Expr *value)
{
	const ArrayExpr *array = (const ArrayExpr *) value;

	return IsA(value, ArrayExpr) && !array->multidims ? array->elements : NIL;
}

/* An array of each row, coerced as the array of all of them is; NULL likewise */
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
 * Opens an argument of the call; false unless it is array_agg, perhaps coerced, of this query's rows. One that the
 * planner has numbered is one that it has planned for already.
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
 * What must be the same
 */

/* Are the rows of both in the same order? It is dropped, but for one that is drawn anew for each of them. */
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

/* Is the expression anything but constants, parameters of the statement, and functions of those? */
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

/* Are the arguments behind x and y options that stay the same for all rows? */
static bool
has_plain_options(const FuncExpr *call)
{
	for (int k = 2; k < list_length(call->args); k++)
	{
		Node	   *option = list_nth(call->args, k);

		/* a stable function would be called for each row */
		if (is_of_rows(option, NULL) || contain_mutable_functions(option))
			return false;
	}
	return true;
}

/* May the present user call it? */
static bool
may_execute(Oid function)
{
	return gr_may_execute(function, GetUserId());
}

/*
 * What the call becomes
 */

/* The same rows by another aggregate, of arguments that have the types which it declares */
static Expr *
make_aggregate(const Aggref *like, Oid function, List *args)
{
	Aggref	   *aggregate = gr_make_aggregate(function, args);

	aggregate->aggfilter = copyObject(like->aggfilter);
	aggregate->location = like->location;
	return (Expr *) aggregate;
}

/* gpu_ols(x, y, intercept). vector: x is an array of each row of which nothing is known */
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

/* gpu_logreg(x, y, intercept, l2) */
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

/* The call by an aggregate, or NULL if it is to stay */
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

/* gpu_array_support(internal): NULL leaves the call alone. */
Datum
gr_array_support(PG_FUNCTION_ARGS)
{
	Node	   *request = (Node *) PG_GETARG_POINTER(0);
	SupportRequestSimplify *simplify = (SupportRequestSimplify *) request;
	Node	   *result;

	if (!IsA(request, SupportRequestSimplify) || !gr_enable_rewrite || gr_device == GR_DEVICE_GPU)
		PG_RETURN_POINTER(NULL);
	result = rewrite(simplify->fcall);
	/* so that a plan that is kept is made anew for another role, and when privileges on the function change */
	if (result != NULL && simplify->root != NULL)
	{
		simplify->root->glob->dependsOnRole = true;
		record_plan_function_dependency(simplify->root, simplify->fcall->funcid);
	}
	PG_RETURN_POINTER(result);
}
