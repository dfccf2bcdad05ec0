/*
 * service_shared.h: the control block in shared memory that sessions and device services share.
 */
#ifndef GPUREG_SERVICE_SHARED_H
#define GPUREG_SERVICE_SHARED_H

#include "postgres.h"

#include "datatype/timestamp.h"
#include "storage/dsm.h"
#include "storage/latch.h"
#include "storage/lwlock.h"

#include "compute/remote/remote.h"

#define GR_SERVICES 16			/* services at a time */

typedef enum GrServiceState
{
	GR_SERVICE_DOWN,
	GR_SERVICE_STARTING,		/* a session has asked for it */
	GR_SERVICE_OPENING,			/* runs, and opens its device */
	GR_SERVICE_READY,
	GR_SERVICE_ENDING			/* takes no more clients; its threads still run */
} GrServiceState;

typedef struct GrService
{
	uint32		state;			/* GrServiceState: changed under the lock, but to GR_SERVICE_ENDING; read without */
	int			gpu_id;			/* value of gpureg.gpu_id that it was started for */
	uint64		generation;		/* number of the service in this place; each new service has another one */
	int64		started;		/* time by gr_now_ms() */
	int			pid;			/* 0: not known yet */
	Latch	   *latch;
	GrDeviceInfo info;			/* valid from READY on */
} GrService;

/* State of an area of a client. The comment says who may change an area in this state. */
typedef enum GrAreaState
{
	GR_AREA_FREE,				/* the client */
	GR_AREA_ASKED,				/* the service; nbytes is set */
	GR_AREA_GIVEN,				/* the client; handle is set */
	GR_AREA_REFUSED,			/* the client */
	GR_AREA_RETURNED			/* the service */
} GrAreaState;

typedef struct GrArea
{
	uint32		state;
	Size		nbytes;
	dsm_handle	handle;
} GrArea;

#define GR_HOLDS_MAX 8			/* sets of kept rows that a session can hold at a time; see gr_service_hold() */

typedef enum GrClientState
{
	GR_CLIENT_FREE,
	GR_CLIENT_CONNECTED,		/* the session has connected and begun the channel */
	GR_CLIENT_GONE				/* the session has left; the service frees the slot */
} GrClientState;

typedef struct GrClientSlot
{
	uint32		state;			/* changed under the lock, read without */
	int			service;		/* index of the service */
	uint64		generation;		/* generation of the service */
	int64		touched;		/* when the session last looked for the device, by gr_now_ms(); written and read
								 * without the lock */
	Latch	   *latch;
	uint64		holds[GR_HOLDS_MAX];	/* ids of kept rows that a statement uses, or 0; set to 0 without the lock */
	GrArea		areas[GR_REMOTE_AREAS];
	GrChannel	channel;
} GrClientSlot;

#define GR_KEPT_MAX 64			/* sets of kept rows at a time */
#define GR_KEPT_QUERY_NBYTES 1000	/* bytes of a query's text that are shown */

typedef enum GrKeptState
{
	GR_KEPT_FREE,
	GR_KEPT_READING,			/* a session reads the rows; the name is taken */
	GR_KEPT_THERE
} GrKeptState;

/*
 * A set of kept rows. A service drops stored rows whose id has no entry, once no session holds them. Sessions write
 * entries under the lock, and so does a service that ends, whose entries go with it.
 */
typedef struct GrKeptEntry
{
	GrKeptState state;
	uint64		id;				/* id of the stored rows; never used for another set */
	int			service;		/* index of the service that has the rows */
	uint64		generation;		/* generation of the service */
	Oid			database;
	Oid			owner;
	char		name[NAMEDATALEN];
	char		owner_name[NAMEDATALEN];	/* the owner's name when the set was begun, for lists and the log */
	char		database_name[NAMEDATALEN]; /* the database's name then */
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

/* Asks for shared memory if the library is preloaded. Called when the library is loaded. */
extern void gr_service_init(void);

extern GrControl *gr_control_block;	/* NULL until it is attached */
extern GrControl *gr_control_attach(const char **reason);

/* Returns the control block, and attaches it if necessary. NULL if there is none; *reason then says why. */
static inline GrControl *
gr_control(const char **reason)
{
	return gr_control_block != NULL ? gr_control_block : gr_control_attach(reason);
}

/* Returns the slot of a session's connection. */
static inline const GrClientSlot *
gr_slot_of(const GrRemoteClient *client)
{
	return (const GrClientSlot *) ((const char *) client->channel - offsetof(GrClientSlot, channel));
}

/* Called by a service that must not use the control block. Sessions of its build then start no other service. */
extern void gr_control_refuse(void);

extern const uint32 *gr_control_replaced;	/* 1: the library on disk is another build; set with gr_control_block */
extern const char *gr_control_why_not(void);

/*
 * Returns why no service can be started or used before the server restarts: this process, or the library on disk, is of
 * another build than the control block. NULL if no such mismatch is known. Attaches nothing.
 */
static inline const char *
gr_control_mismatch(void)
{
	return gr_control_block != NULL && __atomic_load_n(gr_control_replaced, __ATOMIC_ACQUIRE) == 0 ? NULL :
		gr_control_why_not();
}

/* True if the entry's service still takes clients. The caller holds the lock. */
static inline bool
gr_kept_is_alive(const GrControl *control, const GrKeptEntry *entry)
{
	const GrService *service = &control->services[entry->service];
	uint32		state = __atomic_load_n(&service->state, __ATOMIC_ACQUIRE);

	return entry->state != GR_KEPT_FREE && service->generation == entry->generation &&
		state != GR_SERVICE_DOWN && state != GR_SERVICE_ENDING;
}

/* Frees the entry and its description. The caller holds the lock exclusively. */
static inline void
gr_kept_clear(GrKeptEntry *entry)
{
	if (entry->state == GR_KEPT_THERE)
		dsm_unpin_segment(entry->description);
	memset(entry, 0, sizeof(*entry));
}

#endif							/* GPUREG_SERVICE_SHARED_H */
