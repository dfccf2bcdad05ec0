/*
 * fn_iv.c: two-stage least squares from a gpu_ols_stats: gpu_iv_solve and gpu_iv_tests.
 */
#include "postgres.h"

#include <math.h>

#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include "compute/dist/inference.h"
#include "compute/linear/iv.h"
#include "rows/state/aggregate.h"
#include "run/clock.h"
#include "run/grams.h"
#include "run/raise.h"
#include "sql/model/model.h"
#include "sql/states/stats.h"

PG_FUNCTION_INFO_V1(gr_iv_solve_stats);
PG_FUNCTION_INFO_V1(gr_iv_tests);

/* Arguments of both functions */
enum
{
	ARG_STATS, ARG_ENDOGENOUS, ARG_INSTRUMENTS, ARG_INTERCEPT, ARG_FEATURES, ARG_RESPONSE
};

/* Role of a feature in the regression, in the solver's order. */
typedef enum Part
{
	EXOGENOUS, INSTRUMENT, ENDOGENOUS, NPARTS
} Part;

/* A solved regression. */
typedef struct Regression
{
	GrStats		stats;
	GrIvColumns columns;
	bool		intercept;
	Part	   *parts;			/* role of each chosen feature */
	int		   *order;			/* positions of the chosen features, in the solver's order */
	const char **names;			/* names of the features in the solver's order, then the response's */
	GrIvFit		fit;
} Regression;

/* Gives the columns that an argument lists their role. Raises an ERROR if one already has another role. */
static void
mark_columns(FunctionCallInfo fcinfo, int argument, const char *what, Part part, Regression *r)
{
	int			n;
	int		   *places = gr_stats_columns(fcinfo, argument, what, &r->stats, &n);

	for (int k = 0; k < n; k++)
	{
		if (r->parts[places[k]] != EXOGENOUS)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("column \"%s\" is both endogenous and an instrument", r->stats.names[places[k]]),
					 errhint("Name only other columns as instruments: an exogenous regressor is always an instrument "
							 "of itself.")));
		r->parts[places[k]] = part;
	}
	pfree(places);
}

/* Sets the roles, order and names of the features. Raises an ERROR if none is endogenous. */
static void
order_columns(FunctionCallInfo fcinfo, Regression *r)
{
	int			counts[NPARTS] = {0};
	int			n = 0;

	r->parts = palloc0((r->stats.nfeatures + 1) * sizeof(Part));
	r->order = palloc((r->stats.nfeatures + 1) * sizeof(int));
	r->names = palloc((r->stats.nfeatures + 1) * sizeof(char *));
	mark_columns(fcinfo, ARG_ENDOGENOUS, "endogenous", ENDOGENOUS, r);
	mark_columns(fcinfo, ARG_INSTRUMENTS, "instruments", INSTRUMENT, r);
	for (int part = EXOGENOUS; part < NPARTS; part++)
		for (int k = 0; k < r->stats.nfeatures; k++)
			if (r->parts[k] == part)
			{
				r->names[n] = r->stats.names[k];
				r->order[n++] = k;
				counts[part]++;
			}
	r->names[n] = r->stats.names[n];
	r->columns = (GrIvColumns) {counts[EXOGENOUS], counts[INSTRUMENT], counts[ENDOGENOUS]};
	if (counts[ENDOGENOUS] == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("endogenous must name at least one column"),
				 errhint("Use gpu_ols_solve if all regressors are exogenous.")));
}

static void
raise_unidentified(const Regression *r)
{
	const GrIvFit *fit = &r->fit;

	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("the effects of the endogenous regressors are not identified"),
			 fit->instruments < fit->endogenous ?
			 errdetail("Instruments that are not collinear with others or with exogenous regressors: %d; endogenous "
					   "regressors: %d.", fit->instruments, fit->endogenous) :
			 errdetail("The projection of one endogenous regressor on the instruments is collinear with those of the "
					   "others."),
			 errhint("Name at least as many instruments as endogenous regressors, each correlated with them.")));
}

/* Solves the regression. Raises an ERROR if it has no solution. */
static void
solve(Regression *r)
{
	GrStats    *stats = &r->stats;
	int			p = stats->nfeatures;
	int			nterms = r->columns.nexogenous + r->columns.nendogenous + (r->intercept ? 1 : 0);
	GrGram		gram = gr_gram_make(p);
	void	   *workspace = palloc_extended(gr_iv_workspace_nbytes(&r->columns), MCXT_ALLOC_HUGE);
	GrError		err = {0};

	r->order[p] = p;
	if (!gr_gram_subset(&stats->gram, r->order, &gram))
		elog(ERROR, "no such column");
	r->fit.coef = palloc(nterms * sizeof(double));
	r->fit.vcov = palloc_extended((Size) nterms * nterms * sizeof(double), MCXT_ALLOC_HUGE);
	r->fit.first_stage = palloc(r->columns.nendogenous * sizeof(GrIvTest));
	r->columns.intercept = r->intercept;
	if (!gr_iv_solve(&gram, &r->columns, workspace, &r->fit, &gr_host, &err))
		gr_raise_columns(&err, p, r->names);
	if (!r->fit.identified)
		raise_unidentified(r);
	pfree(workspace);
	pfree(gram.hi);
}

/* Reads the arguments and solves. Returns false if an argument is NULL or the state has no complete row. */
static bool
solve_arguments(FunctionCallInfo fcinfo, Regression *r)
{
	if (PG_ARGISNULL(ARG_STATS) || PG_ARGISNULL(ARG_INTERCEPT))
		return false;
	r->intercept = PG_GETARG_BOOL(ARG_INTERCEPT);
	if (!gr_stats_arguments(fcinfo, ARG_STATS, ARG_FEATURES, ARG_RESPONSE, &r->stats))
		return false;
	order_columns(fcinfo, r);
	solve(r);
	return true;
}

/* Returns the solver's position of each of the model's terms, and names the model's terms. */
static int *
order_terms(const Regression *r, GrModel *model)
{
	int			first = r->intercept ? 1 : 0;
	int		   *places = palloc(r->fit.nterms * sizeof(int));
	const char **names = palloc(r->fit.nterms * sizeof(char *));
	int			nexogenous = first;
	int			nendogenous = first + r->columns.nexogenous;
	int			n = first;

	if (r->intercept)
		places[0] = 0;
	for (int k = 0; k < r->stats.nfeatures; k++)
	{
		if (r->parts[k] == INSTRUMENT)
			continue;
		names[n - first] = r->stats.names[k];
		places[n++] = r->parts[k] == EXOGENOUS ? nexogenous++ : nendogenous++;
	}
	gr_model_name_terms(model, names);
	return places;
}

/*
 * gpu_iv_solve(stats gpu_ols_stats, endogenous "any", instruments "any", intercept boolean, features "any", response
 * "any")
 */
Datum
gr_iv_solve_stats(PG_FUNCTION_ARGS)
{
	Regression	r = {0};
	GrModel		model = {.iv = true,.distribution = {GR_GAUSSIAN, GR_IDENTITY},.log_lik = NAN,.device = "cpu"};
	double		began = gr_now();
	int		   *places;
	Size		m;

	if (!solve_arguments(fcinfo, &r))
		PG_RETURN_NULL();
	m = model.nterms = r.fit.nterms;
	model.intercept = r.intercept;
	places = order_terms(&r, &model);
	model.coef = palloc(m * sizeof(double));
	model.vcov = palloc_extended(m * m * sizeof(double), MCXT_ALLOC_HUGE);
	for (Size i = 0; i < m; i++)
	{
		model.coef[i] = r.fit.coef[places[i]];
		for (Size j = 0; j < m; j++)
			model.vcov[i * m + j] = r.fit.vcov[places[i] * m + places[j]];
		CHECK_FOR_INTERRUPTS();
	}
	model.nrows = r.stats.gram.nobs;
	model.nskipped = r.stats.state->nskipped;
	model.rank = r.fit.rank;
	model.df_residual = r.fit.df_residual;
	model.deviance = r.fit.rss;
	model.null_deviance = r.fit.tss;
	model.dispersion = gr_model_mean_square(r.fit.rss, (double) r.fit.df_residual);
	model.df_inference = (double) r.fit.df_residual;
	model.iterations = 1;
	model.converged = true;
	gr_record_state(fcinfo, r.stats.state->nrows, r.stats.nfeatures, began);
	return gr_model_datum(fcinfo, &model);
}

/* Adds a test's row. by_f: F test; else chi-squared, without df2. */
static void
put_test(ReturnSetInfo *rsinfo, const char *name, const GrIvTest *test, bool by_f)
{
	Datum		values[5];
	bool		nulls[5] = {false};
	double		p = by_f ? gr_f_upper(test->statistic, (double) test->df1, (double) test->df2) :
		gr_chisq_probability(test->statistic, (double) test->df1, false);

	values[0] = CStringGetTextDatum(name);
	values[1] = Int32GetDatum((int32) test->df1);
	values[2] = Int64GetDatum(test->df2);
	nulls[2] = !by_f;
	values[3] = Float8GetDatum(test->statistic);
	values[4] = Float8GetDatum(p);
	nulls[3] = isnan(test->statistic);
	nulls[4] = isnan(p);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	CHECK_FOR_INTERRUPTS();
}

/*
 * gpu_iv_tests(arguments as gpu_iv_solve): one row per endogenous regressor in the order of the features, then
 * Wu-Hausman and Sargan
 */
Datum
gr_iv_tests(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	double		began = gr_now();
	Regression	r = {0};
	const char **endogenous;

	InitMaterializedSRF(fcinfo, 0);
	if (!solve_arguments(fcinfo, &r))
		return (Datum) 0;
	endogenous = r.names + r.columns.nexogenous + r.columns.ninstruments;
	for (int k = 0; k < r.columns.nendogenous; k++)
		put_test(rsinfo, psprintf("Weak instruments (%s)", endogenous[k]), &r.fit.first_stage[k], true);
	put_test(rsinfo, "Wu-Hausman", &r.fit.hausman, true);
	put_test(rsinfo, "Sargan", &r.fit.sargan, false);
	gr_record_state(fcinfo, r.stats.state->nrows, r.stats.nfeatures, began);
	return (Datum) 0;
}
