/*
 * wrapper.h: builds the tree of SELECT ... FROM (user's query).
 *
 * The user's tree, analysed once, is its subquery. Functions and types are named by OID. The parameters $1, $2 and so
 * on belong to the extension: the user's query has none.
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
 * Returns the extension's function or aggregate with this name, exactly these argument types (ANYOID for VARIADIC
 * "any") and this result type. sibling: the extension's SQL function that is being called. The function is looked up in
 * sibling's schema by its whole signature and must belong to sibling's extension. ERROR if there is no such function.
 */
extern Oid	gr_own_function(Oid sibling, const char *name, int ntypes, const Oid *types, Oid result);

/* Like gr_own_function(), but returns InvalidOid if there is no such function. result: InvalidOid allows any type. */
extern Oid	gr_find_own_function(Oid sibling, const char *name, int ntypes, const Oid *types, Oid result);

/* Returns the extension's type with this name, from sibling's schema. ERROR if there is no such type. */
extern Oid	gr_own_type(Oid sibling, const char *name);

/* Returns the symbol of a function in C, in the current memory context, or NULL if it is in another language. */
extern char *gr_symbol_of(Oid function);

/* Begins a wrapper that selects nothing yet. */
extern void gr_wrap_query(GrWrapper *wrapper, const GrQuery *query);

/* Returns the query's column k, counted from 0. */
extern Expr *gr_wrapped_column(const GrWrapper *wrapper, int k);

/* Returns column k as float8. */
extern Expr *gr_wrapped_number(const GrWrapper *wrapper, int k);

/* Returns the parameter $id. */
extern Expr *gr_wrapper_parameter(int id, Oid type);

/*
 * Returns a constant of a variable-length type, without a collation: postgres_fdw does not send calls whose collation
 * is not that of a foreign column. The value is not copied and must live as long as the plan.
 */
extern Expr *gr_wrapper_constant(Datum value, Oid type);

/* Returns value::type. ERROR if there is no such cast. */
extern Expr *gr_wrapper_cast(const GrWrapper *wrapper, Expr *value, Oid type);

/* True if values of type `from` can be cast to type `to` other than through text. */
extern bool gr_type_has_cast(Oid to, Oid from, CoercionContext context);

/* ERROR unless the query's first column, its ids, has type id_type or an implicit cast to it. */
extern void gr_check_id_column(const GrQuery *query, Oid id_type);

/* Returns ARRAY[elements]. element: the type of each element */
extern Expr *gr_wrapper_array(List *elements, Oid element);

/* Return a call of a function or an aggregate; args have the declared types. */
extern Expr *gr_wrapper_call(Oid function, List *args);
extern Aggref *gr_make_aggregate(Oid function, List *args);
extern Expr *gr_wrapper_aggregate(GrWrapper *wrapper, Oid function, List *args);

/* Returns a condition: column k is not NULL. */
extern Expr *gr_wrapper_is_not_null(const GrWrapper *wrapper, int k);

/* Returns the conjunction of conditions, at least one. */
extern Expr *gr_wrapper_all_of(List *tests);

/* Returns CASE WHEN test THEN value END. */
extern Expr *gr_wrapper_value_where(Expr *test, Expr *value);

/* Adds a column to the selected columns. */
extern void gr_wrapper_select(GrWrapper *wrapper, Expr *value);

/* Raises an ERROR unless values of the type can be grouped. name: the query's column, for the message */
extern void gr_check_groupable(Oid type, const char *name);

/* Groups by a value that is not selected. Its type must have passed gr_check_groupable(). */
extern void gr_wrapper_group(GrWrapper *wrapper, Expr *value);

/* Adds a column to the selected columns and groups by it. Its type must have passed gr_check_groupable(). */
extern void gr_wrapper_select_group(GrWrapper *wrapper, Expr *value);

/* Turns the wrapper into a query, like the user's own, whose columns have these names. Ends the wrapper. */
extern GrQuery *gr_wrapper_query(GrWrapper *wrapper, const char **names);

/*
 * Turns jit off for the extension's own plans: in each worker and for each pass, compiling would take longer than it
 * saves. The planner decides about jit, so turn it off while planning. Returns the level for AtEOXact_GUC(true, level),
 * which restores the setting; the end of a failed subtransaction restores it, too.
 */
extern int	gr_turn_jit_off(void);

/* Plans the wrapper, with parallel workers if the planner chooses them. Ends the wrapper. */
extern GrPlan *gr_plan_wrapper(GrWrapper *wrapper);

/*
 * Plans a wrapper that selects one aggregate of the extension over the whole query. Ends the wrapper. *nworkers: number
 * of planned parallel workers
 */
extern GrPlan *gr_plan_wrapped_aggregate(GrWrapper *wrapper, int *nworkers);

#endif							/* GPUREG_WRAPPER_H */
