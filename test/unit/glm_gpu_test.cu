/*
 * glm_gpu_test.cu: tests the CUDA backend's passes of logistic regression against the CPU's.
 *
 * glm_gpu_test [--quick] [--bench[=fast]] [--seed=N]: see gpu_harness.h. --bench=fast times only passes of that kind
 * with few features.
 */
#include "../../kernels/cuda_util.cuh"
#include "compute/glm/glm.h"
#include "compute/glm/glm_row.h"
#include "gpu_harness.h"
#include "send_rows.h"
#include "sums.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NFACES 2
#define EXACT_TOLERANCE 3e-15
#define FAST_TOLERANCE 1e-13

/* Rows, and the arrays that a pass over them needs */
typedef struct Data
{
	int64_t		nrows;
	int			nfeatures;
	double	   *rows;
	double	   *beta;
	double	   *shift;
	double	   *faces;			/* NFACES faces */
	double		face_absolute[NFACES];
} Data;

/* Makes features of different scales and means; every third is often a small integer, so that rows lie on faces. */
static Data
random_data(int64_t nrows, int nfeatures)
{
	const int	t = nfeatures + 1;
	Data		data = {};

	data.nrows = nrows;
	data.nfeatures = nfeatures;
	data.rows = (double *) malloc(sizeof(double) * (size_t) (nrows * t + 1));
	data.beta = (double *) malloc(sizeof(double) * t);
	data.shift = (double *) malloc(sizeof(double) * t);
	data.faces = (double *) calloc(NFACES * gr_face_size(nfeatures), sizeof(double));
	for (int j = 0; j < t; j++)
	{
		data.shift[j] = j % 4 == 1 ? 0.0 : 3.0 * random_double();
		data.beta[j] = 3.0 * random_double() / sqrt((double) t) * (j % 5 == 4 ? 1e-3 : 1.0);
	}
	for (int64_t r = 0; r < nrows; r++)
	{
		double		eta = data.beta[0];

		for (int j = 0; j < nfeatures; j++)
		{
			bool		whole = j % 3 == 0 && random_double() < 0.3;
			double		x = whole ? floor(3.0 * random_double()) : random_double();

			if (j % 5 == 3)
				x = 1e3 * x + 5.0;
			data.rows[r * t + j] = x;
			eta += (x - data.shift[j]) * data.beta[j + 1];
		}
		data.rows[r * t + nfeatures] = 0.5 * random_double() + 0.5 < 1.0 / (1.0 + exp(-0.7 * eta)) ? 1.0 : 0.0;
	}
	/* x_1 = 1; where there is another integer, the next face is x_1 - x_4 = 0 */
	data.faces[0] = gr_two_sum(-1.0, data.shift[0]).hi;
	data.faces[t] = gr_two_sum(-1.0, data.shift[0]).lo;
	data.faces[1] = 1.0;
	data.faces[2 * t + 1] = nfeatures > 3 ? 5.0 / 3.0 : -5.0 / 3.0;
	data.faces[2 * t + (nfeatures > 3 ? 4 : 0)] = nfeatures > 3 ? -1e-3 * 5.0 / 3.0 : 5.0 / 3.0;
	for (int j = 0; j < nfeatures; j++)
		data.faces[2 * t] += data.faces[2 * t + j + 1] * data.shift[j];
	data.face_absolute[0] = 1e-300;
	data.face_absolute[1] = nfeatures > 3 ? 0.25 : 0.0;
	return data;
}

static void
data_free(Data *data)
{
	free(data->rows);
	free(data->beta);
	free(data->shift);
	free(data->faces);
}

static GrPass
make_pass(const Data *data, GrPassKind kind, int nfaces)
{
	GrPass		pass = {kind, gr_plain_shape(data->nfeatures), GR_LOGISTIC, data->beta, data->shift, nfaces,
		data->faces, data->face_absolute, 0x1p-46, false, GR_MEASURE_STEP, 0.0, false, NULL};

	return pass;
}

/* Sends rows first .. end - 1 in calls of piece rows. ragged: in calls of changing sizes, some empty. */
static bool
submit_rows(GrSession *session, GrSink *rows, const Data *data, int64_t first, int64_t end, int64_t piece, bool ragged,
			GrError *err)
{
	return send_rows(gpu, session, data->rows + first * (data->nfeatures + 1), end - first, data->nfeatures, false,
					 piece, ragged, ragged,
					 [=](const void *block, int64_t n) { return gpu->sink->send(rows, block, n, err); },
					 [=](bool wait, int64_t *ncalls) { return gpu->sink->sent(rows, wait, ncalls, err); }, err);
}

static double *
run_pass(GrSink *rows, const GrPass *pass, const GrHost *host, GrError *err)
{
	double	   *sums = (double *) malloc(sizeof(double) * gr_pass_nsums(pass->kind, pass->shape.nfeatures));

	gr_pass_clear(pass->kind, pass->shape.nfeatures, sums);
	if (!sum_pass(gpu->sink, rows, pass, sums, host, err))
	{
		free(sums);
		return NULL;
	}
	return sums;
}

static double *
reference_pass(const Data *data, const GrPass *pass, int64_t nrows)
{
	double	   *sums = (double *) malloc(sizeof(double) * gr_pass_nsums(pass->kind, pass->shape.nfeatures));
	double	   *scratch = (double *) malloc(gr_pass_scratch_nbytes(pass->kind, pass->shape));

	gr_pass_clear(pass->kind, pass->shape.nfeatures, sums);
	gr_pass_add(pass, sums, data->rows, nrows, scratch);
	free(scratch);
	return sums;
}

/* Returns the gradient's largest error, relative to the sum of the magnitudes of its terms. */
static double
gradient_error(const Data *data, int64_t nrows, const double *got, const double *want)
{
	const int	t = data->nfeatures + 1;
	double	   *scale = (double *) calloc((size_t) t, sizeof(double));
	double		worst = 0.0;

	for (int64_t r = 0; r < nrows; r++)
	{
		const double *x = data->rows + r * t;
		double		eta = data->beta[0];
		double		residual;

		for (int j = 1; j < t; j++)
			eta += (x[j - 1] - data->shift[j - 1]) * data->beta[j];
		eta = fmax(-GR_ETA_MAX, fmin(GR_ETA_MAX, eta));
		residual = 1.0 / (1.0 + exp(x[t - 1] > 0.5 ? eta : -eta));
		scale[0] += residual;
		for (int j = 1; j < t; j++)
			scale[j] += fabs(residual * (x[j - 1] - data->shift[j - 1]));
	}
	for (int j = 0; j < t; j++)
		worst = fmax(worst, scaled_error(got[j] + got[t + j], want[j] + want[t + j], scale[j]));
	free(scale);
	return worst;
}

/* Returns the head's largest error, infinite if a count differs. */
static double
head_error(const GrPass *pass, const double *got, const double *want)
{
	const int	counts[] = {GR_SUM_NROWS, GR_SUM_NRIGHT, GR_SUM_NWRONG, GR_SUM_NONES};
	double		error;

	for (int k = 0; k < COUNT(counts); k++)
		if (got[counts[k]] != want[counts[k]])
			return INFINITY;
	error = scaled_error(got[GR_SUM_DEVIANCE_HI] + got[GR_SUM_DEVIANCE_LO], want[GR_SUM_DEVIANCE_HI] +
						 want[GR_SUM_DEVIANCE_LO],
						 fabs(want[GR_SUM_DEVIANCE_HI]));
	/* a linear pass has no margin, though sums from the rows' own Gram matrix set it to infinity */
	if (pass->linear && pass->distribution.exponent != 0)
		error = fmax(error, 0.0);
	else if (pass->kind == GR_PASS_EXACT || pass->kind == GR_PASS_FACE)
		error = fmax(error, scaled_error(got[GR_SUM_MIN_MARGIN], want[GR_SUM_MIN_MARGIN],
										 fabs(want[GR_SUM_MIN_MARGIN])));
	else					/* the float8 predictors differ by some units of their largest terms */
		error = fmax(error, 1e-2 * scaled_error(got[GR_SUM_MIN_MARGIN], want[GR_SUM_MIN_MARGIN],
												fabs(want[GR_SUM_MIN_MARGIN])));
	return fmax(error, scaled_error(got[GR_SUM_MIN_RIGHT], want[GR_SUM_MIN_RIGHT], want[GR_SUM_MIN_RIGHT]));
}

/* Returns the largest error of the sums that a pass of this kind makes over the first nrows rows. */
static double
pass_error(const Data *data, const GrPass *pass, int64_t nrows, const double *got)
{
	const int	t = pass->shape.nfeatures + 1;
	double	   *want = reference_pass(data, pass, nrows);
	const double *a = got + GR_SUM_HEAD;
	const double *b = want + GR_SUM_HEAD;
	double		error = head_error(pass, got, want);

	if (pass->kind == GR_PASS_FAST)
		error = fmax(error, fmax(gradient_error(data, nrows, a, b), matrix_error(a + 2 * t, b + 2 * t, t)));
	else if (pass->kind == GR_PASS_GRADIENT)
	{
		error = fmax(error, gradient_error(data, nrows, a, b));
		for (int j = 0; j < t; j++)
		{
			error = fmax(error, scaled_error(a[2 * t + j], b[2 * t + j], sqrt(b[3 * t]) * sqrt(b[3 * t + j])));
			error = fmax(error, scaled_error(a[3 * t + j], b[3 * t + j], b[3 * t + j]));
		}
	}
	else
		error = fmax(error, matrix_error(a, b, t + 2));
	free(want);
	return error;
}

/* Makes one pass twice over the first nrows rows: it must be right, and give the same bits again. */
static void
check_pass(GrSink *rows, const Data *data, int64_t nrows, GrPassKind kind, int nfaces)
{
	static const char *const names[] = {"exact", "fast", "gradient", "face"};
	const GrPass pass = make_pass(data, kind, nfaces);
	const size_t nbytes = sizeof(double) * gr_pass_nsums(kind, data->nfeatures);
	const double tolerance = kind == GR_PASS_EXACT || kind == GR_PASS_FACE ? EXACT_TOLERANCE : FAST_TOLERANCE;
	GrError		err = {};
	double	   *first = run_pass(rows, &pass, NULL, &err);
	double	   *second = run_pass(rows, &pass, NULL, &err);
	bool		repeatable = first != NULL && second != NULL && memcmp(first, second, nbytes) == 0;
	double		error = first != NULL ? pass_error(data, &pass, nrows, first) : INFINITY;

	if (!check(error <= tolerance && repeatable, "%s, %d features, %lld rows, %d faces", names[kind], data->nfeatures,
			   (long long) nrows, nfaces))
		printf("# error %.3g, repeatable %d, %s\n", error, repeatable, err.detail);
	free(first);
	free(second);
}

/*
 * Checks passes that sums can be taken for from the rows' own Gram matrix: at 0, of a logistic and of a linear
 * regression. With an exponent they cannot.
 */
static void
check_zero(GrSink *rows, const Data *data)
{
	const GrDistribution distributions[] = {{GR_BINOMIAL, GR_LOGIT, 0, 0}, {GR_GAUSSIAN, GR_IDENTITY, 0, 0},
	{GR_GAUSSIAN, GR_IDENTITY, 0, 300}};
	double	   *zero = (double *) calloc((size_t) data->nfeatures + 1, sizeof(double));

	for (GrDistribution distribution : distributions)
		for (int shifted = 0; shifted < 2; shifted++)
		{
			GrPass		pass = make_pass(data, GR_PASS_EXACT, 0);
			GrError		err = {};
			double	   *sums;
			double		error;

			pass.distribution = distribution;
			pass.linear = distribution.family == GR_GAUSSIAN;
			pass.beta = zero;
			pass.shift = shifted ? data->shift : zero;
			sums = run_pass(rows, &pass, NULL, &err);
			error = sums != NULL ? pass_error(data, &pass, data->nrows, sums) : INFINITY;
			if (!check(error <= EXACT_TOLERANCE, "at 0, %s, %d features, %lld rows, %s",
					   pass.linear ? "linear" : "logistic", data->nfeatures, (long long) data->nrows,
					   shifted ? "shifted" : "as they are"))
				printf("# error %.3g, %s\n", error, err.detail);
			free(sums);
		}
	free(zero);
}

/* Checks all kinds of passes, over some of the rows and then over all. */
static void
check_shape(GrSession *session, int nfeatures, int64_t nrows, bool matrices)
{
	GrSinkOptions options = {shape_of(nfeatures, false), GR_SINK_KEEP, 0, 0, 0, false, NULL, false, {}};
	const int64_t piece = (nrows > 10000 ? 1 << 20 : 4096) / (int64_t) gr_row_nbytes(gr_plain_shape(nfeatures)) + 1;
	Data		data = random_data(nrows, nfeatures);
	GrSink	   *rows = NULL;
	GrTimes		times = {};
	GrError		err = {};
	bool		ok = gpu->sink->begin(session, &options, &rows, &err) &&
		submit_rows(session, rows, &data, 0, nrows / 3, piece, true, &err);

	if (ok && nrows > 2)
		check_pass(rows, &data, nrows / 3, GR_PASS_FAST, 0);
	ok = ok && submit_rows(session, rows, &data, nrows / 3, nrows, piece, nrows % 2 == 0, &err);
	if (ok)
	{
		check_pass(rows, &data, nrows, GR_PASS_GRADIENT, 0);
		if (matrices)
		{
			check_pass(rows, &data, nrows, GR_PASS_FAST, 0);
			check_pass(rows, &data, nrows, GR_PASS_EXACT, 0);
			check_pass(rows, &data, nrows, GR_PASS_EXACT, 1);
			check_pass(rows, &data, nrows, GR_PASS_EXACT, 2);
			check_pass(rows, &data, nrows, GR_PASS_FACE, 1);
			check_pass(rows, &data, nrows, GR_PASS_FACE, 2);
			check_zero(rows, &data);
		}
		gpu->sink->times(rows, &times);
	}
	check(ok && times.bytes_to_device == (int64_t) sizeof(double) * nrows * (nfeatures + 1),
		  "%d features, %lld rows: sent",
		  nfeatures, (long long) nrows);
	if (!ok)
		printf("# %s\n", err.detail);
	gpu->sink->end(rows);
	data_free(&data);
}

static void
check_shapes(GrSession *session, bool quick)
{
	const int	features[] = {1, 3, 7, 8, 9, 15, 16, 17, 23, 24, 31, 32, 33, 64, 100, 257};
	const int64_t rows[] = {1, 31, 32, 33, 1000, 100003};
	const int	quick_features[] = {1, 8, 18, 31, 33};
	const int64_t quick_rows[] = {1, 33, 300};

	for (int f = 0; f < (quick ? COUNT(quick_features) : COUNT(features)); f++)
		for (int r = 0; r < (quick ? COUNT(quick_rows) : COUNT(rows)); r++)
		{
			int			p = quick ? quick_features[f] : features[f];
			int64_t		n = quick ? quick_rows[r] : rows[r];

			check_shape(session, p, p > 100 && n > 20011 ? 20011 : n, true);
		}
	check_shape(session, 600, quick ? 20 : 150, true);
	if (quick)
		return;
	check_shape(session, 32, 400003, true); /* more rows than a chunk */
	check_shape(session, 1000, 12345, false);
	check_shape(session, 1025, 999, false); /* either side of a change of the layout */
	check_shape(session, 2048, 300, false);
	check_shape(session, 2049, 300, false);
	check_shape(session, GR_MAX_FEATURES, 77, false);
}

/* Checks separated and nearly separated rows, whose weights and deviances are far below 1. */
static void
check_extremes(GrSession *session)
{
	const double scales[] = {0.0, 30.0, 300.0, 1e4};

	for (int s = 0; s < COUNT(scales); s++)
		for (int p = 9; p <= 40; p += 31)
		{
			GrSinkOptions options = {shape_of(p, false), GR_SINK_KEEP, 0, 0, 0, false, NULL, false, {}};
			Data		data = random_data(5000, p);
			GrSink	   *rows = NULL;
			GrError		err = {};

			for (int j = 0; j <= p; j++)
				data.beta[j] = j == 2 ? scales[s] : 0.0;
			for (int64_t r = 0; r < data.nrows; r++)
			{
				double	   *x = data.rows + r * (p + 1);

				x[1] += x[1] > 0.0 ? 1.0 : -1.0;
				x[p] = x[1] - data.shift[1] > 0.0 ? 1.0 : 0.0;
			}
			if (check(gpu->sink->begin(session, &options, &rows, &err) &&
					  submit_rows(session, rows, &data, 0, data.nrows, 200, false, &err),
					  "separated rows, scale %g", scales[s]))
			{
				check_pass(rows, &data, data.nrows, GR_PASS_FAST, 0);
				check_pass(rows, &data, data.nrows, GR_PASS_GRADIENT, 0);
				check_pass(rows, &data, data.nrows, GR_PASS_EXACT, 0);
			}
			gpu->sink->end(rows);
			data_free(&data);
		}
}

/* Checks that float4 features sent as such give the sums that they give as float8. */
static void
check_single(GrSession *session)
{
	const int	p = 7;
	const int64_t nrows = 50000;
	Data		data = random_data(nrows, p);
	GrPass		pass = make_pass(&data, GR_PASS_EXACT, 0);
	double	   *sums[2] = {};

	for (int64_t r = 0; r < nrows; r++)
		for (int j = 0; j < p; j++)
			data.rows[r * (p + 1) + j] = (float) data.rows[r * (p + 1) + j];
	for (int single = 0; single < 2; single++)
	{
		GrSinkOptions options = {shape_of(p, single != 0), GR_SINK_KEEP, 0, 0, 0, false, NULL, false, {}};
		GrSink	   *rows = NULL;
		GrError		err = {};

		if (gpu->sink->begin(session, &options, &rows, &err) &&
			send_rows(gpu, session, data.rows, nrows, p, single != 0, 40000, true, true,
					  [&](const void *block, int64_t n) { return gpu->sink->send(rows, block, n, &err); },
					  [&](bool wait, int64_t *ncalls) { return gpu->sink->sent(rows, wait, ncalls, &err); }, &err))
			sums[single] = run_pass(rows, &pass, NULL, &err);
		gpu->sink->end(rows);
	}
	check(sums[0] != NULL && sums[1] != NULL &&
		  memcmp(sums[0], sums[1], sizeof(double) * gr_pass_nsums(GR_PASS_EXACT, p)) == 0, "single features");
	free(sums[0]);
	free(sums[1]);
	data_free(&data);
}

static void
check_cancel(GrSession *session)
{
	GrSinkOptions options = {shape_of(5, false), GR_SINK_KEEP, 0, 0, 0, false, NULL, false, {}};
	Data		data = random_data(1000, 5);
	GrPass		pass = make_pass(&data, GR_PASS_FAST, 0);
	Stopper		stopper = {0, 1};
	GrHost		host = {stop, &stopper, NULL};
	GrSink	   *rows = NULL;
	GrError		err = {};
	bool		ok = gpu->sink->begin(session, &options, &rows, &err) &&
		submit_rows(session, rows, &data, 0, 1000, 85, true, &err);
	double	   *sums = run_pass(rows, &pass, &host, &err);

	check(ok && sums == NULL && err.status == GR_CANCELED && stopper.asked > 0, "a pass that is canceled");
	free(sums);
	check_pass(rows, &data, 1000, GR_PASS_FAST, 0);
	gpu->sink->end(rows);
	data_free(&data);
}

static void
check_memory(GrSession *session)
{
	GrSinkOptions options = {shape_of(200, false), GR_SINK_KEEP, 0, 1000, 0, false, NULL, false, {}};
	Data		data = random_data(1000, 200);
	GrSink	   *rows = NULL;
	GrError		err = {};
	bool		ok;
	int			nsubmits = 0;

	ok = gpu->sink->begin(session, &options, &rows, &err);
	check(!ok && err.status == GR_DEVICE_MEMORY && err.bytes_free <= 1000 && err.bytes_needed > 1000,
		  "a memory limit too small to begin with");
	gpu->sink->end(rows);

	err = GrError();
	options.memory_limit = (size_t) 200 << 20;
	ok = gpu->sink->begin(session, &options, &rows, &err);
	while (ok && nsubmits < 1000 && submit_rows(session, rows, &data, 0, 600, 600, false, &err))
		nsubmits++;
	check(ok && err.status == GR_DEVICE_MEMORY && err.bytes_free <= options.memory_limit &&
		  err.bytes_needed > err.bytes_free && nsubmits > 20 && nsubmits < 220, "a memory limit, after %d MB",
		  nsubmits);
	gpu->sink->end(rows);
	data_free(&data);
}

static void
check_contract(GrSession *session)
{
	GrSinkOptions options = {shape_of(3, false), GR_SINK_KEEP, 0, 0, 0, false, NULL, false, {}};
	Data		data = random_data(10, 3);
	Data		other = random_data(10, 4);
	GrPass		pass = make_pass(&data, GR_PASS_GRADIENT, 0);
	GrPass		other_pass = make_pass(&other, GR_PASS_GRADIENT, 0);
	GrSink	   *rows = NULL;
	GrError		err = {};
	double	   *sums;
	int64_t		ncalls = 0;
	bool		ok;

	gpu->sink->end(NULL);
	options.shape.nfeatures = 0;
	ok = gpu->sink->begin(session, &options, &rows, &err);
	check(!ok && err.status == GR_INVALID && rows == NULL, "no features");
	err = GrError();
	options.shape.nfeatures = 3;
	ok = gpu->sink->begin(session, &options, &rows, &err);
	sums = run_pass(rows, &pass, NULL, &err);
	check(ok && sums != NULL && sums[GR_SUM_NROWS] == 0.0 && isinf(sums[GR_SUM_MIN_MARGIN]), "a pass over no rows");
	free(sums);
	ok = gpu->sink->send(rows, data.rows, 10, &err);
	check(ok && gpu->sink->sent(rows, true, &ncalls, &err) && ncalls == 1, "a call is counted when its rows are read");
	check(ok && gpu->sink->sent(rows, true, &ncalls, &err) && ncalls == 1, "there is none to wait for");
	sums = run_pass(rows, &other_pass, NULL, &err);
	check(sums == NULL && err.status == GR_INVALID, "a pass of another number of features");
	gpu->sink->end(rows);
	data_free(&data);
	data_free(&other);
}

/* Checks that calls are counted in order, each once, with or without waiting. */
static void
check_sends(GrSession *session)
{
	const int	nsends = 200;
	const GrRowShape shape = shape_of(3, false);
	GrSinkOptions options = {shape, GR_SINK_KEEP, 0, 0, 0, false, NULL, false, {}};
	Data		data = random_data(nsends, 3);
	GrPass		pass = make_pass(&data, GR_PASS_GRADIENT, 0);
	GrSink	   *rows = NULL;
	GrError		err = {};
	GrTimes		times = {};
	double	   *sums;
	int64_t		ncalls = 0;
	bool		ordered = true;
	bool		ok = gpu->sink->begin(session, &options, &rows, &err);

	for (int k = 0; ok && k < nsends; k++)
	{
		int64_t		before = ncalls;

		ok = gpu->sink->send(rows, data.rows + (size_t) k * gr_row_ncols(shape), 1, &err) &&
			gpu->sink->sent(rows, k % 7 == 0, &ncalls, &err);
		ordered = ordered && ncalls >= before && ncalls <= k + 1 && (k % 7 != 0 || ncalls > before);
	}
	check(ok && ordered, "calls are counted in order");
	/* without waiting, the rows under way are read at last, and counted */
	for (int k = 0; ok && k < 5000 && ncalls < nsends; k++)
	{
		const struct timespec nap = {0, 1000000};

		(void) nanosleep(&nap, NULL);
		ok = gpu->sink->sent(rows, false, &ncalls, &err);
	}
	check(ok && ncalls == nsends, "all are, without waiting");
	sums = run_pass(rows, &pass, NULL, &err);
	check(sums != NULL && sums[GR_SUM_NROWS] == nsends, "and all rows are there");
	gpu->sink->times(rows, &times);
	check(times.copy_s > 0 && times.bytes_to_device == nsends * (int64_t) gr_row_nbytes(shape), "... with their bytes");
	free(sums);
	gpu->sink->end(rows);
	data_free(&data);
}

/* Timing */

#define NREPEATS 9

/* Returns the bytes per second, read and written, of copies from one half of nbytes to the other. */
static double
copy_bandwidth(size_t nbytes)
{
	char	   *memory = device_alloc<char>(nbytes);
	double		bandwidth;

	if (memory == NULL)
		return NAN;
	cuda_ok(cudaMemset(memory, 1, nbytes));
	bandwidth = copy_bytes_per_s(1, NREPEATS, memory, nbytes);
	device_free(memory);
	return bandwidth;
}

static void
bench_pass(GrSink *rows, const Data *data, int64_t nrows, GrPassKind kind, double floor_ms)
{
	static const char *const names[] = {"EXACT", "FAST", "GRADIENT", "FACE"};
	const GrPass pass = make_pass(data, kind, kind == GR_PASS_FACE ? 1 : 0);
	const int	nrepeats = kind == GR_PASS_FAST || kind == GR_PASS_GRADIENT ? NREPEATS : 3;
	double		kernel_ms[NREPEATS];
	double		wall_ms[NREPEATS];

	for (int i = -1; i < nrepeats; i++)
	{
		GrTimes		before;
		GrTimes		after;
		GrError		err = {};
		double		begin_ms = now_ms();
		double	   *sums;

		gpu->sink->times(rows, &before);
		sums = run_pass(rows, &pass, NULL, &err);
		gpu->sink->times(rows, &after);
		if (sums == NULL)
		{
			printf("# %s\n", err.detail);
			return;
		}
		free(sums);
		if (i < 0)
			continue;
		wall_ms[i] = now_ms() - begin_ms;
		kernel_ms[i] = (after.kernel_s - before.kernel_s) * 1e3;
	}
	printf("{\"bench\" : \"logistic pass: %s\", \"rows\" : %lld, \"p\" : %d, \"ms\" : %.3f, \"floor_ms\" : %.3f, ",
		   names[kind],
		   (long long) nrows, data->nfeatures, median(kernel_ms, nrepeats), floor_ms);
	/* the target of a Newton iteration */
	if (kind == GR_PASS_FAST && nrows == 20000000 && data->nfeatures == 32)
		printf("\"ratio_at_most\" : 1.25, ");
	printf("\"wall_ms\" : %.3f}\n", median(wall_ms, nrepeats));
	fflush(stdout);
}

/* Times passes. The rows repeat themselves every few blocks. */
static void
bench_shape(GrSession *session, int64_t nrows, int nfeatures, const GrPassKind *kinds, int nkinds, double bandwidth)
{
	GrSinkOptions options = {shape_of(nfeatures, false), GR_SINK_KEEP, 0, 0, 0, false, NULL, false, {}};
	const size_t row_nbytes = gr_row_nbytes(gr_plain_shape(nfeatures));
	Data		data = random_data((int64_t) (((size_t) 4 << 20) / row_nbytes), nfeatures);
	GrSink	   *rows = NULL;
	GrError		err = {};
	bool		ok = gpu->sink->begin(session, &options, &rows, &err);
	double		begin_ms = now_ms();

	for (int64_t done = 0; ok && done < nrows; done += data.nrows)
		ok = gpu->sink->send(rows, data.rows, nrows - done < data.nrows ? nrows - done : data.nrows, &err);
	printf("# %9lld x %4d sent in %.0f ms\n", (long long) nrows, nfeatures, now_ms() - begin_ms);
	for (int k = 0; ok && k < nkinds; k++)
		bench_pass(rows, &data, nrows, kinds[k], (double) nrows * (double) row_nbytes / bandwidth * 1e3);
	if (!ok)
		printf("# %s\n", err.detail);
	gpu->sink->end(rows);
	data_free(&data);
}

/* Prints a line per pass. floor: the time to read the rows once at the copy's bandwidth. */
static bool
run_bench(const GpuRun *run)
{
	GrSession  *session = run->session;
	const bool	fast_only = run->bench_what != NULL && strcmp(run->bench_what, "fast") == 0;
	const GrPassKind all[] = {GR_PASS_FAST, GR_PASS_EXACT, GR_PASS_GRADIENT, GR_PASS_FACE};
	const GrPassKind wide[] = {GR_PASS_GRADIENT, GR_PASS_FAST};
	const int	n = fast_only ? 1 : 2;
	double		bandwidth = copy_bandwidth((size_t) 8 << 30);

	printf("# device-to-device copy: %.0f GB/s, read and written\n", bandwidth * 1e-9);
	bench_shape(session, 20000000, 32, all, fast_only ? 1 : 4, bandwidth);
	bench_shape(session, 20000000, 24, all, n, bandwidth);
	bench_shape(session, 20000000, 16, all, n, bandwidth);
	bench_shape(session, 50000000, 8, all, n, bandwidth);
	bench_shape(session, 1000, 32, all, 1, bandwidth);
	if (fast_only)
		return true;
	bench_shape(session, 5000000, 64, wide, 2, bandwidth);
	bench_shape(session, 2000000, 200, wide, 2, bandwidth);
	bench_shape(session, 1000000, 1000, wide, 2, bandwidth);
	return true;
}

static void
run_tests(const GpuRun *run)
{
	check_shapes(run->session, run->quick);
	check_extremes(run->session);
	check_single(run->session);
	check_cancel(run->session);
	check_memory(run->session);
	check_contract(run->session);
	check_sends(run->session);
}

int
main(int argc, char **argv)
{
	return backend_main(argc, argv, run_tests, run_bench);
}
