/*
 * heap_rows.h: the tuples of a heap, a page at a time, and where in them attributes are.
 *
 * What the versions of PostgreSQL differ in is here, and what is known of its heap: a scan that reads by pages keeps
 * the numbers of a page's visible tuples, and the one that it gave last among them. Which tuples are visible, the table
 * access method has said by then.
 */
#ifndef GPUREG_HEAP_ROWS_H
#define GPUREG_HEAP_ROWS_H

#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/relscan.h"
#include "access/tableam.h"
#include "access/tupmacs.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "storage/bufpage.h"

/* Does the scan give its tuples by pages of a heap? Asked once it has begun */
static inline bool
gr_heap_by_pages(TableScanDesc scan)
{
	return scan->rs_rd->rd_tableam == GetHeapamTableAmRoutine() && (scan->rs_flags & SO_ALLOW_PAGEMODE) != 0;
}

/* The page of the tuple that the scan gave last: the tuples from that one on */
typedef struct GrHeapPage
{
	Page		page;
	Buffer		buffer;			/* which the scan has pinned until it is asked for a tuple of the next page */
	const OffsetNumber *offsets;
	int			n;
} GrHeapPage;

/* The scan counts all of them as given. */
static inline void
gr_heap_take_page(TableScanDesc scan, GrHeapPage *page)
{
	HeapScanDesc heap = (HeapScanDesc) scan;
	int			first = (int) heap->rs_cindex;

	page->buffer = heap->rs_cbuf;
	page->page = BufferGetPage(heap->rs_cbuf);
	page->offsets = heap->rs_vistuples + first;
	page->n = (int) heap->rs_ntuples - first;
	Assert(page->n > 0);
	heap->rs_cindex = heap->rs_ntuples - 1;
	for (int k = 1; k < page->n; k++)
		pgstat_count_heap_getnext(scan->rs_rd);
}

static inline HeapTupleHeader
gr_heap_tuple(const GrHeapPage *page, int k)
{
	return (HeapTupleHeader) PageGetItem(page->page, PageGetItemId(page->page, page->offsets[k]));
}

/* Tuples that are fetched before they are wanted: memory gives a line in about the time that these take */
#define GR_HEAP_AHEAD 32

static inline void
gr_heap_fetch(const GrHeapPage *page, int k)
{
	const char *tuple;

	if (k >= page->n)
		return;
	tuple = (const char *) gr_heap_tuple(page, k);
	__builtin_prefetch(tuple);
	__builtin_prefetch(tuple + 64);
}

/* Makes a tuple of one on the page, for a slot. */
static inline void
gr_heap_describe_tuple(const GrHeapPage *page, int k, Oid table, HeapTuple tuple)
{
	ItemId		item = PageGetItemId(page->page, page->offsets[k]);

	tuple->t_data = (HeapTupleHeader) PageGetItem(page->page, item);
	tuple->t_len = ItemIdGetLength(item);
	tuple->t_tableOid = table;
	ItemPointerSet(&tuple->t_self, BufferGetBlockNumber(page->buffer), page->offsets[k]);
}

/* A table's column */
typedef struct GrHeapColumn
{
	int16		nbytes;			/* -1: a varlena; -2: a string in C */
	uint8		alignment;		/* in bytes */
} GrHeapColumn;

/* Columns of fixed width that lie one behind the other, and the one of variable length that follows, in any tuple */
typedef struct GrHeapSegment
{
	uint8		alignment;		/* of the first one, and no less than any other's */
	int32		nbytes;			/* of all of them */
	int			nwanted;
	int			end;			/* the column behind them; of variable length, or else the next segment's first */
} GrHeapSegment;

/* What is wanted of tuples */
typedef struct GrHeapColumns
{
	int			n;
	const AttrNumber *wanted;	/* of attributes, ascending */
	int32	   *fixed;			/* where they are in a tuple without NULLs; -1: behind what is of variable length */
	bool		all_fixed;
	AttrNumber	last;			/* the last of those wanted */
	GrHeapColumn *column;		/* up to the last one wanted */
	int			nsegments;		/* of tuples without NULLs */
	GrHeapSegment *segments;
	int32	   *within;			/* where the wanted ones are in their segments */
} GrHeapColumns;

/* In the current memory context; wanted stays the caller's */
extern void gr_heap_want(GrHeapColumns *columns, TupleDesc table, int n, const AttrNumber *wanted);

/*
 * Where the wanted attributes are in a tuple, which has all of them: at[k] bytes from its data's beginning, -1: NULL
 */
extern void gr_heap_locate(const GrHeapColumns *columns, HeapTupleHeader tuple, int32 *at);

#endif							/* GPUREG_HEAP_ROWS_H */
