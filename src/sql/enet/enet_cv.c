/*
 * enet_cv.c: cross-validates elastic nets; see enet_cv.h.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/typcache.h"

#include "rows/sums/fold_rows.h"
#include "run/args.h"
#include "run/grams.h"
#include "run/raise.h"
#include "sql/enet/enet_cv.h"

/* Fields of gpu_enet_cv, in the order of its definition */
enum
{
	CV_LAMBDA, CV_MEAN, CV_STD_ERROR, CV_DF, CV_LAMBDA_MIN, CV_LAMBDA_1SE, CV_NFOLDS, CV_MODEL_MIN, CV_MODEL_1SE,
	CV_NFIELDS
};

GrFolds *
gr_folds_create(int nfeatures, const char *const *names)
{
	GrFolds    *folds = palloc0(sizeof(GrFolds));

	folds->nfeatures = nfeatures;
	folds->capacity = 16;
	folds->fold = palloc(folds->capacity * sizeof(GrGram));
	if (names != NULL)
	{
		folds->names = palloc((nfeatures + 1) * sizeof(char *));
		for (int k = 0; k <= nfeatures; k++)
			folds->names[k] = pstrdup(names[k]);
	}
	return folds;
}

void
gr_folds_add(GrFolds *folds, const GrGram *gram, int64 nskipped)
{
	gr_add_count(&folds->nskipped, nskipped);
	/* the fold has only rows of weight 0 */
	if (!(gram->hi[0] > 0))
		return;
	if (folds->n == folds->capacity)
	{
		folds->capacity *= 2;
		folds->fold = repalloc(folds->fold, folds->capacity * sizeof(GrGram));
	}
	folds->fold[folds->n++] = gr_gram_duplicate(gram);
	folds->log_constant += gram->log_constant;
}

/*
 * Paths
 */

static GrEnetSums
as_sums(const GrFolds *folds, const GrGram *gram)
{
	return (GrEnetSums) {.gram = *gram,.names = (const char *const *) folds->names};
}

static int
count_terms(const GrFolds *folds)
{
	return folds->nfeatures + (folds->net.intercept ? 1 : 0);
}

/* Computes the path over all rows, as far as it goes. */
static void
fit_all(const GrFolds *folds, const GrGram *all, void *workspace, GrFoldScores *scores)
{
	GrEnetSums	sums = as_sums(folds, all);
	int			nterms = count_terms(folds);
	GrPath		path;
	int			n;
	int			k;

	gr_enet_open(&folds->net, &sums, workspace, false, &path);
	scores->lambda = gr_enet_lambdas(&folds->net, &sums, &path, &n);
	scores->point = palloc_extended(n * sizeof(GrPathPoint), MCXT_ALLOC_HUGE);
	scores->coef = palloc_extended((Size) n * nterms * sizeof(double), MCXT_ALLOC_HUGE);
	for (k = 0; k < n; k++)
	{
		CHECK_FOR_INTERRUPTS();
		gr_enet_step(&path, &sums, scores->lambda[k], &scores->point[k], scores->coef + (Size) k * nterms);
		if (folds->net.lambda == NULL && k > 0 && gr_path_ends(&path, &scores->point[k - 1], &scores->point[k], k, n))
		{
			k++;
			break;
		}
	}
	scores->n = k;
}

/* Computes a fold's errors by the path over the other folds. */
static void
score_fold(const GrFolds *folds, const GrGram *others, const GrGram *fold, void *workspace,
		   const GrFoldScores *scores, double *error)
{
	GrEnetSums	sums = as_sums(folds, others);
	double	   *coef = palloc(gr_nterms(folds->nfeatures) * sizeof(double));
	double	   *work = palloc(2 * gr_norder(folds->nfeatures) * sizeof(double));
	GrPath		path;

	gr_enet_open(&folds->net, &sums, workspace, true, &path);
	for (int k = 0; k < scores->n; k++)
	{
		GrPathPoint point;

		CHECK_FOR_INTERRUPTS();
		gr_enet_step(&path, &sums, scores->lambda[k], &point, coef);
		error[k] = gr_path_rss(fold, folds->net.intercept, coef, work) / fold->hi[0];
	}
	pfree(coef);
	pfree(work);
}

/* Means and standard errors as in cv.glmnet: folds are weighted by their rows' weights. */
void
gr_folds_summarise(GrFoldScores *scores, const double *weight, int nfolds)
{
	int			n = scores->n;

	scores->mean = palloc(n * sizeof(double));
	scores->std_error = palloc(n * sizeof(double));
	for (int k = 0; k < n; k++)
	{
		double		total = 0;
		double		sum = 0;
		double		square = 0;

		for (int f = 0; f < nfolds; f++)
		{
			total += weight[f];
			sum += weight[f] * scores->error[(Size) f * n + k];
		}
		for (int f = 0; f < nfolds; f++)
		{
			double		away = scores->error[(Size) f * n + k] - sum / total;

			square += weight[f] * away * away;
		}
		scores->mean[k] = sum / total;
		scores->std_error[k] = sqrt(square / total / (nfolds - 1));
	}
	scores->least = 0;
	for (int k = 1; k < n; k++)
		if (scores->mean[k] < scores->mean[scores->least])
			scores->least = k;
	scores->within = 0;
	while (scores->mean[scores->within] > scores->mean[scores->least] + scores->std_error[scores->least])
		scores->within++;
}

void
gr_folds_check(int n)
{
	if (n < 2)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cross-validation needs at least two folds, got %d", n),
				 errhint("Use folds that have rows. For gpu_enet_cv_agg, aggregate one state per fold, as with GROUP "
						 "BY id %% 10.")));
}

void
gr_folds_validate(const GrFolds *folds, GrFoldScores *scores)
{
	int			p = folds->nfeatures;
	GrGram	   *rest = palloc((folds->n + 1) * sizeof(GrGram));	/* rest[f]: sums of fold f and those after it */
	GrGram		before;
	GrGram		others;
	double	   *weight = palloc((folds->n + 1) * sizeof(double));
	void	   *workspace;

	gr_folds_check(folds->n);
	before = gr_gram_make(p);
	others = gr_gram_make(p);
	workspace = gr_enet_workspace(&folds->net, p);
	for (int f = folds->n - 1; f >= 0; f--)
	{
		rest[f] = gr_gram_duplicate(&folds->fold[f]);
		if (f + 1 < folds->n)
			gr_gram_join(&rest[f], &rest[f + 1]);
	}
	fit_all(folds, &rest[0], workspace, scores);
	scores->error = palloc_extended((Size) folds->n * scores->n * sizeof(double), MCXT_ALLOC_HUGE);
	for (int f = 0; f < folds->n; f++)
		weight[f] = folds->fold[f].hi[0];
	for (int f = 0; f < folds->n; f++)
	{
		gr_gram_copy(&others, f == 0 ? &rest[1] : &before);
		if (f > 0 && f + 1 < folds->n)
			gr_gram_join(&others, &rest[f + 1]);
		score_fold(folds, &others, &folds->fold[f], workspace, scores, scores->error + (Size) f * scores->n);
		if (f == 0)
			gr_gram_copy(&before, &folds->fold[0]);
		else
			gr_gram_join(&before, &folds->fold[f]);
	}
	gr_folds_summarise(scores, weight, folds->n);
}

void
gr_folds_model(const GrFolds *folds, const GrFoldScores *scores, int k, GrModel *model)
{
	GrEnetSums	sums = {
		.gram = {.nfeatures = folds->nfeatures,.log_constant = folds->log_constant},
		.names = (const char *const *) folds->names
	};

	for (int f = 0; f < folds->n; f++)
		gr_add_count(&sums.gram.nobs, folds->fold[f].nobs);
	gr_enet_model(model, &folds->net, &sums, &scores->point[k], scores->coef + (Size) k * count_terms(folds));
	model->nskipped = folds->nskipped;
}

/*
 * Results
 */

/* Returns an int[]: the degrees of freedom at each lambda of the path over all rows. */
static Datum
df_array(const GrFoldScores *scores)
{
	Datum	   *items = palloc(scores->n * sizeof(Datum));

	for (int k = 0; k < scores->n; k++)
		items[k] = Int32GetDatum(scores->point[k].df);
	return PointerGetDatum(construct_array(items, scores->n, INT4OID, sizeof(int32), true, TYPALIGN_INT));
}

Datum
gr_folds_datum(FunctionCallInfo fcinfo, const GrFoldScores *scores, int nfolds, const GrModel *least,
			   const GrModel *within)
{
	TupleDesc	tupdesc;
	TupleDesc	row;
	Datum		values[CV_NFIELDS];
	bool		nulls[CV_NFIELDS] = {false};

	if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE || tupdesc->natts != CV_NFIELDS)
		elog(ERROR, "result type is not gpu_enet_cv");
	row = lookup_rowtype_tupdesc_copy(TupleDescAttr(tupdesc, CV_MODEL_MIN)->atttypid, -1);
	values[CV_LAMBDA] = gr_enet_array(scores->lambda, scores->n);
	values[CV_MEAN] = gr_enet_array(scores->mean, scores->n);
	values[CV_STD_ERROR] = gr_enet_array(scores->std_error, scores->n);
	values[CV_DF] = df_array(scores);
	values[CV_LAMBDA_MIN] = Float8GetDatum(scores->lambda[scores->least]);
	values[CV_LAMBDA_1SE] = Float8GetDatum(scores->lambda[scores->within]);
	values[CV_NFOLDS] = Int32GetDatum(nfolds);
	values[CV_MODEL_MIN] = gr_model_row(row, least);
	values[CV_MODEL_1SE] = gr_model_row(row, within);
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(tupdesc), values, nulls));
}
