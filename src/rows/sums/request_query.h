/*
 * request_query.h: the sums of a request over a query that is run for it, by the aggregate gpu_request_pass; see
 * request_pass.h.
 */
#ifndef GPUREG_REQUEST_QUERY_H
#define GPUREG_REQUEST_QUERY_H

#include "postgres.h"

#include "rows/state/request_pass.h"
#include "rows/sums/ingest.h"

/* COST of a row for the planner: of a cluster's scores, of a pass, and of some hundred replicates */
#define GR_COST_SCORES 10.0
#define GR_COST_PASS 20.0
#define GR_COST_REPLICATES 1000.0

/*
 * Plans requests over the query, in parallel workers where the planner likes. *nworkers: how many it would run in. NULL
 * if the query has more columns than an aggregate can have arguments, or if the extension in the database is of an
 * earlier version, which has no such aggregate.
 */
extern GrPlan *gr_plan_requests(const GrIngest *ingest, double cost, int *nworkers);

/* Makes the nsums sums of a request, which gr_request_datum() has made, by such a plan. ERROR without a row. */
extern GrRequestResult gr_run_request(const GrIngest *ingest, const GrPlan *plan, Datum request, Size nsums);

/*
 * Plans the sums of a request for each cluster of a query, as gr_plan_clusters() does. The column that the plan gives
 * is what gr_request_result() reads.
 */
extern GrPlan *gr_plan_request_by_cluster(const GrIngest *ingest, Datum request, int way);

#endif							/* GPUREG_REQUEST_QUERY_H */
