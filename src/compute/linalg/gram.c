/* gram.c: copies, translations, sums, subsets and folds of Gram matrices; see gram.h. */
#include "compute/linalg/gram.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compute/base/dd.h"

/* Work of translating and of folding an entry, in nanoseconds; see GrPoll. */
#define TRANSLATE_WORK 20
#define FOLD_WORK 8

void
gr_gram_clear(GrGram *gram)
{
	size_t		nbytes = (size_t) gr_gram_nentries(gram->nfeatures) * sizeof(double);

	memset(gram->hi, 0, nbytes);
	memset(gram->lo, 0, nbytes);
	if (gram->shift != NULL)
		memset(gram->shift, 0, (size_t) gr_nterms(gram->nfeatures) * sizeof(double));
	gram->nobs = 0;
	gram->nsummed = 0;
	gram->log_constant = 0;
}

/* Copies a shift; NULL stands for zeros. */
static void
copy_shift(double *to, const double *from, int nfeatures)
{
	size_t		nbytes = (size_t) gr_nterms(nfeatures) * sizeof(double);

	if (from == NULL)
		memset(to, 0, nbytes);
	else
		memmove(to, from, nbytes);
}

static void
copy_counts(GrGram *to, const GrGram *from)
{
	to->nobs = from->nobs;
	to->nsummed = from->nsummed;
	to->log_constant = from->log_constant;
}

void
gr_gram_copy(GrGram *to, const GrGram *from)
{
	size_t		nbytes = (size_t) gr_gram_nentries(from->nfeatures) * sizeof(double);

	memcpy(to->hi, from->hi, nbytes);
	memcpy(to->lo, from->lo, nbytes);
	if (to->shift != NULL)
		copy_shift(to->shift, from->shift, from->nfeatures);
	to->nfeatures = from->nfeatures;
	copy_counts(to, from);
}

/*
 * Translation
 */

/*
 * A view of a Gram matrix about another shift. to: the new shift, NULL for 0; where only_if is 0, the new shift is 0
 * too. only_if NULL: no such columns.
 */
typedef struct Moved
{
	const GrGram *gram;
	const double *to;
	const double *only_if;
} Moved;

/* Returns the distance by which column i of z = (1, x, y) moves. */
static inline GrDD
distance(const Moved *m, int64_t i)
{
	double		to;

	if (i == 0)
		return gr_dd(0.0);
	to = m->to == NULL || (m->only_if != NULL && m->only_if[i - 1] == 0.0) ? 0.0 : m->to[i - 1];
	return gr_two_sum(gr_gram_shift_of(m->gram, i), -to);
}

/*
 * Returns entry (i, j) of the moved matrix. di: distance of column i. Also reads the entries (i, 0), (j, 0) and (0, 0).
 */
static inline GrDD
moved_entry(const Moved *m, int64_t i, GrDD di, int64_t j)
{
	GrDD		g = gr_gram_entry(m->gram, i, j);
	GrDD		dj = distance(m, j);

	if (di.hi != 0.0)
	{
		GrDD		sum_j = gr_dd_add(gr_gram_entry(m->gram, j, 0), gr_dd_mul(gr_gram_entry(m->gram, 0, 0), dj));

		g = gr_dd_add(g, gr_dd_mul(di, sum_j));
	}
	if (dj.hi != 0.0)
		g = gr_dd_add(g, gr_dd_mul(gr_gram_entry(m->gram, i, 0), dj));
	/* rounding must not make a sum of squares negative */
	return j == i && g.hi < 0.0 ? gr_dd(0.0) : g;
}

/*
 * Writes the moved matrix to another matrix or over itself, except entry (0, 0), which does not move. Goes backwards,
 * so that the sums of columns, which begin the rows, are read before they are written. Returns false if canceled.
 */
static bool
move(GrGram *to, const Moved *m, GrPoll *poll)
{
	for (int64_t i = gr_norder(m->gram->nfeatures) - 1; i > 0; i--)
	{
		GrDD		di = distance(m, i);

		for (int64_t j = i; j >= 0; j--)
			gr_gram_set(to, i, j, moved_entry(m, i, di, j));
		if (gr_poll(poll, TRANSLATE_WORK * (i + 1)))
			return false;
	}
	return true;
}

bool
gr_gram_copy_about(GrGram *to, const GrGram *from, const double *shift, GrPoll *poll)
{
	const Moved m = {.gram = from,.to = shift};

	to->nfeatures = from->nfeatures;
	copy_counts(to, from);
	gr_gram_set(to, 0, 0, gr_gram_entry(from, 0, 0));
	if (to->shift != NULL)
		copy_shift(to->shift, shift, from->nfeatures);
	return move(to, &m, poll);
}

bool
gr_gram_translate(GrGram *gram, const double *shift, GrPoll *poll)
{
	const Moved m = {.gram = gram,.to = shift};

	if (!move(gram, &m, poll))
		return false;
	if (gram->shift != NULL)
		copy_shift(gram->shift, shift, gram->nfeatures);
	return true;
}

double
gr_gram_better_shift(const GrGram *gram, int64_t row, double far)
{
	GrDD		sum = gr_gram_entry(gram, row, 0);
	GrDD		about = gr_dd_div(sum, gr_gram_entry(gram, 0, 0));
	GrDD		squares = gr_dd_sub(gr_gram_entry(gram, row, row), gr_dd_mul(sum, about));
	double		mean = gr_dd_to_double(gr_dd_add(about, gr_dd(gr_gram_shift_of(gram, row))));
	double		spread = squares.hi > 0.0 ? sqrt(squares.hi / gram->hi[0]) : 0.0;

	if (!(fabs(mean) > far * spread) || !(fabs(mean) >= GR_LEAST_SHIFT && fabs(mean) <= GR_MOST_SHIFT))
		return 0.0;
	return spread > 0x1p-50 * fabs(mean) ? ldexp(rint(ldexp(mean, -ilogb(spread))), ilogb(spread)) : mean;
}

bool
gr_gram_choose_shift(const GrGram *gram, double far, double *shift)
{
	for (int j = 0; j < gram->nfeatures; j++)
		shift[j] = gr_gram_better_shift(gram, j + 1, far);
	shift[gram->nfeatures] = 0.0;
	return gr_shift_any(shift, gram->nfeatures);
}

/*
 * Sums
 */

/* Adds the moved matrix to gram. Returns false if canceled. */
static bool
add_moved(GrGram *gram, const Moved *other, GrPoll *poll)
{
	for (int64_t i = 0; i < gr_norder(gram->nfeatures); i++)
	{
		GrDD		di = distance(other, i);

		for (int64_t j = 0; j <= i; j++)
			gr_gram_set(gram, i, j, gr_dd_add(gr_gram_entry(gram, i, j), moved_entry(other, i, di, j)));
		if (gr_poll(poll, TRANSLATE_WORK * (i + 1)))
			return false;
	}
	return true;
}

bool
gr_gram_merge(GrGram *gram, const GrGram *other, GrPoll *poll)
{
	double	   *shift = gram->shift;
	const Moved own = {.gram = gram,.to = shift,.only_if = other->shift};
	const Moved from = {.gram = other,.to = shift};
	bool		same = true;
	bool		own_stays = true;

	if (gram->hi[0] == 0.0)
		copy_shift(shift, other->shift, gram->nfeatures);
	for (int j = 0; j <= gram->nfeatures && other->hi[0] != 0.0; j++)
	{
		same &= shift[j] == other->shift[j];
		own_stays &= shift[j] == 0.0 || other->shift[j] != 0.0;
	}
	if (same)
	{
		gr_dd_add_vector((GrDDVector) {gram->hi, gram->lo}, gr_gram_triangle(other),
						 gr_gram_nentries(gram->nfeatures));
		return true;
	}
	if (!own_stays && !move(gram, &own, poll))
		return false;
	for (int j = 0; j <= gram->nfeatures; j++)
		if (other->shift[j] == 0.0)
			shift[j] = 0.0;
	return add_moved(gram, &from, poll);
}

/*
 * Subsets
 */

bool
gr_packed_subset(GrDDConstVector from, int norder, const int *rows, int n, GrDDVector to)
{
	int64_t		next = 0;

	for (int i = 0; i < n; i++)
		if (rows[i] < 0 || rows[i] >= norder)
			return false;
	for (int i = 0; i < n; i++)
		for (int j = 0; j <= i; j++, next++)
		{
			int64_t		k = rows[i] > rows[j] ? gr_packed(rows[i], rows[j]) : gr_packed(rows[j], rows[i]);

			to.hi[next] = from.hi[k];
			to.lo[next] = from.lo[k];
		}
	return true;
}

bool
gr_gram_subset(const GrGram *gram, const int *columns, GrGram *subset)
{
	for (int i = 0; i <= subset->nfeatures; i++)
		if (columns[i] < 0 || columns[i] > gram->nfeatures)
			return false;
	for (int64_t i = 0; i <= subset->nfeatures + 1; i++)
	{
		int64_t		row = i == 0 ? 0 : columns[i - 1] + 1;

		for (int64_t j = 0; j <= i; j++)
		{
			int64_t		column = j == 0 ? 0 : columns[j - 1] + 1;

			gr_gram_set(subset, i, j, row > column ? gr_gram_entry(gram, row, column) :
						gr_gram_entry(gram, column, row));
		}
		if (i > 0)
			subset->shift[i - 1] = gr_gram_shift_of(gram, row);
	}
	copy_counts(subset, gram);
	return true;
}

/*
 * Folds
 */

/* Returns entry (i, j) of a symmetric matrix; i may be less than j. */
static inline GrDD
either_entry(const GrGram *gram, int64_t i, int64_t j)
{
	return i >= j ? gr_gram_entry(gram, i, j) : gr_gram_entry(gram, j, i);
}

/*
 * Translates gram so that the rests, its last nlow features (see gr_gram_fold()), are about 0: x + v then keeps x's
 * shift. Other shifts stay. Returns false if out of memory or if canceled, which leaves the sums unusable.
 */
static bool
unshift_rests(GrGram *gram, int nlow, GrPoll *poll)
{
	int			first = gram->nfeatures - nlow;
	size_t		nbytes = (size_t) gr_nterms(gram->nfeatures) * sizeof(double);
	double	   *to;
	bool		shifted = false;
	bool		done;

	for (int k = first; k < gram->nfeatures; k++)
		shifted |= gram->shift[k] != 0;
	if (!shifted)
		return true;
	to = malloc(nbytes);
	if (to == NULL)
		return false;
	memcpy(to, gram->shift, nbytes);
	memset(to + first, 0, (size_t) nlow * sizeof(double));
	done = gr_gram_translate(gram, to, poll);
	free(to);
	return done;
}

/*
 * The entries before the rests keep their indexes, so that each is added to in place. The rows of the rests are only
 * read until the response's row, the last, moves forward.
 */
bool
gr_gram_fold(GrGram *gram, const int *rest_of, int nlow, GrPoll *poll)
{
	int			nfeatures = gram->nfeatures - nlow;
	int64_t		y = gram->nfeatures + 1;

	if (!unshift_rests(gram, nlow, poll))
		return false;
	for (int64_t i = 1; i <= nfeatures + 1; i++)
	{
		int64_t		row = i <= nfeatures ? i : y;
		int64_t		rest = i <= nfeatures && rest_of[i - 1] >= 0 ? nfeatures + 1 + rest_of[i - 1] : 0;

		for (int64_t j = 0; j <= i; j++)
		{
			int64_t		column = j <= nfeatures ? j : y;
			int64_t		other = j > 0 && j <= nfeatures && rest_of[j - 1] >= 0 ? nfeatures + 1 + rest_of[j - 1] : 0;
			GrDD		sum = either_entry(gram, row, column);

			if (rest > 0)
				sum = gr_dd_add(sum, either_entry(gram, rest, column));
			if (other > 0)
				sum = gr_dd_add(sum, either_entry(gram, row, other));
			if (rest > 0 && other > 0)
				sum = gr_dd_add(sum, either_entry(gram, rest, other));
			gr_gram_set(gram, i, j, sum);
		}
		if (gr_poll(poll, FOLD_WORK * (i + 1)))
			return false;
	}
	gram->shift[nfeatures] = gram->shift[gram->nfeatures];
	gram->nfeatures = nfeatures;
	return true;
}
