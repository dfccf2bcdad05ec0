/*
 * glm.c: the passes of generalised linear models on the CPU: chunks of rows, what the kernels of step_cpu.h make of
 * them, and sums.
 *
 * EXACT and FACE bring the rows into a form whose Gram matrix is the wanted sum and leave the rest to gr_gram_add();
 * FAST and GRADIENT work on columns throughout.
 */
#include "compute/glm.h"

#include <math.h>
#include <string.h>

#include "compute/glm_row.h"
#include "compute/negbin_row.h"
#include "compute/step_cpu.h"

#define MAX_LANES 8

/* rows of one chunk of EXACT and FACE, gr_gram_add()'s own */
#define EXACT_NROWS 64
#define EXACT_PITCH (EXACT_NROWS + MAX_LANES)

/*
 * Rows of one chunk of FAST and GRADIENT: so many that the columns fill the second-level cache at most. Sums are taken
 * from the lanes once a chunk, so that FAST wants not too few; and no more than the product of as many 1 + t can stand
 * (see step_cpu.h).
 */
#define STEP_NBYTES 262144
#define STEP_NROWS_MAX 256
#define FAST_NROWS_MIN 128
#define GRADIENT_NROWS_MIN 16

/* a vector's alignment, in doubles */
#define ALIGNMENT 8

static const double log_2 = 0x1.62e42fefa39efp-1;

static void
add_dd(double *hi, double *lo, GrDD term)
{
	GrDD		sum = {*hi, *lo};

	sum = gr_dd_add(sum, term);
	*hi = sum.hi;
	*lo = sum.lo;
}

static size_t
round_up(size_t n)
{
	return (n + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static double *
align(double *scratch)
{
	return scratch + (ALIGNMENT - (uintptr_t) scratch / sizeof(double) % ALIGNMENT) % ALIGNMENT;
}

void
gr_pass_clear(GrPassKind kind, int nfeatures, double *sums)
{
	memset(sums, 0, gr_pass_nsums(kind, nfeatures) * sizeof(double));
	sums[GR_SUM_MIN_MARGIN] = INFINITY;
	sums[GR_SUM_MIN_RIGHT] = INFINITY;
}

void
gr_pass_merge(GrPassKind kind, int nfeatures, double *sums, const double *other)
{
	GrDD		deviance = {other[GR_SUM_DEVIANCE_HI], other[GR_SUM_DEVIANCE_LO]};
	size_t		nsums = gr_pass_nsums(kind, nfeatures);
	size_t		ndd = kind == GR_PASS_FAST || kind == GR_PASS_GRADIENT ? (size_t) gr_nterms(nfeatures)
		: (size_t) gr_triangle((int64_t) gr_norder(nfeatures) + 1);

	sums[GR_SUM_NROWS] += other[GR_SUM_NROWS];
	add_dd(&sums[GR_SUM_DEVIANCE_HI], &sums[GR_SUM_DEVIANCE_LO], deviance);
	sums[GR_SUM_MIN_MARGIN] = fmin(sums[GR_SUM_MIN_MARGIN], other[GR_SUM_MIN_MARGIN]);
	sums[GR_SUM_NRIGHT] += other[GR_SUM_NRIGHT];
	sums[GR_SUM_NWRONG] += other[GR_SUM_NWRONG];
	sums[GR_SUM_MIN_RIGHT] = fmin(sums[GR_SUM_MIN_RIGHT], other[GR_SUM_MIN_RIGHT]);
	sums[GR_SUM_NONES] += other[GR_SUM_NONES];

	sums += GR_SUM_HEAD;
	other += GR_SUM_HEAD;
	gr_gram_merge(sums, sums + ndd, other, other + ndd, (int64_t) ndd);
	for (size_t k = 2 * ndd; k < nsums - GR_SUM_HEAD; k++)
		sums[k] += other[k];
}

/*
 * EXACT and FACE
 */

typedef struct ExactWork
{
	const GrPass *pass;
	const GrStepVersion *version;
	int			max_lanes;
	GrPoll	   *poll;
	bool		at_zero;		/* EXACT with beta = 0 and no faces: no predictor is needed */
	double	   *columns;		/* those of the rows; later gr_gram_add()'s scratch */
	double	   *transformed;	/* EXACT_NROWS rows of exact_shape(), and a vector */
	double	   *zeros;			/* as many as a row has columns */

	/* the rows of the chunk that take part, and for each row or for each of those: */
	int			nkept;
	int			kept[EXACT_NROWS];
	double		eta[EXACT_PITCH];
	double		size[EXACT_PITCH];
	double		u[EXACT_NROWS];
	double		v[EXACT_NROWS];
} ExactWork;

/* Of the rows whose Gram matrix is summed: u, u z, v */
static GrRowShape
exact_shape(GrRowShape shape)
{
	return gr_plain_shape(gr_nterms(shape.nfeatures));
}

/* in doubles: the columns, or the Gram matrix's panels */
static size_t
exact_columns_size(GrRowShape shape)
{
	size_t		columns = (size_t) gr_row_ncols(shape) * EXACT_PITCH;
	size_t		panels = gr_gram_scratch_nbytes(exact_shape(shape)) / sizeof(double);

	return round_up(columns > panels ? columns : panels);
}

static size_t
exact_transformed_size(GrRowShape shape)
{
	return round_up((size_t) gr_row_ncols(exact_shape(shape)) * EXACT_NROWS + MAX_LANES);
}

/* What add_exact() takes, likewise, but for its alignment */
static size_t
exact_size(GrRowShape shape)
{
	return exact_columns_size(shape) + exact_transformed_size(shape) + (size_t) gr_row_ncols(shape);
}

/* (1, x)' face of all rows of a chunk of nrows */
static void
measure_face(ExactWork *work, int face, int nrows)
{
	int			p = work->pass->shape.nfeatures;
	const double *direction = work->pass->faces + (size_t) face * (size_t) gr_nterms(p);

	work->version->predict_exact(work->eta, work->columns, EXACT_PITCH, nrows, p, direction, work->zeros, NULL);
	work->version->magnitude(work->size, work->columns, EXACT_PITCH, nrows, p, direction);
}

static bool
on_face(const ExactWork *work, int face, int row)
{
	return fabs(work->eta[row]) <= work->pass->face_absolute[face] + work->pass->face_relative * work->size[row];
}

/* Leaves only rows that are on all of the first nfaces faces. */
static void
keep_on_faces(ExactWork *work, int nfaces, int nrows)
{
	work->nkept = nrows;
	for (int k = 0; k < nrows; k++)
		work->kept[k] = k;
	for (int face = 0; face < nfaces && work->nkept > 0; face++)
	{
		int			n = 0;

		measure_face(work, face, nrows);
		for (int k = 0; k < work->nkept; k++)
			if (on_face(work, face, work->kept[k]))
				work->kept[n++] = work->kept[k];
		work->nkept = n;
	}
}

/* Counts the rows off the candidate by their sides; those on it are left, as (1, z), y. */
static void
sort_by_face(ExactWork *work, double *sums, const double *rows, int nrows)
{
	GrRowShape	shape = work->pass->shape;
	int			candidate = work->pass->nfaces - 1;
	int			n = 0;

	measure_face(work, candidate, nrows);
	for (int k = 0; k < work->nkept; k++)
	{
		int			row = work->kept[k];
		double		y = gr_row_response(rows + row * gr_row_ncols(shape), shape);
		double		margin = gr_margin_of(work->pass->distribution, work->eta[row], y);

		if (on_face(work, candidate, row))
		{
			work->kept[n] = row;
			work->u[n] = 1.0;
			work->v[n] = y;
			n++;
		}
		else if (margin > 0.0)
		{
			sums[GR_SUM_NRIGHT] += 1.0;
			sums[GR_SUM_MIN_RIGHT] = fmin(sums[GR_SUM_MIN_RIGHT], margin);
		}
		else
			sums[GR_SUM_NWRONG] += 1.0;
	}
	work->nkept = n;
}

static void
predict_rows(ExactWork *work, int nrows)
{
	GrRowShape	shape = work->pass->shape;

	work->version->predict_exact(work->eta, work->columns, EXACT_PITCH, nrows, shape.nfeatures, work->pass->beta,
								 work->pass->shift,
								 shape.offset ? work->columns + gr_offset_at(shape) * EXACT_PITCH : NULL);
}

/* What a row of the one kind or the other is */
typedef enum RowKind
{
	PLAIN_LOGISTIC,
	WEIGHTED_LOGISTIC,
	THETA_ROW,
	OTHER_ROW
} RowKind;

/* u, v and the head's sums of the rows kept. kind: a constant, for which the compiler makes a loop of its own */
static inline void
weigh_kind(ExactWork *work, double *sums, const double *rows, RowKind kind)
{
	GrRowShape	shape = work->pass->shape;
	GrDistribution distribution = work->pass->distribution;
	const size_t stride = (size_t) gr_row_ncols(shape);
	GrDD		half = {0.0, 0.0};

	for (int k = 0; k < work->nkept; k++)
	{
		double		eta = work->eta[work->kept[k]];
		const double *at = rows + (size_t) work->kept[k] * stride;
		double		y = gr_row_response(at, shape);
		double		margin = kind >= THETA_ROW ? gr_margin_of(distribution, eta, y) : gr_margin(eta, y);
		GrGlmRow	row = kind == PLAIN_LOGISTIC ? gr_plain_row(eta, y) :
			kind == WEIGHTED_LOGISTIC ? gr_logistic_row(eta, y, gr_row_weight(at, shape)) :
			kind == THETA_ROW ? gr_theta_row(distribution, eta, y, gr_row_weight(at, shape)) :
			gr_glm_row(distribution, eta, y, gr_row_weight(at, shape));
		GrDD		sum = gr_two_sum(half.hi, row.half_deviance);

		half.hi = sum.hi;
		half.lo += sum.lo;
		work->u[k] = row.u;
		work->v[k] = row.v;
		sums[GR_SUM_MIN_MARGIN] = margin < sums[GR_SUM_MIN_MARGIN] ? margin : sums[GR_SUM_MIN_MARGIN];
		sums[GR_SUM_NONES] += y;
	}
	half = gr_two_sum(half.hi, half.lo);
	add_dd(&sums[GR_SUM_DEVIANCE_HI], &sums[GR_SUM_DEVIANCE_LO], gr_dd_scale(half, 2.0));
}

static void
weigh_rows(ExactWork *work, double *sums, const double *rows)
{
	if (work->pass->measure == GR_MEASURE_THETA)
		weigh_kind(work, sums, rows, THETA_ROW);
	else if (!gr_is_logistic(work->pass->distribution))
		weigh_kind(work, sums, rows, OTHER_ROW);
	else if (work->pass->shape.weight)
		weigh_kind(work, sums, rows, WEIGHTED_LOGISTIC);
	else
		weigh_kind(work, sums, rows, PLAIN_LOGISTIC);
}

/* The squared lengths of C z, in work->size, of all rows of a chunk */
static void
measure_lengths(ExactWork *work, int nrows)
{
	int			nterms = gr_nterms(work->pass->shape.nfeatures);
	const double *factor = work->pass->factor;
	double		sum[EXACT_PITCH];

	memset(work->size, 0, sizeof(work->size));
	for (int i = 0; i < nterms; factor += ++i)
	{
		for (int r = 0; r < EXACT_PITCH; r++)
			sum[r] = factor[0];
		for (int j = 1; j <= i; j++)
		{
			const double *column = work->columns + (size_t) (j - 1) * EXACT_PITCH;
			double		shift = work->pass->shift[j - 1];

			for (int r = 0; r < nrows; r++)
				sum[r] += factor[j] * (column[r] - shift);
		}
		for (int r = 0; r < nrows; r++)
			work->size[r] += sum[r] * sum[r];
	}
}

/* What the pass's measure makes of u and v; rows without a score are counted, and have none. */
static void
apply_measure(ExactWork *work, double *sums, const double *rows, int nrows)
{
	const GrPass *pass = work->pass;
	const size_t stride = (size_t) gr_row_ncols(pass->shape);

	if (gr_measure_has_factor(pass->measure))
		measure_lengths(work, nrows);
	for (int k = 0; k < work->nkept; k++)
	{
		int			r = work->kept[k];
		double		count = pass->counts ? gr_row_weight(rows + (size_t) r * stride, pass->shape) : 1.0;
		GrGlmRow	row = {work->u[k], work->v[k], 0.0};

		row = gr_measured_row(pass->measure, row, work->eta[r], count, work->u[k] * work->u[k] * work->size[r]);
		if (pass->measure != GR_MEASURE_FIRTH && isnan(row.u))
		{
			sums[GR_SUM_NWRONG] += 1.0;
			row.u = 0.0;
		}
		work->u[k] = row.u;
		work->v[k] = row.v;
	}
}

/*
 * The products of the kept rows with v, and sums: the last row of the matrix and its first column, as in Dot2 of Ogita,
 * Rump and Oishi (2005)
 */
static void
add_border(ExactWork *work, double *hi, double *lo)
{
	int			t = gr_nterms(work->pass->shape.nfeatures);
	int64_t		last = gr_triangle(t + 1);

	hi[0] += work->nkept;
	for (int k = 0; k < work->nkept; k++)
	{
		const double *row = work->transformed + (size_t) k * (size_t) (t + 1);
		double		v = row[t];
		int64_t		column = 1;

		for (int j = 0; j <= t; j++)
		{
			GrDD		product = gr_two_prod(v, row[j]);
			GrDD		sum = gr_two_sum(hi[last + 1 + j], product.hi);

			hi[last + 1 + j] = sum.hi;
			lo[last + 1 + j] += sum.lo + product.lo;
			if (j == t)
				column = last;
			sum = gr_two_sum(hi[column], row[j]);
			hi[column] = sum.hi;
			lo[column] += sum.lo;
			column += j + 2;
		}
	}
}

/* A linear pass; see GrPass. */
static void
weigh_rows_linearly(ExactWork *work, double *sums, const double *rows)
{
	GrRowShape	shape = work->pass->shape;

	for (int k = 0; k < work->nkept; k++)
	{
		const double *at = rows + work->kept[k] * gr_row_ncols(shape);
		GrGlmRow	row = gr_first_row(work->pass->distribution, gr_row_offset(at, shape), gr_row_response(at, shape),
									   gr_row_weight(at, shape));

		work->u[k] = row.u;
		work->v[k] = row.v;
		sums[GR_SUM_NONES] += gr_row_response(at, shape);
	}
}

/* The same where all predictors are 0, of rows without weights. */
static void
weigh_rows_at_zero(ExactWork *work, double *sums, const double *rows, int nrows)
{
	GrRowShape	shape = work->pass->shape;

	for (int k = 0; k < nrows; k++)
	{
		double		y = gr_row_response(rows + k * gr_row_ncols(shape), shape);

		work->u[k] = 0.5;
		work->v[k] = 2.0 * y - 1.0;
		sums[GR_SUM_NONES] += y;
	}
	sums[GR_SUM_MIN_MARGIN] = fmin(sums[GR_SUM_MIN_MARGIN], 0.0);
	add_dd(&sums[GR_SUM_DEVIANCE_HI], &sums[GR_SUM_DEVIANCE_LO], gr_two_prod(2.0 * nrows, log_2));
}

static bool
add_exact_chunk(ExactWork *work, double *sums, const double *rows, int nrows)
{
	const GrPass *pass = work->pass;
	GrRowShape	transformed = exact_shape(pass->shape);
	double	   *hi = sums + GR_SUM_HEAD;
	double	   *lo = hi + gr_triangle(gr_norder(transformed.nfeatures));

	if (!work->at_zero)
		work->version->transpose(work->columns, EXACT_PITCH, rows, nrows, gr_row_ncols(pass->shape), work->zeros);
	keep_on_faces(work, pass->kind == GR_PASS_FACE ? pass->nfaces - 1 : pass->nfaces, nrows);
	sums[GR_SUM_NROWS] += work->nkept;
	if (work->nkept > 0)
	{
		if (pass->kind == GR_PASS_FACE)
			sort_by_face(work, sums, rows, nrows);
		else if (pass->linear)
			weigh_rows_linearly(work, sums, rows);
		else if (work->at_zero)
			weigh_rows_at_zero(work, sums, rows, nrows);
		else
		{
			predict_rows(work, nrows);
			weigh_rows(work, sums, rows);
			if (pass->measure > GR_MEASURE_THETA)
				apply_measure(work, sums, rows, nrows);
		}
	}
	if (work->nkept == 0)
		return true;
	work->version->weigh(work->transformed, rows, gr_row_ncols(pass->shape), work->kept, work->nkept,
						 pass->shape.nfeatures, pass->shift, work->u, work->v);
	if (pass->measure == GR_MEASURE_COARSE_STEP)
	{
		add_border(work, hi, lo);
		return true;
	}
	return gr_gram_add_polling(hi, lo, work->transformed, work->nkept, transformed, NULL, work->columns,
							   work->max_lanes, work->poll);
}

static bool
add_exact(const GrPass *pass, double *sums, const double *rows, int64_t nrows, double *scratch, int max_lanes,
		  GrPoll *poll)
{
	int			nterms = gr_nterms(pass->shape.nfeatures);
	int			stride = gr_row_ncols(pass->shape);
	ExactWork	work;

	work.pass = pass;
	work.version = gr_step_version(max_lanes);
	work.max_lanes = max_lanes;
	work.poll = poll;
	work.at_zero = pass->kind == GR_PASS_EXACT && pass->nfaces == 0 && !pass->shape.weight && !pass->shape.offset &&
		gr_is_logistic(pass->distribution) && pass->measure == GR_MEASURE_STEP;
	for (int j = 0; j < nterms && work.at_zero; j++)
		work.at_zero = pass->beta[j] == 0.0;
	work.columns = align(scratch);
	work.transformed = work.columns + exact_columns_size(pass->shape);
	work.zeros = work.transformed + exact_transformed_size(pass->shape);
	memset(work.zeros, 0, (size_t) stride * sizeof(double));

	for (int64_t first = 0; first < nrows; first += EXACT_NROWS)
	{
		int			n = nrows - first < EXACT_NROWS ? (int) (nrows - first) : EXACT_NROWS;

		/* of what isn't in the Gram matrix's work, each face measured takes most */
		if (!add_exact_chunk(&work, sums, rows + first * stride, n) ||
			gr_poll(poll, (int64_t) n * nterms * (3 + 2 * pass->nfaces)))
			return false;
	}
	return true;
}

/*
 * FAST and GRADIENT
 */

/* The ones, and those of a row */
static size_t
step_ncolumns(GrRowShape shape)
{
	return 1 + (size_t) gr_row_ncols(shape);
}

/* As many rows with weights as without, so that weights of 1 change no bit */
static int
step_capacity(GrPassKind kind, GrRowShape shape)
{
	int			least = kind == GR_PASS_FAST ? FAST_NROWS_MIN : GRADIENT_NROWS_MIN;
	int			n = (int) (STEP_NBYTES / (step_ncolumns(gr_plain_shape(shape.nfeatures)) * sizeof(double)));

	/* a multiple of two vectors; with step_pitch() columns then don't crowd into a few sets of the cache */
	n = n / (2 * MAX_LANES) * (2 * MAX_LANES);
	return n < least ? least : n > STEP_NROWS_MAX ? STEP_NROWS_MAX : n;
}

/* an odd number of cache lines */
static size_t
step_pitch(GrPassKind kind, GrRowShape shape)
{
	return (size_t) step_capacity(kind, shape) + MAX_LANES;
}

size_t
gr_pass_scratch_nbytes(GrPassKind kind, GrRowShape shape)
{
	size_t		t = (size_t) gr_nterms(shape.nfeatures);
	size_t		ncols = (size_t) gr_row_ncols(shape);
	size_t		n;

	if (kind == GR_PASS_FAST || kind == GR_PASS_GRADIENT)
		n = (step_ncolumns(shape) + 6) * step_pitch(kind, shape) + 4 * MAX_LANES * t + ncols;
	else
		n = exact_size(shape);
	if (kind == GR_PASS_EXACT && t >= GR_COARSE_TERMS_MIN)
		return n * sizeof(double) + (gr_pass_nsums(GR_PASS_FAST, shape.nfeatures) + 2 * ALIGNMENT) * sizeof(double) +
			gr_pass_scratch_nbytes(GR_PASS_FAST, shape);
	return (n + ALIGNMENT) * sizeof(double);
}

/* What a call's chunks have left in the lanes, lane after lane. */
static void
add_lanes(const GrPass *pass, double *sums, const GrChunk *chunk, int nlanes)
{
	int			t = chunk->nterms;
	double	   *hi = sums + GR_SUM_HEAD;
	double	   *lo = hi + t;
	double	   *first = lo + t;
	double	   *diagonal = first + t;

	for (int j = 0; j < t; j++)
	{
		const double *h = chunk->lanes + (size_t) j * 4 * nlanes;
		const double *c = h + nlanes;
		GrDD		sum = {h[0], c[0]};

		for (int l = 1; l < nlanes; l++)
		{
			GrDD		s = gr_two_sum(sum.hi, h[l]);

			sum.hi = s.hi;
			sum.lo += s.lo + c[l];
		}
		add_dd(&hi[j], &lo[j], gr_two_sum(sum.hi, sum.lo));
		for (int l = 0; l < nlanes && pass->kind == GR_PASS_GRADIENT; l++)
		{
			first[j] += h[2 * nlanes + l];
			diagonal[j] += h[3 * nlanes + l];
		}
	}
}

/* eta to w and r, and totals, as logistic() of step_cpu.h does it, of any family and link, row by row */
static void
weigh_chunk(const GrPass *pass, const GrChunk *chunk, GrChunkTotals *totals)
{
	const double *response = chunk->columns + chunk->nterms * chunk->pitch;

	*totals = (GrChunkTotals) {0.0, 0.0, INFINITY, 0.0};
	for (int r = 0; r < chunk->nrows; r++)
	{
		double		eta = chunk->weight[r];
		double		y = response[r];
		double		prior = chunk->prior == NULL ? 1.0 : chunk->prior[r];
		double		margin = gr_margin_of(pass->distribution, eta, y);
		GrGlmRow	row = gr_glm_row(pass->distribution, eta, y, prior);

		chunk->weight[r] = row.u * row.u;
		chunk->residual[r] = row.u * row.v;
		totals->loss += row.half_deviance;
		totals->min_margin = margin < totals->min_margin ? margin : totals->min_margin;
		totals->nones += y;
	}
	/* what sticks out of the last vector */
	for (int r = chunk->nrows; r % MAX_LANES != 0; r++)
		chunk->weight[r] = chunk->residual[r] = 0.0;
}

/* The same of a linear pass */
static void
weigh_chunk_linearly(const GrPass *pass, const GrChunk *chunk, GrChunkTotals *totals)
{
	const double *response = chunk->columns + chunk->nterms * chunk->pitch;

	*totals = (GrChunkTotals) {0.0, 0.0, INFINITY, 0.0};
	for (int r = 0; r < chunk->nrows; r++)
	{
		GrGlmRow	row = gr_first_row(pass->distribution, chunk->offset == NULL ? 0.0 : chunk->offset[r], response[r],
									   chunk->prior == NULL ? 1.0 : chunk->prior[r]);

		chunk->weight[r] = row.u * row.u;
		chunk->residual[r] = row.u * row.v;
	}
	for (int r = chunk->nrows; r % MAX_LANES != 0; r++)
		chunk->weight[r] = chunk->residual[r] = 0.0;
}

static bool
add_step_chunk(const GrPass *pass, const GrStepVersion *version, double *sums, const GrChunk *chunk, GrPoll *poll)
{
	static const volatile double opaque_one = 1.0;
	GrChunkTotals totals;

	version->predict(chunk, pass->beta);
	for (int r = 0; chunk->offset != NULL && r < chunk->nrows; r++)
		chunk->weight[r] += chunk->offset[r];
	if (pass->linear)
		weigh_chunk_linearly(pass, chunk, &totals);
	else if (pass->distribution.family == GR_POISSON && pass->distribution.link == GR_LOG)
	{
		version->poisson(chunk, &totals);
		for (int r = 0; r < chunk->nrows; r++)
			totals.loss += (chunk->prior == NULL ? 1.0 : chunk->prior[r]) *
				gr_count_loss(chunk->columns[chunk->nterms * chunk->pitch + (size_t) r]);
	}
	else if (!gr_is_logistic(pass->distribution))
		weigh_chunk(pass, chunk, &totals);
	else if (chunk->prior != NULL)
		version->logistic_weighted(chunk, &totals);
	else
		version->logistic(chunk, &totals);
	sums[GR_SUM_NROWS] += chunk->nrows;
	add_dd(&sums[GR_SUM_DEVIANCE_HI], &sums[GR_SUM_DEVIANCE_LO],
		   gr_two_sum(2.0 * totals.loss, 2.0 * log1p(totals.growth)));
	sums[GR_SUM_MIN_MARGIN] = fmin(sums[GR_SUM_MIN_MARGIN], totals.min_margin);
	if (pass->kind == GR_PASS_FAST)
	{
		version->gradient(chunk, opaque_one);
		for (int first = 0; first < chunk->nterms; first += GR_HESSIAN_PANEL)
		{
			int			left = chunk->nterms - first;
			int64_t		ncolumns = left < GR_HESSIAN_PANEL ? left : GR_HESSIAN_PANEL;

			version->hessian(chunk, sums + GR_SUM_HEAD + 2 * (size_t) chunk->nterms, first);
			/* a product takes about a sixteenth of a nanosecond, or somewhat more */
			if (gr_poll(poll, ncolumns * left * chunk->nrows / 8))
				return false;
		}
	}
	else
	{
		version->curvature(chunk, opaque_one);
		sums[GR_SUM_NONES] += totals.nones;
	}
	return !gr_poll(poll, (int64_t) chunk->nrows * chunk->nterms);
}

/* Loads the rows' own weights, whole vectors of them. False: all are 1, and so many trials of one class */
static bool
load_prior(double *prior, GrRowShape shape, const double *rows, int nrows, int nlanes)
{
	bool		any = false;
	int			r = 0;

	for (; r < nrows; r++, rows += gr_row_ncols(shape))
	{
		double		y = gr_row_response(rows, shape);

		prior[r] = gr_row_weight(rows, shape);
		any |= prior[r] != 1.0 || (y != 0.0 && y != 1.0);
	}
	for (; r % nlanes != 0; r++)
		prior[r] = 0.0;
	return any;
}

static bool
add_step(const GrPass *pass, double *sums, const double *rows, int64_t nrows, double *scratch, int max_lanes,
		 GrPoll *poll)
{
	const GrStepVersion *version = gr_step_version(max_lanes);
	int			p = pass->shape.nfeatures;
	int			ncols = gr_row_ncols(pass->shape);
	int			capacity = step_capacity(pass->kind, pass->shape);
	size_t		pitch = step_pitch(pass->kind, pass->shape);
	GrChunk		chunk = {.nterms = gr_nterms(p),.pitch = pitch};
	double	   *prior;
	double	   *shift;

	chunk.columns = align(scratch);
	chunk.weight = chunk.columns + step_ncolumns(pass->shape) * pitch;
	chunk.residual = chunk.weight + pitch;
	chunk.weighted = chunk.residual + pitch;
	chunk.offset = pass->shape.offset ? chunk.columns + (size_t) (1 + gr_offset_at(pass->shape)) * pitch : NULL;
	prior = chunk.weighted + 3 * pitch;
	chunk.lanes = prior + pitch;
	shift = chunk.lanes + 4 * (size_t) version->lanes * chunk.nterms;
	memset(shift, 0, (size_t) ncols * sizeof(double));
	memcpy(shift, pass->shift, (size_t) p * sizeof(double));
	memset(chunk.lanes, 0, 4 * (size_t) version->lanes * chunk.nterms * sizeof(double));
	for (size_t r = 0; r < pitch; r++)
		chunk.columns[r] = 1.0;

	for (int64_t first = 0; first < nrows; first += capacity)
	{
		chunk.nrows = nrows - first < capacity ? (int) (nrows - first) : capacity;
		version->transpose(chunk.columns + pitch, pitch, rows + first * ncols, chunk.nrows, ncols, shift);
		chunk.prior = NULL;
		if (pass->shape.weight && load_prior(prior, pass->shape, rows + first * ncols, chunk.nrows, version->lanes))
			chunk.prior = prior;
		if (!add_step_chunk(pass, version, sums, &chunk, poll))
			return false;
	}
	add_lanes(pass, sums, &chunk, version->lanes);
	return true;
}

/* What a sum has beyond hi's digits is in lo. */
static void
settle(double *hi, double *lo, int64_t at)
{
	GrDD		sum = gr_two_sum(hi[at], lo[at]);

	hi[at] = sum.hi;
	lo[at] = sum.lo;
}

/*
 * A coarse pass: all but the products of z by add_exact(), which leaves those out, and they by a FAST pass over the
 * same rows. scratch: behind add_exact()'s
 */
static bool
add_coarse(const GrPass *pass, double *sums, const double *rows, int64_t nrows, double *scratch, int max_lanes,
		   GrPoll *poll)
{
	GrPass		fast = *pass;
	int			p = pass->shape.nfeatures;
	int			t = gr_nterms(p);
	double	   *fast_sums = scratch + exact_size(pass->shape) + ALIGNMENT;
	const double *hessian = fast_sums + GR_SUM_HEAD + 2 * t;
	double	   *hi = sums + GR_SUM_HEAD;
	double	   *lo = hi + gr_triangle(t + 2);

	fast.kind = GR_PASS_FAST;
	gr_pass_clear(GR_PASS_FAST, p, fast_sums);
	if (!add_exact(pass, sums, rows, nrows, scratch, max_lanes, poll) ||
		!add_step(&fast, fast_sums, rows, nrows, fast_sums + gr_pass_nsums(GR_PASS_FAST, p), MAX_LANES, poll))
		return false;
	for (int j = 0; j <= t + 1; j++)
	{
		settle(hi, lo, gr_triangle(t + 1) + j);
		settle(hi, lo, gr_triangle(j));
	}
	for (int i = 0; i < t; i++)
	{
		int64_t		at = gr_triangle(i + 1) + 1;

		for (int j = 0; j <= i; j++, at++, hessian++)
		{
			GrDD		sum = gr_two_sum(hi[at], *hessian);

			hi[at] = sum.hi;
			lo[at] += sum.lo;
		}
	}
	return true;
}

static bool
add_rows(const GrPass *pass, double *sums, const double *rows, int64_t nrows, double *scratch, int max_lanes,
		 const GrHost *host)
{
	GrPoll		poll = {.host = host};

	if (pass->kind == GR_PASS_FAST || pass->kind == GR_PASS_GRADIENT)
		return add_step(pass, sums, rows, nrows, scratch, max_lanes, &poll);
	if (pass->measure == GR_MEASURE_COARSE_STEP)
		return add_coarse(pass, sums, rows, nrows, scratch, max_lanes, &poll);
	return add_exact(pass, sums, rows, nrows, scratch, max_lanes, &poll);
}

void
gr_pass_add_lanes(const GrPass *pass, double *sums, const double *rows, int64_t nrows, double *scratch, int max_lanes)
{
	(void) add_rows(pass, sums, rows, nrows, scratch, max_lanes, NULL);
}

bool
gr_pass_add_polling(const GrPass *pass, double *sums, const double *rows, int64_t nrows, double *scratch,
					const GrHost *host)
{
	bool		exact = pass->kind == GR_PASS_EXACT || pass->kind == GR_PASS_FACE;

	/* the Gram matrix takes most of an exact pass's time; the others gain from AVX-512 at any width */
	return add_rows(pass, sums, rows, nrows, scratch, exact ? gr_gram_lanes(gr_nterms(pass->shape.nfeatures)) : 8,
					host);
}

void
gr_pass_add(const GrPass *pass, double *sums, const double *rows, int64_t nrows, double *scratch)
{
	(void) gr_pass_add_polling(pass, sums, rows, nrows, scratch, NULL);
}
