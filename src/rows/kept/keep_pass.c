/*
 * keep_pass.c: gpu_keep_pass(ring, names, columns ...), the aggregate that writes rows which a device service is to
 * keep into a ring.
 *
 * The aggregate runs over the query of gpu_keep(), in the planner's parallel workers and in the session's own process.
 * Rows go into the ring in the form in which they are kept. The state describes the columns' values that the process
 * has read; it is in the process's own memory, where SQL can't forge it. See ring.h and keep.h.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "rows/kept/keep.h"
#include "rows/ring/ring.h"
#include "run/args.h"
#include "run/compat.h"

PG_FUNCTION_INFO_V1(gr_keep_accum);
PG_FUNCTION_INFO_V1(gr_keep_combine);
PG_FUNCTION_INFO_V1(gr_keep_serial);
PG_FUNCTION_INFO_V1(gr_keep_deserial);
PG_FUNCTION_INFO_V1(gr_keep_final);

/* Arguments */
enum
{
	ARG_STATE, ARG_RING, ARG_NAMES, FIRST_COLUMN
};

/* This process's producer for the ring, for all groups of the aggregate. */
typedef struct KeepProducer
{
	GrRing	   *ring;
	GrRingTicket ticket;
	uint32		epoch;			/* when the ring was found; see gr_ring_attach() */
	int			home;			/* first of the producer's home blocks; see gr_ring_join() */
	int			block;			/* being filled; -1: none */
	int64		nrows;			/* in it */
	int64		capacity;
	double	   *at;				/* where the next row begins */
	bool		begun;
	bool		discards;		/* rows are no longer wanted */
} KeepProducer;

/* State of a group: the columns as this process has read them, or messages of other processes, or both. */
typedef struct KeepState
{
	GrKeepColumns *columns;
	bytea	   *sent;
} KeepState;

static void raise_ring(void) __attribute__((noreturn));

static void
raise_ring(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("there is no such ring"),
			 errhint("Do not call this function: gpureg uses it in its own queries.")));
}

/*
 * Rows
 */

/* Joins the ring whose ticket is among the arguments. ERROR if there is no such ring, or it has other columns. */
static KeepProducer *
new_producer(FunctionCallInfo fcinfo)
{
	KeepProducer *p = MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt, sizeof(KeepProducer));
	const bytea *ticket = PG_ARGISNULL(ARG_RING) ? NULL : PG_GETARG_BYTEA_PP(ARG_RING);

	if (ticket == NULL || VARSIZE_ANY_EXHDR(ticket) != sizeof(GrRingTicket))
		raise_ring();
	memcpy(&p->ticket, VARDATA_ANY(ticket), sizeof(GrRingTicket));
	p->ring = gr_ring_attach(&p->ticket, fcinfo->flinfo->fn_mcxt);
	p->epoch = gr_ring_epoch;
	if (!p->ring->keeps || p->ring->ncolumns != PG_NARGS() - FIRST_COLUMN)
		raise_ring();
	p->block = -1;
	p->capacity = gr_ring_capacity(p->ring);
	p->home = gr_ring_join(p->ring);
	fcinfo->flinfo->fn_extra = p;
	return p;
}

/* Returns the columns' names, with a default for a column without a name, in context's memory. */
static const char **
read_names(FunctionCallInfo fcinfo, MemoryContext context, int n)
{
	ArrayType  *array = PG_ARGISNULL(ARG_NAMES) ? NULL : PG_GETARG_ARRAYTYPE_P(ARG_NAMES);
	const char **names = MemoryContextAlloc(context, Max(n, 1) * sizeof(char *));
	Datum	   *items;
	bool	   *nulls;
	int			nitems = 0;

	if (array != NULL)
		deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &items, &nulls, &nitems);
	for (int k = 0; k < n; k++)
		names[k] = MemoryContextStrdup(context, k < nitems && !nulls[k] ? TextDatumGetCString(items[k]) : "x");
	return names;
}

static KeepState *
new_state(FunctionCallInfo fcinfo, MemoryContext context)
{
	int			n = PG_NARGS() - FIRST_COLUMN;
	KeepState  *state = MemoryContextAllocZero(context, sizeof(KeepState));
	Oid		   *types = palloc(Max(n, 1) * sizeof(Oid));

	for (int k = 0; k < n; k++)
	{
		types[k] = get_fn_expr_argtype(fcinfo->flinfo, FIRST_COLUMN + k);
		if (!OidIsValid(types[k]))
			raise_ring();
	}
	state->columns = gr_keep_columns(context, n, types, read_names(fcinfo, context, n));
	return state;
}

/* Takes the next block to fill; false if rows are no longer wanted. */
static bool
next_block(KeepProducer *p)
{
	if (p->discards)
		return false;
	if (!p->begun && IsParallelWorker())
		pg_atomic_fetch_add_u32(&p->ring->nworkers, 1);
	p->begun = true;
	p->block = gr_ring_claim(p->ring, p->home);
	p->discards = p->block < 0;
	p->nrows = 0;
	if (!p->discards)
		p->at = (double *) gr_ring_rows(p->ring, p->block);
	return !p->discards;
}

/* Checks that the producer's ring is still there, after rings of this process were started or stopped. ERROR if not. */
static void
find_again(FunctionCallInfo fcinfo, KeepProducer *p)
{
	if (gr_ring_attach(&p->ticket, fcinfo->flinfo->fn_mcxt) != p->ring)
		elog(ERROR, "a ring has moved");
	p->epoch = gr_ring_epoch;
}

/* gpu_keep_accum(state internal, ring bytea, names text[], VARIADIC "any") */
Datum
gr_keep_accum(PG_FUNCTION_ARGS)
{
	MemoryContext context = gr_aggregate_context(fcinfo);
	KeepProducer *p = fcinfo->flinfo->fn_extra;
	KeepState  *state = PG_ARGISNULL(ARG_STATE) ? NULL : (KeepState *) PG_GETARG_POINTER(ARG_STATE);
	GrKeepColumns *columns;

	if (unlikely(p == NULL))
		p = new_producer(fcinfo);
	if (unlikely(p->epoch != gr_ring_epoch))
		find_again(fcinfo, p);
	if (unlikely(state == NULL))
		state = new_state(fcinfo, context);
	if (unlikely(p->block < 0) && !next_block(p))
		PG_RETURN_POINTER(state);
	columns = state->columns;
	for (int k = 0; k < columns->n; k++)
	{
		const NullableDatum *arg = &fcinfo->args[FIRST_COLUMN + k];

		p->at[k] = gr_keep_value(columns, k, arg->value, arg->isnull);
	}
	p->at += columns->n;
	p->ring->blocks[p->block].nrows = ++p->nrows;
	if (unlikely(p->nrows == p->capacity))
	{
		int			block = p->block;

		p->block = -1;
		gr_ring_publish(p->ring, block);
	}
	PG_RETURN_POINTER(state);
}

/*
 * States of processes. Messages of other processes are only concatenated; gpu_keep() merges them at the end.
 */

static bytea *
append_bytes(MemoryContext context, const bytea *first, const void *more, int nbytes)
{
	int			nfirst = first == NULL ? 0 : VARSIZE_ANY_EXHDR(first);
	bytea	   *both;

	if ((Size) nfirst + nbytes > MaxAllocSize - VARHDRSZ)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("the levels of the query's columns take too much memory")));
	both = MemoryContextAlloc(context, VARHDRSZ + nfirst + nbytes);
	SET_VARSIZE(both, VARHDRSZ + nfirst + nbytes);
	if (nfirst > 0)
		memcpy(VARDATA(both), VARDATA_ANY(first), nfirst);
	if (nbytes > 0)
		memcpy(VARDATA(both) + nfirst, more, nbytes);
	return both;
}

/* Returns all messages of a state, its own columns' included. Leaves the state unchanged. */
static bytea *
messages_of(const KeepState *state)
{
	StringInfoData message;

	if (state->columns == NULL)
		return append_bytes(CurrentMemoryContext, state->sent, NULL, 0);
	initStringInfo(&message);
	gr_keep_send(state->columns, &message);
	return append_bytes(CurrentMemoryContext, state->sent, message.data, message.len);
}

/* gpu_keep_combine(internal, internal) */
Datum
gr_keep_combine(PG_FUNCTION_ARGS)
{
	MemoryContext context = gr_aggregate_context(fcinfo);
	KeepState  *state = PG_ARGISNULL(0) ? NULL : (KeepState *) PG_GETARG_POINTER(0);
	const KeepState *other = PG_ARGISNULL(1) ? NULL : (KeepState *) PG_GETARG_POINTER(1);
	bytea	   *more;
	bytea	   *old;

	if (other == NULL && state == NULL)
		PG_RETURN_NULL();
	if (other == NULL)
		PG_RETURN_POINTER(state);
	if (state == NULL)
		state = MemoryContextAllocZero(context, sizeof(KeepState));
	more = messages_of(other);
	old = state->sent;
	state->sent = append_bytes(context, old, VARDATA_ANY(more), VARSIZE_ANY_EXHDR(more));
	if (old != NULL)
		pfree(old);
	PG_RETURN_POINTER(state);
}

/* gpu_keep_serial(internal) */
Datum
gr_keep_serial(PG_FUNCTION_ARGS)
{
	(void) gr_aggregate_context(fcinfo);
	PG_RETURN_BYTEA_P(messages_of((KeepState *) PG_GETARG_POINTER(0)));
}

/* gpu_keep_deserial(bytea, internal) */
Datum
gr_keep_deserial(PG_FUNCTION_ARGS)
{
	bytea	   *value = PG_GETARG_BYTEA_PP(0);
	KeepState  *state;

	(void) gr_aggregate_context(fcinfo);
	state = palloc0(sizeof(KeepState));
	state->sent = append_bytes(CurrentMemoryContext, NULL, VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value));
	PG_RETURN_POINTER(state);
}

/* gpu_keep_final(internal): returns the messages; see gr_keep_merge() */
Datum
gr_keep_final(PG_FUNCTION_ARGS)
{
	(void) gr_aggregate_context(fcinfo);
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	PG_RETURN_BYTEA_P(messages_of((KeepState *) PG_GETARG_POINTER(0)));
}
