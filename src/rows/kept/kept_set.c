/*
 * kept_set.c: what the columns of kept rows are: the description in shared memory. It is written and read by this
 * extension alone.
 */
#include "postgres.h"

#include "libpq/pqformat.h"
#include "miscadmin.h"

#include "rows/columns/levels.h"
#include "rows/kept/kept_set.h"
#include "run/device.h"

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
		/* the description's memory is the caller's, and stays */
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
		/* a column has GR_MAX_FEATURES levels at most */
		CHECK_FOR_INTERRUPTS();
		read_column(description, &set->columns[k]);
	}
	pq_getmsgend(description);
}

void
gr_check_not_lent(void)
{
	if (gr_session_is_lent())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("kept rows cannot be used within a query whose rows are on their way to a device"),
				 errhint("Make the inner fit a statement of its own.")));
}
