/*
 * fuzz_ring.c: the ring's entry, which gets a ticket, columns and rows from anyone who calls its aggregate. Nobody may
 * enter without the ticket that the ring was started with, or with other columns; rows must be written to blocks that
 * were given out, no more than a block holds. Also the bytes that parallel workers hand over: states of aggregates
 * whose memory is the process's own must be read as they were written.
 */
#include <math.h>

#include "backend.h"

#include "catalog/pg_type.h"
#include "storage/condition_variable.h"
#include "storage/dsm.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "utils/lsyscache.h"

#include "rows/ring/ring.h"
#include "run/wait.h"

/*
 * Waiting: one process is all there is, so it never waits for another
 */

static uint32 no_wait_event;
uint32	   *my_wait_event_info = &no_wait_event;
volatile sig_atomic_t postmaster_possibly_dead = false;

bool
PostmasterIsAliveInternal(void)
{
	return true;
}

void
proc_exit(int code)
{
	abort();
}

uint32
gr_wait_event(GrWait wait)
{
	return 0;
}

void
ConditionVariableInit(ConditionVariable *cv)
{
}

void
ConditionVariableBroadcast(ConditionVariable *cv)
{
}

void
ConditionVariablePrepareToSleep(ConditionVariable *cv)
{
}

void
ConditionVariableSleep(ConditionVariable *cv, uint32 wait_event_info)
{
	abort();
}

#if PG_VERSION_NUM >= 170000
bool
ConditionVariableCancelSleep(void)
{
	return false;
}
#else
void
ConditionVariableCancelSleep(void)
{
}
#endif

#define FUNCTION(name) PGDLLEXPORT Datum name(PG_FUNCTION_ARGS)

FUNCTION(gr_ingest_pass_accum);
FUNCTION(gr_levels_deserial);
FUNCTION(gr_levels_serial);
FUNCTION(gr_levels_final);
FUNCTION(gr_request_deserial);
FUNCTION(gr_request_serial);
FUNCTION(gr_request_final);
FUNCTION(gr_auc_deserialize);
FUNCTION(gr_auc_combine);
FUNCTION(gr_auc_serialize);
FUNCTION(gr_auc_final);

#define NPRODUCERS 2
#define NCOLUMNS_MAX 5

/*
 * Shared memory and processes, as far as a ring uses them
 */

static struct
{
	dsm_handle	handle;
	void	   *memory;
	Size		nbytes;
}			segment = {12345};
static PGPROC process = {.pid = 100};

int			MyProcPid = 100;
PGPROC	   *MyProc = &process;
struct Latch *MyLatch;

dsm_handle
dsm_segment_handle(dsm_segment *seg)
{
	return segment.handle;
}

void *
dsm_segment_address(dsm_segment *seg)
{
	return segment.memory;
}

Size
dsm_segment_map_length(dsm_segment *seg)
{
	return segment.nbytes;
}

dsm_segment *
dsm_find_mapping(dsm_handle h)
{
	return h == segment.handle ? (dsm_segment *) &segment : NULL;
}

bool
pg_strong_random(void *buf, size_t len)
{
	memset(buf, 0xa5, len);
	return true;
}

void
pg_usleep(long microsec)
{
	/* no other process exists to wait for */
	must(false);
}

/*
 * Rows for a ring
 */

static const Oid column_types[] = {
	FLOAT8OID, FLOAT8OID, FLOAT4OID, INT2OID, INT4OID, BOOLOID, NUMERICOID, FLOAT8ARRAYOID, FLOAT4ARRAYOID,
	BOOLARRAYOID, TEXTOID, INT8OID
};

static Datum
take_value(FuzzInput *in, Oid type, int width)
{
	Oid			element = get_element_type(type);
	double		value = take_double(in);
	Datum	   *items;
	bool	   *nulls;
	int			one = 1;

	if (element != InvalidOid)
	{
		items = palloc((Size) width * sizeof(Datum) + 1);
		nulls = palloc0((Size) width + 1);
		for (int k = 0; k < width; k++)
			items[k] = k < 3 ? take_value(in, element, 0) : element == FLOAT4OID ? Float4GetDatum(1) :
				element == BOOLOID ? BoolGetDatum(true) : Float8GetDatum(1);
		nulls[0] = width % 16 == 15;
		return PointerGetDatum(backend_array(element, width > 0 ? 1 : 0, &width, &one, items,
											 width % 16 == 15 ? nulls : NULL));
	}
	switch (type)
	{
		case FLOAT8OID:
			return Float8GetDatum(value);
		case FLOAT4OID:
			return Float4GetDatum(fabs(value) < 3e38 ? (float) value : 0);
		case NUMERICOID:
			return backend_numeric(value);
		case TEXTOID:
			return PointerGetDatum(backend_text("a", 1, false));
		default:
			return BoolGetDatum(value > 0);
	}
}

/* Makes a ring's columns and shape; NULL if columns of such types are refused. */
static GrColumns *
take_columns(FuzzInput *in, GrRowShape *shape, Oid *types, int *ntypes)
{
	uint8_t		roles = take_byte(in);
	int			n = 1 + take_byte(in) % NCOLUMNS_MAX;
	GrColumns  *columns = palloc0(offsetof(GrColumns, column) + (Size) n * sizeof(GrColumn));

	*shape = (GrRowShape) {.weight = roles % 4 == 1,.offset = roles % 8 == 2};
	columns->n = n;
	columns->weight = shape->weight;
	columns->offset = shape->offset;
	if (n < gr_nroles(columns))
		return NULL;
	for (int k = 0; k < n; k++)
	{
		types[k] = column_types[k < gr_nroles(columns) ? 0 : take_byte(in) % (COUNT(column_types) - 2)];
		if (!gr_describe_value(&columns->column[k], types[k]))
			return NULL;
		columns->column[k].at = k;
	}
	*ntypes = n;
	shape->single = roles >= 200 && gr_columns_are_single(columns);
	return columns;
}

/* Takes the published blocks, and checks that none has more rows than it holds. */
static void
drain(GrRing *ring, int64 *sequence)
{
	for (int b = 0; b < ring->nblocks; b++)
		must(ring->blocks[b].nrows >= 0 &&
			 (ring->blocks[b].nrows == 0 || ring->blocks[b].nrows <= gr_ring_capacity(ring)));
	for (int b; (b = gr_ring_next_full(ring, *sequence)) >= 0; ++*sequence)
	{
		GrError		err = {0};

		must(b < ring->nblocks && gr_rows_valid(gr_ring_rows(ring, b), ring->blocks[b].nrows, ring->shape,
												ring->rules, &err));
		gr_ring_free(ring, b);
	}
}

static void
add_call(BackendCall *call, FuzzInput *in, const GrRingTicket *ticket, const Oid *types, int n, uint8_t odd)
{
	GrRingTicket other = *ticket;
	size_t		nbytes = odd == 1 ? take_byte(in) % sizeof(other) : sizeof(other);
	char		bytes[32] = {0};
	int			width = odd % 4 == 3 ? 2000 + take_byte(in) : take_byte(in) % 32;

	if (odd == 2)
		take_bytes(in, &other, sizeof(other));
	memcpy(bytes, &other, Min(nbytes, sizeof(other)));
	call->nargs = 0;
	backend_argument(call, INT8OID, Int64GetDatum(0), false);
	backend_argument(call, BYTEAOID, PointerGetDatum(backend_text(bytes, nbytes, odd % 2 == 0)), odd == 4);
	backend_argument(call, TEXTARRAYOID, 0, true);
	for (int k = 0; k < n - (odd == 5); k++)
	{
		Oid			type = types[k];
		bool		null = take_byte(in) % 32 == 31;

		/* arrays have the same width most often */
		backend_argument(call, type, null ? 0 : take_value(in, type, odd == 8 ? take_byte(in) % 3 : width), null);
	}
}

/* Calls one producer's function; true if it has entered. */
static void
produce(FuzzInput *in, GrRing *ring, const GrRingTicket *ticket, const Oid *types, int n)
{
	BackendCall *call = backend_call(true);
	int64		sequence = 0;
	uint8_t		odd = take_byte(in) % 16;
	Oid			own[NCOLUMNS_MAX];
	bool		entitled = odd != 1 && odd != 2 && odd != 4 && odd != 5;

	memcpy(own, types, sizeof(own));
	if (odd == 6)
		own[n - 1] = column_types[take_byte(in) % COUNT(column_types)];
	for (volatile int row = 0; row < 40 && in->left > 0; row++)
	{
		add_call(call, in, ticket, own, n, odd);
		if (odd == 9 && row == 20)
			gr_ring_stop(ring);
		if (catch_error())
			break;
		(void) backend_run(call, gr_ingest_pass_accum);
		must(entitled && (odd != 6 || own[n - 1] == types[n - 1]) && (odd != 9 || row < 20));
		drain(ring, &sequence);
	}
	drain(ring, &sequence);
}

static void
use_ring(FuzzInput *in)
{
	GrRingTicket ticket;
	GrRowShape	shape;
	GrRowRules	rules = {take_byte(in) % 2 == 0 ? GR_GAUSSIAN : GR_BINOMIAL};
	Oid			types[NCOLUMNS_MAX];
	int			n = 0;
	GrColumns  *columns = take_columns(in, &shape, types, &n);

	if (columns == NULL)
		return;
	if (segment.memory == NULL)
	{
		segment.nbytes = gr_ring_nbytes(0, NPRODUCERS);
		segment.memory = aligned_alloc(4096, segment.nbytes);
		must(gr_ring_create_in(segment.memory, 0, NPRODUCERS) != NULL);
	}
	must(gr_ring_start(segment.memory, (dsm_segment *) &segment, columns, shape, rules, &ticket));
	for (int k = 0; k <= NPRODUCERS; k++)
	{
		process.pid = MyProcPid = 100;
		produce(in, segment.memory, &ticket, types, n);
		/* another process of the query, a parallel worker */
		MyProcPid = 101 + k;
	}
	gr_ring_stop(segment.memory);
}

/*
 * States
 */

typedef struct Functions
{
	PGFunction	deserial;
	PGFunction	combine;		/* makes the state of the deserialized one; NULL: that one is a state already */
	PGFunction	serial;
	PGFunction	final;
	bool		exact;			/* true if bytes are written exactly as they were read */
} Functions;

static const Functions states[] = {
	{gr_levels_deserial, NULL, gr_levels_serial, gr_levels_final, false},
	{gr_request_deserial, NULL, gr_request_serial, gr_request_final, true},
	{gr_auc_deserialize, gr_auc_combine, gr_auc_serialize, gr_auc_final, false}
};

static Datum
call_with(PGFunction function, Datum value)
{
	BackendCall *call = backend_call(true);

	backend_argument(call, BYTEAOID, value, false);
	backend_argument(call, INTERNALOID, 0, true);
	return backend_run(call, function);
}

/* Returns the state of serialized bytes. */
static Datum
state_of(const Functions *f, Datum bytes)
{
	Datum		state = call_with(f->deserial, bytes);
	BackendCall *call;

	if (f->combine == NULL)
		return state;
	call = backend_call(true);
	backend_argument(call, INTERNALOID, 0, true);
	backend_argument(call, INTERNALOID, state, false);
	return backend_run(call, f->combine);
}

static void
use_state(const Functions *f, FuzzInput *in)
{
	volatile Datum bytes = PointerGetDatum(backend_text((const char *) in->at, in->left, in->left % 2 == 0));
	const bytea *first;
	const bytea *second;

	if (catch_error())
		return;
	first = (const bytea *) DatumGetPointer(call_with(f->serial, state_of(f, bytes)));
	if (f->exact)
		must(VARSIZE_ANY_EXHDR(first) == in->left && memcmp(VARDATA_ANY(first), in->at, in->left) == 0);
	/* bytes that were written must be read, and written the same */
	must(!catch_error());
	second = (const bytea *) DatumGetPointer(call_with(f->serial, state_of(f, PointerGetDatum(first))));
	must(VARSIZE_ANY_EXHDR(first) == VARSIZE_ANY_EXHDR(second) &&
		 memcmp(VARDATA_ANY(first), VARDATA_ANY(second), VARSIZE_ANY_EXHDR(first)) == 0);
	if (!catch_error())
		(void) call_with(f->final, state_of(f, PointerGetDatum(first)));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FuzzInput	in = {data, size};
	uint8_t		which = take_byte(&in);

	backend_begin(size);
	/* the executor makes these states, not a caller, so a malformed one raises an internal error */
	backend_allowed = which % 8 < COUNT(states) ? ERRCODE_INTERNAL_ERROR : 0;
	if (which % 8 < COUNT(states))
		use_state(&states[which % 8], &in);
	else
		use_ring(&in);
	backend_end();
	return 0;
}
