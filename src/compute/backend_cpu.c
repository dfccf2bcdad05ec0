/*
 * backend_cpu.c: the table of primitives on the CPU.
 */
#include "compute/compute.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

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
	.gram_end = cpu_gram_end
};
