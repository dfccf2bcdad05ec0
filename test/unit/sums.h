/*
 * sums.h: makes a request of a pass or a bootstrap, and sums it over the rows of a sink; for the tests.
 */
#ifndef GPUREG_TEST_SUMS_H
#define GPUREG_TEST_SUMS_H

#include <stdlib.h>

#include "compute/backend/backend.h"
#include "compute/request/request.h"

static inline bool
sum_request(const GrSinkOps *ops, GrSink *sink, GrRequest *request, double *sums, const GrHost *host, GrError *err)
{
	bool		ok = request != NULL && ops->sums(sink, request, sums, host, err);

	free(request);
	return ok;
}

static inline bool
sum_pass(const GrSinkOps *ops, GrSink *sink, const GrPass *pass, double *sums, const GrHost *host, GrError *err)
{
	return sum_request(ops, sink, gr_request_of_pass(pass, gr_request_malloc, err), sums, host, err);
}

static inline bool
sum_boot(const GrSinkOps *ops, GrSink *sink, const GrBootPass *pass, double *sums, const GrHost *host, GrError *err)
{
	return sum_request(ops, sink, gr_request_of_boot(pass, gr_request_malloc, err), sums, host, err);
}

#endif							/* GPUREG_TEST_SUMS_H */
