/*
 * frame.c: makes a query around the user's query, whose features a formula makes of the user's columns.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

#include "compute/design/cells.h"
#include "compute/design/design.h"
#include "compute/design/design_text.h"
#include "compute/design/formula.h"
#include "compute/design/design_moves.h"
#include "rows/columns/columns.h"
#include "rows/columns/design_values.h"
#include "rows/columns/formula_error.h"
#include "rows/columns/levels.h"
#include "rows/query/cells_query.h"
#include "rows/query/formula_numbers.h"
#include "rows/query/frame.h"
#include "rows/query/query.h"
#include "rows/query/wrapper.h"
#include "run/raise.h"

/* State of making one frame */
typedef struct Making
{
	const GrQuery *query;
	const GrFrameColumns *kept; /* NULL: levels and centers are read from the query's rows */
	const GrFrameCells *cells;	/* NULL, or read is NULL: rows are not summed */
	const GrRoles *roles;
	Oid			function;
	const char *text;			/* the formula; NULL: there is none */
	GrFormulaColumn *columns;
	int			found[GR_ROLES_MAX];	/* positions of the response and the columns with roles */
	int			nroles;
	/* positions of absorbed and cluster columns, which may have a role or be features */
	int			sides[GR_SIDES_MAX];
	int			nsides;
	GrFormula	formula;
	GrLevels   *levels;			/* levels of each column */
	bool		centered;		/* powers may be about centers */
	bool		pairs;			/* each power comes in two columns: its float8 and the rest */
	bool		keyed;			/* rows have the keys of their clusters: a row in no cluster has a NULL key */
} Making;

static Oid
base_type(const GrQuery *query, int k)
{
	return getBaseType(TupleDescAttr(query->columns, k)->atttypid);
}

/*
 * Columns and formula
 */

static bool
has_role(const Making *m, int k)
{
	for (int i = 0; i < m->nroles; i++)
		if (m->found[i] == k)
			return true;
	return false;
}

static bool
is_side(const Making *m, int k)
{
	for (int i = 0; i < m->nsides; i++)
		if (m->sides[i] == k)
			return true;
	return false;
}

/* True if column k has a role other than the response's. */
static bool
has_other_role(const Making *m, int k)
{
	for (int i = 1; i < m->nroles; i++)
		if (m->found[i] == k)
			return true;
	return is_side(m, k);
}

/*
 * Describes the columns to the formula. The response is not marked as a role: it is what the formula names, and
 * m->found[0] only where there is no formula.
 */
static void
describe_columns(Making *m)
{
	m->columns = palloc0(m->query->columns->natts * sizeof(GrFormulaColumn));
	for (int k = 0; k < m->query->columns->natts; k++)
	{
		Oid			type = base_type(m->query, k);

		m->columns[k] = (GrFormulaColumn) {
			.name = m->query->names[k],
			.kind = gr_is_number_type(type) ? GR_COLUMN_NUMBER : gr_is_category_type(type) ? GR_COLUMN_FACTOR :
			GR_COLUMN_OTHER,
			.can_be_factor = gr_is_level_type(type),
			.has_role = has_other_role(m, k)
		};
	}
}

/* True if a category is among the columns that become features without a formula. */
static bool
has_category(const Making *m)
{
	for (int k = 0; k < m->query->columns->natts; k++)
		if (m->columns[k].kind == GR_COLUMN_FACTOR && k != m->found[0] && !m->columns[k].has_role)
			return true;
	return false;
}

/* Raises an ERROR if the formula has an offset that the fit cannot have. */
static void
check_offset(const Making *m, const GrRoles *roles)
{
	if (m->formula.offset.nsteps == 0)
		return;
	if (!roles->takes_offset)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("this function cannot have an offset in its formula"),
				 errhint("Leave offset() out, or use gpu_ols_fit or gpu_glm_fit.")));
	if (roles->offsets != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("offsets cannot be used with a formula that has offset()"),
				 errhint("Add the column to the formula, as in offset(%s).", quote_identifier(roles->offsets))));
}

static void
read_formula(Making *m, const GrRoles *roles)
{
	const GrFormulaText from = {
		.text = m->text,.nbytes = m->text == NULL ? 0 : strlen(m->text),.columns = m->columns,
		.ncolumns = m->query->columns->natts
	};
	GrFormulaError err;

	m->formula.response = m->found[0];
	m->formula.intercept = roles->intercept;
	if (!gr_formula_read(&m->formula, &from, gr_context_memory(CurrentMemoryContext), &gr_host, &err))
	{
		/* The host keeps an error of its own: gr_raise() raises that one. */
		if (err.fault == GR_FORMULA_CANCELED)
			gr_raise(&(GrError) {.status = GR_CANCELED});
		gr_raise_formula(&err, m->text, m->query->columns, m->query->names);
	}
	check_offset(m, roles);
	for (int i = 1; i < m->nroles; i++)
		if (m->found[i] == m->formula.response)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("column \"%s\" cannot be both response and weights or offsets",
							m->query->names[m->formula.response])));
	m->found[0] = m->formula.response;
}

/*
 * Levels
 */

static bool
is_factor(const Making *m, int k)
{
	return (gr_formula_uses(&m->formula, k) & 1 << GR_VARIABLE_FACTOR) != 0;
}

/* True if column k makes a role: it has one, is a side column, or the response or the offset is made of it. */
static bool
makes_role(const Making *m, int k)
{
	return has_role(m, k) || is_side(m, k) || gr_formula_makes_response(&m->formula, k) ||
		gr_expression_has(&m->formula.offset, k);
}

/*
 * Returns a condition: the columns that make the response, the roles, the absorbed and the cluster columns and, if
 * features is true, the columns that the formula uses are not NULL.
 */
static Expr *
are_complete(const Making *m, const GrWrapper *wrapper, bool features)
{
	List	   *tests = NIL;

	for (int k = 0; k < m->query->columns->natts; k++)
		if (makes_role(m, k) || (features && gr_formula_uses(&m->formula, k) != 0))
			tests = lappend(tests, gr_wrapper_is_not_null(wrapper, k));
	return gr_wrapper_all_of(tests);
}

static GrPlan *
plan_levels(const Making *m, const int *factors, int n)
{
	Oid			types[2] = {TEXTARRAYOID, ANYOID};
	Datum	   *names = palloc(n * sizeof(Datum));
	List	   *args = NIL;
	GrWrapper	wrapper;
	GrPlan	   *plan;
	Oid			pass;
	int			nest_level;

	gr_wrap_query(&wrapper, m->query);
	for (int i = 0; i < n; i++)
	{
		names[i] = CStringGetTextDatum(m->columns[factors[i]].name);
		args = lappend(args, gr_wrapped_column(&wrapper, factors[i]));
	}
	args = lcons(gr_wrapper_constant(PointerGetDatum(construct_array(names, n, TEXTOID, -1, false, TYPALIGN_INT)),
									 TEXTARRAYOID), args);
	wrapper.tree->jointree->quals = (Node *) are_complete(m, &wrapper, true);
	pass = gr_own_function(m->function, "gpu_levels_pass", 2, types, TEXTARRAYOID);
	gr_wrapper_select(&wrapper, gr_wrapper_aggregate(&wrapper, pass, args));
	nest_level = gr_turn_jit_off();
	plan = gr_plan_wrapper(&wrapper);
	AtEOXact_GUC(true, nest_level);
	return plan;
}

/*
 * Sets the levels of n factors from the result of gpu_levels_pass(): for each factor the number of levels, then the
 * levels.
 */
static void
take_levels(Making *m, const int *factors, int n, Datum value)
{
	Datum	   *items;
	int			nitems;
	int			at = 0;

	deconstruct_array(DatumGetArrayTypeP(value), TEXTOID, -1, false, TYPALIGN_INT, &items, NULL, &nitems);
	for (int i = 0; i < n; i++)
	{
		int			nlevels = at < nitems ? pg_strtoint32(TextDatumGetCString(items[at++])) : 0;

		if (nlevels < 0 || nlevels > nitems - at)
			elog(ERROR, "gpu_levels_pass returned %d items", nitems);
		gr_sort_levels(&m->levels[factors[i]], items + at, nlevels, TupleDescAttr(m->query->columns, factors[i]));
		at += nlevels;
	}
}

/* Reads the levels of n factors from the query's rows. */
static void
read_levels(Making *m, const int *factors, int n)
{
	bool		isnull;
	Datum		value;

	if (n > GR_COLUMN_ARGUMENTS_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("too many factors: %d", n),
				 errdetail("A query can have at most %d columns that are factors.", GR_COLUMN_ARGUMENTS_MAX),
				 errhint("Leave some of the factors out.")));
	value = gr_run_for_value(plan_levels(m, factors, n), NULL, &isnull);
	/* The result is NULL if no row is complete. */
	if (isnull)
		ereport(ERROR,
				(errcode(ERRCODE_NO_DATA_FOUND),
				 errmsg("query returned no complete row"),
				 errhint("Look for columns that are always NULL: rows with a NULL in any column are skipped.")));
	take_levels(m, factors, n, value);
}

/* Asks m->kept for the levels of n factors. */
static void
ask_levels(Making *m, const int *factors, int n)
{
	bool	   *used = palloc(m->query->columns->natts * sizeof(bool));

	for (int k = 0; k < m->query->columns->natts; k++)
		used[k] = gr_formula_uses(&m->formula, k) != 0;
	for (int i = 0; i < n; i++)
		m->kept->find_levels(m->kept->arg, factors[i], m->found, m->nroles, used, &m->levels[factors[i]]);
}

/*
 * Sums the rows by the levels of n factors, which finds the levels, too, unless they are known. Returns false if that
 * is not possible, or if the levels should be read first.
 */
static bool
read_cells(Making *m, const int *factors, int n)
{
	int		   *numbers = palloc(m->query->columns->natts * sizeof(int));
	GrCellsColumns columns = {
		.found = m->found,.nroles = m->nroles,.numbers = numbers,.factors = factors,.nfactors = n
	};
	GrCellsQuery query;

	if (m->cells == NULL || m->cells->read == NULL || m->nsides > 0 || n > GR_COLUMN_ARGUMENTS_MAX ||
		gr_formula_has_expressions(&m->formula) || !gr_formula_has_cells(&m->formula))
		return false;
	for (int k = 0; k < m->query->columns->natts; k++)
		if ((gr_formula_uses(&m->formula, k) & 1 << GR_VARIABLE_NUMBER) != 0)
		{
			/* Columns with roles are found by their names, so no other column may have the name. */
			if (m->columns[k].has_role)
				return false;
			numbers[columns.nnumbers++] = k;
		}
	query = gr_make_cells_query(m->query, &columns);
	return m->cells->read(m->cells->arg, m->roles, &query, m->levels);
}

static void
find_levels(Making *m)
{
	int		   *factors = palloc(m->query->columns->natts * sizeof(int));
	int			n = 0;

	m->levels = palloc0(m->query->columns->natts * sizeof(GrLevels));
	for (int k = 0; k < m->query->columns->natts; k++)
		if (is_factor(m, k))
			factors[n++] = k;
	if (n == 0)
		return;
	if (m->kept != NULL)
		ask_levels(m, factors, n);
	else if (!read_cells(m, factors, n))
	{
		read_levels(m, factors, n);
		(void) read_cells(m, factors, n);
	}
	for (int i = 0; i < n; i++)
		if (m->levels[factors[i]].n == 1)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("column \"%s\" of the query is a factor with only one level", m->columns[factors[i]].name),
					 errdetail("The column is \"%s\" in every complete row.",
							   gr_show_level(m->levels[factors[i]].level[0])),
					 errhint("Leave the column out: the intercept already represents it.")));
}

/*
 * The design and its query
 */

/* Raises an ERROR if there are too many features. The message names the factor with the most levels. */
static void
check_nfeatures(const Making *m)
{
	double		nfeatures = gr_formula_nfeatures(&m->formula, m->levels);
	int			largest = 0;

	if (nfeatures <= GR_MAX_FEATURES)
		return;
	for (int k = 1; k < m->query->columns->natts; k++)
		if (m->levels[k].n > m->levels[largest].n)
			largest = k;
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("too many features: %.0f", nfeatures),
			 m->levels[largest].n == 0 ? errdetail("A model can have at most %d features.", GR_MAX_FEATURES) :
			 errdetail("A model can have at most %d features. The factor with the most levels is column \"%s\", which "
					   "has %d.",
					   GR_MAX_FEATURES, m->columns[largest].name, m->levels[largest].n),
			 errhint("Leave columns out, or merge levels of a factor in the query.")));
}

static char *
write_design(const Making *m, const double *centers)
{
	GrString	text = {m->text == NULL ? "" : m->text, m->text == NULL ? 0 : (int) strlen(m->text)};
	GrWriter	writer = {0};

	gr_design_write(&writer, &m->formula, text, m->columns, m->query->columns->natts, m->levels,
					centers);
	writer.text = palloc0(writer.nbytes + 1);
	writer.size = writer.nbytes;
	writer.nbytes = 0;
	gr_design_write(&writer, &m->formula, text, m->columns, m->query->columns->natts, m->levels,
					centers);
	return writer.text;
}

/*
 * CASE WHEN the response and the roles are not NULL THEN gpu_design_row(design, pairs, columns ...) END. Skipped rows
 * may have levels that are not in the design, so gpu_design_row() must not see them.
 */
static Expr *
write_row(const Making *m, const GrWrapper *wrapper, const char *design)
{
	Oid			types[3] = {TEXTOID, BOOLOID, ANYOID};
	List	   *args = list_make2(gr_wrapper_constant(CStringGetTextDatum(design), TEXTOID),
								  makeBoolConst(m->pairs, false));
	List	   *numbers = NIL;
	List	   *factors = NIL;
	Expr	   *row;

	for (int k = 0; k < m->query->columns->natts; k++)
		if (is_factor(m, k))
			factors = lappend_int(factors, k);
		else if (gr_formula_uses(&m->formula, k) != 0)
			numbers = lappend_int(numbers, k);
	row = gr_wrapper_call(gr_own_function(m->function, "gpu_design_row", 3, types, FLOAT8ARRAYOID),
						  list_concat(args, gr_write_design_values(wrapper, numbers, factors)));

	return gr_wrapper_value_where(are_complete(m, wrapper, false), row);
}

/*
 * True if each feature is a column of numbers. A feature that also has a role is not plain: columns with roles are
 * found by their names.
 */
static bool
has_plain_features(const Making *m)
{
	for (int t = 0; t < m->formula.nterms; t++)
	{
		const GrVariable *first = &m->formula.variables[m->formula.terms[t].variable[0]];

		if (gr_formula_order(&m->formula.terms[t]) > 1 || first->kind != GR_VARIABLE_NUMBER ||
			has_role(m, first->column))
			return false;
	}
	return true;
}

/* Returns the response. If guarded, it is NULL in a row without a cluster or the level of an absorbed column. */
static Expr *
write_response(const Making *m, const GrWrapper *wrapper, bool guarded)
{
	Expr	   *response = m->formula.response_expression.nsteps > 0 ?
		gr_write_number(wrapper, m->function, &m->formula.response_expression, m->columns) :
		gr_wrapped_column(wrapper, m->found[0]);
	List	   *tests = NIL;

	for (int i = 0; guarded && i < m->nsides; i++)
		tests = lappend(tests, gr_wrapper_is_not_null(wrapper, m->sides[i]));
	return tests == NIL ? response : gr_wrapper_value_where(gr_wrapper_all_of(tests), response);
}

static const char *
response_name(const Making *m)
{
	return m->formula.response_expression.nsteps > 0 ? gr_expression_name(&m->formula.response_expression) :
		m->query->names[m->found[0]];
}

/* Columns that a frame's query selects, and their names */
typedef struct Selection
{
	GrWrapper	wrapper;
	const char **names;
	int			n;
} Selection;

static void
add_column(Selection *selection, Expr *value, const char *name)
{
	selection->names[selection->n++] = name;
	gr_wrapper_select(&selection->wrapper, value);
}

/*
 * Selects the response, the columns with roles, and the features: the columns in features or, if design is not NULL, an
 * array without a name. The absorbed and the cluster columns follow if sides is true. guarded: see write_response().
 */
static GrQuery *
wrap_rows(const Making *m, List *features, const char *design, bool sides, bool guarded)
{
	const char *const *names = m->query->names;
	Selection	selection = {
		.names = palloc((m->nroles + list_length(features) + 2 + m->nsides) * sizeof(char *))
	};
	const GrWrapper *wrapper = &selection.wrapper;
	ListCell   *cell;

	gr_wrap_query(&selection.wrapper, m->query);
	add_column(&selection, write_response(m, wrapper, guarded), response_name(m));
	for (int i = 1; i < m->nroles; i++)
		add_column(&selection, gr_wrapped_column(wrapper, m->found[i]), names[m->found[i]]);
	if (m->formula.offset.nsteps > 0)
		add_column(&selection, gr_write_number(wrapper, m->function, &m->formula.offset, m->columns),
				   gr_expression_name(&m->formula.offset));
	foreach(cell, features)
		add_column(&selection, gr_wrapped_column(wrapper, lfirst_int(cell)), names[lfirst_int(cell)]);
	if (design != NULL)
		add_column(&selection, write_row(m, wrapper, design), "");
	for (int i = 0; sides && i < m->nsides; i++)
		add_column(&selection, gr_wrapped_column(wrapper, m->sides[i]), names[m->sides[i]]);
	return gr_wrapper_query(&selection.wrapper, selection.names);
}

static void
wrap_queries(const Making *m, GrFrame *frame, List *features)
{
	const char *design = frame->plain ? NULL : frame->row_design;

	frame->query = wrap_rows(m, features, design, false, !m->keyed);
	if (m->keyed)
		frame->keyless = wrap_rows(m, features, design, false, true);
	if (m->nsides > 0)
		frame->clustered = wrap_rows(m, features, design, true, true);
}

/* Returns the columns of the formula's terms, each of which is one column. */
static List *
term_columns(const Making *m)
{
	List	   *columns = NIL;

	for (int t = 0; t < m->formula.nterms; t++)
		columns = lappend_int(columns, m->formula.variables[m->formula.terms[t].variable[0]].column);
	return columns;
}

/* Makes a frame without a design: each column without a role is a feature. */
static GrFrame *
frame_columns(const Making *m, bool intercept)
{
	GrFrame    *frame = palloc0(sizeof(GrFrame));
	List	   *features = NIL;

	for (int k = 0; k < m->query->columns->natts; k++)
		if (k != m->found[0] && !m->columns[k].has_role)
			features = lappend_int(features, k);
	frame->plain = true;
	frame->intercept = intercept;
	wrap_queries(m, frame, features);
	return frame;
}

/* Reads a design that write_design() has written. */
static GrDesign *
open_design(const char *text)
{
	GrDesign   *design = gr_open_design(CurrentMemoryContext, text, strlen(text));

	if (design == NULL)
		elog(ERROR, "malformed design");
	return design;
}

/* True if a design has powers above the first. */
static bool
has_powers(const char *text)
{
	return *text != '\0' && open_design(text)->npaired > 0;
}

/* Returns the number of features that have a rest; 0 if all of these would be too many features. */
static int
count_rests(const char *text)
{
	GrDesign   *design = *text == '\0' ? NULL : open_design(text);

	return design == NULL || design->nfeatures + design->npaired > GR_MAX_FEATURES ? 0 : design->npaired;
}

const GrTermMoves *
gr_frame_moves(const char *text)
{
	GrTermMoves *moves = palloc(sizeof(GrTermMoves));

	if (!gr_design_moves(open_design(text), gr_context_memory(CurrentMemoryContext), moves))
		return NULL;
	return moves->n == 0 ? NULL : moves;
}

int *
gr_frame_rests(const char *text, int *nfeatures)
{
	GrDesign   *design = open_design(text);
	int		   *rest_of = palloc(Max(design->nfeatures, 1) * sizeof(int));
	int			nlow = 0;
	int			k = 0;

	for (int t = 0; t < design->nterms; t++)
		for (int i = 0; i < design->terms[t].width; i++)
			rest_of[k++] = design->terms[t].paired ? nlow++ : -1;
	*nfeatures = design->nfeatures;
	return rest_of;
}

/*
 * Centers
 */

/* SELECT ARRAY[min, max of column k, ...] of the complete rows */
static GrPlan *
plan_ranges(const Making *m, const int *columns, int n)
{
	List	   *ends = NIL;
	GrWrapper	wrapper;
	GrPlan	   *plan;
	int			nest_level;

	gr_wrap_query(&wrapper, m->query);
	for (int i = 0; i < n; i++)
	{
		Expr	   *number = gr_wrapped_number(&wrapper, columns[i]);

		ends = lappend(ends, gr_wrapper_aggregate(&wrapper, F_MIN_FLOAT8, list_make1(number)));
		ends = lappend(ends, gr_wrapper_aggregate(&wrapper, F_MAX_FLOAT8, list_make1(copyObject(number))));
	}
	wrapper.tree->jointree->quals = (Node *) are_complete(m, &wrapper, true);
	gr_wrapper_select(&wrapper, gr_wrapper_array(ends, FLOAT8OID));
	nest_level = gr_turn_jit_off();
	plan = gr_plan_wrapper(&wrapper);
	AtEOXact_GUC(true, nest_level);
	return plan;
}

/*
 * Sets the centers of the columns that are raised to powers to the middles of their ranges. Returns false if there are
 * no such columns, or if a middle is not known or not finite.
 */
static bool
find_centers(const Making *m, double *centers)
{
	int		   *columns = palloc(m->query->columns->natts * sizeof(int));
	int			n = 0;
	ArrayType  *ends;
	bool		isnull;

	for (int k = 0; k < m->query->columns->natts; k++)
		if ((gr_formula_uses(&m->formula, k) & 1 << GR_VARIABLE_POLY) != 0)
			columns[n++] = k;
	if (n == 0)
		return false;
	for (int i = 0; m->kept != NULL && i < n; i++)
		centers[columns[i]] = m->kept->find_center(m->kept->arg, columns[i]);
	if (m->kept != NULL)
		return true;
	/* Powers of more columns are left about 0. */
	if (n > GR_COLUMN_ARGUMENTS_MAX)
		return false;
	ends = DatumGetArrayTypeP(gr_run_for_value(plan_ranges(m, columns, n), NULL, &isnull));
	if (isnull || array_contains_nulls(ends))
		return false;
	for (int i = 0; i < n; i++)
	{
		const double *end = (const double *) ARR_DATA_PTR(ends) + 2 * i;

		centers[columns[i]] = end[0] / 2 + end[1] / 2;
		if (!isfinite(centers[columns[i]]))
			return false;
	}
	return true;
}

/*
 * Returns the design that makes the rows: a design with centered powers, if there is an intercept and the design has
 * the products that gr_design_moves() needs; else the model's design.
 */
static const char *
row_design(const Making *m, const GrFrame *frame)
{
	double	   *centers = palloc0(m->query->columns->natts * sizeof(double));
	GrMemory	memory = gr_context_memory(CurrentMemoryContext);
	GrTermMoves moves;
	const char *centered;

	if (!m->centered || !frame->intercept)
		return frame->design;
	/* Check with centers of 0 before the query is run. */
	centered = write_design(m, centers);
	if (!gr_design_moves(open_design(centered), memory, &moves) || !find_centers(m, centers))
		return frame->design;
	/* Check with the centers, whose powers may be out of range. */
	centered = write_design(m, centers);
	return gr_design_moves(open_design(centered), memory, &moves) ? centered : frame->design;
}

/* Returns what gr_check_domain() needs. */
static GrDomain *
make_domain(const Making *m)
{
	GrDomain   *domain = palloc0(sizeof(GrDomain));

	domain->query = m->query;
	domain->function = m->function;
	domain->formula = m->formula;
	domain->columns = m->columns;
	domain->needed = palloc(m->query->columns->natts * sizeof(bool));
	for (int k = 0; k < m->query->columns->natts; k++)
		domain->needed[k] = makes_role(m, k) || gr_formula_uses(&m->formula, k) != 0;
	return domain;
}

/* Makes a frame with a design; the caller wraps the queries. */
static GrFrame *
frame_formula(Making *m, const GrRoles *roles)
{
	GrFrame    *frame = palloc0(sizeof(GrFrame));

	read_formula(m, roles);
	find_levels(m);
	check_nfeatures(m);
	frame->nroles = m->nroles;
	memcpy(frame->found, m->found, sizeof(frame->found));
	frame->intercept = m->formula.intercept;
	frame->design = m->formula.nterms == 0 && !gr_formula_has_expressions(&m->formula) ? "" : write_design(m, NULL);
	if (m->formula.offset.nsteps > 0)
		frame->offset = gr_expression_name(&m->formula.offset);
	m->pairs = roles->pairs && (frame->nlow = count_rests(frame->design)) > 0;
	m->centered = (roles->pairs ? m->pairs : roles->centered) && has_powers(frame->design);
	frame->row_design = row_design(m, frame);
	frame->plain = has_plain_features(m);
	if (gr_formula_has_expressions(&m->formula))
		frame->domain = make_domain(m);
	return frame;
}

/*
 * Finds the columns with roles, the absorbed and the cluster columns. Returns false if each other column is a feature
 * as it is.
 */
static bool
begin_making(Making *m, const GrRoles *roles)
{
	m->nroles = gr_find_roles(m->query->columns->natts, m->query->names, roles, m->found);
	m->keyed = roles->cluster_keys && roles->made_key != NULL;
	m->nsides = gr_find_sides(m->query->columns->natts, m->query->names, roles, m->sides);
	describe_columns(m);
	return m->text != NULL || has_category(m);
}

GrFrame *
gr_make_frame(const GrQuery *query, Oid function, const GrRoles *roles, const GrFrameCells *cells)
{
	Making		m = {.query = query,.cells = cells,.roles = roles,.function = function,.text = roles->formula};
	GrFrame    *frame;

	if (!begin_making(&m, roles))
		return m.nsides == 0 ? NULL : frame_columns(&m, roles->intercept);
	frame = frame_formula(&m, roles);
	wrap_queries(&m, frame, frame->plain ? term_columns(&m) : NIL);
	return frame;
}

GrFrame *
gr_make_frame_of(const GrQuery *described, const GrFrameColumns *columns, const GrRoles *roles)
{
	Making		m = {.query = described,.kept = columns,.text = roles->formula};

	return begin_making(&m, roles) ? frame_formula(&m, roles) : NULL;
}

void
gr_frame_names(const GrDesign *design, int nlow, const char **names)
{
	int			k = 0;
	int			low = design->nfeatures;

	for (int t = 0; t < design->nterms; t++)
		for (int i = 0; i < design->terms[t].width; i++, k++)
		{
			names[k] = gr_design_feature_name(design, k);
			if (nlow > 0 && design->terms[t].paired)
				names[low++] = names[k];
		}
}

GrColumns *
gr_frame_columns(const GrFrame *frame, const GrRoles *roles)
{
	GrColumns  *columns = gr_query_columns(frame->query->columns, frame->query->names, roles);
	const GrDesign *design;
	const char **names;
	int			n;

	if (frame->plain)
		return columns;
	design = open_design(frame->row_design);
	n = design->nfeatures;
	names = palloc((n + frame->nlow) * sizeof(char *));
	gr_frame_names(design, frame->nlow, names);
	columns->column[columns->n - 1].elements = names;
	gr_set_widths(columns, &(int32) {n + frame->nlow});
	return columns;
}
