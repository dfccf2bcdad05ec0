/*
 * fn_ols.c: the SQL functions of linear regression.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "args.h"
#include "bridge.h"
#include "ingest.h"
#include "model.h"
#include "ols_stats.h"

PG_FUNCTION_INFO_V1(gr_ols_arrays);
PG_FUNCTION_INFO_V1(gr_ols_model_final);
PG_FUNCTION_INFO_V1(gr_ols_solve_stats);
PG_FUNCTION_INFO_V1(gr_ols_fit);

/* Waits for the job's sums, and solves. */
static void
finish_model(GrJob *job, bool intercept, GrModel *model, bool want_vcov, const char *function, double started)
{
	Size		triangle = gr_triangle(job->nfeatures + 2);
	double	   *hi = palloc_extended(2 * triangle * sizeof(double), MCXT_ALLOC_HUGE);
	double		read_done;

	gr_job_finish(job, hi, hi + triangle);
	read_done = gr_now();
	gr_model_solve(model, hi, hi + triangle, job->nfeatures, job->nrows, intercept, job->names, want_vcov);
	pfree(hi);
	gr_record_run(function, job, started, read_done, gr_now());
	model->device = job->place.device;
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
	GrJobOptions job_options = {.kind = GR_JOB_GRAM};
	GrJob	   *job;
	GrModel		model = {0};

	gr_open_float_array(PG_GETARG_ARRAYTYPE_P(0), "x", &x);
	gr_open_float_array(PG_GETARG_ARRAYTYPE_P(1), "y", &y);
	gr_check_shapes(&x, &y);
	if (x.nrows == 0)
		PG_RETURN_NULL();
	job_options.nfeatures = x.ncols;
	job_options.nrows_estimate = x.nrows;
	job = gr_job_begin(&job_options);
	x_at = x.values;
	y_at = y.values;
	for (int64 row = 0; row < x.nrows; row++)
		if (gr_next_array_row(&x, &y, row, &x_at, &y_at, gr_job_row(job)))
			gr_job_take_row(job);
	if (job->nrows == 0)
		PG_RETURN_NULL();
	finish_model(job, intercept, &model, false, "gpu_ols", started);
	PG_RETURN_ARRAYTYPE_P(gr_model_coefficients(&model));
}

static Datum
solve_stats(FunctionCallInfo fcinfo, GrOlsStats *stats, bool intercept)
{
	GrModel		model = {0};

	gr_model_solve(&model, gr_stats_hi(stats), gr_stats_lo(stats), stats->nfeatures, stats->nrows, intercept, NULL, true);
	model.nskipped = stats->nskipped;
	model.device = "cpu";
	return gr_model_datum(fcinfo, &model);
}

/* The final function of gpu_ols_agg: NULL if there is no complete row */
Datum
gr_ols_model_final(PG_FUNCTION_ARGS)
{
	GrOlsStats *stats;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	stats = gr_stats_settled(PG_GETARG_DATUM(0));
	if (stats->nrows == 0)
		PG_RETURN_NULL();
	return solve_stats(fcinfo, stats, true);
}

/* gpu_ols_solve(stats gpu_ols_stats, intercept boolean) */
Datum
gr_ols_solve_stats(PG_FUNCTION_ARGS)
{
	GrOlsStats *stats = gr_stats_settled(PG_GETARG_DATUM(0));

	if (stats->nrows == 0)
		PG_RETURN_NULL();
	return solve_stats(fcinfo, stats, PG_GETARG_BOOL(1));
}

/* gpu_ols_fit(query text, intercept boolean) */
Datum
gr_ols_fit(PG_FUNCTION_ARGS)
{
	double		started = gr_now();
	MemoryContext context = CurrentMemoryContext;
	GrJobOptions options = {.kind = GR_JOB_GRAM};
	GrIngest	ingest;
	GrModel		model = {0};

	SPI_connect();
	MemoryContextSwitchTo(context);
	gr_ingest_prepare(text_to_cstring(PG_GETARG_TEXT_PP(0)), &ingest);
	gr_ingest_read(&ingest, &options);
	if (ingest.nrows == 0)
		gr_raise_no_rows(ingest.nskipped);
	finish_model(ingest.job, PG_GETARG_BOOL(1), &model, true, "gpu_ols_fit", started);
	SPI_finish();
	model.nskipped = ingest.nskipped;
	return gr_model_datum(fcinfo, &model);
}
