/*
 * ols.c: solves the normal equations in double-double.
 */
#include "compute/ols.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "compute/dd_dot.h"

/* A sum below this fraction of its terms' magnitudes is rounding error: 2^-98, some hundred roundings in double-double. */
#define NOISE 3.2e-30

/* A product's share of the time between two polls; see GrPoll */
#define PRODUCT_WORK 2

/* What is given: the packed triangle, of which the first skip rows and columns take no part. */
typedef struct Matrix
{
	const double *hi;
	const double *lo;
	int			skip;
	bool		right_hand_side;	/* the last row is one, and has no diagonal entry */
} Matrix;

/*
 * What the factorisation works on: m terms and, as row m, the response, each scaled by a power of two so that its
 * sum of squares is in [1, 4). Factorised on a device, L but for its last row, and the inverse, stay there.
 */
typedef struct Factor
{
	int			m;
	const GrSolver *solver;
	GrFactor   *device;			/* NULL: factorised here */
	double	   *scale;			/* m + 1: the powers of two */
	double	   *sumsq;			/* m + 1: the scaled sums of squares */
	double	   *least_pivot;	/* m: a term is aliased unless its pivot is above */
	bool	   *aliased;		/* m */
	GrDDVector	l;				/* packed triangle of m + 1 rows: L below the diagonal */
	GrDDVector	d;				/* m + 1: D */
	GrDDVector	inverse;		/* packed: row a of inv(L)', from its diagonal on, at a m - a (a - 1) / 2 */
	GrDDVector	u;				/* m + 1: the row being factored, L D; then the solution, scaled */
} Factor;

static inline GrDD
get(GrDDVector v, int64_t k)
{
	GrDD		r = {v.hi[k], v.lo[k]};

	return r;
}

static inline void
set(GrDDVector v, int64_t k, GrDD value)
{
	v.hi[k] = value.hi;
	v.lo[k] = value.lo;
}

static inline GrDDConstVector
from(GrDDVector v, int64_t k)
{
	GrDDConstVector r = {v.hi + k, v.lo + k};

	return r;
}

/* where entry (i, j) of a packed triangle is */
static inline int64_t
at(int64_t i, int64_t j)
{
	return i * (i + 1) / 2 + j;
}

size_t
gr_ols_workspace_nbytes(int nfeatures)
{
	size_t		m1 = (size_t) nfeatures + 2;

	return (4 * (size_t) gr_triangle((int64_t) m1) + 7 * m1) * sizeof(double) + m1 * sizeof(bool);
}

static GrDDVector
carve_vector(double **next, size_t n)
{
	GrDDVector	v = {*next, *next + n};

	*next += 2 * n;
	return v;
}

static void
carve_workspace(Factor *f, void *workspace)
{
	double	   *next = workspace;
	size_t		m1 = (size_t) f->m + 1;

	f->l = carve_vector(&next, (size_t) gr_triangle((int64_t) m1));
	f->inverse = carve_vector(&next, (size_t) gr_triangle((int64_t) m1));
	f->u = carve_vector(&next, m1);
	f->d = carve_vector(&next, m1);
	f->scale = next;
	f->sumsq = next + m1;
	f->least_pivot = next + 2 * m1;
	f->aliased = (bool *) (next + 3 * m1);
}

/* 2^-k with d 2^-2k in [1, 4), for d > 0 */
static double
scale_for(double d)
{
	int			exponent;

	(void) frexp(d, &exponent);
	return ldexp(1.0, -((exponent - 1) >> 1));
}

/* Entry (i, j) as it is factorised. */
static GrDD
scaled(const Factor *f, const Matrix *a, int64_t i, int64_t j)
{
	int64_t		k = at(i + a->skip, j + a->skip);
	GrDD		entry = {a->hi[k], a->lo[k]};

	if (a->right_hand_side && j == f->m)
		return gr_dd(0.0);
	return gr_dd_scale(gr_dd_scale(entry, f->scale[i]), f->scale[j]);
}

/*
 * The scales of the m terms and of the response, and what goes by them. The last row's diagonal is the response's sum of squares for a
 * Gram matrix; where the last row is a right-hand side alone, its scale brings the largest entry to the order of 1.
 */
static bool
choose_scales(Factor *f, const Matrix *a, double tolerance, GrError *err)
{
	int64_t		last = f->m + a->skip;
	double		largest = 0;

	for (int i = 0; i <= f->m; i++)
	{
		int64_t		row = i + a->skip;
		double		d = a->hi[at(row, row)];

		if (a->right_hand_side && i == f->m)
			break;
		/* below DBL_MIN * 2^110 the exact products' low halves were lost */
		if (!isfinite(d) || d < 0 || (d > 0 && d < 2.9e-275))
			return gr_fail(err, GR_OUT_OF_RANGE, row - 1, "sum of squares is %g", d);
		f->scale[i] = d == 0 ? 1.0 : scale_for(d);
		if (a->right_hand_side)
			largest = fmax(largest, fabs(a->hi[at(last, row)] * f->scale[i]));
	}
	if (a->right_hand_side)
		f->scale[f->m] = largest > 0 && isfinite(largest) ? ldexp(1.0, -ilogb(largest)) : 1.0;
	for (int i = 0; i <= f->m; i++)
	{
		f->sumsq[i] = scaled(f, a, i, i).hi;
		f->least_pivot[i] = tolerance * f->sumsq[i];
	}
	return true;
}

/* Copies the part of the Gram matrix that takes part, scaled: all but the first skip rows and columns. */
static bool
load_scaled(Factor *f, const Matrix *a, const GrHost *host, GrError *err)
{
	GrPoll		poll = {.host = host};

	for (int i = 0; i <= f->m; i++)
	{
		if (gr_poll(&poll, 8 * (i + 1)))
			return gr_fail(err, GR_CANCELED, 0, "factorisation");
		for (int j = 0; j <= i; j++)
		{
			int64_t		k = at(i + a->skip, j + a->skip);

			if (!(a->right_hand_side && j == f->m) && (!isfinite(a->hi[k]) || !isfinite(a->lo[k])))
				return gr_fail(err, GR_OUT_OF_RANGE, i + a->skip - 1, "a sum of products is %g", a->hi[k]);
			set(f->l, at(i, j), scaled(f, a, i, j));
		}
	}
	return true;
}

/* start - sum over k < n of a[k] b[k]; exactly 0 where no more than rounding error is left */
static GrDD
minus_dot(GrDD start, GrDDConstVector a, GrDDConstVector b, int64_t n)
{
	double		magnitude;
	GrDD		sum = gr_dd_minus_dot(start, a, b, n, &magnitude);

	return fabs(sum.hi) <= NOISE * magnitude ? gr_dd(0.0) : sum;
}

/* A = L D L', row by row; aliased terms, those that were so before included, get a zero column in L. */
static bool
factorise(Factor *f, const GrHost *host, GrError *err)
{
	GrPoll		poll = {.host = host};

	for (int64_t i = 0; i <= f->m; i++)
	{
		GrDD		d;

		if (gr_canceled(host))
			return gr_fail(err, GR_CANCELED, 0, "factorisation");
		for (int64_t j = 0; j < i; j++)
		{
			if (gr_poll(&poll, PRODUCT_WORK * j))
				return gr_fail(err, GR_CANCELED, 0, "factorisation");
			set(f->u, j, f->aliased[j] ? gr_dd(0.0) :
				minus_dot(get(f->l, at(i, j)), from(f->u, 0), from(f->l, at(j, 0)), j));
		}
		for (int64_t j = 0; j < i; j++)
			set(f->l, at(i, j), f->aliased[j] ? gr_dd(0.0) : gr_dd_div(get(f->u, j), get(f->d, j)));
		d = minus_dot(get(f->l, at(i, i)), from(f->u, 0), from(f->l, at(i, 0)), i);
		set(f->d, i, d);
		if (i < f->m)
			f->aliased[i] |= !(d.hi > f->least_pivot[i]);
	}
	return true;
}

/* Row a of inv(L)': its entry k is inv(L)[k][a], k = a .. m-1. mine: where its entry 0 would be. False if canceled. */
static bool
invert_column(const Factor *f, int64_t a, int64_t mine, GrPoll *poll)
{
	set(f->inverse, mine + a, gr_dd(f->aliased[a] ? 0.0 : 1.0));
	for (int64_t k = a + 1; k < f->m; k++)
	{
		if (gr_poll(poll, PRODUCT_WORK * (k - a)))
			return false;
		set(f->inverse, mine + k, f->aliased[k] ? gr_dd(0.0) :
			minus_dot(gr_dd(0.0), from(f->l, at(k, a)), from(f->inverse, mine + a), k - a));
	}
	return true;
}

/*
 * beta by back substitution in L' beta = D^-1 L^-1 A y, which is the last row of L. The solution stays scaled, in f->u.
 */
static bool
back_substitute(Factor *f, const GrHost *host, GrError *err)
{
	GrPoll		poll = {.host = host};

	for (int64_t k = f->m - 1; k >= 0; k--)
	{
		GrDD		sum = get(f->l, at(f->m, k));
		double		magnitude = fabs(sum.hi);

		/* down a column: each entry is in a cache line of its own */
		if (gr_poll(&poll, 10 * PRODUCT_WORK * (f->m - k)))
			return gr_fail(err, GR_CANCELED, 0, "back substitution");
		for (int64_t i = k + 1; i < f->m; i++)
		{
			GrDD		p = gr_dd_mul(get(f->l, at(i, k)), get(f->u, i));

			magnitude += fabs(p.hi);
			sum = gr_dd_sub(sum, p);
		}
		set(f->u, k, f->aliased[k] || fabs(sum.hi) <= NOISE * magnitude ? gr_dd(0.0) : sum);
	}
	return true;
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
		norm += fabs(f->u.hi[k]) * sqrt(f->sumsq[k]);
	return NOISE * norm * norm;
}

/* where entry 0 of row a of inv(L)' would be, if it didn't begin at its diagonal */
static inline int64_t
inverse_row(const Factor *f, int64_t a)
{
	return a * f->m - a * (a - 1) / 2 - a;
}

/* fill_inverse() where L is on a device */
static bool
fill_inverse_on_device(Factor *f, double *inverse, GrDD sigma2, double y_scale, const GrHost *host, GrError *err)
{
	for (int k = 0; k < f->m; k++)
		set(f->u, k, f->aliased[k] ? gr_dd(0.0) : gr_dd_div(sigma2, get(f->d, k)));
	return f->solver->backend->factor_inverse(f->device, f->u.hi, f->u.lo, y_scale, inverse, host, err);
}

/* inverse = sigma^2 inv(L)' D^-1 inv(L), unscaled, NaN for aliased terms; f->u is overwritten */
static bool
fill_inverse(Factor *f, double *inverse, GrDD sigma2, double y_scale, const GrHost *host, GrError *err)
{
	int64_t		m = f->m;
	GrPoll		poll = {.host = host};

	if (f->device != NULL)
		return fill_inverse_on_device(f, inverse, sigma2, y_scale, host, err);
	for (int64_t a = 0; a < m; a++)
	{
		if (gr_canceled(host) || !invert_column(f, a, inverse_row(f, a), &poll))
			return gr_fail(err, GR_CANCELED, 0, "covariance matrix");
	}
	for (int64_t a = 0; a < m; a++)
	{
		if (gr_canceled(host))
			return gr_fail(err, GR_CANCELED, 0, "covariance matrix");
		for (int64_t k = a; k < m; k++)
			set(f->u, k, f->aliased[k] ? gr_dd(0.0) :
				gr_dd_mul(gr_dd_div(get(f->inverse, inverse_row(f, a) + k), get(f->d, k)), sigma2));
		for (int64_t b = 0; b <= a; b++)
		{
			GrDD		sum = gr_dd_neg(minus_dot(gr_dd(0.0), from(f->u, a), from(f->inverse, inverse_row(f, b) + a), m - a));

			/* scaled one factor at a time: each product is within range if the result is; + 0.0: not -0 */
			double		v = gr_dd_to_double(sum) * f->scale[a] / y_scale * f->scale[b] / y_scale + 0.0;

			if (gr_poll(&poll, PRODUCT_WORK * (m - a)))
				return gr_fail(err, GR_CANCELED, 0, "covariance matrix");
			if (f->aliased[a] || f->aliased[b])
				v = NAN;
			inverse[a * m + b] = v;
			inverse[b * m + a] = v;
		}
	}
	return true;
}

static bool
device_wanted(const Factor *f)
{
	const GrSolver *solver = f->solver;

	return solver != NULL && solver->backend->factor_begin != NULL &&
		f->m >= (solver->min_terms > 0 ? solver->min_terms : GR_SOLVER_MIN_TERMS);
}

/* Factorises and solves on the device. Where its memory doesn't suffice, that is no failure, and f->device stays NULL. */
static bool
solve_on_device(Factor *f, const Matrix *a, bool want_inverse, const GrHost *host, GrError *err)
{
	GrDDVector	row = {f->l.hi + at(f->m, 0), f->l.lo + at(f->m, 0)};
	GrError		failure = {0};
	GrFactorJob job = {
		.hi = a->hi,.lo = a->lo,.skip = a->skip,.nterms = f->m,.right_hand_side = a->right_hand_side,
		.scale = f->scale,.least_pivot = f->least_pivot,.noise = NOISE,
		.want_inverse = want_inverse,.memory_limit = f->solver->memory_limit,.aliased = f->aliased,
		.d_hi = f->d.hi,.d_lo = f->d.lo,.row_hi = row.hi,.row_lo = row.lo,.coef_hi = f->u.hi,.coef_lo = f->u.lo
	};

	if (f->solver->backend->factor_begin(f->solver->session, &job, &f->device, host, &failure))
		return true;
	f->solver->backend->factor_end(f->device);
	f->device = NULL;
	if (failure.status == GR_DEVICE_MEMORY)
		return true;
	if (err->status == GR_OK)
		*err = failure;
	return false;
}

/* A = L D L' and the solution, wherever that is quicker. */
static bool
solve(Factor *f, const Matrix *a, double tolerance, bool want_inverse, const GrHost *host, GrError *err)
{
	if (!choose_scales(f, a, tolerance, err))
		return false;
	if (device_wanted(f) && !solve_on_device(f, a, want_inverse, host, err))
		return false;
	if (f->device != NULL)
		return true;
	return load_scaled(f, a, host, err) && factorise(f, host, err) && back_substitute(f, host, err);
}

static void
release(Factor *f)
{
	if (f->device != NULL)
		f->solver->backend->factor_end(f->device);
}

/* The solution, unscaled, and the number of terms that are not aliased. */
static int
fill_coef(const Factor *f, double *coef)
{
	int			rank = 0;

	for (int k = 0; k < f->m; k++)
	{
		rank += f->aliased[k] ? 0 : 1;
		coef[k] = f->aliased[k] ? NAN : gr_dd_to_double(get(f->u, k)) * f->scale[k] / f->scale[f->m];
	}
	return rank;
}

/* What an OLS fit is made of, from a solution. */
static bool
fill_ols(Factor *f, const Matrix *a, int64_t nrows, bool intercept, GrOlsFit *fit, const GrHost *host, GrError *err)
{
	double		y_scale = f->scale[f->m];
	GrDD		rss = get(f->d, f->m);
	GrDD		tss = scaled(f, a, f->m, f->m);

	if (intercept)
	{
		/* about the mean: the first step of the factorisation, u = l d; the intercept is never aliased */
		GrDD		u = gr_dd_mul(get(f->l, at(f->m, 0)), get(f->d, 0));
		GrDDConstVector first = {&u.hi, &u.lo};

		tss = minus_dot(tss, first, from(f->l, at(f->m, 0)), 1);
	}
	fit->nterms = f->m;
	fit->on_device = f->device != NULL;
	fit->rank = fill_coef(f, fit->coef);
	fit->df_residual = nrows - fit->rank;
	if (fit->df_residual <= 0 || rss.hi <= rss_noise(f))
		rss = gr_dd(0.0);
	fit->rss = gr_dd_to_double(rss) / y_scale / y_scale;
	fit->tss = gr_dd_to_double(tss) / y_scale / y_scale;
	if (fit->vcov == NULL)
		return true;
	if (!fill_inverse(f, fit->vcov, gr_dd_div(rss, gr_dd((double) (fit->df_residual > 0 ? fit->df_residual : 1))), y_scale,
					  host, err))
		return false;
	for (int64_t k = 0; fit->df_residual <= 0 && k < (int64_t) f->m * f->m; k++)
	{
		if (k % GR_POLL_WORK == GR_POLL_WORK - 1 && gr_canceled(host))
			return gr_fail(err, GR_CANCELED, 0, "covariance matrix");
		fit->vcov[k] = NAN;
	}
	return true;
}

bool
gr_ols_solve(const double *hi, const double *lo, int nfeatures, int64_t nrows, bool intercept, void *workspace,
			 const GrSolver *solver, GrOlsFit *fit, const GrHost *host, GrError *err)
{
	const Matrix a = {.hi = hi,.lo = lo,.skip = intercept ? 0 : 1};
	Factor		f = {.m = nfeatures + (intercept ? 1 : 0),.solver = solver};
	bool		ok;

	carve_workspace(&f, workspace);
	memset(f.aliased, 0, (size_t) f.m * sizeof(bool));
	ok = solve(&f, &a, GR_ALIAS_TOLERANCE, fit->vcov != NULL, host, err) &&
		fill_ols(&f, &a, nrows, intercept, fit, host, err);
	release(&f);
	return ok;
}

bool
gr_normal_solve(const double *hi, const double *lo, int skip, double tolerance, void *workspace, const GrSolver *solver,
				GrNormalFit *fit, const GrHost *host, GrError *err)
{
	const Matrix a = {.hi = hi,.lo = lo,.skip = skip,.right_hand_side = true};
	Factor		f = {.m = fit->nterms,.solver = solver};
	GrDD		decrement = {0, 0};
	bool		ok;

	carve_workspace(&f, workspace);
	memcpy(f.aliased, fit->aliased, (size_t) f.m * sizeof(bool));
	ok = solve(&f, &a, tolerance, fit->inverse != NULL, host, err);
	if (ok)
	{
		memcpy(fit->aliased, f.aliased, (size_t) f.m * sizeof(bool));
		for (int k = 0; k < f.m; k++)
		{
			GrDD		l = get(f.l, at(f.m, k));

			if (!f.aliased[k])
				decrement = gr_dd_add(decrement, gr_dd_mul(gr_dd_mul(l, l), get(f.d, k)));
			if (fit->pivot != NULL)
				fit->pivot[k] = f.sumsq[k] > 0 ? get(f.d, k).hi / f.sumsq[k] : 0;
		}
		fit->decrement = gr_dd_to_double(decrement) / f.scale[f.m] / f.scale[f.m];
		fit->on_device = f.device != NULL;
		fit->rank = fill_coef(&f, fit->coef);
		ok = fit->inverse == NULL || fill_inverse(&f, fit->inverse, gr_dd(1.0), 1.0, host, err);
	}
	release(&f);
	return ok;
}

bool
gr_normal_residual(void *workspace, int nterms, int k, double *coef, GrPoll *poll)
{
	Factor		f = {.m = nterms};
	double		unit;

	carve_workspace(&f, workspace);
	/* row k of inv(L), from its end: each entry wants those behind it */
	set(f.u, k, gr_dd(1.0));
	for (int64_t j = k - 1; j >= 0; j--)
	{
		GrDD		sum = {0, 0};

		if (gr_poll(poll, 10 * PRODUCT_WORK * (k - j)))
			return false;
		for (int64_t i = j + 1; i <= k && !f.aliased[j]; i++)
			sum = gr_dd_sub(sum, gr_dd_mul(get(f.u, i), get(f.l, at(i, j))));
		set(f.u, j, sum);
	}
	unit = ldexp(1.0, -(int) floor(0.5 * log2(get(f.d, k).hi)));
	for (int64_t j = 0; j <= k; j++)
		coef[j] = gr_dd_to_double(get(f.u, j)) * f.scale[j] * unit;
	return true;
}
