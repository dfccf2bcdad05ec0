/*
 * ranking.c: the scores of a group of rows by label, as state of an aggregate; see ranking.h.
 *
 * A share of work_mem is for tails and their sort, another one for runs in memory, and a third one for merges. When the
 * runs exceed their share, they are merged. They go to the file unless the merge has at least halved them, as it does
 * if scores repeat: so few different scores stay in memory, however many rows there are.
 *
 * Small runs, and runs whose rows share few scores, are merged with their predecessor unless that is more than twice
 * as large. So there are few of them.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "utils/memutils.h"

#include "run/args.h"
#include "sql/glm/ranking.h"

/* First capacity of a tail in keys, and the one up to which a tail grows without being searched for ties */
#define TAIL_FIRST 8
#define TAIL_FREE 128

/* Limits of a tail's capacity in keys. The sort of a larger one would leave a processor's second cache. */
#define TAIL_LEAST 1024
#define TAIL_MOST (128 * 1024)

/* First capacity of the array of runs; a power of two */
#define FIRST_NRUNS 4

/* Size in bytes up to which runs are small */
#define SMALL_RUN (64 * 1024)

/* Least number of runs in the file that are merged at once, and the memory for each of them */
#define FAN_IN_LEAST 8
#define LEAF_NBYTES_LEAST (8 * 1024)
#define LEAF_NBYTES_MOST (64 * 1024)

StaticAssertDecl(sizeof(GrRanking) <= 128, "a state is small");
StaticAssertDecl(LEAF_NBYTES_LEAST >= GR_CHUNK_NBYTES_MAX, "a leaf's buffer holds a chunk");

/* First bytes of a serialized state: "GSC2" */
#define MAGIC 0x32435347

/*
 * Size of a serialized state's head: MAGIC, and the size in bytes of either label's run as uint64. The runs follow.
 * Their sizes are multiples of 8, so that no size of a state is a multiple of 16, as those of version 0.1.0 are.
 */
#define HEAD_NBYTES (sizeof(uint32) + 2 * sizeof(uint64))

/* Element of a state of version 0.1.0: the number of rows with one score, by label */
typedef struct Tally
{
	double		score;
	uint32		nzeros;
	uint32		nones;
} Tally;

GrRanking *
gr_ranking_create(FunctionCallInfo fcinfo)
{
	MemoryContext context = gr_aggregate_context(fcinfo);
	GrRanking  *ranking = MemoryContextAllocZero(context, sizeof(GrRanking));

	ranking->tag = GR_RANKING_TAG;
	ranking->context = context;
	ranking->memory_kb = IsA(fcinfo->context, AggState) ? work_mem : 0;
	return ranking;
}

/* True unless the state is a window function's. */
static bool
may_spill(const GrRanking *ranking)
{
	return ranking->memory_kb > 0;
}

static Size
memory_nbytes(const GrRanking *ranking)
{
	return (Size) ranking->memory_kb * 1024;
}

/* Limit of the runs in memory */
static Size
runs_nbytes_max(const GrRanking *ranking)
{
	return may_spill(ranking) ? memory_nbytes(ranking) / 4 : GR_WINDOW_SCORES_NBYTES_MAX;
}

/* Limit of a tail's capacity. Two tails and the room to sort one of them take half of the memory. */
static int
tail_max(const GrRanking *ranking)
{
	Size		nkeys = memory_nbytes(ranking) / 2 / (3 * sizeof(uint64));

	return may_spill(ranking) ? Max(Min(nkeys, TAIL_MOST), TAIL_LEAST) : TAIL_MOST;
}

/*
 * The file
 */

/* Closes the file at the aggregate's end. After an error the server closes it. */
static void
close_file(Datum arg)
{
	GrRanking  *ranking = (GrRanking *) DatumGetPointer(arg);

	if (ranking->file != NULL)
		BufFileClose(ranking->file);
	ranking->file = NULL;
}

static BufFile *
create_file(GrRanking *ranking)
{
	MemoryContext old = MemoryContextSwitchTo(ranking->context);
	BufFile    *file = BufFileCreateTemp(false);

	MemoryContextSwitchTo(old);
	return file;
}

static void
open_file(FunctionCallInfo fcinfo, GrRanking *ranking)
{
	if (ranking->file != NULL)
		return;
	AggRegisterCallback(fcinfo, close_file, PointerGetDatum(ranking));
	ranking->file = create_file(ranking);
}

/* Appends the bytes of a run to the open file. Returns their position. */
static int64
append_to_file(GrRanking *ranking, const char *bytes, int64 nbytes)
{
	int64		offset = ranking->file_nbytes;

	if (BufFileSeek(ranking->file, 0, offset, SEEK_SET) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not seek in temporary file: %m")));
	BufFileWrite(ranking->file, (void *) bytes, nbytes);
	ranking->file_nbytes += nbytes;
	return offset;
}

/*
 * Runs
 */

/* Appends a run to a label's runs, whose rows are not counted by this. */
static void
append_run(GrRanking *ranking, GrRankingSide *side, GrSortedRun run)
{
	/* the room is for a power of two, of at least FIRST_NRUNS */
	if (side->runs == NULL)
		side->runs = MemoryContextAlloc(ranking->context, FIRST_NRUNS * sizeof(GrSortedRun));
	else if (side->nruns >= FIRST_NRUNS && (side->nruns & (side->nruns - 1)) == 0)
		side->runs = repalloc_huge(side->runs, 2 * (Size) side->nruns * sizeof(GrSortedRun));
	side->runs[side->nruns++] = run;
	if (run.memory != NULL)
		ranking->runs_nbytes += run.nbytes;
}

/* Appends the run in the writer's memory, which is freed. */
static void
append_written(GrRanking *ranking, GrRankingSide *side, GrRunWriter *writer)
{
	GrSortedRun	run = {NULL, 0, writer->n, writer->nrows};

	run.memory = MemoryContextAllocHuge(ranking->context, writer->n);
	memcpy(run.memory, writer->bytes, writer->n);
	pfree(writer->bytes);
	append_run(ranking, side, run);
}

/* Merges the runs in memory from number `first` on. */
static void
merge_in_memory(GrRanking *ranking, GrRankingSide *side, int first)
{
	MemoryContext temporary = AllocSetContextCreate(CurrentMemoryContext, "merge of scores", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(temporary);
	GrMerge		merge;
	GrRunWriter writer;
	Size		nbytes = 0;
	int			nruns = first;

	gr_merge_begin(&merge, side->nruns - first);
	for (int k = first; k < side->nruns; k++)
		if (side->runs[k].memory != NULL)
		{
			gr_merge_add(&merge, &side->runs[k], NULL, 0);
			nbytes += side->runs[k].nbytes;
		}
	gr_merge_build(&merge);
	gr_sorted_begin(&writer, nbytes, NULL);
	gr_merge_write(&merge, &writer);
	gr_sorted_end(&writer);
	for (int k = first; k < side->nruns; k++)
	{
		if (side->runs[k].memory == NULL)
			side->runs[nruns++] = side->runs[k];
		else
			pfree(side->runs[k].memory);
	}
	side->nruns = nruns;
	ranking->runs_nbytes -= nbytes;
	append_written(ranking, side, &writer);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(temporary);
}

/* True if a run is to be merged with a run of its size: it is small, or its rows share few scores. */
static bool
is_compact(const GrSortedRun *run)
{
	return run->memory != NULL && (run->nbytes <= SMALL_RUN || run->nbytes <= run->nrows * (int64) sizeof(uint64) / 2);
}

static void
merge_compact(GrRanking *ranking, GrRankingSide *side)
{
	while (side->nruns >= 2)
	{
		const GrSortedRun *last = &side->runs[side->nruns - 1];

		if (!is_compact(last) || !is_compact(last - 1) || last[-1].nbytes / 2 > last->nbytes)
			break;
		merge_in_memory(ranking, side, side->nruns - 2);
	}
}

static int
count_in_memory(const GrRankingSide *side)
{
	int			n = 0;

	for (int k = 0; k < side->nruns; k++)
		n += side->runs[k].memory != NULL;
	return n;
}

/* Moves the runs in memory to the open file. */
static void
write_runs(GrRanking *ranking, GrRankingSide *side)
{
	for (int k = 0; k < side->nruns; k++)
	{
		GrSortedRun *run = &side->runs[k];

		if (run->memory == NULL)
			continue;
		CHECK_FOR_INTERRUPTS();
		run->offset = append_to_file(ranking, run->memory, run->nbytes);
		ranking->runs_nbytes -= run->nbytes;
		pfree(run->memory);
		run->memory = NULL;
	}
}

/* Keeps the runs in memory within their limit. */
static void
limit_memory(FunctionCallInfo fcinfo, GrRanking *ranking)
{
	Size		limit = runs_nbytes_max(ranking);

	if (ranking->runs_nbytes <= limit)
		return;
	for (int label = 0; label < 2; label++)
		if (count_in_memory(&ranking->sides[label]) > 1)
			merge_in_memory(ranking, &ranking->sides[label], 0);
	if (may_spill(ranking) && ranking->runs_nbytes > limit / 2)
	{
		open_file(fcinfo, ranking);
		for (int label = 0; label < 2; label++)
			write_runs(ranking, &ranking->sides[label]);
	}
	/* nearly full runs would be merged again and again */
	else if (ranking->runs_nbytes > limit / 8 * 7)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("gpu_auc keeps at most %zu MB of a window frame's scores", limit >> 20),
				 errhint("Round the scores, or use a smaller frame.")));
}

/*
 * Tails
 */

static void
sort_tail(GrRankingSide *side)
{
	uint64	   *scratch;

	if (side->nsorted == side->ntail)
		return;
	scratch = palloc(side->ntail * sizeof(uint64));
	gr_sort_keys(side->tail, scratch, side->ntail, side->nsorted);
	pfree(scratch);
	side->nsorted = side->ntail;
}

/* Makes a run of a sorted tail. */
static void
close_tail(GrRanking *ranking, GrRankingSide *side)
{
	GrRunWriter writer;

	gr_sorted_begin(&writer, side->ntail * sizeof(uint64), NULL);
	gr_sorted_write(&writer, (GrKeys) {side->tail, NULL, side->ntail});
	gr_sorted_end(&writer);
	append_written(ranking, side, &writer);
	gr_add_count(&side->nrows, side->ntail);
	side->ntail = side->nsorted = 0;
}

static void
grow_tail(GrRanking *ranking, GrRankingSide *side)
{
	int			capacity = Min(Max(2 * side->capacity, TAIL_FIRST), tail_max(ranking));

	side->tail = side->tail == NULL ? MemoryContextAlloc(ranking->context, capacity * sizeof(uint64)) :
		repalloc(side->tail, capacity * sizeof(uint64));
	side->capacity = capacity;
}

void
gr_ranking_make_room(FunctionCallInfo fcinfo, GrRanking *ranking, GrRankingSide *side)
{
	if (side->capacity >= TAIL_FREE)
		sort_tail(side);
	if (side->capacity < TAIL_FREE ||
		(side->capacity < tail_max(ranking) && !gr_keys_have_ties(side->tail, side->ntail)))
	{
		grow_tail(ranking, side);
		return;
	}
	close_tail(ranking, side);
	merge_compact(ranking, side);
	limit_memory(fcinfo, ranking);
}

/*
 * Serialized states
 */

bytea *
gr_ranking_serialize(GrRanking *ranking)
{
	uint32		magic = MAGIC;
	uint64		nbytes[2];
	Size		total = VARHDRSZ + HEAD_NBYTES;
	GrRunWriter writer;

	gr_ranking_prepare(ranking);
	for (int label = 0; label < 2; label++)
	{
		total += ranking->sides[label].ntail * sizeof(uint64);
		for (int k = 0; k < ranking->sides[label].nruns; k++)
			total += ranking->sides[label].runs[k].nbytes;
	}
	gr_sorted_begin(&writer, Min(total, MaxAllocSize), NULL);
	writer.capacity_max = MaxAllocSize;
	writer.n = VARHDRSZ + HEAD_NBYTES;
	for (int label = 0; label < 2; label++)
	{
		Size		before = writer.n;
		GrMerge		merge;

		gr_ranking_merge(ranking, label == 1, &merge);
		gr_merge_write(&merge, &writer);
		gr_sorted_end(&writer);
		nbytes[label] = writer.n - before;
	}
	SET_VARSIZE(writer.bytes, writer.n);
	memcpy(writer.bytes + VARHDRSZ, &magic, sizeof(magic));
	memcpy(writer.bytes + VARHDRSZ + sizeof(magic), nbytes, sizeof(nbytes));
	return (bytea *) writer.bytes;
}

GrRankingBytes *
gr_ranking_deserialize(bytea *bytes)
{
	GrRankingBytes *other = palloc(sizeof(GrRankingBytes));

	other->tag = GR_RANKING_BYTES_TAG;
	other->bytes = VARDATA_ANY(bytes);
	other->nbytes = VARSIZE_ANY_EXHDR(bytes);
	return other;
}

static void raise_malformed(void) __attribute__((noreturn));

static void
raise_malformed(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
			 errmsg("malformed state of gpu_auc")));
}

/* Checks a run of nbytes. Returns the number of its rows, and sets *nkeys to the number of its keys. */
static int64
check_run(const char *bytes, Size nbytes, int64 *nkeys)
{
	uint64		chunk[GR_CHUNK_NBYTES_MAX / sizeof(uint64)];
	uint64		last = 0;
	int64		nrows = 0;

	*nkeys = 0;
	for (Size at = 0, size; at < nbytes; at += size)
	{
		const char *next = (const char *) chunk;

		CHECK_FOR_INTERRUPTS();
		size = gr_check_chunk(bytes + at, nbytes - at, (char *) chunk, &last, &nrows);
		if (size == 0)
			raise_malformed();
		*nkeys += gr_next_chunk(&next).n;
	}
	return nrows;
}

/* Adds the keys of a checked run without counts to a tail. */
static void
add_to_tail(FunctionCallInfo fcinfo, GrRanking *ranking, GrRankingSide *side, const char *bytes, Size nbytes)
{
	uint64		chunk[GR_CHUNK_NBYTES_MAX / sizeof(uint64)];
	uint64		last = 0;
	int64		nrows = 0;

	for (Size at = 0; at < nbytes;)
	{
		const char *next = (const char *) chunk;
		GrKeys		keys;

		at += gr_check_chunk(bytes + at, nbytes - at, (char *) chunk, &last, &nrows);
		keys = gr_next_chunk(&next);
		for (int k = 0; k < keys.n; k++)
		{
			if (side->ntail == side->capacity)
				gr_ranking_make_room(fcinfo, ranking, side);
			side->tail[side->ntail++] = keys.keys[k];
		}
	}
}

/* Adds a serialized run. */
static void
add_run(FunctionCallInfo fcinfo, GrRanking *ranking, GrRankingSide *side, const char *bytes, Size nbytes)
{
	GrSortedRun	run = {NULL, 0, nbytes, 0};
	int64		nkeys;

	run.nrows = check_run(bytes, nbytes, &nkeys);
	if (run.nrows == nkeys && nkeys <= TAIL_FREE)
	{
		add_to_tail(fcinfo, ranking, side, bytes, nbytes);
		return;
	}
	gr_add_count(&side->nrows, run.nrows);
	if (may_spill(ranking) && nbytes > runs_nbytes_max(ranking))
	{
		open_file(fcinfo, ranking);
		run.offset = append_to_file(ranking, bytes, nbytes);
	}
	else
	{
		run.memory = MemoryContextAllocHuge(ranking->context, nbytes);
		memcpy(run.memory, bytes, nbytes);
	}
	append_run(ranking, side, run);
	merge_compact(ranking, side);
	limit_memory(fcinfo, ranking);
}

/* Adds the rows of a label in n tallies of version 0.1.0, which are in ascending order of scores. */
static void
add_tallies(FunctionCallInfo fcinfo, GrRanking *ranking, int label, const char *bytes, int64 n)
{
	GrRankingSide *side = &ranking->sides[label];
	GrRunWriter writer;
	uint64		last = 0;

	gr_sorted_begin(&writer, 0, NULL);
	for (int64 k = n - 1; k >= 0; k--)
	{
		Tally		tally;
		GrKeys		keys;
		uint64		key;

		gr_poll_loop(k);
		memcpy(&tally, bytes + k * sizeof(Tally), sizeof(Tally));
		key = gr_score_key(tally.score);
		if (isnan(tally.score) || key < last)
			raise_malformed();
		last = key;
		keys = (GrKeys) {&key, label == 0 ? &tally.nzeros : &tally.nones, 1};
		if (keys.counts[0] > 0)
			gr_sorted_write(&writer, keys);
	}
	gr_sorted_end(&writer);
	if (writer.n == 0)
		return;
	gr_add_count(&side->nrows, writer.nrows);
	append_written(ranking, side, &writer);
	merge_compact(ranking, side);
	limit_memory(fcinfo, ranking);
}

void
gr_ranking_combine(FunctionCallInfo fcinfo, GrRanking *ranking, const GrRankingBytes *other)
{
	const char *bytes = other->bytes;
	uint32		magic;
	uint64		nbytes[2];

	if (other->nbytes % sizeof(Tally) == 0)
	{
		for (int label = 0; label < 2; label++)
			add_tallies(fcinfo, ranking, label, bytes, other->nbytes / sizeof(Tally));
		return;
	}
	if (other->nbytes < HEAD_NBYTES)
		raise_malformed();
	memcpy(&magic, bytes, sizeof(magic));
	memcpy(nbytes, bytes + sizeof(magic), sizeof(nbytes));
	if (magic != MAGIC || nbytes[0] > other->nbytes || nbytes[1] > other->nbytes ||
		nbytes[0] + nbytes[1] != other->nbytes - HEAD_NBYTES)
		raise_malformed();
	bytes += HEAD_NBYTES;
	for (int label = 0; label < 2; label++)
	{
		if (nbytes[label] > 0)
			add_run(fcinfo, ranking, &ranking->sides[label], bytes, nbytes[label]);
		bytes += nbytes[label];
	}
}

/*
 * Merges of all runs
 */

/* Limit of the number of a label's runs in the file that are merged at once */
static int
fan_in(const GrRanking *ranking)
{
	return Max(Min(memory_nbytes(ranking) / LEAF_NBYTES_MOST, 1024), FAN_IN_LEAST);
}

/* Size of the buffer of each of n runs in the file. A label's buffers take a quarter of the memory. */
static Size
leaf_nbytes(const GrRanking *ranking, int n)
{
	return Max(Min(memory_nbytes(ranking) / 4 / Max(n, 1), LEAF_NBYTES_MOST), LEAF_NBYTES_LEAST);
}

/* Merges n runs in the file from runs[0] on. Writes the merged run to `to`, whose end is at *nbytes, and returns it. */
static GrSortedRun
merge_in_file(GrRanking *ranking, const GrSortedRun *runs, int n, BufFile *to, int64 *nbytes)
{
	MemoryContext temporary = AllocSetContextCreate(CurrentMemoryContext, "merge of scores", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(temporary);
	GrSortedRun	run = {NULL, *nbytes, 0, 0};
	GrMerge		merge;
	GrRunWriter writer;

	gr_merge_begin(&merge, n);
	for (int k = 0; k < n; k++)
		gr_merge_add(&merge, &runs[k], ranking->file, leaf_nbytes(ranking, n));
	gr_merge_build(&merge);
	gr_sorted_begin(&writer, LEAF_NBYTES_MOST, to);
	gr_merge_write(&merge, &writer);
	gr_sorted_end(&writer);
	run.nbytes = writer.nfiled;
	run.nrows = writer.nrows;
	*nbytes += run.nbytes;
	MemoryContextSwitchTo(old);
	MemoryContextDelete(temporary);
	return run;
}

/* Merges the runs in the file to another file, as many at once as memory allows. No runs are in memory. */
static void
merge_once(GrRanking *ranking)
{
	int			most = fan_in(ranking);
	BufFile    *file = create_file(ranking);
	int64		nbytes = 0;

	for (int label = 0; label < 2; label++)
	{
		GrRankingSide *side = &ranking->sides[label];
		int			nmerged = 0;

		for (int k = 0; k < side->nruns; k += most)
			side->runs[nmerged++] = merge_in_file(ranking, &side->runs[k], Min(most, side->nruns - k), file, &nbytes);
		side->nruns = nmerged;
	}
	BufFileClose(ranking->file);
	ranking->file = file;
	ranking->file_nbytes = nbytes;
}

static int
count_in_file(const GrRankingSide *side)
{
	return side->nruns - count_in_memory(side);
}

void
gr_ranking_prepare(GrRanking *ranking)
{
	for (int label = 0; label < 2; label++)
		sort_tail(&ranking->sides[label]);
	while (Max(count_in_file(&ranking->sides[0]), count_in_file(&ranking->sides[1])) > fan_in(ranking))
	{
		for (int label = 0; label < 2; label++)
			write_runs(ranking, &ranking->sides[label]);
		merge_once(ranking);
	}
}

void
gr_ranking_merge(const GrRanking *ranking, bool label, GrMerge *merge)
{
	const GrRankingSide *side = &ranking->sides[label ? 1 : 0];
	Size		buffer_nbytes = leaf_nbytes(ranking, count_in_file(side));

	Assert(side->nsorted == side->ntail);
	gr_merge_begin(merge, side->nruns + (side->ntail > 0));
	for (int k = 0; k < side->nruns; k++)
		gr_merge_add(merge, &side->runs[k], ranking->file, buffer_nbytes);
	if (side->ntail > 0)
		gr_merge_add_keys(merge, (GrKeys) {side->tail, NULL, side->ntail});
	gr_merge_build(merge);
}
