/*
 * backend_cuda.cu: the CUDA backend: opens and closes devices, what both kinds of sinks share, and the tables.
 *
 * Rows of a sink go through its sends, to gram_cuda.cu or rows_cuda.cu. Different threads may call an object's
 * functions, one at a time: each function makes the object's device the thread's current one.
 */
#include "device.cuh"
#include "sends.cuh"

#include "compute/design/derive.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALONE_NBYTES_MAX ((size_t) 256 << 20)	/* most unused memory kept in a process that serves one session */

/*
 * Held while contexts are created or destroyed. A device is reset only if nobody has a session or is about to open one.
 */
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;

/* Open sessions of each device in this process. If the first session created the context, the last one destroys it. */
static int	sessions_open[GR_DEVICES_MAX];
static bool contexts_owned[GR_DEVICES_MAX];

/* True if this process already has a context on the device, or if that is unknown; the context then stays. */
static bool
has_context(int device)
{
	typedef int (*GetState) (int device, unsigned *flags, int *active);
	void	   *function = NULL;
	unsigned	flags = 0;
	int			active = 1;
	cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
	cudaError_t code;

#if CUDART_VERSION >= 12050
	code = cudaGetDriverEntryPointByVersion("cuDevicePrimaryCtxGetState", &function, 7000, cudaEnableDefault, &found);
#else
	code = cudaGetDriverEntryPoint("cuDevicePrimaryCtxGetState", &function, cudaEnableDefault, &found);
#endif
	if (code != cudaSuccess)
		(void) cudaGetLastError();
	if (code != cudaSuccess || found != cudaDriverEntryPointSuccess || function == NULL)
		return true;
	if (((GetState) function) (device, &flags, &active) != 0)
		return true;
	return active != 0;
}

/* Records that no driver is installed, or that it is too old; always returns false. */
static bool
fail_driver(GrError *err)
{
	int			driver = 0;

	if (cudaDriverGetVersion(&driver) != cudaSuccess)
		(void) cudaGetLastError();
	if (driver == 0)
		return gr_fail(err, GR_NO_DEVICE, 0, "no NVIDIA driver is installed (there is no libcuda.so.1)");
	return gr_fail(err, GR_NO_DEVICE, 0,
				   "the NVIDIA driver supports CUDA %d.%d, but gpureg was built with CUDA %d.%d: update the driver",
				   driver / 1000, driver % 1000 / 10, CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
}

static bool
cuda_count(int *ndevices, GrError *err)
{
	SignalsBlocked blocked;
	cudaError_t code = cudaGetDeviceCount(ndevices);

	if (code == cudaSuccess && *ndevices > GR_DEVICES_MAX)
		*ndevices = GR_DEVICES_MAX;
	if (code == cudaSuccess && *ndevices > 0)
		return true;
	*ndevices = 0;
	if (code == cudaErrorInsufficientDriver)
	{
		(void) cudaGetLastError();
		return fail_driver(err);
	}
	return gr_cuda_fail(err, code == cudaSuccess ? cudaErrorNoDevice : code, 0, "looking for CUDA devices");
}

/*
 * Fills info. Opens a context, as only a context knows the free memory; destroys it again if it was new and keep is
 * false. The caller must hold `opening`.
 */
static bool
device_info(int device, bool keep, GrDeviceInfo *info, GrError *err)
{
	bool		had_context = has_context(device);
	int			driver = 0;
	cudaError_t code;
	cudaDeviceProp properties;

	memset(info, 0, sizeof(*info));
	info->id = device;
	GR_CUDA(err, cudaDriverGetVersion(&driver), "reading the driver's version");
	snprintf(info->driver, sizeof(info->driver), "%d.%d", driver / 1000, driver % 1000 / 10);
	GR_CUDA(err, cudaGetDeviceProperties(&properties, device), "reading the device's properties");
	snprintf(info->name, sizeof(info->name), "%s", properties.name);
	info->major = properties.major;
	info->minor = properties.minor;
	GR_CUDA(err, cudaSetDevice(device), "opening the device");
	code = gr_memory_info(device, &info->memory_free, &info->memory_total);
	if (!keep && !had_context)
		(void) cudaDeviceReset();
	GR_CUDA(err, code, "opening the device");
	return true;
}

static bool
cuda_list(GrDeviceInfo *devices, int max, int *ndevices, GrError *err)
{
	SignalsBlocked blocked;
	Locked		locked(&opening);
	int			n;

	*ndevices = 0;
	if (!cuda_count(&n, err))
	{
		/* having no device is a result; the detail says why */
		err->status = GR_OK;
		return true;
	}
	for (int device = 0; device < n && device < max; device++)
	{
		GrError		ignored = {};

		/* a full or exclusively used device is listed too, without its memory */
		(void) device_info(device, false, &devices[device], &ignored);
		*ndevices = device + 1;
	}
	return true;
}

/* Sets *device to the device wanted, or to the one with most free memory. The caller must hold `opening`. */
static bool
choose_device(int wanted, int *device, GrError *err)
{
	int			n;
	size_t		most_free = 0;

	if (!cuda_count(&n, err))
		return false;
	if (wanted < -1 || wanted >= n)
		return gr_fail(err, GR_NO_DEVICE, wanted, "there is no CUDA device %d: there %s %d, numbered from 0", wanted,
					   n == 1 ? "is" : "are", n);
	*device = wanted == -1 ? 0 : wanted;
	if (wanted >= 0 || n == 1)
		return true;
	*device = -1;
	for (int i = 0; i < n; i++)
	{
		GrDeviceInfo info;
		GrError		ignored = {};

		/* a broken or exclusively used device is skipped */
		if (device_info(i, false, &info, &ignored) && (*device < 0 || info.memory_free > most_free))
		{
			*device = i;
			most_free = info.memory_free;
		}
		else if (ignored.status != GR_OK && *device < 0 && i == n - 1)
			return gr_fail(err, ignored.status, i, "%s", ignored.detail);
	}
	return true;
}

/*
 * Returns the unused memory that may be kept on a device; many: the process serves many sessions. Other processes
 * cannot use this memory.
 */
static size_t
kept_nbytes(const GrDeviceInfo *info, bool many)
{
	if (many)
		return info->memory_total / 8;
	return info->memory_total / 64 < ALONE_NBYTES_MAX ? info->memory_total / 64 : ALONE_NBYTES_MAX;
}

static bool
cuda_open(GrSession **session, const GrOpenOptions *options, GrError *err)
{
	SignalsBlocked blocked;
	Locked		locked(&opening);
	GrSession  *s = (GrSession *) calloc(1, sizeof(GrSession));
	GramPlan	plan;
	int			device = 0;
	cudaError_t code;

	*session = s;
	if (s == NULL)
		return gr_fail(err, GR_NO_MEMORY, 0, "a device session");
	s->info.id = -1;
	if (!choose_device(options != NULL ? options->device_id : -1, &device, err))
		return false;
	s->info.id = device;
	if (sessions_open[device]++ == 0)
		contexts_owned[device] = !has_context(device);
	s->counted = true;
	if (!device_info(device, true, &s->info, err))
	{
		s->info.id = device;
		s->lost = err->status == GR_DEVICE_LOST;
		return false;
	}
	/* detects now whether the kernels were built for this device */
	code = gr_gram_plan(&plan, gr_plain_shape(1), GR_PARTIALS_NBYTES);
	if (code == cudaSuccess)
		code = gr_prepare_cub();
	if (code != cudaSuccess)
		return session_fail(s, err, code, 0, "loading the kernels");
	gr_memory_keep(device, kept_nbytes(&s->info, options != NULL && options->serves_many));
	return true;
}

static void
cuda_close(GrSession *session)
{
	SignalsBlocked blocked;

	if (session == NULL)
		return;
	gr_cuda_project_forget(session);
	if (session->counted)
	{
		Locked		locked(&opening);
		int			device = session->info.id;

		if (--sessions_open[device] == 0 && cudaSetDevice(device) == cudaSuccess)
		{
			gr_memory_forget(device);
			if (contexts_owned[device] && !session->lost)
				(void) cudaDeviceReset();
		}
		(void) cudaGetLastError();
	}
	free(session);
}

static const GrDeviceInfo *
cuda_describe(const GrSession *session)
{
	return &session->info;
}

static bool
cuda_present(void)
{
	SignalsBlocked blocked;		/* the first query may start a thread of the driver */
	int			version = 0;

	/* the driver's version; 0 if there is no driver */
	if (cudaDriverGetVersion(&version) != cudaSuccess)
		(void) cudaGetLastError();
	return version > 0;
}

/* Pins host memory for all devices. A lack of pinned pages is a lack of host memory, not of device memory. */
static bool
cuda_pin(GrSession *session, void *memory, size_t nbytes, GrError *err)
{
	SignalsBlocked blocked;
	cudaError_t code;

	SESSION_CUDA(session, err, cudaSetDevice(session->info.id), "selecting the device");
	code = cudaHostRegister(memory, nbytes, cudaHostRegisterPortable);
	if (code == cudaErrorMemoryAllocation)
	{
		(void) cudaGetLastError();
		return gr_fail(err, GR_NO_MEMORY, 0, "%zu bytes of pinned memory", nbytes);
	}
	SESSION_CUDA(session, err, code, "pinning memory");
	return true;
}

static void
cuda_unpin(GrSession *session, void *memory)
{
	SignalsBlocked blocked;

	(void) cudaSetDevice(session->info.id);
	(void) cudaHostUnregister(memory);
	(void) cudaGetLastError();
}

/*
 * Sinks
 */

static bool
cuda_sink_begin(GrSession *session, const GrSinkOptions *options, GrSink **sink, GrError *err)
{
	SignalsBlocked blocked;
	const bool	keep = options->kind == GR_SINK_KEEP;
	GrSink	   *s;

	*sink = NULL;
	if (options->shape.nfeatures < 1 || options->shape.nfeatures > GR_MAX_FEATURES)
		return gr_fail(err, GR_INVALID, 0, "%d features", options->shape.nfeatures);
	*sink = s = (GrSink *) calloc(1, keep ? sizeof(RowsSink) : sizeof(GramSink));
	if (s == NULL)
		return gr_fail(err, GR_NO_MEMORY, 0, "rows on their way to the device");
	s->kind = options->kind;
	s->session = session;
	s->shape = gr_wide_shape(options->shape);
	s->urgent = keep && options->expected_nbytes > 0 && options->expected_nbytes <= GR_URGENT_NBYTES;
	SESSION_CUDA(session, err, cudaSetDevice(session->info.id), "selecting the device");
	return keep ? gr_cuda_rows_open(static_cast<RowsSink *>(s), options, err)
		: gr_cuda_gram_open(static_cast<GramSink *>(s), options, err);
}

static bool
cuda_sink_send(GrSink *sink, const void *rows, int64_t nrows, GrError *err)
{
	SESSION_CUDA(sink->session, err, cudaSetDevice(sink->session->info.id), "selecting the device");
	return gr_sends_begin(&sink->sends, err) &&
		(sink->kind == GR_SINK_KEEP ? gr_cuda_rows_add(static_cast<RowsSink *>(sink), rows, nrows, err)
		 : gr_cuda_gram_add(static_cast<GramSink *>(sink), rows, nrows, err)) &&
		gr_sends_end(&sink->sends, err);
}

static bool
cuda_sink_sent(GrSink *sink, bool wait, int64_t *ncalls, GrError *err)
{
	SESSION_CUDA(sink->session, err, cudaSetDevice(sink->session->info.id), "selecting the device");
	return gr_sends_done(&sink->sends, wait, ncalls, err);
}

/* Launcher of the sums of one kind of request; see request_kinds.h. */
typedef bool SumsLauncher(GrSink *sink, const GrRequest *request, double *sums, const GrHost *host, GrError *err);

bool
gr_cuda_sums_none(GrSink *, const GrRequest *request, double *, const GrHost *, GrError *err)
{
	return gr_fail(err, GR_INVALID, 0, "a device does not make %s", gr_request_name(request));
}

bool
gr_cuda_sums_pass(GrSink *sink, const GrRequest *request, double *sums, const GrHost *host, GrError *err)
{
	const GrPass pass = gr_request_pass(request);

	return request->ngroups > 0 ? gr_cuda_sums_none(sink, request, sums, host, err) :
		gr_cuda_rows_pass(sink, &pass, sums, host, err);
}

bool
gr_cuda_sums_boot(GrSink *sink, const GrRequest *request, double *sums, const GrHost *host, GrError *err)
{
	const GrBootPass pass = gr_request_boot(request);

	return gr_cuda_rows_boot(sink, &pass, sums, host, err);
}

bool
gr_cuda_sums_clusters(GrSink *sink, const GrRequest *request, double *sums, const GrHost *host, GrError *err)
{
	const GrClusterPass pass = gr_request_clusters(request);

	return gr_cuda_rows_clusters(sink, &pass, sums, host, err);
}

#define LAUNCHER(kind, operations, device) gr_cuda_sums_##device,

static bool
cuda_sink_sums(GrSink *sink, const GrRequest *request, double *sums, const GrHost *host, GrError *err)
{
	static SumsLauncher *const launchers[GR_NREQUESTS] = {GR_REQUEST_KINDS(LAUNCHER)};

	return launchers[request->kind](sink, request, sums, host, err);
}

/* Begins the sink of derived rows, unless only counts are wanted, and derives them. */
static bool
cuda_sink_derive(GrSink *sink, const GrDeriveTask *task, const GrHost *host, GrError *err)
{
	const GrDerivation *derivation = task->derivation;
	GrSink	  **derived = task->derived;
	GrSinkOptions of_derived = *task->options;

	if (derived != NULL)
		*derived = NULL;
	memset(task->counts, 0, sizeof(*task->counts));
	if (sink->kind != GR_SINK_KEEP || derivation->ncolumns != gr_row_ncols(sink->shape))
		return gr_fail(err, GR_INVALID, 0, "rows of %d columns are derived from others", derivation->ncolumns);
	of_derived.kind = GR_SINK_KEEP;
	of_derived.shape = gr_derived_shape(derivation);
	if (derived != NULL && !cuda_sink_begin(sink->session, &of_derived, derived, err))
		return false;
	SESSION_CUDA(sink->session, err, cudaSetDevice(sink->session->info.id), "selecting the device");
	return gr_cuda_rows_derive(static_cast<RowsSink *>(sink), derivation, task->rules,
							   derived == NULL ? NULL : static_cast<RowsSink *>(*derived), task->counts, host, err);
}

static void
cuda_sink_times(const GrSink *sink, GrTimes *times)
{
	times->bytes_to_device = sink->sends.nbytes;
	times->copy_s = sink->sends.copy_s;
	times->kernel_s = sink->kernel_s;
}

/* Failures are ignored: a lost device takes its memory along. */
static void
cuda_sink_end(GrSink *sink)
{
	if (sink == NULL)
		return;
	(void) cudaSetDevice(sink->session->info.id);
	gr_sends_close(&sink->sends);
	if (sink->kernel_stream != NULL)
		(void) cudaStreamSynchronize(sink->kernel_stream);
	if (sink->kind == GR_SINK_KEEP)
		gr_cuda_rows_free(static_cast<RowsSink *>(sink));
	else
		gr_cuda_gram_free(static_cast<GramSink *>(sink));
	gr_stream_give(sink->session->info.id, sink->urgent, sink->kernel_stream);
	(void) cudaGetLastError();
	free(sink);
}

/*
 * The tables
 */

static const GrDeviceOps device_ops = {
	cuda_present,
	cuda_count,
	cuda_list,
	cuda_open,
	cuda_close,
	cuda_describe,
	cuda_pin,
	cuda_unpin,
};

static const GrSinkOps sink_ops = {
	cuda_sink_begin,
	cuda_sink_send,
	cuda_sink_sent,
	gr_cuda_gram_restart,
	gr_cuda_gram_finish,
	cuda_sink_sums,
	gr_cuda_rows_change,
	gr_cuda_rows_can_ascend,
	gr_cuda_rows_ascend,
	cuda_sink_derive,
	gr_cuda_rows_read,
	cuda_sink_times,
	cuda_sink_end,
};

static const GrProjectorOps projector_ops = {
	gr_cuda_project_begin,
	gr_cuda_project_block,
	gr_cuda_project_submit,
	gr_cuda_project_take,
	gr_cuda_project_times,
	gr_cuda_project_end,
};

static const GrSolverOps solver_ops = {
	gr_cuda_factor_begin,
	gr_cuda_factor_inverse,
	gr_cuda_factor_end,
};

extern "C" const GrBackend gr_backend_cuda = {"gpu", &device_ops, &sink_ops, &projector_ops, &solver_ops};
