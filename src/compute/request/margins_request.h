/*
 * margins_request.h: makes requests for the sums of average marginal effects. sql/glm/margin_pass.c is the caller.
 */
#ifndef GPUREG_MARGINS_REQUEST_H
#define GPUREG_MARGINS_REQUEST_H

#include "compute/glm/margin_sums.h"
#include "compute/request/request.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Makes a request in memory that memory.take() gives. Its sums are gr_margin_nsums() GrDD, see gr_margin_sums_add().
 * Returns NULL with GR_NO_MEMORY if there is no memory.
 */
extern GrRequest *gr_request_of_margins(const GrMarginModel *model, GrMemory memory, GrError *err);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_MARGINS_REQUEST_H */
