/*
 * predict.c: gpu_predict, and the features of a row for all functions that take values as gpu_predict does.
 *
 * Values come by position, as numbers and arrays in the order of the model's features; or by name, as one row or jsonb
 * object. If the model has an offset, it is the last value, or has the name of its column.
 *
 * gpu_predict is called for each row, so what does not change between rows is determined once: the types of arguments;
 * and, for values by name, the feature of each column, for as long as the row type and the model's terms stay the same.
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
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/typcache.h"

#include "compute/linalg/products.h"
#include "rows/columns/columns.h"
#include "run/args.h"
#include "sql/model/feature_names.h"
#include "sql/model/model.h"
#include "sql/model/predict.h"

PG_FUNCTION_INFO_V1(gr_predict);
PG_FUNCTION_INFO_V1(gr_predict_intercept);

/* A column of a row whose values come by name. */
typedef struct NamedColumn
{
	bool		dropped;
	GrColumn	column;
	int			feature;		/* feature that a number is the value of; -1: the column is an array */
	GrFeatureRange elements;	/* features that an array's elements are the values of */
} NamedColumn;

/* The columns of rows of one type. */
typedef struct NamedRow
{
	MemoryContext context;		/* owns this struct and everything in it */
	uint64		type;			/* row type, by assign_record_type_identifier() */
	Datum	   *values;
	bool	   *nulls;
	NamedColumn column[FLEXIBLE_ARRAY_MEMBER];
} NamedRow;

/* Values by name. Arrays and offsets lie in the memory context of names. */
typedef struct NamedValues
{
	GrFeatureNames *names;		/* NULL at first */
	GrString	offsets;		/* copy of the name of the model's offset, which is value number names->nfeatures */
	NamedRow   *columns;		/* columns of the row type and their features among names; NULL at first */
	uint64		serial;			/* serial of the cached model whose terms are known to be names; 0: none */
	double	   *values;			/* values of the features, then the offset */
	uint64	   *given;			/* for each value: number of the call that set it */
	uint64		ncalls;
	int			ngiven;			/* number of values set in this call */
	bool		null;			/* true if a value set in this call is NULL */
} NamedValues;

/* Form in which a call site of a function passes values. */
typedef struct PlainCall
{
	int			first_argno;	/* number of the first argument that is a value */
	bool		is_row;			/* if named is not NULL: true for a row, false for jsonb */
	NamedValues *named;			/* NULL: values come by position */
	int			n;				/* number of arguments that are values */
	int			narrays;
	bool		is_float8;		/* every value is a float8 */
	double	   *wide;			/* room for nwide values if arrays give more than FUNC_MAX_ARGS; NULL at first */
	int64		nwide;
	GrColumn	column[FLEXIBLE_ARRAY_MEMBER];
} PlainCall;

double
gr_predict_mean(const GrPredictor *model, double eta, bool finite)
{
	/* an infinite predictor may have a valid mean, such as a probability; NaN has none */
	double		mean = gr_link_mean(model->link, eta);

	if (finite && !isfinite(mean))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("a prediction is out of range for float8"),
				 errdetail("A product of a coefficient and a value, or their sum, is too large."),
				 errhint("Rescale the columns that the model is fitted to.")));
	return mean;
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
		{
			call->is_row = column->type != JSONBOID;
			call->named = MemoryContextAllocZero(context, sizeof(NamedValues));
		}
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
 * By name
 */

/* Raises an ERROR: names in a row or object do not match the model's. */
static void
raise_names(const PlainCall *call, const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 call->is_row ? errmsg("the row does not match the model's features") :
			 errmsg("the object does not match the model's features"),
			 errdetail_internal("%s", detail),
			 call->is_row ? errhint("Pass a row that has exactly the model's columns, under their names.") :
			 errhint("Pass an object whose keys are exactly the names of the model's features.")));
}

/* Raises an ERROR: a row or object has no offset. */
static void
raise_no_offset(const PlainCall *call)
{
	GrString	name = call->named->offsets;

	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 call->is_row ? errmsg("the row does not have the model's offset") :
			 errmsg("the object does not have the model's offset"),
			 call->is_row ? errdetail("The row has no column \"%.*s\".", name.nbytes, name.bytes) :
			 errdetail("The object has no key \"%.*s\".", name.nbytes, name.bytes),
			 errhint("Add the offset under this name, or pass the values one by one, the offset last.")));
}

static void
raise_unknown(const PlainCall *call, const char *name, int len)
{
	raise_names(call, psprintf("The model has no feature \"%.*s\".", len, name));
}

/*
 * Prepares for a row of values for model. Names are listed anew if the terms or the offset's name differ from the last
 * call's. Data kept between calls is first built in short-lived memory, which an error frees, and then moved to
 * context.
 */
static void
begin_named(NamedValues *named, const GrPredictor *model, MemoryContext context)
{
	GrFeatureNames *names = named->names;

	named->ngiven = 0;
	named->null = false;
	named->ncalls++;
	if (likely(names != NULL && model->serial != 0 && named->serial == model->serial))
		return;
	if (names != NULL && gr_are_names_of(names, model->terms) && gr_same_name(named->offsets, model->offsets))
	{
		named->serial = model->serial;
		return;
	}
	named->serial = 0;
	named->names = NULL;
	named->columns = NULL;
	if (names != NULL)
		MemoryContextDelete(names->context);
	names = gr_name_features(model->terms, model->intercept);
	named->values = MemoryContextAllocHuge(names->context, (model->nfeatures + 1) * sizeof(double));
	named->given = MemoryContextAllocHuge(names->context, (model->nfeatures + 1) * sizeof(uint64));
	memset(named->given, 0, (model->nfeatures + 1) * sizeof(uint64));
	named->offsets = model->offsets;
	if (gr_has_offsets(model))
		named->offsets.bytes = memcpy(MemoryContextAlloc(names->context, model->offsets.nbytes + 1),
									  model->offsets.bytes, model->offsets.nbytes);
	MemoryContextSetParent(names->context, context);
	named->names = names;
	named->serial = model->serial;
}

/* Returns the feature called name, nfeatures if it is the offset's name, or -1. */
static int
find_value(const NamedValues *named, const char *name, int len)
{
	GrString	wanted = {name, len};

	return named->offsets.bytes != NULL && gr_same_name(wanted, named->offsets) ? named->names->nfeatures :
		gr_find_feature(named->names, name, len);
}

/* Returns the name of a feature or, for number nfeatures, of the offset. */
static const char *
value_name(const NamedValues *named, int feature)
{
	return feature < named->names->nfeatures ? gr_feature_name(named->names, feature) :
		pnstrdup(named->offsets.bytes, named->offsets.nbytes);
}

static void
give_value(const PlainCall *call, int feature, double value)
{
	NamedValues *named = call->named;

	if (named->given[feature] == named->ncalls)
		raise_names(call, psprintf("Feature \"%s\" appears twice.", value_name(named, feature)));
	named->given[feature] = named->ncalls;
	named->values[feature] = value;
	named->ngiven++;
}

/* Stores NULL for a feature or, if feature is -1, for all elements of an array. */
static void
give_null(const PlainCall *call, int feature, GrFeatureRange elements)
{
	call->named->null = true;
	if (feature >= 0)
		give_value(call, feature, 0);
	for (int k = 0; feature < 0 && k < elements.n; k++)
	{
		give_value(call, elements.first[k].feature, 0);
		gr_poll_loop(k);
	}
}

/* Raises an ERROR unless elements, the features that are elements of the array name (len bytes), include 1 .. n. */
static void
check_elements(const PlainCall *call, GrFeatureRange elements, int n, const char *name, int len)
{
	for (int i = 0; i < n; i++)
	{
		if (i == elements.n || elements.first[i].subscript != i + 1)
			raise_names(call, psprintf("The model has no feature \"%.*s[%d]\".", len, name, i + 1));
		gr_poll_loop(i);
	}
}

/* Returns the values of the features and the offset, or NULL if one is NULL. Raises an ERROR if one is missing. */
static const double *
end_named(const PlainCall *call)
{
	const NamedValues *named = call->named;
	int			n = named->names->nfeatures;

	for (int k = 0; named->ngiven < n + (named->offsets.bytes == NULL ? 0 : 1); k++)
	{
		if (k == n)
			raise_no_offset(call);
		if (named->given[k] != named->ncalls)
			raise_names(call, psprintf("The %s \"%s\".", call->is_row ? "row has no column" : "object has no key",
									   gr_feature_name(named->names, k)));
		gr_poll_loop(k);
	}
	return named->null ? NULL : named->values;
}

/*
 * Rows
 */

static void
describe_column(const PlainCall *call, NamedColumn *named, Form_pg_attribute attribute)
{
	const GrFeatureNames *names = call->named->names;
	const char *name = NameStr(attribute->attname);
	bool		usable;

	named->dropped = attribute->attisdropped;
	if (named->dropped)
		return;
	usable = gr_describe_value(&named->column, attribute->atttypid);
	named->column.name = pstrdup(name);
	named->feature = find_value(call->named, name, strlen(name));
	named->elements = gr_find_elements(names, name, strlen(name));
	if (usable && OidIsValid(named->column.element))
		named->feature = -1;
	else if (named->feature < 0)
		raise_unknown(call, name, strlen(name));
	else if (!usable)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("column \"%s\" of the row has unsupported type %s", name, format_type_be(attribute->atttypid)),
				 named->feature == names->nfeatures ? errdetail("Offsets must be numbers.") :
				 errdetail("Features must be numbers, booleans or arrays of them."),
				 errhint("Cast the value to a number, or make 0/1 columns of a category, as in (cut = "
						 "'Ideal')::int.")));
}

/* Finds the features that the columns of a row type hold. */
static void
describe_row(const PlainCall *call, TupleDesc tupdesc, uint64 type)
{
	NamedValues *named = call->named;
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "gpureg row", ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	NamedRow   *row = palloc(offsetof(NamedRow, column) + tupdesc->natts * sizeof(NamedColumn));

	row->context = context;
	row->type = type;
	row->values = palloc(Max(tupdesc->natts, 1) * sizeof(Datum));
	row->nulls = palloc(Max(tupdesc->natts, 1) * sizeof(bool));
	for (int k = 0; k < tupdesc->natts; k++)
		describe_column(call, &row->column[k], TupleDescAttr(tupdesc, k));
	MemoryContextSwitchTo(old);
	if (named->columns != NULL)
		MemoryContextDelete(named->columns->context);
	MemoryContextSetParent(context, named->names->context);
	named->columns = row;
}

static void
give_array(const PlainCall *call, NamedColumn *named, Datum value)
{
	const char *name = named->column.name;
	ArrayType  *array = DatumGetArrayTypeP(value);
	int			n = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	double	   *numbers;
	bool		complete;

	gr_check_vector(array, name);
	check_elements(call, named->elements, n, name, strlen(name));
	named->column.width = n;
	numbers = palloc_extended(Max(n, 1) * sizeof(double), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	complete = gr_convert_value(&named->column, PointerGetDatum(array), numbers);
	call->named->null |= !complete;
	for (int i = 0; i < n; i++)
	{
		give_value(call, named->elements.first[i].feature, numbers[i]);
		gr_poll_loop(i);
	}
	pfree(numbers);
}

static void
give_column(const PlainCall *call, NamedColumn *named, Datum value, bool null)
{
	const char *name = named->column.name;
	bool		is_array = OidIsValid(named->column.element);
	double		number;

	if (null && is_array && named->elements.n == 0)
		raise_unknown(call, name, strlen(name));
	if (null)
		give_null(call, named->feature, named->elements);
	else if (is_array)
		give_array(call, named, value);
	else
	{
		(void) gr_convert_value(&named->column, value, &number);
		give_value(call, named->feature, number);
	}
}

static void
give_row(FunctionCallInfo fcinfo, const PlainCall *call)
{
	HeapTupleHeader header = PG_GETARG_HEAPTUPLEHEADER(call->first_argno);
	Oid			type = HeapTupleHeaderGetTypeId(header);
	int32		typmod = HeapTupleHeaderGetTypMod(header);
	TupleDesc	tupdesc = lookup_rowtype_tupdesc(type, typmod);
	uint64		identifier = assign_record_type_identifier(type, typmod);
	HeapTupleData tuple;
	NamedRow   *row;

	/* identifiers are never reused: another row type, or an altered one, has another */
	if (call->named->columns == NULL || call->named->columns->type != identifier)
		describe_row(call, tupdesc, identifier);
	row = call->named->columns;
	tuple.t_len = HeapTupleHeaderGetDatumLength(header);
	ItemPointerSetInvalid(&tuple.t_self);
	tuple.t_tableOid = InvalidOid;
	tuple.t_data = header;
	heap_deform_tuple(&tuple, tupdesc, row->values, row->nulls);
	for (int k = 0; k < tupdesc->natts; k++)
		if (!row->column[k].dropped)
			give_column(call, &row->column[k], row->values[k], row->nulls[k]);
	ReleaseTupleDesc(tupdesc);
}

/*
 * Objects
 */

/* Stores a JSON number, boolean or null for a feature. Raises an ERROR if value is something else. */
static void
give_json(const PlainCall *call, int feature, const JsonbValue *value)
{
	Datum		number;

	switch (value->type)
	{
		case jbvNull:
			give_null(call, feature, (GrFeatureRange) {0});
			break;
		case jbvBool:
			give_value(call, feature, value->val.boolean ? 1.0 : 0.0);
			break;
		case jbvNumeric:
			number = DirectFunctionCall1(numeric_float8, NumericGetDatum(value->val.numeric));
			give_value(call, feature, DatumGetFloat8(number));
			break;
		default:
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("feature \"%s\" of the object is not a number", value_name(call->named, feature)),
					 errdetail("Values must be numbers, booleans, arrays of them, or null.")));
	}
}

static void
give_json_array(const PlainCall *call, const char *name, int len, JsonbContainer *array)
{
	GrFeatureRange elements = gr_find_elements(call->named->names, name, len);
	JsonbIterator *iterator = JsonbIteratorInit(array);
	JsonbIteratorToken token;
	JsonbValue	value;
	int			i = 0;

	check_elements(call, elements, JsonContainerSize(array), name, len);
	while ((token = JsonbIteratorNext(&iterator, &value, true)) != WJB_DONE)
		if (token == WJB_ELEM)
		{
			give_json(call, elements.first[i].feature, &value);
			gr_poll_loop(i++);
		}
}

static void
give_member(const PlainCall *call, const char *name, int len, const JsonbValue *value)
{
	int			feature = find_value(call->named, name, len);

	if (value->type == jbvBinary && JsonContainerIsArray(value->val.binary.data))
		give_json_array(call, name, len, value->val.binary.data);
	else if (feature >= 0)
		give_json(call, feature, value);
	else
	{
		GrFeatureRange elements = gr_find_elements(call->named->names, name, len);

		if (value->type != jbvNull || elements.n == 0)
			raise_unknown(call, name, len);
		give_null(call, -1, elements);
	}
}

static void
give_object(FunctionCallInfo fcinfo, const PlainCall *call)
{
	Jsonb	   *object = PG_GETARG_JSONB_P(call->first_argno);
	JsonbIterator *iterator;
	JsonbIteratorToken token;
	JsonbValue	value;
	const char *name = NULL;
	int			len = 0;
	int64		n = 0;

	if (!JB_ROOT_IS_OBJECT(object))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("values in jsonb must be an object"),
				 errhint("Pass an object whose keys are the names of the model's features.")));
	iterator = JsonbIteratorInit(&object->root);
	while ((token = JsonbIteratorNext(&iterator, &value, true)) != WJB_DONE)
	{
		if (token == WJB_KEY)
		{
			name = value.val.string.val;
			len = value.val.string.len;
		}
		else if (token == WJB_VALUE)
			give_member(call, name, len, &value);
		gr_poll_loop(n++);
	}
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
		calls->plain = describe_call(fcinfo, calls->first_argno);
	call = calls->plain;
	if (call->named == NULL)
		features->values = values_by_position(fcinfo, call, model, features->buffer);
	else
	{
		begin_named(call->named, model, fcinfo->flinfo->fn_mcxt);
		if (call->is_row)
			give_row(fcinfo, call);
		else
			give_object(fcinfo, call);
		features->values = end_named(call);
	}
	if (features->values != NULL && gr_has_offsets(model))
		features->offset = features->values[model->nfeatures];
}

bool
gr_predict_features(FunctionCallInfo fcinfo, GrPredictCalls *calls, const GrPredictor *model, GrFeatures *features)
{
	features->values = features->low = NULL;
	features->design = NULL;
	features->offset = 0;
	if (PG_NARGS() == calls->first_argno)
	{
		/* the model must be an intercept alone */
		check_count(model, 0);
		return true;
	}
	if (model->design.nbytes == 0)
		plain_features(fcinfo, calls, model, features);
	else
	{
		features->values = gr_design_features(fcinfo, calls->first_argno, &calls->designed, model, &features->low,
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

	if (model->design.nbytes > 0 && model->dense != NULL && PG_NARGS() > calls->first_argno)
	{
		if (!gr_design_take(fcinfo, calls->first_argno, &calls->designed, model, &offset))
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
		calls->first_argno = 1;
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
