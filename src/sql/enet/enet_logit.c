/*
 * enet_logit.c: fits elastic nets of logistic regressions; see enet_logit.h.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "utils/memutils.h"

#include "run/args.h"
#include "run/device.h"
#include "run/raise.h"
#include "run/request.h"
#include "sql/enet/enet_logit.h"

/* Makes passes over all folds but left_out until the path requests none. Raises an ERROR if the path fails. */
static void
make_passes(GrEnetLogit *logit)
{
	GrDataSet *data = logit->data;
	GrLogitPath *path = &logit->path;
	GrError		err = {0};

	while (path->wants_pass)
	{
		data->npasses++;
		for (int f = 0; f < data->n; f++)
		{
			CHECK_FOR_INTERRUPTS();
			if (f != logit->left_out)
				gr_source_sums(&data->source[f], gr_pass_request(&path->pass), path->sums);
		}
		if (gr_logit_path_advance(path, &gr_host, &err))
			continue;
		gr_note_device_error(&err);
		gr_raise_columns(&err, path->p, (const char *const *) data->ingest.names);
	}
}

/* Adds an error detail if the last point of the path explains so much that the response is separated. */
static int
detail_separation(const GrLogitPath *path)
{
	return path->point.dev_ratio > GR_PATH_MOST_EXPLAINED ?
		errdetail("The response is separated: estimates grow without bound.") : 0;
}

void
gr_enet_logit_begin(GrEnetLogit *logit, const GrEnet *net, GrDataSet *data, int left_out)
{
	GrLogitPathOptions options = {
		.shape = data->source->shape,.counts = data->source->rules.weighting == GR_FREQUENCIES
	};

	options.net = gr_enet_options(net, options.shape.nfeatures);
	logit->net = net;
	logit->data = data;
	logit->left_out = left_out;
	gr_logit_path_begin(&logit->path, &options,
						palloc_extended(gr_logit_path_nbytes(&options), MCXT_ALLOC_HUGE));
	make_passes(logit);
	if (left_out < 0)
		gr_enet_check_usable(logit->path.nusable, options.shape.nfeatures);
	logit->lost = !logit->path.converged;
	if (logit->lost)
		ereport(WARNING,
				(errmsg("the elastic net did not converge for the unpenalised features alone"),
				 detail_separation(&logit->path),
				 errhint("Set all penalty factors above 0.")));
}

int64
gr_enet_logit_nobs(const GrDataSet *data)
{
	int64		nobs = 0;

	for (int f = 0; f < data->n; f++)
	{
		const GrRowSource *source = &data->source[f];

		if (source->shape.weight && source->rules.weighting == GR_FREQUENCIES)
			gr_add_count(&nobs, gr_count(source->totals.weights));
		else
			gr_add_count(&nobs, source->kind == &gr_source_query ? source->nrows : source->job->nrows);
	}
	return nobs;
}

double *
gr_enet_logit_lambdas(const GrEnetLogit *logit, int *n)
{
	const GrEnet *net = logit->net;
	double	   *lambda = net->lambda;

	*n = net->nlambda;
	if (lambda != NULL)
		return lambda;
	lambda = palloc(*n * sizeof(double));
	gr_logit_path_grid(&logit->path, gr_enet_min_ratio(net, gr_enet_logit_nobs(logit->data), logit->path.p), n, lambda);
	return lambda;
}

bool
gr_enet_logit_step(GrEnetLogit *logit, double lambda)
{
	GrError		err = {0};

	CHECK_FOR_INTERRUPTS();
	if (logit->lost)
		return false;
	if (!gr_logit_path_go_to(&logit->path, lambda, &gr_host, &err))
		gr_raise_columns(&err, logit->path.p, (const char *const *) logit->data->ingest.names);
	make_passes(logit);
	if (!logit->path.converged)
		ereport(WARNING,
				(errmsg("the elastic net did not converge at lambda = %g", lambda),
				 detail_separation(&logit->path),
				 errhint("Use a larger lambda.")));
	return logit->path.converged;
}

void
gr_enet_logit_put_path(ReturnSetInfo *rsinfo, const GrEnet *net, GrDataSet *data)
{
	GrEnetLogit logit;
	GrPathPoint before = {0};
	double	   *lambda;
	int			n;

	gr_enet_logit_begin(&logit, net, data, -1);
	lambda = gr_enet_logit_lambdas(&logit, &n);
	for (int k = 0; k < n && gr_enet_logit_step(&logit, lambda[k]); k++)
	{
		const GrPathPoint *point = &logit.path.point;

		gr_enet_put_point(rsinfo, point, logit.path.coef, logit.path.p + (net->intercept ? 1 : 0));
		if (net->lambda == NULL && gr_logit_path_ends(&logit.path, &before, k, n))
			break;
		before = *point;
	}
}

/*
 * Cross-validation
 */

/* Computes the path over all rows, as far as it goes. */
static void
fit_all(const GrEnet *net, GrDataSet *data, GrFoldScores *scores)
{
	GrEnetLogit logit;
	int			nterms;
	int			n;
	int			k;

	gr_enet_logit_begin(&logit, net, data, -1);
	nterms = logit.path.p + (net->intercept ? 1 : 0);
	scores->lambda = gr_enet_logit_lambdas(&logit, &n);
	scores->point = palloc_extended(n * sizeof(GrPathPoint), MCXT_ALLOC_HUGE);
	scores->coef = palloc_extended((Size) n * nterms * sizeof(double), MCXT_ALLOC_HUGE);
	for (k = 0; k < n; k++)
	{
		if (!gr_enet_logit_step(&logit, scores->lambda[k]))
			break;
		scores->point[k] = logit.path.point;
		memcpy(scores->coef + (Size) k * nterms, logit.path.coef, nterms * sizeof(double));
		if (net->lambda == NULL && k > 0 && gr_logit_path_ends(&logit.path, &scores->point[k - 1], k, n))
		{
			k++;
			break;
		}
	}
	if (k == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("an elastic net could not be fitted at any lambda")));
	scores->n = k;
}

/* Returns the deviance of a source's rows for beta, the coefficients of (1, x); 0 for no intercept. */
static double
deviance_of(GrRowSource *source, const double *beta, double *sums)
{
	int			p = source->shape.nfeatures;
	double	   *shift = palloc0(gr_nterms(p) * sizeof(double));
	bool		counts = source->rules.weighting == GR_FREQUENCIES;

	gr_pass_clear(GR_PASS_GRADIENT, p, sums);
	gr_source_sums(source, gr_logit_gradient_request(source->shape, counts, beta, shift), sums);
	pfree(shift);
	return sums[GR_SUM_DEVIANCE_HI] + sums[GR_SUM_DEVIANCE_LO];
}

static double
weight_of(const GrRowSource *source)
{
	return source->shape.weight ? source->totals.weights : (double) source->job->nrows;
}

static void
describe_fold(void *arg)
{
	errcontext("cross-validation, without fold %d", *(int *) arg + 1);
}

/*
 * Computes a fold's errors by the path over the other folds. Where that path has ended, its last coefficients are used.
 */
static void
score_fold(const GrEnet *net, GrDataSet *data, int fold, const GrFoldScores *scores, double *error)
{
	GrRowSource *source = &data->source[fold];
	int			p = source->shape.nfeatures;
	double	   *beta = palloc0(gr_nterms(p) * sizeof(double));
	double	   *sums = palloc(gr_pass_nsums(GR_PASS_GRADIENT, p) * sizeof(double));
	ErrorContextCallback context = {.callback = describe_fold,.arg = &fold,.previous = error_context_stack};
	GrEnetLogit logit;
	bool		goes_on = true;

	error_context_stack = &context;
	gr_enet_logit_begin(&logit, net, data, fold);
	for (int k = 0; k < scores->n; k++)
	{
		goes_on = goes_on && gr_enet_logit_step(&logit, scores->lambda[k]);
		memcpy(beta + (net->intercept ? 0 : 1), logit.path.coef, (p + (net->intercept ? 1 : 0)) * sizeof(double));
		error[k] = deviance_of(source, beta, sums) / weight_of(source);
	}
	error_context_stack = context.previous;
}

void
gr_enet_logit_validate(const GrEnet *net, GrDataSet *data, GrFoldScores *scores)
{
	double	   *weight = palloc(data->n * sizeof(double));
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "gpureg fold", ALLOCSET_DEFAULT_SIZES);

	gr_folds_check(data->n);
	fit_all(net, data, scores);
	scores->error = palloc_extended((Size) data->n * scores->n * sizeof(double), MCXT_ALLOC_HUGE);
	for (int f = 0; f < data->n; f++)
	{
		MemoryContext old = MemoryContextSwitchTo(context);

		weight[f] = weight_of(&data->source[f]);
		score_fold(net, data, f, scores, scores->error + (Size) f * scores->n);
		MemoryContextSwitchTo(old);
		MemoryContextReset(context);
	}
	MemoryContextDelete(context);
	gr_folds_summarise(scores, weight, data->n);
}

void
gr_enet_logit_model(GrModel *model, const GrEnet *net, const GrDataSet *data, const GrPathPoint *point, double *coef)
{
	int			p = data->source->shape.nfeatures;
	double		log_constant = 0;

	for (int f = 0; f < data->n; f++)
		log_constant += data->source[f].totals.log_constant;
	*model = (GrModel) {
		.distribution = GR_LOGISTIC,.net = true,.net_alpha = net->alpha,.net_lambda = point->lambda,
		.nterms = p + (net->intercept ? 1 : 0),.intercept = net->intercept,.coef = coef,
		.nrows = gr_enet_logit_nobs(data),.nskipped = gr_rows_nskipped(data),
		.deviance = point->rss,.null_deviance = point->tss,.iterations = data->npasses,.converged = true,
		.dispersion = 1,
		.df_inference = INFINITY,.design = data->ingest.design
	};
	gr_model_name_terms(model, (const char *const *) data->ingest.names);
	model->rank = point->df + (net->intercept ? 1 : 0);
	model->df_residual = Max(model->nrows - model->rank, 0);
	model->log_lik = gr_log_likelihood(GR_BINOMIAL, point->rss, (double) model->nrows, log_constant);
}
