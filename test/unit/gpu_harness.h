/*
 * gpu_harness.h: shared by the GPU unit tests: main() with its options, a device (or skipping without one), random
 * numbers, memory on the device, and timing.
 *
 * All of them take [--quick] [--bench[=WHAT]] [--seed=N]. Without a device they skip. --quick runs few shapes, for
 * memory and race checkers; --bench times instead of testing.
 */
#ifndef GPUREG_GPU_HARNESS_H
#define GPUREG_GPU_HARNESS_H

#include "compute/backend/backend.h"
#include "compute/base/compute.h"
#include "unit.h"

#include <cuda_runtime.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const GrBackend *const gpu = &gr_backend_cuda;

/*
 * Random numbers
 */

static uint64_t random_state;

/* Returns the next word of xorshift64*. */
static inline uint64_t
random_word(void)
{
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return random_state * UINT64_C(2685821657736338717);
}

/* Returns a number in (-1, 1) with all 53 bits in use. */
static inline double
random_double(void)
{
	return (double) (int64_t) random_word() * 0x1p-63;
}

/*
 * Calls of the runtime
 */

static cudaError_t first_code = cudaSuccess;	/* the first call that failed */

/* True if all calls have succeeded so far; prints the first failure. */
static inline bool
cuda_ok(cudaError_t code)
{
	if (code != cudaSuccess && first_code == cudaSuccess)
	{
		first_code = code;
		printf("# %s\n", cudaGetErrorString(code));
	}
	return first_code == cudaSuccess;
}

/* Allocates n elements on the device; NULL if memory is short. */
template <typename T>
static T *
device_alloc(size_t n)
{
	T		   *memory = NULL;

	cuda_ok(cudaMalloc((void **) &memory, sizeof(T) * (n > 0 ? n : 1)));
	return memory;
}

template <typename T>
static T *
to_device(const T *values, size_t n)
{
	T		   *memory = device_alloc<T>(n);

	if (memory != NULL)
		cuda_ok(cudaMemcpy(memory, values, sizeof(T) * n, cudaMemcpyHostToDevice));
	return memory;
}

template <typename... T>
static void
device_free(T *... memory)
{
	(cuda_ok(cudaFree(memory)), ...);
}

/*
 * Timing
 */

#define MAX_REPEATS 15

static inline double
now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double) t.tv_sec * 1e3 + (double) t.tv_nsec * 1e-6;
}

static inline int
compare_doubles(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return x < y ? -1 : x > y;
}

/* Returns the median, and sorts the values. */
static inline double
median(double *values, int n)
{
	qsort(values, (size_t) n, sizeof(double), compare_doubles);
	return values[n / 2];
}

/*
 * Returns the median time of work on the device in ms, by the device's clock, or NaN if a call failed: of nrepeats
 * runs, at most MAX_REPEATS, after nwarm untimed ones. before: runs before each work, untimed.
 */
template <typename Before, typename Work>
static double
median_ms(int nwarm, int nrepeats, Before before, Work work)
{
	cudaEvent_t begin;
	cudaEvent_t end;
	double		times_ms[MAX_REPEATS];

	if (!cuda_ok(cudaEventCreate(&begin)) || !cuda_ok(cudaEventCreate(&end)))
		return NAN;
	for (int i = -nwarm; i < nrepeats; i++)
	{
		float		elapsed_ms = 0.0f;

		before();
		cuda_ok(cudaEventRecord(begin, 0));
		work();
		cuda_ok(cudaEventRecord(end, 0));
		cuda_ok(cudaEventSynchronize(end));
		cuda_ok(cudaEventElapsedTime(&elapsed_ms, begin, end));
		if (i >= 0)
			times_ms[i] = elapsed_ms;
	}
	cuda_ok(cudaEventDestroy(begin));
	cuda_ok(cudaEventDestroy(end));
	return first_code == cudaSuccess ? median(times_ms, nrepeats) : NAN;
}

/* Returns the median time of work after one untimed run. */
template <typename Work>
static double
median_ms(int nrepeats, Work work)
{
	return median_ms(1, nrepeats, []() {}, work);
}

/*
 * Returns bytes per second, read and written, of copies from the second half of nbytes to the first: the bandwidth that
 * floors are computed with.
 */
static inline double
copy_bytes_per_s(int nwarm, int nrepeats, void *memory, size_t nbytes)
{
	return (double) nbytes * 1e3 / median_ms(nwarm, nrepeats, []() {}, [=]()
	{
		cuda_ok(cudaMemcpyAsync(memory, (char *) memory + nbytes / 2, nbytes / 2, cudaMemcpyDeviceToDevice, 0));
	});
}

/*
 * Programs
 */

typedef struct GpuRun
{
	int			argc;
	char	  **argv;
	GrSession  *session;		/* NULL if the program needs none */
	bool		quick;
	bool		bench;
	const char *bench_what;		/* NULL if --bench has no value */
} GpuRun;

/* A program's tests, and its timings, which return false if they failed */
typedef void (*GpuTests) (const GpuRun *run);
typedef bool (*GpuBench) (const GpuRun *run);

/* Returns the text behind an option, whose name ends in '='; the last one counts. NULL without the option. */
static inline const char *
option_value(int argc, char **argv, const char *option)
{
	const char *value = NULL;

	for (int i = 1; i < argc; i++)
		if (strncmp(argv[i], option, strlen(option)) == 0)
			value = argv[i] + strlen(option);
	return value;
}

static inline GpuRun
gpu_options(int argc, char **argv)
{
	const char *seed = option_value(argc, argv, "--seed=");
	GpuRun		run = {argc, argv, NULL, false, false, option_value(argc, argv, "--bench=")};

	random_state = (uint64_t) time(NULL) * 2654435761u + 1;
	if (seed != NULL)
		random_state = strtoull(seed, NULL, 10) * 2 + 1;
	for (int i = 1; i < argc; i++)
	{
		run.quick = run.quick || strcmp(argv[i], "--quick") == 0;
		run.bench = run.bench || strncmp(argv[i], "--bench", 7) == 0;
	}
	return run;
}

/* Runs tests or timings, and closes the session if there is one. Returns main()'s status. */
static inline int
gpu_run(const GpuRun *run, GpuTests tests, GpuBench bench)
{
	if (run->bench)
	{
		bool		ok = bench(run);

		gpu->device->close(run->session);
		return ok ? 0 : 1;
	}
	printf("# seed state %llu\n", (unsigned long long) random_state);
	tests(run);
	gpu->device->close(run->session);
	return unit_done();
}

/* main() of tests of the backend, which need a session */
static inline int
backend_main(int argc, char **argv, GpuTests tests, GpuBench bench)
{
	GpuRun		run = gpu_options(argc, argv);
	GrOpenOptions options = {-1, false};
	GrError		err = {};

	if (!gpu->device->open(&run.session, &options, &err))
	{
		gpu->device->close(run.session);
		if (err.status == GR_NO_DEVICE)
		{
			printf("1..0 # SKIP no CUDA device: %s\n", err.detail);
			return 0;
		}
		check(false, "open: %s", err.detail);
		return unit_done();
	}
	return gpu_run(&run, tests, bench);
}

/* main() of tests of single kernels, which need only a device */
static inline int
kernels_main(int argc, char **argv, GpuTests tests, GpuBench bench)
{
	GpuRun		run = gpu_options(argc, argv);
	int			ndevices = 0;

	if (cudaGetDeviceCount(&ndevices) != cudaSuccess || ndevices == 0)
	{
		printf("1..0 # SKIP no CUDA device\n");
		return 0;
	}
	return gpu_run(&run, tests, bench);
}

/* Returns |got - want| / scale; 0 if they are equal, infinite if a NaN is among them. */
static inline double
scaled_error(double got, double want, double scale)
{
	double		error = fabs(got - want) / scale;

	if (got == want)
		return 0.0;
	return error == error ? error : INFINITY;
}

/*
 * Returns the largest difference of the packed entries of n rows and columns, relative to the geometric means of the
 * diagonal's entries.
 */
static inline double
matrix_error(const double *got, const double *want, int64_t n)
{
	double		worst = 0.0;

	for (int64_t i = 0; i < n; i++)
		for (int64_t j = 0; j <= i; j++)
		{
			int64_t		k = gr_triangle(i) + j;

			worst = fmax(worst, scaled_error(got[k], want[k],
											 sqrt(want[gr_triangle(i) + i]) * sqrt(want[gr_triangle(j) + j])));
		}
	return worst;
}

#endif							/* GPUREG_GPU_HARNESS_H */
