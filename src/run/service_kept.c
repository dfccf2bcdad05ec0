/*
 * service_kept.c: rows that a device service keeps; see service_kept.h.
 *
 * The control block has the list of kept sets; this file has the rows that the list names. Threads of the service put
 * rows here, and take turns in using them; the service's process ends rows that are no longer in the list.
 */
#include "postgres.h"

#include "compute/base/thread.h"
#include "run/service_kept.h"

#define ITEMS_MAX (2 * GR_KEPT_MAX) /* twice the list's size: replaced rows stay while they are in use */
#define LOOK_NS 10000000		/* interval at which a wait looks for a cancel */

typedef struct KeptItem
{
	uint64		id;				/* 0: the place is free */
	GrSink	   *sink;
	int			ncolumns;
	size_t		nbytes;			/* memory of its rows and their description */
	GrStay		stay;			/* owner of the rows */
	int			nusers;			/* threads that use the item, or wait for it */
	pthread_mutex_t turn;		/* held by the thread that uses the sink */
} KeptItem;

static KeptItem items[ITEMS_MAX];
static pthread_mutex_t items_mutex = PTHREAD_MUTEX_INITIALIZER; /* protects items, except sinks: see turn */
static const GrBackend *kept_backend;
static void (*release_bytes) (GrRemoteServer *server, size_t nbytes, const GrStay *stay);

/* Returns the item with this id (0: a free place), or NULL. The caller holds the mutex. */
static KeptItem *
find_item(uint64 id)
{
	for (int k = 0; k < ITEMS_MAX; k++)
		if (items[k].id == id)
			return &items[k];
	return NULL;
}

static bool
put_rows(uint64_t id, GrSink *sink, int ncolumns, size_t nbytes, uint32_t owner, GrError *err)
{
	KeptItem   *item;

	(void) pthread_mutex_lock(&items_mutex);
	item = find_item(0);
	if (item != NULL && pthread_mutex_init(&item->turn, NULL) != 0)
		item = NULL;
	if (item != NULL)
	{
		item->id = id;
		item->sink = sink;
		item->ncolumns = ncolumns;
		item->nbytes = nbytes;
		item->stay.owner = owner;
		item->nusers = 0;
	}
	(void) pthread_mutex_unlock(&items_mutex);
	return item != NULL || gr_fail(err, GR_DEVICE_FAILED, 0, "too many rows are kept");
}

static void
leave_item(KeptItem *item)
{
	(void) pthread_mutex_lock(&items_mutex);
	item->nusers--;
	(void) pthread_mutex_unlock(&items_mutex);
}

/* Waits until no other thread uses the item, and locks its turn for this thread. Returns false if host is canceled. */
static bool
await_turn(KeptItem *item, const GrHost *host)
{
	for (;;)
	{
		struct timespec until;

		until = gr_deadline(LOOK_NS);
		if (pthread_mutex_clocklock(&item->turn, GR_CLOCK, &until) == 0)
			return true;
		if (gr_canceled(host))
			return false;
	}
}

static bool
take_rows(uint64_t id, GrRemoteStored *stored, const GrHost *host, GrError *err)
{
	KeptItem   *item;

	(void) pthread_mutex_lock(&items_mutex);
	item = id == 0 ? NULL : find_item(id);
	if (item != NULL)
		item->nusers++;
	(void) pthread_mutex_unlock(&items_mutex);
	if (item == NULL)
		return gr_fail(err, GR_INVALID, 0, "the kept rows no longer exist");
	if (!await_turn(item, host))
	{
		leave_item(item);
		return gr_fail(err, GR_CANCELED, 0, "waiting for kept rows");
	}
	*stored = (GrRemoteStored) {item->sink, item->ncolumns, item};
	return true;
}

static void
give_rows_back(const GrRemoteStored *stored)
{
	KeptItem   *item = stored->owner;

	(void) pthread_mutex_unlock(&item->turn);
	leave_item(item);
}

const GrRemoteStore *
gr_kept_begin(const GrBackend *backend, GrSession *session,
			  void (*release) (GrRemoteServer *server, size_t nbytes, const GrStay *stay))
{
	static GrRemoteStore store = {.put = put_rows,.take = take_rows,.give_back = give_rows_back};

	kept_backend = backend;
	release_bytes = release;
	store.session = session;
	return &store;
}

/* True if the session of slot is using item id and must not lose it. */
static bool
holds(const GrClientSlot *slot, uint64 id)
{
	for (int k = 0; k < GR_HOLDS_MAX && slot->state == GR_CLIENT_CONNECTED; k++)
		if (__atomic_load_n(&slot->holds[k], __ATOMIC_ACQUIRE) == id)
			return true;
	return false;
}

/* True if item id is in the list of kept rows, or a session holds it. The caller holds the lock. */
static bool
is_wanted(const GrControl *control, uint64 id)
{
	for (int k = 0; k < GR_KEPT_MAX; k++)
		if (control->kept[k].state != GR_KEPT_FREE && control->kept[k].id == id)
			return true;
	for (int k = 0; k < control->nclients; k++)
		if (holds(&control->clients[k], id))
			return true;
	return false;
}

/* Moves an item out of the store to *taken. Returns false if a thread uses the item. */
static bool
take_out(KeptItem *item, KeptItem *taken)
{
	bool		is_free;

	(void) pthread_mutex_lock(&items_mutex);
	is_free = item->nusers == 0;
	if (is_free)
	{
		*taken = *item;
		(void) pthread_mutex_destroy(&item->turn);
		memset(item, 0, sizeof(*item));
	}
	(void) pthread_mutex_unlock(&items_mutex);
	return is_free;
}

static void
end_item(KeptItem *item)
{
	KeptItem	taken;

	if (!take_out(item, &taken))
		return;
	kept_backend->sink->end(taken.sink);
	release_bytes(NULL, taken.nbytes, &taken.stay);
}

static uint64
id_of(const KeptItem *item)
{
	uint64		id;

	(void) pthread_mutex_lock(&items_mutex);
	id = item->id;
	(void) pthread_mutex_unlock(&items_mutex);
	return id;
}

void
gr_kept_sweep(GrControl *control)
{
	for (int k = 0; k < ITEMS_MAX; k++)
	{
		uint64		id = id_of(&items[k]);
		bool		wanted;

		if (id == 0)
			continue;
		LWLockAcquire(&control->lock, LW_SHARED);
		wanted = is_wanted(control, id);
		LWLockRelease(&control->lock);
		if (!wanted)
			end_item(&items[k]);
	}
}

/* Ends all items. No thread of the service is left. */
void
gr_kept_end(void)
{
	for (int k = 0; k < ITEMS_MAX; k++)
		if (items[k].id != 0)
			end_item(&items[k]);
}

bool
gr_kept_has_any(void)
{
	bool		has = false;

	(void) pthread_mutex_lock(&items_mutex);
	for (int k = 0; k < ITEMS_MAX; k++)
		has |= items[k].id != 0;
	(void) pthread_mutex_unlock(&items_mutex);
	return has;
}

uint64
gr_kept_item_nbytes(uint64 id)
{
	const KeptItem *item;
	uint64		nbytes;

	(void) pthread_mutex_lock(&items_mutex);
	item = find_item(id);
	nbytes = item == NULL ? 0 : item->nbytes;
	(void) pthread_mutex_unlock(&items_mutex);
	return nbytes;
}
