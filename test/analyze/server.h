/*
 * server.h: stand-ins for the server's functions, for sources of the extension that run as threads of one program for
 * ThreadSanitizer. To be included once, after the server's headers.
 */
#ifndef ANALYZE_SERVER_H
#define ANALYZE_SERVER_H

#include <unistd.h>

#include "storage/latch.h"

/* each thread stands for a process of the server */
static __thread int process_id;
static __thread int error_level;

#undef printf
#define MyProcPid process_id

bool		atomics_lose_reads;
bool		atomics_lose_writes;
__thread volatile void *atomics_read;
__thread bool atomics_released;

volatile sig_atomic_t InterruptPending;
struct Latch *MyLatch;

void
ProcessInterrupts(void)
{
}

void
pg_usleep(long microsec)
{
	(void) usleep((useconds_t) microsec);
}

int
WaitLatch(struct Latch *latch, int wakeEvents, long timeout, uint32 wait_event_info)
{
	pg_usleep(1000);
	return WL_TIMEOUT;
}

void
ResetLatch(struct Latch *latch)
{
}

bool
errstart(int elevel, const char *domain)
{
	error_level = elevel;
	return true;
}

bool
errstart_cold(int elevel, const char *domain)
{
	return errstart(elevel, domain);
}

int
errcode(int sqlerrcode)
{
	return 0;
}

int
errmsg(const char *fmt,...)
{
	return 0;
}

int
errdetail(const char *fmt,...)
{
	return 0;
}

int
errhint(const char *fmt,...)
{
	return 0;
}

/* no error may occur here */
void
errfinish(const char *filename, int lineno, const char *funcname)
{
	if (error_level >= ERROR)
		abort();
}

/*
 * TAP
 */

static int	ntests;

static void
check(bool ok, const char *what, int number)
{
	printf("%s %d - %s %d\n", ok ? "ok" : "not ok", ++ntests, what, number);
	fflush(stdout);
}

static int
done_testing(void)
{
	printf("1..%d\n", ntests);
	return 0;
}

#endif							/* ANALYZE_SERVER_H */
