/*
 * fold_rows.c: reads a query's rows fold by fold; see fold_rows.h.
 */
#include "postgres.h"

#include "executor/tuptable.h"
#include "miscadmin.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

#include "rows/sums/fold_rows.h"
#include "run/args.h"
#include "run/device.h"

#define REASON "the rows were grouped into folds"

typedef struct FoldRows
{
	GrReceiver	base;
	GrIngest   *ingest;
	GrJobOptions options;
	Size		limit;			/* bytes that all rows may take; 0: no limit */
	bool		overflowed;		/* the rows exceed limit: reading stopped */
	int64		nrows;
	MemoryContext context;		/* owns the jobs */
	MemoryContext row_context;	/* reset after each row */
	/* folds met so far, and the type of the values that are the folds */
	TypeCacheEntry *type;
	Oid			collation;
	int			n;
	int			last;			/* fold of the last row */
	Datum		value[GR_NET_FOLDS_MAX];
	GrJob	   *job[GR_NET_FOLDS_MAX];
} FoldRows;

/* Sets the shape and names of the jobs at the first complete row, which tells the lengths of arrays. */
static void
begin(FoldRows *rows, TupleTableSlot *slot)
{
	GrIngest   *ingest = rows->ingest;
	MemoryContext old = MemoryContextSwitchTo(rows->row_context);

	gr_measure_row(ingest->columns, GR_SLOT_VALUES(slot));
	MemoryContextSwitchTo(rows->context);
	gr_name_ingested(ingest);
	rows->options.shape = gr_columns_shape(ingest->columns);
	rows->options.rules = ingest->rules;
	rows->options.names = ingest->names;
	MemoryContextSwitchTo(old);
}

static bool
is_fold(const FoldRows *rows, int k, Datum value)
{
	return DatumGetBool(FunctionCall2Coll(&rows->type->eq_opr_finfo, rows->collation, rows->value[k], value));
}

/* Returns the fold with this value; -1: not met before */
static int
find_fold(const FoldRows *rows, Datum value)
{
	/* Successive rows are often of one fold. */
	if (rows->n > 0 && is_fold(rows, rows->last, value))
		return rows->last;
	for (int k = 0; k < rows->n; k++)
		if (is_fold(rows, k, value))
			return k;
	return -1;
}

static int
add_fold(FoldRows *rows, Datum value)
{
	MemoryContext old = MemoryContextSwitchTo(rows->context);

	if (rows->n == GR_NET_FOLDS_MAX)
		gr_raise_many_folds(GR_NET_FOLDS_MAX);
	rows->value[rows->n] = datumCopy(value, rows->type->typbyval, rows->type->typlen);
	rows->job[rows->n] = gr_job_begin(&rows->options);
	MemoryContextSwitchTo(old);
	return rows->n++;
}

static void
take_row(FoldRows *rows, TupleTableSlot *slot)
{
	GrIngest   *ingest = rows->ingest;
	Datum		value = slot->tts_values[ingest->query->columns->natts];
	GrJob	   *job;

	if (ingest->names == NULL)
		begin(rows, slot);
	rows->last = find_fold(rows, value);
	if (rows->last < 0)
		rows->last = add_fold(rows, value);
	job = rows->job[rows->last];
	switch (gr_convert_row(ingest->columns, GR_SLOT_VALUES(slot), gr_job_row(job)))
	{
		case GR_ROW_TAKES_PART:
			gr_job_take_row(job);
			rows->nrows++;
			rows->overflowed = rows->limit > 0 && rows->nrows > rows->limit / gr_row_nbytes(job->shape);
			break;
		case GR_ROW_SKIPPED:
			ingest->nskipped++;
			break;
		case GR_ROW_WEIGHTLESS:
			break;
	}
}

static bool
receive_row(TupleTableSlot *slot, DestReceiver *self)
{
	FoldRows   *rows = (FoldRows *) self;
	MemoryContext old;

	CHECK_FOR_INTERRUPTS();
	slot_getallattrs(slot);
	for (int k = 0; k <= rows->ingest->query->columns->natts; k++)
		if (slot->tts_isnull[k])
		{
			rows->ingest->nskipped++;
			return true;
		}
	old = MemoryContextSwitchTo(rows->row_context);
	take_row(rows, slot);
	MemoryContextSwitchTo(old);
	MemoryContextReset(rows->row_context);
	return !rows->overflowed;
}

/* Reads the rows into memory or, if spool, into files. Returns NULL if they exceed limit. */
static FoldRows *
read_rows(GrIngest *ingest, const GrPlan *plan, Size limit, bool spool)
{
	FoldRows   *rows = palloc0(sizeof(FoldRows));
	const FormData_pg_attribute *fold = TupleDescAttr(plan->columns, ingest->query->columns->natts);

	rows->base.pub.receiveSlot = receive_row;
	rows->ingest = ingest;
	rows->options = (GrJobOptions) {.kind = GR_SINK_KEEP,.cpu_reason = REASON,.spool = spool};
	rows->limit = limit;
	rows->type = lookup_type_cache(fold->atttypid, TYPECACHE_EQ_OPR_FINFO);
	rows->collation = fold->attcollation;
	rows->context = CurrentMemoryContext;
	rows->row_context = AllocSetContextCreate(CurrentMemoryContext, "gpureg row", ALLOCSET_DEFAULT_SIZES);
	ingest->names = NULL;
	ingest->nskipped = 0;
	gr_run_plan(plan, NULL, &rows->base, 0);
	MemoryContextDelete(rows->row_context);
	if (!rows->overflowed)
		return rows;
	for (int k = 0; k < rows->n; k++)
		gr_job_release(rows->job[k]);
	return NULL;
}

GrRowSource *
gr_fold_rows_read(GrIngest *ingest, int nfolds, int *n)
{
	Size		limit = (Size) gr_ring_size * 1024;
	bool		large = ingest->nrows_estimate * gr_row_nbytes(gr_wide_shape(ingest->shape)) > limit;
	GrPlan	   *plan;
	FoldRows   *rows;
	GrRowSource *source;

	gr_check_foldable(ingest);
	plan = gr_plan_fold_rows(ingest, nfolds);
	/* Rows that cannot be read again go to files from the beginning. */
	rows = large || !ingest->repeatable ? NULL : read_rows(ingest, plan, limit, false);
	if (rows == NULL)
		rows = read_rows(ingest, plan, 0, true);
	ingest->nrows = rows->nrows;
	if (rows->nrows == 0)
		gr_raise_no_ingested(ingest, ingest->nskipped);
	source = palloc0(rows->n * sizeof(GrRowSource));
	*n = 0;
	for (int k = 0; k < rows->n; k++)
	{
		GrJob	   *job = rows->job[k];

		/* All rows of the fold have weight 0 or a NULL in an array. */
		if (job->nrows == 0)
		{
			gr_job_release(job);
			continue;
		}
		(void) gr_job_keep(job);
		source[*n].kind = &gr_source_held;
		source[*n].job = job;
		source[*n].shape = job->shape;
		source[*n].rules = ingest->rules;
		source[*n].totals = job->totals;
		(*n)++;
	}
	return source;
}
