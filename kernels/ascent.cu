/*
 * ascent.cu: beta += rate (X'(y - mu) - l2 (0, b)), mu = 1 / (1 + exp(-X beta)), many times, by one thread block; see
 * ascent.cuh.
 *
 * Who owns what. A thread holds E rows for the whole launch, as z = s (1, x) with s = 1 for y = 1 and -1 for y = 0.
 * With m = z' beta, s / (1 + exp(m)) is the residual y - mu, without cancellation, and the gradient is the sum of z /
 * (1 + exp(m)). A row that does not exist is z = 0. beta is stored times log2(e), so that exp(m) is 2 to the power of a
 * dot product. In each warp, lane f < P keeps the coefficient of feature f, and the lanes from P on that of the ones.
 * All warps make the same update, so only sums are exchanged.
 *
 *    thread t of T    rows e T + t, e < E
 *    register j       feature j xor rotation(lane)
 *    lane < P         coefficient of feature lane
 *    lane >= P        coefficient of the ones
 *
 * An iteration is a chain of latencies, and each step below shortens it. Shuffles distribute the coefficients. Each
 * thread sums its rows' terms. A transposing reduction over LEVELS lane bits halves the terms of a lane with each
 * exchange. As register j holds feature j xor rotation(lane), the half to send is always the upper one, and nothing is
 * selected. What remains are 32 >> LEVELS sums per term and warp. They go to the other warps through shared memory, and
 * each lane adds those of its own term. Shared memory has two buffers, so one barrier per iteration suffices.
 *
 * Few, full warps are fastest, as they have less to reduce. On an H200 a row of 8 features takes a warp about 34 cycles
 * for its 21 instructions (most multiply-adds read three different registers, which would explain it). The rest of an
 * iteration, about 270 cycles, is latency.
 *
 * The shape fixes the order of all sums: no atomics, the same bits every time.
 */
#include "ascent.cuh"

#define FULL_WARP 0xffffffffu

/* Layouts in ascending order of the rows that they hold. A job takes the first one with enough room and registers. */
#define FOR_SHAPES(SHAPE) \
	SHAPE(0, 4, 4) SHAPE(1, 4, 8) SHAPE(2, 4, 16) SHAPE(3, 8, 8) SHAPE(4, 16, 4) SHAPE(5, 8, 16) SHAPE(6, 16, 16)

typedef struct AscentShape
{
	int			nwarps;
	int			nexamples;		/* rows per thread */
} AscentShape;

#define SHAPE_ENTRY(index, nwarps, nexamples) {nwarps, nexamples},
static const AscentShape shapes[] = {FOR_SHAPES(SHAPE_ENTRY)};
#define NSHAPES ((int) (sizeof(shapes) / sizeof(shapes[0])))

typedef struct AscentJob
{
	double		rate;
	double		l2;
	const double *scale;
	const double *rows;
	int64_t		nrows;
	int64_t		check_every;
	int64_t		niterations;
	GrAscentState *state;
	int			nfeatures;
	bool		intercept;
} AscentJob;

static constexpr int
log2_of(int n)
{
	return n <= 1 ? 0 : 1 + log2_of(n / 2);
}

/* Layout of a shape's reduction of sums. Fewer lane bits by shuffles leave more sums after the barrier. Measured. */
template <typename T, int P, int NWARPS>
struct Layout
{
	static constexpr int LEVELS = NWARPS <= 4 ? 4 : 5;
	static constexpr int TRANSPOSED = LEVELS < log2_of(P) ? LEVELS : log2_of(P);	/* levels that halve the terms */
	static constexpr int NKEPT = P >> TRANSPOSED;	/* features that a lane has left to store */
	static constexpr int NSUMS = 32 >> LEVELS;	/* sums of a warp per term */
	static constexpr int PER_LOAD = 16 / (int) sizeof(T);
	static constexpr int NPARTIALS = NWARPS * NSUMS;
	/* an odd number of 16 bytes, so that lanes use different banks */
	static constexpr int STRIDE = NPARTIALS + PER_LOAD;

	static_assert(NPARTIALS % PER_LOAD == 0, "a lane reads its partials 16 bytes at a time");
	static_assert(P < 32, "each term has a lane");

	/* Returns the first of the features that a lane is left with. */
	static __device__ inline int
	rotation(int lane)
	{
		return (lane >> (5 - TRANSPOSED)) * NKEPT;
	}
};

/* Returns 1 / (1 + 2^m), or 0 on overflow. The instructions' errors are at most 2 and 1 ulp. */
static __device__ inline float
tail_probability(float m)
{
	float		power;
	float		p;

	asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(m));
	asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(p) : "f"(1.0f + power));
	return p;
}

/*
 * Returns 1 / (1 + 2^m) without branches, so that the rows of a thread overlap. 2^f, |f| <= 1/2, is a Taylor series
 * whose first omitted term is below 2^-57; 1 / d refines the instruction's 20 or more bits by one step of third order.
 */
static __device__ inline double
tail_probability(double m)
{
	const double round = 6755399441055744.0;	/* 1.5 2^52: adding it leaves an integer in the low word */
	double		shifted;
	double		f;
	double		power = 1.3691488853904128e-12; /* ln(2)^13 / 13! */
	double		d;
	double		p;
	double		e;

	m = m > 1000.0 ? 1000.0 : m;
	m = m < -1000.0 ? -1000.0 : m;
	shifted = m + round;
	f = m - (shifted - round);
	power = fma(power, f, 2.5678435993488204e-11);
	power = fma(power, f, 4.4455382718708115e-10);
	power = fma(power, f, 7.0549116208011234e-09);
	power = fma(power, f, 1.0178086009239699e-07);
	power = fma(power, f, 1.3215486790144309e-06);
	power = fma(power, f, 1.5252733804059841e-05);
	power = fma(power, f, 1.5403530393381610e-04);
	power = fma(power, f, 1.3333558146428443e-03);
	power = fma(power, f, 9.6181291076284771e-03);
	power = fma(power, f, 5.5504108664821580e-02);
	power = fma(power, f, 2.4022650695910072e-01);
	power = fma(power, f, 6.9314718055994531e-01);
	power = fma(power, f, 1.0);
	power = __hiloint2double(__double2hiint(power) + (__double2loint(shifted) << 20), __double2loint(power));
	d = 1.0 + power;
	asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(p) : "d"(d));
	e = fma(-d, p, 1.0);
	e = fma(e, e, e);
	return fma(p, e, p);
}

static __device__ inline float
multiply_add(float a, float b, float c)
{
	return fmaf(a, b, c);
}

static __device__ inline double
multiply_add(double a, double b, double c)
{
	return fma(a, b, c);
}

/* Loads the thread's rows: row e of thread t is e blockDim.x + t; register j is feature j xor the lane's rotation. */
template <typename T, int P, int E>
static __device__ inline void
load_examples(const AscentJob &job, int rotation, T (&z)[E][P], T (&ones)[E])
{
#pragma unroll
	for (int e = 0; e < E; e++)
	{
		const int64_t row = (int64_t) e * blockDim.x + threadIdx.x;
		const bool	exists = row < job.nrows;
		const double *x = job.rows + (exists ? row : 0) * gr_nterms(job.nfeatures);
		const double sign = !exists ? 0.0 : x[job.nfeatures] > 0.5 ? 1.0 : -1.0;

		ones[e] = job.intercept ? (T) sign : (T) 0;
#pragma unroll
		for (int j = 0; j < P; j++)
		{
			const int	feature = j ^ rotation;

			z[e][j] = exists && feature < job.nfeatures ? (T) (sign * x[feature]) : (T) 0;
		}
	}
}

/* Sums over LEVELS lane bits. g[0 .. NKEPT) then holds features rotation .. rotation + NKEPT - 1. */
template <typename L, int LEVEL, typename T, int P>
static __device__ inline void
reduce_lanes(T (&g)[P], T *g_ones)
{
	if constexpr (LEVEL < L::LEVELS)
	{
		constexpr int NKEPT = LEVEL < L::TRANSPOSED ? P >> (LEVEL + 1) : L::NKEPT;
		constexpr int SENT = LEVEL < L::TRANSPOSED ? NKEPT : 0;

#pragma unroll
		for (int j = 0; j < NKEPT; j++)
			g[j] += __shfl_xor_sync(FULL_WARP, g[j + SENT], 16 >> LEVEL);
		*g_ones += __shfl_xor_sync(FULL_WARP, *g_ones, 16 >> LEVEL);
		reduce_lanes<L, LEVEL + 1>(g, g_ones);
	}
}

/* Loads 16 bytes, four float, from an aligned address into v. */
static __device__ inline void
load_16_bytes(float *v, const float *from)
{
	const float4 four = *(const float4 *) from;

	v[0] = four.x;
	v[1] = four.y;
	v[2] = four.z;
	v[3] = four.w;
}

/* Loads 16 bytes, two double, from an aligned address into v. */
static __device__ inline void
load_16_bytes(double *v, const double *from)
{
	const double2 two = *(const double2 *) from;

	v[0] = two.x;
	v[1] = two.y;
}

/* Returns the sum of v[0 .. N - 1], where N is a power of two. Adds halves in place, and so overwrites v. */
template <int N, typename T>
static __device__ inline T
add_values(T *v)
{
	if constexpr (N > 1)
	{
#pragma unroll
		for (int k = 0; k < N / 2; k++)
			v[k] += v[k + N / 2];
		add_values<N / 2>(v);
	}
	return v[0];
}

/* Returns the sum of all N partials at mine, after the warps have stored them. */
template <int N, typename T>
static __device__ inline T
add_partials(const T *mine)
{
	T			v[N];

#pragma unroll
	for (int k = 0; k < N; k += 16 / (int) sizeof(T))
		load_16_bytes(v + k, mine + k);
	return add_values<N>(v);
}

/*
 * Returns the sum over all rows of the residual times the lane's own term, with the same bits in every warp. beta: the
 * lane's coefficient; buffer: the one of the two buffers whose last readers have passed a barrier since.
 */
template <typename L, typename T, int P, int E>
static __device__ inline T
sum_residuals(const T (&z)[E][P], const T (&ones)[E], T beta, T *buffer)
{
	const int	lane = threadIdx.x % 32;
	const int	rotation = L::rotation(lane);
	const int	sub = threadIdx.x / 32 * L::NSUMS + lane % L::NSUMS;
	const bool	stores = (lane / L::NSUMS) % (1 << (L::LEVELS - L::TRANSPOSED)) == 0;
	const T		b_ones = __shfl_sync(FULL_WARP, beta, P);
	T			b[P];
	T			g[P] = {};
	T			g_ones = 0;

#pragma unroll
	for (int j = 0; j < P; j++)
		b[j] = __shfl_sync(FULL_WARP, beta, j ^ rotation);
#pragma unroll
	for (int e = 0; e < E; e++)
	{
		T			m = ones[e] * b_ones;
		T			p;

#pragma unroll
		for (int j = 0; j < P; j++)
			m = multiply_add(z[e][j], b[j], m);
		p = tail_probability(m);
		g_ones = multiply_add(ones[e], p, g_ones);
#pragma unroll
		for (int j = 0; j < P; j++)
			g[j] = multiply_add(z[e][j], p, g[j]);
	}
	reduce_lanes<L, 0>(g, &g_ones);
	if (stores)
#pragma unroll
		for (int k = 0; k < L::NKEPT; k++)
			buffer[(rotation + k) * L::STRIDE + sub] = g[k];
	if (lane < L::NSUMS)
		buffer[P * L::STRIDE + sub] = g_ones;
	__syncthreads();
	return add_partials<L::NPARTIALS>(buffer + min(lane, P) * L::STRIDE);
}

/* Runs iterations until they are done or the gradient passes the test. */
template <typename T, int P, int NWARPS, int E>
static __global__ void
__launch_bounds__(32 * NWARPS, 1)
ascent_kernel(const AscentJob job)
{
	typedef Layout<T, P, NWARPS> L;
	__shared__ uint4 shared[2 * (P + 1) * L::STRIDE / L::PER_LOAD];
	const int	lane = threadIdx.x % 32;
	const int	term = lane < P ? lane + 1 : 0;
	const bool	used = term == 0 ? job.intercept : term <= job.nfeatures;
	const T		rate = (T) (job.rate * GR_LOG2_E);
	const T		decay = term == 0 ? (T) 0 : (T) (-job.rate * job.l2);
	const T		penalty = term == 0 ? (T) 0 : (T) (-job.l2 * GR_LN_2);
	const double scale = used && job.scale != NULL ? job.scale[term] : 0.0;
	const bool	checks = job.scale != NULL && job.check_every > 0;
	int64_t		iterations = job.state->iterations;
	int64_t		converged = job.state->converged;
	int64_t		left = converged != 0 ? 0 : job.niterations;
	T			beta = term <= job.nfeatures ? (T) job.state->scaled_beta[term] : (T) 0;
	T			gradient = 0;
	T		   *buffer = (T *) shared;
	T		   *other = buffer + (P + 1) * L::STRIDE;
	T			z[E][P];
	T			ones[E];

	load_examples<T, P, E>(job, L::rotation(lane), z, ones);
	__syncthreads();			/* all threads have read the state */
	while (left > 0)
	{
		const int64_t to_check = checks ? job.check_every - iterations % job.check_every : left;
		const int64_t n = min(left, to_check);

#pragma unroll 1
		for (int64_t i = n; i > 0; i--)
		{
			const T		shrunk = multiply_add(decay, beta, beta);
			const T		sum = sum_residuals<L>(z, ones, beta, buffer);
			T		   *swap = buffer;

			gradient = multiply_add(penalty, beta, sum);
			beta = multiply_add(rate, sum, shrunk);
			buffer = other;
			other = swap;
		}
		iterations += n;
		left -= n;
		if (checks && iterations % job.check_every == 0 &&
			__all_sync(FULL_WARP, !used || fabs((double) gradient) <= scale))
		{
			converged = 1;
			left = 0;
		}
	}
	if (threadIdx.x <= P && term <= job.nfeatures)
		job.state->scaled_beta[term] = (double) beta;
	if (threadIdx.x == 0)
	{
		job.state->iterations = iterations;
		job.state->converged = converged;
	}
}

/*
 * True if a thread's registers hold its rows, the coefficients, the gradient and an iteration's temporaries; see ptxas
 * -v. float8 with 16 rows in each thread of four warps would be slower than with 8 rows in eight warps.
 */
static constexpr bool
registers_hold(int value_nbytes, int nfeatures, int nwarps, int nexamples)
{
	return (value_nbytes == 4 || nwarps > 4 || nexamples <= 8) &&
		value_nbytes / 4 * (nexamples + 2) * gr_nterms(nfeatures) + (value_nbytes == 4 ? 36 : 48) <=
		(nwarps <= 8 ? 255 : 65536 / (32 * nwarps));
}

/* Returns the number of features that a kernel is compiled for; columns of zeros fill it up. */
static int
padded(int nfeatures)
{
	return nfeatures <= 2 ? 2 : nfeatures <= 4 ? 4 : nfeatures <= 8 ? 8 : 16;
}

/* True if a shape has room for the rows, and registers for the features. */
static bool
shape_fits(int shape, int nfeatures, int64_t nrows, bool single)
{
	const AscentShape *s = &shapes[shape];

	return nfeatures >= 1 && nfeatures <= GR_ASCENT_MAX_FEATURES && nrows <= 32 * s->nwarps * s->nexamples &&
		registers_hold(single ? 4 : 8, padded(nfeatures), s->nwarps, s->nexamples);
}

/* Returns the shape for a job, or -1. */
static int
choose_shape(int nfeatures, int64_t nrows, bool single)
{
	for (int shape = 0; shape < NSHAPES; shape++)
		if (shape_fits(shape, nfeatures, nrows, single))
			return shape;
	return -1;
}

template <typename T, int P, int NWARPS, int E>
static void
launch(const AscentJob &job, cudaStream_t stream)
{
	if constexpr (registers_hold(sizeof(T), P, NWARPS, E))
		ascent_kernel<T, P, NWARPS, E><<<1, 32 * NWARPS, 0, stream>>>(job);
}

template <typename T, int P>
static void
launch_shape(int shape, const AscentJob &job, cudaStream_t stream)
{
#define SHAPE_CASE(index, nwarps, nexamples) \
	case index: \
		launch<T, P, nwarps, nexamples>(job, stream); \
		break;

	switch (shape)
	{
		FOR_SHAPES(SHAPE_CASE)
	}
}

template <typename T>
static void
launch_padded(int shape, const AscentJob &job, cudaStream_t stream)
{
	switch (padded(job.nfeatures))
	{
		case 2:
			launch_shape<T, 2>(shape, job, stream);
			break;
		case 4:
			launch_shape<T, 4>(shape, job, stream);
			break;
		case 8:
			launch_shape<T, 8>(shape, job, stream);
			break;
		default:
			launch_shape<T, 16>(shape, job, stream);
	}
}

bool
gr_ascent_fits(int nfeatures, int64_t nrows, bool single)
{
	return choose_shape(nfeatures, nrows, single) >= 0;
}

bool
gr_ascent_shape(int shape, int *nthreads, int *nexamples)
{
	if (shape < 0 || shape >= NSHAPES)
		return false;
	*nthreads = 32 * shapes[shape].nwarps;
	*nexamples = shapes[shape].nexamples;
	return true;
}

cudaError_t
gr_ascent_launch_shape(int shape, const GrAscent *ascent, const AscentData *data, int64_t niterations,
					   cudaStream_t stream)
{
	AscentJob	job = {};

	if (shape < 0)
		shape = choose_shape(data->nfeatures, data->nrows, ascent->single);
	if (shape < 0 || shape >= NSHAPES || !shape_fits(shape, data->nfeatures, data->nrows, ascent->single))
		return cudaErrorInvalidValue;
	job.rate = ascent->rate;
	job.l2 = ascent->l2;
	job.scale = data->scale;
	job.rows = data->rows;
	job.nrows = data->nrows;
	job.check_every = ascent->check_every;
	job.niterations = niterations;
	job.state = (GrAscentState *) data->state;
	job.nfeatures = data->nfeatures;
	job.intercept = ascent->intercept;
	if (ascent->single)
		launch_padded<float>(shape, job, stream);
	else
		launch_padded<double>(shape, job, stream);
	return cudaGetLastError();
}

cudaError_t
gr_ascent_launch(const GrAscent *ascent, const AscentData *data, int64_t niterations, cudaStream_t stream)
{
	return gr_ascent_launch_shape(-1, ascent, data, niterations, stream);
}
