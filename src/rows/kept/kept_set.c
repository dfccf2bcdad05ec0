/*
 * kept_set.c: rows that a device service keeps: reads and writes their description, which is in shared memory; reads
 * filters by the description's names and levels; and reads rows back into the session.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "libpq/pqformat.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "parser/parse_expr.h"
#include "parser/parser.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "compute/design/derive_row.h"
#include "compute/design/row_filter.h"
#include "rows/columns/levels.h"
#include "rows/kept/kept_set.h"
#include "run/args.h"
#include "run/compat.h"
#include "run/job.h"
#include "run/raise.h"

/* Size of the rows that are read back at a time */
#define PIECE_NBYTES ((Size) 1 << 20)

struct GrKeptReader
{
	const char *kept;
	GrKeptSet	set;
	GrRemoteClient *client;
	GrFilterStep *steps;
	int			nsteps;
	int64		npiece;			/* rows of each piece except the last */
	int64		first;			/* number of the first row that wasn't read yet */
	double	   *piece;
	int64		n;				/* rows in piece */
	int64		at;				/* rows of piece that were returned */
};

/*
 * The description
 */

static void
send_string(StringInfo to, GrString string)
{
	pq_sendint32(to, string.nbytes);
	pq_sendbytes(to, string.bytes, string.nbytes);
}

static GrString
receive_string(StringInfo from)
{
	int			nbytes = pq_getmsgint(from, 4);

	return (GrString) {pq_getmsgbytes(from, nbytes), nbytes};
}

Size
gr_describe_kept(StringInfo description, int ncolumns, const GrKeptColumn *columns)
{
	Size		names_nbytes;

	pq_sendint32(description, ncolumns);
	for (int k = 0; k < ncolumns; k++)
		send_string(description, (GrString) {columns[k].name, (int) strlen(columns[k].name)});
	names_nbytes = description->len;
	for (const GrKeptColumn *column = columns; column < columns + ncolumns; column++)
	{
		CHECK_FOR_INTERRUPTS();
		pq_sendbyte(description, column->kind);
		pq_sendint32(description, column->type);
		pq_sendbyte(description, column->digits);
		pq_sendbyte(description, column->collated);
		pq_sendbyte(description, column->nulls);
		pq_sendbyte(description, column->keys);
		pq_sendfloat8(description, column->center);
		pq_sendint32(description, column->levels.n);
		for (int k = 0; k < column->levels.n; k++)
		{
			send_string(description, column->levels.level[k]);
			pq_sendfloat8(description, column->codes[k]);
		}
	}
	return names_nbytes;
}

static void
read_column(StringInfo description, GrKeptColumn *column)
{
	int			nlevels;

	column->kind = (GrKeptKind) pq_getmsgbyte(description);
	column->type = (Oid) pq_getmsgint(description, 4);
	column->digits = pq_getmsgbyte(description);
	column->collated = pq_getmsgbyte(description) != 0;
	column->nulls = pq_getmsgbyte(description) != 0;
	column->keys = pq_getmsgbyte(description) != 0;
	column->center = pq_getmsgfloat8(description);
	nlevels = pq_getmsgint(description, 4);
	column->codes = palloc(Max(nlevels, 1) * sizeof(double));
	for (int k = 0; k < nlevels; k++)
	{
		/* the level's bytes stay in the description, whose memory the caller keeps */
		if (!gr_level_add(&column->levels, receive_string(description), gr_context_memory(CurrentMemoryContext)))
			ereport(ERROR,
					(errcode(ERRCODE_OUT_OF_MEMORY),
					 errmsg("out of memory")));
		column->codes[k] = pq_getmsgfloat8(description);
	}
}

void
gr_read_kept_names(StringInfo description, GrKeptSet *set)
{
	set->ncolumns = pq_getmsgint(description, 4);
	set->columns = palloc0(set->ncolumns * sizeof(GrKeptColumn));
	set->names = palloc(set->ncolumns * sizeof(char *));
	for (int k = 0; k < set->ncolumns; k++)
	{
		GrString	name = receive_string(description);

		set->names[k] = set->columns[k].name = pnstrdup(name.bytes, name.nbytes);
	}
}

void
gr_read_description(StringInfo description, GrKeptSet *set)
{
	gr_read_kept_names(description, set);
	for (int k = 0; k < set->ncolumns; k++)
	{
		/* one check per column suffices: a column has GR_MAX_FEATURES levels at most */
		CHECK_FOR_INTERRUPTS();
		read_column(description, &set->columns[k]);
	}
	pq_getmsgend(description);
}

/*
 * Filters
 */

typedef struct Labels
{
	const GrKeptSet *set;
	Oid			type;			/* type of an enum without the label; InvalidOid: no such enum was met */
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

/* Finds the number of a filter's string. Like SQL, converts the string to the column's type first. */
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

/* ERROR if a setting would make SQL read the filter's text in another way than filters are read. */
static void
check_settings(const char *text, const GrFilterStep *steps, int nsteps)
{
	const char *setting = NULL;

	if (gr_backslash_escapes() && strchr(text, '\\') != NULL)
		setting = "standard_conforming_strings is off";
	for (int k = 0; k < nsteps && Transform_null_equals; k++)
		if (steps[k].op == GR_FILTER_NULL)
			setting = "transform_null_equals is on";
	if (setting != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("this filter cannot be used while %s", setting)));
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
			 errhint("Select the comparison as a column in the query of gpu_keep(), or keep the column as double "
					 "precision.") :
			 errhint("Compare kept columns with constants, as in x1 > 3 AND g IN ('a', 'b')."),
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

/*
 * Rows
 */

void
gr_raise_lent(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_IN_USE),
			 errmsg("kept rows cannot be used inside a query whose rows another fit is reading"),
			 errhint("Run the inner fit as a statement of its own.")));
}

GrRemoteClient *
gr_kept_open(const char *kept, GrKeptSet *set)
{
	StringInfoData description;
	const char *reason = NULL;
	GrRemoteClient *client;

	gr_check_not_lent();
	initStringInfo(&description);
	/* if the set is replaced before it is held, look again: the set that replaces it is in the list by then */
	do
	{
		CHECK_FOR_INTERRUPTS();
		resetStringInfo(&description);
		gr_kept_find(kept, &set->entry, &description);
		client = gr_service_connect_to(set->entry.service, set->entry.generation, &reason);
		if (client == NULL)
			gr_raise_no_service(reason);
	} while (!gr_service_hold(client, set->entry.id));
	gr_read_description(&description, set);
	return client;
}

void
gr_raise_kept_gone(const char *kept)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_OBJECT),
			 errmsg("kept rows \"%s\" no longer exist", kept),
			 errhint("Keep them again with gpu_keep().")));
}

GrKeptReader *
gr_kept_reader_of(const char *kept, const GrKeptSet *set, GrRemoteClient *client)
{
	GrKeptReader *reader = palloc0(sizeof(GrKeptReader));
	Size		row_nbytes = set->ncolumns * sizeof(double);

	reader->kept = kept;
	reader->set = *set;
	reader->client = client;
	reader->npiece = Max(PIECE_NBYTES / row_nbytes, 1);
	reader->piece = palloc(reader->npiece * row_nbytes);
	return reader;
}

GrKeptReader *
gr_kept_reader(const char *kept, const char *filter)
{
	GrKeptSet	set;
	GrRemoteClient *client = gr_kept_open(kept, &set);
	GrKeptReader *reader = gr_kept_reader_of(kept, &set, client);

	if (filter == NULL)
		return reader;
	reader->steps = palloc(GR_FILTER_STEPS_MAX * sizeof(GrFilterStep));
	reader->nsteps = gr_kept_filter(&reader->set, filter, reader->steps);
	return reader;
}

const GrKeptSet *
gr_kept_reader_set(const GrKeptReader *reader)
{
	return &reader->set;
}

/* Reads the next piece; false if there are no more rows. Copies it: other requests reuse the service's answer area. */
static bool
read_piece(GrKeptReader *reader)
{
	int64		n = Min(reader->npiece, reader->set.entry.nrows - reader->first);
	const double *rows = NULL;
	GrError		err = {0};

	CHECK_FOR_INTERRUPTS();
	if (n <= 0)
		return false;
	if (!gr_remote_read(reader->client, reader->set.entry.id, reader->set.ncolumns, reader->first, n, &rows, &gr_host,
						&err))
	{
		if (err.status == GR_INVALID)
			gr_raise_kept_gone(reader->kept);
		gr_raise(&err);
	}
	memcpy(reader->piece, rows, n * reader->set.ncolumns * sizeof(double));
	reader->first += n;
	reader->n = n;
	reader->at = 0;
	return true;
}

const double *
gr_kept_next(GrKeptReader *reader)
{
	for (;;)
	{
		const double *row = reader->piece + reader->at * reader->set.ncolumns;

		if (reader->at == reader->n)
		{
			if (!read_piece(reader))
				return NULL;
			continue;
		}
		reader->at++;
		if (gr_filter_passes(reader->steps, reader->nsteps, row))
			return row;
	}
}

void
gr_kept_rewind(GrKeptReader *reader)
{
	reader->first = reader->n = reader->at = 0;
}

void
gr_kept_add_level(GrLevels *levels, GrString level)
{
	if (!gr_level_add(levels, level, gr_context_memory(CurrentMemoryContext)))
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory")));
}

void
gr_kept_check_factor(const GrKeptColumn *column)
{
	if (column->kind == GR_KEPT_NUMBER)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("kept numbers cannot be used as a factor"),
				 errdetail("Column \"%s\" was kept as numbers.", column->name),
				 errhint("Keep the column as text: select %s::text in the query of gpu_keep().",
						 quote_identifier(column->name))));
}

void
gr_kept_levels(const GrKeptColumn *column, GrLevels *levels, double *codes)
{
	if (column->kind == GR_KEPT_FACTOR)
	{
		*levels = column->levels;
		memcpy(codes, column->codes, column->levels.n * sizeof(double));
		return;
	}
	gr_kept_add_level(levels, (GrString) {"false", 5});
	gr_kept_add_level(levels, (GrString) {"true", 4});
	codes[0] = 0;
	codes[1] = 1;
}
