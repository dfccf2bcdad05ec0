/*
 * weighted_gram.cu: plans and launches weighted Gram matrices, and adds up the thread blocks' sums; see
 * weighted_gram.cuh.
 *
 *    up to 64 columns      a warp owns the whole triangle and reads each row once
 *    up to 128 columns     a thread block owns the triangle
 *    more columns          thread blocks own square tiles of 96 or 128 columns
 *
 * Reading two panels of 128 columns for 128 x 128 products is what the L2 cache can feed the tensor cores with. Every
 * split takes every nsplits-th part of the rows. All tiles are thus at about the same rows at any time, and device
 * memory is read once, for any number of splits. Tiles on the diagonal have a little more than half the work, hence
 * splits of their own; the numbers of splits of the two kinds are those with which a greedy schedule ends first.
 */
#include "weighted_gram_tile.cuh"
#include "device.cuh"

#define REDUCE_NTHREADS 256

/* The members of a WeightedGramPlan by which a reduction finds an entry */
typedef struct GramSums
{
	WeightedGramKind kind;
	int			ngroups;
	int			ntiles;
	int			nslots[2];
	int64_t		record_ndoubles[2];
	unsigned char place[36];
} GramSums;

/*
 * Finds entry (i, j) within its block of 16 x 16 entries, whose 256 sums the 32 lanes of a warp hold, eight each.
 * Returns which of the eight it is (0 .. 7), and sets *lane to the lane that holds it.
 */
static __device__ inline int
block_slot(int i, int j, int *lane)
{
	*lane = i % 16 / 2 * 4 + j % 16 / 4;
	return j % 2 * 4 + i % 2 * 2 + j / 2 % 2;
}

/*
 * Returns where the first record of the tile of entry (i, j), i >= j, begins, and sets *offset to the entry's place in
 * each record.
 */
static __device__ inline int64_t
find_entry(const GramSums &sums, int i, int j, int *offset, bool *diagonal)
{
	const int	edge = 16 * sums.ngroups;
	const int	tile_i = i / edge;
	const int	tile_j = j / edge;
	const int64_t noff = (int64_t) sums.ntiles * (sums.ntiles - 1) / 2;
	int			lane;
	int			slot;

	*diagonal = true;
	if (sums.kind == WEIGHTED_GRAM_REGISTERS)
	{
		slot = (i / 16 * (i / 16 + 1) + j / 8) * 4 + i / 8 % 2 * 2 + j % 2;
		*offset = slot * 32 + i % 8 * 4 + j % 8 / 2;
		return 0;
	}
	if (sums.kind == WEIGHTED_GRAM_RING)
	{
		slot = block_slot(i, j, &lane);
		*offset = ((int) packed(i / 16, j / 16) * 8 + slot) * 32 + lane;
		return 0;
	}
	i -= tile_i * edge;
	j -= tile_j * edge;
	*diagonal = tile_i == tile_j;
	if (*diagonal)
	{
		const int	place = sums.place[packed(i / 16, j / 16)];

		slot = block_slot(i, j, &lane);
		*offset = (place / 4 * 8 + slot) * 128 + place % 4 * 32 + lane;
		return noff * sums.nslots[0] * sums.record_ndoubles[0] +
			(int64_t) tile_i * sums.nslots[1] * sums.record_ndoubles[1];
	}

	const int	half = 8 * sums.ngroups;
	const int	quarter = 4 * sums.ngroups;

	slot = (i % half / 16 * (sums.ngroups / 2) + j % quarter / 8) * 4 + i % 2 * 2 + j % 2;
	*offset = slot * TILE_NTHREADS + i / half * 128 + j / quarter * 32 + i % half % 16 / 2 * 4 + j % quarter % 8 / 2;
	return (packed(tile_i - 1, tile_j)) * sums.nslots[0] * sums.record_ndoubles[0];
}

/*
 * Writes entries first + k of the packed triangle. Column k of a thread block has one entry, and NSLICES threads, each
 * of which adds every NSLICES-th record; slices join one after another.
 */
template <int NSLICES>
static __global__ void
__launch_bounds__(REDUCE_NTHREADS)
reduce_kernel(const __grid_constant__ GramSums sums, const double *__restrict__ partials,
			  const double *__restrict__ border,
			  int64_t first, int64_t nentries, double *__restrict__ out)
{
	constexpr int NENTRIES = REDUCE_NTHREADS / NSLICES;
	__shared__ GrDD slices[NSLICES][NENTRIES];
	const int64_t at = (int64_t) blockIdx.x * NENTRIES + threadIdx.x % NENTRIES;
	const int64_t k = first + min(at, nentries - 1);
	const int	slice = threadIdx.x / NENTRIES;
	int64_t		i = (int64_t) ((sqrt(8.0 * (double) k + 1.0) - 1.0) * 0.5);
	double		sum = 0.0;
	double		lost = 0.0;

	while (packed(i + 1, 0) <= k)
		i++;
	while (packed(i, 0) > k)
		i--;

	const int	skip = border != NULL ? 1 : 0;
	const int	j = (int) (k - packed(i, 0)) - skip;

	if (j < 0)
		sum = slice == 0 ? border[i] : 0.0;
	else
	{
		int			offset;
		bool		diagonal;
		const int64_t record = find_entry(sums, (int) i - skip, j, &offset, &diagonal);
		const double *source = partials + record + offset;
		const int64_t stride = sums.record_ndoubles[diagonal];

#pragma unroll 4
		for (int slot = slice; slot < sums.nslots[diagonal]; slot += NSLICES)
			add_compensated(sum, lost, source[slot * stride]);
	}
	slices[slice][threadIdx.x % NENTRIES] = gr_two_sum(sum, lost);
	__syncthreads();
	if (slice > 0 || at >= nentries)
		return;

	GrDD		total = slices[0][threadIdx.x];

#pragma unroll
	for (int s = 1; s < NSLICES; s++)
		total = gr_dd_add(total, slices[s][threadIdx.x]);
	out[at] = total.hi + total.lo;
}

/* Planning and launching */

/* The kernels for n groups, for rows that are plain or not, and wide or not. */
#define GRAM_FUNCTIONS(kernel, n) \
	{(const void *) kernel<n, false, false>, (const void *) kernel<n, false, true>, \
	 (const void *) kernel<n, true, false>, (const void *) kernel<n, true, true>}

static const void *
gram_function(const WeightedGramPlan *plan, bool plain, bool wide)
{
	const void *registers[4][2] = {
		{(const void *) register_kernel<1, false>, (const void *) register_kernel<1, true>},
		{(const void *) register_kernel<2, false>, (const void *) register_kernel<2, true>},
		{(const void *) register_kernel<3, false>, (const void *) register_kernel<3, true>},
		{(const void *) register_kernel<4, false>, (const void *) register_kernel<4, true>}
	};
	const void *rings[2][4] = {GRAM_FUNCTIONS(ring_kernel, 3), GRAM_FUNCTIONS(ring_kernel, 4)};
	const void *tiles[4][4] = {
		GRAM_FUNCTIONS(tile_kernel, 5), GRAM_FUNCTIONS(tile_kernel, 6), GRAM_FUNCTIONS(tile_kernel, 7),
			GRAM_FUNCTIONS(tile_kernel, 8)
	};

	return plan->kind == WEIGHTED_GRAM_REGISTERS ? registers[plan->ngroups - 1][plain]
		: plan->kind == WEIGHTED_GRAM_RING ? rings[plan->ngroups - 3][2 * plain + wide] :
			tiles[plan->ngroups - 5][2 * plain + wide];
}

static size_t
stage_nbytes(int nb)
{
	return sizeof(double) * (size_t) (TILE_NLINES * staged_ld(nb) + TILE_NLINES);
}

/* Returns how many stages of a tile of nb groups fit shared memory. */
static int
count_stages(int nb, int shared_nbytes)
{
	int			n = (int) (((size_t) shared_nbytes - sizeof(double) * (size_t) (32 * nb)) / stage_nbytes(nb));

	return n < TILE_NSTAGES_MAX ? n : TILE_NSTAGES_MAX;
}

/* Returns the work of a tile on or off the diagonal, in squares of 16 x 8 of its busiest warps. */
static double
tile_work(int nb, bool diagonal)
{
	return diagonal ? 8.0 * gram_most(nb) : 2.0 * nb * nb;
}

/* Returns when a greedy schedule on n multiprocessors ends, of noff jobs of off, then ndiagonal of diagonal. */
static double
schedule_end(int n, int64_t noff, double off, int64_t ndiagonal, double diagonal)
{
	const int64_t busy = noff % n;
	const double least = (double) (noff / n) * off;
	const double most = busy > 0 ? least + off : least;

	for (int64_t k = 1;; k++)
	{
		const double ends[2] = {least + (double) k * diagonal, most + (double) k * diagonal};

		for (double end : ends)
		{
			const double until = (end > most ? end : most) * (1.0 + 1e-12);

			if ((double) (n - busy) * floor((until - least) / diagonal) +
				(double) busy * floor((until - most) / diagonal) >=
				(double) ndiagonal)
				return until;
		}
	}
}

/* Chooses the numbers of splits that end first, within the budget. More splits must bring a real gain. */
static void
plan_splits(WeightedGramPlan *plan, size_t budget_nbytes)
{
	const int	n = plan->nsms;
	const int64_t noff = (int64_t) plan->ntiles * (plan->ntiles - 1) / 2;
	const double off = tile_work(plan->ngroups, false);
	const double diagonal = tile_work(plan->ngroups, true);
	const int64_t most = noff == 0 ? 1 : noff < n ? 2 * n / noff : 16 * n / noff > 1 ? 16 * n / noff : 1;
	const int64_t most_diagonal = plan->ntiles == 1 ? n : 2 * n / plan->ntiles > 1 ? 2 * n / plan->ntiles : 1;
	double		best = INFINITY;

	plan->nsplits[0] = plan->nsplits[1] = 1;
	for (int64_t s = 1; s <= most; s++)
		for (int64_t d = 1; d <= most_diagonal; d++)
		{
			double		ndoubles = (double) (noff * s * plan->record_ndoubles[0] +
											 plan->ntiles * d * plan->record_ndoubles[1]);
			double		end;

			if (s + d > 2 && ndoubles * sizeof(double) > (double) budget_nbytes)
				break;
			end = schedule_end(n, noff * s, off / (double) s, plan->ntiles * d, diagonal / (double) d);
			if (end < best * 0.995)
			{
				best = end;
				plan->nsplits[0] = (int) s;
				plan->nsplits[1] = (int) d;
			}
		}
}

/* Plans tiles: their size, the stages, and the splits. */
static void
plan_tiles(WeightedGramPlan *plan, int shared_nbytes, size_t budget_nbytes)
{
	const int	widest = count_stages(8, shared_nbytes) >= 3 ? 8 : 6;
	const int	sizes[2] = {8, 6};
	double		least = INFINITY;
	int			taken[4] = {};

	plan->kind = WEIGHTED_GRAM_TILES;
	plan->ngroups = (plan->p + 15) / 16;
	plan->ntiles = 1;
	if (plan->ngroups > widest)
		for (int nb : sizes)
		{
			const double n = (plan->p + 16 * nb - 1) / (16 * nb);
			const double work = n * (n - 1.0) / 2.0 * tile_work(nb, false) + n * tile_work(nb, true);

			if (nb > widest || work >= least)
				continue;
			least = work;
			plan->ngroups = nb;
			plan->ntiles = (int) n;
		}
	for (int k = 0; k < plan->ngroups * (plan->ngroups + 1) / 2; k++)
	{
		const int	role = gram_deal(plan->ngroups)[k] - '0';

		plan->place[k] = (unsigned char) (taken[role]++ * 4 + role);
	}
	plan->nwarps = TILE_NTHREADS / 32;
	plan->nstages = count_stages(plan->ngroups, shared_nbytes);
	plan->shared_nbytes = sizeof(double) * (size_t) (32 * plan->ngroups) +
		(size_t) plan->nstages * stage_nbytes(plan->ngroups);
	plan->record_ndoubles[0] = plan->ntiles > 1 ? (int64_t) 256 * plan->ngroups * plan->ngroups : 0;
	plan->record_ndoubles[1] = (int64_t) 128 * 8 * gram_most(plan->ngroups);
	plan_splits(plan, budget_nbytes);
}

/* Plans one triangle per warp. The sums of a thread block are joined before they are kept. */
static cudaError_t
plan_triangle(WeightedGramPlan *plan, int shared_nbytes)
{
	int			resident = 1;
	int			least = 16;
	cudaError_t code;

	plan->ntiles = 1;
	if (plan->p <= 32)
	{
		plan->kind = WEIGHTED_GRAM_REGISTERS;
		plan->ngroups = (plan->p + 7) / 8;
		plan->nwarps = REGISTER_NTHREADS / 32;
		plan->record_ndoubles[1] = 128 * count_squares(plan->ngroups);
		for (int plain = 0; plain < 2; plain++)
		{
			if ((code = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, gram_function(plan, plain != 0, false),
																	  32 * plan->nwarps, 0)) != cudaSuccess)
				return code;
			least = resident < least ? resident : least;
		}
		plan->nsplits[1] = plan->nsms * (least > 0 ? least : 1);
		return cudaSuccess;
	}
	plan->kind = WEIGHTED_GRAM_RING;
	plan->ngroups = (plan->p + 15) / 16;
	plan->nwarps = (shared_nbytes - 16 * plan->ngroups * (int) sizeof(double)) / (int) sizeof(RingWarp);
	plan->nwarps = plan->nwarps < 8 ? plan->nwarps : 8;
	plan->shared_nbytes = sizeof(double) * (size_t) (16 * plan->ngroups) + (size_t) plan->nwarps * sizeof(RingWarp);
	plan->record_ndoubles[1] = 256 * gr_triangle(plan->ngroups);
	plan->nsplits[1] = plan->nsms;
	return cudaSuccess;
}

cudaError_t
gr_weighted_gram_plan(WeightedGramPlan *plan, int p, size_t budget_nbytes)
{
	GrDeviceFacts device;
	double		nsquares;
	cudaError_t code = gr_device_facts(&device);

	*plan = WeightedGramPlan();
	plan->p = p;
	if (code != cudaSuccess)
		return code;
	plan->nsms = device.nsms;
	if (p > 64)
		plan_tiles(plan, device.shared_nbytes, budget_nbytes);
	else if ((code = plan_triangle(plan, device.shared_nbytes)) != cudaSuccess)
		return code;
	for (int k = 0; k < 4; k++)
		if ((code = gr_allow_shared(gram_function(plan, k / 2 != 0, k % 2 != 0), plan->shared_nbytes)) != cudaSuccess)
			return code;
	plan->partials_ndoubles = (size_t) (gr_triangle(plan->ntiles) - plan->ntiles) * (size_t) plan->nsplits[0] *
		(size_t) plan->record_ndoubles[0] +
		(size_t) plan->ntiles * (size_t) plan->nsplits[1] * (size_t) plan->record_ndoubles[1];
	nsquares = plan->kind == WEIGHTED_GRAM_REGISTERS ? count_squares(plan->ngroups)
		: plan->kind == WEIGHTED_GRAM_RING ? 2.0 * (double) gr_triangle(plan->ngroups)
		: (double) (gr_triangle(plan->ntiles) - plan->ntiles) * tile_work(plan->ngroups, false) +
		plan->ntiles * tile_work(plan->ngroups, true);
	/* no multiprocessor has more than 128 single-precision lanes */
	plan->row_s = 128.0 * nsquares /
		(plan->nsms * (device.clock_khz > 0 ? device.clock_khz : 1e6) * 1e3 *
		 (128.0 / (device.fp64_ratio > 0 ? device.fp64_ratio : 1)));
	return cudaSuccess;
}

cudaError_t
gr_weighted_gram_launch(const WeightedGramPlan *plan, const WeightedGramRows *rows, double *partials,
						cudaStream_t stream)
{
	const bool	plain = rows->weights == NULL && rows->shift == NULL;
	const bool	wide = rows->ld % 2 == 0 && (uintptr_t) rows->rows % 16 == 0;
	GramJob		job = {};
	void	   *arguments[] = {&job, &partials};
	int64_t		nblocks;

	if (rows->nrows == 0)
		return cudaSuccess;
	job.from = *rows;
	job.p = plan->p;
	job.ntiles = plan->ntiles;
	job.nstages = plan->nstages;
	for (int d = 0; d < 2; d++)
	{
		/* splits of at least a few stages each, as joining the sums costs as much */
		const int64_t piece = d == 0 ? TILE_TEAM_NROWS : TILE_NLINES;
		const int64_t most = (rows->nrows + 4 * piece - 1) / (4 * piece);

		job.nslots[d] = plan->nsplits[d];
		job.nsplits[d] = (int) (most < plan->nsplits[d] ? most : plan->nsplits[d]);
		job.record_ndoubles[d] = plan->record_ndoubles[d];
	}
	nblocks = (gr_triangle(plan->ntiles) - plan->ntiles) * job.nsplits[0] + (int64_t) plan->ntiles * job.nsplits[1];
	return cudaLaunchKernel(gram_function(plan, plain, wide), dim3((unsigned) nblocks),
							dim3((unsigned) plan->nwarps * 32), arguments,
							plan->shared_nbytes, stream);
}

cudaError_t
gr_weighted_gram_reduce_launch(const WeightedGramPlan *plan, const double *partials, const double *border,
							   int64_t first,
							   int64_t nentries, double *sums, cudaStream_t stream)
{
	const int	most = plan->nsplits[0] > plan->nsplits[1] ? plan->nsplits[0] : plan->nsplits[1];
	const int	nslices = most > 64 ? 32 : most > 8 ? 4 : 1;
	const unsigned nblocks = (unsigned) ((nentries + REDUCE_NTHREADS / nslices - 1) / (REDUCE_NTHREADS / nslices));
	GramSums	shape = {};

	if (nentries <= 0)
		return cudaSuccess;
	shape.kind = plan->kind;
	shape.ngroups = plan->ngroups;
	shape.ntiles = plan->ntiles;
	for (int d = 0; d < 2; d++)
	{
		shape.nslots[d] = plan->nsplits[d];
		shape.record_ndoubles[d] = plan->record_ndoubles[d];
	}
	for (int k = 0; k < 36; k++)
		shape.place[k] = plan->place[k];
	if (nslices == 32)
		reduce_kernel<32><<<nblocks, REDUCE_NTHREADS, 0, stream>>>(shape, partials, border, first, nentries, sums);
	else if (nslices == 4)
		reduce_kernel<4><<<nblocks, REDUCE_NTHREADS, 0, stream>>>(shape, partials, border, first, nentries, sums);
	else
		reduce_kernel<1><<<nblocks, REDUCE_NTHREADS, 0, stream>>>(shape, partials, border, first, nentries, sums);
	return cudaGetLastError();
}
