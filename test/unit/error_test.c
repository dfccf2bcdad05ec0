/*
 * error_test.c: the first failure is kept, and what is said of a lack of device memory claims no figure that isn't
 * known.
 */
#include "compute/compute.h"
#include "unit.h"

#include <string.h>

static bool
says(const GrError *err, const char *want)
{
	char		text[GR_SHORTAGE_SIZE];

	gr_describe_shortage(err, text, sizeof(text));
	return strcmp(text, want) == 0;
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
	return unit_done();
}
