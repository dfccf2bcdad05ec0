/*
 * source.c: chooses how rows are read and where they go; see source.h.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "optimizer/cost.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "compute/base/compute.h"
#include "compute/glm/glm.h"
#include "rows/columns/columns.h"
#include "rows/query/query.h"
#include "rows/query/wrapper.h"
#include "rows/ring/ring_consumer.h"
#include "rows/scan/scan.h"
#include "rows/state/state.h"
#include "rows/sums/clusters.h"
#include "rows/sums/ingest.h"
#include "rows/sums/request_query.h"
#include "rows/sums/source.h"
#include "run/args.h"
#include "run/clock.h"
#include "run/device.h"
#include "run/job.h"
#include "run/progress.h"
#include "run/raise.h"
#include "run/request.h"

/*
 * Limits of a sample: bytes (besides gpureg.ring_size), and one row in SAMPLE_PART, because one process reads the
 * sample, but several may read the rows for passes
 */
#define SAMPLE_NBYTES_MAX ((Size) 8 << 20)
#define SAMPLE_PART 16

/* Work of further passes, in the unit of gr_job_work(), above which several processes share it: half a second */
#define WORK_FOR_WORKERS 5e8

/* Rows per term below which a sample's estimate is too far off */
#define SAMPLE_ROWS_A_TERM 30

/* Bytes of rows that are copied and changed at a time: they stay in the second-level cache */
#define CHANGED_NBYTES ((Size) 128 << 10)

/* Rows times terms between two polls */
#define POLL_WORK 1000000

/*
 * Runs the query and passes its rows to a job: through a ring from parallel workers if there is a device, else in this
 * process.
 */
static void
read_query(GrIngest *ingest, const GrJobOptions *options)
{
	GrJobOptions again = *options;
	char		reason[300];
	GrRingOutcome outcome = gr_ring_read(ingest, options, reason);

	again.work = gr_ingest_work(ingest, options->kind);
	if (outcome == GR_RING_RETREATED)
		again.cpu_reason = reason;
	if (outcome != GR_RING_READ)
		gr_ingest_read_here(ingest, &again);
	if (ingest->job != NULL)
		ingest->job->through_spi = gr_is_read_by_spi(ingest->query);
	ingest->overflowed = ingest->job != NULL && options->kind == GR_SINK_KEEP && !gr_job_keep(ingest->job);
}

/*
 * Remote queries
 */

/* Reasons for the CPU, in a run over a remote query */
#define PULLED_REASON "gpureg.device is auto, and the number of rows of a custom scan is unknown"
#define PUSHED_REASON "the sums were made where a custom scan has its rows"
#define SHIPPED_REASON "the sums were made by the server of a foreign table"

/*
 * True if a remote query's rows must come to this process: the device or SPI is insisted on, features are made by a
 * design, rows have a key, there is no feature, or there are more columns than gpu_features_pass() can take.
 */
static bool
is_to_be_pulled(const GrIngest *ingest)
{
	return gr_device == GR_DEVICE_GPU || gr_is_read_by_spi(ingest->query) || ingest->design != NULL ||
		ingest->columns->key || ingest->pulled ||
		ingest->columns->n <= gr_nroles(ingest->columns) ||
		ingest->arguments->n > GR_TYPED_COLUMNS_MAX;
}

/* Returns why the rows of a remote query that come here go to the CPU: their number is unknown. NULL: no such reason */
static const char *
cpu_reason(const GrIngest *ingest)
{
	return ingest->remote && gr_device == GR_DEVICE_AUTO ? PULLED_REASON : NULL;
}

/*
 * True if all passes over a remote query see the same rows: the query is repeatable, and the user's transaction block
 * has one snapshot, here and on Citus's nodes, where Citus begins transactions of the same level. Outside a transaction
 * block, the transactions on the nodes end with each pass.
 */
static bool
has_one_snapshot(const GrIngest *ingest)
{
	return IsolationUsesXactSnapshot() && IsTransactionBlock() && gr_is_repeatable(ingest->query);
}

/*
 * Sums
 */

/* Plans an aggregate of typed arguments that makes the sums and counts the skipped rows. */
static GrPlan *
plan_typed_sums(const GrIngest *ingest)
{
	return gr_plan_typed_pass(ingest, ingest->shape.weight ? "gpu_wls_array_pass" : "gpu_ols_array_pass", NULL,
							  gr_own_type(ingest->function, "gpu_ols_stats"));
}

/* Plans the sums of a remote query, which are made where the rows are; NULL if the rows must come here. */
static GrPlan *
plan_remote_sums(const GrIngest *ingest, GrPlace *place)
{
	if (is_to_be_pulled(ingest) || !gr_ingest_tells_widths(ingest))
		return NULL;
	gr_place_on_cpu(place, PUSHED_REASON);
	return plan_typed_sums(ingest);
}

/*
 * Plans the sums of a query over foreign tables. Returns NULL unless their server makes all of the sums. postgres_fdw
 * lets it if the server's option "extensions" lists gpureg and the conditions of the query can be sent.
 */
static GrPlan *
plan_shipped_sums(GrIngest *ingest, GrPlace *place)
{
	GrPlan	   *plan;

	if (!gr_reads_foreign_table(ingest->query) || is_to_be_pulled(ingest) || !gr_ingest_tells_widths(ingest))
		return NULL;
	plan = !gr_are_plain_numbers(ingest->columns) ? plan_typed_sums(ingest) :
		gr_plan_plain_sums(ingest, gr_own_type(ingest->function, "gpu_ols_stats"));
	ingest->shipped = gr_is_shipped(plan);
	if (!ingest->shipped)
		return NULL;
	gr_place_on_cpu(place, SHIPPED_REASON);
	return plan;
}

/*
 * Returns the plan of gpu_ols_pass over the query, if parallel workers on the CPU or a scan are to run it. Then *place
 * is the CPU, and the reason. Else returns NULL.
 */
static GrPlan *
plan_sums(GrIngest *ingest, GrPlace *place)
{
	Oid			types[3] = {InvalidOid, TEXTARRAYOID, INT4ARRAYOID};
	GrError		err = {0};
	GrPlan	   *plan;
	int			nworkers = ingest->nworkers;
	double		work;

	if (ingest->remote)
		return plan_remote_sums(ingest, place);
	if ((plan = plan_shipped_sums(ingest, place)) != NULL)
		return plan;
	plan = ingest->sums_plan;
	/* Planning would be in vain without workers or a scan. */
	if (gr_is_read_by_spi(ingest->query) || gr_debug_ring ||
		(max_parallel_workers_per_gather == 0 && !gr_enable_scan) || !gr_ingest_tells_widths(ingest))
		return NULL;
	work = gr_ingest_work(ingest, GR_SINK_SUM);
	if (gr_prepare_place(place, work) &&
		(!gr_device_is_missing() || !gr_choose_place(place, work, &gr_host, &err) || !gr_on_cpu(place)))
	{
		gr_leave_place(place);
		return NULL;
	}
	if (plan == NULL)
	{
		types[0] = ingest->sums_type = gr_own_type(ingest->function, "gpu_ols_stats");
		plan = gr_plan_aggregate(ingest, "gpu_ols_pass", 3, types, types[0], &nworkers);
	}
	return plan != NULL && (nworkers > 0 || gr_is_scanned(plan)) ? plan : NULL;
}

/* Adds context to an error about sums out of range: a remote pass does not know the names of columns. */
static void
describe_places(void *arg)
{
	(void) arg;
	if (geterrcode() == ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE)
		errcontext("sums made where the rows are, where the response is called y, and the features x1, x2, ... in "
				   "their order");
}

/* Runs the plan of sums and returns its one value. */
static Datum
run_for_sums(const GrPlan *plan, const GrIngest *ingest, bool *isnull)
{
	Oid			types[3] = {ingest->sums_type, TEXTARRAYOID, INT4ARRAYOID};
	NullableDatum values[3] = {
		{.value = PointerGetDatum(gr_state_request_sums(ingest->shape, ingest->rules))},
		{.value = gr_names_datum(ingest->columns)}, gr_widths_datum(ingest->arguments)
	};
	ErrorContextCallback context = {.callback = describe_places,.previous = error_context_stack};
	Datum		result;

	if (!ingest->remote && !ingest->shipped)
		return gr_run_for_value(plan, gr_make_params(3, values, types), isnull);
	error_context_stack = &context;
	result = gr_run_for_value(plan, NULL, isnull);
	error_context_stack = context.previous;
	return result;
}

/* Runs the plan of sums and returns them; ERROR if no row is complete. */
static GrState *
run_sums(const GrPlan *plan, GrIngest *ingest)
{
	GrState    *state;
	bool		isnull;
	Datum		result = run_for_sums(plan, ingest, &isnull);

	/* gpu_ols_stats_agg does not tell how many rows it has skipped if it has taken none. */
	if (isnull && ingest->shipped && gr_are_plain_numbers(ingest->columns))
		result = run_for_sums(plan_typed_sums(ingest), ingest, &isnull);
	if (isnull)
		gr_raise_no_rows(0);
	state = (GrState *) PG_DETOAST_DATUM(result);
	ingest->nrows = state->nrows;
	ingest->nskipped = state->nskipped;
	if (state->nrows == 0)
		gr_raise_no_ingested(ingest, state->nskipped);
	gr_name_summed(ingest, state->nfeatures);
	state = gr_state_settled(PointerGetDatum(state), GR_STATS, ingest->names);
	/* The typed pass does not know what weights mean. */
	state->weighting = ingest->rules.weighting;
	if (state->weighting == GR_FREQUENCIES)
		state->log_constant = 0;
	return state;
}

GrState *
gr_source_sum(GrIngest *ingest, GrPlace *place)
{
	const GrJobOptions options = {.kind = GR_SINK_SUM,.cpu_reason = cpu_reason(ingest)};
	GrPlan	   *plan = plan_sums(ingest, place);

	if (plan != NULL)
		return run_sums(plan, ingest);
	read_query(ingest, &options);
	if (ingest->nrows == 0)
		gr_raise_no_ingested(ingest, ingest->nskipped);
	return NULL;
}

/*
 * Rows for passes
 */

/* Plans the passes over the query. Returns true if they would run in parallel workers or by a scan. */
static bool
plan_passes(GrRowSource *source, const GrIngest *ingest)
{
	GrIngest	keyless;
	int			nworkers;

	if (gr_is_read_by_spi(ingest->query))
		return false;
	if (source->plan != NULL)
		return source->parallel;
	keyless = gr_ingest_without_key(ingest);
	source->plan = gr_plan_requests(&keyless, GR_COST_PASS, &nworkers);
	source->parallel = source->plan != NULL && (nworkers > 0 || gr_is_scanned(source->plan));
	return source->parallel;
}

/* Plans the requests that read the rows' keys, at the first such request. Returns the number of workers. */
static int
plan_keyed(GrRowSource *source, const GrIngest *ingest)
{
	int			nworkers;

	if (source->keyed_plan != NULL)
		return gr_planned_workers(source->keyed_plan);
	source->keyed_plan = gr_plan_requests(ingest, GR_COST_REPLICATES, &nworkers);
	if (source->keyed_plan == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_TOO_MANY_ARGUMENTS),
				 errmsg("the query of a bootstrap has too many columns"),
				 errdetail("The query has %d columns that cannot be combined into arrays.", ingest->arguments->n),
				 errhint("Concatenate the array columns of the query with ||.")));
	return nworkers;
}

/*
 * True if passes are made where a remote query has its rows. A request needs the number of features: if only rows tell
 * it, the rows come here.
 */
static bool
has_remote_passes(const GrIngest *ingest)
{
	return ingest->remote && !is_to_be_pulled(ingest) && ingest->columns->nfeatures >= 0 && has_one_snapshot(ingest);
}

/*
 * True if further passes are so much work that parallel workers should read the rows again, though they fit into the
 * memory of one process.
 */
static bool
is_for_workers(GrRowSource *source, const GrIngest *ingest)
{
	return ingest->more != NULL && ingest->more->work(ingest) >= WORK_FOR_WORKERS && ingest->repeatable &&
		max_parallel_workers_per_gather > 0 && gr_fits_aggregate(ingest, GR_REQUEST_NPARAMS) &&
		plan_passes(source, ingest) && plan_keyed(source, ingest) > 0;
}

/*
 * Reads the rows of source->ingest into source->job (NULL if there was no complete row), and sets the source's
 * shape, nskipped and, with a job, totals.
 */
static void
read_held(GrRowSource *source, const GrJobOptions *options)
{
	GrIngest   *ingest = source->ingest;

	read_query(ingest, options);
	source->job = ingest->job;
	source->shape = gr_columns_shape(ingest->columns);
	source->nskipped = ingest->nskipped;
	if (source->job != NULL)
		source->totals = source->job->totals;
}

/* Prepares passes over the query. Reads nothing. The job of a remote query has no rows, only what is reported. */
static void
read_again(GrRowSource *source, const GrJobOptions *options)
{
	GrIngest   *ingest = source->ingest;
	GrJobOptions empty = *options;

	source->nrows = -1;
	if (!source->remote)
		return;
	gr_check_nfeatures(ingest->columns->nfeatures);
	gr_name_ingested(ingest);
	source->shape = gr_columns_shape(ingest->columns);
	empty.shape = source->shape;
	empty.rules = source->rules;
	empty.names = ingest->names;
	source->job = ingest->job = gr_job_new(&empty);
	gr_place_on_cpu(&source->job->place, PUSHED_REASON);
}

void
gr_source_read(GrRowSource *source, GrIngest *ingest)
{
	Size		limit = (Size) gr_ring_size * 1024;
	bool		large = ingest->nrows_estimate * gr_row_nbytes(gr_wide_shape(ingest->shape)) > limit;
	GrJobOptions options = {.kind = GR_SINK_KEEP,.may_overflow = ingest->repeatable};
	char		reason[300];

	*source = (GrRowSource) {
		.kind = &gr_source_held,.ingest = ingest,.rules = ingest->rules,.single = ingest->real_features,
		.left_out = GR_NO_FOLD
	};
	/* The cluster column of a bootstrap is its key. */
	if (ingest->nclusters > 0 && (!ingest->columns->key || ingest->keyed_clusters))
	{
		gr_clusters_check(ingest);
		source->clustered = ingest;
	}
	source->remote = has_remote_passes(ingest);
	if (source->remote)
		source->kind = &gr_source_query;
	else
	{
		source->for_workers = !large && is_for_workers(source, ingest);
		large |= source->for_workers;
		options.cpu_reason = cpu_reason(ingest);
		/*
		 * Do not fill memory that is sure to overflow: a limit of 1 byte overflows at the first row, which still tells
		 * the number of features.
		 */
		options.cpu_limit = large ? 1 : limit;
		options.spool = !ingest->repeatable || (large && (ingest->parted || !plan_passes(source, ingest)));
	}
	source->kind->read(source, &options);
	if (source->remote || !ingest->overflowed)
		return;
	if (!ingest->parted && plan_passes(source, ingest))
		source->kind = &gr_source_query;
	else
	{
		options.may_overflow = false;
		options.spool = true;
		strlcpy(reason, ingest->job->place.reason, sizeof(reason));
		options.cpu_reason = reason;
	}
	source->kind->read(source, &options);
}

bool
gr_source_sample(GrRowSource *source, const GrIngest *ingest, int nterms, GrRowSource *sample, double *share)
{
	bool		in_file = source->kind == &gr_source_held && source->job->spool.file != NULL;
	double		limit = (double) gr_ring_size * 1024 / gr_row_nbytes(source->shape);
	double		nrows = in_file ? source->job->nrows : Max(ingest->nrows_estimate, limit);
	int64		most = SAMPLE_NBYTES_MAX / gr_row_nbytes(source->shape);
	double		wanted = Min(Min((double) most, limit), nrows / SAMPLE_PART);
	double		started = gr_now();

	if ((source->kind != &gr_source_query && !in_file) || source->remote || wanted < SAMPLE_ROWS_A_TERM * nterms)
		return false;
	memset(sample, 0, sizeof(*sample));
	sample->kind = &gr_source_held;
	sample->shape = source->shape;
	sample->rules = source->rules;
	sample->job = in_file ? gr_job_head(source->job, (int64) wanted) : gr_ingest_sample(ingest, (int64) wanted);
	source->pass_s += gr_now() - started;
	if (sample->job == NULL)
		return false;
	sample->totals = sample->job->totals;
	*share = sample->job->nrows / nrows;
	return sample->job->shape.nfeatures == source->shape.nfeatures && sample->job->nrows >= SAMPLE_ROWS_A_TERM * nterms;
}

/*
 * Raises an ERROR if a pass has met another number of rows than the first: sums of different rows do not belong
 * together.
 */
static void
check_same_rows(GrRowSource *source, int64 nrows)
{
	if (source->nrows < 0 && nrows == 0)
		gr_raise_no_ingested(source->ingest, source->nskipped);
	if (source->nrows < 0)
		source->nrows = nrows;
	if (nrows != source->nrows)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("query returned other rows when it was run again"),
				 errdetail("The query returned " INT64_FORMAT " complete rows, and then " INT64_FORMAT ".",
						   source->nrows, nrows),
				 source->remote ? errhint("Store the result of the query in a table, and use that.") :
				 errhint("Store the result of the query in a table and use that, or raise gpureg.ring_size so that the "
						 "rows stay in memory.")));
}

/* Makes a pass where a remote query has its rows. */
static GrRequestResult
sum_remote(GrRowSource *source, const GrRequest *request)
{
	Oid			type = gr_own_type(source->ingest->function, "gpu_logreg_step");
	GrPlan	   *plan;
	GrState    *state;
	Datum		result;
	bool		isnull;

	if (!gr_request_is_pass(request))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("%s cannot be computed over a query that reads a custom scan", gr_request_name(request)),
				 errhint("Store the result of the query in a table, and use that.")));
	plan = gr_plan_typed_pass(source->ingest, "gpu_logreg_array_pass",
							  gr_request_state(request, source->rules, source->basis), type);
	result = gr_run_for_value(plan, NULL, &isnull);
	if (isnull)
		gr_raise_no_rows(0);
	state = gr_state_settled(result, GR_STEP, NULL);
	if (state->nfeatures != request->shape.nfeatures || state->kind != request->kind || !state->internal)
		elog(ERROR, "gpu_logreg_array_pass returned another pass");
	return (GrRequestResult) {
		.counts = {.nrows = state->nrows,.nskipped = state->nskipped,.nworkers = state->nworkers},
		.sums = gr_state_sums(state),
		.totals = gr_state_ntotals(state) > 0 ? (const GrRowTotals *) gr_state_total_cells(state) : NULL
	};
}

/* Runs the query for the sums of a request and adds them to sums. */
static void
sum_query(GrRowSource *source, const GrRequest *request, double *sums)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "gpureg pass", ALLOCSET_DEFAULT_SIZES);
	bool		keyed = gr_request_takes_keys(request);
	GrIngest	keyless = gr_ingest_without_key(source->ingest);
	GrRequestResult result;
	MemoryContext old;

	if (keyed)
		(void) plan_keyed(source, source->ingest);
	old = MemoryContextSwitchTo(context);
	result = source->remote ? sum_remote(source, request) :
		gr_run_request(keyed ? source->ingest : &keyless, keyed ? source->keyed_plan : source->plan,
					   gr_request_datum(request, source->ingest->rules.weighting, source->basis),
					   gr_request_nsums(request));
	gr_request_merge(request, sums, result.sums);
	if (result.totals != NULL)
		source->totals = *result.totals;
	source->nskipped = result.counts.nskipped;
	/* rows that an expression is not defined for are the same in each pass */
	if (source->nrows < 0)
		gr_ingest_check(source->ingest, source->nskipped);
	source->nworkers = Max(source->nworkers, result.counts.nworkers);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	check_same_rows(source, result.counts.nrows);
}

/* Adds the sums of a request over the aggregate's rows to sums. The rows are not modified: a basis changes copies. */
static void
sum_chunks(GrRowSource *source, const GrRequest *request, double *sums)
{
	int			ncols = gr_row_ncols(request->shape);
	int64		piece = source->basis == NULL ? POLL_WORK / ncols + 1 : CHANGED_NBYTES / (ncols * sizeof(double)) + 1;
	void	   *scratch = gr_request_scratch(request);
	double	   *changed = source->basis == NULL ? NULL :
		palloc_extended(piece * ncols * sizeof(double), MCXT_ALLOC_HUGE);

	for (const GrRowChunk *chunk = source->chunks; chunk != NULL; chunk = chunk->next)
	{
		for (int64 from = 0; from < chunk->nrows; from += piece)
		{
			int64		n = Min(piece, chunk->nrows - from);
			const double *rows = chunk->rows + from * ncols;

			CHECK_FOR_INTERRUPTS();
			if (changed != NULL)
			{
				memcpy(changed, rows, n * ncols * sizeof(double));
				gr_change_rows(source->basis, request->shape, changed, n);
				rows = changed;
			}
			gr_add_request(request, sums, rows, n, scratch);
		}
	}
	if (changed != NULL)
		pfree(changed);
	pfree(scratch);
}

static void
sum_held(GrRowSource *source, const GrRequest *request, double *sums)
{
	if (source->folds != NULL)
		gr_fold_request(source->folds, source->left_out, request, sums);
	else
		gr_job_sums(source->job, request, sums);
}

static void
close_source(GrRowSource *source)
{
	if (source->folds != NULL)
		gr_fold_release(source->folds);
	if (source->job != NULL)
		gr_job_release(source->job);
}

const GrSourceKind gr_source_held = {.read = read_held,.again = sum_held,.close = close_source};
const GrSourceKind gr_source_query = {.read = read_again,.again = sum_query,.close = close_source};
const GrSourceKind gr_source_chunks = {.again = sum_chunks,.close = close_source};

void
gr_source_change(GrRowSource *source, const GrBasis *basis)
{
	Assert(source->basis == NULL);
	if (source->kind == &gr_source_held)
		gr_job_change(source->job, basis);
	source->basis = basis;
}

void
gr_source_sums(GrRowSource *source, GrRequest *request, double *sums)
{
	double		started = gr_now();

	if (source->kind == &gr_source_query && !source->remote && source->nrows >= 0 && gr_request_is_pass(request))
		request->flags |= GR_REQUEST_NO_TOTALS;
	source->kind->again(source, request, sums);
	source->npasses++;
	gr_progress_pass();
	source->pass_s += gr_now() - started;
	pfree(request);
}

double *
gr_source_new_sums(GrRowSource *source, GrRequest *request, Size *n)
{
	double	   *sums;

	*n = gr_request_nsums(request);
	sums = palloc_extended(Max(*n, 1) * sizeof(double), MCXT_ALLOC_HUGE);
	gr_request_clear(request, sums);
	gr_source_sums(source, request, sums);
	return sums;
}

/* Returns the name of a way's cluster column; of the second column if way uses both. */
static const char *
cluster_name(const GrRowSource *source, int way)
{
	const GrKeptClusters *kept = source->kept_clusters;

	if (kept != NULL)
		return kept->set.names[kept->columns[Min(way, kept->n - 1)]];
	return gr_cluster_name(source->clustered, Min(way, source->clustered->nclusters - 1));
}

/*
 * Sums clusters where the rows are, by the keys that rows have, and passes the sums to fit. Returns false if that is
 * not possible: rows have no keys or unsuitable ones, the rows are in a file, or the covariance is CR2.
 */
static bool
sum_by_keys(GrRowSource *source, GrGlmFit *fit)
{
	GrRequest  *request;
	double	   *sums;
	bool		made;

	/* Rows of a file come in pieces, but all rows of a cluster must be in one place. */
	if (source->kind != &gr_source_held || !source->shape.key || source->job->spool.file != NULL ||
		gr_fit_vcov(fit) == GR_VCOV_CR2)
		return false;
	request = gr_clusters_request(fit);
	sums = palloc_extended(gr_request_nsums(request) * sizeof(double), MCXT_ALLOC_HUGE);
	gr_request_clear(request, sums);
	gr_job_sums(source->job, request, sums);
	made = sums[GR_CLUSTERS_NLEFT] == 0 && sums[GR_CLUSTERS_NROWS] == (double) source->job->nrows;
	if (made)
	{
		const double *middle = sums + GR_CLUSTERS_HEAD;
		const double *pearson = sums + GR_CLUSTERS_PEARSON_HI;

		gr_glm_take_clusters(fit, (int64) sums[GR_CLUSTERS_N], (GrDDConstVector) {
			middle, middle + gr_triangle(gr_nterms(request->shape.nfeatures))
		}, (GrDD) {pearson[0], pearson[1]});
		gr_clusters_check_met(fit, cluster_name(source, fit->way));
	}
	pfree(sums);
	pfree(request);
	return made;
}

void
gr_source_clusters(GrRowSource *source, GrGlmFit *fit)
{
	if (sum_by_keys(source, fit))
		return;
	if (source->kept_clusters != NULL)
	{
		source->nclusterings += gr_kept_clusters_sum(source->kept_clusters, fit, source->job->nrows);
		return;
	}
	if (source->clustered == NULL)
		elog(ERROR, "rows are in no clusters");
	gr_clusters_sum(source->clustered, fit, source->kind == &gr_source_query ? source->nrows : source->job->nrows);
	source->nclusterings++;
}
