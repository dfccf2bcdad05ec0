/*
 * projection_cache.h: tests the cache of random projections: what it keeps, what it gives up, how many steps that
 * takes, and that projections always have the same bits.
 */
#ifndef GPUREG_PROJECTION_CACHE_H
#define GPUREG_PROJECTION_CACHE_H

#include "compute/project/projection_state.h"
#include "projection_data.h"
#include "unit.h"

#define LARGE ((size_t) 1 << 28)

#define CACHE_DIM 3000

/*
 * Applies a key to a fixed vector and checks the bits. Returns how many columns that drew, or -1 if anything is wrong.
 */
static inline int64_t
use(GrProjectionCache *cache, size_t limit, Key key, int64_t dim)
{
	float	   *x = make_vectors(CANCEL, 5, 1, dim);
	float	   *y = malloc((size_t) key.k * sizeof(float));
	float	   *want = malloc((size_t) key.k * sizeof(float));
	int64_t		before = gr_projection_cache_ndrawn(cache);
	bool		good = apply(cache, limit, key, 8, x, 1, dim, y) && gr_projection_cache_nbytes(cache) <= limit;
	GrDraw		draw;
	GrError		err = {0};

	good = good && gr_draw_init(&draw, key.k, key.seed, key.density, &err);
	if (good)
	{
		projection_reference(&draw, x, dim, want);
		good = same(y, want, key.k);
	}
	free(x);
	free(y);
	free(want);
	return good ? gr_projection_cache_ndrawn(cache) - before : -1;
}

static inline void
test_kept(void)
{
	GrProjectionCache *cache = gr_projection_cache_create();
	Key			a = {50, 1, 0.125};
	Key			b = {50, 2, 0.125};
	Key			c = {50, 1, 1.0};
	float	   *rest = make_vectors(MIXED, 0, 1, CACHE_DIM);
	float		y[50];
	int			nwrong = 0;
	size_t		nbytes;

	check(gr_projection_cache_nbytes(cache) == 0 && gr_projection_cache_ndrawn(cache) == 0, "an empty cache");
	check(use(cache, LARGE, a, CACHE_DIM) == CACHE_DIM && use(cache, LARGE, a, CACHE_DIM) == 0 &&
		  use(cache, LARGE, a, 100) == 0,
		  "the same columns aren't drawn again");
	nbytes = gr_projection_cache_nbytes(cache);
	check(use(cache, LARGE, b, CACHE_DIM) == CACHE_DIM && use(cache, LARGE, c, CACHE_DIM) == CACHE_DIM &&
		  use(cache, LARGE, a, CACHE_DIM) == 0 && use(cache, LARGE, b, CACHE_DIM) == 0 &&
		  use(cache, LARGE, c, CACHE_DIM) == 0 &&
		  use(cache, LARGE, a, CACHE_DIM) == 0, "keys that take turns");
	for (int64_t dim = 1; dim < 400; dim++)
	{
		/* the rest that other vectors left is larger */
		nwrong += !apply(cache, LARGE, a, 8, rest, 1, CACHE_DIM, y) || use(cache, LARGE, a, dim) != 0;
		nwrong += !apply(cache, LARGE, c, 8, rest, 1, CACHE_DIM, y) || use(cache, LARGE, c, dim) != 0;
	}
	check(nwrong == 0, "shorter vectors use what is there");
	check(use(cache, 0, a, CACHE_DIM) >= 0 && gr_projection_cache_nbytes(cache) == 0, "a limit of 0 empties it");
	gr_projection_cache_free(cache);
	free(rest);

	/* room for two of three projections */
	cache = gr_projection_cache_create();
	nbytes = nbytes * 5 / 2;
	use(cache, nbytes, a, CACHE_DIM);
	use(cache, nbytes, b, CACHE_DIM);
	use(cache, nbytes, a, CACHE_DIM);
	check(use(cache, nbytes, (Key) {50, 3, 0.125}, CACHE_DIM) == CACHE_DIM && use(cache, nbytes, a, CACHE_DIM) == 0 &&
		  use(cache, nbytes, (Key) {50, 3, 0.125}, CACHE_DIM) == 0 && use(cache, nbytes, b, CACHE_DIM) == CACHE_DIM &&
		  use(cache, nbytes, a, CACHE_DIM) == CACHE_DIM, "the least recently used goes");
	gr_projection_cache_free(cache);
}

static inline void
test_growth(void)
{
	GrProjectionCache *cache = gr_projection_cache_create();
	Key			key = {20, 4, 0.01};
	int64_t		drawn;
	int			nwrong = 0;

	check(use(cache, LARGE, key, GR_CHUNK_NCOLS) == GR_CHUNK_NCOLS && use(cache, LARGE, key, GR_CHUNK_NCOLS + 10) == 10,
		  "a second chunk draws its own columns alone");
	drawn = use(cache, LARGE, key, 2 * GR_CHUNK_NCOLS + 1);
	check(drawn >= GR_CHUNK_NCOLS - 9 && drawn <= GR_CHUNK_NCOLS + 1 &&
		  use(cache, LARGE, key, GR_CHUNK_NCOLS + 77) == 0,
		  "longer vectors use what is there");
	/* the limit has room for about one and a half of three chunks */
	drawn = use(cache, 100000, key, 2 * GR_CHUNK_NCOLS + 1);
	check(drawn > 0 && drawn <= 2 * GR_CHUNK_NCOLS + 1 && use(cache, 100000, key, 2 * GR_CHUNK_NCOLS + 1) >= 0,
		  "a limit below what S takes");
	for (int i = 0; i < 300; i++)
	{
		Key			other = {1 + i * 7 % 90, (uint64_t) (i % 17), i % 3 == 0 ? 1.0 : 1.0 / (i % 40 + 2)};

		nwrong += use(cache, 20000 + (size_t) (i % 5) * 30000, other, 20 + i * 37 % 1000) < 0;
	}
	check(nwrong == 0, "many keys at changing limits");
	gr_projection_cache_free(cache);
}

static inline void
test_kept_columns(void)
{
	GrProjectionCache *cache = gr_projection_cache_create();
	Key			a = {256, 1, 0.125};
	Key			b = {40, 2, 1.0};
	int64_t		idx[200];
	double		val[200];
	float		y[2][256];
	int64_t		drawn[3];
	bool		good = true;

	for (int m = 0; m < 200; m++)
	{
		idx[m] = m * INT64_C(1234567891);
		val[m] = m - 99.5;
	}
	for (int turn = 0; turn < 3; turn++)
	{
		good = good && apply_sparse(cache, LARGE, a, idx, val, 200, y[0]) &&
			apply_sparse(cache, LARGE, b, idx, val, 200, y[1]);
		drawn[turn] = gr_projection_cache_ndrawn(cache);
	}
	check(good && drawn[0] == 400 && drawn[1] == 400 && drawn[2] == 400,
		  "the columns of sparse vectors aren't drawn again");
	good = use(cache, LARGE, a, 2000) == 2000 && apply_sparse(cache, LARGE, a, idx, val, 200, y[1]);
	check(good && gr_projection_cache_ndrawn(cache) == 2400 && same(y[0], y[1], 256) && use(cache, LARGE, a, 2000) == 0,
		  "dense and sparse vectors share a key");
	gr_projection_cache_free(cache);
}

/*
 * Many projections
 */

#define MANY 100000

/* True if the list in both directions, the table's chains, the bytes and the number of buckets agree. */
static inline bool
is_whole(const GrProjectionCache *cache)
{
	const GrProjection *newer = NULL;
	size_t		nlisted = 0;
	size_t		nchained = 0;
	size_t		nbytes = 0;
	bool		whole = true;

	for (const GrProjection *p = cache->first; p != NULL && nlisted <= cache->nprojections; p = p->older)
	{
		whole = whole && p->newer == newer && p->cache == cache && (newer == NULL || p->nbytes >= GR_PROJECTION_NBYTES);
		nbytes += p->nbytes;
		newer = p;
		nlisted++;
	}
	for (size_t b = 0; b < cache->nbuckets; b++)
		for (const GrProjection *p = cache->buckets[b]; p != NULL && nchained <= cache->nprojections; p = p->chained)
			nchained++;
	return whole && cache->last == newer && nlisted == cache->nprojections && nchained == nlisted &&
		nbytes == cache->nbytes && cache->nbuckets >= nlisted &&
		(cache->nbuckets <= GR_NBUCKETS_MIN || cache->nbuckets <= GR_BUCKETS_MAX * nlisted);
}

/* Returns the memory of all projections but the first, without what they keep, and of the buckets. */
static inline size_t
own_nbytes(const GrProjectionCache *cache)
{
	return (cache->nprojections - 1) * sizeof(GrProjection) + cache->nbuckets * sizeof(GrProjection *);
}

/*
 * Opens n projections that differ in key number `by`, starting with number first. Returns how often the limit was
 * passed or the projection was wrong.
 */
static inline int
open_many(GrProjectionCache *cache, int by, int first, int n, size_t limit)
{
	int			nwrong = 0;

	for (int i = first; i < first + n; i++)
	{
		uint64_t	seed = (uint64_t) i << (i % 2 * 40);
		Key			key = {by == 0 ? i + 1 : 3, by == 1 ? seed : 5, by == 2 ? 1.0 / (i + 1) : 1.0};
		GrError		err = {0};
		GrProjection *projection = gr_projection_open(cache, key.k, key.seed, key.density, limit, &err);
		const GrDraw *draw = gr_projection_draw(projection);

		nwrong += draw->k != key.k || draw->seed != key.seed || draw->density != key.density ||
			cache->nbytes > limit;
	}
	return nwrong;
}

/* Checks that opening a projection takes a few steps, however many are kept, and whether or not others are given up. */
static inline void
test_many(void)
{
	static const char *const names[] = {"k", "seeds", "densities"};
	static const size_t limits[] = {LARGE, (size_t) 1 << 22, 0};

	for (int by = 0; by < 3; by++)
		for (int l = 0; l < 3; l++)
		{
			GrProjectionCache *cache = gr_projection_cache_create();
			int			n = by == 1 ? MANY : MANY / 5;
			int			nwrong = open_many(cache, by, 0, n, limits[l]);
			size_t		nkept = cache->nprojections;
			int64_t		nsteps;

			if (l == 0)
				nwrong += nkept != (size_t) n;
			else
				nwrong += own_nbytes(cache) > limits[l] + GR_NBUCKETS_MIN * sizeof(GrProjection *) ||
					nkept < limits[l] / 2000;
			nwrong += !is_whole(cache);
			/* opens the last ones again, the oldest first */
			nwrong += open_many(cache, by, n - (int) nkept, (int) nkept, limits[l]);
			nwrong += cache->nprojections != nkept || !is_whole(cache);
			/* a lower limit makes all of them go */
			nwrong += open_many(cache, by, n / 2, 1, 0) + (cache->nprojections != 1) + !is_whole(cache);
			nsteps = gr_projection_cache_nsteps(cache);
			if (!check(nwrong == 0 && nsteps <= 8 * ((int64_t) n + (int64_t) nkept + 1), "%d %s, a limit of %zu bytes",
					   n, names[by], limits[l]))
				printf("# %d wrong, %lld steps, %zu kept\n", nwrong, (long long) nsteps, nkept);
			gr_projection_cache_free(cache);
		}
}

/* Checks the cache against a plain list of seeds in the order of use, of which a limit keeps the first few. */
static inline void
test_recency(void)
{
	GrProjectionCache *cache = gr_projection_cache_create();
	uint64_t	model[50];
	int			nmodel = 0;
	int			nkept = 40;
	int			nwrong = 0;
	int			nreused = 0;

	for (int turn = 0; turn < 20000; turn++)
	{
		/* random seeds, in two of three turns from a smaller range */
		uint64_t	seed = (uint64_t) random() % (turn % 3 == 0 ? 200 : 30);
		const GrProjection *at;
		GrError		err = {0};
		int			found = 0;
		int			n = 0;

		nkept = turn % 1000 == 999 ? 1 + (int) (random() % 49) : nkept;
		while (found < nmodel && model[found] != seed)
			found++;
		nreused += found < nmodel;
		nmodel += found == nmodel;
		memmove(model + 1, model, (size_t) found * sizeof(uint64_t));
		model[0] = seed;
		nmodel = nmodel < nkept ? nmodel : nkept;
		gr_projection_open(cache, 7, seed, 0.5, (size_t) (nkept - 1) * GR_PROJECTION_NBYTES, &err);
		for (at = cache->first; at != NULL && n < nmodel && at->draw.seed == model[n]; at = at->older)
			n++;
		nwrong += n != nmodel || at != NULL || !is_whole(cache);
	}
	check(nwrong == 0 && nreused > 5000, "those used longest ago go, and no others");
	gr_projection_cache_free(cache);
}

/* Checks that projections that were given up, and only those, are drawn again, to the same bits. */
static inline void
test_drawn_again(void)
{
	GrProjectionCache *cache = gr_projection_cache_create();
	int			nwrong = 0;
	size_t		limit;

	use(cache, LARGE, (Key) {20, 0, 0.25}, 200);
	limit = 30 * (gr_projection_cache_nbytes(cache) * 3 / 2 + GR_PROJECTION_NBYTES);
	for (uint64_t seed = 0; seed < 300; seed++)
	{
		Key			key = {20, seed, 0.25};

		nwrong += use(cache, limit, key, 200) != (seed == 0 ? 0 : 200) || use(cache, limit, key, 200) != 0;
		nwrong += seed >= 10 && use(cache, limit, (Key) {20, seed - 10, 0.25}, 200) != 0;
		nwrong += seed >= 100 && seed % 10 == 0 &&
			use(cache, limit, (Key) {20, seed - 100, 0.25}, 200) != 200;
		nwrong += !is_whole(cache);
	}
	check(nwrong == 0, "drawn again if given up, and only then");
	for (uint64_t seed = 0; seed < 50; seed++)
		nwrong += use(cache, 0, (Key) {20, seed % 5, 0.25}, 200) != 200 || cache->nprojections != 1 ||
			cache->nbytes != 0;
	check(nwrong == 0, "with a limit of 0 nothing is kept");
	gr_projection_cache_free(cache);
}

#endif							/* GPUREG_PROJECTION_CACHE_H */
