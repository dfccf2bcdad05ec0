/*
 * fn_ols.c: SQL functions of linear regression: gpu_ols, gpu_ols_agg, gpu_ols_coef and gpu_ols_fit.
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
#include "rows/sums/data_set.h"
#include "run/args.h"
#include "run/clock.h"
#include "run/device.h"
#include "run/job.h"
#include "run/report.h"
#include "sql/effects/absorb.h"
#include "sql/glm/glm_fit.h"
#include "sql/linear/ols_fit.h"
#include "sql/model/arrays.h"
#include "sql/model/fit_arguments.h"
#include "sql/model/model.h"

PG_FUNCTION_INFO_V1(gr_ols_arrays);
PG_FUNCTION_INFO_V1(gr_ols_model_final);
PG_FUNCTION_INFO_V1(gr_ols_coef);
PG_FUNCTION_INFO_V1(gr_ols_fit);
PG_FUNCTION_INFO_V1(gr_ols_fit_formula);

/* gpu_ols(x float8[], y float8[], intercept boolean): the coefficients; NULL if there is no complete row */
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
	GrGram		sums;
	double		read_done;
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
	sums = gr_finish_job(job);
	read_done = gr_now();
	gr_model_solve(&model, &sums, intercept, NULL, false, gr_job_solver(job));
	gr_record_run("gpu_ols", job, started, read_done, gr_now());
	gr_job_release(job);
	pfree(sums.hi);
	PG_RETURN_ARRAYTYPE_P(gr_model_coefficients(&model));
}

/* Returns the sums of stats, with the number of rows that were summed. */
static GrGram
gram_of(GrState *stats)
{
	GrGram		gram = gr_state_gram(stats);

	gram.nsummed = stats->nrows;
	return gram;
}

/* gpu_ols_agg's final function: NULL if there is no complete row */
Datum
gr_ols_model_final(PG_FUNCTION_ARGS)
{
	double		began = gr_now();
	GrState    *stats;
	GrGram		gram;
	GrModel		model = {0};

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	stats = gr_state_settled(PG_GETARG_DATUM(0), GR_STATS, NULL);
	if (stats->nrows == 0)
		PG_RETURN_NULL();
	gram = gram_of(stats);
	gr_model_solve(&model, &gram, true, (const char *const *) gr_state_column_names(stats), true, NULL);
	model.nskipped = stats->nskipped;
	model.device = "cpu";
	gr_record_group(fcinfo, "gpu_ols_agg", stats->nrows, stats->nfeatures, began);
	return gr_model_datum(fcinfo, &model);
}

/*
 * gpu_ols_coef(stats gpu_ols_stats, intercept boolean): the result of gpu_ols, after the planner replaced it by an
 * aggregate
 */
Datum
gr_ols_coef(PG_FUNCTION_ARGS)
{
	double		started = gr_now();
	GrState    *stats = gr_state_settled(PG_GETARG_DATUM(0), GR_STATS, NULL);
	GrGram		gram;
	GrModel		model = {0};
	GrPlace		place = {0};

	if (stats->nrows == 0)
		PG_RETURN_NULL();
	gr_place_on_cpu(&place, "the planner made gpu_ols over array_agg an aggregate");
	gram = gram_of(stats);
	gr_model_solve(&model, &gram, PG_GETARG_BOOL(1), NULL, false, NULL);
	/* in a parallel worker, gpu_last_run() could not show the record */
	if (!IsParallelWorker())
		gr_record_pass(&place, &(GrPassRecord) {
			.function = "gpu_ols",.nrows = stats->nrows,.nfeatures = stats->nfeatures,.nworkers = stats->nworkers,
			.started = started,.read_done = started,.solved = gr_now()
		});
	PG_RETURN_ARRAYTYPE_P(gr_model_coefficients(&model));
}

Datum
gr_ols_fit_rows(FunctionCallInfo fcinfo, const char *name, const GrFitRows *rows, const GrRoles *roles)
{
	const GrRowsWanted wanted = {
		.from = *rows,.function = fcinfo->flinfo->fn_oid,.roles = roles,.family = GR_GAUSSIAN,.use = GR_ROWS_SUM
	};
	double		started = gr_now();
	ErrorContextCallback context;
	GrDataSet  *data;
	GrModel		model = {0};

	gr_enter_query(&context, rows->query);
	data = gr_open_rows(&wanted);
	model.moves = gr_ingest_moves(&data->ingest);
	gr_model_solve(&model, data->sums, data->ingest.intercept, data->ingest.names, true,
				   data->job == NULL ? NULL : gr_job_solver(data->job));
	model.device = gr_close_rows(data, name, started);
	gr_leave_query(&context);
	model.nskipped = data->ingest.nskipped;
	model.design = data->ingest.design;
	gr_extras_take_roles(&model.extras, roles);
	return gr_model_datum(fcinfo, &model);
}

/*
 * gpu_ols_fit(text, boolean, formula text, weights text, frequencies text, vcov text, clusters text[],
 * kept text, rows text, absorb text[]): NULL if intercept is NULL, or both query and kept are
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
	gr_absorb_arguments(fcinfo, 9, &roles);
	if (roles.nabsorbed > 0)
		return gr_absorb_fit(fcinfo, "gpu_ols_fit", &rows, &roles, &options);
	/* the sums of a linear fit have no offset */
	roles.takes_offset = true;
	if (options.vcov != GR_VCOV_IID || gr_formula_may_offset(roles.formula))
	{
		options.distribution = (GrDistribution) {GR_GAUSSIAN, GR_IDENTITY};
		options.intercept = PG_GETARG_BOOL(1);
		return gr_glm_fit_rows(fcinfo, "gpu_ols_fit", &rows, &roles, &options, false);
	}
	roles.centered = roles.pairs = true;
	return gr_ols_fit_rows(fcinfo, "gpu_ols_fit", &rows, &roles);
}

/* gpu_ols_fit(query text, formula text, intercept boolean, ...): the other arguments are those of gr_ols_fit() */
Datum
gr_ols_fit_formula(PG_FUNCTION_ARGS)
{
	static const int order[] = {0, 2, 1, 3, 4, 5, 6, 7, 8, 9};
	LOCAL_FCINFO(ordered, lengthof(order));
	Datum		model;

	gr_order_arguments(fcinfo, order, lengthof(order), ordered);
	model = gr_ols_fit(ordered);
	fcinfo->isnull = ordered->isnull;
	return model;
}
