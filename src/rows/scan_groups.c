/*
 * scan_groups.c: the groups of a custom scan.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "port/pg_bitutils.h"
#include "utils/datum.h"
#include "utils/memutils.h"
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

#include "rows/scan_groups.h"
#include "run/spool.h"

#define FIRST_BUCKETS 1024

static void
make_buckets(GrGroups *groups, uint32 n)
{
	groups->nbuckets = n;
	groups->buckets = MemoryContextAllocExtended(groups->context, n * sizeof(*groups->buckets),
												 MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
}

GrGroups *
gr_groups_create(int nkeys, GrGroupKey *keys, int naggregates, Size nbytes_max)
{
	GrGroups   *groups = palloc0(sizeof(GrGroups));

	groups->nkeys = nkeys;
	groups->keys = keys;
	groups->naggregates = naggregates;
	groups->nbytes_max = nbytes_max;
	groups->files_context = CurrentMemoryContext;
	groups->context = AllocSetContextCreate(CurrentMemoryContext, "gpureg groups", ALLOCSET_DEFAULT_SIZES);
	groups->last = &groups->first;
	make_buckets(groups, FIRST_BUCKETS);
	return groups;
}

/*
 * Keys
 */

/* MurmurHash3's finalizer of 64 bits, of which the upper half is as good as the lower */
static inline uint32
mix(uint64 key)
{
	key ^= key >> 33;
	key *= UINT64CONST(0xff51afd7ed558ccd);
	key ^= key >> 33;
	key *= UINT64CONST(0xc4ceb9fe1a85ec53);
	return (uint32) (key >> 32);
}

uint32
gr_groups_hash(const GrGroups *groups, const Datum *keys, uint32 nulls)
{
	uint32		hash = 0;

	for (int k = 0; k < groups->nkeys; k++)
	{
		const GrGroupKey *key = &groups->keys[k];
		uint32		of_key = 0;

		if ((nulls & ((uint32) 1 << k)) == 0)
			of_key = key->bitwise ? mix((uint64) keys[k]) :
				murmurhash32(DatumGetUInt32(FunctionCall1Coll(key->hash, key->collation, keys[k])));
		hash = k == 0 ? of_key : hash_combine(hash, of_key);
	}
	return hash;
}

static bool
same_keys(const GrGroups *groups, const GrGroup *group, const Datum *keys, uint32 nulls)
{
	if (group->nulls != nulls)
		return false;
	for (int k = 0; k < groups->nkeys; k++)
	{
		const GrGroupKey *key = &groups->keys[k];

		if ((nulls & ((uint32) 1 << k)) != 0)
			continue;
		if (key->bitwise ? group->keys[k] != keys[k] :
			!DatumGetBool(FunctionCall2Coll(key->equal, key->collation, group->keys[k], keys[k])))
			return false;
	}
	return true;
}

/*
 * Groups
 */

/* The bucket of a group of this hash that is or could be put there. */
static uint32
free_bucket(const GrGroups *groups, uint32 hash)
{
	uint32		b = hash & (groups->nbuckets - 1);

	while (groups->buckets[b].group != NULL)
		b = (b + 1) & (groups->nbuckets - 1);
	return b;
}

static void
enlarge(GrGroups *groups)
{
	void	   *old = groups->buckets;

	make_buckets(groups, groups->nbuckets * 2);
	for (GrGroup *group = groups->first; group != NULL; group = group->next)
	{
		uint32		b = free_bucket(groups, group->hash);

		groups->buckets[b].hash = group->hash;
		groups->buckets[b].group = group;
	}
	pfree(old);
}

/* Is there memory for one more? For one there always is. */
static bool
has_memory(const GrGroups *groups)
{
	return groups->spilled == NULL &&
		(groups->n == 0 || ((groups->n + 1) * groups->group_nbytes <= groups->nbytes_max &&
							MemoryContextMemAllocated(groups->context, true) <= groups->nbytes_max));
}

static GrGroup *
new_group(GrGroups *groups, uint32 hash, const Datum *keys, uint32 nulls)
{
	Size		nbytes = offsetof(GrGroup, states) + groups->naggregates * sizeof(GrGroupState);
	GrGroup    *group;
	MemoryContext old;
	uint32		b;

	if ((groups->n + 1) * 2 > groups->nbuckets)
		enlarge(groups);
	old = MemoryContextSwitchTo(groups->context);
	group = palloc0(MAXALIGN(nbytes) + groups->nkeys * sizeof(Datum));
	group->keys = (Datum *) ((char *) group + MAXALIGN(nbytes));
	group->hash = hash;
	group->nulls = nulls;
	for (int k = 0; k < groups->nkeys; k++)
		if ((nulls & ((uint32) 1 << k)) == 0)
			group->keys[k] = datumCopy(keys[k], groups->keys[k].by_value, groups->keys[k].nbytes);
	MemoryContextSwitchTo(old);
	*groups->last = group;
	groups->last = &group->next;
	b = free_bucket(groups, hash);
	groups->buckets[b].hash = hash;
	groups->buckets[b].group = group;
	groups->n++;
	return group;
}

GrGroup *
gr_groups_find(GrGroups *groups, uint32 hash, const Datum *keys, uint32 nulls)
{
	uint32		b = hash & (groups->nbuckets - 1);

	for (; groups->buckets[b].group != NULL; b = (b + 1) & (groups->nbuckets - 1))
		if (groups->buckets[b].hash == hash && same_keys(groups, groups->buckets[b].group, keys, nulls))
			return groups->buckets[b].group;
	return has_memory(groups) ? new_group(groups, hash, keys, nulls) : NULL;
}

/*
 * Files
 */

static void
write_key(BufFile *file, const GrGroupKey *key, Datum value)
{
	Size		nbytes;

	if (key->by_value)
	{
		BufFileWrite(file, &value, sizeof(Datum));
		return;
	}
	/* what is in memory in a form of its own goes into the file as it would into a tuple */
	if (key->nbytes == -1 && VARATT_IS_EXTERNAL_EXPANDED(DatumGetPointer(value)))
		value = datumCopy(value, false, key->nbytes);
	nbytes = datumGetSize(value, false, key->nbytes);
	BufFileWrite(file, &nbytes, sizeof(nbytes));
	BufFileWrite(file, DatumGetPointer(value), nbytes);
}

/* The bits of a hash that say which file its rows go to: the first ones that they don't all share */
static int
partition_of(const GrGroups *groups, uint32 hash)
{
	return (int) ((hash << groups->nbits) >> (32 - GR_PARTITION_BITS));
}

BufFile *
gr_groups_spill(GrGroups *groups, uint32 hash, const Datum *keys, uint32 nulls)
{
	MemoryContext old = MemoryContextSwitchTo(groups->files_context);
	int			p = partition_of(groups, hash);
	GrWaiting  *waiting;

	if (groups->spilled == NULL)
		groups->spilled = palloc0(GR_PARTITIONS * sizeof(GrWaiting *));
	waiting = groups->spilled[p];
	if (waiting == NULL)
	{
		waiting = groups->spilled[p] = palloc0(sizeof(GrWaiting));
		/* bits that are used up are followed by none: then all is one partition */
		waiting->nbits = Min(groups->nbits + GR_PARTITION_BITS, 32 - GR_PARTITION_BITS);
		waiting->file = BufFileCreateTemp(false);
	}
	MemoryContextSwitchTo(old);
	waiting->nrows++;
	BufFileWrite(waiting->file, &hash, sizeof(hash));
	BufFileWrite(waiting->file, &nulls, sizeof(nulls));
	for (int k = 0; k < groups->nkeys; k++)
		if ((nulls & ((uint32) 1 << k)) == 0)
			write_key(waiting->file, &groups->keys[k], keys[k]);
	return waiting->file;
}

void
gr_spill_part(BufFile *file, GrSpilled what, const char *row, Size nbytes)
{
	char		byte = (char) what;

	BufFileWrite(file, &byte, 1);
	if (what == GR_SPILLED_ROW)
		BufFileWrite(file, unconstify(char *, row), nbytes);
}

GrWaiting *
gr_groups_next_waiting(GrGroups *groups)
{
	GrWaiting  *next;

	for (int p = 0; groups->spilled != NULL && p < GR_PARTITIONS; p++)
	{
		GrWaiting  *waiting = groups->spilled[p];

		if (waiting == NULL)
			continue;
		waiting->next = groups->waiting;
		groups->waiting = waiting;
	}
	if (groups->spilled != NULL)
		pfree(groups->spilled);
	groups->spilled = NULL;
	MemoryContextReset(groups->context);
	groups->n = 0;
	groups->first = NULL;
	groups->last = &groups->first;
	make_buckets(groups, FIRST_BUCKETS);
	next = groups->waiting;
	if (next == NULL)
		return NULL;
	groups->waiting = next->next;
	groups->reading = next;
	groups->nbits = next->nbits;
	gr_file_rewind(next->file);
	return next;
}

static Datum
read_key(BufFile *file, const GrGroupKey *key)
{
	Datum		value;
	Size		nbytes;

	if (key->by_value)
	{
		gr_file_read(file, &value, sizeof(Datum));
		return value;
	}
	gr_file_read(file, &nbytes, sizeof(nbytes));
	value = PointerGetDatum(palloc(nbytes));
	gr_file_read(file, DatumGetPointer(value), nbytes);
	return value;
}

bool
gr_read_keys(GrGroups *groups, GrWaiting *waiting, uint32 *hash, Datum *keys, uint32 *nulls)
{
	if (waiting->nrows-- == 0)
		return false;
	gr_file_read(waiting->file, hash, sizeof(*hash));
	gr_file_read(waiting->file, nulls, sizeof(*nulls));
	for (int k = 0; k < groups->nkeys; k++)
		keys[k] = (*nulls & ((uint32) 1 << k)) == 0 ? read_key(waiting->file, &groups->keys[k]) : (Datum) 0;
	return true;
}

GrSpilled
gr_read_part(BufFile *file, char *row, Size nbytes)
{
	char		what;

	gr_file_read(file, &what, 1);
	if (what == GR_SPILLED_ROW)
		gr_file_read(file, row, nbytes);
	return (GrSpilled) what;
}

void
gr_waiting_end(GrGroups *groups, GrWaiting *waiting)
{
	Assert(groups->reading == waiting);
	groups->reading = NULL;
	BufFileClose(waiting->file);
	pfree(waiting);
}

void
gr_groups_close(GrGroups *groups)
{
	for (int p = 0; groups->spilled != NULL && p < GR_PARTITIONS; p++)
		if (groups->spilled[p] != NULL)
			BufFileClose(groups->spilled[p]->file);
	for (GrWaiting *waiting = groups->waiting; waiting != NULL; waiting = waiting->next)
		BufFileClose(waiting->file);
	if (groups->reading != NULL)
		BufFileClose(groups->reading->file);
}
