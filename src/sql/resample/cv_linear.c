/*
 * cv_linear.c: cross-validation of a linear regression from the sums of each fold; see cv_linear.h.
 *
 * The sums of the rows that a fit is to are those of the other folds, merged: of those before the fold and those behind
 * it, and never made by taking the fold's away, which would cancel. The error in the fold is told by its own sums, in
 * double-double.
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

/* A term that is aliased adds nothing to a prediction. */
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
	GrGram	   *rest = palloc((n + 1) * sizeof(GrGram));	/* of the folds from each on */
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
		/* rows of weight 0 alone */
		if (!(sums[k].hi[0] > 0))
			continue;
		cv->fold[cv->n].label = cv->data->label[k];
		sums[cv->n] = sums[k];
		/* a fold's size is its rows, whatever their frequencies */
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
