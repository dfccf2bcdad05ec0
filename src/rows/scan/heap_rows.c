/*
 * heap_rows.c: finds attributes inside the tuples of a heap.
 */
#include "postgres.h"

#include "catalog/pg_type.h"

#include "rows/scan/heap_rows.h"
#include "run/compat.h"

static uint8
alignment_of(char attalign)
{
	switch (attalign)
	{
		case TYPALIGN_CHAR:
			return 1;
		case TYPALIGN_SHORT:
			return ALIGNOF_SHORT;
		case TYPALIGN_INT:
			return ALIGNOF_INT;
		default:
			return ALIGNOF_DOUBLE;
	}
}

static void
find_fixed(GrHeapColumns *columns)
{
	int			k = 0;
	int32		at = 0;

	for (int c = 0; c < columns->last; c++)
	{
		const GrHeapColumn *column = &columns->column[c];

		if (at >= 0 && column->nbytes > 0)
			at = TYPEALIGN(column->alignment, at);
		if (columns->wanted[k] == c + 1)
			columns->fixed[k++] = at;
		if (at >= 0)
			at = column->nbytes > 0 ? at + column->nbytes : -1;
	}
	columns->all_fixed = columns->n == 0 || columns->fixed[columns->n - 1] >= 0;
}

/* A segment ends before a column of variable length, and before one with a larger alignment than its first column. */
static void
find_segments(GrHeapColumns *columns)
{
	int			k = 0;
	int			c = 0;

	while (c < columns->last)
	{
		GrHeapSegment *segment = &columns->segments[columns->nsegments++];

		*segment = (GrHeapSegment) {.alignment = columns->column[c].nbytes > 0 ? columns->column[c].alignment : 1};
		for (; c < columns->last && columns->column[c].nbytes > 0; c++)
		{
			const GrHeapColumn *column = &columns->column[c];

			if (column->alignment > segment->alignment)
				break;
			segment->nbytes = TYPEALIGN(column->alignment, segment->nbytes);
			if (columns->wanted[k] == c + 1)
			{
				columns->within[k++] = segment->nbytes;
				segment->nwanted++;
			}
			segment->nbytes += column->nbytes;
		}
		if (c < columns->last && columns->column[c].nbytes < 0)
		{
			segment->variable = &columns->column[c];
			segment->wants_variable = columns->wanted[k] == c + 1;
			if (segment->wants_variable)
				columns->within[k++] = 0;
			c++;
		}
	}
}

void
gr_heap_want(GrHeapColumns *columns, TupleDesc table, int n, const AttrNumber *wanted)
{
	memset(columns, 0, sizeof(*columns));
	columns->n = n;
	columns->wanted = wanted;
	columns->last = n == 0 ? 0 : wanted[n - 1];
	columns->fixed = palloc(Max(n, 1) * sizeof(int32));
	columns->within = palloc(Max(n, 1) * sizeof(int32));
	columns->column = palloc(Max(columns->last, 1) * sizeof(GrHeapColumn));
	columns->segments = palloc(Max(columns->last, 1) * sizeof(GrHeapSegment));
	for (int c = 0; c < columns->last; c++)
	{
		Form_pg_attribute attribute = TupleDescAttr(table, c);

		columns->column[c].nbytes = attribute->attlen;
		columns->column[c].alignment = alignment_of(attribute->attalign);
	}
	find_fixed(columns);
	find_segments(columns);
}

/* Returns the beginning of a column of variable length, which is at offset, or after padding. */
static inline uint32
begin_variable(const GrHeapColumn *column, const char *data, uint32 offset)
{
	/* A byte other than 0 is no padding: it begins a short varlena, which isn't aligned. */
	return column->nbytes != -1 || data[offset] == 0 ? TYPEALIGN(column->alignment, offset) : offset;
}

/* Returns the end of a column of variable length that begins at offset. */
static inline uint32
end_variable(const GrHeapColumn *column, const char *data, uint32 offset)
{
	return offset + (column->nbytes == -1 ? VARSIZE_ANY(data + offset) : strlen(data + offset) + 1);
}

/* Finds the wanted attributes in the data of a tuple without NULLs, segment by segment; see gr_heap_locate(). */
static void
locate_segments(const GrHeapColumns *columns, const char *data, int32 *at)
{
	const int32 *within = columns->within;
	uint32		offset = 0;

	for (int s = 0; s < columns->nsegments; s++)
	{
		const GrHeapSegment *segment = &columns->segments[s];

		offset = TYPEALIGN(segment->alignment, offset);
		for (int k = 0; k < segment->nwanted; k++)
			*at++ = offset + *within++;
		offset += segment->nbytes;
		if (segment->variable == NULL)
			continue;
		offset = begin_variable(segment->variable, data, offset);
		if (unlikely(segment->wants_variable))
		{
			*at++ = offset;
			within++;
		}
		offset = end_variable(segment->variable, data, offset);
	}
}

void
gr_heap_locate(const GrHeapColumns *columns, HeapTupleHeader tuple, int32 *at)
{
	const char *data = (const char *) tuple + tuple->t_hoff;
	uint32		offset = 0;
	int			k = 0;

	if ((tuple->t_infomask & HEAP_HASNULL) == 0)
	{
		locate_segments(columns, data, at);
		return;
	}
	for (int c = 0; c < columns->last; c++)
	{
		const GrHeapColumn *column = &columns->column[c];

		if (att_isnull(c, tuple->t_bits))
		{
			if (columns->wanted[k] == c + 1)
				at[k++] = -1;
			continue;
		}
		if (column->nbytes < 0)
		{
			offset = begin_variable(column, data, offset);
			if (columns->wanted[k] == c + 1)
				at[k++] = offset;
			offset = end_variable(column, data, offset);
			continue;
		}
		offset = TYPEALIGN(column->alignment, offset);
		if (columns->wanted[k] == c + 1)
			at[k++] = offset;
		offset += column->nbytes;
	}
}
