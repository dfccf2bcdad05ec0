/*
 * remote_server.c: the server's side of a channel: carries out commands by a backend's tables.
 */
#include "compute/remote/remote.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "compute/backend/valid.h"
#include "compute/remote/remote_check.h"
#include "compute/remote/remote_serve.h"
#include "compute/remote/remote_wire.h"

#define STAY_NBYTES ((size_t) 1 << 20)	/* least bytes by which memory for rows that stay is admitted ahead */

bool
gr_channel_begin(GrChannel *channel)
{
	memset(channel, 0, sizeof(*channel));
	if (sem_init(&channel->requests, 1, 0) != 0)
		return false;
	if (sem_init(&channel->replies, 1, 0) == 0)
		return true;
	(void) sem_destroy(&channel->requests);
	return false;
}

void
gr_channel_end(GrChannel *channel)
{
	(void) sem_destroy(&channel->requests);
	(void) sem_destroy(&channel->replies);
}

void
gr_channel_close(GrChannel *channel)
{
	__atomic_store_n(&channel->canceled, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&channel->closing, 1, __ATOMIC_SEQ_CST);
	(void) sem_post(&channel->requests);
}

/* GrHost.canceled of the backend's work: true if the client's statement is canceled or the client is gone. */
static bool
client_canceled(void *arg)
{
	GrChannel  *channel = arg;

	return __atomic_load_n(&channel->canceled, __ATOMIC_RELAXED) != 0 ||
		__atomic_load_n(&channel->closing, __ATOMIC_RELAXED) != 0;
}

static void
wake_client(GrChannel *channel)
{
	if (__atomic_exchange_n(&channel->client_waits, 0, __ATOMIC_SEQ_CST) != 0)
		(void) sem_post(&channel->replies);
}

void
gr_channel_abandon(GrChannel *channel, const GrError *err)
{
	channel->gone_error = *err;
	__atomic_store_n(&channel->server_gone, 1, __ATOMIC_SEQ_CST);
	(void) sem_post(&channel->replies);
}

/*
 * Sinks
 */

static GrSink *
sink_of(const GrRemoteServer *server, const GrRemoteCommand *command)
{
	return server->objects[command->object].object;
}

static void
publish_times(GrRemoteServer *server, int object)
{
	GrServed   *served = &server->objects[object];
	GrTimes    *times = &server->channel->objects[object].times;

	if (served->object == NULL)
		return;
	if (served->kind == GR_REMOTE_BEGIN)
	{
		server->backend->sink->times(served->object, times);
		times->waited_s = served->waited_s;
	}
	else if (served->kind == GR_REMOTE_PROJECT)
		server->backend->projector->times(served->object, times);
}

/*
 * Publishes how many of the client's calls have been read. A call of the client's may be several of the backend's, of
 * which the last one counts; the server has waited for the others already.
 */
static bool
look_for_read(GrRemoteServer *server, int object, bool wait, GrError *err)
{
	GrServed   *served = &server->objects[object];
	int64_t		nread = served->nread;

	if (!server->backend->sink->sent(served->object, wait, &nread, err))
		return false;
	served->nread = nread;
	__atomic_store_n(&server->channel->objects[object].nread, served->ncounted - (served->ncalls - nread),
					 __ATOMIC_RELEASE);
	wake_client(server->channel);
	return true;
}

/* Returns the stay of a sink that stays, else NULL. */
static const GrStay *
stay_of(const GrServed *served)
{
	return served->options.stays ? &served->options.stay : NULL;
}

/* Admits nbytes more for served, waiting at most wait_s seconds and polling host. Returns false with an error. */
static bool
admit_bytes(GrRemoteServer *server, GrServed *served, size_t nbytes, double wait_s, const GrHost *host, GrError *err)
{
	const GrAdmission wanted = {.nbytes = nbytes,.wait_s = wait_s,.stay = stay_of(served)};

	if (!server->admit(server, &wanted, host, &served->waited_s, err))
		return false;
	served->admitted += nbytes;
	server->channel->admitted_nbytes += nbytes;
	return true;
}

/*
 * Admits memory for rows that stay as they arrive, somewhat ahead: their number is only estimated, and their memory
 * will be held for long.
 */
static bool
admit_rows(GrRemoteServer *server, GrServed *served, int64_t nrows, GrError *err)
{
	size_t		nbytes = (size_t) (served->nrows + nrows) * gr_row_nbytes(gr_wide_shape(served->options.shape));
	size_t		more = nbytes > served->admitted ? nbytes - served->admitted : 0;
	size_t		ahead = served->admitted / 4 > STAY_NBYTES ? served->admitted / 4 : STAY_NBYTES;
	GrError		ignored = {0};

	if (!served->options.stays || server->admit == NULL || more == 0)
		return true;
	return (ahead > more && admit_bytes(server, served, ahead, 0, NULL, &ignored)) ||
		admit_bytes(server, served, more, 0, NULL, err);
}

/* Sends rows to the backend's sink. Rows that do not complete a call of the client's are waited for. */
static bool
send_rows(GrRemoteServer *server, const GrRemoteCommand *command, GrError *err)
{
	GrServed   *served = &server->objects[command->object];
	const GrSinkOps *ops = server->backend->sink;

	if (!admit_rows(server, served, command->n, err))
		return false;
	served->nrows += command->n;
	if (!ops->send(served->object, server->areas[command->area] + command->offset, command->n, err))
		return false;
	served->ncalls++;
	served->ncounted += command->counts;
	if (command->counts)
		return look_for_read(server, command->object, false, err);
	while (served->nread < served->ncalls)
		if (!ops->sent(served->object, true, &served->nread, err))
			return false;
	return true;
}

static bool
begin_sink(GrRemoteServer *server, const GrRemoteCommand *command, const GrHost *host, GrError *err)
{
	GrServed   *served = &server->objects[command->object];
	GrSink	   *sink = NULL;
	GrSession  *session = server->session;
	bool		ok;

	served->kind = GR_REMOTE_BEGIN;
	served->options = server->arguments.sink;
	served->options.host = host;
	if (served->options.stays && (server->store == NULL || server->backend->sink->derive == NULL))
		return gr_fail(err, GR_DEVICE_FAILED, 0, "the device service cannot keep rows");
	if (served->options.stays)
	{
		/* a sink that stays must not depend on this client */
		session = server->store->session;
		served->options.host = NULL;
	}
	else if (server->admit != NULL && served->options.expected_nbytes > 0 &&
			 !admit_bytes(server, served, served->options.expected_nbytes, served->options.wait_s, host, err))
		return false;
	ok = server->backend->sink->begin(session, &served->options, &sink, err);
	served->object = sink;
	return ok;
}

static bool
restart_sums(GrRemoteServer *server, const GrRemoteCommand *command, GrError *err)
{
	GrServed   *served = &server->objects[command->object];
	GrRemoteWire wire = server->bulk;
	double	   *shift = gr_wire_doubles(&wire, gr_nterms(served->options.shape.nfeatures));

	return gr_wire_fits(&wire, err) &&
		server->backend->sink->restart(served->object, server->arguments.flag ? shift : NULL, err);
}

static void
drop_sums(GrServed *served)
{
	free(served->sums);
	served->sums = NULL;
}

/* Fetches all nsums sums from the backend into served->sums, from which the client reads them piece by piece. */
static bool
gather_sums(GrRemoteServer *server, GrServed *served, int64_t nsums, GrError *err)
{
	size_t		nbytes = 2 * (size_t) nsums * sizeof(double);

	drop_sums(served);
	served->sums = malloc(nbytes);
	if (served->sums == NULL)
	{
		err->bytes_needed = nbytes;
		return gr_fail(err, GR_NO_MEMORY, 0, "Gram matrix");
	}
	if (server->backend->sink->finish(served->object, (GrDDVector) {served->sums, served->sums + nsums}, err))
		return true;
	drop_sums(served);
	return false;
}

/* Gives the client the sums that fit the bulk area: all, or a part of those gathered before. */
static bool
finish_sums(GrRemoteServer *server, const GrRemoteCommand *command, GrError *err)
{
	GrServed   *served = &server->objects[command->object];
	int64_t		nsums = gr_triangle(gr_norder(served->options.shape.nfeatures));
	int64_t		from = command->n;
	GrRemoteWire wire = server->bulk;
	GrWireGram	gram = gr_wire_gram(&wire, nsums, from);

	if (!gr_wire_fits(&wire, err))
		return false;
	if (gram.n == nsums)
		return server->backend->sink->finish(served->object, (GrDDVector) {gram.hi, gram.lo}, err);
	if (from == 0 && !gather_sums(server, served, nsums, err))
		return false;
	if (served->sums == NULL || from < 0 || gram.n <= 0)
		return gr_fail(err, GR_DEVICE_FAILED, 0, "a part of sums that do not exist");
	memcpy(gram.hi, served->sums + from, (size_t) gram.n * sizeof(double));
	memcpy(gram.lo, served->sums + nsums + from, (size_t) gram.n * sizeof(double));
	if (from + gram.n == nsums)
		drop_sums(served);
	return true;
}

/* Returns a copy of nbytes of the bulk area, for the caller to free and out of the client's reach, or NULL. */
static void *
copy_block(GrRemoteWire *wire, size_t nbytes, const char *what, GrError *err)
{
	const void *from = gr_wire(wire, nbytes);
	void	   *copy;

	if (!gr_wire_fits(wire, err))
		return NULL;
	copy = malloc(nbytes > 0 ? nbytes : 1);
	if (copy == NULL)
	{
		(void) gr_fail(err, GR_NO_MEMORY, 0, "%s", what);
		return NULL;
	}
	return memcpy(copy, from, nbytes);
}

/* Computes a request's sums. Copies the request before checking it, so that the client cannot change it afterwards. */
static bool
make_sums(GrRemoteServer *server, const GrRemoteCommand *command, const GrHost *host, GrError *err)
{
	size_t		nbytes = (size_t) server->arguments.n;
	GrRemoteWire wire = server->bulk;
	GrRequest  *request = copy_block(&wire, nbytes, "a request", err);
	double	   *sums;
	bool		ok;

	if (request == NULL)
		return false;
	ok = gr_request_valid(request, nbytes, server->objects[command->object].options.shape, err);
	if (ok)
	{
		sums = gr_wire_doubles(&wire, (int64_t) gr_request_nsums(request));
		ok = gr_wire_fits(&wire, err) &&
			server->backend->sink->sums(sink_of(server, command), request, sums, host, err);
	}
	free(request);
	return ok;
}

/*
 * Changes a sink's rows. Copies basis.changed before checking it, so that the client cannot change indexes afterwards.
 */
static bool
change_rows(GrRemoteServer *server, const GrRemoteCommand *command, const GrHost *host, GrError *err)
{
	GrBasis		basis = server->arguments.basis;
	GrRemoteWire wire = server->bulk;
	GrWireBasis w = gr_wire_basis(&wire, &basis);
	size_t		nbytes = (size_t) basis.nchanged * sizeof(int);
	int		   *changed;
	bool		ok;

	if (!gr_wire_fits(&wire, err))
		return false;
	changed = malloc(nbytes > 0 ? nbytes : 1);
	if (changed == NULL)
		return gr_fail(err, GR_NO_MEMORY, 0, "a change of basis");
	memcpy(changed, w.changed, nbytes);
	basis.changed = changed;
	basis.coef = w.coef;
	ok = gr_basis_valid(&basis, server->objects[command->object].options.shape, err) &&
		server->backend->sink->change(sink_of(server, command), &basis, host, err);
	free(changed);
	return ok;
}

static bool
ascend(GrRemoteServer *server, const GrRemoteCommand *command, const GrHost *host, GrError *err)
{
	GrRemoteArguments *answer = &server->channel->arguments;
	GrAscent	ascent = server->arguments.ascent;
	GrRemoteWire wire = server->bulk;
	GrWireAscent w = gr_wire_ascent(&wire, server->objects[command->object].options.shape);
	int64_t		iterations = 0;
	bool		converged = false;
	bool		ok;

	if (!gr_wire_fits(&wire, err))
		return false;
	ascent.scale = w.scale;
	ok = server->backend->sink->ascend(sink_of(server, command), &ascent, w.beta, &iterations, &converged, host, err);
	answer->n = iterations;
	answer->flag = converged;
	return ok;
}

/* Stored rows */

static void
release_bytes(GrRemoteServer *server, GrServed *served, size_t nbytes)
{
	served->admitted -= nbytes;
	server->channel->admitted_nbytes -= nbytes;
	server->release(server, nbytes, stay_of(served));
}

/*
 * Moves a sink to the store. Releases memory admitted for rows that have not come, and admits the description's bytes.
 */
static bool
store_sink(GrRemoteServer *server, const GrRemoteCommand *command, GrError *err)
{
	GrServed   *served = &server->objects[command->object];
	GrRowShape	shape = gr_wide_shape(served->options.shape);
	size_t		nbytes = (size_t) served->nrows * gr_row_nbytes(shape);
	int64_t		description_nbytes = server->arguments.n;

	if (!served->options.stays || description_nbytes < 0 || server->channel->objects[command->object].failed != 0)
		return gr_fail(err, GR_DEVICE_FAILED, 0, "rows that are not to be kept cannot be stored");
	while (served->nread < served->ncalls)
		if (!server->backend->sink->sent(served->object, true, &served->nread, err))
			return false;
	if (served->admitted > nbytes)
		release_bytes(server, served, served->admitted - nbytes);
	if (server->admit != NULL && description_nbytes > 0 &&
		!admit_bytes(server, served, (size_t) description_nbytes, 0, NULL, err))
		return false;
	if (!server->store->put(server->arguments.stored, served->object, gr_row_ncols(shape), served->admitted,
							served->options.stay.owner, err))
		return false;
	server->channel->admitted_nbytes -= served->admitted;
	drop_sums(served);
	memset(served, 0, sizeof(*served));
	return true;
}

/* Returns a valid copy of the derivation, for the caller to free and out of the client's reach, or NULL. */
static GrDerivation *
copy_derivation(GrRemoteServer *server, int ncolumns, GrError *err)
{
	size_t		nbytes = (size_t) server->arguments.n;
	GrRemoteWire wire = server->bulk;
	GrDerivation *copy = copy_block(&wire, nbytes, "a derivation of rows", err);

	if (copy == NULL || gr_derivation_valid(copy, nbytes, ncolumns))
		return copy;
	free(copy);
	(void) gr_fail(err, GR_DEVICE_FAILED, 0, "no derivation of rows of %d columns", ncolumns);
	return NULL;
}

/*
 * Finds the rows to derive from: those stored, which the store lends to one user at a time, or those of the client's
 * sink `from`, after all of them have been read. Checks the server's own state, not the client's arguments.
 */
static bool
take_origin(GrRemoteServer *server, int from, int object, GrRemoteStored *origin, const GrHost *host, GrError *err)
{
	GrServed   *served;

	if (from < 0)
		return (server->store != NULL && server->store->take(server->arguments.stored, origin, host, err)) ||
			gr_fail(err, GR_INVALID, 0, "nothing is stored in the device service");
	if (from >= GR_REMOTE_OBJECTS || from == object)
		return gr_fail(err, GR_DEVICE_FAILED, 0, "there is no object %d", from);
	served = &server->objects[from];
	if (served->object == NULL || served->kind != GR_REMOTE_BEGIN || served->options.kind != GR_SINK_KEEP ||
		served->options.stays || server->channel->objects[from].failed != 0 ||
		server->backend->sink->derive == NULL)
		return gr_fail(err, GR_DEVICE_FAILED, 0, "rows cannot be derived from object %d", from);
	while (served->nread < served->ncalls)
		if (!server->backend->sink->sent(served->object, true, &served->nread, err))
			return false;
	*origin = (GrRemoteStored) {.sink = served->object,.ncolumns = gr_row_ncols(served->options.shape)};
	return true;
}

/* Derives rows. Takes stored rows only once memory is admitted, so that others need not wait for it. */
static bool
derive_sink(GrRemoteServer *server, const GrRemoteCommand *command, const GrHost *host, GrError *err)
{
	const GrRemoteArguments *arguments = &server->arguments;
	GrServed   *served = &server->objects[command->object];
	GrDeriveCounts counts = {0};
	GrRemoteStored stored;
	GrDerivation *d;
	GrSink	   *derived = NULL;
	GrDeriveTask task = {
		.rules = arguments->rules,.options = &served->options,.derived = arguments->flag ? &derived : NULL,
		.counts = &counts
	};
	bool		ok;

	served->kind = GR_REMOTE_BEGIN;
	served->options = arguments->sink;
	served->options.host = host;
	if (arguments->flag && server->admit != NULL && served->options.expected_nbytes > 0 &&
		!admit_bytes(server, served, served->options.expected_nbytes, served->options.wait_s, host, err))
		return false;
	if (!take_origin(server, arguments->from, command->object, &stored, host, err))
		return false;
	d = copy_derivation(server, stored.ncolumns, err);
	task.derivation = d;
	ok = d != NULL && server->backend->sink->derive(stored.sink, &task, host, err);
	if (arguments->from < 0)
		server->store->give_back(&stored);
	if (d != NULL)
		served->options.shape = gr_derived_shape(d);
	free(d);
	served->object = derived;
	server->channel->arguments.counts = counts;
	return ok;
}

static bool
read_stored(GrRemoteServer *server, const GrRemoteCommand *command, const GrHost *host, GrError *err)
{
	const GrRemoteArguments *arguments = &server->arguments;
	GrRemoteWire wire = server->bulk;
	GrRemoteStored stored;
	double	   *rows;
	bool		ok;

	if (server->backend->sink->read == NULL || server->store == NULL ||
		!server->store->take(arguments->stored, &stored, host, err))
		return gr_fail(err, GR_INVALID, 0, "nothing is stored in the device service");
	rows = gr_wire_doubles(&wire, command->n * stored.ncolumns);
	ok = gr_wire_fits(&wire, err) && server->backend->sink->read(stored.sink, arguments->n, command->n, rows, err);
	server->store->give_back(&stored);
	return ok;
}

/* All objects and commands */

static void
end_served(GrRemoteServer *server, int object)
{
	GrServed   *served = &server->objects[object];

	if (served->object != NULL && served->kind == GR_REMOTE_BEGIN)
		server->backend->sink->end(served->object);
	else if (served->object != NULL && served->kind == GR_REMOTE_FACTOR)
		server->backend->solver->end(served->object);
	else if (served->object != NULL)
		server->backend->projector->end(served->object);
	if (served->admitted > 0)
	{
		server->channel->admitted_nbytes -= served->admitted;
		server->release(server, served->admitted, stay_of(served));
	}
	drop_sums(served);
	memset(served, 0, sizeof(*served));
}

static bool
carry_out(GrRemoteServer *server, const GrRemoteCommand *command, const GrHost *host, GrError *err)
{
	const GrSinkOps *ops = server->backend->sink;

	switch (command->op)
	{
		case GR_REMOTE_BEGIN:
			return begin_sink(server, command, host, err);
		case GR_REMOTE_SEND:
			return send_rows(server, command, err);
		case GR_REMOTE_RESTART:
			return restart_sums(server, command, err);
		case GR_REMOTE_FINISH:
			return finish_sums(server, command, err);
		case GR_REMOTE_SUMS:
			return make_sums(server, command, host, err);
		case GR_REMOTE_CHANGE:
			return change_rows(server, command, host, err);
		case GR_REMOTE_CAN_ASCEND:
			server->channel->arguments.flag = ops->can_ascend != NULL &&
				ops->can_ascend(sink_of(server, command), server->arguments.flag);
			return true;
		case GR_REMOTE_ASCEND:
			return ascend(server, command, host, err);
		case GR_REMOTE_FACTOR:
			return gr_serve_factor(server, command, host, err);
		case GR_REMOTE_INVERSE:
			return gr_serve_inverse(server, command, host, err);
		case GR_REMOTE_PROJECT:
			return gr_serve_project(server, command, host, err);
		case GR_REMOTE_SUBMIT:
			return gr_serve_submit(server, command, host, err);
		case GR_REMOTE_TAKE:
			return gr_serve_take(server, command, err);
		case GR_REMOTE_STORE:
			return store_sink(server, command, err);
		case GR_REMOTE_DERIVE:
			return derive_sink(server, command, host, err);
		case GR_REMOTE_READ:
			return read_stored(server, command, host, err);
		case GR_REMOTE_END:
			end_served(server, command->object);
			return true;
	}
	return gr_fail(err, GR_DEVICE_FAILED, 0, "there is no command %d", (int) command->op);
}

static uint32_t
count_objects(const GrRemoteServer *server)
{
	uint32_t	n = 0;

	for (int k = 0; k < GR_REMOTE_OBJECTS; k++)
		n += server->objects[k].object != NULL;
	return n;
}

/* Records a failed send, which the client learns at its next call. Further rows sent to the object are dropped. */
static void
note_failed_send(GrChannel *channel, int object, const GrError *err)
{
	channel->objects[object].error = *err;
	__atomic_store_n(&channel->objects[object].failed, 1, __ATOMIC_RELEASE);
	wake_client(channel);
}

/* Copies the command's arguments, so that the client cannot change them after they are checked. */
static void
take_arguments(GrRemoteServer *server, const GrRemoteCommand *command)
{
	GrChannel  *channel = server->channel;
	int			bulk = __atomic_load_n(&channel->bulk, __ATOMIC_RELAXED);

	server->bulk = (GrRemoteWire) {0};
	if (command->op == GR_REMOTE_SEND)
		return;
	server->arguments = channel->arguments;
	if (bulk >= 0 && bulk < GR_REMOTE_AREAS)
		server->bulk = (GrRemoteWire) {.at = server->areas[bulk],.limit = server->area_nbytes[bulk]};
}

/*
 * Checks and carries out a command. A command for an object with a failed send gets the error of that send, whether or
 * not the client has seen it. (READ names no object.) A command that begins an object first ends one of the same
 * number, and leaves none if it fails.
 */
static bool
carry_out_checked(GrRemoteServer *server, const GrRemoteCommand *command, GrError *err)
{
	const GrRemoteObject *object = &server->channel->objects[command->object];

	if (!gr_remote_check(server, command, &server->arguments, err))
		return false;
	if (object->failed != 0 && command->op != GR_REMOTE_END && command->op != GR_REMOTE_READ)
	{
		*err = object->error;
		return false;
	}
	if (gr_remote_begins(command->op))
		end_served(server, command->object);
	if (carry_out(server, command, &server->host, err))
		return true;
	if (gr_remote_begins(command->op))
		end_served(server, command->object);
	return false;
}

/* Abandons the channel if rows are sent to an impossible object number, as no object could report the failure. */
void
gr_remote_serve_command(GrRemoteServer *server, const GrRemoteCommand *command)
{
	GrChannel  *channel = server->channel;
	GrError		err = {0};
	bool		ok;

	if (command->object < 0 || command->object >= GR_REMOTE_OBJECTS)
	{
		(void) gr_fail(&err, GR_INVALID, 0, "the device service has no object %d", command->object);
		channel->reply = err;
		if (command->op == GR_REMOTE_SEND)
			gr_channel_abandon(channel, &err);
		return;
	}
	take_arguments(server, command);
	ok = carry_out_checked(server, command, &err);
	if (command->op == GR_REMOTE_SEND && !ok && channel->objects[command->object].failed == 0)
		note_failed_send(channel, command->object, &err);
	if (command->op != GR_REMOTE_SEND)
		channel->reply = err;
	publish_times(server, command->object);
	if (command->op != GR_REMOTE_SEND)
		channel->nobjects = count_objects(server);
	if (!ok && err.status == GR_DEVICE_LOST && !server->told)
	{
		server->told = true;
		server->lost(server, &err);
	}
}

/* Returns an object with rows that are still being read, or -1. */
static int
find_unread(const GrRemoteServer *server)
{
	for (int k = 0; k < GR_REMOTE_OBJECTS; k++)
	{
		const GrServed *served = &server->objects[k];

		if (served->kind == GR_REMOTE_BEGIN && served->object != NULL && served->nread < served->ncalls &&
			server->channel->objects[k].failed == 0)
			return k;
	}
	return -1;
}

/* Waits while the queue is empty: for rows that are being read, or for a command. */
static void
await_command(GrRemoteServer *server)
{
	int			unread = find_unread(server);
	GrError		err = {0};

	if (unread < 0)
		while (sem_wait(&server->channel->requests) != 0 && errno == EINTR)
			;
	else if (!look_for_read(server, unread, true, &err))
		note_failed_send(server->channel, unread, &err);
}

bool
gr_remote_is_busy(const GrRemoteServer *server)
{
	for (int k = 0; k < GR_REMOTE_OBJECTS; k++)
		if (__atomic_load_n(&server->objects[k].object, __ATOMIC_RELAXED) != NULL)
			return true;
	return false;
}

void
gr_remote_end_all(GrRemoteServer *server)
{
	for (int k = 0; k < GR_REMOTE_OBJECTS; k++)
		end_served(server, k);
	server->channel->nobjects = 0;
	gr_projection_cache_free(server->cache);
	server->cache = NULL;
}

void
gr_remote_serve(GrRemoteServer *server)
{
	GrChannel  *channel = server->channel;
	uint64_t	ndone = channel->ndone;

	server->host = (GrHost) {.canceled = client_canceled,.arg = channel};
	while (__atomic_load_n(&channel->closing, __ATOMIC_SEQ_CST) == 0)
	{
		GrRemoteCommand command;

		if (ndone == __atomic_load_n(&channel->nasked, __ATOMIC_SEQ_CST))
		{
			await_command(server);
			continue;
		}
		command = channel->queue[ndone % GR_REMOTE_COMMANDS];
		gr_remote_serve_command(server, &command);
		ndone++;
		__atomic_store_n(&channel->ndone, ndone, __ATOMIC_SEQ_CST);
		wake_client(channel);
	}
	gr_remote_end_all(server);
}
