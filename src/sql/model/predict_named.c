/*
 * predict_named.c: the features of a row whose values come by name, as one row or jsonb object. If the model has an
 * offset, it has the name of its column.
 *
 * What does not change between rows is determined once: the feature of each column, for as long as the row type and the
 * model's terms stay the same.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/memutils.h"
#include "utils/numeric.h"
#include "utils/typcache.h"

#include "rows/columns/columns.h"
#include "run/args.h"
#include "sql/model/feature_names.h"
#include "sql/model/model.h"
#include "sql/model/predict_named.h"

/* Most missing features that an error names. */
#define NAMED_MAX 8

/* A column of a row that holds a feature, an array of features, or the offset. */
typedef struct NamedColumn
{
	int			attribute;		/* number of the row's attribute, from 0 */
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
	int			n;				/* number of columns that the model uses */
	NamedColumn column[FLEXIBLE_ARRAY_MEMBER];
} NamedRow;

/* Arrays and offsets lie in the memory context of names. */
struct GrNamedCall
{
	bool		is_row;			/* true for a row, false for jsonb */
	GrFeatureNames *names;		/* NULL at first */
	GrString	offsets;		/* copy of the name of the model's offset, which is value number names->nfeatures */
	NamedRow   *columns;		/* columns of the row type and their features among names; NULL at first */
	uint64		serial;			/* serial of the cached model whose terms are known to be names; 0: none */
	double	   *values;			/* values of the features, then the offset */
	uint64	   *given;			/* for each value: number of the call that set it */
	uint64		ncalls;
	int			ngiven;			/* number of values set in this call */
	bool		null;			/* true if a value set in this call is NULL */
};

GrNamedCall *
gr_open_named_call(FunctionCallInfo fcinfo, bool is_row)
{
	GrNamedCall *call = MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt, sizeof(GrNamedCall));

	call->is_row = is_row;
	return call;
}

/*
 * Errors
 */

/* Raises an ERROR: names in a row or object do not match the model's. */
static void
raise_names(const GrNamedCall *call, const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 call->is_row ? errmsg("the row does not match the model's features") :
			 errmsg("the object does not match the model's features"),
			 errdetail_internal("%s", detail),
			 call->is_row ? errhint("Pass a row that has a column for each of the model's features, under its name.") :
			 errhint("Pass an object that has a key for each of the model's features, under its name.")));
}

/* Raises an ERROR: a row or object has no offset. */
static void
raise_no_offset(const GrNamedCall *call)
{
	GrString	name = call->offsets;

	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 call->is_row ? errmsg("the row does not have the model's offset") :
			 errmsg("the object does not have the model's offset"),
			 call->is_row ? errdetail("The row has no column \"%.*s\".", name.nbytes, name.bytes) :
			 errdetail("The object has no key \"%.*s\".", name.nbytes, name.bytes),
			 errhint("Add the offset under this name, or pass the values one by one, the offset last.")));
}

/* Raises an ERROR that names the features without a value in this call; there is at least one. */
static void
raise_missing(const GrNamedCall *call)
{
	StringInfoData list;
	int			n = 0;

	initStringInfo(&list);
	for (int k = 0; k < call->names->nfeatures; k++)
	{
		if (call->given[k] != call->ncalls && ++n <= NAMED_MAX)
			appendStringInfo(&list, "%s\"%s\"", n == 1 ? "" : ", ", gr_feature_name(call->names, k));
		gr_poll_loop(k);
	}
	if (n > NAMED_MAX)
		appendStringInfo(&list, " and %d more", n - NAMED_MAX);
	raise_names(call, psprintf("The %s%s %s.", call->is_row ? "row has no column" : "object has no key",
							   n == 1 ? "" : "s", list.data));
}

/* Raises an ERROR: an array has an element that is no feature of the model. */
static void
raise_element(const GrNamedCall *call, const char *name, int len, int subscript)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 call->is_row ? errmsg("the row does not match the model's features") :
			 errmsg("the object does not match the model's features"),
			 errdetail("The model has no feature \"%.*s[%d]\".", len, name, subscript),
			 errhint("Pass an array of as many elements as in the rows that the model was fitted to.")));
}

/*
 * Values of a call
 */

/*
 * Prepares for a row of values for model. Names are listed anew if the terms or the offset's name differ from the last
 * call's. Data kept between calls is first built in short-lived memory, which an error frees, and then moved to
 * context.
 */
static void
begin_call(GrNamedCall *call, const GrPredictor *model, MemoryContext context)
{
	GrFeatureNames *names = call->names;

	call->ngiven = 0;
	call->null = false;
	call->ncalls++;
	if (likely(names != NULL && model->serial != 0 && call->serial == model->serial))
		return;
	if (names != NULL && gr_are_names_of(names, model->terms) && gr_same_name(call->offsets, model->offsets))
	{
		call->serial = model->serial;
		return;
	}
	call->serial = 0;
	call->names = NULL;
	call->columns = NULL;
	if (names != NULL)
		MemoryContextDelete(names->context);
	names = gr_name_features(model->terms, model->intercept);
	call->values = MemoryContextAllocHuge(names->context, (model->nfeatures + 1) * sizeof(double));
	call->given = MemoryContextAllocHuge(names->context, (model->nfeatures + 1) * sizeof(uint64));
	memset(call->given, 0, (model->nfeatures + 1) * sizeof(uint64));
	call->offsets = model->offsets;
	if (gr_has_offsets(model))
		call->offsets.bytes = memcpy(MemoryContextAlloc(names->context, model->offsets.nbytes + 1),
									 model->offsets.bytes, model->offsets.nbytes);
	MemoryContextSetParent(names->context, context);
	call->names = names;
	call->serial = model->serial;
}

/* Returns the feature called name, nfeatures if it is the offset's name, or -1. */
static int
find_value(const GrNamedCall *call, const char *name, int len)
{
	GrString	wanted = {name, len};

	return call->offsets.bytes != NULL && gr_same_name(wanted, call->offsets) ? call->names->nfeatures :
		gr_find_feature(call->names, name, len);
}

/* Returns the name of a feature or, for number nfeatures, of the offset. */
static const char *
value_name(const GrNamedCall *call, int feature)
{
	return feature < call->names->nfeatures ? gr_feature_name(call->names, feature) :
		pnstrdup(call->offsets.bytes, call->offsets.nbytes);
}

static void
give_value(GrNamedCall *call, int feature, double value)
{
	if (call->given[feature] == call->ncalls)
		raise_names(call, psprintf("Feature \"%s\" appears twice.", value_name(call, feature)));
	call->given[feature] = call->ncalls;
	call->values[feature] = value;
	call->ngiven++;
}

/* Stores NULL for a feature or, if feature is -1, for all elements of an array. */
static void
give_null(GrNamedCall *call, int feature, GrFeatureRange elements)
{
	call->null = true;
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
check_elements(const GrNamedCall *call, GrFeatureRange elements, int n, const char *name, int len)
{
	for (int i = 0; i < n; i++)
	{
		if (i == elements.n || elements.first[i].subscript != i + 1)
			raise_element(call, name, len, i + 1);
		gr_poll_loop(i);
	}
}

/* Returns the values of the features and the offset, or NULL if one is NULL. Raises an ERROR if one is missing. */
static const double *
end_call(const GrNamedCall *call)
{
	int			n = call->names->nfeatures;
	bool		has_offset = call->offsets.bytes != NULL;

	if (unlikely(call->ngiven < n + (has_offset ? 1 : 0)))
	{
		if (has_offset && call->ngiven == n && call->given[n] != call->ncalls)
			raise_no_offset(call);
		raise_missing(call);
	}
	return call->null ? NULL : call->values;
}

/*
 * Rows
 */

/* Describes an attribute of a row type. Returns false if the model does not use it. */
static bool
describe_column(const GrNamedCall *call, NamedColumn *named, Form_pg_attribute attribute)
{
	const char *name = NameStr(attribute->attname);
	bool		usable;

	if (attribute->attisdropped)
		return false;
	named->feature = find_value(call, name, strlen(name));
	named->elements = gr_find_elements(call->names, name, strlen(name));
	if (named->feature < 0 && named->elements.n == 0)
		return false;
	usable = gr_describe_value(&named->column, attribute->atttypid);
	named->column.name = pstrdup(name);
	if (usable && OidIsValid(named->column.element) && named->elements.n > 0)
		named->feature = -1;
	else if (named->feature < 0)
		return false;
	else if (!usable || OidIsValid(named->column.element))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("column \"%s\" of the row has unsupported type %s", name, format_type_be(attribute->atttypid)),
				 named->feature == call->names->nfeatures ? errdetail("Offsets must be numbers.") :
				 usable ? errdetail("The model has a feature of this name, and none that are elements of an array.") :
				 errdetail("Features must be numbers, booleans or arrays of them."),
				 usable ? errhint("Pass one number under this name.") :
				 errhint("Cast the value to a number, or make 0/1 columns of a category, as in (cut = "
						 "'Ideal')::int.")));
	return true;
}

/* Finds the features that the columns of a row type hold. */
static void
describe_row(GrNamedCall *call, TupleDesc tupdesc, uint64 type)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "gpureg row", ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	NamedRow   *row = palloc(offsetof(NamedRow, column) + tupdesc->natts * sizeof(NamedColumn));

	row->context = context;
	row->type = type;
	row->values = palloc(Max(tupdesc->natts, 1) * sizeof(Datum));
	row->nulls = palloc(Max(tupdesc->natts, 1) * sizeof(bool));
	row->n = 0;
	for (int k = 0; k < tupdesc->natts; k++)
		if (describe_column(call, &row->column[row->n], TupleDescAttr(tupdesc, k)))
			row->column[row->n++].attribute = k;
	MemoryContextSwitchTo(old);
	if (call->columns != NULL)
		MemoryContextDelete(call->columns->context);
	MemoryContextSetParent(context, call->names->context);
	call->columns = row;
}

static void
give_array(GrNamedCall *call, NamedColumn *named, Datum value)
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
	call->null |= !complete;
	for (int i = 0; i < n; i++)
	{
		give_value(call, named->elements.first[i].feature, numbers[i]);
		gr_poll_loop(i);
	}
	pfree(numbers);
}

static void
give_column(GrNamedCall *call, NamedColumn *named, Datum value, bool null)
{
	double		number;

	if (null)
		give_null(call, named->feature, named->elements);
	else if (named->feature < 0)
		give_array(call, named, value);
	else
	{
		(void) gr_convert_value(&named->column, value, &number);
		give_value(call, named->feature, number);
	}
}

static void
give_row(GrNamedCall *call, HeapTupleHeader header)
{
	Oid			type = HeapTupleHeaderGetTypeId(header);
	int32		typmod = HeapTupleHeaderGetTypMod(header);
	TupleDesc	tupdesc = lookup_rowtype_tupdesc(type, typmod);
	uint64		identifier = assign_record_type_identifier(type, typmod);
	HeapTupleData tuple;
	NamedRow   *row;

	/* identifiers are never reused: another row type, or an altered one, has another */
	if (call->columns == NULL || call->columns->type != identifier)
		describe_row(call, tupdesc, identifier);
	row = call->columns;
	tuple.t_len = HeapTupleHeaderGetDatumLength(header);
	ItemPointerSetInvalid(&tuple.t_self);
	tuple.t_tableOid = InvalidOid;
	tuple.t_data = header;
	heap_deform_tuple(&tuple, tupdesc, row->values, row->nulls);
	for (int k = 0; k < row->n; k++)
	{
		NamedColumn *named = &row->column[k];

		give_column(call, named, row->values[named->attribute], row->nulls[named->attribute]);
	}
	ReleaseTupleDesc(tupdesc);
}

/*
 * Objects
 */

/* Stores a JSON number, boolean or null for a feature. Raises an ERROR if value is something else. */
static void
give_json(GrNamedCall *call, int feature, const JsonbValue *value)
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
					 errmsg("feature \"%s\" of the object is not a number", value_name(call, feature)),
					 errdetail("Values must be numbers, booleans, arrays of them, or null.")));
	}
}

static void
give_json_array(GrNamedCall *call, const char *name, int len, GrFeatureRange elements, JsonbContainer *array)
{
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
give_member(GrNamedCall *call, const char *name, int len, const JsonbValue *value)
{
	int			feature = find_value(call, name, len);
	GrFeatureRange elements = gr_find_elements(call->names, name, len);

	if (elements.n > 0 && value->type == jbvBinary && JsonContainerIsArray(value->val.binary.data))
		give_json_array(call, name, len, elements, value->val.binary.data);
	else if (feature >= 0)
		give_json(call, feature, value);
	else if (elements.n > 0 && value->type == jbvNull)
		give_null(call, -1, elements);
}

static void
give_object(GrNamedCall *call, Jsonb *object)
{
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

const double *
gr_named_values(FunctionCallInfo fcinfo, int argno, GrNamedCall *call, const GrPredictor *model)
{
	begin_call(call, model, fcinfo->flinfo->fn_mcxt);
	if (call->is_row)
		give_row(call, PG_GETARG_HEAPTUPLEHEADER(argno));
	else
		give_object(call, PG_GETARG_JSONB_P(argno));
	return end_call(call);
}
