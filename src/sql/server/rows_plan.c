/*
 * rows_plan.c: refuses calls of functions with ids of any type whose result the parser has given the wrong type.
 *
 * The parser takes the type of an id of type anyelement from the argument in the id's declared place among the call's
 * arguments, before it sorts named arguments. If id has another place in the call, the columns of the query have the
 * type of another argument, and PostgreSQL reads an id as a value of that type, which may end the server. The executor
 * has no such check for columns above a join. So the planner is told to look.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "nodes/nodeFuncs.h"
#include "nodes/parsenodes.h"
#include "nodes/pathnodes.h"
#include "nodes/supportnodes.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

PG_FUNCTION_INFO_V1(gr_rows_support);

/* A function in FROM whose first column is the id. */
typedef struct IdColumn
{
	int			varno;			/* number of its entry in the range table */
	AttrNumber	attno;			/* number of the id among the entry's columns */
	Oid			type;			/* type of the argument id */
	int			argument;		/* number of the argument id, from 1 */
	int			level;			/* queries between the entry's and the one being looked at */
} IdColumn;

static void
raise_type(const IdColumn *id, Oid found)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg("the ids have type %s, but the query expects %s", format_type_be(id->type), format_type_be(found)),
			 errdetail("The server takes the type from argument %d of the call.", id->argument),
			 errhint("Make id argument number %d of the call.", id->argument)));
}

/* Looks for columns of the function, at any depth of the query, that have another type than the ids. */
static bool
check_columns(Node *node, void *arg)
{
	IdColumn   *id = arg;
	bool		stop;

	if (node == NULL)
		return false;
	if (IsA(node, Var))
	{
		const Var  *var = (const Var *) node;

		if (var->varno == id->varno && (int) var->varlevelsup == id->level && var->varattno == id->attno &&
			var->vartype != id->type)
			raise_type(id, var->vartype);
		return false;
	}
	if (IsA(node, Query))
	{
		id->level++;
		stop = query_tree_walker((Query *) node, check_columns, arg, 0);
		id->level--;
		return stop;
	}
	return expression_tree_walker(node, check_columns, arg);
}

/* Returns the number of the argument that is declared as anyelement, from 1; 0: there is none. */
static int
polymorphic_argument(Oid function)
{
	Oid		   *types;
	int			n;

	(void) get_func_signature(function, &types, &n);
	for (int k = 0; k < n; k++)
		if (types[k] == ANYELEMENTOID)
			return k + 1;
	return 0;
}

/* Returns the type of argument number k, from 1, of a call whose named arguments may be in any order. */
static Oid
argument_type(const FuncExpr *call, int k)
{
	ListCell   *cell;
	int			place = 0;

	foreach(cell, call->args)
	{
		const Node *value = lfirst(cell);

		place++;
		if (IsA(value, NamedArgExpr) ? ((const NamedArgExpr *) value)->argnumber + 1 == k : place == k)
			return exprType(value);
	}
	return InvalidOid;
}

/* gpu_rows_support(internal): support function of functions that return ids of any type */
Datum
gr_rows_support(PG_FUNCTION_ARGS)
{
	const SupportRequestSimplify *request = (const SupportRequestSimplify *) PG_GETARG_POINTER(0);
	Query	   *query;
	int			varno = 0;
	ListCell   *cell;

	if (!IsA(request, SupportRequestSimplify) || request->root == NULL)
		PG_RETURN_POINTER(NULL);
	query = request->root->parse;
	foreach(cell, query->rtable)
	{
		const RangeTblEntry *entry = lfirst_node(RangeTblEntry, cell);
		AttrNumber	attno = 1;
		ListCell   *item;

		varno++;
		foreach(item, entry->rtekind == RTE_FUNCTION ? entry->functions : NIL)
		{
			const RangeTblFunction *of = lfirst_node(RangeTblFunction, item);
			const FuncExpr *call = (const FuncExpr *) of->funcexpr;

			if (IsA(call, FuncExpr) && call->funcid == request->fcall->funcid)
			{
				IdColumn	id = {.varno = varno,.attno = attno,.argument = polymorphic_argument(call->funcid)};

				id.type = argument_type(call, id.argument);
				if (OidIsValid(id.type))
					(void) query_tree_walker(query, check_columns, &id, 0);
			}
			attno += of->funccolcount;
		}
	}
	PG_RETURN_POINTER(NULL);
}
