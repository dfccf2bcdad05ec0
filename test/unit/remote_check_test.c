/*
 * remote_check_test.c: tests that commands with one wrong field, which no client makes, are refused, and that the
 * server carries out the next right one. test/fuzz/fuzz_service.c sends random ones.
 */
#include <math.h>

#include "compute/design/design.h"
#include "compute/glm/fit.h"
#include "compute/remote/remote_ask.h"
#include "compute/remote/remote_wire.h"
#include "compute/resample/boot_draw.h"
#include "compute/resample/boot_row.h"
#include "remote_pair.h"
#include "sums.h"
#include "unit.h"

#define P 3
#define T (P + 1)
#define NROWS 50

static const GrRowShape keyed = {.nfeatures = P,.key = true};

/* Sends the command; true if it fails as one that can't be carried out. */
static bool
is_refused(Pair *pair, GrRemoteOp op, int object, int64_t n)
{
	GrError		err = {0};

	return !gr_remote_ask(&pair->client, op, object, n, NULL, &err) &&
		(err.status == GR_INVALID || err.status == GR_DEVICE_FAILED);
}

static bool
is_done(Pair *pair, GrRemoteOp op, int object, int64_t n)
{
	GrError		err = {0};

	return gr_remote_ask(&pair->client, op, object, n, NULL, &err);
}

static void
send_rows(Pair *pair, int object)
{
	double	   *bulk = (double *) pair->client.areas[pair->channel.bulk];
	GrRemoteCommand command = {.op = GR_REMOTE_SEND,.object = object,.area = pair->channel.bulk,.counts = true};

	for (int r = 0; r < NROWS; r++)
		for (int j = 0; j < P + 2; j++)
			bulk[r * (P + 2) + j] = j == P + 1 ? r : sin(7 * r + j);
	command.n = NROWS;
	pair->channel.queue[pair->channel.nasked % GR_REMOTE_COMMANDS] = command;
	__atomic_store_n(&pair->channel.nasked, pair->channel.nasked + 1, __ATOMIC_SEQ_CST);
	(void) sem_post(&pair->channel.requests);
}

/* Creates object 0, which keeps rows with keys, and object 1, which sums them. */
static void
begin_sinks(Pair *pair)
{
	for (int k = 0; k < 2; k++)
	{
		pair->channel.arguments.sink = (GrSinkOptions) {
			.shape = keyed,.kind = k == 0 ? GR_SINK_KEEP : GR_SINK_SUM,.block_nbytes = 4096
		};
		check(is_done(pair, GR_REMOTE_BEGIN, k, 0), "sink %d", k);
		send_rows(pair, k);
	}
}

/* Zeros, valid numbers for any array */
static const double zeros[4 * T * T] = {0};

/* Returns the command that asks for the sums of the request in the bulk area. */
static bool
sums_refused(Pair *pair, int object)
{
	return is_refused(pair, GR_REMOTE_SUMS, object, 0);
}

/*
 * Puts a copy of a request where the server looks for it, frees the request, and returns the copy. The rest of the area
 * is 0.
 */
static GrRequest *
put_request(Pair *pair, GrRequest *request)
{
	char	   *bulk = pair->client.areas[pair->channel.bulk];
	size_t		nbytes = gr_request_nbytes(request);

	memset(bulk, 0, 65536);
	memcpy(bulk, request, nbytes);
	free(request);
	pair->channel.arguments.n = (int64_t) nbytes;
	return (GrRequest *) bulk;
}

static GrPass
right_pass(void)
{
	return (GrPass) {
		.kind = GR_PASS_EXACT,.shape = keyed,.distribution = {GR_POISSON, GR_LOG, 0, 0},.beta = zeros,.shift = zeros
	};
}

static GrRequest *
put_pass(Pair *pair, GrPass pass)
{
	GrError		err = {0};

	return put_request(pair, gr_request_of_pass(&pass, gr_request_malloc, &err));
}

/* Makes a request wrong in its way-th way, though laid out correctly; false if there is no such way. */
static bool
wrong_pass(GrPass *pass, int way)
{
	switch (way)
	{
		case 0: pass->shape.nfeatures = P + 1; break;
		case 1: pass->shape.key = false; break;
		case 2: pass->shape.weight = true; break;
		case 3: pass->shape.single = true; break;
		case 4: pass->kind = GR_PASS_FACE; break;
		case 5: pass->measure = (GrMeasure) GR_NMEASURES; break;
		case 6: pass->measure = GR_MEASURE_SCORES_HC2; break;
		case 7: pass->measure = GR_MEASURE_COARSE_STEP; break;
		case 8: pass->measure = GR_MEASURE_SCORES, pass->kind = GR_PASS_FAST; break;
		case 9: pass->distribution.family = (GrFamily) GR_NFAMILIES; break;
		case 10: pass->distribution.link = GR_LOGIT; break;
		case 11: pass->distribution.theta = NAN; break;
		case 12: pass->beta = NULL; break;
		case 13: pass->shift = NULL; break;
		case 14: pass->distribution.exponent = GR_EXPONENT_MAX + 1; break;
		case 15: pass->distribution.exponent = INT32_MIN; break;
		case 16: pass->distribution = (GrDistribution) {GR_NEGATIVE_BINOMIAL, GR_LOG, 1, 1}; break;
		default: return false;
	}
	return true;
}

/* Makes one number of a request's head wrong; false if there is no such number. */
static bool
spoil_pass(GrRequest *request, int way)
{
	switch (way)
	{
		case 0: request->shape.nfeatures = P + 1; break;
		case 1: request->shape.nfeatures = -1; break;
		case 2: request->shape.nfeatures = INT32_MAX; break;
		case 3: memset(&request->shape.key, 9, 1); break;
		case 4: request->kind = GR_NREQUESTS; break;
		case 5: request->kind = -1; break;
		case 6: request->kind = GR_REQUEST_FACE; break;
		case 7: request->nfaces = -1; break;
		case 8: request->nfaces = GR_FACES_MAX + 1; break;
		case 9: request->measure = -1; break;
		case 10: request->flags = 7; break;
		case 11: request->offsets[GR_REQUEST_BETA] = 0; break;
		case 12: request->offsets[GR_REQUEST_SHIFT] = 0; break;
		case 13: request->offsets[GR_REQUEST_SHIFT] = UINT64_MAX - 7; break;
		case 14: request->offsets[GR_REQUEST_BETA] += 4; break;
		case 15: request->nbytes += 8; break;
		case 16: request->kind = GR_REQUEST_BOOT; break;
		case 17: request->nfaces = 1; break;
		default: return false;
	}
	return true;
}

static void
test_passes(Pair *pair)
{
	GrRequest  *request;
	int			way = 0;

	for (GrPass pass = right_pass(); wrong_pass(&pass, way); pass = right_pass(), way++)
	{
		(void) put_pass(pair, pass);
		check(sums_refused(pair, 0), "a pass, wrong way %d", way);
	}
	way = 0;
	while (request = put_pass(pair, right_pass()), spoil_pass(request, way))
		check(sums_refused(pair, 0), "a request of a pass, wrong way %d", way++);
	check(sums_refused(pair, 1), "a pass over sums");
	check(sums_refused(pair, 2), "a pass over nothing");
	check(is_done(pair, GR_REMOTE_SUMS, 0, 0), "a pass that is right");
	for (int n = -1; n <= 1; n++)
	{
		static const int64_t nbytes[] = {-1, 0, INT64_MAX};

		pair->channel.arguments.n = nbytes[n + 1];
		check(sums_refused(pair, 0), "a request of %lld bytes", (long long) nbytes[n + 1]);
	}
	pair->channel.arguments.n = (int64_t) request->nbytes - 8;
	check(sums_refused(pair, 0), "or of fewer than it has");
	request->nbytes = pair->channel.arguments.n = (int64_t) pair->channel.area_nbytes[pair->channel.bulk];
	check(sums_refused(pair, 0), "or of all that there is, without room for sums");
}

static GrBootPass
right_boot(void)
{
	return (GrBootPass) {
		.shape = keyed,.distribution = {.link = GR_IDENTITY},.beta = zeros,.beta_lo = zeros,.shift = zeros,
		.nactive = 2,.factor = zeros,.nreps = 8
	};
}

static GrRequest *
put_boot(Pair *pair, GrBootPass pass)
{
	GrError		err = {0};

	return put_request(pair, gr_request_of_boot(&pass, gr_request_malloc, &err));
}

/* Makes a request wrong in its way-th way, though laid out correctly; false if there is no such way. */
static bool
wrong_boot(GrBootPass *pass, int way)
{
	switch (way)
	{
		case 0: pass->nactive = 0; break;
		case 1: pass->nactive = T + 1; break;
		case 2: pass->first = 2; break;
		case 3: pass->first = -4; break;
		case 4: pass->first = INT64_MAX - 3; break;
		case 5: pass->flips = true, pass->first = 4; break;
		case 6: pass->flips = true, pass->steps = zeros; break;
		case 7: pass->nreps = 0; break;
		case 8: pass->nreps = 0, pass->influence = zeros; break;
		case 9: pass->nreps = 0, pass->influence = zeros, pass->ninfluence = 1, pass->steps = zeros; break;
		case 10: pass->shape.nfeatures = 0; break;
		case 11: pass->shape.key = false; break;
		case 12: pass->distribution.link = (GrLink) GR_NLINKS; break;
		case 13: pass->nreps = GR_BOOT_REPS_MAX; break;
		default: return false;
	}
	return true;
}

/* Makes one number of a request's head wrong; false if there is no such number. */
static bool
spoil_boot(GrRequest *request, int way)
{
	switch (way)
	{
		case 0: request->nactive = 0; break;
		case 1: request->nactive = -1; break;
		case 2: request->nactive = T + 1; break;
		case 3: request->nactive = INT32_MAX; break;
		case 4: request->nreps = -1; break;
		case 5: request->nreps = INT32_MAX; break;
		case 6: request->nreps = GR_BOOT_REPS_MAX; break;
		case 7: request->nreps = 0; break;
		case 8: request->nreps = 0, request->ninfluence = -5; break;
		case 9: request->nreps = 0, request->ninfluence = INT32_MAX; break;
		case 10: request->offsets[GR_REQUEST_STEPS] = request->nbytes; break;
		case 11: request->offsets[GR_REQUEST_LINES] = request->offsets[GR_REQUEST_BETA]; break;
		case 12: request->nactive = 3; break;
		case 13: request->kind = GR_REQUEST_EXACT; break;
		default: return false;
	}
	return true;
}

static void
test_boots(Pair *pair)
{
	GrRequest  *request;
	int			way = 0;

	for (GrBootPass pass = right_boot(); wrong_boot(&pass, way); pass = right_boot(), way++)
	{
		(void) put_boot(pair, pass);
		check(sums_refused(pair, 0), "a bootstrap, wrong way %d", way);
	}
	way = 0;
	while (request = put_boot(pair, right_boot()), spoil_boot(request, way))
		check(sums_refused(pair, 0), "a request of a bootstrap, wrong way %d", way++);
	check(sums_refused(pair, 1), "a bootstrap of sums");
	check(is_done(pair, GR_REMOTE_SUMS, 0, 0), "a bootstrap that is right");
}

/* Checks that the backend itself refuses bad requests, which no server has checked before. */
static void
test_backend(void)
{
	const GrSinkOptions options = {.shape = keyed,.kind = GR_SINK_KEEP};
	GrBootPass	pass = right_boot();
	double		sums[200] = {0};
	GrSink	   *sink = NULL;
	GrError		err = {0};

	pass.nactive = 0;
	check(gr_backend_cpu.sink->begin(NULL, &options, &sink, &err) &&
		  gr_backend_cpu.sink->send(sink, zeros, 1, &err), "rows here");
	check(!sum_boot(gr_backend_cpu.sink, sink, &pass, sums, NULL, &err) && err.status == GR_INVALID,
		  "no bootstrap of no terms: %s", err.detail);
	check(gr_boot_reps_a_pass(0, 1000, 1) == 1000 && gr_boot_scratch_nbytes(&pass) > 0, "which divides by nothing");
	gr_backend_cpu.sink->end(sink);
}

static void
test_bases(Pair *pair)
{
	static const int wrong[][2] = {{-1, 0}, {P, 0}, {2, 1}, {1, 1}, {0, P}, {INT32_MIN, INT32_MAX}};
	int		   *bulk = (int *) pair->client.areas[pair->channel.bulk];

	for (size_t k = 0; k < sizeof(wrong) / sizeof(wrong[0]); k++)
	{
		pair->channel.arguments.basis = (GrBasis) {.nfeatures = P,.nchanged = 2};
		memcpy(bulk, wrong[k], sizeof(wrong[k]));
		check(is_refused(pair, GR_REMOTE_CHANGE, 0, 0), "features %d and %d are changed", wrong[k][0], wrong[k][1]);
	}
	for (int n = -1; n <= P + 1; n += P + 2)
	{
		pair->channel.arguments.basis.nchanged = n;
		check(is_refused(pair, GR_REMOTE_CHANGE, 0, 0), "%d features are changed", n);
	}
	pair->channel.arguments.basis = (GrBasis) {.nfeatures = P + 1,.nchanged = 1};
	check(is_refused(pair, GR_REMOTE_CHANGE, 0, 0), "a basis of other rows");
}

static bool
spoil_sink(GrSinkOptions *options, int way)
{
	switch (way)
	{
		case 0: options->shape.nfeatures = -1; break;
		case 1: options->shape.nfeatures = INT32_MAX; break;
		case 2: memset(&options->shape.offset, 3, 1); break;
		case 3: options->kind = (GrSinkKind) 2; break;
		case 4: options->expected_nbytes = SIZE_MAX; break;
		case 5: options->block_nbytes = SIZE_MAX; break;
		case 6: options->wait_s = NAN; break;
		case 7: options->stays = true, options->kind = GR_SINK_SUM; break;
		case 8: options->wait_s = 1e300; break;
		case 9: options->stay.percent = 101; break;
		default: return false;
	}
	return true;
}

static void
test_sinks(Pair *pair)
{
	const GrSinkOptions right = {.shape = keyed,.kind = GR_SINK_KEEP,.block_nbytes = 4096};
	int			way = 0;

	for (GrSinkOptions options = right; spoil_sink(&options, way); options = right, way++)
	{
		pair->channel.arguments.sink = options;
		check(is_refused(pair, GR_REMOTE_BEGIN, 5, 0), "a sink, wrong way %d", way);
	}
	check(is_refused(pair, GR_REMOTE_FINISH, 0, 0) && is_refused(pair, GR_REMOTE_RESTART, 0, 0), "no sums of rows");
	check(is_refused(pair, GR_REMOTE_FINISH, 1, -1) && is_refused(pair, GR_REMOTE_FINISH, 1, INT64_MAX),
		  "nor sums that there aren't");
	check(is_refused(pair, GR_REMOTE_STORE, 0, 0), "rows that don't stay aren't stored");
	check(is_refused(pair, GR_REMOTE_READ, 0, INT64_MAX) && is_refused(pair, GR_REMOTE_READ, 0, -1), "nor read");
	pair->channel.arguments.n = -1;
	check(is_refused(pair, GR_REMOTE_DERIVE, 6, 0), "no derivation of fewer bytes than none");
	check(is_refused(pair, GR_REMOTE_ASCEND, 0, 0), "there is no ascent on the CPU");
	check(is_done(pair, GR_REMOTE_FINISH, 1, 0), "sums that are right");
}

static void
test_others(Pair *pair)
{
	GrRemoteArguments *a = &pair->channel.arguments;
	int			bulk = pair->channel.bulk;

	a->factor = (GrFactorJob) {.nterms = 0};
	check(is_refused(pair, GR_REMOTE_FACTOR, 7, 0), "a factorization of nothing");
	a->factor = (GrFactorJob) {.nterms = 3,.skip = -2};
	check(is_refused(pair, GR_REMOTE_FACTOR, 7, 0), "or behind less");
	check(is_refused(pair, GR_REMOTE_INVERSE, 0, 0) && is_refused(pair, GR_REMOTE_INVERSE, 7, 0), "no inverse of rows");
	a->project = (GrProjectOptions) {.dim = 10,.block_nbytes = 4096};
	a->draw = (GrDraw) {.k = 4,.density = 1};
	a->area = bulk;
	for (int64_t n = -1; n <= INT64_MAX / 2000000; n = n <= 0 ? n + 1 : n * 1000000)
	{
		a->n = n;
		if (n != 1)
			check(is_refused(pair, GR_REMOTE_PROJECT, 7, 0), "a batch of %lld vectors", (long long) n);
	}
	a->n = 2;
	for (int area = -1; area <= GR_REMOTE_AREAS; area += GR_REMOTE_AREAS + 1)
	{
		a->area = area;
		check(is_refused(pair, GR_REMOTE_PROJECT, 7, 0), "vectors in area %d", area);
	}
	a->area = bulk;
	a->n = 2;
	check(is_done(pair, GR_REMOTE_PROJECT, 7, 0), "a projection");
	check(is_refused(pair, GR_REMOTE_TAKE, 7, 0), "nothing was submitted");
	check(is_refused(pair, GR_REMOTE_SUBMIT, 7, 3) && is_refused(pair, GR_REMOTE_SUBMIT, 7, -1), "no such batch");
	check(is_done(pair, GR_REMOTE_SUBMIT, 7, 2) && is_refused(pair, GR_REMOTE_TAKE, 7, GR_PROJECT_NSLOTS) &&
		  is_refused(pair, GR_REMOTE_TAKE, 7, -1) && is_done(pair, GR_REMOTE_TAKE, 7, 1), "one that is right is taken");
	(void) put_pass(pair, right_pass());
	check(sums_refused(pair, 7), "a pass over vectors");
	check(is_refused(pair, (GrRemoteOp) 99, 0, 0) && is_refused(pair, (GrRemoteOp) -1, 0, 0), "no such command");
	check(sums_refused(pair, -1) && is_refused(pair, GR_REMOTE_END, GR_REMOTE_OBJECTS, 0),
		  "no such object");
	pair->channel.bulk = 1000000;
	check(sums_refused(pair, 0), "arrays that are nowhere");
	pair->channel.bulk = -1;
	check(sums_refused(pair, 0), "nor there");
	pair->channel.bulk = bulk;
}

/* Checks rows outside every area that nobody waits for. */
static void
test_sends(Pair *pair)
{
	static const GrRemoteCommand wrong[] = {
		{.area = GR_REMOTE_AREAS,.n = 1}, {.area = -1}, {.n = -1}, {.n = INT64_MAX}, {.offset = 4,.n = 1},
		{.offset = UINT64_MAX - 7,.n = 1}, {.offset = GR_REMOTE_BULK_NBYTES,.n = 1}, {.area = 3,.n = 1}
	};

	for (size_t k = 0; k < sizeof(wrong) / sizeof(wrong[0]); k++)
	{
		GrRemoteCommand command = wrong[k];
		GrRemoteObject *object = &pair->channel.objects[0];

		command.op = GR_REMOTE_SEND;
		command.counts = true;
		object->failed = 0;
		memset(&object->error, 0, sizeof(object->error));
		pair->channel.queue[pair->channel.nasked % GR_REMOTE_COMMANDS] = command;
		__atomic_store_n(&pair->channel.nasked, pair->channel.nasked + 1, __ATOMIC_SEQ_CST);
		(void) sem_post(&pair->channel.requests);
		(void) put_pass(pair, right_pass());
		check(sums_refused(pair, 0) && object->failed != 0, "rows %d: %s", (int) k,
			  object->error.detail);
	}
}

/* Checks that unchecked numbers of rows and of a design are not used as indexes. */
static void
test_numbers(void)
{
	static const double numbers[] = {-3, -1, -1e300, 1e300, NAN, INFINITY, -INFINITY, 4, 3.5};
	const GrDesignPart factor = {.kind = GR_PART_DUMMIES,.width = 4,.at = 0};
	const GrDesignPart contrasts = {.kind = GR_PART_CONTRASTS,.width = 3,.at = 0};

	for (size_t k = 0; k < sizeof(numbers) / sizeof(numbers[0]); k++)
	{
		double		row[2] = {1, numbers[k]};
		int			level = gr_part_indicator(&factor, &numbers[k]);
		int64_t		key = gr_boot_key_of((GrRowShape) {.key = true}, row);

		check(level == (numbers[k] == 3.5 ? 3 : -1) && gr_part_indicator(&contrasts, &numbers[k]) < 3,
			  "%g is no level of four", numbers[k]);
		check((double) key == trunc(numbers[k]) || key == 0, "%g is the key %lld", numbers[k], (long long) key);
		check(numbers[k] >= 0 || !(gr_count_losses(&numbers[k], NULL, 1) < 0), "%g is no count", numbers[k]);
	}
	check(gr_count_of(NAN) == INT64_MAX && gr_count_of(-1e300) == 0 && gr_count_of(1e300) == INT64_MAX &&
		  gr_count_of(7) == 7, "counts of rows");
}

int
main(void)
{
	Pair	   *pair = begin_pair(&gr_backend_cpu);

	begin_sinks(pair);
	test_passes(pair);
	test_boots(pair);
	test_backend();
	test_bases(pair);
	test_sinks(pair);
	test_others(pair);
	test_sends(pair);
	test_numbers();
	end_pair(pair);
	return unit_done();
}
