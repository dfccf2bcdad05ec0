/*
 * fn_logreg.c: SQL functions of logistic regression over arrays (gpu_logreg), as an aggregate (gpu_logreg_agg) and by
 * steps from states (gpu_logreg_solve).
 */
#include "postgres.h"

#include <math.h>

#include "access/parallel.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "compute/base/compute.h"
#include "compute/glm/glm.h"
#include "compute/glm/glm_fit.h"
#include "compute/glm/glm_row.h"
#include "rows/query/query.h"
#include "rows/state/aggregate.h"
#include "rows/state/state.h"
#include "rows/sums/ingest.h"
#include "rows/sums/source.h"
#include "run/args.h"
#include "run/clock.h"
#include "run/device.h"
#include "run/job.h"
#include "run/raise.h"
#include "run/report.h"
#include "sql/glm/glm_fit.h"
#include "sql/model/arrays.h"
#include "sql/model/fit_arguments.h"
#include "sql/model/model.h"
#include "sql/model/vcov_warnings.h"
#include "sql/server/kept_rows.h"

PG_FUNCTION_INFO_V1(gr_logreg_arrays);
PG_FUNCTION_INFO_V1(gr_logreg_agg_accum);
PG_FUNCTION_INFO_V1(gr_logreg_agg_final);
PG_FUNCTION_INFO_V1(gr_logreg_rows_accum);
PG_FUNCTION_INFO_V1(gr_logreg_rows_final);
PG_FUNCTION_INFO_V1(gr_logreg_solve);

/*
 * Arrays
 */

/* Fits the arrays and returns the coefficients, or NULL if there is no complete row. y: the opened response. */
static Datum
fit_arrays(FunctionCallInfo fcinfo, const GrFloatArray *y)
{
	double		started = gr_now();
	double		read_done;
	GrFloatArray x;
	GrGlmOptions options;
	GrJobOptions job_options = {.kind = GR_SINK_KEEP};
	GrRowSource source = {.kind = &gr_source_held};
	GrGlmFit *fit;
	GrModel		model = {0};
	GrError		err = {0};
	const double *x_at;
	const double *y_at;

	gr_open_float_array(PG_GETARG_ARRAYTYPE_P(0), "x", &x);
	gr_check_shapes(&x, y);
	gr_check_l2(PG_GETARG_FLOAT8(3));
	if (x.nrows == 0)
		PG_RETURN_NULL();
	options = gr_glm_defaults(x.ncols);
	options.intercept = PG_GETARG_BOOL(2);
	options.l2 = PG_GETARG_FLOAT8(3);
	job_options.shape = gr_plain_shape(x.ncols);
	job_options.rules.family = GR_BINOMIAL;
	job_options.nrows_estimate = x.nrows;
	source.shape = job_options.shape;
	source.rules = job_options.rules;
	source.job = gr_job_begin(&job_options);
	x_at = x.values;
	y_at = y->values;
	for (int64 row = 0; row < x.nrows; row++)
	{
		if (gr_next_array_row(&x, y, row, &x_at, &y_at, gr_job_row(source.job)))
			gr_job_take_row(source.job);
		gr_poll_loop(row);
	}
	if (source.job->nrows == 0)
		PG_RETURN_NULL();
	(void) gr_job_keep(source.job);
	read_done = gr_now();
	if (!gr_glm_run(&source, &options, NULL, &fit, &err))
		gr_raise_columns(&err, x.ncols, NULL);
	gr_record_run("gpu_logreg", source.job, started, read_done, gr_now());
	gr_job_release(source.job);
	gr_glm_model(&model, fit, &options, NULL);
	PG_RETURN_ARRAYTYPE_P(gr_model_coefficients(&model));
}

/* Opens an array of booleans, converted to numbers. */
static void
open_boolean_array(ArrayType *array, GrFloatArray *y)
{
	double	   *values;
	Datum	   *items;
	bool	   *nulls;
	int			n;
	int			nvalues = 0;

	deconstruct_array(array, BOOLOID, 1, true, TYPALIGN_CHAR, &items, &nulls, &n);
	values = palloc_extended(Max(n, 1) * sizeof(double), MCXT_ALLOC_HUGE);
	for (int k = 0; k < n; k++)
	{
		if (!nulls[k])
			values[nvalues++] = DatumGetBool(items[k]) ? 1 : 0;
		gr_poll_loop(k);
	}
	*y = (GrFloatArray) {
		.values = values,.nulls = ARR_NULLBITMAP(array),.nitems = n,.ndim = ARR_NDIM(array),.ncols = 1
	};
	y->nrows = y->ndim == 0 ? 0 : ARR_DIMS(array)[0];
}

/* gpu_logreg(x float8[], y float8[] or boolean[], intercept boolean, l2 float8): a logistic regression of y on x */
Datum
gr_logreg_arrays(PG_FUNCTION_ARGS)
{
	ArrayType  *array = PG_GETARG_ARRAYTYPE_P(1);
	GrFloatArray y;

	if (ARR_ELEMTYPE(array) == BOOLOID)
		open_boolean_array(array, &y);
	else
		gr_open_float_array(array, "y", &y);
	return fit_arrays(fcinfo, &y);
}

/*
 * gpu_logreg_agg, which stores its rows
 */

static inline void
take_row(FunctionCallInfo fcinfo, GrKeptRows *rows, double y, ArrayType *x)
{
	int			p = rows->nfeatures;
	double	   *row = gr_kept_row(fcinfo, rows);

	memcpy(row, ARR_DATA_PTR(x), p * sizeof(double));
	row[p] = y;
	gr_check_rows(row, 1, gr_plain_shape(p), (GrRowRules) {GR_BINOMIAL}, NULL);
	gr_kept_count(rows);
}

/* gr_logreg_agg_accum(state internal, y float8 or boolean, VARIADIC x float8[]) */
Datum
gr_logreg_agg_accum(PG_FUNCTION_ARGS)
{
	static const GrKeptOptions none = {0};
	GrKeptRows *rows = gr_kept_state(fcinfo);
	ArrayType  *x = PG_ARGISNULL(2) ? NULL : PG_GETARG_ARRAYTYPE_P(2);

	if (x != NULL)
		gr_check_vector(x, "x");
	if (x == NULL || PG_ARGISNULL(1) || array_contains_nulls(x))
	{
		gr_add_count(&rows->nskipped, 1);
		PG_RETURN_POINTER(rows);
	}
	gr_kept_check(rows, ArrayGetNItems(ARR_NDIM(x), ARR_DIMS(x)), &none);
	take_row(fcinfo, rows, gr_number_argument(fcinfo, 1), x);
	PG_RETURN_POINTER(rows);
}

/* Records the run, except in a parallel worker, where gpu_last_run() could not show it. */
static void
record_kept(const char *name, const GrRowSource *source, double started, double read_done)
{
	if (IsParallelWorker())
		return;
	gr_record_run(name, source->job, started, read_done, gr_now());
	if (source->job->spool.file != NULL)
		strlcat(gr_last_run.reason, "; the rows went to a temporary file", sizeof(gr_last_run.reason));
}

/*
 * gpu_logreg_agg's final function: fits the kept rows. Returns NULL if there is no complete row or, with a WARNING, if
 * the response has one class.
 */
Datum
gr_logreg_agg_final(PG_FUNCTION_ARGS)
{
	double		started = gr_now();
	double		read_done;
	GrKeptRows *rows;
	GrRowSource source;
	GrGlmOptions options;
	GrGlmFit *fit;
	GrModel		model = {0};
	GrError		err = {0};

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	rows = (GrKeptRows *) PG_GETARG_POINTER(0);
	if (rows->nrows == 0)
		PG_RETURN_NULL();
	gr_kept_source(rows, &source);
	read_done = gr_now();
	options = gr_glm_defaults(rows->nfeatures);
	if (!gr_glm_run(&source, &options, NULL, &fit, &err))
	{
		gr_job_release(source.job);
		ereport(WARNING,
				(errmsg("the response has one class: it is %g in every row", err.value),
				 errdetail("The model is NULL."),
				 errhint("Aggregate rows of both classes.")));
		PG_RETURN_NULL();
	}
	record_kept("gpu_logreg_agg", &source, started, read_done);
	gr_add_group(fcinfo, "gpu_logreg_agg");
	gr_glm_model(&model, fit, &options, NULL);
	model.nskipped = rows->nskipped;
	model.device = pstrdup(source.job->place.device);
	gr_job_release(source.job);
	return gr_model_datum(fcinfo, &model);
}

/*
 * gpu_logreg over array_agg, which the planner turns into an aggregate. x is checked as array_agg checks arrays, even
 * in rows that are skipped.
 */

/* gr_logreg_rows_accum(state internal, y float8 or boolean, x float8[], intercept boolean, l2 float8) */
Datum
gr_logreg_rows_accum(PG_FUNCTION_ARGS)
{
	GrKeptRows *rows = gr_kept_state(fcinfo);
	GrKeptOptions options = {.accumulates = true,.isnull = PG_ARGISNULL(3) || PG_ARGISNULL(4)};
	ArrayType  *x;

	if (PG_ARGISNULL(2))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("cannot accumulate null arrays")));
	x = PG_GETARG_ARRAYTYPE_P(2);
	gr_check_accumulated(x, rows->nfeatures < 0);
	options.lower_bound = ARR_LBOUND(x)[0];
	if (!options.isnull)
	{
		options.intercept = PG_GETARG_BOOL(3);
		options.l2 = PG_GETARG_FLOAT8(4);
	}
	gr_kept_check(rows, ARR_DIMS(x)[0], &options);
	if (PG_ARGISNULL(1) || array_contains_nulls(x))
		gr_add_count(&rows->nskipped, 1);
	else
		take_row(fcinfo, rows, gr_number_argument(fcinfo, 1), x);
	PG_RETURN_POINTER(rows);
}

/* gpu_logreg_rows_agg's final function: the result of gpu_logreg */
Datum
gr_logreg_rows_final(PG_FUNCTION_ARGS)
{
	double		started = gr_now();
	double		read_done;
	GrKeptRows *rows;
	GrRowSource source;
	GrGlmOptions options;
	GrGlmFit *fit;
	GrModel		model = {0};
	GrError		err = {0};

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	rows = (GrKeptRows *) PG_GETARG_POINTER(0);
	if (rows->options.isnull)
		PG_RETURN_NULL();
	gr_check_l2(rows->options.l2);
	if (rows->nrows == 0)
		PG_RETURN_NULL();
	gr_kept_source(rows, &source);
	read_done = gr_now();
	options = gr_glm_defaults(rows->nfeatures);
	options.intercept = rows->options.intercept;
	options.l2 = rows->options.l2;
	if (!gr_glm_run(&source, &options, NULL, &fit, &err))
		gr_raise_columns(&err, rows->nfeatures, NULL);
	record_kept("gpu_logreg", &source, started, read_done);
	gr_job_release(source.job);
	gr_glm_model(&model, fit, &options, NULL);
	PG_RETURN_ARRAYTYPE_P(gr_model_coefficients(&model));
}

/*
 * Newton steps from states
 */

/* Raises an ERROR unless the state is of a step aggregate and a step from it is possible. */
static void
check_step(GrState *state)
{
	const double *sums = gr_state_sums(state);

	gr_check_terms(state->nfeatures, state->intercept);
	if (state->internal)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument is not a state of gpu_logreg_step_agg"),
				 errhint("Pass a state that gpu_logreg_step_agg, gpu_glm_step_agg or gpu_logreg_rollup returned.")));
	if (!gr_is_logistic(gr_state_distribution(state)) && !isfinite(sums[GR_SUM_DEVIANCE_HI]))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("the deviance is infinite at this beta"),
				 errdetail("The %s family has no valid mean for the linear predictor of some row with the link %s.",
						   gr_family_name((GrFamily) state->family, state->quasi),
						   gr_link_name((GrLink) state->link)),
				 errhint("Continue from the midpoint of this beta and the previous one.")));
}

/* Computes the step from a state that has rows. */
static void
solve_step(GrState *state, double l2, GrGlmStep *step)
{
	int			nterms = state->nfeatures + (state->intercept ? 1 : 0);
	Size		nsums = gr_pass_nsums(GR_PASS_EXACT, state->nfeatures);
	double	   *sums = palloc_extended(nsums * sizeof(double), MCXT_ALLOC_HUGE);
	double	   *beta = palloc(gr_state_nterms(state) * sizeof(double));
	GrError		err = {0};

	memcpy(sums, gr_state_sums(state), nsums * sizeof(double));
	for (int k = 0; k <= state->nfeatures; k++)
		beta[k] = gr_state_fixed(state)[k] == 1 ? NAN : gr_state_beta(state)[k];
	step->distribution = gr_state_distribution(state);
	step->linear = state->linear;
	step->nfeatures = state->nfeatures;
	step->intercept = state->intercept;
	step->l2 = l2;
	step->coef = palloc(nterms * sizeof(double));
	step->vcov_low = nterms <= GR_LOW_TERMS_MAX ? palloc(gr_triangle(nterms) * sizeof(double)) : NULL;
	step->vcov = palloc_extended((Size) nterms * nterms * sizeof(double), MCXT_ALLOC_HUGE);
	if (!gr_glm_step(step, beta, sums, palloc_extended(gr_glm_step_nbytes(state->nfeatures), MCXT_ALLOC_HUGE), &gr_host,
					 &err))
		gr_raise_columns(&err, state->nfeatures, NULL);
}

/* Sets the dispersion at beta and what depends on it, as glm_fit.c does. A linear pass has no log-likelihood. */
static void
disperse_step(GrModel *model, GrState *state, const GrGlmStep *step)
{
	GrFamily	family = model->distribution.family;

	model->dispersion = 1;
	model->df_inference = INFINITY;
	model->log_lik = model->quasi || step->linear ? NAN :
		gr_log_likelihood(family, step->deviance, (double) step->nrows,
						  gr_state_totals(state).log_constant);
	if (!gr_family_has_dispersion(family, model->quasi))
		return;
	model->dispersion = gr_model_mean_square(step->perfect ? 0 : step->pearson, (double) model->df_residual);
	model->df_inference = (double) model->df_residual;
	gr_model_disperse(model);
	for (Size k = 0; step->perfect && k < (Size) model->nterms * model->nterms; k++)
		model->vcov[k] = NAN;
	if (step->perfect && model->df_residual > 0)
		gr_warn_of_perfect_fit();
}

/*
 * gpu_logreg_solve(step gpu_logreg_step, l2 float8, tol float8), gpu_glm_solve: the Newton step from a state. coef is
 * the next beta; vcov and deviance are those at the present beta. converged: the step was at most tol standard errors
 * long.
 */
Datum
gr_logreg_solve(PG_FUNCTION_ARGS)
{
	double		began = gr_now();
	GrState    *state = gr_state_settled(PG_GETARG_DATUM(0), GR_STEP, NULL);
	double		l2 = PG_GETARG_FLOAT8(1);
	double		tol = PG_GETARG_FLOAT8(2);
	GrGlmStep step = {0};
	GrModel		model = {0};

	gr_check_l2(l2);
	gr_check_tol(tol);
	if (state->nfeatures < 0 || gr_state_sums(state)[GR_SUM_NROWS] == 0)
		PG_RETURN_NULL();
	check_step(state);
	solve_step(state, l2, &step);

	model.distribution = step.distribution;
	model.quasi = state->quasi;
	model.l2 = l2;
	model.nterms = step.nterms;
	model.intercept = state->intercept;
	model.coef = step.coef;
	model.vcov = step.vcov;
	model.vcov_low = step.vcov_low;
	model.nrows = step.nrows;
	model.nskipped = state->nskipped;
	model.rank = step.rank;
	model.df_residual = step.nrows - step.rank;
	model.deviance = step.deviance;
	model.null_deviance = step.null_deviance;
	disperse_step(&model, state, &step);
	model.iterations = 1;
	model.converged = gr_glm_step_is_last(&step, tol);
	model.device = "cpu";
	/* no step aggregate has offsets, but a user may have stored the pass of a fit */
	model.extras.offsets = state->offset ? GR_UNNAMED_OFFSETS : NULL;
	gr_record_state(fcinfo, step.nrows, state->nfeatures, began);
	return gr_model_datum(fcinfo, &model);
}
