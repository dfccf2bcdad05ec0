/*
 * service.h: the device service: a background worker that owns a device for all sessions of the server, and how a
 * session gets to it.
 *
 * A session that wants a device connects to the service of that device, and starts it if there is none. From then on
 * it has a channel (compute/remote/remote.h), by which the service's thread for it computes what the session's own device
 * would, and leases memory that both have mapped, to send rows from. Nothing of a session outlives it in the service:
 * its exit closes the channel, and the service's thread for it ends what it had.
 *
 * Before PostgreSQL 17 there is a service only where gpureg is in shared_preload_libraries; else, or where no
 * background worker can be had, sessions open the device themselves.
 */
#ifndef GPUREG_SERVICE_H
#define GPUREG_SERVICE_H

#include "postgres.h"

#include "storage/dsm.h"

#include "compute/backend/backend.h"
#include "compute/remote/remote.h"

/* Settings; see gpureg.c. */
extern bool gr_enable_service;
extern int	gr_service_idle;	/* s */
extern int	gr_service_memory;	/* MB; 0: what the device has */
extern int	gr_service_wait;	/* ms */
extern int	gr_kept_sets_per_role;	/* superusers aren't limited */
extern int	gr_kept_memory_per_role;	/* percent of a service's memory; likewise */
extern bool gr_debug_service;

/* What is to be done while the library is loaded. */
extern void gr_service_init(void);

/*
 * The session's connection to the service for gpureg.gpu_id, which it makes and whose service it starts if need be;
 * NULL if there can be none, and then *reason says why. in_use: computations are under way, which keep the connection
 * that there is. The device needn't be open yet.
 */
extern GrRemoteClient *gr_service_connect(int gpu_id, bool in_use, const char **reason);

/* The device whose service computes on the CPU, for rows that are kept where there is no device, or it isn't wanted */
#define GR_STAND_IN_ID (-100)

/*
 * The same, to a service that runs, number and generation: NULL where it has ended, or where this session's
 * computations use another device's.
 */
extern GrRemoteClient *gr_service_connect_to(int number, uint64 generation, bool in_use, const char **reason);

/* Which service a connection is to, and the number of its slot there */
extern int	gr_service_number(const GrRemoteClient *client, uint64 *generation);
extern int	gr_service_slot(const GrRemoteClient *client);

/*
 * The set of kept rows with this id, of the client's service, stays until the current memory context is reset, though
 * it be replaced or let go meanwhile. False: it has gone already. A session that holds GR_HOLDS_MAX sets holds no
 * other: they are there as long as they are in the list.
 */
extern bool gr_service_hold(const GrRemoteClient *client, uint64 id);

/* The backend that goes with it */
extern const GrBackend *gr_service_backend(const GrRemoteClient *client);

/*
 * Waits until the service has opened its device, and describes it in client->info; false if it can't, or the host wants
 * it to stop. Touches nothing of PostgreSQL's but the host, which is NULL in a thread other than the session's.
 */
extern bool gr_service_await(GrRemoteClient *client, const GrHost *host, GrError *err);

/* Is there a service whose device is open? Asks nobody. */
extern bool gr_service_is_warm(int gpu_id);

/* Is this a stand-in, which computes on the CPU? */
extern bool gr_service_stands_in(const GrRemoteClient *client);

/* Memory that a session and its service both have. */
typedef struct GrLease
{
	GrRemoteClient *client;		/* NULL: none is leased */
	uint64		connection;		/* of the client: another one has none of these */
	int			area;
	dsm_segment *segment;
	void	   *memory;			/* whole pages */
	Size		nbytes;
} GrLease;

/* At least so many bytes; false if they can't be had. Ending one that was ended, or never leased, does nothing. */
extern bool gr_lease_begin(GrLease *lease, GrRemoteClient *client, Size nbytes);
extern void gr_lease_end(GrLease *lease);

/* What gpu_devices() shows of the services that run */
typedef struct GrServiceInfo
{
	GrDeviceInfo device;
	int			pid;
	int			nsessions;
	int			njobs;			/* computations under way */
	int64		admitted_nbytes;	/* of memory, for their rows */
} GrServiceInfo;

extern int	gr_list_services(GrServiceInfo *services, int max);

#endif							/* GPUREG_SERVICE_H */
