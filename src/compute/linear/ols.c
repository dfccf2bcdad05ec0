/*
 * ols.c: fits from normal equations that are solved in double-double.
 */
#include "compute/linear/ols.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "compute/linear/ols_factor.h"

/* A product's share of the time between two polls; see GrPoll */
#define PRODUCT_WORK 2

/* skip: rows of the matrix that are passed over; f->inverse must hold a copy of the whole */
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

static void
carve_in(GrNormalFactor *f, int skip, void *workspace)
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

/*
 * The scales of the m terms and of the response, and what goes by them. The last row's diagonal is the response's sum
 * of squares for a Gram matrix; where the last row is a right-hand side alone, its scale brings the largest entry to
 * the order of 1.
 */
static bool
choose_scales(GrNormalFactor *f, const GrNormalMatrix *a, double tolerance, GrError *err)
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

/*
 * What rounding can have left in a residual sum of squares of 0: the matrix is known to a relative GR_DD_NOISE by
 * entries, and beta' A beta takes it on. Bounded through |A[i][j]| <= sqrt(A[i][i] A[j][j]) <= 4 in scaled units.
 */
static double
rss_noise(const GrNormalFactor *f)
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

/* The scaled solution becomes that of the terms that are wanted; false if one of them is aliased. */
static bool
move_solution(GrNormalFactor *f, const GrTermMoves *moves)
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

/* Fills inverse; f->ldl.u is overwritten. A device leaves inverse->low as it is. */
static bool
fill_inverse(GrNormalFactor *f, const GrNormalMatrix *a, const GrNormalInverse *inverse, const GrHost *host,
					GrError *err)
{
	int64_t		m = f->m;
	GrPoll		poll = {.host = host};

	if (f->device != NULL)
		return gr_ols_device_inverse(f, a, inverse, host, err);
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

/* A = L D L' and the solution, wherever that is quicker */
static bool
factorise(GrNormalFactor *f, const GrNormalMatrix *a, double tolerance, bool want_inverse, const GrHost *host,
		  GrError *err)
{
	const GrSolver *solver = f->solver;
	bool		on_device = solver != NULL &&
		f->m >= (solver->min_terms > 0 ? solver->min_terms : GR_SOLVER_MIN_TERMS);

	if (!choose_scales(f, a, tolerance, err) ||
		(on_device && !gr_ols_device_solve(f, a, want_inverse, host, err)))
		return false;
	if (f->device != NULL)
		return true;
	if (a->max_rank > 0)
		f->ldl.max_rank = a->max_rank;
	return load_scaled(f, a, host, err) && gr_ldl_factorise(&f->ldl, host, err) &&
		gr_ldl_back_substitute(&f->ldl, host, err);
}

/* The scaled solution's intercept becomes that about the values themselves: b_0 = t_0 + c_y - sum of c_j t_j. */
static void
move_intercept(GrNormalFactor *f, const GrNormalMatrix *a)
{
	GrDD		moved = gr_two_prod(gr_ols_shift_of(a, f->m) * f->ldl.scale[f->m], 1.0 / f->ldl.scale[0]);
	double		magnitude = fabs(f->ldl.u.hi[0]) + fabs(moved.hi);

	moved = gr_dd_add(moved, gr_dd_get(f->ldl.u, 0));
	for (int64_t j = 1; j < f->m; j++)
	{
		GrDD		p = gr_dd_mul_d(gr_dd_get(f->ldl.u, j), gr_ols_origin_weight(f, a, j));

		if (f->ldl.aliased[j] || gr_ols_shift_of(a, j) == 0.0)
			continue;
		magnitude += fabs(p.hi);
		moved = gr_dd_add(moved, p);
	}
	gr_dd_set(f->ldl.u, 0, fabs(moved.hi) <= GR_DD_NOISE * magnitude ? gr_dd(0.0) : moved);
}

/* A result that isn't 0 in double-double, or is: is it within float8's range, with all its digits? where: its column */
static bool
in_range(double value, bool is_zero, int64_t where, const char *what, GrError *err)
{
	if (is_zero || (fabs(value) >= DBL_MIN && fabs(value) <= DBL_MAX))
		return true;
	if (err->status == GR_OK)
		err->value = value;
	return gr_fail(err, GR_RESULT_OUT_OF_RANGE, where, "%s", what);
}

static bool
coefficients_in_range(const GrNormalFactor *f, const GrNormalMatrix *a, const double *coef, GrError *err)
{
	for (int k = 0; k < f->m; k++)
		if (!in_range(coef[k], f->ldl.aliased[k] || f->ldl.u.hi[k] == 0.0, gr_column_of_row(a->rows, k + a->skip),
					  "coefficient", err))
			return false;
	return true;
}

static bool
variances_in_range(const GrNormalFactor *f, const GrNormalMatrix *a, const double *vcov, bool is_zero, GrError *err)
{
	for (int64_t k = 0; k < f->m; k++)
		if (!in_range(vcov[k * f->m + k], is_zero || f->ldl.aliased[k], gr_column_of_row(a->rows, k + a->skip),
					  "variance of the coefficient", err))
			return false;
	return true;
}

/* The covariance matrix; NaN without a degree of freedom */
static bool
fill_vcov(GrNormalFactor *f, const GrNormalMatrix *a, GrDD rss, double y_scale, GrOlsFit *fit,
		  const GrHost *host, GrError *err)
{
	bool		none = fit->df_residual <= 0;
	const GrNormalInverse inverse = {
		.entries = fit->vcov,.low = fit->vcov_low,.y_scale = y_scale,
		.sigma2 = gr_dd_div(rss, gr_dd((double) (none ? 1 : fit->df_residual)))
	};

	if (!fill_inverse(f, a, &inverse, host, err))
		return false;
	for (int64_t k = 0; none && k < (int64_t) f->m * f->m; k++)
	{
		if (k % GR_POLL_WORK == GR_POLL_WORK - 1 && gr_canceled(host))
			return gr_fail(err, GR_CANCELED, 0, "covariance matrix");
		fit->vcov[k] = NAN;
	}
	return variances_in_range(f, a, fit->vcov, none || rss.hi == 0.0, err);
}

/* l2 times the slopes' sum of squares, scaled as the residual sum of squares is */
static GrDD
ridge_of(const GrNormalFactor *f, bool intercept, double l2)
{
	GrDD		sum = {0, 0};

	for (int64_t k = intercept ? 1 : 0; k < f->m; k++)
	{
		GrDD		b = gr_dd_scale(gr_dd_get(f->ldl.u, k), f->ldl.scale[k]);

		if (!f->ldl.aliased[k])
			sum = gr_dd_add(sum, gr_dd_mul(b, b));
	}
	return gr_dd_mul_d(sum, l2);
}

/* What an OLS fit is made of, from a solution. */
static bool
fill_ols(GrNormalFactor *f, const GrNormalMatrix *a, int64_t nrows, GrOlsFit *fit, const GrHost *host, GrError *err)
{
	double		y_scale = f->ldl.scale[f->m];
	GrDD		rss = gr_dd_get(f->ldl.d, f->m);
	GrDD		tss = gr_ols_scaled(f, a, f->m, f->m);
	double		noise = rss_noise(f);
	int64_t		response = gr_column_of_row(a->rows, f->m + a->skip);

	if (fit->intercept)
	{
		/* about the mean: the first step of the factorisation, u = l d; the intercept is never aliased */
		GrDD		u = gr_dd_mul(gr_dd_get(f->ldl.l, gr_packed(f->m, 0)), gr_dd_get(f->ldl.d, 0));
		GrDDConstVector first = {&u.hi, &u.lo};

		tss = gr_dd_residual(tss, first, gr_dd_from(f->ldl.l, gr_packed(f->m, 0)), 1);
		if (a->shift != NULL)
			move_intercept(f, a);
	}
	fit->unmovable = a->moves != NULL && !move_solution(f, a->moves);
	if (fit->unmovable)
		return true;
	fit->nterms = f->m;
	fit->on_device = f->device != NULL;
	fit->rank = gr_ldl_solution(&f->ldl, fit->coef);
	fit->df_residual = nrows - fit->rank;
	if (fit->l2 > 0)
		rss = gr_dd_sub(rss, ridge_of(f, fit->intercept, fit->l2));
	if ((fit->df_residual <= 0 && fit->l2 == 0) || rss.hi <= noise)
		rss = gr_dd(0.0);
	fit->rss = gr_dd_to_double(rss) / y_scale / y_scale;
	fit->tss = gr_dd_to_double(tss) / y_scale / y_scale;
	if (!coefficients_in_range(f, a, fit->coef, err))
		return false;
	/* with coefficients alone, nobody asks for these */
	if (fit->vcov == NULL)
		return true;
	return in_range(fit->rss, rss.hi == 0.0, response, "residual sum of squares", err) &&
		in_range(fit->tss, tss.hi == 0.0, response, "total sum of squares", err) &&
		fill_vcov(f, a, rss, y_scale, fit, host, err);
}

/*
 * Copies gram into the room of the inverse; without an intercept, the copy is about 0. *a becomes that copy's. False if
 * canceled.
 */
static bool
copy_sums(GrNormalFactor *f, GrNormalMatrix *a, const GrGram *gram, bool intercept, const GrHost *host)
{
	GrGram		copy = {.hi = f->inverse.hi,.lo = f->inverse.lo};
	GrPoll		poll = {.host = host};

	if (a->shift == NULL || intercept)
		gr_gram_copy(&copy, gram);
	else if (!gr_gram_copy_about(&copy, gram, NULL, &poll))
		return false;
	a->hi = copy.hi;
	a->lo = copy.lo;
	if (!intercept)
		a->shift = NULL;
	return true;
}

/* The penalty's second derivative: l2 on the slopes' diagonal, about any shift */
static void
add_ridge(GrNormalFactor *f, int nfeatures, double l2)
{
	for (int64_t j = 1; j <= nfeatures; j++)
		gr_dd_set(f->inverse, gr_packed(j, j), gr_dd_add(gr_dd_get(f->inverse, gr_packed(j, j)), gr_dd(l2)));
}

/* The matrix that is solved for a fit to gram */
static GrNormalMatrix
matrix_of(const GrGram *gram, bool intercept)
{
	return (GrNormalMatrix) {
		.hi = gram->hi,.lo = gram->lo,.skip = intercept ? 0 : 1,.rows = GR_ROWS_ENTRIES,
		.shift = gr_gram_is_shifted(gram) ? gram->shift : NULL
	};
}

/* The rank that sums over gram's rows have at most */
static int64_t
max_rank_of(const GrGram *gram)
{
	return gram->nsummed > 0 && gram->nsummed < gram->nobs ? gram->nsummed : gram->nobs;
}

bool
gr_ols_solve(const GrGram *gram, void *workspace, GrOlsFit *fit, const GrHost *host, GrError *err)
{
	GrNormalMatrix a = matrix_of(gram, fit->intercept);
	bool		ridge = fit->l2 > 0;
	GrNormalFactor f = {
		.m = gram->nfeatures + (fit->intercept ? 1 : 0),.solver = fit->moves == NULL && !ridge ? fit->solver : NULL
	};
	bool		ok;

	a.moves = fit->moves;
	a.max_rank = ridge ? 0 : max_rank_of(gram);
	carve_in(&f, a.skip, workspace);
	memset(f.ldl.aliased, 0, (size_t) f.m * sizeof(bool));
	if (((a.shift != NULL && !fit->intercept) || ridge) && !copy_sums(&f, &a, gram, fit->intercept, host))
		return gr_fail(err, GR_CANCELED, 0, "factorisation");
	if (ridge)
		add_ridge(&f, gram->nfeatures, fit->l2);
	ok = factorise(&f, &a, GR_ALIAS_TOLERANCE, fit->vcov != NULL, host, err) &&
		fill_ols(&f, &a, gram->nobs, fit, host, err);
	gr_ols_release(&f);
	return ok;
}

bool
gr_normal_solve(GrDDConstVector triangle, void *workspace, GrNormalFit *fit, const GrHost *host, GrError *err)
{
	const GrNormalMatrix a = {
		.hi = triangle.hi,.lo = triangle.lo,.skip = fit->skip,.rows = fit->rows,.right_hand_side = true,
		.max_rank = fit->max_rank
	};
	const GrNormalInverse inverse = {
		.entries = fit->inverse,.low = fit->inverse_low,.sigma2 = {1.0, 0.0},.y_scale = 1.0
	};
	GrNormalFactor f = {.m = fit->nterms,.solver = fit->solver};
	GrDD		decrement = {0, 0};
	bool		ok;

	carve_in(&f, 0, workspace);
	memcpy(f.ldl.aliased, fit->aliased, (size_t) f.m * sizeof(bool));
	ok = factorise(&f, &a, fit->tolerance, fit->inverse != NULL, host, err);
	if (ok)
	{
		memcpy(fit->aliased, f.ldl.aliased, (size_t) f.m * sizeof(bool));
		for (int k = 0; k < f.m; k++)
		{
			GrDD		l = gr_dd_get(f.ldl.l, gr_packed(f.m, k));

			if (!f.ldl.aliased[k])
				decrement = gr_dd_add(decrement, gr_dd_mul(gr_dd_mul(l, l), gr_dd_get(f.ldl.d, k)));
			if (fit->pivot != NULL)
				fit->pivot[k] = f.ldl.sumsq[k] > 0 ? gr_dd_get(f.ldl.d, k).hi / f.ldl.sumsq[k] : 0;
		}
		fit->decrement = gr_dd_to_double(decrement) / f.ldl.scale[f.m] / f.ldl.scale[f.m];
		fit->on_device = f.device != NULL;
		fit->rank = gr_ldl_solution(&f.ldl, fit->coef);
		ok = fit->inverse == NULL || fill_inverse(&f, &a, &inverse, host, err);
	}
	gr_ols_release(&f);
	return ok;
}

bool
gr_normal_residual(void *workspace, int nterms, int k, double *coef, GrPoll *poll)
{
	GrNormalFactor f = {.m = nterms};
	double		pivot;
	double		unit;

	carve_in(&f, 0, workspace);
	/* row k of inv(L), from its end: each entry wants those behind it */
	gr_dd_set(f.ldl.u, k, gr_dd(1.0));
	for (int64_t j = k - 1; j >= 0; j--)
	{
		GrDD		sum = {0, 0};

		if (gr_poll(poll, 10 * PRODUCT_WORK * (k - j)))
			return false;
		for (int64_t i = j + 1; i <= k && !f.ldl.aliased[j]; i++)
			sum = gr_dd_sub(sum, gr_dd_mul(gr_dd_get(f.ldl.u, i), gr_dd_get(f.ldl.l, gr_packed(i, j))));
		gr_dd_set(f.ldl.u, j, sum);
	}
	/* a pivot that is 0 or no number has no size */
	pivot = gr_dd_get(f.ldl.d, k).hi;
	unit = pivot > 0 && isfinite(pivot) ? ldexp(1.0, -(int) floor(0.5 * log2(pivot))) : 1.0;
	for (int64_t j = 0; j <= k; j++)
		coef[j] = gr_dd_to_double(gr_dd_get(f.ldl.u, j)) * f.ldl.scale[j] * unit;
	return true;
}

bool
gr_ols_finish(const GrGram *gram, const GrOlsFactor *factor, void *workspace, GrOlsFit *fit, const GrHost *host,
			  GrError *err)
{
	const GrNormalMatrix a = matrix_of(gram, fit->intercept);
	GrNormalFactor f = {.m = gram->nfeatures + (fit->intercept ? 1 : 0)};
	size_t		nentries = (size_t) gr_triangle((int64_t) f.m + 1);
	size_t		nrows_l = (size_t) f.m + 1;

	carve_in(&f, a.skip, workspace);
	memcpy(f.ldl.aliased, factor->aliased, (size_t) f.m * sizeof(bool));
	if (!choose_scales(&f, &a, GR_ALIAS_TOLERANCE, err))
		return false;
	memcpy(f.ldl.l.hi, factor->l.hi, nentries * sizeof(double));
	memcpy(f.ldl.l.lo, factor->l.lo, nentries * sizeof(double));
	memcpy(f.ldl.d.hi, factor->d.hi, nrows_l * sizeof(double));
	memcpy(f.ldl.d.lo, factor->d.lo, nrows_l * sizeof(double));
	return gr_ldl_back_substitute(&f.ldl, host, err) && fill_ols(&f, &a, gram->nobs, fit, host, err);
}
