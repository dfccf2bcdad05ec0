/*
 * simd_target.h: defines the vocabulary of vector operations for one target, SIMD_TARGET, and undefines that of the
 * target before. Only simd.h includes it. Without SIMD_TARGET it only undefines.
 *
 *	 NAME(f)                             name of function f for the target
 *	 TARGET                              attribute of the target's functions, or nothing
 *	 V_LANES                             lanes of a vector: 8, 4, 2 or 1
 *	 V, U                                vectors of float8, of unsigned 64-bit integers
 *
 * Arithmetic is IEEE's, lane by lane, so bits do not depend on the target. The exceptions are V_MLA(), V_SUM() and
 * V_IF_NEGATIVE(), as noted there.
 *
 *	 V_ZERO() V_SET1(s)                  all lanes 0, all lanes s
 *	 V_LOAD(p) V_STORE(p, v)             from and to memory, aligned or not
 *	 V_LOAD_N(p, n) V_STORE_N(p, v, n)   the first n lanes only, 1 <= n <= V_LANES
 *	 V_LOAD_FLOAT4(p)                    V_LANES float4, converted to float8
 *	 V_ADD(a, b) V_SUB(a, b) V_MUL(a, b) V_DIV(a, b) V_SQRT(a) V_ABS(a)
 *	 V_FMA(a, b, c) V_FMS(a, b, c)       a b + c, a b - c, rounded once
 *	 V_MLA(a, b, c)                      a b + c, rounded once or twice, whichever is faster on the target
 *	 V_DIFF(a, b, one)                   a - b, as a fused operation with one, a vector of 1, where that may be faster
 *	 V_SUM(a)                            sum of all lanes, in an order that depends on the target
 *	 V_MIN(a, b) V_MAX(a, b)             b where a or b is not a number
 *	 V_IF_NEGATIVE(m, a, b)              a where m < 0, b where m > 0, either where m = 0
 *	 V_FILL_N(v, n, fill)                first n lanes from v, the other lanes from fill
 *	 V_COUNT_ABOVE(a, b)                 number of lanes with a > b
 *	 V_BITS_ABOVE(a, b)                  bit l is 1 if a > b in lane l
 *	 V_SWAP1(v) V_SWAP2(v) V_SWAP4(v)    exchanges lanes l and l XOR 1, 2, 4; v if there are not so many lanes
 *	 V_FLIP(v, bits)                     -v in each lane l where bit l of bits, an unsigned, is 1; else v
 *	 V_SHIFT_TO_EXPONENT(v)              bits of v, shifted left by 52
 *	 V_EXPONENT(v)                       exponent of v > 0, the largest integer k with 2^k <= v; v is normal
 *	 V_HOLD(v)                           keeps v in a register, so that v is not loaded again at every use
 *	 V_BLOCK                             rows and columns that V_TRANSPOSE() moves
 *	 V_TRANSPOSE(to, pitch, from, ncols, shift)   V_BLOCK rows of V_BLOCK values, minus their shift, into columns
 *
 *	 U_SET1(x) U_LOAD(p) U_STORE(p, u) U_XOR(a, b)
 *	 U_HIGH(a) U_LOW(a)                  upper, lower 32 bits of each lane
 *	 U_MUL(a, b)                         products of the lanes' lower 32 bits
 *	 U_COUNT(c, a, m)                    c + 1 where a >= m, else c; a < 2^63, 0 < m < 2^63
 *	 U_ANY(a, m)                         true if any lane of a is >= m; a < 2^63, 0 < m < 2^63
 *	 U_FLOAT(c)                          integers below 2^52 as float8
 */
#undef NAME
#undef TARGET
#undef V_LANES
#undef V
#undef U
#undef V_ZERO
#undef V_SET1
#undef V_LOAD
#undef V_STORE
#undef V_LOAD_N
#undef V_STORE_N
#undef V_LOAD_FLOAT4
#undef V_ADD
#undef V_SUB
#undef V_MUL
#undef V_DIV
#undef V_SQRT
#undef V_ABS
#undef V_FMA
#undef V_FMS
#undef V_MLA
#undef V_DIFF
#undef V_SUM
#undef V_MIN
#undef V_MAX
#undef V_IF_NEGATIVE
#undef V_FILL_N
#undef V_COUNT_ABOVE
#undef V_BITS_ABOVE
#undef V_SWAP1
#undef V_SWAP2
#undef V_SWAP4
#undef V_FLIP
#undef V_SHIFT_TO_EXPONENT
#undef V_EXPONENT
#undef V_HOLD
#undef V_BLOCK
#undef V_TRANSPOSE
#undef U_SET1
#undef U_LOAD
#undef U_STORE
#undef U_XOR
#undef U_HIGH
#undef U_LOW
#undef U_MUL
#undef U_COUNT
#undef U_ANY
#undef U_FLOAT
#undef MASK_N

#ifdef SIMD_TARGET

#if SIMD_TARGET == SIMD_AVX512
#define NAME(f) f##_avx512
#define TARGET __attribute__((target("avx512f,fma,popcnt")))
#define V_LANES 8
#define V __m512d
#define U __m512i
#define MASK_N(n) ((__mmask8) ((1 << (n)) - 1))
#define V_ZERO() _mm512_setzero_pd()
#define V_SET1(s) _mm512_set1_pd(s)
#define V_LOAD(p) _mm512_loadu_pd(p)
#define V_STORE(p, v) _mm512_storeu_pd(p, v)
#define V_LOAD_N(p, n) _mm512_maskz_loadu_pd(MASK_N(n), p)
#define V_STORE_N(p, v, n) _mm512_mask_storeu_pd(p, MASK_N(n), v)
#define V_LOAD_FLOAT4(p) _mm512_cvtps_pd(_mm256_loadu_ps(p))
#define V_ADD(a, b) _mm512_add_pd(a, b)
#define V_SUB(a, b) _mm512_sub_pd(a, b)
#define V_MUL(a, b) _mm512_mul_pd(a, b)
#define V_DIV(a, b) _mm512_div_pd(a, b)
#define V_SQRT(a) _mm512_sqrt_pd(a)
#define V_ABS(a) _mm512_abs_pd(a)
#define V_FMA(a, b, c) _mm512_fmadd_pd(a, b, c)
#define V_FMS(a, b, c) _mm512_fmsub_pd(a, b, c)
#define V_MLA(a, b, c) _mm512_fmadd_pd(a, b, c)
#define V_DIFF(a, b, one) V_FMS(a, one, b)
#define V_SUM(a) _mm512_reduce_add_pd(a)
#define V_MIN(a, b) _mm512_min_pd(a, b)
#define V_MAX(a, b) _mm512_max_pd(a, b)
#define V_IF_NEGATIVE(m, a, b) _mm512_mask_blend_pd(_mm512_cmp_pd_mask(m, _mm512_setzero_pd(), _CMP_LT_OQ), b, a)
#define V_FILL_N(v, n, fill) _mm512_mask_blend_pd(MASK_N(n), fill, v)
#define V_COUNT_ABOVE(a, b) __builtin_popcount(_mm512_cmp_pd_mask(a, b, _CMP_GT_OQ))
#define V_BITS_ABOVE(a, b) ((unsigned) _mm512_cmp_pd_mask(a, b, _CMP_GT_OQ))
#define V_SWAP1(v) _mm512_permute_pd(v, 0x55)
#define V_SWAP2(v) _mm512_permutex_pd(v, 0x4E)
#define V_SWAP4(v) _mm512_shuffle_f64x2(v, v, 0x4E)
#define V_FLIP(v, bits) \
	_mm512_castsi512_pd(_mm512_mask_xor_epi64(_mm512_castpd_si512(v), (__mmask8) (bits), _mm512_castpd_si512(v), \
											  U_SET1(INT64_MIN)))
#define V_SHIFT_TO_EXPONENT(v) _mm512_castsi512_pd(_mm512_slli_epi64(_mm512_castpd_si512(v), 52))
#define V_EXPONENT(v) \
	_mm512_sub_pd(U_FLOAT(_mm512_srli_epi64(_mm512_castpd_si512(v), 52)), _mm512_set1_pd(1023.0))
#define V_HOLD(v) __asm__("" : "+v" (v))
#define V_BLOCK 4
#define V_TRANSPOSE gr_transpose_avx2
#define U_SET1(x) _mm512_set1_epi64((long long) (x))
#define U_LOAD(p) _mm512_loadu_si512(p)
#define U_STORE(p, u) _mm512_storeu_si512(p, u)
#define U_XOR(a, b) _mm512_xor_si512(a, b)
#define U_HIGH(a) _mm512_srli_epi64(a, 32)
#define U_LOW(a) _mm512_and_si512(a, _mm512_set1_epi64(0xFFFFFFFF))
#define U_MUL(a, b) _mm512_mul_epu32(a, b)
#define U_COUNT(c, a, m) _mm512_mask_add_epi64(c, _mm512_cmpge_epu64_mask(a, U_SET1(m)), c, _mm512_set1_epi64(1))
#define U_ANY(a, m) (_mm512_cmpge_epu64_mask(a, U_SET1(m)) != 0)
#define U_FLOAT(c) \
	_mm512_sub_pd(_mm512_castsi512_pd(_mm512_or_si512(c, U_SET1(0x4330000000000000))), _mm512_set1_pd(0x1p52))

#elif SIMD_TARGET == SIMD_AVX2
#define NAME(f) f##_avx2
#define TARGET __attribute__((target("avx2,fma,popcnt")))
#define V_LANES 4
#define V __m256d
#define U __m256i
#define MASK_N(n) _mm256_loadu_si256((const __m256i *) (gr_lane_masks + 4 - (n)))
#define V_ZERO() _mm256_setzero_pd()
#define V_SET1(s) _mm256_set1_pd(s)
#define V_LOAD(p) _mm256_loadu_pd(p)
#define V_STORE(p, v) _mm256_storeu_pd(p, v)
#define V_LOAD_N(p, n) _mm256_maskload_pd(p, MASK_N(n))
#define V_STORE_N(p, v, n) _mm256_maskstore_pd(p, MASK_N(n), v)
#define V_LOAD_FLOAT4(p) _mm256_cvtps_pd(_mm_loadu_ps(p))
#define V_ADD(a, b) _mm256_add_pd(a, b)
#define V_SUB(a, b) _mm256_sub_pd(a, b)
#define V_MUL(a, b) _mm256_mul_pd(a, b)
#define V_DIV(a, b) _mm256_div_pd(a, b)
#define V_SQRT(a) _mm256_sqrt_pd(a)
#define V_ABS(a) _mm256_andnot_pd(_mm256_set1_pd(-0.0), a)
#define V_FMA(a, b, c) _mm256_fmadd_pd(a, b, c)
#define V_FMS(a, b, c) _mm256_fmsub_pd(a, b, c)
#define V_MLA(a, b, c) _mm256_fmadd_pd(a, b, c)
#define V_DIFF(a, b, one) V_FMS(a, one, b)
#define V_SUM(a) gr_sum_avx2(a)
#define V_MIN(a, b) _mm256_min_pd(a, b)
#define V_MAX(a, b) _mm256_max_pd(a, b)
#define V_IF_NEGATIVE(m, a, b) _mm256_blendv_pd(b, a, m)
#define V_FILL_N(v, n, fill) _mm256_blendv_pd(fill, v, _mm256_castsi256_pd(MASK_N(n)))
#define V_COUNT_ABOVE(a, b) __builtin_popcount((unsigned) _mm256_movemask_pd(_mm256_cmp_pd(a, b, _CMP_GT_OQ)))
#define V_BITS_ABOVE(a, b) ((unsigned) _mm256_movemask_pd(_mm256_cmp_pd(a, b, _CMP_GT_OQ)))
#define V_SWAP1(v) _mm256_permute_pd(v, 0x5)
#define V_SWAP2(v) _mm256_permute2f128_pd(v, v, 0x1)
#define V_SWAP4(v) (v)
#define V_FLIP(v, bits) \
	_mm256_xor_pd(v, _mm256_and_pd(_mm256_set1_pd(-0.0), _mm256_castsi256_pd(\
		_mm256_sllv_epi64(_mm256_set1_epi64x((long long) (bits)), _mm256_set_epi64x(60, 61, 62, 63)))))
#define V_SHIFT_TO_EXPONENT(v) _mm256_castsi256_pd(_mm256_slli_epi64(_mm256_castpd_si256(v), 52))
#define V_EXPONENT(v) \
	_mm256_sub_pd(U_FLOAT(_mm256_srli_epi64(_mm256_castpd_si256(v), 52)), _mm256_set1_pd(1023.0))
#define V_HOLD(v) __asm__("" : "+x" (v))
#define V_BLOCK 4
#define V_TRANSPOSE gr_transpose_avx2
#define U_SET1(x) _mm256_set1_epi64x((long long) (x))
#define U_LOAD(p) _mm256_loadu_si256((const __m256i *) (p))
#define U_STORE(p, u) _mm256_storeu_si256((__m256i *) (p), u)
#define U_XOR(a, b) _mm256_xor_si256(a, b)
#define U_HIGH(a) _mm256_srli_epi64(a, 32)
#define U_LOW(a) _mm256_and_si256(a, _mm256_set1_epi64x(0xFFFFFFFF))
#define U_MUL(a, b) _mm256_mul_epu32(a, b)
#define U_COUNT(c, a, m) _mm256_sub_epi64(c, _mm256_cmpgt_epi64(a, U_SET1((m) - 1)))
#define U_ANY(a, m) (_mm256_movemask_epi8(_mm256_cmpgt_epi64(a, U_SET1((m) - 1))) != 0)
#define U_FLOAT(c) \
	_mm256_sub_pd(_mm256_castsi256_pd(_mm256_or_si256(c, U_SET1(0x4330000000000000))), _mm256_set1_pd(0x1p52))

#elif SIMD_TARGET == SIMD_NEON
#define NAME(f) f##_neon
#define TARGET
#define V_LANES 2
#define V float64x2_t
#define U uint64x2_t
#define V_ZERO() vdupq_n_f64(0.0)
#define V_SET1(s) vdupq_n_f64(s)
#define V_LOAD(p) vld1q_f64(p)
#define V_STORE(p, v) vst1q_f64(p, v)
#define V_LOAD_N(p, n) ((n) > 1 ? vld1q_f64(p) : vld1q_lane_f64(p, vdupq_n_f64(0.0), 0))
#define V_STORE_N(p, v, n) ((n) > 1 ? vst1q_f64(p, v) : vst1q_lane_f64(p, v, 0))
#define V_LOAD_FLOAT4(p) vcvt_f64_f32(vld1_f32(p))
#define V_ADD(a, b) vaddq_f64(a, b)
#define V_SUB(a, b) vsubq_f64(a, b)
#define V_MUL(a, b) vmulq_f64(a, b)
#define V_DIV(a, b) vdivq_f64(a, b)
#define V_SQRT(a) vsqrtq_f64(a)
#define V_ABS(a) vabsq_f64(a)
#define V_FMA(a, b, c) vfmaq_f64(c, a, b)
#define V_FMS(a, b, c) vfmaq_f64(vnegq_f64(c), a, b)
#define V_MLA(a, b, c) vfmaq_f64(c, a, b)
#define V_DIFF(a, b, one) ((void) (one), V_SUB(a, b))
#define V_SUM(a) vaddvq_f64(a)
#define V_MIN(a, b) vbslq_f64(vcltq_f64(a, b), a, b)
#define V_MAX(a, b) vbslq_f64(vcgtq_f64(a, b), a, b)
#define V_IF_NEGATIVE(m, a, b) vbslq_f64(vcltzq_f64(m), a, b)
#define V_FILL_N(v, n, fill) ((n) > 1 ? (v) : vcombine_f64(vget_low_f64(v), vget_high_f64(fill)))
#define V_COUNT_ABOVE(a, b) ((int) vaddvq_u64(vshrq_n_u64(vcgtq_f64(a, b), 63)))
#define V_BITS_ABOVE(a, b) ((unsigned) vaddvq_u64(vandq_u64(vcgtq_f64(a, b), (uint64x2_t) {1, 2})))
#define V_SWAP1(v) vextq_f64(v, v, 1)
#define V_SWAP2(v) (v)
#define V_SWAP4(v) (v)
#define V_FLIP(v, bits) \
	vreinterpretq_f64_u64(veorq_u64(vreinterpretq_u64_f64(v), vandq_u64(vdupq_n_u64(UINT64_C(1) << 63), \
		vshlq_u64(vdupq_n_u64(bits), (int64x2_t) {63, 62}))))
#define V_SHIFT_TO_EXPONENT(v) vreinterpretq_f64_u64(vshlq_n_u64(vreinterpretq_u64_f64(v), 52))
#define V_EXPONENT(v) vsubq_f64(vcvtq_f64_u64(vshrq_n_u64(vreinterpretq_u64_f64(v), 52)), vdupq_n_f64(1023.0))
#define V_HOLD(v) __asm__("" : "+w" (v))
#define V_BLOCK 2
#define V_TRANSPOSE gr_transpose_neon
#define U_SET1(x) vdupq_n_u64(x)
#define U_LOAD(p) vld1q_u64(p)
#define U_STORE(p, u) vst1q_u64(p, u)
#define U_XOR(a, b) veorq_u64(a, b)
#define U_HIGH(a) vshrq_n_u64(a, 32)
#define U_LOW(a) vandq_u64(a, vdupq_n_u64(0xFFFFFFFF))
#define U_MUL(a, b) vmull_u32(vmovn_u64(a), vmovn_u64(b))
#define U_COUNT(c, a, m) vsubq_u64(c, vcgeq_u64(a, vdupq_n_u64(m)))
#define U_ANY(a, m) (vaddvq_u64(vshrq_n_u64(vcgeq_u64(a, vdupq_n_u64(m)), 63)) != 0)
#define U_FLOAT(c) vcvtq_f64_u64(c)

#else
#define NAME(f) f##_plain
#define TARGET
#define V_LANES 1
#define V double
#define U uint64_t
#define V_ZERO() 0.0
#define V_SET1(s) (s)
#define V_LOAD(p) (*(p))
#define V_STORE(p, v) (*(p) = (v))
#define V_LOAD_N(p, n) (*(p))
#define V_STORE_N(p, v, n) (*(p) = (v))
#define V_LOAD_FLOAT4(p) ((double) *(p))
#define V_ADD(a, b) ((a) + (b))
#define V_SUB(a, b) ((a) - (b))
#define V_MUL(a, b) ((a) * (b))
#define V_DIV(a, b) ((a) / (b))
#define V_SQRT(a) sqrt(a)
#define V_ABS(a) fabs(a)
#define V_FMA(a, b, c) gr_fma(a, b, c)
#define V_FMS(a, b, c) gr_fma(a, b, -(c))
#ifdef __FP_FAST_FMA
#define V_MLA(a, b, c) gr_fma(a, b, c)
#else
#define V_MLA(a, b, c) ((a) * (b) + (c))
#endif
#define V_DIFF(a, b, one) ((void) (one), V_SUB(a, b))
#define V_SUM(a) (a)
#define V_MIN(a, b) ((a) < (b) ? (a) : (b))
#define V_MAX(a, b) ((a) > (b) ? (a) : (b))
#define V_IF_NEGATIVE(m, a, b) ((m) < 0.0 ? (a) : (b))
#define V_FILL_N(v, n, fill) (v)
#define V_COUNT_ABOVE(a, b) ((a) > (b) ? 1 : 0)
#define V_BITS_ABOVE(a, b) ((a) > (b) ? 1U : 0U)
#define V_SWAP1(v) (v)
#define V_SWAP2(v) (v)
#define V_SWAP4(v) (v)
#define V_FLIP(v, bits) gr_flip(v, bits)
#define V_SHIFT_TO_EXPONENT(v) gr_shift_to_exponent(v)
#define V_EXPONENT(v) gr_exponent_of(v)
#define V_HOLD(v) ((void) 0)
#define V_BLOCK 1
#define V_TRANSPOSE gr_transpose_plain
#define U_SET1(x) ((uint64_t) (x))
#define U_LOAD(p) (*(p))
#define U_STORE(p, u) (*(p) = (u))
#define U_XOR(a, b) ((a) ^ (b))
#define U_HIGH(a) ((a) >> 32)
#define U_LOW(a) ((a) & UINT64_C(0xFFFFFFFF))
#define U_MUL(a, b) (U_LOW(a) * U_LOW(b))
#define U_COUNT(c, a, m) ((c) + ((a) >= (m) ? 1 : 0))
#define U_ANY(a, m) ((a) >= (m))
#define U_FLOAT(c) ((double) (c))
#endif
#endif							/* SIMD_TARGET */
