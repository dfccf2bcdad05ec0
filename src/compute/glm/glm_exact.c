/*
 * glm_exact.c: the passes EXACT and FACE on the CPU. They transform rows so that their Gram matrix is the requested
 * sum, and call gr_gram_add(); see glm.h.
 */
#include "compute/glm/glm.h"

#include <math.h>
#include <string.h>

#include "compute/base/arena.h"
#include "compute/glm/edge_row.h"
#include "compute/glm/glm_row.h"
#include "compute/glm/glm_sums.h"
#include "compute/glm/step_cpu.h"
#include "compute/glm/theta_table.h"
#include "compute/linalg/gram.h"

/* rows of a chunk, as in gr_gram_add() */
#define NROWS 64
#define PITCH (NROWS + GR_MAX_LANES)

static const double log_2 = 0x1.62e42fefa39efp-1;

typedef struct ExactWork
{
	const GrPass *pass;
	const GrStepVersion *version;
	int			max_lanes;
	GrPoll	   *poll;
	bool		observed;		/* u and v of the chunk are those of the pass's measure if it is OBSERVED */
	bool		at_zero;		/* EXACT with beta = 0 and no faces: predictors are not computed */
	double	   *columns;		/* columns of the rows; later the scratch of gr_gram_add() */
	double	   *transformed;	/* NROWS rows of exact_shape(), padded by a vector */
	double	   *zeros;			/* a zero per column of a row */
	double	   *roots;			/* gr_add_roots(): roots of the chunk's weights, of all rows; NULL: products add up */
	double	   *weighted_gram;	/* for rows with weights but without offsets: hi and lo of a triangle, and a shift */

	GrThetaTable *theta;		/* of a pass of GR_MEASURE_THETA; else NULL */

	/* the rows of the chunk that take part; entries per row, or per row that takes part */
	int			nkept;
	int			kept[NROWS];
	double		eta[PITCH];
	double		size[PITCH];
	double		low[PITCH];
	double		t[NROWS];
	double		u[NROWS];
	double		v[NROWS];
} ExactWork;

/* Returns the shape of transformed rows: u, u z, v. */
static GrRowShape
exact_shape(GrRowShape shape)
{
	return gr_plain_shape(gr_nterms(shape.nfeatures));
}

/*
 * Returns the size of work->columns, which holds columns or panels of the Gram matrix. Rows with weights have more
 * panels.
 */
static size_t
exact_columns_nbytes(GrRowShape shape)
{
	size_t		columns = (size_t) gr_row_ncols(shape) * PITCH * sizeof(double);
	size_t		panels = gr_gram_scratch_nbytes(exact_shape(shape));
	size_t		weighted = gr_gram_scratch_nbytes(shape);

	if (weighted > panels)
		panels = weighted;
	return columns > panels ? columns : panels;
}

static void
carve_work(ExactWork *work, GrRowShape shape, GrArena *arena)
{
	work->columns = gr_carve(arena, exact_columns_nbytes(shape));
	work->transformed = gr_carve_doubles(arena, gr_row_ncols(exact_shape(shape)) * NROWS + GR_MAX_LANES);
	work->zeros = gr_carve_doubles(arena, gr_row_ncols(shape));
	work->weighted_gram = !shape.weight || shape.offset ? NULL :
		gr_carve_doubles(arena, 2 * gr_triangle(gr_norder(shape.nfeatures)) + gr_nterms(shape.nfeatures));
}

void
gr_exact_count(GrRowShape shape, GrArena *arena)
{
	ExactWork	work;

	carve_work(&work, shape, arena);
}

/* Computes z' face of all rows of a chunk. Adds the products with the low halves first. */
static void
measure_face(ExactWork *work, int face, int nrows)
{
	int			p = work->pass->shape.nfeatures;
	const double *direction = work->pass->faces + (size_t) face * gr_face_size(p);

	work->version->predict_exact(work->low, work->columns, PITCH, nrows, p, direction + gr_nterms(p), work->pass->shift,
								 NULL);
	work->version->predict_exact(work->eta, work->columns, PITCH, nrows, p, direction, work->pass->shift, work->low);
	work->version->magnitude(work->size, work->columns, PITCH, nrows, p, direction, work->pass->shift);
}

static bool
on_face(const ExactWork *work, int face, int row)
{
	return fabs(work->eta[row]) <= work->pass->face_absolute[face] + work->pass->face_relative * work->size[row];
}

/* Drops rows that are off any of the first nfaces faces. */
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

/* Counts rows off the candidate by their sides. Keeps rows on the candidate or on its wrong side, as (1, z), e. */
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

		bool		on = on_face(work, candidate, row);

		if (!on && margin > 0.0)
		{
			sums[GR_SUM_NRIGHT] += 1.0;
			sums[GR_SUM_MIN_RIGHT] = fmin(sums[GR_SUM_MIN_RIGHT], margin);
			continue;
		}
		sums[on ? GR_SUM_NONES : GR_SUM_NWRONG] += on ? y : 1.0;
		work->kept[n] = row;
		work->u[n] = 1.0;
		work->v[n] = work->eta[row];
		n++;
	}
	work->nkept = n;
}

static void
predict_rows(ExactWork *work, int nrows)
{
	GrRowShape	shape = work->pass->shape;

	work->version->predict_exact(work->eta, work->columns, PITCH, nrows, shape.nfeatures, work->pass->beta,
								 work->pass->shift,
								 shape.offset ? work->columns + gr_offset_at(shape) * PITCH : NULL);
}

/* Kinds of rows in weigh_kind(). */
typedef enum RowKind
{
	WEIGHTED_LOGISTIC,
	THETA_ROW,
	EDGE_ROW,
	OTHER_ROW
} RowKind;

/* Computes u, v and the head's sums of the kept rows. kind: a constant, so that the compiler makes a loop per kind. */
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
		double		loss;
		double		margin = kind >= THETA_ROW ? gr_margin_of(distribution, eta, y) : gr_margin(eta, y);
		GrGlmRow	row = kind == WEIGHTED_LOGISTIC ? gr_logistic_row(eta, y, gr_row_weight(at, shape)) :
			kind == THETA_ROW ? gr_theta_row_of(distribution, eta, y, gr_row_weight(at, shape),
												gr_theta_table_count(work->theta, y, &loss)) :
			kind == EDGE_ROW ? gr_edge_row(work->pass->measure, distribution, eta, y, gr_row_weight(at, shape),
										   work->pass->edge) :
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
	gr_add_to_sum(&sums[GR_SUM_DEVIANCE_HI], &sums[GR_SUM_DEVIANCE_LO], gr_dd_scale(half, 2.0));
}

/* True if all kept rows have weight 1 and a response of 0 or 1. */
static bool
are_plain(const ExactWork *work, const double *rows)
{
	GrRowShape	shape = work->pass->shape;
	const size_t stride = (size_t) gr_row_ncols(shape);

	for (int k = 0; k < work->nkept && shape.weight; k++)
	{
		const double *at = rows + (size_t) work->kept[k] * stride;
		double		y = gr_row_response(at, shape);

		if (gr_row_weight(at, shape) != 1.0 || (y != 0.0 && y != 1.0))
			return false;
	}
	return true;
}

/* True if all weights, if any, are far from the ends of float8's range. */
static bool
are_of_weight(const double *prior, int nrows)
{
	for (int r = 0; r < nrows && prior != NULL; r++)
		if (!(prior[r] >= GR_MEAN_LEAST && prior[r] <= GR_MEAN_MOST))
			return false;
	return true;
}

#define GROWTHS 4

/*
 * Like weigh_kind() for plain rows of a logistic regression, on vectors. Takes one logarithm of a product for the
 * deviance, as logistic() of step_cpu.h does, except for the log(2) of rows whose predictors are 0. growths: several
 * products, so that they do not wait for each other.
 */
static void
weigh_plain(ExactWork *work, double *sums, int nrows)
{
	const double *response = work->columns + (size_t) gr_response_at(work->pass->shape) * PITCH;
	double		growths[GROWTHS] = {0.0};
	double		growth = 0.0;
	double		ones = 0.0;
	double		nzeros = 0.0;
	double		least = sums[GR_SUM_MIN_MARGIN];
	GrDD		half = {0.0, 0.0};

	work->version->logistic_exact(work->u, work->v, work->t, work->eta, response, nrows);
	for (int k = 0; k < work->nkept; k++)
	{
		int			r = work->kept[k];
		double		y = response[r];
		double		margin = gr_margin(work->eta[r], y);
		double		zero = work->t[r] == 1.0 ? 1.0 : 0.0;
		double		t = work->t[r] - zero;
		double	   *g = &growths[k % GROWTHS];
		GrDD		sum = gr_two_sum(half.hi, margin >= 0.0 ? 0.0 : -margin);

		half.hi = sum.hi;
		half.lo += sum.lo;
		*g = *g * (1.0 + t) + t;
		nzeros += zero;
		work->u[k] = work->u[r];
		work->v[k] = work->v[r];
		least = margin < least ? margin : least;
		ones += y;
	}
	for (int l = 0; l < GROWTHS; l++)
		growth = growth * (1.0 + growths[l]) + growths[l];
	half = gr_dd_add(gr_two_sum(half.hi, half.lo), gr_dd(log1p(growth)));
	half = gr_dd_add(half, gr_two_prod(nzeros, log_2));
	sums[GR_SUM_MIN_MARGIN] = least;
	sums[GR_SUM_NONES] += ones;
	gr_add_to_sum(&sums[GR_SUM_DEVIANCE_HI], &sums[GR_SUM_DEVIANCE_LO], gr_dd_scale(half, 2.0));
}

/*
 * Like weigh_kind() for the families of mean_cpu.h, on vectors. Returns false if the rows are not for that kernel.
 * work->size becomes the half deviances.
 */
static bool
weigh_means(ExactWork *work, double *sums, int nrows)
{
	const GrPass *pass = work->pass;
	GrMeanRule	rule = gr_mean_rule(pass->distribution, pass->measure == GR_MEASURE_OBSERVED);
	const double *response = work->columns + (size_t) gr_response_at(pass->shape) * PITCH;
	const double *prior = pass->shape.weight ? work->columns + (size_t) gr_weight_at(pass->shape) * PITCH : NULL;
	GrMeanRows	means = {work->eta, response, prior, work->u, work->v, work->size, nrows};
	double		least = sums[GR_SUM_MIN_MARGIN];
	double		nones = 0.0;
	GrDD		half = {0.0, 0.0};

	if (!gr_has_mean_rows(pass->distribution) ||
		!work->version->in_range(work->eta, response, rule.unit, nrows) || !are_of_weight(prior, nrows))
		return false;
	work->version->mean_rows_exact(&rule, &means);
	for (int k = 0; k < work->nkept; k++)
	{
		int			r = work->kept[k];
		double		margin = gr_margin_of(pass->distribution, work->eta[r], response[r]);
		GrDD		sum = gr_two_sum(half.hi, work->size[r]);

		half.hi = sum.hi;
		half.lo += sum.lo;
		work->u[k] = work->u[r];
		work->v[k] = work->v[r];
		least = margin < least ? margin : least;
		nones += response[r];
	}
	half = gr_two_sum(half.hi, half.lo);
	sums[GR_SUM_MIN_MARGIN] = least;
	sums[GR_SUM_NONES] += nones;
	gr_add_to_sum(&sums[GR_SUM_DEVIANCE_HI], &sums[GR_SUM_DEVIANCE_LO], gr_dd_scale(half, 2.0));
	return true;
}

static void
weigh_rows(ExactWork *work, double *sums, const double *rows, int nrows)
{
	if (work->pass->measure == GR_MEASURE_THETA)
		weigh_kind(work, sums, rows, THETA_ROW);
	else if (gr_measure_is_of_edge(work->pass->measure))
		weigh_kind(work, sums, rows, EDGE_ROW);
	else if (!gr_is_logistic(work->pass->distribution))
	{
		work->observed = weigh_means(work, sums, nrows);
		if (!work->observed)
			weigh_kind(work, sums, rows, OTHER_ROW);
	}
	else if (are_plain(work, rows))
		weigh_plain(work, sums, nrows);
	else
		weigh_kind(work, sums, rows, WEIGHTED_LOGISTIC);
}

/* Computes the squared lengths of C z of all rows of a chunk in work->size. */
static void
measure_lengths(ExactWork *work, int nrows)
{
	int			nterms = gr_nterms(work->pass->shape.nfeatures);
	const double *factor = work->pass->factor;
	double		sum[PITCH];

	memset(work->size, 0, sizeof(work->size));
	for (int i = 0; i < nterms; factor += ++i)
	{
		for (int r = 0; r < PITCH; r++)
			sum[r] = factor[0];
		for (int j = 1; j <= i; j++)
		{
			const double *column = work->columns + (size_t) (j - 1) * PITCH;
			double		shift = work->pass->shift[j - 1];

			for (int r = 0; r < nrows; r++)
				sum[r] += factor[j] * (column[r] - shift);
		}
		for (int r = 0; r < nrows; r++)
			work->size[r] += sum[r] * sum[r];
	}
}

/* Changes u and v by the pass's measure. Counts rows without a score, whose u becomes 0. */
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

		if (pass->measure == GR_MEASURE_OBSERVED)
		{
			if (work->observed)
				return;
			row = gr_observed_row(pass->distribution, row, work->eta[r],
								  gr_row_response(rows + (size_t) r * stride, pass->shape));
			work->u[k] = row.u;
			work->v[k] = row.v;
			continue;
		}
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
 * Adds the products of the kept rows with v, and their sums: the last row and the first column of the matrix. Sums as
 * in Dot2 of Ogita, Rump and Oishi (2005).
 */
static void
add_border(ExactWork *work, GrGram *gram)
{
	double	   *hi = gram->hi;
	double	   *lo = gram->lo;
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

/* Weighs rows for a linear pass; see GrPass. */
static void
weigh_rows_linearly(ExactWork *work, double *sums, const double *rows)
{
	GrRowShape	shape = work->pass->shape;

	for (int k = 0; k < work->nkept; k++)
	{
		const double *at = rows + work->kept[k] * gr_row_ncols(shape);
		GrGlmRow	row = gr_first_row(work->pass->distribution, gr_row_offset(at, shape), gr_row_response(at, shape),
									   gr_row_weight(at, shape), work->pass->counts);

		work->u[k] = row.u;
		work->v[k] = row.v;
		sums[GR_SUM_NONES] += gr_row_response(at, shape);
	}
}

/* Weighs rows without weights whose predictors are 0, to the bit as weigh_plain() does. */
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
	gr_add_to_sum(&sums[GR_SUM_DEVIANCE_HI], &sums[GR_SUM_DEVIANCE_LO],
				  gr_two_prod(2.0 * nrows, log_2));
}

static bool
add_exact_chunk(ExactWork *work, double *sums, const double *rows, int nrows)
{
	const GrPass *pass = work->pass;
	GrRowShape	transformed = exact_shape(pass->shape);
	GrGram		gram = {.hi = sums + GR_SUM_HEAD,.nfeatures = transformed.nfeatures};

	gram.lo = gram.hi + gr_gram_nentries(transformed.nfeatures);
	if (!work->at_zero)
		work->version->transpose(work->columns, PITCH, rows, nrows, gr_row_ncols(pass->shape), work->zeros);
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
			weigh_rows(work, sums, rows, nrows);
			if (pass->measure > GR_MEASURE_THETA && !gr_measure_is_of_edge(pass->measure))
				apply_measure(work, sums, rows, nrows);
		}
	}
	if (work->roots != NULL)
	{
		memcpy(work->roots, work->u, (size_t) nrows * sizeof(double));
		return true;
	}
	if (work->nkept == 0)
		return true;
	work->version->weigh(work->transformed, rows, gr_row_ncols(pass->shape), work->kept, work->nkept,
						 pass->shape.nfeatures, pass->shift, work->u, work->v);
	if (pass->measure == GR_MEASURE_COARSE_STEP)
	{
		add_border(work, &gram);
		return true;
	}
	return gr_gram_add_polling(&gram, work->transformed, work->nkept, transformed, work->columns, work->max_lanes,
							   work->poll);
}

/* Makes the pass of gr_pass_is_weighted_gram(). work->columns: scratch of gr_gram_add(). */
static bool
add_weighted_gram(const ExactWork *work, double *sums, const double *rows, int64_t nrows)
{
	const GrPass *pass = work->pass;
	GrRowShape	shape = pass->shape;
	int			p = shape.nfeatures;
	double	   *first = sums + GR_SUM_HEAD;
	GrDDVector	total = {first, first + gr_triangle((int64_t) gr_norder(p) + 1)};
	GrGram		gram = gr_gram_at(work->weighted_gram, p);

	gr_gram_clear(&gram);
	memcpy(gram.shift, pass->shift, (size_t) p * sizeof(double));
	if (!gr_gram_add_polling(&gram, rows, nrows, shape, work->columns, work->max_lanes, work->poll))
		return false;
	for (int64_t i = 0; i < gr_norder(p); i++)
		for (int64_t j = 0; j <= i; j++)
		{
			int64_t		at = gr_packed(i + 1, j + 1);

			gr_dd_set(total, at, gr_dd_add(gr_dd_get(total, at), gr_gram_entry(&gram, i, j)));
		}
	for (int64_t r = 0; r < nrows; r++)
		sums[GR_SUM_NONES] += gr_row_response(rows + r * gr_row_ncols(shape), shape);
	sums[GR_SUM_NROWS] += (double) nrows;
	total.hi[0] += (double) nrows;
	return true;
}

/* Prepares work for passes other than that of gr_pass_is_weighted_gram(). */
static void
begin_exact(ExactWork *work)
{
	const GrPass *pass = work->pass;

	work->version = gr_step_version(work->max_lanes);
	work->at_zero = pass->kind == GR_PASS_EXACT && pass->nfaces == 0 && !pass->shape.weight && !pass->shape.offset &&
		gr_is_logistic(pass->distribution) && pass->measure == GR_MEASURE_STEP;
	for (int j = 0; j < gr_nterms(pass->shape.nfeatures) && work->at_zero; j++)
		work->at_zero = pass->beta[j] == 0.0;
	memset(work->zeros, 0, (size_t) gr_row_ncols(pass->shape) * sizeof(double));
	work->theta = pass->measure == GR_MEASURE_THETA ? gr_theta_table(pass->distribution.theta) : NULL;
}

/* Adds rows chunk by chunk. Returns false if canceled. */
static bool
add_exact_rows(ExactWork *work, double *sums, const double *rows, int64_t nrows)
{
	const GrPass *pass = work->pass;
	double	   *roots = work->roots;

	for (int64_t first = 0; first < nrows; first += NROWS)
	{
		int			n = nrows - first < NROWS ? (int) (nrows - first) : NROWS;

		if (roots != NULL)
			work->roots = roots + first;
		/* besides the Gram matrix, measuring faces takes most of the time */
		if (!add_exact_chunk(work, sums, rows + first * gr_row_ncols(pass->shape), n) ||
			gr_poll(work->poll, (int64_t) n * gr_nterms(pass->shape.nfeatures) * (3 + 2 * pass->nfaces)))
			return false;
	}
	return true;
}

bool
gr_add_exact(const GrPass *pass, double *sums, const double *rows, int64_t nrows, GrArena *arena, int max_lanes,
		  GrPoll *poll)
{
	ExactWork	work;

	carve_work(&work, pass->shape, arena);
	work.pass = pass;
	work.max_lanes = max_lanes;
	work.poll = poll;
	work.roots = NULL;
	if (gr_pass_is_weighted_gram(pass))
		return add_weighted_gram(&work, sums, rows, nrows);
	begin_exact(&work);
	return add_exact_rows(&work, sums, rows, nrows);
}

bool
gr_add_roots(const GrPass *pass, double *sums, const double *rows, int64_t nrows, double *roots, GrArena *arena,
			 int max_lanes, GrPoll *poll)
{
	ExactWork	work;

	carve_work(&work, pass->shape, arena);
	work.pass = pass;
	work.max_lanes = max_lanes;
	work.poll = poll;
	work.roots = roots;
	begin_exact(&work);
	return add_exact_rows(&work, sums, rows, nrows);
}
