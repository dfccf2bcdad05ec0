/*
 * deaf.c: deaf(i int, ms int) returns i. In a parallel worker it takes ms and ignores signals meanwhile, like a worker
 * that gets no processor while its statement comes to its end.
 */
#include "postgres.h"

#include <errno.h>
#include <time.h>

#include "access/parallel.h"
#include "fmgr.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(deaf);

Datum
deaf(PG_FUNCTION_ARGS)
{
	int32		ms = PG_GETARG_INT32(1);
	struct timespec left = {.tv_sec = ms / 1000,.tv_nsec = ms % 1000 * 1000000L};

	while (IsParallelWorker() && nanosleep(&left, &left) != 0 && errno == EINTR)
		;
	PG_RETURN_DATUM(PG_GETARG_DATUM(0));
}
