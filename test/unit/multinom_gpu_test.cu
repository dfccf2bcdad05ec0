/*
 * multinom_gpu_test.cu: tests the sums of a multinomial regression on the device against the CPU's.
 *
 * multinom_gpu_test [--quick] [--bench] [--seed=N]: see gpu_harness.h.
 */
#include "../../kernels/backend_cuda.cuh"
#include "compute/request/multinom_request.h"
#include "gpu_harness.h"

#include <stdlib.h>
#include <string.h>

/* Rows of random classes and features, and a pass over them */
typedef struct Made
{
	GrMultinomPass pass;
	int64_t		nrows;
	double	   *rows;
	double	   *values;
	double	   *beta;
	double	   *shift;
	double	   *faces;
	double		face_absolute[GR_MULTINOM_FACES_MAX + 1];
} Made;

static double *
random_doubles(size_t n, double scale)
{
	double	   *values = (double *) malloc(sizeof(double) * (n > 0 ? n : 1));

	for (size_t k = 0; k < n; k++)
		values[k] = random_double() * scale;
	return values;
}

static Made
make_rows(int64_t nrows, int nfeatures, int nclasses, bool weight)
{
	Made		made = {};
	GrMultinomPass *pass = &made.pass;
	const size_t m = (size_t) (nclasses - 1) * (size_t) (nfeatures + 1);
	int			ncols;

	pass->shape = gr_plain_shape(nfeatures);
	pass->shape.weight = weight;
	pass->nclasses = nclasses;
	pass->link = GR_LOGIT;
	ncols = gr_row_ncols(pass->shape);
	made.nrows = nrows;
	made.rows = random_doubles((size_t) nrows * ncols, 3.0);
	made.values = (double *) malloc(sizeof(double) * nclasses);
	for (int k = 0; k < nclasses; k++)
		made.values[k] = 10.0 * k - 7.0;
	made.beta = random_doubles(m, 0.5);
	/* ORDINAL reads slopes, then thresholds, which ascend */
	for (int k = 0; k < nclasses - 1 && (size_t) (nfeatures + k) < m; k++)
		made.beta[nfeatures + k] = 0.4 * (k - nclasses / 2);
	made.shift = random_doubles((size_t) nfeatures + 1, 0.1);
	made.faces = random_doubles(2 * m, 0.05);
	made.face_absolute[0] = 0.2;
	made.face_absolute[1] = 0.3;
	made.face_absolute[2] = 0.1;
	for (int64_t r = 0; r < nrows; r++)
	{
		double	   *row = made.rows + r * ncols;

		/* a few rows are of no class */
		row[nfeatures] = random_word() % 1000 == 0 ? 0.5 : made.values[random_word() % nclasses];
		if (weight)
			row[nfeatures + 1] = (double) (1 + random_word() % 4);
	}
	pass->values = made.values;
	pass->beta = made.beta;
	pass->shift = made.shift;
	pass->faces = made.faces;
	pass->face_absolute = made.face_absolute;
	return made;
}

static void
free_rows(Made *made)
{
	free(made->rows);
	free(made->values);
	free(made->beta);
	free(made->shift);
	free(made->faces);
}

/* Sends the rows to the device in two calls. */
static bool
send_rows(GrSession *session, const Made *made, GrSink **sink, GrError *err)
{
	const int	ncols = gr_row_ncols(made->pass.shape);
	const int64_t half = made->nrows / 2;
	GrSinkOptions options = {};
	int64_t		ncalls = 0;

	options.shape = made->pass.shape;
	options.kind = GR_SINK_KEEP;
	return gpu->sink->begin(session, &options, sink, err) && gpu->sink->send(*sink, made->rows, half, err) &&
		gpu->sink->send(*sink, made->rows + half * ncols, made->nrows - half, err) &&
		gpu->sink->sent(*sink, true, &ncalls, err);
}

/* Returns the largest difference of n sums from the first on, as a share of the largest of them. */
static double
worst_of(const GrDD *got, const GrDD *want, size_t n)
{
	double		largest = 1.0;
	double		worst = 0.0;

	for (size_t k = 0; k < n; k++)
		largest = fmax(largest, fabs(want[k].hi));
	for (size_t k = 0; k < n; k++)
		worst = fmax(worst, scaled_error(got[k].hi, want[k].hi, largest));
	return worst;
}

static void
check_pass(GrSink *sink, const Made *made, const char *what)
{
	const GrMultinomPass *pass = &made->pass;
	const size_t n = gr_multinom_nsums(pass);
	const size_t gradient = gr_multinom_gradient_at(pass->nclasses);
	const size_t products = pass->measure == GR_MULTINOM_FACE || pass->measure == GR_MULTINOM_ORDINAL ? n :
		gr_multinom_products_at(pass);
	GrError		err = {};
	GrRequest  *request = gr_request_of_multinom(pass, gr_request_malloc, &err);
	double	   *got = (double *) calloc(2 * n, sizeof(double));
	double	   *again = (double *) calloc(2 * n, sizeof(double));
	double	   *want = (double *) calloc(2 * n, sizeof(double));
	void	   *scratch = malloc(gr_request_scratch_nbytes(request));
	bool		ok = gr_request_add(request, want, made->rows, made->nrows, scratch, NULL) &&
		gpu->sink->sums(sink, request, got, NULL, &err) && gpu->sink->sums(sink, request, again, NULL, &err);
	double		worst[3] = {INFINITY, INFINITY, INFINITY};

	if (ok)
	{
		worst[0] = worst_of((GrDD *) got, (GrDD *) want, gradient);
		worst[1] = worst_of((GrDD *) got + gradient, (GrDD *) want + gradient, products - gradient);
		worst[2] = worst_of((GrDD *) got + products, (GrDD *) want + products, n - products);
	}
	check(worst[0] < 1e-13 && worst[1] < 1e-13 && worst[2] < 1e-13,
		  "%lld rows of %d features, %d classes, %s: %.2g, %.2g, %.2g %s", (long long) made->nrows,
		  pass->shape.nfeatures, pass->nclasses, what, worst[0], worst[1], worst[2], err.detail);
	check(ok && memcmp(got, again, sizeof(double) * 2 * n) == 0, "the same bits again");
	free(request);
	free(got);
	free(again);
	free(want);
	free(scratch);
}

static void
check_rows(GrSession *session, int64_t nrows, int nfeatures, int nclasses, bool weight)
{
	static const char *const names[GR_NMULTINOM_MEASURES] = {"start", "step", "middle", "scores", "face", "ordinal"};
	Made		made = make_rows(nrows, nfeatures, nclasses, weight);
	GrSink	   *sink = NULL;
	GrError		err = {};

	if (!send_rows(session, &made, &sink, &err))
		check(false, "sending rows: %s", err.detail);
	else
		for (int measure = 0; measure < GR_NMULTINOM_MEASURES; measure++)
			for (int way = 0; way < 4; way++)
			{
				const bool	has_faces = measure != GR_MULTINOM_START && measure != GR_MULTINOM_ORDINAL;

				made.pass.measure = (GrMultinomMeasure) measure;
				made.pass.exact = (way & 1) != 0;
				made.pass.nfaces = (way & 2) != 0 && has_faces ? 2 : 0;
				made.pass.counts = weight && way == 1;
				check_pass(sink, &made, names[measure]);
			}
	gpu->sink->end(sink);
	free_rows(&made);
}

static void
tests(const GpuRun *run)
{
	check_rows(run->session, 1000, 1, 2, false);
	check_rows(run->session, 3001, 8, 4, true);
	if (run->quick)
		return;
	check_rows(run->session, 70000, 8, 4, false);
	check_rows(run->session, 20000, 3, 7, true);
	check_rows(run->session, 5000, 40, 5, false);
	check_rows(run->session, 3000, 1, 300, false);
	check_rows(run->session, 3000, 900, 3, false);
	check_rows(run->session, 500, 2, 5, true);
}

/* Times the steps of a fit of 10 million rows of 8 features and 4 classes. */
static bool
bench(const GpuRun *run)
{
	Made		made = make_rows(10000000, 8, 4, false);
	double	   *sums;
	GrRequest  *request;
	GrSink	   *sink = NULL;
	GrError		err = {};
	bool		ok = send_rows(run->session, &made, &sink, &err);

	for (int measure = 0; ok && measure < GR_MULTINOM_FACE; measure++)
		for (int exact = 0; exact < 2; exact++)
		{
			made.pass.measure = (GrMultinomMeasure) measure;
			made.pass.exact = exact != 0;
			request = gr_request_of_multinom(&made.pass, gr_request_malloc, &err);
			sums = (double *) calloc(gr_request_nsums(request), sizeof(double));
			printf("measure %d, exact %d: %.3f ms\n", measure, exact, median_ms(5, [&]()
			{
				ok = ok && gpu->sink->sums(sink, request, sums, NULL, &err);
			}));
			free(request);
			free(sums);
		}
	gpu->sink->end(sink);
	free_rows(&made);
	if (!ok)
		printf("%s\n", err.detail);
	return ok;
}

int
main(int argc, char **argv)
{
	return backend_main(argc, argv, tests, bench);
}
