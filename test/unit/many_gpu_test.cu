/*
 * many_gpu_test.cu: tests several devices that act as one, all there are and some sinks on one device, against one
 * sink.
 *
 * many_gpu_test [--quick] [--bench] [--rows=N] [--seed=N]: see gpu_harness.h. --bench times passes over N rows (default
 * 40,000,000) of 32 features that stay on one device, and on all.
 */
#include "compute/backend/backend_many.h"
#include "compute/backend/sink_many.h"
#include "compute/glm/glm.h"
#include "compute/linalg/basis.h"
#include "compute/project/draw.h"
#include "derive_rows.h"
#include "gpu_harness.h"
#include "sums.h"

#include <math.h>

#define PAGE ((size_t) 4096)
#define BLOCK_ROWS 4096

/* A sink and the table that made it */
typedef struct Sink
{
	const GrSinkOps *ops;
	GrSink	   *sink;
} Sink;

typedef struct Data
{
	int64_t		nrows;
	GrRowShape	shape;
	double	   *rows;			/* whole pages, pinned while there is a session */
	size_t		nbytes;
	double	   *beta;			/* beta, then the shift, then the coefficients of a change */
	double		face_absolute;
} Data;

static Data
random_data(int64_t nrows, int p, bool weight)
{
	const size_t t = (size_t) p + 1;
	Data		data = {};
	int			ncols;

	data.nrows = nrows;
	data.shape.nfeatures = p;
	data.shape.weight = weight;
	data.face_absolute = 0.5;
	ncols = gr_row_ncols(data.shape);
	data.nbytes = (sizeof(double) * (size_t) (nrows * ncols) + PAGE - 1) / PAGE * PAGE;
	data.rows = (double *) aligned_alloc(PAGE, data.nbytes);
	data.beta = (double *) calloc(3 * t, sizeof(double));
	for (size_t j = 0; j < t; j++)
	{
		data.beta[j] = random_double() / sqrt((double) t);
		data.beta[2 * t + j] = j == t - 1 ? 4 : random_double();
	}
	for (int64_t r = 0; r < nrows; r++)
	{
		double	   *row = data.rows + r * ncols;

		for (int j = 0; j < p; j++)
			row[j] = random_double() + 0.25 * (j % 3);
		row[p] = random_double() > 0.3;
		if (weight)
			row[p + 1] = (double) (random_word() % 4 + 1) / 2;
	}
	return data;
}

static void
data_free(Data *data)
{
	free(data->rows);
	free(data->beta);
}

static bool
begin(Sink *s, const GrSinkOps *ops, GrSession *session, GrSinkKind kind, const Data *data, GrError *err)
{
	GrSinkOptions options = {};

	options.shape = data->shape;
	options.kind = kind;
	options.block_nbytes = (size_t) 1 << 20;
	s->ops = ops;
	return ops->begin(session, &options, &s->sink, err);
}

/* Sends rows in calls of BLOCK_ROWS, all of which must be counted in the end. */
static bool
send_all(const Sink *s, const Data *data, GrError *err)
{
	int64_t		ncalls = 0;
	int64_t		nread = 0;

	for (int64_t done = 0; done < data->nrows; done += BLOCK_ROWS, ncalls++)
		if (!s->ops->send(s->sink, data->rows + done * gr_row_ncols(data->shape),
						  data->nrows - done < BLOCK_ROWS ? data->nrows - done : BLOCK_ROWS, err) ||
			!s->ops->sent(s->sink, false, &nread, err))
			return false;
	while (nread < ncalls)
		if (!s->ops->sent(s->sink, true, &nread, err))
			return false;
	return true;
}

/* Returns the largest difference in double-double, relative to the diagonal of the second. */
static double
triangle_error(const double *got, const double *want, int64_t order)
{
	int64_t		n = gr_triangle(order);
	double		worst = 0;

	for (int64_t i = 0; i < order; i++)
		for (int64_t j = 0; j <= i; j++)
		{
			int64_t		k = gr_triangle(i) + j;
			double		d = (got[k] - want[k]) + (got[n + k] - want[n + k]);

			worst = fmax(worst, scaled_error(d, 0, sqrt(want[gr_triangle(i) + i]) * sqrt(want[gr_triangle(j) + j])));
		}
	return worst;
}

static void
test_sum(const char *name, const GrSinkOps *ops, GrSession *session, GrSession *one_session, const Data *data)
{
	const int64_t order = gr_norder(data->shape.nfeatures);
	const int64_t n = gr_triangle(order);
	double	   *sums = (double *) malloc(4 * sizeof(double) * (size_t) n);
	Sink		many = {};
	Sink		one = {};
	GrTimes		times = {};
	GrError		err = {};
	bool		ok = begin(&many, ops, session, GR_SINK_SUM, data, &err) &&
		begin(&one, gpu->sink, one_session, GR_SINK_SUM, data, &err) && send_all(&many, data, &err) &&
		send_all(&one, data, &err) && ops->finish(many.sink, GrDDVector {sums, sums + n}, &err) &&
		gpu->sink->finish(one.sink, GrDDVector {sums + 2 * n, sums + 3 * n}, &err);
	double		error = ok ? triangle_error(sums, sums + 2 * n, order) : INFINITY;

	if (ok)
		ops->times(many.sink, &times);
	check(error < 1e-29, "%s, SUM, %d features%s, %lld rows: one device's sums, error %.2g %s", name,
		  data->shape.nfeatures, data->shape.weight ? ", weights" : "", (long long) data->nrows, error, err.detail);
	check(times.bytes_to_device == data->nrows * (int64_t) gr_row_nbytes(data->shape), "... and its bytes");
	ops->end(many.sink);
	gpu->sink->end(one.sink);
	free(sums);
}

static double
pass_error(GrPassKind kind, int p, const double *got, const double *want)
{
	const int64_t t = gr_nterms(p);
	double		worst = scaled_error(got[GR_SUM_DEVIANCE_HI], want[GR_SUM_DEVIANCE_HI], 1e-14 *
									 fabs(want[GR_SUM_DEVIANCE_HI])) < 1 ? 0 : INFINITY;

	if (got[GR_SUM_NROWS] != want[GR_SUM_NROWS] || got[GR_SUM_NONES] != want[GR_SUM_NONES] ||
		got[GR_SUM_MIN_MARGIN] != want[GR_SUM_MIN_MARGIN])
		return INFINITY;
	got += GR_SUM_HEAD;
	want += GR_SUM_HEAD;
	if (kind == GR_PASS_EXACT || kind == GR_PASS_FACE)
		return fmax(worst, triangle_error(got, want, t + 2));
	for (size_t k = 0; k < gr_pass_nsums(kind, p) - GR_SUM_HEAD; k++)
		worst = fmax(worst, scaled_error(got[k], want[k], fmax(1.0, fabs(want[k]))));
	return worst;
}

static void
test_keep(const char *name, const GrSinkOps *ops, GrSession *session, GrSession *one_session, const Data *data)
{
	static const char *const kinds[] = {"EXACT", "FAST", "GRADIENT", "FACE"};
	const int	p = data->shape.nfeatures;
	const size_t t = (size_t) p + 1;
	int			changed[1] = {p - 1};
	GrBasis		basis = {p, 1, changed, data->beta + 2 * t};
	Sink		many = {};
	Sink		one = {};
	GrError		err = {};
	bool		ok = begin(&many, ops, session, GR_SINK_KEEP, data, &err) &&
		begin(&one, gpu->sink, one_session, GR_SINK_KEEP, data, &err) && send_all(&many, data, &err) &&
		send_all(&one, data, &err);

	for (int turn = 0; turn < 2; turn++)
	{
		for (int k = 0; k < 4; k++)
		{
			GrPassKind	kind = (GrPassKind) k;
			GrPass		pass = {kind, data->shape, GR_LOGISTIC, data->beta, data->beta + t, kind == GR_PASS_FACE,
				data->beta, &data->face_absolute, 0x1p-46, false, GR_MEASURE_STEP, 0.0, false, NULL};
			size_t		n = gr_pass_nsums(kind, p);
			double	   *sums[3];
			double		error;

			for (int i = 0; i < 3; i++)
			{
				sums[i] = (double *) malloc(sizeof(double) * n);
				gr_pass_clear(kind, p, sums[i]);
				ok = ok && (i < 2 ? sum_pass(ops, many.sink, &pass, sums[i], NULL, &err) :
							sum_pass(gpu->sink, one.sink, &pass, sums[i], NULL, &err));
			}
			error = ok ? pass_error(kind, p, sums[0], sums[2]) : INFINITY;
			check(error < (kind == GR_PASS_EXACT || kind == GR_PASS_FACE ? 1e-29 : 1e-12) &&
				  memcmp(sums[0], sums[1], sizeof(double) * n) == 0,
				  "%s, %s, %d features%s, %lld rows%s: one device's sums and the same bits again, error %.2g %s", name,
				  kinds[kind], p, data->shape.weight ? ", weights" : "", (long long) data->nrows,
				  turn == 1 ? ", changed" : "", error, err.detail);
			for (int i = 0; i < 3; i++)
				free(sums[i]);
		}
		ok = ok && ops->change(many.sink, &basis, NULL, &err) && gpu->sink->change(one.sink, &basis, NULL, &err);
	}
	ops->end(many.sink);
	gpu->sink->end(one.sink);
}

/* Returns the exact sums of a linear pass at 0 over derived rows; the caller frees them. */
static double *
linear_sums(const Sink *s, GrRowShape shape, GrError *err)
{
	const size_t t = (size_t) shape.nfeatures + 1;
	double	   *zeros = (double *) calloc(2 * t, sizeof(double));
	double	   *sums = (double *) malloc(sizeof(double) * gr_pass_nsums(GR_PASS_EXACT, shape.nfeatures));
	GrPass		pass = {GR_PASS_EXACT, shape, {GR_GAUSSIAN, GR_IDENTITY, 0, 0}, zeros, zeros + t, 0, NULL, NULL, 0,
		false, GR_MEASURE_STEP, 0.0, true, NULL};

	gr_pass_clear(GR_PASS_EXACT, shape.nfeatures, sums);
	if (!sum_pass(s->ops, s->sink, &pass, sums, NULL, err))
		sums[GR_SUM_NROWS] = NAN;
	free(zeros);
	return sums;
}

/* Derives rows on each device by a filter and some of the columns, and reads all rows back. */
static void
test_derive(const char *name, const GrSinkOps *ops, GrSession *session, GrSession *one_session, const Data *data)
{
	const int	ncolumns = gr_row_ncols(data->shape);
	const GrFilterStep filter = {GR_FILTER_GT, 0, 0.1};
	int			columns[2] = {2, 0};
	GrDeriveOptions options = {};
	GrRowRules	rules = {GR_GAUSSIAN, GR_PRIOR_WEIGHTS, 0};
	GrSinkOptions of_derived = {};
	GrDeriveCounts counts[2];
	Data		plain = *data;
	Sink		kept[2] = {};
	Sink		derived[2] = {};
	double	   *sums[2] = {};
	const size_t nbytes = sizeof(double) * (size_t) (data->nrows * ncolumns);
	double	   *rows = (double *) malloc(nbytes);
	GrDerivation *d;
	GrError		err = {};
	bool		ok = true;

	plain.shape = gr_plain_shape(ncolumns - 1);
	options.ncolumns = ncolumns;
	options.response = data->shape.nfeatures;
	options.weight = options.offset = options.key = -1;
	options.columns = columns;
	options.nfeatures = 2;
	options.steps = &filter;
	options.nsteps = 1;
	d = gr_derivation_make(&options, memory, &err);
	for (int i = 0; i < 2; i++)
	{
		ok = ok && begin(&kept[i], i == 0 ? ops : gpu->sink, i == 0 ? session : one_session, GR_SINK_KEEP, &plain,
						 &err) && send_all(&kept[i], &plain, &err);
		derived[i].ops = kept[i].ops;
		const GrDeriveTask task = {d, rules, &of_derived, &derived[i].sink, &counts[i]};

		ok = ok && kept[i].ops->derive(kept[i].sink, &task, NULL, &err);
		sums[i] = ok ? linear_sums(&derived[i], gr_derived_shape(d), &err) : NULL;
	}
	check(ok && counts[0].nrows == counts[1].nrows && counts[0].nfiltered == counts[1].nfiltered &&
		  counts[0].nrows > 0 && counts[0].nfiltered > 0 && sums[0][GR_SUM_NROWS] == (double) counts[1].nrows &&
		  triangle_error(sums[0] + GR_SUM_HEAD, sums[1] + GR_SUM_HEAD, 5) < 1e-29,
		  "%s, derived rows of %lld of %d columns: one device's counts and sums %s", name, (long long) data->nrows,
		  ncolumns, err.detail);
	ok = ok && ops->read(kept[0].sink, 0, data->nrows, rows, &err) && memcmp(rows, data->rows, nbytes) == 0;
	ok = ok && ops->read(kept[0].sink, BLOCK_ROWS - 5, BLOCK_ROWS + 9, rows, &err) &&
		memcmp(rows, data->rows + (BLOCK_ROWS - 5) * ncolumns, sizeof(double) * ncolumns * (BLOCK_ROWS + 9)) == 0;
	check(ok, "... and rows read back %s", err.detail);
	for (int i = 0; i < 2; i++)
	{
		kept[i].ops->end(kept[i].sink);
		derived[i].ops->end(derived[i].sink);
		free(sums[i]);
	}
	free(rows);
	free_blocks();
}

/* Checks that after the host stops a pass the next one is complete, and that rows without room fail. */
static void
test_stops(const char *name, const GrSinkOps *ops, GrSession *session, const Data *data)
{
	const int	p = data->shape.nfeatures;
	GrPass		pass = {GR_PASS_FAST, data->shape, GR_LOGISTIC, data->beta, data->beta + p + 1, 0, NULL, NULL, 0,
		false, GR_MEASURE_STEP, 0.0, false, NULL};
	double	   *sums = (double *) malloc(sizeof(double) * gr_pass_nsums(pass.kind, p));
	Stopper		stopper = {0, 1};
	GrHost		host = {stop, &stopper, NULL};
	GrSinkOptions options = {};
	Sink		many = {};
	GrError		err = {};
	GrError		canceled = {};
	bool		ok = begin(&many, ops, session, GR_SINK_KEEP, data, &err) && send_all(&many, data, &err);

	gr_pass_clear(pass.kind, p, sums);
	check(ok && !sum_pass(ops, many.sink, &pass, sums, &host, &canceled) && canceled.status == GR_CANCELED,
		  "%s: a cancel", name);
	gr_pass_clear(pass.kind, p, sums);
	check(ok && sum_pass(ops, many.sink, &pass, sums, NULL, &err) && sums[GR_SUM_NROWS] == (double) data->nrows,
		  "... and the pass after it");
	ops->end(many.sink);
	free(sums);

	many.sink = NULL;
	options.shape = data->shape;
	options.kind = GR_SINK_KEEP;
	options.memory_limit = 4096;
	check(!ops->begin(session, &options, &many.sink, &err) && err.status == GR_DEVICE_MEMORY,
		  "... and too little memory");
	ops->end(many.sink);
}

static void
test_session(const char *name, const GrSinkOps *ops, GrSession *session, GrSession *one, bool quick)
{
	const int	widths[] = {3, 8, 40, 200};

	for (int k = 0; k < (quick ? 2 : COUNT(widths)); k++)
		for (int weight = 0; weight < 2; weight++)
		{
			Data		data = random_data(quick ? 3 * BLOCK_ROWS + 17 : 20 * BLOCK_ROWS + 17, widths[k], weight == 1);
			GrError		err = {};

			check(gpu->device->pin(one, data.rows, data.nbytes, &err), "%s: pinned memory", name);
			test_sum(name, ops, session, one, &data);
			test_keep(name, ops, session, one, &data);
			test_derive(name, ops, session, one, &data);
			if (k == 0)
				test_stops(name, ops, session, &data);
			gpu->device->unpin(one, data.rows);
			data_free(&data);
		}
}

/* Checks what only the first device does. */
static void
test_projector(GrSession *all, GrSession *one)
{
	GrDraw		draw = {};
	GrProjectOptions options = {};
	float		projected[2][16];
	GrError		err = {};
	bool		ok;

	ok = gr_draw_init(&draw, 16, 7, 1.0, &err);
	options.draw = &draw;
	options.dim = 100;
	options.block_nbytes = 4096;
	for (int k = 0; k < 2; k++)
	{
		const GrBackend *backend = k == 0 ? &gr_backend_many : gpu;
		GrProject  *project = NULL;
		float	   *vectors;
		const float *result;
		int64_t		n;

		ok = ok && backend->projector->begin(k == 0 ? all : one, &options, NULL, &project, &err) &&
			backend->projector->block(project, &vectors, &n, &err);
		for (int j = 0; ok && j < 100; j++)
			vectors[j] = (float) j;
		ok = ok && backend->projector->submit(project, 1, NULL, &err) &&
			backend->projector->take(project, &result, &n, &err);
		if (ok)
			memcpy(projected[k], result, sizeof(projected[k]));
		backend->projector->end(project);
	}
	check(ok && memcmp(projected[0], projected[1], sizeof(projected[0])) == 0, "random projection: the first device's");
}

static void
tests(const GpuRun *run)
{
	GrOpenOptions options = {GR_ALL_DEVICES, false};
	GrSession  *all = NULL;
	GrError		err = {};
	int			ndevices = 0;
	GrParts		parts = {};
	bool		ok = gpu->device->count(&ndevices, &err) && gr_backend_many.device->open(&all, &options, &err);

	if (check(ok, "all devices are opened: %s", err.detail))
	{
		const GrDeviceInfo *info = gr_backend_many.device->describe(all);

		check(info->id == 0 && info->nbeside == ndevices - 1, "%d devices: %s", ndevices, info->name);
		test_session("all devices", gr_backend_many.sink, all, run->session, run->quick);
		test_projector(all, run->session);
	}
	gr_backend_many.device->close(all);
	parts.ops = gpu->sink;
	for (parts.n = 1; parts.n <= (run->quick ? 2 : 4); parts.n++)
	{
		char		name[32];

		parts.sessions[parts.n - 1] = run->session;
		snprintf(name, sizeof(name), "%d sinks on a device", parts.n);
		test_session(name, &gr_sink_many, (GrSession *) &parts, run->session, run->quick);
	}
}

/*
 * Timings
 */

/* Sends a block of rows as often as nrows takes. Returns seconds, or NaN. */
static double
send_repeated(const Sink *s, const Data *block, int64_t nrows, GrError *err)
{
	double		started = now_ms();
	int64_t		ncalls = 0;
	int64_t		nread = 0;

	for (int64_t done = 0; done < nrows; done += block->nrows, ncalls++)
		if (!s->ops->send(s->sink, block->rows, block->nrows, err) || !s->ops->sent(s->sink, false, &nread, err))
			return NAN;
	while (nread < ncalls)
		if (!s->ops->sent(s->sink, true, &nread, err))
			return NAN;
	return (now_ms() - started) * 1e-3;
}

/* Returns the median time of a pass in ms. */
static double
pass_ms(const Sink *s, const GrPass *pass, GrError *err)
{
	const int	p = pass->shape.nfeatures;
	double	   *sums = (double *) malloc(sizeof(double) * gr_pass_nsums(pass->kind, p));
	double		times_ms[MAX_REPEATS];
	bool		ok = true;

	for (int i = -1; ok && i < 9; i++)
	{
		double		started = now_ms();

		gr_pass_clear(pass->kind, p, sums);
		ok = sum_pass(s->ops, s->sink, pass, sums, NULL, err);
		if (i >= 0)
			times_ms[i] = now_ms() - started;
	}
	free(sums);
	return ok ? median(times_ms, 9) : NAN;
}

/* Times rows that stay on one device, or on all. of: the times on one device, read or written. */
static bool
bench_kept(const GrBackend *backend, GrSession *session, int ndevices, const Data *block, int64_t nrows, double *of)
{
	static const GrPassKind kinds[] = {GR_PASS_FAST, GR_PASS_EXACT};
	static const char *const names[] = {"FAST", "EXACT"};
	const int	p = block->shape.nfeatures;
	Sink		sink = {};
	GrError		err = {};
	double		send_s = NAN;

	if (begin(&sink, backend->sink, session, GR_SINK_KEEP, block, &err))
		send_s = send_repeated(&sink, block, nrows, &err);
	for (int k = 0; k < 2 && err.status == GR_OK; k++)
	{
		GrPass		pass = {kinds[k], block->shape, GR_LOGISTIC, block->beta, block->beta + p + 1, 0, NULL, NULL, 0,
			false, GR_MEASURE_STEP, 0.0, false, NULL};
		double		ms = pass_ms(&sink, &pass, &err);

		if (ndevices == 1)
			of[k] = ms;
		printf("{\"section\": \"devices\", \"bench\": \"a pass over kept rows, %s, %d GPU%s\", \"rows\": %lld, "
			   "\"features\": %d, \"seconds\": %.6f", names[k], ndevices, ndevices == 1 ? "" : "s",
			   (long long) nrows, p, ms * 1e-3);
		if (ndevices > 1)
			printf(", \"yardstick\": \"a pass over kept rows, %s, 1 GPU\", \"yardstick_seconds\": %.6f, "
				   "\"ratio\": %.3f, \"ratio_at_most\": %.2f", names[k], of[k] * 1e-3, ms / of[k], 1.1 / ndevices);
		printf(", \"sent_seconds\": %.3f}\n", send_s);
	}
	fflush(stdout);
	backend->sink->end(sink.sink);
	if (err.status != GR_OK)
		fprintf(stderr, "%d devices: %s\n", ndevices, err.detail);
	return err.status == GR_OK;
}

static bool
bench(const GpuRun *run)
{
	const char *given = option_value(run->argc, run->argv, "--rows=");
	int64_t		nrows = given != NULL ? strtoll(given, NULL, 10) : 40000000;
	GrOpenOptions options = {GR_ALL_DEVICES, false};
	GrSession  *all = NULL;
	Data		block = random_data(BLOCK_ROWS, 32, false);
	GrError		err = {};
	double		of[2] = {};
	bool		ok = gr_backend_many.device->open(&all, &options, &err) &&
		gr_backend_many.device->pin(all, block.rows, block.nbytes, &err);

	if (ok)
	{
		int			n = gr_backend_many.device->describe(all)->nbeside + 1;

		ok = bench_kept(gpu, run->session, 1, &block, nrows, of);
		if (ok && n > 1)
			ok = bench_kept(&gr_backend_many, all, n, &block, nrows, of);
		gr_backend_many.device->unpin(all, block.rows);
	}
	else
		fprintf(stderr, "all devices: %s\n", err.detail);
	gr_backend_many.device->close(all);
	data_free(&block);
	return ok;
}

int
main(int argc, char **argv)
{
	return backend_main(argc, argv, tests, bench);
}
