/*
 * project_gpu_bench.h: project_gpu_test --bench: times random projection's kernels on resident data, with their floors.
 *
 * The first shape is that of a published write-up (32 vectors of length 10,000,000, k = 16,384, density 1/10,000),
 * whose third kernel draws S anew in every call. Times are medians of device events; results are checked before they
 * are timed.
 */
#ifndef GPUREG_PROJECT_GPU_BENCH_H
#define GPUREG_PROJECT_GPU_BENCH_H

#define NREPEATS 15

/* Returns the median time of work after two untimed runs. */
template <typename Work>
static double
median_ms(Work work)
{
	return median_ms(2, NREPEATS, []() {}, work);
}

/* The table, which is printed last */
static char bench_table[65536];
static size_t bench_table_nbytes;

static void
print_result(const char *what, int64_t dim, int64_t k, double density, int64_t nvectors, double ms, double floor_ms)
{
	printf("{\"bench\" : \"project: %s\", \"columns\" : %lld, \"k\" : %lld, \"density\" : %g, "
		   "\"vectors\" : %lld, \"ms\" : %.4f, \"floor_ms\" : %.4f", what,
		   (long long) dim, (long long) k, density, (long long) nvectors, ms, floor_ms);
	if (dim == 10000000 && nvectors == 32 && (strcmp(what, "apply") == 0 || strcmp(what, "draw") == 0))
		printf(", \"ms_at_most\" : %g", strcmp(what, "apply") == 0 ? 0.45 : 1.0);
	printf("}\n");
	if (bench_table_nbytes + 256 < sizeof(bench_table))
		bench_table_nbytes += (size_t) snprintf(bench_table + bench_table_nbytes, 256,
												"# %-40s %9lld x %5lld p %-9.3g %7lld | %9.3f %9.3f\n", what,
												(long long) dim,
												(long long) k, density, (long long) nvectors, ms, floor_ms);
}

/* Prints a line if a result is wrong. */
static bool
bench_check(bool passed, const char *what)
{
	if (!passed)
	{
		unit_failed++;
		printf("# wrong: %s\n", what);
	}
	return passed;
}

/* Returns element i of the vectors, in (-1, 1), the same on host and device. */
GR_HD float
bench_value(uint64_t i)
{
	uint64_t	h = (i + 1) * UINT64_C(0x9E3779B97F4A7C15);

	h = (h ^ (h >> 29)) * UINT64_C(0xBF58476D1CE4E5B9);
	return (float) (int32_t) (h >> 32) * 0x1p-31f;
}

static __global__ void
bench_fill_kernel(float *x, int64_t n)
{
	for (int64_t i = (int64_t) blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (int64_t) gridDim.x * blockDim.x)
		x[i] = bench_value((uint64_t) i);
}

/* Reads everything once. */
static __global__ void
bench_read_kernel(const float4 *x, int64_t n, float *out)
{
	float		sum = 0.0f;

#pragma unroll 4
	for (int64_t i = (int64_t) blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (int64_t) gridDim.x * blockDim.x)
	{
		float4		v = __ldg(x + i);

		sum += v.x + v.y + v.z + v.w;
	}
	if (sum == 12345.678f)
		*out = sum;
}

/* Sums entries that are drawn already: a warp per row, a lane per vector, in float4. */
static __global__ void
bench_gather_kernel(const int64_t *row_start, const uint32_t *entries, int k, const float *x, float *y)
{
	const int64_t row = ((int64_t) blockIdx.x * blockDim.x + threadIdx.x) / 32;
	const int	lane = threadIdx.x % 32;
	float		sum = 0.0f;

	if (row >= k)
		return;

	const int64_t end = row_start[row + 1];

#pragma unroll 8
	for (int64_t e = row_start[row]; e < end; e++)
	{
		uint32_t	entry = __ldg(entries + e);
		float		v = __ldg(x + (int64_t) (entry & ~GR_ENTRY_SIGN) * 32 + lane);

		sum += entry & GR_ENTRY_SIGN ? -v : v;
	}
	y[row * 32 + lane] = sum;
}

/*
 * Computes like the write-up's third kernel, in our own code, with a warp per row. The lanes draw the gaps between a
 * row's nonzeros, which are geometric, add them up to columns, put these with their signs into shared memory, and then
 * gather 32 vectors.
 */
template <int UNROLL>
static __global__ void
bench_jump_kernel(uint64_t seed, float per_log, int64_t dim, int k, const float *__restrict__ x, float *__restrict__ y)
{
	__shared__ int64_t columns[8][32];
	__shared__ float signs[8][32];
	const int	warp = threadIdx.x / 32;
	const int	lane = threadIdx.x % 32;
	const int64_t row = (int64_t) blockIdx.x * 8 + warp;
	int64_t		at = -1;
	float		sum = 0.0f;
	curandStatePhilox4_32_10_t state;

	if (row >= k)
		return;
	curand_init(seed, (uint64_t) (row * 32 + lane), 0, &state);
	while (at < dim)
	{
		const float u = curand_uniform(&state);
		int64_t		column = (int64_t) floorf(logf(u) * per_log) + 1;

		for (int offset = 1; offset < 32; offset *= 2)
		{
			const int64_t below = __shfl_up_sync(0xffffffffu, column, offset);

			column += lane >= offset ? below : 0;
		}
		column += at;
		columns[warp][lane] = column;
		signs[warp][lane] = curand(&state) & 1 ? -1.0f : 1.0f;
		__syncwarp();
#pragma unroll UNROLL
		for (int i = 0; i < 32; i++)
			if (columns[warp][i] < dim)
				sum += signs[warp][i] * __ldg(x + columns[warp][i] * 32 + lane);
		at = __shfl_sync(0xffffffffu, column, 31);
		__syncwarp();
	}
	y[row * 32 + lane] = sum;
}

/* True if the mean square of y is near its expected value. */
static bool
bench_variance(const float *device_y, int64_t n, double expected)
{
	float	   *y = (float *) malloc(sizeof(float) * (size_t) n);
	double		sum = 0.0;

	cuda_ok(cudaMemcpy(y, device_y, sizeof(float) * (size_t) n, cudaMemcpyDeviceToHost));
	for (int64_t i = 0; i < n; i++)
		sum += (double) y[i] * (double) y[i];
	free(y);
	return fabs(sum / (double) n / expected - 1.0) < 0.03;
}

/* The memory to draw S in, allocated once */
typedef struct BenchDrawing
{
	ProjectDrawing drawing;
	int64_t    *counts;
	void	   *scan;
	ProjectSort sort;
	int64_t    *row_start;
	int64_t    *segment_start;
	ProjectMatrix matrix;
} BenchDrawing;

static int64_t
bench_count(BenchDrawing *d)
{
	int64_t		nnonzeros = 0;

	for (int64_t first = 0; first < d->drawing.nblocks; first += d->drawing.nblocks_per_launch)
		cuda_ok(gr_project_count_launch(&d->drawing, first, first + d->drawing.nblocks_per_launch < d->drawing.nblocks ?
										d->drawing.nblocks_per_launch : d->drawing.nblocks - first, d->counts, 0));
	cuda_ok(gr_project_scan_launch(&d->drawing, d->counts, d->scan, 0));
	cuda_ok(cudaMemcpy(&nnonzeros, d->counts + d->drawing.nblocks, sizeof(nnonzeros), cudaMemcpyDeviceToHost));
	return nnonzeros;
}

static void
bench_pairs(BenchDrawing *d)
{
	for (int64_t first = 0; first < d->drawing.nblocks; first += d->drawing.nblocks_per_launch)
		cuda_ok(gr_project_draw_launch(&d->drawing, first, first + d->drawing.nblocks_per_launch < d->drawing.nblocks ?
									   d->drawing.nblocks_per_launch : d->drawing.nblocks - first, d->counts,
									   d->sort.keys[0],
									   d->sort.values[0], 0));
}

static void
bench_sort(BenchDrawing *d, int64_t nnonzeros)
{
	cuda_ok(gr_project_sort_launch(&d->drawing, nnonzeros, &d->sort, 0));
	cuda_ok(gr_project_rows_launch(&d->drawing, nnonzeros, d->sort.keys[d->sort.sorted], d->row_start, 0));
	d->matrix.nnonzeros = nnonzeros;
	d->matrix.entries = d->sort.values[d->sort.sorted];
	cuda_ok(gr_project_segments_launch(&d->matrix, d->segment_start, 0));
}

static void
bench_draw(BenchDrawing *d)
{
	int64_t		nnonzeros = bench_count(d);

	bench_pairs(d);
	bench_sort(d, nnonzeros);
}

static bool
bench_drawing_open(BenchDrawing *d, const GrDraw *draw, int64_t dim)
{
	int64_t		nnonzeros;
	size_t		entries_nbytes;

	memset(d, 0, sizeof(*d));
	cuda_ok(gr_project_drawing(&d->drawing, draw, dim));
	cuda_ok(cudaMalloc((void **) &d->counts, sizeof(int64_t) * (size_t) (d->drawing.nblocks + 1)));
	cuda_ok(cudaMalloc(&d->scan, d->drawing.scan_nbytes));
	nnonzeros = bench_count(d);
	cuda_ok(gr_project_sort_launch(&d->drawing, nnonzeros, &d->sort, 0));
	entries_nbytes = sizeof(uint32_t) * (size_t) (nnonzeros + PROJECT_PADDING);
	for (int i = 0; i < 2; i++)
	{
		cuda_ok(cudaMalloc(&d->sort.keys[i], (size_t) d->drawing.key_nbytes * (size_t) nnonzeros + 1));
		cuda_ok(cudaMalloc((void **) &d->sort.values[i], entries_nbytes));
		cuda_ok(cudaMemset(d->sort.values[i], 0, entries_nbytes));
	}
	cuda_ok(cudaMalloc(&d->sort.scratch, d->sort.scratch_nbytes + 1));
	cuda_ok(cudaMalloc((void **) &d->row_start, sizeof(int64_t) * ((size_t) draw->k + 1)));
	d->matrix.k = draw->k;
	d->matrix.dim = dim;
	d->matrix.scale = draw->scale;
	d->matrix.row_start = d->row_start;
	cuda_ok(cudaMalloc((void **) &d->segment_start, sizeof(int64_t) * (size_t) (draw->k * gr_project_nsegments(dim))));
	d->matrix.segment_start = d->segment_start;
	if (first_code == cudaSuccess)
		bench_draw(d);
	return cuda_ok(cudaDeviceSynchronize());
}

static void
bench_drawing_close(BenchDrawing *d)
{
	device_free(d->counts, d->scan, d->sort.keys[0], d->sort.keys[1], d->sort.values[0], d->sort.values[1],
				d->sort.scratch, d->row_start,
				d->segment_start);
}

/*
 * Checks some columns of S against the reference, and some results against rows of S. Element (j, v) of x is
 * bench_value(j * stride + v * step).
 */
static bool
bench_right(const BenchDrawing *d, const float *device_y, int64_t nvectors, uint64_t stride, uint64_t step,
			int64_t ncolumns)
{
	const GrDraw *draw = &d->drawing.draw;
	HostMatrix	s = fetch_matrix(&d->matrix);
	float	   *x = (float *) malloc(sizeof(float) * (size_t) d->matrix.dim);
	bool		right = same_matrix(&s, draw, d->matrix.dim, d->matrix.nnonzeros, ncolumns);

	for (int i = 0; right && i < 2; i++)
	{
		int64_t		v = i == 0 ? 0 : nvectors - 1;

		for (int64_t j = 0; j < d->matrix.dim; j++)
			x[j] = bench_value((uint64_t) j * stride + (uint64_t) v * step);
		for (int64_t row = 0; right && row < draw->k; row += 1 + draw->k / 300)
		{
			float		y;
			float		want = row_sum(s.entries + s.row_start[row], s.row_start[row + 1] - s.row_start[row], x,
									   draw->scale);

			cuda_ok(cudaMemcpy(&y, device_y + v * draw->k + row, sizeof(y), cudaMemcpyDeviceToHost));
			right = memcmp(&y, &want, sizeof(y)) == 0;
		}
	}
	matrix_free(&s);
	free(x);
	return right && first_code == cudaSuccess;
}

static void
bench_apply(const ProjectPlan *plan, const ProjectMatrix *matrix, const float *tiles, int64_t nvectors, double *sums,
			float *y)
{
	for (int32_t row = 0; row < matrix->k; row += plan->rows_per_launch)
		for (int64_t segment = 0; segment < plan->nsegments; segment += plan->segments_per_launch)
		{
			const int32_t nrows = matrix->k - row < plan->rows_per_launch ? matrix->k - row : plan->rows_per_launch;
			const ProjectApply apply = {tiles, nvectors, row, nrows, segment, sums, y};

			cuda_ok(gr_project_apply_launch(plan, matrix, &apply, 0));
		}
}

/* Times drawing alone, and its parts. */
static void
bench_draw_times(BenchDrawing *d, int64_t k, double density, int64_t nvectors, double entries_ms)
{
	const int64_t dim = d->matrix.dim;
	const int64_t n = d->matrix.nnonzeros;

	print_result("draw", dim, k, density, nvectors, median_ms([&]() { bench_draw(d); }), entries_ms);
	print_result("draw, of which counting", dim, k, density, nvectors, median_ms([&]() { bench_count(d); }), 0.0);
	print_result("draw, of which pairs", dim, k, density, nvectors, median_ms([&]() { bench_pairs(d); }),
				 1.5 * entries_ms);
	bench_draw(d);
	print_result("draw, of which sorting", dim, k, density, nvectors, median_ms([&]() { bench_sort(d, n); }),
				 3.0 * entries_ms);
	bench_draw(d);
}

/* Times methods of others on the same input; overwrites y. */
static void
bench_baselines(const BenchDrawing *d, int64_t k, double density, const float *x, float *y, double floor_ms)
{
	const int64_t dim = d->matrix.dim;
	const float per_log = (float) (1.0 / log1p(-density));
	const unsigned nblocks = (unsigned) ((k + 7) / 8);

	print_result("baseline: plain gather in float4", dim, k, density, 32, median_ms([&]()
	{
		bench_gather_kernel<<<nblocks, 256>>>(d->row_start, d->matrix.entries, (int) k, x, y);
	}), floor_ms);
	print_result("baseline: the write-up's third kernel", dim, k, density, 32, median_ms([&]()
	{
		bench_jump_kernel<1><<<nblocks, 256>>>(1, per_log, dim, (int) k, x, y);
	}), floor_ms);
	print_result("baseline: the same, 8 lines ahead", dim, k, density, 32, median_ms([&]()
	{
		bench_jump_kernel<8><<<nblocks, 256>>>(1, per_log, dim, (int) k, x, y);
	}), floor_ms);
	bench_check(bench_variance(y, k * 32, density * (double) dim / 3.0), "the baseline sums as many nonzeros");
}

/* Times dim x width float4 on the device, with S drawn or kept. bytes_per_s: rate of a copy on the device. */
static bool
bench_columns(int64_t dim, int64_t k, double density, int width, bool baselines, double bytes_per_s)
{
	const size_t x_nbytes = sizeof(float) * (size_t) (dim * width);
	/* columns with a nonzero; a read takes at least 32 bytes, but never more than all of x once */
	const double touched = (double) dim * (1.0 - pow(1.0 - density, (double) k));
	const double touched_nbytes = fmin((double) x_nbytes, touched * (width < 8 ? 32.0 : 4.0 * width));
	GrDraw		draw;
	GrError		err = {};
	BenchDrawing d;
	ProjectPlan plan;
	float	   *x = NULL;
	float	   *y = NULL;
	double	   *sums = NULL;
	double		entries_ms;
	double		floor_ms;

	(void) gr_draw_init(&draw, k, 1, density, &err);
	if (!bench_drawing_open(&d, &draw, dim) ||
		!cuda_ok(gr_project_plan(&plan, (int32_t) k, dim, d.matrix.nnonzeros, false, width)) ||
		!cuda_ok(cudaMalloc((void **) &x, x_nbytes)) ||
		!cuda_ok(cudaMalloc((void **) &y, sizeof(float) * (size_t) (k * width))) ||
		!cuda_ok(cudaMalloc((void **) &sums, plan.sums_nbytes + 1)))
		return false;
	bench_fill_kernel<<<4096, 256>>>(x, dim * width);
	bench_apply(&plan, &d.matrix, x, width, sums, y);
	if (!bench_check(bench_right(&d, y, width, (uint64_t) width, 1, 200000), "the results that are timed"))
		return false;
	printf("# %lld nonzeros\n", (long long) d.matrix.nnonzeros);
	entries_ms = 4.0 * (double) d.matrix.nnonzeros / bytes_per_s * 1e3;
	floor_ms = entries_ms + touched_nbytes / bytes_per_s * 1e3;
	print_result("apply", dim, k, density, width,
				 median_ms([&]() { bench_apply(&plan, &d.matrix, x, width, sums, y); }), floor_ms);
	bench_draw_times(&d, k, density, width, entries_ms);
	print_result("draw and apply", dim, k, density, width, median_ms([&]()
	{
		bench_draw(&d);
		bench_apply(&plan, &d.matrix, x, width, sums, y);
	}), entries_ms + floor_ms);
	print_result("one read of the vectors", dim, k, density, width, median_ms([&]()
	{
		bench_read_kernel<<<132 * 16, 512>>>((const float4 *) x, dim * width / 4, y);
	}), (double) x_nbytes / bytes_per_s * 1e3);
	if (baselines)
		bench_baselines(&d, k, density, x, y, floor_ms);
	bench_drawing_close(&d);
	device_free(x, y, sums);
	return cuda_ok(cudaGetLastError());
}

/* Times row-major vectors on the device, by the fused kernel and through tiles. */
static bool
bench_rows(int64_t dim, int64_t k, double density, int64_t nvectors, double bytes_per_s)
{
	const size_t x_nbytes = sizeof(float) * (size_t) (dim * nvectors);
	const size_t y_nbytes = sizeof(float) * (size_t) (k * nvectors);
	const double floor_ms = (double) (x_nbytes + y_nbytes) / bytes_per_s * 1e3;
	GrDraw		draw;
	GrError		err = {};
	BenchDrawing d;
	ProjectPlan plan;
	size_t		sizes[3];
	void	   *program[3] = {};
	float	   *x = NULL;
	float	   *y = NULL;
	float	   *tiles = NULL;

	(void) gr_draw_init(&draw, k, 1, density, &err);
	if (!bench_drawing_open(&d, &draw, dim) || !cuda_ok(cudaMalloc((void **) &x, x_nbytes)) ||
		!cuda_ok(cudaMalloc((void **) &y, y_nbytes)) ||
		!cuda_ok(gr_project_plan(&plan, (int32_t) k, dim, d.matrix.nnonzeros, false, nvectors)) ||
		!cuda_ok(cudaMalloc((void **) &tiles, plan.tiles_nbytes)) ||
		!cuda_ok(gr_project_program_sizes((int32_t) k, dim, d.matrix.nnonzeros, &sizes[0], &sizes[1], &sizes[2])))
		return false;
	for (int i = 0; i < 3; i++)
		cuda_ok(cudaMalloc(&program[i], sizes[i] + 1));
	cuda_ok(gr_project_program_launch(&d.matrix, (uint32_t *) program[0], (uint2 *) program[1], program[2], sizes[2],
									  0));
	d.matrix.program_start = (const uint32_t *) program[0];
	d.matrix.program = (const uint2 *) program[1];
	bench_fill_kernel<<<4096, 256>>>(x, dim * nvectors);
	cuda_ok(cudaMemset(y, 0xff, y_nbytes));
	cuda_ok(gr_project_fused_launch(&d.matrix, x, nvectors, y, 0));
	if (!bench_check(bench_right(&d, y, nvectors, 1, (uint64_t) dim, dim), "the results that are timed"))
		return false;
	print_result("fused, row-major", dim, k, density, nvectors, median_ms([&]()
	{
		cuda_ok(gr_project_fused_launch(&d.matrix, x, nvectors, y, 0));
	}), floor_ms);
	print_result("through tiles, row-major", dim, k, density, nvectors, median_ms([&]()
	{
		const int64_t step = plan.tiles_per_step * plan.width;

		for (int64_t done = 0; done < nvectors; done += step)
		{
			const int64_t n = nvectors - done < step ? nvectors - done : step;

			cuda_ok(gr_project_tile_launch(&plan, x + done * dim, n, dim, tiles, 0));
			bench_apply(&plan, &d.matrix, tiles, n, NULL, y + done * k);
		}
	}), floor_ms);
	print_result("one read of the vectors", dim, k, density, nvectors, median_ms([&]()
	{
		bench_read_kernel<<<132 * 16, 512>>>((const float4 *) x, dim * nvectors / 4, y);
	}), (double) x_nbytes / bytes_per_s * 1e3);
	bench_drawing_close(&d);
	device_free(x, y, tiles, program[0], program[1], program[2]);
	return cuda_ok(cudaGetLastError());
}

/*
 * Returns the wall time in ms of the backend for batches of vectors that are in its blocks already, without beginning
 * the job.
 */
static double
batches_ms(GrProject *project, int64_t nvectors, GrError *err)
{
	const double begin_ms = now_ms();
	int64_t		nsent = 0;
	int64_t		ntaken = 0;
	bool		ok = true;

	while (ok && ntaken < nvectors)
	{
		const float *projected;
		float	   *block;
		int64_t		n;

		for (int under_way = ntaken < nsent ? 1 : 0; ok && under_way < GR_PROJECT_NSLOTS &&
			 nsent < nvectors; under_way++)
		{
			ok = gpu->projector->block(project, &block, &n, err);
			n = n < nvectors - nsent ? n : nvectors - nsent;
			ok = ok && gpu->projector->submit(project, n, NULL, err);
			nsent += n;
		}
		ok = ok && gpu->projector->take(project, &projected, &n, err);
		ntaken += n;
	}
	return ok ? now_ms() - begin_ms : NAN;
}

static bool
bench_backend(GrSession *session, int64_t dim, int64_t k, int64_t nvectors, size_t block_nbytes)
{
	const double floor_ms = 4.0 * (double) (nvectors * dim) / 55e9 * 1e3;	/* the copy to the device */
	GrDraw		draw;
	GrError		err = {};
	bool		ok = gr_draw_init(&draw, k, 1, gr_dense_density(dim), &err);

	for (int i = 0; ok && i < 2; i++)
	{
		GrProjectOptions options = make_options(&draw, dim, nvectors, block_nbytes, (size_t) 1 << 30);
		GrProject  *project = NULL;
		double		begin_ms = now_ms();

		ok = gpu->projector->begin(session, &options, NULL, &project, &err);
		print_result(i == 0 ? "backend, begins, S drawn" : "backend, begins, S kept", dim, k, draw.density, nvectors,
					 now_ms() - begin_ms, 0.0);
		if (ok)
			print_result("backend, host to host", dim, k, draw.density, nvectors, batches_ms(project, nvectors, &err),
						 floor_ms);
		gpu->projector->end(project);
	}
	return ok;
}

/* Times a job per vector with S kept; prints the wall time of one job. */
static bool
bench_single(GrSession *session, int64_t dim, int64_t k)
{
	const int	njobs = 10000;
	GrDraw		draw;
	GrError		err = {};
	double		begin_ms = 0.0;
	bool		ok = gr_draw_init(&draw, k, 1, gr_dense_density(dim), &err);

	for (int i = -1; ok && i < njobs; i++)
	{
		GrProjectOptions options = make_options(&draw, dim, 1, 4096, (size_t) 1 << 30);
		GrProject  *project = NULL;

		if (i == 0)
			begin_ms = now_ms();
		ok = gpu->projector->begin(session, &options, NULL, &project, &err) && !isnan(batches_ms(project, 1, &err));
		gpu->projector->end(project);
	}
	print_result("backend, a job of one vector", dim, k, draw.density, 1, (now_ms() - begin_ms) / njobs, 0.0);
	return ok;
}

/* Runs --bench=columns (the first shape alone), =rows or =backend; else all. */
static bool
run_bench(const GpuRun *run)
{
	GrSession  *session = run->session;
	const char *only = run->bench_what != NULL ? run->bench_what : "";
	const size_t copy_nbytes = (size_t) 4 << 30;
	const bool	all = only[0] == '\0';
	char	   *memory = NULL;
	double		bytes_per_s;
	bool		ok = true;

	if (!cuda_ok(cudaMalloc((void **) &memory, 2 * copy_nbytes)) || !cuda_ok(cudaMemset(memory, 1, 2 * copy_nbytes)))
		return false;
	bytes_per_s = copy_bytes_per_s(2, NREPEATS, memory, 2 * copy_nbytes);
	device_free(memory);
	printf("# device-to-device copy: %.0f GB/s, read and written\n", bytes_per_s * 1e-9);
	if (all || strcmp(only, "columns") == 0)
		ok = bench_columns(10000000, 16384, 1e-4, 32, true, bytes_per_s);
	if (all)
		ok = ok && bench_columns(10000000, 16384, 1e-4, 1, false, bytes_per_s) &&
			bench_columns(10000000, 16384, 1e-4, 4, false, bytes_per_s) &&
			bench_columns(100000000, 16384, 1e-4, 32, false, bytes_per_s);
	if (all || strcmp(only, "rows") == 0)
		ok = ok && bench_rows(4096, 256, 1.0 / 64, 1000000, bytes_per_s);
	if (all || strcmp(only, "backend") == 0)
		ok = ok && bench_single(session, 1000, 100) && bench_backend(session, 4096, 256, 200000, (size_t) 4 << 20) &&
			bench_backend(session, 4096, 256, 200000, (size_t) 64 << 20) &&
			bench_backend(session, 10000000, 16384, 64, (size_t) 640 << 20);
	printf("# %-40s %9s   %5s   %-9s %7s | %9s %9s\n%s", "what", "columns", "k", "density", "vectors", "ms", "floor ms",
		   bench_table);
	return ok && unit_failed == 0;
}

#endif							/* GPUREG_PROJECT_GPU_BENCH_H */
