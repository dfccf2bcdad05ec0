/*
 * sink_stub.h: devices and sinks that compute nothing, count open objects, note calls, and fail at a given call; for
 * the tests of several devices as one.
 */
#ifndef GPUREG_SINK_STUB_H
#define GPUREG_SINK_STUB_H

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "compute/backend/backend.h"
#include "compute/design/derive.h"
#include "compute/request/request.h"

#define STUB_SINKS 8
#define STUB_CALLS 64

typedef struct StubSink
{
	int			number;			/* in the order of their begin, from 0 */
	int			fed[STUB_CALLS];	/* number of rows of each call of send */
	int			nfed;
	int			nread;			/* calls that were read */
	size_t		memory_limit;
	size_t		expected_nbytes;
	pthread_t	thread;			/* the thread of the last pass */
	bool		signals_blocked;	/* true if signals were blocked in thread */
	double		weight;			/* each pass adds this to each sum */
} StubSink;

static struct
{
	int			nopen;			/* open sessions and sinks */
	int			nbegun;
	StubSink   *sinks[STUB_SINKS];
	bool		slow;			/* rows are read only when they are waited for */
	bool		endless;		/* passes, except the first sink's, end only when canceled */
	int			together;		/* passes wait until this many are under way, a second at most */
	int			npassing;
	int			most;			/* the most passes under way at once */
	int			ncalls;			/* calls that can fail */
	int			fail_at;		/* number of the call that fails; 0: none */
	GrStatus	status;
	int			lost;			/* number of the sink, from 1, that loses its device in a pass; 0: none */
	int			nbroken;		/* calls that failed */
	int			ndevices;
	int			npinned;
	const char *names[STUB_SINKS];
}			stub;

static inline void
stub_reset(void)
{
	memset(&stub, 0, sizeof(stub));
	stub.status = GR_DEVICE_FAILED;
}

static inline void
stub_sleep(void)
{
	struct timespec t = {0, 100000};

	(void) nanosleep(&t, NULL);
}

/* Counts a call, and fails if its number is stub.fail_at. Calls of several threads have any order. */
static inline bool
stub_works(const char *what, GrError *err)
{
	int			number = __atomic_add_fetch(&stub.ncalls, 1, __ATOMIC_SEQ_CST);

	if (number != stub.fail_at)
		return true;
	(void) __atomic_add_fetch(&stub.nbroken, 1, __ATOMIC_SEQ_CST);
	return gr_fail(err, stub.status, number, "%s", what);
}

static inline bool
stub_begin(GrSession *session, const GrSinkOptions *options, GrSink **sink, GrError *err)
{
	StubSink   *s = calloc(1, sizeof(StubSink));

	(void) session;
	*sink = (GrSink *) s;
	stub.nopen++;
	s->number = stub.nbegun++;
	s->memory_limit = options->memory_limit;
	s->expected_nbytes = options->expected_nbytes;
	s->weight = s->number + 1;
	stub.sinks[s->number] = s;
	return stub_works("begin", err);
}

static inline bool
stub_send(GrSink *sink, const void *rows, int64_t nrows, GrError *err)
{
	StubSink   *s = (StubSink *) sink;

	(void) rows;
	if (!stub_works("send", err))
		return false;
	s->fed[s->nfed++] = (int) nrows;
	return true;
}

static inline bool
stub_sent(GrSink *sink, bool wait, int64_t *ncalls, GrError *err)
{
	StubSink   *s = (StubSink *) sink;

	if (!stub_works("sent", err))
		return false;
	if (!stub.slow)
		s->nread = s->nfed;
	else if (wait && s->nread < s->nfed)
		s->nread++;
	*ncalls = s->nread;
	return true;
}

static inline bool
stub_restart(GrSink *sink, const double *shift, GrError *err)
{
	(void) sink;
	(void) shift;
	return stub_works("restart", err);
}

static inline bool
stub_finish(GrSink *sink, GrDDVector triangle, GrError *err)
{
	(void) sink;
	for (int k = 0; k < gr_triangle(gr_norder(1)); k++)
		gr_dd_set(triangle, k, gr_dd(1));
	return stub_works("finish", err);
}

static inline bool
stub_work(StubSink *s, const GrHost *host, GrError *err)
{
	sigset_t	blocked;
	int			now = __atomic_add_fetch(&stub.npassing, 1, __ATOMIC_SEQ_CST);
	int			most = __atomic_load_n(&stub.most, __ATOMIC_SEQ_CST);
	bool		canceled = false;

	s->thread = pthread_self();
	(void) pthread_sigmask(SIG_SETMASK, NULL, &blocked);
	s->signals_blocked = sigismember(&blocked, SIGINT) == 1 && sigismember(&blocked, SIGTERM) == 1 &&
		sigismember(&blocked, SIGUSR1) == 1;
	while (now > most && !__atomic_compare_exchange_n(&stub.most, &most, now, false, __ATOMIC_SEQ_CST,
													  __ATOMIC_SEQ_CST))
		;
	for (int turn = 0; turn < 10000 && __atomic_load_n(&stub.most, __ATOMIC_SEQ_CST) < stub.together; turn++)
		stub_sleep();
	do
	{
		canceled = gr_canceled(host);
		stub_sleep();
	} while (!canceled && stub.endless && s->number > 0);
	(void) __atomic_sub_fetch(&stub.npassing, 1, __ATOMIC_SEQ_CST);
	if (stub.lost == s->number + 1)
		return gr_fail(err, GR_DEVICE_LOST, s->number, "lost");
	if (canceled)
		return gr_fail(err, GR_CANCELED, 0, "a pass");
	return stub_works("pass", err);
}

static inline bool
stub_sums(GrSink *sink, const GrRequest *request, double *sums, const GrHost *host, GrError *err)
{
	StubSink   *s = (StubSink *) sink;

	if (!stub_work(s, host, err))
		return false;
	sums[GR_SUM_NROWS] += s->weight;
	/* reads the request, which must exist while any part works */
	sums[GR_SUM_NONES] += gr_request_pass(request).beta[0];
	return true;
}

static inline bool
stub_change(GrSink *sink, const GrBasis *basis, const GrHost *host, GrError *err)
{
	(void) basis;
	return stub_work((StubSink *) sink, host, err);
}

/* Counts one row. */
static inline bool
stub_derive(GrSink *sink, const GrDeriveTask *task, const GrHost *host, GrError *err)
{
	if (task->derived != NULL)
	{
		*task->derived = (GrSink *) calloc(1, sizeof(StubSink));
		(void) __atomic_add_fetch(&stub.nopen, 1, __ATOMIC_SEQ_CST);
	}
	memset(task->counts, 0, sizeof(*task->counts));
	task->counts->nrows = 1;
	return stub_work((StubSink *) sink, host, err);
}

static inline void
stub_times(const GrSink *sink, GrTimes *times)
{
	double		weight = ((const StubSink *) sink)->weight;

	*times = (GrTimes) {.bytes_to_device = (int64_t) weight,.copy_s = weight,.kernel_s = 10 * weight};
}

static inline void
stub_end(GrSink *sink)
{
	if (sink == NULL)
		return;
	stub.nopen--;
	free(sink);
}

static const GrSinkOps stub_sink = {
	.begin = stub_begin,
	.send = stub_send,
	.sent = stub_sent,
	.restart = stub_restart,
	.finish = stub_finish,
	.sums = stub_sums,
	.change = stub_change,
	.derive = stub_derive,
	.times = stub_times,
	.end = stub_end
};

/*
 * Devices
 */

static inline bool
stub_count(int *ndevices, GrError *err)
{
	*ndevices = stub.ndevices;
	return stub.ndevices > 0 || gr_fail(err, GR_NO_DEVICE, 0, "none");
}

static inline bool
stub_open(GrSession **session, const GrOpenOptions *options, GrError *err)
{
	GrDeviceInfo *info = calloc(1, sizeof(GrDeviceInfo));
	int			id = options->device_id < 0 ? 0 : options->device_id;

	*session = (GrSession *) info;
	stub.nopen++;
	info->id = id;
	info->memory_total = 100;
	info->memory_free = 10;
	strcpy(info->name, stub.names[id] != NULL ? stub.names[id] : "Stub");
	return stub_works("open", err);
}

static inline void
stub_close(GrSession *session)
{
	if (session == NULL)
		return;
	stub.nopen--;
	free(session);
}

static inline const GrDeviceInfo *
stub_describe(const GrSession *session)
{
	return (const GrDeviceInfo *) session;
}

static inline bool
stub_pin(GrSession *session, void *memory, size_t nbytes, GrError *err)
{
	(void) session;
	(void) memory;
	(void) nbytes;
	stub.npinned++;
	return stub_works("pin", err);
}

static inline void
stub_unpin(GrSession *session, void *memory)
{
	(void) session;
	(void) memory;
	stub.npinned--;
}

static const GrDeviceOps stub_device = {
	.count = stub_count,
	.open = stub_open,
	.close = stub_close,
	.describe = stub_describe,
	.pin = stub_pin,
	.unpin = stub_unpin
};

#endif							/* GPUREG_SINK_STUB_H */
