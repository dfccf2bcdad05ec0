/*
 * weighted_gram_gpu_test.cu: tests weighted Gram matrices on the device against sums in long double.
 *
 * weighted_gram_gpu_test [--quick] [--bench[=P]] [--seed=N]: see gpu_harness.h. --bench=P times only P columns. cuBLAS
 * is timed as well if its library is found, by its usual names or in the folder GPUREG_CUBLAS_DIR.
 */
#include "../../kernels/weighted_gram.cuh"
#include "gpu_harness.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define TOLERANCE 0x1p-46		/* relative to the sum of |w z_i z_j|; 5,000 rows in splits */
#define BUDGET_NBYTES ((size_t) 512 << 20)

/* One case: rows of ld numbers, of which the first p are columns. */
typedef struct Case
{
	int			p;
	int			ld;
	int64_t		nrows;
	int			offset;			/* first row's distance from a 16-byte boundary, in float8 */
	int			weight_step;	/* 0: no weights */
	bool		shifted;
	int			nlaunches;
	bool		border;
} Case;

/* The case's numbers, on host and device */
typedef struct Data
{
	double	   *rows;
	double	   *weights;
	double	   *shift;
	double	   *border;
	double	   *device_rows;
	double	   *device_weights;
	double	   *device_shift;
	double	   *device_border;
} Data;

/* Makes a case's data. Numbers beside the columns, and between weights, are NaN. */
static Data
data_make(const Case *test)
{
	const size_t nrows = (size_t) test->nrows;
	const size_t ndoubles = nrows * (size_t) test->ld + (size_t) test->offset;
	const size_t nweights = nrows * (size_t) test->weight_step;
	Data		data = {};

	data.rows = (double *) malloc(sizeof(double) * (ndoubles + 1));
	data.weights = (double *) malloc(sizeof(double) * (nweights + 1));
	data.shift = (double *) malloc(sizeof(double) * (size_t) test->p);
	data.border = (double *) malloc(sizeof(double) * ((size_t) test->p + 1));
	memset(data.rows, 0xff, sizeof(double) * (ndoubles + 1));
	memset(data.weights, 0xff, sizeof(double) * (nweights + 1));
	for (size_t r = 0; r < nrows; r++)
	{
		for (int c = 0; c < test->p; c++)
			data.rows[(size_t) test->offset + r * (size_t) test->ld + (size_t) c] =
				random_double() * (c % 3 + 1) + (test->shifted ? 100.0 + c : 0.0);
		if (test->weight_step > 0)
			data.weights[r * (size_t) test->weight_step] = 0.25 * fabs(random_double());
	}
	for (int c = 0; c < test->p; c++)
		data.shift[c] = 100.0 + c + random_double();
	for (int c = 0; c <= test->p; c++)
		data.border[c] = random_double();
	data.device_rows = to_device(data.rows, ndoubles);
	data.device_weights = to_device(data.weights, nweights);
	data.device_shift = to_device(data.shift, (size_t) test->p);
	data.device_border = to_device(data.border, (size_t) test->p + 1);
	return data;
}

static void
data_free(Data *data)
{
	free(data->rows);
	free(data->weights);
	free(data->shift);
	free(data->border);
	device_free(data->device_rows, data->device_weights, data->device_shift, data->device_border);
}

/* Sums the rows in launches of uneven sizes, and the triangle in segments; the result starts as NaN. */
static double *
run_case(const Case *test, const Data *data, const WeightedGramPlan *plan)
{
	const int64_t nentries = gr_triangle(test->p + (test->border ? 1 : 0));
	const int64_t segment = nentries / 3 + 1;
	double	   *result = (double *) malloc(sizeof(double) * (size_t) nentries);
	double	   *partials = device_alloc<double>(plan->partials_ndoubles);
	double	   *sums = device_alloc<double>((size_t) nentries);
	int64_t		done = 0;

	memset(result, 0xff, sizeof(double) * (size_t) nentries);
	cuda_ok(cudaMemset(partials, 0, sizeof(double) * plan->partials_ndoubles));
	cuda_ok(cudaMemset(sums, 0xff, sizeof(double) * (size_t) nentries));
	for (int launch = 0; launch < test->nlaunches; launch++)
	{
		WeightedGramRows rows = {};

		rows.nrows = launch == test->nlaunches - 1 ? test->nrows - done : (test->nrows - done) / 3;
		rows.rows = data->device_rows + test->offset + done * test->ld;
		rows.ld = test->ld;
		rows.shift = test->shifted ? data->device_shift : NULL;
		rows.weights = test->weight_step > 0 ? data->device_weights + done * test->weight_step : NULL;
		rows.weight_step = test->weight_step;
		cuda_ok(gr_weighted_gram_launch(plan, &rows, partials, 0));
		done += rows.nrows;
	}
	for (int64_t first = 0; first < nentries; first += segment)
		cuda_ok(gr_weighted_gram_reduce_launch(plan, partials, test->border ? data->device_border : NULL, first,
											   nentries - first < segment ? nentries - first : segment, sums + first,
											   0));
	cuda_ok(cudaMemcpy(result, sums, sizeof(double) * (size_t) nentries, cudaMemcpyDeviceToHost));
	device_free(partials, sums);
	return result;
}

/*
 * Returns the largest |got - sum| / (sum of |terms|) over entries of all rows of the triangle, or of some; a border
 * must be exact.
 */
static double
worst_error(const Case *test, const Data *data, const double *got)
{
	const int	step = test->p > 300 ? 7 : 1;
	const int	skip = test->border ? 1 : 0;
	double		worst = 0.0;

	for (int i = 0; i < test->p + skip; i += i < 40 || i > test->p - 10 ? 1 : step)
		for (int j = 0; j <= i; j++)
		{
			const double entry = got[gr_triangle(i) + j];
			const double *row = data->rows + test->offset;
			long double sum = 0.0L;
			long double magnitude = 0.0L;

			if (j < skip)
			{
				worst = entry == data->border[i] ? worst : INFINITY;
				continue;
			}
			for (int64_t r = 0; r < test->nrows; r++, row += test->ld)
			{
				long double w = test->weight_step > 0 ? data->weights[r * test->weight_step] : 1.0L;
				long double a = row[i - skip] - (test->shifted ? (long double) data->shift[i - skip] : 0.0L);
				long double b = row[j - skip] - (test->shifted ? (long double) data->shift[j - skip] : 0.0L);

				sum += w * a * b;
				magnitude += fabsl(w * a * b);
			}

			double		error = (double) (fabsl((long double) entry - sum) / (magnitude > 0.0L ? magnitude : 1.0L));

			worst = error <= worst ? worst : error == error ? error : INFINITY;
		}
	return worst;
}

static void
check_case(const Case *test)
{
	const int64_t nentries = gr_triangle(test->p + (test->border ? 1 : 0));
	WeightedGramPlan plan;
	Data		data;

	if (!cuda_ok(gr_weighted_gram_plan(&plan, test->p, BUDGET_NBYTES)))
	{
		check(false, "plan of %d columns", test->p);
		return;
	}
	data = data_make(test);

	double	   *first = run_case(test, &data, &plan);
	double	   *second = run_case(test, &data, &plan);
	bool		repeatable = memcmp(first, second, sizeof(double) * (size_t) nentries) == 0;
	double		worst = first_code == cudaSuccess ? worst_error(test, &data, first) : INFINITY;

	if (!check(worst <= TOLERANCE && repeatable, "%d columns of %d, %lld rows, weights %d, %sshift, %d launches%s",
			   test->p,
			   test->ld, (long long) test->nrows, test->weight_step, test->shifted ? "" : "no ", test->nlaunches,
			   test->border ? ", border" : ""))
		printf("# error 2^%.1f, repeatable %d, offset %d\n", log2(worst), repeatable, test->offset);
	free(first);
	free(second);
	data_free(&data);
}

static void
check_shapes(bool quick)
{
	const int	columns[] = {
		1, 2, 7, 8, 9, 15, 16, 17, 24, 25, 31, 32, 33, 40, 47, 48, 49, 63, 64, 65, 80, 81, 96, 97, 100, 112, 113, 127,
			128, 129,
		192, 193, 200, 256, 257, 300, 385, 513, 1000
	};
	const int	quick_columns[] = {5, 32, 60, 100, 140, 200};
	const int64_t rows[] = {1, 7, 333, 4999};
	const int	ncolumns = quick ? COUNT(quick_columns) : COUNT(columns);
	int			k = 0;

	for (int c = 0; c < ncolumns; c++)
		for (int r = 0; r < COUNT(rows); r++)
			for (int weights = 0; weights < 3; weights++, k++)
			{
				int			p = quick ? quick_columns[c] : columns[c];
				int64_t		nrows = quick ? rows[r] % 500 : rows[r];
				Case		test = {p, p + k % 4 % 3, nrows, k / 2 % 3 == 0, weights, weights > 0 ? k / 3 % 2 == 0 :
					k % 5 == 0,
									k % 3 == 0 ? 3 : 1, k % 4 == 1};

				/* limits the reference's time */
				if (p > 128 && nrows > 333)
					nrows = test.nrows = p > 300 ? 401 : 1501;
				if (quick && weights == 1)
					continue;
				check_case(&test);
				if (nrows > 1 && weights < 2 && !quick)
				{
					test.ld = p;	/* the layout of benchmarks */
					test.offset = 0;
					test.shifted = false;
					check_case(&test);
				}
			}
}

static void
check_edges(void)
{
	WeightedGramPlan plan;
	WeightedGramRows rows = {};
	Case		many = {6, 6, 200001, 0, 0, false, 2, false};
	Case		budget = {140, 141, 700, 0, 2, true, 2, true};

	check(cuda_ok(gr_weighted_gram_plan(&plan, 3, 0)) && cuda_ok(gr_weighted_gram_launch(&plan, &rows, NULL, 0)),
		  "no rows");
	check_case(&many);
	check_case(&budget);
	check(cuda_ok(gr_weighted_gram_plan(&plan, WEIGHTED_GRAM_MAX, 0)) && plan.nsplits[0] == 1 && plan.nsplits[1] == 1,
		  "as many columns as there may be, without a budget");
	for (int p = 65; p <= 2000; p += 97)
	{
		size_t		budget_nbytes = (size_t) p * (size_t) p * 32;

		if (!cuda_ok(gr_weighted_gram_plan(&plan, p, budget_nbytes)) ||
			(plan.partials_ndoubles * sizeof(double) > budget_nbytes && plan.nsplits[0] * plan.nsplits[1] > 1))
		{
			check(false, "budget of %d columns", p);
			return;
		}
	}
	check(true, "budgets");
}

/* Timing */

#define NREPEATS 7

/* Functions of cuBLAS; its enumerations are ints. */
typedef struct Cublas
{
	void	   *handle;
	int			(*create) (void **handle);
	int			(*dsyrk) (void *handle, int uplo, int trans, int n, int k, const double *alpha, const double *a,
						  int lda,
						  const double *beta, double *c, int ldc);
	int			(*dgemm) (void *handle, int transa, int transb, int m, int n, int k, const double *alpha,
						  const double *a,
						  int lda, const double *b, int ldb, const double *beta, double *c, int ldc);
} Cublas;

static bool
cublas_open(Cublas *cublas)
{
	const char *folder = getenv("GPUREG_CUBLAS_DIR");
	const char *const names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so"};
	char		path[4096];
	void	   *library = NULL;

	memset(cublas, 0, sizeof(*cublas));
	for (int k = 0; k < 2 * COUNT(names) && library == NULL; k++)
	{
		snprintf(path, sizeof(path), "%s%s%s", k % 2 == 0 && folder != NULL ? folder : "",
				 k % 2 == 0 && folder != NULL ? "/" : "", names[k / 2]);
		library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	}
	if (library == NULL)
		return false;
	*(void **) &cublas->create = dlsym(library, "cublasCreate_v2");
	*(void **) &cublas->dsyrk = dlsym(library, "cublasDsyrk_v2");
	*(void **) &cublas->dgemm = dlsym(library, "cublasDgemm_v2");
	return cublas->create != NULL && cublas->dsyrk != NULL && cublas->dgemm != NULL &&
		cublas->create(&cublas->handle) == 0;
}

typedef struct BenchShape
{
	int64_t		nrows;
	int			p;
} BenchShape;

/* Times clearing, one launch and the reduction. */
static double
gram_ms(const WeightedGramRows *rows, int p)
{
	const int64_t nentries = gr_triangle(p);
	WeightedGramPlan plan;
	double	   *partials;
	double	   *sums;
	double		ms;

	if (!cuda_ok(gr_weighted_gram_plan(&plan, p, BUDGET_NBYTES)))
		return NAN;
	partials = device_alloc<double>(plan.partials_ndoubles);
	sums = device_alloc<double>((size_t) nentries);
	ms = median_ms(NREPEATS, [&]()
	{
		cuda_ok(cudaMemsetAsync(partials, 0, sizeof(double) * plan.partials_ndoubles, 0));
		cuda_ok(gr_weighted_gram_launch(&plan, rows, partials, 0));
		cuda_ok(gr_weighted_gram_reduce_launch(&plan, partials, NULL, 0, nentries, sums, 0));
	});
	device_free(partials, sums);
	return ms;
}

/* Times cuBLAS on the triangle and on the whole square; 0 without it. */
static void
cublas_ms(const Cublas *cublas, const double *rows, BenchShape shape, double *syrk_ms, double *gemm_ms)
{
	const double one = 1.0;
	const double zero = 0.0;
	const int	n = (int) shape.nrows;
	const int	p = shape.p;
	double	   *sums;

	*syrk_ms = *gemm_ms = 0.0;
	if (cublas->handle == NULL)
		return;
	sums = device_alloc<double>((size_t) p * (size_t) p);
	*gemm_ms = median_ms(NREPEATS, [&]()
	{
		cublas->dgemm(cublas->handle, 0, 1, p, p, n, &one, rows, p, rows, p, &zero, sums, p);
	});
	*syrk_ms = median_ms(NREPEATS, [&]()
	{
		cublas->dsyrk(cublas->handle, 0, 0, p, n, &one, rows, p, &zero, sums, p);
	});
	device_free(sums);
}

static void
bench_shape(const Cublas *cublas, BenchShape shape, double *rows, const double *pairs, const double *shift)
{
	const double nrows = (double) shape.nrows;
	const double read_ms = nrows * shape.p * 8.0 / 4.3e12 * 1e3;
	const double multiply_ms = nrows * shape.p * (shape.p + 1.0) / 67e12 * 1e3;
	const double floor_ms = read_ms > multiply_ms ? read_ms : multiply_ms;
	WeightedGramRows plain = {};
	WeightedGramRows weighted = {};
	double		plain_ms;
	double		weighted_ms;
	double		gemm_ms;
	double		syrk_ms;

	plain.rows = weighted.rows = rows;
	plain.nrows = shape.nrows;
	plain.ld = shape.p;
	/* the layout of a logistic fit: a column less, and pairs of float8 whose first is the weight */
	weighted.nrows = shape.nrows;
	weighted.ld = shape.p;
	weighted.weights = pairs;
	weighted.weight_step = 2;
	weighted.shift = shift;
	plain_ms = gram_ms(&plain, shape.p);
	weighted_ms = shape.p > 1 ? gram_ms(&weighted, shape.p - 1) : 0.0;
	cublas_ms(cublas, rows, shape, &syrk_ms, &gemm_ms);
	printf("{\"bench\": \"weighted_gram\", \"rows\": %lld, \"p\": %d, \"ms\": %.3f, \"floor_ms\": %.3f, "
		   "\"ratio_at_most\": %.1f, \"weighted_ms\": %.3f, \"cublas_dgemm_ms\": %.3f, \"cublas_dsyrk_ms\": %.3f}\n",
		   (long long) shape.nrows, shape.p, plain_ms, floor_ms, shape.p <= 64 ? 1.1 : 1.4, weighted_ms, gemm_ms,
		   syrk_ms);
	fflush(stdout);
}

/* Times the kernel on random rows that repeat every 64 MB. */
static bool
run_bench(const GpuRun *run)
{
	const int	only_p = run->bench_what != NULL ? atoi(run->bench_what) : 0;
	const BenchShape shapes[] = {
		{20000000, 8}, {20000000, 16}, {20000000, 32}, {10000000, 64}, {5000000, 128}, {2000000, 256}, {1000000, 512},
		{500000, 1024}, {10000000, 50}, {5000000, 65}, {5000000, 100}, {2000000, 200}, {500000, 1001}, {200000, 2000}
	};
	const size_t nbytes = (size_t) 20000000 * 32 * sizeof(double);
	const size_t piece = (size_t) 64 << 20;
	double	   *host = (double *) malloc(piece);
	double	   *rows = device_alloc<double>(nbytes / sizeof(double));
	double	   *pairs = device_alloc<double>((size_t) 40000000);
	double	   *shift = device_alloc<double>(4096);
	Cublas		cublas;

	for (size_t i = 0; i < piece / sizeof(double); i++)
		host[i] = random_double();
	for (size_t done = 0; first_code == cudaSuccess && done < nbytes; done += piece)
		cuda_ok(cudaMemcpy((char *) rows + done, host, nbytes - done < piece ? nbytes - done : piece,
						   cudaMemcpyHostToDevice));
	cuda_ok(cudaMemcpy(pairs, rows, sizeof(double) * 40000000, cudaMemcpyDeviceToDevice));
	cuda_ok(cudaMemcpy(shift, host, sizeof(double) * 4096, cudaMemcpyHostToDevice));
	printf("{\"bench\": \"device_copy\", \"gb_per_s\": %.0f}\n", copy_bytes_per_s(1, NREPEATS, rows, nbytes) * 1e-9);
	if (!cublas_open(&cublas))
		printf("# no cuBLAS\n");
	for (int s = 0; s < COUNT(shapes) && first_code == cudaSuccess; s++)
		if (only_p == 0 || shapes[s].p == only_p)
			bench_shape(&cublas, shapes[s], rows, pairs, shift);
	free(host);
	device_free(rows, pairs, shift);
	return first_code == cudaSuccess;
}

static void
run_tests(const GpuRun *run)
{
	check_shapes(run->quick);
	check_edges();
}

int
main(int argc, char **argv)
{
	return kernels_main(argc, argv, run_tests, run_bench);
}
