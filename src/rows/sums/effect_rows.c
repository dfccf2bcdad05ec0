/*
 * effect_rows.c: reads the rows of a fit with absorbed effects; see effect_rows.h.
 */
#include "postgres.h"

#include "executor/tuptable.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "compute/base/compute.h"
#include "compute/design/derive_row.h"
#include "rows/columns/columns.h"
#include "rows/columns/dictionary.h"
#include "rows/kept/kept_set.h"
#include "rows/query/query.h"
#include "rows/sums/effect_rows.h"
#include "rows/sums/kept_clusters.h"
#include "rows/sums/kept_source.h"
#include "run/args.h"
#include "run/raise.h"

/* Rows that are checked together */
#define BLOCK 256

#define FIRST_ROOM 4096

typedef struct CodeReceiver
{
	GrReceiver	base;
	GrIngest   *ingest;
	GrCodedRows *coded;
	int			nsides;			/* absorbed and cluster columns, which are the query's last ones */
	int64		room;			/* rows that the arrays hold */
	double	   *block;			/* BLOCK rows that are not checked yet; NULL before the first complete row */
	int			nblock;
	MemoryContext context;		/* owns the rows */
	MemoryContext row_context;	/* reset after each row */
} CodeReceiver;

/* Returns the dictionary of side k. */
static GrDictionary *
dictionary_of(GrCodedRows *coded, int k)
{
	return k < coded->rows.nfactors ? &coded->absorbed[k] : &coded->clusters[k - coded->rows.nfactors];
}

/* Returns the codes of side k. */
static int32_t **
codes_of(GrCodedRows *coded, int k)
{
	return k < coded->rows.nfactors ? &coded->rows.code[k] : &coded->rows.cluster[k - coded->rows.nfactors];
}

/* Raises an ERROR if the rows, with this room, exceed the limit. */
static void
check_memory(CodeReceiver *receiver, int64 room)
{
	GrCodedRows *coded = receiver->coded;
	double		size = (double) room * (coded->rows.stride * sizeof(double) + receiver->nsides * sizeof(int32_t) +
										(coded->shape.weight + coded->shape.offset) * sizeof(double));

	for (int k = 0; k < receiver->nsides; k++)
		size += dictionary_of(coded, k)->size;
	if (size > (double) gr_absorb_memory * 1024)
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("the rows of a fit with absorbed effects exceed gpureg.absorb_memory"),
				 errdetail("The limit is %d MB; " INT64_FORMAT " rows have been read.", gr_absorb_memory / 1024,
						   coded->rows.nrows),
				 errhint("Raise gpureg.absorb_memory, or select fewer rows or columns.")));
}

/* Sets the arrays' room. */
static void
set_room(CodeReceiver *receiver, int64 room)
{
	GrEffectRows *rows = &receiver->coded->rows;
	MemoryContext old = MemoryContextSwitchTo(receiver->context);
	Size		nvalues = (Size) room * rows->stride;
	bool		first = receiver->room == 0;

	rows->values = first ? palloc_extended(nvalues * sizeof(double), MCXT_ALLOC_HUGE) :
		repalloc_huge(rows->values, nvalues * sizeof(double));
	if (receiver->coded->shape.weight)
		rows->weights = first ? palloc_extended(room * sizeof(double), MCXT_ALLOC_HUGE) :
			repalloc_huge(rows->weights, room * sizeof(double));
	if (receiver->coded->shape.offset)
		rows->offsets = first ? palloc_extended(room * sizeof(double), MCXT_ALLOC_HUGE) :
			repalloc_huge(rows->offsets, room * sizeof(double));
	for (int k = 0; k < receiver->nsides; k++)
	{
		int32_t   **codes = codes_of(receiver->coded, k);

		*codes = first ? palloc_extended(room * sizeof(int32_t), MCXT_ALLOC_HUGE) :
			repalloc_huge(*codes, room * sizeof(int32_t));
	}
	receiver->room = room;
	MemoryContextSwitchTo(old);
	check_memory(receiver, room);
}

/* Begins rows of this shape. */
static void
begin_rows(CodeReceiver *receiver, GrRowShape shape)
{
	GrCodedRows *coded = receiver->coded;

	coded->shape = shape;
	coded->rows.ncols = shape.nfeatures + 1;
	coded->rows.stride = gr_effect_stride(coded->rows.ncols);
	coded->rows.counts = receiver->ingest->rules.weighting == GR_FREQUENCIES;
	receiver->block = MemoryContextAllocExtended(receiver->context,
												 (Size) BLOCK * gr_row_ncols(shape) * sizeof(double),
												 MCXT_ALLOC_HUGE);
	set_room(receiver, FIRST_ROOM);
}

/* Begins at the first complete row, which tells the lengths of arrays. */
static void
begin(CodeReceiver *receiver, TupleTableSlot *slot)
{
	GrIngest   *ingest = receiver->ingest;
	MemoryContext old = MemoryContextSwitchTo(receiver->context);

	gr_measure_row(ingest->columns, GR_SLOT_VALUES(slot));
	gr_name_ingested(ingest);
	MemoryContextSwitchTo(old);
	begin_rows(receiver, gr_columns_shape(ingest->columns));
}

/* Checks the rows of the block, and stores them. */
static void
finish_block(CodeReceiver *receiver)
{
	GrCodedRows *coded = receiver->coded;
	GrEffectRows *rows = &coded->rows;
	int			ncols = gr_row_ncols(coded->shape);

	if (receiver->nblock == 0)
		return;
	gr_check_rows(receiver->block, receiver->nblock, coded->shape, receiver->ingest->rules, receiver->ingest->names);
	for (int i = 0; i < receiver->nblock; i++, rows->nrows++)
	{
		double	   *to = rows->values + rows->nrows * rows->stride;
		const double *from = receiver->block + (Size) i * ncols;

		memcpy(to, from, rows->ncols * sizeof(double));
		memset(to + rows->ncols, 0, (rows->stride - rows->ncols) * sizeof(double));
		if (coded->shape.weight)
			rows->weights[rows->nrows] = from[gr_weight_at(coded->shape)];
		if (coded->shape.offset)
			rows->offsets[rows->nrows] = from[gr_offset_at(coded->shape)];
	}
	receiver->nblock = 0;
}

/* Counts the row at the end of the block, which has been filled, and whose codes are set. */
static void
count_row(CodeReceiver *receiver)
{
	if (++receiver->nblock < BLOCK)
		return;
	finish_block(receiver);
	check_memory(receiver, receiver->room);
}

static void
take_row(CodeReceiver *receiver, TupleTableSlot *slot)
{
	GrIngest   *ingest = receiver->ingest;
	GrCodedRows *coded = receiver->coded;
	int			first = slot->tts_tupleDescriptor->natts - receiver->nsides;
	int64		at;

	if (receiver->block == NULL)
		begin(receiver, slot);
	at = coded->rows.nrows + receiver->nblock;
	if (at == receiver->room)
		set_room(receiver, receiver->room + receiver->room / 2);
	switch (gr_convert_row(ingest->columns, GR_SLOT_VALUES(slot),
						   receiver->block + (Size) receiver->nblock * gr_row_ncols(coded->shape)))
	{
		case GR_ROW_SKIPPED:
			coded->nskipped++;
			return;
		case GR_ROW_WEIGHTLESS:
			return;
		case GR_ROW_TAKES_PART:
			break;
	}
	for (int k = 0; k < receiver->nsides; k++)
		(*codes_of(coded, k))[at] = gr_dictionary_code(dictionary_of(coded, k), slot->tts_values[first + k]);
	count_row(receiver);
}

/* Ends the reading of rows. ERROR if there are none. */
static void
finish_rows(CodeReceiver *receiver)
{
	GrCodedRows *coded = receiver->coded;

	finish_block(receiver);
	if (coded->rows.nrows == 0)
		gr_raise_no_rows(coded->nskipped);
	for (int k = 0; k < coded->rows.nfactors; k++)
		coded->rows.nlevels[k] = coded->absorbed[k].n;
	for (int k = 0; k < coded->rows.nclusters; k++)
		coded->rows.cluster_nlevels[k] = coded->clusters[k].n;
}

static bool
receive_row(TupleTableSlot *slot, DestReceiver *self)
{
	CodeReceiver *receiver = (CodeReceiver *) self;
	MemoryContext old;

	slot_getallattrs(slot);
	for (int k = 0; k < slot->tts_tupleDescriptor->natts; k++)
		if (slot->tts_isnull[k])
		{
			receiver->coded->nskipped++;
			return true;
		}
	old = MemoryContextSwitchTo(receiver->row_context);
	take_row(receiver, slot);
	MemoryContextSwitchTo(old);
	if (!receiver->row_context->isReset)
		MemoryContextReset(receiver->row_context);
	return true;
}

/* Begins the dictionaries. ERROR if a column's type has no levels. */
static void
begin_dictionaries(CodeReceiver *receiver, const GrRoles *roles)
{
	TupleDesc	columns = receiver->ingest->clustered->columns;

	for (int k = 0; k < receiver->nsides; k++)
	{
		bool		absorbed = k < roles->nabsorbed;
		Oid			type = TupleDescAttr(columns, columns->natts - receiver->nsides + k)->atttypid;

		if (!gr_can_have_codes(getBaseType(type)))
			ereport(ERROR,
					(errcode(ERRCODE_DATATYPE_MISMATCH),
					 errmsg("column \"%s\" of the query has unsupported type %s",
							absorbed ? roles->absorbed[k] : roles->clusters[k - roles->nabsorbed],
							format_type_be(type)),
					 absorbed ? errdetail("Absorbed columns must be texts, enums, numbers, dates, times or booleans.") :
					 errdetail("Clusters of a fit with absorbed effects must be texts, enums, numbers, dates, times or "
							   "booleans."),
					 errhint("Cast the column to text in the query.")));
		gr_dictionary_begin(dictionary_of(receiver->coded, k), getBaseType(type));
	}
}

void
gr_read_coded_rows(GrIngest *ingest, const GrRoles *roles, GrCodedRows *coded)
{
	CodeReceiver receiver = {
		.base.pub.receiveSlot = receive_row,.ingest = ingest,.coded = coded,
		.nsides = roles->nabsorbed + roles->nclusters,.context = CurrentMemoryContext
	};

	memset(coded, 0, sizeof(*coded));
	coded->rows.nfactors = roles->nabsorbed;
	coded->rows.nclusters = roles->nclusters;
	begin_dictionaries(&receiver, roles);
	receiver.row_context = AllocSetContextCreate(CurrentMemoryContext, "gpureg row", ALLOCSET_DEFAULT_SIZES);
	gr_run_plan(gr_plan_query(ingest->clustered, 0), NULL, &receiver.base, 0);
	finish_rows(&receiver);
	MemoryContextDelete(receiver.row_context);
}

/*
 * Kept rows
 */

static void
end_deriving(void *arg)
{
	gr_deriving_end(*(GrDeriving **) arg);
}

/* Takes a kept row, unless the derivation leaves it out. */
static void
take_kept(CodeReceiver *receiver, GrDeriving *deriving, const GrKeptClusters *clusters, const double *kept)
{
	GrCodedRows *coded = receiver->coded;
	GrDeriveCounts counts = {0};
	int64		at = coded->rows.nrows + receiver->nblock;

	if (at == receiver->room)
		set_room(receiver, receiver->room + receiver->room / 2);
	if (gr_derive_rows(deriving, kept, 1, receiver->block + (Size) receiver->nblock * gr_row_ncols(coded->shape),
					   &counts) == 0)
		return;
	for (int k = 0; k < receiver->nsides; k++)
	{
		int			n = clusters->nabsorbed;
		int			column = k < n ? clusters->absorbed[k] : clusters->columns[k - n];

		/* 0 and -0 are the same level */
		(*codes_of(coded, k))[at] = gr_dictionary_code(dictionary_of(coded, k),
													   Float8GetDatum(kept[column] + 0.0));
	}
	count_row(receiver);
}

void
gr_read_coded_kept(const GrFitRows *rows, GrRowRules rules, const GrRoles *roles, GrIngest *ingest, GrCodedRows *coded)
{
	CodeReceiver receiver = {
		.ingest = ingest,.coded = coded,.nsides = roles->nabsorbed + roles->nclusters,.context = CurrentMemoryContext
	};
	MemoryContextCallback *callback = palloc0(sizeof(MemoryContextCallback));
	GrDeriving **deriving = palloc0(sizeof(GrDeriving *));
	const double *kept;
	GrKeptReader *reader;
	GrRowSource source;
	GrError		err = {0};

	gr_kept_read(rows, rules, roles, ingest, &source);
	gr_job_release(source.job);
	memset(coded, 0, sizeof(*coded));
	coded->rows.nfactors = roles->nabsorbed;
	coded->rows.nclusters = roles->nclusters;
	coded->nskipped = ingest->nskipped;
	for (int k = 0; k < receiver.nsides; k++)
		gr_dictionary_begin(dictionary_of(coded, k), INT8OID);
	begin_rows(&receiver, gr_derived_shape(source.kept_clusters->derivation));
	*callback = (MemoryContextCallback) {.func = end_deriving,.arg = deriving};
	MemoryContextRegisterResetCallback(CurrentMemoryContext, callback);
	*deriving = gr_deriving_begin(source.kept_clusters->derivation, &err);
	if (*deriving == NULL)
		gr_raise(&err);
	reader = gr_kept_reader_of(rows->kept, &source.kept_clusters->set, source.kept_clusters->client);
	for (int64 n = 0; (kept = gr_kept_next(reader)) != NULL; n++)
	{
		gr_poll_loop(n);
		take_kept(&receiver, *deriving, source.kept_clusters, kept);
	}
	finish_rows(&receiver);
}
