/*
 * error.c: keeps the first failure.
 */
#include "compute/compute.h"

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
