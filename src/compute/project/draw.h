/*
 * draw.h: draws the random projection matrix S, column by column, on the host and on the device. projection.c draws
 * from it first.
 *
 * S has k rows and any number of columns. Its entries are independent: 0 with probability 1 - p, and -1 and +1 with
 * probability p / 2 each (Achlioptas, 2003; Li, Hastie and Church, 2006). p is the density. Column j is a function of
 * (seed, k, p, j) alone, in integer arithmetic and IEEE operations that are rounded once, so S is the same everywhere.
 * Stored results depend on every detail below: none may ever change.
 *
 * Random words. Word w of stratum s of column j is word w % 4 of Philox 4x32-10 with the counter (w / 4, s, low half of
 * j, high half of j) and the key (low half of the seed, high half of the seed).
 *
 * p < 1. Rows are divided into strata of B = min(k, floor(8 / p)) rows, 8 / p being the float8 quotient. The last
 * stratum may be shorter. Strata are independent. In a stratum of n rows:
 *
 *	 1. The number of nonzeros N is binomial(n, p), drawn by inversion: U = word 0 * 2^32 + word 1, and N is the
 *		number of the stratum's thresholds that are <= U. Threshold m is floor(2^64 C), C the float8 quotient
 *		(w_0 + .. + w_m) / (w_0 + .. + w_n), where w_0 = 1 and w_{m + 1} = w_m ((n - m) p / ((m + 1) (1 - p))),
 *		evaluated and summed in this order. The sums end before the first w_{m + 1} with m >= n p that does not change
 *		them, and thresholds end before C = 1. (C has 53 bits.)
 *	 2. The rows are a random subset of size N, by Floyd's algorithm (Bentley and Floyd, 1987): for r = n - N .. n - 1,
 *		v is uniform in [0, 2 (r + 1)); the sign is - if v is odd; the row is v / 2, or r if v / 2 is in the set
 *		already. v takes the words from word 2 on, in order, by Lemire's unbiased method (2019): v is the high half of
 *		word * 2 (r + 1), and a word is skipped if the low half is less than 2^32 mod 2 (r + 1).
 *
 * p = 1. There is one stratum; row i's sign is - if bit i % 32 of word i / 32 is set.
 */
#ifndef GPUREG_DRAW_H
#define GPUREG_DRAW_H

#include "compute/base/compute.h"
#include "compute/base/philox.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GR_DRAW_MEAN 8			/* most nonzeros of a stratum, on average */
#define GR_DRAW_MAX 64			/* most nonzeros of a stratum; more than 45 have a probability below 2^-53 */

/* Distribution of the number of nonzeros of a stratum */
typedef struct GrDrawTable
{
	int32_t		nrows;			/* n, the stratum's rows; 0: no such stratum */
	int32_t		nthresholds;
	uint64_t	thresholds[GR_DRAW_MAX];
} GrDrawTable;

/* Parameters of S */
typedef struct GrDraw
{
	int32_t		k;				/* rows of S */
	int32_t		stratum_nrows;	/* B; k if p = 1 */
	int32_t		nstrata;
	uint64_t	seed;
	double		density;		/* p */
	double		scale;			/* 1 / sqrt(k p) */
	GrDrawTable full;			/* table of strata of B rows */
	GrDrawTable last;			/* table of the last stratum; equals full if that has B rows */
} GrDraw;

/* An entry of a column is the row, with the sign in the highest bit (set: -1). */
#define GR_ENTRY_SIGN UINT32_C(0x80000000)

/* Sets up draw. Fails with GR_INVALID unless 1 <= k <= INT32_MAX / 4 and 0 < density <= 1. */
extern bool gr_draw_init(GrDraw *draw, int64_t k, uint64_t seed, double density, GrError *err);

/* Default densities: 1 / sqrt(dim) for vectors of dim columns; 32 / k, at most 1, for sparse vectors. */
extern double gr_dense_density(int64_t dim);
extern double gr_sparse_density(int64_t k);

GR_HD const GrDrawTable *
gr_draw_table(const GrDraw *draw, int32_t stratum)
{
	return stratum == draw->nstrata - 1 ? &draw->last : &draw->full;
}

GR_HD GrPhilox
gr_draw_words(uint64_t seed, int64_t j, uint32_t stratum, uint32_t block)
{
	GrPhilox	counter = {{block, stratum, (uint32_t) j, (uint32_t) ((uint64_t) j >> 32)}};

	return gr_philox(counter, (uint32_t) seed, (uint32_t) (seed >> 32));
}

/* Returns the number of nonzeros, from the first words of a stratum; p < 1. */
GR_HD int
gr_draw_count(const GrDrawTable *table, GrPhilox first)
{
	uint64_t	u = (uint64_t) first.word[0] << 32 | first.word[1];
	int			n = 0;

	while (n < table->nthresholds && table->thresholds[n] <= u)
		n++;
	return n;
}

/*
 * Draws entry m of a stratum, with r = n - N + m, from the next word into entries[m * pitch]; entries 0 .. m - 1 are
 * drawn already. Returns false if the word is skipped. seen has a bit for each entry's row modulo 64: a row whose bit
 * is not set is new.
 */
GR_HD bool
gr_draw_entry(uint32_t word, uint32_t first_row, uint32_t r, uint32_t *entries, int m, int pitch, uint64_t *seen)
{
	uint32_t	range = 2 * (r + 1);
	uint64_t	product = (uint64_t) word * range;
	uint32_t	row = first_row + (uint32_t) (product >> 33);
	uint32_t	sign = (uint32_t) (product >> 32) << 31;

	if ((uint32_t) product < range && (uint32_t) product < (0 - range) % range)
		return false;
	if (*seen >> (row & 63) & 1)
		for (int i = 0; i < m; i++)
			if ((entries[i * pitch] & ~GR_ENTRY_SIGN) == row)
				row = first_row + r;
	*seen |= UINT64_C(1) << (row & 63);
	entries[m * pitch] = row | sign;
	return true;
}

/*
 * Draws the count nonzeros of a stratum into entries[0], entries[pitch], ...: rows of S, from 0, unordered. first: the
 * stratum's first words, which gave count.
 */
GR_HD void
gr_draw_entries(const GrDraw *draw, int64_t j, int32_t stratum, GrPhilox first, int count, uint32_t *entries, int pitch)
{
	const GrDrawTable *table = gr_draw_table(draw, stratum);
	uint32_t	first_row = (uint32_t) stratum * (uint32_t) draw->stratum_nrows;
	uint32_t	block = 0;
	GrPhilox	words = first;
	int			used = 2;
	uint64_t	seen = 0;

	for (int m = 0; m < count;)
	{
		uint32_t	word;

		if (used == 4)
		{
			words = gr_draw_words(draw->seed, j, (uint32_t) stratum, ++block);
			used = 0;
		}
		/* selected, not indexed, so that the words stay in registers */
		word = used == 0 ? words.word[0] : used == 1 ? words.word[1] : used == 2 ? words.word[2] : words.word[3];
		used++;
		m += gr_draw_entry(word, first_row, (uint32_t) (table->nrows - count + m), entries, m, pitch, &seen);
	}
}

/* Draws the nonzeros of a stratum into entries (room for GR_DRAW_MAX), on the host. Returns their number. */
extern int	gr_draw_stratum(const GrDraw *draw, int64_t j, int32_t stratum, uint32_t *entries);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_DRAW_H */
