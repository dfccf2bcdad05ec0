/*
 * kernels_cpu.c: the CPU's kernels: the Gram matrix in double-double, the passes of glm.h, and random projection of a
 * vector and of a batch.
 *
 * The kernels are compiled for AVX-512, for AVX2 and for other processors. The double-double kernels and the projection
 * give the same bits in every version: they do the same IEEE operations in the same order for each entry.
 */
#include "compute/base/dd_dot.h"

#include <math.h>
#include <string.h>

#include "compute/base/dd.h"
#include "compute/glm/glm_row.h"
#include "compute/glm/step_cpu.h"
#include "compute/linalg/congruence.h"
#include "compute/linalg/gram.h"
#include "compute/linalg/gram_shift.h"
#include "compute/project/project_cpu.h"

#define MAX_LANES GR_GRAM_LANES_MAX

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
	void		(*merge) (double *restrict hi, double *restrict lo, const double *restrict hi2,
						  const double *restrict lo2, int64_t n);
	void		(*product) (const GrTile *tile, double opaque_one);
	const GrStepVersion *step;
	GrGather	gather;
} Version;

#define SIMD_TEMPLATE "compute/backend/kernels_cpu.h"
#include "compute/base/simd.h"

/* Returns the fastest version that this processor has with at most max_lanes lanes. */
static const Version *
choose_version(int max_lanes)
{
	return SIMD_CHOOSE(version, max_lanes);
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

	/* four rows at a time: their additions do not depend on each other */
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

bool
gr_gram_add_polling(GrGram *gram, const double *rows, int64_t nrows, GrRowShape shape, double *scratch, int max_lanes,
					GrPoll *poll)
{
	static const volatile double opaque_one = 1.0;
	const Version *version = choose_version(max_lanes);
	int			stride = gr_row_ncols(shape);
	int			norder = gr_norder(shape.nfeatures);
	int			lanes = version->step->lanes;
	double	   *whi = scratch + gr_gram_panels_size(shape);
	double	   *wlo = whi + gr_gram_panels_size(shape);

	for (int64_t first = 0; first < nrows; first += GR_GRAM_CHUNK_NROWS)
	{
		const double *chunk = rows + first * stride;
		int			n = nrows - first < GR_GRAM_CHUNK_NROWS ? (int) (nrows - first) : GR_GRAM_CHUNK_NROWS;
		int			end;

		version->pack(scratch, chunk, n, norder - 1, stride, gram->shift);
		if (shape.weight)
			version->weigh(whi, wlo, scratch, n, (norder + lanes - 1) / lanes, chunk + gr_weight_at(shape), stride);
		/* groups of triangle rows with about GR_POLL_WORK products between two polls */
		for (int i = 0; i < norder; i = end)
		{
			int64_t		work = 0;

			for (end = i; end < norder && work < GR_POLL_WORK; end++)
				work += (int64_t) (end + 1) * n;
			if (shape.weight)
				version->kernel_weighted(gram->hi, gram->lo, scratch, whi, wlo, n, i, end, opaque_one);
			else
				version->kernel(gram->hi, gram->lo, scratch, n, i, end, opaque_one);
			if (gr_poll(poll, work))
				return false;
		}
	}
	return true;
}

void
gr_gram_add_lanes(GrGram *gram, const double *rows, int64_t nrows, GrRowShape shape, double *scratch, int max_lanes)
{
	GrPoll		poll = {.host = NULL};

	(void) gr_gram_add_polling(gram, rows, nrows, shape, scratch, max_lanes, &poll);
}

void
gr_gram_add(GrGram *gram, const double *rows, int64_t nrows, GrRowShape shape, double *scratch)
{
	gr_gram_add_lanes(gram, rows, nrows, shape, scratch, gr_gram_lanes(shape.nfeatures));
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

void
gr_dd_add_vector(GrDDVector to, GrDDConstVector from, int64_t n)
{
	gr_dd_add_vector_lanes(to, from, n, MAX_LANES);
}

void
gr_dd_add_vector_lanes(GrDDVector to, GrDDConstVector from, int64_t n, int max_lanes)
{
	choose_version(max_lanes)->merge(to.hi, to.lo, from.hi, from.lo, n);
}

void
gr_tile_multiply(const GrTile *tile, int max_lanes)
{
	static const volatile double opaque_one = 1.0;

	choose_version(max_lanes)->product(tile, opaque_one);
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

/* Squares of values below 2^-537.5 are 0; this limit is larger, since sums of products are rounded */
#define LEAST_ROOT 0x1p-535

bool
gr_packed_underflowed(GrDDConstVector triangle, int64_t norder, int64_t row)
{
	double		square = triangle.hi[gr_packed(row, row)];

	if (square != 0.0)
		return square > 0.0 && square < GR_LEAST_SQUARES;
	for (int64_t j = 0; j < norder; j++)
	{
		int64_t		k = gr_packed(j < row ? row : j, j < row ? j : row);
		double		product = fabs(triangle.hi[k]) + fabs(triangle.lo[k]);

		/* limit by Cauchy and Schwarz; a larger product is the rounding error of products that cancel */
		if (j != row && product > 0.0 && product <= LEAST_ROOT * sqrt(triangle.hi[0]) *
			sqrt(triangle.hi[gr_packed(j, j)]))
			return true;
	}
	return false;
}
