/*
 * schur_sparse.c: eliminates the levels of a sparse Schur complement; see schur.h.
 *
 * The level with the fewest neighbours is eliminated next: its neighbours' rows lose it, and are joined with its row.
 * Rows are sorted lists. Levels of equal number of neighbours are chained, so that the next level is found at once.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compute/effects/schur.h"

/* Levels that are left when elimination turns to the dense remainder in any case */
#define SMALL 64

/* A pivot of less than this share of its size waits for the dense stage, which pivots. */
#define POSTPONED 1e-6

/* Levels with more neighbours than this times the root of all levels are long; their rows are arrays. */
#define LONG 8
#define LONG_MAX 400

/* The row of a level: its neighbours that are left, without itself */
typedef struct Row
{
	int32_t		n;
	int32_t		room;
	int32_t    *column;
	double	   *value;
	bool		owned;			/* column and value are to be freed */
} Row;

typedef struct Elimination
{
	GrSchur    *schur;
	Row		   *row;
	double	   *diagonal;		/* diagonal elements of the levels that are left */
	/* chains of levels by number of neighbours */
	int32_t    *first;
	int32_t    *next;
	int32_t    *previous;
	char	   *state;			/* by level */
	double	  **array;			/* by level: the row of a long level, by neighbour; NULL: the row is a list */
	int32_t		least;			/* no level has fewer neighbours */
	int32_t		nleft;			/* levels that are neither eliminated nor postponed */
	int32_t		npostponed;
	double		nproducts;
	int32_t    *column;			/* room to join rows */
	double	   *value;
} Elimination;

enum
{
	LEFT, POSTPONED_STATE, ELIMINATED
};

static void
chain(Elimination *e, int32_t o)
{
	int32_t		n = e->row[o].n;

	e->previous[o] = -1;
	e->next[o] = e->first[n];
	if (e->next[o] >= 0)
		e->previous[e->next[o]] = o;
	e->first[n] = o;
	if (n < e->least)
		e->least = n;
}

static void
unchain(Elimination *e, int32_t o)
{
	if (e->previous[o] >= 0)
		e->next[e->previous[o]] = e->next[o];
	else
		e->first[e->row[o].n] = e->next[o];
	if (e->next[o] >= 0)
		e->previous[e->next[o]] = e->previous[o];
}

/* Takes the rows of s, without their diagonal elements. Rows point into s until they grow. */
static void
take_rows(Elimination *e, GrSparse *s)
{
	for (int32_t o = 0; o < e->schur->q; o++)
	{
		Row		   *row = &e->row[o];
		int64_t		n = s->begin[o];

		row->column = s->column + n;
		row->value = s->value + n;
		for (int64_t k = s->begin[o]; k < s->begin[o + 1]; k++)
		{
			if (s->column[k] == o)
				continue;
			s->column[n] = s->column[k];
			s->value[n++] = s->value[k];
		}
		row->n = (int32_t) (n - s->begin[o]);
		row->room = (int32_t) (s->begin[o + 1] - s->begin[o]);
		e->diagonal[o] = e->schur->diagonal[o];
		e->first[o] = -1;
	}
}

/*
 * Turns the rows of levels with very many neighbours into arrays, as each elimination of a neighbour would copy their
 * lists. These levels wait for the dense stage. Chains the others. Returns false if there is no memory.
 */
static bool
chain_rows(Elimination *e)
{
	int32_t		q = e->schur->q;
	double		limit = LONG * sqrt((double) q) + SMALL;
	int			nlong = 0;

	e->least = q;
	for (int32_t o = 0; o < q; o++)
		nlong += e->row[o].n > limit;
	for (int32_t o = q - 1; o >= 0; o--)
	{
		const Row  *row = &e->row[o];

		if (row->n <= limit || nlong > LONG_MAX)
		{
			chain(e, o);
			continue;
		}
		e->array[o] = calloc((size_t) q, sizeof(double));
		if (e->array[o] == NULL)
			return false;
		for (int32_t k = 0; k < row->n; k++)
			e->array[o][row->column[k]] = row->value[k];
		e->state[o] = POSTPONED_STATE;
		e->nleft--;
		e->npostponed++;
	}
	return true;
}

/* Gives the row room for n entries. */
static bool
make_room(Row *row, int32_t n)
{
	int32_t		room = n + n / 2 + 8;
	int32_t    *column;
	double	   *value;

	if (n <= row->room)
		return true;
	column = malloc((size_t) room * sizeof(int32_t));
	value = malloc((size_t) room * sizeof(double));
	if (column == NULL || value == NULL)
	{
		free(column);
		free(value);
		return false;
	}
	if (row->owned)
	{
		free(row->column);
		free(row->value);
	}
	row->column = column;
	row->value = value;
	row->room = room;
	row->owned = true;
	return true;
}

/* Joins the row of neighbour u, without pivot v, with factor times the row of v, without u. */
static bool
join(Elimination *e, int32_t u, int32_t v, double factor)
{
	Row		   *to = &e->row[u];
	const Row  *from = &e->row[v];
	int32_t		n = 0;
	int32_t		i = 0;
	int32_t		j = 0;

	while (i < to->n || j < from->n)
	{
		int32_t		a = i < to->n ? to->column[i] : INT32_MAX;
		int32_t		b = j < from->n ? from->column[j] : INT32_MAX;

		if (a == v)
		{
			i++;
			continue;
		}
		if (b == u)
		{
			j++;
			continue;
		}
		e->column[n] = a < b ? a : b;
		e->value[n] = (a <= b ? to->value[i] : 0) - (b <= a ? factor * from->value[j] : 0);
		i += a <= b;
		j += b <= a;
		n++;
	}
	if (!make_room(to, n))
		return false;
	memcpy(to->column, e->column, (size_t) n * sizeof(int32_t));
	memcpy(to->value, e->value, (size_t) n * sizeof(double));
	to->n = n;
	return true;
}

/* Appends the multipliers of pivot v to L. */
static bool
keep_multipliers(Elimination *e, int32_t v, double d)
{
	GrSchur    *schur = e->schur;
	const Row  *row = &e->row[v];
	int64_t		n = schur->l.begin[schur->nsparse];

	if (n + row->n > schur->l_size)
	{
		int64_t		wanted = 2 * schur->l_size + row->n + 1024;
		int32_t    *column = realloc(schur->l.column, (size_t) wanted * sizeof(int32_t));
		double	   *value;

		if (column == NULL)
			return false;
		schur->l.column = column;
		value = realloc(schur->l.value, (size_t) wanted * sizeof(double));
		if (value == NULL)
			return false;
		schur->l.value = value;
		schur->l_size = wanted;
	}
	for (int32_t k = 0; k < row->n; k++, n++)
	{
		schur->l.column[n] = row->column[k];
		schur->l.value[n] = row->value[k] / d;
	}
	schur->pivot[schur->nsparse] = v;
	schur->d[schur->nsparse++] = d;
	schur->l.begin[schur->nsparse] = n;
	return true;
}

static void
drop_row(Row *row)
{
	if (row->owned)
	{
		free(row->column);
		free(row->value);
	}
	memset(row, 0, sizeof(*row));
}

/* Eliminates pivot v, whose chain it has left. */
static bool
eliminate(Elimination *e, int32_t v, double d)
{
	const Row  *row = &e->row[v];
	bool		ok = keep_multipliers(e, v, d);

	for (int32_t k = 0; ok && k < row->n; k++)
	{
		int32_t		u = row->column[k];
		double		factor = row->value[k] / d;

		if (e->state[u] == LEFT)
			unchain(e, u);
		e->diagonal[u] -= factor * row->value[k];
		e->nproducts += row->n;
		if (e->array[u] != NULL)
		{
			for (int32_t i = 0; i < row->n; i++)
				e->array[u][row->column[i]] -= factor * row->value[i];
			continue;
		}
		e->nproducts += e->row[u].n;
		ok = join(e, u, v, factor);
		if (e->state[u] == LEFT)
			chain(e, u);
	}
	drop_row(&e->row[v]);
	e->state[v] = ELIMINATED;
	return ok;
}

/* True if the level with the fewest neighbours has so many that the dense stage is faster. */
static bool
is_full(const Elimination *e)
{
	return e->nleft + e->npostponed <= SMALL || (double) e->least > 0.4 * (e->nleft + e->npostponed);
}

/* Sets e->least to the least number of neighbours. */
static void
find_least(Elimination *e)
{
	while (e->first[e->least] < 0)
		e->least++;
}

/* Eliminates levels until the rest is for the dense stage, or too much work. */
static bool
eliminate_levels(Elimination *e, const GrHost *host, GrError *err)
{
	GrPoll		poll = {.host = host};

	while (e->nleft > 0)
	{
		int32_t		v;
		double		d;
		double		before = e->nproducts;

		find_least(e);
		if (e->nproducts > GR_SCHUR_WORK_MAX || gr_schur_is_heavy(e->nleft, e->least) ||
			(e->least > 0 && is_full(e)))
			return true;
		v = e->first[e->least];
		unchain(e, v);
		e->nleft--;
		d = e->diagonal[v];
		if (e->row[v].n == 0 && !(d > GR_SCHUR_TOLERANCE * e->schur->size[v]))
		{
			/* nothing is left of the level, and it has no neighbours */
			e->schur->pivot[e->schur->nsparse] = v;
			e->schur->d[e->schur->nsparse++] = 0;
			e->schur->l.begin[e->schur->nsparse] = e->schur->l.begin[e->schur->nsparse - 1];
			e->state[v] = ELIMINATED;
			continue;
		}
		if (!(d > POSTPONED * e->schur->size[v]))
		{
			e->state[v] = POSTPONED_STATE;
			e->npostponed++;
			continue;
		}
		if (!eliminate(e, v, d))
			return gr_fail(err, GR_NO_MEMORY, GR_NO_COLUMN, "absorbed effects");
		e->schur->rank++;
		if (gr_poll(&poll, 20 + (int64_t) (4 * (e->nproducts - before))))
			return gr_fail(err, GR_CANCELED, GR_NO_COLUMN, "absorbed effects");
	}
	return true;
}

/* Factors what is left. *number: room for one number per level */
static bool
factor_rest(Elimination *e, int32_t *number, const GrHost *host, GrError *err)
{
	GrSchur    *schur = e->schur;
	GrDense    *dense = &schur->dense;
	int32_t		m = e->nleft + e->npostponed;
	double	   *size = malloc(((size_t) m + 1) * sizeof(double));
	bool		ok;

	schur->rest = malloc(((size_t) m + 1) * sizeof(int32_t));
	dense->order = malloc(((size_t) m + 1) * sizeof(int));
	dense->a = calloc((size_t) m * (size_t) m + 1, sizeof(double));
	dense->m = 0;
	if (size == NULL || schur->rest == NULL || dense->order == NULL || dense->a == NULL)
	{
		free(size);
		return gr_fail(err, GR_NO_MEMORY, GR_NO_COLUMN, "absorbed effects");
	}
	for (int32_t o = 0; o < schur->q; o++)
		if (e->state[o] != ELIMINATED)
		{
			number[o] = dense->m;
			size[dense->m] = schur->size[o];
			schur->rest[dense->m++] = o;
		}
	for (int32_t k = 0; k < m; k++)
	{
		const Row  *row = &e->row[schur->rest[k]];
		const double *array = e->array[schur->rest[k]];

		dense->a[(int64_t) k * m + k] = e->diagonal[schur->rest[k]];
		for (int32_t i = 0; array == NULL && i < row->n; i++)
			dense->a[(int64_t) k * m + number[row->column[i]]] = row->value[i];
		for (int32_t i = 0; array != NULL && i < m; i++)
			if (i != k)
				dense->a[(int64_t) k * m + i] = array[schur->rest[i]];
	}
	ok = gr_dense_factor(dense, size, host) || gr_fail(err, GR_CANCELED, GR_NO_COLUMN, "absorbed effects");
	schur->rank += dense->rank;
	schur->factored = ok;
	free(size);
	return ok;
}

/* Allocates the elimination. Returns false if there is no memory. */
static bool
begin_elimination(Elimination *e, GrSchur *schur)
{
	size_t		q = (size_t) schur->q;

	e->schur = schur;
	e->row = calloc(q, sizeof(Row));
	e->diagonal = malloc(q * sizeof(double));
	e->first = malloc((q + 1) * sizeof(int32_t));
	e->next = malloc(q * sizeof(int32_t));
	e->previous = malloc(q * sizeof(int32_t));
	e->state = calloc(q, 1);
	e->array = calloc(q, sizeof(double *));
	e->column = malloc(q * sizeof(int32_t));
	e->value = malloc(q * sizeof(double));
	e->nleft = schur->q;
	schur->pivot = malloc(q * sizeof(int32_t));
	schur->d = malloc(q * sizeof(double));
	schur->l.begin = calloc(q + 1, sizeof(int64_t));
	return e->row != NULL && e->diagonal != NULL && e->first != NULL && e->next != NULL && e->previous != NULL &&
		e->state != NULL && e->array != NULL && e->column != NULL && e->value != NULL && schur->pivot != NULL &&
		schur->d != NULL && schur->l.begin != NULL;
}

static void
end_elimination(Elimination *e)
{
	for (int32_t o = 0; e->row != NULL && o < e->schur->q; o++)
		drop_row(&e->row[o]);
	for (int32_t o = 0; e->array != NULL && o < e->schur->q; o++)
		free(e->array[o]);
	free(e->array);
	free(e->row);
	free(e->diagonal);
	free(e->first);
	free(e->next);
	free(e->previous);
	free(e->state);
	free(e->column);
	free(e->value);
}

bool
gr_schur_eliminate(GrSchur *schur, GrSparse *s, const GrHost *host, GrError *err)
{
	Elimination e = {0};
	bool		ok;

	ok = begin_elimination(&e, schur) || gr_fail(err, GR_NO_MEMORY, GR_NO_COLUMN, "absorbed effects");
	if (ok)
	{
		take_rows(&e, s);
		e.first[schur->q] = -1;
		ok = chain_rows(&e) ? eliminate_levels(&e, host, err) :
			gr_fail(err, GR_NO_MEMORY, GR_NO_COLUMN, "absorbed effects");
	}
	if (ok && e.nleft + e.npostponed <= GR_SCHUR_DENSE_MAX)
		ok = factor_rest(&e, e.next, host, err);
	end_elimination(&e);
	return ok;
}
