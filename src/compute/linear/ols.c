/*
 * ols.c: fits from normal equations that are solved in double-double.
 */
#include "compute/linear/ols.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "compute/linalg/ols_factor.h"

/* A product's share of the time between two polls; see GrPoll */
#define PRODUCT_WORK 2

/* The solution, unscaled, and the number of terms that are not aliased. */
static int
fill_coef(const GrNormalFactor *f, double *coef)
{
	int			rank = 0;

	for (int k = 0; k < f->m; k++)
	{
		rank += f->ldl.aliased[k] ? 0 : 1;
		coef[k] = f->ldl.aliased[k] ? NAN :
			gr_dd_to_double(gr_dd_get(f->ldl.u, k)) * f->ldl.scale[k] / f->ldl.scale[f->m];
	}
	return rank;
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

	if (!gr_ols_fill_inverse(f, a, &inverse, host, err))
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
	double		noise = gr_ols_rss_noise(f);
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
	fit->unmovable = a->moves != NULL && !gr_ols_move_solution(f, a->moves);
	if (fit->unmovable)
		return true;
	fit->nterms = f->m;
	fit->on_device = f->device != NULL;
	fit->rank = fill_coef(f, fit->coef);
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
	gr_ols_carve(&f, a.skip, workspace);
	memset(f.ldl.aliased, 0, (size_t) f.m * sizeof(bool));
	if (((a.shift != NULL && !fit->intercept) || ridge) && !copy_sums(&f, &a, gram, fit->intercept, host))
		return gr_fail(err, GR_CANCELED, 0, "factorisation");
	if (ridge)
		add_ridge(&f, gram->nfeatures, fit->l2);
	ok = gr_ols_factorise(&f, &a, GR_ALIAS_TOLERANCE, fit->vcov != NULL, host, err) &&
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

	gr_ols_carve(&f, 0, workspace);
	memcpy(f.ldl.aliased, fit->aliased, (size_t) f.m * sizeof(bool));
	ok = gr_ols_factorise(&f, &a, fit->tolerance, fit->inverse != NULL, host, err);
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
		fit->rank = fill_coef(&f, fit->coef);
		ok = fit->inverse == NULL || gr_ols_fill_inverse(&f, &a, &inverse, host, err);
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

	gr_ols_carve(&f, 0, workspace);
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

	gr_ols_carve(&f, a.skip, workspace);
	memcpy(f.ldl.aliased, factor->aliased, (size_t) f.m * sizeof(bool));
	if (!gr_ols_choose_scales(&f, &a, GR_ALIAS_TOLERANCE, err))
		return false;
	memcpy(f.ldl.l.hi, factor->l.hi, nentries * sizeof(double));
	memcpy(f.ldl.l.lo, factor->l.lo, nentries * sizeof(double));
	memcpy(f.ldl.d.hi, factor->d.hi, nrows_l * sizeof(double));
	memcpy(f.ldl.d.lo, factor->d.lo, nrows_l * sizeof(double));
	return gr_ols_back_substitute(&f, host, err) && fill_ols(&f, &a, gram->nobs, fit, host, err);
}
