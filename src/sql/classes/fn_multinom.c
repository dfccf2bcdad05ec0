/*
 * fn_multinom.c: gpu_multinom_fit, which fits a multinomial logistic regression to a query or to kept rows.
 */
#include "postgres.h"

#include <math.h>

#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "compute/classes/multinom_fit.h"
#include "rows/sums/clusters.h"
#include "rows/sums/data_set.h"
#include "run/args.h"
#include "run/clock.h"
#include "run/progress.h"
#include "run/raise.h"
#include "run/request.h"
#include "sql/classes/class_rows.h"
#include "sql/model/fit_arguments.h"
#include "sql/model/model.h"

PG_FUNCTION_INFO_V1(gr_multinom_fit);

/* Pairs of classes that a message names */
#define NAMED_MAX 8

/* Arguments of gpu_multinom_fit */
enum
{
	ARG_QUERY, ARG_BASE, ARG_INTERCEPT, ARG_FORMULA, ARG_WEIGHTS, ARG_FREQUENCIES, ARG_L2, ARG_MAX_ITER, ARG_TOL,
	ARG_VCOV, ARG_CLUSTERS, ARG_KEPT, ARG_ROWS
};

/* A fit under way */
typedef struct Fitting
{
	GrMultinomOptions options;
	GrClassRows rows;
	GrMultinomFit *fit;
	const char **labels;		/* of the classes that have rows */
} Fitting;

static void
check_vcov(const GrMultinomOptions *options, const GrRoles *roles)
{
	if (gr_vcov_has_leverages(options->vcov))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a multinomial regression cannot have vcov %s", gr_vcov_name(options->vcov)),
				 gr_vcov_is_clustered(options->vcov) ? errhint("Use 'CR0' or 'CR1'.") :
				 errhint("Use 'iid', 'HC0' or 'HC1', or with clusters 'CR0' or 'CR1'.")));
	if (roles->nclusters > 1)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a multinomial regression can be clustered by one column only"),
				 errhint("Name one column, as in clusters => '{firm}'.")));
}

static void
read_options(FunctionCallInfo fcinfo, Fitting *f)
{
	GrGlmOptions glm = gr_glm_defaults(0);

	f->options.intercept = PG_GETARG_BOOL(ARG_INTERCEPT);
	f->options.l2 = PG_GETARG_FLOAT8(ARG_L2);
	f->options.max_iter = PG_GETARG_INT32(ARG_MAX_ITER);
	f->options.tol = PG_GETARG_FLOAT8(ARG_TOL);
	gr_check_l2(f->options.l2);
	gr_check_tol(f->options.tol);
	if (f->options.max_iter < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("max_iter must be at least 1, got %d", f->options.max_iter)));
	f->rows.roles = gr_role_arguments(fcinfo, ARG_WEIGHTS, ARG_FREQUENCIES, -1);
	gr_formula_argument(fcinfo, ARG_FORMULA, f->options.intercept, &f->rows.roles);
	gr_vcov_arguments(fcinfo, ARG_VCOV, ARG_CLUSTERS, &glm, &f->rows.roles);
	f->options.vcov = glm.vcov;
	f->options.counts = f->rows.roles.weighting == GR_FREQUENCIES;
	check_vcov(&f->options, &f->rows.roles);
	f->rows.classes.base = PG_ARGISNULL(ARG_BASE) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(ARG_BASE));
	f->rows.model = "a multinomial regression";
	f->rows.per_class = true;
}

/*
 * Opening
 */

static void
open_rows(FunctionCallInfo fcinfo, const GrFitRows *rows, Fitting *f)
{
	gr_open_class_rows(fcinfo, rows, &f->rows);
	f->options.shape = f->rows.shape;
	f->options.intercept = f->rows.data->ingest.intercept;
	gr_check_terms(f->options.shape.nfeatures, f->options.intercept);
	f->options.nclasses = f->rows.classes.n;
	f->options.values = f->rows.classes.values;
	if (gr_vcov_is_clustered(f->options.vcov) && f->rows.data->source->clustered == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a multinomial regression over kept rows cannot be clustered"),
				 errhint("Pass a query instead of kept rows.")));
}

/*
 * Fitting
 */

static void
take_cluster(void *arg, const double *sums)
{
	gr_multinom_add_cluster(arg, (const GrDD *) sums);
}

static void
run(Fitting *f)
{
	GrRowSource *source = f->rows.data->source;
	GrError		err = {0};

	f->fit = gr_multinom_begin(palloc_extended(gr_multinom_nbytes(&f->options), MCXT_ALLOC_HUGE), &f->options);
	while (!f->fit->done)
	{
		CHECK_FOR_INTERRUPTS();
		if (f->fit->wants_clusters)
			gr_sum_clusters(source->clustered, gr_multinom_request(&f->fit->pass),
								source->kind == &gr_source_query ? source->nrows : source->job->nrows, take_cluster,
								f->fit);
		else
		{
			gr_source_sums(source, gr_multinom_request(&f->fit->pass), (double *) f->fit->sums);
			if (f->fit->pass.measure == GR_MULTINOM_STEP)
				gr_progress_iteration(f->fit->iterations, -2 * f->fit->sums[GR_MULTINOM_LOG_LIKELIHOOD].hi);
		}
		if (!gr_multinom_advance(f->fit, &gr_host, &err))
			gr_raise_classes(&f->rows, &err);
	}
	if (f->rows.classes.base != NULL && !f->fit->present[0])
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("no complete row has the base class \"%s\"", f->rows.classes.base),
				 errhint("Choose another base, or look for columns that are NULL in its rows.")));
}

/*
 * The model
 */

/* Names each term as class:term. */
static const char **
name_terms(const Fitting *f)
{
	int			n = f->fit->nterms;
	int			first = f->options.intercept ? 1 : 0;
	const char **terms = palloc((f->fit->nclasses - 1) * n * sizeof(char *));

	for (int j = 1; j < f->fit->nclasses; j++)
		for (int k = 0; k < n; k++)
			terms[(j - 1) * n + k] = psprintf("%s:%s", f->labels[j],
											  k < first ? GR_INTERCEPT : f->rows.data->ingest.names[k - first]);
	return terms;
}

/* Lists the pairs of classes that a direction sets apart. */
static char *
list_apart(const Fitting *f)
{
	const GrMultinomFit *fit = f->fit;
	int			k = fit->nclasses;
	StringInfoData list;
	int			n = 0;

	initStringInfo(&list);
	for (int i = 0; i < k; i++)
		for (int j = i + 1; j < k; j++)
			if ((fit->apart[i * k + j] > 0 || fit->apart[j * k + i] > 0) && ++n <= NAMED_MAX)
				appendStringInfo(&list, "%s\"%s\" and \"%s\"", n == 1 ? "" : "; ", f->labels[i], f->labels[j]);
	if (n > NAMED_MAX)
		appendStringInfo(&list, "; and %d more", n - NAMED_MAX);
	return list.data;
}

static void
warn(const Fitting *f, GrModel *model)
{
	const GrMultinomFit *fit = f->fit;

	if (fit->nseparated > 0)
	{
		for (int k = 0; k < model->nterms; k++)
			if (fit->separated[k] == 2)
				model->vcov[(Size) k * model->nterms + k] = INFINITY;
		ereport(WARNING,
				(errmsg("the response is separated: some estimates are infinite"),
				 errdetail("The terms tell these classes apart, in all or some rows: %s.", list_apart(f)),
				 errhint("Leave out the terms that gpu_tidy shows as infinite, or set l2 to a small positive value.")));
	}
	else if (!fit->converged)
		ereport(WARNING,
				(errmsg_plural("multinomial regression did not converge in %d iteration",
							   "multinomial regression did not converge in %d iterations", fit->iterations,
							   fit->iterations),
				 fit->slow ? errdetail("Estimates seem to grow without bound.") : 0,
				 errhint("Raise max_iter, or set l2 to a small positive value.")));
}

static void
fill_model(const Fitting *f, GrModel *model)
{
	const GrMultinomFit *fit = f->fit;

	model->kind = GR_KIND_MULTINOM;
	model->distribution = (GrDistribution) {GR_BINOMIAL, GR_LOGIT};
	model->l2 = f->options.l2;
	model->nterms = (fit->nclasses - 1) * fit->nterms;
	model->terms = name_terms(f);
	model->coef = fit->coef;
	model->vcov = fit->vcov;
	model->separated = fit->separated;
	model->nrows = gr_count(fit->nrows);
	model->nskipped = gr_rows_nskipped(f->rows.data);
	model->rank = fit->rank * (fit->nclasses - 1);
	model->df_residual = model->nrows - model->rank;
	model->deviance = -2 * fit->log_likelihood;
	model->null_deviance = -2 * fit->null_log_likelihood;
	model->log_lik = fit->log_likelihood;
	model->iterations = fit->iterations;
	model->converged = fit->converged;
	model->dispersion = 1;
	model->vcov_type = f->options.vcov == GR_VCOV_IID ? NULL : gr_vcov_name(f->options.vcov);
	model->df_inference = INFINITY;
	model->design = f->rows.data->ingest.design;
	gr_extras_take_roles(&model->extras, &f->rows.roles);
	model->extras.classes = f->labels;
	model->extras.nclasses = fit->nclasses;
}

/*
 * gpu_multinom_fit(query text, base text, intercept boolean, formula text, weights text, frequencies text, l2 float8,
 * max_iter int, tol float8, vcov text, clusters text[], kept text, rows text): NULL if one of intercept, l2, max_iter
 * and tol is NULL, or both query and kept are
 */
Datum
gr_multinom_fit(PG_FUNCTION_ARGS)
{
	static const int wanted[] = {ARG_INTERCEPT, ARG_L2, ARG_MAX_ITER, ARG_TOL};
	double		started = gr_now();
	Fitting		f = {0};
	GrModel		model = {0};
	GrFitRows	rows;
	ErrorContextCallback context;

	for (int k = 0; k < (int) lengthof(wanted); k++)
		if (PG_ARGISNULL(wanted[k]))
			PG_RETURN_NULL();
	if (!gr_fit_arguments(fcinfo, ARG_QUERY, ARG_KEPT, ARG_ROWS, &rows))
		PG_RETURN_NULL();
	read_options(fcinfo, &f);
	gr_enter_query(&context, rows.query);
	open_rows(fcinfo, &rows, &f);
	run(&f);
	f.labels = gr_present_classes(&f.rows, f.fit->present, f.fit->nclasses);
	gr_record_rows(f.rows.data, "gpu_multinom_fit", started);
	fill_model(&f, &model);
	warn(&f, &model);
	gr_leave_query(&context);
	model.device = gr_rows_device(f.rows.data);
	gr_release_rows(f.rows.data);
	return gr_model_datum(fcinfo, &model);
}
