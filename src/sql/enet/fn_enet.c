/*
 * fn_enet.c: gpu_enet_path and gpu_enet_model, which fit elastic nets to a gpu_ols_stats.
 */
#include "postgres.h"

#include "fmgr.h"
#include "funcapi.h"

#include "rows/state/aggregate.h"
#include "run/clock.h"
#include "sql/enet/enet.h"

PG_FUNCTION_INFO_V1(gr_enet_path);
PG_FUNCTION_INFO_V1(gr_enet_stats_model);

/*
 * gpu_enet_path(stats gpu_ols_stats, alpha float8, nlambda int, lambda float8[], lambda_min_ratio float8,
 * penalty_factor float8[], positive "any", intercept boolean, standardize boolean, features "any", response "any"): one
 * row per lambda
 */
Datum
gr_enet_path(PG_FUNCTION_ARGS)
{
	static const GrEnetPlaces places = {
		.alpha = 1,.nlambda = 2,.lambda = 3,.min_ratio = 4,.penalty = 5,.positive = 6,.intercept = 7,.standardize = 8
	};
	double		began = gr_now();
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	GrEnet		net;
	GrStats		stats;
	GrEnetSums	sums;

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(0) || !gr_enet_arguments(fcinfo, &places, &net) || !gr_stats_arguments(fcinfo, 0, 9, 10, &stats))
		return (Datum) 0;
	sums = gr_enet_sums(&stats);
	gr_enet_put_path(rsinfo, &net, &sums);
	gr_record_state(fcinfo, stats.state->nrows, stats.nfeatures, began);
	return (Datum) 0;
}

/*
 * gpu_enet_model(stats gpu_ols_stats, lambda float8, alpha float8, penalty_factor float8[], positive "any", intercept
 * boolean, standardize boolean, features "any", response "any")
 */
Datum
gr_enet_stats_model(PG_FUNCTION_ARGS)
{
	static const GrEnetPlaces places = {
		.alpha = 2,.nlambda = -1,.lambda = -1,.min_ratio = -1,.penalty = 3,.positive = 4,.intercept = 5,
		.standardize = 6
	};
	double		began = gr_now();
	GrEnet		net;
	GrStats		stats;
	GrEnetSums	sums;
	GrPath		path;
	GrPathPoint point;
	GrModel		model;
	double	   *coef;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || !gr_enet_arguments(fcinfo, &places, &net))
		PG_RETURN_NULL();
	gr_enet_set_lambda(&net, PG_GETARG_FLOAT8(1));
	if (!gr_stats_arguments(fcinfo, 0, 7, 8, &stats))
		PG_RETURN_NULL();
	sums = gr_enet_sums(&stats);
	gr_enet_open(&net, &sums, gr_enet_workspace(&net, sums.gram.nfeatures), false, &path);
	coef = palloc((sums.gram.nfeatures + 1) * sizeof(double));
	gr_enet_step(&path, &sums, net.lambda[0], &point, coef);
	gr_enet_model(&model, &net, &sums, &point, coef);
	model.nskipped = stats.state->nskipped;
	gr_record_state(fcinfo, stats.state->nrows, stats.nfeatures, began);
	return gr_model_datum(fcinfo, &model);
}
