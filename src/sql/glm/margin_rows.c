/*
 * margin_rows.c: reads a query's rows as values of the columns that a model needs. Other columns are ignored. A model
 * without a design is treated as one in which each feature is a column.
 */
#include "postgres.h"

#include "executor/tuptable.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "rows/columns/design_values.h"
#include "rows/sums/ingest.h"
#include "run/args.h"
#include "run/raise.h"
#include "sql/glm/margin_rows.h"
#include "sql/model/feature_names.h"
#include "sql/model/predict_design.h"

typedef struct MarginReceiver
{
	GrReceiver	base;
	GrMarginRows *rows;
	GrMargins  *margins;
	MemoryContext row_context;	/* reset after each row */
	GrPoll		poll;
	double	   *values;			/* values of the design's columns; see gr_design_expand() */
	double	   *checked;		/* numbers of a row of rows->shape, for gr_check_rows() */
} MarginReceiver;

/*
 * Columns
 */

/* Returns a design in which each feature is a column of the same name. */
static GrDesign *
design_of_features(const GrFeatureNames *names)
{
	int			n = names->nfeatures;
	GrDesign   *design = palloc0(sizeof(GrDesign));
	GrDesignPart *parts = palloc0((n + 1) * sizeof(GrDesignPart));

	design->ncolumns = design->nterms = design->nfeatures = n;
	design->columns = palloc0((n + 1) * sizeof(GrDesignColumn));
	design->terms = palloc0((n + 1) * sizeof(GrDesignTerm));
	for (int i = 0; i < names->n; i++)
	{
		const GrFeatureName *name = &names->sorted[i];

		if (name->subscript == 0)
			design->columns[name->feature].name = (GrString) {name->name, name->len};
		gr_poll_loop(i);
	}
	for (int k = 0; k < n; k++)
	{
		parts[k] = (GrDesignPart) {.column = k,.kind = GR_PART_NUMBER,.width = 1,.at = k};
		design->columns[k].is_number = true;
		design->terms[k] = (GrDesignTerm) {.nparts = 1,.part = &parts[k],.width = 1};
		gr_poll_loop(k);
	}
	return design;
}

static void
raise_type(const char *name, Oid type, const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg("column \"%s\" of the query has unsupported type %s", name, format_type_be(type)),
			 errdetail("%s", detail)));
}

/* Adds column `at` of the query as the source of column target of the design. */
static void
add_source(GrMarginRows *rows, const GrQuery *query, int at, int target)
{
	GrMarginSource *source = &rows->sources[rows->nsources++];
	const GrDesignColumn *column = &rows->design->columns[target];
	Oid			type = TupleDescAttr(query->columns, at)->atttypid;
	int		   *targets = palloc(sizeof(int));

	source->at = at;
	targets[0] = target;
	source->targets = targets;
	if (!gr_describe_design_value(rows->design, target, type, &source->column))
		raise_type(query->names[at], type, column->is_number ? "The value must be a number or a boolean." :
				   "The value must be a text, an enum, a number or a boolean.");
	source->column.name = query->names[at];
	rows->is_boolean[target] = source->column.type == BOOLOID && !column->is_factor;
}

/* Adds an array column of the query as the source of the features name[1], name[2], ... */
static void
add_array(GrMarginRows *rows, const GrQuery *query, int at, GrFeatureRange elements)
{
	GrMarginSource *source = &rows->sources[rows->nsources++];
	int		   *targets = palloc(elements.n * sizeof(int));

	source->at = at;
	source->targets = targets;
	(void) gr_describe_value(&source->column, TupleDescAttr(query->columns, at)->atttypid);
	source->column.name = query->names[at];
	source->column.width = elements.n;
	for (int i = 0; i < elements.n; i++)
	{
		if (elements.first[i].subscript != i + 1)
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_COLUMN),
					 errmsg("the model has no feature \"%s[%d]\"", query->names[at], i + 1),
					 errdetail("The query's column \"%s\" is an array.", query->names[at]),
					 errhint("Return an array as long as the one the model was fitted to, or one column per "
							 "feature.")));
		targets[i] = elements.first[i].feature;
		rows->is_boolean[targets[i]] = source->column.element == BOOLOID;
		gr_poll_loop(i);
	}
}

/* Finds the columns of a model with a design. */
static void
find_design_columns(GrMarginRows *rows, const GrQuery *query)
{
	for (int k = 0; k < rows->design->ncolumns; k++)
	{
		add_source(rows, query, gr_find_column(query->columns->natts, query->names, NULL,
											   gr_design_column_name(rows->design, k)), k);
		CHECK_FOR_INTERRUPTS();
	}
}

/* Raises an ERROR unless each feature has exactly one column. */
static void
check_features(const GrMarginRows *rows)
{
	bool	   *given = palloc0((rows->design->ncolumns + 1) * sizeof(bool));

	for (int s = 0; s < rows->nsources; s++)
		for (int i = 0; i < rows->sources[s].column.width; i++)
		{
			int			target = rows->sources[s].targets[i];

			if (given[target])
				ereport(ERROR,
						(errcode(ERRCODE_AMBIGUOUS_COLUMN),
						 errmsg("query has several columns \"%s\"", gr_design_column_name(rows->design, target)),
						 errdetail("The model was fitted to a column of this name."),
						 errhint("Rename all of them but one with AS.")));
			given[target] = true;
			gr_poll_loop(i);
		}
	for (int k = 0; k < rows->design->ncolumns; k++)
		if (!given[k])
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_COLUMN),
					 errmsg("query has no column \"%s\"", gr_design_column_name(rows->design, k)),
					 errdetail("The model was fitted to a column of this name."),
					 errhint("Add a column of this name to the query, or rename one with AS.")));
	pfree(given);
}

/* Finds the columns and arrays that hold the features of a model without a design. */
static void
find_features(GrMarginRows *rows, const GrQuery *query, const GrFeatureNames *names)
{
	for (int at = 0; at < query->columns->natts; at++)
	{
		const char *name = query->names[at];
		int			feature = gr_find_feature(names, name, strlen(name));
		GrFeatureRange elements = gr_find_elements(names, name, strlen(name));
		GrColumn	column;

		if (elements.n > 0 && gr_describe_value(&column, TupleDescAttr(query->columns, at)->atttypid) &&
			OidIsValid(column.element))
			add_array(rows, query, at, elements);
		else if (feature >= 0)
			add_source(rows, query, at, feature);
	}
	check_features(rows);
}

/* Returns the column that was the fit's offset. Raises an ERROR if the query lacks it: effects depend on it. */
static int
find_model_offset(const GrQuery *query, const char *name)
{
	bool		found = false;

	for (int k = 0; k < query->columns->natts; k++)
		found |= strcmp(query->names[k], name) == 0;
	if (!found)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("query has no column \"%s\"", name),
				 errdetail("The model's offset has this name."),
				 errhint("Add a column of this name to the query, or name another one, as in offsets => 'days'.")));
	return gr_find_column(query->columns->natts, query->names, NULL, name);
}

/* Finds the columns of weights and offsets by name. arguments: those that name them; NULL: the model does. */
static void
find_roles(GrMarginRows *rows, const GrQuery *query, const char *const *named, const char *const *arguments)
{

	for (int k = 0; k < 2; k++)
	{
		GrMarginSource *source = &rows->sources[rows->nsources];
		Oid			type;

		if (named[k] == NULL)
			continue;
		source->at = arguments[k] == NULL ? find_model_offset(query, named[k]) :
			gr_find_column(query->columns->natts, query->names, arguments[k], named[k]);
		type = TupleDescAttr(query->columns, source->at)->atttypid;
		if (!gr_describe_value(&source->column, type) || OidIsValid(source->column.element))
			raise_type(named[k], type, k == 0 ? "Weights must be numbers." : "Offsets must be numbers.");
		source->column.name = named[k];
		rows->names[rows->design->ncolumns + 1 + (k > 0 && rows->shape.weight ? 1 : 0)] = named[k];
		rows->nsources++;
	}
}

void
gr_margin_rows_prepare(GrQuery *query, const GrPredictor *model, const GrRoles *roles, GrMarginRows *rows)
{
	GrFeatureNames *names;
	bool		of_model = roles->offsets == NULL && gr_has_offsets(model);
	const char *offsets = of_model ? pnstrdup(model->offsets.bytes, model->offsets.nbytes) : roles->offsets;
	const char *const named[2] = {roles->weights, offsets};
	const char *const arguments[2] = {"weights", of_model ? NULL : "offsets"};
	int			ncolumns;

	memset(rows, 0, sizeof(*rows));
	if (model->nfeatures > 0)
		gr_check_nfeatures(model->nfeatures);
	names = model->design.nbytes > 0 ? NULL : gr_name_features(model->terms, model->intercept);
	rows->design = names != NULL ? design_of_features(names) :
		gr_open_model_design(CurrentMemoryContext, model->design);
	gr_check_design_size(rows->design, model->nfeatures);
	ncolumns = rows->design->ncolumns;
	rows->shape = (GrRowShape) {
		.nfeatures = ncolumns,.weight = roles->weights != NULL,.offset = offsets != NULL
	};
	rows->is_boolean = palloc0((ncolumns + 1) * sizeof(bool));
	rows->sources = palloc0((Max(ncolumns, query->columns->natts) + 2) * sizeof(GrMarginSource));
	rows->names = palloc0((ncolumns + 3) * sizeof(char *));
	for (int k = 0; k < ncolumns; k++)
		rows->names[k] = gr_design_column_name(rows->design, k);
	if (names != NULL)
		find_features(rows, query, names);
	else
		find_design_columns(rows, query);
	find_roles(rows, query, named, arguments);
	rows->plan = gr_plan_query(query, CURSOR_OPT_PARALLEL_OK);
}

/*
 * Rows
 */

static bool
is_complete(const GrMarginRows *rows, const TupleTableSlot *slot)
{
	for (int s = 0; s < rows->nsources; s++)
		if (slot->tts_isnull[rows->sources[s].at])
			return false;
	return true;
}

/* Stores the numbers of an array. Returns false if one is NULL. */
static bool
take_array(const GrMarginSource *source, Datum value, double *values)
{
	int			n = source->column.width;
	double	   *numbers = palloc_extended(n * sizeof(double), MCXT_ALLOC_HUGE);

	if (!gr_convert_value(&source->column, value, numbers))
		return false;
	for (int i = 0; i < n; i++)
		values[source->targets[i]] = numbers[i];
	return true;
}

bool
gr_margin_rows_take(const GrMarginRows *rows, const TupleTableSlot *slot, double *values, double *checked)
{
	double	   *role = checked + rows->shape.nfeatures + 1;

	if (!is_complete(rows, slot))
		return false;
	for (int s = 0; s < rows->nsources; s++)
	{
		const GrMarginSource *source = &rows->sources[s];
		Datum		value = slot->tts_values[source->at];

		if (source->targets == NULL)
			(void) gr_convert_value(&source->column, value, role++);
		else if (!OidIsValid(source->column.element))
			gr_take_design_value(rows->design, source->targets[0], &source->column, value, false, values);
		else if (!take_array(source, value, values))
			return false;
	}
	gr_check_design_values(rows->design, values);
	memcpy(checked, values, rows->shape.nfeatures * sizeof(double));
	return true;
}

static void
add_row(MarginReceiver *receiver)
{
	GrMarginRows *rows = receiver->rows;
	double		weight;

	gr_check_rows(receiver->checked, 1, rows->shape, (GrRowRules) {GR_GAUSSIAN}, rows->names);
	weight = gr_row_weight(receiver->checked, rows->shape);
	if (weight == 0)
		return;
	rows->nrows++;
	if (!gr_margins_add(receiver->margins, receiver->values, weight, gr_row_offset(receiver->checked, rows->shape),
						&receiver->poll))
	{
		GrError		err = {0};

		(void) gr_fail(&err, GR_CANCELED, 0, "marginal effects");
		gr_raise(&err);
	}
}

static bool
receive_row(TupleTableSlot *slot, DestReceiver *self)
{
	MarginReceiver *receiver = (MarginReceiver *) self;
	MemoryContext old = MemoryContextSwitchTo(receiver->row_context);

	slot_getallattrs(slot);
	if (gr_margin_rows_take(receiver->rows, slot, receiver->values, receiver->checked))
		add_row(receiver);
	else
		receiver->rows->nskipped++;
	MemoryContextSwitchTo(old);
	MemoryContextReset(receiver->row_context);
	return true;
}

void
gr_margin_rows_read(GrMarginRows *rows, GrMargins *margins)
{
	MarginReceiver receiver = {
		.base.pub.receiveSlot = receive_row,
		.rows = rows,
		.margins = margins,
		.poll = {.host = &gr_host}
	};

	receiver.row_context = AllocSetContextCreate(CurrentMemoryContext, "gpureg row", ALLOCSET_DEFAULT_SIZES);
	receiver.values = palloc0((GR_DESIGN_NVALUES(rows->design) + 1) * sizeof(double));
	receiver.checked = palloc0(gr_row_ncols(rows->shape) * sizeof(double));
	gr_run_plan(rows->plan, NULL, &receiver.base, 0);
	MemoryContextDelete(receiver.row_context);
	if (rows->nrows == 0)
		gr_raise_no_rows(rows->nskipped);
}
