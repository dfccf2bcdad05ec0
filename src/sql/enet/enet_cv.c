/*
 * enet_cv.c: cross-validation of elastic nets; see enet_cv.h.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/typcache.h"

#include "compute/linalg/gram_shift.h"
#include "rows/sums/fold_rows.h"
#include "run/args.h"
#include "run/raise.h"
#include "sql/enet/enet_cv.h"

/* The fields of gpu_enet_cv, in the order of its definition */
enum
{
	CV_LAMBDA, CV_MEAN, CV_STD_ERROR, CV_DF, CV_LAMBDA_MIN, CV_LAMBDA_1SE, CV_NFOLDS, CV_MODEL_MIN, CV_MODEL_1SE,
	CV_NFIELDS
};

static GrFoldSums
make_sums(int nfeatures)
{
	Size		triangle = gr_triangle(gr_norder(nfeatures));
	GrFoldSums	sums;

	sums.hi = palloc_extended((2 * triangle + gr_nterms(nfeatures)) * sizeof(double), MCXT_ALLOC_HUGE);
	sums.lo = sums.hi + triangle;
	sums.shift = sums.lo + triangle;
	sums.nobs = 0;
	return sums;
}

static void
copy_sums(GrFoldSums *to, const double *hi, const double *lo, const double *shift, int64 nobs, int nfeatures)
{
	Size		triangle = gr_triangle(gr_norder(nfeatures));

	memcpy(to->hi, hi, triangle * sizeof(double));
	memcpy(to->lo, lo, triangle * sizeof(double));
	memcpy(to->shift, shift, gr_nterms(nfeatures) * sizeof(double));
	to->nobs = nobs;
}

static void
merge_sums(GrFoldSums *to, const GrFoldSums *from, int nfeatures)
{
	GrPoll		poll = {.host = &gr_host};
	GrError		err = {0};

	if (!gr_gram_merge_shifted(to->hi, to->lo, to->shift, from->hi, from->lo, from->shift, nfeatures, &poll))
	{
		(void) gr_fail(&err, GR_CANCELED, 0, "Gram matrix");
		gr_raise(&err);
	}
	gr_add_count(&to->nobs, from->nobs);
}

GrFolds *
gr_folds_create(int nfeatures, const char *const *names)
{
	GrFolds    *folds = palloc0(sizeof(GrFolds));

	folds->nfeatures = nfeatures;
	folds->capacity = 16;
	folds->fold = palloc(folds->capacity * sizeof(GrFoldSums));
	if (names != NULL)
	{
		folds->names = palloc((nfeatures + 1) * sizeof(char *));
		for (int k = 0; k <= nfeatures; k++)
			folds->names[k] = pstrdup(names[k]);
	}
	return folds;
}

void
gr_folds_add(GrFolds *folds, const double *hi, const double *lo, const double *shift, int64 nobs, int64 nskipped,
			 double log_constant)
{
	gr_add_count(&folds->nskipped, nskipped);
	/* rows of weight 0 alone */
	if (!(hi[0] > 0))
		return;
	if (folds->n == folds->capacity)
	{
		folds->capacity *= 2;
		folds->fold = repalloc(folds->fold, folds->capacity * sizeof(GrFoldSums));
	}
	folds->fold[folds->n] = make_sums(folds->nfeatures);
	copy_sums(&folds->fold[folds->n], hi, lo, shift, nobs, folds->nfeatures);
	folds->n++;
	folds->log_constant += log_constant;
}

/*
 * The paths
 */

static GrEnetSums
as_sums(const GrFolds *folds, const GrFoldSums *sums)
{
	return (GrEnetSums) {
		.hi = sums->hi,.lo = sums->lo,.shift = sums->shift,.nfeatures = folds->nfeatures,.nobs = sums->nobs,
		.names = (const char *const *) folds->names
	};
}

static int
count_terms(const GrFolds *folds)
{
	return folds->nfeatures + (folds->net.intercept ? 1 : 0);
}

/* The path over all rows, as far as it goes */
static void
fit_all(const GrFolds *folds, const GrFoldSums *all, void *workspace, GrFoldScores *scores)
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

/* A fold's errors under the paths over the others */
static void
score_fold(const GrFolds *folds, const GrFoldSums *others, const GrFoldSums *fold, void *workspace,
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
		error[k] = gr_path_rss(fold->hi, fold->lo, fold->shift, folds->nfeatures, folds->net.intercept, coef, work) /
			fold->hi[0];
	}
	pfree(coef);
	pfree(work);
}

/* cv.glmnet's mean and standard error: folds weigh what their rows do */
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
gr_check_nfolds(int n)
{
	if (n < 2 || n > GR_NET_FOLDS_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("folds must be between 2 and %d, got %d", GR_NET_FOLDS_MAX, n)));
}

void
gr_folds_check(int n)
{
	if (n < 2)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cross-validation needs two folds or more, got %d", n),
				 errhint("Each fold needs rows, or a state of its own, for instance of a number modulo 10.")));
}

void
gr_folds_validate(const GrFolds *folds, GrFoldScores *scores)
{
	int			p = folds->nfeatures;
	GrFoldSums *rest = palloc((folds->n + 1) * sizeof(GrFoldSums));	/* of the folds from each on */
	GrFoldSums	before;
	GrFoldSums	others;
	double	   *weight = palloc((folds->n + 1) * sizeof(double));
	void	   *workspace;

	gr_folds_check(folds->n);
	before = make_sums(p);
	others = make_sums(p);
	workspace = gr_enet_workspace(&folds->net, p);
	for (int f = folds->n - 1; f >= 0; f--)
	{
		const GrFoldSums *from = &folds->fold[f];

		rest[f] = make_sums(p);
		copy_sums(&rest[f], from->hi, from->lo, from->shift, from->nobs, p);
		if (f + 1 < folds->n)
			merge_sums(&rest[f], &rest[f + 1], p);
	}
	fit_all(folds, &rest[0], workspace, scores);
	scores->error = palloc_extended((Size) folds->n * scores->n * sizeof(double), MCXT_ALLOC_HUGE);
	for (int f = 0; f < folds->n; f++)
		weight[f] = folds->fold[f].hi[0];
	for (int f = 0; f < folds->n; f++)
	{
		const GrFoldSums *from = f == 0 ? &rest[1] : &before;

		copy_sums(&others, from->hi, from->lo, from->shift, from->nobs, p);
		if (f > 0 && f + 1 < folds->n)
			merge_sums(&others, &rest[f + 1], p);
		score_fold(folds, &others, &folds->fold[f], workspace, scores, scores->error + (Size) f * scores->n);
		if (f == 0)
			copy_sums(&before, folds->fold[0].hi, folds->fold[0].lo, folds->fold[0].shift, folds->fold[0].nobs, p);
		else
			merge_sums(&before, &folds->fold[f], p);
	}
	gr_folds_summarise(scores, weight, folds->n);
}

void
gr_folds_model(const GrFolds *folds, const GrFoldScores *scores, int k, GrModel *model)
{
	GrEnetSums	sums = {.nfeatures = folds->nfeatures,.names = (const char *const *) folds->names};

	for (int f = 0; f < folds->n; f++)
		gr_add_count(&sums.nobs, folds->fold[f].nobs);
	gr_enet_model(model, &folds->net, &sums, &scores->point[k], scores->coef + (Size) k * count_terms(folds),
				  folds->log_constant);
	model->nskipped = folds->nskipped;
}

/*
 * The result
 */

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
