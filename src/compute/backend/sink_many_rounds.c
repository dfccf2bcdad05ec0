/*
 * sink_many_rounds.c: runs the parts of a sink at the same time, each part except the first in a thread of its own.
 *
 * A round is a pass, a change or a derivation by all parts: the calling thread wakes the other threads, does part 0,
 * and waits. The threads read none of the caller's memory, only copies of the arguments: if the host ends the process
 * from within canceled(), which does not return, the caller's memory may be freed before the sink ends.
 */
#include "compute/backend/sink_many_rounds.h"

#include <string.h>

#include "compute/base/thread.h"

#define POLL_NS 5000000			/* between two polls of the host while other parts work, ns */

GrSinkOptions
gr_part_options(const Part *part, const GrSinkOptions *options)
{
	size_t		n = (size_t) part->many->n;
	size_t		nbeside = (size_t) part->nbeside;
	GrSinkOptions own = *options;

	own.expected_nbytes = options->expected_nbytes / n + (options->expected_nbytes % n != 0);
	/* at least 1, since 0 means no limit */
	if (options->memory_limit > 0)
		own.memory_limit = options->memory_limit < nbeside ? 1 : options->memory_limit / nbeside;
	return own;
}

static void
stop_all(ManySink *many)
{
	__atomic_store_n(&many->stops, 1, __ATOMIC_SEQ_CST);
}

static bool
stopped(void *arg)
{
	return __atomic_load_n(&((ManySink *) arg)->stops, __ATOMIC_SEQ_CST) != 0;
}

/* Argument of caller_stopped(), which the calling thread polls. After the host has said stop it is not asked again. */
typedef struct Caller
{
	ManySink   *many;
	const GrHost *host;
} Caller;

static bool
caller_stopped(void *arg)
{
	Caller	   *caller = arg;

	if (!stopped(caller->many) && gr_canceled(caller->host))
		stop_all(caller->many);
	return stopped(caller->many);
}

static bool
derive_part(Part *part, const GrHost *host)
{
	ManySink   *many = part->many;
	const Deriving *deriving = &many->deriving;
	GrSinkOptions own = gr_part_options(part, &deriving->options);
	const GrDeriveTask task = {
		.derivation = deriving->derivation,.rules = deriving->rules,.options = &own,
		.derived = deriving->derived == NULL ? NULL : &deriving->derived->parts[part - many->parts].sink,
		.counts = &part->counts
	};

	own.host = host;
	return many->ops->derive(part->sink, &task, host, &part->error);
}

static void
run_part(Part *part, const GrHost *host)
{
	ManySink   *many = part->many;

	memset(&part->error, 0, sizeof(part->error));
	switch (many->round_kind)
	{
		case ROUND_SUMS:
			part->failed = !many->ops->sums(part->sink, many->arguments, part->sums, host, &part->error);
			break;
		case ROUND_CHANGE:
			part->failed = !many->ops->change(part->sink, &many->basis, host, &part->error);
			break;
		case ROUND_DERIVE:
			part->failed = !derive_part(part, host);
			break;
	}
	/* a derivation goes on after other failures, so that its error does not depend on the parts' speed */
	if (part->failed && (many->round_kind != ROUND_DERIVE || part->error.status == GR_CANCELED))
		stop_all(many);
}

static void *
part_main(void *arg)
{
	Part	   *part = arg;
	ManySink   *many = part->many;
	const GrHost host = {.canceled = stopped,.arg = many};
	int64_t		ndone = 0;

	(void) pthread_mutex_lock(&many->mutex);
	for (;;)
	{
		while (many->round == ndone && !many->ends)
			(void) pthread_cond_wait(&many->wake, &many->mutex);
		if (many->ends)
			break;
		ndone = many->round;
		(void) pthread_mutex_unlock(&many->mutex);
		run_part(part, &host);
		(void) pthread_mutex_lock(&many->mutex);
		if (--many->nrunning == 0)
			(void) pthread_cond_signal(&many->done);
	}
	(void) pthread_mutex_unlock(&many->mutex);
	return NULL;
}

/* Starts the threads of all parts except the first, before the first round. */
static bool
start_threads(ManySink *many, GrError *err)
{
	int			code = 0;

	if (many->round > 0)
		return true;
	for (int i = 1; i < many->n && code == 0; i++)
	{
		Part	   *part = &many->parts[i];

		if (part->started)
			continue;
		code = gr_thread_create(&part->thread, part_main, part);
		part->started = code == 0;
	}
	return code == 0 || gr_fail(err, GR_NO_MEMORY, 0, "a thread for each device: %s", strerror(code));
}

/* Waits for the other parts and polls the host meanwhile. Polls without the mutex, as the host may end the process. */
static void
wait_for_parts(ManySink *many, Caller *caller)
{
	(void) pthread_mutex_lock(&many->mutex);
	while (many->nrunning > 0)
	{
		struct timespec until;

		until = gr_deadline(POLL_NS);
		(void) pthread_cond_clockwait(&many->done, &many->mutex, GR_CLOCK, &until);
		if (many->nrunning == 0)
			break;
		(void) pthread_mutex_unlock(&many->mutex);
		(void) caller_stopped(caller);
		(void) pthread_mutex_lock(&many->mutex);
	}
	(void) pthread_mutex_unlock(&many->mutex);
}

/* Rank of a part's failure: 0 none, 1 canceled, 2 other failures, 3 lost device */
static int
gravity(const Part *part)
{
	return !part->failed ? 0 : part->error.status == GR_CANCELED ? 1 : part->error.status == GR_DEVICE_LOST ? 3 : 2;
}

/* Returns false and sets err if a part failed: to the failure of the highest gravity, the first of equal ones. */
static bool
round_verdict(const ManySink *many, GrError *err)
{
	const Part *worst = &many->parts[0];

	for (int i = 1; i < many->n; i++)
		if (gravity(&many->parts[i]) > gravity(worst))
			worst = &many->parts[i];
	if (worst->failed && err->status == GR_OK)
		*err = worst->error;
	return !worst->failed;
}

bool
gr_many_round(ManySink *many, const GrHost *host, GrError *err)
{
	Caller		caller = {many, host};
	const GrHost polled = {.canceled = caller_stopped,.arg = &caller};

	if (!start_threads(many, err))
		return false;
	(void) pthread_mutex_lock(&many->mutex);
	__atomic_store_n(&many->stops, 0, __ATOMIC_SEQ_CST);
	many->nrunning = many->n - 1;
	many->round++;
	(void) pthread_cond_broadcast(&many->wake);
	(void) pthread_mutex_unlock(&many->mutex);
	run_part(&many->parts[0], &polled);
	wait_for_parts(many, &caller);
	return round_verdict(many, err);
}

void
gr_many_end_threads(ManySink *many)
{
	__atomic_store_n(&many->stops, 1, __ATOMIC_SEQ_CST);
	(void) pthread_mutex_lock(&many->mutex);
	many->ends = true;
	(void) pthread_cond_broadcast(&many->wake);
	(void) pthread_mutex_unlock(&many->mutex);
	for (int i = 1; i < many->n; i++)
	{
		if (many->parts[i].started)
			(void) pthread_join(many->parts[i].thread, NULL);
		many->parts[i].started = false;
	}
}
