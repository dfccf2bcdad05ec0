/*
 * projection.c: the cache of projections, which chunks.c and sparse.c fill.
 */
#include "compute/project/projection.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compute/project/projection_state.h"

#define SCRATCH_KEPT_NBYTES ((size_t) 4 << 20)

/*
 * The cache
 */

GrProjectionCache *
gr_projection_cache_create(void)
{
	return calloc(1, sizeof(GrProjectionCache));
}

/* Frees everything that is kept of a projection. */
static void
drop_all(GrProjection *projection)
{
	for (int64_t c = 0; c < projection->nchunks; c++)
	{
		free(projection->chunks[c].starts);
		free(projection->chunks[c].entries);
	}
	free(projection->chunks);
	free(projection->columns.slots);
	projection->chunks = NULL;
	projection->nchunks = 0;
	memset(&projection->columns, 0, sizeof(projection->columns));
	gr_projection_count(projection, 0, projection->nbytes);
}

static void
projection_free(GrProjection *projection)
{
	drop_all(projection);
	free(projection);
}

void
gr_projection_cache_free(GrProjectionCache *cache)
{
	if (cache == NULL)
		return;
	while (cache->first != NULL)
	{
		GrProjection *older = cache->first->older;

		projection_free(cache->first);
		cache->first = older;
	}
	free(cache->buckets);
	free(cache->scratch);
	free(cache);
}

size_t
gr_projection_cache_nbytes(const GrProjectionCache *cache)
{
	return cache->nbytes;
}

int64_t
gr_projection_cache_ndrawn(const GrProjectionCache *cache)
{
	return cache->ndrawn;
}

int64_t
gr_projection_cache_nsteps(const GrProjectionCache *cache)
{
	return cache->nsteps;
}

/* MurmurHash3's finalizer. It is a bijection: keys that differ only in the seed have different hashes. */
static uint64_t
mix(uint64_t h)
{
	h = (h ^ h >> 33) * UINT64_C(0xff51afd7ed558ccd);
	h = (h ^ h >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
	return h ^ h >> 33;
}

/* Returns the address of the pointer to the bucket's first projection. The table must exist. */
static GrProjection **
bucket_of(const GrProjectionCache *cache, int64_t k, uint64_t seed, double density)
{
	uint64_t	bits;

	memcpy(&bits, &density, sizeof(bits));
	return &cache->buckets[mix(seed + mix(bits + mix((uint64_t) k))) & (cache->nbuckets - 1)];
}

static void
add_to_table(GrProjectionCache *cache, GrProjection *projection)
{
	GrProjection **bucket = bucket_of(cache, projection->draw.k, projection->draw.seed, projection->draw.density);

	projection->chained = *bucket;
	*bucket = projection;
	cache->nsteps++;
}

static void
take_from_table(GrProjectionCache *cache, const GrProjection *projection)
{
	GrProjection **at = bucket_of(cache, projection->draw.k, projection->draw.seed, projection->draw.density);

	for (; *at != projection; at = &(*at)->chained)
		cache->nsteps++;
	*at = projection->chained;
	cache->nsteps++;
}

/* Moves the projections to a new table of nbuckets. Returns false and keeps the old table if there is no memory. */
static bool
resize_table(GrProjectionCache *cache, size_t nbuckets)
{
	GrProjection **buckets = calloc(nbuckets, sizeof(GrProjection *));

	if (buckets == NULL)
		return false;
	free(cache->buckets);
	cache->buckets = buckets;
	cache->nbuckets = nbuckets;
	for (GrProjection *projection = cache->first; projection != NULL; projection = projection->older)
		add_to_table(cache, projection);
	return true;
}

/* Makes projection the first of the list. All others count with GR_PROJECTION_NBYTES. */
static void
make_first(GrProjectionCache *cache, GrProjection *projection, bool is_new)
{
	if (cache->first == projection)
		return;
	if (!is_new)
	{
		gr_projection_count(projection, 0, GR_PROJECTION_NBYTES);
		projection->newer->older = projection->older;
		*(projection->older != NULL ? &projection->older->newer : &cache->last) = projection->newer;
	}
	if (cache->first != NULL)
	{
		gr_projection_count(cache->first, GR_PROJECTION_NBYTES, 0);
		cache->first->newer = projection;
	}
	else
		cache->last = projection;
	projection->newer = NULL;
	projection->older = cache->first;
	cache->first = projection;
}

/* Frees the least recently used projections, but never the first, until the cache has at most nbytes. */
static void
shrink(GrProjectionCache *cache, size_t nbytes)
{
	while (cache->nbytes > nbytes && cache->last != cache->first)
	{
		GrProjection *oldest = cache->last;

		cache->last = oldest->newer;
		cache->last->older = NULL;
		take_from_table(cache, oldest);
		projection_free(oldest);
		cache->nprojections--;
		/* if there is no memory for a smaller table, the larger one stays */
		if (cache->nbuckets > GR_NBUCKETS_MIN && cache->nprojections * GR_BUCKETS_MAX < cache->nbuckets)
			(void) resize_table(cache, cache->nbuckets / 2);
	}
}

bool
gr_projection_make_room(GrProjection *projection, size_t nbytes)
{
	GrProjectionCache *cache = projection->cache;

	if (nbytes > cache->limit_nbytes || projection->nbytes > cache->limit_nbytes - nbytes)
		return false;
	shrink(cache, cache->limit_nbytes - nbytes);
	return true;
}

static bool
is_for(const GrProjection *projection, int64_t k, uint64_t seed, double density)
{
	const GrDraw *draw = &projection->draw;

	return draw->k == k && draw->seed == seed && draw->density == density;
}

/* Returns the projection for (k, seed, density), or NULL if the cache has none. */
static GrProjection *
find(GrProjectionCache *cache, int64_t k, uint64_t seed, double density)
{
	GrProjection *projection = cache->nbuckets > 0 ? *bucket_of(cache, k, seed, density) : NULL;

	for (; projection != NULL; projection = projection->chained)
	{
		cache->nsteps++;
		if (is_for(projection, k, seed, density))
			break;
	}
	return projection;
}

bool
gr_projection_no_memory(size_t nbytes, GrError *err)
{
	if (err->status == GR_OK)
		err->bytes_needed = nbytes;
	return gr_fail(err, GR_NO_MEMORY, 0, "random projection");
}

/* Creates a projection that the cache does not have, and makes it the first. */
static GrProjection *
create(GrProjectionCache *cache, int64_t k, uint64_t seed, double density, GrError *err)
{
	size_t		nbuckets = cache->nbuckets > 0 ? 2 * cache->nbuckets : GR_NBUCKETS_MIN;
	GrProjection *projection;
	GrDraw		draw;

	if (!gr_draw_init(&draw, k, seed, density, err))
		return NULL;
	if (cache->nprojections == cache->nbuckets && !resize_table(cache, nbuckets))
	{
		gr_projection_no_memory(nbuckets * sizeof(GrProjection *), err);
		return NULL;
	}
	projection = calloc(1, sizeof(GrProjection));
	if (projection == NULL)
	{
		gr_projection_no_memory(sizeof(GrProjection), err);
		return NULL;
	}
	projection->draw = draw;
	projection->cache = cache;
	cache->nprojections++;
	add_to_table(cache, projection);
	make_first(cache, projection, true);
	return projection;
}

GrProjection *
gr_projection_open(GrProjectionCache *cache, int64_t k, uint64_t seed, double density, size_t limit_nbytes,
				   GrError *err)
{
	GrProjection *projection = cache->first;

	if (projection == NULL || !is_for(projection, k, seed, density))
		projection = find(cache, k, seed, density);
	if (projection != NULL)
		make_first(cache, projection, false);
	else
		projection = create(cache, k, seed, density, err);
	if (projection == NULL)
		return NULL;
	cache->limit_nbytes = limit_nbytes;
	shrink(cache, limit_nbytes);
	if (cache->nbytes > limit_nbytes)
		drop_all(projection);
	return projection;
}

const GrDraw *
gr_projection_draw(const GrProjection *projection)
{
	return &projection->draw;
}

double *
gr_projection_scratch(GrProjection *projection, size_t n, GrError *err)
{
	GrProjectionCache *cache = projection->cache;

	if (n > SIZE_MAX / sizeof(double))
	{
		gr_projection_no_memory(SIZE_MAX, err);
		return NULL;
	}
	if (cache->scratch_nbytes < n * sizeof(double))
	{
		free(cache->scratch);
		cache->scratch_nbytes = n * sizeof(double);
		cache->scratch = malloc(cache->scratch_nbytes);
		if (cache->scratch == NULL)
		{
			cache->scratch_nbytes = 0;
			gr_projection_no_memory(n * sizeof(double), err);
			return NULL;
		}
	}
	return cache->scratch;
}

void
gr_projection_scratch_done(GrProjection *projection)
{
	GrProjectionCache *cache = projection->cache;

	if (cache->scratch_nbytes <= SCRATCH_KEPT_NBYTES)
		return;
	free(cache->scratch);
	cache->scratch = NULL;
	cache->scratch_nbytes = 0;
}
