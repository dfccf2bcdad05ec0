/*
 * projection_test.c: tests S against values from an independent program (test/data/projection_reference.py) and against
 * its law; projections against plain sums, to the bit; distances; and the cache.
 */
#include <limits.h>

#include "projection_data.h"

#include "compute/backend/backend.h"
#include "compute/base/murmur3.h"
#include "draw_law.h"
#include "projection_cache.h"
#include "unit.h"

/*
 * Values of the file
 */

static bool
take_philox(DataRow *row, void *arg)
{
	int64_t		word[10];
	GrPhilox	counter;
	GrPhilox	result;

	(void) arg;
	for (int i = 0; i < 10; i++)
		if (!next_value(&row->values, 16, &word[i]))
			return false;
	for (int i = 0; i < 4; i++)
		counter.word[i] = (uint32_t) word[i];
	result = gr_philox(counter, (uint32_t) word[4], (uint32_t) word[5]);
	for (int i = 0; i < 4; i++)
		if (result.word[i] != (uint32_t) word[6 + i])
			return false;
	return true;
}

/* Returns a stratum's first words; the number of nonzeros comes from the first two. */
static GrPhilox
split(uint64_t u)
{
	GrPhilox	words = {{(uint32_t) (u >> 32), (uint32_t) u, 0, 0}};

	return words;
}

static bool
take_scale(DataRow *row, void *arg)
{
	GrDraw		draw;
	GrError		err = {0};
	uint64_t	bits = 0;

	(void) arg;
	if (gr_draw_init(&draw, row->k, 0, row->density, &err))
		memcpy(&bits, &draw.scale, sizeof(bits));
	return bits == strtoull(row->values, NULL, 16);
}

static bool
take_thresholds(DataRow *row, void *arg)
{
	GrDraw		draw;
	GrError		err = {0};
	int64_t		threshold;
	int			n = 0;

	(void) arg;
	if (!gr_draw_init(&draw, row->k, 0, row->density, &err) || draw.full.nrows != row->n)
		return false;
	for (; next_value(&row->values, 16, &threshold); n++)
		/* the threshold itself counts, a number below it doesn't */
		if (n == draw.full.nthresholds || draw.full.thresholds[n] != (uint64_t) threshold ||
			gr_draw_count(&draw.full, split((uint64_t) threshold)) <= n ||
			(threshold != 0 && gr_draw_count(&draw.full, split((uint64_t) threshold - 1)) > n))
			return false;
	return n == draw.full.nthresholds && memcmp(&draw.full, &draw.last, sizeof(GrDrawTable)) == 0;
}

/* Checks a column, or the hash of many. */
static bool
take_column(DataRow *row, void *arg)
{
	bool		many = strcmp(row->kind, "columns") == 0;
	uint64_t	hash = FNV_START;
	int64_t		total = 0;
	char		want[64];
	bool		good = true;
	uint32_t   *entries;
	GrDraw		draw;
	GrError		err = {0};

	(void) arg;
	if (!gr_draw_init(&draw, row->k, row->seed, row->density, &err))
		return false;
	entries = column_buffer(&draw);
	for (int64_t c = 0; good && c < (many ? row->n : 1); c++)
	{
		int64_t		j = many ? c : row->n;
		int			n = sorted_column(&draw, j, entries);
		int64_t		entry;

		good = n >= 0;
		total += n;
		for (int m = 0; many && m < n; m++)
			hash = fnv_add(fnv_add(hash, (uint64_t) j, 8), entries[m], 4);
		for (int m = 0; !many && good && m < n; m++)
			good = next_value(&row->values, 10, &entry) && (uint32_t) entry == entries[m];
		good = good && (many || !next_value(&row->values, 10, &entry));
	}
	snprintf(want, sizeof(want), "%lld %016llx", (long long) total, (unsigned long long) hash);
	free(entries);
	return good && (!many || strcmp(row->values, want) == 0);
}

/* True if y is as the line says. want: the line's values, unless it has a hash. */
static bool
is_wanted(const DataRow *row, const uint32_t *want, const float *y)
{
	uint64_t	hash = FNV_START;

	if (strcmp(row->kind, "project") == 0)
		return memcmp(y, want, (size_t) row->k * sizeof(float)) == 0;
	for (int64_t i = 0; i < row->k; i++)
	{
		uint32_t	bits;

		memcpy(&bits, &y[i], sizeof(bits));
		hash = fnv_add(hash, bits, 4);
	}
	return hash == strtoull(row->values, NULL, 16);
}

/* Projects one vector alone, with S kept and not kept, in the middle of three, and as a sparse one. arg: the cache. */
static bool
take_project(DataRow *row, void *arg)
{
	static const int lanes[] = {1, 4, 8};
	Key			key = {row->k, row->seed, row->density};
	uint32_t   *want = calloc((size_t) row->k, sizeof(uint32_t));
	float	   *y = malloc(3 * (size_t) row->k * sizeof(float));
	int64_t    *idx = malloc((size_t) row->n * sizeof(int64_t));
	double	   *val = malloc((size_t) row->n * sizeof(double));
	float	   *x;
	int			recipe = 0;
	int			nwrong = 0;
	GrDraw		draw;
	GrError		err = {0};

	for (int64_t i = 0; i < row->k && strcmp(row->kind, "project") == 0; i++)
	{
		int64_t		bits = 0;

		nwrong += !next_value(&row->values, 16, &bits);
		want[i] = (uint32_t) bits;
	}
	while (recipe < NRECIPES - 1 && strcmp(recipe_names[recipe], row->recipe) != 0)
		recipe++;
	x = make_vectors(recipe, UINT32_MAX, 3, row->n);	/* vector 0 in the middle */

	nwrong += !gr_draw_init(&draw, key.k, key.seed, key.density, &err);
	projection_reference(&draw, x + row->n, row->n, y);
	nwrong += !is_wanted(row, want, y);
	for (int i = 0; i < 3; i++)
	{
		nwrong += !apply(arg, LARGE, key, lanes[i], x + row->n, 1, row->n, y) || !is_wanted(row, want, y);
		nwrong += !apply(arg, LARGE, key, lanes[i], x, 3, row->n, y) || !is_wanted(row, want, y + row->k);
	}
	nwrong += !apply(arg, 0, key, 8, x, 3, row->n, y) || !is_wanted(row, want, y + row->k);
	nwrong += !apply_sparse(arg, LARGE, key, idx, val, find_nonzeros(x + row->n, row->n, idx, val), y) ||
		!is_wanted(row, want, y);
	nwrong += !apply_sparse(arg, 0, key, idx, val, find_nonzeros(x + row->n, row->n, idx, val), y) ||
		!is_wanted(row, want, y);
	free(want);
	free(y);
	free(idx);
	free(val);
	free(x);
	return nwrong == 0;
}

static void
test_data(void)
{
	GrProjectionCache *cache = gr_projection_cache_create();

	check(check_data(take_philox, NULL, "philox") >= 40, "blocks of Philox");
	check(check_data(take_thresholds, NULL, "thresholds") >= 40, "thresholds of strata");
	check(check_data(take_scale, NULL, "scale") >= 80, "scales");
	check(check_data(take_column, NULL, "column") >= 400, "columns, and hashes of many");
	check(check_data(take_project, cache, "project") >= 150, "projections");
	gr_projection_cache_free(cache);
}

static void
test_murmur3(void)
{
	FILE	   *file = fopen("test/data/murmur3.csv", "r");
	char		line[4096];
	int			n = 0;
	int			nwrong = 0;

	if (file == NULL || fgets(line, sizeof(line), file) == NULL || strcmp(line, "token_hex,seed,hash\n") != 0)
		nwrong++;
	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
	{
		unsigned char data[sizeof(line)];
		size_t		nbytes = 0;
		unsigned int byte;
		char	   *rest = strchr(line, ',');
		uint32_t	seed = 0;
		int32_t		hash = 0;

		for (char *at = line; at < rest && sscanf(at, "%2x", &byte) == 1; at += 2)
			data[nbytes++] = (unsigned char) byte;
		if (rest == NULL || sscanf(rest, ",%u,%d", &seed, &hash) != 2 ||
			(int32_t) gr_murmur3(data, nbytes, seed) != hash)
			nwrong++;
		n++;
	}
	if (file != NULL)
		fclose(file);
	check(nwrong == 0 && n >= 500, "MurmurHash3 of %d tokens", n);
	check(gr_murmur3("", 0, 0) == 0 && (int32_t) gr_murmur3("a", 1, 0) == 1009084850 &&
		  (int32_t) gr_murmur3("foo", 3, 0) == -156908512 &&
		  (int32_t) gr_murmur3("age=42", 6, 0) == 1138946670, "MurmurHash3 as published");
}

/*
 * Equal bits, however results are computed
 */

typedef struct Shape
{
	Key			key;
	int64_t		dim;
	int			nvectors;		/* largest batch */
} Shape;

/* Failures: wrong bits, and how often the cache held more than its limit */
typedef struct Wrong
{
	int			nbits;
	int			nlimits;
} Wrong;

/*
 * Projects every batch size from 1 to nvectors (of large shapes every third one, unless GPUREG_LONG is set), or only
 * the ends of that range, at several limits and lanes.
 */
static void
count_wrong(GrProjectionCache *cache, const Shape *shape, Recipe recipe, Wrong *wrong)
{
	static const int lanes[] = {1, 4, 8};
	double		nentries = (double) shape->key.k * shape->key.density * (double) shape->dim;
	const size_t limits[] = {0, 3000, (size_t) (2.0 * nentries), LARGE, 1};
	bool		thins = shape->key.k * shape->dim > 20000 && getenv("GPUREG_LONG") == NULL;
	int			step = shape->nvectors <= 20 ? shape->nvectors - 1 : thins ? 3 : 1;
	size_t		ny = (size_t) shape->nvectors * (size_t) shape->key.k;
	float	   *x = make_vectors(recipe, 0, shape->nvectors, shape->dim);
	float	   *want = malloc(ny * sizeof(float));
	float	   *y = malloc(ny * sizeof(float));
	GrDraw		draw;
	GrError		err = {0};

	wrong->nbits += !gr_draw_init(&draw, shape->key.k, shape->key.seed, shape->key.density, &err);
	for (int v = 0; v < shape->nvectors; v++)
		projection_reference(&draw, x + v * shape->dim, shape->dim, want + v * shape->key.k);
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		for (int l = 0; l < 3; l++)
			for (int n = 1; n <= shape->nvectors; n += step > 0 ? step : 1)
			{
				wrong->nbits += !apply(cache, limits[i], shape->key, lanes[l], x, n, shape->dim, y) ||
					!same(y, want, n * shape->key.k);
				wrong->nlimits += gr_projection_cache_nbytes(cache) > limits[i];
			}
	free(x);
	free(want);
	free(y);
}

static void
test_shapes(void)
{
	static const Shape shapes[] = {
		{{1, 0, 1.0}, 1, 40}, {{5, 1, 1.0}, 3, 40}, {{3, 2, 0.9}, 1, 40}, {{128, 3, 0.0625}, 300, 40},
			{{129, 4, 1.0}, 257, 40},
		{{260, 5, 0.3}, 40, 40}, {{1000, 6, 0.05}, 64, 40}, {{4, 7, 0.5}, 100, 40}, {{1, 8, 0.01}, 2000, 40},
		{{20, 9, 1.0 / 3}, 65535, 9}, {{21, 10, 0.02}, 65536, 9}, {{22, 11, 0.02}, 65537, 9},
		{{35, 12, 1.0 / 64}, 131073, 17},
		{{3, 13, 1.0}, 131072, 2}
	};
	GrProjectionCache *cache = gr_projection_cache_create();

	for (size_t s = 0; s < sizeof(shapes) / sizeof(shapes[0]); s++)
	{
		const Shape *shape = &shapes[s];
		Wrong		wrong = {0};

		for (int recipe = 0; recipe < NRECIPES; recipe++)
			if (shape->dim < 10000 || recipe == CANCEL || recipe == (s % 2 == 0 ? MIXED : SPARSE))
				count_wrong(cache, shape, (Recipe) recipe, &wrong);
		if (!check(wrong.nbits == 0 && wrong.nlimits == 0, "k %lld, density %.3g, dim %lld: any batch, lanes and limit",
				   (long long) shape->key.k, shape->key.density, (long long) shape->dim))
			printf("# wrong bits: %d, limit passed: %d\n", wrong.nbits, wrong.nlimits);
	}
	gr_projection_cache_free(cache);
}

/* Projects sparse vectors with columns from everywhere and values that are no float4. */
static void
test_sparse(void)
{
	static const Key keys[] = {{30, 1, 0.25}, {200, 2, 0.16}, {1, 3, 1.0}, {140, 4, 1.0}, {40000, 5, 0.0008},
		{7, 6, 0.9}};
	static const size_t limits[] = {LARGE, LARGE, 0, 100000, LARGE};
	GrProjectionCache *cache = gr_projection_cache_create();
	int64_t		idx[600];
	double		val[600];
	int			n = 0;

	for (int i = 0; i < 300; i++)
		idx[n++] = i * 311 + (i > 200 ? 65536 : 0);
	for (int i = 0; i < 200; i++)
		idx[n++] = (INT64_C(1) << 31) - 20 + i * (i < 100 ? 1 : 100000);
	for (int i = 0; i < 90; i++)
		idx[n++] = (INT64_C(1) << 40) + i * INT64_C(90000000000000000);
	for (int i = 9; i >= 0; i--)
		idx[n++] = INT64_MAX - i * i;
	for (int m = 0; m < n; m++)
		val[m] = m % 5 == 1 ? (m % 2 ? 0x1p60 : -0x1p60) : m % 7 == 3 ? 0.0 : 1000.0 / (m + 3.7);

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
	{
		float	   *want = malloc((size_t) keys[i].k * sizeof(float));
		float	   *y = malloc((size_t) keys[i].k * sizeof(float));
		Wrong		wrong = {0};
		GrDraw		draw;
		GrError		err = {0};

		wrong.nbits += !gr_draw_init(&draw, keys[i].k, keys[i].seed, keys[i].density, &err);
		for (int count = 0; count <= n; count = count < 20 ? count + 1 : count < 301 ? 301 : count + 299)
		{
			plain_sums(&draw, idx, val, count, true, want);
			for (size_t l = 0; l < sizeof(limits) / sizeof(limits[0]); l++)
			{
				wrong.nbits += !apply_sparse(cache, limits[l], keys[i], idx, val, count, y) ||
					!same(y, want, keys[i].k);
				wrong.nlimits += gr_projection_cache_nbytes(cache) > limits[l];
			}
		}
		if (!check(wrong.nbits == 0 && wrong.nlimits == 0, "k %lld, density %.3g: sparse vectors of 0 to %d columns",
				   (long long) keys[i].k, keys[i].density, n))
			printf("# wrong bits: %d, limit passed: %d\n", wrong.nbits, wrong.nlimits);
		free(want);
		free(y);
	}
	gr_projection_cache_free(cache);
}

/* Projects vectors whose sums depend on their order; sums in another order show that they do. */
static void
check_order(GrProjectionCache *cache, Key key, int64_t dim)
{
	size_t		k = (size_t) key.k;
	float	   *y = malloc(10 * k * sizeof(float));
	float	   *batch = malloc(9 * (size_t) dim * sizeof(float));
	int64_t    *idx = malloc((size_t) dim * sizeof(int64_t));
	double	   *val = malloc((size_t) dim * sizeof(double));
	int			nwrong = 0;
	int			nother[2] = {0};
	float	   *x;
	GrDraw		draw;
	GrError		err = {0};

	gr_draw_init(&draw, key.k, key.seed, key.density, &err);
	x = make_sensitive(&draw, dim);
	for (int v = 0; v < 9; v++)
		memcpy(batch + v * dim, x, (size_t) dim * sizeof(float));
	projection_reference(&draw, x, dim, y);
	for (int limit = 0; limit < 2; limit++)
		for (int lanes = 1; lanes <= 8; lanes += lanes == 1 ? 3 : 4)
			for (int n = 1; n <= 9; n += 8)
			{
				nwrong += !apply(cache, limit * LARGE, key, lanes, batch, n, dim, y + k);
				for (int v = 0; v < n; v++)
					nwrong += !same(y, y + (size_t) (v + 1) * k, key.k);
			}
	for (int limit = 0; limit < 2; limit++)
		nwrong += !apply_sparse(cache, limit * LARGE, key, idx, val, find_nonzeros(x, dim, idx, val), y + k) ||
			!same(y, y + k, key.k);
	for (int order = 0; order < 2; order++)
	{
		for (int64_t j = 0; j < dim; j++)
		{
			idx[j] = order == 0 ? j : dim - 1 - j;
			val[j] = x[idx[j]];
		}
		plain_sums(&draw, idx, val, dim, order == 1, y + k);
		for (size_t i = 0; i < k; i++)
			nother[order] += y[i] != y[k + i];
	}
	if (!check(nwrong == 0 && nother[0] * 4 > key.k * 3 && nother[1] * 4 > key.k * 3,
			   "k %lld, density %.3g: the order of the sums",
			   (long long) key.k, key.density))
		printf("# %d wrong; %d rows would differ without chunks, %d in reverse\n", nwrong, nother[0], nother[1]);
	free(y);
	free(batch);
	free(idx);
	free(val);
	free(x);
}

static void
test_order(void)
{
	static const Key keys[] = {{7, 1, 1.0 / 3}, {5, 2, 1.0}, {63, 3, 1.0 / 64}, {6, 4, 0.9}, {500, 5, 0.002}};
	GrProjectionCache *cache = gr_projection_cache_create();

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		check_order(cache, keys[i], 140000);
	gr_projection_cache_free(cache);
}

static void
test_special_values(void)
{
	GrProjectionCache *cache = gr_projection_cache_create();
	Key			key = {70, 3, 1.0};
	float		x[3][100];
	float		y[3 * 70];
	float		zeros[3 * 70] = {0};
	int			ninfinite = 0;
	uint32_t	entries[70];
	GrDraw		draw;
	GrError		err = {0};

	for (int v = 0; v < 3; v++)
		for (int j = 0; j < 100; j++)
			x[v][j] = (v + j) % 3 == 0 ? 0.0f : -0.0f;
	check(apply(cache, LARGE, key, 8, x[0], 3, 100, y) && same(y, zeros, 210) &&
		  apply(cache, 0, key, 8, x[0], 1, 100, y) &&
		  same(y, zeros, 70), "zeros of either sign give +0");

	/* row 0's signs times the largest float4, whose sum is 100 / sqrt(70) of it */
	gr_draw_init(&draw, key.k, key.seed, key.density, &err);
	for (int j = 0; j < 100; j++)
	{
		projection_reference_column(&draw, j, entries);
		x[0][j] = entries[0] & GR_ENTRY_SIGN ? -0x1.fffffep127f : 0x1.fffffep127f;
		x[1][j] = -x[0][j];
		x[2][j] = j == 50 ? 1.0f : 0.0f;
	}
	if (apply(cache, LARGE, key, 8, x[0], 3, 100, y))
		for (int i = 0; i < 70; i++)
			ninfinite += isinf(y[i]) != 0;
	check(y[0] == INFINITY && y[70] == -INFINITY && ninfinite < 70 && fabsf(y[140]) == (float) draw.scale,
		  "infinite beyond float4, and only there");
	gr_projection_cache_free(cache);
}

/*
 * Distances
 */

#define NPOINTS 142				/* 10,011 pairs */

static double
squared_distance(const float *a, const float *b, int64_t n)
{
	double		sum = 0.0;

	for (int64_t i = 0; i < n; i++)
		sum += ((double) a[i] - b[i]) * ((double) a[i] - b[i]);
	return sum;
}

/*
 * Checks the lemma of Johnson and Lindenstrauss: with k = 4 ln n / (eps^2 / 2 - eps^3 / 3), all squared distances are
 * within 1 +- eps.
 */
static void
test_distances(Recipe recipe, int64_t dim, double density, bool sparse)
{
	double		eps = 0.3;
	Key			key = {(int64_t) (4 * log(NPOINTS) / (eps * eps / 2 - eps * eps * eps / 3)), 20, density};
	GrProjectionCache *cache = gr_projection_cache_create();
	float	   *x = make_vectors(recipe, 0, NPOINTS, dim);
	float	   *y = malloc(NPOINTS * (size_t) key.k * sizeof(float));
	int64_t    *idx = malloc((size_t) dim * sizeof(int64_t));
	double	   *val = malloc((size_t) dim * sizeof(double));
	double		least = INFINITY;
	double		most = 0.0;
	double		sum = 0.0;
	int			n = 0;
	bool		good = sparse || apply(cache, LARGE, key, 8, x, NPOINTS, dim, y);

	for (int v = 0; sparse && v < NPOINTS; v++)
		good = good && apply_sparse(cache, LARGE, key, idx, val, find_nonzeros(x + v * dim, dim, idx, val), y +
									v * key.k);
	for (int a = 0; a < NPOINTS; a++)
		for (int b = 0; b < a; b++, n++)
		{
			double		ratio = squared_distance(y + a * key.k, y + b * key.k, key.k) / squared_distance(x + a * dim,
																										 x + b * dim,
																										 dim);

			least = fmin(least, ratio);
			most = fmax(most, ratio);
			sum += ratio;
		}
	if (!check(good && least > 1 - eps && most < 1 + eps && fabs(sum / n - 1) < 0.02,
			   "distances of %d pairs in %lld dimensions, density %.3g", n, (long long) dim, density))
		printf("# ratios from %g to %g, mean %g\n", least, most, sum / n);
	free(x);
	free(y);
	free(idx);
	free(val);
	gr_projection_cache_free(cache);
}

/*
 * Arguments
 */

static void
test_densities(void)
{
	static const int ks[] = {33, 64, 256, 1024};

	check(gr_dense_density(1) == 1.0 && gr_dense_density(4) == 0.5 && gr_dense_density(65536) == 0x1p-8 &&
		  gr_dense_density(70000) == 1.0 / sqrt(70000.0), "the density for dense vectors");
	check(gr_sparse_density(1) == 1.0 && gr_sparse_density(32) == 1.0 && gr_sparse_density(64) == 0.5 &&
		  gr_sparse_density(1000) == 0.032, "the density for sparse vectors");
	for (int i = 0; i < 4; i++)
	{
		uint32_t	entries[1024];
		int			nempty = 0;
		GrDraw		draw;
		GrError		err = {0};

		gr_draw_init(&draw, ks[i], 0, gr_sparse_density(ks[i]), &err);
		for (int64_t j = 0; j < 20000; j++)
			nempty += projection_reference_column(&draw, j, entries) == 0;
		check(nempty == 0, "k %d: every one of 20,000 features has a projection", ks[i]);
	}
}

static bool
is_invalid(int64_t k, double density)
{
	GrProjectionCache *cache = gr_projection_cache_create();
	GrDraw		draw;
	GrError		err = {0};
	GrError		open_err = {0};
	bool		result = !gr_draw_init(&draw, k, 0, density, &err) && err.status == GR_INVALID &&
		err.detail[0] != '\0' &&
		gr_projection_open(cache, k, 0, density, LARGE, &open_err) == NULL && open_err.status == GR_INVALID;

	gr_projection_cache_free(cache);
	return result;
}

static void
test_arguments(void)
{
	GrDraw		draw;
	GrError		err = {0};
	uint32_t	entries[100];

	check(is_invalid(0, 0.5) && is_invalid(-1, 0.5) && is_invalid(INT64_MIN, 1.0) &&
		  is_invalid(INT64_C(1) << 32, 0.5) &&
		  is_invalid((INT64_C(1) << 32) + 5, 0.5) && is_invalid(INT64_MAX, 0.5), "k out of range");
	check(is_invalid(5, 0.0) && is_invalid(5, -0.0) && is_invalid(5, -1.0) && is_invalid(5, 1.5) &&
		  is_invalid(5, 1 + 0x1p-52) &&
		  is_invalid(5, NAN) && is_invalid(5, INFINITY) && is_invalid(5, -INFINITY), "density out of range");
	check(gr_draw_init(&draw, 100, 0, 1e-310, &err) && draw.stratum_nrows == 100 && isfinite(draw.scale) &&
		  projection_reference_column(&draw, 5, entries) == 0 && gr_draw_init(&draw, 1, 0, 0x1p-1074, &err) &&
		  isfinite(draw.scale) &&
		  projection_reference_column(&draw, 5, entries) == 0, "the least densities");
	check(gr_draw_init(&draw, 100, 7, 0.25, &err) && draw.k == 100 && draw.seed == 7 && draw.stratum_nrows == 32 &&
		  draw.nstrata == 4 &&
		  draw.full.nrows == 32 && draw.last.nrows == 4 && draw.scale == 0.2, "strata");
	for (int k = 0; k < 4; k++)
	{
		static const int64_t dims[] = {INT64_MIN, 0, (int64_t) GR_MAX_DIM + 1, INT64_MAX};
		GrProjectOptions options = {.draw = &draw,.dim = dims[k],.block_nbytes = 1000};
		GrProject  *project;

		check(!gr_backend_cpu.projector->begin(NULL, &options, NULL, &project, &err) && err.status == GR_INVALID &&
			  project == NULL, "vectors of %lld elements", (long long) dims[k]);
		err = (GrError) {0};
	}
}

/*
 * Cancellation
 */

/* True if the host is polled at least that often; the host never stops. */
static void
test_polls(const char *name, Key key, int64_t dim, int64_t nvectors, size_t limit, bool sparse, int least)
{
	GrProjectionCache *cache = gr_projection_cache_create();
	float	   *x = make_vectors(EVEN, 0, nvectors, dim);
	float	   *y = malloc((size_t) (nvectors * key.k) * sizeof(float));
	int64_t    *idx = malloc((size_t) dim * sizeof(int64_t));
	double	   *val = malloc((size_t) dim * sizeof(double));
	int64_t		n = find_nonzeros(x, dim, idx, val);
	Stopper		stopper = {.stop_at = INT_MAX};
	GrHost		host = {.canceled = stop,.arg = &stopper};
	GrError		err = {0};
	GrProjection *projection = gr_projection_open(cache, key.k, key.seed, key.density, limit, &err);
	bool		done = sparse ? gr_projection_apply_sparse(projection, idx, val, n, y, &host, &err) :
		gr_projection_apply(projection, &(GrProjectVectors) {x, nvectors, dim}, y, &host, &err);

	if (!check(done && stopper.asked >= least, "polls: %s", name))
		printf("# %d times, and not %d\n", stopper.asked, least);
	free(x);
	free(y);
	free(idx);
	free(val);
	gr_projection_cache_free(cache);
}

/* Stops at every poll until a run comes to its end, whose bits must be right. */
static void
test_cancel(const char *name, Key key, int64_t dim, int64_t nvectors, size_t limit, bool sparse)
{
	GrProjectionCache *cache = gr_projection_cache_create();
	float	   *x = make_vectors(EVEN, 0, nvectors, dim);
	float	   *y = malloc((size_t) (nvectors * key.k) * sizeof(float));
	float	   *want = malloc((size_t) key.k * sizeof(float));
	int64_t    *idx = malloc((size_t) dim * sizeof(int64_t));
	double	   *val = malloc((size_t) dim * sizeof(double));
	int64_t		n = find_nonzeros(x, dim, idx, val);
	bool		good = true;
	bool		done = false;
	int			ncanceled = 0;
	GrDraw		draw;
	GrError		err = {0};

	while (good && !done)
	{
		Stopper		stopper = {.stop_at = ncanceled + 1};
		GrHost		host = {.canceled = stop,.arg = &stopper};
		GrProjection *projection = gr_projection_open(cache, key.k, key.seed, key.density, limit, &err);

		done = sparse ? gr_projection_apply_sparse(projection, idx, val, n, y, &host, &err) :
			gr_projection_apply(projection, &(GrProjectVectors) {x, nvectors, dim}, y, &host, &err);
		good = done ? err.status == GR_OK : err.status == GR_CANCELED && stopper.asked == stopper.stop_at;
		good = good && gr_projection_cache_nbytes(cache) <= limit;
		ncanceled += !done;
		memset(&err, 0, sizeof(err));
	}
	good = good && gr_draw_init(&draw, key.k, key.seed, key.density, &err);
	projection_reference(&draw, x, dim, want);
	check(good && ncanceled >= 3 && same(y, want, key.k), "canceled at each of %d places: %s", ncanceled, name);
	free(x);
	free(y);
	free(want);
	free(idx);
	free(val);
	gr_projection_cache_free(cache);
}

/*
 * Searches words for a row of 3 and a row of 6. A word w gives row floor(6 w / 2^32) and a sign; 2^32 = 4 modulo 6. So
 * of the words whose 6 w is below 6 modulo 2^32 the one with rest 4 is accepted, and those with rest 0 or 2 are not
 * (Lemire 2019).
 */
static void
test_words_taken(void)
{
	static const struct
	{
		uint32_t	word;
		bool		taken;
		uint32_t	row;
	}			words[] = {
		{0, false, 0}, {715827883, false, 0}, {1431655766, true, 1}, {2147483648u, false, 0}, {2863311531u, false, 0},
		{3579139414u, true, 2}, {715827882, true, 0}, {4294967295u, true, 2}
	};

	for (int k = 0; k < COUNT(words); k++)
	{
		uint32_t	entries[1] = {99};
		uint64_t	seen = 0;
		bool		taken = gr_draw_entry(words[k].word, 0, 2, entries, 0, 1, &seen);

		check(taken == words[k].taken && (!taken || (entries[0] & ~GR_ENTRY_SIGN) == words[k].row), "the word %u",
			  words[k].word);
	}
}

int
main(void)
{
	srandom(3);
	test_data();
	test_murmur3();
	test_shapes();
	test_sparse();
	test_order();
	test_special_values();
	test_distances(EVEN, 10000, gr_dense_density(10000), false);
	test_distances(EVEN, 1000, 1.0, false);
	test_distances(SPARSE, 3000, gr_sparse_density(550), true);
	test_densities();
	test_arguments();
	test_kept();
	test_growth();
	test_kept_columns();
	test_many();
	test_recency();
	test_drawn_again();
	test_cancel("drawing what is kept", (Key) {500, 1, 0.125}, 65000, 1, LARGE, false);
	test_cancel("density 1", (Key) {500, 1, 1.0}, 5000, 9, LARGE, false);
	test_cancel("nothing kept", (Key) {500, 1, 0.125}, 65000, 9, 0, false);
	test_cancel("a sparse vector", (Key) {500, 1, 0.125}, 65000, 1, LARGE, true);
	test_cancel("many rows", (Key) {4000000, 1, 1e-6}, 20, 1, LARGE, false);
	test_cancel("many rows, several vectors", (Key) {800000, 1, 1e-6}, 20, 3, LARGE, false);
	test_cancel("many rows, nothing kept", (Key) {4000000, 1, 1e-6}, 20, 1, 0, false);
	test_cancel("many rows, a sparse vector", (Key) {4000000, 1, 1e-6}, 20, 1, LARGE, true);
	test_polls("drawing what is kept", (Key) {1000, 1, 0.125}, 65000, 1, LARGE, false, 25);
	test_polls("a kept chunk", (Key) {2000, 1, 0.125}, 20000, 9, LARGE, false, 30);
	test_polls("many rows", (Key) {4000000, 1, 1e-6}, 20, 1, LARGE, false, 8);
	test_polls("many rows, several vectors", (Key) {800000, 1, 1e-6}, 20, 3, LARGE, false, 10);
	test_polls("many rows, nothing kept", (Key) {4000000, 1, 1e-6}, 20, 1, 0, false, 10);
	test_polls("many rows, a sparse vector", (Key) {4000000, 1, 1e-6}, 20, 1, LARGE, true, 3);
	test_polls("the table of columns", (Key) {100, 1, 0.125}, 400000, 1, LARGE, true, 12);
	test_law();
	test_words_taken();
	test_outcomes();
	return unit_done();
}
