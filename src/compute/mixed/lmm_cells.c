/* lmm_cells.c: components of a mixed model from the Gram matrices of their cells, in double-double; see lmm.h. */
#include <math.h>
#include <string.h>

#include "compute/linalg/normal.h"
#include "compute/mixed/lmm.h"

void
gr_lmm_cells_carve(GrLmmCells *cells, const GrLmmModel *model, int nblocks, int neffects, GrArena *arena)
{
	int64_t		m = model->nfixed + 1;

	cells->model = model;
	cells->term = gr_carve_ints(arena, nblocks);
	cells->first = gr_carve_ints(arena, nblocks);
	cells->zz = gr_carve_dd(arena, gr_triangle(neffects));
	cells->zb = gr_carve_dd(arena, neffects * m);
	cells->within = gr_carve_dd(arena, gr_triangle(m));
	cells->row = gr_carve_dd(arena, neffects + m);
	cells->squares = gr_carve_doubles(arena, neffects);
	cells->used = gr_carve_bools(arena, neffects);
	if (arena->base == NULL)
		return;
	memset(cells->within.hi, 0, (size_t) gr_triangle(m) * sizeof(double));
	memset(cells->within.lo, 0, (size_t) gr_triangle(m) * sizeof(double));
}

void
gr_lmm_cells_begin(GrLmmCells *cells, const int *term, int nblocks)
{
	int64_t		m = cells->model->nfixed + 1;
	size_t		nzz;
	size_t		nzb;

	cells->nblocks = nblocks;
	cells->neffects = 0;
	for (int l = 0; l < nblocks; l++)
	{
		cells->term[l] = term[l];
		cells->first[l] = cells->neffects;
		cells->neffects += cells->model->terms[term[l]].ncolumns;
	}
	nzz = (size_t) gr_triangle(cells->neffects) * sizeof(double);
	nzb = (size_t) (cells->neffects * m) * sizeof(double);
	memset(cells->zz.hi, 0, nzz);
	memset(cells->zz.lo, 0, nzz);
	memset(cells->zb.hi, 0, nzb);
	memset(cells->zb.lo, 0, nzb);
}

/* Returns entry (i, j) of a symmetric matrix. */
static inline GrDD
entry_of(const GrGram *gram, int i, int j)
{
	return i >= j ? gr_gram_entry(gram, i, j) : gr_gram_entry(gram, j, i);
}

/* Returns the sum of products of column i of a random term with row j of the triangle. */
static inline GrDD
product_with(const GrGram *gram, const GrLmmTerm *term, int i, int j)
{
	GrDD		sum = entry_of(gram, term->entries[i], j);

	if (term->origin[i] != 0)
		sum = gr_dd_add(sum, gr_dd_mul_d(entry_of(gram, 0, j), term->origin[i]));
	return gr_dd_scale(sum, term->scale[i]);
}

static void
add_to(GrDDVector vector, int64_t k, GrDD value)
{
	gr_dd_set(vector, k, gr_dd_add(gr_dd_get(vector, k), value));
}

/* Adds the products of the columns of two blocks; first <= second. */
static void
add_pair(GrLmmCells *cells, const GrGram *gram, int first, int second)
{
	const GrLmmTerm *a = &cells->model->terms[cells->term[second]];
	const GrLmmTerm *b = &cells->model->terms[cells->term[first]];

	for (int i = 0; i < a->ncolumns; i++)
		for (int j = 0; j < (first == second ? i + 1 : b->ncolumns); j++)
		{
			GrDD		sum = product_with(gram, a, i, b->entries[j]);

			if (b->origin[j] != 0)
				sum = gr_dd_add(sum, gr_dd_mul_d(product_with(gram, a, i, 0), b->origin[j]));
			add_to(cells->zz, gr_packed(cells->first[second] + i, cells->first[first] + j),
				   gr_dd_scale(sum, b->scale[j]));
		}
}

void
gr_lmm_cells_add(GrLmmCells *cells, const GrGram *gram, const int *blocks)
{
	const GrLmmModel *model = cells->model;
	int64_t		m = model->nfixed + 1;

	for (int k = 0; k < model->nterms; k++)
	{
		const GrLmmTerm *term = &model->terms[k];

		for (int64_t i = 0; i < term->ncolumns; i++)
			for (int64_t j = 0; j < m; j++)
				add_to(cells->zb, (cells->first[blocks[k]] + i) * m + j,
					   gr_dd_scale(product_with(gram, term, (int) i, model->entries[j]), model->scale[j]));
		for (int other = 0; other < model->nterms; other++)
			if (blocks[other] < blocks[k] || other == k)
				add_pair(cells, gram, blocks[other], blocks[k]);
	}
}

static inline GrDD
zz_entry(const GrLmmCells *cells, int64_t i, int64_t j)
{
	return gr_dd_get(cells->zz, i >= j ? gr_packed(i, j) : gr_packed(j, i));
}

/* Returns the row with the largest share of its sum of squares left, or -1 if only rounding error is left. */
static int
next_pivot(const GrLmmCells *cells)
{
	int			best = -1;
	double		largest = GR_ALIAS_TOLERANCE;

	for (int i = 0; i < cells->neffects; i++)
	{
		double		left = cells->used[i] ? 0 : cells->zz.hi[gr_packed(i, i)] / cells->squares[i];

		if (left > largest)
		{
			largest = left;
			best = i;
		}
	}
	return best;
}

/* Subtracts the pivot's part from Z'Z and Z'(X, y) in the rows that are not used. cells->row: its row of both. */
static void
subtract_pivot(GrLmmCells *cells, GrDD d)
{
	int64_t		m = cells->model->nfixed + 1;
	int64_t		n = cells->neffects;

	for (int64_t i = 0; i < n; i++)
	{
		GrDD		share;

		if (cells->used[i])
			continue;
		share = gr_dd_neg(gr_dd_div(gr_dd_get(cells->row, i), d));
		for (int64_t j = 0; j <= i; j++)
			if (!cells->used[j])
				add_to(cells->zz, gr_packed(i, j), gr_dd_mul(share, gr_dd_get(cells->row, j)));
		for (int64_t j = 0; j < m; j++)
			add_to(cells->zb, i * m + j, gr_dd_mul(share, gr_dd_get(cells->row, n + j)));
	}
}

/*
 * Eliminates pivot, whose column of G and of F goes to position k of the rows of g and f, neffects numbers apart. Adds
 * the column's part of F'F to within.
 */
static void
eliminate(GrLmmCells *cells, int pivot, int k, double *g, double *f)
{
	int64_t		m = cells->model->nfixed + 1;
	int64_t		n = cells->neffects;
	GrDD		d = zz_entry(cells, pivot, pivot);
	double		root = sqrt(gr_dd_to_double(d));

	for (int64_t i = 0; i < n; i++)
		gr_dd_set(cells->row, i, zz_entry(cells, i, pivot));
	for (int64_t j = 0; j < m; j++)
		gr_dd_set(cells->row, n + j, gr_dd_get(cells->zb, pivot * m + j));
	/* an earlier pivot's row has nothing left */
	for (int64_t i = 0; i < n; i++)
		g[i * n + k] = cells->used[i] ? 0 : cells->row.hi[i] / root;
	cells->used[pivot] = true;
	subtract_pivot(cells, d);
	for (int64_t i = 0; i < m; i++)
	{
		GrDD		share = gr_dd_div(gr_dd_get(cells->row, n + i), d);

		f[i * n + k] = gr_dd_get(cells->row, n + i).hi / root;
		for (int64_t j = 0; j <= i; j++)
			add_to(cells->within, gr_packed(i, j), gr_dd_mul(share, gr_dd_get(cells->row, n + j)));
	}
}

/* Moves nrows rows of rank numbers, which lie n apart, to a place where they lie rank apart. */
static void
close_ranks(double *to, const double *rows, int64_t nrows, int64_t n, int64_t rank)
{
	for (int64_t i = 0; i < nrows; i++)
		memmove(to + i * rank, rows + i * n, (size_t) rank * sizeof(double));
}

bool
gr_lmm_cells_end(GrLmmCells *cells, const int *term, double *numbers, GrLmmComponent *component, GrPoll *poll)
{
	int64_t		m = cells->model->nfixed + 1;
	int64_t		n = cells->neffects;
	int			rank = 0;
	int			pivot;

	for (int64_t i = 0; i < n; i++)
	{
		cells->squares[i] = cells->zz.hi[gr_packed(i, i)];
		cells->used[i] = !(cells->squares[i] > 0);
	}
	while (rank < n && (pivot = next_pivot(cells)) >= 0)
	{
		eliminate(cells, pivot, rank++, numbers, numbers + n * n);
		if (gr_poll(poll, 20 * n * (n + m)))
			return false;
	}
	close_ranks(numbers, numbers, n, n, rank);
	close_ranks(numbers + n * rank, numbers + n * n, m, n, rank);
	*component = (GrLmmComponent) {
		.nblocks = cells->nblocks,.neffects = (int) n,.rank = rank,.term = term,.g = numbers,.f = numbers + n * rank
	};
	return true;
}

/* Subtracts row k of a packed triangle of m rows from the rows below, as far as it explains them. */
static void
sweep(GrDDVector a, int64_t k, int64_t m)
{
	GrDD		d = gr_dd_get(a, gr_packed(k, k));

	for (int64_t i = k + 1; i < m; i++)
	{
		GrDD		share = gr_dd_neg(gr_dd_div(gr_dd_get(a, gr_packed(i, k)), d));

		for (int64_t j = k + 1; j <= i; j++)
			add_to(a, gr_packed(i, j), gr_dd_mul(share, gr_dd_get(a, gr_packed(j, k))));
	}
}

bool
gr_lmm_within(GrLmmCells *cells, const GrGram *all, double *within)
{
	const GrLmmModel *model = cells->model;
	int64_t		m = model->nfixed + 1;
	double	   *squares = cells->row.hi;

	for (int64_t i = 0; i < m; i++)
		for (int64_t j = 0; j <= i; j++)
		{
			GrDD		sum = gr_dd_scale(gr_dd_scale(entry_of(all, model->entries[i], model->entries[j]),
													  model->scale[i]), model->scale[j]);
			GrDD		rest = gr_dd_sub(sum, gr_dd_get(cells->within, gr_packed(i, j)));

			if (i == j)
				squares[i] = sum.hi;
			gr_dd_set(cells->within, gr_packed(i, j), rest);
			within[gr_packed(i, j)] = i == j ? fmax(rest.hi, 0) : rest.hi;
		}
	for (int64_t k = 0; k < m - 1; k++)
		if (cells->within.hi[gr_packed(k, k)] > GR_ALIAS_TOLERANCE * squares[k])
			sweep(cells->within, k, m);
	return cells->within.hi[gr_packed(m - 1, m - 1)] > GR_ALIAS_TOLERANCE * squares[m - 1];
}
