/*
 * heap_rows.c: where in a heap's tuples attributes are.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

#include "rows/heap_rows.h"

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

void
gr_heap_want(GrHeapColumns *columns, TupleDesc table, int n, const AttrNumber *wanted)
{
	int			k = 0;
	int32		at = 0;

	columns->n = n;
	columns->wanted = wanted;
	columns->last = n == 0 ? 0 : wanted[n - 1];
	columns->fixed = palloc(Max(n, 1) * sizeof(int32));
	columns->attribute = palloc(Max(columns->last, 1) * sizeof(*columns->attribute));
	for (int a = 0; a < columns->last; a++)
	{
		Form_pg_attribute attribute = TupleDescAttr(table, a);
		int			alignment = alignment_of(attribute->attalign);

		columns->attribute[a].nbytes = attribute->attlen;
		columns->attribute[a].alignment = alignment;
		/* a varlena that isn't the first attribute may be short, and not aligned */
		if (at >= 0)
			at = attribute->attlen > 0 ? TYPEALIGN(alignment, at) : -1;
		if (wanted[k] == a + 1)
			columns->fixed[k++] = at;
		if (at >= 0)
			at += attribute->attlen;
	}
	columns->all_fixed = n == 0 || columns->fixed[n - 1] >= 0;
}

bool
gr_heap_locate(const GrHeapColumns *columns, HeapTupleHeader tuple, int32 *at)
{
	const char *data = (const char *) tuple + tuple->t_hoff;
	bool		has_nulls = (tuple->t_infomask & HEAP_HASNULL) != 0;
	bool		complete = true;
	uint32		offset = 0;
	int			k = 0;

	for (int a = 0; a < columns->last; a++)
	{
		int			nbytes = columns->attribute[a].nbytes;

		if (has_nulls && att_isnull(a, tuple->t_bits))
		{
			if (columns->wanted[k] == a + 1)
			{
				at[k++] = -1;
				complete = false;
			}
			continue;
		}
		/* a byte that isn't padding begins a short varlena, which isn't aligned */
		if (nbytes != -1 || data[offset] == 0)
			offset = TYPEALIGN(columns->attribute[a].alignment, offset);
		if (columns->wanted[k] == a + 1)
			at[k++] = offset;
		offset += nbytes > 0 ? nbytes : nbytes == -1 ? VARSIZE_ANY(data + offset) : strlen(data + offset) + 1;
	}
	return complete;
}
