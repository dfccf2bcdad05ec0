/*
 * predict_interval.c: gpu_predict_interval and gpu_leverage: the uncertainty of a prediction.
 *
 * The linear predictor x' b has the variance x' V x, where V are the coefficients' covariances. Sums are in
 * double-double, so digits are lost only to the rounding of V to float8, where covariances cancel.
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/builtins.h"

#include "compute/base/dd.h"
#include "compute/dist/inference.h"
#include "run/args.h"
#include "sql/model/combination.h"
#include "sql/model/model.h"
#include "sql/model/predict.h"

PG_FUNCTION_INFO_V1(gr_predict_interval);
PG_FUNCTION_INFO_V1(gr_leverage);

/* Data that gpu_predict_interval keeps between calls. */
typedef struct IntervalCall
{
	GrPredictCalls calls;
	TupleDesc	tupdesc;
	HeapTuple	row;			/* a row without NULLs, which others are copied from */
	double		conf_level;		/* conf_level and df that quantile was computed for */
	double		df;
	double		quantile;
} IntervalCall;

/* A linear predictor and its standard error. */
typedef struct Predicted
{
	double		eta;
	bool		finite;			/* true if every addend of eta is finite */
	bool		known;			/* true if the model has covariances of all terms that are used */
	double		error;			/* standard error of eta, if known */
	double		df;				/* degrees of freedom of the limits: the least of the terms that are used */
	bool		precise;		/* the error (of a new response, if that is wanted) has six digits */
	double		eta_noise;		/* bound on the error of eta that rounding the coefficients to float8 causes */
} Predicted;

/*
 * The standard error of a linear predictor
 */

/* Returns the values of all terms, 0 for terms without a coefficient. */
static GrDD *
term_values(const GrPredictor *model, const GrFeatures *features)
{
	int			first = model->intercept ? 1 : 0;
	const double *at = model->coef;
	GrDD	   *x = palloc_extended((model->nfeatures + 1) * sizeof(GrDD), MCXT_ALLOC_HUGE);

	if (model->intercept)
		x[0] = gr_dd(1);
	gr_predict_pairs(model, features, x + first);
	for (int k = 0; k < first + model->nfeatures; k++)
	{
		if (isnan(gr_next_coef(model, k, &at)))
			x[k] = gr_dd(0);
		gr_poll_loop(k);
	}
	return x;
}

/* Bounds the error of eta that rounding coefficients causes: half a unit of each product, as products may cancel. */
static double
noise_of_eta(const GrPredictor *model, const GrDD *x)
{
	const double *at = model->coef;
	double		sum = 0;

	for (int k = 0; k < model->nfeatures + (model->intercept ? 1 : 0); k++)
	{
		double		b = gr_next_coef(model, k, &at);

		if (!isnan(b))
			sum += fabs(b * x[k].hi);
		gr_poll_loop(k);
	}
	return DBL_EPSILON / 2 * sum;
}

/* Sets *error to infinity, or NaN, if a value is infinite or NaN. Returns false if all values are finite. */
static bool
error_of_infinite(const double *vcov, int nterms, const GrDD *x, double *error)
{
	double		sum = 0;

	for (int k = 0; k < nterms; k++)
	{
		if (!isfinite(x[k].hi))
			sum += fabs(x[k].hi) * sqrt(vcov[(Size) k * nterms + k]);
		gr_poll_loop(k);
	}
	*error = sum;
	return sum != 0;
}

static void
raise_range(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			 errmsg("the standard error of a prediction is out of range for float8"),
			 errhint("Rescale the columns that the model is fitted to.")));
}

/* Returns the least degrees of freedom of the terms whose value is not 0. */
static double
least_df(const GrPredictorError *errors, int nterms, const GrDD *x)
{
	bool	   *used = palloc_extended(nterms * sizeof(bool), MCXT_ALLOC_HUGE);
	double		df;

	for (int k = 0; k < nterms; k++)
		used[k] = x[k].hi != 0;
	df = gr_least_df(errors->df, errors->df_inference, used, nterms);
	pfree(used);
	return df;
}

/*
 * Computes the error by covariances that were prepared in an earlier call. Returns false if predict() must take the
 * longer way. more: as there.
 */
static bool
predict_ready(GrPredictorCache *cache, const GrFeatures *features, double more, Predicted *predicted)
{
	const GrPredictor *model = &cache->predictor;
	GrReadyVcov *ready;
	GrCombination c = {0};
	double		sum;

	/* features with low halves and degrees of freedom per term need all terms' weights */
	if (cache->errors.df != NULL || model->dense == NULL || (features->values == NULL && model->nfeatures > 0) ||
		(features->design != NULL && features->design->npaired > 0))
		return false;
	ready = gr_cached_vcov(cache);
	if (ready == NULL || !gr_ready_error(ready, model->intercept, features->values, &c))
		return false;
	sum = model->intercept ? fabs(model->dense[0]) : 0;
	for (int k = 0; k < model->nfeatures; k++)
		sum += fabs(model->dense[k + (model->intercept ? 1 : 0)] * features->values[k]);
	predicted->eta_noise = DBL_EPSILON / 2 * sum;
	predicted->known = true;
	predicted->error = c.error;
	predicted->precise = gr_combination_is_precise(&c, more);
	return true;
}

/* Computes eta and its error. more: variance of a new response, to be added to the square of the error; 0: none. */
static void
predict(GrPredictorCache *cache, const GrFeatures *features, double more, Predicted *predicted)
{
	const GrPredictor *model = &cache->predictor;
	const GrPredictorError *errors = &cache->errors;
	int			nterms = model->nfeatures + (model->intercept ? 1 : 0);
	GrCombination c = {.vcov = errors->vcov,.nterms = nterms,.vcov_low = model->vcov_low};

	predicted->precise = true;
	predicted->eta_noise = 0;
	predicted->eta = gr_predict_eta(model, features, &predicted->finite);
	predicted->known = false;
	predicted->df = errors->df_inference;
	if (errors->vcov == NULL || predict_ready(cache, features, more, predicted))
		return;
	c.x = term_values(model, features);
	predicted->eta_noise = noise_of_eta(model, c.x);
	if (errors->df != NULL)
		predicted->df = least_df(errors, nterms, c.x);
	if (error_of_infinite(errors->vcov, nterms, c.x, &predicted->error))
	{
		predicted->known = true;
		return;
	}
	predicted->known = gr_combination_error(&c);
	pfree(c.x);
	if (!predicted->known)
		return;
	predicted->error = c.error;
	if (isinf(predicted->error))
		raise_range();
	predicted->precise = gr_combination_is_precise(&c, more);
}

/*
 * gpu_predict_interval
 */

/* Computes the mean's limits from those of the linear predictor; they are clipped to the link's domain. */
static void
mean_limits(const GrPredictorError *errors, double eta, double low, double high, double *lower, double *upper)
{
	GrLink		link = errors->distribution.link;

	if (isnan(low) || isnan(high))
	{
		*lower = *upper = NAN;
		return;
	}
	if (link == GR_INVERSE)
	{
		/* the mean decreases with the predictor on either side of 0, where it is infinite */
		*upper = 1 / (eta > 0 && !(low > 0) ? 0.0 : low);
		*lower = 1 / (eta < 0 && !(high < 0) ? -0.0 : high);
		return;
	}
	*lower = gr_link_mean(link, low);
	*upper = gr_link_mean(link, high);
	if (link == GR_SQRT)
	{
		double		most = fmax(*lower, *upper);

		*lower = low < 0 && high > 0 ? 0 : fmin(*lower, *upper);
		*upper = most;
	}
	/* the family's means are not negative */
	if (link == GR_IDENTITY && !gr_family(errors->distribution.family)->any_response && eta >= 0)
		*lower = fmax(*lower, 0);
}

/* True if the interval is for a new response, false if for the mean. Raises an ERROR for other names. */
static bool
read_kind(const text *name)
{
	const char *kind = VARDATA_ANY(name);
	Size		nbytes = VARSIZE_ANY_EXHDR(name);

	if (nbytes != strlen("prediction") ||
		(memcmp(kind, "prediction", nbytes) != 0 && memcmp(kind, "confidence", nbytes) != 0))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("kind must be 'confidence' or 'prediction', got \"%s\"", text_to_cstring(name))));
	return kind[0] == 'p';
}

static void
check_prediction(const GrPredictorError *errors)
{
	GrDistribution distribution = errors->distribution;

	if (!gr_is_linear(distribution))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("prediction intervals are only available for linear models"),
				 errdetail("The model's family is %s, its link %s.", gr_family_name(distribution.family, false),
						   gr_link_name(distribution.link)),
				 errhint("Use kind => 'confidence' for an interval of the mean.")));
}

static IntervalCall *
open_call(FunctionCallInfo fcinfo)
{
	IntervalCall *call;
	TupleDesc	tupdesc;
	MemoryContext old;
	bool		ok = get_call_result_type(fcinfo, NULL, &tupdesc) == TYPEFUNC_COMPOSITE && tupdesc->natts == 4;

	for (int k = 0; ok && k < 4; k++)
		ok = TupleDescAttr(tupdesc, k)->atttypid == FLOAT8OID;
	if (!ok)
		elog(ERROR, "result type is not four float8");
	old = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);
	call = palloc0(sizeof(IntervalCall));
	call->calls.arguments.first_argno = 3;
	call->tupdesc = BlessTupleDesc(CreateTupleDescCopy(tupdesc));
	call->row = heap_form_tuple(call->tupdesc, (Datum[4]) {Float8GetDatum(0), Float8GetDatum(0), Float8GetDatum(0),
								Float8GetDatum(0)}, (bool[4]) {false});
	call->conf_level = NAN;
	MemoryContextSwitchTo(old);
	return fcinfo->flinfo->fn_extra = call;
}

/* Returns the quantile of t; the last one is reused, because computing it takes longer than the rest of a call. */
static double
quantile_of(IntervalCall *call, double conf_level, double df)
{
	if (call->conf_level != conf_level || call->df != df)
	{
		call->quantile = df > 0 ? gr_t_upper_quantile((1 - conf_level) / 2, df) : NAN;
		call->conf_level = conf_level;
		call->df = df;
	}
	return call->quantile;
}

/* Returns a row of numbers, none NULL. The copy of a row has the header that forming one takes long to make. */
static Datum
row_of_numbers(const IntervalCall *call, const Datum *values)
{
	HeapTupleHeader row = memcpy(palloc(call->row->t_len), call->row->t_data, call->row->t_len);
	double	   *numbers = (double *) ((char *) row + row->t_hoff);

	for (int k = 0; k < 4; k++)
		numbers[k] = DatumGetFloat8(values[k]);
	return HeapTupleHeaderGetDatum(row);
}

/* Returns the result's row. Columns that the model does not determine are NULL. */
static Datum
interval_row(IntervalCall *call, const GrPredictor *model, const GrPredictorError *errors, const Predicted *predicted,
			 bool of_response, double quantile)
{
	Datum		values[4] = {0};
	bool		nulls[4] = {false, true, true, true};
	double		mean = gr_predict_mean(model, predicted->eta, predicted->finite);
	double		error = predicted->error;
	double		std_error;
	double		margin;
	double		lower;
	double		upper;

	values[0] = Float8GetDatum(mean);
	nulls[1] = !predicted->known || !predicted->precise ||
		(of_response && !(errors->dispersion >= 0 && isfinite(errors->dispersion)));
	if (!nulls[1])
	{
		if (of_response)
			error = hypot(sqrt(errors->dispersion), error);
		std_error = error == 0 ? 0 : fabs(gr_mean_slope(model->link, predicted->eta)) * error;
		if (predicted->finite && isinf(std_error))
			raise_range();
		values[1] = Float8GetDatum(std_error);
		nulls[2] = nulls[3] = isnan(quantile);
	}
	if (!nulls[2])
	{
		margin = error == 0 ? 0 : quantile * error;
		mean_limits(errors, predicted->eta, predicted->eta - margin, predicted->eta + margin, &lower, &upper);
		/* rounding of the link's function may put limits on the wrong side of the mean */
		values[2] = Float8GetDatum(lower > mean ? mean : lower);
		values[3] = Float8GetDatum(upper < mean ? mean : upper);
	}
	if (likely(!nulls[1] && !nulls[2]))
		return row_of_numbers(call, values);
	return HeapTupleGetDatum(heap_form_tuple(call->tupdesc, values, nulls));
}

/* Raises an ERROR if a prediction interval is wanted of a model with random effects, whose variances it would need. */
static void
check_mixed(const GrPredictorError *errors, bool of_response)
{
	if (of_response && errors->mixed)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("prediction intervals are not available for a mixed model"),
				 errdetail("They would have to include the variances of the random effects."),
				 errhint("Use kind => 'confidence' for an interval of the mean over all groups.")));
}

/*
 * gpu_predict_interval(model gpu_model, kind text, conf_level float8, VARIADIC "any"), and without values: no argument
 * is NULL
 */
Datum
gr_predict_interval(PG_FUNCTION_ARGS)
{
	IntervalCall *call = fcinfo->flinfo->fn_extra;
	bool		of_response = read_kind(PG_GETARG_TEXT_PP(1));
	double		conf_level = PG_GETARG_FLOAT8(2);
	const GrPredictor *model;
	const GrPredictorError *errors;
	GrFeatures	features;
	Predicted	predicted;

	if (!(conf_level > 0 && conf_level < 1))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("conf_level must be between 0 and 1, got %g", conf_level),
				 errhint("0.95 gives 95%% confidence limits.")));
	if (unlikely(call == NULL))
		call = open_call(fcinfo);
	model = gr_cached_predictor(fcinfo, &call->calls.model, true);
	errors = &call->calls.model.errors;
	if (of_response)
		check_prediction(errors);
	check_mixed(errors, of_response);
	if (!gr_predict_features(fcinfo, &call->calls, model, &features))
		PG_RETURN_NULL();
	predict(&call->calls.model, &features, of_response && errors->dispersion > 0 ? errors->dispersion : 0, &predicted);
	if (!predicted.precise)
		gr_warn_imprecise(fcinfo, &call->calls.warned, "standard errors of predictions");
	return interval_row(call, model, errors, &predicted, of_response,
						quantile_of(call, conf_level, predicted.df));
}

/*
 * gpu_leverage
 */

static void
check_leverage(const GrPredictorError *errors)
{
	if (errors->l2 > 0 || errors->robust || errors->iv || errors->mixed)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("leverages are not available for this model"),
				 errors->robust ? errdetail("The model's covariances are robust: they depend on the residuals.") :
				 errors->iv ? errdetail("The model was fitted by two-stage least squares.") :
				 errors->mixed ? errdetail("The model has random effects.") :
				 errdetail("The model is penalised (l2)."),
				 errors->iv || errors->mixed ? 0 : errhint("Fit the model without l2 and with vcov => 'iid'.")));
}

/* gpu_leverage(model gpu_model, VARIADIC "any"), and without values: no argument is NULL */
Datum
gr_leverage(PG_FUNCTION_ARGS)
{
	GrPredictCalls *calls = fcinfo->flinfo->fn_extra;
	const GrPredictor *model;
	const GrPredictorError *errors;
	GrFeatures	features;
	Predicted	predicted;
	double		root;
	double		leverage;

	if (unlikely(calls == NULL))
	{
		fcinfo->flinfo->fn_extra = calls = MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt, sizeof(GrPredictCalls));
		calls->arguments.first_argno = 1;
		calls->model.for_leverages = true;
	}
	model = gr_cached_predictor(fcinfo, &calls->model, true);
	errors = &calls->model.errors;
	check_leverage(errors);
	if (!gr_predict_features(fcinfo, calls, model, &features))
		PG_RETURN_NULL();
	predict(&calls->model, &features, 0, &predicted);
	/* the relative error of the weight is about the error of the predictor */
	if (!gr_is_linear(errors->distribution))
		predicted.precise &= !predicted.finite || predicted.eta_noise <= GR_PRECISE_SHARE;
	if (!predicted.precise)
	{
		gr_warn_imprecise(fcinfo, &calls->warned, "leverages");
		PG_RETURN_NULL();
	}
	/* without a variance, leverages are not defined */
	if (!predicted.known || !(errors->dispersion > 0 && isfinite(errors->dispersion)))
		PG_RETURN_NULL();
	root = predicted.error / sqrt(errors->dispersion);
	leverage = gr_working_weight(errors->distribution, predicted.eta) * root * root;
	/* the family has no variance at a mean outside its range */
	if (predicted.finite && !(leverage >= 0 && isfinite(leverage)))
		PG_RETURN_NULL();
	PG_RETURN_FLOAT8(leverage);
}
