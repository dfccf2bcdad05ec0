/*
 * sends.cu: rows on their way from the host's memory to the device.
 *
 * A send is noted by a pair of events, whose time is the copies'. Single rows are copied as they are, half the bytes
 * over the bus, and made float8 on the device by a kernel on the same stream, so that their memory is free again when
 * the next ones come.
 */
#include "sends.cuh"

#define WIDEN_THREADS 256
#define WIDEN_BLOCKS_MAX 1024

/*
 * wide[r][j] = narrow[r][j], where column j is a float4; those behind the features are float8 in two words. A thread
 * takes entries, one after another.
 */
static __global__ void
widen_kernel(const float *narrow, double *wide, GrRowShape shape, int64_t nentries)
{
	const int	ncols = gr_row_ncols(shape);
	const int	nwords = 2 * ncols - shape.nfeatures;

	const int64_t first = (int64_t) blockIdx.x * blockDim.x + threadIdx.x;

	for (int64_t k = first; k < nentries; k += (int64_t) gridDim.x * blockDim.x)
	{
		int64_t		r = k / ncols;
		int			j = (int) (k - r * ncols);
		const float *from = narrow + r * nwords;

		if (j < shape.nfeatures)
			wide[k] = (double) from[j];
		else
		{
			from += 2 * j - shape.nfeatures;
			wide[k] = __hiloint2double(__float_as_int(from[1]), __float_as_int(from[0]));
		}
	}
}

/* The stream, and what single rows want: device memory. */
static bool
open_sends(Sends *sends, GrSession *session, GrRowShape shape, bool urgent, GrError *err)
{
	const int	device = session->info.id;
	cudaError_t code;

	sends->session = session;
	sends->shape = shape;
	sends->urgent = urgent;
	SESSION_CUDA(session, err, gr_stream_get(device, urgent, &sends->stream), "creating a stream");
	for (int k = 0; k < GR_SENDS; k++)
	{
		SESSION_CUDA(session, err, gr_event_get(device, cudaEventDefault, &sends->begin[k]), "creating an event");
		/* the one that the host waits for: asleep, as the cores are busy reading rows */
		SESSION_CUDA(session, err, gr_event_get(device, cudaEventBlockingSync, &sends->end[k]), "creating an event");
	}
	if (!shape.single)
		return true;
	code = gr_memory_get(device, (void **) &sends->narrow, GR_SINGLE_NBYTES);
	if (code != cudaSuccess)
		return session_fail(session, err, code, GR_SINGLE_NBYTES, "allocating room for single rows");
	return true;
}

bool
gr_sink_connect(GrSink *sink, GrRowShape sent, GrError *err)
{
	if (!open_sends(&sink->sends, sink->session, sent, sink->urgent, err))
		return false;
	SESSION_CUDA(sink->session, err, gr_stream_get(sink->session->info.id, sink->urgent, &sink->kernel_stream),
				 "creating a stream");
	return true;
}

/* Takes the oldest send's time; its events have happened. */
static bool
take_time(Sends *sends, GrError *err)
{
	int			k = (int) (sends->ndone % GR_SENDS);
	float		ms;

	SESSION_CUDA(sends->session, err, cudaEventElapsedTime(&ms, sends->begin[k], sends->end[k]), "reading an event");
	sends->copy_s += ms * 1e-3;
	sends->ndone++;
	return true;
}

static bool
wait_for_oldest(Sends *sends, GrError *err)
{
	SESSION_CUDA(sends->session, err, cudaEventSynchronize(sends->end[sends->ndone % GR_SENDS]),
				 "copying rows to the device");
	return take_time(sends, err);
}

bool
gr_sends_begin(Sends *sends, GrError *err)
{
	if (sends->nbegun - sends->ndone == GR_SENDS && !wait_for_oldest(sends, err))
		return false;
	SESSION_CUDA(sends->session, err, cudaEventRecord(sends->begin[sends->nbegun % GR_SENDS], sends->stream),
				 "recording an event");
	return true;
}

bool
gr_sends_copy(Sends *sends, double *device, const void *rows, int64_t nrows, GrError *err)
{
	const size_t row_nbytes = gr_row_nbytes(sends->shape);
	const int	ncols = gr_row_ncols(sends->shape);
	int64_t		most = sends->shape.single ? (int64_t) (GR_SINGLE_NBYTES / row_nbytes) : nrows;

	for (int64_t done = 0; done < nrows; done += most)
	{
		int64_t		n = nrows - done < most ? nrows - done : most;
		void	   *into = sends->shape.single ? (void *) sends->narrow : (void *) (device + done * ncols);
		int64_t		nblocks = (n * ncols + WIDEN_THREADS - 1) / WIDEN_THREADS;

		SESSION_CUDA(sends->session, err,
					 cudaMemcpyAsync(into, (const char *) rows + (size_t) done * row_nbytes, (size_t) n * row_nbytes,
									 cudaMemcpyHostToDevice, sends->stream),
					 "copying rows to the device");
		sends->nbytes += (int64_t) ((size_t) n * row_nbytes);
		if (!sends->shape.single)
			continue;
		nblocks = nblocks < WIDEN_BLOCKS_MAX ? nblocks : WIDEN_BLOCKS_MAX;
		widen_kernel<<<(unsigned) nblocks, WIDEN_THREADS, 0, sends->stream>>>
			(sends->narrow, device + done * ncols, sends->shape, n * ncols);
		SESSION_CUDA(sends->session, err, cudaGetLastError(), "making rows float8");
	}
	return true;
}

bool
gr_sends_end(Sends *sends, GrError *err)
{
	SESSION_CUDA(sends->session, err, cudaEventRecord(sends->end[sends->nbegun % GR_SENDS], sends->stream),
				 "recording an event");
	sends->nbegun++;
	return true;
}

bool
gr_sends_done(Sends *sends, bool wait, int64_t *ncalls, GrError *err)
{
	if (wait && sends->ndone < sends->nbegun && !wait_for_oldest(sends, err))
		return false;
	while (sends->ndone < sends->nbegun)
	{
		cudaError_t code = cudaEventQuery(sends->end[sends->ndone % GR_SENDS]);

		if (code == cudaErrorNotReady)
		{
			(void) cudaGetLastError();
			break;
		}
		SESSION_CUDA(sends->session, err, code, "copying rows to the device");
		if (!take_time(sends, err))
			return false;
	}
	*ncalls = sends->ndone;
	return true;
}

bool
gr_sends_wait(Sends *sends, GrError *err)
{
	while (sends->ndone < sends->nbegun)
		if (!wait_for_oldest(sends, err))
			return false;
	return true;
}

void
gr_sends_close(Sends *sends)
{
	int			device;

	if (sends->session == NULL)
		return;					/* not opened */
	device = sends->session->info.id;
	if (sends->stream != NULL)
		(void) cudaStreamSynchronize(sends->stream);
	gr_stream_give(device, sends->urgent, sends->stream);
	for (int k = 0; k < GR_SENDS; k++)
	{
		gr_event_give(device, cudaEventDefault, sends->begin[k]);
		gr_event_give(device, cudaEventBlockingSync, sends->end[k]);
	}
	gr_memory_give(device, sends->narrow);
}
