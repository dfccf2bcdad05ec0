/*
 * multinom_request.c: requests for the sums of a multinomial regression, GR_REQUEST_MULTINOM. Rows are checked as those
 * of a gaussian family. The flag COARSE says that a pass is not exact.
 */
#include "compute/request/multinom_request.h"

#include <string.h>

GrRequest *
gr_request_of_multinom(const GrMultinomPass *pass, GrMemory memory, GrError *err)
{
	bool		face = pass->measure == GR_MULTINOM_FACE;
	const double *const from[GR_REQUEST_NARRAYS] = {
		[GR_REQUEST_BETA] = pass->beta,
		[GR_REQUEST_SHIFT] = pass->shift,
		[GR_REQUEST_FACES] = pass->nfaces > 0 ? pass->faces : NULL,
		[GR_REQUEST_FACE_ABSOLUTE] = pass->nfaces > 0 || face ? pass->face_absolute : NULL,
		[GR_REQUEST_LINES] = pass->values
	};
	GrRequest	head;

	memset(&head, 0, sizeof(head));
	head.kind = GR_REQUEST_MULTINOM;
	head.shape = pass->shape;
	head.distribution.family = GR_GAUSSIAN;
	head.distribution.link = GR_IDENTITY;
	head.measure = (int32_t) pass->measure | (int32_t) pass->link << GR_REQUEST_LINK_SHIFT;
	head.nclasses = pass->nclasses;
	head.nfaces = pass->nfaces;
	head.flags = (pass->counts ? GR_REQUEST_COUNTS : 0) | (pass->exact ? 0 : GR_REQUEST_COARSE);
	return gr_request_make(&head, from, memory, err);
}

static bool
is_ordinal(const GrRequest *request)
{
	return (request->measure & GR_REQUEST_MEASURE) == GR_MULTINOM_ORDINAL;
}

static GrRequestLayout
lay_out(const GrRequest *request)
{
	size_t		t = (size_t) gr_nterms(request->shape.nfeatures);
	size_t		k = (size_t) request->nclasses;
	size_t		nfaces = (size_t) request->nfaces;

	return (GrRequestLayout) {
		.n = {
			[GR_REQUEST_BETA] = is_ordinal(request) ? k - 1 + t - 1 : (k - 1) * t,
			[GR_REQUEST_SHIFT] = t - 1,
			[GR_REQUEST_FACES] = nfaces * (k - 1) * t,
			[GR_REQUEST_FACE_ABSOLUTE] = nfaces + ((request->measure & GR_REQUEST_MEASURE) == GR_MULTINOM_FACE ? 1 : 0),
			[GR_REQUEST_LINES] = k
		}
	};
}

static bool
valid(const GrRequest *request, GrError *err)
{
	const GrMultinomPass pass = gr_request_multinom(request);

	if (request->measure < 0 || (unsigned) pass.measure >= GR_NMULTINOM_MEASURES ||
		(unsigned) pass.link >= GR_NLINKS || pass.shape.offset || pass.nfaces < 0 ||
		pass.nfaces > GR_MULTINOM_FACES_MAX || pass.nclasses < 2)
		return gr_fail(err, GR_INVALID, 0, "there are no sums of %d classes that measure %d", pass.nclasses,
					   (int) request->measure);
	if ((pass.nclasses - 1) * (int64_t) gr_nterms(pass.shape.nfeatures) > GR_MULTINOM_TERMS_MAX)
		return gr_fail(err, GR_INVALID, 0, "%d classes with too many features", pass.nclasses);
	if (pass.measure == GR_MULTINOM_ORDINAL &&
		(pass.nfaces != 0 || (pass.link != GR_LOGIT && pass.link != GR_PROBIT && pass.link != GR_CLOGLOG)))
		return gr_fail(err, GR_INVALID, 0, "there is no ordinal regression with link %d", (int) pass.link);
	return (pass.values != NULL && pass.beta != NULL && pass.shift != NULL &&
			(pass.nfaces == 0 || pass.faces != NULL) &&
			(pass.face_absolute != NULL || (pass.nfaces == 0 && pass.measure != GR_MULTINOM_FACE))) ||
		gr_fail(err, GR_INVALID, 0, "sums of classes lack an array");
}

static size_t
nsums(const GrRequest *request)
{
	const GrMultinomPass pass = gr_request_multinom(request);

	return 2 * gr_multinom_nsums(&pass);
}

static void
merge(const GrRequest *request, double *sums, const double *other)
{
	const GrMultinomPass pass = gr_request_multinom(request);

	gr_multinom_sums_merge(&pass, (GrDD *) sums, (const GrDD *) other);
}

static bool
add(const GrRequest *request, double *sums, const double *rows, int64_t nrows, void *scratch, const GrHost *host)
{
	const GrMultinomPass pass = gr_request_multinom(request);
	size_t		ncols = (size_t) gr_row_ncols(request->shape);

	for (int64_t first = 0; first < nrows; first += GR_MULTINOM_ROWS)
	{
		int64_t		n = nrows - first < GR_MULTINOM_ROWS ? nrows - first : GR_MULTINOM_ROWS;

		if (gr_canceled(host))
			return false;
		gr_multinom_sums_add(&pass, rows + (size_t) first * ncols, (int) n, scratch, (GrDD *) sums);
	}
	return true;
}

static size_t
scratch_nbytes(const GrRequest *request)
{
	const GrMultinomPass pass = gr_request_multinom(request);

	return gr_multinom_scratch(&pass) * sizeof(double);
}

const GrRequestOps gr_request_ops_multinom = {
	.name = "sums of classes",.lay_out = lay_out,.valid = valid,.nsums = nsums,.merge = merge,.add = add,
	.scratch_nbytes = scratch_nbytes,.flags = GR_REQUEST_COUNTS | GR_REQUEST_COARSE,.polls = true,.classes = true,
	.batch = GR_MULTINOM_ROWS
};
