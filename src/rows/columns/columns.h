/*
 * columns.h: the columns of a query, or the arguments of an aggregate over a query: their types, how many numbers each
 * column has, the names of these numbers, and the conversion of values to rows of numbers.
 *
 * Columns have roles. GrColumns has the response, the weight, the offset and the keys first, as far as they exist and
 * wherever they stand in the query; then the features in the query's order. A column of arrays is one feature per
 * element; the first complete row tells the arrays' width. A row with a NULL, also as an array's element, is left out
 * and counted. NaN and infinity are errors that name the column; whole blocks are checked for them, just before a block
 * goes to the backend.
 *
 * Where a query has more columns than a function can have arguments, its numbers are packed: passed as arrays.
 */
#ifndef GPUREG_COLUMNS_H
#define GPUREG_COLUMNS_H

#include "postgres.h"

#include "access/tupdesc.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "utils/lsyscache.h"

#include "compute/base/row.h"
#include "compute/dist/family.h"
#include "compute/effects/effects.h"
#include "compute/linear/vcov.h"

/* A column by its SQL type: a number, a boolean, or an array of them. A domain stands for its base type. */
typedef struct GrColumn
{
	const char *name;			/* name in messages; NULL: x */
	Oid			type;
	Oid			element;		/* type of an array's elements; InvalidOid: type is no array */
	int32		width;			/* numbers per row; -1: an array whose width isn't known yet */
	const char *const *elements;	/* names of an array's elements; NULL: name[i] */
	int32		npacked;		/* number of the query's columns packed in this one; 0: not packed */
	int32		at;				/* index of the column's value in GrValues */
	bool		rounds;			/* a bigint may be rounded: it is a key, or the query casts it to float8 */
} GrColumn;

typedef struct GrColumns
{
	int			n;
	int			nfeatures;		/* -1 while an array's width isn't known */
	bool		weight;			/* the weight follows the response */
	bool		offset;			/* the offset follows these */
	bool		key;			/* a key of gpu_boot_key() or gpu_cluster_key() follows these */
	bool		second_key;		/* the key of the second cluster column follows key */
	bool		plain;			/* all features are float8, none is an array */
	GrColumn	column[FLEXIBLE_ARRAY_MEMBER];
} GrColumns;

/* Number of columns with roles, which come before the features. */
static inline int
gr_nroles(const GrColumns *columns)
{
	return 1 + (columns->weight ? 1 : 0) + (columns->offset ? 1 : 0) + (columns->key ? 1 : 0) +
		(columns->second_key ? 1 : 0);
}

/* Shape of the columns' rows, not single. nfeatures must be known. */
static inline GrRowShape
gr_columns_shape(const GrColumns *columns)
{
	return (GrRowShape) {
		.nfeatures = columns->nfeatures,.weight = columns->weight,.offset = columns->offset,.key = columns->key,
		.second_key = columns->second_key
	};
}

#define GR_CLUSTER_COLUMNS_MAX 8	/* cluster columns; covariances have GR_CLUSTERS_MAX, mixed models more */

/* The classes of a response; see rows/query/classes.h */
typedef struct GrClasses
{
	const char *base;			/* input: label of the class that comes first; NULL: the first by the type's order */
	const char *column;			/* name of the response; NULL: not found */
	int			n;
	const char **labels;
	double	   *values;			/* numbers that stand for the classes in rows */
} GrClasses;

/*
 * Roles of a query's columns besides the response and the features, and how features are made of columns. Names of
 * columns are NULL where no column has the role.
 */
typedef struct GrRoles
{
	const char *weights;
	GrWeighting weighting;
	bool		unit_weights;	/* each row gets a weight of 1; then no column has the role */
	const char *offsets;
	/* names of a column whose values a bootstrap draws, also a cluster column, and of the key column made of it */
	const char *key;
	const char *key_role;		/* the SQL argument that names key */
	const char *made_key;
	const char *made_second_key;	/* key column made of the second cluster column; only with made_key */
	bool		key_is_fold;	/* the key's values are folds of a cross-validation */
	int			nfolds;			/* > 0: made_key is one of nfolds folds, drawn from key and fold_seed */
	uint64		fold_seed;
	int			nclusters;		/* number of cluster columns, whose values are no part of rows */
	const char *clusters[GR_CLUSTER_COLUMNS_MAX];
	bool		cluster_keys;	/* rows have the keys of their clusters, if the columns' types have keys */
	const char *cluster_role;	/* the SQL argument that names clusters; NULL: clusters */
	int			nabsorbed;		/* number of absorbed columns; their values are no part of rows */
	const char *const *absorbed;
	const char *absorb_role;	/* the SQL argument that names absorbed columns */
	bool		takes_offset;	/* the formula may have offset() */
	GrClasses  *classes;		/* receives the classes of the response; NULL: the response is a number */
	const char *formula;		/* formula for the features, or NULL; see frame.h */
	bool		intercept;		/* the model has an intercept, unless the formula says otherwise */
	bool		centered;		/* powers may be about centers; see design_moves.h */
	bool		pairs;			/* each such power is wanted in two columns; see gr_gram_fold() */
} GrRoles;

#define GR_ROLES_MAX 5			/* the response, weights, offsets and two keys */
#define GR_SIDES_MAX (GR_EFFECTS_MAX + GR_CLUSTER_COLUMNS_MAX)

/*
 * Values of a row: the Datums of a tuple slot or of a function's arguments, stride bytes apart from first on.
 */
typedef struct GrValues
{
	const char *first;
	Size		stride;
} GrValues;

#define GR_SLOT_VALUES(slot) ((GrValues) {(const char *) (slot)->tts_values, sizeof(Datum)})
#define GR_ARGUMENT_VALUES(fcinfo, argno) \
	((GrValues) {(const char *) &(fcinfo)->args[argno] + offsetof(NullableDatum, value), sizeof(NullableDatum)})

static inline Datum
gr_value(GrValues values, int k)
{
	return *(const Datum *) (values.first + k * values.stride);
}

/* True if type is a type of numbers or boolean. */
static inline bool
gr_is_number_type(Oid type)
{
	return type == FLOAT8OID || type == FLOAT4OID || type == INT2OID || type == INT4OID || type == INT8OID ||
		type == NUMERICOID || type == BOOLOID;
}

/* Describes a type in *column; an array's width is -1. False if type is no number, boolean, or array of these. */
static inline bool
gr_describe_value(GrColumn *column, Oid type)
{
	column->type = getBaseType(type);
	column->element = get_element_type(column->type);
	column->width = 1;
	column->rounds = false;
	if (!OidIsValid(column->element))
		return gr_is_number_type(column->type);
	column->element = getBaseType(column->element);
	column->width = -1;
	return gr_is_number_type(column->element);
}

/* Bit mask of roles in rows of this shape: 1 = weights, 2 = offsets, 4 = weights are frequencies. */
static inline int
gr_roles_mask(GrRowShape shape, GrRowRules rules)
{
	return (shape.weight ? 1 : 0) + (shape.offset ? 2 : 0) +
		(shape.weight && rules.weighting == GR_FREQUENCIES ? 4 : 0);
}

/*
 * Returns the index of the column called name in a query of n columns. role: the SQL argument that names the column;
 * NULL: a model names it. ERROR if no column or several columns have that name.
 */
extern int	gr_find_column(int n, const char *const *names, const char *role, const char *name);

/*
 * Finds the indices of the response's column, which is the first one without another role, and of the columns with
 * roles in a query of n columns. found has room for GR_ROLES_MAX. Returns their number. ERROR as gr_query_columns().
 */
extern int	gr_find_roles(int n, const char *const *names, const GrRoles *roles, int *found);

/* Finds the indices of the roles->nclusters cluster columns, which may have another role as well. */
extern void gr_find_clusters(int n, const char *const *names, const GrRoles *roles, int *found);

/*
 * Finds the indices of the columns whose values are no part of rows: the absorbed columns, then the cluster columns.
 * found has room for GR_SIDES_MAX. Returns their number.
 */
extern int	gr_find_sides(int n, const char *const *names, const GrRoles *roles, int *found);

/*
 * Describes a query's columns of these names, in the current memory context. ERROR unless there is a response and a
 * column for each role, and all types can be used. Cluster columns are left out: they are no part of rows.
 */
extern GrColumns *gr_query_columns(TupleDesc tupdesc, const char *const *names, const GrRoles *roles);

/*
 * Describes a call's arguments from first_argno on, without names, in the memory of the call's FmgrInfo. shape tells
 * which roles the arguments have. ERROR if a type can't be used.
 */
extern GrColumns *gr_argument_columns(FunctionCallInfo fcinfo, int first_argno, GrRowShape shape);

extern GrColumns *gr_copy_columns(const GrColumns *columns);

/* Returns a copy without the keys' columns, for passes that need no keys. */
extern GrColumns *gr_columns_without_key(const GrColumns *columns);

/*
 * Returns the columns as at most max arguments of an aggregate; packs the numbers if there are more columns. single:
 * packed numbers are float4.
 */
extern GrColumns *gr_pack_columns(const GrColumns *columns, int max, bool single);

/* True if float4 holds every value of every feature's type exactly; true if all features are of type real. */
extern bool gr_columns_are_single(const GrColumns *columns);
extern bool gr_columns_are_real(const GrColumns *columns);

/* Returns the number of an array's elements. */
extern int	gr_array_width(Datum value);

/* Sets the widths of all arrays by a complete row, and nfeatures. ERROR if there are too many features. */
extern void gr_measure_row(GrColumns *columns, GrValues values);

/* Sets the widths of all features, each 0 or more, and nfeatures, which is not checked against its limit. */
extern void gr_set_widths(GrColumns *columns, const int32 *widths);

/* Sets the widths of a query's columns by those of the same columns packed. */
extern void gr_take_widths(GrColumns *columns, const GrColumns *packed);

/* Returns the number of features if arrays of unknown width have this width; at most GR_MAX_FEATURES. */
extern int	gr_guess_nfeatures(const GrColumns *columns, int width);

/*
 * Returns the names of a row's numbers in row.h's order, features first, in the current memory context. An array's
 * elements are called name[i]. nfeatures must be known.
 */
extern const char **gr_name_numbers(const GrColumns *columns);

/*
 * Arguments that tell an aggregate about its columns. The names are a text[]: the roles' names, then those of the
 * features or, if an array's width isn't known, those of the columns. The widths of features are an int[], or NULL if
 * one isn't known.
 */
extern Datum gr_names_datum(const GrColumns *columns);
extern NullableDatum gr_widths_datum(const GrColumns *packed);

/*
 * Sets the columns' widths by argument argno, made by gr_widths_datum(). Returns false and sets nothing if the argument
 * has no widths for these columns.
 */
extern bool gr_read_widths(FunctionCallInfo fcinfo, GrColumns *columns, int argno);

/* Names the arrays and bigints, for messages, by argument argno, made by gr_names_datum(). */
extern void gr_name_arrays(FunctionCallInfo fcinfo, GrColumns *columns, int argno);

/*
 * Returns the names of a row's numbers, features first, by argument argno, made by gr_names_datum(), in the current
 * memory context. NULL if the argument doesn't have a name for each number.
 */
extern const char **gr_read_names(FunctionCallInfo fcinfo, const GrColumns *columns, int argno);

/* True if no column's argument is NULL. */
static inline bool
gr_arguments_complete(FunctionCallInfo fcinfo, const GrColumns *columns, int first_argno)
{
	for (int k = 0; k < columns->n; k++)
		if (PG_ARGISNULL(first_argno + k))
			return false;
	return true;
}

/* Raises the ERROR that float8 cannot hold value exactly. name: the column's, NULL: x */
extern void gr_raise_bigint(int64 value, const char *name);

/* Returns a bigint as float8. ERROR if that rounds it: all digits of, for example, times since 1970 count. */
static inline double
gr_bigint_number(int64 value, const char *name)
{
	double		number = (double) value;

	/* only values beyond 2^53 in size can be rounded; 2^63 is no bigint */
	if (unlikely((uint64) value + (UINT64CONST(1) << 53) > (UINT64CONST(1) << 54)) &&
		(number >= 0x1p63 || (int64) number != value))
		gr_raise_bigint(value, name);
	return number;
}

/*
 * Converts a value that isn't NULL to column->width numbers at *into. Returns false if value is an array with a NULL
 * element. ERROR if an array's length isn't column->width, or for a bigint that float8 would round. May allocate in the
 * current memory context.
 */
extern bool gr_convert_other(const GrColumn *column, Datum value, double *into);

static inline bool
gr_convert_value(const GrColumn *column, Datum value, double *into)
{
	if (column->type != FLOAT8OID)
		return gr_convert_other(column, value, into);
	*into = DatumGetFloat8(value);
	return true;
}

/* Outcomes of converting a row. */
typedef enum GrRowFate
{
	GR_ROW_TAKES_PART,
	GR_ROW_SKIPPED,				/* left out for a NULL, and counted */
	GR_ROW_WEIGHTLESS			/* left out for a weight of 0, and not counted */
} GrRowFate;

/* Converts values, none of which is NULL, to a row of float8. */
static inline GrRowFate
gr_convert_row(const GrColumns *columns, GrValues values, double *row)
{
	const GrColumn *role = columns->column;
	const GrColumn *features = role + gr_nroles(columns);
	const GrColumn *end = role + columns->n;
	double	   *at = row;

	if (columns->plain)
		for (const GrColumn *feature = features; feature < end; feature++)
			*at++ = DatumGetFloat8(gr_value(values, feature->at));
	else
		for (const GrColumn *feature = features; feature < end; at += feature->width, feature++)
			if (!gr_convert_value(feature, gr_value(values, feature->at), at))
				return GR_ROW_SKIPPED;
	for (double *role_at = at; role < features; role++, role_at++)
		if (!gr_convert_value(role, gr_value(values, role->at), role_at))
			return GR_ROW_SKIPPED;
	return columns->weight && at[1] == 0.0 ? GR_ROW_WEIGHTLESS : GR_ROW_TAKES_PART;
}

/* Converts values as gr_convert_row() does, to a row of float4. The features' types must fit float4. */
extern GrRowFate gr_convert_row_single(const GrColumns *columns, GrValues values, float *row);

/* True if every column is a number that float8 holds exactly, and no column is a weight or an offset. */
extern bool gr_are_plain_numbers(const GrColumns *columns);

#endif							/* GPUREG_COLUMNS_H */
