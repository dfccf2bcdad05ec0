/*
 * scan_grouped.c: distributes the rows of a custom scan to groups, and finds the groups to be returned.
 *
 * Without an exchange, a process returns its groups from memory, and then those of one file after another. In an
 * exchange, a process first writes all its groups to files, and then returns the groups of the partitions it reads.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "rows/scan/scan_state.h"
#include "rows/state/fold_key.h"
#include "rows/state/state.h"
#include "run/spool.h"

/*
 * In an exchange, a full hash table is emptied into files if its groups have this many rows on average, as they have if
 * the scanned table is roughly in the order of the keys.
 */
#define ROWS_WORTH_A_STATE 32

pg_noinline void
gr_scan_begin_groups(GrScanState *s)
{
	MemoryContext old = MemoryContextSwitchTo(s->scan_context);

	s->groups = gr_groups_create(s->nkeys, s->group_keys, s->naggregates, get_hash_memory_limit(),
								 s->transition_memory);
	if (s->exchange != NULL)
		gr_groups_exchange(s->groups, s->exchange, s->process);
	MemoryContextSwitchTo(old);
}

/* Estimates the memory of a new group, and counts the groups that have all their states. */
static void
reckon_group(GrScanState *s)
{
	s->groups->group_nbytes = sizeof(GrGroup);
	s->groups->nwith_states = s->groups->n;
	for (int i = 0; i < s->naggregates; i++)
	{
		const GrTaker *taker = s->aggregates[i].taker;

		if (taker == NULL || taker->state == NULL)
			continue;
		s->groups->group_nbytes += gr_taker_group_nbytes(taker);
		s->groups->nwith_states = Min(s->groups->nwith_states, s->aggregates[i].nwith_states);
	}
}

/* Moves the rows of the aggregate's taker into states of their groups. */
static void
scatter(GrScanState *s, GrScanAggregate *a)
{
	gr_taker_scatter(a->taker, a->states, s->groups->context, gr_groups_memory_limit(s->groups));
	a->nwith_states = s->groups->n;
	reckon_group(s);
}

/* Returns the group of a fold, or NULL after beginning a record in *file if there is no memory for the group. */
static GrGroup *
find_fold_group(GrScanState *s, int32 fold, BufFile **file)
{
	uint32		hash;
	GrGroup    *group;

	s->key_values[0] = Int32GetDatum(fold);
	hash = gr_groups_hash(s->groups, s->key_values, 0);
	group = gr_groups_find(s->groups, hash, s->key_values, 0);
	return group == NULL ? gr_scan_make_room(s, hash, 0, file) : group;
}

/*
 * Finds the groups of the taker's rows by their folds. Rows without a group in memory go to files, and the others close
 * the gaps.
 */
static void
find_fold_groups(GrScanState *s, GrScanAggregate *a)
{
	GrTaker    *taker = a->taker;
	const GrScanFold *fold = s->keys[0].fold;
	GrGroup    *known[GR_NET_FOLDS_MAX + 1];	/* groups of this block's folds; NULL: not looked for yet */
	int32		folds[GR_TAKER_ROWS_MAX];
	int64		n = 0;

	if (fold->by_key)
		gr_scan_draw_key_folds(fold, s->fold_keys, taker->nrows, folds);
	else
		gr_scan_draw_folds(fold, (const double *) taker->rows, taker->nrows, a->nsources, s->fold_columns, folds);
	memset(known, 0, (fold->nfolds + 1) * sizeof(GrGroup *));
	for (int64 k = 0; k < taker->nrows; k++)
	{
		char	   *row = taker->rows + k * taker->row_nbytes;
		BufFile    *file = NULL;
		GrGroup    *group = known[folds[k]];

		if (group == NULL)
			group = known[folds[k]] = find_fold_group(s, folds[k], &file);
		if (unlikely(group == NULL))
		{
			gr_spill_part(file, GR_SPILLED_ROW, row, taker->row_nbytes);
			continue;
		}
		if (n < k)
			memcpy(taker->rows + n * taker->row_nbytes, row, taker->row_nbytes);
		a->states[n++] = &group->states[0].state;
	}
	taker->nrows = n;
}

void
gr_scan_put_folds(GrScanState *s)
{
	GrScanAggregate *a = &s->aggregates[0];

	if (!s->has_undrawn)
		return;
	s->has_undrawn = false;
	reckon_group(s);
	find_fold_groups(s, a);
	scatter(s, a);
	a->taker->at = a->taker->rows;
}

void
gr_scan_scatter(GrScanState *s, GrScanAggregate *a)
{
	gr_scan_put_folds(s);
	scatter(s, a);
}

/* Counts the groups with states anew, as no group is in memory. */
static void
forget_states(GrScanState *s)
{
	for (int i = 0; i < s->naggregates; i++)
		s->aggregates[i].nwith_states = 0;
}

static void
scatter_all(GrScanState *s)
{
	for (int i = 0; i < s->naggregates; i++)
		if (s->aggregates[i].taker != NULL)
			gr_scan_scatter(s, &s->aggregates[i]);
}

void
gr_scan_put(GrScanState *s, int i, GrGroup *group, BufFile *file, int64 nrows_before)
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
		gr_scan_scatter(s, a);
}

/*
 * To files
 */

/*
 * Writes a group's part for one aggregate. Rows are written as they are if none was summed yet and they are smaller
 * than a state.
 */
static void
write_part(BufFile *file, const GrTaker *taker, const GrGroupState *of_group)
{
	GrState    *state = of_group->state;
	GrSpilledGroup head = {.nskipped = of_group->nskipped};

	if (state == NULL && head.nskipped == 0)
	{
		gr_spill_part(file, GR_SPILLED_NOTHING, NULL, 0);
		return;
	}
	if (state == NULL || (state->nrows == state->npending &&
						  state->npending * taker->row_nbytes < (char *) gr_state_pending(state) - (char *) state))
	{
		head.n = state == NULL ? 0 : state->npending;
		gr_spill_part(file, GR_SPILLED_ROWS, (const char *) &head, sizeof(head));
		if (head.n > 0)
			BufFileWrite(file, gr_state_pending(state), head.n * taker->row_nbytes);
		return;
	}
	gr_state_settle(state, taker->names);
	head.n = VARSIZE(state);
	gr_spill_part(file, GR_SPILLED_STATE, (const char *) &head, sizeof(head));
	BufFileWrite(file, state, head.n);
}

/* Writes a group's part for an aggregate with a transition. */
static void
write_value(BufFile *file, GrTransition *transition, GrTransitionValue *value)
{
	gr_spill_part(file, value->begun ? GR_SPILLED_PARTIAL : GR_SPILLED_NOTHING, NULL, 0);
	if (value->begun)
		gr_transition_write(transition, value, file);
}

/* Writes all groups to files, and drops them from memory. */
static void
write_groups(GrScanState *s)
{
	scatter_all(s);
	for (GrGroup *group = s->groups->first; group != NULL; group = group->next)
	{
		BufFile    *file = gr_groups_spill(s->groups, group->hash, group->keys, group->nulls);

		CHECK_FOR_INTERRUPTS();
		for (int i = 0; i < s->naggregates; i++)
		{
			if (s->aggregates[i].transition != NULL)
				write_value(file, s->aggregates[i].transition, &group->states[i].value);
			else
				write_part(file, s->aggregates[i].taker, &group->states[i]);
		}
		ResetExprContext(s->child->ss.ps.ps_ExprContext);
	}
	gr_groups_forget(s->groups);
	forget_states(s);
}

GrGroup *
gr_scan_make_room(GrScanState *s, uint32 hash, uint32 nulls, BufFile **file)
{
	GrGroups   *groups = s->groups;

	if (groups->exchanging && groups->n > 0 && groups->nfound >= ROWS_WORTH_A_STATE * groups->n)
	{
		write_groups(s);
		s->wrote_groups = true;
		return gr_groups_find(groups, hash, s->key_values, nulls);
	}
	*file = gr_groups_spill(groups, hash, s->key_values, nulls);
	return NULL;
}

/*
 * From files
 */

/* Reads n rows of aggregate i from `from` into group, or copies them to `to` if group is NULL. */
static void
take_rows(GrScanState *s, int i, GrGroup *group, BufFile *from, BufFile *to, int64 n)
{
	GrTaker    *taker = s->aggregates[i].taker;

	for (int64 k = 0; k < n; k++)
	{
		int64		nrows = taker->nrows;

		(void) gr_taker_make_room(taker);
		gr_file_read(from, taker->at, taker->row_nbytes);
		if (group == NULL)
		{
			BufFileWrite(to, taker->at, taker->row_nbytes);
			continue;
		}
		gr_taker_count_row(taker);
		gr_scan_put(s, i, group, NULL, nrows);
	}
}

/* Merges a state of aggregate i (nbytes long) from `from` into group, or copies it to `to` if group is NULL. */
static void
take_state(GrScanState *s, int i, GrGroup *group, BufFile *from, BufFile *to, int64 nbytes)
{
	GrState    *other = palloc_extended(nbytes, MCXT_ALLOC_HUGE);
	GrGroupState *into;
	MemoryContext old;

	gr_file_read(from, other, nbytes);
	if (group == NULL)
	{
		BufFileWrite(to, other, nbytes);
		return;
	}
	into = &group->states[i];
	if (into->state != NULL)
	{
		gr_state_merge(into->state, other);
		return;
	}
	old = MemoryContextSwitchTo(s->groups->context);
	into->state = gr_state_resize(other, 0);
	MemoryContextSwitchTo(old);
}

/* Does what take_part() does for an aggregate with a transition. */
static void
take_value(GrScanState *s, int i, GrGroup *group, BufFile *from, BufFile *to)
{
	GrSpilled	what = gr_read_part(from);

	if (to != NULL)
		gr_spill_part(to, what, NULL, 0);
	if (what != GR_SPILLED_PARTIAL)
		return;
	if (to != NULL)
		gr_transition_copy(from, to);
	else
		gr_transition_merge(s->aggregates[i].transition, &group->states[i].value, from);
}

/* Reads a record's part for aggregate i from `from` into group, or copies it to `to` if group is NULL. */
static void
take_part(GrScanState *s, int i, GrGroup *group, BufFile *from, BufFile *to)
{
	GrSpilled	what = gr_read_part(from);
	bool		of_group = what == GR_SPILLED_ROWS || what == GR_SPILLED_STATE;
	GrSpilledGroup head = {0};

	/* the record may come from another process, and this process may have no row of its own */
	if (what != GR_SPILLED_NOTHING && s->aggregates[i].taker == NULL)
		gr_scan_start_aggregate(s, &s->aggregates[i]);
	if (of_group)
		gr_file_read(from, &head, sizeof(head));
	if (to != NULL)
		gr_spill_part(to, what, of_group ? (const char *) &head : NULL, sizeof(head));
	else
		group->states[i].nskipped += what == GR_SPILLED_SKIPPED ? 1 : head.nskipped;
	if (what == GR_SPILLED_STATE)
		take_state(s, i, group, from, to, head.n);
	else if (what == GR_SPILLED_ROW || what == GR_SPILLED_ROWS)
		take_rows(s, i, group, from, to, what == GR_SPILLED_ROW ? 1 : head.n);
}

bool
gr_scan_read_waiting(GrScanState *s)
{
	GrWaiting  *waiting = gr_groups_next_waiting(s->groups);
	MemoryContext context = s->child->ss.ps.ps_ExprContext->ecxt_per_tuple_memory;
	MemoryContext old;
	uint32		hash;
	uint32		nulls;

	forget_states(s);
	if (waiting == NULL)
		return false;
	old = MemoryContextSwitchTo(context);
	while (gr_read_keys(s->groups, waiting, &hash, s->key_values, &nulls))
	{
		GrGroup    *group = gr_groups_find(s->groups, hash, s->key_values, nulls);
		BufFile    *to = group == NULL ? gr_groups_spill(s->groups, hash, s->key_values, nulls) : NULL;

		CHECK_FOR_INTERRUPTS();
		for (int i = 0; i < s->naggregates; i++)
		{
			if (s->aggregates[i].transition != NULL)
				take_value(s, i, group, waiting->file, to);
			else
				take_part(s, i, group, waiting->file, to);
		}
		MemoryContextReset(context);
	}
	MemoryContextSwitchTo(old);
	gr_waiting_end(s->groups, waiting);
	scatter_all(s);
	s->next = s->groups->first;
	return true;
}

void
gr_scan_end_groups(GrScanState *s)
{
	if (s->exchange != NULL && s->groups == NULL)
		gr_scan_begin_groups(s);
	if (s->groups == NULL)
		return;
	if (s->groups->exchanging && !s->wrote_groups && gr_exchange_end_alone(s->exchange))
		gr_groups_keep(s->groups);
	if (s->groups->exchanging)
	{
		write_groups(s);
		gr_groups_hand_over(s->groups);
	}
	scatter_all(s);
	s->next = s->groups->first;
}
