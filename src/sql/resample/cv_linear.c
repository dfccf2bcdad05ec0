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
#include "compute/linalg/gram_shift.h"
#include "run/args.h"
#include "run/raise.h"
#include "sql/resample/cv_linear.h"

static GrRowSums
make_sums(int nfeatures)
{
	Size		triangle = gr_triangle(gr_norder(nfeatures));
	GrRowSums	sums = {0};

	sums.hi = palloc_extended((2 * triangle + gr_nterms(nfeatures)) * sizeof(double),
							  MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	sums.lo = sums.hi + triangle;
	sums.shift = sums.lo + triangle;
	return sums;
}

static void
copy_sums(GrRowSums *to, const GrRowSums *from, int nfeatures)
{
	Size		triangle = gr_triangle(gr_norder(nfeatures));

	memcpy(to->hi, from->hi, triangle * sizeof(double));
	memcpy(to->lo, from->lo, triangle * sizeof(double));
	memcpy(to->shift, from->shift, gr_nterms(nfeatures) * sizeof(double));
	to->nrows = from->nrows;
}

static void
merge_sums(GrRowSums *to, const GrRowSums *from, int nfeatures)
{
	GrPoll		poll = {.host = &gr_host};
	GrError		err = {0};

	CHECK_FOR_INTERRUPTS();
	if (!gr_gram_merge_shifted(to->hi, to->lo, to->shift, from->hi, from->lo, from->shift, nfeatures, &poll))
	{
		(void) gr_fail(&err, GR_CANCELED, 0, "Gram matrix");
		gr_raise(&err);
	}
	to->nrows += from->nrows;
}

/*
 * Fits
 */

static void
fit_sums(const GrCv *cv, const GrRowSums *sums, GrCvFold *fold)
{
	GrModel		model = {.l2 = cv->l2};

	gr_model_solve(&model, sums->hi, sums->lo, sums->shift, cv->data->ingest.nfeatures, sums->nrows, 0,
				   cv->data->ingest.intercept, cv->data->ingest.names, false, NULL);
	fold->ntrain = sums->nrows;
	fold->coef = model.coef;
	fold->converged = true;
}

/* A term that is aliased adds nothing to a prediction. */
static void
test_fold(const GrCv *cv, const GrRowSums *sums, GrCvFold *fold)
{
	int			p = cv->data->ingest.nfeatures;
	int			nterms = p + (cv->data->ingest.intercept ? 1 : 0);
	double	   *coef = palloc(Max(nterms, 1) * sizeof(double));
	double	   *work = palloc(2 * gr_norder(p) * sizeof(double));

	for (int k = 0; k < nterms; k++)
		coef[k] = isnan(fold->coef[k]) ? 0 : fold->coef[k];
	fold->ntest = sums->nrows;
	fold->weight = sums->hi[0];
	fold->error = gr_path_rss(sums->hi, sums->lo, sums->shift, p, cv->data->ingest.intercept, coef, work) / sums->hi[0];
	pfree(coef);
	pfree(work);
}

static void
validate(GrCv *cv, const GrRowSums *sums)
{
	int			p = cv->data->ingest.nfeatures;
	int			n = cv->n;
	GrRowSums  *rest = palloc((n + 1) * sizeof(GrRowSums));	/* of the folds from each on */
	GrRowSums	before = make_sums(p);
	GrRowSums	others = make_sums(p);

	for (int f = n - 1; f >= 0; f--)
	{
		rest[f] = make_sums(p);
		copy_sums(&rest[f], &sums[f], p);
		if (f + 1 < n)
			merge_sums(&rest[f], &rest[f + 1], p);
	}
	fit_sums(cv, &rest[0], &cv->all);
	for (int f = 0; f < n; f++)
	{
		copy_sums(&others, f == 0 ? &rest[1] : &before, p);
		if (f > 0 && f + 1 < n)
			merge_sums(&others, &rest[f + 1], p);
		fit_sums(cv, &others, &cv->fold[f]);
		test_fold(cv, &sums[f], &cv->fold[f]);
		if (f == 0)
			copy_sums(&before, &sums[0], p);
		else
			merge_sums(&before, &sums[f], p);
	}
}

void
gr_cv_linear(FunctionCallInfo fcinfo, GrCv *cv)
{
	GrRowSums  *sums;

	gr_cv_open(fcinfo, cv, GR_GAUSSIAN, GR_ROWS_PART_SUMS);
	sums = cv->data->sums;
	gr_cv_begin(cv, cv->data->n);
	cv->n = 0;
	for (int k = 0; k < cv->data->n; k++)
	{
		/* rows of weight 0 alone */
		if (!(sums[k].hi[0] > 0))
			continue;
		cv->fold[cv->n].label = sums[k].label;
		sums[cv->n++] = sums[k];
	}
	gr_record_rows(cv->data, cv->name, cv->started);
	gr_release_rows(cv->data);
	if (cv->n < 2)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cross-validation needs two folds or more, got %d", cv->n),
				 errhint("Name a column of folds, or a key, that differs among the rows.")));
	validate(cv, sums);
}
