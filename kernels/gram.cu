/*
 * gram.cu: g[i][j] = sum over rows of w z_i z_j, j <= i, z = (1, x_1 .. x_p, y), in double-double; w = 1 without
 * weights. See gram.cuh.
 *
 * Who owns what. The triangle is cut into micro tiles of M x M entries. A thread owns one, with its sums in registers.
 *
 *    triangle order (q <= TILED_ABOVE)           squares (larger q)
 *
 *    0                micro tiles in packed      S        a thread block owns a square of 16 x 16 micro tiles
 *    1  2             order; thread blocks       S  S     of 4 x 4, and stages the two panels of columns that
 *    3  4  5          take them in turn          S  S  S  the square needs
 *
 * Triangle order forms hardly any product above the diagonal, and stages whole rows. With few micro tiles, several
 * threads (slices) share one, each with its own rows and sums. blockIdx.x is the share of the triangle, blockIdx.y the
 * split: each split sums its own contiguous rows of the launch.
 *
 * The arithmetic. A product p = RN(a b) is added to hi by Knuth's TwoSum, s = hi + p, t = s - hi. What s lost, (hi - (s
 * - t)) + (p - t) + (a b - p), is added to lo. TwoSum's differences are exact, so the last two terms are one fma(a, b,
 * -t), which rounds within u^2 max(|hi|, |p|), u = 2^-53, as lo itself does: 8 operations per product (Ogita, Rump and
 * Oishi's Dot2, 2005, has 10 with a fused multiply-add). hi and lo start from zero every FLUSH_NROWS rows of a thread,
 * and are then added to the split's partial sum in device memory by gr_dd_add, so that lo's rounding never meets the
 * sum of all rows. A partial belongs to one thread of each launch: no atomics, a fixed order. reduce adds the splits
 * and slices of an entry, one warp per entry, in a fixed order too.
 *
 * With weights, a is w z_i as two halves, ah + al, exactly. ah takes a's place, and al b is added to lo: one more
 * operation per product, and two for each of a thread's a. A weight of 1 changes no bit.
 *
 * Requires -fmad=false, like dd.h.
 */
#include "gram.cuh"
#include "device.cuh"

#include "compute/base/dd.h"

#define FLUSH_NROWS 64			/* rows a thread sums before its sums are added to the partials */
#define TILED_ABOVE 512			/* above this q, whole rows no longer fit shared memory well */
#define MICRO2_UPTO 66			/* up to this q, 2 x 2 micro tiles waste less than 4 x 4 */
#define SQUARE 64				/* edge of a thread block's square */
#define SQUARE_NROWS 16			/* rows of the two panels staged at a time */
#define STAGED_NBYTES 24576		/* shared memory for whole rows: two to four thread blocks per multiprocessor */
#define NTHREADS_MAX 256
#define REDUCE_NTHREADS 128
#define LAUNCH_S 0.03			/* longest launch, estimated at the device's peak */

/* Returns the row of index k of a packed lower triangle. The square root is only a first guess. */
static __host__ __device__ inline int64_t
triangle_row(int64_t k)
{
	int64_t		i = (int64_t) ((sqrt(8.0 * (double) k + 1.0) - 1.0) * 0.5);

	while ((i + 1) * (i + 2) / 2 <= k)
		i++;
	while (i * (i + 1) / 2 > k)
		i--;
	return i;
}

/* Columns of z that a thread block stages, side by side: count[0] from first[0] on, then count[1] from first[1] on */
typedef struct Panels
{
	int			first[2];
	int			count[2];
} Panels;

/* Returns the columns of z that the thread block stages. */
static __device__ inline Panels
block_panels(const GramShape &shape, int micro)
{
	Panels		panels;

	if (shape.tiled)
	{
		int			a = (int) triangle_row(blockIdx.x);
		int			b = (int) (blockIdx.x - (int64_t) a * (a + 1) / 2);

		panels.first[0] = a * SQUARE;
		panels.first[1] = b * SQUARE;
		panels.count[0] = SQUARE;
		panels.count[1] = SQUARE;
	}
	else
	{
		int			last = min(shape.nmicros, ((int) blockIdx.x + 1) * shape.micros_per_block) - 1;

		panels.first[0] = 0;
		panels.first[1] = 0;
		panels.count[0] = micro * ((int) triangle_row(last) + 1);
		panels.count[1] = 0;
	}
	return panels;
}

/* Positions of a thread's two factors in a staged row, and the rows that are the thread's own */
typedef struct Owner
{
	int			offset_i;
	int			offset_j;
	int			slice;			/* nslices: the thread owns nothing */
} Owner;

/* Returns what the thread owns. */
static __device__ inline Owner
thread_owner(const GramShape &shape, int micro)
{
	int			thread = threadIdx.x;
	Owner		owner;

	if (shape.tiled)
	{
		owner.offset_i = thread / (SQUARE / 4) * 4;
		owner.offset_j = SQUARE + thread % (SQUARE / 4) * 4;
		owner.slice = 0;
	}
	else
	{
		int			m = (int) blockIdx.x * shape.micros_per_block + thread % shape.micros_per_block;
		int			i = (int) triangle_row(m);

		owner.offset_i = micro * i;
		owner.offset_j = micro * (m - i * (i + 1) / 2);
		owner.slice = m < shape.nmicros ? min(thread / shape.micros_per_block, shape.nslices) : shape.nslices;
	}
	return owner;
}

/* Writes the parts of staged rows that no input row fills: ones in column 0 of z, zeros beyond its end. */
static __device__ inline void
stage_padding(double *staged, const GramShape &shape, const Panels &panels)
{
	for (int e = threadIdx.x; e < shape.stage_nrows * shape.staged_ld; e += blockDim.x)
	{
		int			at = e % shape.staged_ld;
		int			column = at < panels.count[0] ? panels.first[0] + at : panels.first[1] + at - panels.count[0];

		staged[e] = column == 0 ? 1.0 : 0.0;
	}
}

/*
 * Copies one panel of nrows rows to shared memory: neighbouring threads copy neighbouring columns, with four loads
 * under way per thread. Column c of z is the rows' column c - 1, minus its shift if there is one.
 */
template <bool SHIFTED>
static __device__ inline void
stage_panel(double *staged, const double *__restrict__ rows, const double *__restrict__ shift, int nrows,
			const GramShape &shape, int first, int count, int at)
{
	int			skip = first == 0 ? 1 : 0;	/* the ones are staged already */
	int			width = min(count, shape.q - first) - skip;
	int			total = nrows * width;

	if (width <= 0)
		return;
	staged += at + skip;
	rows += first + skip - 1;
	if (SHIFTED)
		shift += first + skip - 1;

	int			step_row = (int) blockDim.x / width;
	int			step_column = (int) blockDim.x % width;
	int			row = (int) threadIdx.x / width;
	int			column = (int) threadIdx.x % width;

	for (int e = threadIdx.x; e < total;)
	{
		double		value[4];
		int			target[4];

#pragma unroll
		for (int u = 0; u < 4; u++)
		{
			target[u] = -1;
			if (e < total)
			{
				target[u] = row * shape.staged_ld + column;
				value[u] = rows[(int64_t) row * shape.ncols + column];
				if (SHIFTED)
					value[u] -= shift[column];
			}
			e += blockDim.x;
			row += step_row;
			column += step_column;
			if (column >= width)
			{
				column -= width;
				row++;
			}
		}
#pragma unroll
		for (int u = 0; u < 4; u++)
			if (target[u] >= 0)
				staged[target[u]] = value[u];
	}
}

/* hi + lo += the products of one row, as described at the top. zi and zj are aligned to 16 bytes. */
template <int M, bool WEIGHTED>
static __device__ inline void
micro_add(double (&hi)[M][M], double (&lo)[M][M], const double *zi, const double *zj, double weight)
{
	double		a[M];
	double		a_lo[M];
	double		b[M];

#pragma unroll
	for (int k = 0; k < M; k += 2)
	{
		double2		pair_i = *(const double2 *) (zi + k);
		double2		pair_j = *(const double2 *) (zj + k);

		a[k] = pair_i.x;
		a[k + 1] = pair_i.y;
		b[k] = pair_j.x;
		b[k + 1] = pair_j.y;
	}
#pragma unroll
	for (int i = 0; WEIGHTED && i < M; i++)
	{
		GrDD		weighted = gr_two_prod(weight, a[i]);

		a[i] = weighted.hi;
		a_lo[i] = weighted.lo;
	}
#pragma unroll
	for (int i = 0; i < M; i++)
#pragma unroll
		for (int j = 0; j < M; j++)
		{
			double		p = a[i] * b[j];
			double		s = hi[i][j] + p;
			double		t = s - hi[i][j];

			lo[i][j] += (hi[i][j] - (s - t)) + gr_fma(a[i], b[j], -t);
			if (WEIGHTED)
				lo[i][j] = gr_fma(a_lo[i], b[j], lo[i][j]);
			hi[i][j] = s;
		}
}

/*
 * Adds a thread's sums to its partials, blockDim.x entries apart, and clears them. Uses TwoSum, as after cancellation
 * hi may be smaller than lo.
 */
template <int M>
static __device__ inline void
micro_flush(double (&hi)[M][M], double (&lo)[M][M], double2 *partial)
{
#pragma unroll
	for (int i = 0; i < M; i++)
#pragma unroll
		for (int j = 0; j < M; j++)
		{
			double2    *at = partial + (i * M + j) * (int) blockDim.x;
			double2		old = *at;
			GrDD		sum = {old.x, old.y};

			sum = gr_dd_add(sum, gr_two_sum(hi[i][j], lo[i][j]));
			*at = make_double2(sum.hi, sum.lo);
			hi[i][j] = 0.0;
			lo[i][j] = 0.0;
		}
}

/*
 * At least 16 warps per multiprocessor for both M: 64 registers per thread for M = 2, 128 for M = 4. Rows without a
 * shift or without weights have kernels of their own.
 */
template <int M, bool SHIFTED, bool WEIGHTED>
static __global__ void
__launch_bounds__(NTHREADS_MAX, M == 2 ? 4 : 2)
gram_kernel(const double *__restrict__ rows, const double *__restrict__ shift, int64_t nrows, int64_t nrows_per_split,
			GramShape shape, double2 *partials)
{
	extern __shared__ double2 staged_pairs[];
	double	   *staged = (double *) staged_pairs;
	double	   *weights = staged + shape.stage_nrows * shape.staged_ld;
	const Panels panels = block_panels(shape, M);
	const Owner owner = thread_owner(shape, M);
	int64_t		row = (int64_t) blockIdx.y * nrows_per_split;
	const int64_t end = min(row + nrows_per_split, nrows);
	int			nstages = 0;
	double		hi[M][M] = {};
	double		lo[M][M] = {};

	partials += ((int64_t) blockIdx.y * gridDim.x + blockIdx.x) * (M * M) * blockDim.x + threadIdx.x;
	stage_padding(staged, shape, panels);
	for (; row < end; row += shape.stage_nrows)
	{
		const int	stage_nrows = (int) min((int64_t) shape.stage_nrows, end - row);
		const double *source = rows + row * shape.ncols;

		__syncthreads();		/* the padding is written, and the previous stage is read */
		stage_panel<SHIFTED>(staged, source, shift, stage_nrows, shape, panels.first[0], panels.count[0], 0);
		if (panels.count[1] > 0)
			stage_panel<SHIFTED>(staged, source, shift, stage_nrows, shape, panels.first[1], panels.count[1],
								 panels.count[0]);
		for (int r = threadIdx.x; WEIGHTED && r < stage_nrows; r += blockDim.x)
			weights[r] = source[(int64_t) r * shape.ncols + shape.weight_at];
		__syncthreads();
		if (owner.slice >= shape.nslices)
			continue;			/* waits at the next barrier */
		for (int r = owner.slice; r < stage_nrows; r += shape.nslices)
			micro_add<M, WEIGHTED>(hi, lo, staged + r * shape.staged_ld + owner.offset_i,
								   staged + r * shape.staged_ld + owner.offset_j, WEIGHTED ? weights[r] : 1.0);
		if (++nstages == shape.stages_per_flush || row + shape.stage_nrows >= end)
		{
			micro_flush<M>(hi, lo, partials);
			nstages = 0;
		}
	}
}

/* Finds where the partials of entry (i, j) lie: its thread block, the first thread that owns it, and its slot there. */
template <int M>
static __device__ inline void
find_entry(const GramShape &shape, int i, int j, int64_t *block, int *thread, int *slot)
{
	*slot = i % M * M + j % M;
	if (shape.tiled)
	{
		int64_t		a = i / SQUARE;

		*block = a * (a + 1) / 2 + j / SQUARE;
		*thread = i % SQUARE / M * (SQUARE / M) + j % SQUARE / M;
	}
	else
	{
		int			m = (i / M) * (i / M + 1) / 2 + j / M;

		*block = m / shape.micros_per_block;
		*thread = m % shape.micros_per_block;
	}
}

/*
 * Writes entries of the triangle, one per warp: lane l adds parts l, l + 32, ..., then the lanes' sums join pairwise.
 */
template <int M>
static __global__ void
gram_reduce_kernel(const double2 *__restrict__ partials, GramShape shape, int nthreads, int nblocks, int nsplits,
				   int64_t first, int64_t nentries, double *__restrict__ hi, double *__restrict__ lo)
{
	const int64_t at = ((int64_t) blockIdx.x * blockDim.x + threadIdx.x) / 32;
	const int	lane = threadIdx.x % 32;
	GrDD		sum = gr_dd(0.0);
	int64_t		block;
	int			thread;
	int			slot;

	if (at >= nentries)
		return;					/* the whole warp returns */

	const int64_t i = triangle_row(first + at);

	find_entry<M>(shape, (int) i, (int) (first + at - i * (i + 1) / 2), &block, &thread, &slot);
	for (int part = lane; part < nsplits * shape.nslices; part += 32)
	{
		int64_t		split = part / shape.nslices;
		int			slice = part % shape.nslices;
		double2		value = partials[((split * nblocks + block) * (M * M) + slot) * nthreads +
									 slice * shape.micros_per_block + thread];
		GrDD		other = {value.x, value.y};

		sum = gr_dd_add(sum, other);
	}
	for (int offset = 16; offset > 0; offset /= 2)
	{
		GrDD		other;

		other.hi = __shfl_down_sync(0xffffffffu, sum.hi, offset);
		other.lo = __shfl_down_sync(0xffffffffu, sum.lo, offset);
		sum = gr_dd_add(sum, other);
	}
	if (lane == 0)
	{
		hi[at] = sum.hi;
		lo[at] = sum.lo;
	}
}

/* Plans triangle order: divides the micro tiles among thread blocks, and chooses the rows of a stage. */
static void
plan_triangle(GramPlan *plan)
{
	GramShape  *shape = &plan->shape;
	int			micro = shape->q <= MICRO2_UPTO ? 2 : 4;
	int			nedges = (shape->q + micro - 1) / micro;
	int			nthreads_max = micro == 2 ? NTHREADS_MAX : NTHREADS_MAX / 2;

	plan->micro = micro;
	shape->nmicros = nedges * (nedges + 1) / 2;
	plan->nblocks = (shape->nmicros + nthreads_max - 1) / nthreads_max;
	shape->micros_per_block = (shape->nmicros + plan->nblocks - 1) / plan->nblocks;
	shape->nslices = nthreads_max / shape->micros_per_block;
	plan->nthreads = (shape->micros_per_block * shape->nslices + 31) / 32 * 32;
	shape->staged_ld = nedges * micro;
	shape->stage_nrows = STAGED_NBYTES / (int) sizeof(double) / shape->staged_ld;
	if (shape->stage_nrows < 8)
		shape->stage_nrows = 8;
	if (shape->stage_nrows > shape->nslices)
		shape->stage_nrows -= shape->stage_nrows % shape->nslices;
	/* with fewer rows, partials would cost more than products */
	plan->min_rows_per_split = micro == 2 ? 16 * shape->nslices : 32;
}

/* Plans squares: their number and the rows of a stage. */
static void
plan_squares(GramPlan *plan)
{
	GramShape  *shape = &plan->shape;
	int			nedges = (shape->q + SQUARE - 1) / SQUARE;

	plan->micro = 4;
	shape->tiled = 1;
	plan->nblocks = nedges * (nedges + 1) / 2;
	shape->micros_per_block = NTHREADS_MAX;
	shape->nslices = 1;
	plan->nthreads = NTHREADS_MAX;
	shape->staged_ld = 2 * SQUARE;
	shape->stage_nrows = SQUARE_NROWS;
	plan->min_rows_per_split = 2 * FLUSH_NROWS;
}

/* Plans splits that fill the device once, within the budget, and the most rows that LAUNCH_S allows. */
static cudaError_t
plan_device(GramPlan *plan, size_t budget_nbytes)
{
	const void *kernel = plan->micro == 2 ? (const void *) gram_kernel<2, false, false> :
		(const void *) gram_kernel<4, false, false>;
	size_t		split_nbytes = (size_t) plan->nblocks * plan->nthreads * plan->micro * plan->micro * sizeof(double2);
	double		products_per_row = (double) plan->nblocks * plan->nthreads * plan->micro * plan->micro;
	GrDeviceFacts device;
	int			fp64_ratio;
	int			resident;
	double		products_per_s;
	cudaError_t code;

	if ((code = gr_device_facts(&device)) != cudaSuccess ||
		(code = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, plan->nthreads,
															  plan->staged_nbytes)) != cudaSuccess)
		return code;
	if (resident < 1)
		resident = 1;
	plan->nsms = device.nsms;
	fp64_ratio = device.fp64_ratio < 1 ? 1 : device.fp64_ratio;
	/* with many squares, a second round evens out the last one */
	plan->nsplits = (plan->shape.tiled ? 2 : 1) * resident * plan->nsms / plan->nblocks;
	if (plan->nsplits > 0 && (size_t) plan->nsplits > budget_nbytes / split_nbytes)
		plan->nsplits = (int) (budget_nbytes / split_nbytes);
	if (plan->nsplits < 1)
		plan->nsplits = 1;
	plan->partials_nbytes = split_nbytes * (size_t) plan->nsplits;

	/* no multiprocessor has more than 128 single-precision lanes; 8 operations per product */
	products_per_s = plan->nsms * (device.clock_khz > 0 ? device.clock_khz : 1e6) * 1e3 * (128.0 / fp64_ratio) / 8.0;
	plan->max_rows_per_launch = (int64_t) (LAUNCH_S * products_per_s / (products_per_row / plan->shape.nslices)) + 1;
	return cudaSuccess;
}

cudaError_t
gr_gram_plan(GramPlan *plan, GrRowShape rows, size_t budget_nbytes)
{
	GramShape  *shape = &plan->shape;
	int			rows_per_thread;
	cudaError_t code;

	*plan = GramPlan();
	shape->ncols = gr_row_ncols(rows);
	shape->q = gr_norder(rows.nfeatures);
	shape->weight_at = rows.weight ? gr_weight_at(rows) : 0;
	if (shape->q <= TILED_ABOVE)
		plan_triangle(plan);
	else
		plan_squares(plan);
	rows_per_thread = (shape->stage_nrows + shape->nslices - 1) / shape->nslices;
	shape->stages_per_flush = rows_per_thread < FLUSH_NROWS ? FLUSH_NROWS / rows_per_thread : 1;
	plan->staged_nbytes = sizeof(double) * shape->stage_nrows * shape->staged_ld;
	code = plan_device(plan, budget_nbytes);
	/* added after planning: rows with weights must have as many splits as without, for the order of sums */
	if (rows.weight)
		plan->staged_nbytes += sizeof(double) * shape->stage_nrows;
	return code;
}

/*
 * Returns the splits of a launch of nrows rows: no more than have enough rows each and, of the upper half of those
 * numbers, the one that leaves the fewest multiprocessors idle in the last round.
 */
static int
launch_splits(const GramPlan *plan, int64_t nrows)
{
	int64_t		most = nrows / plan->min_rows_per_split;
	int64_t		best = 1;
	double		best_use = 0.0;

	if (most > plan->nsplits)
		most = plan->nsplits;
	for (int64_t n = most; n > most / 2; n--)
	{
		int64_t		nblocks = n * plan->nblocks;
		int64_t		nrounds = (nblocks + plan->nsms - 1) / plan->nsms;
		double		use = (double) nblocks / (double) (nrounds * plan->nsms);

		if (use > best_use)
		{
			best = n;
			best_use = use;
		}
	}
	return (int) best;
}

template <bool SHIFTED, bool WEIGHTED>
static cudaError_t
launch(const GramPlan *plan, double2 *partials, const double *rows, int64_t nrows, cudaStream_t stream,
	   const double *shift)
{
	while (nrows > 0)
	{
		int64_t		n = nrows < plan->max_rows_per_launch ? nrows : plan->max_rows_per_launch;
		int			nsplits = launch_splits(plan, n);
		int64_t		nrows_per_split = (n + nsplits - 1) / nsplits;
		dim3		grid((unsigned) plan->nblocks, (unsigned) nsplits);
		cudaError_t code;

		if (plan->micro == 2)
			gram_kernel<2, SHIFTED, WEIGHTED><<<grid, plan->nthreads, plan->staged_nbytes, stream>>>
				(rows, shift, n, nrows_per_split, plan->shape, partials);
		else
			gram_kernel<4, SHIFTED, WEIGHTED><<<grid, plan->nthreads, plan->staged_nbytes, stream>>>
				(rows, shift, n, nrows_per_split, plan->shape, partials);
		code = cudaGetLastError();
		if (code != cudaSuccess)
			return code;
		rows += n * plan->shape.ncols;
		nrows -= n;
	}
	return cudaSuccess;
}

cudaError_t
gr_gram_launch(const GramPlan *plan, double2 *partials, const double *rows, int64_t nrows, cudaStream_t stream,
			   const double *shift)
{
	if (plan->shape.weight_at > 0)
		return shift == NULL ? launch<false, true>(plan, partials, rows, nrows, stream, NULL) :
			launch<true, true>(plan, partials, rows, nrows, stream, shift);
	return shift == NULL ? launch<false, false>(plan, partials, rows, nrows, stream, NULL) :
		launch<true, false>(plan, partials, rows, nrows, stream, shift);
}

cudaError_t
gr_gram_reduce_launch(const GramPlan *plan, const double2 *partials, int64_t first, int64_t nentries, GrDDVector to,
					  cudaStream_t stream)
{
	const int	per_block = REDUCE_NTHREADS / 32;
	unsigned	nblocks = (unsigned) ((nentries + per_block - 1) / per_block);

	if (nentries <= 0)
		return cudaSuccess;
	if (plan->micro == 2)
		gram_reduce_kernel<2><<<nblocks, REDUCE_NTHREADS, 0, stream>>>
			(partials, plan->shape, plan->nthreads, plan->nblocks, plan->nsplits, first, nentries, to.hi, to.lo);
	else
		gram_reduce_kernel<4><<<nblocks, REDUCE_NTHREADS, 0, stream>>>
			(partials, plan->shape, plan->nthreads, plan->nblocks, plan->nsplits, first, nentries, to.hi, to.lo);
	return cudaGetLastError();
}
