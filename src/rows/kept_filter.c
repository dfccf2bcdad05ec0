/*
 * kept_filter.c: a filter of kept rows, and what it raises; see kept_filter.h.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"

#include "compute/row_filter.h"
#include "rows/kept_filter.h"

bool
gr_kept_code(const GrKeptSet *set, int k, const char *bytes, int nbytes, double *code)
{
	const GrKeptColumn *column = &set->columns[k];
	int			level = column->kind == GR_KEPT_FACTOR ? gr_level_find(&column->levels, bytes, nbytes) : -1;

	if (level >= 0)
		*code = column->codes[level];
	return level >= 0;
}

/* As a filter wants it */
static bool
find_code(void *arg, int k, const char *bytes, int nbytes, double *code)
{
	return gr_kept_code(arg, k, bytes, nbytes, code);
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
			 errhint("A filter compares kept columns with constants, as in x1 > 3 AND g IN ('a', 'b')."),
			 placed ? internalerrposition(pg_mbstrlen_with_len(text, (int) err->where) + 1) : 0,
			 placed ? internalerrquery(text) : 0));
}

int
gr_kept_filter(const GrKeptSet *set, const char *text, GrFilterStep *steps)
{
	GrFilterColumn *columns = palloc(set->ncolumns * sizeof(GrFilterColumn));
	GrFilterColumns all = {
		.n = set->ncolumns,.column = columns,.find_level = find_code,.arg = unconstify(GrKeptSet *, set)
	};
	GrFilterFault fault = GR_FILTER_OK;
	GrError		err = {0};
	int			nsteps = 0;

	for (int k = 0; k < set->ncolumns; k++)
		columns[k] = (GrFilterColumn) {
			set->names[k], set->columns[k].kind == GR_KEPT_FACTOR ? GR_FILTER_FACTOR :
			set->columns[k].kind == GR_KEPT_BOOLEAN ? GR_FILTER_BOOLEAN : GR_FILTER_NUMBER
		};
	if (!gr_row_filter_read(text, strlen(text), &all, steps, &nsteps, &fault, &err))
		raise_filter(text, fault, &err);
	return nsteps;
}
