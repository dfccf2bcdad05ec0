/*
 * meat.c: the middle of sandwich covariances of a fit to projected columns; see meat.h.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compute/effects/meat.h"

/* Rows whose products are summed before they are added to the rest, which keeps digits. */
#define BLOCK 64

void
gr_effect_residuals(const GrEffectRows *rows, const double *coef, double *e)
{
	int			k = rows->ncols - 1;

	for (int64_t r = 0; r < rows->nrows; r++)
	{
		const double *x = rows->values + r * rows->stride;
		double		sum = x[k];

		for (int c = 0; c < k; c++)
			if (!isnan(coef[c]))
				sum -= coef[c] * x[c];
		e[r] = sum;
	}
}

/* Adds n vectors' products to meat's lower triangle. weight: of each vector; NULL: 1. block: k x k of room */
static void
add_products(const double *s, int64_t n, int stride, const double *weight, int k, double *meat, double *block)
{
	memset(block, 0, (size_t) k * (size_t) k * sizeof(double));
	for (int64_t r = 0; r < n; r++)
	{
		const double *v = s + r * stride;

		for (int i = 0; i < k; i++)
		{
			double		u = (weight == NULL ? 1.0 : weight[r]) * v[i];

			for (int j = 0; j <= i; j++)
				block[(int64_t) i * k + j] += u * v[j];
		}
	}
	for (int i = 0; i < k; i++)
		for (int j = 0; j <= i; j++)
			meat[(int64_t) i * k + j] += block[(int64_t) i * k + j];
}

static void
mirror(double *meat, int k)
{
	for (int i = 0; i < k; i++)
		for (int j = 0; j < i; j++)
			meat[(int64_t) j * k + i] = meat[(int64_t) i * k + j];
}

/* Sums products of all vectors, BLOCK at a time. Returns false if the host asked to stop. */
static bool
sum_products(const double *s, int64_t n, int stride, const double *weight, int k, double *meat, double *block,
			 const GrHost *host)
{
	GrPoll		poll = {.host = host};

	for (int64_t r = 0; r < n; r += BLOCK)
	{
		int64_t		m = n - r < BLOCK ? n - r : BLOCK;

		add_products(s + r * stride, m, stride, weight == NULL ? NULL : weight + r, k, meat, block);
		if (gr_poll(&poll, m * k * (k + 1) / 2))
			return false;
	}
	mirror(meat, k);
	return true;
}

/* Rows, each by itself */
static bool
sum_rows(const GrEffectRows *rows, const double *e, double *meat, double *block, const GrHost *host, GrError *err)
{
	int			k = rows->ncols - 1;
	double	   *s = malloc((size_t) BLOCK * (size_t) k * sizeof(double));
	GrPoll		poll = {.host = host};
	bool		ok = s != NULL || gr_fail(err, GR_NO_MEMORY, GR_NO_COLUMN, "scores");

	for (int64_t from = 0; ok && from < rows->nrows; from += BLOCK)
	{
		int64_t		n = rows->nrows - from < BLOCK ? rows->nrows - from : BLOCK;

		for (int64_t r = 0; r < n; r++)
		{
			const double *x = rows->values + (from + r) * rows->stride;
			double		w = rows->weights == NULL || rows->counts ? 1.0 : rows->weights[from + r];

			for (int c = 0; c < k; c++)
				s[r * k + c] = w * e[from + r] * x[c];
		}
		add_products(s, n, k, rows->counts && rows->weights != NULL ? rows->weights + from : NULL, k, meat, block);
		if (gr_poll(&poll, n * k * (k + 1) / 2))
			ok = gr_fail(err, GR_CANCELED, GR_NO_COLUMN, "scores");
	}
	free(s);
	mirror(meat, k);
	return ok;
}

/* A pair of clusters and the row that has it, for sorting */
typedef struct Pair
{
	int64_t		key;
	int64_t		row;
} Pair;

static int
compare_pairs(const void *a, const void *b)
{
	const Pair *x = a;
	const Pair *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return (x->row > y->row) - (x->row < y->row);
}

/* Returns a code for each row's pair of clusters, for the caller to free; NULL: no memory */
static int32_t *
pair_codes(const GrEffectRows *rows, int32_t *nlevels)
{
	Pair	   *pair = malloc(((size_t) rows->nrows + 1) * sizeof(Pair));
	int32_t    *code = malloc(((size_t) rows->nrows + 1) * sizeof(int32_t));
	int32_t		n = -1;

	if (pair == NULL || code == NULL)
	{
		free(pair);
		free(code);
		return NULL;
	}
	for (int64_t r = 0; r < rows->nrows; r++)
		pair[r] = (Pair) {(int64_t) rows->cluster[0][r] * rows->cluster_nlevels[1] + rows->cluster[1][r], r};
	qsort(pair, (size_t) rows->nrows, sizeof(Pair), compare_pairs);
	for (int64_t r = 0; r < rows->nrows; r++)
	{
		if (r == 0 || pair[r].key != pair[r - 1].key)
			n++;
		code[pair[r].row] = n;
	}
	free(pair);
	*nlevels = n + 1;
	return code;
}

/* Clusters: scores are summed first */
static bool
sum_clusters(const GrEffectRows *rows, const double *e, const int32_t *code, int32_t n, double *meat, double *block,
			 const GrHost *host, GrError *err)
{
	int			k = rows->ncols - 1;
	double	   *s = calloc((size_t) n * (size_t) k + 1, sizeof(double));
	bool		ok;

	if (s == NULL)
		return gr_fail(err, GR_NO_MEMORY, GR_NO_COLUMN, "clusters");
	for (int64_t r = 0; r < rows->nrows; r++)
	{
		const double *x = rows->values + r * rows->stride;
		double	   *to = s + (int64_t) code[r] * k;
		double		u = (rows->weights == NULL ? 1.0 : rows->weights[r]) * e[r];

		for (int c = 0; c < k; c++)
			to[c] += u * x[c];
	}
	ok = sum_products(s, n, k, NULL, k, meat, block, host) || gr_fail(err, GR_CANCELED, GR_NO_COLUMN, "clusters");
	free(s);
	return ok;
}

bool
gr_effect_meat(const GrEffectRows *rows, const double *e, GrMeatWay way, double *meat, int64_t *nclusters,
			   const GrHost *host, GrError *err)
{
	size_t		k = (size_t) rows->ncols - 1;
	double	   *block = malloc((k * k + 1) * sizeof(double));
	int32_t		nlevels = 0;
	int32_t    *pairs = NULL;
	bool		ok = block != NULL;

	memset(meat, 0, k * k * sizeof(double));
	if (ok && way == GR_MEAT_BOTH)
		ok = (pairs = pair_codes(rows, &nlevels)) != NULL;
	if (!ok)
		gr_fail(err, GR_NO_MEMORY, GR_NO_COLUMN, "clusters");
	else if (way == GR_MEAT_ROWS)
		ok = sum_rows(rows, e, meat, block, host, err);
	else
	{
		int			c = way == GR_MEAT_SECOND ? 1 : 0;

		nlevels = pairs == NULL ? rows->cluster_nlevels[c] : nlevels;
		ok = sum_clusters(rows, e, pairs == NULL ? rows->cluster[c] : pairs, nlevels, meat, block, host, err);
	}
	*nclusters = nlevels;
	free(block);
	free(pairs);
	return ok;
}

void
gr_effect_sandwich(const double *bread, const double *meat, int k, double factor, bool add, double *vcov, double *work)
{
	for (int64_t i = 0; i < k; i++)
		for (int64_t j = 0; j < k; j++)
		{
			double		sum = 0;

			for (int64_t l = 0; l < k; l++)
				if (!isnan(bread[l * k + l]))
					sum += bread[i * k + l] * meat[l * k + j];
			work[i * k + j] = sum;
		}
	for (int64_t i = 0; i < k; i++)
		for (int64_t j = 0; j <= i; j++)
		{
			double		sum = 0;

			for (int64_t l = 0; l < k; l++)
				if (!isnan(bread[l * k + l]))
					sum += work[i * k + l] * bread[l * k + j];
			if (isnan(bread[i * k + i]) || isnan(bread[j * k + j]))
				sum = NAN;
			vcov[i * k + j] = (add ? vcov[i * k + j] : 0) + factor * sum;
			vcov[j * k + i] = vcov[i * k + j];
		}
}
