/*
 * device.c: chooses where to compute, and owns this process's device session, which is used if no service owns the
 * device for all sessions (service.h). The device session is opened at first use and kept until the process ends. A
 * failure to open it is remembered as well, so that a machine without a device is asked once. Parallel workers never
 * open a device session.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "utils/memutils.h"

#include "compute/backend/backend.h"
#include "run/device.h"
#include "run/service.h"
#include "run/service_shared.h"

typedef struct DeviceSession
{
	const GrBackend *backend;	/* backend of the session */
	GrSession  *session;
	bool		opened;
	bool		failed;
	int			gpu_id;			/* the setting that was tried */
	int			njobs;			/* jobs that use the session */
	GrError		error;			/* reason for failed */
	MemoryContext context;		/* owns the session */
	MemoryContextCallback callback;
} DeviceSession;

static DeviceSession device_session;
int			gr_session_nlent;

/* The last failure of a device service, which owns the device in place of this process. */
static struct
{
	bool		failed;			/* the service can't open its device */
	int			gpu_id;			/* gpureg.gpu_id when the service failed */
	GrError		error;			/* reason for failed */
}			service_use;

static void (*before_close) (void);

#define OPEN_DISCOUNT 40
#define LENT "the query around this one uses the session's device"

void
gr_before_session_close(void (*function) (void))
{
	before_close = function;
}

static void
close_device_session(void *arg)
{
	DeviceSession *ds = arg;

	if (before_close != NULL)
		before_close();
	if (ds->session != NULL)
		ds->backend->device->close(ds->session);
	ds->session = NULL;
	ds->opened = false;
	ds->context = NULL;
}

/* Makes the context that owns the device session, unless the session is open or has failed to open before. */
static void
prepare_session(DeviceSession *ds)
{
	if ((ds->opened || ds->failed) && ds->gpu_id == gr_gpu_id)
		return;
	/* the query of a fit may change gpu_id and fit itself: the outer fit's job keeps the open session */
	if (ds->opened && ds->njobs > 0)
		return;
	if (ds->failed && ds->error.status == GR_DEVICE_LOST)
		return;
	if (ds->context != NULL)
		MemoryContextDelete(ds->context);	/* runs close_device_session() */

	memset(ds, 0, sizeof(*ds));
	ds->gpu_id = gr_gpu_id;
	ds->backend = gr_gpu_id == GR_ALL_DEVICES ? &gr_backend_many : &gr_backend_cuda;
	ds->context = AllocSetContextCreate(TopMemoryContext, "gpureg device session", ALLOCSET_SMALL_SIZES);
	ds->callback.func = close_device_session;
	ds->callback.arg = ds;
	MemoryContextRegisterResetCallback(ds->context, &ds->callback);
}

/* True if there may be a device. An open service tells this without loading the driver here, which takes 10 ms. */
static bool
is_present(void)
{
	return gr_service_is_warm(gr_gpu_id) || gr_backend_cuda.device->present();
}

/* Connects to the service that owns the device, starting it if need be. NULL: this session opens the device itself. */
static GrRemoteClient *
find_service(void)
{
	const char *reason = NULL;
	GrRemoteClient *client;

	/* no service is needed without a device, or while jobs of this session use its own device session */
	if (!gr_debug_service && ((device_session.opened && device_session.njobs > 0) || !is_present()))
		return NULL;
	client = gr_service_connect(gr_gpu_id, &reason);
	if (client == NULL && reason != NULL)
		ereport(DEBUG1, (errmsg_internal("no device service: %s", reason)));
	return client;
}

/* Makes the device of the place's service, which is open, the place to compute. */
static void
take_service(GrPlace *place)
{
	place->backend = gr_service_backend(place->service);
	place->session = (GrSession *) place->service;
	place->holds_session = true;
	gr_service_njobs++;
}

/* Opens a service's device for gr_open_place(). */
static bool
open_at_service(GrPlace *place, const GrHost *host, GrError *err)
{
	if (service_use.failed && service_use.gpu_id == gr_gpu_id)
		*err = service_use.error;
	else if (gr_service_await(place->service, host, err))
	{
		take_service(place);
		return true;
	}
	else if (err->status == GR_NO_DEVICE)
	{
		service_use.failed = true;
		service_use.gpu_id = gr_gpu_id;
		service_use.error = *err;
	}
	place->service = NULL;
	return false;
}

int
gr_list_devices(GrDeviceInfo *devices, int max, GrError *err)
{
	int			ndevices = 0;

	if (IsParallelWorker())
		return 0;
	if (gr_session_nlent > 0)
	{
		gr_fail(err, GR_NO_DEVICE, 0, "%s", LENT);
		return 0;
	}
	if (!gr_backend_cuda.device->list(devices, max, &ndevices, err))
		return 0;
	return ndevices;
}

void
gr_place_on_cpu(GrPlace *place, const char *reason)
{
	gr_leave_place(place);
	place->backend = &gr_backend_cpu;
	strlcpy(place->device, "cpu", sizeof(place->device));
	if (reason != place->reason)
		strlcpy(place->reason, reason, sizeof(place->reason));
}

/*
 * Returns the work, in products, from which auto takes the device. Opening a device takes the time in which the CPU
 * computes some 1e9 products; a statement's own cost on an open device is a fortieth of that.
 */
static double
least_work(void)
{
	bool		is_open = device_session.opened && device_session.gpu_id == gr_gpu_id;

	return is_open || gr_service_is_warm(gr_gpu_id) ? gr_min_gpu_work / OPEN_DISCOUNT : gr_min_gpu_work;
}

/* True if this process must compute on the CPU, whatever the work is. */
static bool
must_take_cpu(void)
{
	return gr_device == GR_DEVICE_CPU || IsParallelWorker() || gr_session_nlent > 0;
}

bool
gr_takes_cpu(double work)
{
	return must_take_cpu() || (gr_device == GR_DEVICE_AUTO && work < least_work());
}

bool
gr_prepare_place(GrPlace *place, double work)
{
	double		least;

	gr_place_on_cpu(place, "");
	place->work = work;
	least = !must_take_cpu() && gr_device == GR_DEVICE_AUTO ? least_work() : 0;
	if (!must_take_cpu() && !(work < least))
	{
		place->service = find_service();
		if (place->service == NULL)
			prepare_session(&device_session);
		return true;
	}
	if (gr_device == GR_DEVICE_CPU)
		strlcpy(place->reason, "gpureg.device is cpu", sizeof(place->reason));
	else if (IsParallelWorker())
		strlcpy(place->reason, "parallel workers use the CPU", sizeof(place->reason));
	else if (gr_session_nlent > 0)
		strlcpy(place->reason, LENT, sizeof(place->reason));
	else
		snprintf(place->reason, sizeof(place->reason), "%.3g products are fewer than %s", work,
				 least < gr_min_gpu_work ? "an open GPU's share of gpureg.min_gpu_work" : "gpureg.min_gpu_work");
	return false;
}

/* Opens this session's own device for gr_open_place(). */
static bool
open_here(GrPlace *place, GrError *err)
{
	DeviceSession *ds = &device_session;
	GrOpenOptions options = {.device_id = gr_gpu_id};

	if (!ds->opened && !ds->failed)
	{
		ds->opened = ds->backend->device->open(&ds->session, &options, &ds->error);
		ds->failed = !ds->opened;
	}
	if (!ds->opened)
	{
		*err = ds->error;
		return false;
	}
	/* the backend of an open session has all tables of functions */
	Assert(ds->backend->sink != NULL && ds->backend->projector != NULL && ds->backend->solver != NULL);
	place->backend = ds->backend;
	place->session = ds->session;
	place->holds_session = true;
	ds->njobs++;
	return true;
}

/*
 * Appends ", without the device service: ..." to the reason of a place without a service, if gr_control_mismatch()
 * says that the server must be restarted before there can be one.
 */
static void
note_mismatch(GrPlace *place)
{
	const char *mismatch = gr_enable_service ? gr_control_mismatch() : NULL;
	size_t		nbytes = strlen(place->reason);

	if (place->service == NULL && mismatch != NULL)
		snprintf(place->reason + nbytes, sizeof(place->reason) - nbytes, ", without the device service: %s", mismatch);
}

void
gr_name_device(const GrDeviceInfo *info, char *name, size_t size)
{
	if (info->nbeside > 0)
		snprintf(name, size, "gpu %d .. %d: %s", info->id, info->id + info->nbeside, info->name);
	else
		snprintf(name, size, "gpu %d: %s", info->id, info->name);
}

bool
gr_open_place(GrPlace *place, const GrHost *host, GrError *err)
{
	const GrDeviceInfo *info;

	if (!(place->service != NULL ? open_at_service(place, host, err) : open_here(place, err)))
	{
		/* in auto mode a device that can't be used counts as absent, unless it was lost */
		if (gr_device == GR_DEVICE_AUTO && err->status != GR_DEVICE_LOST && err->status != GR_CANCELED)
			err->status = GR_NO_DEVICE;
		return false;
	}
	info = place->backend->device->describe(place->session);
	gr_name_device(info, place->device, sizeof(place->device));
	if (place->service != NULL)
		strlcat(place->device, ", device service", sizeof(place->device));
	if (gr_device == GR_DEVICE_GPU)
		strlcpy(place->reason, "gpureg.device is gpu", sizeof(place->reason));
	else
		snprintf(place->reason, sizeof(place->reason), "%.3g products", place->work);
	note_mismatch(place);
	return true;
}

bool
gr_place_at_service(GrPlace *place, GrRemoteClient *service, const GrHost *host, GrError *err)
{
	const GrDeviceInfo *info;

	gr_place_on_cpu(place, "");
	place->service = service;
	if (!gr_service_await(service, host, err))
	{
		place->service = NULL;
		return false;
	}
	take_service(place);
	info = place->backend->device->describe(place->session);
	if (gr_service_stands_in(service))
		strlcpy(place->device, "cpu, device service", sizeof(place->device));
	else
	{
		gr_name_device(info, place->device, sizeof(place->device));
		strlcat(place->device, ", device service", sizeof(place->device));
	}
	strlcpy(place->reason, "the rows are kept there", sizeof(place->reason));
	return true;
}

bool
gr_choose_place(GrPlace *place, double work, const GrHost *host, GrError *err)
{
	if (!gr_prepare_place(place, work) || gr_open_place(place, host, err))
		return true;
	if (!gr_retreat_to_cpu(place, err))
		return false;
	memset(err, 0, sizeof(*err));
	return true;
}

bool
gr_may_retreat(const GrError *err)
{
	return gr_device == GR_DEVICE_AUTO && (err->status == GR_DEVICE_MEMORY || err->status == GR_NO_DEVICE);
}

void
gr_note_shortage(GrPlace *place, const GrError *err)
{
	char		shortage[GR_SHORTAGE_SIZE];

	gr_describe_shortage(err, shortage, sizeof(shortage));
	snprintf(place->reason, sizeof(place->reason), "GPU memory: %s", shortage);
}

bool
gr_retreat_to_cpu(GrPlace *place, const GrError *err)
{
	if (!gr_may_retreat(err))
		return false;
	if (err->status == GR_NO_DEVICE)
		snprintf(place->reason, sizeof(place->reason), "no GPU: %s", err->detail);
	else
		gr_note_shortage(place, err);
	gr_place_on_cpu(place, place->reason);
	note_mismatch(place);
	return true;
}

void
gr_leave_place(GrPlace *place)
{
	if (place->holds_session && place->service != NULL)
		gr_service_njobs--;
	else if (place->holds_session)
		device_session.njobs--;
	place->holds_session = false;
	place->service = NULL;
	place->session = NULL;
}

bool
gr_device_is_missing(void)
{
	DeviceSession *ds = &device_session;

	if (gr_debug_service && gr_enable_service)
		return false;
	if (service_use.failed && service_use.gpu_id == gr_gpu_id)
		return true;
	if ((ds->opened || ds->failed) && ds->gpu_id == gr_gpu_id)
		return ds->failed;
	return !is_present();
}

void
gr_lend_session(bool lent)
{
	gr_session_nlent += lent ? 1 : -1;
}

void
gr_note_device_error(const GrError *err)
{
	if (err->status != GR_DEVICE_LOST)
		return;
	device_session.opened = false;
	device_session.failed = true;
	device_session.error = *err;
}
