/*
 * absorb_arguments.c: reads which columns a fit absorbs; see absorb.h.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "parser/scansup.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "rows/columns/formula_error.h"
#include "sql/effects/absorb.h"

/* Raises a syntax error at nbytes of a formula; at its end if nbytes is 0. */
static void
bad_formula(const char *formula, const char *at, int nbytes)
{
	GrFormulaError err = {
		.fault = nbytes == 0 ? GR_FORMULA_ENDS : GR_FORMULA_UNEXPECTED,.at = at - formula,.nbytes = nbytes
	};

	gr_raise_formula(&err, formula, NULL, NULL);
}

/* Returns the first | of the formula outside quotes and parentheses, or NULL. */
static const char *
find_bar(const char *formula)
{
	int			depth = 0;
	char		quote = '\0';

	for (const char *at = formula; *at != '\0'; at++)
	{
		if (quote != '\0')
			quote = *at == quote ? '\0' : quote;
		else if (*at == '"' || *at == '\'')
			quote = *at;
		else if (*at == '(')
			depth++;
		else if (*at == ')')
			depth--;
		else if (*at == '|' && depth == 0)
			return at;
	}
	return NULL;
}

static bool
is_name_byte(char c, bool first)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || IS_HIGHBIT_SET(c) ||
		(!first && ((c >= '0' && c <= '9') || c == '$'));
}

static const char *
skip_space(const char *at)
{
	while (scanner_isspace(*at))
		at++;
	return at;
}

/* Reads a name at *at, which it advances past the name. */
static char *
read_name(const char *formula, const char **at)
{
	const char *from = *at;
	const char *to = from;
	StringInfoData name;

	if (*from != '"')
	{
		while (is_name_byte(*to, to == from))
			to++;
		if (to == from)
			bad_formula(formula, from, *from == '\0' ? 0 : 1);
		*at = to;
		return downcase_identifier(from, to - from, false, false);
	}
	initStringInfo(&name);
	for (to = from + 1; *to != '"' || to[1] == '"'; to++)
	{
		if (*to == '\0')
			bad_formula(formula, to, 0);
		if (*to == '"')
			to++;
		appendStringInfoChar(&name, *to);
	}
	*at = to + 1;
	return name.data;
}

static void
add_column(GrRoles *roles, const char **names, const char *name)
{
	for (int k = 0; k < roles->nabsorbed; k++)
		if (strcmp(names[k], name) == 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("column \"%s\" is absorbed twice", name),
					 errhint("Name each column once.")));
	if (roles->nabsorbed == GR_EFFECTS_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("a fit can absorb at most %d columns", GR_EFFECTS_MAX),
				 errhint("Combine columns in the query, as in (firm, year)::text AS firm_year.")));
	names[roles->nabsorbed++] = name;
}

/* Reads name { + name } from behind the | on. */
static void
read_part(const char *formula, const char *bar, GrRoles *roles, const char **names)
{
	const char *at = bar;

	do
	{
		at = skip_space(at + 1);
		add_column(roles, names, read_name(formula, &at));
		at = skip_space(at);
	} while (*at == '+');
	if (*at != '\0')
		bad_formula(formula, at, 1);
}

static void
read_array(Datum value, GrRoles *roles, const char **names)
{
	ArrayType  *array = DatumGetArrayTypeP(value);
	Datum	   *items;
	int			n;

	if (ARR_NDIM(array) > 1 || array_contains_nulls(array))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("absorb must be a one-dimensional array of names without NULL"),
				 errhint("Name the columns as in absorb => '{firm,year}'.")));
	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &items, NULL, &n);
	for (int k = 0; k < n; k++)
		add_column(roles, names, TextDatumGetCString(items[k]));
}

void
gr_absorb_arguments(FunctionCallInfo fcinfo, int absorb, GrRoles *roles)
{
	const char **names = palloc(GR_EFFECTS_MAX * sizeof(char *));
	const char *bar = roles->formula == NULL ? NULL : find_bar(roles->formula);
	bool		given = absorb < PG_NARGS() && !PG_ARGISNULL(absorb);

	roles->nabsorbed = 0;
	roles->absorbed = names;
	roles->absorb_role = given ? "absorb" : "formula";
	if (given)
		read_array(PG_GETARG_DATUM(absorb), roles, names);
	if (bar == NULL)
		return;
	if (roles->nabsorbed > 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("absorbed columns are named both by absorb and in the formula"),
				 errhint("Leave absorb out, or the formula's part from | on.")));
	read_part(roles->formula, bar, roles, names);
	roles->absorb_role = "formula";
	roles->formula = pnstrdup(roles->formula, bar - roles->formula);
}
