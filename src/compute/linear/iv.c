/*
 * iv.c: two-stage least squares in double-double; see iv.h.
 */
#include "compute/linear/iv.h"

#include <math.h>
#include <string.h>

#include "compute/linalg/normal.h"
#include "compute/linear/ols.h"

/*
 * Working memory: the factorisation of (Z, E, y), where Z is (1, W, Q), and of three matrices of (E, y): given (1, W)
 * (ols), given Z (rest), and the difference of the two, which Q explains (projected).
 */
typedef struct Iv
{
	const GrIvColumns *columns;
	int			nall;			/* number of columns W, Q and E */
	int			first;			/* number of ones: 1 with an intercept, else 0 */
	int			nw;				/* pivots of (1, W) */
	int			nz;				/* pivots of (1, W, Q) */
	int			ne;
	GrLdl		all;
	GrLdl		ols;
	GrLdl		rest;
	GrLdl		projected;
	GrDDVector	beta;			/* ne scaled coefficients of E */
	GrGram		gram;			/* the given matrix; about 0 without an intercept */
	GrGram		terms;			/* Gram matrix of (1, W, E, y) */
	/* the factor of terms from which the fit is made */
	GrDDVector	l;
	GrDDVector	d;
	bool	   *aliased;
	int		   *columns_of_terms;	/* indexes of terms in gram, from 0 */
	void	   *ols_workspace;
} Iv;

static int
nall_of(const GrIvColumns *columns)
{
	return columns->nexogenous + columns->ninstruments + columns->nendogenous;
}

/* Carves the workspace for iv->columns with an intercept; without one the fit needs less. */
static void
carve_iv(Iv *iv, GrArena *arena)
{
	int			nfeatures = iv->columns->nexogenous + iv->ne;
	int			nterms = iv->nw + iv->ne;
	int64_t		terms = gr_triangle(gr_norder(nfeatures));

	gr_ldl_carve(&iv->all, iv->nz + iv->ne + 1, arena);
	iv->all.npivots = iv->nz;
	gr_ldl_carve(&iv->ols, iv->ne + 1, arena);
	gr_ldl_carve(&iv->rest, iv->ne + 1, arena);
	gr_ldl_carve(&iv->projected, iv->ne + 1, arena);
	iv->beta = gr_carve_dd(arena, iv->ne);
	iv->gram = gr_gram_carve(arena, iv->nall);
	iv->terms = gr_gram_carve(arena, nfeatures);
	iv->columns_of_terms = gr_carve_ints(arena, nfeatures + 1);
	iv->l = gr_carve_dd(arena, terms);
	iv->d = gr_carve_dd(arena, nterms + 1);
	iv->aliased = gr_carve_bools(arena, nterms);
	iv->ols_workspace = gr_carve(arena, gr_normal_workspace_nbytes(nfeatures));
}

static Iv
iv_of(const GrIvColumns *columns, bool intercept)
{
	Iv			iv = {.columns = columns,.nall = nall_of(columns),.first = intercept ? 1 : 0};

	iv.nw = iv.first + columns->nexogenous;
	iv.nz = iv.nw + columns->ninstruments;
	iv.ne = columns->nendogenous;
	return iv;
}

size_t
gr_iv_workspace_nbytes(const GrIvColumns *columns)
{
	Iv			iv = iv_of(columns, true);
	GrArena		arena = {.base = NULL};

	carve_iv(&iv, &arena);
	return arena.used;
}

/* Copies gram, about 0 if there is no intercept, and factorises the copy. Returns false on an error. */
static bool
load(Iv *iv, const GrGram *gram, const GrHost *host, GrError *err)
{
	GrPoll		poll = {.host = host};

	if (iv->first == 1 || !gr_gram_is_shifted(gram))
		gr_gram_copy(&iv->gram, gram);
	else if (!gr_gram_copy_about(&iv->gram, gram, NULL, &poll))
		return gr_fail(err, GR_CANCELED, 0, "factorisation");
	iv->all.max_rank = gram->nobs;
	return gr_ldl_load(&iv->all, &iv->gram, 1 - iv->first, err) && gr_ldl_factorise(&iv->all, host, err);
}

/* Computes entry (a, b) of ols, rest and projected. The caller has set all.u to row a of the factor times D. */
static void
fill_entry(Iv *iv, int64_t a, int64_t b)
{
	const GrLdl *all = &iv->all;
	int64_t		k = gr_packed(a, b);
	int64_t		row = gr_packed(iv->nz + b, 0);
	GrDD		entry = gr_dd_get(all->l, gr_packed(iv->nz + a, iv->nz + b));

	gr_dd_set(iv->ols.l, k, gr_dd_residual(entry, gr_dd_from(all->u, 0), gr_dd_from(all->l, row), iv->nw));
	gr_dd_set(iv->rest.l, k, gr_dd_residual(entry, gr_dd_from(all->u, 0), gr_dd_from(all->l, row), iv->nz));
	gr_dd_set(iv->projected.l, k,
			  gr_dd_neg(gr_dd_residual(gr_dd(0.0), gr_dd_from(all->u, iv->nw), gr_dd_from(all->l, row + iv->nw),
										 iv->nz - iv->nw)));
}

/* Copies to *to the scales, sums of squares and least pivots of the rows of all from first on. */
static void
copy_scales(GrLdl *to, const GrLdl *all, int first)
{
	memcpy(to->scale, all->scale + first, (size_t) to->n * sizeof(double));
	memcpy(to->sumsq, all->sumsq + first, (size_t) to->n * sizeof(double));
	memcpy(to->least_pivot, all->least_pivot + first, (size_t) to->n * sizeof(double));
}

/* Returns the number of terms first .. end - 1 that are not aliased. */
static int
count_pivots(const GrLdl *ldl, int first, int end)
{
	int			n = 0;

	for (int k = first; k < end; k++)
		n += ldl->aliased[k] ? 0 : 1;
	return n;
}

/*
 * Computes and factorises the matrices ols, rest and projected of (E, y); see Iv. Columns of E that are aliased in ols
 * are aliased in all three.
 */
static bool
factorise_blocks(Iv *iv, int64_t nrows, const GrHost *host, GrError *err)
{
	const GrLdl *all = &iv->all;
	size_t		nbytes = (size_t) iv->ne * sizeof(bool);
	GrPoll		poll = {.host = host};

	for (int64_t a = 0; a <= iv->ne; a++)
	{
		for (int64_t k = 0; k < iv->nz; k++)
			gr_dd_set(all->u, k, all->aliased[k] ? gr_dd(0.0) :
					  gr_dd_mul(gr_dd_get(all->l, gr_packed(iv->nz + a, k)), gr_dd_get(all->d, k)));
		for (int64_t b = 0; b <= a; b++)
		{
			if (gr_poll(&poll, 6 * (int64_t) (iv->nz + 4)))
				return gr_fail(err, GR_CANCELED, 0, "projection");
			fill_entry(iv, a, b);
		}
	}
	copy_scales(&iv->ols, all, iv->nz);
	copy_scales(&iv->rest, all, iv->nz);
	copy_scales(&iv->projected, all, iv->nz);
	iv->ols.max_rank = nrows - count_pivots(all, 0, iv->nw);
	iv->rest.max_rank = nrows - count_pivots(all, 0, iv->nz);
	iv->projected.max_rank = count_pivots(all, iv->nw, iv->nz);
	if (!gr_ldl_factorise(&iv->ols, host, err))
		return false;
	memcpy(iv->rest.aliased, iv->ols.aliased, nbytes);
	memcpy(iv->projected.aliased, iv->ols.aliased, nbytes);
	return gr_ldl_factorise(&iv->rest, host, err) && gr_ldl_factorise(&iv->projected, host, err);
}

/* Returns the part of y that the pivots leave, at least 0. */
static GrDD
remainder_of(const GrLdl *ldl)
{
	GrDD		d = gr_dd_get(ldl->d, ldl->n - 1);

	return d.hi > 0 ? d : gr_dd(0.0);
}

/* Solves for the scaled coefficients of E. */
static void
solve_endogenous(Iv *iv)
{
	const GrLdl *p = &iv->projected;

	for (int64_t k = iv->ne - 1; k >= 0; k--)
	{
		GrDD		sum = gr_dd_get(p->l, gr_packed(iv->ne, k));

		for (int64_t i = k + 1; i < iv->ne; i++)
			sum = gr_dd_sub(sum, gr_dd_mul(gr_dd_get(p->l, gr_packed(i, k)), gr_dd_get(iv->beta, i)));
		gr_dd_set(iv->beta, k, p->aliased[k] ? gr_dd(0.0) : sum);
	}
}

/*
 * Returns |y - X b|^2, scaled: the part in the instruments' span, which the projection minimises, plus the rest, a sum
 * of squares along the factor of rest.
 */
static GrDD
residual_squares(const Iv *iv)
{
	const GrLdl *rest = &iv->rest;
	GrDD		sum = gr_dd_add(remainder_of(&iv->projected), remainder_of(rest));

	for (int64_t k = 0; k < iv->ne; k++)
	{
		GrDD		c = gr_dd_sub(gr_dd_get(rest->l, gr_packed(iv->ne, k)), gr_dd_get(iv->beta, k));

		if (rest->aliased[k])
			continue;
		for (int64_t i = k + 1; i < iv->ne; i++)
			c = gr_dd_sub(c, gr_dd_mul(gr_dd_get(rest->l, gr_packed(i, k)), gr_dd_get(iv->beta, i)));
		sum = gr_dd_add(sum, gr_dd_mul(gr_dd_mul(c, c), gr_dd_get(rest->d, k)));
	}
	return sum;
}

/*
 * Makes the matrix of (1, W, E, y), and L and D with the regressors' projections. Returns false if gr_gram_subset()
 * does.
 */
static bool
make_terms(Iv *iv, GrDD rss)
{
	const GrIvColumns *c = iv->columns;

	for (int k = 0; k <= iv->terms.nfeatures; k++)
		iv->columns_of_terms[k] = k < c->nexogenous ? k : k + c->ninstruments;
	if (!gr_gram_subset(&iv->gram, iv->columns_of_terms, &iv->terms))
		return false;
	for (int64_t i = 0; i <= iv->nw + iv->ne; i++)
	{
		bool		exogenous = i < iv->nw;
		int64_t		e = i - iv->nw;

		for (int64_t j = 0; j < i; j++)
			gr_dd_set(iv->l, gr_packed(i, j), j < iv->nw ?
					  gr_dd_get(iv->all.l, gr_packed(exogenous ? i : iv->nz + e, j)) :
					  gr_dd_get(iv->projected.l, gr_packed(e, j - iv->nw)));
		gr_dd_set(iv->l, gr_packed(i, i), gr_dd(0.0));
		gr_dd_set(iv->d, i, exogenous ? gr_dd_get(iv->all.d, i) : e < iv->ne ? gr_dd_get(iv->projected.d, e) : rss);
		if (i < iv->nw + iv->ne)
			iv->aliased[i] = exogenous ? iv->all.aliased[i] : iv->projected.aliased[e];
	}
	return true;
}

/* Returns the F statistic (more / df1) / (left / df2). more, left: sums of squares in the same scale. */
static GrIvTest
f_test(GrDD more, GrDD left, int64_t df1, int64_t df2)
{
	GrIvTest	test = {.df1 = df1,.df2 = df2,.statistic = NAN};
	double		per = gr_dd_to_double(left) / (double) df2;

	if (df1 > 0 && df2 > 0)
		test.statistic = gr_dd_to_double(more) / (double) df1 / per;
	return test;
}

/* Computes the first-stage and the Hausman tests. The diagonals of the matrices are still in L. */
static void
make_tests(const Iv *iv, int64_t nrows, GrIvFit *fit)
{
	int64_t		df = nrows - count_pivots(&iv->all, 0, iv->nz);
	int64_t		rank_rest = count_pivots(&iv->rest, 0, iv->ne);
	GrDD		ols = remainder_of(&iv->ols);
	GrDD		augmented = gr_dd_add(remainder_of(&iv->projected), remainder_of(&iv->rest));
	GrDD		more = gr_dd_sub(ols, augmented);

	for (int64_t e = 0; e < iv->ne; e++)
	{
		fit->first_stage[e] = f_test(gr_dd_get(iv->projected.l, gr_packed(e, e)),
									 gr_dd_get(iv->rest.l, gr_packed(e, e)), fit->instruments, df);
		if (iv->ols.aliased[e])
			fit->first_stage[e].statistic = NAN;
	}
	/* both remainders have rounding errors, so a smaller difference counts as 0 */
	if (!(more.hi > GR_ROUNDING_TOLERANCE * ols.hi))
		more = gr_dd(0.0);
	fit->hausman = f_test(more, augmented, rank_rest, nrows - fit->rank - rank_rest);
}

/*
 * Computes Sargan's statistic: n times the share of the residuals' squares about their mean that the instruments
 * explain. Without an intercept the mean is not 0, and is subtracted from both sums of squares, as in R's AER.
 */
static void
test_overidentification(const Iv *iv, GrDD rss, int64_t nrows, GrIvFit *fit)
{
	GrDD		explained = remainder_of(&iv->projected);
	double		unit = iv->all.scale[iv->nz + iv->ne];

	fit->sargan = (GrIvTest) {.df1 = fit->instruments - fit->endogenous,.statistic = NAN};
	if (iv->first == 0)
	{
		GrDD		sum = gr_gram_entry(&iv->terms, iv->terms.nfeatures + 1, 0);

		for (int64_t k = 0; k < fit->nterms; k++)
		{
			if (!isnan(fit->coef[k]))
				sum = gr_dd_sub(sum, gr_dd_mul_d(gr_gram_entry(&iv->terms, k + 1, 0), fit->coef[k]));
		}
		sum = gr_dd_scale(sum, unit);
		sum = gr_dd_div(gr_dd_mul(sum, sum), gr_gram_entry(&iv->terms, 0, 0));
		explained = gr_dd_sub(explained, sum);
		rss = gr_dd_sub(rss, sum);
	}
	if (fit->sargan.df1 > 0)
		fit->sargan.statistic = (double) nrows * gr_dd_to_double(gr_dd_div(explained, rss));
}

bool
gr_iv_solve(const GrGram *gram, const GrIvColumns *columns, void *workspace, GrIvFit *fit, const GrHost *host,
			GrError *err)
{
	Iv			iv = iv_of(columns, columns->intercept);
	GrArena		arena = {.base = workspace};
	GrOlsFit	ols = {.coef = fit->coef,.vcov = fit->vcov,.intercept = columns->intercept};
	GrOlsFactor factor;
	GrDD		rss;

	carve_iv(&iv, &arena);
	gr_ldl_clear(&iv.all);
	gr_ldl_clear(&iv.ols);
	gr_ldl_clear(&iv.rest);
	gr_ldl_clear(&iv.projected);
	if (!load(&iv, gram, host, err) || !factorise_blocks(&iv, gram->nobs, host, err))
		return false;
	fit->nterms = iv.nw + iv.ne;
	fit->instruments = count_pivots(&iv.all, iv.nw, iv.nz);
	fit->endogenous = count_pivots(&iv.ols, 0, iv.ne);
	fit->identified = count_pivots(&iv.projected, 0, iv.ne) == fit->endogenous;
	fit->rank = count_pivots(&iv.all, 0, iv.nw) + fit->endogenous;
	fit->df_residual = gram->nobs - fit->rank;
	if (!fit->identified)
		return true;
	solve_endogenous(&iv);
	rss = residual_squares(&iv);
	if (!make_terms(&iv, rss))
		return gr_fail(err, GR_INVALID, 0, "terms");
	factor = (GrOlsFactor) {gr_dd_from(iv.l, 0), gr_dd_from(iv.d, 0), iv.aliased};
	if (!gr_ols_finish(&iv.terms, &factor, iv.ols_workspace, &ols, host, err))
	{
		/* translate a column of terms to one of gram */
		if (err->where >= columns->nexogenous)
			err->where += columns->ninstruments;
		return false;
	}
	fit->rss = ols.rss;
	fit->tss = ols.tss;
	make_tests(&iv, gram->nobs, fit);
	test_overidentification(&iv, rss, gram->nobs, fit);
	if (ols.rss == 0)
		fit->sargan.statistic = NAN;
	return true;
}
