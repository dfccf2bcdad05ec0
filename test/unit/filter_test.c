/*
 * filter_test.c: tests filters: the rows for which SQLite finds them true, row by row and in blocks, and errors with
 * their positions.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "compute/design/derive_row.h"
#include "compute/design/filter_constant.h"
#include "compute/design/row_filter.h"
#include "derive_rows.h"
#include "filter_cases.h"

static bool
find_level(void *arg, int column, const char *bytes, int nbytes, double *code)
{
	(void) arg;
	for (int k = 0; k < COUNT(filter_levels) && column == 3; k++)
		if ((int) strlen(filter_levels[k]) == nbytes && memcmp(filter_levels[k], bytes, (size_t) nbytes) == 0)
		{
			*code = k;
			return true;
		}
	return false;
}

static const GrFilterColumn filter_columns[] = {
	{"x1", GR_FILTER_NUMBER, 0}, {"x 2", GR_FILTER_NUMBER, 0}, {"b", GR_FILTER_BOOLEAN, 0}, {"g", GR_FILTER_FACTOR, 0},
	{"twice", GR_FILTER_NUMBER, 0}, {"twice", GR_FILTER_NUMBER, 0}, {"Odd\"One", GR_FILTER_NUMBER, 0},
	{"not", GR_FILTER_NUMBER, 0}, {"\xc3\xa4", GR_FILTER_NUMBER, 0}, {"r", GR_FILTER_SINGLE, 0},
	{"i", GR_FILTER_INTEGER, GR_FILTER_ALL_DIGITS}, {"l", GR_FILTER_INTEGER, 0},
	{"d", GR_FILTER_DECIMAL, GR_FILTER_ALL_DIGITS}, {"e", GR_FILTER_DECIMAL, 9}
};
static const GrFilterColumns columns = {COUNT(filter_columns), filter_columns, find_level, NULL};

static GrFilterStep steps[GR_FILTER_STEPS_MAX];

static bool
read_filter(const char *text, size_t nbytes, int *nsteps, GrFilterFault *fault, GrError *err)
{
	/* has no terminating 0 */
	char	   *copy = memcpy(memory.take(memory.arg, nbytes + (nbytes == 0)), text, nbytes);

	memset(err, 0, sizeof(*err));
	return gr_row_filter_read(copy, nbytes, &columns, steps, nsteps, fault, err);
}

/* Returns a bit per row that a derivation with the filter keeps. */
static uint64_t
derived_rows(int nsteps)
{
	double		rows[COUNT(filter_rows)][5];
	double		out[COUNT(filter_rows)];
	GrDeriveOptions options = {
		.ncolumns = 5,.response = 4,.weight = -1,.offset = -1,.key = -1,.steps = steps,.nsteps = nsteps
	};
	GrError		err = {0};
	GrDerivation *d = gr_derivation_make(&options, memory, &err);
	GrDeriving *deriving = gr_deriving_begin(d, &err);
	GrDeriveCounts counts = {0};
	uint64_t	found = 0;
	int64_t		n;

	for (int r = 0; r < COUNT(filter_rows); r++)
	{
		memcpy(rows[r], filter_rows[r], sizeof(filter_rows[r]));
		rows[r][4] = r;
	}
	n = gr_derive_rows(deriving, rows[0], COUNT(filter_rows), out, &counts);
	for (int64_t k = 0; k < n; k++)
		found |= (uint64_t) 1 << (int) out[k];
	gr_deriving_end(deriving);
	return found;
}

static void
test_cases(void)
{
	int			nwrong = 0;

	for (int k = 0; k < COUNT(filter_cases); k++)
	{
		GrFilterFault fault;
		GrError		err;
		uint64_t	found = 0;
		int			nsteps;
		bool		ok = read_filter(filter_cases[k].text, strlen(filter_cases[k].text), &nsteps, &fault, &err) &&
			gr_filter_valid(steps, nsteps, 4);

		for (int r = 0; ok && r < COUNT(filter_rows); r++)
			found |= (uint64_t) (gr_filter_passes(steps, nsteps, filter_rows[r]) ? 1 : 0) << r;
		if (ok && found == filter_cases[k].rows && derived_rows(nsteps) == found)
			continue;
		nwrong++;
		printf("# %s: %s\n", filter_cases[k].text, err.detail);
	}
	check(nwrong == 0, "%d filters, %d of them wrong", COUNT(filter_cases), nwrong);
	free_blocks();
}

static const struct
{
	const char *text;
	int			nsteps;
	GrFilterStep last;
}			readings[] = {
	{"\"Odd\"\"One\" < 1", 1, {GR_FILTER_LT, 6, 1}},
	{"\"not\" = 2", 1, {GR_FILTER_EQ, 7, 2}},
	{"\xc3\xa4 > -0", 1, {GR_FILTER_GT, 8, -0.0}},
	{"x1 = 0.1", 1, {GR_FILTER_EQ, 0, 0x1.999999999999ap-4}},
	{"x1 = 4.9e-324", 1, {GR_FILTER_EQ, 0, 0x1p-1074}},
	{"x1 = -1.7976931348623157e308", 1, {GR_FILTER_EQ, 0, -0x1.fffffffffffffp1023}},
	{"x1=9007199254740993", 1, {GR_FILTER_EQ, 0, 0x1p53}},
	{"g = 'it''s'", 1, {GR_FILTER_EQ, 3, 2}},
	{"g <> ''", 1, {GR_FILTER_NE, 3, -1}},
	{"b", 1, {GR_FILTER_NE, 2, 0}},
	{"NOT NOT b", 1, {GR_FILTER_NE, 2, 0}},
	{"not not not b", 2, {GR_FILTER_NOT, 0, 0}},
	{"x1 BETWEEN 1 AND 2", 3, {GR_FILTER_AND, 0, 0}},
	{"(((true)))", 1, {GR_FILTER_TRUE, 0, 0}},
	{"3 < x1", 1, {GR_FILTER_GT, 0, 3}},
	{"-3 >= x1", 1, {GR_FILTER_LE, 0, -3}},
	{"'b' = g", 1, {GR_FILTER_EQ, 3, 1}},
	{"true = b", 1, {GR_FILTER_EQ, 2, 1}},
	{"x1 = NULL", 1, {GR_FILTER_NULL, 0, 0}},
	{"null", 1, {GR_FILTER_NULL, 0, 0}},
	{"x1 IN (NULL, 2)", 3, {GR_FILTER_OR, 0, 0}},
	/* real: constants of a list of several are rounded to float4 */
	{"r = 0.1", 1, {GR_FILTER_EQ, 9, 0x1.999999999999ap-4}},
	{"r IN (0.1)", 1, {GR_FILTER_EQ, 9, 0x1.999999999999ap-4}},
	{"NOT r IN (NULL, 0.1) OR r IN (NULL, 0.1)", 8, {GR_FILTER_OR, 0, 0}},
	/* integers: 2.00...01 is rounded to 2, and 2 is less than it */
	{"i < 2.00000000000000000001", 1, {GR_FILTER_LE, 10, 2}},
	{"i >= 2.00000000000000000001", 1, {GR_FILTER_GT, 10, 2}},
	{"i >= 1.99999999999999999999", 1, {GR_FILTER_GE, 10, 2}},
	{"i > -2.00000000000000000001", 1, {GR_FILTER_GE, 10, -2}},
	{"i = 2.00000000000000000001", 1, {GR_FILTER_LT, 10, -0x1.fffffffffffffp1023}},
	{"i <> 2.00000000000000000001", 1, {GR_FILTER_GE, 10, -0x1.fffffffffffffp1023}},
	{"i = 20e-1", 1, {GR_FILTER_EQ, 10, 2}},
	{"i = 9007199254740993", 1, {GR_FILTER_LT, 10, -0x1.fffffffffffffp1023}},
	{"l <= 9007199254740991", 1, {GR_FILTER_LE, 11, 0x1.fffffffffffffp52}},
	/* numerics with at most 15 digits, and longer ones */
	{"d = 0.10", 1, {GR_FILTER_EQ, 12, 0x1.999999999999ap-4}},
	{"d = 0.10000000000000000001", 1, {GR_FILTER_LT, 12, -0x1.fffffffffffffp1023}},
	{"d <= 0.09999999999999999999", 1, {GR_FILTER_LT, 12, 0x1.999999999999ap-4}},
	{"d > 0.09999999999999999999", 1, {GR_FILTER_GE, 12, 0x1.999999999999ap-4}},
	{"e > 123456.789", 1, {GR_FILTER_GT, 13, 0x1.e240c9fbe76c9p16}},
	{"e > 0.00e5", 1, {GR_FILTER_GT, 13, 0}}
};

/* Filters whose constants the column's type may have rounded */
static const char *const rounded[] = {
	"l = 9007199254740992", "-9007199254740993 < l", "l IN (1, 1e17)", "e > 1234567.8901"
};

static void
test_rounded(void)
{
	for (int k = 0; k < COUNT(rounded); k++)
	{
		GrFilterFault fault;
		GrError		err;
		int			nsteps;

		check(!read_filter(rounded[k], strlen(rounded[k]), &nsteps, &fault, &err) && fault == GR_FILTER_ROUNDED,
			  "%s: %s", rounded[k], err.detail);
	}
	/* as a numeric, a third has no short decimal for its float8; a numeric just above 0.1 has the float8 of 0.1 */
	check(gr_filter_digits(GR_FILTER_ALL_DIGITS, 15, 0.1) == GR_FILTER_ALL_DIGITS, "15 digits are exact");
	check(gr_filter_digits(GR_FILTER_ALL_DIGITS, 18, 1.0 / 3.0) == 15, "a third is no short decimal's float8");
	check(gr_filter_digits(15, 22, 0.1) == 0, "0.1 may be another value");
	check(gr_filter_digits(15, 22, 123.4567) == 6, "123.4567 may be another value");
	check(gr_filter_digits(15, 3, 1e-300) == 0, "float8 near their least are not told apart");
	check(gr_filter_digits(3, 0, 0) == 3, "0 is 0");
	free_blocks();
}

static void
test_readings(void)
{
	for (int k = 0; k < COUNT(readings); k++)
	{
		GrFilterFault fault;
		GrError		err;
		int			nsteps;
		bool		ok = read_filter(readings[k].text, strlen(readings[k].text), &nsteps, &fault, &err);

		check(ok && fault == GR_FILTER_OK && nsteps == readings[k].nsteps &&
			  memcmp(&steps[nsteps - 1], &readings[k].last, sizeof(GrFilterStep)) == 0, "%s: %s", readings[k].text,
			  err.detail);
	}
	free_blocks();
}

static const struct
{
	const char *text;
	GrFilterFault fault;
	int			where;
	const char *detail;
}			faults[] = {
	{"", GR_FILTER_SYNTAX, 0, "syntax error at end of filter"},
	{"  ", GR_FILTER_SYNTAX, 2, "syntax error at end of filter"},
	{"x1 >", GR_FILTER_SYNTAX, 4, "syntax error at end of filter"},
	{"x1 > 3 AND", GR_FILTER_SYNTAX, 10, "syntax error at end of filter"},
	{"x1 > 3 x1", GR_FILTER_SYNTAX, 7, "syntax error at or near \"x1\""},
	{"x1 > 3)", GR_FILTER_SYNTAX, 6, "syntax error at or near \")\""},
	{"(x1 > 3", GR_FILTER_SYNTAX, 7, "syntax error at end of filter"},
	{"x1 == 3", GR_FILTER_SYNTAX, 4, "syntax error at or near \"=\""},
	{"x1 => 3", GR_FILTER_SYNTAX, 4, "syntax error at or near \">\""},
	{"x1 > - - 3", GR_FILTER_SYNTAX, 7, "syntax error at or near \"-\""},
	{"x1 > 3and b", GR_FILTER_SYNTAX, 5, "syntax error at or near \"3and\""},
	{"x1 > 1_000", GR_FILTER_SYNTAX, 5, "syntax error at or near \"1_000\""},
	{"x1 > 0x1f", GR_FILTER_SYNTAX, 5, "syntax error at or near \"0x1f\""},
	{"x1 > 1..2", GR_FILTER_SYNTAX, 5, "syntax error at or near \"1..2\""},
	{"x1 > 1e", GR_FILTER_SYNTAX, 5, "syntax error at or near \"1e\""},
	{"x1 > .", GR_FILTER_SYNTAX, 5, "syntax error at or near \".\""},
	{"x1 > x1", GR_FILTER_SYNTAX, 5, "syntax error at or near \"x1\""},
	{"x1 + 1 > 3", GR_FILTER_SYNTAX, 3, "syntax error at or near \"+\""},
	{"x1 IS 3", GR_FILTER_SYNTAX, 6, "syntax error at or near \"3\""},
	{"(b) IS NULL", GR_FILTER_SYNTAX, 4, "syntax error at or near \"IS\""},
	{"x1 NOT 3", GR_FILTER_SYNTAX, 7, "syntax error at or near \"3\""},
	{"x1 BETWEEN 3", GR_FILTER_SYNTAX, 12, "syntax error at end of filter"},
	{"x1 BETWEEN 3 OR 4", GR_FILTER_SYNTAX, 13, "syntax error at or near \"OR\""},
	{"x1 IN ()", GR_FILTER_SYNTAX, 7, "syntax error at or near \")\""},
	{"x1 IN (1,)", GR_FILTER_SYNTAX, 9, "syntax error at or near \")\""},
	{"x1 IN 1", GR_FILTER_SYNTAX, 6, "syntax error at or near \"1\""},
	{"g = 'a", GR_FILTER_SYNTAX, 4, "syntax error at or near \"'\""},
	{"\"\" = 1", GR_FILTER_SYNTAX, 0, "syntax error at or near \"\"\""},
	{"x1 > 3; DROP", GR_FILTER_SYNTAX, 6, "syntax error at or near \";\""},
	{"x1 > 3 -- no", GR_FILTER_SYNTAX, 7, "syntax error at or near \"-\""},
	{"and = 1", GR_FILTER_SYNTAX, 0, "syntax error at or near \"and\""},
	{"f(x1) > 1", GR_FILTER_UNKNOWN, 0, "column \"f\" does not exist"},
	{"x1 > 3 AND x9 < 1", GR_FILTER_UNKNOWN, 11, "column \"x9\" does not exist"},
	{"\"X1\" > 3", GR_FILTER_UNKNOWN, 0, "column \"X1\" does not exist"},
	{"odd\"one < 1", GR_FILTER_UNKNOWN, 0, "column \"odd\" does not exist"},
	{"twice > 3", GR_FILTER_AMBIGUOUS, 0, "column reference \"twice\" is ambiguous"},
	{"x1 = 'a'", GR_FILTER_MISMATCH, 0, "column \"x1\" must be compared with a number"},
	{"x1 = true", GR_FILTER_MISMATCH, 0, "column \"x1\" must be compared with a number"},
	{"b = 1", GR_FILTER_MISMATCH, 0, "column \"b\" must be compared with true or false"},
	{"b OR g = 1", GR_FILTER_MISMATCH, 5, "column \"g\" must be compared with a string"},
	{"g < 'b'", GR_FILTER_MISMATCH, 0, "column \"g\" is a factor, whose levels have no order"},
	{"g BETWEEN 'a' AND 'b'", GR_FILTER_MISMATCH, 0, "column \"g\" is a factor, whose levels have no order"},
	{"x1", GR_FILTER_MISMATCH, 0, "column \"x1\" is not boolean"},
	{"NOT g", GR_FILTER_MISMATCH, 4, "column \"g\" is not boolean"},
	{"x1 > 1e400", GR_FILTER_RANGE, 5, "\"1e400\" is out of range for type double precision"},
	{"x1 > -1e-400", GR_FILTER_RANGE, 6, "\"1e-400\" is out of range for type double precision"}
};

static void
test_faults(void)
{
	for (int k = 0; k < COUNT(faults); k++)
	{
		GrFilterFault fault;
		GrError		err;
		int			nsteps;
		bool		ok = read_filter(faults[k].text, strlen(faults[k].text), &nsteps, &fault, &err);

		check(!ok && fault == faults[k].fault && err.status == GR_INVALID && err.where == faults[k].where &&
			  strcmp(err.detail, faults[k].detail) == 0 && nsteps == 0, "%s: %s at %lld", faults[k].text, err.detail,
			  (long long) err.where);
	}
	free_blocks();
}

/* Reads n times first, then middle, then n times last, as one filter. */
static bool
read_repeated(const char *first, const char *middle, const char *last, int n, GrFilterFault *fault, GrError *err)
{
	size_t		size = (size_t) n * (strlen(first) + strlen(last)) + strlen(middle);
	char	   *text = memory.take(memory.arg, size + 1);
	char	   *at = text;
	int			nsteps;

	for (int k = 0; k < n; k++, at += strlen(first))
		memcpy(at, first, strlen(first));
	memcpy(at, middle, strlen(middle));
	at += strlen(middle);
	for (int k = 0; k < n; k++, at += strlen(last))
		memcpy(at, last, strlen(last));
	return read_filter(text, size, &nsteps, fault, err) && gr_filter_valid(steps, nsteps, COUNT(filter_columns));
}

static void
test_limits(void)
{
	GrFilterFault fault;
	GrError		err;

	check(read_repeated("(", "b", ")", GR_ROW_FILTER_DEPTH_MAX, &fault, &err), "as many brackets as can be");
	check(!read_repeated("(", "b", ")", GR_ROW_FILTER_DEPTH_MAX + 1, &fault, &err) && fault == GR_FILTER_LIMIT &&
		  err.where == GR_ROW_FILTER_DEPTH_MAX, "one more: %s", err.detail);
	check(read_repeated("b or b and (", "b", ")", GR_ROW_FILTER_DEPTH_MAX, &fault, &err),
		  "and two values left in each");
	check(!read_repeated("(", "", "", 60000, &fault, &err) && fault == GR_FILTER_LIMIT, "thousands: %s", err.detail);
	check(read_repeated("b and ", "b", "", GR_FILTER_STEPS_MAX / 2 - 1, &fault, &err), "as many steps as can be");
	check(!read_repeated("b and ", "b", "", GR_FILTER_STEPS_MAX / 2, &fault, &err) && fault == GR_FILTER_LIMIT,
		  "more: %s", err.detail);
	check(read_repeated("not ", "b", "", 16000, &fault, &err), "any number of negations");
	check(!read_repeated("", "b", " ", GR_ROW_FILTER_NBYTES_MAX, &fault, &err) && fault == GR_FILTER_LIMIT,
		  "too many bytes: %s", err.detail);
	check(!read_repeated("", "x1 > ", "1", 501, &fault, &err) && fault == GR_FILTER_LIMIT && err.where == 5,
		  "too many digits: %s", err.detail);
	check(!read_repeated("q", "", "", 101, &fault, &err) && fault == GR_FILTER_UNKNOWN &&
		  strcmp(err.detail, "column does not exist") == 0, "a long name");
	check(read_repeated("", "g = '", "a", 2000, &fault, &err) == false && fault == GR_FILTER_SYNTAX, "without an end");
	check(read_repeated("x", "", "", 0, &fault, &err) == false, "nothing");
	free_blocks();
}

/* Reads random sequences of words; a sanitizer looks for harm. */
static void
test_noise(void)
{
	static const char *const pieces[] = {
		"x1", "\"x 2\"", "b", "g", "and", "or", "not", "is", "null", "in", "between", "true", "(", ")", ",", "'a'", "'",
		"\"", "1", "-", ".5", "1e9", "=", "<>", "<=", ">", "\xff", "\n", "--", "1.", "!", "!="
	};
	int			nread = 0;

	for (int k = 0; k < 50000; k++)
	{
		char		text[200];
		size_t		n = 0;
		GrFilterFault fault;
		GrError		err;
		int			nsteps;

		for (int i = (int) (random() % 12); i >= 0; i--)
		{
			const char *piece = pieces[random() % COUNT(pieces)];

			memcpy(text + n, piece, strlen(piece));
			n += strlen(piece);
			if (random() % 3 > 0)
				text[n++] = ' ';
		}
		if (read_filter(text, n, &nsteps, &fault, &err))
			nread += gr_filter_valid(steps, nsteps, COUNT(filter_columns)) ? 1 : -100000;
		else if (err.where < 0 || err.where > (int64_t) n || fault == GR_FILTER_OK)
			nread = -100000;
		free_blocks();
	}
	check(nread > 100, "of random texts %d are filters", nread);
}

int
main(void)
{
	srandom(16);
	test_cases();
	test_readings();
	test_rounded();
	test_faults();
	test_limits();
	test_noise();
	return unit_done();
}
