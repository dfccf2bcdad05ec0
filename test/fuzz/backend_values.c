/*
 * backend_values.c: arrays, rows, texts, numbers and JSON as arguments of functions; see backend.h.
 *
 * The server only hands over well-formed values; the contents of a row or of JSON are a caller's. So a row is made of
 * its fields behind a header with its type, and JSON is a tree behind a container's header.
 */
#include "backend.h"

#include "access/htup_details.h"
#include "access/tupdesc.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/typcache.h"

#undef snprintf
#undef sprintf
#undef qsort

/* Compares two values bit by bit: those of a variable length with their lengths. */
bool
datumIsEqual(Datum value1, Datum value2, bool typByVal, int typLen)
{
	if (typByVal)
		return value1 == value2;
	if (typLen == -1)
		return VARSIZE_ANY(DatumGetPointer(value1)) == VARSIZE_ANY(DatumGetPointer(value2)) &&
			memcmp(DatumGetPointer(value1), DatumGetPointer(value2), VARSIZE_ANY(DatumGetPointer(value1))) == 0;
	return memcmp(DatumGetPointer(value1), DatumGetPointer(value2), typLen) == 0;
}

/*
 * Texts
 */

text *
backend_text(const char *bytes, size_t n, bool is_short)
{
	text	   *result;

	if (is_short && n + VARHDRSZ_SHORT <= VARATT_SHORT_MAX)
	{
		result = palloc(n + VARHDRSZ_SHORT);
		SET_VARSIZE_SHORT(result, n + VARHDRSZ_SHORT);
		if (n > 0)
			memcpy(VARDATA_SHORT(result), bytes, n);
		return result;
	}
	result = palloc(n + VARHDRSZ);
	SET_VARSIZE(result, n + VARHDRSZ);
	if (n > 0)
		memcpy(VARDATA(result), bytes, n);
	return result;
}

text *
cstring_to_text_with_len(const char *s, int len)
{
	return backend_text(s, (size_t) len, false);
}

text *
cstring_to_text(const char *s)
{
	return backend_text(s, strlen(s), false);
}

char *
text_to_cstring(const text *t)
{
	int			n = (int) VARSIZE_ANY_EXHDR(t);
	char	   *result = palloc((Size) n + 1);

	memcpy(result, VARDATA_ANY(t), (size_t) n);
	result[n] = '\0';
	return result;
}

char *
format_type_be(Oid type_oid)
{
	return psprintf("type %u", type_oid);
}

/*
 * Types of numbers, arrays of them, and rows
 */

#define FIRST_ROW_TYPE 100000	/* first OID of types whose values are rows */

static const Oid arrays[][2] = {
	{FLOAT8OID, FLOAT8ARRAYOID}, {FLOAT4OID, FLOAT4ARRAYOID}, {INT2OID, INT2ARRAYOID}, {INT4OID, INT4ARRAYOID},
	{INT8OID, INT8ARRAYOID}, {BOOLOID, BOOLARRAYOID}, {NUMERICOID, NUMERICARRAYOID}, {TEXTOID, TEXTARRAYOID}
};

Oid
getBaseType(Oid typid)
{
	return typid;
}

Oid
get_element_type(Oid typid)
{
	for (int k = 0; k < COUNT(arrays); k++)
		if (arrays[k][1] == typid)
			return arrays[k][0];
	return InvalidOid;
}

Oid
get_array_type(Oid typid)
{
	for (int k = 0; k < COUNT(arrays); k++)
		if (arrays[k][0] == typid)
			return arrays[k][1];
	return InvalidOid;
}

bool
type_is_rowtype(Oid typid)
{
	return typid >= FIRST_ROW_TYPE || typid == RECORDOID;
}

bool
type_is_enum(Oid typid)
{
	return false;
}

static void
layout(Oid type, int *length, char *align)
{
	*length = type == FLOAT8OID || type == INT8OID ? 8 : type == FLOAT4OID || type == INT4OID ? 4 :
		type == INT2OID ? 2 : type == BOOLOID ? 1 : -1;
	*align = *length == 8 ? TYPALIGN_DOUBLE : *length == 2 ? TYPALIGN_SHORT : *length == 1 ? TYPALIGN_CHAR :
		TYPALIGN_INT;
}

void
get_typlenbyvalalign(Oid typid, int16 *typlen, bool *typbyval, char *typalign)
{
	int			length;

	layout(typid, &length, typalign);
	*typlen = (int16) length;
	*typbyval = length > 0;
}

/* A C number behind a header of the server's type */
typedef struct FuzzNumeric
{
	int32		vl_len_;
	double		value;
} FuzzNumeric;

Datum
backend_numeric(double value)
{
	FuzzNumeric *number = palloc0(sizeof(FuzzNumeric));

	SET_VARSIZE(number, sizeof(FuzzNumeric));
	number->value = value;
	return PointerGetDatum(number);
}

Datum
numeric_float8(PG_FUNCTION_ARGS)
{
	double		value = ((const FuzzNumeric *) PG_GETARG_POINTER(0))->value;

	/* a numeric beyond the range of float8 */
	if (value > 1e308)
		ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE), errmsg("out of range for double precision")));
	PG_RETURN_FLOAT8(value);
}

Datum
numeric_float8_no_overflow(PG_FUNCTION_ARGS)
{
	double		value = ((const FuzzNumeric *) PG_GETARG_POINTER(0))->value;

	PG_RETURN_FLOAT8(value > 1e308 ? HUGE_VAL : value);
}

Datum
numeric_trim_scale(PG_FUNCTION_ARGS)
{
	PG_RETURN_DATUM(PG_GETARG_DATUM(0));
}

Datum
numeric_out(PG_FUNCTION_ARGS)
{
	PG_RETURN_CSTRING(psprintf("%.17g", ((const FuzzNumeric *) PG_GETARG_POINTER(0))->value));
}

int
float_to_shortest_decimal_buf(float f, char *result)
{
	return sprintf(result, "%.9g", (double) f);
}

int
pg_itoa(int16 i, char *a)
{
	return sprintf(a, "%d", i);
}

int
pg_ltoa(int32 l, char *a)
{
	return sprintf(a, "%d", l);
}

int
pg_lltoa(int64 ll, char *a)
{
	return sprintf(a, INT64_FORMAT, ll);
}

int
pg_mbcliplen(const char *mbstr, int len, int limit)
{
	return Min(len, limit);
}

/* Returns a UTF-8 character's length by its first byte, like the server's function. */
int
pg_mblen(const char *mbstr)
{
	unsigned char c = (unsigned char) *mbstr;

	return c < 0xc0 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
}

int
pg_dsplen(const char *mbstr)
{
	return *mbstr == '\0' ? 0 : (unsigned char) *mbstr < ' ' ? -1 : 1;
}

/*
 * Arrays
 */

int
ArrayGetNItems(int ndim, const int *dims)
{
	int			n = ndim > 0 ? 1 : 0;

	for (int k = 0; k < ndim; k++)
		n *= dims[k];
	return n;
}

ArrayType *
backend_array(Oid element, int ndim, const int *dims, const int *bounds, const Datum *items, const bool *nulls)
{
	int			n = ArrayGetNItems(ndim, dims);
	int			length;
	char		align;
	Size		head = nulls == NULL ? ARR_OVERHEAD_NONULLS(ndim) : ARR_OVERHEAD_WITHNULLS(ndim, n);
	Size		nbytes = head;
	ArrayType  *array;
	char	   *at;

	layout(element, &length, &align);
	for (int k = 0; k < n; k++)
		if (nulls == NULL || !nulls[k])
			nbytes = att_align_nominal(att_align_nominal(nbytes, align) +
									   (length > 0 ? (Size) length : VARSIZE_ANY(DatumGetPointer(items[k]))), align);
	array = palloc0(nbytes);
	SET_VARSIZE(array, nbytes);
	array->ndim = ndim;
	array->dataoffset = nulls == NULL ? 0 : (int32) head;
	array->elemtype = element;
	for (int k = 0; k < ndim; k++)
	{
		ARR_DIMS(array)[k] = dims[k];
		ARR_LBOUND(array)[k] = bounds[k];
	}
	at = ARR_DATA_PTR(array);
	for (int k = 0; k < n; k++)
	{
		if (nulls != NULL && nulls[k])
			continue;
		if (nulls != NULL)
			ARR_NULLBITMAP(array)[k / 8] |= (bits8) (1 << (k % 8));
		at = (char *) att_align_nominal(at, align);
		if (length > 0)
			store_att_byval(at, items[k], length);
		else
			memcpy(at, DatumGetPointer(items[k]), VARSIZE_ANY(DatumGetPointer(items[k])));
		at += length > 0 ? (Size) length : VARSIZE_ANY(DatumGetPointer(items[k]));
	}
	return array;
}

bool
array_contains_nulls(ArrayType *array)
{
	int			n = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	const bits8 *nulls = ARR_NULLBITMAP(array);

	for (int k = 0; nulls != NULL && k < n; k++)
		if ((nulls[k / 8] & (1 << (k % 8))) == 0)
			return true;
	return false;
}

void
deconstruct_array(ArrayType *array, Oid elmtype, int elmlen, bool elmbyval, char elmalign, Datum **elemsp,
				  bool **nullsp, int *nelemsp)
{
	int			n = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	const bits8 *nulls = ARR_NULLBITMAP(array);
	char	   *at = ARR_DATA_PTR(array);

	must(ARR_ELEMTYPE(array) == elmtype);
	*elemsp = palloc((Size) n * sizeof(Datum));
	if (nullsp != NULL)
		*nullsp = palloc0((Size) n * sizeof(bool));
	for (int k = 0; k < n; k++)
	{
		if (nulls != NULL && (nulls[k / 8] & (1 << (k % 8))) == 0)
		{
			if (nullsp == NULL)
				ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("null array element not allowed")));
			(*elemsp)[k] = 0;
			(*nullsp)[k] = true;
			continue;
		}
		at = (char *) att_align_pointer(at, elmalign, elmlen, at);
		(*elemsp)[k] = fetch_att(at, elmbyval, elmlen);
		at = (char *) att_addlength_pointer(at, elmlen, at);
	}
	*nelemsp = n;
}

ArrayType *
construct_empty_array(Oid elmtype)
{
	return backend_array(elmtype, 0, NULL, NULL, NULL, NULL);
}

ArrayType *
construct_md_array(Datum *elems, bool *nulls, int ndims, int *dims, int *lbs, Oid elmtype, int elmlen, bool elmbyval,
				   char elmalign)
{
	bool		some = false;

	for (int k = 0; nulls != NULL && k < ArrayGetNItems(ndims, dims); k++)
		some |= nulls[k];
	if (ArrayGetNItems(ndims, dims) <= 0)
		return construct_empty_array(elmtype);
	return backend_array(elmtype, ndims, dims, lbs, elems, some ? nulls : NULL);
}

ArrayType *
construct_array(Datum *elems, int nelems, Oid elmtype, int elmlen, bool elmbyval, char elmalign)
{
	int			one = 1;

	return construct_md_array(elems, NULL, 1, &nelems, &one, elmtype, elmlen, elmbyval, elmalign);
}

void
pg_qsort(void *base, size_t nel, size_t elsize, int (*cmp) (const void *, const void *))
{
	qsort(base, nel, elsize, cmp);
}

void
qsort_interruptible(void *base, size_t nel, size_t elsize, qsort_arg_comparator cmp, void *arg)
{
	if (nel > 0)
		qsort_r(base, nel, elsize, cmp, arg);
}

/*
 * Rows
 */

#define NUMBERS_MAX 4

/* A row: the server's header with the type, then the fields as the stand-in keeps them */
typedef struct FuzzRow
{
	Datum		header[1 + sizeof(HeapTupleHeaderData) / sizeof(Datum)];
	int			natts;
	Datum	   *values;			/* NULL if the fields are few: they are in numbers */
	bool	   *nulls;
	TupleDesc	type;
	Datum		numbers[NUMBERS_MAX];	/* few fields, where the header's t_hoff says: a copy can change them */
} FuzzRow;

static const Datum *
fields_of(const FuzzRow *row)
{
	return row->values != NULL ? row->values : row->numbers;
}

int			backend_nrows;

static TupleDesc result_type;

static TupleDesc
new_tupdesc(int natts, const Oid *types, const char *const *names)
{
	TupleDesc	tupdesc;
	Size		nbytes = offsetof(struct TupleDescData, attrs) + (Size) natts * sizeof(FormData_pg_attribute);

#if PG_VERSION_NUM >= 180000
	nbytes = offsetof(struct TupleDescData, compact_attrs) + (Size) natts * sizeof(CompactAttribute) +
		(Size) natts * sizeof(FormData_pg_attribute);
#endif
	tupdesc = palloc0(nbytes);
	tupdesc->natts = natts;
	tupdesc->tdrefcount = -1;
	for (int k = 0; k < natts; k++)
	{
		Form_pg_attribute attribute = TupleDescAttr(tupdesc, k);

		attribute->atttypid = types[k];
		attribute->attisdropped = types[k] == InvalidOid;
		if (names != NULL)
			snprintf(NameStr(attribute->attname), NAMEDATALEN, "%s", names[k]);
	}
	return tupdesc;
}

static Datum
new_row(TupleDesc type, const Datum *values, const bool *nulls, Oid identifier)
{
	FuzzRow    *result = palloc0(sizeof(FuzzRow));

	SET_VARSIZE(result, sizeof(FuzzRow));
	HeapTupleHeaderSetTypeId((HeapTupleHeader) result->header, identifier);
	HeapTupleHeaderSetTypMod((HeapTupleHeader) result->header, -1);
	result->type = type;
	result->natts = type->natts;
	((HeapTupleHeader) result->header)->t_hoff = offsetof(FuzzRow, numbers);
	if (type->natts > NUMBERS_MAX)
		result->values = palloc((Size) type->natts * sizeof(Datum));
	memcpy(result->values != NULL ? result->values : result->numbers, values, (size_t) type->natts * sizeof(Datum));
	result->nulls = memcpy(palloc((Size) type->natts * sizeof(bool)), nulls, (size_t) type->natts * sizeof(bool));
	return PointerGetDatum(result);
}

Datum
backend_row(const BackendRow *row)
{
	return new_row(new_tupdesc(row->natts, row->types, row->names), row->values, row->nulls,
				   FIRST_ROW_TYPE + row->identifier);
}

void
backend_fields(Datum row, Datum *values, bool *nulls, int natts)
{
	const FuzzRow *from = (const FuzzRow *) DatumGetPointer(row);

	must(from->natts == natts);
	memcpy(values, fields_of(from), (size_t) natts * sizeof(Datum));
	memcpy(nulls, from->nulls, (size_t) natts * sizeof(bool));
}

void
backend_result_type(int natts, const Oid *types)
{
	result_type = new_tupdesc(natts, types, NULL);
}

/* A function in some servers, a macro in others; this is the function. */
#ifndef DatumGetHeapTupleHeader
HeapTupleHeader
DatumGetHeapTupleHeader(Datum t)
{
	return (HeapTupleHeader) pg_detoast_datum((struct varlena *) DatumGetPointer(t));
}
#endif

/* Returns the type of the row that was the last argument looked at; callers ask for it at once. */
TupleDesc
lookup_rowtype_tupdesc(Oid type_id, int32 typmod)
{
	return ((const FuzzRow *) backend_detoasted)->type;
}

uint64
assign_record_type_identifier(Oid type_id, int32 typmod)
{
	return type_id;
}

/* Returns an entry that says that the type has not changed. */
TypeCacheEntry *
lookup_type_cache(Oid type_id, int flags)
{
	static TypeCacheEntry entry;

	entry.tupDesc_identifier = type_id;
	return &entry;
}

void
heap_deform_tuple(HeapTuple tuple, TupleDesc tupleDesc, Datum *values, bool *isnull)
{
	const FuzzRow *from = (const FuzzRow *) tuple->t_data;

	must(tupleDesc->natts == from->natts);
	memcpy(values, fields_of(from), (size_t) from->natts * sizeof(Datum));
	memcpy(isnull, from->nulls, (size_t) from->natts * sizeof(bool));
}

TupleDesc
BlessTupleDesc(TupleDesc tupdesc)
{
	return tupdesc;
}

TupleDesc
CreateTupleDescCopy(TupleDesc tupdesc)
{
	Oid			types[100];

	for (int k = 0; k < tupdesc->natts; k++)
		types[k] = TupleDescAttr(tupdesc, k)->atttypid;
	return new_tupdesc(tupdesc->natts, types, NULL);
}

TypeFuncClass
get_call_result_type(FunctionCallInfo fcinfo, Oid *resultTypeId, TupleDesc *resultTupleDesc)
{
	*resultTupleDesc = result_type;
	return TYPEFUNC_COMPOSITE;
}

HeapTuple
heap_form_tuple(TupleDesc tupleDescriptor, Datum *values, bool *isnull)
{
	HeapTuple	tuple = palloc0(sizeof(HeapTupleData));

	for (int k = 0; k < tupleDescriptor->natts; k++)
		if (isnull[k])
			values[k] = 0;
	tuple->t_len = sizeof(FuzzRow);
	tuple->t_data = (HeapTupleHeader) DatumGetPointer(new_row(tupleDescriptor, values, isnull, FIRST_ROW_TYPE));
	return tuple;
}

Datum
HeapTupleHeaderGetDatum(HeapTupleHeader tuple)
{
	return PointerGetDatum(tuple);
}

void
InitMaterializedSRF(FunctionCallInfo fcinfo, bits32 flags)
{
	((ReturnSetInfo *) fcinfo->resultinfo)->setDesc = result_type;
	backend_nrows = 0;
}

void
tuplestore_putvalues(Tuplestorestate *state, TupleDesc tdesc, Datum *values, bool *isnull)
{
	backend_nrows++;
}

/*
 * JSON
 */

typedef struct FuzzContainer
{
	int32		vl_len_;
	uint32		header;			/* JsonbContainer's member in its place */
	BackendJson *node;
} FuzzContainer;

static FuzzContainer *
container_of(BackendJson *node)
{
	FuzzContainer *container = palloc0(sizeof(FuzzContainer));

	SET_VARSIZE(container, sizeof(FuzzContainer));
	container->node = node;
	container->header = (uint32) node->nmembers |
		(node->type == jbvObject ? JB_FOBJECT : node->type == jbvArray ? JB_FARRAY : JB_FARRAY | JB_FSCALAR);
	return container;
}

Datum
backend_jsonb(BackendJson *root)
{
	return PointerGetDatum(container_of(root));
}

static void
value_of(BackendJson *node, JsonbValue *value)
{
	memset(value, 0, sizeof(*value));
	value->type = node->type == jbvArray || node->type == jbvObject ? jbvBinary : (enum jbvType) node->type;
	switch (node->type)
	{
		case jbvString:
			value->val.string.val = unconstify(char *, node->bytes);
			value->val.string.len = node->nbytes;
			break;
		case jbvNumeric:
			value->val.numeric = DatumGetNumeric(backend_numeric(node->number));
			break;
		case jbvBool:
			value->val.boolean = node->number != 0;
			break;
		case jbvArray:
		case jbvObject:
			value->val.binary.len = (int) sizeof(JsonbContainer);
			value->val.binary.data = (JsonbContainer *) &container_of(node)->header;
			break;
	}
}

static BackendJson *
node_of(JsonbContainer *container)
{
	return ((FuzzContainer *) ((char *) container - offsetof(FuzzContainer, header)))->node;
}

/* An iterator's `node` points to the stand-in's members where the server's iterator points to bytes. */
JsonbIterator *
JsonbIteratorInit(JsonbContainer *container)
{
	JsonbIterator *it = palloc0(sizeof(JsonbIterator));
	BackendJson *node = node_of(container);

	it->container = container;
	it->dataProper = (char *) node->first;
	it->state = node->type == jbvObject ? JBI_OBJECT_START : JBI_ARRAY_START;
	it->isScalar = node->type != jbvObject && node->type != jbvArray;
	return it;
}

JsonbIteratorToken
JsonbIteratorNext(JsonbIterator **it, JsonbValue *val, bool skipNested)
{
	JsonbIterator *at = *it;
	BackendJson *member;

	if (at == NULL)
		return WJB_DONE;
	member = (BackendJson *) at->dataProper;
	must(skipNested && !at->isScalar);
	switch (at->state)
	{
		case JBI_OBJECT_START:
			at->state = JBI_OBJECT_KEY;
			return WJB_BEGIN_OBJECT;
		case JBI_ARRAY_START:
			at->state = JBI_ARRAY_ELEM;
			return WJB_BEGIN_ARRAY;
		case JBI_OBJECT_KEY:
			if (member != NULL)
			{
				val->type = jbvString;
				val->val.string.val = unconstify(char *, member->key);
				val->val.string.len = member->nkey;
				at->state = JBI_OBJECT_VALUE;
				return WJB_KEY;
			}
			break;
		case JBI_OBJECT_VALUE:
		case JBI_ARRAY_ELEM:
			if (member != NULL)
			{
				value_of(member, val);
				at->dataProper = (char *) member->next;
				if (at->state == JBI_ARRAY_ELEM)
					return WJB_ELEM;
				at->state = JBI_OBJECT_KEY;
				return WJB_VALUE;
			}
			break;
	}
	*it = NULL;
	return node_of(at->container)->type == jbvObject ? WJB_END_OBJECT : WJB_END_ARRAY;
}

JsonbValue *
findJsonbValueFromContainer(JsonbContainer *container, uint32 flags, JsonbValue *key)
{
	for (BackendJson *member = node_of(container)->first; member != NULL; member = member->next)
		if (member->nkey == key->val.string.len && memcmp(member->key, key->val.string.val, (size_t) member->nkey) == 0)
		{
			JsonbValue *value = palloc(sizeof(JsonbValue));

			value_of(member, value);
			return value;
		}
	return NULL;
}
