/*
 * thread.h: what more than one place asks of POSIX threads: one that no signal comes to, and waits that end.
 */
#ifndef GPUREG_THREAD_H
#define GPUREG_THREAD_H

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <time.h>

/*
 * Waits go by the clock that nobody sets, or one that is set back would make them long: sem_clockwait() and its like
 * of glibc 2.31.
 */
#define GR_CLOCK CLOCK_MONOTONIC

/* So many ns from now, less than a second */
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

/* Seconds on that clock */
static inline double
gr_seconds(void)
{
	struct timespec now;

	(void) clock_gettime(GR_CLOCK, &now);
	return (double) now.tv_sec + (double) now.tv_nsec * 1e-9;
}

/* pthread_create(), of a thread that has all signals blocked: they are the caller's, where the server's handlers are */
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
