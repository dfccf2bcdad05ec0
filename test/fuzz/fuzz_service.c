/*
 * fuzz_service.c: commands of a device service's channel, in memory that another process writes to. Each is a command
 * that a client might send for the server's own sinks, with some bytes replaced. Whatever the bytes, the server must
 * answer, touch no memory beyond its own, and have nothing left when it ends; a command that doesn't suit its object
 * must fail.
 */
#include <math.h>

#include "compute/remote/remote.h"
#include "compute/remote/remote_wire.h"
#include "fuzz.h"

#define NOBJECTS 5
#define NAREAS 3
#define AREA_NBYTES 16384
#define NCOMMANDS 48
#define NFEATURES_MAX 12		/* keeps the memory of rows and sums in proportion to the input */

static GrRemoteServer server;
static GrChannel channel;
static size_t admitted;
static int	nopen;				/* open factors */

/*
 * Stand-ins for functions that the CPU's backend lacks. They read and write all their arguments.
 */
static double
touch(const double *values, int64_t n)
{
	double		sum = 0;

	for (int64_t k = 0; k < n; k++)
		sum += values[k];
	return sum;
}

static void
fill(double *values, int64_t n)
{
	for (int64_t k = 0; k < n; k++)
		values[k] = (double) k;
}

static bool
can_ascend(const GrSink *sink, bool single)
{
	(void) sink;
	return single;
}

static bool
ascend(GrSink *sink, const GrAscent *ascent, double *beta, int64_t *iterations, bool *converged, const GrHost *host,
	   GrError *err)
{
	(void) sink;
	(void) host;
	(void) err;
	*iterations = ascent->max_iter / ascent->check_every;
	*converged = !isnan(ascent->scale[0] + beta[0]);
	return true;
}

static bool
begin_factor(GrSession *session, const GrFactorJob *job, GrFactor **factor, const GrHost *host, GrError *err)
{
	int64_t		m = job->nterms;
	double	   *sum = malloc(sizeof(double));

	(void) session;
	(void) host;
	(void) err;
	*sum = touch(job->hi, gr_triangle(job->skip + m + 1)) + touch(job->lo, gr_triangle(job->skip + m + 1)) +
		touch(job->scale, m + 1) + touch(job->least_pivot, m);
	for (int64_t k = 0; k < m; k++)
		job->aliased[k] = !job->aliased[k];
	fill(job->d_hi, m + 1);
	fill(job->d_lo, m + 1);
	fill(job->row_hi, m);
	fill(job->row_lo, m);
	fill(job->coef_hi, m);
	fill(job->coef_lo, m);
	*factor = (GrFactor *) sum;
	nopen++;
	return true;
}

static bool
invert(GrFactor *factor, GrDDConstVector w, double divisor, double *inverse, const GrHost *host, GrError *err)
{
	(void) host;
	(void) err;
	*inverse = (*(double *) factor + w.hi[0] + w.lo[0]) / divisor;
	return true;
}

static void
end_factor(GrFactor *factor)
{
	free(factor);
	nopen--;
}

/* A store for one sink */
static GrRemoteStored stored;
static size_t stored_nbytes;

static void
drop_stored(void)
{
	server.backend->sink->end(stored.sink);
	admitted -= stored_nbytes;
	memset(&stored, 0, sizeof(stored));
	stored_nbytes = 0;
}

static bool
put(uint64_t id, GrSink *sink, int ncolumns, size_t nbytes, uint32_t owner, GrError *err)
{
	(void) owner;
	if (id != 1)
		return gr_fail(err, GR_DEVICE_FAILED, 0, "no room");
	drop_stored();
	stored = (GrRemoteStored) {sink, ncolumns, NULL};
	stored_nbytes = nbytes;
	return true;
}

static bool
take(uint64_t id, GrRemoteStored *taken, const GrHost *host, GrError *err)
{
	(void) host;
	*taken = stored;
	return (id == 1 && stored.sink != NULL) || gr_fail(err, GR_INVALID, 0, "there is none");
}

static void
give_back(const GrRemoteStored *taken)
{
	(void) taken;
}

static bool
admit(GrRemoteServer *of, const GrAdmission *wanted, const GrHost *host, double *waited_s, GrError *err)
{
	(void) of;
	(void) host;
	*waited_s = 0;
	if (wanted->nbytes > ((size_t) 64 << 20) - admitted)
		return gr_fail(err, GR_DEVICE_MEMORY, 0, "too much");
	admitted += wanted->nbytes;
	return true;
}

static void
release(GrRemoteServer *of, size_t nbytes, const GrStay *stay)
{
	(void) of;
	(void) stay;
	must(nbytes <= admitted);
	admitted -= nbytes;
}

static void
lose(GrRemoteServer *of, const GrError *err)
{
	(void) of;
	(void) err;
	must(!"the CPU is lost");
}

static bool
never(void *arg)
{
	(void) arg;
	return false;
}

/*
 * Commands
 */

/* Takes a bool from the input. */
static bool
flip(FuzzInput *in)
{
	return take_byte(in) % 2 == 1;
}

static GrRowShape
take_shape(FuzzInput *in)
{
	uint8_t		byte = take_byte(in);

	return (GrRowShape) {
		.nfeatures = byte % 6,.single = (byte & 128) != 0,.weight = (byte & 16) != 0,.offset = (byte & 32) != 0,
		.key = (byte & 64) != 0
	};
}

static GrDistribution
take_distribution(FuzzInput *in)
{
	static const GrDistribution distributions[] = {
		{GR_GAUSSIAN, GR_IDENTITY, 0, 0}, GR_LOGISTIC, {GR_POISSON, GR_LOG, 0, 0}, {GR_GAMMA, GR_INVERSE, 0, 40},
		{GR_NEGATIVE_BINOMIAL, GR_LOG, 2, 0}, {GR_BINOMIAL, GR_CLOGLOG, 0, 0}
	};

	return distributions[take_byte(in) % COUNT(distributions)];
}

/* Puts a derivation of rows of a shape into the bulk area. */
static void
write_derivation(GrRowShape shape, FuzzInput *in, GrRemoteArguments *a)
{
	int			columns[2] = {0, gr_row_ncols(shape) - 1};
	GrFilterStep step = {GR_FILTER_GT, 0, take_double(in)};
	GrDeriveOptions options = {
		.ncolumns = gr_row_ncols(shape),.response = gr_response_at(shape),.weight = -1,.offset = -1,
		.key = shape.key ? gr_key_at(shape) : -1,.columns = columns,.nfeatures = 1 + take_byte(in) % 2,.steps = &step,
		.nsteps = flip(in) ? 1 : 0
	};
	GrError		err = {0};
	GrDerivation *d = gr_derivation_make(&options, (GrMemory) {fuzz_take, NULL}, &err);

	if (d == NULL)
		return;
	a->n = (int64_t) gr_derivation_nbytes(d);
	if (a->n <= AREA_NBYTES)
		memcpy(server.areas[channel.bulk], d, (size_t) a->n);
}

/* Makes a request of a pass or a bootstrap in the bulk area. */
static void
write_request(GrRowShape shape, FuzzInput *in, GrRemoteArguments *a)
{
	static const double there[64 * (NFEATURES_MAX + 1)];
	GrError		err = {0};
	GrRequest  *request;

	if (shape.nfeatures < 0 || shape.nfeatures > NFEATURES_MAX)
		shape.nfeatures = NFEATURES_MAX;
	if (flip(in))
	{
		const GrPass pass = {
			.kind = (GrPassKind) (take_byte(in) % 4),.shape = shape,.distribution = take_distribution(in),
			.beta = there,.shift = there,.nfaces = take_byte(in) % 3,.faces = there,.face_absolute = there,
			.linear = flip(in),.measure = (GrMeasure) (take_byte(in) % GR_NMEASURES),.factor = flip(in) ? there : NULL
		};

		request = gr_request_of_pass(&pass, (GrMemory) {fuzz_take, NULL}, &err);
	}
	else
	{
		const GrBootPass pass = {
			.shape = shape,.distribution = take_distribution(in),.beta = there,.beta_lo = there,.shift = there,
			.nactive = take_byte(in) % 6,.factor = there,.first = 32 * (take_byte(in) % 3),.nreps = take_byte(in) % 40,
			.steps = flip(in) ? there : NULL,.influence = there,.ninfluence = 1 + take_byte(in) % 4,.flips = flip(in)
		};

		request = gr_request_of_boot(&pass, (GrMemory) {fuzz_take, NULL}, &err);
	}
	if (request == NULL)
		return;
	a->n = (int64_t) gr_request_nbytes(request);
	if (a->n <= AREA_NBYTES)
		memcpy(server.areas[channel.bulk], request, (size_t) a->n);
}

/* Fills the channel's arguments as a client would for the command's object. */
static void
make_arguments(const GrRemoteCommand *command, FuzzInput *in)
{
	const GrServed *served = &server.objects[command->object % NOBJECTS];
	GrRemoteArguments *a = &channel.arguments;
	GrRowShape	shape = gr_wide_shape(served->options.shape);

	memset(a, 0, sizeof(*a));
	a->stored = 1 + (take_byte(in) % 8 == 7);
	a->from = (int) (take_byte(in) % (NOBJECTS + 1)) - 1;
	a->area = take_byte(in) % NAREAS;
	a->flag = flip(in);
	a->n = take_byte(in) % 8;
	a->divisor = 2;
	a->sink = (GrSinkOptions) {
		.shape = take_shape(in),.kind = flip(in) ? GR_SINK_KEEP : GR_SINK_SUM,.block_nbytes = 4096,
		.memory_limit = (size_t) 1 << 20,.expected_nbytes = take_byte(in),.stays = take_byte(in) % 4 == 3
	};
	if (a->sink.stays || command->op == GR_REMOTE_DERIVE)
		a->sink.kind = GR_SINK_KEEP;
	if (a->sink.stays)
		a->sink.shape.single = false;
	if (command->op == GR_REMOTE_DERIVE)
		a->sink.stays = false;
	a->basis = (GrBasis) {.nfeatures = shape.nfeatures,.nchanged = take_byte(in) % 3};
	a->ascent = (GrAscent) {.check_every = 1 + take_byte(in) % 3,.max_iter = 10,.single = flip(in)};
	a->factor = (GrFactorJob) {
		.skip = take_byte(in) % 3,.nterms = take_byte(in) % 8,.rows = GR_ROWS_PASS,.want_inverse = flip(in)
	};
	a->project = (GrProjectOptions) {.dim = take_byte(in),.block_nbytes = 4096};
	a->draw = (GrDraw) {.k = take_byte(in),.seed = 7,.density = (1 + take_byte(in) % 8) / 8.0};
	a->rules = (GrRowRules) {.family = take_distribution(in).family,.weighting = GR_PRIOR_WEIGHTS};
	if (command->op == GR_REMOTE_SUMS)
		write_request(shape, in, a);
	if (command->op == GR_REMOTE_DERIVE)
	{
		int			from = a->from < 0 ? 0 : a->from;

		write_derivation(gr_wide_shape(a->from < 0 && stored.sink != NULL ? gr_plain_shape(stored.ncolumns - 1) :
									   server.objects[from].options.shape), in, a);
	}
}

/* Replaces some bytes. */
static void
spoil(void *memory, size_t nbytes, FuzzInput *in)
{
	for (int n = take_byte(in) % 4; n > 0 && in->left > 0; n--)
	{
		size_t		at = ((size_t) take_byte(in) << 8 | take_byte(in)) % nbytes;

		((uint8_t *) memory)[at] = take_byte(in);
	}
}

/* Chooses a command that suits the object, or any. */
static GrRemoteOp
take_op(const GrServed *served, FuzzInput *in)
{
	static const GrRemoteOp of_sums[] = {GR_REMOTE_SEND, GR_REMOTE_RESTART, GR_REMOTE_FINISH, GR_REMOTE_SEND};
	static const GrRemoteOp of_rows[] = {
		GR_REMOTE_SEND, GR_REMOTE_SUMS, GR_REMOTE_SUMS, GR_REMOTE_CHANGE, GR_REMOTE_CAN_ASCEND, GR_REMOTE_ASCEND,
		GR_REMOTE_STORE, GR_REMOTE_SUMS
	};
	static const GrRemoteOp of_projects[] = {GR_REMOTE_SUBMIT, GR_REMOTE_TAKE};
	static const GrRemoteOp of_nothing[] = {
		GR_REMOTE_BEGIN, GR_REMOTE_FACTOR, GR_REMOTE_PROJECT, GR_REMOTE_DERIVE, GR_REMOTE_READ, GR_REMOTE_BEGIN
	};
	uint8_t		byte = take_byte(in);

	if (byte < 64)
		return (GrRemoteOp) (byte % (GR_REMOTE_END + 1));
	if (served->object == NULL)
		return of_nothing[byte % COUNT(of_nothing)];
	if (served->kind == GR_REMOTE_FACTOR)
		return GR_REMOTE_INVERSE;
	if (served->kind == GR_REMOTE_PROJECT)
		return of_projects[byte % COUNT(of_projects)];
	return served->options.kind == GR_SINK_SUM ? of_sums[byte % COUNT(of_sums)] : of_rows[byte % COUNT(of_rows)];
}

/* Makes valid arguments invalid if they would take more memory than an input may have. */
static void
bound(GrRemoteArguments *a)
{
	if (a->sink.shape.nfeatures > NFEATURES_MAX)
		a->sink.shape.nfeatures = -a->sink.shape.nfeatures;
	if (a->sink.expected_nbytes > 65536 || a->sink.expected_nbytes == 0)
		a->sink.expected_nbytes &= 0xFFFF;
	if (a->project.cache_nbytes > 65536)
		a->project.cache_nbytes = 65536;
	if (a->draw.density < 0x1p-20)
		a->draw.density = -1;
}

static void
write_bulk(FuzzInput *in)
{
	double	   *bulk = (double *) server.areas[channel.bulk];

	for (int n = take_byte(in) % 16; n > 0; n--)
		bulk[take_byte(in) % (AREA_NBYTES / sizeof(double))] = take_double(in);
	if (take_byte(in) % 4 == 0)
		((int *) bulk)[0] = take_byte(in) % 8;
}

/* True if the server must refuse the command, because its object is of another kind, or its bootstrap has no terms. */
static bool
is_for_another(const GrRemoteCommand *command)
{
	const GrServed *served = &server.objects[command->object];
	bool		keeps = served->object != NULL && served->kind == GR_REMOTE_BEGIN &&
		served->options.kind == GR_SINK_KEEP;

	const GrRequest *request = (const GrRequest *) server.areas[0];

	return command->op == GR_REMOTE_SUMS &&
		(!keeps || (channel.bulk == 0 && gr_request_is_boot(request) && request->nactive < 1));
}

static void
serve(FuzzInput *in)
{
	GrRemoteCommand command = {
		.object = take_byte(in) % NOBJECTS,.area = 1 + take_byte(in) % (NAREAS - 1),.counts = true,
		.n = take_byte(in) % 9
	};
	bool		refused;

	command.op = take_op(&server.objects[command.object], in);
	if (command.op == GR_REMOTE_TAKE)
		command.n %= GR_PROJECT_NSLOTS;
	make_arguments(&command, in);
	write_bulk(in);
	if (command.op == GR_REMOTE_SUMS)
		spoil(server.areas[channel.bulk], sizeof(GrRequest), in);
	spoil(&channel.arguments, sizeof(channel.arguments), in);
	spoil(&command, sizeof(command), in);
	if (take_byte(in) == 255)
		channel.bulk = (int) take_word(in);
	bound(&channel.arguments);
	refused = command.object >= 0 && command.object < GR_REMOTE_OBJECTS && is_for_another(&command);
	memset(&channel.reply, 0, sizeof(channel.reply));
	if (command.op == GR_REMOTE_END && command.object >= 0 && command.object < GR_REMOTE_OBJECTS)
		memset(&channel.objects[command.object], 0, sizeof(GrRemoteObject));
	gr_remote_serve_command(&server, &command);
	must(!refused || channel.reply.status != GR_OK);
	must(channel.reply.status != GR_DEVICE_LOST);
	channel.bulk = 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const GrSolverOps solver = {begin_factor, invert, end_factor};
	static const GrRemoteStore store = {.put = put,.take = take,.give_back = give_back};
	static GrSinkOps sink;
	static GrBackend backend;
	FuzzInput	in = {data, size};

	fuzz_begin(size);
	sink = *gr_backend_cpu.sink;
	sink.can_ascend = can_ascend;
	sink.ascend = ascend;
	backend = gr_backend_cpu;
	backend.sink = &sink;
	backend.solver = &solver;
	memset(&channel, 0, sizeof(channel));
	must(gr_channel_begin(&channel));
	server = (GrRemoteServer) {
		.channel = &channel,.backend = &backend,.store = &store,.admit = admit,.release = release,.lost = lose,
		.host = {.canceled = never}
	};
	for (int k = 0; k < NAREAS; k++)
	{
		server.areas[k] = malloc(AREA_NBYTES);
		server.area_nbytes[k] = AREA_NBYTES;
		fill((double *) server.areas[k], AREA_NBYTES / sizeof(double));
		for (size_t n = 0; n < AREA_NBYTES / sizeof(double); n++)
			((double *) server.areas[k])[n] = (double) (n * 7 % 5) - (n % 11 == 0 ? 0.5 : 0);
	}
	for (int n = 0; n < NCOMMANDS && in.left > 0; n++)
		serve(&in);
	gr_remote_end_all(&server);
	drop_stored();
	must(admitted == 0 && nopen == 0 && !gr_remote_is_busy(&server));
	for (int k = 0; k < NAREAS; k++)
		free(server.areas[k]);
	gr_channel_end(&channel);
	fuzz_end();
	return 0;
}
