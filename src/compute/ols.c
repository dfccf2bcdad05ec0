/*
 * ols.c: solves the normal equations in double-double.
 */
#include "compute/ols.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "compute/dd_dot.h"
#include "compute/gram_shift.h"

/*
 * A sum below this fraction of its terms' magnitudes is rounding error: 2^-98, some hundred roundings in double-double.
 */
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
	const double *shift;		/* of the columns after the ones, the last row's included; NULL: 0 */
	const GrTermMoves *moves;	/* NULL: none */
	int64_t		max_rank;		/* of the terms; 0: not known */
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
	GrDDVector	origin;			/* m: on a device, the scaled A's inverse times what the intercept is in scaled terms */
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
	size_t		m1 = (size_t) gr_norder(nfeatures);

	return (4 * (size_t) gr_triangle((int64_t) m1) + 9 * m1) * sizeof(double) + m1 * sizeof(bool);
}

static GrDDVector
carve_vector(double **next, size_t n)
{
	GrDDVector	v = {*next, *next + n};

	*next += 2 * n;
	return v;
}

/* skip: as the matrix has it, which f->inverse must hold */
static void
carve_workspace(Factor *f, int skip, void *workspace)
{
	double	   *next = workspace;
	size_t		m1 = (size_t) f->m + 1;

	f->l = carve_vector(&next, (size_t) gr_triangle((int64_t) m1));
	f->inverse = carve_vector(&next, (size_t) gr_triangle((int64_t) m1 + skip));
	f->u = carve_vector(&next, m1);
	f->d = carve_vector(&next, m1);
	f->origin = carve_vector(&next, m1);
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

/* Row i's shift */
static inline double
shift_of(const Matrix *a, int64_t i)
{
	return a->shift == NULL || i + a->skip == 0 ? 0.0 : a->shift[i + a->skip - 1];
}

/* What row i's pivot must be above if its sum of squares, scaled, isn't all: the values' own squares are larger. */
static double
rounding_pivot(const Factor *f, const Matrix *a, int64_t i)
{
	double		c = shift_of(a, i) * f->scale[i];
	double		sum = a->hi[at(i, 0)] * f->scale[i];

	return GR_ROUNDING_TOLERANCE * (f->sumsq[i] + c * (2 * sum + a->hi[0] * c));
}

/*
 * The scales of the m terms and of the response, and what goes by them. The last row's diagonal is the response's sum
 * of squares for a Gram matrix; where the last row is a right-hand side alone, its scale brings the largest entry to
 * the order of 1.
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
		if (shift_of(a, i) != 0.0)
			f->least_pivot[i] = fmax(f->least_pivot[i], rounding_pivot(f, a, i));
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

/*
 * A = L D L', row by row; aliased terms, those that were so before included, get a zero column in L. What rounding
 * leaves of a term beyond A's rank may be above any tolerance that keeps those within.
 */
static bool
factorise(Factor *f, const Matrix *a, const GrHost *host, GrError *err)
{
	GrPoll		poll = {.host = host};
	int64_t		rank = 0;

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
		if (i == f->m)
			break;
		f->aliased[i] |= !(d.hi > f->least_pivot[i]) || (a->max_rank > 0 && rank == a->max_rank);
		rank += f->aliased[i] ? 0 : 1;
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
 * What rounding can have left in a residual sum of squares of 0: the matrix is known to a relative NOISE by entries,
 * and beta' A beta takes it on. Bounded through |A[i][j]| <= sqrt(A[i][i] A[j][j]) <= 4 in scaled units.
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

/* What term j's coefficient, scaled, adds to the intercept, scaled, for a shift: b_0 = t_0 - sum of c_j t_j */
static inline double
origin_weight(const Factor *f, const Matrix *a, int64_t j)
{
	return -shift_of(a, j) * f->scale[j] / f->scale[0];
}

/* Are the terms' own values, which the intercept is about, others than those that were solved for? */
static bool
has_shifted_terms(const Factor *f, const Matrix *a)
{
	for (int64_t j = 0; j < f->m; j++)
		if (shift_of(a, j) != 0.0)
			return true;
	return false;
}

/* The intercept's variance and covariances, from f->origin, which is what they are but for sigma^2 and the scales */
static bool
fill_origin_on_device(const Factor *f, const Matrix *a, double *inverse, GrDD sigma2, double y_scale,
					  const GrHost *host, GrError *err)
{
	GrDD		variance = get(f->origin, 0);
	GrPoll		poll = {.host = host};

	for (int64_t k = 1; k < f->m; k++)
	{
		GrDD		covariance = gr_dd_mul(get(f->origin, k), sigma2);

		if (gr_poll(&poll, 20))
			return gr_fail(err, GR_CANCELED, 0, "covariance matrix");
		if (f->aliased[k])
			continue;
		variance = gr_dd_add(variance, gr_dd_mul_d(get(f->origin, k), origin_weight(f, a, k)));
		inverse[k] = gr_dd_to_double(covariance) * f->scale[0] / y_scale * f->scale[k] / y_scale + 0.0;
		inverse[k * f->m] = inverse[k];
	}
	variance = gr_dd_mul(variance, sigma2);
	inverse[0] = gr_dd_to_double(variance) * f->scale[0] / y_scale * f->scale[0] / y_scale + 0.0;
	return true;
}

/* fill_inverse() where L is on a device */
static bool
fill_inverse_on_device(Factor *f, const Matrix *a, double *inverse, GrDD sigma2, double y_scale, const GrHost *host,
					   GrError *err)
{
	for (int k = 0; k < f->m; k++)
		set(f->u, k, f->aliased[k] ? gr_dd(0.0) : gr_dd_div(sigma2, get(f->d, k)));
	if (!f->solver->ops->inverse(f->device, f->u.hi, f->u.lo, y_scale, inverse, host, err))
		return false;
	return !has_shifted_terms(f, a) || fill_origin_on_device(f, a, inverse, sigma2, y_scale, host, err);
}

/* Row 0 of inv(L)' becomes the intercept's about the values themselves: less c_j times row j. False if canceled. */
static bool
move_origin(Factor *f, const Matrix *a, GrPoll *poll)
{
	for (int64_t j = 1; j < f->m; j++)
	{
		double		weight = origin_weight(f, a, j);
		int64_t		mine = inverse_row(f, j);

		if (weight == 0.0 || f->aliased[j])
			continue;
		for (int64_t k = j; k < f->m; k++)
			set(f->inverse, k, gr_dd_add(get(f->inverse, k), gr_dd_mul_d(get(f->inverse, mine + k), weight)));
		if (gr_poll(poll, 10 * PRODUCT_WORK * (f->m - j)))
			return false;
	}
	return true;
}

/* A move's weight between scaled terms; they are scaled by powers of two */
static inline GrDD
scaled_weight(const Factor *f, const GrTermMove *move)
{
	return gr_dd_scale((GrDD) {move->hi, move->lo}, f->scale[move->from] / f->scale[move->to]);
}

/* The rows of inv(L)' become those of the terms that are wanted. False if canceled. */
static bool
move_rows(Factor *f, const GrTermMoves *moves, GrPoll *poll)
{
	for (int64_t n = 0; n < moves->n; n++)
	{
		const GrTermMove *move = &moves->move[n];
		GrDD		weight = scaled_weight(f, move);
		int64_t		to = inverse_row(f, move->to);
		int64_t		mine = inverse_row(f, move->from);

		if (f->aliased[move->from])
			continue;
		for (int64_t k = move->from; k < f->m; k++)
			set(f->inverse, to + k, gr_dd_add(get(f->inverse, to + k),
											  gr_dd_mul(get(f->inverse, mine + k), weight)));
		if (gr_poll(poll, 10 * PRODUCT_WORK * (f->m - move->from)))
			return false;
	}
	return true;
}

/* The scaled solution becomes that of the terms that are wanted; false if one of them is aliased. */
static bool
move_solution(Factor *f, const GrTermMoves *moves)
{
	/* room that a device's solution would take */
	double	   *magnitude = f->origin.hi;

	for (int64_t k = 0; k < f->m; k++)
		magnitude[k] = fabs(f->u.hi[k]);
	for (int64_t n = 0; n < moves->n; n++)
	{
		const GrTermMove *move = &moves->move[n];
		GrDD		p = gr_dd_mul(get(f->u, move->from), scaled_weight(f, move));

		if (f->aliased[move->from])
			continue;
		if (f->aliased[move->to])
			return false;
		magnitude[move->to] += fabs(p.hi);
		set(f->u, move->to, gr_dd_add(get(f->u, move->to), p));
	}
	for (int64_t k = 0; k < f->m; k++)
		if (fabs(f->u.hi[k]) <= NOISE * magnitude[k])
			set(f->u, k, gr_dd(0.0));
	return true;
}

/* inverse = sigma^2 inv(L)' D^-1 inv(L), unscaled, NaN for aliased terms; f->u is overwritten */
static bool
fill_inverse(Factor *f, const Matrix *a, double *inverse, GrDD sigma2, double y_scale, const GrHost *host, GrError *err)
{
	int64_t		m = f->m;
	GrPoll		poll = {.host = host};

	if (f->device != NULL)
		return fill_inverse_on_device(f, a, inverse, sigma2, y_scale, host, err);
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
			set(f->u, k, f->aliased[k] ? gr_dd(0.0) :
				gr_dd_mul(gr_dd_div(get(f->inverse, inverse_row(f, i) + k), get(f->d, k)), sigma2));
		for (int64_t j = 0; j <= i; j++)
		{
			GrDDConstVector row = from(f->inverse, inverse_row(f, j) + i);
			GrDD		sum = gr_dd_neg(minus_dot(gr_dd(0.0), from(f->u, i), row, m - i));

			/* scaled one factor at a time: each product is within range if the result is; + 0.0: not -0 */
			double		v = gr_dd_to_double(sum) * f->scale[i] / y_scale * f->scale[j] / y_scale + 0.0;

			if (gr_poll(&poll, PRODUCT_WORK * (m - i)))
				return gr_fail(err, GR_CANCELED, 0, "covariance matrix");
			if (f->aliased[i] || f->aliased[j])
				v = NAN;
			inverse[i * m + j] = v;
			inverse[j * m + i] = v;
		}
	}
	return true;
}

static bool
device_wanted(const Factor *f)
{
	const GrSolver *solver = f->solver;

	return solver != NULL && f->m >= (solver->min_terms > 0 ? solver->min_terms : GR_SOLVER_MIN_TERMS);
}

/*
 * Factorises and solves on the device. Where its memory doesn't suffice, that is no failure, and f->device stays NULL.
 */
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
solve_for_origin(Factor *f, const Matrix *a, bool *solved, const GrHost *host, GrError *err)
{
	size_t		before = (size_t) at(f->m, 0);
	const Matrix b = {.hi = f->inverse.hi,.lo = f->inverse.lo,.right_hand_side = true};
	double		y_scale = f->scale[f->m];
	double		largest = 1.0;
	bool		ok;

	memcpy(f->inverse.hi, a->hi, before * sizeof(double));
	memcpy(f->inverse.lo, a->lo, before * sizeof(double));
	memset(f->inverse.lo + before, 0, ((size_t) f->m + 1) * sizeof(double));
	for (int64_t j = 0; j <= f->m; j++)
	{
		f->inverse.hi[before + j] = j == 0 ? 1.0 : j == f->m ? 0.0 : -shift_of(a, j);
		if (j < f->m)
			largest = fmax(largest, fabs(origin_weight(f, a, j)));
	}
	f->scale[f->m] = ldexp(1.0, -ilogb(isfinite(largest) ? largest : 1.0)) / f->scale[0];
	ok = solve_on_device(f, &b, false, host, err);
	*solved = ok && f->device != NULL;
	for (int64_t k = 0; *solved && k < f->m; k++)
		set(f->origin, k, gr_dd_scale(get(f->u, k), 1.0 / (f->scale[f->m] * f->scale[0])));
	if (f->device != NULL)
		f->solver->ops->end(f->device);
	f->device = NULL;
	f->scale[f->m] = y_scale;
	memset(f->aliased, 0, (size_t) f->m * sizeof(bool));
	return ok;
}

/* Marks terms beyond the first max_rank that aren't aliased as such; were there any? */
static bool
leave_out_beyond(Factor *f, int64_t max_rank)
{
	int64_t		rank = 0;

	for (int64_t k = 0; k < f->m; k++)
	{
		rank += f->aliased[k] ? 0 : 1;
		f->aliased[k] |= rank > max_rank;
	}
	return rank > max_rank;
}

/* A device finds out the rank alone; what is beyond max_rank is left out of another factorisation. */
static bool
solve_within_rank(Factor *f, const Matrix *a, bool want_inverse, const GrHost *host, GrError *err)
{
	if (!solve_on_device(f, a, want_inverse, host, err))
		return false;
	if (f->device == NULL || a->max_rank == 0 || !leave_out_beyond(f, a->max_rank))
		return true;
	f->solver->ops->end(f->device);
	f->device = NULL;
	return solve_on_device(f, a, want_inverse, host, err);
}

/* A = L D L' and the solution, wherever that is quicker. */
static bool
solve(Factor *f, const Matrix *a, double tolerance, bool want_inverse, const GrHost *host, GrError *err)
{
	bool		on_device = device_wanted(f);

	if (!choose_scales(f, a, tolerance, err))
		return false;
	if (on_device && want_inverse && has_shifted_terms(f, a) && !solve_for_origin(f, a, &on_device, host, err))
		return false;
	if (on_device && !solve_within_rank(f, a, want_inverse, host, err))
		return false;
	if (f->device != NULL)
		return true;
	return load_scaled(f, a, host, err) && factorise(f, a, host, err) && back_substitute(f, host, err);
}

static void
release(Factor *f)
{
	if (f->device != NULL)
		f->solver->ops->end(f->device);
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

/* The scaled solution's intercept becomes that about the values themselves: b_0 = t_0 + c_y - sum of c_j t_j. */
static void
move_intercept(Factor *f, const Matrix *a)
{
	GrDD		moved = gr_two_prod(shift_of(a, f->m) * f->scale[f->m], 1.0 / f->scale[0]);
	double		magnitude = fabs(f->u.hi[0]) + fabs(moved.hi);

	moved = gr_dd_add(moved, get(f->u, 0));
	for (int64_t j = 1; j < f->m; j++)
	{
		GrDD		p = gr_dd_mul_d(get(f->u, j), origin_weight(f, a, j));

		if (f->aliased[j] || shift_of(a, j) == 0.0)
			continue;
		magnitude += fabs(p.hi);
		moved = gr_dd_add(moved, p);
	}
	set(f->u, 0, fabs(moved.hi) <= NOISE * magnitude ? gr_dd(0.0) : moved);
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
coefficients_in_range(const Factor *f, const Matrix *a, const double *coef, GrError *err)
{
	for (int k = 0; k < f->m; k++)
		if (!in_range(coef[k], f->aliased[k] || f->u.hi[k] == 0.0, k + a->skip - 1, "coefficient", err))
			return false;
	return true;
}

static bool
variances_in_range(const Factor *f, const Matrix *a, const double *vcov, bool is_zero, GrError *err)
{
	for (int64_t k = 0; k < f->m; k++)
		if (!in_range(vcov[k * f->m + k], is_zero || f->aliased[k], k + a->skip - 1, "variance of the coefficient",
					  err))
			return false;
	return true;
}

/* The covariance matrix; NaN without a degree of freedom */
static bool
fill_vcov(Factor *f, const Matrix *a, GrDD rss, double y_scale, GrOlsFit *fit, const GrHost *host, GrError *err)
{
	bool		none = fit->df_residual <= 0;

	if (!fill_inverse(f, a, fit->vcov, gr_dd_div(rss, gr_dd((double) (none ? 1 : fit->df_residual))), y_scale, host,
					  err))
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
ridge_of(const Factor *f, bool intercept, double l2)
{
	GrDD		sum = {0, 0};

	for (int64_t k = intercept ? 1 : 0; k < f->m; k++)
	{
		GrDD		b = gr_dd_scale(get(f->u, k), f->scale[k]);

		if (!f->aliased[k])
			sum = gr_dd_add(sum, gr_dd_mul(b, b));
	}
	return gr_dd_mul_d(sum, l2);
}

/* What an OLS fit is made of, from a solution. */
static bool
fill_ols(Factor *f, const Matrix *a, int64_t nrows, bool intercept, GrOlsFit *fit, const GrHost *host, GrError *err)
{
	double		y_scale = f->scale[f->m];
	GrDD		rss = get(f->d, f->m);
	GrDD		tss = scaled(f, a, f->m, f->m);
	double		noise = rss_noise(f);

	if (intercept)
	{
		/* about the mean: the first step of the factorisation, u = l d; the intercept is never aliased */
		GrDD		u = gr_dd_mul(get(f->l, at(f->m, 0)), get(f->d, 0));
		GrDDConstVector first = {&u.hi, &u.lo};

		tss = minus_dot(tss, first, from(f->l, at(f->m, 0)), 1);
		if (a->shift != NULL)
			move_intercept(f, a);
	}
	fit->unmovable = a->moves != NULL && !move_solution(f, a->moves);
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
	return in_range(fit->rss, rss.hi == 0.0, f->m + a->skip - 1, "residual sum of squares", err) &&
		in_range(fit->tss, tss.hi == 0.0, f->m + a->skip - 1, "total sum of squares", err) &&
		fill_vcov(f, a, rss, y_scale, fit, host, err);
}

/* Sums of one's own, which take the room of the inverse */
static void
copy_sums(Factor *f, Matrix *a, int nfeatures)
{
	size_t		nbytes = (size_t) gr_triangle(gr_norder(nfeatures)) * sizeof(double);

	memcpy(f->inverse.hi, a->hi, nbytes);
	memcpy(f->inverse.lo, a->lo, nbytes);
	a->hi = f->inverse.hi;
	a->lo = f->inverse.lo;
}

/* Without an intercept, the sums about the values themselves */
static bool
translate_back(Factor *f, Matrix *a, int nfeatures, const GrHost *host, GrError *err)
{
	GrPoll		poll = {.host = host};

	if (!gr_gram_translate(f->inverse.hi, f->inverse.lo, nfeatures, a->shift, NULL, &poll))
		return gr_fail(err, GR_CANCELED, 0, "factorisation");
	a->shift = NULL;
	return true;
}

/* The penalty's second derivative: l2 on the slopes' diagonal, about any shift */
static void
add_ridge(Factor *f, int nfeatures, double l2)
{
	for (int64_t j = 1; j <= nfeatures; j++)
		set(f->inverse, at(j, j), gr_dd_add(get(f->inverse, at(j, j)), gr_dd(l2)));
}

bool
gr_ols_solve(const double *hi, const double *lo, const double *shift, int nfeatures, int64_t nrows, bool intercept,
			 void *workspace, const GrSolver *solver, GrOlsFit *fit, const GrHost *host, GrError *err)
{
	bool		shifted = shift != NULL && gr_shift_any(shift, nfeatures);
	Matrix		a = {.hi = hi,.lo = lo,.skip = intercept ? 0 : 1,.shift = shifted ? shift : NULL};
	Factor		f = {.m = nfeatures + (intercept ? 1 : 0),.solver = fit->moves == NULL ? solver : NULL};
	bool		ok;

	a.moves = fit->moves;
	a.max_rank = fit->l2 > 0 ? 0 : nrows;
	if (fit->l2 > 0)
		f.solver = NULL;
	carve_workspace(&f, a.skip, workspace);
	memset(f.aliased, 0, (size_t) f.m * sizeof(bool));
	if ((shifted && !intercept) || fit->l2 > 0)
		copy_sums(&f, &a, nfeatures);
	if (shifted && !intercept && !translate_back(&f, &a, nfeatures, host, err))
		return false;
	if (fit->l2 > 0)
		add_ridge(&f, nfeatures, fit->l2);
	ok = solve(&f, &a, GR_ALIAS_TOLERANCE, fit->vcov != NULL, host, err) &&
		fill_ols(&f, &a, nrows, intercept, fit, host, err);
	release(&f);
	return ok;
}

bool
gr_normal_solve(const double *hi, const double *lo, int skip, double tolerance, void *workspace, const GrSolver *solver,
				GrNormalFit *fit, const GrHost *host, GrError *err)
{
	const Matrix a = {.hi = hi,.lo = lo,.skip = skip,.right_hand_side = true,.max_rank = fit->max_rank};
	Factor		f = {.m = fit->nterms,.solver = solver};
	GrDD		decrement = {0, 0};
	bool		ok;

	carve_workspace(&f, 0, workspace);
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
		ok = fit->inverse == NULL || fill_inverse(&f, &a, fit->inverse, gr_dd(1.0), 1.0, host, err);
	}
	release(&f);
	return ok;
}

bool
gr_normal_residual(void *workspace, int nterms, int k, double *coef, GrPoll *poll)
{
	Factor		f = {.m = nterms};
	double		unit;

	carve_workspace(&f, 0, workspace);
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
