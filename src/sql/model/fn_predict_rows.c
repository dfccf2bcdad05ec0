/*
 * fn_predict_rows.c: gpu_predict_rows() predicts for the rows of a kept set. It finds the model's columns by name,
 * reads the rows from the device service in portions, and predicts here, row by row, as gpu_predict() does.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"

#include "compute/design/design.h"
#include "rows/columns/columns.h"
#include "rows/columns/design_values.h"
#include "rows/kept/kept_set.h"
#include "run/args.h"
#include "run/clock.h"
#include "run/device.h"
#include "run/report.h"
#include "sql/model/feature_names.h"
#include "sql/model/model.h"
#include "sql/model/predict.h"
#include "sql/model/predict_design.h"

PG_FUNCTION_INFO_V1(gr_predict_rows);
PG_FUNCTION_INFO_V1(gr_predict_rows_id);

enum
{
	ARG_MODEL, ARG_KEPT, ARG_KEY
};

/* A code in a kept column, which stands for a level, and that level's number in the model. */
typedef struct Level
{
	double		code;
	int			kept;			/* number of the level in the kept column */
	int			number;			/* number of the level in the model; -1: the model has no such level */
} Level;

/* Kept column that holds the rows' ids */
typedef struct Key
{
	int			at;				/* number of the column; -1: the ids are NULL */
	const GrKeptColumn *column;
	Oid			type;			/* type of the ids: float8, if the caller passed no type */
	Level	   *levels;			/* levels of a category, ordered by code; their numbers in the model are not set */
} Key;

/* Kept column that holds the values of one of the model's columns. */
typedef struct Source
{
	int			at;				/* number of the kept column */
	GrKeptKind	kind;
	GrColumn	column;			/* type of the values, as those of a design's column */
	Level	   *levels;			/* levels of a kept factor, ordered by code */
} Source;

typedef struct Prediction
{
	GrPredictor model;
	const GrKeptSet *set;
	GrDesign   *design;			/* NULL: each feature is a column */
	int			n;				/* number of columns that the model needs */
	int			offset;			/* number of the kept column that holds the offset; -1: the model has no offset */
	Source	   *sources;
	double	   *values;
	double	   *features;		/* features of a design, then their low halves */
	MemoryContext row_context;
} Prediction;

/*
 * Columns
 */

static void
raise_kind(const GrKeptColumn *column, bool key)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg("kept column \"%s\" is a category", column->name),
			 key ? errdetail("The key column must be a number.") :
			 errdetail("The model was fitted to it as a number.")));
}

static int
compare_codes(const void *a, const void *b)
{
	double		u = ((const Level *) a)->code;
	double		v = ((const Level *) b)->code;

	return u < v ? -1 : u > v;
}

/* Lists the codes of a kept factor, in their order, with the numbers of their levels in of_model (NULL: -1). */
static Level *
sorted_levels(const GrKeptColumn *column, const GrLevels *of_model)
{
	const GrLevels *levels = &column->levels;
	Level	   *sorted = palloc(Max(levels->n, 1) * sizeof(Level));

	for (int i = 0; i < levels->n; i++)
		sorted[i] = (Level) {
			column->codes[i], i, of_model == NULL ? -1 :
			gr_level_find(of_model, levels->level[i].bytes, levels->level[i].nbytes)
		};
	qsort(sorted, levels->n, sizeof(Level), compare_codes);
	return sorted;
}

/* Returns the level that a code stands for. */
static const Level *
find_level(const GrKeptColumn *column, const Level *levels, double code)
{
	Level		wanted = {.code = code};
	const Level *level = bsearch(&wanted, levels, column->levels.n, sizeof(Level), compare_codes);

	if (level == NULL)
		elog(ERROR, "kept column \"%s\" has no level %g", column->name, code);
	return level;
}

/* Finds the kept column for column k of the design. Raises an ERROR if its kind does not fit. */
static void
find_design_column(const Prediction *p, int k)
{
	const GrDesignColumn *of = &p->design->columns[k];
	Source	   *source = &p->sources[k];
	const GrKeptColumn *column;
	Oid			type;

	source->at = gr_find_column(p->set->ncolumns, p->set->names, NULL, gr_design_column_name(p->design, k));
	column = &p->set->columns[source->at];
	source->kind = column->kind;
	type = column->kind == GR_KEPT_FACTOR ? TEXTOID : column->kind == GR_KEPT_BOOLEAN ? BOOLOID : FLOAT8OID;
	if (!gr_describe_design_value(p->design, k, type, &source->column))
		raise_kind(column, false);
	if (column->kind == GR_KEPT_FACTOR)
		source->levels = sorted_levels(column, &of->levels);
}

/* Finds the kept columns of a model whose features are columns. Raises an ERROR if one is a category. */
static void
find_features(Prediction *p)
{
	GrFeatureNames *names = gr_name_features(p->model.terms, p->model.intercept);

	for (int k = 0; k < p->n; k++)
	{
		Source	   *source = &p->sources[k];

		source->at = gr_find_column(p->set->ncolumns, p->set->names, NULL, gr_feature_name(names, k));
		source->kind = p->set->columns[source->at].kind;
		if (source->kind == GR_KEPT_FACTOR)
			raise_kind(&p->set->columns[source->at], false);
		gr_poll_loop(k);
	}
}

static void
find_offset(Prediction *p)
{
	GrString	name = p->model.offsets;

	p->offset = -1;
	if (!gr_has_offsets(&p->model))
		return;
	p->offset = gr_find_column(p->set->ncolumns, p->set->names, NULL, pnstrdup(name.bytes, name.nbytes));
	if (p->set->columns[p->offset].kind == GR_KEPT_FACTOR)
		raise_kind(&p->set->columns[p->offset], false);
}

static void
find_columns(Prediction *p)
{
	find_offset(p);
	if (p->model.design.nbytes > 0)
	{
		p->design = gr_open_model_design(CurrentMemoryContext, p->model.design);
		gr_check_design_size(p->design, p->model.nfeatures);
	}
	p->n = p->design != NULL ? p->design->ncolumns : p->model.nfeatures;
	p->sources = palloc_extended((p->n + 1) * sizeof(Source), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	p->values = palloc_extended((2 * (Size) p->n + 1) * sizeof(double), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	if (p->design == NULL)
	{
		find_features(p);
		return;
	}
	p->features = palloc_extended((p->design->nfeatures + p->design->npaired + 1) * sizeof(double), MCXT_ALLOC_HUGE);
	for (int k = 0; k < p->n; k++)
		find_design_column(p, k);
}

/*
 * Rows
 */

/* Stores the level of column k that the kept number code stands for. Raises an ERROR if the model has no such level. */
static void
take_level(const Prediction *p, int k, double code)
{
	Source	   *source = &p->sources[k];
	const Level *level = find_level(&p->set->columns[source->at], source->levels, code);
	GrString	text;

	if (likely(level->number >= 0))
	{
		p->values[p->n + k] = level->number;
		return;
	}
	/* raises the error for an unknown level */
	text = p->set->columns[source->at].levels.level[level->kept];
	gr_take_design_value(p->design, k, &source->column,
						 PointerGetDatum(cstring_to_text_with_len(text.bytes, text.nbytes)), false, p->values);
}

/* Stores the values of the model's columns. Returns false if a value or the offset is NULL. */
static bool
take_row(const Prediction *p, const double *row)
{
	if (p->offset >= 0 && isnan(row[p->offset]))
		return false;
	for (int k = 0; k < p->n; k++)
	{
		const Source *source = &p->sources[k];
		double		x = row[source->at];

		if (isnan(x))
			return false;
		if (source->kind == GR_KEPT_FACTOR)
			take_level(p, k, x);
		else if (p->design == NULL || !p->design->columns[k].is_factor)
			p->values[k] = x;
		else
			gr_take_design_value(p->design, k, &source->column, source->kind == GR_KEPT_BOOLEAN ? BoolGetDatum(x != 0) :
								 Float8GetDatum(x), false, p->values);
	}
	return true;
}

static double
predict(const Prediction *p, const double *row)
{
	GrFeatures	features;
	double		eta;
	bool		finite;

	features.values = p->values;
	features.low = NULL;
	features.design = p->design;
	features.offset = p->offset < 0 ? 0 : row[p->offset];
	if (p->design != NULL)
	{
		gr_check_design_values(p->design, p->values);
		if (p->design->offset.nsteps > 0)
			features.offset = gr_expression_number(p->design->offset.step, p->design->offset.nsteps, p->values);
		features.values = p->features;
		features.low = p->features + p->design->nfeatures;
		gr_design_expand_pairs(p->design, p->values, p->features, p->features + p->design->nfeatures);
	}
	eta = gr_predict_eta(&p->model, &features, &finite);
	return gr_predict_mean(&p->model, eta, finite);
}

/* Returns a kept number, not NaN, as an id of the wanted type. ERROR if the type cannot hold it. */
static Datum
id_of(const Key *key, double number)
{
	Datum		value = Float8GetDatum(number);
	GrString	text;

	if (key->levels != NULL)
	{
		text = key->column->levels.level[find_level(key->column, key->levels, number)->kept];
		return PointerGetDatum(cstring_to_text_with_len(text.bytes, text.nbytes));
	}
	if ((key->type == INT2OID || key->type == INT4OID || key->type == INT8OID) && number != rint(number))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("key column \"%s\" has a value that is no integer: %g", key->column->name, number),
				 errhint("Pass another type of the ids: id => NULL::float8.")));
	switch (key->type)
	{
		case INT2OID:
			return DirectFunctionCall1(dtoi2, value);
		case INT4OID:
			return DirectFunctionCall1(dtoi4, value);
		case INT8OID:
			return DirectFunctionCall1(dtoi8, value);
		case NUMERICOID:
			return DirectFunctionCall1(float8_numeric, value);
		default:
			return value;
	}
}

/*
 * Adds one row to the result per kept row, in the order in which they are kept. Returns the number of rows.
 */
static int64
put_rows(ReturnSetInfo *rsinfo, Prediction *p, GrKeptReader *reader, const Key *key)
{
	MemoryContext old = MemoryContextSwitchTo(p->row_context);
	const double *row;
	int64		n = 0;

	for (; (row = gr_kept_next(reader)) != NULL; n++)
	{
		Datum		values[2] = {0};
		bool		nulls[2] = {key->at < 0 || isnan(row[Max(key->at, 0)]), !take_row(p, row)};

		if (!nulls[0])
			values[0] = id_of(key, row[key->at]);
		if (!nulls[1])
			values[1] = Float8GetDatum(predict(p, row));
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
		MemoryContextReset(p->row_context);
	}
	MemoryContextSwitchTo(old);
	return n;
}

static void
describe_kept(void *arg)
{
	errcontext("kept rows \"%s\"", (const char *) arg);
}

/* Finds the kept column that the argument key names, if it names one, for ids of this type. */
static void
find_key(FunctionCallInfo fcinfo, const GrKeptSet *set, Oid type, Key *key)
{
	bool		is_text = type == TEXTOID || type == VARCHAROID;

	*key = (Key) {.at = -1,.type = type};
	if (PG_ARGISNULL(ARG_KEY))
		return;
	key->at = gr_find_column(set->ncolumns, set->names, "key", text_to_cstring(PG_GETARG_TEXT_PP(ARG_KEY)));
	key->column = &set->columns[key->at];
	if (key->column->kind == GR_KEPT_FACTOR && is_text)
		key->levels = sorted_levels(key->column, NULL);
	else if (key->column->kind == GR_KEPT_FACTOR)
		raise_kind(key->column, true);
	else if (type != FLOAT8OID && type != INT2OID && type != INT4OID && type != INT8OID && type != NUMERICOID)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("kept column \"%s\" cannot give ids of type %s", key->column->name, format_type_be(type)),
				 errdetail("The column has numbers."),
				 errhint("Pass a type of numbers, as in id => NULL::bigint.")));
}

/* Predicts for kept rows; those for which the filter in argument argno is true. */
static Datum
predict_rows(FunctionCallInfo fcinfo, int argno)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Prediction	p = {.n = 0};
	ErrorContextCallback context = {.callback = describe_kept,.previous = error_context_stack};
	GrKeptReader *reader;
	Key			key;
	GrPlace		place = {0};
	double		started = gr_now();
	double		opened;
	int64		n;

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(ARG_MODEL) || PG_ARGISNULL(ARG_KEPT))
		return (Datum) 0;
	gr_open_predictor(PG_GETARG_HEAPTUPLEHEADER(ARG_MODEL), &p.model, NULL);
	context.arg = text_to_cstring(PG_GETARG_TEXT_PP(ARG_KEPT));
	error_context_stack = &context;
	reader = gr_kept_reader(context.arg, PG_ARGISNULL(argno) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(argno)));
	p.set = gr_kept_reader_set(reader);
	find_columns(&p);
	p.row_context = AllocSetContextCreate(CurrentMemoryContext, "gpureg row", ALLOCSET_DEFAULT_SIZES);
	find_key(fcinfo, p.set, TupleDescAttr(rsinfo->setDesc, 0)->atttypid, &key);
	opened = gr_now();
	n = put_rows(rsinfo, &p, reader, &key);
	gr_place_on_cpu(&place, "rows come back from the device service that keeps them");
	gr_record_pass(&place, &(GrPassRecord) {
		.function = "gpu_predict_rows",.nrows = n,.nfeatures = p.model.nfeatures,.started = started,
		.read_done = opened,.solved = gr_now()
	});
	error_context_stack = context.previous;
	return (Datum) 0;
}

/*
 * gpu_predict_rows(model gpu_model, kept text, key text, rows text): (id float8, prediction float8). Returns no rows if
 * model or kept is NULL.
 */
Datum
gr_predict_rows(PG_FUNCTION_ARGS)
{
	return predict_rows(fcinfo, 3);
}

/*
 * gpu_predict_rows(model gpu_model, kept text, key text, id anyelement, rows text): (id anyelement, prediction float8).
 * Returns no rows if model or kept is NULL.
 */
Datum
gr_predict_rows_id(PG_FUNCTION_ARGS)
{
	return predict_rows(fcinfo, 4);
}
