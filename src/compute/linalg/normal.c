/*
 * normal.c: normal equations in double-double: scales, solutions and inverses; see normal.h. The factorisation is in
 * ldl.c.
 */
#include "compute/linalg/normal.h"

#include <math.h>
#include <string.h>

/* Number of terms up to which callers may want the low halves of an inverse, which blocks do not give */
#define GR_LOW_HALVES_MAX (GR_SOLVER_MIN_TERMS - 1)

/* Work of a product in nanoseconds; see GrPoll. */
#define PRODUCT_WORK 2

/*
 * Returns the least pivot of row i of a shifted column, relative to the values' own squares, which are larger than the
 * scaled sum of squares about the shift.
 */
static double
rounding_pivot(const GrNormalFactor *f, const GrNormalMatrix *a, int64_t i)
{
	double		c = gr_normal_shift_of(a, i) * f->ldl.scale[i];
	double		sum = a->hi[gr_packed(i, 0)] * f->ldl.scale[i];

	return GR_ROUNDING_TOLERANCE * (f->ldl.sumsq[i] + c * (2 * sum + a->hi[0] * c));
}

bool
gr_normal_choose_scales(GrNormalFactor *f, const GrNormalMatrix *a, double tolerance, GrError *err)
{
	int64_t		last = f->m + a->skip;
	double		largest = 0;

	for (int i = 0; i <= f->m; i++)
	{
		int64_t		row = i + a->skip;
		double		d = a->hi[gr_packed(row, row)];

		if (a->right_hand_side && i == f->m)
			break;
		/* later passes of a step may have weighted values near 0, whose squares are 0 */
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
		f->ldl.sumsq[i] = gr_normal_entry(f, a, i, i).hi;
		f->ldl.least_pivot[i] = tolerance * f->ldl.sumsq[i];
		if (gr_normal_shift_of(a, i) != 0.0)
			f->ldl.least_pivot[i] = fmax(f->ldl.least_pivot[i], rounding_pivot(f, a, i));
	}
	return true;
}

/* Copies the scaled matrix without its first skip rows and columns. Returns false on an error. */
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
			gr_dd_set(f->ldl.l, gr_packed(i, j), gr_normal_entry(f, a, i, j));
		}
	}
	return true;
}

/*
 * Computes row a of inv(L)', whose entry k is inv(L)[k][a] for k = a .. m-1. mine: index that its entry 0 would have.
 * Returns false if canceled.
 */
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

/* Returns the index that entry 0 of row a of inv(L)' would have; the row begins at its diagonal. */
static inline int64_t
inverse_row(const GrNormalFactor *f, int64_t a)
{
	return a * f->m - a * (a - 1) / 2 - a;
}

/* Changes row 0 of inv(L)' to that of the intercept about 0: subtracts c_j times row j. Returns false if canceled. */
static bool
move_origin(GrNormalFactor *f, const GrNormalMatrix *a, GrPoll *poll)
{
	for (int64_t j = 1; j < f->m; j++)
	{
		double		weight = gr_normal_origin_weight(f, a, j);
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

/* Changes the rows of inv(L)' to those of the reported terms. Returns false if canceled. */
static bool
move_rows(GrNormalFactor *f, const GrTermMoves *moves, GrPoll *poll)
{
	for (int64_t n = 0; n < moves->n; n++)
	{
		const GrTermMove *move = &moves->move[n];
		GrDD		weight = gr_normal_weight(f, move);
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

/*
 * Fills row i of the inverse up to its diagonal. f->ldl.u has row i of inv(L)' D^-1 sigma^2 from the diagonal on.
 * Returns false if canceled.
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

		/* scaled one factor at a time, so that each product is in range if the result is; + 0.0 turns -0 into 0 */
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
gr_normal_fill_inverse(GrNormalFactor *f, const GrNormalMatrix *a, const GrNormalInverse *inverse, const GrHost *host,
					GrError *err)
{
	int64_t		m = f->m;
	GrPoll		poll = {.host = host};

	if (f->device != NULL)
		return gr_normal_device_inverse(f, a, inverse, host, err);
	if (f->block.n > 0)
		return gr_normal_block_inverse(f, a, inverse, host, err);
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

bool
gr_normal_factorise(GrNormalFactor *f, const GrNormalMatrix *a, double tolerance, bool want_inverse, const GrHost *host,
		  GrError *err)
{
	const GrSolver *solver = f->solver;
	bool		on_device = solver != NULL &&
		f->m >= (solver->min_terms > 0 ? solver->min_terms : GR_SOLVER_MIN_TERMS);

	if (!gr_normal_choose_scales(f, a, tolerance, err) ||
		(f->m > GR_LOW_HALVES_MAX && !gr_normal_block_solve(f, a, host, err)))
		return false;
	if (f->block.n > 0)
		return true;
	if (on_device && !gr_normal_device_solve(f, a, want_inverse, host, err))
		return false;
	if (f->device != NULL)
		return true;
	if (a->max_rank > 0)
		f->ldl.max_rank = a->max_rank;
	return load_scaled(f, a, host, err) && gr_ldl_factorise(&f->ldl, host, err) &&
		gr_ldl_back_substitute(&f->ldl, host, err);
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

	gr_normal_carve(&f, 0, workspace);
	memcpy(f.ldl.aliased, fit->aliased, (size_t) f.m * sizeof(bool));
	ok = gr_normal_factorise(&f, &a, fit->tolerance, fit->inverse != NULL, host, err);
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
		ok = fit->inverse == NULL || gr_normal_fill_inverse(&f, &a, &inverse, host, err);
	}
	gr_normal_release(&f);
	return ok;
}

bool
gr_normal_residual(void *workspace, int nterms, int k, double *coef, GrPoll *poll)
{
	GrNormalFactor f = {.m = nterms};
	double		pivot;
	double		unit;

	gr_normal_carve(&f, 0, workspace);
	/* row k of inv(L), from its end, as each entry needs those behind it */
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
	/* a pivot that is 0, negative, infinite or NaN gives no unit */
	pivot = gr_dd_get(f.ldl.d, k).hi;
	unit = pivot > 0 && isfinite(pivot) ? ldexp(1.0, -(int) floor(0.5 * log2(pivot))) : 1.0;
	for (int64_t j = 0; j <= k; j++)
		coef[j] = gr_dd_to_double(gr_dd_get(f.ldl.u, j)) * f.ldl.scale[j] * unit;
	return true;
}
