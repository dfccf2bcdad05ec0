/*
 * request.c: requests made, checked and read, and what each kind does with rows and sums; see request.h.
 */
#include "compute/request/request.h"

#include <stdlib.h>
#include <string.h>

#include "compute/design/derivation.h"
#include "compute/request/pass_valid.h"
#include "compute/resample/boot_draw.h"

/* Numbers of float8 that the arrays have */
typedef struct Layout
{
	size_t		n[GR_REQUEST_NARRAYS];
} Layout;

/* Operations of a kind of request. */
typedef struct KindOps
{
	const char *name;
	Layout		(*lay_out) (const GrRequest *request);
	bool		(*valid) (const GrRequest *request, GrRowShape shape, GrError *err);
	size_t		(*nsums) (const GrRequest *request);
	void		(*clear) (const GrRequest *request, double *sums);
	void		(*merge) (const GrRequest *request, double *sums, const double *other);
	bool		(*add) (const GrRequest *request, double *sums, const double *rows, int64_t nrows, void *scratch,
						const GrHost *host);
	size_t		(*scratch_nbytes) (const GrRequest *request);
	uint32_t	flags;			/* that may be set */
	bool		takes_keys;
	int			batch;			/* rows that are best added at once */
} KindOps;

/* Rows that kernels like at a time */
#define BATCH_NROWS 256

/*
 * Passes
 */

/* Array k of the request, or NULL */
static const double *
array_of(const GrRequest *request, GrRequestArray k)
{
	return request->offsets[k] == 0 ? NULL : (const double *) ((const char *) request + request->offsets[k]);
}

GrPass
gr_request_pass(const GrRequest *request)
{
	return (GrPass) {
		.kind = (GrPassKind) request->kind,.shape = request->shape,.distribution = request->distribution,
		.beta = array_of(request, GR_REQUEST_BETA),
		.shift = array_of(request, GR_REQUEST_SHIFT),
		.nfaces = request->nfaces,
		.faces = array_of(request, GR_REQUEST_FACES),
		.face_absolute = array_of(request, GR_REQUEST_FACE_ABSOLUTE),
		.face_relative = request->face_relative,
		.linear = (request->flags & GR_REQUEST_LINEAR) != 0,
		.measure = (GrMeasure) request->measure,
		.edge = request->edge,
		.counts = (request->flags & GR_REQUEST_COUNTS) != 0,
		.factor = array_of(request, GR_REQUEST_FACTOR)
	};
}

static Layout
lay_out_pass(const GrRequest *request)
{
	size_t		t = (size_t) gr_nterms(request->shape.nfeatures);
	size_t		nfaces = (size_t) request->nfaces;

	return (Layout) {
		.n = {
			[GR_REQUEST_BETA] = t,
			[GR_REQUEST_SHIFT] = t - 1,
			[GR_REQUEST_FACES] = nfaces * 2 * t,
			[GR_REQUEST_FACE_ABSOLUTE] = nfaces,
			[GR_REQUEST_FACTOR] = (size_t) gr_triangle((int64_t) t)
		}
	};
}

static bool
pass_valid(const GrRequest *request, GrRowShape shape, GrError *err)
{
	const GrPass pass = gr_request_pass(request);

	return gr_pass_valid(&pass, shape, err);
}

static size_t
pass_nsums(const GrRequest *request)
{
	return gr_pass_nsums((GrPassKind) request->kind, request->shape.nfeatures);
}

static void
pass_clear(const GrRequest *request, double *sums)
{
	gr_pass_clear((GrPassKind) request->kind, request->shape.nfeatures, sums);
}

static void
pass_merge(const GrRequest *request, double *sums, const double *other)
{
	gr_pass_merge((GrPassKind) request->kind, request->shape.nfeatures, sums, other);
}

static bool
pass_add(const GrRequest *request, double *sums, const double *rows, int64_t nrows, void *scratch, const GrHost *host)
{
	const GrPass pass = gr_request_pass(request);

	return gr_pass_add_polling(&pass, sums, rows, nrows, scratch, host);
}

static size_t
pass_scratch_nbytes(const GrRequest *request)
{
	return gr_pass_scratch_nbytes((GrPassKind) request->kind, request->shape);
}

/*
 * Bootstraps
 */

GrBootPass
gr_request_boot(const GrRequest *request)
{
	return (GrBootPass) {
		.shape = request->shape,.distribution = request->distribution,
		.beta = array_of(request, GR_REQUEST_BETA),
		.beta_lo = array_of(request, GR_REQUEST_BETA_LO),
		.shift = array_of(request, GR_REQUEST_SHIFT),
		.nactive = request->nactive,
		.factor = array_of(request, GR_REQUEST_FACTOR),
		.seed = request->seed,
		.first = request->first,
		.nreps = request->nreps,
		.steps = array_of(request, GR_REQUEST_STEPS),
		.influence = array_of(request, GR_REQUEST_LINES),
		.ninfluence = request->ninfluence,
		.flips = request->kind == GR_REQUEST_FLIPS
	};
}

static Layout
lay_out_boot(const GrRequest *request)
{
	size_t		t = (size_t) gr_nterms(request->shape.nfeatures);
	size_t		nactive = (size_t) request->nactive;

	return (Layout) {
		.n = {
			[GR_REQUEST_BETA] = t,
			[GR_REQUEST_BETA_LO] = t,
			[GR_REQUEST_SHIFT] = t - 1,
			[GR_REQUEST_FACTOR] = nactive * t,
			[GR_REQUEST_LINES] = request->nreps == 0 ? (size_t) request->ninfluence * nactive : 0,
			[GR_REQUEST_STEPS] = (size_t) request->nreps * nactive
		}
	};
}

static bool
boot_valid(const GrRequest *request, GrRowShape shape, GrError *err)
{
	const GrBootPass pass = gr_request_boot(request);

	return gr_boot_valid(&pass, shape, err);
}

static size_t
boot_nsums(const GrRequest *request)
{
	const GrBootPass pass = gr_request_boot(request);

	return gr_boot_nsums(&pass);
}

static void
boot_clear(const GrRequest *request, double *sums)
{
	memset(sums, 0, boot_nsums(request) * sizeof(double));
}

static void
boot_merge(const GrRequest *request, double *sums, const double *other)
{
	size_t		nsums = boot_nsums(request);

	for (size_t k = 0; k < nsums; k++)
		sums[k] += other[k];
}

static bool
boot_add(const GrRequest *request, double *sums, const double *rows, int64_t nrows, void *scratch, const GrHost *host)
{
	const GrBootPass pass = gr_request_boot(request);

	return gr_boot_add(&pass, sums, rows, nrows, scratch, host);
}

static size_t
boot_scratch_nbytes(const GrRequest *request)
{
	const GrBootPass pass = gr_request_boot(request);

	return gr_boot_scratch_nbytes(&pass);
}

/*
 * Scores of a cluster's rows
 */

GrScores
gr_request_scores(const GrRequest *request)
{
	return (GrScores) {
		.shape = request->shape,.distribution = request->distribution,
		.beta = array_of(request, GR_REQUEST_BETA),
		.beta_lo = array_of(request, GR_REQUEST_BETA_LO),
		.shift = array_of(request, GR_REQUEST_SHIFT),
		.hessian = (request->flags & GR_REQUEST_HESSIAN) != 0
	};
}

static Layout
lay_out_scores(const GrRequest *request)
{
	size_t		t = (size_t) gr_nterms(request->shape.nfeatures);

	return (Layout) {.n = {[GR_REQUEST_BETA] = t, [GR_REQUEST_BETA_LO] = t, [GR_REQUEST_SHIFT] = t - 1}};
}

static bool
scores_valid(const GrRequest *request, GrRowShape shape, GrError *err)
{
	const GrScores scores = gr_request_scores(request);

	return gr_scores_valid(&scores, shape, err);
}

static size_t
scores_nsums(const GrRequest *request)
{
	return gr_scores_nsums(request->shape.nfeatures, (request->flags & GR_REQUEST_HESSIAN) != 0);
}

static void
scores_clear(const GrRequest *request, double *sums)
{
	memset(sums, 0, scores_nsums(request) * sizeof(double));
}

static void
scores_merge(const GrRequest *request, double *sums, const double *other)
{
	gr_scores_merge(request->shape.nfeatures, (request->flags & GR_REQUEST_HESSIAN) != 0, sums, other);
}

static bool
scores_add(const GrRequest *request, double *sums, const double *rows, int64_t nrows, void *scratch,
		   const GrHost *host)
{
	GrScores	scores = gr_request_scores(request);
	size_t		ncols = (size_t) gr_row_ncols(scores.shape);

	scores.terms = scratch;
	for (int64_t k = 0; k < nrows; k++)
	{
		if (k % BATCH_NROWS == BATCH_NROWS - 1 && gr_canceled(host))
			return false;
		gr_scores_add(&scores, rows + (size_t) k * ncols, sums);
	}
	return true;
}

static size_t
scores_scratch_nbytes(const GrRequest *request)
{
	return (size_t) gr_nterms(request->shape.nfeatures) * sizeof(double);
}

/*
 * Clusters
 */

GrClusterPass
gr_request_clusters(const GrRequest *request)
{
	return (GrClusterPass) {
		.scores = gr_request_scores(request),.way = (GrClusterWay) request->way
	};
}

static bool
clusters_valid(const GrRequest *request, GrRowShape shape, GrError *err)
{
	const GrClusterPass pass = gr_request_clusters(request);

	return gr_clusters_valid(&pass, shape, err);
}

static size_t
clusters_nsums(const GrRequest *request)
{
	return gr_clusters_nsums(request->shape.nfeatures);
}

static void
clusters_clear(const GrRequest *request, double *sums)
{
	memset(sums, 0, clusters_nsums(request) * sizeof(double));
}

/* Leaves the rows of both: a cluster may have rows in either. */
static void
clusters_merge(const GrRequest *request, double *sums, const double *other)
{
	(void) request;
	sums[GR_CLUSTERS_NLEFT] += sums[GR_CLUSTERS_NROWS] + other[GR_CLUSTERS_NLEFT] + other[GR_CLUSTERS_NROWS];
	sums[GR_CLUSTERS_NROWS] = 0;
}

/* Leaves the rows, which may not be all of their clusters. */
static bool
clusters_add(const GrRequest *request, double *sums, const double *rows, int64_t nrows, void *scratch,
			 const GrHost *host)
{
	(void) request;
	(void) rows;
	(void) scratch;
	(void) host;
	sums[GR_CLUSTERS_NLEFT] += (double) nrows;
	return true;
}

static size_t
clusters_scratch_nbytes(const GrRequest *request)
{
	(void) request;
	return sizeof(double);
}

/*
 * All kinds
 */

static const KindOps passes = {
	.name = "a pass",.lay_out = lay_out_pass,.valid = pass_valid,.nsums = pass_nsums,.clear = pass_clear,
	.merge = pass_merge,.add = pass_add,.scratch_nbytes = pass_scratch_nbytes,
	.flags = GR_REQUEST_LINEAR | GR_REQUEST_COUNTS,.batch = BATCH_NROWS
};

static const KindOps boots = {
	.name = "a bootstrap",.lay_out = lay_out_boot,.valid = boot_valid,.nsums = boot_nsums,.clear = boot_clear,
	.merge = boot_merge,.add = boot_add,.scratch_nbytes = boot_scratch_nbytes,.takes_keys = true,.batch = BATCH_NROWS
};

/* There may be as many clusters as rows: a cluster's sums hold no rows back. */
static const KindOps scores = {
	.name = "scores of a cluster",.lay_out = lay_out_scores,.valid = scores_valid,.nsums = scores_nsums,
	.clear = scores_clear,.merge = scores_merge,.add = scores_add,.scratch_nbytes = scores_scratch_nbytes,
	.flags = GR_REQUEST_HESSIAN,.batch = 1
};

static const KindOps clusters = {
	.name = "sums of clusters",.lay_out = lay_out_scores,.valid = clusters_valid,.nsums = clusters_nsums,
	.clear = clusters_clear,.merge = clusters_merge,.add = clusters_add,.scratch_nbytes = clusters_scratch_nbytes,
	.takes_keys = true,.batch = BATCH_NROWS
};

static const KindOps *const kinds[GR_NREQUESTS] = {
	[GR_REQUEST_EXACT] = &passes,
	[GR_REQUEST_FAST] = &passes,
	[GR_REQUEST_GRADIENT] = &passes,
	[GR_REQUEST_FACE] = &passes,
	[GR_REQUEST_BOOT] = &boots,
	[GR_REQUEST_FLIPS] = &boots,
	[GR_REQUEST_SCORES] = &scores,
	[GR_REQUEST_CLUSTERS] = &clusters
};

bool
gr_request_takes_keys(const GrRequest *request)
{
	return kinds[request->kind]->takes_keys;
}

int
gr_request_batch(const GrRequest *request)
{
	return kinds[request->kind]->batch;
}

bool
gr_request_is_mergeable(const GrRequest *head)
{
	return head->kind >= 0 && head->kind < GR_NREQUESTS && head->shape.nfeatures >= 0 &&
		head->shape.nfeatures < GR_ROW_NCOLS_MAX && head->nactive >= 0 && head->nactive <= GR_BOOT_TERMS_MAX &&
		head->nreps >= 0 && head->nreps <= GR_BOOT_REPS_MAX && head->ninfluence >= 0 &&
		head->ninfluence <= gr_nterms(GR_ROW_NCOLS_MAX);
}

size_t
gr_request_nsums(const GrRequest *request)
{
	return kinds[request->kind]->nsums(request);
}

void
gr_request_clear(const GrRequest *request, double *sums)
{
	kinds[request->kind]->clear(request, sums);
}

void
gr_request_merge(const GrRequest *request, double *sums, const double *other)
{
	kinds[request->kind]->merge(request, sums, other);
}

bool
gr_request_add(const GrRequest *request, double *sums, const double *rows, int64_t nrows, void *scratch,
			   const GrHost *host)
{
	return kinds[request->kind]->add(request, sums, rows, nrows, scratch, host);
}

size_t
gr_request_scratch_nbytes(const GrRequest *request)
{
	return kinds[request->kind]->scratch_nbytes(request);
}

bool
gr_request_sum_whole(const GrRequest *request, const GrRowPieces *pieces, double *sums, const GrHost *host,
					 GrError *err)
{
	const GrClusterPass pass = gr_request_clusters(request);

	return gr_cluster_middle_sum(&pass, pieces, sums, host, err);
}

const char *
gr_request_name(const GrRequest *request)
{
	return kinds[request->kind]->name;
}

/*
 * Made
 */

static void *
take_by_malloc(void *arg, size_t nbytes)
{
	(void) arg;
	return malloc(nbytes);
}

const GrMemory gr_request_malloc = {take_by_malloc, NULL};

/* Sets the offsets of the arrays that there are (from[k] not NULL), and the size of the block. */
static void
place_arrays(GrRequest *head, const Layout *layout, const double *const *from)
{
	head->nbytes = sizeof(GrRequest);
	for (int k = 0; k < GR_REQUEST_NARRAYS; k++)
	{
		head->offsets[k] = from[k] == NULL ? 0 : head->nbytes;
		if (from[k] != NULL)
			head->nbytes += layout->n[k] * sizeof(double);
	}
}

/* The request of this head, whose arrays are copied from where `from` says */
static GrRequest *
make(GrRequest *head, const double *const *from, GrMemory memory, GrError *err)
{
	const Layout layout = kinds[head->kind]->lay_out(head);
	GrRequest  *request;

	place_arrays(head, &layout, from);
	request = memory.take(memory.arg, (size_t) head->nbytes);
	if (request == NULL)
	{
		if (err->status == GR_OK)
			err->bytes_needed = (size_t) head->nbytes;
		(void) gr_fail(err, GR_NO_MEMORY, 0, "the arguments of %s", kinds[head->kind]->name);
		return NULL;
	}
	memcpy(request, head, sizeof(*head));
	for (int k = 0; k < GR_REQUEST_NARRAYS; k++)
		if (from[k] != NULL)
			memcpy((char *) request + head->offsets[k], from[k], layout.n[k] * sizeof(double));
	return request;
}

GrRequest *
gr_request_of_pass(const GrPass *pass, GrMemory memory, GrError *err)
{
	const double *const from[GR_REQUEST_NARRAYS] = {
		[GR_REQUEST_BETA] = pass->beta,
		[GR_REQUEST_SHIFT] = pass->shift,
		[GR_REQUEST_FACES] = pass->nfaces > 0 ? pass->faces : NULL,
		[GR_REQUEST_FACE_ABSOLUTE] = pass->nfaces > 0 ? pass->face_absolute : NULL,
		[GR_REQUEST_FACTOR] = pass->factor
	};
	GrRequest	head;

	/* padding, too: requests that say the same are the same bytes */
	memset(&head, 0, sizeof(head));
	head.kind = (int32_t) pass->kind;
	head.flags = (pass->linear ? GR_REQUEST_LINEAR : 0) | (pass->counts ? GR_REQUEST_COUNTS : 0);
	head.shape = pass->shape;
	head.distribution = pass->distribution;
	head.nfaces = pass->nfaces;
	head.measure = (int32_t) pass->measure;
	head.face_relative = pass->face_relative;
	head.edge = pass->edge;
	return make(&head, from, memory, err);
}

GrRequest *
gr_request_of_boot(const GrBootPass *pass, GrMemory memory, GrError *err)
{
	const double *const from[GR_REQUEST_NARRAYS] = {
		[GR_REQUEST_BETA] = pass->beta,
		[GR_REQUEST_BETA_LO] = pass->beta_lo,
		[GR_REQUEST_SHIFT] = pass->shift,
		[GR_REQUEST_FACTOR] = pass->factor,
		[GR_REQUEST_LINES] = pass->nreps == 0 ? pass->influence : NULL,
		[GR_REQUEST_STEPS] = pass->steps
	};
	GrRequest	head;

	memset(&head, 0, sizeof(head));
	head.kind = pass->flips ? GR_REQUEST_FLIPS : GR_REQUEST_BOOT;
	head.shape = pass->shape;
	head.distribution = pass->distribution;
	head.seed = pass->seed;
	head.first = pass->first;
	head.nactive = pass->nactive;
	head.nreps = pass->nreps;
	head.ninfluence = pass->nreps == 0 ? pass->ninfluence : 0;
	return make(&head, from, memory, err);
}

/* The request of scores, of a kind that takes them */
static GrRequest *
make_scores(const GrScores *scores, GrRequestKind kind, GrClusterWay way, GrMemory memory, GrError *err)
{
	const double *const from[GR_REQUEST_NARRAYS] = {
		[GR_REQUEST_BETA] = scores->beta,
		[GR_REQUEST_BETA_LO] = scores->beta_lo,
		[GR_REQUEST_SHIFT] = scores->shift
	};
	GrRequest	head;

	memset(&head, 0, sizeof(head));
	head.kind = kind;
	head.flags = scores->hessian ? GR_REQUEST_HESSIAN : 0;
	head.shape = scores->shape;
	head.distribution = scores->distribution;
	head.way = (int32_t) way;
	return make(&head, from, memory, err);
}

GrRequest *
gr_request_of_scores(const GrScores *scores, GrMemory memory, GrError *err)
{
	return make_scores(scores, GR_REQUEST_SCORES, GR_WAY_FIRST, memory, err);
}

GrRequest *
gr_request_of_clusters(const GrClusterPass *pass, GrMemory memory, GrError *err)
{
	return make_scores(&pass->scores, GR_REQUEST_CLUSTERS, pass->way, memory, err);
}

/*
 * Checked
 */

/* True if the arrays lie one after the other, as long as the counts say, up to the block's end. */
static bool
arrays_valid(const GrRequest *request)
{
	const Layout layout = kinds[request->kind]->lay_out(request);
	uint64_t	end = sizeof(GrRequest);

	for (int k = 0; k < GR_REQUEST_NARRAYS; k++)
	{
		if (request->offsets[k] == 0)
			continue;
		if (request->offsets[k] != end)
			return false;
		end += layout.n[k] * sizeof(double);
	}
	return end == request->nbytes;
}

/* The head's counts are bounded by the kind's valid(), so that the arrays' sizes do not overflow. */
bool
gr_request_valid(const GrRequest *request, size_t nbytes, GrRowShape shape, GrError *err)
{
	if ((uintptr_t) request % sizeof(double) != 0 || nbytes < sizeof(GrRequest) || request->nbytes != nbytes)
		return gr_fail(err, GR_INVALID, 0, "no request of %zu bytes", nbytes);
	if (request->kind < 0 || request->kind >= GR_NREQUESTS ||
		(request->flags & ~kinds[request->kind]->flags) != 0 ||
		request->way < 0 || request->way >= (request->kind == GR_REQUEST_CLUSTERS ? GR_NWAYS : 1))
		return gr_fail(err, GR_INVALID, 0, "there is no request of kind %d", (int) request->kind);
	for (int k = 0; k < GR_REQUEST_NARRAYS; k++)
		if (request->offsets[k] > nbytes || request->offsets[k] % sizeof(double) != 0)
			return gr_fail(err, GR_INVALID, 0, "an array of a request lies beyond its %zu bytes", nbytes);
	return kinds[request->kind]->valid(request, shape, err) &&
		(arrays_valid(request) || gr_fail(err, GR_INVALID, 0, "the arrays of %s do not fit its counts",
										  kinds[request->kind]->name));
}
