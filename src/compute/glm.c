/*
 * glm.c: the passes of logistic regression on the CPU: chunks of rows, what the kernels of step_cpu.h make of them, and sums.
 *
 * EXACT and FACE bring the rows into a form whose Gram matrix is the wanted sum and leave the rest to gr_gram_add(); FAST and
 * GRADIENT work on columns throughout.
 */
#include "compute/glm.h"

#include <math.h>
#include <string.h>

#include "compute/glm_row.h"
#include "compute/step_cpu.h"

#define MAX_LANES 8

/* rows of one chunk of EXACT and FACE, gr_gram_add()'s own */
#define EXACT_NROWS 64
#define EXACT_PITCH (EXACT_NROWS + MAX_LANES)

/*
 * Rows of one chunk of FAST and GRADIENT: so many that the columns fill the second-level cache at most. Sums are taken from the lanes
 * once a chunk, so that FAST wants not too few; and no more than the product of as many 1 + t can stand (see step_cpu.h).
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
	size_t		ndd = kind == GR_PASS_FAST || kind == GR_PASS_GRADIENT ? (size_t) nfeatures + 1
		: (size_t) gr_triangle((int64_t) nfeatures + 3);

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

bool
gr_all_binary(const double *rows, int64_t nrows, int ncols, double *value)
{
	const double *response = rows + ncols - 1;

	for (int64_t r = 0; r < nrows; r++, response += ncols)
	{
		if (*response != 0.0 && *response != 1.0)
		{
			*value = *response;
			return false;
		}
	}
	return true;
}

/* Likewise of single rows, which are looked at as float8 where one of them may be bad. */
static bool
single_rows_valid(const char *rows, int64_t nrows, int nfeatures, bool binary, GrError *err)
{
	size_t		row_nbytes = gr_row_nbytes(nfeatures, true);

	for (int64_t r = 0; r < nrows; r++, rows += row_nbytes)
	{
		const float *features = (const float *) rows;
		float		acc = 0;
		double		response;

		memcpy(&response, features + nfeatures, sizeof(double));
		/* v * 0 is 0 for finite v and NaN otherwise */
		for (int j = 0; j < nfeatures; j++)
			acc += features[j] * 0.0f;
		if (acc != 0.0f)
			for (int j = 0; j < nfeatures; j++)
				if (!isfinite(features[j]))
					return gr_fail(err, GR_NOT_FINITE, j, "%s", "");
		if (!isfinite(response))
			return gr_fail(err, GR_NOT_FINITE, nfeatures, "%s", "");
		if (binary && response != 0.0 && response != 1.0)
		{
			err->value = response;
			return gr_fail(err, GR_NOT_BINARY, nfeatures, "%s", "");
		}
	}
	return true;
}

bool
gr_rows_valid(const void *rows, int64_t nrows, int nfeatures, bool single, bool binary, GrError *err)
{
	int			column;

	if (single)
		return single_rows_valid(rows, nrows, nfeatures, binary, err);
	if (!gr_all_finite(rows, nrows, nfeatures + 1, &column))
		return gr_fail(err, GR_NOT_FINITE, column, "%s", "");
	if (binary && !gr_all_binary(rows, nrows, nfeatures + 1, &err->value))
		return gr_fail(err, GR_NOT_BINARY, nfeatures, "%s", "");
	return true;
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
	double	   *columns;		/* of the features and the response; later gr_gram_add()'s scratch */
	double	   *transformed;	/* EXACT_NROWS rows of nfeatures + 2, and a vector */
	double	   *zeros;			/* nfeatures + 1 */

	/* the rows of the chunk that take part, and for each row or for each of those: */
	int			nkept;
	int			kept[EXACT_NROWS];
	double		eta[EXACT_PITCH];
	double		size[EXACT_PITCH];
	double		u[EXACT_NROWS];
	double		v[EXACT_NROWS];
} ExactWork;

/* in doubles: the columns, or the Gram matrix's panels */
static size_t
exact_columns_size(int nfeatures)
{
	size_t		columns = ((size_t) nfeatures + 1) * EXACT_PITCH;
	size_t		panels = gr_gram_scratch_nbytes(nfeatures + 1) / sizeof(double);

	return round_up(columns > panels ? columns : panels);
}

static size_t
exact_transformed_size(int nfeatures)
{
	return round_up(((size_t) nfeatures + 2) * EXACT_NROWS + MAX_LANES);
}

/* (1, x)' face of all rows of a chunk of nrows */
static void
measure_face(ExactWork *work, int face, int nrows)
{
	int			p = work->pass->nfeatures;
	const double *direction = work->pass->faces + (size_t) face * (p + 1);

	work->version->predict_exact(work->eta, work->columns, EXACT_PITCH, nrows, p, direction, work->zeros);
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
	int			ncols = work->pass->nfeatures + 1;
	int			candidate = work->pass->nfaces - 1;
	int			n = 0;

	measure_face(work, candidate, nrows);
	for (int k = 0; k < work->nkept; k++)
	{
		int			row = work->kept[k];
		double		y = rows[(size_t) row * ncols + ncols - 1];
		double		margin = y > 0.5 ? work->eta[row] : -work->eta[row];

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

/* u, v and the head's sums of the rows kept */
static void
weigh_rows(ExactWork *work, double *sums, const double *rows, int nrows)
{
	int			ncols = work->pass->nfeatures + 1;
	GrDD		half = {0.0, 0.0};

	work->version->predict_exact(work->eta, work->columns, EXACT_PITCH, nrows, ncols - 1, work->pass->beta,
								 work->pass->shift);
	for (int k = 0; k < work->nkept; k++)
	{
		double		eta = work->eta[work->kept[k]];
		double		y = rows[(size_t) work->kept[k] * ncols + ncols - 1];
		double		margin = y > 0.5 ? eta : -eta;
		GrLogisticRow row = gr_logistic_row(eta, y);
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

/* The same where all predictors are 0. */
static void
weigh_rows_at_zero(ExactWork *work, double *sums, const double *rows, int nrows)
{
	int			ncols = work->pass->nfeatures + 1;

	for (int k = 0; k < nrows; k++)
	{
		double		y = rows[(size_t) k * ncols + ncols - 1];

		work->u[k] = 0.5;
		work->v[k] = y > 0.5 ? 1.0 : -1.0;
		sums[GR_SUM_NONES] += y;
	}
	sums[GR_SUM_MIN_MARGIN] = fmin(sums[GR_SUM_MIN_MARGIN], 0.0);
	add_dd(&sums[GR_SUM_DEVIANCE_HI], &sums[GR_SUM_DEVIANCE_LO], gr_two_prod(2.0 * nrows, log_2));
}

static bool
add_exact_chunk(ExactWork *work, double *sums, const double *rows, int nrows)
{
	const GrPass *pass = work->pass;
	int			p = pass->nfeatures;
	double	   *hi = sums + GR_SUM_HEAD;
	double	   *lo = hi + gr_triangle((int64_t) p + 3);

	if (!work->at_zero)
		work->version->transpose(work->columns, EXACT_PITCH, rows, nrows, p + 1, work->zeros);
	keep_on_faces(work, pass->kind == GR_PASS_FACE ? pass->nfaces - 1 : pass->nfaces, nrows);
	sums[GR_SUM_NROWS] += work->nkept;
	if (work->nkept > 0)
	{
		if (pass->kind == GR_PASS_FACE)
			sort_by_face(work, sums, rows, nrows);
		else if (work->at_zero)
			weigh_rows_at_zero(work, sums, rows, nrows);
		else
			weigh_rows(work, sums, rows, nrows);
	}
	if (work->nkept == 0)
		return true;
	work->version->weigh(work->transformed, rows, work->kept, work->nkept, p, pass->shift, work->u, work->v);
	return gr_gram_add_polling(hi, lo, work->transformed, work->nkept, p + 1, NULL, work->columns, work->max_lanes,
							   work->poll);
}

static bool
add_exact(const GrPass *pass, double *sums, const double *rows, int64_t nrows, double *scratch, int max_lanes,
		  GrPoll *poll)
{
	int			p = pass->nfeatures;
	ExactWork	work;

	work.pass = pass;
	work.version = gr_step_version(max_lanes);
	work.max_lanes = max_lanes;
	work.poll = poll;
	work.at_zero = pass->kind == GR_PASS_EXACT && pass->nfaces == 0;
	for (int j = 0; j <= p && work.at_zero; j++)
		work.at_zero = pass->beta[j] == 0.0;
	work.columns = align(scratch);
	work.transformed = work.columns + exact_columns_size(p);
	work.zeros = work.transformed + exact_transformed_size(p);
	memset(work.zeros, 0, ((size_t) p + 1) * sizeof(double));

	for (int64_t first = 0; first < nrows; first += EXACT_NROWS)
	{
		int			n = nrows - first < EXACT_NROWS ? (int) (nrows - first) : EXACT_NROWS;

		/* of what isn't in the Gram matrix's work, each face measured takes most */
		if (!add_exact_chunk(&work, sums, rows + first * (p + 1), n) ||
			gr_poll(poll, (int64_t) n * (p + 1) * (3 + 2 * pass->nfaces)))
			return false;
	}
	return true;
}

/*
 * FAST and GRADIENT
 */

static int
step_capacity(GrPassKind kind, int nfeatures)
{
	int			least = kind == GR_PASS_FAST ? FAST_NROWS_MIN : GRADIENT_NROWS_MIN;
	int			n = (int) (STEP_NBYTES / (((size_t) nfeatures + 2) * sizeof(double)));

	/* a multiple of two vectors; with step_pitch() columns then don't crowd into a few sets of the cache */
	n = n / (2 * MAX_LANES) * (2 * MAX_LANES);
	return n < least ? least : n > STEP_NROWS_MAX ? STEP_NROWS_MAX : n;
}

/* an odd number of cache lines */
static size_t
step_pitch(GrPassKind kind, int nfeatures)
{
	return (size_t) step_capacity(kind, nfeatures) + MAX_LANES;
}

size_t
gr_pass_scratch_nbytes(GrPassKind kind, int nfeatures)
{
	size_t		t = (size_t) nfeatures + 1;
	size_t		n;

	if (kind == GR_PASS_FAST || kind == GR_PASS_GRADIENT)
		n = (t + 6) * step_pitch(kind, nfeatures) + 4 * MAX_LANES * t + t;
	else
		n = exact_columns_size(nfeatures) + exact_transformed_size(nfeatures) + t;
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

static bool
add_step_chunk(const GrPass *pass, const GrStepVersion *version, double *sums, const GrChunk *chunk, GrPoll *poll)
{
	static const volatile double opaque_one = 1.0;
	GrChunkTotals totals;

	version->predict(chunk, pass->beta);
	version->logistic(chunk, &totals);
	sums[GR_SUM_NROWS] += chunk->nrows;
	add_dd(&sums[GR_SUM_DEVIANCE_HI], &sums[GR_SUM_DEVIANCE_LO], gr_two_sum(2.0 * totals.loss, 2.0 * log1p(totals.growth)));
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

static bool
add_step(const GrPass *pass, double *sums, const double *rows, int64_t nrows, double *scratch, int max_lanes,
		 GrPoll *poll)
{
	const GrStepVersion *version = gr_step_version(max_lanes);
	int			p = pass->nfeatures;
	int			capacity = step_capacity(pass->kind, p);
	size_t		pitch = step_pitch(pass->kind, p);
	GrChunk		chunk = {.nterms = p + 1, .pitch = pitch};
	double	   *shift;

	chunk.columns = align(scratch);
	chunk.weight = chunk.columns + ((size_t) p + 2) * pitch;
	chunk.residual = chunk.weight + pitch;
	chunk.weighted = chunk.residual + pitch;
	chunk.lanes = chunk.weighted + 3 * pitch;
	shift = chunk.lanes + 4 * (size_t) version->lanes * chunk.nterms;
	memcpy(shift, pass->shift, (size_t) p * sizeof(double));
	shift[p] = 0.0;				/* the response's */
	memset(chunk.lanes, 0, 4 * (size_t) version->lanes * chunk.nterms * sizeof(double));
	for (size_t r = 0; r < pitch; r++)
		chunk.columns[r] = 1.0;

	for (int64_t first = 0; first < nrows; first += capacity)
	{
		chunk.nrows = nrows - first < capacity ? (int) (nrows - first) : capacity;
		version->transpose(chunk.columns + pitch, pitch, rows + first * (p + 1), chunk.nrows, p + 1, shift);
		if (!add_step_chunk(pass, version, sums, &chunk, poll))
			return false;
	}
	add_lanes(pass, sums, &chunk, version->lanes);
	return true;
}

static bool
add_rows(const GrPass *pass, double *sums, const double *rows, int64_t nrows, double *scratch, int max_lanes,
		 const GrHost *host)
{
	GrPoll		poll = {.host = host};

	if (pass->kind == GR_PASS_FAST || pass->kind == GR_PASS_GRADIENT)
		return add_step(pass, sums, rows, nrows, scratch, max_lanes, &poll);
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
	return add_rows(pass, sums, rows, nrows, scratch, exact ? gr_gram_lanes(pass->nfeatures + 1) : 8, host);
}

void
gr_pass_add(const GrPass *pass, double *sums, const double *rows, int64_t nrows, double *scratch)
{
	(void) gr_pass_add_polling(pass, sums, rows, nrows, scratch, NULL);
}
