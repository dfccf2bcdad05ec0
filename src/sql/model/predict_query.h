/*
 * predict_query.h: predictions for the rows of a query, as an expression around each row that parallel workers compute.
 * fn_predict_query.c is the first caller.
 */
#ifndef GPUREG_PREDICT_QUERY_H
#define GPUREG_PREDICT_QUERY_H

#include "postgres.h"

#include "fmgr.h"

#include "rows/query/query.h"

/* Predictions to make */
typedef struct GrPredictQuery
{
	Oid			function;		/* the SQL function that was called */
	HeapTupleHeader model;		/* neither compressed nor out of line; must live as long as the plan */
	const char *query;
	Oid			id_type;		/* type of the ids, which are the query's first column */
	bool		link;			/* linear predictors; false: means */
	bool		null_levels;	/* levels that the model does not have give NULL; false: an ERROR */
} GrPredictQuery;

/*
 * Returns the plan of the query's ids and predictions. *nfeatures: number of the model's features. ERROR if the query
 * is not allowed, if it lacks columns of the model, or has unsuitable ones.
 */
extern GrPlan *gr_plan_predictions(const GrPredictQuery *request, int *nfeatures);

#endif							/* GPUREG_PREDICT_QUERY_H */
