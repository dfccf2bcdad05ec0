/*
 * compat.h: the only file that knows how PostgreSQL's versions differ. Other files use the names below.
 */
#ifndef GPUREG_COMPAT_H
#define GPUREG_COMPAT_H

#include "postgres.h"

/* PostgreSQL 16 moved the macros of varlena values out of postgres.h. */
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

/*
 * True if shared memory is had by name at any time (GetNamedDSMSegment). Before PostgreSQL 17, only libraries of
 * shared_preload_libraries have any: all of service_shared.c's way to it depends on this.
 */
#define GR_HAS_NAMED_SEGMENTS (PG_VERSION_NUM >= 170000)

/* True if an extension can add lines to the nodes of EXPLAIN, which is all that explain.c does. */
#define GR_HAS_EXPLAIN_HOOK (PG_VERSION_NUM >= 180000)

/* The header that declares ExplainPropertyText() and its like. */
#if PG_VERSION_NUM >= 180000
#define GR_EXPLAIN_FORMAT_HEADER "commands/explain_format.h"
#else
#define GR_EXPLAIN_FORMAT_HEADER "commands/explain.h"
#endif

/* Runs a started query forward, for at most nrows rows; 0: all. */
#if PG_VERSION_NUM >= 180000
#define gr_executor_run(desc, nrows) ExecutorRun((desc), ForwardScanDirection, (nrows))
#else
#define gr_executor_run(desc, nrows) ExecutorRun((desc), ForwardScanDirection, (nrows), true)
#endif

/* Plans an analyzed query that has no parameters. */
#if PG_VERSION_NUM >= 190000
#define gr_plan_analyzed(query, text, options) pg_plan_query((query), (text), (options), NULL, NULL)
#else
#define gr_plan_analyzed(query, text, options) pg_plan_query((query), (text), (options), NULL)
#endif

/* Makes an unordered Append of paths, and of paths that workers divide, after the example of another Append. */
#if PG_VERSION_NUM >= 190000
#define gr_append_like(root, rel, whole, divided, like) \
	create_append_path((root), (rel), (AppendPathInput) {.subpaths = (whole),.partial_subpaths = (divided)}, \
					   NIL, NULL, \
					   (like)->path.parallel_workers, (like)->path.parallel_aware, -1)
#else
#define gr_append_like(root, rel, whole, divided, like) \
	create_append_path((root), (rel), (whole), (divided), NIL, NULL, (like)->path.parallel_workers, \
					   (like)->path.parallel_aware, -1)
#endif

/* Begins a scan of a whole table. */
#if PG_VERSION_NUM >= 190000
#define gr_begin_scan(relation, snapshot) table_beginscan((relation), (snapshot), 0, NULL, SO_NONE)
#else
#define gr_begin_scan(relation, snapshot) table_beginscan((relation), (snapshot), 0, NULL)
#endif

/* Types of the counters of a plan node, of one process and of workers, and the seconds in them. */
#if PG_VERSION_NUM >= 190000
#define GrNodeCounters NodeInstrumentation
#define GrWorkerCounters WorkerNodeInstrumentation
#define gr_node_seconds(counters) INSTR_TIME_GET_DOUBLE((counters)->instr.total)
#else
#define GrNodeCounters Instrumentation
#define GrWorkerCounters WorkerInstrumentation
#define gr_node_seconds(counters) ((counters)->total)
#endif

/* Returns the number of a new group of locks. PostgreSQL before 19 takes its name in each process by itself. */
#if PG_VERSION_NUM >= 190000
#define gr_new_tranche(name) LWLockNewTrancheId(name)
#define gr_name_tranche(tranche, name) ((void) 0)
#else
#define gr_new_tranche(name) LWLockNewTrancheId()
#define gr_name_tranche(tranche, name) LWLockRegisterTranche((tranche), (name))
#endif

/* Returns the number of a wait of this name. PostgreSQL before 17 has one number for all extensions. */
#if PG_VERSION_NUM >= 170000
#define gr_new_wait_event(name) WaitEventExtensionNew(name)
#else
#define gr_new_wait_event(name) ((void) (name), PG_WAIT_EXTENSION)
#endif

/* Returns a named segment. init has the parameters GR_SEGMENT_INIT. */
#if PG_VERSION_NUM >= 190000
#define GR_SEGMENT_INIT void *memory, void *arg pg_attribute_unused()
#define gr_named_segment(name, nbytes, init, found) GetNamedDSMSegment((name), (nbytes), (init), (found), NULL)
#else
#define GR_SEGMENT_INIT void *memory
#define gr_named_segment(name, nbytes, init, found) GetNamedDSMSegment((name), (nbytes), (init), (found))
#endif

/* True if a backslash in a string literal begins an escape. From 19 on it never does. */
#if PG_VERSION_NUM >= 190000
#define gr_backslash_escapes() false
#else
#define gr_backslash_escapes() (!standard_conforming_strings)
#endif

/* The handler that ignores a signal, for pqsignal(). */
#ifdef PG_SIG_IGN
#define GR_SIGNAL_IGNORED PG_SIG_IGN
#else
#define GR_SIGNAL_IGNORED SIG_IGN
#endif

/* Says that an ArrayExpr does not come from a query's text. */
#if PG_VERSION_NUM >= 180000
#define gr_array_without_location(array) ((array)->location = (array)->list_start = (array)->list_end = -1)
#else
#define gr_array_without_location(array) ((array)->location = -1)
#endif

/* Gives path as many disabled nodes as its subpath has. PostgreSQL before 18 does not count them. */
#if PG_VERSION_NUM >= 180000
#define gr_inherit_disabled_nodes(path, subpath) ((path)->disabled_nodes = (subpath)->disabled_nodes)
#else
#define gr_inherit_disabled_nodes(path, subpath) ((void) 0)
#endif

/* Compares the total costs of two paths, below, at or above 0. Disabled nodes come first where they are counted. */
#if PG_VERSION_NUM >= 180000
#define gr_compare_costs(a, b) \
	((a)->disabled_nodes != (b)->disabled_nodes ? (a)->disabled_nodes - (b)->disabled_nodes : \
	 ((a)->total_cost > (b)->total_cost) - ((a)->total_cost < (b)->total_cost))
#else
#define gr_compare_costs(a, b) (((a)->total_cost > (b)->total_cost) - ((a)->total_cost < (b)->total_cost))
#endif

/* The GROUP BY clause that is to be computed: PostgreSQL 16 leaves redundant columns out. */
#if PG_VERSION_NUM >= 160000
#define gr_group_clause(root) ((root)->processed_groupClause)
#else
#define gr_group_clause(root) ((root)->parse->groupClause)
#endif

/* Returns expressions over the relation parent as expressions over child, which inherits from it. */
#if PG_VERSION_NUM >= 160000
#define gr_adjust_to_child(root, exprs, child, parent) \
	((List *) adjust_appendrel_attrs_multilevel((root), (Node *) (exprs), (child), (parent)))
#else
#define gr_adjust_to_child(root, exprs, child, parent) \
	((List *) adjust_appendrel_attrs_multilevel((root), (Node *) (exprs), (child)->relids, (parent)->relids))
#endif

/* Returns whether the role has a right on a function. */
#if PG_VERSION_NUM >= 160000
#define gr_function_aclcheck(function, role, right) object_aclcheck(ProcedureRelationId, (function), (role), (right))
#else
#define gr_function_aclcheck(function, role, right) pg_proc_aclcheck((function), (role), (right))
#endif

/* Returns the i-th entry of the backends' local status, i >= 1. */
#if PG_VERSION_NUM >= 160000
#define gr_local_backend_status(i) pgstat_get_local_beentry_by_index(i)
#else
#define gr_local_backend_status(i) pgstat_fetch_stat_local_beentry(i)
#endif

/* The setting that makes the planner put whole statements into a parallel worker. */
#if PG_VERSION_NUM >= 160000
#define GR_DEBUG_PARALLEL_QUERY "debug_parallel_query"
#else
#define GR_DEBUG_PARALLEL_QUERY "force_parallel_mode"
#endif

/* Reads nbytes of a temporary file. ERROR if there are fewer, which BufFileRead() no longer reports from 16 on. */
#if PG_VERSION_NUM >= 160000
#define gr_buffile_read(file, into, nbytes) BufFileReadExact((file), (into), (nbytes))
#else
#define gr_buffile_read(file, into, nbytes) \
	do { \
		if (BufFileRead((file), (into), (nbytes)) != (nbytes)) \
			ereport(ERROR, \
					(errcode_for_file_access(), \
					 errmsg("could not read from temporary file: %m"))); \
	} while (0)
#endif

#endif							/* GPUREG_COMPAT_H */
