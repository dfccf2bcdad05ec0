/*
 * device.h: the choice between the CPU and a device, and the session's open device.
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
extern int	gr_debug_sinks;		/* number of sinks that a job's rows are dealt to; 0: one sink */

#define GR_DEVICE_NAME_SIZE 300

/* Where a job is computed. */
typedef struct GrPlace
{
	const GrBackend *backend;
	GrSession  *session;		/* an open device; NULL on the CPU */
	bool		holds_session;	/* the place keeps session open */
	GrRemoteClient *service;	/* owner of the device, once the place is prepared; NULL: this session owns it */
	double		work;			/* products, by which the place was chosen */
	char		device[GR_DEVICE_NAME_SIZE];	/* "cpu", "gpu 0: NVIDIA H200", or "gpu 0 .. 1: 2 x NVIDIA H200" */
	char		reason[300];	/* reason for the choice, for gpu_last_run() */
} GrPlace;

static inline bool
gr_on_cpu(const GrPlace *place)
{
	return place->backend == &gr_backend_cpu;
}

/* Returns the bytes of device memory that a job may take; 0: as much as the device has. */
static inline Size
gr_device_limit(void)
{
	return (Size) gr_gpu_memory_limit * 1024 * 1024;
}

/* True if this process computes the work, in products, on the CPU even if there is a device. */
extern bool gr_takes_cpu(double work);

/*
 * Chooses the CPU or the device by the settings and the work, in products. Returns false if the device is wanted and
 * not available, or if the host stops the wait for it.
 */
extern bool gr_choose_place(GrPlace *place, double work, const GrHost *host, GrError *err);

/*
 * The two steps of gr_choose_place(). gr_prepare_place() chooses the CPU and returns false, or returns true if a device
 * is wanted. gr_open_place() then opens the device's session, in some 0.3 s, unless it is open already. gr_open_place()
 * touches nothing of PostgreSQL's but host, which may stop a wait for a service. Another thread may call it, with NULL
 * for host. If it fails, gr_retreat_to_cpu() decides whether the CPU takes the device's place.
 */
extern bool gr_prepare_place(GrPlace *place, double work);
extern bool gr_open_place(GrPlace *place, const GrHost *host, GrError *err);

/* Writes "gpu 0: NAME", or "gpu 0 .. 1: 2 x NAME" for several devices, cut to size. Touches nothing of PostgreSQL's. */
extern void gr_name_device(const GrDeviceInfo *info, char *name, size_t size);

/*
 * Chooses the service that keeps rows, whatever the settings say about other computations, and waits until the service
 * has opened its device. Returns false if it cannot open the device, or if the statement is canceled.
 */
extern bool gr_place_at_service(GrPlace *place, GrRemoteClient *service, const GrHost *host, GrError *err);

/* Chooses the CPU, whatever the settings say. reason: why, for gpu_last_run(). */
extern void gr_place_on_cpu(GrPlace *place, const char *reason);

/*
 * Chooses the CPU in place of a device if err says that the device is not available or has too little memory, and the
 * settings allow the CPU. Returns false otherwise.
 */
extern bool gr_retreat_to_cpu(GrPlace *place, const GrError *err);

/* Notes in place->reason that the device has too little memory, in the words of err. */
extern void gr_note_shortage(GrPlace *place, const GrError *err);

/* True if gr_retreat_to_cpu() would choose the CPU for err. */
extern bool gr_may_retreat(const GrError *err);

/* Gives up the device's session. May be called more than once. */
extern void gr_leave_place(GrPlace *place);

/* True if it is known that there is no device. Opens none to find out. */
extern bool gr_device_is_missing(void);

/*
 * Lends the session to another thread, which may open and use it until a call with false. Meanwhile all other
 * computations of this process, which the query that is being read may ask for, take the CPU.
 */
extern void gr_lend_session(bool lent);

extern int	gr_session_nlent;	/* threads that the session is lent to */

/* True while the session is lent; see gr_lend_session(). */
static inline bool
gr_session_is_lent(void)
{
	return gr_session_nlent > 0;
}

/* Registers a function to be called before a session closes, which may have pinned memory. */
extern void gr_before_session_close(void (*function) (void));

/* Remembers that the device is lost, if err says so. */
extern void gr_note_device_error(const GrError *err);

/* Lists up to max devices and returns their number. If there are none, err->detail says why. */
extern int	gr_list_devices(GrDeviceInfo *devices, int max, GrError *err);

#endif							/* GPUREG_DEVICE_H */
