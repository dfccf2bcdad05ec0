/*
 * ring_producer.c: writes a query's rows into a ring.
 *
 * gpu_ingest_pass(ring, names, y, x1, ..) runs over the user's query, in the planner's parallel workers and in the
 * session's own process. Its state is the number of rows left out for a NULL; the rows go to the ring. See ring.h.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "compute/base/compute.h"
#include "compute/glm/glm.h"
#include "rows/columns/columns.h"
#include "rows/ring/ring.h"
#include "rows/ring/ring_producer.h"
#include "run/args.h"
#include "run/raise.h"

PG_FUNCTION_INFO_V1(gr_ingest_pass_accum);

/* Arguments */
#define ARG_RING 1
#define ARG_NAMES 2				/* text[]: names of the query's columns */
#define FIRST_COLUMN 3

struct GrProducer
{
	GrRing	   *ring;
	GrRingTicket ticket;
	uint32		epoch;			/* when the ring was found; see gr_ring_attach() */
	GrColumns  *columns;
	int			home;			/* first of the producer's home blocks; see gr_ring_join() */
	int			block;			/* being filled; -1: none */
	int64		nrows;			/* in it */
	int64		capacity;
	Size		row_nbytes;		/* 0 until the first complete row */
	char	   *at;				/* where the next row begins */
	bool		discards;		/* rows are no longer wanted */
	bool		all_float8;		/* every column is a float8 */
};

/* Replaces the arguments' columns by the ring's, which tell more. ERROR unless their types are the same. */
static void
check_columns(GrProducer *p)
{
	const GrRing *ring = p->ring;
	bool		ok = p->columns->n == ring->ncolumns && !ring->keeps;

	for (int k = 0; ok && k < ring->ncolumns; k++)
	{
		GrColumn   *column = &p->columns->column[k];

		ok = column->type == ring->columns[k].type && column->element == ring->columns[k].element;
		*column = ring->columns[k];
	}
	if (!ok)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("the ring is for other columns"),
				 errhint("Do not call this function: gpureg uses it in its own queries.")));
}

/* Attaches p to the ring whose ticket is among the arguments. ERROR if there is no such ring. */
static void
find_ring(FunctionCallInfo fcinfo, GrProducer *p)
{
	const bytea *ticket = PG_ARGISNULL(ARG_RING) ? NULL : PG_GETARG_BYTEA_PP(ARG_RING);

	if (ticket == NULL || VARSIZE_ANY_EXHDR(ticket) != sizeof(GrRingTicket))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("there is no such ring"),
				 errhint("Do not call this function: gpureg uses it in its own queries.")));
	memcpy(&p->ticket, VARDATA_ANY(ticket), sizeof(GrRingTicket));
	p->ring = gr_ring_attach(&p->ticket, fcinfo->flinfo->fn_mcxt);
	p->epoch = gr_ring_epoch;
}

/* Makes a producer for the ring of a call of the aggregate. Of the columns, only the arguments' types are used. */
static GrProducer *
new_producer(FunctionCallInfo fcinfo)
{
	GrProducer *p = MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt, sizeof(GrProducer));

	find_ring(fcinfo, p);
	p->columns = gr_argument_columns(fcinfo, FIRST_COLUMN, p->ring->shape);
	check_columns(p);
	p->block = -1;
	p->all_float8 = !p->ring->shape.single;
	for (int k = 0; k < p->columns->n; k++)
		p->all_float8 &= p->columns->column[k].type == FLOAT8OID;
	p->home = gr_ring_join(p->ring);
	fcinfo->flinfo->fn_extra = p;
	return p;
}

/* Checks that the producer's ring is still there, after rings of this process were started or stopped. ERROR if not. */
static void
find_again(FunctionCallInfo fcinfo, GrProducer *p)
{
	if (gr_ring_attach(&p->ticket, fcinfo->flinfo->fn_mcxt) != p->ring)
		elog(ERROR, "a ring has moved");
	p->epoch = gr_ring_epoch;
}

/* Agrees with the ring's other producers on the widths of arrays, at this producer's first complete row. */
static void
agree_on_shape(FunctionCallInfo fcinfo, GrProducer *p, GrValues values)
{
	GrRing	   *ring = p->ring;
	GrColumns  *columns = p->columns;
	int32		widths[GR_RING_COLUMNS_MAX] = {1};

	if (!gr_ring_shape_known(ring))
	{
		gr_measure_row(columns, values);
		for (int k = 0; k < columns->n; k++)
			widths[k] = columns->column[k].width;
		gr_ring_agree(ring, widths, columns->nfeatures);
	}
	gr_set_widths(columns, ring->widths + gr_nroles(columns));
	gr_name_arrays(fcinfo, columns, ARG_NAMES);
	p->row_nbytes = gr_row_nbytes(ring->shape);
	p->capacity = gr_ring_capacity(ring);
	if (IsParallelWorker())
		pg_atomic_fetch_add_u32(&ring->nworkers, 1);
}

/* Takes the next block to fill; false if rows are no longer wanted. values: a complete row */
static bool
next_block(FunctionCallInfo fcinfo, GrProducer *p, GrValues values)
{
	if (p->discards)
		return false;
	if (p->row_nbytes == 0)
		agree_on_shape(fcinfo, p, values);
	p->block = gr_ring_claim(p->ring, p->home);
	p->discards = p->block < 0;
	p->nrows = 0;
	if (!p->discards)
		p->at = gr_ring_rows(p->ring, p->block);
	return !p->discards;
}

/* Passes the full block on. ERROR if one of its rows isn't valid. */
static void
finish_block(FunctionCallInfo fcinfo, GrProducer *p)
{
	GrRing	   *ring = p->ring;
	GrError		err = {0};
	int			block = p->block;

	/* even after an error, nothing more is written to the block */
	p->block = -1;
	if (!gr_rows_valid(gr_ring_rows(ring, block), p->nrows, ring->shape, ring->rules, &err))
		gr_raise_row(&err, ring->shape, gr_read_names(fcinfo, p->columns, ARG_NAMES));
	gr_ring_total(ring, block);
	gr_ring_publish(ring, block);
}

/* Writes the arguments, which are all float8 and not NULL, as a row. */
static inline GrRowFate
copy_row(FunctionCallInfo fcinfo, const GrProducer *p)
{
	const NullableDatum *values = &fcinfo->args[FIRST_COLUMN];
	double	   *row = (double *) p->at;
	int			nroles = gr_nroles(p->columns);
	int			nfeatures = p->columns->n - nroles;

	for (int k = 0; k < nfeatures; k++)
		row[k] = DatumGetFloat8(values[nroles + k].value);
	row += nfeatures;
	for (int k = 0; k < nroles; k++)
		row[k] = DatumGetFloat8(values[k].value);
	return p->columns->weight && row[1] == 0.0 ? GR_ROW_WEIGHTLESS : GR_ROW_TAKES_PART;
}

/*
 * gr_ingest_pass_accum(state bigint, ring bytea, names text[], VARIADIC "any"): writes the columns to the ring as a
 * row. The state is the number of rows left out.
 */
Datum
gr_ingest_pass_accum(PG_FUNCTION_ARGS)
{
	GrProducer *p = fcinfo->flinfo->fn_extra;
	int64		nskipped = PG_GETARG_INT64(0);
	GrRowFate	fate;

	if (unlikely(p == NULL))
		p = new_producer(fcinfo);
	if (unlikely(p->epoch != gr_ring_epoch))
		find_again(fcinfo, p);
	if (!gr_arguments_complete(fcinfo, p->columns, FIRST_COLUMN))
	{
		gr_add_count(&nskipped, 1);
		PG_RETURN_INT64(nskipped);
	}
	if (unlikely(p->block < 0) && !next_block(fcinfo, p, GR_ARGUMENT_VALUES(fcinfo, FIRST_COLUMN)))
		PG_RETURN_INT64(nskipped);
	if (likely(p->all_float8))
		fate = copy_row(fcinfo, p);
	else if (p->ring->shape.single)
		fate = gr_convert_row_single(p->columns, GR_ARGUMENT_VALUES(fcinfo, FIRST_COLUMN), (float *) p->at);
	else
		fate = gr_convert_row(p->columns, GR_ARGUMENT_VALUES(fcinfo, FIRST_COLUMN), (double *) p->at);
	if (unlikely(fate != GR_ROW_TAKES_PART))
	{
		if (fate == GR_ROW_SKIPPED)
			gr_add_count(&nskipped, 1);
		PG_RETURN_INT64(nskipped);
	}
	p->at += p->row_nbytes;
	p->ring->blocks[p->block].nrows = ++p->nrows;
	if (unlikely(p->nrows == p->capacity))
		finish_block(fcinfo, p);
	PG_RETURN_INT64(nskipped);
}

/*
 * Producers of scans, which fill blocks without calling the aggregate
 */

/* The producer that all of this process's scans for one statement share, such as those of a table's partitions. */
typedef struct Scanning
{
	GrProducer *producer;
	MemoryContext owner;
	MemoryContextCallback callback;
} Scanning;

static Scanning *scanning = NULL;

static void
forget_scanning(void *arg)
{
	if (scanning == arg)
		scanning = NULL;
}

static bool
is_for(const GrProducer *p, FunctionCallInfo fcinfo)
{
	const bytea *ticket = PG_ARGISNULL(ARG_RING) ? NULL : PG_GETARG_BYTEA_PP(ARG_RING);

	return ticket != NULL && VARSIZE_ANY_EXHDR(ticket) == sizeof(GrRingTicket) &&
		memcmp(VARDATA_ANY(ticket), &p->ticket, sizeof(GrRingTicket)) == 0;
}

GrProducer *
gr_producer_of_scan(FunctionCallInfo fcinfo, MemoryContext owner)
{
	Scanning   *fresh;

	if (scanning != NULL && scanning->owner == owner && is_for(scanning->producer, fcinfo))
		return scanning->producer;
	fcinfo->flinfo->fn_mcxt = owner;
	fresh = MemoryContextAllocZero(owner, sizeof(Scanning));
	fresh->owner = owner;
	fresh->producer = new_producer(fcinfo);
	fresh->callback.func = forget_scanning;
	fresh->callback.arg = fresh;
	MemoryContextRegisterResetCallback(owner, &fresh->callback);
	scanning = fresh;
	return fresh->producer;
}

const GrColumns *
gr_producer_columns(const GrProducer *p)
{
	return p->columns;
}

GrRowShape
gr_producer_shape(const GrProducer *p)
{
	return p->ring->shape;
}

char *
gr_producer_room(GrProducer *p, FunctionCallInfo fcinfo, GrValues values, int64 *capacity)
{
	if (unlikely(p->epoch != gr_ring_epoch))
		find_again(fcinfo, p);
	*capacity = 0;
	if (p->block < 0 && !next_block(fcinfo, p, values))
		return NULL;
	*capacity = p->capacity - p->nrows;
	return p->at;
}

void
gr_producer_take(GrProducer *p, FunctionCallInfo fcinfo, int64 nrows)
{
	p->nrows += nrows;
	p->at += nrows * p->row_nbytes;
	p->ring->blocks[p->block].nrows = p->nrows;
	if (p->nrows == p->capacity)
		finish_block(fcinfo, p);
}
