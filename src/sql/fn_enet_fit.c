/*
 * fn_enet_fit.c: elastic nets over a query: gpu_enet_fit.
 *
 * The query runs once. With a lambda its sums are those of a linear regression, made where these are made; for a
 * cross-validation PostgreSQL groups the rows by fold, and makes a state of each.
 *
 * Without a column that tells folds apart, a row's fold is what its values hash to. So it doesn't depend on the order
 * in which workers meet the rows, and rows that are equal are in one fold.
 */
#include "postgres.h"

#include <math.h>

#include "common/hashfn.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "rows/ingest.h"
#include "rows/query.h"
#include "rows/source.h"
#include "run/args.h"
#include "run/clock.h"
#include "run/job.h"
#include "run/report.h"
#include "sql/enet_cv.h"

PG_FUNCTION_INFO_V1(gr_enet_fit);
PG_FUNCTION_INFO_V1(gr_enet_fold);

#define MOST_FOLDS 1000

enum
{
	ARG_QUERY, ARG_LAMBDA, ARG_ALPHA, ARG_FOLDS, ARG_FOLD, ARG_CHOOSE, ARG_PENALTY, ARG_POSITIVE, ARG_INTERCEPT,
	ARG_STANDARDIZE, ARG_FORMULA, ARG_WEIGHTS, ARG_FREQUENCIES
};

/* What the arguments say beside the net */
typedef struct Choice
{
	int			nfolds;
	bool		least;			/* the lambda of the least error, not the largest within a standard error */
} Choice;

/*
 * Arguments
 */

static void
check_nfolds(int n)
{
	if (n < 2 || n > MOST_FOLDS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("folds must be between 2 and %d, got %d", MOST_FOLDS, n)));
}

/* False if one is NULL that must not be */
static bool
read_choice(FunctionCallInfo fcinfo, Choice *choice)
{
	char	   *name;

	if (PG_ARGISNULL(ARG_FOLDS) || PG_ARGISNULL(ARG_CHOOSE))
		return false;
	choice->nfolds = PG_GETARG_INT32(ARG_FOLDS);
	check_nfolds(choice->nfolds);
	name = text_to_cstring(PG_GETARG_TEXT_PP(ARG_CHOOSE));
	choice->least = strcmp(name, "min") == 0;
	if (!choice->least && strcmp(name, "1se") != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unknown choice \"%s\" of lambda", name),
				 errhint("Use '1se' or 'min'.")));
	return true;
}

static GrRoles
read_roles(FunctionCallInfo fcinfo, bool intercept)
{
	GrRoles		roles = gr_role_arguments(fcinfo, ARG_WEIGHTS, ARG_FREQUENCIES, -1);

	gr_formula_argument(fcinfo, ARG_FORMULA, intercept, &roles);
	if (!PG_ARGISNULL(ARG_FOLD))
	{
		roles.nclusters = 1;
		roles.clusters[0] = text_to_cstring(PG_GETARG_TEXT_PP(ARG_FOLD));
		roles.cluster_role = "fold";
	}
	return roles;
}

/*
 * Fits
 */

/* The sums of all rows; *log_constant: see GrRowTotals */
static GrEnetSums
sum_query(GrIngest *ingest, double *log_constant, double started)
{
	GrPlace		place = {0};
	GrState    *state = gr_source_sum(ingest, &place);
	GrEnetSums	sums = {0};

	if (state != NULL)
	{
		sums = (GrEnetSums) {
			.hi = gr_state_hi(state),.lo = gr_state_lo(state),.shift = gr_state_shift(state),
			.nobs = gr_state_nobs(state)
		};
		*log_constant = state->log_constant;
		gr_record_pass("gpu_enet_fit", &place, state->nrows, state->nfeatures, state->nworkers, started, gr_now(),
					   gr_now());
	}
	else
	{
		GrJob	   *job = ingest->job;
		Size		triangle = gr_triangle(gr_norder(job->shape.nfeatures));
		double	   *hi = palloc_extended((2 * triangle + gr_nterms(job->shape.nfeatures)) * sizeof(double),
									 MCXT_ALLOC_HUGE);

		gr_job_finish(job, hi, hi + triangle, hi + 2 * triangle);
		sums = (GrEnetSums) {.hi = hi,.lo = hi + triangle,.shift = hi + 2 * triangle,.nobs = gr_job_nobs(job)};
		*log_constant = job->totals.log_constant;
		gr_record_run("gpu_enet_fit", job, started, gr_now(), gr_now());
		gr_job_release(job);
	}
	sums.nfeatures = ingest->nfeatures;
	sums.names = (const char *const *) ingest->names;
	return sums;
}

static void
fit_at(GrEnet *net, double lambda, GrIngest *ingest, GrModel *model, double started)
{
	double		log_constant;
	GrEnetSums	sums = sum_query(ingest, &log_constant, started);
	GrPath		path;
	GrPathPoint point;
	double	   *coef = palloc((sums.nfeatures + 1) * sizeof(double));

	gr_enet_set_lambda(net, lambda);
	gr_enet_open(net, &sums, gr_enet_workspace(net, sums.nfeatures), false, &path);
	gr_enet_step(&path, &sums, lambda, &point, coef);
	gr_enet_model(model, net, &sums, &point, coef, log_constant);
}

static void
fit_best(const GrEnet *net, const Choice *choice, GrIngest *ingest, GrModel *model, double started)
{
	int			n;
	GrState   **state = gr_source_folds(ingest, choice->nfolds, &n);
	GrFolds    *folds = gr_folds_create(ingest->nfeatures, (const char *const *) ingest->names);
	GrFoldScores scores;
	GrPlace		place = {0};
	double		read_done = gr_now();
	int			nworkers = 0;

	folds->net = *net;
	for (int k = 0; k < n; k++)
	{
		if (state[k]->nrows > 0)
			gr_folds_add(folds, gr_state_hi(state[k]), gr_state_lo(state[k]), gr_state_shift(state[k]),
						 gr_state_nobs(state[k]), 0, state[k]->log_constant);
		nworkers = Max(nworkers, state[k]->nworkers);
	}
	gr_folds_validate(folds, &scores);
	gr_folds_model(folds, &scores, choice->least ? scores.least : scores.within, model);
	gr_place_on_cpu(&place, "the rows were grouped into folds");
	gr_record_pass("gpu_enet_fit", &place, ingest->nrows, ingest->nfeatures, nworkers, started, read_done, gr_now());
}

/*
 * gpu_enet_fit(query text, lambda float8, alpha float8, folds int, fold text, choose text, penalty_factor float8[],
 * positive "any", intercept boolean, standardize boolean, formula text, weights text, frequencies text): NULL if one is
 * that has another default
 */
Datum
gr_enet_fit(PG_FUNCTION_ARGS)
{
	static const GrEnetPlaces places = {
		.alpha = ARG_ALPHA,.nlambda = -1,.lambda = -1,.min_ratio = -1,.penalty = ARG_PENALTY,
		.positive = ARG_POSITIVE,.intercept = ARG_INTERCEPT,.standardize = ARG_STANDARDIZE
	};
	double		started = gr_now();
	ErrorContextCallback context;
	GrEnet		net;
	Choice		choice;
	GrRoles		roles;
	GrIngest	ingest;
	GrModel		model;
	char	   *query;

	if (PG_ARGISNULL(ARG_QUERY) || !gr_enet_arguments(fcinfo, &places, &net) || !read_choice(fcinfo, &choice))
		PG_RETURN_NULL();
	if (!PG_ARGISNULL(ARG_LAMBDA))
		gr_enet_set_lambda(&net, PG_GETARG_FLOAT8(ARG_LAMBDA));
	roles = read_roles(fcinfo, net.intercept);
	query = text_to_cstring(PG_GETARG_TEXT_PP(ARG_QUERY));
	gr_enter_query(&context, query);
	gr_ingest_prepare(query, fcinfo->flinfo->fn_oid, GR_GAUSSIAN, &roles, &ingest);
	net.intercept = ingest.intercept;
	if (net.lambda != NULL)
		fit_at(&net, net.lambda[0], &ingest, &model, started);
	else
		fit_best(&net, &choice, &ingest, &model, started);
	gr_leave_query(&context);
	model.nskipped = ingest.nskipped;
	model.design = ingest.design;
	return gr_model_datum(fcinfo, &model);
}

/*
 * Folds of rows
 */

/* How the arguments' types are hashed, from the first call on */
static FmgrInfo **
find_hashes(FunctionCallInfo fcinfo)
{
	FmgrInfo  **hashes = MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt, PG_NARGS() * sizeof(FmgrInfo *));

	for (int k = 1; k < PG_NARGS(); k++)
	{
		Oid			type = get_fn_expr_argtype(fcinfo->flinfo, k);
		TypeCacheEntry *entry = OidIsValid(type) ? lookup_type_cache(getBaseType(type),
																	  TYPECACHE_HASH_EXTENDED_PROC_FINFO) : NULL;

		if (entry == NULL || !OidIsValid(entry->hash_extended_proc_finfo.fn_oid))
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_FUNCTION),
					 errmsg("argument %d of gpu_enet_fold has a type that cannot be hashed", k + 1)));
		hashes[k] = &entry->hash_extended_proc_finfo;
	}
	fcinfo->flinfo->fn_extra = hashes;
	return hashes;
}

/* gpu_enet_fold(folds int, VARIADIC "any") */
Datum
gr_enet_fold(PG_FUNCTION_ARGS)
{
	FmgrInfo  **hashes = fcinfo->flinfo->fn_extra;
	uint64		hash = 0;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	check_nfolds(PG_GETARG_INT32(0));
	if (get_fn_expr_variadic(fcinfo->flinfo))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("gpu_enet_fold takes no VARIADIC array"),
				 errhint("Give the array as it is.")));
	if (hashes == NULL)
		hashes = find_hashes(fcinfo);
	for (int k = 1; k < PG_NARGS(); k++)
	{
		uint64		own = PG_ARGISNULL(k) ? 0 :
			DatumGetUInt64(FunctionCall2Coll(hashes[k], PG_GET_COLLATION(), PG_GETARG_DATUM(k), UInt64GetDatum(0)));

		hash = hash_combine64(hash, own);
	}
	/* the combination alone is poorly mixed */
	PG_RETURN_INT32((int32) (DatumGetUInt64(hash_any_extended((unsigned char *) &hash, sizeof(hash), 0)) %
							 (uint64) PG_GETARG_INT32(0)));
}
