/*
 * select_best.c: the best subset of each size by branch and bound; see select.h.
 */
#include "compute/linear/select_best.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "compute/linalg/normal.h"

/* Nodes of so many features that may be dropped put them in order; below, that takes longer than it saves. */
#define SORTED_MIN 4

/* ... and of so many are bounded anew by how their coefficients' variances lie together. */
#define BOUND_MIN 14

/* The power of a matrix whose trace tells its largest eigenvalue, to within that root of its size */
#define SPREAD_POWER 128

/* What is left of a bound, for its own rounding */
#define SLACK 1e-6

/*
 * The rounding of a subset's RSS as the search has it, as a share of the response's length: so many roundings for each
 * feature, times how much longer a feature is than what the others leave of it.
 */
#define ROUNDINGS 16

/* More than this share of what all features leave of the response's length, and the search is in double-double. */
#define ROUNDING_MAX 1e-4

typedef struct Search
{
	GrSelect   *select;
	int			p;				/* features that take part */
	int			max_size;
	double		rounding;		/* in units of the scaled response */
	double		unit;			/* times this squared, an RSS is in these units squared */
	double	   *limit;			/* max_size + 1: below it an RSS is the best of its size, but for rounding */
	double	   *limit_from;		/* max_size + 1: the largest of that size or greater ones */
	int		   *places;			/* p: the features */
	int		   *fixed;			/* of a node */
	int			nfixed;
	int			depth;
	int		   *vars;			/* p of each depth */
	double	   *cost;			/* likewise */
	int		   *order;			/* p */
	double	   *sorted;			/* p */
	double	   *share;			/* p */
	double	   *bound;			/* p of each depth: of V, by feature */
	double	   *matrix;			/* 2 p (p + 2) */
	int		   *subset;			/* p */
	double	   *room;
	GrPoll		poll;
	int64_t		nnodes;
} Search;

/* An RSS as the search has it is below, if the subset is better than the best that is known. */
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

/* The first so many of search->fixed */
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
 * For V, of n rows, which becomes its diagonal: no less than the largest eigenvalue of V as a correlation matrix C.
 * That is at most the root of the trace of a power of C. room: n more than V
 */
static double
spread_of(double *v, int n, double *room)
{
	double		logarithm = 0;	/* of what C's power was divided by */
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
		/* symmetric: a row by a row */
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
 * Which children of a node can be better than what is known; cost[j] becomes infinite where that of feature j can't.
 * Dropping features D adds b_D' (V_DD)^-1 b_D to the RSS, V being the inverse of the products and b the coefficients:
 * at least what dropping one of them does. And V is at most a diagonal matrix, in the order of matrices, and stays so
 * when features are dropped: so it is at least the sum of b[j]^2 over that diagonal, which search->share has, in the
 * order of the node's b features.
 */
static void
bound_children(Search *search, int b, double rss, double *cost)
{
	double	   *least = search->sorted;		/* of the features behind j, in ascending order */
	int			n = 0;

	for (int j = b - 1; j >= 0; j--)
	{
		double		share = search->share[j];
		double		sum = rss + share * (1 - SLACK);
		bool		hopeless = rss + cost[j] * (1 - SLACK) >= search->limit_from[search->nfixed + j + 1];
		int			k = n++;

		/* as many as there are, less one for each feature that is dropped */
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

/*
 * In float8, and in double-double
 */

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

/* a's square root, by a step of Newton's */
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
 * Before it begins
 */

/* Carves what a search of all p features among search->p ones works in, but for the places. */
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
	/* a node of b features has b rows of b + 1, a row, and what it is sorted with; there is one of each b */
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

/* The features that vary: others have no part in any model. */
static int
choose_places(const GrSelect *select, int *places)
{
	int			n = 0;

	for (int k = 0; k < select->nfeatures; k++)
		if (select->c.hi[gr_packed(k, k)] > select->least_pivot[k])
			places[n++] = k;
	return n;
}

/* Their products, scaled by powers of two so that the squares are in [1, 4) */
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
 * How much longer, at most, a feature is than what all others leave of it: the root of a variance inflation factor.
 * Infinite where one is aliased. column: room for p
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
		/* column i of inv(L): what the feature has a part in */
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

/* Chooses the arithmetic: true for double-double. *rounding: of what it finds */
static bool
choose_arithmetic(const GrLdl *ldl, double response, double *column, double *rounding)
{
	int			p = ldl->n - 1;
	double		factor = inflation(ldl, column);
	double		left = sqrt(fmax(ldl->d.hi[p], 0));

	*rounding = ROUNDINGS * p * DBL_EPSILON * factor * response;
	if (*rounding < ROUNDING_MAX * left)
		return false;
	/* features that aren't aliased are no further off than the square root of GR_ALIAS_TOLERANCE */
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
