/*
 * sparse.c: projects sparse vectors, and keeps the columns of S that they used.
 */
#include "compute/project/sparse.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "compute/project/projection_state.h"

#define FIRST_NSLOTS 1024
#define NAHEAD 16				/* columns prefetched ahead */
#define HUGE_PAGE_NBYTES ((size_t) 2 << 20)
#define POLL_PIECES 16384		/* strata of a column between polls: a few milliseconds */
#define NPROBES 4				/* slots that may hold a given column */
#define NARROW_K 32768			/* most rows whose entries fit 16 bits */
#define SLOT_WORK(table) (4 + (int64_t) ((table)->slot_nbytes / 16))	/* work of filling a slot; see GrPoll */

/* Head of a slot; its entries, of 16 or 32 bits, follow. */
typedef struct Slot
{
	int64_t		j;
	int32_t		n;
} Slot;

#define SLOT_ENTRIES(slot) ((char *) (slot) + 12)

static inline Slot *
slot_at(const GrColumnTable *table, int64_t number)
{
	return (Slot *) (table->slots + (size_t) number * table->slot_nbytes);
}

/* Returns the first slot that may hold column j: a multiplicative hash, scaled to nslots. */
static inline int64_t
home_of(const GrColumnTable *table, int64_t j)
{
	uint64_t	hash = (uint64_t) j * UINT64_C(0x9E3779B97F4A7C15) >> 32;

	return (int64_t) (hash * (uint64_t) table->nslots >> 32);
}

/* Chooses the size of slots: all but about one column in ten thousand fit. */
static void
plan_table(GrColumnTable *table, const GrDraw *draw)
{
	double		mean = gr_draw_mean(draw);
	double		capacity = ceil(mean + 4.0 * sqrt(mean) + 2.0);

	table->capacity = capacity < draw->k ? (int) capacity : draw->k;
	table->wide = draw->k > NARROW_K;
	table->slot_nbytes = 12 + (size_t) table->capacity * (table->wide ? 4 : 2);
	table->slot_nbytes = (table->slot_nbytes + 7) / 8 * 8;
}

/*
 * Allocates slots, in huge pages if the system has them: slots are used at random, and address translation of small
 * pages would cost as much as reading the slots.
 */
static char *
allocate_slots(size_t nbytes)
{
	void	   *slots = NULL;

	if (nbytes < HUGE_PAGE_NBYTES)
		return malloc(nbytes);
	if (posix_memalign(&slots, HUGE_PAGE_NBYTES, nbytes) != 0)
		return NULL;
#ifdef MADV_HUGEPAGE
	(void) madvise(slots, nbytes, MADV_HUGEPAGE);
#endif
	return slots;
}

/*
 * Replaces the projection's table by one of nslots empty slots; the caller still owns the old slots. Returns false and
 * keeps the old table if there is no memory (err is not set) or the host asked to stop (err is set).
 */
static bool
new_slots(GrProjection *projection, int64_t nslots, const GrHost *host, GrError *err)
{
	GrColumnTable table = projection->columns;
	size_t		nbytes = (size_t) nslots * table.slot_nbytes;
	GrPoll		poll = {.host = host};

	table.slots = allocate_slots(nbytes);
	table.nslots = nslots;
	table.nused = 0;
	if (table.slots == NULL)
		return false;
	for (int64_t s = 0; s < nslots; s++)
	{
		slot_at(&table, s)->j = -1;
		if (gr_poll(&poll, SLOT_WORK(&table)))
		{
			free(table.slots);
			return gr_fail(err, GR_CANCELED, 0, "random projection");
		}
	}
	gr_projection_count(projection, nbytes, 0);
	projection->columns = table;
	return true;
}

static void
free_slots(GrProjection *projection, const GrColumnTable *table)
{
	gr_projection_count(projection, 0, (size_t) table->nslots * table->slot_nbytes);
	free(table->slots);
}

/* Returns the slot that holds column j; or an empty slot for it; or the slot whose column it replaces. */
static inline Slot *
find_slot(const GrColumnTable *table, int64_t j)
{
	int64_t		home = home_of(table, j);
	int64_t		last = home + NPROBES < table->nslots ? home + NPROBES : table->nslots;

	for (int64_t s = home; s < last; s++)
	{
		Slot	   *slot = slot_at(table, s);

		if (slot->j == j || slot->j < 0)
			return slot;
	}
	return slot_at(table, home);
}

/* Copies the columns of old to the projection's new table. */
static bool
copy_columns(GrProjection *projection, const GrColumnTable *old, const GrHost *host, GrError *err)
{
	GrColumnTable *table = &projection->columns;
	GrPoll		poll = {.host = host};

	for (int64_t s = 0; s < old->nslots; s++)
	{
		const Slot *from = slot_at(old, s);
		Slot	   *to;

		if (gr_poll(&poll, SLOT_WORK(table)))
			return gr_fail(err, GR_CANCELED, 0, "random projection");
		if (from->j < 0)
			continue;
		to = find_slot(table, from->j);
		table->nused += to->j < 0;
		memcpy(to, from, table->slot_nbytes);
	}
	return true;
}

/*
 * Enlarges the table if the cache has room beside everything else it keeps, so that two projections used in turn do not
 * evict each other. If the old and the new table do not fit together, the old columns are dropped, and drawn again
 * later. Without a larger table, columns replace each other. Returns false if canceled.
 */
static bool
grow(GrProjection *projection, const GrHost *host, GrError *err)
{
	GrColumnTable *table = &projection->columns;
	GrColumnTable old = *table;
	size_t		old_nbytes = (size_t) old.nslots * old.slot_nbytes;
	size_t		kept_nbytes = projection->cache->nbytes;
	size_t		free_nbytes = projection->cache->limit_nbytes > kept_nbytes ?
		projection->cache->limit_nbytes - kept_nbytes : 0;
	int64_t		nslots = 2 * old.nslots;
	bool		both = (size_t) nslots * old.slot_nbytes <= free_nbytes;

	if (!both && (int64_t) ((free_nbytes + old_nbytes) / old.slot_nbytes) < nslots)
		nslots = (int64_t) ((free_nbytes + old_nbytes) / old.slot_nbytes);
	if (nslots < old.nslots + old.nslots / 4)
		return true;
	if (!both)
	{
		free_slots(projection, &old);
		table->slots = NULL;
		table->nslots = 0;
		(void) new_slots(projection, nslots, host, err);
	}
	else if (new_slots(projection, nslots, host, err))
	{
		bool		copied = copy_columns(projection, &old, host, err);

		free_slots(projection, copied ? &old : table);
		if (!copied)
			*table = old;
	}
	return err->status == GR_OK;
}

/* Creates the table at the first call, if there is room. */
static void
make_table(GrProjection *projection)
{
	GrColumnTable *table = &projection->columns;

	if (table->slots != NULL)
		return;
	plan_table(table, &projection->draw);
	if (gr_projection_make_room(projection, FIRST_NSLOTS * table->slot_nbytes))
		(void) new_slots(projection, FIRST_NSLOTS, NULL, NULL);
}

/*
 * Use of a column's entries: to[row] += or -= value. If flush_to is given, flush_to[row] += to[row] and to[row] = 0
 * instead. (Flushing a row twice adds 0 the second time.)
 */
typedef struct Scatter
{
	double	   *to;
	double		values[2];		/* the value and its negative */
	double	   *flush_to;
} Scatter;

static inline void
flush_row(const Scatter *scatter, uint32_t row)
{
	scatter->flush_to[row] += scatter->to[row];
	scatter->to[row] = 0.0;
}

/* Uses n entries of 16 bits. */
static inline void
scatter_narrow(const Scatter *scatter, const uint16_t *entries, int n)
{
	if (scatter->flush_to != NULL)
		for (int m = 0; m < n; m++)
			flush_row(scatter, entries[m] >> 1);
	else
	{
		int			m = 0;

		for (; m + 4 <= n; m += 4)
		{
			scatter->to[entries[m] >> 1] += scatter->values[entries[m] & 1];
			scatter->to[entries[m + 1] >> 1] += scatter->values[entries[m + 1] & 1];
			scatter->to[entries[m + 2] >> 1] += scatter->values[entries[m + 2] & 1];
			scatter->to[entries[m + 3] >> 1] += scatter->values[entries[m + 3] & 1];
		}
		for (; m < n; m++)
			scatter->to[entries[m] >> 1] += scatter->values[entries[m] & 1];
	}
}

/* Uses n entries of 32 bits. */
static inline void
scatter_wide(const Scatter *scatter, const uint32_t *entries, int n)
{
	if (scatter->flush_to != NULL)
		for (int m = 0; m < n; m++)
			flush_row(scatter, entries[m] >> 1);
	else
		for (int m = 0; m < n; m++)
			scatter->to[entries[m] >> 1] += scatter->values[entries[m] & 1];
}

/* Draws column j and adds it. Stores it in slot, if that is given and large enough. Long columns poll. */
static bool
draw_column(GrProjection *projection, int64_t j, const Scatter *scatter, Slot *slot, const GrHost *host, GrError *err)
{
	const GrDraw *draw = &projection->draw;
	const GrColumnTable *table = &projection->columns;
	int64_t		n = 0;
	bool		signs_only = draw->density == 1.0;
	int32_t		npieces = signs_only ? (draw->k + 127) / 128 : draw->nstrata;

	if (slot != NULL)
		slot->j = -1;
	for (int32_t s = 0; s < npieces; s++)
	{
		uint32_t	entries[128];
		int			count;

		if (s % POLL_PIECES == POLL_PIECES - 1 && gr_canceled(host))
			return gr_fail(err, GR_CANCELED, 0, "random projection");
		if (signs_only)
		{
			GrPhilox	words = gr_draw_words(draw->seed, j, 0, (uint32_t) s);

			count = draw->k - s * 128 < 128 ? draw->k - s * 128 : 128;
			for (int r = 0; r < count; r++)
				entries[r] = 2 * (uint32_t) (s * 128 + r) | (words.word[r / 32] >> (r % 32) & 1);
		}
		else
		{
			count = gr_draw_stratum(draw, j, s, entries);
			for (int m = 0; m < count; m++)
				entries[m] = entries[m] << 1 | entries[m] >> 31;
		}
		scatter_wide(scatter, entries, count);
		if (slot != NULL && n + count <= table->capacity)
		{
			char	   *to = SLOT_ENTRIES(slot) + n * (table->wide ? 4 : 2);

			for (int m = 0; m < count; m++)
			{
				if (table->wide)
					((uint32_t *) to)[m] = entries[m];
				else
					((uint16_t *) to)[m] = (uint16_t) entries[m];
			}
		}
		n += count;
	}
	projection->cache->ndrawn++;
	if (slot != NULL)
	{
		slot->j = n <= table->capacity ? j : -1;
		slot->n = (int32_t) n;
	}
	return true;
}

/* Adds column j, from the table or drawn. */
static bool
use_column(GrProjection *projection, int64_t j, const Scatter *scatter, const GrHost *host, GrError *err)
{
	GrColumnTable *table = &projection->columns;
	Slot	   *slot = table->slots != NULL ? find_slot(table, j) : NULL;

	if (slot == NULL || slot->j != j)
	{
		bool		was_empty = slot != NULL && slot->j < 0;

		bool		drawn = draw_column(projection, j, scatter, slot, host, err);

		if (slot == NULL || !drawn)
			return drawn;
		/* a column that was not stored may have emptied a used slot */
		table->nused += (slot->j >= 0) - !was_empty;
		if (was_empty && table->nused * 2 > table->nslots)
			return grow(projection, host, err);
	}
	else if (table->wide)
		scatter_wide(scatter, (const uint32_t *) SLOT_ENTRIES(slot), slot->n);
	else
		scatter_narrow(scatter, (const uint16_t *) SLOT_ENTRIES(slot), slot->n);
	return true;
}

/* A sparse vector while it is projected */
typedef struct Sparse
{
	GrProjection *projection;
	const int64_t *idx;
	const double *val;
	int64_t		n;
	double	   *total;			/* k */
	double	   *part;			/* k numbers, all 0 between runs */
	bool		part_is_clear;	/* part is 0; the first run that uses it clears it */
	int64_t		work_per_column;
	int64_t		work;			/* work since the last poll */
	const GrHost *host;
	GrPoll		poll;			/* polls in loops over all rows */
} Sparse;

/*
 * Prefetches column m's slot, so that several columns are loaded from memory at a time. (Inlined early, as gcc removes
 * calls of functions that only prefetch.)
 */
static inline __attribute__((always_inline)) void
prefetch_column(const Sparse *sparse, int64_t m)
{
	const GrColumnTable *table = &sparse->projection->columns;
	const char *slot;

	if (table->slots == NULL || m >= sparse->n)
		return;
	slot = (const char *) slot_at(table, home_of(table, sparse->idx[m]));
	__builtin_prefetch(slot);
	if (table->slot_nbytes > 64)
		__builtin_prefetch(slot + 64);
}

/* Adds columns from .. end - 1 to `to`. If flush_to is given, moves their rows from `to` to flush_to instead. */
static bool
use_columns(Sparse *sparse, int64_t from, int64_t end, double *to, double *flush_to, GrError *err)
{
	for (int64_t m = from; m < end; m++)
	{
		Scatter		scatter = {.to = to,.values = {sparse->val[m], -sparse->val[m]},.flush_to = flush_to};

		prefetch_column(sparse, m + NAHEAD);
		if (!use_column(sparse->projection, sparse->idx[m], &scatter, sparse->host, err))
			return false;
		sparse->work += sparse->work_per_column;
		if (sparse->work > GR_POLL_ENTRIES)
		{
			sparse->work = 0;
			if (gr_canceled(sparse->host))
				return gr_fail(err, GR_CANCELED, 0, "random projection");
		}
	}
	return true;
}

/* Adds n entries of part to total and sets them to 0, in loops that compilers vectorise. */
static void
flush_piece(double *restrict total, double *restrict part, int32_t n)
{
	int32_t		i = 0;

	for (; i + 8 <= n; i += 8)
		for (int32_t l = 0; l < 8; l++)
		{
			total[i + l] += part[i + l];
			part[i + l] = 0.0;
		}
	for (; i < n; i++)
	{
		total[i] += part[i];
		part[i] = 0.0;
	}
}

static bool
flush_all(Sparse *sparse, GrError *err)
{
	int32_t		k = sparse->projection->draw.k;

	for (int32_t i = 0; i < k; i += GR_POLL_ENTRIES)
	{
		int32_t		n = k - i < GR_POLL_ENTRIES ? k - i : GR_POLL_ENTRIES;

		flush_piece(sparse->total + i, sparse->part + i, n);
		if (gr_poll(&sparse->poll, n))
			return gr_fail(err, GR_CANCELED, 0, "random projection");
	}
	return true;
}

/*
 * Writes total[i] * scale, rounded to float4, to y[i] for each of the k rows of S. Returns false, with GR_CANCELED,
 * if the host asked to stop.
 */
static bool
write_sums(Sparse *sparse, float *y, GrError *err)
{
	const GrDraw *draw = &sparse->projection->draw;

	for (int32_t from = 0; from < draw->k; from += GR_POLL_ENTRIES)
	{
		int32_t		end = draw->k - from < GR_POLL_ENTRIES ? draw->k : from + GR_POLL_ENTRIES;

		for (int32_t i = from; i < end; i++)
			y[i] = (float) (sparse->total[i] * draw->scale);
		if (gr_poll(&sparse->poll, end - from))
			return gr_fail(err, GR_CANCELED, 0, "random projection");
	}
	return true;
}

/*
 * Adds the columns from .. end - 1 of a chunk. The chunk's sum is computed in part first, unless it is the first chunk
 * or has one column.
 */
static bool
add_run(Sparse *sparse, int64_t from, int64_t end, GrError *err)
{
	int32_t		k = sparse->projection->draw.k;
	double		nentries = (double) (end - from) * gr_draw_mean(&sparse->projection->draw);

	if (from == 0 || end - from == 1)
		return use_columns(sparse, from, end, sparse->total, NULL, err);
	if (!sparse->part_is_clear && !gr_projection_clear(sparse->part, (size_t) k, &sparse->poll))
		return gr_fail(err, GR_CANCELED, 0, "random projection");
	sparse->part_is_clear = true;
	if (!use_columns(sparse, from, end, sparse->part, NULL, err))
		return false;
	if (nentries * 4.0 < k)
		return use_columns(sparse, from, end, sparse->part, sparse->total, err);
	return flush_all(sparse, err);
}

/* Adds all columns, chunk by chunk. */
static bool
add_runs(Sparse *sparse, GrError *err)
{
	int64_t		from = 0;

	for (int64_t m = 0; m < NAHEAD; m++)
		prefetch_column(sparse, m);
	while (from < sparse->n)
	{
		int64_t		end = from + 1;

		while (end < sparse->n && sparse->idx[end] / GR_CHUNK_NCOLS == sparse->idx[from] / GR_CHUNK_NCOLS)
			end++;
		if (!add_run(sparse, from, end, err))
			return false;
		from = end;
	}
	return true;
}

bool
gr_projection_apply_sparse(GrProjection *projection, const int64_t *idx, const double *val, int64_t n, float *y,
						   const GrHost *host, GrError *err)
{
	size_t		k = (size_t) projection->draw.k;
	double	   *total = gr_projection_scratch(projection, 2 * k, err);
	Sparse		sparse = {.projection = projection,.idx = idx,.val = val,.n = n,.total = total,.host = host};
	bool		ok;

	if (total == NULL)
		return false;
	sparse.part = total + k;
	/* finding a column, or drawing one without entries, takes as long as some entries */
	sparse.work_per_column = 16 + (int64_t) gr_draw_mean(&projection->draw);
	make_table(projection);
	sparse.poll.host = host;
	if (gr_projection_clear(total, k, &sparse.poll))
		ok = add_runs(&sparse, err) && write_sums(&sparse, y, err);
	else
		ok = gr_fail(err, GR_CANCELED, 0, "random projection");
	gr_projection_scratch_done(projection);
	return ok;
}
