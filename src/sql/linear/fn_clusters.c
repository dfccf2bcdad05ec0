/*
 * fn_clusters.c: linear regressions with cluster-robust covariances, from one gpu_ols_stats per cluster:
 * gpu_ols_cluster_agg and gpu_ols_two_way. See sum_clusters.h.
 */
#include "postgres.h"

#include <math.h>

#include "fmgr.h"
#include "utils/builtins.h"

#include "compute/linear/sum_clusters.h"
#include "compute/linear/vcov.h"
#include "rows/state/aggregate.h"
#include "rows/state/state.h"
#include "run/args.h"
#include "run/clock.h"
#include "run/raise.h"
#include "sql/linear/cluster_states.h"
#include "sql/model/model.h"
#include "sql/model/vcov_warnings.h"

PG_FUNCTION_INFO_V1(gr_ols_cluster_accum);
PG_FUNCTION_INFO_V1(gr_ols_cluster_final);
PG_FUNCTION_INFO_V1(gr_ols_two_way);

/* Arguments of the transition function, the state included; missing ones have their defaults. */
enum
{
	ARG_STATE, ARG_STATS, ARG_VCOV, ARG_INTERCEPT, ARG_FEATURES, ARG_RESPONSE
};

/* Largest difference that the order of summing makes, relative to the coefficient or its standard error */
#define SAME_COEFFICIENT 1e-6

/* State of the aggregate. */
typedef struct Clustered
{
	GrClusterStates *states;
	GrClusterKind kind;
	bool		intercept;
} Clustered;

static void
raise_null(const char *name)
{
	ereport(ERROR,
			(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
			 errmsg("%s must not be null", name)));
}

/* Creates the aggregate's state with the options of the first row. */
static Clustered *
create_clustered(FunctionCallInfo fcinfo)
{
	Clustered  *clustered = MemoryContextAllocZero(gr_aggregate_context(fcinfo), sizeof(Clustered));

	clustered->kind = GR_CLUSTER_CR1;
	clustered->intercept = true;
	if (PG_NARGS() > ARG_VCOV)
	{
		char	   *name;

		if (PG_ARGISNULL(ARG_VCOV))
			raise_null("vcov");
		name = text_to_cstring(PG_GETARG_TEXT_PP(ARG_VCOV));
		if (!gr_cluster_kind_named(name, &clustered->kind))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("unknown vcov \"%s\"", name),
					 errhint("Use 'CR0', 'CR1', 'CR3' or 'CR3J'.")));
	}
	if (PG_NARGS() > ARG_INTERCEPT)
	{
		if (PG_ARGISNULL(ARG_INTERCEPT))
			raise_null("intercept");
		clustered->intercept = PG_GETARG_BOOL(ARG_INTERCEPT);
	}
	clustered->states = gr_cluster_states_create(fcinfo);
	return clustered;
}

/*
 * gpu_ols_cluster_accum(state internal, stats gpu_ols_stats [, vcov text [, intercept boolean [, features "any",
 * response "any"]]])
 */
Datum
gr_ols_cluster_accum(PG_FUNCTION_ARGS)
{
	Clustered  *clustered = PG_ARGISNULL(ARG_STATE) ? NULL : (Clustered *) PG_GETARG_POINTER(ARG_STATE);
	bool		chosen = PG_NARGS() > ARG_RESPONSE;

	(void) gr_aggregate_context(fcinfo);
	if (PG_ARGISNULL(ARG_STATS))
	{
		if (clustered == NULL)
			PG_RETURN_NULL();
		PG_RETURN_POINTER(clustered);
	}
	if (clustered == NULL)
		clustered = create_clustered(fcinfo);
	(void) gr_cluster_states_add(clustered->states, fcinfo, chosen ? ARG_FEATURES : -1, chosen ? ARG_RESPONSE : -1);
	PG_RETURN_POINTER(clustered);
}

static void
clear_vcov(GrModel *model)
{
	for (int64 k = 0; k < (int64) model->nterms * model->nterms; k++)
		model->vcov[k] = NAN;
}

/* Sets variances that are zero to NaN in vcov, n x n, of the terms that have coefficients, and warns about them. */
static void
judge_vcov(const GrClusterFit *fit, const GrModel *model, const int *terms, double *vcov)
{
	int			n = fit->nterms;
	double	   *inverse = palloc(n * sizeof(double));
	GrVarianceKind *kinds = palloc(n * sizeof(GrVarianceKind));
	GrVarianceKind *all = palloc0(model->nterms * sizeof(GrVarianceKind));
	bool		perfect = model->deviance == 0;

	gr_cluster_fit_inverse(fit, inverse);
	if (gr_judge_variances(vcov, n, inverse, model->deviance, false, perfect, kinds) == 0)
		return;
	for (int i = 0; i < n; i++)
		all[terms[i]] = kinds[i];
	gr_warn_of_variances(model, all, perfect, GR_VCOV_OF_STATES);
}

/* Computes the covariances of the terms that have coefficients, and stores them in the model's, which are NaN. */
static void
fill_vcov(const Clustered *clustered, const GrStats *total, GrModel *model)
{
	GrClusterStates *states = clustered->states;
	int			p = total->nfeatures;
	int		   *terms = palloc(model->nterms * sizeof(int));
	int		   *entries = palloc(model->nterms * sizeof(int));
	int			n = 0;
	GrClusterFit fit = {.entries = entries,.origin = !model->intercept,.jackknife = clustered->kind >= GR_CLUSTER_CR3};
	GrClusterReader reader;
	GrError		err = {0};
	double	   *vcov;
	const double *records;
	int64		nrecords;
	bool		ok;

	for (int k = 0; k < model->nterms; k++)
		if (!isnan(model->coef[k]))
		{
			terms[n] = k;
			entries[n++] = model->intercept ? k : k + 1;
		}
	vcov = palloc_extended(((Size) n * n + 1) * sizeof(double), MCXT_ALLOC_HUGE);
	if (n == 0)
		return;
	fit.nterms = n;
	ok = gr_cluster_fit_begin(&fit, &total->gram, palloc_extended(gr_cluster_fit_nbytes(p, n), MCXT_ALLOC_HUGE),
							  &gr_host, &err);
	gr_cluster_reader_begin(&reader, states);
	while (ok && (records = gr_cluster_reader_next(&reader, &nrecords)) != NULL)
		ok = gr_cluster_fit_add(&fit, records, nrecords, GR_CLUSTER_LANES, &gr_host, &err);
	if (!ok || !gr_cluster_fit_vcov(&fit, clustered->kind, model->nrows, vcov, &gr_host, &err))
		gr_raise_columns(&err, p, gr_stats_names(total));
	judge_vcov(&fit, model, terms, vcov);
	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++)
			model->vcov[(Size) terms[i] * model->nterms + terms[j]] = vcov[(Size) i * n + j];
}

/* gpu_ols_cluster_final(state internal): NULL if there is no complete row */
Datum
gr_ols_cluster_final(PG_FUNCTION_ARGS)
{
	double		began = gr_now();
	Clustered  *clustered = PG_ARGISNULL(0) ? NULL : (Clustered *) PG_GETARG_POINTER(0);
	GrClusterStates *states;
	GrModel		model = {0};
	GrStats		total;
	bool		enough;

	(void) gr_aggregate_context(fcinfo);
	if (clustered == NULL || clustered->states->n == 0)
		PG_RETURN_NULL();
	states = clustered->states;
	enough = gr_cluster_states_check(states, clustered->intercept);
	gr_cluster_states_total(states, &total);
	gr_model_solve(&model, &total.gram, clustered->intercept, gr_stats_names(&total), true, NULL);
	model.nskipped = total.state->nskipped;
	model.device = "cpu";
	model.vcov_type = gr_cluster_kind_name(clustered->kind);
	model.df_inference = (double) states->n - 1;
	clear_vcov(&model);
	if (enough)
		fill_vcov(clustered, &total, &model);
	gr_record_group(fcinfo, "gpu_ols_cluster_agg", total.state->nrows, total.nfeatures, began);
	return gr_model_datum(fcinfo, &model);
}

/*
 * gpu_ols_two_way
 */

static void
raise_differ(const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("models for two-way clustering do not match"),
			 errdetail("%s", detail),
			 errhint("Pass three models of the same rows: clustered by the first column, by the second, and by both "
					 "together.")));
}

static bool
is_clustered(const GrModel *model)
{
	GrClusterKind kind;
	GrVcov		vcov;

	return model->vcov != NULL && model->vcov_type != NULL &&
		(gr_cluster_kind_named(model->vcov_type, &kind) ||
		 (gr_vcov_named(model->vcov_type, &vcov) && gr_vcov_is_clustered(vcov)));
}

static double
variance_of(const GrModel *model, int k)
{
	return model->vcov[(Size) k * model->nterms + k];
}

/* Raises an ERROR unless a and b are the same regression with different clusters. */
static void
check_same_fit(const GrModel *a, const GrModel *b)
{
	if (!is_clustered(a) || !is_clustered(b) || strcmp(a->vcov_type, b->vcov_type) != 0)
		raise_differ("The covariances are not cluster-robust, or are of different kinds.");
	if (a->nterms != b->nterms || a->nrows != b->nrows || a->rank != b->rank || a->intercept != b->intercept ||
		a->distribution.family != b->distribution.family || a->distribution.link != b->distribution.link)
		raise_differ("The models differ in family or link, or in their numbers of rows or terms.");
	for (int k = 0; k < a->nterms; k++)
	{
		double		size = fmax(fabs(a->coef[k]), sqrt(fmax(variance_of(a, k), 0)));

		if (strcmp(a->terms[k], b->terms[k]) != 0)
			raise_differ("The models have different terms.");
		if (isnan(a->coef[k]) != isnan(b->coef[k]) || fabs(a->coef[k] - b->coef[k]) > SAME_COEFFICIENT * size)
			raise_differ(psprintf("The coefficients of \"%s\" differ.", a->terms[k]));
		gr_poll_loop(k);
	}
}

/* Sets the covariances of model[0] to the sum of model[0]'s and model[1]'s, less model[2]'s. */
static void
subtract_vcov(GrModel *model)
{
	int			n = model->nterms;
	double	   *sum = palloc_extended((n + 1) * sizeof(double), MCXT_ALLOC_HUGE);
	GrVarianceKind *kinds = palloc_extended((n + 1) * sizeof(GrVarianceKind), MCXT_ALLOC_HUGE);

	for (int k = 0; k < n; k++)
		sum[k] = fabs(variance_of(&model[0], k)) + fabs(variance_of(&model[1], k)) + fabs(variance_of(&model[2], k));
	for (int64 k = 0; k < (int64) n * n; k++)
	{
		model[0].vcov[k] += model[1].vcov[k] - model[2].vcov[k];
		gr_poll_loop(k);
	}
	if (gr_judge_variances(model->vcov, n, sum, 1, true, false, kinds) > 0)
		gr_warn_of_variances(model, kinds, false, GR_VCOV_OF_MODELS);
	pfree(sum);
	pfree(kinds);
}

/* Gives model[0] the smaller of its and model[1]'s degrees of freedom per term, if either has them per term. */
static void
take_fewer_df(GrModel *model)
{
	double	   *df;

	if (model[0].extras.df == NULL && model[1].extras.df == NULL)
		return;
	df = palloc_extended(model->nterms * sizeof(double), MCXT_ALLOC_HUGE);
	for (int k = 0; k < model->nterms; k++)
		df[k] = fmin(gr_model_df(&model[0], k), gr_model_df(&model[1], k));
	model[0].extras.df = df;
	model[0].extras.ndf = model->nterms;
}

/*
 * gpu_ols_two_way(one gpu_model, other gpu_model, both gpu_model): the first model, with the sum of the covariances by
 * either column, less those by both (Cameron, Gelbach and Miller 2011)
 */
Datum
gr_ols_two_way(PG_FUNCTION_ARGS)
{
	GrModel		model[3];

	memset(model, 0, sizeof(model));
	for (int k = 0; k < 3; k++)
		gr_read_model(fcinfo, k, &model[k], GR_MODEL_ALL);
	check_same_fit(&model[0], &model[1]);
	check_same_fit(&model[0], &model[2]);
	subtract_vcov(model);
	take_fewer_df(model);
	model[0].df_inference = Min(model[0].df_inference, model[1].df_inference);
	model[0].device = "cpu";
	return gr_model_datum(fcinfo, &model[0]);
}
