/*
 * projection_data.h: shared by the tests of random projection: test/data/projection.csv, the vectors that its recipes
 * make, hashes, and slow but plain sums.
 */
#ifndef GPUREG_PROJECTION_DATA_H
#define GPUREG_PROJECTION_DATA_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compute/project/chunks.h"
#include "compute/project/sparse.h"
#include "projection_reference.h"

/* Recipes for vectors; the first four are those of projection_reference.py. TINY is denormal. */
typedef enum Recipe
{
	EVEN,
	MIXED,
	CANCEL,
	SPARSE,
	TINY,
	NRECIPES
} Recipe;

static const char *const recipe_names[NRECIPES] = {"even", "mixed", "cancel", "sparse", "tiny"};

/* Returns entry j of vector v; the file's vectors are v = 0. */
static inline float
recipe_value(Recipe recipe, int64_t j, uint32_t v)
{
	GrPhilox	counter = {{(uint32_t) j, (uint32_t) ((uint64_t) j >> 32), v, 0}};
	GrPhilox	words = gr_philox(counter, 0x78, 0);
	double		m = (double) (words.word[0] >> 8) - 0x1p23;

	switch (recipe)
	{
		case EVEN:
			return (float) (m * 0x1p-23);
		case MIXED:
			return (float) ldexp(m, (int) (words.word[1] % 201) - 123);
		case CANCEL:
			if (words.word[1] % 64 == 0)
				return words.word[2] & 1 ? -0x1p60f : 0x1p60f;
			return (float) (m * 0x1p-14);
		case SPARSE:
			return words.word[1] % 16 == 0 ? (float) (m * 0x1p-23) : words.word[1] % 16 == 1 ? -0.0f : 0.0f;
		default:
			return (float) (m * 0x1p-149);
	}
}

/* Makes nvectors vectors of length dim, row-major, from vector first on; the caller frees them. */
static inline float *
make_vectors(Recipe recipe, uint32_t first, int64_t nvectors, int64_t dim)
{
	float	   *x = malloc((size_t) (nvectors * dim) * sizeof(float));

	for (int64_t v = 0; v < nvectors; v++)
		for (int64_t j = 0; j < dim; j++)
			x[v * dim + j] = recipe_value(recipe, j, first + (uint32_t) v);
	return x;
}

#define FNV_START UINT64_C(0xcbf29ce484222325)

/* Hashes nbytes of word with FNV-1a, the lowest byte first. */
static inline uint64_t
fnv_add(uint64_t hash, uint64_t word, int nbytes)
{
	for (int i = 0; i < nbytes; i++)
		hash = (hash ^ (word >> (8 * i) & 0xff)) * UINT64_C(0x100000001b3);
	return hash;
}

static inline int
compare_rows(const void *a, const void *b)
{
	uint32_t	left = *(const uint32_t *) a & ~GR_ENTRY_SIGN;
	uint32_t	right = *(const uint32_t *) b & ~GR_ENTRY_SIGN;

	return left < right ? -1 : left > right;
}

/* Draws column j, sorted by row. Returns the number of entries, or -1 if a row occurs twice or is out of range. */
static inline int
sorted_column(const GrDraw *draw, int64_t j, uint32_t *entries)
{
	int			n = projection_reference_column(draw, j, entries);

	qsort(entries, (size_t) n, sizeof(uint32_t), compare_rows);
	for (int m = 0; m < n; m++)
		if ((entries[m] & ~GR_ENTRY_SIGN) >= (uint32_t) draw->k ||
			(m > 0 && compare_rows(&entries[m - 1], &entries[m]) == 0))
			return -1;
	return n;
}

/* Allocates room for a column: k entries, or the most that k strata can have if k is huge. */
static inline uint32_t *
column_buffer(const GrDraw *draw)
{
	size_t		n = (size_t) draw->nstrata * GR_DRAW_MAX;

	return malloc((draw->density == 1.0 || n > (size_t) draw->k ? (size_t) draw->k : n) * sizeof(uint32_t));
}

/*
 * Computes y from columns idx, in the given order; in ascending order the sums are projection.h's. chunked: in chunks.
 */
static inline void
plain_sums(const GrDraw *draw, const int64_t *idx, const double *val, int64_t n, bool chunked, float *y)
{
	double	   *total = calloc((size_t) draw->k, sizeof(double));
	double	   *part = calloc((size_t) draw->k, sizeof(double));
	uint32_t   *entries = column_buffer(draw);

	for (int64_t c = 0; c < n; c++)
	{
		int			count = projection_reference_column(draw, idx[c], entries);

		for (int m = 0; m < count; m++)
			part[entries[m] & ~GR_ENTRY_SIGN] += entries[m] & GR_ENTRY_SIGN ? -val[c] : val[c];
		if (c + 1 < n && (!chunked || idx[c] / GR_CHUNK_NCOLS == idx[c + 1] / GR_CHUNK_NCOLS))
			continue;
		for (int i = 0; i < draw->k; i++)
		{
			total[i] += part[i];
			part[i] = 0.0;
		}
	}
	for (int i = 0; i < draw->k; i++)
		y[i] = (float) (total[i] * draw->scale);
	free(total);
	free(part);
	free(entries);
}

/* Collects the nonzeros of a vector; idx and val have room for dim. */
static inline int64_t
find_nonzeros(const float *x, int64_t dim, int64_t *idx, double *val)
{
	int64_t		n = 0;

	for (int64_t j = 0; j < dim; j++)
		if (x[j] != 0.0f)
		{
			idx[n] = j;
			val[n++] = x[j];
		}
	return n;
}

/* The arguments that S depends on */
typedef struct Key
{
	int64_t		k;
	uint64_t	seed;
	double		density;
} Key;

/* Computes y from x by the cache; false if that fails. */
static inline bool
apply(GrProjectionCache *cache, size_t limit, Key key, int lanes, const float *x, int64_t nvectors, int64_t dim,
	  float *y)
{
	const GrProjectVectors vectors = {x, nvectors, dim};
	GrError		err = {0};
	GrProjection *projection = gr_projection_open(cache, key.k, key.seed, key.density, limit, &err);

	memset(y, 0x55, (size_t) (nvectors * key.k) * sizeof(float));
	return projection != NULL &&
		gr_projection_apply_lanes(projection, &vectors, y, lanes, NULL, &err) && err.status == GR_OK;
}

static inline bool
apply_sparse(GrProjectionCache *cache, size_t limit, Key key, const int64_t *idx, const double *val, int64_t n,
			 float *y)
{
	GrError		err = {0};
	GrProjection *projection = gr_projection_open(cache, key.k, key.seed, key.density, limit, &err);

	memset(y, 0x55, (size_t) key.k * sizeof(float));
	return projection != NULL && gr_projection_apply_sparse(projection, idx, val, n, y, NULL, &err) &&
		err.status == GR_OK;
}

static inline bool
same(const float *a, const float *b, int64_t n)
{
	return memcmp(a, b, (size_t) n * sizeof(float)) == 0;
}

/*
 * Makes a vector whose sums depend on their order as much as possible: equal columns that are half of the vector apart
 * get 2^60 and -2^60, until every row has such a pair; the others get little.
 */
static inline float *
make_sensitive(const GrDraw *draw, int64_t dim)
{
	float	   *x = make_vectors(CANCEL, 0, 1, dim);
	uint64_t   *hashes = malloc((size_t) dim * sizeof(uint64_t));
	uint32_t   *entries = column_buffer(draw);
	bool	   *covered = calloc((size_t) draw->k, sizeof(bool));

	for (int64_t j = 0; j < dim; j++)
	{
		int			n = sorted_column(draw, j, entries);

		hashes[j] = FNV_START;
		for (int m = 0; m < n; m++)
			hashes[j] = fnv_add(hashes[j], entries[m], 4);
		x[j] = fabsf(x[j]) == 0x1p60f ? 300.0f : x[j];
	}
	for (int64_t j = 0; j < dim / 2; j++)
	{
		int			n = sorted_column(draw, j, entries);
		int64_t		other = j + dim / 2;
		bool		useful = false;

		for (int m = 0; m < n; m++)
			useful = useful || !covered[entries[m] & ~GR_ENTRY_SIGN];
		while (useful && other < dim && (hashes[other] != hashes[j] || fabsf(x[other]) == 0x1p60f))
			other++;
		if (!useful || other == dim)
			continue;
		x[j] = 0x1p60f;
		x[other] = -0x1p60f;
		for (int m = 0; m < n; m++)
			covered[entries[m] & ~GR_ENTRY_SIGN] = true;
	}
	free(hashes);
	free(entries);
	free(covered);
	return x;
}

/* A line of projection.csv */
typedef struct DataRow
{
	const char *kind;
	int64_t		k;
	uint64_t	seed;
	double		density;
	int64_t		n;
	const char *recipe;
	char	   *values;
} DataRow;

#define DATA_PATH "test/data/projection.csv"
#define DATA_HEADER "kind,k,seed,density,n,recipe,values"

static inline bool
parse_row(char *line, DataRow *row)
{
	char	   *field[7];

	line[strcspn(line, "\n")] = '\0';
	for (int i = 0; i < 7; i++)
		if ((field[i] = strsep(&line, ",")) == NULL)
			return false;
	row->kind = field[0];
	row->k = strtoll(field[1], NULL, 10);
	row->seed = (uint64_t) strtoll(field[2], NULL, 10);
	row->density = strtod(field[3], NULL);
	row->n = strtoll(field[4], NULL, 10);
	row->recipe = field[5];
	row->values = field[6];
	return line == NULL;
}

/* Reads the next of the words of *values in base 16 or 10; false at the end. */
static inline bool
next_value(char **values, int base, int64_t *value)
{
	char	   *word = strsep(values, " ");

	if (word == NULL || *word == '\0')
		return false;
	/* "-0" is possible: a sign for row 0 */
	*value = base == 16 ? (int64_t) strtoull(word, NULL, 16) :
		strtoll(word + 1, NULL, 10) | (*word == '-' ? GR_ENTRY_SIGN : 0);
	return true;
}

/*
 * Calls take, which returns false for a wrong line, with every line whose kind begins so. Returns how many lines, or -1
 * if any is wrong.
 */
static inline int
check_data(bool (*take) (DataRow *row, void *arg), void *arg, const char *kind)
{
	FILE	   *file = fopen(DATA_PATH, "r");
	char	   *line = NULL;
	size_t		size = 0;
	int			n = 0;
	int			nwrong = 0;

	if (file == NULL)
		return -1;
	if (getline(&line, &size, file) < 0 || strcmp(line, DATA_HEADER "\n") != 0)
		nwrong++;
	while (nwrong < 5 && getline(&line, &size, file) > 0)
	{
		DataRow		row;
		bool		good = parse_row(line, &row);

		if (good && strncmp(row.kind, kind, strlen(kind)) != 0)
			continue;
		n++;
		if (good && take(&row, arg))
			continue;
		nwrong++;
		if (good)
			printf("# %s: k %lld, seed %lld, density %.17g, n %lld %s\n", row.kind, (long long) row.k,
				   (long long) row.seed, row.density,
				   (long long) row.n, row.recipe);
	}
	fclose(file);
	free(line);
	return nwrong == 0 ? n : -1;
}

#endif							/* GPUREG_PROJECTION_DATA_H */
