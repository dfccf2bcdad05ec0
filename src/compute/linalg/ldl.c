/*
 * ldl.c: L D L' of a matrix in double-double, as far as its first rows go.
 */
#include "compute/linalg/ldl.h"

#include <math.h>
#include <string.h>

/* A product's share of the time between two polls; see GrPoll */
#define PRODUCT_WORK 2

void
gr_ldl_carve(GrLdl *ldl, int n, GrArena *arena)
{
	ldl->n = n;
	ldl->npivots = n - 1;
	ldl->max_rank = n;
	ldl->l = gr_carve_dd(arena, gr_triangle(n));
	ldl->d = gr_carve_dd(arena, n);
	ldl->u = gr_carve_dd(arena, n);
	ldl->scale = gr_carve_doubles(arena, n);
	ldl->sumsq = gr_carve_doubles(arena, n);
	ldl->least_pivot = gr_carve_doubles(arena, n);
	ldl->aliased = gr_carve_bools(arena, n);
}

void
gr_ldl_clear(GrLdl *ldl)
{
	memset(ldl->aliased, 0, (size_t) ldl->n * sizeof(bool));
}

double
gr_ldl_scale_for(double d)
{
	int			exponent;

	(void) frexp(d, &exponent);
	return ldexp(1.0, -((exponent - 1) >> 1));
}

/* Row i's scale and the pivot that it must have; false if its diagonal entry is out of range */
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
