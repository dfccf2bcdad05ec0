/*
 * query.h: a user's query: analysed once, then planned and run as often as it takes.
 *
 * The text is parsed and analysed once, without parameters. All that is planned and run later is made of that tree and
 * never of the text again: what its columns were found to be then is what they are, whatever the functions do that the
 * planner and the executor call meanwhile, to the search path, to settings or to the catalogues. Where the extension
 * puts something of its own around a query, that is made as a tree, too, and what it calls is named by OID.
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

/* gpureg.read: how the rows of queries come */
typedef enum GrRead
{
	GR_READ_AUTO,				/* by whatever is fastest */
	GR_READ_SPI					/* through SPI, which runs the query as it stands */
} GrRead;

extern int	gr_read;

typedef struct GrQuery
{
	const char *text;
	Query	   *tree;			/* analysed and rewritten; never changed: planning takes a copy */
	TupleDesc	columns;
	const char **names;			/* of the columns; columns without one are called by their expressions */
	Oid			role;			/* whose query it is */
	bool		row_security;	/* the setting, when it was analysed */
	bool		has_row_security;	/* policies for the role were added to it */
	/* where the extension's own columns are computed over a query's: that query; NULL: the tree is the text's */
	const struct GrQuery *base;
	GrRead		read;			/* the setting, when it was analysed */
} GrQuery;

typedef struct GrPlan
{
	const GrQuery *query;
	PlannedStmt *stmt;
	TupleDesc	columns;		/* what a row of it is */
	bool		remote;			/* gr_is_remote() */
	bool		scanned;		/* gr_is_scanned() */
	bool		by_spi;			/* the text's query runs through SPI; the receiver computes what is around it */
	List	   *layers;			/* by_spi: target lists over the text's query, innermost first */
	int			cursor_options;
} GrPlan;

/*
 * Who takes a plan's rows: the first member of a structure of the caller's. pub.receiveSlot is the caller's to set;
 * when it is called, the rows are known to be of the plan's columns. It returns false when it has had enough.
 */
typedef struct GrReceiver
{
	DestReceiver pub;
	const GrPlan *plan;			/* set by gr_run_plan() */
} GrReceiver;

/*
 * Says which query an error is about: arg, its text. A position in the query becomes one in a text within the user's
 * own statement.
 */
extern void gr_query_error(void *arg);

/*
 * From one to the other, whatever is reported, by a parallel worker too, says that it is about this query, in the
 * user's words, as the server does of a statement within another: analysing, planning and running it go on between.
 * context and text are the caller's, and are left as they are until then. An error leaves by itself. text: NULL if
 * there is no query, but kept rows
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
 * A query's text as a tree, in the current memory context. ERROR unless it is one SELECT that neither writes nor locks
 * rows and has no parameters.
 */
extern GrQuery *gr_analyse_query(const char *text);

/* Does the query give the same rows when it is run again under the same snapshot? */
extern bool gr_is_repeatable(const GrQuery *query);

/* True if the query's rows come through SPI alone. Aggregates over the query still run as trees of their own. */
static inline bool
gr_is_read_by_spi(const GrQuery *query)
{
	return query->read == GR_READ_SPI;
}

/* Plans the query; cursor_options as for SPI_prepare_cursor(): CURSOR_OPT_PARALLEL_OK or 0. */
extern GrPlan *gr_plan_query(const GrQuery *query, int cursor_options);

/* The same of a tree of the extension's own around the query's; see wrapper.h. The tree is given up. */
extern GrPlan *gr_plan_tree(const GrQuery *query, Query *tree, int cursor_options);

/*
 * Does the plan have its rows from a custom scan of another extension's? Such a scan may be
 * one of tables on other machines, as those of Citus are: its costs and numbers of rows are made up, it may read all
 * rows before it gives the first, and it may read under snapshots of its own each time it is run. So nobody looks at
 * its first row, its rows are kept when they have come once, and what is put around it goes to where the rows are; see
 * gr_plan_typed_pass().
 */
static inline bool
gr_is_remote(const GrPlan *plan)
{
	return plan->remote;
}

/* The planner's word on how many rows will come. */
extern double gr_estimate_rows(const GrPlan *plan);

/*
 * The planner's word on how many rows an aggregate of the extension's over a whole query takes; -1 if the plan is of
 * another form.
 */
extern double gr_estimate_input(const GrPlan *plan);

/* Does the plan's first row come at little cost? Never if it is remote. */
extern bool gr_starts_at_once(const GrPlan *plan);

/* The name of this extension's custom scan, as EXPLAIN shows it. */
#define GR_SCAN_NAME "GpuregScan"

/* Is it an aggregate by this extension's own scan of a table, in workers or not? */
static inline bool
gr_is_scanned(const GrPlan *plan)
{
	return plan->scanned;
}

/* How many parallel workers it would run in: those of the topmost Gather */
extern int	gr_planned_workers(const GrPlan *plan);

/*
 * Runs a plan under the active snapshot, for at most nrows_max rows (0: all). Whatever the receiver allocates in the
 * current memory context is the caller's. ERROR if row-level security was worked in for another role than the present
 * one.
 */
extern void gr_run_plan(const GrPlan *plan, ParamListInfo params, GrReceiver *receiver, uint64 nrows_max);

/* Runs a plan for its one row's one column: a copy in the current memory context. */
extern Datum gr_run_for_value(const GrPlan *plan, ParamListInfo params, bool *isnull);

/* $1 .. $n of a plan, none of them NULL */
extern ParamListInfo gr_make_params(int n, const NullableDatum *values, const Oid *types);

#endif							/* GPUREG_QUERY_H */
