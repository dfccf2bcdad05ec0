/*
 * request_query.c: makes the sums of a request over a query; see request_query.h.
 */
#include "postgres.h"

#include "catalog/pg_type.h"

#include "rows/columns/columns.h"
#include "rows/query/query.h"
#include "rows/query/wrapper.h"
#include "rows/sums/request_query.h"

#define AGGREGATE "gpu_request_pass"

GrPlan *
gr_plan_requests(const GrIngest *ingest, double cost, int *nworkers)
{
	Oid			types[GR_REQUEST_NPARAMS + 1];
	/* A function that the planner runs may plan a fit itself, so keep the cost. */
	double		before = gr_request_planned_cost;
	GrPlan	   *plan = NULL;

	gr_request_params((Datum) 0, NULL, NULL, NULL, types);
	types[GR_REQUEST_NPARAMS] = ANYOID;
	/* The database may not be updated yet. */
	if (!OidIsValid(gr_find_own_function(ingest->function, AGGREGATE, GR_REQUEST_NPARAMS + 1, types, BYTEAOID)))
		return NULL;
	PG_TRY();
	{
		gr_request_planned_cost = cost;
		plan = gr_plan_aggregate(ingest, AGGREGATE, GR_REQUEST_NPARAMS, types, BYTEAOID, nworkers);
	}
	PG_FINALLY();
	{
		gr_request_planned_cost = before;
	}
	PG_END_TRY();
	return plan;
}

GrRequestResult
gr_run_request(const GrIngest *ingest, const GrPlan *plan, Datum request, Size nsums)
{
	Oid			types[GR_REQUEST_NPARAMS];
	NullableDatum values[GR_REQUEST_NPARAMS];
	Datum		result;
	bool		isnull;

	gr_request_params(request, ingest->columns, ingest->arguments, values, types);
	result = gr_run_for_value(plan, gr_make_params(GR_REQUEST_NPARAMS, values, types), &isnull);
	if (isnull)
		gr_raise_no_rows(0);
	return gr_request_result(result, nsums);
}

GrPlan *
gr_plan_request_by_cluster(const GrIngest *ingest, Datum request, int way)
{
	Oid			types[GR_REQUEST_NPARAMS];
	NullableDatum params[GR_REQUEST_NPARAMS];
	Datum		values[GR_REQUEST_NPARAMS];
	double		before = gr_request_planned_cost;
	GrPlan	   *plan = NULL;

	gr_request_params(request, ingest->columns, ingest->arguments, params, types);
	for (int k = 0; k < GR_REQUEST_NPARAMS; k++)
		values[k] = params[k].value;
	PG_TRY();
	{
		gr_request_planned_cost = GR_COST_SCORES;
		plan = gr_plan_clusters(ingest, AGGREGATE, GR_REQUEST_NPARAMS, types, values, BYTEAOID, way);
	}
	PG_FINALLY();
	{
		gr_request_planned_cost = before;
	}
	PG_END_TRY();
	return plan;
}
