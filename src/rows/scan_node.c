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

#include "catalog/pg_aggregate.h"
#include "catalog/pg_proc.h"
#include "commands/explain.h"
#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#endif
#include "executor/executor.h"
#include "executor/nodeSeqscan.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "rows/heap_rows.h"
#include "rows/scan.h"
#include "rows/scan_values.h"
#include "rows/taker.h"

/* An aggregate, and how a tuple becomes a row of it */
typedef struct ScanAggregate
{
	const Aggref *call;
	GrTakerCall parts;
	ExprState  *filter;
	List	   *constants;		/* ExprStates */
	int			nsources;
	ExprState **sources;		/* NULL each where all are columns of numbers */
	Oid		   *types;			/* of their values */
	Datum	   *values;
	bool	   *isnull;

	bool		direct;			/* all sources are columns of numbers */
	GrNumberKind *kinds;		/* of these */
	AttrNumber *attributes;
	/* of such a row's numbers, in their order: how and where they are read */
	int			nroles;			/* the last ones */
	GrNumberKind *row_kinds;
	int		   *wanted;			/* which of the wanted attributes */
	int32	   *fixed;			/* where they are in tuples without NULLs, if that is always the same */
	int32	   *row_at;			/* where they are in another */
	bool		all_float8;

	GrTaker    *taker;			/* of the scan that is running */
} ScanAggregate;

typedef struct GrScanState
{
	CustomScanState css;
	SeqScanState *child;
	int			naggregates;
	ScanAggregate *aggregates;
	int			ncomparisons;
	GrComparison *comparisons;	/* of the WHERE clause: what doesn't pass one isn't wanted */
	ExprState **constants;		/* of these */
	bool		has_more;		/* clauses than those */
	bool		by_slot;		/* something is wanted that only a slot can give */
	GrHeapColumns columns;		/* what comparisons and direct aggregates want of a tuple */
	int32	   *at;				/* where that is, in one that isn't like others */
	HeapTupleData tuple;		/* the one in the child's slot */
	MemoryContext scan_context; /* of what lives as long as a scan */
	double		npassed;
	double		nremoved;		/* by the WHERE clause */
	bool		done;
} GrScanState;

/*
 * Begin
 */

/* ERROR unless the aggregate's owner may call what it is made of, as the executor's own node would find. */
static void
check_privileges(const Aggref *aggregate)
{
	HeapTuple	tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(aggregate->aggfnoid));
	HeapTuple	function = SearchSysCache1(PROCOID, ObjectIdGetDatum(aggregate->aggfnoid));
	Oid			transition;
	Oid			owner;
	AclResult	result;

	if (!HeapTupleIsValid(tuple) || !HeapTupleIsValid(function))
		elog(ERROR, "cache lookup failed for aggregate %u", aggregate->aggfnoid);
	transition = ((Form_pg_aggregate) GETSTRUCT(tuple))->aggtransfn;
	owner = ((Form_pg_proc) GETSTRUCT(function))->proowner;
	ReleaseSysCache(function);
	ReleaseSysCache(tuple);
#if PG_VERSION_NUM >= 160000
	result = object_aclcheck(ProcedureRelationId, transition, owner, ACL_EXECUTE);
#else
	result = pg_proc_aclcheck(transition, owner, ACL_EXECUTE);
#endif
	if (result != ACLCHECK_OK)
		aclcheck_error(result, OBJECT_FUNCTION, get_func_name(transition));
}

/* Are all sources columns of numbers? Then their kinds, in the order of a row */
static void
find_direct(ScanAggregate *a, TupleDesc table)
{
	int			n = a->nsources;

	a->direct = !a->parts.vector;
	a->kinds = palloc(n * sizeof(GrNumberKind));
	a->row_kinds = palloc(n * sizeof(GrNumberKind));
	a->attributes = palloc(n * sizeof(AttrNumber));
	a->wanted = palloc(n * sizeof(int));
	a->fixed = palloc(n * sizeof(int32));
	a->row_at = palloc(n * sizeof(int32));
	for (int k = 0; a->direct && k < n; k++)
	{
		const Expr *source = list_nth(a->parts.sources, k);

		a->direct = gr_is_number_column(source, table, &a->kinds[k]);
		if (a->direct)
			a->attributes[k] = ((const Var *) source)->varattno;
	}
}

static void
begin_aggregate(GrScanState *s, ScanAggregate *a, const Aggref *call, bool explains)
{
	PlanState  *parent = &s->child->ss.ps;
	ListCell   *cell;
	int			k = 0;

	a->call = call;
	if (!explains)
		check_privileges(call);
	if (!gr_taker_call(call, &a->parts))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("aggregate %s was changed since the statement was planned", get_func_name(call->aggfnoid))));
	a->filter = call->aggfilter == NULL ? NULL : ExecInitQual(list_make1(call->aggfilter), parent);
	foreach(cell, a->parts.constants)
		a->constants = lappend(a->constants, ExecInitExpr(lfirst(cell), parent));
	a->nsources = list_length(a->parts.sources);
	a->sources = palloc0(a->nsources * sizeof(ExprState *));
	a->types = palloc(a->nsources * sizeof(Oid));
	a->values = palloc(a->nsources * sizeof(Datum));
	a->isnull = palloc(a->nsources * sizeof(bool));
	foreach(cell, a->parts.sources)
		lfirst(cell) = gr_without_cast(lfirst(cell), &a->types[k++]);
	find_direct(a, RelationGetDescr(s->child->ss.ss_currentRelation));
	k = 0;
	foreach(cell, a->parts.sources)
		a->sources[k++] = ExecInitExpr(lfirst(cell), parent);
}

static int
compare_attributes(const void *a, const void *b)
{
	return *(const AttrNumber *) a - *(const AttrNumber *) b;
}

static int
find_wanted(const GrHeapColumns *columns, AttrNumber attribute)
{
	const AttrNumber *found = bsearch(&attribute, columns->wanted, columns->n, sizeof(AttrNumber),
									  compare_attributes);

	return (int) (found - columns->wanted);
}

/* Which attributes are wanted of a tuple as they lie there */
static void
want_columns(GrScanState *s)
{
	int			n = s->ncomparisons;
	AttrNumber *wanted;
	int			nwanted = 0;

	for (int i = 0; i < s->naggregates; i++)
		n += s->aggregates[i].nsources;
	wanted = palloc(Max(n, 1) * sizeof(AttrNumber));
	n = 0;
	for (int k = 0; k < s->ncomparisons; k++)
		wanted[n++] = s->comparisons[k].attribute;
	for (int i = 0; i < s->naggregates; i++)
		for (int k = 0; s->aggregates[i].direct && k < s->aggregates[i].nsources; k++)
			wanted[n++] = s->aggregates[i].attributes[k];
	qsort(wanted, n, sizeof(AttrNumber), compare_attributes);
	for (int k = 0; k < n; k++)
		if (nwanted == 0 || wanted[nwanted - 1] != wanted[k])
			wanted[nwanted++] = wanted[k];
	gr_heap_want(&s->columns, RelationGetDescr(s->child->ss.ss_currentRelation), nwanted, wanted);
	s->at = palloc(Max(nwanted, 1) * sizeof(int32));
	for (int k = 0; k < s->ncomparisons; k++)
		s->comparisons[k].wanted = find_wanted(&s->columns, s->comparisons[k].attribute);
}

/* Turns the order of the sources, those with a role first, into that of a row, where they are last. */
static void
order_as_row(GrScanState *s, ScanAggregate *a, int nroles)
{
	int			n = a->nsources;

	a->nroles = nroles;
	a->all_float8 = true;
	for (int k = 0; k < n; k++)
	{
		int			from = (k + nroles) % n;

		a->row_kinds[k] = a->kinds[from];
		a->wanted[k] = find_wanted(&s->columns, a->attributes[from]);
		a->fixed[k] = s->columns.fixed[a->wanted[k]];
		a->all_float8 &= a->row_kinds[k] == GR_FLOAT8;
	}
}

/* The comparisons in the WHERE clause */
static void
begin_where(GrScanState *s)
{
	List	   *clauses = s->child->ss.ps.plan->qual;
	TupleDesc	table = RelationGetDescr(s->child->ss.ss_currentRelation);
	ListCell   *cell;

	s->comparisons = palloc(Max(list_length(clauses), 1) * sizeof(GrComparison));
	s->constants = palloc(Max(list_length(clauses), 1) * sizeof(ExprState *));
	foreach(cell, clauses)
	{
		GrComparison *comparison = &s->comparisons[s->ncomparisons];

		if (gr_is_comparison(lfirst(cell), table, comparison))
			s->constants[s->ncomparisons++] = ExecInitExpr(comparison->constant, &s->child->ss.ps);
		else
			s->has_more = true;
	}
}

static void
begin_scan(CustomScanState *node, EState *estate, int eflags)
{
	GrScanState *s = (GrScanState *) node;
	CustomScan *plan = (CustomScan *) node->ss.ps.plan;
	ListCell   *cell;

	s->child = castNode(SeqScanState, ExecInitNode(linitial(plan->custom_plans), estate, eflags));
	node->custom_ps = list_make1(s->child);
	s->scan_context = AllocSetContextCreate(estate->es_query_cxt, "gpureg scan", ALLOCSET_DEFAULT_SIZES);
	s->aggregates = palloc0(list_length(plan->custom_scan_tlist) * sizeof(ScanAggregate));
	foreach(cell, plan->custom_scan_tlist)
		begin_aggregate(s, &s->aggregates[s->naggregates++],
						castNode(Aggref, ((TargetEntry *) lfirst(cell))->expr),
						(eflags & EXEC_FLAG_EXPLAIN_ONLY) != 0);
	begin_where(s);
	want_columns(s);
	s->by_slot = s->has_more;
	for (int i = 0; i < s->naggregates; i++)
		s->by_slot |= !s->aggregates[i].direct || s->aggregates[i].filter != NULL;
}

/*
 * Rows
 */

/* At an aggregate's first row */
static pg_noinline void
start_aggregate(GrScanState *s, ScanAggregate *a)
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
	MemoryContextSwitchTo(old);
}

/* Numbers from where they are as the next row of a taker that has room */
static inline void
read_row(ScanAggregate *a, const char *data, const int32 *at)
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
take_direct(GrScanState *s, ScanAggregate *a, const char *data, const int32 *at)
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
take_values(GrScanState *s, ScanAggregate *a)
{
	ExprContext *econtext = s->child->ss.ps.ps_ExprContext;

	for (int k = 0; k < a->nsources; k++)
		a->values[k] = ExecEvalExpr(a->sources[k], econtext, &a->isnull[k]);
	gr_taker_take(a->taker, a->values, a->isnull);
}

/* A row that the WHERE clause has let through. data: of the tuple, NULL: there is only the slot */
static inline void
take_row(GrScanState *s, const char *data, const int32 *at)
{
	s->npassed++;
	for (int i = 0; i < s->naggregates; i++)
	{
		ScanAggregate *a = &s->aggregates[i];

		if (a->filter != NULL && !ExecQual(a->filter, s->child->ss.ps.ps_ExprContext))
			continue;
		if (unlikely(a->taker == NULL))
			start_aggregate(s, a);
		if (a->direct && data != NULL)
			take_direct(s, a, data, at);
		else
			take_values(s, a);
	}
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
		(void) gr_heap_locate(&s->columns, tuple, s->at);
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
			for (int k = 0; k < page.n; k++)
				take_tuple(s, &page, k);
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

/* Scans the table, and puts the partial states into the node's slot. */
static void
run_scan(GrScanState *s)
{
	PlanState  *child = &s->child->ss.ps;
	TupleTableSlot *slot = s->css.ss.ss_ScanTupleSlot;

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

	if (s->done)
		return ExecClearTuple(node->ss.ps.ps_ResultTupleSlot);
	run_scan(s);
	s->done = true;
	if (node->ss.ps.ps_ProjInfo == NULL)
		return node->ss.ss_ScanTupleSlot;
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
	MemoryContextReset(s->scan_context);
	s->done = false;
	if (node->ss.ps.chgParam != NULL)
		UpdateChangedParamSet(child, node->ss.ps.chgParam);
	if (child->chgParam == NULL)
		ExecReScan(child);
}

static void
end_scan(CustomScanState *node)
{
	ExecEndNode(&((GrScanState *) node)->child->ss.ps);
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
	.BeginCustomScan = begin_scan,
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
