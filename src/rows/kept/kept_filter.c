/*
 * kept_filter.c: a filter of kept rows, and what it raises; see kept_filter.h.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "parser/parse_expr.h"
#include "parser/parser.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "compute/design/row_filter.h"
#include "rows/kept/kept_filter.h"

typedef struct Labels
{
	const GrKeptSet *set;
	Oid			type;			/* an enum of which label is no value; InvalidOid: none */
	char	   *label;
} Labels;

/* Notes a string that is no value of the enum. */
static void
check_label(Labels *labels, Oid type, const char *bytes, int nbytes)
{
	char	   *label = pnstrdup(bytes, nbytes);

	if (nbytes < NAMEDATALEN && SearchSysCacheExists2(ENUMTYPOIDNAME, ObjectIdGetDatum(type), CStringGetDatum(label)))
		return;
	labels->type = type;
	labels->label = label;
}

/* As a filter wants it: SQL makes a value of the column's type of a string, and compares that. */
static bool
find_code(void *arg, int k, const char *bytes, int nbytes, double *code)
{
	Labels	   *labels = arg;
	Oid			type = labels->set->columns[k].type;

	if (type == NAMEOID)
		nbytes = pg_mbcliplen(bytes, nbytes, NAMEDATALEN - 1);
	while (type == BPCHAROID && nbytes > 0 && bytes[nbytes - 1] == ' ')
		nbytes--;
	if (gr_kept_code(labels->set, k, bytes, nbytes, code))
		return true;
	if (type_is_enum(type))
		check_label(labels, type, bytes, nbytes);
	return false;
}

static GrFilterColumnKind
kind_of(const GrKeptColumn *column)
{
	if (column->kind == GR_KEPT_BOOLEAN)
		return GR_FILTER_BOOLEAN;
	if (column->kind == GR_KEPT_FACTOR)
		return column->collated ? GR_FILTER_COLLATED : GR_FILTER_FACTOR;
	switch (column->type)
	{
		case FLOAT4OID:
			return GR_FILTER_SINGLE;
		case NUMERICOID:
			return GR_FILTER_DECIMAL;
		case INT2OID:
		case INT4OID:
		case INT8OID:
			return GR_FILTER_INTEGER;
		default:
			return GR_FILTER_NUMBER;
	}
}

/* Settings by which SQL reads a text otherwise than a filter is read */
static void
check_settings(const char *text, const GrFilterStep *steps, int nsteps)
{
	const char *setting = NULL;

	if (!standard_conforming_strings && strchr(text, '\\') != NULL)
		setting = "standard_conforming_strings is off";
	for (int k = 0; k < nsteps && Transform_null_equals; k++)
		if (steps[k].op == GR_FILTER_NULL)
			setting = "transform_null_equals is on";
	if (setting != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("this filter cannot be read while %s", setting)));
}

static int
filter_errcode(GrFilterFault fault)
{
	switch (fault)
	{
		case GR_FILTER_UNKNOWN:
			return ERRCODE_UNDEFINED_COLUMN;
		case GR_FILTER_AMBIGUOUS:
			return ERRCODE_AMBIGUOUS_COLUMN;
		case GR_FILTER_MISMATCH:
			return ERRCODE_DATATYPE_MISMATCH;
		case GR_FILTER_RANGE:
		case GR_FILTER_ROUNDED:
			return ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE;
		case GR_FILTER_LIMIT:
			return ERRCODE_PROGRAM_LIMIT_EXCEEDED;
		default:
			return ERRCODE_SYNTAX_ERROR;
	}
}

static void
raise_filter(const char *text, GrFilterFault fault, const GrError *err)
{
	bool		placed = fault != GR_FILTER_LIMIT;

	ereport(ERROR,
			(errcode(filter_errcode(fault)),
			 errmsg("%s", err->detail),
			 fault == GR_FILTER_ROUNDED ?
			 errhint("Make the comparison a column of the query that gpu_keep() keeps, or keep the column as double "
					 "precision.") :
			 errhint("A filter compares kept columns with constants, as in x1 > 3 AND g IN ('a', 'b')."),
			 placed ? internalerrposition(pg_mbstrlen_with_len(text, (int) err->where) + 1) : 0,
			 placed ? internalerrquery(text) : 0));
}

int
gr_kept_filter(const GrKeptSet *set, const char *text, GrFilterStep *steps)
{
	GrFilterColumn *columns = palloc(set->ncolumns * sizeof(GrFilterColumn));
	Labels		labels = {.set = set};
	GrFilterColumns all = {.n = set->ncolumns,.column = columns,.find_level = find_code,.arg = &labels};
	GrFilterFault fault = GR_FILTER_OK;
	GrError		err = {0};
	int			nsteps = 0;

	for (int k = 0; k < set->ncolumns; k++)
		columns[k] = (GrFilterColumn) {set->names[k], kind_of(&set->columns[k]), set->columns[k].digits};
	if (!gr_row_filter_read(text, strlen(text), &all, steps, &nsteps, &fault, &err))
		raise_filter(text, fault, &err);
	if (OidIsValid(labels.type))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
				 errmsg("invalid input value for enum %s: \"%s\"", format_type_be(labels.type), labels.label)));
	check_settings(text, steps, nsteps);
	return nsteps;
}
