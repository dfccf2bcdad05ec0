/*
 * margin_rows.h: reads the rows of a query as values of the columns that a model needs: the rows over which gpu_margins
 * (fn_margins.c) averages effects, and those that gpu_augment (fn_augment.c) compares with a fit.
 */
#ifndef GPUREG_MARGIN_ROWS_H
#define GPUREG_MARGIN_ROWS_H

#include "postgres.h"

#include "executor/tuptable.h"

#include "compute/design/design.h"
#include "compute/glm/margins.h"
#include "rows/columns/columns.h"
#include "rows/query/query.h"
#include "sql/model/model.h"

/* A column of the query that rows take values from. */
typedef struct GrMarginSource
{
	int			at;				/* number of the query's column */
	GrColumn	column;
	const int  *targets;		/* number of the design's column, or one per element of an array */
} GrMarginSource;

typedef struct GrMarginRows
{
	GrPlan	   *plan;			/* plan of the query */
	GrDesign   *design;			/* the model's design, or one in which each feature is a column */
	/* for each of the design's columns: true if the query's is boolean and the design's is not a factor */
	bool	   *is_boolean;
	int			nsources;
	GrMarginSource *sources;	/* sources of the weight and the offset, if any, come last and have no targets */
	GrRowShape	shape;			/* shape of the checked numbers: the design's columns, weight and offset */
	const char **names;			/* names of the checked numbers */
	int64		nrows;			/* rows that took part */
	int64		nskipped;		/* rows that were skipped because of a NULL */
	int			nworkers;		/* parallel workers that summed rows */
} GrMarginRows;

/*
 * Plans the query, and finds the columns of the model and the roles. roles->offsets NULL: the offset is
 * the column of the fit, if it had one. Allocates in the current memory context. Raises an ERROR if a column is
 * missing, ambiguous or of a wrong type.
 */
extern void gr_margin_rows_prepare(GrQuery *query, const GrPredictor *model, const GrRoles *roles,
								   GrMarginRows *rows);

/*
 * Stores the row's values of the design's columns in values (GR_DESIGN_NVALUES), and the row in checked, as
 * rows->shape has it, without a response. Returns false if a value is NULL. May allocate in the current memory context.
 */
extern bool gr_margin_rows_take(const GrMarginRows *rows, const TupleTableSlot *slot, double *values, double *checked);

/* Runs the query and adds its rows to margins. Raises an ERROR if no row is complete. */
extern void gr_margin_rows_read(GrMarginRows *rows, GrMargins *margins);

#endif							/* GPUREG_MARGIN_ROWS_H */
