/*
 * predict.c: gpu_predict, and the features of a row for all functions that take values as gpu_predict does.
 *
 * Values come by position, as numbers and arrays in the order of the model's features; or by name, as one row or jsonb
 * object (predict_named.c). If the model has an offset, it is the last value, or has the name of its column.
 *
 * gpu_predict is called for each row, so the types of arguments are determined once.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "compute/linalg/products.h"
#include "rows/columns/columns.h"
#include "run/args.h"
#include "sql/model/model.h"
#include "sql/model/predict.h"
#include "sql/model/predict_named.h"

PG_FUNCTION_INFO_V1(gr_predict);
PG_FUNCTION_INFO_V1(gr_predict_intercept);

/* Form in which a call site of a function passes values. */
typedef struct PlainCall
{
	int			first_argno;	/* number of the first argument that is a value */
	GrNamedCall *named;			/* NULL: values come by position */
	int			n;				/* number of arguments that are values */
	int			narrays;
	bool		is_float8;		/* every value is a float8 */
	double	   *wide;			/* room for nwide values if arrays give more than FUNC_MAX_ARGS; NULL at first */
	int64		nwide;
	GrColumn	column[FLEXIBLE_ARRAY_MEMBER];
} PlainCall;

static void
raise_range(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			 errmsg("a prediction is out of range for float8"),
			 errdetail("A product of a coefficient and a value, or their sum, is too large."),
			 errhint("Rescale the columns that the model is fitted to.")));
}

double
gr_predict_mean(const GrPredictor *model, double eta, bool finite)
{
	/* an infinite predictor may have a valid mean, such as a probability; NaN has none */
	double		mean = gr_link_mean(model->link, eta);

	if (finite && !isfinite(mean))
		raise_range();
	return mean;
}

double
gr_predict_link(double eta, bool finite)
{
	if (finite && !isfinite(eta))
		raise_range();
	return eta;
}

/* From this many features on, products are added to several sums, which is faster. */
#define WIDE_MIN 32

/* Returns the linear predictor of a model whose coefficients are all finite; not finite if a value is not. */
static double
dot(const GrPredictor *model, const double *values)
{
	const double *b = model->dense;
	int			n = model->nfeatures;
	double		eta = model->intercept ? *b++ : 0;

	if (n >= WIDE_MIN)
		return eta + gr_sum_products(b, values, n);
	for (int k = 0; k < n; k++)
		eta += b[k] * values[k];
	return eta;
}

/* Returns the linear predictor without the offset. */
static double
predict_without_offset(const GrPredictor *model, const GrFeatures *features, bool *finite)
{
	int			first = model->intercept ? 1 : 0;
	const double *values = features->values;
	const double *at = model->coef;
	double		eta;

	if (features->design != NULL)
		return gr_design_predictor(features->design, model, values, features->low, finite);
	if (model->dense != NULL)
	{
		eta = dot(model, values);
		*finite = isfinite(eta);
		if (likely(*finite))
			return eta;
	}
	eta = model->intercept ? gr_next_coef(model, 0, &at) : 0;
	if (isnan(eta))
		eta = 0;
	*finite = isfinite(eta);
	for (int k = 0; k < model->nfeatures; k++)
	{
		double		b = gr_next_coef(model, first + k, &at);

		if (!isnan(b))
		{
			*finite &= isfinite(b) && isfinite(values[k]);
			eta += b * values[k];
		}
		gr_poll_loop(k);
	}
	return eta;
}

double
gr_predict_eta(const GrPredictor *model, const GrFeatures *features, bool *finite)
{
	double		eta = predict_without_offset(model, features, finite);

	if (!gr_has_offsets(model))
		return eta;
	*finite &= isfinite(features->offset);
	return eta + features->offset;
}

void
gr_predict_pairs(const GrPredictor *model, const GrFeatures *features, GrDD *pairs)
{
	if (features->design != NULL)
		gr_design_pairs(features->design, features->values, features->low, pairs);
	else
		for (int k = 0; k < model->nfeatures; k++)
		{
			pairs[k] = gr_dd(features->values[k]);
			gr_poll_loop(k);
		}
}

/* Raises an ERROR unless nvalues is the number of features, plus one if the model has an offset. */
static void
check_count(const GrPredictor *model, int64 nvalues)
{
	if (gr_has_offsets(model) && nvalues != (int64) model->nfeatures + 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the model has %d features and an offset, but " INT64_FORMAT " values were given",
						model->nfeatures, nvalues),
				 errhint("Pass a value for each feature in the order of the model's terms and then the offset, or a "
						 "row or jsonb object with their names, where the offset is called \"%.*s\".",
						 model->offsets.nbytes, model->offsets.bytes)));
	if (!gr_has_offsets(model) && nvalues != model->nfeatures)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the model has %d features, but " INT64_FORMAT " values were given", model->nfeatures,
						nvalues),
				 errhint("Pass a value for each feature in the order of the model's terms, or a row or jsonb "
						 "object with their names.")));
}

/*
 * By position
 */

static void
raise_type(FunctionCallInfo fcinfo, int argno, Oid type)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg("argument %d of %s has unsupported type %s", argno + 1, gr_called_name(fcinfo),
					format_type_be(type)),
			 errdetail("Values must be numbers, booleans or arrays of them, or come as one row or jsonb object."),
			 type == UNKNOWNOID ? errhint("Cast the literal or parameter to a number, as in '1'::float8.") :
			 type == JSONOID ? errhint("Cast the argument to jsonb.") :
			 errhint("Cast the value to a number, or make 0/1 columns of a category, as in (cut = 'Ideal')::int.")));
}

static PlainCall *
describe_call(FunctionCallInfo fcinfo, int first_argno)
{
	int			n = PG_NARGS() - first_argno;
	MemoryContext context = fcinfo->flinfo->fn_mcxt;
	PlainCall  *call = MemoryContextAllocZero(context, offsetof(PlainCall, column) + n * sizeof(GrColumn));

	call->first_argno = first_argno;
	call->n = n;
	call->is_float8 = true;
	for (int k = 0; k < n; k++)
	{
		Oid			type = get_fn_expr_argtype(fcinfo->flinfo, first_argno + k);
		GrColumn   *column = &call->column[k];

		if (!OidIsValid(type))
			ereport(ERROR,
					(errcode(ERRCODE_INDETERMINATE_DATATYPE),
					 errmsg("could not determine the type of argument %d of %s", first_argno + k + 1,
							gr_called_name(fcinfo)),
					 errhint("Cast the argument, as in NULL::float8.")));
		call->is_float8 &= getBaseType(type) == FLOAT8OID;
		if (gr_describe_value(column, type))
			call->narrays += OidIsValid(column->element) ? 1 : 0;
		else if (n == 1 && (column->type == JSONBOID || type_is_rowtype(column->type)))
			call->named = gr_open_named_call(fcinfo, column->type != JSONBOID);
		else
			raise_type(fcinfo, first_argno + k, type);
	}
	return call;
}

/*
 * Returns the arguments' values in order, or NULL if an array has a NULL. buffer: room for FUNC_MAX_ARGS values; more
 * go to call->wide. The result may also point into an array.
 */
static const double *
values_by_position(FunctionCallInfo fcinfo, PlainCall *call, const GrPredictor *model, double *buffer)
{
	ArrayType  *arrays[FUNC_MAX_ARGS];
	int64		nvalues = call->n;
	double	   *at;

	for (int k = 0; k < call->n && call->narrays > 0; k++)
		if (OidIsValid(call->column[k].element))
		{
			arrays[k] = PG_GETARG_ARRAYTYPE_P(call->first_argno + k);
			gr_check_vector(arrays[k], "x");
			call->column[k].width = ArrayGetNItems(ARR_NDIM(arrays[k]), ARR_DIMS(arrays[k]));
			nvalues += call->column[k].width - 1;
		}
	check_count(model, nvalues);
	if (likely(call->is_float8))
	{
		for (int k = 0; k < call->n; k++)
			buffer[k] = PG_GETARG_FLOAT8(call->first_argno + k);
		return buffer;
	}
	if (call->n == 1 && call->column[0].element == FLOAT8OID)
		return array_contains_nulls(arrays[0]) ? NULL : (const double *) ARR_DATA_PTR(arrays[0]);
	if (nvalues > FUNC_MAX_ARGS)
	{
		if (nvalues > call->nwide)
		{
			call->nwide = 0;
			call->wide = MemoryContextAllocHuge(fcinfo->flinfo->fn_mcxt, nvalues * sizeof(double));
			call->nwide = nvalues;
		}
		buffer = call->wide;
	}
	at = buffer;
	for (int k = 0; k < call->n; k++)
	{
		const GrColumn *column = &call->column[k];
		bool		is_array = OidIsValid(column->element);

		if (!gr_convert_value(column, is_array ? PointerGetDatum(arrays[k]) :
							  PG_GETARG_DATUM(call->first_argno + k), at))
			return NULL;
		at += column->width;
	}
	return buffer;
}

/*
 * Features of a model
 */

/* Sets the values for a model without a design. features->values is NULL if a value is NULL. */
static void
plain_features(FunctionCallInfo fcinfo, GrPredictCalls *calls, const GrPredictor *model, GrFeatures *features)
{
	PlainCall  *call;

	if (unlikely(calls->plain == NULL))
		calls->plain = describe_call(fcinfo, calls->arguments.first_argno);
	call = calls->plain;
	if (call->named == NULL)
		features->values = values_by_position(fcinfo, call, model, features->buffer);
	else
		features->values = gr_named_values(fcinfo, call->first_argno, call->named, model);
	if (features->values != NULL && gr_has_offsets(model))
		features->offset = features->values[model->nfeatures];
}

bool
gr_predict_features(FunctionCallInfo fcinfo, GrPredictCalls *calls, const GrPredictor *model, GrFeatures *features)
{
	features->values = features->low = NULL;
	features->design = NULL;
	features->offset = 0;
	if (PG_NARGS() == calls->arguments.first_argno)
	{
		/* the model must be an intercept alone */
		check_count(model, 0);
		return true;
	}
	if (model->design.nbytes == 0)
		plain_features(fcinfo, calls, model, features);
	else
	{
		features->values = gr_design_features(fcinfo, calls->arguments, &calls->designed, model, &features->low,
											  &features->offset);
		features->design = gr_design_of_call(calls->designed);
	}
	return features->values != NULL;
}

/* True if the features of each row are one array of real, which predict_reals() can read in place. */
static inline bool
are_reals(const PlainCall *call, const GrPredictor *model)
{
	return call != NULL && call->n == 1 && call->column[0].element == FLOAT4OID && model->dense != NULL &&
		model->nfeatures >= WIDE_MIN && !gr_has_offsets(model);
}

/*
 * Sets *eta to the linear predictor of an array of real: the bits that its elements as float8 give. Returns false if
 * an element is NULL.
 */
static bool
predict_reals(FunctionCallInfo fcinfo, const PlainCall *call, const GrPredictor *model, double *eta)
{
	ArrayType  *array = PG_GETARG_ARRAYTYPE_P(call->first_argno);
	const double *b = model->dense;

	gr_check_vector(array, "x");
	check_count(model, ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array)));
	if (array_contains_nulls(array))
		return false;
	*eta = model->intercept ? *b++ : 0;
	*eta += gr_sum_products_single(b, (const float *) ARR_DATA_PTR(array), model->nfeatures);
	return true;
}

bool
gr_predict_row(FunctionCallInfo fcinfo, GrPredictCalls *calls, const GrPredictor *model, double *eta, bool *finite)
{
	GrFeatures	features;
	double		offset;

	if (model->design.nbytes > 0 && model->dense != NULL && PG_NARGS() > calls->arguments.first_argno)
	{
		if (!gr_design_take(fcinfo, calls->arguments, &calls->designed, model, &offset))
			return false;
		*eta = gr_design_dot(calls->designed, model) + offset;
		*finite = isfinite(*eta);
		if (likely(*finite))
			return true;
	}
	else if (model->design.nbytes == 0 && are_reals(calls->plain, model))
	{
		if (!predict_reals(fcinfo, calls->plain, model, eta))
			return false;
		*finite = isfinite(*eta);
		if (likely(*finite))
			return true;
	}
	if (!gr_predict_features(fcinfo, calls, model, &features))
		return false;
	*eta = gr_predict_eta(model, &features, finite);
	return true;
}

/* gpu_predict(model gpu_model, VARIADIC "any"): no argument is NULL */
Datum
gr_predict(PG_FUNCTION_ARGS)
{
	GrPredictCalls *calls = fcinfo->flinfo->fn_extra;
	const GrPredictor *model;
	double		eta;
	bool		finite;

	if (unlikely(calls == NULL))
	{
		fcinfo->flinfo->fn_extra = calls = MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt, sizeof(GrPredictCalls));
		calls->arguments.first_argno = 1;
	}
	model = gr_cached_predictor(fcinfo, &calls->model, false);
	if (!gr_predict_row(fcinfo, calls, model, &eta, &finite))
		PG_RETURN_NULL();
	PG_RETURN_FLOAT8(gr_predict_mean(model, eta, finite));
}

/* gpu_predict(model gpu_model): for a model that is an intercept alone */
Datum
gr_predict_intercept(PG_FUNCTION_ARGS)
{
	return gr_predict(fcinfo);
}
