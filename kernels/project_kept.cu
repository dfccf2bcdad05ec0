/*
 * project_kept.cu: draws S on the device, after checking that there is memory, and keeps it in the session for later
 * jobs.
 *
 * A session lists every S that it has. Those marked as kept take at most cache_nbytes together, as the last job said.
 * The least recently used ones are given up for others; one that is in use is then freed by its last user.
 */
#include "project_cuda.cuh"

#include <stdlib.h>

#define SLACK_NBYTES ((size_t) 64 << 20)	/* device memory left for the device's own needs */
#define FILLED_PER_LAUNCH ((int64_t) 1 << 31)	/* entries per launch; p = 1 */

/*
 * Memory that is freed when it leaves scope, after waiting for the stream that uses it, unless take() was called: then
 * nothing is under way there.
 */
class Scratch
{
public:
	Scratch() : memory(NULL), device(0), stream(NULL) {}
	~Scratch()
	{
		if (memory != NULL)
			(void) cudaStreamSynchronize(stream);
		gr_memory_give(device, memory);
	}
	Scratch(const Scratch &) = delete;
	Scratch &operator=(const Scratch &) = delete;
	bool allocate(const ProjectRequest *request, size_t nbytes, const char *what, GrError *err);
	void *take()
	{
		void	   *taken = memory;

		memory = NULL;
		return taken;
	}

	void	   *memory;

private:
	int			device;
	cudaStream_t stream;		/* stream that uses the memory */
};

/* S while it is drawn */
typedef struct Drawing
{
	const ProjectRequest *request;
	ProjectKept *s;
	ProjectDrawing drawing;
	Scratch		counts;
	Scratch		scan;
	Scratch		keys[2];
	Scratch		values[2];
	Scratch		sort;
} Drawing;

static bool
allocate(GrSession *session, void **memory, size_t nbytes, const char *what, GrError *err)
{
	SignalsBlocked blocked;
	cudaError_t code = gr_memory_get(session->info.id, memory, nbytes);

	return code == cudaSuccess || session_fail(session, err, code, nbytes, what);
}

bool
Scratch::allocate(const ProjectRequest *request, size_t nbytes, const char *what, GrError *err)
{
	device = request->session->info.id;
	stream = request->stream;
	return ::allocate(request->session, &memory, nbytes, what, err);
}

/* Removes S, which no job uses, from the list and frees its memory. */
static void
drop(ProjectStore *store, ProjectKept *s)
{
	for (ProjectKept **link = &store->first; *link != NULL; link = &(*link)->next)
		if (*link == s)
		{
			*link = s->next;
			break;
		}
	gr_memory_give(store->device, s->row_start);
	gr_memory_give(store->device, s->entries);
	gr_memory_give(store->device, s->segment_start);
	gr_memory_give(store->device, s->program_start);
	gr_memory_give(store->device, s->program);
	free(s);
}

/* Returns the least recently used S that is kept; unused: among those that no job uses. */
static ProjectKept *
oldest_kept(const ProjectStore *store, bool unused)
{
	ProjectKept *oldest = NULL;

	for (ProjectKept *s = store->first; s != NULL; s = s->next)
		if (s->kept && !(unused && s->nusers > 0) && (oldest == NULL || s->last_use < oldest->last_use))
			oldest = s;
	return oldest;
}

/* Keeps S, which is in use, if it fits the cache, and gives up others for it. */
static void
keep(ProjectStore *store, ProjectKept *s, size_t cache_nbytes)
{
	size_t		nbytes = 0;

	s->kept = s->nbytes <= cache_nbytes;
	for (ProjectKept *other = store->first; other != NULL; other = other->next)
		if (other->kept)
			nbytes += other->nbytes;
	while (nbytes > cache_nbytes)
	{
		ProjectKept *oldest = oldest_kept(store, false);

		nbytes -= oldest->nbytes;
		oldest->kept = false;
		if (oldest->nusers == 0)
			drop(store, oldest);
	}
}

static bool
fail_memory(size_t nbytes_needed, size_t nbytes_free, GrError *err)
{
	if (err->status == GR_OK)
	{
		err->bytes_needed = nbytes_needed;
		err->bytes_free = nbytes_free;
	}
	return gr_fail(err, GR_DEVICE_MEMORY, 0, "the projection needs %zu bytes of device memory, of which there are %zu",
				   nbytes_needed, nbytes_free);
}

bool
gr_project_make_room(GrSession *session, size_t nbytes, size_t job_nbytes, size_t memory_limit, GrError *err)
{
	if (memory_limit > 0 && job_nbytes > memory_limit)
		return fail_memory(job_nbytes, memory_limit, err);
	for (;;)
	{
		ProjectKept *unused = oldest_kept(session->projects, true);
		size_t		nbytes_free;
		size_t		nbytes_total;

		SESSION_CUDA(session, err, gr_memory_info(session->info.id, &nbytes_free, &nbytes_total),
					 "reading the device's free memory");
		nbytes_free = nbytes_free > SLACK_NBYTES ? nbytes_free - SLACK_NBYTES : 0;
		if (nbytes <= nbytes_free)
			return true;
		if (unused == NULL)
			return fail_memory(nbytes, nbytes_free, err);
		drop(session->projects, unused);
	}
}

/* Returns a number of nonzeros that S has with near certainty at least, to detect a lack of memory early. */
static int64_t
least_nonzeros(const GrDraw *draw, int64_t dim)
{
	double		mean = (double) draw->k * (double) dim * draw->density;

	if (draw->density == 1.0)
		return draw->k * dim;
	return (int64_t) fmax(0.0, mean - 8.0 * sqrt(mean));
}

static size_t
starts_nbytes(int32_t k)
{
	return sizeof(int64_t) * ((size_t) k + 1);
}

static size_t
segments_nbytes(int32_t k, int64_t dim)
{
	return sizeof(int64_t) * (size_t) k * (size_t) (gr_project_nsegments(dim) - 1);
}

static size_t
entries_nbytes(int64_t nnonzeros)
{
	return sizeof(uint32_t) * ((size_t) nnonzeros + PROJECT_PADDING);
}

/* Sets the size of S, and checks that there is room to draw it, and then for it and the rest of the job. */
static bool
check_room(Drawing *d, int64_t nnonzeros, size_t sort_nbytes, GrError *err)
{
	const ProjectRequest *request = d->request;
	const ProjectDrawing *drawing = &d->drawing;
	const size_t others = request->other_nbytes - request->taken_nbytes;
	size_t		s_nbytes = starts_nbytes(drawing->draw.k) + segments_nbytes(drawing->draw.k, drawing->dim) +
		entries_nbytes(nnonzeros);
	size_t		draw_nbytes = 0;
	size_t		most;

	if (drawing->draw.density < 1.0)
		draw_nbytes = sizeof(int64_t) * (size_t) (drawing->nblocks + 1) + drawing->scan_nbytes + sort_nbytes +
			entries_nbytes(nnonzeros) + 2 * (size_t) drawing->key_nbytes * (size_t) nnonzeros;
	d->s->nbytes = s_nbytes;
	most = s_nbytes + (draw_nbytes > others ? draw_nbytes : others);
	return gr_project_make_room(request->session, most, most + request->taken_nbytes, request->memory_limit, err);
}

/* Waits for the stream, and asks the host. */
static bool
poll_host(const ProjectRequest *request, GrError *err)
{
	SESSION_CUDA(request->session, err, cudaStreamSynchronize(request->stream), "drawing the projection's matrix");
	if (gr_canceled(request->host))
		return gr_fail(err, GR_CANCELED, 0, "drawing the projection's matrix");
	return true;
}

/* Counts the nonzeros, and finds where each thread block's begin. */
static bool
count_nonzeros(Drawing *d, int64_t *nnonzeros, GrError *err)
{
	const ProjectRequest *request = d->request;
	const ProjectDrawing *drawing = &d->drawing;
	GrSession  *session = request->session;
	int64_t    *counts;

	if (!d->counts.allocate(request, sizeof(int64_t) * (size_t) (drawing->nblocks + 1), "allocating counts", err) ||
		!d->scan.allocate(request, drawing->scan_nbytes, "allocating counts", err))
		return false;
	counts = (int64_t *) d->counts.memory;
	for (int64_t first = 0; first < drawing->nblocks; first += drawing->nblocks_per_launch)
	{
		int64_t		left = drawing->nblocks - first;
		int64_t		n = left < drawing->nblocks_per_launch ? left : drawing->nblocks_per_launch;

		SESSION_CUDA(session, err, gr_project_count_launch(drawing, first, n, counts, request->stream),
					 "counting the matrix's nonzeros");
		if (left > drawing->nblocks_per_launch && !poll_host(request, err))
			return false;
	}
	SESSION_CUDA(session, err, gr_project_scan_launch(drawing, counts, d->scan.memory, request->stream),
				 "counting the matrix's nonzeros");
	SESSION_CUDA(session, err,
				 cudaMemcpyAsync(nnonzeros, counts + drawing->nblocks, sizeof(int64_t), cudaMemcpyDeviceToHost,
								 request->stream),
				 "counting the matrix's nonzeros");
	if (!poll_host(request, err))
		return false;
	return (*nnonzeros >= 0 && *nnonzeros <= (int64_t) drawing->draw.k * drawing->dim) ||
		gr_fail(err, GR_DEVICE_FAILED, 0, "the device counted %lld nonzeros", (long long) *nnonzeros);
}

/* Draws the nonzeros as pairs of row and column. */
static bool
draw_pairs(Drawing *d, int64_t nnonzeros, size_t sort_nbytes, GrError *err)
{
	const ProjectRequest *request = d->request;
	const ProjectDrawing *drawing = &d->drawing;
	GrSession  *session = request->session;

	/* at least one byte, as 0 bytes are no memory */
	for (int i = 0; i < 2; i++)
		if (!d->values[i].allocate(request, entries_nbytes(nnonzeros), "allocating the matrix", err) ||
			!d->keys[i].allocate(request, (size_t) drawing->key_nbytes * (size_t) nnonzeros + 1,
								 "allocating the matrix", err))
			return false;
	if (!d->sort.allocate(request, sort_nbytes + 1, "allocating the matrix", err))
		return false;
	for (int64_t first = 0; first < drawing->nblocks; first += drawing->nblocks_per_launch)
	{
		int64_t		left = drawing->nblocks - first;
		int64_t		n = left < drawing->nblocks_per_launch ? left : drawing->nblocks_per_launch;

		SESSION_CUDA(session, err,
					 gr_project_draw_launch(drawing, first, n, (const int64_t *) d->counts.memory, d->keys[0].memory,
											(uint32_t *) d->values[0].memory, request->stream),
					 "drawing the matrix's nonzeros");
		if (left > drawing->nblocks_per_launch && !poll_host(request, err))
			return false;
	}
	return true;
}

/* Draws S for p < 1. */
static bool
draw_sparse(Drawing *d, GrError *err)
{
	const ProjectRequest *request = d->request;
	GrSession  *session = request->session;
	ProjectKept *s = d->s;
	ProjectSort sort = {};
	int64_t		nnonzeros = 0;

	if (!count_nonzeros(d, &nnonzeros, err))
		return false;
	SESSION_CUDA(session, err,
				 gr_project_sort_launch(&d->drawing, nnonzeros, &sort, request->stream),
				 "planning the matrix");
	if (!check_room(d, nnonzeros, sort.scratch_nbytes, err) || !draw_pairs(d, nnonzeros, sort.scratch_nbytes, err))
		return false;
	for (int i = 0; i < 2; i++)
	{
		sort.keys[i] = d->keys[i].memory;
		sort.values[i] = (uint32_t *) d->values[i].memory;
	}
	sort.scratch = d->sort.memory;
	SESSION_CUDA(session, err, gr_project_sort_launch(&d->drawing, nnonzeros, &sort, request->stream),
				 "sorting the matrix");
	SESSION_CUDA(session, err, gr_project_rows_launch(&d->drawing, nnonzeros, sort.keys[sort.sorted], s->row_start,
													  request->stream),
				 "finding the matrix's rows");
	s->entries = (uint32_t *) d->values[sort.sorted].take();
	s->matrix.nnonzeros = nnonzeros;
	return true;
}

/* Draws S for p = 1. */
static bool
draw_dense(Drawing *d, GrError *err)
{
	const ProjectRequest *request = d->request;
	const int64_t dim = request->dim;
	const int64_t most = FILLED_PER_LAUNCH / request->draw->k > 256 ? FILLED_PER_LAUNCH / request->draw->k : 256;
	ProjectKept *s = d->s;

	s->matrix.nnonzeros = request->draw->k * dim;
	if (!allocate(request->session, (void **) &s->entries, entries_nbytes(s->matrix.nnonzeros), "allocating the matrix",
				  err))
		return false;
	for (int64_t first = 0; first < dim; first += most)
	{
		SESSION_CUDA(request->session, err,
					 gr_project_fill_launch(&d->drawing, first, dim - first < most ? dim - first : most, s->entries,
											s->row_start,
											request->stream),
					 "drawing the matrix");
		if (dim - first > most && !poll_host(request, err))
			return false;
	}
	return true;
}

/* Draws S into memory that is checked first. */
static bool
draw_matrix(const ProjectRequest *request, ProjectKept *s, GrError *err)
{
	GrSession  *session = request->session;
	Drawing		d = {};

	d.request = request;
	d.s = s;
	SESSION_CUDA(session, err, gr_project_drawing(&d.drawing, request->draw, request->dim), "planning the matrix");
	if (gr_canceled(request->host))
		return gr_fail(err, GR_CANCELED, 0, "drawing the projection's matrix");
	if (!check_room(&d, least_nonzeros(request->draw, request->dim), 0, err) ||
		!allocate(session, (void **) &s->row_start, starts_nbytes(request->draw->k), "allocating the matrix", err))
		return false;
	if (gr_project_nsegments(request->dim) > 1 &&
		!allocate(session, (void **) &s->segment_start, segments_nbytes(request->draw->k, request->dim),
				  "allocating the matrix", err))
		return false;
	s->matrix.k = request->draw->k;
	s->matrix.dim = request->dim;
	s->matrix.scale = request->draw->scale;
	if (request->draw->density == 1.0 ? !draw_dense(&d, err) : !draw_sparse(&d, err))
		return false;
	SESSION_CUDA(session, err,
				 cudaMemsetAsync(s->entries + s->matrix.nnonzeros, 0, sizeof(uint32_t) * PROJECT_PADDING,
								 request->stream),
				 "drawing the matrix");
	s->matrix.row_start = s->row_start;
	s->matrix.entries = s->entries;
	s->matrix.segment_start = s->segment_start;
	SESSION_CUDA(session, err, gr_project_segments_launch(&s->matrix, s->segment_start, request->stream),
				 "finding segments");
	/* wait for the drawing to end, and ask the host, before scratch memory is freed */
	return poll_host(request, err);
}

/* Arranges the entries as a program for the fused kernel. */
static bool
make_program(const ProjectRequest *request, ProjectKept *s, GrError *err)
{
	GrSession  *session = request->session;
	Scratch		scratch;
	size_t		start_nbytes;
	size_t		program_nbytes;
	size_t		scratch_nbytes;
	size_t		nbytes;

	SESSION_CUDA(session, err,
				 gr_project_program_sizes(s->matrix.k, s->dim, s->matrix.nnonzeros, &start_nbytes, &program_nbytes,
										  &scratch_nbytes),
				 "planning the matrix");
	nbytes = start_nbytes + program_nbytes;
	if (!gr_project_make_room(session, nbytes + scratch_nbytes + request->other_nbytes - request->taken_nbytes,
							  s->nbytes + nbytes + scratch_nbytes + request->other_nbytes, request->memory_limit,
							  err) ||
		!allocate(session, (void **) &s->program_start, start_nbytes, "allocating the matrix", err) ||
		!allocate(session, (void **) &s->program, program_nbytes, "allocating the matrix", err) ||
		!scratch.allocate(request, scratch_nbytes + 1, "allocating the matrix", err))
		return false;
	SESSION_CUDA(session, err,
				 gr_project_program_launch(&s->matrix, s->program_start, s->program, scratch.memory, scratch_nbytes,
										   request->stream),
				 "arranging the matrix");
	if (!poll_host(request, err))
		return false;
	s->nbytes += nbytes;
	s->matrix.program_start = s->program_start;
	s->matrix.program = s->program;
	return true;
}

static ProjectKept *
find(const ProjectStore *store, const GrDraw *draw, int64_t dim)
{
	for (ProjectKept *s = store->first; s != NULL; s = s->next)
		if (s->ready && s->dim == dim && s->draw.k == draw->k && s->draw.seed == draw->seed &&
			s->draw.density == draw->density)
			return s;
	return NULL;
}

bool
gr_project_acquire(const ProjectRequest *request, ProjectKept **s, bool *drawn, GrError *err)
{
	ProjectStore *store = request->session->projects;

	*drawn = false;
	*s = find(store, request->draw, request->dim);
	if (*s == NULL)
	{
		*s = (ProjectKept *) calloc(1, sizeof(ProjectKept));
		if (*s == NULL)
			return gr_fail(err, GR_NO_MEMORY, 0, "the projection's matrix");
		(*s)->draw = *request->draw;
		(*s)->dim = request->dim;
		(*s)->next = store->first;
		store->first = *s;
	}
	(*s)->nusers++;
	(*s)->last_use = ++store->clock;
	if (!(*s)->ready)
	{
		*drawn = true;
		if (!draw_matrix(request, *s, err))
			return false;
		(*s)->ready = true;
	}
	else if (request->memory_limit > 0 && (*s)->nbytes + request->other_nbytes > request->memory_limit)
		return fail_memory((*s)->nbytes + request->other_nbytes, request->memory_limit, err);
	if (request->program && (*s)->matrix.program == NULL)
	{
		/* an unfinished program is made again from the start */
		gr_memory_give(store->device, (*s)->program_start);
		gr_memory_give(store->device, (*s)->program);
		(*s)->program_start = NULL;
		(*s)->program = NULL;
		if (!make_program(request, *s, err))
			return false;
	}
	keep(store, *s, request->cache_nbytes);
	return true;
}

void
gr_project_release(GrSession *session, ProjectKept *s)
{
	if (s == NULL)
		return;
	s->nusers--;
	if (s->nusers == 0 && !s->kept)
		drop(session->projects, s);
}

void
gr_project_drop_all(ProjectStore *store)
{
	while (store->first != NULL)
		drop(store, store->first);
}
