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
#include "run/clock.h"
#include "run/raise.h"
#include "run/report.h"
#include "sql/linear/ols_fit.h"
#include "sql/resample/cv_linear.h"

/* Sums of rows: a fold's, or those of several */
typedef struct Sums
{
	double	   *hi;
	double	   *lo;
	double	   *shift;
	int64		nrows;
} Sums;

static Sums
make_sums(int nfeatures)
{
	Size		triangle = gr_triangle(gr_norder(nfeatures));
	Sums		sums;

	sums.hi = palloc_extended((2 * triangle + gr_nterms(nfeatures)) * sizeof(double),
							  MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	sums.lo = sums.hi + triangle;
	sums.shift = sums.lo + triangle;
	sums.nrows = 0;
	return sums;
}

static void
copy_sums(Sums *to, const Sums *from, int nfeatures)
{
	Size		triangle = gr_triangle(gr_norder(nfeatures));

	memcpy(to->hi, from->hi, triangle * sizeof(double));
	memcpy(to->lo, from->lo, triangle * sizeof(double));
	memcpy(to->shift, from->shift, gr_nterms(nfeatures) * sizeof(double));
	to->nrows = from->nrows;
}

static void
merge_sums(Sums *to, const Sums *from, int nfeatures)
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
 * The sums
 */

/* Of each fold of a query's rows */
static Sums *
sum_query(GrCv *cv)
{
	GrIngest   *ingest = &cv->ingest;
	int64	   *labels;
	int			n;
	GrState   **state = gr_source_key_folds(ingest, &labels, &n);
	Sums	   *sums = palloc(Max(n, 1) * sizeof(Sums));
	GrPlace		place = {0};
	double		read_done;
	int			nworkers = 0;

	gr_cv_begin(cv, n);
	cv->n = 0;
	for (int k = 0; k < n; k++)
	{
		nworkers = Max(nworkers, state[k]->nworkers);
		/* rows of weight 0 alone */
		if (state[k]->nrows == 0 || !(gr_state_hi(state[k])[0] > 0))
			continue;
		cv->fold[cv->n].label = labels[k];
		sums[cv->n++] = (Sums) {
			gr_state_hi(state[k]), gr_state_lo(state[k]), gr_state_shift(state[k]), state[k]->nrows
		};
	}
	read_done = gr_now();
	gr_place_on_cpu(&place, "the rows were grouped into folds");
	gr_record_pass(cv->name, &place, ingest->nrows, ingest->nfeatures, nworkers, cv->started, read_done,
				   read_done);
	return sums;
}

/* Of each part, about the shift */
static void
sum_parts(GrFoldRows *rows, const double *shift, Sums *sums)
{
	int			p = rows->shape.nfeatures;
	Size		nbytes = gr_pass_nsums(GR_PASS_EXACT, p) * sizeof(double);
	double	   *of_pass = palloc_extended(nbytes, MCXT_ALLOC_HUGE);
	GrPass		pass = gr_ols_pass_of(rows->shape, rows->rules, palloc0(gr_nterms(p) * sizeof(double)), shift);

	for (int k = 0; k < rows->n; k++)
	{
		CHECK_FOR_INTERRUPTS();
		gr_pass_clear(GR_PASS_EXACT, p, of_pass);
		gr_fold_part_pass(rows, k, &pass, of_pass);
		gr_ols_take_sums(of_pass, p, sums[k].hi, sums[k].lo);
		memcpy(sums[k].shift, shift, gr_nterms(p) * sizeof(double));
		sums[k].nrows = rows->part[k]->nrows;
	}
	pfree(of_pass);
}

/* The same of kept rows, in two passes where a column is far from 0 */
static Sums *
sum_kept(FunctionCallInfo fcinfo, GrCv *cv)
{
	GrRowSource source;
	GrFoldRows *rows = gr_cv_rows(fcinfo, cv, (GrRowRules) {GR_GAUSSIAN, cv->roles.weighting, 0}, &source);
	int			p = rows->shape.nfeatures;
	Sums	   *sums = palloc(rows->n * sizeof(Sums));
	Sums		all = make_sums(p);
	double	   *shift = palloc0(gr_nterms(p) * sizeof(double));
	double		read_done = gr_now();
	int			column;

	for (int k = 0; k < rows->n; k++)
		sums[k] = make_sums(p);
	sum_parts(rows, shift, sums);
	copy_sums(&all, &sums[0], p);
	for (int k = 1; k < rows->n; k++)
		merge_sums(&all, &sums[k], p);
	if (gr_shift_by_sums(shift, all.hi, all.lo, p, GR_FAR_SPREADS))
		sum_parts(rows, shift, sums);
	for (int k = 0; k < rows->n; k++)
		if (!gr_gram_finite(sums[k].hi, p, &column))
		{
			GrError		err = {0};

			(void) gr_fail(&err, GR_OUT_OF_RANGE, column, "%s", "");
			gr_raise_columns(&err, p, cv->ingest.names);
		}
	gr_cv_begin(cv, rows->n);
	for (int k = 0; k < rows->n; k++)
		cv->fold[k].label = rows->label[k];
	gr_cv_record(cv, rows, &source, read_done);
	gr_fold_release(rows);
	gr_job_release(source.job);
	return sums;
}

/*
 * Fits
 */

static void
fit_sums(const GrCv *cv, const Sums *sums, GrCvFold *fold)
{
	GrModel		model = {.l2 = cv->l2};

	gr_model_solve(&model, sums->hi, sums->lo, sums->shift, cv->ingest.nfeatures, sums->nrows, 0,
				   cv->ingest.intercept, cv->ingest.names, false, NULL);
	fold->ntrain = sums->nrows;
	fold->coef = model.coef;
	fold->converged = true;
}

/* A term that is aliased adds nothing to a prediction. */
static void
test_fold(const GrCv *cv, const Sums *sums, GrCvFold *fold)
{
	int			p = cv->ingest.nfeatures;
	int			nterms = p + (cv->ingest.intercept ? 1 : 0);
	double	   *coef = palloc(Max(nterms, 1) * sizeof(double));
	double	   *work = palloc(2 * gr_norder(p) * sizeof(double));

	for (int k = 0; k < nterms; k++)
		coef[k] = isnan(fold->coef[k]) ? 0 : fold->coef[k];
	fold->ntest = sums->nrows;
	fold->weight = sums->hi[0];
	fold->error = gr_path_rss(sums->hi, sums->lo, sums->shift, p, cv->ingest.intercept, coef, work) / sums->hi[0];
	pfree(coef);
	pfree(work);
}

static void
validate(GrCv *cv, const Sums *sums)
{
	int			p = cv->ingest.nfeatures;
	int			n = cv->n;
	Sums	   *rest = palloc((n + 1) * sizeof(Sums));	/* of the folds from each on */
	Sums		before = make_sums(p);
	Sums		others = make_sums(p);

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
	Sums	   *sums;

	if (cv->rows.kept != NULL)
		sums = sum_kept(fcinfo, cv);
	else
	{
		gr_ingest_prepare(cv->rows.query, fcinfo->flinfo->fn_oid, GR_GAUSSIAN, &cv->roles, &cv->ingest);
		sums = sum_query(cv);
	}
	gr_check_terms(cv->ingest.nfeatures, cv->ingest.intercept);
	if (cv->n < 2)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cross-validation needs two folds or more, got %d", cv->n),
				 errhint("Name a column of folds, or a key, that differs among the rows.")));
	validate(cv, sums);
}
