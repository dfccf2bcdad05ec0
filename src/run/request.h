/*
 * request.h: requests (compute/request/request.h) for statements: made in PostgreSQL's memory, and interruptible.
 */
#ifndef GPUREG_RUN_REQUEST_H
#define GPUREG_RUN_REQUEST_H

#include "postgres.h"

#include "compute/glm/glm_fit.h"
#include "compute/request/request.h"

/* Makes a request in the current memory context; pfree() gives it back. */
extern GrRequest *gr_pass_request(const GrPass *pass);
extern GrRequest *gr_boot_request(const GrBootPass *pass);

/* Makes the request of the sums of clusters that a fit asks for. */
extern GrRequest *gr_clusters_request(const GrGlmFit *fit);

/* Makes gr_request_scratch_nbytes() bytes in the current memory context. */
extern void *gr_request_scratch(const GrRequest *request);

/* gr_request_add(), interruptible */
extern void gr_add_request(const GrRequest *request, double *sums, const double *rows, int64 nrows, void *scratch);

#endif							/* GPUREG_RUN_REQUEST_H */
