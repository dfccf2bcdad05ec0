/*
 * scan_node.c: runs the custom scan.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "executor/executor.h"
#include "executor/instrument.h"
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
 * Scanning
 */

/* Returns the child's scan. Begins it unless that was done, as it is for a scan shared among workers. */
static TableScanDesc
begin_child_scan(SeqScanState *child)
{
	if (child->ss.ss_currentScanDesc == NULL)
		child->ss.ss_currentScanDesc = gr_begin_scan(child->ss.ss_currentRelation, child->ss.ps.state->es_snapshot);
	return child->ss.ss_currentScanDesc;
}

/*
 * Evaluates the constants that columns are compared with, for this scan. They are evaluated when there is a row, as by
 * the executor, unless policies hide rows: a function that is called must not tell that there are some.
 */
static void
set_constants(GrScanState *s)
{
	for (int k = 0; k < s->ncomparisons; k++)
	{
		bool		isnull;
		MemoryContext old;
		Datum		value = ExecEvalExprSwitchContext(s->constants[k], s->child->ss.ps.ps_ExprContext, &isnull);

		old = MemoryContextSwitchTo(s->scan_context);
		gr_set_constant(&s->comparisons[k], value, isnull);
		MemoryContextSwitchTo(old);
	}
	s->has_constants = true;
}

/* Reads the next tuple into the child's slot. Its time and its blocks are the child's in EXPLAIN. */
static bool
next_tuple(SeqScanState *child, TableScanDesc scan)
{
	Instrumentation *instrument = child->ss.ps.instrument;
	bool		found;

	if (instrument != NULL)
		InstrStartNode(instrument);
	found = table_scan_getnextslot(scan, ForwardScanDirection, child->ss.ss_ScanTupleSlot);
	if (instrument != NULL)
		InstrStopNode(instrument, 0);
	return found;
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

	while (next_tuple(child, scan))
	{
		MemoryContext old = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);

		CHECK_FOR_INTERRUPTS();
		if (by_pages && unlikely(!s->has_constants))
			set_constants(s);
		if (by_pages && gr_heap_take_page(scan, slot, &page))
		{
			ResetExprContext(econtext);
			gr_scan_take_page(s, &page);
		}
		else
			gr_scan_take_slot(s);
		MemoryContextSwitchTo(old);
	}
	ExecClearTuple(slot);
}

/* Scans the table once, with the child's instrumentation and changed parameters. */
static void
run_scan(GrScanState *s)
{
	PlanState  *child = &s->child->ss.ps;

	if (child->chgParam != NULL)
		ExecReScan(child);
	s->has_constants = false;
	if (s->has_policies)
		set_constants(s);
	s->npassed = s->nremoved = 0;
	scan_table(s);
	if (child->instrument != NULL)
		child->instrument->tuplecount += s->npassed;
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
		GrScanAggregate *a = &s->aggregates[i];
		GrTaker    *taker = a->taker;

		if (a->transition != NULL)
		{
			slot->tts_values[i] = gr_transition_partial(a->transition, &a->value, &slot->tts_isnull[i]);
			continue;
		}
		slot->tts_isnull[i] = taker == NULL;
		if (taker != NULL && a->design != NULL)
			gr_scan_design_flush(a->design);
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
		GrGroupState *of_group = &group->states[i];
		GrTransition *transition;
		GrTaker    *taker;
		GrState    *state;

		if (!IsA(((TargetEntry *) list_nth(targets, t))->expr, Aggref))
		{
			slot->tts_isnull[t] = (group->nulls & ((uint32) 1 << k)) != 0;
			slot->tts_values[t] = group->keys[k++];
			continue;
		}
		transition = s->aggregates[i].transition;
		taker = s->aggregates[i++].taker;
		if (transition != NULL)
		{
			slot->tts_values[t] = gr_transition_partial(transition, &of_group->value, &slot->tts_isnull[t]);
			continue;
		}
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
	GrNodeCounters *instrument = s->css.ss.ps.instrument;
	Size		nbytes = instrument == NULL ? 0 : MemoryContextMemAllocated(s->scan_context, true);

	if (instrument != NULL && s->transition_memory != NULL)
		nbytes += MemoryContextMemAllocated(s->transition_memory->ecxt_per_tuple_memory, true);
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
	ExprContext *econtext = node->ss.ps.ps_ExprContext;
	bool		first = !s->emitting;
	MemoryContext old;
	bool		emitted;

	if (first)
		take_all(s);
	s->emitting = true;
	ResetExprContext(econtext);
	old = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
	emitted = s->nkeys > 0 ? emit_group(s) : first;
	if (s->nkeys == 0 && first)
		emit_states(s);
	MemoryContextSwitchTo(old);
	if (!emitted)
		return NULL;
	if (node->ss.ps.ps_ProjInfo == NULL)
		return node->ss.ss_ScanTupleSlot;
	econtext->ecxt_scantuple = node->ss.ss_ScanTupleSlot;
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
	{
		s->aggregates[i].taker = NULL;
		s->aggregates[i].value = (GrTransitionValue) {0};
	}
	ExecClearTuple(node->ss.ss_ScanTupleSlot);
	close_groups(s);
	if (s->transition_memory != NULL)
		ReScanExprContext(s->transition_memory);
	MemoryContextReset(s->scan_context);
	s->next = NULL;
	s->exchange = NULL;
	s->wrote_groups = false;
	s->has_undrawn = false;
	s->fold_keys = NULL;
	s->fold_columns = NULL;
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
