/*
 * fuzz_filter.c: texts of row filters. A text must give a valid filter, or an error whose place is within the text or
 * none; the filter must keep the same rows one by one and in blocks.
 */
#include <math.h>

#include "compute/design/derive.h"
#include "compute/design/row_filter.h"
#include "fuzz.h"

#define NCOLUMNS 13
#define NROWS 24

static const GrMemory memory = {fuzz_take, NULL};

static bool
find_level(void *arg, int column, const char *bytes, int nbytes, double *code)
{
	(void) arg;
	must(column == 3 && nbytes >= 0);
	if (nbytes != 1 || bytes[0] < 'a' || bytes[0] > 'd')
		return false;
	*code = bytes[0] - 'a';
	return true;
}

static const GrFilterColumn names[NCOLUMNS] = {
	{"x1", GR_FILTER_NUMBER, 0}, {"x 2", GR_FILTER_NUMBER, 0}, {"b", GR_FILTER_BOOLEAN, 0}, {"g", GR_FILTER_FACTOR, 0},
	{"twice", GR_FILTER_NUMBER, 0}, {"twice", GR_FILTER_NUMBER, 0}, {"Odd\"One", GR_FILTER_NUMBER, 0},
	{"not", GR_FILTER_NUMBER, 0}, {"\xc3\xa4", GR_FILTER_NUMBER, 0}, {"i", GR_FILTER_INTEGER, 0},
	{"d", GR_FILTER_DECIMAL, GR_FILTER_ALL_DIGITS}, {"e", GR_FILTER_DECIMAL, 9}, {"r", GR_FILTER_SINGLE, 0}
};
static const GrFilterColumns columns = {NCOLUMNS, names, find_level, NULL};

static double
number_at(int row, int column)
{
	if ((row * 7 + column * 3) % 11 == 0)
		return NAN;
	if (column == 2)
		return row % 2;
	if (column == 3)
		return row % 4;
	return (row * 5 + column * 3) % 13 - 4;
}

/* Returns a bit per row that the filter keeps. Tests at_a_time rows at a time. */
static uint64_t
rows_left(const GrDerivation *d, const double *rows, int at_a_time)
{
	GrError		err = {0};
	GrDeriving *deriving = gr_deriving_begin(d, &err);
	GrDeriveCounts counts = {0};
	double		out[NROWS * 2];
	uint64_t	left = 0;

	must(deriving != NULL);
	for (int r = 0; r < NROWS; r += at_a_time)
	{
		int64_t		n = gr_derive_rows(deriving, rows + r * (NCOLUMNS + 1), at_a_time, out, &counts);

		must(n >= 0 && n <= at_a_time);
		for (int64_t k = 0; k < n; k++)
			left |= (uint64_t) 1 << (int) out[k];
	}
	gr_deriving_end(deriving);
	must(counts.nrows + counts.nfiltered == NROWS && counts.nskipped == 0);
	return left;
}

static void
use_filter(const GrFilterStep *steps, int nsteps)
{
	GrDeriveOptions options = {
		.ncolumns = NCOLUMNS + 1,.response = NCOLUMNS,.weight = -1,.offset = -1,.key = -1,.steps = steps,
		.nsteps = nsteps
	};
	double		rows[NROWS * (NCOLUMNS + 1)];
	GrError		err = {0};
	GrDerivation *d;

	for (int r = 0; r < NROWS; r++)
		for (int c = 0; c <= NCOLUMNS; c++)
			rows[r * (NCOLUMNS + 1) + c] = c == NCOLUMNS ? r : number_at(r, c);
	must(nsteps > 0 && nsteps <= GR_FILTER_STEPS_MAX && gr_filter_valid(steps, nsteps, NCOLUMNS));
	d = gr_derivation_make(&options, memory, &err);
	must(d != NULL && gr_derivation_valid(d, gr_derivation_nbytes(d), NCOLUMNS + 1));
	must(rows_left(d, rows, NROWS) == rows_left(d, rows, 1));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static GrFilterStep steps[GR_FILTER_STEPS_MAX];
	GrFilterFault fault = GR_FILTER_OK;
	GrError		err = {0};
	int			nsteps = 0;
	const char *text;

	fuzz_begin(size);
	text = fuzz_copy(data, size);
	if (gr_row_filter_read(text, size, &columns, steps, &nsteps, &fault, &err))
		use_filter(steps, nsteps);
	else
		must(fault != GR_FILTER_OK && err.status == GR_INVALID && err.where >= 0 && (size_t) err.where <= size);
	fuzz_end();
	return 0;
}
