/*
 * predict_plan.c: better plans for statements that predict the rows of a table by a model, such as
 *
 *	   SELECT gpu_predict(clf.m, t.x1, t.x2) FROM t, clf
 *
 * Two things would keep such a statement in one process although it reads millions of rows. The planner assumes that a
 * prediction costs as little as an addition; gr_predict_support() tells it the real cost. Before PostgreSQL 18 it does
 * not consider a parallel nested loop whose inner side is materialized, so that workers would scan the table of the
 * model once for each row; a hook adds that path where the inner side has a model.
 */
#include "postgres.h"

#include "catalog/dependency.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "fmgr.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "nodes/supportnodes.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "run/compat.h"
#include "sql/server/predict_plan.h"

PG_FUNCTION_INFO_V1(gr_predict_support);

/* Cost per call, per value, and per array or row, whose length is not known; in units of cpu_operator_cost. */
#define CALL_COST 10
#define VALUE_COST 0.5
#define SEVERAL_COST 20

/* gpu_predict_support(internal): support function of gpu_predict, which estimates the cost of a call */
Datum
gr_predict_support(PG_FUNCTION_ARGS)
{
	Node	   *request = (Node *) PG_GETARG_POINTER(0);
	SupportRequestCost *cost = (SupportRequestCost *) request;
	double		units = CALL_COST;
	ListCell   *cell;

	if (!IsA(request, SupportRequestCost) || cost->node == NULL || !IsA(cost->node, FuncExpr))
		PG_RETURN_POINTER(NULL);
	for_each_from(cell, ((FuncExpr *) cost->node)->args, 1)
	{
		Oid			type = exprType(lfirst(cell));

		units += type_is_array_domain(type) || type_is_rowtype(type) || type == JSONBOID ? SEVERAL_COST : VALUE_COST;
	}
	cost->startup = 0;
	cost->per_tuple = units * cpu_operator_cost;
	PG_RETURN_POINTER(cost);
}

#if PG_VERSION_NUM < 180000
static set_join_pathlist_hook_type previous_hook = NULL;

/* True if relation passes a value of gpureg's type gpu_model to the join above it. */
static bool
has_model(const RelOptInfo *relation)
{
	ListCell   *cell;

	foreach(cell, relation->reltarget->exprs)
	{
		Oid			type = exprType(lfirst(cell));
		Oid			extension;

		if (!type_is_rowtype(type))
			continue;
		extension = getExtensionOfObject(TypeRelationId, type);
		if (OidIsValid(extension) && extension == get_extension_oid("gpureg", true))
			return true;
	}
	return false;
}

/* Adds the parallel nested loop with a materialized inner relation, as PostgreSQL 18 does. */
static void
add_materialized_loop(PlannerInfo *root, RelOptInfo *join, RelOptInfo *outer, RelOptInfo *inner, JoinType type,
					  JoinPathExtraData *extra)
{
	Path	   *partial = linitial(outer->partial_pathlist);
	Path	   *materialized = (Path *) create_material_path(inner, inner->cheapest_total_path);
	JoinCostWorkspace workspace;

	initial_cost_nestloop(root, &workspace, type, partial, materialized, extra);
	if (add_partial_path_precheck(join, workspace.total_cost, NIL))
		add_partial_path(join, (Path *) create_nestloop_path(root, join, type, &workspace, extra, partial, materialized,
															 extra->restrictlist, NIL, NULL));
}

static void
join_paths(PlannerInfo *root, RelOptInfo *join, RelOptInfo *outer, RelOptInfo *inner, JoinType type,
		   JoinPathExtraData *extra)
{
	if (previous_hook != NULL)
		previous_hook(root, join, outer, inner, type, extra);
	if ((type == JOIN_INNER || type == JOIN_LEFT) && enable_material && join->consider_parallel &&
		bms_is_empty(join->lateral_relids) && outer->partial_pathlist != NIL && inner->cheapest_total_path != NULL &&
		inner->cheapest_total_path->parallel_safe && inner->cheapest_total_path->param_info == NULL &&
		has_model(inner))
		add_materialized_loop(root, join, outer, inner, type, extra);
}
#endif

void
gr_predict_plan_init(void)
{
#if PG_VERSION_NUM < 180000
	previous_hook = set_join_pathlist_hook;
	set_join_pathlist_hook = join_paths;
#endif
}
