/*
 * service_memory.c: limits the memory that a device service gives to clients for their rows; see service_memory.h.
 *
 * Rows that stay, which are kept or on their way to be kept, may never give their memory back. So a request waits only
 * if it could be met once all other rows, which are temporary, are gone.
 */
#include "postgres.h"

#include "compute/base/thread.h"
#include "run/clock.h"
#include "run/service.h"
#include "run/service_kept.h"
#include "run/service_memory.h"

#define LOOK_NS 10000000		/* interval at which a wait looks for a cancel */
#define OWNERS_MAX (3 * GR_KEPT_MAX)	/* owners of sets in the service's store or on their way there */

/* A role that owns rows that stay. */
typedef struct Owner
{
	uint32		owner;
	uint64		nbytes;			/* bytes of the owner's rows that stay; 0: the entry is free */
} Owner;

static struct
{
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	uint64		limit;			/* bytes that the settings and the device allow */
	uint64		total;			/* bytes that may be given out: limit, or more if more was given out already */
	uint64		given;
	uint64		staying;		/* bytes of given whose rows stay */
	Owner		owners[OWNERS_MAX];
}			admission = {.mutex = PTHREAD_MUTEX_INITIALIZER,.changed = PTHREAD_COND_INITIALIZER};

/* Returns the entry of owner, else a free entry, else NULL. The caller holds the mutex. */
static Owner *
find_owner(uint32 owner)
{
	Owner	   *vacant = NULL;

	for (int k = 0; k < OWNERS_MAX; k++)
	{
		Owner	   *o = &admission.owners[k];

		if (o->nbytes > 0 && o->owner == owner)
			return o;
		if (o->nbytes == 0 && vacant == NULL)
			vacant = o;
	}
	return vacant;
}

/* Fails with GR_DEVICE_MEMORY: nbytes are not free. The caller holds the mutex. */
static bool
fail_shortage(size_t nbytes, GrError *err)
{
	err->bytes_needed = nbytes;
	err->bytes_free = admission.total - admission.given;
	return gr_fail(err, GR_DEVICE_MEMORY, 0, "the rows of all sessions");
}

/* Counts nbytes for rows that stay, or fails if that exceeds their owner's quota. The caller holds the mutex. */
static bool
take_staying(size_t nbytes, const GrStay *stay, GrError *err)
{
	uint64		quota = admission.limit / 100 * Min(stay->percent, 100);
	uint64		replaced = stay->replaces == 0 ? 0 : gr_kept_item_nbytes(stay->replaces);
	Owner	   *owner = find_owner(stay->owner);
	uint64		taken;

	if (owner == NULL)
		return fail_shortage(nbytes, err);
	taken = owner->nbytes > replaced ? owner->nbytes - replaced : 0;
	if (stay->percent < 100 && (nbytes > quota || taken > quota - nbytes))
	{
		err->bytes_needed = nbytes;
		err->bytes_free = quota > taken ? quota - taken : 0;
		return gr_fail(err, GR_OVER_QUOTA, 0, "the rows of one role");
	}
	*owner = (Owner) {stay->owner, owner->nbytes + nbytes};
	admission.staying += nbytes;
	return true;
}

/* Counts the memory wanted as given, or fails if it is not free or exceeds a quota. The caller holds the mutex. */
static bool
take_bytes(const GrAdmission *wanted, GrError *err)
{
	if (admission.total - admission.given < wanted->nbytes)
		return fail_shortage(wanted->nbytes, err);
	if (wanted->stay != NULL && !take_staying(wanted->nbytes, wanted->stay, err))
		return false;
	admission.given += wanted->nbytes;
	return true;
}

/* True if nbytes are not free, but would be if all rows that do not stay were gone. The caller holds the mutex. */
static bool
may_come(size_t nbytes)
{
	return admission.total - admission.given < nbytes && admission.staying <= admission.total &&
		admission.total - admission.staying >= nbytes;
}

/* Sleeps until memory is given back, at most LOOK_NS. The caller holds the mutex, which is free during the sleep. */
static void
await_memory(void)
{
	struct timespec until;

	until = gr_deadline(LOOK_NS);
	(void) pthread_cond_clockwait(&admission.changed, &admission.mutex, GR_CLOCK, &until);
}

bool
gr_memory_admit(GrRemoteServer *server, const GrAdmission *wanted, const GrHost *host, double *waited_s, GrError *err)
{
	/* a client that already has memory doesn't wait, as clients that wait for each other's memory would deadlock */
	double		wait_s = server->channel->admitted_nbytes == 0 ? wanted->wait_s : 0;
	double		started = gr_now();
	bool		canceled = false;
	bool		ok;

	*waited_s = 0;
	(void) pthread_mutex_lock(&admission.mutex);
	while (may_come(wanted->nbytes) && *waited_s < wait_s && !canceled)
	{
		await_memory();
		*waited_s = gr_now() - started;
		canceled = gr_canceled(host);
	}
	ok = !canceled && take_bytes(wanted, err);
	(void) pthread_mutex_unlock(&admission.mutex);
	if (canceled)
		return gr_fail(err, GR_CANCELED, 0, "waiting for memory");
	if (!ok)
		err->value = *waited_s;
	return ok;
}

void
gr_memory_release(GrRemoteServer *server, size_t nbytes, const GrStay *stay)
{
	(void) server;
	(void) pthread_mutex_lock(&admission.mutex);
	admission.given -= nbytes;
	if (stay != NULL)
	{
		Owner	   *owner = find_owner(stay->owner);

		admission.staying -= nbytes;
		if (owner != NULL && owner->owner == stay->owner)
			owner->nbytes -= Min(owner->nbytes, nbytes);
	}
	(void) pthread_cond_broadcast(&admission.changed);
	(void) pthread_mutex_unlock(&admission.mutex);
}

void
gr_memory_set_total(uint64 nbytes_free, bool device_limits)
{
	uint64		most = nbytes_free / 10 * 9;
	uint64		limit = (uint64) gr_service_memory << 20;

	(void) pthread_mutex_lock(&admission.mutex);
	admission.limit = limit > 0 && (limit < most || !device_limits) ? limit : most;
	admission.total = Max(admission.limit, admission.given);
	(void) pthread_cond_broadcast(&admission.changed);
	(void) pthread_mutex_unlock(&admission.mutex);
}
