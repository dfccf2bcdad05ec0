/*
 * sorted_runs.h: sorted runs of score keys (sort_keys.h), and their merge.
 *
 * A run is a list of chunks in ascending order of keys, in memory, in a temporary file or in the bytes that a parallel
 * worker hands over, with this layout:
 *
 *     uint32 n, 1 <= n <= GR_CHUNK_NKEYS; uint32 counted, 0 or 1
 *     uint64 keys[n]
 *     uint32 counts[n], padded with 0 to a multiple of 8 bytes; only if counted is 1
 *
 * counts says how often each key occurs, which is at least once. A chunk without counts names a key as often as it
 * occurs. A run may name a key in several places also with counts, because a count has 32 bits.
 */
#ifndef GPUREG_SORTED_RUNS_H
#define GPUREG_SORTED_RUNS_H

#include "postgres.h"

#include "storage/buffile.h"

/* Capacity of a chunk. Two chunks of each inner node of a merge should fit into a processor's first cache. */
#define GR_CHUNK_NKEYS 512

/* Size in bytes of the largest chunk: its header, keys and counts */
#define GR_CHUNK_NBYTES_MAX ((Size) 8 + 12 * GR_CHUNK_NKEYS)

/* A sorted run */
typedef struct GrSortedRun
{
	char	   *memory;			/* the chunks; NULL: they are in the file */
	int64		offset;			/* position in the file, if memory is NULL */
	int64		nbytes;
	int64		nrows;			/* sum of the counts */
} GrSortedRun;

/* Keys in order: a whole chunk, or keys that were sorted elsewhere */
typedef struct GrKeys
{
	const uint64 *keys;
	const uint32 *counts;		/* NULL: each key counts 1 */
	int			n;
} GrKeys;

/*
 * Writes a run, in pieces of any size. Keys are counted where that makes the run smaller.
 */
typedef struct GrRunWriter
{
	char	   *bytes;			/* written chunks that are not in the file */
	Size		n;				/* number of bytes */
	Size		capacity;
	Size		capacity_max;	/* limit of capacity; written chunks beyond it raise an ERROR */
	BufFile    *file;			/* chunks go here whenever bytes is full; NULL: bytes grows */
	int64		nfiled;			/* number of bytes in the file */
	int64		nrows;			/* sum of the counts */
	int			nheld;			/* number of keys of the chunk with counts that is not yet written */
	uint64		keys[GR_CHUNK_NKEYS];
	uint32		counts[GR_CHUNK_NKEYS];
} GrRunWriter;

/*
 * Begins a run in memory of the current context, with room for capacity bytes at first. file, or NULL: the run goes to
 * the file, where it stands. *writer need not be initialised.
 */
extern void gr_sorted_begin(GrRunWriter *writer, Size capacity, BufFile *file);

/* True if sorted keys, n >= 1, are at least twice as many as their values. With counts they take less memory. */
extern bool gr_keys_have_ties(const uint64 *keys, int n);

/* Appends keys that are in order, and not before the keys already written. */
extern void gr_sorted_write(GrRunWriter *writer, GrKeys keys);

/* Ends the run. Without a file, its chunks are writer->bytes[0 .. writer->n). */
extern void gr_sorted_end(GrRunWriter *writer);

/* Returns the next chunk of [*bytes, end), which is aligned, and moves *bytes to the chunk behind it. */
extern GrKeys gr_next_chunk(const char **bytes);

/*
 * Copies the chunk at bytes, of which there are nbytes, into chunk (GR_CHUNK_NBYTES_MAX bytes, aligned). Returns its
 * size, or 0 unless it is a valid chunk whose keys are in order and not before *last; sets *last to its last key, and
 * adds its counts to *nrows.
 */
extern Size gr_check_chunk(const char *bytes, Size nbytes, char *chunk, uint64 *last, int64 *nrows);

/* Node of a tree that merges runs: a leaf reads a run, an inner node merges two nodes. */
typedef struct GrMergeNode GrMergeNode;

struct GrMergeNode
{
	GrKeys		chunk;			/* current keys of the node's result */
	int			at;				/* keys from here on are not yet taken */
	/* an inner node */
	GrMergeNode *left;			/* NULL: the node is a leaf */
	GrMergeNode *right;
	uint64	   *keys;			/* room for a chunk; allocated when it is first needed */
	uint32	   *counts;
	/* a leaf */
	const char *next;			/* [next, end): chunks in memory that are not yet read */
	const char *end;
	BufFile    *file;			/* NULL: the run is in memory */
	int64		offset;			/* position in the file of the unread rest, which has nfiled bytes */
	int64		nfiled;
	char	   *buffer;			/* holds [next, end) if the run is in the file */
	Size		buffer_nbytes;
};

/* A merge of several runs. Its memory belongs to the context in which it began. */
typedef struct GrMerge
{
	GrMergeNode *root;			/* NULL: no runs */
	GrMergeNode *nodes;
	int			nleaves;
	int			nleaves_max;
} GrMerge;

/* Begins a merge of at most nruns runs, to which gr_merge_add() and gr_merge_add_keys() add leaves. */
extern void gr_merge_begin(GrMerge *merge, int nruns);

/* Adds a run. If it is in the file, it is read in pieces of buffer_nbytes, at least GR_CHUNK_NBYTES_MAX. */
extern void gr_merge_add(GrMerge *merge, const GrSortedRun *run, BufFile *file, Size buffer_nbytes);

/* Adds sorted keys, which must not change as long as the merge lasts. */
extern void gr_merge_add_keys(GrMerge *merge, GrKeys keys);

/* Builds the tree after the last run. */
extern void gr_merge_build(GrMerge *merge);

/* Refills a node all of whose keys are taken. Returns false at the end. */
extern bool gr_merge_refill(GrMergeNode *node);

/* True if node has a key that is not yet taken. */
static inline bool
gr_merge_ready(GrMergeNode *node)
{
	return node->at < node->chunk.n || gr_merge_refill(node);
}

/* Writes all that remains of the merge. */
extern void gr_merge_write(GrMerge *merge, GrRunWriter *writer);

#endif							/* GPUREG_SORTED_RUNS_H */
