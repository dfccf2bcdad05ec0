/*
 * deaf.c: deaf(i int, ms int) is i. In a parallel worker it takes so long, and hears nothing meanwhile: a worker that
 * a processor has been taken from, while the statement that it is of has come to its end.
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
