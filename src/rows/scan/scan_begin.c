/*
 * scan_begin.c: begins the custom scan: finds the columns that its aggregates, WHERE clause and groups need, and how
 * each is read.
 */
#include "postgres.h"

#include "catalog/pg_aggregate.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "utils/acl.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "rows/scan/scan.h"
#include "rows/scan/scan_state.h"
#include "run/args.h"

/* Raises an error unless the aggregate's owner may execute its transition function, as the executor's node does. */
static void
check_privileges(const Aggref *aggregate)
{
	HeapTuple	tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(aggregate->aggfnoid));
	HeapTuple	function = SearchSysCache1(PROCOID, ObjectIdGetDatum(aggregate->aggfnoid));
	Oid			transition;
	Oid			owner;

	if (!HeapTupleIsValid(tuple) || !HeapTupleIsValid(function))
		elog(ERROR, "cache lookup failed for aggregate %u", aggregate->aggfnoid);
	transition = ((Form_pg_aggregate) GETSTRUCT(tuple))->aggtransfn;
	owner = ((Form_pg_proc) GETSTRUCT(function))->proowner;
	ReleaseSysCache(function);
	ReleaseSysCache(tuple);
	if (!gr_may_execute(transition, owner))
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_FUNCTION, get_func_name(transition));
}

static void
allocate_sources(GrScanAggregate *a, int n)
{
	a->nsources = n;
	a->attributes = palloc(Max(n, 1) * sizeof(AttrNumber));
	a->wanted = palloc(Max(n, 1) * sizeof(int));
	a->fixed = palloc(Max(n, 1) * sizeof(int32));
	a->row_at = palloc(Max(n, 1) * sizeof(int32));
}

/*
 * Sets a->direct if all sources are columns of numbers, with their kinds and attributes in the order of the sources.
 * The first source may have guards.
 */
static void
find_direct(GrScanAggregate *a, TupleDesc table)
{
	int			n = a->nsources;

	a->direct = !a->parts.vector;
	a->kinds = palloc(n * sizeof(GrNumberKind));
	a->row_kinds = palloc(n * sizeof(GrNumberKind));
	a->spans = palloc(n * sizeof(GrScanSpan));
	for (int k = 0; a->direct && k < n; k++)
	{
		const Expr *source = list_nth(a->parts.sources, k);

		if (k == 0)
			source = gr_without_guards(source, table, GR_SCAN_GUARDS_MAX, a->guards, &a->nguards);
		a->direct = gr_is_number_column(source, table, &a->kinds[k]);
		if (a->direct)
			a->attributes[k] = ((const Var *) source)->varattno;
	}
}

/* Begins an aggregate that isn't computed by a taker. */
static void
begin_transition(GrScanState *s, GrScanAggregate *a, bool explains)
{
	TupleDesc	table = RelationGetDescr(s->child->ss.ss_currentRelation);

	if (s->transition_memory == NULL)
	{
		s->transition_memory = CreateWorkExprContext(s->css.ss.ps.state);
		s->spill_memory = CreateExprContext(s->css.ss.ps.state);
	}
	a->transition = gr_transition_create(a->call, &s->child->ss.ps, s->transition_memory, explains);
	allocate_sources(a, gr_transition_nargs(a->transition));
	a->direct = gr_transition_direct(a->transition, table, a->attributes);
}

/* Begins an aggregate whose rows a taker takes. */
static void
begin_taker(GrScanState *s, GrScanAggregate *a, bool grouped, bool explains)
{
	PlanState  *parent = &s->child->ss.ps;
	ListCell   *cell;
	int			k = 0;

	if (!explains)
		check_privileges(a->call);
	foreach(cell, a->parts.constants)
		a->constants = lappend(a->constants, ExecInitExpr(lfirst(cell), parent));
	allocate_sources(a, list_length(a->parts.sources));
	a->sources = palloc0(a->nsources * sizeof(ExprState *));
	a->types = palloc(a->nsources * sizeof(Oid));
	a->values = palloc(a->nsources * sizeof(Datum));
	a->isnull = palloc(a->nsources * sizeof(bool));
	foreach(cell, a->parts.sources)
	{
		Expr	   *source = lfirst(cell);

		lfirst(cell) = gr_without_cast(source, &a->types[k]);
		if (a->types[k] == NUMERICOID && exprType((Node *) source) == FLOAT8OID)
			a->parts.numeric_casts = bms_add_member(a->parts.numeric_casts, k);
		k++;
	}
	find_direct(a, RelationGetDescr(s->child->ss.ss_currentRelation));
	if (!a->direct && !grouped && !a->parts.vector)
		a->design = gr_scan_design(a->parts.sources, RelationGetDescr(s->child->ss.ss_currentRelation));
	k = 0;
	foreach(cell, a->parts.sources)
		a->sources[k++] = ExecInitExpr(lfirst(cell), parent);
}

static void
begin_aggregate(GrScanState *s, GrScanAggregate *a, const Aggref *call, bool grouped, bool explains)
{
	a->call = call;
	a->filter = call->aggfilter == NULL ? NULL : ExecInitQual(list_make1(call->aggfilter), &s->child->ss.ps);
	if (gr_taker_call(call, &a->parts) && (!grouped || gr_taker_groups(&a->parts)))
		begin_taker(s, a, grouped, explains);
	else
		begin_transition(s, a, explains);
}

/*
 * Groups
 */

/* True if the equality function equal compares all bits of two values. */
static bool
is_bitwise(Oid equal)
{
	return equal == F_INT4EQ || equal == F_INT8EQ || equal == F_INT2EQ || equal == F_BOOLEQ || equal == F_DATE_EQ ||
		equal == F_TIMESTAMP_EQ || equal == F_TIMESTAMPTZ_EQ || equal == F_OIDEQ || equal == F_CHAREQ;
}

static void
begin_key(GrScanState *s, int k, Expr *expr, Oid equal, FmgrInfo *hash)
{
	TupleDesc	table = RelationGetDescr(s->child->ss.ss_currentRelation);
	/* A varchar is grouped as the text that it is. */
	const Expr *column = equal == F_TEXTEQ && IsA(expr, RelabelType) ? ((const RelabelType *) expr)->arg : expr;
	const Var  *var = IsA(column, Var) ? (const Var *) column : NULL;
	GrScanKey  *key = &s->keys[k];
	GrGroupKey *group_key = &s->group_keys[k];

	key->value = ExecInitExpr(expr, &s->child->ss.ps);
	get_typlenbyval(exprType((Node *) expr), &group_key->nbytes, &group_key->by_value);
	group_key->collation = exprCollation((Node *) expr);
	group_key->bitwise = is_bitwise(equal);
	group_key->equal = palloc(sizeof(FmgrInfo));
	fmgr_info(equal, group_key->equal);
	group_key->hash = hash;
	key->nbytes = group_key->nbytes;
	group_key->bytes = equal == F_TEXTEQ && get_collation_isdeterministic(group_key->collation);
	key->direct = var != NULL && var->varattno > 0 &&
		((group_key->by_value && group_key->bitwise) || group_key->bytes) &&
		TupleDescAttr(table, var->varattno - 1)->atttypid == var->vartype;
	if (key->direct)
		key->attribute = var->varattno;
	key->fold = gr_scan_fold(expr, table);
}

/* Begins the keys, which are the targets other than aggregates. operators: equality operators in the same order */
static void
begin_keys(GrScanState *s, List *targets, List *operators)
{
	int			n = list_length(operators);
	Oid		   *operator = palloc(Max(n, 1) * sizeof(Oid));
	Oid		   *equal;
	FmgrInfo   *hash;
	ListCell   *cell;

	if (n == 0)
		return;
	foreach(cell, operators)
		operator[foreach_current_index(cell)] = lfirst_oid(cell);
	execTuplesHashPrepare(n, operator, &equal, &hash);
	s->keys = palloc0(n * sizeof(GrScanKey));
	s->group_keys = palloc0(n * sizeof(GrGroupKey));
	s->key_values = palloc0(n * sizeof(Datum));
	foreach(cell, targets)
	{
		Expr	   *expr = ((TargetEntry *) lfirst(cell))->expr;

		if (IsA(expr, Aggref))
			continue;
		begin_key(s, s->nkeys, expr, equal[s->nkeys], &hash[s->nkeys]);
		s->nkeys++;
	}
}

/*
 * Columns
 */

static int
compare_attributes(const void *a, const void *b)
{
	return *(const AttrNumber *) a - *(const AttrNumber *) b;
}

int
gr_find_wanted(const GrHeapColumns *columns, AttrNumber attribute)
{
	const AttrNumber *found = bsearch(&attribute, columns->wanted, columns->n, sizeof(AttrNumber),
									  compare_attributes);

	return (int) (found - columns->wanted);
}

/* Finds the arguments of a transition among the scan's columns. */
static void
locate_arguments(const GrScanState *s, GrScanAggregate *a)
{
	for (int k = 0; k < a->nsources; k++)
	{
		a->wanted[k] = gr_find_wanted(&s->columns, a->attributes[k]);
		a->fixed[k] = s->columns.fixed[a->wanted[k]];
	}
}

/* Returns the number of attributes that list_wanted() lists at most. */
static int
count_wanted(const GrScanState *s)
{
	int			n = s->ncomparisons + s->nkeys;

	for (int k = 0; k < s->nkeys; k++)
		n += s->keys[k].fold == NULL ? 0 : s->keys[k].fold->n;
	for (int i = 0; i < s->naggregates; i++)
	{
		const AttrNumber *attributes;

		n += s->aggregates[i].nsources + s->aggregates[i].nguards;
		if (s->aggregates[i].design != NULL)
			n += gr_scan_design_attributes(s->aggregates[i].design, &attributes);
	}
	return n;
}

/* Lists the attributes that comparisons, direct keys, folds and direct aggregates read. Returns their number. */
static int
list_wanted(const GrScanState *s, AttrNumber *wanted)
{
	int			n = 0;

	for (int k = 0; k < s->ncomparisons; k++)
		wanted[n++] = s->comparisons[k].attribute;
	for (int k = 0; k < s->nkeys; k++)
	{
		const GrScanKey *key = &s->keys[k];

		if (key->direct)
			wanted[n++] = key->attribute;
		for (int i = 0; key->fold != NULL && i < key->fold->n; i++)
			wanted[n++] = key->fold->attributes[i];
	}
	for (int i = 0; i < s->naggregates; i++)
	{
		const GrScanAggregate *a = &s->aggregates[i];

		if (a->design != NULL)
		{
			const AttrNumber *attributes;
			int			nattributes = gr_scan_design_attributes(a->design, &attributes);

			for (int k = 0; k < nattributes; k++)
				wanted[n++] = attributes[k];
		}
		for (int k = 0; a->direct && k < a->nsources; k++)
			wanted[n++] = a->attributes[k];
		for (int k = 0; a->direct && k < a->nguards; k++)
			wanted[n++] = a->guards[k];
	}
	return n;
}

/* Finds the wanted attributes among s->columns. Those of sources are found when their aggregate starts. */
static void
find_wanted(GrScanState *s)
{
	for (int k = 0; k < s->ncomparisons; k++)
		s->comparisons[k].wanted = gr_find_wanted(&s->columns, s->comparisons[k].attribute);
	for (int k = 0; k < s->nkeys; k++)
	{
		GrScanKey  *key = &s->keys[k];

		if (key->direct)
			key->wanted = gr_find_wanted(&s->columns, key->attribute);
		for (int i = 0; key->fold != NULL && i < key->fold->n; i++)
			key->fold->wanted[i] = gr_find_wanted(&s->columns, key->fold->attributes[i]);
	}
	for (int i = 0; i < s->naggregates; i++)
	{
		GrScanAggregate *a = &s->aggregates[i];

		if (a->transition != NULL && a->direct)
			locate_arguments(s, a);
		if (a->design != NULL)
			gr_scan_design_locate(a->design, &s->columns);
		for (int k = 0; a->direct && k < a->nguards; k++)
			a->guards_wanted[k] = gr_find_wanted(&s->columns, a->guards[k]);
	}
}

/* Sets s->columns to the attributes that are read from tuples. */
static void
want_columns(GrScanState *s)
{
	AttrNumber *wanted = palloc(Max(count_wanted(s), 1) * sizeof(AttrNumber));
	int			n = list_wanted(s, wanted);
	int			nwanted = 0;

	qsort(wanted, n, sizeof(AttrNumber), compare_attributes);
	for (int k = 0; k < n; k++)
		if (nwanted == 0 || wanted[nwanted - 1] != wanted[k])
			wanted[nwanted++] = wanted[k];
	gr_heap_want(&s->columns, RelationGetDescr(s->child->ss.ss_currentRelation), nwanted, wanted);
	s->at = palloc(Max(nwanted, 1) * sizeof(int32));
	find_wanted(s);
}

/* Fills a's arrays in the order of a row: the nroles sources with a role, which are the first sources, come last. */
static void
order_as_row(GrScanState *s, GrScanAggregate *a, int nroles)
{
	int			n = a->nsources;

	a->nroles = nroles;
	a->nspans = 0;
	a->all_float8 = true;
	a->any_bigint = false;
	for (int k = 0; k < n; k++)
	{
		int			from = (k + nroles) % n;

		a->row_kinds[k] = a->kinds[from];
		if (a->kinds[from] == GR_INT8 && !a->taker->columns->column[from].rounds)
			a->row_kinds[k] = GR_INT8_EXACT;
		a->any_bigint |= a->row_kinds[k] == GR_INT8_EXACT;
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

pg_noinline void
gr_scan_start_aggregate(GrScanState *s, GrScanAggregate *a)
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
	if (a->design != NULL)
		gr_scan_design_start(a->design, a->taker);
	if (s->nkeys > 0)
		a->states = palloc(GR_TAKER_ROWS_MAX * sizeof(struct GrState **));
	MemoryContextSwitchTo(old);
}

/* Collects the comparisons in the WHERE clause. */
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

		if (gr_is_comparison(lfirst(cell), table, s->has_policies, comparison))
			s->constants[s->ncomparisons++] = ExecInitExpr(comparison->constant, &s->child->ss.ps);
		else
			s->has_more = true;
	}
}

void
gr_scan_begin(CustomScanState *node, EState *estate, int eflags)
{
	GrScanState *s = (GrScanState *) node;
	CustomScan *plan = (CustomScan *) node->ss.ps.plan;
	ListCell   *cell;

	s->child = castNode(SeqScanState, ExecInitNode(linitial(plan->custom_plans), estate, eflags));
	node->custom_ps = list_make1(s->child);
	s->has_policies = lsecond(plan->custom_private) != NIL;
	s->scan_context = AllocSetContextCreate(estate->es_query_cxt, "gpureg scan", ALLOCSET_DEFAULT_SIZES);
	s->aggregates = palloc0(list_length(plan->custom_scan_tlist) * sizeof(GrScanAggregate));
	foreach(cell, plan->custom_scan_tlist)
	{
		Expr	   *expr = ((TargetEntry *) lfirst(cell))->expr;

		if (IsA(expr, Aggref))
			begin_aggregate(s, &s->aggregates[s->naggregates++], (Aggref *) expr, linitial(plan->custom_private) != NIL,
							(eflags & EXEC_FLAG_EXPLAIN_ONLY) != 0);
	}
	begin_keys(s, plan->custom_scan_tlist, linitial(plan->custom_private));
	begin_where(s);
	want_columns(s);
	s->by_slot = s->has_more;
	for (int i = 0; i < s->naggregates; i++)
		s->by_slot |= (!s->aggregates[i].direct && s->aggregates[i].design == NULL) || s->aggregates[i].filter != NULL;
	for (int k = 0; k < s->nkeys; k++)
		s->by_slot |= !s->keys[k].direct && s->keys[k].fold == NULL;
}
