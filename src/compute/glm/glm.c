/*
 * glm.c: the passes of generalised linear models on the CPU. Divides rows into chunks, calls the kernels of step_cpu.h
 * and adds up their sums.
 *
 * FAST and GRADIENT work on columns; EXACT and FACE are in glm_exact.c.
 */
#include "compute/glm/glm.h"

#include <math.h>
#include <string.h>

#include "compute/base/arena.h"
#include "compute/glm/glm_row.h"
#include "compute/glm/glm_sums.h"
#include "compute/glm/step_cpu.h"
#include "compute/glm/theta_table.h"
#include "compute/linalg/gram.h"

/*
 * Rows of a chunk of FAST and GRADIENT. The columns of a chunk fit the second-level cache. Sums are taken from the
 * lanes once per chunk, so FAST needs long chunks. A product of STEP_NROWS_MAX factors 1 + t stays in range (see
 * step_cpu.h).
 */
#define STEP_NBYTES 262144
#define STEP_NROWS_MAX 256
#define FAST_NROWS_MIN 128
#define GRADIENT_NROWS_MIN 16

void
gr_pass_merge(GrPassKind kind, int nfeatures, double *sums, const double *other)
{
	GrDD		deviance = {other[GR_SUM_DEVIANCE_HI], other[GR_SUM_DEVIANCE_LO]};
	size_t		nsums = gr_pass_nsums(kind, nfeatures);
	size_t		ndd = gr_pass_is_fast(kind) || kind == GR_PASS_GRADIENT ? (size_t) gr_nterms(nfeatures)
		: (size_t) gr_triangle((int64_t) gr_norder(nfeatures) + 1);

	sums[GR_SUM_NROWS] += other[GR_SUM_NROWS];
	gr_add_to_sum(&sums[GR_SUM_DEVIANCE_HI], &sums[GR_SUM_DEVIANCE_LO], deviance);
	sums[GR_SUM_MIN_MARGIN] = fmin(sums[GR_SUM_MIN_MARGIN], other[GR_SUM_MIN_MARGIN]);
	sums[GR_SUM_NRIGHT] += other[GR_SUM_NRIGHT];
	sums[GR_SUM_NWRONG] += other[GR_SUM_NWRONG];
	sums[GR_SUM_MIN_RIGHT] = fmin(sums[GR_SUM_MIN_RIGHT], other[GR_SUM_MIN_RIGHT]);
	sums[GR_SUM_NONES] += other[GR_SUM_NONES];

	sums += GR_SUM_HEAD;
	other += GR_SUM_HEAD;
	gr_dd_add_vector((GrDDVector) {sums, sums + ndd}, (GrDDConstVector) {other, other + ndd}, (int64_t) ndd);
	for (size_t k = 2 * ndd; k < nsums - GR_SUM_HEAD; k++)
		sums[k] += other[k];
}

/*
 * FAST and GRADIENT
 */

/* Returns the number of columns of a chunk: one of ones, and those of a row. */
static size_t
step_ncolumns(GrRowShape shape)
{
	return 1 + (size_t) gr_row_ncols(shape);
}

/* Returns the number of rows of a chunk. Weights do not change it, so that weights of 1 change no bit. */
static int
step_capacity(GrPassKind kind, GrRowShape shape)
{
	int			least = gr_pass_is_fast(kind) ? FAST_NROWS_MIN : GRADIENT_NROWS_MIN;
	int			n = (int) (STEP_NBYTES / (step_ncolumns(gr_plain_shape(shape.nfeatures)) * sizeof(double)));

	/* a multiple of two vectors, so that columns at step_pitch() do not share a few sets of the cache */
	n = n / (2 * GR_MAX_LANES) * (2 * GR_MAX_LANES);
	return n < least ? least : n > STEP_NROWS_MAX ? STEP_NROWS_MAX : n;
}

/* Returns the distance of columns in float8, an odd number of cache lines. */
static size_t
step_pitch(GrPassKind kind, GrRowShape shape)
{
	return (size_t) step_capacity(kind, shape) + GR_MAX_LANES;
}

/* Scratch of a FAST or GRADIENT pass, and of the FAST part of a coarse pass. */
typedef struct StepWork
{
	double	   *fast_sums;		/* sums of the FAST part of a coarse pass */
	GrChunk		chunk;
	double	   *prior;			/* prior weights of a chunk */
	double	   *shift;			/* a shift per column of a row */
} StepWork;

static void
carve_step(StepWork *work, GrPassKind kind, GrRowShape shape, GrArena *arena)
{
	GrChunk    *chunk = &work->chunk;
	int64_t		pitch = (int64_t) step_pitch(kind, shape);

	*chunk = (GrChunk) {.prior = NULL};
	chunk->nterms = gr_nterms(shape.nfeatures);
	chunk->pitch = (size_t) pitch;
	chunk->columns = gr_carve_doubles(arena, (int64_t) step_ncolumns(shape) * pitch);
	chunk->weight = gr_carve_doubles(arena, pitch);
	chunk->residual = gr_carve_doubles(arena, pitch);
	chunk->weighted = gr_carve_doubles(arena, 3 * pitch);
	work->prior = gr_carve_doubles(arena, pitch);
	chunk->lanes = gr_carve_doubles(arena, 4 * (int64_t) GR_MAX_LANES * chunk->nterms);
	work->shift = gr_carve_doubles(arena, gr_row_ncols(shape));
}

/* Carves the scratch of a coarse pass besides that of gr_add_exact(). */
static void
carve_coarse(StepWork *work, GrRowShape shape, GrArena *arena)
{
	work->fast_sums = gr_carve_doubles(arena, (int64_t) gr_pass_nsums(GR_PASS_FAST, shape.nfeatures));
	carve_step(work, GR_PASS_FAST, shape, arena);
}

size_t
gr_pass_scratch_nbytes(GrPassKind kind, GrRowShape shape)
{
	StepWork	work;
	GrArena		arena = {.base = NULL};

	if (gr_pass_is_fast(kind) || kind == GR_PASS_GRADIENT)
		carve_step(&work, kind, shape, &arena);
	else
		gr_exact_count(shape, &arena);
	if (kind == GR_PASS_EXACT && gr_nterms(shape.nfeatures) >= GR_COARSE_TERMS_MIN)
		carve_coarse(&work, shape, &arena);
	return gr_arena_lines_nbytes(&arena);
}

/* Adds the lanes that the chunks of a call have filled to sums, lane after lane. */
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
		gr_add_to_sum(&hi[j], &lo[j], gr_two_sum(sum.hi, sum.lo));
		for (int l = 0; l < nlanes && pass->kind == GR_PASS_GRADIENT; l++)
		{
			first[j] += h[2 * nlanes + l];
			diagonal[j] += h[3 * nlanes + l];
		}
	}
}

/* Replaces eta by w and r and sets totals, for any family and link, row by row. Like logistic() of step_cpu.h. */
static void
weigh_chunk(const GrPass *pass, const GrChunk *chunk, GrChunkTotals *totals)
{
	const double *response = chunk->columns + chunk->nterms * chunk->pitch;
	const double *prior_of = chunk->prior;
	double	   *weight = chunk->weight;
	double	   *residual = chunk->residual;
	const GrDistribution distribution = pass->distribution;
	const bool	observed = pass->measure == GR_MEASURE_OBSERVED || pass->kind == GR_PASS_JOINT;
	GrChunkTotals all = {.min_margin = INFINITY};

	for (int r = 0, n = chunk->nrows; r < n; r++)
	{
		double		eta = weight[r];
		double		y = response[r];
		double		prior = prior_of == NULL ? 1.0 : prior_of[r];
		double		margin = gr_margin_of(distribution, eta, y);
		GrGlmRow	row = gr_glm_row(distribution, eta, y, prior);

		if (observed)
			row = gr_observed_row(distribution, row, eta, y);
		weight[r] = row.u * row.u;
		residual[r] = row.u * row.v;
		all.loss += row.half_deviance;
		all.min_margin = margin < all.min_margin ? margin : all.min_margin;
		all.nones += y;
	}
	/* padding of the last vector */
	for (int r = chunk->nrows; r % GR_MAX_LANES != 0; r++)
		weight[r] = residual[r] = 0.0;
	*totals = all;
}

/* Like weigh_chunk(), for a linear pass. */
static void
weigh_chunk_linearly(const GrPass *pass, const GrChunk *chunk, GrChunkTotals *totals)
{
	const double *response = chunk->columns + chunk->nterms * chunk->pitch;

	*totals = (GrChunkTotals) {.min_margin = INFINITY};
	for (int r = 0; r < chunk->nrows; r++)
	{
		GrGlmRow	row = gr_first_row(pass->distribution, chunk->offset == NULL ? 0.0 : chunk->offset[r], response[r],
									   chunk->prior == NULL ? 1.0 : chunk->prior[r], pass->counts);

		chunk->weight[r] = row.u * row.u;
		chunk->residual[r] = row.u * row.v;
	}
	for (int r = chunk->nrows; r % GR_MAX_LANES != 0; r++)
		chunk->weight[r] = chunk->residual[r] = 0.0;
}

/* Weighs a chunk by mean_rows(). Returns false if its rows are not for that kernel. */
static bool
weigh_means(const GrPass *pass, const GrStepVersion *version, const GrChunk *chunk, GrChunkTotals *totals)
{
	GrMeanRule	rule = gr_mean_rule(pass->distribution, pass->measure == GR_MEASURE_OBSERVED);

	if (!gr_has_mean_rows(pass->distribution) ||
		!version->in_range(chunk->weight, chunk->columns + chunk->nterms * chunk->pitch, rule.unit, chunk->nrows))
		return false;
	version->mean_rows(&rule, chunk, totals);
	return true;
}

/*
 * Weighs a chunk of a JOINT pass, one row after another. Sets the first column of weighted to the derivatives of the
 * residuals by log(theta), and score and curvature of totals without the counts' own parts.
 */
static void
weigh_chunk_jointly(const GrPass *pass, const GrChunk *chunk, GrChunkTotals *totals)
{
	const double *response = chunk->columns + chunk->nterms * chunk->pitch;
	const GrThetaCount none = {{0.0, 0.0}, 0.0};

	memcpy(chunk->weighted, chunk->weight, (size_t) chunk->nrows * sizeof(double));
	weigh_chunk(pass, chunk, totals);
	for (int r = 0; r < chunk->nrows; r++)
	{
		double		eta = chunk->weighted[r];
		double		mu = exp(eta);
		GrGlmRow	row = gr_theta_row_of(pass->distribution, eta, response[r],
										  chunk->prior == NULL ? 1.0 : chunk->prior[r], none);

		chunk->weighted[r] = chunk->residual[r] * (mu / (mu + pass->distribution.theta));
		totals->score += row.u;
		totals->curvature += row.v;
	}
	for (int r = chunk->nrows; r % GR_MAX_LANES != 0; r++)
		chunk->weighted[r] = 0.0;
}

/* Weighs a chunk of a JOINT pass and adds its derivatives by theta to sums. */
static void
weigh_jointly(const GrPass *pass, const GrStepVersion *version, double *sums, const GrChunk *chunk,
			  GrChunkTotals *totals)
{
	const double *response = chunk->columns + chunk->nterms * chunk->pitch;
	double		theta = pass->distribution.theta;
	GrMeanRule	rule = gr_mean_rule(pass->distribution, true);
	GrThetaTable *table = gr_theta_table(theta);
	double	   *cross = sums + gr_pass_cross_at(pass->shape.nfeatures);
	double		value = 0.0;
	double		slope = 0.0;
	double		saturated = 0.0;
	double		losses = 0.0;

	rule.joint = true;
	if (gr_has_mean_rows(pass->distribution) && version->in_range(chunk->weight, response, 1.0, chunk->nrows))
		version->mean_rows(&rule, chunk, totals);
	else
		weigh_chunk_jointly(pass, chunk, totals);
	for (int r = 0; r < chunk->nrows; r++)
	{
		double		prior = chunk->prior == NULL ? 1.0 : chunk->prior[r];
		double		loss;
		GrThetaCount count = gr_theta_table_count(table, response[r], &loss);

		value += prior * count.part.value;
		slope += prior * count.part.slope;
		saturated += prior * count.saturated;
		losses += prior * loss;
	}
	totals->loss -= saturated;
	version->cross(chunk, cross);
	cross[chunk->nterms] += totals->score + theta * value;
	cross[chunk->nterms + 1] += totals->curvature + theta * theta * slope;
	cross[chunk->nterms + 2] += losses;
}

/* Adds the chunk's products w z z' to packed, a triangle of terms, in panels. Returns false if canceled. */
static bool
add_hessian(const GrStepVersion *version, double *packed, const GrChunk *chunk, GrPoll *poll)
{
	for (int first = 0; first < chunk->nterms; first += GR_HESSIAN_PANEL)
	{
		int			left = chunk->nterms - first;
		int64_t		ncolumns = left < GR_HESSIAN_PANEL ? left : GR_HESSIAN_PANEL;

		version->hessian(chunk, packed, first);
		/* a product takes at least a sixteenth of a nanosecond */
		if (gr_poll(poll, ncolumns * left * chunk->nrows / 8))
			return false;
	}
	return true;
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
	else if (pass->distribution.family == GR_POISSON && pass->distribution.link == GR_LOG &&
			 pass->distribution.exponent == 0)
	{
		double		losses = gr_count_losses(chunk->columns + chunk->nterms * chunk->pitch, chunk->prior, chunk->nrows);

		version->poisson(chunk, &totals);
		totals.loss += losses;
	}
	else if (pass->kind == GR_PASS_JOINT)
		weigh_jointly(pass, version, sums, chunk, &totals);
	else if (!gr_is_logistic(pass->distribution))
	{
		if (!weigh_means(pass, version, chunk, &totals))
			weigh_chunk(pass, chunk, &totals);
	}
	else if (chunk->prior != NULL)
		version->logistic_weighted(chunk, &totals);
	else
		version->logistic(chunk, &totals);
	sums[GR_SUM_NROWS] += chunk->nrows;
	gr_add_to_sum(&sums[GR_SUM_DEVIANCE_HI], &sums[GR_SUM_DEVIANCE_LO],
		   gr_two_sum(2.0 * totals.loss, 2.0 * log1p(totals.growth)));
	sums[GR_SUM_MIN_MARGIN] = fmin(sums[GR_SUM_MIN_MARGIN], totals.min_margin);
	if (gr_pass_is_fast(pass->kind))
	{
		version->gradient(chunk, opaque_one);
		if (!add_hessian(version, sums + GR_SUM_HEAD + 2 * (size_t) chunk->nterms, chunk, poll))
			return false;
	}
	else
	{
		version->curvature(chunk, opaque_one);
		sums[GR_SUM_NONES] += totals.nones;
	}
	return !gr_poll(poll, (int64_t) chunk->nrows * chunk->nterms);
}

/*
 * Loads the prior weights into prior, padded to whole vectors. Returns false if all weights are 1 and all responses 0
 * or 1.
 */
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
add_step(const GrPass *pass, double *sums, const double *rows, int64_t nrows, const StepWork *work, int max_lanes,
		 GrPoll *poll)
{
	const GrStepVersion *version = gr_step_version(max_lanes);
	int			p = pass->shape.nfeatures;
	int			ncols = gr_row_ncols(pass->shape);
	int			capacity = step_capacity(pass->kind, pass->shape);
	GrChunk		chunk = work->chunk;
	size_t		pitch = chunk.pitch;
	double	   *shift = work->shift;

	chunk.offset = pass->shape.offset ? chunk.columns + (size_t) (1 + gr_offset_at(pass->shape)) * pitch : NULL;
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
		if (pass->shape.weight &&
			load_prior(work->prior, pass->shape, rows + first * ncols, chunk.nrows, version->lanes))
			chunk.prior = work->prior;
		if (!add_step_chunk(pass, version, sums, &chunk, poll))
			return false;
	}
	add_lanes(pass, sums, &chunk, version->lanes);
	return true;
}

/* Moves the digits of hi[at] + lo[at] that fit to hi, the rest to lo. */
static void
settle(double *hi, double *lo, int64_t at)
{
	GrDD		sum = gr_two_sum(hi[at], lo[at]);

	hi[at] = sum.hi;
	lo[at] = sum.lo;
}

/* Makes a coarse pass: gr_add_exact() sums all but the products of z, and a FAST pass over the same rows sums those. */
static bool
add_coarse(const GrPass *pass, double *sums, const double *rows, int64_t nrows, GrArena *arena, int max_lanes,
		   GrPoll *poll)
{
	GrPass		fast = *pass;
	int			p = pass->shape.nfeatures;
	int			t = gr_nterms(p);
	StepWork	work;
	const double *hessian;
	double	   *hi = sums + GR_SUM_HEAD;
	double	   *lo = hi + gr_triangle(t + 2);

	fast.kind = GR_PASS_FAST;
	if (!gr_add_exact(pass, sums, rows, nrows, arena, max_lanes, poll))
		return false;
	carve_coarse(&work, pass->shape, arena);
	gr_pass_clear(GR_PASS_FAST, p, work.fast_sums);
	if (!add_step(&fast, work.fast_sums, rows, nrows, &work, GR_MAX_LANES, poll))
		return false;
	hessian = work.fast_sums + GR_SUM_HEAD + 2 * t;
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

/* Makes a pass of scores whose products are summed in float8; see GrPass.coarse. */
static bool
add_coarse_scores(const GrPass *pass, double *sums, const double *rows, int64_t nrows, GrArena *arena, int max_lanes,
				  GrPoll *poll)
{
	const GrStepVersion *version = gr_step_version(GR_MAX_LANES);
	int			p = pass->shape.nfeatures;
	int			t = gr_nterms(p);
	int			ncols = gr_row_ncols(pass->shape);
	int			capacity = step_capacity(GR_PASS_FAST, pass->shape);
	double	   *hi = sums + GR_SUM_HEAD;
	StepWork	work;
	GrChunk    *chunk = &work.chunk;
	const double *hessian;

	carve_coarse(&work, pass->shape, arena);
	hessian = work.fast_sums;
	memset(work.fast_sums, 0, (size_t) gr_triangle(t) * sizeof(double));
	memset(work.shift, 0, (size_t) ncols * sizeof(double));
	memcpy(work.shift, pass->shift, (size_t) p * sizeof(double));
	for (size_t r = 0; r < chunk->pitch; r++)
		chunk->columns[r] = 1.0;
	for (int64_t first = 0; first < nrows; first += capacity)
	{
		GrArena		rest = *arena;
		double	   *roots = chunk->residual;

		chunk->nrows = nrows - first < capacity ? (int) (nrows - first) : capacity;
		if (!gr_add_roots(pass, sums, rows + first * ncols, chunk->nrows, roots, &rest, max_lanes, poll))
			return false;
		version->transpose(chunk->columns + chunk->pitch, chunk->pitch, rows + first * ncols, chunk->nrows, ncols,
						   work.shift);
		for (int r = 0; r < chunk->nrows; r++)
			chunk->weight[r] = roots[r] * roots[r];
		for (int r = chunk->nrows; r % GR_MAX_LANES != 0; r++)
			chunk->weight[r] = 0.0;
		if (!add_hessian(version, work.fast_sums, chunk, poll))
			return false;
	}
	hi[0] += (double) nrows;
	/* sums of float8 have no digits for low halves */
	for (int i = 0; i < t; i++)
	{
		double	   *row = hi + gr_triangle(i + 1) + 1;

		for (int j = 0; j <= i; j++)
			row[j] += *hessian++;
	}
	return true;
}

static bool
add_rows(const GrPass *pass, double *sums, const double *rows, int64_t nrows, double *scratch, int max_lanes,
		 const GrHost *host)
{
	GrPoll		poll = {.host = host};
	GrArena		arena = gr_arena_on_lines(scratch);
	StepWork	work;

	if (gr_pass_is_fast(pass->kind) || pass->kind == GR_PASS_GRADIENT)
	{
		carve_step(&work, pass->kind, pass->shape, &arena);
		return add_step(pass, sums, rows, nrows, &work, max_lanes, &poll);
	}
	if (pass->measure == GR_MEASURE_COARSE_STEP)
		return add_coarse(pass, sums, rows, nrows, &arena, max_lanes, &poll);
	if (pass->coarse && pass->measure == GR_MEASURE_SCORES && pass->nfaces == 0)
		return add_coarse_scores(pass, sums, rows, nrows, &arena, max_lanes, &poll);
	return gr_add_exact(pass, sums, rows, nrows, &arena, max_lanes, &poll);
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

	/* the Gram matrix takes most of an exact pass; the other kinds gain from AVX-512 at any width */
	return add_rows(pass, sums, rows, nrows, scratch, exact ? gr_gram_lanes(gr_nterms(pass->shape.nfeatures)) : 8,
					host);
}

void
gr_pass_add(const GrPass *pass, double *sums, const double *rows, int64_t nrows, double *scratch)
{
	(void) gr_pass_add_polling(pass, sums, rows, nrows, scratch, NULL);
}
