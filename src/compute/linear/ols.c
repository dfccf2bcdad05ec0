/* ols.c: linear regressions from normal equations solved in double-double; see ols.h. */
#include "compute/linear/ols.h"

#include <float.h>
#include <math.h>
#include <string.h>

/*
 * Returns the rounding error of a residual sum of squares. Entries of the matrix have a relative error of GR_DD_NOISE,
 * which beta' A beta inherits. Uses |A[i][j]| <= sqrt(A[i][i] A[j][j]) <= 4 in scaled units.
 */
static double
rss_noise(const GrNormalFactor *f)
{
	double		norm = sqrt(f->ldl.sumsq[f->m]);

	for (int k = 0; k < f->m; k++)
		norm += fabs(f->ldl.u.hi[k]) * sqrt(f->ldl.sumsq[k]);
	return GR_DD_NOISE * norm * norm;
}

/* Moves the scaled solution to the reported terms. Returns false if a target of a move is aliased. */
static bool
move_solution(GrNormalFactor *f, const GrTermMoves *moves)
{
	/* memory of a device's solution, unused here */
	double	   *magnitude = f->origin.hi;

	for (int64_t k = 0; k < f->m; k++)
		magnitude[k] = fabs(f->ldl.u.hi[k]);
	for (int64_t n = 0; n < moves->n; n++)
	{
		const GrTermMove *move = &moves->move[n];
		GrDD		p = gr_dd_mul(gr_dd_get(f->ldl.u, move->from), gr_normal_weight(f, move));

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

/* Moves the scaled solution's intercept from the shifts to 0: b_0 = t_0 + c_y - sum of c_j t_j. */
static void
move_intercept(GrNormalFactor *f, const GrNormalMatrix *a)
{
	GrDD		moved = gr_two_prod(gr_normal_shift_of(a, f->m) * f->ldl.scale[f->m], 1.0 / f->ldl.scale[0]);
	double		magnitude = fabs(f->ldl.u.hi[0]) + fabs(moved.hi);

	moved = gr_dd_add(moved, gr_dd_get(f->ldl.u, 0));
	for (int64_t j = 1; j < f->m; j++)
	{
		GrDD		p = gr_dd_mul_d(gr_dd_get(f->ldl.u, j), gr_normal_origin_weight(f, a, j));

		if (f->ldl.aliased[j] || gr_normal_shift_of(a, j) == 0.0)
			continue;
		magnitude += fabs(p.hi);
		moved = gr_dd_add(moved, p);
	}
	gr_dd_set(f->ldl.u, 0, fabs(moved.hi) <= GR_DD_NOISE * magnitude ? gr_dd(0.0) : moved);
}

/* Fails because a result that is not 0 in double-double is 0, subnormal or infinite in float8. where: its column. */
static bool
fail_range(double value, int64_t where, const char *what, GrError *err)
{
	if (err->status == GR_OK)
		err->value = value;
	return gr_fail(err, GR_RESULT_OUT_OF_RANGE, where, "%s", what);
}

/* Computes the covariance matrix; NaN without degrees of freedom. */
static bool
fill_vcov(GrNormalFactor *f, const GrNormalMatrix *a, GrDD rss, double y_scale, GrOlsFit *fit,
		  const GrHost *host, GrError *err)
{
	bool		none = fit->df_residual <= 0;
	const GrNormalInverse inverse = {
		.entries = fit->vcov,.low = fit->vcov_low,.y_scale = y_scale,
		.sigma2 = gr_dd_div(rss, gr_dd((double) (none ? 1 : fit->df_residual)))
	};

	if (!gr_normal_fill_inverse(f, a, &inverse, host, err))
		return false;
	for (int64_t k = 0; none && k < (int64_t) f->m * f->m; k++)
	{
		if (k % GR_POLL_WORK == GR_POLL_WORK - 1 && gr_canceled(host))
			return gr_fail(err, GR_CANCELED, 0, "covariance matrix");
		fit->vcov[k] = NAN;
	}
	for (int64_t k = 0; !none && rss.hi != 0.0 && k < f->m; k++)
		if (!f->ldl.aliased[k] && !isnormal(fit->vcov[k * f->m + k]))
			return fail_range(fit->vcov[k * f->m + k], gr_column_of_row(a->rows, k + a->skip),
							  "variance of the coefficient", err);
	return true;
}

/* Returns l2 times the slopes' sum of squares, scaled as the residual sum of squares. */
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

/* Sets the members of fit from a solution. Returns false on an error. */
static bool
fill_ols(GrNormalFactor *f, const GrNormalMatrix *a, int64_t nrows, GrOlsFit *fit, const GrHost *host, GrError *err)
{
	double		y_scale = f->ldl.scale[f->m];
	GrDD		rss = gr_dd_get(f->ldl.d, f->m);
	GrDD		tss = gr_normal_entry(f, a, f->m, f->m);
	double		noise = rss_noise(f);
	int64_t		response = gr_column_of_row(a->rows, f->m + a->skip);

	if (fit->intercept)
	{
		/*
		 * sum of squares about the mean by the first step of the factorisation, u = l d; the intercept is never aliased
		 */
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
	for (int k = 0; k < f->m; k++)
		if (!f->ldl.aliased[k] && f->ldl.u.hi[k] != 0.0 && !isnormal(fit->coef[k]))
			return fail_range(fit->coef[k], gr_column_of_row(a->rows, k + a->skip), "coefficient", err);
	/* the caller wants only coefficients */
	if (fit->vcov == NULL)
		return true;
	if (rss.hi != 0.0 && !isnormal(fit->rss))
		return fail_range(fit->rss, response, "residual sum of squares", err);
	if (tss.hi != 0.0 && !isnormal(fit->tss))
		return fail_range(fit->tss, response, "total sum of squares", err);
	return fill_vcov(f, a, rss, y_scale, fit, host, err);
}

/*
 * Copies gram to the memory of the inverse, about 0 if there is no intercept. Sets a to the copy. Returns false if
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

/* Adds l2 to the diagonal of the slopes, the second derivative of the penalty about any shift. */
static void
add_ridge(GrNormalFactor *f, int nfeatures, double l2)
{
	for (int64_t j = 1; j <= nfeatures; j++)
		gr_dd_set(f->inverse, gr_packed(j, j), gr_dd_add(gr_dd_get(f->inverse, gr_packed(j, j)), gr_dd(l2)));
}

/* Returns the matrix to be solved for a fit to gram. */
static GrNormalMatrix
matrix_of(const GrGram *gram, bool intercept)
{
	return (GrNormalMatrix) {
		.hi = gram->hi,.lo = gram->lo,.skip = intercept ? 0 : 1,.rows = GR_ROWS_ENTRIES,
		.shift = gr_gram_is_shifted(gram) ? gram->shift : NULL
	};
}

/* Returns the largest possible rank of the sums of gram's rows. */
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
	gr_normal_carve(&f, a.skip, workspace);
	memset(f.ldl.aliased, 0, (size_t) f.m * sizeof(bool));
	if (((a.shift != NULL && !fit->intercept) || ridge) && !copy_sums(&f, &a, gram, fit->intercept, host))
		return gr_fail(err, GR_CANCELED, 0, "factorisation");
	if (ridge)
		add_ridge(&f, gram->nfeatures, fit->l2);
	ok = gr_normal_factorise(&f, &a, GR_ALIAS_TOLERANCE, fit->vcov != NULL, host, err) &&
		fill_ols(&f, &a, gram->nobs, fit, host, err);
	gr_normal_release(&f);
	return ok;
}

bool
gr_ols_finish(const GrGram *gram, const GrOlsFactor *factor, void *workspace, GrOlsFit *fit, const GrHost *host,
			  GrError *err)
{
	const GrNormalMatrix a = matrix_of(gram, fit->intercept);
	GrNormalFactor f = {.m = gram->nfeatures + (fit->intercept ? 1 : 0)};
	size_t		nentries = (size_t) gr_triangle((int64_t) f.m + 1);
	size_t		nrows_l = (size_t) f.m + 1;

	gr_normal_carve(&f, a.skip, workspace);
	memcpy(f.ldl.aliased, factor->aliased, (size_t) f.m * sizeof(bool));
	if (!gr_normal_choose_scales(&f, &a, GR_ALIAS_TOLERANCE, err))
		return false;
	memcpy(f.ldl.l.hi, factor->l.hi, nentries * sizeof(double));
	memcpy(f.ldl.l.lo, factor->l.lo, nentries * sizeof(double));
	memcpy(f.ldl.d.hi, factor->d.hi, nrows_l * sizeof(double));
	memcpy(f.ldl.d.lo, factor->d.lo, nrows_l * sizeof(double));
	return gr_ldl_back_substitute(&f.ldl, host, err) && fill_ols(&f, &a, gram->nobs, fit, host, err);
}
