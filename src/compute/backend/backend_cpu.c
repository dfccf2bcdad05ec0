/*
 * backend_cpu.c: the CPU's sinks and projectors.
 */
#include "compute/backend/backend.h"

#include <stdlib.h>
#include <string.h>

#include "compute/backend/valid.h"
#include "compute/base/row_list.h"
#include "compute/base/thread.h"
#include "compute/design/derive.h"
#include "compute/linalg/basis.h"
#include "compute/linalg/gram.h"
#include "compute/project/chunks.h"
#include "compute/request/request.h"

/* Sizes of the first and the largest chunk of kept rows, bytes; each chunk is twice as large as the one before */
#define FIRST_CHUNK_NBYTES ((size_t) 256 << 10)
#define LAST_CHUNK_NBYTES ((size_t) 16 << 20)

/* Bytes of single rows that are widened to float8 at a time: they stay in the second-level cache. */
#define WIDE_NBYTES ((size_t) 128 << 10)

/* Rows times terms of a pass between two polls of the host: some milliseconds. */
#define POLL_WORK 1000000

/* Bytes of a batch's vectors, or of their projections: they stay in the second-level cache. */
#define PROJECT_NBYTES ((size_t) 512 << 10)

struct GrSink
{
	GrSinkOptions options;
	int64_t		ncalls;			/* calls of send; their rows have been read when it returns */
	double		kernel_s;

	/* SUM */
	int64_t		capacity;		/* single rows widened to float8 at a time */
	double	   *wide;			/* capacity rows as float8; NULL if rows are not single */
	double	   *hi;
	double	   *lo;
	double	   *scratch;
	double	   *shift;			/* shift of the features and the response; NULL: none */
	GrPoll		poll;

	/* KEEP */
	size_t		nbytes;
	GrRowList	rows;
};

static void
cpu_sink_end(GrSink *sink)
{
	if (sink == NULL)
		return;
	free(sink->wide);
	free(sink->hi);
	free(sink->lo);
	free(sink->scratch);
	free(sink->shift);
	while (sink->rows.first != NULL)
	{
		GrRowChunk *chunk = sink->rows.first;

		sink->rows.first = chunk->next;
		free(chunk);
	}
	free(sink);
}

/* Allocates the memory of a SUM sink. */
static bool
begin_sums(GrSink *sink, GrError *err)
{
	GrRowShape	shape = sink->options.shape;
	size_t		row_nbytes = gr_row_nbytes(gr_wide_shape(shape));
	size_t		triangle = (size_t) gr_triangle(gr_norder(shape.nfeatures));

	sink->poll.host = sink->options.host;
	sink->capacity = (int64_t) (WIDE_NBYTES / row_nbytes) + 1;
	sink->wide = shape.single ? malloc((size_t) sink->capacity * row_nbytes) : NULL;
	sink->hi = calloc(triangle, sizeof(double));
	sink->lo = calloc(triangle, sizeof(double));
	sink->scratch = malloc(gr_gram_scratch_nbytes(shape));
	if ((shape.single && sink->wide == NULL) || sink->hi == NULL || sink->lo == NULL || sink->scratch == NULL)
	{
		err->bytes_needed = 2 * triangle * sizeof(double);
		return gr_fail(err, GR_NO_MEMORY, 0, "Gram matrix");
	}
	return true;
}

static bool
cpu_sink_begin(GrSession *session, const GrSinkOptions *options, GrSink **sink, GrError *err)
{
	(void) session;
	*sink = calloc(1, sizeof(GrSink));
	if (*sink == NULL)
	{
		err->bytes_needed = sizeof(GrSink);
		return gr_fail(err, GR_NO_MEMORY, 0, "rows");
	}
	(*sink)->options = *options;
	return options->kind == GR_SINK_KEEP || begin_sums(*sink, err);
}

static bool
cpu_sink_restart(GrSink *sink, const double *shift, GrError *err)
{
	int			nfeatures = sink->options.shape.nfeatures;
	size_t		triangle = (size_t) gr_triangle(gr_norder(nfeatures));
	size_t		nbytes = (size_t) gr_nterms(nfeatures) * sizeof(double);

	free(sink->shift);
	sink->shift = shift == NULL ? NULL : malloc(nbytes);
	if (shift != NULL && sink->shift == NULL)
	{
		err->bytes_needed = nbytes;
		return gr_fail(err, GR_NO_MEMORY, 0, "Gram matrix");
	}
	if (shift != NULL)
		memcpy(sink->shift, shift, nbytes);
	memset(sink->hi, 0, triangle * sizeof(double));
	memset(sink->lo, 0, triangle * sizeof(double));
	return true;
}

static bool
add_rows(GrSink *sink, const double *rows, int64_t nrows, GrError *err)
{
	GrRowShape	shape = gr_wide_shape(sink->options.shape);
	GrGram		gram = {.hi = sink->hi,.lo = sink->lo,.shift = sink->shift,.nfeatures = shape.nfeatures};

	return gr_gram_add_polling(&gram, rows, nrows, shape, sink->scratch, gr_gram_lanes(shape.nfeatures),
							   &sink->poll) ||
		gr_fail(err, GR_CANCELED, 0, "Gram matrix");
}

static bool
sum_rows(GrSink *sink, const void *rows, int64_t nrows, GrError *err)
{
	GrRowShape	shape = sink->options.shape;
	double		started = gr_seconds();

	if (!shape.single && !add_rows(sink, rows, nrows, err))
		return false;
	for (int64_t done = 0; shape.single && done < nrows; done += sink->capacity)
	{
		int64_t		n = nrows - done < sink->capacity ? nrows - done : sink->capacity;

		gr_widen_rows((const char *) rows + (size_t) done * gr_row_nbytes(shape), n, shape, sink->wide);
		if (!add_rows(sink, sink->wide, n, err))
			return false;
	}
	sink->kernel_s += gr_seconds() - started;
	return true;
}

/*
 * Appends an empty chunk. Its number of rows does not depend on whether rows have weights, so that weights of 1 change
 * no bit of a pass.
 */
static bool
grow(GrSink *sink, GrError *err)
{
	size_t		row_nbytes = gr_row_nbytes(gr_wide_shape(sink->options.shape));
	size_t		plain_nbytes = gr_row_nbytes(gr_plain_shape(sink->options.shape.nfeatures));
	size_t		limit = sink->options.memory_limit;
	size_t		nbytes = sink->nbytes / row_nbytes * plain_nbytes;
	size_t		capacity;
	void	   *memory;

	if (nbytes < FIRST_CHUNK_NBYTES)
		nbytes = FIRST_CHUNK_NBYTES;
	if (nbytes > LAST_CHUNK_NBYTES)
		nbytes = LAST_CHUNK_NBYTES;
	capacity = nbytes / plain_nbytes;
	if (limit > 0 && capacity > (limit - sink->nbytes) / row_nbytes)
		capacity = (limit - sink->nbytes) / row_nbytes;
	if (capacity == 0 && limit == 0)
		capacity = 1;
	memory = capacity == 0 ? NULL : malloc(gr_row_chunk_nbytes(capacity, row_nbytes));
	if (memory == NULL)
	{
		err->bytes_needed = sink->nbytes + row_nbytes;
		return gr_fail(err, GR_NO_MEMORY, 0, "no room for more rows in %zu bytes", limit);
	}
	sink->nbytes += capacity * row_nbytes;
	gr_row_list_append(&sink->rows, memory, (int64_t) capacity);
	return true;
}

static bool
keep_rows(GrSink *sink, const void *rows, int64_t nrows, GrError *err)
{
	GrRowShape	shape = sink->options.shape;
	size_t		row_nbytes = gr_row_nbytes(shape);

	for (int64_t done = 0; done < nrows;)
	{
		const char *from = (const char *) rows + (size_t) done * row_nbytes;
		double	   *into;
		int64_t		n;

		if (gr_row_list_is_full(&sink->rows) && !grow(sink, err))
			return false;
		into = gr_row_list_next(&sink->rows, (size_t) gr_row_ncols(shape));
		n = sink->rows.last->capacity - sink->rows.last->nrows;
		n = nrows - done < n ? nrows - done : n;
		if (shape.single)
			gr_widen_rows(from, n, shape, into);
		else
			memcpy(into, from, (size_t) n * row_nbytes);
		sink->rows.last->nrows += n;
		done += n;
	}
	return true;
}

static bool
cpu_sink_send(GrSink *sink, const void *rows, int64_t nrows, GrError *err)
{
	bool		ok = sink->options.kind == GR_SINK_SUM ? sum_rows(sink, rows, nrows, err) :
		keep_rows(sink, rows, nrows, err);

	sink->ncalls += ok;
	return ok;
}

static bool
cpu_sink_sent(GrSink *sink, bool wait, int64_t *ncalls, GrError *err)
{
	(void) wait;
	(void) err;
	*ncalls = sink->ncalls;
	return true;
}

static bool
cpu_sink_finish(GrSink *sink, GrDDVector triangle, GrError *err)
{
	size_t		nbytes = (size_t) gr_triangle(gr_norder(sink->options.shape.nfeatures)) * sizeof(double);

	(void) err;
	memcpy(triangle.hi, sink->hi, nbytes);
	memcpy(triangle.lo, sink->lo, nbytes);
	return true;
}

/* Makes the sums of a request that needs all rows at once. */
static bool
sum_whole(const GrSink *sink, const GrRequest *request, double *sums, const GrHost *host, GrError *err)
{
	GrRowPieces pieces = {0};
	const double **rows;
	int64_t    *nrows;
	bool		ok;

	for (const GrRowChunk *chunk = sink->rows.first; chunk != NULL; chunk = chunk->next)
		pieces.n++;
	rows = malloc((size_t) (pieces.n + 1) * (sizeof(double *) + sizeof(int64_t)));
	if (rows == NULL)
		return gr_fail(err, GR_NO_MEMORY, 0, "%s", gr_request_name(request));
	nrows = (int64_t *) (rows + pieces.n);
	pieces.n = 0;
	for (const GrRowChunk *chunk = sink->rows.first; chunk != NULL; chunk = chunk->next)
	{
		rows[pieces.n] = chunk->rows;
		nrows[pieces.n++] = chunk->nrows;
	}
	pieces.rows = rows;
	pieces.nrows = nrows;
	ok = gr_request_sum_whole(request, &pieces, sums, host, err);
	free(rows);
	return ok;
}

/* Adds rows to request in parts, polling host after each, unless gr_request_add() polls by itself. */
static bool
cpu_sink_sums(GrSink *sink, const GrRequest *request, double *sums, const GrHost *host, GrError *err)
{
	double		started = gr_seconds();
	int			stride;
	int64_t		piece;
	size_t		scratch_nbytes;
	void	   *scratch;
	bool		ok = true;

	if (!gr_request_valid(request, gr_request_nbytes(request), sink->options.shape, err))
		return false;
	if (gr_request_is_whole(request))
	{
		ok = sum_whole(sink, request, sums, host, err);
		sink->kernel_s += gr_seconds() - started;
		return ok;
	}
	stride = gr_row_ncols(request->shape);
	piece = gr_request_polls(request) ? INT64_MAX : POLL_WORK / gr_nterms(request->shape.nfeatures) + 1;
	scratch_nbytes = gr_request_scratch_nbytes(request);
	scratch = malloc(scratch_nbytes);
	if (scratch == NULL)
	{
		err->bytes_needed = scratch_nbytes;
		return gr_fail(err, GR_NO_MEMORY, 0, "scratch memory of %s", gr_request_name(request));
	}
	for (const GrRowChunk *chunk = sink->rows.first; ok && chunk != NULL; chunk = chunk->next)
	{
		int64_t		n;

		for (int64_t from = 0; ok && from < chunk->nrows; from += n)
		{
			n = chunk->nrows - from < piece ? chunk->nrows - from : piece;
			ok = gr_request_add(request, sums, chunk->rows + from * stride, n, scratch, host) && !gr_canceled(host);
		}
	}
	free(scratch);
	sink->kernel_s += gr_seconds() - started;
	return ok || gr_fail(err, GR_CANCELED, 0, "%s over the rows", gr_request_name(request));
}

static bool
cpu_sink_change(GrSink *sink, const GrBasis *basis, const GrHost *host, GrError *err)
{
	double		started = gr_seconds();
	GrPoll		poll = {.host = host};

	for (GrRowChunk *chunk = sink->rows.first; chunk != NULL; chunk = chunk->next)
		if (!gr_basis_change_rows(basis, gr_wide_shape(sink->options.shape), chunk->rows, chunk->nrows, &poll))
			return gr_fail(err, GR_CANCELED, 0, "a change of basis");
	sink->kernel_s += gr_seconds() - started;
	return true;
}

/* State of cpu_sink_derive() */
typedef struct Derive
{
	GrDeriving *deriving;
	const GrDerivation *d;
	GrRowRules	rules;
	GrSink	   *derived;		/* sink for the derived rows; NULL: rows are only checked and counted */
	GrDeriveCounts *counts;
	double	   *rows;			/* capacity derived rows; they stay in the cache */
	int64_t		capacity;
	GrPoll		poll;
} Derive;

static bool
derive_begin(Derive *derive, GrError *err)
{
	size_t		row_nbytes = gr_row_nbytes(gr_derived_shape(derive->d));
	int64_t		most = POLL_WORK / gr_derivation_work(derive->d) + 1;

	derive->capacity = (int64_t) (WIDE_NBYTES / row_nbytes) + 1;
	derive->capacity = derive->capacity < most ? derive->capacity : most;
	derive->deriving = gr_deriving_begin(derive->d, err);
	if (derive->deriving == NULL)
		return false;
	derive->rows = malloc((size_t) derive->capacity * row_nbytes);
	if (derive->rows != NULL)
		return true;
	err->bytes_needed = (size_t) derive->capacity * row_nbytes;
	return gr_fail(err, GR_NO_MEMORY, 0, "rows that are derived");
}

static bool
derive_chunk(Derive *derive, const GrRowChunk *chunk, GrError *err)
{
	GrRowShape	shape = gr_derived_shape(derive->d);
	int64_t		row_work = gr_derivation_work(derive->d);

	for (int64_t done = 0; done < chunk->nrows; done += derive->capacity)
	{
		int64_t		n = chunk->nrows - done < derive->capacity ? chunk->nrows - done : derive->capacity;
		int64_t		nderived = gr_derive_rows(derive->deriving, chunk->rows + done * derive->d->ncolumns, n,
											  derive->rows, derive->counts);

		if (!gr_derived_valid(derive->rows, nderived, shape, derive->rules, err))
			return false;
		if (gr_has_totals(shape, derive->rules))
			gr_totals_add(&derive->counts->totals, derive->rows, nderived, shape, derive->rules);
		if (derive->derived != NULL && !keep_rows(derive->derived, derive->rows, nderived, err))
			return false;
		if (gr_poll(&derive->poll, n * row_work))
			return gr_fail(err, GR_CANCELED, 0, "rows that are derived");
	}
	return true;
}

static bool
cpu_sink_derive(GrSink *sink, const GrDeriveTask *task, const GrHost *host, GrError *err)
{
	double		started = gr_seconds();
	const GrDerivation *d = task->derivation;
	GrSink	  **derived = task->derived;
	GrSinkOptions of_derived = *task->options;
	Derive		derive = {.d = d,.rules = task->rules,.counts = task->counts,.poll = {.host = host}};
	bool		ok = true;

	if (derived != NULL)
		*derived = NULL;
	memset(task->counts, 0, sizeof(*task->counts));
	if (sink->options.kind != GR_SINK_KEEP || d->ncolumns != gr_row_ncols(sink->options.shape))
		return gr_fail(err, GR_INVALID, 0, "rows of %d columns are derived from others", d->ncolumns);
	of_derived.kind = GR_SINK_KEEP;
	of_derived.shape = gr_derived_shape(d);
	if (derived != NULL && !cpu_sink_begin(NULL, &of_derived, derived, err))
		return false;
	derive.derived = derived == NULL ? NULL : *derived;
	ok = derive_begin(&derive, err);
	for (const GrRowChunk *chunk = sink->rows.first; ok && chunk != NULL; chunk = chunk->next)
		ok = derive_chunk(&derive, chunk, err);
	ok = ok && (!gr_canceled(host) || gr_fail(err, GR_CANCELED, 0, "rows that are derived"));
	gr_deriving_end(derive.deriving);
	free(derive.rows);
	if (derive.derived != NULL)
		derive.derived->kernel_s += gr_seconds() - started;
	return ok;
}

static bool
cpu_sink_read(GrSink *sink, int64_t first, int64_t nrows, double *rows, GrError *err)
{
	int64_t		ncols = gr_row_ncols(sink->options.shape);

	if (first < 0 || nrows < 0)
		return gr_fail(err, GR_INVALID, 0, "there are no such rows");
	for (const GrRowChunk *chunk = sink->rows.first; nrows > 0 && chunk != NULL; chunk = chunk->next)
	{
		int64_t		n = chunk->nrows - first < nrows ? chunk->nrows - first : nrows;

		if (n > 0)
		{
			memcpy(rows, chunk->rows + first * ncols, (size_t) (n * ncols) * sizeof(double));
			rows += n * ncols;
			nrows -= n;
		}
		first = first > chunk->nrows ? first - chunk->nrows : 0;
	}
	return nrows == 0 || gr_fail(err, GR_INVALID, 0, "there are no such rows");
}

static void
cpu_sink_times(const GrSink *sink, GrTimes *times)
{
	*times = (GrTimes) {.kernel_s = sink->kernel_s};
}

/* No can_ascend and ascend: on the CPU the caller's passes are as fast. */
static const GrSinkOps sink_ops = {
	.begin = cpu_sink_begin,
	.send = cpu_sink_send,
	.sent = cpu_sink_sent,
	.restart = cpu_sink_restart,
	.finish = cpu_sink_finish,
	.sums = cpu_sink_sums,
	.change = cpu_sink_change,
	.derive = cpu_sink_derive,
	.read = cpu_sink_read,
	.times = cpu_sink_times,
	.end = cpu_sink_end
};

/* Projection on the CPU: submit computes the batch. */
struct GrProject
{
	GrProjectOptions options;
	GrDraw		draw;
	int64_t		capacity;		/* vectors of a batch */
	float	   *vectors;
	float	   *projected[GR_PROJECT_NSLOTS];
	int64_t		nvectors[GR_PROJECT_NSLOTS];
	int			nsubmitted;		/* batches submitted and not taken */
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
cpu_project_begin(GrSession *session, const GrProjectOptions *options, const GrHost *host, GrProject **project,
				  GrError *err)
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
	double		started = gr_seconds();
	int			slot = project->next;
	const GrProjectVectors vectors = {.x = project->vectors,.nvectors = nvectors,.dim = options->dim};
	GrProjection *projection;

	if (project->nsubmitted == GR_PROJECT_NSLOTS || nvectors < 0 || nvectors > project->capacity)
		return gr_fail(err, GR_INVALID, 0, "no batch of %lld vectors was handed out", (long long) nvectors);
	/* opened for each batch, since other projects may use the cache between two batches */
	projection = gr_projection_open(options->cache, project->draw.k, project->draw.seed, project->draw.density,
									options->cache_nbytes, err);
	if (projection == NULL ||
		!gr_projection_apply(projection, &vectors, project->projected[slot], host, err))
		return false;
	project->nvectors[slot] = nvectors;
	project->nsubmitted++;
	project->next = (slot + 1) % GR_PROJECT_NSLOTS;
	project->kernel_s += gr_seconds() - started;
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
cpu_project_times(const GrProject *project, GrTimes *times)
{
	*times = (GrTimes) {.kernel_s = project->kernel_s};
}

static const GrProjectorOps projector_ops = {
	.begin = cpu_project_begin,
	.block = cpu_project_block,
	.submit = cpu_project_submit,
	.take = cpu_project_take,
	.times = cpu_project_times,
	.end = cpu_project_end
};

const GrBackend gr_backend_cpu = {.name = "cpu",.sink = &sink_ops,.projector = &projector_ops};
