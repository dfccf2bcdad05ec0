/*
 * boot_clusters.c: the influence of clusters; see boot_clusters.h.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "compute/glm/scores.h"
#include "rows/query/query.h"
#include "rows/query/wrapper.h"
#include "rows/state/cluster_sums.h"
#include "rows/state/state.h"
#include "rows/sums/boot_clusters.h"
#include "rows/sums/clusters.h"
#include "rows/sums/kept_clusters.h"
#include "run/compat.h"

/* The arguments of gpu_scores_pass before the columns */
#define NPARAMS 3

typedef struct ClusterReceiver
{
	GrReceiver	base;
	const GrBootPass *pass;
	double	   *sums;
	double	   *scores;			/* t */
	double	   *q;				/* nactive: B times these */
} ClusterReceiver;

/* Influence is linear in the scores: q v summed over a cluster's rows is B times the sum of their scores. */
static void
add_cluster(ClusterReceiver *receiver, const GrClusterSums *cluster)
{
	const GrBootPass *pass = receiver->pass;
	int			t = gr_nterms(pass->shape.nfeatures);
	double	   *squares = receiver->sums + GR_BOOT_HEAD;
	double	   *cubes = squares + pass->ninfluence;

	for (int j = 0; j < t; j++)
		receiver->scores[j] = cluster->data[GR_SCORES_HEAD + j] + cluster->data[GR_SCORES_HEAD + t + j];
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
	receiver->sums[0] += cluster->nrows;
}

/* One group: NULL where none of its rows takes part */
static bool
receive_cluster(TupleTableSlot *slot, DestReceiver *self)
{
	ClusterReceiver *receiver = (ClusterReceiver *) self;
	Size		nbytes = gr_cluster_nbytes(receiver->pass->shape.nfeatures, false);
	GrClusterSums *sums;
	bool		isnull;
	Datum		value = slot_getattr(slot, 1, &isnull);
	bytea	   *bytes;

	CHECK_FOR_INTERRUPTS();
	if (isnull)
		return true;
	bytes = DatumGetByteaPP(value);
	if (VARSIZE_ANY_EXHDR(bytes) != nbytes)
		elog(ERROR, "gpu_scores_pass returned %d bytes", (int) VARSIZE_ANY_EXHDR(bytes));
	sums = palloc(nbytes);
	memcpy(sums, VARDATA_ANY(bytes), nbytes);
	add_cluster(receiver, sums);
	pfree(sums);
	return true;
}

/* As for the sums of a fit with clusters; see cluster_sums.h */
static Datum
make_request(const GrIngest *ingest, const GrBasis *basis, const GrBootPass *pass)
{
	GrPass		request = {
		.kind = GR_PASS_GRADIENT,.shape = pass->shape,.distribution = pass->distribution,.beta = pass->beta,
		.shift = pass->shift
	};
	GrState    *state = gr_state_request(&request, ingest->rules, basis);

	memcpy(gr_state_fixed(state), pass->beta_lo, gr_state_nterms(state) * sizeof(double));
	return PointerGetDatum(state);
}

/* The clusters of a query */
static void
add_queried(const GrIngest *ingest, const GrBasis *basis, ClusterReceiver *receiver)
{
	GrIngest	keyless = gr_ingest_without_key(ingest);
	Oid			types[NPARAMS] = {gr_own_type(ingest->function, "gpu_logreg_step"), TEXTARRAYOID, INT4ARRAYOID};
	Datum		values[NPARAMS] = {
		make_request(&keyless, basis, receiver->pass), gr_names_datum(keyless.columns),
		gr_widths_datum(keyless.arguments).value
	};

	gr_clusters_check(&keyless);
	gr_run_plan(gr_plan_clusters(&keyless, "gpu_scores_pass", NPARAMS, types, values, BYTEAOID, 0), NULL,
				&receiver->base, 0);
}

static void
take_kept_cluster(void *arg, const GrClusterSums *cluster)
{
	add_cluster(arg, cluster);
}

/* Those of kept rows */
static void
add_kept(const GrKeptClusters *clusters, const GrBasis *basis, ClusterReceiver *receiver)
{
	const GrBootPass *pass = receiver->pass;
	const GrScores scores = {
		.shape = pass->shape,.distribution = pass->distribution,.beta = pass->beta,.beta_lo = pass->beta_lo,
		.shift = pass->shift
	};

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
