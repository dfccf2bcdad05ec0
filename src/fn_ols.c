/*
 * fn_ols.c: the SQL functions of linear regression.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "optimizer/cost.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "args.h"
#include "bridge.h"
#include "ingest.h"
#include "model.h"
#include "ols_stats.h"
#include "ring_reader.h"
#include "wrapper.h"

PG_FUNCTION_INFO_V1(gr_ols_arrays);
PG_FUNCTION_INFO_V1(gr_ols_model_final);
PG_FUNCTION_INFO_V1(gr_ols_solve_stats);
PG_FUNCTION_INFO_V1(gr_ols_fit);

/* Waits for the job's sums, solves, and releases the job. */
static void
finish_model(GrJob *job, bool intercept, GrModel *model, bool want_vcov, const char *function, double started)
{
	Size		triangle = gr_triangle(job->nfeatures + 2);
	double	   *hi = palloc_extended((2 * triangle + job->nfeatures + 1) * sizeof(double), MCXT_ALLOC_HUGE);
	double	   *lo = hi + triangle;
	double	   *shift = lo + triangle;
	double		read_done;

	gr_job_finish(job, hi, lo, shift);
	read_done = gr_now();
	gr_model_solve(model, hi, lo, shift, job->nfeatures, job->nrows, intercept, job->names, want_vcov, gr_job_solver(job));
	gr_job_release(job);
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
	{
		if (gr_next_array_row(&x, &y, row, &x_at, &y_at, gr_job_row(job)))
			gr_job_take_row(job);
		gr_poll_loop(row);
	}
	if (job->nrows == 0)
		PG_RETURN_NULL();
	finish_model(job, intercept, &model, false, "gpu_ols", started);
	PG_RETURN_ARRAYTYPE_P(gr_model_coefficients(&model));
}

static Datum
solve_stats(FunctionCallInfo fcinfo, GrOlsStats *stats, bool intercept)
{
	GrModel		model = {0};

	gr_model_solve(&model, gr_stats_hi(stats), gr_stats_lo(stats), gr_stats_shift(stats), stats->nfeatures, stats->nrows,
				   intercept, NULL, true, NULL);
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

/* The most columns that gpu_ols_pass takes: PostgreSQL's limit on arguments, 100, less some. */
#define PASS_COLUMNS_MAX 90

/*
 * Notes the width of the one array column: what the others leave of nfeatures. The first row's array, which was looked
 * at before, may have been left out, and be of another length.
 */
static void
note_width(GrIngest *ingest, int nfeatures)
{
	for (int k = 1; k < ingest->ncolumns; k++)
		if (OidIsValid(ingest->columns[k].element))
			ingest->columns[k].width = nfeatures - (ingest->ncolumns - 2);
}

/* Can the arrays' widths be told from the number of features? */
static bool
tells_widths(const GrIngest *ingest)
{
	int			narrays = 0;

	for (int k = 1; k < ingest->ncolumns; k++)
		narrays += OidIsValid(ingest->columns[k].element);
	return narrays <= 1;
}

/*
 * Whether the query is for gpu_ols_pass, in parallel workers on the CPU: the plan, or NULL. *place is then the CPU, and
 * the reason.
 */
static GrPlan *
plan_pass(GrIngest *ingest, GrPlace *place)
{
	Oid			types[1] = {TEXTARRAYOID};
	GrError		err = {0};
	double		work;
	GrPlan	   *plan;
	int			nworkers;

	/* without workers, planning it would be for nothing */
	if (gr_debug_ring || max_parallel_workers_per_gather == 0 || ingest->ncolumns > PASS_COLUMNS_MAX || !tells_widths(ingest))
		return NULL;
	work = gr_ingest_work(ingest, GR_JOB_GRAM);
	if (gr_prepare_place(place, work) &&
		(!gr_device_is_missing() || !gr_choose_place(place, work, &err) || place->backend != &gr_backend_cpu))
	{
		gr_leave_place(place);
		return NULL;
	}
	plan = gr_plan_aggregate(ingest, "gpu_ols_pass", 1, types, gr_own_type(ingest->function, "gpu_ols_stats"),
							 &nworkers);
	return nworkers > 0 ? plan : NULL;
}

/* Runs the plan: the sums. */
static GrOlsStats *
run_pass(const GrPlan *plan, GrIngest *ingest)
{
	Oid			types[1] = {TEXTARRAYOID};
	Datum		values[1] = {gr_column_names(ingest)};
	GrOlsStats *stats;
	bool		isnull;
	Datum		result = gr_run_for_value(plan, gr_make_params(1, values, types), &isnull);

	if (isnull)
		gr_raise_no_rows(0);
	stats = (GrOlsStats *) PG_DETOAST_DATUM(result);
	ingest->nrows = stats->nrows;
	ingest->nskipped = stats->nskipped;
	if (stats->nrows == 0)
		gr_raise_no_rows(stats->nskipped);
	ingest->nfeatures = stats->nfeatures;
	note_width(ingest, stats->nfeatures);
	gr_name_ingested(ingest);
	return gr_stats_settled_named(PointerGetDatum(stats), ingest->names);
}

/* Sums the query's rows up in parallel workers, and solves. */
static void
fit_in_workers(const GrPlan *plan, GrIngest *ingest, const GrPlace *place, bool intercept, GrModel *model,
			   double started)
{
	GrOlsStats *stats = run_pass(plan, ingest);
	double		read_done = gr_now();

	gr_model_solve(model, gr_stats_hi(stats), gr_stats_lo(stats), gr_stats_shift(stats), stats->nfeatures, stats->nrows,
				   intercept, ingest->names, true, NULL);
	model->device = "cpu";
	gr_record_pass("gpu_ols_fit", place, stats->nrows, stats->nfeatures, stats->nworkers, started, read_done, gr_now());
}

/* gpu_ols_fit(query text, intercept boolean) */
Datum
gr_ols_fit(PG_FUNCTION_ARGS)
{
	double		started = gr_now();
	char	   *query = text_to_cstring(PG_GETARG_TEXT_PP(0));
	GrJobOptions options = {.kind = GR_JOB_GRAM};
	GrPlace		place = {0};
	ErrorContextCallback context;
	GrPlan	   *plan;
	GrIngest	ingest;
	GrModel		model = {0};

	gr_enter_query(&context, query);
	gr_ingest_prepare(query, fcinfo->flinfo->fn_oid, &ingest);
	plan = plan_pass(&ingest, &place);
	if (plan != NULL)
		fit_in_workers(plan, &ingest, &place, PG_GETARG_BOOL(1), &model, started);
	else
	{
		gr_ingest_read(&ingest, &options);
		if (ingest.nrows == 0)
			gr_raise_no_rows(ingest.nskipped);
		finish_model(ingest.job, PG_GETARG_BOOL(1), &model, true, "gpu_ols_fit", started);
	}
	gr_leave_query(&context);
	model.nskipped = ingest.nskipped;
	return gr_model_datum(fcinfo, &model);
}
