/*
 * predict_design.c: computes the features of a model with a design from values of the columns that it was fitted to. If
 * the model has an offset, its column follows the design's: it has number design->ncolumns.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/numeric.h"
#include "utils/typcache.h"

#include "compute/base/dd.h"
#include "rows/columns/columns.h"
#include "rows/columns/design_values.h"
#include "rows/columns/formula_error.h"
#include "rows/columns/levels.h"
#include "run/args.h"
#include "sql/model/predict_design.h"

/* Most missing columns that an error names. */
#define NAMED_MAX 8

/* Forms in which values come */
typedef enum ValuesForm
{
	BY_POSITION,
	AS_ROW,
	AS_OBJECT
} ValuesForm;

struct GrDesignCall
{
	MemoryContext context;		/* owns this struct and everything in it */
	char	   *text;			/* text of the design */
	int			nbytes;
	GrDesign   *design;
	GrString	offsets;		/* name of the column of offsets; bytes NULL: no offsets */
	int			ncolumns;		/* columns of the design, plus one if there is an offset */
	double	   *values;
	double		offset;
	double	   *features;
	double	   *low;
	GrNonzero  *nonzeros;		/* room for the features of a row that may differ from 0 */
	uint64		serial;			/* serial of the cached model that is known to have this design; 0: none */
	ValuesForm	form;
	bool		null_levels;	/* see GrRowArguments */
	uint64		row_type;		/* row type, by assign_record_type_identifier(); 0: no row so far */
	int			natts;
	Datum	   *datums;			/* fields of a row */
	bool	   *nulls;
	int		   *attribute;		/* number of the row's attribute that holds column k */
	GrColumn   *column;			/* type of the values of column k or, by position, of argument k */
};

/*
 * Data kept between calls
 */

/* Returns the name of column k, which may be the offset's. */
static const char *
column_name(const GrDesignCall *call, int k)
{
	return k < call->design->ncolumns ? gr_design_column_name(call->design, k) :
		pnstrdup(call->offsets.bytes, call->offsets.nbytes);
}

static void raise_missing(const GrDesignCall *call, const bool *missing) __attribute__((noreturn));

/* Raises an ERROR: a row or object has no value of the columns k with missing[k], of which there is at least one. */
static void
raise_missing(const GrDesignCall *call, const bool *missing)
{
	ValuesForm	form = call->form;
	StringInfoData list;
	int			n = 0;

	initStringInfo(&list);
	for (int k = 0; k < call->design->ncolumns; k++)
		if (missing[k] && ++n <= NAMED_MAX)
			appendStringInfo(&list, "%s\"%s\"", n == 1 ? "" : ", ", column_name(call, k));
	if (n == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 form == AS_ROW ? errmsg("the row does not have the model's offset") :
				 errmsg("the object does not have the model's offset"),
				 form == AS_ROW ? errdetail("The row has no column \"%s\".", column_name(call, call->ncolumns - 1)) :
				 errdetail("The object has no key \"%s\".", column_name(call, call->ncolumns - 1)),
				 errhint("Add the offset under this name, or pass the values one by one, the offset last.")));
	if (n > NAMED_MAX)
		appendStringInfo(&list, " and %d more", n - NAMED_MAX);
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 form == AS_ROW ? errmsg("the row does not match the model's columns") :
			 errmsg("the object does not match the model's columns"),
			 form == AS_ROW ? errdetail("The row has no column%s %s.", n == 1 ? "" : "s", list.data) :
			 errdetail("The object has no key%s %s.", n == 1 ? "" : "s", list.data),
			 errhint("Pass the values of all columns that the model was fitted to, under their names.")));
}

static void raise_type(const GrDesignCall *call, int k, Oid type) __attribute__((noreturn));

static void
raise_type(const GrDesignCall *call, int k, Oid type)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg("value of column \"%s\" has unsupported type %s", column_name(call, k), format_type_be(type)),
			 k == call->design->ncolumns || call->design->columns[k].is_number ?
			 errdetail("The value must be a number or a boolean.") :
			 errdetail("The value must be a text, an enum, a number or a boolean.")));
}

static void
raise_count(const GrDesignCall *call, int n)
{
	int			ncolumns = call->design->ncolumns;

	if (call->offsets.bytes != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the model was fitted to %d columns and an offset, but %d values were given", ncolumns, n),
				 errhint("Pass one value per column in the order of the query that the model was fitted to and then "
						 "the offset, or a row in which the offset is called \"%s\".",
						 column_name(call, ncolumns))));
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("the model was fitted to %d columns, but %d values were given", ncolumns, n),
			 errhint("Pass one value per column in the order of the query that the model was fitted to, or a row with "
					 "the names of these columns.")));
}

/* Describes the types of arguments that come by position. */
static void
describe_arguments(FunctionCallInfo fcinfo, int first_argno, GrDesignCall *call)
{
	for (int k = 0; k < PG_NARGS() - first_argno; k++)
	{
		Oid			type = get_fn_expr_argtype(fcinfo->flinfo, first_argno + k);

		if (!OidIsValid(type))
			ereport(ERROR,
					(errcode(ERRCODE_INDETERMINATE_DATATYPE),
					 errmsg("could not determine the type of argument %d of %s", first_argno + k + 1,
							gr_called_name(fcinfo)),
					 errhint("Cast the argument, as in NULL::float8.")));
		(void) gr_describe_value(&call->column[k], type);
	}
}

static ValuesForm
form_of(FunctionCallInfo fcinfo, int first_argno)
{
	Oid			type = PG_NARGS() == first_argno + 1 ? get_fn_expr_argtype(fcinfo->flinfo, first_argno) : InvalidOid;

	if (!OidIsValid(type))
		return BY_POSITION;
	type = getBaseType(type);
	return type == JSONBOID ? AS_OBJECT : type_is_rowtype(type) ? AS_ROW : BY_POSITION;
}

GrDesign *
gr_open_model_design(MemoryContext context, GrString design)
{
	GrDesign   *opened = gr_open_design(context, design.bytes, design.nbytes);

	if (opened == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("malformed gpu_model"),
				 errdetail("This version of gpureg cannot read its design."),
				 errhint("Use a value that a gpureg function returned.")));
	return opened;
}

void
gr_check_design_values(const GrDesign *design, const double *values)
{
	int			step;
	const GrExpression *expression = gr_design_fault(design, values, &step);
	int			column;

	if (likely(expression == NULL))
		return;
	column = gr_expression_column(expression);
	gr_raise_domain(expression->step[step].op, column < 0 ? NULL : gr_design_column_name(design, column),
					pnstrdup(expression->name.bytes, expression->name.nbytes), 0);
}

void
gr_check_design_size(const GrDesign *design, int nfeatures)
{
	if (design->nfeatures != nfeatures)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("malformed gpu_model"),
				 errdetail("Its design and its coefficients differ in size: %d and %d features.", design->nfeatures,
						   nfeatures),
				 errhint("Use a value that a gpureg function returned.")));
}

/*
 * Makes the data of a call site. first_argno: the first argument with values; design: the model's design, as text;
 * offsets: name of its offset column, or bytes NULL. The data moves to fn_mcxt only at the end, so that an error
 * frees it.
 */
static GrDesignCall *
describe_call(FunctionCallInfo fcinfo, int first_argno, GrString design, GrString offsets)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "gpureg design", ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	GrDesignCall *call = palloc0(sizeof(GrDesignCall));
	Size		ncolumns;

	call->context = context;
	call->nbytes = design.nbytes;
	call->text = memcpy(palloc(call->nbytes + 1), design.bytes, call->nbytes);
	call->design = gr_open_model_design(context, design);
	call->ncolumns = call->design->ncolumns + (offsets.bytes == NULL ? 0 : 1);
	call->offsets = offsets;
	if (offsets.bytes != NULL)
		call->offsets.bytes = memcpy(palloc(offsets.nbytes + 1), offsets.bytes, offsets.nbytes);
	ncolumns = Max(call->ncolumns, PG_NARGS()) + 1;
	call->values = palloc0(2 * ncolumns * sizeof(double));
	call->features = palloc((call->design->nfeatures + call->design->npaired + 1) * sizeof(double));
	call->low = call->features + call->design->nfeatures;
	call->nonzeros = palloc((gr_design_nonzeros_max(call->design) + 1) * sizeof(GrNonzero));
	call->attribute = palloc(ncolumns * sizeof(int));
	call->column = palloc0(ncolumns * sizeof(GrColumn));
	call->form = form_of(fcinfo, first_argno);
	if (call->form == BY_POSITION)
		describe_arguments(fcinfo, first_argno, call);
	MemoryContextSwitchTo(old);
	MemoryContextSetParent(context, fcinfo->flinfo->fn_mcxt);
	return call;
}

static bool
is_of_model(const GrDesignCall *call, const GrPredictor *model)
{
	return gr_same_name(model->design, (GrString) {call->text, call->nbytes}) &&
		gr_same_name(model->offsets, call->offsets);
}

/*
 * Values
 */

/* Describes values of column k by their type. Returns false if the column cannot have that type. */
static bool
describe_value(const GrDesignCall *call, int k, Oid type, GrColumn *column)
{
	if (k < call->design->ncolumns)
		return gr_describe_design_value(call->design, k, type, column);
	return gr_describe_value(column, type) && !OidIsValid(column->element);
}

/* True if value is a level of column k, or column k is no factor. */
static bool
has_level(const GrDesignCall *call, int k, const GrColumn *column, Datum value)
{
	const GrDesignColumn *of = &call->design->columns[k];
	GrString	level;

	if (!of->is_factor)
		return true;
	level = gr_level_of(column->type, value);
	return gr_level_find(&of->levels, level.bytes, level.nbytes) >= 0;
}

/* Stores a value of column k. Returns false if it is a level that counts as NULL. */
static bool
take_value(GrDesignCall *call, int k, const GrColumn *column, Datum value)
{
	if (k >= call->design->ncolumns)
		(void) gr_convert_value(column, value, &call->offset);
	else if (unlikely(call->null_levels) && !has_level(call, k, column, value))
		return false;
	else
		gr_take_design_value(call->design, k, column, value, false, call->values);
	return true;
}

/* Stores an array's numbers for the columns from *k on, and advances *k. Returns false if one is NULL. */
static bool
take_array(GrDesignCall *call, GrColumn *column, Datum value, int *k)
{
	ArrayType  *array = DatumGetArrayTypeP(value);
	int			n = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	double	   *numbers;

	gr_check_vector(array, "x");
	if (n > call->ncolumns - *k)
		raise_count(call, *k + n);
	numbers = palloc(Max(n, 1) * sizeof(double));
	column->width = n;
	if (!gr_convert_value(column, PointerGetDatum(array), numbers))
		return false;
	for (int i = 0; i < n; i++, (*k)++)
	{
		if (*k == call->design->ncolumns)
			call->offset = numbers[i];
		else if (call->design->columns[*k].is_factor)
			raise_type(call, *k, column->type);
		else
			call->values[*k] = numbers[i];
	}
	return true;
}

static bool
take_arguments(FunctionCallInfo fcinfo, int first_argno, GrDesignCall *call)
{
	int			n = PG_NARGS() - first_argno;
	bool		complete = true;
	int			k = 0;

	for (int i = 0; i < n; i++)
	{
		GrColumn   *column = &call->column[i];
		Datum		value = PG_GETARG_DATUM(first_argno + i);
		GrColumn	described;

		if (k >= call->ncolumns)
			raise_count(call, n);
		if (OidIsValid(column->element) && gr_is_number_type(column->element))
		{
			if (!take_array(call, column, value, &k))
				return false;
			continue;
		}
		if (!describe_value(call, k, column->type, &described))
			raise_type(call, k, column->type);
		complete &= take_value(call, k, &described, value);
		k++;
	}
	if (k != call->ncolumns)
		raise_count(call, k);
	return complete;
}

/* Finds the attributes of a row type that hold the design's columns. Raises an ERROR if one is missing. */
static void
describe_row(GrDesignCall *call, TupleDesc tupdesc, uint64 identifier)
{
	bool	   *missing = palloc0((call->ncolumns + 1) * sizeof(bool));
	bool		any = false;

	call->row_type = 0;
	for (int k = 0; k < call->ncolumns; k++)
	{
		GrString	name = k < call->design->ncolumns ? call->design->columns[k].name : call->offsets;

		call->attribute[k] = -1;
		for (int i = 0; i < tupdesc->natts; i++)
		{
			Form_pg_attribute attribute = TupleDescAttr(tupdesc, i);

			if (!attribute->attisdropped && strlen(NameStr(attribute->attname)) == (Size) name.nbytes &&
				memcmp(NameStr(attribute->attname), name.bytes, name.nbytes) == 0)
				call->attribute[k] = i;
		}
		missing[k] = call->attribute[k] < 0;
		any |= missing[k];
	}
	if (any)
		raise_missing(call, missing);
	pfree(missing);
	for (int k = 0; k < call->ncolumns; k++)
		if (!describe_value(call, k, TupleDescAttr(tupdesc, call->attribute[k])->atttypid, &call->column[k]))
			raise_type(call, k, TupleDescAttr(tupdesc, call->attribute[k])->atttypid);
	if (call->natts < tupdesc->natts)
	{
		call->datums = MemoryContextAlloc(call->context, tupdesc->natts * sizeof(Datum));
		call->nulls = MemoryContextAlloc(call->context, tupdesc->natts * sizeof(bool));
		call->natts = tupdesc->natts;
	}
	call->row_type = identifier;
}

static bool
take_row(FunctionCallInfo fcinfo, int argno, GrDesignCall *call)
{
	HeapTupleHeader header = PG_GETARG_HEAPTUPLEHEADER(argno);
	Oid			type = HeapTupleHeaderGetTypeId(header);
	int32		typmod = HeapTupleHeaderGetTypMod(header);
	TupleDesc	tupdesc = lookup_rowtype_tupdesc(type, typmod);
	uint64		identifier = assign_record_type_identifier(type, typmod);
	HeapTupleData tuple;

	/* identifiers are never reused: another row type, or an altered one, has another */
	if (call->row_type != identifier)
		describe_row(call, tupdesc, identifier);
	tuple.t_len = HeapTupleHeaderGetDatumLength(header);
	ItemPointerSetInvalid(&tuple.t_self);
	tuple.t_tableOid = InvalidOid;
	tuple.t_data = header;
	heap_deform_tuple(&tuple, tupdesc, call->datums, call->nulls);
	ReleaseTupleDesc(tupdesc);
	for (int k = 0; k < call->ncolumns; k++)
		if (call->nulls[call->attribute[k]])
			return false;
	for (int k = 0; k < call->ncolumns; k++)
		if (!take_value(call, k, &call->column[k], call->datums[call->attribute[k]]))
			return false;
	return true;
}

/* Converts a JSON value to an SQL datum. Returns its type, or InvalidOid if no column can have it. */
static Oid
json_type(const JsonbValue *value, Datum *datum)
{
	switch (value->type)
	{
		case jbvString:
			*datum = PointerGetDatum(cstring_to_text_with_len(value->val.string.val, value->val.string.len));
			return TEXTOID;
		case jbvNumeric:
			*datum = NumericGetDatum(value->val.numeric);
			return NUMERICOID;
		case jbvBool:
			*datum = BoolGetDatum(value->val.boolean);
			return BOOLOID;
		default:
			return InvalidOid;
	}
}

/* Finds the value of column k in an object. Returns NULL if the object has no such key. */
static JsonbValue *
find_member(const GrDesignCall *call, Jsonb *object, int k)
{
	GrString	name = k < call->design->ncolumns ? call->design->columns[k].name : call->offsets;
	JsonbValue	key = {.type = jbvString};

	key.val.string.val = unconstify(char *, name.bytes);
	key.val.string.len = name.nbytes;
	return findJsonbValueFromContainer(&object->root, JB_FOBJECT, &key);
}

static void raise_missing_members(const GrDesignCall *call, Jsonb *object) __attribute__((noreturn));

/* Raises an ERROR that names the keys that an object does not have. */
static void
raise_missing_members(const GrDesignCall *call, Jsonb *object)
{
	bool	   *missing = palloc((call->ncolumns + 1) * sizeof(bool));

	for (int k = 0; k < call->ncolumns; k++)
		missing[k] = find_member(call, object, k) == NULL;
	raise_missing(call, missing);
}

static bool
take_object(FunctionCallInfo fcinfo, int argno, GrDesignCall *call)
{
	const GrDesign *design = call->design;
	Jsonb	   *object = PG_GETARG_JSONB_P(argno);
	bool		complete = true;

	if (!JB_ROOT_IS_OBJECT(object))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("values in jsonb must be an object"),
				 errhint("Pass an object whose keys are the names of the columns that the model was fitted to.")));
	for (int k = 0; k < call->ncolumns; k++)
	{
		JsonbValue *value = find_member(call, object, k);
		GrColumn	column;
		Datum		datum = 0;
		Oid			type;

		if (value == NULL)
			raise_missing_members(call, object);
		if (value->type == jbvNull)
			complete = false;
		if (!complete)
			continue;
		type = json_type(value, &datum);
		if (!OidIsValid(type) || !describe_value(call, k, type, &column))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("value of column \"%s\" in the object is not a %s", column_name(call, k),
							k == design->ncolumns || design->columns[k].is_number ? "number" :
							"string, number or boolean")));
		complete = take_value(call, k, &column, datum);
	}
	return complete;
}

/* Returns the call site's data for model, built anew if the last call's model had another design or offset. */
static GrDesignCall *
call_for(FunctionCallInfo fcinfo, int first_argno, GrDesignCall **kept, const GrPredictor *model)
{
	GrDesignCall *call = *kept;

	if (likely(call != NULL && model->serial != 0 && call->serial == model->serial))
		return call;
	if (call == NULL || !is_of_model(call, model))
	{
		*kept = NULL;
		if (call != NULL)
			MemoryContextDelete(call->context);
		call = *kept = describe_call(fcinfo, first_argno, model->design, model->offsets);
	}
	call->serial = 0;
	gr_check_design_size(call->design, model->nfeatures);
	call->serial = model->serial;
	return call;
}

bool
gr_design_take(FunctionCallInfo fcinfo, GrRowArguments arguments, GrDesignCall **kept, const GrPredictor *model,
			   double *offset)
{
	int			first_argno = arguments.first_argno;
	GrDesignCall *call = call_for(fcinfo, first_argno, kept, model);
	bool		complete;

	call->null_levels = arguments.null_levels;
	if (call->form == AS_ROW)
		complete = take_row(fcinfo, first_argno, call);
	else if (call->form == AS_OBJECT)
		complete = take_object(fcinfo, first_argno, call);
	else
		complete = take_arguments(fcinfo, first_argno, call);
	if (complete)
		gr_check_design_values(call->design, call->values);
	*offset = call->offset;
	if (complete && call->design->offset.nsteps > 0)
		*offset = gr_expression_number(call->design->offset.step, call->design->offset.nsteps, call->values);
	return complete;
}

double
gr_design_dot(const GrDesignCall *call, const GrPredictor *model)
{
	const double *b = model->dense;
	GrDD		eta = gr_dd(model->intercept ? *b++ : 0);
	int			n = gr_design_nonzeros(call->design, call->values, call->nonzeros);

	for (int k = 0; k < n; k++)
		eta = gr_dd_add(eta, gr_dd_mul_d(call->nonzeros[k].value, b[call->nonzeros[k].feature]));
	return gr_dd_to_double(eta);
}

const double *
gr_design_features(FunctionCallInfo fcinfo, GrRowArguments arguments, GrDesignCall **kept, const GrPredictor *model,
				   const double **low, double *offset)
{
	GrDesignCall *call;

	if (!gr_design_take(fcinfo, arguments, kept, model, offset))
		return NULL;
	call = *kept;
	gr_design_expand_pairs(call->design, call->values, call->features, call->low);
	*low = call->low;
	return call->features;
}

const GrDesign *
gr_design_of_call(const GrDesignCall *call)
{
	return call->design;
}

double
gr_design_predictor(const GrDesign *design, const GrPredictor *model, const double *features, const double *low,
					bool *finite)
{
	int			first = model->intercept ? 1 : 0;
	const double *at = model->coef;
	GrDD		eta = gr_dd(model->intercept ? gr_next_coef(model, 0, &at) : 0);
	int			k = 0;

	if (isnan(eta.hi))
		eta = gr_dd(0);
	*finite = isfinite(eta.hi);
	for (int t = 0; t < design->nterms; t++)
	{
		const GrDesignTerm *term = &design->terms[t];

		for (int i = 0; i < term->width; i++, k++)
		{
			double		b = gr_next_coef(model, first + k, &at);
			double		rest = term->paired ? *low++ : 0;

			if (isnan(b) || (features[k] == 0 && isfinite(b)))
				continue;
			*finite &= isfinite(b) && isfinite(features[k]);
			eta = gr_dd_add(eta, gr_dd_mul_d((GrDD) {features[k], rest}, b));
		}
		gr_poll_loop(t);
	}
	return gr_dd_to_double(eta);
}

void
gr_design_pairs(const GrDesign *design, const double *features, const double *low, GrDD *pairs)
{
	int			k = 0;

	for (int t = 0; t < design->nterms; t++)
	{
		const GrDesignTerm *term = &design->terms[t];

		for (int i = 0; i < term->width; i++, k++)
			pairs[k] = (GrDD) {features[k], term->paired ? *low++ : 0};
		gr_poll_loop(t);
	}
}
