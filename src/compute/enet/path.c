/*
 * path.c: elastic nets from a Gram matrix: standardisation, penalties and the path over lambda; see path.h.
 */
#include "compute/enet/path.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "compute/base/arena.h"
#include "compute/enet/path_kernels.h"
#include "compute/linear/ols.h"

/*
 * A step to less than LEAST_RATIO times the present lambda goes through intermediate ones, each BETWEEN_RATIO times the
 * one before, so that few features enter at a time.
 */
#define LEAST_RATIO 0.8
#define BETWEEN_RATIO 0.9
/* Below this share of the lambda that a step began at there are no intermediate ones. */
#define LEAST_BETWEEN 1e-6

/* Error of gradients, as a share of a feature's length times that of the terms of the response. */
#define GRADIENT_ROUNDING 0x1p-84

/*
 * Up to this many features the factor is in double-double from the beginning, if alpha is 1. (With other alphas the
 * factor is computed again at each lambda.)
 */
#define MOST_EXACT 16

/* Tolerances for sums of float8 precision */
#define ROUNDED_ALIAS_TOLERANCE 1e-11
#define ROUNDED_GRADIENT 0x1p-46

#define NVECTORS 15				/* double-double vectors of p + 2 entries, padded with zeros */

/* Returns the square root in double-double, or 0 for numbers that are not positive. */
static GrDD
square_root(GrDD a)
{
	double		root = sqrt(a.hi);
	GrDD		square = gr_two_prod(root, root);

	if (!(a.hi > 0))
		return gr_dd(0);
	return gr_fast_two_sum(root, gr_dd_to_double(gr_dd_sub(a, square)) / (2 * root));
}

/*
 * Workspace
 */

static void
carve_path(GrPath *path, int64_t p, bool intercept, GrArena *arena)
{
	GrDDVector *vectors[NVECTORS] = {
		&path->sums, &path->diagonal, &path->unit1, &path->unit2, &path->penalty1, &path->penalty2, &path->response,
		&path->gradient, &path->b, &path->residual, &path->step, &path->work, &path->row, &path->placed,
		&path->placed_gradient
	};
	int64_t		padded = gr_path_padded(p + 2);

	for (int k = 0; k < NVECTORS; k++)
		*vectors[k] = gr_carve_dd(arena, padded);
	path->factor.d = gr_carve_dd(arena, p);
	path->scale = gr_carve_doubles(arena, p + 1);
	path->norm = gr_carve_doubles(arena, p + 1);
	path->usable = gr_carve_bools(arena, p);
	path->positive = gr_carve_bools(arena, p);
	path->skipped = gr_carve_bools(arena, p);
	path->sign = gr_carve(arena, (size_t) p);
	path->slot = gr_carve_ints(arena, p);
	path->slot_feature = gr_carve_ints(arena, p);
	path->active = gr_carve_ints(arena, p);
	path->place = gr_carve_ints(arena, p);
	path->list = gr_carve_ints(arena, p);
	path->entering = gr_carve_ints(arena, p);
	path->batch = gr_carve_doubles(arena, GR_QUICK_MOST * padded);
	path->quick.d = gr_carve_doubles(arena, padded);
	path->quick.l = gr_carve_doubles(arena, gr_path_row_at(padded));
	path->products = gr_carve_dd(arena, gr_path_row_at(padded));
	path->columns = gr_carve_doubles(arena, (p + GR_PATH_PANEL - 1) / GR_PATH_PANEL * p * GR_PATH_PANEL);
	path->factor.l = gr_carve_dd(arena, p * (p - 1) / 2);
	if (!intercept)
	{
		GrDDVector	moved = gr_carve_dd(arena, gr_triangle(p + 2));

		path->gram.hi = moved.hi;
		path->gram.lo = moved.lo;
		path->gram.shift = gr_carve_doubles(arena, p + 1);
	}
}

size_t
gr_path_workspace_nbytes(int nfeatures, bool intercept)
{
	GrPath		path;
	GrArena		arena = {.base = NULL};

	carve_path(&path, nfeatures, intercept, &arena);
	return gr_arena_lines_nbytes(&arena);
}

/*
 * Opening
 */

/* Sets path->gram: the caller's sums, about any shift, if there is an intercept; otherwise a copy about 0. */
static bool
take_sums(GrPath *path, const GrGram *gram, GrError *err)
{
	if (path->intercept)
		path->gram = *gram;
	else if (!gr_gram_copy_about(&path->gram, gram, NULL, &path->poll))
		return gr_fail(err, GR_CANCELED, 0, "elastic net");
	return true;
}

GrDD
gr_path_spread(const GrGram *gram, int k)
{
	GrDD		total = gr_gram_entry(gram, 0, 0);
	double		shift = gr_gram_shift_of(gram, k + 1);
	GrDD		sum = gr_gram_entry(gram, k + 1, 0);
	GrDD		square = gr_gram_entry(gram, k + 1, k + 1);
	GrDD		spread = gr_dd_sub(square, gr_dd_div(gr_dd_mul(sum, sum), total));
	double		rounding = fmax(GR_ALIAS_TOLERANCE * square.hi,
								GR_ROUNDING_TOLERANCE * (square.hi + total.hi * shift * shift));

	return spread.hi > rounding ? spread : gr_dd(0);
}

/*
 * Sets the sum, sum of squares and product with the response of column k, and its scale, which brings the square into 1
 * .. 4. Fails with GR_OUT_OF_RANGE.
 */
static bool
scale_column(GrPath *path, int k, GrError *err)
{
	const GrGram *gram = &path->gram;
	GrDD		square = gr_gram_entry(gram, k + 1, k + 1);
	GrDD		sum = gr_gram_entry(gram, k + 1, 0);

	if (!isfinite(square.hi) || !isfinite(sum.hi) || square.hi < 0 ||
		gr_packed_underflowed(gr_gram_triangle(gram), (int64_t) path->p + 2, k + 1))
		return gr_fail(err, GR_OUT_OF_RANGE, k, "%s", "");
	if (!path->intercept)
		sum = gr_dd(0);
	gr_dd_set(path->sums, k, sum);
	square = gr_dd_sub(square, gr_dd_div(gr_dd_mul(sum, sum), path->total));
	path->scale[k] = square.hi > 0 ? ldexp(1, -(int) floor(ilogb(square.hi) / 2.0)) : 1;
	square = gr_dd_scale(gr_dd_scale(square, path->scale[k]), path->scale[k]);
	gr_dd_set(path->diagonal, k, square.hi > 0 ? square : gr_dd(0));
	path->norm[k] = square.hi > 0 ? sqrt(square.hi) : 0;
	if (k < path->p)
		gr_dd_set(path->response, k, gr_gram_entry(gram, path->p + 1, k + 1));
	return true;
}

/* Returns the scaled standard deviation of column k; 0 if the column does not vary. */
static GrDD
deviation_of(const GrPath *path, const GrPathOptions *options, const GrGram *gram, int k)
{
	GrDD		spread;

	if (options->deviation != NULL)
		return gr_dd((k < path->p ? options->deviation[k] : 1) * path->scale[k]);
	spread = gr_path_spread(gram, k);
	return square_root(gr_dd_div(gr_dd_scale(gr_dd_scale(spread, path->scale[k]), path->scale[k]), path->total));
}

/*
 * Returns s_y, scaled: the response's standard deviation or, without an intercept, the root of its mean square. 0 if
 * the response is constant, or 0 in all rows.
 */
static GrDD
response_unit(const GrPath *path, const GrPathOptions *options, const GrGram *gram)
{
	if (path->intercept || options->deviation != NULL)
		return deviation_of(path, options, gram, path->p);
	return square_root(gr_dd_div(gr_dd_get(path->diagonal, path->p), path->total));
}

/* Sets the penalties at a lambda of 1: unit1 = pf N s_j, unit2 = pf N s_j^2 / s_y. */
static void
set_units(GrPath *path, const GrPathOptions *options, const GrGram *gram)
{
	int			p = path->p;
	GrDD		sum = gr_dd(0);
	GrDD		n = options->deviation == NULL ? path->total : gr_dd(options->total);
	GrDD		response_sd = response_unit(path, options, gram);

	path->response_varies = response_sd.hi > 0;
	for (int j = 0; j < p; j++)
	{
		double		factor = options->penalty == NULL ? 1 : options->penalty[j];

		sum = gr_dd_add(sum, gr_dd(isinf(factor) ? 1 : factor));
	}
	for (int j = 0; j < p; j++)
	{
		double		factor = options->penalty == NULL ? 1 : options->penalty[j];
		GrDD		deviation = deviation_of(path, options, gram, j);
		GrDD		own = options->standardize ? deviation : gr_dd(path->scale[j]);
		GrDD		unit = gr_dd_mul(own, gr_dd_div(gr_dd_mul_d(n, isinf(factor) ? 1 : factor),
													gr_dd_div(sum, gr_dd(p))));

		path->usable[j] = deviation.hi > 0 && !isinf(factor);
		path->nusable += path->usable[j];
		path->positive[j] = options->positive != NULL && options->positive[j];
		path->any_positive |= path->positive[j];
		gr_dd_set(path->unit1, j, unit);
		gr_dd_set(path->unit2, j, gr_dd(0));
		if (path->response_varies && unit.hi > 0)
			gr_dd_set(path->unit2, j, gr_dd_div(gr_dd_mul(unit, own), response_sd));
	}
}

/* Centres and scales the products with the response, which are the gradient at coefficients of 0. */
static void
set_products(GrPath *path)
{
	int			p = path->p;

	gr_path_centre(path->response, (GrDDConstVector) {path->sums.hi, path->sums.lo},
				   gr_dd_div(gr_dd_get(path->sums, p), path->total), path->scale, path->scale[p], p);
	memcpy(path->gradient.hi, path->response.hi, (size_t) p * sizeof(double));
	memcpy(path->gradient.lo, path->response.lo, (size_t) p * sizeof(double));
}

bool
gr_path_open(GrPath *path, const GrPathOptions *options, const GrGram *gram, void *workspace, const GrHost *host,
			 GrError *err)
{
	int			p = gram->nfeatures;
	GrArena		arena = gr_arena_on_lines(workspace);

	memset(path, 0, sizeof(*path));
	path->kernels = gr_path_kernels(GR_PATH_LANES);
	path->p = p;
	path->alpha = options->alpha;
	path->intercept = options->intercept;
	path->poll.host = host;
	path->total = gr_gram_entry(gram, 0, 0);
	path->lambda = INFINITY;
	path->rounded = options->rounded;
	path->exact = p <= MOST_EXACT && path->alpha == 1;
	path->alias_tolerance = options->rounded ? ROUNDED_ALIAS_TOLERANCE : GR_ALIAS_TOLERANCE;
	path->gradient_rounding = options->rounded ? ROUNDED_GRADIENT : GRADIENT_ROUNDING;
	carve_path(path, p, path->intercept, &arena);
	if (!(path->total.hi > 0) || !isfinite(path->total.hi))
		return gr_fail(err, GR_OUT_OF_RANGE, p, "%s", "");
	if (!take_sums(path, gram, err))
		return false;
	for (int k = 0; k <= p; k++)
		if (!scale_column(path, k, err))
			return false;
	set_products(path);
	set_units(path, options, gram);
	for (int j = 0; j < p; j++)
	{
		gr_dd_set(path->b, j, gr_dd(0));
		gr_dd_set(path->penalty2, j, gr_dd(0));
		gr_dd_set(path->penalty1, j, gr_dd(path->unit1.hi[j] > 0 ? INFINITY : 0));
		path->sign[j] = 0;
		path->slot[j] = path->place[j] = -1;
	}
	return true;
}

/* The path */

/* Sets penalty1 and penalty2 for a scaled lambda. */
static void
set_penalties(GrPath *path, double lambda)
{
	GrDDConstVector unit1 = {path->unit1.hi, path->unit1.lo};
	GrDDConstVector unit2 = {path->unit2.hi, path->unit2.lo};

	path->lambda = lambda;
	gr_path_multiply(path->penalty1, unit1, gr_two_prod(lambda, path->alpha), path->p);
	if (path->alpha < 1)
		gr_path_multiply(path->penalty2, unit2, gr_dd_mul_d(gr_two_sum(1, -path->alpha), lambda), path->p);
}

/* Finds the minimum at a scaled lambda. */
static bool
go_to(GrPath *path, double lambda, GrError *err)
{
	bool		same = path->lambda == lambda;

	set_penalties(path, lambda);
	if (path->alpha < 1 && !same && !gr_path_factor_again(path))
		return gr_fail(err, GR_CANCELED, 0, "elastic net");
	return gr_path_minimise(path, err);
}

bool
gr_path_resume(GrPath *path, double lambda, const double *coef, GrError *err)
{
	int			p = path->p;

	/* an infinite lambda keeps the penalties of gr_path_open() */
	if (!isinf(lambda))
		set_penalties(path, lambda * path->scale[p]);
	/* residual serves as room: it is not used before the first step */
	for (int j = 0; j < p; j++)
		path->residual.hi[j] = coef[j] * path->scale[p] / path->scale[j];
	return gr_path_begin_at(path, path->residual.hi, err);
}

/* Returns the least scaled lambda at which every penalised coefficient is 0. */
static double
largest_lambda(const GrPath *path)
{
	double		alpha = fmax(path->alpha, GR_PATH_LEAST_ALPHA);
	double		largest = 0;

	for (int j = 0; j < path->p; j++)
	{
		GrDD		unit = gr_dd_mul_d(gr_dd_get(path->unit1, j), alpha);

		if (path->usable[j] && unit.hi > 0)
			largest = fmax(largest, fabs(gr_dd_to_double(gr_dd_div(gr_dd_get(path->gradient, j), unit))));
	}
	/* The next larger number, so that rounding makes no coefficient nonzero */
	return largest > 0 ? nextafter(largest, INFINITY) : 0;
}

/* Fits the features that are not penalised, and sets *largest to largest_lambda(). */
static bool
find_largest_lambda(GrPath *path, double *largest, GrError *err)
{
	if (!gr_path_minimise(path, err))
		return false;
	if (path->nactive > 0 && !gr_path_make_all_exact(path))
		return gr_fail(err, GR_CANCELED, 0, "elastic net");
	*largest = largest_lambda(path);
	return true;
}

bool
gr_path_grid(GrPath *path, double min_ratio, int *n, double *lambda, GrError *err)
{
	double		largest;

	if (!find_largest_lambda(path, &largest, err))
		return false;
	/* the response does not depend on the features */
	if (largest == 0)
		*n = 1;
	for (int k = 0; k < *n; k++)
		lambda[k] = largest * (k == 0 ? 1 : pow(min_ratio, (double) k / (*n - 1))) / path->scale[path->p];
	return true;
}

/* Moves to a scaled lambda through intermediate ones. */
static bool
approach(GrPath *path, double lambda, GrError *err)
{
	if (isinf(path->lambda))
	{
		double		largest;

		if (!find_largest_lambda(path, &largest, err))
			return false;
		if (lambda < largest && !go_to(path, largest, err))
			return false;
	}
	if (!isinf(path->lambda))
	{
		double		least = fmax(lambda, LEAST_BETWEEN * path->lambda);

		while (path->lambda * LEAST_RATIO > least)
			if (!go_to(path, path->lambda * BETWEEN_RATIO, err))
				return false;
	}
	return go_to(path, lambda, err);
}

/* Writes the intercept, if there is one, and the coefficients, on the columns' own scale. */
static bool
give_coefficients(const GrPath *path, double *coef, GrError *err)
{
	int			p = path->p;
	const GrGram *gram = &path->gram;
	GrDD		constant = gr_dd_add(gr_dd(gr_gram_shift_of(gram, p + 1)),
									 gr_dd_div(gr_gram_entry(gram, p + 1, 0), path->total));

	for (int j = 0; j < p; j++)
	{
		GrDD		b = gr_dd_scale(gr_dd_scale(gr_dd_get(path->b, j), path->scale[j]), 1 / path->scale[p]);

		coef[j + path->intercept] = b.hi;
		if (!isfinite(b.hi))
		{
			err->value = b.hi;
			return gr_fail(err, GR_RESULT_OUT_OF_RANGE, j, "coefficient");
		}
		if (b.hi != 0)
		{
			GrDD		mean = gr_dd_div(gr_dd_get(path->sums, j), path->total);

			constant = gr_dd_sub(constant, gr_dd_mul(b, gr_dd_add(gr_dd(gr_gram_shift_of(gram, j + 1)), mean)));
		}
	}
	if (!path->intercept)
		return true;
	coef[0] = constant.hi;
	if (isfinite(constant.hi))
		return true;
	err->value = constant.hi;
	return gr_fail(err, GR_RESULT_OUT_OF_RANGE, GR_COLUMN_ONES, "coefficient");
}

bool
gr_path_step(GrPath *path, double lambda, GrPathPoint *point, double *coef, GrError *err)
{
	int			p = path->p;
	GrDD		total = gr_dd_get(path->diagonal, p);
	GrDD		rss = total;

	if (!approach(path, lambda * path->scale[p], err))
		return false;
	*point = (GrPathPoint) {.lambda = lambda};
	/* RSS = y'y - b'X'(y + (y - Xb)) */
	for (int i = 0; i < path->nactive; i++)
	{
		int			j = path->active[i];

		if (path->b.hi[j] == 0)
			continue;
		rss = gr_dd_sub(rss, gr_dd_mul(gr_dd_get(path->b, j),
									   gr_dd_add(gr_dd_get(path->response, j), gr_dd_get(path->gradient, j))));
		point->df++;
	}
	if (rss.hi < 0)
		rss = gr_dd(0);
	point->rss = gr_dd_to_double(rss) / path->scale[p] / path->scale[p];
	point->tss = gr_dd_to_double(total) / path->scale[p] / path->scale[p];
	point->dev_ratio = total.hi > 0 ? 1 - gr_dd_to_double(gr_dd_div(rss, total)) : 0;
	return give_coefficients(path, coef, err);
}

bool
gr_path_ends(const GrPath *path, const GrPathPoint *before, const GrPathPoint *point, int k, int n)
{
	int			least = n < GR_PATH_LEAST_LAMBDAS ? n : GR_PATH_LEAST_LAMBDAS;
	double		least_gain = path->any_positive ? 0 : GR_PATH_LEAST_GAIN * point->dev_ratio;

	return k > 0 && k + 1 >= least &&
		(point->dev_ratio - before->dev_ratio < least_gain || point->dev_ratio > GR_PATH_MOST_EXPLAINED);
}

double
gr_path_least_pivot(const GrPath *path)
{
	double		least = 1;

	for (int i = 0; i < path->nactive; i++)
	{
		int			j = path->active[i];

		least = fmin(least, (path->exact ? path->factor.d.hi[i] : path->quick.d[i]) /
					 (path->diagonal.hi[j] + path->penalty2.hi[j]));
	}
	return least;
}

double
gr_path_rss(const GrGram *gram, bool intercept, const double *coef, double *work)
{
	int			nfeatures = gram->nfeatures;
	const double *b = coef + (intercept ? 1 : 0);
	GrDDVector	z = {work, work + nfeatures + 2};
	GrDD		first = gr_dd_sub(gr_dd(gr_gram_shift_of(gram, nfeatures + 1)), gr_dd(intercept ? coef[0] : 0));
	GrDD		rss = gr_dd(0);
	double		magnitude;

	/* the residual is z'(1, x - shift, y - shift) */
	for (int j = 0; j < nfeatures; j++)
	{
		gr_dd_set(z, j + 1, gr_dd(-b[j]));
		if (b[j] != 0)
			first = gr_dd_sub(first, gr_two_prod(b[j], gr_gram_shift_of(gram, j + 1)));
	}
	gr_dd_set(z, 0, first);
	gr_dd_set(z, nfeatures + 1, gr_dd(1));
	for (int64_t i = 0; i < nfeatures + 2; i++)
	{
		int64_t		row = gr_triangle(i);
		GrDD		own = gr_dd_mul(gr_gram_entry(gram, i, i), gr_dd_get(z, i));
		GrDD		sum;

		if (z.hi[i] == 0)
			continue;
		sum = gr_dd_minus_dot(gr_dd(0), (GrDDConstVector) {gram->hi + row, gram->lo + row}, gr_dd_from(z, 0), i,
							  &magnitude);
		rss = gr_dd_add(rss, gr_dd_mul(gr_dd_sub(own, gr_dd_scale(sum, 2)), gr_dd_get(z, i)));
	}
	return rss.hi > 0 ? gr_dd_to_double(rss) : 0;
}
