/*
 * backend_cpu.c: the table of primitives on the CPU.
 */
#include "compute/compute.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "compute/basis.h"
#include "compute/glm.h"
#include "compute/projection.h"

/* Chunks of kept rows double in size from the one to the other, bytes. */
#define FIRST_CHUNK_NBYTES ((size_t) 256 << 10)
#define LAST_CHUNK_NBYTES ((size_t) 16 << 20)

/* Single rows made float8 at a time: they stay in the second-level cache. */
#define WIDE_NBYTES ((size_t) 128 << 10)

/* Rows times terms of a pass between two polls: some milliseconds. */
#define POLL_WORK 1000000

/* Vectors of a batch to be projected, or their projections: they stay in the second-level cache. */
#define PROJECT_NBYTES ((size_t) 512 << 10)

struct GrGram
{
	GrRowShape	shape;
	int64_t		capacity;		/* rows summed up at a time */
	double	   *wide;			/* so many single rows as float8 */
	double	   *hi;
	double	   *lo;
	double	   *scratch;
	double	   *shift;			/* of the features and the response; NULL: none */
	GrPoll		poll;
	int64_t		ncalls;
	double		kernel_s;
};

static const GrDeviceInfo cpu_info = {.id = 0,.name = "cpu"};

static double
now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double) t.tv_sec + (double) t.tv_nsec * 1e-9;
}

static bool
cpu_list(GrDeviceInfo *devices, int max, int *ndevices, GrError *err)
{
	(void) devices;
	(void) max;
	(void) err;
	*ndevices = 0;
	return true;
}

static bool
cpu_open(GrSession **session, const GrOpenOptions *options, GrError *err)
{
	(void) options;
	(void) err;
	*session = NULL;
	return true;
}

static void
cpu_close(GrSession *session)
{
	(void) session;
}

static const GrDeviceInfo *
cpu_describe(const GrSession *session)
{
	(void) session;
	return &cpu_info;
}

static void
cpu_gram_end(GrGram *gram)
{
	if (gram == NULL)
		return;
	free(gram->wide);
	free(gram->hi);
	free(gram->lo);
	free(gram->scratch);
	free(gram->shift);
	free(gram);
}

/* The CPU reads rows wherever they are. */
static bool
cpu_present(void)
{
	return true;
}

static bool
cpu_pin(GrSession *session, void *memory, size_t nbytes, GrError *err)
{
	(void) session;
	(void) memory;
	(void) nbytes;
	(void) err;
	return true;
}

static void
cpu_unpin(GrSession *session, void *memory)
{
	(void) session;
	(void) memory;
}

static bool
cpu_gram_begin(GrSession *session, const GrGramOptions *options, GrGram **gram, GrError *err)
{
	size_t		row_nbytes = gr_row_nbytes(gr_wide_shape(options->shape));
	size_t		triangle = (size_t) gr_triangle(gr_norder(options->shape.nfeatures));
	GrGram	   *g;

	(void) session;
	g = calloc(1, sizeof(GrGram));
	*gram = g;
	if (g == NULL)
	{
		err->bytes_needed = sizeof(GrGram);
		return gr_fail(err, GR_NO_MEMORY, 0, "Gram job");
	}
	g->shape = options->shape;
	g->poll.host = options->host;
	g->capacity = (int64_t) (WIDE_NBYTES / row_nbytes) + 1;
	g->wide = g->shape.single ? malloc((size_t) g->capacity * row_nbytes) : NULL;
	g->hi = calloc(triangle, sizeof(double));
	g->lo = calloc(triangle, sizeof(double));
	g->scratch = malloc(gr_gram_scratch_nbytes(options->shape));
	if ((g->shape.single && g->wide == NULL) || g->hi == NULL || g->lo == NULL || g->scratch == NULL)
	{
		err->bytes_needed = 2 * triangle * sizeof(double);
		return gr_fail(err, GR_NO_MEMORY, 0, "Gram matrix");
	}
	return true;
}

static bool
cpu_gram_restart(GrGram *gram, const double *shift, GrError *err)
{
	size_t		triangle = (size_t) gr_triangle(gr_norder(gram->shape.nfeatures));
	size_t		nbytes = (size_t) gr_nterms(gram->shape.nfeatures) * sizeof(double);

	free(gram->shift);
	gram->shift = shift == NULL ? NULL : malloc(nbytes);
	if (shift != NULL && gram->shift == NULL)
	{
		err->bytes_needed = nbytes;
		return gr_fail(err, GR_NO_MEMORY, 0, "Gram matrix");
	}
	if (shift != NULL)
		memcpy(gram->shift, shift, nbytes);
	memset(gram->hi, 0, triangle * sizeof(double));
	memset(gram->lo, 0, triangle * sizeof(double));
	return true;
}

static bool
add_rows(GrGram *gram, const double *rows, int64_t nrows, GrError *err)
{
	return gr_gram_add_polling(gram->hi, gram->lo, rows, nrows, gr_wide_shape(gram->shape), gram->shift, gram->scratch,
							   gr_gram_lanes(gram->shape.nfeatures), &gram->poll) ||
		gr_fail(err, GR_CANCELED, 0, "Gram matrix");
}

static bool
cpu_gram_send(GrGram *gram, const void *rows, int64_t nrows, GrError *err)
{
	double		started = now_s();
	size_t		row_nbytes = gr_row_nbytes(gram->shape);

	if (!gram->shape.single && !add_rows(gram, rows, nrows, err))
		return false;
	for (int64_t done = 0; gram->shape.single && done < nrows; done += gram->capacity)
	{
		int64_t		n = nrows - done < gram->capacity ? nrows - done : gram->capacity;

		gr_widen_rows((const char *) rows + (size_t) done * row_nbytes, n, gram->shape, gram->wide);
		if (!add_rows(gram, gram->wide, n, err))
			return false;
	}
	gram->ncalls++;
	gram->kernel_s += now_s() - started;
	return true;
}

static bool
cpu_gram_sent(GrGram *gram, bool wait, int64_t *ncalls, GrError *err)
{
	(void) wait;
	(void) err;
	*ncalls = gram->ncalls;
	return true;
}

static bool
cpu_gram_finish(GrGram *gram, double *hi, double *lo, GrGramTimes *times, GrError *err)
{
	size_t		nbytes = (size_t) gr_triangle(gr_norder(gram->shape.nfeatures)) * sizeof(double);

	(void) err;
	memcpy(hi, gram->hi, nbytes);
	memcpy(lo, gram->lo, nbytes);
	times->bytes_to_device = 0;
	times->copy_s = 0;
	times->kernel_s = gram->kernel_s;
	return true;
}

/*
 * Rows that stay
 */

typedef struct Chunk
{
	struct Chunk *next;
	int64_t		nrows;
	int64_t		capacity;
	double		rows[];
} Chunk;

struct GrRows
{
	GrRowShape	shape;
	size_t		memory_limit;
	size_t		nbytes;
	int64_t		ncalls;
	Chunk	   *first;
	Chunk	   *last;
	double		kernel_s;
};

static void
cpu_rows_end(GrRows *rows)
{
	if (rows == NULL)
		return;
	while (rows->first != NULL)
	{
		Chunk	   *chunk = rows->first;

		rows->first = chunk->next;
		free(chunk);
	}
	free(rows);
}

static bool
cpu_rows_begin(GrSession *session, const GrRowsOptions *options, GrRows **rows, GrError *err)
{
	GrRows	   *r = calloc(1, sizeof(GrRows));

	(void) session;
	*rows = r;
	if (r == NULL)
	{
		err->bytes_needed = sizeof(GrRows);
		return gr_fail(err, GR_NO_MEMORY, 0, "rows");
	}
	r->shape = options->shape;
	r->memory_limit = options->memory_limit;
	return true;
}

/* Adds an empty chunk at the end. */
static bool
grow(GrRows *rows, GrError *err)
{
	size_t		row_nbytes = gr_row_nbytes(gr_wide_shape(rows->shape));
	size_t		nbytes = rows->nbytes < FIRST_CHUNK_NBYTES ? FIRST_CHUNK_NBYTES : rows->nbytes;
	size_t		capacity;
	Chunk	   *chunk;

	if (nbytes > LAST_CHUNK_NBYTES)
		nbytes = LAST_CHUNK_NBYTES;
	if (rows->memory_limit > 0 && nbytes > rows->memory_limit - rows->nbytes)
		nbytes = rows->memory_limit - rows->nbytes;
	capacity = nbytes / row_nbytes;
	if (capacity == 0 && rows->memory_limit == 0)
		capacity = 1;
	chunk = capacity == 0 ? NULL : malloc(sizeof(Chunk) + capacity * row_nbytes);
	if (chunk == NULL)
	{
		err->bytes_needed = rows->nbytes + row_nbytes;
		return gr_fail(err, GR_NO_MEMORY, 0, "no room for more rows in %zu bytes", rows->memory_limit);
	}
	chunk->next = NULL;
	chunk->nrows = 0;
	chunk->capacity = (int64_t) capacity;
	rows->nbytes += capacity * row_nbytes;
	if (rows->last == NULL)
		rows->first = chunk;
	else
		rows->last->next = chunk;
	rows->last = chunk;
	return true;
}

static bool
cpu_rows_send(GrRows *rows, const void *block, int64_t nrows, GrError *err)
{
	size_t		row_nbytes = gr_row_nbytes(rows->shape);

	for (int64_t done = 0; done < nrows;)
	{
		const char *from = (const char *) block + (size_t) done * row_nbytes;
		double	   *into;
		int64_t		n;

		if ((rows->last == NULL || rows->last->nrows == rows->last->capacity) && !grow(rows, err))
			return false;
		into = rows->last->rows + rows->last->nrows * gr_row_ncols(rows->shape);
		n = rows->last->capacity - rows->last->nrows;
		n = nrows - done < n ? nrows - done : n;
		if (rows->shape.single)
			gr_widen_rows(from, n, rows->shape, into);
		else
			memcpy(into, from, (size_t) n * row_nbytes);
		rows->last->nrows += n;
		done += n;
	}
	rows->ncalls++;
	return true;
}

static bool
cpu_rows_sent(GrRows *rows, bool wait, int64_t *ncalls, GrError *err)
{
	(void) wait;
	(void) err;
	*ncalls = rows->ncalls;
	return true;
}

static bool
cpu_rows_pass(GrRows *rows, const GrPass *pass, double *sums, const GrHost *host, GrError *err)
{
	double		started = now_s();
	int			stride = gr_row_ncols(rows->shape);
	int64_t		piece = POLL_WORK / stride + 1;
	size_t		scratch_nbytes = gr_pass_scratch_nbytes(pass->kind, pass->shape);
	double	   *scratch = malloc(scratch_nbytes);

	if (scratch == NULL)
	{
		err->bytes_needed = scratch_nbytes;
		return gr_fail(err, GR_NO_MEMORY, 0, "scratch memory of a pass");
	}
	for (const Chunk *chunk = rows->first; chunk != NULL; chunk = chunk->next)
	{
		for (int64_t from = 0; from < chunk->nrows; from += piece)
		{
			int64_t		n = chunk->nrows - from < piece ? chunk->nrows - from : piece;

			if (!gr_pass_add_polling(pass, sums, chunk->rows + from * stride, n, scratch, host) ||
				gr_canceled(host))
			{
				free(scratch);
				return gr_fail(err, GR_CANCELED, 0, "a pass over the rows");
			}
		}
	}
	free(scratch);
	rows->kernel_s += now_s() - started;
	return true;
}

static bool
cpu_rows_change(GrRows *rows, const GrBasis *basis, const GrHost *host, GrError *err)
{
	double		started = now_s();
	GrPoll		poll = {.host = host};

	for (Chunk *chunk = rows->first; chunk != NULL; chunk = chunk->next)
		if (!gr_basis_change_rows(basis, gr_wide_shape(rows->shape), chunk->rows, chunk->nrows, &poll))
			return gr_fail(err, GR_CANCELED, 0, "a change of basis");
	rows->kernel_s += now_s() - started;
	return true;
}

/* The caller's own passes are as good. */
static bool
cpu_rows_can_ascend(const GrRows *rows, bool single)
{
	(void) rows;
	(void) single;
	return false;
}

static bool
cpu_rows_ascend(GrRows *rows, const GrAscent *ascent, double *beta, int64_t *iterations, bool *converged, const GrHost *host,
				GrError *err)
{
	(void) rows;
	(void) ascent;
	(void) beta;
	(void) host;
	*iterations = 0;
	*converged = false;
	return gr_fail(err, GR_INVALID, 0, "the CPU has no gradient ascent of its own");
}

static void
cpu_rows_times(const GrRows *rows, GrRowsTimes *times)
{
	times->bytes_to_device = 0;
	times->copy_s = 0;
	times->kernel_s = rows->kernel_s;
}

/*
 * A batch is computed when it is submitted.
 */
struct GrProject
{
	GrProjectOptions options;
	GrDraw		draw;
	int64_t		capacity;		/* vectors of a batch */
	float	   *vectors;
	float	   *projected[GR_PROJECT_NSLOTS];
	int64_t		nvectors[GR_PROJECT_NSLOTS];
	int			nsubmitted;		/* and not taken */
	int			next;			/* slot to submit to */
	double		kernel_s;
};

static void
cpu_project_end(GrProject *project)
{
	if (project == NULL)
		return;
	free(project->vectors);
	for (int s = 0; s < GR_PROJECT_NSLOTS; s++)
		free(project->projected[s]);
	free(project);
}

static bool
fail_project_memory(size_t nbytes, GrError *err)
{
	if (err->status == GR_OK)
		err->bytes_needed = nbytes;
	return gr_fail(err, GR_NO_MEMORY, 0, "random projection");
}

static bool
cpu_project_begin(GrSession *session, const GrProjectOptions *options, const GrHost *host, GrProject **project, GrError *err)
{
	const GrDraw *draw = options->draw;
	size_t		block_nbytes = options->block_nbytes < PROJECT_NBYTES ? options->block_nbytes : PROJECT_NBYTES;
	size_t		vector_nbytes = (size_t) options->dim * sizeof(float);
	size_t		projected_nbytes = (size_t) draw->k * sizeof(float);
	size_t		larger_nbytes = vector_nbytes > projected_nbytes ? vector_nbytes : projected_nbytes;
	GrProject  *p;

	(void) session;
	(void) host;
	*project = NULL;
	if (options->dim < 1 || options->dim > GR_MAX_DIM)
		return gr_fail(err, GR_INVALID, 0, "vectors must have 1 to %d elements", (int) GR_MAX_DIM);
	p = calloc(1, sizeof(GrProject));
	*project = p;
	if (p == NULL)
		return fail_project_memory(sizeof(GrProject), err);
	p->options = *options;
	p->draw = *draw;
	p->capacity = block_nbytes / larger_nbytes > 1 ? (int64_t) (block_nbytes / larger_nbytes) : 1;
	if (options->nvectors > 0 && options->nvectors < p->capacity)
		p->capacity = options->nvectors;
	p->vectors = malloc((size_t) p->capacity * vector_nbytes);
	for (int s = 0; s < GR_PROJECT_NSLOTS; s++)
		p->projected[s] = malloc((size_t) p->capacity * projected_nbytes);
	if (p->vectors == NULL || p->projected[0] == NULL || p->projected[1] == NULL)
		return fail_project_memory((size_t) p->capacity * (vector_nbytes + GR_PROJECT_NSLOTS * projected_nbytes), err);
	return true;
}

static bool
cpu_project_block(GrProject *project, float **vectors, int64_t *capacity, GrError *err)
{
	if (project->nsubmitted == GR_PROJECT_NSLOTS)
		return gr_fail(err, GR_INVALID, 0, "no batch is free");
	*vectors = project->vectors;
	*capacity = project->capacity;
	return true;
}

static bool
cpu_project_submit(GrProject *project, int64_t nvectors, const GrHost *host, GrError *err)
{
	const GrProjectOptions *options = &project->options;
	double		started = now_s();
	int			slot = project->next;
	GrProjection *projection;

	if (project->nsubmitted == GR_PROJECT_NSLOTS || nvectors < 0 || nvectors > project->capacity)
		return gr_fail(err, GR_INVALID, 0, "no batch of %lld vectors was handed out", (long long) nvectors);
	/* asked for each time, for others may have used the cache between batches */
	projection = gr_projection_open(options->cache, project->draw.k, project->draw.seed, project->draw.density,
									options->cache_nbytes, err);
	if (projection == NULL ||
		!gr_projection_apply(projection, project->vectors, nvectors, options->dim, project->projected[slot], host, err))
		return false;
	project->nvectors[slot] = nvectors;
	project->nsubmitted++;
	project->next = (slot + 1) % GR_PROJECT_NSLOTS;
	project->kernel_s += now_s() - started;
	return true;
}

static bool
cpu_project_take(GrProject *project, const float **projected, int64_t *nvectors, GrError *err)
{
	int			slot = (project->next + GR_PROJECT_NSLOTS - project->nsubmitted) % GR_PROJECT_NSLOTS;

	if (project->nsubmitted == 0)
		return gr_fail(err, GR_INVALID, 0, "no batch was submitted");
	*projected = project->projected[slot];
	*nvectors = project->nvectors[slot];
	project->nsubmitted--;
	return true;
}

static void
cpu_project_times(const GrProject *project, GrGramTimes *times)
{
	times->bytes_to_device = 0;
	times->copy_s = 0;
	times->kernel_s = project->kernel_s;
}

const GrBackend gr_backend_cpu = {
	.name = "cpu",
	.list = cpu_list,
	.open = cpu_open,
	.close = cpu_close,
	.describe = cpu_describe,
	.present = cpu_present,
	.pin = cpu_pin,
	.unpin = cpu_unpin,
	.gram_begin = cpu_gram_begin,
	.gram_restart = cpu_gram_restart,
	.gram_send = cpu_gram_send,
	.gram_sent = cpu_gram_sent,
	.gram_finish = cpu_gram_finish,
	.gram_end = cpu_gram_end,
	.rows_begin = cpu_rows_begin,
	.rows_send = cpu_rows_send,
	.rows_sent = cpu_rows_sent,
	.rows_pass = cpu_rows_pass,
	.rows_change = cpu_rows_change,
	.rows_can_ascend = cpu_rows_can_ascend,
	.rows_ascend = cpu_rows_ascend,
	.rows_times = cpu_rows_times,
	.rows_end = cpu_rows_end,
	.project_begin = cpu_project_begin,
	.project_block = cpu_project_block,
	.project_submit = cpu_project_submit,
	.project_take = cpu_project_take,
	.project_times = cpu_project_times,
	.project_end = cpu_project_end,
	.factor_begin = NULL,		/* ols.c has its own */
	.factor_inverse = NULL,
	.factor_end = NULL
};
