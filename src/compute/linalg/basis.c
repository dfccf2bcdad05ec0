/*
 * basis.c: changes of basis on the CPU; see basis.h.
 */
#include "compute/linalg/basis.h"

bool
gr_basis_change_rows(const GrBasis *basis, GrRowShape shape, double *rows, int64_t nrows, GrPoll *poll)
{
	size_t		nterms = (size_t) gr_nterms(basis->nfeatures);

	for (int64_t r = 0; r < nrows; r++, rows += gr_row_ncols(shape))
		/* from the last one, as a changed feature needs the unchanged features before it */
		for (int k = basis->nchanged - 1; k >= 0; k--)
		{
			int			j = basis->changed[k];

			if (gr_poll(poll, 5 * (j + 1)))
				return false;
			rows[j] = gr_basis_feature(basis->coef + (size_t) k * nterms, rows, j);
		}
	return true;
}

static void
add(double *hi, double *lo, int j, GrDD term)
{
	GrDD		sum = {hi[j], lo[j]};

	sum = gr_dd_add(sum, term);
	hi[j] = sum.hi;
	lo[j] = sum.lo;
}

void
gr_basis_to_features(const GrBasis *basis, double *hi, double *lo)
{
	size_t		nterms = (size_t) gr_nterms(basis->nfeatures);

	for (int k = 0; k < basis->nchanged; k++)
	{
		const double *coef = basis->coef + (size_t) k * nterms;
		int			own = basis->changed[k] + 1;
		GrDD		b = {hi[own], lo[own]};
		GrDD		changed = gr_dd_mul_d(b, coef[own]);

		for (int j = 0; j < own; j++)
			if (coef[j] != 0)
				add(hi, lo, j, gr_dd_mul_d(b, coef[j]));
		hi[own] = changed.hi;
		lo[own] = changed.lo;
	}
}

void
gr_basis_from_features(const GrBasis *basis, double *hi, double *lo)
{
	size_t		nterms = (size_t) gr_nterms(basis->nfeatures);

	for (int k = basis->nchanged - 1; k >= 0; k--)
	{
		const double *coef = basis->coef + (size_t) k * nterms;
		int			own = basis->changed[k] + 1;
		GrDD		b = {hi[own], lo[own]};

		b = gr_dd_div(b, gr_dd(coef[own]));
		for (int j = 0; j < own; j++)
			if (coef[j] != 0)
				add(hi, lo, j, gr_dd_neg(gr_dd_mul_d(b, coef[j])));
		hi[own] = b.hi;
		lo[own] = b.lo;
	}
}
