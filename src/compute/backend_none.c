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
none_present(void)
{
	return false;
}

static bool
none_pin(GrSession *session, void *memory, size_t nbytes, GrError *err)
{
	(void) session;
	(void) memory;
	(void) nbytes;
	return gr_fail(err, GR_NO_DEVICE, 0, "gpureg was built without CUDA");
}

static void
none_unpin(GrSession *session, void *memory)
{
	(void) session;
	(void) memory;
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
none_gram_restart(GrGram *gram, const double *shift, GrError *err)
{
	(void) gram;
	(void) shift;
	return gr_fail(err, GR_NO_DEVICE, 0, "gpureg was built without CUDA");
}

static bool
none_gram_send(GrGram *gram, const void *rows, int64_t nrows, GrError *err)
{
	(void) gram;
	(void) rows;
	(void) nrows;
	return gr_fail(err, GR_NO_DEVICE, 0, "gpureg was built without CUDA");
}

static bool
none_gram_sent(GrGram *gram, bool wait, int64_t *ncalls, GrError *err)
{
	(void) gram;
	(void) wait;
	*ncalls = 0;
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

static bool
none_rows_begin(GrSession *session, const GrRowsOptions *options, GrRows **rows, GrError *err)
{
	(void) session;
	(void) options;
	*rows = NULL;
	return gr_fail(err, GR_NO_DEVICE, 0, "gpureg was built without CUDA");
}

static bool
none_rows_send(GrRows *rows, const void *block, int64_t nrows, GrError *err)
{
	(void) rows;
	(void) block;
	(void) nrows;
	return gr_fail(err, GR_NO_DEVICE, 0, "gpureg was built without CUDA");
}

static bool
none_rows_sent(GrRows *rows, bool wait, int64_t *ncalls, GrError *err)
{
	(void) rows;
	(void) wait;
	*ncalls = 0;
	return gr_fail(err, GR_NO_DEVICE, 0, "gpureg was built without CUDA");
}

static bool
none_rows_pass(GrRows *rows, const GrPass *pass, double *sums, const GrHost *host, GrError *err)
{
	(void) rows;
	(void) pass;
	(void) sums;
	(void) host;
	return gr_fail(err, GR_NO_DEVICE, 0, "gpureg was built without CUDA");
}

static bool
none_rows_change(GrRows *rows, const GrBasis *basis, const GrHost *host, GrError *err)
{
	(void) rows;
	(void) basis;
	(void) host;
	return gr_fail(err, GR_NO_DEVICE, 0, "gpureg was built without CUDA");
}

static bool
none_rows_can_ascend(const GrRows *rows, bool single)
{
	(void) rows;
	(void) single;
	return false;
}

static bool
none_rows_ascend(GrRows *rows, const GrAscent *ascent, double *beta, int64_t *iterations, bool *converged, const GrHost *host,
				 GrError *err)
{
	(void) rows;
	(void) ascent;
	(void) beta;
	(void) host;
	*iterations = 0;
	*converged = false;
	return gr_fail(err, GR_NO_DEVICE, 0, "gpureg was built without CUDA");
}

static void
none_rows_times(const GrRows *rows, GrRowsTimes *times)
{
	(void) rows;
	*times = (GrRowsTimes) {0};
}

static void
none_rows_end(GrRows *rows)
{
	(void) rows;
}

static bool
none_project_begin(GrSession *session, const GrProjectOptions *options, const GrHost *host, GrProject **project, GrError *err)
{
	(void) session;
	(void) options;
	(void) host;
	*project = NULL;
	return gr_fail(err, GR_NO_DEVICE, 0, "gpureg was built without CUDA");
}

static bool
none_project_block(GrProject *project, float **vectors, int64_t *capacity, GrError *err)
{
	(void) project;
	*vectors = NULL;
	*capacity = 0;
	return gr_fail(err, GR_NO_DEVICE, 0, "gpureg was built without CUDA");
}

static bool
none_project_submit(GrProject *project, int64_t nvectors, const GrHost *host, GrError *err)
{
	(void) project;
	(void) nvectors;
	(void) host;
	return gr_fail(err, GR_NO_DEVICE, 0, "gpureg was built without CUDA");
}

static bool
none_project_take(GrProject *project, const float **projected, int64_t *nvectors, GrError *err)
{
	(void) project;
	*projected = NULL;
	*nvectors = 0;
	return gr_fail(err, GR_NO_DEVICE, 0, "gpureg was built without CUDA");
}

static void
none_project_times(const GrProject *project, GrGramTimes *times)
{
	(void) project;
	*times = (GrGramTimes) {0};
}

static void
none_project_end(GrProject *project)
{
	(void) project;
}

const GrBackend gr_backend_cuda = {
	.name = "gpu",
	.list = none_list,
	.open = none_open,
	.close = none_close,
	.describe = none_describe,
	.present = none_present,
	.pin = none_pin,
	.unpin = none_unpin,
	.gram_begin = none_gram_begin,
	.gram_restart = none_gram_restart,
	.gram_send = none_gram_send,
	.gram_sent = none_gram_sent,
	.gram_finish = none_gram_finish,
	.gram_end = none_gram_end,
	.rows_begin = none_rows_begin,
	.rows_send = none_rows_send,
	.rows_sent = none_rows_sent,
	.rows_pass = none_rows_pass,
	.rows_change = none_rows_change,
	.rows_can_ascend = none_rows_can_ascend,
	.rows_ascend = none_rows_ascend,
	.rows_times = none_rows_times,
	.rows_end = none_rows_end,
	.project_begin = none_project_begin,
	.project_block = none_project_block,
	.project_submit = none_project_submit,
	.project_take = none_project_take,
	.project_times = none_project_times,
	.project_end = none_project_end,
	.factor_begin = NULL,		/* ols.c has its own */
	.factor_inverse = NULL,
	.factor_end = NULL
};
