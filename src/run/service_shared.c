/*
 * service_shared.c: makes and finds the control block, in each version of PostgreSQL.
 *
 * An upgrade replaces the library while sessions that have loaded the old one go on, and PostgreSQL 17 and later give
 * both the same named segment. So the name "gpureg" stands for a header whose layout never changes. The header says
 * which build made the control block; a process with another build leaves the control block alone, and has no service
 * until the server restarts.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/shmem.h"

#include "run/build_identity.h"
#include "run/compat.h"
#include "run/service_shared.h"

#if GR_HAS_NAMED_SEGMENTS
#include "storage/dsm_registry.h"
#endif

#define HEADER_NAME "gpureg"
#define HEADER_MAGIC UINT64CONST(0x67707572656701A8)	/* no beginning of 0.1.0's control block, which is a lock */
#define HEADER_NBYTES 512
#define ANOTHER_VERSION "the server's shared memory is of another version of gpureg; restart the server"

/* Frozen: no member is ever moved, resized or given another meaning. New ones take space from the padding. */
typedef union GrControlHeader
{
	struct
	{
		uint64		magic;
		char		build[128];	/* gr_build_identity of the library that made the control block */
		char		version[32];	/* version of that library */
		uint32		replaced;	/* 1: a service could not start, as the library on disk is another build */
		int			tranche;
		dsm_handle	control;	/* from PostgreSQL 17 on; DSM_HANDLE_INVALID until the control block is made */
		LWLock		lock;		/* held while the control block is made */
	};
	char		padding[HEADER_NBYTES];
} GrControlHeader;

static GrControlHeader *header; /* NULL: not attached, or of 0.1.0, which had none */
GrControl  *gr_control_block;	/* NULL: not attached */
const uint32 *gr_control_replaced;
static char mismatch[250];		/* reason not to use the control block; empty: none is known */

static Size
control_size(void)
{
	return add_size(offsetof(GrControl, clients), mul_size(MaxConnections, sizeof(GrClientSlot)));
}

static void
begin_header(GR_SEGMENT_INIT)
{
	GrControlHeader *h = memory;

	memset(h, 0, sizeof(*h));
	h->magic = HEADER_MAGIC;
	strlcpy(h->build, gr_build_identity, sizeof(h->build));
	strlcpy(h->version, gr_build_version, sizeof(h->version));
	h->control = DSM_HANDLE_INVALID;
	h->tranche = gr_new_tranche("gpureg");
	LWLockInitialize(&h->lock, h->tranche);
}

static void
begin_control(GrControl *c, int tranche)
{
	memset(c, 0, control_size());
	c->nclients = MaxConnections;
	c->tranche = tranche;
	LWLockInitialize(&c->lock, c->tranche);
}

/* True if this library made the control block that h leads to; notes the mismatch otherwise. */
static bool
is_of_this_build(const GrControlHeader *h)
{
	if (h->magic == HEADER_MAGIC && strncmp(h->build, gr_build_identity, sizeof(h->build)) == 0)
		return true;
	if (h->magic == HEADER_MAGIC)
		snprintf(mismatch, sizeof(mismatch),
				 "the server's shared memory is of another build of gpureg (%.*s) than this session's (%s); "
				 "restart the server", (int) sizeof(h->version), h->version, gr_build_version);
	else
		strlcpy(mismatch, ANOTHER_VERSION, sizeof(mismatch));
	return false;
}

#if GR_HAS_NAMED_SEGMENTS

void
gr_service_init(void)
{
}

/*
 * Attaches the named segment. NULL if another library made it with another size, as 0.1.0 did: PostgreSQL reports this
 * as an error while it holds a lock of the registry. The caller must hold no LWLock, as all are released then.
 */
static GrControlHeader *
attach_header(void)
{
	MemoryContext context = CurrentMemoryContext;
	uint32		holdoff = InterruptHoldoffCount;
	GrControlHeader *volatile h = NULL;
	bool		found;

	PG_TRY();
	{
		h = gr_named_segment(HEADER_NAME, sizeof(GrControlHeader), begin_header, &found);
	}
	PG_CATCH();
	{
		if (geterrcode() != ERRCODE_INTERNAL_ERROR)
			PG_RE_THROW();
		MemoryContextSwitchTo(context);
		FlushErrorState();
		LWLockReleaseAll();
		InterruptHoldoffCount = holdoff;
	}
	PG_END_TRY();
	return h;
}

/* Attaches the control block that the header leads to, or makes it, with this build's size. */
static GrControl *
attach_block(GrControlHeader *h)
{
	dsm_segment *segment;

	gr_name_tranche(h->tranche, "gpureg");
	LWLockAcquire(&h->lock, LW_EXCLUSIVE);
	if (h->control == DSM_HANDLE_INVALID)
	{
		segment = dsm_create(control_size(), 0);
		begin_control(dsm_segment_address(segment), h->tranche);
		dsm_pin_segment(segment);
		h->control = dsm_segment_handle(segment);
	}
	else
	{
		segment = dsm_find_mapping(h->control);
		if (segment == NULL)
			segment = dsm_attach(h->control);
	}
	if (segment == NULL)
		elog(ERROR, "could not map the control block of gpureg");
	dsm_pin_mapping(segment);
	LWLockRelease(&h->lock);
	return dsm_segment_address(segment);
}

static GrControl *
attach_control(const char **reason)
{
	GrControlHeader *h = attach_header();

	header = h != NULL && h->magic == HEADER_MAGIC ? h : NULL;
	if (h == NULL)
		strlcpy(mismatch, ANOTHER_VERSION, sizeof(mismatch));
	if (h != NULL && is_of_this_build(h))
	{
		gr_control_replaced = &h->replaced;
		return attach_block(h);
	}
	*reason = mismatch;
	return NULL;
}

#else

static shmem_request_hook_type next_request_hook;
static shmem_startup_hook_type next_startup_hook;

static void
request_control(void)
{
	if (next_request_hook != NULL)
		next_request_hook();
	RequestAddinShmemSpace(add_size(sizeof(GrControlHeader), control_size()));
}

static void
start_control(void)
{
	bool		found;

	if (next_startup_hook != NULL)
		next_startup_hook();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	header = ShmemInitStruct(HEADER_NAME, sizeof(GrControlHeader), &found);
	if (!found)
		begin_header(header);
	if (is_of_this_build(header))
	{
		gr_control_replaced = &header->replaced;
		gr_control_block = ShmemInitStruct("gpureg control block", control_size(), &found);
		if (!found)
			begin_control(gr_control_block, header->tranche);
		gr_name_tranche(gr_control_block->tranche, "gpureg");
	}
	LWLockRelease(AddinShmemInitLock);
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
gr_control_attach(const char **reason)
{
	if (mismatch[0] == '\0')
		gr_control_block = attach_control(reason);
	else
		*reason = mismatch;
	return gr_control_block;
}

void
gr_control_refuse(void)
{
	if (gr_control_block == NULL && header != NULL && header->magic == HEADER_MAGIC)
		__atomic_store_n(&header->replaced, 1, __ATOMIC_RELEASE);
}

const char *
gr_control_why_not(void)
{
	if (gr_control_block == NULL)
		return mismatch[0] == '\0' ? NULL : mismatch;
	return "gpureg's library has been replaced by another build since the server started; restart the server";
}
