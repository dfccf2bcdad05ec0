/*
 * sink_many.c: rows dealt to several sinks, and passes that all of them make at once.
 *
 * A round is a pass or a change by all parts: the calling thread wakes the others, does its own part, and waits. The
 * threads read nothing that is the caller's but the rows in the parts: where the host ends the process it does so from
 * within canceled(), which doesn't return, and the caller's memory may go before the sink is ended.
 */
#include "compute/sink_many.h"

#include <stdlib.h>
#include <string.h>

#include "compute/basis.h"
#include "compute/boot.h"
#include "compute/glm.h"
#include "compute/thread.h"

#define POLL_NS 5000000			/* between two looks at the host while other parts are at work */

typedef struct ManySink ManySink;

/* What all parts do at once */
typedef enum RoundKind
{
	ROUND_PASS,
	ROUND_CHANGE,
	ROUND_BOOT
} RoundKind;

typedef struct Part
{
	ManySink   *many;
	GrSink	   *sink;
	int64_t		nread;			/* of its calls */
	pthread_t	thread;			/* none of part 0 */
	bool		started;
	double	   *sums;			/* of a pass */
	bool		failed;			/* in this round */
	GrError		error;
} Part;

struct ManySink
{
	const GrSinkOps *ops;
	GrRowShape	shape;
	int			n;
	int64_t		ncalls;			/* of send */
	int64_t		nread;			/* of them, as was last told */

	/* a round; what the threads read is written under the mutex, before they are woken */
	RoundKind	kind;
	GrPass		pass;
	GrBasis		basis;
	GrBootPass	boot;
	double	   *arguments;		/* of whichever of them it is */
	double	   *sums;			/* of the parts but the first */
	int			stops;			/* atomic: all parts are to stop */

	pthread_mutex_t mutex;
	pthread_cond_t wake;		/* a round has begun, or the threads are to end */
	pthread_cond_t done;		/* all threads are through with it */
	int64_t		round;
	int			nrunning;
	bool		ends;

	Part		parts[];
};

static ManySink *
many_of(GrSink *sink)
{
	return (ManySink *) sink;
}

static bool
fail_memory(GrError *err, size_t nbytes, const char *what)
{
	if (err->status == GR_OK)
		err->bytes_needed = nbytes;
	return gr_fail(err, GR_NO_MEMORY, 0, "%s", what);
}

/*
 * Beginning and end
 */

/* What part i may take of its device's memory. */
static size_t
limit_of(const GrParts *parts, int i, size_t limit)
{
	size_t		nbeside = 0;

	for (int k = 0; k < parts->n; k++)
		nbeside += parts->sessions[k] == parts->sessions[i];
	/* 0 would be no limit */
	return limit == 0 ? 0 : limit < nbeside ? 1 : limit / nbeside;
}

bool
gr_many_begin(const GrParts *parts, const GrSinkOptions *options, GrSink **sink, GrError *err)
{
	size_t		nbytes = sizeof(ManySink) + (size_t) parts->n * sizeof(Part);
	ManySink   *many = calloc(1, nbytes);

	*sink = (GrSink *) many;
	if (many == NULL)
		return fail_memory(err, nbytes, "rows for several devices");
	many->ops = parts->ops;
	many->shape = options->shape;
	(void) pthread_mutex_init(&many->mutex, NULL);
	(void) pthread_cond_init(&many->wake, NULL);
	(void) pthread_cond_init(&many->done, NULL);
	for (int i = 0; i < parts->n; i++)
	{
		GrSinkOptions own = *options;

		own.memory_limit = limit_of(parts, i, options->memory_limit);
		many->parts[i].many = many;
		many->n = i + 1;
		if (!parts->ops->begin(parts->sessions[i], &own, &many->parts[i].sink, err))
			return false;
	}
	return true;
}

static bool
many_begin(GrSession *session, const GrSinkOptions *options, GrSink **sink, GrError *err)
{
	return gr_many_begin((const GrParts *) session, options, sink, err);
}

/* Also from within a round, by what the host has called, which doesn't return then. */
static void
many_end(GrSink *sink)
{
	ManySink   *many = many_of(sink);

	if (many == NULL)
		return;
	__atomic_store_n(&many->stops, 1, __ATOMIC_SEQ_CST);
	(void) pthread_mutex_lock(&many->mutex);
	many->ends = true;
	(void) pthread_cond_broadcast(&many->wake);
	(void) pthread_mutex_unlock(&many->mutex);
	for (int i = 1; i < many->n; i++)
		if (many->parts[i].started)
			(void) pthread_join(many->parts[i].thread, NULL);
	for (int i = 0; i < many->n; i++)
		many->ops->end(many->parts[i].sink);
	(void) pthread_cond_destroy(&many->wake);
	(void) pthread_cond_destroy(&many->done);
	(void) pthread_mutex_destroy(&many->mutex);
	free(many->arguments);
	free(many->sums);
	free(many);
}

/*
 * Rows
 */

static bool
many_send(GrSink *sink, const void *rows, int64_t nrows, GrError *err)
{
	ManySink   *many = many_of(sink);

	if (!many->ops->send(many->parts[many->ncalls % many->n].sink, rows, nrows, err))
		return false;
	many->ncalls++;
	return true;
}

/* The first call that isn't read: part i's is number nread of its own, which are i, i + n, ... */
static int64_t
first_unread(const ManySink *many)
{
	int64_t		first = many->ncalls;

	for (int i = 0; i < many->n; i++)
	{
		int64_t		own = many->parts[i].nread * many->n + i;

		first = own < first ? own : first;
	}
	return first;
}

static bool
many_sent(GrSink *sink, bool wait, int64_t *ncalls, GrError *err)
{
	ManySink   *many = many_of(sink);
	int64_t		first;

	for (int i = 0; i < many->n; i++)
		if (!many->ops->sent(many->parts[i].sink, false, &many->parts[i].nread, err))
			return false;
	first = first_unread(many);
	/* what was read since the caller last asked need not be waited for */
	if (wait && first == many->nread && first < many->ncalls)
	{
		Part	   *oldest = &many->parts[first % many->n];

		if (!many->ops->sent(oldest->sink, true, &oldest->nread, err))
			return false;
		first = first_unread(many);
	}
	many->nread = first;
	*ncalls = first;
	return true;
}

/*
 * SUM
 */

static bool
many_restart(GrSink *sink, const double *shift, GrError *err)
{
	ManySink   *many = many_of(sink);

	for (int i = 0; i < many->n; i++)
		if (!many->ops->restart(many->parts[i].sink, shift, err))
			return false;
	return true;
}

static bool
many_finish(GrSink *sink, double *hi, double *lo, GrError *err)
{
	ManySink   *many = many_of(sink);
	int64_t		n = gr_triangle(gr_norder(many->shape.nfeatures));
	size_t		nbytes = 2 * (size_t) n * sizeof(double);
	double	   *other = many->n > 1 ? malloc(nbytes) : NULL;
	bool		ok;

	if (many->n > 1 && other == NULL)
		return fail_memory(err, nbytes, "Gram matrix");
	ok = many->ops->finish(many->parts[0].sink, hi, lo, err);
	for (int i = 1; ok && i < many->n; i++)
	{
		ok = many->ops->finish(many->parts[i].sink, other, other + n, err);
		if (ok)
			gr_gram_merge(hi, lo, other, other + n, n);
	}
	free(other);
	return ok;
}

/*
 * KEEP: rounds
 */

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

/* What the calling thread's part polls: the host, which is not asked again once it has said stop. */
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

static void
run_part(Part *part, const GrHost *host)
{
	ManySink   *many = part->many;

	memset(&part->error, 0, sizeof(part->error));
	switch (many->kind)
	{
		case ROUND_PASS:
			part->failed = !many->ops->pass(part->sink, &many->pass, part->sums, host, &part->error);
			break;
		case ROUND_CHANGE:
			part->failed = !many->ops->change(part->sink, &many->basis, host, &part->error);
			break;
		case ROUND_BOOT:
			part->failed = !many->ops->boot(part->sink, &many->boot, part->sums, host, &part->error);
			break;
	}
	if (part->failed)
		stop_all(many);
}

static void *
part_main(void *arg)
{
	Part	   *part = arg;
	ManySink   *many = part->many;
	const GrHost host = {stopped, many};
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

/* Before the first round */
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

/* Waits for the other parts, and asks the host meanwhile, which may end the process: so without the mutex. */
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

/* How much a failure says: a part that was told to stop says least, and a lost device must be known. */
static int
gravity(const Part *part)
{
	return !part->failed ? 0 : part->error.status == GR_CANCELED ? 1 : part->error.status == GR_DEVICE_LOST ? 3 : 2;
}

/* The gravest failure of a round, of several the first part's */
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

/* The pass or the change that was prepared, by all parts. */
static bool
run_round(ManySink *many, const GrHost *host, GrError *err)
{
	Caller		caller = {many, host};
	const GrHost polled = {caller_stopped, &caller};

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

/* n float8 become the sink's own, at *to; NULL stays NULL. */
static const double *
keep(double **to, const double *from, size_t n)
{
	double	   *kept = *to;

	if (from == NULL || n == 0)
		return NULL;
	memcpy(kept, from, n * sizeof(double));
	*to += n;
	return kept;
}

static bool
prepare_pass(ManySink *many, const GrPass *pass, double *sums, GrError *err)
{
	size_t		t = (size_t) gr_nterms(pass->shape.nfeatures);
	size_t		nfaces = (size_t) pass->nfaces;
	size_t		nfactor = pass->factor == NULL ? 0 : (size_t) gr_triangle((int64_t) t);
	size_t		narguments = t + (t - 1) + nfaces * (t + 1) + nfactor;
	size_t		nsums = gr_pass_nsums(pass->kind, pass->shape.nfeatures);
	size_t		nothers = (size_t) many->n - 1;
	double	   *to;

	many->arguments = malloc(narguments * sizeof(double));
	many->sums = malloc(nothers * nsums * sizeof(double));
	if (many->arguments == NULL || many->sums == NULL)
		return fail_memory(err, (narguments + nothers * nsums) * sizeof(double), "the sums of a pass");
	to = many->arguments;
	many->kind = ROUND_PASS;
	many->pass = *pass;
	many->pass.beta = keep(&to, pass->beta, t);
	many->pass.shift = keep(&to, pass->shift, t - 1);
	many->pass.faces = keep(&to, pass->faces, nfaces * t);
	many->pass.face_absolute = keep(&to, pass->face_absolute, nfaces);
	many->pass.factor = keep(&to, pass->factor, nfactor);
	many->parts[0].sums = sums;
	for (int i = 1; i < many->n; i++)
	{
		many->parts[i].sums = many->sums + (size_t) (i - 1) * nsums;
		gr_pass_clear(pass->kind, pass->shape.nfeatures, many->parts[i].sums);
	}
	return true;
}

static bool
prepare_boot(ManySink *many, const GrBootPass *pass, double *sums, GrError *err)
{
	size_t		t = (size_t) gr_nterms(pass->shape.nfeatures);
	size_t		nactive = (size_t) pass->nactive;
	size_t		ninfluence = pass->nreps == 0 ? (size_t) pass->ninfluence : 0;
	size_t		nsteps = pass->steps == NULL ? 0 : (size_t) pass->nreps * nactive;
	size_t		narguments = 2 * t + (t - 1) + nactive * t + ninfluence * nactive + nsteps;
	size_t		nsums = gr_boot_nsums(pass);
	size_t		nothers = (size_t) many->n - 1;
	double	   *to;

	many->arguments = malloc(narguments * sizeof(double));
	many->sums = calloc(nothers * nsums, sizeof(double));
	if (many->arguments == NULL || many->sums == NULL)
		return fail_memory(err, (narguments + nothers * nsums) * sizeof(double), "the sums of a bootstrap");
	to = many->arguments;
	many->kind = ROUND_BOOT;
	many->boot = *pass;
	many->boot.beta = keep(&to, pass->beta, t);
	many->boot.beta_lo = keep(&to, pass->beta_lo, t);
	many->boot.shift = keep(&to, pass->shift, t - 1);
	many->boot.factor = keep(&to, pass->factor, nactive * t);
	many->boot.triangle = NULL;
	many->boot.influence = keep(&to, pass->influence, ninfluence * nactive);
	many->boot.steps = pass->steps == NULL ? NULL : keep(&to, pass->steps, nsteps);
	many->parts[0].sums = sums;
	for (int i = 1; i < many->n; i++)
		many->parts[i].sums = many->sums + (size_t) (i - 1) * nsums;
	return true;
}

static bool
prepare_change(ManySink *many, const GrBasis *basis, GrError *err)
{
	size_t		ncoef = (size_t) basis->nchanged * (size_t) gr_nterms(basis->nfeatures);
	size_t		changed_nbytes = (size_t) basis->nchanged * sizeof(int);
	size_t		nbytes = ncoef * sizeof(double) + changed_nbytes;
	double	   *to = malloc(nbytes > 0 ? nbytes : 1);

	many->arguments = to;
	if (to == NULL)
		return fail_memory(err, nbytes, "a change of basis");
	many->kind = ROUND_CHANGE;
	many->basis = *basis;
	many->basis.coef = keep(&to, basis->coef, ncoef);
	memcpy(to, basis->changed, changed_nbytes);
	many->basis.changed = (const int *) to;
	return true;
}

static void
forget_round(ManySink *many)
{
	free(many->arguments);
	free(many->sums);
	many->arguments = NULL;
	many->sums = NULL;
}

static bool
many_pass(GrSink *sink, const GrPass *pass, double *sums, const GrHost *host, GrError *err)
{
	ManySink   *many = many_of(sink);
	bool		ok;

	if (many->n == 1)
		return many->ops->pass(many->parts[0].sink, pass, sums, host, err);
	ok = prepare_pass(many, pass, sums, err) && run_round(many, host, err);
	for (int i = 1; ok && i < many->n; i++)
		gr_pass_merge(pass->kind, pass->shape.nfeatures, sums, many->parts[i].sums);
	forget_round(many);
	return ok;
}

static bool
many_boot(GrSink *sink, const GrBootPass *pass, double *sums, const GrHost *host, GrError *err)
{
	ManySink   *many = many_of(sink);
	size_t		nsums = gr_boot_nsums(pass);
	bool		ok;

	if (many->n == 1)
		return many->ops->boot(many->parts[0].sink, pass, sums, host, err);
	ok = prepare_boot(many, pass, sums, err) && run_round(many, host, err);
	for (int i = 1; ok && i < many->n; i++)
		for (size_t k = 0; k < nsums; k++)
			sums[k] += many->parts[i].sums[k];
	forget_round(many);
	return ok;
}

static bool
many_change(GrSink *sink, const GrBasis *basis, const GrHost *host, GrError *err)
{
	ManySink   *many = many_of(sink);
	bool		ok;

	if (many->n == 1)
		return many->ops->change(many->parts[0].sink, basis, host, err);
	ok = prepare_change(many, basis, err) && run_round(many, host, err);
	forget_round(many);
	return ok;
}

/* An ascent stays on one device; over several, the caller's passes have them all. */
static bool
many_can_ascend(const GrSink *sink, bool single)
{
	const ManySink *many = (const ManySink *) sink;

	return many->n == 1 && many->ops->can_ascend != NULL && many->ops->can_ascend(many->parts[0].sink, single);
}

static bool
many_ascend(GrSink *sink, const GrAscent *ascent, double *beta, int64_t *iterations, bool *converged,
			const GrHost *host, GrError *err)
{
	ManySink   *many = many_of(sink);

	return many->ops->ascend(many->parts[0].sink, ascent, beta, iterations, converged, host, err);
}

static void
many_times(const GrSink *sink, GrTimes *times)
{
	const ManySink *many = (const ManySink *) sink;

	*times = (GrTimes) {0};
	for (int i = 0; i < many->n; i++)
	{
		GrTimes		own = {0};

		many->ops->times(many->parts[i].sink, &own);
		times->bytes_to_device += own.bytes_to_device;
		times->copy_s += own.copy_s;
		times->kernel_s += own.kernel_s;
	}
}

const GrSinkOps gr_sink_many = {
	.begin = many_begin,
	.send = many_send,
	.sent = many_sent,
	.restart = many_restart,
	.finish = many_finish,
	.pass = many_pass,
	.boot = many_boot,
	.change = many_change,
	.can_ascend = many_can_ascend,
	.ascend = many_ascend,
	.times = many_times,
	.end = many_end
};
