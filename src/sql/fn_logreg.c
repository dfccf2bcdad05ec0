/*
 * fn_logreg.c: the SQL functions of logistic regression.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "compute/compute.h"
#include "compute/glm.h"
#include "compute/logreg.h"
#include "rows/ingest.h"
#include "rows/query.h"
#include "rows/source.h"
#include "rows/state.h"
#include "run/args.h"
#include "run/clock.h"
#include "run/device.h"
#include "run/job.h"
#include "run/raise.h"
#include "run/report.h"
#include "sql/arrays.h"
#include "sql/model.h"

/* What gpu_logreg_agg keeps of a group's rows at most; README says so. */
#define KEPT_NBYTES_MAX ((Size) 256 << 20)

/* Chunks of kept rows double in size from the one to the other, bytes. */
#define FIRST_CHUNK_NBYTES 512
#define LAST_CHUNK_NBYTES ((Size) 1 << 20)

PG_FUNCTION_INFO_V1(gr_logreg_arrays);
PG_FUNCTION_INFO_V1(gr_logreg_arrays_bool);
PG_FUNCTION_INFO_V1(gr_logreg_agg_accum);
PG_FUNCTION_INFO_V1(gr_logreg_agg_accum_bool);
PG_FUNCTION_INFO_V1(gr_logreg_agg_final);
PG_FUNCTION_INFO_V1(gr_logreg_fit);
PG_FUNCTION_INFO_V1(gr_logreg_solve);

static GrLogregOptions
default_options(int nfeatures)
{
	GrLogregOptions options = {
		.shape = gr_plain_shape(nfeatures),
		.intercept = true,
		.max_iter = 25,
		.tol = 1e-10,
		.solver = GR_SOLVER_NEWTON,
		.learning_rate = NAN,
		.can_change = true
	};

	return options;
}

static void
check_l2(double l2)
{
	if (!(l2 >= 0 && isfinite(l2)))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("l2 must be a finite number that is not negative, got %g", l2)));
}

static void
check_tol(double tol)
{
	if (!(tol > 0 && tol < 1))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("tol must be between 0 and 1, got %g", tol)));
}

/*
 * The fit
 */

/* Does what the fit wants of the rows. */
static void
answer(GrRowSource *source, GrLogregFit *fit, GrLogregWant want)
{
	if (want == GR_LOGREG_CHANGE)
		gr_source_change(source, fit->basis);
	else if (want == GR_LOGREG_ASCEND)
	{
		fit->ascent.single = source->single;
		gr_job_ascend(source->job, &fit->ascent, fit->beta, &fit->ascended, &fit->ascent_converged);
	}
	else
		gr_source_pass(source, &fit->pass, fit->sums);
}

/* A fit to a sample of the source's rows; NULL if there is none, or it failed, or the sample is separated. */
static GrLogregFit *
fit_sample(GrRowSource *source, const GrIngest *ingest, const GrLogregOptions *options, GrRowSource *sample)
{
	GrLogregOptions few;
	GrLogregFit *fit;
	GrLogregWant want;
	GrError		err = {0};
	double		share;

	if (!gr_logreg_uses_start(options) ||
		!gr_source_sample(source, ingest, options->shape.nfeatures + (options->intercept ? 1 : 0), sample, &share))
		return NULL;
	few = gr_logreg_sample(options, share);
	few.totals = &sample->totals;
	fit = gr_logreg_begin(palloc_extended(gr_logreg_nbytes(&few), MCXT_ALLOC_HUGE), &few);
	while ((want = gr_logreg_next(fit)) != GR_LOGREG_DONE)
	{
		CHECK_FOR_INTERRUPTS();
		answer(sample, fit, want);
		if (!gr_logreg_advance(fit, &gr_host, &err))
		{
			/* an interrupt that was met is no reason to go on without a sample */
			if (err.status == GR_CANCELED)
				gr_raise(&err);
			return NULL;
		}
		if (gr_logreg_is_separated(fit))
			return NULL;
	}
	return fit;
}

/* Where the fit is to start, in options->start, if its first rows can say. */
static void
find_start(GrRowSource *source, const GrIngest *ingest, GrLogregOptions *options)
{
	double	   *start = palloc(gr_nterms(options->shape.nfeatures) * sizeof(double));
	MemoryContext sample_context = AllocSetContextCreate(CurrentMemoryContext, "gpureg sample", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(sample_context);
	GrRowSource sample = {0};
	GrLogregFit *fit = fit_sample(source, ingest, options, &sample);

	if (fit != NULL && gr_logreg_take_start(fit, start))
	{
		options->start = start;
		source->nsampled = sample.job->nrows;
	}
	MemoryContextSwitchTo(old);
	/* a job of the sample's own goes with it */
	MemoryContextDelete(sample_context);
}

/* The fit without term k, as gr_logreg_tell_sign() wants it; NULL if it failed. */
static GrLogregFit *
fit_without(GrRowSource *source, const GrLogregOptions *options, int k)
{
	GrLogregOptions without = gr_logreg_without(options, k);
	GrLogregFit *fit = gr_logreg_begin(palloc_extended(gr_logreg_nbytes(&without), MCXT_ALLOC_HUGE), &without);
	GrLogregWant want;
	GrError		err = {0};

	while ((want = gr_logreg_next(fit)) != GR_LOGREG_DONE)
	{
		CHECK_FOR_INTERRUPTS();
		answer(source, fit, want);
		if (gr_logreg_advance(fit, &gr_host, &err))
			continue;
		if (err.status == GR_CANCELED)
			gr_raise(&err);
		return NULL;
	}
	return fit;
}

/* Which infinity separated terms run to, where there is a choice of directions. */
static void
tell_signs(GrRowSource *source, const GrLogregOptions *options, GrLogregFit *fit)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "gpureg signs", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);

	for (int k = 0; k < fit->nterms; k++)
	{
		bool		asks = gr_logreg_asks_sign(fit, k);

		gr_logreg_tell_sign(fit, k, asks ? fit_without(source, options, k) : NULL);
		MemoryContextReset(context);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

/*
 * Fits over the source. names: as in gr_raise_columns(). If the response has one class, false with *err telling so; all
 * other failures are raised.
 */
static bool
run_fit(GrRowSource *source, const GrLogregOptions *given, const char *const *names, GrLogregFit **result, GrError *err)
{
	GrLogregOptions options = *given;
	GrLogregFit *fit;
	GrLogregWant want;

	gr_check_terms(options.shape.nfeatures, options.intercept);
	if (source->kind == GR_SOURCE_JOB)
		options.linear_solver = gr_job_solver(source->job);
	fit = gr_logreg_begin(palloc_extended(gr_logreg_nbytes(&options), MCXT_ALLOC_HUGE), &options);
	while ((want = gr_logreg_next(fit)) != GR_LOGREG_DONE)
	{
		CHECK_FOR_INTERRUPTS();
		answer(source, fit, want);
		if (gr_logreg_advance(fit, &gr_host, err))
			continue;
		if (err->status == GR_ONE_CLASS)
			return false;
		gr_note_device_error(err);
		gr_raise_columns(err, options.shape.nfeatures, names);
	}
	if (fit->nseparated > 0 && fit->ambiguous)
		tell_signs(source, &options, fit);
	*result = fit;
	return true;
}

/* What could make the fit converge; more iterations, where they could. */
static int
hint_at_convergence(const GrLogregFit *fit, const GrLogregOptions *options)
{
	double		weights = options->totals == NULL || !options->shape.weight ? fit->nrows : options->totals->weights;

	if (fit->imprecise)
		return errhint("Columns are nearly collinear: leave some out, take them about their means, "
					   "or give l2 a small positive value.");
	if (!isnan(options->learning_rate))
		/* more than where it began, at 0 */
		return fit->deviance > 2 * log(2.0) * weights ? errhint("Lower learning_rate.") :
			errhint("Raise max_iter or learning_rate.");
	if (options->solver == GR_SOLVER_NEWTON)
		return errhint("Raise max_iter, or give l2 a small positive value.");
	return errhint("Raise max_iter.");
}

/* The names of the separated terms, or of those among them that have no sign. */
static char *
separated_terms(const GrModel *model, const GrLogregFit *fit, bool all)
{
	StringInfoData terms;

	initStringInfo(&terms);
	for (int k = 0; k < fit->nterms; k++)
		if (all ? fit->separated[k] != 0 : fit->separated[k] == GR_EITHER_SIGN)
			appendStringInfo(&terms, "%s%s", terms.len > 0 ? ", " : "", gr_model_term(model, k));
	return terms.data;
}

/*
 * A term without a sign is one whose variance the model has as infinite; where there are no covariances, gpu_tidy()
 * believes no sign.
 */
static void
warn_of_separation(GrModel *model, const GrLogregFit *fit)
{
	char	   *without_sign = separated_terms(model, fit, false);

	for (int k = 0; k < fit->nterms && fit->vcov != NULL; k++)
		if (fit->separated[k] == GR_EITHER_SIGN)
			fit->vcov[(Size) k * fit->nterms + k] = INFINITY;
	ereport(WARNING,
			(errmsg("the response is separated: some estimates are infinite"),
			 without_sign[0] == '\0' ? errdetail("Terms without a finite estimate: %s.",
												 separated_terms(model, fit, true)) :
			 errdetail("Terms without a finite estimate: %s. Among them, without a sign that the data determine: %s.",
					   separated_terms(model, fit, true), without_sign),
			 errhint("Leave such terms out, or give l2 a small positive value.")));
}

/* The fit as a model, and the warnings that go with it. */
static void
make_model(GrModel *model, const GrLogregFit *fit, const GrLogregOptions *options, const char *const *names)
{
	model->distribution = (GrDistribution) {GR_BINOMIAL, GR_LOGIT};
	model->dispersion = 1;
	model->df_inference = INFINITY;
	model->l2 = options->l2;
	model->nterms = fit->nterms;
	model->intercept = options->intercept;
	gr_model_name_terms(model, names);
	model->coef = fit->coef;
	model->vcov = fit->vcov;
	model->separated = fit->separated;
	model->nrows = fit->nrows;
	model->rank = fit->rank;
	model->df_residual = fit->df_residual;
	model->deviance = fit->deviance;
	model->null_deviance = fit->null_deviance;
	model->log_lik = gr_log_likelihood(GR_BINOMIAL, fit->deviance, fit->nrows,
									   options->totals == NULL ? 0 : options->totals->log_constant);
	model->iterations = fit->iterations;
	model->converged = fit->converged;

	if (fit->nseparated > 0)
		warn_of_separation(model, fit);
	else if (!fit->converged)
		ereport(WARNING,
				(errmsg_plural("logistic regression did not converge in %d iteration",
							   "logistic regression did not converge in %d iterations", fit->iterations,
							   fit->iterations),
				 fit->imprecise ? errdetail("Rounding error keeps it from coming closer.") : 0,
				 hint_at_convergence(fit, options)));
}

/*
 * Arrays
 */

/* The coefficients; NULL where there is no complete row. */
static Datum
fit_arrays(FunctionCallInfo fcinfo, const GrFloatArray *y)
{
	double		started = gr_now();
	double		read_done;
	GrFloatArray x;
	GrLogregOptions options;
	GrJobOptions job_options = {.kind = GR_SINK_KEEP};
	GrRowSource source = {.kind = GR_SOURCE_JOB};
	GrLogregFit *fit;
	GrModel		model = {0};
	GrError		err = {0};
	const double *x_at;
	const double *y_at;

	gr_open_float_array(PG_GETARG_ARRAYTYPE_P(0), "x", &x);
	gr_check_shapes(&x, y);
	check_l2(PG_GETARG_FLOAT8(3));
	if (x.nrows == 0)
		PG_RETURN_NULL();
	options = default_options(x.ncols);
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
	if (!run_fit(&source, &options, NULL, &fit, &err))
		gr_raise_columns(&err, x.ncols, NULL);
	gr_record_run("gpu_logreg", source.job, started, read_done, gr_now());
	gr_job_release(source.job);
	make_model(&model, fit, &options, NULL);
	PG_RETURN_ARRAYTYPE_P(gr_model_coefficients(&model));
}

/* gpu_logreg(x float8[], y float8[], intercept boolean, l2 float8) */
Datum
gr_logreg_arrays(PG_FUNCTION_ARGS)
{
	GrFloatArray y;

	gr_open_float_array(PG_GETARG_ARRAYTYPE_P(1), "y", &y);
	return fit_arrays(fcinfo, &y);
}

/* gpu_logreg(x float8[], y boolean[], intercept boolean, l2 float8) */
Datum
gr_logreg_arrays_bool(PG_FUNCTION_ARGS)
{
	ArrayType  *array = PG_GETARG_ARRAYTYPE_P(1);
	GrFloatArray y = {0};
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
	y.values = values;
	y.nulls = ARR_NULLBITMAP(array);
	y.nitems = n;
	y.ndim = ARR_NDIM(array);
	y.nrows = y.ndim == 0 ? 0 : ARR_DIMS(array)[0];
	y.ncols = 1;
	return fit_arrays(fcinfo, &y);
}

/*
 * The aggregate, which keeps its rows
 */

typedef struct KeptRows
{
	int			nfeatures;		/* -1 until a complete row was seen */
	int64		nrows;
	int64		nskipped;
	Size		nbytes;			/* of the chunks */
	GrRowChunk *first;
	GrRowChunk *last;
	MemoryContext context;
} KeptRows;

static KeptRows *
agg_state(FunctionCallInfo fcinfo)
{
	MemoryContext context;
	KeptRows   *state;

	if (!AggCheckCallContext(fcinfo, &context))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("function gpu_logreg_agg_accum called in non-aggregate context")));
	if (!PG_ARGISNULL(0))
		return (KeptRows *) PG_GETARG_POINTER(0);
	state = MemoryContextAllocZero(context, sizeof(KeptRows));
	state->nfeatures = -1;
	state->context = context;
	return state;
}

/* Where the next row goes. */
static double *
agg_row(KeptRows *state)
{
	Size		row_nbytes = gr_row_nbytes(gr_plain_shape(state->nfeatures));
	GrRowChunk *chunk = state->last;
	Size		nbytes;

	if (chunk != NULL && chunk->nrows < chunk->capacity)
		return chunk->rows + chunk->nrows * gr_row_ncols(gr_plain_shape(state->nfeatures));
	nbytes = Max(row_nbytes, Min(LAST_CHUNK_NBYTES, Max(FIRST_CHUNK_NBYTES, state->nbytes)));
	nbytes = Min(nbytes, KEPT_NBYTES_MAX - state->nbytes);
	if (nbytes < row_nbytes)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("gpu_logreg_agg keeps at most %zu MB of rows", KEPT_NBYTES_MAX >> 20),
				 errdetail("That is " INT64_FORMAT " rows here.", state->nrows),
				 errhint("Use gpu_logreg_fit, which reads its query in bounded memory.")));
	chunk = MemoryContextAlloc(state->context, offsetof(GrRowChunk, rows) + nbytes);
	chunk->next = NULL;
	chunk->nrows = 0;
	chunk->capacity = nbytes / row_nbytes;
	state->nbytes += chunk->capacity * row_nbytes;
	if (state->last == NULL)
		state->first = chunk;
	else
		state->last->next = chunk;
	state->last = chunk;
	return chunk->rows;
}

/* y and x of one row; y_null stands for a NULL of either kind of y */
static Datum
agg_accumulate(FunctionCallInfo fcinfo, double y, bool y_null)
{
	KeptRows   *state = agg_state(fcinfo);
	ArrayType  *x = PG_ARGISNULL(2) ? NULL : PG_GETARG_ARRAYTYPE_P(2);
	double	   *row;
	int			p;

	if (x != NULL)
		gr_check_vector(x, "x");
	if (x == NULL || y_null || array_contains_nulls(x))
	{
		state->nskipped++;
		PG_RETURN_POINTER(state);
	}
	p = ArrayGetNItems(ARR_NDIM(x), ARR_DIMS(x));
	if (state->nfeatures < 0)
	{
		gr_check_nfeatures(p);
		state->nfeatures = p;
	}
	gr_check_same_width(state->nfeatures, p);
	row = agg_row(state);
	memcpy(row, ARR_DATA_PTR(x), p * sizeof(double));
	row[p] = y;
	gr_check_rows(row, 1, gr_plain_shape(p), (GrRowRules) {GR_BINOMIAL}, NULL);
	state->last->nrows++;
	state->nrows++;
	PG_RETURN_POINTER(state);
}

/* gr_logreg_agg_accum(state internal, y float8, VARIADIC x float8[]) */
Datum
gr_logreg_agg_accum(PG_FUNCTION_ARGS)
{
	bool		null = PG_ARGISNULL(1);

	return agg_accumulate(fcinfo, null ? 0 : PG_GETARG_FLOAT8(1), null);
}

/* gr_logreg_agg_accum_bool(state internal, y boolean, VARIADIC x float8[]) */
Datum
gr_logreg_agg_accum_bool(PG_FUNCTION_ARGS)
{
	bool		null = PG_ARGISNULL(1);

	return agg_accumulate(fcinfo, null ? 0 : PG_GETARG_BOOL(1) ? 1 : 0, null);
}

/* Where the kept rows are to be fitted: here, or, copied, on a device */
static void
agg_source(const KeptRows *state, GrRowSource *source)
{
	GrRowShape	shape = gr_plain_shape(state->nfeatures);
	int			ncols = gr_row_ncols(shape);
	GrJobOptions options = {
		.kind = GR_SINK_KEEP,.shape = shape,.rules = {GR_BINOMIAL},.nrows_estimate = state->nrows,
		.may_overflow = true,.device_only = true
	};

	source->shape = options.shape;
	source->rules = options.rules;
	source->chunks = state->first;
	source->job = gr_job_begin(&options);
	for (const GrRowChunk *chunk = state->first; chunk != NULL && !source->job->overflowed; chunk = chunk->next)
	{
		for (int64 row = 0; row < chunk->nrows && !source->job->overflowed; row++)
		{
			memcpy(gr_job_row(source->job), chunk->rows + row * ncols, ncols * sizeof(double));
			gr_job_take_row(source->job);
			gr_poll_loop(row);
		}
	}
	source->kind = gr_job_keep(source->job) ? GR_SOURCE_JOB : GR_SOURCE_CHUNKS;
}

/* The final function of gpu_logreg_agg: NULL if there is no complete row, or, with a WARNING, one class only */
Datum
gr_logreg_agg_final(PG_FUNCTION_ARGS)
{
	double		started = gr_now();
	double		read_done;
	KeptRows   *state;
	GrRowSource source = {0};
	GrLogregOptions options;
	GrLogregFit *fit;
	GrModel		model = {0};
	GrError		err = {0};

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	state = (KeptRows *) PG_GETARG_POINTER(0);
	if (state->nrows == 0)
		PG_RETURN_NULL();
	agg_source(state, &source);
	read_done = gr_now();
	options = default_options(state->nfeatures);
	if (!run_fit(&source, &options, NULL, &fit, &err))
	{
		gr_job_release(source.job);
		ereport(WARNING,
				(errmsg("the response has one class: it is %g in every row", err.value),
				 errdetail("The model is NULL.")));
		PG_RETURN_NULL();
	}
	source.job->nrows = state->nrows;
	gr_record_run("gpu_logreg_agg", source.job, started, read_done, gr_now());
	make_model(&model, fit, &options, NULL);
	model.nskipped = state->nskipped;
	model.device = pstrdup(source.job->place.device);
	gr_job_release(source.job);
	return gr_model_datum(fcinfo, &model);
}

/*
 * The query form
 */

static GrLogregSolver
solver_named(const char *name)
{
	if (strcmp(name, "newton") == 0)
		return GR_SOLVER_NEWTON;
	if (strcmp(name, "gd") == 0)
		return GR_SOLVER_GD;
	if (strcmp(name, "lbfgs") == 0)
		return GR_SOLVER_LBFGS;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unknown solver \"%s\"", name),
			 errhint("Solvers are newton, gd and lbfgs.")));
}

/* Arguments 1 .. 6 of gpu_logreg_fit */
static GrLogregOptions
fit_options(FunctionCallInfo fcinfo)
{
	GrLogregOptions options = default_options(0);

	options.intercept = PG_GETARG_BOOL(1);
	options.l2 = PG_GETARG_FLOAT8(2);
	options.max_iter = PG_GETARG_INT32(3);
	options.tol = PG_GETARG_FLOAT8(4);
	options.solver = solver_named(text_to_cstring(PG_GETARG_TEXT_PP(5)));
	check_l2(options.l2);
	check_tol(options.tol);
	if (options.max_iter < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("max_iter must be at least 1, got %d", options.max_iter)));
	if (PG_ARGISNULL(6))
		return options;
	options.learning_rate = PG_GETARG_FLOAT8(6);
	if (!(options.learning_rate > 0 && isfinite(options.learning_rate)))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("learning_rate must be a finite positive number, got %g", options.learning_rate)));
	if (options.solver != GR_SOLVER_GD)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("learning_rate is for solver gd alone")));
	return options;
}

/* Notes a run over a query that is read again and again. */
static void
record_query_run(const GrRowSource *source)
{
	GrRun	   *run = &gr_last_run;
	char		sample[80] = "";

	if (source->nsampled > 0)
		snprintf(sample, sizeof(sample), "after a fit to its first " INT64_FORMAT " rows ", source->nsampled);
	run->nrows = source->nrows;
	run->nworkers = source->nworkers;
	/* a pass reads and computes at once */
	run->read_s = source->pass_s;
	run->solve_s = run->total_s - source->pass_s;
	snprintf(run->reason + strlen(run->reason), sizeof(run->reason) - strlen(run->reason),
			 "; %s%sthe query was run %d times",
			 source->ingest != NULL ? "" : "more rows than gpureg.ring_size holds: ", sample, source->npasses);
}

/*
 * gpu_logreg_fit(query text, intercept boolean, l2 float8, max_iter int, tol float8, solver text, learning_rate
 * float8, weights text, frequencies text, offsets text, formula text): NULL if one of the first six is NULL
 */
Datum
gr_logreg_fit(PG_FUNCTION_ARGS)
{
	double		started = gr_now();
	double		read_done;
	GrLogregOptions options;
	GrRowSource source;
	GrIngest	ingest;
	GrLogregFit *fit;
	GrModel		model = {0};
	GrError		err = {0};
	ErrorContextCallback context;
	GrRoles		roles;
	char	   *query;

	for (int k = 0; k < 6; k++)
		if (PG_ARGISNULL(k))
			PG_RETURN_NULL();
	options = fit_options(fcinfo);
	roles = gr_role_arguments(fcinfo, 7, 8, 9);
	gr_formula_argument(fcinfo, 10, options.intercept, &roles);
	query = text_to_cstring(PG_GETARG_TEXT_PP(0));

	gr_enter_query(&context, query);
	gr_ingest_prepare(query, fcinfo->flinfo->fn_oid, GR_BINOMIAL, &roles, &ingest);
	gr_source_read(&source, &ingest);
	if (ingest.nrows == 0 && source.kind == GR_SOURCE_JOB)
		gr_raise_no_rows(ingest.nskipped);
	read_done = gr_now();
	options.shape = source.shape;
	options.intercept = ingest.intercept;
	options.weighting = source.rules.weighting;
	options.totals = &source.totals;
	if (source.kind == GR_SOURCE_JOB)
		options.can_ascend = gr_job_can_ascend(source.job, source.single);
	find_start(&source, &ingest, &options);
	if (!run_fit(&source, &options, ingest.names, &fit, &err))
		gr_raise_columns(&err, ingest.nfeatures, ingest.names);
	if (roles.weighting == GR_FREQUENCIES)
		(void) gr_count(source.totals.weights);
	gr_record_run("gpu_logreg_fit", source.job, started, read_done, gr_now());
	if (source.job->spool.file != NULL)
		strlcat(gr_last_run.reason, "; the rows went to a temporary file", sizeof(gr_last_run.reason));
	if (source.kind == GR_SOURCE_QUERY)
		record_query_run(&source);
	make_model(&model, fit, &options, ingest.names);
	gr_leave_query(&context);
	model.nskipped = source.nskipped;
	model.design = ingest.design;
	model.device = pstrdup(source.job->place.device);
	gr_job_release(source.job);
	return gr_model_datum(fcinfo, &model);
}

/*
 * gpu_logreg_solve(step gpu_logreg_step, l2 float8, tol float8): the Newton step from a state. coef is the next beta;
 * vcov and deviance are those at the present one, and converged says whether the step between was at most tol standard
 * errors long.
 */
Datum
gr_logreg_solve(PG_FUNCTION_ARGS)
{
	GrState    *state = gr_state_settled(PG_GETARG_DATUM(0), GR_BINOMIAL, NULL);
	double		l2 = PG_GETARG_FLOAT8(1);
	double		tol = PG_GETARG_FLOAT8(2);
	int			nterms = state->nfeatures + (state->intercept ? 1 : 0);
	GrLogregStep step = {0};
	GrModel		model = {0};
	GrError		err = {0};
	Size		nsums;
	double	   *sums;
	double	   *beta;

	check_l2(l2);
	check_tol(tol);
	if (state->nfeatures < 0 || gr_state_sums(state)[GR_SUM_NROWS] == 0)
		PG_RETURN_NULL();
	gr_check_terms(state->nfeatures, state->intercept);
	if (state->internal)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("not a state of gpu_logreg_step_agg")));
	nsums = gr_pass_nsums(GR_PASS_EXACT, state->nfeatures);
	sums = palloc_extended(nsums * sizeof(double), MCXT_ALLOC_HUGE);
	memcpy(sums, gr_state_sums(state), nsums * sizeof(double));
	beta = palloc(gr_state_nterms(state) * sizeof(double));
	for (int k = 0; k <= state->nfeatures; k++)
		beta[k] = gr_state_fixed(state)[k] == 1 ? NAN : gr_state_beta(state)[k];
	step.coef = palloc(nterms * sizeof(double));
	step.vcov = palloc_extended((Size) nterms * nterms * sizeof(double), MCXT_ALLOC_HUGE);
	if (!gr_logreg_step(beta, sums, state->nfeatures, state->intercept, l2,
						palloc_extended(gr_logreg_step_nbytes(state->nfeatures), MCXT_ALLOC_HUGE), &step, &gr_host,
						&err))
		gr_raise_columns(&err, state->nfeatures, NULL);

	model.distribution = (GrDistribution) {GR_BINOMIAL, GR_LOGIT};
	model.dispersion = 1;
	model.df_inference = INFINITY;
	model.l2 = l2;
	model.nterms = nterms;
	model.intercept = state->intercept;
	model.coef = step.coef;
	model.vcov = step.vcov;
	model.nrows = step.nrows;
	model.nskipped = state->nskipped;
	model.rank = step.rank;
	model.df_residual = step.nrows - step.rank;
	model.deviance = step.deviance;
	model.null_deviance = step.null_deviance;
	model.log_lik = gr_log_likelihood(GR_BINOMIAL, step.deviance, (double) step.nrows, 0);
	model.iterations = 1;
	model.converged = gr_logreg_step_is_last(&step, tol);
	model.device = "cpu";
	return gr_model_datum(fcinfo, &model);
}
