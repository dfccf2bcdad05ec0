/*
 * remote_test.c: tests that a backend behind a channel gives the bits of that backend itself, and the end of clients
 * that are cancelled or leave, and of clients whose server leaves. The server is a thread here.
 */
#include <unistd.h>

#include "compute/backend/shifted_gram.h"
#include "compute/dist/family.h"
#include "compute/glm/glm.h"
#include "compute/linalg/gram_shift.h"
#include "remote_pair.h"
#include "sums.h"
#include "unit.h"

#define P 5
#define NROWS 20000
#define BLOCK 700				/* rows per block */
#define OWNER 4711
#define DESCRIPTION_NBYTES 123
#define TRIANGLE ((P + 2) * (P + 3) / 2)

static double *
make_rows(double *rows)
{
	srandom(3);
	for (int64_t r = 0; r < NROWS; r++)
	{
		double	   *row = rows + r * (P + 1);

		for (int j = 0; j < P; j++)
			row[j] = 1e6 * (j == 2) + (double) random() / 2147483648.0 - 0.5;
		row[P] = random() % 3 == 0;
	}
	return rows;
}

/* Sends all rows block by block, each from memory that is overwritten once it has been read. */
static bool
send_all(const GrSinkOps *ops, GrSink *sink, GrShiftedGram *shifted, const double *rows, char *memory, int nblocks,
		 GrError *err)
{
	size_t		row_nbytes = (P + 1) * sizeof(double);
	int64_t		ncalls = 0;
	int64_t		nread = 0;

	for (int64_t from = 0; from < NROWS; from += BLOCK, ncalls++)
	{
		int64_t		n = NROWS - from < BLOCK ? NROWS - from : BLOCK;
		char	   *block = memory + (size_t) (ncalls % nblocks) * BLOCK * row_nbytes;

		while (ncalls - nread >= nblocks)
			if (!ops->sent(sink, true, &nread, err))
				return false;
		memcpy(block, rows + from * (P + 1), (size_t) n * row_nbytes);
		if (!(shifted != NULL ? gr_shifted_send(shifted, block, n, err) : ops->send(sink, block, n, err)))
			return false;
	}
	while (nread < ncalls)
		if (!ops->sent(sink, true, &nread, err))
			return false;
	return true;
}

/* Sums all rows less a shift that is chosen after the first block. */
static bool
sum_all(const GrBackend *backend, GrSession *session, const double *rows, char *memory, double *hi, double *lo,
		double *shift, GrError *err)
{
	const GrSinkOptions options = {.shape = gr_plain_shape(P),.kind = GR_SINK_SUM,.block_nbytes = 1 << 20};
	GrShiftedGram shifted = {0};
	GrGram		gram = {.hi = hi,.lo = lo,.shift = shift,.nfeatures = P};
	GrSink	   *sink = NULL;
	bool		ok;

	ok = backend->sink->begin(session, &options, &sink, err) &&
		gr_shifted_begin(&shifted, backend->sink, sink, &options, err) &&
		send_all(backend->sink, sink, &shifted, rows, memory, 4, err) &&
		gr_shifted_finish(&shifted, &gram, err);
	backend->sink->end(sink);
	gr_shifted_end(&shifted);
	return ok;
}

static void
test_sums(const double *rows)
{
	Pair	   *pair = begin_pair(&gr_backend_cpu);
	GrSession  *session = (GrSession *) &pair->client;
	size_t		block_nbytes = BLOCK * (P + 1) * sizeof(double);
	int			area = lease(&pair->client, 4 * block_nbytes);
	char	   *elsewhere = malloc(4 * block_nbytes);
	int64_t		n = gr_triangle(gr_norder(P));
	double	   *sums = calloc((size_t) (6 * n), sizeof(double));
	double		shift[3][P + 1];
	GrError		err = {0};

	check(sum_all(&gr_backend_cpu, NULL, rows, elsewhere, sums, sums + n, shift[0], &err), "sums here");
	check(sum_all(&gr_backend_remote, session, rows, pair->client.areas[area], sums + 2 * n, sums + 3 * n, shift[1],
				  &err), "sums there, sent from an area");
	check(memcmp(sums, sums + 2 * n, (size_t) (2 * n) * sizeof(double)) == 0 &&
		  memcmp(shift[0], shift[1], sizeof(shift[0])) == 0 && shift[0][2] != 0, "are the same bits, about a shift");
	check(sum_all(&gr_backend_remote, session, rows, elsewhere, sums + 4 * n, sums + 5 * n, shift[2], &err),
		  "sums there, sent from other memory");
	check(memcmp(sums, sums + 4 * n, (size_t) (2 * n) * sizeof(double)) == 0, "are the same bits");
	check(!gr_remote_is_busy(&pair->server), "and leave nothing");
	free(sums);
	free(elsewhere);
	end_pair(pair);
}

/* Checks sums that exceed the bulk area, asked for by a thread that can't lease a larger one: they come in pieces. */
static void
test_wide_sums(void)
{
	enum
	{
		WIDE = 300, NWIDE = 400
	};
	const GrSinkOptions options = {.shape = gr_plain_shape(WIDE),.kind = GR_SINK_SUM,.block_nbytes = 1 << 20};
	int64_t		n = gr_triangle(gr_norder(WIDE));
	size_t		nbytes = 2 * (size_t) n * sizeof(double);
	Pair	   *pair = begin_pair(&gr_backend_cpu);
	const GrBackend *backends[2] = {&gr_backend_cpu, &gr_backend_remote};
	GrSession  *sessions[2] = {NULL, (GrSession *) &pair->client};
	double	   *rows = malloc((size_t) NWIDE * (WIDE + 1) * sizeof(double));
	double	   *sums[3];

	check(nbytes > 2 * GR_REMOTE_BULK_NBYTES, "wide sums take several pieces");
	pair->client.lease = NULL;
	for (int k = 0; k < NWIDE * (WIDE + 1); k++)
		rows[k] = (double) random() / 2147483648.0 - 0.5;
	for (int k = 0; k < 3; k++)
		sums[k] = calloc(1, nbytes);
	for (int k = 0; k < 2; k++)
	{
		const GrSinkOps *ops = backends[k]->sink;
		GrSink	   *sink = NULL;
		GrError		err = {0};
		bool		ok = ops->begin(sessions[k], &options, &sink, &err) && ops->send(sink, rows, NWIDE, &err) &&
			ops->finish(sink, (GrDDVector) {sums[k], sums[k] + n}, &err);

		check(ok, k == 0 ? "wide sums here" : "wide sums there");
		if (k == 1)
			check(ops->restart(sink, NULL, &err) && ops->send(sink, rows, NWIDE, &err) &&
				  ops->finish(sink, (GrDDVector) {sums[2], sums[2] + n}, &err), "and once more");
		ops->end(sink);
	}
	check(memcmp(sums[0], sums[1], nbytes) == 0 && memcmp(sums[0], sums[2], nbytes) == 0, "are the same bits");
	for (int k = 0; k < 3; k++)
		free(sums[k]);
	free(rows);
	end_pair(pair);
}

/* Makes a pass of each kind that a fit makes. */
static bool
pass_all(const GrBackend *backend, GrSession *session, const double *rows, char *memory, double *sums[3], GrError *err)
{
	const GrSinkOptions options = {.shape = gr_plain_shape(P),.kind = GR_SINK_KEEP,.expected_nbytes = 1000};
	const double beta[P + 1] = {0.5, -0.25, 1, 1e-7, -2, 0.125};
	const double shift[P + 1] = {0, 0, 1e6, 0, 0, 0};
	const int	changed[1] = {4};
	const double coef[P + 1] = {1, 0.5, -1, 0, 0, 2};
	const GrBasis basis = {.nfeatures = P,.nchanged = 1,.changed = changed,.coef = coef};
	GrSink	   *sink = NULL;
	GrPass		pass = {
		.shape = gr_plain_shape(P),.distribution = GR_LOGISTIC,.beta = beta,.shift = shift
	};
	bool		ok = backend->sink->begin(session, &options, &sink, err) &&
		send_all(backend->sink, sink, NULL, rows, memory, 4, err);

	for (int k = 0; k < 3 && ok; k++)
	{
		pass.kind = k == 0 ? GR_PASS_EXACT : GR_PASS_FAST;
		if (k == 2)
			ok = backend->sink->change(sink, &basis, NULL, err);
		gr_pass_clear(pass.kind, P, sums[k]);
		ok = ok && sum_pass(backend->sink, sink, &pass, sums[k], NULL, err);
	}
	backend->sink->end(sink);
	return ok;
}

static void
test_passes(const double *rows)
{
	Pair	   *pair = begin_pair(&gr_backend_cpu);
	size_t		block_nbytes = BLOCK * (P + 1) * sizeof(double);
	int			area = lease(&pair->client, 4 * block_nbytes);
	char	   *elsewhere = malloc(4 * block_nbytes);
	size_t		n = gr_pass_nsums(GR_PASS_EXACT, P);
	double	   *memory = calloc(6 * n, sizeof(double));
	double	   *here[3] = {memory, memory + n, memory + 2 * n};
	double	   *there[3] = {memory + 3 * n, memory + 4 * n, memory + 5 * n};
	GrError		err = {0};

	check(pass_all(&gr_backend_cpu, NULL, rows, elsewhere, here, &err) &&
		  pass_all(&gr_backend_remote, (GrSession *) &pair->client, rows, pair->client.areas[area], there, &err),
		  "passes here and there");
	check(memcmp(here[0], there[0], 3 * n * sizeof(double)) == 0 && here[0][GR_SUM_NROWS] == NROWS &&
		  memcmp(here[1], here[2], n * sizeof(double)) != 0, "are the same bits, before and after a change of rows");
	check(pair->asked == 1000 && pair->released == 1000, "what was admitted is given back");
	free(memory);
	free(elsewhere);
	end_pair(pair);
}

/* A store for one sink */
static GrRemoteStored stored;
static size_t stored_nbytes;

static bool
put_stored(uint64_t id, GrSink *sink, int ncolumns, size_t nbytes, uint32_t owner, GrError *err)
{
	if (stored.sink != NULL)
		return gr_fail(err, GR_DEVICE_FAILED, 0, "there is one already");
	stored = (GrRemoteStored) {sink, ncolumns, NULL};
	stored_nbytes = nbytes;
	return id == 7 && owner == OWNER;
}

static bool
take_stored(uint64_t id, GrRemoteStored *taken, const GrHost *host, GrError *err)
{
	(void) host;
	*taken = stored;
	return (id == 7 && stored.sink != NULL) || gr_fail(err, GR_INVALID, 0, "there is none");
}

static void
give_stored_back(const GrRemoteStored *taken)
{
	(void) taken;
}

static void *
take_memory(void *arg, size_t nbytes)
{
	(void) arg;
	return malloc(nbytes);
}

/* Makes a derivation for rows of P features and the response: features 4 and 0, where feature 1 is above 0.25. */
static GrDerivation *
derivation_of(int ncolumns)
{
	const int	columns[2] = {4, 0};
	const GrFilterStep step = {GR_FILTER_GT, 1, 0.25};
	const GrDeriveOptions options = {
		.ncolumns = ncolumns,.response = P,.weight = -1,.offset = -1,.key = -1,.columns = columns,.nfeatures = 2,
		.steps = &step,.nsteps = 1
	};
	GrError		err = {0};

	return gr_derivation_make(&options, (GrMemory) {take_memory, NULL}, &err);
}

/* Makes an EXACT pass over a derived sink, of whichever backend. */
static bool
pass_derived(const GrBackend *backend, GrSink *sink, double *sums, GrError *err)
{
	const double beta[3] = {0.5, -0.25, 1};
	const double shift[3] = {0};
	const GrPass pass = {
		.kind = GR_PASS_EXACT,.shape = gr_plain_shape(2),.distribution = GR_LOGISTIC,.beta = beta,.shift = shift
	};

	gr_pass_clear(pass.kind, 2, sums);
	return sum_pass(backend->sink, sink, &pass, sums, NULL, err);
}

/* Checks that stored rows are read back as they were sent, over any span. */
static void
test_read(Pair *pair, const double *rows)
{
	static const int64_t spans[][2] = {
		{0, 1}, {0, NROWS}, {NROWS - 1, 1}, {NROWS, 0}, {7, NROWS / 2}, {NROWS / 3, 100}
	};
	const double *read = NULL;
	GrError		err = {0};

	for (size_t k = 0; k < sizeof(spans) / sizeof(spans[0]); k++)
		check(gr_remote_read(&pair->client, 7, P + 1, spans[k][0], spans[k][1], &read, NULL, &err) &&
			  memcmp(read, rows + spans[k][0] * (P + 1), (size_t) spans[k][1] * (P + 1) * sizeof(double)) == 0,
			  "%d rows from %d on are read back %s", (int) spans[k][1], (int) spans[k][0], err.detail);
	check(!gr_remote_read(&pair->client, 7, P + 1, NROWS - 1, 2, &read, NULL, &err) && err.status == GR_INVALID,
		  "but none behind the last");
	memset(&err, 0, sizeof(err));
	check(!gr_remote_read(&pair->client, 7, P + 1, -1, 2, &read, NULL, &err) && err.status == GR_INVALID,
		  "nor before the first");
	memset(&err, 0, sizeof(err));
	check(!gr_remote_read(&pair->client, 8, P + 1, 0, 1, &read, NULL, &err) && err.status == GR_INVALID,
		  "nor of another number");
}

/* Checks that the server's main thread gets what is stored, and can end it. */
static void
test_stored(const double *rows)
{
	static const GrRemoteStore store = {.put = put_stored,.take = take_stored,.give_back = give_stored_back};
	Pair	   *keeper = begin_pair(&gr_backend_cpu);
	Pair	   *pair = begin_pair(&gr_backend_cpu);
	GrSinkOptions options = {.shape = gr_plain_shape(P),.kind = GR_SINK_KEEP,.stays = true,.stay.owner = OWNER};
	const GrSinkOptions of_derived = {.expected_nbytes = 3000};
	const GrRowRules rules = {GR_BINOMIAL, GR_PRIOR_WEIGHTS, 0};
	GrDerivation *d = derivation_of(P + 1);
	GrDerivation *other = derivation_of(P + 2);
	char	   *memory = malloc(4 * BLOCK * (P + 1) * sizeof(double));
	double		sums[2][100];
	GrSink	   *sink = NULL;
	GrSink	   *here = NULL;
	GrDeriveCounts counts[3] = {0};
	GrError		err = {0};

	check(!gr_backend_remote.sink->begin((GrSession *) &pair->client, &options, &sink, &err),
		  "without a store nothing stays: %s", err.detail);
	gr_backend_remote.sink->end(sink);
	keeper->server.store = pair->server.store = &store;
	memset(&err, 0, sizeof(err));
	check(gr_backend_remote.sink->begin((GrSession *) &keeper->client, &options, &sink, &err) &&
		  send_all(gr_backend_remote.sink, sink, NULL, rows, memory, 4, &err) &&
		  gr_remote_store(sink, 7, DESCRIPTION_NBYTES, &err), "rows are stored %s", err.detail);
	check(stored_nbytes == (size_t) NROWS * (P + 1) * sizeof(double) + DESCRIPTION_NBYTES &&
		  keeper->asked - keeper->released == stored_nbytes,
		  "what was admitted for them is what they and their description take");
	gr_backend_remote.sink->end(sink);
	end_pair(keeper);

	check(gr_remote_derive(&pair->client, 7, &(GrDeriveTask) {d, rules, &of_derived, &sink, &counts[0]}, NULL, &err) &&
		  gr_backend_cpu.sink->derive(stored.sink, &(GrDeriveTask) {d, rules, &of_derived, &here, &counts[1]}, NULL,
										&err) &&
		  gr_remote_derive(&pair->client, 7, &(GrDeriveTask) {d, rules, &of_derived, NULL, &counts[2]}, NULL, &err),
		  "another client derives others when that one is gone %s", err.detail);
	check(memcmp(&counts[0], &counts[1], sizeof(counts[0])) == 0 &&
		  memcmp(&counts[0], &counts[2], sizeof(counts[0])) == 0 && counts[0].nrows > 0 &&
		  counts[0].nrows + counts[0].nfiltered == NROWS, "are counted, with and without a sink");
	check(pass_derived(&gr_backend_remote, sink, sums[0], &err) && pass_derived(&gr_backend_cpu, here, sums[1], &err) &&
		  memcmp(sums[0], sums[1], gr_pass_nsums(GR_PASS_EXACT, 2) * sizeof(double)) == 0,
		  "passes over them have the same bits");
	gr_backend_remote.sink->end(sink);
	check(pair->asked == 3000 && pair->released == 3000, "their memory is admitted, and given back");

	test_read(pair, rows);
	check(!gr_remote_derive(&pair->client, 8, &(GrDeriveTask) {d, rules, &of_derived, &sink, counts}, NULL, &err) &&
		  err.status == GR_INVALID, "none of another number");
	gr_backend_remote.sink->end(sink);
	memset(&err, 0, sizeof(err));
	check(!gr_remote_derive(&pair->client, 7, &(GrDeriveTask) {other, rules, &of_derived, &sink, counts}, NULL, &err) &&
		  err.status == GR_DEVICE_FAILED, "nor of another shape: %s", err.detail);
	gr_backend_remote.sink->end(sink);
	check(!gr_remote_is_busy(&pair->server) && pair->asked == pair->released, "which leave nothing");
	end_pair(pair);
	gr_backend_cpu.sink->end(here);
	gr_backend_cpu.sink->end(stored.sink);
	free(memory);
	free(d);
	free(other);
}

/* Checks that failures are reported by the call that asks for the result. */
static void
test_failures(const double *rows)
{
	Pair	   *pair = begin_pair(&gr_backend_cpu);
	GrSession  *session = (GrSession *) &pair->client;
	GrSinkOptions options = {.shape = gr_plain_shape(P),.kind = GR_SINK_KEEP,.memory_limit = 100000};
	size_t		block_nbytes = BLOCK * (P + 1) * sizeof(double);
	int			area = lease(&pair->client, 4 * block_nbytes);
	const double beta[P + 1] = {0};
	GrPass		pass = {
		.kind = GR_PASS_FAST,.shape = gr_plain_shape(P),.distribution = GR_LOGISTIC,.beta = beta,.shift = beta
	};
	double		sums[200];
	GrSink	   *sinks[GR_REMOTE_OBJECTS + 1] = {0};
	GrSink	   *sink = NULL;
	GrError		err = {0};
	int			nbegun = 0;

	check(gr_backend_remote.sink->begin(session, &options, &sink, &err) &&
		  !send_all(gr_backend_remote.sink, sink, NULL, rows, pair->client.areas[area], 4, &err) &&
		  err.status == GR_NO_MEMORY && err.bytes_needed > 0, "rows beyond the limit: %s", err.detail);
	memset(&err, 0, sizeof(err));
	check(!sum_pass(gr_backend_remote.sink, sink, &pass, sums, NULL, &err) && err.status == GR_NO_MEMORY,
		  "and no pass over them");
	gr_backend_remote.sink->end(sink);

	memset(&err, 0, sizeof(err));
	options.expected_nbytes = (size_t) 1 << 41;
	check(!gr_backend_remote.sink->begin(session, &options, &sink, &err) && err.status == GR_DEVICE_MEMORY,
		  "what isn't admitted isn't begun: %s", err.detail);
	gr_backend_remote.sink->end(sink);

	memset(&err, 0, sizeof(err));
	options.expected_nbytes = 0;
	while (nbegun <= GR_REMOTE_OBJECTS && gr_backend_remote.sink->begin(session, &options, &sinks[nbegun], &err))
		nbegun++;
	check(nbegun == GR_REMOTE_OBJECTS && err.status == GR_DEVICE_MEMORY, "%d sinks at a time: %s", nbegun, err.detail);
	for (int k = 0; k < nbegun; k++)
		gr_backend_remote.sink->end(sinks[k]);
	check(!gr_remote_is_busy(&pair->server), "none is left");

	end_pair(pair);
}

static bool
fail_late(GrSink *sink, const void *rows, int64_t nrows, GrError *err)
{
	(void) sink;
	(void) rows;
	(void) nrows;
	(void) usleep(20000);
	return gr_fail(err, GR_DEVICE_MEMORY, 0, "no room");
}

/*
 * Checks a send that fails when the client has already asked for sums, or for a pass: they fail, instead of leaving out
 * rows.
 */
static void
test_late_failures(const double *rows)
{
	GrSinkOps	sinks = *gr_backend_cpu.sink;
	GrBackend	backend = gr_backend_cpu;
	size_t		nbytes = BLOCK * (P + 1) * sizeof(double);
	const double beta[P + 1] = {0};
	GrPass		pass = {
		.kind = GR_PASS_FAST,.shape = gr_plain_shape(P),.distribution = GR_LOGISTIC,.beta = beta,.shift = beta
	};
	double		sums[200];
	Pair	   *pair;
	int			area;

	sinks.send = fail_late;
	backend.sink = &sinks;
	pair = begin_pair(&backend);
	area = lease(&pair->client, nbytes);
	memcpy(pair->client.areas[area], rows, nbytes);
	for (int keep = 0; keep < 2; keep++)
	{
		GrSinkOptions options = {
			.shape = gr_plain_shape(P),.kind = keep ? GR_SINK_KEEP : GR_SINK_SUM,.block_nbytes = 1 << 20
		};
		const GrSinkOps *ops = gr_backend_remote.sink;
		GrSink	   *sink = NULL;
		GrError		err = {0};

		check(ops->begin((GrSession *) &pair->client, &options, &sink, &err) &&
			  ops->send(sink, pair->client.areas[area], BLOCK, &err), "a send that will fail");
		check(!(keep ? sum_pass(ops, sink, &pass, sums, NULL, &err) :
				ops->finish(sink, (GrDDVector) {sums, sums + TRIANGLE}, &err)) &&
			  err.status == GR_DEVICE_MEMORY, "no %s without its rows: %s", keep ? "pass" : "sums", err.detail);
		ops->end(sink);
	}
	check(!gr_remote_is_busy(&pair->server), "and nothing is left");
	end_pair(pair);
}

/*
 * Checks the end of an object of an earlier connection, while the client's new connection has an object of the same
 * number: the new object stays.
 */
static void
test_earlier_connection(const double *rows)
{
	const GrSinkOptions options = {.shape = gr_plain_shape(P),.kind = GR_SINK_SUM,.block_nbytes = 1 << 20};
	Pair	   *pair = begin_pair(&gr_backend_cpu);
	GrSession  *session = (GrSession *) &pair->client;
	const GrSinkOps *ops = gr_backend_remote.sink;
	double	   *hi = calloc(2 * TRIANGLE, sizeof(double));
	GrSink	   *earlier = NULL;
	GrSink	   *sink = NULL;
	GrError		err = {0};
	GrError		earlier_err = {0};
	bool		ok = ops->begin(session, &options, &earlier, &err);

	pair->client.connection++;
	memset(pair->client.used, 0, sizeof(pair->client.used));
	ok = ok && ops->begin(session, &options, &sink, &err) && ops->send(sink, rows, 10, &err);
	check(ok && !ops->send(earlier, rows, 10, &earlier_err) && earlier_err.status == GR_DEVICE_FAILED,
		  "rows for an object of an earlier connection");
	ops->end(earlier);
	check(ok && ops->send(sink, rows, 10, &err) && ops->finish(sink, (GrDDVector) {hi, hi + TRIANGLE}, &err) &&
		  hi[0] == 20,
		  "its end isn't that of another");
	ops->end(sink);
	free(hi);
	end_pair(pair);
}

static bool lose_device;

static bool
endless_sums(GrSink *sink, const GrRequest *request, double *sums, const GrHost *host, GrError *err)
{
	(void) sink;
	(void) request;
	(void) sums;
	if (lose_device)
		return gr_fail(err, GR_DEVICE_LOST, 0, "an illegal address");
	while (!gr_canceled(host))
		(void) usleep(1000);
	return gr_fail(err, GR_CANCELED, 0, "an endless pass");
}

static void *
close_later(void *arg)
{
	(void) usleep(100000);
	gr_channel_close(arg);
	return NULL;
}

static void *
abandon_later(void *arg)
{
	GrError		err = {.status = GR_DEVICE_LOST,.detail = "an illegal address"};

	(void) usleep(100000);
	gr_channel_abandon(arg, &err);
	return NULL;
}

static void
test_ends(void)
{
	GrSinkOps	ops = *gr_backend_cpu.sink;
	const GrBackend backend = {.name = "endless",.sink = &ops};
	const GrSinkOptions options = {.shape = gr_plain_shape(P),.kind = GR_SINK_KEEP,.expected_nbytes = 7};
	const double beta[P + 1] = {0};
	GrPass		pass = {
		.kind = GR_PASS_FAST,.shape = gr_plain_shape(P),.distribution = GR_LOGISTIC,.beta = beta,.shift = beta
	};
	double		sums[200];
	Stopper		stopper = {.stop_at = 3};
	const GrHost host = {.canceled = stop,.arg = &stopper};
	pthread_t	thread;
	GrSink	   *sink;

	ops.sums = endless_sums;
	for (int way = 0; way < 4; way++)
	{
		Pair	   *pair = begin_pair(&backend);
		GrError		err = {0};

		lose_device = way == 3;
		(void) gr_backend_remote.sink->begin((GrSession *) &pair->client, &options, &sink, &err);
		if (way == 1)
			(void) pthread_create(&thread, NULL, close_later, &pair->channel);
		if (way == 2)
			(void) pthread_create(&thread, NULL, abandon_later, &pair->channel);
		(void) sum_pass(gr_backend_remote.sink, sink, &pass, sums, way == 0 ? &host : NULL, &err);
		if (way == 0)
			check(err.status == GR_CANCELED && stopper.asked == 3, "a cancelled client waits for its server to stop");
		else if (way == 1)
			check(err.status == GR_CANCELED, "a client that goes is one that cancels");
		else if (way == 2)
			check(err.status == GR_DEVICE_FAILED && strstr(err.detail, "an illegal address") != NULL,
				  "a server that goes is an error: %s", err.detail);
		else
			check(err.status == GR_DEVICE_FAILED && pair->lost, "a device that is lost is told of");
		if (way == 1 || way == 2)
			(void) pthread_join(thread, NULL);
		if (way == 1)
		{
			GrError		gone = {.detail = "gone"};

			/* the service reports a server that it reaps; the client's next calls end */
			gr_channel_abandon(&pair->channel, &gone);
		}
		gr_backend_remote.sink->end(sink);
		gr_channel_close(&pair->channel);
		(void) pthread_join(pair->thread, NULL);
		check(pair->released == 7 && !gr_remote_is_busy(&pair->server), "and leaves nothing");
		for (int a = 0; a < GR_REMOTE_AREAS; a++)
			if (pair->channel.area_nbytes[a] != 0)
				end_lease(&pair->client, a);
		gr_channel_end(&pair->channel);
		free(pair);
	}
}

static uint32_t let_go;

/* Never returns, like a driver's call that hangs, whatever the host says. */
static bool
deaf_sums(GrSink *sink, const GrRequest *request, double *sums, const GrHost *host, GrError *err)
{
	(void) sink;
	(void) request;
	(void) sums;
	(void) host;
	while (__atomic_load_n(&let_go, __ATOMIC_ACQUIRE) == 0)
		(void) usleep(1000);
	return gr_fail(err, GR_CANCELED, 0, "a deaf pass");
}

/*
 * Checks that a client whose server doesn't stop when canceled leaves after a while, and asks nothing of it any more.
 */
static void
test_deaf_server(void)
{
	GrSinkOps	ops = *gr_backend_cpu.sink;
	const GrBackend backend = {.name = "deaf",.sink = &ops};
	const GrSinkOptions options = {.shape = gr_plain_shape(P),.kind = GR_SINK_KEEP,.expected_nbytes = 7};
	const double beta[P + 1] = {0};
	GrPass		pass = {
		.kind = GR_PASS_FAST,.shape = gr_plain_shape(P),.distribution = GR_LOGISTIC,.beta = beta,.shift = beta
	};
	double		sums[200];
	Stopper		stopper = {.stop_at = 3};
	const GrHost host = {.canceled = stop,.arg = &stopper};
	Pair	   *pair;
	GrSink	   *sink = NULL;
	GrSink	   *other = NULL;
	GrError		err = {0};

	ops.sums = deaf_sums;
	pair = begin_pair(&backend);
	pair->client.patience_s = 0.1;
	check(gr_backend_remote.sink->begin((GrSession *) &pair->client, &options, &sink, &err) &&
		  !sum_pass(gr_backend_remote.sink, sink, &pass, sums, &host, &err) && err.status == GR_CANCELED &&
		  stopper.asked == 3, "a canceled client doesn't wait for ever");
	memset(&err, 0, sizeof(err));
	check(!gr_backend_remote.sink->begin((GrSession *) &pair->client, &options, &other, &err) &&
		  err.status == GR_DEVICE_FAILED, "and has nothing more to ask: %s", err.detail);
	gr_backend_remote.sink->end(other);
	gr_backend_remote.sink->end(sink);
	gr_channel_close(&pair->channel);
	check(gr_remote_is_busy(&pair->server), "the server is at it yet");
	__atomic_store_n(&let_go, 1, __ATOMIC_RELEASE);
	(void) pthread_join(pair->thread, NULL);
	check(pair->released == 7 && !gr_remote_is_busy(&pair->server), "and leaves nothing in the end");
	for (int a = 0; a < GR_REMOTE_AREAS; a++)
		if (pair->channel.area_nbytes[a] != 0)
			end_lease(&pair->client, a);
	gr_channel_end(&pair->channel);
	free(pair);
}

/* Ends the server: it reports its end first and cancels the work under way then, so the client sees only the end. */
static void *
end_later(void *arg)
{
	GrError		err = {.status = GR_DEVICE_FAILED,.detail = "it was stopped"};

	(void) usleep(50000);
	gr_channel_abandon(arg, &err);
	gr_channel_close(arg);
	return NULL;
}

static void
test_server_ends(void)
{
	GrSinkOps	ops = *gr_backend_cpu.sink;
	const GrBackend backend = {.name = "endless",.sink = &ops};
	const GrSinkOptions options = {.shape = gr_plain_shape(P),.kind = GR_SINK_KEEP};
	const double beta[P + 1] = {0};
	GrPass		pass = {
		.kind = GR_PASS_FAST,.shape = gr_plain_shape(P),.distribution = GR_LOGISTIC,.beta = beta,.shift = beta
	};
	double		sums[200];
	int			ntold = 0;

	ops.sums = endless_sums;
	lose_device = false;
	for (int turn = 0; turn < 10; turn++)
	{
		Pair	   *pair = begin_pair(&backend);
		GrSink	   *sink;
		GrError		err = {0};
		pthread_t	thread;

		(void) gr_backend_remote.sink->begin((GrSession *) &pair->client, &options, &sink, &err);
		(void) pthread_create(&thread, NULL, end_later, &pair->channel);
		(void) sum_pass(gr_backend_remote.sink, sink, &pass, sums, NULL, &err);
		ntold += err.status == GR_DEVICE_FAILED;
		(void) pthread_join(thread, NULL);
		gr_backend_remote.sink->end(sink);
		end_pair(pair);
	}
	check(ntold == 10, "a server that ends is no cancel of the client's");
}

/* Checks that projections have the same bits, and an area of their own. */
static bool
project_all(const GrBackend *backend, GrSession *session, GrProjectionCache *cache, float *out, GrError *err)
{
	GrProjection *projection = gr_projection_open(cache, 16, 7, 0.25, 1 << 20, err);
	const GrProjectOptions options = {
		.draw = gr_projection_draw(projection),.dim = 100,.block_nbytes = 3000,.cache_nbytes = 1 << 20,.cache = cache
	};
	GrProject  *project = NULL;
	bool		ok = backend->projector->begin(session, &options, NULL, &project, err);
	int64_t		ndone = 0;
	int64_t		ntaken = 0;

	while (ok && ntaken < 50)
	{
		float	   *vectors;
		const float *projected;
		int64_t		n;

		ok = backend->projector->block(project, &vectors, &n, err);
		for (int64_t v = 0; v < n; v++)
			for (int j = 0; j < 100; j++)
				vectors[v * 100 + j] = (float) ((ndone + v) * 31 % 17 + j) / 7;
		ok = ok && backend->projector->submit(project, n, NULL, err);
		ndone += n;
		ok = ok && backend->projector->take(project, &projected, &n, err);
		for (int64_t v = 0; ok && v < n && ntaken < 50; v++, ntaken++)
			memcpy(out + ntaken * 16, projected + v * 16, 16 * sizeof(float));
	}
	backend->projector->end(project);
	return ok;
}

static void
test_projects(void)
{
	Pair	   *pair = begin_pair(&gr_backend_cpu);
	GrProjectionCache *cache = gr_projection_cache_create();
	float	   *out = calloc(2 * 50 * 16, sizeof(float));
	GrError		err = {0};

	check(project_all(&gr_backend_cpu, NULL, cache, out, &err) &&
		  project_all(&gr_backend_remote, (GrSession *) &pair->client, cache, out + 50 * 16, &err),
		  "projections here and there %s", err.detail);
	check(memcmp(out, out + 50 * 16, 50 * 16 * sizeof(float)) == 0 && out[0] != out[16], "are the same bits");
	check(pair->nleased == 1, "their area is given back");
	gr_projection_cache_free(cache);
	free(out);
	end_pair(pair);
}

int
main(void)
{
	double	   *rows = make_rows(malloc(NROWS * (P + 1) * sizeof(double)));

	test_sums(rows);
	test_wide_sums();
	test_passes(rows);
	test_stored(rows);
	test_failures(rows);
	test_late_failures(rows);
	test_earlier_connection(rows);
	test_ends();
	test_deaf_server();
	test_server_ends();
	test_projects();
	free(rows);
	return unit_done();
}
