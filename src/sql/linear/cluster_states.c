/*
 * cluster_states.c: stores the states of clusters in an aggregate; see cluster_states.h.
 */
#include "postgres.h"

#include <sys/mman.h>

#include "fmgr.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "compute/linear/sum_clusters.h"
#include "run/args.h"
#include "run/grams.h"
#include "run/raise.h"
#include "sql/linear/cluster_states.h"

/* Number of records that are read at a time; a multiple of 8 */
#define READ_RECORDS 64

/* Capacity of the first chunk, and the smallest one; a multiple of 8 */
#define FIRST_CAPACITY 8

/* Largest chunk in bytes, unless FIRST_CAPACITY records are larger */
#define CHUNK_NBYTES ((Size) 32 * 1024 * 1024)

/* Size in bytes of huge pages, on systems that have them */
#define LARGE_PAGE ((uintptr_t) 2 * 1024 * 1024)

/* Closes the file at the aggregate's end. After an error the server closes it. */
static void
close_states(Datum arg)
{
	gr_spool_end(&((GrClusterStates *) DatumGetPointer(arg))->spool);
}

GrClusterStates *
gr_cluster_states_make(MemoryContext context)
{
	GrClusterStates *states = MemoryContextAllocZero(context, sizeof(GrClusterStates));

	states->context = context;
	states->nfeatures = -1;
	return states;
}

GrClusterStates *
gr_cluster_states_create(FunctionCallInfo fcinfo)
{
	GrClusterStates *states = gr_cluster_states_make(gr_aggregate_context(fcinfo));

	/* a window function is not told when it ends, so it keeps everything in memory */
	states->spills = IsA(fcinfo->context, AggState);
	if (states->spills)
		AggRegisterCallback(fcinfo, close_states, PointerGetDatum(states));
	return states;
}

Size
gr_cluster_states_record(const GrClusterStates *states)
{
	return gr_cluster_record_size(states->nfeatures);
}

/* Chooses the columns by the first cluster's state. Returns false if it has no complete row. */
static bool
choose_columns(GrClusterStates *states, FunctionCallInfo fcinfo, int features_arg, int response_arg)
{
	MemoryContext old;
	GrStats		stats;

	if (!gr_stats_arguments(fcinfo, 1, features_arg, response_arg, &stats))
		return false;
	old = MemoryContextSwitchTo(states->context);
	states->columns = palloc((stats.nfeatures + 1) * sizeof(int));
	MemoryContextSwitchTo(old);
	for (int k = 0; k <= stats.nfeatures; k++)
	{
		int			column = k == stats.nfeatures ? stats.response : stats.features[k];

		/* column 0, the state's own response, is the last entry */
		states->columns[k] = column == 0 ? stats.state->nfeatures : column - 1;
	}
	states->whole = stats.whole;
	states->nfeatures = stats.nfeatures;
	return true;
}

/* Merges a state into the total, with the same bits as gpu_ols_rollup. */
static void
merge_total(GrClusterStates *states, GrState *state)
{
	GrState    *total = states->total;

	if (total == NULL || total->nfeatures < 0)
	{
		states->total = gr_state_resize(state, 0);
		if (total != NULL)
			gr_add_count(&states->total->nskipped, total->nskipped);
	}
	else
		gr_state_merge(total, state);
}

/* Moves the records in memory to the file, and keeps the memory. */
static void
spill(GrClusterStates *states)
{
	if (states->spool.file == NULL)
		gr_spool_begin(&states->spool, gr_plain_shape((int) gr_cluster_states_record(states) - 1));
	gr_spool_write_list(&states->spool, &states->records);
	states->nheld = 0;
}

/* Asks for huge pages: with 4 kB pages, page faults cost more than copying the records. Best effort. */
static void
want_large_pages(void *memory, Size nbytes)
{
#ifdef MADV_HUGEPAGE
	uintptr_t	begin = ((uintptr_t) memory + LARGE_PAGE - 1) & ~(LARGE_PAGE - 1);
	uintptr_t	end = ((uintptr_t) memory + nbytes) & ~(LARGE_PAGE - 1);

	if (begin < end)
		(void) madvise((void *) begin, end - begin, MADV_HUGEPAGE);
#endif
}

/* Doubles the room for records in memory, up to `most` records in all. */
static void
add_chunk(GrClusterStates *states, Size record_nbytes, int64 most)
{
	int64		largest = Max((int64) (CHUNK_NBYTES / record_nbytes) & ~INT64CONST(7), FIRST_CAPACITY);
	int64		capacity = Min(Min(Max(states->nheld, FIRST_CAPACITY), largest), most - states->nheld);
	Size		nbytes = gr_row_chunk_nbytes(capacity, record_nbytes);
	void	   *memory = MemoryContextAllocHuge(states->context, nbytes);

	Assert(capacity > 0 && capacity % 8 == 0);
	want_large_pages(memory, nbytes);
	gr_row_list_append(&states->records, memory, capacity);
}

/* Returns memory for the next record, which is counted. */
static double *
next_record(GrClusterStates *states)
{
	Size		size = gr_cluster_states_record(states);
	int64		most = (int64) ((Size) work_mem * 1024 / (size * sizeof(double))) & ~INT64CONST(7);
	GrRowList  *list = &states->records;
	double	   *record;

	most = states->spills ? Max(most, FIRST_CAPACITY) : PG_INT64_MAX & ~INT64CONST(7);
	/* work_mem may have been lowered; blocks that are read must be multiples of 8 */
	if (states->nheld >= most && states->nheld % 8 == 0)
		spill(states);
	if (gr_row_list_is_full(list) && list->last != NULL && list->last->next != NULL)
		list->last = list->last->next;
	else if (gr_row_list_is_full(list))
		add_chunk(states, size * sizeof(double), most);
	record = gr_row_list_next(list, size);
	list->last->nrows++;
	states->n++;
	states->nheld++;
	return record;
}

/* Writes the sums and shift of the chosen columns as a record. */
static void
take_columns(const GrClusterStates *states, GrState *state, double *record)
{
	GrGram		all = gr_state_matrix(state);
	GrGram		chosen = gr_gram_at(record, states->nfeatures);

	if (states->whole)
		gr_gram_copy(&chosen, &all);
	else if (!gr_gram_subset(&all, states->columns, &chosen))
		elog(ERROR, "a column is none of the state's");
}

bool
gr_cluster_states_add(GrClusterStates *states, FunctionCallInfo fcinfo, int features_arg, int response_arg)
{
	GrState    *state = gr_state_settled(PG_GETARG_DATUM(1), GR_STATS, NULL);
	bool		taken = state->nfeatures >= 0 && state->nrows > 0 && gr_state_hi(state)[0] != 0;
	MemoryContext old;

	if (taken && states->nfeatures < 0)
		taken = choose_columns(states, fcinfo, features_arg, response_arg);
	old = MemoryContextSwitchTo(states->context);
	/* raises an ERROR if the state has another width */
	merge_total(states, state);
	if (taken)
		take_columns(states, state, next_record(states));
	MemoryContextSwitchTo(old);
	if ((Pointer) state != DatumGetPointer(PG_GETARG_DATUM(1)))
		pfree(state);
	return taken;
}

bool
gr_cluster_states_add_whole(GrClusterStates *states, GrState *state)
{
	bool		taken = state->nfeatures >= 0 && state->nrows > 0 && gr_state_hi(state)[0] != 0;
	MemoryContext old = MemoryContextSwitchTo(states->context);

	if (taken && states->nfeatures < 0)
	{
		states->nfeatures = state->nfeatures;
		states->whole = true;
		states->columns = palloc((state->nfeatures + 1) * sizeof(int));
		for (int k = 0; k <= state->nfeatures; k++)
			states->columns[k] = k;
	}
	/* raises an ERROR if the state has another width */
	merge_total(states, state);
	if (taken)
		take_columns(states, state, next_record(states));
	MemoryContextSwitchTo(old);
	return taken;
}

void
gr_cluster_states_close(GrClusterStates *states)
{
	if (states->spool.file != NULL)
		gr_spool_end(&states->spool);
}

bool
gr_cluster_states_check(const GrClusterStates *states, bool intercept)
{
	if (states->nfeatures + (intercept ? 1 : 0) > GR_CLUSTER_TERMS_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("cluster-robust covariances from states can have at most %d terms", GR_CLUSTER_TERMS_MAX),
				 errhint("Name fewer features.")));
	/* a WARNING, because an ERROR would end the query for its other groups */
	if (states->n < 2)
		ereport(WARNING,
				(errmsg("cluster-robust covariances need at least two clusters"),
				 errdetail("Only one state has a complete row."),
				 errhint("Aggregate one state per cluster. gpu_ols_rollup() merges the states of one cluster.")));
	return states->n >= 2;
}

void
gr_cluster_states_total(GrClusterStates *states, GrStats *stats)
{
	int			n = states->nfeatures;
	GrGram		all;
	const char **own;

	if (!gr_stats_open(PointerGetDatum(states->total), stats))
		elog(ERROR, "there is no cluster");
	own = stats->names;
	stats->nfeatures = n;
	stats->whole = states->whole;
	all = stats->gram;
	stats->gram = gr_gram_make(n);
	take_columns(states, states->total, stats->gram.hi);
	stats->gram.nobs = all.nobs;
	stats->gram.log_constant = all.log_constant;
	stats->names = palloc((n + 1) * sizeof(char *));
	for (int k = 0; k <= n; k++)
		stats->names[k] = own[states->columns[k]];
}

void
gr_cluster_reader_begin(GrClusterReader *reader, GrClusterStates *states)
{
	*reader = (GrClusterReader) {.nfiled = states->n - states->nheld, .states = states, .chunk = states->records.first};
	if (reader->nfiled == 0)
		return;
	reader->block = palloc_extended(READ_RECORDS * gr_cluster_states_record(states) * sizeof(double),
									MCXT_ALLOC_HUGE);
	gr_spool_rewind(&states->spool);
}

const double *
gr_cluster_reader_next(GrClusterReader *reader, int64 *n)
{
	const GrRowChunk *chunk = reader->chunk;

	if (reader->nfiled > 0)
	{
		*n = Min(reader->nfiled, READ_RECORDS);
		gr_spool_read(&reader->states->spool, reader->block, *n);
		reader->nfiled -= *n;
		return reader->block;
	}
	*n = chunk == NULL ? 0 : chunk->nrows;
	if (*n == 0)
		return NULL;
	reader->chunk = chunk->next;
	return chunk->rows;
}
