/*
 * margins_request.c: requests for the sums of average marginal effects, GR_REQUEST_MARGINS. The arrays are beta; the
 * member measure of the head is the link, as rows are checked as those of a gaussian family.
 */
#include "compute/request/margins_request.h"

#include <string.h>

GrRequest *
gr_request_of_margins(const GrMarginModel *model, GrMemory memory, GrError *err)
{
	const double *const from[GR_REQUEST_NARRAYS] = {[GR_REQUEST_BETA] = model->beta};
	GrRequest	head;

	memset(&head, 0, sizeof(head));
	head.kind = GR_REQUEST_MARGINS;
	head.shape = model->shape;
	head.distribution = (GrDistribution) {.family = GR_GAUSSIAN,.link = GR_IDENTITY};
	head.measure = (int32_t) model->link;
	return gr_request_make(&head, from, memory, err);
}

static GrRequestLayout
lay_out(const GrRequest *request)
{
	return (GrRequestLayout) {.n = {[GR_REQUEST_BETA] = (size_t) request->shape.nfeatures + 1}};
}

static bool
valid(const GrRequest *request, GrError *err)
{
	return (!request->shape.weight && (uint32_t) request->measure < GR_NLINKS &&
			gr_request_array(request, GR_REQUEST_BETA) != NULL) ||
		gr_fail(err, GR_INVALID, 0, "there are no sums of effects with link %d", (int) request->measure);
}

static size_t
nsums(const GrRequest *request)
{
	return 2 * gr_margin_nsums(request->shape.nfeatures);
}

static void
merge(const GrRequest *request, double *sums, const double *other)
{
	GrDD	   *to = (GrDD *) sums;
	const GrDD *from = (const GrDD *) other;

	for (size_t k = 0; k < gr_margin_nsums(request->shape.nfeatures); k++)
		to[k] = gr_dd_add(to[k], from[k]);
}

static bool
add(const GrRequest *request, double *sums, const double *rows, int64_t nrows, void *scratch, const GrHost *host)
{
	const GrMarginModel model = {
		.link = (GrLink) request->measure,.shape = request->shape,.beta = gr_request_array(request, GR_REQUEST_BETA)
	};
	size_t		ncols = (size_t) gr_row_ncols(request->shape);

	for (int64_t first = 0; first < nrows; first += GR_MARGIN_ROWS)
	{
		int64_t		n = nrows - first < GR_MARGIN_ROWS ? nrows - first : GR_MARGIN_ROWS;

		if (gr_canceled(host))
			return false;
		gr_margin_sums_add(&model, rows + (size_t) first * ncols, (int) n, scratch, (GrDD *) sums);
	}
	return true;
}

static size_t
scratch_nbytes(const GrRequest *request)
{
	return gr_margin_scratch(request->shape.nfeatures) * sizeof(double);
}

const GrRequestOps gr_request_ops_margins = {
	.name = "sums of marginal effects",.lay_out = lay_out,.valid = valid,.nsums = nsums,.merge = merge,.add = add,
	.scratch_nbytes = scratch_nbytes,.polls = true,.batch = GR_REQUEST_BATCH
};
