/*
 * simd.h: compiles a kernel, written once, for every vector width that a processor may have. First used by the CPU
 * backend's kernels (kernels_cpu.c).
 *
 * A file with kernels is a template, written in the vocabulary of simd_target.h. Its module defines SIMD_TEMPLATE, the
 * template's name, and includes this header once per template:
 *
 *	 #define SIMD_TEMPLATE "compute/resample/wild_cpu.h"
 *	 #include "compute/base/simd.h"
 *
 * The template is compiled for AVX-512 (8 lanes of float8), AVX2 with FMA (4), NEON (2) and one lane, as far as the
 * processor's family has them. Each compilation ends in a constant table of its functions, NAME(table). SIMD_CHOOSE()
 * picks the table for the processor that runs.
 *
 * A template decides whether its results depend on the lanes. Nearly all give the same bits on every target, because a
 * sum has a fixed number of partial sums, or because lanes are separate problems. The exceptions are the float8 passes
 * of step_cpu.h, which have one partial sum per lane, and the sums of boot_cpu.h on a processor without fused
 * operations.
 */
#ifndef GPUREG_SIMD_H
#define GPUREG_SIMD_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "compute/base/dd.h"

#define SIMD_PLAIN 1
#define SIMD_NEON 2
#define SIMD_AVX2 3
#define SIMD_AVX512 4

/* SIMD_CHOOSE(table, max_lanes): address of the widest table of at most max_lanes lanes that this processor can run */
#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

#define SIMD_CHOOSE(table, max_lanes) \
	((max_lanes) >= 8 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("fma") ? &table##_avx512 : \
	 (max_lanes) >= 4 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? &table##_avx2 : \
	 &table##_plain)

/* MASK_N(n) of simd_target.h loads four entries, from index 4 - n on. */
static const int64_t gr_lane_masks[8] = {-1, -1, -1, -1, 0, 0, 0, 0};

static inline __attribute__((target("avx2"))) double
gr_sum_avx2(__m256d v)
{
	__m128d		pair = _mm_add_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd(v, 1));

	return _mm_cvtsd_f64(_mm_add_sd(pair, _mm_unpackhi_pd(pair, pair)));
}

/*
 * Writes four values of each of four rows, minus their shifts, into four columns. Rows are ncols values apart, columns
 * pitch values.
 */
static inline __attribute__((target("avx2"))) void
gr_transpose_avx2(double *to, size_t pitch, const double *from, size_t ncols, const double *shift)
{
	__m256d		s = _mm256_loadu_pd(shift);
	__m256d		r0 = _mm256_sub_pd(_mm256_loadu_pd(from), s);
	__m256d		r1 = _mm256_sub_pd(_mm256_loadu_pd(from + ncols), s);
	__m256d		r2 = _mm256_sub_pd(_mm256_loadu_pd(from + 2 * ncols), s);
	__m256d		r3 = _mm256_sub_pd(_mm256_loadu_pd(from + 3 * ncols), s);
	__m256d		lo01 = _mm256_unpacklo_pd(r0, r1);
	__m256d		hi01 = _mm256_unpackhi_pd(r0, r1);
	__m256d		lo23 = _mm256_unpacklo_pd(r2, r3);
	__m256d		hi23 = _mm256_unpackhi_pd(r2, r3);

	_mm256_storeu_pd(to, _mm256_permute2f128_pd(lo01, lo23, 0x20));
	_mm256_storeu_pd(to + pitch, _mm256_permute2f128_pd(hi01, hi23, 0x20));
	_mm256_storeu_pd(to + 2 * pitch, _mm256_permute2f128_pd(lo01, lo23, 0x31));
	_mm256_storeu_pd(to + 3 * pitch, _mm256_permute2f128_pd(hi01, hi23, 0x31));
}
#elif defined(__aarch64__) && defined(__GNUC__)
#include <arm_neon.h>

#define SIMD_CHOOSE(table, max_lanes) ((max_lanes) >= 2 ? &table##_neon : &table##_plain)

/*
 * Writes two values of each of two rows, minus their shifts, into two columns. Rows are ncols values apart, columns
 * pitch values.
 */
static inline void
gr_transpose_neon(double *to, size_t pitch, const double *from, size_t ncols, const double *shift)
{
	float64x2_t s = vld1q_f64(shift);
	float64x2_t r0 = vsubq_f64(vld1q_f64(from), s);
	float64x2_t r1 = vsubq_f64(vld1q_f64(from + ncols), s);

	vst1q_f64(to, vzip1q_f64(r0, r1));
	vst1q_f64(to + pitch, vzip2q_f64(r0, r1));
}
#else
#define SIMD_CHOOSE(table, max_lanes) ((void) (max_lanes), &table##_plain)
#endif

static inline double
gr_shift_to_exponent(double v)
{
	uint64_t	bits;

	memcpy(&bits, &v, sizeof(bits));
	bits <<= 52;
	memcpy(&v, &bits, sizeof(bits));
	return v;
}

static inline double
gr_flip(double v, unsigned flip)
{
	uint64_t	bits;

	memcpy(&bits, &v, sizeof(bits));
	bits ^= (uint64_t) flip << 63;
	memcpy(&v, &bits, sizeof(bits));
	return v;
}

static inline double
gr_exponent_of(double v)
{
	uint64_t	bits;

	memcpy(&bits, &v, sizeof(bits));
	return (double) (bits >> 52) - 1023.0;
}

static inline void
gr_transpose_plain(double *to, size_t pitch, const double *from, size_t ncols, const double *shift)
{
	(void) pitch;
	(void) ncols;
	*to = *from - *shift;
}

#endif							/* GPUREG_SIMD_H */

#ifdef SIMD_TEMPLATE

#if defined(__x86_64__) && defined(__GNUC__)
#define SIMD_TARGET SIMD_AVX512
#include "compute/base/simd_target.h"
#include SIMD_TEMPLATE
#undef SIMD_TARGET
#define SIMD_TARGET SIMD_AVX2
#include "compute/base/simd_target.h"
#include SIMD_TEMPLATE
#undef SIMD_TARGET
#elif defined(__aarch64__) && defined(__GNUC__)
#define SIMD_TARGET SIMD_NEON
#include "compute/base/simd_target.h"
#include SIMD_TEMPLATE
#undef SIMD_TARGET
#endif

#define SIMD_TARGET SIMD_PLAIN
#include "compute/base/simd_target.h"
#include SIMD_TEMPLATE
#undef SIMD_TARGET
#include "compute/base/simd_target.h"
#undef SIMD_TEMPLATE

#endif							/* SIMD_TEMPLATE */
