/*
 * boot_clusters.c: sums the influence of clusters; see boot_clusters.h.
 */
#include "postgres.h"

#include "executor/tuptable.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "compute/glm/scores.h"
#include "rows/query/query.h"
#include "rows/state/cluster_sums.h"
#include "rows/sums/boot_clusters.h"
#include "rows/sums/clusters.h"
#include "rows/sums/kept_clusters.h"
#include "rows/sums/request_query.h"
#include "run/request.h"

typedef struct ClusterReceiver
{
	GrReceiver	base;
	const GrBootPass *pass;
	Size		nsums;			/* number of sums of a query's cluster */
	double	   *sums;
	double	   *scores;			/* t scores of a cluster */
	double	   *q;				/* nactive: pass->factor times scores */
} ClusterReceiver;

/*
 * Adds the squares and cubes of a cluster's influence. Influence is linear in the scores: q v, summed over a cluster's
 * rows, is B (pass->factor) times the sum of their scores.
 */
static void
add_cluster(ClusterReceiver *receiver, const double *sums, int64 nrows)
{
	const GrBootPass *pass = receiver->pass;
	int			t = gr_nterms(pass->shape.nfeatures);
	double	   *squares = receiver->sums + GR_BOOT_HEAD;
	double	   *cubes = squares + pass->ninfluence;

	for (int j = 0; j < t; j++)
		receiver->scores[j] = sums[GR_SCORES_HEAD + j] + sums[GR_SCORES_HEAD + t + j];
	for (int i = 0; i < pass->nactive; i++)
	{
		receiver->q[i] = 0;
		for (int j = 0; j < t; j++)
			receiver->q[i] += pass->factor[(Size) i * t + j] * receiver->scores[j];
	}
	for (int k = 0; k < pass->ninfluence; k++)
	{
		double		value = 0;

		for (int i = 0; i < pass->nactive; i++)
			value += pass->influence[(Size) k * pass->nactive + i] * receiver->q[i];
		squares[k] += value * value;
		cubes[k] += value * value * value;
	}
	receiver->sums[0] += nrows;
}

/* Adds one group. The group may have no complete row. */
static bool
receive_cluster(TupleTableSlot *slot, DestReceiver *self)
{
	ClusterReceiver *receiver = (ClusterReceiver *) self;
	GrRequestResult result;
	bool		isnull;
	Datum		value = slot_getattr(slot, 1, &isnull);

	CHECK_FOR_INTERRUPTS();
	if (isnull)
		return true;
	result = gr_request_result(value, receiver->nsums);
	if (result.counts.nrows > 0)
		add_cluster(receiver, result.sums, result.counts.nrows);
	gr_request_free(&result);
	return true;
}

/* Returns the scores at the fit that the bootstrap is about. */
static GrScores
scores_of(const GrBootPass *pass)
{
	return (GrScores) {
		.shape = pass->shape,.distribution = pass->distribution,.beta = pass->beta,.beta_lo = pass->beta_lo,
		.shift = pass->shift
	};
}

/* Adds the clusters of a query. */
static void
add_queried(const GrIngest *ingest, const GrBasis *basis, ClusterReceiver *receiver)
{
	GrIngest	keyless = gr_ingest_without_key(ingest);
	const GrScores scores = scores_of(receiver->pass);

	Datum		request = gr_request_datum(gr_row_scores_request(&scores), keyless.rules.weighting, basis);

	gr_clusters_check(&keyless);
	receiver->nsums = gr_scores_nsums(scores.shape.nfeatures, scores.hessian);
	gr_run_plan(gr_plan_request_by_cluster(&keyless, request, 0), NULL, &receiver->base, 0);
}

static void
take_kept_cluster(void *arg, const GrClusterSums *cluster)
{
	add_cluster(arg, cluster->data, cluster->nrows);
}

/* Adds the clusters of kept rows. */
static void
add_kept(const GrKeptClusters *clusters, const GrBasis *basis, ClusterReceiver *receiver)
{
	const GrScores scores = scores_of(receiver->pass);

	(void) gr_kept_clusters_read(clusters, &scores, basis, 0, take_kept_cluster, receiver);
}

void
gr_boot_clusters(const GrRowSource *source, const GrIngest *ingest, const GrBootPass *pass, double *sums)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "gpureg clusters", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	ClusterReceiver receiver = {.base.pub.receiveSlot = receive_cluster,.pass = pass,.sums = sums};

	receiver.scores = palloc(gr_nterms(pass->shape.nfeatures) * sizeof(double));
	receiver.q = palloc(pass->nactive * sizeof(double));
	if (source->kept_clusters != NULL)
		add_kept(source->kept_clusters, source->basis, &receiver);
	else
		add_queried(ingest, source->basis, &receiver);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}
