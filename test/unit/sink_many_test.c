/*
 * sink_many_test.c: tests that rows in several sinks give the sums of one, and, over sinks that compute nothing, which
 * sink gets which call, who polls the host, and where failures are reported.
 */
#include "compute/backend/sink_many.h"

#include <setjmp.h>

#include "compute/backend/backend_many.h"
#include "compute/linalg/basis.h"
#include "gram_reference.h"
#include "sink_stub.h"
#include "sums.h"
#include "unit.h"

#define PARTS 5
#define PIECE 61

static GrParts
parts_of(const GrSinkOps *ops, int n)
{
	GrParts		parts = {.ops = ops,.n = n};

	return parts;
}

/*
 * Sinks on the CPU
 */

static double
uniform(void)
{
	return (double) random() / 2147483648.0 - 0.5;
}

/* Makes features with means other than 0, a response of 0 and 1 or of any size, and weights for some rows. */
static double *
random_rows(int64_t nrows, GrRowShape shape, bool binary)
{
	int			ncols = gr_row_ncols(shape);
	double	   *rows = malloc((size_t) (nrows * ncols) * sizeof(double));

	for (int64_t r = 0; r < nrows; r++)
	{
		double	   *row = rows + r * ncols;

		for (int j = 0; j < shape.nfeatures; j++)
			row[j] = uniform() + 0.25 * (j % 3);
		row[shape.nfeatures] = binary ? (double) (random() % 3 == 0) : uniform();
		if (shape.weight)
			row[gr_weight_at(shape)] = (double) (random() % 4 + 1) / 2;
		if (shape.offset)
			row[gr_offset_at(shape)] = uniform();
	}
	return rows;
}

static bool
send_all(const GrSinkOps *ops, GrSink *sink, const double *rows, int64_t nrows, GrRowShape shape, GrError *err)
{
	int64_t		ncalls = 0;
	int64_t		nread = 0;

	for (int64_t done = 0; done < nrows; done += PIECE)
	{
		int64_t		n = nrows - done < PIECE ? nrows - done : PIECE;

		if (!ops->send(sink, rows + done * gr_row_ncols(shape), n, err))
			return false;
		ncalls++;
	}
	return ops->sent(sink, true, &nread, err) && nread == ncalls;
}

/* Returns the largest difference of two packed triangles in double-double, relative to the diagonal of the first. */
static double
triangle_error(const double *got, const double *want, int64_t order)
{
	int64_t		n = gr_triangle(order);
	double		worst = 0;

	for (int64_t i = 0; i < order; i++)
		for (int64_t j = 0; j <= i; j++)
		{
			int64_t		k = gr_triangle(i) + j;
			double		scale = sqrt(want[gr_triangle(i) + i]) * sqrt(want[gr_triangle(j) + j]);
			double		d = fabs((got[k] - want[k]) + (got[n + k] - want[n + k]));

			if (d > 0 || d != d)
				worst = fmax(worst, d / scale);
		}
	return worst;
}

/* Checks a SUM sink twice by restart, the second time less a shift. */
static void
test_sum(int nparts, GrRowShape shape, int64_t nrows)
{
	GrParts		parts = parts_of(gr_backend_cpu.sink, nparts);
	GrSinkOptions options = {.shape = shape,.block_nbytes = 1 << 20};
	int64_t		n = gr_triangle(gr_norder(shape.nfeatures));
	double	   *rows = random_rows(nrows, shape, false);
	double	   *sums = malloc(4 * (size_t) n * sizeof(double));
	double	   *want = sums + 2 * n;
	double	   *shift = calloc((size_t) shape.nfeatures + 1, sizeof(double));
	GrSink	   *many = NULL;
	GrSink	   *one = NULL;
	GrError		err = {0};
	bool		ok = gr_many_begin(&parts, &options, &many, &err) &&
		gr_backend_cpu.sink->begin(NULL, &options, &one, &err);

	shift[0] = 0.125;
	for (int turn = 0; turn < 2; turn++)
	{
		bool		same_hi;
		double		error;

		ok = ok && gr_sink_many.restart(many, turn == 0 ? NULL : shift, &err) &&
			gr_backend_cpu.sink->restart(one, turn == 0 ? NULL : shift, &err) &&
			gr_backend_cpu.sink->send(one, rows, nrows, &err);
		for (int64_t done = 0; ok && done < nrows; done += PIECE)
			ok = gr_sink_many.send(many, rows + done * gr_row_ncols(shape), nrows - done < PIECE ? nrows - done : PIECE,
								   &err);
		ok = ok && gr_sink_many.finish(many, (GrDDVector) {sums, sums + n}, &err) &&
			gr_backend_cpu.sink->finish(one, (GrDDVector) {want, want + n}, &err);
		error = ok ? triangle_error(sums, want, gr_norder(shape.nfeatures)) : INFINITY;
		same_hi = ok && memcmp(sums, want, (size_t) n * sizeof(double)) == 0;
		check(error < 1e-30 && same_hi, "SUM, %d parts, %d features%s%s: one sink's sums, error %.2g", nparts,
			  shape.nfeatures, shape.weight ? ", weights" : "", turn == 1 ? ", a shift" : "", error);
		if (ok && turn == 0 && !shape.weight)
			check(gram_reference_error(rows, nrows, shape.nfeatures, sums, sums + n) < 3.2e-30,
				  "... and those in quadruple precision");
	}
	gr_sink_many.end(many);
	gr_backend_cpu.sink->end(one);
	free(rows);
	free(sums);
	free(shift);
}

static const char *const kind_names[] = {"EXACT", "FAST", "GRADIENT", "FACE"};

/*
 * Returns the largest error of a pass's sums; infinite if counts or minima differ, or the deviance, which chunks sum in
 * float8.
 */
static double
sums_error(GrPassKind kind, int p, const double *got, const double *want)
{
	int64_t		t = gr_nterms(p);
	size_t		n = gr_pass_nsums(kind, p);
	double		worst = 0;

	if (kind == GR_PASS_EXACT || kind == GR_PASS_FACE)
		worst = triangle_error(got + GR_SUM_HEAD, want + GR_SUM_HEAD, t + 2);
	else
		for (size_t k = GR_SUM_HEAD; k < n; k++)
			worst = fmax(worst, fabs(got[k] - want[k]) / fmax(1, fabs(want[k])));
	if (relative_error(got[GR_SUM_DEVIANCE_HI], want[GR_SUM_DEVIANCE_HI]) > 1e-15)
		worst = INFINITY;
	for (int k = 0; k < GR_SUM_HEAD; k++)
		if (k != GR_SUM_DEVIANCE_HI && k != GR_SUM_DEVIANCE_LO && got[k] != want[k])
			worst = INFINITY;
	return worst;
}

/*
 * Makes the arrays of a pass of t terms: beta, shift, two faces, each with its low halves, the coefficients of a
 * change, and a diagonal factor.
 */
static double *
pass_arguments(size_t t)
{
	double	   *arguments = calloc(7 * t + (size_t) gr_triangle((int64_t) t), sizeof(double));

	for (size_t j = 0; j < t; j++)
	{
		arguments[j] = 0.25 * (double) (j % 5) - 0.5;
		arguments[2 * t + j] = arguments[4 * t + j] = j == 1;
		arguments[6 * t + j] = j == 0 ? 0.5 : j == t - 1 ? 1 : 0.125;
		arguments[7 * t + (size_t) gr_triangle((int64_t) j) + j] = 0.05;
	}
	return arguments;
}

/*
 * Checks a KEEP sink: a pass by all parts against one by one sink, before a change and after it, with the same bits
 * each time.
 */
static void
test_pass(GrPassKind kind, GrMeasure measure, int nparts, GrRowShape shape, int64_t nrows)
{
	GrParts		parts = parts_of(gr_backend_cpu.sink, nparts);
	GrSinkOptions options = {.shape = shape,.kind = GR_SINK_KEEP};
	int			p = shape.nfeatures;
	size_t		t = (size_t) gr_nterms(p);
	double	   *rows = random_rows(nrows, shape, true);
	double	   *arguments = pass_arguments(t);
	double		absolute[2] = {1e9, 0.1};
	int			changed[1] = {p - 1};
	GrPass		pass = {
		.kind = kind,.shape = shape,.distribution = GR_LOGISTIC,.beta = arguments,.shift = arguments + t,
		.nfaces = kind == GR_PASS_FACE ? 2 : 0,.faces = arguments + 2 * t,.face_absolute = absolute,.measure = measure
	};
	GrBasis		basis = {p, 1, changed, arguments + 6 * t};
	size_t		n = gr_pass_nsums(kind, p);
	double	   *sums[3];
	GrSink	   *many = NULL;
	GrSink	   *one = NULL;
	GrError		err = {0};
	bool		ok = gr_many_begin(&parts, &options, &many, &err) &&
		gr_backend_cpu.sink->begin(NULL, &options, &one, &err) &&
		send_all(&gr_sink_many, many, rows, nrows, shape, &err) &&
		gr_backend_cpu.sink->send(one, rows, nrows, &err);

	if (gr_measure_has_factor(measure))
		pass.factor = arguments + 7 * t;
	for (int k = 0; k < 3; k++)
		sums[k] = malloc(n * sizeof(double));
	for (int turn = 0; turn < 2; turn++)
	{
		double		limit = kind == GR_PASS_EXACT || kind == GR_PASS_FACE ? 1e-30 : 1e-14;
		double		error;

		for (int k = 0; k < 3; k++)
		{
			gr_pass_clear(kind, p, sums[k]);
			ok = ok && (k < 2 ? sum_pass(&gr_sink_many, many, &pass, sums[k], NULL, &err) :
						sum_pass(gr_backend_cpu.sink, one, &pass, sums[k], NULL, &err));
		}
		error = ok ? sums_error(kind, p, sums[0], sums[2]) : INFINITY;
		check(error < limit && sums[0][GR_SUM_NROWS] > 0,
			  "KEEP, %s, measure %d, %d parts, %d features%s%s: one sink's sums, error %.2g", kind_names[kind],
			  (int) measure, nparts, p, shape.weight ? ", weights" : "", turn == 1 ? ", changed" : "", error);
		check(ok && memcmp(sums[0], sums[1], n * sizeof(double)) == 0, "... and the same bits again");
		ok = ok && gr_sink_many.change(many, &basis, NULL, &err) &&
			gr_backend_cpu.sink->change(one, &basis, NULL, &err);
	}
	gr_sink_many.end(many);
	gr_backend_cpu.sink->end(one);
	for (int k = 0; k < 3; k++)
		free(sums[k]);
	free(rows);
	free(arguments);
}

static void
test_cpu(int nparts)
{
	GrRowShape	plain = gr_plain_shape(7);
	GrRowShape	weighted = gr_plain_shape(4);
	GrRowShape	wide = gr_plain_shape(60);

	weighted.weight = weighted.offset = true;
	test_sum(nparts, plain, 5000);
	test_sum(nparts, weighted, 999);
	/* fewer calls than parts: some parts have no row */
	test_sum(nparts, plain, 2 * PIECE);
	for (int kind = GR_PASS_EXACT; kind <= GR_PASS_FACE; kind++)
	{
		test_pass(kind, GR_MEASURE_STEP, nparts, plain, 3000);
		test_pass(kind, GR_MEASURE_STEP, nparts, weighted, 1000);
		test_pass(kind, GR_MEASURE_STEP, nparts, wide, 400);
		test_pass(kind, GR_MEASURE_STEP, nparts, plain, 2 * PIECE);
	}
	test_pass(GR_PASS_EXACT, GR_MEASURE_SCORES_HC3, nparts, plain, 3000);
	test_pass(GR_PASS_EXACT, GR_MEASURE_FIRTH, nparts, plain, 3000);
}

/*
 * Sinks that compute nothing
 */

static GrSinkOptions
stub_options(GrSinkKind kind)
{
	GrSinkOptions options = {.shape = gr_plain_shape(1),.kind = kind,.memory_limit = 1000};

	return options;
}

static GrPass
stub_pass_of(const double *beta, const double *shift)
{
	GrPass		pass = {.kind = GR_PASS_GRADIENT,.shape = gr_plain_shape(1),.beta = beta,.shift = shift};

	return pass;
}

static GrSink *
begin_stubs(int nparts, GrSinkKind kind, GrError *err)
{
	GrParts		parts = parts_of(&stub_sink, nparts);
	GrSinkOptions options = stub_options(kind);
	GrSink	   *many = NULL;

	(void) gr_many_begin(&parts, &options, &many, err);
	return many;
}

static void
test_dealing(int nparts)
{
	GrError		err = {0};
	GrSink	   *many;
	int64_t		ncalls = 0;
	bool		dealt = true;
	bool		counted = true;

	stub_reset();
	many = begin_stubs(nparts, GR_SINK_SUM, &err);
	for (int k = 0; k < 23; k++)
		dealt = dealt && gr_sink_many.send(many, "", k, &err);
	for (int k = 0; k < 23; k++)
		dealt = dealt && stub.sinks[k % nparts]->fed[k / nparts] == k;
	check(dealt, "%d parts: call k goes to part k mod n", nparts);
	stub.slow = true;
	counted = gr_sink_many.sent(many, false, &ncalls, &err) && ncalls == 0;
	for (int k = 1; k <= 23; k++)
		counted = counted && gr_sink_many.sent(many, true, &ncalls, &err) && ncalls == k;
	counted = counted && gr_sink_many.sent(many, true, &ncalls, &err) && ncalls == 23;
	check(counted, "... calls are waited for one after another");
	counted = gr_sink_many.send(many, "", 1, &err) && gr_sink_many.send(many, "", 1, &err);
	/* the part of the later call has read its rows first */
	if (nparts > 1)
		stub.sinks[24 % nparts]->nread++;
	counted = counted && gr_sink_many.sent(many, false, &ncalls, &err) && ncalls == 23 &&
		gr_sink_many.sent(many, true, &ncalls, &err) && ncalls == (nparts > 1 ? 25 : 24);
	check(counted, "... and counted in the order in which they were made");
	gr_sink_many.end(many);
	check(stub.nopen == 0, "... and all are ended");
}

static void
test_limits(void)
{
	GrParts		parts = parts_of(&stub_sink, 3);
	GrSinkOptions options = stub_options(GR_SINK_KEEP);
	GrSink	   *many = NULL;
	GrError		err = {0};

	stub_reset();
	parts.sessions[2] = (GrSession *) &stub;
	options.expected_nbytes = 1000;
	(void) gr_many_begin(&parts, &options, &many, &err);
	check(stub.sinks[0]->expected_nbytes == 334 && stub.sinks[1]->expected_nbytes == 334 &&
		  stub.sinks[2]->expected_nbytes == 334, "each part expects its share of the rows");
	check(stub.sinks[0]->memory_limit == 500 && stub.sinks[1]->memory_limit == 500 &&
		  stub.sinks[2]->memory_limit == 1000, "a device's limit is shared by its parts");
	gr_sink_many.end(many);
	stub.nbegun = 0;
	options.memory_limit = 1;
	(void) gr_many_begin(&parts, &options, &many, &err);
	check(stub.sinks[0]->memory_limit == 1, "... and is never none");
	gr_sink_many.end(many);
	stub.nbegun = 0;
	options.memory_limit = 0;
	(void) gr_many_begin(&parts, &options, &many, &err);
	check(stub.sinks[0]->memory_limit == 0 && stub.sinks[2]->memory_limit == 0, "... but where there is none");
	gr_sink_many.end(many);
}

/* A host that notes which thread polls, and how often, and stops at a given poll */
typedef struct Asked
{
	pthread_t	caller;
	int			n;
	int			stop_at;		/* number of the poll that stops; 0: never */
	bool		by_others;
	GrSink	   *ends;			/* the sink that the host ends before it jumps out; NULL: none */
	jmp_buf		jump;
} Asked;

static bool
asked(void *arg)
{
	Asked	   *a = arg;

	a->by_others = a->by_others || !pthread_equal(pthread_self(), a->caller);
	a->n++;
	if (a->ends != NULL && a->n >= 3)
	{
		gr_sink_many.end(a->ends);
		longjmp(a->jump, 1);
	}
	return a->stop_at > 0 && a->n >= a->stop_at;
}

static void
test_together(int nparts)
{
	double		beta[2] = {2, 0};
	double		shift = 0;
	double		sums[16];
	GrPass		pass = stub_pass_of(beta, &shift);
	Asked		a = {.caller = pthread_self()};
	GrHost		host = {.canceled = asked,.arg = &a};
	GrError		err = {0};
	GrTimes		times;
	bool		ok = true;
	bool		apart = true;
	GrSink	   *many;

	stub_reset();
	many = begin_stubs(nparts, GR_SINK_KEEP, &err);
	stub.together = nparts;
	for (int turn = 0; turn < 50; turn++)
	{
		gr_pass_clear(pass.kind, 1, sums);
		ok = ok && sum_pass(&gr_sink_many, many, &pass, sums, &host, &err) &&
			sums[GR_SUM_NROWS] == nparts * (nparts + 1) / 2 && sums[GR_SUM_NONES] == 2 * nparts;
	}
	check(ok && stub.most == nparts, "%d parts: passes are made at once, and merged", nparts);
	for (int i = 0; i < nparts; i++)
		for (int k = 0; k < i; k++)
			apart = apart && !pthread_equal(stub.sinks[i]->thread, stub.sinks[k]->thread);
	check(apart && pthread_equal(stub.sinks[0]->thread, pthread_self()) && !stub.sinks[0]->signals_blocked,
		  "... by threads of their own, the first by the caller's");
	apart = true;
	for (int i = 1; i < nparts; i++)
		apart = apart && stub.sinks[i]->signals_blocked;
	check(apart, "... which have signals blocked");
	check(a.n >= 50 && !a.by_others, "... and the caller's alone asks the host");
	gr_sink_many.times(many, &times);
	check(times.bytes_to_device == nparts * (nparts + 1) / 2 && times.kernel_s == 10 * times.copy_s,
		  "... and times are added up");
	gr_sink_many.end(many);
	check(stub.nopen == 0, "... and all are ended");
}

/* Stops at the host's nth poll, while the other parts would never end by themselves. */
static void
test_cancel(int nparts)
{
	double		beta[2] = {2, 0};
	double		shift = 0;
	double		sums[16];
	int			changed = 0;
	GrBasis		basis = {1, 1, &changed, beta};
	GrPass		pass = stub_pass_of(beta, &shift);
	bool		ok = true;
	GrError		none = {0};
	GrSink	   *many;

	stub_reset();
	many = begin_stubs(nparts, GR_SINK_KEEP, &none);
	stub.endless = true;
	for (int at = 1; at <= 5; at++)
	{
		Asked		a = {.caller = pthread_self(),.stop_at = at};
		GrHost		host = {.canceled = asked,.arg = &a};
		GrError		err = {0};

		gr_pass_clear(pass.kind, 1, sums);
		ok = ok && !(at % 2 == 0 ? sum_pass(&gr_sink_many, many, &pass, sums, &host, &err) :
					 gr_sink_many.change(many, &basis, &host, &err)) &&
			err.status == GR_CANCELED && a.n == at && !a.by_others && stub.npassing == 0;
	}
	check(ok, "%d parts: a cancel stops all, and the host isn't asked again", nparts);
	stub.endless = false;
	gr_pass_clear(pass.kind, 1, sums);
	check(sum_pass(&gr_sink_many, many, &pass, sums, NULL, &none) && sums[GR_SUM_NROWS] == nparts * (nparts + 1) / 2,
		  "... and the next pass is a whole one");
	gr_sink_many.end(many);
	check(stub.nopen == 0, "... and all are ended");
}

/* Checks the end of a process within a pass: the sink is ended, and the pass never returns. */
static void
test_termination(int nparts)
{
	static double shift = 0;
	double	   *beta = calloc(2, sizeof(double));
	double	   *sums = calloc(16, sizeof(double));
	GrPass		pass = stub_pass_of(beta, &shift);
	Asked		a = {.caller = pthread_self()};
	GrHost		host = {.canceled = asked,.arg = &a};
	GrRequest  *request;
	GrError		err = {0};

	stub_reset();
	a.ends = begin_stubs(nparts, GR_SINK_KEEP, &err);
	stub.endless = true;
	stub.together = nparts;
	request = gr_request_of_pass(&pass, gr_request_malloc, &err);
	if (setjmp(a.jump) == 0)
	{
		(void) gr_sink_many.sums(a.ends, request, sums, &host, &err);
		check(false, "%d parts: an end within a pass", nparts);
	}
	else
		check(stub.nopen == 0 && stub.npassing == 0, "%d parts: an end within a pass ends the threads", nparts);
	free(request);
	free(beta);
	free(sums);
}

/*
 * Checks a part that loses its device while another fails otherwise and the rest are stopped: the lost device is
 * reported.
 */
static void
test_gravity(void)
{
	double		beta[2] = {2, 0};
	double		shift = 0;
	double		sums[16];
	GrPass		pass = stub_pass_of(beta, &shift);
	bool		ok = true;

	for (int lost = 1; lost <= 4; lost++)
	{
		GrError		err = {0};
		GrSink	   *many;

		stub_reset();
		many = begin_stubs(4, GR_SINK_KEEP, &err);
		stub.lost = lost;
		stub.together = 4;
		stub.fail_at = stub.ncalls + 1;
		gr_pass_clear(pass.kind, 1, sums);
		ok = ok && !sum_pass(&gr_sink_many, many, &pass, sums, NULL, &err) && err.status == GR_DEVICE_LOST &&
			err.where == lost - 1;
		gr_sink_many.end(many);
	}
	check(ok && stub.nopen == 0, "a lost device is what a pass says");
}

/* Runs all calls of a job. *ncalls: the number of calls that can fail. False, with err set, if one failed. */
static bool
whole_job(int nparts, GrSinkKind kind, GrError *err)
{
	double		beta[2] = {2, 0};
	double		shift = 0;
	double		sums[16];
	int			changed = 0;
	GrBasis		basis = {1, 1, &changed, beta};
	GrPass		pass = stub_pass_of(beta, &shift);
	GrSink	   *many = begin_stubs(nparts, kind, err);
	int64_t		nread = 0;
	bool		ok = err->status == GR_OK && (kind == GR_SINK_KEEP || gr_sink_many.restart(many, NULL, err));

	for (int k = 0; ok && k < 7; k++)
		ok = gr_sink_many.send(many, "", 1, err) && gr_sink_many.sent(many, k % 2 == 0, &nread, err);
	if (kind == GR_SINK_SUM)
		ok = ok && gr_sink_many.finish(many, (GrDDVector) {sums, sums + 8}, err) && sums[0] == nparts && sums[8] == 0;
	else
	{
		gr_pass_clear(pass.kind, 1, sums);
		ok = ok && gr_sink_many.change(many, &basis, NULL, err) &&
			sum_pass(&gr_sink_many, many, &pass, sums, NULL, err) && sums[GR_SUM_NROWS] == nparts * (nparts + 1) / 2;
	}
	gr_sink_many.end(many);
	return ok;
}

static void
test_failures(int nparts, GrSinkKind kind)
{
	static const GrStatus statuses[] = {GR_NO_MEMORY, GR_DEVICE_MEMORY, GR_DEVICE_FAILED, GR_DEVICE_LOST};
	GrError		none = {0};
	bool		ok;
	int			ncalls;
	int			nwrong = 0;
	int			nleft = 0;

	stub_reset();
	ok = whole_job(nparts, kind, &none);
	ncalls = stub.ncalls;
	for (int at = 1; at <= ncalls; at++)
	{
		GrError		err = {0};

		stub_reset();
		stub.fail_at = at;
		stub.status = statuses[at % COUNT(statuses)];
		/* exactly one call fails, and is reported: parts that are stopped early make no further calls */
		nwrong += whole_job(nparts, kind, &err) || err.status != stub.status || err.where != at || stub.nbroken != 1;
		nleft += stub.nopen;
	}
	check(ok && ncalls > 7 && nwrong == 0 && nleft == 0,
		  "%s, %d parts: each of %d calls fails by itself, nothing is left", kind == GR_SINK_SUM ? "SUM" : "KEEP",
		  nparts, ncalls);
}

/*
 * Sessions
 */

static void
test_sessions(void)
{
	GrOpenOptions all = {.device_id = GR_ALL_DEVICES};
	GrOpenOptions second = {.device_id = 1};
	GrSession  *session = NULL;
	GrError		err = {0};
	const GrDeviceInfo *info;

	stub_reset();
	stub.ndevices = 3;
	check(gr_many_open(&session, &stub_device, &stub_sink, &all, &err) && stub.nopen == 3, "all devices are opened");
	info = gr_backend_many.device->describe(session);
	check(info->id == 0 && info->nbeside == 2 && strcmp(info->name, "3 x Stub") == 0 && info->memory_total == 300 &&
		  info->memory_free == 30, "... and described as one");
	check(gr_backend_many.device->pin(session, &stub, 4096, &err) && stub.npinned == 1,
		  "... memory is pinned once, for all");
	gr_backend_many.device->unpin(session, &stub);
	check(stub.npinned == 0, "... and unpinned");
	gr_backend_many.device->close(session);
	check(stub.nopen == 0, "... and all are closed");

	stub.names[2] = "Other";
	(void) gr_many_open(&session, &stub_device, &stub_sink, &all, &err);
	check(strcmp(gr_backend_many.device->describe(session)->name, "Stub and others") == 0, "devices of two kinds");
	gr_backend_many.device->close(session);

	(void) gr_many_open(&session, &stub_device, &stub_sink, &second, &err);
	info = gr_backend_many.device->describe(session);
	check(stub.nopen == 1 && info->id == 1 && info->nbeside == 0 && strcmp(info->name, "Stub") == 0, "one device");
	gr_backend_many.device->close(session);
	gr_backend_many.device->close(NULL);
	check(stub.nopen == 0 && err.status == GR_OK, "all is closed");
}

static void
test_sessions_fail(void)
{
	GrOpenOptions all = {.device_id = GR_ALL_DEVICES};
	GrSession  *session = NULL;
	GrError		err = {0};

	for (int at = 1; at <= 3; at++)
	{
		char		detail[32];

		memset(&err, 0, sizeof(err));
		stub_reset();
		stub.ndevices = 3;
		stub.fail_at = at;
		stub.status = GR_DEVICE_MEMORY;
		snprintf(detail, sizeof(detail), "GPU %d: open", at - 1);
		check(!gr_many_open(&session, &stub_device, &stub_sink, &all, &err) && err.status == GR_DEVICE_MEMORY &&
			  strcmp(err.detail, detail) == 0 && stub.nopen == at, "device %d fails: so do all", at - 1);
		gr_backend_many.device->close(session);
		check(stub.nopen == 0, "... and nothing is left");
	}
	for (int n = 0; n <= GR_PARTS_MAX + 1; n += GR_PARTS_MAX + 1)
	{
		memset(&err, 0, sizeof(err));
		stub_reset();
		stub.ndevices = n;
		check(!gr_many_open(&session, &stub_device, &stub_sink, &all, &err) && err.status == GR_NO_DEVICE &&
			  stub.nopen == 0, "%d devices: %s", n, err.detail);
		gr_backend_many.device->close(session);
	}
}

int
main(void)
{
	srandom(20261123);
	for (int n = 1; n <= PARTS; n++)
		test_cpu(n);
	for (int n = 1; n <= PARTS; n++)
		test_dealing(n);
	test_limits();
	for (int n = 2; n <= PARTS; n++)
	{
		test_together(n);
		test_cancel(n);
		test_termination(n);
	}
	test_gravity();
	for (int n = 1; n <= PARTS; n++)
	{
		test_failures(n, GR_SINK_SUM);
		test_failures(n, GR_SINK_KEEP);
	}
	test_sessions();
	test_sessions_fail();
	return unit_done();
}
