/*
 * thread.h: POSIX threads as every module here starts them, with all signals blocked, and deadlines on a monotonic
 * clock. The consumer of a ring and a device service start theirs here.
 */
#ifndef GPUREG_THREAD_H
#define GPUREG_THREAD_H

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <time.h>

/*
 * Clock of all waits. Unlike the clock of the day it is never set back, which would lengthen a wait. sem_clockwait()
 * and similar functions of glibc 2.31 accept it.
 */
#define GR_CLOCK CLOCK_MONOTONIC

/* Returns the time ns nanoseconds from now on GR_CLOCK; ns: less than a second. */
static inline struct timespec
gr_deadline(int64_t ns)
{
	struct timespec until;

	(void) clock_gettime(GR_CLOCK, &until);
	until.tv_nsec += ns;
	if (until.tv_nsec >= 1000000000)
	{
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	return until;
}

/* Returns the seconds on GR_CLOCK. */
static inline double
gr_seconds(void)
{
	struct timespec now;

	(void) clock_gettime(GR_CLOCK, &now);
	return (double) now.tv_sec + (double) now.tv_nsec * 1e-9;
}

/*
 * pthread_create() for a thread with all signals blocked, so that signals reach the caller's thread, where the server's
 * handlers run. Returns 0 or an error number.
 */
static inline int
gr_thread_create(pthread_t *thread, void *(*function) (void *), void *arg)
{
	sigset_t	all;
	sigset_t	saved;
	int			code;

	(void) sigfillset(&all);
	code = pthread_sigmask(SIG_SETMASK, &all, &saved);
	if (code != 0)
		return code;
	code = pthread_create(thread, NULL, function, arg);
	(void) pthread_sigmask(SIG_SETMASK, &saved, NULL);
	return code;
}

#endif							/* GPUREG_THREAD_H */
