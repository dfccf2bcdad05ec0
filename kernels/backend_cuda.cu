/*
 * backend_cuda.cu: the backend table over CUDA: who opens a device, who owns what, and how blocks of rows flow.
 *
 * A Gram job has GR_NSLOTS row blocks on the device. gram_send copies rows to the one that is being filled, on one stream; when it is
 * full the kernel, which waits for the copies' event, goes to another, so that the copy to one block overlaps the kernel over the one
 * before. A block is free again when its kernel has ended; the kernels, all on one stream, add to the same partials one after another.
 *
 * The entries may be called from different threads one at a time: each makes its device the thread's current one.
 */
#include "sends.cuh"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEVICES_MAX 64			/* devices whose sessions are counted */
#define OUTPUT_NBYTES 65536		/* the least size of a block's memory, as it holds the result too */

typedef struct Slot
{
	double	   *device;
	cudaEvent_t copy_end;
	cudaEvent_t kernel_begin;
	cudaEvent_t kernel_end;
	bool		busy;			/* summed up, and the time not yet taken */
} Slot;

struct GrGram
{
	GrSession  *session;
	GramPlan	plan;
	GrRowShape	shape;			/* of the rows on the device */
	int64_t		capacity;		/* rows a block */
	size_t		block_nbytes;	/* memory of a block */
	Sends		sends;
	Slot		slots[GR_NSLOTS];
	int			filling;		/* the slot that takes rows */
	int64_t		nfilled;		/* rows in it */
	double2    *partials;
	double	   *shift;			/* of the features and the response; behind the partials */
	bool		shifted;		/* rows are summed less shift */
	double	   *transfer;		/* pinned: the result on its way back */
	size_t		transfer_nbytes;
	cudaStream_t kernel_stream;
	double		kernel_s;
};

/* Sessions open on each device in this process. If the first of them brought the context, the last takes it away. */
static int	sessions_open[DEVICES_MAX];
static bool contexts_owned[DEVICES_MAX];

/* Whether this process has a context on the device already. True if that can't be told: the context then stays. */
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

static bool
count_devices(int *ndevices, GrError *err)
{
	cudaError_t code = cudaGetDeviceCount(ndevices);

	if (code == cudaSuccess && *ndevices > 0)
		return true;
	*ndevices = 0;
	return gr_cuda_fail(err, code == cudaSuccess ? cudaErrorNoDevice : code, 0, "looking for CUDA devices");
}

/* Fills info. Opens a context, as only that tells the free memory; gives it back if keep is false and it was new. */
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
	code = cudaMemGetInfo(&info->memory_free, &info->memory_total);
	if (!keep && !had_context)
		(void) cudaDeviceReset();
	GR_CUDA(err, code, "opening the device");
	return true;
}

static bool
cuda_list(GrDeviceInfo *devices, int max, int *ndevices, GrError *err)
{
	SignalsBlocked blocked;
	int			n;

	*ndevices = 0;
	if (!count_devices(&n, err))
	{
		/* no device is an answer; the detail says why */
		err->status = GR_OK;
		return true;
	}
	for (int device = 0; device < n && device < max; device++)
	{
		GrError		ignored = {};

		/* a device that is full or taken is listed too, without its memory */
		(void) device_info(device, false, &devices[device], &ignored);
		*ndevices = device + 1;
	}
	return true;
}

/* The device asked for, or the one with most free memory. */
static bool
choose_device(int wanted, int *device, GrError *err)
{
	int			n;
	size_t		most_free = 0;

	if (!count_devices(&n, err))
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

		/* one that is broken or taken is passed over */
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

static bool
cuda_open(GrSession **session, const GrOpenOptions *options, GrError *err)
{
	SignalsBlocked blocked;
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
	if (device < DEVICES_MAX)
	{
		if (__atomic_fetch_add(&sessions_open[device], 1, __ATOMIC_SEQ_CST) == 0)
			contexts_owned[device] = !has_context(device);
		s->counted = true;
	}
	if (!device_info(device, true, &s->info, err))
	{
		s->info.id = device;
		s->lost = err->status == GR_DEVICE_LOST;
		return false;
	}
	/* finds out now whether the kernels were built for this device */
	code = gr_gram_plan(&plan, gr_plain_shape(1), GR_PARTIALS_NBYTES);
	if (code != cudaSuccess)
		return session_fail(s, err, code, 0, "loading the kernels");
	return true;
}

static void
cuda_close(GrSession *session)
{
	if (session == NULL)
		return;
	gr_cuda_project_forget(session);
	if (session->counted)
	{
		SignalsBlocked blocked;
		int			device = session->info.id;
		int			left = __atomic_sub_fetch(&sessions_open[device], 1, __ATOMIC_SEQ_CST);

		if (left == 0 && contexts_owned[device] && !session->lost && cudaSetDevice(device) == cudaSuccess)
			(void) cudaDeviceReset();
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
	int			version = 0;

	/* of the driver; 0 where there is none */
	if (cudaDriverGetVersion(&version) != cudaSuccess)
		(void) cudaGetLastError();
	return version > 0;
}

/* Registered pages are the host's: a lack of them is not the device's. */
static bool
cuda_pin(GrSession *session, void *memory, size_t nbytes, GrError *err)
{
	SignalsBlocked blocked;
	cudaError_t code;

	SESSION_CUDA(session, err, cudaSetDevice(session->info.id), "selecting the device");
	code = cudaHostRegister(memory, nbytes, cudaHostRegisterDefault);
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
	(void) cudaSetDevice(session->info.id);
	(void) cudaHostUnregister(memory);
	(void) cudaGetLastError();
}

static bool
slot_open(GrGram *gram, Slot *slot, size_t needed_nbytes, GrError *err)
{
	cudaError_t code = cudaMalloc((void **) &slot->device, gram->block_nbytes);

	if (code != cudaSuccess)
		return session_fail(gram->session, err, code, needed_nbytes, "allocating a row block");
	SESSION_CUDA(gram->session, err, cudaEventCreateWithFlags(&slot->copy_end, cudaEventDisableTiming), "creating an event");
	SESSION_CUDA(gram->session, err, cudaEventCreate(&slot->kernel_begin), "creating an event");
	/* the one that the host waits for: asleep, as the cores are busy reading rows */
	SESSION_CUDA(gram->session, err, cudaEventCreateWithFlags(&slot->kernel_end, cudaEventBlockingSync),
				 "creating an event");
	return true;
}

static size_t
shift_nbytes(const GrGram *gram)
{
	return (size_t) gr_nterms(gram->shape.nfeatures) * sizeof(double);
}

/* Plans the job within the memory there is. needed: what it takes in all. */
static bool
plan_within_limit(GrGram *gram, const GrGramOptions *options, size_t *needed, GrError *err)
{
	size_t		memory_limit = options->memory_limit;
	size_t		blocks_nbytes = GR_NSLOTS * gram->block_nbytes + gr_sends_nbytes(options->shape.single);
	size_t		budget_nbytes = 0;
	size_t		nbytes_free;
	size_t		nbytes_total;

	SESSION_CUDA(gram->session, err, cudaMemGetInfo(&nbytes_free, &nbytes_total), "reading the device's free memory");
	if (memory_limit > 0 && memory_limit < nbytes_free)
		nbytes_free = memory_limit;
	if (nbytes_free > blocks_nbytes)
		budget_nbytes = (nbytes_free - blocks_nbytes) / 2;
	if (budget_nbytes > GR_PARTIALS_NBYTES)
		budget_nbytes = GR_PARTIALS_NBYTES;
	SESSION_CUDA(gram->session, err, gr_gram_plan(&gram->plan, gram->shape, budget_nbytes), "planning the sums");
	*needed = blocks_nbytes + gram->plan.partials_nbytes + shift_nbytes(gram);
	if (memory_limit > 0 && *needed > memory_limit)
	{
		if (err->status == GR_OK)
		{
			err->bytes_needed = *needed;
			err->bytes_free = memory_limit;
		}
		return gr_fail(err, GR_DEVICE_MEMORY, 0, "the job needs %zu bytes of device memory, more than its limit of %zu",
					   *needed, memory_limit);
	}
	return true;
}

/* Fills a job whose memory the caller owns already. The session must outlive it. */
static bool
gram_open(GrGram *gram, const GrGramOptions *options, GrError *err)
{
	GrSession  *session = gram->session;
	size_t		row_nbytes = gr_row_nbytes(gr_wide_shape(options->shape));
	size_t		needed_nbytes = 0;
	cudaError_t code;

	gram->shape = gr_wide_shape(options->shape);
	gram->capacity = (int64_t) (options->block_nbytes / row_nbytes);
	if (gram->capacity < 1)
		gram->capacity = 1;
	gram->block_nbytes = (size_t) gram->capacity * row_nbytes;
	if (gram->block_nbytes < OUTPUT_NBYTES)
		gram->block_nbytes = OUTPUT_NBYTES;
	SESSION_CUDA(session, err, cudaSetDevice(session->info.id), "selecting the device");
	if (!plan_within_limit(gram, options, &needed_nbytes, err) ||
		!gr_sends_open(&gram->sends, session, options->shape, err))
		return false;
	SESSION_CUDA(session, err, cudaStreamCreateWithFlags(&gram->kernel_stream, cudaStreamNonBlocking),
				 "creating a stream");
	code = cudaMalloc((void **) &gram->partials, gram->plan.partials_nbytes + shift_nbytes(gram));
	if (code != cudaSuccess)
		return session_fail(session, err, code, needed_nbytes, "allocating the sums");
	gram->shift = (double *) ((char *) gram->partials + gram->plan.partials_nbytes);
	SESSION_CUDA(session, err,
				 cudaMemsetAsync(gram->partials, 0, gram->plan.partials_nbytes, gram->kernel_stream),
				 "clearing the sums");
	for (Slot &slot : gram->slots)
		if (!slot_open(gram, &slot, needed_nbytes, err))
			return false;
	gram->transfer_nbytes = 2 * sizeof(double) * (size_t) gr_triangle(gr_norder(gram->shape.nfeatures));
	if (gram->transfer_nbytes > gram->block_nbytes)
		gram->transfer_nbytes = gram->block_nbytes / (2 * sizeof(double)) * (2 * sizeof(double));
	code = cudaMallocHost((void **) &gram->transfer, gram->transfer_nbytes);
	if (code == cudaErrorMemoryAllocation)
	{
		(void) cudaGetLastError();
		return gr_fail(err, GR_NO_MEMORY, 0, "%zu bytes of pinned memory", gram->transfer_nbytes);
	}
	SESSION_CUDA(session, err, code, "allocating pinned memory");
	return true;
}

static bool
cuda_gram_begin(GrSession *session, const GrGramOptions *options, GrGram **gram, GrError *err)
{
	SignalsBlocked blocked;

	*gram = NULL;
	if (options->shape.nfeatures < 1 || options->shape.nfeatures > GR_MAX_FEATURES)
		return gr_fail(err, GR_INVALID, 0, "%d features", options->shape.nfeatures);
	*gram = (GrGram *) calloc(1, sizeof(GrGram));
	if (*gram == NULL)
		return gr_fail(err, GR_NO_MEMORY, 0, "a Gram job");
	(*gram)->session = session;
	return gram_open(*gram, options, err);
}

/* No rows are under way: none was sent, or the sums were finished. */
static bool
cuda_gram_restart(GrGram *gram, const double *shift, GrError *err)
{
	GrSession  *session = gram->session;

	SESSION_CUDA(session, err, cudaSetDevice(session->info.id), "selecting the device");
	SESSION_CUDA(session, err,
				 cudaMemsetAsync(gram->partials, 0, gram->plan.partials_nbytes, gram->kernel_stream),
				 "clearing the sums");
	gram->shifted = shift != NULL;
	if (shift == NULL)
		return true;
	SESSION_CUDA(session, err,
				 cudaMemcpyAsync(gram->shift, shift, shift_nbytes(gram), cudaMemcpyHostToDevice, gram->kernel_stream),
				 "copying the shift to the device");
	/* the caller's memory has been read */
	SESSION_CUDA(session, err, cudaStreamSynchronize(gram->kernel_stream), "copying the shift to the device");
	return true;
}

/* Waits until the slot's kernel has ended, and takes its time. */
static bool
slot_wait(GrGram *gram, Slot *slot, GrError *err)
{
	float		kernel_ms;

	if (!slot->busy)
		return true;
	SESSION_CUDA(gram->session, err, cudaEventSynchronize(slot->kernel_end), "summing rows on the device");
	slot->busy = false;
	SESSION_CUDA(gram->session, err, cudaEventElapsedTime(&kernel_ms, slot->kernel_begin, slot->kernel_end),
				 "reading an event");
	gram->kernel_s += kernel_ms * 1e-3;
	return true;
}

/* Sums the rows in the slot up, and goes on to the next one. */
static bool
sum_slot(GrGram *gram, GrError *err)
{
	GrSession  *session = gram->session;
	Slot	   *slot = &gram->slots[gram->filling];

	SESSION_CUDA(session, err, cudaEventRecord(slot->copy_end, gram->sends.stream), "recording an event");
	SESSION_CUDA(session, err, cudaStreamWaitEvent(gram->kernel_stream, slot->copy_end, 0), "ordering two streams");
	SESSION_CUDA(session, err, cudaEventRecord(slot->kernel_begin, gram->kernel_stream), "recording an event");
	SESSION_CUDA(session, err,
				 gr_gram_launch(&gram->plan, gram->partials, slot->device, gram->nfilled, gram->kernel_stream,
								gram->shifted ? gram->shift : NULL),
				 "launching the sums");
	SESSION_CUDA(session, err, cudaEventRecord(slot->kernel_end, gram->kernel_stream), "recording an event");
	slot->busy = true;
	gram->filling = (gram->filling + 1) % GR_NSLOTS;
	gram->nfilled = 0;
	return true;
}

static bool
cuda_gram_send(GrGram *gram, const void *rows, int64_t nrows, GrError *err)
{
	const size_t sent_nbytes = gr_row_nbytes(gram->sends.shape);

	SESSION_CUDA(gram->session, err, cudaSetDevice(gram->session->info.id), "selecting the device");
	if (!gr_sends_begin(&gram->sends, err))
		return false;
	for (int64_t done = 0; done < nrows;)
	{
		Slot	   *slot = &gram->slots[gram->filling];
		int64_t		n = gram->capacity - gram->nfilled < nrows - done ? gram->capacity - gram->nfilled : nrows - done;

		if (!slot_wait(gram, slot, err) ||
			!gr_sends_copy(&gram->sends, slot->device + gram->nfilled * gr_row_ncols(gram->shape),
						   (const char *) rows + (size_t) done * sent_nbytes, n, err))
			return false;
		gram->nfilled += n;
		done += n;
		if (gram->nfilled == gram->capacity && !sum_slot(gram, err))
			return false;
	}
	return gr_sends_end(&gram->sends, err);
}

static bool
cuda_gram_sent(GrGram *gram, bool wait, int64_t *ncalls, GrError *err)
{
	SESSION_CUDA(gram->session, err, cudaSetDevice(gram->session->info.id), "selecting the device");
	return gr_sends_done(&gram->sends, wait, ncalls, err);
}

/* One segment of the result: reduced into the first slot's memory, brought back through pinned memory. */
static bool
finish_segment(GrGram *gram, int64_t first, int64_t nentries, double *hi, double *lo, GrError *err)
{
	GrSession  *session = gram->session;
	Slot	   *slot = &gram->slots[0];
	size_t		nbytes = (size_t) nentries * sizeof(double);
	float		kernel_ms;

	SESSION_CUDA(session, err, cudaEventRecord(slot->kernel_begin, gram->kernel_stream), "recording an event");
	SESSION_CUDA(session, err,
				 gr_gram_reduce_launch(&gram->plan, gram->partials, first, nentries, slot->device,
									   slot->device + nentries, gram->kernel_stream),
				 "launching the final sums");
	SESSION_CUDA(session, err, cudaEventRecord(slot->kernel_end, gram->kernel_stream), "recording an event");
	SESSION_CUDA(session, err,
				 cudaMemcpyAsync(gram->transfer, slot->device, 2 * nbytes, cudaMemcpyDeviceToHost, gram->kernel_stream),
				 "copying the sums from the device");
	SESSION_CUDA(session, err, cudaStreamSynchronize(gram->kernel_stream), "summing rows on the device");
	SESSION_CUDA(session, err, cudaEventElapsedTime(&kernel_ms, slot->kernel_begin, slot->kernel_end),
				 "reading an event");
	gram->kernel_s += kernel_ms * 1e-3;
	memcpy(hi + first, gram->transfer, nbytes);
	memcpy(lo + first, gram->transfer + nentries, nbytes);
	return true;
}

static bool
cuda_gram_finish(GrGram *gram, double *hi, double *lo, GrGramTimes *times, GrError *err)
{
	const int64_t nentries = gr_triangle(gr_norder(gram->shape.nfeatures));
	const int64_t segment = (int64_t) (gram->transfer_nbytes / (2 * sizeof(double)));

	SESSION_CUDA(gram->session, err, cudaSetDevice(gram->session->info.id), "selecting the device");
	if (gram->nfilled > 0 && !sum_slot(gram, err))
		return false;
	if (!gr_sends_wait(&gram->sends, err))
		return false;
	for (Slot &slot : gram->slots)
		if (!slot_wait(gram, &slot, err))
			return false;
	for (int64_t first = 0; first < nentries; first += segment)
		if (!finish_segment(gram, first, nentries - first < segment ? nentries - first : segment, hi, lo, err))
			return false;
	if (times != NULL)
	{
		times->bytes_to_device = gram->sends.nbytes;
		times->copy_s = gram->sends.copy_s;
		times->kernel_s = gram->kernel_s;
	}
	return true;
}

/* Nothing here can fail in a way that matters: a lost device takes its memory along. */
static void
cuda_gram_end(GrGram *gram)
{
	if (gram == NULL)
		return;
	(void) cudaSetDevice(gram->session->info.id);
	gr_sends_close(&gram->sends);
	if (gram->kernel_stream != NULL)
		(void) cudaStreamSynchronize(gram->kernel_stream);
	for (Slot &slot : gram->slots)
	{
		cudaEvent_t events[] = {slot.copy_end, slot.kernel_begin, slot.kernel_end};

		for (cudaEvent_t event : events)
			if (event != NULL)
				(void) cudaEventDestroy(event);
		(void) cudaFree(slot.device);
	}
	(void) cudaFree(gram->partials);
	(void) cudaFreeHost(gram->transfer);
	if (gram->kernel_stream != NULL)
		(void) cudaStreamDestroy(gram->kernel_stream);
	(void) cudaGetLastError();
	free(gram);
}

extern "C" const GrBackend gr_backend_cuda = {
	"gpu",
	cuda_list,
	cuda_open,
	cuda_close,
	cuda_describe,
	cuda_present,
	cuda_pin,
	cuda_unpin,
	cuda_gram_begin,
	cuda_gram_restart,
	cuda_gram_send,
	cuda_gram_sent,
	cuda_gram_finish,
	cuda_gram_end,
	gr_cuda_rows_begin,
	gr_cuda_rows_send,
	gr_cuda_rows_sent,
	gr_cuda_rows_pass,
	gr_cuda_rows_change,
	gr_cuda_rows_can_ascend,
	gr_cuda_rows_ascend,
	gr_cuda_rows_times,
	gr_cuda_rows_end,
	gr_cuda_project_begin,
	gr_cuda_project_block,
	gr_cuda_project_submit,
	gr_cuda_project_take,
	gr_cuda_project_times,
	gr_cuda_project_end,
	gr_cuda_factor_begin,
	gr_cuda_factor_inverse,
	gr_cuda_factor_end,
};
