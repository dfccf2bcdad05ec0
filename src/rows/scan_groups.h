/*
 * scan_groups.h: the groups of a custom scan: a hash table of their keys, each with the states of its aggregates, which
 * hold rows back until there are enough for the vector code. In bounded memory: once it is full, the rows of groups
 * that aren't there yet go to temporary files, by their hash, to be taken when the others are done with.
 */
#ifndef GPUREG_SCAN_GROUPS_H
#define GPUREG_SCAN_GROUPS_H

#include "postgres.h"

#include "fmgr.h"
#include "storage/buffile.h"

#include "rows/taker.h"

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

#define GR_PARTITIONS 32		/* files that rows are split into at a time */
#define GR_PARTITION_BITS 5

/* Rows that wait in a file, and how many bits of their hashes are the same in all of them */
typedef struct GrWaiting
{
	struct GrWaiting *next;
	BufFile    *file;
	int			nbits;
	int64		nrows;
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
	int			nbits;			/* of hashes that are all the same now */
	GrWaiting **spilled;		/* GR_PARTITIONS files, or NULL, for rows of new groups; NULL: there is memory */
	GrWaiting  *waiting;		/* files that were filled */
	GrWaiting  *reading;		/* the one that is being read; or NULL */
} GrGroups;

/* None, in the current memory context; keys stays the caller's. nbytes_max: what they may take */
extern GrGroups *gr_groups_create(int nkeys, GrGroupKey *keys, int naggregates, Size nbytes_max);

/* The hash of keys, as many as there are; nulls: as in GrGroup */
extern uint32 gr_groups_hash(const GrGroups *groups, const Datum *keys, uint32 nulls);

/* The group of these keys; NULL if there is none and no memory for one. May allocate in the current context */
extern GrGroup *gr_groups_find(GrGroups *groups, uint32 hash, const Datum *keys, uint32 nulls);

/*
 * A row whose group there is no memory for: its keys, and then, for each aggregate in turn, what there is of it. row:
 * of so many bytes; NULL: there is none
 */
typedef enum GrSpilled
{
	GR_SPILLED_NOTHING,
	GR_SPILLED_SKIPPED,
	GR_SPILLED_ROW
} GrSpilled;

extern BufFile *gr_groups_spill(GrGroups *groups, uint32 hash, const Datum *keys, uint32 nulls);
extern void gr_spill_part(BufFile *file, GrSpilled what, const char *row, Size nbytes);

/* Lets go of all groups, and opens the next file of rows that wait; NULL: there is none */
extern GrWaiting *gr_groups_next_waiting(GrGroups *groups);

/* The keys of the next row in a file; false: there is none. In the current memory context */
extern bool gr_read_keys(GrGroups *groups, GrWaiting *waiting, uint32 *hash, Datum *keys, uint32 *nulls);
extern GrSpilled gr_read_part(BufFile *file, char *row, Size nbytes);

/* All of its rows were read. */
extern void gr_waiting_end(GrGroups *groups, GrWaiting *waiting);

/* Closes all files, before the memory goes; after an error the server does. */
extern void gr_groups_close(GrGroups *groups);

#endif							/* GPUREG_SCAN_GROUPS_H */
