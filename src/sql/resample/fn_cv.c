/*
 * fn_cv.c: cross-validation over a query or kept rows: gpu_ols_cv and gpu_logreg_cv.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include "rows/state/fold_key.h"
#include "run/args.h"
#include "run/clock.h"
#include "run/report.h"
#include "run/result.h"
#include "sql/glm/glm_fit.h"
#include "sql/model/fit_arguments.h"
#include "sql/resample/cv_linear.h"
#include "sql/resample/cv_logistic.h"

PG_FUNCTION_INFO_V1(gr_ols_cv);
PG_FUNCTION_INFO_V1(gr_logreg_cv);

enum
{
	ARG_QUERY, ARG_FOLDS, ARG_FOLD, ARG_KEY, ARG_SEED, ARG_INTERCEPT, ARG_FORMULA, ARG_WEIGHTS, ARG_L2, ARG_KEPT,
	ARG_ROWS
};

/*
 * Arguments
 */

/* Raises an ERROR if an argument is NULL that must not be. query may be NULL if the argument kept is not. */
static void
check_nulls(FunctionCallInfo fcinfo)
{
	static const struct
	{
		int			number;
		const char *name;
	}			arguments[] = {
		{ARG_FOLDS, "folds"}, {ARG_SEED, "seed"}, {ARG_INTERCEPT, "intercept"}, {ARG_L2, "l2"}
	};

	for (int k = 0; k < (int) lengthof(arguments); k++)
		if (PG_ARGISNULL(arguments[k].number))
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("%s must not be null", arguments[k].name)));
	if (PG_ARGISNULL(ARG_QUERY) && PG_ARGISNULL(ARG_KEPT))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("query must not be null")));
}

/* Reads the column of folds, or the key by which folds are drawn. Raises an ERROR unless exactly one is given. */
static void
read_folds(FunctionCallInfo fcinfo, GrRoles *roles)
{
	bool		given = !PG_ARGISNULL(ARG_FOLD);

	if (given != PG_ARGISNULL(ARG_KEY))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 given ? errmsg("fold and key cannot be used together") :
				 errmsg("%s needs key or fold", gr_called_name(fcinfo)),
				 errdetail("The fold of a row is drawn from its key, or read from a column."),
				 errhint("Name a column that identifies each row, as in key => 'id', or an integer column of folds, as "
						 "in fold => 'fold'.")));
	roles->key = text_to_cstring(PG_GETARG_TEXT_PP(given ? ARG_FOLD : ARG_KEY));
	roles->key_role = given ? "fold" : "key";
	roles->key_is_fold = given;
	roles->nfolds = given ? 0 : PG_GETARG_INT32(ARG_FOLDS);
	roles->fold_seed = (uint64) PG_GETARG_INT64(ARG_SEED);
}

static void
read_arguments(FunctionCallInfo fcinfo, GrCv *cv)
{
	check_nulls(fcinfo);
	gr_check_key_folds(PG_GETARG_INT32(ARG_FOLDS));
	(void) gr_fit_arguments(fcinfo, ARG_QUERY, ARG_KEPT, ARG_ROWS, &cv->rows);
	cv->l2 = PG_GETARG_FLOAT8(ARG_L2);
	gr_check_l2(cv->l2);
	cv->roles = gr_role_arguments(fcinfo, ARG_WEIGHTS, -1, -1);
	gr_formula_argument(fcinfo, ARG_FORMULA, PG_GETARG_BOOL(ARG_INTERCEPT), &cv->roles);
	read_folds(fcinfo, &cv->roles);
}

/*
 * Results
 */

/* Computes the means over all folds, and cv.glmnet's standard errors: folds are weighted by their rows' weights. */
static void
pool(GrCv *cv, double *error_of_error, double *error_of_misclassified)
{
	double		total = 0;
	double		away = 0;
	double		wrong_away = 0;
	GrCvFold   *all = &cv->all;

	all->error = all->misclassified = 0;
	for (int k = 0; k < cv->n; k++)
	{
		const GrCvFold *fold = &cv->fold[k];

		total += fold->weight;
		all->ntest += fold->ntest;
		all->error += fold->weight * fold->error;
		all->misclassified += fold->weight * fold->misclassified;
	}
	all->error /= total;
	all->misclassified /= total;
	for (int k = 0; k < cv->n; k++)
	{
		const GrCvFold *fold = &cv->fold[k];

		away += fold->weight * (fold->error - all->error) * (fold->error - all->error);
		wrong_away += fold->weight * (fold->misclassified - all->misclassified) *
			(fold->misclassified - all->misclassified);
	}
	*error_of_error = sqrt(away / total / (cv->n - 1));
	*error_of_misclassified = sqrt(wrong_away / total / (cv->n - 1));
}

static Datum
term_names(const GrCv *cv)
{
	Datum	   *terms = palloc(Max(cv->model.nterms, 1) * sizeof(Datum));

	for (int k = 0; k < cv->model.nterms; k++)
		terms[k] = CStringGetTextDatum(gr_model_term(&cv->model, k));
	return PointerGetDatum(construct_array(terms, cv->model.nterms, TEXTOID, -1, false, TYPALIGN_INT));
}

/*
 * Adds a fold's row to the result. logistic: with the columns that only logistic regressions have. error, wrong_error:
 * standard errors of the pooled errors; NaN for a single fold.
 */
static void
put_fold(ReturnSetInfo *rsinfo, const GrCv *cv, const GrCvFold *fold, Datum terms, bool logistic, double error,
		 double wrong_error)
{
	GrModel		model = cv->model;
	Datum		values[11] = {
		Int64GetDatum(fold->label), Int64GetDatum(fold->ntrain), Int64GetDatum(fold->ntest), terms
	};
	bool		nulls[11] = {fold == &cv->all};
	int			at = 5;

	model.coef = fold->coef;
	values[4] = PointerGetDatum(gr_model_coefficients(&model));
	if (logistic)
	{
		values[at++] = Int32GetDatum(fold->iterations);
		values[at++] = BoolGetDatum(fold->converged);
	}
	gr_set_float(&values[at], &nulls[at], fold->error);
	at++;
	gr_set_float(&values[at], &nulls[at], error);
	at++;
	gr_set_float(&values[at], &nulls[at], fold->misclassified);
	at++;
	gr_set_float(&values[at], &nulls[at], wrong_error);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

static Datum
cross_validate(FunctionCallInfo fcinfo, const char *name, bool logistic)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	GrCv		cv = {.name = name,.started = gr_now()};
	ErrorContextCallback context;
	double		error;
	double		wrong_error;
	Datum		terms;

	InitMaterializedSRF(fcinfo, 0);
	read_arguments(fcinfo, &cv);
	gr_enter_query(&context, cv.rows.query);
	if (logistic)
		gr_cv_logistic(fcinfo, &cv);
	else
		gr_cv_linear(fcinfo, &cv);
	gr_record_solved(cv.started);
	gr_leave_query(&context);
	cv.model.intercept = cv.data->ingest.intercept;
	cv.model.nterms = cv.data->ingest.nfeatures + (cv.data->ingest.intercept ? 1 : 0);
	gr_model_name_terms(&cv.model, cv.data->ingest.names);
	pool(&cv, &error, &wrong_error);
	terms = term_names(&cv);
	for (int k = 0; k < cv.n; k++)
		put_fold(rsinfo, &cv, &cv.fold[k], terms, logistic, NAN, NAN);
	put_fold(rsinfo, &cv, &cv.all, terms, logistic, error, wrong_error);
	return (Datum) 0;
}

/*
 * gpu_ols_cv(query text, folds int, fold text, key text, seed bigint, intercept boolean, formula text, weights text, l2
 * float8, kept text, rows text)
 */
Datum
gr_ols_cv(PG_FUNCTION_ARGS)
{
	return cross_validate(fcinfo, "gpu_ols_cv", false);
}

/* gpu_logreg_cv(arguments as gpu_ols_cv): cross-validates a logistic regression. */
Datum
gr_logreg_cv(PG_FUNCTION_ARGS)
{
	return cross_validate(fcinfo, "gpu_logreg_cv", true);
}
