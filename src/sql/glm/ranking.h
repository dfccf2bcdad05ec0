/*
 * ranking.h: the scores of a group of rows by label, as state of an aggregate.
 *
 * Each label has a tail of keys in the order of the rows, which becomes a sorted run whenever it is full. Runs are in
 * memory up to a share of work_mem, and beyond that in a temporary file. The walk of ranking_walk.h merges them once.
 *
 * The file is closed when the group is finished; after an error the server closes it. A window function is not told
 * when it ends, so its states stay in memory, and have a limit.
 */
#ifndef GPUREG_RANKING_H
#define GPUREG_RANKING_H

#include "postgres.h"

#include "fmgr.h"

#include "compute/base/sort_keys.h"
#include "sql/glm/sorted_runs.h"

/* Limit in bytes of a window frame's runs. Documented in docs/reference/tests.md. */
#define GR_WINDOW_SCORES_NBYTES_MAX ((Size) 256 << 20)

/* The scores of the rows with one label */
typedef struct GrRankingSide
{
	uint64	   *tail;			/* keys that are in no run */
	int			ntail;
	int			nsorted;		/* number of keys at the beginning of tail that are in order */
	int			capacity;		/* capacity of tail */
	int			nruns;
	GrSortedRun *runs;
	int64		nrows;			/* rows of the runs; those of the tail are not yet counted */
} GrRankingSide;

/* First bytes of a GrRanking and a GrRankingBytes: combine functions get both as internal. */
#define GR_RANKING_TAG 0x53434f52
#define GR_RANKING_BYTES_TAG 0x42595445

/* Not larger than 128 bytes, as a statement may have very many groups */
typedef struct GrRanking
{
	uint32		tag;			/* GR_RANKING_TAG */
	int			memory_kb;		/* work_mem when the state was created; 0: a window function's state, without a file */
	MemoryContext context;		/* owns this struct and what it points to */
	Size		runs_nbytes;	/* size of the runs in memory */
	BufFile    *file;			/* NULL: no run has been written */
	int64		file_nbytes;
	GrRankingSide sides[2];		/* by label */
} GrRanking;

/* Returns an empty state in the context of the calling aggregate. ERROR if no aggregate calls. */
extern GrRanking *gr_ranking_create(FunctionCallInfo fcinfo);

/* Makes room for a key in a tail that is full. */
extern void gr_ranking_make_room(FunctionCallInfo fcinfo, GrRanking *ranking, GrRankingSide *side);

/* Adds a row whose score is not NaN. */
static inline void
gr_ranking_add(FunctionCallInfo fcinfo, GrRanking *ranking, double score, bool label)
{
	GrRankingSide *side = &ranking->sides[label ? 1 : 0];

	if (side->ntail == side->capacity)
		gr_ranking_make_room(fcinfo, ranking, side);
	side->tail[side->ntail++] = gr_score_key(score);
}

/* Returns the number of rows with a label. */
static inline int64
gr_ranking_nrows(const GrRanking *ranking, bool label)
{
	const GrRankingSide *side = &ranking->sides[label ? 1 : 0];

	return side->nrows + side->ntail;
}

/* Returns the state as bytes of a bytea. ERROR if they exceed 1 GB. */
extern bytea *gr_ranking_serialize(GrRanking *ranking);

/* Bytes of a serialized state, not yet checked. Only gr_ranking_combine() reads them, before they are gone. */
typedef struct GrRankingBytes
{
	uint32		tag;			/* GR_RANKING_BYTES_TAG */
	const char *bytes;
	Size		nbytes;
} GrRankingBytes;

/* Returns the bytes of a serialized state, without a copy. */
extern GrRankingBytes *gr_ranking_deserialize(bytea *bytes);

/* Adds a serialized state, also that of version 0.1.0. ERROR if it is malformed. */
extern void gr_ranking_combine(FunctionCallInfo fcinfo, GrRanking *ranking, const GrRankingBytes *other);

/* Prepares merges: sorts the tails, and merges runs in the file until they are few. */
extern void gr_ranking_prepare(GrRanking *ranking);

/* Begins the merge of all keys of a label in a state that is prepared. The state must not change until it ends. */
extern void gr_ranking_merge(const GrRanking *ranking, bool label, GrMerge *merge);

#endif							/* GPUREG_RANKING_H */
