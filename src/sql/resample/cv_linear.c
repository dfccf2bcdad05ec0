/*
 * cv_linear.c: cross-validates a linear regression from the sums of each fold; see cv_linear.h.
 *
 * The sums for a fit are merged from the folds before and after the one that is left out; subtracting its sums from the
 * total would cancel. The fold's own sums give its error, in double-double.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"

#include "compute/enet/path.h"
#include "run/args.h"
#include "run/grams.h"
#include "run/raise.h"
#include "sql/resample/cv_linear.h"

/*
 * Fits
 */

static void
fit_sums(const GrCv *cv, const GrGram *sums, GrCvFold *fold)
{
	GrModel		model = {.l2 = cv->l2};

	gr_model_solve(&model, sums, cv->data->ingest.intercept, cv->data->ingest.names, false, NULL);
	fold->ntrain = sums->nobs;
	fold->coef = model.coef;
	fold->converged = true;
}

/* Computes the error of the fold's fit in the fold's own sums. Aliased terms add nothing to predictions. */
static void
test_fold(const GrCv *cv, const GrGram *sums, GrCvFold *fold)
{
	int			p = cv->data->ingest.nfeatures;
	int			nterms = p + (cv->data->ingest.intercept ? 1 : 0);
	double	   *coef = palloc(Max(nterms, 1) * sizeof(double));
	double	   *work = palloc(2 * gr_norder(p) * sizeof(double));

	for (int k = 0; k < nterms; k++)
		coef[k] = isnan(fold->coef[k]) ? 0 : fold->coef[k];
	fold->ntest = sums->nobs;
	fold->weight = sums->hi[0];
	fold->error = gr_path_rss(sums, cv->data->ingest.intercept, coef, work) / sums->hi[0];
	pfree(coef);
	pfree(work);
}

static void
validate(GrCv *cv, const GrGram *sums)
{
	int			p = cv->data->ingest.nfeatures;
	int			n = cv->n;
	GrGram	   *rest = palloc((n + 1) * sizeof(GrGram));	/* rest[f]: sums of fold f and those after it */
	GrGram		before = gr_gram_make(p);
	GrGram		others = gr_gram_make(p);

	for (int f = n - 1; f >= 0; f--)
	{
		rest[f] = gr_gram_duplicate(&sums[f]);
		if (f + 1 < n)
			gr_gram_join(&rest[f], &rest[f + 1]);
	}
	fit_sums(cv, &rest[0], &cv->all);
	for (int f = 0; f < n; f++)
	{
		gr_gram_copy(&others, f == 0 ? &rest[1] : &before);
		if (f > 0 && f + 1 < n)
			gr_gram_join(&others, &rest[f + 1]);
		fit_sums(cv, &others, &cv->fold[f]);
		test_fold(cv, &sums[f], &cv->fold[f]);
		if (f == 0)
			gr_gram_copy(&before, &sums[0]);
		else
			gr_gram_join(&before, &sums[f]);
	}
}

void
gr_cv_linear(FunctionCallInfo fcinfo, GrCv *cv)
{
	GrGram	   *sums;

	gr_cv_open(fcinfo, cv, GR_GAUSSIAN, GR_ROWS_PART_SUMS);
	sums = cv->data->sums;
	gr_cv_begin(cv, cv->data->n);
	cv->n = 0;
	for (int k = 0; k < cv->data->n; k++)
	{
		/* the fold has only rows of weight 0 */
		if (!(sums[k].hi[0] > 0))
			continue;
		cv->fold[cv->n].label = cv->data->label[k];
		sums[cv->n] = sums[k];
		/* a fold's size is its number of rows, whatever their frequencies */
		sums[cv->n].nobs = sums[k].nsummed;
		cv->n++;
	}
	(void) gr_close_rows(cv->data, cv->name, cv->started);
	if (cv->n < 2)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cross-validation needs at least two folds, got %d", cv->n),
				 errhint("Name a fold or key column that has different values among the rows.")));
	validate(cv, sums);
}
