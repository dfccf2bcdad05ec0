/*
 * request.h: requests (compute/request/request.h) for statements: made in PostgreSQL's memory, and interruptible.
 */
#ifndef GPUREG_RUN_REQUEST_H
#define GPUREG_RUN_REQUEST_H

#include "postgres.h"

#include "utils/memutils.h"

#include "compute/glm/glm_fit.h"
#include "compute/request/margins_request.h"
#include "compute/request/multinom_request.h"
#include "compute/request/request.h"
#include "run/raise.h"

static inline void *
gr_take_memory(void *context, size_t nbytes)
{
	return MemoryContextAllocHuge((MemoryContext) context, nbytes);
}

/* Returns the current memory context as the compute layer's memory, for gr_request_of_pass() and the like. */
static inline GrMemory
gr_memory_here(void)
{
	return (GrMemory) {gr_take_memory, CurrentMemoryContext};
}

/* Makes a request in the current memory context; pfree() gives it back. */
static inline GrRequest *
gr_pass_request(const GrPass *pass)
{
	GrError		err = {0};
	GrRequest  *request = gr_request_of_pass(pass, gr_memory_here(), &err);

	if (request == NULL)
		gr_raise(&err);
	return request;
}

/* Makes the request of a linear regression's sums by an EXACT pass. shift: a shift per feature, then a 0 */
extern GrRequest *gr_linear_request(GrRowShape shape, GrRowRules rules, const double *shift);

/* Make requests of a logistic regression: a GRADIENT pass at beta about the shift, and a FACE pass along one face. */
extern GrRequest *gr_logit_gradient_request(GrRowShape shape, bool counts, const double *beta, const double *shift);
extern GrRequest *gr_logit_face_request(GrRowShape shape, const double *face);

extern GrRequest *gr_boot_request(const GrBootPass *pass);
extern GrRequest *gr_row_scores_request(const GrScores *scores);
extern GrRequest *gr_margins_request(const GrMarginModel *model);
extern GrRequest *gr_multinom_request(const GrMultinomPass *pass);

/* Makes the request of the sums that a fit with clusters asks for: of one cluster's rows, or of all clusters. */
extern GrRequest *gr_scores_request(const GrGlmFit *fit);
extern GrRequest *gr_clusters_request(const GrGlmFit *fit);

/*
 * Makes a request of this head and these arrays, as gr_request_make() does. ngroups: 0, or the request is one by group,
 * as gr_request_by_group() makes it.
 */
extern GrRequest *gr_make_request(GrRequest *head, const double *const *from, int ngroups);

/*
 * Makes a request of any kind whose head says no more than the shape of gaussian rows. numbers: its arrays, one behind
 * the other, n float8 of them; what is missing is 0. ERROR if there are more.
 */
extern GrRequest *gr_kind_request(GrRequestKind kind, GrRowShape shape, int ngroups, const double *numbers, Size n);

/* Makes gr_request_scratch_nbytes() bytes in the current memory context. */
extern void *gr_request_scratch(const GrRequest *request);

/* Adds rows to sums as gr_request_add() does, interruptibly. */
extern void gr_add_request(const GrRequest *request, double *sums, const double *rows, int64 nrows, void *scratch);

#endif							/* GPUREG_RUN_REQUEST_H */
