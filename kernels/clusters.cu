/*
 * clusters.cu: kernels of the middle of a cluster-robust covariance matrix; see clusters.cuh.
 *
 * Groups of 8, 16 or 32 lanes of a warp own a range of sorted rows, with one lane per column of sums:
 *
 *	 sorted rows    | a a a b b c | c c c c c c | c c d d e e |
 *	 ranges         |      0      |      1      |      2      |
 *	 lasts          |          c  |             |          e  |
 *	 firsts         |             | c           | c           |
 *	 scores           a, b                        d
 *
 * The sums of a cluster within one range are complete at once; those of c and e are joined afterwards.
 */
#include "clusters.cuh"

#include "compute/base/dd.h"
#include "compute/glm/scores_row.h"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_select.cuh>
#include <thrust/iterator/counting_iterator.h>

#define NTHREADS 256
#define BATCH 4					/* rows whose loads are under way together */

static unsigned
blocks_of(int64_t n)
{
	return (unsigned) ((n + NTHREADS - 1) / NTHREADS);
}

/*
 * Keys
 */

/* Finds the least and greatest keys: a thread takes every gridDim.x * NTHREADS-th row. */
static __global__ void
keys_kernel(const double *rows, int64_t nrows, int ncols, GrKeyCode code, ClusterKeys *keys)
{
	const int	nkeys = code.at[1] < 0 ? 1 : 2;
	long long	least[2] = {INT64_MAX, INT64_MAX};
	long long	greatest[2] = {INT64_MIN, INT64_MIN};
	unsigned long long nwrong = 0;

	for (int64_t r = (int64_t) blockIdx.x * NTHREADS + threadIdx.x; r < nrows; r += (int64_t) gridDim.x * NTHREADS)
		for (int k = 0; k < nkeys; k++)
		{
			const double number = rows[r * ncols + code.at[k]];
			const bool	right = gr_is_cluster_key(number);
			const long long key = right ? (long long) number : 0;

			nwrong += right ? 0 : 1;
			least[k] = key < least[k] ? key : least[k];
			greatest[k] = key > greatest[k] ? key : greatest[k];
		}
	for (int half = 16; half > 0; half /= 2)
	{
		nwrong += __shfl_down_sync(0xffffffffu, nwrong, half);
		for (int k = 0; k < nkeys; k++)
		{
			const long long low = __shfl_down_sync(0xffffffffu, least[k], half);
			const long long high = __shfl_down_sync(0xffffffffu, greatest[k], half);

			least[k] = low < least[k] ? low : least[k];
			greatest[k] = high > greatest[k] ? high : greatest[k];
		}
	}
	if (threadIdx.x % 32 != 0)
		return;
	if (nwrong > 0)
		atomicAdd(&keys->nwrong, nwrong);
	for (int k = 0; k < nkeys; k++)
	{
		atomicMin(&keys->least[k], least[k]);
		atomicMax(&keys->greatest[k], greatest[k]);
	}
}

cudaError_t
gr_cluster_keys_launch(const double *rows, int64_t nrows, GrRowShape shape, const GrKeyCode *code, ClusterKeys *keys,
					   cudaStream_t stream)
{
	const unsigned nblocks = blocks_of(nrows);

	keys_kernel<<<nblocks < 1024 ? nblocks : 1024, NTHREADS, 0, stream>>>(rows, nrows, gr_row_ncols(shape), *code,
																		  keys);
	return cudaGetLastError();
}

/* Writes rows' codes, numbers and parts; a thread has a row. */
static __global__ void
rows_kernel(ClusterTerms terms, GrKeyCode code, const double *rows, int64_t nrows, int64_t first,
			ClusterEntries entries)
{
	const int64_t r = (int64_t) blockIdx.x * NTHREADS + threadIdx.x;
	const double *row = rows + r * gr_row_ncols(terms.shape);
	GrScoreParts made;

	if (r >= nrows)
		return;
	made = gr_score_parts(terms.distribution, terms.shape, row, terms.beta, terms.beta_lo, terms.shift);
	entries.codes[0][first + r] = gr_key_code(&code, row);
	entries.numbers[0][first + r] = (uint32_t) (first + r);
	entries.parts[first + r] = make_double2(made.factor, made.square);
}

cudaError_t
gr_cluster_rows_launch(const ClusterTerms *terms, const GrKeyCode *code, const double *rows, int64_t nrows,
					   int64_t first, const ClusterEntries *entries, cudaStream_t stream)
{
	rows_kernel<<<blocks_of(nrows), NTHREADS, 0, stream>>>(*terms, *code, rows, nrows, first, *entries);
	return cudaGetLastError();
}

/* True if a cluster begins at sorted position at. */
struct BeginsCluster
{
	const uint64_t *codes;

	__device__ bool operator() (uint32_t at) const
	{
		return at == 0 || codes[at] != codes[at - 1];
	}
};

cudaError_t
gr_cluster_sort_launch(ClusterEntries *entries, cudaStream_t stream)
{
	cub::DoubleBuffer<uint64_t> both_codes(entries->codes[0], entries->codes[1]);
	cub::DoubleBuffer<uint32_t> both_numbers(entries->numbers[0], entries->numbers[1]);
	const thrust::counting_iterator<uint32_t> all(0);
	size_t		sort_nbytes = entries->temp_nbytes;
	size_t		select_nbytes = entries->temp_nbytes;
	cudaError_t code = gr_cub([&] {
		return cub::DeviceRadixSort::SortPairs(entries->temp, sort_nbytes, both_codes, both_numbers, entries->nrows, 0,
											   entries->nbits > 0 ? entries->nbits : 1, stream);
	});

	entries->sorted = both_numbers.selector;
	if (code != cudaSuccess)
		return code;
	code = gr_cub([&] {
		return cub::DeviceSelect::If(entries->temp, select_nbytes, all, both_numbers.Alternate(), entries->nclusters,
									 entries->nrows, BeginsCluster{both_codes.Current()}, stream);
	});
	if (entries->temp == NULL)
		entries->temp_nbytes = sort_nbytes > select_nbytes ? sort_nbytes : select_nbytes;
	return code;
}

/*
 * Sums
 */

/* Returns the row of a number. */
static __device__ inline const double *
find_row(const ClusterChunks &chunks, int64_t number, int ncols)
{
	int			c = 0;

	while (number >= chunks.end[c])
		c++;
	return chunks.rows[c] + (number - (c > 0 ? chunks.end[c - 1] : 0)) * ncols;
}

/* Returns the cluster of the row at sorted position at. */
static __device__ inline int64_t
find_cluster(const ClusterOrder &order, const ClusterSlice &slice, int64_t at)
{
	int64_t		low = slice.first;
	int64_t		high = slice.first + slice.n;

	while (high - low > 1)
	{
		const int64_t middle = low + (high - low) / 2;

		if (order.start[middle] <= at)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static __device__ inline int64_t
end_of_cluster(const ClusterOrder &order, int64_t g)
{
	return g + 1 < order.nclusters ? order.start[g + 1] : order.nrows;
}

/* A column of sums: a term or, last, the square */
typedef struct ClusterColumn
{
	int			at;
	int			t;				/* number of terms */
	int			ncols;			/* numbers of a row */
	double		shift;			/* the term's shift */
} ClusterColumn;

/* Returns what the row at a sorted position adds to a column: factor z_j or, in the last column, the square. */
static __device__ inline double
value_of(const ClusterColumn &column, const ClusterChunks &chunks, const ClusterOrder &order, int64_t at)
{
	const uint32_t number = order.row[at];
	const double2 parts = order.parts[number];

	if (column.at == column.t)
		return parts.y;
	if (column.at == 0)
		return parts.x;
	return parts.x * (find_row(chunks, number, column.ncols)[column.at - 1] - column.shift);
}

/* hi + lo += value, with the rounding errors of hi in lo. */
static __device__ inline void
add_value(GrDD *sum, double value)
{
	const GrDD	s = gr_two_sum(sum->hi, value);

	sum->hi = s.hi;
	sum->lo += s.lo;
}

/* Returns the sum of a column over sorted rows from .. to - 1, all of one cluster. */
static __device__ inline GrDD
sum_rows(const ClusterColumn &column, const ClusterChunks &chunks, const ClusterOrder &order, int64_t from, int64_t to)
{
	GrDD		sum = {0.0, 0.0};

	for (; to - from >= BATCH; from += BATCH)
	{
		double		value[BATCH];

#pragma unroll
		for (int k = 0; k < BATCH; k++)
			value[k] = value_of(column, chunks, order, from + k);
#pragma unroll
		for (int k = 0; k < BATCH; k++)
			add_value(&sum, value[k]);
	}
	for (; from < to; from++)
		add_value(&sum, value_of(column, chunks, order, from));
	return gr_two_sum(sum.hi, sum.lo);
}

/* Sums ranges: W lanes have a range, each lane a column of sums. */
template <int W>
static __global__ void __launch_bounds__(NTHREADS)
sum_kernel(ClusterTerms terms, ClusterChunks chunks, ClusterOrder order, ClusterSlice slice, int64_t from_range,
		   int64_t nranges)
{
	const int64_t in_launch = (int64_t) blockIdx.x * (NTHREADS / W) + threadIdx.x / W;
	const int64_t range = from_range + in_launch;
	const int	ncols = gr_cluster_ncols(terms.shape);
	ClusterColumn column = {
		(int) (blockIdx.y * W + threadIdx.x % W), gr_nterms(terms.shape.nfeatures), gr_row_ncols(terms.shape), 0.0
	};
	int64_t		at = slice.begin + range * slice.range_nrows;
	const int64_t end = min(at + slice.range_nrows, slice.end);
	double2    *first = slice.firsts + range * ncols + column.at;
	int64_t		g;

	if (in_launch >= nranges || column.at >= ncols)
		return;
	if (column.at > 0 && column.at < column.t)
		column.shift = terms.shift[column.at - 1];
	g = find_cluster(order, slice, at);
	for (bool is_first = true; at < end; is_first = false, g++)
	{
		const int64_t stop = end_of_cluster(order, g);
		const bool	whole = order.start[g] == at && stop <= end;
		const int64_t to = min(stop, end);
		const GrDD	sum = sum_rows(column, chunks, order, at, to);
		double2    *into = whole ? slice.scores + (g - slice.first) * ncols + column.at : is_first ? first :
			slice.lasts + range * ncols + column.at;

		*into = make_double2(sum.hi, sum.lo);
		at = to;
	}
}

template <int W>
static void
launch_sum(const ClusterTerms *terms, const ClusterChunks *chunks, const ClusterOrder *order,
		   const ClusterSlice *slice, int64_t from_range, int64_t nranges, cudaStream_t stream)
{
	const int	ranges_a_block = NTHREADS / W;
	const dim3	grid((unsigned) ((nranges + ranges_a_block - 1) / ranges_a_block),
					 (unsigned) ((gr_cluster_ncols(terms->shape) + W - 1) / W));

	sum_kernel<W><<<grid, NTHREADS, 0, stream>>>(*terms, *chunks, *order, *slice, from_range, nranges);
}

cudaError_t
gr_cluster_sum_launch(const ClusterTerms *terms, const ClusterChunks *chunks, const ClusterOrder *order,
					  const ClusterSlice *slice, int64_t from_range, int64_t nranges, cudaStream_t stream)
{
	const int	ncols = gr_cluster_ncols(terms->shape);

	if (ncols <= 8)
		launch_sum<8>(terms, chunks, order, slice, from_range, nranges, stream);
	else if (ncols <= 16)
		launch_sum<16>(terms, chunks, order, slice, from_range, nranges, stream);
	else
		launch_sum<32>(terms, chunks, order, slice, from_range, nranges, stream);
	return cudaGetLastError();
}

static __device__ inline GrDD
dd_of(double2 value)
{
	GrDD		dd = {value.x, value.y};

	return dd;
}

/* Joins the sums of clusters over several ranges; a thread has a column of a cluster. */
static __global__ void
join_kernel(ClusterOrder order, ClusterSlice slice, int ncols)
{
	const int64_t at = (int64_t) blockIdx.x * NTHREADS + threadIdx.x;
	const int64_t g = at / ncols;
	const int	column = (int) (at % ncols);
	int64_t		begin;
	int64_t		from;
	int64_t		to;
	GrDD		sum;

	if (g >= slice.n)
		return;
	begin = order.start[slice.first + g] - slice.begin;
	from = begin / slice.range_nrows;
	to = (end_of_cluster(order, slice.first + g) - slice.begin - 1) / slice.range_nrows;
	if (from == to)
		return;
	sum = dd_of((begin % slice.range_nrows == 0 ? slice.firsts : slice.lasts)[from * ncols + column]);
	for (int64_t range = from + 1; range <= to; range++)
		sum = gr_dd_add(sum, dd_of(slice.firsts[range * ncols + column]));
	slice.scores[at] = make_double2(sum.hi, sum.lo);
}

cudaError_t
gr_cluster_join_launch(const ClusterOrder *order, const ClusterSlice *slice, int ncols, cudaStream_t stream)
{
	join_kernel<<<blocks_of(slice->n * ncols), NTHREADS, 0, stream>>>(*order, *slice, ncols);
	return cudaGetLastError();
}

/* The middle of the covariance matrix */

/* Returns the row of a packed triangle that entry k is in. */
static __device__ inline int
row_of_entry(int64_t k)
{
	int64_t		i = (int64_t) ((sqrt(8.0 * (double) k + 1.0) - 1.0) / 2.0);

	while (i * (i + 1) / 2 > k)
		i--;
	while ((i + 1) * (i + 2) / 2 <= k)
		i++;
	return (int) i;
}

/* Adds clusters to the middle: a thread has an entry, and the clusters of a split. */
static __global__ void
middle_kernel(ClusterSlice slice, int ncols, int64_t nentries, double2 *partials)
{
	const int64_t k = (int64_t) blockIdx.y * blockDim.x + threadIdx.x;
	const int64_t share = (slice.n + gridDim.x - 1) / gridDim.x;
	const int64_t begin = (int64_t) blockIdx.x * share;
	const int64_t end = min(begin + share, slice.n);
	double2    *into = partials + (int64_t) blockIdx.x * nentries + k;
	GrDD		sum;
	int			i;
	int			j;

	if (k >= nentries)
		return;
	sum = dd_of(*into);
	/* the last entry is the sum of squares */
	i = k == nentries - 1 ? ncols - 1 : row_of_entry(k);
	j = (int) (k - (int64_t) i * (i + 1) / 2);
	for (int64_t g = begin; g < end; g++)
	{
		const double2 *score = slice.scores + g * ncols;
		const double2 left = score[i];

		if (i == ncols - 1)
			sum = gr_dd_add(sum, dd_of(left));
		else
		{
			const double2 right = score[j];

			sum = gr_dd_add(sum, gr_two_prod(left.x + left.y, right.x + right.y));
		}
	}
	*into = make_double2(sum.hi, sum.lo);
}

cudaError_t
gr_cluster_middle_launch(const ClusterSlice *slice, int ncols, int nsplits, double2 *partials, cudaStream_t stream)
{
	const int64_t nentries = (int64_t) (ncols - 1) * ncols / 2 + 1;
	const unsigned nthreads = nentries < NTHREADS ? (unsigned) ((nentries + 31) / 32 * 32) : NTHREADS;
	const dim3	grid((unsigned) nsplits, (unsigned) ((nentries + nthreads - 1) / nthreads));

	middle_kernel<<<grid, nthreads, 0, stream>>>(*slice, ncols, nentries, partials);
	return cudaGetLastError();
}

/* Sums the splits' partials in their order; a thread has one number. */
static __global__ void
merge_kernel(const double2 *partials, int64_t n, int nsplits, double2 *result)
{
	const int64_t k = (int64_t) blockIdx.x * NTHREADS + threadIdx.x;
	GrDD		sum = {0.0, 0.0};

	if (k >= n)
		return;
	for (int s = 0; s < nsplits; s++)
		sum = gr_dd_add(sum, dd_of(partials[s * n + k]));
	result[k] = make_double2(sum.hi, sum.lo);
}

cudaError_t
gr_cluster_merge_launch(const double2 *partials, int64_t n, int nsplits, double2 *result, cudaStream_t stream)
{
	merge_kernel<<<blocks_of(n), NTHREADS, 0, stream>>>(partials, n, nsplits, result);
	return cudaGetLastError();
}
