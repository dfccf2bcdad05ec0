/*
 * ranking_query.h: the labels and scores of a query, for gpu_roc, gpu_calibration, gpu_lift and gpu_confusion.
 *
 * Aggregates over the query take the rows, in parallel workers where the planner chooses them. The final function of
 * gpu_ranking_pass hands its state to the function that waits for it, as a state has no type in SQL.
 */
#ifndef GPUREG_RANKING_QUERY_H
#define GPUREG_RANKING_QUERY_H

#include "postgres.h"

#include "fmgr.h"

#include "sql/glm/ranking.h"

/* A query of two columns, the label and the score */
typedef struct GrRankingQuery
{
	FunctionCallInfo fcinfo;	/* the SQL function that is called; argument 0 is the query */
	const char *function;		/* its name */
	double		began;			/* gr_now() when it was called */
	int			nworkers;		/* out: number of planned parallel workers */
} GrRankingQuery;

/* Takes the scores of a query that has complete rows. */
typedef void (*GrRankingTake) (GrRanking *ranking, void *arg);

/* Runs the query and calls take(ranking, arg) once, unless the query has no complete rows. Records the run. */
extern void gr_rank_query(GrRankingQuery *query, GrRankingTake take, void *arg);

/*
 * Runs an aggregate with the arguments (value float8, score float8, label float8 or boolean) over the query. Returns
 * its result, of this type, which is never NULL.
 */
extern Datum gr_aggregate_scores(GrRankingQuery *query, const char *aggregate, Oid result, double value);

/* Records the run of a query with nrows complete rows. */
extern void gr_record_scores(const GrRankingQuery *query, int64 nrows);

#endif							/* GPUREG_RANKING_QUERY_H */
