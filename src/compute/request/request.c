/*
 * request.c: makes, checks and reads requests, and implements the operations of each kind; see request.h.
 */
#include "compute/request/request.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compute/design/derivation.h"
#include "compute/resample/boot_draw.h"

/*
 * Checks
 */

bool
gr_shape_valid(const GrRowShape *shape, GrError *err)
{
	return (gr_bool_valid(&shape->single) && gr_bool_valid(&shape->weight) && gr_bool_valid(&shape->offset) &&
			gr_bool_valid(&shape->key) && gr_bool_valid(&shape->second_key) && (shape->key || !shape->second_key) &&
			shape->nfeatures >= 0 && shape->nfeatures < GR_ROW_NCOLS_MAX) ||
		gr_fail(err, GR_INVALID, 0, "there are no rows of %d features", shape->nfeatures);
}

bool
gr_rows_are_of(const GrRowShape *of_pass, GrRowShape shape, GrError *err)
{
	return gr_shape_valid(of_pass, err) &&
		(gr_same_shape(*of_pass, gr_wide_shape(shape)) ||
		 gr_fail(err, GR_INVALID, 0, "a pass of %d features over other rows, of %d", of_pass->nfeatures,
				 shape.nfeatures));
}

bool
gr_distribution_valid(const GrDistribution *distribution, GrError *err)
{
	GrFamily	family = distribution->family;
	GrLink		link = distribution->link;

	if ((unsigned) family >= GR_NFAMILIES || (unsigned) link >= GR_NLINKS || !gr_family_has_link(family, link))
		return gr_fail(err, GR_INVALID, 0, "there is no family %d with link %d", (int) family, (int) link);
	if (distribution->exponent < (gr_family(family)->has_exponent ? -GR_EXPONENT_MAX : 0) ||
		distribution->exponent > (gr_family(family)->has_exponent ? GR_EXPONENT_MAX : 0))
		return gr_fail(err, GR_INVALID, 0, "the response's exponent cannot be %d", distribution->exponent);
	return (gr_family(family)->has_theta ? distribution->theta > 0 && isfinite(distribution->theta) :
			distribution->theta == 0) ||
		gr_fail(err, GR_INVALID, 0, "theta cannot be %g", distribution->theta);
}

/* True if a pass of this kind may have its measure. A coarse step needs at least GR_COARSE_TERMS_MIN terms. */
static bool
is_measured(const GrPass *pass)
{
	if (((unsigned) pass->kind > GR_PASS_FACE && pass->kind != GR_PASS_JOINT) ||
		(unsigned) pass->measure >= GR_NMEASURES)
		return false;
	if (pass->kind == GR_PASS_JOINT &&
		(pass->distribution.family != GR_NEGATIVE_BINOMIAL || pass->distribution.link != GR_LOG || pass->linear))
		return false;
	if ((pass->measure == GR_MEASURE_COARSE_STEP || pass->coarse) &&
		gr_nterms(pass->shape.nfeatures) < GR_COARSE_TERMS_MIN)
		return false;
	return pass->kind == GR_PASS_EXACT || pass->measure == GR_MEASURE_STEP ||
		(pass->kind == GR_PASS_FAST && pass->measure == GR_MEASURE_OBSERVED);
}

bool
gr_pass_valid(const GrPass *pass, GrRowShape shape, GrError *err)
{
	bool		has_factor;

	if (!gr_rows_are_of(&pass->shape, shape, err) || !gr_distribution_valid(&pass->distribution, err))
		return false;
	if (!is_measured(pass) || !gr_bool_valid(&pass->linear) || !gr_bool_valid(&pass->counts) ||
		!gr_bool_valid(&pass->coarse))
		return gr_fail(err, GR_INVALID, 0, "there is no pass of kind %d that measures %d", (int) pass->kind,
					   (int) pass->measure);
	if (pass->nfaces < (pass->kind == GR_PASS_FACE ? 1 : 0) || pass->nfaces > GR_FACES_MAX ||
		(pass->nfaces > 0 && (pass->faces == NULL || pass->face_absolute == NULL)))
		return gr_fail(err, GR_INVALID, 0, "a pass of kind %d along %d faces", (int) pass->kind, pass->nfaces);
	has_factor = pass->kind == GR_PASS_EXACT && gr_measure_has_factor(pass->measure);
	return ((pass->beta != NULL || pass->kind == GR_PASS_FACE) && pass->shift != NULL &&
			(pass->factor != NULL || !has_factor)) ||
		gr_fail(err, GR_INVALID, 0, "a pass of kind %d lacks an array", (int) pass->kind);
}

/* True if the pass's replicates, or else its influence, are within their limits and have the members they need. */
static bool
are_replicates(const GrBootPass *pass)
{
	int			group = pass->flips ? GR_BOOT_LANES : 4;

	if (pass->nreps == 0)
		return pass->steps == NULL && !pass->flips && pass->influence != NULL && pass->ninfluence >= 1 &&
			pass->ninfluence <= gr_nterms(GR_ROW_NCOLS_MAX);
	return pass->nreps > 0 && pass->nreps <= GR_BOOT_REPS_MAX && pass->first >= 0 && pass->first <= GR_BOOT_REPS_MAX &&
		pass->first % group == 0 && !(pass->flips && pass->steps != NULL);
}

bool
gr_boot_valid(const GrBootPass *pass, GrRowShape shape, GrError *err)
{
	if (!gr_rows_are_of(&pass->shape, shape, err) || !gr_distribution_valid(&pass->distribution, err))
		return false;
	if (!pass->shape.key)
		return gr_fail(err, GR_INVALID, 0, "a bootstrap of rows without keys");
	if (pass->nactive < 1 || pass->nactive > gr_nterms(pass->shape.nfeatures) || pass->nactive > GR_BOOT_TERMS_MAX)
		return gr_fail(err, GR_INVALID, 0, "a bootstrap of %d terms of %d", pass->nactive,
					   gr_nterms(pass->shape.nfeatures));
	if (!gr_bool_valid(&pass->flips) || !are_replicates(pass))
		return gr_fail(err, GR_INVALID, 0, "a bootstrap of %d replicates from number %lld on", pass->nreps,
					   (long long) pass->first);
	return (pass->beta != NULL && pass->beta_lo != NULL && pass->shift != NULL && pass->factor != NULL) ||
		gr_fail(err, GR_INVALID, 0, "a bootstrap lacks an array");
}

bool
gr_scores_valid(const GrScores *scores, GrRowShape shape, GrError *err)
{
	if (!gr_rows_are_of(&scores->shape, shape, err) || !gr_distribution_valid(&scores->distribution, err))
		return false;
	return (scores->beta != NULL && scores->beta_lo != NULL && scores->shift != NULL) ||
		gr_fail(err, GR_INVALID, 0, "sums of scores lack an array");
}

bool
gr_clusters_valid(const GrClusterPass *pass, GrRowShape shape, GrError *err)
{
	const GrRowShape *keys = &pass->scores.shape;

	if (!gr_scores_valid(&pass->scores, shape, err))
		return false;
	return ((unsigned) pass->way < GR_NWAYS && keys->key && (pass->way == GR_WAY_FIRST || keys->second_key)) ||
		gr_fail(err, GR_INVALID, 0, "rows have no keys of clusters of way %d", (int) pass->way);
}

/*
 * Passes
 */

static GrRequestLayout
lay_out_pass(const GrRequest *request)
{
	size_t		t = (size_t) gr_nterms(request->shape.nfeatures);
	size_t		nfaces = (size_t) request->nfaces;

	return (GrRequestLayout) {
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
pass_valid(const GrRequest *request, GrError *err)
{
	const GrPass pass = gr_request_pass(request);

	return gr_pass_valid(&pass, request->shape, err);
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

static GrRequestLayout
lay_out_boot(const GrRequest *request)
{
	size_t		t = (size_t) gr_nterms(request->shape.nfeatures);
	size_t		nactive = (size_t) request->nactive;

	return (GrRequestLayout) {
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
boot_valid(const GrRequest *request, GrError *err)
{
	const GrBootPass pass = gr_request_boot(request);

	return gr_boot_valid(&pass, request->shape, err);
}

static size_t
boot_nsums(const GrRequest *request)
{
	const GrBootPass pass = gr_request_boot(request);

	return gr_boot_nsums(&pass);
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

static GrRequestLayout
lay_out_scores(const GrRequest *request)
{
	size_t		t = (size_t) gr_nterms(request->shape.nfeatures);

	return (GrRequestLayout) {.n = {[GR_REQUEST_BETA] = t, [GR_REQUEST_BETA_LO] = t, [GR_REQUEST_SHIFT] = t - 1}};
}

static bool
scores_valid(const GrRequest *request, GrError *err)
{
	const GrScores scores = gr_request_scores(request);

	return gr_scores_valid(&scores, request->shape, err);
}

static size_t
scores_nsums(const GrRequest *request)
{
	return gr_scores_nsums(request->shape.nfeatures, (request->flags & GR_REQUEST_HESSIAN) != 0);
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
		if (k % GR_REQUEST_BATCH == GR_REQUEST_BATCH - 1 && gr_canceled(host))
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

static bool
clusters_valid(const GrRequest *request, GrError *err)
{
	const GrClusterPass pass = gr_request_clusters(request);

	return gr_clusters_valid(&pass, request->shape, err);
}

static size_t
clusters_nsums(const GrRequest *request)
{
	return gr_clusters_nsums(request->shape.nfeatures);
}

/* Counts all rows of both sums as left: a cluster may have rows in both. */
static void
clusters_merge(const GrRequest *request, double *sums, const double *other)
{
	(void) request;
	sums[GR_CLUSTERS_NLEFT] += sums[GR_CLUSTERS_NROWS] + other[GR_CLUSTERS_NLEFT] + other[GR_CLUSTERS_NROWS];
	sums[GR_CLUSTERS_NROWS] = 0;
}

/* Counts the rows as left: their clusters may have other rows. */
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

static bool
clusters_sum_whole(const GrRequest *request, const GrRowPieces *pieces, double *sums, const GrHost *host, GrError *err)
{
	const GrClusterPass pass = gr_request_clusters(request);

	return gr_cluster_middle_sum(&pass, pieces, sums, host, err);
}

/*
 * All kinds
 */

const GrRequestOps gr_request_ops_pass = {
	.name = "a pass",.lay_out = lay_out_pass,.valid = pass_valid,.nsums = pass_nsums,.clear = pass_clear,
	.merge = pass_merge,.add = pass_add,.scratch_nbytes = pass_scratch_nbytes,
	.flags = GR_REQUEST_LINEAR | GR_REQUEST_COUNTS | GR_REQUEST_NO_TOTALS | GR_REQUEST_COARSE,.totals = true,
	.batch = GR_REQUEST_BATCH
};

const GrRequestOps gr_request_ops_boot = {
	.name = "a bootstrap",.lay_out = lay_out_boot,.valid = boot_valid,.nsums = boot_nsums,.add = boot_add,
	.scratch_nbytes = boot_scratch_nbytes,.takes_keys = true,.polls = true,.batch = GR_REQUEST_BATCH
};

/* .batch = 1: there may be as many clusters as rows, so rows are not held back for a batch */
const GrRequestOps gr_request_ops_scores = {
	.name = "scores of a cluster",.lay_out = lay_out_scores,.valid = scores_valid,.nsums = scores_nsums,
	.merge = scores_merge,.add = scores_add,.scratch_nbytes = scores_scratch_nbytes,.flags = GR_REQUEST_HESSIAN,
	.polls = true,.batch = 1
};

const GrRequestOps gr_request_ops_clusters = {
	.name = "sums of clusters",.lay_out = lay_out_scores,.valid = clusters_valid,.nsums = clusters_nsums,
	.merge = clusters_merge,.add = clusters_add,.sum_whole = clusters_sum_whole,.takes_keys = true,
	.batch = GR_REQUEST_BATCH
};

#define TABLE_ROW(kind, operations, device) [GR_REQUEST_##kind] = &gr_request_ops_##operations,

static const GrRequestOps *const kinds[GR_NREQUESTS] = {GR_REQUEST_KINDS(TABLE_ROW)};

_Static_assert((int) GR_REQUEST_EXACT == (int) GR_PASS_EXACT && (int) GR_REQUEST_FACE == (int) GR_PASS_FACE &&
			   (int) GR_REQUEST_JOINT == (int) GR_PASS_JOINT,
			   "kinds of passes are requests");

bool
gr_request_takes_keys(const GrRequest *request)
{
	return kinds[request->kind]->takes_keys || request->ngroups > 0;
}

int
gr_request_batch(const GrRequest *request)
{
	return kinds[request->kind]->batch;
}

bool
gr_request_polls(const GrRequest *request)
{
	return kinds[request->kind]->polls || request->ngroups > 0;
}

bool
gr_request_has_totals(const GrRequest *request)
{
	return kinds[request->kind]->totals && (request->flags & GR_REQUEST_NO_TOTALS) == 0;
}

bool
gr_request_is_whole(const GrRequest *request)
{
	return kinds[request->kind]->sum_whole != NULL;
}

/* Returns the number of groups; 1 if all rows are one group. */
static size_t
ngroups_of(const GrRequest *request)
{
	return request->ngroups > 0 ? (size_t) request->ngroups : 1;
}

/* True if the sums of all groups are at most GR_REQUEST_GROUP_SUMS_MAX float8. */
static bool
groups_fit(const GrRequest *request)
{
	return request->ngroups == 0 ||
		(request->ngroups > 0 &&
		 ngroups_of(request) <= GR_REQUEST_GROUP_SUMS_MAX / kinds[request->kind]->nsums(request));
}

bool
gr_request_is_mergeable(const GrRequest *head)
{
	return head->kind >= 0 && head->kind < GR_NREQUESTS && head->shape.nfeatures >= 0 &&
		head->shape.nfeatures < GR_ROW_NCOLS_MAX && head->nactive >= 0 && head->nactive <= GR_BOOT_TERMS_MAX &&
		head->nreps >= 0 && head->nreps <= GR_BOOT_REPS_MAX && head->ninfluence >= 0 &&
		head->ninfluence <= gr_nterms(GR_ROW_NCOLS_MAX) && head->nclasses >= 0 &&
		head->nclasses <= GR_REQUEST_CLASSES_MAX && (head->nclasses >= 2 || !kinds[head->kind]->classes) &&
		groups_fit(head);
}

size_t
gr_request_nsums(const GrRequest *request)
{
	return ngroups_of(request) * kinds[request->kind]->nsums(request);
}

void
gr_request_clear(const GrRequest *request, double *sums)
{
	const GrRequestOps *ops = kinds[request->kind];
	size_t		nsums = ops->nsums(request);

	for (size_t group = 0; group < ngroups_of(request); group++)
	{
		if (ops->clear == NULL)
			memset(sums + group * nsums, 0, nsums * sizeof(double));
		else
			ops->clear(request, sums + group * nsums);
	}
}

void
gr_request_merge(const GrRequest *request, double *sums, const double *other)
{
	const GrRequestOps *ops = kinds[request->kind];
	size_t		nsums = ops->nsums(request);

	for (size_t group = 0; group < ngroups_of(request); group++)
	{
		size_t		at = group * nsums;

		if (ops->merge != NULL)
			ops->merge(request, sums + at, other + at);
		for (size_t k = 0; ops->merge == NULL && k < nsums; k++)
			sums[at + k] += other[at + k];
	}
}

/*
 * By group
 */

/* Returns the bytes of the kind's own scratch memory, rounded up to whole float8. */
static size_t
own_scratch_nbytes(const GrRequest *request)
{
	const GrRequestOps *ops = kinds[request->kind];
	size_t		nbytes = ops->scratch_nbytes == NULL ? 0 : ops->scratch_nbytes(request);

	return (nbytes + sizeof(double) - 1) / sizeof(double) * sizeof(double);
}

/* Returns the number of a row's group; -1 if the row is in no group. */
static int
group_of(const GrRequest *request, const double *row)
{
	double		key = row[gr_key_at(request->shape)];

	return key >= 0 && key < request->ngroups && key == (double) (int) key ? (int) key : -1;
}

/* Adds at most GR_REQUEST_BATCH rows: the rows of each group in one call, in their order. */
static bool
add_batch_by_group(const GrRequest *request, double *sums, const double *rows, int nrows, void *scratch,
				   const GrHost *host)
{
	size_t		ncols = (size_t) gr_row_ncols(request->shape);
	size_t		nsums = kinds[request->kind]->nsums(request);
	double	   *gathered = (double *) ((char *) scratch + own_scratch_nbytes(request));
	int			group[GR_REQUEST_BATCH];

	for (int k = 0; k < nrows; k++)
		group[k] = group_of(request, rows + (size_t) k * ncols);
	for (int first = 0; first < nrows; first++)
	{
		int			of_first = group[first];
		int			n = 0;

		if (of_first < 0)
			continue;
		for (int k = first; k < nrows; k++)
		{
			if (group[k] != of_first)
				continue;
			memcpy(gathered + (size_t) n++ * ncols, rows + (size_t) k * ncols, ncols * sizeof(double));
			group[k] = -1;
		}
		if (!kinds[request->kind]->add(request, sums + (size_t) of_first * nsums, gathered, n, scratch, host))
			return false;
	}
	return true;
}

bool
gr_request_add(const GrRequest *request, double *sums, const double *rows, int64_t nrows, void *scratch,
			   const GrHost *host)
{
	int			ncols = gr_row_ncols(request->shape);

	if (request->ngroups == 0)
		return kinds[request->kind]->add(request, sums, rows, nrows, scratch, host);
	for (int64_t from = 0; from < nrows; from += GR_REQUEST_BATCH)
	{
		int			n = nrows - from < GR_REQUEST_BATCH ? (int) (nrows - from) : GR_REQUEST_BATCH;

		if (gr_canceled(host) || !add_batch_by_group(request, sums, rows + from * ncols, n, scratch, host))
			return false;
	}
	return true;
}

size_t
gr_request_scratch_nbytes(const GrRequest *request)
{
	size_t		gathered = GR_REQUEST_BATCH * (size_t) gr_row_ncols(request->shape) * sizeof(double);

	if (request->ngroups > 0)
		return own_scratch_nbytes(request) + gathered;
	return kinds[request->kind]->scratch_nbytes == NULL ? sizeof(double) :
		kinds[request->kind]->scratch_nbytes(request);
}

bool
gr_request_sum_whole(const GrRequest *request, const GrRowPieces *pieces, double *sums, const GrHost *host,
					 GrError *err)
{
	return kinds[request->kind]->sum_whole(request, pieces, sums, host, err);
}

const char *
gr_request_name(const GrRequest *request)
{
	return kinds[request->kind]->name;
}

/*
 * Making requests
 */

static void *
take_by_malloc(void *arg, size_t nbytes)
{
	(void) arg;
	return malloc(nbytes);
}

const GrMemory gr_request_malloc = {take_by_malloc, NULL};

GrRequestLayout
gr_request_layout(const GrRequest *request)
{
	const GrRequestOps *ops = kinds[request->kind];

	return ops->lay_out == NULL ? (GrRequestLayout) {{0}} : ops->lay_out(request);
}

/* Sets the offsets of the arrays whose from[k] is not NULL, and the size of the block. */
static void
place_arrays(GrRequest *head, const GrRequestLayout *layout, const double *const *from)
{
	head->nbytes = sizeof(GrRequest);
	for (int k = 0; k < GR_REQUEST_NARRAYS; k++)
	{
		head->offsets[k] = from[k] == NULL ? 0 : head->nbytes;
		if (from[k] != NULL)
			head->nbytes += layout->n[k] * sizeof(double);
	}
}

GrRequest *
gr_request_make(GrRequest *head, const double *const *from, GrMemory memory, GrError *err)
{
	const GrRequestLayout layout = gr_request_layout(head);
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

	/* clears padding, too: equal requests have equal bytes */
	memset(&head, 0, sizeof(head));
	head.kind = (int32_t) pass->kind;
	head.flags = (pass->linear ? GR_REQUEST_LINEAR : 0) | (pass->counts ? GR_REQUEST_COUNTS : 0) |
		(pass->coarse ? GR_REQUEST_COARSE : 0);
	head.shape = pass->shape;
	head.distribution = pass->distribution;
	head.nfaces = pass->nfaces;
	head.measure = (int32_t) pass->measure;
	head.face_relative = pass->face_relative;
	head.edge = pass->edge;
	return gr_request_make(&head, from, memory, err);
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
	return gr_request_make(&head, from, memory, err);
}

/* Makes a request of kind SCORES or CLUSTERS from scores. */
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
	return gr_request_make(&head, from, memory, err);
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

GrRequest *
gr_request_by_group(const GrRequest *request, int ngroups, GrMemory memory, GrError *err)
{
	GrRequest	head = *request;
	GrRequest  *copy;

	head.ngroups = ngroups;
	head.shape.key = true;
	if (ngroups < 1 || kinds[head.kind]->takes_keys || !groups_fit(&head))
	{
		(void) gr_fail(err, GR_INVALID, 0, "there is no room for %s of %d groups", kinds[head.kind]->name, ngroups);
		return NULL;
	}
	copy = memory.take(memory.arg, gr_request_nbytes(request));
	if (copy == NULL)
	{
		(void) gr_fail(err, GR_NO_MEMORY, 0, "the arguments of %s", kinds[head.kind]->name);
		return NULL;
	}
	memcpy(copy, request, gr_request_nbytes(request));
	memcpy(copy, &head, sizeof(head));
	return copy;
}

/*
 * Checks of a whole request
 */

/* True if the arrays have the lengths that the counts say, and follow one another up to the block's end. */
static bool
arrays_valid(const GrRequest *request)
{
	const GrRequestLayout layout = gr_request_layout(request);
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

/* The kind's valid() bounds the head's counts, so that the arrays' sizes do not overflow. */
bool
gr_request_valid(const GrRequest *request, size_t nbytes, GrRowShape shape, GrError *err)
{
	if ((uintptr_t) request % sizeof(double) != 0 || nbytes < sizeof(GrRequest) || request->nbytes != nbytes)
		return gr_fail(err, GR_INVALID, 0, "no request of %zu bytes", nbytes);
	if (request->kind < 0 || request->kind >= GR_NREQUESTS ||
		(request->flags & ~kinds[request->kind]->flags) != 0 ||
		(request->way != 0 && kinds[request->kind]->sum_whole == NULL) ||
		(request->nclasses != 0) != kinds[request->kind]->classes)
		return gr_fail(err, GR_INVALID, 0, "there is no request of kind %d", (int) request->kind);
	for (int k = 0; k < GR_REQUEST_NARRAYS; k++)
		if (request->offsets[k] > nbytes || request->offsets[k] % sizeof(double) != 0)
			return gr_fail(err, GR_INVALID, 0, "an array of a request lies beyond its %zu bytes", nbytes);
	if (!gr_rows_are_of(&request->shape, shape, err) || !gr_distribution_valid(&request->distribution, err) ||
		(kinds[request->kind]->valid != NULL && !kinds[request->kind]->valid(request, err)))
		return false;
	if (request->ngroups != 0 &&
		(request->ngroups < 0 || kinds[request->kind]->takes_keys || !request->shape.key || !groups_fit(request)))
		return gr_fail(err, GR_INVALID, 0, "there are no %d groups of %s", (int) request->ngroups,
					   kinds[request->kind]->name);
	return (arrays_valid(request) || gr_fail(err, GR_INVALID, 0, "the arrays of %s do not fit its counts",
										  kinds[request->kind]->name));
}
