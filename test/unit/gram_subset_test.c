/*
 * gram_subset_test.c: tests Gram matrices of some columns, taken from the matrix of all, against sums over the rows of
 * these columns alone.
 */
#include <stdlib.h>
#include <string.h>

#include "compute/glm/glm.h"
#include "compute/linalg/gram.h"
#include "gram_reference.h"
#include "unit.h"

/* 2^-98: a hundred roundings of 2^-105 or so */
#define TOLERANCE 3.2e-30
#define NCOLUMNS 7
#define NROWS 1000
#define Q (NCOLUMNS + 1)
#define TRIANGLE (Q * (Q + 1) / 2)

typedef struct Gram
{
	double		hi[TRIANGLE];
	double		lo[TRIANGLE];
} Gram;

static GrDDVector
triangle_of(Gram *gram)
{
	return (GrDDVector) {gram->hi, gram->lo};
}

static double rows[NROWS][NCOLUMNS];

/* Draws integers, whose sums are exact, or numbers with all bits in use whose sums cancel. */
static void
make_rows(bool whole)
{
	for (int r = 0; r < NROWS; r++)
		for (int c = 0; c < NCOLUMNS; c++)
			rows[r][c] = whole ? (double) (random() % 2001 - 1000) :
				2.0 * ((double) random() + (double) random() / 2147483648.0) / 2147483648.0 - 1.0;
}

/* Sums the matrix of some columns of the rows, the last of which is the response, less a shift per column. */
static void
sum_columns(Gram *gram, const int *columns, int n, const double *shift)
{
	double	   *some = malloc((size_t) (NROWS * n) * sizeof(double));
	double		of_some[NCOLUMNS];
	GrRowShape	shape = gr_plain_shape(n - 1);
	double	   *scratch = malloc(gr_gram_scratch_nbytes(shape));

	for (int r = 0; r < NROWS; r++)
		for (int k = 0; k < n; k++)
			some[r * n + k] = rows[r][columns[k]];
	for (int k = 0; k < n; k++)
		of_some[k] = shift[columns[k]];
	memset(gram, 0, sizeof(*gram));
	gr_gram_add(&(GrGram) {.hi = gram->hi,.lo = gram->lo,.shift = of_some,.nfeatures = n - 1}, some, NROWS, shape,
				scratch);
	free(some);
	free(scratch);
}

/* Chooses any columns in any order; returns how many. */
static int
choose_columns(int *columns)
{
	int			n = 1 + (int) (random() % NCOLUMNS);

	for (int k = 0; k < NCOLUMNS; k++)
		columns[k] = k;
	for (int k = 0; k < n; k++)
	{
		int			other = k + (int) (random() % (NCOLUMNS - k));
		int			c = columns[k];

		columns[k] = columns[other];
		columns[other] = c;
	}
	return n;
}

/* Returns the largest difference from sums in quadruple precision, relative to the sums of magnitudes. */
static double
subset_error(const Gram *gram, const int *columns, int n)
{
	double		worst = 0;

	for (int i = 0; i <= n; i++)
		for (int j = 0; j <= i; j++)
		{
			int64_t		k = gr_triangle(i) + j;
			Quad		sum = 0;
			Quad		size = 0;

			for (int r = 0; r < NROWS; r++)
			{
				Quad		product = (Quad) (i == 0 ? 1 : rows[r][columns[i - 1]]) *
					(j == 0 ? 1 : rows[r][columns[j - 1]]);

				sum += product;
				size += product < 0 ? -product : product;
			}
			sum -= (Quad) gram->hi[k] + gram->lo[k];
			worst = fmax(worst, fabs((double) (sum / size)));
		}
	return worst;
}

static void
test_subsets(bool whole, bool shifted)
{
	static const int all[] = {0, 1, 2, 3, 4, 5, 6};
	double		shift[NCOLUMNS];
	double		worst = 0;
	int			nother = 0;
	Gram		gram;

	make_rows(whole);
	for (int k = 0; k < NCOLUMNS; k++)
		shift[k] = shifted ? (double) (random() % 100) : 0;
	sum_columns(&gram, all, NCOLUMNS, shift);
	for (int turn = 0; turn < 300; turn++)
	{
		int			columns[NCOLUMNS];
		int			entries[Q] = {0};
		int			n = choose_columns(columns);
		size_t		nbytes = (size_t) gr_triangle(n + 1) * sizeof(double);
		Gram		subset;
		Gram		again;
		Gram		want;
		double		of_some[NCOLUMNS];
		const GrGram all_columns = {.hi = gram.hi,.lo = gram.lo,.shift = shift,.nfeatures = NCOLUMNS - 1,.nobs = NROWS};
		GrGram		some = {.hi = again.hi,.lo = again.lo,.shift = of_some,.nfeatures = n - 1};

		for (int k = 0; k < n; k++)
			entries[k + 1] = columns[k] + 1;
		nother += !gr_packed_subset(gr_dd_from(triangle_of(&gram), 0), Q, entries, n + 1, triangle_of(&subset));
		nother += !gr_gram_subset(&all_columns, columns, &some) || some.nobs != NROWS ||
			memcmp(again.hi, subset.hi, nbytes) != 0 || memcmp(again.lo, subset.lo, nbytes) != 0;
		for (int k = 0; k < n; k++)
			nother += of_some[k] != shift[columns[k]];
		sum_columns(&want, columns, n, shift);
		if (whole)
			nother += memcmp(subset.hi, want.hi, nbytes) != 0 || memcmp(subset.lo, want.lo, nbytes) != 0;
		else
			worst = fmax(worst, subset_error(&subset, columns, n));
	}
	check(nother == 0 && worst < TOLERANCE, "300 subsets of %s%s: %d are others, %.2g", whole ? "whole numbers" :
		  "numbers", shifted ? ", shifted" : "", nother, worst);
}

/* Checks that a pass's sums contain the matrix. */
static void
test_pass(void)
{
	static const int all[] = {0, 1, 2, 3, 4, 5, 6};
	static const double zeros[NCOLUMNS + 1];
	GrRowShape	shape = gr_plain_shape(NCOLUMNS - 1);
	GrPass		pass = {
		.kind = GR_PASS_EXACT,.shape = shape,.distribution = {.link = GR_IDENTITY},.beta = zeros,.shift = zeros,
		.linear = true
	};
	double	   *sums = malloc(gr_pass_nsums(GR_PASS_EXACT, NCOLUMNS - 1) * sizeof(double));
	double	   *scratch = malloc(gr_pass_scratch_nbytes(GR_PASS_EXACT, shape));
	const double *hi = sums + GR_SUM_HEAD;
	int			entries[Q] = {0};
	Gram		want;
	Gram		got;

	make_rows(true);
	gr_pass_clear(GR_PASS_EXACT, NCOLUMNS - 1, sums);
	gr_pass_add(&pass, sums, rows[0], NROWS, scratch);
	sum_columns(&want, all, NCOLUMNS, zeros);
	for (int k = 1; k < Q; k++)
		entries[k] = k + 1;
	check(gr_packed_subset((GrDDConstVector) {hi, hi + gr_triangle(Q + 1)}, Q + 1, entries, Q, triangle_of(&got)) &&
		  memcmp(&got, &want, sizeof(got)) == 0, "the sums of a pass");
	free(sums);
	free(scratch);
}

static void
test_entries(void)
{
	Gram		gram = {{0}, {0}};
	Gram		subset = {{1}, {1}};
	GrDDConstVector from = gr_dd_from(triangle_of(&gram), 0);
	GrDDVector	to = triangle_of(&subset);
	double		shift[2] = {7, 7};
	GrGram		all = {.hi = gram.hi,.lo = gram.lo,.nfeatures = NCOLUMNS - 1};
	GrGram		some = {.hi = subset.hi,.lo = subset.lo,.shift = shift,.nfeatures = 1};

	check(!gr_packed_subset(from, Q, (int[]) {0, Q}, 2, to) && subset.hi[0] == 1,
		  "an entry too far");
	check(!gr_packed_subset(from, Q, (int[]) {-1}, 1, to) && subset.lo[0] == 1,
		  "none before the first");
	check(!gr_gram_subset(&all, (int[]) {0, NCOLUMNS}, &some) && !gr_gram_subset(&all, (int[]) {-1, 0}, &some) &&
		  subset.hi[0] == 1 && shift[0] == 7, "a column that there is not");
	check(gr_gram_subset(&all, (int[]) {0, 1}, &some) && shift[0] == 0 && shift[1] == 0, "no shift is one of 0");
	gram.hi[0] = 3;
	gram.hi[1] = 4;
	gram.hi[2] = 5;
	check(gr_packed_subset(from, 2, (int[]) {1, 0, 1}, 3, to) && subset.hi[0] == 5 &&
		  subset.hi[1] == 4 && subset.hi[2] == 3 && subset.hi[3] == 5 && subset.hi[4] == 4 && subset.hi[5] == 5,
		  "an entry twice");
}

int
main(void)
{
	srandom(16);
	test_subsets(true, false);
	test_subsets(true, true);
	test_subsets(false, false);
	test_pass();
	test_entries();
	return unit_done();
}
