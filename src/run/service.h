/*
 * service.h: connects sessions to device services: background workers that own a device for all sessions of the server.
 *
 * A session that wants a device connects to the service of that device, and starts the service if none runs. The
 * session then has a channel (compute/remote/remote.h) to a thread of the service, which computes in place of the
 * session's own device. To send rows, the session leases memory that both processes have mapped. When the session
 * exits, the channel closes, and the thread releases all that it held for the session.
 *
 * Before PostgreSQL 17 a service needs gpureg in shared_preload_libraries. Without it, or without a free background
 * worker, sessions open the device themselves.
 */
#ifndef GPUREG_SERVICE_H
#define GPUREG_SERVICE_H

#include "postgres.h"

#include "storage/dsm.h"

#include "compute/backend/backend.h"
#include "compute/remote/remote.h"
#include "run/service_shared.h"

/* Settings; see gpureg.c. */
extern bool gr_enable_service;
extern int	gr_service_idle;	/* s */
extern int	gr_service_memory;	/* MB; 0: what the device has */
extern int	gr_service_wait;	/* ms */
extern int	gr_kept_sets_per_role;	/* superusers are not limited */
extern int	gr_kept_memory_per_role;	/* percent of a service's memory; superusers are not limited */
extern bool gr_debug_service;

/*
 * Returns the session's connection to the service for gpu_id. Connects, and starts the service, if necessary. Returns
 * NULL, and says why in *reason, if no connection can be made. A connection that computations use is not replaced. The
 * service need not have opened its device yet.
 */
extern GrRemoteClient *gr_service_connect(int gpu_id, const char **reason);

extern int	gr_service_njobs;	/* computations under way that use a connection to a device service */

/* The gpu_id of the service that computes on the CPU, for rows that are kept without a device. */
#define GR_STAND_IN_ID (-100)

/*
 * Returns the connection to the running service with this number and generation, as gr_service_connect() does. NULL if
 * that service has ended, or if this session's computations use the service of another device.
 */
extern GrRemoteClient *gr_service_connect_to(int number, uint64 generation, const char **reason);

/*
 * Holds the set of kept rows with this id in the client's service until the current memory context is reset, even if
 * the set is replaced or forgotten meanwhile. Returns false if the set has gone already. A session holds at most
 * GR_HOLDS_MAX sets; further ones stay only as long as they are in the list.
 */
extern bool gr_service_hold(const GrRemoteClient *client, uint64 id);

/* Returns the backend of a connection. */
extern const GrBackend *gr_service_backend(const GrRemoteClient *client);

/*
 * Waits until the service has opened its device, and describes the device in client->info. Returns false if the service
 * cannot open it, or if the host stops the wait. Touches nothing of PostgreSQL's but host, which is NULL in a thread
 * other than the session's.
 */
extern bool gr_service_await(GrRemoteClient *client, const GrHost *host, GrError *err);

/* True if there is a service whose device is open. Takes no lock. */
extern bool gr_service_is_warm(int gpu_id);

/* True if the service of this connection computes on the CPU. */
static inline bool
gr_service_stands_in(const GrRemoteClient *client)
{
	return gr_control_block->services[gr_slot_of(client)->service].gpu_id == GR_STAND_IN_ID;
}

/* Memory that a session and its service have both mapped. */
typedef struct GrLease
{
	GrRemoteClient *client;		/* NULL: none is leased */
	uint64		connection;		/* number of the client's connection; the lease is void in another one */
	int			area;
	dsm_segment *segment;
	void	   *memory;			/* whole pages */
	Size		nbytes;
} GrLease;

/*
 * gr_lease_begin() leases at least nbytes, and returns false if there is no such memory. gr_lease_end() does nothing if
 * the lease has ended or never began.
 */
extern bool gr_lease_begin(GrLease *lease, GrRemoteClient *client, Size nbytes);
extern void gr_lease_end(GrLease *lease);

/* A running service, as gpu_devices() shows it. */
typedef struct GrServiceInfo
{
	GrDeviceInfo device;
	int			pid;
	int			nsessions;
	int			njobs;			/* computations under way */
	int64		admitted_nbytes;	/* memory reserved for their rows */
} GrServiceInfo;

extern int	gr_list_services(GrServiceInfo *services, int max);

#endif							/* GPUREG_SERVICE_H */
