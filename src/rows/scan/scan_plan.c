/*
 * scan_plan.c: offers the custom scan to the planner.
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
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/selfuncs.h"

#include "rows/query/query.h"
#include "rows/scan/scan.h"
#include "rows/scan/scan_groups.h"
#include "rows/scan/scan_transitions.h"
#include "rows/scan/taker.h"
#include "rows/state/fold_key.h"
#include "run/compat.h"

PG_FUNCTION_INFO_V1(gr_scan_support);

/*
 * Cost of an exchange, in pages read: creating hundreds of files, and waiting for the slowest process. With 15 workers
 * this takes as long as merging the states of about 13,000 groups in one process.
 */
#define EXCHANGE_PAGES 20000

/* Number of products of a row that take about as long as an operator of the executor */
#define PRODUCTS_PER_OPERATOR 30

/* Largest cost of a row for a taker, in operators: a little less than the declared cost of transition functions */
#define OPERATORS_MAX 9

bool		gr_enable_scan = true;

static create_upper_paths_hook_type previous_hook = NULL;

/* Input and results of planning a statement's aggregates as custom scans */
typedef struct Scanned
{
	PlannerInfo *root;
	RelOptInfo *table;			/* the scanned table, or the parent of partitions; any relation if scans is false */
	RelOptInfo *grouped;		/* receives the paths of the final aggregates */
	RelOptInfo *partial;		/* relation of the partial aggregates */
	PathTarget *target;			/* keys and partial aggregates */
	List	   *having;			/* HAVING clause */
	List	   *clause;			/* GROUP BY clause; NIL: there is none */
	List	   *keys;			/* expressions of the GROUP BY clause */
	double		ngroups;		/* estimated number of groups */
	double		state_nbytes;	/* estimated size of a group's states */
	Cost		row_cost;		/* of a row for all aggregates */
	bool		scans;			/* custom scans can make the partial aggregates of table */
} Scanned;

/*
 * Returns the number of groups of nrows rows. The planner takes a key computed from columns for as many values as the
 * columns have, but folds are few.
 */
static double
count_groups(PlannerInfo *root, List *keys, double nrows)
{
	double		nfolds = 1;
	List	   *others = NIL;
	ListCell   *cell;

	foreach(cell, keys)
	{
		GrFoldCall	fold;

		if (gr_fold_call(lfirst(cell), &fold))
			nfolds *= fold.nfolds;
		else
			others = lappend(others, lfirst(cell));
	}
	if (others != NIL)
		nfolds *= estimate_num_groups(root, others, nrows, NULL, NULL);
	return clamp_row_est(Min(nfolds, nrows));
}

/*
 * Plans
 */

/* Returns the equality operators of the keys, in the order of the keys among targets. */
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
	scan->custom_private = list_make2(grouping_operators(root, targets),
									  root->qual_security_level > 0 ? list_make1(makeBoolConst(true, false)) : NIL);
	scan->custom_plans = children;
	scan->methods = &gr_scan_methods;
	return &scan->scan.plan;
}

static const CustomPathMethods path_methods = {.CustomName = GR_SCAN_NAME,.PlanCustomPath = plan_scan};

/*
 * Paths
 */

/* Returns path, without a projection, if it is a sequential scan of a plain table, else NULL. */
static Path *
sequential_scan(PlannerInfo *root, Path *path)
{
	if (IsA(path, ProjectionPath))
		path = ((ProjectionPath *) path)->subpath;
	return path->pathtype == T_SeqScan && path->param_info == NULL &&
		planner_rt_fetch(path->parent->relid, root)->rtekind == RTE_RELATION ? path : NULL;
}

/* Returns a copy of target in which columns of the parent table are replaced by those of child. */
static PathTarget *
translated(const Scanned *s, const PathTarget *target, RelOptInfo *child)
{
	PathTarget *copy = copy_pathtarget(unconstify(PathTarget *, target));

	if (child != s->table)
		copy->exprs = gr_adjust_to_child(s->root, copy->exprs, child, s->table);
	return copy;
}

/* True if all paths of rel are the server's own. Another extension may have replaced the sequential scan by its own. */
static bool
has_own_paths(const RelOptInfo *rel)
{
	ListCell   *cell;

	foreach(cell, rel->pathlist)
	{
		const Path *path = lfirst(cell);

		if (IsA(path, ProjectionPath))
			path = ((const ProjectionPath *) path)->subpath;
		if (path->pathtype != T_SeqScan && !IsA(path, IndexPath) && !IsA(path, BitmapHeapPath) && !IsA(path, TidPath) &&
			!IsA(path, TidRangePath))
			return false;
	}
	return rel->pathlist != NIL;
}

/* True if a sequential scan of rel is possible: rel is a table that is stored here. */
static bool
is_scannable(PlannerInfo *root, RelOptInfo *rel)
{
	const RangeTblEntry *rte = IS_SIMPLE_REL(rel) ? planner_rt_fetch(rel->relid, root) : NULL;

	return rte != NULL && rte->rtekind == RTE_RELATION && !rte->inh && rte->tablesample == NULL &&
		(rte->relkind == RELKIND_RELATION || rte->relkind == RELKIND_MATVIEW) && bms_is_empty(rel->lateral_relids) &&
		!is_dummy_rel(rel) && has_own_paths(rel);
}

/*
 * Returns a sequential scan of rel, or NULL if rel can't be scanned. The planner forgets it where another path is
 * cheaper, but with the aggregates a custom scan may be cheaper than that path. nworkers: number of parallel workers
 */
static Path *
make_scan(PlannerInfo *root, RelOptInfo *rel, int nworkers)
{
	return is_scannable(root, rel) ? create_seqscan_path(root, rel, NULL, nworkers) : NULL;
}

/* Estimated number of groups of nrows rows */
static double
group_number(const Scanned *s, double nrows)
{
	return s->clause == NIL ? 1 : count_groups(s->root, s->keys, nrows);
}

/* Cost of grouping: comparing keys, returning groups, and files for the rows of groups that don't fit into memory */
static Cost
group_cost(const Scanned *s, const Path *scan, double ngroups)
{
	double		share = Max(0, 1 - get_hash_memory_limit() / (ngroups * (2 * s->state_nbytes + sizeof(GrGroup))));
	double		npages = share * scan->rows * (scan->pathtarget->width + sizeof(double)) / BLCKSZ;

	return cpu_operator_cost * list_length(s->clause) * scan->rows + cpu_tuple_cost * ngroups +
		npages * (random_page_cost + seq_page_cost);
}

/*
 * Returns the custom scan that replaces the sequential scan, as a path of parent. A row costs what its products take,
 * but less than a call of the transition function, whose declared cost does not grow with the number of terms.
 */
static Path *
custom_path(const Scanned *s, Path *scan, RelOptInfo *parent)
{
	CustomPath *path = makeNode(CustomPath);
	double		ngroups = group_number(s, scan->rows);

	path->path.pathtype = T_CustomScan;
	path->path.parent = parent;
	path->path.pathtarget = translated(s, s->target, scan->parent);
	path->path.parallel_safe = scan->parallel_safe;
	path->path.parallel_workers = scan->parallel_workers;
	path->path.rows = ngroups;
	path->path.startup_cost = path->path.total_cost = scan->total_cost + s->row_cost * scan->rows +
		(s->clause == NIL ? 0 : group_cost(s, scan, ngroups));
	gr_inherit_disabled_nodes(&path->path, scan);
	path->custom_paths = list_make1(scan);
	path->methods = &path_methods;
	return &path->path;
}

/*
 * Returns the custom scan of parallel workers that exchange their groups, so that each process has whole groups. NULL
 * if there is no GROUP BY clause or path is no sequential scan
 */
static Path *
exchanged_groups(const Scanned *s, Path *path)
{
	Path	   *scan = s->clause == NIL ? NULL : sequential_scan(s->root, path);
	double		nprocesses;
	double		npages;

	if (scan == NULL)
		return NULL;
	path = custom_path(s, scan, s->partial);
	nprocesses = path->parallel_workers + 1;
	/* files have states, or rows if groups have few of them */
	npages = Min(path->rows * s->state_nbytes, scan->rows * (scan->pathtarget->width + sizeof(double))) / BLCKSZ;
	path->total_cost += (EXCHANGE_PAGES + 2 * npages) * seq_page_cost + 2 * cpu_tuple_cost * path->rows;
	path->startup_cost = path->total_cost;
	path->rows = clamp_row_est(s->ngroups / nprocesses);
	path->parallel_aware = true;
	return path;
}

/* Returns the executor's partial aggregate over path. */
static Path *
executor_path(const Scanned *s, Path *path)
{
	RelOptInfo *child = path->parent;
	double		ngroups = group_number(s, path->rows);
	AggClauseCosts costs = {0};

	get_agg_clause_costs(s->root, AGGSPLIT_INITIAL_SERIAL, &costs);
	/* The keys of GROUP BY are found by the numbers in the target. */
	path = (Path *) create_projection_path(s->root, child, path, translated(s, s->table->reltarget, child));
	return (Path *) create_agg_path(s->root, child, path, translated(s, s->target, child),
									s->clause == NIL ? AGG_PLAIN : AGG_HASHED, AGGSPLIT_INITIAL_SERIAL, s->clause, NIL,
									&costs, ngroups);
}

/*
 * Returns the path of partial aggregates over an append's child that replaces path: a custom scan, or the executor's
 * aggregate over path if that is cheaper. Sets *scanned for a custom scan.
 */
static Path *
child_path(const Scanned *s, Path *path, bool *scanned)
{
	Path	   *scan = sequential_scan(s->root, path);
	Path	   *custom;
	Path	   *executor;

	if (scan != NULL)
	{
		*scanned = true;
		return custom_path(s, scan, path->parent);
	}
	executor = executor_path(s, path);
	scan = make_scan(s->root, path->parent, path->parallel_workers);
	custom = scan == NULL ? NULL : custom_path(s, scan, path->parent);
	if (custom == NULL || gr_compare_costs(custom, executor) > 0)
		return executor;
	*scanned = true;
	return custom;
}

/*
 * Returns an append of partial aggregates that replaces append, or NULL if no child has a custom scan. The result is a
 * path of the table, and its children are paths of the partitions, so that execution prunes partitions as usual.
 */
static Path *
custom_append(const Scanned *s, AppendPath *append)
{
	List	   *paths = NIL;
	bool		scanned = false;
	AppendPath *result;
	ListCell   *cell;

	if (append->path.param_info != NULL)
		return NULL;
	foreach(cell, append->subpaths)
	{
		Path	   *path = lfirst(cell);

		if (!IS_SIMPLE_REL(path->parent) || path->parent == s->table || path->param_info != NULL)
			return NULL;
		paths = lappend(paths, child_path(s, path, &scanned));
	}
	if (!scanned)
		return NULL;
	result = gr_append_like(s->root, s->table, list_copy_head(paths, append->first_partial_path),
							list_copy_tail(paths, append->first_partial_path), append);
	result->path.pathtarget = s->target;
	return &result->path;
}

/* Returns the path of partial aggregates by custom scans that replaces path, or NULL if path can't be replaced. */
static Path *
aggregates_instead_of(const Scanned *s, Path *path)
{
	Path	   *scan = sequential_scan(s->root, path);

	if (scan != NULL)
		return custom_path(s, scan, s->partial);
	if (IsA(path, ProjectionPath))
		path = ((ProjectionPath *) path)->subpath;
	return IsA(path, AppendPath) && ((AppendPath *) path)->subpaths != NIL ?
		custom_append(s, (AppendPath *) path) : NULL;
}

/*
 * Returns the final aggregates over the partial ones of path. together: the partial aggregates of a group arrive one
 * after the other, though groups are in no order. ngroups: number of groups per process
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

/* Returns paths of the table, with a sequential scan if there is none. nworkers: its number of parallel workers */
static List *
with_scan(const Scanned *s, List *paths, int nworkers)
{
	Path	   *scan;
	ListCell   *cell;

	foreach(cell, paths)
		if (sequential_scan(s->root, lfirst(cell)) != NULL)
			return paths;
	scan = make_scan(s->root, s->table, nworkers);
	return scan == NULL ? paths : lappend(list_copy(paths), scan);
}

/* Number of parallel workers for a sequential scan of the table; 0: there is none in workers */
static int
scan_workers(const Scanned *s)
{
	return s->table->consider_parallel && is_scannable(s->root, s->table) ?
		compute_parallel_worker(s->table, s->table->pages, -1, max_parallel_workers_per_gather) : 0;
}

/*
 * Adds the executor's own hashed aggregates, with and without workers. The planner's paths assume as many folds as
 * rows, and so sort the rows.
 */
static void
add_fold_paths(const Scanned *s, const GroupPathExtraData *extra)
{
	AggClauseCosts costs = {0};
	Path	   *path;
	double		nrows;

	if ((extra->flags & GROUPING_CAN_USE_HASH) == 0)
		return;
	get_agg_clause_costs(s->root, AGGSPLIT_SIMPLE, &costs);
	add_path(s->grouped, (Path *) create_agg_path(s->root, s->grouped, s->table->cheapest_total_path,
												  s->grouped->reltarget, AGG_HASHED, AGGSPLIT_SIMPLE, s->clause,
												  s->having, &costs, s->ngroups));
	if (!s->grouped->consider_parallel || s->table->partial_pathlist == NIL ||
		(extra->flags & GROUPING_CAN_PARTIAL_AGG) == 0)
		return;
	memset(&costs, 0, sizeof(costs));
	get_agg_clause_costs(s->root, AGGSPLIT_INITIAL_SERIAL, &costs);
	path = (Path *) create_agg_path(s->root, s->partial, linitial(s->table->partial_pathlist), s->target, AGG_HASHED,
									AGGSPLIT_INITIAL_SERIAL, s->clause, NIL, &costs, s->ngroups);
	nrows = path->rows * path->parallel_workers;
	path = (Path *) create_gather_path(s->root, s->partial, path, s->target, NULL, &nrows);
	add_path(s->grouped, final_path(s, path, false, s->ngroups));
}

static void
add_paths(const Scanned *s)
{
	int			nworkers;
	ListCell   *cell;
	Path	   *path;

	foreach(cell, with_scan(s, s->table->pathlist, 0))
	{
		path = aggregates_instead_of(s, lfirst(cell));
		if (path != NULL)
			add_path(s->grouped, final_path(s, path, IsA(path, CustomPath), s->ngroups));
	}
	if (!s->grouped->consider_parallel)
		return;
	nworkers = scan_workers(s);
	foreach(cell, nworkers == 0 ? s->table->partial_pathlist : with_scan(s, s->table->partial_pathlist, nworkers))
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
 * Conditions
 */

/* Estimated size of an aggregate's state: sums of products, each in a high and a low part */
static double
state_nbytes(const GrTakerCall *call)
{
	double		n = list_length(call->sources) + 1;

	return n * (n + 1) * sizeof(double);
}

/* Estimated cost of a row for a taker: the products that are summed */
static Cost
taker_cost(const GrTakerCall *call)
{
	double		n = list_length(call->sources) + 1;

	return cpu_operator_cost * Min(n * (n + 1) / 2 / PRODUCTS_PER_OPERATOR, OPERATORS_MAX);
}

/* Estimated cost of a row for an aggregate with a transition */
static Cost
transition_cost(PlannerInfo *root, const Aggref *aggregate)
{
	QualCost	of_args;
	QualCost	of_filter;

	cost_qual_eval_node(&of_args, (Node *) aggregate->args, root);
	cost_qual_eval_node(&of_filter, (Node *) aggregate->aggfilter, root);
	return cpu_operator_cost + of_args.per_tuple + of_filter.per_tuple;
}

/* True if number is the sort and group reference of a key of GROUP BY. */
static bool
is_key(const Scanned *s, Index number)
{
	return number != 0 && get_sortgroupref_clause_noerr(number, s->clause) != NULL;
}

/* Adds the keys among the selected expressions to s->target and s->keys. Returns the other expressions. */
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
 * True if the selected expressions and HAVING use only keys and aggregates, of which this extension has at least one.
 * Sets s->scans to false unless all aggregates have a taker, as at least one has, or a transition. Adds the aggregates
 * to s->target as partial ones. SubPlans are rejected because the planner would not find them in the target.
 */
static bool
find_targets(Scanned *s)
{
	List	   *others;
	List	   *found;
	ListCell   *cell;
	bool		taken = false;
	bool		any = false;

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
		bool		ours;

		if (list_member(s->keys, aggregate))
			continue;
		if (!IsA(aggregate, Aggref) || contain_subplans((Node *) aggregate))
			return false;
		ours = gr_taker_call(aggregate, &call);
		if (ours && contain_volatile_functions((Node *) call.constants))
			return false;
		if (ours && (s->clause == NIL || gr_taker_groups(&call)))
		{
			/* cached plans are made anew when these functions change */
			record_plan_function_dependency(s->root, call.transition);
			record_plan_function_dependency(s->root, call.combine);
			s->state_nbytes += state_nbytes(&call);
			s->row_cost += taker_cost(&call);
			taken = true;
		}
		else if (gr_transition_possible(aggregate))
		{
			s->state_nbytes += get_typavgwidth(aggregate->aggtranstype, -1);
			s->row_cost += transition_cost(s->root, aggregate);
		}
		else
			s->scans = false;
		any |= ours;
		partial = makeNode(Aggref);
		memcpy(partial, aggregate, sizeof(Aggref));
		mark_partial_aggref(partial, AGGSPLIT_INITIAL_SERIAL);
		add_new_columns_to_pathtarget(s->target, list_make1(partial));
	}
	s->scans &= taken;
	return any;
}

/* True if rel is a table, or the union of several by UNION ALL. */
static bool
is_table(PlannerInfo *root, const RelOptInfo *rel)
{
	return rel->rtekind == RTE_RELATION || (rel->rtekind == RTE_SUBQUERY && planner_rt_fetch(rel->relid, root)->inh);
}

static bool
has_folds(const List *keys)
{
	GrFoldCall	fold;
	ListCell   *cell;

	foreach(cell, keys)
		if (gr_fold_call(lfirst(cell), &fold))
			return true;
	return false;
}

/*
 * Adds paths for the aggregates over table to grouped, if the statement allows them: custom scans, and the executor's
 * aggregates of folds.
 */
static void
think(PlannerInfo *root, RelOptInfo *table, RelOptInfo *grouped, const GroupPathExtraData *extra)
{
	Scanned		s = {
		.root = root,.table = table,.grouped = grouped,.having = (List *) extra->havingQual,
		.clause = gr_group_clause(root),.ngroups = 1
	};
	const Query *query = root->parse;
	bool		folds;

	/*
	 * A GROUP BY of constants alone has no clause left, but returns no row for an empty table, unlike a statement
	 * without GROUP BY. The planner puts a filter without columns above the scan.
	 */
	s.scans = gr_enable_scan && table->reloptkind == RELOPT_BASEREL && is_table(root, table) &&
		!root->hasPseudoConstantQuals;
	if (!query->hasAggs || query->groupingSets != NIL || (query->groupClause != NIL) != (s.clause != NIL) ||
		list_length(s.clause) > GR_GROUP_KEYS_MAX || (s.clause != NIL && !grouping_is_hashable(s.clause)) ||
		(s.clause == NIL && !s.scans) || !find_targets(&s))
		return;
	folds = has_folds(s.keys);
	if (!s.scans && !folds)
		return;
	if (s.clause != NIL)
		s.ngroups = count_groups(root, s.keys, table->rows);
	s.partial = fetch_upper_rel(root, UPPERREL_PARTIAL_GROUP_AGG, table->relids);
	s.partial->consider_parallel = grouped->consider_parallel;
	s.partial->reltarget = s.target;
	set_pathtarget_cost_width(root, s.target);
	/* a state is wider than its type says */
	s.target->width += (int) Min(s.state_nbytes, MaxAllocSize / 2);
	if (folds)
		add_fold_paths(&s, extra);
	if (s.scans)
		add_paths(&s);
}

static void
upper_paths(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input, RelOptInfo *output, void *extra)
{
	if (previous_hook != NULL)
		previous_hook(root, stage, input, output, extra);
	if (stage == UPPERREL_GROUP_AGG)
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
 * gpu_scan_support(internal): the support function of transition functions. The planner calls it for their cost before
 * it calls hooks, which loads the library if the session has not done so. Returning NULL keeps the declared cost.
 */
Datum
gr_scan_support(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(NULL);
}
