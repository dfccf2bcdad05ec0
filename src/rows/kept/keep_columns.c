/*
 * keep_columns.c: the columns of rows that are being kept; see keep_columns.h.
 */
#include "postgres.h"

#include <math.h>

#include "libpq/pqformat.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "compute/design/filter_constant.h"
#include "rows/columns/levels.h"
#include "rows/kept/keep_columns.h"
#include "rows/state/boot_key.h"

#define LEVEL_NBYTES 12			/* bytes of a level in a description besides its text: a length and a number */

static void
describe_column(GrKeepColumn *column, const char *name, Oid type)
{
	column->type = getBaseType(type);
	column->keys = true;
	column->digits = GR_FILTER_ALL_DIGITS;
	column->low = INFINITY;
	column->high = -INFINITY;
	if (gr_is_category_type(column->type))
		column->kind = GR_KEPT_FACTOR;
	else if (gr_is_number_type(column->type) && gr_describe_value(&column->column, type))
		column->kind = column->type == BOOLOID ? GR_KEPT_BOOLEAN : GR_KEPT_NUMBER;
	else
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("column \"%s\" of the query has type %s", name, format_type_be(type)),
				 errdetail("Kept rows are of numbers, booleans, texts or enums."),
				 OidIsValid(get_element_type(column->type)) ?
				 errhint("Select its elements one by one, as %s[1] AS x1.", quote_identifier(name)) :
				 errhint("Cast it: to a number, or to text if it is a category.")));
	column->column.name = name;
}

GrKeepColumns *
gr_keep_columns(MemoryContext context, int n, const Oid *types, const char *const *names)
{
	GrKeepColumns *columns = MemoryContextAllocZero(context,
													offsetof(GrKeepColumns, column) + n * sizeof(GrKeepColumn));

	columns->context = context;
	columns->names = names;
	columns->n = n;
	for (int k = 0; k < n; k++)
		describe_column(&columns->column[k], names[k], types[k]);
	return columns;
}

/*
 * Levels
 */

static void
check_level(const GrKeepColumns *columns, int k, GrString level)
{
	if (level.nbytes > GR_LEVEL_NBYTES_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("column \"%s\" of the query has a level of more than %d bytes", columns->names[k],
						GR_LEVEL_NBYTES_MAX),
				 errdetail("It begins with \"%s\".", gr_show_level(level)),
				 errhint("Texts are factors, whose levels are terms. Turn it into numbers or shorter levels in the "
						 "query.")));
	if (columns->levels_nbytes > (Size) GR_KEEP_LEVELS_MB << 20)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("column \"%s\" of the query has levels that take too much memory", columns->names[k]),
				 errdetail("The levels of all columns of kept rows may take %d MB.", GR_KEEP_LEVELS_MB),
				 errhint("Leave columns of long texts out, or turn them into numbers or shorter levels in the "
						 "query.")));
	if (columns->column[k].levels.n > GR_MAX_FEATURES)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("column \"%s\" of the query has too many levels", columns->names[k]),
				 errdetail("Each level but the first of a factor is a term, of which a model can have at most %d.",
						   GR_MAX_FEATURES),
				 errhint("Leave the column out, or group its levels in the query.")));
}

/* Room for twice as many numbers as there are, whenever these are a power of two */
static void
make_room(const GrKeepColumns *columns, GrKeepColumn *column)
{
	int			n = column->levels.n;

	if (column->codes == NULL)
		column->codes = MemoryContextAlloc(columns->context, sizeof(double));
	else if ((n & (n - 1)) == 0)
		column->codes = repalloc(column->codes, 2 * (Size) n * sizeof(double));
}

/* Adds a level that isn't there; the number that stands for it. */
static double
add_level(GrKeepColumns *columns, int k, GrString level)
{
	GrKeepColumn *column = &columns->column[k];
	char	   *copy;

	columns->levels_nbytes += LEVEL_NBYTES + level.nbytes;
	check_level(columns, k, level);
	make_room(columns, column);
	column->codes[column->levels.n] = (double) gr_boot_text_key(level.bytes, level.nbytes);
	copy = MemoryContextAlloc(columns->context, level.nbytes + 1);
	memcpy(copy, level.bytes, level.nbytes);
	level.bytes = copy;
	if (!gr_level_add(&column->levels, level, gr_context_memory(columns->context)))
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory")));
	return column->codes[column->levels.n - 1];
}

double
gr_keep_level(GrKeepColumns *columns, int k, Datum value)
{
	GrKeepColumn *column = &columns->column[k];
	GrString	level = gr_level_of(column->type, value);
	int			found = gr_level_find(&column->levels, level.bytes, level.nbytes);

	return likely(found >= 0) ? column->codes[found] : add_level(columns, k, level);
}

/*
 * Numerics
 */

/* Digits of a numeric's text without zeros at either end */
static int
significant_digits(const char *text)
{
	int			n = 0;
	int			nzeros = 0;

	for (; *text != '\0'; text++)
	{
		if (*text < '0' || *text > '9' || (*text == '0' && n == 0))
			continue;
		nzeros = *text == '0' ? nzeros + 1 : 0;
		n++;
	}
	return n - nzeros;
}

double
gr_keep_numeric(GrKeepColumn *column, Datum value)
{
	char	   *text = DatumGetCString(DirectFunctionCall1(numeric_out, value));
	double		number = DatumGetFloat8(DirectFunctionCall1(float8in, CStringGetDatum(text)));

	if (isfinite(number))
		column->digits = gr_filter_digits(column->digits, significant_digits(text), number);
	pfree(text);
	return number;
}

/*
 * From one process to another, of one server
 */

void
gr_keep_send(const GrKeepColumns *columns, StringInfo to)
{
	pq_sendint32(to, columns->n);
	for (int k = 0; k < columns->n; k++)
	{
		const GrKeepColumn *column = &columns->column[k];

		pq_sendbyte(to, column->kind);
		pq_sendbyte(to, column->nulls);
		pq_sendbyte(to, column->keys);
		pq_sendbyte(to, column->digits);
		pq_sendfloat8(to, column->low);
		pq_sendfloat8(to, column->high);
		pq_sendint32(to, column->levels.n);
		CHECK_FOR_INTERRUPTS();
		for (int i = 0; i < column->levels.n; i++)
		{
			pq_sendint32(to, column->levels.level[i].nbytes);
			pq_sendbytes(to, column->levels.level[i].bytes, column->levels.level[i].nbytes);
		}
	}
}

static void
merge_column(GrKeepColumns *columns, int k, StringInfo from)
{
	GrKeepColumn *column = &columns->column[k];
	double		low;
	double		high;
	int			digits;
	int			nlevels;

	if (pq_getmsgbyte(from) != (int) column->kind)
		elog(ERROR, "column %d of kept rows is of another kind", k);
	column->nulls |= pq_getmsgbyte(from) != 0;
	column->keys &= pq_getmsgbyte(from) != 0;
	digits = pq_getmsgbyte(from);
	column->digits = Min(column->digits, digits);
	low = pq_getmsgfloat8(from);
	high = pq_getmsgfloat8(from);
	column->low = Min(column->low, low);
	column->high = Max(column->high, high);
	nlevels = pq_getmsgint(from, 4);
	for (int i = 0; i < nlevels; i++)
	{
		int			nbytes = pq_getmsgint(from, 4);
		GrString	level = {pq_getmsgbytes(from, nbytes), nbytes};

		if (gr_level_find(&column->levels, level.bytes, level.nbytes) < 0)
			(void) add_level(columns, k, level);
	}
}

void
gr_keep_merge(GrKeepColumns *columns, StringInfo from)
{
	while (from->cursor < from->len)
	{
		int			n = pq_getmsgint(from, 4);

		if (n != columns->n)
			elog(ERROR, "kept rows have %d columns instead of %d", n, columns->n);
		for (int k = 0; k < n; k++)
		{
			CHECK_FOR_INTERRUPTS();
			merge_column(columns, k, from);
		}
	}
}
