/*
 * path_rows.c: the features' matrix C of an elastic net, computed as far as needed, and gradients; see path.h.
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
#include "compute/enet/path_dd.h"
#include "compute/enet/path_kernels.h"

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
