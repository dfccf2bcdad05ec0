/*
 * margin_rows.h: the rows over which marginal effects are averaged: those of a query, as values of the columns that a
 * model is made of.
 */
#ifndef GPUREG_MARGIN_ROWS_H
#define GPUREG_MARGIN_ROWS_H

#include "postgres.h"

#include "compute/design/design.h"
#include "compute/glm/margins.h"
#include "rows/columns/columns.h"
#include "rows/query/query.h"
#include "sql/model/model.h"

/* A column of the query that rows take values from */
typedef struct GrMarginSource
{
	int			at;				/* which of the query's columns it is */
	GrColumn	column;
	const int  *targets;		/* the design's column; of an array as many as it has elements */
} GrMarginSource;

typedef struct GrMarginRows
{
	GrPlan	   *plan;
	GrDesign   *design;			/* the model's, or one in which each feature is a column */
	bool	   *is_boolean;		/* of its columns: does the query give booleans, and it isn't a factor? */
	int			nsources;
	GrMarginSource *sources;	/* the last ones have no targets: the weight, the offset, as far as there are any */
	GrRowShape	shape;			/* of the numbers that are checked: those of the design's columns, and so on */
	const char **names;			/* of these */
	int64		nrows;			/* that took part */
	int64		nskipped;
} GrMarginRows;

/*
 * Analyses and plans the query, and finds the model's columns and those of the roles in it. roles->offsets NULL: the
 * offset is the column that the fit had, if it had one. In the current memory context; ERROR if a column is missing, is
 * there twice, or is of a type that it can't have
 */
extern void gr_margin_rows_prepare(const char *query, const GrPredictor *model, const GrRoles *roles,
								   GrMarginRows *rows);

/* Runs the query, and adds its rows; ERROR if none is complete. */
extern void gr_margin_rows_read(GrMarginRows *rows, GrMargins *margins);

#endif							/* GPUREG_MARGIN_ROWS_H */
