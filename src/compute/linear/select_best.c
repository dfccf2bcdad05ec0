/*
 * select_best.c: the best subset of each size by branch and bound; see select.h.
 */
#include "compute/linear/select_best.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "compute/linalg/normal.h"

/* Least number of droppable features for which a node sorts them. With fewer, sorting costs more than it saves. */
#define SORTED_MIN 4

/* Least number of droppable features for which a node computes a new bound from its coefficients' variances. */
#define BOUND_MIN 14

/* Power of a matrix from whose trace the largest eigenvalue is bounded, to within that root of the matrix's size. */
#define SPREAD_POWER 128

/* Share taken off a bound for its own rounding error. */
#define SLACK 1e-6

/*
 * Rounding error of a subset's RSS in the search, as a share of the response's length: this many roundings per feature,
 * times the ratio of a feature's length to what the others leave of it.
 */
#define ROUNDINGS 16

/*
 * If the rounding error exceeds this share of the length that all features leave of the response, the search is in
 * double-double.
 */
#define ROUNDING_MAX 1e-4

typedef struct Search
{
	GrSelect   *select;
	int			p;				/* number of features in the search */
	int			max_size;
	double		rounding;		/* rounding error, in units of the scaled response */
	double		unit;			/* unit^2 times an RSS is the RSS in the search */
	double	   *limit;			/* max_size + 1: an RSS in the search below limit[k] is the best of size k, up to
								 * rounding */
	double	   *limit_from;		/* max_size + 1: largest limit of this size and greater ones */
	int		   *places;			/* p: indexes of the features */
	int		   *fixed;			/* features that a node cannot drop */
	int			nfixed;
	int			depth;
	int		   *vars;			/* p per depth: features that a node may drop */
	double	   *cost;			/* p per depth: cost of dropping each */
	int		   *order;			/* p: scratch of sorting */
	double	   *sorted;			/* p: scratch */
	double	   *share;			/* p: squared coefficients over bound */
	double	   *bound;			/* p per depth: bound of V by feature */
	double	   *matrix;			/* 2 p (p + 2): scratch */
	int		   *subset;			/* p: a subset of features */
	double	   *room;
	GrPoll		poll;
	int64_t		nnodes;
} Search;

/*
 * Updates the limit of a size: a subset whose RSS in the search is below the limit may be better than the best known.
 */
static void
set_limit(Search *search, int size)
{
	const GrSelect *select = search->select;
	double		length = sqrt(select->selection->rss[size]) * search->unit + search->rounding;

	if (select->known[size])
		search->limit[size] = select->selection->rss[size] == 0 ? 0 : length * length * (1 + 1e-14);
	for (int k = size; k > 0; k--)
	{
		double		next = k < search->max_size ? search->limit_from[k + 1] : 0;

		search->limit_from[k] = fmax(search->limit[k], next);
	}
}

/* Tries the first size features of search->fixed. Returns false on an error. */
static bool
try_subset(Search *search, int size)
{
	bool		better;

	for (int k = 0; k < size; k++)
		search->subset[k] = search->places[search->fixed[k]];
	if (!gr_select_try(search->select, search->subset, size, &better))
		return false;
	if (better)
		set_limit(search, size);
	return true;
}

/*
 * Returns an upper bound of the largest eigenvalue of V, n x n, scaled to a correlation matrix C: the root of the trace
 * of a power of C. On return v begins with V's diagonal. room: n numbers more than V.
 */
static double
spread_of(double *v, int n, double *room)
{
	double		logarithm = 0;	/* log of the divisor of C's power */
	double		power = 1;

	for (int i = 0; i < n; i++)
		room[i] = v[i * n + i];
	for (int i = 0; i < n; i++)
		for (int k = 0; k < n; k++)
			v[i * n + k] /= sqrt(room[i] * room[k]);
	for (;;)
	{
		double	   *to = room + n;
		double		trace = 0;

		for (int i = 0; i < n; i++)
			trace += v[i * n + i];
		logarithm += log(trace) / power;
		if (power == SPREAD_POWER)
			break;
		/* the matrix is symmetric: multiply rows by rows */
		for (int i = 0; i < n; i++)
			for (int k = 0; k <= i; k++)
			{
				double		sum = 0;

				for (int c = 0; c < n; c++)
					sum += v[i * n + c] * v[k * n + c];
				to[i * n + k] = to[k * n + i] = sum / trace / trace;
			}
		memcpy(v, to, (size_t) n * n * sizeof(double));
		power *= 2;
	}
	memcpy(v, room, (size_t) n * sizeof(double));
	return exp(logarithm) * (1 + SLACK);
}

/*
 * Sets cost[j] to infinity if the child without feature j cannot be better than what is known. Dropping features D adds
 * b_D' (V_DD)^-1 b_D to the RSS, where V is the inverse of the products and b the coefficients. That is at least the
 * cost of dropping one of them. V is at most a diagonal matrix, in the order of matrices, and stays so when features
 * are dropped. So the increase is also at least the sum of b[j]^2 over that diagonal, which is in search->share in the
 * order of the node's b features.
 */
static void
bound_children(Search *search, int b, double rss, double *cost)
{
	double	   *least = search->sorted;		/* shares of the features behind j, ascending */
	int			n = 0;

	for (int j = b - 1; j >= 0; j--)
	{
		double		share = search->share[j];
		double		sum = rss + share * (1 - SLACK);
		bool		hopeless = rss + cost[j] * (1 - SLACK) >= search->limit_from[search->nfixed + j + 1];
		int			k = n++;

		/* sizes from all features down to one feature less per dropped feature */
		if (!hopeless)
		{
			hopeless = true;
			for (int dropped = 0; dropped < n - 1 && hopeless; dropped++)
			{
				int			size = search->nfixed + b - 1 - dropped;

				hopeless = size > search->max_size || sum >= search->limit[size];
				sum += least[dropped] * (1 - SLACK);
			}
		}
		if (hopeless)
			cost[j] = INFINITY;
		for (; k > 0 && least[k - 1] > share; k--)
			least[k] = least[k - 1];
		least[k] = share;
	}
}

/* Instances of the search, in float8 and in double-double */

#define REAL double
#define ADD(a, b) ((a) + (b))
#define SUB(a, b) ((a) - (b))
#define MUL(a, b) ((a) * (b))
#define DIV(a, b) ((a) / (b))
#define SQRT(a) sqrt(a)
#define HI(a) (a)
#define REAL_OF(a) ((a).hi)
#define NAME(x) double_##x
#define WORK 2
#define LEAST_DIAGONAL 1e-12
#include "compute/linear/select_search.h"

/* Returns the square root of a by one Newton step from that of a.hi. */
static GrDD
dd_sqrt(GrDD a)
{
	double		x = sqrt(a.hi);

	if (!(a.hi > 0))
		return gr_dd(0.0);
	return gr_dd_add(gr_dd(x), gr_dd_div(gr_dd_sub(a, gr_two_prod(x, x)), gr_dd(2 * x)));
}

#define REAL GrDD
#define ADD(a, b) gr_dd_add(a, b)
#define SUB(a, b) gr_dd_sub(a, b)
#define MUL(a, b) gr_dd_mul(a, b)
#define DIV(a, b) gr_dd_div(a, b)
#define SQRT(a) dd_sqrt(a)
#define HI(a) ((a).hi)
#define REAL_OF(a) (a)
#define NAME(x) dd_##x
#define WORK 20
#define LEAST_DIAGONAL 1e-20
#include "compute/linear/select_search.h"

/*
 * Setting up a search
 */

/* Carves the memory of a search of p features, except search->places. */
static void
carve_search(Search *search, GrLdl *ldl, int p, GrArena *arena)
{
	int64_t		p1 = (int64_t) p + 1;

	gr_ldl_carve(ldl, search->p + 1, arena);
	search->limit = gr_carve_doubles(arena, p1);
	search->limit_from = gr_carve_doubles(arena, p1);
	search->fixed = gr_carve_ints(arena, p1);
	search->order = gr_carve_ints(arena, p1);
	search->sorted = gr_carve_doubles(arena, p1);
	search->subset = gr_carve_ints(arena, p1);
	search->vars = gr_carve_ints(arena, p1 * (p1 + 2));
	search->cost = gr_carve_doubles(arena, p1 * p1);
	search->share = gr_carve_doubles(arena, p1);
	search->bound = gr_carve_doubles(arena, p1 * p1);
	search->matrix = gr_carve_doubles(arena, 2 * p1 * (p1 + 2));
	/* per b: a node's b rows of b + 1, one more row, and scratch of sorting */
	search->room = gr_carve_doubles(arena, 2 * (p1 * (p1 + 1) * (2 * p1 + 1) / 6 + 6 * p1 * (p1 + 2)));
}

static int *
carve_places(int p, GrArena *arena)
{
	return gr_carve_ints(arena, p + 1);
}

void
gr_select_best_count(int nfeatures, GrArena *arena)
{
	Search		search = {.p = nfeatures};
	GrLdl		ldl;

	(void) carve_places(nfeatures, arena);
	carve_search(&search, &ldl, nfeatures, arena);
}

/* Chooses the features that vary; no model uses the others. Returns their number. */
static int
choose_places(const GrSelect *select, int *places)
{
	int			n = 0;

	for (int k = 0; k < select->nfeatures; k++)
		if (select->c.hi[gr_packed(k, k)] > select->least_pivot[k])
			places[n++] = k;
	return n;
}

/* Loads the products of the chosen features, scaled by powers of two that bring their squares into [1, 4). */
static void
load_places(const GrSelect *select, const Search *search, GrLdl *ldl)
{
	const GrDDVector c = select->c;

	for (int i = 0; i <= search->p; i++)
	{
		int64_t		row = i < search->p ? search->places[i] : select->nfeatures;

		ldl->scale[i] = i < search->p ? ldexp(1.0, -(ilogb(c.hi[gr_packed(row, row)]) >> 1)) : 1;
		for (int j = 0; j <= i; j++)
			gr_dd_set(ldl->l, gr_packed(i, j),
					  gr_dd_scale(gr_dd_get(c, gr_packed(row, j < search->p ? search->places[j] : row)),
								  ldl->scale[i] * ldl->scale[j]));
	}
	for (int i = 0; i < search->p; i++)
		ldl->least_pivot[i] = select->least_pivot[search->places[i]] * ldl->scale[i] * ldl->scale[i];
	ldl->max_rank = select->nrows - (select->selection->intercept ? 1 : 0);
}

/*
 * Returns the largest ratio of a feature's length to what all others leave of it, the root of a variance inflation
 * factor. Infinite if a feature is aliased. column: p numbers of scratch.
 */
static double
inflation(const GrLdl *ldl, double *column)
{
	int			p = ldl->n - 1;
	double		largest = 1;

	for (int i = 0; i < p; i++)
	{
		double		length = 0;
		double		norm = 0;

		if (ldl->aliased[i])
			return INFINITY;
		/* column i of inv(L); norm becomes the inverse's diagonal entry i */
		for (int k = i; k < p; k++)
		{
			column[k] = k == i ? 1 : 0;
			for (int j = i; j < k; j++)
				column[k] -= ldl->l.hi[gr_packed(k, j)] * column[j];
			norm += column[k] * column[k] / ldl->d.hi[k];
		}
		for (int j = 0; j < i; j++)
			length += ldl->l.hi[gr_packed(i, j)] * ldl->l.hi[gr_packed(i, j)] * ldl->d.hi[j];
		length += ldl->d.hi[i];
		largest = fmax(largest, sqrt(length * norm));
	}
	return largest;
}

/* Chooses the arithmetic. Returns true for double-double. *rounding: rounding error of the search. */
static bool
choose_arithmetic(const GrLdl *ldl, double response, double *column, double *rounding)
{
	int			p = ldl->n - 1;
	double		factor = inflation(ldl, column);
	double		left = sqrt(fmax(ldl->d.hi[p], 0));

	*rounding = ROUNDINGS * p * DBL_EPSILON * factor * response;
	if (*rounding < ROUNDING_MAX * left)
		return false;
	/* features that are not aliased have at most this ratio */
	*rounding = ROUNDINGS * p * 0x1p-104 * fmin(factor, 1 / sqrt(GR_ALIAS_TOLERANCE)) * response;
	return true;
}

bool
gr_select_best(GrSelect *select)
{
	Search		search = {.select = select,.max_size = select->selection->max_size,.poll = {.host = select->host}};
	int			p = select->nfeatures;
	int64_t		last = gr_packed(p, p);
	double		tss = select->selection->rss[0];
	GrLdl		ldl;
	bool		ok;

	search.places = carve_places(p, &select->arena);
	search.p = choose_places(select, search.places);
	if (search.p < 2 || !(select->c.hi[last] > 0) || !(tss > 0))
		return true;
	carve_search(&search, &ldl, p, &select->arena);
	gr_ldl_clear(&ldl);
	load_places(select, &search, &ldl);
	if (!gr_ldl_factorise(&ldl, select->host, select->err))
		return false;
	if (search.max_size > select->selection->rank)
		search.max_size = select->selection->rank;
	search.unit = sqrt(select->c.hi[last] / tss);
	for (int k = 0; k < search.p; k++)
	{
		search.vars[k] = k;
		search.bound[k] = INFINITY;
	}
	ok = choose_arithmetic(&ldl, sqrt(select->c.hi[last]), search.sorted, &search.rounding);
	for (int k = 0; k <= p; k++)
	{
		search.limit[k] = k <= search.max_size ? INFINITY : 0;
		search.limit_from[k] = 0;
	}
	for (int k = search.max_size; k > 0; k--)
		set_limit(&search, k);
	ok = ok ? dd_run(&search, &ldl) : double_run(&search, &ldl);
	select->selection->nnodes = search.nnodes;
	return ok;
}
