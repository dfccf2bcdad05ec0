/*
 * project_fused.cu: y = S x / sqrt(k p) for many vectors, row-major, and a small S of one chunk; each vector is read
 * once per slice of rows. See project.cuh.
 *
 * Who owns what. A thread block owns 64 vectors and 32 R rows of S:
 *
 *    warp w            rows w R .. w R + R - 1 of the thread block's rows
 *    lane l            vectors l and 32 + l, with R float8 sums each in registers
 *    shared memory     [column][vector] of 384 columns and a column of zeros, 65 words per column, two buffers in turn
 *
 * The vectors pass through shared memory 384 columns (a tile) at a time. A warp reads neighbouring columns of a vector
 * and stores them transposed; 65 words per column avoid bank conflicts on both sides. In a tile, a warp walks the
 * entries that its rows have there. In between it fetches its share of the next tile through registers, in four parts.
 *
 * Program. The entries in the order in which a warp walks them: by warp, by tile, by row, by column, padded to pairs by
 * an entry that points to a column of zeros (which changes no sum, see project.cu). An entry is half the byte offset of
 * the column in its tile, with the sign in bit 31, so that one multiply-add makes the address. start[warp][tile][row]
 * is where a row's pairs begin. The lanes hold 32 pairs, with the next 32 under way, and hand them to each other one by
 * one.
 *
 * The arithmetic. Conversions from float to double issue at a quarter of the rate of additions and would be the
 * bottleneck. Every other one is therefore done by integers: the float4's exponent and mantissa, moved to their places
 * in a float8, are the value times 2^-896 (subnormals too), and fma(that, 2^896, sum) rounds once, like an addition.
 */
#include "project.cuh"
#include "device.cuh"

#include "compute/project/projection.h"

#include <cub/device/device_scan.cuh>

#define FUSED_NWARPS 32
#define FUSED_NTHREADS (32 * FUSED_NWARPS)
#define FUSED_NVECTORS 64		/* vectors of a thread block */
#define FUSED_NCOLUMNS 384		/* columns of a tile */
#define NPARTS 4				/* parts of a tile */
#define PART_NCOLUMNS (FUSED_NCOLUMNS / NPARTS)
#define PART_NVECTORS (FUSED_NVECTORS / FUSED_NWARPS)
#define FUSED_PITCH (FUSED_NVECTORS + 1)
#define BUFFER_NWORDS ((FUSED_NCOLUMNS + 1) * FUSED_PITCH)	/* includes a column of zeros */
#define STAGED_NBYTES (2 * BUFFER_NWORDS * sizeof(float))
#define FUSED_DIM_MAX GR_CHUNK_NCOLS	/* one chunk, so no sums of chunks' sums */
#define FUSED_K_MAX 1024		/* with more rows, vectors would be read too often */
#define FUSED_CAPACITY_MIN 1024	/* vectors of a batch; fewer keep too few multiprocessors busy */

/* Returns the rows per warp. padded_rows(): the rows of S, rounded up to whole slices of thread blocks. */
static int
rows_per_warp(int32_t k)
{
	return k <= 4 * FUSED_NWARPS ? 4 : 8;
}

static int
padded_rows(int32_t k)
{
	const int	nrows = FUSED_NWARPS * rows_per_warp(k);

	return (k + nrows - 1) / nrows * nrows;
}

static int
count_tiles(int64_t dim)
{
	return (int) ((dim + FUSED_NCOLUMNS - 1) / FUSED_NCOLUMNS);
}

/* A part of a warp's share of a tile: PART_NCOLUMNS columns of vectors warp, warp + FUSED_NWARPS, .. */
typedef struct Part
{
	float		value[PART_NVECTORS][PART_NCOLUMNS / 32];
} Part;

/* Loads a part. x: the warp's first vector, at the lane; nvectors: vectors from that one on. */
static __device__ inline void
load_part(Part &part, const float *__restrict__ x, int nvectors, int dim, int first)
{
	const bool	whole = (PART_NVECTORS - 1) * FUSED_NWARPS < nvectors && first + PART_NCOLUMNS <= dim;

#pragma unroll
	for (int i = 0; i < PART_NVECTORS; i++)
	{
		const float *source = x + ((int64_t) (i * FUSED_NWARPS) * dim + first);

		if (whole)
#pragma unroll
			for (int c = 0; c < PART_NCOLUMNS; c += 32)
				part.value[i][c / 32] = __ldg(source + c);
		else
#pragma unroll
			for (int c = 0; c < PART_NCOLUMNS; c += 32)
			{
				const bool	exists = i * FUSED_NWARPS < nvectors && first + c + (int) threadIdx.x % 32 < dim;

				part.value[i][c / 32] = exists ? __ldg(source + c) : 0.0f;
			}
	}
}

/* Stores a part transposed. */
static __device__ inline void
store_part(const Part &part, float *buffer)
{
	float	   *target = buffer + threadIdx.x % 32 * FUSED_PITCH + threadIdx.x / 32;

#pragma unroll
	for (int i = 0; i < PART_NVECTORS; i++)
#pragma unroll
		for (int c = 0; c < PART_NCOLUMNS; c += 32)
			target[c * FUSED_PITCH + i * FUSED_NWARPS] = part.value[i][c / 32];
}

/* Values that a pair of entries adds, for both vectors of a lane */
typedef struct Values
{
	float		value[2][2];
} Values;

/* Loads the values of a pair. lane_base: the byte offset of the lane in the buffer. */
static __device__ inline Values
load_values(uint2 pair, const float *staged, unsigned lane_base)
{
	const float *x = (const float *) ((const char *) staged + (lane_base + 2 * pair.x));
	const float *y = (const float *) ((const char *) staged + (lane_base + 2 * pair.y));
	Values		values = {{{x[0], x[32]}, {y[0], y[32]}}};

	return values;
}

/* Adds an entry's values, with its sign, to the lane's two sums; the second conversion is done by integers. */
static __device__ inline void
add_entry(double (&sum)[2], uint32_t entry, const float (&value)[2])
{
	const int	sign = (int) (entry & GR_ENTRY_SIGN);
	const int	a = __float_as_int(value[0]) ^ sign;
	const int	b = __float_as_int(value[1]);

	sum[0] += (double) __int_as_float(a);
	sum[1] = fma(__hiloint2double(((b >> 3) & (int) 0x8fffffff) ^ sign, b << 29), 0x1p896, sum[1]);
}

/* A warp's position in its program: pair at is next; lane l holds pairs l and 32 + l from at / 32 * 32 on. */
typedef struct Cursor
{
	uint32_t	at;
	uint2		mine;
	uint2		ahead;
} Cursor;

/* Opens a program at pair at. */
static __device__ inline void
cursor_open(Cursor &cursor, uint32_t at, const uint2 *__restrict__ program)
{
	program += at / 32 * 32 + threadIdx.x % 32;
	cursor.at = at;
	cursor.mine = __ldg(program);
	cursor.ahead = __ldg(program + 32);
}

/* Walks the warp's rows first .. end - 1 in a tile. Lane r holds in bound where row r begins. */
template <int R>
static __device__ inline void
walk_rows(double (&sums)[R][2], int first, int end, uint32_t bound, Cursor &cursor, const uint2 *__restrict__ program,
		  const float *staged, unsigned lane_base)
{
#pragma unroll
	for (int r = 0; r < R; r++)
	{
		if (r < first || r >= end)
			continue;			/* known at compile time */

		const uint32_t row_end = __shfl_sync(0xffffffffu, bound, r + 1);

		while (cursor.at < row_end)
		{
			const uint32_t stop = min(row_end, cursor.at / 32 * 32 + 32);

#pragma unroll 1
			for (; cursor.at < stop; cursor.at++)
			{
				uint2		pair;

				pair.x = __shfl_sync(0xffffffffu, cursor.mine.x, (int) cursor.at);
				pair.y = __shfl_sync(0xffffffffu, cursor.mine.y, (int) cursor.at);

				const Values values = load_values(pair, staged, lane_base);

				add_entry(sums[r], pair.x, values.value[0]);
				add_entry(sums[r], pair.y, values.value[1]);
			}
			if (cursor.at % 32 == 0)
			{
				cursor.mine = cursor.ahead;
				cursor.ahead = __ldg(program + (cursor.at + 32 + threadIdx.x % 32));
			}
		}
	}
}

/* Scales and writes a warp's sums. */
template <int R>
static __device__ inline void
write_sums(const double (&sums)[R][2], int64_t first_vector, int64_t nvectors, int first_row, int k, double scale,
		   float *__restrict__ y)
{
#pragma unroll
	for (int i = 0; i < 2; i++)
	{
		const int64_t vector = first_vector + 32 * i + threadIdx.x % 32;
		float	   *target = y + vector * k + first_row;

		if (vector >= nvectors)
			continue;
#pragma unroll
		for (int r = 0; r < R; r += 4)
		{
			const float4 part = make_float4((float) (sums[r][i] * scale), (float) (sums[r + 1][i] * scale),
											(float) (sums[r + 2][i] * scale), (float) (sums[r + 3][i] * scale));

			if (k % 4 == 0 && first_row + r + 3 < k)
				*(float4 *) (target + r) = part;
			else
			{
				if (first_row + r < k)
					target[r] = part.x;
				if (first_row + r + 1 < k)
					target[r + 1] = part.y;
				if (first_row + r + 2 < k)
					target[r + 2] = part.z;
				if (first_row + r + 3 < k)
					target[r + 3] = part.w;
			}
		}
	}
}

/* Slices of rows are neighbours in the grid, so that the second one finds the vectors in the L2 cache. */
template <int R>
static __global__ void
__launch_bounds__(FUSED_NTHREADS, 1)
fused_kernel(const float *__restrict__ x, int64_t nvectors, int dim, const uint32_t *__restrict__ start,
			 const uint2 *__restrict__ program, int k, int nslices, double scale, float *__restrict__ y)
{
	extern __shared__ float staged[];
	const int64_t first_vector = (int64_t) (blockIdx.x / nslices) * FUSED_NVECTORS;
	const int	first_row = ((int) (blockIdx.x % nslices) * FUSED_NWARPS + (int) threadIdx.x / 32) * R;
	const int	ntiles = (dim + FUSED_NCOLUMNS - 1) / FUSED_NCOLUMNS;
	const int	nown = (int) min(nvectors - first_vector, (int64_t) FUSED_NVECTORS) - (int) threadIdx.x / 32;
	double		sums[R][2] = {};
	Part		part;
	Cursor		cursor;

	start += first_row * ntiles;
	/* equal in all lanes, which the compiler then knows */
	cursor_open(cursor, __shfl_sync(0xffffffffu, *start, 0), program);
	x += (first_vector + threadIdx.x / 32) * dim + threadIdx.x % 32;
	for (int i = threadIdx.x; i < 2 * FUSED_PITCH; i += FUSED_NTHREADS)
		staged[(i / FUSED_PITCH + 1) * BUFFER_NWORDS - FUSED_PITCH + i % FUSED_PITCH] = 0.0f;
#pragma unroll
	for (int i = 0; i < NPARTS; i++)
	{
		load_part(part, x, nown, dim, i * PART_NCOLUMNS);
		store_part(part, staged + i * PART_NCOLUMNS * FUSED_PITCH);
	}
	__syncthreads();
	for (int tile = 0; tile < ntiles; tile++)
	{
		const int	buffer = tile % 2;
		const bool	more = tile + 1 < ntiles;
		const uint32_t bound = start[tile * R + min((int) threadIdx.x % 32, R)];
		const unsigned lane_base = (unsigned) ((buffer * BUFFER_NWORDS + threadIdx.x % 32) * sizeof(float));

#pragma unroll
		for (int i = 0; i < NPARTS; i++)
		{
			if (more)
				load_part(part, x, nown, dim, (tile + 1) * FUSED_NCOLUMNS + i * PART_NCOLUMNS);
			walk_rows<R>(sums, R * i / NPARTS, R * (i + 1) / NPARTS, bound, cursor, program, staged, lane_base);
			if (more)
				store_part(part, staged + (1 - buffer) * BUFFER_NWORDS + i * PART_NCOLUMNS * FUSED_PITCH);
		}
		__syncthreads();		/* All warps have read this tile, and the next tile has arrived. */
	}
	write_sums<R>(sums, first_vector, nvectors, first_row, k, scale, y);
}

/* Returns where the columns from a tile on begin in a row's entries. */
static __device__ inline int64_t
find_tile(const uint32_t *__restrict__ entries, int64_t n, uint32_t tile)
{
	int64_t		low = 0;

	while (low < n)
	{
		const int64_t middle = low + (n - low) / 2;

		if ((entries[middle] & ~GR_ENTRY_SIGN) < tile * FUSED_NCOLUMNS)
			low = middle + 1;
		else
			n = middle;
	}
	return low;
}

/*
 * Makes the program; a thread has a row of a tile, nown rows per warp. Without program, start[at] becomes the number of
 * pairs; with it, writes the pairs where start says.
 */
static __global__ void
program_kernel(const int64_t *__restrict__ row_start, const uint32_t *__restrict__ entries, int k, int nrows, int nown,
			   int ntiles,
			   uint32_t *__restrict__ start, uint2 *__restrict__ program)
{
	const int	at = (int) (blockIdx.x * blockDim.x + threadIdx.x);
	const int	tile = at / nown % ntiles;
	const int	row = at / (nown * ntiles) * nown + at % nown;

	if (at > ntiles * nrows)
		return;
	if (row >= k)
	{
		if (program == NULL)
			start[at] = 0;
		return;
	}
	entries += row_start[row];

	const int64_t n = row_start[row + 1] - row_start[row];
	const int64_t begin = find_tile(entries, n, (uint32_t) tile);
	const int64_t end = begin + find_tile(entries + begin, n - begin, (uint32_t) tile + 1);

	if (program == NULL)
	{
		start[at] = (uint32_t) ((end - begin + 1) / 2);
		return;
	}
	program += start[at];
	for (int64_t e = begin; e < end; e += 2)
	{
		uint32_t	half[2];

		for (int i = 0; i < 2; i++)
		{
			const uint32_t entry = e + i < end ? entries[e + i] : (uint32_t) ((tile + 1) * FUSED_NCOLUMNS);

			half[i] = ((entry & ~GR_ENTRY_SIGN) - (uint32_t) (tile * FUSED_NCOLUMNS)) *
				(FUSED_PITCH * sizeof(float) / 2) |
				(entry & GR_ENTRY_SIGN);
		}
		*program++ = make_uint2(half[0], half[1]);
	}
}

bool
gr_project_wants_program(int32_t k, int64_t dim, int64_t capacity)
{
	int			device;
	int			shared_nbytes = 0;

	if (k > FUSED_K_MAX || dim > FUSED_DIM_MAX || capacity < FUSED_CAPACITY_MIN)
		return false;
	return cudaGetDevice(&device) == cudaSuccess &&
		cudaDeviceGetAttribute(&shared_nbytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) == cudaSuccess &&
		shared_nbytes >= (int) STAGED_NBYTES;
}

cudaError_t
gr_project_program_sizes(int32_t k, int64_t dim, int64_t nnonzeros, size_t *start_nbytes, size_t *program_nbytes,
						 size_t *scratch_nbytes)
{
	const int64_t nstarts = (int64_t) count_tiles(dim) * padded_rows(k) + 1;

	*start_nbytes = sizeof(uint32_t) * (size_t) nstarts;
	/* The program includes pairs that are only read ahead. */
	*program_nbytes = sizeof(uint32_t) * (size_t) (nnonzeros + nstarts) + 96 * sizeof(uint2);
	return gr_cub([&] {
		return cub::DeviceScan::ExclusiveSum(NULL, *scratch_nbytes, (uint32_t *) NULL, (uint32_t *) NULL, nstarts);
	});
}

cudaError_t
gr_project_program_launch(const ProjectMatrix *matrix, uint32_t *start, uint2 *program, void *scratch,
						  size_t scratch_nbytes,
						  cudaStream_t stream)
{
	const int	nrows = padded_rows(matrix->k);
	const int	nown = rows_per_warp(matrix->k);
	const int	ntiles = count_tiles(matrix->dim);
	const unsigned nblocks = (unsigned) (ntiles * nrows / 128 + 1);
	size_t		start_nbytes;
	size_t		program_nbytes;
	size_t		sizes_scratch_nbytes;
	cudaError_t code;

	/* pairs after the last one are read ahead, and so are the columns that they point to */
	code = gr_project_program_sizes(matrix->k, matrix->dim, matrix->nnonzeros, &start_nbytes, &program_nbytes,
									&sizes_scratch_nbytes);
	if (code == cudaSuccess)
		code = cudaMemsetAsync(program, 0, program_nbytes, stream);
	if (code != cudaSuccess)
		return code;
	program_kernel<<<nblocks, 128, 0, stream>>>(matrix->row_start, matrix->entries, matrix->k, nrows, nown, ntiles,
												start, NULL);
	code = cudaGetLastError();
	if (code == cudaSuccess)
		code = gr_cub([&] {
			return cub::DeviceScan::ExclusiveSum(scratch, scratch_nbytes, start, start, (int64_t) ntiles * nrows + 1,
												 stream);
		});
	if (code != cudaSuccess)
		return code;
	program_kernel<<<nblocks, 128, 0, stream>>>(matrix->row_start, matrix->entries, matrix->k, nrows, nown, ntiles,
												start, program);
	return cudaGetLastError();
}

template <int R>
static cudaError_t
launch_fused(const ProjectMatrix *matrix, const float *x, int64_t nvectors, float *y, cudaStream_t stream)
{
	const int	nslices = padded_rows(matrix->k) / (FUSED_NWARPS * R);
	const int64_t nblocks = (nvectors + FUSED_NVECTORS - 1) / FUSED_NVECTORS * nslices;
	cudaError_t code = gr_allow_shared((const void *) fused_kernel<R>, STAGED_NBYTES);

	if (code != cudaSuccess)
		return code;
	fused_kernel<R><<<(unsigned) nblocks, FUSED_NTHREADS, STAGED_NBYTES, stream>>>(
		x, nvectors, (int) matrix->dim, matrix->program_start, matrix->program, matrix->k, nslices, matrix->scale, y);
	return cudaGetLastError();
}

cudaError_t
gr_project_fused_launch(const ProjectMatrix *matrix, const float *x, int64_t nvectors, float *y, cudaStream_t stream)
{
	switch (rows_per_warp(matrix->k))
	{
		case 4:
			return launch_fused<4>(matrix, x, nvectors, y, stream);
		default:
			return launch_fused<8>(matrix, x, nvectors, y, stream);
	}
}
