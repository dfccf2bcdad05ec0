/*
 * fold_sums.c: sums the folds of a query's rows; see source.h.
 */
#include "postgres.h"

#include <limits.h>

#include "catalog/pg_type.h"
#include "executor/tuptable.h"
#include "miscadmin.h"

#include "compute/base/fold_draw.h"
#include "rows/columns/columns.h"
#include "rows/query/query.h"
#include "rows/query/wrapper.h"
#include "rows/state/state.h"
#include "rows/sums/ingest.h"
#include "rows/sums/source.h"
#include "run/args.h"

/* A fold's sums and its label: a key, the number of a drawn fold, or 0 if folds have no labels */
typedef struct Fold
{
	GrState    *state;
	double		label;
} Fold;

typedef struct FoldReceiver
{
	GrReceiver	base;
	MemoryContext context;		/* owns the states */
	Fold	   *fold;
	int			n;
	int			capacity;
	int			most;			/* more folds are an error */
	int64		nskipped;		/* rows without a label */
} FoldReceiver;

/* Reads the label in the plan's second column. Returns false if it is NULL. */
static bool
read_label(const FoldReceiver *receiver, TupleTableSlot *slot, double *label)
{
	bool		isnull;
	Datum		value = slot_getattr(slot, 2, &isnull);

	if (!isnull)
		*label = TupleDescAttr(receiver->base.plan->columns, 1)->atttypid == INT4OID ? DatumGetInt32(value) :
			DatumGetFloat8(value);
	return !isnull;
}

static bool
receive_fold(TupleTableSlot *slot, DestReceiver *self)
{
	FoldReceiver *receiver = (FoldReceiver *) self;
	bool		isnull;
	Datum		value = slot_getattr(slot, 1, &isnull);
	Fold		fold = {0};
	MemoryContext old;

	CHECK_FOR_INTERRUPTS();
	if (isnull)
		return true;
	old = MemoryContextSwitchTo(receiver->context);
	if (receiver->base.plan->columns->natts > 1 && !read_label(receiver, slot, &fold.label))
	{
		GrState    *state = (GrState *) PG_DETOAST_DATUM(value);

		gr_add_count(&receiver->nskipped, state->nrows);
		gr_add_count(&receiver->nskipped, state->nskipped);
		MemoryContextSwitchTo(old);
		return true;
	}
	if (receiver->n == receiver->most)
		gr_raise_many_folds(receiver->most);
	if (receiver->n == receiver->capacity)
	{
		receiver->capacity *= 2;
		receiver->fold = repalloc(receiver->fold, receiver->capacity * sizeof(Fold));
	}
	fold.state = (GrState *) PG_DETOAST_DATUM_COPY(value);
	receiver->fold[receiver->n++] = fold;
	MemoryContextSwitchTo(old);
	return true;
}

static int
compare_folds(const void *a, const void *b)
{
	double		x = ((const Fold *) a)->label;
	double		y = ((const Fold *) b)->label;

	return (x > y) - (x < y);
}

void
gr_check_foldable(const GrIngest *ingest)
{
	if (ingest->remote)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("folds cannot be drawn from a query that reads a custom scan"),
				 errhint("Aggregate one state per fold with gpu_ols_stats_agg and GROUP BY, and pass the states to "
						 "gpu_enet_cv_agg.")));
	if (!gr_ingest_tells_widths(ingest) || !gr_fits_aggregate(ingest, 3))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("folds cannot be drawn from a query with several array columns of unknown length"),
				 errhint("Concatenate the array columns of the query with ||.")));
	if (ingest->clustered != NULL && (!ingest->columns->key || ingest->keyed_clusters))
		gr_check_groupable(gr_cluster_type(ingest, 0), gr_cluster_name(ingest, 0));
}

/*
 * Sums each fold of the rows. Returns *n folds: in the order of their labels, or in any order if the cluster column is
 * the fold. most: largest number of folds
 */
static Fold *
sum_folds(GrIngest *ingest, int nfolds, int most, int *n)
{
	GrIngest	keyless = gr_ingest_without_key(ingest);
	Oid			types[3] = {gr_own_type(ingest->function, "gpu_ols_stats"), TEXTARRAYOID, INT4ARRAYOID};
	NullableDatum values[3] = {
		{.value = PointerGetDatum(gr_state_request_sums(keyless.shape, ingest->rules))},
		{.value = gr_names_datum(keyless.columns)}, gr_widths_datum(keyless.arguments)
	};
	FoldReceiver receiver = {
		.base.pub.receiveSlot = receive_fold,.context = CurrentMemoryContext,.capacity = 16,.most = most
	};
	const GrPlan *plan;
	int			nfeatures = -1;

	gr_check_foldable(ingest);
	receiver.fold = palloc(receiver.capacity * sizeof(Fold));
	plan = gr_plan_folds(ingest, nfolds, "gpu_ols_pass", 3, types, types[0]);
	gr_run_plan(plan, gr_make_params(3, values, types), &receiver.base, 0);
	/* Groups arrive in any order. */
	if (plan->columns->natts > 1)
		qsort(receiver.fold, receiver.n, sizeof(Fold), compare_folds);
	ingest->nrows = 0;
	ingest->nskipped = receiver.nskipped;
	for (int k = 0; k < receiver.n; k++)
	{
		GrState    *state = receiver.fold[k].state;

		gr_add_count(&ingest->nrows, state->nrows);
		gr_add_count(&ingest->nskipped, state->nskipped);
		if (state->nrows > 0 && nfeatures >= 0)
			gr_check_same_width(nfeatures, state->nfeatures);
		if (state->nrows > 0)
			nfeatures = state->nfeatures;
	}
	if (ingest->nrows == 0)
		gr_raise_no_ingested(ingest, ingest->nskipped);
	gr_name_summed(ingest, nfeatures);
	for (int k = 0; k < receiver.n; k++)
		receiver.fold[k].state = gr_state_settled(PointerGetDatum(receiver.fold[k].state), GR_STATS, ingest->names);
	*n = receiver.n;
	return receiver.fold;
}

/* Returns the states of n folds, and their labels if labels is not NULL. */
static GrState **
fold_states(const Fold *folds, int n, int64 *labels)
{
	GrState   **states = palloc(Max(n, 1) * sizeof(GrState *));

	for (int k = 0; k < n; k++)
	{
		states[k] = folds[k].state;
		if (labels != NULL)
			labels[k] = (int64) folds[k].label;
	}
	return states;
}

GrState **
gr_source_folds(GrIngest *ingest, int nfolds, int *n)
{
	const Fold *folds = sum_folds(ingest, nfolds, INT_MAX, n);

	return fold_states(folds, *n, NULL);
}

GrState **
gr_source_key_folds(GrIngest *ingest, int64 **labels, int *n)
{
	const Fold *folds = sum_folds(ingest, 0, GR_FOLDS_MAX, n);

	*labels = palloc(Max(*n, 1) * sizeof(int64));
	return fold_states(folds, *n, *labels);
}
