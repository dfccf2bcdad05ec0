/*
 * service_shared.h: what sessions and device services share: a control block in shared memory.
 */
#ifndef GPUREG_SERVICE_SHARED_H
#define GPUREG_SERVICE_SHARED_H

#include "postgres.h"

#include "datatype/timestamp.h"
#include "storage/dsm.h"
#include "storage/latch.h"
#include "storage/lwlock.h"

#include "compute/remote/remote.h"

#define GR_SERVICES 16			/* at a time */

typedef enum GrServiceState
{
	GR_SERVICE_DOWN,
	GR_SERVICE_STARTING,		/* a session has asked for it */
	GR_SERVICE_OPENING,			/* it runs, and opens its device */
	GR_SERVICE_READY,
	GR_SERVICE_ENDING			/* nobody connects any more; its threads are still there */
} GrServiceState;

typedef struct GrService
{
	uint32		state;			/* GrServiceState: changed under the lock, but to GR_SERVICE_ENDING; read without */
	int			gpu_id;			/* as in gpureg.gpu_id: what it was started for */
	uint64		generation;		/* of services in this place: a new one is another's */
	int64		started;		/* as gr_now_ms() tells it */
	int			pid;			/* 0: not yet */
	Latch	   *latch;
	GrDeviceInfo info;			/* READY */
} GrService;

/* An area of a client: who may change what it is, follows from that. */
typedef enum GrAreaState
{
	GR_AREA_FREE,				/* the client */
	GR_AREA_ASKED,				/* the service: of nbytes */
	GR_AREA_GIVEN,				/* the client: handle */
	GR_AREA_REFUSED,			/* the client */
	GR_AREA_RETURNED			/* the service */
} GrAreaState;

typedef struct GrArea
{
	uint32		state;
	Size		nbytes;
	dsm_handle	handle;
} GrArea;

#define GR_HOLDS_MAX 8			/* sets of kept rows that a session uses at a time, and are sure to stay */

typedef enum GrClientState
{
	GR_CLIENT_FREE,
	GR_CLIENT_CONNECTED,		/* by its session, which has begun the channel */
	GR_CLIENT_GONE				/* the session is; for the service to clear away */
} GrClientState;

typedef struct GrClientSlot
{
	uint32		state;			/* changed under the lock, read without */
	int			service;		/* which */
	uint64		generation;		/* of the service */
	int64		touched;		/* when the session last looked for the device, as gr_now_ms() tells it; written and
								 * read without the lock */
	Latch	   *latch;
	uint64		holds[GR_HOLDS_MAX];	/* sets of kept rows that a statement uses, 0: none; written without the lock to
										 * let go */
	GrArea		areas[GR_REMOTE_AREAS];
	GrChannel	channel;
} GrClientSlot;

#define GR_KEPT_MAX 64			/* sets of kept rows at a time */
#define GR_KEPT_QUERY_NBYTES 1000	/* of a query's text, as it is shown */

typedef enum GrKeptState
{
	GR_KEPT_FREE,
	GR_KEPT_READING,			/* by the session whose id it has: its name is taken */
	GR_KEPT_THERE
} GrKeptState;

/*
 * A set of kept rows. What a service has in store without an entry here of the same id, goes, once no session holds it.
 * All is written under the lock, by sessions and, where it ends, by the service; the entry goes with its service.
 */
typedef struct GrKeptEntry
{
	GrKeptState state;
	uint64		id;				/* as which the rows are stored; no other set ever has it */
	int			service;		/* which has them */
	uint64		generation;		/* of the service */
	Oid			database;
	Oid			owner;
	char		name[NAMEDATALEN];
	char		owner_name[NAMEDATALEN];	/* names when the set was begun, for lists and the log: the owner's */
	char		database_name[NAMEDATALEN]; /* and the database's */
	int			encoding;		/* encoding of the names and the query */
	int			client;			/* READING: the slot of the session that reads the rows */
	char		query[GR_KEPT_QUERY_NBYTES + 1];
	int64		nrows;
	uint64		nbytes;			/* memory of the rows and the description */
	TimestampTz kept_at;
	uint64		hits;			/* counted under the lock taken shared */
	dsm_handle	description;	/* a pinned segment: see rows/kept/kept_set.h */
	Size		description_nbytes;
	Size		names_nbytes;	/* length of its beginning, which has the columns' names */
} GrKeptEntry;

typedef struct GrControl
{
	LWLock		lock;
	int			tranche;
	int			nclients;
	uint64		last_kept_id;
	GrKeptEntry kept[GR_KEPT_MAX];
	GrService	services[GR_SERVICES];
	GrClientSlot clients[FLEXIBLE_ARRAY_MEMBER];
} GrControl;

/* The control block, attached if need be; NULL where there is none, and then *reason says why. */
extern GrControl *gr_control(const char **reason);

/* Called by a service that may not use the control block: sessions of the build that made it start no other one. */
extern void gr_control_refuse(void);

/*
 * Why no service can be started, or none be used, before the server restarts: this process, or the library on disk, is
 * another build than the one that made the control block. NULL where neither is known. Attaches nothing.
 */
extern const char *gr_control_mismatch(void);

/* Does the service that an entry is of take clients, still? Under the lock */
extern bool gr_kept_is_alive(const GrControl *control, const GrKeptEntry *entry);

/* The entry is free, and its description goes. Under the lock, taken exclusively */
extern void gr_kept_clear(GrKeptEntry *entry);

#endif							/* GPUREG_SERVICE_SHARED_H */
