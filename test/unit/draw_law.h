/*
 * draw_law.h: tests whether S follows its law: independent entries, 0 with probability 1 - p, -1 and +1 with p / 2
 * each.
 *
 * The seeds are fixed, so the verdicts are fixed, too. Statistics fail at either end of their distribution.
 */
#ifndef GPUREG_DRAW_LAW_H
#define GPUREG_DRAW_LAW_H

#include "compute/dist/inference.h"
#include "projection_data.h"
#include "unit.h"

#define LAW_LEVEL 1e-4

/* The columns under test: first, first + step, .. as signs (k x ncols, column after column) */
typedef struct Law
{
	int			k;
	double		p;
	uint64_t	seed;
	int			ncols;
	int64_t		first;
	int64_t		step;
	signed char *sign;
} Law;

static inline bool
law_draw(Law *law)
{
	GrDraw		draw;
	GrError		err = {0};
	uint32_t   *entries;
	bool		good = gr_draw_init(&draw, law->k, law->seed, law->p, &err);

	law->sign = calloc((size_t) law->k * (size_t) law->ncols, 1);
	if (!good)
		return false;
	entries = column_buffer(&draw);
	for (int c = 0; c < law->ncols; c++)
	{
		int			n = sorted_column(&draw, law->first + c * law->step, entries);

		good = good && n >= 0;
		for (int m = 0; m < n; m++)
			law->sign[(size_t) c * (size_t) law->k + (entries[m] & ~GR_ENTRY_SIGN)] = entries[m] & GR_ENTRY_SIGN ? -1 :
				1;
	}
	free(entries);
	return good;
}

/* Checks that chi-squared's tail probability is above LAW_LEVEL on both sides. */
static inline void
judge(const Law *law, const char *what, double chi2, double df)
{
	double		tail = gr_f_upper(chi2 / df, df, INFINITY);

	if (!check(tail > LAW_LEVEL && tail < 1 - LAW_LEVEL, "k %d, density %.3g: %s", law->k, law->p, what))
		printf("# chi-squared %.6g, df %g, P %.3g\n", chi2, df, tail);
}

/*
 * Returns chi-squared of n observed classes against their probabilities. Classes of few entries are merged with those
 * behind them.
 */
static inline double
chi_squared(const int64_t *observed, const double *probability, int n, double total, double *df)
{
	double		chi2 = 0.0;
	double		o = 0.0;
	double		e = 0.0;
	double		left = total;

	*df = -1.0;
	for (int i = 0; i < n; i++)
	{
		o += (double) observed[i];
		e += total * probability[i];
		left -= total * probability[i];
		if (i < n - 1 && (e < 8.0 || left < 8.0))
			continue;
		chi2 += (o - e) * (o - e) / e;
		++*df;
		o = e = 0.0;
	}
	return chi2;
}

/* Checks the number of nonzeros per column: binomial(k, p). */
static inline void
law_counts(const Law *law)
{
	double	   *probability = calloc((size_t) law->k + 1, sizeof(double));
	int64_t    *observed = calloc((size_t) law->k + 1, sizeof(int64_t));
	double		chi2;
	double		df;

	for (int i = 0; i <= law->k; i++)
		probability[i] = exp(lgamma(law->k + 1.0) - lgamma(i + 1.0) - lgamma(law->k - i + 1.0) + i * log(law->p) +
							 (law->k - i) * log1p(-law->p));
	for (int c = 0; c < law->ncols; c++)
	{
		int			n = 0;

		for (int i = 0; i < law->k; i++)
			n += law->sign[(size_t) c * (size_t) law->k + i] != 0;
		observed[n]++;
	}
	chi2 = chi_squared(observed, probability, law->k + 1, law->ncols, &df);
	judge(law, "nonzeros of a column", chi2, df);
	free(probability);
	free(observed);
}

/* Checks the number of nonzeros, and of each sign, per row. */
static inline void
law_rows(const Law *law)
{
	double		nonzeros = 0.0;
	double		signs = 0.0;
	double		mean = law->ncols * law->p;
	double		sum = 0.0;
	double		n = 0.0;

	for (int i = 0; i < law->k; i++)
	{
		double		count = 0.0;
		double		balance = 0.0;

		for (int c = 0; c < law->ncols; c++)
		{
			int			s = law->sign[(size_t) c * (size_t) law->k + i];

			count += s != 0;
			balance += s;
		}
		nonzeros += (count - mean) * (count - mean) / (mean * (1 - law->p));
		signs += balance * balance / count;
		sum += balance;
		n += count;
	}
	if (law->p < 1)
		judge(law, "nonzeros of a row", nonzeros, law->k);
	judge(law, "signs of a row", signs, law->k);
	judge(law, "all signs", sum * sum / n, 1);
}

/*
 * Sums over pairs of entries (a, b). The sums of s_a s_b / p and of (|s_a| - p) (|s_b| - p) / (p (1 - p)) are
 * uncorrelated between pairs; their squares over the number of terms are nearly chi-squared.
 */
typedef struct Pairs
{
	double		signs;
	double		nonzeros;
	double		n;
} Pairs;

static inline void
add_pair(Pairs *pairs, const Law *law, const signed char *a, size_t a_step, const signed char *b, size_t b_step, int n)
{
	double		signs = 0.0;
	double		nonzeros = 0.0;
	double		q = law->p * (1 - law->p);

	for (int c = 0; c < n; c++)
	{
		int			s = a[(size_t) c * a_step];
		int			t = b[(size_t) c * b_step];

		signs += s * t;
		nonzeros += ((s != 0) - law->p) * ((t != 0) - law->p);
	}
	pairs->signs += signs * signs / (law->p * law->p * n);
	if (law->p < 1)
		pairs->nonzeros += nonzeros * nonzeros / (q * q * n);
	pairs->n++;
}

static inline void
judge_pairs(const Law *law, const Pairs *pairs, const char *what)
{
	char		name[80];

	snprintf(name, sizeof(name), "signs in %s", what);
	judge(law, name, pairs->signs, pairs->n);
	snprintf(name, sizeof(name), "nonzeros in %s", what);
	if (law->p < 1)
		judge(law, name, pairs->nonzeros, pairs->n);
}

/* Checks pairs of rows in a column: all of them, or those of some rows with all if there are many. */
static inline void
law_row_pairs(const Law *law)
{
	size_t		k = (size_t) law->k;
	Pairs		pairs = {0};

	for (size_t a = 0; a < k; a += k / 40 + 1)
		for (size_t b = 0; b < k; b++)
			if (a < b)
				add_pair(&pairs, law, law->sign + a, k, law->sign + b, k, law->ncols);
	judge_pairs(law, &pairs, "two rows of a column");
}

/* Checks an entry against those of the next column in the same row and in the next row. */
static inline void
law_column_pairs(const Law *law)
{
	size_t		k = (size_t) law->k;
	Pairs		same = {0};
	Pairs		next = {0};

	for (size_t a = 0; a < k; a++)
	{
		add_pair(&same, law, law->sign + a, k, law->sign + k + a, k, law->ncols - 1);
		add_pair(&next, law, law->sign + a, k, law->sign + k + (a + 1) % k, k, law->ncols - 1);
	}
	judge_pairs(law, &same, "a row of two columns");
	judge_pairs(law, &next, "two rows of two columns");
}

/* Checks entries of S against those of another S in the same place. */
static inline void
law_other(const Law *law, uint64_t seed, int64_t first, const char *what)
{
	Law			other = *law;
	size_t		k = (size_t) law->k;
	Pairs		pairs = {0};

	other.seed = seed;
	other.first = first;
	if (!law_draw(&other))
		check(false, "%s", what);
	for (size_t a = 0; a < k; a++)
		add_pair(&pairs, law, law->sign + a, k, other.sign + a, k, law->ncols);
	judge_pairs(law, &pairs, what);
	free(other.sign);
}

/*
 * Checks the frequency of every outcome of ncols columns next to each other; n entries have 3^n outcomes.
 */
static inline void
law_outcomes(const Law *law, int ncols)
{
	int			n = law->k * ncols;
	int			noutcomes = (int) lround(pow(3, n));
	int64_t    *observed = calloc((size_t) noutcomes, sizeof(int64_t));
	double	   *probability = calloc((size_t) noutcomes, sizeof(double));
	char		name[80];
	double		chi2 = 0.0;
	double		df = -1.0;

	for (int c = 0; c + ncols <= law->ncols; c += ncols)
	{
		int			outcome = 0;

		for (int i = 0; i < n; i++)
			outcome = 3 * outcome + law->sign[(size_t) c * (size_t) law->k + i] + 1;
		observed[outcome]++;
	}
	for (int o = 0; o < noutcomes; o++)
	{
		double		e = law->ncols / ncols;

		for (int i = 0, rest = o; i < n; i++, rest /= 3)
			e *= rest % 3 == 1 ? 1 - law->p : law->p / 2;
		if (e == 0.0)
		{
			chi2 = observed[o] > 0 ? INFINITY : chi2;
			continue;
		}
		chi2 += ((double) observed[o] - e) * ((double) observed[o] - e) / e;
		df++;
	}
	snprintf(name, sizeof(name), "each of %g outcomes of %d column%s", df + 1, ncols, ncols == 1 ? "" : "s");
	judge(law, name, chi2, df);
	free(observed);
	free(probability);
}

static inline void
test_law(void)
{
	static const Law laws[] = {
		{16, 0.3, 1, 50000, 0, 1, NULL},
		{64, 0.125, 2, 20000, 65000, 1, NULL},
		{200, 0.0625, 3, 10000, 0, 65536, NULL},	/* strata of 128 and 72 rows */
		{50, 0.5, 4, 10000, INT64_C(1) << 62, INT64_C(1) << 33, NULL},	/* strata of 16 rows, the last of 2 */
		{24, 0.9, 5, 20000, 7, 3, NULL},
		{5000, 1.0 / 64, 6, 2000, INT64_C(1) << 32, 1, NULL},
		{140, 1.0, 7, 4000, 0, 1, NULL},
	};

	for (size_t i = 0; i < sizeof(laws) / sizeof(laws[0]); i++)
	{
		Law			law = laws[i];

		check(law_draw(&law), "k %d, density %.3g: no row twice in a column", law.k, law.p);
		if (law.p < 1)
			law_counts(&law);
		law_rows(&law);
		if (law.k < 1000)
		{
			law_row_pairs(&law);
			law_column_pairs(&law);
		}
		law_other(&law, law.seed + 1, law.first, "an entry under two seeds");
		law_other(&law, law.seed ^ UINT64_C(1) << 63, law.first,
				  "an entry under two seeds that differ in their highest bit");
		law_other(&law, law.seed, law.first ^ INT64_C(1) << 40, "an entry of two columns far away");
		free(law.sign);
	}
}

static inline void
test_outcomes(void)
{
	static const struct
	{
		Law			law;
		int			ncols;
	}			cases[] = {
		{{4, 0.5, 11, 200000, 0, 1, NULL}, 1},
		{{5, 0.3, 12, 300000, 0, 1, NULL}, 1},
		{{3, 0.9, 13, 100000, 0, 1, NULL}, 1},
		{{8, 1.0, 14, 100000, 0, 1, NULL}, 1},
		{{2, 1.0 / 3, 15, 200000, 0, 1, NULL}, 2},
		{{1, 0.2, 16, 400000, 0, 1, NULL}, 4},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		Law			law = cases[i].law;

		if (law_draw(&law))
			law_outcomes(&law, cases[i].ncols);
		else
			check(false, "columns of %d rows", law.k);
		free(law.sign);
	}
}

#endif							/* GPUREG_DRAW_LAW_H */
