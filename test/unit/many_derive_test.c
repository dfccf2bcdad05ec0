/*
 * many_derive_test.c: tests that rows derived from rows in several sinks are those derived from one, that rows are read
 * back in the order sent, which row an error names, and that a failed derivation leaves nothing.
 */
#include "compute/backend/sink_many.h"

#include <setjmp.h>

#include "compute/glm/glm.h"
#include "derive_rows.h"
#include "sink_stub.h"
#include "sums.h"

#define PARTS 4
#define PIECE 53

static GrSink *
keep(const GrSinkOps *ops, int nparts, const double *rows, int64_t nrows, int ncolumns, GrError *err)
{
	GrParts		parts = {.ops = ops,.n = nparts};
	GrSinkOptions options = {.shape = gr_plain_shape(ncolumns - 1),.kind = GR_SINK_KEEP};
	GrSink	   *sink = NULL;
	bool		ok = gr_many_begin(&parts, &options, &sink, err);

	/* calls of several lengths, so that parts have different numbers of rows */
	for (int64_t done = 0, n; ok && done < nrows; done += n)
	{
		n = PIECE + (done / PIECE) % 7;
		n = nrows - done < n ? nrows - done : n;
		ok = gr_sink_many.send(sink, rows + done * ncolumns, n, err);
	}
	return sink;
}

/* Returns exact sums of a gaussian pass over rows of a shape; the caller frees them. */
static double *
sums_of(GrSink *sink, GrRowShape shape)
{
	double	   *sums = malloc(gr_pass_nsums(GR_PASS_EXACT, shape.nfeatures) * sizeof(double));
	double	   *zeros = calloc((size_t) gr_nterms(shape.nfeatures), sizeof(double));
	GrPass		pass = {
		.kind = GR_PASS_EXACT,.shape = shape,.distribution = {.link = GR_IDENTITY},.beta = zeros,.shift = zeros,
		.linear = true
	};
	GrError		err = {0};

	gr_pass_clear(GR_PASS_EXACT, shape.nfeatures, sums);
	if (!sum_pass(&gr_sink_many, sink, &pass, sums, NULL, &err))
		sums[0] = NAN;
	free(zeros);
	return sums;
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

static bool
same_counts(const GrDeriveCounts *a, const GrDeriveCounts *b)
{
	return a->nrows == b->nrows && a->nfiltered == b->nfiltered && a->nskipped == b->nskipped &&
		a->nweightless == b->nweightless && a->totals.nshares == b->totals.nshares &&
		fabs(a->totals.weights - b->totals.weights) <= 1e-14 * fabs(b->totals.weights) &&
		fabs(a->totals.log_constant - b->totals.log_constant) <= 1e-13 * fabs(b->totals.log_constant) &&
		fabs(a->totals.losses - b->totals.losses) <= 1e-13 * fabs(b->totals.losses);
}

static void
test_sample(const Sample *sample, int nparts, int nrows)
{
	GrDerivation *d = sample_derivation(sample);
	GrRowShape	shape = gr_derived_shape(d);
	GrRowRules	rules = {GR_GAUSSIAN, GR_PRIOR_WEIGHTS, 0};
	double	   *rows = sample_rows(sample, nrows);
	GrSinkOptions options = {0};
	GrDeriveCounts counts[3];
	double	   *sums[2];
	GrError		err = {0};
	GrSink	   *kept[2] = {NULL, NULL};
	GrSink	   *derived[2] = {NULL, NULL};
	bool		ok = true;

	for (int i = 0; i < 2; i++)
	{
		kept[i] = keep(gr_backend_cpu.sink, i == 0 ? nparts : 1, rows, nrows, d->ncolumns, &err);
		ok = ok && gr_sink_many.derive(kept[i], &(GrDeriveTask) {d, rules, &options, &derived[i], &counts[i]}, NULL,
									   &err);
	}
	ok = ok && gr_sink_many.derive(kept[0], &(GrDeriveTask) {d, rules, &options, NULL, &counts[2]}, NULL, &err);
	if (check(ok && same_counts(&counts[0], &counts[1]) && memcmp(&counts[0], &counts[2], sizeof(counts[0])) == 0,
			  "%s, %d parts, %d rows: counts, with a sink and without: %s", sample->name, nparts, nrows, err.detail))
	{
		double		error;

		for (int i = 0; i < 2; i++)
			sums[i] = sums_of(derived[i], shape);
		error = triangle_error(sums[0] + GR_SUM_HEAD, sums[1] + GR_SUM_HEAD, gr_nterms(shape.nfeatures) + 2);
		check(error < 1e-30 && sums[0][GR_SUM_NROWS] == (double) counts[1].nrows,
			  "... and a pass over them: error %.2g", error);
		check(nrows == 0 || (!gr_sink_many.read(derived[0], 0, 1, rows, &err) && err.status == GR_INVALID),
			  "... which can't be read");
		for (int i = 0; i < 2; i++)
			free(sums[i]);
	}
	for (int i = 0; i < 2; i++)
	{
		gr_sink_many.end(kept[i]);
		gr_sink_many.end(derived[i]);
	}
	free(rows);
	free_blocks();
}

/* Checks that rows are read in the order in which they were sent, whichever sink has them. */
static void
test_read(int nparts, int nrows)
{
	enum {NCOLUMNS = 3};
	double	   *rows = malloc((size_t) (nrows + 1) * NCOLUMNS * sizeof(double));
	double	   *got = malloc((size_t) (nrows + 1) * NCOLUMNS * sizeof(double));
	GrError		err = {0};
	GrSink	   *kept;
	int			nwrong = 0;

	for (int k = 0; k < nrows * NCOLUMNS; k++)
		rows[k] = k;
	kept = keep(gr_backend_cpu.sink, nparts, rows, nrows, NCOLUMNS, &err);
	for (int turn = 0; turn < 300; turn++)
	{
		int64_t		first = random() % (nrows + 1);
		int64_t		n = turn == 0 ? nrows - (first = 0) : random() % (nrows - first + 1);

		nwrong += !gr_sink_many.read(kept, first, n, got, &err) ||
			memcmp(got, rows + first * NCOLUMNS, (size_t) n * NCOLUMNS * sizeof(double)) != 0;
	}
	check(nwrong == 0 && err.status == GR_OK, "%d parts, %d rows: reading any of them", nparts, nrows);
	for (int turn = 0; turn < 4; turn++)
	{
		const int64_t beyond[][2] = {{nrows, 1}, {-1, 1}, {0, (int64_t) nrows + 1}, {0, -1}};
		GrError		own = {0};

		nwrong += gr_sink_many.read(kept, beyond[turn][0], beyond[turn][1], got, &own) || own.status != GR_INVALID;
	}
	check(nwrong == 0, "... and none that there isn't");
	gr_sink_many.end(kept);
	free(rows);
	free(got);
}

/* Checks that of two parts with a bad row, the first part's row is the one reported. */
static void
test_bad_rows(void)
{
	int			columns[] = {0, 1};
	GrDeriveOptions options = {
		.ncolumns = 3,.response = 2,.weight = -1,.offset = -1,.key = -1,.columns = columns,.nfeatures = 2
	};
	GrRowRules	rules = {GR_GAUSSIAN, GR_PRIOR_WEIGHTS, 0};
	GrSinkOptions sink = {0};
	GrDeriveCounts counts;
	GrError		none = {0};
	double	   *rows = calloc(3 * 40 * PIECE, sizeof(double));
	GrDerivation *d = gr_derivation_make(&options, memory, &none);
	GrSink	   *kept;
	int			nwrong = 0;

	rows[3 * (PIECE + 5) + 1] = INFINITY;	/* a row of the second call */
	rows[3 * (40 * PIECE - 1)] = INFINITY;
	kept = keep(gr_backend_cpu.sink, 2, rows, 40 * PIECE, 3, &none);
	for (int turn = 0; turn < 50; turn++)
	{
		GrError		err = {0};
		GrSink	   *derived = NULL;

		const GrDeriveTask task = {d, rules, &sink, turn % 2 == 0 ? &derived : NULL, &counts};

		/* the last call is the first part's, as the number of calls is odd */
		nwrong += gr_sink_many.derive(kept, &task, NULL, &err) ||
			err.status != GR_NOT_FINITE || err.where != 0;
		gr_sink_many.end(derived);
	}
	check(nwrong == 0, "the same bad row is told each time");
	gr_sink_many.end(kept);
	kept = keep(gr_backend_cpu.sink, 3, rows, 0, 3, &none);
	check(gr_sink_many.derive(kept, &(GrDeriveTask) {d, rules, &sink, NULL, &counts}, NULL, &none) &&
		  counts.nrows == 0, "no rows");
	gr_sink_many.end(kept);
	free(rows);
	free_blocks();
}

/*
 * Sinks that compute nothing
 */

static GrDerivation *
any_derivation(void)
{
	return sample_derivation(&samples[0]);
}

typedef struct Stopping
{
	int			n;
	int			stop_at;		/* number of the call that stops; 0: never */
	GrSink	   *kept;			/* the host ends kept and *derived and jumps out; NULL: it doesn't */
	GrSink	  **derived;
	bool		derived_first;
	jmp_buf		jump;
} Stopping;

static bool
stopping(void *arg)
{
	Stopping   *s = arg;

	s->n++;
	if (s->kept != NULL && s->n >= 3)
	{
		gr_sink_many.end(s->derived_first ? *s->derived : s->kept);
		gr_sink_many.end(s->derived_first ? s->kept : *s->derived);
		longjmp(s->jump, 1);
	}
	return s->stop_at > 0 && s->n >= s->stop_at;
}

/* Checks that all derivations stop, and nothing is left, when one call fails after another, or the host stops. */
static void
test_failures(int nparts)
{
	GrRowRules	rules = {GR_GAUSSIAN, GR_PRIOR_WEIGHTS, 0};
	GrSinkOptions options = {0};
	GrDerivation *d = any_derivation();
	int			nwrong = 0;
	int			nleft = 0;

	for (int at = 0; at <= nparts; at++)
	{
		Stopping	s = {.stop_at = at > 0 ? 0 : nparts > 1 ? 2 : 1};
		GrHost		host = {.canceled = stopping,.arg = &s};
		GrError		err = {0};
		GrDeriveCounts counts;
		GrSink	   *derived = NULL;
		GrSink	   *kept;

		stub_reset();
		kept = keep(&stub_sink, nparts, NULL, 0, d->ncolumns, &err);
		stub.endless = at == 0;
		stub.fail_at = at == 0 ? 0 : stub.ncalls + at;
		nwrong += gr_sink_many.derive(kept, &(GrDeriveTask) {d, rules, &options, &derived, &counts}, &host, &err) ||
			err.status != (at == 0 ? GR_CANCELED : GR_DEVICE_FAILED);
		gr_sink_many.end(derived);
		stub.endless = false;
		nwrong += !gr_sink_many.derive(kept, &(GrDeriveTask) {d, rules, &options, NULL, &counts}, NULL, &err) ||
			counts.nrows != nparts;
		gr_sink_many.end(kept);
		nleft += stub.nopen;
	}
	check(nwrong == 0 && nleft == 0, "%d parts: a cancel, and failures of each part", nparts);
	free_blocks();
}

/* Checks the end of a process within a derivation: both sinks are ended, either of them first. */
static void
test_termination(int nparts, bool derived_first)
{
	static GrRowRules rules = {GR_GAUSSIAN, GR_PRIOR_WEIGHTS, 0};
	static GrSink *derived;
	static GrDeriveCounts counts;
	static Stopping s;
	GrHost		host = {.canceled = stopping,.arg = &s};
	GrSinkOptions options = {0};
	GrDerivation *d = any_derivation();
	GrError		err = {0};
	GrSink	   *kept;

	stub_reset();
	derived = NULL;
	memset(&s, 0, sizeof(s));
	kept = keep(&stub_sink, nparts, NULL, 0, d->ncolumns, &err);
	stub.endless = true;
	stub.together = nparts;
	s.kept = kept;
	s.derived = &derived;
	s.derived_first = derived_first;
	if (setjmp(s.jump) == 0)
	{
		(void) gr_sink_many.derive(kept, &(GrDeriveTask) {d, rules, &options, &derived, &counts}, &host, &err);
		check(false, "%d parts: an end within a derivation", nparts);
	}
	else
		check(stub.nopen == 0 && stub.npassing == 0, "%d parts: an end within a derivation, %s first", nparts,
			  derived_first ? "what is derived" : "what it is derived from");
	free_blocks();
}

int
main(void)
{
	srandom(20261123);
	for (int n = 1; n <= PARTS; n++)
	{
		for (int k = 0; k < COUNT(samples); k++)
			test_sample(&samples[k], n, k % 3 == 0 ? 100 : 1500);
		test_sample(&samples[0], n, 0);
		test_read(n, 2000);
		test_read(n, PIECE - 1);
		test_failures(n);
	}
	test_bad_rows();
	for (int n = 2; n <= PARTS; n++)
	{
		test_termination(n, true);
		test_termination(n, false);
	}
	return unit_done();
}
