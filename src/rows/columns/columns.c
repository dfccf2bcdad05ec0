/*
 * columns.c: describes columns of a query or arguments of an aggregate, and converts their values to numbers.
 */
#include "postgres.h"

#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "compute/base/compute.h"
#include "rows/columns/columns.h"
#include "rows/columns/numeric.h"
#include "run/args.h"

#define PACKED 500				/* limit of the numbers packed in an array */

/* Describes a column by its type; false if the type can't be used. allow_array is false for a column with a role. */
static bool
describe_column(GrColumn *column, Oid type, bool allow_array)
{
	return gr_describe_value(column, type) && (allow_array || !OidIsValid(column->element));
}

/* Allows the keys' bigints to be rounded: a bigint of 2^53 or more is no key, rounded or not. */
static void
let_keys_round(GrColumns *columns)
{
	int			nroles = gr_nroles(columns);

	for (int k = nroles - columns->key - columns->second_key; k < nroles; k++)
		columns->column[k].rounds = true;
}

/* Sets plain and nfeatures by the columns' types and widths. */
static void
sum_up(GrColumns *columns)
{
	int64		nfeatures = 0;

	columns->plain = true;
	for (int k = gr_nroles(columns); k < columns->n; k++)
		columns->plain &= columns->column[k].type == FLOAT8OID;
	columns->nfeatures = -1;
	for (int k = gr_nroles(columns); k < columns->n; k++)
	{
		if (columns->column[k].width < 0)
			return;
		nfeatures += columns->column[k].width;
	}
	/* more than GR_MAX_FEATURES are an error once rows are read */
	columns->nfeatures = (int) Min(nfeatures, GR_MAX_FEATURES + 1);
}

static Size
columns_nbytes(int n)
{
	return offsetof(GrColumns, column) + n * sizeof(GrColumn);
}

int
gr_find_column(int n, const char *const *names, const char *role, const char *name)
{
	const char *whose = role == NULL ? "The model was fitted to a column of this name." :
		psprintf("The argument %s names this column.", role);
	int			found = -1;

	for (int k = 0; k < n; k++)
	{
		if (strcmp(names[k], name) != 0)
			continue;
		if (found >= 0)
			ereport(ERROR,
					(errcode(ERRCODE_AMBIGUOUS_COLUMN),
					 errmsg("query has several columns \"%s\"", name),
					 errdetail("%s", whose),
					 errhint("Rename all of them but one with AS.")));
		found = k;
	}
	if (found < 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("query has no column \"%s\"", name),
				 errdetail("%s", whose),
				 errhint("Add a column of this name to the query, or rename one with AS.")));
	return found;
}

void
gr_find_clusters(int n, const char *const *names, const GrRoles *roles, int *found)
{
	for (int k = 0; k < roles->nclusters; k++)
		found[k] = gr_find_column(n, names, roles->cluster_role == NULL ? "clusters" : roles->cluster_role,
								  roles->clusters[k]);
}

int
gr_find_sides(int n, const char *const *names, const GrRoles *roles, int *found)
{
	for (int k = 0; k < roles->nabsorbed; k++)
		found[k] = gr_find_column(n, names, roles->absorb_role, roles->absorbed[k]);
	gr_find_clusters(n, names, roles, found + roles->nabsorbed);
	return roles->nabsorbed + roles->nclusters;
}

/* True if column k has another role than the response, or is an absorbed or a cluster column. */
static bool
has_other_role(int k, const int *found, const int *sides, int nsides)
{
	bool		has = false;

	for (int i = 1; i < GR_ROLES_MAX; i++)
		has |= k == found[i];
	for (int i = 0; i < nsides; i++)
		has |= k == sides[i];
	return has;
}

int
gr_find_roles(int n, const char *const *names, const GrRoles *roles, int *found)
{
	const char *weights = roles->weighting == GR_FREQUENCIES ? "frequencies" : "weights";
	int			sides[GR_SIDES_MAX];
	int			nsides;
	int			nroles = 1;

	for (int i = 1; i < GR_ROLES_MAX; i++)
		found[i] = -1;
	if (roles->weights != NULL)
		found[nroles++] = gr_find_column(n, names, weights, roles->weights);
	if (roles->offsets != NULL)
		found[nroles++] = gr_find_column(n, names, "offsets", roles->offsets);
	if (nroles == 3 && found[1] == found[2])
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("column \"%s\" cannot be both %s and offsets", roles->offsets, weights)));
	if (roles->made_key != NULL)
		found[nroles++] = gr_find_column(n, names, roles->key_role, roles->made_key);
	if (roles->made_second_key != NULL)
		found[nroles++] = gr_find_column(n, names, roles->key_role, roles->made_second_key);
	nsides = gr_find_sides(n, names, roles, sides);
	/* the response is the first column without another role */
	found[0] = 0;
	while (has_other_role(found[0], found, sides, nsides))
		found[0]++;
	if (found[0] >= n)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 nroles + nsides == 1 ? errmsg("query must return at least one column") :
				 errmsg("query must return a response besides the columns that other arguments name"),
				 nroles + nsides == 1 ?
				 errhint("Select the response first and the features after it.") :
				 errhint("Add the response to the query: the first column that no argument names. The features follow "
						 "it.")));
	return nroles;
}

/* Describes the query's column number from as columns->column[k]. role: "Weights" or the like; NULL: a feature */
static void
take_column(GrColumns *columns, int k, TupleDesc tupdesc, const char *const *names, int from, const char *role)
{
	Oid			type = TupleDescAttr(tupdesc, from)->atttypid;

	columns->column[k].name = names[from];
	columns->column[k].at = from;
	if (!describe_column(&columns->column[k], type, role == NULL))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("column \"%s\" of the query has unsupported type %s", names[from], format_type_be(type)),
				 role == NULL ? errdetail("Features must be numbers, booleans, arrays of them, texts or enums.") :
				 k == 0 ? errdetail("The response must be a number or a boolean.") :
				 errdetail("%s must be numbers.", role),
				 role == NULL ? errhint("Cast the column in the query: to a number, or to text if it is a category.") :
				 k > 0 ? 0 :
				 errhint("Cast the value to a number, or make 0/1 columns of a category, as in (cut = "
						 "'Ideal')::int.")));
}

GrColumns *
gr_query_columns(TupleDesc tupdesc, const char *const *names, const GrRoles *roles)
{
	int			n = tupdesc->natts;
	GrColumns  *columns = palloc0(columns_nbytes(n));
	GrRoles		own = *roles;
	int			found[GR_ROLES_MAX];
	int			nroles;
	int			nkeys;
	int			at;

	own.nclusters = own.nabsorbed = 0;
	nroles = at = gr_find_roles(n, names, &own, found);
	columns->n = n;
	columns->weight = roles->weights != NULL;
	columns->offset = roles->offsets != NULL;
	columns->key = roles->made_key != NULL;
	columns->second_key = roles->made_second_key != NULL;
	nkeys = columns->key + columns->second_key;
	for (int k = 0; k < nroles; k++)
		take_column(columns, k, tupdesc, names, found[k],
					k == 0 ? "Response" : k >= nroles - nkeys ? "Keys" :
					columns->offset && k == nroles - nkeys - 1 ? "Offsets" :
					roles->weighting == GR_FREQUENCIES ? "Frequencies" : "Weights");
	for (int k = 0; k < n; k++)
		if (k != found[0] && !has_other_role(k, found, NULL, 0))
			take_column(columns, at++, tupdesc, names, k, NULL);
	let_keys_round(columns);
	sum_up(columns);
	return columns;
}

GrColumns *
gr_argument_columns(FunctionCallInfo fcinfo, int first_argno, GrRowShape shape)
{
	int			n = PG_NARGS() - first_argno;
	GrColumns  *columns = MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt, columns_nbytes(n));
	bool		ok;

	columns->n = n;
	columns->weight = shape.weight;
	columns->offset = shape.offset;
	columns->key = shape.key;
	columns->second_key = shape.second_key;
	ok = n >= gr_nroles(columns);
	for (int k = 0; ok && k < n; k++)
	{
		Oid			type = get_fn_expr_argtype(fcinfo->flinfo, first_argno + k);

		columns->column[k].at = k;
		ok = describe_column(&columns->column[k], type, k >= gr_nroles(columns));
	}
	if (!ok)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("columns must be numbers, booleans or arrays of them")));
	let_keys_round(columns);
	sum_up(columns);
	return columns;
}

GrColumns *
gr_copy_columns(const GrColumns *columns)
{
	return memcpy(palloc(columns_nbytes(columns->n)), columns, columns_nbytes(columns->n));
}

GrColumns *
gr_columns_without_key(const GrColumns *columns)
{
	GrColumns  *copy = gr_copy_columns(columns);
	int			nkeys = columns->key + columns->second_key;
	int			at = gr_nroles(columns) - nkeys;

	copy->key = copy->second_key = false;
	copy->n -= nkeys;
	memmove(copy->column + at, copy->column + at + nkeys, (copy->n - at) * sizeof(GrColumn));
	return copy;
}

GrColumns *
gr_pack_columns(const GrColumns *columns, int max, bool single)
{
	Oid			element = single ? FLOAT4OID : FLOAT8OID;
	GrColumns  *packed = gr_copy_columns(columns);

	packed->n = 0;
	for (int k = 0; k < columns->n; k++)
	{
		bool		packs = columns->n > max && k >= gr_nroles(columns) && !OidIsValid(columns->column[k].element);
		GrColumn   *last = packed->n == 0 ? NULL : &packed->column[packed->n - 1];

		if (packs && last->npacked > 0 && last->npacked < PACKED)
			last->width = ++last->npacked;
		else if (packs)
			packed->column[packed->n++] = (GrColumn) {
				.type = get_array_type(element),.element = element,.width = 1,.npacked = 1
			};
		else
			packed->column[packed->n++] = columns->column[k];
	}
	for (int k = 0; k < packed->n; k++)
		packed->column[k].at = k;
	sum_up(packed);
	return packed;
}

static bool
is_single(const GrColumn *column)
{
	return column->element == FLOAT4OID || column->type == FLOAT4OID || column->type == INT2OID ||
		column->type == BOOLOID;
}

bool
gr_columns_are_single(const GrColumns *columns)
{
	for (int k = gr_nroles(columns); k < columns->n; k++)
		if (!is_single(&columns->column[k]))
			return false;
	return true;
}

bool
gr_columns_are_real(const GrColumns *columns)
{
	for (int k = gr_nroles(columns); k < columns->n; k++)
		if (columns->column[k].type != FLOAT4OID && columns->column[k].element != FLOAT4OID)
			return false;
	return true;
}

/*
 * Widths
 */

int
gr_array_width(Datum value)
{
	ArrayType  *array = DatumGetArrayTypeP(value);

	return ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
}

void
gr_measure_row(GrColumns *columns, GrValues values)
{
	for (int k = gr_nroles(columns); k < columns->n; k++)
	{
		GrColumn   *column = &columns->column[k];

		if (OidIsValid(column->element) && column->npacked == 0)
			column->width = gr_array_width(gr_value(values, column->at));
	}
	sum_up(columns);
	/* the response alone is a model of the intercept, without features */
	if (columns->n > gr_nroles(columns))
		gr_check_nfeatures(columns->nfeatures);
}

void
gr_set_widths(GrColumns *columns, const int32 *widths)
{
	for (int k = gr_nroles(columns); k < columns->n; k++)
		columns->column[k].width = widths[k - gr_nroles(columns)];
	sum_up(columns);
}

void
gr_take_widths(GrColumns *columns, const GrColumns *packed)
{
	int			at = 0;

	for (int k = 0; k < packed->n; k++)
	{
		const GrColumn *argument = &packed->column[k];

		if (argument->npacked == 0)
			columns->column[at].width = argument->width;
		at += Max(argument->npacked, 1);
	}
	sum_up(columns);
}

int
gr_guess_nfeatures(const GrColumns *columns, int width)
{
	double		guess = 0;

	for (int k = gr_nroles(columns); k < columns->n; k++)
		guess += columns->column[k].width >= 0 ? columns->column[k].width : width;
	return (int) Min(guess, GR_MAX_FEATURES);
}

/*
 * Names
 */

/* Returns how many of the query's columns the first n columns stand for. */
static int
query_columns(const GrColumns *columns, int n)
{
	int			count = 0;

	for (int k = 0; k < n; k++)
		count += Max(columns->column[k].npacked, 1);
	return count;
}

/* Names a row's numbers as gr_name_numbers() does. given: the names of the query's columns */
static const char **
name_numbers(const GrColumns *columns, const char *const *given)
{
	int			nroles = gr_nroles(columns);
	const char **names = palloc(gr_row_ncols(gr_columns_shape(columns)) * sizeof(char *));
	int			n = 0;
	int			at = nroles;

	for (int k = nroles; k < columns->n; at += Max(columns->column[k].npacked, 1), k++)
	{
		const GrColumn *column = &columns->column[k];
		bool		is_array = OidIsValid(column->element) && column->npacked == 0;

		for (int i = 0; i < column->width; i++)
			names[n++] = column->elements != NULL ? column->elements[i] :
				is_array ? psprintf("%s[%d]", given[at], i + 1) : given[at + i];
	}
	memcpy(names + n, given, nroles * sizeof(char *));
	return names;
}

const char **
gr_name_numbers(const GrColumns *columns)
{
	const char **given = palloc(columns->n * sizeof(char *));
	const char **names;

	for (int k = 0; k < columns->n; k++)
		given[k] = columns->column[k].name;
	names = name_numbers(columns, given);
	pfree(given);
	return names;
}

Datum
gr_names_datum(const GrColumns *columns)
{
	bool		known = columns->nfeatures >= 0;
	const char **numbers = known ? gr_name_numbers(columns) : NULL;
	int			nroles = gr_nroles(columns);
	int			n = known ? gr_row_ncols(gr_columns_shape(columns)) : columns->n;
	Datum	   *names = palloc(n * sizeof(Datum));

	for (int k = 0; k < n; k++)
		names[k] = CStringGetTextDatum(known && k >= nroles ? numbers[k - nroles] : columns->column[k].name);
	return PointerGetDatum(construct_array(names, n, TEXTOID, -1, false, TYPALIGN_INT));
}

NullableDatum
gr_widths_datum(const GrColumns *packed)
{
	NullableDatum result = {.isnull = true};
	Datum	   *widths = palloc(packed->n * sizeof(Datum));
	int			n = 0;

	for (int k = gr_nroles(packed); k < packed->n; k++)
	{
		if (packed->column[k].width < 0)
			return result;
		widths[n++] = Int32GetDatum(packed->column[k].width);
	}
	result.value = PointerGetDatum(construct_array(widths, n, INT4OID, sizeof(int32), true, TYPALIGN_INT));
	result.isnull = false;
	return result;
}

/* Returns the *n texts of an argument that is a text[] of one dimension; NULL if it is not, or has a NULL. */
static const char **
text_argument(FunctionCallInfo fcinfo, int argno, int *n)
{
	ArrayType  *array = PG_ARGISNULL(argno) ? NULL : PG_GETARG_ARRAYTYPE_P(argno);
	const char **texts;
	Datum	   *items;

	if (array == NULL || ARR_NDIM(array) != 1 || array_contains_nulls(array))
		return NULL;
	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &items, NULL, n);
	texts = palloc(*n * sizeof(char *));
	for (int k = 0; k < *n; k++)
		texts[k] = TextDatumGetCString(items[k]);
	return texts;
}

const char **
gr_read_names(FunctionCallInfo fcinfo, const GrColumns *columns, int argno)
{
	int			n = 0;
	const char **told = text_argument(fcinfo, argno, &n);
	int			nroles = gr_nroles(columns);

	if (told == NULL || columns->nfeatures < 0)
		return NULL;
	if (n == columns->nfeatures + nroles)
	{
		const char *roles[GR_ROLES_MAX];

		memcpy(roles, told, nroles * sizeof(char *));
		memmove(told, told + nroles, columns->nfeatures * sizeof(char *));
		memcpy(told + columns->nfeatures, roles, nroles * sizeof(char *));
		return told;
	}
	return n == query_columns(columns, columns->n) ? name_numbers(columns, told) : NULL;
}

/* An array's name is its column's; if the argument names numbers, that of the first without its subscript. */
void
gr_name_arrays(FunctionCallInfo fcinfo, GrColumns *columns, int argno)
{
	int			n = 0;
	const char **told = text_argument(fcinfo, argno, &n);
	int			nroles = gr_nroles(columns);
	bool		of_columns = n == query_columns(columns, columns->n) && n != columns->nfeatures + nroles;
	int			at = nroles;

	for (int k = 0; k < columns->n; k++)
	{
		GrColumn   *column = &columns->column[k];
		int			mine = k < nroles ? k : of_columns ? query_columns(columns, k) : at;
		const char *name = told == NULL || mine >= n ? "x" : told[mine];
		const char *bracket = of_columns ? NULL : strrchr(name, '[');

		if (OidIsValid(column->element))
			column->name = MemoryContextStrdup(fcinfo->flinfo->fn_mcxt,
											   bracket == NULL ? name : pnstrdup(name, bracket - name));
		else if (column->type == INT8OID)
			column->name = MemoryContextStrdup(fcinfo->flinfo->fn_mcxt, name);
		at += k < nroles ? 0 : Max(column->width, 0);
	}
}

bool
gr_read_widths(FunctionCallInfo fcinfo, GrColumns *columns, int argno)
{
	ArrayType  *array = PG_ARGISNULL(argno) ? NULL : PG_GETARG_ARRAYTYPE_P(argno);
	int			nroles = gr_nroles(columns);
	const int32 *widths;

	if (array == NULL || ARR_NDIM(array) > 1 || array_contains_nulls(array) ||
		ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array)) != columns->n - nroles)
		return false;
	widths = (const int32 *) ARR_DATA_PTR(array);
	for (int k = nroles; k < columns->n; k++)
	{
		int32		width = widths[k - nroles];

		if (OidIsValid(columns->column[k].element) ? width < 0 || width > GR_MAX_FEATURES : width != 1)
			return false;
	}
	gr_set_widths(columns, widths);
	return true;
}

/*
 * Values
 */

void
gr_raise_bigint(int64 value, const char *name)
{
	/* the message proposes to subtract a round constant near the value */
	int64		near = value / 1000000000000 * 1000000000000;

	if (name == NULL)
		name = "x";
	ereport(ERROR,
			(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			 errmsg("bigint value " INT64_FORMAT " of column \"%s\" has more digits than float8 can hold", value, name),
			 errhint("Subtract a constant in the query, as in %s %s, or cast the column to float8 to round it.",
					 quote_identifier(name), near < 0 ? psprintf("+ " INT64_FORMAT, -near) :
					 psprintf("- " INT64_FORMAT, near))));
}

bool
gr_are_plain_numbers(const GrColumns *columns)
{
	if (columns->weight || columns->offset)
		return false;
	for (int k = 0; k < columns->n; k++)
	{
		Oid			type = columns->column[k].type;

		if (type != FLOAT8OID && type != FLOAT4OID && type != INT4OID && type != INT2OID && type != BOOLOID)
			return false;
	}
	return true;
}

static double
number_from_datum(const GrColumn *column, Datum value, Oid type)
{
	switch (type)
	{
		case FLOAT8OID:
			return DatumGetFloat8(value);
		case FLOAT4OID:
			return DatumGetFloat4(value);
		case INT2OID:
			return DatumGetInt16(value);
		case INT4OID:
			return DatumGetInt32(value);
		case INT8OID:
			return column->rounds ? (double) DatumGetInt64(value) :
				gr_bigint_number(DatumGetInt64(value), column->name);
		case BOOLOID:
			return DatumGetBool(value) ? 1.0 : 0.0;
		case NUMERICOID:
			return gr_numeric_number(value);
		default:
			elog(ERROR, "unexpected type %u", type);
	}
	return 0;
}

static const char *
column_name(const GrColumn *column)
{
	return column->name == NULL ? "x" : column->name;
}

/* Returns value as an array, whose length must be the column's width; NULL if an element is NULL. */
static ArrayType *
open_array(const GrColumn *column, Datum value)
{
	ArrayType  *array = DatumGetArrayTypeP(value);
	int			n = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));

	gr_check_vector(array, column_name(column));
	if (n != column->width)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("all arrays in column \"%s\" must have the same length", column_name(column)),
				 errdetail("A row has %d elements, earlier rows have %d.", n, column->width),
				 errhint("Exclude rows whose array has another length.")));
	return array_contains_nulls(array) ? NULL : array;
}

/* Converts n numbers of a C type that follow one another at data, as an array's elements do. */
#define CONVERT(type, data, n, into) do { \
	const type *values_ = (const type *) (data); \
\
	for (int i_ = 0; i_ < (n); i_++) \
		(into)[i_] = values_[i_]; \
} while (0)

/* Converts the elements of an array of numeric, whose sizes differ. */
static void
convert_numerics(ArrayType *array, double *into)
{
	Datum	   *items;
	int			n;

	/* the array may be one of a domain over numeric */
	deconstruct_array(array, ARR_ELEMTYPE(array), -1, false, TYPALIGN_INT, &items, NULL, &n);
	for (int i = 0; i < n; i++)
		into[i] = gr_numeric_number(items[i]);
}

/* Converts the elements of an array into *into. Returns false if one is NULL. */
static bool
take_array(const GrColumn *column, Datum value, double *into)
{
	ArrayType  *array = open_array(column, value);
	int			n = column->width;
	const char *data;

	if (array == NULL)
		return false;
	data = ARR_DATA_PTR(array);
	switch (column->element)
	{
		case FLOAT8OID:
			memcpy(into, data, n * sizeof(double));
			break;
		case FLOAT4OID:
			CONVERT(float, data, n, into);
			break;
		case INT2OID:
			CONVERT(int16, data, n, into);
			break;
		case INT4OID:
			CONVERT(int32, data, n, into);
			break;
		case BOOLOID:
			CONVERT(bool, data, n, into);
			break;
		case INT8OID:
			for (int i = 0; i < n; i++)
				into[i] = number_from_datum(column, Int64GetDatum(((const int64 *) data)[i]), INT8OID);
			break;
		default:
			Assert(column->element == NUMERICOID);
			convert_numerics(array, into);
			break;
	}
	return true;
}

bool
gr_convert_other(const GrColumn *column, Datum value, double *into)
{
	if (OidIsValid(column->element))
		return take_array(column, value, into);
	*into = number_from_datum(column, value, column->type);
	return true;
}

static bool
convert_single(const GrColumn *column, Datum value, float *into)
{
	ArrayType  *array;

	Assert(is_single(column));
	if (column->type == FLOAT4OID)
		*into = DatumGetFloat4(value);
	else if (!OidIsValid(column->element))
		*into = (float) number_from_datum(column, value, column->type);
	else
	{
		array = open_array(column, value);
		if (array == NULL)
			return false;
		memcpy(into, ARR_DATA_PTR(array), column->width * sizeof(float));
	}
	return true;
}

GrRowFate
gr_convert_row_single(const GrColumns *columns, GrValues values, float *row)
{
	int			nroles = gr_nroles(columns);
	double		roles[GR_ROLES_MAX];
	float	   *at = row;

	for (int k = nroles; k < columns->n; k++)
	{
		if (!convert_single(&columns->column[k], gr_value(values, columns->column[k].at), at))
			return GR_ROW_SKIPPED;
		at += columns->column[k].width;
	}
	for (int k = 0; k < nroles; k++)
		if (!gr_convert_value(&columns->column[k], gr_value(values, columns->column[k].at), &roles[k]))
			return GR_ROW_SKIPPED;
	memcpy(at, roles, nroles * sizeof(double));
	return columns->weight && roles[1] == 0.0 ? GR_ROW_WEIGHTLESS : GR_ROW_TAKES_PART;
}
