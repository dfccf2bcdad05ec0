/*
 * service_main.c: the device service: a background worker that opens a device and serves the sessions that connect.
 *
 * The process gives memory to its clients and takes it back, starts a thread for each client, and frees the slots of
 * clients that are gone. The threads carry out the clients' commands, by gr_remote_serve(). They call nothing of
 * PostgreSQL and have all signals blocked; none is left when the process exits.
 *
 * A lost device ends the service: statements that were using it fail, their sessions go on, and the next session that
 * wants the device starts another service.
 */
#include "postgres.h"

#include <unistd.h>

#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/procsignal.h"
#include "storage/sinval.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/wait_event.h"

#include "compute/backend/sink_many.h"
#include "compute/backend/valid.h"
#include "compute/base/thread.h"
#include "run/clock.h"
#include "run/compat.h"
#include "run/device.h"
#include "run/service.h"
#include "run/service_kept.h"
#include "run/service_memory.h"
#include "run/service_shared.h"
#include "run/wait.h"

#define TICK_MS 10				/* interval of the loop while threads start or end */
#define LONG_TICK_MS 1000
#define POOL_MAX 256			/* greatest number of segments, leased or not */
#define SPARE_MS 10000			/* time after which a segment that isn't leased is freed */
#define SEGMENT_NBYTES_MIN ((Size) 256 << 10)

/* Shared memory for leases. Sizes are powers of two, so that a returned segment suits many later requests. */
typedef struct Segment
{
	dsm_segment *segment;		/* NULL: the place is free */
	Size		nbytes;
	bool		leased;
	bool		pinned;			/* by the device */
	int64		returned;		/* time by gr_now_ms() */
} Segment;

/* A client's thread and its data. */
typedef struct Attendant
{
	GrClientSlot *slot;			/* NULL: no client */
	GrRemoteServer server;
	int			segments[GR_REMOTE_AREAS];	/* index in pool of each area's segment; -1: no segment */
	pthread_t	thread;
	bool		started;
	uint32		finished;		/* set by the thread at its end */
	GrError		error;			/* error that kept the thread from beginning */
} Attendant;

static GrControl *control;
static GrService *service;
static const GrBackend *backend;
static GrSession *session;		/* session of the device; NULL on the CPU */
static Segment pool[POOL_MAX];
static Attendant *attendants;
static pthread_t opener;
static bool opener_started;
static uint32 opener_finished;
static bool opened;
static GrError open_error;
static GrError lost_error;
static int	nstand_ins;			/* see stand_in() */
static const GrRemoteStore *store;	/* store of kept rows, once the device is open */
static bool idle;				/* the service ends because nobody has used it */
static uint32 device_lost;		/* 1: a thread is writing lost_error, 2: lost_error is complete */

extern PGDLLEXPORT void gr_service_main(Datum arg);

/* True if the service is in state. A thread may end the state at any moment: see note_lost(). */
static bool
is_in(GrServiceState state)
{
	return __atomic_load_n(&service->state, __ATOMIC_ACQUIRE) == (uint32) state;
}

/*
 * Threads
 */

static void *
open_device(void *arg)
{
	GrOpenOptions options = {.device_id = service->gpu_id,.serves_many = true};

	(void) arg;
	opened = backend->device == NULL || backend->device->open(&session, &options, &open_error);
	__atomic_store_n(&opener_finished, 1, __ATOMIC_RELEASE);
	return NULL;
}

/*
 * Notes that the device is lost, and refuses new connections. Called by a client's thread before the client gets its
 * error: the client's next statement may come before the process looks, and must start another service.
 */
static void
note_lost(GrRemoteServer *server, const GrError *err)
{
	uint32		none = 0;
	uint32		ready = GR_SERVICE_READY;

	(void) server;
	if (__atomic_compare_exchange_n(&device_lost, &none, 1, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
	{
		lost_error = *err;
		__atomic_store_n(&device_lost, 2, __ATOMIC_RELEASE);
	}
	/* without the lock, which only the process can take; turn_away() also tells clients that have just got a slot */
	(void) __atomic_compare_exchange_n(&service->state, &ready, GR_SERVICE_ENDING, false, __ATOMIC_SEQ_CST,
									   __ATOMIC_SEQ_CST);
}

/* Thread of one client: opens a session on the device for this client alone, and serves the client until it leaves. */
static void *
attend(void *arg)
{
	Attendant  *a = arg;
	GrOpenOptions options = {.device_id = service->gpu_id,.serves_many = true};

	/* -1 would choose the device with most free memory now, which may be another one */
	if (session != NULL && service->gpu_id == -1)
		options.device_id = backend->device->describe(session)->id;
	if (backend->device == NULL || backend->device->open(&a->server.session, &options, &a->error))
		gr_remote_serve(&a->server);
	if (a->server.session != NULL)
		backend->device->close(a->server.session);
	__atomic_store_n(&a->finished, 1, __ATOMIC_RELEASE);
	return NULL;
}

/*
 * The pool
 */

/* Creates a segment. Returns NULL without memory: errors are only logged, as they must not end the service. */
static dsm_segment *
create_segment(Size nbytes)
{
	MemoryContext context = CurrentMemoryContext;
	dsm_segment *volatile segment = NULL;

	PG_TRY();
	{
		segment = dsm_create(nbytes, DSM_CREATE_NULL_IF_MAXSEGMENTS);
		if (segment != NULL)
			dsm_pin_mapping(segment);
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		EmitErrorReport();
		FlushErrorState();
		segment = NULL;
	}
	PG_END_TRY();
	return segment;
}

/*
 * Pins a segment for the device. Ignores failures: memory that is not pinned is only slower. Does nothing while the
 * device is being opened; finish_opening() then pins all segments.
 */
static void
pin_segment(Segment *s)
{
	GrError		ignored = {0};

	if (!opener_started && session != NULL && !s->pinned)
		s->pinned = backend->device->pin(session, dsm_segment_address(s->segment), s->nbytes, &ignored);
}

static void
drop_segment(Segment *s)
{
	if (s->pinned)
		backend->device->unpin(session, dsm_segment_address(s->segment));
	dsm_detach(s->segment);
	memset(s, 0, sizeof(*s));
}

/* Leases a segment of at least nbytes, new or from the pool. Returns its number in the pool, or -1 on failure. */
static int
lease_segment(Size nbytes)
{
	Size		size = SEGMENT_NBYTES_MIN;
	int			vacant = -1;

	if (nbytes > GR_REQUEST_NBYTES_MAX)
		return -1;
	while (size < nbytes)
		size *= 2;
	for (int k = 0; k < POOL_MAX; k++)
	{
		if (pool[k].segment == NULL)
			vacant = vacant < 0 ? k : vacant;
		else if (!pool[k].leased && pool[k].nbytes == size)
		{
			pool[k].leased = true;
			return k;
		}
	}
	if (vacant < 0)
		return -1;
	pool[vacant].segment = create_segment(size);
	if (pool[vacant].segment == NULL)
		return -1;
	pool[vacant].nbytes = size;
	pool[vacant].leased = true;
	pin_segment(&pool[vacant]);
	return vacant;
}

static void
return_segment(int k)
{
	pool[k].leased = false;
	pool[k].returned = gr_now_ms();
}

/* Frees segments that have not been leased for SPARE_MS. */
static void
trim_pool(int64 now)
{
	for (int k = 0; k < POOL_MAX; k++)
		if (pool[k].segment != NULL && !pool[k].leased && now - pool[k].returned >= SPARE_MS)
			drop_segment(&pool[k]);
}

/*
 * Clients
 */

static void
take_area(Attendant *a, int k)
{
	if (a->segments[k] >= 0)
		return_segment(a->segments[k]);
	a->segments[k] = -1;
	a->server.areas[k] = NULL;
	a->server.area_nbytes[k] = 0;
}

/* Leases a segment for area k, or refuses. If the client already has area k, the new segment replaces the old one. */
static void
give_area(Attendant *a, int k)
{
	GrArea	   *area = &a->slot->areas[k];
	int			segment = lease_segment(area->nbytes);

	take_area(a, k);
	a->segments[k] = segment;
	if (segment < 0)
	{
		__atomic_store_n(&area->state, GR_AREA_REFUSED, __ATOMIC_SEQ_CST);
		return;
	}
	area->handle = dsm_segment_handle(pool[segment].segment);
	a->server.area_nbytes[k] = dsm_segment_map_length(pool[segment].segment);
	a->server.areas[k] = dsm_segment_address(pool[segment].segment);
	__atomic_store_n(&area->state, GR_AREA_GIVEN, __ATOMIC_SEQ_CST);
}

/* Gives the client the areas that it has requested, takes back those it has returned, and wakes it. */
static void
look_after_areas(Attendant *a)
{
	bool		answered = false;

	for (int k = 0; k < GR_REMOTE_AREAS; k++)
	{
		GrArea	   *area = &a->slot->areas[k];
		uint32		state = __atomic_load_n(&area->state, __ATOMIC_ACQUIRE);

		if (state == GR_AREA_ASKED)
			give_area(a, k);
		else if (state == GR_AREA_RETURNED)
		{
			take_area(a, k);
			__atomic_store_n(&area->state, GR_AREA_FREE, __ATOMIC_SEQ_CST);
		}
		else
			continue;
		answered = true;
	}
	if (answered)
		SetLatch(a->slot->latch);
}

static void
start_attendant(Attendant *a)
{
	GrError		err = {0};

	a->started = gr_thread_create(&a->thread, attend, a) == 0;
	if (a->started)
		return;
	gr_fail(&err, GR_DEVICE_FAILED, 0, "could not start a thread for the session");
	gr_channel_abandon(&a->slot->channel, &err);
}

/* Frees the areas, the channel and the slot of a client that is gone and whose thread has ended. */
static void
clear_away(Attendant *a)
{
	if (a->started)
		(void) pthread_join(a->thread, NULL);
	for (int k = 0; k < GR_REMOTE_AREAS; k++)
		take_area(a, k);
	gr_channel_end(&a->slot->channel);
	LWLockAcquire(&control->lock, LW_EXCLUSIVE);
	a->slot->state = GR_CLIENT_FREE;
	LWLockRelease(&control->lock);
	memset(a, 0, sizeof(*a));
}

static bool
is_ours(const GrClientSlot *slot)
{
	return slot->service == service - control->services && slot->generation == service->generation;
}

static void
welcome(Attendant *a, GrClientSlot *slot)
{
	memset(a, 0, sizeof(*a));
	a->slot = slot;
	a->server.channel = &slot->channel;
	a->server.backend = backend;
	a->server.lost = note_lost;
	a->server.admit = gr_memory_admit;
	a->server.release = gr_memory_release;
	a->server.store = store;
	for (int k = 0; k < GR_REMOTE_AREAS; k++)
		a->segments[k] = -1;
}

/* Serves slot k: starts its client's thread, answers requests for areas, or clears away. True if it must soon rerun. */
static bool
look_after(int k)
{
	GrClientSlot *slot = &control->clients[k];
	Attendant  *a = &attendants[k];
	uint32		state;

	if (__atomic_load_n(&slot->state, __ATOMIC_RELAXED) == GR_CLIENT_FREE)
		return false;
	LWLockAcquire(&control->lock, LW_SHARED);
	state = is_ours(slot) ? slot->state : GR_CLIENT_FREE;
	LWLockRelease(&control->lock);
	if (state == GR_CLIENT_FREE)
		return false;
	if (a->slot == NULL)
		welcome(a, slot);
	if (state == GR_CLIENT_GONE)
	{
		if (a->started && __atomic_load_n(&a->finished, __ATOMIC_ACQUIRE) == 0)
			return true;
		clear_away(a);
		return false;
	}
	look_after_areas(a);
	if (is_in(GR_SERVICE_READY) && !a->started)
		start_attendant(a);
	if (__atomic_load_n(&a->finished, __ATOMIC_ACQUIRE) != 0 && a->error.status != GR_OK)
		gr_channel_abandon(&slot->channel, &a->error);
	return false;
}

/*
 * The service
 */

/* Ends all threads: closed channels first, so that none waits for its client. */
static void
end_threads(void)
{
	int			n = attendants == NULL ? 0 : control->nclients;

	for (int k = 0; k < n; k++)
		if (attendants[k].started)
			gr_channel_close(&attendants[k].slot->channel);
	for (int k = 0; k < n; k++)
	{
		if (attendants[k].started)
			(void) pthread_join(attendants[k].thread, NULL);
		attendants[k].started = false;
	}
	if (opener_started)
		(void) pthread_join(opener, NULL);
	opener_started = false;
}

/* Ends the service for its clients: refuses new connections, and fails those of present clients with err. */
static void
turn_away(const GrError *err)
{
	LWLockAcquire(&control->lock, LW_EXCLUSIVE);
	__atomic_store_n(&service->state, GR_SERVICE_ENDING, __ATOMIC_SEQ_CST);
	for (int k = 0; k < control->nclients; k++)
		if (control->clients[k].state == GR_CLIENT_CONNECTED && is_ours(&control->clients[k]))
			gr_channel_abandon(&control->clients[k].channel, err);
	LWLockRelease(&control->lock);
}

/*
 * Gives up the service's place in shared memory when no thread is left: frees the slots of clients that are gone, and
 * removes the service's kept rows from the list. Sessions that still have a slot free it themselves from now on.
 */
static void
leave_place(void)
{
	LWLockAcquire(&control->lock, LW_EXCLUSIVE);
	for (int k = 0; k < control->nclients; k++)
	{
		GrClientSlot *slot = &control->clients[k];

		if (slot->state != GR_CLIENT_GONE || !is_ours(slot))
			continue;
		gr_channel_end(&slot->channel);
		slot->state = GR_CLIENT_FREE;
	}
	for (int k = 0; k < GR_KEPT_MAX; k++)
		if (control->kept[k].state != GR_KEPT_FREE && control->kept[k].generation == service->generation &&
			control->kept[k].service == service - control->services)
			gr_kept_clear(&control->kept[k]);
	__atomic_store_n(&service->latch, NULL, __ATOMIC_RELEASE);
	__atomic_store_n(&service->state, GR_SERVICE_DOWN, __ATOMIC_SEQ_CST);
	LWLockRelease(&control->lock);
}

static void append_text(char *text, size_t size, const char *format,...) pg_attribute_printf(3, 4);

/* Appends a formatted string to text, a buffer of size bytes, and cuts off what does not fit. */
static void
append_text(char *text, size_t size, const char *format,...)
{
	size_t		length = strlen(text);
	va_list		args;

	va_start(args, format);
	(void) vsnprintf(text + length, size - length, format, args);
	va_end(args);
}

/* Logs why the service ends, and whose rows it kept. Allocates nothing: the process may exit for lack of memory. */
static void
log_end(const GrError *err)
{
	static char sets[GR_KEPT_MAX * (3 * NAMEDATALEN + 80)];
	int			n = 0;

	LWLockAcquire(&control->lock, LW_SHARED);
	for (int k = 0; k < GR_KEPT_MAX; k++)
	{
		const GrKeptEntry *entry = &control->kept[k];

		if (entry->state == GR_KEPT_FREE || entry->service != service - control->services ||
			entry->generation != service->generation)
			continue;
		append_text(sets, sizeof(sets), "%s role \"%s\", database \"%s\": \"%s\"", n == 0 ? "" : ";",
					entry->owner_name, entry->database_name, entry->name);
		if (entry->state == GR_KEPT_THERE)
			append_text(sets, sizeof(sets), " (%lld rows)", (long long) entry->nrows);
		n++;
	}
	LWLockRelease(&control->lock);
	ereport(LOG,
			(errmsg("gpureg device service ends: %s", err->detail),
			 n == 0 ? errdetail("It kept no rows.") : errdetail("These sets of kept rows are lost:%s.", sets)));
}

/*
 * Exit callback, for whatever reason the service ends: logs the reason, fails its clients, ends the threads, frees the
 * device, and gives up the service's place.
 */
static void
end_service(int code, Datum arg)
{
	GrError		err = {.status = GR_DEVICE_FAILED};

	(void) code;
	(void) arg;
	if (__atomic_load_n(&device_lost, __ATOMIC_ACQUIRE) == 2)
		err = lost_error;
	else if (open_error.status != GR_OK)
		err = open_error;
	else
		strlcpy(err.detail, idle ? "no session has used it for gpureg.service_idle" : "it was stopped",
				sizeof(err.detail));
	log_end(&err);
	turn_away(&err);
	end_threads();
	gr_kept_end();
	for (int k = 0; k < POOL_MAX; k++)
		if (pool[k].segment != NULL)
			drop_segment(&pool[k]);
	if (session != NULL)
		backend->device->close(session);
	session = NULL;
	leave_place();
}

/* Called when the opener thread has ended: makes the service ready, or exits if the device could not be opened. */
static void
finish_opening(void)
{
	(void) pthread_join(opener, NULL);
	opener_started = false;
	if (!opened)
		proc_exit(1);
	if (session != NULL)
		service->info = *backend->device->describe(session);
	else
	{
		size_t		nbytes = (size_t) sysconf(_SC_PHYS_PAGES) * (size_t) sysconf(_SC_PAGESIZE);

		/* offer only a quarter of the memory: the server and other processes need memory, too */
		service->info = (GrDeviceInfo) {
			.id = -1,.name = "the CPU in place of a GPU",.memory_total = nbytes,.memory_free = nbytes / 4
		};
	}
	store = gr_kept_begin(backend, session, gr_memory_release);
	for (int k = 0; k < control->nclients; k++)
		attendants[k].server.store = store;
	gr_memory_set_total(service->info.memory_free, session != NULL);
	for (int k = 0; k < POOL_MAX; k++)
		if (pool[k].segment != NULL)
			pin_segment(&pool[k]);
	ereport(LOG,
			(errmsg("gpureg device service has started"),
			 service->info.id < 0 ? errdetail("The device is %s.", service->info.name) :
			 errdetail("The device is GPU %d, %s.", service->info.id, service->info.name)));
	__atomic_store_n(&service->state, GR_SERVICE_READY, __ATOMIC_RELEASE);
}

/* Refuses new connections and returns true if no client or kept rows have used the service for gpureg.service_idle. */
static bool
retire_if_idle(int64 now)
{
	bool		unused = gr_service_idle >= 0;

	LWLockAcquire(&control->lock, LW_EXCLUSIVE);
	for (int k = 0; k < control->nclients && unused; k++)
	{
		const Attendant *a = &attendants[k];

		if (a->slot == NULL)
			continue;
		unused = !gr_remote_is_busy(&a->server) &&
			now - __atomic_load_n(&a->slot->touched, __ATOMIC_RELAXED) >= gr_service_idle * INT64CONST(1000);
		for (int j = 0; j < GR_REMOTE_AREAS && unused; j++)
			unused = a->segments[j] < 0 || j == a->slot->channel.bulk;
	}
	/* look for kept rows after clients: a client may have stored rows before it left */
	unused = unused && !gr_kept_has_any() && now - service->started >= gr_service_idle * INT64CONST(1000);
	if (unused)
		__atomic_store_n(&service->state, GR_SERVICE_ENDING, __ATOMIC_SEQ_CST);
	LWLockRelease(&control->lock);
	return unused;
}

/* begin() of a backend with nstand_ins sinks on the CPU, which stand in for several GPUs; see stand_in(). */
static bool
begin_stand_ins(GrSession *unused, const GrSinkOptions *options, GrSink **sink, GrError *err)
{
	const GrParts parts = {.ops = gr_backend_cpu.sink,.n = nstand_ins};

	(void) unused;
	return gr_many_begin(&parts, options, sink, err);
}

/* Returns the CPU backend or, if gpureg.debug_sinks is set now, one with that number of sinks on the CPU. */
static const GrBackend *
stand_in(void)
{
	static GrSinkOps sinks;
	static GrBackend several;

	nstand_ins = gr_debug_sinks;
	if (nstand_ins == 0)
		return &gr_backend_cpu;
	sinks = gr_sink_many;
	sinks.begin = begin_stand_ins;
	several = gr_backend_cpu;
	several.sink = &sinks;
	return &several;
}

static void
begin_service(int number)
{
	const char *reason = NULL;

	control = gr_control(&reason);
	if (control == NULL)
	{
		gr_control_refuse();
		ereport(LOG,
				(errmsg("gpureg device service cannot start"),
				 errdetail("The reason: %s.", reason == NULL ? "there is no shared memory" : reason)));
		proc_exit(1);
	}
	if (number < 0 || number >= GR_SERVICES)
		proc_exit(1);
	service = &control->services[number];
	LWLockAcquire(&control->lock, LW_EXCLUSIVE);
	if (!is_in(GR_SERVICE_STARTING) || service->pid != 0)
	{
		LWLockRelease(&control->lock);
		proc_exit(1);
	}
	service->pid = MyProcPid;
	__atomic_store_n(&service->latch, MyLatch, __ATOMIC_RELEASE);
	__atomic_store_n(&service->state, GR_SERVICE_OPENING, __ATOMIC_RELEASE);
	LWLockRelease(&control->lock);
	/* if anything fails from here on, the callback tells the sessions that wait */
	before_shmem_exit(end_service, (Datum) 0);
	attendants = MemoryContextAllocZero(TopMemoryContext, control->nclients * sizeof(Attendant));
	backend = service->gpu_id == GR_STAND_IN_ID ? stand_in() :
		service->gpu_id == GR_ALL_DEVICES ? &gr_backend_many : &gr_backend_cuda;
	opener_started = gr_thread_create(&opener, open_device, NULL) == 0;
	if (!opener_started)
		proc_exit(1);
}

/* Does all work that is due, for clients and for the pool. Returns the time until it must be called again, in ms. */
static long
serve_once(void)
{
	bool		soon = is_in(GR_SERVICE_OPENING);
	int64		now = gr_now_ms();

	if (is_in(GR_SERVICE_OPENING) && __atomic_load_n(&opener_finished, __ATOMIC_ACQUIRE) != 0)
		finish_opening();
	for (int k = 0; k < control->nclients; k++)
		soon |= look_after(k);
	if (__atomic_load_n(&device_lost, __ATOMIC_ACQUIRE) == 2)
		proc_exit(1);
	trim_pool(now);
	gr_kept_sweep(control);
	if (is_in(GR_SERVICE_READY) && retire_if_idle(now))
	{
		idle = true;
		proc_exit(0);
	}
	return soon ? TICK_MS : LONG_TICK_MS;
}

/* Answers signals of the server for which other processes wait until every process has answered. */
static void
listen_to_server(void)
{
	if (ProcSignalBarrierPending)
		ProcessProcSignalBarrier();
	if (LogMemoryContextPending)
		ProcessLogMemoryContextInterrupt();
	if (catchupInterruptPending)
		ProcessCatchupInterrupt();
}

void
gr_service_main(Datum arg)
{
	pqsignal(SIGTERM, SignalHandlerForShutdownRequest);
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGINT, GR_SIGNAL_IGNORED);
	BackgroundWorkerUnblockSignals();
	/* connect to no database, so that pg_stat_activity shows the service and pg_terminate_backend() ends it */
	BackgroundWorkerInitializeConnection(NULL, NULL, 0);
	begin_service(DatumGetInt32(arg));
	for (;;)
	{
		long		timeout_ms = serve_once();
		int			events = WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, timeout_ms,
									   gr_wait_event(GR_WAIT_SERVICE_IDLE));

		if (events & WL_LATCH_SET)
			ResetLatch(MyLatch);
		if (ShutdownRequestPending)
			proc_exit(0);
		listen_to_server();
		if (ConfigReloadPending)
		{
			ConfigReloadPending = false;
			ProcessConfigFile(PGC_SIGHUP);
			if (is_in(GR_SERVICE_READY))
				gr_memory_set_total(service->info.memory_free, session != NULL);
		}
	}
}
