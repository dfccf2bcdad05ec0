/*
 * path_factor.c: LDL' in double-double of a matrix that grows and shrinks by one row at a time.
 */
#include <string.h>

#include "compute/enet/path.h"
#include "compute/enet/path_dd.h"

static inline GrDDVector
row_of(const GrPathFactor *factor, int64_t i)
{
	int64_t		start = i * (i - 1) / 2;

	return (GrDDVector) {factor->l.hi + start, factor->l.lo + start};
}

static inline GrDDConstVector
constant(GrDDVector v)
{
	return (GrDDConstVector) {v.hi, v.lo};
}

bool
gr_factor_append(GrPathFactor *factor, GrDDVector products, GrDD square, double tolerance, GrDDVector work)
{
	int			n = factor->n;
	GrDDVector	row = row_of(factor, n);
	double		magnitude;
	GrDD		pivot;

	/* solve L z = products; the row is z / d, the pivot square - z'row */
	for (int i = 0; i < n; i++)
		gr_dd_set(work, i, gr_dd_minus_dot(gr_dd_get(products, i), constant(row_of(factor, i)), constant(work), i,
										   &magnitude));
	for (int i = 0; i < n; i++)
		gr_dd_set(row, i, gr_dd_div(gr_dd_get(work, i), gr_dd_get(factor->d, i)));
	pivot = gr_dd_minus_dot(square, constant(row), constant(work), n, &magnitude);
	if (!(pivot.hi > tolerance * square.hi))
	{
		memcpy(work.hi, row.hi, (size_t) n * sizeof(double));
		memcpy(work.lo, row.lo, (size_t) n * sizeof(double));
		return false;
	}
	gr_dd_set(factor->d, n, pivot);
	factor->n++;
	return true;
}

/* Removes row k and column k; w becomes the entries of column k in the rows below. */
static void
remove_row(GrPathFactor *factor, int k, GrDDVector w)
{
	for (int i = k + 1; i < factor->n; i++)
	{
		GrDDVector	from = row_of(factor, i);
		GrDDVector	to = row_of(factor, i - 1);

		gr_dd_set(w, i - 1, gr_dd_get(from, k));
		memmove(to.hi, from.hi, (size_t) k * sizeof(double));
		memmove(to.lo, from.lo, (size_t) k * sizeof(double));
		memmove(to.hi + k, from.hi + k + 1, (size_t) (i - 1 - k) * sizeof(double));
		memmove(to.lo + k, from.lo + k + 1, (size_t) (i - 1 - k) * sizeof(double));
		gr_dd_set(factor->d, i - 1, gr_dd_get(factor->d, i));
	}
	factor->n--;
}

/*
 * Without row and column k, the matrix below and right of k is LDL' + d_k w w', where w is column k: a rank-one update
 * by Gill, Golub, Murray and Saunders (1974), "Methods for modifying matrix factorizations", method C1, by rows.
 */
void
gr_factor_drop(GrPathFactor *factor, int k, GrDDVector before, GrDDVector share)
{
	GrDD		weight = gr_dd_get(factor->d, k);

	remove_row(factor, k, before);
	for (int i = k; i < factor->n; i++)
	{
		GrDDVector	row = row_of(factor, i);
		GrDDVector	tail = {row.hi + k, row.lo + k};
		GrDDConstVector p = {before.hi + k, before.lo + k};
		GrDDConstVector q = {share.hi + k, share.lo + k};
		GrDD		w = gr_path_downdate(tail, p, q, gr_dd_get(before, i), i - k);
		GrDD		weighted = gr_dd_mul(weight, w);
		GrDD		pivot = gr_dd_add(gr_dd_get(factor->d, i), gr_dd_mul(weighted, w));

		gr_dd_set(before, i, w);
		gr_dd_set(share, i, gr_dd_div(weighted, pivot));
		weight = gr_dd_div(gr_dd_mul(gr_dd_get(factor->d, i), weight), pivot);
		gr_dd_set(factor->d, i, pivot);
	}
}

void
gr_factor_solve_back(const GrPathFactor *factor, GrDDVector x)
{
	for (int i = factor->n - 1; i > 0; i--)
	{
		GrDDConstVector row = constant(row_of(factor, i));
		GrDD		factor_i = gr_dd_get(x, i);

		gr_path_subtract(x, &row, &factor_i, 1, i);
	}
}

void
gr_factor_solve(const GrPathFactor *factor, GrDDConstVector r, GrDDVector x)
{
	double		magnitude;

	for (int i = 0; i < factor->n; i++)
		gr_dd_set(x, i, gr_dd_minus_dot((GrDD) {r.hi[i], r.lo[i]}, constant(row_of(factor, i)), constant(x), i,
										&magnitude));
	for (int i = 0; i < factor->n; i++)
		gr_dd_set(x, i, gr_dd_div(gr_dd_get(x, i), gr_dd_get(factor->d, i)));
	gr_factor_solve_back(factor, x);
}
