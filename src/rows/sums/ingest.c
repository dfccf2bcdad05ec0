/*
 * ingest.c: prepares a user's query and reads its rows as blocks of float8.
 *
 * The query runs into a DestReceiver that converts each row in place; rows are not stored. An array is as many features
 * as it has elements in the first complete row.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/tuptable.h"
#include "nodes/makefuncs.h"
#include "optimizer/cost.h"
#include "optimizer/planner.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "compute/base/compute.h"
#include "compute/linalg/gram.h"
#include "rows/columns/columns.h"
#include "rows/query/classes.h"
#include "rows/query/frame.h"
#include "rows/query/query.h"
#include "rows/query/wrapper.h"
#include "rows/scan/scan.h"
#include "rows/state/boot_key.h"
#include "rows/sums/ingest.h"
#include "run/device.h"
#include "run/job.h"
#include "run/raise.h"

/* Work of reading a row again for each of a fit's passes, in products */
#define REREAD_WORK 2000.0

/* Width that an array is assumed to have if nothing is known */
#define GUESSED_WIDTH 100

/* Rows that are read in search of a complete row */
#define PEEKED_ROWS 1000

typedef struct IngestReceiver
{
	GrReceiver	base;
	GrIngest   *result;
	GrJobOptions job;
	int64		nrows_max;		/* rows to read at most */
	MemoryContext result_context;	/* owns the job and the names */
	MemoryContext row_context;	/* reset after each row */
} IngestReceiver;

void
gr_name_ingested(GrIngest *ingest)
{
	ingest->nfeatures = ingest->columns->nfeatures;
	ingest->names = gr_name_numbers(ingest->columns);
	/* Pack the columns again: the arrangement stays, which plans rely on, and all widths are known now. */
	ingest->arguments = gr_pack_columns(ingest->columns, GR_ARGUMENTS_MAX, ingest->shape.single);
}

void
gr_name_summed(GrIngest *ingest, int nfeatures)
{
	GrColumns  *columns = ingest->columns;
	int			nroles = gr_nroles(columns);
	int32	   *widths = columns->nfeatures >= 0 ? NULL : palloc(columns->n * sizeof(int32));

	if (widths != NULL)
	{
		for (int k = nroles; k < columns->n; k++)
			widths[k - nroles] = columns->column[k].width >= 0 ? columns->column[k].width :
				nfeatures - (columns->n - nroles - 1);
		gr_set_widths(columns, widths);
		pfree(widths);
	}
	/* The sums may come from another server. */
	if (columns->nfeatures != nfeatures)
		elog(ERROR, "sums are of %d features instead of %d", nfeatures, columns->nfeatures);
	gr_name_ingested(ingest);
}

/* Begins the job at the first complete row, which tells the lengths of arrays. */
static void
begin_job(IngestReceiver *receiver, TupleTableSlot *slot)
{
	GrIngest   *result = receiver->result;
	MemoryContext old = MemoryContextSwitchTo(receiver->row_context);

	gr_measure_row(result->columns, GR_SLOT_VALUES(slot));
	MemoryContextSwitchTo(receiver->result_context);
	gr_name_ingested(result);
	receiver->job.shape = gr_columns_shape(result->columns);
	receiver->job.rules = result->rules;
	receiver->job.names = result->names;
	result->job = gr_job_begin(&receiver->job);
	MemoryContextSwitchTo(old);
}

static bool
is_complete(const GrIngest *ingest, TupleTableSlot *slot)
{
	slot_getallattrs(slot);
	for (int k = 0; k < ingest->columns->n; k++)
		if (slot->tts_isnull[k])
			return false;
	return true;
}

static bool
receive_row(TupleTableSlot *slot, DestReceiver *self)
{
	IngestReceiver *receiver = (IngestReceiver *) self;
	GrIngest   *result = receiver->result;
	bool		go_on = --receiver->nrows_max > 0;
	MemoryContext old;

	if (!is_complete(result, slot))
	{
		result->nskipped++;
		return go_on;
	}
	if (result->job == NULL)
		begin_job(receiver, slot);
	if (result->job->overflowed)
		return false;
	old = MemoryContextSwitchTo(receiver->row_context);
	switch (gr_convert_row(result->columns, GR_SLOT_VALUES(slot), gr_job_row(result->job)))
	{
		case GR_ROW_TAKES_PART:
			gr_job_take_row(result->job);
			break;
		case GR_ROW_SKIPPED:
			result->nskipped++;
			break;
		case GR_ROW_WEIGHTLESS:
			break;
	}
	MemoryContextSwitchTo(old);
	/* most rows allocate nothing */
	if (!receiver->row_context->isReset)
		MemoryContextReset(receiver->row_context);
	return go_on;
}

/* Sets the widths of arrays from the first complete row. */
static bool
receive_widths(TupleTableSlot *slot, DestReceiver *self)
{
	IngestReceiver *receiver = (IngestReceiver *) self;

	if (!is_complete(receiver->result, slot))
		return --receiver->nrows_max > 0;
	gr_measure_row(receiver->result->columns, GR_SLOT_VALUES(slot));
	return false;
}

/* Finds the widths of arrays if the query's first row is cheap and a complete row comes soon. */
static void
peek_at_widths(GrIngest *ingest)
{
	IngestReceiver receiver = {.base.pub.receiveSlot = receive_widths,.result = ingest,.nrows_max = PEEKED_ROWS};

	if (gr_starts_at_once(ingest->plan))
		gr_run_plan(ingest->plan, NULL, &receiver.base, PEEKED_ROWS);
}

bool
gr_plan_ring(GrIngest *ingest)
{
	Oid			types[2] = {BYTEAOID, TEXTARRAYOID};

	if (max_parallel_workers_per_gather == 0 || ingest->remote || gr_is_read_by_spi(ingest->query))
		return false;
	if (ingest->ring_plan == NULL)
		ingest->ring_plan = gr_plan_aggregate(ingest, "gpu_ingest_pass", 2, types, INT8OID, &ingest->nworkers);
	return ingest->nworkers > 0;
}

double
gr_ingest_work(GrIngest *ingest, GrSinkKind kind)
{
	double		work = gr_job_work(kind, ingest->nrows_estimate, ingest->shape.nfeatures);
	double		nbytes = ingest->nrows_estimate * gr_row_nbytes(gr_wide_shape(ingest->shape));
	bool		kept = kind == GR_SINK_KEEP && nbytes <= (double) gr_ring_size * 1024;

	if (ingest->more != NULL)
		work += ingest->more->work(ingest);
	if (kind == GR_SINK_KEEP && !kept)
		work += ingest->nrows_estimate * REREAD_WORK;
	/* One process reads the rows that are kept. */
	if (!kept && gr_device != GR_DEVICE_GPU && (ingest->sums_plan == NULL || ingest->nworkers > 0) &&
		!gr_takes_cpu(work) && (ingest->sums_plan != NULL || gr_plan_ring(ingest)))
		work /= 1 + ingest->nworkers;
	return work;
}

static bool
has_name(const GrQuery *query, const char *name)
{
	for (int k = 0; k < query->columns->natts; k++)
		if (strcmp(query->names[k], name) == 0)
			return true;
	return false;
}

/*
 * Returns a query that adds a column of ones, the weights, behind the columns of query. Sets roles->weights to its
 * name, which differs from all theirs.
 */
static GrQuery *
add_unit_weights(GrQuery *query, GrRoles *roles)
{
	int			n = query->columns->natts;
	const char **names = palloc((n + 1) * sizeof(char *));
	char	   *weight = pstrdup("(weight)");
	GrWrapper	wrapper;

	while (has_name(query, weight))
		weight = psprintf("(%s)", weight);
	gr_wrap_query(&wrapper, query);
	for (int k = 0; k < n; k++)
		gr_wrapper_select(&wrapper, gr_wrapped_column(&wrapper, k));
	gr_wrapper_select(&wrapper, (Expr *) makeConst(FLOAT8OID, -1, InvalidOid, sizeof(float8), Float8GetDatum(1), false,
												   FLOAT8PASSBYVAL));
	memcpy(names, query->names, n * sizeof(char *));
	names[n] = roles->weights = weight;
	return gr_wrapper_query(&wrapper, names);
}

/* gpu_boot_key(column), or gpu_cv_fold(column, folds, seed) */
static Expr *
write_key(Oid function, const GrRoles *roles, Expr *column)
{
	Oid			types[3] = {ANYOID, INT4OID, INT8OID};
	Oid			made;
	Const	   *n;
	Const	   *seed;

	if (roles->nfolds == 0)
		return gr_wrapper_call(gr_own_function(function, "gpu_boot_key", 1, types, FLOAT8OID), list_make1(column));
	made = gr_own_function(function, "gpu_cv_fold", 3, types, INT4OID);
	n = makeConst(INT4OID, -1, InvalidOid, sizeof(int32), Int32GetDatum(roles->nfolds), false, true);
	seed = makeConst(INT8OID, -1, InvalidOid, sizeof(int64), Int64GetDatum((int64) roles->fold_seed), false,
					 FLOAT8PASSBYVAL);
	return gr_wrapper_call(made, list_make3(column, n, seed));
}

/*
 * Adds the key of the key's column, by write_key(), behind the query's columns. The key's column is a cluster column,
 * so it is no feature.
 */
static GrQuery *
add_key(GrQuery *query, Oid function, GrRoles *roles)
{
	int			n = query->columns->natts;
	int			at = gr_find_column(n, query->names, roles->key_role, roles->key);
	const char **names = palloc((n + 1) * sizeof(char *));
	char	   *made = psprintf("(%s)", roles->key);
	GrWrapper	wrapper;

	gr_check_boot_key(TupleDescAttr(query->columns, at)->atttypid, roles->key);
	if (roles->key_is_fold)
		gr_check_fold(TupleDescAttr(query->columns, at)->atttypid, roles->key);
	while (has_name(query, made))
		made = psprintf("(%s)", made);
	gr_wrap_query(&wrapper, query);
	for (int k = 0; k < n; k++)
		gr_wrapper_select(&wrapper, gr_wrapped_column(&wrapper, k));
	gr_wrapper_select(&wrapper, write_key(function, roles, gr_wrapped_column(&wrapper, at)));
	memcpy(names, query->names, n * sizeof(char *));
	names[n] = roles->made_key = made;
	roles->nclusters = 1;
	roles->clusters[0] = roles->key;
	return gr_wrapper_query(&wrapper, names);
}

/* gpu_cluster_key("any"); InvalidOid if the extension is of a version that lacks it */
static Oid
cluster_key_function(Oid function)
{
	Oid			any = ANYOID;

	return gr_find_own_function(function, "gpu_cluster_key", 1, &any, FLOAT8OID);
}

/* True if values of the type are keys of clusters as they are. */
static bool
is_cluster_key(Oid type)
{
	return type == INT8OID || type == INT4OID || type == INT2OID || type == BOOLOID;
}

/* True if all cluster columns have values that add_cluster_keys() can make keys of. */
static bool
can_have_cluster_keys(const GrQuery *query, Oid function, const GrRoles *roles)
{
	int			clusters[GR_CLUSTER_COLUMNS_MAX];

	if (!roles->cluster_keys || roles->nclusters == 0)
		return false;
	gr_find_clusters(query->columns->natts, query->names, roles, clusters);
	for (int k = 0; k < roles->nclusters; k++)
	{
		Oid			type = getBaseType(TupleDescAttr(query->columns, clusters[k])->atttypid);

		if (!is_cluster_key(type) && (!gr_has_cluster_keys(type) || !OidIsValid(cluster_key_function(function))))
			return false;
	}
	return true;
}

/* Adds the keys of the cluster columns behind the query's columns. */
static GrQuery *
add_cluster_keys(GrQuery *query, Oid function, GrRoles *roles)
{
	int			n = query->columns->natts;
	const char **names = palloc((n + GR_CLUSTER_COLUMNS_MAX) * sizeof(char *));
	int			clusters[GR_CLUSTER_COLUMNS_MAX];
	GrWrapper	wrapper;

	gr_find_clusters(n, query->names, roles, clusters);
	memcpy(names, query->names, n * sizeof(char *));
	gr_wrap_query(&wrapper, query);
	for (int k = 0; k < n; k++)
		gr_wrapper_select(&wrapper, gr_wrapped_column(&wrapper, k));
	for (int k = 0; k < roles->nclusters; k++)
	{
		Oid			type = getBaseType(TupleDescAttr(query->columns, clusters[k])->atttypid);
		Expr	   *column = gr_wrapped_column(&wrapper, clusters[k]);
		char	   *made = psprintf("(key of %s)", roles->clusters[k]);

		while (has_name(query, made))
			made = psprintf("(%s)", made);
		names[n + k] = made;
		gr_wrapper_select(&wrapper, is_cluster_key(type) ? column :
						  gr_wrapper_call(cluster_key_function(function), list_make1(column)));
	}
	roles->made_key = names[n];
	roles->made_second_key = roles->nclusters > 1 ? names[n + 1] : NULL;
	roles->key_role = "clusters";
	return gr_wrapper_query(&wrapper, names);
}

/*
 * Sets the query and its columns, or those of its frame if features are made of columns. An offset that the formula
 * makes becomes a role.
 */
static void
find_columns(GrIngest *ingest, GrQuery *query, GrRoles *roles, GrReadCells read_cells)
{
	const GrFrameCells cells = {read_cells, ingest};
	GrFrame    *frame = gr_make_frame(query, ingest->function, roles, &cells);

	if (frame != NULL && frame->offset != NULL)
		roles->offsets = frame->offset;
	ingest->domain = frame == NULL ? NULL : frame->domain;
	ingest->clustered = frame == NULL ? NULL : frame->clustered;
	ingest->keyless = frame == NULL ? NULL : frame->keyless;
	ingest->nclusters = roles->nclusters;
	ingest->query = frame == NULL ? query : frame->query;
	ingest->design = frame == NULL ? NULL : frame->design;
	ingest->row_design = frame == NULL ? NULL : frame->row_design;
	ingest->nlow = frame == NULL ? 0 : frame->nlow;
	ingest->intercept = frame == NULL ? roles->intercept : frame->intercept;
	ingest->columns = frame == NULL ? gr_query_columns(query->columns, query->names, roles) :
		gr_frame_columns(frame, roles);
}

bool
gr_ingest_tells_widths(const GrIngest *ingest)
{
	int			narrays = 0;

	for (int k = gr_nroles(ingest->columns); k < ingest->columns->n; k++)
		narrays += ingest->columns->column[k].width < 0;
	return narrays == 0 || (narrays == 1 && ingest->arguments->n == ingest->columns->n);
}

const GrPlan *
gr_ingest_plan(GrIngest *ingest)
{
	if (ingest->plan == NULL)
	{
		ingest->plan = gr_plan_query(ingest->query, CURSOR_OPT_PARALLEL_OK);
		ingest->remote = gr_is_remote(ingest->plan);
		ingest->nrows_estimate = ingest->remote ? 0 : gr_estimate_rows(ingest->plan);
		ingest->repeatable = !ingest->remote && gr_is_repeatable(ingest->query);
	}
	return ingest->plan;
}

/*
 * Plans the aggregate of the sums as the first plan. Returns false if the aggregate is not used or its plan does not
 * tell the number of rows. With a planner hook, tables may be remote, which only the plan of the query itself shows.
 * For a foreign table, another plan is tried first (plan_shipped_sums()).
 */
static bool
plan_sums_first(GrIngest *ingest)
{
	Oid			types[3] = {InvalidOid, TEXTARRAYOID, INT4ARRAYOID};
	GrPlan	   *plan;
	double		nrows;

	if (planner_hook != NULL || gr_device == GR_DEVICE_GPU || gr_is_read_by_spi(ingest->query) || gr_debug_ring ||
		(max_parallel_workers_per_gather == 0 && !gr_enable_scan) || ingest->columns->nfeatures < 0 ||
		gr_reads_foreign_table(ingest->query))
		return false;
	types[0] = ingest->sums_type = gr_own_type(ingest->function, "gpu_ols_stats");
	plan = gr_plan_aggregate(ingest, "gpu_ols_pass", 3, types, types[0], &ingest->nworkers);
	nrows = plan == NULL || gr_is_remote(plan) ? -1 : gr_estimate_input(plan);
	if (nrows < 0)
		return false;
	ingest->sums_plan = plan;
	ingest->nrows_estimate = nrows;
	ingest->repeatable = gr_is_repeatable(ingest->query);
	return true;
}

void
gr_ingest_note_shape(GrIngest *ingest)
{
	ingest->shape = gr_columns_shape(ingest->columns);
	ingest->shape.nfeatures = gr_guess_nfeatures(ingest->columns, GUESSED_WIDTH);
	ingest->shape.single = gr_columns_are_single(ingest->columns);
	ingest->arguments = gr_pack_columns(ingest->columns, GR_ARGUMENTS_MAX, ingest->shape.single);
}

void
gr_ingest_prepare(const char *query, Oid function, GrFamily family, const GrRoles *roles, GrReadCells summed,
				  GrIngest *ingest)
{
	GrQuery    *analysed = gr_analyse_query(query);
	GrRoles		own = *roles;

	*ingest = (GrIngest) {.function = function,.rules = {family, roles->weighting, 0}};
	ingest->pulled = roles->classes != NULL;
	if (roles->classes != NULL)
		analysed = gr_find_classes(analysed, function, roles);
	ingest->query = analysed;
	if (roles->unit_weights)
		analysed = add_unit_weights(analysed, &own);
	if (roles->key != NULL)
		analysed = add_key(analysed, function, &own);
	else if (can_have_cluster_keys(analysed, function, &own))
	{
		analysed = add_cluster_keys(analysed, function, &own);
		ingest->keyed_clusters = true;
	}
	find_columns(ingest, analysed, &own, summed);
	ingest->real_features = gr_columns_are_real(ingest->columns);
	gr_ingest_note_shape(ingest);
	if (ingest->cells != NULL || (summed != NULL && plan_sums_first(ingest)))
		return;
	(void) gr_ingest_plan(ingest);
	if (ingest->remote && ingest->keyed_clusters)
	{
		/* A remote query's passes cannot use keys: prepare without them. */
		own = *roles;
		own.cluster_keys = false;
		gr_ingest_prepare(query, function, family, &own, summed, ingest);
		return;
	}
	if (ingest->columns->nfeatures < 0 && ingest->repeatable)
	{
		peek_at_widths(ingest);
		gr_ingest_note_shape(ingest);
	}
}

/* Reads rows until nrows_max have come. */
static void
read_here(GrIngest *ingest, const GrJobOptions *options, int64 nrows_max)
{
	IngestReceiver receiver = {
		.base.pub.receiveSlot = receive_row,
		.result = ingest,
		.result_context = CurrentMemoryContext,
		.job = *options,
		.nrows_max = nrows_max
	};

	(void) gr_ingest_plan(ingest);
	receiver.job.nrows_estimate = ingest->nrows_estimate;
	receiver.row_context = AllocSetContextCreate(CurrentMemoryContext, "gpureg row", ALLOCSET_DEFAULT_SIZES);
	ingest->job = NULL;
	ingest->nskipped = 0;
	gr_run_plan(ingest->plan, NULL, &receiver.base, 0);
	ingest->nrows = ingest->job == NULL ? 0 : ingest->job->nrows;
	MemoryContextDelete(receiver.row_context);
}

void
gr_ingest_read_here(GrIngest *ingest, const GrJobOptions *options)
{
	read_here(ingest, options, PG_INT64_MAX);
}

GrJob *
gr_ingest_sample(const GrIngest *ingest, int64 nrows)
{
	GrJobOptions options = {.kind = GR_SINK_KEEP,.cpu_reason = "sample"};
	GrIngest	sample = *ingest;

	/* A few rows are read before workers have started. */
	sample.plan = gr_plan_query(ingest->query, 0);
	if (gr_starts_at_once(sample.plan))
	{
		sample.columns = gr_copy_columns(ingest->columns);
		read_here(&sample, &options, nrows);
		if (sample.job != NULL)
			(void) gr_job_keep(sample.job);
	}
	else
		sample.job = NULL;
	return sample.job;
}

void
gr_ingest_check(const GrIngest *ingest, int64 nskipped)
{
	if (nskipped > 0 && ingest->domain != NULL)
		gr_check_domain(ingest->domain);
}

void
gr_raise_no_ingested(const GrIngest *ingest, int64 nskipped)
{
	gr_ingest_check(ingest, nskipped);
	gr_raise_no_rows(nskipped);
}

void
gr_raise_no_rows(int64 nskipped)
{
	ereport(ERROR,
			(errcode(ERRCODE_NO_DATA_FOUND),
			 errmsg("query returned no complete row"),
			 nskipped > 0 ? errdetail(INT64_FORMAT " rows were skipped because of a NULL.", nskipped) : 0,
			 errhint("Look for columns that are always NULL: rows with a NULL in any column are skipped.")));
}
