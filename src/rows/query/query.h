/*
 * query.h: a user's query, which is analysed once, then planned and run as often as needed.
 *
 * The text is parsed and analysed once, without parameters. Everything that is planned and run later is made from that
 * tree, never from the text. Functions that the planner and the executor call may change the search path, settings or
 * catalogues; the types of the query's columns stay those of the analysis. Whatever the extension puts around a query
 * is also made as a tree, and refers to functions and types by OID.
 */
#ifndef GPUREG_QUERY_H
#define GPUREG_QUERY_H

#include "postgres.h"

#include "access/tupdesc.h"
#include "nodes/params.h"
#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"
#include "tcop/dest.h"
#include "utils/elog.h"

#include "rows/query/spi.h"

/* Values of gpureg.read: ways to read the rows of queries */
typedef enum GrRead
{
	GR_READ_AUTO,				/* the fastest way */
	GR_READ_SPI					/* through SPI, which runs the query as it stands */
} GrRead;

extern int	gr_read;

typedef struct GrQuery
{
	const char *text;
	Query	   *tree;			/* analysed and rewritten; never changed: planning takes a copy */
	TupleDesc	columns;
	const char **names;			/* names of the columns; a column without a name has its expression's text */
	Oid			role;			/* role that the query runs as */
	bool		row_security;	/* value of row_security when the query was analysed */
	bool		has_row_security;	/* the analysis added policies for role */
	/* the query over which tree computes columns of the extension; NULL: tree is the text's own */
	const struct GrQuery *base;
	GrRead		read;			/* value of gpureg.read when the query was analysed */
} GrQuery;

typedef struct GrPlan
{
	const GrQuery *query;
	PlannedStmt *stmt;
	TupleDesc	columns;		/* columns of its rows */
	bool		remote;			/* gr_is_remote() */
	bool		scanned;		/* gr_is_scanned() */
	bool		shipped;		/* gr_is_shipped() */
	bool		by_spi;			/* SPI runs the text's query; the receiver computes the layers */
	List	   *layers;			/* by_spi: target lists over the text's query, innermost first */
	int			cursor_options;
} GrPlan;

/*
 * Receiver of a plan's rows: the first member of a structure of the caller's. The caller sets pub.receiveSlot, which
 * returns false to stop the plan. The rows have the types of plan->columns.
 */
typedef struct GrReceiver
{
	DestReceiver pub;
	const GrPlan *plan;			/* set by gr_run_plan() */
	int			nworkers;		/* set by gr_run_plan(): parallel workers that ran the plan; 0 if SPI ran it */
} GrReceiver;

/*
 * Error context callback: says that an error is about the query whose text is arg. A position in the query is reported
 * as a position in an inner statement.
 */
extern void gr_query_error(void *arg);

/*
 * Between gr_enter_query() and gr_leave_query(), every message, also of parallel workers, says that it is about the
 * query, as the server does for a statement within another. Call them around analysing, planning and running the query.
 * The caller owns context and text, which must not change in between. text: NULL for kept rows, which have no query. An
 * ERROR needs no gr_leave_query().
 */
static inline void
gr_enter_query(ErrorContextCallback *context, const char *text)
{
	context->callback = NULL;
	if (text == NULL)
		return;
	context->callback = gr_query_error;
	context->arg = unconstify(char *, text);
	context->previous = error_context_stack;
	error_context_stack = context;
}

static inline void
gr_leave_query(const ErrorContextCallback *context)
{
	if (context->callback != NULL)
		error_context_stack = context->previous;
}

/*
 * Analyses a query's text, in the current memory context. ERROR unless the text is one SELECT without parameters that
 * neither writes nor locks rows.
 */
extern GrQuery *gr_analyse_query(const char *text);

/* True if the query returns the same rows when it is run again under the same snapshot. */
extern bool gr_is_repeatable(const GrQuery *query);

/* True if the query reads a foreign table, at any depth. */
extern bool gr_reads_foreign_table(const GrQuery *query);

/* True if SPI reads the query's rows. Aggregates over the query still run as trees of the extension's own. */
static inline bool
gr_is_read_by_spi(const GrQuery *query)
{
	return query->read == GR_READ_SPI;
}

/* Plans the query; cursor_options as for SPI_prepare_cursor(): CURSOR_OPT_PARALLEL_OK or 0. */
extern GrPlan *gr_plan_query(const GrQuery *query, int cursor_options);

/* Plans a tree that the extension made around the query's tree; see wrapper.h. Modifies the tree. */
extern GrPlan *gr_plan_tree(const GrQuery *query, Query *tree, int cursor_options);

/*
 * True if the plan's rows come from a custom scan of another extension. Such a scan may read tables on other machines,
 * as those of Citus do: its costs and row counts are invented, it may read all rows before it returns the first, and
 * each run may use other snapshots. So its first row is not looked at, its rows are kept after one reading, and
 * aggregates around it are shipped to where the rows are; see gr_plan_typed_pass().
 */
static inline bool
gr_is_remote(const GrPlan *plan)
{
	return plan->remote;
}

/* True if a foreign server computes the whole plan of an aggregate, as postgres_fdw lets it. */
static inline bool
gr_is_shipped(const GrPlan *plan)
{
	return plan->shipped;
}

/* Returns the number of rows that the planner expects. */
extern double gr_estimate_rows(const GrPlan *plan);

/*
 * Returns the number of rows that the planner expects as input of the extension's aggregate over a whole query; -1 if
 * the plan has another form.
 */
extern double gr_estimate_input(const GrPlan *plan);

/* True if the plan's first row is cheap. Never true of a remote plan. */
extern bool gr_starts_at_once(const GrPlan *plan);

/* Name of this extension's custom scan, as EXPLAIN shows it */
#define GR_SCAN_NAME "GpuregScan"

/* True if the plan is an aggregate over this extension's own scan of a table, in parallel workers or not. */
static inline bool
gr_is_scanned(const GrPlan *plan)
{
	return plan->scanned;
}

/* Returns the number of parallel workers that the plan's topmost Gather asks for. */
extern int	gr_planned_workers(const GrPlan *plan);

/*
 * Runs a plan under the active snapshot, for at most nrows_max rows (0: all). The receiver runs in the caller's memory
 * context. ERROR if the tree has policies for another role than the current one.
 */
extern void gr_run_plan(const GrPlan *plan, ParamListInfo params, GrReceiver *receiver, uint64 nrows_max);

/* Runs a plan that returns one row of one column. Returns a copy of the value in the current memory context. */
extern Datum gr_run_for_value(const GrPlan *plan, ParamListInfo params, bool *isnull);

/* Makes the parameters $1 .. $n of a plan, none of them NULL, in the current memory context. */
extern ParamListInfo gr_make_params(int n, const NullableDatum *values, const Oid *types);

#endif							/* GPUREG_QUERY_H */
