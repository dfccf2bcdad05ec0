/*
 * scan_node.c: the custom scan, running.
 *
 * A tuple is read in one of three ways. Where all that is wanted of it are numbers of fixed width, they are copied from
 * where they lie in the page. Where the WHERE clause has more than comparisons of such columns with constants, or an
 * aggregate wants more than such columns, the tuple goes into the child's slot, and the executor's expressions are
 * evaluated over that. Tables that are no heap give slots at once. In each way the rows' numbers come, block by block,
 * to the aggregates' takers.
 */
#include "postgres.h"

#include "commands/explain.h"
#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#endif
#include "executor/executor.h"
#include "executor/nodeSeqscan.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "rows/scan.h"
#include "rows/scan_state.h"

/*
 * Rows
 */

/* Turns the order of the sources, those with a role first, into that of a row, where they are last. */
static void
order_as_row(GrScanState *s, GrScanAggregate *a, int nroles)
{
	int			n = a->nsources;

	a->nroles = nroles;
	a->nspans = 0;
	a->all_float8 = true;
	for (int k = 0; k < n; k++)
	{
		int			from = (k + nroles) % n;

		a->row_kinds[k] = a->kinds[from];
		a->wanted[k] = gr_find_wanted(&s->columns, a->attributes[from]);
		a->fixed[k] = s->columns.fixed[a->wanted[k]];
		a->all_float8 &= a->row_kinds[k] == GR_FLOAT8;
		if (a->nspans > 0 &&
			a->fixed[k] == a->spans[a->nspans - 1].from + a->spans[a->nspans - 1].n * (int32) sizeof(float8))
			a->spans[a->nspans - 1].n++;
		else
			a->spans[a->nspans++] = (GrScanSpan) {.from = a->fixed[k],.n = 1};
	}
}

/* At an aggregate's first row */
static pg_noinline void
start_aggregate(GrScanState *s, GrScanAggregate *a)
{
	ExprContext *econtext = s->child->ss.ps.ps_ExprContext;
	MemoryContext old = MemoryContextSwitchTo(s->scan_context);
	ListCell   *cell;
	int			k = 1;

	a->taker = gr_taker_create(&a->parts, a->call, a->types, s->css.ss.ps.state->es_query_cxt);
	foreach(cell, a->constants)
	{
		NullableDatum *value = &a->taker->fcinfo->args[k++];

		value->value = ExecEvalExpr((ExprState *) lfirst(cell), econtext, &value->isnull);
	}
	gr_taker_start(a->taker);
	if (a->direct)
		order_as_row(s, a, gr_nroles(a->taker->columns));
	if (s->nkeys > 0)
		a->states = palloc(GR_TAKER_ROWS_MAX * sizeof(struct GrState **));
	MemoryContextSwitchTo(old);
}

/* Numbers from where they are as the next row of a taker that has room */
static inline void
read_row(GrScanAggregate *a, const char *data, const int32 *at)
{
	GrTaker    *taker = a->taker;
	int			n = a->nsources;
	int			nfeatures = n - a->nroles;
	double	   *row = (double *) taker->at;
	double		roles[GR_ROLES_MAX];

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

/* A row of an aggregate whose numbers are in a tuple; at: where, NULL: at their fixed places */
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

/* A row of an aggregate, by the executor's expressions over the child's slot */
static void
take_values(GrScanState *s, GrScanAggregate *a)
{
	ExprContext *econtext = s->child->ss.ps.ps_ExprContext;

	for (int k = 0; k < a->nsources; k++)
		a->values[k] = ExecEvalExpr(a->sources[k], econtext, &a->isnull[k]);
	gr_taker_take(a->taker, a->values, a->isnull);
}

/* A row of an aggregate; false if its FILTER doesn't let it through. data: the tuple's, NULL: there is only the slot */
static inline bool
take_of_aggregate(GrScanState *s, GrScanAggregate *a, const char *data, const int32 *at)
{
	if (a->filter != NULL && !ExecQual(a->filter, s->child->ss.ps.ps_ExprContext))
		return false;
	if (unlikely(a->taker == NULL))
		start_aggregate(s, a);
	if (a->direct && data != NULL)
		take_direct(s, a, data, at);
	else
		take_values(s, a);
	return true;
}

/*
 * Groups
 */

/* A key in a tuple as a Datum */
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

/* Sets the row's keys; returns which are NULL. */
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
			s->key_values[k] = ExecEvalExpr(key->value, s->child->ss.ps.ps_ExprContext, &isnull);
		nulls |= isnull ? (uint32) 1 << k : 0;
	}
	return nulls;
}

/* Memory for the groups is what a hash table may take; a group is reckoned with the rows that it holds back. */
static pg_noinline void
begin_groups(GrScanState *s)
{
	MemoryContext old = MemoryContextSwitchTo(s->scan_context);

	s->groups = gr_groups_create(s->nkeys, s->group_keys, s->naggregates, get_hash_memory_limit());
	MemoryContextSwitchTo(old);
}

static void
reckon_group(GrScanState *s)
{
	s->groups->group_nbytes = sizeof(GrGroup);
	for (int i = 0; i < s->naggregates; i++)
		if (s->aggregates[i].taker != NULL)
			s->groups->group_nbytes += gr_taker_state_nbytes(s->aggregates[i].taker);
}

static void
scatter(GrScanState *s, GrScanAggregate *a)
{
	gr_taker_scatter(a->taker, a->states, s->groups->context);
	reckon_group(s);
}

/* A row that an aggregate's taker has looked at goes to the group, or where rows of groups wait that have no memory. */
static inline void
put_into_group(GrScanState *s, int i, GrGroup *group, BufFile *file, int64 nrows_before)
{
	GrScanAggregate *a = &s->aggregates[i];
	GrTaker    *taker = a->taker;
	bool		taken = taker->nrows > nrows_before;
	bool		skipped = taker->nskipped > 0;

	taker->nskipped = 0;
	if (group == NULL)
	{
		gr_spill_part(file, taken ? GR_SPILLED_ROW : skipped ? GR_SPILLED_SKIPPED : GR_SPILLED_NOTHING,
					  taken ? gr_taker_take_back(taker) : NULL, taker->row_nbytes);
		return;
	}
	if (skipped)
		group->states[i].nskipped++;
	if (!taken)
		return;
	a->states[nrows_before] = &group->states[i].state;
	if (unlikely(s->groups->group_nbytes == 0))
		reckon_group(s);
	if (!gr_taker_has_room(taker))
		scatter(s, a);
}

static void
take_grouped(GrScanState *s, const char *data, const int32 *at)
{
	uint32		nulls = find_keys(s, data, at);
	uint32		hash;
	GrGroup    *group;
	BufFile    *file = NULL;

	if (unlikely(s->groups == NULL))
		begin_groups(s);
	hash = gr_groups_hash(s->groups, s->key_values, nulls);
	group = gr_groups_find(s->groups, hash, s->key_values, nulls);
	if (group == NULL)
		file = gr_groups_spill(s->groups, hash, s->key_values, nulls);
	for (int i = 0; i < s->naggregates; i++)
	{
		GrTaker    *taker = s->aggregates[i].taker;
		int64		nrows = taker == NULL ? 0 : taker->nrows;

		if (take_of_aggregate(s, &s->aggregates[i], data, at))
			put_into_group(s, i, group, file, nrows);
		else if (group == NULL)
			gr_spill_part(file, GR_SPILLED_NOTHING, NULL, 0);
	}
}

/* No rows are to come for the groups that there are: these are returned now. */
static void
begin_emitting(GrScanState *s)
{
	if (s->groups == NULL)
		return;
	for (int i = 0; i < s->naggregates; i++)
		if (s->aggregates[i].taker != NULL)
			scatter(s, &s->aggregates[i]);
	s->next = s->groups->first;
}

/* A row that waited in a file, into its group or a file again */
static void
take_waiting(GrScanState *s, GrWaiting *waiting, uint32 hash, uint32 nulls)
{
	GrGroup    *group = gr_groups_find(s->groups, hash, s->key_values, nulls);
	BufFile    *file = group == NULL ? gr_groups_spill(s->groups, hash, s->key_values, nulls) : NULL;

	for (int i = 0; i < s->naggregates; i++)
	{
		GrTaker    *taker = s->aggregates[i].taker;
		int64		nrows = taker == NULL ? 0 : taker->nrows;
		GrSpilled	what = gr_read_part(waiting->file, taker == NULL ? NULL : taker->at,
										taker == NULL ? 0 : taker->row_nbytes);

		if (taker == NULL)
		{
			Assert(what == GR_SPILLED_NOTHING);
			if (file != NULL)
				gr_spill_part(file, what, NULL, 0);
			continue;
		}
		if (what == GR_SPILLED_ROW)
			gr_taker_count_row(taker);
		else if (what == GR_SPILLED_SKIPPED)
			taker->nskipped++;
		put_into_group(s, i, group, file, nrows);
	}
}

/* Reads the next file of rows that wait; false if there is none. */
static bool
read_waiting(GrScanState *s)
{
	GrWaiting  *waiting = gr_groups_next_waiting(s->groups);
	MemoryContext context = s->child->ss.ps.ps_ExprContext->ecxt_per_tuple_memory;
	MemoryContext old;
	uint32		hash;
	uint32		nulls;

	if (waiting == NULL)
		return false;
	old = MemoryContextSwitchTo(context);
	while (gr_read_keys(s->groups, waiting, &hash, s->key_values, &nulls))
	{
		CHECK_FOR_INTERRUPTS();
		take_waiting(s, waiting, hash, nulls);
		MemoryContextReset(context);
	}
	MemoryContextSwitchTo(old);
	gr_waiting_end(s->groups, waiting);
	begin_emitting(s);
	return true;
}

/* The next group in the node's slot; false if there is none. */
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
		if (!read_waiting(s))
			return false;
	if (s->groups == NULL)
		return false;
	group = s->next;
	s->next = group->next;
	for (int t = 0; t < list_length(targets); t++)
	{
		if (!IsA(((TargetEntry *) list_nth(targets, t))->expr, Aggref))
		{
			slot->tts_isnull[t] = (group->nulls & ((uint32) 1 << k)) != 0;
			slot->tts_values[t] = group->keys[k++];
			continue;
		}
		slot->tts_isnull[t] = true;
		if (s->aggregates[i].taker != NULL)
			slot->tts_values[t] = gr_taker_finish_group(s->aggregates[i].taker, group->states[i].state,
														group->states[i].nskipped, s->groups->context,
														&slot->tts_isnull[t]);
		i++;
	}
	ExecStoreVirtualTuple(slot);
	return true;
}

/*
 * Tuples
 */

/* A row that the WHERE clause has let through. data: of the tuple, NULL: there is only the slot */
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

/* The tuple in the child's slot */
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

/* Puts a tuple of a page into the child's slot. */
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

	/* columns that were added later */
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

/* Is there one aggregate alone, over float8 at fixed offsets, and nothing that wants more than comparisons? */
static inline bool
is_simple(const GrScanState *s)
{
	const GrScanAggregate *a = &s->aggregates[0];

	return s->naggregates == 1 && s->nkeys == 0 && !s->by_slot && s->columns.all_fixed && a->direct &&
		a->taker != NULL && a->all_float8 && !a->taker->shape.single && !a->taker->columns->weight;
}

/* Numbers side by side, two at a time */
static inline double *
copy_span(double *to, const char *from, int n)
{
	for (; n >= 2; n -= 2, to += 2, from += 2 * sizeof(double))
		memcpy(to, from, 2 * sizeof(double));
	if (n > 0)
		memcpy(to++, from, sizeof(double));
	return to;
}

/* The same as take_tuple() for each tuple where is_simple(). What doesn't pass the WHERE clause is written over. */
static void
take_simple_page(GrScanState *s, const GrHeapPage *page)
{
	GrScanAggregate *a = &s->aggregates[0];
	GrTaker    *taker = a->taker;
	int			npassed = 0;
	int			nother = 0;

	for (int k = 0; k < page->n; k++)
	{
		HeapTupleHeader tuple = gr_heap_tuple(page, k);
		const char *data = (const char *) tuple + tuple->t_hoff;
		double	   *row;
		bool		passes = true;

		gr_heap_fetch(page, k + GR_HEAP_AHEAD);
		if (unlikely((tuple->t_infomask & HEAP_HASNULL) != 0 || HeapTupleHeaderGetNatts(tuple) < s->columns.last))
		{
			take_tuple(s, page, k);
			nother++;
			continue;
		}
		for (int c = 0; c < s->ncomparisons; c++)
			passes &= !s->comparisons[c].nothing &
				gr_passes(&s->comparisons[c], data + s->columns.fixed[s->comparisons[c].wanted]);
		npassed += passes;
		if (unlikely(!gr_taker_has_room(taker)) && !gr_taker_make_room(taker))
			continue;
		row = (double *) taker->at;
		for (int span = 0; span < a->nspans; span++)
			row = copy_span(row, data + a->spans[span].from, a->spans[span].n);
		taker->nrows += passes;
		taker->at += passes ? taker->row_nbytes : 0;
	}
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
		take_simple_page(s, page);
		return;
	}
	for (int k = 0; k < page->n; k++)
	{
		gr_heap_fetch(page, k + GR_HEAP_AHEAD);
		take_tuple(s, page, k);
	}
}

/* The child's scan, which is begun if it isn't shared among workers */
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

/* The constants that columns are compared with, as they are in this scan */
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

/* Scans the table. */
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

/* The partial states without groups, in the node's slot */
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

static TupleTableSlot *
exec_scan(CustomScanState *node)
{
	GrScanState *s = (GrScanState *) node;
	bool		first = !s->emitting;

	if (first)
	{
		run_scan(s);
		s->emitting = true;
		begin_emitting(s);
	}
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

static void
rescan(CustomScanState *node)
{
	GrScanState *s = (GrScanState *) node;
	PlanState  *child = &s->child->ss.ps;

	for (int i = 0; i < s->naggregates; i++)
		s->aggregates[i].taker = NULL;
	ExecClearTuple(node->ss.ss_ScanTupleSlot);
	if (s->groups != NULL)
		gr_groups_close(s->groups);
	MemoryContextReset(s->scan_context);
	s->groups = NULL;
	s->next = NULL;
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

	if (s->groups != NULL)
		gr_groups_close(s->groups);
	s->groups = NULL;
	ExecEndNode(&s->child->ss.ps);
}

/* How tuples are read */
static void
explain_scan(CustomScanState *node, List *ancestors, ExplainState *es)
{
	GrScanState *s = (GrScanState *) node;
	bool		direct = false;

	for (int i = 0; i < s->naggregates; i++)
		direct |= s->aggregates[i].direct;
	ExplainPropertyText("Columns", !direct ? "by expressions" : s->by_slot ? "in place and by expressions" :
						s->columns.all_fixed ? "in place, at fixed offsets" : "in place", es);
}

static const CustomExecMethods exec_methods = {
	.CustomName = GR_SCAN_NAME,
	.BeginCustomScan = gr_scan_begin,
	.ExecCustomScan = exec_scan,
	.EndCustomScan = end_scan,
	.ReScanCustomScan = rescan,
	.ExplainCustomScan = explain_scan
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
