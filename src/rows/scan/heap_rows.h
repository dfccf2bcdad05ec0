/*
 * heap_rows.h: reads the tuples of a heap page by page, and finds attributes inside tuples.
 *
 * All that depends on the heap's internals and on their PostgreSQL version is here: a scan in page mode keeps the
 * offset numbers of the page's visible tuples, and the index of the one that it returned last. The table access method
 * has already decided which tuples are visible.
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

/* True if scan, which has begun, reads a heap in page mode. */
static inline bool
gr_heap_by_pages(TableScanDesc scan)
{
	return scan->rs_rd->rd_tableam == GetHeapamTableAmRoutine() && (scan->rs_flags & SO_ALLOW_PAGEMODE) != 0;
}

/* The page of the tuple that a scan returned last, and its visible tuples from that one on */
typedef struct GrHeapPage
{
	Page		page;
	Buffer		buffer;			/* pinned by the scan until it is asked for a tuple of the next page */
	const OffsetNumber *offsets;	/* [n] offset numbers of the tuples */
	int			n;
} GrHeapPage;

/*
 * Sets *page to the current page of scan, and marks all of the page's tuples as returned, also for statistics. Returns
 * false and does nothing if the tuple that the scan returned last, in slot, is not where this header expects it: the
 * server's heap has changed.
 */
static inline bool
gr_heap_take_page(TableScanDesc scan, const TupleTableSlot *slot, GrHeapPage *page)
{
	HeapScanDesc heap = (HeapScanDesc) scan;
	int			first = (int) heap->rs_cindex;

	if (unlikely(first < 0 || first >= (int) heap->rs_ntuples || !BufferIsValid(heap->rs_cbuf) ||
				 ItemPointerGetBlockNumberNoCheck(&slot->tts_tid) != BufferGetBlockNumber(heap->rs_cbuf) ||
				 ItemPointerGetOffsetNumberNoCheck(&slot->tts_tid) != heap->rs_vistuples[first]))
		return false;
	page->buffer = heap->rs_cbuf;
	page->page = BufferGetPage(heap->rs_cbuf);
	page->offsets = heap->rs_vistuples + first;
	page->n = (int) heap->rs_ntuples - first;
	heap->rs_cindex = heap->rs_ntuples - 1;
	for (int k = 1; k < page->n; k++)
		pgstat_count_heap_getnext(scan->rs_rd);
	return true;
}

static inline HeapTupleHeader
gr_heap_tuple(const GrHeapPage *page, int k)
{
	return (HeapTupleHeader) PageGetItem(page->page, PageGetItemId(page->page, page->offsets[k]));
}

/* Prefetch distance in tuples: a cache line arrives from memory in about the time that these tuples take */
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

/* Sets *tuple to tuple k of the page, without a copy, for a slot. */
static inline void
gr_heap_describe_tuple(const GrHeapPage *page, int k, Oid table, HeapTuple tuple)
{
	ItemId		item = PageGetItemId(page->page, page->offsets[k]);

	tuple->t_data = (HeapTupleHeader) PageGetItem(page->page, item);
	tuple->t_len = ItemIdGetLength(item);
	tuple->t_tableOid = table;
	ItemPointerSet(&tuple->t_self, BufferGetBlockNumber(page->buffer), page->offsets[k]);
}

/* Layout of a table's column */
typedef struct GrHeapColumn
{
	int16		nbytes;			/* width; -1: a varlena; -2: a C string */
	uint8		alignment;		/* in bytes */
} GrHeapColumn;

/* Adjacent columns of fixed width, whose distances are the same in every tuple without NULLs */
typedef struct GrHeapSegment
{
	uint8		alignment;		/* alignment of the first column, the largest of the segment */
	int32		nbytes;			/* width of the segment, with padding */
	int			nwanted;		/* number of its columns that are wanted */
	const GrHeapColumn *variable;	/* next column if it has variable length, else NULL */
	bool		wants_variable; /* the next column is a varlena that is wanted */
} GrHeapSegment;

/*
 * Returns the varlena, aligned to int, at address at or behind the padding there. A byte other than 0 is no padding: it
 * begins a short varlena, which isn't aligned.
 */
static inline struct varlena *
gr_heap_varlena(const char *at)
{
	return (struct varlena *) unconstify(char *, *at != 0 ? at : (const char *) INTALIGN(at));
}

/* The attributes that a scan reads from tuples, and where they are */
typedef struct GrHeapColumns
{
	int			n;
	const AttrNumber *wanted;	/* [n] attribute numbers, ascending */
	/*
	 * [n] offsets in tuples without NULLs; -1: behind a column of variable length. Padding may be in front of a
	 * varlena; see gr_heap_varlena().
	 */
	int32	   *fixed;
	bool		all_fixed;		/* no element of fixed is -1 */
	AttrNumber	last;			/* largest number in wanted; 0 if n is 0 */
	GrHeapColumn *column;		/* [last] */
	int			nsegments;		/* segments of a tuple without NULLs, up to column last */
	GrHeapSegment *segments;
	int32	   *within;			/* [n] offsets of the wanted attributes in their segments */
} GrHeapColumns;

/*
 * Describes n wanted attributes of table in *columns, of fixed width, or varlenas aligned to int. Allocates in the
 * current context; wanted stays the caller's.
 */
extern void gr_heap_want(GrHeapColumns *columns, TupleDesc table, int n, const AttrNumber *wanted);

/*
 * Finds the wanted attributes in tuple, which must have at least columns->last attributes. at[k]: offset of attribute k
 * from the tuple's data, in bytes; -1: NULL
 */
extern void gr_heap_locate(const GrHeapColumns *columns, HeapTupleHeader tuple, int32 *at);

#endif							/* GPUREG_HEAP_ROWS_H */
