/*
 * scan_node.c: runs the custom scan.
 *
 * A tuple is read in one of three ways. If only numbers of fixed width are needed, they are copied from the page. If
 * the WHERE clause has more than comparisons of such columns with constants, or an aggregate needs more than such
 * columns, the tuple is put into the child's slot, and the executor's expressions are evaluated over the slot. Tables
 * that aren't heaps return slots only. In each way the rows' numbers are collected in blocks by the aggregates' takers.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "executor/executor.h"
#include "executor/nodeSeqscan.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "rows/query/query.h"
#include "rows/ring/ring_producer.h"
#include "rows/scan/scan.h"
#include "rows/scan/scan_state.h"
#include "rows/state/state.h"
#include "run/compat.h"

/* Number of groups above which an exchange has as many partitions as possible */
#define MANY_GROUPS 100000

/*
 * Rows
 */

/* Raises an error if float8 would round one of the row's bigints. data, at: as in read_row() */
static pg_noinline void
check_bigints(const GrScanAggregate *a, const char *data, const int32 *at)
{
	const GrTaker *taker = a->taker;
	/* The columns of a producer have names once the producer knows the ring's shape. */
	const GrColumns *columns = taker->producer != NULL ? gr_producer_columns(taker->producer) : taker->columns;
	int			n = a->nsources;

	for (int k = 0; k < n; k++)
		if (a->row_kinds[k] == GR_INT8_EXACT)
			(void) gr_bigint_number(*(const int64 *) (data + at[k]), columns->column[(k + a->nroles) % n].name);
}

/* Appends the numbers at data + at[k] as a row to the aggregate's taker, which must have room. Skips weights of 0. */
static inline void
read_row(GrScanAggregate *a, const char *data, const int32 *at)
{
	GrTaker    *taker = a->taker;
	int			n = a->nsources;
	int			nfeatures = n - a->nroles;
	double	   *row = (double *) taker->at;
	double		roles[GR_ROLES_MAX];

	if (unlikely(a->any_bigint))
		check_bigints(a, data, at);
	if (likely(a->all_float8))
	{
		for (int k = 0; k < n; k++)
			row[k] = *(const float8 *) (data + at[k]);
		roles[1] = row[Min(nfeatures + 1, n - 1)];
	}
	else if (!taker->shape.single)
	{
		for (int k = 0; k < n; k++)
			row[k] = gr_read_number(a->row_kinds[k], data + at[k]);
		roles[1] = row[Min(nfeatures + 1, n - 1)];
	}
	else
	{
		for (int k = 0; k < nfeatures; k++)
			((float *) row)[k] = (float) gr_read_number(a->row_kinds[k], data + at[k]);
		for (int k = 0; k < a->nroles; k++)
			roles[k] = gr_read_number(a->row_kinds[nfeatures + k], data + at[nfeatures + k]);
		memcpy((float *) row + nfeatures, roles, a->nroles * sizeof(double));
	}
	if (!taker->columns->weight || roles[1] != 0.0)
		gr_taker_count_row(taker);
}

/* Appends a row of a direct aggregate from a tuple's data. at: offsets of the wanted attributes; NULL: fixed ones */
static inline void
take_direct(GrScanState *s, GrScanAggregate *a, const char *data, const int32 *at)
{
	if (unlikely(!gr_taker_has_room(a->taker)) && !gr_taker_make_room(a->taker))
		return;
	if (likely(at == NULL))
	{
		read_row(a, data, a->fixed);
		return;
	}
	for (int k = 0; k < a->nsources; k++)
	{
		a->row_at[k] = at[a->wanted[k]];
		if (a->row_at[k] < 0)
		{
			a->taker->nskipped++;
			return;
		}
	}
	read_row(a, data, a->row_at);
}

/* Appends a row of an aggregate, evaluating the executor's expressions over the child's slot. */
static void
take_values(GrScanState *s, GrScanAggregate *a)
{
	ExprContext *econtext = s->child->ss.ps.ps_ExprContext;

	for (int k = 0; k < a->nsources; k++)
		a->values[k] = ExecEvalExpr(a->sources[k], econtext, &a->isnull[k]);
	gr_taker_take(a->taker, a->values, a->isnull);
}

/* Gives a row to an aggregate. False if its FILTER rejects the row. data: the tuple's, or NULL to read the slot */
static inline bool
take_of_aggregate(GrScanState *s, GrScanAggregate *a, const char *data, const int32 *at)
{
	if (a->filter != NULL && !ExecQual(a->filter, s->child->ss.ps.ps_ExprContext))
		return false;
	if (unlikely(a->taker == NULL))
		gr_scan_start_aggregate(s, a);
	if (a->direct && data != NULL)
		take_direct(s, a, data, at);
	else
		take_values(s, a);
	return true;
}

/*
 * Groups
 */

/* Reads a key at address at as a Datum. */
static inline Datum
read_key(const GrScanKey *key, const char *at)
{
	switch (key->nbytes)
	{
		case 8:
			return Int64GetDatum(*(const int64 *) at);
		case 4:
			return Int32GetDatum(*(const int32 *) at);
		case 2:
			return Int16GetDatum(*(const int16 *) at);
		default:
			return CharGetDatum(*at);
	}
}

/* Normalizes the bits of value beyond the type's width, which depend on the function that made the Datum. */
static inline Datum
without_more_bits(Datum value, int16 nbytes)
{
	switch (nbytes)
	{
		case 8:
			return value;
		case 4:
			return Int32GetDatum(DatumGetInt32(value));
		case 2:
			return Int16GetDatum(DatumGetInt16(value));
		default:
			return CharGetDatum(DatumGetChar(value));
	}
}

/* Sets s->key_values to the row's keys. Returns a bit mask of the keys that are NULL. */
static uint32
find_keys(GrScanState *s, const char *data, const int32 *at)
{
	uint32		nulls = 0;

	for (int k = 0; k < s->nkeys; k++)
	{
		const GrScanKey *key = &s->keys[k];
		bool		isnull = false;

		if (key->direct && data != NULL)
		{
			int32		offset = at == NULL ? s->columns.fixed[key->wanted] : at[key->wanted];

			isnull = offset < 0;
			if (!isnull)
				s->key_values[k] = read_key(key, data + offset);
		}
		else
		{
			s->key_values[k] = ExecEvalExpr(key->value, s->child->ss.ps.ps_ExprContext, &isnull);
			if (s->group_keys[k].bitwise)
				s->key_values[k] = without_more_bits(s->key_values[k], key->nbytes);
		}
		nulls |= isnull ? (uint32) 1 << k : 0;
	}
	return nulls;
}

static void
take_grouped(GrScanState *s, const char *data, const int32 *at)
{
	uint32		nulls = find_keys(s, data, at);
	uint32		hash;
	GrGroup    *group;
	BufFile    *file = NULL;

	if (unlikely(s->groups == NULL))
		gr_scan_begin_groups(s);
	hash = gr_groups_hash(s->groups, s->key_values, nulls);
	group = gr_groups_find(s->groups, hash, s->key_values, nulls);
	if (unlikely(group == NULL))
		group = gr_scan_make_room(s, hash, nulls, &file);
	for (int i = 0; i < s->naggregates; i++)
	{
		GrTaker    *taker = s->aggregates[i].taker;
		int64		nrows = taker == NULL ? 0 : taker->nrows;

		if (take_of_aggregate(s, &s->aggregates[i], data, at))
			gr_scan_put(s, i, group, file, nrows);
		else if (group == NULL)
			gr_spill_part(file, GR_SPILLED_NOTHING, NULL, 0);
	}
}

/*
 * Tuples
 */

/* Gives a row that passed the WHERE clause to all aggregates. data: the tuple's, or NULL to read the slot */
static inline void
take_row(GrScanState *s, const char *data, const int32 *at)
{
	s->npassed++;
	if (s->nkeys > 0)
	{
		take_grouped(s, data, at);
		return;
	}
	for (int i = 0; i < s->naggregates; i++)
		(void) take_of_aggregate(s, &s->aggregates[i], data, at);
}

/* Filters the tuple in the child's slot and gives it to all aggregates. */
static void
take_slot(GrScanState *s)
{
	ExprContext *econtext = s->child->ss.ps.ps_ExprContext;

	ResetExprContext(econtext);
	econtext->ecxt_scantuple = s->child->ss.ss_ScanTupleSlot;
	if (s->child->ss.ps.qual == NULL || ExecQual(s->child->ss.ps.qual, econtext))
		take_row(s, NULL, NULL);
	else
		s->nremoved++;
}

static bool
passes_comparisons(const GrScanState *s, const char *data, const int32 *at)
{
	for (int k = 0; k < s->ncomparisons; k++)
	{
		const GrComparison *comparison = &s->comparisons[k];

		if (at[comparison->wanted] < 0 || comparison->nothing || !gr_passes(comparison, data + at[comparison->wanted]))
			return false;
	}
	return true;
}

/* Puts tuple k of a page into the child's slot. */
static void
fill_slot(GrScanState *s, const GrHeapPage *page, int k)
{
	gr_heap_describe_tuple(page, k, RelationGetRelid(s->child->ss.ss_currentRelation), &s->tuple);
	(void) ExecStoreBufferHeapTuple(&s->tuple, s->child->ss.ss_ScanTupleSlot, page->buffer);
}

static inline void
take_tuple(GrScanState *s, const GrHeapPage *page, int k)
{
	HeapTupleHeader tuple = gr_heap_tuple(page, k);
	const char *data = (const char *) tuple + tuple->t_hoff;
	ExprContext *econtext = s->child->ss.ps.ps_ExprContext;
	const int32 *at = NULL;

	/* The tuple is older than some of the columns: only a slot supplies their values. */
	if (unlikely(HeapTupleHeaderGetNatts(tuple) < s->columns.last))
	{
		fill_slot(s, page, k);
		take_slot(s);
		return;
	}
	if (unlikely(!s->columns.all_fixed || (tuple->t_infomask & HEAP_HASNULL) != 0))
	{
		gr_heap_locate(&s->columns, tuple, s->at);
		at = s->at;
	}
	if (s->ncomparisons > 0 && !passes_comparisons(s, data, at == NULL ? s->columns.fixed : at))
	{
		s->nremoved++;
		return;
	}
	if (s->by_slot)
	{
		fill_slot(s, page, k);
		ResetExprContext(econtext);
		econtext->ecxt_scantuple = s->child->ss.ss_ScanTupleSlot;
		if (s->has_more && !ExecQual(s->child->ss.ps.qual, econtext))
		{
			s->nremoved++;
			return;
		}
	}
	take_row(s, data, at);
}

/* True if the scan has one aggregate, over float8 at fixed offsets, no groups, and only comparisons in WHERE. */
static inline bool
is_simple(const GrScanState *s)
{
	const GrScanAggregate *a = &s->aggregates[0];

	return s->naggregates == 1 && s->nkeys == 0 && !s->by_slot && s->columns.all_fixed && a->direct &&
		a->taker != NULL && a->all_float8 && !a->taker->shape.single && !a->taker->columns->weight;
}

/* Copies n adjacent float8, two at a time. Returns the end of the copy. */
static inline double *
copy_span(double *to, const char *from, int n)
{
	for (; n >= 2; n -= 2, to += 2, from += 2 * sizeof(double))
		memcpy(to, from, 2 * sizeof(double));
	if (n > 0)
		memcpy(to++, from, sizeof(double));
	return to;
}

/*
 * Does what take_tuple() does for each tuple of a page, if is_simple(). The next row overwrites one that fails the
 * WHERE clause. n: number of comparisons, a compile-time constant if it is 0 or 1. The taker's members and the first
 * comparison are copied to local variables: a compiler must assume that writing a row changes the originals.
 */
static pg_attribute_always_inline void
take_simple_page(GrScanState *s, const GrHeapPage *page, int n)
{
	GrScanAggregate *a = &s->aggregates[0];
	GrTaker    *taker = a->taker;
	const GrComparison first = n == 0 ? (GrComparison) {0} : s->comparisons[0];
	const int32 first_from = n == 0 ? 0 : s->columns.fixed[first.wanted];
	const int	nspans = a->nspans;
	const GrScanSpan *spans = a->spans;
	const int	natts = s->columns.last;
	Size		row_nbytes = taker->row_nbytes;	/* 0 until there was a complete row */
	char	   *at = taker->at;
	int64		nrows = taker->nrows;
	int64		capacity = taker->capacity;
	int			npassed = 0;
	int			nother = 0;

	for (int k = 0; k < page->n; k++)
	{
		HeapTupleHeader tuple = gr_heap_tuple(page, k);
		const char *data = (const char *) tuple + tuple->t_hoff;
		bool		other = (tuple->t_infomask & HEAP_HASNULL) != 0 || HeapTupleHeaderGetNatts(tuple) < natts;
		double	   *row;
		bool		passes;

		gr_heap_fetch(page, k + GR_HEAP_AHEAD);
		if (unlikely(other || nrows == capacity))
		{
			taker->at = at;
			taker->nrows = nrows;
			if (other)
				take_tuple(s, page, k);
			else
				(void) gr_taker_make_room(taker);
			nother += other;
			row_nbytes = taker->row_nbytes;
			at = taker->at;
			nrows = taker->nrows;
			capacity = taker->capacity;
			if (other)
				continue;
		}
		passes = n == 0 || (!first.nothing & gr_passes(&first, data + first_from));
		for (int c = 1; c < n; c++)
			passes &= !s->comparisons[c].nothing &
				gr_passes(&s->comparisons[c], data + s->columns.fixed[s->comparisons[c].wanted]);
		npassed += passes;
		if (unlikely(nrows == capacity))
			continue;
		row = (double *) at;
		for (int span = 0; span < nspans; span++)
			row = copy_span(row, data + spans[span].from, spans[span].n);
		nrows += passes;
		at += passes ? row_nbytes : 0;
	}
	taker->at = at;
	taker->nrows = nrows;
	s->npassed += npassed;
	s->nremoved += page->n - nother - npassed;
}

static void
take_page(GrScanState *s, const GrHeapPage *page)
{
	for (int k = 0; k < GR_HEAP_AHEAD; k++)
		gr_heap_fetch(page, k);
	if (is_simple(s))
	{
		if (s->ncomparisons == 0)
			take_simple_page(s, page, 0);
		else if (s->ncomparisons == 1)
			take_simple_page(s, page, 1);
		else
			take_simple_page(s, page, s->ncomparisons);
		return;
	}
	for (int k = 0; k < page->n; k++)
	{
		gr_heap_fetch(page, k + GR_HEAP_AHEAD);
		take_tuple(s, page, k);
	}
}

/* Returns the child's scan. Begins it unless that was done, as it is for a scan shared among workers. */
static TableScanDesc
begin_child_scan(SeqScanState *child)
{
	if (child->ss.ss_currentScanDesc == NULL)
		child->ss.ss_currentScanDesc = table_beginscan(child->ss.ss_currentRelation, child->ss.ps.state->es_snapshot, 0,
													   NULL);
	return child->ss.ss_currentScanDesc;
}

static void
scan_table(GrScanState *s)
{
	SeqScanState *child = s->child;
	ExprContext *econtext = child->ss.ps.ps_ExprContext;
	TupleTableSlot *slot = child->ss.ss_ScanTupleSlot;
	TableScanDesc scan = begin_child_scan(child);
	bool		by_pages = gr_heap_by_pages(scan);
	GrHeapPage	page;

	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		MemoryContext old = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);

		CHECK_FOR_INTERRUPTS();
		if (!by_pages)
			take_slot(s);
		else
		{
			ResetExprContext(econtext);
			gr_heap_take_page(scan, &page);
			take_page(s, &page);
		}
		MemoryContextSwitchTo(old);
	}
	ExecClearTuple(slot);
}

/* Evaluates the constants that columns are compared with, for this scan. */
static void
set_constants(GrScanState *s)
{
	for (int k = 0; k < s->ncomparisons; k++)
	{
		bool		isnull;
		Datum		value = ExecEvalExprSwitchContext(s->constants[k], s->child->ss.ps.ps_ExprContext, &isnull);

		gr_set_constant(&s->comparisons[k], value, isnull);
	}
}

/* Scans the table once, with the child's instrumentation and changed parameters. */
static void
run_scan(GrScanState *s)
{
	PlanState  *child = &s->child->ss.ps;

	if (child->chgParam != NULL)
		ExecReScan(child);
	if (child->instrument != NULL)
		InstrStartNode(child->instrument);
	set_constants(s);
	s->npassed = s->nremoved = 0;
	scan_table(s);
	if (child->instrument != NULL)
		InstrStopNode(child->instrument, s->npassed);
	InstrCountFiltered1(child, s->nremoved);
}

/* Stores the partial states of a scan without groups in the node's slot. */
static void
emit_states(GrScanState *s)
{
	TupleTableSlot *slot = s->css.ss.ss_ScanTupleSlot;

	ExecClearTuple(slot);
	for (int i = 0; i < s->naggregates; i++)
	{
		GrTaker    *taker = s->aggregates[i].taker;

		slot->tts_isnull[i] = taker == NULL;
		slot->tts_values[i] = taker == NULL ? (Datum) 0 : gr_taker_finish(taker, &slot->tts_isnull[i]);
	}
	ExecStoreVirtualTuple(slot);
}

/* Stores the keys and partial states of the next group in the node's slot. Returns false if no group is left. */
static bool
emit_group(GrScanState *s)
{
	TupleTableSlot *slot = s->css.ss.ss_ScanTupleSlot;
	List	   *targets = ((CustomScan *) s->css.ss.ps.plan)->custom_scan_tlist;
	int			k = 0;
	int			i = 0;
	GrGroup    *group;

	ExecClearTuple(slot);
	while (s->groups != NULL && s->next == NULL)
		if (!gr_scan_read_waiting(s))
			return false;
	if (s->groups == NULL)
		return false;
	group = s->next;
	s->next = group->next;
	for (int t = 0; t < list_length(targets); t++)
	{
		const GrGroupState *of_group = &group->states[i];
		GrTaker    *taker;
		GrState    *state;

		if (!IsA(((TargetEntry *) list_nth(targets, t))->expr, Aggref))
		{
			slot->tts_isnull[t] = (group->nulls & ((uint32) 1 << k)) != 0;
			slot->tts_values[t] = group->keys[k++];
			continue;
		}
		taker = s->aggregates[i++].taker;
		state = taker == NULL ? NULL : of_group->state;
		if (taker != NULL && state == NULL && of_group->nskipped > 0)
			state = gr_taker_empty_state(taker, s->groups->context);
		slot->tts_isnull[t] = state == NULL;
		if (state == NULL)
			continue;
		gr_state_settle(state, taker->names);
		state->nskipped = of_group->nskipped;
		slot->tts_values[t] = PointerGetDatum(state);
	}
	ExecStoreVirtualTuple(slot);
	return true;
}

/*
 * Records the memory of the groups for EXPLAIN, when the table was read. A worker reports its number to the leader in
 * nfiltered2, which this node doesn't use otherwise; the server adds that up over the loops.
 */
static void
note_memory(GrScanState *s)
{
	Instrumentation *instrument = s->css.ss.ps.instrument;
	Size		nbytes = instrument == NULL ? 0 : MemoryContextMemAllocated(s->scan_context, true);

	s->nbytes_peak = Max(s->nbytes_peak, nbytes);
	if (instrument != NULL && IsParallelWorker())
		instrument->nfiltered2 += nbytes;
}

/* Scans the table, unless this process joins an exchange that has ended, and ends the groups. */
static void
take_all(GrScanState *s)
{
	s->exchange = s->shared;
	if (s->exchange != NULL)
		s->process = gr_exchange_join(s->exchange);
	if (s->exchange == NULL || s->process >= 0)
		run_scan(s);
	note_memory(s);
	if (s->nkeys > 0)
		gr_scan_end_groups(s);
}

static TupleTableSlot *
exec_scan(CustomScanState *node)
{
	GrScanState *s = (GrScanState *) node;
	bool		first = !s->emitting;

	if (first)
		take_all(s);
	s->emitting = true;
	if (s->nkeys > 0 ? !emit_group(s) : !first)
		return NULL;
	if (s->nkeys == 0)
		emit_states(s);
	if (node->ss.ps.ps_ProjInfo == NULL)
		return node->ss.ss_ScanTupleSlot;
	ResetExprContext(node->ss.ps.ps_ExprContext);
	node->ss.ps.ps_ExprContext->ecxt_scantuple = node->ss.ss_ScanTupleSlot;
	return ExecProject(node->ss.ps.ps_ProjInfo);
}

/* Closes the groups' files. The groups' memory is freed with scan_context. */
static void
close_groups(GrScanState *s)
{
	if (s->groups == NULL)
		return;
	gr_groups_close(s->groups);
	s->nspilled += s->groups->nspilled;
	s->groups = NULL;
}

static void
rescan(CustomScanState *node)
{
	GrScanState *s = (GrScanState *) node;
	PlanState  *child = &s->child->ss.ps;

	for (int i = 0; i < s->naggregates; i++)
		s->aggregates[i].taker = NULL;
	ExecClearTuple(node->ss.ss_ScanTupleSlot);
	close_groups(s);
	MemoryContextReset(s->scan_context);
	s->next = NULL;
	s->exchange = NULL;
	s->wrote_groups = false;
	s->emitting = false;
	if (node->ss.ps.chgParam != NULL)
		UpdateChangedParamSet(child, node->ss.ps.chgParam);
	if (child->chgParam == NULL)
		ExecReScan(child);
}

static void
end_scan(CustomScanState *node)
{
	GrScanState *s = (GrScanState *) node;

	close_groups(s);
	ExecEndNode(&s->child->ss.ps);
}

/*
 * Exchanging groups in a parallel plan
 */

/*
 * Number of hash bits that select a partition: enough for four partitions per process, so that processes get about
 * equally many groups, or the maximum if there are many groups
 */
static int
exchange_bits(const GrScanState *s, int nprocesses)
{
	int			nbits = pg_ceil_log2_32(4 * nprocesses);

	return s->css.ss.ps.plan->plan_rows * nprocesses > MANY_GROUPS ? GR_EXCHANGE_BITS_MAX :
		Min(nbits, GR_EXCHANGE_BITS_MAX);
}

static Size
estimate_shared(CustomScanState *node, ParallelContext *pcxt)
{
	return gr_exchange_nbytes(pcxt->nworkers + 1);
}

static void
initialize_shared(CustomScanState *node, ParallelContext *pcxt, void *shared)
{
	GrScanState *s = (GrScanState *) node;

	/* without dynamic shared memory there are no workers and there is no exchange */
	s->shared = pcxt->seg == NULL ? NULL : shared;
	if (s->shared != NULL)
		gr_exchange_init(s->shared, pcxt->seg, pcxt->nworkers + 1, exchange_bits(s, pcxt->nworkers + 1));
}

static void
reinitialize_shared(CustomScanState *node, ParallelContext *pcxt, void *shared)
{
	GrScanState *s = (GrScanState *) node;

	if (s->shared == NULL)
		return;
	s->nexchanged += gr_exchange_nrecords(shared);
	gr_exchange_reset(shared);
}

static void
attach_shared(CustomScanState *node, shm_toc *toc, void *shared)
{
	((GrScanState *) node)->shared = shared;
	gr_exchange_attach(shared);
}

/*
 * Called before the shared memory is released and a worker's instrumentation goes to the leader, maybe more than once;
 * see note_memory().
 */
static void
shut_down(CustomScanState *node)
{
	GrScanState *s = (GrScanState *) node;

	if (node->ss.ps.instrument != NULL && IsParallelWorker())
		node->ss.ps.instrument->ntuples2 = gr_scan_count_spilled(s);
	if (s->shared != NULL && !IsParallelWorker())
		s->nexchanged += gr_exchange_nrecords(s->shared);
	s->shared = s->exchange = NULL;
}

static const CustomExecMethods exec_methods = {
	.CustomName = GR_SCAN_NAME,
	.BeginCustomScan = gr_scan_begin,
	.ExecCustomScan = exec_scan,
	.EndCustomScan = end_scan,
	.ReScanCustomScan = rescan,
	.EstimateDSMCustomScan = estimate_shared,
	.InitializeDSMCustomScan = initialize_shared,
	.ReInitializeDSMCustomScan = reinitialize_shared,
	.InitializeWorkerCustomScan = attach_shared,
	.ShutdownCustomScan = shut_down,
	.ExplainCustomScan = gr_scan_explain
};

static Node *
create_scan_state(CustomScan *scan)
{
	GrScanState *s = palloc0(sizeof(GrScanState));

	NodeSetTag(s, T_CustomScanState);
	s->css.methods = &exec_methods;
	return (Node *) s;
}

const CustomScanMethods gr_scan_methods = {.CustomName = GR_SCAN_NAME,.CreateCustomScanState = create_scan_state};
