/* normal_device.c: factorises and solves normal equations of many terms on a device; see normal.h. */
#include "compute/linalg/normal.h"

#include <math.h>
#include <string.h>

/* True if a term was summed about a shift, so that the intercept has to be brought back. */
static bool
has_shifted_terms(const GrNormalFactor *f, const GrNormalMatrix *a)
{
	for (int64_t j = 0; j < f->m; j++)
		if (gr_normal_shift_of(a, j) != 0.0)
			return true;
	return false;
}

/*
 * Factorises and solves on the device. If the device's memory does not suffice, returns true and leaves f->device NULL.
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
 * Computes f->origin by a factorisation of its own. The device's inverse is rounded to float8, and covariances of the
 * intercept may cancel in it; a solution is in double-double. The right-hand side is the intercept in terms of the
 * scaled terms, up to a power of two. *solved: the device's memory sufficed.
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
		f->inverse.hi[before + j] = j == 0 ? 1.0 : j == f->m ? 0.0 : -gr_normal_shift_of(a, j);
		if (j < f->m)
			largest = fmax(largest, fabs(gr_normal_origin_weight(f, a, j)));
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

/* Marks as aliased the terms beyond the first max_rank that are not aliased. Returns true if there were any. */
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

/*
 * Solves within max_rank. The device limits the rank only by pivots; terms beyond max_rank are left out of a second
 * factorisation.
 */
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
gr_normal_device_solve(GrNormalFactor *f, const GrNormalMatrix *a, bool want_inverse, const GrHost *host, GrError *err)
{
	bool		has_memory = true;

	if (want_inverse && has_shifted_terms(f, a) && !solve_for_origin(f, a, &has_memory, host, err))
		return false;
	return !has_memory || solve_within_rank(f, a, want_inverse, host, err);
}

/*
 * Fills the intercept's variance and covariances from f->origin, which lacks only sigma^2 and the scales. Returns false
 * if canceled.
 */
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
		variance = gr_dd_add(variance, gr_dd_mul_d(gr_dd_get(f->origin, k), gr_normal_origin_weight(f, a, k)));
		entries[k] = gr_dd_to_double(covariance) * scale[0] / y_scale * scale[k] / y_scale + 0.0;
		entries[k * f->m] = entries[k];
	}
	variance = gr_dd_mul(variance, inverse->sigma2);
	entries[0] = gr_dd_to_double(variance) * scale[0] / y_scale * scale[0] / y_scale + 0.0;
	return true;
}

bool
gr_normal_device_inverse(GrNormalFactor *f, const GrNormalMatrix *a, const GrNormalInverse *inverse, const GrHost *host,
					  GrError *err)
{
	for (int k = 0; k < f->m; k++)
		gr_dd_set(f->ldl.u, k, f->ldl.aliased[k] ? gr_dd(0.0) : gr_dd_div(inverse->sigma2, gr_dd_get(f->ldl.d, k)));
	if (!f->solver->ops->inverse(f->device, gr_dd_from(f->ldl.u, 0), inverse->y_scale, inverse->entries, host, err))
		return false;
	return !has_shifted_terms(f, a) || fill_origin_on_device(f, a, inverse, host, err);
}
