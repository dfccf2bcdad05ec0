/*
 * gram_gpu_test.cu: tests the CUDA backend's Gram matrix against a reference in quadruple precision.
 *
 * gram_gpu_test [--quick] [--bench[=P]] [--seed=N]: see gpu_harness.h. --bench=P times only P features.
 */
#include "../../kernels/gram.cuh"
#include "gpu_harness.h"
#include "gram_reference.h"
#include "send_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TOLERANCE 0x1p-98

typedef enum Pattern
{
	UNIFORM,					/* in (-1, 1) */
	OFFSET,						/* mean 1e6, spread 1 */
	SCALES,						/* column scales from 1e-6 to 1e6 */
	CANCELING,					/* signs alternate over rows, so that most sums are far below their terms */
	NPATTERNS
} Pattern;

static const char *const pattern_names[NPATTERNS] = {"uniform", "offset", "scales", "canceling"};

static double *
random_rows(int64_t nrows, int ncols, Pattern pattern)
{
	double	   *rows = (double *) malloc(sizeof(double) * (size_t) (nrows * ncols + 1));

	for (int64_t r = 0; r < nrows; r++)
		for (int c = 0; c < ncols; c++)
		{
			double		x = random_double();

			if (pattern == OFFSET)
				x += 1e6;
			else if (pattern == SCALES)
				x *= pow(10.0, (c * 5) % 13 - 6);
			else if (pattern == CANCELING && r % 2 == 1)
				x = c % 2 == 0 ? -rows[(r - 1) * ncols + c] : rows[(r - 1) * ncols + c] * (1.0 + 0x1p-50);
			rows[r * ncols + c] = x;
		}
	return rows;
}

typedef struct Result
{
	double	   *hi;
	double	   *lo;
	GrTimes		times;
	GrError		err;
	bool		ok;
} Result;

static void
result_free(Result *result)
{
	free(result->hi);
	free(result->lo);
}

/* Options of run_gram() for sending rows */
typedef struct Sending
{
	bool		single;
	bool		ragged;			/* in calls of changing sizes, some empty */
	bool		pinned;
} Sending;

/* Sends rows in calls of piece_nbytes, which are also the job's blocks. The result starts as NaN. */
static Result
run_gram(GrSession *session, const double *rows, int64_t nrows, int nfeatures, size_t piece_nbytes, Sending how)
{
	GrSinkOptions options = {shape_of(nfeatures, how.single), GR_SINK_SUM, piece_nbytes, 0, 0, false, NULL, false, {}};
	int64_t		nentries = gr_triangle(nfeatures + 2);
	int64_t		piece = (int64_t) (piece_nbytes / gr_row_nbytes(shape_of(nfeatures, how.single))) + 1;
	GrSink	   *gram = NULL;
	Result		result = {};

	result.hi = (double *) malloc(sizeof(double) * (size_t) nentries);
	result.lo = (double *) malloc(sizeof(double) * (size_t) nentries);
	memset(result.hi, 0xff, sizeof(double) * (size_t) nentries);
	memset(result.lo, 0xff, sizeof(double) * (size_t) nentries);
	result.ok = gpu->sink->begin(session, &options, &gram, &result.err) &&
		send_rows(gpu, session, rows, nrows, nfeatures, how.single, piece, how.ragged, how.pinned,
				  [&](const void *block, int64_t n) { return gpu->sink->send(gram, block, n, &result.err); },
				  [&](bool wait, int64_t *ncalls) { return gpu->sink->sent(gram, wait, ncalls, &result.err); },
				  &result.err) &&
		gpu->sink->finish(gram, GrDDVector {result.hi, result.lo}, &result.err);
	if (result.ok)
		gpu->sink->times(gram, &result.times);
	gpu->sink->end(gram);
	if (!result.ok)
		printf("# %s\n", result.err.detail);
	return result;
}

static bool
same_bits(const Result *a, const Result *b, int nfeatures)
{
	size_t		nbytes = sizeof(double) * (size_t) gr_triangle(nfeatures + 2);

	return a->ok && b->ok && memcmp(a->hi, b->hi, nbytes) == 0 && memcmp(a->lo, b->lo, nbytes) == 0;
}

static void
check_shape(GrSession *session, int nfeatures, int64_t nrows, Pattern pattern)
{
	const size_t block_sizes[] = {1, 4096, 65536, 1 << 20};
	double	   *rows = random_rows(nrows, nfeatures + 1, pattern);
	size_t		row_nbytes = sizeof(double) * (size_t) (nfeatures + 1);
	double		worst = 0.0;
	bool		repeatable = true;
	bool		counted = true;

	for (int s = 0; s < COUNT(block_sizes); s++)
		for (int ragged = 0; ragged < 2; ragged++)
		{
			/* with many rows, a launch per row proves nothing more */
			if (nrows * (int64_t) row_nbytes / (int64_t) block_sizes[s] > 600 && nrows > 64)
				continue;

			Sending		how = {false, ragged != 0, s % 2 == 0};
			Result		first = run_gram(session, rows, nrows, nfeatures, block_sizes[s], how);
			Result		second = run_gram(session, rows, nrows, nfeatures, block_sizes[s], how);

			repeatable = repeatable && same_bits(&first, &second, nfeatures);
			counted = counted && first.times.bytes_to_device == (int64_t) row_nbytes * nrows;
			/* NaN, an entry that was never written, counts as infinite */
			worst = fmax(worst, first.ok ? gram_reference_error(rows, nrows, nfeatures, first.hi, first.lo) : INFINITY);
			result_free(&first);
			result_free(&second);
		}
	if (!check(worst <= TOLERANCE && repeatable && counted, "%d features, %lld rows, %s", nfeatures,
			   (long long) nrows, pattern_names[pattern]))
		printf("# error 2^%.1f, repeatable %d, bytes counted %d\n", log2(worst), repeatable, counted);
	free(rows);
}

static void
check_shapes(GrSession *session, bool quick)
{
	const int	features[] = {1, 2, 3, 7, 8, 13, 14, 15, 16, 17, 30, 31, 32, 33, 62, 63, 64, 65, 100, 200};
	const int64_t rows[] = {0, 1, 2, 31, 32, 33, 1000, 5003};
	const int	quick_features[] = {1, 8, 33, 65, 200};
	const int64_t quick_rows[] = {1, 33, 500};
	const int	nfeatures = quick ? COUNT(quick_features) : COUNT(features);
	const int	nrows = quick ? COUNT(quick_rows) : COUNT(rows);

	for (int f = 0; f < nfeatures; f++)
		for (int r = 0; r < nrows; r++)
		{
			int			p = quick ? quick_features[f] : features[f];
			int64_t		n = quick ? quick_rows[r] : rows[r];

			/* all patterns if the reference is cheap, else one after another */
			if (!quick && p <= 33 && n > 2)
				for (int pattern = 0; pattern < NPATTERNS; pattern++)
					check_shape(session, p, n, (Pattern) pattern);
			else
				check_shape(session, p, n, (Pattern) ((f + r) % NPATTERNS));
		}
	/* either side of a change of the layout, and squares */
	check_shape(session, 510, quick ? 9 : 150, OFFSET);
	check_shape(session, 511, quick ? 9 : 150, SCALES);
	check_shape(session, 640, quick ? 17 : 333, CANCELING);
	if (!quick)
		check_shape(session, 2001, 40, UNIFORM);
}

/* Checks that float4 features sent as such give the bits that they give as float8. */
static void
check_single(GrSession *session)
{
	const int	features[] = {1, 2, 8, 31, 200};

	for (int p : features)
	{
		const int64_t nrows = 3001;
		double	   *rows = random_rows(nrows, p + 1, UNIFORM);
		Sending		how[] = {{false, true, false}, {true, true, false}, {true, true, true}};
		Result		results[COUNT(how)];

		for (int64_t r = 0; r < nrows; r++)
			for (int j = 0; j < p; j++)
				rows[r * (p + 1) + j] = (float) rows[r * (p + 1) + j];
		for (int k = 0; k < COUNT(how); k++)
		{
			/* the number of rows per block and call is the same for both types */
			size_t		piece_nbytes = 100 * gr_row_nbytes(gr_plain_shape(p));

			results[k] = run_gram(session, rows, nrows, p, piece_nbytes, how[k]);
		}
		check(same_bits(&results[0], &results[1], p) && same_bits(&results[0], &results[2], p), "%d single features",
			  p);
		check(results[1].times.bytes_to_device == nrows * (int64_t) gr_row_nbytes(shape_of(p, true)),
			  "... in half the bytes");
		for (Result &result : results)
			result_free(&result);
		free(rows);
	}
}

/* Adds nrows rows to a job in calls of 700; false if that failed. */
static bool
send_all(GrSink *gram, const double *rows, int64_t nrows, int ncols, GrError *err)
{
	bool		ok = true;

	for (int64_t done = 0; ok && done < nrows; done += 700)
		ok = gpu->sink->send(gram, rows + done * ncols, nrows - done < 700 ? nrows - done : 700, err);
	return ok;
}

/*
 * Checks that rows less an exact shift give the bits of the differences; that a job which begins anew after it was
 * finished, with another shift or none, keeps nothing of its earlier sums; and that calls are counted on.
 */
static void
check_shift(GrSession *session)
{
	const int	features[] = {1, 2, 8, 33, 64, 65, 200, 511, 640};

	for (int p : features)
	{
		const int	ncols = p + 1;
		const int64_t nrows = p > 400 ? 900 : 3001;
		const size_t nbytes = sizeof(double) * (size_t) gr_triangle(p + 2);
		GrSinkOptions options = {shape_of(p, false), GR_SINK_SUM, 65536, 0, 0, false, NULL, false, {}};
		double	   *small = random_rows(nrows, ncols, UNIFORM);
		double	   *rows = (double *) malloc(sizeof(double) * (size_t) (nrows * ncols));
		double	   *shift = (double *) malloc(sizeof(double) * (size_t) ncols);
		double	   *sums = (double *) malloc(8 * nbytes);
		GrSink	   *gram = NULL;
		GrError		err = {};
		int64_t		ncalls = 0;
		bool		ok = true;

		for (int j = 0; j < ncols; j++)
			shift[j] = j % 3 == 1 ? 0.0 : (double) (1000 + j);
		for (int64_t k = 0; k < nrows * ncols; k++)
		{
			/* 40 bits after the point, so that adding the shift is exact */
			small[k] = ldexp(rint(ldexp(small[k], 40)), -40);
			rows[k] = small[k] + shift[k % ncols];
		}
		/* without a shift; with one from the beginning; then the same job without; and with one again */
		for (int turn = 0; turn < 4; turn++)
		{
			double	   *hi = sums + 2 * turn * (nbytes / sizeof(double));

			if (turn < 2)
				ok = ok && gpu->sink->begin(session, &options, &gram, &err);
			if (turn > 0)
				ok = ok && gpu->sink->restart(gram, turn == 2 ? NULL : shift, &err);
			ok = ok && send_all(gram, turn % 2 == 1 ? rows : small, nrows, ncols, &err) &&
				gpu->sink->finish(gram, GrDDVector {hi, hi + nbytes / sizeof(double)}, &err);
			if (turn == 0 || turn == 3)
			{
				ok = ok && gpu->sink->sent(gram, true, &ncalls, &err) &&
					ncalls == (turn == 0 ? 1 : 3) * ((nrows + 699) / 700);
				gpu->sink->end(gram);
				gram = NULL;
			}
		}
		gpu->sink->end(gram);
		if (!check(ok && memcmp(sums, (char *) sums + 2 * nbytes, 2 * nbytes) == 0 &&
				   memcmp(sums, (char *) sums + 4 * nbytes, 2 * nbytes) == 0 &&
				   memcmp(sums, (char *) sums + 6 * nbytes, 2 * nbytes) == 0, "%d features less a shift", p))
			printf("# %d %s\n", ok, err.detail);
		free(small);
		free(rows);
		free(shift);
		free(sums);
	}
}

static void
check_overflow(GrSession *session)
{
	const int	p = 9;
	double	   *rows = random_rows(100, p + 1, UNIFORM);
	Result		result;
	int64_t		k = 0;
	bool		as_expected = true;

	rows[57 * (p + 1) + 4] = 1e200; /* the square of z_5 overflows, its products with others don't */
	result = run_gram(session, rows, 100, p, 4096, Sending());
	for (int i = 0; i < p + 2; i++)
		for (int j = 0; j <= i; j++, k++)
		{
			bool		is_finite = isfinite(result.hi[k]) && isfinite(result.lo[k]);

			as_expected = as_expected && is_finite == !(i == 5 && j == 5);
		}
	check(result.ok && as_expected, "an overflow leaves just its entry not finite");
	result_free(&result);
	free(rows);
}

static void
check_failures(GrSession *session)
{
	GrSinkOptions options = {shape_of(200, false), GR_SINK_SUM, 1 << 20, 1000, 0, false, NULL, false, {}};
	GrOpenOptions no_such = {12345, false};
	GrSession  *other = NULL;
	GrSink	   *gram = NULL;
	GrError		err = {};
	double		block[400];
	int64_t		ncalls = 0;
	bool		ok;

	ok = gpu->sink->begin(session, &options, &gram, &err);
	check(!ok && err.status == GR_DEVICE_MEMORY && err.bytes_free == 1000 && err.bytes_needed > 1000,
		  "a memory limit is kept");
	gpu->sink->end(gram);

	err = GrError();
	options.block_nbytes = (size_t) 1 << 60;
	options.memory_limit = 0;
	ok = gpu->sink->begin(session, &options, &gram, &err);
	check(!ok && (err.status == GR_DEVICE_MEMORY || err.status == GR_NO_MEMORY || err.status == GR_DEVICE_FAILED),
		  "more memory than there is");
	gpu->sink->end(gram);

	err = GrError();
	options.shape.nfeatures = 0;
	ok = gpu->sink->begin(session, &options, &gram, &err);
	check(!ok && err.status == GR_INVALID && gram == NULL, "no features");

	err = GrError();
	options.shape.nfeatures = 3;
	options.block_nbytes = 4096;
	memset(block, 0, sizeof(block));
	ok = gpu->sink->begin(session, &options, &gram, &err) && gpu->sink->send(gram, block, 100, &err);
	check(ok && gpu->sink->sent(gram, true, &ncalls, &err) && ncalls == 1, "a call is counted when its rows are read");
	check(ok && gpu->sink->sent(gram, true, &ncalls, &err) && ncalls == 1, "there is none to wait for");
	ok = ok && gpu->sink->send(gram, block, 100, &err);
	gpu->sink->end(gram);		/* without finish, while work is under way */
	gpu->sink->end(NULL);

	err = GrError();
	ok = gpu->device->open(&other, &no_such, &err);
	check(!ok && err.status == GR_NO_DEVICE, "a device that doesn't exist: %s", err.detail);
	gpu->device->close(other);
	gpu->device->close(NULL);
}

/* Checks that one session doesn't notice another one that comes and goes. */
static void
check_sessions(GrSession *session)
{
	GrOpenOptions options = {gpu->device->describe(session)->id, false};
	GrSession  *other = NULL;
	GrDeviceInfo devices[16];
	GrError		err = {};
	int			ndevices = 0;
	bool		ok = gpu->device->open(&other, &options, &err);

	check(ok && gpu->device->describe(other)->id == options.device_id, "a second session");
	gpu->device->close(other);
	ok = gpu->device->list(devices, COUNT(devices), &ndevices, &err);
	check(ok && ndevices >= 1 && devices[0].memory_total >= devices[0].memory_free && devices[0].memory_free > 0 &&
		  strchr(devices[0].driver, '.') != NULL, "devices are listed");
	for (int i = 0; i < ndevices; i++)
		printf("# %d: %s, %d.%d, %zu of %zu bytes free, driver %s\n", devices[i].id, devices[i].name, devices[i].major,
			   devices[i].minor, devices[i].memory_free, devices[i].memory_total, devices[i].driver);
	check_shape(session, 5, 77, UNIFORM);
}

/* Timing */

typedef struct BenchShape
{
	int64_t		nrows;
	int			nfeatures;
} BenchShape;

#define NREPEATS 5
#define PINNED_NBYTES ((size_t) 256 << 20)

/* Times the kernel over rows on the device, in launches of about block_nbytes (0: one launch). */
static double
kernel_ms(const GramPlan *plan, double2 *partials, const double *rows, int64_t nrows, size_t block_nbytes, bool shifted)
{
	int64_t		row_nbytes = (int64_t) sizeof(double) * plan->shape.ncols;
	int64_t		block_nrows = block_nbytes == 0 ? nrows : (int64_t) block_nbytes / row_nbytes;
	/* any row serves as a shift */
	const double *shift = shifted ? rows : NULL;

	return median_ms(NREPEATS, [=]()
	{
		for (int64_t done = 0; done < nrows; done += block_nrows)
			cuda_ok(gr_gram_launch(plan, partials, rows + done * plan->shape.ncols,
								   nrows - done < block_nrows ? nrows - done : block_nrows, 0, shift));
	});
}

/* Times a copy of nbytes from pinned memory to the device, in calls of the pinned buffer's size. */
static double
copy_ms(double *device, const double *pinned, size_t nbytes)
{
	return median_ms(NREPEATS, [=]()
	{
		for (size_t done = 0; done < nbytes; done += PINNED_NBYTES)
			cuda_ok(cudaMemcpyAsync((char *) device + done, pinned,
									nbytes - done < PINNED_NBYTES ? nbytes - done : PINNED_NBYTES,
									cudaMemcpyHostToDevice, 0));
	});
}

/*
 * Returns the wall time in ms of the whole backend over pinned rows that are sent in pieces over and over: the time of
 * a query whose rows cost nothing to read.
 */
static double
backend_ms(GrSession *session, const double *pinned, BenchShape shape, size_t piece_nbytes)
{
	GrSinkOptions options = {
		shape_of(shape.nfeatures, false), GR_SINK_SUM, (size_t) 4 << 20, 0, 0, false, NULL, false, {}
	};
	int64_t		nentries = gr_triangle(shape.nfeatures + 2);
	int64_t		piece = (int64_t) (piece_nbytes / gr_row_nbytes(gr_plain_shape(shape.nfeatures)));
	double	   *sums = (double *) malloc(2 * sizeof(double) * (size_t) nentries);
	GrSink	   *gram = NULL;
	GrError		err = {};
	bool		ok = gpu->sink->begin(session, &options, &gram, &err);
	double		begin_ms = now_ms();
	double		end_ms;

	for (int64_t done = 0; ok && done < shape.nrows; done += piece)
		ok = gpu->sink->send(gram, pinned, shape.nrows - done < piece ? shape.nrows - done : piece, &err);
	ok = ok && gpu->sink->finish(gram, GrDDVector {sums, sums + nentries}, &err);
	end_ms = now_ms();
	gpu->sink->end(gram);
	free(sums);
	if (!ok)
		printf("# %s\n", err.detail);
	return ok ? end_ms - begin_ms : NAN;
}

static void
bench_shape(GrSession *session, BenchShape shape, double *device, const double *pinned)
{
	size_t		nbytes = sizeof(double) * (size_t) (shape.nrows * (shape.nfeatures + 1));
	double		products = (double) gr_triangle(shape.nfeatures + 2) * (double) shape.nrows;
	GramPlan	plan;
	double2    *partials = NULL;
	double		whole_ms;

	if (!cuda_ok(gr_gram_plan(&plan, gr_plain_shape(shape.nfeatures), (size_t) 256 << 20)) ||
		!cuda_ok(cudaMalloc((void **) &partials, plan.partials_nbytes)) ||
		!cuda_ok(cudaMemset(partials, 0, plan.partials_nbytes)))
		return;
	whole_ms = kernel_ms(&plan, partials, device, shape.nrows, 0, false);
	printf("{\"bench\" : \"gram, double-double, host to sums\", \"rows\" : %lld, \"p\" : %d, "
		   "\"ms\" : %.2f, \"floor_ms\" : %.2f, ",
		   (long long) shape.nrows, shape.nfeatures, backend_ms(session, pinned, shape, (size_t) 4 << 20),
		   copy_ms(device, pinned, nbytes));
	if (shape.nfeatures <= 200)
		printf("\"ratio_at_most\" : 1.5, ");
	printf("\"in_256_kb_pieces_ms\" : %.2f, \"kernel_at_once_ms\" : %.2f, \"shifted_ms\" : %.2f, "
		   "\"kernel_in_4_mb_blocks_ms\" : %.2f, \"products_per_ns\" : %.0f}\n",
		   backend_ms(session, pinned, shape, (size_t) 256 << 10), whole_ms,
		   kernel_ms(&plan, partials, device, shape.nrows, 0, true),
		   kernel_ms(&plan, partials, device, shape.nrows, (size_t) 4 << 20, false), products / whole_ms * 1e-6);
	fflush(stdout);
	device_free(partials);
}

/* Prints a table of times in ms; the random rows repeat every 256 MB. */
static bool
run_bench(const GpuRun *run)
{
	const int	only_nfeatures = run->bench_what != NULL ? atoi(run->bench_what) : 0;
	const BenchShape shapes[] = {
		{20000000, 8}, {20000000, 16}, {10000000, 32}, {5000000, 64}, {2000000, 128}, {1000000, 200},
		{500000, 400}, {100000, 1000}
	};
	size_t		nbytes_max = 0;
	double	   *pinned = NULL;
	double	   *device = NULL;

	for (int s = 0; s < COUNT(shapes); s++)
	{
		size_t		nbytes = sizeof(double) * (size_t) (shapes[s].nrows * (shapes[s].nfeatures + 1));

		nbytes_max = nbytes > nbytes_max ? nbytes : nbytes_max;
	}
	if (!cuda_ok(cudaMallocHost((void **) &pinned, PINNED_NBYTES)) ||
		!cuda_ok(cudaMalloc((void **) &device, nbytes_max)))
		return false;
	for (size_t i = 0; i < PINNED_NBYTES / sizeof(double); i++)
		pinned[i] = random_double();
	copy_ms(device, pinned, nbytes_max);
	printf("# device-to-device copy: %.0f GB/s, read and written\n",
		   copy_bytes_per_s(1, NREPEATS, device, nbytes_max) * 1e-9);
	for (int s = 0; s < COUNT(shapes); s++)
		if (only_nfeatures == 0 || shapes[s].nfeatures == only_nfeatures)
			bench_shape(run->session, shapes[s], device, pinned);
	device_free(device);
	cuda_ok(cudaFreeHost(pinned));
	return first_code == cudaSuccess;
}

static void
run_tests(const GpuRun *run)
{
	check_shapes(run->session, run->quick);
	check_single(run->session);
	check_shift(run->session);
	check_overflow(run->session);
	check_failures(run->session);
	check_sessions(run->session);
}

int
main(int argc, char **argv)
{
	return backend_main(argc, argv, run_tests, run_bench);
}
