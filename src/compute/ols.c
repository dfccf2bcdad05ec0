/*
 * ols.c: solves the normal equations in double-double.
 */
#include "compute/ols.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "compute/dd.h"

/* A sum below this fraction of its terms' magnitudes is rounding error: 2^-98, some hundred roundings in double-double. */
#define NOISE 3.2e-30

/*
 * What the factorisation works on: m terms and, as row m, the response, each scaled by a power of two so that its
 * sum of squares is in [1, 4).
 */
typedef struct Factor
{
	int			m;
	double	   *scale;			/* m + 1: the powers of two */
	bool	   *aliased;		/* m */
	GrDD	   *l;				/* packed triangle of m + 1 rows: L below the diagonal, D on it */
	GrDD	   *u;				/* m + 1: the row being factored, L D */
	GrDD	   *inverse;		/* m: a row of inv(L)' */
	double	   *sumsq;			/* m + 1: the scaled sums of squares */
} Factor;

static GrDD *
entry(GrDD *l, int64_t i, int64_t j)
{
	return l + i * (i + 1) / 2 + j;
}

static size_t
aligned(size_t nbytes)
{
	return (nbytes + 15) & ~(size_t) 15;
}

size_t
gr_ols_workspace_nbytes(int nfeatures)
{
	size_t		m1 = (size_t) nfeatures + 2;

	return aligned(m1 * sizeof(double)) * 2 + aligned(m1 * sizeof(bool)) + m1 * sizeof(GrDD) * 2 +
		(size_t) gr_triangle(m1) * sizeof(GrDD) + (size_t) gr_triangle(m1) * sizeof(GrDD);
}

static void
carve_workspace(Factor *f, void *workspace)
{
	char	   *at = workspace;
	size_t		m1 = (size_t) f->m + 1;

	f->l = (GrDD *) at;
	at += (size_t) gr_triangle(m1) * sizeof(GrDD);
	f->inverse = (GrDD *) at;
	at += (size_t) gr_triangle(m1) * sizeof(GrDD);
	f->u = (GrDD *) at;
	at += m1 * sizeof(GrDD);
	f->scale = (double *) at;
	at += aligned(m1 * sizeof(double));
	f->sumsq = (double *) at;
	at += aligned(m1 * sizeof(double));
	f->aliased = (bool *) at;
}

/*
 * Copies the part of the Gram matrix that takes part, scaled. Its rows are (1, x, y): without an intercept the first
 * is left out.
 */
static bool
load_scaled(Factor *f, const double *hi, const double *lo, bool intercept, GrError *err)
{
	int			skip = intercept ? 0 : 1;

	for (int i = 0; i <= f->m; i++)
	{
		int64_t		row = i + skip;
		double		d = hi[row * (row + 1) / 2 + row];
		int			exponent;

		/* below DBL_MIN * 2^110 the exact products' low halves were lost */
		if (!isfinite(d) || d < 0 || (d > 0 && d < 2.9e-275))
			return gr_fail(err, GR_OUT_OF_RANGE, row - 1, "sum of squares is %g", d);
		(void) frexp(d, &exponent);
		/* 2^-k with d 2^-2k in [1, 4) */
		f->scale[i] = d == 0 ? 1.0 : ldexp(1.0, -((exponent - 1) >> 1));
		for (int j = 0; j <= i; j++)
		{
			int64_t		k = row * (row + 1) / 2 + j + skip;
			GrDD		a = {hi[k], lo[k]};

			if (!isfinite(a.hi) || !isfinite(a.lo))
				return gr_fail(err, GR_OUT_OF_RANGE, row - 1, "a sum of products is %g", a.hi);
			*entry(f->l, i, j) = gr_dd_scale(gr_dd_scale(a, f->scale[i]), f->scale[j]);
		}
		f->sumsq[i] = entry(f->l, i, i)->hi;
	}
	return true;
}

/* start - sum over k < n of a[k] b[k]; exactly 0 where no more than rounding error is left */
static GrDD
minus_dot(GrDD start, const GrDD *a, const GrDD *b, int64_t n)
{
	GrDD		sum = start;
	double		magnitude = fabs(start.hi);

	for (int64_t k = 0; k < n; k++)
	{
		GrDD		p = gr_dd_mul(a[k], b[k]);

		magnitude += fabs(p.hi);
		sum = gr_dd_sub(sum, p);
	}
	return fabs(sum.hi) <= NOISE * magnitude ? gr_dd(0.0) : sum;
}

/* A = L D L', row by row; *aliased terms get a zero column in L. */
static bool
factorise(Factor *f, const GrHost *host, GrError *err)
{
	for (int64_t i = 0; i <= f->m; i++)
	{
		GrDD	   *row = entry(f->l, i, 0);
		GrDD		d;

		if (gr_canceled(host))
			return gr_fail(err, GR_CANCELED, 0, "factorisation");
		for (int64_t j = 0; j < i; j++)
			f->u[j] = f->aliased[j] ? gr_dd(0.0) : minus_dot(row[j], f->u, entry(f->l, j, 0), j);
		for (int64_t j = 0; j < i; j++)
			row[j] = f->aliased[j] ? gr_dd(0.0) : gr_dd_div(f->u[j], *entry(f->l, j, j));
		d = minus_dot(row[i], f->u, row, i);
		if (i < f->m)
			f->aliased[i] = !(d.hi > GR_ALIAS_TOLERANCE * f->sumsq[i]);
		row[i] = d;
	}
	return true;
}

/* row a of inv(L)', to the right of the diagonal: inverse[k] = inv(L)[k][a], k = a .. m-1 */
static void
invert_column(const Factor *f, GrDD *inverse, int64_t a)
{
	inverse[a] = gr_dd(1.0);
	for (int64_t k = a + 1; k < f->m; k++)
	{
		if (f->aliased[k])
			inverse[k] = gr_dd(0.0);
		else
			inverse[k] = minus_dot(gr_dd(0.0), entry(f->l, k, a), inverse + a, k - a);
	}
}

/*
 * beta by back substitution in L' beta = D^-1 L^-1 A y, which is the last row of L. The solution stays scaled, in f->u.
 */
static void
back_substitute(Factor *f)
{
	const GrDD *z = entry(f->l, f->m, 0);

	for (int64_t k = f->m - 1; k >= 0; k--)
	{
		GrDD		sum = z[k];
		double		magnitude = fabs(sum.hi);

		for (int64_t i = k + 1; i < f->m; i++)
		{
			GrDD		p = gr_dd_mul(*entry(f->l, i, k), f->u[i]);

			magnitude += fabs(p.hi);
			sum = gr_dd_sub(sum, p);
		}
		f->u[k] = f->aliased[k] || fabs(sum.hi) <= NOISE * magnitude ? gr_dd(0.0) : sum;
	}
}

/*
 * What rounding can have left in a residual sum of squares of 0: the matrix is known to a relative NOISE by entries, and
 * beta' A beta takes it on. Bounded through |A[i][j]| <= sqrt(A[i][i] A[j][j]) <= 4 in scaled units.
 */
static double
rss_noise(const Factor *f)
{
	double		norm = sqrt(f->sumsq[f->m]);

	for (int k = 0; k < f->m; k++)
		norm += fabs(f->u[k].hi) * sqrt(f->sumsq[k]);
	return NOISE * norm * norm;
}

/* vcov = sigma^2 inv(L)' D^-1 inv(L), unscaled; f->u is overwritten */
static bool
fill_vcov(Factor *f, GrOlsFit *fit, GrDD rss, const GrHost *host, GrError *err)
{
	int			m = f->m;
	double		y_scale = f->scale[m];
	GrDD		sigma2 = gr_dd_div(rss, gr_dd((double) (fit->df_residual > 0 ? fit->df_residual : 1)));
	GrDD	   *rows = f->inverse;	/* row a, from the diagonal on, at a m - a (a - 1) / 2 */

	for (int64_t a = 0; a < m; a++)
	{
		GrDD	   *mine = rows + a * m - a * (a - 1) / 2 - a;

		if (gr_canceled(host))
			return gr_fail(err, GR_CANCELED, 0, "covariance matrix");
		if (f->aliased[a])
			memset(mine + a, 0, (m - a) * sizeof(GrDD));
		else
			invert_column(f, mine, a);
	}
	for (int64_t a = 0; a < m; a++)
	{
		const GrDD *mine = rows + a * m - a * (a - 1) / 2 - a;

		if (gr_canceled(host))
			return gr_fail(err, GR_CANCELED, 0, "covariance matrix");
		for (int64_t k = a; k < m; k++)
			f->u[k] = f->aliased[k] ? gr_dd(0.0) : gr_dd_mul(gr_dd_div(mine[k], *entry(f->l, k, k)), sigma2);
		for (int64_t b = 0; b <= a; b++)
		{
			const GrDD *other = rows + b * m - b * (b - 1) / 2 - b;
			GrDD		sum = gr_dd_neg(minus_dot(gr_dd(0.0), f->u + a, other + a, m - a));
			double		v;

			/* scale one factor at a time: each product is within range if the result is */
			v = gr_dd_to_double(sum) * f->scale[a] / y_scale * f->scale[b] / y_scale + 0.0;	/* not -0 */
			if (fit->df_residual <= 0 || f->aliased[a] || f->aliased[b])
				v = NAN;
			fit->vcov[a * m + b] = v;
			fit->vcov[b * m + a] = v;
		}
	}
	return true;
}

bool
gr_ols_solve(const double *hi, const double *lo, int nfeatures, int64_t nrows, bool intercept,
			 void *workspace, GrOlsFit *fit, const GrHost *host, GrError *err)
{
	Factor		f;
	GrDD		rss;
	GrDD		tss;
	double		y_scale;

	f.m = nfeatures + (intercept ? 1 : 0);
	carve_workspace(&f, workspace);
	if (!load_scaled(&f, hi, lo, intercept, err))
		return false;
	tss = *entry(f.l, f.m, f.m);
	if (!factorise(&f, host, err))
		return false;
	y_scale = f.scale[f.m];
	rss = *entry(f.l, f.m, f.m);
	if (intercept)
	{
		GrDD		l = *entry(f.l, f.m, 0);

		/* u = l d; the intercept is never aliased */
		f.u[0] = gr_dd_mul(l, *entry(f.l, 0, 0));
		tss = minus_dot(tss, &f.u[0], &l, 1);
	}

	fit->nterms = f.m;
	fit->rank = 0;
	for (int k = 0; k < f.m; k++)
		fit->rank += f.aliased[k] ? 0 : 1;
	fit->df_residual = nrows - fit->rank;

	back_substitute(&f);
	if (fit->df_residual <= 0 || rss.hi <= rss_noise(&f))
		rss = gr_dd(0.0);
	for (int k = 0; k < f.m; k++)
		fit->coef[k] = f.aliased[k] ? NAN : gr_dd_to_double(f.u[k]) * f.scale[k] / y_scale;
	fit->rss = gr_dd_to_double(rss) / y_scale / y_scale;
	fit->tss = gr_dd_to_double(tss) / y_scale / y_scale;
	return fit->vcov == NULL || fill_vcov(&f, fit, rss, host, err);
}
