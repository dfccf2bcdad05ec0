/*
 * kernels_cpu.c: the CPU's kernels: the Gram matrix and the dot product in double-double, what the passes of glm.h do
 * to rows, and random projection of a vector and of a batch.
 *
 * They are compiled for AVX-512, for AVX2 and for anything else. Those in double-double and the projection give the
 * same bits on all, since they do the same IEEE operations in the same order for each entry.
 */
#include "compute/base/dd_dot.h"

#include <math.h>
#include <string.h>

#include "compute/base/dd.h"
#include "compute/glm/glm_row.h"
#include "compute/glm/step_cpu.h"
#include "compute/linalg/gram_shift.h"
#include "compute/project/project_cpu.h"

/* rows of one kernel call; see kernels_cpu.h on why it is bounded */
#define CHUNK_NROWS 64
#define MAX_LANES 8
#define DOT_LANES 8

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

/* Four rows' four values, less their shift, into four columns. */
static inline __attribute__((target("avx2"))) void
transpose_4x4(double *to, size_t pitch, const double *from, size_t ncols, const double *shift)
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

static inline __attribute__((target("avx2"))) double
sum_4(__m256d v)
{
	__m128d		pair = _mm_add_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd(v, 1));

	return _mm_cvtsd_f64(_mm_add_sd(pair, _mm_unpackhi_pd(pair, pair)));
}

#define PACK pack_avx512
#define WEIGH weigh_panels_avx512
#define KERNEL gram_avx512
#define KERNEL_WEIGHTED gram_weighted_avx512
#define DOT dot_avx512
#define NAME(f) f##_avx512
#define TARGET __attribute__((target("avx512f")))
#define W 8
#define V __m512d
#define V_ZERO() _mm512_setzero_pd()
#define V_SET1(s) _mm512_set1_pd(s)
#define V_LOAD(p) _mm512_loadu_pd(p)
#define V_STORE(p, v) _mm512_storeu_pd(p, v)
#define V_ADD(a, b) _mm512_add_pd(a, b)
#define V_SUB(a, b) _mm512_sub_pd(a, b)
#define V_MUL(a, b) _mm512_mul_pd(a, b)
#define V_ABS(a) _mm512_abs_pd(a)
#define V_FMA(a, b, c) _mm512_fmadd_pd(a, b, c)
#define V_FMS(a, b, c) _mm512_fmsub_pd(a, b, c)
#define V_LOAD_N(p, n) _mm512_maskz_loadu_pd((__mmask8) ((1 << (n)) - 1), p)
#define V_STORE_N(p, v, n) _mm512_mask_storeu_pd(p, (__mmask8) ((1 << (n)) - 1), v)
#define V_MLA(a, b, c) _mm512_fmadd_pd(a, b, c)
#define V_LOAD_FLOAT4(p) _mm512_cvtps_pd(_mm256_loadu_ps(p))
#define V_HOLD(v) __asm__("" : "+v" (v))
#define V_DIV(a, b) _mm512_div_pd(a, b)
#define V_SQRT(a) _mm512_sqrt_pd(a)
#define V_SUM(a) _mm512_reduce_add_pd(a)
#define V_MIN(a, b) _mm512_min_pd(a, b)
#define V_MAX(a, b) _mm512_max_pd(a, b)
#define V_IF_NEGATIVE(m, a, b) _mm512_mask_blend_pd(_mm512_cmp_pd_mask(m, _mm512_setzero_pd(), _CMP_LT_OQ), b, a)
#define V_FILL_N(v, n, fill) _mm512_mask_blend_pd((__mmask8) ((1 << (n)) - 1), fill, v)
#define V_SHIFT_TO_EXPONENT(v) _mm512_castsi512_pd(_mm512_slli_epi64(_mm512_castpd_si512(v), 52))
#include "compute/backend/kernels_cpu.h"

static const int64_t lane_masks[8] = {-1, -1, -1, -1, 0, 0, 0, 0};

#define MASK_N(n) _mm256_loadu_si256((const __m256i *) (lane_masks + 4 - (n)))
#define PACK pack_avx2
#define WEIGH weigh_panels_avx2
#define KERNEL gram_avx2
#define KERNEL_WEIGHTED gram_weighted_avx2
#define DOT dot_avx2
#define NAME(f) f##_avx2
#define TARGET __attribute__((target("avx2,fma")))
#define W 4
#define V __m256d
#define V_ZERO() _mm256_setzero_pd()
#define V_SET1(s) _mm256_set1_pd(s)
#define V_LOAD(p) _mm256_loadu_pd(p)
#define V_STORE(p, v) _mm256_storeu_pd(p, v)
#define V_ADD(a, b) _mm256_add_pd(a, b)
#define V_SUB(a, b) _mm256_sub_pd(a, b)
#define V_MUL(a, b) _mm256_mul_pd(a, b)
#define V_ABS(a) _mm256_andnot_pd(_mm256_set1_pd(-0.0), a)
#define V_FMA(a, b, c) _mm256_fmadd_pd(a, b, c)
#define V_FMS(a, b, c) _mm256_fmsub_pd(a, b, c)
#define V_LOAD_N(p, n) _mm256_maskload_pd(p, MASK_N(n))
#define V_STORE_N(p, v, n) _mm256_maskstore_pd(p, MASK_N(n), v)
#define V_MLA(a, b, c) _mm256_fmadd_pd(a, b, c)
#define V_LOAD_FLOAT4(p) _mm256_cvtps_pd(_mm_loadu_ps(p))
#define V_HOLD(v) __asm__("" : "+x" (v))
#define V_DIV(a, b) _mm256_div_pd(a, b)
#define V_SQRT(a) _mm256_sqrt_pd(a)
#define V_SUM(a) sum_4(a)
#define V_MIN(a, b) _mm256_min_pd(a, b)
#define V_MAX(a, b) _mm256_max_pd(a, b)
#define V_IF_NEGATIVE(m, a, b) _mm256_blendv_pd(b, a, m)
#define V_FILL_N(v, n, fill) _mm256_blendv_pd(fill, v, _mm256_castsi256_pd(MASK_N(n)))
#define V_SHIFT_TO_EXPONENT(v) _mm256_castsi256_pd(_mm256_slli_epi64(_mm256_castpd_si256(v), 52))
#include "compute/backend/kernels_cpu.h"
#undef MASK_N
#endif

static inline double
shift_to_exponent(double v)
{
	uint64_t	bits;

	memcpy(&bits, &v, sizeof(bits));
	bits <<= 52;
	memcpy(&v, &bits, sizeof(bits));
	return v;
}

#define PACK pack_scalar
#define WEIGH weigh_panels_scalar
#define KERNEL gram_scalar
#define KERNEL_WEIGHTED gram_weighted_scalar
#define DOT dot_scalar
#define NAME(f) f##_scalar
#define TARGET
#define W 1
#define V double
#define V_ZERO() 0.0
#define V_SET1(s) (s)
#define V_LOAD(p) (*(p))
#define V_STORE(p, v) (*(p) = (v))
#define V_ADD(a, b) ((a) + (b))
#define V_SUB(a, b) ((a) - (b))
#define V_MUL(a, b) ((a) * (b))
#define V_ABS(a) fabs(a)
#define V_FMA(a, b, c) gr_fma(a, b, c)
#define V_FMS(a, b, c) gr_fma(a, b, -(c))
#define V_LOAD_N(p, n) (*(p))
#define V_STORE_N(p, v, n) (*(p) = (v))
#ifdef __FP_FAST_FMA
#define V_MLA(a, b, c) gr_fma(a, b, c)
#else
#define V_MLA(a, b, c) ((a) * (b) + (c))
#endif
#define V_LOAD_FLOAT4(p) ((double) *(p))
#define V_HOLD(v) ((void) 0)
#define V_DIV(a, b) ((a) / (b))
#define V_SQRT(a) sqrt(a)
#define V_SUM(a) (a)
#define V_MIN(a, b) ((a) < (b) ? (a) : (b))
#define V_MAX(a, b) ((a) > (b) ? (a) : (b))
#define V_IF_NEGATIVE(m, a, b) ((m) < 0.0 ? (a) : (b))
#define V_FILL_N(v, n, fill) (v)
#define V_SHIFT_TO_EXPONENT(v) shift_to_exponent(v)
#include "compute/backend/kernels_cpu.h"

typedef struct Version
{
	void		(*pack) (double *restrict panels, const double *restrict rows, int nrows, int ncols, int stride,
						 const double *restrict shift);
	void		(*weigh) (double *restrict whi, double *restrict wlo, const double *restrict panels, int nrows,
						  int npanels, const double *restrict weights, int stride);
	bool		(*exact) (const double *rows, int64_t nrows, int ncols, int stride, const double *shift);
	void		(*kernel) (double *restrict hi, double *restrict lo, const double *restrict panels, int nrows,
						   int first, int end, double opaque_one);
	void		(*kernel_weighted) (double *restrict hi, double *restrict lo, const double *restrict panels,
									const double *restrict whi, const double *restrict wlo, int nrows, int first,
									int end, double opaque_one);
	void		(*dot) (const double *ahi, const double *alo, const double *bhi, const double *blo, int64_t n,
						double *shi, double *slo, double *magnitudes);
	GrDD		(*minus_products) (GrDD sum, GrDDConstVector a, GrDDConstVector b, int64_t first, int64_t n,
								   double *magnitude);
	void		(*merge) (double *restrict hi, double *restrict lo, const double *restrict hi2,
						  const double *restrict lo2, int64_t n);
	const GrStepVersion *step;
	GrGather	gather;
} Version;

static const Version scalar_version = {
	pack_scalar, weigh_panels_scalar, exact_scalar, gram_scalar, gram_weighted_scalar, dot_scalar,
		minus_products_scalar, merge_scalar, &step_scalar, gather_scalar
};
#if defined(__x86_64__) && defined(__GNUC__)
static const Version avx2_version = {
	pack_avx2, weigh_panels_avx2, exact_avx2, gram_avx2, gram_weighted_avx2, dot_avx2, minus_products_avx2,
		merge_avx2, &step_avx2, gather_avx2
};
static const Version avx512_version = {
	pack_avx512, weigh_panels_avx512, exact_avx512, gram_avx512, gram_weighted_avx512, dot_avx512,
		minus_products_avx512, merge_avx512, &step_avx512, gather_avx512
};
#endif

/* The version for this processor with at most max_lanes. */
static const Version *
choose_version(int max_lanes)
{
#if defined(__x86_64__) && defined(__GNUC__)
	if (max_lanes >= 8 && __builtin_cpu_supports("avx512f"))
		return &avx512_version;
	if (max_lanes >= 4 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		return &avx2_version;
#else
	(void) max_lanes;
#endif
	return &scalar_version;
}

/*
 * Short triangles waste the lanes of long vectors: where these are worth two short ones, as on Intel's processors, they
 * pay from a few features on, elsewhere when strips are long.
 */
int
gr_gram_lanes(int nfeatures)
{
#if defined(__x86_64__) && defined(__GNUC__)
	if (__builtin_cpu_is("intel"))
		return nfeatures < 4 ? 4 : MAX_LANES;
#endif
	return nfeatures < 14 ? 4 : MAX_LANES;
}

const GrStepVersion *
gr_step_version(int max_lanes)
{
	return choose_version(max_lanes)->step;
}

GrGather
gr_gather_version(int max_lanes)
{
	return choose_version(max_lanes)->gather;
}

void
gr_gather_vector(double *total, const float *x, const uint32_t *entries, const uint32_t *starts, const uint32_t *ends,
				 int k)
{
	int32_t		i = 0;

	/* four rows at a time, for their sums don't wait for each other */
	for (; i + 4 <= k; i += 4)
	{
		const uint32_t *e[4];
		double		sums[4] = {0.0, 0.0, 0.0, 0.0};
		uint32_t	common = UINT32_MAX;

		for (int r = 0; r < 4; r++)
		{
			e[r] = entries + starts[i + r];
			if (ends[i + r] - starts[i + r] < common)
				common = ends[i + r] - starts[i + r];
		}
		for (uint32_t n = 0; n < common; n++)
		{
			sums[0] += x[e[0][n]];
			sums[1] += x[e[1][n]];
			sums[2] += x[e[2][n]];
			sums[3] += x[e[3][n]];
		}
		for (int r = 0; r < 4; r++)
		{
			for (const uint32_t *at = e[r] + common; at < entries + ends[i + r]; at++)
				sums[r] += x[*at];
			total[i + r] += sums[r];
		}
	}
	for (; i < k; i++)
	{
		double		sum = 0.0;

		for (uint32_t n = starts[i]; n < ends[i]; n++)
			sum += x[entries[n]];
		total[i] += sum;
	}
}

/* float8 of a chunk's panels, whatever the lanes */
static size_t
panels_size(GrRowShape shape)
{
	return ((size_t) gr_norder(shape.nfeatures) + MAX_LANES) * CHUNK_NROWS;
}

size_t
gr_gram_scratch_nbytes(GrRowShape shape)
{
	/* the panels, and for weighted rows two more sets */
	return (shape.weight ? 3 : 1) * panels_size(shape) * sizeof(double);
}

bool
gr_gram_add_polling(double *hi, double *lo, const double *rows, int64_t nrows, GrRowShape shape, const double *shift,
					double *scratch, int max_lanes, GrPoll *poll)
{
	static const volatile double opaque_one = 1.0;
	const Version *version = choose_version(max_lanes);
	int			stride = gr_row_ncols(shape);
	int			norder = gr_norder(shape.nfeatures);
	int			lanes = version->step->lanes;
	double	   *whi = scratch + panels_size(shape);
	double	   *wlo = whi + panels_size(shape);

	for (int64_t first = 0; first < nrows; first += CHUNK_NROWS)
	{
		const double *chunk = rows + first * stride;
		int			n = nrows - first < CHUNK_NROWS ? (int) (nrows - first) : CHUNK_NROWS;
		int			end;

		version->pack(scratch, chunk, n, norder - 1, stride, shift);
		if (shape.weight)
			version->weigh(whi, wlo, scratch, n, (norder + lanes - 1) / lanes, chunk + gr_weight_at(shape), stride);
		/* as many rows of the triangle at a time as have some work in them */
		for (int i = 0; i < norder; i = end)
		{
			int64_t		work = 0;

			for (end = i; end < norder && work < GR_POLL_WORK; end++)
				work += (int64_t) (end + 1) * n;
			if (shape.weight)
				version->kernel_weighted(hi, lo, scratch, whi, wlo, n, i, end, opaque_one);
			else
				version->kernel(hi, lo, scratch, n, i, end, opaque_one);
			if (gr_poll(poll, work))
				return false;
		}
	}
	return true;
}

void
gr_gram_add_lanes(double *hi, double *lo, const double *rows, int64_t nrows, GrRowShape shape, const double *shift,
				  double *scratch, int max_lanes)
{
	GrPoll		poll = {.host = NULL};

	(void) gr_gram_add_polling(hi, lo, rows, nrows, shape, shift, scratch, max_lanes, &poll);
}

void
gr_gram_add(double *hi, double *lo, const double *rows, int64_t nrows, GrRowShape shape, const double *shift,
			double *scratch)
{
	gr_gram_add_lanes(hi, lo, rows, nrows, shape, shift, scratch, gr_gram_lanes(shape.nfeatures));
}

bool
gr_shift_exact_lanes(const double *shift, const double *rows, int64_t nrows, GrRowShape shape, int max_lanes)
{
	return choose_version(max_lanes)->exact(rows, nrows, gr_nterms(shape.nfeatures), gr_row_ncols(shape), shift);
}

bool
gr_shift_exact(const double *shift, const double *rows, int64_t nrows, GrRowShape shape)
{
	return gr_shift_exact_lanes(shift, rows, nrows, shape, shape.nfeatures < MAX_LANES ? 4 : MAX_LANES);
}

GrDD
gr_dd_minus_dot_lanes(GrDD start, GrDDConstVector a, GrDDConstVector b, int64_t n, double *magnitude, int max_lanes)
{
	const Version *version = choose_version(max_lanes);
	int64_t		whole = n - n % DOT_LANES;
	GrDD		sum = start;

	*magnitude = fabs(start.hi);
	if (whole > 0)
	{
		double		shi[DOT_LANES];
		double		slo[DOT_LANES];
		double		magnitudes[DOT_LANES];
		GrDD		lanes[DOT_LANES];

		version->dot(a.hi, a.lo, b.hi, b.lo, whole, shi, slo, magnitudes);
		for (int l = 0; l < DOT_LANES; l++)
		{
			lanes[l] = gr_two_sum(shi[l], slo[l]);
			*magnitude += magnitudes[l];
		}
		for (int half = DOT_LANES / 2; half > 0; half /= 2)
			for (int l = 0; l < half; l++)
				lanes[l] = gr_dd_add(lanes[l], lanes[l + half]);
		sum = gr_dd_sub(sum, lanes[0]);
	}
	return version->minus_products(sum, a, b, whole, n, magnitude);
}

GrDD
gr_dd_minus_dot(GrDD start, GrDDConstVector a, GrDDConstVector b, int64_t n, double *magnitude)
{
	return gr_dd_minus_dot_lanes(start, a, b, n, magnitude, MAX_LANES);
}

void
gr_gram_merge(double *hi, double *lo, const double *hi2, const double *lo2, int64_t n)
{
	gr_gram_merge_lanes(hi, lo, hi2, lo2, n, MAX_LANES);
}

void
gr_gram_merge_lanes(double *hi, double *lo, const double *hi2, const double *lo2, int64_t n, int max_lanes)
{
	choose_version(max_lanes)->merge(hi, lo, hi2, lo2, n);
}

bool
gr_all_finite(const double *rows, int64_t nrows, int ncols, int *column)
{
	int64_t		n = nrows * ncols;

	if (choose_version(MAX_LANES)->step->finite(rows, n))
		return true;
	for (int64_t k = 0; k < n; k++)
	{
		if (!isfinite(rows[k]))
		{
			*column = (int) (k % ncols);
			return false;
		}
	}
	return true;
}

void
gr_widen_rows(const void *rows, int64_t nrows, GrRowShape shape, double *wide)
{
	const char *from = rows;
	size_t		from_nbytes = gr_row_nbytes(shape);
	size_t		stride = (size_t) gr_row_ncols(shape);
	size_t		rest_nbytes = (stride - (size_t) shape.nfeatures) * sizeof(double);

	for (int64_t r = 0; r < nrows; r++)
	{
		const float *features = (const float *) from;

		for (int j = 0; j < shape.nfeatures; j++)
			wide[j] = features[j];
		memcpy(wide + shape.nfeatures, features + shape.nfeatures, rest_nbytes);
		from += from_nbytes;
		wide += stride;
	}
}

/* The square of a value below this is 0; some more, as sums of products are rounded */
#define LEAST_ROOT 0x1p-535

bool
gr_gram_underflowed(const double *hi, const double *lo, int64_t order, int64_t row)
{
	double		square = hi[gr_packed(row, row)];

	if (square != 0.0)
		return square > 0.0 && square < GR_LEAST_SQUARES;
	for (int64_t j = 0; j < order; j++)
	{
		int64_t		k = gr_packed(j < row ? row : j, j < row ? j : row);
		double		product = fabs(hi[k]) + fabs(lo[k]);

		/* by Cauchy and Schwarz; more is what rounding has left of larger products that cancel */
		if (j != row && product > 0.0 && product <= LEAST_ROOT * sqrt(hi[0]) * sqrt(hi[gr_packed(j, j)]))
			return true;
	}
	return false;
}

bool
gr_gram_finite(const double *hi, int nfeatures, int *column)
{
	for (int64_t j = 1; j < gr_norder(nfeatures); j++)
	{
		if (!isfinite(hi[j * (j + 1) / 2 + j]))
		{
			*column = (int) (j - 1);
			return false;
		}
	}
	return true;
}
