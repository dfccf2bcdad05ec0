/*
 * fn_predict_rows.c: gpu_predict_rows(): predictions of a model for the rows of a kept set, by its columns' names.
 *
 * Rows come back from the device service a piece at a time, and are predicted here, as gpu_predict() does it for one.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

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

enum
{
	ARG_MODEL, ARG_KEPT, ARG_KEY, ARG_ROWS
};

/* A kept number that stands for a level, and the number of that level in the model */
typedef struct Level
{
	double		code;
	int			kept;			/* the kept one's */
	int			number;			/* -1: the model has no such level */
} Level;

/* Where the value of a column that the model is made of comes from */
typedef struct Source
{
	int			at;				/* which kept column */
	GrKeptKind	kind;
	GrColumn	column;			/* what its values are as those of a design's column */
	int			nlevels;		/* of a kept factor, in the order of the codes */
	Level	   *levels;
} Source;

typedef struct Prediction
{
	GrPredictor model;
	const GrKeptSet *set;
	GrDesign   *design;			/* NULL: features are columns */
	int			n;				/* columns that the model is made of */
	int			offset;			/* kept column that is the model's offset; -1: it has none */
	Source	   *sources;
	double	   *values;
	double	   *features;		/* of a design, and what rounding left of them */
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

/* Which levels of the model those of a kept factor are */
static void
match_levels(const GrKeptColumn *column, const GrLevels *of_model, Source *source)
{
	const GrLevels *levels = &column->levels;

	source->nlevels = levels->n;
	source->levels = palloc(Max(levels->n, 1) * sizeof(Level));
	for (int i = 0; i < levels->n; i++)
		source->levels[i] = (Level) {
			column->codes[i], i, gr_level_find(of_model, levels->level[i].bytes, levels->level[i].nbytes)
		};
	qsort(source->levels, levels->n, sizeof(Level), compare_codes);
}

/* Column k of the design */
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
		match_levels(column, &of->levels, source);
}

/* Features that are columns */
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

/* The level that a kept number stands for; ERROR if the model doesn't have it. */
static void
take_level(const Prediction *p, int k, double code)
{
	Source	   *source = &p->sources[k];
	Level		wanted = {.code = code};
	const Level *level = bsearch(&wanted, source->levels, source->nlevels, sizeof(Level), compare_codes);
	GrString	text;

	if (level == NULL)
		elog(ERROR, "kept column \"%s\" has no level %g", p->set->names[source->at], code);
	if (likely(level->number >= 0))
	{
		p->values[p->n + k] = level->number;
		return;
	}
	/* which says so */
	text = p->set->columns[source->at].levels.level[level->kept];
	gr_take_design_value(p->design, k, &source->column,
						 PointerGetDatum(cstring_to_text_with_len(text.bytes, text.nbytes)), false, p->values);
}

/* The values of the model's columns; false if one, or the offset, is NULL. */
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
		features.values = p->features;
		features.low = p->features + p->design->nfeatures;
		gr_design_expand_pairs(p->design, p->values, p->features, p->features + p->design->nfeatures);
	}
	eta = gr_predict_eta(&p->model, &features, &finite);
	return gr_predict_mean(&p->model, eta, finite);
}

/* A row of the result for each kept row, in the order in which they lie there; returns how many there are */
static int64
put_rows(ReturnSetInfo *rsinfo, Prediction *p, GrKeptReader *reader, int key)
{
	MemoryContext old = MemoryContextSwitchTo(p->row_context);
	const double *row;
	int64		n = 0;

	for (; (row = gr_kept_next(reader)) != NULL; n++)
	{
		Datum		values[2] = {0};
		bool		nulls[2] = {key < 0 || isnan(row[Max(key, 0)]), !take_row(p, row)};

		if (!nulls[0])
			values[0] = Float8GetDatum(row[key]);
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

/* Where the column that tells rows apart is; -1: none is named */
static int
find_key(FunctionCallInfo fcinfo, const GrKeptSet *set)
{
	int			key;

	if (PG_ARGISNULL(ARG_KEY))
		return -1;
	key = gr_find_column(set->ncolumns, set->names, "key", text_to_cstring(PG_GETARG_TEXT_PP(ARG_KEY)));
	if (set->columns[key].kind == GR_KEPT_FACTOR)
		raise_kind(&set->columns[key], true);
	return key;
}

/*
 * gpu_predict_rows(model gpu_model, kept text, key text, rows text): (id float8, prediction float8); no rows if there
 * is no model, or no name
 */
Datum
gr_predict_rows(PG_FUNCTION_ARGS)
{
	Prediction	p = {.n = 0};
	ErrorContextCallback context = {.callback = describe_kept,.previous = error_context_stack};
	GrKeptReader *reader;
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
	reader = gr_kept_reader(context.arg, PG_ARGISNULL(ARG_ROWS) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(ARG_ROWS)));
	p.set = gr_kept_reader_set(reader);
	find_columns(&p);
	p.row_context = AllocSetContextCreate(CurrentMemoryContext, "gpureg row", ALLOCSET_DEFAULT_SIZES);
	opened = gr_now();
	n = put_rows((ReturnSetInfo *) fcinfo->resultinfo, &p, reader, find_key(fcinfo, p.set));
	gr_place_on_cpu(&place, "rows come back from the device service that keeps them");
	gr_record_pass(&place, &(GrPassRecord) {
		.function = "gpu_predict_rows",.nrows = n,.nfeatures = p.model.nfeatures,.started = started,
		.read_done = opened,.solved = gr_now()
	});
	error_context_stack = context.previous;
	return (Datum) 0;
}
