/*
 * fn_ordinal.c: gpu_ordinal_fit, which fits an ordinal regression to a query or to kept rows.
 */
#include "postgres.h"

#include <math.h>

#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "compute/classes/ordinal_fit.h"
#include "run/args.h"
#include "run/clock.h"
#include "run/progress.h"
#include "run/raise.h"
#include "run/request.h"
#include "sql/classes/class_rows.h"
#include "sql/model/fit_arguments.h"
#include "sql/model/model.h"

PG_FUNCTION_INFO_V1(gr_ordinal_fit);

/* Arguments of gpu_ordinal_fit */
enum
{
	ARG_QUERY, ARG_LINK, ARG_FORMULA, ARG_WEIGHTS, ARG_FREQUENCIES, ARG_MAX_ITER, ARG_TOL, ARG_KEPT, ARG_ROWS
};

static GrLink
link_named(const char *name)
{
	GrLink		link;

	if (gr_link_named(name, &link) && (link == GR_LOGIT || link == GR_PROBIT || link == GR_CLOGLOG))
		return link;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unknown link \"%s\" of an ordinal regression", name),
			 errhint("Use 'logit', 'probit' or 'cloglog'.")));
}

static GrOrdinalOptions
read_options(FunctionCallInfo fcinfo, GrClassRows *c)
{
	GrOrdinalOptions options = {0};

	options.link = link_named(text_to_cstring(PG_GETARG_TEXT_PP(ARG_LINK)));
	options.max_iter = PG_GETARG_INT32(ARG_MAX_ITER);
	options.tol = PG_GETARG_FLOAT8(ARG_TOL);
	gr_check_tol(options.tol);
	if (options.max_iter < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("max_iter must be at least 1, got %d", options.max_iter)));
	c->model = "an ordinal regression";
	c->roles = gr_role_arguments(fcinfo, ARG_WEIGHTS, ARG_FREQUENCIES, -1);
	gr_formula_argument(fcinfo, ARG_FORMULA, true, &c->roles);
	options.counts = c->roles.weighting == GR_FREQUENCIES;
	return options;
}

static GrOrdinalFit *
run(const GrClassRows *c, const GrOrdinalOptions *options)
{
	GrRowSource *source = c->data->source;
	GrOrdinalFit *fit = gr_ordinal_begin(palloc_extended(gr_ordinal_nbytes(options), MCXT_ALLOC_HUGE), options);
	GrError		err = {0};

	while (!fit->done)
	{
		CHECK_FOR_INTERRUPTS();
		gr_source_sums(source, gr_multinom_request(&fit->pass), (double *) fit->sums);
		if (fit->pass.measure == GR_MULTINOM_ORDINAL)
			gr_progress_iteration(fit->iterations, -2 * fit->sums[GR_MULTINOM_LOG_LIKELIHOOD].hi);
		if (!gr_ordinal_advance(fit, &gr_host, &err))
			gr_raise_classes(c, &err);
	}
	return fit;
}

/* Names the thresholds as polr does, and then the slopes. */
static const char **
name_terms(const GrClassRows *c, const GrOrdinalFit *fit, const char **labels)
{
	const char **terms = palloc(fit->nparameters * sizeof(char *));
	int			k1 = fit->nclasses - 1;

	for (int k = 0; k < fit->nparameters; k++)
		terms[k] = k < k1 ? psprintf("%s|%s", labels[k], labels[k + 1]) : c->data->ingest.names[k - k1];
	return terms;
}

static void
fill_model(const GrClassRows *c, const GrOrdinalOptions *options, const GrOrdinalFit *fit, GrModel *model)
{
	const char **labels = gr_present_classes(c, fit->present, fit->nclasses);

	model->kind = GR_KIND_ORDINAL;
	model->distribution = (GrDistribution) {GR_BINOMIAL, options->link};
	model->nterms = fit->nparameters;
	model->terms = name_terms(c, fit, labels);
	model->coef = fit->coef;
	model->vcov = fit->vcov;
	model->nrows = gr_count(fit->nrows);
	model->nskipped = gr_rows_nskipped(c->data);
	model->rank = fit->rank;
	model->df_residual = model->nrows - model->rank;
	model->deviance = -2 * fit->log_likelihood;
	model->null_deviance = -2 * fit->null_log_likelihood;
	model->log_lik = fit->log_likelihood;
	model->iterations = fit->iterations;
	model->converged = fit->converged;
	model->dispersion = 1;
	model->df_inference = INFINITY;
	model->design = c->data->ingest.design;
	gr_extras_take_roles(&model->extras, &c->roles);
	model->extras.classes = labels;
	model->extras.nclasses = fit->nclasses;
	if (!fit->converged)
		ereport(WARNING,
				(errmsg_plural("ordinal regression did not converge in %d iteration",
							   "ordinal regression did not converge in %d iterations", fit->iterations,
							   fit->iterations),
				 fit->slow ? errdetail("Estimates seem to grow without bound: the columns may tell classes apart.") : 0,
				 fit->slow ? errhint("Leave out the terms whose estimates are large, or merge classes.") :
				 errhint("Raise max_iter.")));
}

/*
 * gpu_ordinal_fit(query text, link text, formula text, weights text, frequencies text, max_iter int, tol float8, kept
 * text, rows text): NULL if one of link, max_iter and tol is NULL, or both query and kept are
 */
Datum
gr_ordinal_fit(PG_FUNCTION_ARGS)
{
	double		started = gr_now();
	GrClassRows c = {0};
	GrOrdinalOptions options;
	GrOrdinalFit *fit;
	GrModel		model = {0};
	GrFitRows	rows;
	ErrorContextCallback context;

	if (PG_ARGISNULL(ARG_LINK) || PG_ARGISNULL(ARG_MAX_ITER) || PG_ARGISNULL(ARG_TOL) ||
		!gr_fit_arguments(fcinfo, ARG_QUERY, ARG_KEPT, ARG_ROWS, &rows))
		PG_RETURN_NULL();
	options = read_options(fcinfo, &c);
	gr_enter_query(&context, rows.query);
	gr_open_class_rows(fcinfo, &rows, &c);
	if (!c.data->ingest.intercept)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("an ordinal regression has thresholds, which take the place of an intercept"),
				 errhint("Leave 0 or - 1 out of the formula.")));
	options.shape = c.shape;
	options.nclasses = c.classes.n;
	options.values = c.classes.values;
	fit = run(&c, &options);
	gr_record_rows(c.data, "gpu_ordinal_fit", started);
	fill_model(&c, &options, fit, &model);
	gr_leave_query(&context);
	model.device = gr_rows_device(c.data);
	gr_release_rows(c.data);
	return gr_model_datum(fcinfo, &model);
}
