/*
 * clusters.c: sums the clusters of a query's rows; see clusters.h.
 */
#include "postgres.h"

#include "executor/tuptable.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "compute/glm/scores.h"
#include "rows/columns/columns.h"
#include "rows/query/query.h"
#include "rows/query/wrapper.h"
#include "rows/sums/clusters.h"
#include "rows/sums/request_query.h"
#include "run/raise.h"
#include "run/request.h"

#define NPARAMS GR_REQUEST_NPARAMS

typedef struct ClusterReceiver
{
	GrReceiver	base;
	GrGlmFit *fit;				/* NULL: take gets the sums */
	GrTakeClusterSums take;
	void	   *arg;
	int64		nclusters;
	Size		nsums;			/* number of sums of a cluster */
	int64		nrows;			/* rows of all clusters */
} ClusterReceiver;

void
gr_clusters_check(const GrIngest *ingest)
{
	GrIngest	keyless = gr_ingest_without_key(ingest);

	if (!ingest->repeatable)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("the query of a fit with clusters must give the same rows when it is run again"),
				 ingest->remote ? errdetail("The query reads a custom scan, whose rows may change.") :
				 errdetail("The query calls volatile functions, uses TABLESAMPLE, or depends on the order of its "
						   "rows."),
				 errhint("Store the result of the query in a table, and use that.")));
	if (!gr_fits_aggregate(&keyless, NPARAMS))
		ereport(ERROR,
				(errcode(ERRCODE_TOO_MANY_ARGUMENTS),
				 errmsg("the query of a fit with clusters has too many columns"),
				 errdetail("The query has %d columns that cannot be combined into arrays.", keyless.arguments->n),
				 errhint("Concatenate the array columns of the query with ||.")));
	for (int k = 0; k < ingest->nclusters; k++)
		gr_check_groupable(gr_cluster_type(ingest, k), gr_cluster_name(ingest, k));
}

static void
check_met(int64 nclusters, const char *name)
{
	if (nclusters < 2)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cluster-robust covariances need at least two clusters"),
				 errdetail("Column \"%s\" has the same value in every row used.", name),
				 errhint("Name a column that has different values among these rows.")));
}

void
gr_clusters_check_met(const GrGlmFit *fit, const char *name)
{
	check_met(fit->nclusters_met, name);
}

/* Adds the sums of one group to the fit. The group may have no complete row. */
static bool
receive_cluster(TupleTableSlot *slot, DestReceiver *self)
{
	ClusterReceiver *receiver = (ClusterReceiver *) self;
	GrRequestResult result;
	GrError		err = {0};
	bool		isnull;
	Datum		value = slot_getattr(slot, 1, &isnull);

	CHECK_FOR_INTERRUPTS();
	if (isnull)
		return true;
	result = gr_request_result(value, receiver->nsums);
	receiver->nrows += result.counts.nrows;
	receiver->nclusters += result.counts.nrows > 0;
	if (result.counts.nrows > 0 && receiver->fit == NULL)
		receiver->take(receiver->arg, result.sums);
	else if (result.counts.nrows > 0 && !gr_glm_add_cluster(receiver->fit, result.sums, &gr_host, &err))
		gr_raise(&err);
	gr_request_free(&result);
	return true;
}

/* Raises an ERROR unless the clusters have the fit's nrows rows, and there are two clusters. */
static void
check_clusters(const GrIngest *ingest, const ClusterReceiver *receiver, int64 nrows)
{
	if (receiver->nrows != nrows)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("query returned other rows when it was run again"),
				 errdetail("The query returned " INT64_FORMAT " complete rows, and then " INT64_FORMAT ".", nrows,
						   receiver->nrows),
				 errhint("Store the result of the query in a table, and use that.")));
	check_met(receiver->nclusters,
			  gr_cluster_name(ingest, receiver->fit == NULL ? 0 : Min(receiver->fit->way, ingest->nclusters - 1)));
}

void
gr_clusters_sum(const GrIngest *given, GrGlmFit *fit, int64 nrows)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "gpureg clusters", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	const GrIngest keyless = gr_ingest_without_key(given);
	ClusterReceiver receiver = {
		.base.pub.receiveSlot = receive_cluster,.fit = fit,
		.nsums = gr_scores_nsums(fit->pass.shape.nfeatures, gr_fit_vcov(fit) == GR_VCOV_CR2)
	};
	Datum		request = gr_request_datum(gr_scores_request(fit), keyless.rules.weighting, fit->basis);

	gr_run_plan(gr_plan_request_by_cluster(&keyless, request, fit->way), NULL, &receiver.base, 0);
	check_clusters(&keyless, &receiver, nrows);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

void
gr_sum_clusters(const GrIngest *given, GrRequest *request, int64 nrows, GrTakeClusterSums take, void *arg)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "gpureg clusters", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	const GrIngest keyless = gr_ingest_without_key(given);
	ClusterReceiver receiver = {
		.base.pub.receiveSlot = receive_cluster,.take = take,.arg = arg,.nsums = gr_request_nsums(request)
	};
	Datum		datum = gr_request_datum(request, keyless.rules.weighting, NULL);

	gr_run_plan(gr_plan_request_by_cluster(&keyless, datum, 0), NULL, &receiver.base, 0);
	check_clusters(&keyless, &receiver, nrows);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	pfree(request);
}
