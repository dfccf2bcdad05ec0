/*
 * stats.c: selects columns of a gpu_ols_stats by arguments of SQL functions; see stats.h.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "common/int.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "run/args.h"
#include "run/grams.h"
#include "sql/states/stats.h"

/* A column as an argument names it: by number or by name. */
typedef struct ColumnName
{
	const char *name;			/* NULL: by number */
	int64		number;
} ColumnName;

/* A column's name and number; an array of these is sorted by name. */
typedef struct Named
{
	const char *name;
	int			column;
} Named;

/* A state whose columns are looked up by name. */
typedef struct Lookup
{
	GrState    *state;
	Named	   *sorted;			/* columns 0 .. p by name; NULL: not sorted yet, or the columns have no names */
} Lookup;

static int
compare_named(const void *a, const void *b)
{
	const Named *x = a;
	const Named *y = b;
	int			order = strcmp(x->name, y->name);

	return order != 0 ? order : x->column - y->column;
}

static void
sort_names(Lookup *lookup)
{
	int			n = lookup->state->nfeatures + 1;
	const char *at = gr_state_names(lookup->state);

	lookup->sorted = palloc(n * sizeof(Named));
	for (int k = 0; k < n; k++)
	{
		lookup->sorted[k] = (Named) {at, k};
		at += strlen(at) + 1;
	}
	qsort(lookup->sorted, n, sizeof(Named), compare_named);
}

/* Returns the column called name, the first if there are several, or -1. */
static int
column_named(Lookup *lookup, const char *name)
{
	int			low = 0;
	int			high = lookup->state->nfeatures + 1;

	if (lookup->state->nnames == 0)
		return -1;
	if (lookup->sorted == NULL)
		sort_names(lookup);
	while (low < high)
	{
		int			middle = (low + high) / 2;

		if (strcmp(lookup->sorted[middle].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low <= lookup->state->nfeatures && strcmp(lookup->sorted[low].name, name) == 0 ?
		lookup->sorted[low].column : -1;
}

/* Reads the whole text as a number. Returns false if it is not one. */
static bool
is_number(const char *text, int64 *number)
{
	char	   *end;

	errno = 0;
	*number = strtoll(text, &end, 10);
	return end != text && *end == '\0' && errno == 0;
}

static void raise_no_column(const Lookup *lookup, const char *what, const ColumnName *name) __attribute__((noreturn));

static void
raise_no_column(const Lookup *lookup, const char *what, const ColumnName *name)
{
	int64		number = name->number;
	bool		numbered = name->name == NULL || is_number(name->name, &number);

	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("the state has no column %s, which is in %s",
					numbered ? psprintf(INT64_FORMAT, number) : psprintf("\"%s\"", name->name), what),
			 errdetail("Column 0 is the response, 1 to %d are the features.", lookup->state->nfeatures),
			 lookup->state->nnames == 0 && !numbered ? errhint("Name the columns with gpu_ols_named().") : 0));
}

static int
find_column(Lookup *lookup, const char *what, const ColumnName *name)
{
	int64		number = name->number;
	int			column = name->name == NULL ? -1 : column_named(lookup, name->name);

	if (column >= 0)
		return column;
	if ((name->name != NULL && !is_number(name->name, &number)) || number < 0 || number > lookup->state->nfeatures)
		raise_no_column(lookup, what, name);
	return (int) number;
}

static void
raise_type(const char *what, bool list)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg(list ? "%s must be an array of column numbers or of names" :
					"%s must be a column number or a name", what),
			 list ? errhint("Write it as in '{1,2}'::int[] or '{age,height}'::text[].") :
			 errhint("Write it as in 1 or 'age'::text.")));
}

/*
 * Returns the type of an argument declared "any", with domains resolved. what names the argument in the error message,
 * and list is true if it has to be an array.
 */
static Oid
type_of(FunctionCallInfo fcinfo, int argument, const char *what, bool list)
{
	Oid			type = get_fn_expr_argtype(fcinfo->flinfo, argument);

	if (!OidIsValid(type))
		raise_type(what, list);
	return getBaseType(type);
}

/* Reads a column's number or name from a value: an element of a list, or a single argument. */
static ColumnName
name_of(Datum value, Oid type, const char *what, bool list)
{
	ColumnName		name = {0};

	switch (type)
	{
		case INT2OID:
			name.number = DatumGetInt16(value);
			break;
		case INT4OID:
			name.number = DatumGetInt32(value);
			break;
		case INT8OID:
			name.number = DatumGetInt64(value);
			break;
		case TEXTOID:
		case VARCHAROID:
			name.name = TextDatumGetCString(value);
			break;
		case NAMEOID:
			name.name = pstrdup(NameStr(*DatumGetName(value)));
			break;
		case UNKNOWNOID:
			name.name = DatumGetCString(value);
			break;
		default:
			raise_type(what, list);
	}
	return name;
}

/* Reads the *n elements of an argument that is an array or an untyped literal of one. */
static ColumnName *
names_of(FunctionCallInfo fcinfo, int argument, const char *what, int *n)
{
	Oid			type = type_of(fcinfo, argument, what, true);
	Datum		value = PG_GETARG_DATUM(argument);
	Oid			element = type == UNKNOWNOID ? TEXTOID : get_element_type(type);
	ArrayType  *array;
	ArrayIterator iterator;
	ColumnName	   *names;
	bool		null;
	int			k = 0;

	if (!OidIsValid(element))
		raise_type(what, true);
	if (type == UNKNOWNOID)
		value = OidFunctionCall3(F_ARRAY_IN, value, ObjectIdGetDatum(TEXTOID), Int32GetDatum(-1));
	array = DatumGetArrayTypeP(value);
	gr_check_vector(array, what);
	*n = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	names = palloc((*n + 1) * sizeof(ColumnName));
	iterator = array_create_iterator(array, 0, NULL);
	while (array_iterate(iterator, &value, &null))
	{
		if (null)
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("%s must not contain nulls", what)));
		names[k++] = name_of(value, element, what, true);
		gr_poll_loop(k);
	}
	return names;
}

static void
raise_twice(const char *what, const char *name)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("column \"%s\" is in %s twice", name, what),
			 errhint("Name each column once.")));
}

/* Returns the name of a column, such as "y" or "x3" if own, the state's names, is NULL. */
static const char *
column_name(const char *const *own, int nfeatures, int column)
{
	if (own != NULL)
		return own[column == 0 ? nfeatures : column - 1];
	return column == 0 ? "y" : psprintf("x%d", column);
}

/* Returns the numbers of n columns. Raises an ERROR if one is listed twice or is the response, taken (-1: none). */
static int *
find_columns(Lookup *lookup, const ColumnName *names, int n, const char *what, int taken)
{
	int		   *columns = palloc((n + 1) * sizeof(int));
	bool	   *seen = palloc0(lookup->state->nfeatures + 1);
	const char **own = gr_state_column_names(lookup->state);

	for (int k = 0; k < n; k++)
	{
		columns[k] = find_column(lookup, what, &names[k]);
		if (columns[k] == taken)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("column \"%s\", which is in %s, is the response",
							column_name((const char *const *) own, lookup->state->nfeatures, columns[k]), what),
					 errhint("Leave the response out of the others, or name another response.")));
		if (seen[columns[k]])
			raise_twice(what, column_name((const char *const *) own, lookup->state->nfeatures, columns[k]));
		seen[columns[k]] = true;
		gr_poll_loop(k);
	}
	pfree(seen);
	return columns;
}

/* Returns the numbers of all columns except the response. */
static int *
all_columns(const GrState *state, int response, int *n)
{
	int		   *columns = palloc((state->nfeatures + 1) * sizeof(int));

	*n = 0;
	for (int j = 1; j <= state->nfeatures; j++)
		if (j != response)
			columns[(*n)++] = j;
	return columns;
}

/* Sets the sums, shift and names of the chosen columns. */
static void
take_columns(GrStats *stats)
{
	GrState    *state = stats->state;
	int			n = stats->nfeatures;
	GrGram		all = stats->gram;
	int		   *places = palloc((n + 1) * sizeof(int));
	const char **own = gr_state_column_names(state);

	stats->gram = gr_gram_make(n);
	stats->names = palloc((n + 1) * sizeof(char *));
	for (int k = 0; k <= n; k++)
	{
		int			column = k == n ? stats->response : stats->features[k];

		places[k] = column == 0 ? state->nfeatures : column - 1;
		stats->names[k] = column_name((const char *const *) own, state->nfeatures, column);
	}
	CHECK_FOR_INTERRUPTS();
	if (!gr_gram_subset(&all, places, &stats->gram))
		elog(ERROR, "no such column");
	pfree(places);
}

/* Sets the sums and names to those of the state, without a copy. */
static void
take_whole(GrStats *stats)
{
	GrState    *state = stats->state;

	stats->gram = gr_state_gram(state);
	stats->names = gr_state_column_names(state);
	stats->whole = true;
	if (stats->names != NULL)
		return;
	stats->names = palloc((stats->nfeatures + 1) * sizeof(char *));
	for (int k = 0; k <= stats->nfeatures; k++)
		stats->names[k] = column_name(NULL, 0, k == stats->nfeatures ? 0 : k + 1);
}

bool
gr_stats_open(Datum datum, GrStats *stats)
{
	memset(stats, 0, sizeof(*stats));
	stats->state = gr_state_settled(datum, GR_STATS, NULL);
	if (stats->state->nrows == 0 || stats->state->nfeatures < 0)
		return false;
	stats->features = all_columns(stats->state, 0, &stats->nfeatures);
	take_whole(stats);
	return true;
}

bool
gr_stats_arguments(FunctionCallInfo fcinfo, int stats_arg, int features_arg, int response_arg, GrStats *stats)
{
	bool		has_features = features_arg >= 0 && !PG_ARGISNULL(features_arg);
	bool		has_response = response_arg >= 0 && !PG_ARGISNULL(response_arg);
	Lookup		lookup;

	if (!gr_stats_open(PG_GETARG_DATUM(stats_arg), stats))
		return false;
	if (!has_features && !has_response)
		return true;
	lookup = (Lookup) {stats->state};
	if (has_response)
	{
		ColumnName		name = name_of(PG_GETARG_DATUM(response_arg),
								   type_of(fcinfo, response_arg, "response", false), "response", false);

		stats->response = find_column(&lookup, "response", &name);
	}
	if (has_features)
	{
		ColumnName	   *names = names_of(fcinfo, features_arg, "features", &stats->nfeatures);

		stats->features = find_columns(&lookup, names, stats->nfeatures, "features", stats->response);
	}
	else
		stats->features = all_columns(stats->state, stats->response, &stats->nfeatures);
	take_columns(stats);
	stats->whole = false;
	return true;
}

/* Returns the position of a column among the chosen features. Raises an ERROR if it is not one of them. */
static int
place_of(const GrStats *stats, int column, const char *what)
{
	for (int k = 0; k < stats->nfeatures; k++)
		if (stats->features[k] == column)
			return k;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("column %d, which is in %s, is not one of the features", column, what),
			 errhint("Add it to the features.")));
}

int *
gr_stats_columns(FunctionCallInfo fcinfo, int argument, const char *what, const GrStats *stats, int *n)
{
	Lookup		lookup = {stats->state};
	ColumnName	   *names;
	int		   *columns;

	*n = 0;
	if (PG_ARGISNULL(argument))
		return palloc(sizeof(int));
	names = names_of(fcinfo, argument, what, n);
	columns = find_columns(&lookup, names, *n, what, stats->response);
	for (int k = 0; k < *n; k++)
	{
		columns[k] = place_of(stats, columns[k], what);
		CHECK_FOR_INTERRUPTS();
	}
	return columns;
}

int
gr_stats_column(FunctionCallInfo fcinfo, int argument, const char *what, const GrStats *stats)
{
	Lookup		lookup = {stats->state};
	ColumnName		name = name_of(PG_GETARG_DATUM(argument), type_of(fcinfo, argument, what, false), what, false);

	return place_of(stats, find_column(&lookup, what, &name), what);
}
