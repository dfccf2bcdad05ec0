/*
 * boot_test.c: tests a bootstrap's draws, passes and replicates on the CPU.
 */
#include "compute/resample/boot.h"

#include <stdlib.h>
#include <string.h>

#include "boot_rows.h"
#include "compute/resample/boot_draw.h"
#include "compute/resample/boot_interval.h"
#include "compute/resample/flip_draw.h"
#include "unit.h"

/*
 * Draws; the known answers are from test/data/boot_reference.py.
 */

static void
check_draws(void)
{
	static const struct
	{
		uint64_t	seed;
		int64_t		key;
		uint32_t	r;
		uint32_t	word;
		int			count;
	}			known[] = {
		{0, 0, 0, 0x08138A92, 0}, {0, 0, 1, 0x69FD4DF9, 1}, {0, 0, 2, 0x5112F2AB, 0}, {0, 0, 3, 0x672C120E, 1},
		{1, 12345, 999, 0x32C462F0, 0}, {(uint64_t) -5, -GR_BOOT_KEY_MAX, 17, 0xD33540E0, 2},
		{INT64_MAX, GR_BOOT_KEY_MAX, 999999, 0xC9F1C2E4, 2}
	};
	double		moments[4] = {0};
	int			n = 1000000;

	for (int k = 0; k < COUNT(known); k++)
	{
		uint32_t	word = gr_boot_words(known[k].seed, known[k].key, known[k].r / 4).word[known[k].r % 4];

		check(word == known[k].word && gr_boot_count(word) == known[k].count, "draw %d: %08x", k, word);
	}
	check(gr_boot_count(0x5E2D58D8) == 0 && gr_boot_count(0x5E2D58D9) == 1 && gr_boot_count(0xFFFFFFFB) == 11 &&
		  gr_boot_count(0xFFFFFFFF) == 12, "counts at thresholds");
	check(gr_boot_hash_key(gr_boot_hash_add(GR_BOOT_HASH_BEGIN, "abc", 3)) == INT64_C(4400352996710714) &&
		  gr_boot_integer_key((INT64_C(1) << 60) + 1) == INT64_C(3730819536061000) &&
		  gr_boot_integer_key(-GR_BOOT_KEY_MAX - 1) == INT64_C(873613477676491) &&
		  gr_boot_integer_key(-GR_BOOT_KEY_MAX) == -GR_BOOT_KEY_MAX, "keys");
	/* the mean, the variance and the covariance of neighbours are within five standard errors */
	for (int k = 0; k < n; k++)
	{
		double		a = gr_boot_count(gr_boot_words(7, k, 3).word[1]) - 1;
		double		b = gr_boot_count(gr_boot_words(7, k + 1, 3).word[1]) - 1;

		moments[0] += a / n;
		moments[1] += a * a / n;
		moments[2] += a * b / n;
	}
	check(fabs(moments[0]) < 5e-3 && fabs(moments[1] - 1) < 9e-3 && fabs(moments[2]) < 5e-3, "moments %g %g %g",
		  moments[0], moments[1], moments[2]);
}

/* Checks the draws of signs; the known answers are from test/data/permute_reference.py. */
static void
check_signs(void)
{
	static const struct
	{
		uint64_t	seed;
		int64_t		key;
		uint32_t	b;
		uint32_t	word[4];
	}			known[] = {
		{0, 0, 0, {0x4E8F5594, 0x67FC5839, 0xFA67A07C, 0x9FCB9FFB}},
		{1, 12345, 7, {0x652CCB13, 0x3A1E74FB, 0xFBD467CE, 0xB1DCA5AB}},
		{(uint64_t) -5, -GR_BOOT_KEY_MAX, 0, {0x32F770C9, 0x0F1FADB2, 0xE74107D7, 0xFD44B93A}},
		{INT64_MAX, GR_BOOT_KEY_MAX, 7812, {0xAA18C87A, 0x4E71D04B, 0x687EB679, 0xA5A02F91}}
	};
	double		moments[2] = {0};
	int			n = 1000000;

	for (int k = 0; k < COUNT(known); k++)
	{
		GrPhilox	words = gr_flip_words(known[k].seed, known[k].key, known[k].b);

		check(memcmp(words.word, known[k].word, sizeof(words.word)) == 0, "words %d: %08x", k, words.word[0]);
	}
	check(gr_flip_sign(0x80000001, 0) == -1 && gr_flip_sign(0x80000001, 1) == 1 && gr_flip_sign(0x80000001, 31) == -1,
		  "bits");
	/* the mean and the covariance of neighbours are within five standard errors */
	for (int k = 0; k < n; k++)
	{
		double		a = gr_flip_sign(gr_flip_words(7, k, 3).word[1], 9);

		moments[0] += a / n;
		moments[1] += a * gr_flip_sign(gr_flip_words(7, k + 1, 3).word[1], 9) / n;
	}
	check(fabs(moments[0]) < 5e-3 && fabs(moments[1]) < 5e-3, "moments %g %g", moments[0], moments[1]);
}

/*
 * Passes
 */

static double *
make_pass(const GrBootPass *pass, const double *rows, int64_t nrows, int lanes, int64_t piece)
{
	double	   *sums = calloc(gr_boot_nsums(pass), sizeof(double));
	void	   *scratch = malloc(gr_boot_scratch_nbytes(pass));

	for (int64_t done = 0; done < nrows; done += piece)
		if (!gr_boot_add_lanes(pass, sums, rows + done * gr_row_ncols(pass->shape),
							   nrows - done < piece ? nrows - done : piece, scratch, NULL, lanes))
			sums[0] = NAN;
	free(scratch);
	return sums;
}

static void
check_made(BootRows made, const char *what)
{
	int64_t		nrows = made.nrows;
	size_t		n = gr_boot_nsums(&made.pass);
	double	   *want = boot_sums_wanted(&made);
	double	   *got = make_pass(&made.pass, made.rows, nrows, 8, nrows);
	double	   *pieces = make_pass(&made.pass, made.rows, nrows, 8, 100);
	double		worst = boot_worst(got, want, n);

	check(worst < 1e-13 && got[0] == (double) nrows, "%lld rows of %d features, %d replicates from %lld%s: %.2g",
		  (long long) nrows, made.pass.shape.nfeatures, made.pass.nreps, (long long) made.pass.first, what, worst);
	check(boot_worst(pieces, want, n) < 1e-13, "in pieces");
	for (int lanes = 1; lanes <= 4; lanes += 3)
	{
		double	   *narrow = make_pass(&made.pass, made.rows, nrows, lanes, nrows);

		check(boot_worst(narrow, want, n) < 1e-13, "on %d lanes", lanes);
		free(narrow);
	}
	free(want);
	free(got);
	free(pieces);
	boot_rows_free(&made);
}

static void
check_pass(int64_t nrows, int nfeatures, int nreps, int64_t first, GrFamily family, bool weights)
{
	check_made(boot_rows_make(nrows, nfeatures, nreps, first, family, weights), weights ? ", weights" : "");
}

/* Checks a pass whose draws are signs instead of counts. */
static void
check_flips(int64_t nrows, int nfeatures, int nreps, int64_t first, bool weights)
{
	BootRows	made = boot_rows_make(nrows, nfeatures, nreps, first, GR_GAUSSIAN, weights);

	made.pass.flips = true;
	check_made(made, ", of signs");
}

static void
check_polling(void)
{
	BootRows	made = boot_rows_make(3000, 5, 200, 0, GR_GAUSSIAN, false);
	Stopper		stopper = {0, 1};
	GrHost		host = {.canceled = stop,.arg = &stopper};
	double	   *sums = calloc(gr_boot_nsums(&made.pass), sizeof(double));
	void	   *scratch = malloc(gr_boot_scratch_nbytes(&made.pass));

	check(!gr_boot_add(&made.pass, sums, made.rows, made.nrows, scratch, &host), "a pass is canceled");
	free(scratch);
	free(sums);
	boot_rows_free(&made);
}

/*
 * Replicates
 */

/* Checks that a replicate solves its normal equations, and that one whose sums leave a term out is singular. */
static void
check_solve(void)
{
	BootRows	made = boot_rows_make(400, 4, 40, 0, GR_GAUSSIAN, true);
	GrBootPass *pass = &made.pass;
	double	   *sums = make_pass(pass, made.rows, made.nrows, 8, made.nrows);
	double		work[5 * 8];
	double		delta[5];
	double		worst = 0;
	int			nsolved = 0;

	for (int r = 0; r < pass->nreps; r++)
	{
		nsolved += gr_boot_solve(pass, sums, r, delta, work);
		worst = fmax(worst, boot_rest(&made, pass->first + r, delta));
	}
	check(nsolved == pass->nreps && worst < 1e-12, "replicates leave %.2g of the gradient", worst);
	/* replicate 7 has no rows with term 2 */
	for (int j = 0; j < pass->nactive; j++)
		sums[GR_BOOT_HEAD + (size_t) (j > 2 ? gr_triangle(j) + 2 : gr_triangle(2) + j) * pass->nreps + 7] = 1e-30;
	check(!gr_boot_solve(pass, sums, 7, delta, work) && gr_boot_solve(pass, sums, 8, delta, work), "a singular one");
	free(sums);
	boot_rows_free(&made);
}

static void
check_sizes(void)
{
	check(gr_boot_reps_a_pass(9, 1000, 32 << 20) == 1000, "all replicates in one pass");
	check(gr_boot_reps_a_pass(100, 10000, 32 << 20) == 800, "some");
	check(gr_boot_reps_a_pass(1000, 10000, 1 << 20) == GR_BOOT_LANES && gr_boot_reps_a_pass(1000, 7, 1 << 20) == 7,
		  "no fewer than a kernel likes");
}

/* Checks the limits of replicates 1 .. 999, whose quantiles are ranks of 1000. */
static void
check_limits(void)
{
	double		replicates[999];
	GrBootSummary s;

	for (int r = 0; r < 999; r++)
		replicates[r] = r + 1;
	gr_boot_summarise(&s, replicates, 999, 500, GR_BOOT_PERCENTILE, 0.95, 0);
	check(fabs(s.low - 25) < 1e-9 && fabs(s.high - 975) < 1e-9 && !s.extreme && s.bias == 0 &&
		  relative_error(s.std_error, sqrt(999.0 * 1000 / 12)) < 1e-14, "percentile %g %g", s.low, s.high);
	gr_boot_summarise(&s, replicates, 999, 400, GR_BOOT_BASIC, 0.95, 0);
	check(fabs(s.low + 175) < 1e-9 && fabs(s.high - 775) < 1e-9 && s.bias == 100, "basic %g %g", s.low, s.high);
	gr_boot_summarise(&s, replicates, 999, 400, GR_BOOT_NORMAL, 0.95, 0);
	check(relative_error(s.low + s.high, 600) < 1e-14, "normal %g %g", s.low, s.high);
	gr_boot_summarise(&s, replicates, 999, 0, GR_BOOT_BCA, 0.95, 0);
	check(isnan(s.low) && isnan(s.high) && s.std_error > 0, "BCa with all replicates on one side");
	gr_boot_summarise(&s, replicates, 5, 3, GR_BOOT_PERCENTILE, 0.95, 0);
	check(s.low == 1 && s.high == 5 && s.extreme, "too few replicates");
	gr_boot_summarise(&s, replicates, 1, 3, GR_BOOT_PERCENTILE, 0.95, 0);
	check(isnan(s.std_error) && s.bias == -2, "one replicate");
	gr_boot_summarise(&s, replicates, 0, 3, GR_BOOT_PERCENTILE, 0.95, 0);
	check(isnan(s.std_error) && isnan(s.bias) && isnan(s.low), "none");
}

int
main(void)
{
	check_draws();
	check_signs();
	check_pass(1, 1, 1, 0, GR_GAUSSIAN, false);
	check_pass(63, 2, 33, 4, GR_GAUSSIAN, true);
	check_pass(1000, 8, 100, 999900, GR_GAUSSIAN, false);
	check_pass(500, 3, 64, 32, GR_BINOMIAL, true);
	check_pass(200, 40, 7, 0, GR_BINOMIAL, false);
	check_pass(700, 5, 0, 0, GR_GAUSSIAN, true);
	check_flips(1, 1, 1, 0, false);
	check_flips(63, 2, 33, 32, true);
	check_flips(1000, 8, 300, 999648, false);
	check_flips(130, 40, 7, 96, true);
	check_polling();
	check_solve();
	check_sizes();
	check_limits();
	return unit_done();
}
