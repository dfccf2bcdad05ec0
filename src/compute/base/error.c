/*
 * error.c: records the first failure in a GrError, and words a lack of device memory.
 */
#include "compute/base/compute.h"

#include <stdarg.h>
#include <stdio.h>

bool
gr_fail(GrError *err, GrStatus status, int64_t where, const char *fmt,...)
{
	va_list		args;

	if (err->status != GR_OK)
		return false;
	err->status = status;
	err->where = where;
	va_start(args, fmt);
	vsnprintf(err->detail, sizeof(err->detail), fmt, args);
	va_end(args);
	return false;
}

void
gr_describe_shortage(const GrError *err, char *text, size_t size)
{
	char		waited[64] = "";

	if (err->value > 0)
		snprintf(waited, sizeof(waited), " after %.1f s of waiting", err->value);
	if (err->bytes_needed > 0)
		snprintf(text, size, "%zu bytes are needed and %zu are free%s", err->bytes_needed, err->bytes_free, waited);
	else
		snprintf(text, size, "%s%s", err->detail, waited);
}
