/*
 * fn_enet_cv.c: gpu_enet_cv_agg, which cross-validates elastic nets from one state per fold; see enet_cv.h.
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"

#include "rows/state/aggregate.h"
#include "run/args.h"
#include "run/clock.h"
#include "run/raise.h"
#include "sql/enet/enet_cv.h"

PG_FUNCTION_INFO_V1(gr_enet_cv_accum);
PG_FUNCTION_INFO_V1(gr_enet_cv_final);

/*
 * Transition
 */

/* True if the arrays a, of n items, and b, of m items, are equal or both NULL. */
static bool
same_items(const void *a, int n, const void *b, int m, Size size)
{
	return (a == NULL) == (b == NULL) && (a == NULL || (n == m && memcmp(a, b, n * size) == 0));
}

static bool
same_net(const GrEnet *a, const GrEnet *b)
{
	return a->alpha == b->alpha && a->intercept == b->intercept && a->standardize == b->standardize &&
		a->nlambda == b->nlambda && a->min_ratio == b->min_ratio && a->all_positive == b->all_positive &&
		same_items(a->lambda, a->nlambda, b->lambda, b->nlambda, sizeof(double)) &&
		same_items(a->penalty, a->npenalty, b->penalty, b->npenalty, sizeof(double)) &&
		same_items(a->positive, a->npositive, b->positive, b->npositive, sizeof(bool));
}

/* Reads the arguments after the state. Returns false if one is NULL that must not be. */
static bool
read_arguments(FunctionCallInfo fcinfo, GrEnet *net)
{
	GrEnetPlaces places = {-1, -1, -1, -1, -1, -1, -1, -1};

	if (PG_NARGS() > 2)
		places.alpha = 2;
	if (PG_NARGS() > 3)
		places = (GrEnetPlaces) {
			.alpha = 2,.nlambda = 3,.lambda = 4,.min_ratio = 5,.penalty = 6,.positive = 7,.intercept = 8,
			.standardize = 9
		};
	return gr_enet_arguments(fcinfo, &places, net);
}

static void
check_same(FunctionCallInfo fcinfo, const GrFolds *folds, const GrStats *stats)
{
	GrEnet		net;

	if (stats->nfeatures != folds->nfeatures)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cannot combine states with different numbers of features"),
				 errdetail("One state has %d features, the other has %d.", Min(stats->nfeatures, folds->nfeatures),
						   Max(stats->nfeatures, folds->nfeatures)),
				 errhint("Aggregate the same columns into each state.")));
	if (!read_arguments(fcinfo, &net))
		net.nlambda = 0;
	if (net.nlambda != folds->net.nlambda || (net.nlambda > 0 && !same_net(&net, &folds->net)))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the arguments after the state must be the same for all folds"),
				 errhint("Pass constants for these arguments.")));
}

/*
 * gpu_enet_cv_accum(internal, stats gpu_ols_stats [, alpha float8 [, nlambda int, lambda float8[], lambda_min_ratio
 * float8, penalty_factor float8[], positive "any", intercept boolean, standardize boolean, features "any", response
 * "any"]]): adds a fold; skips states that are NULL or have no row
 */
Datum
gr_enet_cv_accum(PG_FUNCTION_ARGS)
{
	GrFolds	   *folds = PG_ARGISNULL(0) ? NULL : (GrFolds *) PG_GETARG_POINTER(0);
	MemoryContext aggregate = gr_aggregate_context(fcinfo);
	MemoryContext caller;
	GrStats		stats;

	if (PG_ARGISNULL(1) || !gr_stats_arguments(fcinfo, 1, PG_NARGS() > 10 ? 10 : -1, PG_NARGS() > 11 ? 11 : -1, &stats))
	{
		if (folds == NULL)
			PG_RETURN_NULL();
		PG_RETURN_POINTER(folds);
	}
	if (folds != NULL)
		check_same(fcinfo, folds, &stats);
	/* data of the first fold must be in the aggregate's memory */
	caller = MemoryContextSwitchTo(aggregate);
	if (folds == NULL)
	{
		folds = gr_folds_create(stats.nfeatures, gr_stats_names(&stats));
		if (!read_arguments(fcinfo, &folds->net))
			folds->net.nlambda = 0;
	}
	gr_folds_add(folds, &stats.gram, stats.state->nskipped);
	MemoryContextSwitchTo(caller);
	PG_RETURN_POINTER(folds);
}

/*
 * gpu_enet_cv_agg's final function: returns the errors of all lambdas, and the models at the best and at the largest
 * lambda within one standard error. NULL if there is no fold, or no lambda to validate.
 */
Datum
gr_enet_cv_final(PG_FUNCTION_ARGS)
{
	double		began = gr_now();
	const GrFolds *folds;
	GrFoldScores scores;
	GrModel		least;
	GrModel		within;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	folds = (const GrFolds *) PG_GETARG_POINTER(0);
	if (folds->net.nlambda == 0)
		PG_RETURN_NULL();
	gr_folds_validate(folds, &scores);
	gr_folds_model(folds, &scores, scores.least, &least);
	gr_folds_model(folds, &scores, scores.within, &within);
	gr_record_group(fcinfo, "gpu_enet_cv_agg", least.nrows, folds->nfeatures, began);
	return gr_folds_datum(fcinfo, &scores, folds->n, &least, &within);
}
