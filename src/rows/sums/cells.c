/*
 * cells.c: sums a query's rows by the levels of its factors; see cells.h.
 *
 * The cells wait in a tuplestore, since the order of the levels is known only when all cells have come. A query has no
 * more cells than rows, and mostly few.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "optimizer/planner.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"

#include "compute/design/cells.h"
#include "rows/columns/design_values.h"
#include "rows/columns/levels.h"
#include "rows/query/wrapper.h"
#include "rows/state/state.h"
#include "rows/sums/cells.h"
#include "run/device.h"
#include "run/raise.h"

/* A number or response whose mean is further from 0 than this many standard deviations is summed about its mean. */
#define FAR_SPREADS 4.0

/* Columns of the plan: a cell's state, then its levels */
#define STATE_COLUMN 1
#define FIRST_LEVEL 2

struct GrCells
{
	int			nfactors;
	Oid		   *types;			/* [nfactors] base types of the factors' columns */
	TupleDesc	columns;		/* columns of store */
	Tuplestorestate *store;		/* cells that have rows */
	GrState    *total;			/* sums over all cells; NULL while there is none */
	int64		nskipped;
	int			nworkers;
};

typedef struct CellReceiver
{
	GrReceiver	base;
	GrCells    *cells;
	GrFoundLevels *found;
	/* levels of cells that may or may not have complete rows, all of weight 0; NULL: it does not matter */
	GrFoundLevels *doubtful;
	MemoryContext context;		/* owns the total */
	MemoryContext row_context;	/* reset after each cell */
	bool		unclear;		/* a cell may have a level that no other cell has */
} CellReceiver;

/* Doubtful levels that are kept at most */
#define DOUBTFUL_MAX 10000

/*
 * Reading
 */

static bool
has_null_level(const GrCells *cells, TupleTableSlot *slot)
{
	for (int i = 0; i < cells->nfactors; i++)
	{
		bool		isnull;

		(void) slot_getattr(slot, FIRST_LEVEL + i, &isnull);
		if (isnull)
			return true;
	}
	return false;
}

static void
take_levels(const CellReceiver *receiver, GrFoundLevels *found, TupleTableSlot *slot)
{
	bool		isnull;

	for (int i = 0; i < receiver->cells->nfactors; i++)
		gr_levels_take(found, i, receiver->cells->types[i], slot_getattr(slot, FIRST_LEVEL + i, &isnull));
}

/* Takes the levels of a cell whose rows are incomplete or of weight 0: those of incomplete rows are none. */
static void
take_doubtful(CellReceiver *receiver, TupleTableSlot *slot)
{
	const GrCells *cells = receiver->cells;
	bool		isnull;

	for (int i = 0; i < cells->nfactors; i++)
		if (gr_level_of(cells->types[i], slot_getattr(slot, FIRST_LEVEL + i, &isnull)).nbytes > GR_LEVEL_NBYTES_MAX)
			receiver->unclear = true;
	receiver->unclear |= receiver->doubtful->nlevels + cells->nfactors > DOUBTFUL_MAX;
	if (!receiver->unclear)
		take_levels(receiver, receiver->doubtful, slot);
}

/* True if each doubtful level was found in other cells. */
static bool
is_clear(const CellReceiver *receiver)
{
	for (int i = 0; receiver->doubtful != NULL && i < receiver->found->n; i++)
	{
		const GrLevels *doubtful = &receiver->doubtful->column[i].levels;

		for (int k = 0; k < doubtful->n; k++)
			if (gr_level_find(&receiver->found->column[i].levels, doubtful->level[k].bytes,
							  doubtful->level[k].nbytes) < 0)
				return false;
	}
	return !receiver->unclear;
}

/* Adds a cell with rows to the total. */
static void
add_to_total(CellReceiver *receiver, GrState *state)
{
	GrCells    *cells = receiver->cells;
	MemoryContext old;

	if (cells->total != NULL)
	{
		int			nworkers = Max(cells->total->nworkers, state->nworkers);

		gr_state_merge(cells->total, state);
		cells->total->nworkers = nworkers;
		return;
	}
	old = MemoryContextSwitchTo(receiver->context);
	cells->total = gr_state_resize(state, 0);
	MemoryContextSwitchTo(old);
}

static void
take_cell(CellReceiver *receiver, TupleTableSlot *slot)
{
	GrCells    *cells = receiver->cells;
	bool		isnull;
	Datum		value = slot_getattr(slot, STATE_COLUMN, &isnull);
	GrState    *state = isnull ? NULL : gr_state_settled(value, GR_STATS, NULL);

	if (state != NULL)
		gr_add_count(&cells->nskipped, state->nskipped);
	if (state != NULL && has_null_level(cells, slot))
		gr_add_count(&cells->nskipped, state->nrows);
	else if (state == NULL || state->nrows == 0)
	{
		/* Rows of weight 0 are not counted, but have levels. */
		if (receiver->doubtful != NULL && (state == NULL || state->nskipped > 0))
			take_doubtful(receiver, slot);
		else if (receiver->doubtful != NULL)
			take_levels(receiver, receiver->found, slot);
	}
	else
	{
		take_levels(receiver, receiver->found, slot);
		add_to_total(receiver, state);
		tuplestore_puttupleslot(cells->store, slot);
	}
}

static bool
receive_cell(TupleTableSlot *slot, DestReceiver *self)
{
	CellReceiver *receiver = (CellReceiver *) self;
	MemoryContext old = MemoryContextSwitchTo(receiver->row_context);

	CHECK_FOR_INTERRUPTS();
	take_cell(receiver, slot);
	MemoryContextSwitchTo(old);
	MemoryContextReset(receiver->row_context);
	return !receiver->unclear;
}

/* Plans SELECT gpu_ols_pass(request, names, widths, columns ...), factors ... GROUP BY factors. */
static GrPlan *
plan_cells(const GrIngest *rows)
{
	Oid			types[3] = {gr_own_type(rows->function, "gpu_ols_stats"), TEXTARRAYOID, INT4ARRAYOID};
	Datum		values[3] = {
		PointerGetDatum(gr_state_request_sums(rows->shape, rows->rules)), gr_names_datum(rows->columns),
		gr_widths_datum(rows->arguments).value
	};

	return gr_plan_clusters(rows, "gpu_ols_pass", 3, types, values, types[0], GR_WAY_SELECTED);
}

/* True if PostgreSQL may sum the rows here: the device and SPI are not insisted on, and the rows are not elsewhere. */
static bool
may_be_summed(const GrQuery *query)
{
	if (gr_device == GR_DEVICE_GPU || gr_debug_ring || gr_debug_sinks > 0 || gr_is_read_by_spi(query) ||
		gr_reads_foreign_table(query) || !gr_is_repeatable(query))
		return false;
	/* With a planner hook, tables may be remote, which only the plan of the query itself shows. */
	return planner_hook == NULL || !gr_is_remote(gr_plan_query(query, CURSOR_OPT_PARALLEL_OK));
}

/* Sorts the levels that were found into levels. */
static void
sort_levels(const GrFoundLevels *found, const GrQuery *query, const GrCellsQuery *asked, GrLevels *levels)
{
	for (int i = 0; i < found->n; i++)
	{
		const GrLevels *unsorted = &found->column[i].levels;
		Datum	   *items = palloc(Max(unsorted->n, 1) * sizeof(Datum));

		for (int k = 0; k < unsorted->n; k++)
			items[k] = PointerGetDatum(cstring_to_text_with_len(unsorted->level[k].bytes, unsorted->level[k].nbytes));
		gr_sort_levels(&levels[asked->factors[i]], items, unsorted->n,
					   TupleDescAttr(query->columns, asked->factors[i]));
		pfree(items);
	}
}

static GrCells *
create_cells(const GrPlan *plan)
{
	GrCells    *cells = palloc0(sizeof(GrCells));

	cells->nfactors = plan->columns->natts - 1;
	cells->columns = plan->columns;
	cells->types = palloc(cells->nfactors * sizeof(Oid));
	for (int i = 0; i < cells->nfactors; i++)
		cells->types[i] = getBaseType(TupleDescAttr(plan->columns, FIRST_LEVEL - 1 + i)->atttypid);
	cells->store = tuplestore_begin_heap(false, false, work_mem);
	return cells;
}

bool
gr_cells_read(void *arg, const GrRoles *roles, const GrCellsQuery *query, GrLevels *levels)
{
	GrIngest   *ingest = arg;
	GrIngest	rows = {
		.query = query->rows,.clustered = query->grouped,.nclusters = query->nfactors,.function = ingest->function,
		.rules = ingest->rules
	};
	CellReceiver receiver = {.base.pub.receiveSlot = receive_cell,.context = CurrentMemoryContext};
	const char **names = palloc(query->nfactors * sizeof(char *));
	bool		known = levels[query->factors[0]].n > 0;
	GrPlan	   *plan;

	if (!may_be_summed(ingest->query))
		return false;
	rows.columns = gr_query_columns(query->rows->columns, query->rows->names, roles);
	gr_ingest_note_shape(&rows);
	if (rows.columns->nfeatures < 0 || !gr_fits_aggregate(&rows, 3))
		return false;
	plan = plan_cells(&rows);
	/* One process that reads all rows first would notice too many levels late. */
	if (!gr_is_scanned(plan) && gr_planned_workers(plan) == 0 && !known)
		return false;
	for (int i = 0; i < query->nfactors; i++)
		names[i] = ingest->query->names[query->factors[i]];
	receiver.cells = create_cells(plan);
	receiver.found = gr_levels_begin(query->nfactors, names);
	receiver.row_context = AllocSetContextCreate(CurrentMemoryContext, "gpureg cell", ALLOCSET_DEFAULT_SIZES);
	if (rows.shape.weight && !known)
		receiver.doubtful = gr_levels_begin(query->nfactors, names);
	gr_run_plan(plan, NULL, &receiver.base, 0);
	MemoryContextDelete(receiver.row_context);
	if (!is_clear(&receiver) || receiver.cells->total == NULL)
	{
		tuplestore_end(receiver.cells->store);
		return false;
	}
	receiver.cells->nworkers = receiver.cells->total->nworkers;
	if (!known)
		sort_levels(receiver.found, ingest->query, query, levels);
	ingest->cells = receiver.cells;
	return true;
}

int
gr_cells_nworkers(const GrCells *cells)
{
	return cells->nworkers;
}

/*
 * Sums
 */

/* Returns the shift of the numbers and the response: near their means if these are far from 0. */
static double *
choose_shift(const GrGram *total)
{
	double	   *shift = palloc((total->nfeatures + 1) * sizeof(double));

	for (int k = 0; k <= total->nfeatures; k++)
		shift[k] = gr_gram_better_shift(total, k + 1, FAR_SPREADS);
	return shift;
}

static void raise_sums(const GrIngest *ingest, GrStatus status, int column) __attribute__((noreturn));

static void
raise_sums(const GrIngest *ingest, GrStatus status, int column)
{
	GrError		err = {0};

	(void) gr_fail(&err, status, column, "%s", "");
	gr_raise_columns(&err, ingest->nfeatures, ingest->names);
}

/* Sets the level numbers of the design's columns to those of the cell in slot. */
static void
number_levels(const GrCells *cells, const GrDesign *design, TupleTableSlot *slot, int *levels)
{
	int			i = 0;

	for (int c = 0; c < design->ncolumns; c++)
	{
		GrString	level;
		bool		isnull;

		if (!design->columns[c].is_factor)
			continue;
		level = gr_level_of(cells->types[i], slot_getattr(slot, FIRST_LEVEL + i, &isnull));
		levels[c] = gr_level_find(&design->columns[c].levels, level.bytes, level.nbytes);
		if (levels[c] < 0)
			elog(ERROR, "a level of column %d is not in the design", c);
		i++;
	}
}

/* Adds all cells to sums. */
static void
add_cells(const GrIngest *ingest, GrCellSums *sums)
{
	const GrCells *cells = ingest->cells;
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "gpureg cell", ALLOCSET_DEFAULT_SIZES);
	TupleTableSlot *slot = MakeSingleTupleTableSlot(cells->columns, &TTSOpsMinimalTuple);
	int		   *levels = palloc0(Max(sums->design->ncolumns, 1) * sizeof(int));
	GrPoll		poll = {.host = &gr_host};

	/* The slot may own its tuple, which is in the memory of the tuplestore's caller. */
	while (tuplestore_gettupleslot(cells->store, true, false, slot))
	{
		MemoryContext old = MemoryContextSwitchTo(context);
		bool		isnull;
		GrState    *state = gr_state_settled(slot_getattr(slot, STATE_COLUMN, &isnull), GR_STATS, NULL);
		GrGram		gram = gr_state_matrix(state);

		CHECK_FOR_INTERRUPTS();
		number_levels(cells, sums->design, slot, levels);
		if (!gr_cells_add(sums, levels, &gram, &poll))
			raise_sums(ingest, GR_CANCELED, 0);
		MemoryContextSwitchTo(old);
		MemoryContextReset(context);
	}
	ExecDropSingleTupleTableSlot(slot);
	MemoryContextDelete(context);
	pfree(levels);
}

GrGram
gr_cells_gram(GrIngest *ingest)
{
	GrCells    *cells = ingest->cells;
	GrGram		total = gr_state_gram(cells->total);
	GrDesign   *design = gr_open_design(CurrentMemoryContext, ingest->design, strlen(ingest->design));
	GrCellSums	sums;
	int			column;

	if (design == NULL)
		elog(ERROR, "malformed design");
	ingest->nrows = cells->total->nrows;
	ingest->nskipped = cells->nskipped;
	gr_name_summed(ingest, design->nfeatures);
	if (!gr_cells_begin(&sums, design, choose_shift(&total), gr_context_memory(CurrentMemoryContext)))
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory")));
	add_cells(ingest, &sums);
	tuplestore_end(cells->store);
	cells->store = NULL;
	if (!gr_gram_finite(sums.gram.hi, design->nfeatures, &column))
		raise_sums(ingest, GR_OUT_OF_RANGE, column);
	sums.gram.nobs = total.nobs;
	sums.gram.nsummed = cells->total->nrows;
	sums.gram.log_constant = total.log_constant;
	return sums.gram;
}
