/*
 * ols.c: fits from normal equations that are solved in double-double.
 */
#include "compute/linear/ols.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "compute/linalg/gram_shift.h"
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
		rank += f->aliased[k] ? 0 : 1;
		coef[k] = f->aliased[k] ? NAN : gr_dd_to_double(gr_dd_get(f->u, k)) * f->scale[k] / f->scale[f->m];
	}
	return rank;
}

/* The scaled solution's intercept becomes that about the values themselves: b_0 = t_0 + c_y - sum of c_j t_j. */
static void
move_intercept(GrNormalFactor *f, const GrNormalMatrix *a)
{
	GrDD		moved = gr_two_prod(gr_ols_shift_of(a, f->m) * f->scale[f->m], 1.0 / f->scale[0]);
	double		magnitude = fabs(f->u.hi[0]) + fabs(moved.hi);

	moved = gr_dd_add(moved, gr_dd_get(f->u, 0));
	for (int64_t j = 1; j < f->m; j++)
	{
		GrDD		p = gr_dd_mul_d(gr_dd_get(f->u, j), gr_ols_origin_weight(f, a, j));

		if (f->aliased[j] || gr_ols_shift_of(a, j) == 0.0)
			continue;
		magnitude += fabs(p.hi);
		moved = gr_dd_add(moved, p);
	}
	gr_dd_set(f->u, 0, fabs(moved.hi) <= GR_DD_NOISE * magnitude ? gr_dd(0.0) : moved);
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
		if (!in_range(coef[k], f->aliased[k] || f->u.hi[k] == 0.0, gr_column_of_row(a->rows, k + a->skip),
					  "coefficient", err))
			return false;
	return true;
}

static bool
variances_in_range(const GrNormalFactor *f, const GrNormalMatrix *a, const double *vcov, bool is_zero, GrError *err)
{
	for (int64_t k = 0; k < f->m; k++)
		if (!in_range(vcov[k * f->m + k], is_zero || f->aliased[k], gr_column_of_row(a->rows, k + a->skip),
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

	if (!gr_ols_fill_inverse(f, a, fit->vcov, fit->vcov_low,
							 gr_dd_div(rss, gr_dd((double) (none ? 1 : fit->df_residual))), y_scale, host, err))
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
		GrDD		b = gr_dd_scale(gr_dd_get(f->u, k), f->scale[k]);

		if (!f->aliased[k])
			sum = gr_dd_add(sum, gr_dd_mul(b, b));
	}
	return gr_dd_mul_d(sum, l2);
}

/* What an OLS fit is made of, from a solution. */
static bool
fill_ols(GrNormalFactor *f, const GrNormalMatrix *a, int64_t nrows, bool intercept, GrOlsFit *fit,
		 const GrHost *host, GrError *err)
{
	double		y_scale = f->scale[f->m];
	GrDD		rss = gr_dd_get(f->d, f->m);
	GrDD		tss = gr_ols_scaled(f, a, f->m, f->m);
	double		noise = gr_ols_rss_noise(f);
	int64_t		response = gr_column_of_row(a->rows, f->m + a->skip);

	if (intercept)
	{
		/* about the mean: the first step of the factorisation, u = l d; the intercept is never aliased */
		GrDD		u = gr_dd_mul(gr_dd_get(f->l, gr_packed(f->m, 0)), gr_dd_get(f->d, 0));
		GrDDConstVector first = {&u.hi, &u.lo};

		tss = gr_dd_residual(tss, first, gr_dd_from(f->l, gr_packed(f->m, 0)), 1);
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
		rss = gr_dd_sub(rss, ridge_of(f, intercept, fit->l2));
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

/* Sums of one's own, which take the room of the inverse */
static void
copy_sums(GrNormalFactor *f, GrNormalMatrix *a, int nfeatures)
{
	size_t		nbytes = (size_t) gr_triangle(gr_norder(nfeatures)) * sizeof(double);

	memcpy(f->inverse.hi, a->hi, nbytes);
	memcpy(f->inverse.lo, a->lo, nbytes);
	a->hi = f->inverse.hi;
	a->lo = f->inverse.lo;
}

/* Without an intercept, the sums about the values themselves */
static bool
translate_back(GrNormalFactor *f, GrNormalMatrix *a, int nfeatures, const GrHost *host, GrError *err)
{
	GrPoll		poll = {.host = host};

	if (!gr_gram_translate(f->inverse.hi, f->inverse.lo, nfeatures, a->shift, NULL, &poll))
		return gr_fail(err, GR_CANCELED, 0, "factorisation");
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

bool
gr_ols_solve(const double *hi, const double *lo, const double *shift, int nfeatures, int64_t nrows, bool intercept,
			 void *workspace, const GrSolver *solver, GrOlsFit *fit, const GrHost *host, GrError *err)
{
	bool		shifted = shift != NULL && gr_shift_any(shift, nfeatures);
	GrNormalMatrix a = {
		.hi = hi,.lo = lo,.skip = intercept ? 0 : 1,.rows = GR_ROWS_ENTRIES,.shift = shifted ? shift : NULL
	};
	GrNormalFactor f = {.m = nfeatures + (intercept ? 1 : 0),.solver = fit->moves == NULL ? solver : NULL};
	bool		ok;

	a.moves = fit->moves;
	a.max_rank = fit->l2 > 0 ? 0 : fit->nsummed > 0 && fit->nsummed < nrows ? fit->nsummed : nrows;
	if (fit->l2 > 0)
		f.solver = NULL;
	gr_ols_carve(&f, a.skip, workspace);
	memset(f.aliased, 0, (size_t) f.m * sizeof(bool));
	if ((shifted && !intercept) || fit->l2 > 0)
		copy_sums(&f, &a, nfeatures);
	if (shifted && !intercept && !translate_back(&f, &a, nfeatures, host, err))
		return false;
	if (fit->l2 > 0)
		add_ridge(&f, nfeatures, fit->l2);
	ok = gr_ols_factorise(&f, &a, GR_ALIAS_TOLERANCE, fit->vcov != NULL, host, err) &&
		fill_ols(&f, &a, nrows, intercept, fit, host, err);
	gr_ols_release(&f);
	return ok;
}

bool
gr_normal_solve(const double *hi, const double *lo, int skip, double tolerance, void *workspace, const GrSolver *solver,
				GrNormalFit *fit, const GrHost *host, GrError *err)
{
	const GrNormalMatrix a = {
		.hi = hi,.lo = lo,.skip = skip,.rows = fit->rows,.right_hand_side = true,.max_rank = fit->max_rank
	};
	GrNormalFactor f = {.m = fit->nterms,.solver = solver};
	GrDD		decrement = {0, 0};
	bool		ok;

	gr_ols_carve(&f, 0, workspace);
	memcpy(f.aliased, fit->aliased, (size_t) f.m * sizeof(bool));
	ok = gr_ols_factorise(&f, &a, tolerance, fit->inverse != NULL, host, err);
	if (ok)
	{
		memcpy(fit->aliased, f.aliased, (size_t) f.m * sizeof(bool));
		for (int k = 0; k < f.m; k++)
		{
			GrDD		l = gr_dd_get(f.l, gr_packed(f.m, k));

			if (!f.aliased[k])
				decrement = gr_dd_add(decrement, gr_dd_mul(gr_dd_mul(l, l), gr_dd_get(f.d, k)));
			if (fit->pivot != NULL)
				fit->pivot[k] = f.sumsq[k] > 0 ? gr_dd_get(f.d, k).hi / f.sumsq[k] : 0;
		}
		fit->decrement = gr_dd_to_double(decrement) / f.scale[f.m] / f.scale[f.m];
		fit->on_device = f.device != NULL;
		fit->rank = fill_coef(&f, fit->coef);
		ok = fit->inverse == NULL || gr_ols_fill_inverse(&f, &a, fit->inverse, fit->inverse_low, gr_dd(1.0),
														   1.0, host, err);
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
	gr_dd_set(f.u, k, gr_dd(1.0));
	for (int64_t j = k - 1; j >= 0; j--)
	{
		GrDD		sum = {0, 0};

		if (gr_poll(poll, 10 * PRODUCT_WORK * (k - j)))
			return false;
		for (int64_t i = j + 1; i <= k && !f.aliased[j]; i++)
			sum = gr_dd_sub(sum, gr_dd_mul(gr_dd_get(f.u, i), gr_dd_get(f.l, gr_packed(i, j))));
		gr_dd_set(f.u, j, sum);
	}
	/* a pivot that is 0 or no number has no size */
	pivot = gr_dd_get(f.d, k).hi;
	unit = pivot > 0 && isfinite(pivot) ? ldexp(1.0, -(int) floor(0.5 * log2(pivot))) : 1.0;
	for (int64_t j = 0; j <= k; j++)
		coef[j] = gr_dd_to_double(gr_dd_get(f.u, j)) * f.scale[j] * unit;
	return true;
}

bool
gr_ols_finish(const double *hi, const double *lo, const double *shift, int nfeatures, int64_t nrows, bool intercept,
			  const GrOlsFactor *factor, void *workspace, GrOlsFit *fit, const GrHost *host, GrError *err)
{
	bool		shifted = shift != NULL && gr_shift_any(shift, nfeatures);
	GrNormalMatrix a = {
		.hi = hi,.lo = lo,.skip = intercept ? 0 : 1,.rows = GR_ROWS_ENTRIES,.shift = shifted ? shift : NULL
	};
	GrNormalFactor f = {.m = nfeatures + (intercept ? 1 : 0)};
	size_t		nentries = (size_t) gr_triangle((int64_t) f.m + 1);
	size_t		nrows_l = (size_t) f.m + 1;

	gr_ols_carve(&f, a.skip, workspace);
	memcpy(f.aliased, factor->aliased, (size_t) f.m * sizeof(bool));
	if (!gr_ols_choose_scales(&f, &a, GR_ALIAS_TOLERANCE, err))
		return false;
	memcpy(f.l.hi, factor->l_hi, nentries * sizeof(double));
	memcpy(f.l.lo, factor->l_lo, nentries * sizeof(double));
	memcpy(f.d.hi, factor->d_hi, nrows_l * sizeof(double));
	memcpy(f.d.lo, factor->d_lo, nrows_l * sizeof(double));
	return gr_ols_back_substitute(&f, host, err) && fill_ols(&f, &a, nrows, intercept, fit, host, err);
}
