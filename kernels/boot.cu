/*
 * boot.cu: sums of a bootstrap: G (replicates x products) = W' (replicates x rows) P (rows x products). W has the rows'
 * counts, P the products of their q; see compute/resample/boot.h.
 *
 * A warp owns 32 replicates and up to 56 products, whose sums are in its registers. It draws W for 16 rows at a time,
 * where it multiplies: lane 4 g + t of mma.sync's layout holds rows t, t + 4, t + 8 and t + 12 of replicates 4 g .. 4 g
 * + 3, which are the four words of one Philox counter:
 *
 *    lane 4 g + t       rows t, t + 4, t + 8, t + 12     word 0, 1: fragment a[0]     word 2, 3: fragment a[1]
 *    replicates                                          4 g, 4 g + 1                 4 g + 2, 4 g + 3
 *
 * The warps of a thread block have other replicates and share P, which they make of 64 rows' q in shared memory.
 *
 * In a permutation test W has signs, and the warp's 32 replicates are the bits of one word.
 */
#include "boot.cuh"

#include "glm_device.cuh"
#include "philox.cuh"

#include "compute/resample/boot_draw.h"
#include "compute/resample/boot_row.h"
#include "compute/resample/flip_draw.h"

#define MAKE_THREADS 256
#define STAGE_NROWS 64
#define WARPS_MAX 8
#define WARP_NREPS 32
#define MERGE_THREADS 256
#define INFLUENCE_THREADS 256

/* Returns a word's count as float8, without a conversion, which would use a slow unit. */
static __device__ inline double
count_of(uint32_t word)
{
	return __hiloint2double(0x43300000, gr_boot_count(word)) - 0x1p52;
}

/* Makes q; a thread makes a row. */
static __global__ void
boot_make_kernel(BootTerms terms, int pitch, const double *rows, int64_t nrows, double *q)
{
	const int64_t r = (int64_t) blockIdx.x * blockDim.x + threadIdx.x;
	const int	t = gr_nterms(terms.shape.nfeatures);
	const double *row = rows + r * gr_row_ncols(terms.shape);
	GrGlmRow	made;

	if (r >= nrows)
		return;
	made = gr_boot_row(terms.distribution, terms.shape, row, terms.beta, terms.beta_lo, terms.shift);
	q += r * pitch;
	for (int i = 0; i < terms.nactive; i++)
		q[i] = gr_boot_entry(terms.factor + (int64_t) i * t, made.u, terms.shape, row, terms.shift);
	q[terms.nactive] = made.v;
	q[terms.nactive + 1] = __longlong_as_double(gr_boot_key_of(terms.shape, row));
}

/* Returns the entries of q whose product is number k, or (-1, -1) after the last product. */
static __device__ inline int2
entries_of(int k, int nproducts)
{
	int			i = 0;

	if (k >= nproducts)
		return make_int2(-1, -1);
	while ((i + 1) * (i + 2) / 2 <= k)
		i++;
	return make_int2(i, k - i * (i + 1) / 2);
}

/* Makes a stage's products, PITCH apart, and keys; zeros after the last row. */
template <int NT>
static __device__ inline void
make_stage(double *products, int64_t *keys, const int2 *entries, const double *q, int q_pitch, int nactive, int nrows)
{
	constexpr int PITCH = 8 * NT + 4;

	for (int at = threadIdx.x; at < STAGE_NROWS * 8 * NT; at += blockDim.x)
	{
		const int	r = at / (8 * NT);
		const int	k = at % (8 * NT);
		const int2	e = entries[k];
		const double *row = q + (int64_t) r * q_pitch;

		products[r * PITCH + k] = r < nrows && e.x >= 0 ? row[e.x] * row[e.y] : 0.0;
	}
	for (int r = threadIdx.x; r < STAGE_NROWS; r += blockDim.x)
		keys[r] = r < nrows ? __double_as_longlong(q[(int64_t) r * q_pitch + nactive + 1]) : 0;
}

/* Adds rows to 32 replicates' products per warp. blockIdx: split of rows, slice of replicates, part of products. */
template <int NT, bool FLIPS>
static __global__ void __launch_bounds__(32 * WARPS_MAX, 1)
boot_sum_kernel(BootTerms terms, BootPlan plan, const double *q, int64_t nrows, double *partials)
{
	constexpr int PITCH = 8 * NT + 4;	/* 4 or 12 modulo 16, so that the rows t of a fragment use different banks */
	__shared__ double products[STAGE_NROWS * PITCH];
	__shared__ int64_t keys[STAGE_NROWS];
	__shared__ int2 entries[8 * NT];
	const int	lane = threadIdx.x % 32;
	const int	g = lane / 4;
	const int	t = lane % 4;
	const int	first_rep = (int) (blockIdx.y * (blockDim.x / 32) + threadIdx.x / 32) * WARP_NREPS;
	const int	first_product = (int) blockIdx.z * 8 * NT;
	const uint32_t group = terms.group + (uint32_t) first_rep / 4 + (uint32_t) g;
	double		sums[2][NT][4] = {};

	for (int k = threadIdx.x; k < 8 * NT; k += blockDim.x)
		entries[k] = entries_of(first_product + k, plan.nproducts);
	for (int64_t first = (int64_t) blockIdx.x * STAGE_NROWS; first < nrows; first += (int64_t) gridDim.x * STAGE_NROWS)
	{
		__syncthreads();
		make_stage<NT>(products, keys, entries, q + first * plan.pitch, plan.pitch, terms.nactive,
					   (int) min((int64_t) STAGE_NROWS, nrows - first));
		__syncthreads();
		for (int step = 0; step < STAGE_NROWS; step += 16)
		{
			double		a[2][8];

#pragma unroll
			for (int k = 0; k < 4; k++)
			{
				const int64_t key = keys[step + t + 4 * k];
				const GrPhilox words = FLIPS ? gr_flip_words(terms.seed, key, group / 32) :
					gr_boot_words(terms.seed, key, group);
				const uint32_t bits = words.word[group % 32 / 8] >> (group % 8 * 4);

#pragma unroll
				for (int w = 0; w < 4; w++)
					a[w / 2][2 * k + w % 2] = FLIPS ? gr_flip_sign(bits, w) : count_of(words.word[w]);
			}
#pragma unroll
			for (int n = 0; n < NT; n++)
			{
				double		b[4];

#pragma unroll
				for (int k = 0; k < 4; k++)
					b[k] = products[(step + t + 4 * k) * PITCH + 8 * n + g];
				multiply_tile<4>(sums[0][n], a[0], b);
				multiply_tile<4>(sums[1][n], a[1], b);
			}
		}
	}
	partials += (int64_t) blockIdx.x * plan.product_pitch * plan.rep_pitch;
#pragma unroll
	for (int n = 0; n < NT; n++)
#pragma unroll
		for (int c = 0; c < 8; c++)
		{
			const int	product = first_product + 8 * n + 2 * t + c % 2;
			const int	rep = first_rep + 4 * g + c / 2;

			partials[(int64_t) product * plan.rep_pitch + rep] += sums[c / 4][n][c % 4];
		}
}

/* Merges the splits' partial sums in their order; a thread has one entry. */
static __global__ void
boot_merge_kernel(BootPlan plan, int nreps, const double *partials, double *sums)
{
	const int64_t at = (int64_t) blockIdx.x * blockDim.x + threadIdx.x;
	const int64_t size = (int64_t) plan.product_pitch * plan.rep_pitch;
	double		sum = 0.0;

	if (at >= (int64_t) plan.nproducts * nreps)
		return;
	partials += at / nreps * plan.rep_pitch + at % nreps;
	for (int s = 0; s < plan.nsplits; s++)
		sum += partials[s * size];
	sums[at] = sum;
}

/* Sums squares and cubes of influence values; a thread block has a line of influence and a split of the rows. */
static __global__ void
boot_influence_kernel(BootTerms terms, int pitch, const double *q, int64_t nrows, double *partials)
{
	__shared__ double squares[INFLUENCE_THREADS];
	__shared__ double cubes[INFLUENCE_THREADS];
	const double *line = terms.influence + (int64_t) blockIdx.y * terms.nactive;
	double		square = 0.0;
	double		cube = 0.0;

	for (int64_t r = (int64_t) blockIdx.x * blockDim.x + threadIdx.x; r < nrows;
		 r += (int64_t) gridDim.x * blockDim.x)
	{
		const double *row = q + r * pitch;
		double		value = 0.0;

		for (int j = 0; j < terms.nactive; j++)
			value += line[j] * row[j];
		value *= row[terms.nactive];
		square += value * value;
		cube += value * value * value;
	}
	squares[threadIdx.x] = square;
	cubes[threadIdx.x] = cube;
	for (int half = INFLUENCE_THREADS / 2; half > 0; half /= 2)
	{
		__syncthreads();
		if (threadIdx.x < half)
		{
			squares[threadIdx.x] += squares[threadIdx.x + half];
			cubes[threadIdx.x] += cubes[threadIdx.x + half];
		}
	}
	if (threadIdx.x > 0)
		return;
	partials += (int64_t) blockIdx.x * 2 * terms.ninfluence + blockIdx.y;
	partials[0] += squares[0];
	partials[terms.ninfluence] += cubes[0];
}

/*
 * Plans and launches
 */

static int
round_up(int n, int step)
{
	return (n + step - 1) / step * step;
}

BootPlan
gr_boot_plan_launches(const GrBootPass *pass, int nsms)
{
	BootPlan	plan = {};
	int			nblocks;

	plan.pitch = pass->nactive + 2;
	plan.nproducts = (int) gr_boot_nproducts(pass->nactive);
	if (pass->nreps == 0)
	{
		/* squares and cubes take the place of products of one replicate */
		plan.nproducts = plan.product_pitch = 2 * pass->ninfluence;
		plan.rep_pitch = 1;
		plan.nsplits = 2 * nsms;
		plan.partials_ndoubles = (size_t) plan.nsplits * (size_t) plan.product_pitch;
		return plan;
	}
	plan.ntiles = plan.nproducts <= 8 ? 1 : plan.nproducts <= 16 ? 2 : plan.nproducts <= 32 ? 4 : 7;
	plan.nparts = (plan.nproducts + 8 * plan.ntiles - 1) / (8 * plan.ntiles);
	plan.nwarps = (pass->nreps + WARP_NREPS - 1) / WARP_NREPS;
	plan.nwarps = plan.nwarps > WARPS_MAX ? WARPS_MAX : plan.nwarps;
	plan.rep_pitch = round_up(pass->nreps, plan.nwarps * WARP_NREPS);
	plan.nslices = plan.rep_pitch / (plan.nwarps * WARP_NREPS);
	plan.product_pitch = plan.nparts * 8 * plan.ntiles;
	nblocks = plan.nslices * plan.nparts;
	plan.nsplits = nsms * (WARPS_MAX / plan.nwarps) / nblocks;
	plan.nsplits = plan.nsplits < 1 ? 1 : plan.nsplits;
	plan.partials_ndoubles = (size_t) plan.nsplits * (size_t) plan.product_pitch * (size_t) plan.rep_pitch;
	return plan;
}

cudaError_t
gr_boot_make_launch(const BootPlan *plan, const BootTerms *terms, const double *rows, int64_t nrows, double *q,
					cudaStream_t stream)
{
	boot_make_kernel<<<(unsigned) ((nrows + MAKE_THREADS - 1) / MAKE_THREADS), MAKE_THREADS, 0, stream>>>
		(*terms, plan->pitch, rows, nrows, q);
	return cudaGetLastError();
}

template <int NT>
static void
launch_sums(const BootPlan *plan, const BootTerms *terms, const double *q, int64_t nrows, double *partials,
			cudaStream_t stream)
{
	const dim3	grid((unsigned) plan->nsplits, (unsigned) plan->nslices, (unsigned) plan->nparts);

	if (terms->flips)
		boot_sum_kernel<NT, true><<<grid, 32 * plan->nwarps, 0, stream>>>(*terms, *plan, q, nrows, partials);
	else
		boot_sum_kernel<NT, false><<<grid, 32 * plan->nwarps, 0, stream>>>(*terms, *plan, q, nrows, partials);
}

cudaError_t
gr_boot_sum_launch(const BootPlan *plan, const BootTerms *terms, const double *q, int64_t nrows, double *partials,
				   cudaStream_t stream)
{
	if (terms->nreps == 0)
		boot_influence_kernel<<<dim3((unsigned) plan->nsplits, (unsigned) terms->ninfluence), INFLUENCE_THREADS, 0,
			stream>>>(*terms, plan->pitch, q, nrows, partials);
	else if (plan->ntiles == 1)
		launch_sums<1>(plan, terms, q, nrows, partials, stream);
	else if (plan->ntiles == 2)
		launch_sums<2>(plan, terms, q, nrows, partials, stream);
	else if (plan->ntiles == 4)
		launch_sums<4>(plan, terms, q, nrows, partials, stream);
	else
		launch_sums<7>(plan, terms, q, nrows, partials, stream);
	return cudaGetLastError();
}

cudaError_t
gr_boot_merge_launch(const BootPlan *plan, const BootTerms *terms, const double *partials, double *sums,
					 cudaStream_t stream)
{
	const int	nreps = terms->nreps == 0 ? 1 : terms->nreps;
	const int64_t n = (int64_t) plan->nproducts * nreps;

	boot_merge_kernel<<<(unsigned) ((n + MERGE_THREADS - 1) / MERGE_THREADS), MERGE_THREADS, 0, stream>>>
		(*plan, nreps, partials, sums);
	return cudaGetLastError();
}
