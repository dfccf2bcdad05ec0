/*
 * fn_classes.c: gpu_predict_probs and gpu_predict_class, the probabilities of the classes and the most probable class
 * of a row, and gpu_classes, a model's classes. Values come as for gpu_predict.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "compute/glm/glm_row.h"
#include "sql/model/predict.h"

PG_FUNCTION_INFO_V1(gr_predict_probs);
PG_FUNCTION_INFO_V1(gr_predict_class);
PG_FUNCTION_INFO_V1(gr_predict_probs_intercept);
PG_FUNCTION_INFO_V1(gr_predict_class_intercept);
PG_FUNCTION_INFO_V1(gr_classes);

/* Replaces k - 1 linear predictors, in p[1 ..], by the probabilities of k classes. */
static void
multinomial(int k, double *p)
{
	double		most = 0;
	double		sum = 0;

	p[0] = 0;
	for (int j = 1; j < k; j++)
		most = fmax(most, p[j]);
	for (int j = 0; j < k; j++)
		sum += p[j] = exp(p[j] - most);
	for (int j = 0; j < k; j++)
		p[j] /= sum;
}

/*
 * Sets the probabilities of k ordered classes from their k - 1 thresholds and a linear predictor: those of P(y <= j) =
 * F(threshold j - eta). Differences are taken in the tail that is the smaller one.
 */
static void
ordinal(GrLink link, int k, const double *thresholds, double eta, double *p)
{
	for (int j = 0; j < k; j++)
	{
		double		high = j < k - 1 ? thresholds[j] - eta : INFINITY;
		double		low = j > 0 ? thresholds[j - 1] - eta : -INFINITY;

		/* the links of 1 - F are symmetric for logit and probit */
		if (low > 0 && link != GR_CLOGLOG)
			p[j] = gr_link_mean(link, -low) - gr_link_mean(link, -high);
		else if (low > 0)
			p[j] = exp(-exp(low)) - exp(-exp(high));
		else
			p[j] = gr_link_mean(link, high) - gr_link_mean(link, low);
	}
}

/* Returns the probabilities of the classes of a row, or NULL if a value is NULL. *model: the row's model */
static double *
predict(FunctionCallInfo fcinfo, const GrPredictor **model)
{
	GrPredictCalls *calls = fcinfo->flinfo->fn_extra;
	GrFeatures	features;
	GrPredictor one;
	int			n;
	bool		finite;
	double	   *p;

	if (unlikely(calls == NULL))
	{
		fcinfo->flinfo->fn_extra = calls = MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt, sizeof(GrPredictCalls));
		calls->arguments.first_argno = 1;
		calls->model.classes = true;
	}
	*model = gr_cached_predictor(fcinfo, &calls->model, false);
	if (!gr_predict_features(fcinfo, calls, *model, &features))
		return NULL;
	one = **model;
	n = one.nfeatures + (one.intercept ? 1 : 0);
	p = palloc(one.nclasses * sizeof(double));
	if (one.kind == GR_KIND_ORDINAL)
	{
		ordinal(one.link, one.nclasses, one.class_coef, gr_predict_eta(&one, &features, &finite), p);
		return p;
	}
	for (int j = 1; j < one.nclasses; j++)
	{
		one.coef = one.dense = (*model)->class_coef + (Size) (j - 1) * n;
		p[j] = gr_predict_eta(&one, &features, &finite);
	}
	multinomial(one.nclasses, p);
	return p;
}

/* gpu_predict_probs(model gpu_model, VARIADIC "any"): no argument is NULL */
Datum
gr_predict_probs(PG_FUNCTION_ARGS)
{
	const GrPredictor *model;
	const double *p = predict(fcinfo, &model);
	Datum	   *items;

	if (p == NULL)
		PG_RETURN_NULL();
	items = palloc(model->nclasses * sizeof(Datum));
	for (int k = 0; k < model->nclasses; k++)
		items[k] = Float8GetDatum(p[k]);
	PG_RETURN_ARRAYTYPE_P(construct_array(items, model->nclasses, FLOAT8OID, sizeof(float8), FLOAT8PASSBYVAL,
										  TYPALIGN_DOUBLE));
}

/* gpu_predict_class(model gpu_model, VARIADIC "any"): NULL if a probability is NaN; no argument is NULL */
Datum
gr_predict_class(PG_FUNCTION_ARGS)
{
	const GrPredictor *model;
	const double *p = predict(fcinfo, &model);
	int			best = 0;

	if (p == NULL)
		PG_RETURN_NULL();
	for (int k = 0; k < model->nclasses; k++)
	{
		if (isnan(p[k]))
			PG_RETURN_NULL();
		if (p[k] > p[best])
			best = k;
	}
	PG_RETURN_TEXT_P(cstring_to_text(model->classes[best]));
}

/* gpu_predict_probs(model gpu_model) and gpu_predict_class(model gpu_model): for a model without features */
Datum
gr_predict_probs_intercept(PG_FUNCTION_ARGS)
{
	return gr_predict_probs(fcinfo);
}

Datum
gr_predict_class_intercept(PG_FUNCTION_ARGS)
{
	return gr_predict_class(fcinfo);
}

/* gpu_classes(model gpu_model): the labels, in the order of gpu_predict_probs */
Datum
gr_classes(PG_FUNCTION_ARGS)
{
	GrPredictor model;
	Datum	   *items;

	gr_open_class_predictor(PG_GETARG_HEAPTUPLEHEADER(0), &model);
	items = palloc(model.nclasses * sizeof(Datum));
	for (int k = 0; k < model.nclasses; k++)
		items[k] = CStringGetTextDatum(model.classes[k]);
	PG_RETURN_ARRAYTYPE_P(construct_array(items, model.nclasses, TEXTOID, -1, false, TYPALIGN_INT));
}
