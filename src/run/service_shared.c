/*
 * service_shared.c: the control block: where it is, and what that takes in each version of PostgreSQL.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/shmem.h"
#if PG_VERSION_NUM >= 170000
#include "storage/dsm_registry.h"
#endif

#include "run/service.h"
#include "run/service_shared.h"

static GrControl *control;

static Size
control_size(void)
{
	return add_size(offsetof(GrControl, clients), mul_size(MaxConnections, sizeof(GrClientSlot)));
}

static void
begin_control(void *memory)
{
	GrControl  *c = memory;

	memset(c, 0, control_size());
	c->nclients = MaxConnections;
	c->tranche = LWLockNewTrancheId();
	LWLockInitialize(&c->lock, c->tranche);
}

#if PG_VERSION_NUM >= 170000

void
gr_service_init(void)
{
}

static GrControl *
attach_control(const char **reason)
{
	bool		found;

	(void) reason;
	return GetNamedDSMSegment("gpureg", control_size(), begin_control, &found);
}

#else

static shmem_request_hook_type next_request_hook;
static shmem_startup_hook_type next_startup_hook;

static void
request_control(void)
{
	if (next_request_hook != NULL)
		next_request_hook();
	RequestAddinShmemSpace(control_size());
}

static void
start_control(void)
{
	bool		found;

	if (next_startup_hook != NULL)
		next_startup_hook();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	control = ShmemInitStruct("gpureg", control_size(), &found);
	if (!found)
		begin_control(control);
	LWLockRelease(AddinShmemInitLock);
	LWLockRegisterTranche(control->tranche, "gpureg");
}

void
gr_service_init(void)
{
	if (!process_shared_preload_libraries_in_progress)
		return;
	next_request_hook = shmem_request_hook;
	shmem_request_hook = request_control;
	next_startup_hook = shmem_startup_hook;
	shmem_startup_hook = start_control;
}

static GrControl *
attach_control(const char **reason)
{
	*reason = "gpureg is not in shared_preload_libraries";
	return NULL;
}

#endif

GrControl *
gr_control(const char **reason)
{
	if (control != NULL)
		return control;
	control = attach_control(reason);
	if (control != NULL)
		LWLockRegisterTranche(control->tranche, "gpureg");
	return control;
}

bool
gr_kept_is_alive(const GrControl *control, const GrKeptEntry *entry)
{
	const GrService *service = &control->services[entry->service];
	uint32		state = __atomic_load_n(&service->state, __ATOMIC_ACQUIRE);

	return entry->state != GR_KEPT_FREE && service->generation == entry->generation &&
		state != GR_SERVICE_DOWN && state != GR_SERVICE_ENDING;
}

void
gr_kept_clear(GrKeptEntry *entry)
{
	if (entry->state == GR_KEPT_THERE)
		dsm_unpin_segment(entry->description);
	memset(entry, 0, sizeof(*entry));
}
