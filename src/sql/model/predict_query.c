/*
 * predict_query.c: plans predictions for the rows of a query.
 *
 * The query becomes SELECT id, gpu_predict(model, values ...) FROM (query). The model is a constant, and its columns
 * are found by name once, so each row passes its values by position. Some rows pass their values by name instead, to
 * gpu_predict_row: if there are options, if the model has more columns than a function has arguments, or if some
 * features are elements of arrays.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "nodes/makefuncs.h"
#include "nodes/value.h"
#include "utils/builtins.h"
#include "utils/guc.h"

#include "compute/design/design.h"
#include "rows/columns/columns.h"
#include "rows/columns/design_values.h"
#include "rows/query/query.h"
#include "rows/query/wrapper.h"
#include "run/args.h"
#include "sql/model/feature_names.h"
#include "sql/model/model.h"
#include "sql/model/predict_design.h"
#include "sql/model/predict_query.h"

/* Most missing columns that an error names. */
#define NAMED_MAX 8

/* The model's columns among those of the query. */
typedef struct Search
{
	const GrQuery *query;
	GrPredictor model;
	GrDesign   *design;			/* NULL: each feature is a column, or an element of an array */
	GrFeatureNames *names;		/* NULL: the model has a design */
	int			n;				/* number of values that the model needs, the offset included */
	int		   *column;			/* for each value: number of the query's column; -1: none was found */
	bool	   *used;			/* for each column of the query: true if the model uses it */
	int			narrays;		/* number of used columns that are arrays */
} Search;

/*
 * Errors
 */

/* Returns the name of value k. */
static const char *
value_name(const Search *search, int k)
{
	GrString	offsets = search->model.offsets;

	if (search->design != NULL && k < search->design->ncolumns)
		return gr_design_column_name(search->design, k);
	if (search->design == NULL && k < search->model.nfeatures)
		return gr_feature_name(search->names, k);
	return pnstrdup(offsets.bytes, offsets.nbytes);
}

/* Raises an ERROR that names the values without a column, if there are any. */
static void
check_complete(const Search *search)
{
	StringInfoData list;
	int			n = 0;

	initStringInfo(&list);
	for (int k = 0; k < search->n; k++)
	{
		if (search->column[k] < 0 && ++n <= NAMED_MAX)
			appendStringInfo(&list, "%s\"%s\"", n == 1 ? "" : ", ", value_name(search, k));
		gr_poll_loop(k);
	}
	if (n == 0)
		return;
	if (n > NAMED_MAX)
		appendStringInfo(&list, " and %d more", n - NAMED_MAX);
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_COLUMN),
			 errmsg("query does not have the model's columns"),
			 n == 1 ? errdetail("The query has no column %s.", list.data) :
			 errdetail("The query has no columns %s.", list.data),
			 errhint("Select all columns that the model was fitted to, under their names.")));
}

static void
raise_type(const Search *search, int c, const char *wanted)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg("column \"%s\" of the query has unsupported type %s", search->query->names[c],
					format_type_be(TupleDescAttr(search->query->columns, c)->atttypid)),
			 errdetail("The model was fitted to %s.", wanted)));
}

/*
 * The model's columns
 */

/* Notes that column c of the query holds value k. Raises an ERROR if another column does, too. */
static void
take_column(Search *search, int k, int c)
{
	if (search->column[k] >= 0)
		ereport(ERROR,
				(errcode(ERRCODE_AMBIGUOUS_COLUMN),
				 errmsg("query has several columns \"%s\"", value_name(search, k)),
				 errdetail("The model was fitted to a column of this name."),
				 errhint("Rename all of them but one with AS.")));
	search->column[k] = c;
	search->used[c] = true;
}

/* Finds what column c of the query is among the values of a model with a design. */
static void
find_design_column(Search *search, int c)
{
	const GrDesign *design = search->design;
	Oid			type = TupleDescAttr(search->query->columns, c)->atttypid;
	GrColumn	described;

	for (int k = 0; k < design->ncolumns; k++)
	{
		if (strcmp(gr_design_column_name(design, k), search->query->names[c]) != 0)
			continue;
		if (!gr_describe_design_value(design, k, type, &described))
			raise_type(search, c, design->columns[k].is_number ? "a number or boolean under this name" :
					   "a text, an enum, a number or a boolean under this name");
		take_column(search, k, c);
	}
}

/* Finds what column c of the query is among the features of a model without a design. */
static void
find_feature(Search *search, int c)
{
	const char *name = search->query->names[c];
	int			feature = gr_find_feature(search->names, name, strlen(name));
	GrFeatureRange elements = gr_find_elements(search->names, name, strlen(name));
	GrColumn	described;
	bool		usable = gr_describe_value(&described, TupleDescAttr(search->query->columns, c)->atttypid);
	bool		is_array = usable && OidIsValid(described.element);

	if (is_array && elements.n > 0)
	{
		for (int i = 0; i < elements.n; i++)
		{
			take_column(search, elements.first[i].feature, c);
			gr_poll_loop(i);
		}
		search->narrays++;
	}
	else if (feature >= 0)
	{
		if (!usable || is_array)
			raise_type(search, c, "a number or boolean under this name");
		take_column(search, feature, c);
	}
}

static void
find_offset(Search *search, int c)
{
	GrString	name = {search->query->names[c], (int) strlen(search->query->names[c])};
	GrColumn	described;

	if (!gr_has_offsets(&search->model) || !gr_same_name(name, search->model.offsets))
		return;
	if (!gr_describe_value(&described, TupleDescAttr(search->query->columns, c)->atttypid) ||
		OidIsValid(described.element))
		raise_type(search, c, "offsets of this name, which are numbers");
	take_column(search, search->n - 1, c);
}

/* Finds the model's columns among those of the query. */
static void
search_columns(Search *search)
{
	const GrPredictor *model = &search->model;
	int			nvalues;

	if (model->design.nbytes > 0)
	{
		search->design = gr_open_model_design(CurrentMemoryContext, model->design);
		gr_check_design_size(search->design, model->nfeatures);
	}
	else
		search->names = gr_name_features(model->terms, model->intercept);
	nvalues = search->design != NULL ? search->design->ncolumns : model->nfeatures;
	search->n = nvalues + (gr_has_offsets(model) ? 1 : 0);
	search->column = palloc_extended((search->n + 1) * sizeof(int), MCXT_ALLOC_HUGE);
	for (int k = 0; k < search->n; k++)
		search->column[k] = -1;
	search->used = palloc0((search->query->columns->natts + 1) * sizeof(bool));
	for (int c = 0; c < search->query->columns->natts; c++)
	{
		if (search->design != NULL)
			find_design_column(search, c);
		else
			find_feature(search, c);
		find_offset(search, c);
	}
	check_complete(search);
}

/*
 * True if the values of a row can be arguments in the model's order: single values, or one array that has all features
 * in their order.
 */
static bool
can_pass_by_position(const Search *search)
{
	const char *name;
	GrFeatureRange elements;

	if (search->narrays == 0)
		return search->n + 1 <= FUNC_MAX_ARGS;
	if (search->narrays > 1 || search->n != search->model.nfeatures)
		return false;
	for (int k = 0; k < search->n; k++)
		if (search->column[k] != search->column[0])
			return false;
	name = search->query->names[search->column[0]];
	elements = gr_find_elements(search->names, name, strlen(name));
	for (int i = 0; i < elements.n; i++)
		if (elements.first[i].subscript != i + 1 || elements.first[i].feature != i)
			return false;
	return elements.n == search->n;
}

/*
 * The expression
 */

static Expr *
text_constant(const char *value)
{
	return gr_wrapper_constant(CStringGetTextDatum(value), TEXTOID);
}

/* Returns gpu_predict(model, values in the model's order). */
static Expr *
call_by_position(const GrPredictQuery *request, const GrWrapper *wrapper, const Search *search, Expr *model)
{
	Oid			type = gr_own_type(request->function, "gpu_model");
	List	   *args = list_make1(model);
	Oid			function;

	if (search->narrays > 0)
		args = lappend(args, gr_wrapped_column(wrapper, search->column[0]));
	else
		for (int k = 0; k < search->n; k++)
			args = lappend(args, gr_wrapped_column(wrapper, search->column[k]));
	function = gr_own_function(request->function, "gpu_predict", search->n == 0 ? 1 : 2, (Oid[2]) {type, ANYOID},
							   FLOAT8OID);
	return gr_wrapper_call(function, args);
}

/* Returns gpu_predict_row(model, row of the used columns, type, new_levels). */
static Expr *
call_by_name(const GrPredictQuery *request, const GrWrapper *wrapper, const Search *search, Expr *model)
{
	Oid			types[4] = {gr_own_type(request->function, "gpu_model"), ANYOID, TEXTOID, TEXTOID};
	RowExpr    *row = makeNode(RowExpr);

	row->row_typeid = RECORDOID;
	row->row_format = COERCE_EXPLICIT_CALL;
	row->location = -1;
	for (int c = 0; c < search->query->columns->natts; c++)
		if (search->used[c])
		{
			row->args = lappend(row->args, gr_wrapped_column(wrapper, c));
			row->colnames = lappend(row->colnames, makeString(pstrdup(search->query->names[c])));
		}
	return gr_wrapper_call(gr_own_function(request->function, "gpu_predict_row", 4, types, FLOAT8OID),
						   list_make4(model, row, text_constant(request->link ? "link" : "response"),
									  text_constant(request->null_levels ? "null" : "error")));
}

GrPlan *
gr_plan_predictions(const GrPredictQuery *request, int *nfeatures)
{
	Search		search = {.query = gr_analyse_query(request->query)};
	GrWrapper	wrapper;
	Expr	   *model;
	bool		by_position;
	int			nest_level;
	GrPlan	   *plan;

	gr_check_id_column(search.query, request->id_type);
	gr_open_predictor(request->model, &search.model, NULL);
	search_columns(&search);
	*nfeatures = search.model.nfeatures;
	by_position = !request->link && !request->null_levels && can_pass_by_position(&search);
	gr_wrap_query(&wrapper, search.query);
	gr_wrapper_select(&wrapper, gr_wrapper_cast(&wrapper, gr_wrapped_column(&wrapper, 0), request->id_type));
	model = gr_wrapper_constant(PointerGetDatum(request->model), gr_own_type(request->function, "gpu_model"));
	gr_wrapper_select(&wrapper, by_position ? call_by_position(request, &wrapper, &search, model) :
					  call_by_name(request, &wrapper, &search, model));
	nest_level = gr_turn_jit_off();
	plan = gr_plan_wrapper(&wrapper);
	AtEOXact_GUC(true, nest_level);
	return plan;
}
