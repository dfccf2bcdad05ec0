/*
 * multinom_request.h: makes requests for the sums of a multinomial regression. sql/classes/fn_multinom.c is the caller.
 */
#ifndef GPUREG_MULTINOM_REQUEST_H
#define GPUREG_MULTINOM_REQUEST_H

#include "compute/classes/multinom_sums.h"
#include "compute/request/request.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Makes a request in memory that memory.take() gives. Its sums are gr_multinom_nsums() GrDD. Returns NULL with
 * GR_NO_MEMORY if there is no memory.
 */
extern GrRequest *gr_request_of_multinom(const GrMultinomPass *pass, GrMemory memory, GrError *err);

/* Parts of the member measure: the pass's measure, and above it the link of an ordinal regression */
#define GR_REQUEST_MEASURE 255
#define GR_REQUEST_LINK_SHIFT 8

/* Returns the pass of a request. Its arrays point into the request. */
static inline GrMultinomPass
gr_request_multinom(const GrRequest *request)
{
	GrMultinomPass pass;

	memset(&pass, 0, sizeof(pass));
	pass.measure = (GrMultinomMeasure) (request->measure & GR_REQUEST_MEASURE);
	pass.link = (GrLink) (request->measure >> GR_REQUEST_LINK_SHIFT);
	pass.shape = request->shape;
	pass.nclasses = request->nclasses;
	pass.values = gr_request_array(request, GR_REQUEST_LINES);
	pass.beta = gr_request_array(request, GR_REQUEST_BETA);
	pass.shift = gr_request_array(request, GR_REQUEST_SHIFT);
	pass.nfaces = request->nfaces;
	pass.faces = gr_request_array(request, GR_REQUEST_FACES);
	pass.face_absolute = gr_request_array(request, GR_REQUEST_FACE_ABSOLUTE);
	pass.counts = (request->flags & GR_REQUEST_COUNTS) != 0;
	pass.exact = (request->flags & GR_REQUEST_COARSE) == 0;
	return pass;
}

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_MULTINOM_REQUEST_H */
