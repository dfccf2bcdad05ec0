/*
 * ldl.c: the factorisation L D L' in double-double, its dot product and its back substitution; see normal.h.
 */
#include "compute/linalg/normal.h"

#include <math.h>
#include <string.h>

#define DOT_LANES 8

typedef struct DotVersion
{
	void		(*dot) (GrDDConstVector a, GrDDConstVector b, int64_t n, GrDDVector s, double *magnitudes);
	GrDD		(*minus_products) (GrDD sum, GrDDConstVector a, GrDDConstVector b, int64_t first, int64_t n,
								   double *magnitude);
} DotVersion;

#define SIMD_TEMPLATE "compute/linalg/ldl_cpu.h"
#include "compute/base/simd.h"

/* Work of a product in nanoseconds; see GrPoll. */
#define PRODUCT_WORK 2

GrDD
gr_dd_minus_dot_lanes(GrDD start, GrDDConstVector a, GrDDConstVector b, int64_t n, double *magnitude, int max_lanes)
{
	const DotVersion *version = SIMD_CHOOSE(dot_version, max_lanes);
	int64_t		whole = n - n % DOT_LANES;
	GrDD		sum = start;

	*magnitude = fabs(start.hi);
	if (whole > 0)
	{
		double		shi[DOT_LANES];
		double		slo[DOT_LANES];
		double		magnitudes[DOT_LANES];
		GrDD		lanes[DOT_LANES];

		version->dot(a, b, whole, (GrDDVector) {shi, slo}, magnitudes);
		for (int l = 0; l < DOT_LANES; l++)
		{
			lanes[l] = gr_two_sum(shi[l], slo[l]);
			*magnitude += magnitudes[l];
		}
		for (int half = DOT_LANES / 2; half > 0; half /= 2)
			for (int l = 0; l < half; l++)
				lanes[l] = gr_dd_add(lanes[l], lanes[l + half]);
		sum = gr_dd_sub(sum, lanes[0]);
	}
	return version->minus_products(sum, a, b, whole, n, magnitude);
}

GrDD
gr_dd_minus_dot(GrDD start, GrDDConstVector a, GrDDConstVector b, int64_t n, double *magnitude)
{
	return gr_dd_minus_dot_lanes(start, a, b, n, magnitude, DOT_LANES);
}

double
gr_ldl_scale_for(double d)
{
	int			exponent;

	(void) frexp(d, &exponent);
	return ldexp(1.0, -((exponent - 1) >> 1));
}

/* Chooses row i's scale and least pivot. Returns false if its diagonal entry is out of range. */
static bool
choose_scale(GrLdl *ldl, const GrGram *gram, int skip, int i, GrError *err)
{
	int64_t		row = i + skip;
	double		d = gr_gram_entry(gram, row, row).hi;
	double		c = gr_gram_shift_of(gram, row);

	if (!isfinite(d) || d < 0 || gr_packed_underflowed(gr_gram_triangle(gram), (int64_t) ldl->n + skip, row))
		return gr_fail(err, GR_OUT_OF_RANGE, gr_column_of_row(GR_ROWS_ENTRIES, row), "sum of squares is %g", d);
	ldl->scale[i] = d == 0 ? 1.0 : gr_ldl_scale_for(d);
	ldl->sumsq[i] = d * ldl->scale[i] * ldl->scale[i];
	ldl->least_pivot[i] = GR_ALIAS_TOLERANCE * ldl->sumsq[i];
	if (c != 0.0)
	{
		double		sum = gr_gram_entry(gram, row, 0).hi * ldl->scale[i];

		c *= ldl->scale[i];
		/* the values' own squares are larger than those about the shift */
		ldl->least_pivot[i] = fmax(ldl->least_pivot[i],
								   GR_ROUNDING_TOLERANCE * (ldl->sumsq[i] + c * (2 * sum + gram->hi[0] * c)));
	}
	return true;
}

bool
gr_ldl_load(GrLdl *ldl, const GrGram *gram, int skip, GrError *err)
{
	for (int i = 0; i < ldl->n; i++)
		if (!choose_scale(ldl, gram, skip, i, err))
			return false;
	for (int i = 0; i < ldl->n; i++)
		for (int j = 0; j <= i; j++)
		{
			GrDD		entry = gr_gram_entry(gram, i + skip, j + skip);

			if (!isfinite(entry.hi) || !isfinite(entry.lo))
				return gr_fail(err, GR_OUT_OF_RANGE, gr_column_of_row(GR_ROWS_ENTRIES, i + skip),
							   "a sum of products is %g", entry.hi);
			gr_dd_set(ldl->l, gr_packed(i, j), gr_dd_scale(gr_dd_scale(entry, ldl->scale[i]), ldl->scale[j]));
		}
	return true;
}

bool
gr_ldl_factorise(GrLdl *ldl, const GrHost *host, GrError *err)
{
	GrPoll		poll = {.host = host};
	int64_t		rank = 0;

	for (int64_t i = 0; i < ldl->n; i++)
	{
		int64_t		end = i < ldl->npivots ? i : ldl->npivots;
		GrDD		d;

		if (gr_canceled(host))
			return gr_fail(err, GR_CANCELED, 0, "factorisation");
		for (int64_t j = 0; j < end; j++)
		{
			if (gr_poll(&poll, PRODUCT_WORK * (j + 10)))
				return gr_fail(err, GR_CANCELED, 0, "factorisation");
			gr_dd_set(ldl->u, j, ldl->aliased[j] ? gr_dd(0.0) :
					  gr_dd_residual(gr_dd_get(ldl->l, gr_packed(i, j)), gr_dd_from(ldl->u, 0),
									   gr_dd_from(ldl->l, gr_packed(j, 0)), j));
		}
		for (int64_t j = 0; j < end; j++)
			gr_dd_set(ldl->l, gr_packed(i, j), ldl->aliased[j] ? gr_dd(0.0) :
					  gr_dd_div(gr_dd_get(ldl->u, j), gr_dd_get(ldl->d, j)));
		d = gr_dd_residual(gr_dd_get(ldl->l, gr_packed(i, i)), gr_dd_from(ldl->u, 0),
							 gr_dd_from(ldl->l, gr_packed(i, 0)), end);
		gr_dd_set(ldl->d, i, d);
		if (i >= ldl->npivots)
			continue;
		ldl->aliased[i] |= !(d.hi > ldl->least_pivot[i]) || rank >= ldl->max_rank;
		rank += ldl->aliased[i] ? 0 : 1;
	}
	return true;
}

bool
gr_ldl_back_substitute(GrLdl *ldl, const GrHost *host, GrError *err)
{
	int64_t		m = ldl->npivots;
	GrPoll		poll = {.host = host};

	for (int64_t k = m - 1; k >= 0; k--)
	{
		GrDD		sum = gr_dd_get(ldl->l, gr_packed(m, k));
		double		magnitude = fabs(sum.hi);

		/* each entry of a column is in a cache line of its own */
		if (gr_poll(&poll, 10 * PRODUCT_WORK * (m - k)))
			return gr_fail(err, GR_CANCELED, 0, "back substitution");
		for (int64_t i = k + 1; i < m; i++)
		{
			GrDD		p = gr_dd_mul(gr_dd_get(ldl->l, gr_packed(i, k)), gr_dd_get(ldl->u, i));

			magnitude += fabs(p.hi);
			sum = gr_dd_sub(sum, p);
		}
		gr_dd_set(ldl->u, k, ldl->aliased[k] || fabs(sum.hi) <= GR_DD_NOISE * magnitude ? gr_dd(0.0) : sum);
	}
	return true;
}

int
gr_ldl_solution(const GrLdl *ldl, double *coef)
{
	int			rank = 0;

	for (int k = 0; k < ldl->npivots; k++)
	{
		rank += ldl->aliased[k] ? 0 : 1;
		coef[k] = ldl->aliased[k] ? NAN :
			gr_dd_to_double(gr_dd_get(ldl->u, k)) * ldl->scale[k] / ldl->scale[ldl->npivots];
	}
	return rank;
}
