/*
 * project_draw.cu: draws S by columns and sorts it by rows; see project.cuh.
 *
 * Who owns what. A thread draws a stratum of a column, with the functions of compute/project/draw.h:
 *
 *    thread (of all)    0              1              ..   nstrata - 1   |  nstrata       ..
 *    column, stratum    0, 0           0, 1           ..   0, last       |  1, 0          ..
 *
 * A first pass counts: the thread blocks' sums are scanned. The second pass draws again, which is cheaper than storing
 * what was drawn. A thread block puts its nonzeros into shared memory in the order of threads, and copies them out side
 * by side. The pairs are thus in the order of columns, and a stable sort by row leaves the columns of a row ascending.
 *
 * With p = 1 neither is needed: the place of entry (i, j) is known.
 */
#include "project.cuh"

#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

#include <string.h>

#define DRAW_NTHREADS 256
#define DRAW_ROOM (DRAW_NTHREADS * (GR_DRAW_MEAN + 2))	/* mean plus at least 11 standard deviations */
#define BLOCKS_PER_LAUNCH ((int64_t) 1 << 19)

/* A thread's stratum: its first words, and the number of nonzeros that they draw */
typedef struct Stratum
{
	int64_t		column;
	int32_t		stratum;
	int			count;
	GrPhilox	first;
} Stratum;

/* gr_draw_count(), but all lanes of a warp read the same threshold from constant memory. */
static __device__ inline int
count_nonzeros(const GrDraw &draw, bool last, GrPhilox first)
{
	const uint64_t u = (uint64_t) first.word[0] << 32 | first.word[1];
	const int	nthresholds = last ? draw.last.nthresholds : draw.full.nthresholds;
	int			n = 0;

	for (int m = 0; m < GR_DRAW_MAX; m++)
	{
		const uint64_t threshold = last ? draw.last.thresholds[m] : draw.full.thresholds[m];

		if (m >= nthresholds || threshold > u)
			break;
		n++;
	}
	return n;
}

/* Returns the stratum of the thread in thread block number block of all. */
static __device__ inline Stratum
thread_stratum(const GrDraw &draw, int64_t nstrata, int64_t block)
{
	const int64_t at = block * DRAW_NTHREADS + threadIdx.x;
	Stratum		s;

	s.column = at;
	s.stratum = 0;
	if (draw.nstrata > 1)
	{
		s.column = at / draw.nstrata;
		s.stratum = (int32_t) (at - s.column * draw.nstrata);
	}
	s.first = gr_draw_words(draw.seed, s.column, (uint32_t) s.stratum, 0);
	s.count = at < nstrata ? count_nonzeros(draw, s.stratum == draw.nstrata - 1, s.first) : 0;
	return s;
}

/* Counts the nonzeros of each thread block's strata. */
static __global__ void
__launch_bounds__(DRAW_NTHREADS)
count_kernel(const __grid_constant__ GrDraw draw, int64_t nstrata, int64_t first_block, int64_t *__restrict__ counts)
{
	typedef cub::BlockReduce<int, DRAW_NTHREADS> Reduce;
	__shared__ typename Reduce::TempStorage scratch;
	const int64_t block = first_block + blockIdx.x;
	int			count;

	count = Reduce(scratch).Sum(thread_stratum(draw, nstrata, block).count);
	if (threadIdx.x == 0)
		counts[block] = count;
}

/* Draws directly to the destination if shared memory is too small, which practically never happens. */
template <typename Key>
static __device__ __noinline__ void
draw_in_place(const GrDraw *draw, const Stratum &s, Key *keys, uint32_t *values)
{
	gr_draw_entries(draw, s.column, s.stratum, s.first, s.count, values, 1);
	for (int m = 0; m < s.count; m++)
	{
		uint32_t	entry = values[m];

		keys[m] = (Key) (entry & ~GR_ENTRY_SIGN);
		values[m] = (uint32_t) s.column | (entry & GR_ENTRY_SIGN);
	}
}

/* Draws the nonzeros of each thread block's strata, from counts[block] on. */
template <typename Key>
static __global__ void
__launch_bounds__(DRAW_NTHREADS)
draw_kernel(const __grid_constant__ GrDraw draw, int64_t nstrata, int64_t first_block, int room,
			const int64_t *__restrict__ counts, Key *__restrict__ keys, uint32_t *__restrict__ values)
{
	typedef cub::BlockScan<int, DRAW_NTHREADS> Scan;
	__shared__ typename Scan::TempStorage scratch;
	__shared__ uint32_t rows[DRAW_ROOM];
	__shared__ uint32_t columns[DRAW_ROOM];
	const int64_t block = first_block + blockIdx.x;
	const int64_t base = counts[block];
	int			offset;
	int			total;


	const Stratum s = thread_stratum(draw, nstrata, block);

	Scan(scratch).ExclusiveSum(s.count, offset, total);
	if (total > room)
	{
		draw_in_place(&draw, s, keys + base + offset, values + base + offset);
		return;					/* the whole thread block returns */
	}
	gr_draw_entries(&draw, s.column, s.stratum, s.first, s.count, rows + offset, 1);
	for (int m = 0; m < s.count; m++)
		columns[offset + m] = (uint32_t) s.column | (rows[offset + m] & GR_ENTRY_SIGN);
	__syncthreads();
	for (int i = threadIdx.x; i < total; i += DRAW_NTHREADS)
	{
		keys[base + i] = (Key) (rows[i] & ~GR_ENTRY_SIGN);
		values[base + i] = columns[i];
	}
}

/* Finds where rows start; a thread finds the first key that is not less than its row. */
template <typename Key>
static __global__ void
rows_kernel(const Key *__restrict__ keys, int64_t nnonzeros, int32_t k, int64_t *__restrict__ row_start)
{
	const int64_t row = (int64_t) blockIdx.x * blockDim.x + threadIdx.x;
	int64_t		low = 0;
	int64_t		high = nnonzeros;

	if (row > k)
		return;
	while (low < high)
	{
		const int64_t middle = low + (high - low) / 2;

		if ((int64_t) keys[middle] < row)
			low = middle + 1;
		else
			high = middle;
	}
	row_start[row] = low;
}

/* p = 1: a thread writes column j of 128 rows, whose signs are in one block of words. */
static __global__ void
fill_kernel(uint64_t seed, int32_t k, int64_t dim, int64_t first, int64_t end, uint32_t *__restrict__ entries)
{
	const int64_t j = first + (int64_t) blockIdx.x * blockDim.x + threadIdx.x;

	if (j >= end)
		return;
	for (int64_t i0 = 128 * (int64_t) blockIdx.y; i0 < k; i0 += 128 * (int64_t) gridDim.y)
	{
		const GrPhilox words = gr_draw_words(seed, j, 0, (uint32_t) (i0 / 128));

#pragma unroll
		for (int w = 0; w < 4; w++)
			for (int b = 0; b < 32; b++)
				if (i0 + 32 * w + b < k)
					entries[(i0 + 32 * w + b) * dim + j] = (uint32_t) j | (words.word[w] >> b) << 31;
	}
}

/* p = 1: writes where rows start. */
static __global__ void
fill_rows_kernel(int32_t k, int64_t dim, int64_t *__restrict__ row_start)
{
	const int64_t i = (int64_t) blockIdx.x * blockDim.x + threadIdx.x;

	if (i <= k)
		row_start[i] = i * dim;
}

cudaError_t
gr_project_drawing(ProjectDrawing *drawing, const GrDraw *draw, int64_t dim)
{
	memset(drawing, 0, sizeof(*drawing));
	drawing->draw = *draw;
	drawing->dim = dim;
	drawing->nstrata = dim * draw->nstrata;
	drawing->nblocks = (drawing->nstrata + DRAW_NTHREADS - 1) / DRAW_NTHREADS;
	drawing->nblocks_per_launch = BLOCKS_PER_LAUNCH;
	drawing->nbits = 1;
	while (drawing->nbits < 31 && (int64_t) 1 << drawing->nbits < draw->k)
		drawing->nbits++;
	drawing->key_nbytes = drawing->nbits <= 16 ? 2 : 4;
	drawing->room = DRAW_ROOM;
	return gr_cub([&] {
		return cub::DeviceScan::ExclusiveSum(NULL, drawing->scan_nbytes, (int64_t *) NULL, (int64_t *) NULL,
											 drawing->nblocks + 1);
	});
}

cudaError_t
gr_project_count_launch(const ProjectDrawing *drawing, int64_t first_block, int64_t nblocks, int64_t *counts,
						cudaStream_t stream)
{
	count_kernel<<<(unsigned) nblocks, DRAW_NTHREADS, 0,
		stream>>>(drawing->draw, drawing->nstrata, first_block, counts);
	return cudaGetLastError();
}

cudaError_t
gr_project_scan_launch(const ProjectDrawing *drawing, int64_t *counts, void *scan, cudaStream_t stream)
{
	size_t		scan_nbytes = drawing->scan_nbytes;
	cudaError_t code = cudaMemsetAsync(counts + drawing->nblocks, 0, sizeof(int64_t), stream);

	if (code != cudaSuccess)
		return code;
	return gr_cub([&] {
		return cub::DeviceScan::ExclusiveSum(scan, scan_nbytes, counts, counts, drawing->nblocks + 1, stream);
	});
}

cudaError_t
gr_project_draw_launch(const ProjectDrawing *drawing, int64_t first_block, int64_t nblocks, const int64_t *counts,
					   void *keys,
					   uint32_t *values, cudaStream_t stream)
{
	if (drawing->key_nbytes == 2)
		draw_kernel<<<(unsigned) nblocks, DRAW_NTHREADS, 0, stream>>>(drawing->draw, drawing->nstrata, first_block,
																	  drawing->room, counts, (uint16_t *) keys, values);
	else
		draw_kernel<<<(unsigned) nblocks, DRAW_NTHREADS, 0, stream>>>(drawing->draw, drawing->nstrata, first_block,
																	  drawing->room, counts, (uint32_t *) keys, values);
	return cudaGetLastError();
}

/* Sorts pairs with keys of one type. */
template <typename Key>
static cudaError_t
sort_pairs(const ProjectDrawing *drawing, int64_t nnonzeros, ProjectSort *sort, cudaStream_t stream)
{
	cub::DoubleBuffer<Key> both_keys((Key *) sort->keys[0], (Key *) sort->keys[1]);
	cub::DoubleBuffer<uint32_t> both_values(sort->values[0], sort->values[1]);
	cudaError_t code = gr_cub([&] {
		return cub::DeviceRadixSort::SortPairs(sort->scratch, sort->scratch_nbytes, both_keys, both_values, nnonzeros,
											   0, drawing->nbits, stream);
	});

	sort->sorted = both_values.selector;
	return code;
}

cudaError_t
gr_project_sort_launch(const ProjectDrawing *drawing, int64_t nnonzeros, ProjectSort *sort, cudaStream_t stream)
{
	sort->sorted = 0;
	if (drawing->key_nbytes == 2)
		return sort_pairs<uint16_t>(drawing, nnonzeros, sort, stream);
	return sort_pairs<uint32_t>(drawing, nnonzeros, sort, stream);
}

cudaError_t
gr_project_rows_launch(const ProjectDrawing *drawing, int64_t nnonzeros, const void *keys, int64_t *row_start,
					   cudaStream_t stream)
{
	const unsigned nblocks = (unsigned) (drawing->draw.k / DRAW_NTHREADS + 1);

	if (drawing->key_nbytes == 2)
		rows_kernel<<<nblocks, DRAW_NTHREADS, 0,
			stream>>>((const uint16_t *) keys, nnonzeros, drawing->draw.k, row_start);
	else
		rows_kernel<<<nblocks, DRAW_NTHREADS, 0,
			stream>>>((const uint32_t *) keys, nnonzeros, drawing->draw.k, row_start);
	return cudaGetLastError();
}

cudaError_t
gr_project_fill_launch(const ProjectDrawing *drawing, int64_t first, int64_t ncolumns, uint32_t *entries,
					   int64_t *row_start,
					   cudaStream_t stream)
{
	const int32_t k = drawing->draw.k;
	const int64_t ngroups = ((int64_t) k + 127) / 128;
	const dim3	grid((unsigned) ((ncolumns + DRAW_NTHREADS - 1) / DRAW_NTHREADS),
					 (unsigned) (ngroups < 65535 ? ngroups : 65535));

	if (first == 0)
	{
		fill_rows_kernel<<<(unsigned) (k / DRAW_NTHREADS + 1), DRAW_NTHREADS, 0, stream>>>(k, drawing->dim, row_start);

		cudaError_t code = cudaGetLastError();

		if (code != cudaSuccess)
			return code;
	}
	fill_kernel<<<grid, DRAW_NTHREADS, 0,
		stream>>>(drawing->draw.seed, k, drawing->dim, first, first + ncolumns, entries);
	return cudaGetLastError();
}
