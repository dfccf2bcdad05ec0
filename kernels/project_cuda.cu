/*
 * project_cuda.cu: the projector's table: how batches of vectors flow through the device.
 *
 * A job has GR_PROJECT_NSLOTS batches under way. submit copies the vectors on one stream, launches the kernels on a
 * second, where they wait for the vectors, and copies the results back on a third, where they wait for the kernels. The
 * copies of one batch thus overlap the kernels of another:
 *
 *    copy_stream      vectors 0 | vectors 1 | ..
 *    kernel_stream              | kernels 0 | kernels 1 | ..
 *    result_stream                          | results 0 | results 1 | ..
 *
 * take waits for the third stream.
 *
 * Single vectors come one per job, in very many jobs, so the session keeps a job's buffers, streams and events for the
 * next job if they are small. Such a job allocates no device memory and no pinned memory.
 */
#include "project_cuda.cuh"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define KEPT_NBYTES_MAX ((size_t) 64 << 20)	/* most memory of kept buffers, on the host and on the device */
#define POLL_S 0.04				/* work between two polls of the host, as the plan estimates it */
#define SPIN_S 5e-5				/* spin this long: for a single vector, sleeping costs more than its kernel */

struct GrProject
{
	GrSession  *session;
	ProjectBuffers *buffers;
	ProjectKept *s;
	ProjectPlan plan;
	int64_t		dim;
	int32_t		k;
	int64_t		capacity;		/* vectors per batch */
	bool		keeps;			/* keep the buffers for the next job */
	int			next;			/* slot to hand out next */
	bool		handed_out;		/* the caller has that slot */
	int			nsubmitted;		/* slots submitted and not taken: those before next */
	double		pending_s;		/* estimated work since the host was last asked */
	GrTimes		times;
};

const ProjectKept *
gr_cuda_project_kept(const GrProject *project)
{
	return project->s;
}

/* Gives the memory back, but keeps the streams, which are idle, and the events. */
static void
free_memory(int device, ProjectBuffers *buffers)
{
	for (ProjectSlot &slot : buffers->slots)
	{
		gr_pinned_give(device, slot.vectors);
		gr_pinned_give(device, slot.projected);
		gr_memory_give(device, slot.device_vectors);
		gr_memory_give(device, slot.device_projected);
		slot.vectors = slot.projected = slot.device_vectors = slot.device_projected = NULL;
	}
	gr_memory_give(device, buffers->tiles);
	gr_memory_give(device, buffers->sums);
	buffers->tiles = NULL;
	buffers->sums = NULL;
	memset(&buffers->sizes, 0, sizeof(buffers->sizes));
}

static void
buffers_free(int device, ProjectBuffers *buffers)
{
	if (buffers == NULL)
		return;
	free_memory(device, buffers);
	for (ProjectSlot &slot : buffers->slots)
	{
		for (cudaEvent_t event : {slot.copy_begin, slot.copy_end, slot.kernel_begin, slot.kernel_end,
								  slot.result_begin})
			gr_event_give(device, cudaEventDefault, event);
		gr_event_give(device, cudaEventBlockingSync, slot.result_end);
	}
	for (cudaStream_t stream : {buffers->copy_stream, buffers->kernel_stream, buffers->result_stream})
		gr_stream_give(device, false, stream);
	(void) cudaGetLastError();
	free(buffers);
}

/* Takes the session's buffers, if there are any, and creates missing streams and events. */
static bool
open_buffers(GrProject *project, GrError *err)
{
	SignalsBlocked blocked;
	GrSession  *session = project->session;
	const int	device = session->info.id;
	ProjectBuffers *buffers;

	project->buffers = session->projects->buffers;
	session->projects->buffers = NULL;
	if (project->buffers == NULL)
		project->buffers = (ProjectBuffers *) calloc(1, sizeof(ProjectBuffers));
	buffers = project->buffers;
	if (buffers == NULL)
		return gr_fail(err, GR_NO_MEMORY, 0, "a projection's buffers");
	for (cudaStream_t *stream : {&buffers->copy_stream, &buffers->kernel_stream, &buffers->result_stream})
		if (*stream == NULL)
			SESSION_CUDA(session, err, gr_stream_get(device, false, stream), "creating a stream");
	for (ProjectSlot &slot : buffers->slots)
	{
		cudaEvent_t *timed[] = {&slot.copy_begin, &slot.copy_end, &slot.kernel_begin, &slot.kernel_end,
								&slot.result_begin};

		for (cudaEvent_t *event : timed)
			if (*event == NULL)
				SESSION_CUDA(session, err, gr_event_get(device, cudaEventDefault, event), "creating an event");
		/* blocking, so that the host sleeps while it waits: the cores are busy reading rows */
		if (slot.result_end == NULL)
			SESSION_CUDA(session, err, gr_event_get(device, cudaEventBlockingSync, &slot.result_end),
						 "creating an event");
	}
	return true;
}

static size_t
device_nbytes(const ProjectSizes *sizes)
{
	return GR_PROJECT_NSLOTS * (sizes->vectors_nbytes + sizes->projected_nbytes) + sizes->tiles_nbytes +
		sizes->sums_nbytes;
}

/* Returns the sizes that the plan needs. */
static ProjectSizes
sizes_wanted(const GrProject *project)
{
	ProjectSizes sizes;

	sizes.vectors_nbytes = sizeof(float) * (size_t) project->capacity * (size_t) project->dim;
	sizes.projected_nbytes = sizeof(float) * (size_t) project->capacity * (size_t) project->k;
	sizes.tiles_nbytes = project->plan.tiles_nbytes;
	sizes.sums_nbytes = project->plan.sums_nbytes;
	return sizes;
}

static bool
sizes_suffice(const ProjectSizes *have, const ProjectSizes *want)
{
	return have->vectors_nbytes >= want->vectors_nbytes && have->projected_nbytes >= want->projected_nbytes &&
		have->tiles_nbytes >= want->tiles_nbytes && have->sums_nbytes >= want->sums_nbytes;
}

/* Allocates a slot's memory. A lack of pinned memory is a lack of host memory, not of device memory. */
static bool
allocate_slot(GrProject *project, ProjectSlot *slot, const ProjectSizes *want, GrError *err)
{
	GrSession  *session = project->session;
	const int	device = session->info.id;
	cudaError_t code = gr_pinned_get(device, (void **) &slot->vectors, want->vectors_nbytes);

	if (code == cudaSuccess)
		code = gr_pinned_get(device, (void **) &slot->projected, want->projected_nbytes);
	if (code == cudaErrorMemoryAllocation)
	{
		(void) cudaGetLastError();
		return gr_fail(err, GR_NO_MEMORY, 0, "%zu bytes of pinned memory",
					   want->vectors_nbytes + want->projected_nbytes);
	}
	SESSION_CUDA(session, err, code, "allocating pinned memory");
	code = gr_memory_get(device, (void **) &slot->device_vectors, want->vectors_nbytes);
	if (code == cudaSuccess)
		code = gr_memory_get(device, (void **) &slot->device_projected, want->projected_nbytes);
	if (code != cudaSuccess)
		return session_fail(session, err, code, device_nbytes(want), "allocating vectors");
	return true;
}

/* Allocates the batches' memory, unless the buffers already suffice. */
static bool
allocate_memory(GrProject *project, size_t memory_limit, GrError *err)
{
	SignalsBlocked blocked;
	GrSession  *session = project->session;
	ProjectBuffers *buffers = project->buffers;
	const ProjectSizes want = sizes_wanted(project);
	cudaError_t code;

	if (sizes_suffice(&buffers->sizes, &want))
		return true;
	free_memory(session->info.id, buffers);
	if (!gr_project_make_room(session, device_nbytes(&want), project->s->nbytes + device_nbytes(&want), memory_limit,
							  err))
		return false;
	for (ProjectSlot &slot : buffers->slots)
		if (!allocate_slot(project, &slot, &want, err))
			return false;
	code = gr_memory_get(session->info.id, (void **) &buffers->tiles, want.tiles_nbytes);
	if (code == cudaSuccess)
		code = gr_memory_get(session->info.id, (void **) &buffers->sums, want.sums_nbytes);
	if (code != cudaSuccess)
		return session_fail(session, err, code, device_nbytes(&want), "allocating vectors");
	buffers->sizes = want;
	return true;
}

/* Gets S, and adds the time of drawing it. */
static bool
acquire_matrix(GrProject *project, const GrProjectOptions *options, const GrHost *host, GrError *err)
{
	GrSession  *session = project->session;
	ProjectBuffers *buffers = project->buffers;
	ProjectSlot *slot = &buffers->slots[0];
	const ProjectSizes want = sizes_wanted(project);
	ProjectRequest request = {};
	bool		drawn;
	float		draw_ms;

	request.session = session;
	request.draw = options->draw;
	request.dim = project->dim;
	request.program = project->plan.fused;
	request.other_nbytes = device_nbytes(&want);
	/* buffers of an earlier job that are too small are freed before others are allocated */
	if (!sizes_suffice(&buffers->sizes, &want))
		free_memory(session->info.id, buffers);
	else
		request.taken_nbytes = request.other_nbytes;
	request.memory_limit = options->memory_limit;
	request.cache_nbytes = options->cache_nbytes;
	request.stream = buffers->kernel_stream;
	request.host = host;
	SESSION_CUDA(session, err, cudaEventRecord(slot->kernel_begin, buffers->kernel_stream), "recording an event");
	if (!gr_project_acquire(&request, &project->s, &drawn, err))
		return false;
	if (!drawn)
		return true;
	SESSION_CUDA(session, err, cudaEventRecord(slot->kernel_end, buffers->kernel_stream), "recording an event");
	SESSION_CUDA(session, err, cudaEventSynchronize(slot->kernel_end), "drawing the projection's matrix");
	SESSION_CUDA(session, err, cudaEventElapsedTime(&draw_ms, slot->kernel_begin, slot->kernel_end),
				 "reading an event");
	project->times.kernel_s += draw_ms * 1e-3;
	return true;
}

/*
 * Plans project, whose session, dim, k and keeps are set, and gets its matrix and memory. On failure the caller still
 * has to end project.
 */
static bool
project_open(GrProject *project, const GrProjectOptions *options, const GrHost *host, GrError *err)
{
	GrSession  *session = project->session;
	const int64_t longest = options->dim > project->k ? options->dim : project->k;
	const double nnonzeros = (double) project->k * (double) options->dim * options->draw->density;

	project->capacity = (int64_t) (options->block_nbytes / (sizeof(float) * (size_t) longest));
	if (options->nvectors > 0 && project->capacity > options->nvectors)
		project->capacity = options->nvectors;
	if (project->capacity < 1)
		project->capacity = 1;
	SESSION_CUDA(session, err, cudaSetDevice(session->info.id), "selecting the device");
	if (session->projects == NULL)
		session->projects = (ProjectStore *) calloc(1, sizeof(ProjectStore));
	if (session->projects == NULL)
		return gr_fail(err, GR_NO_MEMORY, 0, "the projections that a session keeps");
	session->projects->device = session->info.id;
	if (!open_buffers(project, err))
		return false;
	SESSION_CUDA(session, err,
				 gr_project_plan(&project->plan, project->k, project->dim, (int64_t) nnonzeros,
								 gr_project_wants_program(project->k, project->dim, project->capacity),
								 project->capacity),
				 "planning the projection");
	return acquire_matrix(project, options, host, err) && allocate_memory(project, options->memory_limit, err);
}

bool
gr_cuda_project_begin(GrSession *session, const GrProjectOptions *options, const GrHost *host, GrProject **project,
					  GrError *err)
{
	*project = NULL;
	if (options->dim < 1 || options->dim > GR_MAX_DIM)
		return gr_fail(err, GR_INVALID, 0, "vectors of length %lld", (long long) options->dim);
	*project = (GrProject *) calloc(1, sizeof(GrProject));
	if (*project == NULL)
		return gr_fail(err, GR_NO_MEMORY, 0, "a projection");
	(*project)->session = session;
	(*project)->dim = options->dim;
	(*project)->k = options->draw->k;
	(*project)->keeps = options->cache_nbytes > 0;
	return project_open(*project, options, host, err);
}

bool
gr_cuda_project_block(GrProject *project, float **vectors, int64_t *capacity, GrError *err)
{
	if (project->nsubmitted >= GR_PROJECT_NSLOTS)
		return gr_fail(err, GR_INVALID, 0, "a block while %d are under way", project->nsubmitted);
	*vectors = project->buffers->slots[project->next].vectors;
	*capacity = project->capacity;
	project->handed_out = true;
	return true;
}

/* Counts work estimated at work_s. Once POLL_S has accumulated, waits for the device and asks the host. */
static bool
poll_host(GrProject *project, double work_s, const GrHost *host, GrError *err)
{
	project->pending_s += work_s;
	if (project->pending_s < POLL_S)
		return true;
	project->pending_s = 0.0;
	SESSION_CUDA(project->session, err, cudaStreamSynchronize(project->buffers->kernel_stream),
				 "projecting on the device");
	if (gr_canceled(host))
		return gr_fail(err, GR_CANCELED, 0, "projecting on the device");
	return true;
}

/* Launches all rows of S on a step's tiles. */
static bool
launch_rows(GrProject *project, const float *tiles, int64_t nvectors, float *y, const GrHost *host, GrError *err)
{
	const ProjectPlan *plan = &project->plan;
	const int64_t ntiles = (nvectors + plan->width - 1) / plan->width;

	for (int32_t row = 0; row < project->k; row += plan->rows_per_launch)
		for (int64_t segment = 0; segment < plan->nsegments; segment += plan->segments_per_launch)
		{
			const ProjectApply apply = {
				tiles, nvectors, row,
				project->k - row < plan->rows_per_launch ? project->k - row : plan->rows_per_launch, segment,
				project->buffers->sums, y
			};

			SESSION_CUDA(project->session, err,
						 gr_project_apply_launch(plan, &project->s->matrix, &apply, project->buffers->kernel_stream),
						 "launching the projection");
			if (!poll_host(project, plan->row_tile_s * (double) apply.nrows * (double) ntiles, host, err))
				return false;
		}
	return true;
}

/* Launches the kernels of a batch. */
static bool
launch_batch(GrProject *project, const ProjectSlot *slot, int64_t nvectors, const GrHost *host, GrError *err)
{
	const ProjectPlan *plan = &project->plan;
	const int64_t step = plan->fused ? plan->vectors_per_launch : plan->tiles_per_step * plan->width;
	ProjectBuffers *buffers = project->buffers;

	for (int64_t done = 0; done < nvectors; done += step)
	{
		const int64_t n = nvectors - done < step ? nvectors - done : step;
		const float *x = slot->device_vectors + done * project->dim;
		float	   *y = slot->device_projected + done * project->k;

		if (plan->fused)
		{
			SESSION_CUDA(project->session, err,
						 gr_project_fused_launch(&project->s->matrix, x, n, y, buffers->kernel_stream),
						 "launching the projection");
			if (!poll_host(project, plan->vector_s * (double) n, host, err))
				return false;
			continue;
		}
		if (plan->width > 1)
			SESSION_CUDA(project->session, err,
						 gr_project_tile_launch(plan, x, n, project->dim, buffers->tiles, buffers->kernel_stream),
						 "launching the projection");
		if (!launch_rows(project, plan->width > 1 ? buffers->tiles : x, n, y, host, err))
			return false;
	}
	return true;
}

bool
gr_cuda_project_submit(GrProject *project, int64_t nvectors, const GrHost *host, GrError *err)
{
	GrSession  *session = project->session;
	ProjectBuffers *buffers = project->buffers;
	ProjectSlot *slot = &buffers->slots[project->next];
	const size_t vectors_nbytes = sizeof(float) * (size_t) nvectors * (size_t) project->dim;
	const size_t projected_nbytes = sizeof(float) * (size_t) nvectors * (size_t) project->k;

	if (!project->handed_out || nvectors < 0 || nvectors > project->capacity)
		return gr_fail(err, GR_INVALID, 0, "%lld vectors in a block of %lld", (long long) nvectors,
					   (long long) (project->handed_out ? project->capacity : 0));
	if (nvectors == 0)
		return true;			/* the block stays with the caller */
	SESSION_CUDA(session, err, cudaSetDevice(session->info.id), "selecting the device");
	SESSION_CUDA(session, err, cudaEventRecord(slot->copy_begin, buffers->copy_stream), "recording an event");
	SESSION_CUDA(session, err,
				 cudaMemcpyAsync(slot->device_vectors, slot->vectors, vectors_nbytes, cudaMemcpyHostToDevice,
								 buffers->copy_stream),
				 "copying vectors to the device");
	SESSION_CUDA(session, err, cudaEventRecord(slot->copy_end, buffers->copy_stream), "recording an event");
	SESSION_CUDA(session, err, cudaStreamWaitEvent(buffers->kernel_stream, slot->copy_end, 0), "ordering two streams");
	SESSION_CUDA(session, err, cudaEventRecord(slot->kernel_begin, buffers->kernel_stream), "recording an event");
	if (!launch_batch(project, slot, nvectors, host, err))
		return false;
	SESSION_CUDA(session, err, cudaEventRecord(slot->kernel_end, buffers->kernel_stream), "recording an event");
	SESSION_CUDA(session, err, cudaStreamWaitEvent(buffers->result_stream, slot->kernel_end, 0),
				 "ordering two streams");
	SESSION_CUDA(session, err, cudaEventRecord(slot->result_begin, buffers->result_stream), "recording an event");
	SESSION_CUDA(session, err,
				 cudaMemcpyAsync(slot->projected, slot->device_projected, projected_nbytes, cudaMemcpyDeviceToHost,
								 buffers->result_stream),
				 "copying results from the device");
	SESSION_CUDA(session, err, cudaEventRecord(slot->result_end, buffers->result_stream), "recording an event");
	project->times.bytes_to_device += (int64_t) vectors_nbytes;
	slot->nvectors = nvectors;
	project->handed_out = false;
	project->next = (project->next + 1) % GR_PROJECT_NSLOTS;
	project->nsubmitted++;
	return true;
}

static double
now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double) now.tv_sec + (double) now.tv_nsec * 1e-9;
}

/* Waits for an event: spins first, then sleeps. */
static cudaError_t
wait_for(cudaEvent_t event)
{
	const double begin_s = now_s();

	do
	{
		cudaError_t code = cudaEventQuery(event);

		if (code != cudaErrorNotReady)
			return code;
		(void) cudaGetLastError();	/* not ready is not a failure, but may be recorded as one */
	} while (now_s() - begin_s < SPIN_S);
	return cudaEventSynchronize(event);
}

bool
gr_cuda_project_take(GrProject *project, const float **projected, int64_t *nvectors, GrError *err)
{
	GrSession  *session = project->session;
	const int	oldest = (project->next + GR_PROJECT_NSLOTS - project->nsubmitted) % GR_PROJECT_NSLOTS;
	ProjectSlot *slot = &project->buffers->slots[oldest];
	float		copy_ms;
	float		kernel_ms;
	float		result_ms;

	if (project->nsubmitted < 1)
		return gr_fail(err, GR_INVALID, 0, "no vectors are under way");
	SESSION_CUDA(session, err, cudaSetDevice(session->info.id), "selecting the device");
	SESSION_CUDA(session, err, wait_for(slot->result_end), "projecting on the device");
	project->nsubmitted--;
	SESSION_CUDA(session, err, cudaEventElapsedTime(&copy_ms, slot->copy_begin, slot->copy_end), "reading an event");
	SESSION_CUDA(session, err, cudaEventElapsedTime(&kernel_ms, slot->kernel_begin, slot->kernel_end),
				 "reading an event");
	SESSION_CUDA(session, err, cudaEventElapsedTime(&result_ms, slot->result_begin, slot->result_end),
				 "reading an event");
	project->times.copy_s += (copy_ms + result_ms) * 1e-3;
	project->times.kernel_s += kernel_ms * 1e-3;
	*projected = slot->projected;
	*nvectors = slot->nvectors;
	return true;
}

void
gr_cuda_project_times(const GrProject *project, GrTimes *times)
{
	*times = project->times;
}

/* Failures are ignored: a lost device takes its memory along. */
void
gr_cuda_project_end(GrProject *project)
{
	ProjectBuffers *buffers;
	ProjectStore *store;

	if (project == NULL)
		return;
	buffers = project->buffers;
	store = project->session->projects;
	(void) cudaSetDevice(project->session->info.id);
	if (buffers != NULL)
	{
		for (cudaStream_t stream : {buffers->copy_stream, buffers->kernel_stream, buffers->result_stream})
			if (stream != NULL)
				(void) cudaStreamSynchronize(stream);
		if (project->keeps && !project->session->lost && store->buffers == NULL && buffers->sizes.vectors_nbytes > 0 &&
			device_nbytes(&buffers->sizes) <= KEPT_NBYTES_MAX)
			store->buffers = buffers;
		else
			buffers_free(store->device, buffers);
	}
	gr_project_release(project->session, project->s);
	(void) cudaGetLastError();
	free(project);
}

void
gr_cuda_project_forget(GrSession *session)
{
	ProjectStore *store = session->projects;

	if (store == NULL)
		return;
	(void) cudaSetDevice(session->info.id);
	gr_project_drop_all(store);
	buffers_free(store->device, store->buffers);
	free(store);
	session->projects = NULL;
	(void) cudaGetLastError();
}
