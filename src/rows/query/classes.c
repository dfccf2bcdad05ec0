/*
 * classes.c: finds the classes of a response; see classes.h. An aggregate over the query lists the response's values,
 * gpu_levels_pass(). A text or an enum then becomes a number by gpu_class_code(), a function of this extension.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "parser/scansup.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

#include "compute/classes/multinom_sums.h"
#include "rows/columns/levels.h"
#include "rows/query/classes.h"
#include "rows/query/wrapper.h"
#include "run/args.h"

/* Classes that a hint lists */
#define SHOWN_CLASSES 8

/* Returns the name before the formula's ~, without quotes; NULL if it is no plain or quoted name. */
static char *
response_of(const char *formula)
{
	char	   *name = palloc(strlen(formula) + 1);
	int			n = 0;
	bool		quoted;

	while (scanner_isspace(*formula))
		formula++;
	quoted = *formula == '"';
	if (quoted)
		formula++;
	for (; *formula != '\0'; formula++)
	{
		if (quoted && *formula == '"')
		{
			if (formula[1] != '"')
				break;
			formula++;
		}
		else if (!quoted && (*formula == '~' || scanner_isspace(*formula)))
			break;
		name[n++] = *formula;
	}
	name[n] = '\0';
	if (quoted && *formula == '"')
		formula++;
	while (scanner_isspace(*formula))
		formula++;
	return *formula == '~' ? name : NULL;
}

int
gr_class_column(int n, const char *const *names, const GrRoles *roles)
{
	int			found[GR_ROLES_MAX];
	char	   *name;

	if (roles->formula == NULL || strchr(roles->formula, '~') == NULL)
	{
		(void) gr_find_roles(n, names, roles, found);
		return found[0];
	}
	name = response_of(roles->formula);
	for (int k = 0; name != NULL && k < n; k++)
		if (strcmp(names[k], name) == 0)
			return k;
	return -1;
}

void
gr_check_class_type(Oid type, const char *column)
{
	if (gr_is_category_type(type) || type == BOOLOID || type == INT2OID || type == INT4OID || type == INT8OID)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg("response \"%s\" cannot have type %s in a model of classes", column, format_type_be(type)),
			 errdetail("Classes must be texts, enums, integers or booleans."),
			 errhint("Cast the response to text or integer in the query.")));
}

/* Returns the names of the first classes, for a hint. */
static char *
list_classes(const GrLevels *levels)
{
	StringInfoData list;

	initStringInfo(&list);
	for (int k = 0; k < levels->n && k < SHOWN_CLASSES; k++)
		appendStringInfo(&list, "%s'%s'", k == 0 ? "" : ", ", gr_show_level(levels->level[k]));
	if (levels->n > SHOWN_CLASSES)
		appendStringInfoString(&list, ", ...");
	return list.data;
}

void
gr_set_classes(const GrRoles *roles, const char *column, const GrLevels *levels, const double *numbers)
{
	GrClasses  *classes = roles->classes;
	int			base = 0;

	if (levels->n > GR_MULTINOM_CLASSES_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("response \"%s\" has too many classes: %d", column, levels->n),
				 errdetail("A model can have at most %d classes.", GR_MULTINOM_CLASSES_MAX),
				 errhint("Merge classes in the query.")));
	while (classes->base != NULL && base < levels->n &&
		   (strlen(classes->base) != (Size) levels->level[base].nbytes ||
			memcmp(classes->base, levels->level[base].bytes, levels->level[base].nbytes) != 0))
		base++;
	if (base == levels->n)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("no row has the base class \"%s\"", classes->base),
				 errhint("The classes of \"%s\" are %s.", column, list_classes(levels))));
	classes->column = column;
	classes->n = levels->n;
	classes->labels = palloc(levels->n * sizeof(char *));
	classes->values = palloc(levels->n * sizeof(double));
	for (int k = 0; k < levels->n; k++)
	{
		int			from = k == 0 ? base : k <= base ? k - 1 : k;

		classes->labels[k] = pnstrdup(levels->level[from].bytes, levels->level[from].nbytes);
		classes->values[k] = numbers == NULL ? k : numbers[from];
	}
}

/* Returns an array of n texts as a constant. */
static Expr *
text_array(Datum *items, int n)
{
	ArrayType  *array = construct_array(items, n, TEXTOID, -1, false, TYPALIGN_INT);

	return gr_wrapper_constant(PointerGetDatum(array), TEXTARRAYOID);
}

/* Returns the values of the query's column as levels; see gpu_levels_pass(). */
static GrLevels
read_levels(const GrQuery *query, Oid function, int at)
{
	Oid			types[2] = {TEXTARRAYOID, ANYOID};
	Datum		name = CStringGetTextDatum(query->names[at]);
	GrLevels	levels = {0};
	GrWrapper	wrapper;
	List	   *args;
	Oid			pass;
	GrPlan	   *plan;
	Datum		value;
	Datum	   *items;
	int			n;
	bool		isnull;
	int			nest_level;

	gr_wrap_query(&wrapper, query);
	pass = gr_own_function(function, "gpu_levels_pass", 2, types, TEXTARRAYOID);
	args = list_make2(text_array(&name, 1), gr_wrapped_column(&wrapper, at));
	gr_wrapper_select(&wrapper, gr_wrapper_aggregate(&wrapper, pass, args));
	nest_level = gr_turn_jit_off();
	plan = gr_plan_wrapper(&wrapper);
	AtEOXact_GUC(true, nest_level);
	value = gr_run_for_value(plan, NULL, &isnull);
	if (!isnull)
		deconstruct_array(DatumGetArrayTypeP(value), TEXTOID, -1, false, TYPALIGN_INT, &items, NULL, &n);
	if (isnull || n < 2)
		ereport(ERROR,
				(errcode(ERRCODE_NO_DATA_FOUND),
				 errmsg("query returned no complete row"),
				 errdetail("Its response \"%s\" is NULL in all rows.", query->names[at]),
				 errhint("Look for columns that are always NULL: rows with a NULL in any column are skipped.")));
	gr_sort_levels(&levels, items + 1, n - 1, TupleDescAttr(query->columns, at));
	return levels;
}

/* gpu_class_code(labels, column) in the place of the response */
static GrQuery *
write_codes(const GrQuery *query, Oid function, int at, const GrClasses *classes)
{
	Oid			types[2] = {TEXTARRAYOID, ANYOID};
	int			n = query->columns->natts;
	const char **names = palloc(n * sizeof(char *));
	Datum	   *labels = palloc(classes->n * sizeof(Datum));
	GrWrapper	wrapper;

	for (int k = 0; k < classes->n; k++)
		labels[k] = CStringGetTextDatum(classes->labels[k]);
	gr_wrap_query(&wrapper, query);
	for (int k = 0; k < n; k++)
	{
		Expr	   *column = gr_wrapped_column(&wrapper, k);

		if (k == at)
			column = gr_wrapper_call(gr_own_function(function, "gpu_class_code", 2, types, FLOAT8OID),
									 list_make2(text_array(labels, classes->n), column));
		names[k] = query->names[k];
		gr_wrapper_select(&wrapper, column);
	}
	return gr_wrapper_query(&wrapper, names);
}

GrQuery *
gr_find_classes(GrQuery *query, Oid function, const GrRoles *roles)
{
	int			at = gr_class_column(query->columns->natts, query->names, roles);
	Oid			type;
	GrLevels	levels;
	double	   *numbers;

	if (at < 0)
		return query;
	type = getBaseType(TupleDescAttr(query->columns, at)->atttypid);
	gr_check_class_type(type, query->names[at]);
	levels = read_levels(query, function, at);
	if (gr_is_category_type(type))
	{
		gr_set_classes(roles, query->names[at], &levels, NULL);
		return write_codes(query, function, at, roles->classes);
	}
	numbers = palloc(levels.n * sizeof(double));
	for (int k = 0; k < levels.n; k++)
		numbers[k] = type == BOOLOID ? (levels.level[k].nbytes == 4 ? 1 : 0) :
			strtod(pnstrdup(levels.level[k].bytes, levels.level[k].nbytes), NULL);
	gr_set_classes(roles, query->names[at], &levels, numbers);
	return query;
}
