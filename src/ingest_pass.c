/*
 * ingest_pass.c: the aggregate that brings a query's rows into a ring.
 *
 * gpu_ingest_pass(ring, names, packed, y, x1, ..) runs over the user's query, in the planner's parallel workers and in the session's own process.
 * Its state is the number of rows left out for a NULL; all else is in the ring. See ring.h.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "args.h"
#include "bridge.h"
#include "compute/glm.h"
#include "pass_columns.h"
#include "ring.h"

PG_FUNCTION_INFO_V1(gr_ingest_pass_accum);

/* Arguments */
#define ARG_RING 1
#define ARG_NAMES 2				/* text[]: those of the query's columns */
#define ARG_PACKED 3			/* int[]: of each column that follows, how many of the query's it has as an array; 0: it is one of them */
#define FIRST_COLUMN 4

typedef struct Producer
{
	GrRing	   *ring;
	GrPassColumns *columns;
	const int32 *packed;
	int			home;			/* its own blocks; see gr_ring_join() */
	int			block;			/* being filled; -1: none */
	int64		nrows;			/* in it */
	int64		capacity;
	Size		row_nbytes;
	char	   *at;				/* where the next row begins */
	bool		discards;		/* nobody wants rows any more */
	bool		all_float8;		/* every column is a float8 */
} Producer;

/* The terms' names and the response's; NULL if they weren't given. In the current memory context */
static const char **
name_terms(FunctionCallInfo fcinfo, const Producer *p)
{
	const GrPassColumns *columns = p->columns;
	int			ngiven = 0;
	int			nterms = 0;
	const char **given;
	const char **names;

	for (int k = 0; k < columns->ncolumns; k++)
		ngiven += Max(p->packed[k], 1);
	given = gr_text_argument(fcinfo, ARG_NAMES, ngiven);
	if (given == NULL)
		return NULL;
	names = palloc((columns->nfeatures + 1) * sizeof(char *));
	ngiven = 1;
	for (int k = 1; k < columns->ncolumns; k++)
	{
		const GrColumn *column = &columns->columns[k];

		for (int i = 0; i < column->width; i++)
		{
			if (p->packed[k] > 0 || !OidIsValid(column->element))
				names[nterms++] = given[ngiven++];
			else
				names[nterms++] = psprintf("%s[%d]", given[ngiven], i + 1);
		}
		if (p->packed[k] == 0 && OidIsValid(column->element))
			ngiven++;
	}
	names[nterms] = given[0];
	return names;
}

/* What column k of the arguments is called in messages */
static const char *
column_name(FunctionCallInfo fcinfo, const Producer *p, int k)
{
	const char **given;
	int			at = 0;
	int			ngiven = 0;

	for (int i = 0; i < p->columns->ncolumns; i++)
	{
		at += i < k ? Max(p->packed[i], 1) : 0;
		ngiven += Max(p->packed[i], 1);
	}
	given = gr_text_argument(fcinfo, ARG_NAMES, ngiven);
	return MemoryContextStrdup(fcinfo->flinfo->fn_mcxt, given == NULL ? "x" : given[at]);
}

static const int32 *
packed_argument(FunctionCallInfo fcinfo, int ncolumns)
{
	ArrayType  *array = PG_ARGISNULL(ARG_PACKED) ? NULL : PG_GETARG_ARRAYTYPE_P(ARG_PACKED);
	int32	   *packed;

	if (array == NULL || ARR_NDIM(array) != 1 || array_contains_nulls(array) || ARR_DIMS(array)[0] != ncolumns)
		elog(ERROR, "gpu_ingest_pass has %d columns described by another number", ncolumns);
	packed = MemoryContextAlloc(fcinfo->flinfo->fn_mcxt, ncolumns * sizeof(int32));
	memcpy(packed, ARR_DATA_PTR(array), ncolumns * sizeof(int32));
	return packed;
}

static Producer *
new_producer(FunctionCallInfo fcinfo)
{
	Producer   *p = MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt, sizeof(Producer));

	p->ring = gr_ring_attach(PG_ARGISNULL(ARG_RING) ? NULL : PG_GETARG_BYTEA_PP(ARG_RING), fcinfo->flinfo->fn_mcxt);
	p->columns = gr_describe_arguments(fcinfo, FIRST_COLUMN);
	p->packed = packed_argument(fcinfo, p->columns->ncolumns);
	p->block = -1;
	p->all_float8 = !p->ring->single;
	for (int k = 0; k < p->columns->ncolumns; k++)
		p->all_float8 &= p->columns->columns[k].type == FLOAT8OID;
	fcinfo->flinfo->fn_extra = p;
	return p;
}

/* At the first complete row: how many numbers the arrays have, from the ring or, for the ring, from this row. */
static void
agree_on_shape(FunctionCallInfo fcinfo, Producer *p)
{
	GrRing	   *ring = p->ring;
	GrPassColumns *columns = p->columns;

	if (gr_ring_ask_shape(ring))
	{
		int64		nfeatures = 0;

		for (int k = 1; k < columns->ncolumns; k++)
		{
			GrColumn   *column = &columns->columns[k];

			ring->widths[k] = OidIsValid(column->element) ? gr_array_width(PG_GETARG_DATUM(FIRST_COLUMN + k)) : 1;
			nfeatures += ring->widths[k];
		}
		gr_check_nfeatures(nfeatures);
		ring->nfeatures = (int) nfeatures;
		gr_ring_set_shape(ring);
	}
	for (int k = 1; k < columns->ncolumns; k++)
	{
		columns->columns[k].width = ring->widths[k];
		if (OidIsValid(columns->columns[k].element))
			columns->columns[k].name = column_name(fcinfo, p, k);
	}
	columns->nfeatures = ring->nfeatures;
	p->row_nbytes = gr_row_nbytes(ring->nfeatures, ring->single);
	p->capacity = gr_ring_capacity(ring);
	p->home = gr_ring_join(ring);
	if (IsParallelWorker())
		pg_atomic_fetch_add_u32(&ring->nworkers, 1);
}

/* A block to go on with; false if nobody wants rows any more. */
static bool
next_block(FunctionCallInfo fcinfo, Producer *p)
{
	if (p->discards)
		return false;
	if (p->row_nbytes == 0)
		agree_on_shape(fcinfo, p);
	p->block = gr_ring_claim(p->ring, p->home);
	p->discards = p->block < 0;
	p->nrows = 0;
	if (!p->discards)
		p->at = gr_ring_rows(p->ring, p->block);
	return !p->discards;
}

/* The block is full: it goes off if all that is in it may be computed with. */
static void
finish_block(FunctionCallInfo fcinfo, Producer *p)
{
	GrRing	   *ring = p->ring;
	GrError		err = {0};

	if (!gr_rows_valid(gr_ring_rows(ring, p->block), p->nrows, ring->nfeatures, ring->single, ring->binary, &err))
		gr_raise_columns(&err, ring->nfeatures, name_terms(fcinfo, p));
	gr_ring_publish(ring, p->block);
	p->block = -1;
}

/* The arguments, float8 all of them and none NULL, as a row */
static inline void
copy_row(FunctionCallInfo fcinfo, const Producer *p)
{
	const NullableDatum *y = &fcinfo->args[FIRST_COLUMN];
	double	   *row = (double *) p->at;
	int			nfeatures = p->columns->ncolumns - 1;

	for (int k = 0; k < nfeatures; k++)
		row[k] = DatumGetFloat8(y[1 + k].value);
	row[nfeatures] = DatumGetFloat8(y->value);
}

/* gr_ingest_pass_accum(state bigint, ring bytea, names text[], packed int[], VARIADIC "any"): the state is the number of rows left out */
Datum
gr_ingest_pass_accum(PG_FUNCTION_ARGS)
{
	Producer   *p = fcinfo->flinfo->fn_extra;
	int64		nskipped = PG_GETARG_INT64(0);

	if (unlikely(p == NULL))
		p = new_producer(fcinfo);
	if (!gr_arguments_complete(fcinfo, p->columns))
		PG_RETURN_INT64(nskipped + 1);
	if (unlikely(p->block < 0) && !next_block(fcinfo, p))
		PG_RETURN_INT64(nskipped);
	if (likely(p->all_float8))
		copy_row(fcinfo, p);
	else if (!(p->ring->single ? gr_convert_arguments_single(fcinfo, p->columns, (float *) p->at) :
			   gr_convert_arguments(fcinfo, p->columns, (double *) p->at)))
		PG_RETURN_INT64(nskipped + 1);
	p->at += p->row_nbytes;
	p->ring->blocks[p->block].nrows = ++p->nrows;
	if (unlikely(p->nrows == p->capacity))
		finish_block(fcinfo, p);
	PG_RETURN_INT64(nskipped);
}
