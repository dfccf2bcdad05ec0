/*
 * request_query.h: makes the sums of a request over a query, by the aggregate gpu_request_pass; see request_pass.h.
 */
#ifndef GPUREG_REQUEST_QUERY_H
#define GPUREG_REQUEST_QUERY_H

#include "postgres.h"

#include "rows/state/request_pass.h"
#include "rows/sums/ingest.h"

/* Planner's COST per row of gpu_request_pass: for the scores of a cluster, a pass, and some hundred replicates */
#define GR_COST_SCORES 10.0
#define GR_COST_PASS 20.0
#define GR_COST_REPLICATES 1000.0

/*
 * Plans requests over the query, with parallel workers if the planner chooses them. cost: GR_COST_... of a row.
 * *nworkers: number of planned workers. Returns NULL if the query has more columns than an aggregate can have
 * arguments, or if the extension in the database is an earlier version without the aggregate.
 */
extern GrPlan *gr_plan_requests(const GrIngest *ingest, double cost, int *nworkers);

/*
 * Makes the nsums sums of a request by a plan of gr_plan_requests(). request: from gr_request_datum(). ERROR if no row
 * is complete
 */
extern GrRequestResult gr_run_request(const GrIngest *ingest, const GrPlan *plan, Datum request, Size nsums);

/*
 * Plans the sums of a request for each cluster of a query, like gr_plan_clusters(). Pass the plan's column to
 * gr_request_result().
 */
extern GrPlan *gr_plan_request_by_cluster(const GrIngest *ingest, Datum request, int way);

#endif							/* GPUREG_REQUEST_QUERY_H */
