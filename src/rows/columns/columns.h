/*
 * columns.h: the columns that rows are made of: those of a query, or the arguments of an aggregate over it. What types
 * they have, how many numbers each gives, what those are called, and the numbers themselves.
 *
 * Columns have roles. Those of the response, the weight and the offset, as far as there are any, come first here,
 * wherever they stand in the query, and the features are all others in their order. An array counts as many features as
 * its arrays have elements, which the first complete row tells. A row in which one is NULL, or an array's element, is
 * left out and counted. NaN and infinity are errors that name the column; they are looked for in whole blocks, just
 * before a block goes to the backend.
 *
 * Where a query has more columns than a function can have arguments, the numbers among them come as arrays: packed.
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
#include "compute/linear/vcov.h"

/* A column that comes by its SQL type: a number, a boolean, or an array of them; domains are looked through. */
typedef struct GrColumn
{
	const char *name;			/* for messages; NULL: x */
	Oid			type;
	Oid			element;		/* of an array's elements, or InvalidOid */
	int32		width;			/* numbers it gives; -1: an array none of which was seen yet */
	const char *const *elements;	/* what an array's are called; NULL: name[i] */
	int32		npacked;		/* of how many of the query's columns it is an array; 0: it is one of them */
	int32		at;				/* which of a row's values it is */
	bool		rounds;			/* a bigint may be rounded: a key, or under a cast to float8 that isn't carried out */
} GrColumn;

typedef struct GrColumns
{
	int			n;
	int			nfeatures;		/* -1 while an array's width isn't known */
	bool		weight;			/* there is one, behind the response */
	bool		offset;			/* there is one, behind those */
	bool		key;			/* there is one, behind those: what gpu_boot_key() or gpu_cluster_key() gives */
	bool		second_key;		/* there is another behind it: the key of a second way of clustering */
	bool		plain;			/* the features' columns are all float8, none an array */
	GrColumn	column[FLEXIBLE_ARRAY_MEMBER];
} GrColumns;

/* The columns that are no features: the first ones */
static inline int
gr_nroles(const GrColumns *columns)
{
	return 1 + (columns->weight ? 1 : 0) + (columns->offset ? 1 : 0) + (columns->key ? 1 : 0) +
		(columns->second_key ? 1 : 0);
}

/* The rows that they make, where nfeatures is known; not single */
static inline GrRowShape
gr_columns_shape(const GrColumns *columns)
{
	return (GrRowShape) {
		.nfeatures = columns->nfeatures,.weight = columns->weight,.offset = columns->offset,.key = columns->key,
		.second_key = columns->second_key
	};
}

/*
 * What columns of a query are to be besides the response and features: their names, or NULL; and how features are made
 * of the others
 */
typedef struct GrRoles
{
	const char *weights;
	GrWeighting weighting;
	bool		unit_weights;	/* each row gets a weight of 1; then no column has the role */
	const char *offsets;
	/* of a bootstrap: the column that tells its draws, which is a cluster column, too; and the one made of it */
	const char *key;
	const char *key_role;		/* the argument that names it */
	const char *made_key;
	const char *made_second_key;	/* with made_key, of the second cluster column */
	bool		key_is_fold;	/* its values are folds of a cross-validation */
	int			nfolds;			/* > 0: the key's fold is what is made, of so many, drawn from the seed */
	uint64		fold_seed;
	int			nclusters;		/* columns by which rows are in clusters, which come to no row */
	const char *clusters[GR_CLUSTERS_MAX];
	bool		cluster_keys;	/* rows bring the keys of their clusters along, where the columns' types have any */
	const char *cluster_role;	/* the argument that names them; NULL: clusters */
	const char *formula;		/* NULL: there is none; see frame.h */
	bool		intercept;		/* ... where the formula doesn't say */
	bool		centered;		/* powers about centers are as good as powers; see design_moves.h */
	bool		pairs;			/* ... and wanted in two columns each; see gr_gram_fold() */
} GrRoles;

#define GR_ROLES_MAX 5			/* the response, weights, offsets and two keys */

/*
 * Values of a row: a tuple slot's Datums, or a function's arguments, whose Datums lie further apart.
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

/* Is it one of the types of numbers, or boolean? */
static inline bool
gr_is_number_type(Oid type)
{
	return type == FLOAT8OID || type == FLOAT4OID || type == INT2OID || type == INT4OID || type == INT8OID ||
		type == NUMERICOID || type == BOOLOID;
}

/* What a value of the type is; false if it is neither a number nor an array of them. An array's width is -1. */
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

/* What rows have besides features and the response, as a number: 1 for weights, 2 for offsets, 4 for frequencies */
static inline int
gr_roles_mask(GrRowShape shape, GrRowRules rules)
{
	return (shape.weight ? 1 : 0) + (shape.offset ? 2 : 0) +
		(shape.weight && rules.weighting == GR_FREQUENCIES ? 4 : 0);
}

/*
 * Where the column of that name stands in a query of n columns. role: the argument that names it; NULL: a model does.
 * ERROR if there is none, or several
 */
extern int	gr_find_column(int n, const char *const *names, const char *role, const char *name);

/*
 * Where the response's column, the first that has no other role, and those of the roles stand in a query of n columns;
 * returns how many there are. ERROR as below
 */
extern int	gr_find_roles(int n, const char *const *names, const GrRoles *roles, int *found);

/* Where the cluster columns stand, likewise. They may have another role as well. */
extern void gr_find_clusters(int n, const char *const *names, const GrRoles *roles, int *found);

/*
 * A query's columns, of these names, in the current memory context. ERROR unless there is a response and a column for
 * each role, and all are of types that can be used. Cluster columns are not looked for: they are no part of rows.
 */
extern GrColumns *gr_query_columns(TupleDesc tupdesc, const char *const *names, const GrRoles *roles);

/*
 * The arguments from first_argno on, in the memory of the call's FmgrInfo; without names. shape: which roles there are.
 * ERROR likewise.
 */
extern GrColumns *gr_argument_columns(FunctionCallInfo fcinfo, int first_argno, GrRowShape shape);

extern GrColumns *gr_copy_columns(const GrColumns *columns);

/* A copy without the keys' columns, if there are any: what passes are told that have no use for it */
extern GrColumns *gr_columns_without_key(const GrColumns *columns);

/*
 * The columns as at most so many arguments of an aggregate: as they are or, where there are too many, packed. single:
 * as float4
 */
extern GrColumns *gr_pack_columns(const GrColumns *columns, int max, bool single);

/* Do all values of all features fit float4 as they are? Are all of them of type real? */
extern bool gr_columns_are_single(const GrColumns *columns);
extern bool gr_columns_are_real(const GrColumns *columns);

/* How many numbers an array has */
extern int	gr_array_width(Datum value);

/* Sets the widths of all arrays, by a complete row; then nfeatures. ERROR if these are too many. */
extern void gr_measure_row(GrColumns *columns, GrValues values);

/* Sets them, of all features, by what is known: each 0 or more, which may be too many in all. */
extern void gr_set_widths(GrColumns *columns, const int32 *widths);

/* The widths of packed columns, by those of the query's. */
extern void gr_take_widths(GrColumns *columns, const GrColumns *packed);

/* How many features there will be, if an array whose width isn't known is of that many; at most GR_MAX_FEATURES */
extern int	gr_guess_nfeatures(const GrColumns *columns, int width);

/*
 * What the numbers of a row are called, where nfeatures is known, as row.h has them: the features, the response and so
 * on. Those of an array are name[i]. In the current memory context
 */
extern const char **gr_name_numbers(const GrColumns *columns);

/*
 * What an aggregate over a query is told of its columns, which are packed. Names, a text[]: the roles' first, then
 * those of the features or, where the width of an array isn't known, of the columns. Widths, an int[]: those of the
 * features; NULL where one isn't known.
 */
extern Datum gr_names_datum(const GrColumns *columns);
extern NullableDatum gr_widths_datum(const GrColumns *packed);

/*
 * The other side: sets widths by an argument; false, and nothing is set, if it isn't an array of widths for these
 * columns.
 */
extern bool gr_read_widths(FunctionCallInfo fcinfo, GrColumns *columns, int argno);

/* Names the arrays and bigints, for messages, by an argument that has names. */
extern void gr_name_arrays(FunctionCallInfo fcinfo, GrColumns *columns, int argno);

/*
 * The names of a row's numbers, features first, by such an argument; NULL if it has none for them. In the current
 * memory context
 */
extern const char **gr_read_names(FunctionCallInfo fcinfo, const GrColumns *columns, int argno);

/* Is none of the arguments NULL? */
static inline bool
gr_arguments_complete(FunctionCallInfo fcinfo, const GrColumns *columns, int first_argno)
{
	for (int k = 0; k < columns->n; k++)
		if (PG_ARGISNULL(first_argno + k))
			return false;
	return true;
}

/* ERROR that names the column (NULL: x): float8 doesn't have the value. */
extern void gr_raise_bigint(int64 value, const char *name);

/* A bigint as float8; ERROR if that rounds it. Near a large shift, such as the time since 1970, all digits count. */
static inline double
gr_bigint_number(int64 value, const char *name)
{
	double		number = (double) value;

	/* beyond 2^53 in size; 2^63 is no bigint */
	if (unlikely((uint64) value + (UINT64CONST(1) << 53) > (UINT64CONST(1) << 54)) &&
		(number >= 0x1p63 || (int64) number != value))
		gr_raise_bigint(value, name);
	return number;
}

/*
 * A value that isn't NULL as column->width numbers at *into; false if it is an array with a NULL among its elements.
 * ERROR if an array's length isn't column->width, or for a bigint that float8 would round. May allocate in the current
 * context.
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

/* What becomes of a row */
typedef enum GrRowFate
{
	GR_ROW_TAKES_PART,
	GR_ROW_SKIPPED,				/* for a NULL */
	GR_ROW_WEIGHTLESS			/* as if it weren't there */
} GrRowFate;

/* Values, none of them NULL, as a row */
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

/* The same as a single row; all values of the features must fit float4. */
extern GrRowFate gr_convert_row_single(const GrColumns *columns, GrValues values, float *row);

#endif							/* GPUREG_COLUMNS_H */
