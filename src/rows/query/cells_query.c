/*
 * cells_query.c: makes the queries from which a user's query is summed by the levels of its factors; see cells_query.h.
 */
#include "postgres.h"

#include "catalog/pg_collation.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"

#include "rows/query/cells_query.h"
#include "rows/query/wrapper.h"

/* Returns the response, which is NULL if a factor is. */
static Expr *
guarded_response(const GrWrapper *wrapper, const GrCellsColumns *columns)
{
	List	   *tests = NIL;

	for (int i = 0; i < columns->nfactors; i++)
		tests = lappend(tests, gr_wrapper_is_not_null(wrapper, columns->factors[i]));
	return gr_wrapper_value_where(gr_wrapper_all_of(tests), gr_wrapped_column(wrapper, columns->found[0]));
}

/* Returns column k as a key of groups. */
static Expr *
key_of(const GrWrapper *wrapper, int k)
{
	Expr	   *column = gr_wrapped_column(wrapper, k);
	Oid			collation = exprCollation((Node *) column);
	CollateExpr *bytewise;

	if (!OidIsValid(collation) || get_collation_isdeterministic(collation))
		return column;
	/* A RelabelType would get its argument's collation back when the tree is planned. */
	bytewise = makeNode(CollateExpr);
	bytewise->arg = column;
	bytewise->collOid = C_COLLATION_OID;
	bytewise->location = -1;
	return (Expr *) bytewise;
}

static GrQuery *
make_query(const GrQuery *query, const GrCellsColumns *columns, bool grouped)
{
	int			n = columns->nroles + columns->nnumbers + (grouped ? columns->nfactors : 0);
	const char **names = palloc(n * sizeof(char *));
	GrWrapper	wrapper;
	int			at = 0;

	gr_wrap_query(&wrapper, query);
	gr_wrapper_select(&wrapper, guarded_response(&wrapper, columns));
	names[at++] = query->names[columns->found[0]];
	for (int i = 1; i < columns->nroles; i++)
	{
		gr_wrapper_select(&wrapper, gr_wrapped_column(&wrapper, columns->found[i]));
		names[at++] = query->names[columns->found[i]];
	}
	for (int i = 0; i < columns->nnumbers; i++)
	{
		gr_wrapper_select(&wrapper, gr_wrapped_column(&wrapper, columns->numbers[i]));
		names[at++] = query->names[columns->numbers[i]];
	}
	for (int i = 0; grouped && i < columns->nfactors; i++)
	{
		gr_wrapper_select(&wrapper, key_of(&wrapper, columns->factors[i]));
		names[at++] = query->names[columns->factors[i]];
	}
	return gr_wrapper_query(&wrapper, names);
}

GrCellsQuery
gr_make_cells_query(const GrQuery *query, const GrCellsColumns *columns)
{
	return (GrCellsQuery) {
		.rows = make_query(query, columns, false),.grouped = make_query(query, columns, true),
		.nfactors = columns->nfactors,.factors = columns->factors
	};
}
