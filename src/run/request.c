/*
 * request.c: requests for statements; see request.h.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "run/raise.h"
#include "run/request.h"

/* ERROR if a request could not be made. */
static GrRequest *
made(GrRequest *request, const GrError *err)
{
	if (request == NULL)
		gr_raise(err);
	return request;
}

GrRequest *
gr_linear_request(GrRowShape shape, GrRowRules rules, const double *shift)
{
	double	   *zeros = palloc0(gr_nterms(shape.nfeatures) * sizeof(double));
	const GrPass pass = {
		.kind = GR_PASS_EXACT,.shape = shape,.distribution = {GR_GAUSSIAN, GR_IDENTITY},.linear = true,
		.beta = zeros,.shift = shift,.measure = GR_MEASURE_STEP,.counts = rules.weighting == GR_FREQUENCIES
	};
	GrRequest  *request = gr_pass_request(&pass);

	pfree(zeros);
	return request;
}

GrRequest *
gr_logit_gradient_request(GrRowShape shape, bool counts, const double *beta, const double *shift)
{
	const GrPass pass = {
		.kind = GR_PASS_GRADIENT,.shape = shape,.distribution = GR_LOGISTIC,.beta = beta,.shift = shift,
		.measure = GR_MEASURE_STEP,.counts = counts
	};

	return gr_pass_request(&pass);
}

GrRequest *
gr_logit_face_request(GrRowShape shape, const double *face)
{
	double	   *zeros = palloc0(gr_nterms(shape.nfeatures) * sizeof(double));
	double		nothing = 0;
	const GrPass pass = {
		.kind = GR_PASS_FACE,.shape = shape,.distribution = GR_LOGISTIC,.shift = zeros,.beta = zeros,.nfaces = 1,
		.faces = face,.face_absolute = &nothing
	};
	GrRequest  *request = gr_pass_request(&pass);

	pfree(zeros);
	return request;
}

GrRequest *
gr_boot_request(const GrBootPass *pass)
{
	GrError		err = {0};

	return made(gr_request_of_boot(pass, gr_memory_here(), &err), &err);
}

GrRequest *
gr_row_scores_request(const GrScores *scores)
{
	GrError		err = {0};

	return made(gr_request_of_scores(scores, gr_memory_here(), &err), &err);
}

GrRequest *
gr_margins_request(const GrMarginModel *model)
{
	GrError		err = {0};

	return made(gr_request_of_margins(model, gr_memory_here(), &err), &err);
}

GrRequest *
gr_multinom_request(const GrMultinomPass *pass)
{
	GrError		err = {0};

	return made(gr_request_of_multinom(pass, gr_memory_here(), &err), &err);
}

static GrScores
scores_of(const GrGlmFit *fit)
{
	return (GrScores) {
		.shape = fit->pass.shape,.distribution = fit->pass.distribution,.beta = fit->pass.beta,.beta_lo = fit->pass_lo,
		.shift = fit->pass.shift,.hessian = gr_fit_vcov(fit) == GR_VCOV_CR2
	};
}

GrRequest *
gr_scores_request(const GrGlmFit *fit)
{
	const GrScores scores = scores_of(fit);

	return gr_row_scores_request(&scores);
}

GrRequest *
gr_clusters_request(const GrGlmFit *fit)
{
	const GrClusterPass pass = {.scores = scores_of(fit),.way = (GrClusterWay) fit->way};
	GrError		err = {0};

	return made(gr_request_of_clusters(&pass, gr_memory_here(), &err), &err);
}

GrRequest *
gr_make_request(GrRequest *head, const double *const *from, int ngroups)
{
	GrError		err = {0};
	GrRequest  *request = made(gr_request_make(head, from, gr_memory_here(), &err), &err);

	return ngroups == 0 ? request : made(gr_request_by_group(request, ngroups, gr_memory_here(), &err), &err);
}

GrRequest *
gr_kind_request(GrRequestKind kind, GrRowShape shape, int ngroups, const double *numbers, Size n)
{
	const double *from[GR_REQUEST_NARRAYS] = {NULL};
	GrRequestLayout layout;
	GrRequest	head;
	double	   *at;
	Size		nall = 0;

	memset(&head, 0, sizeof(head));
	head.kind = kind;
	head.shape = shape;
	head.distribution = (GrDistribution) {GR_GAUSSIAN, GR_IDENTITY};
	head.nclasses = kind == GR_REQUEST_MULTINOM ? 2 : 0;
	layout = gr_request_layout(&head);
	for (int k = 0; k < GR_REQUEST_NARRAYS; k++)
		nall += layout.n[k];
	if (n > nall)
		elog(ERROR, "%s has arrays of %zu numbers, not of %zu", gr_request_name(&head), nall, n);
	at = palloc0(Max(nall, 1) * sizeof(double));
	memcpy(at, numbers, n * sizeof(double));
	for (int k = 0; k < GR_REQUEST_NARRAYS; at += layout.n[k++])
		from[k] = layout.n[k] > 0 ? at : NULL;
	return gr_make_request(&head, from, ngroups);
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
