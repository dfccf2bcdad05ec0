/*
 * congruence.c: A M A' in double-double, GR_CONGRUENCE_ROWS rows of the result at a time; see congruence.h.
 *
 * T = A M comes first for these rows, then T A'. Both products go by tiles of the right matrix, which are copied so
 * that the kernel reads them in order. Each product of float8 is exact, and its sums are those of the Gram matrix.
 */
#include "compute/linalg/congruence.h"

#include <string.h>

#include "compute/base/dd.h"


/* A panel of rows first .. first + nrows - 1. */
typedef struct Panel
{
	const GrCongruence *c;
	int			first;
	int			nrows;
	size_t		pitch;			/* distance of rows of T */
	double	   *t_hi;
	double	   *t_lo;
	double	   *out_hi;			/* nrows x GR_TILE_COLUMNS */
	double	   *out_lo;
	double	   *y_hi;			/* tile of the right matrix */
	double	   *y_lo;
} Panel;

static inline int
least(int a, int b)
{
	return a < b ? a : b;
}

/* Copies rows k .. k + depth - 1 and columns from j on of M to the tile of the panel. Columns beyond M are 0. */
static void
copy_middle(const Panel *p, int k, int depth, int j)
{
	GrDDConstVector middle = p->c->middle;

	for (int d = 0; d < depth; d++)
		for (int l = 0; l < GR_TILE_COLUMNS; l++)
		{
			int64_t		row = p->c->from + k + d;
			int64_t		column = p->c->from + j + l;
			int64_t		at = row >= column ? gr_packed(row, column) : gr_packed(column, row);
			bool		inside = j + l < p->c->n;

			p->y_hi[d * GR_TILE_COLUMNS + l] = inside ? middle.hi[at] : 0.0;
			p->y_lo[d * GR_TILE_COLUMNS + l] = inside ? middle.lo[at] : 0.0;
		}
}

/* Copies columns k .. k + depth - 1 of rows from j on of A to the tile, transposed. Rows beyond A are 0. */
static void
copy_rows(const Panel *p, int k, int depth, int j)
{
	for (int l = 0; l < GR_TILE_COLUMNS; l++)
	{
		const double *row = p->c->a + (size_t) (j + l) * (size_t) p->c->n + k;

		for (int d = 0; d < depth; d++)
			p->y_hi[d * GR_TILE_COLUMNS + l] = j + l < p->c->n ? row[d] : 0.0;
	}
}

/* Computes columns j .. j + GR_TILE_COLUMNS - 1 of T = A M. */
static void
multiply_middle(const Panel *p, int j)
{
	int			n = p->c->n;

	for (int i = 0; i < p->nrows; i++)
	{
		memset(p->t_hi + (size_t) i * p->pitch + j, 0, GR_TILE_COLUMNS * sizeof(double));
		memset(p->t_lo + (size_t) i * p->pitch + j, 0, GR_TILE_COLUMNS * sizeof(double));
	}
	for (int k = 0; k < n; k += GR_TILE_DEPTH)
	{
		int			depth = least(GR_TILE_DEPTH, n - k);

		copy_middle(p, k, depth, j);
		gr_tile_multiply(&(GrTile) {
			.hi = p->t_hi + j,.lo = p->t_lo + j,.pitch = p->pitch,
			.x_hi = p->c->a + (size_t) p->first * (size_t) n + k,.x_pitch = (size_t) n,.y_hi = p->y_hi,.y_lo = p->y_lo,
			.nrows = p->nrows,.depth = depth
		}, p->c->max_lanes);
	}
}

/* Computes columns j .. j + GR_TILE_COLUMNS - 1 of T A', as far as they are in the lower triangle. */
static void
multiply_rows(const Panel *p, int j)
{
	int			n = p->c->n;

	memset(p->out_hi, 0, (size_t) p->nrows * GR_TILE_COLUMNS * sizeof(double));
	memset(p->out_lo, 0, (size_t) p->nrows * GR_TILE_COLUMNS * sizeof(double));
	for (int k = 0; k < n; k += GR_TILE_DEPTH)
	{
		int			depth = least(GR_TILE_DEPTH, n - k);

		copy_rows(p, k, depth, j);
		gr_tile_multiply(&(GrTile) {
			.hi = p->out_hi,.lo = p->out_lo,.pitch = GR_TILE_COLUMNS,.x_hi = p->t_hi + k,.x_lo = p->t_lo + k,
			.x_pitch = p->pitch,.y_hi = p->y_hi,.nrows = p->nrows,.depth = depth
		}, p->c->max_lanes);
	}
	for (int i = 0; i < p->nrows; i++)
		for (int l = 0; l < GR_TILE_COLUMNS && j + l <= p->first + i; l++)
		{
			GrDD		entry = {p->out_hi[i * GR_TILE_COLUMNS + l], p->out_lo[i * GR_TILE_COLUMNS + l]};

			gr_dd_set(p->c->result, gr_packed(p->first + i, j + l), gr_dd_mul_d(entry, p->c->factor));
		}
}

bool
gr_congruence(const GrCongruence *c, GrPoll *poll)
{
	size_t		pitch = (size_t) (c->n + GR_TILE_COLUMNS - 1) / GR_TILE_COLUMNS * GR_TILE_COLUMNS;
	Panel		p = {.c = c,.pitch = pitch,.t_hi = c->scratch};
	int64_t		work = (int64_t) GR_CONGRUENCE_ROWS * GR_TILE_COLUMNS * c->n;

	p.t_lo = p.t_hi + GR_CONGRUENCE_ROWS * pitch;
	p.out_hi = p.t_lo + GR_CONGRUENCE_ROWS * pitch;
	p.out_lo = p.out_hi + GR_CONGRUENCE_ROWS * GR_TILE_COLUMNS;
	p.y_hi = p.out_lo + GR_CONGRUENCE_ROWS * GR_TILE_COLUMNS;
	p.y_lo = p.y_hi + GR_TILE_DEPTH * GR_TILE_COLUMNS;
	for (p.first = 0; p.first < c->n; p.first += GR_CONGRUENCE_ROWS)
	{
		p.nrows = least(GR_CONGRUENCE_ROWS, c->n - p.first);
		for (int j = 0; j < c->n; j += GR_TILE_COLUMNS)
		{
			if (gr_poll(poll, work))
				return false;
			multiply_middle(&p, j);
		}
		for (int j = 0; j < p.first + p.nrows; j += GR_TILE_COLUMNS)
		{
			if (gr_poll(poll, work))
				return false;
			multiply_rows(&p, j);
		}
	}
	return true;
}
