/*
 * clusters.c: the sums of clusters, from a query that PostgreSQL groups; see clusters.h.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "compute/glm/scores.h"
#include "rows/columns/columns.h"
#include "rows/query/query.h"
#include "rows/query/wrapper.h"
#include "rows/state/cluster_sums.h"
#include "rows/state/state.h"
#include "rows/sums/clusters.h"
#include "run/compat.h"
#include "run/raise.h"

/* The arguments of gpu_scores_pass before the columns */
#define NPARAMS 3

typedef struct ClusterReceiver
{
	GrReceiver	base;
	GrGlmFit *fit;
	Size		nbytes;			/* of a cluster */
	GrClusterSums *sums;
	int64		nrows;			/* of all clusters */
} ClusterReceiver;

void
gr_clusters_check(const GrIngest *ingest)
{
	GrIngest	keyless = gr_ingest_without_key(ingest);

	if (!ingest->repeatable)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("the query of a fit with clusters must give the same rows when it is run again"),
				 ingest->remote ? errdetail("It reads a custom scan, whose rows may change.") :
				 errdetail("It calls volatile functions, samples, or depends on the order of its rows."),
				 errhint("Store its result in a table.")));
	if (!gr_fits_aggregate(&keyless, NPARAMS))
		ereport(ERROR,
				(errcode(ERRCODE_TOO_MANY_ARGUMENTS),
				 errmsg("the query of a fit with clusters has too many columns"),
				 errdetail("It has %d columns that cannot be put together into arrays.", keyless.arguments->n),
				 errhint("Concatenate its arrays.")));
	for (int k = 0; k < ingest->nclusters; k++)
		gr_check_groupable(gr_cluster_type(ingest, k), gr_cluster_name(ingest, k));
}

void
gr_clusters_check_met(const GrGlmFit *fit, const char *name)
{
	if (fit->nclusters_met < 2)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("covariances of clusters need at least two clusters"),
				 errdetail("Column \"%s\" is the same in every row that takes part.", name),
				 errhint("Name a column that differs among the rows.")));
}

/* One group: NULL where none of its rows takes part */
static bool
receive_cluster(TupleTableSlot *slot, DestReceiver *self)
{
	ClusterReceiver *receiver = (ClusterReceiver *) self;
	GrClusterSums *sums = receiver->sums;
	GrError		err = {0};
	bool		isnull;
	Datum		value = slot_getattr(slot, 1, &isnull);
	bytea	   *bytes;

	CHECK_FOR_INTERRUPTS();
	if (isnull)
		return true;
	bytes = DatumGetByteaPP(value);
	if (VARSIZE_ANY_EXHDR(bytes) != receiver->nbytes)
		elog(ERROR, "gpu_scores_pass returned %d bytes", (int) VARSIZE_ANY_EXHDR(bytes));
	memcpy(sums, VARDATA_ANY(bytes), receiver->nbytes);
	receiver->nrows += sums->nrows;
	if (!gr_glm_add_cluster(receiver->fit, sums->data, &gr_host, &err))
		gr_raise(&err);
	return true;
}

/* What is asked of the rows: a gpu_logreg_step whose terms that stay out are digits of beta; see cluster_sums.h */
static Datum
make_request(const GrIngest *ingest, const GrGlmFit *fit)
{
	GrPass		pass = fit->pass;
	GrState    *request;

	pass.kind = gr_fit_vcov(fit) == GR_VCOV_CR2 ? GR_PASS_FAST : GR_PASS_GRADIENT;
	request = gr_state_request(&pass, ingest->rules, fit->basis);
	memcpy(gr_state_fixed(request), fit->pass_lo, gr_state_nterms(request) * sizeof(double));
	return PointerGetDatum(request);
}

/* ERROR unless these are the rows of the fit, in two clusters at least. */
static void
check_clusters(const GrIngest *ingest, const ClusterReceiver *receiver, int64 nrows)
{
	if (receiver->nrows != nrows)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("query returned other rows when it was run again"),
				 errdetail("It returned " INT64_FORMAT " complete rows, and then " INT64_FORMAT ".", nrows,
						   receiver->nrows),
				 errhint("Store its result in a table.")));
	gr_clusters_check_met(receiver->fit, gr_cluster_name(ingest, Min(receiver->fit->way, ingest->nclusters - 1)));
}

void
gr_clusters_sum(const GrIngest *given, GrGlmFit *fit, int64 nrows)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "gpureg clusters", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	const GrIngest keyless = gr_ingest_without_key(given);
	const GrIngest *ingest = &keyless;
	Oid			types[NPARAMS] = {gr_own_type(ingest->function, "gpu_logreg_step"), TEXTARRAYOID, INT4ARRAYOID};
	Datum		values[NPARAMS] = {
		make_request(ingest, fit), gr_names_datum(ingest->columns), gr_widths_datum(ingest->arguments).value
	};
	ClusterReceiver receiver = {
		.base.pub.receiveSlot = receive_cluster,.fit = fit,
		.nbytes = gr_cluster_nbytes(fit->pass.shape.nfeatures, gr_fit_vcov(fit) == GR_VCOV_CR2)
	};
	GrPlan	   *plan = gr_plan_clusters(ingest, "gpu_scores_pass", NPARAMS, types, values, BYTEAOID, fit->way);

	receiver.sums = palloc_extended(receiver.nbytes, MCXT_ALLOC_HUGE);
	gr_run_plan(plan, NULL, &receiver.base, 0);
	check_clusters(ingest, &receiver, nrows);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}
