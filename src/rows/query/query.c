/*
 * query.c: a user's query, which is analysed once, then planned and run as often as needed.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_class.h"
#include "executor/executor.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/extensible.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "parser/parse_target.h"
#include "parser/parser.h"
#include "parser/scanner.h"
#include "tcop/tcopprot.h"
#include "tcop/utility.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"

#include "rows/columns/columns.h"
#include "rows/query/launched.h"
#include "rows/query/query.h"
#include "run/compat.h"

/* Longer names of columns are cut off. */
#define NAME_LENGTH_MAX 1000

int			gr_read = GR_READ_AUTO;

/*
 * Messages
 */

void
gr_query_error(void *arg)
{
	const char *text = arg;
	int			position = geterrposition();

	if (position > 0)
	{
		errposition(0);
		internalerrposition(position);
		internalerrquery(text);
	}
	else
		errcontext("SQL statement \"%s\"", text);
}

/*
 * Names of columns
 *
 * A target of a SELECT is found by its position in the text, which both parsed targets and parts of analysed
 * expressions have. The server's own scanner finds where the target ends.
 */

/* Returns the SELECT that names a statement's columns; NULL if its columns are not targets (VALUES). */
static const SelectStmt *
naming_select(const RawStmt *statement)
{
	const SelectStmt *select;

	if (!IsA(statement->stmt, SelectStmt))
		return NULL;
	select = (const SelectStmt *) statement->stmt;
	while (select->op != SETOP_NONE)
		select = select->larg;
	return select->valuesLists == NIL ? select : NULL;
}

/* Returns the target with the expression at location; NULL if location is unknown or the target is a star. */
static const ResTarget *
find_target(const SelectStmt *select, int location)
{
	const ResTarget *found = NULL;
	ListCell   *cell;

	if (select == NULL || location < 0)
		return NULL;
	foreach(cell, select->targetList)
	{
		const ResTarget *target = lfirst_node(ResTarget, cell);

		if (target->location >= 0 && target->location <= location)
			found = target;
	}
	if (found != NULL && IsA(found->val, ColumnRef) && IsA(llast(((ColumnRef *) found->val)->fields), A_Star))
		return NULL;
	return found;
}

/*
 * True if nothing in a target gives it a name. (The server would take the name of a type that the whole target is cast
 * to.)
 */
static bool
is_nameless(const ResTarget *target)
{
	Node	   *value = target->val;

	while (IsA(value, TypeCast))
		value = ((TypeCast *) value)->arg;
	return strcmp(FigureColname(value), "?column?") == 0;
}

/* True if a keyword outside brackets ends a target. before: the keyword before it, or NULL */
static bool
ends_target(const char *keyword, const char *before)
{
	static const char *const enders[] = {
		"as", "from", "into", "where", "group", "having", "window", "order", "limit", "offset", "fetch", "for", "union",
		"intersect", "except"
	};

	/* IS DISTINCT FROM, WITHIN GROUP */
	if (before != NULL && ((strcmp(keyword, "from") == 0 && strcmp(before, "distinct") == 0) ||
						   (strcmp(keyword, "group") == 0 && strcmp(before, "within") == 0)))
		return false;
	for (int k = 0; k < lengthof(enders); k++)
		if (strcmp(keyword, enders[k]) == 0)
			return true;
	return false;
}

/* Returns the keyword that a token is; NULL if it is none. */
static const char *
keyword_of(int token, const core_YYSTYPE *value)
{
	/* single characters are tokens of their own */
	if (token < 256)
		return NULL;
	for (int k = 0; k < ScanKeywords.num_keywords; k++)
		if (ScanKeywordTokens[k] == token)
			return value->keyword;
	return NULL;
}

/* Returns the text of the expression at location, without comments and with single spaces. */
static const char *
expression_at(const char *text, int location)
{
	core_yy_extra_type extra;
	core_YYSTYPE value;
	YYLTYPE		at = 0;
	core_yyscan_t scanner;
	StringInfoData expression;
	const char *before = NULL;
	int			depth = 0;
	int			end = 0;
	int			token;

	initStringInfo(&expression);
	text += location;
	scanner = scanner_init(text, &extra, &ScanKeywords, ScanKeywordTokens);
	while ((token = core_yylex(&value, &at, scanner)) != 0)
	{
		const char *keyword = keyword_of(token, &value);
		/* the scanner ends each token with a 0 while it is the last one */
		int			length = (int) strlen(extra.scanbuf + at);

		if (depth == 0 && (token == ',' || token == ';' || token == ')' ||
						   (keyword != NULL && ends_target(keyword, before))))
			break;
		depth += token == '(' || token == '[' ? 1 : token == ')' || token == ']' ? -1 : 0;
		if (expression.len > 0 && at > end)
			appendStringInfoChar(&expression, ' ');
		appendBinaryStringInfo(&expression, text + at, length);
		end = at + length;
		before = keyword;
	}
	scanner_finish(scanner);
	if (expression.len > NAME_LENGTH_MAX)
		expression.data[pg_mbcliplen(expression.data, expression.len, NAME_LENGTH_MAX)] = '\0';
	return expression.data;
}

/* True if another column has the name of entry. */
static bool
is_shared(const Query *tree, const TargetEntry *entry)
{
	ListCell   *cell;

	foreach(cell, tree->targetList)
	{
		const TargetEntry *other = lfirst_node(TargetEntry, cell);

		if (!other->resjunk && other != entry && strcmp(other->resname, entry->resname) == 0)
			return true;
	}
	return false;
}

/*
 * Names the columns of an analysed query, in the current memory context. A column without a name of its own, which the
 * server calls "?column?" or after a type that it is cast to, and columns that share a name which AS did not give them,
 * are called by their expressions: as these stand in the text, but without comments and with single spaces.
 */
static const char **
name_columns(const char *text, const RawStmt *statement, const Query *tree)
{
	const SelectStmt *select = naming_select(statement);
	const char **names = palloc(list_length(tree->targetList) * sizeof(char *));
	ListCell   *cell;
	int			n = 0;

	foreach(cell, tree->targetList)
	{
		const TargetEntry *entry = lfirst_node(TargetEntry, cell);
		const ResTarget *target = find_target(select, exprLocation((Node *) entry->expr));

		if (entry->resjunk)
			continue;
		if (target != NULL && target->name == NULL && (is_nameless(target) || is_shared(tree, entry)))
			names[n] = expression_at(text, target->location);
		else
			names[n] = entry->resname;
		n++;
	}
	return names;
}

/*
 * Analysis
 */

/* True if a FOR UPDATE or FOR SHARE clause is in the tree, at any depth. */
static bool
locks_rows(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (!IsA(node, Query))
		return expression_tree_walker(node, locks_rows, context);
	return ((Query *) node)->rowMarks != NIL || query_tree_walker((Query *) node, locks_rows, context, 0);
}

/* True if policies of row-level security were added to the tree, at any depth. */
static bool
has_row_security(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (!IsA(node, Query))
		return expression_tree_walker(node, has_row_security, context);
	return ((Query *) node)->hasRowSecurity || query_tree_walker((Query *) node, has_row_security, context, 0);
}

/* Parses a text; ERROR unless it is one statement. */
static RawStmt *
parse_statement(const char *text)
{
	List	   *statements = raw_parser(text, RAW_PARSE_DEFAULT);

	if (list_length(statements) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_SYNTAX_ERROR),
				 errmsg("query must be one statement"),
				 errdetail("The query has %d statements.", list_length(statements)),
				 errhint("Pass a single SELECT.")));
	return linitial_node(RawStmt, statements);
}

/* Returns the one query of a statement; ERROR unless it is a SELECT that neither writes nor locks rows. */
static Query *
check_statement(List *queries)
{
	Query	   *query = list_length(queries) == 1 ? linitial_node(Query, queries) : NULL;

	if (query == NULL || query->commandType != CMD_SELECT || query->utilityStmt != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("query must be a SELECT"),
				 errdetail("Only statements that return rows and change nothing can be used."),
				 errhint("Write the query as SELECT ... FROM ..., or as a WITH that ends in such a SELECT.")));
	if (query->hasModifyingCTE || locks_rows((Node *) query, NULL))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("query must not write or lock rows"),
				 errdetail("The query has a data-modifying WITH or a FOR UPDATE or FOR SHARE clause."),
				 errhint("Write or lock the rows in a separate statement.")));
	return query;
}

GrQuery *
gr_analyse_query(const char *text)
{
	GrQuery    *query = palloc0(sizeof(GrQuery));
	RawStmt    *statement;
	List	   *queries;

	/* Volatile functions that the analysis calls need a snapshot, and so does the planner. */
	if (!ActiveSnapshotSet())
		elog(ERROR, "there is no active snapshot");
	query->text = text;
	query->role = GetUserId();
	query->row_security = row_security;
	query->read = gr_read;
	statement = parse_statement(text);
	queries = pg_analyze_and_rewrite_fixedparams(statement, text, NULL, 0, NULL);
	query->tree = check_statement(queries);
	query->columns = ExecCleanTypeFromTL(query->tree->targetList);
	query->has_row_security = has_row_security((Node *) query->tree, NULL);
	query->names = name_columns(text, statement, query->tree);
	return query;
}

/*
 * True if an aggregate's result may depend on the order of its input. Aggregates that return numbers are sums and the
 * like: their rounding differs with the order, which is accepted here.
 */
static bool
heeds_order(const Aggref *aggregate)
{
	return !gr_is_number_type(aggregate->aggtype);
}

/*
 * True if the query may return other rows, or rows in another order that matters, when it is run again under the same
 * snapshot: somewhere it samples, has an aggregate that depends on order, limits rows, or numbers them. Scans of a
 * large table begin where another scan is, workers deliver rows in any order, and an ORDER BY may leave ties.
 */
static bool
depends_on_chance(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, RangeTblEntry))
		return ((RangeTblEntry *) node)->tablesample != NULL;
	if (IsA(node, Aggref) && heeds_order((Aggref *) node))
		return true;
	if (IsA(node, Query))
	{
		Query	   *query = (Query *) node;

		if (query->limitCount != NULL || query->limitOffset != NULL || query->hasDistinctOn || query->hasWindowFuncs)
			return true;
		return query_tree_walker(query, depends_on_chance, context, QTW_EXAMINE_RTES_BEFORE);
	}
	return expression_tree_walker(node, depends_on_chance, context);
}

bool
gr_is_repeatable(const GrQuery *query)
{
	Node	   *tree = (Node *) query->tree;

	return !contain_volatile_functions(tree) && !depends_on_chance(tree, NULL);
}

/* True if node has a range table entry of a foreign table. */
static bool
has_foreign_table(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, RangeTblEntry))
		return ((RangeTblEntry *) node)->relkind == RELKIND_FOREIGN_TABLE;
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, has_foreign_table, context, QTW_EXAMINE_RTES_BEFORE);
	return expression_tree_walker(node, has_foreign_table, context);
}

bool
gr_reads_foreign_table(const GrQuery *query)
{
	return has_foreign_table((Node *) query->tree, NULL);
}

/*
 * Plans
 */

static bool has_custom_scan(const Plan *plan);

static bool
have_custom_scan(List *plans)
{
	ListCell   *cell;

	foreach(cell, plans)
		if (has_custom_scan(lfirst(cell)))
			return true;
	return false;
}

/* True if the plan is this extension's custom scan. No other can be registered by that name. */
static bool
is_scan(const Plan *plan)
{
	return IsA(plan, CustomScan) && strcmp(((const CustomScan *) plan)->methods->CustomName, GR_SCAN_NAME) == 0;
}

/*
 * True if the plan is an aggregate over this extension's own scan of a table, or of some of its partitions, in parallel
 * workers or not.
 */
static bool
is_scan_aggregate(const Plan *node)
{
	ListCell   *cell;

	if (!IsA(node, Agg))
		return false;
	node = node->lefttree;
	if (IsA(node, Gather))
		node = node->lefttree;
	if (!IsA(node, Append))
		return is_scan(node);
	foreach(cell, ((const Append *) node)->appendplans)
		if (is_scan(lfirst(cell)))
			return true;
	return false;
}

/*
 * True if another extension's custom scan is in the plan, at any depth. Subplans are not looked at: the statement lists
 * them.
 */
static bool
has_custom_scan(const Plan *plan)
{
	if (plan == NULL)
		return false;
	check_stack_depth();
	switch (nodeTag(plan))
	{
		case T_CustomScan:
			return !is_scan(plan);
		case T_SubqueryScan:
			return has_custom_scan(((const SubqueryScan *) plan)->subplan);
		case T_Append:
			return have_custom_scan(((const Append *) plan)->appendplans);
		case T_MergeAppend:
			return have_custom_scan(((const MergeAppend *) plan)->mergeplans);
		default:
			return has_custom_scan(plan->lefttree) || has_custom_scan(plan->righttree);
	}
}

GrPlan *
gr_plan_tree(const GrQuery *query, Query *tree, int cursor_options)
{
	GrPlan	   *plan = palloc0(sizeof(GrPlan));

	plan->query = query;
	plan->columns = ExecCleanTypeFromTL(tree->targetList);
	plan->stmt = gr_plan_analyzed(tree, query->text, cursor_options);
	plan->scanned = is_scan_aggregate(plan->stmt->planTree);
	plan->shipped = IsA(plan->stmt->planTree, ForeignScan) &&
		((const ForeignScan *) plan->stmt->planTree)->scan.scanrelid == 0;
	plan->remote = has_custom_scan(plan->stmt->planTree) || have_custom_scan(plan->stmt->subplans);
	return plan;
}

/* Plans a target list whose Vars refer to the columns of the row below. */
static List *
plan_targets(List *targets)
{
	List	   *planned = copyObject(targets);
	ListCell   *cell;

	foreach(cell, planned)
	{
		TargetEntry *target = lfirst_node(TargetEntry, cell);

		target->expr = expression_planner(target->expr);
	}
	return planned;
}

GrPlan *
gr_plan_query(const GrQuery *query, int cursor_options)
{
	GrPlan	   *plan = gr_plan_tree(query, copyObject(query->tree), cursor_options);

	plan->by_spi = gr_is_read_by_spi(query);
	plan->cursor_options = cursor_options;
	for (; plan->by_spi && query->base != NULL; query = query->base)
		plan->layers = lcons(plan_targets(query->tree->targetList), plan->layers);
	return plan;
}

double
gr_estimate_rows(const GrPlan *plan)
{
	return plan->stmt->planTree->plan_rows;
}

double
gr_estimate_input(const GrPlan *plan)
{
	const Plan *node = plan->stmt->planTree;
	double		nprocesses = 1;
	List	   *parts;
	ListCell   *cell;
	double		nrows = 0;

	if (!IsA(node, Agg))
		return -1;
	if (!DO_AGGSPLIT_COMBINE(((const Agg *) node)->aggsplit))
		return node->lefttree->plan_rows;
	node = node->lefttree;
	if (IsA(node, Gather))
	{
		int			nworkers = ((const Gather *) node)->num_workers;

		/* The planner divided the rows by this number; see get_parallel_divisor(). */
		nprocesses = nworkers + (parallel_leader_participation ? Max(1.0 - 0.3 * nworkers, 0) : 0);
		node = node->lefttree;
	}
	parts = IsA(node, Append) ? ((const Append *) node)->appendplans : list_make1(unconstify(Plan *, node));
	foreach(cell, parts)
	{
		const Plan *part = lfirst(cell);

		if (is_scan(part))
			nrows += ((const Plan *) linitial(((const CustomScan *) part)->custom_plans))->plan_rows;
		else if (IsA(part, Agg))
			nrows += part->lefttree->plan_rows;
		else
			return -1;
	}
	return nrows * nprocesses;
}

bool
gr_starts_at_once(const GrPlan *plan)
{
	const Plan *top = plan->stmt->planTree;

	/* A plan for a single row runs without workers, so the setup cost of workers does not count. */
	return !plan->remote && top->startup_cost <= parallel_setup_cost + top->total_cost / 50;
}

int
gr_planned_workers(const GrPlan *plan)
{
	if (!plan->stmt->parallelModeNeeded)
		return 0;
	for (const Plan *node = plan->stmt->planTree; node != NULL; node = node->lefttree)
	{
		if (IsA(node, Gather))
			return ((const Gather *) node)->num_workers;
		if (IsA(node, GatherMerge))
			return ((const GatherMerge *) node)->num_workers;
	}
	/* The Gather is not straight below the top, so the number of workers is not looked for. */
	return 1;
}

/*
 * Running them
 */

/*
 * Raises an ERROR if the role or row_security has changed since the query was analysed: a function of the query may do
 * that, and the policies in the tree would be the wrong ones.
 */
static void
check_role(const GrPlan *plan)
{
	const GrQuery *query = plan->query;

	if ((query->has_row_security || plan->stmt->dependsOnRole) &&
		(query->role != GetUserId() || query->row_security != row_security))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("role or row_security was changed while the query was being planned or run"),
				 errdetail("The query reads tables with row-level security."),
				 errhint("Run the statement again.")));
}

/* Raises an ERROR unless the executor's columns have the types that the analysis found. */
static void
check_columns(TupleDesc given, TupleDesc wanted)
{
	bool		ok = given->natts == wanted->natts;

	for (int k = 0; ok && k < wanted->natts; k++)
		ok = TupleDescAttr(given, k)->atttypid == TupleDescAttr(wanted, k)->atttypid;
	if (!ok)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("query returns other columns than when it was analysed"),
				 errhint("Run the statement again.")));
}

static void
receiver_startup(DestReceiver *self, int operation, TupleDesc given)
{
	(void) operation;
	check_columns(given, ((GrReceiver *) self)->plan->columns);
}

static void
receiver_nothing(DestReceiver *self)
{
	(void) self;
}

/*
 * Through SPI
 */

/* Receiver of the text's query: computes the plan's layers over each row and passes the result to `to`. */
typedef struct SpiReceiver
{
	DestReceiver pub;
	const GrPlan *plan;
	const GrQuery *base;		/* the text's query */
	GrSpiRun	run;
	DestReceiver *to;
	MemoryContext context;		/* owns what follows */
	ExprContext *econtext;
	List	   *projections;	/* ProjectionInfo of each layer, innermost first */
} SpiReceiver;

static void
spi_startup(DestReceiver *self, int operation, TupleDesc given)
{
	SpiReceiver *receiver = (SpiReceiver *) self;
	MemoryContext old = MemoryContextSwitchTo(receiver->context);
	ListCell   *cell;

	(void) operation;
	/* Functions of the query may have run in the planner since gr_run_plan() checked. */
	check_role(receiver->plan);
	gr_spi_check(&receiver->run);
	check_columns(given, receiver->base->columns);
	receiver->econtext = CreateStandaloneExprContext();
	foreach(cell, receiver->plan->layers)
	{
		List	   *targets = lfirst(cell);
		TupleDesc	columns = ExecCleanTypeFromTL(targets);
		ProjectionInfo *layer = ExecBuildProjectionInfo(targets, receiver->econtext,
														MakeSingleTupleTableSlot(columns, &TTSOpsVirtual), NULL, given);

		receiver->projections = lappend(receiver->projections, layer);
		given = columns;
	}
	check_columns(given, receiver->plan->columns);
	MemoryContextSwitchTo(old);
}

static bool
spi_receive(TupleTableSlot *slot, DestReceiver *self)
{
	SpiReceiver *receiver = (SpiReceiver *) self;
	ListCell   *cell;

	ResetExprContext(receiver->econtext);
	foreach(cell, receiver->projections)
	{
		receiver->econtext->ecxt_scantuple = slot;
		slot = ExecProject(lfirst(cell));
	}
	return receiver->to->receiveSlot(slot, receiver->to);
}

/* Runs the plan's query through SPI. */
static void
run_by_spi(const GrPlan *plan, GrReceiver *to, uint64 nrows_max)
{
	ErrorContextCallback *context = error_context_stack;
	bool		is_own = context != NULL && context->callback == gr_query_error;
	SpiReceiver receiver = {
		.pub = {
			.receiveSlot = spi_receive,.rStartup = spi_startup,.rShutdown = receiver_nothing,
			.rDestroy = receiver_nothing,.mydest = DestNone
		},
		.plan = plan,.base = plan->query,.to = &to->pub
	};

	while (receiver.base->base != NULL)
		receiver.base = receiver.base->base;
	receiver.context = AllocSetContextCreate(CurrentMemoryContext, "gpureg SPI", ALLOCSET_DEFAULT_SIZES);
	receiver.run = (GrSpiRun) {
		.text = receiver.base->text,.tree = receiver.base->tree,.cursor_options = plan->cursor_options,
		.dest = &receiver.pub,.nrows_max = nrows_max,.outer = is_own ? context->previous : context
	};
	gr_spi_run(&receiver.run);
	if (receiver.econtext != NULL)
		FreeExprContext(receiver.econtext, true);
	MemoryContextDelete(receiver.context);
}

void
gr_run_plan(const GrPlan *plan, ParamListInfo params, GrReceiver *receiver, uint64 nrows_max)
{
	QueryDesc  *desc;

	receiver->plan = plan;
	receiver->nworkers = 0;
	receiver->pub.rStartup = receiver_startup;
	receiver->pub.rShutdown = receiver_nothing;
	receiver->pub.rDestroy = receiver_nothing;
	receiver->pub.mydest = DestNone;
	check_role(plan);
	if (!CommandIsReadOnly(plan->stmt))
		elog(ERROR, "query was planned as a query that writes");
	if (plan->by_spi)
	{
		Assert(params == NULL);
		run_by_spi(plan, receiver, nrows_max);
		return;
	}
	desc = CreateQueryDesc(plan->stmt, plan->query->text, GetActiveSnapshot(), InvalidSnapshot, &receiver->pub, params,
						   NULL, 0);
	ExecutorStart(desc, 0);
	gr_executor_run(desc, nrows_max);
	receiver->nworkers = gr_launched_workers(desc->planstate);
	ExecutorFinish(desc);
	ExecutorEnd(desc);
	FreeQueryDesc(desc);
}

typedef struct ValueReceiver
{
	GrReceiver	base;
	MemoryContext context;		/* owner of the copied value */
	int			nrows;
	Datum		value;
	bool		isnull;
} ValueReceiver;

static bool
receive_value(TupleTableSlot *slot, DestReceiver *self)
{
	ValueReceiver *receiver = (ValueReceiver *) self;
	Form_pg_attribute column = TupleDescAttr(receiver->base.plan->columns, 0);
	MemoryContext old;

	receiver->nrows++;
	receiver->value = slot_getattr(slot, 1, &receiver->isnull);
	if (receiver->isnull)
		return true;
	old = MemoryContextSwitchTo(receiver->context);
	receiver->value = datumCopy(receiver->value, column->attbyval, column->attlen);
	MemoryContextSwitchTo(old);
	return true;
}

Datum
gr_run_for_value(const GrPlan *plan, ParamListInfo params, bool *isnull)
{
	ValueReceiver receiver = {.base.pub.receiveSlot = receive_value,.context = CurrentMemoryContext};

	Assert(plan->columns->natts == 1);
	gr_run_plan(plan, params, &receiver.base, 0);
	if (receiver.nrows != 1)
		elog(ERROR, "an aggregate returned %d rows", receiver.nrows);
	*isnull = receiver.isnull;
	return receiver.value;
}

ParamListInfo
gr_make_params(int n, const NullableDatum *values, const Oid *types)
{
	ParamListInfo params = makeParamList(n);

	for (int k = 0; k < n; k++)
	{
		params->params[k].value = values[k].value;
		params->params[k].isnull = values[k].isnull;
		params->params[k].pflags = PARAM_FLAG_CONST;
		params->params[k].ptype = types[k];
	}
	return params;
}
