/*
 * fn_enet_cv.c: gpu_enet_cv_agg: cross-validation of elastic nets from a state a fold.
 *
 * The lambdas are those of the path over all rows. For each fold a path over the rows of all others is gone along the
 * same lambdas, and each of its coefficients gives the fold's mean squared error, from the fold's own sums. The sums of
 * all others are merged, of those before the fold and those behind it, and never made by taking the fold's away, which
 * would cancel.
 *
 * Means and standard errors are cv.glmnet's: folds weigh what their rows do.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/typcache.h"

#include "compute/gram_shift.h"
#include "run/args.h"
#include "run/raise.h"
#include "sql/enet.h"

PG_FUNCTION_INFO_V1(gr_enet_cv_accum);
PG_FUNCTION_INFO_V1(gr_enet_cv_final);

/* The fields of gpu_enet_cv, in the order of its definition */
enum
{
	CV_LAMBDA, CV_MEAN, CV_STD_ERROR, CV_DF, CV_LAMBDA_MIN, CV_LAMBDA_1SE, CV_NFOLDS, CV_MODEL_MIN, CV_MODEL_1SE,
	CV_NFIELDS
};

/* Sums of rows: a fold's, or those of several */
typedef struct Sums
{
	double	   *hi;
	double	   *lo;
	double	   *shift;
	int64		nobs;
} Sums;

/* The aggregate's state */
typedef struct Folds
{
	GrEnet		net;
	int			nfeatures;
	const char **names;			/* as in gr_raise_columns() */
	int			n;
	int			capacity;
	Sums	   *fold;
	int64		nskipped;
	double		log_constant;
} Folds;

/* What a lambda comes to */
typedef struct Scores
{
	int			n;
	double	   *lambda;
	GrPathPoint *point;			/* of the path over all rows */
	double	   *coef;			/* nterms each */
	double	   *error;			/* a fold's mean squared error: nfolds x n */
	double	   *mean;
	double	   *std_error;
} Scores;

static Sums
make_sums(int nfeatures)
{
	Size		triangle = gr_triangle(gr_norder(nfeatures));
	Sums		sums;

	sums.hi = palloc_extended((2 * triangle + gr_nterms(nfeatures)) * sizeof(double), MCXT_ALLOC_HUGE);
	sums.lo = sums.hi + triangle;
	sums.shift = sums.lo + triangle;
	sums.nobs = 0;
	return sums;
}

static void
copy_sums(Sums *to, const double *hi, const double *lo, const double *shift, int64 nobs, int nfeatures)
{
	Size		triangle = gr_triangle(gr_norder(nfeatures));

	memcpy(to->hi, hi, triangle * sizeof(double));
	memcpy(to->lo, lo, triangle * sizeof(double));
	memcpy(to->shift, shift, gr_nterms(nfeatures) * sizeof(double));
	to->nobs = nobs;
}

static void
merge_sums(Sums *to, const Sums *from, int nfeatures)
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

/*
 * Folds coming in
 */

/* Are arrays, or none, of n and m items the same? */
static bool
same_items(const void *a, int n, const void *b, int m, Size size)
{
	return (a == NULL) == (b == NULL) && (a == NULL || (n == m && memcmp(a, b, n * size) == 0));
}

static bool
same_net(const GrEnet *a, const GrEnet *b)
{
	return a->alpha == b->alpha && a->intercept == b->intercept && a->standardize == b->standardize &&
		a->nlambda == b->nlambda && a->min_ratio == b->min_ratio && a->all_positive == b->all_positive &&
		same_items(a->lambda, a->nlambda, b->lambda, b->nlambda, sizeof(double)) &&
		same_items(a->penalty, a->npenalty, b->penalty, b->npenalty, sizeof(double)) &&
		same_items(a->positive, a->npositive, b->positive, b->npositive, sizeof(bool));
}

/* Reads the arguments behind the state, which are the same for all rows; false: one is NULL that must not be. */
static bool
read_arguments(FunctionCallInfo fcinfo, GrEnet *net)
{
	GrEnetPlaces places = {-1, -1, -1, -1, -1, -1, -1, -1};

	if (PG_NARGS() > 2)
		places.alpha = 2;
	if (PG_NARGS() > 3)
		places = (GrEnetPlaces) {
			.alpha = 2,.nlambda = 3,.lambda = 4,.min_ratio = 5,.penalty = 6,.positive = 7,.intercept = 8,
			.standardize = 9
		};
	return gr_enet_arguments(fcinfo, &places, net);
}

static const char **
copy_names(const char *const *names, int n)
{
	const char **copy = names == NULL ? NULL : palloc(n * sizeof(char *));

	for (int k = 0; k < n && names != NULL; k++)
		copy[k] = pstrdup(names[k]);
	return copy;
}

/* The first fold's state, in the aggregate's memory, where all that was read is to be */
static Folds *
begin_folds(FunctionCallInfo fcinfo, const GrStats *stats)
{
	Folds	   *folds = palloc0(sizeof(Folds));

	if (!read_arguments(fcinfo, &folds->net))
		folds->net.nlambda = 0;
	folds->nfeatures = stats->nfeatures;
	folds->names = copy_names(gr_stats_names(stats), stats->nfeatures + 1);
	folds->capacity = 16;
	folds->fold = palloc(folds->capacity * sizeof(Sums));
	return folds;
}

static void
check_same(FunctionCallInfo fcinfo, const Folds *folds, const GrStats *stats)
{
	GrEnet		net;

	if (stats->nfeatures != folds->nfeatures)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cannot combine states with different numbers of features"),
				 errdetail("One has %d, the other has %d.", Min(stats->nfeatures, folds->nfeatures),
						   Max(stats->nfeatures, folds->nfeatures))));
	if (!read_arguments(fcinfo, &net))
		net.nlambda = 0;
	if (net.nlambda != folds->net.nlambda || (net.nlambda > 0 && !same_net(&net, &folds->net)))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the arguments behind the state must be the same for all folds")));
}

/*
 * gpu_enet_cv_accum(internal, stats gpu_ols_stats [, alpha float8 [, nlambda int, lambda float8[], lambda_min_ratio
 * float8, penalty_factor float8[], positive "any", intercept boolean, standardize boolean, features "any", response
 * "any"]]): takes a fold; states that are NULL or without a row are none
 */
Datum
gr_enet_cv_accum(PG_FUNCTION_ARGS)
{
	Folds	   *folds = PG_ARGISNULL(0) ? NULL : (Folds *) PG_GETARG_POINTER(0);
	MemoryContext aggregate;
	MemoryContext caller;
	GrStats		stats;

	if (!AggCheckCallContext(fcinfo, &aggregate))
		elog(ERROR, "gpu_enet_cv_accum called in non-aggregate context");
	if (PG_ARGISNULL(1) || !gr_stats_arguments(fcinfo, 1, PG_NARGS() > 10 ? 10 : -1, PG_NARGS() > 11 ? 11 : -1, &stats) ||
		!(stats.hi[0] > 0))
	{
		if (folds == NULL)
			PG_RETURN_NULL();
		PG_RETURN_POINTER(folds);
	}
	if (folds != NULL)
		check_same(fcinfo, folds, &stats);
	caller = MemoryContextSwitchTo(aggregate);
	if (folds == NULL)
		folds = begin_folds(fcinfo, &stats);
	if (folds->n == folds->capacity)
	{
		folds->capacity *= 2;
		folds->fold = repalloc(folds->fold, folds->capacity * sizeof(Sums));
	}
	folds->fold[folds->n] = make_sums(folds->nfeatures);
	copy_sums(&folds->fold[folds->n], stats.hi, stats.lo, stats.shift, stats.nobs, folds->nfeatures);
	folds->n++;
	MemoryContextSwitchTo(caller);
	gr_add_count(&folds->nskipped, stats.state->nskipped);
	folds->log_constant += stats.state->log_constant;
	PG_RETURN_POINTER(folds);
}

/*
 * The paths
 */

static GrEnetSums
as_sums(const Folds *folds, const Sums *sums)
{
	return (GrEnetSums) {
		.hi = sums->hi,.lo = sums->lo,.shift = sums->shift,.nfeatures = folds->nfeatures,.nobs = sums->nobs,
		.names = (const char *const *) folds->names
	};
}

static int
count_terms(const Folds *folds)
{
	return folds->nfeatures + (folds->net.intercept ? 1 : 0);
}

/* The path over all rows, as far as it goes */
static void
fit_all(const Folds *folds, const Sums *all, void *workspace, Scores *scores)
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
score_fold(const Folds *folds, const Sums *others, const Sums *fold, void *workspace, const Scores *scores,
		   double *error)
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
static void
summarise(const Folds *folds, Scores *scores)
{
	int			n = scores->n;

	scores->mean = palloc(n * sizeof(double));
	scores->std_error = palloc(n * sizeof(double));
	for (int k = 0; k < n; k++)
	{
		double		total = 0;
		double		sum = 0;
		double		square = 0;

		for (int f = 0; f < folds->n; f++)
		{
			total += folds->fold[f].hi[0];
			sum += folds->fold[f].hi[0] * scores->error[(Size) f * n + k];
		}
		for (int f = 0; f < folds->n; f++)
		{
			double		away = scores->error[(Size) f * n + k] - sum / total;

			square += folds->fold[f].hi[0] * away * away;
		}
		scores->mean[k] = sum / total;
		scores->std_error[k] = sqrt(square / total / (folds->n - 1));
	}
}

/* The last of the sums are those of the folds from there on; the first is that of all. */
static void
cross_validate(const Folds *folds, Scores *scores)
{
	int			p = folds->nfeatures;
	Sums	   *rest = palloc(folds->n * sizeof(Sums));
	Sums		before = make_sums(p);
	Sums		others = make_sums(p);
	void	   *workspace = gr_enet_workspace(&folds->net, p);

	for (int f = folds->n - 1; f >= 0; f--)
	{
		const Sums *from = &folds->fold[f];

		rest[f] = make_sums(p);
		copy_sums(&rest[f], from->hi, from->lo, from->shift, from->nobs, p);
		if (f + 1 < folds->n)
			merge_sums(&rest[f], &rest[f + 1], p);
	}
	fit_all(folds, &rest[0], workspace, scores);
	scores->error = palloc_extended((Size) folds->n * scores->n * sizeof(double), MCXT_ALLOC_HUGE);
	for (int f = 0; f < folds->n; f++)
	{
		const Sums *from = f == 0 ? &rest[1] : &before;

		copy_sums(&others, from->hi, from->lo, from->shift, from->nobs, p);
		if (f > 0 && f + 1 < folds->n)
			merge_sums(&others, &rest[f + 1], p);
		score_fold(folds, &others, &folds->fold[f], workspace, scores, scores->error + (Size) f * scores->n);
		if (f == 0)
			copy_sums(&before, folds->fold[0].hi, folds->fold[0].lo, folds->fold[0].shift, folds->fold[0].nobs, p);
		else
			merge_sums(&before, &folds->fold[f], p);
	}
	summarise(folds, scores);
}

/*
 * The result
 */

/* The largest lambda whose mean error is at most this */
static int
first_within(const Scores *scores, double most)
{
	for (int k = 0; k < scores->n; k++)
		if (scores->mean[k] <= most)
			return k;
	return scores->n - 1;
}

static Datum
model_at(const Folds *folds, const Scores *scores, int k, int64 nobs, TupleDesc row)
{
	GrEnetSums	sums = {.nfeatures = folds->nfeatures,.nobs = nobs,.names = (const char *const *) folds->names};
	GrModel		model;

	gr_enet_model(&model, &folds->net, &sums, &scores->point[k], scores->coef + (Size) k * count_terms(folds),
				  folds->log_constant);
	model.nskipped = folds->nskipped;
	return gr_model_row(row, &model);
}

static Datum
df_array(const Scores *scores)
{
	Datum	   *items = palloc(scores->n * sizeof(Datum));

	for (int k = 0; k < scores->n; k++)
		items[k] = Int32GetDatum(scores->point[k].df);
	return PointerGetDatum(construct_array(items, scores->n, INT4OID, sizeof(int32), true, TYPALIGN_INT));
}

static Datum
cv_datum(FunctionCallInfo fcinfo, const Folds *folds, const Scores *scores)
{
	TupleDesc	tupdesc;
	TupleDesc	row;
	Datum		values[CV_NFIELDS];
	bool		nulls[CV_NFIELDS] = {false};
	int			least = 0;
	int			within;
	int64		nobs = 0;

	if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE || tupdesc->natts != CV_NFIELDS)
		elog(ERROR, "result type is not gpu_enet_cv");
	row = lookup_rowtype_tupdesc_copy(TupleDescAttr(tupdesc, CV_MODEL_MIN)->atttypid, -1);
	for (int f = 0; f < folds->n; f++)
		gr_add_count(&nobs, folds->fold[f].nobs);
	for (int k = 1; k < scores->n; k++)
		if (scores->mean[k] < scores->mean[least])
			least = k;
	within = first_within(scores, scores->mean[least] + scores->std_error[least]);
	values[CV_LAMBDA] = gr_enet_array(scores->lambda, scores->n);
	values[CV_MEAN] = gr_enet_array(scores->mean, scores->n);
	values[CV_STD_ERROR] = gr_enet_array(scores->std_error, scores->n);
	values[CV_DF] = df_array(scores);
	values[CV_LAMBDA_MIN] = Float8GetDatum(scores->lambda[least]);
	values[CV_LAMBDA_1SE] = Float8GetDatum(scores->lambda[within]);
	values[CV_NFOLDS] = Int32GetDatum(folds->n);
	values[CV_MODEL_MIN] = model_at(folds, scores, least, nobs, row);
	values[CV_MODEL_1SE] = model_at(folds, scores, within, nobs, row);
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(tupdesc), values, nulls));
}

/* The final function: NULL without a fold */
Datum
gr_enet_cv_final(PG_FUNCTION_ARGS)
{
	const Folds *folds;
	Scores		scores;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	folds = (const Folds *) PG_GETARG_POINTER(0);
	if (folds->net.nlambda == 0)
		PG_RETURN_NULL();
	if (folds->n < 2)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cross-validation needs two folds or more, got %d", folds->n),
				 errhint("Give one state for each fold, for instance of rows grouped by a number modulo 10.")));
	cross_validate(folds, &scores);
	return cv_datum(fcinfo, folds, &scores);
}
