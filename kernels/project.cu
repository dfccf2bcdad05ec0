/*
 * project.cu: y = S x / sqrt(k p), tile by tile; see project.cuh.
 *
 * A tile is dim x width float4: up to 32 vectors side by side, so that a column of a full tile is one line of 128
 * bytes. Rows of S gather these lines in the order of columns:
 *
 *                   vectors of a full tile (LANES = 8, VALUES = 4)
 *                   0 1 2 3 | 4 5 6 7 | .. | 28 29 30 31
 *    column c       lane 0  | lane 1  | .. | lane 7             of each row of S with an entry in column c
 *
 * Who owns what. LANES neighbouring lanes own a row of S, each with VALUES vectors of the tile, LANES x VALUES = width.
 * 32 / LANES rows share a warp, so that a single vector does not leave lanes idle. The rows of a launch that the device
 * holds sweep over the columns together, so a line that several rows need is still in the L2 cache for the second of
 * them. Each lane has the next AHEAD entries, and the lines of AHEAD entries, under way.
 *
 * The arithmetic. A chunk's sum is kept in part, those of earlier chunks in total. +-x is added as fma(x, +-1, part),
 * which rounds once, like an addition. A chunk without entries would add +0, which changes nothing: no sum is ever -0,
 * as all start from +0. The same holds for entries that only fill up a step, which have sign 0.
 *
 * Lines stay in the cache only while rows keep in step. Very many columns are therefore processed in segments, one
 * launch each, which leave their totals in memory. With few, long rows (split), different threads sum the chunks of a
 * row into memory, and the sums are joined in ascending order.
 */
#include "project.cuh"

#include "compute/project/projection.h"

#include <string.h>

#define APPLY_NTHREADS 128
#define TILE_NTHREADS 256
#define TILE_NCOLUMNS 128		/* columns of a tile that a thread block transposes */
#define TILES_NBYTES ((size_t) 256 << 20)	/* most memory of tiles, unless one takes more */
#define SUMS_NBYTES ((size_t) 256 << 20)
#define LEAST_BYTES_PER_S 4e11	/* rate at which slower devices gather */
#define LAUNCH_S 0.03			/* longest launch, estimated by that rate */
#define GRID_MAX 32768			/* limit of a grid's second and third dimension */
#define SPLIT_NLANES 128		/* lanes per multiprocessor from which splitting is not needed */
#define SPLIT_NENTRIES 1024		/* entries of a row from which splitting its chunks pays */

/* Loads VALUES (1, 2 or 4) neighbouring floats at once. from is aligned to their size. */
template <int VALUES>
static __device__ inline void
load_values(float (&to)[VALUES], const float *__restrict__ from)
{
	if constexpr (VALUES == 4)
	{
		const float4 v = __ldg((const float4 *) from);

		to[0] = v.x;
		to[1] = v.y;
		to[2] = v.z;
		to[3] = v.w;
	}
	else if constexpr (VALUES == 2)
	{
		const float2 v = __ldg((const float2 *) from);

		to[0] = v.x;
		to[1] = v.y;
	}
	else
		to[0] = __ldg(from);
}

/* total += part; part = 0. */
template <int VALUES>
static __device__ inline void
fold(double (&total)[VALUES], double (&part)[VALUES])
{
#pragma unroll
	for (int v = 0; v < VALUES; v++)
	{
		total[v] += part[v];
		part[v] = 0.0;
	}
}

/* Adds AHEAD entries, the first n of which count. */
template <int WIDTH, int VALUES, int AHEAD, bool FULL>
static __device__ inline void
add_entries(const uint32_t (&entry)[AHEAD], int n, const float *__restrict__ tile, uint32_t &chunk,
			double (&total)[VALUES],
			double (&part)[VALUES])
{
	float		value[AHEAD][VALUES];

#pragma unroll
	for (int u = 0; u < AHEAD; u++)
	{
		/* entries that only fill up read the first entry's line again */
		const uint32_t column = (FULL || u < n ? entry[u] : entry[0]) & ~GR_ENTRY_SIGN;

		load_values<VALUES>(value[u], tile + (uint64_t) column * WIDTH);
	}
#pragma unroll
	for (int u = 0; u < AHEAD; u++)
	{
		const uint32_t of = (entry[u] & ~GR_ENTRY_SIGN) / GR_CHUNK_NCOLS;
		const int	one = FULL || u < n ? 0x3ff00000 | (int) (entry[u] & GR_ENTRY_SIGN) : 0;
		const double sign = __hiloint2double(one, 0);

		if ((FULL || u < n) && of != chunk)
		{
			fold(total, part);
			chunk = of;
		}
#pragma unroll
		for (int v = 0; v < VALUES; v++)
			part[v] = fma((double) value[u][v], sign, part[v]);
	}
}

/*
 * Adds n entries (column | sign << 31, ascending) of a row of S, times those columns of tile, to a lane's VALUES sums:
 * the last chunk's to part, which the caller folds, those of earlier chunks to total. Reads up to AHEAD entries beyond
 * the n. tile: at the lane's first vector.
 */
template <int WIDTH, int VALUES, int AHEAD>
static __device__ inline void
sum_entries(const uint32_t *__restrict__ entries, int n, const float *__restrict__ tile, double (&total)[VALUES],
			double (&part)[VALUES])
{
	uint32_t	next[AHEAD];
	uint32_t	chunk = 0;

#pragma unroll
	for (int u = 0; u < AHEAD; u++)
		next[u] = __ldg(entries + u);
	for (; n >= AHEAD; n -= AHEAD)
	{
		uint32_t	entry[AHEAD];

		entries += AHEAD;
#pragma unroll
		for (int u = 0; u < AHEAD; u++)
		{
			entry[u] = next[u];
			next[u] = __ldg(entries + u);
		}
		add_entries<WIDTH, VALUES, AHEAD, true>(entry, AHEAD, tile, chunk, total, part);
	}
	if (n > 0)
		add_entries<WIDTH, VALUES, AHEAD, false>(next, n, tile, chunk, total, part);
}

/* S and the part of it that a launch applies */
typedef struct Rows
{
	const int64_t *__restrict__ begin;	/* per row, the entries of the launch's columns */
	const int64_t *__restrict__ stop;
	const uint32_t *__restrict__ entries;
	int32_t		k;
	int32_t		first;			/* first and end: rows of the launch */
	int32_t		end;
	int64_t		dim;
	double		scale;
} Rows;

/*
 * Applies rows over the launch's columns. Writes y[vector][row] or, before the last columns, totals[tile][row of the
 * launch][vector of the tile], from which launches after the first one start. blockIdx.y is the tile.
 */
template <int LANES, int VALUES, int AHEAD>
static __global__ void
__launch_bounds__(1024, 1)
apply_kernel(Rows rows, const float *__restrict__ tiles, int64_t nvectors, bool first, bool last,
			 double *__restrict__ totals,
			 float *__restrict__ y)
{
	constexpr int WIDTH = LANES * VALUES;
	const int64_t thread = (int64_t) blockIdx.x * blockDim.x + threadIdx.x;
	const int64_t row = rows.first + thread / LANES;
	const int	lane = (int) (thread % LANES);
	const int64_t vector = (int64_t) blockIdx.y * WIDTH + lane * VALUES;
	double		total[VALUES] = {};
	double		part[VALUES] = {};

	if (row >= rows.end)
		return;
	totals += (blockIdx.y * (int64_t) (rows.end - rows.first) + row - rows.first) * WIDTH + lane * VALUES;
	if (!first)
#pragma unroll
		for (int v = 0; v < VALUES; v++)
			total[v] = totals[v];

	const int64_t begin = rows.begin[row];

	sum_entries<WIDTH, VALUES, AHEAD>(rows.entries + begin, (int) (rows.stop[row] - begin),
									  tiles + (int64_t) blockIdx.y * rows.dim * WIDTH + lane * VALUES, total, part);
	fold(total, part);
#pragma unroll
	for (int v = 0; v < VALUES; v++)
		if (!last)
			totals[v] = total[v];
		else if (vector + v < nvectors)
			y[(vector + v) * rows.k + row] = (float) (total[v] * rows.scale);
}

/* Returns the position of the first entry at or after column, among n ascending entries. */
static __device__ inline int64_t
find_column(const uint32_t *__restrict__ entries, int64_t n, int64_t column)
{
	int64_t		low = 0;

	while (low < n)
	{
		const int64_t middle = low + (n - low) / 2;

		if ((int64_t) (entries[middle] & ~GR_ENTRY_SIGN) < column)
			low = middle + 1;
		else
			n = middle;
	}
	return low;
}

/* Finds where segments begin in rows; a thread has a segment of a row. */
static __global__ void
segments_kernel(const int64_t *__restrict__ row_start, const uint32_t *__restrict__ entries, int32_t k,
				int64_t nsegments,
				int64_t *__restrict__ segment_start)
{
	const int64_t at = (int64_t) blockIdx.x * blockDim.x + threadIdx.x;
	const int64_t row = at % k;

	if (at < (nsegments - 1) * k)
		segment_start[at] = row_start[row] + find_column(entries + row_start[row], row_start[row + 1] - row_start[row],
														 (at / k + 1) * PROJECT_SEGMENT);
}

/*
 * Sums one chunk of a row: sums[tile][chunk][row of the launch][vector of the tile]. blockIdx.y is the chunk,
 * blockIdx.z the tile.
 */
template <int LANES, int VALUES, int AHEAD>
static __global__ void
__launch_bounds__(1024, 1)
chunk_kernel(Rows rows, const float *__restrict__ tiles, int64_t nchunks, double *__restrict__ sums)
{
	constexpr int WIDTH = LANES * VALUES;
	const int64_t thread = (int64_t) blockIdx.x * blockDim.x + threadIdx.x;
	const int64_t row = rows.first + thread / LANES;
	const int	lane = (int) (thread % LANES);
	const int64_t nrows = rows.end - rows.first;
	const float *tile = tiles + (int64_t) blockIdx.z * rows.dim * WIDTH + lane * VALUES;

	if (row >= rows.end)
		return;

	const uint32_t *entries = rows.entries + rows.begin[row];
	const int64_t n = rows.stop[row] - rows.begin[row];

	for (int64_t chunk = blockIdx.y; chunk < nchunks; chunk += gridDim.y)
	{
		const int64_t begin = find_column(entries, n, chunk * GR_CHUNK_NCOLS);
		const int64_t end = begin + find_column(entries + begin, n - begin, (chunk + 1) * GR_CHUNK_NCOLS);
		double		total[VALUES] = {};
		double		part[VALUES] = {};

		sum_entries<WIDTH, VALUES, AHEAD>(entries + begin, (int) (end - begin), tile, total, part);
		fold(total, part);		/* one chunk only, so total is its sum */
#pragma unroll
		for (int v = 0; v < VALUES; v++)
			sums[((blockIdx.z * nchunks + chunk) * nrows + (row - rows.first)) * WIDTH + lane * VALUES + v] = total[v];
	}
}

/* Joins the chunks of a row for a vector, in one thread. blockIdx.y is the tile. */
static __global__ void
join_kernel(Rows rows, const double *__restrict__ sums, int width, int64_t nchunks, int64_t nvectors,
			float *__restrict__ y)
{
	const int64_t thread = (int64_t) blockIdx.x * blockDim.x + threadIdx.x;
	const int64_t stride = (int64_t) (rows.end - rows.first) * width;
	const int64_t vector = (int64_t) blockIdx.y * width + thread % width;
	double		total = 0.0;

	if (thread >= stride || vector >= nvectors)
		return;
	for (int64_t chunk = 0; chunk < nchunks; chunk++)
		total += sums[(blockIdx.y * nchunks + chunk) * stride + thread];
	y[vector * rows.k + rows.first + thread / width] = (float) (total * rows.scale);
}

/* Transposes 128 columns of a full tile through shared memory. blockIdx.y is the tile. */
static __global__ void
__launch_bounds__(TILE_NTHREADS)
tile_kernel(const float *__restrict__ x, int64_t nvectors, int64_t dim, float *__restrict__ tiles)
{
	constexpr int NWARPS = TILE_NTHREADS / 32;
	__shared__ float staged[TILE_NCOLUMNS][PROJECT_TILE + 1];
	const int64_t first_vector = (int64_t) blockIdx.y * PROJECT_TILE;
	const int64_t first_column = (int64_t) blockIdx.x * TILE_NCOLUMNS;
	const int	lane = threadIdx.x % 32;
	const int	warp = threadIdx.x / 32;

#pragma unroll
	for (int v = warp; v < PROJECT_TILE; v += NWARPS)
#pragma unroll
		for (int c = lane; c < TILE_NCOLUMNS; c += 32)
		{
			const bool	exists = first_vector + v < nvectors && first_column + c < dim;

			staged[c][v] = exists ? x[(first_vector + v) * dim + first_column + c] : 0.0f;
		}
	__syncthreads();
	tiles += ((int64_t) blockIdx.y * dim + first_column) * PROJECT_TILE;
#pragma unroll
	for (int c = warp; c < TILE_NCOLUMNS; c += NWARPS)
		if (first_column + c < dim)
			tiles[c * PROJECT_TILE + lane] = staged[c][lane];
}

/* Transposes a narrower tile, of which there is only one; a thread has a column. */
template <int WIDTH>
static __global__ void
narrow_tile_kernel(const float *__restrict__ x, int64_t nvectors, int64_t dim, float *__restrict__ tile)
{
	const int64_t column = (int64_t) blockIdx.x * blockDim.x + threadIdx.x;
	float		value[WIDTH];

	if (column >= dim)
		return;
#pragma unroll
	for (int v = 0; v < WIDTH; v++)
		value[v] = v < nvectors ? x[v * dim + column] : 0.0f;
#pragma unroll
	for (int v = 0; v < WIDTH; v += 2)
		*(float2 *) (tile + column * WIDTH + v) = make_float2(value[v], value[v + 1]);
}

/* Returns the lanes that own a row, for tiles of this width. */
static int
lanes_of(int width)
{
	return width <= 4 ? 1 : width / 4;
}

/* Plans the tiles, and whether chunks are summed separately. */
static void
plan_tiles(ProjectPlan *plan, int32_t k, int64_t dim, int64_t nnonzeros, int64_t capacity)
{
	int64_t		ntiles;

	plan->width = 1;
	while (plan->width < PROJECT_TILE && plan->width < capacity)
		plan->width *= 2;
	ntiles = (capacity + plan->width - 1) / plan->width;
	plan->tiles_per_step = (int64_t) (TILES_NBYTES / ((size_t) plan->width * sizeof(float) * (size_t) dim));
	if (plan->tiles_per_step < 1)
		plan->tiles_per_step = 1;
	if (plan->tiles_per_step > GRID_MAX)
		plan->tiles_per_step = GRID_MAX;
	if (plan->tiles_per_step > ntiles)
		plan->tiles_per_step = ntiles;
	if (plan->width > 1)
		plan->tiles_nbytes = sizeof(float) * (size_t) (plan->tiles_per_step * plan->width * dim);
	plan->nchunks = (dim + GR_CHUNK_NCOLS - 1) / GR_CHUNK_NCOLS;
	plan->sums_nbytes = sizeof(double) * (size_t) (plan->tiles_per_step * plan->nchunks * plan->width * k);
	plan->split = plan->nchunks > 1 && nnonzeros / k >= SPLIT_NENTRIES && plan->sums_nbytes <= SUMS_NBYTES &&
		(int64_t) k * lanes_of(plan->width) < (int64_t) plan->nsms * SPLIT_NLANES;
}

/* Plans the launches, and sums_nbytes if chunks are not summed separately. */
static void
plan_launches(ProjectPlan *plan, int32_t k, int64_t dim, int64_t nnonzeros)
{
	/* bytes read for an entry */
	const int	sector_nbytes = plan->width < 8 ? 32 : (int) sizeof(float) * plan->width;
	const size_t row_nbytes = sizeof(double) * (size_t) (plan->tiles_per_step * plan->width);

	plan->nsegments = gr_project_nsegments(dim);
	/* equal bytes of a tile for any width */
	plan->segments_per_launch = plan->split ? plan->nsegments : PROJECT_TILE / plan->width;
	plan->row_tile_s = (double) nnonzeros / k * sector_nbytes / LEAST_BYTES_PER_S;
	if (plan->nsegments > plan->segments_per_launch)
		plan->row_tile_s *= (double) plan->segments_per_launch / (double) plan->nsegments;
	plan->rows_per_launch = (int32_t) fmax(1.0, fmin(k, LAUNCH_S / (plan->row_tile_s * (double) plan->tiles_per_step)));
	plan->vector_s = (double) (nnonzeros + dim) * sizeof(float) / (4 * LEAST_BYTES_PER_S);
	plan->vectors_per_launch = (int64_t) fmax(64.0, fmin(1e9, LAUNCH_S / plan->vector_s));
	if (plan->split)
		return;
	plan->sums_nbytes = 0;
	if (plan->nsegments > plan->segments_per_launch)
	{
		if ((size_t) plan->rows_per_launch > SUMS_NBYTES / row_nbytes)
			plan->rows_per_launch = (int32_t) (SUMS_NBYTES / row_nbytes);
		plan->sums_nbytes = row_nbytes * (size_t) plan->rows_per_launch;
	}
}

cudaError_t
gr_project_plan(ProjectPlan *plan, int32_t k, int64_t dim, int64_t nnonzeros, bool has_program, int64_t capacity)
{
	int			device;
	cudaError_t code = cudaGetDevice(&device);

	memset(plan, 0, sizeof(*plan));
	if (code == cudaSuccess)
		code = cudaDeviceGetAttribute(&plan->nsms, cudaDevAttrMultiProcessorCount, device);
	if (code != cudaSuccess)
		return code;
	plan_tiles(plan, k, dim, nnonzeros, capacity);
	plan_launches(plan, k, dim, nnonzeros);
	plan->fused = has_program && gr_project_wants_program(k, dim, capacity);
	if (plan->fused)
	{
		plan->tiles_nbytes = 0;
		plan->sums_nbytes = 0;
	}
	return cudaSuccess;
}

cudaError_t
gr_project_tile_launch(const ProjectPlan *plan, const float *x, int64_t nvectors, int64_t dim, float *tiles,
					   cudaStream_t stream)
{
	const unsigned ncolumns = (unsigned) ((dim + TILE_NTHREADS - 1) / TILE_NTHREADS);

	switch (plan->width)
	{
		case 2:
			narrow_tile_kernel<2><<<ncolumns, TILE_NTHREADS, 0, stream>>>(x, nvectors, dim, tiles);
			break;
		case 4:
			narrow_tile_kernel<4><<<ncolumns, TILE_NTHREADS, 0, stream>>>(x, nvectors, dim, tiles);
			break;
		case 8:
			narrow_tile_kernel<8><<<ncolumns, TILE_NTHREADS, 0, stream>>>(x, nvectors, dim, tiles);
			break;
		case 16:
			narrow_tile_kernel<16><<<ncolumns, TILE_NTHREADS, 0, stream>>>(x, nvectors, dim, tiles);
			break;
		default:
			tile_kernel<<<dim3((unsigned) ((dim + TILE_NCOLUMNS - 1) / TILE_NCOLUMNS),
							   (unsigned) ((nvectors + PROJECT_TILE - 1) / PROJECT_TILE)),
				TILE_NTHREADS, 0, stream>>>(x, nvectors, dim, tiles);
	}
	return cudaGetLastError();
}

template <int LANES, int VALUES, int AHEAD>
static cudaError_t
launch_apply(const ProjectPlan *plan, const Rows &rows, const ProjectApply *apply, cudaStream_t stream)
{
	const int	width = LANES * VALUES;
	const int64_t nrows = rows.end - rows.first;
	const unsigned ntiles = (unsigned) ((apply->nvectors + width - 1) / width);
	int			nthreads = APPLY_NTHREADS;
	unsigned	nblocks;

	/* with few rows, small thread blocks reach more multiprocessors */
	while (nthreads > 32 && nrows * LANES * ntiles < (int64_t) nthreads * plan->nsms * 2)
		nthreads /= 2;
	nblocks = (unsigned) ((nrows * LANES + nthreads - 1) / nthreads);
	if (!plan->split)
		apply_kernel<LANES, VALUES, AHEAD><<<dim3(nblocks, ntiles), nthreads, 0, stream>>>(
			rows, apply->tiles, apply->nvectors, apply->first_segment == 0,
			apply->first_segment + plan->segments_per_launch >= plan->nsegments, apply->sums, apply->y);
	else
	{
		const unsigned nchunks = (unsigned) (plan->nchunks < GRID_MAX ? plan->nchunks : GRID_MAX);

		chunk_kernel<LANES, VALUES, AHEAD><<<dim3(nblocks, nchunks, ntiles), nthreads, 0,
			stream>>>(rows, apply->tiles, plan->nchunks, apply->sums);

		cudaError_t code = cudaGetLastError();

		if (code != cudaSuccess)
			return code;
		join_kernel<<<dim3((unsigned) ((nrows * width + 127) / 128), ntiles), 128, 0,
			stream>>>(rows, apply->sums, width, plan->nchunks, apply->nvectors, apply->y);
	}
	return cudaGetLastError();
}

cudaError_t
gr_project_segments_launch(const ProjectMatrix *matrix, int64_t *segment_start, cudaStream_t stream)
{
	const int64_t nsegments = gr_project_nsegments(matrix->dim);
	const int64_t nblocks = ((nsegments - 1) * matrix->k + 127) / 128;

	if (nblocks == 0)
		return cudaSuccess;
	segments_kernel<<<(unsigned) nblocks, 128, 0, stream>>>(matrix->row_start, matrix->entries, matrix->k, nsegments,
														  segment_start);
	return cudaGetLastError();
}

cudaError_t
gr_project_apply_launch(const ProjectPlan *plan, const ProjectMatrix *matrix, const ProjectApply *apply,
						cudaStream_t stream)
{
	const int64_t end_segment = apply->first_segment + plan->segments_per_launch;
	Rows		rows = {matrix->row_start, matrix->row_start + 1, matrix->entries, matrix->k, apply->first_row,
	apply->first_row + apply->nrows, matrix->dim, matrix->scale};

	if (apply->first_segment > 0)
		rows.begin = matrix->segment_start + (apply->first_segment - 1) * matrix->k;
	if (end_segment < plan->nsegments)
		rows.stop = matrix->segment_start + (end_segment - 1) * matrix->k;
	switch (plan->width)
	{
		case 1:
			return launch_apply<1, 1, 8>(plan, rows, apply, stream);
		case 2:
			return launch_apply<1, 2, 8>(plan, rows, apply, stream);
		case 4:
			return launch_apply<1, 4, 4>(plan, rows, apply, stream);
		case 8:
			return launch_apply<2, 4, 4>(plan, rows, apply, stream);
		case 16:
			return launch_apply<4, 4, 4>(plan, rows, apply, stream);
		default:
			return launch_apply<8, 4, 4>(plan, rows, apply, stream);
	}
}
