/*
 * sink_many.c: deals rows to several sinks; see sink_many.h. sink_many_rounds.c runs the parts at the same time.
 */
#include "compute/backend/sink_many.h"

#include <stdlib.h>
#include <string.h>

#include "compute/backend/sink_many_rounds.h"

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

/* Returns a sink of n parts whose own sinks are not yet begun. NULL if there is no memory. */
static ManySink *
many_new(const GrSinkOps *ops, int n, GrRowShape shape, GrSinkKind kind, GrError *err)
{
	size_t		nbytes = sizeof(ManySink) + (size_t) n * sizeof(Part);
	ManySink   *many = calloc(1, nbytes);

	if (many == NULL)
	{
		fail_memory(err, nbytes, "rows for several devices");
		return NULL;
	}
	many->ops = ops;
	many->shape = shape;
	many->kind = kind;
	many->n = n;
	for (int i = 0; i < n; i++)
		many->parts[i].many = many;
	(void) pthread_mutex_init(&many->mutex, NULL);
	(void) pthread_cond_init(&many->wake, NULL);
	(void) pthread_cond_init(&many->done, NULL);
	return many;
}

bool
gr_many_begin(const GrParts *parts, const GrSinkOptions *options, GrSink **sink, GrError *err)
{
	ManySink   *many = many_new(parts->ops, parts->n, options->shape, options->kind, err);

	*sink = (GrSink *) many;
	for (int i = 0; many != NULL && i < parts->n; i++)
	{
		Part	   *part = &many->parts[i];
		GrSinkOptions own;

		for (int k = 0; k < parts->n; k++)
			part->nbeside += parts->sessions[k] == parts->sessions[i];
		own = gr_part_options(part, options);
		if (!parts->ops->begin(parts->sessions[i], &own, &part->sink, err))
			return false;
	}
	return many != NULL;
}

static bool
many_begin(GrSession *session, const GrSinkOptions *options, GrSink **sink, GrError *err)
{
	return gr_many_begin((const GrParts *) session, options, sink, err);
}

static void
many_end(GrSink *sink)
{
	ManySink   *many = many_of(sink);

	if (many == NULL)
		return;
	/* stop the threads of both sinks of a derivation: either may end first, and threads write into the other's parts */
	if (many->source != NULL)
		gr_many_end_threads(many->source);
	gr_many_end_threads(many);
	if (many->deriving.derived != NULL)
		many->deriving.derived->source = NULL;
	if (many->source != NULL)
		many->source->deriving.derived = NULL;
	for (int i = 0; i < many->n; i++)
		many->ops->end(many->parts[i].sink);
	(void) pthread_cond_destroy(&many->wake);
	(void) pthread_cond_destroy(&many->done);
	(void) pthread_mutex_destroy(&many->mutex);
	free(many->arguments);
	free(many->sums);
	free(many->calls);
	free(many);
}

/*
 * Rows
 */

/* KEEP: enlarges calls if it cannot take one more call. */
static bool
make_room(ManySink *many, GrError *err)
{
	int64_t		capacity = many->calls_capacity > 0 ? 2 * many->calls_capacity : 256;
	size_t		nbytes = (size_t) capacity * sizeof(Call);
	Call	   *calls;

	if (many->kind == GR_SINK_SUM || many->ncalls < many->calls_capacity)
		return true;
	calls = realloc(many->calls, nbytes);
	if (calls == NULL)
		return fail_memory(err, nbytes, "rows for several devices");
	many->calls = calls;
	many->calls_capacity = capacity;
	return true;
}

static bool
many_send(GrSink *sink, const void *rows, int64_t nrows, GrError *err)
{
	ManySink   *many = many_of(sink);
	Part	   *part = &many->parts[many->ncalls % many->n];

	if (!make_room(many, err) || !many->ops->send(part->sink, rows, nrows, err))
		return false;
	if (many->kind == GR_SINK_KEEP)
	{
		int64_t		before = many->ncalls > 0 ? many->calls[many->ncalls - 1].end : 0;

		many->calls[many->ncalls] = (Call) {before + nrows, part->nrows};
		part->nrows += nrows;
	}
	many->ncalls++;
	return true;
}

/* Returns the first unread call. Calls i, i + n, ... go to part i, which has read nread of them. */
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

/* Sets *first to the first unread call. Asks only the part that has the oldest unread call, again and again. */
static bool
look_for_read(ManySink *many, int64_t *first, GrError *err)
{
	for (int64_t before = -1; (*first = first_unread(many)) != before && *first < many->ncalls; before = *first)
	{
		Part	   *oldest = &many->parts[*first % many->n];

		if (!many->ops->sent(oldest->sink, false, &oldest->nread, err))
			return false;
	}
	return true;
}

static bool
many_sent(GrSink *sink, bool wait, int64_t *ncalls, GrError *err)
{
	ManySink   *many = many_of(sink);
	int64_t		first;

	if (!look_for_read(many, &first, err))
		return false;
	/* wait only if no call was read since the last many_sent() */
	if (wait && first == many->nread && first < many->ncalls)
	{
		Part	   *oldest = &many->parts[first % many->n];

		if (!many->ops->sent(oldest->sink, true, &oldest->nread, err) || !look_for_read(many, &first, err))
			return false;
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
many_finish(GrSink *sink, GrDDVector triangle, GrError *err)
{
	ManySink   *many = many_of(sink);
	int64_t		n = gr_triangle(gr_norder(many->shape.nfeatures));
	size_t		nbytes = 2 * (size_t) n * sizeof(double);
	double	   *room = many->n > 1 ? malloc(nbytes) : NULL;
	GrDDVector	other;
	bool		ok;

	if (many->n > 1 && room == NULL)
		return fail_memory(err, nbytes, "Gram matrix");
	ok = many->ops->finish(many->parts[0].sink, triangle, err);
	for (int i = 1; ok && i < many->n; i++)
	{
		other = (GrDDVector) {room, room + n};
		ok = many->ops->finish(many->parts[i].sink, other, err);
		if (ok)
			gr_dd_add_vector(triangle, gr_dd_from(other, 0), n);
	}
	free(room);
	return ok;
}

/*
 * KEEP
 */

/* Copies request and prepares separate sums for each part except the first, which adds to sums. */
static bool
prepare_sums(ManySink *many, const GrRequest *request, double *sums, GrError *err)
{
	size_t		nbytes = gr_request_nbytes(request);
	size_t		nsums = gr_request_nsums(request);
	size_t		nothers = (size_t) many->n - 1;

	many->arguments = malloc(nbytes);
	many->sums = malloc(nothers * nsums * sizeof(double));
	if (many->arguments == NULL || many->sums == NULL)
		return fail_memory(err, nbytes + nothers * nsums * sizeof(double), "sums over several devices");
	memcpy(many->arguments, request, nbytes);
	many->round_kind = ROUND_SUMS;
	many->parts[0].sums = sums;
	for (int i = 1; i < many->n; i++)
	{
		many->parts[i].sums = many->sums + (size_t) (i - 1) * nsums;
		gr_request_clear(request, many->parts[i].sums);
	}
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
	many->round_kind = ROUND_CHANGE;
	many->basis = *basis;
	if (ncoef > 0)
		memcpy(to, basis->coef, ncoef * sizeof(double));
	memcpy(to + ncoef, basis->changed, changed_nbytes);
	many->basis.coef = to;
	many->basis.changed = (const int *) (to + ncoef);
	return true;
}

static bool
prepare_derive(ManySink *many, const Deriving *deriving, GrError *err)
{
	size_t		nbytes = gr_derivation_nbytes(deriving->derivation);

	many->arguments = malloc(nbytes);
	if (many->arguments == NULL)
		return fail_memory(err, nbytes, "a derivation");
	memcpy(many->arguments, deriving->derivation, nbytes);
	many->round_kind = ROUND_DERIVE;
	many->deriving = *deriving;
	many->deriving.derivation = many->arguments;
	if (deriving->derived != NULL)
		deriving->derived->source = many;
	return true;
}

static void
forget_round(ManySink *many)
{
	if (many->deriving.derived != NULL)
		many->deriving.derived->source = NULL;
	many->deriving.derived = NULL;
	free(many->arguments);
	free(many->sums);
	many->arguments = NULL;
	many->sums = NULL;
}

static bool
many_sums(GrSink *sink, const GrRequest *request, double *sums, const GrHost *host, GrError *err)
{
	ManySink   *many = many_of(sink);
	bool		ok;

	if (many->n == 1)
		return many->ops->sums(many->parts[0].sink, request, sums, host, err);
	/* no part has all rows of a cluster */
	if (gr_request_is_whole(request))
		return gr_request_add(request, sums, NULL, 1, NULL, host);
	ok = prepare_sums(many, request, sums, err) && gr_many_round(many, host, err);
	for (int i = 1; ok && i < many->n; i++)
		gr_request_merge(request, sums, many->parts[i].sums);
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
	ok = prepare_change(many, basis, err) && gr_many_round(many, host, err);
	forget_round(many);
	return ok;
}

static void
merge_counts(GrDeriveCounts *counts, const GrDeriveCounts *other)
{
	counts->nrows += other->nrows;
	counts->nfiltered += other->nfiltered;
	counts->nskipped += other->nskipped;
	counts->nweightless += other->nweightless;
	gr_totals_merge(&counts->totals, &other->totals);
}

/* Derives each part's rows into the part with the same number of the new sink. */
static bool
many_derive(GrSink *sink, const GrDeriveTask *task, const GrHost *host, GrError *err)
{
	ManySink   *many = many_of(sink);
	Deriving	deriving = {.derivation = task->derivation,.rules = task->rules,.options = *task->options};
	bool		ok;

	memset(task->counts, 0, sizeof(*task->counts));
	if (task->derived != NULL)
	{
		deriving.derived = many_new(many->ops, many->n, gr_derived_shape(task->derivation), GR_SINK_KEEP, err);
		*task->derived = (GrSink *) deriving.derived;
		if (deriving.derived == NULL)
			return false;
		for (int i = 0; i < many->n; i++)
			deriving.derived->parts[i].nbeside = many->parts[i].nbeside;
	}
	ok = prepare_derive(many, &deriving, err) && gr_many_round(many, host, err);
	for (int i = 0; ok && i < many->n; i++)
		merge_counts(task->counts, &many->parts[i].counts);
	forget_round(many);
	return ok;
}

/* Returns the call that sent row, which must exist. */
static int64_t
find_call(const ManySink *many, int64_t row)
{
	int64_t		low = 0;
	int64_t		high = many->ncalls - 1;

	while (low < high)
	{
		int64_t		middle = low + (high - low) / 2;

		if (many->calls[middle].end > row)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static bool
many_read(GrSink *sink, int64_t first, int64_t nrows, double *rows, GrError *err)
{
	ManySink   *many = many_of(sink);
	int64_t		nsent = many->kind == GR_SINK_KEEP && many->ncalls > 0 ? many->calls[many->ncalls - 1].end : 0;
	int64_t		ncols = gr_row_ncols(many->shape);

	if (first < 0 || nrows < 0 || nrows > nsent - first)
		return gr_fail(err, GR_INVALID, 0, "there are no such rows");
	for (int64_t k = nrows > 0 ? find_call(many, first) : 0; nrows > 0; k++)
	{
		const Call *call = &many->calls[k];
		int64_t		start = k > 0 ? call[-1].end : 0;
		int64_t		n = call->end - first < nrows ? call->end - first : nrows;

		if (!many->ops->read(many->parts[k % many->n].sink, call->before + (first - start), n, rows, err))
			return false;
		rows += n * ncols;
		first += n;
		nrows -= n;
	}
	return true;
}

/* True only for one part: an ascent runs on one device, but the caller's passes use all devices. */
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
	.sums = many_sums,
	.change = many_change,
	.can_ascend = many_can_ascend,
	.ascend = many_ascend,
	.derive = many_derive,
	.read = many_read,
	.times = many_times,
	.end = many_end
};
