/*
 * gram_cuda.cu: a sink that sums rows into a Gram matrix as they arrive.
 *
 * There are GR_NSLOTS row blocks (slots) on the device. Rows are copied to the slot that is being filled, on the sends'
 * stream. When it is full, the kernel is launched on another stream, where it waits for the copies' event. The copy to
 * one slot thus overlaps the kernel over the slot before:
 *
 *    sends' stream     copy 0 | copy 1   | copy 2   | copy 0 ..
 *    kernels' stream          | kernel 0 | kernel 1 | kernel 2 ..
 *
 * A slot is free again when its kernel has ended. The kernels, all on one stream, add to the same partials one after
 * another.
 */
#include "sends.cuh"

#include <string.h>

#define OUTPUT_NBYTES 65536		/* least memory of a slot, as it also holds the result */

static bool
slot_open(GramSink *gram, Slot *slot, size_t needed_nbytes, GrError *err)
{
	const int	device = gram->session->info.id;
	cudaError_t code = gr_memory_get(device, (void **) &slot->device, gram->block_nbytes);

	if (code != cudaSuccess)
		return session_fail(gram->session, err, code, needed_nbytes, "allocating a row block");
	SESSION_CUDA(gram->session, err, gr_event_get(device, cudaEventDisableTiming, &slot->copy_end),
				 "creating an event");
	SESSION_CUDA(gram->session, err, gr_event_get(device, cudaEventDefault, &slot->kernel_begin),
				 "creating an event");
	/* blocking, so that the host sleeps while it waits: the cores are busy reading rows */
	SESSION_CUDA(gram->session, err, gr_event_get(device, cudaEventBlockingSync, &slot->kernel_end),
				 "creating an event");
	return true;
}

static size_t
shift_nbytes(const GramSink *gram)
{
	return (size_t) gr_nterms(gram->shape.nfeatures) * sizeof(double);
}

/* Plans the job within the memory available. *needed: memory of the whole job. */
static bool
plan_within_limit(GramSink *gram, const GrSinkOptions *options, size_t *needed, GrError *err)
{
	size_t		memory_limit = options->memory_limit;
	size_t		blocks_nbytes = GR_NSLOTS * gram->block_nbytes + gr_sends_nbytes(options->shape.single);
	size_t		budget_nbytes = 0;
	size_t		nbytes_free;
	size_t		nbytes_total;

	SESSION_CUDA(gram->session, err, gr_memory_info(gram->session->info.id, &nbytes_free, &nbytes_total),
				 "reading the device's free memory");
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

bool
gr_cuda_gram_open(GramSink *gram, const GrSinkOptions *options, GrError *err)
{
	GrSession  *session = gram->session;
	size_t		row_nbytes = gr_row_nbytes(gram->shape);
	size_t		needed_nbytes = 0;
	cudaError_t code;

	/* weights must not change the number of rows, for the order of sums */
	gram->capacity = (int64_t) (options->block_nbytes / gr_row_nbytes(gr_plain_shape(gram->shape.nfeatures)));
	if (gram->capacity < 1)
		gram->capacity = 1;
	gram->block_nbytes = (size_t) gram->capacity * row_nbytes;
	if (gram->block_nbytes < OUTPUT_NBYTES)
		gram->block_nbytes = OUTPUT_NBYTES;
	if (!plan_within_limit(gram, options, &needed_nbytes, err) || !gr_sink_connect(gram, options->shape, err))
		return false;
	code = gr_memory_get(session->info.id, (void **) &gram->partials,
						 gram->plan.partials_nbytes + shift_nbytes(gram));
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
	code = gr_pinned_get(session->info.id, (void **) &gram->transfer, gram->transfer_nbytes);
	if (code == cudaErrorMemoryAllocation)
	{
		(void) cudaGetLastError();
		return gr_fail(err, GR_NO_MEMORY, 0, "%zu bytes of pinned memory", gram->transfer_nbytes);
	}
	SESSION_CUDA(session, err, code, "allocating pinned memory");
	return true;
}

bool
gr_cuda_gram_restart(GrSink *sink, const double *shift, GrError *err)
{
	GramSink   *gram = static_cast<GramSink *>(sink);
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
	/* the caller may then reuse its memory */
	SESSION_CUDA(session, err, cudaStreamSynchronize(gram->kernel_stream), "copying the shift to the device");
	return true;
}

/* Waits until the slot's kernel has ended, and adds its time. */
static bool
slot_wait(GramSink *gram, Slot *slot, GrError *err)
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

/* Launches the sums of the present slot's rows, and goes on to the next slot. */
static bool
sum_slot(GramSink *gram, GrError *err)
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

bool
gr_cuda_gram_add(GramSink *gram, const void *rows, int64_t nrows, GrError *err)
{
	const size_t sent_nbytes = gr_row_nbytes(gram->sends.shape);

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
	return true;
}

/* Fetches one segment of the result: reduces it into the first slot's memory, and copies it through pinned memory. */
static bool
finish_segment(GramSink *gram, int64_t first, int64_t nentries, GrDDVector triangle, GrError *err)
{
	GrSession  *session = gram->session;
	Slot	   *slot = &gram->slots[0];
	size_t		nbytes = (size_t) nentries * sizeof(double);
	const GrDDVector reduced = {slot->device, slot->device + nentries};
	float		kernel_ms;

	SESSION_CUDA(session, err, cudaEventRecord(slot->kernel_begin, gram->kernel_stream), "recording an event");
	SESSION_CUDA(session, err,
				 gr_gram_reduce_launch(&gram->plan, gram->partials, first, nentries, reduced, gram->kernel_stream),
				 "launching the final sums");
	SESSION_CUDA(session, err, cudaEventRecord(slot->kernel_end, gram->kernel_stream), "recording an event");
	SESSION_CUDA(session, err,
				 cudaMemcpyAsync(gram->transfer, slot->device, 2 * nbytes, cudaMemcpyDeviceToHost, gram->kernel_stream),
				 "copying the sums from the device");
	SESSION_CUDA(session, err, cudaStreamSynchronize(gram->kernel_stream), "summing rows on the device");
	SESSION_CUDA(session, err, cudaEventElapsedTime(&kernel_ms, slot->kernel_begin, slot->kernel_end),
				 "reading an event");
	gram->kernel_s += kernel_ms * 1e-3;
	memcpy(triangle.hi + first, gram->transfer, nbytes);
	memcpy(triangle.lo + first, gram->transfer + nentries, nbytes);
	return true;
}

bool
gr_cuda_gram_finish(GrSink *sink, GrDDVector triangle, GrError *err)
{
	GramSink   *gram = static_cast<GramSink *>(sink);
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
		if (!finish_segment(gram, first, nentries - first < segment ? nentries - first : segment, triangle, err))
			return false;
	return true;
}

void
gr_cuda_gram_free(GramSink *gram)
{
	const int	device = gram->session->info.id;

	for (Slot &slot : gram->slots)
	{
		gr_event_give(device, cudaEventDisableTiming, slot.copy_end);
		gr_event_give(device, cudaEventDefault, slot.kernel_begin);
		gr_event_give(device, cudaEventBlockingSync, slot.kernel_end);
		gr_memory_give(device, slot.device);
	}
	gr_memory_give(device, gram->partials);
	gr_pinned_give(device, gram->transfer);
}
