/*
 * effects_test.c: absorbed effects on random designs: the rank of the dummies against elimination modulo a prime,
 * projections against what a projection is, and conjugate gradients against elimination.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compute/effects/schur.h"
#include "unit.h"

#define NROWS_MAX 1200
#define NLEVELS_MAX 600
#define NSMALL 400				/* rows of most designs */
#define NCOLS 3
#define PRIME 2147483647u
#define NDESIGNS 300
#define NLARGE 12				/* designs whose elimination is sparse at first */

static uint64_t state = 88172645463325252u;

/* Returns the next number of an xorshift generator (Marsaglia 2003), below n. */
static uint32_t
draw(uint32_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t) (state >> 20) % n;
}

/* A design and its values; large, so static */
typedef struct Design
{
	GrEffectRows rows;
	int32_t		code[GR_EFFECTS_MAX][NROWS_MAX];
	double		values[NROWS_MAX * 4];
	double		before[NROWS_MAX * 4];
	double		weights[NROWS_MAX];
} Design;

static Design design;

/* Draws the codes of factor f: crossed, nested in an earlier factor, in a ring, or in blocks */
static void
draw_factor(Design *d, int f, int64_t nrows)
{
	uint32_t	n = 1 + draw(f == 0 ? 60 : 20);
	int			kind = (int) draw(5);

	for (int64_t r = 0; r < nrows; r++)
		d->code[f][r] = kind == 0 && f > 0 ? d->code[f - 1][r] / 3 : kind == 1 ? (int32_t) (r % n) :
			kind == 2 ? (int32_t) r / (int32_t) (1 + n % 7) : (int32_t) draw(n);
}

/* Draws the codes of factor f of a large design: levels with few rows, whose graph has chains */
static void
draw_long_factor(Design *d, int f, int64_t nrows)
{
	uint32_t	n = f == 0 ? NLEVELS_MAX : 100 + draw(200);
	uint32_t	noise = draw(3);

	for (int64_t r = 0; r < nrows; r++)
		d->code[f][r] = f == 0 ? (int32_t) (r / 2) : f == 3 ? (int32_t) (r % 5) :
			(int32_t) ((r + (draw(10) < noise ? draw(n) : 0)) % n);
}

static void
draw_design(Design *d, bool large)
{
	int64_t		nrows = large ? NROWS_MAX : 3 + draw(NSMALL - 3);

	memset(&d->rows, 0, sizeof(d->rows));
	d->rows.nrows = nrows;
	d->rows.ncols = NCOLS;
	d->rows.stride = gr_effect_stride(NCOLS);
	d->rows.values = d->values;
	d->rows.weights = draw(2) ? d->weights : NULL;
	d->rows.nfactors = (large ? 2 : 1) + (int) draw(large ? 3 : 4);
	for (int f = 0; f < d->rows.nfactors; f++)
	{
		if (large)
			draw_long_factor(d, f, nrows);
		else
			draw_factor(d, f, nrows);
		d->rows.code[f] = d->code[f];
		d->rows.nlevels[f] = NLEVELS_MAX;
	}
	memset(d->values, 0, sizeof(d->values));
	for (int64_t r = 0; r < nrows; r++)
	{
		d->weights[r] = 0.1 + draw(1000) / 300.0;
		for (int c = 0; c < NCOLS; c++)
			d->values[r * 4 + c] = (c == 1 ? 1e6 : 0) + draw(1000000) / 1e5;
	}
}

/* Returns a to the power of n modulo the prime. */
static uint64_t
power(uint64_t a, uint32_t n)
{
	uint64_t	p = 1;

	for (; n > 0; n >>= 1, a = a * a % PRIME)
		if (n & 1)
			p = p * a % PRIME;
	return p;
}

/* Returns the rank of the dummies modulo the prime. */
static int
rank_of(const Design *d)
{
	static uint64_t row[NROWS_MAX][NLEVELS_MAX * 3];
	int			base[GR_EFFECTS_MAX];
	int			n = 0;
	int			rank = 0;

	for (int f = 0; f < d->rows.nfactors; f++)
	{
		base[f] = n;
		n += d->rows.nlevels[f];
	}
	for (int64_t r = 0; r < d->rows.nrows; r++)
	{
		memset(row[r], 0, (size_t) n * sizeof(uint64_t));
		for (int f = 0; f < d->rows.nfactors; f++)
			row[r][base[f] + d->code[f][r]] = 1;
	}
	for (int c = 0; c < n && rank < d->rows.nrows; c++)
	{
		int64_t		p = rank;

		while (p < d->rows.nrows && row[p][c] == 0)
			p++;
		if (p == d->rows.nrows)
			continue;
		for (int k = 0; k < n; k++)
		{
			uint64_t	t = row[p][k];

			row[p][k] = row[rank][k];
			row[rank][k] = t;
		}
		for (int64_t r = rank + 1; r < d->rows.nrows; r++)
		{
			uint64_t	factor = row[r][c] * power(row[rank][c], PRIME - 2) % PRIME;

			for (int k = c; factor != 0 && k < n; k++)
				row[r][k] = (row[r][k] + (PRIME - factor) * row[rank][k]) % PRIME;
		}
		rank++;
	}
	return rank;
}

/* Returns the largest mean of a projected column over a level, in units of the column's size. */
static double
largest_mean(const Design *d)
{
	double		largest = 0;

	for (int c = 0; c < NCOLS; c++)
		for (int f = 0; f < d->rows.nfactors; f++)
			for (int32_t l = 0; l < d->rows.nlevels[f]; l++)
			{
				double		sum = 0;
				double		weights = 0;

				for (int64_t r = 0; r < d->rows.nrows; r++)
					if (d->code[f][r] == l)
					{
						double		w = d->rows.weights == NULL ? 1 : d->weights[r];

						sum += w * d->values[r * 4 + c];
						weights += w;
					}
				largest = fmax(largest, fabs(sum / weights) / 10);
			}
	return largest;
}

/* What went wrong in any design */
typedef struct Faults
{
	int			ranks;
	int			bounds;
	double		mean;			/* largest mean of a level after projection */
	double		apart;			/* largest difference of conjugate gradients and elimination */
	int			nfactored;
	int			nsparse;		/* designs whose S had levels eliminated sparsely */
} Faults;

/* Projects the design's values by elimination and, if there is an S, by conjugate gradients. */
static void
test_design(Design *d, Faults *faults)
{
	GrEffects	effects;
	GrEffectColumn column[NCOLS];
	GrError		err = {0};
	static double direct[NROWS_MAX * 4];
	bool		ok = gr_effects_open(&effects, &d->rows, NULL, &err);

	memcpy(d->before, d->values, sizeof(d->values));
	faults->ranks += !ok || effects.df != rank_of(d);
	faults->bounds += effects.df_is_bound;
	ok = ok && gr_effects_project(&effects, d->values, column, NULL, &err);
	faults->mean = fmax(faults->mean, ok ? largest_mean(d) : INFINITY);
	if (ok && effects.schur != NULL)
	{
		memcpy(direct, d->values, sizeof(direct));
		memcpy(d->values, d->before, sizeof(direct));
		faults->nfactored += effects.schur->factored;
		faults->nsparse += effects.schur->rank > effects.schur->dense.rank;
		effects.schur->factored = false;
		ok = gr_effects_project(&effects, d->values, column, NULL, &err);
		for (int64_t k = 0; k < d->rows.nrows * 4; k++)
			faults->apart = fmax(faults->apart, fabs(d->values[k] - direct[k]) / 10);
	}
	gr_effects_close(&effects);
}

static void
test_designs(void)
{
	Faults		faults = {0};
	int			npruned = 0;
	int			nwrong = 0;

	for (int k = 0; k < NDESIGNS + NLARGE; k++)
	{
		GrError		err = {0};
		int64_t		ndropped;
		int64_t		again;
		bool		ok;

		draw_design(&design, k >= NDESIGNS);
		ok = gr_effect_rows_prune(&design.rows, &ndropped, NULL, &err) &&
			gr_effect_rows_prune(&design.rows, &again, NULL, &err);
		nwrong += !ok || again != 0;
		npruned += ndropped > 0;
		if (design.rows.nrows == 0)
			continue;
		for (int f = 0; f < design.rows.nfactors; f++)
			free(gr_effect_compact(design.code[f], design.rows.nrows, &design.rows.nlevels[f], &err));
		test_design(&design, &faults);
	}
	check(nwrong == 0, "rows without singletons have none");
	check(npruned > NDESIGNS / 10, "many designs have singletons");
	check(faults.ranks == 0, "degrees of freedom are the rank of the dummies modulo a prime");
	check(faults.bounds == 0, "no rank is a bound");
	check(faults.nfactored > NDESIGNS / 2, "most designs are eliminated");
	check(faults.nsparse > NLARGE / 2, "large designs are eliminated sparsely at first");
	check(faults.mean < 1e-14, "means of levels after projection are rounding errors");
	check(faults.apart < 1e-13, "conjugate gradients give what elimination gives");
}

/* A dense matrix of a known rank, larger than a block */
static void
test_dense(void)
{
	enum {M = 150, RANK = 97, STRIDE = 4};
	static double factor[M][RANK];
	static double a[M * M];
	static double b[M * STRIDE];
	static double x[M * STRIDE];
	static double work[M * STRIDE];
	static double size[M];
	int			order[M];
	GrDense		dense = {.m = M,.a = malloc(sizeof(a)),.order = order};
	double		worst = 0;

	for (int i = 0; i < M; i++)
		for (int k = 0; k < RANK; k++)
			factor[i][k] = draw(2000) / 1000.0 - 1;
	for (int i = 0; i < M; i++)
		for (int j = 0; j < M; j++)
			for (int k = 0; k < RANK; k++)
				a[i * M + j] += factor[i][k] * factor[j][k];
	for (int i = 0; i < M; i++)
	{
		size[i] = a[i * M + i];
		for (int c = 0; c < STRIDE; c++)
			for (int j = 0; j < M; j++)
				b[i * STRIDE + c] += a[i * M + j] * (j % (c + 2));
	}
	memcpy(dense.a, a, sizeof(a));
	memcpy(x, b, sizeof(b));
	check(gr_dense_factor(&dense, size, NULL) && dense.rank == RANK, "the rank of a dense matrix");
	gr_dense_solve(&dense, x, STRIDE, work);
	for (int i = 0; i < M; i++)
		for (int c = 0; c < STRIDE; c++)
		{
			double		rest = b[i * STRIDE + c];

			for (int j = 0; j < M; j++)
				rest -= a[i * M + j] * x[j * STRIDE + c];
			worst = fmax(worst, fabs(rest) / size[i]);
		}
	check(worst < 1e-9, "a solution of a singular dense system");
	free(dense.a);
}

int
main(void)
{
	test_designs();
	test_dense();
	return unit_done();
}
