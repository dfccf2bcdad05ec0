/*
 * service_client.c: connects a session to device services, leases their memory, and disconnects.
 *
 * A session has one connection to a device's service and, for rows kept on the CPU, perhaps another one to the service
 * that computes on the CPU. A connection is made when it is first needed, kept until the session ends or needs another
 * device, and made anew if its service has ended.
 */
#include "postgres.h"

#include <pthread.h>
#include <time.h>

#include "access/parallel.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "storage/ipc.h"
#include "utils/wait_event.h"

#include "run/clock.h"
#include "run/service.h"
#include "run/service_shared.h"
#include "run/wait.h"

#define START_TIMEOUT_MS 10000	/* a service that doesn't answer in this time counts as absent */
#define NAP_MS 10
#define AWAIT_NAP_NS 200000

typedef struct Connection
{
	GrControl  *control;
	GrClientSlot *slot;			/* NULL: not connected */
	pthread_t	thread;			/* thread that made the connection, the only one that can lease */
	GrService  *service;
	uint64		generation;		/* generation of the service */
	uint64		number;			/* number of the connection among all that this session has made */
	dsm_segment *segments[GR_REMOTE_AREAS];
	GrRemoteClient client;
} Connection;

/* [0]: connection to the device's service; [1]: to the CPU's, for kept rows, unless that stands in for the device */
static Connection connections[2];
int			gr_service_njobs;
static bool leaves_at_exit;		/* leave_at_exit() is registered */

static int	lease_area(GrRemoteClient *client, size_t nbytes);
static void end_area(GrRemoteClient *client, int area);

static uint32
service_state(const GrService *service)
{
	return __atomic_load_n(&service->state, __ATOMIC_ACQUIRE);
}

static bool
takes_clients(const GrService *service)
{
	uint32		state = service_state(service);

	return state != GR_SERVICE_DOWN && state != GR_SERVICE_ENDING;
}

/* True if the session is connected, and the service it connected to still runs and answers. */
static bool
is_alive(const Connection *c)
{
	return c->slot != NULL && __atomic_load_n(&c->client.given_up, __ATOMIC_RELAXED) == 0 &&
		__atomic_load_n(&c->slot->channel.server_gone, __ATOMIC_ACQUIRE) == 0 &&
		c->service->generation == c->generation && takes_clients(c->service);
}

static void
wake_service(const Connection *c)
{
	Latch	   *latch;

	/* read the latch once: a service that ends sets it to NULL without the lock */
	if (is_alive(c) && (latch = __atomic_load_n(&c->service->latch, __ATOMIC_ACQUIRE)) != NULL)
		SetLatch(latch);
}

/* Ends a connection, if there is one. A service that still runs frees the slot; else this session does. */
static void
disconnect(Connection *c)
{
	GrClientSlot *slot = c->slot;
	bool		served;

	if (slot == NULL)
		return;
	for (int a = 0; a < GR_REMOTE_AREAS; a++)
	{
		if (c->segments[a] != NULL)
			dsm_detach(c->segments[a]);
		c->segments[a] = NULL;
		c->client.areas[a] = NULL;
	}
	gr_channel_close(&slot->channel);
	c->slot = NULL;
	LWLockAcquire(&c->control->lock, LW_EXCLUSIVE);
	/* under the lock a service can't end unnoticed: an ending service frees its clients' slots under it */
	served = c->service->generation == c->generation && service_state(c->service) != GR_SERVICE_DOWN;
	if (!served)
		gr_channel_end(&slot->channel);
	__atomic_store_n(&slot->state, served ? GR_CLIENT_GONE : GR_CLIENT_FREE, __ATOMIC_RELAXED);
	if (served && c->service->latch != NULL)
		SetLatch(c->service->latch);
	LWLockRelease(&c->control->lock);
}

/*
 * Exit callback: aborts the transaction, whose callbacks end its objects on the device, and then disconnects. The
 * connections are needed for the abort and go last. Setting stopping cancels a command that the session was waiting
 * for when it was terminated, so that the abort need not wait for the command's end.
 */
static void
leave_at_exit(int code, Datum arg)
{
	(void) code;
	(void) arg;
	if (connections[0].slot == NULL && connections[1].slot == NULL)
		return;
	for (int k = 0; k < (int) lengthof(connections); k++)
		__atomic_store_n(&connections[k].client.stopping, 1, __ATOMIC_SEQ_CST);
	AbortOutOfAnyTransaction();
	disconnect(&connections[0]);
	disconnect(&connections[1]);
}

/* Sleeps for NAP_MS or until the latch is set. Doesn't handle interrupts: all waits that nap are short. */
static void
nap(void)
{
	int			events = WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, NAP_MS,
								   gr_wait_event(GR_WAIT_SERVICE));

	if (events & WL_LATCH_SET)
		ResetLatch(MyLatch);
}

/*
 * Services
 */

/* True if the process that was to run the service has not begun in time. */
static bool
is_stillborn(const GrService *service)
{
	return service_state(service) == GR_SERVICE_STARTING &&
		gr_now_ms() - service->started >= START_TIMEOUT_MS;
}

/* Returns the service of device gpu_id, else a free place for one, else NULL. The caller holds the lock. */
static GrService *
find_service(GrControl *control, int gpu_id)
{
	GrService  *vacant = NULL;

	for (int k = 0; k < GR_SERVICES; k++)
	{
		GrService  *service = &control->services[k];
		uint32		state = service_state(service);

		if (state == GR_SERVICE_DOWN || is_stillborn(service))
			vacant = vacant == NULL ? service : vacant;
		else if (state == GR_SERVICE_ENDING)
			continue;
		else if (service->gpu_id == gpu_id ||
				 (state == GR_SERVICE_READY && gpu_id >= 0 && service->gpu_id == -1 && service->info.id == gpu_id) ||
				 (gpu_id == -1 && service->gpu_id >= 0))
			return service;
	}
	return vacant;
}

/*
 * True if a service is being started that may open device gpu_id, because it takes the device with the most free
 * memory. The caller holds the lock.
 */
static bool
may_become(GrControl *control, int gpu_id)
{
	for (int k = 0; k < GR_SERVICES && gpu_id >= 0; k++)
	{
		const GrService *service = &control->services[k];
		uint32		state = service_state(service);

		if (service->gpu_id == -1 && !is_stillborn(service) &&
			(state == GR_SERVICE_STARTING || state == GR_SERVICE_OPENING))
			return true;
	}
	return false;
}

/*
 * Waits, about 0.3 s, while a service is starting that may turn out to be that of device gpu_id, because a device must
 * not get a second service.
 */
static void
await_numbers(GrControl *control, int gpu_id)
{
	int64		started = gr_now_ms();
	bool		waits;

	do
	{
		LWLockAcquire(&control->lock, LW_SHARED);
		waits = may_become(control, gpu_id);
		LWLockRelease(&control->lock);
		if (!waits)
			return;
		CHECK_FOR_INTERRUPTS();
		nap();
	} while (gr_now_ms() - started < START_TIMEOUT_MS);
}

static bool
register_worker(const GrControl *control, const GrService *service)
{
	BackgroundWorker worker = {.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION,
	.bgw_restart_time = BGW_NEVER_RESTART};

	worker.bgw_start_time = BgWorkerStart_ConsistentState;
	strlcpy(worker.bgw_library_name, "gpureg", sizeof(worker.bgw_library_name));
	strlcpy(worker.bgw_function_name, "gr_service_main", sizeof(worker.bgw_function_name));
	snprintf(worker.bgw_name, sizeof(worker.bgw_name), "gpureg device service");
	strlcpy(worker.bgw_type, "gpureg device service", sizeof(worker.bgw_type));
	worker.bgw_main_arg = Int32GetDatum((int32) (service - control->services));
	return RegisterDynamicBackgroundWorker(&worker, NULL);
}

/* Frees the slots of clients that left a service which never started to run. The caller holds the lock. */
static void
free_slots(GrControl *control, const GrService *service)
{
	for (int k = 0; k < control->nclients; k++)
	{
		GrClientSlot *slot = &control->clients[k];

		if (slot->state != GR_CLIENT_GONE || slot->service != service - control->services ||
			slot->generation != service->generation)
			continue;
		gr_channel_end(&slot->channel);
		slot->state = GR_CLIENT_FREE;
	}
}

/* True if the service's process has begun, and has not ended. */
static bool
is_open(const GrService *service)
{
	uint32		state = service_state(service);

	return state == GR_SERVICE_OPENING || state == GR_SERVICE_READY;
}

/* Returns the service of a device, and starts it if none runs. Returns NULL with *reason if none can be started. */
static GrService *
get_service(GrControl *control, int gpu_id, const char **reason)
{
	GrService  *service;
	bool		start = false;

	LWLockAcquire(&control->lock, LW_EXCLUSIVE);
	service = find_service(control, gpu_id);
	if (service != NULL && gr_control_mismatch() != NULL && !is_open(service))
	{
		LWLockRelease(&control->lock);
		*reason = gr_control_mismatch();
		return NULL;
	}
	if (service != NULL && (service_state(service) == GR_SERVICE_DOWN || is_stillborn(service)))
	{
		free_slots(control, service);
		service->gpu_id = gpu_id;
		service->generation++;
		service->started = gr_now_ms();
		service->pid = 0;
		__atomic_store_n(&service->latch, NULL, __ATOMIC_RELEASE);
		__atomic_store_n(&service->state, GR_SERVICE_STARTING, __ATOMIC_RELEASE);
		start = true;
	}
	LWLockRelease(&control->lock);
	if (service == NULL)
		*reason = "the server already runs as many device services as it can";
	if (!start || register_worker(control, service))
		return service;
	LWLockAcquire(&control->lock, LW_EXCLUSIVE);
	__atomic_store_n(&service->state, GR_SERVICE_DOWN, __ATOMIC_RELEASE);
	LWLockRelease(&control->lock);
	*reason = "no background worker is free for a device service; raise max_worker_processes";
	return NULL;
}

/* Takes a client slot and connects it to service. Returns false if no slot is free or the service has just ended. */
static bool
take_slot(Connection *c, GrService *service)
{
	GrClientSlot *slot = NULL;

	LWLockAcquire(&c->control->lock, LW_EXCLUSIVE);
	for (int k = 0; k < c->control->nclients && slot == NULL; k++)
		if (c->control->clients[k].state == GR_CLIENT_FREE)
			slot = &c->control->clients[k];
	if (!takes_clients(service))
		slot = NULL;
	if (slot != NULL && !gr_channel_begin(&slot->channel))
		slot = NULL;
	if (slot != NULL)
	{
		slot->service = (int) (service - c->control->services);
		slot->generation = service->generation;
		slot->touched = gr_now_ms();
		slot->latch = MyLatch;
		memset(slot->areas, 0, sizeof(slot->areas));
		memset(slot->holds, 0, sizeof(slot->holds));
		__atomic_store_n(&slot->state, GR_CLIENT_CONNECTED, __ATOMIC_RELAXED);
		c->service = service;
		c->generation = service->generation;
	}
	LWLockRelease(&c->control->lock);
	c->slot = slot;
	return slot != NULL;
}

/* Connects c to service and leases the bulk area. Returns false with *reason if either fails. */
static bool
connect_to(Connection *c, GrService *service, const char **reason)
{
	int			area;

	if (!leaves_at_exit)
	{
		before_shmem_exit(leave_at_exit, (Datum) 0);
		leaves_at_exit = true;
	}
	if (!take_slot(c, service))
	{
		*reason = "the device service accepts no more sessions";
		return false;
	}
	memset(&c->client, 0, sizeof(c->client));
	c->number++;
	c->client.channel = &c->slot->channel;
	c->client.connection = c->number;
	c->client.lease = lease_area;
	c->client.end_lease = end_area;
	c->client.owner = c;
	c->thread = pthread_self();
	area = lease_area(&c->client, GR_REMOTE_BULK_NBYTES);
	if (area < 0)
	{
		*reason = gr_control_mismatch() != NULL ? gr_control_mismatch() : "the device service does not answer";
		disconnect(c);
		return false;
	}
	c->slot->channel.bulk = area;
	return true;
}

GrRemoteClient *
gr_service_connect(int gpu_id, const char **reason)
{
	Connection *c = &connections[gpu_id == GR_STAND_IN_ID && !gr_debug_service ? 1 : 0];
	GrService  *service;

	*reason = NULL;
	if (gr_debug_service)
		gpu_id = GR_STAND_IN_ID;
	if (!gr_enable_service || IsParallelWorker() || IsBinaryUpgrade)
	{
		*reason = !gr_enable_service ? "gpureg.enable_service is off" :
			"parallel workers and pg_upgrade use no device service";
		return NULL;
	}
	if (c->control == NULL)
		c->control = gr_control(reason);
	if (c->control == NULL)
		return NULL;
	if (is_alive(c))
	{
		LWLockAcquire(&c->control->lock, LW_SHARED);
		service = find_service(c->control, gpu_id);
		LWLockRelease(&c->control->lock);
		__atomic_store_n(&c->slot->touched, gr_now_ms(), __ATOMIC_RELAXED);
		/* computations under way keep their connection, even if it is to another device's service */
		if (service == c->service || gr_service_njobs > 0)
			return &c->client;
	}
	disconnect(c);
	await_numbers(c->control, gpu_id);
	service = get_service(c->control, gpu_id, reason);
	return service != NULL && connect_to(c, service, reason) ? &c->client : NULL;
}

GrRemoteClient *
gr_service_connect_to(int number, uint64 generation, const char **reason)
{
	GrControl  *control = gr_control(reason);
	GrRemoteClient *client;
	const Connection *c;
	bool		runs;
	int			gpu_id;

	if (control == NULL)
		return NULL;
	LWLockAcquire(&control->lock, LW_SHARED);
	gpu_id = control->services[number].gpu_id;
	runs = control->services[number].generation == generation && takes_clients(&control->services[number]);
	LWLockRelease(&control->lock);
	*reason = "the device service has ended";
	if (!runs)
		return NULL;
	client = gr_service_connect(gpu_id, reason);
	if (client == NULL)
		return NULL;
	c = client->owner;
	*reason = "the rows are in another device service than the session's running computations";
	return c->service == &control->services[number] && c->generation == generation ? client : NULL;
}

/*
 * Holds of kept rows, for as long as a statement uses them
 */

typedef struct Hold
{
	Connection *connection;
	uint64		number;			/* number of the connection; a later connection doesn't have the hold */
	uint64	   *place;			/* entry of the slot's holds; NULL: all entries were taken, or the set was gone */
	MemoryContextCallback callback;
} Hold;

/* True if a set of kept rows with this id is complete and in the list. The caller holds the lock. */
static bool
is_listed(const GrControl *control, uint64 id)
{
	for (int k = 0; k < GR_KEPT_MAX; k++)
		if (control->kept[k].state == GR_KEPT_THERE && control->kept[k].id == id)
			return true;
	return false;
}

static void
end_hold(void *arg)
{
	Hold	   *hold = arg;
	Connection *c = hold->connection;
	uint64		id;
	bool		listed;

	if (hold->place == NULL || c->slot == NULL || c->number != hold->number)
		return;
	id = __atomic_exchange_n(hold->place, 0, __ATOMIC_ACQ_REL);
	hold->place = NULL;
	LWLockAcquire(&c->control->lock, LW_SHARED);
	listed = is_listed(c->control, id);
	LWLockRelease(&c->control->lock);
	if (!listed)
		wake_service(c);
}

bool
gr_service_hold(const GrRemoteClient *client, uint64 id)
{
	Connection *c = client->owner;
	Hold	   *hold = palloc0(sizeof(Hold));
	bool		listed;

	hold->connection = c;
	hold->number = c->number;
	hold->callback.func = end_hold;
	hold->callback.arg = hold;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &hold->callback);
	LWLockAcquire(&c->control->lock, LW_EXCLUSIVE);
	listed = c->slot != NULL && is_listed(c->control, id);
	for (int k = 0; k < GR_HOLDS_MAX && listed && hold->place == NULL; k++)
		if (c->slot->holds[k] == 0)
			hold->place = &c->slot->holds[k];
	if (hold->place != NULL)
		*hold->place = id;
	LWLockRelease(&c->control->lock);
	return listed;
}

const GrBackend *
gr_service_backend(const GrRemoteClient *client)
{
	return gr_service_stands_in(client) ? &gr_backend_remote_cpu : &gr_backend_remote;
}

bool
gr_service_await(GrRemoteClient *client, const GrHost *host, GrError *err)
{
	Connection *c = client->owner;
	GrChannel  *channel = client->channel;
	const struct timespec pause = {.tv_nsec = AWAIT_NAP_NS};

	while (service_state(c->service) != GR_SERVICE_READY)
	{
		if (__atomic_load_n(&channel->server_gone, __ATOMIC_ACQUIRE) != 0)
		{
			*err = channel->gone_error;
			return false;
		}
		if (__atomic_load_n(&client->stopping, __ATOMIC_RELAXED) != 0 || gr_canceled(host))
			return gr_fail(err, GR_CANCELED, 0, "the device service");
		(void) nanosleep(&pause, NULL);
	}
	client->info = c->service->info;
	return true;
}

bool
gr_service_is_warm(int gpu_id)
{
	const char *reason;
	GrControl  *control = gr_enable_service ? gr_control(&reason) : NULL;
	GrService  *service;

	if (control == NULL)
		return false;
	/* takes no lock, as this may be called for each row, and may miss a change that has just been made */
	service = find_service(control, gr_debug_service ? GR_STAND_IN_ID : gpu_id);
	return service != NULL && service_state(service) == GR_SERVICE_READY;
}

int
gr_list_services(GrServiceInfo *services, int max)
{
	const char *reason;
	GrControl  *control = gr_control(&reason);
	int			n = 0;

	if (control == NULL)
		return 0;
	LWLockAcquire(&control->lock, LW_SHARED);
	for (int k = 0; k < GR_SERVICES && n < max; k++)
	{
		const GrService *service = &control->services[k];

		if (service_state(service) != GR_SERVICE_READY)
			continue;
		services[n] = (GrServiceInfo) {.device = service->info,.pid = service->pid};
		for (int j = 0; j < control->nclients; j++)
		{
			const GrClientSlot *slot = &control->clients[j];

			if (slot->state == GR_CLIENT_FREE || slot->service != k || slot->generation != service->generation)
				continue;
			services[n].nsessions += slot->state == GR_CLIENT_CONNECTED;
			services[n].njobs += slot->channel.nobjects;
			services[n].admitted_nbytes += slot->channel.admitted_nbytes;
		}
		for (int j = 0; j < GR_KEPT_MAX; j++)
		{
			const GrKeptEntry *entry = &control->kept[j];

			if (entry->state == GR_KEPT_THERE && entry->service == k && entry->generation == service->generation)
				services[n].admitted_nbytes += entry->nbytes;
		}
		n++;
	}
	LWLockRelease(&control->lock);
	return n;
}

/*
 * Areas
 */

/*
 * Waits until the service has answered the request for an area. Returns false if it does not answer in time, or has
 * ended.
 */
static bool
await_area(const Connection *c, const GrArea *area)
{
	int64		started = gr_now_ms();

	while (__atomic_load_n(&area->state, __ATOMIC_ACQUIRE) == GR_AREA_ASKED)
	{
		if (!is_alive(c) || gr_now_ms() - started >= START_TIMEOUT_MS ||
			(!is_open(c->service) && gr_control_mismatch() != NULL))
			return false;
		nap();
	}
	return true;
}

/* Returns a free area of the client's slot, or -1. Waits while the service takes back an area that was returned. */
static int
find_area(const Connection *c)
{
	for (int waited = 0; waited < START_TIMEOUT_MS && is_alive(c); waited += NAP_MS)
	{
		bool		returned = false;

		for (int a = 0; a < GR_REMOTE_AREAS; a++)
		{
			uint32		state = __atomic_load_n(&c->slot->areas[a].state, __ATOMIC_ACQUIRE);

			if (state == GR_AREA_FREE)
				return a;
			returned |= state == GR_AREA_RETURNED;
		}
		if (!returned)
			break;
		wake_service(c);
		nap();
	}
	return -1;
}

/* Attaches the segment of an area. On an ERROR the area first goes back to the service. */
static dsm_segment *
attach_area(GrArea *area)
{
	dsm_segment *volatile segment = NULL;

	PG_TRY();
	{
		segment = dsm_attach(area->handle);
	}
	PG_CATCH();
	{
		__atomic_store_n(&area->state, GR_AREA_RETURNED, __ATOMIC_SEQ_CST);
		PG_RE_THROW();
	}
	PG_END_TRY();
	return segment;
}

/* lease() of GrRemoteClient. Returns -1 in other threads than the session's: they cannot use PostgreSQL's segments. */
static int
lease_area(GrRemoteClient *client, size_t nbytes)
{
	Connection *c = client->owner;
	int			a = pthread_equal(pthread_self(), c->thread) ? find_area(c) : -1;
	GrArea	   *area;
	dsm_segment *segment = NULL;

	if (a < 0)
		return -1;
	area = &c->slot->areas[a];
	area->nbytes = nbytes;
	__atomic_store_n(&area->state, GR_AREA_ASKED, __ATOMIC_SEQ_CST);
	wake_service(c);
	if (!await_area(c, area))
		return -1;
	if (area->state == GR_AREA_GIVEN)
		segment = attach_area(area);
	if (segment == NULL)
	{
		__atomic_store_n(&area->state, area->state == GR_AREA_GIVEN ? GR_AREA_RETURNED : GR_AREA_FREE,
						 __ATOMIC_SEQ_CST);
		return -1;
	}
	dsm_pin_mapping(segment);
	c->segments[a] = segment;
	client->areas[a] = dsm_segment_address(segment);
	client->channel->area_nbytes[a] = dsm_segment_map_length(segment);
	return a;
}

static void
end_area(GrRemoteClient *client, int area)
{
	Connection *c = client->owner;

	if (c->segments[area] == NULL)
		return;
	dsm_detach(c->segments[area]);
	c->segments[area] = NULL;
	client->areas[area] = NULL;
	client->channel->area_nbytes[area] = 0;
	__atomic_store_n(&c->slot->areas[area].state, GR_AREA_RETURNED, __ATOMIC_SEQ_CST);
	wake_service(c);
}

bool
gr_lease_begin(GrLease *lease, GrRemoteClient *client, Size nbytes)
{
	Connection *c = client->owner;
	int			area = lease_area(client, nbytes);

	memset(lease, 0, sizeof(*lease));
	if (area < 0)
		return false;
	*lease = (GrLease) {
		.client = client,.connection = c->number,.area = area,.segment = c->segments[area],
		.memory = client->areas[area],.nbytes = client->channel->area_nbytes[area]
	};
	return true;
}

void
gr_lease_end(GrLease *lease)
{
	const Connection *c = lease->client == NULL ? NULL : lease->client->owner;

	if (c != NULL && c->slot != NULL && lease->connection == c->number)
		end_area(lease->client, lease->area);
	memset(lease, 0, sizeof(*lease));
}
