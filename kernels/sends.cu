/*
 * sends.cu: copies rows from host memory to the device; see sends.cuh.
 *
 * A ring's blocks are small, and an event, a query of one or a reading of its time takes the driver as long as the call
 * that copies a block. Sends in quick succession therefore form a group, with one event after all of them that tells
 * that they are read:
 *
 *    begin | send 0 | end    send 1    send 2    send 3 | read
 *
 * The first send of a group is timed, and the others are assumed to be as fast. A group is closed when it is large,
 * when no send has followed for a while, or when somebody waits.
 *
 * Single rows are copied as they are, with half the bytes over the bus, and widened to float8 by a kernel on the same
 * stream, so that their memory is free again when the next rows arrive.
 */
#include "sends.cuh"

#include <time.h>

#define TOGETHER_SENDS 4		/* most sends of a group; a ring has 64 blocks or more */
#define TOGETHER_NBYTES ((int64_t) 2 << 20)
#define IDLE_NS 20000			/* a group closes after this time without a send */
#define WIDEN_THREADS 256
#define WIDEN_BLOCKS_MAX 1024

/*
 * wide[r][j] = narrow[r][j], where column j is float4; numbers after the features are float8 in two words. A thread
 * takes entries one after another.
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

/* Opens the stream and events and, for single rows, allocates device memory. */
static bool
open_sends(Sends *sends, GrSession *session, GrRowShape shape, bool urgent, GrError *err)
{
	const int	device = session->info.id;
	cudaError_t code;

	sends->session = session;
	sends->shape = shape;
	sends->urgent = urgent;
	SESSION_CUDA(session, err, gr_stream_get(device, urgent, &sends->stream), "creating a stream");
	for (SendGroup &group : sends->groups)
	{
		SESSION_CUDA(session, err, gr_event_get(device, cudaEventDefault, &group.begin), "creating an event");
		/* blocking, so that the host sleeps while it waits: the cores are busy reading rows */
		SESSION_CUDA(session, err, gr_event_get(device, cudaEventBlockingSync, &group.end), "creating an event");
		SESSION_CUDA(session, err, gr_event_get(device, cudaEventBlockingSync, &group.read), "creating an event");
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

static int64_t
now_ns(void)
{
	struct timespec now;

	(void) clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t) now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Returns the group that sends are added to. */
static SendGroup *
open_group(Sends *sends)
{
	return &sends->groups[sends->ngroups % GR_SENDS];
}

static SendGroup *
oldest_group(Sends *sends)
{
	return &sends->groups[sends->ngroups_read % GR_SENDS];
}

/* Returns the group's last event. */
static cudaEvent_t
read_event(const SendGroup *group)
{
	return group->several ? group->read : group->end;
}

/* Closes the open group, if it has sends. */
static bool
close_group(Sends *sends, GrError *err)
{
	SendGroup  *group = open_group(sends);

	if (sends->nsends == sends->ngrouped)
		return true;
	group->several = sends->nsends > sends->ngrouped + 1;
	group->nbytes = sends->nbytes - group->before_nbytes;
	if (group->several)
		SESSION_CUDA(sends->session, err, cudaEventRecord(group->read, sends->stream), "recording an event");
	group->nsends = sends->ngrouped = sends->nsends;
	sends->ngroups++;
	return true;
}

/* Takes the oldest group's time. Its events must have happened. */
static bool
take_time(Sends *sends, GrError *err)
{
	SendGroup  *group = oldest_group(sends);
	float		ms;

	SESSION_CUDA(sends->session, err, cudaEventElapsedTime(&ms, group->begin, group->end), "reading an event");
	sends->copy_s += ms * 1e-3 * (group->first_nbytes > 0 ? (double) group->nbytes / (double) group->first_nbytes : 1);
	sends->nread = group->nsends;
	sends->ngroups_read++;
	return true;
}

static bool
wait_for_oldest(Sends *sends, GrError *err)
{
	SESSION_CUDA(sends->session, err, cudaEventSynchronize(read_event(oldest_group(sends))),
				 "copying rows to the device");
	return take_time(sends, err);
}

bool
gr_sends_begin(Sends *sends, GrError *err)
{
	if (sends->nsends > sends->ngrouped)
		return true;
	if (sends->ngroups - sends->ngroups_read == GR_SENDS && !wait_for_oldest(sends, err))
		return false;
	open_group(sends)->before_nbytes = sends->nbytes;
	SESSION_CUDA(sends->session, err, cudaEventRecord(open_group(sends)->begin, sends->stream), "recording an event");
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
	SendGroup  *group = open_group(sends);
	int64_t		nbytes = sends->nbytes - group->before_nbytes;

	if (sends->nsends == sends->ngrouped)
	{
		group->first_nbytes = nbytes;
		SESSION_CUDA(sends->session, err, cudaEventRecord(group->end, sends->stream), "recording an event");
	}
	sends->nsends++;
	sends->last_ns = now_ns();
	return (nbytes < TOGETHER_NBYTES && sends->nsends - sends->ngrouped < TOGETHER_SENDS) || close_group(sends, err);
}

bool
gr_sends_done(Sends *sends, bool wait, int64_t *ncalls, GrError *err)
{
	if (sends->nsends > sends->ngrouped && (wait || now_ns() - sends->last_ns >= IDLE_NS) && !close_group(sends, err))
		return false;
	if (wait && sends->ngroups_read < sends->ngroups && !wait_for_oldest(sends, err))
		return false;
	while (sends->ngroups_read < sends->ngroups)
	{
		cudaError_t code = cudaEventQuery(read_event(oldest_group(sends)));

		if (code == cudaErrorNotReady)
		{
			(void) cudaGetLastError();
			break;
		}
		SESSION_CUDA(sends->session, err, code, "copying rows to the device");
		if (!take_time(sends, err))
			return false;
	}
	*ncalls = sends->nread;
	return true;
}

bool
gr_sends_wait(Sends *sends, GrError *err)
{
	if (!close_group(sends, err))
		return false;
	while (sends->ngroups_read < sends->ngroups)
		if (!wait_for_oldest(sends, err))
			return false;
	return true;
}

void
gr_sends_close(Sends *sends)
{
	int			device;

	if (sends->session == NULL)
		return;					/* the sends were never opened */
	device = sends->session->info.id;
	if (sends->stream != NULL)
		(void) cudaStreamSynchronize(sends->stream);
	gr_stream_give(device, sends->urgent, sends->stream);
	for (SendGroup &group : sends->groups)
	{
		gr_event_give(device, cudaEventDefault, group.begin);
		gr_event_give(device, cudaEventBlockingSync, group.end);
		gr_event_give(device, cudaEventBlockingSync, group.read);
	}
	gr_memory_give(device, sends->narrow);
}
