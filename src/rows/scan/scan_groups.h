/*
 * scan_groups.h: the groups of a custom scan, as a hash table by key. Each group has the states of its aggregates,
 * which hold rows back until there are enough for the vector code. Memory is bounded: once the table is full, rows of
 * new groups go to temporary files, partitioned by hash, and are read when the groups in memory have been returned. In
 * an exchange between processes all groups go to files at the end, or when the table is full of groups with many rows.
 */
#ifndef GPUREG_SCAN_GROUPS_H
#define GPUREG_SCAN_GROUPS_H

#include "postgres.h"

#include "fmgr.h"
#include "storage/buffile.h"

#include "rows/scan/scan_exchange.h"
#include "rows/scan/scan_transitions.h"
#include "rows/scan/taker.h"

/* The state of an aggregate in a group */
typedef union GrGroupState
{
	struct
	{
		struct GrState *state;	/* NULL: no complete row yet */
		int64		nskipped;	/* rows left out for a NULL */
	};
	GrTransitionValue value;	/* value of an aggregate with a transition */
} GrGroupState;

typedef struct GrGroup
{
	struct GrGroup *next;		/* groups are listed in the order in which they were found */
	uint32		hash;
	uint32		nulls;			/* a bit for each key that is NULL */
	Datum	   *keys;
	GrGroupState states[FLEXIBLE_ARRAY_MEMBER];
} GrGroup;

#define GR_GROUP_KEYS_MAX 32

typedef struct GrGroupKey
{
	int16		nbytes;			/* the type's typlen */
	bool		by_value;
	bool		bitwise;		/* values are equal exactly if their bits are */
	bool		bytes;			/* values are texts in one piece, and equal exactly if their bytes are */
	Oid			collation;
	FmgrInfo   *equal;
	FmgrInfo   *hash;
} GrGroupKey;

/* log2 of the most files that records are split into, and of the fewest; see gr_groups_create() */
#define GR_PARTITION_BITS 5
#define GR_PARTITION_BITS_MIN 2

/* A file of records that wait to be read, or the files of a partition of an exchange */
typedef struct GrWaiting
{
	struct GrWaiting *next;
	BufFile    *file;			/* NULL: none is open */
	int			nbits;			/* leading bits that the hashes of all records share */
	int64		nrecords;		/* records in the file that are not yet read */
	int			partition;		/* partition of an exchange; -1: a file of this process's own */
	int			process;		/* with a partition: the process that wrote the open file */
} GrWaiting;

typedef struct GrGroups
{
	int			nkeys;
	GrGroupKey *keys;
	int			naggregates;
	Size		group_nbytes;	/* assumed size of a new group with its states; 0: not estimated yet */
	int64		nwith_states;	/* groups whose states have been created; the others' are still to be */
	Size		nbytes_max;		/* memory that the groups may take, without the files' buffers */
	int			own_bits;		/* log2 of the number of this process's own files */
	MemoryContext context;		/* holds the groups */
	ExprContext *transition_memory; /* NULL, or reset together with context, which it holds */
	MemoryContext files_context;	/* holds the files */
	struct
	{
		uint32		hash;
		GrGroup    *group;
	}		   *buckets;
	uint32		nbuckets;		/* a power of two */
	int64		n;				/* groups in memory */
	GrGroup    *first;
	GrGroup   **last;
	int64		nfound;			/* number of times that a key's group was already in memory */
	int			nbits;			/* leading bits that all hashes share now */
	int			nfile_bits;		/* number of the bits after those, which select a record's file */
	GrWaiting **spilled;		/* [2^nfile_bits] files being filled, some of them NULL; NULL: there are none */
	bool		full;			/* there is no memory for another group */
	GrExchange *exchange;		/* or NULL */
	int			process;		/* this process's number in the exchange; -1: it only reads */
	bool		exchanging;		/* the files being filled are the exchange's */
	GrWaiting  *waiting;		/* filled files that are not yet read */
	GrWaiting  *reading;		/* the file or partition being read, or NULL */
	int64		nspilled;		/* records that were written to files */
} GrGroups;

/*
 * Creates an empty table of groups in the current memory context; keys stays the caller's. nbytes_max: memory that the
 * groups, the buffers of files and a block of rows may take; as in the executor's hash tables, files get no more than a
 * quarter, but are at least four; transition_memory: context whose ecxt_per_tuple_memory holds the groups, or NULL if
 * no aggregate has a transition
 */
extern GrGroups *gr_groups_create(int nkeys, GrGroupKey *keys, int naggregates, Size nbytes_max,
								  ExprContext *transition_memory);

/* Connects groups to an exchange. process: this process's number in the exchange; -1: it only reads */
extern void gr_groups_exchange(GrGroups *groups, GrExchange *exchange, int process);

/* Returns the hash of keys[groups->nkeys]. nulls: bit k is set if key k is NULL */
extern uint32 gr_groups_hash(const GrGroups *groups, const Datum *keys, uint32 nulls);

/*
 * Finds the group of the keys, or adds it. Returns NULL if there is no memory for another group. Comparing keys may
 * allocate in the current context.
 */
extern GrGroup *gr_groups_find(GrGroups *groups, uint32 hash, const Datum *keys, uint32 nulls);

/*
 * A record in a file has a group's keys, and then one part per aggregate: nothing, one row, or all of a group's rows or
 * its state. GrSpilled is the first byte of a part.
 */
typedef enum GrSpilled
{
	GR_SPILLED_NOTHING,
	GR_SPILLED_SKIPPED,			/* one row was left out for a NULL */
	GR_SPILLED_ROW,				/* one row */
	GR_SPILLED_ROWS,			/* a GrSpilledGroup and its n rows */
	GR_SPILLED_STATE,			/* a GrSpilledGroup and a state of n bytes */
	GR_SPILLED_PARTIAL			/* the partial state of a transition; see gr_transition_write() */
} GrSpilled;

/* Head of a part with a group's rows or state */
typedef struct GrSpilledGroup
{
	int64		nskipped;		/* rows left out for a NULL */
	int64		n;				/* number of rows, or size of the state in bytes */
} GrSpilledGroup;

/* Begins a record of the keys in the file of its partition. Returns the file, to which the caller writes the parts. */
extern BufFile *gr_groups_spill(GrGroups *groups, uint32 hash, const Datum *keys, uint32 nulls);

/* Writes the byte what and nbytes bytes from row, or only the byte if row is NULL. */
extern void gr_spill_part(BufFile *file, GrSpilled what, const char *row, Size nbytes);

/* Memory that groups may take now, in bytes */
extern Size gr_groups_memory_limit(const GrGroups *groups);

/* Drops all groups from memory. They must have been returned or written to files. */
extern void gr_groups_forget(GrGroups *groups);

/* Hands all files to the other processes of the exchange, and waits for theirs. No group may be in memory. */
extern void gr_groups_hand_over(GrGroups *groups);

/* Leaves the exchange, in which no other process takes part. Its files become this process's own. */
extern void gr_groups_keep(GrGroups *groups);

/* Drops all groups from memory, and returns the next file or partition to be read, or NULL if there is none. */
extern GrWaiting *gr_groups_next_waiting(GrGroups *groups);

/* Reads the keys of the next record into the current memory context. Returns false if there is no other record. */
extern bool gr_read_keys(GrGroups *groups, GrWaiting *waiting, uint32 *hash, Datum *keys, uint32 *nulls);

/* Reads the first byte of a part. */
extern GrSpilled gr_read_part(BufFile *file);

/* Closes and frees waiting, all of whose records were read. */
extern void gr_waiting_end(GrGroups *groups, GrWaiting *waiting);

/* Closes all files. Called before their memory is freed; after an error the server closes them. */
extern void gr_groups_close(GrGroups *groups);

#endif							/* GPUREG_SCAN_GROUPS_H */
