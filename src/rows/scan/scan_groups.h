/*
 * scan_groups.h: the groups of a custom scan: a hash table of their keys, each with the states of its aggregates, which
 * hold rows back until there are enough for the vector code. In bounded memory: once it is full, the rows of groups
 * that aren't there yet go to temporary files, by their hash, to be taken when the others are done with. In an exchange
 * among processes all groups go to files at the end, or when the table is full of groups that have many rows.
 */
#ifndef GPUREG_SCAN_GROUPS_H
#define GPUREG_SCAN_GROUPS_H

#include "postgres.h"

#include "fmgr.h"
#include "storage/buffile.h"

#include "rows/scan/scan_exchange.h"
#include "rows/scan/taker.h"

/* What a group has for an aggregate */
typedef struct GrGroupState
{
	struct GrState *state;		/* NULL: no complete row yet */
	int64		nskipped;
} GrGroupState;

typedef struct GrGroup
{
	struct GrGroup *next;		/* in the order in which they were met */
	uint32		hash;
	uint32		nulls;			/* a bit for each key that is NULL */
	Datum	   *keys;
	GrGroupState states[FLEXIBLE_ARRAY_MEMBER];
} GrGroup;

#define GR_GROUP_KEYS_MAX 32

typedef struct GrGroupKey
{
	int16		nbytes;			/* as a type's typlen is */
	bool		by_value;
	bool		bitwise;		/* values are equal where their bits are */
	Oid			collation;
	FmgrInfo   *equal;
	FmgrInfo   *hash;
} GrGroupKey;

#define GR_PARTITION_BITS 5		/* files that records are split into at a time are a power of two */

/* Records that wait in a file, and how many bits of their hashes are the same in all of them */
typedef struct GrWaiting
{
	struct GrWaiting *next;
	BufFile    *file;			/* NULL: none is open */
	int			nbits;
	int64		nrecords;		/* in the file */
	int			partition;		/* of an exchange, and whose file of it is open; or -1 */
	int			process;
} GrWaiting;

typedef struct GrGroups
{
	int			nkeys;
	GrGroupKey *keys;
	int			naggregates;
	Size		group_nbytes;	/* that a group is reckoned with */
	Size		nbytes_max;
	MemoryContext context;		/* of the groups */
	MemoryContext files_context;
	struct
	{
		uint32		hash;
		GrGroup    *group;
	}		   *buckets;
	uint32		nbuckets;		/* a power of two */
	int64		n;
	GrGroup    *first;
	GrGroup   **last;
	int64		nfound;			/* times that one of them was found */
	int			nbits;			/* of hashes that are all the same now */
	int			nfile_bits;		/* that tell which file a record goes to, after those */
	GrWaiting **spilled;		/* files, some of them NULL, that are being filled; NULL: there are none */
	bool		full;			/* there is no memory for another group */
	GrExchange *exchange;		/* or NULL */
	int			process;		/* in it */
	bool		exchanging;		/* files that are being filled are the exchange's */
	GrWaiting  *waiting;		/* files that were filled */
	GrWaiting  *reading;		/* the one that is being read; or NULL */
	int64		nspilled;		/* records that were written to files */
} GrGroups;

/* None, in the current memory context; keys stays the caller's. nbytes_max: what they may take */
extern GrGroups *gr_groups_create(int nkeys, GrGroupKey *keys, int naggregates, Size nbytes_max);

/* They are exchanged with other processes. process: this one's number there; -1: it only reads */
extern void gr_groups_exchange(GrGroups *groups, GrExchange *exchange, int process);

/* The hash of keys, as many as there are; nulls: as in GrGroup */
extern uint32 gr_groups_hash(const GrGroups *groups, const Datum *keys, uint32 nulls);

/* The group of these keys; NULL if there is none and no memory for one. May allocate in the current context */
extern GrGroup *gr_groups_find(GrGroups *groups, uint32 hash, const Datum *keys, uint32 nulls);

/*
 * A record in a file: a group's keys, and then, for each aggregate in turn, what there is of it: nothing, a row, or
 * what a group has, which is rows or sums.
 */
typedef enum GrSpilled
{
	GR_SPILLED_NOTHING,
	GR_SPILLED_SKIPPED,			/* one row was left out */
	GR_SPILLED_ROW,
	GR_SPILLED_ROWS,			/* a GrSpilledGroup, and as many rows */
	GR_SPILLED_STATE			/* a GrSpilledGroup, and a state of so many bytes */
} GrSpilled;

typedef struct GrSpilledGroup
{
	int64		nskipped;
	int64		n;
} GrSpilledGroup;

extern BufFile *gr_groups_spill(GrGroups *groups, uint32 hash, const Datum *keys, uint32 nulls);

/* row: of so many bytes; NULL: there is none */
extern void gr_spill_part(BufFile *file, GrSpilled what, const char *row, Size nbytes);

/* Forgets all groups, which must be in files or done with. */
extern void gr_groups_forget(GrGroups *groups);

/* Hands all files to the other processes of the exchange, and waits for theirs. No group may be left. */
extern void gr_groups_hand_over(GrGroups *groups);

/* No other process has taken part in the exchange, nor will any: from now on there is none. */
extern void gr_groups_keep(GrGroups *groups);

/* Lets go of all groups, and opens the next file of records that wait; NULL: there is none */
extern GrWaiting *gr_groups_next_waiting(GrGroups *groups);

/* The keys of the next record; false: there is none. In the current memory context */
extern bool gr_read_keys(GrGroups *groups, GrWaiting *waiting, uint32 *hash, Datum *keys, uint32 *nulls);
extern GrSpilled gr_read_part(BufFile *file);

/* All of its records were read. */
extern void gr_waiting_end(GrGroups *groups, GrWaiting *waiting);

/* Closes all files, before the memory goes; after an error the server does. */
extern void gr_groups_close(GrGroups *groups);

#endif							/* GPUREG_SCAN_GROUPS_H */
