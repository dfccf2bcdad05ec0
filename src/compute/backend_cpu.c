/*
 * backend_cpu.c: the table of primitives on the CPU.
 */
#include "compute/compute.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "compute/glm.h"

/* Chunks of kept rows double in size from the one to the other, bytes. */
#define FIRST_CHUNK_NBYTES ((size_t) 256 << 10)
#define LAST_CHUNK_NBYTES ((size_t) 16 << 20)

/* Rows times terms of a pass between two polls: some milliseconds. */
#define POLL_WORK 1000000

struct GrGram
{
	int			nfeatures;
	int64_t		capacity;
	double	   *rows;
	double	   *hi;
	double	   *lo;
	double	   *scratch;
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
	free(gram->rows);
	free(gram->hi);
	free(gram->lo);
	free(gram->scratch);
	free(gram);
}

static bool
cpu_gram_begin(GrSession *session, const GrGramOptions *options, GrGram **gram, GrError *err)
{
	size_t		row_nbytes = ((size_t) options->nfeatures + 1) * sizeof(double);
	size_t		triangle = (size_t) gr_triangle(options->nfeatures + 2);
	size_t		block_nbytes;
	GrGram	   *g;

	(void) session;
	g = calloc(1, sizeof(GrGram));
	*gram = g;
	if (g == NULL)
	{
		err->bytes_needed = sizeof(GrGram);
		return gr_fail(err, GR_NO_MEMORY, 0, "Gram job");
	}
	/* a block that stays in the second-level cache between being filled and being read */
	block_nbytes = options->block_nbytes < 262144 ? options->block_nbytes : 262144;
	g->nfeatures = options->nfeatures;
	g->capacity = block_nbytes / row_nbytes > 0 ? (int64_t) (block_nbytes / row_nbytes) : 1;
	g->rows = malloc((size_t) g->capacity * row_nbytes);
	g->hi = calloc(triangle, sizeof(double));
	g->lo = calloc(triangle, sizeof(double));
	g->scratch = malloc(gr_gram_scratch_nbytes(options->nfeatures));
	if (g->rows == NULL || g->hi == NULL || g->lo == NULL || g->scratch == NULL)
	{
		err->bytes_needed = 2 * triangle * sizeof(double);
		return gr_fail(err, GR_NO_MEMORY, 0, "Gram matrix");
	}
	return true;
}

static bool
cpu_gram_block(GrGram *gram, double **rows, int64_t *capacity, GrError *err)
{
	(void) err;
	*rows = gram->rows;
	*capacity = gram->capacity;
	return true;
}

static bool
cpu_gram_submit(GrGram *gram, int64_t nrows, GrError *err)
{
	double		started = now_s();

	(void) err;
	gr_gram_add(gram->hi, gram->lo, gram->rows, nrows, gram->nfeatures, gram->scratch);
	gram->kernel_s += now_s() - started;
	return true;
}

static bool
cpu_gram_finish(GrGram *gram, double *hi, double *lo, GrGramTimes *times, GrError *err)
{
	size_t		nbytes = (size_t) gr_triangle(gram->nfeatures + 2) * sizeof(double);

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
	int			nfeatures;
	size_t		memory_limit;
	size_t		nbytes;
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
	r->nfeatures = options->nfeatures;
	r->memory_limit = options->memory_limit;
	return true;
}

/* Adds an empty chunk at the end. */
static bool
grow(GrRows *rows, GrError *err)
{
	size_t		row_nbytes = ((size_t) rows->nfeatures + 1) * sizeof(double);
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

/* The caller fills the rows in their place. */
static bool
cpu_rows_block(GrRows *rows, double **block, int64_t *capacity, GrError *err)
{
	if ((rows->last == NULL || rows->last->nrows == rows->last->capacity) && !grow(rows, err))
		return false;
	*block = rows->last->rows + rows->last->nrows * (rows->nfeatures + 1);
	*capacity = rows->last->capacity - rows->last->nrows;
	return true;
}

static bool
cpu_rows_submit(GrRows *rows, int64_t nrows, GrError *err)
{
	(void) err;
	rows->last->nrows += nrows;
	return true;
}

static bool
cpu_rows_pass(GrRows *rows, const GrPass *pass, double *sums, const GrHost *host, GrError *err)
{
	double		started = now_s();
	int64_t		piece = POLL_WORK / (rows->nfeatures + 1) + 1;
	size_t		scratch_nbytes = gr_pass_scratch_nbytes(pass->kind, pass->nfeatures);
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

			gr_pass_add(pass, sums, chunk->rows + from * (rows->nfeatures + 1), n, scratch);
			if (gr_canceled(host))
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

const GrBackend gr_backend_cpu = {
	.name = "cpu",
	.list = cpu_list,
	.open = cpu_open,
	.close = cpu_close,
	.describe = cpu_describe,
	.gram_begin = cpu_gram_begin,
	.gram_block = cpu_gram_block,
	.gram_submit = cpu_gram_submit,
	.gram_finish = cpu_gram_finish,
	.gram_end = cpu_gram_end,
	.rows_begin = cpu_rows_begin,
	.rows_block = cpu_rows_block,
	.rows_submit = cpu_rows_submit,
	.rows_pass = cpu_rows_pass,
	.rows_can_ascend = cpu_rows_can_ascend,
	.rows_ascend = cpu_rows_ascend,
	.rows_times = cpu_rows_times,
	.rows_end = cpu_rows_end
};
