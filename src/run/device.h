/*
 * device.h: where to compute: the settings' choice of the CPU or a device, and the session of the latter.
 */
#ifndef GPUREG_DEVICE_H
#define GPUREG_DEVICE_H

#include "postgres.h"

#include "compute/backend/backend.h"
#include "compute/remote/remote.h"

/* Settings; see gpureg.c. */
typedef enum GrDeviceChoice
{
	GR_DEVICE_AUTO,
	GR_DEVICE_CPU,
	GR_DEVICE_GPU
} GrDeviceChoice;

extern int	gr_device;			/* GrDeviceChoice */
extern int	gr_gpu_id;
extern int	gr_gpu_memory_limit;	/* MB; 0: none */
extern int	gr_ring_size;		/* kB */
extern int	gr_projection_cache_size;	/* kB */
extern double gr_min_gpu_work;	/* products */
extern bool gr_debug_ring;
extern int	gr_debug_sinks;		/* a job's rows are dealt to so many sinks; 0: they go to one */

#define GR_DEVICE_NAME_SIZE 300

/* Where a job is computed. */
typedef struct GrPlace
{
	const GrBackend *backend;
	GrSession  *session;		/* of a device */
	bool		holds_session;	/* ... which it keeps open */
	GrRemoteClient *service;	/* that owns the device, once the place is prepared; NULL: this session does */
	double		work;			/* products, that the choice went by */
	char		device[GR_DEVICE_NAME_SIZE];	/* "cpu", "gpu 0: NVIDIA H200", or "gpu 0 .. 1: 2 x NVIDIA H200" */
	char		reason[300];	/* why there */
} GrPlace;

static inline bool
gr_on_cpu(const GrPlace *place)
{
	return place->backend == &gr_backend_cpu;
}

/* What a job may take of a device's memory, bytes; 0: no limit but the device's */
static inline Size
gr_device_limit(void)
{
	return (Size) gr_gpu_memory_limit * 1024 * 1024;
}

/* Is the CPU the place for so much work, in products, whether or not there is a device? */
extern bool gr_takes_cpu(double work);

/*
 * Takes the CPU or the device as the settings and the work, in products, say; false if the device is wanted and cannot
 * be had, or the host stops the wait for it.
 */
extern bool gr_choose_place(GrPlace *place, double work, const GrHost *host, GrError *err);

/*
 * The same in two steps. gr_prepare_place() takes the CPU and returns false, or returns true if a device is wanted,
 * which gr_open_place() then takes: it opens the session unless that was done before, in 0.3 s or so. It touches
 * nothing of PostgreSQL's but the host, which may stop a wait for a service; another thread may call it, with NULL for
 * it. If it fails, gr_retreat_to_cpu() says whether the CPU may take its place.
 */
extern bool gr_prepare_place(GrPlace *place, double work);
extern bool gr_open_place(GrPlace *place, const GrHost *host, GrError *err);

/* "gpu 0: its name", or of several "gpu 0 .. 1: 2 x their name"; cut to size. Touches nothing of PostgreSQL's. */
extern void gr_name_device(const GrDeviceInfo *info, char *name, size_t size);

/*
 * The service that keeps rows, whatever the settings say about other computations, as soon as it has its device; false
 * if it can't, or the statement is canceled.
 */
extern bool gr_place_at_service(GrPlace *place, GrRemoteClient *service, const GrHost *host, GrError *err);

/* The CPU, whatever the settings say. */
extern void gr_place_on_cpu(GrPlace *place, const char *reason);

/*
 * The CPU instead of a device that cannot be had or has too little memory, if that is what err says and the settings
 * allow.
 */
extern bool gr_retreat_to_cpu(GrPlace *place, const GrError *err);

/* The reason to leave a device that has too little memory: what err says of it */
extern void gr_note_shortage(GrPlace *place, const GrError *err);

/* Would gr_retreat_to_cpu() take the CPU, with that err? */
extern bool gr_may_retreat(const GrError *err);

/* The job is done with the device's session. May be called again. */
extern void gr_leave_place(GrPlace *place);

/* Is it known, without opening one now, that there is no device? */
extern bool gr_device_is_missing(void);

/*
 * From now on, until it is called with false, another thread may open and use the session: what else this process is
 * asked to compute meanwhile, within the query that is being read, takes the CPU.
 */
extern void gr_lend_session(bool lent);

/* Do computations under way use a connection to a device service? */
extern bool gr_service_is_used(void);

/* Is the session lent? */
extern bool gr_session_is_lent(void);

/* Has this called before a session is closed, by which memory may be pinned. */
extern void gr_before_session_close(void (*function) (void));

/* Remembers a device that is lost. */
extern void gr_note_device_error(const GrError *err);

/* The devices there are; err->detail says why there are none. */
extern int	gr_list_devices(GrDeviceInfo *devices, int max, GrError *err);

#endif							/* GPUREG_DEVICE_H */
