/*
 * backend_none.c: the CUDA table of a build without nvcc. Its open() says so; nothing else of it is ever reached with a
 * session or a job.
 */
#include "compute/compute.h"

static bool
none_list(GrDeviceInfo *devices, int max, int *ndevices, GrError *err)
{
	(void) devices;
	(void) max;
	*ndevices = 0;
	gr_fail(err, GR_NO_DEVICE, 0, "gpureg was built without CUDA");
	return true;
}

static bool
none_open(GrSession **session, const GrOpenOptions *options, GrError *err)
{
	(void) options;
	*session = NULL;
	return gr_fail(err, GR_NO_DEVICE, 0, "gpureg was built without CUDA");
}

static void
none_close(GrSession *session)
{
	(void) session;
}

static const GrDeviceInfo *
none_describe(const GrSession *session)
{
	(void) session;
	return NULL;
}

static bool
none_gram_begin(GrSession *session, const GrGramOptions *options, GrGram **gram, GrError *err)
{
	(void) session;
	(void) options;
	*gram = NULL;
	return gr_fail(err, GR_NO_DEVICE, 0, "gpureg was built without CUDA");
}

static bool
none_gram_block(GrGram *gram, double **rows, int64_t *capacity, GrError *err)
{
	(void) gram;
	*rows = NULL;
	*capacity = 0;
	return gr_fail(err, GR_NO_DEVICE, 0, "gpureg was built without CUDA");
}

static bool
none_gram_submit(GrGram *gram, int64_t nrows, GrError *err)
{
	(void) gram;
	(void) nrows;
	return gr_fail(err, GR_NO_DEVICE, 0, "gpureg was built without CUDA");
}

static bool
none_gram_finish(GrGram *gram, double *hi, double *lo, GrGramTimes *times, GrError *err)
{
	(void) gram;
	(void) hi;
	(void) lo;
	(void) times;
	return gr_fail(err, GR_NO_DEVICE, 0, "gpureg was built without CUDA");
}

static void
none_gram_end(GrGram *gram)
{
	(void) gram;
}

const GrBackend gr_backend_cuda = {
	.name = "gpu",
	.list = none_list,
	.open = none_open,
	.close = none_close,
	.describe = none_describe,
	.gram_begin = none_gram_begin,
	.gram_block = none_gram_block,
	.gram_submit = none_gram_submit,
	.gram_finish = none_gram_finish,
	.gram_end = none_gram_end
};
