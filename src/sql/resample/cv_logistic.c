/*
 * cv_logistic.c: cross-validates a logistic regression; see cv_logistic.h.
 *
 * The fit to all rows is made first. Fits that leave a fold out start at its estimate. Their first passes sum the same
 * numbers in each fold, so these are summed only once. Newton's error is squared by each step, so most of these fits
 * take only one more pass.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "utils/memutils.h"

#include "compute/glm/glm_fit.h"
#include "run/args.h"
#include "run/clock.h"
#include "run/raise.h"
#include "run/request.h"
#include "sql/glm/glm_fit.h"
#include "sql/model/fit_arguments.h"
#include "sql/resample/cv_logistic.h"

/* Data that all fits share. */
typedef struct Fitting
{
	GrCv	   *cv;
	GrFoldRows *rows;
	GrGlmOptions options;
	GrRowTotals totals;			/* totals of the rows of the current fit */
} Fitting;

static void
describe_fold(void *arg)
{
	errcontext("fit without fold " INT64_FORMAT, *(const int64 *) arg);
}

/* Fits the rows of all folds but left_out, or of all folds (GR_NO_FOLD), and fills fold. */
static GrGlmFit *
fit_parts(Fitting *f, int left_out, GrCvFold *fold)
{
	GrRowSource source = {
		.kind = &gr_source_held,.shape = f->rows->shape,.rules = f->rows->rules,.folds = f->rows,.left_out = left_out
	};
	ErrorContextCallback context = {
		.callback = describe_fold,.arg = left_out == GR_NO_FOLD ? NULL : &f->rows->label[left_out],
		.previous = error_context_stack
	};
	GrGlmFit *fit;
	GrError		err = {0};

	f->totals = gr_fold_totals(f->rows, left_out);
	f->options.totals = &f->totals;
	if (left_out != GR_NO_FOLD)
		error_context_stack = &context;
	if (!gr_glm_run(&source, &f->options, f->cv->data->ingest.names, &fit, &err))
		gr_raise_row(&err, f->options.shape, f->cv->data->ingest.names);
	error_context_stack = context.previous;
	fold->ntrain = gr_fold_nrows(f->rows, left_out);
	fold->iterations = fit->iterations;
	fold->converged = fit->converged;
	fold->coef = palloc(Max(fit->nterms, 1) * sizeof(double));
	for (int k = 0; k < fit->nterms; k++)
		fold->coef[k] = fit->separated[k] != 0 ? NAN : fit->coef[k];
	return fit;
}

/* Returns how many of the fold's rows are misclassified. A row with p = 1/2 is predicted as 0. */
static double
count_wrong(Fitting *f, int part, const double *beta, double *sums)
{
	int			p = f->rows->shape.nfeatures;
	double	   *face = palloc0(gr_face_size(p) * sizeof(double));

	memcpy(face, beta, gr_nterms(p) * sizeof(double));
	gr_pass_clear(GR_PASS_FACE, p, sums);
	gr_fold_part_sums(f->rows, part, gr_logit_face_request(f->rows->shape, face), sums);
	return sums[GR_SUM_NWRONG] + sums[GR_SUM_NONES];
}

/*
 * Fills ntest, weight, error (the mean deviance) and misclassified of fold from the rows of part, which fit left
 * out. Aliased terms count as 0. Both are NaN if fold->converged is false, and misclassified also if rows have
 * weights. The deviance uses the fit's own coefficients, about its shift: coefficients about 0 would round an
 * intercept that is far from 0.
 */
static void
test_fold(Fitting *f, int part, const GrGlmFit *fit, GrCvFold *fold)
{
	int			p = f->rows->shape.nfeatures;
	int			first = f->options.intercept ? 0 : 1;
	const GrJob *job = f->rows->part[part];
	double	   *beta = palloc0(gr_nterms(p) * sizeof(double));
	double	   *sums = palloc_extended(gr_pass_nsums(GR_PASS_FACE, p) * sizeof(double), MCXT_ALLOC_HUGE);

	fold->ntest = job->nrows;
	fold->weight = f->rows->shape.weight ? job->totals.weights : (double) job->nrows;
	fold->error = fold->misclassified = NAN;
	if (!fold->converged)
		return;
	gr_pass_clear(GR_PASS_GRADIENT, p, sums);
	gr_fold_part_sums(f->rows, part, gr_logit_gradient_request(f->rows->shape, false, fit->pass.beta, fit->pass.shift),
					  sums);
	fold->error = (sums[GR_SUM_DEVIANCE_HI] + sums[GR_SUM_DEVIANCE_LO]) / fold->weight;
	for (int k = 0; k + first <= p; k++)
		beta[k + first] = isnan(fold->coef[k]) ? 0 : fold->coef[k];
	if (!f->rows->shape.weight)
		fold->misclassified = count_wrong(f, part, beta, sums) / (double) job->nrows;
	pfree(sums);
}

/* Sets where the fits that leave a fold out start: at the estimate from all rows. */
static void
find_start(Fitting *f, const GrGlmFit *all)
{
	int			t = gr_nterms(f->rows->shape.nfeatures);
	double	   *start = palloc(t * sizeof(double));
	double	   *shift = palloc(t * sizeof(double));

	if (gr_glm_take_shift(all, start, shift))
		f->options.start_shift = shift;
	if (f->options.start_shift != NULL || gr_glm_take_start(all, start))
		f->options.start = start;
}

static void
set_options(Fitting *f)
{
	f->options = gr_glm_defaults(0);
	f->options.shape = f->rows->shape;
	f->options.intercept = f->cv->data->ingest.intercept;
	f->options.weighting = f->rows->rules.weighting;
	f->options.l2 = f->cv->l2;
	f->options.skip_null = true;
	f->options.is_sample = true;
	f->options.can_change = false;
}

static void
warn_of_failures(const GrCv *cv)
{
	int			n = 0;

	for (int k = 0; k < cv->n; k++)
		n += cv->fold[k].converged ? 0 : 1;
	if (n > 0)
		ereport(WARNING,
				(errmsg_plural("the fit without %d of %d folds has no finite estimate",
							   "the fits without %d of %d folds have no finite estimates", n, n, cv->n),
				 errdetail("The errors of these folds and of all folds together are NULL."),
				 errhint("Leave out terms that separate the response, or set l2 to a small positive value.")));
}

void
gr_cv_logistic(FunctionCallInfo fcinfo, GrCv *cv)
{
	Fitting		f = {.cv = cv};
	GrGlmFit *all;

	gr_cv_open(fcinfo, cv, GR_BINOMIAL, GR_ROWS_PARTS);
	f.rows = cv->data->source->folds;
	set_options(&f);
	gr_cv_begin(cv, f.rows->n);
	all = fit_parts(&f, GR_NO_FOLD, &cv->all);
	find_start(&f, all);
	f.options.is_fold = true;
	for (int k = 0; k < cv->n; k++)
	{
		MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "gpureg fold", ALLOCSET_DEFAULT_SIZES);
		MemoryContext old = MemoryContextSwitchTo(context);
		double	   *coef;

		cv->fold[k].label = f.rows->label[k];
		test_fold(&f, k, fit_parts(&f, k, &cv->fold[k]), &cv->fold[k]);
		MemoryContextSwitchTo(old);
		coef = palloc(Max(all->nterms, 1) * sizeof(double));
		cv->fold[k].coef = memcpy(coef, cv->fold[k].coef, all->nterms * sizeof(double));
		MemoryContextDelete(context);
	}
	(void) gr_close_rows(cv->data, cv->name, cv->started);
	warn_of_failures(cv);
}
