/*
 * derive_test.c: tests rows derived from kept ones: each number equals the design's to the bit, the right rows take
 * part, valid derivations are told from others, and the CPU's sinks work. filter_test.c tests filters.
 */
#include <stdlib.h>
#include <string.h>

#include "compute/backend/backend.h"
#include "compute/design/design_text.h"
#include "compute/design/derive_row.h"
#include "compute/glm/glm.h"
#include "derive_rows.h"
#include "sums.h"
#include "unit.h"

/*
 * Designs; the kept columns are g (levels 0 .. 2), z, x, the response, k (levels 5 and 7), the weight, the offset
 */

static const char *const designs[] = {
	"1 \"\" 1 n \"x\" 1 1 n 0",
	"1 \"\" 2 n \"x\" n \"z\" 2 1 n 1 1 n 0",
	"1 \"\" 1 n \"x\" 1 1 p 0 7",
	"1 \"\" 1 n \"x\" 1 1 q 0 5 3fd5555555555555",
	"1 \"\" 1 n \"x\" 1 1 q 0 1 8000000000000000",
	"1 \"\" 1 n \"x\" 1 1 p 0 50",
	"1 \"\" 2 n \"x\" f \"g\" 3 \"a\" \"b\" \"c\" 3 1 n 0 1 c 1 2 n 0 c 1",
	"1 \"\" 2 n \"x\" f \"g\" 3 \"a\" \"b\" \"c\" 2 1 d 1 2 d 1 n 0",
	"1 \"\" 4 n \"x\" f \"g\" 3 \"a\" \"b\" \"c\" b \"k\" 2 \"5\" \"7\" n \"z\" "
	"6 1 n 2 1 c 2 2 c 1 d 2 3 n 0 c 2 d 1 2 p 3 2 n 2 3 q 0 3 bff0000000000000 d 1 q 3 2 4000000000000000",
	"1 \"\" 3 n \"x\" n \"z\" b \"k\" 2 \"5\" \"7\" 2 2 p 0 3 p 1 3 4 n 0 n 1 n 2 d 2"
};

/* The names of the kept columns, in their order */
static const char *const kept_names[] = {"g", "z", "x", "y", "k", "w", "o"};
static const double k_codes[] = {5, 7};

#define NKEPT COUNT(kept_names)

/* Makes kept rows without a NULL, of numbers of any size and sign, with -0 among them. */
static double *
random_kept(int nrows)
{
	double	   *rows = malloc((size_t) nrows * NKEPT * sizeof(double));

	for (int r = 0; r < nrows; r++)
	{
		double	   *row = rows + r * NKEPT;

		for (int c = 0; c < NKEPT; c++)
			row[c] = (any_double() - 0.5) * (random() % 4 == 0 ? 1e5 : 1);
		row[0] = (double) (random() % 3);
		row[2] = random() % 10 == 0 ? -0.0 : row[2];
		row[4] = random() % 2 ? 5 : 7;
	}
	return rows;
}

/* Computes the values of a design's columns for a kept row. */
static void
design_values(const GrDesign *design, const int *columns, const double *row, double *values)
{
	for (int k = 0; k < design->ncolumns; k++)
	{
		values[k] = row[columns[k]];
		values[design->ncolumns + k] = columns[k] == 4 ? (row[4] == 5 ? 0 : 1) : row[columns[k]];
	}
}

/* Counts the numbers that differ from the design's, over 200 rows. */
static int
count_other(const GrDerivation *d, const GrDesign *design, const int *columns, bool pairs)
{
	int			nrows = 200;
	int			ncols = gr_row_ncols(gr_derived_shape(d));
	double	   *rows = random_kept(nrows);
	double	   *got = malloc((size_t) (nrows * ncols) * sizeof(double));
	double	   *want = malloc((size_t) ncols * sizeof(double));
	double		values[2 * NKEPT];
	GrError		err = {0};
	GrDeriving *deriving = gr_deriving_begin(d, &err);
	GrDeriveCounts counts = {0};
	int			nother = gr_derive_rows(deriving, rows, nrows, got, &counts) == nrows ? 0 : nrows;

	for (int r = 0; r < nrows && nother == 0; r++)
	{
		const double *row = rows + r * NKEPT;

		design_values(design, columns, row, values);
		if (pairs)
			gr_design_expand_pairs(design, values, want, want + design->nfeatures);
		else
			gr_design_expand(design, values, want);
		memcpy(want + d->nfeatures, (double[]) {row[3], row[5], row[6]}, 3 * sizeof(double));
		for (int j = 0; j < ncols; j++)
			nother += memcmp(&want[j], &got[r * ncols + j], sizeof(double)) != 0;
	}
	gr_deriving_end(deriving);
	free(rows);
	free(got);
	free(want);
	return nother;
}

static void
test_design(const char *text, bool pairs)
{
	GrDesign   *design = gr_design_read(text, strlen(text), memory);
	int			columns[NKEPT];
	const double *codes[NKEPT];
	GrDeriveOptions options = {
		.ncolumns = NKEPT,.response = 3,.weight = 5,.offset = 6,.key = -1,.columns = columns,.design = design,
		.codes = codes,.pairs = pairs
	};
	GrDerivation *d;
	GrError		err = {0};

	for (int k = 0; k < design->ncolumns; k++)
	{
		columns[k] = 0;
		while (strncmp(design->columns[k].name.bytes, kept_names[columns[k]], 1) != 0)
			columns[k]++;
		codes[k] = columns[k] == 4 ? k_codes : NULL;
	}
	d = gr_derivation_make(&options, memory, &err);
	check(d != NULL && d->nfeatures == design->nfeatures + (pairs ? design->npaired : 0) &&
		  count_other(d, design, columns, pairs) == 0, "%s%s: %s",
		  pairs ? "in pairs: " : "", text, err.detail);
	free_blocks();
}

/*
 * Rows that take part
 */

/* Derives rows one after another with the filter's scalar form; leaves out NULLs and weights of 0. */
static int64_t
derive_plainly(const GrDerivation *d, const double *rows, int64_t nrows, double *out, GrDeriveCounts *counts)
{
	GrRowShape	shape = gr_derived_shape(d);
	int			ncols = gr_row_ncols(shape);
	int64_t		n = 0;

	for (int64_t r = 0; r < nrows; r++, rows += d->ncolumns)
	{
		bool		null = false;

		if (!gr_filter_passes(gr_derive_filter(d), d->nsteps, rows))
		{
			counts->nfiltered++;
			continue;
		}
		for (int k = 0; k < d->nfactors; k++)
			null |= isnan(rows[gr_derive_factors(d)[k].column]);
		for (int j = 0; j < ncols; j++)
			out[n * ncols + j] = gr_derive_number(&gr_derived_numbers(d)[j], gr_derive_factors(d), rows);
		if (null)
			counts->nskipped++;
		else if (gr_row_weight(out + n * ncols, shape) == 0)
			counts->nweightless++;
		else
			n++;
	}
	counts->nrows += n;
	return n;
}

static void
test_fates(const Sample *sample, int nrows)
{
	GrDerivation *d = sample_derivation(sample);
	size_t		out_nbytes = (size_t) nrows * gr_row_nbytes(gr_derived_shape(d));
	double	   *rows = sample_rows(sample, nrows);
	double	   *got = malloc(out_nbytes + 1);
	double	   *want = malloc(out_nbytes + 1);
	GrDeriveCounts got_counts = {0};
	GrDeriveCounts want_counts = {0};
	GrError		err = {0};
	GrDeriving *deriving = gr_deriving_begin(d, &err);
	int64_t		n = gr_derive_rows(deriving, rows, nrows, got, &got_counts);

	check(n == derive_plainly(d, rows, nrows, want, &want_counts) &&
		  memcmp(&got_counts, &want_counts, sizeof(got_counts)) == 0 &&
		  memcmp(got, want, (size_t) n * gr_row_nbytes(gr_derived_shape(d))) == 0,
		  "%s: %lld of %d rows, %lld with a NULL, %lld of weight 0", sample->name, (long long) n, nrows,
		  (long long) got_counts.nskipped, (long long) got_counts.nweightless);
	gr_deriving_end(deriving);
	free(rows);
	free(got);
	free(want);
	free_blocks();
}

/* Checks a row for each reason to leave it out, and which reason counts if a row has several. */
static void
test_order_of_fates(void)
{
	static const GrFilterStep above[] = {{GR_FILTER_GT, 0, 0.0}};
	static const double rows[][4] = {
		{1, 2, 3, 4}, {0, NAN, 3, 0}, {NAN, 2, 3, 4}, {1, NAN, 3, 0}, {1, 2, 3, 0}, {1, 2, NAN, 4},
		{2, INFINITY, 3, -0.0}, {3, 4, 5, 6}
	};
	int			columns[] = {1};
	GrDeriveOptions options = {
		.ncolumns = 4,.response = 2,.weight = 3,.offset = -1,.key = -1,.columns = columns,.nfeatures = 1,
		.steps = above,.nsteps = 1
	};
	GrError		err = {0};
	GrDerivation *d = gr_derivation_make(&options, memory, &err);
	GrDeriving *deriving = gr_deriving_begin(d, &err);
	GrDeriveCounts counts = {0};
	double		out[COUNT(rows)][3];
	int32_t		used[4];

	check(gr_derive_rows(deriving, rows[0], COUNT(rows), out[0], &counts) == 2 && out[0][0] == 2 && out[0][2] == 4 &&
		  out[1][1] == 5 && counts.nrows == 2 && counts.nfiltered == 2 && counts.nskipped == 2 &&
		  counts.nweightless == 2, "the filter, then NULLs, then weights of 0");
	check(gr_derivation_used(d, used) == 3 && used[0] == 1 && used[1] == 2 && used[2] == 3,
		  "columns of the filter alone aren't used");
	gr_deriving_end(deriving);
	free_blocks();
}

/*
 * Checks that a key is the last number, also if its column has another role, and that rows without a key are left out.
 */
static void
test_key(void)
{
	static const double rows[][4] = {{1, 10, 2, 0.5}, {2, NAN, 3, 0.5}, {3, -7, 4, 0.25}};
	int			columns[] = {0, 1};
	GrDeriveOptions options = {
		.ncolumns = 4,.response = 2,.weight = -1,.offset = 3,.key = 1,.columns = columns,.nfeatures = 2
	};
	GrError		err = {0};
	GrDerivation *d = gr_derivation_make(&options, memory, &err);
	GrDeriving *deriving = gr_deriving_begin(d, &err);
	GrRowShape	shape = gr_derived_shape(d);
	GrDeriveCounts counts = {0};
	double		out[COUNT(rows)][5];

	check(shape.key && shape.offset && !shape.weight && gr_row_ncols(shape) == 5 && gr_key_at(shape) == 4,
		  "a key in the shape");
	check(gr_derive_rows(deriving, rows[0], COUNT(rows), out[0], &counts) == 2 && counts.nskipped == 1 &&
		  out[0][4] == 10 && out[0][1] == 10 && out[0][3] == 0.5 && out[1][4] == -7, "keys behind all");
	options.key = 4;
	check(gr_derivation_make(&options, memory, &err) == NULL && err.status == GR_INVALID, "a key that is no column");
	gr_deriving_end(deriving);
	free_blocks();
}

/*
 * Valid derivations
 */

static bool
is_made(GrDeriveOptions options)
{
	GrError		err = {0};
	bool		made = gr_derivation_make(&options, memory, &err) != NULL;

	return made == (err.status == GR_OK) && (made || err.status == GR_INVALID) && made;
}

static void
test_made(void)
{
	int			columns[] = {0, 1};
	int			outside[] = {0, 4};
	GrDeriveOptions good = {
		.ncolumns = 4,.response = 3,.weight = 2,.offset = 1,.key = -1,.columns = columns,.nfeatures = 2
	};
	GrDeriveOptions bad = good;
	GrFilterStep step = {GR_FILTER_EQ, 3, 1};
	GrError		err = {0};

	check(is_made(good), "what is good");
	bad.columns = outside;
	check(!is_made(bad), "a feature that is no column");
	bad = good;
	bad.response = -1;
	check(!is_made(bad), "no response");
	bad = good;
	bad.weight = 4;
	check(!is_made(bad), "a weight that is no column");
	bad = good;
	bad.ncolumns = GR_ROW_NCOLS_MAX + 1;
	check(!is_made(bad), "too many columns");
	bad = good;
	bad.nfeatures = -1;
	check(!is_made(bad), "fewer features than none");
	bad.nfeatures = GR_MAX_FEATURES + 1;
	check(!is_made(bad), "too many features");
	bad = good;
	bad.nfeatures = 0;
	check(is_made(bad), "no feature");
	bad.steps = &step;
	bad.nsteps = 1;
	check(is_made(bad), "with a filter");
	step.column = 4;
	check(!is_made(bad), "a filter of no column");
	nleft = 0;
	check(gr_derivation_make(&good, memory, &err) == NULL && err.status == GR_NO_MEMORY && err.bytes_needed > 0,
		  "without memory");
	free_blocks();
}

/*
 * Copies a derivation into memory of its own size, where a sanitizer sees reads beyond it, with one word or bit
 * changed.
 */
static GrDerivation *
spoil(const GrDerivation *d, size_t nbytes, long at, int how)
{
	unsigned char *copy = memcpy(memory.take(memory.arg, nbytes), d, nbytes);
	int32_t		words[] = {0, 1, -1, INT32_MAX, INT32_MIN, 3, 10003, 0x7ff00000};

	if (how < COUNT(words))
		memcpy(copy + at / 4 * 4, &words[how], sizeof(int32_t));
	else
		copy[at] ^= (unsigned char) (1 << how % 8);
	return (GrDerivation *) copy;
}

/* Derives rows by each changed derivation that is still valid; a sanitizer looks for harm. */
static void
test_spoilt(const Sample *sample)
{
	const GrDerivation *d = sample_derivation(sample);
	size_t		nbytes = gr_derivation_nbytes(d);
	double	   *rows = sample_rows(sample, 70);
	int			nvalid = 0;
	int			ntried = 0;

	check(gr_derivation_valid(d, nbytes, d->ncolumns) && !gr_derivation_valid(d, nbytes, d->ncolumns + 1) &&
		  !gr_derivation_valid(d, nbytes - 1, d->ncolumns) && !gr_derivation_valid(d, nbytes + 8, d->ncolumns) &&
		  !gr_derivation_valid(d, 0, d->ncolumns) && !gr_derivation_valid(d, sizeof(*d), d->ncolumns),
		  "%s: of its length", sample->name);
	for (long at = 0; at < (long) nbytes; at++)
		for (int how = 0; how < 16; how++, ntried++)
		{
			GrDerivation *other = spoil(d, nbytes, at, how);
			GrDeriveCounts counts = {0};
			GrError		err = {0};
			GrDeriving *deriving;
			double	   *out;

			if (!gr_derivation_valid(other, nbytes, d->ncolumns))
			{
				free(blocks[--nblocks]);
				continue;
			}
			nvalid++;
			deriving = gr_deriving_begin(other, &err);
			out = malloc(70 * gr_row_nbytes(gr_derived_shape(other)));
			(void) gr_derive_rows(deriving, rows, 70, out, &counts);
			(void) gr_derivation_work(other);
			gr_deriving_end(deriving);
			free(out);
			free(blocks[--nblocks]);
		}
	check(nvalid > 0 && nvalid < ntried / 2, "%s: %d of %d spoilt ones are others", sample->name, nvalid, ntried);
	free(rows);
	free_blocks();
}

static void
test_filters_valid(void)
{
	GrFilterStep steps[GR_FILTER_STEPS_MAX + 1];
	GrFilterStep push = {GR_FILTER_LT, 1, 0.5};

	for (int k = 0; k <= GR_FILTER_STEPS_MAX; k++)
		steps[k] = push;
	check(gr_filter_valid(steps, 0, 2) && gr_filter_valid(steps, 1, 2), "none and one");
	check(!gr_filter_valid(steps, 1, 1) && !gr_filter_valid(steps, 2, 2), "no column; two values left");
	for (int k = 0; k < GR_FILTER_DEPTH_MAX - 1; k++)
		steps[GR_FILTER_DEPTH_MAX + k] = (GrFilterStep) {k % 2 ? GR_FILTER_AND : GR_FILTER_OR, 0, 0};
	check(gr_filter_valid(steps, 2 * GR_FILTER_DEPTH_MAX - 1, 2), "as deep as can be");
	steps[GR_FILTER_DEPTH_MAX] = push;
	check(!gr_filter_valid(steps, 2 * GR_FILTER_DEPTH_MAX - 1, 2), "deeper");
	for (int k = 1; k <= GR_FILTER_STEPS_MAX; k++)
		steps[k] = k % 2 ? push : (GrFilterStep) {GR_FILTER_AND, 0, 0};
	check(gr_filter_valid(steps, GR_FILTER_STEPS_MAX - 1, 2) && !gr_filter_valid(steps, GR_FILTER_STEPS_MAX + 1, 2),
		  "as long as can be, and longer");
	steps[1] = (GrFilterStep) {GR_FILTER_AND, 0, 0};
	check(!gr_filter_valid(steps, 2, 2), "one value for two");
	steps[0] = (GrFilterStep) {GR_FILTER_NOT, 0, 0};
	check(!gr_filter_valid(steps, 1, 2), "none for one");
	steps[0] = (GrFilterStep) {GR_FILTER_EQ, 0, NAN};
	check(!gr_filter_valid(steps, 1, 2), "compared with NaN");
	steps[0] = (GrFilterStep) {GR_NFILTER_OPS, 0, 0};
	check(!gr_filter_valid(steps, 1, 2), "no operation");
}

/*
 * Checks the numbers behind a fold in the key's place: how many folds, and the seed's halves, each an integer in
 * bounds.
 */
static void
test_fold_numbers(void)
{
	static const struct
	{
		int			factor;
		double		value;
		bool		valid;
	}			cases[] = {
		{0, 1, true}, {0, GR_FOLDS_MAX, true}, {0, 0, false}, {0, GR_FOLDS_MAX + 1, false}, {0, 1.5, false},
		{0, NAN, false}, {1, 0, true}, {1, UINT32_MAX, true}, {1, -1, false}, {1, 0.5, false}, {1, 0x1p32, false},
		{2, 0, true}, {2, UINT32_MAX, true}, {2, -1, false}, {2, 0.5, false}, {2, 0x1p32, false}
	};
	const int	column = 0;
	const GrDeriveOptions options = {
		.ncolumns = 3,.response = 1,.weight = -1,.offset = -1,.key = 2,.columns = &column,.nfeatures = 1,.nfolds = 5,
		.fold_seed = UINT64_C(0x100000002)
	};
	GrError		err = {0};
	GrDerivation *d;
	GrDeriveFactor *factors;
	size_t		nbytes;

	nleft = 100;
	d = gr_derivation_make(&options, memory, &err);
	nbytes = gr_derivation_nbytes(d);
	factors = (GrDeriveFactor *) gr_derive_factors(d) + d->nfactors - GR_FOLD_NFACTORS;
	check(gr_derivation_valid(d, nbytes, 3) && factors[0].value == 5 && factors[1].value == 2 && factors[2].value == 1,
		  "a fold in the place of a key");
	for (int k = 0; k < COUNT(cases); k++)
	{
		double		was = factors[cases[k].factor].value;

		factors[cases[k].factor].value = cases[k].value;
		check(gr_derivation_valid(d, nbytes, 3) == cases[k].valid, "fold: factor %d is %g", cases[k].factor,
			  cases[k].value);
		factors[cases[k].factor].value = was;
	}
	for (int k = 0; k < GR_FOLD_NFACTORS; k++)
	{
		factors[k].power = 2;
		check(!gr_derivation_valid(d, nbytes, 3), "fold: a power of factor %d", k);
		factors[k].power = 1;
		factors[k].column = 0;
		check(!gr_derivation_valid(d, nbytes, 3) , "fold: another column of factor %d", k);
		factors[k].column = 2;
	}
	free_blocks();
}

/* Checks that each row is in one fold, that folds are about even, that NULLs are equal, and 0 and -0. */
static void
test_folds(void)
{
	enum { NROWS = 10000, N = 7 };
	static const double bad[] = {GR_FOLD_VALUE(7, 7), GR_FOLD_VALUE(0, 0), -1, 0.5, 1e300, INFINITY};
	const double zeros[2][2] = {{0.0, NAN}, {-0.0, -NAN}};
	GrFilterStep step = {GR_FILTER_FOLD, 2, 0};
	int			counts[N] = {0};
	int			nbad = 0;
	bool		ok = true;

	for (int r = 0; r < NROWS; r++)
	{
		double		row[2] = {r % 100, any_double()};
		int			nfolds = 0;

		for (int k = 0; k < N; k++)
		{
			step.value = GR_FOLD_VALUE(k, N);
			if (gr_filter_passes(&step, 1, row))
				nfolds++, counts[k]++;
		}
		ok &= nfolds == 1;
	}
	for (int k = 0; k < N; k++)
		ok &= abs(counts[k] - NROWS / N) < 200;
	check(ok && gr_row_hash(zeros[0], 2) == gr_row_hash(zeros[1], 2), "folds");
	step.value = GR_FOLD_VALUE(6, 7);
	ok = gr_filter_valid(&step, 1, 2) && !gr_filter_valid(&step, 1, 1);
	for (int k = 0; k < COUNT(bad); k++)
	{
		step.value = bad[k];
		nbad += !gr_filter_valid(&step, 1, 2);
	}
	step = (GrFilterStep) {GR_FILTER_FOLD, 0, GR_FOLD_VALUE(6, 7)};
	check(ok && nbad == COUNT(bad) && !gr_filter_valid(&step, 1, 2), "steps that are no fold");
}

/*
 * Sinks
 */

static const GrSinkOps *ops;

static GrSink *
keep(GrRowShape shape, const double *rows, int64_t nrows)
{
	GrSinkOptions options = {.shape = shape,.kind = GR_SINK_KEEP};
	GrSink	   *sink = NULL;
	GrError		err = {0};

	return ops->begin(NULL, &options, &sink, &err) && ops->send(sink, rows, nrows, &err) ? sink : NULL;
}

/* Returns the sums of an EXACT pass at 0; the caller frees them. */
static double *
sums_of(GrSink *sink, GrRowShape shape)
{
	double	   *sums = malloc(gr_pass_nsums(GR_PASS_EXACT, shape.nfeatures) * sizeof(double));
	double	   *zeros = calloc((size_t) gr_nterms(shape.nfeatures), sizeof(double));
	GrPass		pass = {
		.kind = GR_PASS_EXACT,.shape = shape,.distribution = {.link = GR_IDENTITY},.beta = zeros,.shift = zeros,
		.linear = true
	};
	GrError		err = {0};

	gr_pass_clear(GR_PASS_EXACT, shape.nfeatures, sums);
	if (!sum_pass(ops, sink, &pass, sums, NULL, &err))
		sums[0] = NAN;
	free(zeros);
	return sums;
}

/* Checks that passes over derived rows have the bits of passes over the same rows sent. */
static void
test_sink(const Sample *sample, int nrows)
{
	GrDerivation *d = sample_derivation(sample);
	GrRowShape	shape = gr_derived_shape(d);
	size_t		sums_nbytes = gr_pass_nsums(GR_PASS_EXACT, shape.nfeatures) * sizeof(double);
	GrRowRules	rules = {GR_GAUSSIAN, GR_PRIOR_WEIGHTS, 0};
	double	   *rows = sample_rows(sample, nrows);
	double	   *want = malloc((size_t) nrows * gr_row_nbytes(shape) + 1);
	GrSinkOptions options = {0};
	GrDeriveCounts counts;
	GrDeriveCounts alone;
	GrDeriveCounts want_counts = {0};
	GrError		err = {0};
	GrSink	   *kept = keep(gr_plain_shape(d->ncolumns - 1), rows, nrows);
	GrSink	   *derived = NULL;
	GrSink	   *sent = keep(shape, want, derive_plainly(d, rows, nrows, want, &want_counts));
	bool		ok = ops->derive(kept, &(GrDeriveTask) {d, rules, &options, &derived, &counts}, NULL, &err) &&
		ops->derive(kept, &(GrDeriveTask) {d, rules, &options, NULL, &alone}, NULL, &err);
	double	   *got_sums;
	double	   *want_sums;

	if (gr_has_totals(shape, rules))
		gr_totals_add(&want_counts.totals, want, want_counts.nrows, shape, rules);
	if (check(ok && sent != NULL && memcmp(&counts, &want_counts, sizeof(counts)) == 0 &&
			  memcmp(&counts, &alone, sizeof(counts)) == 0, "%s: %d rows in a sink, and counted alone: %s",
			  sample->name, nrows, err.detail))
	{
		got_sums = sums_of(derived, shape);
		want_sums = sums_of(sent, shape);
		check(memcmp(got_sums, want_sums, sums_nbytes) == 0 && got_sums[0] == (double) counts.nrows,
			  "%s: a pass over them", sample->name);
		free(got_sums);
		free(want_sums);
	}
	ops->end(kept);
	ops->end(derived);
	ops->end(sent);
	free(rows);
	free(want);
	free_blocks();
}

/* Checks that a failure names the first bad row and its first number that isn't finite. */
static void
test_bad_rows(void)
{
	double		rows[200][3];
	int			columns[] = {0, 1};
	GrDeriveOptions options = {
		.ncolumns = 3,.response = 2,.weight = -1,.offset = -1,.key = -1,.columns = columns,.nfeatures = 2
	};
	GrRowRules	rules = {GR_BINOMIAL, GR_PRIOR_WEIGHTS, 0};
	GrError		err = {0};
	GrDerivation *d = gr_derivation_make(&options, memory, &err);
	GrSinkOptions sink_options = {0};
	GrDeriveCounts counts;
	GrSink	   *kept;
	GrSink	   *derived = NULL;

	for (int r = 0; r < 200; r++)
		memcpy(rows[r], (double[]) {r, r, r % 2}, sizeof(rows[r]));
	rows[150][1] = INFINITY;
	rows[120][2] = 0.25;
	kept = keep(gr_plain_shape(2), rows[0], 200);
	check(!ops->derive(kept, &(GrDeriveTask) {d, rules, &sink_options, &derived, &counts}, NULL, &err) &&
		  err.status == GR_NOT_BINARY && err.where == 2 && err.value == 0.25, "a response that isn't one");
	ops->end(derived);
	ops->end(kept);
	rows[20][1] = -INFINITY;
	kept = keep(gr_plain_shape(2), rows[0], 200);
	memset(&err, 0, sizeof(err));
	check(!ops->derive(kept, &(GrDeriveTask) {d, rules, &sink_options, NULL, &counts}, NULL, &err) &&
		  err.status == GR_NOT_FINITE && err.where == 1, "a number that isn't finite");
	memset(&err, 0, sizeof(err));
	options.ncolumns = 4;
	d = gr_derivation_make(&options, memory, &err);
	check(!ops->derive(kept, &(GrDeriveTask) {d, rules, &sink_options, NULL, &counts}, NULL, &err) &&
		  err.status == GR_INVALID,
		  "a derivation of other rows");
	ops->end(kept);
	free_blocks();
}

static void
test_contract(void)
{
	const Sample *sample = &samples[0];
	GrDerivation *d = sample_derivation(sample);
	GrRowRules	rules = {GR_GAUSSIAN, GR_PRIOR_WEIGHTS, 0};
	double	   *rows = sample_rows(sample, 100000);
	GrSink	   *kept = keep(gr_plain_shape(d->ncolumns - 1), rows, 100000);
	GrSink	   *derived = NULL;
	Stopper		stopper = {0, 1};
	GrHost		host = {.canceled = stop,.arg = &stopper};
	GrSinkOptions options = {.memory_limit = 100000};
	GrDeriveCounts counts;
	GrError		err = {0};

	check(!ops->derive(kept, &(GrDeriveTask) {d, rules, &options, &derived, &counts}, NULL, &err) &&
		  err.status == GR_NO_MEMORY &&
		  err.bytes_needed > 100000, "within a limit");
	ops->end(derived);
	memset(&err, 0, sizeof(err));
	check(!ops->derive(kept, &(GrDeriveTask) {d, rules, &options, NULL, &counts}, &host, &err) &&
		  err.status == GR_CANCELED,
		  "canceled");
	memset(&err, 0, sizeof(err));
	ops->end(kept);
	kept = keep(gr_plain_shape(d->ncolumns - 1), rows, 0);
	check(ops->derive(kept, &(GrDeriveTask) {d, rules, &options, &derived, &counts}, NULL, &err) &&
		  counts.nrows == 0, "no rows");
	ops->end(kept);
	ops->end(derived);
	free(rows);
	free_blocks();
}

int
main(void)
{
	srandom(16);
	ops = gr_backend_cpu.sink;
	for (int k = 0; k < COUNT(designs); k++)
	{
		test_design(designs[k], false);
		test_design(designs[k], true);
	}
	for (int k = 0; k < COUNT(samples); k++)
	{
		test_fates(&samples[k], 1);
		test_fates(&samples[k], 64);
		test_fates(&samples[k], 1000);
		test_spoilt(&samples[k]);
		test_sink(&samples[k], 10);
		test_sink(&samples[k], 30000);
	}
	test_order_of_fates();
	test_key();
	test_made();
	test_filters_valid();
	test_fold_numbers();
	test_folds();
	test_bad_rows();
	test_contract();
	return unit_done();
}
