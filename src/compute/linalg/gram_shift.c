/*
 * gram_shift.c: which shift, whether rows bear it, and sums about one made sums about another.
 */
#include "compute/linalg/gram_shift.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compute/base/dd.h"

/*
 * A column is shifted if its values are this many times their range. Below, double-double loses at most the square of
 * it, 2.4 of 32 digits, and some more for a column whose spread is less than its range.
 */
#define LEAST_RATIO 16.0

/* Below, the squares of differences of one ulp could leave float8's range where the values' own don't. */
#define LEAST_SHIFT 1e-110
/* A constant below this is its own shift; the squares of larger ones don't underflow. */
#define MOST_CONSTANT 1e-130
#define MOST_SHIFT 1e140		/* above, the squares that tell the spread are near the end of the range */

/* A translated entry's share of the time between two polls; see GrPoll */
#define ENTRY_WORK 20

static inline int64_t
at(int64_t i, int64_t j)
{
	return i * (i + 1) / 2 + j;
}

static inline GrDD
get(const double *hi, const double *lo, int64_t k)
{
	GrDD		r = {hi[k], lo[k]};

	return r;
}

/* The range's midpoint, of as few bits as it takes to lie in it. 0 < hi - lo, which is small against both. */
static double
round_midpoint(double lo, double hi)
{
	double		range = hi - lo;
	int			k = ilogb(range);

	return ldexp(nearbyint(ldexp(lo + 0.5 * range, -k)), k);
}

/* c_j; column: its first value, the next ones stride further on */
static double
choose_column(const double *column, int64_t nrows, int stride)
{
	double		lo = column[0];
	double		hi = column[0];
	double		c;

	/* most columns that aren't shifted show it in the second row */
	for (int64_t r = 1; r < nrows; r++)
	{
		double		v = column[r * stride];

		lo = v < lo ? v : lo;
		hi = v > hi ? v : hi;
		if (!(fmin(fabs(lo), fabs(hi)) >= LEAST_RATIO * (hi - lo)))
			return 0.0;
	}
	/* NaN and infinity, which fail later, have no range */
	if (!isfinite(lo) || !isfinite(hi))
		return 0.0;
	/* differences of a constant are 0, so that only sums of columns that aren't constant can underflow */
	if (lo == hi && fabs(lo) < MOST_CONSTANT)
		return lo;
	c = lo == hi ? lo : round_midpoint(lo, hi);
	return fabs(c) >= LEAST_SHIFT && isfinite(c) ? c : 0.0;
}

bool
gr_shift_choose(double *shift, const double *rows, int64_t nrows, GrRowShape shape)
{
	for (int j = 0; j < gr_nterms(shape.nfeatures); j++)
		shift[j] = choose_column(rows + j, nrows, gr_row_ncols(shape));
	return gr_shift_any(shift, shape.nfeatures);
}

bool
gr_shift_by_sums(double *shift, const double *hi, const double *lo, int nfeatures, double far)
{
	double		n = hi[0];

	memset(shift, 0, (size_t) gr_nterms(nfeatures) * sizeof(double));
	for (int64_t j = 1; j <= nfeatures; j++)
	{
		GrDD		sum = get(hi, lo, at(j, 0));
		GrDD		mean = gr_dd_div(sum, get(hi, lo, 0));
		GrDD		sumsq = gr_dd_sub(get(hi, lo, at(j, j)), gr_dd_mul(sum, mean));
		double		spread = sumsq.hi > 0.0 ? sqrt(sumsq.hi / n) : 0.0;

		if (!(fabs(mean.hi) > far * spread) || !(fabs(mean.hi) >= LEAST_SHIFT && fabs(mean.hi) <= MOST_SHIFT))
			continue;
		shift[j - 1] = mean.hi;
		if (spread > 0x1p-50 * fabs(mean.hi))
			shift[j - 1] = ldexp(rint(ldexp(mean.hi, -ilogb(spread))), ilogb(spread));
	}
	return gr_shift_any(shift, nfeatures);
}

bool
gr_shift_any(const double *shift, int nfeatures)
{
	for (int j = 0; j <= nfeatures; j++)
		if (shift[j] != 0.0)
			return true;
	return false;
}

void
gr_shift_narrow(double *narrowed, const double *shift, const double *rows, int64_t nrows, GrRowShape shape)
{
	int			n = gr_nterms(shape.nfeatures);
	int			stride = gr_row_ncols(shape);

	memcpy(narrowed, shift, (size_t) n * sizeof(double));
	for (int64_t r = 0; r < nrows; r++)
		for (int j = 0; j < n; j++)
			if (!(gr_two_sum(rows[r * stride + j], -shift[j]).lo == 0.0))
				narrowed[j] = 0.0;
}

/* A triangle of sums about from, to be read about to, which is 0 where only_if is 0 too. NULL: 0, and none. */
typedef struct Moved
{
	const double *hi;
	const double *lo;
	const double *from;
	const double *to;
	const double *only_if;
} Moved;

/* How far column i of z = (1, x, y) moves */
static inline GrDD
distance(const Moved *m, int64_t i)
{
	double		from;
	double		to;

	if (i == 0)
		return gr_dd(0.0);
	from = m->from == NULL ? 0.0 : m->from[i - 1];
	to = m->to == NULL || (m->only_if != NULL && m->only_if[i - 1] == 0.0) ? 0.0 : m->to[i - 1];
	return gr_two_sum(from, -to);
}

/* Entry (i, j), which is k; di: i's distance. Reads the entries (i, 0), (j, 0) and (0, 0) too. */
static inline GrDD
moved_entry(const Moved *m, int64_t i, GrDD di, int64_t j, int64_t k)
{
	GrDD		g = get(m->hi, m->lo, k);
	GrDD		dj = distance(m, j);

	if (di.hi != 0.0)
	{
		GrDD		sum_j = gr_dd_add(get(m->hi, m->lo, at(j, 0)), gr_dd_mul(get(m->hi, m->lo, 0), dj));

		g = gr_dd_add(g, gr_dd_mul(di, sum_j));
	}
	if (dj.hi != 0.0)
		g = gr_dd_add(g, gr_dd_mul(get(m->hi, m->lo, at(i, 0)), dj));
	/* of a sum of squares that is 0, rounding must not leave less */
	return j == i && g.hi < 0.0 ? gr_dd(0.0) : g;
}

/* Backwards, so that the sums of columns, which lead their rows, are read before they are written. */
static bool
move(double *hi, double *lo, int nfeatures, const Moved *m, GrPoll *poll)
{
	for (int64_t i = gr_norder(nfeatures) - 1; i > 0; i--)
	{
		GrDD		di = distance(m, i);

		for (int64_t j = i; j >= 0; j--)
		{
			GrDD		g = moved_entry(m, i, di, j, at(i, j));

			hi[at(i, j)] = g.hi;
			lo[at(i, j)] = g.lo;
		}
		if (gr_poll(poll, ENTRY_WORK * (i + 1)))
			return false;
	}
	return true;
}

bool
gr_gram_translate(double *hi, double *lo, int nfeatures, const double *from, const double *to, GrPoll *poll)
{
	const Moved m = {.hi = hi,.lo = lo,.from = from,.to = to};

	return move(hi, lo, nfeatures, &m, poll);
}

/* += the other's */
static bool
add_moved(double *hi, double *lo, int nfeatures, const Moved *other, GrPoll *poll)
{
	for (int64_t i = 0; i < gr_norder(nfeatures); i++)
	{
		GrDD		di = distance(other, i);

		for (int64_t j = 0; j <= i; j++)
		{
			int64_t		k = at(i, j);
			GrDD		g = gr_dd_add(get(hi, lo, k), moved_entry(other, i, di, j, k));

			hi[k] = g.hi;
			lo[k] = g.lo;
		}
		if (gr_poll(poll, ENTRY_WORK * (i + 1)))
			return false;
	}
	return true;
}

bool
gr_gram_merge_shifted(double *hi, double *lo, double *shift, const double *hi2, const double *lo2, const double *shift2,
					  int nfeatures, GrPoll *poll)
{
	const Moved own = {.hi = hi,.lo = lo,.from = shift,.to = shift,.only_if = shift2};
	const Moved other = {.hi = hi2,.lo = lo2,.from = shift2,.to = shift};
	bool		same = true;
	bool		own_stays = true;

	if (hi[0] == 0.0)
		memcpy(shift, shift2, (size_t) gr_nterms(nfeatures) * sizeof(double));
	for (int j = 0; j <= nfeatures && hi2[0] != 0.0; j++)
	{
		same &= shift[j] == shift2[j];
		own_stays &= shift[j] == 0.0 || shift2[j] != 0.0;
	}
	if (same)
	{
		gr_gram_merge(hi, lo, hi2, lo2, gr_triangle(gr_norder(nfeatures)));
		return true;
	}
	if (!own_stays && !move(hi, lo, nfeatures, &own, poll))
		return false;
	for (int j = 0; j <= nfeatures; j++)
		if (shift2[j] == 0.0)
			shift[j] = 0.0;
	return add_moved(hi, lo, nfeatures, &other, poll);
}
