/*
 * glm_device.cuh: device functions shared by the GLM kernels and the Gram kernels: tile products, asynchronous copies,
 * sums over lanes, and a row's weight.
 *
 * Requires -fmad=false, like dd.h.
 */
#ifndef GPUREG_GLM_DEVICE_CUH
#define GPUREG_GLM_DEVICE_CUH

#include "glm_step.cuh"

#include "compute/base/dd.h"
#include "compute/base/row.h"
#include "compute/glm/edge_row.h"
#include "compute/glm/glm_row.h"
#include "compute/glm/negbin_row.h"

#define FULL 0xffffffffu

static __host__ __device__ inline int64_t
packed(int64_t i, int64_t j)
{
	return i * (i + 1) / 2 + j;
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ < 800
typedef struct TileSums
{
	double		c[4];
} TileSums;

/* multiply_tile() with NQ = 1 without tensor cores. Not inlined: that would make compilation take many minutes. */
static __device__ __noinline__ TileSums
multiply_four(TileSums sums, double top, double bottom, double b)
{
	const int	lane = threadIdx.x % 32;

	for (int k = 0; k < 4; k++)
	{
		double		left = __shfl_sync(FULL, b, lane % 4 * 8 + k);
		double		right = __shfl_sync(FULL, b, lane % 4 * 8 + 4 + k);
		double		above = __shfl_sync(FULL, top, lane / 4 * 4 + k);
		double		below = __shfl_sync(FULL, bottom, lane / 4 * 4 + k);

		sums.c[0] = fma(above, left, sums.c[0]);
		sums.c[1] = fma(above, right, sums.c[1]);
		sums.c[2] = fma(below, left, sums.c[2]);
		sums.c[3] = fma(below, right, sums.c[3]);
	}
	return sums;
}
#endif

/*
 * c += a b, with a of 16 x 4 NQ, b of 4 NQ x 8 and c of 16 x 8 entries, NQ = 1, 2 or 4. Lane 4 g + t holds, as in
 * mma.sync:
 *
 *                                      b[q]:          column g
 *                                                     rows t, t + 4, .. t + 4 (NQ - 1)
 *    a[2 q]:      row g      columns t + 4 q     c[0], c[1]:  row g      columns 2 t, 2 t + 1
 *    a[2 q + 1]:  row g + 8  columns t + 4 q     c[2], c[3]:  row g + 8  columns 2 t, 2 t + 1
 */
template <int NQ>
static __device__ inline void
multiply_tile(double (&c)[4], const double (&a)[2 * NQ], const double (&b)[NQ])
{
#if __CUDA_ARCH__ >= 900
	if constexpr (NQ == 4)
		asm("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7, %8, %9, %10, %11}, "
			"{%12, %13, %14, %15}, {%0, %1, %2, %3};"
			: "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
			: "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]),
			  "d"(b[0]), "d"(b[1]), "d"(b[2]), "d"(b[3]));
	else if constexpr (NQ == 1)
		asm volatile("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 "
			"{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
			: "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
			: "d"(a[0]), "d"(a[1]), "d"(b[0]));
	else
		asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
			"{%0, %1, %2, %3};"
			: "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
			: "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#elif __CUDA_ARCH__ >= 800
#pragma unroll
	for (int q = 0; q < NQ; q++)
#pragma unroll
		for (int h = 0; h < 2; h++)
			asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
				: "+d"(c[2 * h]), "+d"(c[2 * h + 1])
				: "d"(a[2 * q + h]), "d"(b[q]));
#else
	TileSums	sums = {{c[0], c[1], c[2], c[3]}};

	for (int q = 0; q < NQ; q++)
		sums = multiply_four(sums, a[2 * q], a[2 * q + 1], b[q]);
	for (int e = 0; e < 4; e++)
		c[e] = sums.c[e];
#endif
}

/* Returns the address of shared memory in the form that copies take. */
static __device__ inline unsigned
shared_address(const void *pointer)
{
	return (unsigned) __cvta_generic_to_shared(pointer);
}

/* Starts a copy of NBYTES (16 or 8) from global to shared memory if wanted. Asynchronous on devices that can. */
template <int NBYTES>
static __device__ inline void
copy_async(unsigned shared, const double *global, bool wanted)
{
#if __CUDA_ARCH__ >= 800
	/* the predicate is set in here, so that addresses need no registers of their own */
	if (NBYTES == 16)
		asm volatile("{\n\t.reg .pred wanted;\n\tsetp.ne.s32 wanted, %2, 0;\n\t"
					 "@wanted cp.async.cg.shared.global [%0], [%1], 16;\n\t}"
					 :: "r"(shared), "l"(global), "r"((int) wanted) : "memory");
	else
		asm volatile("{\n\t.reg .pred wanted;\n\tsetp.ne.s32 wanted, %2, 0;\n\t"
					 "@wanted cp.async.ca.shared.global [%0], [%1], 8;\n\t}"
					 :: "r"(shared), "l"(global), "r"((int) wanted) : "memory");
#else
	if (wanted && NBYTES == 16)
		*(double2 *) __cvta_shared_to_generic(shared) = *(const double2 *) global;
	else if (wanted)
		*(double *) __cvta_shared_to_generic(shared) = *global;
#endif
}

static __device__ inline void
copy_commit(void)
{
#if __CUDA_ARCH__ >= 800
	asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/* Waits until at most NLEFT of the committed groups of copies are under way. */
template <int NLEFT>
static __device__ inline void
copy_wait(void)
{
#if __CUDA_ARCH__ >= 800
	asm volatile("cp.async.wait_group %0;" :: "n"(NLEFT) : "memory");
#endif
}

/* copy_wait() for a run-time n, which is the same in all threads; at most 4. */
static __device__ inline void
copy_wait_for(int n)
{
	switch (n)
	{
		case 0:
			return copy_wait<0>();
		case 1:
			return copy_wait<1>();
		case 2:
			return copy_wait<2>();
		case 3:
			return copy_wait<3>();
		default:
			return copy_wait<4>();
	}
}

/*
 * A dot product as in Dot2 of Ogita, Rump and Oishi (2005). s adds the products by TwoSum; c adds the rounding errors
 * of s, of the products and of x - shift.
 */
typedef struct Dot
{
	double		s;
	double		c;
} Dot;

/* Sum of |coefficient (x - shift)| */
typedef struct Magnitude
{
	double		sum;
} Magnitude;

/* Sums of several kinds, under the same names */

/* sum += coefficient (x - shift). */
static __device__ inline void
add_product(double &sum, double coefficient, double x, double shift)
{
	sum = fma(coefficient, x - shift, sum);
}

static __device__ inline void
add_product(Dot &sum, double coefficient, double x, double shift)
{
	GrDD		z = gr_two_sum(x, -shift);
	GrDD		p = gr_two_prod(coefficient, z.hi);
	GrDD		s = gr_two_sum(sum.s, p.hi);

	sum.s = s.hi;
	sum.c += s.lo + fma(coefficient, z.lo, p.lo);
}

static __device__ inline void
add_product(Magnitude &sum, double coefficient, double x, double shift)
{
	sum.sum += fabs(coefficient * (x - shift));
}

/* Adds two sums of a kind. */
static __device__ inline double
join(double a, double b)
{
	return a + b;
}

static __device__ inline GrDD
join(GrDD a, GrDD b)
{
	return gr_dd_add(a, b);
}

static __device__ inline Dot
join(Dot a, Dot b)
{
	GrDD		s = gr_two_sum(a.s, b.s);
	Dot			r = {s.hi, a.c + b.c + s.lo};

	return r;
}

static __device__ inline Magnitude
join(Magnitude a, Magnitude b)
{
	Magnitude	r = {a.sum + b.sum};

	return r;
}

/* Returns the value of the lane whose number differs by mask. */
static __device__ inline double
from_lane_xor(double value, int mask)
{
	return __shfl_xor_sync(FULL, value, mask);
}

static __device__ inline GrDD
from_lane_xor(GrDD value, int mask)
{
	GrDD		r = {__shfl_xor_sync(FULL, value.hi, mask), __shfl_xor_sync(FULL, value.lo, mask)};

	return r;
}

static __device__ inline Dot
from_lane_xor(Dot value, int mask)
{
	Dot			r = {__shfl_xor_sync(FULL, value.s, mask), __shfl_xor_sync(FULL, value.c, mask)};

	return r;
}

static __device__ inline Magnitude
from_lane_xor(Magnitude value, int mask)
{
	Magnitude	r = {__shfl_xor_sync(FULL, value.sum, mask)};

	return r;
}

/*
 * Sums v[k] over the eight lanes 4 g + t of one t, for k = 0 .. 7. Lane 4 g + t gets the sum of v[g]. Three exchanges,
 * over lane bits 4, 3 and 2, halve the values that a lane holds:
 *
 *    v[0..7] -> four[0..3]: k of this half of g -> two[0..1] -> sum of v[g]
 */
template <typename Sum>
static __device__ inline Sum
fold_eight(const Sum (&v)[8], int lane)
{
	Sum			four[4];
	Sum			two[2];

#pragma unroll
	for (int k = 0; k < 4; k++)
		four[k] = join((lane & 16) ? v[k + 4] : v[k], from_lane_xor((lane & 16) ? v[k] : v[k + 4], 16));
#pragma unroll
	for (int k = 0; k < 2; k++)
		two[k] = join((lane & 8) ? four[k + 2] : four[k], from_lane_xor((lane & 8) ? four[k] : four[k + 2], 8));
	return join((lane & 4) ? two[1] : two[0], from_lane_xor((lane & 4) ? two[0] : two[1], 4));
}

template <typename Sum>
static __device__ inline Sum
warp_sum(Sum value)
{
	for (int mask = 16; mask > 0; mask /= 2)
		value = join(value, from_lane_xor(value, mask));
	return value;
}

static __device__ inline double
warp_min(double value)
{
	for (int mask = 16; mask > 0; mask /= 2)
		value = fmin(value, from_lane_xor(value, mask));
	return value;
}

/* hi + lo += value. */
static __device__ inline void
add_compensated(double &hi, double &lo, double value)
{
	GrDD		sum = gr_two_sum(hi, value);

	hi = sum.hi;
	lo += sum.lo;
}

/* record[at] + record[at_lo] += value. */
static __device__ inline void
record_add(double *record, int64_t at, int64_t at_lo, GrDD value)
{
	GrDD		old = {record[at], record[at_lo]};
	GrDD		sum = gr_dd_add(old, value);

	record[at] = sum.hi;
	record[at_lo] = sum.lo;
}

/* Returns 1 / x for 1 <= x <= 2, within a unit in the last place. Without special cases, hence without branches. */
static __device__ inline double
reciprocal(double x)
{
	double		r;
	double		e;

	asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(x));	/* about 20 bits; then 60; then rounded */
	e = fma(-x, r, 1.0);
	r = fma(r, fma(e, e, e), r);
	return fma(r, fma(-x, r, 1.0), r);
}

static __constant__ double exp_coefficients[10] = {
	0x1.ad7f02a6aa9a0p-26, 0x1.28adce726e390p-22, 0x1.71df262c47695p-19, 0x1.a01999adcc22fp-16, 0x1.a01a0129b4608p-13,
	0x1.6c16c1844b015p-10, 0x1.1111111127e83p-7, 0x1.55555555507f1p-5, 0x1.55555555554f9p-3, 0x1.000000000000ap-1
};

/*
 * Returns exp(-a) for 0 <= a <= GR_ETA_MAX, within a unit in the last place, by the CPU's polynomial (step_cpu.h).
 * CUDA's exp() has branches for arguments that do not occur here.
 */
static __device__ inline double
exp_minus(double a)
{
	double		shifted = fma(a, -0x1.71547652b82fep0, 0x1.8p52 + 1023);
	double		k = shifted - (0x1.8p52 + 1023);
	double		f = fma(k, -0x1.62e42fee00000p-1, -a);
	double		q = exp_coefficients[0];

	f = fma(k, -0x1.a39ef35793c76p-33, f);
#pragma unroll
	for (int i = 1; i < 10; i++)
		q = fma(q, f, exp_coefficients[i]);
	q = 1.0 + fma(f * f, q, f);
	return q * __hiloint2double(__double2loint(shifted) << 20, 0);
}

/* Float8 results for one row; glm_row.h explains the formulas. */
typedef struct Weight
{
	double		w;
	double		r;
	double		t;				/* exp(-|eta|) */
	/*
	 * eta| if y is on the unlikely side: -log of y's probability is log1p(t) + miss
	 */
	double		miss;
	double		margin;			/* (2 y - 1) eta */
} Weight;

static __device__ inline Weight
weigh_row(double eta, double y)
{
	double		a = fabs(eta);
	double		t = exp_minus(a < GR_ETA_MAX ? a : GR_ETA_MAX);
	double		d = reciprocal(1.0 + t);
	double		td = t * d;
	bool		one = y > 0.5;
	double		residual = (eta >= 0.0) == one ? td : d;
	Weight		row;

	row.w = td * d;
	row.r = one ? residual : -residual;
	row.t = t;
	row.margin = one ? eta : -eta;
	row.miss = row.margin >= 0.0 ? 0.0 : -row.margin;	/* NaN if eta is NaN */
	return row;
}

/* Returns the weight of a row for other families and links. */
static __device__ __noinline__ Weight
weigh_other(GrDistribution distribution, double eta, double y, double prior)
{
	const GrGlmRow own = gr_glm_row(distribution, eta, y, prior);
	Weight		row;

	row.w = own.u * own.u;
	row.r = own.u * own.v;
	row.margin = gr_margin_of(distribution, eta, y);
	row.t = 0.0;
	row.miss = own.half_deviance;
	return row;
}

/*
 * Returns the weight of a row of any distribution, with a weight or an offset, which follow the response. A weight of 1
 * and an offset of 0 change no bit. The distribution is the same for all rows, so branches on it do not diverge.
 */
static __device__ __noinline__ Weight
weigh_with(double eta, const double *response, GrRowShape shape, GrDistribution distribution)
{
	const double y = response[0];
	const double prior = shape.weight ? response[1] : 1.0;
	const double offset = shape.offset ? response[shape.weight ? 2 : 1] : 0.0;
	const double full = eta + offset;

	if (!gr_is_logistic(distribution))
		return weigh_other(distribution, full, y, prior);
	if (prior == 1.0 && (y == 0.0 || y == 1.0))
		return weigh_row(full, y);

	const double a = fabs(full);
	const double t = exp_minus(a < GR_ETA_MAX ? a : GR_ETA_MAX);
	const double d = reciprocal(1.0 + t);
	const double td = t * d;
	Weight		row;

	row.w = prior * (td * d);
	row.r = prior * gr_residual(y, full >= 0.0 ? d : td, full >= 0.0 ? td : d);
	row.margin = gr_margin(full, y);
	/* shares and weights leave no product of (1 + t), so each row's deviance is computed by itself */
	row.t = 0.0;
	if (y == 0.0 || y == 1.0)
		row.miss = prior * (log1p(t) + (row.margin >= 0.0 ? 0.0 : -row.margin));
	else
		row.miss = gr_logistic_row(full, y, prior).half_deviance;
	return row;
}

/* Returns the weight of the row of response. eta: the linear predictor without the offset. ROLES: see columns_of(). */
template <bool ROLES>
static __device__ inline Weight
weigh_row(double eta, const double *response, GrRowShape shape, GrDistribution distribution)
{
	if constexpr (ROLES)
		return weigh_with(eta, response, shape, distribution);
	else
		return weigh_row(eta, response[0]);
}

/*
 * Returns the numbers of a row. ROLES: rows may have a weight or an offset, and any distribution. Each kernel is
 * compiled with and without ROLES, so that plain rows of a logistic regression pay nothing for these.
 */
template <bool ROLES>
static __device__ inline int
columns_of(GrRowShape shape)
{
	return ROLES ? gr_row_ncols(shape) : gr_nterms(shape.nfeatures);
}

/* Returns gr_margin_of(), or the margin of a plain row. */
template <bool ROLES>
static __device__ inline double
margin_of(GrDistribution distribution, double eta, double y)
{
	return ROLES ? gr_margin_of(distribution, eta, y) : y == 1.0 ? eta : -eta;
}

/* True if rows need the version of a kernel with ROLES. */
static inline bool
has_roles(GrRowShape shape, GrDistribution distribution)
{
	return shape.weight || shape.offset || shape.key || !gr_is_logistic(distribution);
}

#endif							/* GPUREG_GLM_DEVICE_CUH */
