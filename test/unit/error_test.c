/*
 * error_test.c: tests that the first failure is kept, and that a lack of device memory names no unknown figure.
 */
#include "compute/base/compute.h"
#include "unit.h"

#include <string.h>

static bool
says(const GrError *err, const char *want)
{
	char		text[GR_SHORTAGE_SIZE];

	gr_describe_shortage(err, text, sizeof(text));
	return strcmp(text, want) == 0;
}

/* Checks that an error names the right column for each kind of matrix, for two features, and for row -1. */
static void
check_columns(void)
{
	static const int64_t want[][6] = {
		[GR_ROWS_UNNAMED] = {GR_NO_COLUMN, GR_NO_COLUMN, GR_NO_COLUMN, GR_NO_COLUMN, GR_NO_COLUMN, GR_NO_COLUMN},
		[GR_ROWS_ENTRIES] = {GR_NO_COLUMN, GR_COLUMN_ONES, 0, 1, 2, 3},
		[GR_ROWS_TERMS] = {GR_NO_COLUMN, GR_COLUMN_ONES, 0, 1, 2, 3},
		[GR_ROWS_FEATURES] = {GR_NO_COLUMN, 0, 1, 2, 3, 4},
		[GR_ROWS_PASS] = {GR_NO_COLUMN, GR_COLUMN_ONES, GR_COLUMN_ONES, 0, 1, 2}
	};

	for (int rows = GR_ROWS_UNNAMED; rows <= GR_ROWS_PASS; rows++)
	{
		int			nwrong = 0;

		for (int64_t row = -1; row < 5; row++)
			nwrong += gr_column_of_row((GrMatrixRows) rows, row) != want[rows][row + 1];
		check(nwrong == 0, "columns of a matrix's rows, kind %d", rows);
	}
}

int
main(void)
{
	GrError		known = {.status = GR_DEVICE_MEMORY,.bytes_needed = 4096,.bytes_free = 1000};
	GrError		full = {.status = GR_DEVICE_MEMORY,.bytes_needed = 4096};
	GrError		unknown = {0};
	GrError		wide = {0};
	char		text[8];

	check(!gr_fail(&unknown, GR_DEVICE_MEMORY, 0, "%s: %s", "opening the device", "out of memory"),
		  "a failure is false");
	gr_fail(&unknown, GR_INVALID, 3, "something else");
	check(unknown.status == GR_DEVICE_MEMORY && unknown.where == 0, "the first is kept");
	check(says(&known, "4096 bytes are needed and 1000 are free"), "figures");
	check(says(&full, "4096 bytes are needed and 0 are free"), "no byte is free");
	check(says(&unknown, "opening the device: out of memory"), "without figures, what was tried");
	gr_fail(&wide, GR_DEVICE_MEMORY, 0, "%300s", "x");
	gr_describe_shortage(&wide, text, sizeof(text));
	check(strcmp(text, "       ") == 0, "cut at the buffer's end");
	check_columns();
	return unit_done();
}
