/*
 * project_gpu_test.cu: tests random projection on the CUDA backend against projection_reference, to the bit.
 *
 * project_gpu_test [--quick] [--bench[=columns|rows|backend]] [--seed=N]: see gpu_harness.h. --bench prints a JSON line
 * per result and a table.
 */
#include "../../kernels/memory.cuh"
#include "../../kernels/project_cuda.cuh"
#include "compute/project/draw.h"
#include "compute/project/projection.h"
#include "gpu_harness.h"
#include "projection_reference.h"

#include <curand_kernel.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KEPT_NBYTES ((size_t) 256 << 20)	/* limit of memory kept between jobs */

static bool quick_run = false;	/* --quick */

/*
 * Draws float4 values of every kind: most in (-1, 1), the rest zeros, subnormal numbers and magnitudes from 1e-30 to
 * 1e30.
 */
static float
random_value(bool wild)
{
	float		x = (float) random_double();

	if (!wild)
		return x;
	switch (random_word() >> 60)
	{
		case 0:
			return 0.0f;
		case 1:
			return -0.0f;
		case 2:
			return x * 1e-42f;
		case 3:
		case 4:
			return x * (float) pow(10.0, (double) (random_word() % 61) - 30.0);
		default:
			return x;
	}
}

static float *
random_vectors(int64_t n, int64_t dim, bool wild)
{
	float	   *x = (float *) malloc(sizeof(float) * (size_t) (n * dim));

	for (int64_t i = 0; i < n * dim; i++)
		x[i] = random_value(wild);
	return x;
}

/* A copy of the device's S */
typedef struct HostMatrix
{
	int64_t    *row_start;
	uint32_t   *entries;
} HostMatrix;

static HostMatrix
fetch_matrix(const ProjectMatrix *matrix)
{
	HostMatrix	s;
	size_t		start_nbytes = sizeof(int64_t) * ((size_t) matrix->k + 1);
	size_t		entries_nbytes = sizeof(uint32_t) * ((size_t) matrix->nnonzeros + PROJECT_PADDING);

	s.row_start = (int64_t *) malloc(start_nbytes);
	s.entries = (uint32_t *) malloc(entries_nbytes);
	cuda_ok(cudaMemcpy(s.row_start, matrix->row_start, start_nbytes, cudaMemcpyDeviceToHost));
	cuda_ok(cudaMemcpy(s.entries, matrix->entries, entries_nbytes, cudaMemcpyDeviceToHost));
	return s;
}

static void
matrix_free(HostMatrix *s)
{
	free(s->row_start);
	free(s->entries);
}

/*
 * True if columns 0 .. ncolumns - 1 are the reference's, and if these are all columns, nothing else is in the matrix.
 */
static bool
same_matrix(const HostMatrix *s, const GrDraw *draw, int64_t dim, int64_t nnonzeros, int64_t ncolumns)
{
	int64_t    *at = (int64_t *) malloc(sizeof(int64_t) * (size_t) draw->k);
	uint32_t   *column = (uint32_t *) malloc(sizeof(uint32_t) * (size_t) draw->k);
	bool		same = s->row_start[0] == 0 && s->row_start[draw->k] == nnonzeros;

	memcpy(at, s->row_start, sizeof(int64_t) * (size_t) draw->k);
	for (int64_t j = 0; same && j < ncolumns; j++)
	{
		int			n = projection_reference_column(draw, j, column);

		for (int m = 0; same && m < n; m++)
		{
			uint32_t	row = column[m] & ~GR_ENTRY_SIGN;

			same = at[row] < s->row_start[row + 1] &&
				s->entries[at[row]++] == ((uint32_t) j | (column[m] & GR_ENTRY_SIGN));
		}
	}
	for (int32_t i = 0; same && ncolumns == dim && i < draw->k; i++)
		same = at[i] == s->row_start[i + 1];
	for (int64_t i = 0; same && i < PROJECT_PADDING; i++)
		same = s->entries[nnonzeros + i] == 0;
	free(at);
	free(column);
	return same;
}

/* Computes projection.h's sums from rows; the reference would draw S for every vector. */
static float
row_sum(const uint32_t *entries, int64_t n, const float *x, double scale)
{
	double		total = 0.0;
	double		part = 0.0;
	uint32_t	chunk = 0;

	for (int64_t e = 0; e < n; e++)
	{
		uint32_t	j = entries[e] & ~GR_ENTRY_SIGN;

		if (j / GR_CHUNK_NCOLS != chunk)
		{
			total += part;
			part = 0.0;
			chunk = j / GR_CHUNK_NCOLS;
		}
		part += entries[e] & GR_ENTRY_SIGN ? -(double) x[j] : (double) x[j];
	}
	return (float) ((total + part) * scale);
}

static float *
expected_vectors(const HostMatrix *s, const GrDraw *draw, const float *x, int64_t n, int64_t dim)
{
	float	   *y = (float *) malloc(sizeof(float) * (size_t) (n * draw->k));

	for (int64_t v = 0; v < n; v++)
		for (int64_t i = 0; i < draw->k; i++)
			y[v * draw->k + i] = row_sum(s->entries + s->row_start[i], s->row_start[i + 1] - s->row_start[i], x +
										 v * dim,
										 draw->scale);
	return y;
}

static bool
take(GrProject *project, float *y, int32_t k, int64_t *ntaken, GrError *err)
{
	const float *projected;
	int64_t		n;

	if (!gpu->projector->take(project, &projected, &n, err))
		return false;
	memcpy(y + *ntaken * k, projected, sizeof(float) * (size_t) (n * k));
	*ntaken += n;
	return true;
}

/* Checks that every vector put into a job comes out, in order. ragged: batches of changing sizes, some empty. */
static bool
run_job(GrProject *project, const float *x, int64_t n, int64_t dim, int32_t k, bool ragged, float *y, GrError *err)
{
	int64_t		nsent = 0;
	int64_t		ntaken = 0;
	int			nblocks = 0;
	int			nunder_way = 0;
	bool		ok = true;

	memset(y, 0xff, sizeof(float) * (size_t) (n * k));
	while (ok && nsent < n)
	{
		float	   *block;
		int64_t		capacity;
		int64_t		m;

		if (nunder_way == GR_PROJECT_NSLOTS)
		{
			ok = take(project, y, k, &ntaken, err);
			nunder_way--;
		}
		ok = ok && gpu->projector->block(project, &block, &capacity, err);
		if (!ok)
			break;
		m = ragged ? (nblocks * 37 + 3) % (capacity + 1) : capacity;
		if (ragged && nblocks % 5 == 4)
			m = capacity;
		nblocks++;
		if (m > n - nsent)
			m = n - nsent;
		memset(block, 0xff, sizeof(float) * (size_t) (capacity * dim));
		memcpy(block, x + nsent * dim, sizeof(float) * (size_t) (m * dim));
		ok = gpu->projector->submit(project, m, NULL, err);
		nsent += m;
		nunder_way += m > 0;
	}
	while (ok && nunder_way-- > 0)
		ok = take(project, y, k, &ntaken, err);
	return ok && ntaken == n;
}

static GrProjectOptions
make_options(const GrDraw *draw, int64_t dim, int64_t nvectors, size_t block_nbytes, size_t cache_nbytes)
{
	GrProjectOptions options = {draw, dim, nvectors, block_nbytes, 0, cache_nbytes, NULL};

	return options;
}

/* Checks batches of n vectors through the backend in blocks of different sizes, twice. */
static bool
check_batch(GrSession *session, const GrDraw *draw, const HostMatrix *s, int64_t dim, int64_t n)
{
	const int64_t blocks[] = {1, 3, 32, 40, n, 1100};
	float	   *x = random_vectors(n, dim, n % 2 == 1);
	float	   *want = expected_vectors(s, draw, x, n, dim);
	float	   *y = (float *) malloc(sizeof(float) * (size_t) (n * draw->k));
	const size_t nbytes = sizeof(float) * (size_t) (n * draw->k);
	bool		ok = true;

	for (int b = 0; ok && b < COUNT(blocks); b++)
		for (int ragged = 0; ok && ragged < 2; ragged++)
		{
			int64_t		longest = dim > draw->k ? dim : draw->k;
			size_t		block_nbytes = sizeof(float) * (size_t) (blocks[b] * longest);
			GrProjectOptions options = make_options(draw, dim, ragged ? 0 : n, block_nbytes, (size_t) 1 << 30);
			GrProject  *project = NULL;
			GrTimes		times;
			GrError		err = {};

			/* many batches of one vector prove nothing more, nor does a large block for few vectors */
			if ((blocks[b] < 32 && n > 40) || (block_nbytes > (size_t) 64 << 20 && blocks[b] > n))
				continue;
			ok = gpu->projector->begin(session, &options, NULL, &project, &err);
			for (int pass = 0; ok && pass < 2; pass++)
				ok = run_job(project, x, n, dim, draw->k, ragged != 0, y, &err) && memcmp(y, want, nbytes) == 0;
			if (ok)
			{
				gpu->projector->times(project, &times);
				ok = times.bytes_to_device == 2 * (int64_t) sizeof(float) * n * dim && times.copy_s > 0.0 &&
					times.kernel_s > 0.0;
			}
			if (!ok)
				printf("# block of %lld vectors, ragged %d: %s\n", (long long) blocks[b], ragged, err.detail);
			gpu->projector->end(project);
		}
	free(x);
	free(want);
	free(y);
	return ok;
}

/* Checks the fused kernel alone, on an S of one chunk. */
static bool
check_fused(const ProjectMatrix *matrix, const GrDraw *draw, const HostMatrix *s, int64_t n)
{
	const int64_t dim = matrix->dim;
	ProjectMatrix with = *matrix;
	float	   *x = random_vectors(n, dim, true);
	float	   *want = expected_vectors(s, draw, x, n, dim);
	float	   *y = (float *) malloc(sizeof(float) * (size_t) (n * draw->k));
	const size_t x_nbytes = sizeof(float) * (size_t) (n * dim);
	const size_t y_nbytes = sizeof(float) * (size_t) (n * draw->k);
	size_t		start_nbytes;
	size_t		program_nbytes;
	size_t		scratch_nbytes;
	uint32_t   *start = NULL;
	uint2	   *program = NULL;
	void	   *scratch = NULL;
	float	   *device_x = NULL;
	float	   *device_y = NULL;

	cuda_ok(gr_project_program_sizes(matrix->k, dim, matrix->nnonzeros, &start_nbytes, &program_nbytes,
									 &scratch_nbytes));
	cuda_ok(cudaMalloc((void **) &start, start_nbytes));
	cuda_ok(cudaMalloc((void **) &program, program_nbytes));
	cuda_ok(cudaMalloc((void **) &scratch, scratch_nbytes + 1));
	cuda_ok(cudaMalloc((void **) &device_x, x_nbytes));
	cuda_ok(cudaMalloc((void **) &device_y, y_nbytes));
	cuda_ok(cudaMemcpy(device_x, x, x_nbytes, cudaMemcpyHostToDevice));
	cuda_ok(cudaMemset(device_y, 0xff, y_nbytes));
	cuda_ok(cudaMemset(program, 0, program_nbytes));
	cuda_ok(gr_project_program_launch(matrix, start, program, scratch, scratch_nbytes, 0));
	with.program_start = start;
	with.program = program;
	cuda_ok(gr_project_fused_launch(&with, device_x, n, device_y, 0));
	cuda_ok(cudaMemcpy(y, device_y, y_nbytes, cudaMemcpyDeviceToHost));
	device_free(start, program, scratch, device_x, device_y);

	bool		same = first_code == cudaSuccess && memcmp(y, want, y_nbytes) == 0;

	free(x);
	free(want);
	free(y);
	return same;
}

/* Checks S, the fused kernel where it may be used, and batches; the first vector's results against the reference. */
static void
check_shape(GrSession *session, int64_t k, double density, int64_t dim, bool quick)
{
	const int64_t batches[] = {1, 2, 3, 7, 31, 32, 33, 100, 1500};
	const int64_t quick_batches[] = {1, 3, 33};
	GrDraw		draw;
	GrProject  *project = NULL;
	GrError		err = {};
	const uint64_t seed = random_word();
	bool		ok = gr_draw_init(&draw, k, seed, density, &err);
	GrProjectOptions options = make_options(&draw, dim, 1, 0, (size_t) 1 << 30);

	ok = ok && gpu->projector->begin(session, &options, NULL, &project, &err);
	if (!check(ok, "k = %lld, density %g, %lld columns: begins", (long long) k, density, (long long) dim))
	{
		printf("# %s\n", err.detail);
		gpu->projector->end(project);
		return;
	}

	const ProjectMatrix *matrix = &gr_cuda_project_kept(project)->matrix;
	HostMatrix	s = fetch_matrix(matrix);
	bool		same = same_matrix(&s, &draw, dim, matrix->nnonzeros, dim);
	float	   *x = random_vectors(1, dim, true);
	float	   *y = (float *) malloc(sizeof(float) * (size_t) k);
	float	   *want = (float *) malloc(sizeof(float) * (size_t) k);

	projection_reference(&draw, x, dim, want);
	ok = run_job(project, x, 1, dim, draw.k, false, y, &err) && memcmp(y, want, sizeof(float) * (size_t) k) == 0;
	check(same && ok, "... S, and a vector");
	if (dim <= GR_CHUNK_NCOLS && k <= 1024 && gr_project_wants_program((int32_t) k, dim, 1 << 20))
		check(check_fused(matrix, &draw, &s, quick ? 65 : 130), "... the fused kernel");
	for (int b = 0; b < (quick ? COUNT(quick_batches) : COUNT(batches)); b++)
	{
		int64_t		n = quick ? quick_batches[b] : batches[b];

		/* at most the work that the host does in good time */
		if (n > 2 && (double) n * (double) (matrix->nnonzeros + dim) > (dim > PROJECT_SEGMENT ? 3e8 : 1e8))
			continue;
		check(check_batch(session, &draw, &s, dim, n), "... %lld vectors", (long long) n);
	}
	gpu->projector->end(project);
	matrix_free(&s);
	free(x);
	free(y);
	free(want);
}

typedef struct Shape
{
	int64_t		k;
	double		density;
	int64_t		dim;
} Shape;

static void
check_shapes(GrSession *session, bool quick)
{
	const Shape shapes[] = {
		{1, 1.0, 1}, {1, 0.5, 1}, {7, 1.0, 31}, {7, 0.9, 31}, {128, 1.0, 1000}, {129, 1.0, 1000}, {300, 0.5, 1000},
		{64, 1.0 / 3, 384}, {65, 1.0 / 3, 385}, {63, 1.0 / 8, 383}, {256, 1.0 / 64, 4096}, {1000, 1.0 / 64, 5000},
		{1024, 1e-3, 65535},
		{50, 1e-3, 65536}, {50, 1e-3, 65537}, {3, 1.0 / 8, 200001}, {1, 0.9, 200001}, {17, 1.0 / 64, 200001},
		{300, 1e-3, 200001},
		{20000, 1e-3, 1000}, {20000, 1e-3, 65537}, {20000, 1e-6, 200001}, {5000, 1.0 / 8, 31}, {70000, 1e-3, 3000},
		{1, 1e-6, 1000},
		{130, 1.0, 65537}, {100, 0.1, 100}, {16, 0.5, 65536}, {40, 1e-4, 8388609}
	};
	const Shape quick_shapes[] = {
		{1, 0.5, 1}, {130, 1.0, 33}, {65, 1.0 / 3, 400}, {600, 1.0 / 8, 100}, {2, 1.0 / 8, 70001}, {40, 1e-3, 66000},
		{70000, 1e-3, 40}
	};

	for (int i = 0; i < (quick ? COUNT(quick_shapes) : COUNT(shapes)); i++)
	{
		const Shape *shape = quick ? &quick_shapes[i] : &shapes[i];

		check_shape(session, shape->k, shape->density, shape->dim, quick);
	}
}

/* Checks that nonzeros beyond shared memory's room give the same pairs. */
static void
check_room(void)
{
	GrDraw		draw;
	GrError		err = {};
	ProjectDrawing drawing;
	int64_t    *counts = NULL;
	void	   *scan = NULL;
	void	   *keys = NULL;
	uint32_t   *values = NULL;
	int64_t		total = 0;
	uint16_t   *host_keys[2];
	uint32_t   *host_values[2];

	(void) gr_draw_init(&draw, 5000, 77, 1.0 / 64, &err);
	cuda_ok(gr_project_drawing(&drawing, &draw, 301));
	cuda_ok(cudaMalloc((void **) &counts, sizeof(int64_t) * (size_t) (drawing.nblocks + 1)));
	cuda_ok(cudaMalloc(&scan, drawing.scan_nbytes));
	cuda_ok(gr_project_count_launch(&drawing, 0, drawing.nblocks, counts, 0));
	cuda_ok(gr_project_scan_launch(&drawing, counts, scan, 0));
	cuda_ok(cudaMemcpy(&total, counts + drawing.nblocks, sizeof(total), cudaMemcpyDeviceToHost));
	cuda_ok(cudaMalloc(&keys, sizeof(uint16_t) * (size_t) total));
	cuda_ok(cudaMalloc((void **) &values, sizeof(uint32_t) * (size_t) total));
	for (int i = 0; i < 2; i++)
	{
		host_keys[i] = (uint16_t *) malloc(sizeof(uint16_t) * (size_t) total);
		host_values[i] = (uint32_t *) malloc(sizeof(uint32_t) * (size_t) total);
		cuda_ok(cudaMemset(keys, 0xff, sizeof(uint16_t) * (size_t) total));
		cuda_ok(cudaMemset(values, 0xff, sizeof(uint32_t) * (size_t) total));
		cuda_ok(gr_project_draw_launch(&drawing, 0, drawing.nblocks, counts, keys, values, 0));
		cuda_ok(cudaMemcpy(host_keys[i], keys, sizeof(uint16_t) * (size_t) total, cudaMemcpyDeviceToHost));
		cuda_ok(cudaMemcpy(host_values[i], values, sizeof(uint32_t) * (size_t) total, cudaMemcpyDeviceToHost));
		drawing.room = 0;
	}
	check(first_code == cudaSuccess && total > 0 &&
		  memcmp(host_keys[0], host_keys[1], sizeof(uint16_t) * (size_t) total) == 0 &&
		  memcmp(host_values[0], host_values[1], sizeof(uint32_t) * (size_t) total) == 0,
		  "nonzeros beyond shared memory's room");
	for (int i = 0; i < 2; i++)
	{
		free(host_keys[i]);
		free(host_values[i]);
	}
	device_free(counts, scan, keys, values);
}

/* Returns the device memory in use, without the memory that the process keeps between jobs. */
static size_t
free_nbytes(void)
{
	size_t		nbytes_free = 0;
	size_t		nbytes_total;
	int			device = 0;

	cuda_ok(cudaGetDevice(&device));
	cuda_ok(cudaDeviceSynchronize());
	gr_memory_forget(device);
	cuda_ok(cudaMemGetInfo(&nbytes_free, &nbytes_total));
	gr_memory_keep(device, KEPT_NBYTES);
	return nbytes_free;
}

/*
 * True if as much memory is free as before, up to slack. Other programs take and return device memory, too: with
 * --quick several tests run at the same time, so this may wait.
 */
static bool
memory_is_back(size_t before, size_t slack_nbytes)
{
	for (int waits = quick_run ? 900 : 0; free_nbytes() + slack_nbytes < before; waits--)
	{
		if (waits == 0)
			return false;
		(void) usleep(100000);
	}
	return true;
}

/* Begins and ends a job; reports where S was on the device, and if the session had kept it. */
static bool
touch(GrSession *session, const GrDraw *draw, int64_t dim, size_t cache_nbytes, size_t *s_nbytes, bool *drawn)
{
	GrProjectOptions options = make_options(draw, dim, 1, 0, cache_nbytes);
	GrProject  *project = NULL;
	GrTimes		times = {};
	GrError		err = {};
	bool		ok = gpu->projector->begin(session, &options, NULL, &project, &err);

	if (ok)
	{
		gpu->projector->times(project, &times);
		*s_nbytes = gr_cuda_project_kept(project)->nbytes;
		*drawn = times.kernel_s > 0.0;
	}
	else
		printf("# %s\n", err.detail);
	gpu->projector->end(project);
	return ok;
}

static void
check_keeping(GrSession *session, int64_t dim)
{
	GrDraw		draws[3];
	GrError		err = {};
	size_t		nbytes = 0;
	size_t		before;
	bool		drawn = false;
	bool		ok = true;

	for (int i = 0; i < 3; i++)
		ok = ok && gr_draw_init(&draws[i], 1000, (uint64_t) i, 0.01, &err);
	ok = ok && touch(session, &draws[0], dim, 0, &nbytes, &drawn);
	before = free_nbytes();
	ok = ok && touch(session, &draws[0], dim, 0, &nbytes, &drawn) && drawn;
	check(ok && memory_is_back(before, 0), "nothing is kept where nothing may be");
	ok = touch(session, &draws[0], dim, nbytes - 1, &nbytes, &drawn) && drawn;
	check(ok && memory_is_back(before, (size_t) 16 << 20), "nor an S that is larger than what may be kept");

	const size_t two = 2 * nbytes + nbytes / 2;

	ok = touch(session, &draws[0], dim, two, &nbytes, &drawn) && drawn &&
		touch(session, &draws[0], dim, two, &nbytes, &drawn) &&
		!drawn;
	check(ok, "S is kept");
	ok = touch(session, &draws[1], dim, two, &nbytes, &drawn) && drawn &&
		touch(session, &draws[0], dim, two, &nbytes, &drawn) &&
		!drawn && touch(session, &draws[2], dim, two, &nbytes, &drawn) && drawn;
	check(ok && touch(session, &draws[0], dim, two, &nbytes, &drawn) && !drawn, "the one used of late stays");
	check(ok && touch(session, &draws[1], dim, two, &nbytes, &drawn) && drawn, "the other one is given up");
	check(touch(session, &draws[1], dim + 1, two, &nbytes, &drawn) && drawn, "another length, another S");
	ok = touch(session, &draws[0], dim, 0, &nbytes, &drawn);
	check(ok && memory_is_back(before, (size_t) 16 << 20), "a job that keeps nothing clears what was kept");
}

/* Checks that a job keeps its S when another job gives it up. */
static void
check_sharing(GrSession *session)
{
	GrDraw		draws[2];
	GrError		err = {};
	GrProject  *first = NULL;
	size_t		nbytes = 0;
	bool		drawn;
	const int64_t dim = 3000;
	const int32_t k = 200;
	float	   *x = random_vectors(5, dim, false);
	float	   *y = (float *) malloc(sizeof(float) * 5 * k);
	float	   *again = (float *) malloc(sizeof(float) * 5 * k);
	bool		ok = gr_draw_init(&draws[0], k, 5, 0.1, &err) && gr_draw_init(&draws[1], k, 6, 0.1, &err);
	GrProjectOptions options = make_options(&draws[0], dim, 0, 100000, (size_t) 1 << 20);

	ok = ok && gpu->projector->begin(session, &options, NULL, &first, &err) &&
		run_job(first, x, 5, dim, k, false, y, &err) &&
		touch(session, &draws[0], dim, (size_t) 1 << 20, &nbytes, &drawn) && !drawn &&
		touch(session, &draws[1], dim, nbytes + nbytes / 2, &nbytes, &drawn) && drawn &&
		run_job(first, x, 5, dim, k, false, again, &err);
	check(ok && memcmp(y, again, sizeof(float) * 5 * k) == 0, "S that is in use isn't given up under its user");
	gpu->projector->end(first);
	free(x);
	free(y);
	free(again);
}

/* Checks that single vectors, a job each, neither take nor leave memory. */
static void
check_single(GrSession *session)
{
	GrDraw		draw;
	GrError		err = {};
	size_t		before = 0;
	const int64_t dim = 1000;
	float	   *x = random_vectors(20, dim, true);
	float		y[100];
	float		want[100];
	bool		ok = gr_draw_init(&draw, 100, 9, 0.05, &err);

	for (int v = 0; ok && v < 20; v++)
	{
		GrProjectOptions options = make_options(&draw, dim, 1, (size_t) 4 << 20, (size_t) 64 << 20);
		GrProject  *project = NULL;

		ok = gpu->projector->begin(session, &options, NULL, &project, &err) &&
			run_job(project, x + v * dim, 1, dim, 100, false, y, &err);
		gpu->projector->end(project);
		projection_reference(&draw, x + v * dim, dim, want);
		ok = ok && memcmp(y, want, sizeof(y)) == 0;
		if (v == 0)
			before = free_nbytes();
	}
	check(ok && memory_is_back(before, 0), "single vectors, a job each");
	free(x);
}

static void
check_limits(GrSession *session, int64_t dim)
{
	GrDraw		draw;
	GrError		err = {};
	size_t		before = 0;
	GrProject  *project = NULL;
	bool		ok = gr_draw_init(&draw, 1000, 3, 0.01, &err);
	GrProjectOptions options = make_options(&draw, dim, 0, (size_t) 1 << 20, 0);

	before = free_nbytes();
	options.memory_limit = 1000;
	ok = ok && !gpu->projector->begin(session, &options, NULL, &project, &err);
	gpu->projector->end(project);
	check(ok && err.status == GR_DEVICE_MEMORY && err.bytes_free == 1000 && err.bytes_needed > 1000,
		  "a memory limit is kept");

	err = GrError();
	options.memory_limit = 0;
	(void) gr_draw_init(&draw, 1000000, 3, 1.0, &err);
	options.dim = 100000000;
	ok = !gpu->projector->begin(session, &options, NULL, &project, &err);
	gpu->projector->end(project);
	check(ok && err.status == GR_DEVICE_MEMORY && err.bytes_needed > err.bytes_free && err.bytes_free > 0,
		  "more memory than there is");

	for (int polls = 0; polls < 3; polls++)
	{
		Stopper		stopper = {0, polls + 1};
		GrHost		host = {stop, &stopper, NULL};

		err = GrError();
		(void) gr_draw_init(&draw, 1000, 3, 0.01, &err);
		options.dim = dim;
		ok = !gpu->projector->begin(session, &options, &host, &project, &err);
		gpu->projector->end(project);
		check(ok && err.status == GR_CANCELED, "canceled at look %d", polls + 1);
	}
	check(memory_is_back(before, 0), "failures leave no memory behind");
}

static void
check_misuse(GrSession *session)
{
	GrDraw		draw;
	GrError		err = {};
	GrProject  *project = NULL;
	const float *y;
	float	   *block = NULL;
	int64_t		capacity = 0;
	bool		ok = gr_draw_init(&draw, 10, 3, 0.5, &err);
	GrProjectOptions options = make_options(&draw, 0, 0, 4096, 0);

	ok = ok && !gpu->projector->begin(session, &options, NULL, &project, &err);
	check(ok && err.status == GR_INVALID && project == NULL, "no columns");
	err = GrError();
	options.dim = 32;
	ok = gpu->projector->begin(session, &options, NULL, &project, &err);
	check(ok && !gpu->projector->take(project, &y, &capacity, &err) && err.status == GR_INVALID, "nothing to take");
	err = GrError();
	ok = ok && gpu->projector->block(project, &block, &capacity, &err);
	check(ok && capacity == 32, "a block holds what was asked for");
	check(ok && !gpu->projector->submit(project, capacity + 1, NULL, &err) && err.status == GR_INVALID,
		  "too many vectors");
	err = GrError();
	memset(block, 0, 4096);
	ok = ok && gpu->projector->submit(project, capacity, NULL, &err);
	check(ok && !gpu->projector->submit(project, 1, NULL, &err) && err.status == GR_INVALID,
		  "a block is submitted once");
	err = GrError();
	ok = ok && gpu->projector->block(project, &block, &capacity, &err) &&
		gpu->projector->submit(project, capacity, NULL, &err);
	check(ok && !gpu->projector->block(project, &block, &capacity, &err) && err.status == GR_INVALID,
		  "too many batches under way");
	gpu->projector->end(project);	/* while work is under way */
	gpu->projector->end(NULL);
}

/* Checks that a session gives back the memory it kept. */
static void
check_closing(const GrSession *session, int64_t dim)
{
	GrOpenOptions options = {gpu->device->describe(session)->id, false};
	GrSession  *other = NULL;
	GrDraw		draw;
	GrError		err = {};
	size_t		nbytes = 0;
	bool		drawn;
	size_t		before = free_nbytes();
	bool		ok = gpu->device->open(&other, &options, &err) && gr_draw_init(&draw, 1000, 1, 0.01, &err) &&
		touch(other, &draw, dim, (size_t) 1 << 30, &nbytes, &drawn) && (quick_run || free_nbytes() + nbytes <= before);

	gpu->device->close(other);
	check(ok && memory_is_back(before, 0), "a session that closes gives back what it kept");
}

#include "project_gpu_philox.h"
#include "project_gpu_bench.h"

static void
run_tests(const GpuRun *run)
{
	GrSession  *session = run->session;

	quick_run = run->quick;
	check_philox();
	check_room();
	check_shapes(session, quick_run);
	check_single(session);
	check_sharing(session);
	check_misuse(session);
	check_keeping(session, quick_run ? 30000 : 1000000);
	check_limits(session, quick_run ? 20000 : 500000);
	check_closing(session, quick_run ? 30000 : 1000000);
	check(first_code == cudaSuccess, "no call failed");
}

int
main(int argc, char **argv)
{
	(void) setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
	return backend_main(argc, argv, run_tests, run_bench);
}
