/*
 * ols_factor.c: factorises and solves normal equations in double-double; see ols_factor.h.
 */
#include "compute/linalg/ols_factor.h"

#include <math.h>
#include <string.h>

#include "compute/linalg/gram.h"

/* A product's share of the time between two polls; see GrPoll */
#define PRODUCT_WORK 2

static void
carve_factor(GrNormalFactor *f, int skip, GrArena *arena)
{
	int64_t		m1 = (int64_t) f->m + 1;

	gr_ldl_carve(&f->ldl, f->m + 1, arena);
	f->inverse = gr_carve_dd(arena, gr_triangle(m1 + skip));
	f->origin = gr_carve_dd(arena, m1);
}

size_t
gr_ols_workspace_nbytes(int nfeatures)
{
	/* with an intercept; without one there is as much to skip */
	GrNormalFactor f = {.m = gr_nterms(nfeatures)};
	GrArena		arena = {.base = NULL};

	carve_factor(&f, 0, &arena);
	return arena.used;
}

void
gr_ols_carve(GrNormalFactor *f, int skip, void *workspace)
{
	GrArena		arena = {.base = workspace};

	carve_factor(f, skip, &arena);
}

/* What row i's pivot must be above if its sum of squares, scaled, isn't all: the values' own squares are larger. */
static double
rounding_pivot(const GrNormalFactor *f, const GrNormalMatrix *a, int64_t i)
{
	double		c = gr_ols_shift_of(a, i) * f->ldl.scale[i];
	double		sum = a->hi[gr_packed(i, 0)] * f->ldl.scale[i];

	return GR_ROUNDING_TOLERANCE * (f->ldl.sumsq[i] + c * (2 * sum + a->hi[0] * c));
}

bool
gr_ols_choose_scales(GrNormalFactor *f, const GrNormalMatrix *a, double tolerance, GrError *err)
{
	int64_t		last = f->m + a->skip;
	double		largest = 0;

	for (int i = 0; i <= f->m; i++)
	{
		int64_t		row = i + a->skip;
		double		d = a->hi[gr_packed(row, row)];

		if (a->right_hand_side && i == f->m)
			break;
		/* of a step's matrix, squares are those of weighted values, which later passes may have near 0 */
		if (!isfinite(d) || d < 0 || (d > 0 && d < GR_LEAST_SQUARES) ||
			(d == 0 && tolerance >= GR_ALIAS_TOLERANCE &&
			 gr_packed_underflowed((GrDDConstVector) {a->hi, a->lo}, last + (a->right_hand_side ? 0 : 1), row)))
			return gr_fail(err, GR_OUT_OF_RANGE, gr_column_of_row(a->rows, row), "sum of squares is %g", d);
		f->ldl.scale[i] = d == 0 ? 1.0 : gr_ldl_scale_for(d);
		if (a->right_hand_side)
			largest = fmax(largest, fabs(a->hi[gr_packed(last, row)] * f->ldl.scale[i]));
	}
	if (a->right_hand_side)
		f->ldl.scale[f->m] = largest > 0 && isfinite(largest) ? ldexp(1.0, -ilogb(largest)) : 1.0;
	for (int i = 0; i <= f->m; i++)
	{
		f->ldl.sumsq[i] = gr_ols_scaled(f, a, i, i).hi;
		f->ldl.least_pivot[i] = tolerance * f->ldl.sumsq[i];
		if (gr_ols_shift_of(a, i) != 0.0)
			f->ldl.least_pivot[i] = fmax(f->ldl.least_pivot[i], rounding_pivot(f, a, i));
	}
	return true;
}

/* Copies the part of the Gram matrix that takes part, scaled: all but the first skip rows and columns. */
static bool
load_scaled(GrNormalFactor *f, const GrNormalMatrix *a, const GrHost *host, GrError *err)
{
	GrPoll		poll = {.host = host};

	for (int i = 0; i <= f->m; i++)
	{
		if (gr_poll(&poll, 8 * (i + 1)))
			return gr_fail(err, GR_CANCELED, 0, "factorisation");
		for (int j = 0; j <= i; j++)
		{
			int64_t		k = gr_packed(i + a->skip, j + a->skip);

			if (!(a->right_hand_side && j == f->m) && (!isfinite(a->hi[k]) || !isfinite(a->lo[k])))
				return gr_fail(err, GR_OUT_OF_RANGE, gr_column_of_row(a->rows, i + a->skip), "a sum of products is %g",
							   a->hi[k]);
			gr_dd_set(f->ldl.l, gr_packed(i, j), gr_ols_scaled(f, a, i, j));
		}
	}
	return true;
}

/* Row a of inv(L)': its entry k is inv(L)[k][a], k = a .. m-1. mine: where its entry 0 would be. False if canceled. */
static bool
invert_column(const GrNormalFactor *f, int64_t a, int64_t mine, GrPoll *poll)
{
	gr_dd_set(f->inverse, mine + a, gr_dd(f->ldl.aliased[a] ? 0.0 : 1.0));
	for (int64_t k = a + 1; k < f->m; k++)
	{
		if (gr_poll(poll, PRODUCT_WORK * (k - a)))
			return false;
		gr_dd_set(f->inverse, mine + k, f->ldl.aliased[k] ? gr_dd(0.0) :
			gr_dd_residual(gr_dd(0.0), gr_dd_from(f->ldl.l, gr_packed(k, a)), gr_dd_from(f->inverse, mine + a), k - a));
	}
	return true;
}

bool
gr_ols_back_substitute(GrNormalFactor *f, const GrHost *host, GrError *err)
{
	GrPoll		poll = {.host = host};

	for (int64_t k = f->m - 1; k >= 0; k--)
	{
		GrDD		sum = gr_dd_get(f->ldl.l, gr_packed(f->m, k));
		double		magnitude = fabs(sum.hi);

		/* down a column: each entry is in a cache line of its own */
		if (gr_poll(&poll, 10 * PRODUCT_WORK * (f->m - k)))
			return gr_fail(err, GR_CANCELED, 0, "back substitution");
		for (int64_t i = k + 1; i < f->m; i++)
		{
			GrDD		p = gr_dd_mul(gr_dd_get(f->ldl.l, gr_packed(i, k)), gr_dd_get(f->ldl.u, i));

			magnitude += fabs(p.hi);
			sum = gr_dd_sub(sum, p);
		}
		gr_dd_set(f->ldl.u, k, f->ldl.aliased[k] || fabs(sum.hi) <= GR_DD_NOISE * magnitude ? gr_dd(0.0) : sum);
	}
	return true;
}

double
gr_ols_rss_noise(const GrNormalFactor *f)
{
	double		norm = sqrt(f->ldl.sumsq[f->m]);

	for (int k = 0; k < f->m; k++)
		norm += fabs(f->ldl.u.hi[k]) * sqrt(f->ldl.sumsq[k]);
	return GR_DD_NOISE * norm * norm;
}

/* where entry 0 of row a of inv(L)' would be, if it didn't begin at its diagonal */
static inline int64_t
inverse_row(const GrNormalFactor *f, int64_t a)
{
	return a * f->m - a * (a - 1) / 2 - a;
}

/* Are the terms' own values, which the intercept is about, others than those that were solved for? */
static bool
has_shifted_terms(const GrNormalFactor *f, const GrNormalMatrix *a)
{
	for (int64_t j = 0; j < f->m; j++)
		if (gr_ols_shift_of(a, j) != 0.0)
			return true;
	return false;
}

/* The intercept's variance and covariances, from f->origin, which is what they are but for sigma^2 and the scales */
static bool
fill_origin_on_device(const GrNormalFactor *f, const GrNormalMatrix *a, const GrNormalInverse *inverse,
					  const GrHost *host, GrError *err)
{
	double	   *entries = inverse->entries;
	double		y_scale = inverse->y_scale;
	const double *scale = f->ldl.scale;
	GrDD		variance = gr_dd_get(f->origin, 0);
	GrPoll		poll = {.host = host};

	for (int64_t k = 1; k < f->m; k++)
	{
		GrDD		covariance = gr_dd_mul(gr_dd_get(f->origin, k), inverse->sigma2);

		if (gr_poll(&poll, 20))
			return gr_fail(err, GR_CANCELED, 0, "covariance matrix");
		if (f->ldl.aliased[k])
			continue;
		variance = gr_dd_add(variance, gr_dd_mul_d(gr_dd_get(f->origin, k), gr_ols_origin_weight(f, a, k)));
		entries[k] = gr_dd_to_double(covariance) * scale[0] / y_scale * scale[k] / y_scale + 0.0;
		entries[k * f->m] = entries[k];
	}
	variance = gr_dd_mul(variance, inverse->sigma2);
	entries[0] = gr_dd_to_double(variance) * scale[0] / y_scale * scale[0] / y_scale + 0.0;
	return true;
}

/* gr_ols_fill_inverse() where L is on a device */
static bool
fill_inverse_on_device(GrNormalFactor *f, const GrNormalMatrix *a, const GrNormalInverse *inverse, const GrHost *host,
					   GrError *err)
{
	for (int k = 0; k < f->m; k++)
		gr_dd_set(f->ldl.u, k, f->ldl.aliased[k] ? gr_dd(0.0) : gr_dd_div(inverse->sigma2, gr_dd_get(f->ldl.d, k)));
	if (!f->solver->ops->inverse(f->device, gr_dd_from(f->ldl.u, 0), inverse->y_scale, inverse->entries, host, err))
		return false;
	return !has_shifted_terms(f, a) || fill_origin_on_device(f, a, inverse, host, err);
}

/* Row 0 of inv(L)' becomes the intercept's about the values themselves: less c_j times row j. False if canceled. */
static bool
move_origin(GrNormalFactor *f, const GrNormalMatrix *a, GrPoll *poll)
{
	for (int64_t j = 1; j < f->m; j++)
	{
		double		weight = gr_ols_origin_weight(f, a, j);
		int64_t		mine = inverse_row(f, j);

		if (weight == 0.0 || f->ldl.aliased[j])
			continue;
		for (int64_t k = j; k < f->m; k++)
			gr_dd_set(f->inverse, k, gr_dd_add(gr_dd_get(f->inverse, k),
												  gr_dd_mul_d(gr_dd_get(f->inverse, mine + k), weight)));
		if (gr_poll(poll, 10 * PRODUCT_WORK * (f->m - j)))
			return false;
	}
	return true;
}

/* A move's weight between scaled terms; they are scaled by powers of two */
static inline GrDD
scaled_weight(const GrNormalFactor *f, const GrTermMove *move)
{
	return gr_dd_scale((GrDD) {move->hi, move->lo}, f->ldl.scale[move->from] / f->ldl.scale[move->to]);
}

/* The rows of inv(L)' become those of the terms that are wanted. False if canceled. */
static bool
move_rows(GrNormalFactor *f, const GrTermMoves *moves, GrPoll *poll)
{
	for (int64_t n = 0; n < moves->n; n++)
	{
		const GrTermMove *move = &moves->move[n];
		GrDD		weight = scaled_weight(f, move);
		int64_t		to = inverse_row(f, move->to);
		int64_t		mine = inverse_row(f, move->from);

		if (f->ldl.aliased[move->from])
			continue;
		for (int64_t k = move->from; k < f->m; k++)
			gr_dd_set(f->inverse, to + k, gr_dd_add(gr_dd_get(f->inverse, to + k),
											  gr_dd_mul(gr_dd_get(f->inverse, mine + k), weight)));
		if (gr_poll(poll, 10 * PRODUCT_WORK * (f->m - move->from)))
			return false;
	}
	return true;
}

bool
gr_ols_move_solution(GrNormalFactor *f, const GrTermMoves *moves)
{
	/* room that a device's solution would take */
	double	   *magnitude = f->origin.hi;

	for (int64_t k = 0; k < f->m; k++)
		magnitude[k] = fabs(f->ldl.u.hi[k]);
	for (int64_t n = 0; n < moves->n; n++)
	{
		const GrTermMove *move = &moves->move[n];
		GrDD		p = gr_dd_mul(gr_dd_get(f->ldl.u, move->from), scaled_weight(f, move));

		if (f->ldl.aliased[move->from])
			continue;
		if (f->ldl.aliased[move->to])
			return false;
		magnitude[move->to] += fabs(p.hi);
		gr_dd_set(f->ldl.u, move->to, gr_dd_add(gr_dd_get(f->ldl.u, move->to), p));
	}
	for (int64_t k = 0; k < f->m; k++)
		if (fabs(f->ldl.u.hi[k]) <= GR_DD_NOISE * magnitude[k])
			gr_dd_set(f->ldl.u, k, gr_dd(0.0));
	return true;
}

/*
 * Fills row i of the inverse up to its diagonal, where f->ldl.u is row i of inv(L)' D^-1 sigma^2 from there on. False
 * if canceled.
 */
static bool
fill_inverse_row(const GrNormalFactor *f, int64_t i, const GrNormalInverse *inverse, GrPoll *poll)
{
	int64_t		m = f->m;
	double		y_scale = inverse->y_scale;
	const double *scale = f->ldl.scale;

	for (int64_t j = 0; j <= i; j++)
	{
		GrDDConstVector row = gr_dd_from(f->inverse, inverse_row(f, j) + i);
		GrDD		sum = gr_dd_neg(gr_dd_residual(gr_dd(0.0), gr_dd_from(f->ldl.u, i), row, m - i));
		double		rounded = gr_dd_to_double(sum);

		/* scaled one factor at a time: each product is within range if the result is; + 0.0: not -0 */
		double		v = rounded * scale[i] / y_scale * scale[j] / y_scale + 0.0;

		if (gr_poll(poll, PRODUCT_WORK * (m - i)))
			return false;
		if (f->ldl.aliased[i] || f->ldl.aliased[j])
			v = NAN;
		inverse->entries[i * m + j] = v;
		inverse->entries[j * m + i] = v;
		if (inverse->low != NULL)
			inverse->low[gr_packed(i, j)] = (sum.hi - rounded + sum.lo) * scale[i] / y_scale * scale[j] / y_scale;
	}
	return true;
}

bool
gr_ols_fill_inverse(GrNormalFactor *f, const GrNormalMatrix *a, const GrNormalInverse *inverse, const GrHost *host,
					GrError *err)
{
	int64_t		m = f->m;
	GrPoll		poll = {.host = host};

	if (f->device != NULL)
		return fill_inverse_on_device(f, a, inverse, host, err);
	for (int64_t i = 0; i < m; i++)
	{
		if (gr_canceled(host) || !invert_column(f, i, inverse_row(f, i), &poll))
			return gr_fail(err, GR_CANCELED, 0, "covariance matrix");
	}
	if ((a->skip == 0 && !move_origin(f, a, &poll)) || (a->moves != NULL && !move_rows(f, a->moves, &poll)))
		return gr_fail(err, GR_CANCELED, 0, "covariance matrix");
	for (int64_t i = 0; i < m; i++)
	{
		if (gr_canceled(host))
			return gr_fail(err, GR_CANCELED, 0, "covariance matrix");
		for (int64_t k = i; k < m; k++)
			gr_dd_set(f->ldl.u, k, f->ldl.aliased[k] ? gr_dd(0.0) :
				gr_dd_mul(gr_dd_div(gr_dd_get(f->inverse, inverse_row(f, i) + k), gr_dd_get(f->ldl.d, k)),
						  inverse->sigma2));
		if (!fill_inverse_row(f, i, inverse, &poll))
			return gr_fail(err, GR_CANCELED, 0, "covariance matrix");
	}
	return true;
}

static bool
device_wanted(const GrNormalFactor *f)
{
	const GrSolver *solver = f->solver;

	return solver != NULL && f->m >= (solver->min_terms > 0 ? solver->min_terms : GR_SOLVER_MIN_TERMS);
}

/*
 * Factorises and solves on the device. Where its memory doesn't suffice, that is no failure, and f->device stays NULL.
 */
static bool
solve_on_device(GrNormalFactor *f, const GrNormalMatrix *a, bool want_inverse, const GrHost *host, GrError *err)
{
	GrDDVector	row = {f->ldl.l.hi + gr_packed(f->m, 0), f->ldl.l.lo + gr_packed(f->m, 0)};
	GrError		failure = {0};
	GrFactorJob job = {
		.hi = a->hi,.lo = a->lo,.skip = a->skip,.rows = a->rows,.nterms = f->m,.right_hand_side = a->right_hand_side,
		.scale = f->ldl.scale,.least_pivot = f->ldl.least_pivot,.noise = GR_DD_NOISE,
		.want_inverse = want_inverse,.memory_limit = f->solver->memory_limit,.aliased = f->ldl.aliased,
		.d_hi = f->ldl.d.hi,.d_lo = f->ldl.d.lo,.row_hi = row.hi,.row_lo = row.lo,
		.coef_hi = f->ldl.u.hi,.coef_lo = f->ldl.u.lo
	};

	if (f->solver->ops->begin(f->solver->session, &job, &f->device, host, &failure))
		return true;
	f->solver->ops->end(f->device);
	f->device = NULL;
	if (failure.status == GR_DEVICE_MEMORY)
		return true;
	if (err->status == GR_OK)
		*err = failure;
	return false;
}

/*
 * f->origin, from a factorisation of its own: the device's inverse comes rounded to float8, in which the covariances of
 * the intercept may cancel; a solution comes in double-double. What the intercept is in the scaled terms stands as the
 * right-hand side, unscaled but for a power of two. *solved: the device's memory sufficed.
 */
static bool
solve_for_origin(GrNormalFactor *f, const GrNormalMatrix *a, bool *solved, const GrHost *host, GrError *err)
{
	size_t		before = (size_t) gr_packed(f->m, 0);
	const GrNormalMatrix b = {.hi = f->inverse.hi,.lo = f->inverse.lo,.rows = a->rows,.right_hand_side = true};
	double		y_scale = f->ldl.scale[f->m];
	double		largest = 1.0;
	bool		ok;

	memcpy(f->inverse.hi, a->hi, before * sizeof(double));
	memcpy(f->inverse.lo, a->lo, before * sizeof(double));
	memset(f->inverse.lo + before, 0, ((size_t) f->m + 1) * sizeof(double));
	for (int64_t j = 0; j <= f->m; j++)
	{
		f->inverse.hi[before + j] = j == 0 ? 1.0 : j == f->m ? 0.0 : -gr_ols_shift_of(a, j);
		if (j < f->m)
			largest = fmax(largest, fabs(gr_ols_origin_weight(f, a, j)));
	}
	f->ldl.scale[f->m] = ldexp(1.0, -ilogb(isfinite(largest) ? largest : 1.0)) / f->ldl.scale[0];
	ok = solve_on_device(f, &b, false, host, err);
	*solved = ok && f->device != NULL;
	for (int64_t k = 0; *solved && k < f->m; k++)
		gr_dd_set(f->origin, k, gr_dd_scale(gr_dd_get(f->ldl.u, k), 1.0 / (f->ldl.scale[f->m] * f->ldl.scale[0])));
	if (f->device != NULL)
		f->solver->ops->end(f->device);
	f->device = NULL;
	f->ldl.scale[f->m] = y_scale;
	memset(f->ldl.aliased, 0, (size_t) f->m * sizeof(bool));
	return ok;
}

/* Marks terms beyond the first max_rank that aren't aliased as such; were there any? */
static bool
leave_out_beyond(GrNormalFactor *f, int64_t max_rank)
{
	int64_t		rank = 0;

	for (int64_t k = 0; k < f->m; k++)
	{
		rank += f->ldl.aliased[k] ? 0 : 1;
		f->ldl.aliased[k] |= rank > max_rank;
	}
	return rank > max_rank;
}

/* A device finds out the rank alone; what is beyond max_rank is left out of another factorisation. */
static bool
solve_within_rank(GrNormalFactor *f, const GrNormalMatrix *a, bool want_inverse, const GrHost *host, GrError *err)
{
	if (!solve_on_device(f, a, want_inverse, host, err))
		return false;
	if (f->device == NULL || a->max_rank == 0 || !leave_out_beyond(f, a->max_rank))
		return true;
	f->solver->ops->end(f->device);
	f->device = NULL;
	return solve_on_device(f, a, want_inverse, host, err);
}

bool
gr_ols_factorise(GrNormalFactor *f, const GrNormalMatrix *a, double tolerance, bool want_inverse,
				 const GrHost *host, GrError *err)
{
	bool		on_device = device_wanted(f);

	if (!gr_ols_choose_scales(f, a, tolerance, err))
		return false;
	if (on_device && want_inverse && has_shifted_terms(f, a) && !solve_for_origin(f, a, &on_device, host, err))
		return false;
	if (on_device && !solve_within_rank(f, a, want_inverse, host, err))
		return false;
	if (f->device != NULL)
		return true;
	if (a->max_rank > 0)
		f->ldl.max_rank = a->max_rank;
	return load_scaled(f, a, host, err) && gr_ldl_factorise(&f->ldl, host, err) &&
		gr_ols_back_substitute(f, host, err);
}

void
gr_ols_release(GrNormalFactor *f)
{
	if (f->device != NULL)
		f->solver->ops->end(f->device);
}
