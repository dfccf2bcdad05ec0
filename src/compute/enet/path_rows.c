/*
 * path_rows.c: the features' matrix C of an elastic net, computed as far as needed, gradients, and the factor of the
 * active part of C; see path.h. It is compiled with -O3, for the loops in double-double.
 *
 * A feature that becomes active for the first time gets the next slot. path->products holds C of the features with
 * slots, in double-double, by slots. path->columns holds, in float8, the products of every feature with those that have
 * slots, one row per feature, in panels of GR_PATH_PANEL slots:
 *
 *    columns:  panel 0: feature 0: slots 0 .. 127 | feature 1: slots 0 .. 127 | ...
 *              panel 1: feature 0: slots 128 .. 255 | ...
 */
#include <string.h>

#include "compute/enet/path.h"
#include "compute/enet/path_kernels.h"

/*
 * Loops over long vectors in double-double
 */

/* Compiled for several processors, with equal bits: nothing is contracted, and errors come from exact fma. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define VERSIONS __attribute__((target_clones("avx512f", "arch=haswell", "default")))
#else
#define VERSIONS
#endif

/* (hi, lo) -= a x, without normalising lo. */
GR_HD void
subtract_term(double *hi, double *lo, double a_hi, double a_lo, GrDD x)
{
	GrDD		p = gr_two_prod(a_hi, -x.hi);
	double		rest = gr_fma(a_hi, -x.lo, gr_fma(a_lo, -x.hi, p.lo));
	GrDD		s = gr_two_sum(*hi, p.hi);

	*hi = s.hi;
	*lo += s.lo + rest;
}

/* (hi, lo) -= four rows times their factors, for k < length. */
VERSIONS static void
subtract_four(double *restrict hi, double *restrict lo, const GrDDConstVector *rows, const GrDD *x, int64_t length)
{
	const double *a = rows[0].hi;
	const double *b = rows[1].hi;
	const double *c = rows[2].hi;
	const double *d = rows[3].hi;
	const double *a_lo = rows[0].lo;
	const double *b_lo = rows[1].lo;
	const double *c_lo = rows[2].lo;
	const double *d_lo = rows[3].lo;
	const GrDD	x0 = x[0];
	const GrDD	x1 = x[1];
	const GrDD	x2 = x[2];
	const GrDD	x3 = x[3];

	for (int64_t k = 0; k < length; k++)
	{
		double		h = hi[k];
		double		l = lo[k];
		GrDD		sum;

		subtract_term(&h, &l, a[k], a_lo[k], x0);
		subtract_term(&h, &l, b[k], b_lo[k], x1);
		subtract_term(&h, &l, c[k], c_lo[k], x2);
		subtract_term(&h, &l, d[k], d_lo[k], x3);
		sum = gr_fast_two_sum(h, l);
		hi[k] = sum.hi;
		lo[k] = sum.lo;
	}
}

VERSIONS static void
subtract_one(double *restrict hi, double *restrict lo, const double *a, const double *a_lo, GrDD x, int64_t length)
{
	for (int64_t k = 0; k < length; k++)
	{
		double		h = hi[k];
		double		l = lo[k];
		GrDD		sum;

		subtract_term(&h, &l, a[k], a_lo[k], x);
		sum = gr_fast_two_sum(h, l);
		hi[k] = sum.hi;
		lo[k] = sum.lo;
	}
}

void
gr_path_subtract(GrDDVector y, const GrDDConstVector *rows, const GrDD *x, int n, int64_t length)
{
	int			r = 0;

	for (; r + 4 <= n; r += 4)
		subtract_four(y.hi, y.lo, rows + r, x + r, length);
	for (; r < n; r++)
		subtract_one(y.hi, y.lo, rows[r].hi, rows[r].lo, x[r], length);
}

VERSIONS void
gr_path_centre(GrDDVector row, GrDDConstVector sums, GrDD mean, const double *scale, double own_scale, int64_t length)
{
	double	   *restrict hi = row.hi;
	double	   *restrict lo = row.lo;

	for (int64_t k = 0; k < length; k++)
	{
		double		h = hi[k];
		double		l = lo[k];
		double		factor = scale[k] * own_scale;
		GrDD		sum;

		subtract_term(&h, &l, sums.hi[k], sums.lo[k], mean);
		sum = gr_fast_two_sum(h, l);
		hi[k] = sum.hi * factor;
		lo[k] = sum.lo * factor;
	}
}

VERSIONS void
gr_path_multiply(GrDDVector y, GrDDConstVector a, GrDD x, int64_t length)
{
	double	   *restrict hi = y.hi;
	double	   *restrict lo = y.lo;

	for (int64_t k = 0; k < length; k++)
	{
		GrDD		product = gr_dd_mul((GrDD) {a.hi[k], a.lo[k]}, x);

		hi[k] = product.hi;
		lo[k] = product.lo;
	}
}

VERSIONS GrDD
gr_path_downdate(GrDDVector row, GrDDConstVector before, GrDDConstVector share, GrDD w, int64_t length)
{
	for (int64_t k = 0; k < length; k++)
	{
		GrDD		old = {row.hi[k], row.lo[k]};
		GrDD		fresh;

		w = gr_dd_sub(w, gr_dd_mul((GrDD) {before.hi[k], before.lo[k]}, old));
		fresh = gr_dd_add(old, gr_dd_mul((GrDD) {share.hi[k], share.lo[k]}, w));
		row.hi[k] = fresh.hi;
		row.lo[k] = fresh.lo;
	}
	return w;
}

/*
 * Rows of C and gradients
 */

/* Returns the address of feature j's product with the feature in slot. */
static inline double *
column_at(const GrPath *path, int64_t slot, int64_t j)
{
	return path->columns + (slot / GR_PATH_PANEL * path->p + j) * GR_PATH_PANEL + slot % GR_PATH_PANEL;
}

/* Computes feature j's products with all features, centred and scaled, into path->row. */
static void
make_row(GrPath *path, int j)
{
	int64_t		p = path->p;
	int64_t		start = gr_triangle(j + 1);
	const GrGram *gram = &path->gram;
	GrDDVector	row = path->row;

	memcpy(row.hi, gram->hi + start + 1, (size_t) (j + 1) * sizeof(double));
	memcpy(row.lo, gram->lo + start + 1, (size_t) (j + 1) * sizeof(double));
	for (int64_t i = j + 1; i < p; i++)
		gr_dd_set(row, i, gr_gram_entry(gram, i + 1, j + 1));
	gr_path_centre(row, (GrDDConstVector) {path->sums.hi, path->sums.lo},
				   gr_dd_div(gr_dd_get(path->sums, j), path->total), path->scale, path->scale[j], p);
}

/* Appends the last slot's row to products, from path->row. */
static void
take_products(GrPath *path)
{
	int64_t		t = path->nslots - 1;
	int64_t		at = gr_path_row_at(t);
	size_t		nbytes = sizeof(double) * 8 * (size_t) GR_PATH_PITCH(t);

	/* kernels read all eight rows of a group */
	if (t % 8 == 0)
	{
		memset(path->products.hi + at, 0, nbytes);
		memset(path->products.lo + at, 0, nbytes);
	}
	for (int s = 0; s < t; s++)
		gr_dd_set(path->products, at + s, gr_dd_get(path->row, path->slot_feature[s]));
}

/* Sets the columns of slots first .. first + n - 1 from rows, p products each. */
static void
take_columns(GrPath *path, int first, const double *rows, int n)
{
	for (int j = 0; j < path->p; j++)
		for (int q = 0; q < n; q++)
		{
			double	   *entry = column_at(path, first + q, j);

			if ((first + q) % 8 == 0)
				memset(entry, 0, 8 * sizeof(double));
			*entry = rows[(int64_t) q * path->p + j];
		}
}

void
gr_path_make_rows(GrPath *path, const int *features, int n)
{
	int			first = path->nslots;

	for (int q = 0; q < n; q++)
	{
		int			j = features[q];

		if (path->slot[j] >= 0)
			continue;
		make_row(path, j);
		memcpy(path->batch + (int64_t) (path->nslots - first) * path->p, path->row.hi,
			   (size_t) path->p * sizeof(double));
		path->slot[j] = path->nslots;
		path->slot_feature[path->nslots++] = j;
		take_products(path);
	}
	take_columns(path, first, path->batch, path->nslots - first);
}

GrDD
gr_path_product(const GrPath *path, int i, int j)
{
	int64_t		s = path->slot[i];
	int64_t		t = path->slot[j];

	if (s == t)
		return gr_dd_get(path->diagonal, i);
	return gr_dd_get(path->products, s < t ? gr_path_row_at(t) + s : gr_path_row_at(s) + t);
}

/* Copies the present coefficients to placed, by slots, padded with zeros. */
static void
place_coefficients(GrPath *path)
{
	int64_t		padded = gr_path_padded(path->nslots);

	for (int s = 0; s < path->nslots; s++)
		gr_dd_set(path->placed, s, gr_dd_get(path->b, path->slot_feature[s]));
	for (int64_t s = path->nslots; s < padded; s++)
		gr_dd_set(path->placed, s, gr_dd(0));
}

bool
gr_path_evaluate(GrPath *path)
{
	GrDDVector	y = path->placed_gradient;
	int64_t		padded = gr_path_padded(path->nslots);

	place_coefficients(path);
	for (int64_t s = 0; s < padded; s++)
		gr_dd_set(y, s, s < path->nslots ? gr_dd_get(path->response, path->slot_feature[s]) : gr_dd(0));
	path->kernels->subtract_symmetric(y.hi, y.lo, path->products.hi, path->products.lo, path->placed.hi,
									  path->placed.lo, path->nslots);
	for (int s = 0; s < path->nslots; s++)
	{
		int			j = path->slot_feature[s];
		GrDD		own = gr_dd_mul(gr_dd_get(path->diagonal, j), gr_dd_get(path->b, j));

		if (path->place[j] >= 0)
			gr_dd_set(path->gradient, j, gr_dd_sub(gr_two_sum(y.hi[s], y.lo[s]), own));
	}
	return !gr_poll(&path->poll, (int64_t) path->nslots * path->nslots);
}

bool
gr_path_approximate(GrPath *path)
{
	const GrPathKernels *kernels = path->kernels;
	int			n = 0;

	place_coefficients(path);
	for (int j = 0; j < path->p; j++)
		if (path->place[j] < 0 && path->usable[j])
		{
			path->list[n++] = j;
			gr_dd_set(path->gradient, j, gr_dd(path->response.hi[j]));
		}
	for (int first = 0; first < path->nslots; first += GR_PATH_PANEL)
	{
		int64_t		length = gr_path_padded(path->nslots - first);

		if (length > GR_PATH_PANEL)
			length = GR_PATH_PANEL;
		for (int i = 0; i < n; i += 8)
		{
			const double *rows[8];
			double		sums[8];

			for (int r = 0; r < 8; r++)
				rows[r] = column_at(path, first, path->list[i + r < n ? i + r : i]);
			kernels->dots(sums, rows, path->placed.hi + first, length);
			for (int r = 0; r < 8 && i + r < n; r++)
				path->gradient.hi[path->list[i + r]] -= sums[r];
		}
	}
	return !gr_poll(&path->poll, (int64_t) path->nslots * n / 4);
}

void
gr_path_make_exact(GrPath *path, int j)
{
	int64_t		t = path->slot[j];
	GrDDVector	row = path->placed_gradient;
	double		magnitude;

	place_coefficients(path);
	if (t < 0)
		make_row(path, j);
	for (int s = 0; s < path->nslots; s++)
		gr_dd_set(row, s, t < 0 ? gr_dd_get(path->row, path->slot_feature[s]) :
				  gr_path_product(path, path->slot_feature[s], j));
	gr_dd_set(path->gradient, j, gr_dd_minus_dot(gr_dd_get(path->response, j), (GrDDConstVector) {row.hi, row.lo},
												 (GrDDConstVector) {path->placed.hi, path->placed.lo}, path->nslots,
												 &magnitude));
}

bool
gr_path_make_all_exact(GrPath *path)
{
	memcpy(path->gradient.hi, path->response.hi, (size_t) path->p * sizeof(double));
	memcpy(path->gradient.lo, path->response.lo, (size_t) path->p * sizeof(double));
	for (int s = 0; s < path->nslots; s++)
	{
		int			j = path->slot_feature[s];
		GrDDConstVector row = {path->row.hi, path->row.lo};
		GrDD		b = gr_dd_get(path->b, j);

		if (b.hi == 0)
			continue;
		make_row(path, j);
		gr_path_subtract(path->gradient, &row, &b, 1, path->p);
		if (gr_poll(&path->poll, path->p))
			return false;
	}
	return true;
}

/*
 * The factor: LDL' in double-double of a matrix that grows and shrinks by one row at a time
 */

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
