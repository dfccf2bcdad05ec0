/*
 * derive.cu: kernels that derive rows; see derive.cuh.
 *
 * out[k][j] = number j of derived row k, the product of its factors over kept row r(k), the k-th row that takes part. A
 * thread block owns a tile. When marking, a lane has a row. When writing, the threads take the tile's numbers one after
 * another as they lie in memory, so writes are whole lines, and reads too if numbers are neighbouring columns:
 *
 *    marking:   lane       0    1    2  ..       writing:   thread    0       1      ..  ncols - 1 |  ncols   ..
 *               row        0    1    2  ..                  number    (0, 0)  (0, 1) ..            |  (1, 0)  ..
 *
 * Computed numbers are made first, a row per lane, so that all lanes of a warp compute the same number, and wait in
 * shared memory. A row is written after those of earlier tiles, which a scan over the tiles' counts gives, and after
 * the marked rows before it in its tile: the order is kept.
 */
#include "derive.cuh"

#include "compute/design/derive_row.h"

#include <cub/device/device_scan.cuh>

#define THREADS 256
#define WARPS (THREADS / 32)
#define BATCH 4					/* numbers that a thread reads before it writes them */
#define CACHED 1024				/* most numbers of a row whose columns are kept in shared memory */
#define MADE 4096				/* computed numbers in a thread block's shared memory */
#define NARROW 64				/* up to this many columns, a lane checks a row by itself */
#define TILE_NUMBERS 16384		/* numbers of a tile, about */
#define ALL_LANES 0xffffffffu

int
gr_derive_tile_nrows(int ncols)
{
	int			nrows = DERIVE_TILE_MAX;

	while (nrows > 32 && (int64_t) nrows * ncols > TILE_NUMBERS)
		nrows /= 2;
	return nrows;
}

static unsigned
count_tiles(const DerivePlan *plan, DeriveRows rows)
{
	return (unsigned) ((rows.nrows + plan->tile_nrows - 1) / plan->tile_nrows);
}

/*
 * Marking
 */

/* Returns a bit mask of the warp's passing rows that have a NULL; row: the lane's. */
static __device__ unsigned
find_nulls(const DerivePlan &plan, const double *row, bool passes)
{
	unsigned	nulls = 0;
	bool		null = false;

	if (plan.nused <= NARROW)
	{
		for (int k = 0; passes && k < plan.nused; k++)
			null |= isnan(row[plan.used[k]]);
		return __ballot_sync(ALL_LANES, null);
	}
	for (unsigned left = __ballot_sync(ALL_LANES, passes); left != 0; left &= left - 1)
	{
		int			lane = __ffs((int) left) - 1;
		const double *shared = (const double *) __shfl_sync(ALL_LANES, (unsigned long long) row, lane);

		null = false;
		for (int k = threadIdx.x % 32; k < plan.nused; k += 32)
			null |= isnan(shared[plan.used[k]]);
		nulls |= __any_sync(ALL_LANES, null) ? 1u << lane : 0;
	}
	return nulls;
}

/* Marks and counts rows; a thread block has a tile. */
static __global__ void
mark_kernel(DerivePlan plan, DeriveRows rows, uint32_t *marks, int64_t *counts, DeriveFound *found)
{
	__shared__ int kept[WARPS];
	const int	lane = threadIdx.x % 32;
	const int	nwords = plan.tile_nrows / 32;
	const int64_t tile = rows.first_tile + blockIdx.x;
	int			nkept = 0;
	int			nfiltered = 0;
	int			nskipped = 0;
	int			nweightless = 0;

	for (int word = threadIdx.x / 32; word < nwords; word += WARPS)
	{
		int64_t		r = (int64_t) blockIdx.x * plan.tile_nrows + 32 * word + lane;
		const double *row = rows.rows + r * plan.ncolumns;
		bool		there = r < rows.nrows;
		bool		passes = there && gr_filter_passes(plan.steps, plan.nsteps, row);
		bool		null = (find_nulls(plan, row, passes) >> lane & 1) != 0;
		bool		counted = passes && !null;
		bool		weightless = counted && plan.shape.weight &&
			gr_derive_number(&plan.numbers[gr_weight_at(plan.shape)], plan.factors, row) == 0.0;
		unsigned	mark = __ballot_sync(ALL_LANES, counted && !weightless);

		nfiltered += __popc(__ballot_sync(ALL_LANES, there && !passes));
		nskipped += __popc(__ballot_sync(ALL_LANES, null));
		nweightless += __popc(__ballot_sync(ALL_LANES, weightless));
		nkept += __popc(mark);
		if (lane == 0)
			marks[tile * nwords + word] = mark;
	}
	if (lane == 0)
	{
		kept[threadIdx.x / 32] = nkept;
		if (nfiltered > 0)
			atomicAdd(&found->nfiltered, (unsigned long long) nfiltered);
		if (nskipped > 0)
			atomicAdd(&found->nskipped, (unsigned long long) nskipped);
		if (nweightless > 0)
			atomicAdd(&found->nweightless, (unsigned long long) nweightless);
	}
	__syncthreads();
	if (threadIdx.x != 0)
		return;
	for (int w = 1; w < WARPS; w++)
		nkept += kept[w];
	counts[tile] = nkept;
}

cudaError_t
gr_derive_mark_launch(const DerivePlan *plan, DeriveRows rows, uint32_t *marks, int64_t *counts, DeriveFound *found,
					  cudaStream_t stream)
{
	mark_kernel<<<count_tiles(plan, rows), THREADS, 0, stream>>>(*plan, rows, marks, counts, found);
	return cudaGetLastError();
}

cudaError_t
gr_derive_scan_launch(void *temp, size_t *temp_nbytes, int64_t *counts, int64_t n, cudaStream_t stream)
{
	return gr_cub([&] { return cub::DeviceScan::ExclusiveSum(temp, *temp_nbytes, counts, counts, n, stream); });
}

/*
 * Writing
 */

/* True if value is valid as number j of a derived row. all: a weight of 0 is not valid. */
static __device__ inline bool
is_good(const DerivePlan &plan, int j, double value, bool all)
{
	if (!isfinite(value))
		return false;
	if (j < plan.shape.nfeatures)
		return true;
	if (j == gr_response_at(plan.shape))
		return gr_row_fault(value, 1.0, plan.shape.weight, plan.rules) == GR_OK;
	if (plan.shape.weight && j == gr_weight_at(plan.shape))
		return gr_row_fault(1.0, value, true, plan.rules) == GR_OK && !(all && value == 0.0);
	return true;
}

/* Keeps the first invalid row. Most threads only look, as otherwise they would all wait for each other. */
static __device__ inline void
note_bad(DeriveFound *found, int64_t row)
{
	if ((unsigned long long) row < *(volatile unsigned long long *) &found->bad)
		atomicMin(&found->bad, (unsigned long long) row);
}

/* Lists the marked rows of a tile in their order, and returns their number. Called by all threads of a thread block. */
static __device__ int
list_rows(const DerivePlan &plan, DeriveRows rows, const uint32_t *marks, uint16_t *list)
{
	const int64_t before = (int64_t) blockIdx.x * plan.tile_nrows;
	const int	n = (int) (rows.nrows - before < plan.tile_nrows ? rows.nrows - before : plan.tile_nrows);
	const int	nwords = plan.tile_nrows / 32;
	int			nlisted = 0;

	if (marks == NULL)
	{
		for (int r = threadIdx.x; r < n; r += THREADS)
			list[r] = (uint16_t) r;
		__syncthreads();
		return n;
	}
	marks += (rows.first_tile + blockIdx.x) * nwords;
	/* each warp counts through all words, which are few, and lists the rows of its own words */
	for (int word = 0; word < nwords; word++)
	{
		uint32_t	mark = marks[word];
		int			lane = threadIdx.x % 32;

		if (word % WARPS == (int) threadIdx.x / 32 && (mark >> lane & 1) != 0)
			list[nlisted + __popc(mark & ((1u << lane) - 1))] = (uint16_t) (32 * word + lane);
		nlisted += __popc(mark);
	}
	__syncthreads();
	return nlisted;
}

/* Position of a thread among the numbers of a tile */
typedef struct Place
{
	int			row;			/* in the list */
	int			j;
} Place;

static __device__ inline Place
advance(Place place, int ncols)
{
	place.row += THREADS / ncols;
	place.j += THREADS % ncols;
	if (place.j >= ncols)
	{
		place.row++;
		place.j -= ncols;
	}
	return place;
}

/* Computes those numbers of n listed rows that are not columns: one number of all rows, then the next, stride apart. */
static __device__ void
make_numbers(const DerivePlan &plan, const double *tile, const uint16_t *list, int n, double *made, int stride)
{
	for (int k = threadIdx.x; k < plan.nmade * n; k += THREADS)
	{
		int			m = k / n;
		int			r = k - m * n;

		made[m * stride + r] = gr_derive_number(&plan.numbers[plan.made[m]], plan.factors,
												tile + (int64_t) list[r] * plan.ncolumns);
	}
}

/*
 * Writes the n rows in list to out, without gaps; out NULL: only checks them. made: from make_numbers(), or NULL to
 * compute the numbers here.
 */
static __device__ void
write_rows(const DerivePlan &plan, const double *__restrict__ tile, const uint16_t *list, const int32_t *column,
		   int64_t first, int n, bool all, const double *made, int stride, double *__restrict__ out, DeriveFound *found)
{
	const int	ncols = plan.ncols;
	const int	nnumbers = n * ncols;
	Place		place = {(int) threadIdx.x / ncols, (int) threadIdx.x % ncols};

	for (int k = threadIdx.x; k < nnumbers; k += BATCH * THREADS)
	{
		double		value[BATCH];
		Place		at[BATCH];

#pragma unroll
		for (int b = 0; b < BATCH; b++, place = advance(place, ncols))
		{
			const double *row;
			int			c;

			at[b] = place;
			if (k + b * THREADS >= nnumbers)
				continue;
			row = tile + (int64_t) list[place.row] * plan.ncolumns;
			c = column[place.j];
			if (c >= 0)
				value[b] = __ldg(row + c);
			else if (made != NULL)
				value[b] = made[(-1 - c) * stride + place.row];
			else
				value[b] = gr_derive_number(&plan.numbers[place.j], plan.factors, row);
		}
#pragma unroll
		for (int b = 0; b < BATCH; b++)
		{
			if (k + b * THREADS >= nnumbers)
				continue;
			if (out != NULL)
				out[k + b * THREADS] = value[b];
			if (!is_good(plan, at[b].j, value[b], all))
				note_bad(found, first + list[at[b].row]);
		}
	}
}

/* STAGED: computed numbers wait in shared memory. */
template <bool STAGED>
static __global__ void __launch_bounds__(THREADS, 4)
write_kernel(DerivePlan plan, DeriveRows rows, const uint32_t *marks, const int64_t *offsets, const DeriveInto *into,
			 DeriveFound *found)
{
	__shared__ uint16_t list[DERIVE_TILE_MAX];
	__shared__ int32_t cached[CACHED];
	__shared__ double made[STAGED ? MADE : 1];
	const int32_t *column = plan.ncols <= CACHED ? cached : plan.column;
	const int64_t before = (int64_t) blockIdx.x * plan.tile_nrows;
	const double *tile = rows.rows + before * plan.ncolumns;
	const int64_t first = rows.first + before;
	const int	nlisted = list_rows(plan, rows, marks, list);
	/* odd, as neighbouring lanes read numbers this far apart */
	const int	stride = STAGED ? (MADE / plan.nmade - 1) | 1 : 0;
	int64_t		to = marks == NULL ? first : offsets[rows.first_tile + blockIdx.x];

	/* Without marks, all rows were expected to take part. One does not, so everything will be written again. */
	if (marks == NULL && __syncthreads_or(*(volatile unsigned long long *) &found->bad != DERIVE_NO_ROW))
		return;
	for (int j = threadIdx.x; plan.ncols <= CACHED && j < plan.ncols; j += THREADS)
		cached[j] = plan.column[j];
	__syncthreads();
	/* one round per chunk of the destination */
	for (int done = 0, n; done < nlisted; done += n, to += n)
	{
		n = nlisted - done;
		while (into != NULL && into[1].first <= to)
			into++;
		if (into != NULL && into[1].first - to < n)
			n = (int) (into[1].first - to);
		if (STAGED && n > stride)
			n = stride;
		if (STAGED)
		{
			make_numbers(plan, tile, list + done, n, made, stride);
			__syncthreads();
		}
		write_rows(plan, tile, list + done, column, first, n, marks == NULL, STAGED ? made : NULL, stride,
				   into == NULL ? NULL : into->rows + (to - into->first) * plan.ncols, found);
		if (STAGED)
			__syncthreads();
	}
}

cudaError_t
gr_derive_write_launch(const DerivePlan *plan, DeriveRows rows, const uint32_t *marks, const int64_t *offsets,
					   const DeriveInto *into, DeriveFound *found, cudaStream_t stream)
{
	const unsigned nblocks = count_tiles(plan, rows);

	if (plan->nmade > 0 && plan->nmade <= MADE / 32)
		write_kernel<true><<<nblocks, THREADS, 0, stream>>>(*plan, rows, marks, offsets, into, found);
	else
		write_kernel<false><<<nblocks, THREADS, 0, stream>>>(*plan, rows, marks, offsets, into, found);
	return cudaGetLastError();
}

/* Totals. A thread takes rows one after another; a thread block adds its threads' totals in a fixed order. */

typedef struct Totals
{
	double		weights;
	double		ones;
	double		nshares;
	GrDD		constant;
	GrDD		losses;
} Totals;

static __device__ inline Totals
totals_add(Totals a, Totals b)
{
	Totals		sum = {a.weights + b.weights, a.ones + b.ones, a.nshares + b.nshares,
					   gr_dd_add(a.constant, b.constant), gr_dd_add(a.losses, b.losses)};

	return sum;
}

/* Returns the totals of one row. */
static __device__ inline Totals
totals_of(const DerivePlan &plan, const double *row, double error_of_theta)
{
	const double y = gr_derive_number(&plan.numbers[gr_response_at(plan.shape)], plan.factors, row);
	double		weight = 1.0;

	if (plan.shape.weight)
		weight = gr_derive_number(&plan.numbers[gr_weight_at(plan.shape)], plan.factors, row);
	return {weight, weight * y, y != 0.0 && y != 1.0 ? 1.0 : 0.0,
			gr_dd(gr_log_constant(plan.rules, error_of_theta, y, weight)),
			gr_dd(gr_row_loss(plan.rules, y, weight))};
}

/* Adds the totals of a thread block's rows to its part. */
static __global__ void __launch_bounds__(THREADS)
totals_kernel(DerivePlan plan, DeriveRows rows, const uint32_t *marks, double *totals)
{
	__shared__ Totals shared[THREADS];
	const double error_of_theta = plan.rules.theta > 0.0 ? gr_stirling_error(plan.rules.theta) : 0.0;
	double	   *into = totals + (int64_t) DERIVE_NTOTALS * blockIdx.x;
	Totals		sum = {};

	/* tiles are whole words, so the word of a row follows from its number since the first tile */
	if (marks != NULL)
		marks += rows.first_tile * (plan.tile_nrows / 32);
	for (int64_t r = (int64_t) blockIdx.x * THREADS + threadIdx.x; r < rows.nrows; r += (int64_t) gridDim.x * THREADS)
		if (marks == NULL || (marks[r / 32] >> r % 32 & 1) != 0)
			sum = totals_add(sum, totals_of(plan, rows.rows + r * plan.ncolumns, error_of_theta));
	shared[threadIdx.x] = sum;
	for (int half = THREADS / 2; half > 0; half /= 2)
	{
		__syncthreads();
		if ((int) threadIdx.x < half)
			shared[threadIdx.x] = totals_add(shared[threadIdx.x], shared[threadIdx.x + half]);
	}
	if (threadIdx.x > 0)
		return;
	sum = totals_add({into[0], into[1], into[2], {into[3], into[4]}, {into[5], into[6]}}, shared[0]);
	into[0] = sum.weights;
	into[1] = sum.ones;
	into[2] = sum.nshares;
	into[3] = sum.constant.hi;
	into[4] = sum.constant.lo;
	into[5] = sum.losses.hi;
	into[6] = sum.losses.lo;
}

cudaError_t
gr_derive_totals_launch(const DerivePlan *plan, DeriveRows rows, const uint32_t *marks, double *totals,
						cudaStream_t stream)
{
	totals_kernel<<<DERIVE_TOTALS, THREADS, 0, stream>>>(*plan, rows, marks, totals);
	return cudaGetLastError();
}
