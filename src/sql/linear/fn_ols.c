/*
 * fn_ols.c: the SQL functions of linear regression.
 */
#include "postgres.h"

#include <math.h>

#include "access/parallel.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "optimizer/cost.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "compute/base/compute.h"
#include "compute/glm/glm.h"
#include "compute/linalg/gram_shift.h"
#include "rows/query/query.h"
#include "rows/state/aggregate.h"
#include "rows/state/state.h"
#include "rows/sums/ingest.h"
#include "rows/sums/source.h"
#include "run/args.h"
#include "run/clock.h"
#include "run/device.h"
#include "run/job.h"
#include "run/report.h"
#include "sql/glm/glm_fit.h"
#include "sql/linear/ols_fit.h"
#include "sql/model/arrays.h"
#include "sql/model/model.h"

PG_FUNCTION_INFO_V1(gr_ols_arrays);
PG_FUNCTION_INFO_V1(gr_ols_model_final);
PG_FUNCTION_INFO_V1(gr_ols_coef);
PG_FUNCTION_INFO_V1(gr_ols_fit);

void
gr_ols_take_sums(const double *sums, int nfeatures, double *hi, double *lo)
{
	const double *from_hi = sums + GR_SUM_HEAD;
	const double *from_lo = from_hi + gr_triangle(gr_norder(nfeatures) + 1);
	Size		k = 0;

	for (Size i = 1; i <= gr_norder(nfeatures); i++)
		for (Size j = 1; j <= i; j++, k++)
		{
			hi[k] = from_hi[i * (i + 1) / 2 + j];
			lo[k] = from_lo[i * (i + 1) / 2 + j];
		}
}

GrPass
gr_ols_pass_of(GrRowShape shape, GrRowRules rules, const double *zeros, const double *shift)
{
	return (GrPass) {
		.kind = GR_PASS_EXACT,.shape = shape,.distribution = {GR_GAUSSIAN, GR_IDENTITY},.linear = true,
		.beta = zeros,.shift = shift,.measure = GR_MEASURE_STEP,.counts = rules.weighting == GR_FREQUENCIES
	};
}

/* The response has no shift: passes know of none. */
void
gr_ols_sum_kept(GrRowSource *source, double *hi, double *lo, double *shift)
{
	int			nfeatures = source->shape.nfeatures;
	double	   *sums = palloc_extended(gr_pass_nsums(GR_PASS_EXACT, nfeatures) * sizeof(double), MCXT_ALLOC_HUGE);
	GrPass		pass = gr_ols_pass_of(source->shape, source->rules, palloc0(gr_nterms(nfeatures) * sizeof(double)),
									  shift);
	GrError		err = {0};
	int			column;

	memset(shift, 0, gr_nterms(nfeatures) * sizeof(double));
	do
	{
		gr_pass_clear(GR_PASS_EXACT, nfeatures, sums);
		gr_source_pass(source, &pass, sums);
		gr_ols_take_sums(sums, nfeatures, hi, lo);
	} while (source->npasses == 1 && gr_shift_by_sums(shift, hi, lo, nfeatures, GR_FAR_SPREADS));
	pfree(sums);
	if (gr_gram_finite(hi, nfeatures, &column))
		return;
	gr_fail(&err, GR_OUT_OF_RANGE, column, "%s", "");
	gr_job_fail(source->job, &err);
}

/*
 * Waits for the job's sums, solves, and releases the job. ingest: that the rows come from, or NULL; kept: the source of
 * rows that are kept, or NULL
 */
static void
finish_model(GrJob *job, GrIngest *ingest, GrRowSource *kept, bool intercept, GrModel *model, bool want_vcov,
			 const char *function, double started)
{
	Size		triangle = gr_triangle(gr_norder(job->shape.nfeatures));
	double	   *hi = palloc_extended((2 * triangle + gr_nterms(job->shape.nfeatures)) * sizeof(double),
								 MCXT_ALLOC_HUGE);
	double	   *lo = hi + triangle;
	double	   *shift = lo + triangle;
	double		read_done;

	if (kept == NULL)
		gr_job_finish(job, hi, lo, shift);
	else
		gr_ols_sum_kept(kept, hi, lo, shift);
	read_done = gr_now();
	if (ingest != NULL)
	{
		gr_fold_sums(ingest, hi, lo, shift);
		model->moves = gr_ingest_moves(ingest);
	}
	model->nsummed = job->nrows;
	gr_model_solve(model, hi, lo, shift, ingest == NULL ? job->shape.nfeatures : ingest->nfeatures, gr_job_nobs(job),
				   job->totals.log_constant, intercept, ingest == NULL ? job->names : ingest->names, want_vcov,
				   gr_job_solver(job));
	gr_record_run(function, job, started, read_done, gr_now());
	model->device = pstrdup(job->place.device);
	gr_job_release(job);
	pfree(hi);
}

/* gpu_ols(x float8[], y float8[], intercept boolean): the coefficients; NULL where there is no complete row */
Datum
gr_ols_arrays(PG_FUNCTION_ARGS)
{
	double		started = gr_now();
	GrFloatArray x;
	GrFloatArray y;
	bool		intercept = PG_GETARG_BOOL(2);
	const double *x_at;
	const double *y_at;
	GrJobOptions job_options = {.kind = GR_SINK_SUM};
	GrJob	   *job;
	GrModel		model = {0};

	gr_open_float_array(PG_GETARG_ARRAYTYPE_P(0), "x", &x);
	gr_open_float_array(PG_GETARG_ARRAYTYPE_P(1), "y", &y);
	gr_check_shapes(&x, &y);
	if (x.nrows == 0)
		PG_RETURN_NULL();
	job_options.shape = gr_plain_shape(x.ncols);
	job_options.nrows_estimate = x.nrows;
	job = gr_job_begin(&job_options);
	x_at = x.values;
	y_at = y.values;
	for (int64 row = 0; row < x.nrows; row++)
	{
		if (gr_next_array_row(&x, &y, row, &x_at, &y_at, gr_job_row(job)))
			gr_job_take_row(job);
		gr_poll_loop(row);
	}
	if (job->nrows == 0)
		PG_RETURN_NULL();
	finish_model(job, NULL, NULL, intercept, &model, false, "gpu_ols", started);
	PG_RETURN_ARRAYTYPE_P(gr_model_coefficients(&model));
}

/* nfeatures: fewer than the state's where its sums were folded; names: of the features and the response, or NULL */
static void
solve_stats(GrState *stats, int nfeatures, bool intercept, const char *const *names, GrModel *model)
{
	model->nsummed = stats->nrows;
	gr_model_solve(model, gr_state_hi(stats), gr_state_lo(stats), gr_state_shift(stats), nfeatures,
				   gr_state_nobs(stats), stats->log_constant, intercept, names, true, NULL);
	model->nskipped = stats->nskipped;
	model->device = "cpu";
}

/* The final function of gpu_ols_agg: NULL if there is no complete row */
Datum
gr_ols_model_final(PG_FUNCTION_ARGS)
{
	double		began = gr_now();
	GrState    *stats;
	GrModel		model = {0};

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	stats = gr_state_settled(PG_GETARG_DATUM(0), GR_STATS, NULL);
	if (stats->nrows == 0)
		PG_RETURN_NULL();
	solve_stats(stats, stats->nfeatures, true, (const char *const *) gr_state_column_names(stats), &model);
	gr_record_group(fcinfo, "gpu_ols_agg", stats->nrows, stats->nfeatures, began);
	return gr_model_datum(fcinfo, &model);
}

/*
 * gpu_ols_coef(stats gpu_ols_stats, intercept boolean): what gpu_ols returns, which the planner has made a call of this
 * over an aggregate's sums
 */
Datum
gr_ols_coef(PG_FUNCTION_ARGS)
{
	double		started = gr_now();
	GrState    *stats = gr_state_settled(PG_GETARG_DATUM(0), GR_STATS, NULL);
	GrModel		model = {0};
	GrPlace		place = {0};

	if (stats->nrows == 0)
		PG_RETURN_NULL();
	gr_place_on_cpu(&place, "the planner made gpu_ols over array_agg an aggregate");
	model.nsummed = stats->nrows;
	gr_model_solve(&model, gr_state_hi(stats), gr_state_lo(stats), gr_state_shift(stats), stats->nfeatures,
				   gr_state_nobs(stats), stats->log_constant, PG_GETARG_BOOL(1), NULL, false, NULL);
	/* in a worker, where nobody could see it, nothing is left behind */
	if (!IsParallelWorker())
		gr_record_pass("gpu_ols", &place, stats->nrows, stats->nfeatures, stats->nworkers, started, started,
					   gr_now());
	PG_RETURN_ARRAYTYPE_P(gr_model_coefficients(&model));
}

/* The same over a query */
static void
fit_query(FunctionCallInfo fcinfo, const char *name, const char *query, const GrRoles *roles, GrIngest *ingest,
		  GrModel *model)
{
	double		started = gr_now();
	GrPlace		place = {0};
	ErrorContextCallback context;
	GrState    *stats;
	double		read_done;

	gr_enter_query(&context, query);
	gr_ingest_prepare(query, fcinfo->flinfo->fn_oid, GR_GAUSSIAN, roles, ingest);
	stats = gr_source_sum(ingest, &place);
	if (stats == NULL)
		finish_model(ingest->job, ingest, NULL, ingest->intercept, model, true, name, started);
	else
	{
		read_done = gr_now();
		/* this process's own, which nobody looks at again */
		gr_fold_sums(ingest, gr_state_hi(stats), gr_state_lo(stats), gr_state_shift(stats));
		model->moves = gr_ingest_moves(ingest);
		solve_stats(stats, ingest->nfeatures, ingest->intercept, ingest->names, model);
		gr_record_pass(name, &place, stats->nrows, stats->nfeatures, stats->nworkers, started, read_done, gr_now());
	}
	gr_leave_query(&context);
}

Datum
gr_ols_fit_rows(FunctionCallInfo fcinfo, const char *name, const GrFitRows *rows, const GrRoles *roles)
{
	double		started = gr_now();
	GrIngest	ingest;
	GrRowSource source;
	GrModel		model = {0};

	if (rows->kept != NULL)
	{
		gr_kept_read(rows, (GrRowRules) {GR_GAUSSIAN, roles->weighting, 0}, roles, &ingest, &source);
		finish_model(ingest.job, &ingest, &source, ingest.intercept, &model, true, name, started);
	}
	else
		fit_query(fcinfo, name, rows->query, roles, &ingest, &model);
	model.nskipped = ingest.nskipped;
	model.design = ingest.design;
	gr_extras_take_roles(&model.extras, roles);
	return gr_model_datum(fcinfo, &model);
}

/*
 * gpu_ols_fit(query text, intercept boolean, formula text, weights text, frequencies text, vcov text, clusters text[],
 * kept text, rows text): NULL if intercept is, or both query and kept are
 */
Datum
gr_ols_fit(PG_FUNCTION_ARGS)
{
	GrRoles		roles;
	GrFitRows	rows;
	GrGlmOptions options = gr_glm_defaults(0);

	if (!gr_fit_arguments(fcinfo, 0, 7, 8, &rows) || PG_ARGISNULL(1))
		PG_RETURN_NULL();
	roles = gr_role_arguments(fcinfo, 3, 4, -1);
	gr_formula_argument(fcinfo, 2, PG_GETARG_BOOL(1), &roles);
	gr_vcov_arguments(fcinfo, 5, 6, &options, &roles);
	if (options.vcov != GR_VCOV_IID)
	{
		options.distribution = (GrDistribution) {GR_GAUSSIAN, GR_IDENTITY};
		options.intercept = PG_GETARG_BOOL(1);
		return gr_glm_fit_rows(fcinfo, "gpu_ols_fit", &rows, &roles, &options, false);
	}
	roles.centered = roles.pairs = true;
	return gr_ols_fit_rows(fcinfo, "gpu_ols_fit", &rows, &roles);
}
