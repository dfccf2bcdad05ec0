/*
 * glm_fit.c: fits generalised linear models over any source of rows; see glm_fit.h.
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "compute/glm/glm_fit.h"
#include "compute/glm/glm_row.h"
#include "compute/glm/negbin_row.h"
#include "compute/glm/response_unit.h"
#include "rows/query/query.h"
#include "rows/sums/ingest.h"
#include "rows/sums/source.h"
#include "run/args.h"
#include "run/clock.h"
#include "run/device.h"
#include "run/job.h"
#include "run/progress.h"
#include "run/raise.h"
#include "run/report.h"
#include "run/request.h"
#include "sql/glm/glm_fit.h"
#include "sql/model/vcov_warnings.h"

/*
 * Runs the fit: makes the passes it requests until it is done. is_start: the fit is to a sample for starting values,
 * and may stop once it is separated. shows: passes with a deviance are shown by gpu_progress(). Returns false if the
 * fit failed.
 */
static bool
make_fit(GrRowSource *source, GrGlmFit *fit, bool is_start, bool shows, GrError *err)
{
	GrGlmWant	want;

	while ((want = gr_glm_next(fit)) != GR_GLM_DONE)
	{
		CHECK_FOR_INTERRUPTS();
		switch (want)
		{
			case GR_GLM_CHANGE:
				gr_source_change(source, fit->basis);
				break;
			case GR_GLM_ASCEND:
				fit->ascent.single = source->single;
				gr_job_ascend(source->job, &fit->ascent, fit->beta, &fit->ascended, &fit->ascent_converged);
				break;
			case GR_GLM_CLUSTERS:
				gr_source_clusters(source, fit);
				break;
			default:
				gr_source_sums(source, gr_pass_request(&fit->pass), fit->sums);
				if (shows && fit->pass.measure == GR_MEASURE_STEP && fit->pass.kind < GR_PASS_FACE)
					gr_progress_iteration(fit->iterations, gr_unit_deviance(fit, fit->sums[GR_SUM_DEVIANCE_HI]));
		}
		if (!gr_glm_advance(fit, &gr_host, err))
			return false;
		if (is_start && gr_glm_is_separated(fit))
			break;
	}
	return true;
}

/*
 * Fits a sample of the source's rows. Returns NULL if there is no sample, the fit failed, or the sample is separated.
 */
static GrGlmFit *
fit_sample(GrRowSource *source, const GrIngest *ingest, const GrGlmOptions *options, GrRowSource *sample)
{
	GrGlmOptions few;
	GrGlmFit   *fit;
	GrError		err = {0};
	double		share;

	if (!gr_glm_uses_start(options) ||
		!gr_source_sample(source, ingest, options->shape.nfeatures + (options->intercept ? 1 : 0), sample, &share))
		return NULL;
	few = gr_glm_sample(options, share);
	few.totals = &sample->totals;
	fit = gr_glm_begin(palloc_extended(gr_glm_nbytes(&few), MCXT_ALLOC_HUGE), &few);
	if (make_fit(sample, fit, true, false, &err))
		return gr_glm_is_separated(fit) ? NULL : fit;
	/* an interrupt must not lead to a fit without a sample */
	if (err.status == GR_CANCELED)
		gr_raise(&err);
	return NULL;
}

void
gr_glm_find_start(GrRowSource *source, const GrIngest *ingest, GrGlmOptions *options)
{
	double	   *start = palloc(gr_nterms(options->shape.nfeatures) * sizeof(double));
	double	   *shift = palloc(gr_nterms(options->shape.nfeatures) * sizeof(double));
	MemoryContext sample_context = AllocSetContextCreate(CurrentMemoryContext, "gpureg sample", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(sample_context);
	GrRowSource sample = {0};
	GrGlmFit *fit = fit_sample(source, ingest, options, &sample);

	if (fit != NULL && gr_glm_take_shift(fit, start, shift))
	{
		options->start_shift = shift;
		options->start_theta = gr_glm_start_theta(fit);
	}
	if (options->start_shift != NULL || (fit != NULL && gr_glm_take_start(fit, start)))
	{
		options->start = start;
		source->nsampled = sample.job->nrows;
	}
	MemoryContextSwitchTo(old);
	/* frees the sample's own job, too */
	MemoryContextDelete(sample_context);
}

/* Fits without term k, for gr_glm_tell_sign(). Returns NULL if the fit failed. */
static GrGlmFit *
fit_without(GrRowSource *source, const GrGlmOptions *options, int k)
{
	GrGlmOptions without = gr_glm_without(options, k);
	GrGlmFit *fit = gr_glm_begin(palloc_extended(gr_glm_nbytes(&without), MCXT_ALLOC_HUGE), &without);
	GrError		err = {0};

	if (make_fit(source, fit, false, false, &err))
		return fit;
	if (err.status == GR_CANCELED)
		gr_raise(&err);
	return NULL;
}

/* Determines to which infinity separated terms diverge, if they have a choice of directions. */
static void
tell_signs(GrRowSource *source, const GrGlmOptions *options, GrGlmFit *fit)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "gpureg signs", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);

	for (int k = 0; k < fit->nterms; k++)
	{
		bool		asks = gr_glm_asks_sign(fit, k);

		gr_glm_tell_sign(fit, k, asks ? fit_without(source, options, k) : NULL);
		MemoryContextReset(context);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

/* Raises an ERROR if robust covariances are requested from a solver that gives none. */
static void
check_vcov(const GrGlmOptions *options)
{
	int			nterms = gr_nterms(options->shape.nfeatures);

	if (options->vcov == GR_VCOV_IID || options->solver == GR_SOLVER_NEWTON || nterms <= GR_GLM_DENSE_TERMS)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("vcov %s of %d terms needs solver newton", gr_vcov_name(options->vcov), nterms),
			 errdetail("With more than %d terms, the other solvers compute no covariances.", GR_GLM_DENSE_TERMS),
			 errhint("Leave solver out, or leave vcov out.")));
}

bool
gr_glm_run(GrRowSource *source, const GrGlmOptions *given, const char *const *names, GrGlmFit **result,
		   GrError *err)
{
	GrGlmOptions options = *given;
	GrGlmFit   *fit;

	gr_check_terms(options.shape.nfeatures, options.intercept);
	check_vcov(&options);
	if (source->kind == &gr_source_held && source->job != NULL)
		options.linear_solver = gr_job_solver(source->job);
	fit = gr_glm_begin(palloc_extended(gr_glm_nbytes(&options), MCXT_ALLOC_HUGE), &options);
	if (!make_fit(source, fit, false, true, err))
	{
		if (err->status == GR_ONE_CLASS)
			return false;
		gr_note_device_error(err);
		gr_raise_row(err, options.shape, names);
	}
	/* later fits of the same rows use the estimated theta */
	options.distribution.theta = fit->theta;
	options.estimate_theta = false;
	if (fit->nseparated > 0 && fit->ambiguous && !fit->unmovable)
		tell_signs(source, &options, fit);
	*result = fit;
	return true;
}

/* Returns a hint on how to make the fit converge. Suggests more iterations only if they could help. */
static int
hint_at_convergence(const GrGlmFit *fit, const GrGlmOptions *options)
{
	double		weights = options->totals == NULL || !options->shape.weight ? fit->nrows : options->totals->weights;

	if (fit->collinear)
		return errhint("Columns are nearly collinear: leave some out, subtract their means, or set l2 to a small "
					   "positive value.");
	/* with other links and families, a shifted response has another model */
	if (fit->imprecise)
		return gr_is_linear(options->distribution) ?
			errhint("Subtract a constant near its mean from the response.") : 0;
	if (fit->unsolved)
		return errhint("Rescale the columns, or leave out terms whose estimates grow without bound.");
	if (fit->stalled)
		return errhint("Set solver => 'newton'.");
	if (!isnan(options->learning_rate))
		/* more than the deviance at the start, where coefficients are 0 */
		return fit->deviance > 2 * log(2.0) * weights ? errhint("Lower learning_rate.") :
			errhint("Raise max_iter or learning_rate.");
	if (options->solver == GR_SOLVER_NEWTON)
		return errhint("Raise max_iter, or set l2 to a small positive value.");
	return errhint("Raise max_iter.");
}

/* Returns the names of the separated terms: all, or those without a sign. */
static char *
separated_terms(const GrModel *model, const GrGlmFit *fit, bool all)
{
	StringInfoData terms;

	initStringInfo(&terms);
	for (int k = 0; k < fit->nterms; k++)
		if (all ? fit->separated[k] != 0 : fit->separated[k] == GR_EITHER_SIGN)
			appendStringInfo(&terms, "%s%s", terms.len > 0 ? ", " : "", gr_model_term(model, k));
	return terms.data;
}

/*
 * Warns that terms are separated. Marks terms without a sign by an infinite variance; if there are no covariances,
 * gpu_tidy() shows no sign.
 */
static void
warn_of_separation(GrModel *model, const GrGlmFit *fit)
{
	char	   *without_sign = separated_terms(model, fit, false);

	for (int k = 0; k < fit->nterms && fit->vcov != NULL; k++)
		if (fit->separated[k] == GR_EITHER_SIGN)
			fit->vcov[(Size) k * fit->nterms + k] = INFINITY;
	ereport(WARNING,
			(gr_family(model->distribution.family)->is_binary ?
			 errmsg("the response is separated: some estimates are infinite") :
			 errmsg("the response is 0 in all rows that determine some terms: their estimates are infinite"),
			 without_sign[0] == '\0' ? errdetail("Terms without a finite estimate: %s.",
												 separated_terms(model, fit, true)) :
			 errdetail("Terms without a finite estimate: %s. The data do not determine the sign of: %s.",
					   separated_terms(model, fit, true), without_sign),
			 gr_is_logistic(model->distribution) && !model->quasi ?
			 errhint("Leave these terms out, fit with firth => true, or set l2 to a small positive value.") :
			 errhint("Leave these terms out, or set l2 to a small positive value.")));
}

/* Returns the name of the fit for messages. */
static const char *
fit_name(const GrGlmOptions *options)
{
	return gr_is_logistic(options->distribution) ? "logistic regression" : "the fit";
}

/*
 * Sets what belongs to a sandwich estimate. Linear regressions are tested by t with the residual degrees of freedom, or
 * the number of clusters less one; others by the normal distribution.
 */
static void
describe_sandwich(GrModel *model, const GrGlmFit *fit, const GrGlmOptions *options)
{
	bool		linear = gr_is_linear(options->distribution);

	model->vcov_type = gr_vcov_name(options->vcov);
	if (!linear)
		model->df_inference = INFINITY;
	else if (gr_vcov_is_clustered(options->vcov))
		model->df_inference = fit->nclusters > 0 ? (double) fit->nclusters - 1 : NAN;
	if (fit->nwithout_score > 0)
		ereport(WARNING,
				(errmsg("%s covariances are not available: some rows have a leverage of 1", model->vcov_type),
				 errdetail_plural(INT64_FORMAT " row is fitted exactly, whatever its response is.",
								  INT64_FORMAT " rows are fitted exactly, whatever their responses are.",
								  fit->nwithout_score, fit->nwithout_score),
				 errhint("Use HC0 or HC1.")));
	if (fit->nunknown > 0)
		gr_warn_of_variances(model, fit->variances, fit->perfect,
							 !gr_vcov_is_clustered(options->vcov) ? GR_VCOV_OF_ROWS :
							 options->ncluster_columns > 1 ? GR_VCOV_OF_TWO_WAYS : GR_VCOV_OF_CLUSTERS);
}

/* Takes the degrees of freedom of each term that has a variance, if the fit has computed them. */
static void
take_df(GrModel *model, GrGlmFit *fit)
{
	if (fit->df == NULL || fit->nclusters == 0)
		return;
	for (int k = 0; k < fit->nterms; k++)
		if (isnan(fit->vcov[(Size) k * fit->nterms + k]))
			fit->df[k] = NAN;
	model->extras.df = fit->df;
	model->extras.ndf = fit->nterms;
}

/*
 * Sets the covariances to NaN: they have the dispersion as a factor, which a fit without residuals does not determine.
 */
static void
forget_errors(GrGlmFit *fit)
{
	for (Size k = 0; fit->vcov != NULL && k < (Size) fit->nterms * fit->nterms; k++)
		fit->vcov[k] = NAN;
	if (fit->vcov != NULL && fit->df_residual > 0)
		gr_warn_of_perfect_fit();
}

/*
 * Multiplies the fit's unscaled covariances by a power of two and, unless they are robust, by the dispersion. Either
 * factor alone may overflow, so the dispersion's own power of two is joined with the fit's.
 */
static void
disperse(GrModel *model, const GrGlmFit *fit)
{
	double		dispersion = model->dispersion;
	bool		iid = model->vcov_type == NULL;
	int			exponent = 0;
	int64		n = fit->nterms;

	if (fit->vcov_exponent != 0 && iid)
		model->dispersion = frexp(dispersion, &exponent);
	if (iid)
		gr_model_disperse(model);
	model->dispersion = dispersion;
	exponent += fit->vcov_exponent;
	if (fit->vcov_exponent == 0 || fit->vcov == NULL)
		return;
	for (int64 i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		for (int64 j = 0; j < n; j++)
			fit->vcov[i * n + j] = ldexp(fit->vcov[i * n + j], exponent);
		for (int64 j = 0; j <= i && model->vcov_low != NULL; j++)
			model->vcov_low[gr_packed(i, j)] = ldexp(model->vcov_low[gr_packed(i, j)], exponent);
	}
}

/*
 * Sets the dispersion, from Pearson's residuals as R's summary of a glm does, multiplies the covariances by it, and
 * sets the log-likelihood. A quasi family has no likelihood.
 */
static void
estimate_dispersion(GrModel *model, GrGlmFit *fit, const GrGlmOptions *options)
{
	GrFamily	family = options->distribution.family;
	bool		by_weight = options->totals != NULL && gr_family(family)->nobs_by_weight;
	double		nobs = by_weight ? options->totals->weights : (double) fit->nrows;

	model->dispersion = 1;
	model->df_inference = INFINITY;
	model->log_lik = model->quasi ? NAN : options->estimate_theta ? fit->log_likelihood :
		gr_log_likelihood(family, fit->deviance, nobs, options->totals == NULL ? 0 : options->totals->log_constant);
	if (gr_family_has_dispersion(family, model->quasi))
	{
		/* a perfect fit's residuals are rounding errors */
		model->dispersion = gr_model_mean_square(fit->perfect ? 0 : fit->pearson, (double) fit->df_residual);
		model->df_inference = (double) fit->df_residual;
	}
	if (fit->have_bread)
		model->extras.bread = gr_bread_text(fit->bread, fit->nterms);
	if (options->vcov != GR_VCOV_IID)
	{
		describe_sandwich(model, fit, options);
		take_df(model, fit);
	}
	disperse(model, fit);
	if (options->vcov == GR_VCOV_IID && fit->perfect && gr_family_has_dispersion(family, model->quasi))
		forget_errors(fit);
}

/* Raises an ERROR if a variance of a converged fit is out of float8's range. */
static void
check_variances(const GrModel *model, const GrGlmFit *fit, const char *const *names)
{
	/* with a penalty, variances may be 0 */
	for (int k = 0; k < fit->nterms && fit->vcov != NULL && fit->converged && model->l2 == 0; k++)
	{
		double		variance = fit->vcov[(Size) k * fit->nterms + k];
		GrError		err = {.value = variance};

		/*
		 * 0 is right if all residuals are 0; a sandwich's variance may be 0 if no power of two made it so, or negative
		 */
		if (isnan(variance) || (isfinite(variance) && fabs(variance) >= DBL_MIN) ||
			(variance == 0 && (model->dispersion == 0 || (model->vcov_type != NULL && fit->vcov_exponent == 0))))
			continue;
		gr_fail(&err, GR_RESULT_OUT_OF_RANGE, k - (model->intercept ? 1 : 0), "variance of the coefficient");
		gr_raise_columns(&err, fit->nterms - (model->intercept ? 1 : 0), names);
	}
}

/* Warns if an estimated theta is infinite. */
static void
warn_of_theta(const GrGlmFit *fit)
{
	if (fit->theta_runs_off)
		ereport(WARNING,
				(errmsg("the counts are not overdispersed: theta is infinite"),
				 errhint("Use family => 'poisson', which gives the same fit.")));
}

/* Warns if the maximum is at the edge of the link's domain; see edge.h. */
static void
warn_of_edge(const GrModel *model, const GrGlmFit *fit, const GrGlmOptions *options)
{
	StringInfoData terms;

	if (fit->nedge == 0)
		return;
	initStringInfo(&terms);
	for (int k = model->intercept ? 1 : 0; k < fit->nterms; k++)
		if (fit->edge_terms[k])
			appendStringInfo(&terms, "%s%s", terms.len > 0 ? ", " : "", gr_model_term(model, k));
	ereport(WARNING,
			(errmsg_plural("the fitted mean of " INT64_FORMAT " row is 0, at the limit of what the link allows",
						   "the fitted means of " INT64_FORMAT " rows are 0, at the limit of what the link allows",
						   fit->nedge, fit->nedge),
			 errdetail("The likelihood is largest at this limit. Terms that affect these rows: %s.",
					   terms.len > 0 ? terms.data : gr_model_term(model, 0)),
			 options->vcov == GR_VCOV_IID ?
			 errhint("Use link => 'log' if no mean can be 0. Otherwise the estimates and the deviance are valid; the "
					 "standard errors assume that the means of these rows are 0.") :
			 errhint("Use link => 'log' if no mean can be 0. Otherwise the estimates and the deviance are valid, but "
					 "there are no robust standard errors.")));
}

void
gr_glm_model(GrModel *model, GrGlmFit *fit, const GrGlmOptions *options, const char *const *names)
{
	model->distribution = options->distribution;
	if (options->estimate_theta)
	{
		/* from GR_THETA_POISSON on, where the fit also begins, theta is as good as infinite */
		model->distribution.theta = fit->theta < GR_THETA_POISSON ? fit->theta : INFINITY;
		model->theta_error = fit->theta_runs_off ? INFINITY : fit->theta_error;
	}
	model->l2 = options->l2;
	model->firth = options->firth;
	model->nterms = fit->nterms;
	model->intercept = options->intercept;
	gr_model_name_terms(model, names);
	model->coef = fit->coef;
	model->vcov = fit->vcov;
	model->vcov_low = fit->vcov_low;
	model->separated = fit->separated;
	model->nrows = fit->nrows;
	model->rank = fit->rank;
	model->df_residual = fit->df_residual;
	model->deviance = fit->deviance;
	model->null_deviance = fit->null_deviance;
	estimate_dispersion(model, fit, options);
	check_variances(model, fit, names);
	model->iterations = fit->iterations;
	model->converged = fit->converged;

	warn_of_theta(fit);
	warn_of_edge(model, fit, options);
	if (fit->nseparated > 0)
		warn_of_separation(model, fit);
	else if (!fit->converged)
		ereport(WARNING,
				(errmsg_plural("%s did not converge in %d iteration", "%s did not converge in %d iterations",
							   fit->iterations, fit_name(options), fit->iterations),
				 fit->imprecise ? errdetail("Rounding error leaves fewer than eight digits of an estimate.") :
				 fit->unsolved ? errdetail("The working weights of the rows are out of range for float8.") :
				 fit->stalled ? errdetail("Rounding error prevents further progress.") : 0,
				 hint_at_convergence(fit, options)));
}

/*
 * Fits over a query or kept rows
 */

/* Opens the rows and fits them. centered: powers may be centered. */
static void
fit_rows(FunctionCallInfo fcinfo, const GrFitRows *rows, const GrRoles *given, bool centered,
		 const GrGlmOptions *options, GrQueryFit *f)
{
	GrRoles		roles = *given;
	const GrRowsWanted wanted = {
		.from = *rows,.function = fcinfo->flinfo->fn_oid,.roles = &roles,.family = options->distribution.family,
		.theta = options->distribution.theta,.more = f->more
	};
	GrRowSource *source;
	GrIngest   *ingest;
	GrError		err = {0};

	roles.centered = centered;
	f->options = *options;
	f->data = gr_open_rows(&wanted);
	source = f->data->source;
	ingest = &f->data->ingest;
	f->options.shape = source->shape;
	f->options.intercept = ingest->intercept;
	f->options.weighting = source->rules.weighting;
	f->options.totals = &source->totals;
	f->options.moves = gr_ingest_moves(ingest);
	f->options.can_be_coarse = source->kind == &gr_source_query || gr_on_cpu(&source->job->place);
	if (source->kind == &gr_source_held && gr_is_logistic(options->distribution))
		f->options.can_ascend = gr_job_can_ascend(source->job, source->single);
	gr_glm_find_start(source, ingest, &f->options);
	if (!gr_glm_run(source, &f->options, ingest->names, &f->fit, &err))
		gr_raise_row(&err, f->options.shape, ingest->names);
}

void
gr_glm_open_rows(FunctionCallInfo fcinfo, const GrFitRows *rows, const GrRoles *roles, const GrGlmOptions *options,
				 GrQueryFit *f)
{
	/* the penalty and the learning rate apply to the powers themselves */
	bool		centered = options->l2 == 0 && isnan(options->learning_rate);

	fit_rows(fcinfo, rows, roles, centered, options, f);
	if (f->fit->unmovable)
	{
		gr_release_rows(f->data);
		fit_rows(fcinfo, rows, roles, false, options, f);
		f->data->refitted = true;
	}
}

Datum
gr_glm_fit_rows(FunctionCallInfo fcinfo, const char *name, const GrFitRows *rows, const GrRoles *roles,
				const GrGlmOptions *options, bool quasi)
{
	double		started = gr_now();
	GrQueryFit	f = {0};
	GrModel		model = {.quasi = quasi};
	ErrorContextCallback context;

	gr_enter_query(&context, rows->query);
	gr_glm_open_rows(fcinfo, rows, roles, options, &f);
	if (roles->weighting == GR_FREQUENCIES)
		(void) gr_count(f.data->source->totals.weights);
	gr_record_rows(f.data, name, started);
	gr_glm_model(&model, f.fit, &f.options, f.data->ingest.names);
	gr_leave_query(&context);
	model.nskipped = gr_rows_nskipped(f.data);
	model.design = f.data->ingest.design;
	gr_extras_take_roles(&model.extras, roles);
	model.device = gr_rows_device(f.data);
	gr_release_rows(f.data);
	return gr_model_datum(fcinfo, &model);
}
