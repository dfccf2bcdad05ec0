/*
 * fn_select.c: gpu_ols_select, which selects the features of a gpu_ols_stats for a regression.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include "compute/dist/family.h"
#include "compute/linear/select.h"
#include "rows/state/aggregate.h"
#include "run/clock.h"
#include "run/raise.h"
#include "sql/model/model.h"
#include "sql/model/model_summary.h"
#include "sql/states/stats.h"

PG_FUNCTION_INFO_V1(gr_ols_select);

enum
{
	ARG_STATS, ARG_CRITERION, ARG_METHOD, ARG_INTERCEPT, ARG_FEATURES, ARG_RESPONSE, ARG_MAX_SIZE
};

/* Criterion that chooses the best size. */
typedef enum Criterion
{
	BY_BIC, BY_AIC, BY_CP, BY_ADJ_R2
} Criterion;

/* Names in the order of Criterion and of GrSelectMethod */
static const char *const criteria[] = {"bic", "aic", "cp", "adjr2", NULL};
static const char *const methods[] = {"best", "forward", "backward", NULL};

/* Measures of the fit of a subset. */
typedef struct Measures
{
	double		r_squared;
	double		adj_r_squared;
	double		cp;
	double		aic;
	double		bic;
} Measures;

/* Returns the position of a text argument among names, which end with NULL. Raises an ERROR if it is not there. */
static int
read_choice(FunctionCallInfo fcinfo, int argument, const char *what, const char *const *names, const char *hint)
{
	char	   *value = text_to_cstring(PG_GETARG_TEXT_PP(argument));

	for (int k = 0; names[k] != NULL; k++)
		if (strcmp(value, names[k]) == 0)
			return k;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unknown %s \"%s\"", what, value),
			 errhint("%s", hint)));
}

/* Returns the largest size of a subset. */
static int
read_max_size(FunctionCallInfo fcinfo, int nfeatures)
{
	int			max_size;

	if (PG_ARGISNULL(ARG_MAX_SIZE))
		return nfeatures;
	max_size = PG_GETARG_INT32(ARG_MAX_SIZE);
	if (max_size < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("max_size must be at least 1, got %d", max_size)));
	return Min(max_size, nfeatures);
}

static void
select_features(const GrStats *stats, GrSelection *selection)
{
	Size		n = selection->max_size;
	GrError		err = {0};
	void	   *workspace;

	if (selection->method == GR_SELECT_BEST && stats->nfeatures > GR_SELECT_BEST_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("the best subset can be searched among at most %d features, got %d", GR_SELECT_BEST_MAX,
						stats->nfeatures),
				 errhint("Use method => 'forward' or 'backward', or name fewer features.")));
	if (stats->nfeatures == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("there is no feature to select"),
				 errhint("Pass a state that has at least one feature.")));
	selection->features = palloc_extended((n * (n + 1) / 2) * sizeof(int), MCXT_ALLOC_HUGE);
	selection->rss = palloc((n + 1) * sizeof(double));
	workspace = palloc_extended(gr_select_workspace_nbytes(stats->nfeatures, selection->method), MCXT_ALLOC_HUGE);
	if (!gr_select(&stats->gram, workspace, selection, &gr_host, &err))
		gr_raise_columns(&err, stats->nfeatures, stats->names);
	pfree(workspace);
}

/* Computes the measures of the subset of a size, as R's AIC(), BIC() and summary() do; cp is Mallows' Cp. */
static Measures
measure(const GrStats *stats, const GrSelection *selection, int size)
{
	double		n = (double) stats->gram.nobs;
	double		nterms = size + (selection->intercept ? 1 : 0);
	double		df_full = n - selection->rank - (selection->intercept ? 1 : 0);
	double		variance = gr_model_mean_square(selection->full_rss, df_full);
	GrModel		model = {
		.distribution = {GR_GAUSSIAN, GR_IDENTITY},.intercept = selection->intercept,.rank = (int) nterms,
		.nrows = stats->gram.nobs,.df_residual = stats->gram.nobs - (int64) nterms,.deviance = selection->rss[size],
		.null_deviance = selection->rss[0]
	};
	GrModelSummary summary;
	Measures	m = {.cp = NAN};

	model.log_lik = gr_log_likelihood(GR_GAUSSIAN, model.deviance, n, stats->state->log_constant);
	gr_model_summarise(&model, &summary);
	m.r_squared = summary.r_squared;
	m.adj_r_squared = summary.adj_r_squared;
	m.aic = summary.aic;
	m.bic = summary.bic;
	if (variance > 0)
		m.cp = model.deviance / variance - n + 2 * nterms;
	return m;
}

/* Returns the best size of those that leave degrees of freedom, the smallest if several are equal, or -1. */
static int
best_size(const GrStats *stats, const GrSelection *selection, const Measures *measures, Criterion criterion)
{
	int			first = selection->intercept ? 0 : 1;
	int			best = -1;
	double		least = NAN;

	for (int size = first; size < selection->nsizes; size++)
	{
		const Measures *m = &measures[size];
		double		value = criterion == BY_BIC ? m->bic : criterion == BY_AIC ? m->aic : criterion == BY_CP ? m->cp :
			-m->adj_r_squared;

		if (isnan(value) || stats->gram.nobs <= size + (selection->intercept ? 1 : 0) ||
			(best >= 0 && !(value < least)))
			continue;
		best = size;
		least = value;
	}
	return best;
}

static void
put_subset(ReturnSetInfo *rsinfo, const GrStats *stats, const GrSelection *selection, int size, const Measures *m,
		   bool best)
{
	const int  *places = selection->features + (Size) size * (size - 1) / 2;
	Datum	   *columns = palloc((size + 1) * sizeof(Datum));
	Datum	   *terms = palloc((size + 1) * sizeof(Datum));
	const double numbers[] = {selection->rss[size], m->r_squared, m->adj_r_squared, m->cp, m->aic, m->bic};
	Datum		values[10];
	bool		nulls[10] = {false};

	for (int k = 0; k < size; k++)
	{
		columns[k] = Int32GetDatum(stats->features[places[k]]);
		terms[k] = CStringGetTextDatum(stats->names[places[k]]);
	}
	values[0] = Int32GetDatum(size);
	values[1] = PointerGetDatum(construct_array(columns, size, INT4OID, sizeof(int32), true, TYPALIGN_INT));
	values[2] = PointerGetDatum(construct_array(terms, size, TEXTOID, -1, false, TYPALIGN_INT));
	for (int k = 0; k < lengthof(numbers); k++)
	{
		values[3 + k] = Float8GetDatum(numbers[k]);
		nulls[3 + k] = isnan(numbers[k]);
	}
	values[9] = BoolGetDatum(best);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	CHECK_FOR_INTERRUPTS();
}

/*
 * gpu_ols_select(stats gpu_ols_stats, criterion text, method text, intercept boolean, features "any", response "any",
 * max_size int): one row per size; no rows if one of the first four is NULL
 */
Datum
gr_ols_select(PG_FUNCTION_ARGS)
{
	double		began = gr_now();
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	GrStats		stats;
	GrSelection selection = {0};
	Criterion	criterion;
	Measures   *measures;
	int			best;

	InitMaterializedSRF(fcinfo, 0);
	for (int k = ARG_STATS; k <= ARG_INTERCEPT; k++)
		if (PG_ARGISNULL(k))
			return (Datum) 0;
	criterion = (Criterion) read_choice(fcinfo, ARG_CRITERION, "criterion", criteria,
										"Use 'bic', 'aic', 'cp' or 'adjr2'.");
	selection.method = (GrSelectMethod) read_choice(fcinfo, ARG_METHOD, "method", methods,
													"Use 'best', 'forward' or 'backward'.");
	selection.intercept = PG_GETARG_BOOL(ARG_INTERCEPT);
	if (!gr_stats_arguments(fcinfo, ARG_STATS, ARG_FEATURES, ARG_RESPONSE, &stats))
		return (Datum) 0;
	selection.max_size = read_max_size(fcinfo, stats.nfeatures);
	select_features(&stats, &selection);
	measures = palloc(selection.nsizes * sizeof(Measures));
	for (int size = 0; size < selection.nsizes; size++)
		measures[size] = measure(&stats, &selection, size);
	if (criterion == BY_CP && isnan(measures[0].cp))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("Cp needs the residual variance of a fit of all features"),
				 errdetail("There are " INT64_FORMAT " observations, and the residual sum of squares of that fit is "
						   "%g.",
						   stats.gram.nobs, selection.full_rss),
				 errhint("Use another criterion, or name fewer features.")));
	best = best_size(&stats, &selection, measures, criterion);
	for (int size = selection.intercept ? 0 : 1; size < selection.nsizes; size++)
		put_subset(rsinfo, &stats, &selection, size, &measures[size], size == best);
	gr_record_state(fcinfo, stats.state->nrows, stats.nfeatures, began);
	return (Datum) 0;
}
