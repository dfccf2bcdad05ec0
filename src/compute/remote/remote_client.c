/*
 * remote_client.c: the client's side of a channel: tables of a backend that post commands to the server.
 */
#include "compute/remote/remote.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "compute/base/thread.h"
#include "compute/remote/remote_ask.h"
#include "compute/remote/remote_wire.h"

#define LOOK_NS 20000000		/* time between polls for cancellation */

struct GrSink
{
	GrRemoteClient *client;
	GrRemoteHandle object;
	int64_t		ncalls;			/* calls of send */
	GrSinkOptions options;
};

struct GrFactor
{
	GrRemoteClient *client;
	GrRemoteHandle object;
	int			nterms;
};

/*
 * Waiting
 */

static bool
server_is_gone(GrRemoteClient *client, GrError *err)
{
	GrChannel  *channel = client->channel;

	if (__atomic_load_n(&client->given_up, __ATOMIC_RELAXED) != 0)
	{
		(void) gr_fail(err, GR_DEVICE_FAILED, 0, "the device service does not answer");
		return true;
	}
	if (__atomic_load_n(&channel->server_gone, __ATOMIC_ACQUIRE) == 0)
		return false;
	(void) gr_fail(err, GR_DEVICE_FAILED, 0, "the device service has ended: %s", channel->gone_error.detail);
	return true;
}

/* Condition that a client waits for: ndone commands carried out, or nread calls of an object read or failed. */
typedef struct Awaited
{
	uint64_t	ndone;
	const GrRemoteObject *object;	/* NULL: wait for commands */
	int64_t		nread;
} Awaited;

static bool
has_come(GrChannel *channel, const Awaited *awaited)
{
	const GrRemoteObject *object = awaited->object;

	if (object == NULL)
		return __atomic_load_n(&channel->ndone, __ATOMIC_ACQUIRE) >= awaited->ndone;
	return __atomic_load_n(&object->nread, __ATOMIC_ACQUIRE) >= awaited->nread ||
		__atomic_load_n(&object->failed, __ATOMIC_ACQUIRE) != 0;
}

/* Sleeps until awaited may have come, but at most LOOK_NS. */
static void
nap(GrChannel *channel, const Awaited *awaited)
{
	struct timespec until;

	__atomic_store_n(&channel->client_waits, 1, __ATOMIC_SEQ_CST);
	if (has_come(channel, awaited))
		return;
	until = gr_deadline(LOOK_NS);
	(void) sem_clockwait(&channel->replies, GR_CLOCK, &until);
}

/* True if the server has taken too long since the time `canceled`; gives it up then. */
static bool
is_out_of_patience(GrRemoteClient *client, double canceled)
{
	double		patience = client->patience_s > 0 ? client->patience_s : GR_REMOTE_PATIENCE_S;

	if (gr_seconds() - canceled < patience)
		return false;
	__atomic_store_n(&client->given_up, 1, __ATOMIC_RELAXED);
	return true;
}

/*
 * Waits for the server. Returns false if the host asked to stop, after the server has stopped too or was given up, or
 * if the server is gone.
 */
static bool
wait_for(GrRemoteClient *client, const Awaited *awaited, const GrHost *host, GrError *err)
{
	GrChannel  *channel = client->channel;
	double		canceled = 0;	/* time of cancellation */

	while (!has_come(channel, awaited))
	{
		if (server_is_gone(client, err))
			return false;
		nap(channel, awaited);
		if (canceled == 0 && (__atomic_load_n(&client->stopping, __ATOMIC_RELAXED) != 0 || gr_canceled(host)))
		{
			canceled = gr_seconds();
			__atomic_store_n(&channel->canceled, 1, __ATOMIC_SEQ_CST);
		}
		else if (canceled > 0 && is_out_of_patience(client, canceled))
			break;
	}
	return canceled == 0 || gr_fail(err, GR_CANCELED, 0, "the device service");
}

/* Puts a command into the queue, after waiting for room. */
static bool
post(GrRemoteClient *client, const GrRemoteCommand *command, GrError *err)
{
	GrChannel  *channel = client->channel;
	Awaited		room = {.ndone = channel->nasked < GR_REMOTE_COMMANDS ? 0 : channel->nasked - GR_REMOTE_COMMANDS + 1};

	if (server_is_gone(client, err) || !wait_for(client, &room, NULL, err))
		return false;
	channel->queue[channel->nasked % GR_REMOTE_COMMANDS] = *command;
	__atomic_store_n(&channel->nasked, channel->nasked + 1, __ATOMIC_SEQ_CST);
	(void) sem_post(&channel->requests);
	return true;
}

/*
 * Passes the server's error on to err and returns false. A device lost by the server is GR_DEVICE_FAILED here, as
 * another server may open it. A cancellation by a server that ends becomes an error that the server is gone.
 */
static bool
pass_on(GrRemoteClient *client, const GrError *from, GrError *err)
{
	if (from->status == GR_CANCELED && server_is_gone(client, err))
		return false;
	*err = *from;
	if (err->status == GR_DEVICE_LOST)
		err->status = GR_DEVICE_FAILED;
	return false;
}

bool
gr_remote_ask(GrRemoteClient *client, GrRemoteOp op, int object, int64_t n, const GrHost *host, GrError *err)
{
	GrChannel  *channel = client->channel;
	GrRemoteCommand command = {.op = op,.object = object,.n = n};
	Awaited		done = {0};
	bool		ok;

	__atomic_store_n(&channel->canceled, 0, __ATOMIC_SEQ_CST);
	if (!post(client, &command, err))
		return false;
	done.ndone = channel->nasked;
	ok = wait_for(client, &done, host, err);
	__atomic_store_n(&channel->canceled, 0, __ATOMIC_SEQ_CST);
	if (!ok)
		return false;
	return channel->reply.status == GR_OK || pass_on(client, &channel->reply, err);
}

/*
 * Areas and objects
 */

/* Sets wire to a bulk area of at least nbytes, leasing a larger one if needed. */
static bool
begin_bulk(GrRemoteClient *client, size_t nbytes, GrRemoteWire *wire, GrError *err)
{
	GrChannel  *channel = client->channel;

	if (channel->area_nbytes[channel->bulk] < nbytes)
	{
		int			old = channel->bulk;
		int			area = client->lease == NULL ? -1 : client->lease(client, nbytes);

		if (area < 0)
		{
			err->bytes_needed = nbytes;
			return gr_fail(err, GR_NO_MEMORY, 0, "shared memory for the device service");
		}
		channel->bulk = area;
		client->end_lease(client, old);
	}
	*wire = (GrRemoteWire) {.at = client->areas[channel->bulk],.limit = channel->area_nbytes[channel->bulk]};
	return true;
}

/* Returns the area that contains the memory, or -1. */
static int
find_area(const GrRemoteClient *client, const char *memory, size_t nbytes)
{
	for (int a = 0; a < GR_REMOTE_AREAS; a++)
	{
		const char *base = client->areas[a];
		size_t		size = client->channel->area_nbytes[a];

		if (base != NULL && memory >= base && nbytes <= size && (size_t) (memory - base) <= size - nbytes)
			return a;
	}
	return -1;
}

bool
gr_remote_take_object(GrRemoteClient *client, GrRemoteHandle *object, GrError *err)
{
	/* a server that was given up may still read what this client would write */
	if (server_is_gone(client, err))
		return false;
	for (int k = 0; k < GR_REMOTE_OBJECTS; k++)
	{
		if (client->used[k])
			continue;
		client->used[k] = true;
		memset(&client->channel->objects[k], 0, sizeof(GrRemoteObject));
		*object = (GrRemoteHandle) {client->connection, k};
		return true;
	}
	return gr_fail(err, GR_DEVICE_MEMORY, 0, "the session has %d computations under way", GR_REMOTE_OBJECTS);
}

void
gr_remote_end_object(GrRemoteClient *client, GrRemoteHandle object)
{
	GrError		ignored = {0};

	if (object.connection != client->connection)
		return;
	(void) gr_remote_ask(client, GR_REMOTE_END, object.number, 0, NULL, &ignored);
	client->used[object.number] = false;
}

bool
gr_remote_check_object(GrRemoteClient *client, GrRemoteHandle object, GrError *err)
{
	const GrRemoteObject *o = &client->channel->objects[object.number];

	if (object.connection != client->connection)
		return gr_fail(err, GR_DEVICE_FAILED, 0, "the device service has ended");
	return __atomic_load_n(&o->failed, __ATOMIC_ACQUIRE) == 0 || pass_on(client, &o->error, err);
}

/*
 * Sinks
 */

/* Creates a sink with an object number, for which the server must still be asked. */
static bool
new_sink(GrRemoteClient *client, const GrSinkOptions *options, GrSink **sink, GrError *err)
{
	GrRemoteHandle object;

	*sink = NULL;
	if (!gr_remote_take_object(client, &object, err))
		return false;
	*sink = calloc(1, sizeof(GrSink));
	if (*sink == NULL)
	{
		client->used[object.number] = false;
		return gr_fail(err, GR_NO_MEMORY, 0, "rows");
	}
	(*sink)->client = client;
	(*sink)->object = object;
	(*sink)->options = *options;
	return true;
}

static bool
remote_sink_begin(GrSession *session, const GrSinkOptions *options, GrSink **sink, GrError *err)
{
	GrRemoteClient *client = (GrRemoteClient *) session;

	if (!new_sink(client, options, sink, err))
		return false;
	client->channel->arguments.sink = *options;
	return gr_remote_ask(client, GR_REMOTE_BEGIN, (*sink)->object.number, 0, options->host, err);
}

/* Posts a SEND of rows that lie at `at` in an area. */
static bool
post_rows(GrSink *sink, int area, const char *at, int64_t nrows, bool counts, GrError *err)
{
	GrRemoteCommand command = {
		.op = GR_REMOTE_SEND,.object = sink->object.number,.area = area,.counts = counts,
		.offset = (uint64_t) (at - sink->client->areas[area]),.n = nrows
	};

	return post(sink->client, &command, err);
}

/* Sends rows that are not in an area through the bulk area, each piece after the one before is read. */
static bool
send_copies(GrSink *sink, const char *rows, int64_t nrows, GrError *err)
{
	GrRemoteClient *client = sink->client;
	GrChannel  *channel = client->channel;
	size_t		row_nbytes = gr_row_nbytes(sink->options.shape);
	int64_t		piece = (int64_t) (channel->area_nbytes[channel->bulk] / row_nbytes);

	if (piece == 0)
		return gr_fail(err, GR_NO_MEMORY, 0, "a row of %zu bytes", row_nbytes);
	for (int64_t done = 0;; done += piece)
	{
		int64_t		n = nrows - done < piece ? nrows - done : piece;
		bool		last = done + n == nrows;
		Awaited		read = {.object = &channel->objects[sink->object.number],.nread = sink->ncalls + 1};
		Awaited		copied = {.ndone = 0};

		memcpy(client->areas[channel->bulk], rows + (size_t) done * row_nbytes, (size_t) n * row_nbytes);
		if (!post_rows(sink, channel->bulk, client->areas[channel->bulk], n, last, err))
			return false;
		copied.ndone = channel->nasked;
		/* a piece that does not complete the call is read once it is carried out */
		if (!wait_for(client, last ? &read : &copied, NULL, err) || !gr_remote_check_object(client, sink->object, err))
			return false;
		if (last)
			return true;
	}
}

static bool
remote_sink_send(GrSink *sink, const void *rows, int64_t nrows, GrError *err)
{
	int			area = find_area(sink->client, rows, (size_t) nrows * gr_row_nbytes(sink->options.shape));

	if (!gr_remote_check_object(sink->client, sink->object, err))
		return false;
	if (!(area >= 0 ? post_rows(sink, area, rows, nrows, true, err) : send_copies(sink, rows, nrows, err)))
		return false;
	sink->ncalls++;
	return true;
}

static bool
remote_sink_sent(GrSink *sink, bool wait, int64_t *ncalls, GrError *err)
{
	const GrRemoteObject *object = &sink->client->channel->objects[sink->object.number];
	int64_t		nread = __atomic_load_n(&object->nread, __ATOMIC_ACQUIRE);
	Awaited		next = {.object = object,.nread = nread + 1};

	if (wait && nread < sink->ncalls && !wait_for(sink->client, &next, NULL, err))
		return false;
	if (!gr_remote_check_object(sink->client, sink->object, err))
		return false;
	*ncalls = __atomic_load_n(&object->nread, __ATOMIC_ACQUIRE);
	return true;
}

static bool
remote_sink_restart(GrSink *sink, const double *shift, GrError *err)
{
	GrRemoteClient *client = sink->client;
	size_t		nbytes = (size_t) gr_nterms(sink->options.shape.nfeatures) * sizeof(double);
	GrRemoteWire wire;

	if (!gr_remote_check_object(client, sink->object, err) || !begin_bulk(client, nbytes, &wire, err))
		return false;
	if (shift != NULL)
		memcpy(wire.at, shift, nbytes);
	client->channel->arguments.flag = shift != NULL;
	return gr_remote_ask(client, GR_REMOTE_RESTART, sink->object.number, 0, NULL, err);
}

/* Fetches the sums piece by piece if they exceed the bulk area: a thread cannot lease a larger one. */
static bool
remote_sink_finish(GrSink *sink, GrDDVector triangle, GrError *err)
{
	GrRemoteClient *client = sink->client;
	int64_t		nsums = gr_triangle(gr_norder(sink->options.shape.nfeatures));
	GrRemoteWire wire;

	if (!gr_remote_check_object(client, sink->object, err) || !begin_bulk(client, GR_WIRE_GRAM_LEAST, &wire, err))
		return false;
	for (int64_t from = 0; from < nsums;)
	{
		GrRemoteWire piece = wire;
		GrWireGram	gram = gr_wire_gram(&piece, nsums, from);

		if (!gr_remote_ask(client, GR_REMOTE_FINISH, sink->object.number, from, NULL, err))
			return false;
		memcpy(triangle.hi + from, gram.hi, (size_t) gram.n * sizeof(double));
		memcpy(triangle.lo + from, gram.lo, (size_t) gram.n * sizeof(double));
		from += gram.n;
	}
	return true;
}

static bool
remote_sink_sums(GrSink *sink, const GrRequest *request, double *sums, const GrHost *host, GrError *err)
{
	GrRemoteClient *client = sink->client;
	size_t		nbytes = gr_request_nbytes(request);
	size_t		nsums = gr_request_nsums(request);
	GrRemoteWire wire = {0};
	GrWireSums	w;

	(void) gr_wire_sums(&wire, nbytes, nsums);
	if (!gr_remote_check_object(client, sink->object, err) || !begin_bulk(client, wire.nbytes, &wire, err))
		return false;
	w = gr_wire_sums(&wire, nbytes, nsums);
	memcpy(w.request, request, nbytes);
	gr_wire_put(w.sums, sums, (int64_t) nsums);
	client->channel->arguments.n = (int64_t) nbytes;
	if (!gr_remote_ask(client, GR_REMOTE_SUMS, sink->object.number, 0, host, err))
		return false;
	gr_wire_put(sums, w.sums, (int64_t) nsums);
	return true;
}

static bool
remote_sink_change(GrSink *sink, const GrBasis *basis, const GrHost *host, GrError *err)
{
	GrRemoteClient *client = sink->client;
	GrRemoteWire wire = {0};
	GrWireBasis w;

	(void) gr_wire_basis(&wire, basis);
	if (!gr_remote_check_object(client, sink->object, err) || !begin_bulk(client, wire.nbytes, &wire, err))
		return false;
	w = gr_wire_basis(&wire, basis);
	memcpy(w.changed, basis->changed, (size_t) basis->nchanged * sizeof(int));
	gr_wire_put(w.coef, basis->coef, (int64_t) basis->nchanged * gr_nterms(basis->nfeatures));
	client->channel->arguments.basis = *basis;
	return gr_remote_ask(client, GR_REMOTE_CHANGE, sink->object.number, 0, host, err);
}

static bool
remote_sink_can_ascend(const GrSink *sink, bool single)
{
	GrRemoteArguments *arguments = &sink->client->channel->arguments;
	GrError		ignored = {0};

	arguments->flag = single;
	return gr_remote_check_object(sink->client, sink->object, &ignored) &&
		gr_remote_ask(sink->client, GR_REMOTE_CAN_ASCEND, sink->object.number, 0, NULL, &ignored) && arguments->flag;
}

static bool
remote_sink_ascend(GrSink *sink, const GrAscent *ascent, double *beta, int64_t *iterations, bool *converged,
				   const GrHost *host, GrError *err)
{
	GrRemoteClient *client = sink->client;
	GrRemoteArguments *arguments = &client->channel->arguments;
	int64_t		t = gr_nterms(sink->options.shape.nfeatures);
	GrRemoteWire wire = {0};
	GrWireAscent w;

	(void) gr_wire_ascent(&wire, sink->options.shape);
	if (!gr_remote_check_object(client, sink->object, err) || !begin_bulk(client, wire.nbytes, &wire, err))
		return false;
	w = gr_wire_ascent(&wire, sink->options.shape);
	gr_wire_put(w.scale, ascent->scale, t);
	gr_wire_put(w.beta, beta, t);
	arguments->ascent = *ascent;
	if (!gr_remote_ask(client, GR_REMOTE_ASCEND, sink->object.number, 0, host, err))
		return false;
	gr_wire_put(beta, w.beta, t);
	*iterations = arguments->n;
	*converged = arguments->flag;
	return true;
}

static void
remote_sink_times(const GrSink *sink, GrTimes *times)
{
	*times = sink->client->channel->objects[sink->object.number].times;
}

static void
remote_sink_end(GrSink *sink)
{
	if (sink == NULL)
		return;
	gr_remote_end_object(sink->client, sink->object);
	free(sink);
}

/* Stored rows */

bool
gr_remote_store(GrSink *sink, uint64_t id, size_t description_nbytes, GrError *err)
{
	if (!gr_remote_check_object(sink->client, sink->object, err))
		return false;
	sink->client->channel->arguments.n = (int64_t) description_nbytes;
	sink->client->channel->arguments.stored = id;
	return gr_remote_ask(sink->client, GR_REMOTE_STORE, sink->object.number, 0, NULL, err);
}

/* Asks the server to derive rows. The object becomes a sink, or none if arguments.flag is false. counts: the result. */
static bool
ask_derived(GrSink *sink, const GrDerivation *derivation, GrDeriveCounts *counts, const GrHost *host, GrError *err)
{
	GrRemoteClient *client = sink->client;
	const size_t nbytes = gr_derivation_nbytes(derivation);
	GrRemoteWire wire;

	if (!begin_bulk(client, nbytes + 64, &wire, err))
		return false;
	memcpy(gr_wire(&wire, nbytes), derivation, nbytes);
	client->channel->arguments.n = (int64_t) nbytes;
	if (!gr_remote_ask(client, GR_REMOTE_DERIVE, sink->object.number, 0, host, err))
		return false;
	*counts = client->channel->arguments.counts;
	return true;
}

/* Derives rows of the client's object number `from` or, if from is -1, of the rows stored under id. */
static bool
derive_from(GrRemoteClient *client, uint64_t id, int from, const GrDeriveTask *task, const GrHost *host, GrError *err)
{
	GrSink	   *sink;
	bool		ok = new_sink(client, task->options, &sink, err);

	if (task->derived != NULL)
		*task->derived = sink;
	if (!ok)
		return false;
	sink->options.kind = GR_SINK_KEEP;
	sink->options.shape = gr_derived_shape(task->derivation);
	client->channel->arguments.sink = sink->options;
	client->channel->arguments.stored = id;
	client->channel->arguments.from = from;
	client->channel->arguments.rules = task->rules;
	client->channel->arguments.flag = task->derived != NULL;
	ok = ask_derived(sink, task->derivation, task->counts, host, err);
	if (task->derived == NULL)
		remote_sink_end(sink);
	return ok;
}

bool
gr_remote_derive(GrRemoteClient *client, uint64_t id, const GrDeriveTask *task, const GrHost *host, GrError *err)
{
	return derive_from(client, id, -1, task, host, err);
}

static bool
remote_sink_derive(GrSink *sink, const GrDeriveTask *task, const GrHost *host, GrError *err)
{
	if (task->derived != NULL)
		*task->derived = NULL;
	return gr_remote_check_object(sink->client, sink->object, err) &&
		derive_from(sink->client, 0, sink->object.number, task, host, err);
}

bool
gr_remote_read(GrRemoteClient *client, uint64_t id, int ncolumns, int64_t first, int64_t nrows, const double **rows,
			   const GrHost *host, GrError *err)
{
	const size_t nbytes = (size_t) nrows * (size_t) ncolumns * sizeof(double);
	GrRemoteWire wire;

	if (!begin_bulk(client, nbytes + 64, &wire, err))
		return false;
	*rows = gr_wire(&wire, nbytes);
	client->channel->arguments.stored = id;
	client->channel->arguments.n = first;
	return gr_remote_ask(client, GR_REMOTE_READ, 0, nrows, host, err);
}

/*
 * Factors
 */

static void
put_factor(const GrWireFactor *w, const GrFactorJob *job)
{
	int64_t		m = job->nterms;
	int64_t		n = gr_triangle(job->skip + m + 1);

	gr_wire_put(w->hi, job->hi, n);
	gr_wire_put(w->lo, job->lo, n);
	gr_wire_put(w->scale, job->scale, m + 1);
	gr_wire_put(w->least_pivot, job->least_pivot, m);
	memcpy(w->aliased, job->aliased, (size_t) m * sizeof(bool));
}

static void
take_factor(const GrWireFactor *w, const GrFactorJob *job)
{
	int64_t		m = job->nterms;

	memcpy(job->aliased, w->aliased, (size_t) m * sizeof(bool));
	gr_wire_put(job->d_hi, w->d_hi, m + 1);
	gr_wire_put(job->d_lo, w->d_lo, m + 1);
	gr_wire_put(job->row_hi, w->row_hi, m);
	gr_wire_put(job->row_lo, w->row_lo, m);
	gr_wire_put(job->coef_hi, w->coef_hi, m);
	gr_wire_put(job->coef_lo, w->coef_lo, m);
}

static bool
remote_factor_begin(GrSession *session, const GrFactorJob *job, GrFactor **factor, const GrHost *host, GrError *err)
{
	GrRemoteClient *client = (GrRemoteClient *) session;
	GrRemoteWire wire = {0};
	GrWireFactor w;
	GrFactor   *f;
	GrRemoteHandle object;

	*factor = NULL;
	(void) gr_wire_factor(&wire, job);
	if (!begin_bulk(client, wire.nbytes, &wire, err) || !gr_remote_take_object(client, &object, err))
		return false;
	f = calloc(1, sizeof(GrFactor));
	if (f == NULL)
	{
		client->used[object.number] = false;
		return gr_fail(err, GR_NO_MEMORY, 0, "a factorisation");
	}
	*factor = f;
	f->client = client;
	f->object = object;
	f->nterms = job->nterms;
	w = gr_wire_factor(&wire, job);
	put_factor(&w, job);
	client->channel->arguments.factor = *job;
	if (!gr_remote_ask(client, GR_REMOTE_FACTOR, object.number, 0, host, err))
		return false;
	take_factor(&w, job);
	return true;
}

static bool
remote_factor_inverse(GrFactor *factor, GrDDConstVector weights, double divisor, double *inverse,
					  const GrHost *host, GrError *err)
{
	GrRemoteClient *client = factor->client;
	int64_t		m = factor->nterms;
	GrRemoteWire wire = {0};
	GrWireInverse w;

	(void) gr_wire_inverse(&wire, m);
	if (!gr_remote_check_object(client, factor->object, err) || !begin_bulk(client, wire.nbytes, &wire, err))
		return false;
	w = gr_wire_inverse(&wire, m);
	gr_wire_put(w.w_hi, weights.hi, m);
	gr_wire_put(w.w_lo, weights.lo, m);
	client->channel->arguments.divisor = divisor;
	if (!gr_remote_ask(client, GR_REMOTE_INVERSE, factor->object.number, 0, host, err))
		return false;
	gr_wire_put(inverse, w.inverse, m * m);
	return true;
}

static void
remote_factor_end(GrFactor *factor)
{
	if (factor == NULL)
		return;
	gr_remote_end_object(factor->client, factor->object);
	free(factor);
}

/*
 * The tables
 */

static const GrDeviceInfo *
remote_describe(const GrSession *session)
{
	return &((const GrRemoteClient *) session)->info;
}

static const GrDeviceOps device_ops = {.describe = remote_describe};

static const GrSinkOps sink_ops = {
	.begin = remote_sink_begin,
	.send = remote_sink_send,
	.sent = remote_sink_sent,
	.restart = remote_sink_restart,
	.finish = remote_sink_finish,
	.sums = remote_sink_sums,
	.change = remote_sink_change,
	.can_ascend = remote_sink_can_ascend,
	.ascend = remote_sink_ascend,
	.derive = remote_sink_derive,
	.times = remote_sink_times,
	.end = remote_sink_end
};

static const GrSolverOps solver_ops = {
	.begin = remote_factor_begin,
	.inverse = remote_factor_inverse,
	.end = remote_factor_end
};

const GrBackend gr_backend_remote_cpu = {
	.name = "service",.device = &device_ops,.sink = &sink_ops,.projector = &gr_remote_projector_ops
};

const GrBackend gr_backend_remote = {
	.name = "service",.device = &device_ops,.sink = &sink_ops,.projector = &gr_remote_projector_ops,
	.solver = &solver_ops
};
