/*
 * boot_rows.h: makes rows for the bootstrap's tests, and computes a pass's sums by plain loops in long double.
 */
#ifndef GPUREG_BOOT_ROWS_H
#define GPUREG_BOOT_ROWS_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compute/resample/boot.h"
#include "compute/resample/boot_draw.h"
#include "compute/resample/flip_draw.h"

/* A pass and its rows; owns rows, and numbers, which the pass points to. */
typedef struct BootRows
{
	GrBootPass	pass;
	int64_t		nrows;
	double	   *rows;
	double	   *numbers;
} BootRows;

static inline double
boot_random(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (double) (int64_t) *state * 0x1p-63;
}

/* Makes random rows, with coefficients that fit nothing, as a pass needs no fit. Each key occurs twice, from -7 on. */
static inline BootRows
boot_rows_make(int64_t nrows, int nfeatures, int nreps, int64_t first, GrFamily family, bool weights)
{
	size_t		t = (size_t) nfeatures + 1;
	uint64_t	state = (uint64_t) nrows * 31 + (uint64_t) nfeatures;
	BootRows	made = {};
	GrBootPass *pass = &made.pass;
	double	   *at;
	double	   *factor;
	double	   *influence;

	pass->shape.nfeatures = nfeatures;
	pass->shape.weight = weights;
	pass->shape.key = true;
	pass->distribution.family = family;
	pass->distribution.link = family == GR_BINOMIAL ? GR_LOGIT : GR_IDENTITY;
	pass->nactive = (int) t;
	pass->seed = UINT64_C(0x9876543210ABCDEF);
	pass->first = first;
	pass->nreps = nreps;
	pass->ninfluence = 3;
	made.nrows = nrows;
	made.numbers = (double *) calloc(3 * t + t * t + 3 * t, sizeof(double));
	pass->beta = at = made.numbers;
	for (size_t j = 0; j < 3 * t; j++)
		at[j] = (j / t == 1 ? 1e-17 : 0.3) * boot_random(&state);
	pass->beta_lo = at + t;
	pass->shift = at + 2 * t;
	pass->factor = factor = at + 3 * t;
	pass->influence = influence = factor + t * t;
	for (size_t i = 0; i < t; i++)
		for (size_t j = 0; j <= i; j++)
			factor[i * t + j] = (i == j ? 2 : 0.1 * boot_random(&state)) / sqrt((double) nrows);
	for (size_t k = 0; k < 3 * t; k++)
		influence[k] = boot_random(&state);
	made.rows = at = (double *) malloc(sizeof(double) * (size_t) nrows * (size_t) gr_row_ncols(pass->shape));
	for (int64_t r = 0; r < nrows; r++)
	{
		for (int j = 0; j < nfeatures; j++)
			*at++ = boot_random(&state);
		*at++ = family == GR_BINOMIAL ? (double) (boot_random(&state) > 0) : boot_random(&state);
		if (weights)
			*at++ = 1.5 + boot_random(&state);
		*at++ = (double) (r / 2 - 7);
	}
	return made;
}

static inline void
boot_rows_free(BootRows *made)
{
	free(made->rows);
	free(made->numbers);
}

/* Computes q and v of a row: q[0 .. nactive - 1] and q[nactive]. */
static inline void
boot_row_wanted(const GrBootPass *pass, const double *row, long double *q)
{
	int			p = pass->shape.nfeatures;
	long double weight = pass->shape.weight ? row[p + 1] : 1.0L;
	long double eta = (long double) pass->beta[0] + pass->beta_lo[0];
	long double u = sqrtl(weight);
	long double rest;

	for (int j = 0; j < p; j++)
		eta += ((long double) pass->beta[j + 1] + pass->beta_lo[j + 1]) * ((long double) row[j] - pass->shift[j]);
	rest = row[p] - eta;
	if (pass->distribution.family == GR_BINOMIAL)
	{
		long double mu = 1 / (1 + expl(-eta));

		u *= sqrtl(mu * (1 - mu));
		rest = (row[p] - mu) / (mu * (1 - mu));
	}
	for (int i = 0; i < pass->nactive; i++)
	{
		const double *line = pass->factor + (size_t) i * (size_t) (p + 1);

		q[i] = line[0];
		for (int j = 0; j < p; j++)
			q[i] += (long double) line[j + 1] * ((long double) row[j] - pass->shift[j]);
		q[i] *= u;
	}
	q[pass->nactive] = u * rest;
}

/* Adds a row's products to each replicate's sums, or its influence if there are no replicates. */
static inline void
boot_add_wanted(const GrBootPass *pass, const long double *q, int64_t key, long double *sums)
{
	int			n = pass->nactive;

	for (int k = 0; k < pass->ninfluence && pass->nreps == 0; k++)
	{
		long double value = 0;

		for (int j = 0; j < n; j++)
			value += pass->influence[k * n + j] * q[j];
		value *= q[n];
		sums[GR_BOOT_HEAD + k] += value * value;
		sums[GR_BOOT_HEAD + pass->ninfluence + k] += value * value * value;
	}
	for (int r = 0; r < pass->nreps; r++)
	{
		int64_t		number = pass->first + r;
		long double *at = sums + GR_BOOT_HEAD + r;
		int			count = gr_boot_count(gr_boot_words(pass->seed, key, (uint32_t) (number / 4)).word[number % 4]);

		if (pass->flips)
		{
			GrPhilox	words = gr_flip_words(pass->seed, key, (uint32_t) (number / 128));

			count = (int) gr_flip_sign(words.word[number % 128 / 32], (int) (number % 32));
		}
		for (int i = 0; i <= n; i++)
			for (int j = 0; j <= i && j < n; j++, at += pass->nreps)
				*at += count * q[i] * q[j];
	}
}

static inline double *
boot_sums_wanted(const BootRows *made)
{
	const GrBootPass *pass = &made->pass;
	size_t		n = gr_boot_nsums(pass);
	int			ncols = gr_row_ncols(pass->shape);
	long double *sums = (long double *) calloc(n, sizeof(long double));
	long double *q = (long double *) calloc((size_t) pass->nactive + 1, sizeof(long double));
	double	   *result = (double *) malloc(sizeof(double) * n);

	for (int64_t r = 0; r < made->nrows; r++)
	{
		const double *row = made->rows + r * ncols;

		boot_row_wanted(pass, row, q);
		boot_add_wanted(pass, q, (int64_t) row[ncols - 1], sums);
		sums[0] += 1;
	}
	for (size_t k = 0; k < n; k++)
		result[k] = (double) sums[k];
	free(sums);
	free(q);
	return result;
}

/* Returns the largest difference relative to 1 + |want|, as products of q sum to about 1 without draws. */
static inline double
boot_worst(const double *got, const double *want, size_t n)
{
	double		worst = 0;

	for (size_t k = 0; k < n; k++)
	{
		double		d = fabs(got[k] - want[k]) / (1 + fabs(want[k]));

		worst = d <= worst ? worst : d;
		if (d != d)
			return INFINITY;
	}
	return worst;
}

/*
 * Returns the largest entry, times B, of replicate r's gradient after a step of delta: the sum of w q (v - u z'delta),
 * where z is the row's own terms.
 */
static inline double
boot_rest(const BootRows *made, int64_t r, const double *delta)
{
	const GrBootPass *pass = &made->pass;
	int			ncols = gr_row_ncols(pass->shape);
	int			p = pass->shape.nfeatures;
	long double *q = (long double *) calloc((size_t) pass->nactive + 1, sizeof(long double));
	long double *sums = (long double *) calloc((size_t) pass->nactive, sizeof(long double));
	double		worst = 0;

	for (int64_t k = 0; k < made->nrows; k++)
	{
		const double *row = made->rows + k * ncols;
		long double step = delta[0];
		int			count = gr_boot_count(gr_boot_words(pass->seed, (int64_t) row[ncols - 1],
														(uint32_t) (r / 4)).word[r % 4]);

		boot_row_wanted(pass, row, q);
		for (int j = 0; j < p; j++)
			step += (long double) delta[j + 1] * ((long double) row[j] - pass->shift[j]);
		step *= sqrtl(pass->shape.weight ? row[p + 1] : 1.0L);
		for (int i = 0; i < pass->nactive; i++)
			sums[i] += count * q[i] * (q[pass->nactive] - step);
	}
	for (int i = 0; i < pass->nactive; i++)
		worst = fmax(worst, (double) fabsl(sums[i]));
	free(q);
	free(sums);
	return worst;
}

#endif							/* GPUREG_BOOT_ROWS_H */
