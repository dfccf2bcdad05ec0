/*
 * request.c: requests for statements; see request.h.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "run/raise.h"
#include "run/request.h"

static void *
take_memory(void *arg, size_t nbytes)
{
	return MemoryContextAllocHuge((MemoryContext) arg, nbytes);
}

GrRequest *
gr_pass_request(const GrPass *pass)
{
	GrError		err = {0};
	GrRequest  *request = gr_request_of_pass(pass, (GrMemory) {take_memory, CurrentMemoryContext}, &err);

	if (request == NULL)
		gr_raise(&err);
	return request;
}

GrRequest *
gr_boot_request(const GrBootPass *pass)
{
	GrError		err = {0};
	GrRequest  *request = gr_request_of_boot(pass, (GrMemory) {take_memory, CurrentMemoryContext}, &err);

	if (request == NULL)
		gr_raise(&err);
	return request;
}

GrRequest *
gr_clusters_request(const GrGlmFit *fit)
{
	const GrClusterPass pass = {
		.scores = {
			.shape = fit->pass.shape,.distribution = fit->pass.distribution,.beta = fit->pass.beta,
			.beta_lo = fit->pass_lo,.shift = fit->pass.shift
		},
		.way = (GrClusterWay) fit->way
	};
	GrError		err = {0};
	GrRequest  *request = gr_request_of_clusters(&pass, (GrMemory) {take_memory, CurrentMemoryContext}, &err);

	if (request == NULL)
		gr_raise(&err);
	return request;
}

void *
gr_request_scratch(const GrRequest *request)
{
	return MemoryContextAllocHuge(CurrentMemoryContext, gr_request_scratch_nbytes(request));
}

void
gr_add_request(const GrRequest *request, double *sums, const double *rows, int64 nrows, void *scratch)
{
	if (!gr_request_add(request, sums, rows, nrows, scratch, &gr_host))
	{
		GrError		err = {0};

		gr_fail(&err, GR_CANCELED, 0, "%s over the rows", gr_request_name(request));
		gr_raise(&err);
	}
}
