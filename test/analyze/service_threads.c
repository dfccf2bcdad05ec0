/*
 * service_threads.c: a device service with its threads, which computes on the CPU, and sessions that come and go, as
 * threads of one process, over the sources of both sides, for ThreadSanitizer. The server is a stand-in. Prints TAP.
 * script/analyze runs it.
 *
 * Each session connects, sends rows, makes passes over them, stores some, reads rows that others have stored, and
 * leaves. In the end two threads meet a lost device at once, which ends the service.
 *
 * service_threads N: rows are dealt to N sinks, each with a thread, like to several devices; default: one sink.
 */
#include "postgres.h"

#include <setjmp.h>

#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "server.h"

#undef snprintf
#undef vsnprintf

/* thread-local, as each process has its own */
static __thread sigjmp_buf *exception_stack;
static __thread ErrorContextCallback *context_stack;

#define PG_exception_stack exception_stack
#define error_context_stack context_stack

#include "../../src/run/service_main.c"
#include "../../src/run/service_client.c"
#include "../unit/sums.h"

#define NSESSIONS 4
#define NROUNDS 6
#define P 5
#define NROWS 3000
#define BLOCK 500				/* rows per block */
#define ROW_NBYTES ((P + 1) * sizeof(double))
#define NIDS 3					/* numbers that rows are stored under */
#define NSUMS 200

/*
 * Stand-ins for the server's functions that the service calls
 */

int			gr_service_idle = 1000;
int			gr_service_memory = 1;
int			gr_debug_sinks;
bool		gr_debug_service = true;
bool		gr_enable_service = true;
MemoryContext CurrentMemoryContext;
MemoryContext TopMemoryContext;

static jmp_buf service_ended;
static pg_on_exit_callback exit_callback;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static GrControl *shared;
GrControl  *gr_control_block;

struct dsm_segment
{
	Size		nbytes;
	void	   *memory;
};

static dsm_segment *segments[1000];
static uint32 nsegments = 1;

dsm_segment *
dsm_create(Size size, int flags)
{
	dsm_segment *segment = malloc(sizeof(dsm_segment));

	*segment = (dsm_segment) {size, calloc(1, size)};
	if (nsegments == lengthof(segments))
		abort();
	segments[nsegments++] = segment;
	return segment;
}

dsm_segment *
dsm_attach(dsm_handle handle)
{
	return segments[handle];
}

/* segments stay until the program ends */
void
dsm_detach(dsm_segment *segment)
{
}

void
dsm_pin_mapping(dsm_segment *segment)
{
}

dsm_handle
dsm_segment_handle(dsm_segment *segment)
{
	dsm_handle	k = 1;

	while (segments[k] != segment)
		k++;
	return k;
}

void *
dsm_segment_address(dsm_segment *segment)
{
	return segment->memory;
}

Size
dsm_segment_map_length(dsm_segment *segment)
{
	return segment->nbytes;
}

uint32
gr_wait_event(GrWait wait)
{
	return 0;
}

bool
LWLockAcquire(LWLock *unused, LWLockMode mode)
{
	if (mode == LW_EXCLUSIVE)
		(void) pthread_rwlock_wrlock(&lock);
	else
		(void) pthread_rwlock_rdlock(&lock);
	return true;
}

void
LWLockRelease(LWLock *unused)
{
	(void) pthread_rwlock_unlock(&lock);
}

void
SetLatch(Latch *latch)
{
}

TimestampTz
GetCurrentTimestamp(void)
{
	return (TimestampTz) (gr_now() * 1e6);
}

bool
TimestampDifferenceExceeds(TimestampTz start_time, TimestampTz stop_time, int msec)
{
	return stop_time - start_time >= msec * INT64CONST(1000);
}

void *
MemoryContextAllocZero(MemoryContext context, Size size)
{
	return calloc(1, size);
}

void
before_shmem_exit(pg_on_exit_callback function, Datum arg)
{
	exit_callback = function;
}

void
proc_exit(int code)
{
	exit_callback(code, 0);
	longjmp(service_ended, 1);
}

/* A function that the sanitizer doesn't know. */
int
pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *until)
{
	struct timespec now;

	while (pthread_mutex_trylock(mutex) != 0)
	{
		(void) clock_gettime(clock, &now);
		if (now.tv_sec > until->tv_sec || (now.tv_sec == until->tv_sec && now.tv_nsec > until->tv_nsec))
			return ETIMEDOUT;
		(void) usleep(100);
	}
	return 0;
}

/* Functions that are never called here */
void
pg_re_throw(void)
{
	abort();
}

void
EmitErrorReport(void)
{
	abort();
}

void
FlushErrorState(void)
{
	abort();
}

void
AbortOutOfAnyTransaction(void)
{
	abort();
}

#ifndef HAVE_STRLCPY
size_t
strlcpy(char *dst, const char *src, size_t siz)
{
	return (size_t) snprintf(dst, siz, "%s", src);
}
#endif

const uint32 *gr_control_replaced = &(const uint32) {0};

GrControl *
gr_control_attach(const char **reason)
{
	return gr_control_block;
}

const char *
gr_control_why_not(void)
{
	return NULL;
}

void
gr_control_refuse(void)
{
}

void
dsm_unpin_segment(dsm_handle handle)
{
}

/*
 * Sessions
 */

static double rows[NROWS * (P + 1)];
static double right[NSUMS];		/* sums of a pass over rows */

static void
make_rows(void)
{
	for (int r = 0; r < NROWS; r++)
		for (int j = 0; j <= P; j++)
			rows[r * (P + 1) + j] = j == P ? r % 3 == 0 : sin(r * (j + 1));
}

static bool
pass_over(const GrSinkOps *ops, GrSink *sink, double *sums, GrError *err)
{
	const double beta[P + 1] = {0.5, -0.25, 1, 0.1, -2, 0.125};
	const double shift[P + 1] = {0};
	const GrPass pass = {
		.kind = GR_PASS_EXACT,.shape = gr_plain_shape(P),.distribution = GR_LOGISTIC,.beta = beta,.shift = shift
	};

	gr_pass_clear(pass.kind, P, sums);
	return sum_pass(ops, sink, &pass, sums, NULL, err);
}

/* True if the sums are right, up to the rounding of several sinks' sums. */
static bool
is_right(const double *sums)
{
	for (int k = 0; k < NSUMS; k++)
		if (sums[k] != right[k] && !(fabs(sums[k] - right[k]) <= 1e-12 * fmax(1, fabs(right[k]))))
			return false;
	return true;
}

/*
 * Sends rows from an area of two blocks, each overwritten once its rows have been read; memory NULL: from the rows
 * themselves.
 */
static bool
send_rows(const GrSinkOps *ops, GrSink *sink, char *memory, GrError *err)
{
	int64		ncalls = 0;
	int64_t		nread = 0;

	for (int from = 0; from < NROWS; from += BLOCK, ncalls++)
	{
		void	   *block = rows + from * (P + 1);

		while (ncalls - nread >= 2)
			if (!ops->sent(sink, true, &nread, err))
				return false;
		if (memory != NULL)
			block = memcpy(memory + ncalls % 2 * (BLOCK * ROW_NBYTES), block, BLOCK * ROW_NBYTES);
		if (!ops->send(sink, block, BLOCK, err))
			return false;
	}
	return true;
}

/* Stores rows under a number by which others read them, in place of the rows before, like kept_list.c. */
static bool
store_rows(Connection *c, GrSink *sink, GrError *err)
{
	GrKeptEntry *entry;
	uint64		id;

	LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
	id = ++shared->last_kept_id;
	entry = &shared->kept[id % NIDS];
	*entry = (GrKeptEntry) {
		.state = GR_KEPT_READING,.id = id,.service = 0,.generation = c->generation
	};
	LWLockRelease(&shared->lock);
	return gr_remote_store(sink, id, 100, err);
}

/* Reads the rows that were stored last, if they still exist. */
static bool
read_stored(Connection *c)
{
	const double *read;
	GrError		err = {0};
	uint64		id;

	LWLockAcquire(&shared->lock, LW_SHARED);
	id = shared->last_kept_id;
	LWLockRelease(&shared->lock);
	if (gr_remote_read(&c->client, id, P + 1, 10, 100, &read, NULL, &err))
		return memcmp(read, rows + 10 * (P + 1), 100 * ROW_NBYTES) == 0;
	return err.status == GR_INVALID;
}

/* Begins a sink; waits while rows that were replaced, and that the service must still end, use all memory. */
static bool
begin_sink(Connection *c, bool stays, GrSink **sink, GrError *err)
{
	const GrSinkOps *ops = gr_backend_remote_cpu.sink;
	const GrSinkOptions options = {
		.shape = gr_plain_shape(P),.kind = GR_SINK_KEEP,.expected_nbytes = NROWS * ROW_NBYTES,.wait_s = 60,
		.stays = stays,.stay.percent = 100
	};

	while (!ops->begin((GrSession *) &c->client, &options, sink, err))
	{
		ops->end(*sink);
		*sink = NULL;
		if (err->status != GR_DEVICE_MEMORY)
			return false;
		memset(err, 0, sizeof(*err));
		(void) usleep(1000);
	}
	return true;
}

/* Sends rows and makes passes over them. stays: stores the rows, too. */
static bool
use_device(Connection *c, bool stays)
{
	const GrSinkOps *ops = gr_backend_remote_cpu.sink;
	int			area = lease_area(&c->client, 2 * BLOCK * ROW_NBYTES);
	GrSink	   *sink = NULL;
	double		sums[NSUMS] = {0};
	GrError		err = {0};
	bool		ok;

	ok = area >= 0 && begin_sink(c, stays, &sink, &err) && send_rows(ops, sink, c->client.areas[area], &err) &&
		(stays ? store_rows(c, sink, &err) : pass_over(ops, sink, sums, &err) && is_right(sums));
	ops->end(sink);
	if (area >= 0)
		end_area(&c->client, area);
	/* rows to store are admitted as they come, without a wait for memory */
	if (stays && err.status == GR_DEVICE_MEMORY)
		return true;
	if (err.status != GR_OK)
		printf("# %s\n", err.detail);
	return ok;
}

typedef struct Session
{
	int			number;
	int			nfailed;
	pthread_t	thread;
} Session;

static void *
session_main(void *arg)
{
	Session    *self = arg;

	process_id = 100 + self->number;
	for (int k = 0; k < NROUNDS; k++)
	{
		Connection	c = {.control = shared};
		GrError		err = {0};
		const char *reason;
		bool		ok;

		/* the service must first clear away the clients before */
		while (!connect_to(&c, &shared->services[0], &reason))
			(void) usleep(1000);
		ok = gr_service_await(&c.client, NULL, &err) && use_device(&c, false) && use_device(&c, k % 2 == 0) &&
			read_stored(&c);
		self->nfailed += !ok;
		disconnect(&c);
	}
	return NULL;
}

/* Number of sessions that have ended. */
static uint32 sessions_done;

static void *
lose_device(void *arg)
{
	GrError		err = {.status = GR_DEVICE_LOST};

	while (__atomic_load_n(&sessions_done, __ATOMIC_ACQUIRE) == 0)
		(void) usleep(100);
	memset(err.detail, arg == NULL ? 'a' : 'b', sizeof(err.detail) - 1);
	note_lost(NULL, &err);
	return NULL;
}

static void *
sessions_main(void *arg)
{
	Session    *sessions = arg;

	for (int k = 0; k < NSESSIONS; k++)
	{
		sessions[k].number = k;
		(void) pthread_create(&sessions[k].thread, NULL, session_main, &sessions[k]);
	}
	for (int k = 0; k < NSESSIONS; k++)
		(void) pthread_join(sessions[k].thread, NULL);
	__atomic_store_n(&sessions_done, 1, __ATOMIC_RELEASE);
	return NULL;
}

/* Runs the service's process until it ends. */
static void
serve(void)
{
	begin_service(0);
	for (;;)
	{
		(void) serve_once();
		(void) usleep(200);
	}
}

int
main(int argc, char **argv)
{
	static Session sessions[NSESSIONS];
	const GrSinkOptions options = {.shape = gr_plain_shape(P),.kind = GR_SINK_KEEP};
	GrSink	   *sink = NULL;
	GrError		err = {0};
	pthread_t	others[3];

	gr_debug_sinks = argc > 1 ? atoi(argv[1]) : 0;
	make_rows();
	check(gr_backend_cpu.sink->begin(NULL, &options, &sink, &err) &&
		  send_rows(gr_backend_cpu.sink, sink, NULL, &err) && pass_over(gr_backend_cpu.sink, sink, right, &err),
		  "a pass here", 0);
	gr_backend_cpu.sink->end(sink);
	shared = gr_control_block = calloc(1, offsetof(GrControl, clients) + NSESSIONS * sizeof(GrClientSlot));
	shared->nclients = NSESSIONS;
	shared->services[0] = (GrService) {.state = GR_SERVICE_STARTING,.gpu_id = GR_STAND_IN_ID,.generation = 1};
	shared->services[0].started = gr_now_ms();
	leaves_at_exit = true;
	(void) pthread_create(&others[0], NULL, sessions_main, sessions);
	(void) pthread_create(&others[1], NULL, lose_device, NULL);
	(void) pthread_create(&others[2], NULL, lose_device, &others);
	if (setjmp(service_ended) == 0)
		serve();
	for (int k = 0; k < 3; k++)
		(void) pthread_join(others[k], NULL);
	for (int k = 0; k < NSESSIONS; k++)
		check(sessions[k].nfailed == 0, "all that a session did: session", k);
	check(strlen(lost_error.detail) == sizeof(lost_error.detail) - 1, "a lost device is told of", 0);
	check(shared->services[0].state == GR_SERVICE_DOWN, "... and ends the service", 0);
	for (int k = 0; k < NSESSIONS; k++)
		check(shared->clients[k].state == GR_CLIENT_FREE, "whose clients are gone: client", k);
	return done_testing();
}
