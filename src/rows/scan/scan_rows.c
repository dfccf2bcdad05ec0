/*
 * scan_rows.c: gives the rows of a custom scan to its aggregates.
 *
 * A tuple is read in one of three ways. If only numbers are needed, they are read from the page. If the WHERE clause
 * has more than comparisons of such columns with constants, or an aggregate needs more than such columns, the tuple is
 * put into the child's slot, and the executor's expressions are evaluated over the slot. Tables that aren't heaps
 * return slots only. In each way the rows' numbers are collected in blocks by the aggregates' takers.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "utils/rel.h"

#include "rows/ring/ring_producer.h"
#include "rows/scan/scan_state.h"

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

/*
 * Skips a row in which a column is NULL. Raises an error if a numeric whose cast was removed is beyond float8's range,
 * as the cast would. at: as in take_direct()
 */
static pg_noinline void
skip_row(GrScanAggregate *a, const char *data, const int32 *at)
{
	int			n = a->nsources;

	a->taker->nskipped++;
	for (int k = 0; k < n; k++)
		if (at[a->wanted[k]] >= 0 && bms_is_member((k + a->nroles) % n, a->parts.numeric_casts))
			(void) gr_read_numeric(data + at[a->wanted[k]]);
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
	for (int k = 0; k < a->nguards; k++)
	{
		if (at[a->guards_wanted[k]] < 0)
		{
			skip_row(a, data, at);
			return;
		}
	}
	for (int k = 0; k < a->nsources; k++)
	{
		a->row_at[k] = at[a->wanted[k]];
		if (a->row_at[k] < 0)
		{
			skip_row(a, data, at);
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

/* Gives a row to an aggregate's transition function. data, at: as in take_of_aggregate() */
static pg_noinline void
take_transition(GrScanState *s, GrScanAggregate *a, GrTransitionValue *value, const char *data, const int32 *at)
{
	if (!a->direct || data == NULL)
		gr_transition_take(a->transition, value, s->child->ss.ps.ps_ExprContext);
	else if (likely(at == NULL))
		gr_transition_take_direct(a->transition, value, data, a->fixed);
	else
	{
		for (int k = 0; k < a->nsources; k++)
			a->row_at[k] = at[a->wanted[k]];
		gr_transition_take_direct(a->transition, value, data, a->row_at);
	}
}

/*
 * Gives a row to an aggregate. False if its FILTER rejects the row. value: receives the row if the aggregate has a
 * transition; data: the tuple's, or NULL to read the slot; at: offsets of the wanted attributes, or NULL: fixed ones
 */
static pg_attribute_always_inline bool
take_of_aggregate(GrScanState *s, GrScanAggregate *a, GrTransitionValue *value, const char *data, const int32 *at)
{
	if (a->filter != NULL && !ExecQual(a->filter, s->child->ss.ps.ps_ExprContext))
		return false;
	if (unlikely(a->transition != NULL))
	{
		take_transition(s, a, value, data, at);
		return true;
	}
	if (unlikely(a->taker == NULL))
		gr_scan_start_aggregate(s, a);
	if (a->direct && data != NULL)
		take_direct(s, a, data, at);
	else if (a->design != NULL && data != NULL)
		gr_scan_design_take(a->design, data, at);
	else
	{
		/* rows keep their order */
		if (a->design != NULL)
			gr_scan_design_flush(a->design);
		take_values(s, a);
	}
	return true;
}

/*
 * Groups
 */

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

/* Returns the text at address at, or behind the padding there, in one piece. May allocate in the row's memory. */
static inline Datum
read_text(GrScanState *s, struct varlena *text)
{
	ExprContext *econtext = s->child->ss.ps.ps_ExprContext;
	MemoryContext old;

	if (likely(!VARATT_IS_EXTERNAL(text) && !VARATT_IS_COMPRESSED(text)))
		return PointerGetDatum(text);
	old = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
	text = pg_detoast_datum_packed(text);
	MemoryContextSwitchTo(old);
	s->has_texts = true;
	return PointerGetDatum(text);
}

/* Sets s->key_values to the row's keys. Returns a bit mask of the keys that are NULL. */
static uint32
find_keys(GrScanState *s, const char *data, const int32 *at)
{
	uint32		nulls = 0;

	/* with by_slot, each row begins by a reset */
	if (unlikely(s->has_texts))
	{
		s->has_texts = false;
		if (!s->by_slot)
			ResetExprContext(s->child->ss.ps.ps_ExprContext);
	}
	for (int k = 0; k < s->nkeys; k++)
	{
		const GrScanKey *key = &s->keys[k];
		bool		isnull = false;

		if (key->direct && data != NULL)
		{
			int32		offset = at == NULL ? s->columns.fixed[key->wanted] : at[key->wanted];

			isnull = offset < 0;
			if (!isnull)
				s->key_values[k] = s->group_keys[k].bytes ? read_text(s, gr_heap_varlena(data + offset)) :
					gr_read_by_value(key->nbytes, data + offset);
		}
		else if (key->fold != NULL && data != NULL)
			s->key_values[k] = Int32GetDatum(gr_scan_fold_of(key->fold, data, at == NULL ? s->columns.fixed : at,
															 &isnull));
		else
		{
			s->key_values[k] = ExecEvalExpr(key->value, s->child->ss.ps.ps_ExprContext, &isnull);
			if (s->group_keys[k].bitwise)
				s->key_values[k] = without_more_bits(s->key_values[k], key->nbytes);
			else if (s->group_keys[k].bytes && !isnull)
				s->key_values[k] = read_text(s, (struct varlena *) DatumGetPointer(s->key_values[k]));
		}
		nulls |= isnull ? (uint32) 1 << k : 0;
	}
	return nulls;
}

/* Writes the partial state of one row of an aggregate with a transition to a file. */
static pg_noinline void
spill_transition(GrScanState *s, GrScanAggregate *a, BufFile *file, const char *data, const int32 *at)
{
	GrTransitionValue value = {0};

	gr_transition_use(a->transition, s->spill_memory);
	if (take_of_aggregate(s, a, &value, data, at))
	{
		gr_spill_part(file, GR_SPILLED_PARTIAL, NULL, 0);
		gr_transition_write(a->transition, &value, file);
	}
	else
		gr_spill_part(file, GR_SPILLED_NOTHING, NULL, 0);
	gr_transition_use(a->transition, s->transition_memory);
	ReScanExprContext(s->spill_memory);
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
		GrScanAggregate *a = &s->aggregates[i];

		if (a->transition == NULL)
		{
			int64		nrows = a->taker == NULL ? 0 : a->taker->nrows;

			if (take_of_aggregate(s, a, NULL, data, at))
				gr_scan_put(s, i, group, file, nrows);
			else if (group == NULL)
				gr_spill_part(file, GR_SPILLED_NOTHING, NULL, 0);
		}
		else if (group == NULL)
			spill_transition(s, a, file, data, at);
		else
			(void) take_of_aggregate(s, a, &group->states[i].value, data, at);
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
		(void) take_of_aggregate(s, &s->aggregates[i], &s->aggregates[i].value, data, at);
}

void
gr_scan_take_slot(GrScanState *s)
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
		gr_scan_take_slot(s);
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

/* True if a page's tuples can be filtered first, and then given to one aggregate after the other. */
static inline bool
takes_batches(const GrScanState *s)
{
	return s->nkeys == 0 && !s->by_slot && s->columns.all_fixed;
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

/* Appends n rows of float8, without a weight, to a taker that has room for them. */
static inline void
copy_rows(GrScanAggregate *a, const char *const *rows, int n)
{
	const int	nspans = a->nspans;
	const GrScanSpan *spans = a->spans;
	const Size	row_nbytes = a->taker->row_nbytes;
	char	   *at = a->taker->at;

	for (int k = 0; k < n; k++, at += row_nbytes)
	{
		double	   *row = (double *) at;

		for (int span = 0; span < nspans; span++)
			row = copy_span(row, rows[k] + spans[span].from, spans[span].n);
	}
	a->taker->at = at;
	a->taker->nrows += n;
}

/* Appends n rows, whose data is at rows[], to the taker of an aggregate that is direct or has a design. */
static void
take_rows(GrScanState *s, GrScanAggregate *a, const char *const *rows, int n)
{
	GrTaker    *taker;

	if (n > 0 && unlikely(a->taker == NULL))
		gr_scan_start_aggregate(s, a);
	taker = a->taker;
	for (int k = 0; a->design != NULL && k < n; k++)
		gr_scan_design_take(a->design, rows[k], NULL);
	while (a->design == NULL && n > 0)
	{
		int			now;

		if (!gr_taker_make_room(taker))
			return;
		now = (int) Min(n, taker->capacity - taker->nrows);
		if (a->all_float8 && !taker->shape.single && !taker->columns->weight)
			copy_rows(a, rows, now);
		else
			for (int k = 0; k < now; k++)
				read_row(a, rows[k], a->fixed);
		rows += now;
		n -= now;
	}
}

/* Gives n rows that passed the WHERE clause, whose data is at rows[], to all aggregates. */
static void
take_batch(GrScanState *s, const char *const *rows, int n)
{
	s->npassed += n;
	for (int i = 0; i < s->naggregates; i++)
	{
		GrScanAggregate *a = &s->aggregates[i];

		if (a->transition != NULL)
			gr_transition_take_rows(a->transition, &a->value, rows, n, a->fixed);
		else
			take_rows(s, a, rows, n);
	}
}

/* Returns the position in a's rows of a wanted attribute; -1: there is none */
static int
find_in_row(const GrScanAggregate *a, int wanted)
{
	for (int k = 0; k < a->nsources; k++)
		if (a->wanted[k] == wanted)
			return k;
	return -1;
}

/* True if the scan has one aggregate, over float8 at fixed offsets, and only comparisons in WHERE. */
static inline bool
is_simple(const GrScanState *s)
{
	const GrScanAggregate *a = &s->aggregates[0];

	return s->naggregates == 1 && !s->by_slot && s->columns.all_fixed && a->direct && a->taker != NULL &&
		a->all_float8 && !a->taker->shape.single && !a->taker->columns->weight;
}

/*
 * True if the folds of an aggregate's rows can be drawn together: from a key, or from columns which are all in the
 * rows. Prepares this at the first call.
 */
static bool
has_simple_folds(GrScanState *s)
{
	const GrScanAggregate *a = &s->aggregates[0];
	const GrScanFold *fold = s->nkeys == 1 ? s->keys[0].fold : NULL;

	if (fold == NULL || s->exchange != NULL || s->groups == NULL)
		return false;
	if (s->fold_keys != NULL || s->fold_columns != NULL)
		return true;
	if (fold->by_key)
	{
		s->fold_keys = MemoryContextAlloc(s->scan_context, GR_TAKER_ROWS_MAX * sizeof(int64));
		return true;
	}
	if (!fold->all_float8 || a->nsources > FUNC_MAX_ARGS)
		return false;
	for (int k = 0; k < fold->n; k++)
		if (find_in_row(a, fold->wanted[k]) < 0)
			return false;
	s->fold_columns = MemoryContextAlloc(s->scan_context, fold->n * sizeof(int));
	for (int k = 0; k < fold->n; k++)
		s->fold_columns[k] = find_in_row(a, fold->wanted[k]);
	return true;
}

/* Gives the rows of simple pages to their groups. */
static void
put_folds(GrScanState *s)
{
	s->has_undrawn = s->aggregates[0].taker->nrows > 0;
	gr_scan_put_folds(s);
}

/*
 * Does what take_tuple() does for each tuple of a page, if is_simple(). The next row overwrites one that fails the
 * WHERE clause. n: number of comparisons, a compile-time constant if it is 0 or 1. folds: rows are grouped by their
 * folds, see has_simple_folds(); a compile-time constant. The taker's members and the first comparison are copied to
 * local variables: a compiler must assume that writing a row changes the originals.
 */
static pg_attribute_always_inline void
take_simple_page(GrScanState *s, const GrHeapPage *page, int n, bool folds)
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
	int64	   *keys = folds ? s->fold_keys : NULL;
	const int32 key_from = keys == NULL ? 0 : s->columns.fixed[s->keys[0].fold->wanted[0]];
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
			if (folds)
				put_folds(s);
			if (other)
				take_tuple(s, page, k);
			else
				(void) gr_taker_make_room(taker);
			if (folds && other)
				gr_scan_scatter(s, a);
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
		if (folds && keys != NULL)
			keys[nrows] = gr_scan_fold_key(s->keys[0].fold, data + key_from);
		nrows += passes;
		at += passes ? row_nbytes : 0;
	}
	taker->at = at;
	taker->nrows = nrows;
	if (folds)
		s->has_undrawn = nrows > 0;
	s->npassed += npassed;
	s->nremoved += page->n - nother - npassed;
}

/*
 * Does what take_tuple() does for each tuple of a page, if takes_batches(). n: number of comparisons, a compile-time
 * constant if it is 0 or 1. The first comparison is copied to a local variable: a compiler must assume that writing
 * rows[] changes the original.
 */
static pg_attribute_always_inline void
take_batches(GrScanState *s, const GrHeapPage *page, int n)
{
	const GrComparison first = n == 0 ? (GrComparison) {0} : s->comparisons[0];
	const int32 first_from = n == 0 ? 0 : s->columns.fixed[first.wanted];
	const int	natts = s->columns.last;
	const char *rows[MaxHeapTuplesPerPage];
	int			nrows = 0;
	int			nseen = 0;		/* tuples since the last batch was given away */

	for (int k = 0; k < page->n; k++)
	{
		HeapTupleHeader tuple = gr_heap_tuple(page, k);
		const char *data = (const char *) tuple + tuple->t_hoff;
		bool		passes;

		gr_heap_fetch(page, k + GR_HEAP_AHEAD);
		if (unlikely((tuple->t_infomask & HEAP_HASNULL) != 0 || HeapTupleHeaderGetNatts(tuple) < natts))
		{
			s->nremoved += nseen - nrows;
			take_batch(s, rows, nrows);
			nrows = nseen = 0;
			take_tuple(s, page, k);
			continue;
		}
		passes = n == 0 || (!first.nothing & gr_passes(&first, data + first_from));
		for (int c = 1; c < n; c++)
			passes &= !s->comparisons[c].nothing &
				gr_passes(&s->comparisons[c], data + s->columns.fixed[s->comparisons[c].wanted]);
		rows[nrows] = data;
		nrows += passes;
		nseen++;
	}
	s->nremoved += nseen - nrows;
	take_batch(s, rows, nrows);
}

void
gr_scan_take_page(GrScanState *s, const GrHeapPage *page)
{
	for (int k = 0; k < GR_HEAP_AHEAD; k++)
		gr_heap_fetch(page, k);
	if (is_simple(s) && (s->nkeys == 0 || has_simple_folds(s)))
	{
		/* Rows before the first simple page have their groups. */
		if (s->nkeys > 0 && !s->has_undrawn)
			gr_scan_scatter(s, &s->aggregates[0]);
		if (s->nkeys > 0)
			take_simple_page(s, page, s->ncomparisons, true);
		else if (s->ncomparisons == 0)
			take_simple_page(s, page, 0, false);
		else if (s->ncomparisons == 1)
			take_simple_page(s, page, 1, false);
		else
			take_simple_page(s, page, s->ncomparisons, false);
		return;
	}
	if (takes_batches(s))
	{
		if (s->ncomparisons == 0)
			take_batches(s, page, 0);
		else if (s->ncomparisons == 1)
			take_batches(s, page, 1);
		else
			take_batches(s, page, s->ncomparisons);
		return;
	}
	for (int k = 0; k < page->n; k++)
	{
		gr_heap_fetch(page, k + GR_HEAP_AHEAD);
		take_tuple(s, page, k);
	}
}
