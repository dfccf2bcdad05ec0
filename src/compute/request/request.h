/*
 * request.h: a request describes a reduction over rows (its kind and its arrays) in one block of memory.
 *
 * A request holds the same data as a GrPass, a GrBootPass, a GrScores or a GrClusterPass, but no pointers: memcpy()
 * copies, sends and stores it. gr_request_of_pass() and the like make a request, gr_request_pass() and the like read
 * it. Code that only passes requests on needs no knowledge of their kinds: gr_request_clear() prepares sums,
 * gr_request_add() adds rows, and gr_request_merge() merges partial sums.
 *
 * Requests of clusters need all rows of a cluster at once; see gr_request_is_whole(). If rows are added in pieces or
 * partial sums are merged, GR_CLUSTERS_NLEFT of the sums is not 0.
 *
 * A request that comes from another process is copied first, as it may be written to at any time, and then
 * gr_request_valid() is asked before anything else.
 */
#ifndef GPUREG_REQUEST_H
#define GPUREG_REQUEST_H

#include <string.h>

#include "compute/design/formula_terms.h"
#include "compute/glm/glm.h"
#include "compute/request/cluster_middle.h"
#include "compute/request/request_kinds.h"
#include "compute/resample/boot.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GR_REQUEST_MEMBER(kind, operations, device) GR_REQUEST_##kind,

typedef enum GrRequestKind
{
	GR_REQUEST_KINDS(GR_REQUEST_MEMBER)
	GR_NREQUESTS
} GrRequestKind;

/* Arrays of float8. They follow one another in the block, in this order. */
typedef enum GrRequestArray
{
	GR_REQUEST_BETA,
	GR_REQUEST_BETA_LO,
	GR_REQUEST_SHIFT,
	GR_REQUEST_FACES,
	GR_REQUEST_FACE_ABSOLUTE,
	GR_REQUEST_FACTOR,
	GR_REQUEST_LINES,			/* a bootstrap's influence; the responses of classes */
	GR_REQUEST_STEPS,
	GR_REQUEST_NARRAYS
} GrRequestArray;

#define GR_REQUEST_CLASSES_MAX 1000	/* limit of GrRequest.nclasses */

#define GR_REQUEST_LINEAR 1		/* see GrPass.linear */
#define GR_REQUEST_COUNTS 2		/* see GrPass.counts */
#define GR_REQUEST_HESSIAN 4	/* see GrScores.hessian */
#define GR_REQUEST_COARSE 16	/* see GrPass.coarse */
#define GR_REQUEST_NO_TOTALS 8	/* the totals of a pass are known, and not summed again; see GrRowTotals */

/* Head of the block, at a multiple of 8 bytes; the arrays follow. Members that a kind does not use are ignored. */
typedef struct GrRequest
{
	uint64_t	nbytes;			/* size of the block */
	int32_t		kind;			/* GrRequestKind */
	uint32_t	flags;			/* bits GR_REQUEST_LINEAR, _COUNTS, _HESSIAN, _NO_TOTALS, _COARSE */
	GrRowShape	shape;			/* shape of the rows, which are not single */
	GrDistribution distribution;
	/* members of passes, as in GrPass */
	int32_t		nfaces;
	int32_t		measure;		/* GrMeasure */
	double		face_relative;
	double		edge;
	/* members of bootstraps, as in GrBootPass */
	uint64_t	seed;
	int64_t		first;
	int32_t		nactive;
	int32_t		nreps;
	int32_t		ninfluence;
	int32_t		way;			/* clusters: GrClusterWay; else 0 */
	/*
	 * Sums by group: the sums of the kind for each group, in the order of the groups. A row's key is the number of its
	 * group, 0 .. ngroups - 1, as the maker of the request numbered the groups; rows with other keys are ignored.
	 * ngroups = 0: all rows are one group, and keys are ignored.
	 */
	int32_t		ngroups;
	int32_t		nclasses;		/* number of classes; 0: the kind has none */
	uint64_t	offsets[GR_REQUEST_NARRAYS];	/* bytes from the begin of the head; 0: the array is absent */
} GrRequest;

static inline size_t
gr_request_nbytes(const GrRequest *request)
{
	return (size_t) request->nbytes;
}

/* True if gr_request_pass() reads the request. */
static inline bool
gr_request_is_pass(const GrRequest *request)
{
	return request->kind <= GR_REQUEST_FACE;
}

/* True if gr_request_boot() reads the request, and not gr_request_pass(). */
static inline bool
gr_request_is_boot(const GrRequest *request)
{
	return request->kind == GR_REQUEST_BOOT || request->kind == GR_REQUEST_FLIPS;
}

/*
 * Makes a request in memory that memory.take() gives. Arrays that the pass lacks or does not use are left out; so is a
 * bootstrap's triangle. Returns NULL with GR_NO_MEMORY if there is no memory.
 */
extern GrRequest *gr_request_of_pass(const GrPass *pass, GrMemory memory, GrError *err);
extern GrRequest *gr_request_of_boot(const GrBootPass *pass, GrMemory memory, GrError *err);
extern GrRequest *gr_request_of_scores(const GrScores *scores, GrMemory memory, GrError *err);
extern GrRequest *gr_request_of_clusters(const GrClusterPass *pass, GrMemory memory, GrError *err);

/* Upper limit of float8 in the sums of a request by group: 512 MB. With more, callers group the rows in another way. */
#define GR_REQUEST_GROUP_SUMS_MAX ((size_t) 64 << 20)

/*
 * Copies a request as one by group, over rows with keys. Returns NULL with GR_NO_MEMORY, or with GR_INVALID if the kind
 * needs all rows at once or the keys for itself, or if the sums are more than GR_REQUEST_GROUP_SUMS_MAX.
 */
extern GrRequest *gr_request_by_group(const GrRequest *request, int ngroups, GrMemory memory, GrError *err);

/* Memory from malloc(); the caller frees it with free(). */
extern const GrMemory gr_request_malloc;

/* Returns array k of the request, or NULL. */
static inline const double *
gr_request_array(const GrRequest *request, GrRequestArray k)
{
	return request->offsets[k] == 0 ? NULL : (const double *) ((const char *) request + request->offsets[k]);
}

/*
 * The next four functions return the pass, bootstrap, scores (without terms) or clusters of a request. Arrays of the
 * result point into the request.
 */
static inline GrPass
gr_request_pass(const GrRequest *request)
{
	GrPass		pass;

	memset(&pass, 0, sizeof(pass));
	pass.kind = (GrPassKind) request->kind;
	pass.shape = request->shape;
	pass.distribution = request->distribution;
	pass.beta = gr_request_array(request, GR_REQUEST_BETA);
	pass.shift = gr_request_array(request, GR_REQUEST_SHIFT);
	pass.nfaces = request->nfaces;
	pass.faces = gr_request_array(request, GR_REQUEST_FACES);
	pass.face_absolute = gr_request_array(request, GR_REQUEST_FACE_ABSOLUTE);
	pass.face_relative = request->face_relative;
	pass.linear = (request->flags & GR_REQUEST_LINEAR) != 0;
	pass.measure = (GrMeasure) request->measure;
	pass.edge = request->edge;
	pass.counts = (request->flags & GR_REQUEST_COUNTS) != 0;
	pass.coarse = (request->flags & GR_REQUEST_COARSE) != 0;
	pass.factor = gr_request_array(request, GR_REQUEST_FACTOR);
	return pass;
}

static inline GrBootPass
gr_request_boot(const GrRequest *request)
{
	GrBootPass pass;

	memset(&pass, 0, sizeof(pass));
	pass.shape = request->shape;
	pass.distribution = request->distribution;
	pass.beta = gr_request_array(request, GR_REQUEST_BETA);
	pass.beta_lo = gr_request_array(request, GR_REQUEST_BETA_LO);
	pass.shift = gr_request_array(request, GR_REQUEST_SHIFT);
	pass.nactive = request->nactive;
	pass.factor = gr_request_array(request, GR_REQUEST_FACTOR);
	pass.seed = request->seed;
	pass.first = request->first;
	pass.nreps = request->nreps;
	pass.steps = gr_request_array(request, GR_REQUEST_STEPS);
	pass.influence = gr_request_array(request, GR_REQUEST_LINES);
	pass.ninfluence = request->ninfluence;
	pass.flips = request->kind == GR_REQUEST_FLIPS;
	return pass;
}

static inline GrScores
gr_request_scores(const GrRequest *request)
{
	GrScores	scores;

	memset(&scores, 0, sizeof(scores));
	scores.shape = request->shape;
	scores.distribution = request->distribution;
	scores.beta = gr_request_array(request, GR_REQUEST_BETA);
	scores.beta_lo = gr_request_array(request, GR_REQUEST_BETA_LO);
	scores.shift = gr_request_array(request, GR_REQUEST_SHIFT);
	scores.hessian = (request->flags & GR_REQUEST_HESSIAN) != 0;
	return scores;
}

static inline GrClusterPass
gr_request_clusters(const GrRequest *request)
{
	GrClusterPass pass;

	memset(&pass, 0, sizeof(pass));
	pass.scores = gr_request_scores(request);
	pass.way = (GrClusterWay) request->way;
	return pass;
}

/*
 * Checks of shapes, kinds and counts, and of whether the arrays that are needed are there. gr_request_valid() calls
 * these functions for every request that comes from another process. Each function returns true, or false with
 * GR_INVALID and a detail that says what is wrong. The functions do not read float8 arrays, since any number is allowed
 * there. A struct may be a copy of memory that another process writes to: a bool may be any byte, and an enum any int.
 */

/* True if the byte is false or true. */
static inline bool
gr_bool_valid(const bool *flag)
{
	unsigned char byte;

	memcpy(&byte, flag, 1);
	return byte <= 1;
}

/* True if shape is a possible shape of rows, including rows of kept columns. */
extern bool gr_shape_valid(const GrRowShape *shape, GrError *err);

/* True if of_pass is a possible shape and is that of the float8 rows which a sink of this shape keeps. */
extern bool gr_rows_are_of(const GrRowShape *of_pass, GrRowShape shape, GrError *err);

extern bool gr_distribution_valid(const GrDistribution *distribution, GrError *err);

/* Checks a pass over a sink of this shape. Arrays that the pass needs must not be NULL. */
extern bool gr_pass_valid(const GrPass *pass, GrRowShape shape, GrError *err);

/* Checks a bootstrap over a sink of this shape. It must have an active term: without one there is nothing to sum. */
extern bool gr_boot_valid(const GrBootPass *pass, GrRowShape shape, GrError *err);

/* Checks scores of rows of a sink of this shape. */
extern bool gr_scores_valid(const GrScores *scores, GrRowShape shape, GrError *err);

/* Checks a pass of clusters over a sink of this shape, whose rows must have the keys that pass->way uses. */
extern bool gr_clusters_valid(const GrClusterPass *pass, GrRowShape shape, GrError *err);

/*
 * True if the nbytes at request are exactly one request over rows of this shape: the block is aligned, its kind and
 * counts are allowed, and its arrays lie where the counts say. Does not read beyond nbytes. Does not read float8
 * arrays, since any number is allowed in them. Fails with GR_INVALID.
 */
extern bool gr_request_valid(const GrRequest *request, size_t nbytes, GrRowShape shape, GrError *err);

/*
 * True if gr_request_nsums() and gr_request_merge() can use the head alone, without its arrays. The head may come from
 * an untrusted source.
 */
extern bool gr_request_is_mergeable(const GrRequest *head);

/* True if the request needs the keys of rows. Other requests take rows with and without keys. */
extern bool gr_request_takes_keys(const GrRequest *request);

/* True if the caller that adds rows with weights must also compute their GrRowTotals. */
extern bool gr_request_has_totals(const GrRequest *request);

/* True if gr_request_add() polls the host by itself, for any number of rows. */
extern bool gr_request_polls(const GrRequest *request);

/* Returns the number of rows that are best added at once; 1: add each row as it comes. */
extern int	gr_request_batch(const GrRequest *request);

/* Returns the number of float8 in the request's sums. */
extern size_t gr_request_nsums(const GrRequest *request);

/* Prepares sums for gr_request_add(). */
extern void gr_request_clear(const GrRequest *request, double *sums);

/* Adds other, sums of the same request, to sums. */
extern void gr_request_merge(const GrRequest *request, double *sums, const double *other);

/*
 * Adds rows to sums on the CPU. scratch: gr_request_scratch_nbytes() bytes, aligned as float8. False if the host asked
 * to stop; the sums are of no use then.
 */
extern bool gr_request_add(const GrRequest *request, double *sums, const double *rows, int64_t nrows, void *scratch,
						   const GrHost *host);
extern size_t gr_request_scratch_nbytes(const GrRequest *request);

/*
 * gr_request_is_whole() is true if only gr_request_sum_whole(), over all rows at once, can compute the request's sums.
 * gr_request_sum_whole() overwrites sums. Fails with GR_CANCELED.
 */
extern bool gr_request_is_whole(const GrRequest *request);
extern bool gr_request_sum_whole(const GrRequest *request, const GrRowPieces *pieces, double *sums, const GrHost *host,
								 GrError *err);

/* Returns the name of the request's kind for messages, such as "a pass". */
extern const char *gr_request_name(const GrRequest *request);

/* Functions for files that implement a kind of request */

/* Lengths of the arrays of a request */
typedef struct GrRequestLayout
{
	size_t		n[GR_REQUEST_NARRAYS];	/* in float8 */
} GrRequestLayout;

/* Operations of a kind of request, on the sums of one group. lay_out is NULL if the kind has no arrays. */
typedef struct GrRequestOps
{
	const char *name;			/* for messages, such as "a pass" */
	GrRequestLayout (*lay_out) (const GrRequest *request);
	bool		(*valid) (const GrRequest *request, GrError *err);	/* NULL: only shape and distribution are checked */
	size_t		(*nsums) (const GrRequest *request);
	void		(*clear) (const GrRequest *request, double *sums);	/* NULL: sets zeros */
	void		(*merge) (const GrRequest *request, double *sums, const double *other);	/* NULL: adds numbers */
	bool		(*add) (const GrRequest *request, double *sums, const double *rows, int64_t nrows, void *scratch,
						const GrHost *host);
	size_t		(*scratch_nbytes) (const GrRequest *request);	/* NULL: none */
	bool		(*sum_whole) (const GrRequest *request, const GrRowPieces *pieces, double *sums, const GrHost *host,
							  GrError *err);	/* NULL: rows are added in pieces */
	uint32_t	flags;			/* bits that GrRequest.flags may have */
	bool		takes_keys;
	bool		totals;			/* see gr_request_has_totals() */
	bool		polls;			/* see gr_request_polls() */
	bool		classes;		/* requests have classes, at most GR_REQUEST_CLASSES_MAX */
	int			batch;			/* see gr_request_batch() */
} GrRequestOps;

/* Number of rows at which kernels are efficient */
#define GR_REQUEST_BATCH 256

/*
 * Makes a request of head and sets head->nbytes and head->offsets. from: the arrays; those that are NULL are left out.
 * Returns NULL with GR_NO_MEMORY. The caller clears head before it sets members, so that equal requests have equal
 * bytes.
 */
extern GrRequest *gr_request_make(GrRequest *head, const double *const *from, GrMemory memory, GrError *err);

/* Returns the lengths of the arrays that a request with this head may have. */
extern GrRequestLayout gr_request_layout(const GrRequest *head);

#define GR_REQUEST_DECLARE(kind, operations, device) extern const GrRequestOps gr_request_ops_##operations;
GR_REQUEST_KINDS(GR_REQUEST_DECLARE)

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_REQUEST_H */
