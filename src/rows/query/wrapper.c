/*
 * wrapper.c: builds the tree of SELECT ... FROM (user's query).
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/tlist.h"
#include "parser/parse_coerce.h"
#include "parser/parse_collate.h"
#include "parser/parse_oper.h"
#include "parser/parse_relation.h"
#include "parser/parsetree.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "rows/query/query.h"
#include "rows/query/wrapper.h"
#include "run/compat.h"

/*
 * Functions and types of the extension
 */

#define MEMBERS_MAX 16

/*
 * Objects that were found to belong to an extension, by the current command. ALTER EXTENSION sends other sessions no
 * invalidation of what it adds or drops, so members are looked up anew by each statement, by each command of a function
 * that follows a change, and in each subtransaction.
 */
static struct
{
	TimestampTz statement;		/* when the session's statement began */
	CommandId	command;
	SubTransactionId transaction;
	int			n;
	struct
	{
		Oid			class;
		Oid			object;
		Oid			extension;
	}			found[MEMBERS_MAX];
}			members;

static void
forget_members(XactEvent event, void *arg)
{
	(void) event;
	(void) arg;
	members.n = 0;
}

/* Forgets the members that an earlier command found. */
static void
begin_command(void)
{
	static bool registered = false;
	TimestampTz statement = GetCurrentStatementStartTimestamp();
	CommandId	command = GetCurrentCommandId(false);
	SubTransactionId transaction = GetCurrentSubTransactionId();

	if (!registered)
		RegisterXactCallback(forget_members, NULL);
	registered = true;
	if (members.statement == statement && members.command == command && members.transaction == transaction)
		return;
	members.statement = statement;
	members.command = command;
	members.transaction = transaction;
	members.n = 0;
}

/* Returns the extension that an object belongs to, or InvalidOid. */
static Oid
extension_of(Oid class, Oid object)
{
	Oid			extension;

	begin_command();
	for (int k = 0; k < members.n; k++)
		if (members.found[k].object == object && members.found[k].class == class)
			return members.found[k].extension;
	extension = getExtensionOfObject(class, object);
	if (OidIsValid(extension) && members.n < MEMBERS_MAX)
	{
		members.found[members.n].class = class;
		members.found[members.n].object = object;
		members.found[members.n++].extension = extension;
	}
	return extension;
}

/* True if object is valid and belongs to the extension that sibling, a function, belongs to. */
static bool
is_member(Oid sibling, Oid class, Oid object)
{
	Oid			extension = extension_of(ProcedureRelationId, sibling);

	return OidIsValid(object) && OidIsValid(extension) && extension_of(class, object) == extension;
}

/* Raises an ERROR unless object belongs to sibling's extension. */
static void
check_member(Oid sibling, Oid class, Oid object, const char *name)
{
	if (!is_member(sibling, class, object))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("extension \"gpureg\" lacks %s, which function %s needs", name, get_func_name(sibling)),
				 errhint("Run ALTER EXTENSION gpureg UPDATE, or drop the extension and create it again.")));
}

static Oid
find_sibling(Oid sibling, const char *name, int ntypes, const Oid *types, Oid result)
{
	Oid			function = GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid, CStringGetDatum(name),
										   PointerGetDatum(buildoidvector(types, ntypes)),
										   ObjectIdGetDatum(get_func_namespace(sibling)));

	if (OidIsValid(function) && OidIsValid(result) && get_func_rettype(function) != result)
		return InvalidOid;
	return function;
}

Oid
gr_find_own_function(Oid sibling, const char *name, int ntypes, const Oid *types, Oid result)
{
	Oid			function = find_sibling(sibling, name, ntypes, types, result);

	return is_member(sibling, ProcedureRelationId, function) ? function : InvalidOid;
}

Oid
gr_own_function(Oid sibling, const char *name, int ntypes, const Oid *types, Oid result)
{
	Oid			function = find_sibling(sibling, name, ntypes, types, result);

	check_member(sibling, ProcedureRelationId, function, name);
	return function;
}

Oid
gr_own_type(Oid sibling, const char *name)
{
	Oid			type = GetSysCacheOid2(TYPENAMENSP, Anum_pg_type_oid, CStringGetDatum(name),
									   ObjectIdGetDatum(get_func_namespace(sibling)));

	check_member(sibling, TypeRelationId, type, name);
	return type;
}

char *
gr_symbol_of(Oid function)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	char	   *symbol = NULL;
	Datum		source;
	bool		isnull;

	if (!HeapTupleIsValid(tuple))
		return NULL;
	source = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_prosrc, &isnull);
	if (((Form_pg_proc) GETSTRUCT(tuple))->prolang == ClanguageId && !isnull)
		symbol = TextDatumGetCString(source);
	ReleaseSysCache(tuple);
	return symbol;
}

/*
 * Trees
 */

void
gr_wrap_query(GrWrapper *wrapper, const GrQuery *query)
{
	Query	   *subquery = copyObject(query->tree);
	Query	   *tree = makeNode(Query);
	RangeTblRef *from = makeNode(RangeTblRef);
	ParseNamespaceItem *item;

	wrapper->query = query;
	wrapper->tree = tree;
	wrapper->pstate = make_parsestate(NULL);
	item = addRangeTableEntryForSubquery(wrapper->pstate, subquery, makeAlias("query", NIL), false, true);
	from->rtindex = item->p_rtindex;
	tree->commandType = CMD_SELECT;
	tree->querySource = QSRC_ORIGINAL;
	tree->canSetTag = true;
	/* Extensions that count statements count the wrapper as the user's statement. */
	tree->queryId = query->tree->queryId;
	tree->stmt_location = query->tree->stmt_location;
	tree->stmt_len = query->tree->stmt_len;
	tree->rtable = wrapper->pstate->p_rtable;
	tree->jointree = makeFromExpr(list_make1(from), NULL);
	/* The subquery has its policies already; the levels above must have the flag. */
	tree->hasRowSecurity = query->tree->hasRowSecurity;
}

Expr *
gr_wrapped_column(const GrWrapper *wrapper, int k)
{
	const RangeTblEntry *entry = rt_fetch(1, wrapper->tree->rtable);

	return (Expr *) makeVarFromTargetEntry(1, get_tle_by_resno(entry->subquery->targetList, k + 1));
}

Expr *
gr_wrapper_parameter(int id, Oid type)
{
	Param	   *parameter = makeNode(Param);

	parameter->paramkind = PARAM_EXTERN;
	parameter->paramid = id;
	parameter->paramtype = type;
	parameter->paramtypmod = -1;
	parameter->paramcollid = get_typcollation(type);
	parameter->location = -1;
	return (Expr *) parameter;
}

Expr *
gr_wrapper_constant(Datum value, Oid type)
{
	return (Expr *) makeConst(type, -1, InvalidOid, -1, value, false, false);
}

Expr *
gr_wrapper_cast(const GrWrapper *wrapper, Expr *value, Oid type)
{
	Oid			from = exprType((Node *) value);
	Node	   *cast = coerce_to_target_type(wrapper->pstate, (Node *) value, from, type, -1, COERCION_EXPLICIT,
											 COERCE_EXPLICIT_CAST, -1);

	if (cast == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_CANNOT_COERCE),
				 errmsg("cannot cast type %s to %s", format_type_be(from), format_type_be(type)),
				 errhint("Cast the column in the query to a type that has such a cast.")));
	return (Expr *) cast;
}

bool
gr_type_has_cast(Oid to, Oid from, CoercionContext context)
{
	Oid			function;

	switch (find_coercion_pathway(to, from, context, &function))
	{
		case COERCION_PATH_RELABELTYPE:
		case COERCION_PATH_FUNC:
		case COERCION_PATH_ARRAYCOERCE:
			return true;
		default:
			return false;
	}
}

void
gr_check_id_column(const GrQuery *query, Oid id_type)
{
	Form_pg_attribute id = TupleDescAttr(query->columns, 0);

	if (id->atttypid != id_type && !gr_type_has_cast(id_type, id->atttypid, COERCION_IMPLICIT))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("column \"%s\" of the query has type %s, not %s", NameStr(id->attname),
						format_type_be(id->atttypid), format_type_be(id_type)),
				 errhint("Pass the type of the ids: id => NULL::%s.", format_type_be(id->atttypid))));
}

Expr *
gr_wrapped_number(const GrWrapper *wrapper, int k)
{
	Expr	   *value = gr_wrapped_column(wrapper, k);

	/* PostgreSQL has no cast from boolean to float8. */
	if (getBaseType(exprType((Node *) value)) == BOOLOID)
		value = gr_wrapper_cast(wrapper, value, INT4OID);
	return gr_wrapper_cast(wrapper, value, FLOAT8OID);
}

Expr *
gr_wrapper_array(List *elements, Oid element)
{
	ArrayExpr  *array = makeNode(ArrayExpr);

	array->array_typeid = get_array_type(element);
	array->element_typeid = element;
	array->elements = elements;
	gr_array_without_location(array);
	return (Expr *) array;
}

Expr *
gr_wrapper_call(Oid function, List *args)
{
	return (Expr *) makeFuncExpr(function, get_func_rettype(function), args, InvalidOid, InvalidOid,
								 COERCE_EXPLICIT_CALL);
}

Aggref *
gr_make_aggregate(Oid function, List *args)
{
	Aggref	   *call = makeNode(Aggref);
	AttrNumber	n = 0;
	ListCell   *cell;

	call->aggfnoid = function;
	call->aggtype = get_func_rettype(function);
	call->aggkind = AGGKIND_NORMAL;
	call->aggsplit = AGGSPLIT_SIMPLE;
	call->aggno = -1;
	call->aggtransno = -1;
	call->location = -1;
	foreach(cell, args)
	{
		Expr	   *value = lfirst(cell);

		call->args = lappend(call->args, makeTargetEntry(value, ++n, NULL, false));
		call->aggargtypes = lappend_oid(call->aggargtypes, exprType((Node *) value));
	}
	return call;
}

Expr *
gr_wrapper_aggregate(GrWrapper *wrapper, Oid function, List *args)
{
	wrapper->tree->hasAggs = true;
	return (Expr *) gr_make_aggregate(function, args);
}

Expr *
gr_wrapper_is_not_null(const GrWrapper *wrapper, int k)
{
	NullTest   *test = makeNode(NullTest);

	test->arg = gr_wrapped_column(wrapper, k);
	test->nulltesttype = IS_NOT_NULL;
	/* A composite value is NULL as a whole; its fields are not looked at. */
	test->argisrow = false;
	test->location = -1;
	return (Expr *) test;
}

Expr *
gr_wrapper_all_of(List *tests)
{
	return list_length(tests) == 1 ? linitial(tests) : makeBoolExpr(AND_EXPR, tests, -1);
}

Expr *
gr_wrapper_value_where(Expr *test, Expr *value)
{
	CaseWhen   *when = makeNode(CaseWhen);
	CaseExpr   *result = makeNode(CaseExpr);

	when->expr = test;
	when->result = value;
	when->location = -1;
	result->casetype = exprType((Node *) value);
	result->casecollid = exprCollation((Node *) value);
	result->args = list_make1(when);
	result->defresult = (Expr *) makeNullConst(result->casetype, -1, result->casecollid);
	result->location = -1;
	return (Expr *) result;
}

void
gr_wrapper_select(GrWrapper *wrapper, Expr *value)
{
	List	  **targets = &wrapper->tree->targetList;
	AttrNumber	n = list_length(*targets) + 1;

	*targets = lappend(*targets, makeTargetEntry(value, n, psprintf("column%d", n), false));
}

/* Sets the operators by which a clause groups a type's values. Returns false if there are none. */
static bool
find_grouping(SortGroupClause *group, Oid type)
{
	get_sort_group_operators(type, false, false, false, &group->sortop, &group->eqop, NULL, &group->hashable);
	return OidIsValid(group->eqop) && (OidIsValid(group->sortop) || group->hashable);
}

void
gr_check_groupable(Oid type, const char *name)
{
	SortGroupClause group;

	if (!find_grouping(&group, type))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("column \"%s\" of the query has unsupported type %s", name, format_type_be(type)),
				 errdetail("Rows cannot be grouped by a value of this type."),
				 errhint("Cast the column in the query, for example to text.")));
}

/* Groups by an entry of the target list. */
static void
group_by(GrWrapper *wrapper, TargetEntry *entry)
{
	Query	   *tree = wrapper->tree;
	SortGroupClause *group = makeNode(SortGroupClause);

	if (!find_grouping(group, exprType((Node *) entry->expr)))
		elog(ERROR, "type %u cannot be grouped", exprType((Node *) entry->expr));
	entry->ressortgroupref = group->tleSortGroupRef = list_length(tree->groupClause) + 1;
	tree->groupClause = lappend(tree->groupClause, group);
}

void
gr_wrapper_group(GrWrapper *wrapper, Expr *value)
{
	Query	   *tree = wrapper->tree;
	TargetEntry *entry = makeTargetEntry(value, list_length(tree->targetList) + 1, NULL, true);

	group_by(wrapper, entry);
	tree->targetList = lappend(tree->targetList, entry);
}

void
gr_wrapper_select_group(GrWrapper *wrapper, Expr *value)
{
	gr_wrapper_select(wrapper, value);
	group_by(wrapper, llast_node(TargetEntry, wrapper->tree->targetList));
}

GrQuery *
gr_wrapper_query(GrWrapper *wrapper, const char **names)
{
	GrQuery    *query = palloc(sizeof(GrQuery));

	assign_query_collations(wrapper->pstate, wrapper->tree);
	free_parsestate(wrapper->pstate);
	*query = *wrapper->query;
	query->tree = wrapper->tree;
	query->columns = ExecCleanTypeFromTL(wrapper->tree->targetList);
	query->names = names;
	query->base = wrapper->query;
	return query;
}

GrPlan *
gr_plan_wrapper(GrWrapper *wrapper)
{
	GrPlan	   *plan;

	assign_query_collations(wrapper->pstate, wrapper->tree);
	plan = gr_plan_tree(wrapper->query, wrapper->tree, CURSOR_OPT_PARALLEL_OK);
	free_parsestate(wrapper->pstate);
	return plan;
}

int
gr_turn_jit_off(void)
{
	int			nest_level = NewGUCNestLevel();

	(void) set_config_option("jit", "off", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	return nest_level;
}

/*
 * Sets what the planner needs for an aggregate of the extension; returns the nesting level that ends the settings.
 * Partitions must not be aggregated one by one: each aggregate would leave a block of the ring half full, and with more
 * partitions than blocks the ring would stall.
 */
static int
aggregate_settings(void)
{
	int			nest_level = gr_turn_jit_off();

	(void) set_config_option("enable_partitionwise_aggregate", "off", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true,
							 0, false);
	return nest_level;
}

GrPlan *
gr_plan_wrapped_aggregate(GrWrapper *wrapper, int *nworkers)
{
	int			nest_level = aggregate_settings();
	GrPlan	   *plan = gr_plan_wrapper(wrapper);

	AtEOXact_GUC(true, nest_level);
	*nworkers = gr_planned_workers(plan);
	return plan;
}
