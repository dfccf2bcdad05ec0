/*
 * schur.c: makes the Schur complement of absorbed factors, and solves it; see schur.h.
 */
#include <stdlib.h>
#include <string.h>

#include "compute/effects/four.h"
#include "compute/effects/schur.h"

/* Entries of S above which it is not made: 480 MB in memory */
#define ENTRIES_MAX 40000000

/* Products above which S is not made. */
#define PRODUCTS_MAX 4e9

/* A row of S in the making: values by level, and the levels that it has. */
typedef struct Row
{
	double	   *value;			/* q */
	bool	   *has;			/* q */
	int32_t    *level;			/* q */
	int32_t		n;
} Row;

static bool
no_memory(GrError *err)
{
	return gr_fail(err, GR_NO_MEMORY, GR_NO_COLUMN, "absorbed effects");
}

static inline void
add_to_row(Row *row, int32_t level, double value)
{
	if (!row->has[level])
	{
		row->has[level] = true;
		row->value[level] = 0;
		row->level[row->n++] = level;
	}
	row->value[level] += value;
}

static void
clear_row(Row *row)
{
	for (int32_t k = 0; k < row->n; k++)
		row->has[row->level[k]] = false;
	row->n = 0;
}

static int
compare_levels(const void *a, const void *b)
{
	int32_t		x = *(const int32_t *) a;
	int32_t		y = *(const int32_t *) b;

	return (x > y) - (x < y);
}

/* Sorts the levels of the row, by marks if it is rather full. */
static void
sort_row(Row *row, int32_t q)
{
	if (row->n < q / 8)
	{
		qsort(row->level, (size_t) row->n, sizeof(int32_t), compare_levels);
		return;
	}
	for (int32_t level = 0, n = 0; level < q; level++)
		if (row->has[level])
			row->level[n++] = level;
}

/* Returns the indexes of rows in the order of their codes; NULL: no memory. *begin: nlevels + 1 positions */
static int64_t *
order_rows(const int32_t *code, int64_t nrows, int32_t nlevels, int64_t **begin)
{
	int64_t    *order = malloc(((size_t) nrows + 1) * sizeof(int64_t));
	int64_t    *at = calloc((size_t) nlevels + 2, sizeof(int64_t));

	*begin = at;
	if (order == NULL || at == NULL)
	{
		free(order);
		free(at);
		*begin = NULL;
		return NULL;
	}
	for (int64_t r = 0; r < nrows; r++)
		at[code[r] + 2]++;
	for (int32_t l = 0; l < nlevels; l++)
		at[l + 2] += at[l + 1];
	for (int64_t r = 0; r < nrows; r++)
		order[at[code[r] + 1]++] = r;
	return order;
}

static double
weight_of(const GrEffectRows *rows, int64_t r)
{
	return rows->weights == NULL ? 1.0 : rows->weights[r];
}

/* Makes schur->cells: for each level of the main factor, the levels of S among its rows. */
static bool
make_cells(const GrEffects *effects, GrSchur *schur, Row *row, GrError *err)
{
	const GrEffectRows *rows = effects->rows;
	int32_t		nmain = rows->nlevels[effects->main];
	int64_t    *begin;
	int64_t    *order = order_rows(rows->code[effects->main], rows->nrows, nmain, &begin);
	size_t		room = (size_t) rows->nrows * (size_t) effects->nothers + 1;
	GrSparse   *cells = &schur->cells;
	int64_t		n = 0;

	cells->begin = malloc(((size_t) nmain + 1) * sizeof(int64_t));
	cells->column = malloc(room * sizeof(int32_t));
	cells->value = malloc(room * sizeof(double));
	if (order == NULL || cells->begin == NULL || cells->column == NULL || cells->value == NULL)
	{
		free(order);
		free(begin);
		return no_memory(err);
	}
	for (int32_t i = 0; i < nmain; i++)
	{
		cells->begin[i] = n;
		for (int64_t k = begin[i]; k < begin[i + 1]; k++)
			for (int o = 0; o < effects->nothers; o++)
			{
				int			f = effects->other[o];

				add_to_row(row, effects->base[f] + rows->code[f][order[k]], weight_of(rows, order[k]));
			}
		for (int32_t k = 0; k < row->n; k++, n++)
		{
			cells->column[n] = row->level[k];
			cells->value[n] = row->value[row->level[k]];
		}
		clear_row(row);
	}
	cells->begin[nmain] = n;
	free(order);
	free(begin);
	return true;
}

/*
 * A level's size is its diagonal element and this share of its weights. Rounding errors of the other elements of its
 * row are of the order of the weights, and the diagonal element may be 0.
 */
#define SHARE_OF_WEIGHTS 1e-4

/* A diagonal element below this share of the level's weights is 0. */
#define ROUNDING 1e-13

/* Fills schur->diagonal and schur->size. */
static bool
make_diagonal(const GrEffects *effects, GrSchur *schur, GrError *err)
{
	const GrSparse *cells = &schur->cells;
	int32_t		nmain = effects->rows->nlevels[effects->main];

	schur->diagonal = calloc((size_t) schur->q, sizeof(double));
	schur->size = calloc((size_t) schur->q, sizeof(double));
	if (schur->diagonal == NULL || schur->size == NULL)
		return no_memory(err);
	for (int32_t i = 0; i < nmain; i++)
		for (int64_t k = cells->begin[i]; k < cells->begin[i + 1]; k++)
		{
			schur->diagonal[cells->column[k]] += cells->value[k] * (1 - cells->value[k] / effects->main_weight[i]);
			schur->size[cells->column[k]] += cells->value[k];
		}
	for (int32_t o = 0; o < schur->q; o++)
	{
		if (schur->diagonal[o] < ROUNDING * schur->size[o])
			schur->diagonal[o] = 0;
		schur->size[o] = schur->diagonal[o] + SHARE_OF_WEIGHTS * schur->size[o];
	}
	return true;
}

/* Returns the number of products of making S from the cells. */
static double
count_products(const GrEffects *effects, const GrSparse *cells)
{
	int32_t		nmain = effects->rows->nlevels[effects->main];
	double		products = 0;

	for (int32_t i = 0; i < nmain; i++)
	{
		double		n = (double) (cells->begin[i + 1] - cells->begin[i]);

		products += n * n;
	}
	return products;
}

/* Lists of the cells and of the rows of each level of S */
typedef struct Lists
{
	int64_t    *cell_begin;		/* positions by level of S */
	int32_t    *main_level;		/* cells' levels of the main factor */
	double	   *cell;			/* cells' values */
	int64_t    *order[GR_EFFECTS_MAX];	/* by factor: rows ordered by code; only with three factors and more */
	int64_t    *begin[GR_EFFECTS_MAX];
} Lists;

static void
free_lists(Lists *lists)
{
	free(lists->cell_begin);
	free(lists->main_level);
	free(lists->cell);
	for (int f = 0; f < GR_EFFECTS_MAX; f++)
	{
		free(lists->order[f]);
		free(lists->begin[f]);
	}
}

/* Transposes the cells. */
static bool
transpose_cells(const GrEffects *effects, const GrSchur *schur, Lists *lists)
{
	const GrSparse *cells = &schur->cells;
	int32_t		nmain = effects->rows->nlevels[effects->main];
	int64_t		n = cells->begin[nmain];

	lists->cell_begin = calloc((size_t) schur->q + 2, sizeof(int64_t));
	lists->main_level = malloc(((size_t) n + 1) * sizeof(int32_t));
	lists->cell = malloc(((size_t) n + 1) * sizeof(double));
	if (lists->cell_begin == NULL || lists->main_level == NULL || lists->cell == NULL)
		return false;
	for (int64_t k = 0; k < n; k++)
		lists->cell_begin[cells->column[k] + 2]++;
	for (int32_t o = 0; o < schur->q; o++)
		lists->cell_begin[o + 2] += lists->cell_begin[o + 1];
	for (int32_t i = 0; i < nmain; i++)
		for (int64_t k = cells->begin[i]; k < cells->begin[i + 1]; k++)
		{
			int64_t		at = lists->cell_begin[cells->column[k] + 1]++;

			lists->main_level[at] = i;
			lists->cell[at] = cells->value[k];
		}
	return true;
}

static bool
make_lists(const GrEffects *effects, const GrSchur *schur, Lists *lists)
{
	const GrEffectRows *rows = effects->rows;

	memset(lists, 0, sizeof(*lists));
	if (!transpose_cells(effects, schur, lists))
		return false;
	for (int o = 0; effects->nothers > 1 && o < effects->nothers; o++)
	{
		int			f = effects->other[o];

		lists->order[f] = order_rows(rows->code[f], rows->nrows, rows->nlevels[f], &lists->begin[f]);
		if (lists->order[f] == NULL)
			return false;
	}
	return true;
}

/* Makes the row of S of level l of factor f. */
static void
make_row(const GrEffects *effects, const GrSchur *schur, const Lists *lists, int f, int32_t l, Row *row)
{
	const GrEffectRows *rows = effects->rows;
	const GrSparse *cells = &schur->cells;
	int32_t		o = effects->base[f] + l;

	add_to_row(row, o, schur->diagonal[o]);
	for (int64_t k = lists->cell_begin[o]; k < lists->cell_begin[o + 1]; k++)
	{
		int32_t		i = lists->main_level[k];
		double		share = lists->cell[k] / effects->main_weight[i];

		for (int64_t c = cells->begin[i]; c < cells->begin[i + 1]; c++)
			if (cells->column[c] != o)
				add_to_row(row, cells->column[c], -share * cells->value[c]);
	}
	if (effects->nothers == 1)
		return;
	for (int64_t k = lists->begin[f][l]; k < lists->begin[f][l + 1]; k++)
	{
		int64_t		r = lists->order[f][k];

		for (int h = 0; h < effects->nothers; h++)
		{
			int			g = effects->other[h];

			if (g != f)
				add_to_row(row, effects->base[g] + rows->code[g][r], weight_of(rows, r));
		}
	}
}

/* Appends the row to s, which has room for *size entries. */
static bool
append_row(GrSparse *s, int32_t o, Row *row, int64_t *size)
{
	int64_t		n = s->begin[o];

	if (n + row->n > *size)
	{
		int64_t		wanted = 2 * *size + row->n;
		int32_t    *column = realloc(s->column, (size_t) wanted * sizeof(int32_t));
		double	   *value;

		if (column == NULL)
			return false;
		s->column = column;
		value = realloc(s->value, (size_t) wanted * sizeof(double));
		if (value == NULL)
			return false;
		s->value = value;
		*size = wanted;
	}
	for (int32_t k = 0; k < row->n; k++, n++)
	{
		s->column[n] = row->level[k];
		s->value[n] = row->value[row->level[k]];
	}
	s->begin[o + 1] = n;
	return true;
}

static void
free_sparse(GrSparse *s)
{
	free(s->begin);
	free(s->column);
	free(s->value);
	memset(s, 0, sizeof(*s));
}

/* Levels whose rows are made to estimate the number of neighbours */
#define SAMPLE 32

/* Returns the mean number of neighbours of some levels. */
static double
sample_neighbours(const GrEffects *effects, const GrSchur *schur, const Lists *lists, Row *row)
{
	int32_t		step = schur->q / SAMPLE + 1;
	double		sum = 0;
	int			n = 0;

	for (int h = 0; h < effects->nothers; h++)
	{
		int			f = effects->other[h];

		for (int32_t l = step / 2; l < effects->rows->nlevels[f]; l += step, n++)
		{
			make_row(effects, schur, lists, f, l, row);
			sum += row->n - 1;
			clear_row(row);
		}
	}
	return n == 0 ? 0 : sum / n;
}

/* Makes S with both triangles. *too_large: S has too many entries, or neighbours, and is not made */
static bool
make_matrix(const GrEffects *effects, const GrSchur *schur, Row *row, GrSparse *s, bool *too_large,
			const GrHost *host, GrError *err)
{
	GrPoll		poll = {.host = host};
	int64_t		size = 0;
	bool		ok = true;
	Lists		lists;

	*too_large = false;
	s->begin = calloc((size_t) schur->q + 1, sizeof(int64_t));
	if (s->begin == NULL || !make_lists(effects, schur, &lists))
		ok = no_memory(err);
	*too_large = ok && schur->q > GR_SCHUR_DENSE_MAX &&
		gr_schur_is_heavy(schur->q, sample_neighbours(effects, schur, &lists, row));
	for (int h = 0; ok && h < effects->nothers; h++)
	{
		int			f = effects->other[h];

		for (int32_t l = 0; ok && !*too_large && l < effects->rows->nlevels[f]; l++)
		{
			int32_t		o = effects->base[f] + l;

			make_row(effects, schur, &lists, f, l, row);
			sort_row(row, schur->q);
			*too_large = s->begin[o] + row->n > ENTRIES_MAX;
			if (!*too_large && !append_row(s, o, row, &size))
				ok = no_memory(err);
			if (gr_poll(&poll, 100 + 10 * (int64_t) row->n))
				ok = gr_fail(err, GR_CANCELED, GR_NO_COLUMN, "absorbed effects");
			clear_row(row);
		}
	}
	free_lists(&lists);
	return ok;
}

bool
gr_schur_open(GrEffects *effects, const GrHost *host, GrError *err)
{
	GrSchur    *schur = calloc(1, sizeof(GrSchur));
	Row			row = {0};
	GrSparse	s = {0};
	bool		too_large = false;
	bool		ok;

	effects->schur = schur;
	if (schur == NULL)
		return no_memory(err);
	schur->q = effects->q;
	row.value = malloc((size_t) schur->q * sizeof(double));
	row.has = calloc((size_t) schur->q, sizeof(bool));
	row.level = malloc((size_t) schur->q * sizeof(int32_t));
	ok = row.value != NULL && row.has != NULL && row.level != NULL ? make_cells(effects, schur, &row, err) :
		no_memory(err);
	ok = ok && make_diagonal(effects, schur, err);
	if (ok && count_products(effects, &schur->cells) <= PRODUCTS_MAX)
	{
		ok = make_matrix(effects, schur, &row, &s, &too_large, host, err);
		if (ok && !too_large)
			ok = gr_schur_eliminate(schur, &s, host, err);
	}
	free_sparse(&s);
	free(row.value);
	free(row.has);
	free(row.level);
	return ok;
}

void
gr_schur_close(GrSchur *schur)
{
	if (schur == NULL)
		return;
	free_sparse(&schur->cells);
	free_sparse(&schur->l);
	free(schur->diagonal);
	free(schur->size);
	free(schur->pivot);
	free(schur->d);
	free(schur->rest);
	free(schur->dense.a);
	free(schur->dense.order);
	free(schur);
}

size_t
gr_schur_work_size(const GrEffects *effects, int stride)
{
	size_t		dense = 2 * (size_t) effects->schur->dense.m * (size_t) stride;

	return effects->schur->factored ? dense + 1 : gr_schur_iterate_size(effects, stride);
}

/* b[level] of the step's neighbours -= multiplier times b[pivot] */
GR_FOUR_VERSIONS
static void
eliminate_forward(const GrSchur *schur, double *b, int stride)
{
	for (int32_t k = 0; k < schur->nsparse; k++)
	{
		const double *from = b + (int64_t) schur->pivot[k] * stride;

		for (int64_t e = schur->l.begin[k]; e < schur->l.begin[k + 1]; e++)
		{
			double	   *to = b + (int64_t) schur->l.column[e] * stride;
			double		l = schur->l.value[e];

			for (int c = 0; c < stride; c += GR_EFFECT_LANES)
				GR_FOUR_AT(to + c) -= l * GR_FOUR_FROM(from + c);
		}
	}
}

GR_FOUR_VERSIONS
static void
substitute_back(const GrSchur *schur, double *b, int stride)
{
	for (int32_t k = schur->nsparse - 1; k >= 0; k--)
	{
		double	   *to = b + (int64_t) schur->pivot[k] * stride;
		double		d = schur->d[k];

		for (int c = 0; c < stride; c++)
			to[c] = d == 0 ? 0 : to[c] / d;
		for (int64_t e = schur->l.begin[k]; d != 0 && e < schur->l.begin[k + 1]; e++)
		{
			const double *from = b + (int64_t) schur->l.column[e] * stride;
			double		l = schur->l.value[e];

			for (int c = 0; c < stride; c += GR_EFFECT_LANES)
				GR_FOUR_AT(to + c) -= l * GR_FOUR_FROM(from + c);
		}
	}
}

bool
gr_schur_solve(GrEffects *effects, const GrSchurSides *sides, const GrHost *host, GrError *err)
{
	const GrSchur *schur = effects->schur;
	int			m = schur->dense.m;
	int			stride = sides->stride;
	double	   *b = sides->b;
	double	   *work = sides->work;

	if (!schur->factored)
		return gr_schur_iterate(effects, sides, host, err);
	eliminate_forward(schur, b, stride);
	for (int k = 0; k < m; k++)
		memcpy(work + (int64_t) k * stride, b + (int64_t) schur->rest[k] * stride, (size_t) stride * sizeof(double));
	gr_dense_solve(&schur->dense, work, stride, work + (int64_t) m * stride);
	for (int k = 0; k < m; k++)
		memcpy(b + (int64_t) schur->rest[k] * stride, work + (int64_t) k * stride, (size_t) stride * sizeof(double));
	substitute_back(schur, b, stride);
	return !gr_canceled(host) || gr_fail(err, GR_CANCELED, GR_NO_COLUMN, "absorbed effects");
}
