/*
 * foreign_header.c: takes the name by which gpureg finds its shared memory before gpureg does, like another build of
 * gpureg would.
 *
 * Before PostgreSQL 17, in shared_preload_libraries before gpureg: a header (src/run/service_shared.c) of another
 * build. From 17 on: foreign_segment(nbytes int) makes a named segment of that size, filled with zeros.
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#if PG_VERSION_NUM >= 170000
#include "storage/dsm_registry.h"
#endif

#define HEADER_NBYTES 512

PG_MODULE_MAGIC;

extern PGDLLEXPORT void _PG_init(void);

#if PG_VERSION_NUM >= 170000

PG_FUNCTION_INFO_V1(foreign_segment);

void
_PG_init(void)
{
}

Datum
foreign_segment(PG_FUNCTION_ARGS)
{
	bool		found;

	(void) GetNamedDSMSegment("gpureg", PG_GETARG_INT32(0), NULL, &found);
	PG_RETURN_BOOL(found);
}

#else

static shmem_startup_hook_type next_startup_hook;

static void
start_header(void)
{
	const uint64 magic = UINT64CONST(0x67707572656701A8);
	bool		found;
	char	   *header;

	if (next_startup_hook != NULL)
		next_startup_hook();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	header = ShmemInitStruct("gpureg", HEADER_NBYTES, &found);
	memset(header, 0, HEADER_NBYTES);
	memcpy(header, &magic, sizeof(magic));
	strcpy(header + 8, "gpureg build of others");
	strcpy(header + 8 + 128, "0.2.9");
	LWLockRelease(AddinShmemInitLock);
}

void
_PG_init(void)
{
	if (!process_shared_preload_libraries_in_progress)
		return;
	next_startup_hook = shmem_startup_hook;
	shmem_startup_hook = start_header;
}

#endif
