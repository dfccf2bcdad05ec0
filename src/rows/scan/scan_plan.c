/*
 * scan_plan.c: where the planner may take the custom scan.
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "optimizer/appendinfo.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/planmain.h"
#include "optimizer/planner.h"
#include "optimizer/prep.h"
#include "optimizer/restrictinfo.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/memutils.h"
#include "utils/selfuncs.h"

#include "rows/query/query.h"
#include "rows/scan/scan.h"
#include "rows/scan/scan_groups.h"
#include "rows/scan/taker.h"
#include "run/compat.h"

PG_FUNCTION_INFO_V1(gr_scan_support);

/*
 * Of hundreds of files that are created, and waiting for the slowest process: with 15 workers as much as merging the
 * states of some 13,000 groups in one process
 */
#define EXCHANGE_COST 20000.0

bool		gr_enable_scan = true;

static create_upper_paths_hook_type previous_hook = NULL;

/* What a statement's aggregates are to be */
typedef struct Scanned
{
	PlannerInfo *root;
	RelOptInfo *table;			/* or the parent of partitions */
	RelOptInfo *grouped;		/* whose paths are the statement's aggregates */
	RelOptInfo *partial;		/* ... the partial ones */
	PathTarget *target;			/* of keys and partial aggregates */
	List	   *having;
	List	   *clause;			/* GROUP BY; NIL: there is none */
	List	   *keys;			/* expressions of it */
	double		ngroups;
	double		state_nbytes;	/* of a group's states, about */
} Scanned;

/*
 * Plans
 */

/* The operators that keys are equal by, in the order of those among the targets */
static List *
grouping_operators(PlannerInfo *root, List *targets)
{
	List	   *operators = NIL;
	ListCell   *cell;

	foreach(cell, targets)
	{
		const TargetEntry *target = lfirst(cell);

		if (!IsA(target->expr, Aggref))
			operators = lappend_oid(operators, get_sortgroupref_clause(target->ressortgroupref,
																	   gr_group_clause(root))->eqop);
	}
	return operators;
}

static Plan *
plan_scan(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *targets, List *clauses, List *children)
{
	CustomScan *scan = makeNode(CustomScan);

	if (list_length(children) != 1 || !IsA(linitial(children), SeqScan))
		elog(ERROR, "a scan's child is another plan");
	scan->scan.plan.targetlist = targets;
	scan->custom_scan_tlist = copyObject(targets);
	scan->custom_private = grouping_operators(root, targets);
	scan->custom_plans = children;
	scan->methods = &gr_scan_methods;
	return &scan->scan.plan;
}

static const CustomPathMethods path_methods = {.CustomName = GR_SCAN_NAME,.PlanCustomPath = plan_scan};

/*
 * Paths
 */

/* The sequential scan of a plain table that a path is; NULL if it is another path */
static Path *
sequential_scan(PlannerInfo *root, Path *path)
{
	if (IsA(path, ProjectionPath))
		path = ((ProjectionPath *) path)->subpath;
	return path->pathtype == T_SeqScan && path->param_info == NULL &&
		planner_rt_fetch(path->parent->relid, root)->rtekind == RTE_RELATION ? path : NULL;
}

/* The same of aggregates over a parent's columns, as aggregates over a partition's */
static PathTarget *
translated_target(const Scanned *s, RelOptInfo *child)
{
	PathTarget *target = copy_pathtarget(s->target);

	if (child == s->table)
		return target;
	target->exprs = gr_adjust_to_child(s->root, target->exprs, child, s->table);
	return target;
}

/* What groups cost: their keys, and files for the rows of those that there is no memory for */
static Cost
group_cost(const Scanned *s, const Path *scan, double ngroups)
{
	double		share = Max(0, 1 - get_hash_memory_limit() / (ngroups * (2 * s->state_nbytes + sizeof(GrGroup))));
	double		npages = share * scan->rows * (scan->pathtarget->width + sizeof(double)) / BLCKSZ;

	return cpu_operator_cost * list_length(s->clause) * scan->rows + cpu_tuple_cost * ngroups +
		npages * (random_page_cost + seq_page_cost);
}

/* The custom scan in place of a sequential one, which without groups costs no more than that. */
static Path *
custom_path(const Scanned *s, Path *scan)
{
	CustomPath *path = makeNode(CustomPath);
	double		ngroups = s->clause == NIL ? 1 : estimate_num_groups(s->root, s->keys, scan->rows, NULL, NULL);

	path->path.pathtype = T_CustomScan;
	path->path.parent = s->partial;
	path->path.pathtarget = translated_target(s, scan->parent);
	path->path.parallel_safe = scan->parallel_safe;
	path->path.parallel_workers = scan->parallel_workers;
	path->path.rows = ngroups;
	path->path.startup_cost = path->path.total_cost = scan->total_cost +
		(s->clause == NIL ? 0 : group_cost(s, scan, ngroups));
	gr_inherit_disabled_nodes(&path->path, scan);
	path->custom_paths = list_make1(scan);
	path->methods = &path_methods;
	return &path->path;
}

/*
 * The custom scan of parallel workers that exchange their groups, so that each has some of them whole, in place of what
 * a path does; NULL if it can't be had
 */
static Path *
exchanged_groups(const Scanned *s, Path *path)
{
	Path	   *scan = s->clause == NIL ? NULL : sequential_scan(s->root, path);
	double		nprocesses;
	double		npages;

	if (scan == NULL)
		return NULL;
	path = custom_path(s, scan);
	nprocesses = path->parallel_workers + 1;
	/* files of states, or, where groups have few rows, of rows */
	npages = Min(path->rows * s->state_nbytes, scan->rows * (scan->pathtarget->width + sizeof(double))) / BLCKSZ;
	path->total_cost += EXCHANGE_COST + 2 * npages * seq_page_cost + 2 * cpu_tuple_cost * path->rows;
	path->startup_cost = path->total_cost;
	path->rows = clamp_row_est(s->ngroups / nprocesses);
	path->parallel_aware = true;
	return path;
}

static bool
has_parameter(Node *node, void *context)
{
	return node != NULL && (IsA(node, Param) || expression_tree_walker(node, has_parameter, context));
}

/* The paths of an append's children, of which the first ones are each for one process; NIL if one can't be had */
static List *
custom_paths(const Scanned *s, List *scans)
{
	List	   *paths = NIL;
	ListCell   *cell;

	foreach(cell, scans)
	{
		Path	   *scan = sequential_scan(s->root, lfirst(cell));

		if (scan == NULL)
			return NIL;
		paths = lappend(paths, custom_path(s, scan));
	}
	return paths;
}

/* Could a scan rule partitions out that the planner can't, by parameters or by functions that aren't immutable? */
static bool
prunes_later(const Scanned *s)
{
	List	   *clauses = extract_actual_clauses(s->table->baserestrictinfo, false);

	return enable_partition_pruning && s->table->part_scheme != NULL &&
		(contain_mutable_functions((Node *) clauses) || has_parameter((Node *) clauses, NULL));
}

static Path *
custom_append(const Scanned *s, AppendPath *append)
{
	List	   *paths = prunes_later(s) ? NIL : custom_paths(s, append->subpaths);
	AppendPath *result;

	if (paths == NIL || append->path.param_info != NULL)
		return NULL;
	result = create_append_path(s->root, s->partial, list_copy_head(paths, append->first_partial_path),
								list_copy_tail(paths, append->first_partial_path), NIL, NULL,
								append->path.parallel_workers, append->path.parallel_aware, -1);
	result->path.pathtarget = s->target;
	return &result->path;
}

/* The partial aggregates by custom scans in place of what a path does; NULL if it is one of those that can't be had */
static Path *
aggregates_instead_of(const Scanned *s, Path *path)
{
	Path	   *scan = sequential_scan(s->root, path);

	if (scan != NULL)
		return custom_path(s, scan);
	if (IsA(path, ProjectionPath))
		path = ((ProjectionPath *) path)->subpath;
	return IsA(path, AppendPath) && ((AppendPath *) path)->subpaths != NIL ?
		custom_append(s, (AppendPath *) path) : NULL;
}

/*
 * The aggregates over partial ones. together: a process's partial ones of a group come one after the other, though in
 * no order. ngroups: in a process
 */
static Path *
final_path(const Scanned *s, Path *path, bool together, double ngroups)
{
	AggClauseCosts costs = {0};
	AggStrategy strategy = s->clause == NIL ? AGG_PLAIN : together ? AGG_SORTED : AGG_HASHED;

	get_agg_clause_costs(s->root, AGGSPLIT_FINAL_DESERIAL, &costs);
	return (Path *) create_agg_path(s->root, s->grouped, path, s->grouped->reltarget, strategy,
									AGGSPLIT_FINAL_DESERIAL, s->clause, s->having, &costs, ngroups);
}

static void
add_paths(const Scanned *s)
{
	ListCell   *cell;
	Path	   *path;

	foreach(cell, s->table->pathlist)
	{
		path = aggregates_instead_of(s, lfirst(cell));
		if (path != NULL)
			add_path(s->grouped, final_path(s, path, IsA(path, CustomPath), s->ngroups));
	}
	if (!s->grouped->consider_parallel)
		return;
	foreach(cell, s->table->partial_pathlist)
	{
		path = aggregates_instead_of(s, lfirst(cell));
		if (path != NULL)
		{
			double		rows = path->rows * path->parallel_workers;

			path = (Path *) create_gather_path(s->root, s->partial, path, s->target, NULL, &rows);
			add_path(s->grouped, final_path(s, path, false, s->ngroups));
		}
		path = exchanged_groups(s, lfirst(cell));
		if (path != NULL)
		{
			double		rows = s->ngroups;

			path = final_path(s, path, true, path->rows);
			add_path(s->grouped, (Path *) create_gather_path(s->root, s->grouped, path, s->grouped->reltarget, NULL,
															 &rows));
		}
	}
}

/*
 * Where it can be right
 */

/* What a group has for an aggregate: the sums of products in two halves */
static double
state_nbytes(const GrTakerCall *call)
{
	double		n = list_length(call->sources) + 1;

	return n * (n + 1) * sizeof(double);
}

/* Is it a key of GROUP BY, whose number among the sort and group clauses that is? */
static bool
is_key(const Scanned *s, Index number)
{
	return number != 0 && get_sortgroupref_clause_noerr(number, s->clause) != NULL;
}

/* The keys among what is selected, into the target; the rest of it */
static List *
find_keys(Scanned *s)
{
	List	   *others = NIL;
	ListCell   *cell;

	foreach(cell, s->grouped->reltarget->exprs)
	{
		Index		number = get_pathtarget_sortgroupref(s->grouped->reltarget, foreach_current_index(cell));

		if (!is_key(s, number))
		{
			others = lappend(others, lfirst(cell));
			continue;
		}
		add_column_to_pathtarget(s->target, lfirst(cell), number);
		s->keys = lappend(s->keys, lfirst(cell));
	}
	return others;
}

/*
 * Is all that is selected and asked for of groups made of columns that are keys and of aggregates with a taker? These,
 * as partial ones, into the target. SubPlans would not be found there by the planner.
 */
static bool
find_targets(Scanned *s)
{
	List	   *others;
	List	   *found;
	ListCell   *cell;

	s->target = create_empty_pathtarget();
	others = find_keys(s);
	found = pull_var_clause((Node *) list_concat_copy(others, s->having),
							PVC_INCLUDE_AGGREGATES | PVC_RECURSE_WINDOWFUNCS | PVC_INCLUDE_PLACEHOLDERS);
	if (contain_subplans((Node *) s->keys) || contain_volatile_functions((Node *) s->keys))
		return false;
	foreach(cell, found)
	{
		Aggref	   *aggregate = lfirst(cell);
		GrTakerCall call;
		Aggref	   *partial;

		if (list_member(s->keys, aggregate))
			continue;
		if (!IsA(aggregate, Aggref) || !gr_taker_call(aggregate, &call) ||
			(s->clause != NIL && !gr_taker_groups(&call)) ||
			contain_volatile_functions((Node *) call.constants) || contain_subplans((Node *) aggregate))
			return false;
		/* a plan that is kept is made anew when they are changed */
		record_plan_function_dependency(s->root, call.transition);
		record_plan_function_dependency(s->root, call.combine);
		s->state_nbytes += state_nbytes(&call);
		partial = makeNode(Aggref);
		memcpy(partial, aggregate, sizeof(Aggref));
		mark_partial_aggref(partial, AGGSPLIT_INITIAL_SERIAL);
		add_new_columns_to_pathtarget(s->target, list_make1(partial));
	}
	return s->state_nbytes > 0;
}

/* Thinks of it for aggregates over a table. */
static void
think(PlannerInfo *root, RelOptInfo *table, RelOptInfo *grouped, const GroupPathExtraData *extra)
{
	Scanned		s = {
		.root = root,.table = table,.grouped = grouped,.having = (List *) extra->havingQual,
		.clause = gr_group_clause(root),.ngroups = 1
	};
	const Query *query = root->parse;

	/*
	 * GROUP BY of constants alone is one that has no clause left, but no row where there are none. A filter without
	 * columns is put above the scan.
	 */
	if (!query->hasAggs || root->hasPseudoConstantQuals || query->groupingSets != NIL ||
		(query->groupClause != NIL) != (s.clause != NIL) ||
		list_length(s.clause) > GR_GROUP_KEYS_MAX || (s.clause != NIL && !grouping_is_hashable(s.clause)) ||
		table->reloptkind != RELOPT_BASEREL || table->rtekind != RTE_RELATION || !find_targets(&s))
		return;
	if (s.clause != NIL)
		s.ngroups = estimate_num_groups(root, s.keys, table->rows, NULL, NULL);
	s.partial = fetch_upper_rel(root, UPPERREL_PARTIAL_GROUP_AGG, table->relids);
	s.partial->consider_parallel = grouped->consider_parallel;
	s.partial->reltarget = s.target;
	set_pathtarget_cost_width(root, s.target);
	/* a state is wider than its type says */
	s.target->width += (int) Min(s.state_nbytes, MaxAllocSize / 2);
	add_paths(&s);
}

static void
upper_paths(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input, RelOptInfo *output, void *extra)
{
	if (previous_hook != NULL)
		previous_hook(root, stage, input, output, extra);
	if (gr_enable_scan && stage == UPPERREL_GROUP_AGG)
		think(root, input, output, extra);
}

void
gr_scan_init(void)
{
	RegisterCustomScanMethods(&gr_scan_methods);
	previous_hook = create_upper_paths_hook;
	create_upper_paths_hook = upper_paths;
}

/*
 * gpu_scan_support(internal): the support function of transition functions. The planner calls it for their cost, before
 * it calls its hooks, and so loads the library in a session that hasn't. It knows no better cost.
 */
Datum
gr_scan_support(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(NULL);
}
