/*
 * far_scan.c: a stand-in for an engine with remote tables: a custom scan reads tables whose names begin with far.
 *
 * Like Citus' scans, it estimates a cost of nothing and 100,000 rows for any table, and is never parallel. A NOTICE
 * reports each run and its number of rows; other NOTICEs have the text of each planned aggregate over a subquery, as an
 * engine sends it to its nodes. Loaded by session_preload_libraries.
 */
#include "postgres.h"

#include "access/tableam.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "nodes/extensible.h"
#include "optimizer/cost.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "optimizer/restrictinfo.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

typedef struct FarScan
{
	CustomScanState base;
	TableScanDesc scan;
	TupleTableSlot *row;
	int			nrows;
} FarScan;

static set_rel_pathlist_hook_type next_paths_hook;
static planner_hook_type next_planner_hook;

static TupleTableSlot *
next_row(ScanState *state)
{
	FarScan    *far = (FarScan *) state;

	if (!table_scan_getnextslot(far->scan, ForwardScanDirection, far->row))
		return ExecClearTuple(state->ss_ScanTupleSlot);
	far->nrows++;
	return ExecCopySlot(state->ss_ScanTupleSlot, far->row);
}

static bool
recheck(ScanState *state, TupleTableSlot *slot)
{
	return true;
}

static void
begin(CustomScanState *state, EState *estate, int flags)
{
	FarScan    *far = (FarScan *) state;
	Relation	relation = state->ss.ss_currentRelation;

	far->row = table_slot_create(relation, &estate->es_tupleTable);
	far->scan = table_beginscan(relation, estate->es_snapshot, 0, NULL);
}

static TupleTableSlot *
run(CustomScanState *state)
{
	return ExecScan(&state->ss, next_row, recheck);
}

static void
end(CustomScanState *state)
{
	FarScan    *far = (FarScan *) state;

	table_endscan(far->scan);
	ereport(NOTICE, (errmsg("far scan of %d rows", far->nrows)));
}

static void
rescan(CustomScanState *state)
{
	table_rescan(((FarScan *) state)->scan, NULL);
	ExecScanReScan(&state->ss);
}

static const CustomExecMethods exec_methods = {
	.CustomName = "far scan",.BeginCustomScan = begin,.ExecCustomScan = run,.EndCustomScan = end,
	.ReScanCustomScan = rescan
};

static Node *
create_state(CustomScan *plan)
{
	FarScan    *far = (FarScan *) newNode(sizeof(FarScan), T_CustomScanState);

	far->base.methods = &exec_methods;
	return (Node *) far;
}

static const CustomScanMethods scan_methods = {"far scan", create_state};

static Plan *
plan_path(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *targets, List *clauses, List *children)
{
	CustomScan *plan = makeNode(CustomScan);

	plan->scan.plan.targetlist = targets;
	plan->scan.plan.qual = extract_actual_clauses(clauses, false);
	plan->scan.scanrelid = rel->relid;
	plan->flags = path->flags;
	plan->methods = &scan_methods;
	return &plan->scan.plan;
}

static const CustomPathMethods path_methods = {"far scan", plan_path};

static void
set_paths(PlannerInfo *root, RelOptInfo *rel, Index rti, RangeTblEntry *entry)
{
	CustomPath *path;

	if (next_paths_hook != NULL)
		next_paths_hook(root, rel, rti, entry);
	if (entry->rtekind != RTE_RELATION || strncmp(get_rel_name(entry->relid), "far", 3) != 0)
		return;
	path = makeNode(CustomPath);
	path->path.pathtype = T_CustomScan;
	path->path.parent = rel;
	path->path.pathtarget = rel->reltarget;
	path->path.rows = rel->rows = 100000;
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	path->methods = &path_methods;
	rel->pathlist = list_make1(path);
	rel->partial_pathlist = NIL;
	rel->consider_parallel = false;
}

static PlannedStmt *
plan_query(Query *query, const char *text, int options, ParamListInfo params)
{
	RangeTblEntry *first = query->rtable == NIL ? NULL : linitial(query->rtable);

	/* an empty search path makes the text qualify all names */
	if (query->hasAggs && first != NULL && first->rtekind == RTE_SUBQUERY)
	{
		int			level = NewGUCNestLevel();

		(void) set_config_option("search_path", "", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
		ereport(NOTICE, (errmsg("planned: %s;", pg_get_querydef(copyObject(query), false))));
		AtEOXact_GUC(true, level);
	}
	return next_planner_hook != NULL ? next_planner_hook(query, text, options, params) :
		standard_planner(query, text, options, params);
}

void
_PG_init(void)
{
	next_paths_hook = set_rel_pathlist_hook;
	set_rel_pathlist_hook = set_paths;
	next_planner_hook = planner_hook;
	planner_hook = plan_query;
}
