/*
 * kept_clusters.c: sums the clusters of kept rows; see kept_clusters.h.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

#include "compute/design/derive_row.h"
#include "rows/kept/kept_set.h"
#include "rows/sums/clusters.h"
#include "rows/sums/kept_clusters.h"
#include "run/args.h"
#include "run/device.h"
#include "run/raise.h"

/* 1 / PUT_OFF of a range of hashes is put off at a time if its clusters do not fit. */
#define PUT_OFF 8

/* Rows between two checks for interrupts */
#define POLL_ROWS 256

/* Key of a cluster: the values of its columns */
typedef struct Key
{
	double		value[GR_CLUSTERS_MAX]; /* value[1] is 0 if there is one column */
} Key;

typedef struct Cluster
{
	Key			key;
	uint64		hash;
	GrClusterSums *sums;
} Cluster;

/* State of reading the clusters of one way */
typedef struct Clustering
{
	const GrKeptClusters *clusters;
	GrScores	scores;
	const GrBasis *basis;
	GrPoll		poll;
	int			n;				/* number of columns */
	int			columns[GR_CLUSTERS_MAX];	/* kept columns */
	GrKeptReader *reader;
	GrDeriving *deriving;
	double	   *row;			/* room for a derived row */
	Size		nbytes;			/* bytes of a cluster's sums */
	long		nmost;			/* most clusters that fit into memory */
	HTAB	   *table;			/* clusters whose hashes are in the range */
	uint64		first;			/* first hash of the range */
	uint64		last;			/* last hash of the range */
} Clustering;

static void
end_deriving(void *arg)
{
	gr_deriving_end(((Clustering *) arg)->deriving);
}

/* Begins deriving rows. A reset of the current memory context ends it. */
static void
begin_deriving(Clustering *c)
{
	MemoryContextCallback *callback = palloc0(sizeof(MemoryContextCallback));
	GrRowShape	shape = gr_derived_shape(c->clusters->derivation);
	GrError		err = {0};

	*callback = (MemoryContextCallback) {.func = end_deriving,.arg = c};
	MemoryContextRegisterResetCallback(CurrentMemoryContext, callback);
	c->row = palloc(gr_row_ncols(shape) * sizeof(double));
	c->deriving = gr_deriving_begin(c->clusters->derivation, &err);
	if (c->deriving == NULL)
		gr_raise(&err);
}

static void
begin_clustering(Clustering *c, int way)
{
	const GrKeptClusters *clusters = c->clusters;
	int			t = gr_nterms(c->scores.shape.nfeatures);

	c->n = way == 2 ? 2 : 1;
	c->columns[0] = clusters->columns[way == 2 ? 0 : way];
	c->columns[1] = clusters->columns[1];
	c->scores.terms = palloc(t * sizeof(double));
	c->poll = (GrPoll) {.host = &gr_host};
	c->nbytes = gr_cluster_nbytes(c->scores.shape.nfeatures, c->scores.hessian);
	c->nmost = Max((Size) gr_ring_size * 1024 / (sizeof(Cluster) + c->nbytes), 1);
	c->reader = gr_kept_reader_of(clusters->kept, &clusters->set, clusters->client);
	begin_deriving(c);
}

static HTAB *
create_table(const Clustering *c)
{
	HASHCTL		control = {
		.keysize = sizeof(Key),.entrysize = sizeof(Cluster),.hcxt = CurrentMemoryContext
	};

	return hash_create("gpureg clusters", Min(c->nmost, 1024), &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

/* Shortens the range and drops the clusters with the highest hashes, until there is room for one more. */
static void
put_off(Clustering *c)
{
	while (hash_get_num_entries(c->table) >= c->nmost && c->last > c->first)
	{
		HASH_SEQ_STATUS status;
		Cluster    *cluster;

		c->last -= Max((c->last - c->first) / PUT_OFF, 1);
		hash_seq_init(&status, c->table);
		while ((cluster = hash_seq_search(&status)) != NULL)
			if (cluster->hash > c->last)
			{
				pfree(cluster->sums);
				(void) hash_search(c->table, &cluster->key, HASH_REMOVE, NULL);
			}
	}
}

/* Returns the key of a kept row's cluster. 0 and -0 are the same key. */
static Key
key_of(const Clustering *c, const double *kept)
{
	Key			key = {{0}};

	for (int k = 0; k < c->n; k++)
		key.value[k] = kept[c->columns[k]] + 0.0;
	return key;
}

/* Returns the cluster of a row that takes part; NULL if it was put off. */
static Cluster *
find_cluster(Clustering *c, const Key *key, uint64 hash)
{
	Cluster    *cluster = hash_search(c->table, key, HASH_FIND, NULL);

	if (cluster != NULL)
		return cluster;
	put_off(c);
	if (hash > c->last)
		return NULL;
	cluster = hash_search(c->table, key, HASH_ENTER, NULL);
	cluster->hash = hash;
	cluster->sums = palloc_extended(c->nbytes, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	return cluster;
}

static void
add_row(Clustering *c, const double *kept)
{
	Key			key = key_of(c, kept);
	uint64		hash = gr_row_hash(key.value, GR_CLUSTERS_MAX);
	GrDeriveCounts counts = {0};
	Cluster    *cluster;

	if (hash < c->first || hash > c->last || gr_derive_rows(c->deriving, kept, 1, c->row, &counts) == 0)
		return;
	cluster = find_cluster(c, &key, hash);
	if (cluster == NULL)
		return;
	if (c->basis != NULL && !gr_basis_change_rows(c->basis, c->scores.shape, c->row, 1, &c->poll))
		gr_raise(&(GrError) {.status = GR_CANCELED});
	gr_scores_add(&c->scores, c->row, cluster->sums->data);
	cluster->sums->nrows++;
}

/* Sums the clusters of the range, which may become shorter on the way, and calls take for each. */
static void
read_range(Clustering *c, GrTakeCluster take, void *arg)
{
	HASH_SEQ_STATUS status;
	const double *kept;
	Cluster    *cluster;

	c->table = create_table(c);
	gr_kept_rewind(c->reader);
	for (int64 n = 0; (kept = gr_kept_next(c->reader)) != NULL; n++)
	{
		if (n % POLL_ROWS == 0)
			CHECK_FOR_INTERRUPTS();
		add_row(c, kept);
	}
	hash_seq_init(&status, c->table);
	while ((cluster = hash_seq_search(&status)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		take(arg, cluster->sums);
	}
}

int
gr_kept_clusters_read(const GrKeptClusters *clusters, const GrScores *scores, const GrBasis *basis, int way,
					  GrTakeCluster take, void *arg)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "gpureg clusters", ALLOCSET_DEFAULT_SIZES);
	MemoryContext range_context = AllocSetContextCreate(context, "gpureg clusters' sums", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	Clustering *c = palloc0(sizeof(Clustering));
	uint64		width = PG_UINT64_MAX;
	int			nreads = 0;

	c->clusters = clusters;
	c->scores = *scores;
	c->basis = basis != NULL && basis->nchanged > 0 ? basis : NULL;
	begin_clustering(c, way);
	MemoryContextSwitchTo(range_context);
	for (;;)
	{
		c->last = PG_UINT64_MAX - c->first < width ? PG_UINT64_MAX : c->first + width;
		read_range(c, take, arg);
		nreads++;
		if (c->last == PG_UINT64_MAX)
			break;
		/* The next range, if as long, has about as many clusters. */
		width = c->last - c->first;
		c->first = c->last + 1;
		MemoryContextReset(range_context);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return nreads;
}

/*
 * Clusters of a fit
 */

typedef struct FitClusters
{
	GrGlmFit *fit;
	int64		nrows;			/* rows of all clusters */
} FitClusters;

static void
take_cluster(void *arg, const GrClusterSums *cluster)
{
	FitClusters *of = arg;
	GrError		err = {0};

	of->nrows += cluster->nrows;
	if (!gr_glm_add_cluster(of->fit, cluster->data, &gr_host, &err))
		gr_raise(&err);
}

int
gr_kept_clusters_sum(const GrKeptClusters *clusters, GrGlmFit *fit, int64 nrows)
{
	const GrScores scores = {
		.shape = gr_wide_shape(fit->pass.shape),.distribution = fit->pass.distribution,.beta = fit->pass.beta,
		.beta_lo = fit->pass_lo,.shift = fit->pass.shift,.hessian = gr_fit_vcov(fit) == GR_VCOV_CR2
	};
	FitClusters of = {.fit = fit};
	int			nreads = gr_kept_clusters_read(clusters, &scores, fit->basis, fit->way, take_cluster, &of);

	if (of.nrows != nrows)
		elog(ERROR, "clusters have " INT64_FORMAT " rows instead of " INT64_FORMAT, of.nrows, nrows);
	gr_clusters_check_met(fit, clusters->set.names[clusters->columns[Min(fit->way, clusters->n - 1)]]);
	return nreads;
}
