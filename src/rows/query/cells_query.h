/*
 * cells_query.h: makes the queries from which a user's query is summed by the levels of its factors. frame.c calls it,
 * and cells.c, among the sums, plans and runs what it makes. See compute/design/cells.h for what cells are.
 */
#ifndef GPUREG_CELLS_QUERY_H
#define GPUREG_CELLS_QUERY_H

#include "postgres.h"

#include "rows/query/query.h"

/* Positions of columns in the user's query */
typedef struct GrCellsColumns
{
	const int  *found;			/* [nroles] the response and the columns with roles */
	int			nroles;
	const int  *numbers;		/* [nnumbers] columns that the design uses as numbers, ascending */
	int			nnumbers;
	const int  *factors;		/* [nfactors] columns that the design uses as factors, ascending */
	int			nfactors;
} GrCellsColumns;

typedef struct GrCellsQuery
{
	GrQuery    *rows;			/* selects the response, the columns with roles, and the numbers */
	GrQuery    *grouped;		/* rows, followed by the factors */
	int			nfactors;
	const int  *factors;		/* as in GrCellsColumns */
} GrCellsQuery;

/*
 * Makes the queries. In both, the response is NULL if a factor is NULL: the row has no cell. Texts whose collation
 * takes different strings for equal are grouped by their bytes, since levels are strings.
 */
extern GrCellsQuery gr_make_cells_query(const GrQuery *query, const GrCellsColumns *columns);

#endif							/* GPUREG_CELLS_QUERY_H */
