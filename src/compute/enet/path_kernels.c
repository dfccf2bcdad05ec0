/*
 * path_kernels.c: what elastic nets do to rows of matrices, for several instruction sets; see path_kernels.h.
 */
#include "compute/enet/path_kernels.h"

#include "compute/base/dd.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

#define NAME(f) f##_avx512
#define TARGET __attribute__((target("avx512f,fma")))
#define W 8
#define V __m512d
#define V_ZERO() _mm512_setzero_pd()
#define V_SET1(x) _mm512_set1_pd(x)
#define V_LOAD(p) _mm512_loadu_pd(p)
#define V_STORE(p, v) _mm512_storeu_pd(p, v)
#define V_ADD(a, b) _mm512_add_pd(a, b)
#define V_SUB(a, b) _mm512_sub_pd(a, b)
#define V_MUL(a, b) _mm512_mul_pd(a, b)
#define V_FMA(a, b, c) _mm512_fmadd_pd(a, b, c)
#define V_FMS(a, b, c) _mm512_fmsub_pd(a, b, c)
#include "compute/enet/path_cpu.h"

#define NAME(f) f##_avx2
#define TARGET __attribute__((target("avx2,fma")))
#define W 4
#define V __m256d
#define V_ZERO() _mm256_setzero_pd()
#define V_SET1(x) _mm256_set1_pd(x)
#define V_LOAD(p) _mm256_loadu_pd(p)
#define V_STORE(p, v) _mm256_storeu_pd(p, v)
#define V_ADD(a, b) _mm256_add_pd(a, b)
#define V_SUB(a, b) _mm256_sub_pd(a, b)
#define V_MUL(a, b) _mm256_mul_pd(a, b)
#define V_FMA(a, b, c) _mm256_fmadd_pd(a, b, c)
#define V_FMS(a, b, c) _mm256_fmsub_pd(a, b, c)
#include "compute/enet/path_cpu.h"
#endif

#define NAME(f) f##_plain
#define TARGET
#define W 1
#define V double
#define V_ZERO() 0.0
#define V_SET1(x) (x)
#define V_LOAD(p) (*(p))
#define V_STORE(p, v) (*(p) = (v))
#define V_ADD(a, b) ((a) + (b))
#define V_SUB(a, b) ((a) - (b))
#define V_MUL(a, b) ((a) * (b))
#define V_FMA(a, b, c) gr_fma(a, b, c)
#define V_FMS(a, b, c) gr_fma(a, b, -(c))
#include "compute/enet/path_cpu.h"

const GrPathKernels *
gr_path_kernels(int max_lanes)
{
	static const GrPathKernels plain = {dots_plain, subtract_plain, subtract_symmetric_plain};
#if defined(__x86_64__) && defined(__GNUC__)
	static const GrPathKernels avx512 = {dots_avx512, subtract_avx512, subtract_symmetric_avx512};
	static const GrPathKernels avx2 = {dots_avx2, subtract_avx2, subtract_symmetric_avx2};

	if (max_lanes >= 8 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("fma"))
		return &avx512;
	if (max_lanes >= 4 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		return &avx2;
#endif
	(void) max_lanes;
	return &plain;
}
