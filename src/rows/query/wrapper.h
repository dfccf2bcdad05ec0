/*
 * wrapper.h: SELECT what the extension puts around a user's query FROM (query), as a tree.
 *
 * The query's own tree, analysed once, stands in it as a subquery. What is called is named by OID, and the parameters,
 * $1 and up, are the extension's alone: the query itself has none.
 */
#ifndef GPUREG_WRAPPER_H
#define GPUREG_WRAPPER_H

#include "postgres.h"

#include "nodes/parsenodes.h"
#include "nodes/primnodes.h"
#include "parser/parse_node.h"

#include "rows/query/query.h"

typedef struct GrWrapper
{
	const GrQuery *query;
	Query	   *tree;
	ParseState *pstate;
} GrWrapper;

/*
 * The extension's own function or aggregate of this name, with exactly these types of arguments (ANYOID for VARIADIC
 * "any") and this type of result. sibling: the function of the extension's that is being called. It is looked for in
 * that one's schema by the whole signature, of which there can be no other there, and must belong to the same
 * extension. ERROR if there is none.
 */
extern Oid	gr_own_function(Oid sibling, const char *name, int ntypes, const Oid *types, Oid result);

/* The same; InvalidOid if there is none. result: InvalidOid for any type that the one there is gives */
extern Oid	gr_find_own_function(Oid sibling, const char *name, int ntypes, const Oid *types, Oid result);

/* The extension's own type of this name, likewise. */
extern Oid	gr_own_type(Oid sibling, const char *name);

/* A wrapper that selects nothing yet. */
extern void gr_wrap_query(GrWrapper *wrapper, const GrQuery *query);

/* The query's column k, from 0 on. */
extern Expr *gr_wrapped_column(const GrWrapper *wrapper, int k);

/* $id */
extern Expr *gr_wrapper_parameter(int id, Oid type);

/* A constant of a type of variable length; it stays the caller's memory until the wrapper is planned and run. */
extern Expr *gr_wrapper_constant(Datum value, Oid type);

/* value::type; there must be such a cast, or none must be needed. */
extern Expr *gr_wrapper_cast(const GrWrapper *wrapper, Expr *value, Oid type);

/* ARRAY[elements], each of them of the type element */
extern Expr *gr_wrapper_array(List *elements, Oid element);

/* A call of a function or of an aggregate, whose arguments have the types that it declares. */
extern Expr *gr_wrapper_call(Oid function, List *args);
extern Aggref *gr_make_aggregate(Oid function, List *args);
extern Expr *gr_wrapper_aggregate(GrWrapper *wrapper, Oid function, List *args);

/* Adds a column to what is selected. */
extern void gr_wrapper_select(GrWrapper *wrapper, Expr *value);

/* ERROR unless values of the type, which the query's column of that name has, can be grouped. */
extern void gr_check_groupable(Oid type, const char *name);

/* Groups by a value of such a type, which isn't selected. */
extern void gr_wrapper_group(GrWrapper *wrapper, Expr *value);

/* It as a query like the user's own, whose columns have these names; the wrapper is given up. */
extern GrQuery *gr_wrapper_query(GrWrapper *wrapper, const char **names);

/*
 * Turns jit off for plans of the extension's own: compiling the calls of one function takes longer than it gains, in
 * each worker and for each pass. A plan is made for it or not, so this is for the time of planning. AtEOXact_GUC(true,
 * level) with the level returned brings the setting back, as the end of a failed subtransaction does.
 */
extern int	gr_turn_jit_off(void);

/* Plans it, in parallel workers where the planner likes; the wrapper is given up. */
extern GrPlan *gr_plan_wrapper(GrWrapper *wrapper);

/* The same of an aggregate of the extension's over the whole query. *nworkers: how many it would run in */
extern GrPlan *gr_plan_wrapped_aggregate(GrWrapper *wrapper, int *nworkers);

#endif							/* GPUREG_WRAPPER_H */
