/*
 * remote_stand_in_test.c: tests what a channel carries, as seen by a stand-in for the backend that has what the CPU
 * lacks (factors, ascents, rows that are read later), and failures on the way.
 */
#include <time.h>
#include <unistd.h>

/* The clock that deadlines are compared with; tests set it. */
static struct timespec now;

static int
read_clock(clockid_t clock, struct timespec *at)
{
	*at = now;
	return clock == CLOCK_MONOTONIC ? 0 : -1;
}

#define clock_gettime read_clock
#include "compute/base/thread.h"
#undef clock_gettime

#include "compute/dist/family.h"
#include "compute/glm/glm.h"
#include "compute/resample/boot.h"
#include "remote_pair.h"
#include "sums.h"
#include "unit.h"

#define P 3
#define T (P + 1)
#define NROWS 8					/* rows per call */

/* State of the stand-in: its objects, the numbers it was given, and failures to make */
static struct
{
	int			nopen;			/* sinks and factors */
	int			nfactors_ended;
	int64_t		ncalls;			/* calls of send */
	int64_t		nread;			/* calls whose rows were read, when a wait asked for them */
	int64_t		fails_after;	/* reads until one fails; 0: none fails */
	GrStatus	status;			/* status of failures */
	bool		begin_fails;
	double		got[200];		/* numbers that came with the last call */
	GrPass		pass;
	GrBootPass	boot;
	GrAscent	ascent;
	GrFactorJob job;
}			stand_in;

static void
reset(void)
{
	memset(&stand_in, 0, sizeof(stand_in));
	stand_in.status = GR_DEVICE_FAILED;
}

/* Appends n numbers to what came, unless from is NULL; returns how many there are then. */
static int
note(int have, const double *values, int n)
{
	if (values == NULL)
		return have;
	memcpy(stand_in.got + have, values, (size_t) n * sizeof(double));
	return have + n;
}

/* True if the numbers that came, from number at on, are values. */
static bool
came(int *at, const double *values, int n)
{
	bool		same = memcmp(stand_in.got + *at, values, (size_t) n * sizeof(double)) == 0;

	*at += n;
	return same;
}

/* Returns n numbers that are all different within a test. */
static const double *
numbers(double *to, int n)
{
	static int	next = 1;

	for (int k = 0; k < n; k++)
		to[k] = next++;
	return to;
}

static bool
stand_in_begin(GrSession *session, const GrSinkOptions *options, GrSink **sink, GrError *err)
{
	(void) session;
	(void) options;
	if (stand_in.begin_fails)
		return gr_fail(err, stand_in.status, 0, "no sink");
	*sink = (GrSink *) &stand_in;
	stand_in.nopen++;
	return true;
}

static bool
stand_in_send(GrSink *sink, const void *rows, int64_t nrows, GrError *err)
{
	(void) sink;
	(void) err;
	(void) note(0, rows, (int) nrows * T);
	stand_in.ncalls++;
	return true;
}

/* Reads rows when they are waited for, not before. */
static bool
stand_in_sent(GrSink *sink, bool wait, int64_t *ncalls, GrError *err)
{
	(void) sink;
	if (wait && stand_in.fails_after > 0 && stand_in.nread == stand_in.fails_after)
		return gr_fail(err, stand_in.status, 0, "a copy");
	if (wait && stand_in.nread < stand_in.ncalls)
		stand_in.nread++;
	*ncalls = stand_in.nread;
	return true;
}

static bool
stand_in_pass(const GrPass *pass, double *sums)
{
	int			n = note(0, pass->beta, T);

	n = note(n, pass->shift, P);
	n = note(n, pass->faces, 2 * T * pass->nfaces);
	n = note(n, pass->face_absolute, pass->nfaces);
	n = note(n, pass->factor, (int) gr_triangle(T));
	(void) note(n, sums, (int) gr_pass_nsums(pass->kind, P));
	stand_in.pass = *pass;
	for (size_t k = 0; k < gr_pass_nsums(pass->kind, P); k++)
		sums[k] += 1000;
	return true;
}

static bool
stand_in_boot(const GrBootPass *pass, double *sums)
{
	int			n = note(0, pass->beta, T);

	n = note(n, pass->beta_lo, T);
	n = note(n, pass->shift, P);
	n = note(n, pass->factor, pass->nactive * T);
	n = note(n, pass->influence, pass->ninfluence * pass->nactive);
	n = note(n, pass->steps, pass->nreps * pass->nactive);
	(void) note(n, sums, (int) gr_boot_nsums(pass));
	stand_in.boot = *pass;
	for (size_t k = 0; k < gr_boot_nsums(pass); k++)
		sums[k] += 1000;
	return true;
}

static bool
stand_in_sums(GrSink *sink, const GrRequest *request, double *sums, const GrHost *host, GrError *err)
{
	const GrPass pass = gr_request_pass(request);
	const GrBootPass boot = gr_request_boot(request);

	(void) sink;
	(void) host;
	(void) err;
	return gr_request_is_boot(request) ? stand_in_boot(&boot, sums) : stand_in_pass(&pass, sums);
}

static bool
stand_in_can_ascend(const GrSink *sink, bool single)
{
	(void) sink;
	return single;
}

static bool
stand_in_ascend(GrSink *sink, const GrAscent *ascent, double *beta, int64_t *iterations, bool *converged,
				const GrHost *host, GrError *err)
{
	(void) sink;
	(void) host;
	(void) err;
	(void) note(note(0, ascent->scale, T), beta, T);
	stand_in.ascent = *ascent;
	for (int j = 0; j < T; j++)
		beta[j] += 1000;
	*iterations = 42;
	*converged = true;
	return true;
}

static void
stand_in_times(const GrSink *sink, GrTimes *times)
{
	(void) sink;
	*times = (GrTimes) {.bytes_to_device = 7,.copy_s = 0.25,.kernel_s = 0.5};
}

static void
stand_in_end(GrSink *sink)
{
	(void) sink;
	stand_in.nopen--;
}

static bool
factor_begin(GrSession *session, const GrFactorJob *job, GrFactor **factor, const GrHost *host, GrError *err)
{
	int			m = job->nterms;
	int			n = note(0, job->hi, (int) gr_triangle(job->skip + m + 1));
	double	   *out[6] = {job->d_hi, job->d_lo, job->row_hi, job->row_lo, job->coef_hi, job->coef_lo};

	(void) session;
	(void) host;
	if (stand_in.begin_fails)
		return gr_fail(err, stand_in.status, 0, "no factor");
	n = note(n, job->lo, (int) gr_triangle(job->skip + m + 1));
	n = note(n, job->scale, m + 1);
	(void) note(n, job->least_pivot, m);
	stand_in.job = *job;
	for (int k = 0; k < m; k++)
		job->aliased[k] = !job->aliased[k];
	for (int a = 0; a < 6; a++)
		for (int k = 0; k < (a < 2 ? m + 1 : m); k++)
			out[a][k] = 100 * (a + 1) + k;
	*factor = (GrFactor *) &stand_in;
	stand_in.nopen++;
	return true;
}

static bool
factor_inverse(GrFactor *factor, GrDDConstVector w, double divisor, double *inverse,
			   const GrHost *host, GrError *err)
{
	int			m = stand_in.job.nterms;

	(void) factor;
	(void) host;
	(void) err;
	(void) note(note(0, w.hi, m), w.lo, m);
	for (int k = 0; k < m * m; k++)
		inverse[k] = divisor + k;
	return true;
}

static void
factor_end(GrFactor *factor)
{
	(void) factor;
	stand_in.nopen--;
	stand_in.nfactors_ended++;
}

static bool
project_begin(GrSession *session, const GrProjectOptions *options, const GrHost *host, GrProject **project,
			  GrError *err)
{
	(void) session;
	(void) options;
	(void) host;
	*project = NULL;
	return gr_fail(err, stand_in.status, 0, "no projection");
}

static const GrProjectorOps projector_ops = {.begin = project_begin};
static const GrSinkOps sink_ops = {
	.begin = stand_in_begin,.send = stand_in_send,.sent = stand_in_sent,.sums = stand_in_sums,
	.can_ascend = stand_in_can_ascend,.ascend = stand_in_ascend,.times = stand_in_times,.end = stand_in_end
};
static const GrSolverOps solver_ops = {.begin = factor_begin,.inverse = factor_inverse,.end = factor_end};
static const GrBackend backend = {
	.name = "stand-in",.sink = &sink_ops,.solver = &solver_ops,.projector = &projector_ops
};
static const GrBackend without_solver = {.name = "stand-in",.sink = &sink_ops};

static GrSink *
begin_shaped(Pair *pair, GrRowShape shape, GrError *err)
{
	const GrSinkOptions options = {.shape = shape,.kind = GR_SINK_KEEP,.expected_nbytes = 100};
	GrSink	   *sink = NULL;

	(void) gr_backend_remote.sink->begin((GrSession *) &pair->client, &options, &sink, err);
	return sink;
}

/* Begins a sink of rows of P features and the response. */
static GrSink *
begin(Pair *pair, GrError *err)
{
	return begin_shaped(pair, gr_plain_shape(P), err);
}

/* Checks that neither side has an object left, nor admitted memory. */
static void
end(Pair *pair, const char *what)
{
	bool		busy = gr_remote_is_busy(&pair->server);

	check(!busy && pair->asked == pair->released && stand_in.nopen == 0, "%s: nothing is left", what);
	end_pair(pair);
}

/*
 * Calls that a channel carries
 */

static void
test_passes(void)
{
	Pair	   *pair = begin_pair(&backend);
	GrError		err = {0};
	GrSink	   *sink;
	double		values[6][60];
	double		sums[2][60];
	int			nsums = (int) gr_pass_nsums(GR_PASS_FACE, P);
	GrPass		pass = {
		.kind = GR_PASS_FACE,.shape = gr_plain_shape(P),.distribution = GR_LOGISTIC,.beta = numbers(values[0], T),
		.shift = numbers(values[1], P),.nfaces = 2,.faces = numbers(values[2], 4 * T),
		.face_absolute = numbers(values[3], 2),.face_relative = 0.125,.factor = numbers(values[4], T * (T + 1) / 2)
	};
	int			at = 0;
	GrTimes		times;

	reset();
	sink = begin(pair, &err);
	check(gr_remote_is_busy(&pair->server), "who has a sink is busy");
	memcpy(sums[0], numbers(sums[1], nsums), (size_t) nsums * sizeof(double));
	check(sum_pass(gr_backend_remote.sink, sink, &pass, sums[0], NULL, &err), "a pass with all that it may have");
	check(came(&at, values[0], T) && came(&at, values[1], P) && came(&at, values[2], 4 * T) &&
		  came(&at, values[3], 2) && came(&at, values[4], T * (T + 1) / 2) && came(&at, sums[1], nsums) &&
		  stand_in.pass.nfaces == 2 && stand_in.pass.face_relative == 0.125, "comes as it is");
	for (int k = 0; k < nsums; k++)
		sums[1][k] += 1000;
	check(memcmp(sums[0], sums[1], (size_t) nsums * sizeof(double)) == 0, "and so do its sums");
	pass.beta = NULL;
	pass.factor = NULL;
	pass.nfaces = 1;
	check(sum_pass(gr_backend_remote.sink, sink, &pass, sums[0], NULL, &err) && stand_in.pass.beta == NULL &&
		  stand_in.pass.factor == NULL &&
		  memcmp(stand_in.got + P + 2 * T + 1, sums[1], (size_t) nsums * sizeof(double)) == 0,
		  "what it doesn't have doesn't come");
	gr_backend_remote.sink->times(sink, &times);
	check(times.bytes_to_device == 7 && times.copy_s == 0.25 && times.kernel_s == 0.5, "the times come");
	gr_backend_remote.sink->end(sink);
	end(pair, "passes");
}

/* Checks a bootstrap's pass, with influence lines, and with steps. */
static void
test_boots(void)
{
	const GrRowShape keyed = {.nfeatures = P,.key = true};
	Pair	   *pair = begin_pair(&backend);
	GrError		err = {0};
	GrSink	   *sink;

	reset();
	sink = begin_shaped(pair, keyed, &err);
	for (int steps = 0; steps <= 1; steps++)
	{
		double		values[5][60];
		double		sums[2][200];
		GrBootPass	pass = {
			.shape = keyed,.distribution = GR_LOGISTIC,.beta = numbers(values[0], T),
			.beta_lo = numbers(values[1], T),.shift = numbers(values[2], P),.nactive = 2,
			.factor = numbers(values[3], 2 * T),.seed = 12,.first = 4
		};
		int			nsums;
		int			at = 0;

		if (steps)
		{
			pass.nreps = 4;
			pass.steps = numbers(values[4], 4 * 2);
		}
		else
		{
			pass.ninfluence = 3;
			pass.influence = numbers(values[4], 3 * 2);
		}
		nsums = (int) gr_boot_nsums(&pass);
		memcpy(sums[0], numbers(sums[1], nsums), (size_t) nsums * sizeof(double));
		check(sum_boot(gr_backend_remote.sink, sink, &pass, sums[0], NULL, &err), "a bootstrap's pass, steps %d",
			  steps);
		check(came(&at, values[0], T) && came(&at, values[1], T) && came(&at, values[2], P) &&
			  came(&at, values[3], 2 * T) && came(&at, values[4], steps ? 8 : 6) && came(&at, sums[1], nsums) &&
			  stand_in.boot.seed == 12 && stand_in.boot.first == 4 && stand_in.boot.triangle == NULL,
			  "comes as it is, steps %d", steps);
		for (int k = 0; k < nsums; k++)
			sums[1][k] += 1000;
		check(memcmp(sums[0], sums[1], (size_t) nsums * sizeof(double)) == 0, "and so do its sums, steps %d", steps);
	}
	gr_backend_remote.sink->end(sink);
	end(pair, "bootstraps");
}

static void
test_ascents(void)
{
	Pair	   *pair = begin_pair(&backend);
	GrError		err = {0};
	GrSink	   *sink;
	double		scale[T];
	double		beta[T];
	double		before[T];
	GrAscent	ascent = {
		.intercept = true,.rate = 0.5,.l2 = 3,.scale = numbers(scale, T),.check_every = 10,.max_iter = 99
	};
	int64_t		iterations = 0;
	bool		converged = false;
	int			at = 0;

	reset();
	sink = begin(pair, &err);
	check(gr_backend_remote.sink->can_ascend(sink, true) && !gr_backend_remote.sink->can_ascend(sink, false),
		  "who can ascend is asked");
	memcpy(before, numbers(beta, T), sizeof(before));
	check(gr_backend_remote.sink->ascend(sink, &ascent, beta, &iterations, &converged, NULL, &err) &&
		  iterations == 42 && converged, "an ascent");
	check(came(&at, scale, T) && came(&at, before, T) && stand_in.ascent.rate == 0.5 && stand_in.ascent.l2 == 3 &&
		  stand_in.ascent.max_iter == 99 && stand_in.ascent.check_every == 10, "comes as it is");
	for (int j = 0; j < T; j++)
		before[j] += 1000;
	check(memcmp(beta, before, sizeof(beta)) == 0, "and so does where it came to");
	gr_backend_remote.sink->end(sink);
	end(pair, "ascents");
}

/* Returns a factorisation of m terms with all arrays that it is given. out: arrays it is to fill. */
static GrFactorJob
job_of(double in[4][60], double out[6][T], bool *aliased)
{
	for (int k = 0; k < P; k++)
		aliased[k] = k == 1;
	return (GrFactorJob)
	{
		.hi = numbers(in[0], (int) gr_triangle(1 + P + 1)),.lo = numbers(in[1], (int) gr_triangle(1 + P + 1)),.skip = 1,
		.nterms = P,.scale = numbers(in[2], P + 1),.least_pivot = numbers(in[3], P),.noise = 0.25,.want_inverse = true,
		.aliased = aliased,.d_hi = out[0],.d_lo = out[1],.row_hi = out[2],.row_lo = out[3],.coef_hi = out[4],
		.coef_lo = out[5]
	};
}

static void
test_factors(void)
{
	Pair	   *pair = begin_pair(&backend);
	GrSession  *session = (GrSession *) &pair->client;
	const GrSolverOps *solver = gr_backend_remote.solver;
	double		in[4][60];
	double		out[6][T] = {{0}};
	double		w[2][P];
	double		inverse[P * P];
	bool		aliased[P];
	GrFactorJob job = job_of(in, out, aliased);
	int			n = (int) gr_triangle(1 + P + 1);
	int			at = 0;
	bool		filled = true;
	GrFactor   *factor = NULL;
	GrError		err = {0};

	reset();
	check(solver->begin(session, &job, &factor, NULL, &err) && gr_remote_is_busy(&pair->server), "a factorisation");
	check(came(&at, in[0], n) && came(&at, in[1], n) && came(&at, in[2], P + 1) && came(&at, in[3], P) &&
		  stand_in.job.skip == 1 && stand_in.job.noise == 0.25 && stand_in.job.want_inverse, "comes as it is");
	for (int a = 0; a < 6; a++)
		for (int k = 0; k < (a < 2 ? P + 1 : P); k++)
			filled &= out[a][k] == 100 * (a + 1) + k;
	check(filled && aliased[0] && !aliased[1] && aliased[2], "and so does all that it gives");
	at = 0;
	check(solver->inverse(factor, (GrDDConstVector) {numbers(w[0], P), numbers(w[1], P)}, 8, inverse, NULL, &err) &&
		  came(&at, w[0], P) && came(&at, w[1], P) && inverse[0] == 8 && inverse[P * P - 1] == 8 + P * P - 1,
		  "and its inverse");
	solver->end(factor);
	check(stand_in.nfactors_ended == 1, "its end is that of a factorisation");

	stand_in.begin_fails = true;
	check(!solver->begin(session, &job, &factor, NULL, &err) && err.status == GR_DEVICE_FAILED,
		  "one that fails: %s", err.detail);
	solver->end(factor);
	end(pair, "factorisations");

	pair = begin_pair(&without_solver);
	memset(&err, 0, sizeof(err));
	check(!solver->begin((GrSession *) &pair->client, &job, &factor, NULL, &err) && err.status == GR_DEVICE_MEMORY,
		  "a backend without a solver says so: %s", err.detail);
	solver->end(factor);
	end(pair, "no solver");
}

/*
 * Rows that are read later
 */

/* Sends ncalls calls' rows, each from its own part of an area. */
static bool
send_calls(GrSink *sink, Pair *pair, int area, int ncalls, GrError *err)
{
	size_t		nbytes = NROWS * T * sizeof(double);

	for (int k = 0; k < ncalls; k++)
	{
		double	   *rows = (double *) (pair->client.areas[area] + (size_t) k * nbytes);

		(void) numbers(rows, NROWS * T);
		if (!gr_backend_remote.sink->send(sink, rows, NROWS, err))
			return false;
	}
	return true;
}

/*
 * Checks that the server reads rows while nothing is asked of it, and reports them as read without a wait in the
 * backend.
 */
static void
test_reads(void)
{
	Pair	   *pair = begin_pair(&backend);
	int			area = lease(&pair->client, 6 * NROWS * T * sizeof(double));
	GrError		err = {0};
	int64_t		nread = 0;
	GrSink	   *sink;

	reset();
	sink = begin(pair, &err);
	check(send_calls(sink, pair, area, 6, &err), "six calls");
	for (int tries = 0; tries < 5000 && nread < 6 && gr_backend_remote.sink->sent(sink, false, &nread, &err); tries++)
		(void) usleep(1000);
	check(nread == 6 && stand_in.nread == 6, "%d are read while nothing else is asked", (int) nread);
	check(stand_in.got[NROWS * T - 1] == ((double *) pair->client.areas[area])[6 * NROWS * T - 1],
		  "the last one's rows");
	gr_backend_remote.sink->end(sink);
	end(pair, "reads");
}

/* Checks that a copy that fails while nothing is asked shows in the next call, and leaves another sink alone. */
static void
test_failed_reads(void)
{
	Pair	   *pair = begin_pair(&backend);
	int			area = lease(&pair->client, 6 * NROWS * T * sizeof(double));
	double		beta[T] = {0};
	GrPass		pass = {
		.kind = GR_PASS_FAST,.shape = gr_plain_shape(P),.distribution = GR_LOGISTIC,.beta = beta,.shift = beta
	};
	double		sums[60] = {0};
	GrError		err = {0};
	GrError		other_err = {0};
	int64_t		nread = 0;
	bool		ok = true;
	GrSink	   *sink;
	GrSink	   *other;

	reset();
	stand_in.fails_after = 2;
	sink = begin(pair, &err);
	other = begin(pair, &err);
	(void) send_calls(sink, pair, area, 6, &err);
	for (int tries = 0; tries < 5000 && ok; tries++)
	{
		ok = gr_backend_remote.sink->sent(sink, false, &nread, &err);
		(void) usleep(1000);
	}
	check(!ok && err.status == GR_DEVICE_FAILED && strcmp(err.detail, "a copy") == 0 && nread <= 2,
		  "a copy that fails is told: %s, %d read", err.detail, (int) nread);
	memset(&err, 0, sizeof(err));
	check(!sum_pass(gr_backend_remote.sink, sink, &pass, sums, NULL, &err) && err.status == GR_DEVICE_FAILED,
		  "and there is no pass over such rows");
	check(sum_pass(gr_backend_remote.sink, other, &pass, sums, NULL, &other_err), "but over another sink's");
	gr_backend_remote.sink->end(sink);
	gr_backend_remote.sink->end(other);
	end(pair, "failed reads");
}

/* Checks that a device lost while a sink begins is reported to the server's owner; the client's call fails. */
static void
test_lost(void)
{
	Pair	   *pair = begin_pair(&backend);
	GrError		err = {0};
	GrSink	   *sink;

	reset();
	stand_in.begin_fails = true;
	stand_in.status = GR_DEVICE_LOST;
	sink = begin(pair, &err);
	check(err.status == GR_DEVICE_FAILED && pair->lost && pair->server.told, "a device that is lost: %s", err.detail);
	gr_backend_remote.sink->end(sink);
	check(pair->asked == 100, "what was admitted before that");
	end(pair, "a lost device");
}

/* Checks that a projection that the server can't begin, or lacks memory for, leaves nothing. */
static void
test_projections(void)
{
	Pair	   *pair = begin_pair(&backend);
	GrSession  *session = (GrSession *) &pair->client;
	const GrDraw draw = {.k = 16,.density = 1};
	const GrProjectOptions options = {.draw = &draw,.dim = 100,.block_nbytes = 3000};
	GrProject  *project = NULL;
	GrError		err = {0};

	reset();
	check(!gr_backend_remote.projector->begin(session, &options, NULL, &project, &err) &&
		  err.status == GR_DEVICE_FAILED && pair->nleased == 2, "a projection that fails: it has its area");
	gr_backend_remote.projector->end(project);
	check(pair->nleased == 1, "which goes");
	pair->client.lease = NULL;
	memset(&err, 0, sizeof(err));
	check(!gr_backend_remote.projector->begin(session, &options, NULL, &project, &err) &&
		  err.status == GR_NO_MEMORY && err.bytes_needed == 7 * (100 + GR_PROJECT_NSLOTS * 16) * sizeof(float),
		  "no area for a projection");
	gr_backend_remote.projector->end(project);
	pair->client.lease = lease;
	end(pair, "projections");
}

/* Checks that a deadline's nanoseconds are below a second. */
static void
test_deadlines(void)
{
	static const struct
	{
		long		at;
		int64_t		ns;
		long		seconds;
		long		left;
	}			cases[] = {
		{0, 5, 7, 5}, {999999990, 9, 7, 999999999}, {999999990, 10, 8, 0}, {999999990, 11, 8, 1},
		{999999999, 999999999, 8, 999999998}
	};

	for (int k = 0; k < COUNT(cases); k++)
	{
		struct timespec until;

		now = (struct timespec) {.tv_sec = 7,.tv_nsec = cases[k].at};
		until = gr_deadline(cases[k].ns);
		check(until.tv_sec == cases[k].seconds && until.tv_nsec == cases[k].left, "%ld ns and %ld more", cases[k].at,
			  (long) cases[k].ns);
	}
}

/*
 * Calls that lack room
 */

/* Checks a pass whose arguments don't fit the area: a larger one is leased, and the old one is given back. */
static void
test_room(void)
{
	enum
	{
		WIDE = 400
	};
	Pair	   *pair = begin_pair(&gr_backend_cpu);
	const GrSinkOptions options = {.shape = gr_plain_shape(WIDE),.kind = GR_SINK_KEEP};
	double	   *beta = calloc(WIDE + 1, sizeof(double));
	size_t		nsums = gr_pass_nsums(GR_PASS_EXACT, WIDE);
	double	   *sums = calloc(nsums, sizeof(double));
	double	   *row = calloc(WIDE + 1, sizeof(double));
	GrPass		pass = {
		.kind = GR_PASS_EXACT,.shape = gr_plain_shape(WIDE),.distribution = GR_LOGISTIC,.beta = beta,.shift = beta
	};
	GrError		err = {0};
	GrSink	   *sink = NULL;

	row[WIDE] = 1;
	check(gr_backend_remote.sink->begin((GrSession *) &pair->client, &options, &sink, &err) &&
		  gr_backend_remote.sink->send(sink, row, 1, &err), "a wide row");
	pair->client.lease = NULL;
	check(!sum_pass(gr_backend_remote.sink, sink, &pass, sums, NULL, &err) && err.status == GR_NO_MEMORY &&
		  err.bytes_needed > nsums * sizeof(double), "no room for its sums");
	pair->client.lease = lease;
	memset(&err, 0, sizeof(err));
	check(sum_pass(gr_backend_remote.sink, sink, &pass, sums, NULL, &err) && sums[GR_SUM_NROWS] == 1 &&
		  pair->nleased == 1 && pair->channel.bulk != 0, "room is made, and the other area given back");
	gr_backend_remote.sink->end(sink);
	check(!gr_remote_is_busy(&pair->server), "which leaves nothing");
	end_pair(pair);
	free(beta);
	free(sums);
	free(row);
}

static void *
take_memory(void *arg, size_t nbytes)
{
	(void) arg;
	return malloc(nbytes);
}

/* Checks a client with as many objects as it may have: rows are not derived, projected or factorised then. */
static void
test_objects(void)
{
	Pair	   *pair = begin_pair(&backend);
	GrSession  *session = (GrSession *) &pair->client;
	const int	column = 0;
	const GrDeriveOptions of = {
		.ncolumns = T,.response = P,.weight = -1,.offset = -1,.key = -1,.columns = &column,.nfeatures = 1
	};
	const GrSinkOptions options = {0};
	const GrRowRules rules = {GR_BINOMIAL, GR_PRIOR_WEIGHTS, 0};
	GrSink	   *sinks[GR_REMOTE_OBJECTS];
	double		in[4][60];
	double		out[6][T];
	bool		aliased[P];
	GrFactorJob job = job_of(in, out, aliased);
	GrFactor   *factor = NULL;
	GrSink	   *derived = NULL;
	GrDeriveCounts counts;
	GrError		err = {0};
	GrDerivation *d = gr_derivation_make(&of, (GrMemory) {take_memory, NULL}, &err);

	reset();
	for (int k = 0; k < GR_REMOTE_OBJECTS; k++)
		sinks[k] = begin(pair, &err);
	check(err.status == GR_OK && stand_in.nopen == GR_REMOTE_OBJECTS, "%d sinks", stand_in.nopen);
	check(!gr_remote_derive(&pair->client, 7, &(GrDeriveTask) {d, rules, &options, &derived, &counts}, NULL, &err) &&
		  err.status == GR_DEVICE_MEMORY && derived == NULL, "no more can be derived: %s", err.detail);
	memset(&err, 0, sizeof(err));
	check(!gr_remote_derive(&pair->client, 7, &(GrDeriveTask) {d, rules, &options, NULL, &counts}, NULL, &err) &&
		  err.status == GR_DEVICE_MEMORY, "nor counted");
	memset(&err, 0, sizeof(err));
	check(!gr_backend_remote.solver->begin(session, &job, &factor, NULL, &err) && err.status == GR_DEVICE_MEMORY &&
		  factor == NULL, "nor factorised");
	for (int k = 0; k < GR_REMOTE_OBJECTS; k++)
		gr_backend_remote.sink->end(sinks[k]);
	memset(&err, 0, sizeof(err));
	gr_backend_remote.sink->end(begin(pair, &err));
	check(err.status == GR_OK, "and when they are gone there is room");
	free(d);
	end(pair, "objects");
}

/* Checks a derivation from an object that can have none: the server refuses by its own records. */
static void
test_origins(void)
{
	Pair	   *pair = begin_pair(&gr_backend_cpu);
	const int	column = 0;
	const GrDeriveOptions of = {
		.ncolumns = T,.response = P,.weight = -1,.offset = -1,.key = -1,.columns = &column,.nfeatures = 1
	};
	const GrSinkOptions kept = {.shape = gr_plain_shape(P),.kind = GR_SINK_KEEP};
	const GrSinkOptions summed = {.shape = gr_plain_shape(P),.kind = GR_SINK_SUM,.block_nbytes = 1 << 20};
	const GrRowRules rules = {GR_BINOMIAL, GR_PRIOR_WEIGHTS, 0};
	double		rows[NROWS * T];
	GrSink	   *sinks[2] = {NULL, NULL};
	GrSink	   *derived = NULL;
	GrDeriveCounts counts = {0};
	GrError		err = {0};
	GrDerivation *d = gr_derivation_make(&of, (GrMemory) {take_memory, NULL}, &err);

	for (int k = 0; k < NROWS * T; k++)
		rows[k] = k % T == P ? k % 3 == 0 : k;
	check(gr_backend_remote.sink->begin((GrSession *) &pair->client, &kept, &sinks[0], &err) &&
		  gr_backend_remote.sink->begin((GrSession *) &pair->client, &summed, &sinks[1], &err) &&
		  gr_backend_remote.sink->send(sinks[0], rows, NROWS, &err), "rows to derive from");
	check(gr_backend_remote.sink->derive(sinks[0], &(GrDeriveTask) {d, rules, &kept, &derived, &counts}, NULL, &err) &&
		  counts.nrows == NROWS, "are derived from: %s", err.detail);
	gr_backend_remote.sink->end(derived);
	check(!gr_backend_remote.sink->derive(sinks[1], &(GrDeriveTask) {d, rules, &kept, &derived, &counts}, NULL, &err) &&
		  err.status == GR_DEVICE_FAILED, "sums are not: %s", err.detail);
	gr_backend_remote.sink->end(derived);
	memset(&err, 0, sizeof(err));
	check(!gr_remote_derive(&pair->client, 7, &(GrDeriveTask) {d, rules, &kept, &derived, &counts}, NULL, &err) &&
		  err.status == GR_INVALID, "nor what is stored where there is no store: %s", err.detail);
	gr_backend_remote.sink->end(derived);
	gr_backend_remote.sink->end(sinks[0]);
	gr_backend_remote.sink->end(sinks[1]);
	check(!gr_remote_is_busy(&pair->server), "nothing is left");
	free(d);
	end_pair(pair);
}

int
main(void)
{
	test_passes();
	test_boots();
	test_ascents();
	test_factors();
	test_reads();
	test_failed_reads();
	test_lost();
	test_projections();
	test_deadlines();
	test_room();
	test_objects();
	test_origins();
	return unit_done();
}
